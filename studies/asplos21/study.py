"""PR2/AR2: what is measured of each claim, and the figures."""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

import ssdlab
from ssdlab import trace
from ssdlab.chip import characterize
from ssdlab.chip import figures as chip_figures
from ssdlab.chip.characterize import constant, load
from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.show import papers, plot
from ssdlab.study.claims import Fitted, Measured, Tables, by_construction, chip, fitted, key, measures, off, predicted
from ssdlab.study.folder import number
from ssdlab.study.shapes import Look, Seen, listed, rises
from ssdlab.sweeps.comparison import compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHIP = "tlc48"
TWINS = {
    "stg_0": (0.15, 0.38),
    "hm_0": (0.36, 0.22),
    "prn_1": (0.75, 0.72),
    "proj_1": (0.89, 0.96),
    "mds_1": (0.92, 0.98),
    "usr_1": (0.96, 0.73),
    "YCSB-A": (0.98, 0.72),
    "YCSB-B": (0.99, 0.59),
    "YCSB-C": (0.99, 0.60),
    "YCSB-D": (0.98, 0.58),
    "YCSB-E": (0.99, 0.98),
    "YCSB-F": (0.98, 0.87),
}
"""Table 2: read ratio, cold ratio."""

TABLES = {
    "steps": lambda progress: characterize.retry_steps(load(CHIP), progress=progress),
    "m_err": lambda progress: characterize.m_err(load(CHIP)),
    "cuts": lambda progress: characterize.timing_cuts(load(CHIP), celsius=(85.0, 55.0, 30.0)),
    "both": lambda progress: characterize.both_cuts(load(CHIP)),
    "rpt": lambda progress: characterize.rpt(load(CHIP)),
    "last": lambda progress: _last_steps(),
    "twins": lambda progress: trace.twins([f"asplos21/{name}" for name in TWINS]),
    "lone": lambda progress: _lone(),
    "flat": lambda progress: _flat(list(TWINS)),
}
QUICK = {
    "steps": lambda progress: characterize.retry_steps(load(CHIP), pec=(0, 2000), progress=progress),
    "twins": lambda progress: trace.twins(["asplos21/stg_0", "asplos21/YCSB-E"]),
    "flat": lambda progress: _flat(["YCSB-E"]),
}
"""In CI some rows only."""

# Table 1 and Eq. 1 [ns].
SENSES = (2, 3, 2)
SENSE, T_PRE = 39_000, 24_000
T_DMA, T_ECC, T_SET, T_RST = 16_000, 20_000, 1_000, 5_000
STEPS = tuple(range(1, 26))
CUT = 10_000
"""What is cut of tPRE where the equations are checked."""
WRITE_DOMINANT = ("stg_0", "hm_0")
"""Fig. 14."""

BRIEF = {
    "systems": {
        "requests": 400,
        "warmup": 100,
        "workload": ["stg_0", "YCSB-B"],
        "age": ["1K, 3 mo", "2K, 6 mo"],
        "seed": [1],
    },
    "": {"STEPS": (1, 24, 25)},
    "similar": {"requests": 6000, "warmup": 2000, "seed": [1], "age": ["2K, 12 mo"]},
}
"""For the levers of what is predicted: ssdlab.study.levers."""

TLC48 = "presets/chips/tlc48.toml"
CELLS = fitted(TLC48, "cells.shift*", "cells.wear_*", "cells.width*", "cells.retry_step")
COLD = fitted(TLC48, "cells.cold_*")
CUTS = fitted(TLC48, *(f"sensing.{name}" for name in ("pre*", "disch*", "eval*", "wear", "retention")))
"""What presets/chips/calibrate.py fits, a family at once."""


