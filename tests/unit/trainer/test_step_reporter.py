"""Steps reported by the program's own call."""

import json
import os
import resource
import shutil
import signal
import sys
from pathlib import Path

import pytest

from pfid.domain.step import Phase, StepClock
from pfid.formats.steps_file import StepsFileParser
from pfid.trainer import Accounting, StepReporter
from pfid.trainer.dynamo_counters import DynamoCounters
from pfid.trainer.run_folder import steps_file


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "steps").mkdir()
    monkeypatch.setenv("PFID_RUN_DIR", str(tmp_path))
    return tmp_path


def read(folder, rank=0):
    """What the daemon's parser makes of the file: nothing in it may be foreign to it."""
    parser = StepsFileParser()
    events = parser.feed(Path(steps_file(str(folder), rank)).read_bytes())
    assert parser.bad_lines == 0
    return events, parser.notes


def test_a_step_tells_both_clocks(folder):
    reporter = StepReporter()
    for _ in range(3):
        with reporter.step():
            pass
    events, notes = read(folder)
    assert [event.index for event in events] == [1, 2, 3]
    assert notes.inside.explicit
    for event in events:
        assert event.seconds >= event.report.inside_s * 0.999
        assert event.clock is StepClock.REPORTED


def test_what_is_known_only_at_the_end_is_said_at_the_end(folder):
    reporter = StepReporter(rank=3, steps_done=40)
    with reporter.step(tokens=4096, width=512) as step:
        step.real_tokens = 3000
        step.loss = 2.5
    ((event,), _) = read(folder, rank=3)
    assert (event.index, event.rank, event.tokens, event.width) == (41, 3, 4096, 512)
    assert (event.report.real_tokens, event.loss) == (3000, 2.5)


def test_a_call_after_each_step_is_enough(folder):
    reporter = StepReporter()
    reporter.report(tokens=10)
    reporter.report(tokens=10, index=99)
    (first, second), _ = read(folder)
    assert first.seconds is None
    assert second.seconds > 0
    assert second.index == 99


def test_a_step_that_raises_did_not_happen_and_raises_on(folder):
    reporter = StepReporter()
    with pytest.raises(ZeroDivisionError), reporter.step():
        raise ZeroDivisionError
    reporter.report()
    assert [event.index for event in read(folder)[0]] == [1]


def test_a_gap_that_holds_an_evaluation_is_marked_and_the_phase_told(folder):
    reporter = StepReporter()
    reporter.report()
    with reporter.phase("eval"):
        _, notes = read(folder)
        assert notes.phase == "eval"
    reporter.report()
    reporter.report()
    reporter.paused("save")
    reporter.report()
    events, notes = read(folder)
    assert [e.phase for e in events] == [Phase.TRAIN, Phase.EVAL, Phase.TRAIN, Phase.SAVE]
    assert notes.phase == "train"


@pytest.mark.parametrize(
    ("loss", "shown"), [(float("nan"), "nan"), (float("inf"), "inf"), (-2, "-2.0")]
)
def test_any_number_is_a_loss(folder, loss, shown):
    StepReporter().report(loss=loss)
    ((event,), _) = read(folder)
    assert str(event.loss) == shown


class Tensor:
    """Reading it waits for a device."""

    shape = ()

    def __getattr__(self, name):
        raise AssertionError(f"{name} was asked for")

    __float__ = __int__ = __index__ = item = None


def test_a_tensor_is_never_read(folder):
    StepReporter().report(loss=Tensor(), tokens=Tensor(), width=Tensor(), index=Tensor())
    ((event,), _) = read(folder)
    assert (event.loss, event.tokens, event.index) == (None, None, 1)


@pytest.mark.parametrize("bad", [{"tokens": -1}, {"tokens": "x"}, {"nonsense": 1}, {"loss": []}])
def test_what_makes_no_sense_is_left_out_and_raises_nothing(folder, bad):
    StepReporter().report(**bad)
    ((event,), _) = read(folder)
    assert event.tokens is None


