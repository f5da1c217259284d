"""What a merge or a save changed, tensor by tensor, beside what it should have changed."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from pfid.adapters.weight_files import WeightFiles, WeightsError
from pfid.analysis.adapter_targets import unreached
from pfid.bootstrap.viability.adapter_makes import AdapterMakes
from pfid.bootstrap.viability.merge import WEIGHTS, Merge
from pfid.bootstrap.viability.merged_pair import MergedPair, examples, line, named
from pfid.formats.adapter_tensors import Adapted, adapted
from pfid.spec.ports.lineage import ChangedFacts

EXAMPLES_MAX: Final = 5


def changed_facts(merge: Merge) -> ChangedFacts | None:
    """Compare; None where nothing merged or saved is given."""
    if merge.merged is None and not merge.is_adapter:
        if WeightFiles((merge.adapter,)).tensors:
            return _compared(merge, None)
        return ChangedFacts(problem="adapter_unreadable", detail="neither adapter nor weights")
    if not merge.is_adapter and merge.targets:
        return _compared(merge, None)
    try:
        with _opened(merge) as adapter:
            return _saved(merge, adapter) if merge.merged is None else _compared(merge, adapter)
    except WeightsError as error:
        return ChangedFacts(problem="adapter_unreadable", detail=line(str(error)))


@dataclass(frozen=True, slots=True)
class _Adapter:
    """An open adapter: its modules, and those of which a factor is zero."""

    files: WeightFiles
    modules: tuple[Adapted, ...]
    zero: tuple[Adapted, ...]

    @property
    def live(self) -> tuple[Adapted, ...]:
        """Those that change anything."""
        return tuple(one for one in self.modules if one not in self.zero)


@contextmanager
def _opened(merge: Merge) -> Iterator[_Adapter]:
    file = merge.folder / WEIGHTS if merge.adapter.is_dir() else merge.adapter
    with WeightFiles((file,)) as files:
        if files.problems:
            raise WeightsError("; ".join(files.problems[:EXAMPLES_MAX]))
        found = adapted(t.name for t in files.tensors)
        zero = [one for one in found if any(files.is_zero(name) for name in one.factors)]
        yield _Adapter(files, found, tuple(zero))


def _saved(merge: Merge, adapter: _Adapter) -> ChangedFacts:
    zero = [one.module for one in adapter.zero]
    idle = unreached(zero, [one.module for one in adapter.live])
    makes = AdapterMakes(adapter.files, adapter.files, adapter.live, merge.configured)
    stacked = makes.idle_experts()
    return ChangedFacts(
        kind="adapter",
        modules=len(adapter.modules),
        zero=len(zero) - len(idle),
        unreached=len(idle) + sum(stacked.values()),
        examples=(
            *named("zero", [module for module in zero if module not in idle]),
            *named("zero, while other experts of the layer are not", sorted(idle)),
            *named("experts of zero in", [f"{name} ({n})" for name, n in stacked.items()]),
        ),
    )


def _compared(merge: Merge, adapter: _Adapter | None) -> ChangedFacts:
    saved = merge.merged or merge.adapter
    try:
        with ExitStack() as stack:
            base = stack.enter_context(WeightFiles((merge.target,)))
            other = stack.enter_context(WeightFiles((saved,)))
            problem = _unreadable(base, other)
            if problem is not None:
                return problem
            makes = _makes(merge, adapter, base)
            pair = MergedPair(merge, base, other, makes)
            targets = pair.targets([one.module for one in adapter.live] if adapter else ())
            came = pair.compare(targets)
            incomplete = (*base.problems, *other.problems)
    except WeightsError as error:
        return ChangedFacts(problem="merged_unreadable", detail=line(str(error)))
    return ChangedFacts(
        kind="merged" if merge.merged is not None else "full",
        modules=len(adapter.modules) if adapter else 0,
        zero=len(adapter.zero) if adapter else 0,
        unmatched=len(targets.unmatched),
        amount_untold=line(makes.untold) if makes is not None else "",
        incomplete=tuple(map(line, incomplete[:EXAMPLES_MAX])),
        examples=examples(came, targets),
        **came.counted(),
    )


def _makes(merge: Merge, adapter: _Adapter | None, base: WeightFiles) -> AdapterMakes | None:
    if adapter is None:
        return None
    return AdapterMakes(adapter.files, base, adapter.live, merge.configured)


def _unreadable(base: WeightFiles, other: WeightFiles) -> ChangedFacts | None:
    for code, files in (("base_unreadable", base), ("merged_unreadable", other)):
        if not files.tensors:
            why = "; ".join(files.problems[:EXAMPLES_MAX])
            return ChangedFacts(problem=code, detail=line(why))
    return None
