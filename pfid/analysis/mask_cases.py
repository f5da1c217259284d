"""Mask reports with a known answer: a model with windows as transformers 5.24 makes its masks.

Figures are those the probe printed for a window of 1,024 at 1,280 tokens; each fault changes one
thing that has gone wrong somewhere.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from pfid.domain.masks import LayerFact, MaskCase, MaskFact, MaskKind, MaskReport, SdpaCall

WINDOW: Final = 1_024
WIDTH: Final = 1_280
SLIDING: Final = "sliding_attention"
FULL: Final = "full_attention"
REGISTERED: Final = ("eager", "flash_attention_2", "flex_attention", "sdpa")


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskReportCase:
    """A report, the implementation judged, and the reason code that must come out."""

    name: str
    reason: str
    report: MaskReport
    attention: str = ""


def tensor(layer_type: str, case: MaskCase, attention: str = "sdpa", **changed: Any) -> MaskFact:
    """A mask that is as it should be, but for what is changed."""
    first = WIDTH - WIDTH // 10 if case is MaskCase.PACKED else WIDTH
    most = WINDOW if layer_type == SLIDING else first
    known: dict[str, Any] = {
        "attention": attention,
        "case": case,
        "layer_type": layer_type,
        "kind": MaskKind.TENSOR,
        "width": WIDTH,
        "size": WINDOW if layer_type == SLIDING else None,
        "max_allowed": most,
        "saturating_row": most - 1,
    }
    return MaskFact(**{**known, **changed})


def bare(layer_type: str, case: MaskCase, attention: str, **changed: Any) -> MaskFact:
    """No mask, or the padding mask alone."""
    two_d = attention.startswith("flash") and case in (MaskCase.RIGHT_PAD, MaskCase.LEFT_PAD)
    shape = MaskKind.TWO_D if two_d else MaskKind.NONE
    nothing = {"kind": shape, "max_allowed": None, "saturating_row": None}
    return tensor(layer_type, case, attention, **{**nothing, **changed})


def healthy() -> MaskReport:
    """A model of windowed and full layers whose masks are right under sdpa, eager and flash."""
    fast = (MaskCase.NONE, MaskCase.ALL_ONES)
    masks = [
        *(tensor(SLIDING, case) for case in MaskCase),
        *(bare(FULL, c, "sdpa") if c in fast else tensor(FULL, c) for c in MaskCase),
        *(tensor(kind, case, "eager") for kind in (SLIDING, FULL) for case in MaskCase),
        *(bare(kind, case, "flash_attention_2") for kind in (SLIDING, FULL) for case in MaskCase),
    ]
    return MaskReport(
        transformers="5.24.0",
        torch="2.13.0",
        model_type="gemma3_text",
        requested=None,
        causal=True,
        registered=REGISTERED,
        unsupported=(),
        layer_types={SLIDING: 5, FULL: 1},
        configured={SLIDING: WINDOW},
        probed={SLIDING: WINDOW},
        width=WIDTH,
        layers=(*(layer(i, SLIDING) for i in range(5)), layer(5, FULL)),
        layers_why="",
        masks=tuple(masks),
        not_judged={},
        flash_window=WINDOW,
        packed_seen_by_flash=True,
        cliff=(
            bare(SLIDING, MaskCase.ALL_ONES, "sdpa", width=WINDOW - 1),
            tensor(SLIDING, MaskCase.ALL_ONES, width=WINDOW),
        ),
        planted=planted(),
    )


def planted() -> tuple[MaskFact, ...]:
    """The faults that the probe makes on purpose."""
    pad = MaskCase.RIGHT_PAD
    return (
        tensor(SLIDING, pad, beyond=256, max_allowed=WINDOW + 1, fault="window_off_by_one"),
        tensor(SLIDING, pad, future=766, fault="not_causal"),
        bare(SLIDING, pad, "pfid_unregistered", fault="unregistered"),
    )


def layer(index: int, kind: str, **changed: Any) -> LayerFact:
    """A layer as gemma's are: sixteen heads on eight."""
    window = kind == SLIDING
    known: dict[str, Any] = {
        "index": index,
        "type": kind,
        "mask_function": f"create_{'sliding_window_' if window else ''}causal_mask",
        "window": WINDOW if window else None,
        "window_passed": True,
        "heads": 16,
        "kv_heads": 8,
        "head_dim": 256,
        "sdpa": {
            "without_mask": SdpaCall(is_causal=True, kv_heads=8),
            "with_mask": SdpaCall(masked=True, kv_heads=16),
        },
    }
    return LayerFact(**{**known, **changed})


def with_mask(fact: MaskFact) -> MaskReport:
    """The healthy report, with one mask in the place of its like."""
    report = healthy()
    same = (fact.attention, fact.case, fact.layer_type)
    kept = [m for m in report.masks if (m.attention, m.case, m.layer_type) != same]
    return replace(report, masks=(fact, *kept))


def of_kernel(name: str, known: str | None) -> MaskReport:
    """The healthy report, of a model whose attention is a kernel of the hub."""
    report = healthy()
    flash = [one for one in report.masks if one.attention == "flash_attention_2"]
    masks = (*report.masks, *(replace(one, attention=name) for one in flash))
    return replace(report, requested=name, masks=masks, kernels={name: known})