class Broken(int):
    """A number of somebody else's whose own code fails."""

    def __int__(self):
        raise RuntimeError("no number after all")


def test_a_fault_in_a_report_ends_the_reports_and_not_the_training(folder, capsys):
    reporter = StepReporter()
    reporter.report()
    for _ in range(3):
        reporter.report(tokens=Broken(7))
    with reporter.phase("eval"), reporter.step(tokens=1):
        pass
    assert [event.index for event in read(folder)[0]] == [1]
    said = capsys.readouterr().err
    assert said.count("pfid:") == 1
    assert "no number after all" in said


def test_an_accounting_counts_the_flops_and_is_named_with_them(folder):
    accounting = Accounting(4e9, frozen=3.9e9, checkpointed=True, peak_flops_per_s=1e15)
    StepReporter(accounting=accounting).report(tokens=1000)
    ((event,), notes) = read(folder)
    assert event.report.flops == pytest.approx(1000 * (4 * 3.9e9 + 6 * 0.1e9))
    assert event.report.recompute_flops == pytest.approx(1000 * 2 * 4e9)
    assert "4ND of 3.9e+09 frozen" in notes.inside.accounting
    assert notes.inside.peak_flops_per_s == 1e15


def test_attention_is_counted_by_the_width_of_the_step_in_both_figures(folder):
    accounting = Accounting(1e9, checkpointed=True, attention_layers=10, attention_width=1000)
    StepReporter(accounting=accounting).report(tokens=1000, width=100)
    ((event,), _) = read(folder)
    assert event.report.flops == pytest.approx(1000 * (6e9 + 12 * 10 * 1000 * 100))
    assert event.report.recompute_flops == pytest.approx(event.report.flops / 3)


def test_a_program_on_a_gpu_that_does_not_wait_is_marked(folder, monkeypatch):
    class Cuda:
        is_initialized = staticmethod(lambda: True)

    monkeypatch.setitem(sys.modules, "torch", type("torch", (), {"cuda": Cuda}))
    StepReporter().report()
    StepReporter(synchronised=True).report()
    (launched, waited), _ = read(folder)
    assert launched.clock is StepClock.ASYNCHRONOUS
    assert waited.clock is StepClock.REPORTED


def test_dynamo_is_told_by_what_changed_since_launch(folder, monkeypatch):
    counters = {"stats": {"unique_graphs": 5}, "frames": {"total": 5, "ok": 5}}
    module = type("utils", (), {"counters": counters})
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", module)
    reporter = StepReporter()
    reporter.report()
    counters["stats"] = {"unique_graphs": 8}
    counters["unimplemented"] = {"Dynamo recompile limit exceeded\n  more": 1, "other": 4}
    counters["graph_break"] = {"why": 2, "why else": 1}
    reporter.report()
    reporter.report()
    _, notes = read(folder)
    assert notes.inside.dynamo == {
        "graphs": 3,
        "frames": 0,
        "frames_ok": 0,
        "graph_breaks": 3,
        "limit_hits": 1,
    }
    written = Path(steps_file(str(folder), 0)).read_text()
    assert written.count('"dynamo"') == 1


def test_counters_that_the_program_cleared_begin_again(monkeypatch):
    counters = {"stats": {"unique_graphs": 5}}
    module = type("utils", (), {"counters": counters})
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", module)
    dynamo = DynamoCounters()
    counters["stats"] = {"unique_graphs": 2}
    assert dynamo.changes() == {"graphs": 2}
    assert dynamo.changes() is None


def test_outside_of_a_run_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reporter = StepReporter()
    with reporter.step(), reporter.phase("eval"):
        reporter.report()
    assert not list(tmp_path.rglob("*"))


