"""What an owner has to say about its worker: told to the listener, and counted."""

from collections.abc import Callable
from dataclasses import replace

from pfid.adapters.worker_events import WorkerCounters, WorkerEnded, WorkerEvent, WorkerStarted
from pfid.adapters.worker_process import WorkerProcess
from pfid.domain.errors import WireError
from pfid.policy.worker_life import EndCause


class WorkerTidings:
    """For the owner's thread; ``counters`` may be read from any.

    Attributes:
        counters: of starts, ends and errors of the listener up to now.
    """

    def __init__(self, on_event: Callable[[WorkerEvent], None]) -> None:
        """Tell ``on_event``, which may block."""
        self._on_event = on_event
        self.counters = WorkerCounters()

    def tell(self, event: WorkerEvent) -> None:
        """Hand an event on.

        Raises:
            WireError: if the listener could not read the worker's message.
        """
        try:
            self._on_event(event)
        except WireError:
            raise
        except Exception:  # noqa: BLE001 - a fault of the listener must not end the deadline's keeper
            errors = self.counters.callback_errors + 1
            self.counters = replace(self.counters, callback_errors=errors)

    def started(self, generation: int, pid: int) -> None:
        """A fresh worker runs."""
        self.counters = replace(self.counters, starts=self.counters.starts + 1)
        self.tell(WorkerStarted(generation=generation, pid=pid))

    def not_started(self, cause: EndCause, error: OSError) -> None:
        """None could be started."""
        self.counters = self.counters.counted(cause)
        self.tell(WorkerEnded(generation=0, cause=cause, status=None, output_tail=str(error)))

    def ended(
        self, generation: int, cause: EndCause, process: WorkerProcess, status: int | None
    ) -> None:
        """A worker is gone, or was given up."""
        self.counters = self.counters.counted(cause)
        self.tell(
            WorkerEnded(
                generation=generation,
                cause=cause,
                status=status,
                touching=process.cell.get(),
                output_tail=process.output_tail,
            )
        )
