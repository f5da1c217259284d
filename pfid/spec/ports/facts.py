"""A port with one question: what is there to know about this subject?"""

from typing import Protocol, TypeVar

F_co = TypeVar("F_co", covariant=True)


class FactsPort(Protocol[F_co]):
    """One subject of a pre-launch check."""

    def facts(self) -> F_co:
        """Look, or return what was seen; None where the project's spec does not speak of it.

        Raises:
            PortError: if it cannot be looked at.
        """
        ...
