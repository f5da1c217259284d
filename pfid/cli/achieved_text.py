"""What a run gets done in a second, in words; `pfid show` and `pfid report` print the same."""

from collections.abc import Iterator

from pfid.domain.inside import Achieved

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def achieved_facts(achieved: Achieved | None) -> Iterator[tuple[str, str]]:
    """Rows of a table of facts, one a figure that is known."""
    if achieved is None:
        return
    over = _over(achieved)
    if achieved.tokens_per_s is not None:
        yield "tokens", f"{achieved.tokens_per_s:,.0f} a second, padding included{over}"
    if achieved.real_tokens_per_s is not None:
        yield "real tokens", f"{achieved.real_tokens_per_s:,.0f} a second{_share(achieved)}"
    if achieved.flops_per_s is not None:
        named = achieved.accounting or "accounting not named"
        yield "achieved", f"{_flops(achieved.flops_per_s)} ({named}){over}"
    if achieved.recompute_flops_per_s:
        yield "recomputed", f"{_flops(achieved.recompute_flops_per_s)} beside that, checkpointing"
    if achieved.model_flops_utilization is not None:
        yield "MFU", f"{achieved.model_flops_utilization:.1%} of the peak that the program states"


def _over(achieved: Achieved) -> str:
    span = "the whole run" if achieved.whole_run else f"the last {achieved.window_s:.0f} s of steps"
    ranks = "1 rank" if achieved.ranks == 1 else f"{achieved.ranks} ranks"
    return f"; {ranks}, {span}"


def _share(achieved: Achieved) -> str:
    if not achieved.tokens_per_s or achieved.real_tokens_per_s is None:
        return ""
    return f", {achieved.real_tokens_per_s / achieved.tokens_per_s:.1%} of all"


def _flops(per_s: float) -> str:
    """With a prefix of a thousand each: 27.1 TFLOP/s."""
    place = 0
    while per_s >= 1000 and place < len(_PREFIXES) - 1:
        per_s, place = per_s / 1000, place + 1
    return f"{per_s:.3g} {_PREFIXES[place]}FLOP/s"
