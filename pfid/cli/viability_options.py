"""Options that say how a base model would be trained."""

import re
from collections.abc import Callable
from typing import Any, Final

import click

from pfid.cli.finite import WholeRange
from pfid.domain.training_plan import AttentionKind, Loss, Method, Optimizer, Packing, Plan

_SIZE: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(?:([KMGT])(i?)B?|B)?", re.IGNORECASE)
_POWER: Final = {"K": 1, "M": 2, "G": 3, "T": 4}
LENGTH_MAX: Final = 1 << 24


def _size(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """A size in bytes: ``96GiB`` and ``96G`` are binary, ``96GB`` is decimal."""
    if value is None:
        return None
    found = _SIZE.fullmatch(value.strip())
    size = 0
    if found is not None and not found[2] and value.strip().replace(".", "").isdigit():
        raise click.BadParameter(f"{value!r} has no unit; write {value.strip()}GiB")
    if found is not None:
        decimal = bool(found[2]) and not found[3] and value.strip().upper().endswith("B")
        base = 1000 if decimal else 1024
        size = int(float(found[1]) * base ** _POWER.get((found[2] or "").upper(), 0))
    if size < 1:
        raise click.BadParameter(f"{value!r} is no size like 96GiB")
    return size


def _words(kind: Any) -> click.Choice[str]:
    return click.Choice([word.value for word in kind])


_OPTIONS: Final = (
    click.option(
        "--gpu-memory", callback=_size, required=True, metavar="SIZE", help="Of one card, as 96GiB."
    ),
    click.option(
        "--method", type=_words(Method), default="lora", show_default=True, help="What is trained."
    ),
    click.option(
        "--seq",
        type=WholeRange(1, LENGTH_MAX),
        default=4096,
        show_default=True,
        metavar="N",
        help="Tokens of a row.",
    ),
    click.option(
        "--micro-batch",
        type=WholeRange(1, LENGTH_MAX),
        default=1,
        show_default=True,
        metavar="N",
        help="Rows of a forward pass.",
    ),
    click.option(
        "--checkpointing/--no-checkpointing",
        default=True,
        show_default=True,
        help="Whether layers are computed again in backward.",
    ),
    click.option(
        "--loss",
        type=_words(Loss),
        default="chunked",
        show_default=True,
        help="Whether the logits of a whole micro-batch stand in memory at once.",
    ),
    click.option(
        "--loss-chunk",
        type=WholeRange(1, LENGTH_MAX),
        default=1024,
        show_default=True,
        metavar="N",
        help="Positions whose logits stand at once in a chunked loss.",
    ),
    click.option(
        "--optimizer",
        type=_words(Optimizer),
        default="adamw",
        show_default=True,
        help="Its states, and what its step needs.",
    ),
    click.option("--momentum", is_flag=True, help="SGD keeps a momentum."),
    click.option(
        "--attention",
        type=_words(AttentionKind),
        default="sdpa",
        show_default=True,
        help="Implementation that attends.",
    ),
    click.option(
        "--rank",
        type=WholeRange(1, 65536),
        default=16,
        show_default=True,
        metavar="N",
        help="Of adapters.",
    ),
    click.option(
        "--targets",
        default="",
        metavar="NAMES",
        help="Modules that get adapters: all-linear, or names with commas.",
    ),
    click.option(
        "--packing",
        type=_words(Packing),
        default="none",
        show_default=True,
        help="Whether documents share a row, and whether their boundaries are handed on.",
    ),
    click.option(
        "--padded/--unpadded",
        default=None,
        help="Whether rows are filled up to one length. [default: several rows are]",
    ),
    click.option(
        "--float32/--bfloat16",
        default=None,
        help="How trained parameters are kept and used; adapters else in float32, as PEFT does.",
    ),
    click.option("--accumulate", is_flag=True, help="Gradients outlive a micro-batch."),
    click.option(
        "--measured-peak",
        callback=_size,
        metavar="SIZE",
        help="A peak that was measured, to calibrate by.",
    ),
    click.option(
        "--measured-at",
        metavar="SEQ,MICRO",
        help="Lengths it was measured at; else those of the plan.",
    ),
)
_AT: Final = re.compile(r"\s*(\d{1,8})\s*,\s*(\d{1,8})\s*")


def plan_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command every option of a plan."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def plan_of(given: dict[str, Any]) -> Plan:
    """The plan that the options describe."""
    sequence, micro = _measured_at(given["measured_at"], given["measured_peak"])
    return Plan(
        gpu_memory_bytes=given["gpu_memory"],
        method=Method(given["method"]),
        sequence=given["seq"],
        micro_batch=given["micro_batch"],
        checkpointing=given["checkpointing"],
        loss=Loss(given["loss"]),
        loss_chunk=given["loss_chunk"],
        optimizer=Optimizer(given["optimizer"]),
        momentum=given["momentum"],
        attention=AttentionKind(given["attention"]),
        rank=given["rank"],
        targets=given["targets"].strip()[:500],
        packing=Packing(given["packing"]),
        padded=given["padded"],
        float32=given["float32"],
        accumulates=given["accumulate"],
        measured_bytes=given["measured_peak"],
        measured_sequence=sequence,
        measured_micro_batch=micro,
    )


def _measured_at(text: str | None, peak: int | None) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    found = _AT.fullmatch(text)
    if found is None or not int(found[1]) or not int(found[2]):
        raise click.BadParameter(
            f"{text!r} is no SEQ,MICRO like 4096,1", param_hint="--measured-at"
        )
    if peak is None:
        raise click.UsageError("--measured-at needs --measured-peak")
    return int(found[1]), int(found[2])
