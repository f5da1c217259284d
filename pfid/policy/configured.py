"""A check under the limits that configuration sets; its controls move with them."""

from collections.abc import Mapping
from dataclasses import replace

from pfid.domain.errors import CheckDefinitionError
from pfid.spec.check import AnyCheck
from pfid.spec.limits import configured


def with_limits(check: AnyCheck, values: Mapping[str, float]) -> AnyCheck:
    """Return ``check`` under other limits; the same check if there are none.

    Raises:
        CheckDefinitionError: naming the check and the limit that cannot be used, or whose
            controls cannot be built around it.
    """
    if not values:
        return check
    try:
        return replace(check, limits=configured(check.limits, values))
    except CheckDefinitionError as error:
        raise CheckDefinitionError(f"check {check.name}, limits from configuration: {error}") from (
            error
        )
    except Exception as error:
        raise CheckDefinitionError(
            f"check {check.name}: its controls cannot be built around the configured limits: "
            f"{type(error).__name__}: {error}"
        ) from error
