"""What a profiled step achieved by the ND accounting: by the model it came with, or one named."""

from contextlib import suppress
from typing import Any

from pfid.analysis.nd_accounting import Accounted, Counted, account, counted_of
from pfid.bootstrap.step_probe import StepProbeError, StepSaid
from pfid.cli.trace_accounting import StepWork
from pfid.formats.model_config.fields import ModelConfigError
from pfid.formats.model_config.read import read_config

NO_MODEL = (
    "the factory returns no model beside its step; return both, or name --model or --parameters"
)


def counted_step(said: StepSaid, named: Counted | None) -> Counted | None:
    """Parameters of the step: as the user says, else of the model that the step came with.

    Raises:
        StepProbeError: if the probe said what cannot be.
    """
    told = said.of("model")
    if named is not None or not told:
        return named
    try:
        trained, multiplied = float(told[0]["trained"]), float(told[0]["multiplied"])
        everything = float(told[0]["parameters"])
        config = told[0].get("config")
    except (KeyError, TypeError, ValueError) as error:
        raise StepProbeError(f"the probe said what cannot be: {error}") from error
    if isinstance(config, dict):
        with suppress(ModelConfigError, ValueError):  # then its modules are counted
            return counted_of(read_config(config), "the configuration of the step's model", trained)
    if not 0 < multiplied <= everything or not 0 <= trained <= multiplied:
        return None
    return Counted(
        parameters=multiplied,
        trained=trained,
        all_parameters=multiplied,
        source="every parameter of the step's model that is multiplied with",
    )


def accounted_step(said: StepSaid, counted: Counted | None) -> tuple[Accounted | None, str | None]:
    """Account for the profiled steps, or say why that cannot be done.

    Raises:
        StepProbeError: if the probe said what cannot be.
    """
    if counted is None:
        return None, NO_MODEL
    profiled = said.of("profiled")
    if not profiled:
        return None, "no step was profiled"
    try:
        steps, wall_s = int(profiled[0]["steps"]), float(profiled[0]["wall_s"])
        tokens, width = float(profiled[0]["tokens"]), int(profiled[0]["width"])
    except (KeyError, TypeError, ValueError) as error:
        raise StepProbeError(f"the probe said what cannot be: {error}") from error
    if steps < 1 or wall_s <= 0:
        return None, "the profiled steps took no time"
    return account(counted, tokens, width, wall_s / steps), None


def work_of(said: StepSaid, counted: Counted | None) -> StepWork:
    """The same for the table of the trace."""
    one: dict[str, Any] = dict((said.of("profiled") or [{}])[0])
    return StepWork(
        counted=counted, tokens=one.get("tokens"), width=one.get("width"), steps=one.get("steps")
    )
