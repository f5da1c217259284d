"""What plugins do wrong is counted by plugin and hook, and said under a name of its own."""

from types import SimpleNamespace

import pytest

from pfid.adapters.page import own
from pfid.daemon.gpus import Gpus
from pfid.daemon.messages import GpuSamplerLost, PluginFault, PluginWorkerEnded
from pfid.daemon.plugins import CHECKS_HOOK, Plugins
from pfid.domain.snapshot import DaemonHealth, PluginView, Snapshot
from pfid.policy.worker_life import EndCause
from pfid.spec import hookspecs
from pfid.spec.ports.gpus import SamplerProblem


@pytest.fixture
def core():
    said = []
    return SimpleNamespace(
        plugin_errors={},
        plugin_worker_ends={},
        snapshot_stale=False,
        said=said,
        samplers={},
        sampled=lambda *_args, **_named: None,
        monotonic_s=lambda: 1.0,
        gpus=SimpleNamespace(
            pids_are_ours=True,
            own_pid=1,
            interval_s=1.0,
            sampler=lambda *_: SimpleNamespace(problem=None),
            troubled=lambda *_: None,
        ),
        ports=SimpleNamespace(
            processes=None,
            log=SimpleNamespace(say=lambda level, event, **more: said.append((level, event, more))),
        ),
    )


def test_faults_are_counted_and_said_where_no_verdict_says_them(core):
    plugins = Plugins(core)
    plugins.fault(PluginFault(plugin="theirs", hook=CHECKS_HOOK, what="cannot be loaded"))
    plugins.fault(PluginFault(plugin="theirs", hook=CHECKS_HOOK))
    assert core.plugin_errors == {"theirs": {"pfid_checks": 2}}
    assert core.snapshot_stale
    [(level, event, more)] = core.said
    assert (level, event, more["plugin"], more["problem"]) == (
        "error",
        "plugin",
        "theirs",
        "cannot be loaded",
    )


def test_an_end_of_the_plugins_process_is_said_as_what_it_is(core):
    Plugins(core).worker_ended(PluginWorkerEnded(cause="outgrown", plugin="theirs", said="x" * 900))
    assert core.plugin_worker_ends == {"outgrown": 1}
    [(level, event, more)] = core.said
    assert (level, event) == ("error", "plugin worker")
    assert (more["cause"], more["plugin"], len(more["said"])) == ("outgrown", "theirs", 500)


@pytest.mark.parametrize(
    ("sampler", "event", "counted"),
    [
        ("nvml", "gpu sampler", {}),
        ("plugins", "plugin sampler", {"plugins": {"pfid_gpu_samplers": 1}}),
    ],
)
def test_a_plugins_sampler_that_crashed_is_not_called_the_gpu_sampler(
    core, sampler, event, counted
):
    gpus = Gpus(core, SimpleNamespace(gpus_changed=lambda: None))
    gpus.lost(GpuSamplerLost(sampler=sampler, problem=SamplerProblem.CRASHED, detail="too large"))
    [(_, said, more)] = core.said
    assert said == event
    assert (more["sampler"], more["detail"]) == (sampler, "too large")
    assert core.plugin_errors == counted


def test_every_hook_and_every_cause_stands_on_the_page_from_the_start():
    hooks = {name for name in dir(hookspecs) if name.startswith("pfid_")}
    assert set(own.HOOKS) == hooks - {"pfid_refusal_classifiers"}  # a daemon judges no evaluation
    assert set(own.ENDS) == {c.value for c in EndCause} - {EndCause.STOPPED.value}
    health = DaemonHealth(
        started_at_s=1.0,
        ready=True,
        last_iteration_s=1.0,
        plugin_errors={"refused": {"pfid_checks": 2}},
        plugin_worker_ends={"outgrown": 3},
    )
    page = "".join(
        family.text
        for family in own.families(
            Snapshot(at_s=1.0, health=health, plugins=(PluginView(name="loaded", version="1"),)), {}
        )
    )
    assert 'pfid_plugin_errors_total{hook="pfid_checks",plugin="refused"} 2.0' in page
    assert 'pfid_plugin_errors_total{hook="pfid_notify",plugin="loaded"} 0.0' in page
    assert 'pfid_plugin_worker_ends_total{cause="outgrown"} 3.0' in page
    assert 'pfid_plugin_worker_ends_total{cause="crashed"} 0.0' in page
