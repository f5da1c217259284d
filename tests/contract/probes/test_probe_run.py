"""A probe in a real interpreter: each way to end has a name, and no print is an answer."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pfid.adapters import probe_run
from pfid.adapters.probe_run import Ending, ProbeAsk, run_probe
from pfid.probes import start

PROBE = """
import os, signal, subprocess, sys, time
from .channel import Refused, say

def probe(arguments):
    say("value", number=1)
    {body}
"""


@pytest.fixture
def ended(tmp_path, monkeypatch):
    """Run a probe with this body in a copy of the probes' folder."""
    folder = tmp_path / "probes"
    shutil.copytree(Path(start.__file__).parent, folder)
    monkeypatch.setattr(probe_run, "START", folder / "start.py")
    (tmp_path / "work").mkdir()

    def run(body, *, python=sys.executable, told=None, meanwhile=None, **asked):
        text = PROBE.format(body=body.replace("\n", "\n    "))
        (folder / "planted.py").write_text(text)
        heard = []
        ask = ProbeAsk(python=python, probe="planted", folder=tmp_path / "work", **asked)
        end = run_probe(ask, told or heard.append, meanwhile)
        return end, heard

    return run


VALUE = {"event": "value", "number": 1}


def lives(pid):
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pid):
    until = time.monotonic() + 30
    while lives(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not lives(pid)


@pytest.mark.parametrize(
    ("body", "ending", "why"),
    [
        ("pass", Ending.DONE, ""),
        ("raise Refused('no_torch', 'none here')", Ending.REFUSED, "no_torch: none here"),
        ("raise MemoryError('9 GiB')", Ending.OUT_OF_MEMORY, "MemoryError: 9 GiB"),
        (
            "raise RuntimeError('CUDA out of memory. Tried')",
            Ending.OUT_OF_MEMORY,
            "CUDA out of memory",
        ),
        ("raise ValueError('shape')", Ending.FAILED, "ValueError: shape"),
        ("sys.exit('enough')", Ending.FAILED, "SystemExit: enough"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", Ending.KILLED, "ended by SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGKILL)", Ending.KILLED, "ended by SIGKILL"),
        ("os._exit(7)", Ending.FAILED, "status 7"),
        ("os._exit(0)", Ending.RUBBISH, "without an answer; did the step call os._exit?"),
        (
            "from . import channel; os.write(channel._FD[0], b'Segment 3\\n')",
            Ending.RUBBISH,
            "'Segment 3'",
        ),
        ("from . import channel; os.write(channel._FD[0], b'[1]\\n')", Ending.RUBBISH, "'[1]'"),
        ("from . import channel; os.write(channel._FD[0], b'{}\\n')", Ending.RUBBISH, "'{}'"),
    ],
)
def test_each_way_to_end_has_its_name(ended, body, ending, why):
    end, heard = ended(body)
    assert (end.ending, heard) == (ending, [VALUE])
    assert why in end.why


def test_what_the_users_code_prints_is_no_answer_and_is_kept_for_an_error(ended):
    body = (
        "print('{\"event\": \"done\"}')\nos.write(1, b'loading\\n')\n"
        "subprocess.run(['echo', 'from a child'])\nsay('value', number=2)\nraise KeyError('k')"
    )
    end, heard = ended(body)
    assert [line["number"] for line in heard] == [1, 2]
    assert end.ending is Ending.FAILED
    assert all(text in end.last_words for text in ('"done"', "loading", "from a child"))
    assert "Traceback" in end.last_words


def test_the_line_of_the_users_own_code_is_named(ended, tmp_path):
    (tmp_path / "work" / "mine.py").write_text("import json\n\ndef step():\n    json.loads('{')\n")
    end, _ = ended("import mine; mine.step()")
    assert end.reason == "JSONDecodeError"
    assert "mine.py:4" in end.why


def test_the_folder_of_probes_hides_no_module_of_the_same_name(ended, tmp_path):
    (tmp_path / "probes" / "profile.py").write_text("raise ImportError('the wrong one')\n")
    # cProfile imports ``profile``, and torch imports cProfile
    end, heard = ended("import profile; say('value', file=profile.__file__)")
    assert end.ending is Ending.DONE
    assert Path(heard[1]["file"]).parent == Path(json.__file__).parents[1]


def test_silence_and_a_deadline_end_it_and_its_children_without_waiting_for_them(ended, tmp_path):
    body = (
        "child = subprocess.Popen(['sh', '-c', 'trap : TERM; while :; do sleep 1; done'])\n"
        "say('child', pid=child.pid)\ntime.sleep(100)"
    )
    asked = (({"silent_s": 0.3}, Ending.SILENT), ({"deadline_s": 1.0}, Ending.OVERDUE))
    for limit, ending in asked:
        end, heard = ended(body, **limit)
        assert end.ending is ending
        assert gone(heard[1]["pid"])


def test_a_forked_worker_that_keeps_the_channel_open_does_not_hide_the_end(ended):
    body = "if os.fork() == 0:\n    time.sleep(100)\n    os._exit(0)\nos._exit(5)"
    end, _ = ended(body)
    assert end.ending is Ending.FAILED
    assert "status 5" in end.why


def test_whoever_listens_may_end_it(ended):
    class EnoughError(Exception):
        pass

    def told(said):
        raise EnoughError

    with pytest.raises(EnoughError):
        ended("time.sleep(100)", told=told)

    def meanwhile():
        raise EnoughError

    with pytest.raises(EnoughError):
        ended("time.sleep(100)", meanwhile=meanwhile)


def test_a_probe_whose_asker_is_gone_ends_by_itself(ended, tmp_path):
    code = (
        "import sys; from pfid.adapters import probe_run as r; from pathlib import Path;"
        "r.START = Path(sys.argv[1]);"
        "r.run_probe(r.ProbeAsk(python=sys.executable, probe='planted'),"
        "lambda said: print(said, flush=True))"
    )
    ended("pass")
    (tmp_path / "probes" / "planted.py").write_text(
        PROBE.format(
            body="say('pid', pid=os.getpid())\n    while True: say('on'); time.sleep(0.01)"
        )
    )
    asker = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "probes" / "start.py"],
        stdout=subprocess.PIPE,
        text=True,
    )
    asker.stdout.readline()
    pid = eval(asker.stdout.readline())["pid"]
    assert lives(pid)
    asker.kill()
    asker.wait()
    asker.stdout.close()
    assert gone(pid)


