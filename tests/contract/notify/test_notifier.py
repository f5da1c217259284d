"""The notifier's own process: told once, in order, again after a failure, on after a restart."""

import contextlib
import itertools
import json
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import msgspec
import pytest

from pfid.adapters.notifier_process import NotifierProcess
from pfid.adapters.store_schema import TABLES
from pfid.domain.identity import ProcessIdentity
from pfid.domain.outcome import Outcome
from pfid.domain.run import Run, RunSource, RunState
from pfid.domain.transition import Origin, Transition
from pfid.domain.verdict import Entity, EntityKind, Figure, Verdict
from pfid.policy.telling import wait_s
from pfid.wire.notify import NotifyOrder, PluginPlaces
from pfid.wire.stored import RunBody, pack


class State:
    """A state file as the daemon writes it."""

    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.executescript(TABLES)
        self.last = self.runs = 0

    def run(self, run_id, *, name="train", uid=1000, ended=True):
        """Another run, started after those before."""
        self.runs += 1
        run = Run(
            run_id=run_id,
            name=name,
            identity=ProcessIdentity(machine_id="m", boot_id="b", pid=42, start_ticks=7),
            uid=uid,
            username="anna",
            source=RunSource.WRAPPER,
            started_at_s=float(self.runs),
        )
        body = pack(RunBody(run=run, state=RunState.KILLED if ended else RunState.RUNNING))
        ended_at_s = self.runs + 0.5 if ended else None
        row = (run_id, name, "", uid, 0, run.started_at_s, ended_at_s, body)
        self.db.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def event(
        self,
        outcome=Outcome.FAIL,
        before=Outcome.PASS,
        *,
        origin=Origin.REAL,
        at_s=None,
        about="train-0001",
    ):
        self.last += 1
        at_s = time.time() if at_s is None else at_s
        verdict = Verdict(
            outcome=outcome,
            reason="killed_by_signal",
            summary="a signal killed the run",
            figures={"signal": Figure(9.0, "1")},
            evidence=("a line of a private log",),
        )
        event = Transition(
            check="run_gone",
            entity=Entity(EntityKind.RUN, about),
            before=before,
            verdict=verdict,
            at_s=at_s,
            origin=origin,
        )
        synthetic = origin is Origin.SELFTEST
        row = (self.last, about, 1000, synthetic, at_s, pack(event))
        self.db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", row)
        return self.last


class Hook(BaseHTTPRequestHandler):
    """Answers with what the test says next; keeps what it got."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.at_s.append(time.monotonic())
        self.server.got.append((dict(self.headers), json.loads(body)))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 200)
        self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def webhook():
    server = HTTPServer(("127.0.0.1", 0), Hook)
    server.got, server.at_s, server.answers = [], [], []
    server.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def state(tmp_path):
    made = State(tmp_path / "pfid.sqlite")
    yield made
    made.db.close()


@pytest.fixture
def notifier(tmp_path, state):
    """Start a notifier; the channels' troubles are in ``said``."""
    running = []

    def start(memory_max_bytes=None, **order):
        whole = NotifyOrder(
            state_file=str(state.path), cursors=str(tmp_path / "told.json"), host="box", **order
        )
        said = []
        process = NotifierProcess(
            whole, lambda channel, problem: said.append((channel, problem)), memory_max_bytes
        )
        process.said = said
        process.start()
        running.append(process)
        return process

    yield start
    for process in running:
        process.close()


def until(what, look, within_s=30):
    ends_at = time.monotonic() + within_s
    while time.monotonic() < ends_at:
        try:
            if seen := look():
                return seen
        except OSError:
            pass
        time.sleep(0.02)
    pytest.fail(f"{what}: not within {within_s} s")


def ids(webhook):
    return [body["event_id"] for _, body in webhook.got]


def following(tmp_path, channel):
    return until("a cursor", lambda: channel in json.loads((tmp_path / "told.json").read_text()))


def test_a_failure_is_posted_with_the_secret_and_nothing_private(
    notifier, state, webhook, tmp_path
):
    state.event()  # before anybody was to be told
    secret = tmp_path / "secret"
    secret.write_text("hush\n")
    notifier(webhook=webhook.url, secret_file=str(secret))
    following(tmp_path, "webhook")
    state.event()
    (headers, body), *_ = until("the notice", lambda: webhook.got)
    assert headers["Authorization"] == "Bearer hush"
    assert body["schema"] == 1
    assert (body["event_id"], body["host"], body["about"]) == (2, "box", "train-0001")
    assert (body["check"], body["before"], body["outcome"]) == ("run_gone", "pass", "fail")
    assert body["figures"] == {"signal": 9.0}
    assert "private" not in json.dumps(body)


