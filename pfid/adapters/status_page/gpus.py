"""The GPUs of the status page: what each is busy with, and who is on it."""

from collections.abc import Iterator
from typing import Final

from pfid.adapters.status_page.small_plot import Scale, small_plot
from pfid.domain.gpu import GpuSample
from pfid.domain.gpu_view import GpusView, GpuView, HolderView, WorkKind
from pfid.formats.html.markup import Child, Markup, el, text
from pfid.formats.html.tables import size, table, tag

WORK: Final = {
    WorkKind.MATMUL: "good",
    WorkKind.NOT_MATMUL: "wait",
    WorkKind.LOW_POWER: "wait",
    WorkKind.THROTTLED: "wait",
}


def gpu_section(view: GpusView) -> Iterator[Markup]:
    """The GPUs, one a row; why there is none where the driver does not answer."""
    yield el("h2", "GPUs")
    if not view.up:
        yield el("p", f"The driver does not answer: {text(view.problem, 60)}", class_="dim")
    if view.gpus:
        heads = (
            *("GPU", "busy with", "utilisation", "power", "tensor cores", "memory"),
            *("of late", "runs and users"),
        )
        yield table(heads, (_gpu(gpu) for gpu in view.gpus))


def _gpu(gpu: GpuView) -> tuple[Child, ...]:
    facts, last = gpu.facts, gpu.last
    slices = [el("br"), _slices(gpu)] if facts.mig else []
    name = el("span", f"{facts.index} {text(facts.name, 40)}", el("br"), facts.uuid, *slices)
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
            small_plot(
                gpu.recent_utilization,
                "utilisations",
                Scale("utilisation", ".0%"),
                at_least=1.0,
            ),
            small_plot(
                gpu.recent_power_w,
                "watts",
                Scale("power", ".0f", " W"),
                at_least=limit_w,
            ),
        ),
        ", ".join(sorted({_holder(h) for h in gpu.holders or ()})),
    )


def _slices(gpu: GpuView) -> str:
    """What MIG divides it into."""
    names = ", ".join(text(each.name, 24) for each in gpu.facts.instances)
    return f"MIG: {names or 'no instance'}"


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
