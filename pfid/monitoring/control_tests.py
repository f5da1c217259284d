"""Tests of alerts, made of a check's own controls, in promtool's form.

The series are those of the page on which the control's verdict was read back. A control that
fails raises the alert after its ``for`` and not before; one that passes raises neither alert; one
that cannot look raises the lower one only.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pfid.domain.outcome import Outcome
from pfid.formats.exposition import ReadSample
from pfid.monitoring.rule import Alert

STEP_S: Final = 60
"""Every `for` of a check's alert is a multiple of it."""
AFTER_STEPS: Final = 2
JOB: Final = "pfid"
_WITH: Final = re.compile(r"\{\{ with \$labels\.(\w+) \}\}(.*?)\{\{ end \}\}")
_LABEL: Final = re.compile(r"\{\{ \$labels\.(\w+) \}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A control as a scraper sees it.

    Attributes:
        name: of the control.
        expect: its outcome.
        reason: its reason code.
        samples: of the page.
    """

    name: str
    expect: Outcome
    reason: str
    samples: tuple[ReadSample, ...]


def promtool_data(
    rule_file: str, alerts: Sequence[Alert], shown: Sequence[Shown], asked: Collection[str]
) -> dict[str, Any]:
    """One test for the alerts of one check: those that fail, and last its unknown one.

    Every control is a target of its own, called like the control, under one Prometheus.

    Args:
        rule_file: where the rules stand.
        alerts: of the check.
        shown: its controls.
        asked: names of the series that the rules ask for; what else is on a page changes nothing,
            and promtool would spend most of its time on it.
    """
    *failing, unknown = alerts
    length = max(a.for_s for a in alerts) // STEP_S + 2 * AFTER_STEPS
    return {
        "rule_files": [rule_file],
        "evaluation_interval": f"{STEP_S}s",
        "tests": [
            {
                "name": unknown.labels["check"],
                "interval": f"{STEP_S}s",
                "input_series": [s for c in shown for s in _series(c, asked, length)],
                "alert_rule_test": [
                    *(m for a in failing for m in _moments(a, _raising(a, failing, shown))),
                    *_moments(unknown, [c for c in shown if c.expect is Outcome.UNKNOWN]),
                ],
            }
        ],
    }


def _raising(alert: Alert, failing: Sequence[Alert], shown: Sequence[Shown]) -> list[Shown]:
    """The controls that are to raise it: of its own reason, or of none that another is for."""
    own = alert.labels.get("reason")
    others = {a.labels.get("reason") for a in failing}
    return [
        c
        for c in shown
        if c.expect is Outcome.FAIL
        and (c.reason == own if own is not None else c.reason not in others)
    ]


def _series(control: Shown, asked: Collection[str], length: int) -> Iterator[dict[str, str]]:
    for sample in (s for s in control.samples if s.name in asked):
        values = f"{_number(sample.value)}+0x{length}"
        yield {"series": series(sample, control.name), "values": values}


def _moments(alert: Alert, fire: Sequence[Shown]) -> Iterator[dict[str, Any]]:
    """None before its ``for``; afterwards those of the controls that are to fire, no other."""
    if alert.for_s:
        yield _moment(alert, alert.for_s - STEP_S, [])
    after_s = alert.for_s + AFTER_STEPS * STEP_S if alert.for_s else 0
    yield _moment(alert, after_s, [_expected(alert, control) for control in fire])


def _moment(alert: Alert, at_s: int, expected: list[dict[str, Any]]) -> dict[str, Any]:
    return {"eval_time": f"{at_s}s", "alertname": alert.name, "exp_alerts": expected}


def _expected(alert: Alert, control: Shown) -> dict[str, Any]:
    target = {"job": JOB, "instance": control.name}
    labels = {"severity": alert.severity, **alert.labels, **target, **_about(control)}
    if control.expect is Outcome.FAIL:
        labels["reason"] = control.reason
    return {
        "exp_labels": labels,
        "exp_annotations": {k: filled(v, labels) for k, v in alert.annotations.items()},
    }


def _about(control: Shown) -> dict[str, str]:
    """What the alert is about, as the verdict's own series say."""
    found = next(s for s in control.samples if s.name == "pfid_check_failing")
    about = {k: v for k, v in found.labels.items() if k in {"run", "uuid"}}
    for sample in control.samples:
        if sample.name == "pfid_run_info" and sample.labels["run"] == about.get("run"):
            about |= {k: sample.labels[k] for k in ("name", "username")}
    return about


def filled(template: str, labels: Mapping[str, str]) -> str:
    """The annotation as Prometheus renders it; of its templates those that rules here use."""
    kept = _WITH.sub(lambda m: m[2] if labels.get(m[1]) else "", template)
    return _LABEL.sub(lambda m: labels.get(m[1], ""), kept)


def series(sample: ReadSample, instance: str) -> str:
    """A sample as promtool wants it, from a target of its own."""
    pairs = {**sample.labels, "job": JOB, "instance": instance}
    inner = ",".join(f"{k}={_quoted(v)}" for k, v in sorted(pairs.items()))
    return f"{sample.name}{{{inner}}}"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'"{escaped}"'


def _number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))
