"""Tables that survive 40 columns, a pipe, NO_COLOR and a terminal that is not UTF-8.

On a terminal a table that fits is printed as one; a table that does not is folded, and on a very
narrow terminal each row becomes a block of ``column: value`` lines. Into a pipe nothing is folded
or cut, so that ``grep`` and ``awk`` see whole rows.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pfid.formats.untrusted import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

CELL_MAX_CHARS: Final = 500
STACK_BELOW_COLUMNS: Final = 60
_PIPE_COLUMNS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Cell:
    """A value and a rich style (``bold red``), which is dropped where colour is not wanted.

    What is ``whole`` is copied by people: it is folded only where nothing else is left to fold.
    """

    text: str
    style: str = ""
    whole: bool = False


def table(columns: Sequence[str], rows: Iterable[Sequence[str | Cell]], *, title: str = "") -> None:
    """Print rows under columns on stdout; every cell is sanitised.

    Raises:
        ValueError: if a row does not have one cell a column.
    """
    cells = [[_cell(value) for value in row] for row in rows]
    if any(len(row) != len(columns) for row in cells):
        raise ValueError(f"every row needs {len(columns)} cells, one for each of {columns}")
    console = _console()
    if title:
        heading(title)
    whole = _table(columns, cells)
    if _fits(console, whole) or console.width >= STACK_BELOW_COLUMNS:
        console.print(whole)
    else:
        _stack(console, columns, cells)


def heading(text: str) -> None:
    """Print a line in bold."""
    safe = printable(text, CELL_MAX_CHARS)
    _console().print(safe, style="bold", markup=False, highlight=False)


def facts(rows: Iterable[tuple[str, str | Cell]]) -> None:
    """Print names and values, one a line, the names aligned where there is room for it."""
    console = _console()
    cells = [(_cell(Cell(name, "bold")), _cell(value)) for name, value in rows]
    whole = _table(("", ""), cells)
    whole.show_header = False
    if _fits(console, whole) or console.width >= STACK_BELOW_COLUMNS:
        console.print(whole)
    else:
        for name, value in cells:
            _print_pair(console, name.text, value)


def _cell(value: str | Cell) -> Cell:
    cell = value if isinstance(value, Cell) else Cell(value)
    return replace(cell, text=printable(cell.text, CELL_MAX_CHARS))


def _console() -> "Console":
    from rich.console import Console

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    plain = bool(os.environ.get("NO_COLOR"))  # then no other escape either: bold is one
    console = Console(
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
        color_system=None if plain else "auto",
    )
    if not console.is_terminal:
        console.width = _PIPE_COLUMNS
    return console


def _table(columns: Sequence[str], cells: Sequence[Sequence[Cell]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    whole = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for i, column in enumerate(columns):
        whole.add_column(column, overflow="fold", no_wrap=any(row[i].whole for row in cells))
    for row in cells:
        whole.add_row(*(Text(cell.text, style=cell.style) for cell in row))
    return whole


def _fits(console: "Console", whole: "Table") -> bool:
    unbounded = console.options.update(max_width=_PIPE_COLUMNS)
    return console.measure(whole, options=unbounded).maximum <= console.width


def _stack(console: "Console", columns: Sequence[str], cells: Sequence[Sequence[Cell]]) -> None:
    for row in cells:
        for column, cell in zip(columns, row, strict=True):
            if cell.text:
                _print_pair(console, column, cell)
        console.print()


def _print_pair(console: "Console", name: str, cell: Cell) -> None:
    from rich.text import Text

    console.print(Text.assemble((f"{name}: ", "bold"), (cell.text, cell.style)))
