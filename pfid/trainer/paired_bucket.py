"""Length-bucket to pair, shuffle micro-batches to mix (playbook section 3.2).

Padding is decided by which records share a micro-batch; diversity by the order in which
micro-batches come. So records are paired by length, tightly, and the finished micro-batches are
shuffled over the whole epoch: all of the saving survives, and no window of gradient accumulation
is fed by one source because its records happen to be of one length.

Standard library only. torch's DataLoader takes it as ``batch_sampler``; so do Trainer and
Lightning, each through its own hook for a loader:

    DataLoader(data, batch_sampler=PairedBucketSampler(lengths, 8), collate_fn=...)

    class MyTrainer(Trainer):                      # accelerate deals batches out to the ranks
        def get_train_dataloader(self):
            return self.accelerator.prepare(DataLoader(..., batch_sampler=sampler, ...))

Lightning on several devices: ``Trainer(use_distributed_sampler=False)`` and a sampler that is told
its rank and world. Everywhere else either the sampler is told its rank or the framework deals out,
never both.
"""

import random
import sys
from array import array
from functools import partial
from itertools import accumulate, chain, groupby
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

_SAME_MIN = 8
"""With so many records a length it is cheaper to count them together than to sort them."""
_ORDER = 2
"""Changes with every change of the order that a seed gives: a state of another is refused."""
_WORDS = 1 << 12
_BITS_30 = int.from_bytes(b"\xff\xff\xff\x3f" * _WORDS, "little")


