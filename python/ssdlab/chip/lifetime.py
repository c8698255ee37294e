"""Blocks cycled to the end of their lives under erase schemes (electronics25 section 7.2, Fig. 21, 25 and 26)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ssdlab import _core
from ssdlab._core import Chip, InputError
from ssdlab.chip.characterize import constant, constant_of, load

if TYPE_CHECKING:
    import polars


class EraseScheme(NamedTuple):
    """A row of choices: pulses (ispe, i-ispe, felp), margin (none, ecc), voltage (nominal, scaled, per-wordline)."""

    pulse: str
    margin: str
    voltage: str


SCHEMES = {
    name: EraseScheme(**choices)
    for name, choices in ((of["name"], dict(of["choices"])) for of in _core.schemes())
    if choices.keys() == set(EraseScheme._fields)
}
"""The named schemes that say how blocks are erased; ``ispe`` is electronics25's Baseline."""

NAMES = tuple({scheme: name for name, scheme in SCHEMES.items()}.values())
"""Each of them once: of two names for one scheme the one of the later paper."""


DEFAULT_CHIP = "tlc48-reo"
"""The chip where neither a chip nor a device is named: the one whose erases were measured."""

OF_CELLS = {"SLC": "slc", "MLC": "mlc", "TLC": "tlc48", "QLC": "qlc", "PLC": "plc"}
"""The virtual chip of a device's cells, which ``chip.model = "auto"`` stands for."""


def chip_for(chip: str | None, device: str | None) -> str:
    """The chip whose blocks are cycled: the one that is named, or that of the device, or :data:`DEFAULT_CHIP`.

    Raises:
        InputError: the device has cells of another number of bits.
    """
    if device is None:
        return chip or DEFAULT_CHIP
    own = chip_of(device)
    if chip is None:
        return own
    bits, needed = (round(constant(load(name, chips=1, blocks=1), "cells", "bits")) for name in (chip, own))
    if bits != needed:
        raise InputError(
            f"the chip {chip} has {bits} bits a cell, and the device {device} has {needed}\n"
            f"  help: leave out the chip to take that of the device, {own}, or give another device"
        )
    return chip


def chip_of(device: str) -> str:
    """The chip of a device: ``chip.model``, or the virtual chip of its cells where that is no virtual chip."""
    from ssdlab.runs.options import options_of
    from ssdlab.runs.simulation import open_simulation

    simulation = open_simulation(options_of({"device": device, "requests": 1}))
    config = json.loads(simulation.manifest)["device"]["config"]
    model = str(config["chip"]["model"])
    if model in ("auto", "none") or model.endswith(".csv"):
        return OF_CELLS[config["geometry"]["cell"]]
    return model


def cycle(
    chip: Chip,
    schemes: Sequence[str] = NAMES,
    *,
    requirement: float | None = None,
    mispredictions: float = 0.0,
    step: int = 50,
    last: int = 10_000,
) -> polars.DataFrame:
    """Every block of the chip's population, cycled under each scheme: scheme, pec, m_rber and m_rber_max (errors per
    KiB of the worst page after a year at 30 °C: mean and largest over blocks), loops (mean of an erase), within_two
    (share of blocks that two loops erase), erase_ms (mean), failed (share of blocks that all loops
    could not erase, the last one repeated).

    ``requirement`` is what a block may have (errors per KiB; by default the chip's, 63): REO's margin follows from it.
    ``mispredictions`` is the share of REO's pulses that are followed by 0.5 ms more.
    """
    import polars

    if requirement is None:
        requirement = constant(chip, "erasing", "requirement")
    if not 0 <= mispredictions <= 1 or requirement <= 0 or not 0 < step <= last:
        raise InputError(
            f"a requirement of {requirement:g} errors, {mispredictions:g} mispredictions, {last} cycles by {step}\n"
            "  help: write a positive requirement, a share of 0 to 1, and a step of 1 up to the last cycle"
        )
    rows = []
    for name in schemes:
        if name not in SCHEMES:
            raise InputError(f"there is no erase scheme {name!r}\n  help: the schemes are {', '.join(SCHEMES)}")
        found = chip.lifetime(*SCHEMES[name], mispredictions, requirement, step, last)
        for of in found:
            errors, erases = (of["mean"], of["most"]), (of["loops"], of["within_two"], of["time_ns"] / 1e6)
            rows.append((name, of["pec"], *errors, *erases, of["failed"]))
    columns = ["scheme", "pec", "m_rber", "m_rber_max", "loops", "within_two", "erase_ms", "failed"]
    return polars.DataFrame(rows, schema=columns, orient="row")


def doubt(chip: Chip) -> str | None:
    """What a chip's lives rest on, where they were not fitted to measured ones: the source of its erase model."""
    source = constant_of(chip, "erasing", "knots_wear")["source"]
    return None if source.startswith("fitted") else source


class Endurance(NamedTuple):
    """What a drive's host may write before its blocks are worn out."""

    terabytes: float
    """TBW: what the host writes [TB]."""
    years: float
    """How long that lasts at the daily load."""


def endurance(cycles: float, device: str, waf: float, dwpd: float = 1.0) -> Endurance:
    """The lifetime of a device whose blocks live for ``cycles``: wear is spread evenly, every byte of the host
    costs ``waf`` programmed ones (``ftl.waf`` of a run), and a day brings ``dwpd`` times the logical capacity."""
    from ssdlab.runs.device import Device

    if waf < 1 or dwpd <= 0:
        raise InputError(
            f"a write amplification of {waf:g} and {dwpd:g} drive writes a day\n"
            "  help: write at least 1, such as a run's ftl.waf, and a positive load"
        )
    drive = Device(device)
    written = cycles * drive.raw_capacity / waf
    return Endurance(written / 1e12, written / (dwpd * drive.capacity * 365.25))


def lifetimes(lives: polars.DataFrame, requirement: float) -> dict[str, float | None]:
    """The P/E cycles at which each scheme's mean M_RBER reaches a requirement, on a line between the cycles looked at;
    those of the first point, 0, where it has reached it there; None where it never does."""
    found: dict[str, float | None] = {}
    for (name,), of in lives.group_by("scheme", maintain_order=True):
        points = list(of.select("pec", "m_rber").iter_rows())
        found[str(name)] = float(points[0][0]) if points[0][1] >= requirement else None
        if found[str(name)] is not None:
            continue
        for (low, below), (high, above) in pairwise(points):
            if below < requirement <= above:
                found[str(name)] = low + (requirement - below) / (above - below) * (high - low)
                break
    return found
