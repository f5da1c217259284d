"""Judge attention masks: is each what its layer type says, and does it keep the fast path?

Source: playbook section 3.1; STACK, section on masks. A windowed layer without a window in its mask
is wrong under every implementation but flash attention, where the window travels as a keyword: that
keyword is judged instead. "None" means plain causal attention under sdpa alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Final

from pfid.domain.masks import LayerFact, MaskCase, MaskFact, MaskKind, MaskReport
from pfid.domain.outcome import Outcome, worst

SLIDING: Final = "sliding_attention"
CHUNKED: Final = "chunked_attention"
FLASH: Final = "flash_attention_"
PADDED: Final = (MaskCase.RIGHT_PAD, MaskCase.LEFT_PAD)
REASONS: Final[Mapping[str, tuple[Outcome, str]]] = MappingProxyType(
    {
        "right": (Outcome.PASS, "every mask allows what its layer type says"),
        "not_causal": (Outcome.FAIL, "a token may look at later ones"),
        "window_off_by_one": (Outcome.FAIL, "a window is one position off the configured one"),
        "window_missing": (Outcome.FAIL, "a windowed layer attends without its window"),
        "window_differs": (Outcome.FAIL, "a windowed layer attends through another window"),
        "window_not_passed": (
            Outcome.FAIL,
            "a windowed layer does not hand its window to flash attention",
        ),
        "padding_attended": (Outcome.FAIL, "padding is attended to"),
        "documents_mixed": (Outcome.FAIL, "packed documents look at each other"),
        "positions_missing": (Outcome.FAIL, "positions that should be attended to are left out"),
        "unregistered": (
            Outcome.FAIL,
            "the attention implementation has no mask function: its mask is silently None",
        ),
        "hub_kernel": (
            Outcome.UNKNOWN,
            "a kernel of the hub: judge what it implements by name, flash_attention_2 or sdpa",
        ),
        "layers_unseen": (Outcome.UNKNOWN, "what the layers hand to attention cannot be seen"),
        "packing_unseen": (Outcome.UNKNOWN, "whether packed documents are told apart is unknown"),
        "unknown_mask": (Outcome.UNKNOWN, "a mask of a kind that cannot be judged here"),
        "not_causal_by_design": (
            Outcome.NOT_APPLICABLE,
            "the configuration means attention in both directions",
        ),
        "library_refuses": (
            Outcome.NOT_APPLICABLE,
            "the library itself refuses this attention for this layer type",
        ),
    }
)
"""Outcome and sentence by reason code."""


class FastPath(Enum):
    """How attention is computed with that mask."""

    CAUSAL = "is_causal"
    DENSE = "dense mask"
    FLASH = "flash"
    UNPADDED = "flash, unpadded"
    BLOCKS = "block sparse"
    NONE = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskRow:
    """One mask, judged."""

    fact: MaskFact
    reason: str
    path: FastPath

    @property
    def outcome(self) -> Outcome:
        """What its reason means."""
        return REASONS[self.reason][0]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskReading:
    """All masks, judged.

    Attributes:
        rows: one a mask.
        planted: reason given to each planted fault, by fault.
    """

    rows: tuple[MaskRow, ...]
    planted: Mapping[str, str]

    @property
    def instrument_sees(self) -> bool:
        """Whether every planted fault was named as what it is."""
        return bool(self.planted) and all(k == v for k, v in self.planted.items())

    @property
    def outcome(self) -> Outcome:
        """The worst of all rows; UNKNOWN from an instrument that does not see."""
        if not self.instrument_sees:
            return Outcome.UNKNOWN
        return worst(row.outcome for row in self.rows)

    def worst_row(self) -> MaskRow | None:
        """The row that decides the outcome."""
        decisive = worst(row.outcome for row in self.rows)
        return next((row for row in self.rows if row.outcome is decisive), None)


def read_masks(report: MaskReport, attention: Sequence[str] = ()) -> MaskReading:
    """Judge every mask of a report, or those of some implementations."""
    facts = [f for f in report.masks if not attention or f.attention in attention]
    return MaskReading(
        rows=tuple(judge_mask(fact, report) for fact in facts),
        planted={fact.fault: judge_mask(fact, report).reason for fact in report.planted},
    )


def attention_judged(report: MaskReport, named: str = "") -> str:
    """The implementation a run will use: as named, as configured, else the library's default."""
    return named or report.requested or "sdpa"


