"""Machines get RFC 3339, people get ages."""

import pytest

from pfid.cli.times import age, rfc3339


@pytest.mark.parametrize(
    ("at_s", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (1_788_000_000.1239, "2026-08-29T10:40:00.123Z"),
        (None, None),
        (1e300, None),
        (float("nan"), None),
    ],
)
def test_wall_time_is_rfc_3339_in_utc(at_s, text):
    assert rfc3339(at_s) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (-5, "0.0 s"),
        (0, "0.0 s"),
        (59.9, "59.9 s"),
        (60, "1.0 min"),
        (3_600, "1.0 h"),
        (86_400 * 2.5, "2.5 d"),
    ],
)
def test_an_age_is_in_its_largest_unit(seconds, text):
    assert age(seconds) == text
