"""The words of an engine that did not come up: which error was the cause, was it memory.

An engine runs its work in other processes and says at the end that something failed elsewhere: the
cause is the last error that does not point to another.
"""

import re
from collections.abc import Iterator
from typing import Final

from pfid.formats.line_text import without_ansi
from pfid.formats.untrusted import printable

LINE_MAX_CHARS: Final = 500
LINES_MAX: Final = 6
_PREFIX: Final = re.compile(
    r"^(?:\([^()]{1,80}\)\s*)?(?:(?:ERROR|CRITICAL|FATAL|WARNING|INFO)\s+)?"
    r"(?:\[?\d{2,4}-\d{2}(?:-\d{2})?[T ]\d{2}:\d{2}:\d{2}[^\]\s]*\]?\s*)?(?:\[[\w./]+:\d+\]\s?)?"
)
_ERROR: Final = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure): ?"
)
_PLAIN: Final = re.compile(r"\b(?:error|fatal|failed|unable to|cannot)\b", re.IGNORECASE)
_ELSEWHERE: Final = re.compile(
    r"see root cause|see stack trace above|engine core initialization failed|died unexpectedly"
    r"|worker process .* failed|engine process failed to start|cancelled by cancel scope"
    r"|^\d+$",
    re.IGNORECASE,
)
_FOLLOWS: Final = re.compile(r"^\s+(?!File \")\S")
_MEMORY: Final = re.compile(
    r"(?:CUDA|HIP)(?: error:)? out of memory|OutOfMemoryError|out of memory trying to allocate"
    r"|no available memory for the cache blocks|free memory on device"
    r"|than the available kv cache memory|not enough memory|cudaMalloc failed"
    r"|failed to allocate (?:compute|buffer|\w+ buffer)|std::bad_alloc|MemoryError"
    r"|unable to allocate .* array",
    re.IGNORECASE,
)


def plain_lines(raw: bytes) -> list[str]:
    """A log as lines of text, without what a logger puts before each."""
    text = without_ansi(raw).decode("utf-8", "replace")
    return [_PREFIX.sub("", line, count=1) for line in re.split(r"[\r\n]+", text)]


def cause(raw: bytes) -> tuple[str, ...]:
    """The exact error, its further lines with it; the log's last words where there is none."""
    lines = plain_lines(raw)
    errors = list(_errors(lines))
    own = [error for error in errors if not _ELSEWHERE.search(error[0].partition(": ")[2])]
    found = (own or errors)[-1:]
    if found:
        return tuple(printable(line, LINE_MAX_CHARS) for line in found[0])
    said = [line.strip() for line in lines if line.strip() and not line.startswith("# pfid run")]
    wrong = [line for line in said if _PLAIN.search(line)]
    return tuple(printable(line, LINE_MAX_CHARS) for line in (wrong or said)[-1:])


def _errors(lines: list[str]) -> Iterator[tuple[str, ...]]:
    for place, line in enumerate(lines):
        if _ERROR.match(line):
            more = []
            for following in lines[place + 1 : place + LINES_MAX]:
                if not _FOLLOWS.match(following):
                    break
                more.append(following.strip())
            yield (line.strip(), *more)


def ran_out_of_memory(raw: bytes) -> bool:
    """Whether the engine said that memory did not suffice."""
    return _MEMORY.search(without_ansi(raw).decode("utf-8", "replace")) is not None
