"""The tensors of a checkpoint on disk: found by index and headers, read where they are asked for.

Nothing is loaded and nothing is mapped: a shard that is cut off meanwhile is an error and no fault.
"""

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from pfid.adapters.model_files import INDEXES, OLD_INDEX, ModelFiles, read_model
from pfid.analysis.weight_sample import is_zero
from pfid.domain.errors import PfidError
from pfid.formats.safetensors import Tensor
from pfid.formats.weights import Shard

OPEN_MAX: Final = 64
_BLOCK_BYTES: Final = 8 << 20


class WeightsError(PfidError):
    """A checkpoint whose tensors cannot be read; says which file and why."""


class WeightFiles:
    """A checkpoint that is open for reading. Leave its context, and it is closed."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Read index and headers of a folder, or of the files that are named."""
        files = read_model(paths)
        self.name = files.name
        self.index_sha256 = _index_digest(paths)
        self.problems = tuple(_problems(files))
        self._places = {t.name: (t, shard) for shard in files.shards for t in shard.tensors or ()}
        self._open: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._open:
            os.close(self._open.popitem()[1])

    @property
    def tensors(self) -> list[Tensor]:
        """Every tensor that can be read, in the order in which they lie."""
        placed = self._places.values()
        found = sorted(placed, key=lambda place: (place[1].name, place[0].begins_at))
        return [tensor for tensor, _ in found]

    def runs(self, name: str, runs: Sequence[tuple[int, int]], item_bytes: int) -> bytes:
        """Read elements of a tensor, as (first, count), joined.

        Raises:
            WeightsError: if they are not there.
        """
        parts = [self._read(name, first * item_bytes, count * item_bytes) for first, count in runs]
        return b"".join(parts)

    def digest(self, name: str, told: Callable[[int], None]) -> str:
        """SHA-256 of all its bytes; ``told`` hears how many were read.

        Raises:
            WeightsError: if it cannot be read.
        """
        whole = hashlib.sha256()
        for block in self._all(name):
            whole.update(block)
            told(len(block))
        return whole.hexdigest()

    def is_zero(self, name: str) -> bool:
        """Whether every number of a tensor is zero; the first that is not ends the reading.

        Raises:
            WeightsError: if it cannot be read.
        """
        dtype = self._places[name][0].dtype
        return all(is_zero(dtype, block) for block in self._all(name))

    def _all(self, name: str) -> Iterator[bytes]:
        size = self._places[name][0].size_bytes
        for begin in range(0, size, _BLOCK_BYTES):
            yield self._read(name, begin, min(_BLOCK_BYTES, size - begin))

    def _read(self, name: str, begin: int, size: int) -> bytes:
        tensor, shard = self._places[name]
        try:
            descriptor = self._descriptor(shard.path)
            data = os.pread(descriptor, size, shard.data_at + tensor.begins_at + begin)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise WeightsError(f"{shard.name}: {why}") from error
        if len(data) != size:
            raise WeightsError(f"{shard.name}: {name[:120]} is cut off")
        return data

    def _descriptor(self, path: str) -> int:
        if path not in self._open:
            if len(self._open) >= OPEN_MAX:
                os.close(self._open.pop(next(iter(self._open))))
            self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            if not stat.S_ISREG(os.fstat(self._open[path]).st_mode):
                raise OSError("it is no regular file")
        return self._open[path]


def _problems(files: ModelFiles) -> Iterator[str]:
    """Everything that keeps a checkpoint's weights from being known whole."""
    yield from (text for _, text in files.problems if text.startswith((*INDEXES, OLD_INDEX)))
    yield from filter(None, map(_shard_problem, files.shards))
    if not files.shards:
        yield "no safetensors file is there"
    lie = Counter(t.name for shard in files.shards for t in shard.tensors or ())
    twice = [name for name, times in lie.items() if times > 1]
    if twice:
        yield f"{len(twice)} tensors lie in more than one shard: {twice[0][:120]}"
    if files.index is not None and all(shard.tensors is not None for shard in files.shards):
        absent = [name for name in files.index.shards if name not in lie]
        if absent:
            yield f"{len(absent)} tensors of the index lie in no shard: {absent[0][:120]}"


def _shard_problem(shard: Shard) -> str:
    name = shard.name[-120:]
    if shard.pointer_bytes is not None:
        return f"{name}: a Git LFS pointer lies in its place"
    if shard.problem == "outside":
        return f"{name}: the index places it outside the folder, so it is not opened"
    return f"{name}: {shard.problem}" if shard.problem else ""


def _index_digest(paths: Sequence[Path]) -> str | None:
    for path in paths:
        file = path / "model.safetensors.index.json" if path.is_dir() else path
        if file.name.endswith(".index.json") and file.is_file():
            try:
                return hashlib.sha256(file.read_bytes()).hexdigest()
            except OSError:
                return None
    return None
