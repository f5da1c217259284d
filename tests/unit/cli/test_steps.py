"""``pfid steps``: segments first, figures by nearest rank, and everything a reader must be told."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pfid.cli.steps import command

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases"


def run(*arguments: str | Path, text: bytes | None = None) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments], input=text)


def report(*arguments: str | Path) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    result = run("--json", *arguments)
    assert result.exit_code == 0, result.output
    body = json.loads(result.stdout)
    assert body["schema"] == 1
    return body["segments"], {note["code"]: note for note in body["notes"]}


def megatron(n: int, ms: float, skipped: int = 0) -> str:
    return (
        f" iteration {n:8d}/    1000 | consumed samples: {n * 1024:12d} | elapsed time per"
        f" iteration (ms): {ms:.1f} | learning rate: 1.875E-05 | lm-loss: 1.244238E+01 |"
        f" number of skipped iterations:   {skipped} | number of nan iterations:   0 |\n"
        f"time (ms) | forward-compute: {ms / 3:.2f} | optimizer: 59.13\n"
    )


def jsonl(step: int, elapsed: int) -> str:
    shown = f"{elapsed // 3600}:{elapsed // 60 % 60:02d}:{elapsed % 60:02d}"
    return f'{{"current_steps": {step}, "loss": 0.5, "elapsed_time": "{shown}"}}\n'


def test_milliseconds_are_seconds_and_the_breakdown_is_no_step(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "".join(megatron(n, 130_000 + 100 * n + (30_000 if n == 1 else 0)) for n in range(1, 51))
    )
    (segment,), notes = report(log)
    assert (segment["n"], segment["first_step"], segment["last_step"]) == (49, 1, 50)
    assert segment["first_step_seconds"] == pytest.approx(160.1)
    assert segment["min"] == pytest.approx(130.2)
    assert segment["p50"] == pytest.approx(132.6)
    assert segment["max"] == pytest.approx(135.0)
    assert (segment["unit"], segment["interval_steps"]) == ("seconds_per_optimizer_step", 1)
    assert (segment["dialect"], segment["clock"], notes) == ("megatron", "printed", {})


def test_a_time_limit_is_said_and_four_skipped_iterations_are_no_distribution(
    tmp_path: Path,
) -> None:
    log = tmp_path / "tail.log"
    end = (
        "slurmstepd: error: *** STEP 7.0 ON n CANCELLED AT 2021-05-27T21:52:36 DUE TO TIME LIMIT"
        " ***\n"
    )
    log.write_text("".join(megatron(n, 120_000 + n, 1) for n in range(1, 5)) + end)
    (segment,), notes = report(log)
    assert (segment["n"], segment["p50"], segment["p99"]) == (3, None, None)
    assert len(segment["samples"]) == 4
    assert notes["scheduler_time_limit"]["line"] == 9
    assert set(notes) == {"scheduler_time_limit", "all_iterations_skipped", "few_samples"}


def test_two_writers_and_a_resume_in_one_file_come_apart(tmp_path: Path) -> None:
    lines = [(n * 150, jsonl(n * 10, n * 150)) for n in range(1, 201)]
    lines += [(n * 152 + 1, jsonl(n * 10, n * 152 + 1)) for n in range(1, 201)]
    resumed = [jsonl(1500 + n * 10, n * 160) for n in range(1, 81) for _copy in range(2)]
    log = tmp_path / "trainer_log.jsonl"
    log.write_text("".join(text for _, text in sorted(lines)) + "".join(resumed))
    segments, notes = report(log)
    assert [(s["attempt"], s["writer"]) for s in segments] == [(1, 1), (1, 2), (2, 1)]
    assert [s["p50"] for s in segments] == [15.0, 15.2, 16.0]
    assert all(s["interval_steps"] == 10 and s["min"] > 0 for s in segments)
    last = segments[-1]
    assert (last["first_step"], last["last_step"], last["seconds"]) == (1500, 2300, 12_800)
    assert notes["rewind"]["line"] == notes["resumed_at"]["line"] == 401
    assert "1500" in notes["resumed_at"]["text"]
    assert {"two_writers", "intervals"} <= set(notes)


def test_copies_by_ranks_count_once(tmp_path: Path) -> None:
    bars = "".join(
        f"\r {n}%|# | {n}/16 [{n * 57 // 60:02d}:{n * 57 % 60:02d}<09:00, 57.{n:02d}s/it]"
        for n in range(17)
    )
    log = tmp_path / "bars.log"
    log.write_text((bars + "\nTraining completed\n") * 4)
    (segment,), _notes = report(log)
    assert (segment["n"], segment["p50"], segment["last_step"]) == (15, 57.0, 16)


def test_a_short_bar_says_that_its_clock_is_coarse(tmp_path: Path) -> None:
    log = tmp_path / "bars.log"
    log.write_text(
        "".join(f"\r {n}%|# | {n}/99 [00:{2 * n:02d}<09:00, 2.00s/it]" for n in range(20))
    )
    (segment,), notes = report(log)
    assert segment["p50"] == 2.0
    assert "coarse_clock" in notes


def test_gzip_stdin_and_several_logs_are_read(tmp_path: Path) -> None:
    text = "".join(megatron(n, 1000.0 * n) for n in range(1, 9)).encode()
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(text))
    (tmp_path / "b.log").write_bytes(text)
    segments, _ = report(tmp_path / "a.log.gz", tmp_path / "b.log")
    assert [segment["p50"] for segment in segments] == [5.0, 5.0]
    assert [Path(segment["log"]).name for segment in segments] == ["a.log.gz", "b.log"]
    piped = run("--json", "-", text=text)
    assert json.loads(piped.stdout)["segments"][0]["p50"] == 5.0


def test_the_table_holds_the_figures_and_no_control_character(tmp_path: Path) -> None:
    log = tmp_path / "t.log"
    evil = "\x1b]0;owned\x07Traceback (most recent call last):\n"
    log.write_text("".join(megatron(n, 1000.0 * n) for n in range(1, 9)) + evil)
    result = run(log)
    assert result.exit_code == 0
    assert "seconds per optimizer step" in result.stdout
    assert "5.00" in result.stdout
    assert "traceback" in result.stdout
    assert not any(ord(char) < 32 and char != "\n" for char in result.stdout)


def test_no_step_is_said_and_is_not_fine(tmp_path: Path) -> None:
    log = tmp_path / "quiet.log"
    log.write_text("nothing here\n")
    result = run("--json", log)
    assert result.exit_code == 3
    assert "no step found" in result.stderr
    body = json.loads(result.stdout)
    assert (body["segments"], body["notes"][0]["code"]) == ([], "no_steps")


def test_a_log_that_cannot_be_read_is_named_and_the_others_are_shown(tmp_path: Path) -> None:
    log = tmp_path / "b.log"
    log.write_text("".join(megatron(n, 1000.0) for n in range(1, 9)))
    (tmp_path / "torn.gz").write_bytes(gzip.compress(b"x" * 100)[:20])
    result = run("--json", tmp_path / "missing.log", tmp_path, tmp_path / "torn.gz", log)
    assert result.exit_code == 3
    assert result.stderr.count("cannot be read") == 3
    assert result.stderr.count("missing.log") == 1
    assert "missing.log: cannot be read (No such file or directory); is it" in result.stderr
    assert len(json.loads(result.stdout)["segments"]) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--regex", "nope", "x.log"],
        ["--regex", "a=(", "x.log"],
        ["--regex", "a=no group", "x.log"],
        ["--keys", "stop=a", "x.log"],
        ["--keys", "seconds=a", "x.log"],
    ],
)
def test_a_wrong_command_line_is_usage(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


def test_own_dialects_are_read(tmp_path: Path) -> None:
    log = tmp_path / "own.log"
    log.write_text("".join(f"S{n} took {n}.5\n" + f'{{"i": {n}, "d": 2}}\n' for n in range(9)))
    segments, _ = report(
        "--regex", r"mine=^S(?P<step>\d+) took (?P<seconds>[\d.]+)",
        "--keys", "step=i", "--keys", "seconds=d", log,
    )  # fmt: skip
    assert {segment["dialect"]: segment["p50"] for segment in segments} == {
        "mine": 4.5,
        "jsonl": 2.0,
    }


@pytest.mark.field_cases
def test_case_four_ranks_one_tqdm() -> None:
    (segment,), notes = report(CASES / "four-ranks-one-tqdm" / "bars.log")
    assert (segment["n"], segment["first_step_seconds"], segment["max"]) == (15, 58.0, 62.0)
    assert (segment["last_step"], segment["steps"], segment["seconds"]) == (16, 16, 919.0)
    assert "two_writers" not in notes


@pytest.mark.field_cases
def test_case_megatron_ms_healthy() -> None:
    (segment,), _ = report(CASES / "megatron-ms-healthy" / "train.log")
    assert segment["first_step_seconds"] == pytest.approx(159.7789)
    assert segment["min"] >= 125.6433
    assert segment["max"] == pytest.approx(141.0968)


@pytest.mark.field_cases
def test_case_slurm_time_limit_not_crash() -> None:
    (segment,), notes = report(CASES / "slurm-time-limit-not-crash" / "tail.log")
    assert (segment["n"], segment["p50"], len(segment["samples"])) == (3, None, 4)
    assert {"scheduler_time_limit", "all_iterations_skipped", "few_samples"} <= set(notes)
    assert "traceback" not in notes


@pytest.mark.field_cases
def test_case_two_writers_then_resume_one_jsonl() -> None:
    segments, notes = report(CASES / "two-writers-then-resume-one-jsonl" / "trainer_log.jsonl")
    assert [(s["attempt"], s["writer"]) for s in segments] == [(1, 1), (1, 2), (2, 1)]
    last = segments[-1]
    assert (last["first_step"], last["last_step"], last["seconds"]) == (5000, 6565, 23_786.0)
    assert last["seconds"] / last["steps"] == pytest.approx(15.2, abs=0.05)
    assert notes["rewind"]["line"] == notes["resumed_at"]["line"] == 1047
    assert "two_writers" in notes
    assert all(segment["min"] > 0 for segment in segments)


def test_log_dicts_alone_say_what_is_known_and_what_would_help(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "".join(f"{{'loss': '{n}.5', 'grad_norm': '0.6', 'epoch': '0.{n}'}}\n" for n in range(1, 4))
        + "{'train_runtime': '15.16', 'train_steps_per_second': '0.5', 'epoch': '1.0'}\n"
    )
    result = run("--json", log)
    assert result.exit_code == 3
    notes = {note["code"]: note["text"] for note in json.loads(result.stdout)["notes"]}
    said = notes["log_dicts_without_steps"]
    assert "the last one 3.5" in said
    assert "2 s a step on the average" in said
    assert "disable_tqdm=False" in said
    assert "log dicts that carry a step" in result.stderr
    assert "[dialects.regex]" in result.stderr


def test_log_dicts_that_carry_a_step_are_a_segment(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "".join(
            f"{{'loss': 1.0, 'epoch': 0.1, 'step': {n}, 'elapsed': {3 * n}}}\n" for n in range(1, 9)
        )
    )
    (segment,), notes = report(log)
    assert (segment["dialect"], segment["clock"]) == ("hf_dict", "counter")
    assert (segment["first_step"], segment["last_step"], segment["p50"]) == (1, 8, 3.0)
    assert notes == {}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [((), 3), (("--keys", "step=n"), 3), (("--keys", "step=n", "--keys", "seconds=took"), 0)],
)
def test_steps_that_nobody_timed_are_no_answer_and_say_what_would_be(
    tmp_path: Path, arguments: tuple[str, ...], code: int
) -> None:
    log = tmp_path / "train.jsonl"
    log.write_text("".join(f'{{"step": {n}, "n": {n}, "took": 0.5}}\n' for n in range(1, 40)))
    done = run("--json", *arguments, log)
    assert done.exit_code == code
    assert bool(json.loads(done.stdout)["segments"])
    said = "steps are counted, and no line says how long one took; name the key that does"
    assert (said in done.stderr) is (code == 3)


def test_one_log_that_is_timed_is_an_answer_and_the_other_is_still_named(tmp_path: Path) -> None:
    timed, untimed = tmp_path / "timed.log", tmp_path / "untimed.jsonl"
    timed.write_text("".join(megatron(n, 1_000) for n in range(1, 20)))
    untimed.write_text("".join(f'{{"step": {n}, "loss": 1.5}}\n' for n in range(1, 20)))
    done = run(timed, untimed)
    assert done.exit_code == 0
    assert f"{untimed}: steps are counted" in done.stderr
    assert run(untimed).exit_code == 3


@pytest.mark.parametrize("place", ["beside", "cut"])
def test_a_secret_in_a_line_that_is_quoted_is_shown_to_nobody(tmp_path: Path, place: str) -> None:
    token = "hf_" + "a1B2" * 9
    before = "x" * (248 if place == "cut" else 5)
    log = tmp_path / "train.log"
    fails = f"RuntimeError: CUDA out of memory. {before} HF_TOKEN={token} at {token} {token}"
    log.write_text("".join(jsonl(n, 30 * n) for n in range(1, 9)) + fails + "\n")
    _, notes = report(log)
    quoted = notes["out_of_memory"]["text"]
    assert "[masked]" in quoted
    for shown in (quoted, run(log).output):
        assert "hf_" not in shown
        assert "a1B2" not in shown
