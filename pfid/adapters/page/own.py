"""pfid about itself: loop, configuration, samplers, plugins, log."""

import platform
from collections.abc import Iterator, Mapping
from typing import Final

from pfid import __version__
from pfid.adapters.page.family import COUNTER, GAUGE, SUMMARY, Family, Spec, shared, untrusted
from pfid.adapters.revision import revision
from pfid.domain.snapshot import DaemonHealth, PluginView, SamplerView, Snapshot

BUILD: Final = Spec("pfid_build_info", GAUGE, "Always 1. The version that runs.")
READY: Final = Spec(
    "pfid_ready", GAUGE, "1 once the watch checks were tried and all sockets bound."
)
LAST_ITERATION: Final = Spec(
    "pfid_loop_last_iteration_timestamp_seconds", GAUGE, "Last complete iteration of the loop."
)
LOOP: Final = Spec("pfid_loop_duration_seconds", SUMMARY, "Time spent in iterations of the loop.")
RELOAD_OK: Final = Spec(
    "pfid_config_last_reload_successful", GAUGE, "0 after a configuration was refused."
)
RELOADED: Final = Spec(
    "pfid_config_last_reload_success_timestamp_seconds", GAUGE, "Last configuration taken."
)
STORE: Final = Spec("pfid_store_writable", GAUGE, "0 while state cannot be written to disk.")
UNREAD: Final = Spec(
    "pfid_runs_unread", GAUGE, "Living runs whose stored state cannot be read: nobody watches them."
)
SAMPLED: Final = Spec(
    "pfid_sampler_last_success_timestamp_seconds", GAUGE, "Last time a source of facts answered."
)
INTERVAL: Final = Spec("pfid_sampler_interval_seconds", GAUGE, "How often a source is asked.")
SAMPLER_ERRORS: Final = Spec("pfid_sampler_errors_total", COUNTER, "Failed reads.")
SAMPLER_TIMEOUTS: Final = Spec("pfid_sampler_timeouts_total", COUNTER, "Reads over their deadline.")
PLUGIN: Final = Spec("pfid_plugin_info", GAUGE, "Always 1. A plugin that was found.")
PLUGIN_ERRORS: Final = Spec(
    "pfid_plugin_errors_total", COUNTER, "What a plugin did wrong in a hook, or its refusal."
)
WORKER_ENDS: Final = Spec(
    "pfid_plugin_worker_ends_total", COUNTER, "Ends of the plugins' process that nobody asked for."
)
HOOKS: Final = ("pfid_checks", "pfid_gpu_samplers", "pfid_notify")
ENDS: Final = ("crashed", "malformed", "outgrown", "spawn_failed", "timed_out")
LOG: Final = Spec("pfid_log_messages_total", COUNTER, "Lines pfid logged, by level.")
DROPPED: Final = Spec(
    "pfid_dropped_series_total", COUNTER, "Series left out to keep the page bounded."
)
PLUGINS_MAX: Final = 64
LEVELS: Final = ("debug", "info", "warning", "error", "critical")


def families(snapshot: Snapshot, dropped: Mapping[str, int]) -> Iterator[Family]:
    """Everything about the daemon but its clock, which is served live."""
    build = Family(BUILD)
    build.add(
        1,
        shared(version=__version__, revision=revision(), python_version=platform.python_version()),
    )
    yield build
    yield from _loop(snapshot.health)
    yield from _samplers(snapshot.samplers)
    yield from _plugins(snapshot.plugins, snapshot.health)
    log = Family(LOG)
    for level in LEVELS:
        log.add(snapshot.health.log_messages.get(level, 0), shared(level=level))
    yield log
    left_out = Family(DROPPED)
    for name, n in dropped.items():
        left_out.add(n + snapshot.health.dropped_series.get(name, 0), shared(family=name))
    yield left_out


def stale(snapshot: Snapshot, sampler: str, intervals: float = 3.0) -> bool:
    """Whether a sampler's values are too old to be shown: older than three of its intervals."""
    for view in snapshot.samplers:
        if view.name == sampler and view.last_success_s is not None:
            return snapshot.at_s - view.last_success_s > intervals * view.interval_s
    return False


def _loop(health: DaemonHealth) -> Iterator[Family]:
    values = (
        (READY, health.ready),
        (LAST_ITERATION, health.last_iteration_s),
        (RELOAD_OK, health.config_ok),
        (RELOADED, health.config_loaded_s),
        (STORE, not health.store_problem),
        (UNREAD, health.runs_unread),
    )
    for spec, value in values:
        family = Family(spec)
        family.add_known(value)
        yield family
    loop = Family(LOOP)
    loop.add(health.iterations, suffix="_count")
    loop.add(health.iteration_seconds, suffix="_sum")
    yield loop


def _samplers(samplers: tuple[SamplerView, ...]) -> Iterator[Family]:
    specs = (SAMPLED, INTERVAL, SAMPLER_ERRORS, SAMPLER_TIMEOUTS)
    sampled, interval, errors, timeouts = made = tuple(Family(spec) for spec in specs)
    for view in samplers:
        labels = shared(sampler=untrusted(view.name))
        sampled.add_known(view.last_success_s, labels)
        interval.add(view.interval_s, labels)
        errors.add(view.errors, labels)
        timeouts.add(view.timeouts, labels)
    yield from made


def _plugins(plugins: tuple[PluginView, ...], health: DaemonHealth) -> Iterator[Family]:
    """A counter that is born at 1 has not increased, so every hook of every plugin stands at 0."""
    info, errors, ends = Family(PLUGIN), Family(PLUGIN_ERRORS), Family(WORKER_ENDS)
    for view in {view.name: view for view in plugins}.values():
        info.add(1, shared(plugin=untrusted(view.name), version=untrusted(view.version)))
    names = dict.fromkeys((*(view.name for view in plugins), *health.plugin_errors))
    for name in list(names)[:PLUGINS_MAX]:
        by_hook = health.plugin_errors.get(name, {})
        for hook in HOOKS:
            errors.add(by_hook.get(hook, 0), shared(plugin=untrusted(name), hook=hook))
    for cause in ENDS:
        ends.add(health.plugin_worker_ends.get(cause, 0), shared(cause=cause))
    yield from (info, errors, ends)
