"""``pfid trace`` as tables: what the object says, for people."""

from collections.abc import Sequence
from typing import Any, Final

from pfid.cli.nd_options import nd_facts
from pfid.cli.output import facts, table

KERNELS_SHOWN: Final = 25
NAME_CHARS: Final = 72
COLUMNS: Final = (
    "share",
    "calls",
    "total ms",
    "min us",
    "p50 us",
    "max us",
    "class",
    "gen",
    "tier",
    "dtype",
    "kernel",
)


def print_report(report: dict[str, Any], *, by_step: bool) -> None:
    """Print one file's report."""
    facts(_facts(report))
    if report["kernels"]:
        table(
            ("class", "share", "calls", "sum ms", "union ms"),
            [
                [
                    name,
                    _share(one["share"]),
                    _count(one["calls"]),
                    _ms(one["sum_us"]),
                    _ms(one["union_us"]),
                ]
                for name, one in report["classes"].items()
            ],
        )
        shown = report["kernels"][:KERNELS_SHOWN]
        left = len(report["kernels"]) - len(shown)
        title = f"kernels, the most time first ({left} more in --json)" if left else "kernels"
        table(COLUMNS, [_kernel(one) for one in shown], title=title)
    if by_step:
        _print_steps(report)
    if report["expectations"]:
        table(
            ("outcome", "expected", "found"),
            [
                [one["outcome"].upper(), one["pattern"], one["why"]]
                for one in report["expectations"]
            ],
        )
    table(("note", ""), [[note["code"], note["text"]] for note in report["notes"]])


def print_ranks(reports: Sequence[dict[str, Any]]) -> None:
    """Print several ranks beside each other."""
    rows = []
    for one in reports:
        talk = one["communication"] or {}
        rows.append(
            [
                "-" if one["rank"] is None else str(one["rank"]),
                _count(one["rows"]),
                _ms(one["sum_us"]),
                _ms(one["union_us"]),
                _share(one["closure"]),
                _ms(talk.get("union_us")),
                _ms(talk.get("exposed_us")),
                one["file"],
            ]
        )
    columns = ("rank", "rows", "sum ms", "union ms", "closure", "comm ms", "exposed ms", "file")
    table(columns, rows, title="all files")


def _facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    device, launches = report["device"], report["launches"]
    rows = [
        ("file", report["file"]),
        (
            "device",
            f"{device['name'] or 'unknown'}, capability {device['capability'] or 'unknown'}",
        ),
    ]
    if report["rank"] is not None:
        rows.append(("rank", str(report["rank"])))
    if report["sum_us"] is not None:
        rows.append(
            (
                "device rows",
                (
                    f"{report['rows']:,}: sum {_ms(report['sum_us'])} ms,"
                    f" union {_ms(report['union_us'])} ms"
                ),
            )
        )
    only = report["kernels_only"]
    if only:
        share = only["sum_us"] / only["span_us"] if only["span_us"] else 0.0
        rows.append(
            (
                "kernels alone",
                (
                    f"{only['calls']:,}: {_ms(only['sum_us'])} ms in a window of"
                    f" {_ms(only['span_us'])} ms ({_share(share)})"
                ),
            )
        )
    if report["closure"] is not None:
        rows.append(
            (
                "closure",
                (
                    f"{_share(report['closure'])} of {_ms(report['wall_us'])} ms"
                    f" ({report['wall_source']})"
                ),
            )
        )
    elif report["sum_share"] is not None:
        rows.append(("closure", f"{_share(report['sum_share'])} of {_ms(report['wall_us'])} ms"))
    if report["flops"]:
        rate = report["flops"]["per_second"]
        said = "" if rate is None else f", {rate / 1e12:.3g} TFLOP/s"
        rows.append(("FLOPs recorded", f"{report['flops']['total']:.4g}{said}"))
    elif report["kernels"]:
        rows.append(
            ("FLOPs recorded", "none here: torch writes them to key_averages(), not traces")
        )
    if report["kernels"]:
        rows += nd_facts(report["accounting"], report["accounting_unknown"])
    if launches and report["kernels"]:
        rows.append(("attention", launches["attention"]))
        rows.append(("experts", launches["experts"]))
    return rows


def _kernel(one: dict[str, Any]) -> list[str]:
    name = one["name"]
    return [
        _share(one["share"]),
        _count(one["calls"]),
        _ms(one["total_us"]),
        _us(one["min_us"]),
        _us(one["p50_us"]),
        _us(one["max_us"]),
        one["class"],
        one["generation"] or ("device" if one["generation_from"] == "compiled" else "?"),
        one["tier"] or "",
        one["dtype"] or "?",
        name if len(name) <= NAME_CHARS else name[: NAME_CHARS - 1] + "~",
    ]


def _print_steps(report: dict[str, Any]) -> None:
    if not report["steps"]:
        return
    kinds = list(report["classes"])
    table(
        ("step", "wall ms", "rows", "sum ms", "union ms", "closure", *kinds),
        [
            [
                str(one["step"]),
                _ms(one["wall_us"]),
                _count(one["calls"]),
                _ms(one["sum_us"]),
                _ms(one["union_us"]),
                _share(one["closure"]),
                *(_ms(one["classes"].get(kind, 0.0)) for kind in kinds),
            ]
            for one in report["steps"]
        ],
        title="by step (class columns in ms)",
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}" if value < 0.1 else f"{value:.1%}"


def _ms(us: float | None) -> str:
    return "-" if us is None else f"{us / 1000:,.3f}"


def _us(us: float | None) -> str:
    return "-" if us is None else f"{us:,.2f}"


def _count(count: int) -> str:
    return f"{count:,}"
