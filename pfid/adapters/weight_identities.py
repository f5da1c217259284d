"""Taking a checkpoint's identity, and the record of it beside what was made from it."""

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pfid import __version__
from pfid.adapters.weight_files import WeightFiles, WeightsError
from pfid.analysis.weight_sample import blocks, tensor_print
from pfid.domain.errors import StateError
from pfid.domain.weight_identity import TensorPrint, WeightIdentity
from pfid.formats.safetensors import Tensor
from pfid.wire.weight_identity import MAX_BYTES, decode_identity, encode_identity

SAY_EVERY_S: Final = 5.0


class _Progress:
    """Says now and then how far a long reading is."""

    def __init__(self, total_bytes: int, say: Callable[[str], None]) -> None:
        self._total_bytes, self._say = total_bytes, say
        self._read_bytes, self._said_at_s = 0, time.monotonic()

    def __call__(self, size_bytes: int) -> None:
        self._read_bytes += size_bytes
        if time.monotonic() - self._said_at_s >= SAY_EVERY_S:
            self._said_at_s = time.monotonic()
            share = self._read_bytes / (self._total_bytes or 1)
            self._say(f"reading weights: {share:.0%} of {self._total_bytes / 1e9:.1f} GB")


def identity_of(
    paths: Sequence[Path], *, full: bool = False, say: Callable[[str], None] = lambda _: None
) -> WeightIdentity:
    """Take the identity of a checkpoint that can be read whole.

    Args:
        paths: its folder, or files of it.
        full: whether every byte is read, and not a sample of each tensor.
        say: told how far a long reading is.

    Raises:
        WeightsError: if anything of it is missing or cannot be read.
    """
    with WeightFiles(paths) as files:
        if files.problems:
            raise WeightsError(f"{files.name}: {'; '.join(files.problems[:3])}")
        return identity_in(files, full=full, say=say)


def identity_in(
    files: WeightFiles, *, full: bool = False, say: Callable[[str], None] = lambda _: None
) -> WeightIdentity:
    """Take the identity of what can be read of an open checkpoint.

    Raises:
        WeightsError: if a tensor is cut off.
    """
    tensors = files.tensors
    told = _Progress(sum(t.size_bytes for t in tensors), say)
    prints = {t.name: _print(files, t, told if full else None) for t in tensors}
    size = sum(t.size_bytes for t in tensors)
    return WeightIdentity(
        name=files.name,
        tensors=prints,
        size_bytes=size,
        read_bytes=size if full else sum(map(sampled_bytes, tensors)),
        full=full,
        digest=_digest(prints),
        index_sha256=files.index_sha256,
        at_s=time.time(),
        pfid=__version__,
    )


def _print(files: WeightFiles, tensor: Tensor, told: Callable[[int], None] | None) -> TensorPrint:
    raw = sampled(files, tensor)
    whole = "" if told is None else files.digest(tensor.name, told)
    return tensor_print(tensor.dtype, tensor.shape, raw, whole)


def sampled(files: WeightFiles, tensor: Tensor) -> bytes:
    """The sampled bytes of one tensor.

    Raises:
        WeightsError: if it is cut off.
    """
    return files.runs(tensor.name, *runs_of(tensor))


def sampled_bytes(tensor: Tensor) -> int:
    """How many bytes of a tensor a sample is."""
    runs, item_bytes = runs_of(tensor)
    return sum(count for _, count in runs) * item_bytes


def runs_of(tensor: Tensor) -> tuple[tuple[tuple[int, int], ...], int]:
    """Elements to be read; numbers of less than a byte are read as bytes."""
    if tensor.elements and tensor.size_bytes % tensor.elements == 0:
        return blocks(tensor.shape), tensor.size_bytes // tensor.elements
    return blocks((tensor.size_bytes,)), 1


def _digest(prints: Mapping[str, TensorPrint]) -> str:
    whole = hashlib.sha256()
    for name in sorted(prints):
        one = prints[name]
        shape = "x".join(map(str, one.shape))
        line = f"{name}\0{one.dtype}\0{shape}\0{one.sample}\0{one.whole}\n"
        whole.update(line.encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


def write_identity(file: Path, identity: WeightIdentity) -> None:
    """Write a record whole or not at all.

    Raises:
        StateError: if it cannot be written.
    """
    draft = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(encode_identity(identity))
        draft.replace(file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StateError(f"cannot write {file}: {error.strerror}") from error


def read_identity(file: Path) -> WeightIdentity | None:
    """Read a record; None if there is none.

    Raises:
        StateError: if it cannot be read, or is none.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            body = opened.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"cannot read {file}: {error.strerror}") from error
    if len(body) > MAX_BYTES:
        raise StateError(f"{file} has over {MAX_BYTES} bytes; that is no record of a base")
    return decode_identity(body, str(file))
