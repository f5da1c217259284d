"""What processes of a run saw, written by them and paired up by whoever reads."""

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from pfid.formats.observations import Kind, Pairing, pair_up, read_observations
from pfid.trainer.observe import MAX_LINE_BYTES, configured, observe
from pfid.trainer.run_folder import observations_file


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PFID_RUN_DIR", str(tmp_path))
    return tmp_path


def read(folder):
    path = Path(observations_file(str(folder)))
    return read_observations(path.read_bytes().splitlines(keepends=True))


def in_a_worker(call, *arguments):
    """Run it in a process of its own, as a data loader's worker is one."""
    worker = multiprocessing.get_context("fork").Process(target=call, args=arguments)
    worker.start()
    worker.join()
    assert worker.exitcode == 0


def test_an_observation_in_another_process_pairs_with_what_was_configured(folder):
    assert configured("template.sha256", "ab12")
    in_a_worker(observe, "template.sha256", "ab12")
    (pair,) = pair_up(read(folder)[0])
    assert pair.pairing is Pairing.AGREES
    assert pair.configured.pid == os.getpid() != pair.observed[0].pid


def test_a_consequence_that_differs_contradicts(folder):
    configured("template.sha256", "ab12")
    in_a_worker(observe, "template.sha256", "the checkpoint's own")
    observe("template.sha256", "ab12")
    (pair,) = pair_up(read(folder)[0])
    assert pair.pairing is Pairing.CONTRADICTS


def test_what_the_assigning_process_sees_is_refused_as_a_pair(folder):
    configured("template.sha256", "ab12")
    observe("template.sha256", "ab12")
    (pair,) = pair_up(read(folder)[0])
    assert pair.pairing is Pairing.SELF_OBSERVED
    assert not pair.observed
    assert len(pair.refused) == 1


def test_a_reused_pid_is_another_process(folder):
    configured("key", 1)
    (own,), _ = read(folder)
    line = {"key": "key", "value": 1, "pid": own.pid, "started": own.started + 1, "at_s": 9.0}
    with Path(observations_file(str(folder))).open("a") as file:
        file.write(json.dumps({**line, "kind": "observed"}) + "\n")
    (pair,) = pair_up(read(folder)[0])
    assert pair.pairing is Pairing.AGREES


def test_one_half_alone_says_so(folder):
    configured("lora.rank", 16)
    observe("tokens.truncated", 3)
    pairs = {pair.key: pair.pairing for pair in pair_up(read(folder)[0])}
    assert pairs == {
        "lora.rank": Pairing.INTENT_ONLY,
        "tokens.truncated": Pairing.OBSERVED_ONLY,
    }


class _Raises:
    def __str__(self) -> str:
        raise RuntimeError


class _Scalar:
    shape = ()

    def item(self):
        return 2.5


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (_Scalar(), 2.5),
        ({"a": [1, (2, None)]}, {"a": [1, [2, None]]}),
        ("é\n\x1b[31m", "é\n\x1b[31m"),
        (Path("/etc"), "/etc"),
    ],
)
def test_any_value_is_written_as_json(folder, value, written):
    assert observe("key", value)
    (observation,), bad = read(folder)
    assert (observation.value, observation.kind, bad) == (written, Kind.OBSERVED, 0)


def test_a_value_that_holds_itself_ends(folder):
    own: list = []
    own.append(own)
    assert observe("key", own)
    assert read(folder)[1] == 0


@pytest.mark.parametrize("value", [_Raises(), "x" * MAX_LINE_BYTES])
def test_what_cannot_be_written_is_refused_without_a_word(folder, value):
    assert observe("key", value) is False
    assert not Path(observations_file(str(folder))).exists()


def test_without_a_run_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert observe("key", 1) is False
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_gone_is_no_exception(folder):
    folder.rmdir()
    assert observe("key", 1) is False


def test_a_torn_line_is_counted_and_loses_no_other(folder):
    observe("one", 1)
    path = Path(observations_file(str(folder)))
    path.write_bytes(path.read_bytes() + b'{"key": "torn", "va\n\0\0\n[]\n')
    observe("two", 2)
    found, bad = read(folder)
    assert [o.key for o in found] == ["one", "two"]
    assert bad == 2
