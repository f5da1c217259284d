"""The metrics page: a Snapshot to text format 0.0.4, by one collector over the Snapshot.

Names, labels and bounds are those of METRICS; one module a group of families. The page is made in
the loop's cadence and served as bytes by :mod:`pfid.adapters.http_server`; nothing here waits for
anything. ``pfid_time_seconds`` is not part of it: the server adds it live (:func:`live_text`), so
that a loop that has stopped can be told from a clock that has.
"""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, disable_created_metrics, generate_latest
from prometheus_client.core import Metric
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from pfid.adapters.page.collector import SnapshotCollector
from pfid.adapters.page.family import Family
from pfid.adapters.page.live import live_text
from pfid.adapters.page.selection import ENDED_RUN_LINGER_S, EXPORTED_RUNS_MAX, Bounds
from pfid.domain.snapshot import Snapshot

__all__ = ["Page", "live_text", "render"]


class Page:
    """Renders snapshots one after the other, counting what the bounds left out."""

    def __init__(
        self,
        *,
        exported_runs_max: int = EXPORTED_RUNS_MAX,
        ended_run_linger_s: float = ENDED_RUN_LINGER_S,
        synthetic: bool = False,
    ) -> None:
        """Take the bounds; ``synthetic`` shows what a self-test made and nothing real."""
        disable_created_metrics()  # type: ignore[no-untyped-call]
        bounds = Bounds(exported_runs_max=exported_runs_max, ended_run_linger_s=ended_run_linger_s)
        self._ours = SnapshotCollector(bounds, synthetic=synthetic)
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self._ours)
        if not synthetic:
            ProcessCollector(registry=self.registry)
            PlatformCollector(registry=self.registry)

    def bound(self, *, exported_runs_max: int, ended_run_linger_s: float) -> None:
        """Take other bounds from the next page on; what was left out so far stays counted."""
        self._ours.bounds = Bounds(
            exported_runs_max=exported_runs_max, ended_run_linger_s=ended_run_linger_s
        )

    def render(self, snapshot: Snapshot) -> bytes:
        """The page as it is served, in UTF-8."""
        self._ours.snapshot = snapshot
        return "".join(
            metric.text if isinstance(metric, Family) else _by_library(metric)
            for metric in self.registry.collect()
        ).encode("utf-8", "replace")


def render(snapshot: Snapshot, *, synthetic: bool = False) -> bytes:
    """One page on its own, with the default bounds."""
    return Page(synthetic=synthetic).render(snapshot)


class _One(Collector):
    """A collector of one family that is already there."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    def collect(self) -> Iterable[Metric]:
        return [self._metric]


def _by_library(metric: Metric) -> str:
    return generate_latest(_One(metric)).decode()
