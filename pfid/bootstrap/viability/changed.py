"""What a merge or a save changed, tensor by tensor, beside what it should have changed."""

import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pfid.adapters.weight_files import WeightFiles, WeightsError
from pfid.adapters.weight_identities import identity_in, runs_of, sampled
from pfid.analysis.adapter_targets import Targets, targets_of
from pfid.analysis.weight_change import Moved, moved
from pfid.analysis.weight_match import Same, compare, is_tied_copy, pairs, weights_of
from pfid.analysis.weight_names import is_passed_by
from pfid.bootstrap.viability.merge import WEIGHTS, Merge
from pfid.domain.weight_identity import WeightIdentity
from pfid.formats.adapter_tensors import Adapted, adapted
from pfid.formats.safetensors import Tensor
from pfid.formats.untrusted import printable
from pfid.spec.ports.lineage import ChangedFacts

EXAMPLES_MAX: Final = 5
LINE_MAX_CHARS: Final = 300


def changed_facts(merge: Merge) -> ChangedFacts | None:
    """Compare; None where nothing merged or saved is given."""
    if merge.merged is not None:
        return _merged(merge, merge.merged)
    if merge.is_adapter:
        return _saved_adapter(merge)
    if WeightFiles((merge.adapter,)).tensors:
        return _compared(merge, merge.adapter, (), ("full", 0, 0))
    return ChangedFacts(problem="adapter_unreadable", detail="neither adapter nor weights there")


def _saved_adapter(merge: Merge) -> ChangedFacts:
    try:
        modules, zero = _modules(merge)
    except WeightsError as error:
        return ChangedFacts(problem="adapter_unreadable", detail=_line(str(error)))
    return ChangedFacts(
        kind="adapter",
        modules=len(modules),
        zero=len(zero),
        examples=_named("zero", [one.module for one in zero]),
    )


def _merged(merge: Merge, folder: Path) -> ChangedFacts:
    if not merge.is_adapter and merge.targets:
        return _compared(merge, folder, (), ("merged", 0, 0))
    try:
        modules, zero = _modules(merge)
    except WeightsError as error:
        return ChangedFacts(problem="adapter_unreadable", detail=_line(str(error)))
    live = [one.module for one in modules if one not in zero]
    return _compared(merge, folder, live, ("merged", len(modules), len(zero)))


def _modules(merge: Merge) -> tuple[tuple[Adapted, ...], list[Adapted]]:
    """The adapter's modules, and those of which a factor is zero.

    Raises:
        WeightsError: if they cannot be read.
    """
    file = merge.folder / WEIGHTS if merge.adapter.is_dir() else merge.adapter
    with WeightFiles((file,)) as files:
        if files.problems:
            raise WeightsError("; ".join(files.problems[:EXAMPLES_MAX]))
        found = adapted(t.name for t in files.tensors)
        zero = [one for one in found if any(files.is_zero(name) for name in one.factors)]
    return found, zero


@dataclass
class _Came:
    """Gathers while tensors are compared."""

    targets: int = 0
    changed: int = 0
    untouched: int = 0
    moves: list[float] = field(default_factory=list)
    still: list[str] = field(default_factory=list)
    partial: list[str] = field(default_factory=list)
    rounded: list[str] = field(default_factory=list)
    untouched_changed: list[str] = field(default_factory=list)
    untouched_rounded: list[str] = field(default_factory=list)
    uncomparable: list[str] = field(default_factory=list)


def _compared(
    merge: Merge, saved: Path, modules: Sequence[str], counted: tuple[str, int, int]
) -> ChangedFacts:
    kind, n_modules, zero = counted
    try:
        with ExitStack() as stack:
            base = stack.enter_context(WeightFiles((merge.target,)))
            other = stack.enter_context(WeightFiles((saved,)))
            problem = _unreadable(base, other)
            if problem is not None:
                return problem
            pair = _Pair(merge, base, other)
            targets = pair.targets(modules)
            came = pair.compare(targets)
            incomplete = (*base.problems, *other.problems)
    except WeightsError as error:
        return ChangedFacts(problem="merged_unreadable", detail=_line(str(error)))
    return ChangedFacts(
        kind=kind,
        modules=n_modules,
        zero=zero,
        unmatched=len(targets.unmatched),
        targets=came.targets,
        changed=came.changed,
        partial=len(came.partial),
        rounded=len(came.rounded),
        untouched=came.untouched,
        untouched_changed=len(came.untouched_changed),
        untouched_rounded=len(came.untouched_rounded),
        uncomparable=len(came.uncomparable),
        relative_median=statistics.median(came.moves) if came.moves else 0.0,
        incomplete=tuple(map(_line, incomplete[:EXAMPLES_MAX])),
        examples=_examples(came, targets),
    )


