"""A group of commands, each in a module that is imported only when it is called."""

from collections.abc import Iterable, Mapping
from importlib import import_module

import click


def refuse_unknown(ctx: click.Context, name: str, known: Iterable[str]) -> None:
    """Return if there is such a command, or an option stands there; click knows none of ours."""
    names = sorted(known)
    if name in names or name.startswith("-") or ctx.resilient_parsing:
        return
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    ctx.fail(f"No such command {name!r}.{hint}")


class LazyGroup(click.Group):
    """Knows its commands by name and line of help; ``module`` says where each one's is."""

    def __init__(
        self, *args: object, entries: Mapping[str, str], module: str, **kwargs: object
    ) -> None:
        """Take the table of commands.

        Args:
            args: click's.
            entries: line of help by name.
            module: name of each one's module, with ``{}`` for its name; it holds ``command``.
            kwargs: click's.
        """
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._entries = entries
        self._module = module

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Names in order."""
        return sorted(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one."""
        if cmd_name not in self._entries:
            return None
        module = import_module(self._module.format(cmd_name.replace("-", "_")))
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Say what is near where there is none."""
        refuse_unknown(ctx, args[0], self._entries)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List them without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(self._entries.items()))
