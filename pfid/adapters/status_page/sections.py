"""The sections of the status page, in the order in which somebody in trouble wants them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from pfid.adapters.status_page.gpus import gpu_section
from pfid.adapters.status_page.runs import run_section, urgency
from pfid.adapters.status_page.tones import TONES
from pfid.domain.gate import Gate, GateState
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import RunView, Snapshot, VerdictView
from pfid.domain.transition import Transition
from pfid.formats.html.markup import Child, Markup, el, text
from pfid.formats.html.tables import ago, moment, table, tag, tiles
from pfid.policy.standing import believed, gate_states

EVENTS_SHOWN: Final = 25
GATES: Final = {GateState.PROVEN: "good", GateState.UNPROVEN: "bad"}
URGENCY: Final = (Outcome.FAIL, Outcome.UNKNOWN, Outcome.PASS)
LEGS: Final = ("controls", "sabotage", "live", "alerts")


def body(snapshot: Snapshot, *, healthy: bool) -> Markup:
    """Everything between the page's first and last line."""
    gates = gate_states(snapshot.gates)
    verdicts = [believed(v, gates) for v in snapshot.verdicts if not v.synthetic]
    runs = sorted((v for v in snapshot.runs if not v.synthetic), key=urgency(verdicts))
    return el(
        "main",
        _head(snapshot, healthy=healthy),
        _tiles(runs, verdicts, snapshot.gates),
        *run_section(runs, verdicts, snapshot.at_s),
        *_box(verdicts, snapshot.at_s),
        *(gpu_section(snapshot.gpus) if snapshot.gpus is not None else ()),
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


def _box(verdicts: Sequence[VerdictView], now_s: float) -> Iterator[Markup]:
    """Verdicts that are about no run: the box, its GPUs; what fails first."""
    others = sorted(
        (v for v in verdicts if v.entity.kind.value != "run" and v.outcome in URGENCY),
        key=lambda v: (URGENCY.index(v.outcome), v.check, v.entity.id),
    )
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
        *(_leg(leg) for leg in legs),
        "" if gate.state is GateState.PROVEN else "see pfid selftest",
    )


def _leg(tried: bool | None) -> Markup:  # noqa: FBT001 - what a leg came to
    if tried is None:
        return el("span", "not tried", class_="dim")
    return tag("yes", "good") if tried else tag("no", "bad")


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
