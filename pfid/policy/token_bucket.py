"""How much of something one user may ask for: a steady rate and a burst."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A budget that refills with time.

    Attributes:
        rate_per_s: refill.
        burst: the most that can be saved up.
        tokens: what is left.
        at_s: monotonic time of the last look.
    """

    rate_per_s: float
    burst: float
    tokens: float
    at_s: float


def full(rate_per_s: float, burst: float, now_s: float) -> Bucket:
    """Return a bucket nobody has taken from."""
    return Bucket(rate_per_s=rate_per_s, burst=burst, tokens=burst, at_s=now_s)


def take(bucket: Bucket, now_s: float, amount: float = 1.0) -> tuple[Bucket, bool]:
    """Take from the bucket; False if there is not enough, and nothing is taken."""
    refilled = bucket.tokens + max(0.0, now_s - bucket.at_s) * bucket.rate_per_s
    tokens = min(bucket.burst, refilled)
    granted = tokens >= amount
    return replace(bucket, tokens=tokens - amount * granted, at_s=now_s), granted
