"""A fitted drive as a device file."""

from __future__ import annotations

import os

from ssdlab.common.toml import toml_text
from ssdlab.devices.fitting import Estimate, Fit
from ssdlab.devices.unknowns import SHAPE_KEYS, shown


def device_toml(found: Fit, about: str = "") -> str:
    """The fitted drive as a device file, each value with what it follows from."""
    files = ", ".join(dict.fromkeys(os.path.basename(each.job.file) for each in found.figures))
    fitted = list(dict.fromkeys(each.job.name for each in found.figures if each.fitted))
    why = {}
    for estimate, unknown in zip(found.estimates, found.space.unknowns, strict=True):
        for key, _ in unknown.parts:
            why[key] = _reason(estimate, len(unknown.parts))
    for place, keys in enumerate(SHAPE_KEYS):
        others = sorted({shape[place] for shape, _ in found.shapes})
        for key in keys:
            why[key] = f"fitted: {_range(others)}" if found.space.free[place] else "given"
    why["geometry.dies"] = "all dies of a channel are counted as chips"
    why["geometry.blocks"] = f"as many as give {found.space.capacity / 1e9:.4g} GB"
    sections: dict[str, list[str]] = {}
    for setting in found.settings:
        key, _, value = setting.partition("=")
        section, _, name = key.partition(".")
        lines = sections.setdefault(section, [])
        # What is given twice holds as it is given last.
        lines[:] = [line for line in lines if not line.startswith(f"{name} = ")]
        lines.append(f"{name} = {_toml(value)} # {why.get(key, 'given')}")
    source = f"ssdlab fit-device: fitted to the jobs {', '.join(fitted)} of {files}"
    head = [
        f"about = {toml_text(about or f'fitted to {files}')}",
        f"source = {toml_text(source)}",
        f"base = {toml_text(found.space.device)}",
    ]
    parts = ["\n".join([f"[{section}]", *lines]) for section, lines in sections.items()]
    return "\n\n".join(["\n".join(head), *parts]) + "\n"


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
    try:
        float(text)
    except ValueError:
        if text in ("true", "false"):
            return text
        return text if text.startswith("[") and '"' in text else _listed(text)
    return text


def _listed(text: str) -> str:
    if not text.startswith("["):
        return toml_text(text)
    return "[" + ", ".join(_toml(part.strip()) for part in text[1:-1].split(",")) + "]"