class PairedBucketSampler:
    """Index batches for one rank; an epoch is the same for the same seed, whatever the machine.

    Args:
        lengths: tokens of each record, in data-set order.
        batch_size: records in a micro-batch.
        bucket_size: records that are shuffled among each other before pairing; the default is one
            micro-batch, the tightest there is. A larger bucket costs padding and mixes nothing
            that the shuffle of micro-batches does not mix already.
        seed: of the epoch's order, together with the epoch.
        rank: of this process, 0 .. world_size - 1.
        world_size: processes that share the epoch.
        drop_last: leave out as many records, others each epoch, as make no whole micro-batch, and
            micro-batches that do not go round; else the short micro-batch comes last, and some
            come again so that every rank has the same number.
        longest_first: begin with the widest micro-batches, one a rank, so that a run that does not
            fit into memory fails at its first step.

    Raises:
        ValueError: for no records, a batch or bucket below 1, or a rank outside the world.
    """

    def __init__(  # noqa: PLR0913 - the arguments a batch sampler has, all but two by name
        self,
        lengths: Sequence[int],
        batch_size: int,
        *,
        bucket_size: Optional[int] = None,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        drop_last: bool = False,
        longest_first: bool = False,
    ) -> None:
        bucket = batch_size if bucket_size is None else bucket_size
        if not len(lengths) or batch_size < 1 or bucket < 1:
            raise ValueError(
                "PairedBucketSampler needs records, batch_size >= 1 and bucket_size >= 1, got "
                f"{len(lengths)} records, {batch_size} and {bucket}"
            )
        if not 0 <= rank < world_size:
            raise ValueError(f"rank {rank} is not in a world of {world_size}")
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.epoch = 0
        # What stays are no lists of numbers: the garbage collector walks a list's again and again,
        # all over the memory, a tuple's once and an array's never.
        self._lengths = tuple(getattr(lengths, "tolist", lambda: lengths)())  # type: Tuple[int, ...]
        self._rising, self._parts = _by_length(self._lengths)
        self._bucket = bucket
        self._seed = seed
        self._rank = rank
        self._world = world_size
        self._longest_first = longest_first
        self._done = 0
        self._resume = 0

    @property
    def sampler(self) -> "PairedBucketSampler":
        """Itself: where Lightning and accelerate look for ``set_epoch``."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Order the next iteration for this epoch; one that was loaded goes on where it was."""
        if epoch != self.epoch:
            self.epoch = epoch
            self._done = self._resume = 0

    def __len__(self) -> int:
        """Micro-batches of this rank in a whole epoch."""
        count = len(self._lengths)
        batches = count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return batches // self._world if self.drop_last else -(-batches // self._world)

    def __iter__(self) -> Iterator[List[int]]:
        """Yield lists of record indices; goes on where a loaded state left off.

        An epoch that is not iterated to its end is begun again by the next iteration: looking at a
        first batch moves nothing. Whoever cuts epochs short on purpose calls ``set_epoch``.
        """
        self._done, self._resume = self._resume, 0
        order, starts = self._turns()
        for start in starts[self._rank :: self._world][self._done :]:
            self._done += 1
            yield order[start : start + self.batch_size]
        self._done = 0
        self.epoch += 1

    def state_dict(self, done: Optional[int] = None) -> Dict[str, Any]:
        """Where this rank stands: plain data, for a checkpoint.

        Args:
            done: micro-batches of this epoch that were trained on. Say it where a loader's workers
                fetch ahead: what they have taken is not what was trained on.
        """
        return {
            "epoch": self.epoch,
            "done": (self._done or self._resume) if done is None else done,
            **self._kind(),
        }

    def _kind(self) -> Dict[str, Any]:
        return {
            "seed": self._seed,
            "batch_size": self.batch_size,
            "bucket_size": self._bucket,
            "world_size": self._world,
            "records": len(self._lengths),
            "tokens": sum(self._lengths),
            "drop_last": self.drop_last,
            "longest_first": self._longest_first,
            "order": _ORDER,
        }

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Go on from a checkpoint at the next iteration.

        Raises:
            ValueError: when the state belongs to another data set, seed, batch or world: the same
                position there would skip some records and repeat others.
        """
        here = self._kind()
        other = [k for k in here if state.get(k) != here[k]]
        if other:
            raise ValueError(
                "this state belongs to another sampler: "
                + ", ".join(f"{k} was {state.get(k)}, is {here[k]}" for k in other)
            )
        self.epoch, self._resume, self._done = int(state["epoch"]), int(state["done"]), 0

    def _turns(self) -> "tuple[List[int], List[int]]":
        """The epoch: records as they are paired, and where each micro-batch of them begins.

        Returns:
            The records, and the beginnings in the order of all ranks' turns, a multiple of the
            world in number.
        """
        rng = random.Random("{}:{}".format(self._seed, self.epoch))  # noqa: S311 - an order, no secret
        chance = _by_chance(rng)
        order = self._paired(rng, chance)
        starts = list(range(0, len(order), self.batch_size))
        # A short one comes last: frameworks that deal batches out take the first short one for the
        # end (accelerate's BatchSamplerShard drops it anywhere else).
        short = [starts.pop()] if len(order) % self.batch_size else []
        first = self._widest(order, starts) if self._longest_first else []
        starts = first + sorted(starts, key=chance) + short
        odd = len(starts) % self._world
        if odd and self.drop_last:
            return order, starts[: len(starts) - odd]
        # the last but the short one were shuffled: whose turn it is to come again is chance
        again = starts[::-1][len(short) :] or starts
        return order, starts + [again[i % len(again)] for i in range(-len(starts) % self._world)]

    def _widest(self, order: List[int], starts: List[int]) -> List[int]:
        """Take out the widest micro-batches, one for each rank."""
        size, lengths = self.batch_size, self._lengths
        widths = {start: max(lengths[i] for i in order[start : start + size]) for start in starts}
        first = sorted(starts, key=widths.__getitem__, reverse=True)[: self._world]
        taken = set(first)
        starts[:] = [start for start in starts if start not in taken]
        return first

    def _paired(self, rng: random.Random, chance: Callable[[int], int]) -> List[int]:
        """Records in the order that puts those of one length together, new each epoch."""
        order = []  # type: List[int]
        begin = 0
        for end in self._parts:
            part = self._rising[begin : abs(end)]
            order += sorted(part, key=chance) if end > 0 else part
            begin = abs(end)
        odd = len(order) % self.batch_size
        if odd and self.drop_last:
            left_out = set(rng.sample(range(len(order)), odd))
            order = [index for index in order if index not in left_out]
        elif odd:
            # Asked to begin with the longest, the short micro-batch at the end gets the shortest.
            order = order[::-1] if self._longest_first else self._fewest_wide(order)
        if self._bucket > self.batch_size:
            for begin in range(0, len(order), self._bucket):
                end = begin + self._bucket
                order[begin:end] = sorted(order[begin:end], key=chance)
        return order

    def _fewest_wide(self, rising: List[int]) -> List[int]:
        """Leave the longest records in the short micro-batch, or the shortest: what costs less.

        First the number of full-width micro-batches counts (of all orders this one has the
        fewest), then positions.
        """
        lengths, size, count = self._lengths, self.batch_size, len(rising)
        falling = rising[::-1]
        longest = lengths[falling[0]]

        def burden(widths: List[int], last: int) -> "tuple[int, int]":
            return widths.count(longest), sum(widths) * size - last * (-count % size)

        up = [lengths[rising[min(i + size, count) - 1]] for i in range(0, count, size)]
        down = [lengths[falling[i]] for i in range(0, count, size)]
        return rising if burden(up, up[-1]) <= burden(down, down[-1]) else falling


def _by_length(lengths: Sequence[int]) -> "Tuple[array[int], array[int]]":
    """Indices of the records, lengths rising, and where parts of them end.

    A part is of one length, or (its end below 0) of records each of its own.
    """
    if min(lengths) >= 0 and max(lengths) * _SAME_MIN <= len(lengths):
        try:
            return _counted(lengths)
        except TypeError:  # lengths that are no whole numbers
            pass
    rising = array("q", sorted(range(len(lengths)), key=lengths.__getitem__))
    return rising, array("q", _ends(lengths[index] for index in rising))


def _counted(lengths: Sequence[int]) -> "Tuple[array[int], array[int]]":
    """The same in one pass, where lengths are few."""
    found = [[] for _ in range(max(lengths) + 1)]  # type: List[List[int]]
    for index, length in enumerate(lengths):
        found[length].append(index)
    ends = accumulate(len(same) for same in found if same)
    return array("q", list(chain.from_iterable(found))), array("q", ends)


def _ends(lengths: Iterable[int]) -> Iterator[int]:
    """Where records of one length end; below 0 where records before them stand alone."""
    alone = begin = 0
    for _, same in groupby(lengths):
        end = begin + sum(1 for _ in same)
        if end - begin > 1:
            if begin > alone:
                yield -begin
            yield end
            alone = end
        begin = end
    if begin > alone:
        yield -begin


def _by_chance(rng: random.Random) -> Callable[[int], int]:
    """A key by which sorting is shuffling: another number of 30 bits at each call.

    ``sorted`` with it takes half the time of a loop that swaps. Two items keep their order where
    their numbers are the same, which is one time in 2**30; larger numbers compare more slowly.
    """
    return partial(next, chain.from_iterable(_words(rng)))


def _words(rng: random.Random) -> "Iterator[array[int]]":
    """Numbers of 30 bits, the same on every machine."""
    while True:
        bits = rng.getrandbits(32 * _WORDS) & _BITS_30
        words = array("I", bits.to_bytes(4 * _WORDS, "little"))
        if sys.byteorder == "big":
            words.byteswap()
        yield words
