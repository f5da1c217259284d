"""``pfid trace diff``: two traces as one object, and as tables."""

from typing import Any, Final

from pfid.analysis.kernel_diff import Amount, Change, amounts, changes
from pfid.cli.output import table
from pfid.cli.trace_reading import ReadTrace
from pfid.cli.trace_report import us

SHOWN: Final = 25


def diff_report(before: ReadTrace, after: ReadTrace) -> dict[str, Any]:
    """Put two traces beside each other: per step if both have steps, else as they are."""
    counts = [len(one.collected.steps) for one in (before, after)]
    tables = (before.table, after.table)
    per_step = all(counts) and not any(one.why_no_steps or one.unplaced for one in tables)
    kernels_a, classes_a = amounts(before.table, counts[0] if per_step else None)
    kernels_b, classes_b = amounts(after.table, counts[1] if per_step else None)
    sums = [sum(one.total_ns for one in kernels.values()) for kernels in (kernels_a, kernels_b)]
    return {
        "files": [before.name, after.name],
        "per_step": per_step,
        "step_counts": counts,
        "sum_us": [us(one) for one in sums],
        "classes": [_change(one) for one in changes(classes_a, classes_b)],
        "kernels": [_change(one) for one in changes(kernels_a, kernels_b)],
        "notes": list(_notes(before, after, per_step=per_step)),
    }


def print_diff(report: dict[str, Any]) -> None:
    """Print both tables."""
    unit = "a step" if report["per_step"] else "in all"
    first, second = report["sum_us"]
    title = f"device time {unit}: {first / 1000:,.3f} ms, then {second / 1000:,.3f} ms"
    columns = ("delta ms", "ms", "then", "calls", "then", "")
    table((*columns[:5], "class"), [_row(one) for one in report["classes"]], title=title)
    table((*columns[:5], "kernel"), [_row(one) for one in report["kernels"][:SHOWN]])
    table(("note", ""), [[note["code"], note["text"]] for note in report["notes"]])


def _change(change: Change) -> dict[str, Any]:
    return {
        "name": change.name,
        "calls": [_calls(change.before), _calls(change.after)],
        "total_us": [_total(change.before), _total(change.after)],
        "delta_us": us(change.delta_ns),
        "change": "gone" if change.after is None else "new" if change.before is None else "both",
    }


def _notes(before: ReadTrace, after: ReadTrace, *, per_step: bool) -> list[dict[str, str]]:
    found = []
    for one in (before, after):
        if one.table.merged:
            text = f"{one.name}: {one.table.why_no_steps}: whole traces are compared, not steps"
            found.append({"code": "ranks_merged", "text": text})
        elif one.table.unplaced:
            calls = sum(one.table.unplaced.values())
            text = (
                f"{one.name}: {calls:,} rows ran behind the last step, and the trace does not hold"
                " the calls that tell their step: whole traces are compared, not steps"
            )
            found.append({"code": "steps_unsure", "text": text})
    if not per_step and not found:
        text = "not both traces have ProfilerStep# rows: whole traces are compared, not steps"
        found.append({"code": "whole_traces", "text": text})
    for one in (before, after):
        if one.unread:
            code = "cut" if one.broken or one.reading.cut else "not_read_whole"
            text = f"{one.name} was not read whole, so that what is gone or less may be there"
            found.append({"code": code, "text": f"{text}: {one.unread}"})
        if not one.table.used:
            found.append({"code": "no_device_rows", "text": f"{one.name} has no device rows"})
    return found


def _row(change: dict[str, Any]) -> list[str]:
    times = [f"{one / 1000:,.3f}" if one is not None else "-" for one in change["total_us"]]
    calls = [f"{one:,.6g}" if one is not None else "-" for one in change["calls"]]
    return [f"{change['delta_us'] / 1000:+,.3f}", *times, *calls, change["name"]]


def _calls(amount: Amount | None) -> float | None:
    return None if amount is None else amount.calls


def _total(amount: Amount | None) -> float | None:
    return None if amount is None else us(amount.total_ns)
