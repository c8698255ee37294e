"""Shapes: what a paper's figures show that no number of its text says (an order, a monotone line, "nearly all").

They stand beside the claims, and are none of them: a claim is a published number with a range, a shape holds or does
not. A search for what a paper leaves open puts points that break one behind all others, so that it cannot buy numbers
with shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ssdlab._core import InputError

if TYPE_CHECKING:
    from ssdlab.study.claims import Reason, Tables

FILE = "shapes.toml"


class Shape(NamedTuple):
    """What a figure shows."""

    id: str
    where: str
    says: str


class Seen(NamedTuple):
    """What the tables show of a shape."""

    holds: bool
    what: str
    """The numbers that decide it."""


Look = Callable[["Tables"], Seen]
"""Looks at a study's tables for a shape (``SHAPES`` of ``study.py``)."""


class Told(NamedTuple):
    """A shape and what was seen of it."""

    shape: Shape
    seen: Seen | None
    """None where its tables are not there."""
    reason: Reason | None
    """Why it does not hold (``why.toml``)."""


def read(folder: Path) -> list[Shape]:
    """The shapes that a study declares (``shapes.toml``).

    Raises:
        InputError: the file cannot be read, or is no list of shapes.
    """
    import tomllib

    path = folder / FILE
    if not path.exists():
        return []
    try:
        found = [Shape(**part) for part in tomllib.loads(path.read_text(encoding="utf-8"))["shapes"]]
    except (tomllib.TOMLDecodeError, TypeError, KeyError) as error:
        raise InputError(f"{path}: {error}\n  help: a shape has {', '.join(Shape._fields)}") from None
    twice = {shape.id for shape in found if sum(other.id == shape.id for other in found) > 1}
    if twice:
        raise InputError(f"{path}: {', '.join(sorted(twice))}: twice\n  help: each shape has an id of its own")
    return found


def rises(values: Iterable[float]) -> bool:
    """Whether each value is at least the one before it."""
    return all(before <= after for before, after in pairwise(values))


def listed(values: Mapping[str, float], digits: int = 1) -> str:
    """Numbers by name, for people."""
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in values.items())
