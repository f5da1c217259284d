"""A metrics page, read back as a scraper reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from pfid.formats.exposition import ExpositionError, ReadSample, samples


def test_samples_come_with_labels_and_values():
    page = '# HELP a b\n# TYPE a gauge\na{check="x",run="r-1"} 1.0\n\nb NaN\nc_sum -1.5e+02\n'
    first, second, third = samples(page)
    assert first == ReadSample("a", {"check": "x", "run": "r-1"}, 1.0)
    assert second.name == "b"
    assert second.value != second.value
    assert third == ReadSample("c_sum", {}, -150.0)


@pytest.mark.parametrize(
    "line",
    [
        "a",
        "a b",
        "a{x=1} 1",
        'a{x="1" 1',
        'a{x="1",x="2"} 1',
        "1a 1",
        'a{x="\\q"} 1',
        "a  1",
        "<html>",
    ],
)
def test_what_a_scraper_would_refuse_is_refused_by_line(line):
    with pytest.raises(ExpositionError, match="line 2"):
        list(samples(f"ok 1\n{line}\n"))


@given(st.text(max_size=30), st.floats(allow_nan=False))
def test_any_label_value_comes_back_as_the_library_reads_it(value, number):
    registry = CollectorRegistry()
    Gauge("g", "h", ["x"], registry=registry).labels(value).set(number)
    text = generate_latest(registry).decode()
    (family,) = text_string_to_metric_families(text)
    (theirs,) = family.samples
    (ours,) = samples(text)
    assert (ours.name, ours.labels, ours.value) == (theirs.name, theirs.labels, theirs.value)
