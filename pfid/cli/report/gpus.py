"""The GPUs of a report: what they are busy with now, and what they did while the run was on."""

from collections.abc import Iterator, Sequence

from pfid.cli.report.plots import Plots
from pfid.domain.gpu_past import GpuPast
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.gpu_view import GpuView, WorkKind
from pfid.formats.html.markup import Child, Markup, el, text
from pfid.formats.html.tables import facts
from pfid.wire.snapshots import RunDetails

NEVER_SEEN = "It was on no GPU when one was sampled."
ON_NONE = "The run is on none."


def gpus(details: RunDetails, now: Sequence[GpuView] | None, plots: Plots) -> Iterator[Markup]:
    """Every GPU that the run is or was on.

    Args:
        details: of the run.
        now: the GPUs of the box; None where nobody samples.
        plots: who draws.
    """
    run_id = details.view.run.run_id
    views = {g.facts.uuid: g for g in now or () if any(h.run_id == run_id for h in g.holders or ())}
    pasts = {past.uuid: past for past in details.gpus}
    if not views and not pasts:
        if now:
            yield el("h2", "GPUs")
            said = NEVER_SEEN if details.view.state.ended else ON_NONE
            yield el("p", said, class_="dim")
        return
    for uuid in sorted(
        views.keys() | pasts.keys(), key=lambda u: _place(views.get(u), pasts.get(u))
    ):
        yield from _gpu(uuid, views.get(uuid), pasts.get(uuid), plots)


def _place(view: GpuView | None, past: GpuPast | None) -> tuple[int, str]:
    if view is not None:
        return view.facts.index, view.facts.uuid
    return (0, "") if past is None else (past.index, past.uuid)


def _gpu(uuid: str, view: GpuView | None, past: GpuPast | None, plots: Plots) -> Iterator[Markup]:
    index, name = _called(view, past)
    yield el("h2", f"GPU {index}: {text(name, 60)}")
    yield el("p", text(uuid, 80), class_="dim")
    yield facts((*(() if view is None else _now(view)), *_held_against(view, past)))
    pairs, said = _pairs(view, past)
    if pairs:
        yield el("p", said)
        limit_w, gemm = _limits(view, past)
        yield plots.scatter(pairs, limit_w, None if gemm is None else gemm.power_w)


def _called(view: GpuView | None, past: GpuPast | None) -> tuple[int, str]:
    if view is not None:
        return view.facts.index, view.facts.name
    return (0, "") if past is None else (past.index, past.name)


def _pairs(view: GpuView | None, past: GpuPast | None) -> tuple[list[tuple[float, float]], str]:
    if past is not None and past.power_w:
        pairs = list(zip(past.utilization, past.power_w, strict=False))
        return pairs, (
            f"Utilisation against power while the run was on it: {len(pairs)} of {past.seen}"
            " samples, evenly spread, of the whole card."
        )
    if view is None:
        return [], ""
    means = zip(view.recent_utilization, view.recent_power_w, strict=False)
    return (
        [(u, p) for u, p in means if u is not None and p is not None],
        "Utilisation against power in the last minutes, of the whole card.",
    )


def _limits(view: GpuView | None, past: GpuPast | None) -> tuple[float | None, GpuReference | None]:
    """The enforced limit and the card's own GEMM: as they are now, else as they were then."""
    if view is not None:
        last = view.last
        return None if last is None else last.power_limit_w, view.reference
    return (None, None) if past is None else (past.power_limit_w, past.reference)


def _held_against(view: GpuView | None, past: GpuPast | None) -> Iterator[tuple[str, Child]]:
    limit_w, reference = _limits(view, past)
    if view is None and limit_w is not None:
        yield "power limit then", f"{limit_w:.0f} W"
    if reference is not None:
        yield "its own dense GEMM", f"{reference.tflops:.0f} TFLOP/s at {reference.power_w:.0f} W"


def _now(gpu: GpuView) -> Iterator[tuple[str, Child]]:
    yield "busy with", gpu.kind.value.replace("_", " ")
    if gpu.kind is WorkKind.UNKNOWN and gpu.kind_reason:
        yield "because", gpu.kind_reason.replace("_", " ")
    last = gpu.last
    if last is not None and last.utilization is not None:
        yield "utilisation", f"{last.utilization:.0%}"
    if last is not None and last.power_w is not None:
        limit = "" if last.power_limit_w is None else f" of {last.power_limit_w:.0f} W"
        source = "" if last.power_source is None else f", {last.power_source.value}"
        yield "power", f"{last.power_w:.0f} W{limit}{source}"
    if last is not None and last.tensor_activity is not None:
        yield "tensor cores", f"{last.tensor_activity:.0%}"
