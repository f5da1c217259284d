"""The Grafana dashboard as code: ``python -m pfid.monitoring.dashboard_source > dashboard.json``.

Needs grafana-foundation-sdk, which only the ``test`` extra brings; what it makes is committed, and
a test makes it again and compares. Rows: is pfid itself well, runs, their host side, gates.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    ValueMap,
    ValueMappingResult,
    VariableRefresh,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

UID: Final = "pfid-box"
SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
BOX: Final = 'job="$job",instance=~"$instance"'
RUN: Final = f'{BOX},run=~"$run"'
WIDTH: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel.

    Attributes:
        title: shown above it.
        make: builder of its kind.
        queries: expression and legend.
        unit: of its values.
        width: of 24.
        about: shown on hover.
    """

    title: str
    make: type[Any]
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"
    width: int = 8
    about: str = ""


SELF: Final = (
    Panel(
        title="pfid answers",
        make=stat.Panel,
        queries=((f"up{{{BOX}}}", "{{instance}}"),),
        width=4,
    ),
    Panel(
        title="Age of the loop",
        make=stat.Panel,
        queries=(
            (
                f"pfid_time_seconds{{{BOX}}} - pfid_loop_last_iteration_timestamp_seconds{{{BOX}}}",
                "{{instance}}",
            ),
        ),
        unit="s",
        width=4,
    ),
    Panel(
        title="Age of samplers",
        make=timeseries.Panel,
        queries=(
            (
                (
                    f"pfid_time_seconds{{{BOX}}} - on (job, instance) group_right ()"
                    f" pfid_sampler_last_success_timestamp_seconds{{{BOX}}}"
                ),
                "{{instance}} {{sampler}}",
            ),
        ),
        unit="s",
    ),
    Panel(
        title="Alerts that fire",
        make=table.Panel,
        queries=(('ALERTS{alertstate="firing",alertname=~"Pfid.*"}', ""),),
    ),
    Panel(
        title="Gates by state",
        make=stat.Panel,
        queries=((f"sum by (state) (pfid_gates{{{BOX}}})", "{{state}}"),),
    ),
    Panel(
        title="Age of proofs",
        make=timeseries.Panel,
        queries=(
            (
                (
                    f"pfid_time_seconds{{{BOX}}} - on (job, instance) group_right ()"
                    f" pfid_gate_proof_timestamp_seconds{{{BOX}}}"
                ),
                "{{instance}} {{check}}",
            ),
        ),
        unit="s",
    ),
    Panel(
        title="Legs that prove each check",
        make=table.Panel,
        queries=((f"pfid_gate_proven{{{BOX}}}", "{{check}} {{leg}}"),),
        about="1 proven, 0 let down; a leg that cannot be tried on this box is absent.",
    ),
    Panel(
        title="pfid's own memory and CPU",
        make=timeseries.Panel,
        queries=(
            (f"process_resident_memory_bytes{{{BOX}}}", "{{instance}} resident"),
            (
                f"rate(process_cpu_seconds_total{{{BOX}}}[$__rate_interval])",
                "{{instance}} cores",
            ),
        ),
    ),
    Panel(
        title="Build",
        make=table.Panel,
        queries=((f"pfid_build_info{{{BOX}}}", "{{version}}"),),
    ),
)
RUNS: Final = (
    Panel(
        title="Runs by state",
        make=timeseries.Panel,
        queries=((f"sum by (state) (pfid_runs{{{BOX}}})", "{{state}}"),),
    ),
    Panel(
        title="State of each run",
        make=statetimeline.Panel,
        queries=((f"pfid_run_state{{{RUN}}} == 1", "{{run}} {{state}}"),),
        width=16,
    ),
    Panel(
        title="Who the runs are",
        make=table.Panel,
        queries=((f"pfid_run_info{{{RUN}}}", ""),),
        width=16,
    ),
    Panel(
        title="Since the last progress",
        make=timeseries.Panel,
        queries=(
            (
                (
                    f"pfid_time_seconds{{{BOX}}} - on (job, instance) group_right ()"
                    f" pfid_run_last_progress_timestamp_seconds{{{RUN}}}"
                ),
                "{{run}}",
            ),
        ),
        unit="s",
    ),
    Panel(
        title="Step times",
        make=heatmap.Panel,
        queries=(
            (
                (
                    "sum by (le) (increase(pfid_step_duration_seconds_bucket"
                    f"{{{RUN}}}[$__rate_interval]))"
                ),
                "{{le}}",
            ),
        ),
        unit="s",
        width=12,
        about="Buckets of factor two; the distribution of every step in view.",
    ),
    Panel(
        title="Mean step against the baseline",
        make=timeseries.Panel,
        queries=(
            (f"run:pfid_step_duration_seconds:mean5m{{{RUN}}}", "{{run}} mean"),
            (f"pfid_step_baseline_seconds{{{RUN}}}", "{{run}} baseline"),
        ),
        unit="s",
        width=12,
    ),
    Panel(
        title="95th percentile of steps",
        make=timeseries.Panel,
        queries=(
            (
                (
                    "histogram_quantile(0.95, sum by (run, le) (rate("
                    f"pfid_step_duration_seconds_bucket{{{RUN}}}[$__rate_interval])))"
                ),
                "{{run}}",
            ),
        ),
        unit="s",
    ),
    Panel(
        title="Slowdown",
        make=timeseries.Panel,
        queries=((f"pfid_step_slowdown_ratio{{{RUN}}}", "{{run}}"),),
        about="Median of the recent steps over the baseline.",
    ),
    Panel(
        title="Steps a minute",
        make=timeseries.Panel,
        queries=((f"60 * rate(pfid_run_steps_total{{{RUN}}}[$__rate_interval])", "{{run}}"),),
    ),
    Panel(
        title="Checks that fail",
        make=statetimeline.Panel,
        queries=((f"pfid_check_failing{{{BOX}}}", "{{check}} {{run}}{{uuid}}"),),
        width=12,
    ),
    Panel(
        title="Checks that cannot look",
        make=statetimeline.Panel,
        queries=((f"pfid_check_unknown{{{BOX}}}", "{{check}} {{run}}{{uuid}}"),),
        width=12,
    ),
    Panel(
        title="Ranks against the median of their job",
        make=timeseries.Panel,
        queries=(
            (
                'rank:pfid_step_duration_seconds:ratio_median{job="$job"}',
                "{{job_id}} rank {{rank}}",
            ),
        ),
        width=12,
    ),
    Panel(
        title="Living ranks and world size",
        make=timeseries.Panel,
        queries=(
            ('job_id:pfid_ranks:count{job="$job"}', "{{job_id}} living"),
            ('job_id:pfid_run_world_size:max{job="$job"}', "{{job_id}} world size"),
        ),
        width=12,
    ),
)
HOST: Final = (
    Panel(
        title="CPU of runs",
        make=timeseries.Panel,
        queries=((f"rate(pfid_run_cpu_seconds_total{{{RUN}}}[$__rate_interval])", "{{run}}"),),
    ),
    Panel(
        title="Resident memory of runs",
        make=timeseries.Panel,
        queries=((f"pfid_run_resident_memory_bytes{{{RUN}}}", "{{run}}"),),
        unit="bytes",
    ),
    Panel(
        title="Bytes read and written",
        make=timeseries.Panel,
        queries=(
            (f"rate(pfid_run_read_bytes_total{{{RUN}}}[$__rate_interval])", "{{run}} read"),
            (f"rate(pfid_run_written_bytes_total{{{RUN}}}[$__rate_interval])", "{{run}} written"),
        ),
        unit="Bps",
    ),
)
GPUS: Final = (
    Panel(
        title="Utilisation",
        make=timeseries.Panel,
        queries=((f"pfid_gpu_utilization_ratio{{{BOX}}}", "{{instance}} {{uuid}}"),),
        unit="percentunit",
        about="Any kernel at all: read it beside power and tensor cores.",
    ),
    Panel(
        title="Power over its limit",
        make=timeseries.Panel,
        queries=(
            (
                (
                    f"pfid_gpu_power_watts{{{BOX}}} / on (job, instance, uuid)"
                    f" pfid_gpu_power_limit_watts{{{BOX}}}"
                ),
                "{{instance}} {{uuid}}",
            ),
        ),
        unit="percentunit",
        about="High utilisation at low power is no matrix work.",
    ),
    Panel(
        title="Tensor cores",
        make=timeseries.Panel,
        queries=((f"pfid_gpu_tensor_active_ratio{{{BOX}}}", "{{instance}} {{uuid}}"),),
        unit="percentunit",
    ),
    Panel(
        title="Kind of GPU work",
        make=statetimeline.Panel,
        queries=(
            (
                f'pfid_check_failing{{{BOX},check="gpu_work_kind"}}',
                "{{run}}{{uuid}} wrong kind",
            ),
            (
                f'pfid_check_unknown{{{BOX},check="gpu_work_kind"}}',
                "{{run}}{{uuid}} cannot tell",
            ),
        ),
        width=12,
        about="What check gpu_work_kind says: busy with matrix work, or busy without it.",
    ),
    Panel(
        title="GPUs there and expected",
        make=timeseries.Panel,
        queries=(
            (f"pfid_gpus_visible{{{BOX}}}", "{{instance}} there"),
            (f"pfid_gpus_expected{{{BOX}}}", "{{instance}} expected"),
        ),
        width=12,
    ),
    Panel(
        title="GPU memory used",
        make=timeseries.Panel,
        queries=(
            (
                (
                    f"pfid_gpu_memory_used_bytes{{{BOX}}} / on (job, instance, uuid)"
                    f" pfid_gpu_memory_total_bytes{{{BOX}}}"
                ),
                "{{instance}} {{uuid}}",
            ),
        ),
        unit="percentunit",
    ),
    Panel(
        title="GPU temperature",
        make=timeseries.Panel,
        queries=((f"pfid_gpu_temperature_celsius{{{BOX}}}", "{{instance}} {{uuid}}"),),
        unit="celsius",
    ),
    Panel(
        title="Energy in an hour",
        make=timeseries.Panel,
        queries=((f"3600 * rate(pfid_gpu_energy_joules_total{{{BOX}}}[1h])", "{{uuid}}"),),
        unit="joule",
    ),
    Panel(
        title="Throttling",
        make=statetimeline.Panel,
        queries=((f"pfid_gpu_throttle_active{{{BOX}}} == 1", "{{uuid}} {{reason}}"),),
        width=12,
    ),
    Panel(
        title="Xid errors",
        make=table.Panel,
        queries=((f"pfid_gpu_xid_errors_total{{{BOX}}} > 0", ""),),
        width=12,
    ),
)
ROWS: Final = (
    ("Is pfid itself well", SELF),
    ("Runs", RUNS),
    ("GPUs", GPUS),
    ("Host side of runs", HOST),
)


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
    for title, panels in ROWS:
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
        panel.make()
        .title(panel.title)
        .description(panel.about)
        .datasource(SOURCE)
        .unit(panel.unit)
        .span(panel.width)
        .height(8)
    )
    for query in _targets(panel):
        made = made.with_target(query)
    if panel.make is statetimeline.Panel:
        made = made.mappings([_ANSWERS])
    return made


def _targets(panel: Panel) -> Sequence[Any]:
    return [_target(panel, i, *query) for i, query in enumerate(panel.queries)]


def _target(panel: Panel, number: int, expr: str, legend: str) -> Any:
    made = prometheus.Dataquery().ref_id(chr(ord("A") + number)).expr(expr).legend_format(legend)
    if panel.make is table.Panel:
        return made.instant().format(PromQueryFormat.TABLE)
    return made.format(PromQueryFormat.HEATMAP) if panel.make is heatmap.Panel else made


_ANSWERS: Final = ValueMap(
    options={
        "0": ValueMappingResult(text="no", color="green", index=0),
        "1": ValueMappingResult(text="yes", color="red", index=1),
    }
)

if __name__ == "__main__":
    sys.stdout.write(build())
