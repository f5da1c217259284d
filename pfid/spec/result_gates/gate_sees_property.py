"""``[gates.gate_sees_property]``: what the evaluation claims to see."""

from typing import Annotated, Literal

from msgspec import Meta

from pfid.spec.result_gates.table import Table

Property = Literal["length", "collapse", "refusal", "memorisation"]


class SeesGate(Table, frozen=True, kw_only=True):
    """The section.

    Attributes:
        properties: that the gates should see, each tried with faults planted into good answers.
        sample: records at most that faults are planted into.
    """

    properties: Annotated[list[Property], Meta(min_length=1)]
    sample: Annotated[int, Meta(ge=10, le=10_000)] = 200
