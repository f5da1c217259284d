"""The Grafana dashboard as code: ``python -m pfid.monitoring.dashboard_source > dashboard.json``.

Its panels stand in ``dashboard_panels.toml``. Needs grafana-foundation-sdk, which only the ``test``
extra brings; what it makes is committed, and a test makes it again and compares.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from grafana_foundation_sdk.builders import (
    dashboard,
    heatmap,
    prometheus,
    stat,
    statetimeline,
    table,
    timeseries,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    ValueMap,
    ValueMappingResult,
    VariableRefresh,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

UID: Final = "pfid-box"
SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
BOX: Final = 'job="$job",instance=~"$instance"'
RUN: Final = f'{BOX},run=~"$run"'
KINDS: Final = ("idle", "matmul", "not_matmul", "low_power", "throttled", "light", "unknown")
_OF_KIND: Final = " or ".join(
    f'{figure} * pfid_gpu_work_kind{{<box>,kind="{kind}"}}' for figure, kind in enumerate(KINDS, 1)
)
WORK_KIND: Final = f"max by (job, instance, uuid) ({_OF_KIND})"
PANELS: Final = "dashboard_panels.toml"
BUILDERS: Final = {
    "heatmap": heatmap,
    "stat": stat,
    "statetimeline": statetimeline,
    "table": table,
    "timeseries": timeseries,
}
_SINCE: Final = re.compile(r"<since (\w+) (<\w+>)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel.

    Attributes:
        title: shown above it.
        kind: module of its builder.
        queries: expression and legend.
        unit: of its values.
        width: of 24.
        about: shown on hover.
        empty: shown where there is nothing to show.
        words: of ``WORDS``, what its values mean.
        units: of a table's columns, by legend.
    """

    title: str
    kind: str
    queries: tuple[tuple[str, str], ...]
    unit: str
    width: int
    about: str
    empty: str
    words: str
    units: Mapping[str, str]


def rows() -> Iterator[tuple[str, tuple[Panel, ...]]]:
    """Every row of the table, its title and its panels."""
    read = tomllib.loads(files(__package__).joinpath(PANELS).read_text(encoding="utf-8"))
    for row in read["row"]:
        yield row["title"], tuple(_read(panel) for panel in row["panel"])


def _read(panel: Mapping[str, Any]) -> Panel:
    known = {"kind": "timeseries", "unit": "short", "width": 8, "empty": "no data", "units": {}}
    known["words"] = "answers" if panel.get("kind") == "statetimeline" else ""
    queries = tuple((_whole(q["expr"]), q["legend"]) for q in panel["queries"])
    return Panel(**{**known, **panel, "queries": queries})


def _whole(expr: str) -> str:
    """The expression with what stands for something else in the table put in."""
    told = _SINCE.sub(r"pfid_time_seconds{<box>} - on (job, instance) group_right () \1{\2}", expr)
    told = told.replace("<work kind>", WORK_KIND)
    return told.replace("<run>", RUN).replace("<box>", BOX)


def build() -> str:
    """Return the dashboard's JSON."""
    made = (
        dashboard.Dashboard("pfid")
        .uid(UID)
        .tags(["pfid", "training"])
        .description(
            "Training runs on shared GPU boxes, and whether their watchdog can be believed."
        )
        .refresh("30s")
        .time("now-6h", "now")
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
    )
    for variable in _variables():
        made = made.with_variable(variable)
    for title, panels in rows():
        made = made.with_row(dashboard.Row(title))
        for panel in panels:
            made = made.with_panel(_panel(panel))
    return JSONEncoder(sort_keys=True, indent=2).encode(made.build()) + "\n"


def _variables() -> Iterator[Any]:
    yield dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus")
    yield _query("job", "label_values(pfid_build_info, job)", many=False)
    yield _query("instance", 'label_values(pfid_build_info{job="$job"}, instance)', many=True)
    yield _query("run", f"label_values(pfid_run_info{{{BOX}}}, run)", many=True)


def _query(name: str, query: str, *, many: bool) -> Any:
    made = (
        dashboard.QueryVariable(name)
        .datasource(SOURCE)
        .query(query)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    )
    return made.multi(True).include_all(True).all_value(".*") if many else made


def _panel(panel: Panel) -> Any:
    made = (
        BUILDERS[panel.kind]
        .Panel()
        .title(panel.title)
        .description(panel.about)
        .datasource(SOURCE)
        .unit(panel.unit)
        .no_value(panel.empty)
        .span(panel.width)
        .height(8)
    )
    for query in _targets(panel):
        made = made.with_target(query)
    if panel.words:
        made = made.mappings([WORDS[panel.words]])
    if panel.kind == "table" and len(panel.queries) > 1:
        made = _joined(made, panel)
    return made


def _joined(made: Any, panel: Panel) -> Any:
    """One row a run, each query a column that is called like its legend."""
    made = made.with_transformation(
        DataTransformerConfig(id_val="joinByField", options={"byField": "run", "mode": "outer"})
    )
    hidden = dict.fromkeys((*_TIMES, "job"), True)
    made = made.with_transformation(
        DataTransformerConfig(id_val="organize", options={"excludeByName": hidden})
    )
    for number, (_, legend) in enumerate(panel.queries):
        named = [
            DynamicConfigValue(id_val="displayName", value=legend),
            DynamicConfigValue(id_val="unit", value=panel.units.get(legend, panel.unit)),
        ]
        # Joined, they are of one frame: a query's own name finds no column any more.
        made = made.override_by_name(f"Value #{_ref(number)}", named)
    return made


def _targets(panel: Panel) -> Sequence[Any]:
    return [_target(panel, i, *query) for i, query in enumerate(panel.queries)]


def _target(panel: Panel, number: int, expr: str, legend: str) -> Any:
    made = prometheus.Dataquery().ref_id(_ref(number)).expr(expr).legend_format(legend)
    if panel.kind == "table":
        return made.instant().format(PromQueryFormat.TABLE)
    return made.format(PromQueryFormat.HEATMAP) if panel.kind == "heatmap" else made


def _ref(number: int) -> str:
    return chr(ord("A") + number)


_TIMES: Final = ("Time", *(f"Time {number}" for number in range(1, 10)))
"""What joining calls the moments of the queries: all the same one."""


def _words(*named: tuple[str, str], first: int = 0) -> ValueMap:
    """What a value is called and its colour, counted from ``first``."""
    return ValueMap(
        options={
            str(first + i): ValueMappingResult(text=text, color=color, index=i)
            for i, (text, color) in enumerate(named)
        }
    )


WORDS: Final = {
    "answers": _words(("no", "green"), ("yes", "red")),
    "blind": _words(("no", "green"), ("yes", "orange")),
    "held": _words(("no", "green"), ("held back", "orange")),
    "kinds": _words(
        ("idle", "text"),
        ("matrix work", "green"),
        ("no matrix work", "red"),
        ("low power", "orange"),
        ("held back", "yellow"),
        ("light", "blue"),
        ("cannot tell", "purple"),
        first=1,
    ),
    "reached": _words(("down", "red"), ("up", "green")),
    "states": _words(
        ("starting", "blue"),
        ("running", "green"),
        ("stalled", "orange"),
        ("suspended", "yellow"),
        ("exited", "text"),
        ("failed", "red"),
        ("killed", "dark-red"),
        ("lost", "purple"),
        first=1,
    ),
}

if __name__ == "__main__":
    sys.stdout.write(build())
