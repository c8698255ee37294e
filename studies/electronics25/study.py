"""REO: what is measured of each claim, and the figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ssdlab import characterize, chip_figures, lifetime, plot, trace
from ssdlab._core import Chip
from ssdlab.characterize import GRAINS, RANGES, constant, load
from ssdlab.study import Measured, Tables, number

CHIP = "tlc48-reo"
REQUIREMENT = 63.0
TWINS = {
    "ali_32": (0.07, 54, 16.3),
    "ali_3": (0.52, 26, 111.8),
    "ali_12": (0.69, 38, 57.9),
    "ali_121": (0.78, 18, 13.8),
    "ali_124": (0.95, 36, 5.1),
    "rsrch_0": (0.09, 9, 421.9),
    "stg_0": (0.15, 12, 297.8),
    "hm_0": (0.36, 8, 151.5),
    "prxy_1": (0.65, 13, 3.6),
    "proj_2": (0.88, 42, 20.6),
    "usr_1": (0.91, 49, 13.4),
}
"""Table 3: read ratio, mean request size [KiB], mean gap [ms]."""

# Table 1: t1 and t2 [ms] by loops, over the fail-bit ranges.
ROW = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 3.5]
T1 = {1: [min(value, 2.5) for value in ROW], 2: ROW, 3: ROW, 4: ROW, 5: ROW}
T2 = {
    1: [0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 2.5],
    2: [0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
    3: [0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
    4: [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5],
    5: ROW,
}

TABLES: dict[str, Callable[[Any], pl.DataFrame]] = {
    "erase_times": lambda progress: characterize.erase_times(load(CHIP), pec=characterize.LIFE_PEC),
    "life": lambda progress: characterize.life(load(CHIP)),
    "lives": lambda progress: _lives(),
    "lifetimes": lambda progress: _lifetimes(),
    "fail_bits": lambda progress: characterize.fail_bits(load(CHIP)),
    "fail_ranges": lambda progress: characterize.fail_ranges(load(CHIP)),
    "ept": lambda progress: characterize.ept(load(CHIP)),
    "ept_unsafe": lambda progress: _unsafe(),
    "wordlines": lambda progress: characterize.wordline_speeds(load(CHIP)),
    "gate": lambda progress: characterize.gate_voltages(load(CHIP)),
    "twins": lambda progress: trace.twins([f"electronics25/{name}" for name in TWINS]),
}


def _population() -> Chip:
    """640 blocks, four of each chip: the paper's sets of 120 would leave the lifetimes within some per cent."""
    return load(CHIP, chips=160, blocks=4)


def _lives() -> pl.DataFrame:
    """Every 250 cycles of the blocks' lives under each scheme (Fig. 21)."""
    lives = lifetime.cycle(_population())
    return lives.filter(pl.col("pec") % 250 == 0)


def _lifetimes() -> pl.DataFrame:
    """Cycles to a requirement, with mispredictions (Fig. 21, 25, 26): requirement, mispredictions, scheme, cycles."""
    rows = []
    for requirement in (40.0, 50.0, REQUIREMENT):
        for wrong in (0.0, 0.01, 0.05, 0.1, 0.2) if requirement == REQUIREMENT else (0.0,):
            lives = lifetime.cycle(_population(), requirement=requirement, mispredictions=wrong)
            rows += [(requirement, wrong, *found) for found in lifetime.lifetimes(lives, requirement).items()]
    return pl.DataFrame(rows, schema=["requirement", "mispredictions", "scheme", "cycles"], orient="row")


