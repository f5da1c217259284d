"""What the kernel's log remembers of errors, from where somebody else stopped reading."""

import os

import pytest

from pfid.workers.kernel_xids import KERNEL_LOG, KernelXid, KernelXids

BUS = "NVRM: Xid (PCI:0000:0a:00): 79, pid=1234, name=python, GPU has fallen off the bus."
NOBODY = "NVRM: Xid (PCI:0000:0A:00): 31, pid='<unknown>', name=<unknown>, Ch 00000010"
OLD = "NVRM: Xid (0000:0b:00): 43, Ch 0000001e, engmask 00000101"
SLICE = "NVRM: Xid (PCI:0000:0b:00 GPU-I:05): 45, pid='77', name=x"


class Log:
    """A file in the kernel's format."""

    def __init__(self, path):
        self.path, self.number = path, 0
        path.touch()

    def say(self, text, priority=4):
        self.number += 1
        with self.path.open("a") as file:
            file.write(f"{priority},{self.number},{self.number * 1000},-;{text}\n SUBSYSTEM=pci\n")


@pytest.fixture
def log(tmp_path):
    made = Log(tmp_path / "kmsg")
    made.say("an old line")
    return made


def told(xids):
    return [(x.place, x.code, x.pid) for x in xids.read()[0]]


def test_errors_are_had_with_their_card_and_process(log):
    xids = KernelXids(log.path)
    for text in (BUS, NOBODY, "pcieport: AER", OLD, SLICE):
        log.say(text)
    assert told(xids) == [
        ("0000:0a:00.0", 79, 1234),
        ("0000:0a:00.0", 31, None),
        ("0000:0b:00.0", 43, None),
        ("0000:0b:00.0", 45, 77),
    ]
    assert xids.read() == ((), True)


def test_what_was_there_before_is_nobodys_news(log):
    log.say(BUS)
    xids = KernelXids(log.path)
    assert xids.read() == ((), True)
    assert xids.last == log.number


def test_whoever_comes_next_reads_on_where_the_last_one_stopped(log):
    first = KernelXids(log.path)
    first.close()
    assert (first.last, first.readable) == (None, False)
    stopped = log.number
    log.say(BUS)
    assert KernelXids(log.path, stopped).read() == (
        (KernelXid(place="0000:0a:00.0", code=79, pid=1234),),
        True,
    )


def test_a_log_that_was_written_over_meanwhile_does_not_tell_that_nothing_happened(log):
    log.number += 50
    log.say("a later line")
    assert KernelXids(log.path, 1).read() == ((), False)
    xids = KernelXids(log.path)
    log.number += 5
    log.say(BUS)
    found, whole = xids.read()
    assert (len(found), whole) == (1, False)
    assert xids.read() == ((), True), "from there on it is whole again"


def test_what_was_fatal_before_the_driver_was_loaded_anew_is_over(log):
    xids = KernelXids(log.path)
    for text in (
        BUS,
        OLD,
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue",
        NOBODY,
    ):
        log.say(text)
    assert [x.code for x in xids.read()[0]] == [43, 31]


def test_only_the_kernel_is_believed(log):
    xids = KernelXids(log.path)
    log.say(BUS, priority=12)
    assert told(xids) == []


def test_a_record_that_is_read_in_two_parts_is_one(log):
    xids = KernelXids(log.path)
    with log.path.open("a") as file:
        file.write(f"4,{log.number + 1},5,-;{BUS[:40]}")
        file.flush()
        assert told(xids) == []
        file.write(BUS[40:] + "\n")
    assert told(xids) == [("0000:0a:00.0", 79, 1234)]


def test_where_the_log_may_not_be_read_nothing_is_remembered(tmp_path):
    xids = KernelXids(tmp_path / "nothing")
    assert (xids.readable, xids.last, xids.read()) == (False, None, ((), False))


def test_the_real_log_is_read_to_its_end_where_the_kernel_lets_us_and_else_said_to_be_shut():
    try:
        os.close(os.open(KERNEL_LOG, os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        lets_us = False
    else:
        lets_us = True
    xids = KernelXids(KERNEL_LOG)
    assert xids.readable is lets_us
    assert (xids.last is not None) is lets_us
    assert xids.read()[0] == (), "what stood there before is not told as new"
    xids.close()
