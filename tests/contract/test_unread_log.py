"""Whether a run that is over told steps in lines that nobody reads."""

import pytest

from pfid.bootstrap.unread_log import unread_log
from pfid.wire.record import RecordedEnd, RecordedLog, RecordedProcess, RunRecord

OWN = "".join(f"schritt {n} dauerte {n % 3 + 1} s\n" for n in range(40))
KNOWN = "".join(f"iter {n}: loss 2.5, time 500.00ms\n" for n in range(40))
PATTERN = "[dialects.regex]\nmine = 'schritt (?P<step>\\d+) dauerte (?P<seconds>\\d+) s'\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A record of a run with such a log."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    log = tmp_path / "a.log"

    def record(text, *, lasted_s=60.0):
        log.write_text(text)
        process = RecordedProcess(machine_id="m", boot_id="b", pid=1, start_ticks=1)
        return RunRecord(
            run_id="a-0001",
            name="a",
            process=process,
            started_at_s=0.0,
            logs=[RecordedLog(path=str(log))],
            end=RecordedEnd(exit_code=0, signal=None, at_s=lasted_s),
        )

    return record


def environ(tmp_path):
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def test_lines_of_nobodys_format_are_named_by_their_log(run, tmp_path):
    assert unread_log(run(OWN), environ(tmp_path)) == str(tmp_path / "a.log")


@pytest.mark.parametrize("text", [KNOWN, "", "done\n" * 5])
def test_steps_that_are_read_and_programs_that_say_little_are_left_alone(run, tmp_path, text):
    assert unread_log(run(text), environ(tmp_path)) is None


def test_a_run_of_a_moment_is_no_training(run, tmp_path):
    assert unread_log(run(OWN, lasted_s=1.0), environ(tmp_path)) is None


def test_a_pattern_of_ones_own_is_what_helps(run, tmp_path):
    place = tmp_path / "config" / "pfid"
    place.mkdir(parents=True)
    (place / "pfid.toml").write_text(PATTERN)
    assert unread_log(run(OWN), environ(tmp_path)) is None
    (place / "pfid.toml").write_text("[dialects")
    assert unread_log(run(OWN), environ(tmp_path)) is not None


def test_steps_that_were_reported_from_inside_are_steps(run, tmp_path):
    from pfid.adapters.process_identity import machine_id
    from pfid.config.paths import run_dir, steps_dir

    inside = steps_dir(run_dir(environ(tmp_path), machine_id(), "a-0001"))
    inside.mkdir(parents=True)
    (inside / "1.jsonl").write_text('{"step": 1, "seconds": 0.5}\n')
    assert unread_log(run(OWN), environ(tmp_path)) is None


def test_a_log_that_is_gone_tells_nothing(run, tmp_path):
    record = run(OWN)
    (tmp_path / "a.log").unlink()
    assert unread_log(record, environ(tmp_path)) is None
