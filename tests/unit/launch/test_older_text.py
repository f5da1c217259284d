"""An earlier run's text is only claimed where nothing else can explain it."""

import pytest

from pfid.launch.older_text import FoundLog, older_bytes
from pfid.wire.record import RecordedLog, RecordedProcess, RunRecord

FILE = "1:42:1788000000.000000001"
TEXT = "Traceback"
HERE = RecordedProcess(machine_id="m", boot_id="b", pid=7, start_ticks=9)
DEAD = RecordedProcess(machine_id="m", boot_id="b", pid=6, start_ticks=3)


def earlier(process=DEAD, **log):
    said = {"path": "/w/a.log", "file_id": FILE, "head_bytes": len(TEXT), "head": TEXT, **log}
    record = RunRecord(run_id="a-1", name="a", process=process, started_at_s=1.0)
    record.logs.append(RecordedLog(**said))
    return record


def found(text=f"{TEXT}, and more", **changes):
    def head(size):
        return text[:size] if size <= len(text) else ""

    told = {"file_id": FILE, "size_bytes": len(text), "appended": True, "head": head, **changes}
    return FoundLog(**told)


def test_text_of_an_earlier_run_in_the_same_file_is_older():
    assert older_bytes(found(), HERE, [earlier()]) == len(f"{TEXT}, and more")


@pytest.mark.parametrize(
    ("log", "record"),
    [
        (found(appended=False), earlier()),
        (found(file_id=""), earlier(file_id="")),
        (found(), earlier(file_id="1:42:1788000999.0")),
        (found("begun anew, the inode is the same"), earlier()),
        (found("Tra"), earlier()),
        (found(), earlier(head_bytes=0, head="")),
        (found(head=lambda _: ""), earlier(head="")),
        (found(), earlier(process=HERE)),
    ],
    ids=[
        "opened to write it anew",
        "a file system without births",
        "a file that got the number later",
        "emptied in place",
        "shorter than it was",
        "nothing was known of it",
        "its beginning could be read neither then nor now",
        "the same process, attached again",
    ],
)
def test_what_may_be_its_own_is_not_counted(log, record):
    assert older_bytes(log, HERE, [record]) == 0


def test_without_an_earlier_run_nothing_is_claimed():
    assert older_bytes(found(), HERE, []) == 0
