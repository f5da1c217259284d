"""The sections of the status page, in the order in which somebody in trouble wants them."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from pfid.domain.gate import Gate, GateState
from pfid.domain.gpu import GpuSample
from pfid.domain.gpu_view import GpusView, GpuView, HolderView, WorkKind
from pfid.domain.inside import Achieved
from pfid.domain.outcome import Outcome
from pfid.domain.run import RunState
from pfid.domain.snapshot import RunView, Snapshot, VerdictView
from pfid.domain.transition import Transition
from pfid.formats.html.markup import Child, Markup, el, text
from pfid.formats.html.plots import sparkline
from pfid.formats.html.tables import ago, moment, size, table, tag, tiles
from pfid.policy.standing import believed, gate_states

EVENTS_SHOWN: Final = 25
TONES: Final = {Outcome.FAIL: "bad", Outcome.UNKNOWN: "wait", Outcome.PASS: "good"}
STATES: Final = {
    RunState.RUNNING: "good",
    RunState.STARTING: "wait",
    RunState.STALLED: "bad",
    RunState.SUSPENDED: "wait",
    RunState.FAILED: "bad",
    RunState.KILLED: "bad",
    RunState.LOST: "bad",
}
WORK: Final = {
    WorkKind.MATMUL: "good",
    WorkKind.NOT_MATMUL: "wait",
    WorkKind.LOW_POWER: "wait",
    WorkKind.THROTTLED: "wait",
}
GATES: Final = {GateState.PROVEN: "good", GateState.UNPROVEN: "bad"}
LEGS: Final = ("controls", "sabotage", "live", "alerts")


def body(snapshot: Snapshot, *, healthy: bool) -> Markup:
    """Everything between the page's first and last line."""
    gates = gate_states(snapshot.gates)
    verdicts = [believed(v, gates) for v in snapshot.verdicts if not v.synthetic]
    runs = sorted((v for v in snapshot.runs if not v.synthetic), key=_urgency(verdicts))
    return el(
        "main",
        _head(snapshot, healthy=healthy),
        _tiles(runs, verdicts, snapshot.gates),
        *_runs(runs, verdicts, snapshot.at_s),
        *_box(verdicts, snapshot.at_s),
        *(_gpus(snapshot.gpus) if snapshot.gpus is not None else ()),
        *_gates(snapshot.gates, snapshot.at_s),
        *_events(snapshot.transitions),
    )


def _head(snapshot: Snapshot, *, healthy: bool) -> Markup:
    stalled = el(
        "p", "pfid's loop does not go round: what stands below is old news.", class_="alarm"
    )
    unwritable = el("p", "pfid cannot write its state; a restart would lose it.", class_="alarm")
    links = (("metrics", "/metrics"), ("healthy", "/-/healthy"), ("ready", "/-/ready"))
    return el(
        "header",
        el("h1", "pfid"),
        el("span", f"as of {moment(snapshot.at_s)} ", class_="dim"),
        *(part for name, href in links for part in (el("a", name, href=href), " ")),
        None if healthy else stalled,
        unwritable if snapshot.health.store_problem else None,
    )


def _tiles(
    runs: Sequence[RunView], verdicts: Sequence[VerdictView], gates: Sequence[Gate]
) -> Markup:
    counts = Counter(v.outcome for v in verdicts)
    proven = sum(g.state is GateState.PROVEN for g in gates)
    enabled = sum(g.state is not GateState.DISABLED for g in gates)
    return tiles(
        (
            ("runs that live", str(sum(not v.state.ended for v in runs))),
            ("verdicts that fail", str(counts[Outcome.FAIL])),
            ("cannot look", str(counts[Outcome.UNKNOWN])),
            ("pass", str(counts[Outcome.PASS])),
            ("checks proven", f"{proven} of {enabled}"),
        )
    )


def _urgency(verdicts: Sequence[VerdictView]) -> "_Urgency":
    failing = {v.entity.id for v in verdicts if v.outcome is Outcome.FAIL}
    return _Urgency(failing)


class _Urgency:
    """Order of runs: those that fail, then the living, each the newest first."""

    def __init__(self, failing: set[str]) -> None:
        self._failing = failing

    def __call__(self, view: RunView) -> tuple[bool, bool, float]:
        fails = view.run.run_id in self._failing
        return (not fails, view.state.ended, -view.run.started_at_s)


def _runs(
    runs: Sequence[RunView], verdicts: Sequence[VerdictView], now_s: float
) -> Iterator[Markup]:
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
        "recent",
        "progress",
    )
    yield table(heads, (_run(view, about[view.run.run_id], now_s) for view in runs))


