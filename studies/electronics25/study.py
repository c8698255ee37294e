"""REO: what is measured of each claim, and the figures."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import ssdlab
from ssdlab import trace
from ssdlab._core import Chip
from ssdlab.chip import characterize, lifetime
from ssdlab.chip import figures as chip_figures
from ssdlab.chip.characterize import before_the_last_pulse, constant, constant_of, grains_of, load, loops_of
from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.show import papers, plot
from ssdlab.study.claims import Measured, Tables, by_construction, chip, fitted, key, measures, named, off, predicted
from ssdlab.study.folder import number
from ssdlab.study.shapes import Look, Seen, listed, rises

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHIP = "tlc48-reo"
PLANAR = "tlc2x"
WORN = 5000
"""P/E cycles of a block's life in section 3.1."""
_FEW: dict[str, Any] = {"requests": 2000, "warmup": 200, "workload": ["prxy_1"]}
# Blocks so small that they are erased in so few requests, and requests at a rate that a drive of such blocks keeps up
# with: on one that does not, waits are for all that came before, and not for erases.
_ERASING = _FEW | {"requests": 12_000, "geometry.pages": 24, "workload.footprint": "4GiB", "age.load": "full"}
_ERASING |= {"workload.rate_iops": 600}
BRIEF: dict[str, dict[str, Any]] = {
    "systems": _ERASING | {"seed": [1]},
    "iops": _FEW | {"seed": [1]},
    # Of so few predictions all are wrong.
    "mispredict": _ERASING | {"seed": [1], "erase.mispredictions": 1},
}
"""For the levers of what is predicted: ssdlab.study.levers."""
REO = "presets/chips/tlc48-reo.toml"
ERASES = fitted(REO, *(f"erasing.{name}" for name in ("fresh*", "growth_spread", "wear_spread", "knots_*")))
STRESS = fitted(REO, *(f"erasing.{name}" for name in ("program_stress", "loop_stress", "skip_loss", "scaled_stress")))
MARGIN = fitted(REO, "erasing.rber_*", "erasing.incomplete_power")
"""What presets/chips/calibrate.py fits, a family at once."""
Settings = dict[str, str | int | bool]
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

PEC = (0, 500, 1500, 2500, 3500, 4500)
T_EP, T_VR = 3.5, 0.1
"""Of a loop [ms] (section 3.2)."""
FIRST_MS = 1.0
"""The short first pulse (Table 1, row 1: at most 2.5 of 3.5 ms are left to choose)."""

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
    "erases": lambda progress: _erases(),
    "endurance": lambda progress: _endurance(),
    "twins": lambda progress: trace.twins([f"electronics25/{name}" for name in TWINS]),
}

NEEDS = {"real": "traces/msr_rsrch_1.csv.gz"}
"""A volume of the MSR Cambridge collection (SNIA IOTTA)."""

QUICK = {
    "endurance": lambda progress: _endurance([]),
    "twins": lambda progress: trace.twins(["electronics25/proj_2"]),
}
"""In CI some rows only."""


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


