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

from ._core import RPT_MARGIN, RPT_MONTHS, RPT_PEC, Chip, InputError
from ._runner import cpus

if TYPE_CHECKING:
    import polars

Progress = Callable[[float], None]

PEC = (0, 1000, 2000)
MONTHS = (0.0, 1.0, 3.0, 6.0, 9.0, 12.0)
CELSIUS = (85.0, 55.0, 30.0)
CAPABILITY_RBER = 0.0085
"""hpca24 section II-B: the capability of its code."""


def load(chip: str | os.PathLike[str], *, chips: int = 160, blocks: int = 120, seed: int = 1) -> Chip:
    """A preset, or the chip of a TOML file, in a population of ``chips`` with ``blocks`` blocks each."""
    name = os.fspath(chip)
    if name in Chip.names() or not name.endswith(".toml"):
        return Chip(name, chips=chips, blocks=blocks, seed=seed)
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: cannot be read: {error}\n  help: give a preset or the path of a chip file") from None
    return Chip(name, text, chips=chips, blocks=blocks, seed=seed)


def retry_steps(
    chip: Chip,
    *,
    pec: Sequence[int] = PEC,
    months: Sequence[float] = MONTHS,
    celsius: float = 85.0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> polars.DataFrame:
    """Retry steps of every page (asplos21 Fig. 5): pec, months, steps, pages (i64). Steps beyond the table's last one
    stand for pages that are not read."""
    import polars

    conditions = [(p, m) for p in pec for m in months]
    counts = chip.retry_steps([(p / 1e3, m, celsius) for p, m in conditions], threads or cpus(), progress)
    rows = [
        (p, m, steps, pages)
        for (p, m), found in zip(conditions, counts, strict=True)
        for steps, pages in enumerate(found)
        if pages
    ]
    schema = {"pec": polars.Int64, "months": polars.Float64, "steps": polars.Int64, "pages": polars.Int64}
    return polars.DataFrame(rows, schema=schema, orient="row")


def m_err(
    chip: Chip, *, pec: Sequence[int] = PEC, months: Sequence[float] = MONTHS, celsius: Sequence[float] = CELSIUS
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
    chip: Chip,
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
    chip: Chip, *, conditions: Sequence[tuple[int, float]] = ((1000, 0), (2000, 0), (0, 12), (1000, 12), (2000, 12))
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


def rpt(
    chip: Chip,
    *,
    pec: Sequence[int] = RPT_PEC,
    months: Sequence[float] = RPT_MONTHS,
    margin: int = RPT_MARGIN,
) -> polars.DataFrame:
    """The read-timing parameter table (asplos21 section 5.2.3, Fig. 11): the largest cut of tPRE that leaves ``margin``
    errors to the capability at 85 °C: pec, months, cut, m_err, failing (pages of the population that are expected to
    fail in the last step under the cut)."""
    import polars

    rows = []
    for p in pec:
        for m in months:
            at = (p / 1e3, m, 85.0)
            cut = chip.safe_pre_cut(at, margin)
            cuts = (cut, 0.0, 0.0)
            rows.append((p, m, cut, chip.m_err(at, cuts), chip.failing(at, cuts)))
    return polars.DataFrame(rows, schema=["pec", "months", "cut", "m_err", "failing"], orient="row")


def first_days(chip: Chip, *, pec: Sequence[int] = (0, 200, 500, 1000)) -> polars.DataFrame:
    """The first day on which the default read of some page exceeds the capability of hpca24's code on average (Fig.
    4): pec, day."""
    import polars

    rows = [(p, chip.first_day(p / 1e3, CAPABILITY_RBER * 8192)) for p in pec]
    return polars.DataFrame(rows, schema={"pec": polars.Int64, "day": polars.Float64}, orient="row")


def sentinel(
    chip: Chip,
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


def constant(chip: Chip, section: str, key: str) -> float:
    """A number among the chip's constants."""
    return next(float(value) for part, name, value, _, _ in chip.constants if (part, name) == (section, key))


LIFE_PEC = (0, 500, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500, 5000, 5500, 6000)
GRAINS = 7
"""Grains of 0.5 ms in the default erase pulse of 3.5 ms (electronics25 section 5.1)."""
RANGES = ("gamma", "delta", "2 delta", "3 delta", "4 delta", "5 delta", "6 delta", "7 delta")
"""Fail-bit ranges by their upper ends (electronics25 Table 1)."""
FIRST = 2
"""Grains of a short first pulse, whose fail bits choose the rest where one loop suffices: 3.5 - 2.5 = 1 ms (the
reading of electronics25 Table 1's first row)."""


def erase_times(chip: Chip, *, pec: Sequence[int] = LIFE_PEC, most_loops: int = 5) -> polars.DataFrame:
    """Minimum erase times under the conventional scheme, by m-ISPE (electronics25 section 5.1, Fig. 9): pec, grains (of
    0.5 ms, no more than ``most_loops`` loops have), loops, blocks, and over these blocks the mean and the largest
    M_RBER."""
    import polars

    rows = []
    for p, blocks in zip(pec, chip.erase_lives(list(pec)), strict=True):
        for needed, _, rber in blocks:
            grains = min(_whole(needed), GRAINS * most_loops)
            rows.append((p, grains, -(-grains // GRAINS), rber))
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


def _whole(needed: float) -> int:
    return max(1, math.ceil(needed - 1e-9))


def fail_bits(chip: Chip) -> polars.DataFrame:
    """Fail bits against the grains that are still to go (electronics25 Fig. 15): left, fail_bits."""
    import polars

    rows = [(left, chip.fail_bits(float(left))) for left in range(GRAINS + 1)]
    return polars.DataFrame(rows, schema={"left": polars.Int64, "fail_bits": polars.Float64}, orient="row")


def fail_ranges(chip: Chip, *, pec: Sequence[int] = LIFE_PEC) -> polars.DataFrame:
    """How many grains the last loop of a block takes, by loops and by the range of the fail bits before it
    (electronics25 Fig. 16), over all ``pec``: loops, range (0 for up to gamma), grains, blocks, m_rber_max."""
    import polars

    gamma, delta = chip.fail_bits(1.0), chip.fail_bits(2.0) - chip.fail_bits(1.0)
    rows = []
    for blocks in chip.erase_lives(list(pec)):
        for needed, _, rber in blocks:
            grains = _whole(needed)
            loops = -(-grains // GRAINS)
            done = FIRST if loops == 1 else GRAINS * (loops - 1)
            found = chip.fail_bits(needed - done)
            if loops <= 5 and found > 0:
                index = 0 if found <= gamma else 1 + int((found - 1e-9) // delta)
                rows.append((loops, min(index, len(RANGES) - 1), grains - done, rber))
    frame = polars.DataFrame(rows, schema=["loops", "range", "grains", "rber"], orient="row")
    return (
        frame.group_by("loops", "range", "grains")
        .agg(blocks=polars.len().cast(polars.Int64), m_rber_max=polars.col("rber").max())
        .sort("loops", "range", "grains")
    )


def ept(chip: Chip, *, requirement: float | None = None) -> polars.DataFrame:
    """The erase-timing parameter table (electronics25 Table 1): loops, range, t1_ms (just long enough for every block
    in the range) and t2_ms (as much shorter as the errors of incomplete erasure leave room to the requirement).

    A cell that no block of the population falls into follows from the fail-bit law of Fig. 15.
    """
    import polars

    if requirement is None:
        requirement = constant(chip, "erasing", "requirement")
    gamma, delta = chip.fail_bits(1.0), chip.fail_bits(2.0) - chip.fail_bits(1.0)
    seen = fail_ranges(chip)
    rows = []
    for loops in range(1, 6):
        of = seen.filter(polars.col("loops") == loops)
        # The most errors of a block that needs so many loops: one that just needs the last grain of the last.
        worst = chip.m_rber(GRAINS * loops - constant(chip, "erasing", "fresh"))
        spared = _spared(chip, worst, requirement)
        most = GRAINS - FIRST if loops == 1 else GRAINS
        for index in range(len(RANGES)):
            observed = of.filter(polars.col("range") == index)["grains"].to_list()
            by_law = _whole(1.0 + (max(0.0, index * delta - gamma) / delta if index else 0.0))
            grains = max([by_law, *observed])
            rows.append((loops, index, 0.5 * min(grains, most), 0.5 * min(max(0, grains - spared), most)))
    return polars.DataFrame(rows, schema=["loops", "range", "t1_ms", "t2_ms"], orient="row")


def _spared(chip: Chip, worst: float, requirement: float) -> int:
    """Grains that may be left out of the last pulse: those whose fail bits add no more errors than there is room
    for."""
    gamma, delta = chip.fail_bits(1.0), chip.fail_bits(2.0) - chip.fail_bits(1.0)
    left = 0
    while left < GRAINS:
        # With so many grains left the fail bits are at most those of the range's upper end.
        bits = gamma if left == 0 else left * delta
        grains = 1.0 if left == 0 else 1.0 + (bits - gamma) / delta
        if worst + chip.incomplete(grains) > requirement:
            break
        left += 1
    return left


def wordline_speeds(chip: Chip) -> polars.DataFrame:
    """Erase shift of every wordline relative to the slowest (electronics25 Fig. 11), and the VPT: the gate voltage
    that makes its stress that of the slowest, in steps of 0.05 V up to 1 V: wordline, layer, shift, gate_v."""
    import polars

    layers = int(constant(chip, "variation", "layers"))
    wordlines = int(constant(chip, "variation", "wordlines"))
    slope = constant(chip, "erasing", "gate_shift")
    rows = []
    for wordline in range(layers * wordlines):
        shift = chip.erase_shift(wordline, 0.0)
        # Rounded down: no wordline may end slower than the slowest.
        volts = min(1.0, math.floor(math.log(shift) / slope / 0.05 + 1e-9) * 0.05)
        rows.append((wordline, wordline // wordlines, shift, volts))
    return polars.DataFrame(rows, schema=["wordline", "layer", "shift", "gate_v"], orient="row")


def gate_voltages(chip: Chip) -> polars.DataFrame:
    """Erase shift under a wordline gate voltage, relative to 0 V (electronics25 Fig. 18a): gate_v, shift."""
    import polars

    base = chip.erase_shift(0, 0.0)
    rows = [(step * 0.05, chip.erase_shift(0, step * 0.05) / base) for step in range(21)]
    return polars.DataFrame(rows, schema=["gate_v", "shift"], orient="row")


def life(chip: Chip, *, pec: Sequence[int] = tuple(range(0, 6001, 100))) -> polars.DataFrame:
    """Mean and largest M_RBER under the conventional scheme (the baseline of electronics25 Fig. 21): pec, m_rber,
    m_rber_max."""
    import polars

    rows = [
        (p, sum(rber for *_, rber in blocks) / len(blocks), max(rber for *_, rber in blocks))
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
