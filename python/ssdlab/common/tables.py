"""Tables for the terminal. rich draws them on a terminal; elsewhere they are plain aligned text, without its import."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

WIDTH = 80
"""Characters that a line of a table or of a sentence may take."""
NARROWEST = 20
"""Text in a table is not wrapped to less."""


class Table(NamedTuple):
    """Cells to be shown. A cell that begins with "~" is drawn dim on a terminal."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    left: int = 1
    """How many columns from the left are text; the others are numbers, flush right."""
    right: int = 0
    """How many columns from the right are text too."""

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


def wrapped(sentence: str) -> list[str]:
    """Sentences, each on lines of its own, of :data:`WIDTH` characters at most."""
    wrap = textwrap.TextWrapper(WIDTH, break_on_hyphens=False, break_long_words=False)
    return [line for each in sentence.split("\n") for line in wrap.wrap(one_line(each))]


def show(tables: Iterable[Table], footnotes: Iterable[str] = (), verdict: str = "") -> None:
    """Prints to standard output: what came out, in a sentence, then the tables."""
    if verdict:
        print("\n".join(wrapped(verdict)), end="\n\n")
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
    """A table as lines of :data:`WIDTH` characters at most: text is wrapped, and numbers that find no room stand in a
    second table below."""
    lines = textwrap.wrap(table.title, WIDTH) or [""]
    for number, part in enumerate(_parts(table, WIDTH)):
        lines += [""] if number else []
        widths = _wrapped_widths(part)
        for row in [part.columns, *part.rows]:
            lines += _row_lines(part, row, widths)
    return lines


def _widths(table: Table) -> list[int]:
    return [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]


def _taken(widths: Iterable[int]) -> int:
    return sum(2 + width for width in widths)


def _wrapped_widths(table: Table) -> list[int]:
    """The widths of columns, of texts as far as there is room: the widest gives way first."""
    widths = _widths(table)
    texts = [place for place in range(len(widths)) if table.is_text(place)]
    while texts and _taken(widths) > WIDTH:
        widest = max(texts, key=lambda place: widths[place])
        if widths[widest] <= NARROWEST:
            break
        widths[widest] -= 1
    return widths


def _row_lines(table: Table, row: Sequence[str], widths: Sequence[int]) -> list[str]:
    cells = [_in_lines(cell, width) if width < len(cell) else [cell] for cell, width in zip(row, widths, strict=True)]
    lines = []
    for number in range(max(map(len, cells))):
        parts = (of[number] if number < len(of) else "" for of in cells)
        shown = (
            c.ljust(w) if table.is_text(i) else c.rjust(w) for i, (c, w) in enumerate(zip(parts, widths, strict=True))
        )
        lines.append(("  " + "  ".join(shown)).rstrip())
    return lines


_BREAKS = re.compile(r"(?<=[,;|])(?=\S)|(?<=\S) (?![%±] )")
"""Where a cell may be broken: behind commas too, since choices are listed without spaces; not before a unit."""


def _in_lines(cell: str, width: int) -> list[str]:
    """A cell in lines of ``width`` characters; a word is broken only where it is longer than a line."""
    lines = [""]
    for part in re.split(f"({_BREAKS.pattern})", cell):
        if not part:
            continue
        if len(lines[-1]) + len(part.rstrip()) <= width:
            lines[-1] += part
            continue
        lines.append(part.lstrip())
        while len(lines[-1]) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return [line.rstrip() for line in lines if line.strip()] or [""]


def _parts(table: Table, room: int) -> list[Table]:
    """A table, or several with the same rows where its numbers do not fit beside each other."""
    least = [min(width, NARROWEST) if table.is_text(place) else width for place, width in enumerate(_widths(table))]
    if _taken(least) <= room:
        return [table]
    head, tail = list(range(table.left)), list(range(len(least) - table.right, len(least)))
    room -= _taken(least[place] for place in head)
    groups: list[list[int]] = [[]]
    for place in range(table.left, len(least) - table.right):
        if groups[-1] and _taken(least[at] for at in [*groups[-1], place]) > room:
            groups.append([])
        groups[-1].append(place)
    if tail and groups[-1] and _taken(least[at] for at in [*groups[-1], *tail]) > room:
        groups.append([])
    parts = []
    for group in groups:
        last = group is groups[-1]
        places = [*head, *group, *(tail if last else ())]
        rows = [tuple(row[place] for place in places) for row in table.rows]
        columns = tuple(table.columns[place] for place in places)
        parts.append(table._replace(columns=columns, rows=rows, right=table.right if last else 0))
    return parts


def _show_rich(tables: Iterable[Table], footnotes: Iterable[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console(highlight=False)
    parts = (part for table in tables for part in _parts(table, console.width - 2))
    for table in parts:
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


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])