def test_a_notice_says_which_run_and_whose(notifier, state, webhook, tmp_path):
    state.run("train-0001")
    notifier(webhook=webhook.url)
    following(tmp_path, "webhook")
    state.event()
    ((_, body), *_) = until("the notice", lambda: webhook.got)
    assert (body["about"], body["name"], body["user"]) == ("train-0001", "train", "anna")


def test_a_death_ends_for_people_once_a_run_of_its_name_and_user_is_started_again(
    notifier, state, webhook, tmp_path
):
    state.run("train-0001")
    notifier(webhook=webhook.url)
    following(tmp_path, "webhook")
    died = state.event()
    for run_id, given in (("other-0001", {"name": "other"}), ("train-0007", {"uid": 7})):
        state.run(run_id, ended=False, **given)
        state.event(Outcome.PASS, None, about=run_id)
    state.run("train-0002", ended=False)
    again = state.event(Outcome.PASS, None, about="train-0002")
    until("both notices", lambda: len(webhook.got) == 2)
    assert ids(webhook) == [died, again]
    _, body = webhook.got[1]
    assert (body["about"], body["name"], body["user"]) == ("train-0001", "train", "anna")
    assert (body["before"], body["outcome"], body["reason"]) == (
        *("fail", "not_applicable", "followed"),
    )
    assert body["summary"].endswith("train-0002")


def test_what_had_ended_well_is_not_ended_again(notifier, state, webhook, tmp_path):
    state.run("train-0001")
    notifier(webhook=webhook.url)
    following(tmp_path, "webhook")
    state.event()
    recovered = state.event(Outcome.PASS, Outcome.FAIL)
    state.run("train-0002", ended=False)
    state.event(Outcome.PASS, None, about="train-0002")
    later = state.event(Outcome.FAIL, Outcome.PASS, about="train-0002")
    until("all notices", lambda: later in ids(webhook))
    assert ids(webhook) == [1, recovered, later]


def spoil(state, event_id):
    """What no reader can make anything of."""
    spoilt = state.db.execute("UPDATE events SET body = x'00' WHERE event_id = ?", (event_id,))
    assert spoilt.rowcount == 1


def test_an_event_that_cannot_be_read_is_said_and_holds_up_no_other(
    notifier, state, webhook, tmp_path
):
    process = notifier(webhook=webhook.url)
    following(tmp_path, "webhook")
    process.close()
    spoil(state, state.event())
    after = state.event()
    spoil(state, last := state.event())
    process = notifier(webhook=webhook.url)
    told = tmp_path / "told.json"
    until("all are behind it", lambda: json.loads(told.read_text())["webhook"] == last)
    assert ids(webhook) == [after]
    until("both are counted", lambda: process.counts()["webhook"] == (1, 2))
    said = [problem for _, problem in process.said]
    assert [f"event {n} " in problem for n, problem in zip((1, last), said, strict=True)] == [
        *(True, True),
    ]
    assert all("is told to nobody" in problem for problem in said)


def test_beside_an_event_that_cannot_be_read_a_death_still_ends_for_people(
    notifier, state, webhook, tmp_path
):
    state.run("train-0001")
    spoil(state, state.event(Outcome.PASS, None))
    process = notifier(webhook=webhook.url)
    following(tmp_path, "webhook")
    died = state.event()
    state.run("train-0002", ended=False)
    again = state.event(Outcome.PASS, None, about="train-0002")
    until("both notices", lambda: len(webhook.got) == 2)
    assert ids(webhook) == [died, again]
    assert webhook.got[1][1]["reason"] == "followed"
    ((_, problem),) = until("it is said", lambda: process.said)
    assert "event 1 of train-0001" in problem


def test_what_is_no_news_is_not_told(notifier, state, webhook, tmp_path):
    notifier(webhook=webhook.url)
    following(tmp_path, "webhook")
    state.event(Outcome.UNKNOWN, Outcome.PASS)
    state.event(Outcome.FAIL, Outcome.FAIL)
    state.event(origin=Origin.SELFTEST)
    state.event(at_s=time.time() - 2 * 86_400)
    over = state.event(Outcome.PASS, Outcome.FAIL)
    until("the recovery", lambda: webhook.got)
    assert ids(webhook) == [over]


