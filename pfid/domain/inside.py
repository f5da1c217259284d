"""What a training process says about itself, beyond the seconds of its steps."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """What stands beside one step that was reported from inside; all of the reporting rank alone.

    Attributes:
        inside_s: seconds from the step's begin to its end, the wait for data not in them.
        real_tokens: tokens that are no padding.
        flops: floating-point operations of the step as its accounting counts them.
        recompute_flops: those that checkpointing computed a second time; in no other figure.
    """

    inside_s: float | None = None
    real_tokens: int | None = None
    flops: float | None = None
    recompute_flops: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What one step file says about who writes it.

    Attributes:
        asked: whether the run was launched with ``--instrument``.
        attached: processes that said they are seen, whether they stepped or not.
        reported: lines that are steps.
        explicit: whether the program reports by its own call.
        optimizers: what steps, by class, in the order of their first step; only torch's own
            classes by name, any other is "custom".
        given_up: whether the hooks left because something went wrong.
        lost: lines that could not be written, as far as the writer could say so afterwards.
        accounting: what its FLOPs count, in words; "" if nothing was said.
        peak_flops_per_s: of one device, as the program states it; None if it does not.
        dynamo: what dynamo did since launch, by name (pfid.trainer.dynamo_counters).
    """

    asked: bool = False
    attached: int = 0
    reported: int = 0
    explicit: bool = False
    optimizers: tuple[str, ...] = ()
    given_up: bool = False
    lost: int = 0
    accounting: str = ""
    peak_flops_per_s: float | None = None
    dynamo: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Achieved:
    """What the steps that ranks of this box report come to, over their newest minute or so.

    Attributes:
        window_s: seconds of steps it rests on, of one rank.
        steps: how many steps of one rank those are.
        ranks: how many ranks it adds up.
        tokens_per_s: of all of them, padding included; None if nobody says.
        real_tokens_per_s: of all of them, padding not included; likewise.
        flops_per_s: of all of them, as ``accounting`` counts; likewise.
        recompute_flops_per_s: what is computed again beside that; likewise.
        accounting: what the FLOPs count, in words.
        model_flops_utilization: ``flops_per_s`` of a rank over the peak that the program states.
        whole_run: whether it is over the whole run instead, which has ended.
    """

    window_s: float
    steps: int
    ranks: int
    tokens_per_s: float | None = None
    real_tokens_per_s: float | None = None
    flops_per_s: float | None = None
    recompute_flops_per_s: float | None = None
    accounting: str = ""
    model_flops_utilization: float | None = None
    whole_run: bool = False
