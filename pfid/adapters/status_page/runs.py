"""The runs of the status page: those in trouble first."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from pfid.adapters.status_page.small_plot import Scale, small_plot
from pfid.adapters.status_page.tones import TONES
from pfid.domain.inside import Achieved
from pfid.domain.outcome import Outcome
from pfid.domain.run import RunState
from pfid.domain.snapshot import RunView, VerdictView
from pfid.formats.html.markup import Child, Markup, el, text
from pfid.formats.html.tables import ago, table, tag

STEP_SECONDS: Final = Scale("", ".4g", " s")
STATES: Final = {
    RunState.RUNNING: "good",
    RunState.STARTING: "wait",
    RunState.STALLED: "bad",
    RunState.SUSPENDED: "wait",
    RunState.FAILED: "bad",
    RunState.KILLED: "bad",
    RunState.LOST: "bad",
}


def urgency(verdicts: Sequence[VerdictView]) -> "_Urgency":
    """What runs are sorted by."""
    failing = {v.entity.id for v in verdicts if v.outcome is Outcome.FAIL}
    return _Urgency(failing)


class _Urgency:
    """Order of runs: those that fail, then the living, each the newest first."""

    def __init__(self, failing: set[str]) -> None:
        self._failing = failing

    def __call__(self, view: RunView) -> tuple[bool, bool, float]:
        fails = view.run.run_id in self._failing
        return (not fails, view.state.ended, -view.run.started_at_s)


def run_section(
    runs: Sequence[RunView], verdicts: Sequence[VerdictView], now_s: float
) -> Iterator[Markup]:
    """The runs, one a row, in the order they come in."""
    yield el("h2", "Runs")
    if not runs:
        yield el("p", "No run is watched. ", el("span", "pfid run -- COMMAND", class_="tag"))
        return
    about: dict[str, list[VerdictView]] = defaultdict(list)
    for verdict in verdicts:
        about[verdict.entity.id].append(verdict)
    heads = (
        "run",
        "user",
        "state",
        "verdicts",
        "steps",
        "median",
        "slowdown",
        "tokens/s, FLOP/s",
        "recent steps",
        "last progress",
    )
    yield table(heads, (_run(view, about[view.run.run_id], now_s) for view in runs))


def _run(view: RunView, verdicts: Sequence[VerdictView], now_s: float) -> tuple[Child, ...]:
    run, summary, word = view.run, view.summary, view.state_in_words
    baseline = None if view.baseline is None else view.baseline.median_s
    since_s = None if view.last_progress_at_s is None else now_s - view.last_progress_at_s
    return (
        el("span", el("b", text(run.name, 80)), el("br"), el("span", run.run_id, class_="dim")),
        text(run.username, 40),
        tag(word, STATES.get(view.state, "") if word == view.state.value else ""),
        _told(verdicts),
        str(view.steps_total),
        "" if summary is None else f"{summary.p50_s:.4g} s",
        "" if view.slowdown_ratio is None else f"{view.slowdown_ratio:.2f} x",
        _achieved(view.achieved),
        small_plot(view.recent_step_s, "step times in seconds", STEP_SECONDS, baseline),
        "" if view.state.ended else ago(since_s),
    )


def _achieved(achieved: Achieved | None) -> Child:
    """Rates as reported from inside; what counts as a FLOP stands in the tip."""
    if achieved is None:
        return ""
    parts = []
    if achieved.tokens_per_s is not None:
        parts.append(f"{achieved.tokens_per_s:,.0f}")
    if achieved.real_tokens_per_s is not None:
        parts.append(f"{achieved.real_tokens_per_s:,.0f} real")
    if achieved.flops_per_s is not None:
        parts.append(f"{achieved.flops_per_s / 1e12:.3g} T")
    if achieved.model_flops_utilization is not None:
        parts.append(f"MFU {achieved.model_flops_utilization:.1%}")
    return el("span", ", ".join(parts), title=text(achieved.accounting, 200))


def _told(verdicts: Sequence[VerdictView]) -> Child:
    """What fails or cannot look, by name; what passes, by number."""
    shown = [v for v in verdicts if v.outcome in {Outcome.FAIL, Outcome.UNKNOWN}]
    passing = sum(v.outcome is Outcome.PASS for v in verdicts)
    lines = [
        el("li", tag(f"{v.check}: {v.reason}", TONES[v.outcome]), title=text(v.summary))
        for v in sorted(shown, key=lambda v: (v.outcome is Outcome.UNKNOWN, v.check))
    ]
    if passing:
        lines.append(el("li", tag(f"{passing} pass", "good")))
    return el("ul", *lines, class_="verdicts")
