"""What a log of an evaluation tool says of itself, beside its records."""

from dataclasses import dataclass, field

from pfid.spec.ports.results import BadRecord, Instrument, ResultRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """One log, or one task of it.

    Attributes:
        records: that can be judged.
        bad: that cannot.
        instrument: as far as the log tells it.
        declared: how many records it says there should be.
        copy: of which other file it is one, in words; its records were read there. "" for none.
        twin: which other file holds the same, in words, where it may be a run of its own all the
            same; its records were read there. "" for none.
    """

    records: tuple[ResultRecord, ...] = ()
    bad: tuple[BadRecord, ...] = ()
    instrument: Instrument = field(default_factory=Instrument)
    declared: int | None = None
    copy: str = ""
    twin: str = ""