def _erases() -> pl.DataFrame:
    """One erase on an idle die: scheme, pec, loops, took_ns (the time that the die erased), equation_ns (Eq. 2, and
    Eq. 3 with Table 1 where the block's need is known without its life)."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        requests = Path(folder) / "write.trace"
        requests.write_text("0 0 0 32 0\n")  # MQSim's format: a page is written.
        one: Settings = {"geometry.channels": 1, "geometry.chips": 1, "geometry.planes": 1}
        one |= {"ftl.erase_when": "opened", "bus.t_command": "0us"}
        for scheme, ages in (("ispe", PEC), ("reo-minus", (0,)), ("reo", (0,))):
            for pec in ages:
                found = ssdlab.run("electronics25", requests, scheme=scheme, age=f"pec={pec},fill=0.5", settings=one)
                loops = found.flash.erase.loops.mean
                assert loops is not None, "a block is erased"
                took = round(found.usage.die.erase / 100 * found.host.elapsed_s * 1e9)
                # A fresh block needs 3.5 to 3.7 pulses of 0.5 ms: after the first 1 ms its fail bits are below delta.
                last = {"reo-minus": T1[1][1], "reo": T2[1][1]}.get(scheme)
                saved = 0.0 if last is None else T_EP - (FIRST_MS + last) - (T_VR if last else 0.0)
                rows.append((scheme, pec, loops, took, round(((T_EP + T_VR) * loops - saved) * 1e6)))
    return pl.DataFrame(rows, schema=["scheme", "pec", "loops", "took_ns", "equation_ns"], orient="row")


def _endurance(loads: Sequence[str] = ("random", "zipf:0.9")) -> pl.DataFrame:
    """What the lives of blocks make of the SSD of Table 2: load, waf (of a steady state), scheme, cycles, tbw [TB],
    years at one drive write a day."""
    lives = lifetime.lifetimes(lifetime.cycle(_population()), REQUIREMENT) if loads else {}
    rows = []
    for words in loads:
        # One channel of the eight with shorter blocks: a plane's amplification is that of its share of spare blocks.
        settings: Settings = {"geometry.channels": 1, "geometry.pages": 528, "age.staggered": True}
        settings |= {"workload.rw": "randwrite", "workload.random_distribution": words, "workload.footprint": "none"}
        settings |= {"workload.bs": "16KiB", "workload.blockalign": "16KiB"}
        settings |= {"workload.requests": 3_000_000, "workload.rate_iops": 100_000}
        found = ssdlab.run(
            "electronics25", precondition="closed-form", settings=settings, replay="closed:256", warmup=1_500_000
        )
        waf = number(found.ftl.waf)
        for scheme, cycles in lives.items():
            if cycles is not None:
                drive = lifetime.endurance(cycles, "electronics25", waf)
                rows.append((words, waf, scheme, cycles, drive.terabytes, drive.years))
    return pl.DataFrame(rows, schema=["load", "waf", "scheme", "cycles", "tbw", "years"], orient="row")


def _unsafe() -> pl.DataFrame:
    """Erases of another population for which the profiled EPT says too short a pulse: pec, erases, unsafe."""
    table = {(row["loops"], row["range"]): row["t1_ms"] for row in characterize.ept(load(CHIP)).iter_rows(named=True)}
    other = load(CHIP, seed=2)
    rows = []
    for pec, blocks in zip(characterize.LIFE_PEC, other.erase_lives(list(characterize.LIFE_PEC)), strict=True):
        erases = unsafe = 0
        for block in blocks:
            needed = block["needed"]
            loops, done, bits = before_the_last_pulse(other, needed)
            index = other.fail_range(bits)
            # Above the last range the drive gives a whole pulse.
            if loops > loops_of(other) or bits <= 0 or index is None:
                continue
            erases += 1
            unsafe += table[loops, index] < other.grain_ms * (other.least_grains(needed) - done)
        rows.append((pec, erases, unsafe))
    return pl.DataFrame(rows, schema=["pec", "erases", "unsafe"], orient="row")


def _share_of_erases(chip: Chip) -> float:
    """What section 3.1 calls the percentage of endurance errors: the errors that cycles add, less those that their
    programs alone would, after the 5,000 cycles that it names as a block's life; by each block's own errors by wear."""
    programs = constant(chip, "erasing", "program_stress") * WORN / 1000
    fresh = constant(chip, "erasing", "rber_fresh")
    both = alone = 0.0
    for life in zip(*chip.erase_lives(list(range(0, WORN + 1, 50))), strict=True):
        wear, errors = [at["wear"] for at in life], [at["rber"] - fresh for at in life]
        both += errors[-1]
        alone += float(np.interp(programs, wear, errors))
    return 100.0 * (1.0 - alone / both)


def _share(of: pl.DataFrame, which: pl.Expr) -> float:
    return 100.0 * float(of.filter(which)["blocks"].sum()) / float(of["blocks"].sum())


def _deviation_ms(of: pl.DataFrame) -> float:
    times, blocks = 0.5 * of["grains"].to_numpy(), of["blocks"].to_numpy()
    mean = (times * blocks).sum() / blocks.sum()
    return float((((times - mean) ** 2 * blocks).sum() / blocks.sum()) ** 0.5)


@measures(
    {
        "reo.nispe.0 reo.nispe.2k.min reo.nispe.2k.max reo.mtbers.1k reo.nispe3.3k reo.std.3k5": ERASES,
        "reo.delta": by_construction("the chip's delta read back"),
        "reo.felp.majority": predicted(chip("erasing.gamma", 2.0)),
        "reo.felp.unsafe": by_construction("the EPT and the blocks follow the same law of fail bits"),
        # Of the other rows each range takes a grain more; the first ends at FIRST less.
        "reo.ept.t1": fitted("crates/nand/src/ept.rs", "FIRST"),
        "reo.ept.t2 reo.margin.n1 reo.margin.min reo.c1.mrber reo.c2.mrber reo.skip.40": MARGIN,
        "reo.wl.spread": by_construction("the chip's wordline_speed read back"),
        "reo.vwg.0.1": by_construction("the chip's gate_shift, which is -ln 0.79 a 0.1 V, read back"),
        "reo.vwg.0.5": predicted(chip("erasing.gate_shift")),
        "reo.stress.erase": STRESS,
        "reo.early.share": predicted(chip("erasing.fresh")),
        "reo.m_ispe.rber": by_construction("a literal: the model charges no ramps"),
    }
)
def _chip_claims(tables: Tables) -> dict[str, Measured]:
    virtual = load(CHIP)
    times, ranges, ept = tables["erase_times"], tables["fail_ranges"], tables["ept"]
    at = {pec: times.filter(pl.col("pec") == pec) for pec in characterize.LIFE_PEC}
    loops, grains = pl.col("loops"), pl.col("grains")
    fail = tables["fail_bits"]["fail_bits"].to_list()
    four = ranges.filter(loops == 4).group_by("range").agg(share=pl.col("blocks").max() / pl.col("blocks").sum())
    right = {
        name: sum(ept.filter(loops == n)[name].to_list()[i] == row[i] for n, row in want.items() for i in range(8))
        for name, want in (("t1_ms", T1), ("t2_ms", T2))
    }
    fresh = constant(virtual, "erasing", "fresh")
    full = grains_of(virtual)
    worst = {n: virtual.m_rber(full * n - fresh) for n in range(1, 6)}
    # Grains left whose fail bits are at most gamma and delta.
    gamma, delta = virtual.incomplete(1.0), virtual.incomplete(1.0 + (fail[2] - 2 * fail[1]) / (fail[2] - fail[1]))
    gate = dict(tables["gate"].with_columns(pl.col("gate_v").round(2)).rows())
    early = [_share(of, grains <= 0.83 * full * loops) for pec, of in at.items() if pec <= 1000]
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
        "reo.stress.erase": Measured(_share_of_erases(_population()), note=f"of the errors that {WORN:,} cycles add"),
        "reo.early.share": Measured(
            sum(early) / len(early), note="mean of 0, 0.5K and 1K P/E, where one loop suffices"
        ),
        "reo.m_ispe.rber": Measured(0.0, note="the model charges pulses, not their ramps: nothing is added"),
    }


@measures(
    {
        # calibrate.py fits the lives under all schemes as one family.
        "reo.life.base reo.life.reo_minus reo.life.reo reo.life.dpes reo.life.i_ispe": STRESS,
        "reo.life.reo_over_minus reo.life.over_dpes reo.mrber.0 reo.mrber.6k": STRESS,
        "reo.mispredict.life reo.mispredict.life.reo_minus reo.weak_ecc.life": STRESS,
        "reo.life.reo_plus": by_construction("a block lives as long as its worst wordline, which SEVA leaves alone"),
        "reo.two_loops.2k5": predicted(off("reo", "ispe")),
        "reo.i_ispe.fresh": predicted(off("reo-minus", "i-ispe")),
        "reo.i_ispe.loops.2k5": predicted(off("i-ispe", "ispe")),
        "reo.loops3.pulse reo.tables.bytes reo.vpt.bytes": by_construction("arithmetic on the chip's sizes"),
        "reo.vwg.levels": by_construction("the chip's grid of voltages counted"),
        "reo.fail.programmed": by_construction("arithmetic on the bits of a cell"),
    }
)
def _life_claims(tables: Tables) -> dict[str, Measured]:
    """Fig. 21, 25 and 26, and what follows from the erase schemes alone."""
    lives, virtual = tables["lives"], load(CHIP)

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
    states = 2 ** int(constant(virtual, "cells", "bits"))
    layers = int(constant(virtual, "variation", "layers"))
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
        "reo.i_ispe.loops.2k5": Measured(at("i-ispe", 2500, "loops")),
        "reo.loops3.pulse": Measured(3 * grains_of(virtual) * virtual.grain_ms),
        "reo.tables.bytes": Measured(grains_of(virtual) * loops_of(virtual) * 4),
        "reo.vpt.bytes": Measured(layers * 5 / 8),
        "reo.vwg.levels": Measured(tables["gate"].height),
        "reo.fail.programmed": Measured(100.0 * (states - 1) / states),
    }


READ, WRITE, IOPS = "host.read.latency_ns.mean", "host.write.latency_ns.mean", "host.all.iops"
P4, P6 = "host.read.latency_ns.p99_99", "host.read.latency_ns.p99_9999"
AGES = ("0.5K", "2.5K", "4.5K")


def _geomean(table: pl.DataFrame, value: str, scheme: str, age: str) -> Measured:
    """The geometric mean over the workloads of a scheme's mean over the Baseline's [%], seed by seed."""
    each = table.filter(age=age).pivot(on="scheme", index=["workload", "seed"], values=value)
    ratio = each.with_columns(r=(pl.col(scheme) / pl.col("ispe")).log())
    seeds = ratio.group_by("seed").agg(pl.col("r").mean().exp()).sort("seed")["r"]
    mean, half = mean_and_half_width([100 * r for r in seeds.to_list()])
    return Measured(mean, half)


def _pooled(of: pl.DataFrame) -> pl.DataFrame:
    """The percentiles of each workload over all seeds: of fewer reads than a million p99.9999 is the longest, and so
    it is of all seeds' together; p99.99 is the mean of theirs."""
    return of.group_by("workload", maintain_order=True).agg(pl.col(P4).mean(), pl.col(P6).max())


