"""Where a tune comes from, and what a merge did: the subjects of checks on weights."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageFacts:
    """The base that was trained, as it was recorded, held against the target of a merge.

    Attributes:
        problem: why it cannot be: a code, "" where there is none.
        detail: words about that, for the owner alone.
        recorded: who recorded the base: ``beside`` the adapter, ``launch``; "" if nobody.
        named: how the adapter's configuration calls its base: a name, evidence of nothing.
        full: whether every byte was compared; else a sample of each tensor.
        sampled_share: of the target's bytes that were read, 0 to 1.
        incomplete: files of the target that are missing or cannot be read.
        tensors: of the recorded base.
        same: that hold the same.
        cast: that hold the same in another precision.
        precisions: from which to which.
        differing: that hold other numbers.
        residual: whether only matrices differ that write to the residual stream.
        reshaped: that have another shape.
        missing: that are nowhere in the target.
        left_out: likewise, of towers and further-token heads.
        regrouped: experts that one side keeps singly and the other stacked.
        uncomparable: quantised on one side.
        renamed: found under another name.
        extra: of the target, nowhere in the base.
        examples: lines about what differs.
    """

    problem: str = ""
    detail: str = ""
    recorded: str = ""
    named: str = ""
    full: bool = False
    sampled_share: float = 0.0
    incomplete: tuple[str, ...] = ()
    tensors: int = 0
    same: int = 0
    cast: int = 0
    precisions: tuple[str, ...] = ()
    differing: int = 0
    residual: bool = False
    reshaped: int = 0
    missing: int = 0
    left_out: int = 0
    regrouped: int = 0
    uncomparable: int = 0
    renamed: int = 0
    extra: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFacts:
    """A merged or saved checkpoint held against its base, tensor by tensor.

    Attributes:
        problem: why it cannot be: a code, "" where there is none.
        detail: words about that, for the owner alone.
        kind: ``merged`` (adapter and base in one), ``full`` (a save of the whole model) or
            ``adapter`` (a save of the adapter alone).
        modules: that the adapter holds, or that were trained.
        zero: of them those whose adapter is zero, and which nothing can change.
        unmatched: of them those that no tensor of base and merged belongs to.
        targets: tensors that should differ.
        changed: of them those that do.
        partial: of them stacked ones (experts) of which some do not differ that should.
        unreached: experts that did not change though others of their layer did, and of which
            nothing says that they should have; for an adapter those whose factors are zero.
        idle: experts to which the adapter adds nothing.
        rounded: of them those that differ by rounding alone.
        untouched: tensors that should not differ.
        untouched_changed: of them those that do.
        untouched_rounded: of them those that differ by rounding alone.
        uncomparable: tensors of which one side is quantised, stacked otherwise or missing.
        right: targets that moved by what the adapter makes.
        scaled: that moved by another factor of it.
        factor: that factor: the median; None if nothing is scaled.
        otherwise: that moved another way.
        amount_untold: why nobody can tell by how much targets should have moved, "" if one can.
        relative_median: how far a target moved, as a share of its size: the median.
        incomplete: files that are missing or cannot be read.
        examples: lines about what is wrong.
    """

    problem: str = ""
    detail: str = ""
    kind: str = "merged"
    modules: int = 0
    zero: int = 0
    unmatched: int = 0
    targets: int = 0
    changed: int = 0
    partial: int = 0
    unreached: int = 0
    idle: int = 0
    rounded: int = 0
    untouched: int = 0
    untouched_changed: int = 0
    untouched_rounded: int = 0
    uncomparable: int = 0
    right: int = 0
    scaled: int = 0
    factor: float | None = None
    otherwise: int = 0
    amount_untold: str = ""
    relative_median: float = 0.0
    incomplete: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
