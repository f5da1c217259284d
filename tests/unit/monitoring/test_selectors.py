"""What an expression asks for is found by its tokens, and a stranger among it is named."""

import pytest

from pfid.formats.exposition import ReadSample
from pfid.monitoring.emitted import emitted, unknown_selectors
from pfid.monitoring.selectors import NotTokensError, Selector, selected

SHOWN = emitted(
    [
        ReadSample("pfid_runs", {"state": "running"}, 1.0),
        ReadSample("pfid_run_info", {"run": "a", "name": "n"}, 1.0),
        ReadSample("pfid_time_seconds", {}, 1.0),
    ]
)


def names(expr):
    return {s.name for s in selected(expr).selectors}


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        ("vector(1)", set()),
        ('up{job="pfid"} == 0', {"up"}),
        ("sum by (job) (rate(pfid_x_total[5m])) > 0", {"pfid_x_total"}),
        ("sum(pfid_x) by (job)", {"pfid_x"}),
        ("a * on (run) group_left (name) b unless on (run) c:d:e", {"a", "b", "c:d:e"}),
        ("quantile by (job) (0.5, level:m:op) or bool_like", {"level:m:op", "bool_like"}),
        ('x{a="on (y) {z}"} offset 5m', {"x"}),
    ],
)
def test_every_series_is_found_and_nothing_else(expr, wanted):
    assert names(expr) == wanted


def test_matchers_and_joined_labels_are_found():
    found = selected('a{x=~"y|z",w!="v"} / on (job, run) group_left (name) b')
    assert [(m.label, m.sign, m.value) for m in found.selectors[0].matchers] == [
        ("x", "=~", "y|z"),
        ("w", "!=", "v"),
    ]
    assert found.selectors[1] == Selector("b")
    assert found.labels == {"job", "run", "name"}


def test_what_is_no_promql_is_refused():
    with pytest.raises(NotTokensError):
        selected("a ; b")


@pytest.mark.parametrize(
    ("expr", "said"),
    [
        ('pfid_runs{state="running"}', ""),
        ('pfid_runs{state=~"running|runing"}', "no state is ever runing"),
        ("pfid_run", "nobody emits pfid_run"),
        ('pfid_run_info{user="x"}', "pfid_run_info has no label user"),
        ("pfid_run_info * on (rum) pfid_runs", "no series has a label rum"),
        ("pfid_time_seconds - level:metric:sum", ""),
        ('up{job="pfid",instance="x"} == 0', ""),
        ('up{run="x"}', "up has no label run"),
    ],
)
def test_a_stranger_is_named(expr, said):
    assert "; ".join(unknown_selectors(expr, SHOWN, frozenset({"level:metric:sum"}))) == said
