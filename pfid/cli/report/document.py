"""The report's document: pure, from what is known of a run to HTML."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pfid import __version__
from pfid.cli.achieved_text import achieved_facts
from pfid.cli.report.gpus import gpus
from pfid.cli.report.plots import BUCKET_TEXTS, Plots
from pfid.cli.step_cover import not_covered
from pfid.cli.times import age, rfc3339
from pfid.domain.gate import Gate
from pfid.domain.gpu_view import GpuView
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import RunView, VerdictView
from pfid.domain.verdict import Figure
from pfid.formats.html.markup import Child, Markup, document, el, text
from pfid.formats.html.style import STYLE
from pfid.formats.html.tables import facts, size, table, tag
from pfid.wire.snapshots import Event, RunDetails

TONES = {Outcome.FAIL: "bad", Outcome.UNKNOWN: "wait", Outcome.PASS: "good"}
LEGS = ("controls", "sabotage", "live", "alerts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What a report is made of.

    Attributes:
        details: of the run; ``evidence`` None where it is not to be shown.
        at_s: wall time of the figures.
        gates: of whoever judged.
        gpus: of the box; None where nobody samples.
        steps_s: step times, oldest first, the first step not among them.
        whole: whether these are all steps, or only the last ones.
        plots: who draws.
        plots_missing: what better plots would take, "" where these are they.
    """

    details: RunDetails
    at_s: float
    gates: tuple[Gate, ...]
    gpus: tuple[GpuView, ...] | None
    steps_s: tuple[float, ...]
    whole: bool
    plots: Plots
    plots_missing: str = ""


def report(shown: Reported) -> str:
    """Return the document."""
    view = shown.details.view
    name = text(view.run.name, 80)
    return document(
        f"pfid report: {name}",
        STYLE,
        el(
            "main",
            el("h1", name),
            el("p", f"{view.run.run_id}, as of {rfc3339(shown.at_s)}", class_="dim"),
            *_identity(view),
            *_steps(shown),
            *gpus(shown.details, shown.gpus, shown.plots),
            *_verdicts(shown.details),
            *_events(shown.details.events),
            *_proofs(shown),
            el("p", f"Made by pfid {__version__}.{_missing(shown)}", class_="dim"),
        ),
    )


def _identity(view: RunView) -> Iterator[Markup]:
    yield el("h2", "Identity")
    yield facts(tuple(_known(view)))


def _known(view: RunView) -> Iterator[tuple[str, Child]]:
    run, end = view.run, view.end
    yield "state", view.state_in_words
    yield "user", text(run.username, 40)
    identity = run.identity
    yield "process", f"pid {identity.pid}, started at tick {identity.start_ticks}"
    yield "boot", text(identity.boot_id, 40)
    yield "started", rfc3339(run.started_at_s)
    yield "attempt", str(run.attempt)
    if run.job_id is not None:
        yield "job", f"{text(run.job_id, 80)}, rank {run.rank} of {run.world_size}"
    if end is not None:
        how = end.kind.value.replace("_", " ")
        code = f", code {end.exit_code}" if end.exit_code is not None else ""
        signal = f", signal {end.signal}" if end.signal is not None else ""
        yield "ended", f"{how}{code}{signal}, {rfc3339(end.at_s)}"
    if view.resources is not None:
        yield "processes", str(view.resources.processes)
        yield "resident memory", size(view.resources.resident_bytes)


def _steps(shown: Reported) -> Iterator[Markup]:
    view = shown.details.view
    yield el("h2", "Step times")
    yield facts(tuple(_step_facts(view)))
    baseline_s = None if view.baseline is None else view.baseline.median_s
    if shown.whole:
        yield el("p", "How often a step took how long; the dashed line is the baseline, if any.")
        yield shown.plots.distribution(shown.steps_s, baseline_s)
    elif view.histogram is not None and any(view.histogram.counts):
        yield el("p", "Steps by duration; each bar is named by its upper bound in seconds.")
        yield shown.plots.buckets(view.histogram.counts, BUCKET_TEXTS)
    if shown.steps_s:
        which = (
            "every step after the first" if shown.whole else f"the last {len(shown.steps_s)} steps"
        )
        yield el("p", f"Seconds of {which}, in order; the dashed line is the baseline, if any.")
        yield shown.plots.timeline(shown.steps_s, baseline_s)
    else:
        yield el("p", "No step after the first was timed.", class_="dim")


