"""``--help`` on a narrow terminal: click's own would never be less than fifty columns wide."""

import shutil
from collections.abc import Iterable
from typing import Final

import click

WIDE_COLUMNS: Final = 100
LEAST_COLUMNS: Final = 24
_NAMES_COLUMNS: Final = 30
"""Of options and commands, beside what they do."""


def terminal_columns() -> int:
    """How wide a text may be: the terminal, but no wider than can be read."""
    columns = shutil.get_terminal_size().columns
    return max(min(columns, WIDE_COLUMNS), LEAST_COLUMNS)


class HelpFormatter(click.HelpFormatter):
    """Gives the names of options a third of a narrow terminal."""

    def write_dl(
        self,
        rows: Iterable[tuple[str, str]],
        col_max: int = _NAMES_COLUMNS,
        col_spacing: int = 2,
    ) -> None:
        """Write names and what they mean."""
        super().write_dl(rows, min(col_max, self.width // 3), col_spacing)
