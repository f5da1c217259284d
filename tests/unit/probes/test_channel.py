"""What a probe printed stands in its file before its last word is said: nobody waits after it."""

import io
import json
import os
import select
import sys

import pytest

from pfid.probes import channel


class Said(io.StringIO):
    """A stream that notes, when it is flushed, what the listener has heard by then."""

    def __init__(self, listener):
        super().__init__()
        self.listener = listener
        self.heard = ""
        self.heard_when_flushed = []

    def flush(self):
        while select.select([self.listener], [], [], 0)[0]:
            self.heard += os.read(self.listener, 65536).decode()
        self.heard_when_flushed.append(self.heard)


def done(_):
    sys.stdout.write("words\n")


def refused(_):
    sys.stdout.write("words\n")
    raise channel.Refused("no_gpu", "none")


def failed(_):
    sys.stdout.write("words\n")
    raise ValueError("theirs")


def left(_):
    sys.stdout.write("words\n")
    raise SystemExit(4)


def out_of_memory(_):
    sys.stdout.write("words\n")
    raise MemoryError


PROBES = [(done, "done"), (refused, "refused"), (failed, "failed"), (left, "failed")]
PROBES += [(out_of_memory, "out_of_memory")]


@pytest.fixture
def listener(monkeypatch):
    heard, said = os.pipe()
    monkeypatch.setattr(channel, "_FD", [said])
    yield heard
    os.close(heard)
    os.close(said)


@pytest.mark.parametrize(("probe", "last"), PROBES)
def test_both_streams_are_flushed_before_the_last_word(probe, last, listener, monkeypatch):
    out, err = Said(listener), Said(listener)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    channel.conduct(probe, [])
    word = json.loads(os.read(listener, 65536))
    assert word["event"] == last
    assert "words" in out.getvalue()
    for stream in (out, err):
        assert stream.heard_when_flushed, "nobody flushed it"
        assert f'"event": "{last}"' not in stream.heard_when_flushed[-1]


@pytest.mark.parametrize("probe", [done, failed])
def test_a_stream_that_cannot_be_flushed_costs_no_last_word(probe, listener, monkeypatch):
    closed = io.StringIO()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(sys, "stdout", closed)

    def closes(arguments):
        probe(arguments)
        closed.close()

    channel.conduct(closes if probe is done else probe, [])
    assert json.loads(os.read(listener, 65536).splitlines()[-1])["event"] in {"done", "failed"}


def test_what_was_printed_is_in_the_file_when_the_last_word_arrives(
    listener, monkeypatch, tmp_path
):
    """A file's own buffer, as a probe's output has one."""
    with (tmp_path / "out").open("w") as file:
        monkeypatch.setattr(sys, "stdout", file)
        channel.conduct(done, [])
        assert (tmp_path / "out").read_text() == "words\n"