def _unsafe() -> pl.DataFrame:
    """Erases of another population for which the profiled EPT says too short a pulse: pec, erases, unsafe."""
    table = {(row["loops"], row["range"]): row["t1_ms"] for row in characterize.ept(load(CHIP)).iter_rows(named=True)}
    other = load(CHIP, seed=2)
    gamma, delta = other.fail_bits(1.0), other.fail_bits(2.0) - other.fail_bits(1.0)
    rows = []
    for pec, blocks in zip(characterize.LIFE_PEC, other.erase_lives(list(characterize.LIFE_PEC)), strict=True):
        erases = unsafe = 0
        for needed, *_ in blocks:
            grains = max(1, math.ceil(needed - 1e-9))
            loops = -(-grains // GRAINS)
            left = needed - (characterize.FIRST if loops == 1 else GRAINS * (loops - 1))
            bits = other.fail_bits(left)
            if loops > 5 or bits <= 0:
                continue
            index = 0 if bits <= gamma else min(len(RANGES) - 1, 1 + int((bits - 1e-9) // delta))
            erases += 1
            unsafe += table[loops, index] < 0.5 * math.ceil(left - 1e-9)
        rows.append((pec, erases, unsafe))
    return pl.DataFrame(rows, schema=["pec", "erases", "unsafe"], orient="row")


def _share(of: pl.DataFrame, which: pl.Expr) -> float:
    return 100.0 * float(of.filter(which)["blocks"].sum()) / float(of["blocks"].sum())


def _deviation_ms(of: pl.DataFrame) -> float:
    times, blocks = 0.5 * of["grains"].to_numpy(), of["blocks"].to_numpy()
    mean = (times * blocks).sum() / blocks.sum()
    return float((((times - mean) ** 2 * blocks).sum() / blocks.sum()) ** 0.5)


def _chip_claims(tables: Tables) -> dict[str, Measured]:
    chip = load(CHIP)
    times, ranges, ept = tables["erase_times"], tables["fail_ranges"], tables["ept"]
    at = {pec: times.filter(pl.col("pec") == pec) for pec in characterize.LIFE_PEC}
    loops, grains = pl.col("loops"), pl.col("grains")
    fail = tables["fail_bits"]["fail_bits"].to_list()
    four = ranges.filter(loops == 4).group_by("range").agg(share=pl.col("blocks").max() / pl.col("blocks").sum())
    right = {
        name: sum(ept.filter(loops == n)[name].to_list()[i] == row[i] for n, row in want.items() for i in range(8))
        for name, want in (("t1_ms", T1), ("t2_ms", T2))
    }
    fresh = constant(chip, "erasing", "fresh")
    worst = {n: chip.m_rber(GRAINS * n - fresh) for n in range(1, 6)}
    # Grains left whose fail bits are at most gamma and delta.
    gamma, delta = chip.incomplete(1.0), chip.incomplete(1.0 + (fail[2] - 2 * fail[1]) / (fail[2] - fail[1]))
    gate = dict(tables["gate"].with_columns(pl.col("gate_v").round(2)).rows())
    early = [_share(of, grains <= 0.83 * GRAINS * loops) for pec, of in at.items() if pec <= 1000]
    skipped = [
        (n, name)
        for n in range(2, 6)
        for name, errors in (("gamma", gamma), ("delta", delta))
        if worst[n] + errors <= 40.0
    ]
    unsafe = tables["ept_unsafe"]
    return {
        "reo.nispe.0": Measured(_share(at[0], loops == 1)),
        "reo.nispe.2k.min": Measured(int(number(at[2000]["loops"].min()))),
        "reo.nispe.2k.max": Measured(int(number(at[2000]["loops"].max()))),
        "reo.mtbers.1k": Measured(_share(at[1000], grains <= 5)),
        "reo.nispe3.3k": Measured(_share(at[3000], loops == 3)),
        "reo.std.3k5": Measured(_deviation_ms(at[3500]), note="latencies end at five loops"),
        "reo.delta": Measured(fail[3] - fail[2]),
        "reo.felp.majority": Measured(100.0 * number(four["share"].min())),
        "reo.felp.unsafe": Measured(int(unsafe["unsafe"].sum()), note="of a population other than the profiled one"),
        "reo.ept.t1": Measured(right["t1_ms"]),
        "reo.ept.t2": Measured(right["t2_ms"]),
        "reo.margin.n1": Measured(REQUIREMENT - worst[1]),
        "reo.margin.min": Measured(REQUIREMENT - max(worst.values())),
        "reo.c1.mrber": Measured(max(worst[n] + delta for n in (2, 3))),
        "reo.c2.mrber": Measured(worst[4] + gamma),
        "reo.skip.40": Measured(len(skipped), note=", ".join(f"N = {n}, F up to {name}" for n, name in skipped)),
        "reo.wl.spread": Measured(100.0 * (number(tables["wordlines"]["shift"].max()) - 1.0)),
        "reo.vwg.0.1": Measured(100.0 * (1.0 - gate[0.1])),
        "reo.vwg.0.5": Measured(100.0 * (gate[0.4] - gate[0.5])),
        "reo.stress.erase": Measured(100.0 / (1.0 + constant(chip, "erasing", "program_stress")), note="of one loop"),
        "reo.early.share": Measured(
            sum(early) / len(early), note="mean of 0, 0.5K and 1K P/E, where one loop suffices"
        ),
        "reo.m_ispe.rber": Measured(0.0, note="the model charges pulses, not their ramps: nothing is added"),
    }


def _life_claims(tables: Tables) -> dict[str, Measured]:
    """Fig. 21, 25 and 26, and what follows from the erase schemes alone."""
    lives, chip = tables["lives"], load(CHIP)

    def cycles(scheme: str, requirement: float = REQUIREMENT, mispredictions: float = 0.0) -> float:
        of = tables["lifetimes"].filter(requirement=requirement, mispredictions=mispredictions, scheme=scheme)
        return number(of["cycles"].item())

    def gain(scheme: str, over: str = "ispe", requirement: float = REQUIREMENT, wrong: float = 0.0) -> Measured:
        return Measured(100.0 * (cycles(scheme, requirement, wrong) / cycles(over, requirement) - 1.0))

    def at(scheme: str, pec: int, column: str) -> float:
        return number(lives.filter(scheme=scheme, pec=pec)[column].item())

    fresh = [
        (name, pec)
        for pec in (0, 1000)
        for name in ("ispe", "dpes", "reo-minus", "reo")
        if at(name, pec, "m_rber") < at("i-ispe", pec, "m_rber") - 1e-9
    ]
    states = 2 ** int(constant(chip, "cells", "bits"))
    layers = int(constant(chip, "variation", "layers"))
    return {
        "reo.life.base": Measured(cycles("ispe")),
        "reo.life.reo_minus": Measured(cycles("reo-minus")),
        "reo.life.reo": Measured(cycles("reo")),
        "reo.life.dpes": gain("dpes"),
        "reo.life.i_ispe": gain("i-ispe"),
        "reo.life.reo_plus": Measured(
            cycles("reo-plus") / cycles("reo"), note="by construction: the worst wordline decides"
        ),
        "reo.life.reo_over_minus": gain("reo", "reo-minus"),
        "reo.life.over_dpes": gain("reo", "dpes"),
        "reo.mrber.0": Measured(at("reo", 0, "m_rber")),
        "reo.mrber.6k": Measured(at("reo", 6000, "m_rber") - at("reo", 0, "m_rber")),
        "reo.two_loops.2k5": Measured(100.0 * at("reo", 2500, "within_two")),
        "reo.mispredict.life": gain("reo", wrong=0.2),
        "reo.mispredict.life.reo_minus": gain("reo-minus", wrong=0.2),
        "reo.weak_ecc.life": gain("reo", "reo-minus", requirement=40.0),
        "reo.i_ispe.fresh": Measured(len(fresh), note=", ".join(f"{name} at {pec}" for name, pec in fresh)),
        "reo.i_ispe.loops.2k5": Measured(at("i-ispe", 2500, "erase_ms") / 3.6, note="erase loops that are run"),
        "reo.loops3.pulse": Measured(3 * GRAINS * 0.5),
        "reo.tables.bytes": Measured(GRAINS * int(constant(chip, "erasing", "loops")) * 4),
        "reo.vpt.bytes": Measured(layers * 5 / 8),
        "reo.vwg.levels": Measured(tables["gate"].height),
        "reo.fail.programmed": Measured(100.0 * (states - 1) / states),
    }


def measure(tables: Tables) -> dict[str, Measured]:
    """What can be measured so far: the chip, the lives of its blocks under every scheme, and the twins."""
    twins = {row["workload"]: row for row in tables["twins"].iter_rows(named=True)}
    return {
        **_chip_claims(tables),
        **_life_claims(tables),
        "reo.traces.read": Measured(100.0 * max(abs(twins[n]["read_ratio"] - row[0]) for n, row in TWINS.items())),
        "reo.traces.size": Measured(
            100.0 * max(abs(twins[n]["size_bytes"] / 1024 / row[1] - 1) for n, row in TWINS.items())
        ),
        "reo.traces.gap": Measured(100.0 * max(abs(twins[n]["gap_ms"] / row[2] - 1) for n, row in TWINS.items())),
    }


def figures(tables: Tables) -> dict[str, Figure]:
    """Fig. 9, 11, 15, 16, 17, 18a, 21, and Table 1."""
    return {**chip_figures.erasing(tables, REQUIREMENT), "fig21": plot.lives(tables["lives"], REQUIREMENT)}
