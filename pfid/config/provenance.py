"""The ``[provenance]`` table of a project's spec: what a launch writes down beside the rest."""

from typing import Any

import msgspec
from msgspec import field


class Provenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the run's manifest is to hold. Paths are relative to the folder of the spec.

    Attributes:
        config: files that configure the run; digested by content at launch.
        datasets: files and folders it trains on; likewise.
        auxiliary: masks, filter lists, label maps, chat templates; likewise.
        artefacts: files it will have written; digested at its end.
        base: folder of the base that is trained; what its tensors hold is recorded by a sample of
            each, for `pfid merge-check`.
        container: image of the container, with its digest where there is one.
        environ: further variables of the environment that may be written down.
        requested: settings it asks for, by field (``attn_implementation = "flex_attention"``).
        pairs: which field shows the consequence of which, beside those that pfid knows.
        trust_unchanged: whether a digest is kept for a file whose inode, size and times are as
            they were.
    """

    config: list[str] = field(default_factory=list)
    datasets: list[str] = field(default_factory=list)
    auxiliary: list[str] = field(default_factory=list)
    artefacts: list[str] = field(default_factory=list)
    base: str = ""
    container: str = ""
    environ: list[str] = field(default_factory=list)
    requested: dict[str, Any] = field(default_factory=dict)
    pairs: dict[str, str] = field(default_factory=dict)
    trust_unchanged: bool = False
