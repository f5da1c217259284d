"""Length-bucket to pair, shuffle micro-batches to mix (playbook section 3.2).

Padding is decided by which records share a micro-batch; diversity by the order in which
micro-batches come. So records are paired by length, tightly, and the finished micro-batches are
shuffled over the whole epoch: all of the saving survives, and no window of gradient accumulation
is fed by one source because its records happen to be of one length.

Standard library only; torch's DataLoader takes it as ``batch_sampler``, as do Trainer and
Lightning.
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
        drop_last: leave out the short micro-batch, and micro-batches that do not go round; else
            the first ones of the epoch come again so that every rank has the same number.
        longest_first: begin with the widest micro-batch, so that a run that does not fit into
            memory fails at its first step.

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
        self.epoch = 0
        self._lengths = lengths
        self._bucket = bucket
        self._seed = seed
        self._rank = rank
        self._world = world_size
        self._drop_last = drop_last
        self._longest_first = longest_first
        self._done = 0

    def set_epoch(self, epoch: int) -> None:
        """Order the next iteration for this epoch, from its beginning."""
        self.epoch = epoch
        self._done = 0

    def __len__(self) -> int:
        """Micro-batches of this rank in a whole epoch."""
        count = len(self._lengths)
        batches = count // self.batch_size if self._drop_last else -(-count // self.batch_size)
        return batches // self._world if self._drop_last else -(-batches // self._world)

    def __iter__(self) -> Iterator[List[int]]:
        """Yield lists of record indices; goes on where a loaded state left off."""
        mine = self._epoch_batches()[self._rank :: self._world]
        for batch in mine[self._done :]:
            self._done += 1
            yield batch
        self._done = 0
        self.epoch += 1

    def state_dict(self) -> Dict[str, Any]:
        """Where this rank stands: plain data, for a checkpoint."""
        return {
            "epoch": self.epoch,
            "done": self._done,
            "seed": self._seed,
            "batch_size": self.batch_size,
            "bucket_size": self._bucket,
            "world_size": self._world,
            "records": len(self._lengths),
        }

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Go on from a checkpoint.

        Raises:
            ValueError: when the state belongs to another data set, seed, batch or world: the same
                position there would skip some records and repeat others.
        """
        here = self.state_dict()
        other = [k for k in here if k not in ("epoch", "done") and state.get(k) != here[k]]
        if other:
            raise ValueError(
                "this state belongs to another sampler: "
                + ", ".join(f"{k} was {state.get(k)}, is {here[k]}" for k in other)
            )
        self.epoch, self._done = int(state["epoch"]), int(state["done"])

    def _epoch_batches(self) -> List[List[int]]:
        """Every rank's micro-batches of this epoch, a multiple of the world in number."""
        rng = random.Random("{}:{}".format(self._seed, self.epoch))  # noqa: S311 - an order, no secret
        batches = self._paired(rng)
        widest = max(range(len(batches)), key=lambda i: self._width(batches[i])) if batches else 0
        first = [batches.pop(widest)] if self._longest_first and batches else []
        rng.shuffle(batches)
        batches = first + batches
        short = len(batches) % self._world
        if short and self._drop_last:
            return batches[: len(batches) - short]
        missing = -len(batches) % self._world
        return batches + [batches[i % len(batches)] for i in range(missing)]

    def _paired(self, rng: random.Random) -> List[List[int]]:
        """Micro-batches of records of one length, ties and buckets in a new order each epoch."""
        order = list(range(len(self._lengths)))
        rng.shuffle(order)
        order.sort(key=self._lengths.__getitem__)
        if self._bucket > self.batch_size:
            order = self._loosened(order, rng)
        batches = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        if self._drop_last and batches and len(batches[-1]) < self.batch_size:
            batches.pop()
        return batches

    def _loosened(self, order: List[int], rng: random.Random) -> List[int]:
        loose = []  # type: List[int]
        for start in range(0, len(order), self._bucket):
            part = order[start : start + self._bucket]
            rng.shuffle(part)
            loose += part
        return loose

    def _width(self, batch: List[int]) -> int:
        return max(self._lengths[i] for i in batch)
