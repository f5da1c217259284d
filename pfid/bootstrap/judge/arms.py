"""Both arms of an evaluation, out of its files."""

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

from pfid.adapters.result_files import Reader
from pfid.adapters.result_places import files_of
from pfid.config.gates import ArmSpec, GateSpec
from pfid.domain.errors import ConfigError
from pfid.formats.results.json_lines import NUMBERED
from pfid.formats.results.logged import Logged
from pfid.spec.ports.results import Arm, BadRecord, Instrument, ResultRecord, compared

CANDIDATE: Final = "candidate"
BASELINE: Final = "baseline"
BAD_KEPT: Final = 1_000
"""Bad records that are kept with their places; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arms:
    """What was read.

    Attributes:
        candidate: the arm under judgement.
        baseline: what it is held against; None where no file holds it.
        formats: of the files.
    """

    candidate: Arm
    baseline: Arm | None
    formats: tuple[str, ...]


def read_arms(
    paths: Sequence[Path],
    baseline: Sequence[Path],
    spec: GateSpec,
    told: Callable[[str], None] = lambda _: None,
) -> Arms:
    """Read every file.

    Args:
        paths: of the candidate, or of both arms where records name theirs.
        baseline: of the baseline.
        spec: how they are read.
        told: how far it is, every two seconds.

    Raises:
        ConfigError: if the spec contradicts what a log says, or a folder holds no records.
        ResultFileError: if a file cannot be read at all.
    """
    read = _Side.read(paths, spec, told)
    other = _Side.read(baseline, spec, told) if baseline else None
    ours, arms = spec.arms.candidate, spec.arms
    formats = tuple(dict.fromkeys((*read.formats, *(other.formats if other else ()))))
    if not spec.records.fields.arm:
        held = other.arm(arms.baseline, BASELINE) if other is not None else None
        return Arms(candidate=read.arm(ours, CANDIDATE), baseline=held, formats=formats)
    mine = read.only(ours.name, {arms.baseline.name} if other is None else set())
    if other is not None:
        theirs = other.only(arms.baseline.name, set())
    else:
        theirs = replace(read, records=read.of(arms.baseline.name), bad=())
    there = bool(theirs.records) or other is not None
    return Arms(
        candidate=mine.arm(ours, CANDIDATE),
        baseline=theirs.arm(arms.baseline, BASELINE) if there else None,
        formats=formats,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """What the files of one side hold."""

    records: tuple[ResultRecord, ...]
    bad: tuple[BadRecord, ...]
    instrument: Instrument
    declared: int | None
    digest: str
    formats: tuple[str, ...]
    runs: int
    numbered: bool
    mixed: tuple[str, ...]
    copies: tuple[str, ...]
    twins: tuple[str, ...]

    @classmethod
    def read(cls, paths: Sequence[Path], spec: GateSpec, told: Callable[[str], None]) -> "_Side":
        reader = Reader(how=spec.records, told=told)
        every = [reader.read(path, run) for run, path in enumerate(files_of(tuple(paths)))]
        logs = [log for log in every if not log.copy and not log.twin]
        declared = [log.declared for log in logs]
        return cls(
            records=tuple(r for log in logs for r in log.records),
            bad=tuple(b for log in logs for b in log.bad),
            instrument=_together(logs),
            declared=None if None in declared else sum(d or 0 for d in declared),
            digest=reader.digest,
            formats=tuple(reader.formats),
            runs=reader.runs,
            numbered=spec.records.fields.item == NUMBERED,
            mixed=_mixed(logs),
            copies=tuple(log.copy for log in every if log.copy),
            twins=tuple(log.twin for log in every if log.twin),
        )

    def of(self, name: str) -> tuple[ResultRecord, ...]:
        return tuple(r for r in self.records if r.arm == name)

    def only(self, name: str, others: set[str]) -> "_Side":
        """Records of one arm; those of no known arm are bad."""
        strange = [
            BadRecord(place=r.place, reason="arm_unknown", detail=r.arm or "names no arm")
            for r in self.records
            if r.arm != name and r.arm not in others
        ]
        return replace(self, records=self.of(name), bad=(*self.bad, *strange))

    def arm(self, said: ArmSpec, role: str) -> Arm:
        good, twice = _once(self.records, _line if self.numbered else _key)
        bad = (*self.bad, *twice)
        name = said.name or role
        return Arm(
            name=name,
            instrument=_completed(_with_caps(self.instrument, good, said, role), said, role),
            records=tuple(r if r.arm else replace(r, arm=name) for r in good),
            declared=self._declared(said, role, good),
            runs=self._runs(good),
            bad=bad[:BAD_KEPT],
            bad_total=len(bad),
            digest=self.digest,
            copies=self.copies,
            twins=self.twins,
            mixed=self.mixed or (("max_tokens",) if _varied(_caps_of(good)) else ()),
        )

    def _runs(self, records: Sequence[ResultRecord]) -> int:
        """As the files are, or as the records say."""
        return max(self.runs, len({r.repeat for r in records}), 1)

    def _declared(self, said: ArmSpec, role: str, records: Sequence[ResultRecord]) -> int | None:
        if said.declared is not None and said.declared_per_run is not None:
            where = f"arms.{role}.declared"
            raise ConfigError((f"{where}: is for all runs, {where}_per_run for each: say one",))
        if said.declared_per_run is not None:
            return said.declared_per_run * self._runs(records)
        return said.declared if said.declared is not None else self.declared


def _once(
    records: Iterable[ResultRecord], key: Callable[[ResultRecord], Hashable]
) -> tuple[list[ResultRecord], list[BadRecord]]:
    """Each record once: a second one of the same key is bad, whatever it says."""
    seen: dict[Hashable, ResultRecord] = {}
    twice = []
    for record in records:
        first = seen.setdefault(key(record), record)
        if first is not record:
            same = "the same" if first.output == record.output else "another answer"
            why = f"item {first.item} stands at {first.place} already, with {same}"
            twice.append(BadRecord(place=record.place, reason="duplicate", detail=why))
    return [*seen.values()], twice


def _key(record: ResultRecord) -> Hashable:
    """An item is asked once a seed and repeat."""
    return record.family, record.item, record.seed, record.repeat


def _line(record: ResultRecord) -> Hashable:
    """Where items are numbers of lines, a line whose prompt and answer stand there twice is one."""
    if not record.prompt:
        return record.place
    scores = tuple(sorted(record.scores.items()))
    asked = (record.family, record.prompt, record.seed, record.repeat)
    return *asked, record.output, record.reasoning, scores


def _with_caps(
    logged: Instrument, records: Iterable[ResultRecord], said: ArmSpec, role: str
) -> Instrument:
    """The cap that records name, where the log names none.

    Raises:
        ConfigError: if they name several for one kind of prompt, and the spec one.
    """
    caps = _caps_of(records)
    every = set().union(*caps.values())
    if len(every) == 1 and logged.max_tokens is None:
        return replace(logged, max_tokens=every.pop())
    varied = _varied(caps)
    if not varied:
        return logged
    several = f"caps {json.dumps(varied)}"
    if said.instrument.max_tokens is not None:
        one = f"arms.{role}.instrument.max_tokens: is {said.instrument.max_tokens}"
        raise ConfigError((f"{one}, and its records have {several}",))
    return replace(logged, decoding="; ".join(filter(None, (logged.decoding, several))))


def _caps_of(records: Iterable[ResultRecord]) -> Mapping[str, set[int]]:
    """Caps that records name, by kind of prompt."""
    caps: dict[str, set[int]] = defaultdict(set)
    for record in records:
        if record.cap_tokens is not None:
            caps[record.family].add(record.cap_tokens)
    return caps


def _varied(caps: Mapping[str, set[int]]) -> list[int]:
    return sorted(next((c for c in caps.values() if len(c) > 1), set()))


def _mixed(logs: Sequence[Logged]) -> tuple[str, ...]:
    """In what logs of one task tell different instruments."""
    first: dict[str, Instrument] = {}
    found: list[str] = []
    for log in (log for log in logs if log.records):
        one = first.setdefault(log.records[0].family, log.instrument)
        found += compared(one, log.instrument).differs
    return tuple(dict.fromkeys(found))


def _together(logs: Sequence[Logged]) -> Instrument:
    """One instrument of several logs: what any of them does not tell, nobody knows."""
    held = [log.instrument for log in logs]
    caps = {i.max_tokens for i in held}
    return Instrument(
        scorer=_joined([i.scorer for i in held]),
        decoding=_joined([i.decoding for i in held] + ([_caps(held)] if len(caps) > 1 else [])),
        max_tokens=None if None in caps else max((c for c in caps if c), default=None),
        seat=_joined([i.seat for i in held]),
        digest=_joined([i.digest for i in held]),
    )


def _caps(held: Sequence[Instrument]) -> str:
    return "caps " + json.dumps([i.max_tokens for i in held])


def _joined(texts: Sequence[str | None]) -> str | None:
    known = [text for text in texts if text is not None]
    return "; ".join(sorted(set(known))) if known and len(known) == len(texts) else None


def _completed(logged: Instrument, said: ArmSpec, role: str) -> Instrument:
    """What the spec says where the log is silent.

    Raises:
        ConfigError: where both speak, and not with one voice.
    """
    given = {f.name: getattr(said.instrument, f.name) for f in fields(Instrument)}
    problems = [
        f"arms.{role}.instrument.{name}: is {value!r}, and the log says {told!r}"
        for name, value in given.items()
        if value is not None and (told := getattr(logged, name)) is not None and told != value
    ]
    if problems:
        raise ConfigError(tuple(problems))
    return replace(logged, **{name: value for name, value in given.items() if value is not None})
