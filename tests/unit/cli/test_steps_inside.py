"""``pfid steps`` on a step file: the clock is the training's own, and is called so."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pfid.cli.steps import command
from pfid.trainer import StepReporter
from pfid.trainer.step_file import StepFile


def told(*files: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    result = CliRunner().invoke(command, ["--json", *map(str, files)])
    assert result.exit_code == 0, result.output
    body = json.loads(result.stdout)
    return body["segments"], body["notes"]


def written(path: Path, seconds: list[float | None], more: str = ',"inside_s":0.1') -> Path:
    file = StepFile(str(path), 0)
    file.note("attached")
    for index, value in enumerate(seconds, 1):
        assert file.step(index, value, more)
    return path


def test_what_the_reporter_writes_is_called_reported(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "steps").mkdir()
    monkeypatch.setenv("PFID_RUN_DIR", str(tmp_path))
    reporter = StepReporter(synchronised=True)
    for _ in range(8):
        with reporter.step():
            pass
    (file,) = (tmp_path / "steps").iterdir()
    (segment,), notes = told(file)
    assert (segment["dialect"], segment["clock"]) == ("step_file", "reported")
    assert (segment["n"], segment["last_step"]) == (7, 8)
    assert "from the end of a step to the end of the next" in notes[-1]["text"]


def test_an_evaluation_is_no_step_time(tmp_path: Path) -> None:
    file = written(tmp_path / "rank0.jsonl", [None, *[0.5] * 8])
    StepFile(str(file), 0).step(10, 90.0, ',"inside_s":0.1,"phase":"eval"')
    (segment,), notes = told(file)
    assert (segment["max"], segment["paused"]) == (0.5, 1)
    assert "pauses" in {note["code"] for note in notes}


def test_steps_timed_at_their_launch_are_shown_many_at_a_time(tmp_path: Path) -> None:
    file = written(
        tmp_path / "rank0.jsonl", [None, *[*[0.001] * 15, 0.145] * 8], ',"clock":"asynchronous"'
    )
    (segment,), notes = told(file)
    assert (segment["clock"], segment["interval_steps"]) == ("asynchronous", 16)
    assert segment["max"] == pytest.approx(0.01)
    assert any("over many steps" in note["text"] for note in notes if note["code"] == "writer")


def test_each_optimizer_and_process_is_a_segment_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "rank0.jsonl"
    file.write_text(
        "".join(
            f'{{"step":{i},"seconds":{0.1 * (opt + 1)},"inside_s":0.01,"opt":{opt},"pid":{pid}}}\n'
            for pid in (10, 11)
            for i in range(1, 9)
            for opt in (0, 1)
        )
    )
    segments, notes = told(file)
    assert [segment["writer"] for segment in segments] == [1, 2, 3, 4]
    assert [segment["p50"] for segment in segments] == [0.1, 0.2, 0.1, 0.2]
    assert [segment["first_line"] for segment in segments] == [1, 2, 17, 18]
    assert {note["text"].split(" (")[0] for note in notes if note["code"] == "writer"} == {
        "writer 1 is 10.0",
        "writer 2 is 10.1",
        "writer 3 is 11.0",
        "writer 4 is 11.1",
    }


def test_what_is_wrong_with_the_file_is_said(tmp_path: Path) -> None:
    file = written(tmp_path / "rank0.jsonl", [0.5] * 8)
    with file.open("ab") as more:
        more.write(
            b'\xff not a line\n{"note":"lost","lines":3}\n{"note":"given_up"}\n{"step":9,"sec'
        )
    (segment,), notes = told(file)
    codes = {note["code"]: note["text"] for note in notes}
    assert segment["n"] == 7
    assert "2 lines" in codes["bad_lines"]
    assert "3 reports" in codes["lost_lines"]
    assert "given_up" in codes


def test_json_lines_of_ones_own_are_still_what_the_program_printed(tmp_path: Path) -> None:
    log = tmp_path / "own.jsonl"
    log.write_text("".join(f'{{"step":{i},"seconds":0.5}}\n' for i in range(1, 9)))
    (segment,), _ = told(log)
    assert (segment["dialect"], segment["clock"]) == ("jsonl", "printed")
