"""The hooks a plugin may implement. pluggy hands checks over; it never runs them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import pluggy

from pfid.spec.check import AnyCheck
from pfid.spec.gpu_sampler import GpuSampler
from pfid.spec.notice import Notice

if TYPE_CHECKING:  # a daemon judges no evaluation
    from pfid.spec.refusal_classifier import RefusalClassifier

PROJECT: Final = "pfid"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def pfid_checks() -> Iterable[AnyCheck]:  # type: ignore[empty-body]
    """Hand over the checks of this plugin.

    Called once at start and once after each reload, implementation by implementation, each in
    its own ``try``: an exception names this plugin and leaves the others alone. The order does
    not matter; names must be unique over all plugins. May be implemented by a shipped plugin, an
    entry point of group ``pfid.plugins`` or a file in a configured plugin directory.

    Returns:
        Every check of the plugin, fully constructed.
    """


@hookspec
def pfid_gpu_samplers() -> Iterable[GpuSampler]:  # type: ignore[empty-body]
    """Hand over samplers for the GPUs of another vendor.

    Called once, in a process of its own that belongs to such plugins alone; a sampler that hangs
    or crashes costs its own figures and nothing else. The names label their health in metrics and
    must be unique; NVIDIA's ``nvml`` is built in.

    Returns:
        Every sampler of the plugin, not opened yet.
    """


@hookspec
def pfid_notify(notice: Notice) -> None:
    """Tell somebody that a failure began or ended.

    Called in the notifier's own process, one notice after the other and never two at once, for
    each implementation until it returns; what raises is tried again, later and later, for a day.
    The same event may come twice (``notice.event_id``). Switched on by ``notify.plugins``.
    """


@hookspec
def pfid_refusal_classifiers() -> "Iterable[RefusalClassifier]":  # type: ignore[empty-body]
    """Hand over models that tell refusals from answers (``pfid judge``).

    Called once, in a process of its own that ends with its answer, where a spec names a classifier
    under ``gates.refusal_retention``. It counts once its own labelled answers come out as labelled.

    Returns:
        Every classifier of the plugin; the spec names one of them.
    """
