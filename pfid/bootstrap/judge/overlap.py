"""The outputs of an evaluation held against a corpus, known texts among them."""

import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from threading import Lock
from typing import Final

from pfid.adapters.corpus_files import CorpusError, CorpusReading
from pfid.bootstrap.judge.corpus_stream import Folding, Places, excerpt, stream
from pfid.spec.ports.overlap import ArmOverlap, KnownOverlap, OverlapFacts, Quoted
from pfid.spec.ports.results import Arm, ResultFacts
from pfid.spec.result_gates.memorisation import MemorisationGate

SAY_EVERY_S: Final = 2.0
PASS_BYTES: Final = 16 * 1024 * 1024
"""Outputs looked for in one pass over the corpus; more take further passes."""
WORST: Final = 10
KNOWN_FLOORS: Final = 4
"""A known text is so many times the floor long, and half of it still twice."""
NOWHERE: Final = "\ue000"
"""A character of private use, between the half that stands in the corpus and the other."""
LETTERS: Final = "etaoinshrdlucm"


class _TooSlowError(Exception):
    """The deadline came first."""


def overlap_facts(
    gate: MemorisationGate | None,
    folder: Path,
    results: ResultFacts,
    told: Callable[[str], None],
) -> OverlapFacts | None:
    """Hold every output against the corpus; None where the spec names none.

    Args:
        gate: of the spec.
        folder: of the spec; relative paths begin there.
        results: whose outputs.
        told: how far it is, every two seconds.
    """
    return None if gate is None else Overlaps(gate, folder, told).facts(results)


