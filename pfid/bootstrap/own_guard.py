"""The guard of GPU memory where no daemon watches: the same check, over a moment's own look.

Only a box with a GPU library, or with plugins that may bring another vendor's sampler, pays for it.
Memory of a process that has just ended is given back
within moments, so what looks held is looked at for a while before a run is refused.
"""

import time
from collections.abc import Mapping
from typing import Final

from pfid.adapters.gpu_gate import find_library
from pfid.bootstrap.gpu_look import OwnLook
from pfid.bootstrap.gpu_plugins import SamplerPlugins, own_sampler_plugins
from pfid.bootstrap.selftest import Bench, prove_gates, take_stock
from pfid.config.load import ConfigFile
from pfid.config.paths import config_file
from pfid.daemon.gpu_worlds import LiveGpus
from pfid.domain.errors import ConfigError
from pfid.domain.gate import GateState
from pfid.domain.gpu_view import GpusView
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Entity, EntityKind
from pfid.host.plugins import Registered
from pfid.policy.evaluate import run_check
from pfid.policy.gpu_guard import CHECK, chosen_gpus, held, hides_nvidia
from pfid.spec.check import Stage
from pfid.spec.world import World

LOOK_S: Final = 0.6
OPEN_S: Final = 10.0
"""A driver that takes longer to start keeps nobody from a launch."""
RELEASE_S: Final = 5.0


def why_not_by_own_look(environ: Mapping[str, str]) -> str:
    """Why a run with this environment may not start on its GPUs, "" if nothing speaks against it.

    Who cannot look refuses nobody, and neither does a check that is switched off or not proven.
    """
    others = own_sampler_plugins(environ)
    nvidia = not hides_nvidia(environ) and find_library(environ) is not None
    if not nvidia and not others.places:
        return ""
    try:
        config = ConfigFile(path=config_file(environ, embedded=True)).load()
    except ConfigError:
        return ""  # the engine will say what is wrong with it
    if not config.gpus.enabled:
        return ""
    found = take_stock(config, (Stage.WATCH,)).checks
    check = next((each for each in found if each.check.name == CHECK), None)
    if check is None:
        return ""
    why = _look(check, environ, others)
    believed = why and prove_gates([check], Bench(config=config))[0].state is GateState.PROVEN
    return why if believed else ""


def _look(check: Registered, environ: Mapping[str, str], others: SamplerPlugins) -> str:
    with OwnLook(others=others) as own:
        until_s = time.monotonic() + OPEN_S + RELEASE_S
        view = own.look(LOOK_S, open_s=OPEN_S)
        why = _held(check, own, view, environ)
        while why and time.monotonic() < min(until_s, own.began_s + RELEASE_S):
            view = own.look(LOOK_S, open_s=0.0)
            why = _held(check, own, view, environ)
        return why


def _held(check: Registered, own: OwnLook, view: GpusView, environ: Mapping[str, str]) -> str:
    said = []
    for gpu in chosen_gpus(view, environ):
        if gpu.last is None:  # its driver does not answer
            continue
        about = Entity(EntityKind.GPU, gpu.facts.uuid)
        now = LiveGpus(own.box, about, time.monotonic())
        verdict = run_check(check.check, World(subject=about, gpus=now))
        if verdict.outcome is Outcome.FAIL:
            said.append((gpu, verdict.summary))
    return held(said)
