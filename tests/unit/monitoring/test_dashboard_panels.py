"""What a person meets on the dashboard: each panel says what it is, and what emptiness means."""

import json
import re

import pytest

from pfid.bootstrap.monitoring import specimen
from pfid.domain.gpu_view import WorkKind
from pfid.domain.run import RunState
from pfid.monitoring.dashboard import dashboard_text, expressions, labelled
from pfid.monitoring.emitted import unknown_selectors
from pfid.monitoring.selectors import selected

DASHBOARD = json.loads(dashboard_text())
PANELS = {p["title"]: p for p in DASHBOARD["panels"] if p["type"] != "row"}
NO_GPU = "pfid sees no GPU here"


def of_row(title):
    """Titles of the panels below a row's."""
    found, inside = [], False
    for panel in DASHBOARD["panels"]:
        if panel["type"] == "row":
            inside = panel["title"] == title
        elif inside:
            found.append(panel["title"])
    return found


def test_every_panel_stands_there_once():
    assert len(PANELS) == sum(p["type"] != "row" for p in DASHBOARD["panels"])


@pytest.mark.parametrize("title", PANELS)
def test_a_panel_has_a_sentence_a_unit_and_a_word_for_nothing(title):
    panel = PANELS[title]
    defaults = panel["fieldConfig"]["defaults"]
    assert panel["description"].endswith(".")
    assert defaults["unit"]
    assert defaults["noValue"]
    assert all(t["legendFormat"] or panel["type"] == "table" for t in panel["targets"])


def test_no_panel_lies_over_another_or_beside_the_page():
    taken = {}
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                assert taken.setdefault((x, y), panel["title"]) == panel["title"]


def test_a_box_without_gpus_looks_like_one_and_not_like_a_fault():
    said = {t: PANELS[t]["fieldConfig"]["defaults"]["noValue"] for t in of_row("GPUs")}
    assert len(said) >= 10
    of_cards = {t: s for t, s in said.items() if t not in {"Throttling", "Xid errors"}}
    assert all(s.startswith(NO_GPU) for s in of_cards.values()), of_cards
    assert "no data" not in said.values()


def test_a_column_of_the_runs_is_called_what_its_query_is_called():
    """Joined they are one frame: Grafana calls the figures ``Value #A`` and so on."""
    panel = PANELS["Who the runs are"]
    named = {
        o["matcher"]["options"]: next(
            p["value"] for p in o["properties"] if p["id"] == "displayName"
        )
        for o in panel["fieldConfig"]["overrides"]
        if o["matcher"]["id"] == "byName"
    }
    assert named == {f"Value #{t['refId']}": t["legendFormat"] for t in panel["targets"]}


def test_every_state_of_a_run_has_a_figure_a_word_and_a_colour():
    panel = PANELS["State of each run"]
    (words,) = panel["fieldConfig"]["defaults"]["mappings"]
    (target,) = panel["targets"]
    called = {int(value): said["text"] for value, said in words["options"].items()}
    assert sorted(called.values()) == sorted(s.value for s in RunState)
    for value, state in called.items():
        assert f'{value} * pfid_run_state{{job="$job",instance=~"$instance"' in target["expr"]
        assert f'state="{state}"' in target["expr"].split(f"{value} * ")[1].split("}")[0]
    assert len({said["color"] for said in words["options"].values()}) == len(called)


@pytest.mark.parametrize("title", ["Kind of GPU work", "Kind of GPU work of the runs"])
def test_every_kind_of_work_has_a_figure_a_word_and_a_colour(title):
    panel = PANELS[title]
    (words,) = panel["fieldConfig"]["defaults"]["mappings"]
    (target,) = panel["targets"]
    asked = re.findall(r'(\d+) \* pfid_gpu_work_kind\{[^}]*kind="(\w+)"\}', target["expr"])
    assert [kind for _, kind in asked] == [kind.value for kind in WorkKind]
    assert {figure for figure, _ in asked} == set(words["options"])
    said = words["options"].values()
    assert len({s["text"] for s in said}) == len({s["color"] for s in said}) == len(WorkKind)


def test_whoever_chooses_a_run_sees_no_other():
    """Every series that is about a run is asked for with the runs that were chosen."""
    runs = {name for name, labels in specimen().labels.items() if "run" in labels}
    missed = {
        (panel["title"], selector.name)
        for panel in PANELS.values()
        for target in panel["targets"]
        for selector in selected(target["expr"].replace("$__rate_interval", "5m")).selectors
        if selector.name in runs and "run" not in {m.label for m in selector.matchers}
    }
    assert missed == set()
    assert {"pfid_check_failing", "pfid_check_unknown", "pfid_run_info"} <= runs


def test_variables_are_asked_for_like_panels_and_a_misspelt_label_is_named():
    asked = dict(expressions())
    assert asked["$run"] == 'pfid_run_info{job="pfid",instance=~".*",run!=""}'
    assert {"$job", "$instance", "$run"} == {t for t in asked if t.startswith("$")}
    misspelt = labelled("label_values(pfid_run_info, rum)")
    problems = unknown_selectors(misspelt, specimen(), frozenset())
    assert list(problems) == ["pfid_run_info has no label rum"]
    with pytest.raises(ValueError, match="no label_values"):
        labelled("query_result(up)")
