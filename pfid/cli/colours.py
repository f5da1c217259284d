"""One style an outcome and a state; colour never carries what the text does not say."""

from typing import Final

from pfid.cli.table import Cell
from pfid.domain.outcome import Outcome
from pfid.domain.run import RunState
from pfid.domain.snapshot import RunView

_OUTCOMES: Final = {
    Outcome.PASS: "green",
    Outcome.FAIL: "bold red",
    Outcome.UNKNOWN: "yellow",
    Outcome.NOT_APPLICABLE: "dim",
}
_STATES: Final = {
    RunState.RUNNING: "green",
    RunState.STALLED: "yellow",
    RunState.SUSPENDED: "yellow",
    RunState.FAILED: "bold red",
    RunState.KILLED: "bold red",
    RunState.LOST: "bold red",
}


def outcome_cell(outcome: Outcome, label: str = "") -> Cell:
    """An outcome in capitals, with its qualifier."""
    text = outcome.name if outcome is not Outcome.NOT_APPLICABLE else "n/a"
    return Cell(f"{text} ({label})" if label else text, _OUTCOMES[outcome])


def state_cell(view: RunView) -> Cell:
    """A run's state; one that somebody stopped alarms nobody."""
    word = view.state_in_words
    return Cell(word, _STATES.get(view.state, "") if word == view.state.value else "")
