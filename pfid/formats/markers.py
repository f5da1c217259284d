"""Known messages that mean something by themselves, and whether a line is one or only quotes it.

A log may hold its own program's source or a repr with the very words in it; such a line is
counted as quoted and is no evidence. Where wordings changed over the years all are known.
"""

import re
from typing import Final, NamedTuple

from pfid.domain.log_facts import Marker
from pfid.formats.line_text import split_label, without_ansi

TRIGGERS: Final = (
    rb"_limit",
    rb"_attention called without",
    rb"Traceback \(most recent",
    rb"OutOfMemoryError",
    rb"Out of memory",
    rb"Out Of Memory",
    rb"CUDA out of memory",
    rb"CUDA error: out of",
    rb"HIP out of memory",
    rb"oom.kill",
    rb"Watchdog caught collective",
    rb"ProcessGroupNCCL's watchdog",
    rb"DUE TO TIME LIMIT",
    rb"CANCELLED AT",
    rb"TERM_RUNLIMIT",
    rb"PBS: job killed: walltime",
    rb"Resuming",
    rb"Resume training",
    rb"Restor(?:ed|ing) ",
    rb"Continuing training from",
    rb"loaded checkpoint from",
    rb"\] at iteration \d",
    rb"Loading the checkpoint from",
    rb"OVERFLOW!",
    rb"Gradient overflow",
    rb"# pfid run ",
)


class Sighting(NamedTuple):
    """A marker in a line, and whether the line is the message itself."""

    marker: Marker
    genuine: bool


class _Rule(NamedTuple):
    marker: Marker
    words: re.Pattern[bytes]
    message: re.Pattern[bytes]


_DYNAMO: Final = (
    rb"(?:torch\._dynamo|torchdynamo) hit config\."
    rb"(?:accumulated_)?(?:recompile|cache_size)_limit \(\d{1,9}\)\s*\Z"
)
_RULES: Final = tuple(
    _Rule(marker, re.compile(words), re.compile(message))
    for marker, words, message in (
        (Marker.RECOMPILE_LIMIT, rb"(?:recompile|cache_size)_limit", _DYNAMO),
        (
            Marker.FLEX_UNCOMPILED,
            rb"flex_attention called without",
            rb"(?:\A|Warning: )flex_attention called without torch\.compile\(\)",
        ),
        (Marker.TRACEBACK, rb"Traceback \(most recent", rb"Traceback \(most recent call last\):"),
        (
            Marker.OUT_OF_MEMORY,
            rb"OutOfMemoryError|(?i:out of memory)|(?i:oom.kill)",
            (
                rb"(?:\A|[\w.]\.)OutOfMemoryError: |(?:CUDA|HIP)(?: error:)? out of memory"
                rb"|Out of memory: Kill|oom-kill(?: event|:)|oom_kill event|(?i:oom killer)"
            ),
        ),
        (
            Marker.NCCL_TIMEOUT,
            rb"Watchdog caught collective|ProcessGroupNCCL's watchdog",
            rb"Watchdog caught collective operation timeout|ProcessGroupNCCL's watchdog got stuck",
        ),
        (
            Marker.SCHEDULER_TIME_LIMIT,
            rb"DUE TO TIME LIMIT|TERM_RUNLIMIT|PBS: job killed: walltime",
            rb"CANCELLED AT \S+ DUE TO TIME LIMIT|TERM_RUNLIMIT: job killed|job killed: walltime",
        ),
        (
            Marker.SCHEDULER_CANCELLED,
            rb"CANCELLED AT (?!\S+ DUE TO TIME LIMIT)",
            rb"\*\*\* (?:JOB|STEP) \S+ (?:ON \S+ )?CANCELLED AT \S+",
        ),
        (
            Marker.RESUMED,
            (
                rb"Resum(?:ing|e training)|Restor(?:ed|ing) |Continuing training from"
                rb"|loaded checkpoint from|\] at iteration \d|Loading the checkpoint from"
            ),
            (
                rb"Resum(?:ing|e) (?:training )?from|Restor(?:ed all|ing) states from"
                rb"|Continuing training from (?:checkpoint|global step)"
                rb"|loaded checkpoint from .* at iteration [1-9]|Loading the checkpoint from"
            ),
        ),
        (
            Marker.SKIPPED_STEP,
            rb"OVERFLOW!|Gradient overflow",
            rb"OVERFLOW! .*(?i:skipping step)|Gradient overflow\. +(?i:skipping step)",
        ),
        (Marker.RUN_HEADER, rb"# pfid run ", rb"\A# pfid run "),
    )
)
_QUOTES: Final = (b"'", b'"', b"`")
_CODE: Final = re.compile(
    rb"^\s*(?:#(?! pfid run )|//|\+\s|-\s|>>> |if |elif |except |assert |raise |return |print\()"
)


def sightings(raw: bytes) -> list[Sighting]:
    """Return the markers a line holds."""
    _rank, text = split_label(without_ansi(raw))
    seen = []
    for rule in _RULES:
        if rule.words.search(text) is not None:
            message = rule.message.search(text)
            genuine = message is not None and not _quoted(text, message.start())
            seen.append(Sighting(rule.marker, genuine))
    return seen


def _quoted(text: bytes, at: int) -> bool:
    """Whether what stands at ``at`` lies inside a string, a comment or a statement."""
    before = text[:at]
    if any(_open(before, quote) for quote in _QUOTES):
        return True
    return _CODE.match(before) is not None or b" # " in before


def _open(before: bytes, quote: bytes) -> bool:
    """Whether a quotation is open; an apostrophe inside a word does not open one."""
    if quote == b"'":
        before = re.sub(rb"\w'\w", b"", before)
    return before.count(quote) % 2 == 1
