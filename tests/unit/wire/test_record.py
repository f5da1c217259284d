"""A record survives the disk; what is none is said with its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.domain.errors import StateError
from pfid.domain.identity import ProcessIdentity
from pfid.wire.record import (
    RecordedLog,
    RecordedStop,
    RunRecord,
    decode_record,
    decode_stop,
    encode_record,
    recorded,
)

IDENTITY = ProcessIdentity(
    machine_id="m", boot_id="b", pid=1, start_ticks=2, pid_namespace=3, pidfd_inode=4
)


def test_a_record_comes_back_as_it_was():
    record = RunRecord(
        run_id="r",
        name="naïve \x1b name",
        process=recorded(IDENTITY),
        started_at_s=1.5,
        logs=[RecordedLog(path="/a", ours=True, rotated_to="/b", begins_at=9)],
    )
    assert decode_record(encode_record(record), "here") == record
    assert record.process.identity() == IDENTITY


def test_a_stop_comes_back_as_it_was():
    stop = RecordedStop(uid=1, username="u", why="w", at_s=2.0)
    assert decode_stop(encode_record(stop), "here") == stop


def refusal(decode, body):
    """What the refusal says; the place alone where ``body`` is well-formed by chance."""
    try:
        decode(body, "/r/record.json")
    except StateError as error:
        return str(error)
    return "/r/record.json"


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_an_error_that_names_the_file(body):
    assert "/r/record.json" in refusal(decode_record, body)
    assert "/r/record.json" in refusal(decode_stop, body)


def test_a_record_of_another_schema_is_refused_by_number():
    record = RunRecord(run_id="r", name="n", process=recorded(IDENTITY), started_at_s=1.0, schema=2)
    with pytest.raises(StateError, match="schema 2"):
        decode_record(encode_record(record), "here")