def _unreadable(base: WeightFiles, other: WeightFiles) -> ChangedFacts | None:
    for code, files in (("base_unreadable", base), ("merged_unreadable", other)):
        if not files.tensors:
            why = "; ".join(files.problems[:EXAMPLES_MAX])
            return ChangedFacts(problem=code, detail=_line(why))
    return None


class _Pair:
    """A base and what was made of it, both open."""

    def __init__(self, merge: Merge, base: WeightFiles, other: WeightFiles) -> None:
        self._merge, self._base, self._other = merge, base, other
        self._before = self._identity(base)
        self._after = self._identity(other)
        self._tensors = {t.name: t for t in base.tensors}
        self._others = {t.name: t for t in other.tensors}

    def _identity(self, files: WeightFiles) -> WeightIdentity:
        return identity_in(files, full=self._merge.full, say=self._merge.say)

    def targets(self, modules: Sequence[str]) -> Targets:
        """What should differ: by the adapter, by names of modules, or every matrix of the text."""
        names = list(weights_of(self._before.tensors))
        if modules:
            said = self._merge.configured.get("target_parameters")
            parameters = [p for p in said if isinstance(p, str)] if isinstance(said, list) else []
            return targets_of(modules, names, parameters)
        wanted = self._merge.targets
        chosen = [n for n in names if (_is_named(n, wanted) if wanted else self._is_matrix(n))]
        return Targets(tensors=dict.fromkeys(chosen, frozenset()))

    def _is_matrix(self, name: str) -> bool:
        return len(self._tensors[name].shape) > 1 and not is_passed_by(name)

    def compare(self, targets: Targets) -> _Came:
        """Compare every tensor of the base."""
        came = _Came()
        before, after = weights_of(self._before.tensors), weights_of(self._after.tensors)
        found = pairs(before, after)
        for name in before:
            meant = name in targets.tensors
            if name in found:
                how = compare(before[name], after[found[name]], whole=self._merge.full)
            elif is_tied_copy(name, before) or (is_passed_by(name) and not meant):
                continue
            else:
                how = Same.UNCOMPARABLE
            if how in (Same.UNCOMPARABLE, Same.RESHAPED):
                came.uncomparable.append(name)
            elif meant:
                self._target(came, name, how, found[name], targets.tensors[name])
            else:
                _untouched(came, name, how)
        return came

    def _target(
        self, came: _Came, name: str, how: Same, other: str, experts: frozenset[int]
    ) -> None:
        came.targets += 1
        tensor = self._tensors[name]
        went = self._moved(tensor, self._others[other]) if how is not Same.SAME else None
        if how is Same.SAME:
            came.still.append(name)
        elif went is not None and went.rounding:
            came.rounded.append(name)
        else:
            came.changed += 1
            self._changed(came, name, went, experts)

    def _changed(self, came: _Came, name: str, went: Moved | None, experts: frozenset[int]) -> None:
        """One of the targets that differ; of stacked experts all that are meant must."""
        tensor = self._tensors[name]
        if went is None:
            return
        came.moves.append(went.relative)
        meant = experts or frozenset(range(tensor.shape[0] if len(tensor.shape) > 2 else 1))
        if len(tensor.shape) > 2 and self._merge.is_adapter and meant - went.parts:
            came.partial.append(name)

    def _moved(self, tensor: Tensor, other: Tensor) -> Moved | None:
        runs, _ = runs_of(tensor)
        one = (tensor.dtype, sampled(self._base, tensor))
        two = (other.dtype, sampled(self._other, other))
        try:
            return moved(one, two, tensor.shape, runs)
        except ValueError:
            return None


def _untouched(came: _Came, name: str, how: Same) -> None:
    came.untouched += 1
    if how is Same.DIFFERS:
        came.untouched_changed.append(name)
    elif how is Same.CAST:
        came.untouched_rounded.append(name)


def _is_named(name: str, wanted: Sequence[str]) -> bool:
    parts = name.split(".")
    return any(word in parts or name.startswith(f"{word}.") or name == word for word in wanted)


def _examples(came: _Came, targets: Targets) -> tuple[str, ...]:
    return (
        *_named("targets that hold what the base holds", came.still),
        *_named("targets that differ by rounding alone", came.rounded),
        *_named("targets of which only some experts differ", came.partial),
        *_named("not meant to differ, and they do", came.untouched_changed),
        *_named("modules that no tensor belongs to", targets.unmatched),
        *_named("not comparable", came.uncomparable),
    )


def _named(what: str, names: Sequence[str]) -> tuple[str, ...]:
    more = f" and {len(names) - EXAMPLES_MAX} more" if len(names) > EXAMPLES_MAX else ""
    return (_line(f"{what}: {', '.join(names[:EXAMPLES_MAX])}{more}"),) if names else ()


def _line(text: str) -> str:
    return printable(text, LINE_MAX_CHARS)
