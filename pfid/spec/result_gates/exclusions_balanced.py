"""``[gates.exclusions_balanced]``: what counts as lost."""

from msgspec import field

from pfid.spec.result_gates.table import Table


class ExclusionsGate(Table, frozen=True, kw_only=True):
    """The section; the check judges without it too.

    Attributes:
        flags: of a record that take it out of the comparison; none named: every flag does.
        truncation: whether an answer that the cap ended is lost.
    """

    flags: list[str] = field(default_factory=list)
    truncation: bool = True
