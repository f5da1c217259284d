"""Options of the probes that run the user's own step."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from pfid.bootstrap.step_probe import TINY, Event, StepAsk, StepSaid, run_step_probe
from pfid.cli.finite import FiniteRange, WholeRange
from pfid.cli.gathering import gathered
from pfid.cli.output import note

Command = TypeVar("Command", bound=Callable[..., Any])
STEP_REPEATS_MAX: Final = 1_000
WIDTHS: Final = "512,1024,2048,4096"
TINY_WIDTHS: Final = "128,256,512,1024"
WIDTHS_MAX: Final = 32


def _shared(*, batch: int, warmup: int, least_warmup: int) -> tuple[Callable[[Any], Any], ...]:
    return (
        click.argument("target", metavar="[MODULE:STEP_FACTORY]", default=TINY),
        click.option(
            *("--python", "python"), default="python3", show_default=True, metavar="PY",
            help="The training interpreter: the step runs in it.",
        ),
        click.option(
            "--batch", type=WholeRange(min=1), default=batch, show_default=True, metavar="N",
            help="Records of a micro-batch, the same at each width.",
        ),
        click.option(
            "--warmup", type=WholeRange(least_warmup, 100), default=warmup, show_default=True,
            metavar="N", help="Steps of each shape before the clock runs.",
        ),
        click.option(
            "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto",
            show_default=True, help="Where; auto is a GPU where torch sees one.",
        ),
        click.option("--gpu", metavar="UUID", help="The card to measure on, by uuid or index."),
        click.option(
            "--step-timeout", type=FiniteRange(min=1), default=600.0, show_default=True,
            metavar="S", help="Longest wait for one step or one import.",
        ),
        click.option(
            "--timeout", type=FiniteRange(min=1), default=3_600.0, show_default=True,
            metavar="S", help="Longest everything may take.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    )  # fmt: skip


WIDTH: Final = click.option(
    "--width",
    type=WholeRange(min=1),
    default=512,
    show_default=True,
    metavar="N",
    help="Tokens a record.",
)


def _with(command: Command, options: tuple[Callable[[Any], Any], ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def step_options(command: Command) -> Command:
    """Add what all of them take."""
    return _with(command, _shared(batch=2, warmup=2, least_warmup=1))


def sweep_options(command: Command) -> Command:
    """Add the same for a sweep, which makes a step at every width."""
    return _with(command, _shared(batch=1, warmup=1, least_warmup=0))


def widths(_: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Widths in any order, each once; narrowest first."""
    if value is None:
        return None
    parts = [part.strip().replace("_", "") for part in value.split(",") if part.strip()]
    if not parts or not all(p.isascii() and p.isdecimal() and len(p) < 9 for p in parts):
        raise click.BadParameter(f"{value!r} is not like 512,1024,2048", param=parameter)
    found = sorted({int(part) for part in parts})
    if found[0] < 1 or len(found) > WIDTHS_MAX:
        raise click.BadParameter(f"from 1 token on, and {WIDTHS_MAX} at most", param=parameter)
    return ",".join(str(width) for width in found)


def asked_widths(target: str, given: str | None) -> tuple[str, str]:
    """The arguments that say which widths; the usual ones where none are given."""
    return "--widths", given or (TINY_WIDTHS if target == TINY else WIDTHS)


WIDTHS_OPTION: Final = click.option(
    "--widths", callback=widths, metavar="W,W,...",
    help=f"Tokens a record; {WIDTHS} where it is not said.",
)  # fmt: skip


def repeats(
    default: int, least: int, *, help_text: str = "Steps that are timed."
) -> Callable[[Command], Command]:
    """``--repeats``: how many steps are timed."""
    return click.option(
        "--repeats",
        type=WholeRange(least, STEP_REPEATS_MAX),
        default=default,
        show_default=True,
        metavar="N",
        help=help_text,
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


def measured(ask: StepAsk) -> StepSaid:
    """Run a probe to its end, with a word of progress.

    Raises:
        StepProbeError: if the card is not free, or the probe does not end well.
    """
    return run_step_probe(ask, lambda: gathered(everything=False).sources, progress)


def progress(said: Event) -> None:
    """Tell on standard error how far it is."""
    match said.get("event"):
        case "ready":
            where = said.get("name") or said.get("device")
            note(f"on {where}, torch {said.get('torch') or 'absent'}")
        case "timing" if "width" in said:
            note(f"width {said['width']:,}: {said['seconds']:.4g} s")
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
