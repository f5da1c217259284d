"""When alerts end and what silence means: relaunches, and what was never seen at all."""

import json

import pytest

from pfid.adapters import promtool
from pfid.bootstrap.monitoring import monitored
from pfid.config.model import Config
from pfid.monitoring.rule_file import rule_groups, rules_data
from pfid.monitoring.yaml_text import yaml_text

pytestmark = [pytest.mark.full, pytest.mark.needs("promtool")]
ENDED_S = 1_000


def of(metric, run, value, /, **labels):
    pairs = {"job": "pfid", "instance": "box", "run": run, **labels}
    inner = ",".join(f'{k}="{v}"' for k, v in pairs.items())
    return {"series": f"{metric}{{{inner}}}", "values": f"{value}+0x30"}


def dead(run="old"):
    check = {"check": "run_gone"}
    return [
        of("pfid_run_info", run, 1, name="train", username="anna"),
        of("pfid_run_start_timestamp_seconds", run, ENDED_S - 500),
        of("pfid_run_end_timestamp_seconds", run, ENDED_S),
        of("pfid_run_state", run, 1, state="killed"),
        of("pfid_check_failing", run, 1, **check),
        of("pfid_check_unknown", run, 0, **check),
        of("pfid_check_reason_info", run, 1, **check, reason="killed_by_signal"),
        of("pfid_check_failing", run, 0, check="step_time_regime"),
        of("pfid_check_unknown", run, 1, check="step_time_regime"),
    ]


def other(started_s, name="train", username="anna"):
    return [
        of("pfid_run_info", "new", 1, name=name, username=username),
        of("pfid_run_start_timestamp_seconds", "new", started_s),
    ]


def firing(tmp_path, series, alert, expr_matches, at_min=20):
    """Whether the alert fires; asked as an expression, so that labels do not matter."""
    test = {
        "name": alert,
        "interval": "1m",
        "input_series": series,
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)',
                "eval_time": f"{at_min}m",
                "exp_samples": [{"labels": "{}", "value": expr_matches}],
            }
        ],
    }
    (tmp_path / "rules.yml").write_text(yaml_text(rules_data(rule_groups(monitored(Config())))))
    file = tmp_path / "test.json"
    document = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": [test]}
    file.write_text(json.dumps(document))
    return promtool.test_rules(file)


@pytest.mark.parametrize(
    ("beside", "fires"),
    [
        ([], 1),
        (other(ENDED_S + 1), 0),
        (other(ENDED_S - 1), 1),
        (other(ENDED_S + 1, name="eval"), 1),
        (other(ENDED_S + 1, username="bert"), 1),
    ],
    ids=["alone", "relaunched", "earlier", "other_name", "other_user"],
)
def test_only_a_later_run_of_the_same_name_and_user_ends_the_alert(tmp_path, beside, fires):
    assert firing(tmp_path, [*dead(), *beside], "PfidRunGone", fires) == ""


def test_what_cannot_be_seen_of_a_run_that_is_over_is_no_alert(tmp_path):
    assert firing(tmp_path, dead(), "PfidStepTimeRegimeUnknown", 0) == ""
    living = [s for s in dead() if "pfid_run_state" not in s["series"]]
    assert firing(tmp_path, living, "PfidStepTimeRegimeUnknown", 1) == ""


def test_a_box_that_was_never_proven_is_overdue(tmp_path):
    ready = [{"series": 'pfid_ready{job="pfid",instance="box"}', "values": "1+0x30"}]
    assert firing(tmp_path, ready, "PfidSelftestOverdue", 1) == ""


@pytest.mark.parametrize(("sampler", "fires"), [("steps", 1), ("proc", 1), ("nvml", 0)])
def test_a_sampler_that_every_box_has_and_that_never_answered_is_stale(tmp_path, sampler, fires):
    labels = f'{{job="pfid",instance="box",sampler="{sampler}"}}'
    never = [{"series": f"pfid_sampler_interval_seconds{labels}", "values": "1+0x30"}]
    assert firing(tmp_path, never, "PfidSamplerStale", fires) == ""


LOSS = {"check": "loss_not_finite"}


def seen(metric, values, /, **labels):
    pairs = {"job": "pfid", "instance": "box", **labels}
    inner = ",".join(f'{k}="{v}"' for k, v in pairs.items())
    return {"series": f"{metric}{{{inner}}}", "values": values}


def living(failing, reason, ready):
    """A run whose loss fails or not, minute by minute, on a box that is heard or not."""
    return [
        seen("pfid_ready", ready),
        seen("pfid_run_info", ready, run="r", name="train", username="anna"),
        seen("pfid_check_failing", failing, run="r", **LOSS),
        seen("pfid_check_reason_info", reason, run="r", **LOSS, reason="nan"),
    ]


@pytest.mark.parametrize(
    ("failing", "ready", "at_min", "fires"),
    [
        ("1x9 stale", "1x9 stale", 12, 1),
        ("1x9 stale", "1x9 stale", 24, 1),
        ("1x9 stale", "1x9 stale", 25, 0),
        ("1x4 0x4 stale", "1x9 stale", 12, 0),
        ("1x9 stale _x2 0x20", "1x9 stale _x2 1x20", 16, 0),
        ("1x9 stale _x5", "1x9 stale 0x20", 12, 1),
        ("1x9 stale _x2 1x20", "1x9 stale _x2 1x20", 16, 1),
    ],
    ids=["silent", "still", "too_long", "over_before", "back_and_over", "not_ready", "back"],
)
def test_silence_is_no_recovery_and_brings_nothing_back(tmp_path, failing, ready, at_min, fires):
    reason = failing.replace("0x4", "stale").replace("0x20", "stale")
    series = living(failing, reason, ready)
    assert firing(tmp_path, series, "PfidLossNotFinite", fires, at_min) == ""
