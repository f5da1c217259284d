"""What ports say, in the words of a manifest."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pfid.domain.provenance import CodeIdentity, InterpreterIdentity
from pfid.domain.repository import GitFacts
from pfid.policy.masking import mask_text

if TYPE_CHECKING:
    from pfid.domain.interpreter import PythonAnswer

DETAIL_MAX_CHARS: Final = 500


def code_identity(seen: GitFacts) -> CodeIdentity:
    """A repository, as it was at launch."""
    return CodeIdentity(
        problem=seen.problem.value or None,
        detail=_detail(seen.detail),
        root=seen.root or None,
        commit=seen.commit,
        describe=seen.describe,
        branch=seen.branch,
        dirty=seen.dirty,
        diff_sha256=seen.diff_sha256,
        changes=seen.changes,
        changes_n=seen.changes_n,
        untracked=seen.untracked,
        untracked_n=seen.untracked_n,
        submodules=seen.submodules,
        filters_off=seen.filters_off,
    )


def interpreter_identity(answer: "PythonAnswer") -> InterpreterIdentity:
    """The answer to ``distributions``, or why there is none."""
    said = answer.said or {}
    return InterpreterIdentity(
        problem=answer.problem.value or None,
        detail=_detail(answer.detail),
        python=answer.python or None,
        version=answer.version or None,
        implementation=_text(said.get("implementation")),
        prefix=_text(said.get("prefix")),
        base_prefix=_text(said.get("base_prefix")),
        distributions=_versions(said.get("distributions")),
        unreadable=unreadable if isinstance(unreadable := said.get("unreadable"), int) else None,
    )


def _text(said: Any) -> str | None:
    return said if isinstance(said, str) else None


def _versions(said: Any) -> dict[str, str | None] | None:
    """An interpreter may be anything that its owner put there: what is no version is none."""
    return {str(k): _text(v) for k, v in said.items()} if isinstance(said, Mapping) else None


def _detail(text: str) -> str | None:
    """The last line, where an exception says what it is."""
    lines = text.strip().splitlines()
    return mask_text(lines[-1])[:DETAIL_MAX_CHARS] if lines else None