def test_lines_that_cannot_be_written_are_counted_and_told_once_they_can(folder, capsys):
    reporter = StepReporter()
    reporter.report()
    shutil.rmtree(folder / "steps")
    reporter.report()
    reporter.report()
    assert reporter.lost == 2
    (folder / "steps").mkdir()
    reporter.report()
    events, notes = read(folder)
    assert [event.index for event in events] == [4]
    assert notes.inside.lost == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("limit", [1, 150, 1000])
def test_a_disk_that_is_full_costs_the_lines_alone(folder, limit):
    """A limit on the size of files is what a full disk looks like, torn lines included."""
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        reporter = StepReporter()
        for _ in range(50):
            reporter.report()
        lost = reporter.lost
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        reporter.report()
        os._exit(0 if lost >= 20 else 1)
    assert os.waitpid(pid, 0)[1] == 0
    parser = StepsFileParser()
    events = parser.feed(Path(steps_file(str(folder), 0)).read_bytes())
    assert events[-1].index == 51
    assert parser.bad_lines <= 1
    assert parser.notes.inside.lost >= 20


def test_a_fifo_in_the_files_place_holds_nothing_up(folder):
    os.mkfifo(steps_file(str(folder), 0))
    reporter = StepReporter()
    reporter.report()
    assert reporter.lost


def test_a_forked_child_is_another_writer_with_a_clock_of_its_own(folder):
    reporter = StepReporter()
    reporter.report()
    pid = os.fork()
    if pid == 0:
        reporter.report()
        os._exit(0)
    os.waitpid(pid, 0)
    (parent, child), _ = read(folder)
    assert parent.writer != child.writer
    assert child.seconds is None


def test_kill_9_loses_no_step(folder):
    pid = os.fork()
    if pid == 0:
        reporter = StepReporter()
        for _ in range(500):
            reporter.report()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert len(read(folder)[0]) == 500


def test_processes_share_a_file_without_tearing_a_line(folder):
    pids = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            reporter = StepReporter()
            for _ in range(1_000):
                reporter.report(tokens=1, loss=0.5)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    events, _ = read(folder)
    assert len(events) == 4_000
    assert len({event.writer for event in events}) == 4


def test_every_line_is_json_of_one_line(folder):
    StepReporter(accounting=Accounting(1e9)).report(tokens=1, loss=float("nan"))
    for line in Path(steps_file(str(folder), 0)).read_text().splitlines():
        assert json.loads(line, parse_constant=pytest.fail)["pid"] == os.getpid()


def test_a_width_that_is_no_count_ends_no_report(folder):
    reporter = StepReporter(accounting=Accounting(1e9, attention_layers=2, attention_width=8))
    for width in (4, "x", 4):
        reporter.report(tokens=10, width=width)
    told = [(event.tokens, event.width) for event in read(folder)[0]]
    assert told == [(10, 4), (10, None), (10, 4)]


@pytest.mark.parametrize("name", [["eval"], {}, None, 7, "what"])
def test_what_is_no_phase_is_none_and_raises_nothing(folder, name):
    reporter = StepReporter()
    reporter.paused(name)
    reporter.enter(name)
    with reporter.phase(name):
        reporter.report()
    ((event,), _) = read(folder)
    assert event.phase is Phase.TRAIN


class UnshownError(Exception):
    """Cannot be told either."""

    def __repr__(self):
        raise self


def test_after_it_gave_up_nothing_is_written_anywhere_and_one_warning_tells(
    folder, tmp_path, monkeypatch, capsys
):
    (tmp_path / "elsewhere" / "steps").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    reporter = StepReporter()
    reporter.enter("eval")
    reporter.give_up(UnshownError())
    reporter._file = None
    for call in (reporter.leave, reporter.report, reporter.begin, lambda: reporter.enter("save")):
        call()
    reporter.give_up(UnshownError())
    assert capsys.readouterr().err == "pfid: steps are not reported any more: UnshownError\n"
    assert not list((tmp_path / "elsewhere" / "steps").iterdir())
    assert len(read(folder)[0]) == 0
