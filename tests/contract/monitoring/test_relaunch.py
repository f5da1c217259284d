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


def firing(tmp_path, series, alert, expr_matches):
    """Whether the alert fires; asked as an expression, so that labels do not matter."""
    test = {
        "name": alert,
        "interval": "1m",
        "input_series": series,
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)',
                "eval_time": "20m",
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
