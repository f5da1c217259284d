"""How many optimizer steps a run will take, as the HF Trainer counts (playbook section 4.2).

The framework rounds more than once: records into micro-batches, those over the ranks, and a
rank's into optimizer steps, epoch by epoch. One division of the whole gives another number, and
with it another warmup.
"""

import math
from typing import Optional, Tuple

CEIL_SINCE = (4, 52)
"""transformers counts a last, short accumulation window as a step since this release; until then
it dropped it. Read in the sources of the releases from 4.40 to 5.24."""


def optimizer_steps(  # noqa: PLR0913 - what the count depends on, all by name but the first three
    records: int,
    batch: int,
    accumulation: int,
    *,
    epochs: float = 1,
    world: int = 1,
    drop_last: bool = False,
    version: Optional[str] = None,
) -> int:
    """Return the number of optimizer steps that a Trainer run takes.

    Args:
        records: in the data set.
        batch: records in one micro-batch of one rank.
        accumulation: micro-batches in an optimizer step.
        epochs: may be a fraction.
        world: ranks that share an epoch.
        drop_last: whether short micro-batches are left out.
        version: of transformers whose arithmetic is meant; the installed one if not given, the
            newest known if there is none.

    Raises:
        ValueError: for counts below 1, epochs that are not positive, or a version that is none.
    """
    for name, value in (
        ("records", records),
        ("batch", batch),
        ("accumulation", accumulation),
        ("world", world),
    ):
        if type(value) is not int or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
    if not (epochs > 0 and math.isfinite(epochs)):
        raise ValueError(f"epochs must be positive, not {epochs!r}")
    micro = _divided(_divided(records, batch, drop_last), world, drop_last)
    floors = _release(version) < CEIL_SINCE
    per_epoch = max(_divided(micro, accumulation, floors), 1)
    return math.ceil(epochs * per_epoch)


def warmup_steps_from_ratio(ratio: float, total_steps: int) -> int:
    """Return the warmup in steps, rounded up as the HF Trainer does.

    Keep the ratio in the configuration and convert where the arguments are built: a ratio survives
    a change of the corpus. From transformers 5.15 on ``warmup_steps`` below 1 is a ratio itself;
    beware that 1.0 means one step there, not all of them.

    Args:
        ratio: 0 to 1.
        total_steps: of the run, see :func:`optimizer_steps`.

    Raises:
        ValueError: for a ratio outside 0..1 or a negative number of steps.
    """
    if not 0 <= ratio <= 1:
        raise ValueError(f"a warmup ratio lies in 0..1, not {ratio!r}")
    if total_steps < 0:
        raise ValueError(f"a run has no {total_steps} steps")
    return math.ceil(total_steps * ratio)


def _divided(whole: int, by: int, floors: bool) -> int:  # noqa: FBT001 - one of two roundings
    return whole // by if floors else -(-whole // by)


def _release(version: Optional[str]) -> Tuple[int, ...]:
    text = _installed() if version is None else version
    if text is None:
        return CEIL_SINCE
    numbers = text.split(".")[:2]
    if len(numbers) < 2 or not all(part.isdigit() for part in numbers):
        raise ValueError(f"{text!r} is no version of transformers; give one like '5.24.0'")
    return tuple(int(part) for part in numbers)


def _installed() -> Optional[str]:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    try:
        return version_of("transformers")
    except PackageNotFoundError:
        return None
