"""Proving again beside the loop: it takes seconds, and nobody is to wait for them but who asked."""

import gc
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from pfid.bootstrap.gates import Gates
from pfid.config.model import Config
from pfid.daemon.core import Checks, Core
from pfid.daemon.messages import Message, Proven


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is being proven.

    Attributes:
        future: what comes of it.
        config: under which configuration.
        asked: connections that wait for it; none where it was simply due.
    """

    future: Future[Checks]
    config: Config
    asked: tuple[int, ...]


class Proving:
    """One proof at a time, in a thread; the loop begins it and takes what came of it."""

    def __init__(self, gates: Gates, core: Core, post: Callable[[Message], None]) -> None:
        """Say through ``post`` that there is something to take."""
        self._gates = gates
        self._core = core
        self._post = post
        self._asking: list[int] = []
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

    def take(self) -> tuple[tuple[int, ...], str]:
        """Take what came of it.

        Returns:
            The connections that waited for it, and what went wrong, "" if nothing.
        """
        work, self._work = self._work, None
        if work is None:
            return (), ""
        if work.config is not self._core.config:  # it is about checks that do not run any more
            self._asking[:0] = work.asked
            self._begin()
            return (), ""
        problem = self._taken(work)
        gc.collect()
        if self._asking:
            self._begin()
        return work.asked, problem

    def close(self) -> None:
        """Wait for the proof that is under way; no other begins."""
        self._thread.shutdown(cancel_futures=True)

    def _begin(self) -> None:
        asked, self._asking = tuple(self._asking), []
        config = self._core.config
        future = self._thread.submit(self._gates.prove, config, afresh=bool(asked))
        self._work = Work(future=future, config=config, asked=asked)
        future.add_done_callback(lambda _: self._post(Proven()))

    def _taken(self, work: Work) -> str:
        try:
            checks = work.future.result()
        except Exception as error:  # noqa: BLE001 - the proofs that stand go on standing
            return f"{type(error).__name__}: {error}"
        self._gates.take(self._core, checks)
        return ""
