"""Requests come from anybody: what cannot be kept is refused before it is looked at."""

import msgspec
import pytest

from pfid.domain.errors import WireError
from pfid.wire.control import decode_request

REGISTER = {"op": "register", "name": "n", "run_id": "n-1", "pid": 1, "start_ticks": None}
BY_PLACE = (
    ({"op": "get_events"}, ("after_id", "limit"), (2**63, -(2**63) - 1)),
    (
        {**REGISTER, "started_at_s": 1.0},
        ("pid", "attempt", "rank", "world_size", "restarts_left"),
        (2**31, -(2**31) - 1),
    ),
    ({**REGISTER, "started_at_s": 1.0}, ("start_ticks",), (2**63, -1)),
    (REGISTER, ("started_at_s",), (1e300, -1.0, 253_402_300_800.0)),
    (
        {"op": "ended", "run_id": "n-1", "exit_code": 1, "signal": None, "at_s": 1.0},
        ("exit_code", "signal"),
        (2**31, -(2**31) - 1),
    ),
    (
        {"op": "ended", "run_id": "n-1", "exit_code": 1, "signal": None},
        ("at_s",),
        (1e300, -1.0),
    ),
)


@pytest.mark.parametrize(
    ("request_", "key", "number"),
    [(r, key, n) for r, keys, numbers in BY_PLACE for key in keys for n in numbers],
)
def test_a_number_that_cannot_be_kept_is_refused_by_its_place(request_, key, number):
    body = str(number).join(msgspec.json.encode({**request_, key: "HERE"}).decode().split('"HERE"'))
    with pytest.raises(WireError, match=key):
        decode_request(body.encode())


@pytest.mark.parametrize("key", ["begins_at", "size_at_start"])
@pytest.mark.parametrize("number", [-1, 2**63])
def test_a_place_in_a_file_that_no_file_has_is_refused(key, number):
    body = f'{{"op":"hand_over","run_id":"n-1","roles":["log"],"logs":[{{"{key}":{number}}}]}}'
    with pytest.raises(WireError, match=key):
        decode_request(body.encode())
