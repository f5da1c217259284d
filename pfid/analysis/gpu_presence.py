"""Whether a box has GPUs at all, and whether anybody can look at them."""

from typing import Final

from pfid.spec.ports.gpus import GpusPort, SamplerFacts, SamplerProblem

_NOTHING_THERE: Final = frozenset(
    {
        SamplerProblem.NONE,
        SamplerProblem.DISABLED,
        SamplerProblem.NO_LIBRARY,
        SamplerProblem.NO_DRIVER,
    }
)


def gpus_exist(gpus: GpusPort) -> bool:
    """Whether the box has a GPU, as far as driver, memory and PCI bus tell.

    A driver that cannot be read is not a box without GPUs; one that is not there, on a box whose
    bus shows no card and that never had one, is.
    """
    if gpus.all():
        return True
    count = gpus.count()
    if count is not None and count.expected:
        return True
    return gpus.sampler().problem not in _NOTHING_THERE


def age_s(sampler: SamplerFacts) -> float:
    """Seconds since the last good batch, or since sampling began if there never was one."""
    return sampler.running_s if sampler.since_success_s is None else sampler.since_success_s
