"""``pfid status`` against a real socket, a real state file, and nobody at all."""

import os
import re
import socket
import time
from dataclasses import replace

import pytest

from pfid.adapters.store_file import take_ownership
from pfid.domain.gate import GateState
from pfid.domain.outcome import Outcome
from pfid.domain.run import EndKind, RunEnd, RunState
from pfid.domain.step import Phase

HOSTILE = "\x1b[2Jtr\u202eain"


def test_with_nobody_to_ask_it_says_so_and_exits_3(no_daemon, pfid):
    code, out, err = pfid("status")
    assert (code, out) == (3, "")
    assert "no daemon answers and this user has no runs" in err


def test_with_nobody_json_is_still_one_whole_object(no_daemon, pfid_json):
    code, printed = pfid_json("status")
    assert code == 3
    assert printed["schema"] == 1
    assert (printed["runs"], printed["verdicts"], printed["sources"]) == ([], [], [])


def test_a_daemon_that_was_named_and_is_not_there_is_said(home, pfid_json):
    code, printed = pfid_json("status")
    assert code == 3
    assert "did not answer" in printed["problems"][0]


def test_a_daemon_that_is_there_and_silent_is_said(home, pfid, monkeypatch):
    monkeypatch.setattr("pfid.bootstrap.sources.ASK_TIMEOUT_S", 0.3)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(home / "control.sock"))
        silent.listen()
        code, _, err = pfid("status")
    assert code == 3
    assert "did not answer" in err


