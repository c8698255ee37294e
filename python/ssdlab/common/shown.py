"""What Python shows of a result: `print` gives the tables of the command line, and a notebook the same in HTML."""

from __future__ import annotations

from typing import NamedTuple

from ssdlab.common.tables import Table, one_line, plain_lines, wrapped


class View(NamedTuple):
    """What is shown of a result."""

    doubts: list[str]
    """What puts it in doubt: lines above all else."""
    verdict: str
    """What came out, in a sentence; "" where the tables are all there is."""
    tables: list[Table]
    footnotes: list[str]


def _view(found: object) -> View:
    """What is shown of a result: what shows it stands above what it is, and is loaded when it is asked for."""
    import importlib

    shown: View = importlib.import_module("ssdlab.show.views").view(found)
    return shown


def text(found: object) -> str:
    """The lines that the command line prints."""
    doubts, verdict, tables, footnotes = _view(found)
    head = [*doubts, *([*wrapped(verdict), ""] if verdict else [])]
    return "\n".join([*head, *("\n".join(plain_lines(table)) + "\n" for table in tables), *footnotes])


def html(found: object) -> str:
    """The text for notebooks: no scripts, and no styles but what places a number."""
    doubts, verdict, tables, footnotes = _view(found)
    parts = [f"<p>{_escaped(line)}</p>" for line in doubts]
    parts += [f"<p><b>{_escaped(sentence)}</b></p>" for sentence in verdict.split("\n") if sentence]
    for table in tables:
        columns = "".join(_cell("th", table, place, name) for place, name in enumerate(table.columns))
        rows = "".join(
            "<tr>" + "".join(_cell("td", table, place, cell) for place, cell in enumerate(row)) + "</tr>"
            for row in table.rows
        )
        parts.append(
            f"<table><caption style='text-align:left'><b>{_escaped(table.title)}</b></caption>"
            f"<thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>"
        )
    parts += [f"<p><small>{_escaped(line)}</small></p>" for line in footnotes]
    return "\n".join(parts)


def _cell(tag: str, table: Table, place: int, cell: str) -> str:
    return f"<{tag} style='text-align:{'left' if table.is_text(place) else 'right'}'>{_escaped(cell)}</{tag}>"


def _escaped(text: str) -> str:
    import html

    return html.escape(one_line(text))
