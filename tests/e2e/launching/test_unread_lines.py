"""Whoever trains with lines that pfid does not know is told how it comes to know them."""

import pytest

pytestmark = pytest.mark.full

LINES = "for i in $(seq 40); do echo schritt $i; done; exec sleep 5.2"


def test_the_launcher_says_so_at_the_end_and_keeps_the_status(user):
    done = user.run("--", "sh", "-c", LINES)
    assert done.returncode == 0
    assert "no step was read in" in done.stderr
    assert "[dialects.regex]" in done.stderr
