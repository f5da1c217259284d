"""How the demo speaks: short lines that wrap at 40 columns, and read well in a pipe."""

import time
from typing import Final

from rich.console import Console
from rich.text import Text

from pfid.formats.untrusted import printable

STYLES: Final = {"pass": "green", "fail": "bold red", "unknown": "yellow"}
INDENT: Final = 3
_PIPE_COLUMNS: Final = 10_000
LIVE_EVERY_S: Final = 2.0
"""Progress is shown no more often than this."""


class Voice:
    """Prints on stdout; everything is sanitised, and colour goes where it is wanted."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, markup=False, emoji=False)
        self._began_s = time.monotonic()
        self._live_at_s = float("-inf")
        self._act = 0

    def act(self, title: str) -> None:
        """Open the next act."""
        self._act += 1
        age_s = time.monotonic() - self._began_s
        self._console.print()
        self._console.print(
            Text(f"{self._act}. {title}  [{age_s:.0f}s]", style="bold"),
            soft_wrap=not self._console.is_terminal,
        )

    def say(self, text: str, style: str = "") -> None:
        """Say one thing."""
        self._print(Text(printable(text, 500), style=style))

    def verdict(self, check: str, outcome: str, summary: str) -> None:
        """Say what a check found."""
        said = Text(f"{outcome.upper()} ", style=STYLES.get(outcome, ""))
        said.append(printable(f"{check}: {summary}", 500), style="not bold default")
        self._print(said)

    def _print(self, text: Text) -> None:
        """Print it indented; on a terminal it is folded, in a pipe a line stays a line."""
        width = self._console.width - INDENT if self._console.is_terminal else _PIPE_COLUMNS
        for line in text.wrap(self._console, max(width, INDENT)):
            line.rstrip()
            self._console.print(Text(" " * INDENT) + line, soft_wrap=True)

    def progress(self, text: str) -> None:
        """Show that things move, at most once in a while."""
        now_s = time.monotonic()
        if now_s - self._live_at_s >= LIVE_EVERY_S:
            self._live_at_s = now_s
            self.say(text, style="dim")
