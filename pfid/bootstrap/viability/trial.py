"""One engine on trial: asked until it answers, ends or its time is over, and always taken down."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from pfid.adapters.engine_http import BUSY, NOT_THERE, Answer, EngineClient, is_completion
from pfid.adapters.kept_command import KeptCommand
from pfid.adapters.marked_processes import marked
from pfid.adapters.oom_counter import OomCounter
from pfid.adapters.port_owners import listening_on
from pfid.adapters.process_ending import capture_tree, send, wait_all_ended
from pfid.adapters.process_identity import Captured, capture, has_ended
from pfid.bootstrap.launch import user_records
from pfid.bootstrap.stopping import Target, stop_run
from pfid.domain.errors import LaunchError, PfidError, ProcessGoneError
from pfid.formats.untrusted import printable
from pfid.policy.job_control import SIGTERM
from pfid.wire.record import recorded

ROUND_S: Final = 0.5
SETTLE_S: Final = 2.0
"""An engine that answers once and dies of it has not served."""
TELL_EVERY_S: Final = 10.0
BAD_MAX: Final = 3
"""So many bad answers in a row are its answer."""
SWEEPS: Final = 3
KILL_WAIT_S: Final = 10.0
KEEPER_WAIT_S: Final = 15.0
"""More than the keeper takes to kill what does not end when it is asked."""
LISTENS_ON_S: Final = 2.0
"""A port in a container is given back a moment after its client has gone."""
PUBLISHERS: Final = frozenset({"docker-proxy", "rootlessport", "conmon", "slirp4netns", "pasta"})
"""They listen for a container that goes on without them."""
SIGKILL: Final = 9
MARK: Final = "PFID_RUN_ID"


class EngineTrial:
    """Watches one engine from a thread of its own, while the launcher waits for its end.

    Attributes:
        completed: whether it answered a completion.
        lived_on: whether it lived and answered a while after that.
        interrupted: whether a person ended the trial.
        taken_down: whether the engine was ended by the trial, and not by itself.
        ready_s: from its start to its completion; None without one.
        served: model or adapter that answered.
        version: by its own word.
        answers: last answer of each place.
        bad: the last bad answer to what must be answered; None without one.
        daemonised: whether it went into the background.
        remaining: processes that could not be ended.
    """

    def __init__(
        self,
        client: EngineClient,
        environ: Mapping[str, str],
        say: Callable[[str], None],
        *,
        names: tuple[str, ...] = (),
        deadline_s: float,
        grace_s: float,
    ) -> None:
        """Nothing is started yet.

        Args:
            client: asks the engine.
            environ: of the asker.
            say: tells the person.
            names: adapters or models of which one shall answer; the first that it lists if empty.
            deadline_s: from its start.
            grace_s: between asking it to end and killing it.
        """
        self._client, self._environ, self._say, self._names = client, environ, say, names
        self._deadline_s, self._grace_s = deadline_s, grace_s
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="trial", daemon=True)
        self._root: Captured | None = None
        self._kept: KeptCommand | None = None
        self._run_id = ""
        self._begun_s = self._told_s = time.monotonic()
        self._oom = OomCounter()
        self._oom_place: str | None = None
        self._oom_before: int | None = None
        self.completed = self.lived_on = self.interrupted = self.taken_down = False
        self.daemonised = False
        self.ready_s: float | None = None
        self.served = self.version = ""
        self.answers: dict[str, str] = {}
        self.bad: Answer | None = None
        self.remaining = 0

    # The launcher's side

    def begin(self, pid: int, run_id: str, kept: KeptCommand) -> None:
        """The child is there, held at its gate."""
        self._run_id, self._kept = run_id, kept
        with suppress(ProcessGoneError):
            self._root = capture(pid)
        self._oom_place = self._oom.place_of(pid)
        self._oom_before = self._oom_count()
        self._begun_s = self._told_s = time.monotonic()
        self._thread.start()

    def interrupt(self) -> None:
        """A person wants no more of it."""
        self.interrupted = True
        self._wake.set()

    def finish(self) -> None:
        """The launcher's child has ended: see the trial through."""
        self._thread.join()

    @property
    def under_way(self) -> bool:
        """Whether it goes on."""
        return self._thread.is_alive()

    def oom_kills(self) -> int | None:
        """Processes killed for memory since it began; None if the kernel does not count them."""
        now = self._oom_count()
        if now is None or self._oom_before is None:
            return None
        return now - self._oom_before

    def _oom_count(self) -> int | None:
        return self._oom.cgroup(self._oom_place) if self._oom_place else self._oom.box()

    # The trial's own side

    def _run(self) -> None:
        try:
            self._watch()
        except Exception as error:  # noqa: BLE001 - whatever happens, the engine is taken down
            self._say(f"watching the engine failed: {error}")
        finally:
            self._take_down()

    def _watch(self) -> None:
        bad = 0
        while not self.interrupted and self._left_s() > 0 and self._lives():
            came = self._look()
            if came is None:
                bad = 0
            elif is_completion(came):
                self.completed = True
                self.ready_s = time.monotonic() - self._begun_s
                self._say(f"{self.served} answered after {self.ready_s:.0f} s")
                self._settle()
                return
            else:
                bad, self.bad = bad + 1, came
                if bad >= BAD_MAX:
                    return
            self._tell()
            self._wake.wait(ROUND_S)

    def _look(self) -> Answer | None:
        """Ask in the order in which engines come up; None while it is not up yet."""
        health = self._noted(self._client.health())
        if health.status is None or health.status in BUSY:
            return None
        if not health.good and health.status != NOT_THERE:
            return health
        answer, listed = self._client.models()
        self._noted(answer)
        if answer.status is None or answer.status in BUSY:
            return None
        if not answer.good or not listed:
            return answer
        wanted = [name for name in self._names if name in listed]
        if self._names and not wanted:
            missing = f"it serves {', '.join(listed[:5])}, and not {', '.join(self._names)}"
            return Answer(asked=answer.asked, status=answer.status, text=missing)
        self.served = wanted[0] if wanted else listed[0]
        completion = self._noted(self._client.complete(self.served, max(1.0, self._left_s())))
        return None if completion.status in BUSY else completion

    def _settle(self) -> None:
        self.version = self._client.version()
        until_s = time.monotonic() + SETTLE_S
        while time.monotonic() < until_s and self._lives():
            self._wake.wait(ROUND_S / 2)
        health = self._noted(self._client.health())
        well = health.good or health.status == NOT_THERE
        self.lived_on = self._lives() and well

    def _noted(self, answer: Answer) -> Answer:
        self.answers[answer.asked] = answer.short
        return answer

    def _left_s(self) -> float:
        return self._deadline_s - (time.monotonic() - self._begun_s)

    def _lives(self) -> bool:
        if self._kept is not None and not self.daemonised and self._kept.is_in_background():
            self.daemonised = True
            self._say("the command ended and left the engine in the background: it is watched on")
        return self._root is not None and not has_ended(self._root.pidfd)

    def _tell(self) -> None:
        if time.monotonic() - self._told_s < TELL_EVERY_S:
            return
        self._told_s = time.monotonic()
        said = ", ".join(self.answers.values()) or "nothing"
        left = f"{self._left_s():.0f} s left"
        self._say(f"{self._told_s - self._begun_s:.0f} s: {said} ({left})")

    def _take_down(self) -> None:
        """End the whole tree by captured identities, and what bears its mark beside it."""
        if self._root is not None and not has_ended(self._root.pidfd):
            self.taken_down = True
            self._stop(self._root)
        for _ in range(SWEEPS):
            held = marked(MARK, self._run_id)
            if not held:
                break
            self._end(held)
        else:
            left = marked(MARK, self._run_id)
            self.remaining = len(left)
            _close(left)
        if self._kept is not None:
            self._kept.close()
        self._wait_until_nobody_listens()

    def _stop(self, root: Captured) -> None:
        why = "the trial of the serving path is over"
        try:
            target = Target(
                run_id=self._run_id,
                process=recorded(root.identity),
                record=user_records(self._environ).read(self._run_id),
            )
            wait_s = self._grace_s + KEEPER_WAIT_S
            stop_run(self._environ, target, why=why, grace_s=wait_s, say=lambda _: None)
        except LaunchError:
            return  # it ended just now
        except PfidError as error:
            self._say(f"{error}; the engine is ended all the same")
            self._end([root])

    def _end(self, held: list[Captured]) -> None:
        pidfds = [each.pidfd for each in held]
        for number, wait_s in ((SIGTERM, self._grace_s), (SIGKILL, KILL_WAIT_S)):
            for pidfd in pidfds:
                with suppress(LaunchError):
                    send(pidfd, number)
            if wait_all_ended(pidfds, wait_s):
                break
        _close([each for each in held if each is not self._root])

    def _wait_until_nobody_listens(self) -> None:
        """What answered may have been started by somebody else at the command's word."""
        if self._root is None or self._is_silent(LISTENS_ON_S if self.completed else 0):
            return
        self._end_listeners()
        if not self._is_silent(KILL_WAIT_S):
            self._say("something still listens there, outside of what was started: end it by hand")

    def _is_silent(self, within_s: float) -> bool:
        until_s = time.monotonic() + within_s
        while self._client.listens():
            if time.monotonic() > until_s:
                return False
            time.sleep(ROUND_S / 5)
        return True

    def _end_listeners(self) -> None:
        """The port was free before the trial: who took it since is what the command asked for."""
        born = self._root.stat.start_ticks if self._root is not None else 0
        for listener in listening_on(self._client.port):
            pid, ticks = listener.identity.pid, listener.stat.start_ticks
            who = f"{printable(listener.stat.comm, 32)} (pid {pid})"
            if listener.stat.comm in PUBLISHERS or ticks < born:
                self._say(f"{who} listens there for what lives on behind it: end that by hand")
                os.close(listener.pidfd)
                continue
            self._say(f"the command had {who} started outside of itself: it is ended")
            self._end([listener, *capture_tree(pid, ticks)])


def _close(held: list[Captured]) -> None:
    for each in held:
        os.close(each.pidfd)
