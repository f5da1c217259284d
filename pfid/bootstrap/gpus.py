"""Joins the GPU samplers to the loop: one process for NVML, one for what plugins bring."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from pfid.adapters.gpu_references import load_references
from pfid.adapters.gpu_worker import (
    GpuEvent,
    GpuSaid,
    GpusOnBus,
    GpuWorker,
    pids_are_ours,
)
from pfid.adapters.host_pids import host_pids
from pfid.bootstrap.gpu_gates import daemon_gate
from pfid.bootstrap.gpu_plugins import PLUGINS, sampler_plugins
from pfid.bootstrap.gpu_withheld import withheld_here
from pfid.bootstrap.place import Place
from pfid.config.model import Config
from pfid.daemon.gpu_box import GpuBox
from pfid.daemon.messages import GpuBusSeen, GpuHeard, GpuSamplerLost, Message
from pfid.domain.gpu import NVML
from pfid.host.plugins import PluginSource

Post = Callable[[Message], None]


def expected_gpus(config: Config) -> int | None:
    """How many GPUs there are, None if the configuration leaves that open."""
    return None if config.gpus.expected < 0 else config.gpus.expected


def gpu_box(config: Config, kept: Path | None = None) -> GpuBox:
    """An empty box, under a configuration; without samplers where sampling is switched off.

    Args:
        config: in force.
        kept: folder of a user whose own references count, None for the box's daemon.
    """
    box = GpuBox(
        interval_s=config.gpus.interval_s,
        configured=expected_gpus(config),
        pids_are_ours=pids_are_ours(),
        own_pid=host_pids().own_pid,
        why_withheld=withheld_here,
        references={} if kept is None else load_references(kept),
    )
    if config.gpus.enabled:
        box.sampler(NVML, time.monotonic())
    return box


class GpuJoint:
    """The samplers of a daemon; none where sampling is switched off."""

    def __init__(
        self, post: Post, config: Config, plugins: Sequence[PluginSource], place: Place
    ) -> None:
        """Report through ``post``; ``plugins`` are those that are not pfid's own."""
        self._workers: list[GpuWorker] = []
        if not config.gpus.enabled:
            return
        every_s = config.gpus.interval_s
        heard = partial(_heard, post, NVML)
        self._workers.append(GpuWorker(heard, interval_s=every_s, gate=daemon_gate(place)))
        others = sampler_plugins(plugins, config)
        if others.places:
            heard = partial(_heard, post, PLUGINS)
            self._workers.append(
                GpuWorker(
                    heard,
                    interval_s=every_s,
                    plugins=others.places,
                    gate=daemon_gate(place, PLUGINS),
                    memory_max_bytes=others.memory_max_bytes,
                )
            )

    def start(self) -> None:
        """Start them as soon as there is something to read."""
        for worker in self._workers:
            worker.start()

    def try_again(self) -> None:
        """An operator says that whatever kept us from a driver is over."""
        for worker in self._workers:
            worker.try_again()

    def close(self, timeout_s: float) -> None:
        """End them; the driver is let go of politely."""
        for worker in self._workers:
            worker.close(timeout_s)


def _heard(post: Post, sampler: str, event: GpuEvent) -> None:
    if isinstance(event, GpuSaid):
        post(GpuHeard(report=event.report))
    elif isinstance(event, GpusOnBus):
        post(GpuBusSeen(bus_ids=event.bus_ids))
    else:
        post(
            GpuSamplerLost(
                sampler=sampler, problem=event.problem, index=event.index, detail=event.detail
            )
        )
