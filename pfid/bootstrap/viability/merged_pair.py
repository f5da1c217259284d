"""A base and what was made of it, both open, compared tensor by tensor."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pfid.adapters.weight_files import WeightFiles
from pfid.adapters.weight_identities import identity_in, runs_of, sampled
from pfid.analysis.adapter_change import (
    Amount,
    Change,
    adds_anything,
    amount_of,
    idle_parts,
)
from pfid.analysis.adapter_targets import Targets, targets_of, unreached
from pfid.analysis.weight_change import Moved, moved
from pfid.analysis.weight_match import Same, compare, is_tied_copy, pairs, weights_of
from pfid.analysis.weight_names import is_expert, passed_by
from pfid.bootstrap.viability.adapter_makes import AdapterMakes
from pfid.bootstrap.viability.merge import Merge
from pfid.domain.weight_identity import WeightIdentity
from pfid.formats.safetensors import Tensor
from pfid.formats.untrusted import printable

NAMED_MAX: Final = 5
LINE_MAX_CHARS: Final = 300


@dataclass
class Came:
    """Gathers while tensors are compared; names of tensors by what came of them."""

    moved: dict[str, float] = field(default_factory=dict)
    still: list[str] = field(default_factory=list)
    partial: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)
    idle: int = 0
    rounded: list[str] = field(default_factory=list)
    untouched: int = 0
    untouched_changed: list[str] = field(default_factory=list)
    untouched_rounded: list[str] = field(default_factory=list)
    uncomparable: list[str] = field(default_factory=list)
    amounts: dict[Amount, list[str]] = field(default_factory=lambda: {a: [] for a in Amount})
    factors: list[float] = field(default_factory=list)

    def counted(self) -> dict[str, Any]:
        """As facts."""
        return {
            "targets": len(self.moved) + len(self.still) + len(self.rounded),
            "changed": len(self.moved),
            "partial": len(self.partial),
            "unreached": len(self.unreached),
            "idle": self.idle,
            "rounded": len(self.rounded),
            "untouched": self.untouched,
            "untouched_changed": len(self.untouched_changed),
            "untouched_rounded": len(self.untouched_rounded),
            "uncomparable": len(self.uncomparable),
            "right": len(self.amounts[Amount.RIGHT]),
            "scaled": len(self.amounts[Amount.SCALED]),
            "otherwise": len(self.amounts[Amount.OTHER]),
            "factor": statistics.median(self.factors) if self.factors else None,
            "relative_median": statistics.median(self.moved.values()) if self.moved else 0.0,
        }

    def separate_unreached(self) -> None:
        """Experts that hold what they held beside others of their layer that do not."""
        idle = unreached(self.still, list(self.moved))
        self.still = [name for name in self.still if name not in idle]
        self.unreached += sorted(idle)


class MergedPair:
    """Compares."""

    def __init__(
        self, merge: Merge, base: WeightFiles, other: WeightFiles, makes: AdapterMakes | None
    ) -> None:
        """Take the identity of both.

        Args:
            merge: what is asked about.
            base: of it.
            other: what was made.
            makes: what the adapter makes of the base; None without one.
        """
        self._merge, self._base, self._other, self._makes = merge, base, other, makes
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
            stacks = {n: t.shape[0] for n, t in self._tensors.items() if len(t.shape) == 3}
            return targets_of(modules, names, parameters, stacks)
        wanted, beside = self._merge.targets, passed_by(names)
        plain = [n for n in names if n not in beside and self._is_matrix(n)]
        chosen = [n for n in names if _is_named(n, wanted)] if wanted else plain
        return Targets(tensors=dict.fromkeys(chosen, frozenset()))

    def _is_matrix(self, name: str) -> bool:
        return len(self._tensors[name].shape) > 1

    def compare(self, targets: Targets) -> Came:
        """Compare every tensor of the base.

        Raises:
            WeightsError: if a file is cut off.
        """
        came = Came()
        before, after = weights_of(self._before.tensors), weights_of(self._after.tensors)
        found, beside = pairs(before, after), passed_by(before)
        for name in before:
            meant = name in targets.tensors
            if name in found:
                how = compare(before[name], after[found[name]], whole=self._merge.full)
            elif is_tied_copy(name, before) or (name in beside and not meant):
                continue
            else:
                how = Same.UNCOMPARABLE
            if how in (Same.UNCOMPARABLE, Same.RESHAPED):
                came.uncomparable.append(name)
            elif meant:
                self._target(came, name, how, found[name], targets)
            else:
                _untouched(came, name, how)
        if self._makes is None:
            came.separate_unreached()
        return came

    def _target(self, came: Came, name: str, how: Same, other: str, targets: Targets) -> None:
        tensor = self._tensors[name]
        changes = self._made_of(tensor, targets)
        went = self._moved(tensor, self._others[other]) if how is not Same.SAME else None
        if how is Same.SAME and changes and not any(map(adds_anything, changes)):
            came.untouched += 1  # it adds nothing, or saved what the base holds
            came.idle += is_expert(name)
        elif how is Same.SAME:
            came.still.append(name)
        elif went is not None and went.rounding:
            came.rounded.append(name)
        else:
            came.moved[name] = went.relative if went is not None else 0.0
            self._parts(came, tensor, went, targets.tensors[name], changes)
            self._amount(came, tensor, other, changes)

    def _made_of(self, tensor: Tensor, targets: Targets) -> list[Change]:
        places = targets.places.get(tensor.name, ())
        if self._makes is None or self._makes.untold or not places:
            return []
        return self._makes.of(tensor, places)

    def _parts(
        self,
        came: Came,
        tensor: Tensor,
        went: Moved | None,
        experts: frozenset[int],
        changes: Sequence[Change],
    ) -> None:
        """Of stacked experts all that are meant must differ, but for those nobody reached."""
        if went is None or len(tensor.shape) < 3:
            return
        runs, _ = runs_of(tensor)
        every = experts or frozenset(range(tensor.shape[0]))
        idle = idle_parts(changes[0], tensor.shape, runs) & every if changes else frozenset()
        came.idle += len(idle)
        meant = every - idle
        beyond = sorted(went.parts - every - went.faint)
        if beyond:
            listed = ", ".join(map(str, beyond[:NAMED_MAX]))
            came.untouched_changed.append(f"{tensor.name} (experts {listed})")
        if not meant - went.parts:
            return
        where = came.partial if self._makes is not None else came.unreached
        where.append(tensor.name)

    def _amount(self, came: Came, tensor: Tensor, other: str, changes: Sequence[Change]) -> None:
        made = self._others[other]
        if self._makes is None or self._makes.untold:
            return
        one = (tensor.dtype, sampled(self._base, tensor))
        two = (made.dtype, sampled(self._other, made))
        judged = amount_of([c.times(self._merge.share) for c in changes], one, two)
        came.amounts[judged.amount].append(tensor.name)
        if judged.amount is Amount.SCALED and judged.factor is not None:
            came.factors.append(judged.factor)

    def _moved(self, tensor: Tensor, other: Tensor) -> Moved | None:
        runs, _ = runs_of(tensor)
        one = (tensor.dtype, sampled(self._base, tensor))
        two = (other.dtype, sampled(self._other, other))
        try:
            return moved(one, two, tensor.shape, runs)
        except ValueError:
            return None


def _untouched(came: Came, name: str, how: Same) -> None:
    came.untouched += 1
    if how is Same.DIFFERS:
        came.untouched_changed.append(name)
    elif how is Same.CAST:
        came.untouched_rounded.append(name)


def _is_named(name: str, wanted: Sequence[str]) -> bool:
    parts = name.split(".")
    return any(word in parts or name.startswith(f"{word}.") or name == word for word in wanted)


def examples(came: Came, targets: Targets) -> tuple[str, ...]:
    """Lines about what is wrong."""
    return tuple(
        text
        for what, names in (
            ("targets that hold what the base holds", came.still),
            ("targets that differ by rounding alone", came.rounded),
            ("targets of which only some experts differ", came.partial),
            ("experts that hold what the base holds", came.unreached),
            ("moved by another factor than the adapter's", came.amounts[Amount.SCALED]),
            ("moved otherwise than the adapter moves them", came.amounts[Amount.OTHER]),
            ("not meant to differ, and they do", came.untouched_changed),
            ("modules that no tensor belongs to", targets.unmatched),
            ("not comparable", came.uncomparable),
        )
        for text in named(what, names)
    )


def named(what: str, names: Sequence[str]) -> Iterator[str]:
    """One line that names a few; none where there is none."""
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    if names:
        yield line(f"{what}: {', '.join(names[:NAMED_MAX])}{more}")


def line(text: str) -> str:
    """As it may be shown."""
    return printable(text, LINE_MAX_CHARS)
