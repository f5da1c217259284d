"""Mean seconds per step of a run that pfid watched, to hold a prediction against."""

from pfid.bootstrap.run_lookup import look_up
from pfid.cli.gathering import gathered
from pfid.domain.errors import PfidError


class NoStepTimesError(PfidError):
    """The run has not been timed."""


def seconds_of_run(wanted: str) -> float:
    """Mean over all its steps but the first.

    Raises:
        RunChoiceError: if no run or more than one is meant.
        NoStepTimesError: if no step of it was timed.
    """
    view = look_up(gathered(everything=True), wanted).view
    counted = view.histogram
    steps = 0 if counted is None else sum(counted.counts)
    if counted is None or not steps:
        raise NoStepTimesError(f"run {wanted}: no step of it has been timed")
    return counted.sum_s / steps