def test_all_good_exits_0(daemon, make, pfid_json):
    daemon.snapshot = make.snapshot(
        runs=[make.run()], verdicts=[make.verdict()], gates=[make.gate()]
    )
    code, printed = pfid_json("status")
    assert code == 0
    assert printed["summary"] == {"pass": 1, "fail": 0, "unknown": 0, "not_applicable": 0}
    assert printed["gates"] == {
        "checks": 1,
        "proven": 1,
        "unproven": 0,
        "disabled": 0,
        "applicable": 1,
        "ran": 1,
        "firing": 0,
    }
    (verdict,) = printed["verdicts"]
    assert verdict["entity"] == {"kind": "run", "id": "train-0001"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", verdict["since"])
    (run,) = printed["runs"]
    assert (run["run_id"], run["state"], run["end"]) == ("train-0001", "running", None)


@pytest.mark.parametrize(
    ("outcome", "gate", "code"),
    [
        (Outcome.FAIL, GateState.PROVEN, 1),
        (Outcome.UNKNOWN, GateState.PROVEN, 3),
        (Outcome.PASS, GateState.UNPROVEN, 3),
        (Outcome.FAIL, GateState.UNPROVEN, 3),
        (Outcome.NOT_APPLICABLE, GateState.PROVEN, 0),
    ],
)
def test_the_exit_status_is_the_worst_that_counts(daemon, make, pfid, outcome, gate, code):
    daemon.snapshot = make.snapshot(
        runs=[make.run()], verdicts=[make.verdict(outcome)], gates=[make.gate(state=gate)]
    )
    assert pfid("status")[0] == code


def test_an_unproven_check_is_never_shown_as_passing(daemon, make, pfid_json):
    daemon.snapshot = make.snapshot(
        runs=[make.run()],
        verdicts=[make.verdict(counts=False)],
        gates=[make.gate(state=GateState.UNPROVEN)],
    )
    (verdict,) = pfid_json("status")[1]["verdicts"]
    assert (verdict["outcome"], verdict["reason"]) == ("unknown", "unproven")


def test_people_see_runs_what_is_wrong_and_the_denominator(daemon, make, pfid):
    failing = make.verdict(Outcome.FAIL, reason="signaled", summary="killed by signal 9")
    daemon.snapshot = make.snapshot(
        runs=[make.run()], verdicts=[failing], gates=[make.gate(), make.gate("run_stalled")]
    )
    _, out, err = pfid("status")
    assert "1 fail" in out
    assert "killed by signal 9" in out
    assert "gates: 2 of 2 checks proven, 1 ran, 1 of them with something here to judge" in out
    assert "1 of them failing" in out
    assert err == ""


def test_no_runs_is_an_answer(daemon, make, pfid):
    daemon.snapshot = make.snapshot(gates=[make.gate()])
    code, out, _ = pfid("status")
    assert (code, out.splitlines()[0]) == (0, "no runs")


def test_what_a_run_is_called_cannot_hurt_a_terminal(daemon, make, pfid):
    view = make.run(name=HOSTILE)
    verdict = make.verdict(Outcome.FAIL, summary=HOSTILE)
    daemon.snapshot = make.snapshot(runs=[view], verdicts=[verdict], gates=[make.gate()])
    for command in (["status"], ["show", "train-0001"]):
        out = "".join(pfid(*command)[1:])
        assert r"\x1b[2Jtr\u202eain" in out
        assert not {"\x1b", "\u202e"} & set(out)


@pytest.mark.parametrize(
    ("outcome", "reason", "code"),
    [
        (Outcome.FAIL, "exited_nonzero", 1),
        (Outcome.UNKNOWN, "no_step_times", 0),
        (Outcome.UNKNOWN, "unwatched", 3),
        (Outcome.PASS, "finished", 0),
    ],
)
def test_of_a_run_that_ended_its_failures_count_and_not_what_stays_unknown(
    daemon, make, pfid, outcome, reason, code
):
    verdict = make.verdict(outcome, about="over-0001", reason=reason)
    daemon.snapshot = make.snapshot(
        runs=[make.ended("over-0001")], verdicts=[verdict], gates=[make.gate()]
    )
    assert pfid("status")[0] == code
    assert pfid("show", "over-0001")[0] == code
    living = make.run("over-0001", name="over")
    daemon.snapshot = make.snapshot(runs=[living], verdicts=[verdict], gates=[make.gate()])
    assert pfid("status")[0] == {"fail": 1, "unknown": 3, "pass": 0}[outcome.value]


def test_a_death_counts_until_a_run_of_its_name_is_started_again(daemon, make, pfid, pfid_json):
    died = make.ended("over-0001")
    fail = make.verdict(Outcome.FAIL, about="over-0001", reason="exited_nonzero")
    for name, code in (("over", 0), ("another", 1)):
        again = make.run("later-0002", name=name, started_at_s=died.run.started_at_s + 1)
        daemon.snapshot = make.snapshot(runs=[again, died], verdicts=[fail], gates=[make.gate()])
        assert pfid("status")[0] == code
        out = pfid("status")[1]
        assert "exited_nonzero" in out
        assert ("FAIL (past)" in out) is (code == 0)
        assert ("counts no more" in out) is (code == 0)
        assert pfid_json("status")[1]["counting"]["fail"] == code
    earlier = make.run("first-0002", name="over", started_at_s=died.run.started_at_s - 1)
    daemon.snapshot = make.snapshot(runs=[earlier, died], verdicts=[fail], gates=[make.gate()])
    assert pfid("status")[0] == 1


def test_what_stays_unknown_of_ended_runs_does_not_drown_the_rest(daemon, make, pfid):
    over = make.verdict(Outcome.UNKNOWN, about="over-0001", reason="no_step_times")
    living = make.verdict(Outcome.UNKNOWN, reason="no_baseline")
    daemon.snapshot = make.snapshot(
        runs=[make.run(), make.ended("over-0001")], verdicts=[over, living], gates=[make.gate()]
    )
    out = pfid("status")[1]
    assert "no_baseline" in out
    assert "no_step_times" not in out
    assert "1 UNKNOWN about runs that have ended count no more" in out


def test_a_run_that_somebody_stopped_is_called_stopped(daemon, make, pfid, pfid_json):
    end = RunEnd(kind=EndKind.OPERATOR_STOP, exit_code=None, signal=15, at_s=time.time())
    daemon.snapshot = make.snapshot(
        runs=[make.run(state=RunState.KILLED, end=end)], gates=[make.gate()]
    )
    for command in (["status"], ["show", "train"]):
        out = pfid(*command)[1]
        assert "stopped" in out
        assert "killed" not in out
    run = pfid_json("show", "train")[1]["run"]
    assert (run["state"], run["end"]["kind"]) == ("killed", "operator_stop")


def test_a_run_whose_lines_are_not_read_is_told_with_what_helps(daemon, make, pfid, pfid_json):
    daemon.snapshot = make.snapshot(
        runs=[make.run(phase=Phase.COMPILE, last_progress_at_s=time.time())], gates=[make.gate()]
    )
    for command in (["status"], ["show", "train-0001"]):
        out = pfid(*command)[1]
        assert "no step of it was read so far" in out
        assert "[dialects.regex]" in out
        assert "compile" not in out
    assert pfid_json("show", "train-0001")[1]["run"]["phase"] is None


@pytest.mark.parametrize("given", [{"steps_total": 3}, {"started_at_s": time.time() + 1e6}])
def test_a_run_that_steps_or_has_just_begun_is_not(daemon, make, pfid, given):
    daemon.snapshot = make.snapshot(runs=[make.run(**given)], gates=[make.gate()])
    for command in (["status"], ["show", "train-0001"]):
        assert "dialects" not in pfid(*command)[1]


def test_what_a_step_proved_to_be_compiling_is_called_so(daemon, make, pfid_json):
    view = make.run(phase=Phase.COMPILE, steps_total=3)
    daemon.snapshot = make.snapshot(runs=[view], gates=[make.gate()])
    assert pfid_json("show", "train-0001")[1]["run"]["phase"] == "compile"


def test_yesterday_is_shown_only_with_all(daemon, make, pfid_json):
    daemon.snapshot = make.snapshot(runs=[make.ended("old", ago_s=90_000)])
    assert pfid_json("status")[1]["runs"] == []
    assert [r["run_id"] for r in pfid_json("status", "--all")[1]["runs"]] == ["old"]


def test_a_figure_that_was_no_number_is_null(daemon, make, pfid_json):
    from pfid.domain.verdict import Figure

    verdict = make.verdict(Outcome.FAIL, figures={"loss": Figure(float("nan"), "1")})
    daemon.snapshot = make.snapshot(runs=[make.run()], verdicts=[verdict], gates=[make.gate()])
    (shown,) = pfid_json("status")[1]["verdicts"]
    assert shown["figures"] == {"loss": {"value": None, "unit": "1"}}


def test_a_snapshot_of_another_pfid_is_a_problem_and_no_traceback(daemon, pfid):
    daemon.snapshot = {"at_s": "soon"}
    code, _, err = pfid("status")
    assert code == 3
    assert "restart the daemon" in err


def test_without_a_daemon_an_ended_engine_tells_from_its_file(left_behind, make, pfid_json):
    left_behind(make.ended("train-0009"), make.transition(about="train-0009"))
    code, printed = pfid_json("status")
    assert code == 1
    assert [r["run_id"] for r in printed["runs"]] == ["train-0009"]
    assert printed["verdicts"][0]["reason"] == "signaled"
    assert printed["sources"][0]["kind"] == "ended_engine"


def test_where_all_engines_have_ended_it_does_not_say_that_proofs_are_on_their_way(
    left_behind, make, pfid
):
    left_behind(make.ended("train-0009"), make.transition(about="train-0009"))
    _, out, _ = pfid("status")
    assert "gates: none; nothing runs" in out
    assert "yet" not in out


def test_an_engine_that_died_first_leaves_a_run_of_which_nothing_is_known(
    left_behind, make, pfid_json
):
    left_behind(make.run("train-0009"), make.transition(Outcome.PASS, about="train-0009"))
    code, printed = pfid_json("status")
    assert code == 3
    assert printed["runs"][0]["state"] == "lost"
    assert (printed["verdicts"][0]["outcome"], printed["verdicts"][0]["reason"]) == (
        "unknown",
        "unwatched",
    )


def test_a_state_file_is_read_and_not_written(left_behind, make, pfid):
    folder = left_behind(make.ended("train-0009"), make.transition(about="train-0009"))
    before = (folder / "pfid.sqlite").read_bytes()
    assert pfid("status")[0] == 1
    assert (folder / "pfid.sqlite").read_bytes() == before


def test_a_state_file_that_is_rubbish_is_a_problem(left_behind, make, pfid):
    folder = left_behind(make.ended("train-0009"))
    (folder / "pfid.sqlite").write_bytes(b"rubbish" * 1_000)
    code, _, err = pfid("status")
    assert code == 3
    assert "pfid.sqlite cannot be read" in err


def test_an_engine_that_lives_and_is_silent_is_a_problem_and_not_an_end(left_behind, make, pfid):
    folder = left_behind(make.run("train-0009"), make.transition(Outcome.PASS, about="train-0009"))
    held = take_ownership(folder / "pfid.sqlite")
    try:
        code, out, err = pfid("status")
    finally:
        os.close(held)
    assert (code, out) == (3, "")
    assert "its engine lives and does not answer" in err


def test_an_engine_left_long_ago_is_not_opened(left_behind, make, pfid_json):
    folder = left_behind(make.ended("train-0009"), make.transition(about="train-0009"))
    os.utime(folder / "pfid.sqlite", (1, 1))
    assert pfid_json("status")[1]["sources"] == []
    assert pfid_json("status", "--all")[1]["sources"]


def test_a_daemon_that_cannot_keep_what_it_sees_says_so_and_its_runs_are_fine(daemon, make, pfid):
    whole = make.snapshot(runs=[make.run()], verdicts=[make.verdict()], gates=[make.gate()])
    full = replace(whole.health, store_problem="cannot write x.sqlite: disk is full")
    daemon.snapshot = replace(whole, health=full)
    for command in (["status"], ["show", "train-0001"]):
        code, _, err = pfid(*command)
        assert code == 0
        assert " ".join(err.split()).count("cannot write x.sqlite: disk is full") == 1
