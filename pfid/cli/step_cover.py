"""What a distribution of step times speaks of, and of how many steps it does not."""

from collections.abc import Iterator

from pfid.domain.snapshot import RunView


def not_covered(view: RunView) -> Iterator[tuple[str, str]]:
    """Facts to stand below the figures; nothing where they are of every step by itself."""
    summary = view.summary
    if summary is None:
        return
    means = summary.interval_steps > 1
    if means:
        yield "each of these", f"a mean over {summary.interval_steps} steps, none timed by itself"
    if summary.other_steps:
        how = "timed by themselves" if means else "timed only several at a time"
        yield "not in it", f"{summary.other_steps} steps {how}: faster or slower ones among them"
    untimed = view.steps_total - summary.n - summary.other_steps - 1
    if untimed > 0 and not means:
        yield "not timed", f"{untimed} steps: read too late for that, or with a pause in them"
