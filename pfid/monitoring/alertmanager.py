"""An Alertmanager configuration to start from: who hears what, and what silences what."""

from typing import Any, Final

from pfid.monitoring.check_rules import alert_name
from pfid.monitoring.series_rules import NAMES

_UNHEARD: Final = 'alertname=~"PfidDown|PfidLoopStalled"'
DEATH: Final = alert_name("run_gone")
STANDS_STILL: Final = ("gpu_work_kind", "run_stalled", "step_time_regime", "steps_unreported")
"""Checks that a run fails, or cannot be looked at with, for being dead alone."""
INHIBIT: Final = (
    # A box that is down, or whose page is old news, says nothing new about its runs; what is known
    # of a dead one stays true.
    {
        "source_matchers": [_UNHEARD],
        "target_matchers": ['check!=""', 'check!="run_gone"'],
        "equal": ["job", "instance"],
    },
    {
        "source_matchers": [_UNHEARD],
        "target_matchers": [f'alertname=~"{"|".join(sorted((*NAMES, "PfidRankSlow")))}"'],
        "equal": ["job", "instance"],
    },
    # It is about the boxes that are down.
    {
        "source_matchers": ['alertname="PfidDown"'],
        "target_matchers": ['alertname="PfidRankMissingUnknown"'],
        "equal": ["job"],
    },
    # A run that is gone also stands still; one alert is enough. What else is told of it (an error
    # of its GPU, a loss that is NaN) may be why it died.
    {
        "source_matchers": [f'alertname="{DEATH}"'],
        "target_matchers": [f'check=~"{"|".join(STANDS_STILL)}"', 'run!=""'],
        "equal": ["job", "instance", "run"],
    },
    # A run that stands still does no matrix work either.
    {
        "source_matchers": [f'alertname="{alert_name("run_stalled")}"'],
        "target_matchers": [f'alertname="{alert_name("gpu_work_kind")}"', 'run!=""'],
        "equal": ["job", "instance", "run"],
    },
    # A check that is not proven by these answers UNKNOWN for every run; the other legs leave it on.
    {
        "source_matchers": ['alertname="PfidGateUnproven"', 'leg=~"controls|sabotage"'],
        "target_matchers": ['alertname=~"Pfid.+Unknown"'],
        "equal": ["job", "instance", "check"],
    },
)


def alertmanager_data(webhook: str, dead_man: str) -> dict[str, Any]:
    """Return the configuration.

    Args:
        webhook: URL that gets every alert.
        dead_man: URL of whoever notices that the Watchdog stopped.
    """
    return {
        "route": {
            "receiver": "everything",
            "group_by": ["job", "instance", "alertname"],
            "group_wait": "10s",
            "group_interval": "1m",
            "repeat_interval": "4h",
            "routes": [
                {
                    "receiver": "dead-man",
                    "matchers": ['alertname="Watchdog"'],
                    "group_wait": "0s",
                    "group_interval": "1m",
                    "repeat_interval": "5m",
                }
            ],
        },
        "inhibit_rules": list(INHIBIT),
        "receivers": [
            {"name": "everything", "webhook_configs": [{"url": webhook, "send_resolved": True}]},
            {"name": "dead-man", "webhook_configs": [{"url": dead_man, "send_resolved": False}]},
        ],
    }