def judge_mask(fact: MaskFact, report: MaskReport) -> MaskRow:
    """Judge one mask; that of a kernel of the hub as what it stands for."""
    if fact.attention in report.kernels:
        known = report.kernels[fact.attention]
        if known is None:
            unknown = replace(fact, kind=MaskKind.OTHER, max_allowed=None, saturating_row=None)
            return MaskRow(fact=unknown, reason="hub_kernel", path=FastPath.NONE)
        return replace(judge_mask(replace(fact, attention=known), report), fact=fact)
    return MaskRow(fact=fact, reason=_reason(fact, report), path=_path(fact, report))


def _reason(fact: MaskFact, report: MaskReport) -> str:
    if fact.attention not in report.registered:
        return "unregistered"
    if not fact.fault and not report.causal:
        return "not_causal_by_design"
    refused = fact.kind is MaskKind.RAISED or fact.attention in report.unsupported
    if refused and not fact.fault:
        return "library_refuses"
    found = _of_counts(fact) if fact.max_allowed is not None else _of_no_tensor(fact, report)
    unseen = not fact.fault and not _layers(report, fact.layer_type)
    return "layers_unseen" if found == "right" and unseen else found


def _of_no_tensor(fact: MaskFact, report: MaskReport) -> str:
    """What no mask means, or the padding mask alone: each implementation's own affair."""
    if fact.attention.startswith(FLASH) and fact.kind in (MaskKind.NONE, MaskKind.TWO_D):
        return _of_flash(fact, report)
    if fact.kind is MaskKind.NONE and fact.attention == "sdpa":
        return _of_causal_flag(fact, report)
    eager = fact.kind is MaskKind.NONE and fact.attention == "eager"
    return "not_causal" if eager else "unknown_mask"


def _of_counts(fact: MaskFact) -> str:
    """Read what was counted, the most telling first."""
    if fact.future:
        return "not_causal"
    if fact.documents:
        return "documents_mixed"
    if fact.padding:
        return "padding_attended"
    if not fact.beyond and not fact.missing:
        return "right"
    if fact.size is None:
        return "positions_missing"
    return _of_window(fact.max_allowed, fact.size, fact.width)


def _of_window(seen: int | None, size: int, width: int) -> str:
    """What a window of ``seen`` positions is, where ``size`` is configured."""
    if seen == size:
        return "window_differs"
    if seen is not None and abs(seen - size) == 1:
        return "window_off_by_one"
    return "window_missing" if seen is None or seen >= width else "window_differs"


def _of_flash(fact: MaskFact, report: MaskReport) -> str:
    """Flash attention gets padding as it is, window and documents by keyword."""
    if fact.case in PADDED and (fact.kind is MaskKind.NONE or not fact.kept):
        return "padding_attended"
    if fact.case is MaskCase.PACKED and report.packed_seen_by_flash is not True:
        seen = report.packed_seen_by_flash
        return "packing_unseen" if seen is None else "documents_mixed"
    if fact.size is None:
        return "right"
    if fact.layer_type != SLIDING:
        return "window_missing"
    return _of_keyword(fact, report)


