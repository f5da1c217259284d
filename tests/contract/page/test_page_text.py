"""The page is what the library would write, what promtool accepts and what a parser reads back."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from pfid.adapters.page import Page, live_text, render
from pfid.adapters.page.family import LABEL_MAX_CHARS
from pfid.formats.exposition import samples

GOLDEN = Path(__file__).parent / "golden_page.txt"
VOLATILE = ("process_", "python_info", "pfid_build_info")


def steady(page):
    """The page without what differs from box to box."""
    lines = page.decode().splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(VOLATILE))


def test_the_page_is_the_golden_one(box):
    """After a change on purpose write ``steady(render(...))`` to the file and read the diff."""
    assert steady(render(box.whole())) == GOLDEN.read_text()


def test_the_library_writes_the_same_bytes_from_the_same_collector(box):
    page = Page()
    ours = page.render(box.whole())
    assert steady(ours) == steady(generate_latest(page.registry))


def test_the_process_and_the_interpreter_stand_on_the_same_page(box, families):
    found = families(render(box.whole()))
    assert {"process_resident_memory_bytes", "process_cpu_seconds_total", "python_info"} <= set(
        found
    )


def test_no_created_series_double_the_page(box, families):
    assert not [name for name in families(render(box.whole())) if name.endswith("_created")]


def test_registering_the_collector_does_not_collect(box):
    page = Page()
    assert not [m for m in page.registry.collect() if m.name.startswith("pfid_")]


def test_the_selftests_reader_reads_what_the_library_reads(box):
    text = render(box.whole()).decode()
    ours = [(s.name, dict(s.labels), s.value) for s in samples(text)]
    theirs = [
        (s.name, s.labels, s.value)
        for family in text_string_to_metric_families(text)
        for s in family.samples
    ]
    assert ours == theirs


def test_the_live_part_is_text_of_its_own(families):
    found = families(live_text(12.5, requests=3, evicted=1))
    assert found["pfid_time_seconds"] == {frozenset(): 12.5}
    assert found["pfid_http_requests_total"] == {frozenset(): 3.0}
    assert found["pfid_http_connections_evicted_total"] == {frozenset(): 1.0}


@given(name=st.text(max_size=300), username=st.text(max_size=40), job_id=st.text(max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_a_run_is_called_its_labels_survive_a_real_parser(box, name, username, job_id):
    view = box.run(name=name, username=username, job_id=job_id)
    page = render(box.snapshot(runs=[view])).decode()
    (info,) = [
        sample
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == "pfid_run_info"
    ]
    assert info.labels["run"] == "train-0001"
    assert len(info.labels["name"]) <= LABEL_MAX_CHARS
    assert not set("\n\r\x00\x1b\x9b\u202e") & set("".join(info.labels.values()))
    if name.isascii() and name.isprintable() and len(name) <= LABEL_MAX_CHARS:
        assert info.labels["name"] == name


@pytest.mark.full
@pytest.mark.needs("promtool")
@pytest.mark.parametrize("which", ["whole", "empty"])
def test_promtool_finds_nothing_to_say(box, which):
    snapshot = box.whole() if which == "whole" else box.snapshot()
    page = render(snapshot) + live_text(box.now_s, requests=1, evicted=0)
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=page, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.full
@pytest.mark.needs("promtool")
def test_promtool_does_complain_of_a_bad_page():
    done = subprocess.run(
        ["promtool", "check", "metrics"],
        input=b"# TYPE pfid_x_total gauge\npfid_x_total 1\n",
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0