def _reductions(of: pl.DataFrame, over: pl.DataFrame, value: str) -> list[float]:
    """By how much each workload's percentile is lower in one table than in another [%]."""
    both = _pooled(of).join(_pooled(over), on="workload", suffix="_over", maintain_order="left")
    return [100 * (1 - row[value] / row[f"{value}_over"]) for row in both.iter_rows(named=True)]


def _over(values: Sequence[float], note: str = "") -> Measured:
    """The mean over workloads, with its interval."""
    mean, half = mean_and_half_width(list(values))
    return Measured(mean, half, note)


@measures(
    {
        "reo.read.reo_plus.2k5 reo.read.reo_plus.4k5": fitted(REO, "erasing.gate_stress"),
        "reo.read.reo_plus.0k5": predicted(off("reo-plus", "ispe")),
        "reo.iops.reo_plus.0k5 reo.iops.reo_plus.2k5 reo.iops.reo_plus.4k5": predicted(off("reo-plus", "ispe")),
        "reo.write.dpes.0k5 reo.write.dpes.2k5 reo.iops.dpes.0k5 reo.iops.dpes.2k5": predicted(off("dpes", "ispe")),
        "reo.read.dpes.2k5": predicted(off("dpes", "ispe")),
        # Blocks erased conventionally before the run are what keeps reads as they were.
        "reo.read.reo": predicted(key("age.worn_under", "scheme")),
        # The entry that is furthest off: REO+'s writes in the sweep, i-ISPE's where blocks are as small as in BRIEF.
        "reo.table4.flat": predicted(off("i-ispe", "ispe")),
    }
)
def _means(tables: Tables) -> dict[str, Measured]:
    """Table 4."""
    systems, iops = tables["systems"], tables["iops"]

    def cell(value: str, scheme: str, age: str) -> Measured:
        return _geomean(iops if value == IOPS else systems, value, scheme, age)

    flat = {
        f"{scheme} {age} {value.split('.')[1]}": number(cell(value, scheme, age).value)
        for value in (READ, WRITE, IOPS)
        for scheme, ages in (("i-ispe", AGES[:2]), ("reo-minus", AGES), ("reo", AGES), ("dpes", AGES[2:]))
        for age in ages
    } | {f"reo-plus {age} write": number(cell(WRITE, "reo-plus", age).value) for age in AGES}
    furthest = max(flat, key=lambda name: abs(flat[name] - 100))
    reo = {age: number(cell(READ, "reo", age).value) for age in AGES}
    names = {"0.5K": "0k5", "2.5K": "2k5", "4.5K": "4k5"}
    return {
        **{f"reo.read.reo_plus.{names[age]}": cell(READ, "reo-plus", age) for age in AGES},
        **{f"reo.iops.reo_plus.{names[age]}": cell(IOPS, "reo-plus", age) for age in AGES},
        **{f"reo.write.dpes.{names[age]}": cell(WRITE, "dpes", age) for age in AGES[:2]},
        **{f"reo.iops.dpes.{names[age]}": cell(IOPS, "dpes", age) for age in AGES[:2]},
        "reo.read.dpes.2k5": cell(READ, "dpes", "2.5K"),
        "reo.read.reo": Measured(max(reo.values()), note=", ".join(f"{v:.1f} at {a}" for a, v in reo.items())),
        "reo.table4.flat": Measured(abs(flat[furthest] - 100), note=furthest),
    }


