"""``pfid service``: place the systemd unit, take it away, see how it stands."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pfid.cli.output import Exit, emit_json, error, facts, note, say, table

if TYPE_CHECKING:
    from pfid.policy.service_plan import Plan

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_APPLY = click.option("--apply", is_flag=True, help="Do it; without this it is only shown.")
_ROOT = click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path("/"),
    show_default=True,
    help="Root of a system image to work on instead of the running system.",
)


@click.group()
def command() -> None:
    """Place the systemd unit, take it away, see how it stands."""


@command.command()
@_APPLY
@click.option("--io", is_flag=True, help="With two capabilities, for I/O figures of other users.")
@click.option("--now", is_flag=True, help="Enable and start the unit too.")
@_ROOT
@_JSON
def install(apply: bool, io: bool, now: bool, root: Path, as_json: bool) -> None:
    """Place the unit for the interpreter this runs from, also a virtual environment.

    Shows what it would do; --apply does it. Doing it again changes nothing, and does what an
    earlier attempt left undone; with --now a daemon of another version is started again.
    Exit codes: 0 done or shown, 2 something is in the way, 3 a step failed.
    """
    from pfid.adapters.service_files import found, running_interpreter, shipped
    from pfid.bootstrap.service import machine
    from pfid.policy.service_facts import Wish
    from pfid.policy.service_plan import plan_install

    wish = Wish(io=io, now=now, root=_other(root))
    plan = plan_install(shipped(), running_interpreter(), found(root), wish, machine(root))
    _go("install", plan, root, apply=apply, as_json=as_json)


@command.command()
@_APPLY
@_ROOT
@_JSON
def uninstall(apply: bool, root: Path, as_json: bool) -> None:
    """Stop the unit and remove what was placed.

    The configuration in /etc/pfid, the state in /var/lib/pfid, /var/cache/pfid and the user pfid
    stay.

    Exit codes: 0 done or shown, 2 something is in the way, 3 a step failed.
    """
    from pfid.adapters.service_files import found, running_interpreter, shipped
    from pfid.bootstrap.service import machine
    from pfid.policy.service_plan import plan_uninstall

    plan = plan_uninstall(
        shipped(), running_interpreter(), found(root), _other(root), machine(root)
    )
    _go("uninstall", plan, root, apply=apply, as_json=as_json)


@command.command()
@_JSON
def status(as_json: bool) -> None:
    """Say how the files and the unit stand, and which version runs.

    Exit codes: 0 placed, current and active with this version, 1 not, 3 no systemd answers, or
    nobody at the socket of an active one.
    """
    from pfid.adapters.service_files import found, running_interpreter, shipped, unit_facts
    from pfid.bootstrap.service import machine
    from pfid.policy.service_plan import DROP_IN, PLACES, FileState, states, texts

    files = states(texts(shipped(), running_interpreter()), found(Path("/")))
    unit = unit_facts()
    needed = [f for f in files if f.path != PLACES[DROP_IN] or f.state is not FileState.ABSENT]
    current = all(f.state is FileState.CURRENT for f in needed)
    active = unit is not None and unit.get("ActiveState") == "active"
    box = machine(Path("/"))
    runs = None if box.running is None else box.running.version
    if as_json:
        shown = [{"path": f.path, "state": f.state} for f in files]
        emit_json(
            {
                "files": shown,
                "unit": None if unit is None else dict(unit),
                "version": box.version,
                "running_version": runs,
            }
        )
    else:
        table(("STATE", "FILE"), [(f.state.value, f.path) for f in files])
        if unit is None:
            note("no systemd answers here")
        else:
            facts([*unit.items(), ("this version", box.version), ("it runs", _said(runs))])
    if unit is None or (current and active and runs is None):
        sys.exit(Exit.UNKNOWN)
    sys.exit(Exit.OK if current and active and runs == box.version else Exit.FAILED)


def _said(version: str | None) -> str:
    return "nobody answers at its socket" if version is None else version or "an older version"


def _other(root: Path) -> str:
    return "" if root.resolve() == Path("/") else str(root.resolve())


def _go(action: str, plan: "Plan", root: Path, *, apply: bool, as_json: bool) -> None:
    from pfid.adapters.service_files import carry_out

    done = apply and not plan.problems
    if done:
        carry_out(plan, root)
    if as_json:
        emit_json(_shape(action, plan, applied=done))
    elif not plan.problems:
        _tell(plan, applied=done)
    elif not apply and plan.instead is not None:
        note("what is in the way stands below; without it this would be done:")
        for step in _steps(plan.instead):
            say(step)
    for problem in plan.problems:
        error(problem)
    sys.exit(Exit.USAGE if plan.problems else Exit.OK)


def _shape(action: str, plan: "Plan", *, applied: bool) -> dict[str, object]:
    return {
        "action": action,
        "applied": applied,
        "files": [{"path": f.path, "state": f.state} for f in plan.files],
        "steps": _steps(plan if plan.instead is None else plan.instead),
        "problems": plan.problems,
        "notes": plan.notes,
    }


def _steps(plan: "Plan") -> list[str]:
    return [
        *(f"run {' '.join(command)}" for command in plan.before),
        *(f"write {file.path}" for file in plan.write),
        *(f"remove {path}" for path in plan.remove),
        *(f"run {' '.join(command)}" for command in plan.after),
    ]


def _tell(plan: "Plan", *, applied: bool) -> None:
    if plan.nothing:
        say("nothing to do")
    for step in _steps(plan):
        say(step)
    for said in plan.notes:
        note(said)
    if not plan.nothing:
        note("done" if applied else "nothing was done; --apply does it")
