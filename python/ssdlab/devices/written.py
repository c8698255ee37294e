"""A fitted drive as a device file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ssdlab.common.toml import toml_text
from ssdlab.devices.fitting import Estimate, Fit
from ssdlab.devices.unknowns import SHAPE_KEYS, shown


def device_toml(found: Fit) -> str:
    """The fitted drive as a device file, each value with what it follows from. Where the base device is a file its
    values are taken over, so that the file stands on its own."""
    files = ", ".join(dict.fromkeys(os.path.basename(each.job.file) for each in found.figures))
    fitted = dict.fromkeys(each.job.name for each in found.figures if each.fitted)
    source = f"ssdlab fit-device: fitted to the jobs {', '.join(fitted)} of {files}"
    base, values = _base(found.space.device)
    why = _reasons(found)
    for setting in found.settings:
        key, _, text = setting.partition("=")
        values[key] = _toml(text), why.get(key, "given")
    sections: dict[str, list[str]] = {}
    for key, (text, reason) in values.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, []).append(f"{name} = {text} # {reason}")
    about = f"fitted to {files}"
    if any(each.id == "interrupted" for each in found.warnings):
        about += f"; interrupted after {found.runs:,} runs"
    head = [f"{key} = {toml_text(text)}" for key, text in (("about", about), ("source", source), ("base", base))]
    parts = ["\n".join([f"[{section}]", *lines]) for section, lines in sections.items()]
    return "\n\n".join(["\n".join(head), *parts]) + "\n"


def _base(device: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """The preset below a device, and what the device's file says itself: values by key, as TOML, with their reason."""
    if not os.path.isfile(device):
        return device, {}
    import tomllib

    with open(device, "rb") as file:
        document = tomllib.loads(file.read().decode("utf-8-sig"))
    base = str(document.get("base", "tlc"))
    beside = os.path.join(os.path.dirname(device), base)
    below, values = _base(beside if os.path.isfile(beside) else base)
    reason = f"as in {os.path.basename(device)}"
    for section, keys in document.items():
        for key, value in _items(keys):
            values[f"{section}.{key}"] = value, reason
    return below, values


def _items(keys: Any) -> Iterator[tuple[str, str]]:
    for key, value in keys.items() if isinstance(keys, dict) else ():
        yield key, _value(value)


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(each) for each in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    return toml_text(value) if isinstance(value, str) else repr(value)


def _reasons(found: Fit) -> dict[str, str]:
    """Why each key has its value."""
    why = {}
    for estimate, unknown in zip(found.estimates, found.space.unknowns, strict=True):
        for key, _ in unknown.parts:
            why[key] = _reason(estimate, len(unknown.parts))
    for place, keys in enumerate(SHAPE_KEYS):
        others = sorted({shape[place] for shape, _ in found.shapes})
        for key in keys:
            why[key] = f"fitted: {_range(others)}" if found.space.free[place] else "given"
    why["geometry.dies"] = "all dies of a channel are counted as chips"
    why["geometry.blocks"] = f"as many as give {found.space.capacity / 1e9:.5g} GB"
    return why


def _reason(estimate: Estimate, keys: int) -> str:
    if not estimate.seen:
        return "not seen by the jobs: where the fit began"
    low, high = (None if end is None else shown(end, estimate.unit) for end in (estimate.low, estimate.high))
    together = f"{estimate.name} " if keys > 1 else ""
    if low is None or high is None:
        bound = f"at least {low}" if low is not None else f"at most {high}" if high is not None else "within its range"
        return f"fitted: {together}{bound}"
    return f"fitted: {together}{low} to {high}"


def _range(values: list[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"{', '.join(map(str, values[:-1]))} or {values[-1]}"


def _toml(text: str) -> str:
    """The value of a setting as TOML."""
    if text.startswith("["):
        return "[" + ", ".join(_toml(part.strip()) for part in text[1:-1].split(",")) + "]"
    try:
        float(text)
    except ValueError:
        return text if text in ("true", "false") else toml_text(text)
    return text