def _run(view: RunView, verdicts: Sequence[VerdictView], now_s: float) -> tuple[Child, ...]:
    run, summary = view.run, view.summary
    baseline = None if view.baseline is None else view.baseline.median_s
    since_s = None if view.last_progress_at_s is None else now_s - view.last_progress_at_s
    return (
        el("span", el("b", text(run.name, 80)), el("br"), el("span", run.run_id, class_="dim")),
        text(run.username, 40),
        tag(view.state.value, STATES.get(view.state, "")),
        _told(verdicts),
        str(view.steps_total),
        "" if summary is None else f"{summary.p50_s:.4g} s",
        "" if view.slowdown_ratio is None else f"{view.slowdown_ratio:.2f} x",
        _achieved(view.achieved),
        sparkline(view.recent_step_s, "step times in seconds", baseline),
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


def _box(verdicts: Sequence[VerdictView], now_s: float) -> Iterator[Markup]:
    """Verdicts that are about no run: the box, its GPUs."""
    others = [
        v
        for v in verdicts
        if v.entity.kind.value != "run" and v.outcome is not Outcome.NOT_APPLICABLE
    ]
    if others:
        yield el("h2", "Box")
        yield table(
            ("check", "about", "outcome", "reason", "for", "what it says"),
            (
                (
                    v.check,
                    text(v.entity.id, 80),
                    tag(v.outcome.value, TONES.get(v.outcome, "")),
                    v.reason,
                    ago(now_s - v.since_s),
                    text(v.summary),
                )
                for v in others
            ),
        )


def _gpus(view: GpusView) -> Iterator[Markup]:
    yield el("h2", "GPUs")
    if not view.up:
        yield el("p", f"The driver does not answer: {text(view.problem, 60)}", class_="dim")
    if view.gpus:
        heads = (
            *("GPU", "busy with", "utilisation", "power", "tensor cores", "memory"),
            *("utilisation, power", "runs and users"),
        )
        yield table(heads, (_gpu(gpu) for gpu in view.gpus))


def _gpu(gpu: GpuView) -> tuple[Child, ...]:
    facts, last = gpu.facts, gpu.last
    name = el("span", f"{facts.index} {text(facts.name, 40)}", el("br"), facts.uuid)
    if not gpu.present:
        return (name, tag("gone", "bad"), "", "", "", "", "", "")
    used = None if last is None else last.memory_used_bytes
    busy = None if last is None else last.utilization
    tensor = None if last is None else last.tensor_activity
    limit_w = 0.0 if last is None else last.power_limit_w or 0.0
    return (
        name,
        _work(gpu),
        "" if busy is None else f"{busy:.0%}",
        _power(last),
        "" if tensor is None else f"{tensor:.0%}",
        size(used),
        el(
            "span",
            sparkline(_known(gpu.recent_utilization), "utilisations", at_least=1.0),
            sparkline(_known(gpu.recent_power_w), "watts", at_least=limit_w),
        ),
        ", ".join(sorted({_holder(h) for h in gpu.holders or ()})),
    )


def _work(gpu: GpuView) -> Markup:
    """What it is busy with; where that is not known, why."""
    unknown = gpu.kind is WorkKind.UNKNOWN and gpu.kind_reason
    said = f"? {gpu.kind_reason}" if unknown else gpu.kind.value
    return tag(text(said.replace("_", " "), 40), WORK.get(gpu.kind, ""))


def _power(last: GpuSample | None) -> str:
    if last is None or last.power_w is None:
        return ""
    limit = "" if last.power_limit_w is None else f" / {last.power_limit_w:.0f}"
    return f"{last.power_w:.0f}{limit} W"


def _holder(holder: HolderView) -> str:
    """A run with its user, a stranger by the user alone, and what no visible process holds."""
    user = text(holder.username, 40)
    if holder.run_name:
        return f"{text(holder.run_name, 40)} ({user})" if user else text(holder.run_name, 40)
    if holder.visible is None:
        return "a process of another namespace"
    return user if holder.visible and user else "held by no visible process"


def _known(values: Sequence[float | None]) -> list[float]:
    return [v for v in values if v is not None]


def _gates(gates: Sequence[Gate], now_s: float) -> Iterator[Markup]:
    yield el("h2", "Checks, and what proves them")
    yield table(
        ("check", "gate", "age of proof", *LEGS, "let down by"),
        (_gate(gate, now_s) for gate in sorted(gates, key=lambda g: g.check)),
    )


def _gate(gate: Gate, now_s: float) -> tuple[Child, ...]:
    age_s = None if gate.proven_at_s is None else now_s - gate.proven_at_s
    legs = (getattr(gate.proven_to, leg) for leg in LEGS)
    return (
        gate.check,
        tag(gate.state.value, GATES.get(gate.state, "")),
        ago(age_s),
        *("" if leg is None else tag("yes", "good") if leg else tag("no", "bad") for leg in legs),
        "" if gate.state is GateState.PROVEN else "see pfid selftest",
    )


def _events(transitions: Sequence[Transition]) -> Iterator[Markup]:
    yield el("h2", "Last changes")
    if not transitions:
        yield el("p", "Nothing has changed yet.", class_="dim")
        return
    yield table(
        ("at", "about", "check", "outcome", "reason"),
        (
            (
                moment(t.at_s),
                text(t.entity.id, 80),
                t.check,
                tag(t.verdict.outcome.value, TONES.get(t.verdict.outcome, "")),
                t.verdict.reason,
            )
            for t in reversed(transitions[-EVENTS_SHOWN:])
        ),
    )
