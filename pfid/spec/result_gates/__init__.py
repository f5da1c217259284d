"""What GATES.toml may ask of each check of the result stage: one file a check."""

from pfid.spec.result_gates.collapse import CollapseGate
from pfid.spec.result_gates.exclusions_balanced import ExclusionsGate
from pfid.spec.result_gates.gate_sees_property import SeesGate
from pfid.spec.result_gates.length_conformance import LengthGate
from pfid.spec.result_gates.memorisation import MemorisationGate
from pfid.spec.result_gates.null_has_positive_control import NullGate
from pfid.spec.result_gates.rate_bound_to_corpus import RateGate
from pfid.spec.result_gates.refusal_retention import RefusalGate
from pfid.spec.result_gates.table import Table
from pfid.spec.result_gates.trip_point_outside_jitter import TripPointGate


class Gates(Table, frozen=True, kw_only=True):
    """The ``[gates]`` table: one section a check, by its name.

    A check without a section is not asked and says that it is not configured.
    """

    collapse: CollapseGate | None = None
    exclusions_balanced: ExclusionsGate | None = None
    gate_sees_property: SeesGate | None = None
    length_conformance: LengthGate | None = None
    refusal_retention: RefusalGate | None = None

    memorisation: MemorisationGate | None = None
    null_has_positive_control: NullGate | None = None
    rate_bound_to_corpus: RateGate | None = None
    trip_point_outside_jitter: TripPointGate | None = None
