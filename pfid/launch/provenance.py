"""What launching needs, so that a run can say about itself what was true when it began."""

from pathlib import Path
from typing import Protocol

from pfid.launch.request import LaunchRequest
from pfid.wire.record import RunRecord


class Provenance(Protocol):
    """Samples a launch, writes it down, and completes it."""

    def begin(self, request: LaunchRequest) -> None:
        """Begin to sample what takes long; nothing has been started or moved yet."""
        ...

    def sample(self, request: LaunchRequest, run_id: str, attempt: int, run_dir: Path) -> None:
        """Sample the launch and write it down, while its process does not exist.

        Raises:
            StateError: if it cannot be written.
        """
        ...

    def drop(self) -> None:
        """The launch is refused: end what was begun."""
        ...

    def complete(self, record: RunRecord, run_dir: Path) -> None:
        """Add to it how the run ended and what was seen of it.

        Raises:
            StateError: if it cannot be written; what was written at launch stands.
        """
        ...
