"""The papers' procedures on a population of virtual chips, each as a table.

Conditions are P/E cycles, months of retention at 30 °C, and the temperature of the read; errors are raw bit errors
per KiB.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ssdlab import _core
from ssdlab._core import EPT_FIRST, EPT_RANGES, InputError
from ssdlab.common.machine import cpus
from ssdlab.common.shown import html, text

if TYPE_CHECKING:
    import polars

    from ssdlab._core import Constant

Progress = Callable[[float], None]

PEC = (0, 1000, 2000)
MONTHS = (0.0, 1.0, 3.0, 6.0, 9.0, 12.0)
CELSIUS = (85.0, 55.0, 30.0)
CAPABILITY_RBER = 0.0085
"""hpca24 section II-B: the capability of its code."""


class Chip(_core.Chip):
    """A virtual chip in a population of chips and blocks. It prints and shows itself as its constants with their
    sources."""

    name: str
    """The preset's name, or the file's path."""

    def __repr__(self) -> str:
        return f"<ssdlab chip {self.name}: {self.about}>"

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)


def load(chip: str | os.PathLike[str], *, chips: int = 160, blocks: int = 120, seed: int = 1) -> Chip:
    """A preset, or the chip of a TOML file, in a population of ``chips`` with ``blocks`` blocks each."""
    name = os.fspath(chip)
    if name in Chip.names() or not name.endswith(".toml"):
        return _named(Chip(name, chips=chips, blocks=blocks, seed=seed), name)
    try:
        written = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: cannot be read: {error}\n  help: give a preset or the path of a chip file") from None
    return _named(Chip(name, written, chips=chips, blocks=blocks, seed=seed), name)


def _named(chip: Chip, name: str) -> Chip:
    chip.name = name
    return chip


def retry_steps(
    chip: _core.Chip,
    *,
    pec: Sequence[int] = PEC,
    months: Sequence[float] = MONTHS,
    celsius: float = 85.0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> polars.DataFrame:
    """Retry steps of every page (asplos21 Fig. 5): pec, months, steps, pages (i64). Where no step reads the pages,
    ``steps`` is null: blank in a CSV file, which ``chip.model`` takes for the same."""
    import polars

    conditions = [(p, m) for p in pec for m in months]
    counts = chip.retry_steps([(p / 1e3, m, celsius) for p, m in conditions], threads or cpus(), progress)
    rows = [
        (p, m, steps if steps < len(found) - 1 else None, pages)
        for (p, m), found in zip(conditions, counts, strict=True)
        for steps, pages in enumerate(found)
        if pages
    ]
    schema = {"pec": polars.Int64, "months": polars.Float64, "steps": polars.Int64, "pages": polars.Int64}
    return polars.DataFrame(rows, schema=schema, orient="row")


def m_err(
    chip: _core.Chip, *, pec: Sequence[int] = PEC, months: Sequence[float] = MONTHS, celsius: Sequence[float] = CELSIUS
) -> polars.DataFrame:
    """M_ERR, the most errors in the last retry step of any page (asplos21 Fig. 7): pec, months, celsius, m_err."""
    import polars

    rows = [(p, m, c, chip.m_err((p / 1e3, m, c))) for p in pec for m in months for c in celsius]
    return polars.DataFrame(rows, schema=["pec", "months", "celsius", "m_err"], orient="row")


GRIDS = {"pre": 15, "eval": 10, "disch": 15}
"""Cuts come in these parts of a phase: asplos21 quotes fifteenths of tPRE and tDISCH; of tEVAL, which is 5 µs, halves
of a microsecond (``assumed``)."""
MOST = {"pre": 0.6, "eval": 0.4, "disch": 0.4}
"""asplos21 Fig. 8 and 9."""


def _cuts(phase: str, cut: float) -> tuple[float, float, float]:
    return (cut if phase == "pre" else 0.0, cut if phase == "eval" else 0.0, cut if phase == "disch" else 0.0)


def timing_cuts(
    chip: _core.Chip,
    *,
    pec: Sequence[int] = PEC,
    months: Sequence[float] = (0.0, 3.0, 12.0),
    celsius: Sequence[float] = (85.0,),
) -> polars.DataFrame:
    """What cutting one phase of a sense costs (asplos21 Fig. 8 and 10): pec, months, celsius, phase, cut (a share),
    m_err, added (m_err minus that without cut)."""
    import polars

    rows = []
    for p in pec:
        for m in months:
            for c in celsius:
                at = (p / 1e3, m, c)
                base = chip.m_err(at)
                for phase, grid in GRIDS.items():
                    for step in range(int(MOST[phase] * grid + 1e-9) + 1):
                        found = chip.m_err(at, _cuts(phase, step / grid))
                        rows.append((p, m, c, phase, step / grid, found, found - base))
    schema = ["pec", "months", "celsius", "phase", "cut", "m_err", "added"]
    return polars.DataFrame(rows, schema=schema, orient="row")


def both_cuts(
    chip: _core.Chip,
    *,
    conditions: Sequence[tuple[int, float]] = ((1000, 0), (2000, 0), (0, 12), (1000, 12), (2000, 12)),
) -> polars.DataFrame:
    """What cutting tPRE and tDISCH together costs (asplos21 Fig. 9): pec, months, pre, disch, m_err."""
    import polars

    rows = []
    for p, m in conditions:
        for disch in range(7):
            for pre in range(10):
                cuts = (pre / 15, 0.0, disch / 15)
                rows.append((p, float(m), pre / 15, disch / 15, chip.m_err((p / 1e3, m, 85.0), cuts)))
    return polars.DataFrame(rows, schema=["pec", "months", "pre", "disch", "m_err"], orient="row")


def rpt(chip: _core.Chip) -> polars.DataFrame:
    """The read-timing parameter table (asplos21 section 5.2.3, Fig. 11) that a drive with this chip has, profiled from
    160 chips of 120 blocks: the largest cut of tPRE that leaves 14 errors to the capability at 85 °C. Columns: pec,
    months, cut, m_err, failing (pages of this population that are expected to fail in the last step under the cut)."""
    import polars

    rows = []
    for of in chip.rpt():
        at, cuts = (of["pec"] / 1e3, of["months"], 85.0), (of["cut"], 0.0, 0.0)
        rows.append((of["pec"], of["months"], of["cut"], chip.m_err(at, cuts), chip.failing(at, cuts)))
    return polars.DataFrame(rows, schema=["pec", "months", "cut", "m_err", "failing"], orient="row")


def first_days(chip: _core.Chip, *, pec: Sequence[int] = (0, 200, 500, 1000)) -> polars.DataFrame:
    """The first day on which the default read of some page exceeds the capability of hpca24's code on average (Fig.
    4): pec, day."""
    import polars

    rows = [(p, chip.first_day(p / 1e3, CAPABILITY_RBER * 8192)) for p in pec]
    return polars.DataFrame(rows, schema={"pec": polars.Int64, "day": polars.Float64}, orient="row")


def sentinel(
    chip: _core.Chip,
    *,
    pec: Sequence[int] = PEC,
    months: Sequence[float] = MONTHS,
    celsius: float = 30.0,
) -> polars.DataFrame:
    """Sentinel on the chip (hpca24 section III-B): pec, months, retried (pages that the default references do not
    read), failures (decodings in vain of such pages, the first included)."""
    import polars

    rows = []
    for cycles in pec:
        rows += [(cycles, age, *chip.sentinel((cycles / 1e3, age, celsius))) for age in months]
    return polars.DataFrame(rows, schema=["pec", "months", "retried", "failures"], orient="row")


def constant(chip: _core.Chip, section: str, key: str) -> float:
    """A number among the chip's constants."""
    return float(constant_of(chip, section, key)["value"])


