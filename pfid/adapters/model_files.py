"""The files of a model: configuration, index and headers read, weights never."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pfid.formats.model_config.fields import ModelConfigError, parsed
from pfid.formats.safetensors import (
    LENGTH_BYTES,
    Index,
    SafetensorsError,
    header_length,
    is_inside,
    pointer_size,
    read_header,
    read_index,
)
from pfid.formats.untrusted import printable
from pfid.formats.weights import Shard

JSON_MAX_BYTES: Final = 256 << 20
POINTER_MAX_BYTES: Final = 1024
SHARDS_MAX: Final = 4096
NAME_MAX_CHARS: Final = 120
INDEXES: Final = ("model.safetensors.index.json", "consolidated.safetensors.index.json")
OLD_INDEX: Final = "pytorch_model.bin.index.json"
CONFIG, PARAMS, ADAPTER = "config.json", "params.json", "adapter_config.json"
QUANTISED: Final = "hf_quant_config.json"
"""Where ModelOpt writes the format of the weights, beside a configuration that says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """What lies there.

    Attributes:
        name: of folder or file; shown.
        config: of ``config.json``, or a file that is like it; None without one.
        quantised: of ``hf_quant_config.json``, or a file that is like it; None without one.
        params: of ``params.json``, or a file that is like it; None without one.
        config_name: of the file that ``config`` stands in.
        params_name: of the file that ``params`` stands in.
        index: of the shards.
        shards: every weight file that counts, each once.
        adapter: whether it is an adapter and no model.
        problems: what cannot be read, each with its code.
    """

    name: str
    config: dict[str, Any] | None = None
    params: dict[str, Any] | None = None
    quantised: dict[str, Any] | None = None
    config_name: str = CONFIG
    params_name: str = PARAMS
    index: Index | None = None
    shards: tuple[Shard, ...] = ()
    adapter: bool = False
    problems: tuple[tuple[str, str], ...] = ()


class _Found:
    """Gathers while looking."""

    def __init__(self) -> None:
        self.config: dict[str, Any] | None = None
        self.params: dict[str, Any] | None = None
        self.quantised: dict[str, Any] | None = None
        self.config_name, self.params_name = CONFIG, PARAMS
        self.index: Index | None = None
        self.index_at = Path()
        self.weights: list[Path] = []
        self.problems: list[tuple[str, str]] = []
        self.adapter = False

    def json(self, path: Path) -> None:
        """Read a JSON file and take it for what it is by its content."""
        try:
            raw = parsed(_read(path, JSON_MAX_BYTES), _shown(path))
            self._take(raw, path)
        except ModelConfigError as error:
            self.problems.append((error.reason, str(error)))
        except SafetensorsError as error:
            self.problems.append(("index_unreadable", f"{_shown(path)}: {error}"))
        except OSError as error:
            self.problems.append(("config_unreadable", f"{_shown(path)}: {_why(error)}"))

    def _take(self, raw: dict[str, Any], path: Path) -> None:
        if "weight_map" in raw:
            self.index, self.index_at = read_index(raw), path.parent
        elif "n_layers" in raw and "dim" in raw and "model_type" not in raw:
            self.params, self.params_name = raw, _shown(path)
        elif path.name == QUANTISED or {"producer", "quantization"} <= raw.keys():
            self.quantised = raw
        else:
            self.config, self.config_name = raw, _shown(path)


def read_model(paths: Sequence[Path]) -> ModelFiles:
    """Read a folder, or the files that are named."""
    found = _Found()
    for path in paths:
        if path.is_dir():
            _folder(path, found)
        elif path.suffix == ".safetensors":
            found.weights.append(path)
        else:
            found.json(path)
    shards = tuple(_shards(found))
    first = Path(os.path.abspath(paths[0])) if paths else Path("model")  # noqa: PTH100
    return ModelFiles(
        name=first.name or "model",
        config=found.config,
        params=found.params,
        quantised=found.quantised,
        config_name=found.config_name,
        params_name=found.params_name,
        index=found.index,
        shards=shards,
        adapter=found.adapter,
        problems=tuple(found.problems),
    )


def _folder(folder: Path, found: _Found) -> None:
    for name in (CONFIG, PARAMS, QUANTISED):
        if _there(folder / name):
            found.json(folder / name)
    found.adapter = _there(folder / ADAPTER) and found.config is None
    for name in (*INDEXES, OLD_INDEX):
        if found.index is None and _there(folder / name):
            found.json(folder / name)
    if found.index is None:
        found.weights += _one_set(folder, found)


def _one_set(folder: Path, found: _Found) -> list[Path]:
    """Weights without an index: of two sets of the same weights only one counts."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".safetensors"))  # noqa: PTH208
    except OSError as error:
        found.problems.append(("config_unreadable", f"{folder.name}: {_why(error)}"))
        return []
    plain = [name for name in names if not name.startswith(("consolidated", "adapter_"))]
    return [folder / name for name in (plain or names)[:SHARDS_MAX]]


def _shards(found: _Found) -> Iterator[Shard]:
    if found.index is None:
        for path in found.weights:
            yield _shard(path, path.name)
        return
    given = {path.name: path for path in found.weights}
    names = sorted(set(found.index.shards.values()))
    if len(names) > SHARDS_MAX:
        found.problems.append(("index_unreadable", f"the index names {len(names)} shards"))
    for name in names[:SHARDS_MAX]:
        if not is_inside(name):
            yield Shard(name=name, problem="outside")
        else:
            yield _shard(given.get(name, found.index_at / name), name)


def _shard(path: Path, name: str) -> Shard:
    """Read a header; a link is followed, since every download cache is made of them."""
    try:
        with _opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= POINTER_MAX_BYTES:
                begin = file.read(POINTER_MAX_BYTES)
                pointer = pointer_size(begin)
                if pointer is not None:
                    return Shard(name=name, size_bytes=size, pointer_bytes=pointer)
                file.seek(0)
            if not name.endswith(".safetensors"):
                return Shard(name=name, size_bytes=size, problem="another format, not read")
            length = header_length(file.read(LENGTH_BYTES))
            text = file.read(length)
        tensors = read_header(text, size - LENGTH_BYTES - length)
    except FileNotFoundError:
        return Shard(name=name, problem="missing")
    except SafetensorsError as error:
        return Shard(name=name, problem=str(error))
    except OSError as error:
        return Shard(name=name, problem=_why(error))
    return Shard(
        name=name,
        size_bytes=size,
        tensors=tensors,
        path=str(path),
        data_at=LENGTH_BYTES + length,
    )


def _there(path: Path) -> bool:
    return os.path.lexists(path)


def _read(path: Path, limit: int) -> bytes:
    with _opened(path) as file:
        if os.fstat(file.fileno()).st_size > limit:
            raise OSError(f"larger than {limit} bytes")
        return bytes(file.read(limit))


def _opened(path: Path) -> Any:
    """Open a regular file and nothing that could block: no pipe, no device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is no regular file")
    return os.fdopen(descriptor, "rb")


def _shown(path: Path) -> str:
    return printable(path.name, NAME_MAX_CHARS)


def _why(error: OSError) -> str:
    return error.strerror or str(error)
