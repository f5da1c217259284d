"""One collector over the Snapshot, on a registry of our own.

A registry made by the library would call ``collect()`` at registration; ``describe()`` answers
with nothing instead. Families are made new every time, so that a run that left leaves no series.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from pfid.adapters.page import checks, gates, gpus, own, runs, steps
from pfid.adapters.page.family import COUNTER, Family, Labels, Spec
from pfid.adapters.page.run_labels import LabelCache
from pfid.adapters.page.selection import Bounds, Selection, select
from pfid.domain.gpu_view import GpusView
from pfid.domain.snapshot import RunView, Snapshot

ERRORS: Final = Spec(
    "pfid_page_errors_total", COUNTER, "Groups of families that could not be made."
)


class SnapshotCollector(Collector):
    """Everything pfid says, as families."""

    def __init__(self, bounds: Bounds, *, synthetic: bool) -> None:
        """Show real runs, or with ``synthetic`` those a self-test made and nothing real."""
        self.snapshot: Snapshot | None = None
        self.bounds = bounds
        self._synthetic = synthetic
        self._cache = LabelCache()
        self._dropped: dict[str, int] = {}
        self._dropped_runs: set[str] = set()
        self._errors: dict[str, int] = {}

    def describe(self) -> Iterable[Metric]:
        """Nothing: what is exposed depends on the snapshot."""
        return []

    def collect(self) -> Iterator[Family]:
        """Families of the snapshot in hand; none before the first.

        A group that raises is left out and counted; the others are not lost with it.
        """
        if self.snapshot is None:
            return
        snapshot = self.snapshot
        selection = select(snapshot, self.bounds, synthetic=self._synthetic)
        self._cache.keep({view.run.run_id for view in selection.exported})
        exported = frozenset(view.run.run_id for view in selection.exported)
        of_runs = self._of_runs(snapshot, selection.exported, self._cache)
        self._count_dropped(snapshot, selection, of_runs)
        yield from of_runs
        yield from self._group("runs", runs.count(snapshot, synthetic=self._synthetic))
        yield from self._group("costs", checks.costs(snapshot))
        yield from self._group("gates", gates.families(snapshot))
        yield from self._group("gpus", gpus.families(self._gpus_of(snapshot), exported))
        yield from self._group("own", own.families(snapshot, self._dropped))
        errors = Family(ERRORS)
        for group, n in self._errors.items():
            errors.add(n, Labels(group=group))
        yield errors

    def _gpus_of(self, snapshot: Snapshot) -> GpusView | None:
        """The GPUs belong on the page of what is real."""
        return None if self._synthetic else snapshot.gpus

    def _group(self, name: str, families: Iterator[Family]) -> list[Family]:
        self._errors.setdefault(name, 0)
        try:
            return list(families)
        except Exception:  # noqa: BLE001 - one bad value must not lose the page
            self._errors[name] += 1
            return []

    def _of_runs(
        self, snapshot: Snapshot, views: tuple[RunView, ...], cache: LabelCache
    ) -> list[Family]:
        exported = frozenset(view.run.run_id for view in views)
        fresh = not own.stale(snapshot, runs.SAMPLER)
        verdicts = checks.families(snapshot, exported, cache, synthetic=self._synthetic)
        return [
            *self._group("runs", runs.families(views, cache, fresh=fresh)),
            *self._group("steps", steps.families(views, cache)),
            *self._group("checks", verdicts),
        ]

    def _count_dropped(self, snapshot: Snapshot, selection: Selection, shown: list[Family]) -> None:
        """Count each run's series once when it has to make room, by the name of their family."""
        for family in shown:
            self._dropped.setdefault(family.spec.name, 0)
        now = {str(view.run.run_id) for view in selection.dropped}
        newly = tuple(v for v in selection.dropped if v.run.run_id not in self._dropped_runs)
        self._dropped_runs = now
        if newly:
            for family in self._of_runs(snapshot, newly, LabelCache()):
                self._dropped[family.spec.name] += len(family)
