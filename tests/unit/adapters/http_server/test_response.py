"""The date of an answer is the one that the mail library would have written."""

from email.utils import formatdate

import pytest

from pfid.adapters.http_server.response import http_date


@pytest.mark.parametrize("at_s", [0.0, 951_782_400.5, 1_709_164_800.0, 1_764_460_799.9])
def test_a_date_is_written_as_http_wants_it(at_s: float) -> None:
    assert http_date(at_s) == formatdate(at_s, usegmt=True)
