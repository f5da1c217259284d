"""``pfid demo``: a real training loses its fast path and dies, and pfid says so; or the demo fails.

It launches a real process through the real ``pfid run``, with the real engine, checks and events,
in a folder of its own. A verdict that does not come ends it with exit status 1.
"""

import signal
from types import FrameType

import click

from pfid.cli.exit_codes import Exit
from pfid.cli.own_name import called
from pfid.domain.errors import PfidError


@click.command("demo", short_help="See pfid catch a fallback and a death, in under a minute.")
@click.option(
    "--training",
    type=click.Choice(["auto", "torch", "numpy"]),
    default="auto",
    show_default=True,
    help="Which real training to run; auto takes torch where it can compile.",
)
def command(training: str) -> None:
    """Show what pfid does, on a real training process, in under a minute.

    Needs no root, no GPU and no daemon, and leaves nothing behind. Exits with 1 if any verdict
    that was promised did not come.
    """
    from pfid.cli.demo.stage import Stage
    from pfid.cli.demo.story import Story
    from pfid.cli.demo.trainings import choose
    from pfid.cli.demo.voice import Voice

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    voice = Voice()
    with Stage() as stage:
        try:
            Story(stage, voice, choose(training)).play()
        except PfidError as error:
            voice.act("The demo failed")
            voice.say(str(error), style="bold red")
            raise SystemExit(Exit.FAILED) from error
    voice.act("That was pfid; nothing is left behind")
    voice.say(f"Next: {called()} run --name NAME -- python train.py")


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a signal handler
    """Clear the stage before going: an exception unwinds, the default would not."""
    raise SystemExit(128 + number)
