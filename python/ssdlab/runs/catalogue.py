"""What can be chosen: presets, and configuration keys."""

from __future__ import annotations

from typing import NamedTuple

from ssdlab import _core
from ssdlab.common.shown import html, text


class Preset(NamedTuple):
    """Something that can be chosen by its name."""

    kind: str
    """"device", "workload", "scheme" or "format"."""
    name: str
    about: str
    text: str
    """A device's or workload's TOML, a scheme's choices, the layout of a format's line."""
    source: str = ""
    """Where a device's values come from."""
    capacity: int | None = None
    """A device's logical capacity [B]."""


class Presets(list[Preset]):
    """Presets, which print and show themselves as tables."""

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)


def presets() -> Presets:
    """Everything that can be chosen by name: devices, workloads, schemes, trace formats."""
    found = Presets(
        Preset(
            "device",
            of["name"],
            of["about"],
            _toml_head(about=of["about"], source=of["source"]) + of["text"],
            of["source"],
            of["capacity"],
        )
        for of in _core.devices()
    )
    found += [
        Preset("workload", of["name"], of["about"], _toml_head(about=of["about"]) + of["text"])
        for of in _core.workloads()
    ]
    found += [
        Preset("scheme", of["name"], of["about"], ",".join(f"{axis}={choice}" for axis, choice in of["choices"]))
        for of in _core.schemes()
    ]
    found += [Preset("format", of["name"], of["title"], of["layout"]) for of in _core.formats()]
    return found


def _toml_head(**texts: str) -> str:
    import json

    # JSON's escapes of these one-line texts are TOML's.
    return "".join(f"{key} = {json.dumps(text, ensure_ascii=False)}\n" for key, text in texts.items() if text) + "\n"


class Key(NamedTuple):
    """A configuration key."""

    section: str
    section_about: str
    key: str
    about: str
    accepts: str
    default: str


class Keys(list[Key]):
    """Configuration keys, which print and show themselves as a table for each section."""

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)


def schema() -> Keys:
    """Every configuration key: section, meaning, what it accepts, and its default as TOML."""
    return Keys(Key(**row) for row in _core.schema())
