"""A cache key that covers the meaning of what is cached (playbook section 4.1).

A cache is a liar when what it holds was made under another meaning than it is read under. So the
content of every auxiliary file is in the key, never its path; the chat template's text; a version
number that is raised whenever the encoder's output can change for the same inputs; and everything
else that changes what the output means.
"""

import hashlib
import json
import math
import os
import re
from typing import Any, Dict, Iterable, Mapping, Optional, Union

_CHUNK_BYTES = 1024 * 1024
_PATH_MAX_CHARS = 4096
_FORMAT = "pfid-cache-key-1"
_PATH = re.compile(
    r"(?:s3|s3a|gs|gcs|az|abfss?|wasbs?|adl|hdfs|oss|dbfs|hf|file)://\S+"
    r"|(?!\w+://)("
    r"(~|\.{1,2})/\S*"
    r"|/[^\s/{<]+/\S*"
    r"|[A-Za-z]:\\\S*"
    r"|[^\s{<]*\.(jinja2?|j2|jsonl?|txt|ya?ml|toml|csv|tsv|parquet|arrow|np[yz]"
    r"|bin|pkl|pickle|model|msgpack|safetensors|pth?|ckpt|gguf|h5|hdf5|db|sqlite3?|lmdb|tiktoken"
    r"|vocab|py|xml|gz|bz2|xz|zst|zip|tar|tgz)"
    r")"
)
"""How nobody writes anything but a path: that it is not there from this folder makes it no text."""
_NAMED_FILE = re.compile(r"[^\s{<]*[/\\][^\s{<]*")
"""No template either has a slash and neither a space nor a brace."""

File = Union[str, "os.PathLike[str]", bytes, None]


def cache_key(
    *,
    encode_version: int,
    chat_template: Optional[str],
    files: Mapping[str, File],
    values: Mapping[str, Any],
    paths_as_names: Iterable[str] = (),
) -> str:
    """Return the key: 64 hexadecimal digits.

    Args:
        encode_version: raise it whenever the encoder's output can change for identical inputs.
        chat_template: its text, as the tokenizer carries it; None where none is used.
        files: auxiliary files by role (mask, filter list, label map): a path, whose content is
            hashed, or the content itself as bytes. None where the run uses none: present and
            null, which is another key than that of any file.
        values: everything else that changes the meaning, by name: plain data.
        paths_as_names: names among ``values`` that may be a path although what lies there is not
            in the key (the folder of a base model, whose revision stands beside it).

    Raises:
        TypeError: for what has no one text (an object, a set), or is a path where content belongs.
        ValueError: for a text that names an existing file or folder, or is written like the path
            of one that another machine may have, a NaN, a bad version.
        OSError: if a file cannot be read, or changes while it is.
    """
    if isinstance(encode_version, bool) or not isinstance(encode_version, int):
        raise TypeError("encode_version is a whole number, raised when the encoder changes")
    named = set(paths_as_names)
    unknown = sorted(named - set(values))
    if unknown:
        raise ValueError(f"paths_as_names speaks of {', '.join(unknown)}, not among the values")
    _refuse_path("chat_template", chat_template)
    if chat_template and _NAMED_FILE.fullmatch(chat_template):
        raise ValueError(_like_a_path("chat_template", chat_template))
    parts = {
        "format": _FORMAT,
        "encode_version": encode_version,
        "chat_template": None if chat_template is None else _sha256(chat_template.encode()),
        "files": {_name(role): _file_digest(role, file) for role, file in files.items()},
        "values": {_name(n): _plain(n, v, n in named) for n, v in values.items()},
    }
    text = json.dumps(parts, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return _sha256(text.encode())


def content_sha256(path: Union[str, "os.PathLike[str]"]) -> str:
    """Return the sha256 of what a file holds, in hexadecimal.

    Raises:
        OSError: if it cannot be read, is no regular file, or changes while it is read.
    """
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        before = os.fstat(file.fileno())
        for chunk in iter(lambda: file.read(_CHUNK_BYTES), b""):
            digest.update(chunk)
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise OSError(f"{os.fspath(path)}: changed while it was read; a key of it means nothing")
    return digest.hexdigest()


def _file_digest(role: str, file: File) -> Optional[str]:
    if file is None:
        return None
    if isinstance(file, bytes):
        return _sha256(file)
    if not isinstance(file, (str, os.PathLike)):
        raise TypeError(f"files[{role!r}] is a path, bytes or None, not {type(file).__name__}")
    return content_sha256(file)


def _plain(where: str, value: Any, may_be_path: bool) -> Any:  # noqa: FBT001 - see cache_key
    """Return plain data that has one text, or refuse it."""
    if isinstance(value, str):
        if not may_be_path:
            _refuse_path(f"values[{where!r}]", value)
        return value
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"values[{where!r}] is {value}, which equals nothing")
        return value
    if isinstance(value, Mapping):
        inner: Dict[str, Any] = {}
        for key, item in value.items():
            inner[_name(key)] = _plain(f"{where}.{key}", item, may_be_path)
        return inner
    if isinstance(value, (list, tuple)):
        return [_plain(f"{where}[{i}]", item, may_be_path) for i, item in enumerate(value)]
    if isinstance(value, os.PathLike):
        raise TypeError(
            f"values[{where!r}] is a path: it stays the same when the file is edited; give it in "
            "`files`, whose content is hashed"
        )
    raise TypeError(f"values[{where!r}] is a {type(value).__name__}, which has no one text")


def _refuse_path(where: str, text: Optional[str]) -> None:
    """A text that happens to name something on disk is a path where its content was meant."""
    if text is None:
        return
    if not isinstance(text, str):
        raise TypeError(f"{where} is text, not {type(text).__name__}")
    if not text or len(text) > _PATH_MAX_CHARS or "\0" in text or "\n" in text:
        return
    if os.path.exists(text):
        raise ValueError(
            f"{where} names something that exists on disk: {text!r}. A path stays the same when "
            "the file is edited; give its content (in `files`), or list it in paths_as_names"
        )
    if _PATH.fullmatch(text):
        raise ValueError(_like_a_path(where, text))


def _like_a_path(where: str, text: str) -> str:
    return (
        f"{where} is written like a path: {text!r}, wherever it lies. A path stays the same when "
        "the file is edited; give its content (in `files`), or list it in paths_as_names"
    )


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"names are text, got {name!r}: 1 and '1' would become one key")
    return name


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
