"""Two sets of weights held against each other, tensor by tensor.

Tensors are found by their names, by names without wrapping modules, and where those fail by what
they hold. One tensor is another if their samples are the same; it is the same in another precision
if the sampled numbers are the same once both are rounded to bfloat16 or to float16.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from pfid.analysis.weight_names import (
    EMBEDDING,
    HEAD,
    by_plain_name,
    is_buffer,
    is_expert,
    passed_by,
    writes_residual,
)
from pfid.analysis.weight_sample import is_float
from pfid.domain.weight_identity import TensorPrint

Prints = Mapping[str, TensorPrint]
Names = Sequence[str]


class Same(Enum):
    """How two tensors stand to each other."""

    SAME = "same"
    CAST = "cast"
    DIFFERS = "differs"
    RESHAPED = "reshaped"
    UNCOMPARABLE = "uncomparable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What came of it; names are those of the first, the recorded one.

    Attributes:
        same: tensors that hold the same.
        cast: the same in another precision.
        differing: the same shape and other numbers.
        reshaped: under one name, of another shape.
        uncomparable: quantised on one side.
        renamed: found under another name.
        missing: nowhere in the other.
        left_out: nowhere in the other, which leaves towers or further-token heads out.
        regrouped: experts kept singly here and stacked there, or the other way round.
        extra: of the other, nowhere in the first.
        precisions: from which to which those of ``cast`` went.
    """

    same: int
    cast: tuple[str, ...]
    differing: tuple[str, ...]
    reshaped: tuple[str, ...]
    uncomparable: tuple[str, ...]
    renamed: int
    missing: tuple[str, ...]
    left_out: int
    regrouped: int
    extra: tuple[str, ...]
    precisions: tuple[str, ...]

    @property
    def compared(self) -> int:
        """Tensors that were found on both sides and could be compared."""
        return self.same + len(self.cast) + len(self.differing) + len(self.reshaped)

    @property
    def only_residual_writers(self) -> bool:
        """Whether all that differs is what an abliteration changes."""
        return bool(self.differing) and all(map(writes_residual, self.differing))


def compare(one: TensorPrint, other: TensorPrint, *, whole: bool = False) -> Same:
    """How one tensor stands to another.

    Args:
        one: a tensor.
        other: another one.
        whole: whether digests of all bytes decide where both are known.
    """
    if is_float(one.dtype) != is_float(other.dtype):
        return Same.UNCOMPARABLE
    if one.shape != other.shape:
        return Same.RESHAPED if is_float(one.dtype) else Same.UNCOMPARABLE
    if one.dtype == other.dtype and one.sample == other.sample:
        differs = whole and one.whole and other.whole and one.whole != other.whole
        return Same.DIFFERS if differs else Same.SAME
    if one.as_bf16 and (one.as_bf16 == other.as_bf16 or one.as_f16 == other.as_f16):
        return Same.CAST
    return Same.DIFFERS


def match(known: Prints, seen: Prints, *, whole: bool = False) -> Match:
    """Hold what lies there against what is known."""
    known, seen = weights_of(known), weights_of(seen)
    paired = pairs(known, seen)
    came: dict[Same, list[str]] = {kind: [] for kind in Same}
    for name, found in paired.items():
        came[compare(known[name], seen[found], whole=whole)].append(name)
    extra = _extra(known, seen, paired)
    gone = [name for name in known if name not in paired and not is_tied_copy(name, known)]
    beside = passed_by(known)
    left_out = [name for name in gone if paired and name in beside]
    regrouped = [name for name in gone if is_expert(name) and any(map(is_expert, extra))]
    packed = any(not is_float(seen[name].dtype) for name in extra)
    accounted = {*left_out, *regrouped}
    missing = [name for name in gone if name not in accounted]
    cast = came[Same.CAST]
    return Match(
        same=len(came[Same.SAME]),
        cast=tuple(cast),
        differing=tuple(came[Same.DIFFERS]),
        reshaped=tuple(came[Same.RESHAPED]),
        uncomparable=(*came[Same.UNCOMPARABLE], *(missing if packed else ())),
        renamed=sum(name != found for name, found in paired.items()),
        missing=() if packed else tuple(missing),
        left_out=len(left_out),
        regrouped=len(regrouped),
        extra=tuple(extra),
        precisions=tuple(sorted({f"{known[n].dtype} to {seen[paired[n]].dtype}" for n in cast})),
    )


def _extra(known: Prints, seen: Prints, found: Mapping[str, str]) -> list[str]:
    """What only the other has, but for further copies of what the first has (untied heads)."""
    paired = set(found.values())
    contents = {key for one in known.values() for key in _keys(one)}
    return [name for name in seen if name not in paired and not _keys(seen[name]) & contents]


def weights_of(prints: Prints) -> Prints:
    """The tensors that are weights and no buffers."""
    return {name: one for name, one in prints.items() if not is_buffer(name)}


def pairs(known: Prints, seen: Prints) -> dict[str, str]:
    """Names of the seen ones by those of the known ones; none is found twice."""
    found: dict[str, str] = {}
    free = dict.fromkeys(seen)
    for finding in (_by_name, _by_plain_name, _by_content):
        left = [name for name in known if name not in found]
        for name, other in finding(left, list(free), known, seen):
            if other in free:
                del free[other]
                found[name] = other
    return found


def _by_name(left: Names, free: Names, *_: Prints) -> Iterator[tuple[str, str]]:
    there = frozenset(free)
    return ((name, name) for name in left if name in there)


def _by_plain_name(left: Names, free: Names, *_: Prints) -> Iterator[tuple[str, str]]:
    here, there = by_plain_name(left), by_plain_name(free)
    return ((here[short], there[short]) for short in here if short in there)


def _by_content(left: Names, free: Names, known: Prints, seen: Prints) -> Iterator[tuple[str, str]]:
    holding: dict[str, list[str]] = {}
    for name in free:
        for key in _keys(seen[name]):
            holding.setdefault(key, []).append(name)
    taken: set[str] = set()
    for name in left:
        candidates = (n for key in sorted(_keys(known[name])) for n in holding.get(key, ()))
        other = next((n for n in candidates if n not in taken), None)
        if other is not None:
            taken.add(other)
            yield name, other


def _keys(one: TensorPrint) -> set[str]:
    """What finds a tensor by its content, whatever it is called."""
    shape = "x".join(map(str, one.shape))
    return {f"{shape} {digest}" for digest in (one.sample, one.as_bf16, one.as_f16) if digest}


def is_tied_copy(name: str, known: Prints) -> bool:
    """A head that holds what the embedding holds is left out where both are tied."""
    if not HEAD.search(name):
        return False
    return any(EMBEDDING.search(n) and one.sample == known[name].sample for n, one in known.items())
