"""A family writes text that a real parser reads back, whatever stands in a label."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from pfid.adapters.page.family import COUNTER, GAUGE, Family, Labels, Spec, number

SPEC = Spec("pfid_x", GAUGE, "An x.")


def read(family):
    (read_back,) = text_string_to_metric_families(family.text)
    return read_back.samples


@given(st.text(alphabet=st.sampled_from('\\n"a{},= \\"é') | st.characters(codec="utf-8")))
def test_any_label_value_comes_back(value):
    family = Family(SPEC)
    family.add(1, Labels(b="plain", a=value))
    (sample,) = read(family)
    assert sample.labels == {"a": value, "b": "plain"}


@pytest.mark.parametrize("value", ["\n", "\\", '"', "\\n", 'a"\n\\'])
def test_what_the_format_escapes_is_one_line(value):
    family = Family(SPEC)
    family.add(1, Labels(a=value))
    assert len(family.text.split("\n")) == 4
    assert read(family)[0].labels == {"a": value}


@given(st.floats() | st.integers(-(10**18), 10**18))
def test_a_number_comes_back(value):
    back = float(number(value))
    assert back == float(value) or (math.isnan(back) and math.isnan(value))


def test_an_unknown_value_is_absent():
    family = Family(SPEC)
    family.add_known(None)
    family.add_known(0.0)
    assert [sample.value for sample in read(family)] == [0.0]


def test_a_counter_keeps_its_name_on_the_page_and_loses_the_suffix_for_the_library():
    family = Family(Spec("pfid_x_total", COUNTER, "An x."))
    family.add(1)
    assert family.name == "pfid_x"
    assert "pfid_x_total 1.0\n" in family.text
    assert "# TYPE pfid_x_total counter\n" in family.text
