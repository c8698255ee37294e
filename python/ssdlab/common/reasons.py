"""Why cases were left out: their messages, alike ones together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Reason(NamedTuple):
    """Why some were left out."""

    cases: int
    problem: str
    """As the first of them says it."""
    remedy: str
    """What to do about it; "" where nothing is said."""
    first: str
    """The first of them."""


_NUMBER = re.compile(r"\d[\d.,]*")


def reasons_of(messages: Iterable[tuple[str, str]]) -> list[Reason]:
    """The reasons of ``messages``, each a name and what is said of it, the most frequent first. Messages are alike that
    differ in their numbers alone."""
    found: dict[str, Reason] = {}
    for name, message in messages:
        problem, _, remedy = " ".join(message.split()).removeprefix("device: ").partition(" help: ")
        kind = _NUMBER.sub("#", problem)
        known = found.get(kind)
        found[kind] = Reason(1, problem, remedy, name) if known is None else known._replace(cases=known.cases + 1)
    return sorted(found.values(), key=lambda of: -of.cases)
