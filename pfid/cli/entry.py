"""``pfid``: the group of commands, each loaded only when it is called."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

import click

from pfid import __version__
from pfid.cli.exit_codes import INTERRUPTED
from pfid.cli.help_text import HelpFormatter, terminal_columns
from pfid.cli.lazy_group import refuse_unknown
from pfid.cli.output_lost import OutputLostError, guard_output
from pfid.domain.errors import ConfigError, NoSuchError, PfidError
from pfid.formats.untrusted import printable

COMMANDS: Final = {
    "attach": "Watch a process that is already running.",
    "checks": "List the checks and their gates, or explain one.",
    "claims": "Keep a ledger of claims: judge it, add to it, supersede, explain.",
    "config": "Check a configuration file, or show what is in force.",
    "daemon": "Run the box's watchdog (systemd starts it).",
    "demo": "See pfid catch a fallback and a death, in under a minute.",
    "events": "Show what changed, and follow it.",
    "gpus": "Show what each GPU is busy with, and whose processes are on it.",
    "judge": "Judge an evaluation's records by gates that can fail, and say what they cannot see.",
    "merge-check": "Say whether a tune may be merged there, and what the merge changed.",
    "monitoring": "Print rules, dashboard and configuration for Prometheus and Grafana.",
    "preflight": "Check a project before its launch: what would come out wrong, in seconds.",
    "probe": "Measure what only the training interpreter can.",
    "provenance": "Show, audit, annotate and reconstruct what runs say about themselves.",
    "report": "Write one HTML file about a run, for a ticket.",
    "rotate": "Rename a log before a relaunch, losing nothing.",
    "run": "Launch a training run under watch.",
    "selftest": "Prove that every check can fire and can pass.",
    "service": "Place the systemd unit, take it away, see how it stands.",
    "show": "Show one run.",
    "status": "Show all runs, verdicts and gates.",
    "steps": "Read step times out of logs.",
    "stop": "Stop a run, recording who and why.",
    "trace": "Say where device time goes, out of profiler traces.",
    "triage": "Say where the step time goes, on one page, cheapest question first.",
    "viability": "Judge a base model before it is chosen: does it fit, and at which cost.",
}
"""Every command with its line of help; module ``pfid.cli.NAME`` holds it as ``command``."""


USAGE_MAX_CHARS: Final = 2_000
click.Context.formatter_class = HelpFormatter


@contextmanager
def _harmless() -> Iterator[None]:
    """What click says of an argument repeats it as it was given."""
    try:
        yield
    except click.ClickException as problem:
        lines = problem.message.split("\n")
        safe = "\n".join(printable(line, USAGE_MAX_CHARS) for line in lines)
        problem.message = safe  # type: ignore[misc]  # it is told by this and nothing else
        raise


class _LazyGroup(click.Group):
    """Imports a command's module when it is needed, so that ``--help`` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"pfid.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        refuse_unknown(ctx, args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run one; what it prints may meet a full disk, or a reader that left."""
        guard_output()
        kwargs.setdefault("terminal_width", terminal_columns())
        try:
            return super().main(*args, **kwargs)
        except OutputLostError as problem:
            sys.exit(problem.settle())

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the options before a command's name."""
        with _harmless():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Turn what pfid raises on purpose, and Ctrl-C, into a sentence and an exit status."""
        try:
            with _harmless():
                return super().invoke(ctx)
        except OutputLostError:
            raise
        except KeyboardInterrupt:
            from pfid.cli.interrupted import leave_threads
            from pfid.cli.output import error

            error("interrupted")
            leave_threads()
            ctx.exit(INTERRUPTED)
        except PfidError as problem:
            from pfid.cli.output import Exit, error

            error(str(problem))
            usage = isinstance(problem, (ConfigError, NoSuchError))
            ctx.exit(Exit.USAGE if usage else Exit.UNKNOWN)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.command(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="pfid")
def main() -> None:
    """Watch training runs and tell the truth about them.

    Exit codes: 0 fine, 1 a check failed, 2 usage or configuration, 3 could not look, 130 Ctrl-C.
    """
