"""Proving beside the loop, again or under a new configuration: it takes seconds.

Nobody is to wait for it but who asked. The loop goes on with the configuration and the checks it
has, until those that were made are taken, together.
"""

import gc
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from pfid.bootstrap.gates import Gates
from pfid.config.model import Config
from pfid.daemon.core import Checks, Core
from pfid.daemon.hooks import Came
from pfid.daemon.messages import Message, Proven
from pfid.domain.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A configuration that was read and can be used.

    Attributes:
        config: it.
        enter: puts it in force; called in the loop once its checks were tried.
    """

    config: Config
    enter: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What comes of the work: checks that were tried, and a configuration if one was read."""

    checks: Checks
    prepared: Prepared | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is under way.

    Attributes:
        future: what comes of it.
        config: in force when it began.
        asked: connections that wait for it; none where it was due, or a signal asked.
        reload: whether it reads the configuration.
    """

    future: Future[Made]
    config: Config
    asked: tuple[int, ...]
    reload: bool


class Proving:
    """One at a time, in a thread; the loop begins it and takes what came of it."""

    def __init__(
        self,
        gates: Gates,
        core: Core,
        post: Callable[[Message], None],
        prepare: Callable[[], Prepared],
    ) -> None:
        """Say through ``post`` that there is something to take.

        Args:
            gates: are proven.
            core: of the loop.
            post: into its inbox.
            prepare: reads the configuration, in the thread; raises ConfigError if it is none.
        """
        self._gates = gates
        self._core = core
        self._post = post
        self._prepare = prepare
        self._asking: list[int] = []
        self._reloading: list[int] = []
        self._reload = False
        self._work: Work | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pfid-prove")

    def ask(self, conn: int | None = None) -> None:
        """Prove all of it again for a connection, or without one whatever is due.

        Whoever asks while a proof is under way gets the next one: this one began before.
        """
        if conn is not None:
            self._asking.append(conn)
        if self._work is not None:
            return
        if self._asking or self._gates.due(self._core):
            self._begin()
        else:
            self._gates.take(self._core, None)

    def reload(self, conn: int | None = None) -> None:
        """Read the configuration, and prove under it; several who ask meanwhile share the next."""
        self._reload = True
        if conn is not None:
            self._reloading.append(conn)
        if self._work is None:
            self._begin()

    def take(self) -> Came:
        """Take what came of it."""
        work, self._work = self._work, None
        if work is None:
            return Came()
        if work.config is not self._core.config:  # it is about checks that do not run any more
            self._asking[:0] = work.asked
            self._begin()
            return Came()
        problem = self._taken(work)
        gc.collect()
        another = self._reload
        if self._asking or another:
            self._begin()
        return Came(asked=work.asked, problem=problem, reload=work.reload, another=another)

    def aside(self, act: Callable[[], None]) -> None:
        """Do something that may wait, after what is under way; it says itself what went wrong."""
        self._thread.submit(act)

    def close(self) -> None:
        """Wait for what is under way; nothing else begins."""
        self._thread.shutdown(cancel_futures=True)

    def _begin(self) -> None:
        """A reload comes first: what is proven then is proven for longer."""
        reload, config = self._reload, self._core.config
        if reload:
            asked, self._reloading, self._reload = tuple(self._reloading), [], False
            future = self._thread.submit(self._reloaded)
        else:
            asked, self._asking = tuple(self._asking), []
            future = self._thread.submit(self._proven, config, afresh=bool(asked))
        self._work = Work(future=future, config=config, asked=asked, reload=reload)
        future.add_done_callback(lambda _: self._post(Proven()))

    def _proven(self, config: Config, *, afresh: bool) -> Made:
        return Made(checks=self._gates.prove(config, afresh=afresh))

    def _reloaded(self) -> Made:
        prepared = self._prepare()
        checks = self._gates.prove(prepared.config, afresh=False)
        return Made(checks=checks, prepared=prepared)

    def _taken(self, work: Work) -> str:
        try:
            made = work.future.result()
            if made.prepared is not None:
                made.prepared.enter()
        except ConfigError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - what stands goes on standing
            return f"{type(error).__name__}: {error}"
        self._gates.take(self._core, made.checks)
        return ""
