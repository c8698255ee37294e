"""Tables of what can be chosen: presets, keys, and the constants of chips."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ssdlab.common.numbers import decimal_size
from ssdlab.common.tables import Table

if TYPE_CHECKING:
    from ssdlab.chip.characterize import Chip
    from ssdlab.runs.catalogue import Key, Preset

KINDS: tuple[tuple[str, str, tuple[str, ...], Callable[[Preset], tuple[str, ...]]], ...] = (
    (
        "Devices (--device)",
        "device",
        ("name", "capacity", "what it is"),
        lambda of: (of.name, "" if of.capacity is None else decimal_size(of.capacity), of.about),
    ),
    ("Workloads (--workload)", "workload", ("name", "what it is"), lambda of: (of.name, of.about)),
    ("Schemes (--scheme)", "scheme", ("name", "choices", "what it is"), lambda of: (of.name, of.text, of.about)),
    ("Trace formats (--format)", "format", ("name", "title", "a line"), lambda of: (of.name, of.about, of.text)),
)


def of_presets(found: Sequence[Preset]) -> list[Table]:
    """A table for each kind of which there are any."""
    tables = [
        Table(title, columns, [cells(preset) for preset in found if preset.kind == kind], left=3)
        for title, kind, columns, cells in KINDS
    ]
    return [table for table in tables if table.rows]


def of_keys(found: Sequence[Key]) -> list[Table]:
    """A table for each section."""
    sections = dict.fromkeys((key.section, key.section_about) for key in found)
    columns = ("key", "default", "what it is", "accepts")
    return [
        Table(
            f"[{section}] {about}",
            columns,
            [(key.key, key.default, key.about, key.accepts) for key in found if key.section == section],
            left=4,
        )
        for section, about in sections
    ]


def of_chip(found: Chip) -> Table:
    """A chip's constants with their sources."""
    rows: list[tuple[str, ...]] = [
        (f"{of['section']}.{of['key']}", of["value"], of["source"]) for of in found.constants
    ]
    return Table(f"{found.name}: {found.about}", ("constant", "value", "source"), rows, left=3)
