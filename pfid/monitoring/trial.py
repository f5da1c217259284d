"""What the alerts that no check brings are tried with: a world in which each fires, and quiet ones.

A check's alerts are tried with the check's own controls; these have theirs here, as series that
Prometheus would have scraped once a minute.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pfid.monitoring.control_tests import JOB, STEP_S, filled
from pfid.monitoring.own_rules import WINDOW_S
from pfid.monitoring.rule import Alert

BOX: Final = f'job="{JOB}",instance="box"'
LENGTH: Final = 60
AT_LENGTH_S: Final = 2_400
"""Past every `for`."""
AT_S: Final = 1_000_000
RISING: Final = f"{AT_S}+{STEP_S}x{LENGTH}"
NOW: Final = (f"pfid_time_seconds{{{BOX}}}", RISING)
_LATE: Final = 32
"""From when something is on the page, in steps: within every window, and past every `for`."""
SOON_STEPS: Final = 2
"""After how many steps past its `for` an alert fires at the latest."""
_STARTED: Final = f"process_start_time_seconds{{{BOX}}}"
_BUILD: Final = f"pfid_build_info{{{BOX}}}"
_DAY_S: Final = 86_400
_VALUE: Final = re.compile(r"\{\{ \$value.*?\}\}")

Series = tuple[tuple[str, str], ...]
"""Selectors and values, in promtool's notation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One alert's worlds.

    Attributes:
        fires: in which it fires, and the alert of no other world here.
        quiet: in which it does not, by what is the case there.
        also: further ones in which it fires, each with labels and a value of its own, by what is
            the case there.
        about: labels that it then has beside job and instance; None for one that it has not.
        says: its value, as its description shows it.
        due_s: after how long what it waits for holds in ``fires``.
    """

    fires: Series
    quiet: Mapping[str, Series] = field(default_factory=dict)
    also: Mapping[str, "Trial"] = field(default_factory=dict)
    about: Mapping[str, str | None] = field(default_factory=dict)
    says: str = ""
    due_s: int = 0

    @property
    def worlds(self) -> int:
        """How many it is tried with."""
        return 1 + len(self.also) + len(self.quiet)


def always(name: str, value: float, labels: str = "") -> tuple[str, str]:
    """A series that stays as it is."""
    return f"{name}{{{BOX}{labels}}}", f"{value}+0x{LENGTH}"


def simple(name: str, bad: str, good: str, **about: str) -> Trial:
    """A series that is bad, and the same one good."""
    labels = "".join(f',{label}="{value}"' for label, value in about.items())
    series = f"{name}{{{BOX}{labels}}}"
    return Trial(fires=((series, bad),), quiet={"good": ((series, good),)}, about=about)


def level(name: str, bad: int, good: int, **about: str) -> Trial:
    """A gauge that is bad, and the same one good."""
    return simple(name, f"{bad}+0x{LENGTH}", f"{good}+0x{LENGTH}", **about)


def since(step: int, before: float | None, after: float) -> str:
    """Values that change at one step; nothing before it where ``before`` is None."""
    early = f"_x{step}" if before is None else f"{before}+0x{step - 1}"
    return f"{early} {after}+0x{LENGTH - step}"


def counter(name: str, times: int = 0, window_s: int = WINDOW_S, **about: str) -> Trial:
    """A counter that rises by more than ``times``, also before it was ever seen; not long ago."""
    labels = "".join(f',{label}="{value}"' for label, value in about.items())
    series = f"{name}{{{BOX}{labels}}}"
    late, rest = f"_x{_LATE}", LENGTH - _LATE
    over = (AT_LENGTH_S - window_s) // STEP_S  # the last step that no window reaches back behind
    enough = times + 1

    def rises(step: int, by: int) -> Series:
        return ((series, since(step, 0, by)), *_long_running())

    def there(step: int, count: int = enough) -> Series:
        return ((series, since(step, None, count)), *_long_running())

    def young(step: int) -> Series:
        started = (_STARTED, f"{AT_S + step * STEP_S}+0x{LENGTH}")
        return (series, f"{enough}+0x{LENGTH}"), started, NOW, always("pfid_build_info", 1)

    return Trial(
        fires=((series, f"0+1x{LENGTH}"), *_long_running()),
        also={
            "before the first page": Trial(
                fires=(
                    (series, f"{late} {enough}+0x{rest}"),
                    (_STARTED, f"{late} {AT_S + _LATE * STEP_S}+0x{rest}"),
                    (NOW[0], f"{late} {AT_S + _LATE * STEP_S}+{STEP_S}x{rest}"),
                    (_BUILD, f"{late} 1+0x{rest}"),
                ),
                about=about,
            ),
            "often enough, just within the window": Trial(
                fires=rises(over + 1, enough), about=about
            ),
            "on the page since just within the window": Trial(fires=there(over + 1), about=about),
            "of one that started just within the window": Trial(fires=young(over + 1), about=about),
        },
        quiet={
            "long ago": ((series, f"{enough}+0x{LENGTH}"), *_long_running()),
            "just before the window": rises(over, enough),
            **({"not often enough": rises(_LATE, times)} if times else {}),
            "on the page since just before the window": there(over),
            "on the page since, and not often enough": there(_LATE, times),
            "of one that started just before the window": young(over),
            "not so often, since the start": (
                (series, f"{times}+0x{LENGTH}"),
                (_STARTED, f"{AT_S + AT_LENGTH_S - STEP_S}+0x{LENGTH}"),
                NOW,
                always("pfid_build_info", 1),
            ),
            "of a box that was not seen before": (
                (series, f"{late} {enough}+0x{rest}"),
                (_STARTED, f"{late} {AT_S - _DAY_S}+0x{rest}"),
                (NOW[0], f"{late} {AT_S + _LATE * STEP_S}+{STEP_S}x{rest}"),
                (_BUILD, f"{late} 1+0x{rest}"),
            ),
        },
        about=about,
        due_s=(times + 1) * STEP_S,
    )


def _long_running() -> Series:
    return ((_STARTED, f"{AT_S - _DAY_S}+0x{LENGTH}"), NOW, always("pfid_build_info", 1))


def trial_data(rule_file: str, alert: Alert, trial: Trial) -> dict[str, Any]:
    """The alert's trial in promtool's form: not before its ``for``, soon after, and to the end."""
    late = {"eval_time": f"{AT_LENGTH_S}s", "alertname": alert.name}
    moments: list[dict[str, Any]] = []
    if alert.for_s:
        soon_s = trial.due_s + alert.for_s + SOON_STEPS * STEP_S
        told = [_expected(alert, trial)]
        moments.append({**late, "eval_time": f"{alert.for_s - STEP_S}s", "exp_alerts": []})
        moments.append({**late, "eval_time": f"{soon_s}s", "exp_alerts": told})

    def fires(world: Trial) -> dict[str, Any]:
        return {**late, "exp_alerts": [_expected(alert, world)]}

    also = (_test(n, world.fires, [fires(world)]) for n, world in trial.also.items())
    quiet = (_test(n, s, [{**late, "exp_alerts": []}]) for n, s in trial.quiet.items())
    return {
        "rule_files": [rule_file],
        "evaluation_interval": f"{STEP_S}s",
        "tests": [_test("it fires", trial.fires, [*moments, fires(trial)]), *also, *quiet],
    }


def _test(name: str, series: Series, moments: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": name,
        "interval": f"{STEP_S}s",
        "input_series": list(_input(series)),
        "alert_rule_test": list(moments),
    }


def _input(series: Series) -> Iterator[dict[str, str]]:
    for selector, values in series:
        yield {"series": selector, "values": values}


def _expected(alert: Alert, trial: Trial) -> dict[str, Any]:
    target = {"job": JOB, "instance": "box", **trial.about}
    labels = {"severity": alert.severity, **alert.labels}
    labels |= {name: value for name, value in target.items() if value is not None}
    said = {
        name: _VALUE.sub(trial.says, filled(text, labels))
        for name, text in alert.annotations.items()
    }
    return {"exp_labels": labels, "exp_annotations": said}
