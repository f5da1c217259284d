"""Limits from configuration under which a check cannot be proven: it would never be believed."""

from pfid.bootstrap.selftest import Bench, prove_gates, take_stock
from pfid.config.model import Config
from pfid.domain.gate import GateState


def unprovable_limits(config: Config) -> tuple[str, ...]:
    """Say of every shipped check whose limits are configured what lets its proof down."""
    if not config.limits:
        return ()
    found = take_stock(config).checks
    changed = [r for r in found if r.check.name in config.limits]
    return tuple(
        f"checks.{gate.check}.limits: it cannot be proven under these: {gate.why}"
        for gate in prove_gates(changed, Bench(config=config))
        if gate.state is GateState.UNPROVEN
    )