def constant_of(chip: _core.Chip, section: str, key: str) -> Constant:
    """One of the chip's constants, with its source."""
    return next(of for of in chip.constants if (of["section"], of["key"]) == (section, key))


LIFE_PEC = (0, 500, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500, 5000, 5500, 6000)
RANGES = ("gamma", "delta", *(f"{n} delta" for n in range(2, EPT_RANGES)))
"""Fail-bit ranges of the EPT by their upper ends (electronics25 Table 1)."""


def grains_of(chip: _core.Chip) -> int:
    """Grains of the default erase pulse (electronics25 section 5.1: 3.5 ms in seven of 0.5 ms)."""
    return chip.erase_shape[0]


def loops_of(chip: _core.Chip) -> int:
    """The most loops of an erase."""
    return chip.erase_shape[1]


def erase_times(chip: _core.Chip, *, pec: Sequence[int] = LIFE_PEC) -> polars.DataFrame:
    """Minimum erase times under the conventional scheme, by m-ISPE (electronics25 section 5.1, Fig. 9): pec, grains (of
    the erase pulse, no more than all loops have), loops, blocks, and over these blocks the mean and the largest
    M_RBER."""
    import polars

    most = grains_of(chip) * loops_of(chip)
    rows = []
    for p, blocks in zip(pec, chip.erase_lives(list(pec)), strict=True):
        for block in blocks:
            grains = min(chip.least_grains(block["needed"]), most)
            rows.append((p, grains, chip.loops_for(grains), block["rber"]))
    frame = polars.DataFrame(rows, schema=["pec", "grains", "loops", "rber"], orient="row")
    return (
        frame.group_by("pec", "grains", "loops")
        .agg(
            blocks=polars.len().cast(polars.Int64),
            m_rber=polars.col("rber").mean(),
            m_rber_max=polars.col("rber").max(),
        )
        .sort("pec", "grains")
    )


def fail_bits(chip: _core.Chip) -> polars.DataFrame:
    """Fail bits against the grains that are still to go (electronics25 Fig. 15): left, fail_bits."""
    import polars

    rows = [(left, chip.fail_bits(float(left))) for left in range(grains_of(chip) + 1)]
    return polars.DataFrame(rows, schema={"left": polars.Int64, "fail_bits": polars.Float64}, orient="row")


