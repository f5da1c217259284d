"""What to do about a verdict: by its reason where somebody wrote that down, else by its check.

A runbook ends with ``When it fires:``, which is about what fails. What to do where a check could
not look is another thing, so a runbook may go on with paragraphs that begin with ``If it says
`one_reason`, `another`:``; they come first.
"""

from collections.abc import Mapping
from typing import Final

from pfid.domain.names import ReasonCode
from pfid.spec.python_answers import PYTHON_REMEDIES
from pfid.spec.reasons import CHECK_ERROR, RECORDS_INCOMPLETE, UNDECLARED_REASON, UNPROVEN

RUNNER_REMEDIES: Final = {
    UNPROVEN: "`pfid selftest --check {name}` says which control let it down; its configuration "
    "or its file was changed.",
    CHECK_ERROR: "this is a fault of the check itself, not of what it looks at: report it.",
    UNDECLARED_REASON: "this is a fault of the check itself, not of what it looks at: report it.",
    RECORDS_INCOMPLETE: "mend what `records_complete` says first: nothing else counts before.",
}
"""What to do by a reason of the runner: what the check is about has no part in it."""
IF_IT_SAYS: Final = "If it says "


def remedy_for(name: str, runbook: str, reason: str, shared: Mapping[str, str]) -> str:
    """What to do where a check gave a reason.

    Args:
        name: of the check.
        runbook: of the check.
        reason: of its verdict.
        shared: what to do by reason, whichever check of the stage gives it.
    """
    of_runner = RUNNER_REMEDIES.get(ReasonCode(reason), "").format(name=name)
    own = remedies_of(runbook).get(reason) or shared.get(reason) or of_runner
    return own or PYTHON_REMEDIES.get(reason) or remedy_of(runbook)


def remedies_of(runbook: str) -> dict[str, str]:
    """What a runbook says is to be done by reason, each in one line."""
    found: dict[str, str] = {}
    for paragraph in runbook.split("\n\n"):
        codes, _, text = " ".join(paragraph.split()).partition(": ")
        if codes.startswith(IF_IT_SAYS):
            found |= dict.fromkeys(codes.split("`")[1::2], text)
    return found


def remedy_of(runbook: str) -> str:
    """The paragraph of a runbook that says what to do when it fires, in one line."""
    return paragraph_of(runbook, "When it fires:")


def paragraph_of(runbook: str, begins: str) -> str:
    """The paragraph of a runbook that begins so, in one line, without its beginning."""
    _, _, after = runbook.partition(begins)
    return " ".join(after.partition("\n\n")[0].split())
