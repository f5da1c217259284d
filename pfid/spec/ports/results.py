"""An evaluation's records: two arms, what measured them, and what was judged of it before."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Final

from pfid.spec.result_gates import Gates

OPTIONAL_OF_INSTRUMENT: Final = frozenset({"digest"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRecord:
    """One answer of the model under test. Text in it is untrusted: escape it where it is shown.

    Attributes:
        item: which question, unique within its family.
        arm: name of the arm.
        family: which kind of prompt; "" where records have none.
        seed: of the sampler; None where the record does not say.
        repeat: which of several runs over the same item and seed, from 0.
        prompt: what was asked, "" where the record does not hold it.
        output: what came back, "" for an empty answer.
        reasoning: what was thought beside it, where the record keeps that apart.
        reference: the known-good answer, where the record holds one.
        output_tokens: how long the answer is.
        cap_tokens: where it would have been cut off.
        finish_reason: as the engine said (``stop``, ``length``).
        language: of the prompt, as the record says.
        flags: what an earlier tool said of it (``too_short``).
        scores: by metric; None where there is none for this item.
        scored: whether scores are to be expected of it; False where they stand on another record
            of the same item.
        place: where it stands, ``file:line``; for the owner alone.
    """

    item: str
    arm: str = ""
    family: str = ""
    seed: int | None = None
    repeat: int = 0
    prompt: str = ""
    output: str = ""
    reasoning: str = ""
    reference: str | None = None
    output_tokens: int | None = None
    cap_tokens: int | None = None
    finish_reason: str | None = None
    language: str | None = None
    flags: tuple[str, ...] = ()
    scores: Mapping[str, float | None] = field(default_factory=dict)
    scored: bool = True
    place: str = ""

    @property
    def cut_off(self) -> bool | None:
        """Whether the cap ended it; None where neither the engine nor the counts say."""
        if self.finish_reason is not None:
            return self.finish_reason in ("length", "max_tokens", "model_length")
        if self.output_tokens is None or self.cap_tokens is None:
            return None
        return self.output_tokens >= self.cap_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRecord:
    """A record that cannot be judged; counted and shown.

    Attributes:
        place: where it stands, ``file:line``.
        reason: code: ``not_json``, ``not_utf8``, ``no_output``, ``duplicate``, ``score_is_nan`` ...
        detail: words about that, for the owner alone; untrusted.
    """

    place: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    """What an arm was measured with. None where nobody says: unknown is not equal.

    Attributes:
        scorer: what turned outputs into scores, with its version.
        decoding: temperature and the like, as one text.
        max_tokens: cap of an answer.
        seat: the serving stack: engine, version, precision, hardware.
        digest: of the scorer's code or of the prompts; compared where either arm names one.
    """

    scorer: str | None = None
    decoding: str | None = None
    max_tokens: int | None = None
    seat: str | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two instruments side by side.

    Attributes:
        differs: fields that both name, and name otherwise.
        unknown: fields that one of them does not name.
    """

    differs: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def same(self) -> bool | None:
        """True, False, or None where it cannot be known."""
        if self.differs:
            return False
        return None if self.unknown else True


def compared(one: Instrument, other: Instrument) -> Comparison:
    """Hold two instruments against each other, field by field."""
    differs, unknown = [], []
    for name in (f.name for f in fields(Instrument)):
        a, b = getattr(one, name), getattr(other, name)
        if a is None and b is None and name in OPTIONAL_OF_INSTRUMENT:
            continue
        if a is None or b is None:
            unknown.append(name)
        elif a != b:
            differs.append(name)
    return Comparison(differs=tuple(differs), unknown=tuple(unknown))


class Doubt(Enum):
    """Why records are not the evaluation that was declared."""

    NONE = ""
    NO_RECORDS = "no_records"
    MISSING = "records_missing"
    BAD = "records_bad"
    TOO_MANY = "records_too_many"
    NOT_DECLARED = "count_not_declared"
    COPIED = "file_given_twice"
    TWINS = "files_alike"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One model under test: everything that came back.

    Attributes:
        name: as the spec calls it.
        instrument: it was measured with.
        records: those that can be judged.
        declared: how many there should be, all families, seeds and repeats; None if nobody says.
        runs: how many repeated runs its files are.
        bad: those that cannot be judged.
        bad_total: how many; ``bad`` holds the first of them only.
        digest: of the content of its files.
        mixed: fields of the instrument in which runs of it were not measured alike.
        copies: files that were given more than once, in words; their records are read once.
        twins: files of other names that hold what another of it holds, byte for byte, in words:
            copies, or runs of a stack that answers the same each time. Their records are read once.
    """

    name: str
    instrument: Instrument = field(default_factory=Instrument)
    records: tuple[ResultRecord, ...] = ()
    declared: int | None = None
    runs: int = 1
    bad: tuple[BadRecord, ...] = ()
    bad_total: int = 0
    digest: str = ""
    mixed: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    twins: tuple[str, ...] = ()

    @property
    def doubt(self) -> Doubt:
        """What keeps its figures from being those of the evaluation that was declared."""
        if self.copies or self.twins:
            return Doubt.COPIED if self.copies else Doubt.TWINS
        if not self.records:
            return Doubt.NO_RECORDS
        if self.declared is None:
            return Doubt.BAD if self.bad_total else Doubt.NOT_DECLARED
        if len(self.records) < self.declared:
            return Doubt.MISSING
        if len(self.records) + self.bad_total > self.declared:
            return Doubt.TOO_MANY
        return Doubt.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousResult:
    """What was judged of an evaluation of this name before, over other records.

    Attributes:
        name: of the evaluation.
        judged_at_s: wall time.
        digest: of the records that were judged.
        records: how many.
        outcomes: reason code by check.
        figures: figure by name, by check.
        candidate: what its candidate was measured with; None where that was not kept.
        baseline: the same of its baseline.
    """

    name: str
    judged_at_s: float
    digest: str = ""
    records: int = 0
    outcomes: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    candidate: Instrument | None = None
    baseline: Instrument | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFacts:
    """Everything a check of the result stage may know of an evaluation.

    Attributes:
        candidate: the arm under judgement.
        baseline: what it is held against; None where none was given.
        previous: of the same name, judged before; None if there is none.
        previous_problem: why that cannot be told; "" if it can.
        gates: what the spec wants of each check; the field of a check is None where the spec has
            no section for it.
    """

    candidate: Arm
    baseline: Arm | None = None
    previous: PreviousResult | None = None
    previous_problem: str = ""
    gates: Gates = field(default_factory=Gates)