def before_the_last_pulse(chip: _core.Chip, needed: float) -> tuple[int, int, float]:
    """The loop that ends the erase of a block that needs ``needed`` grains, the grains done before its last pulse, and
    the fail bits then. Where one loop suffices a short first pulse comes before (electronics25 Table 1, first row)."""
    loops = chip.loops_for(chip.least_grains(needed))
    done = EPT_FIRST if loops == 1 else grains_of(chip) * (loops - 1)
    return loops, done, chip.fail_bits(needed - done)


def fail_ranges(chip: _core.Chip, *, pec: Sequence[int] = LIFE_PEC) -> polars.DataFrame:
    """How many grains the last loop of a block takes, by loops and by the range of the fail bits before it
    (electronics25 Fig. 16), over all ``pec``: loops, range (0 for up to gamma; 8 for more than the EPT's last),
    grains, blocks, m_rber_max."""
    import polars

    rows = []
    for blocks in chip.erase_lives(list(pec)):
        for block in blocks:
            needed = block["needed"]
            loops, done, found = before_the_last_pulse(chip, needed)
            if loops <= loops_of(chip) and found > 0:
                index = chip.fail_range(found)
                beyond = EPT_RANGES if index is None else index
                rows.append((loops, beyond, chip.least_grains(needed) - done, block["rber"]))
    frame = polars.DataFrame(
        rows,
        schema={"loops": polars.Int64, "range": polars.Int64, "grains": polars.Int64, "rber": polars.Float64},
        orient="row",
    )
    return (
        frame.group_by("loops", "range", "grains")
        .agg(blocks=polars.len().cast(polars.Int64), m_rber_max=polars.col("rber").max())
        .sort("loops", "range", "grains")
    )


def ept(chip: _core.Chip, *, requirement: float | None = None) -> polars.DataFrame:
    """The erase-timing parameter table (electronics25 Table 1) that a drive with this chip has: loops, range, t1_ms
    (just long enough for every block in the range) and t2_ms (as much shorter as the errors of incomplete erasure leave
    room to the requirement)."""
    import polars

    if requirement is None:
        requirement = constant(chip, "erasing", "requirement")
    grain = chip.grain_ms
    rows = [(of["loops"], of["range"], grain * of["safe"], grain * of["spared"]) for of in chip.ept(requirement)]
    return polars.DataFrame(rows, schema=["loops", "range", "t1_ms", "t2_ms"], orient="row")


def wordline_speeds(chip: _core.Chip) -> polars.DataFrame:
    """Erase shift of every wordline relative to the slowest (electronics25 Fig. 11), and the VPT that a drive with this
    chip has: the gate voltage, up to 1 V, that leaves a wordline erased as far as the slowest: wordline, layer, shift,
    gate_v."""
    import polars

    wordlines = int(constant(chip, "variation", "wordlines"))
    rows = [(w, w // wordlines, chip.erase_shift(w, 0.0), volts) for w, volts in enumerate(chip.vpt())]
    return polars.DataFrame(rows, schema=["wordline", "layer", "shift", "gate_v"], orient="row")


def gate_voltages(chip: _core.Chip) -> polars.DataFrame:
    """Erase shift under a wordline gate voltage, relative to 0 V (electronics25 Fig. 18a), at every setting of the chip
    up to 1 V: gate_v, shift."""
    import polars

    base, grain = chip.erase_shift(0, 0.0), constant(chip, "erasing", "gate_grain")
    settings = math.floor(1.0 / grain + 1e-9) + 1 if grain > 0 else 1
    rows = [(step * grain, chip.erase_shift(0, step * grain) / base) for step in range(settings)]
    return polars.DataFrame(rows, schema=["gate_v", "shift"], orient="row")


def life(chip: _core.Chip, *, pec: Sequence[int] = tuple(range(0, 6001, 100))) -> polars.DataFrame:
    """Mean and largest M_RBER under the conventional scheme (the baseline of electronics25 Fig. 21): pec, m_rber,
    m_rber_max."""
    import polars

    rows = [
        (p, sum(block["rber"] for block in blocks) / len(blocks), max(block["rber"] for block in blocks))
        for p, blocks in zip(pec, chip.erase_lives(list(pec)), strict=True)
    ]
    return polars.DataFrame(rows, schema=["pec", "m_rber", "m_rber_max"], orient="row")


TABLES: dict[str, Callable[[Chip, Progress | None], polars.DataFrame]] = {
    "steps": lambda chip, progress: retry_steps(chip, progress=progress),
    "m_err": lambda chip, progress: m_err(chip),
    "cuts": lambda chip, progress: timing_cuts(chip, celsius=CELSIUS),
    "both": lambda chip, progress: both_cuts(chip),
    "rpt": lambda chip, progress: rpt(chip),
    "days": lambda chip, progress: first_days(chip),
    "erase_times": lambda chip, progress: erase_times(chip),
    "fail_bits": lambda chip, progress: fail_bits(chip),
    "fail_ranges": lambda chip, progress: fail_ranges(chip),
    "ept": lambda chip, progress: ept(chip),
    "life": lambda chip, progress: life(chip),
    "wordlines": lambda chip, progress: wordline_speeds(chip),
    "gate": lambda chip, progress: gate_voltages(chip),
}
"""What `ssdlab characterize` measures."""
