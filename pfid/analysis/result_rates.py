"""Rates over the records of an evaluation, apart by seed and repeat."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from pfid.analysis.lost_items import expected_scores, lacks_score
from pfid.analysis.rates import Count
from pfid.spec.ports.results import ResultRecord
from pfid.spec.result_gates.rate import Rate

SINGLE_SEED_ITEMS_MIN: Final = 10
"""Fewer items may all have answers that differ from their first letter on for other reasons."""
BEGINNING_CHARS: Final = 40
"""Some ten tokens: repeats of a seed that was taken seldom part within them."""
Runs = Mapping[int, Sequence[Count]]
"""Counts by seed; those of one seed are repeats of one another."""


def count(records: Iterable[ResultRecord], rate: Rate) -> Count | None:
    """What a rate comes to; None if it applies to no record. See :func:`left_out`."""
    values = [value for value in _values(records, rate) if value is not None]
    return Count(sum(values), len(values)) if values else None


def left_out(records: Iterable[ResultRecord], rate: Rate) -> Count:
    """Records that a rate should be over and is not, for want of a score, of how many it should.

    A record should have the score if any record of its kind of prompt has it.
    """
    held = [one for one in records if rate.family is None or one.family == rate.family]
    if not rate.metric:
        return Count(0, len(held))
    expected = expected_scores(held)
    of = [one for one in held if one.scored and rate.metric in expected[one.family]]
    return Count(sum(lacks_score(one, expected, (rate.metric,)) for one in of), len(of))


def counts_by_seed(records: Iterable[ResultRecord], rate: Rate) -> Runs:
    """The rate of each run; records that name no seed are left out."""
    runs: dict[tuple[int, int], list[ResultRecord]] = defaultdict(list)
    for record in records:
        if record.seed is not None:
            runs[record.seed, record.repeat].append(record)
    found: dict[int, list[Count]] = defaultdict(list)
    for (seed, _), held in sorted(runs.items()):
        counted = count(held, rate)
        if counted is not None:
            found[seed].append(counted)
    return found


def seed_margin(records: Iterable[ResultRecord]) -> float | None:
    """How much more alike outputs of one seed are than outputs of two, 0 to 1.

    Alike is the share of the longer output that both begin with, over items whose outputs are not
    all the same. Near 0: seeds decide nothing, so they were never taken; that is also what all the
    same outputs under different seeds come to. Without repeats the outputs of one seed are taken
    for the same. None if no item was answered under two seeds, or under one more than once.

    With one seed alone there is no other to hold it against, and it is how alike its repeats begin:
    those that part at once were not drawn with that seed. How long the answers are has no part in
    it: repeats of a seed that was taken part somewhere too, where the stack's jitter moves a token.
    """
    items: dict[tuple[str, str], dict[int, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    for record in records:
        if record.seed is not None:
            outputs = items[record.family, record.item][record.seed]
            outputs[record.repeat] = record.reasoning + record.output
    several = [runs for runs in items.values() if len(runs) > 1]
    if not several:
        return _one_seed_margin(items.values())
    telling = [runs for runs in several if len(_outputs(runs)) > 1]
    if not telling:
        return 0.0
    other = _mean(alike for runs in telling for alike in _between_seeds(runs))
    same = [alike for runs in telling for alike in _within_seeds(runs)]
    return (_mean(same) if same else 1.0) - other


def _one_seed_margin(items: Iterable[Mapping[int, Mapping[int, str]]]) -> float | None:
    same = [list(_within_seeds(_beginnings(runs))) for runs in items]
    repeated = [alikes for alikes in same if alikes]
    if len(repeated) < SINGLE_SEED_ITEMS_MIN:
        return None
    return _mean(one for alikes in repeated for one in alikes)


def _beginnings(runs: Mapping[int, Mapping[int, str]]) -> Mapping[int, Mapping[int, str]]:
    return {
        seed: {repeat: text[:BEGINNING_CHARS] for repeat, text in repeats.items()}
        for seed, repeats in runs.items()
    }


def alike(one: str, other: str) -> float:
    """Share of the longer text that both begin with; 1 for the same."""
    if one == other:
        return 1.0
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low / max(len(one), len(other))


def _values(records: Iterable[ResultRecord], rate: Rate) -> Iterator[float | None]:
    for record in records:
        if rate.family is not None and record.family != rate.family:
            continue
        if rate.flag:
            yield float(rate.flag in record.flags)
            continue
        value = record.scores.get(rate.metric)
        yield value if value is None or rate.below is None else float(value < rate.below)


def _outputs(runs: Mapping[int, Mapping[int, str]]) -> set[str]:
    return {output for repeats in runs.values() for output in repeats.values()}


def _within_seeds(runs: Mapping[int, Mapping[int, str]]) -> Iterator[float]:
    for repeats in runs.values():
        yield from (alike(a, b) for a, b in pairwise(_in_order(repeats)))


def _between_seeds(runs: Mapping[int, Mapping[int, str]]) -> Iterator[float]:
    firsts = [_in_order(repeats)[0] for _, repeats in sorted(runs.items())]
    yield from (alike(a, b) for a, b in pairwise(firsts))


def _in_order(repeats: Mapping[int, str]) -> list[str]:
    return [output for _, output in sorted(repeats.items())]


def _mean(values: Iterable[float]) -> float:
    held = list(values)
    return sum(held) / len(held)