@measures(
    {
        "reo.tail4.reo reo.tail4.reo.0k5 reo.tail4.reo.2k5 reo.tail4.reo.4k5": predicted(off("reo", "ispe")),
        "reo.tail6.reo reo.tail6.reo.0k5 reo.tail6.reo.2k5 reo.tail6.reo.4k5": predicted(off("reo", "ispe")),
        "reo.tail4.reo_minus reo.tail4.reo_minus.0k5 reo.tail4.reo_minus.2k5": predicted(off("reo-minus", "ispe")),
        "reo.tail6.reo_minus reo.tail6.reo_minus.0k5 reo.tail6.reo_minus.2k5": predicted(off("reo-minus", "ispe")),
        "reo.tail4.reo_minus.4k5 reo.tail6.reo_minus.4k5": predicted(off("reo-minus", "ispe")),
        "reo.tail.reo_over_minus.2k5": predicted(off("reo", "reo-minus")),
        "reo.tail4.reo_over_minus.max reo.tail6.reo_over_minus.max": predicted(off("reo", "reo-minus")),
        "reo.tail4.i_ispe.0k5 reo.tail4.i_ispe.2k5 reo.tail6.i_ispe.0k5 reo.tail6.i_ispe.2k5": predicted(
            off("reo", "i-ispe")
        ),
        "reo.tail4.dpes reo.tail6.dpes": predicted(off("reo", "dpes")),
        "reo.tail4.dpes.2k5": predicted(off("dpes", "ispe")),
        "reo.tail4.reo_plus reo.tail6.reo_plus": predicted(off("reo-plus", "reo")),
    }
)
def _tails(tables: Tables) -> dict[str, Measured]:
    """Fig. 24. Intervals are over the workloads."""
    tails = tables["systems"]

    def at(scheme: str, age: str) -> pl.DataFrame:
        return tails.filter(scheme=scheme, age=age)

    def less(scheme: str, over: str, age: str, value: str) -> list[float]:
        return _reductions(at(scheme, age), at(over, age), value)

    def mean(scheme: str, over: str, value: str, ages: Sequence[str] = AGES) -> Measured:
        of = [less(scheme, over, age, value) for age in ages]
        return _over([sum(column) / len(column) for column in zip(*of, strict=True)])

    names = dict(zip(("0k5", "2k5", "4k5"), AGES, strict=True))
    both = [(a + b) / 2 for a, b in zip(*(less("reo", "reo-minus", "2.5K", value) for value in (P4, P6)), strict=True)]
    measured = {
        f"reo.tail{digits}.{scheme.replace('-', '_')}{'' if name is None else '.' + name}": mean(
            scheme, "ispe", value, AGES if name is None else [names[name]]
        )
        for digits, value in ((4, P4), (6, P6))
        for scheme in ("reo", "reo-minus")
        for name in (None, *names)
    }
    return measured | {
        "reo.tail.reo_over_minus.2k5": _over(both),
        "reo.tail4.reo_over_minus.max": Measured(max(less("reo", "reo-minus", "2.5K", P4))),
        "reo.tail6.reo_over_minus.max": Measured(max(less("reo", "reo-minus", "2.5K", P6))),
        **{
            f"reo.tail{digits}.i_ispe.{name}": mean("reo", "i-ispe", value, [names[name]])
            for digits, value in ((4, P4), (6, P6))
            for name in ("0k5", "2k5")
        },
        "reo.tail4.dpes": mean("reo", "dpes", P4),
        "reo.tail6.dpes": mean("reo", "dpes", P6),
        "reo.tail4.dpes.2k5": _over([-value for value in less("dpes", "ispe", "2.5K", P4)]),
        "reo.tail4.reo_plus": mean("reo-plus", "reo", P4),
        "reo.tail6.reo_plus": mean("reo-plus", "reo", P6),
    }


@measures(
    {
        # Where REO's tail stands for the Baseline's, nothing is gained.
        "reo.mispredict.tail6.reo": predicted(off("ispe", "reo")),
        "reo.mispredict.tail6.reo_minus": predicted(off("ispe", "reo-minus")),
        "reo.mispredict.cost.reo.0k5 reo.mispredict.cost.reo_minus.0k5": predicted(key("erase.mispredictions", 0)),
        # Between pulses the longest wait is a whole pulse, whatever was predicted.
        "reo.mispredict.cost.4k5": predicted(key("schedule.suspend_erase", "none")),
    }
)
def _mispredictions(tables: Tables) -> dict[str, Measured]:
    """Fig. 25. Intervals are over the workloads."""
    tails, wrong = tables["systems"], tables["mispredict"]

    def at(scheme: str, age: str, table: pl.DataFrame = tails) -> pl.DataFrame:
        return table.filter(scheme=scheme, age=age)

    def cost(scheme: str, age: str) -> Measured:
        return _over([-value for value in _reductions(at(scheme, age, wrong), at(scheme, age), P6)])

    costs = [cost(scheme, "4.5K") for scheme in ("reo", "reo-minus")]
    return {
        "reo.mispredict.tail6.reo": _over(_reductions(at("reo", "0.5K", wrong), at("ispe", "0.5K"), P6)),
        "reo.mispredict.tail6.reo_minus": _over(_reductions(at("reo-minus", "0.5K", wrong), at("ispe", "0.5K"), P6)),
        "reo.mispredict.cost.reo.0k5": cost("reo", "0.5K"),
        "reo.mispredict.cost.reo_minus.0k5": cost("reo-minus", "0.5K"),
        "reo.mispredict.cost.4k5": max(costs, key=lambda found: number(found.value)),
    }


def _us(text: str) -> float:
    scale = {"us": 1.0, "ms": 1e3, "ns": 1e-3}[text[-2:]]
    return float(text[:-2]) * scale