def with_layers(**changed: Any) -> MaskReport:
    """The healthy report, with windowed layers that hand over something else."""
    report = healthy()
    layers = tuple(
        replace(one, **changed) if one.type == SLIDING else one for one in report.layers or ()
    )
    return replace(report, layers=layers)


def mask_cases() -> tuple[MaskReportCase, ...]:
    """Every reason code, from one change each."""
    return (*_right(), *_of_masks(), *_of_flash(), *_unknown())


def _right() -> tuple[MaskReportCase, ...]:
    flash = "flash_attention_2"
    narrow = bare(SLIDING, MaskCase.NONE, "sdpa", width=WINDOW)
    return (
        MaskReportCase(name="windows", reason="right", report=healthy()),
        MaskReportCase(name="flash", reason="right", report=healthy(), attention=flash),
        MaskReportCase(name="eager", reason="right", report=healthy(), attention="eager"),
        MaskReportCase(
            name="kernel that is flash",
            reason="right",
            report=of_kernel("kernels-community/flash-attn2", "flash_attention_2"),
        ),
        MaskReportCase(name="no wider than the window", reason="right", report=with_mask(narrow)),
        MaskReportCase(
            name="another one is wrong",
            reason="right",
            report=replace(healthy(), flash_window=WINDOW + 1),
        ),
    )


def _of_masks() -> tuple[MaskReportCase, ...]:
    pad, left, packed = MaskCase.RIGHT_PAD, MaskCase.LEFT_PAD, MaskCase.PACKED
    none = MaskCase.NONE
    faults = (
        ("future", "not_causal", tensor(FULL, pad, future=1)),
        ("wider", "window_off_by_one", tensor(SLIDING, pad, beyond=256, max_allowed=WINDOW + 1)),
        ("narrower", "window_off_by_one", tensor(SLIDING, pad, missing=256, max_allowed=1_023)),
        ("none at all", "window_missing", bare(SLIDING, none, "sdpa")),
        ("plain causal", "window_missing", tensor(SLIDING, pad, beyond=9, max_allowed=WIDTH)),
        ("half", "window_differs", tensor(SLIDING, pad, missing=9, max_allowed=512)),
        ("padding", "padding_attended", tensor(FULL, left, padding=640)),
        ("padding lost", "padding_attended", bare(FULL, left, "sdpa")),
        ("documents", "documents_mixed", tensor(FULL, packed, documents=73)),
        ("documents lost", "documents_mixed", bare(FULL, packed, "sdpa")),
        ("hole", "positions_missing", tensor(FULL, pad, missing=1)),
    )
    return tuple(MaskReportCase(name=n, reason=r, report=with_mask(f)) for n, r, f in faults)


def _of_flash() -> tuple[MaskReportCase, ...]:
    flash = "flash_attention_2"
    pad = bare(FULL, MaskCase.RIGHT_PAD, flash, kind=MaskKind.NONE)
    mixed = replace(healthy(), packed_seen_by_flash=False)
    faults = (
        ("keyword one wider", "window_off_by_one", replace(healthy(), flash_window=WINDOW + 1)),
        ("keyword not passed", "window_not_passed", with_layers(window=None)),
        ("keyword one less", "window_off_by_one", with_layers(window=WINDOW - 1)),
        ("keyword of another", "window_differs", with_layers(window=4_096)),
        ("flash loses padding", "padding_attended", with_mask(pad)),
        ("flash mixes documents", "documents_mixed", mixed),
    )
    return tuple(
        MaskReportCase(name=n, reason=r, report=one, attention=flash) for n, r, one in faults
    )


def _unknown() -> tuple[MaskReportCase, ...]:
    flash = "flash_attention_2"
    other = bare(FULL, MaskCase.NONE, "sdpa", kind=MaskKind.OTHER)
    nameless = replace(
        healthy(), masks=(bare(FULL, MaskCase.RIGHT_PAD, "my_attention"),), requested="my_attention"
    )
    seen = replace(healthy(), packed_seen_by_flash=None)
    return (
        MaskReportCase(name="no such name", reason="unregistered", report=nameless),
        MaskReportCase(name="kernel", reason="hub_kernel", report=of_kernel("me/mine", None)),
        MaskReportCase(
            name="flag not set",
            reason="not_causal",
            report=replace(healthy(), layers=(layer(5, FULL, sdpa=_flagless()),)),
        ),
        MaskReportCase(
            name="layers", reason="layers_unseen", report=replace(healthy(), layers=None)
        ),
        MaskReportCase(
            name="layers, with a mask",
            reason="layers_unseen",
            report=replace(healthy(), layers=None),
            attention="eager",
        ),
        MaskReportCase(name="packing", reason="packing_unseen", report=seen, attention=flash),
        MaskReportCase(name="kind", reason="unknown_mask", report=with_mask(other)),
        MaskReportCase(
            name="both ways",
            reason="not_causal_by_design",
            report=replace(healthy(), causal=False),
        ),
        MaskReportCase(
            name="refused",
            reason="library_refuses",
            report=replace(healthy(), unsupported=("sdpa",)),
        ),
    )


def _flagless() -> dict[str, SdpaCall]:
    return {"without_mask": SdpaCall(kv_heads=8), "with_mask": SdpaCall(masked=True, kv_heads=16)}
