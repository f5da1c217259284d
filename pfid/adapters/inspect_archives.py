"""Archives that inspect-ai writes (``.eval``): a header, and a member for each sample."""

import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pfid.adapters.result_lines import CUT_OFF
from pfid.adapters.zip_member import MemberError, unpacked
from pfid.formats.results import inspect_log
from pfid.formats.results.problems import RecordError, ResultFileError


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectArchive:
    """One archive, open.

    Attributes:
        header: of the evaluation.
        samples: place of each, and what reads it; that raises RecordError for a broken one.
    """

    header: dict[str, Any]
    samples: tuple[tuple[str, Callable[[], Any]], ...]


@contextmanager
def opened(path: Path) -> Iterator[InspectArchive]:
    """Open an archive; its samples can be read as long as it is open.

    Raises:
        ResultFileError: if it is broken, or another one.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            header = _member(archive, _header_name(archive, path))
            if not inspect_log.is_log(header):
                raise ResultFileError(f"{path}: is an archive, and no log of inspect-ai")
            names = [n for n in archive.namelist() if _is_sample(n)]
            samples = tuple((f"{path.name}:{n}", partial(_member, archive, n)) for n in names)
            yield InspectArchive(header=header, samples=samples)
    except (zipfile.BadZipFile, RecordError) as error:
        raise ResultFileError(f"{path}: the archive is broken: {error}") from error


def _header_name(archive: zipfile.ZipFile, path: Path) -> str:
    """A log that was not finished has its beginning in a journal only."""
    names = archive.namelist()
    found = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
    if found is None:
        raise ResultFileError(f"{path}: is an archive, and no log of inspect-ai")
    return found


def _member(archive: zipfile.ZipFile, name: str) -> Any:
    try:
        value = json.loads(unpacked(archive, name))
    except (ValueError, RecursionError) as error:
        raise RecordError("not_json", str(error)[:200]) from error
    except (zipfile.BadZipFile, MemberError, *CUT_OFF) as error:
        raise RecordError("cut_off", str(error)[:200]) from error
    if name.startswith("_journal") and isinstance(value, dict):
        value = {"status": "started", **value}
    return value


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")
