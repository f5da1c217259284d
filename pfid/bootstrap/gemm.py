"""Joins the GEMM probe to the GPUs: one idle card after the other, loaded and read meanwhile."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pfid.adapters.control_client import ControlClient
from pfid.adapters.gpu_references import keep_references
from pfid.adapters.probe_process import ProbeError, ProbeProcess
from pfid.adapters.process_identity import machine_id
from pfid.analysis.gemm import Block, NotMeasuredError, reference_of, why_not_idle, why_to_stop
from pfid.bootstrap.gpu_look import OwnLook
from pfid.bootstrap.sources import Source, living
from pfid.config.paths import user_state_dir
from pfid.domain.errors import PfidError
from pfid.domain.gpu import GpuSample
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.gpu_view import GpuView
from pfid.wire.control import Done, KeepReferences

SCRIPT: Final = Path(__file__).parents[1] / "probes" / "gemm.py"
SIZE: Final = 8_192
SECONDS: Final = 12.0
IDLE_S: Final = 3.0
"""A card is looked at for so long before it is called idle."""
TICK_S: Final = 0.5
FIRST_WORD_S: Final = 180.0
"""Importing torch from a cold network disk takes long."""
SILENT_S: Final = 60.0
REFUSALS: Final = {
    "no_torch": "that interpreter has no torch; name the training interpreter with --python",
    "no_cuda": "torch in that interpreter sees no CUDA device",
    "not_one_gpu": "torch sees another number of GPUs than the one it was given",
    "no_bf16": "this card has no bf16 tensor cores",
    "no_memory": "there is too little free memory on it",
    "cuda_error": "CUDA failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What was seen while a card worked: timed blocks, and readings that lie within them."""

    blocks: tuple[Block, ...]
    samples: tuple[GpuSample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One card: its reference, or why there is none."""

    gpu: GpuView
    reference: GpuReference | None = None
    why: str = ""


def measure(own: OwnLook, gpu: GpuView, python: str, driver: str) -> Measured:
    """Measure one card, if it idles."""
    busy = why_not_idle(gpu)
    if busy:
        return Measured(gpu=gpu, why=busy)
    try:
        seen = load(own, gpu.facts.uuid, python)
        reference = reference_of(seen.blocks, SIZE, seen.samples, driver)
    except (NotMeasuredError, ProbeError) as error:
        return Measured(gpu=gpu, why=str(error))
    return Measured(gpu=gpu, reference=reference)


def load(
    own: OwnLook, uuid: str, python: str, work: str = "gemm", seconds: float = SECONDS
) -> Loaded:
    """Have a card work for a while, and read it.

    Raises:
        NotMeasuredError: if the probe refuses, or the card may not be loaded any longer.
        ProbeError: if it cannot be started, falls silent or dies.
    """
    arguments = ("--seconds", f"{seconds:g}", "--size", str(SIZE), "--work", work)
    environ = {**os.environ, "CUDA_VISIBLE_DEVICES": uuid}
    blocks: list[tuple[float, Block]] = []
    with ProbeProcess(python, SCRIPT, arguments, environ) as probe:
        until_s = time.monotonic() + FIRST_WORD_S
        while True:
            why = why_to_stop(own.look(TICK_S), uuid)
            if why:
                raise NotMeasuredError(why)
            for answer in probe.answers():
                until_s = time.monotonic() + SILENT_S
                block = _block(answer.said, uuid, probe)
                if block is not None:
                    blocks.append((answer.at_s, block))
                elif answer.said and answer.said.get("event") == "done":
                    own.look(TICK_S)  # the last readings are on their way
                    return _loaded(own, uuid, blocks)
            if time.monotonic() > until_s:
                raise ProbeError("the probe has fallen silent")


def _block(answer: dict[str, Any] | None, uuid: str, probe: ProbeProcess) -> Block | None:
    """Take one line; None for one that is no block."""
    if answer is None:
        said = probe.last_words().splitlines()
        raise ProbeError(f"the probe ended without an answer: {said[-1] if said else 'no word'}")
    event = answer.get("event")
    if event == "refused":
        reason = str(answer.get("reason"))
        raise NotMeasuredError(REFUSALS.get(reason, reason))
    seen = str(answer.get("uuid") or "")
    if event == "ready" and seen and seen not in uuid:
        raise NotMeasuredError("torch was given another card than was asked for")
    if event != "block":
        return None
    return Block(count=int(answer["count"]), seconds=float(answer["seconds"]))


def _loaded(own: OwnLook, uuid: str, blocks: list[tuple[float, Block]]) -> Loaded:
    """Blocks, and the readings whose whole window lies between their first and last."""
    began_s = blocks[0][0] - blocks[0][1].seconds if blocks else 0.0
    ended_s = blocks[-1][0] if blocks else 0.0
    gpu = own.box.gpus.get(uuid)
    samples = tuple(
        s
        for s in (gpu.samples if gpu else ())
        if s.at_s <= ended_s and s.at_s - (s.window_s or TICK_S) >= began_s
    )
    return Loaded(blocks=tuple(block for _, block in blocks), samples=samples)


def keep(references: Sequence[GpuReference], sources: tuple[Source, ...]) -> tuple[list[str], str]:
    """Give references to whoever judges by them.

    Returns:
        Who keeps them (``user``: this user's own engines to come; ``daemon``, ``engine``), and why
        somebody does not, "" if nobody refused.
    """
    keep_references(user_state_dir(os.environ, machine_id()), references)
    kept, refused = ["user"], ""
    for source in living(sources):
        try:
            with ControlClient(source.place) as client:
                client.ask(KeepReferences(references=list(references)), Done)
        except PfidError as error:
            refused = f"the {source.kind.value} does not keep them: {error}"
        else:
            kept.append(source.kind.value)
    return kept, refused
