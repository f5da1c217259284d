"""Which run somebody means: by id, by the beginning of an id, or by name."""

from collections.abc import Sequence
from difflib import get_close_matches

from pfid.domain.errors import PfidError
from pfid.domain.run import Run


class RunChoiceError(PfidError):
    """No run, or more than one, is what was asked for."""


def choose(wanted: str, runs: Sequence[Run]) -> Run:
    """Choose a run: its id, else its name (the latest of that name), else a unique prefix.

    Raises:
        RunChoiceError: naming what is near, or every run that could be meant.
    """
    exact = [run for run in runs if run.run_id == wanted]
    named = [run for run in runs if run.name == wanted]
    begins = [run for run in runs if wanted and run.run_id.startswith(wanted)]
    if exact or named:
        return max(exact or named, key=lambda run: (run.started_at_s, run.run_id))
    if len({run.run_id for run in begins}) == 1:
        return begins[0]
    if begins:
        ids = ", ".join(sorted(run.run_id for run in begins)[:5])
        raise RunChoiceError(f"{wanted!r} begins {len(begins)} runs: {ids}; say more of the id")
    known = sorted({run.run_id for run in runs} | {run.name for run in runs})
    near = get_close_matches(wanted, known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`pfid status --all` lists them"
    raise RunChoiceError(f"no run {wanted!r}; {hint}")
