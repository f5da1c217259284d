"""Faults made out of good answers, and the proof that each one arrived.

Mutation testing of an evaluation: a gate set that passes truncated, padded, looped, refused or
memorised answers as it passes the good ones cannot see what it claims to see (playbook 4.6.3). A
fault that did not arrive proves nothing, so what arrived is measured on the text that was read back
and never taken from whoever planted it.

A short answer has no length to lose and no room in which to collapse: six words stay six words
whatever lengths a model has learned, so a fault of either property cut into them is one that no
model makes, and a gate that sees it sees nothing. Such faults go into long answers alone.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Final

from pfid.formats.answers.visible import visible
from pfid.formats.answers.words import word_count
from pfid.spec.ports.results import ResultRecord

KEPT_SHARE: Final = 0.3
"""Of the words of an answer that is truncated."""
PADDED_TIMES: Final = 3
LONG_WORDS: Final = 30
"""Twice the 15 words that the playbook's floor parts a short turn from a story by (4.6.3)."""
LOOPED_TIMES: Final = 30
LOOPED_WORDS: Final = 240
MEMORISED_CHARS: Final = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What faults are made of beside the answers.

    Attributes:
        refusals: a refusal by language; ``""`` for all others.
        passage: text of a corpus, verbatim; "" where there is none.
    """

    refusals: Mapping[str, str]
    passage: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault.

    Attributes:
        property: that it harms.
        plant: turns answers into faulty ones, in their order.
        arrived: whether an answer read back has the fault, given the good one.
        long: whether it shows in long answers alone.
    """

    property: str
    plant: Callable[[Sequence[str], Sources, Sequence[str]], list[str]]
    arrived: Callable[[str, str, Sources], bool]
    long: bool = False


def planted(
    name: str, records: Sequence[ResultRecord], sources: Sources
) -> tuple[ResultRecord, ...]:
    """Return the records with one fault in each that can show it; the others stay as they are.

    Args:
        name: of the fault, a key of :data:`FAULTS`.
        records: with good answers.
        sources: what it is made of.
    """
    of = [at for at, record in enumerate(records) if can_show(name, record)]
    languages = [_language(records[at]) for at in of]
    outputs = FAULTS[name].plant([records[at].output for at in of], sources, languages)
    faulty = list(records)
    for at, output in zip(of, outputs, strict=True):
        faulty[at] = _with_output(records[at], output)
    return tuple(faulty)


def can_show(name: str, record: ResultRecord) -> bool:
    """Whether a fault can stand in the answer of a record as a model would make it."""
    return not FAULTS[name].long or word_count(visible(record.output)) >= LONG_WORDS


def _language(record: ResultRecord) -> str:
    return (record.language or "").casefold().replace("_", "-").split("-")[0]


def arrivals(
    name: str, good: Sequence[ResultRecord], read: Sequence[ResultRecord], sources: Sources
) -> int:
    """Count the answers in which the fault is found, read back beside the good ones by item."""
    held = {_key(record): record.output for record in good if can_show(name, record)}
    fault = FAULTS[name]
    return sum(
        fault.arrived(held[_key(record)], record.output, sources)
        for record in read
        if _key(record) in held
    )


def _key(record: ResultRecord) -> tuple[str, str, int | None, int]:
    return record.family, record.item, record.seed, record.repeat


def _with_output(record: ResultRecord, output: str) -> ResultRecord:
    """The record as an engine would have written it: with as many tokens as the answer now has."""
    tokens = record.output_tokens
    if tokens is not None:
        before = max(word_count(record.output), 1)
        tokens = max(round(tokens * word_count(output) / before), 1)
    return replace(record, output=output, output_tokens=tokens)


def _truncated(outputs: Sequence[str], _: Sources, __: Sequence[str]) -> list[str]:
    return [_cut(text) for text in outputs]


def _cut(text: str) -> str:
    bare = text.strip()
    wanted = round(len(bare) * KEPT_SHARE)
    blank = bare.find(" ", wanted)
    cut = bare[:blank] if 0 <= blank < len(bare) * 0.5 else bare[:wanted]
    return cut if cut.strip() else text


def _padded(outputs: Sequence[str], _: Sources, __: Sequence[str]) -> list[str]:
    """Behind each answer the following ones: words that are new, so no gate sees a loop in it."""
    return [_pad(outputs, n) for n in range(len(outputs))]


def _pad(outputs: Sequence[str], n: int) -> str:
    wanted = PADDED_TIMES * max(word_count(outputs[n]), 1)
    pieces, words = [outputs[n]], word_count(outputs[n])
    for step in range(1, 4 * PADDED_TIMES + 1):
        if words >= wanted:
            break
        pieces.append(outputs[(n + step) % len(outputs)])
        words += word_count(pieces[-1])
    return " ".join(pieces)


def _looped(outputs: Sequence[str], _: Sources, __: Sequence[str]) -> list[str]:
    return [_loop(text) for text in outputs]


def _loop(text: str) -> str:
    tail = text.split()[-12:] or ["and"]
    times = max(LOOPED_TIMES, -(-LOOPED_WORDS // len(tail)))
    return " ".join((text, *(" ".join(tail) for _ in range(times))))


def _refused(outputs: Sequence[str], sources: Sources, languages: Sequence[str]) -> list[str]:
    del outputs
    return [sources.refusals.get(code) or sources.refusals[""] for code in languages]


def _memorised(outputs: Sequence[str], sources: Sources, _: Sequence[str]) -> list[str]:
    if not sources.passage:
        return list(outputs)
    starts = cycle(range(0, max(len(sources.passage) - MEMORISED_CHARS, 0) + 1, 97))
    return [
        sources.passage[at : at + MEMORISED_CHARS] for at, _ in zip(starts, outputs, strict=False)
    ]


def _is_cut(good: str, read: str, _: Sources) -> bool:
    return (
        0 < len(read) < len(good.strip())
        and good.strip().startswith(read)
        and len(read) <= 0.55 * len(good.strip())
    )


def _is_padded(good: str, read: str, _: Sources) -> bool:
    return read.startswith(good) and word_count(read) >= 2 * max(word_count(good), 1)


def _is_looped(_: str, read: str, __: Sources) -> bool:
    words = read.split()
    runs = Counter(zip(*(words[at:] for at in range(6)), strict=False)).most_common(1)
    return bool(runs) and runs[0][1] >= LOOPED_TIMES / 2


def _is_refused(good: str, read: str, sources: Sources) -> bool:
    return read != good and read in sources.refusals.values()


def _is_memorised(good: str, read: str, sources: Sources) -> bool:
    return read != good and bool(read) and read in sources.passage


FAULTS: Final[Mapping[str, Fault]] = {
    "truncated": Fault("length", _truncated, _is_cut, long=True),
    "padded": Fault("length", _padded, _is_padded, long=True),
    "looped": Fault("collapse", _looped, _is_looped, long=True),
    "refused": Fault("refusal", _refused, _is_refused),
    "memorised": Fault("memorisation", _memorised, _is_memorised),
}


def faults_of(name: str) -> tuple[str, ...]:
    """Names of the faults that harm a property."""
    return tuple(fault for fault, kind in FAULTS.items() if kind.property == name)
