"""Options of other tools: what becomes of each, and what could not be taken over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Key:
    """What becomes of a word of another tool: the rows of the tables in docs/mqsim.md and docs/fio.md."""

    name: str
    ours: str
    """The key here, or where it goes; empty where there is none."""
    note: str = ""
    default: str = ""
    """What the other tool takes where its file says nothing."""
    aliases: tuple[str, ...] = ()
    section: str = ""


class Notes:
    """What could not be taken over as it stands: words by what became of them, in the order of their first mention."""

    def __init__(self) -> None:
        self._groups: dict[str, list[str]] = {}

    def add(self, group: str, word: str) -> None:
        words = self._groups.setdefault(group, [])
        if word not in words:
            words.append(word)

    def lines(self) -> tuple[str, ...]:
        """A line a group."""
        return tuple(f"{group}: {', '.join(words)}" for group, words in self._groups.items())


def near(word: str, known: Iterable[str]) -> str:
    """A hint at the known word that is meant, or an empty text."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), 1, cutoff=0.9)
    return f"did you mean `{found[0]}`?" if found else ""


def table(keys: Iterable[Key], heads: tuple[str, str, str]) -> str:
    """The keys as a table in Markdown: the tables of the docs are these texts."""
    lines = ["| " + " | ".join(heads) + " |", "|---|---|---|"]
    for key in keys:
        names = " / ".join(f"`{name}`" for name in (key.name, *key.aliases))
        ours = ", ".join(f"`{word}`" for word in key.ours.split(", ")) if key.ours else "–"
        lines.append(f"| {names} | {ours} | {key.note} |")
    return "\n".join(lines) + "\n"
