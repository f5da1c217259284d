"""Options of the probes that run the user's own step."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from pfid.bootstrap.step_probe import TINY, Event, StepAsk, StepSaid
from pfid.cli.output import note

Command = TypeVar("Command", bound=Callable[..., Any])
STEP_REPEATS_MAX: Final = 1_000
_SHARED: Final = (
    click.argument("target", metavar="[MODULE:STEP_FACTORY]", default=TINY),
    click.option(
        "--python",
        default="python3",
        show_default=True,
        metavar="PY",
        help="The training interpreter: the step runs in it.",
    ),
    click.option(
        "--batch",
        type=click.IntRange(min=1),
        default=2,
        show_default=True,
        metavar="N",
        help="Records of a micro-batch.",
    ),
    click.option(
        "--warmup",
        type=click.IntRange(1, 100),
        default=2,
        show_default=True,
        metavar="N",
        help="Steps before the clock runs.",
    ),
    click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        show_default=True,
        help="Where the step runs.",
    ),
    click.option("--gpu", metavar="UUID", help="The card to measure on, by uuid or index."),
    click.option(
        "--step-timeout",
        type=click.FloatRange(min=1),
        default=600.0,
        show_default=True,
        metavar="S",
        help="Longest wait for one step or one import.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=1),
        default=3_600.0,
        show_default=True,
        metavar="S",
        help="Longest everything may take.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
)
WIDTH: Final = click.option(
    "--width",
    type=click.IntRange(min=1),
    default=512,
    show_default=True,
    metavar="N",
    help="Tokens a record.",
)


def step_options(command: Command) -> Command:
    """Add what all of them take."""
    for option in reversed(_SHARED):
        command = option(command)
    return command


def repeats(default: int, least: int) -> Callable[[Command], Command]:
    """``--repeats``: how many steps are timed."""
    return click.option(
        "--repeats",
        type=click.IntRange(least, STEP_REPEATS_MAX),
        default=default,
        show_default=True,
        metavar="N",
        help="Steps that are timed.",
    )


def named(_: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """``MODULE:NAME``, or the built-in one's short name."""
    if value is None or value == TINY:
        return value
    module, colon, name = value.partition(":")
    if not (module and colon and name) or value.startswith("-"):
        raise click.BadParameter(f"{value!r} is not MODULE:NAME", param=parameter)
    return value


def step_ask(
    probe: str, target: str, options: dict[str, Any], arguments: tuple[str, ...]
) -> StepAsk:
    """What is asked of a probe.

    Raises:
        click.UsageError: for options that exclude each other.
    """
    if options["gpu"] is not None and options["device"] == "cpu":
        raise click.UsageError("--gpu and --device cpu exclude each other")
    named(click.get_current_context(), click.Argument(["target"]), target)
    shared = ("--batch", str(options["batch"]), "--warm", str(options["warmup"]))
    return StepAsk(
        python=options["python"],
        probe=probe,
        arguments=(target, *shared, "--repeats", str(options["repeats"]), *arguments),
        device=options["device"],
        gpu=options["gpu"],
        deadline_s=options["timeout"],
        silent_s=options["step_timeout"],
    )


def progress(said: Event) -> None:
    """Tell on standard error how far it is."""
    match said.get("event"):
        case "ready":
            note(f"on {said.get('name') or said.get('device')}, torch {said.get('torch')}")
        case "begin":
            note(f"width {said.get('width'):,}")
        case "sweep_ended":
            note(f"width {said.get('width'):,}: out of memory; nothing wider is tried")
        case "profiled":
            note("profiled")


def step_name(target: str) -> str:
    """How a step is called in what is printed."""
    return "the built-in tiny one, which is nobody's training" if target == TINY else target


def run_facts(target: str, said: StepSaid) -> list[tuple[str, str]]:
    """Rows that say what was measured, and where."""
    where = said.device.get("name") or said.device.get("device") or "?"
    rows = [("step", step_name(target)), ("measured on", str(where))]
    if said.device.get("device") == "cuda" and said.alone is None:
        rows.append(("caution", "whether somebody else is on the GPU could not be seen"))
    return rows


def run_json(target: str, said: StepSaid, options: dict[str, Any]) -> dict[str, Any]:
    """The same as keys."""
    return {
        "step": None if target == TINY else target,
        "batch": options["batch"],
        "device": said.device,
        "alone": said.alone,
    }