def _step_facts(view: RunView) -> Iterator[tuple[str, Child]]:
    yield "steps", str(view.steps_total)
    if view.summary is not None:
        s = view.summary
        yield "timed", str(s.n)
        yield "median", f"{s.p50_s:.4g} s"
        yield "90th, 99th percentile", f"{s.p90_s:.4g} s, {s.p99_s:.4g} s"
        yield "fastest, slowest", f"{s.min_s:.4g} s, {s.max_s:.4g} s"
        yield "first step", "not timed" if s.first_s is None else f"{s.first_s:.4g} s"
        yield from not_covered(view)
    if view.optimizers:
        yield "steps of", text(f"{', '.join(view.optimizers)} (reported from inside)", 200)
    for name, said in achieved_facts(view.achieved):
        yield name, text(said, 300)
    yield "baseline", _baseline(view)


def _baseline(view: RunView) -> str:
    if view.baseline is None:
        return "none"
    source = view.baseline.source.value.replace("_", " ")
    slow = "" if view.slowdown_ratio is None else f"; now {view.slowdown_ratio:.2f} times that"
    return f"{view.baseline.median_s:.4g} s from {source}{slow}"


def _missing(shown: Reported) -> str:
    if not shown.plots_missing:
        return ""
    return f" Its plots are the small ones; for larger ones with axes: {shown.plots_missing}."


def _verdicts(details: RunDetails) -> Iterator[Markup]:
    yield el("h2", "Verdicts")
    yield table(
        ("check", "outcome", "reason", "since", "what it says", "figures"),
        (_verdict(v) for v in details.verdicts if v.outcome is not Outcome.NOT_APPLICABLE),
    )
    for check, lines in (details.evidence or {}).items():
        if lines:
            yield el("h2", f"Seen by {check}, in the run's own log")
            yield el("ul", *(el("li", text(line, 500)) for line in lines))


def _verdict(verdict: VerdictView) -> tuple[Child, ...]:
    return (
        verdict.check,
        tag(verdict.outcome.value, TONES.get(verdict.outcome, "")),
        verdict.reason,
        rfc3339(verdict.since_s),
        text(verdict.summary),
        ", ".join(_figure(name, f) for name, f in verdict.figures.items()),
    )


def _figure(name: str, figure: Figure) -> str:
    unit = "" if figure.unit == "1" else f" {figure.unit}"
    return text(f"{name} {figure.value:.4g}{unit}", 60)


def _events(events: Sequence[Event]) -> Iterator[Markup]:
    if events:
        yield el("h2", "What changed")
        yield table(
            ("at", "check", "outcome", "reason"),
            (
                (
                    rfc3339(e.transition.at_s),
                    e.transition.check,
                    tag(
                        e.transition.verdict.outcome.value,
                        TONES.get(e.transition.verdict.outcome, ""),
                    ),
                    e.transition.verdict.reason,
                )
                for e in events
            ),
        )


def _proofs(shown: Reported) -> Iterator[Markup]:
    judged = {v.check for v in shown.details.verdicts}
    yield el("h2", "What proves these checks")
    yield table(
        ("check", "gate", "proven", *LEGS),
        (_gate(g, shown.at_s) for g in shown.gates if g.check in judged),
    )


def _gate(gate: Gate, now_s: float) -> tuple[Child, ...]:
    legs = (getattr(gate.proven_to, leg) for leg in LEGS)
    ago = "" if gate.proven_at_s is None else f"{age(now_s - gate.proven_at_s)} before"
    said = ("" if leg is None else "yes" if leg else "no" for leg in legs)
    return (gate.check, gate.state.value, ago, *said)
