"""What can be done about a slow step, and what somebody has measured to be of no use.

Source: playbook sections 1, 3.2, 6 and 7. A lever that a ledger of claims holds as a measured
negative is not recommended again; the claim that says so stands in its place.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_PARTS: Final = re.compile(r"[^a-z0-9]+")
_CLAUSE: Final = re.compile(r"[:;]|\.\s")
_COMPARAND: Final = re.compile(
    r"\b(?:over|than|versus|vs|against|in place of|instead of|compared (?:to|with)|relative to"
    r"|replac(?:es|ing))\b(?:[^,;:().]|\.(?=\w))*",
    re.IGNORECASE,
)
"""What a claim holds its subject against, to the next stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """One thing to do.

    Attributes:
        key: its name here.
        text: what to do, in words.
        names: how a claim may call it, in words that it may also join.
        families: kernels by which it, or what it would bring, is known to run already.
    """

    key: str
    text: str
    names: tuple[str, ...]
    families: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Negative:
    """A claim that a lever is of no use: its key, and its words."""

    key: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A lever that is not recommended, and the claim that says why."""

    lever: Lever
    negative: Negative


CUDA_GRAPHS: Final = Lever(
    key="cuda_graphs", text="CUDA graphs", names=("cuda graph", "cuda graphs")
)
COMPILE: Final = Lever(
    key="torch_compile",
    text="torch.compile",
    names=("torch compile", "compile", "fused elementwise"),
)
BIGGER_BATCH: Final = Lever(
    key="bigger_batch", text="a bigger micro-batch", names=("bigger batch", "bigger micro batch")
)
BUCKETING: Final = Lever(
    key="bucketing",
    text="bucket to pair, shuffle to mix (pfid.trainer.PairedBucketSampler)",
    names=("bucketing", "bucket to pair", "length bucket", "group by length", "sampler"),
)
FEED: Final = Lever(
    key="feeding",
    text="feed the device: data loader workers, pinned memory, prefetch",
    names=("data loader", "prefetch", "pinned memory"),
)
OVERLAP: Final = Lever(
    key="overlap",
    text="overlap communication with computation, or send less",
    names=("overlap communication", "communication overlap", "gradient compression"),
)
FLEX: Final = Lever(
    key="flex_attention",
    text="flex_attention with a BlockMask",
    names=("flex attention",),
    families=frozenset({"flex_template"}),
)
FLASH_2: Final = Lever(
    key="flash_attention_2",
    text="flash_attention_2 (head dimensions up to 256; all layers or none)",
    names=("flash attention 2", "fa 2"),
    families=frozenset({"flash_2", "flash_sdpa", "flash_3", "flash_4"}),
)
FLASH_4: Final = Lever(
    key="flash_attention_4",
    text="flash_attention_4, where the card's generation has it",
    names=("flash attention 4", "fa 4"),
    families=frozenset({"flash_4"}),
)
GROUPED_MM: Final = Lever(
    key="grouped_mm",
    text="one grouped GEMM for all experts",
    names=("grouped mm", "grouped gemm", "fused moe kernel"),
    families=frozenset({"grouped_gemm", "deep_gemm"}),
)
FUSED_LOSS: Final = Lever(
    key="fused_loss",
    text="a fused linear cross entropy",
    names=("fused linear ce", "fused linear cross entropy", "liger kernel", "liger"),
)
LEVERS: Final = (
    CUDA_GRAPHS,
    COMPILE,
    BIGGER_BATCH,
    BUCKETING,
    FEED,
    OVERLAP,
    FLEX,
    FLASH_2,
    FLASH_4,
    GROUPED_MM,
    FUSED_LOSS,
)


def sifted(
    levers: Iterable[Lever], negatives: Sequence[Negative]
) -> tuple[tuple[Lever, ...], tuple[Dropped, ...]]:
    """Part levers into those to recommend and those that were measured to be of no use."""
    kept, dropped = [], []
    for lever in levers:
        against = next((one for one in negatives if speaks_of(one, lever)), None)
        if against is None:
            kept.append(lever)
        else:
            dropped.append(Dropped(lever=lever, negative=against))
    return tuple(kept), tuple(dropped)


def speaks_of(negative: Negative, lever: Lever) -> bool:
    """Whether a claim is about a lever: by its key, or by the subject of its text.

    The subject is the first clause that names any lever, without what it is compared with: that
    FlashAttention-4 gains little over FA2 says nothing against FA2.
    """
    if _named(_words(negative.key), lever):
        return True
    clauses = (_words(clause) for clause in _CLAUSE.split(_COMPARAND.sub(" ", negative.text)))
    subject = next((one for one in clauses if any(_named(one, other) for other in LEVERS)), "")
    return _named(subject, lever)


def _named(words: str, lever: Lever) -> bool:
    """Whether one of a lever's names stands in some words, apart or joined."""
    said = _COMPARAND.sub(" ", words)
    names = (_words(name).replace(" ", " ?") for name in (lever.key, *lever.names))
    return any(re.search(rf"\b{name}\b", said) for name in names)


def _words(text: str) -> str:
    return _PARTS.sub(" ", text.lower()).strip()
