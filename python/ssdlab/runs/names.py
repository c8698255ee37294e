"""The names of statistics: every one that a run may report, whatever its drive and its workload have."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from functools import cache

from ssdlab.runs import statistics
from ssdlab.runs.sections import Section

_SECTIONS: dict[str, type[Section]] = {
    "host": statistics.Host,
    "flash": statistics.Flash,
    "ftl": statistics.Ftl,
    "usage": statistics.Usage,
    "energy": statistics.Energy,
    "thermal": statistics.Thermal,
    "smart": statistics.Smart,
    "fdp": statistics.Fdp,
    "zones": statistics.Zones,
    "power": statistics.Power,
}
_UNTYPED = ("array.", "serve.")
"""Sections whose names are no classes."""


@cache
def names() -> tuple[str, ...]:
    """The statistics that are one number, in the order of results; ``*`` stands for the number of a queue."""
    return tuple(name for section, kind in _SECTIONS.items() for name in _below(section, kind))


def _below(place: str, kind: type[Section]) -> Iterator[str]:
    for key, inner in kind._parts.items():
        if key == "*":
            yield from _below(f"{place}.*", inner)
    for key, typed in kind.__annotations__.items():
        part = kind._parts.get(key)
        if key == "_parts" or typed.startswith("tuple["):
            continue
        yield from [f"{place}.{key}"] if part is None else _below(f"{place}.{key}", part)


def why_unknown(pattern: str) -> str | None:
    """The remedy for a statistic's name, or a pattern of names, that no run reports; None where a run may report it."""
    if pattern.startswith((*_UNTYPED, "*", "?", "[")):
        return None
    for name in names():
        before, _, _ = name.partition("*")
        if fnmatch.fnmatchcase(name.replace("*", "0"), pattern) or (before != name and pattern.startswith(before)):
            return None
    from difflib import get_close_matches

    parts = {f"{name.rpartition('.')[0]}.*" for name in names()}
    near = get_close_matches(pattern, [*names(), *sorted(parts)], 1)
    return f"did you mean `{near[0]}`?" if near else "docs/statistics.md lists them"