def _lone() -> pl.DataFrame:
    """Lone reads that need this many steps: scheme, steps, page (its place in the wordline; 3 stands for one of Table
    1's mean tR of 90 us), latency_ns, and busy_ns, how long the die is busy when the page has been decoded."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        rpt, model = Path(folder) / "rpt.csv", Path(folder) / "steps.csv"
        rpt.write_text(f"pec,months,cut\n100000,1200,{CUT / T_PRE}\n")
        for steps in STEPS:
            # A table of forty steps.
            model.write_text(f"pec,months,steps,pages\n0,0,{steps},1\n90000,1000,40,1\n")
            settings = {
                "chip.model": str(model),
                "read.rpt": str(rpt),
                "mapping.table": "ideal",
                "host.link_bandwidth": "1000GB/s",
                "buffer.dram_bandwidth": "1000GB/s",
            }
            for scheme in ("baseline", "pr2", "ar2", "pnar2"):
                for page in range(3 if "ar2" in scheme else 4):
                    # Neighbours of one plane: 32 planes away.
                    first, next = page * 32 * 16384, (page + 3) * 32 * 16384
                    mean = {"chip.senses": "none", "chip.t_read": "90us"} if page == 3 else {}
                    device = ssdlab.Device("asplos21", scheme=scheme, settings=settings | mean)
                    device.submit(0, "read", offset=first, bytes=16384)
                    device.submit(200_000, "read", offset=next, bytes=16384)
                    read, later = (done.finish_ns for done in device.advance(1_000_000_000))
                    # Both take as long from the beginning of their senses.
                    rows.append((scheme, steps, page, read, later - 2 * read))
    return pl.DataFrame(rows, schema=["scheme", "steps", "page", "latency_ns", "busy_ns"], orient="row")


FLAT = 0.4
"""What is cut of tPRE so that tR is a quarter shorter (section 5.2.1)."""


def _flat(twins: list[str]) -> pl.DataFrame:
    """Response times of systems.toml's first seed where the RPT cuts as much at every condition."""
    sweep = tomllib.loads((Path(__file__).parent / "systems.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        rpt = Path(folder) / "rpt.csv"
        rpt.write_text(f"pec,months,cut\n100000,1200,{FLAT}\n")
        sweep["run"]["read.rpt"] = str(rpt)
        sweep["axes"] |= {
            "scheme": ["ar2", "pnar2"],
            "seed": sweep["axes"]["seed"][:1],
            "workload": {name: sweep["axes"]["workload"][name] for name in twins},
        }
        del sweep["quick"]
        table = ssdlab.sweep(sweep, cache=Path(folder) / "cache", threads=1).table
    return table.select("workload", "age", "seed", "scheme", MEAN).sort("workload", "age", "seed", "scheme")


def _last_steps() -> pl.DataFrame:
    """Errors one step before the final one, of typical pages that need 16 and 21 steps (Fig. 4b)."""
    chip = load(CHIP)
    step = constant(chip, "cells", "retry_step")
    rows = []
    for steps, pec in ((16, 1000), (21, 2000)):
        # The middle of the retention ages at which a typical middle page needs this many steps.
        def needed(months: float, pec: int = pec) -> int:
            at = (pec / 1e3, months, 85.0)
            return next(k for k in range(41) if chip.errors(1, at, 0.0, k * step) <= 72)

        ages = [age / 20 for age in range(600) if needed(age / 20) == steps]
        months = ages[len(ages) // 2]
        for before in (3, 2, 1):
            errors = chip.errors(1, (pec / 1e3, months, 85.0), 0.0, (steps - before) * step)
            rows.append((steps, pec, months, before, errors))
    return pl.DataFrame(rows, schema=["steps", "pec", "months", "before", "errors"], orient="row")


def _share(steps: pl.DataFrame, pec: int, months: float, at_least: int) -> float:
    of = steps.filter(pec=pec, months=months)
    return 100.0 * float(of.filter(pl.col("steps") >= at_least)["pages"].sum()) / float(of["pages"].sum())


def _mean_steps(steps: pl.DataFrame, pec: int, months: float) -> float:
    of = steps.filter(pec=pec, months=months)
    return float((of["steps"] * of["pages"]).sum()) / float(of["pages"].sum())


def _fewest(steps: pl.DataFrame, pec: int, months: float) -> int:
    return int(number(steps.filter(pec=pec, months=months)["steps"].min()))


@measures(
    {
        "rr.fresh.no_retry": by_construction("no constant of the chip, 20 % more or less, makes a fresh page fail"),
        "rr.ar2.extra_steps": predicted(chip("cells.width")),
    }
)
def _retries(tables: Tables) -> dict[str, Measured]:
    failing = float(tables["rpt"]["failing"].sum())
    return {
        "rr.fresh.no_retry": Measured(_share(tables["steps"], 0, 0.0, 1)),
        "rr.ar2.extra_steps": Measured(round(failing), note=f"{failing:.1e} expected over 36 conditions"),
    }


@measures(
    {
        "rr.steps.2k.12mo.mean rr.steps.0.6mo.ge7 rr.steps.1k.3mo.min rr.steps.0.3mo.min": CELLS,
        # One more than the mean of steps.
        "rr.tread.2k.12mo.ratio": CELLS,
        "rr.fig4b.last_steps": by_construction(
            "the step before the last has failed, so above 72; 600 is the axis' end"
        ),
        "rr.merr.0.3mo.85c rr.merr.1k.12mo.85c rr.merr.2k.12mo.85c": CELLS,
        "rr.merr.temp.30c rr.merr.temp.55c": COLD,
        # M_ERR at 85 C and what 30 C adds, both fitted.
        "rr.margin.2k.12mo.30c": Fitted((*CELLS.constants, *COLD.constants)),
        "rr.safe.tpre.2k.12mo rr.safe.teval.2k.12mo rr.safe.tdisch.2k.12mo rr.teval20.fresh": CUTS,
        "rr.tpre47.retention.ratio rr.tpre54.1k.0 rr.tdisch20.1k.0 rr.both.1k.0 rr.tdisch7.max": CUTS,
        "rr.tpre.temp.max": fitted(TLC48, "sensing.cold"),
        # A tR cut is the cut of tPRE times 24 / 39.
        "rr.rpt.min_cut rr.rpt.max_cut rr.rpt.tr_cut.2k.12mo": CUTS,
        "rr.rpt.margin": by_construction("the RPT is profiled to leave 14 errors"),
        "rr.rpt.bytes": by_construction("4 B times the 36 conditions that are profiled"),
    }
)
def _chip_claims(tables: Tables) -> dict[str, Measured]:
    steps, last, rpt = tables["steps"], tables["last"], tables["rpt"]
    of = {(row["pec"], row["months"], row["celsius"]): row["m_err"] for row in tables["m_err"].iter_rows(named=True)}
    cuts = tables["cuts"]

    def added(pec: int, months: float, phase: str, cut: float, celsius: float = 85.0) -> int:
        row = cuts.filter(pl.col("pec") == pec, pl.col("months") == months, pl.col("phase") == phase)
        row = row.filter(pl.col("celsius") == celsius, (pl.col("cut") - cut).abs() < 0.004)
        return int(row["added"].item())

    def safe(phase: str) -> float:
        row = cuts.filter(pl.col("pec") == 2000, pl.col("months") == 12.0, pl.col("phase") == phase)
        return 100.0 * number(row.filter(pl.col("celsius") == 85.0, pl.col("m_err") <= 72)["cut"].max())

    virtual = load(CHIP)
    exact = [
        virtual.m_err_between((2.0, months, 85.0), (cut, 0.0, 0.0)) for months in (12.0, 0.0) for cut in (7 / 15, 0.0)
    ]
    tdisch = cuts.filter(pl.col("phase") == "disch", (pl.col("cut") - 1 / 15).abs() < 1e-6, pl.col("celsius") == 85.0)
    cold = cuts.filter(
        pl.col("phase") == "pre", pl.col("pec") == 2000, pl.col("months") == 12.0, pl.col("cut") < 0.5
    ).pivot("celsius", index="cut", values="m_err")
    both = tables["both"].filter(pec=1000, months=0.0)
    both = both.filter((pl.col("pre") - 8 / 15).abs() < 1e-6, (pl.col("disch") - 0.2).abs() < 1e-6)
    worst = rpt.filter(pec=2000, months=12.0)
    return {
        "rr.steps.2k.12mo.mean": Measured(_mean_steps(steps, 2000, 12.0)),
        "rr.steps.0.6mo.ge7": Measured(_share(steps, 0, 6.0, 7)),
        "rr.steps.1k.3mo.min": Measured(_fewest(steps, 1000, 3.0)),
        "rr.steps.0.3mo.min": Measured(_fewest(steps, 0, 3.0)),
        # tREAD = (tR + tDMA + tECC) x (1 + N_RR), section 2.4 Eq. 2 and 3.
        "rr.tread.2k.12mo.ratio": Measured(1.0 + _mean_steps(steps, 2000, 12.0)),
        "rr.fig4b.last_steps": Measured(number(last.filter(before=1)["errors"].max())),
        "rr.merr.0.3mo.85c": Measured(of[0, 3.0, 85.0]),
        "rr.merr.1k.12mo.85c": Measured(of[1000, 12.0, 85.0]),
        "rr.merr.2k.12mo.85c": Measured(of[2000, 12.0, 85.0]),
        "rr.margin.2k.12mo.30c": Measured(100.0 * (72 - of[2000, 12.0, 30.0]) / 72),
        "rr.merr.temp.30c": Measured(of[2000, 12.0, 30.0] - of[2000, 12.0, 85.0]),
        "rr.merr.temp.55c": Measured(of[2000, 12.0, 55.0] - of[2000, 12.0, 85.0]),
        "rr.safe.tpre.2k.12mo": Measured(safe("pre")),
        "rr.safe.teval.2k.12mo": Measured(safe("eval")),
        "rr.safe.tdisch.2k.12mo": Measured(safe("disch")),
        "rr.teval20.fresh": Measured(added(0, 0.0, "eval", 0.2)),
        "rr.tpre47.retention.ratio": Measured(
            (exact[0] - exact[1]) / (exact[2] - exact[3]), note="of M_ERR before it is rounded up to whole errors"
        ),
        "rr.tpre54.1k.0": Measured(added(1000, 0.0, "pre", 8 / 15)),
        "rr.tdisch20.1k.0": Measured(added(1000, 0.0, "disch", 0.2)),
        "rr.both.1k.0": Measured(int(both["m_err"].item())),
        "rr.tdisch7.max": Measured(int(number(tdisch["added"].max()))),
        "rr.tpre.temp.max": Measured(int(number((cold["30.0"] - cold["85.0"]).max()))),
        "rr.rpt.min_cut": Measured(100.0 * number(rpt["cut"].min())),
        "rr.rpt.max_cut": Measured(100.0 * number(rpt["cut"].max())),
        "rr.rpt.margin": Measured(72 - int(number(rpt["m_err"].max()))),
        # tPRE is 24 of 39 us of a sense (section 4).
        "rr.rpt.tr_cut.2k.12mo": Measured(100.0 * float(worst["cut"].item()) * 24 / 39),
        "rr.rpt.bytes": Measured(4 * rpt.height),
    }


MOVES = 2 * 17
"""A page through a DRAM and a link of 1,000 GB/s [ns]."""


@measures(
    {
        "rr.tretry.equations": predicted(key("chip.t_set"), key("bus.t_dma"), key("ecc.t_decode")),
        "rr.pr2.step": predicted(off("pr2", "baseline"), key("bus.t_dma")),
        "rr.pr2.reset": predicted(key("chip.t_rst")),
    }
)
def _equations(tables: Tables) -> dict[str, Measured]:
    """The mechanisms, on an idle drive."""
    lone = tables["lone"]
    worst, at = 0, ""
    for scheme, steps, page, latency, _ in lone.iter_rows():
        full = SENSES[page] * SENSE if page < 3 else 90_000
        short, rest = full - SENSES[page % 3] * CUT, T_DMA + T_ECC
        retry = {
            "baseline": steps * (full + rest),
            "pr2": steps * full + rest,
            "ar2": T_SET + steps * (short + rest),
            "pnar2": T_SET + steps * short + rest,
        }[scheme]
        off = abs(latency - MOVES - (full + rest + retry))
        if off > worst:
            worst, at = off, f"{scheme}, {steps} steps, page {page}"

    def takes(scheme: str, steps: int) -> float:
        return number(lone.filter(scheme=scheme, steps=steps, page=3)["latency_ns"].item())

    more = {scheme: takes(scheme, 25) - takes(scheme, 24) for scheme in ("baseline", "pr2")}
    busy = (lone.filter(scheme="pr2")["busy_ns"] + MOVES).unique().to_list()
    return {
        "rr.tretry.equations": Measured(worst, note=at),
        "rr.pr2.step": Measured(100 * (1 - more["pr2"] / more["baseline"])),
        "rr.pr2.reset": Measured(max(busy) / 1e3),
    }


@measures({"rr.device.table1": by_construction("the preset read back")})
def _table1(tables: Tables) -> dict[str, Measured]:
    """Entries of section 7.1 and Table 1 that the preset reproduces."""
    device = ssdlab.run("asplos21", "random-read-8k", requests=1).manifest.device.config
    chip, geometry = device.chip, device.geometry

    def us(text: str) -> float:
        scale = {"us": 1.0, "ms": 1e3, "ns": 1e-3}[text[-2:]]
        return float(text[:-2]) * scale

    dies = geometry.channels * geometry.chips * geometry.dies
    raw = dies * geometry.planes * geometry.blocks * geometry.pages * 16384
    entries = [
        raw >= 512 << 30,
        geometry.channels == 4,
        geometry.chips * geometry.dies == 4,
        geometry.planes == 2,
        geometry.blocks == 1888,
        geometry.pages == 576,
        geometry.page_size == "16KiB",
        us(chip.t_pre) == 24,
        us(chip.t_eval) == 5,
        us(chip.t_disch) == 10,
        chip.program_loops * (us(chip.t_program_pulse) + us(chip.t_program_verify)) == 700,
        chip.erase_loops * (us(chip.t_erase_pulse) + us(chip.t_erase_verify)) == 5000,
        us(chip.t_set) == 1,
        us(chip.t_rst) == 5,
        us(device.ecc.t_decode) == 20,
        us(device.bus.t_dma) == 16,
        constant(load(chip.model), "cells", "capability") == 72,
    ]
    return {"rr.device.table1": Measured(sum(entries))}


MEAN = "host.all.latency_ns.mean"
"""The paper's average response time; of reads and writes."""


def _times(table: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Response times, a column a scheme."""
    return table.pivot(on="scheme", index=keys, values=MEAN)


def _mean(times: pl.DataFrame, value: pl.Expr) -> tuple[float | None, float | None]:
    """The mean over workloads and conditions, seed by seed, with its interval."""
    return mean_and_half_width(times.group_by("seed").agg(value.mean().alias("v")).sort("seed")["v"].to_list())


def _over(times: pl.DataFrame, scheme: str, over: str) -> Measured:
    """The ratio of two schemes' average times, as the paper's figures give them: normalised to Baseline."""
    normalised = pl.col(scheme) / pl.col("baseline"), pl.col(over) / pl.col("baseline")
    seeds = times.group_by("seed").agg((normalised[0].mean() / normalised[1].mean()).alias("v")).sort("seed")
    return Measured(*mean_and_half_width(seeds["v"].to_list()))


def _reduction(times: pl.DataFrame, scheme: str, over: str) -> Measured:
    mean, width = _mean(times, 100 * (1 - pl.col(scheme) / pl.col(over)))
    return Measured(mean, width)


def _largest(times: pl.DataFrame, value: pl.Expr) -> Measured:
    """The largest over workloads and conditions of the mean over seeds."""
    of = times.with_columns(v=value).group_by("workload", "age").agg(pl.col("v")).sort("workload", "age")
    found = [(*mean_and_half_width(row["v"]), row["workload"], row["age"]) for row in of.iter_rows(named=True)]
    mean, width, workload, age = max(found, key=lambda row: row[0] or 0.0)
    return Measured(mean, width, f"{workload} at {age}")


def _less(scheme: str, over: str = "baseline") -> pl.Expr:
    return 100 * (1 - pl.col(scheme) / pl.col(over))


@measures(
    {
        "rr.pr2.mean rr.pr2.max": predicted(off("pr2", "baseline"), key("bus.t_dma")),
        "rr.ar2.mean rr.ar2.max": predicted(off("ar2", "baseline"), key("chip.t_pre")),
        "rr.pnar2.mean rr.pnar2.max rr.pnar2.2k.6mo rr.pnar2.2k.6mo.max": predicted(off("pnar2", "baseline")),
        "rr.synergy": predicted(off("pnar2", "ar2")),
        "rr.stg0.2k.6mo rr.stg0.mean": predicted(off("pnar2", "baseline")),
        "rr.gap_to_norr rr.pnar2.over_norr": predicted(off("pnar2", "baseline")),
        "rr.pso.over_norr.mean rr.pso.over_norr.max": predicted(off("pso", "baseline")),
        "rr.pso_pnar2.read.mean rr.pso_pnar2.read.max": predicted(off("pso-pnar2", "pso")),
        "rr.pso_pnar2.write.mean rr.pso_pnar2.write.max": predicted(off("pso-pnar2", "pso")),
        "rr.pso_pnar2.over_norr": predicted(off("pso-pnar2", "pso")),
    }
)
def _systems(tables: Tables) -> dict[str, Measured]:
    times = _times(tables["systems"], ["workload", "age", "seed"])
    worst = times.filter(pl.col("age") == "2K, 6 mo")
    stg_0 = times.filter(pl.col("workload") == "stg_0")
    writes = times.filter(pl.col("workload").is_in(WRITE_DOMINANT))
    reads = times.filter(~pl.col("workload").is_in(WRITE_DOMINANT))
    seeds = [
        [_mean(times.filter(seed=seed), _less(scheme))[0] or 0.0 for scheme in ("pr2", "ar2", "pnar2")]
        for seed in sorted(times["seed"].unique())
    ]
    gap = (pl.col("baseline") - pl.col("pnar2")) / (pl.col("baseline") - pl.col("norr"))
    return {
        **{f"rr.{scheme}.mean": _reduction(times, scheme, "baseline") for scheme in ("pr2", "ar2", "pnar2")},
        **{f"rr.{scheme}.max": _largest(times, _less(scheme)) for scheme in ("pr2", "ar2", "pnar2")},
        "rr.pnar2.2k.6mo": _reduction(worst, "pnar2", "baseline"),
        "rr.pnar2.2k.6mo.max": _largest(worst, _less("pnar2")),
        "rr.synergy": Measured(
            *mean_and_half_width([both - 100 * (1 - (1 - a / 100) * (1 - b / 100)) for a, b, both in seeds])
        ),
        "rr.stg0.2k.6mo": _reduction(stg_0.filter(pl.col("age") == "2K, 6 mo"), "pnar2", "baseline"),
        "rr.stg0.mean": _reduction(stg_0, "pnar2", "baseline"),
        "rr.gap_to_norr": Measured(*_mean(times, 100 * gap)),
        "rr.pnar2.over_norr": _over(times, "pnar2", "norr"),
        "rr.pso.over_norr.mean": _over(reads, "pso", "norr"),
        "rr.pso.over_norr.max": _largest(reads, pl.col("pso") / pl.col("norr")),
        "rr.pso_pnar2.read.mean": _reduction(reads, "pso-pnar2", "pso"),
        "rr.pso_pnar2.read.max": _largest(reads, _less("pso-pnar2", "pso")),
        "rr.pso_pnar2.write.mean": _reduction(writes, "pso-pnar2", "pso"),
        "rr.pso_pnar2.write.max": _largest(writes, _less("pso-pnar2", "pso")),
        "rr.pso_pnar2.over_norr": _over(reads, "pso-pnar2", "norr"),
    }


@measures(
    {
        "rr.pso.steps": fitted("crates/schemes/src/start/tracked.rs", "GUARD_PERCENT"),
        "rr.pso.min_steps": fitted("crates/schemes/src/start/tracked.rs", "GUARD_LEAST"),
    }
)
def _similar(tables: Tables) -> dict[str, Measured]:
    similar = tables["similar"].filter(pl.col("age") == "2K, 12 mo")
    steps = similar.pivot(on="scheme", index="seed", values="flash.retry.steps.mean")
    saved = mean_and_half_width((100 * (1 - steps["pso"] / steps["baseline"])).to_list())
    fewest = number(similar.filter(scheme="pso")["flash.retry.steps.min"].min())
    memory = int(number(similar["flash.retry.tracked"].max()))
    return {
        "rr.pso.steps": Measured(*saved, note=f"with {memory} B of what last worked"),
        "rr.pso.min_steps": Measured(fewest),
    }


@measures(
    {
        "rr.arrhenius": fitted("crates/units/src/condition.rs", "ACTIVATION_EV"),
        "rr.teval20.tr rr.tdisch7.tr rr.tr.lsb_csb_msb": by_construction("arithmetic on Table 1's own times"),
        "rr.traces.table2": by_construction("the ratios that the twins are generated with, counted again"),
    }
)
def _given(tables: Tables) -> dict[str, Measured]:
    """What was put in: times, twins, the law of temperature."""
    twins = {row["workload"]: row for row in tables["twins"].iter_rows(named=True)}
    errors = [
        abs(twins[name][column] - published)
        for name, row in TWINS.items()
        for column, published in zip(("read_ratio", "cold_read_ratio"), row, strict=True)
    ]
    retention = ssdlab.Device("asplos21", age="retention=1s,temperature=85C", settings={"age.fill": 1.0})
    aged = 13 * 3600
    retention.advance(aged * 1_000_000_000)
    stands_for = retention.conditions(0)
    # Table 1: two, three and two senses of 39 us.
    return {
        "rr.arrhenius": Measured(None if stands_for is None else stands_for.retention_s / 86_400),
        "rr.teval20.tr": Measured(100 * 0.2 * 5 / 39),
        "rr.tdisch7.tr": Measured(100 * 0.07 * 10 / 39),
        "rr.tr.lsb_csb_msb": Measured((2 + 3 + 2) / 3 * 39.0),
        "rr.traces.table2": Measured(max(errors)),
    }


def figures(tables: Tables) -> dict[str, Figure]:
    """The paper's figures; how the claims move with intensity; a wrong table."""
    systems = tables["systems"]
    drawn = chip_figures.reading(tables)
    drawn["fig4"] = _fig4(tables["last"])
    drawn["fig14"] = _response_times(systems, ("pr2", "ar2", "pnar2", "norr"), RESPONSE)
    drawn["fig15"] = _response_times(systems, ("pso", "pso-pnar2", "norr"), {})
    drawn["intensity"] = _intensity(tables["intensity"])
    drawn["wrong"] = _wrong(tables["beyond"])
    return drawn


RESPONSE = {"pr2": 1 - 0.177, "ar2": 1 - 0.119, "pnar2": 1 - 0.289}
"""Section 7.2: mean response times over Baseline's."""


def _fig4(last: pl.DataFrame) -> Figure:
    figure = blank(5.6, 3.2)
    axes = figure.subplots()
    for style, steps in zip(("o-", "s--"), sorted(last["steps"].unique()), strict=True):
        of = last.filter(steps=steps).sort("before", descending=True)
        axes.plot(of["before"].to_list(), of["errors"].to_list(), style, ms=4, label=f"page that needs {steps} steps")
    axes.axhline(72, color=plot.INK, lw=0.8, ls=":")
    axes.annotate("ECC capability: 72", (3, 72), va="bottom", ha="left", fontsize="small")
    axes.invert_xaxis()
    axes.set_xticks([3, 2, 1], ["N − 3", "N − 2", "N − 1"])
    axes.set_xlabel("retry step, of N that the page needs")
    axes.set_ylabel("errors per KiB")
    axes.set_ylim(0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure


def _response_times(systems: pl.DataFrame, schemes: tuple[str, ...], published: dict[str, float]) -> Figure:
    """Response times over Baseline's by workload and condition, as the paper draws them, and their means."""
    figure = blank(11, 5.2)
    # Cases that carry warnings are drawn too: the claims are measured from all.
    compared = compare(systems, MEAN, baseline="baseline", accept_warnings=True)
    ages = list(systems["age"].unique(maintain_order=True))
    panels = figure.subplots(2, 7, sharey=True, width_ratios=[4] * 6 + [4])
    names = list(TWINS)
    short = [age.replace(" mo", "") for age in ages]

    def ratios(scheme: str, workload: str) -> list[float]:
        return [compared.rows[f"{age} {workload}"][scheme].ratio.mean or 0.0 for age in ages]

    for row, half in zip(panels, (names[:6], names[6:]), strict=True):
        for axes, workload in zip(row, half, strict=False):
            papers.groups(axes, short, {scheme: ratios(scheme, workload) for scheme in schemes})
            axes.set_title(workload, fontsize="medium")
            axes.tick_params(axis="x", labelsize="x-small", rotation=60)
        row[0].set_ylabel("response time\nover Baseline's")
    means = {scheme: [_mean_of(ratios(scheme, name)[at] for name in names) for at in range(4)] for scheme in schemes}
    papers.groups(panels[0, 6], short, means)
    panels[0, 6].set_title("mean", fontsize="medium")
    panels[0, 6].tick_params(axis="x", labelsize="x-small", rotation=60)
    marks = {(scheme, "all"): value for scheme, value in published.items()}
    papers.groups(panels[1, 6], ["all"], {scheme: [_mean_of(means[scheme])] for scheme in schemes}, marks)
    panels[1, 6].set_title("mean of all", fontsize="medium")
    panels[0, 0].set_ylim(0, 1)
    papers.legend(figure, panels[0, 0], marks=bool(published))
    panels[1, 3].set_xlabel("P/E cycles, retention age in months")
    return figure


def _mean_of(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def _intensity(table: pl.DataFrame) -> Figure:
    figure = blank(6.4, 3.4)
    axes = figure.subplots()
    times = _times(table.rename({"workload.rate_iops": "rate"}), ["workload", "age", "rate"])
    published = {"pr2": 17.7, "ar2": 11.9, "pnar2": 28.9}
    for color, (scheme, claim) in enumerate(published.items()):
        mean = times.group_by("rate").agg(_less(scheme).mean().alias("v")).sort("rate")
        axes.plot(mean["rate"], mean["v"], marker="o", color=f"C{color}", label=scheme)
        axes.axhline(claim, color=f"C{color}", linestyle=":", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel("requests a second, all twelve workloads")
    axes.set_ylabel("mean reduction over Baseline (%)")
    axes.legend(title="dotted: published", ncols=3)
    axes.set_ylim(0)
    return figure


def _wrong(table: pl.DataFrame) -> Figure:
    figure = blank(9, 3.4)
    variants = [name for name in table["variant"].unique(maintain_order=True) if "suspension" not in name]
    ages = list(table["age"].unique(maintain_order=True))
    for axes, metric in zip(figure.subplots(1, 2), ("mean", "p99_9"), strict=True):
        for place, age in enumerate(ages):
            of = table.filter(pl.col("age") == age)
            column = f"host.read.latency_ns.{metric}"
            means = [number(of.filter(variant=name)[column].mean()) / 1e6 for name in variants]
            axes.barh([at + 0.4 * place for at in range(len(variants))], means, 0.4, label=age)
        axes.set_yticks([at + 0.2 for at in range(len(variants))], variants if metric == "mean" else [])
        axes.invert_yaxis()
        axes.set_xlabel(f"read latency, {metric.replace('p99_9', 'p99.9')} (ms)")
    figure.axes[1].legend(loc="lower right")
    return figure


# What the figures show (shapes.toml).

CONDITIONS = ("0, 3 mo", "1K, 3 mo", "1K, 6 mo", "2K, 6 mo")
"""From the best to the worst."""


def _over_baseline(tables: Tables, scheme: str) -> pl.DataFrame:
    """Response times over Baseline's by age and workload, mean of the seeds."""
    runs, on = tables["systems"], ["seed", "age", "workload"]
    both = runs.filter(scheme=scheme).join(runs.filter(scheme="baseline"), on=on, suffix="_over")
    ratio = pl.col("host.all.latency_ns.mean") / pl.col("host.all.latency_ns.mean_over")
    return both.group_by("age", "workload").agg(ratio=ratio.mean())


def _more_errors(tables: Tables) -> Seen:
    cuts, fewer = tables["cuts"], 0
    for over, others in (
        ("pec", ["months", "celsius", "phase", "cut"]),
        ("months", ["pec", "celsius", "phase", "cut"]),
    ):
        lines = cuts.sort(over).group_by(others).agg("m_err")
        fewer += sum(not rises(line) for line in lines["m_err"])
    return Seen(fewer == 0, f"{fewer} of the lines over cycles and over retention fall somewhere")


def _fastest(tables: Tables) -> Seen:
    order = ("pnar2", "pr2", "ar2")
    means = {scheme: _over_baseline(tables, scheme).group_by("age").agg(pl.col("ratio").mean()) for scheme in order}
    found = {
        age: {scheme: 100 * number(of.filter(age=age)["ratio"].item()) for scheme, of in means.items()}
        for age in CONDITIONS
    }
    holds = all(of["pnar2"] < min(of["pr2"], of["ar2"]) and max(of.values()) < 100 for of in found.values())
    holds &= sum(of["pr2"] for of in found.values()) < sum(of["ar2"] for of in found.values())
    return Seen(holds, "; ".join(f"{age}: {listed(of)}" for age, of in found.items()))


def _none_slower(tables: Tables) -> Seen:
    worst = _over_baseline(tables, "pnar2").sort("ratio").row(-1, named=True)
    return Seen(worst["ratio"] <= 1.0, f"at most {100 * worst['ratio']:.1f} % ({worst['workload']} at {worst['age']})")


def _gains_grow(tables: Tables) -> Seen:
    of = _over_baseline(tables, "pnar2").group_by("age").agg(pl.col("ratio").mean())
    gains = {age: 100 * (1 - number(of.filter(age=age)["ratio"].item())) for age in CONDITIONS}
    return Seen(rises(gains.values()), f"{listed(gains)} %")


SHAPES: dict[str, Look] = {
    "rr.shape.m_err.cuts": _more_errors,
    "rr.shape.schemes": _fastest,
    "rr.shape.each": _none_slower,
    "rr.shape.worse": _gains_grow,
}
