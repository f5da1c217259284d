"""What a bench holds its figures against: each limit is said, and a missed one ends it with 1."""

import os

WITHOUT_PEER = "PFID_BENCH_WITHOUT_PEER"
"""Set in the environment (`run --without-peer`): a peer that cannot be had misses no limit."""


class Limits:
    """Limits of one bench."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self.missed: list[str] = []

    def at_most(self, what: str, figure: float, limit: float, unit: str = "") -> None:
        """Hold a figure that must not be above its limit."""
        self._hold(what, f"{figure:.4g} {unit}".rstrip(), f"at most {limit:g}", figure <= limit)

    def at_least(self, what: str, figure: float, limit: float, unit: str = "") -> None:
        """Hold a figure that must not be below its limit."""
        self._hold(what, f"{figure:.4g} {unit}".rstrip(), f"at least {limit:g}", figure >= limit)

    def true(self, what: str, good: object) -> None:
        """Hold something that must be so."""
        self._hold(what, "so" if good else "not so", "so", bool(good))

    def no_peer(self, why: str) -> None:
        """Say that what should be held beside a peer was not."""
        print(f"no peer: {why}")
        if WITHOUT_PEER not in os.environ:
            self.true("the peer can be run here, or the bench is told --without-peer", good=False)

    def status(self) -> int:
        """Say how many were missed; the exit status."""
        if self.missed:
            print(f"MISSED {len(self.missed)} limits: {'; '.join(self.missed)}")
        else:
            print("every limit is met")
        return 1 if self.missed else 0

    def _hold(self, what: str, figure: str, limit: str, good: bool) -> None:  # noqa: FBT001
        print(f"limit: {what}: {figure} ({limit}), {'met' if good else 'MISSED'}")
        if not good:
            self.missed.append(what)
