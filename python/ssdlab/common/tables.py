"""Tables for the terminal. rich draws them on a terminal; elsewhere they are plain aligned text, without its import."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import NamedTuple


class Table(NamedTuple):
    """Cells to be shown. A cell that begins with "~" is drawn dim on a terminal."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    left: int = 1
    """So many columns from the left are text; the others are numbers, flush right."""
    right: int = 0
    """So many columns from the right are text too."""

    def is_text(self, column: int) -> bool:
        """Whether a column is text: flush left, and wrapped where there is no room."""
        return column < self.left or column >= len(self.columns) - self.right


_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that steer a terminal: all of C0 and C1 but tab and newline, and those that turn the direction of text."""


def escaped(text: str) -> str:
    """Text with visible escapes in place of what steers a terminal: labels and names of files may hold anything."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """:func:`escaped`, newlines and tabs too."""
    return escaped(text).replace("\n", "\\n").replace("\t", "\\t")


def show(tables: Iterable[Table], footnotes: Iterable[str] = ()) -> None:
    """Prints to standard output."""
    tables = [_escaped(table) for table in tables]
    footnotes = [escaped(line) for line in footnotes]
    if sys.stdout.isatty():
        _show_rich(tables, footnotes)
        return
    for table in tables:
        print("\n".join(plain_lines(table)), end="\n\n")
    for line in footnotes:
        print(line)


def _escaped(table: Table) -> Table:
    rows = [tuple(map(one_line, row)) for row in table.rows]
    return table._replace(title=one_line(table.title), columns=tuple(map(one_line, table.columns)), rows=rows)


def plain_lines(table: Table) -> list[str]:
    rows = [table.columns, *table.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]
    lines = [table.title]
    for row in rows:
        cells = (
            c.ljust(w) if table.is_text(i) else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines


def _show_rich(tables: Iterable[Table], footnotes: Iterable[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console(highlight=False)
    for table in tables:
        drawn = Drawn(
            title=Text(table.title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, header_style="cyan"
        )
        for i, name in enumerate(table.columns):
            drawn.add_column(
                Text(name), justify="left" if table.is_text(i) else "right", no_wrap=i > 0 and not table.is_text(i)
            )
        for row in table.rows:
            drawn.add_row(*(Text(cell, style="dim" if cell.startswith("~") else "") for cell in row))
        console.print(drawn)
    for line in footnotes:
        console.print(Text(line, style="dim"))
