"""Options of other tools: the keys here that they map to, and notes on those that could not be taken over unchanged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class ForeignOption:
    """An option of another tool and the key that it maps to: a row of the tables in docs/mqsim.md and docs/fio.md."""

    name: str
    ours: str
    """The key or option here; empty where there is none."""
    note: str = ""
    default: str = ""
    """The other tool's own default."""
    aliases: tuple[str, ...] = ()
    section: str = ""


class Notes:
    """Options that could not be taken over unchanged, grouped by the reason, in the order of their first mention."""

    def __init__(self) -> None:
        self._groups: dict[str, list[str]] = {}

    def add(self, group: str, option: str) -> None:
        """Names an option once in its group."""
        options = self._groups.setdefault(group, [])
        if option not in options:
            options.append(option)

    def lines(self) -> tuple[str, ...]:
        """A line for each group."""
        return tuple(f"{group}: {', '.join(options)}" for group, options in self._groups.items())


def near(name: str, known: Iterable[str]) -> str:
    """A hint at the known name that is meant, or an empty text."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), 1, cutoff=0.9)
    return f"did you mean `{found[0]}`?" if found else ""


def table(keys: Iterable[ForeignOption], heads: tuple[str, str, str]) -> str:
    """The options as a table in Markdown: the tables of the docs are these texts."""
    lines = ["| " + " | ".join(heads) + " |", "|---|---|---|"]
    for key in keys:
        names = " / ".join(f"`{name}`" for name in (key.name, *key.aliases))
        ours = ", ".join(f"`{name}`" for name in key.ours.split(", ")) if key.ours else "–"
        lines.append(f"| {names} | {ours} | {key.note} |")
    return "\n".join(lines) + "\n"