def _none(gate: MemorisationGate, problem: str, detail: str) -> OverlapFacts:
    return OverlapFacts(
        problem=problem, detail=detail, min_chars=gate.min_chars, normalise=gate.normalise
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What a scan says of one text."""

    chars: int
    longest: int = 0
    words: int = 0
    covered: int = 0
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What a pass over the corpus came to beside the texts."""

    known: tuple[KnownOverlap, ...]
    corpus_bytes: int
    files: int
    left_out: int
    bad_bytes: int
    bad_lines: int


class Overlaps:
    """Holds the outputs of one evaluation, and of copies of it, against one corpus.

    A text is held against it once: what one look found another does not read the corpus for.
    """

    def __init__(self, gate: MemorisationGate, folder: Path, told: Callable[[str], None]) -> None:
        """Read nothing yet.

        Args:
            gate: of the spec.
            folder: of the spec; relative paths begin there.
            told: how far it is, every two seconds.
        """
        self._gate, self._told = gate, told
        self._paths = [folder / os.path.expanduser(p) for p in gate.corpus]  # noqa: PTH111
        self._found: dict[str, _Found] = {}
        self._read: _Reading | None = None
        self._one = Lock()
        self._pass = ""
        self._bytes = 0

    def facts(self, results: ResultFacts) -> OverlapFacts:
        """Hold every output and all reasoning against the corpus; one look at a time."""
        with self._one:
            now_s = time.monotonic()
            self._ends_s, self._say_s = now_s + self._gate.deadline_s, now_s + SAY_EVERY_S
            try:
                return self._facts(results)
            except CorpusError as error:
                return _none(self._gate, "corpus_unreadable", str(error))
            except _TooSlowError as error:
                return _none(self._gate, "too_slow", str(error))

    def _facts(self, results: ResultFacts) -> OverlapFacts:
        arms = [results.candidate, *([results.baseline] if results.baseline is not None else [])]
        held = [list(self._said(arm)) for arm in arms]
        every = dict.fromkeys(text for said in held for _, text in said if text)
        new = [text for text in every if text not in self._found]
        if new or self._read is None:
            length = KNOWN_FLOORS * self._gate.min_chars
            quote = excerpt(self._reading(), self._folding(), length)
            if not quote:
                why = f"no {length} characters of it stand in one piece"
                return _none(self._gate, "corpus_empty", why)
            self._read = self._look(new, quote)
        summed = [_summed(a, said, self._found) for a, said in zip(arms, held, strict=True)]
        return OverlapFacts(
            **{f.name: getattr(self._read, f.name) for f in fields(_Reading)},
            min_chars=self._gate.min_chars,
            normalise=self._gate.normalise,
            candidate=summed[0],
            baseline=summed[1] if len(summed) > 1 else None,
        )

    def _look(self, texts: Sequence[str], quote: str) -> _Reading:
        """Pass over the corpus as often as so many texts need, known texts among them each time."""
        known = _known_texts(quote)
        found: dict[str, _Found] = {}
        parts = list(_parts(texts))
        for at, part in enumerate(parts, 1):
            self._pass = f", pass {at} of {len(parts)}" if len(parts) > 1 else ""
            reading = self._reading()
            found |= self._scan(reading, [*part, *known.values()], known["last"])
        self._found |= {text: found[text] for text in texts}
        return _Reading(
            known=tuple(_compared(known, quote, found)),
            corpus_bytes=self._bytes,
            files=len(reading.files),
            left_out=reading.left_out,
            bad_bytes=reading.bad_bytes,
            bad_lines=reading.bad_lines,
        )

    def _said(self, arm: Arm) -> Iterator[tuple[str, str]]:
        """Each text of each record beside the name it is shown by."""
        for record in arm.records:
            yield record.item, self._folded(record.output)
            if record.reasoning:
                yield f"{record.item} (reasoning)", self._folded(record.reasoning)

    def _reading(self) -> CorpusReading:
        return CorpusReading(self._paths, key=self._gate.field, told=self._how_far)

    def _folding(self) -> Folding:
        return Folding(self._gate.normalise)

    def _folded(self, text: str) -> str:
        return self._folding().fold(text.encode(errors="replace")).decode()

    def _scan(self, reading: CorpusReading, texts: Sequence[str], last: str) -> dict[str, _Found]:
        from pfid.analysis.overlap.report import overlaps
        from pfid.analysis.overlap.scan import BOUNDARY, OverlapScan

        held = list(dict.fromkeys(texts))
        bodies = [text.encode() for text in held]
        scan = OverlapScan(bodies, self._gate.min_chars)
        places = Places(exact=self._gate.normalise == "none")
        self._bytes = 0
        for body in stream(reading, self._folding(), places, BOUNDARY):
            scan.feed(body)
            self._bytes += len(body) if body is not BOUNDARY else 0
        scan.feed(BOUNDARY + last.encode())
        far, where = scan.finish()
        told = overlaps(bodies, far, where, self._gate.min_chars)
        return {
            text: _Found(
                one.chars,
                one.longest_chars,
                one.longest_words,
                one.covered_chars,
                places.name(one.place, reading) if one.longest_chars else "",
            )
            for text, one in zip(held, told, strict=True)
        }

    def _how_far(self, done: int, of: int) -> None:
        now_s = time.monotonic()
        if now_s > self._ends_s:
            share = done / max(of, 1)
            raise _TooSlowError(f"{share:.0%} read after {self._gate.deadline_s:g} s{self._pass}")
        if now_s > self._say_s:
            self._say_s = now_s + SAY_EVERY_S
            share = done / max(of, 1)
            self._told(f"reading the corpus: {share:.0%} of {of / 1e9:.2f} GB{self._pass}")


def _known_texts(quote: str) -> dict[str, str]:
    half = quote[: len(quote) // 2]
    return {
        "identical": quote,
        "half": half + NOWHERE + _words(1, len(half)),
        "last": _words(2, len(quote)),
        "unrelated": _words(3, len(quote)),
    }


def _words(seed: int, chars: int) -> str:
    """Words that nobody wrote, the same every time."""
    chance = random.Random(seed)  # noqa: S311 - to be the same every time
    words = ("".join(chance.choices(LETTERS, k=chance.randint(3, 9))) for _ in range(chars))
    return " ".join(words)[:chars]


def _compared(
    known: dict[str, str], quote: str, found: dict[str, _Found]
) -> Iterator[KnownOverlap]:
    expected = {"identical": len(quote), "half": len(quote) // 2, "last": len(quote)}
    for kind, text in known.items():
        got = found[text].longest if text in found else -1
        yield KnownOverlap(kind=kind, expected_chars=expected.get(kind, 0), found_chars=got)
    yield KnownOverlap(kind="empty", expected_chars=0, found_chars=found.get("", _Found(0)).longest)


def _parts(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts in parts of one pass each; at least one part, so that the known ones are scanned."""
    part: list[str] = []
    size = 0
    for text in texts:
        length = len(text.encode())
        if part and size + length > PASS_BYTES:
            yield part
            part, size = [], 0
        part.append(text)
        size += length
    yield part


def _summed(arm: Arm, said: Sequence[tuple[str, str]], found: dict[str, _Found]) -> ArmOverlap:
    every = [(found.get(text, _Found(0)), name) for name, text in said]
    quoting = [(one, name) for one, name in every if one.longest]
    far = sorted(quoting, key=lambda q: -q[0].longest)[:WORST]
    far += [q for q in sorted(quoting, key=lambda q: -q[0].words)[:1] if q not in far]
    return ArmOverlap(
        outputs=len(arm.records),
        chars=sum(one.chars for one, _ in every),
        covered_chars=sum(one.covered for one, _ in every),
        quoting=len(quoting),
        worst=tuple(
            Quoted(item=name, chars=one.longest, words=one.words, place=one.place)
            for one, name in far
        ),
    )
