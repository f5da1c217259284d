"""``[gates.exclusions_balanced]``: what counts as lost."""

from msgspec import field

from pfid.spec.result_gates.table import Table


class ExclusionsGate(Table, frozen=True, kw_only=True):
    """The section; the check judges without it too.

    Attributes:
        flags: of a record that take it out of the comparison; none named: every flag does.
        truncation: whether an answer that the cap ended is lost; then one that does not say how it
            ended may be.
        unscored: whether an answer without a score is lost, that its kind of prompt has.
        scores: metrics without which it is; none named: each that any record of its family has.
    """

    flags: list[str] = field(default_factory=list)
    truncation: bool = True
    unscored: bool = True
    scores: list[str] = field(default_factory=list)
