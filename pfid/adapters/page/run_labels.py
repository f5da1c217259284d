"""Label sets of one run, made once and kept while the run stands on the page."""

from functools import cached_property
from typing import Final

from pfid.adapters.page.family import Labels, number
from pfid.domain.run import RunState

BUCKET_BOUNDS_S: Final = tuple(0.01 * 2**k for k in range(17))
"""Upper bounds of step-duration buckets: 10 ms x 2^k, to 655 s; then +Inf."""
_BOUND_TEXTS: Final = (*(number(bound) for bound in BUCKET_BOUNDS_S), "+Inf")


class RunLabels:
    """Every label set in which one run appears. ``run`` is its slug, never a pid or a path."""

    def __init__(self, run_id: str) -> None:
        """Take the run's id."""
        self.run_id = run_id
        self.run = Labels(run=run_id)
        self.info: Labels | None = None
        self._accounted: Labels | None = None
        self._checks: dict[str, Labels] = {}

    def learn(self, info: Labels) -> Labels:
        """Keep who the run is; that does not change."""
        self.info = info
        return info

    @cached_property
    def states(self) -> tuple[tuple[RunState, Labels], ...]:
        """One a state, all of them."""
        return tuple((s, Labels(run=self.run_id, state=s.value)) for s in RunState)

    @cached_property
    def buckets(self) -> tuple[Labels, ...]:
        """One a bucket of step durations, the last being +Inf."""
        return tuple(Labels(run=self.run_id, le=bound) for bound in _BOUND_TEXTS)

    def accounted(self, accounting: str) -> Labels:
        """This run under the words for what its FLOPs count, which do not change."""
        if self._accounted is None or self._accounted.pairs["accounting"] != accounting:
            self._accounted = Labels(accounting=accounting, run=self.run_id)
        return self._accounted

    def check(self, name: str) -> Labels:
        """This run under one check."""
        if name not in self._checks:
            self._checks[name] = Labels(check=name, run=self.run_id)
        return self._checks[name]


class LabelCache:
    """Label sets of the runs on the page; a run that leaves is forgotten."""

    def __init__(self) -> None:
        """Start empty."""
        self._runs: dict[str, RunLabels] = {}

    def of(self, run_id: str) -> RunLabels:
        """The label sets of one run."""
        if run_id not in self._runs:
            self._runs[run_id] = RunLabels(run_id)
        return self._runs[run_id]

    def keep(self, run_ids: set[str]) -> None:
        """Forget every run but these."""
        for gone in self._runs.keys() - run_ids:
            del self._runs[gone]