@measures(
    {
        "reo.device.table2": by_construction("the preset read back"),
        "reo.tbers.equation": predicted(chip("erasing.t_verify"), off("reo", "ispe")),
        "reo.m_ispe.formula": by_construction("the same formula on both sides"),
        "reo.dpes.limit": by_construction("a literal, given to the scheme"),
        "reo.stress.3d_over_2d": predicted(chip("erasing.loop_stress"), named("WORN", 2500)),
    }
)
def _mechanisms(tables: Tables) -> dict[str, Measured]:
    """Table 2, Eq. 2 and 3, and m-ISPE's formulas."""
    device = ssdlab.run("electronics25", "random-read-8k", requests=1).manifest.device.config
    chip, geometry = device.chip, device.geometry
    erasing = load(CHIP)
    t_verify = constant_of(erasing, "erasing", "t_verify")["value"]
    factors = {pec: _program_us(pec) for pec in (500, 2500)}
    shortest = min(value for row in T1.values() for value in row)
    raw = ssdlab.Device("electronics25").raw_capacity
    entries = [
        raw >= 1024e9,
        device.host.link_bandwidth == "8GB/s",
        device.gc.victim == "greedy",
        device.ftl.over_provisioning == 0.2,
        geometry.channels == 8,
        geometry.chips * geometry.dies == 2,
        geometry.planes == 4,
        geometry.blocks == 497,
        geometry.pages == 2112,
        geometry.page_size == "16KiB",
        geometry.cell == "TLC",
        _us(chip.t_read) == 40,
        _us(chip.t_prog) == 350,
        factors[500] == 385,
        factors[2500] == 455,
        grains_of(erasing) * erasing.grain_ms == 3.5,
        (shortest, max(T1[5])) == (0.5, 3.5) and tables["ept"].filter(pl.col("t1_ms") < 0.5).is_empty(),
        _us(t_verify.strip('"')) == 100,
    ]
    three, two = _share_of_erases(_population()), _share_of_erases(load(PLANAR))
    erases = tables["erases"]
    times, full = tables["erase_times"].filter(pl.col("loops") <= 5), grains_of(erasing)
    wrong = times.filter((pl.col("grains") + full - 1) // full != pl.col("loops"))
    return {
        "reo.device.table2": Measured(sum(entries), note=f"{raw / 1e9:.0f} GB of flash"),
        "reo.tbers.equation": Measured(
            number((erases["took_ns"] - erases["equation_ns"]).abs().max()),
            note="REO at other P/E counts: crates/ssd/tests/writes/erasing.rs",
        ),
        "reo.m_ispe.formula": Measured(int(wrong["blocks"].sum())),
        "reo.dpes.limit": Measured(3000, note="by construction: given to the scheme, as section 7.1 gives it"),
        "reo.stress.3d_over_2d": Measured(
            100.0 * (three / two - 1.0), note=f"{three:.1f} and {two:.1f} % of the errors that {WORN:,} cycles add"
        ),
    }


def _program_us(pec: int) -> float:
    """How long a die programs one page under DPES after this many cycles [us]."""
    with tempfile.TemporaryDirectory() as folder:
        requests = Path(folder) / "write.trace"
        requests.write_text("0 0 0 32 0\n")
        found = ssdlab.run("electronics25", requests, scheme="dpes", age=f"pec={pec},fill=0.5")
        time = number(found.usage.die.program) / 100 * number(found.host.elapsed_s) * 1e6
        return round(16 * time)  # The mean of sixteen dies, one of which programs.


@measures(
    {
        "reo.traces.read reo.traces.size reo.traces.gap": by_construction(
            "what the twins are generated with, counted again"
        )
    }
)
def _twins(tables: Tables) -> dict[str, Measured]:
    twins = {row["workload"]: row for row in tables["twins"].iter_rows(named=True)}
    return {
        "reo.traces.read": Measured(100.0 * max(abs(twins[n]["read_ratio"] - row[0]) for n, row in TWINS.items())),
        "reo.traces.size": Measured(
            100.0 * max(abs(twins[n]["size_bytes"] / 1024 / row[1] - 1) for n, row in TWINS.items())
        ),
        "reo.traces.gap": Measured(100.0 * max(abs(twins[n]["gap_ms"] / row[2] - 1) for n, row in TWINS.items())),
    }


def figures(tables: Tables) -> dict[str, Figure]:
    """Fig. 9, 11, 15 to 18, 21 to 26, and Table 1; the age of the data, suspension and read schemes, endurance."""
    chip = load(CHIP)
    erasing = chip_figures.erasing(tables, chip)
    return {
        "fig9": erasing["erase_times"],
        "fig11": _fig11(tables["wordlines"]),
        "fig15": _fig15(tables["fail_bits"]),
        "fig16": erasing["fail_ranges"],
        "fig17": _fig17(tables["fail_ranges"]),
        "fig18": _fig18(tables["gate"]),
        "table1": _table1(tables["ept"]),
        "fig21": _fig21(tables["lives"]),
        "fig22": _fig22(tables),
        "fig23": _fig23(tables["systems"]),
        "fig24": _fig24(tables["systems"]),
        "fig25": _fig25(tables),
        "fig26": _fig26(tables),
        "retention": _retention(tables["retention"]),
        "lived": _lived(tables["lived"]),
        "beyond": _beyond(tables["beyond"]),
        "endurance": _endurance_figure(tables["endurance"]),
    }


def _plain(width: float = 5.2, height: float = 3.0) -> tuple[Figure, Axes]:
    figure = blank(width, height)
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    return figure, axes


def _fig11(wordlines: pl.DataFrame) -> Figure:
    figure, axes = _plain()
    axes.plot(wordlines["wordline"].to_list(), (100 * wordlines["shift"]).to_list(), color=plot.COLOURS[0])
    axes.set_xlabel("wordline, in the order of the layers")
    axes.set_ylabel("erase speed\n[% of the slowest wordline's]")
    return figure


def _fig15(bits: pl.DataFrame) -> Figure:
    figure, axes = _plain()
    axes.plot((0.5 * bits["left"]).to_list(), bits["fail_bits"].to_list(), "o-", ms=4, color=plot.COLOURS[0])
    axes.set_xlabel("pulse that is still to be applied [ms]")
    axes.set_ylabel("fail bits")
    return figure


def _fig17(ranges: pl.DataFrame) -> Figure:
    figure, axes = _plain()
    of = ranges.group_by("loops").agg(pl.col("m_rber_max").max()).sort("loops")
    axes.bar([f"{loops}" for loops in of["loops"]], of["m_rber_max"].to_list(), color=plot.COLOURS[0])
    for value, name in ((72.0, "ECC capability: 72"), (REQUIREMENT, f"requirement: {REQUIREMENT:.0f}")):
        axes.axhline(value, color=plot.INK, lw=0.8, ls=":")
        axes.annotate(name, (-0.4, value), va="bottom", fontsize="small")
    # Section 5.3: 47 bit errors of margin where one loop suffices.
    axes.plot(["1"], [REQUIREMENT - 47], "D", ms=4.5, mfc="white", mec=plot.INK, ls="none")
    axes.set_ylim(0, 82)
    axes.set_xlabel("N_ISPE")
    axes.set_ylabel("largest errors per KiB\nafter a complete erase")
    return figure


def _fig18(gate: pl.DataFrame) -> Figure:
    figure, axes = _plain()
    axes.plot(gate["gate_v"].to_list(), (100 * gate["shift"]).to_list(), "o-", ms=3, color=plot.COLOURS[0])
    # Section 5.4: 0.1 V takes 21 % off.
    axes.plot([0.1], [79], "D", ms=5, mfc="white", mec=plot.INK, ls="none", label="published")
    axes.set_xlabel("gate voltage of the wordline [V]")
    axes.set_ylabel("erase speed [% of that at 0 V]")
    axes.legend(frameon=False)
    return figure


def _table1(ept: pl.DataFrame) -> Figure:
    from matplotlib.transforms import Bbox

    figure = blank(8, 2.0)
    axes = figure.subplots()
    axes.axis("off")
    loops = sorted(ept["loops"].unique())
    rows = [ept.filter(loops=each).sort("range").select("t1_ms", "t2_ms").rows() for each in loops]
    shown = axes.table(
        [[f"{t1:g}/{t2:g}" for t1, t2 in row] for row in rows],
        rowLabels=[f"N_ISPE = {each}" for each in loops],
        colLabels=["≤ γ", "≤ δ", *(f"≤ {times}δ" for times in range(2, 8))],
        bbox=Bbox.from_bounds(0.12, 0, 0.88, 1),
    )
    shown.auto_set_font_size(False)
    shown.set_fontsize(9)
    return figure


LIVES = {"ispe": 5300, "i-ispe": 5300 * 0.75, "dpes": 5300 * 1.26, "reo-minus": 6900, "reo": 7600}
"""Section 7.2: P/E cycles to the requirement, REO+ as long as REO."""


def _fig21(lives: pl.DataFrame) -> Figure:
    figure, axes = _plain(8, 4)
    for index, scheme in enumerate(lifetime.NAMES):
        of = lives.filter(scheme=scheme)
        # REO+ lives as REO does: a thin line over a thick one shows both.
        width = 4.5 if scheme == "reo" else 1.6
        style = "--" if scheme == "reo-plus" else "-"
        colour = plot.COLOURS[index % len(plot.COLOURS)]
        label = papers.NAMES[scheme]
        axes.plot(of["pec"].to_list(), of["m_rber"].to_list(), style, lw=width, color=colour, label=label)
        if scheme in LIVES:
            axes.plot([LIVES[scheme]], [REQUIREMENT], "D", ms=6, mfc="white", mec=colour, mew=1.6, ls="none")
    axes.axhline(REQUIREMENT, color=plot.INK, lw=0.8, ls=":")
    axes.annotate("requirement: 63", (0.01, REQUIREMENT), xycoords=("axes fraction", "data"), va="bottom")
    axes.set_ylim(0, 100)
    axes.set_xlim(0, 10_000)
    axes.set_xlabel("P/E cycles")
    axes.set_ylabel("mean M_RBER of the blocks\n[errors per KiB]")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    papers.legend(figure, axes)
    return figure


TABLE4 = {
    "read": {("dpes", "0.5K"): 100.4, ("dpes", "2.5K"): 101.3, ("dpes", "4.5K"): 99.9}
    | {("reo-plus", "0.5K"): 86.3, ("reo-plus", "2.5K"): 82.6, ("reo-plus", "4.5K"): 76.3},
    "write": {("dpes", "0.5K"): 110.8, ("dpes", "2.5K"): 135.6, ("dpes", "4.5K"): 100.0}
    | {("reo-plus", "0.5K"): 99.8, ("reo-plus", "2.5K"): 99.7, ("reo-plus", "4.5K"): 99.7},
    "iops": {("dpes", "0.5K"): 95.7, ("dpes", "2.5K"): 87.8, ("dpes", "4.5K"): 100.0}
    | {("reo-plus", "0.5K"): 109.4, ("reo-plus", "2.5K"): 111.9, ("reo-plus", "4.5K"): 114.9},
}
"""Table 4 [% of the Baseline's]; the other schemes' values are within half a percent of 100."""


def _fig22(tables: Tables) -> Figure:
    """Table 4 and Fig. 22: means over the Baseline's."""
    figure = blank(10, 3.4)
    panels = figure.subplots(1, 3, sharey=True)
    shown = ((READ, "read latency", "read"), (WRITE, "write latency", "write"), (IOPS, "IOPS", "iops"))
    for axes, (value, title, published) in zip(panels, shown, strict=True):
        table = tables["iops" if value == IOPS else "systems"]
        rows = {
            s: [number(_geomean(table, value, s, age).value) for age in AGES] for s in lifetime.NAMES if s != "ispe"
        }
        papers.groups(axes, AGES, rows, TABLE4[published])
        axes.axhline(100, color=plot.INK, lw=0.8)
        axes.set_title(title, fontsize="medium")
        axes.set_xlabel("P/E cycles")
    panels[0].set_ylim(60, 140)
    panels[0].set_ylabel("% of Baseline's")
    papers.legend(figure, panels[0])
    return figure


def _fig23(systems: pl.DataFrame) -> Figure:
    """Retry steps of reads under REO and REO+ at 4.5K: mean, half and the worst hundredth."""
    figure, axes = _plain(5.6, 3.2)
    schemes = ("reo", "reo-plus")
    of = systems.filter(age="4.5K").group_by("scheme").agg(pl.col("^flash.retry.steps.*$").mean())
    names = {"fewest": "min", "mean": "mean", "half of the reads": "p50", "99 % of the reads": "p99"}
    names = {name: key for name, key in names.items() if f"flash.retry.steps.{key}" in of.columns}
    bars = {
        s: [number(of.filter(scheme=s)[f"flash.retry.steps.{key}"].item()) for key in names.values()] for s in schemes
    }
    papers.groups(axes, list(names), bars)
    axes.set_ylabel("retry steps")
    papers.legend(figure, axes, marks=False)
    return figure


def _fig24(tails: pl.DataFrame) -> Figure:
    """Tails over the Baseline's, by workload."""
    figure = blank(10, 7)
    panels = figure.subplots(3, 2, sharex=True, sharey=True)
    for row, age in zip(panels, AGES, strict=True):
        for axes, (value, title) in zip(row, ((P4, "p99.99"), (P6, "p99.9999")), strict=True):
            base = tails.filter(scheme="ispe", age=age)
            bars = {
                scheme: [100 - less for less in _reductions(tails.filter(scheme=scheme, age=age), base, value)]
                # The paper leaves i-ISPE out where it cannot erase every block.
                for scheme in lifetime.NAMES
                if scheme != "ispe" and (scheme, age) != ("i-ispe", "4.5K")
            }
            papers.groups(axes, base["workload"].unique(maintain_order=True).to_list(), bars)
            for scheme, patches in zip(bars, axes.containers, strict=True):
                colour = plot.COLOURS[lifetime.NAMES.index(scheme) - 1]
                for patch in patches.patches:
                    patch.set_facecolor(colour)
            axes.axhline(100, color=plot.INK, lw=0.8)
            axes.set_title(f"{title} of reads at {age} P/E cycles", fontsize="medium")
            axes.tick_params(axis="x", rotation=60, labelsize="small")
        row[0].set_ylabel("% of Baseline's")
    panels[0, 0].set_ylim(0, 160)
    papers.legend(figure, panels[0, 0], marks=False)
    return figure


def _fig25(tables: Tables) -> Figure:
    """Wrong predictions: lives, and tails at 20 %."""
    figure = blank(9, 3.2)
    left, right = figure.subplots(1, 2)
    lives = tables["lifetimes"].filter(requirement=REQUIREMENT)
    base = number(lives.filter(scheme="ispe", mispredictions=0.0)["cycles"].item())
    for index, scheme in enumerate(("reo-minus", "reo")):
        of = lives.filter(scheme=scheme).sort("mispredictions")
        shares, cycles = (100 * of["mispredictions"]).to_list(), (100 * of["cycles"] / base).to_list()
        left.plot(shares, cycles, marker="o", color=plot.COLOURS[index], label=papers.NAMES[scheme])
    # Section 7.4: lives at 20 % of wrong predictions.
    left.plot([20, 20], [129, 142], "D", ms=5, mfc="white", mec=plot.INK, ls="none", label="published")
    left.set_xlabel("wrong predictions [%]")
    left.set_ylabel("life [% of Baseline's]")
    left.grid(alpha=0.3)
    left.legend(frameon=False)
    tails, wrong = tables["systems"], tables["mispredict"]
    ages = ("0.5K", "4.5K")

    def reduction(of: pl.DataFrame, scheme: str, age: str) -> float:
        found = _reductions(of.filter(scheme=scheme, age=age), tails.filter(scheme="ispe", age=age), P6)
        return sum(found) / len(found)

    bars = {
        f"{papers.NAMES[scheme]}, {share}": [reduction(of, scheme, age) for age in ages]
        for scheme in ("reo-minus", "reo")
        for share, of in (("0 %", tails), ("20 %", wrong))
    }
    papers.groups(right, ages, bars)
    right.set_xlabel("P/E cycles")
    right.set_ylabel("p99.9999 of reads,\nless than Baseline's by [%]")
    right.legend(frameon=False)
    return figure


def _fig26(tables: Tables) -> Figure:
    """Weaker ECC: lives, and tails."""
    figure = blank(9, 3.2)
    left, right = figure.subplots(1, 2)
    lives = tables["lifetimes"].filter(mispredictions=0.0)
    groups = [f"{errors:g}" for errors in (40.0, 50.0, 63.0)]

    def life(scheme: str) -> list[float]:
        return lives.filter(scheme=scheme).sort("requirement")["cycles"].to_list()

    papers.groups(left, groups, {scheme: life(scheme) for scheme in ("ispe", "reo-minus", "reo")})
    left.set_ylabel("P/E cycles of life")
    # The conventional erase knows no requirement.
    table, base = tables["requirement"], tables["systems"].filter(scheme="ispe", seed=1)
    bars = {}
    for age in AGES:
        of = table.filter(scheme="reo", age=age)
        both = of.join(base.filter(age=age), on="workload", suffix="_over")
        mean = both.group_by("erase.requirement").agg((100 * (1 - pl.col(P6) / pl.col(f"{P6}_over"))).mean().alias("r"))
        bars[f"REO at {age}"] = mean.sort("erase.requirement")["r"].to_list()
    papers.groups(right, groups, bars)
    right.set_ylabel("p99.9999 of reads,\nless than Baseline's by [%]")
    right.set_ylim(top=100)
    for axes in (left, right):
        axes.set_xlabel("errors per KiB that a block may have")
        axes.legend(frameon=False, loc="upper left")
    return figure


def _retention(table: pl.DataFrame) -> Figure:
    """What the age of the data does to the means."""
    figure = blank(9, 3.2)
    panels = figure.subplots(1, 2, sharey=True)
    ages = ["0d", "1mo", "3mo", "12mo"]
    for axes, pec in zip(panels, (500, 2500), strict=True):
        bars = {}
        for scheme in ("dpes", "reo", "reo-plus"):
            of = table.filter(pl.col("age.pec") == pec).pivot(
                on="scheme", index=["age.retention", "workload", "seed"], values=READ
            )
            ratio = of.with_columns(r=(pl.col(scheme) / pl.col("ispe")).log()).group_by("age.retention")
            found = dict(ratio.agg(100 * pl.col("r").mean().exp()).iter_rows())
            bars[scheme] = [number(found[age]) for age in ages]
        papers.groups(axes, ages, bars)
        axes.axhline(100, color=plot.INK, lw=0.8)
        axes.set_title(f"{pec:,} P/E cycles")
        axes.set_xlabel("age of the data")
    panels[0].set_ylim(60, 120)
    panels[0].set_ylabel("mean read latency [% of Baseline's]")
    panels[0].legend(frameon=False)
    return figure


def _lived(table: pl.DataFrame) -> Figure:
    """Read latency where blocks have lived conventionally, and under their own scheme."""
    figure = blank(9, 3.2)
    panels = figure.subplots(1, 2, sharey=True)
    titles = {"ispe": "erased conventionally before", "scheme": "erased by their own scheme before"}
    for axes, (lived, title) in zip(panels, titles.items(), strict=True):
        of = table.filter(pl.col("age.worn_under") == lived)
        schemes = [scheme for scheme in lifetime.NAMES if scheme != "ispe"]
        papers.groups(axes, AGES, {s: [number(_geomean(of, READ, s, age).value) for age in AGES] for s in schemes})
        axes.axhline(100, color=plot.INK, lw=0.8)
        axes.set_title(title)
        axes.set_xlabel("P/E cycles")
    panels[0].set_ylim(40, 130)
    panels[0].set_ylabel("mean read latency [% of Baseline's]")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return figure


def _beyond(table: pl.DataFrame) -> Figure:
    """The tail under erase, suspension and read schemes."""
    figure = blank(10, 5.5)
    panels = figure.subplots(2, 3, sharey="row", sharex=True)
    names = table["suspension"].unique(maintain_order=True).to_list()
    for row, age in zip(panels, AGES[:2], strict=True):
        for axes, reads in zip(row, table["reads"].unique(maintain_order=True).to_list(), strict=True):
            of = table.filter(age=age, reads=reads)
            bars = {
                scheme: [number(of.filter(scheme=scheme, suspension=name)[P6].item()) / 1e6 for name in names]
                for scheme in of["scheme"].unique(maintain_order=True).to_list()
            }
            papers.groups(axes, names, bars)
            axes.set_title(f"{reads} reads, {age} P/E cycles")
        row[0].set_ylabel("p99.9999 of reads [ms]")
    panels[1, 1].set_xlabel("suspension of erases")
    handles = panels[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _endurance_figure(table: pl.DataFrame) -> Figure:
    """Terabytes written by scheme."""
    figure = blank(7, 3.2)
    axes = figure.subplots()
    schemes = table["scheme"].unique(maintain_order=True).to_list()
    bars = {
        f"{load_name} writes, WAF {number(of['waf'][0]):.2f}": of["tbw"].to_list()
        for (load_name,), of in table.group_by("load", maintain_order=True)
    }
    papers.groups(axes, schemes, bars)
    axes.set_ylabel("TB that the host may write")
    axes.legend(frameon=False)
    return figure


# What the figures show (shapes.toml).


def _rises_with_wear(tables: Tables) -> Seen:
    falls = {}
    for scheme in ("ispe", "reo-minus", "reo"):
        errors = tables["lives"].filter(scheme=scheme).sort("pec")["m_rber"].to_list()
        falls[scheme] = max(0.0, *(before - after for before, after in pairwise(errors)))
    return Seen(max(falls.values()) <= 1e-9, f"falls by at most: {listed(falls, 2)} errors")


def _rises_slower(tables: Tables) -> Seen:
    lives = tables["lives"]
    rise = {
        scheme: number(lives.filter(scheme=scheme, pec=WORN)["m_rber"].item())
        - number(lives.filter(scheme=scheme, pec=0)["m_rber"].item())
        for scheme in ("reo", "reo-minus", "ispe")
    }
    return Seen(rises(rise.values()), f"{listed(rise)} errors")


def _lives_longest(tables: Tables) -> Seen:
    lives = tables["lifetimes"].filter(mispredictions=0.0)
    found = {}
    for errors in (40.0, 50.0, 63.0):
        of = lives.filter(requirement=errors)
        found[f"{errors:g}"] = {
            scheme: number(of.filter(scheme=scheme)["cycles"].item()) for scheme in ("ispe", "reo-minus", "reo")
        }
    holds = all(rises(of.values()) for of in found.values())
    return Seen(holds, "; ".join(f"{errors} errors: {listed(of, 0)}" for errors, of in found.items()))


def _taken_off(tables: Tables) -> dict[str, dict[str, float]]:
    """What REO takes off Baseline's tails [%] by percentile and age, mean over workloads and seeds."""
    systems, on = tables["systems"], ["seed", "age", "workload"]
    both = systems.filter(scheme="reo").join(systems.filter(scheme="ispe"), on=on, suffix="_over")
    left = both.group_by("age").agg((pl.col(key) / pl.col(f"{key}_over")).mean() for key in (P4, P6))
    return {
        name: {age: 100 * (1 - number(left.filter(age=age)[key].item())) for age in AGES}
        for name, key in (("p99.99", P4), ("p99.9999", P6))
    }


def _lower(tables: Tables) -> Seen:
    off = _taken_off(tables)
    what = "; ".join(f"{name}: {listed(of)} %" for name, of in off.items())
    return Seen(all(value > 0 for of in off.values() for value in of.values()), what)


def _less_with_wear(tables: Tables) -> Seen:
    off = _taken_off(tables)
    what = "; ".join(f"{name}: {listed(of)} %" for name, of in off.items())
    return Seen(all(rises(list(of.values())[::-1]) for of in off.values()), what)


SHAPES: dict[str, Look] = {
    "reo.shape.mrber.rises": _rises_with_wear,
    "reo.shape.mrber.slower": _rises_slower,
    "reo.shape.weak_ecc": _lives_longest,
    "reo.shape.tails.lower": _lower,
    "reo.shape.tails.age": _less_with_wear,
}