@pytest.mark.parametrize(
    ("python", "ending", "why"),
    [
        ("/nowhere/python", Ending.FAILED, "/nowhere/python cannot be started"),
        ("/bin/echo", Ending.RUBBISH, "is that a Python interpreter?"),
        ("/bin/false", Ending.FAILED, "status 1"),
    ],
)
def test_what_is_no_interpreter_is_told_from_one_that_fails(ended, python, ending, why):
    end, heard = ended("pass", python=python)
    assert (end.ending, heard) == (ending, [])
    assert why in end.why


def test_an_interpreter_that_never_greets_is_silent(ended, tmp_path):
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 100\n")
    slow.chmod(0o755)
    end, _ = ended("pass", python=str(slow), first_word_s=0.3)
    assert end.ending is Ending.SILENT
    assert "0.3 s" in end.why


def test_greetings_of_the_site_come_before_the_probe_and_count_for_nothing(ended, tmp_path):
    (tmp_path / "work" / "sitecustomize.py").write_text("print('welcome to the cluster')\n")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path / "work")}
    end, heard = ended("pass", environ=environ)
    assert (end.ending, heard) == (Ending.DONE, [VALUE])


def test_a_kill_for_memory_is_known_by_the_kernels_count(ended, monkeypatch):
    counts = iter([3, 4])
    monkeypatch.setattr(probe_run.OomCounter, "box", lambda _: next(counts))
    end, _ = ended("os.kill(os.getpid(), signal.SIGKILL)")
    assert end.ending is Ending.OUT_OF_MEMORY
    assert "host's memory" in end.why
