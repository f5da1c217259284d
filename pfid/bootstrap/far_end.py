"""The far end of a proof: announce, show, render, and read the verdict back from the text.

Joins the pure gate (pfid.policy.proof) with the page that Prometheus will scrape.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import msgspec

from pfid.domain.errors import PfidError
from pfid.domain.names import RunId
from pfid.domain.outcome import Outcome
from pfid.domain.run import RunState
from pfid.domain.snapshot import DaemonHealth, RunView, Snapshot
from pfid.domain.transition import Origin
from pfid.domain.verdict import Entity, EntityKind
from pfid.formats.exposition import ReadSample, samples
from pfid.policy.control_drive import FarEnd, Shown
from pfid.policy.hysteresis import Settling
from pfid.policy.views import Graded, transition, verdict_view
from pfid.spec.check import Stage
from pfid.spec.fakes import CONTROL_RUN

Render = Callable[[Snapshot], bytes]
FAILING: Final = "pfid_check_failing"
UNKNOWN: Final = "pfid_check_unknown"
REASON: Final = "pfid_check_reason_info"
_SAID: Final = frozenset({FAILING, UNKNOWN, REASON})


class NotAnnouncedError(PfidError):
    """A settled verdict changed and nothing was announced."""


def far_end(render: Render) -> FarEnd:
    """Return the far end that reads verdicts back from pages made by ``render``.

    ``render`` shows synthetic runs and verdicts. Verdicts of stages that have no page are read
    back from the snapshot's JSON, which is what the commands print.
    """

    def drive(check: Graded, settling: Settling, entity: Entity, wall_s: float) -> Shown | None:
        announced = transition(check, settling, wall_s, Origin.SELFTEST)
        if announced is None or announced.verdict != settling.settled:
            raise NotAnnouncedError(f"{check.name}: the verdict changed and no event was made")
        snapshot = _snapshot(check, settling, entity, wall_s)
        snapshot = replace(snapshot, transitions=(announced,))
        if check.stage is Stage.WATCH:
            return read_page(render(snapshot).decode(), check.name, entity)
        return read_json(msgspec.json.encode(snapshot), check.name, entity)

    return drive


def _snapshot(check: Graded, settling: Settling, entity: Entity, wall_s: float) -> Snapshot:
    view = verdict_view(check, settling, last_run_s=wall_s, synthetic=True)
    return Snapshot(
        at_s=wall_s,
        health=DaemonHealth(started_at_s=wall_s, ready=True, last_iteration_s=wall_s),
        runs=tuple(_run(entity)),
        verdicts=() if view is None else (view,),
    )


def _run(entity: Entity) -> Iterator[RunView]:
    if entity.kind is EntityKind.RUN:
        run = replace(CONTROL_RUN, run_id=RunId(entity.id))
        yield RunView(run=run, state=RunState.RUNNING, synthetic=True)


def page_labels(check: str, entity: Entity) -> dict[str, str]:
    """Labels under which the page shows a check's verdict about an entity (METRICS)."""
    if entity.kind is EntityKind.RUN:
        return {"check": check, "run": entity.id}
    if entity.kind is EntityKind.GPU:
        return {"check": check, "uuid": entity.id}
    return {"check": check}


def read_page(text: str, check: str, entity: Entity) -> Shown | None:
    """Read from the text of a page what it says; None if it says nothing about that entity.

    Raises:
        ExpositionError: if a scraper would refuse the page.
    """
    wanted = page_labels(check, entity)
    about = [s for s in samples(text) if s.name in _SAID and _without_reason(s) == wanted]
    failing = _value(about, FAILING)
    unknown = _value(about, UNKNOWN)
    if failing is None or unknown is None:
        return None
    reasons = tuple(s.labels["reason"] for s in about if s.name == REASON)
    return Shown(outcome=_outcome(failing, unknown), reasons=reasons)


def _without_reason(sample: ReadSample) -> dict[str, str]:
    return {name: value for name, value in sample.labels.items() if name != "reason"}


def _outcome(failing: float, unknown: float) -> Outcome:
    if failing:
        return Outcome.FAIL
    return Outcome.UNKNOWN if unknown else Outcome.PASS


def _value(about: list[ReadSample], name: str) -> float | None:
    return next((s.value for s in about if s.name == name), None)


def read_json(body: bytes, check: str, entity: Entity) -> Shown | None:
    """Read from a snapshot's JSON what it says about one check and entity."""
    wanted = msgspec.to_builtins(entity)
    for view in msgspec.json.decode(body)["verdicts"]:
        applies = view["outcome"] != Outcome.NOT_APPLICABLE.value
        if view["check"] == check and view["entity"] == wanted and applies:
            outcome = Outcome(view["outcome"])
            named = () if outcome is Outcome.PASS else (view["reason"],)
            return Shown(outcome=outcome, reasons=named)
    return None
