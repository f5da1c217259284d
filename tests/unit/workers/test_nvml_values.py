"""A number of a driver is believed only if it can be; whatever it is not, it is named."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.domain.gpu import THROTTLE_REASONS, AbsentReason
from pfid.workers import nvml_values as values

BLANK, RANGE = AbsentReason.BLANK, AbsentReason.OUT_OF_RANGE
UNSUPPORTED = AbsentReason.NOT_SUPPORTED


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (0, 0.0),
        (100, 1.0),
        (37, 0.37),
        (101, RANGE),
        (4_294_967_295, BLANK),
        (1.4e16, BLANK),
        (140_737_488_355_328.0, BLANK),
        (math.nan, BLANK),
        (math.inf, BLANK),
        (-0.5, RANGE),
        (AbsentReason.LOST, AbsentReason.LOST),
    ],
)
def test_a_share_is_0_to_1_or_absent(raw, expected):
    assert values.share(raw) == (
        expected if isinstance(expected, AbsentReason) else pytest.approx(expected)
    )


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(627_400, 627.4), (0, UNSUPPORTED), (20_000_000, RANGE), (4_294_967_295, BLANK)],
)
def test_no_card_draws_nothing_or_twenty_kilowatts(raw, expected):
    assert values.watts(raw) == expected


def test_an_energy_counter_may_be_larger_than_32_bits_and_never_stands_at_0():
    assert values.joules(5_000_000_000_123) == pytest.approx(5_000_000_000.123)
    assert values.joules(0) is UNSUPPORTED
    assert values.joules(2**64 - 1) is BLANK


@pytest.mark.parametrize(
    ("before_j", "now_j", "window_s", "expected"),
    [
        (100.0, 700.0, 1.0, 600.0),
        (100.0, 700.0, 2.0, 300.0),
        (None, 700.0, 1.0, None),
        (100.0, AbsentReason.NOT_SUPPORTED, 1.0, None),
        (100.0, 700.0, None, None),
        (100.0, 700.0, 0.0, None),
        (700.0, 100.0, 1.0, None),
        (700.0, 700.0, 1.0, None),
        (0.0, 1e9, 1.0, None),
    ],
    ids=[
        "a second",
        "two seconds",
        "first read",
        "no counter",
        "no window",
        "no time",
        "went back",
        "stood still",
        "absurd",
    ],
)
def test_mean_power_is_the_counters_difference_or_not_told(before_j, now_j, window_s, expected):
    assert values.mean_power_w(before_j, now_j, window_s) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("00000000:0A:00.0", "0000:0a:00.0"),
        ("0000:0A:00.0", "0000:0a:00.0"),
        ("0A:00.0", "0000:0a:00.0"),
        ("00010000:0A:00.0", "10000:0a:00.0"),
        ("", None),
        ("no address", None),
        ("0A:00.0; rm -rf /", None),
    ],
)
def test_a_bus_id_is_written_as_sysfs_writes_it(raw, expected):
    assert values.bus_id(raw) == expected


@pytest.mark.parametrize("raw", ["", "x", "GPU 1", "GPU-\x1b[2J-00000000", "a" * 90])
def test_what_may_not_be_a_label_is_no_uuid(raw):
    assert values.uuid(raw) is None


def test_every_bit_has_its_name_and_an_unknown_one_is_left_out():
    assert values.throttle(0) == frozenset()
    assert values.throttle(0b101) == {"gpu_idle", "sw_power_cap"}
    assert values.throttle(1 << 40 | 0x20) == {"sw_thermal"}
    assert values.throttle(2**64 - 1) is BLANK
    assert values.throttle(AbsentReason.NO_PERMISSION) is AbsentReason.NO_PERMISSION


def test_a_list_with_an_impossible_pid_is_scrambled():
    assert values.plausible_pids([1, 2**22])
    assert not values.plausible_pids([1, 0])
    assert not values.plausible_pids([2**22 + 1])


@given(st.one_of(st.integers(0, 2**64 - 1), st.floats()))
def test_whatever_a_driver_says_a_share_is_a_share(raw):
    value = values.share(raw)
    assert isinstance(value, AbsentReason) or 0.0 <= value <= 1.0


@given(st.integers(0, 2**64 - 1))
def test_whatever_bits_are_set_the_names_are_known(raw):
    found = values.throttle(raw)
    assert isinstance(found, AbsentReason) or found <= set(THROTTLE_REASONS)