@pytest.mark.parametrize("answer", [500, 302, 404])
def test_a_refused_notice_is_tried_again_and_keeps_its_place(
    notifier, state, webhook, tmp_path, answer
):
    process = notifier(webhook=webhook.url)
    following(tmp_path, "webhook")
    webhook.answers[:] = [answer]
    first, second = state.event(), state.event()
    until("both", lambda: ids(webhook)[-1:] == [second])
    assert ids(webhook) == [first, first, second]
    until("counted", lambda: process.counts()["webhook"] == (3, 1))
    assert process.said[0][0] == "webhook"


def test_a_channel_that_refuses_is_asked_less_and_less_often_and_told_in_the_end(
    notifier, state, webhook, tmp_path
):
    """Two refusals: between two tries passes the pause of so many failures."""
    process = notifier(webhook=webhook.url)
    following(tmp_path, "webhook")
    webhook.answers[:] = [503] * 2
    event = state.event()
    told = lambda: json.loads((tmp_path / "told.json").read_text())["webhook"] == event  # noqa: E731
    until("it is taken in the end", told, 120)
    assert ids(webhook) == [event] * 3
    pauses = [after - before for before, after in itertools.pairwise(webhook.at_s)]
    for number, pause_s in enumerate(pauses, 1):
        assert pause_s >= 0.9 * wait_s(number)
    until("counted", lambda: process.counts()["webhook"] == (3, 2))


def test_the_queue_survives_both_processes(notifier, state, webhook, tmp_path):
    first = notifier(webhook=webhook.url)
    following(tmp_path, "webhook")
    webhook.answers[:] = [500] * 50
    lost = state.event()
    until("a try", lambda: webhook.got)
    first.close()
    webhook.got.clear()
    webhook.answers.clear()
    later = state.event()
    notifier(webhook=webhook.url)
    until("both", lambda: ids(webhook) == [lost, later])


def test_a_killed_notifier_is_started_again(notifier, state, webhook, tmp_path):
    process = notifier(webhook=webhook.url)
    following(tmp_path, "webhook")
    process._process.kill()
    until("its end is said", lambda: process.said)
    event = state.event()
    until("the notice", lambda: ids(webhook) == [event])


def test_a_command_gets_the_notice_on_stdin_and_its_status_counts(notifier, state, tmp_path):
    out = tmp_path / "out"
    script = tmp_path / "tell"
    script.write_text(f"#!/bin/sh\ncat >> {out}; [ -e {tmp_path}/good ] || exit 3\n")
    script.chmod(0o755)
    process = notifier(command=[str(script)])
    following(tmp_path, "command")
    state.event()
    until("a failure", lambda: any("ended with 3" in problem for _, problem in process.said))
    (tmp_path / "good").touch()
    until("success", lambda: process.counts()["command"][1] >= 1 and not failing(process))
    first, _ = json.JSONDecoder().raw_decode(out.read_text())
    assert (first["schema"], first["event_id"]) == (1, 1)


def failing(process):
    return process._reports["command"].problem


def test_a_channel_that_hangs_does_not_hold_the_others(notifier, state, webhook, tmp_path):
    notifier(webhook=webhook.url, command=["/bin/sleep", "1000"])
    following(tmp_path, "command")
    following(tmp_path, "webhook")
    event = state.event()
    until("the other channel", lambda: ids(webhook) == [event])


@pytest.fixture
def dripping():
    """A server that answers its first client a byte at a time and never to the end."""
    got, over = [], threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.2)

    def serve():
        while not over.is_set():
            try:
                client, _ = listener.accept()
            except TimeoutError:
                continue
            with client:
                got.append(client.recv(65_536))
                client.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while len(got) == 1 and not over.wait(0.05):
                    try:
                        client.sendall(b"x")
                    except OSError:
                        break
                with contextlib.suppress(OSError):
                    client.sendall(b"\r\nContent-Length: 0\r\n\r\n")

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/", got
    over.set()
    thread.join()
    listener.close()


def test_a_webhook_that_answers_for_ever_is_a_failure_and_tried_again(
    notifier, state, dripping, tmp_path
):
    url, got = dripping
    process = notifier(webhook=url, hung_s=1.0)
    following(tmp_path, "webhook")
    event = state.event()
    told = lambda: json.loads((tmp_path / "told.json").read_text())["webhook"] == event  # noqa: E731
    until("it is taken in the end", told)
    assert len(got) == 2
    assert ("webhook", "hangs: it has not taken a notice within 1 s") in process.said
    assert ("all", "the notifier ended with 4") in process.said
    until("counted", lambda: process.counts()["webhook"] == (2, 1))