def _of_keyword(fact: MaskFact, report: MaskReport) -> str:
    """The window as the layers hand it on, and as flash attention's own keywords have it."""
    layers, meant = _layers(report, fact.layer_type), report.configured.get(fact.layer_type) or 0
    if not layers or fact.size is None:
        return "layers_unseen"
    for layer in layers:
        if layer.window is None:
            return "window_not_passed"
        if layer.window != meant:
            return "window_off_by_one" if abs(layer.window - meant) == 1 else "window_differs"
    if fact.width <= fact.size or report.flash_window == fact.size:
        return "right"  # a row no wider than its window needs no keyword
    if report.flash_window is None:
        return "layers_unseen"
    return _of_window(report.flash_window, fact.size, fact.width)


def _of_causal_flag(fact: MaskFact, report: MaskReport) -> str:
    """No mask under sdpa: plain causal attention, if the flag is set, and nothing else."""
    layers = _layers(report, fact.layer_type)
    if not layers:
        return "layers_unseen"
    calls = [layer.sdpa.get("without_mask") for layer in layers]
    if any(call is None or call.raised for call in calls):
        return "layers_unseen"
    if not all(call is not None and call.is_causal for call in calls):
        return "not_causal"
    if fact.case is MaskCase.LEFT_PAD:
        return "padding_attended"
    if fact.case is MaskCase.PACKED:
        return "documents_mixed"
    return "window_missing" if fact.size is not None and fact.width > fact.size else "right"


def _layers(report: MaskReport, layer_type: str) -> list[LayerFact]:
    """Layers of a type whose attention was reached."""
    found = report.layers or ()
    return [one for one in found if one.type == layer_type and one.mask_function is not None]


def _path(fact: MaskFact, report: MaskReport) -> FastPath:
    if fact.kind is MaskKind.BLOCK:
        return FastPath.BLOCKS
    if fact.kind is MaskKind.TENSOR:
        return FastPath.DENSE
    if fact.attention not in report.registered:
        return FastPath.NONE
    if fact.attention.startswith(FLASH):
        return FastPath.UNPADDED if fact.kind is MaskKind.TWO_D else FastPath.FLASH
    causal = fact.kind is MaskKind.NONE and fact.attention == "sdpa"
    return FastPath.CAUSAL if causal else FastPath.NONE


def mask_notes(report: MaskReport) -> Iterator[tuple[str, str]]:
    """What costs time without being wrong, and what was not looked at: code and sentence."""
    cliff = {fact.width: fact for fact in report.cliff}
    if len(cliff) == 2:
        below, at = sorted(cliff)
        if cliff[below].kind is MaskKind.NONE and cliff[at].kind is MaskKind.TENSOR:
            said = f"under sdpa a padded width of {at:,} (the window) takes a dense mask"
            known = report.causal and cliff[at].layer_type not in report.not_judged
            plain = " although it is plain causal" if known else ""
            yield "width_cliff", f"{said}{plain}; {below:,} takes none and keeps the fast path"
    copied = [one for one in report.layers or () if _copies(one)]
    if copied:
        one = copied[0]
        said = f"under a mask sdpa copies keys and values of {one.kv_heads} heads to {one.heads}"
        seen = len(report.layers or ())
        yield "gqa_expanded", f"{said}, in {len(copied)} of {seen} layers seen; without one not"
    for kind, size in report.probed.items():
        meant = report.configured.get(kind)
        if meant is not None and size != meant:
            said = f"{kind}: probed with {size:,} in place of {meant:,}, whose mask would not fit"
            yield "window_scaled", f"{said}; the definition is the same"
    if report.layers is None:
        yield "layers_unseen", f"the model cannot be built here: {report.layers_why}"
    for kind, function in report.not_judged.items():
        why = f"its mask comes from {function}" if function else "it takes no attention mask"
        yield "not_judged", f"{kind}: {why}, which has no definition here"


def _copies(layer: LayerFact) -> bool:
    without, masked = layer.sdpa.get("without_mask"), layer.sdpa.get("with_mask")
    if without is None or masked is None or without.raised or masked.raised:
        return False
    return without.kv_heads == layer.kv_heads < layer.heads == masked.kv_heads
