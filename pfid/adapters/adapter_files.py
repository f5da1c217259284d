"""The names of an adapter's weights, out of its header; no weight is read."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.formats.safetensors import LENGTH_BYTES, SafetensorsError, header_length, read_header

NAME: Final = "adapter_model.safetensors"
OTHERS: Final = ("adapter_model.bin", "adapter_model.pt")
KEYS_MAX: Final = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterFiles:
    """An adapter on disk.

    Attributes:
        keys: names of its weights.
        problem: why they cannot be read: a code, "" where they can.
        detail: words about that.
    """

    keys: tuple[str, ...] = ()
    problem: str = ""
    detail: str = ""


def read_adapter(place: Path) -> AdapterFiles:
    """Read an adapter: its folder, or its file."""
    path = place / NAME if place.is_dir() else place
    try:
        keys = _keys(path)
    except FileNotFoundError:
        other = next((name for name in OTHERS if (place / name).exists()), "")
        if other:
            return AdapterFiles(
                problem="adapter_unreadable", detail=f"{other} is pickled and is not loaded"
            )
        return AdapterFiles(problem="adapter_missing", detail=f"there is no {NAME}")
    except SafetensorsError as error:
        return AdapterFiles(problem="adapter_unreadable", detail=f"{path.name}: {error}")
    except OSError as error:
        why = error.strerror or str(error)
        return AdapterFiles(problem="adapter_unreadable", detail=f"{path.name}: {why}")
    if not keys:
        return AdapterFiles(problem="adapter_unreadable", detail=f"{path.name} holds no weights")
    return AdapterFiles(keys=keys)


def _keys(path: Path) -> tuple[str, ...]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        length = header_length(file.read(LENGTH_BYTES))
        tensors = read_header(file.read(length), size - LENGTH_BYTES - length)
    if len(tensors) > KEYS_MAX:
        raise OSError(f"it names {len(tensors)} weights")
    return tuple(tensor.name for tensor in tensors)
