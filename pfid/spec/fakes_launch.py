"""A repository and a training interpreter with fixed answers, for controls and tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pfid.domain.errors import PortNotSetUpError
from pfid.spec.ports.git import GitFacts
from pfid.spec.ports.python import PythonAnswer, PythonProblem

CONTROL_COMMIT: Final = "35a4e8e0c0de35a4e8e0c0de35a4e8e0c0de35a4"
CLEAN_REPOSITORY: Final = GitFacts(
    root="/control", commit=CONTROL_COMMIT, describe="35a4e8e", branch="main", dirty=False
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedGit:
    """A repository that stands still."""

    looked: GitFacts = CLEAN_REPOSITORY
    files: tuple[str, ...] | None = ()

    def facts(self) -> GitFacts:
        """Return the facts given."""
        return self.looked

    def tracked(self) -> tuple[str, ...] | None:
        """Return the files given."""
        return self.files


def repository(**facts: Any) -> FixedGit:
    """A clean repository, but for the given :class:`GitFacts`."""
    return FixedGit(looked=replace(CLEAN_REPOSITORY, **facts))


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPython:
    """An interpreter that answers each question with what it was given for it."""

    answers: Mapping[str, PythonAnswer] = field(default_factory=dict)

    def ask(
        self,
        question: str,
        asked: Mapping[str, Any] | None = None,
        *,
        deadline_s: float = 30.0,
    ) -> PythonAnswer:
        """Return the answer given for this question."""
        del asked, deadline_s
        if question not in self.answers:
            raise PortNotSetUpError(f"this world's interpreter was given no answer to {question!r}")
        return self.answers[question]


def answering(**answers: Mapping[str, Any] | PythonProblem) -> FixedPython:
    """An interpreter that answers, by question, with an object or a problem."""
    return FixedPython(
        answers={
            question: PythonAnswer(problem=answer, detail="control", python="/control/python")
            if isinstance(answer, PythonProblem)
            else PythonAnswer(said=answer, python="/control/python", version="3.12.4")
            for question, answer in answers.items()
        }
    )
