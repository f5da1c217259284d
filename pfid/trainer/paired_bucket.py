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
from typing import Any, Dict, Iterator, List, Optional, Sequence


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
        # an array's items are objects of its own: slow to compare, and many
        self._lengths = list(getattr(lengths, "tolist", lambda: lengths)())  # type: List[int]
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
        mine = self._epoch_batches()[self._rank :: self._world]
        for batch in mine[self._done :]:
            self._done += 1
            yield batch
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

    def _epoch_batches(self) -> List[List[int]]:
        """Every rank's micro-batches of this epoch, a multiple of the world in number."""
        rng = random.Random("{}:{}".format(self._seed, self.epoch))  # noqa: S311 - an order, no secret
        batches, short = self._paired(rng)
        first = self._widest(batches) if self._longest_first else []
        rng.shuffle(batches)
        # A short one comes last: frameworks that deal batches out take the first short one for the
        # end (accelerate's BatchSamplerShard drops it anywhere else).
        batches = first + batches + short
        odd = len(batches) % self._world
        if odd and self.drop_last:
            return batches[: len(batches) - odd]
        # the last but the short one were shuffled: whose turn it is to come again is chance
        again = batches[::-1][len(short) :] or batches
        return batches + [again[i % len(again)] for i in range(-len(batches) % self._world)]

    def _widest(self, batches: List[List[int]]) -> List[List[int]]:
        """Take out the widest micro-batches, one for each rank."""
        order = sorted(range(len(batches)), key=lambda i: self._width(batches[i]), reverse=True)
        taken = order[: self._world]
        first = [batches[i] for i in taken]
        for i in sorted(taken, reverse=True):
            del batches[i]
        return first

    def _paired(self, rng: random.Random) -> "tuple[List[List[int]], List[List[int]]]":
        """Micro-batches of records of one length, ties and buckets in a new order each epoch.

        Returns:
            The whole ones, and the short one where there is one.
        """
        order = list(range(len(self._lengths)))
        rng.shuffle(order)
        if self.drop_last:
            del order[len(order) // self.batch_size * self.batch_size :]
        order.sort(key=self._lengths.__getitem__)
        if len(order) % self.batch_size:
            order = self._fewest_wide(order)
        if self._bucket > self.batch_size:
            order = self._loosened(order, rng)
        batches = self._cut(order)
        return (batches[:-1], batches[-1:]) if self._short(batches) else (batches, [])

    def _short(self, batches: List[List[int]]) -> bool:
        return bool(batches) and len(batches[-1]) < self.batch_size

    def _cut(self, order: List[int]) -> List[List[int]]:
        return [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]

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

    def _loosened(self, order: List[int], rng: random.Random) -> List[int]:
        loose = []  # type: List[int]
        for start in range(0, len(order), self._bucket):
            part = order[start : start + self._bucket]
            rng.shuffle(part)
            loose += part
        return loose

    def _width(self, batch: List[int]) -> int:
        return max(self._lengths[i] for i in batch)
