"""``pfid gpus``: what every GPU is busy with, and whose processes are on it."""

import contextlib
import os
import time
from pathlib import Path
from typing import Final

import click

from pfid.adapters.control_client import ControlClient
from pfid.bootstrap.gpu_gates import command_stop
from pfid.bootstrap.gpu_look import Looked, OwnLook, told_by
from pfid.bootstrap.gpu_plugins import PLUGINS, installed_sampler_plugins
from pfid.bootstrap.sources import Gathered
from pfid.cli.gathering import gathered
from pfid.cli.gpu_shapes import gpus_json
from pfid.cli.gpu_text import COLUMNS, row
from pfid.cli.output import Exit, emit_json, note, say, table
from pfid.config.paths import daemon_socket
from pfid.domain.gpu import NVML
from pfid.domain.gpu_view import GpusView
from pfid.wire.control import Done, ForgetGpu

LOOK_S: Final = 3.0
AGAIN_S: Final = 2.0
PROBLEMS: Final = {
    "no_library": "there is no GPU library here (libnvidia-ml.so.1)",
    "no_driver": "the GPU driver is not loaded",
    "driver_mismatch": "library and driver differ, as after an upgrade; running jobs are fine",
    "no_permission": "the driver refuses to answer this user",
    "starting": "the driver has not answered yet",
    "hung": "a call into the driver does not come back",
    "crashed": "the sampler ended by itself",
    "fatal_xid": "a GPU reported a fatal error; nothing is asked of the driver until it is "
    "loaded anew, or an operator reloads pfid (without a daemon: `pfid gpus --try-again`)",
    "disabled": "sampling is switched off by configuration",
    "other": "the driver does not answer",
}
NVIDIA: Final = "nvidia"
NOT_HERE: Final = frozenset({"no_library", "no_driver"})
"""What is as it should be on a box of another vendor's cards."""
WITHHELD: Final = {
    "container": "this is a container",
    "allocation": "a job's allocation or the environment gives a part of the box",
    "no_permission": "this process may not open their device nodes",
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--watch", is_flag=True, help="Look again every two seconds until interrupted.")
@click.option("--forget", metavar="UUID", help="A GPU that is gone was taken out on purpose.")
@click.option(
    "--try-again",
    is_flag=True,
    help="After a fatal error and a reset of the card: let this user's commands ask the driver.",
)
@click.pass_context
def command(
    ctx: click.Context, *, as_json: bool, watch: bool, forget: str | None, try_again: bool
) -> None:
    """Show what each GPU is busy with, and whose processes are on it.

    Asks the daemon; without one it samples for three seconds itself. Exit codes: 0, 1 when a GPU
    is missing, 3 when the driver cannot be read.
    """
    if as_json and watch:
        raise click.UsageError("--json prints one object; it cannot be had with --watch")
    if forget is not None:
        _forget(forget)
        return
    if try_again:
        for name in (NVML, PLUGINS):
            command_stop(name).clear()
    found = gathered(everything=False)
    looked = told_by(found)
    if looked is None:
        _own(ctx, found, as_json=as_json, watch=watch)
        return
    _show(looked, as_json=as_json)
    with contextlib.suppress(KeyboardInterrupt):
        while watch:
            time.sleep(AGAIN_S)
            looked = told_by(gathered(everything=False, said=set(found.problems))) or looked
            _show(looked, as_json=False, again=True)
    ctx.exit(_exit(looked.view))


def _own(ctx: click.Context, found: Gathered, *, as_json: bool, watch: bool) -> None:
    """Sample ourselves."""
    with OwnLook(found.sources, installed_sampler_plugins(os.environ)) as own:
        looked = Looked(source="own", view=own.look(LOOK_S))
        _show(looked, as_json=as_json)
        with contextlib.suppress(KeyboardInterrupt):
            while watch:
                looked = Looked(source="own", view=own.look(AGAIN_S))
                _show(looked, as_json=False, again=True)
    ctx.exit(_exit(looked.view))


def _exit(view: GpusView) -> Exit:
    if not view.up and not any(gpu.last is not None for gpu in view.gpus):
        return Exit.UNKNOWN
    missing = view.expected is not None and view.visible < view.expected
    return Exit.FAILED if missing else Exit.OK


def _show(looked: Looked, *, as_json: bool, again: bool = False) -> None:
    view = looked.view
    if as_json:
        emit_json({**gpus_json(view), "source": looked.source})
        return
    if again:
        click.clear()
    if view.gpus:
        table(COLUMNS, [row(gpu) for gpu in view.gpus])
    of_others = any(g.last is not None and g.facts.vendor != NVIDIA for g in view.gpus)
    if view.problem and not (of_others and view.problem in NOT_HERE):
        note(PROBLEMS.get(view.problem, view.problem))
    if view.up and view.expected is not None and view.visible < view.expected:
        note(f"{view.expected - view.visible} of {view.expected} GPUs do not answer")
    if view.up and view.withheld:
        why = WITHHELD.get(view.withheld, view.withheld)
        note(f"the PCI bus shows GPUs that never answered and may not be ours to see: {why}")
    if not view.gpus and not view.problem:
        note("the driver answers and has no GPU")


def _forget(uuid: str) -> None:
    socket = Path(daemon_socket(os.environ))
    with ControlClient(socket, timeout_s=10.0) as client:
        client.ask(ForgetGpu(uuid=uuid), Done)
    say(f"forgotten: {uuid}")