@pytest.mark.parametrize("bad", ["two\nlines", "", "a b", "sécret", "x\0y"])
def test_a_secret_that_cannot_be_sent_is_said_without_being_shown(
    notifier, state, webhook, tmp_path, bad
):
    secret = tmp_path / "token"
    secret.write_text(bad)
    process = notifier(webhook=webhook.url, secret_file=str(secret))
    following(tmp_path, "webhook")
    state.event()
    until("the failure", lambda: process.said)
    assert "holds no token" in process.said[0][1]
    assert not bad or bad not in str(process.said)
    assert webhook.got == []
    secret.write_text("good")
    until("the notice, once it is mended", lambda: webhook.got)


def test_a_plugins_channel_is_told_and_a_broken_one_is_named(notifier, state, tmp_path):
    good = tmp_path / "good.py"
    good.write_text(
        "from pathlib import Path\nfrom pfid.spec import hookimpl\n"
        "@hookimpl\ndef pfid_notify(notice):\n"
        f"    Path({str(tmp_path / 'heard')!r}).write_text(notice.summary)\n"
    )
    bad = tmp_path / "bad.py"
    bad.write_text("raise RuntimeError('no')\n")
    places = [PluginPlaces(name=p.stem, place=str(p), is_file=True) for p in (good, bad)]
    process = notifier(plugins=places)
    following(tmp_path, "plugin_good")
    following(tmp_path, "plugin_bad")
    state.event()
    heard = until("it is told", (tmp_path / "heard").read_text)
    assert heard == "a signal killed the run"
    until("the broken one is named", lambda: [c for c, _ in process.said if c == "plugin_bad"])


def test_it_ends_with_its_daemon(state, tmp_path):
    order = NotifyOrder(
        state_file=str(state.path),
        cursors=str(tmp_path / "told.json"),
        host="box",
        command=["/bin/true"],
    )
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "pfid.workers.notifier"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as process:
        process.stdin.write(msgspec.json.encode(order) + b"\n")
        process.stdin.flush()
        following(tmp_path, "command")
        process.stdin.close()
        assert process.wait(20) == 0


def test_a_state_file_made_anew_is_told_from_its_beginning(notifier, state, webhook, tmp_path):
    (tmp_path / "told.json").write_text('{"webhook": 900}')
    event = state.event()
    notifier(webhook=webhook.url)
    until("the notice", lambda: ids(webhook) == [event])


def test_a_program_that_is_still_at_it_ends_with_the_notifier(notifier, state, tmp_path):
    at_it = tmp_path / "at-it"
    script = tmp_path / "tell"
    script.write_text(
        f"#!/bin/sh\nsleep 1000 &\necho $$ $! > {at_it}.new\nmv {at_it}.new {at_it}\nwait\n"
    )
    script.chmod(0o755)
    process = notifier(command=[str(script)])
    following(tmp_path, "command")
    state.event()
    pids = until("it is at it", lambda: at_it.read_text().split())
    process.close()
    until("both are gone", lambda: not any(alive(pid) for pid in pids))
    assert json.loads((tmp_path / "told.json").read_text())["command"] == 0, "it is told again"


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_notice_that_is_being_taken_is_not_told_again(notifier, state, tmp_path):
    out = tmp_path / "out"
    script = tmp_path / "tell"
    script.write_text(f"#!/bin/sh\necho >> {out}; sleep 1\n")
    script.chmod(0o755)
    first = notifier(command=[str(script)])
    following(tmp_path, "command")
    state.event()
    until("it is being told", out.exists)
    first._process.send_signal(signal.SIGTERM)  # as a service manager asks the whole unit
    first.close()
    assert json.loads((tmp_path / "told.json").read_text())["command"] == 1
    notifier(command=[str(script)])
    state.event()
    until("the next", lambda: len(out.read_text().splitlines()) == 2)


EATER = """
from pfid.spec import hookimpl

@hookimpl
def pfid_notify(notice):
    __builtins__["held"] = bytearray(b"x") * (300 << 20)
    import time
    time.sleep(60)
"""


def test_a_channel_that_takes_more_memory_than_it_may_is_ended_and_tried_again(
    notifier, state, tmp_path
):
    (tmp_path / "eats.py").write_text(EATER)
    places = [PluginPlaces(name="eats", place=str(tmp_path / "eats.py"), is_file=True)]
    process = notifier(150 << 20, plugins=places)
    following(tmp_path, "plugin_eats")
    state.event()
    ended = ("all", f"holds more than {150 << 20} bytes and is ended")
    until("it is ended", lambda: ended in process.said)
    assert ("all", "the notifier ended with -9") in until("it is told", lambda: process.said[1:])
    until("it is tried again", lambda: process.said.count(ended) == 2)
    assert json.loads((tmp_path / "told.json").read_text())["plugin_eats"] == 0, "none was taken"
