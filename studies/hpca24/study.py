"""RiF: what is measured of each claim, and the figures."""

from __future__ import annotations

import functools
import itertools
import math
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

import ssdlab
from ssdlab import trace
from ssdlab._core import ECC_BITS, ecc_simulate
from ssdlab.chip import characterize, ecc
from ssdlab.chip.characterize import CAPABILITY_RBER, constant, load
from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width, wilson
from ssdlab.common.machine import cpus
from ssdlab.show import papers, plot
from ssdlab.study.claims import Measured, Tables, by_construction, chip, fitted, key, measures, named, off, predicted
from ssdlab.study.folder import number
from ssdlab.study.shapes import Look, Seen, listed, rises

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHIP = "tlc48-rif"
TWINS = {
    "Ali_2": (0.27, 0.50),
    "Ali_46": (0.34, 0.75),
    "Ali_81": (0.43, 0.74),
    "Ali_121": (0.92, 0.70),
    "Ali_124": (0.96, 0.79),
    "Ali_295": (0.42, 0.73),
    "Sys_0": (0.70, 0.82),
    "Sys_1": (0.72, 0.83),
}
"""Table II: read ratio, cold-read ratio."""
FIG6 = "four"
"""The AliCloud traces of Fig. 6: four, which III-B does not name. Those with the most reads, or all six."""
SCHEMES = ("senc", "swr", "swr-plus", "rpssd", "rif", "ssd-zero")
"""Fig. 17."""

BRIEF = {
    "systems": {"requests": 500, "warmup": 100, "workload": ["Ali_121", "Ali_124"], "seed": [1]},
    "tails": {"requests": 1200, "warmup": 200, "seed": [1]},
    "": {
        "WORDS": 60,
        "RATES": [n / 4000 for n in range(30, 48, 2)],
        "SPLITS": [],
        "PAGE_RATES": [n / 4000 for n in (28, 30, 32, 34, 35, 36, 40, 136)],
        "PAGES": (40, 40, 10),
    },
}
"""For the levers of what is predicted: ssdlab.study.levers."""
CHIP_FILE = "presets/chips/tlc48-rif.toml"

RATES = [n / 4000 for n in range(16, 51)]
"""RBERs at which the code is simulated: 0.004 to 0.0125."""
WORDS = 10_000
SCHEDULE, ERRORS = "flooding", "exact"
"""How words are decoded, and how test pages are made (section IV-B)."""
PAGE_RATES = [n / 4000 for n in range(24, 43)] + [n / 1000 for n in range(11, 35)]
"""RBERs at which predictions of whole pages are simulated: up to more than pages reach in a month at 2K cycles."""
PAGES = (4000, 500, 100)
"""How many, at the capability, below an RBER of 0.0105, and beyond, where every one fails and is predicted to."""
CODEWORDS = 4
"""Codewords of a page: 16 KiB, each codeword a chunk (section V-A)."""
SPLITS = [rate for rate in RATES if 0.007 <= rate <= 0.01]
"""RBERs between which a threshold can tell pages apart."""
PEC = (0, 200, 500, 1000, 1500, 2000)
PAGE, COMMAND = 16384, 4 * 16384
T_R = 40_000
CHUNK_PAGES = 100_000
RP = "results/rp.csv"
"""What `make hardware` keeps of the predictor's RTL, synthesised."""
RP_WIDTH = 128
"""Bits of a word of the page register (section V-B)."""
RP_VOLTAGE = 1.2
"""The supply of logic in a 130-nm process [V] (`assumed`: section VI-C names none). The simulated cells have 1.8 V."""
GOOD = 0.9
"""An accuracy below this is called poor (assumed: hpca24 section IV-B gives no number)."""


class _Counts(NamedTuple):
    """Words and failures; words by iterations; corrected and failed ones by the weight of both sets of syndromes."""

    words: int
    failures: int
    iterations: list[int]
    pruned: list[list[int]]
    every: list[list[int]]


@functools.cache
def _counts(rber: float) -> _Counts:
    """Test pages as section IV-B makes them: words of exactly this many errors."""
    done = ecc_simulate(rber, 0, WORDS, ERRORS, SCHEDULE, 1, cpus())
    return _Counts(done["words"], done["failures"], done["by_iterations"], done["pruned"], done["all"])


def _right(weights: Sequence[Sequence[int]], threshold: int) -> int:
    """Words for which a threshold is right: those above it are predicted to fail."""
    return sum(fine for fine, _ in weights[: threshold + 1]) + sum(failed for _, failed in weights[threshold + 1 :])


def _moments(weights: Sequence[Sequence[int]]) -> tuple[float, float]:
    count = sum(map(sum, weights))
    mean = sum(weight * sum(words) for weight, words in enumerate(weights)) / count
    square = sum((weight - mean) ** 2 * sum(words) for weight, words in enumerate(weights)) / count
    return mean, math.sqrt(square)


def _code(rates: Sequence[float]) -> pl.DataFrame:
    """The code by RBER (Fig. 3, 10, 11 and 14): words, failures, mean iterations; mean and deviation of the syndrome
    weights; words predicted rightly by the paper's rule."""
    rules = [round(ecc.expected_weight(CAPABILITY_RBER, pruned)) for pruned in (True, False)]
    rows = []
    for rber in rates:
        words, failures, iterations, pruned, every = _counts(rber)
        mean = sum(number * count for number, count in enumerate(iterations)) / words
        right = [_right(weights, rule) for weights, rule in zip((pruned, every), rules, strict=True)]
        rows.append((rber, words, failures, mean, *_moments(pruned), *_moments(every), *right))
    names = ["rber", "words", "failures", "iterations", "pruned_mean", "pruned_sd", "all_mean", "all_sd"]
    return pl.DataFrame(rows, schema=[*names, "pruned_right", "all_right"], orient="row")


def _word(errors: int, number: int) -> tuple[bool, int, int]:
    """Whether a word of this many errors fails, and the weights of its pruned and of all its syndromes."""
    done = ecc_simulate(errors / ECC_BITS, number, number + 1, "exact", SCHEDULE, 1, 1)
    weights = (done["pruned"], done["all"])
    pruned, every = (next(weight for weight, words in enumerate(each) if any(words)) for each in weights)
    return bool(done["failures"]), pruned, every


def _pages(rates: Sequence[float]) -> pl.DataFrame:
    """Predictions of pages (Fig. 11 and 14): test pages of exactly one RBER, whose errors lie anywhere in their
    codewords; a page needs a retry when one of its codewords fails. Predicted by all syndromes of all codewords, or by
    the pruned ones of the first chunk."""
    rules = [ecc.expected_weight(CAPABILITY_RBER, pruned) for pruned in (True, False)]
    rows = []
    for rber in rates:
        pages = PAGES[0 if rber == CAPABILITY_RBER else 1 if rber <= 0.0105 else 2]
        draws, failures, right = random.Random(rber), 0, [0, 0]
        for page in range(pages):
            errors = [0] * CODEWORDS
            for bit in draws.sample(range(CODEWORDS * ECC_BITS), round(rber * CODEWORDS * ECC_BITS)):
                errors[bit // ECC_BITS] += 1
            words = [_word(count, CODEWORDS * page + place) for place, count in enumerate(errors)]
            fails = any(failed for failed, _, _ in words)
            predicted = words[0][1] > round(rules[0]), sum(every for *_, every in words) > round(CODEWORDS * rules[1])
            failures += fails
            right = [count + (each == fails) for count, each in zip(right, predicted, strict=True)]
        rows.append((rber, pages, failures, *right))
    return pl.DataFrame(rows, schema=["rber", "pages", "failures", "pruned_right", "all_right"], orient="row")


def _splits(rates: Sequence[float]) -> pl.DataFrame:
    """The threshold by the paper's rule, and the one that is right most often around the capability; how often."""
    rows = []
    for name in ("pruned", "all") if rates else ():
        of = [_counts(rber).pruned if name == "pruned" else _counts(rber).every for rber in rates]
        words = sum(sum(map(sum, weights)) for weights in of)
        rule = round(ecc.expected_weight(CAPABILITY_RBER, name == "pruned"))
        share = {
            threshold: sum(_right(weights, threshold) for weights in of) / words
            for threshold in range(int(0.8 * rule), int(1.3 * rule))
        }
        best = max(share, key=lambda threshold: share[threshold])
        rows.append((name, rule, share[rule], best, share[best]))
    kinds = {"syndromes": pl.String, "rule": pl.Int64, "rule_accuracy": pl.Float64, "best": pl.Int64}
    return pl.DataFrame(rows, schema=kinds | {"best_accuracy": pl.Float64}, orient="row")


def _reached() -> pl.DataFrame:
    """RBERs of a first sense by day: of a typical page, and of pages two deviations off, over the kinds of page; the
    share of pages that exceed the capability (Fig. 4)."""
    virtual = load(CHIP)
    parts = ("chip", "block", "layer", "wordline")
    deviation = math.sqrt(sum(constant(virtual, "variation", part) ** 2 for part in parts))
    rows = []
    for pec in PEC:
        for day in range(1, 31):
            at = (pec / 1e3, day / 30, 30.0)

            def rber(kind: int, z: float, at: tuple[float, float, float] = at) -> float:
                return virtual.errors(kind, at, z * deviation, 0.0) / 8192

            # Errors grow with the factor: the share of pages above the capability is a tail of its distribution.
            tails = []
            for kind in range(3):
                low, high = -8.0, 8.0
                while high - low > 1e-3:
                    middle = (low + high) / 2
                    low, high = (low, middle) if rber(kind, middle) > CAPABILITY_RBER else (middle, high)
                tails.append(0.5 * math.erfc(low / math.sqrt(2)))
            typical = [rber(kind, 0.0) for kind in range(3)]
            ends = (min(rber(kind, -2.0) for kind in range(3)), max(rber(kind, 2.0) for kind in range(3)))
            rows.append((pec, day, sum(typical) / 3, *ends, sum(tails) / 3))
    return pl.DataFrame(rows, schema=["pec", "day", "rber", "least", "most", "exceed"], orient="row")


def _write(path: Path, requests: Sequence[tuple[int, int, int, bool]]) -> None:
    """A trace in MQSim's format of requests (time in ns, first page, pages, whether it reads)."""
    lines = (f"{time} 0 {page * PAGE // 512} {pages * PAGE // 512} {int(read)}" for time, page, pages, read in requests)
    path.write_text("\n".join(lines) + "\n")


def _timeline() -> pl.DataFrame:
    """The 256-KiB read of Fig. 7 and 8, page by page: scheme, page, what, step, from_ns, to_ns. Two dies of four
    planes on one channel; the pages of the commands A and B need a retry, those of C and D were written just before."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        model, requests = Path(folder) / "steps.csv", Path(folder) / "reads.trace"
        model.write_text("pec,months,steps,pages\n0,0,0,1\n0,6,3,1\n")
        begin = 1_000_000_000
        _write(requests, [(0, 8, 8, False), (begin, 0, 16, True)])
        settings = {
            "geometry.channels": 1,
            "geometry.chips": 2,
            "ftl.placement": "static",
            "bus.t_dma": "13250ns",  # 53 us a command
            "buffer.mode": "write-through",
            "buffer.dram_bandwidth": "1000GB/s",
            "host.link_bandwidth": "1000GB/s",
            "host.queues": 1,
            "read.prediction_accuracy": 1.0,
            "read.t_pred": "0us",  # the figure leaves it out
            "ecc.code": "none",
        }
        for scheme in ("ssd-zero", "ssd-one", "rif"):
            # A setting goes before what a scheme overrides.
            chip = {"chip.model": "none" if scheme == "ssd-zero" else str(model)}
            found = ssdlab.run("hpca24", requests, scheme=scheme, age="retention=6mo", settings=settings | chip)
            (read,) = found.explain(1)
            rows += [
                (scheme, page, stage.what, stage.step, stage.from_ns - begin, stage.to_ns - begin)
                for page, stages in enumerate(read.parts)
                for stage in stages
            ]
    return pl.DataFrame(rows, schema=["scheme", "page", "what", "step", "from_ns", "to_ns"], orient="row")


def _chunks() -> pl.DataFrame:
    """The largest spread of error rates between the chunks of a page (Fig. 12): kib, spread [%]."""
    virtual = load(CHIP)
    rows = [(kib, 100 * (virtual.chunk_spread(kib, CHUNK_PAGES) - 1)) for kib in (4, 2, 1)]
    return pl.DataFrame(rows, schema=["kib", "spread"], orient="row")


def _rp() -> pl.DataFrame:
    """The predictor as it was synthesised, by width and registers: read from `hardware`, where it is made."""
    return pl.read_csv(Path(__file__).resolve().parents[2] / "hardware" / RP)


TABLES = {
    "chunks": lambda progress: _chunks(),
    "days": lambda progress: characterize.first_days(load(CHIP)),
    "reached": lambda progress: _reached(),
    "code": lambda progress: _code(RATES),
    "pages": lambda progress: _pages(PAGE_RATES),
    "splits": lambda progress: _splits(SPLITS),
    "timeline": lambda progress: _timeline(),
    "rp": lambda progress: _rp(),
    "sentinel": lambda progress: characterize.sentinel(load(CHIP, chips=8, blocks=4)),
    "twins": lambda progress: trace.twins([f"hpca24/{name}" for name in TWINS]),
}
QUICK = {
    "code": lambda progress: _code([CAPABILITY_RBER]),
    "pages": lambda progress: _pages([0.034]),
    "splits": lambda progress: _splits([]),
    "twins": lambda progress: trace.twins(["hpca24/Sys_0"]),
}
"""In CI some rows only."""


def _capability(code: pl.DataFrame) -> float | None:
    """The RBER at which one word in ten fails, on a line between the points beside it."""
    shares = (code["failures"] / code["words"]).to_list()
    for (low, below), (high, above) in zip(
        zip(code["rber"], shares, strict=True), zip(code["rber"][1:], shares[1:], strict=True), strict=False
    ):
        if below < 0.1 <= above:
            return float(low + (0.1 - below) / (above - below) * (high - low))
    return None


def _counted(kib: int, rber: float, reads: int = 1) -> float:
    """What counting the errors of ``reads`` reads adds to the spread between the chunks of a page [%], in the mean: the
    range of this many normal variables, over the mean."""
    ranges = {4: 2.059, 8: 2.847, 16: 3.532}
    return 100 * ranges[16 // kib] * math.sqrt((1 - rber) / (kib * 8192 * rber * reads))


def _accuracy(pages: pl.DataFrame, name: str, most: float) -> Measured:
    """The mean accuracy over the RBERs from the capability up to ``most``, between simulated ones on a line [%]."""
    above = pages.filter((pl.col("rber") >= CAPABILITY_RBER) & (pl.col("rber") <= most))
    rates, counts = above["rber"].to_list(), list(above.select(f"{name}_right", "pages").iter_rows())
    ends = [rates[0], *((a + b) / 2 for a, b in itertools.pairwise(rates)), most]
    widths = [(b - a) / (most - rates[0]) for a, b in itertools.pairwise(ends)]
    bounds = [wilson(right, of) for right, of in counts]
    error = math.hypot(*(width * (high - low) / 2 for width, (low, high) in zip(widths, bounds, strict=True)))
    mean = sum(width * right / of for width, (right, of) in zip(widths, counts, strict=True))
    return Measured(100 * mean, 100 * error, f"from {CAPABILITY_RBER} to {most:.4f}, all simulated")


@measures(
    {
        "rif.ldpc.capability rif.ldpc.iterations": predicted(named("SCHEDULE", "layered")),
        "rif.rp.at_capability": predicted(named("CODEWORDS", 1)),
        "rif.rp.poor_range": predicted(chip("cells.shift")),
        "rif.rp.exact rif.rp.approx": fitted(CHIP_FILE, "cells.shift*", "cells.wear_*", "cells.width*"),
    }
)
def _predictions(tables: Tables) -> dict[str, Measured]:
    code, pages = tables["code"], tables["pages"]
    at = code.filter(rber=CAPABILITY_RBER).row(0, named=True)
    fer = wilson(at["failures"], at["words"])
    page = pages.filter(rber=CAPABILITY_RBER).row(0, named=True)
    low, high = wilson(page["all_right"], page["pages"])
    most = number(tables["reached"]["most"].max())
    reached = pages.filter(pl.col("rber") <= most)
    rates = reached["rber"].to_list()
    share: list[float] = (reached["all_right"] / reached["pages"]).to_list()
    ends: list[float] = [rates[0], *((a + b) / 2 for a, b in itertools.pairwise(rates)), most]

    def poor(below: float) -> float:
        widths = (b - a for (a, b), right in zip(itertools.pairwise(ends), share, strict=True) if right < below)
        return 100.0 * float(sum(widths)) / most

    return {
        "rif.ldpc.capability": Measured(_capability(code), note=f"FER {fer[0]:.3f} to {fer[1]:.3f} at 0.0085"),
        "rif.ldpc.iterations": Measured(at["iterations"]),
        "rif.rp.exact": _accuracy(pages, "all", most),
        "rif.rp.approx": _accuracy(pages, "pruned", most),
        "rif.rp.at_capability": Measured(100 * page["all_right"] / page["pages"], 50 * (high - low)),
        "rif.rp.poor_range": Measured(
            poor(GOOD), note=f"below {GOOD:.0%}, of RBERs up to {most:.4f}; {poor(0.75):.2g} % below 75 %"
        ),
    }


@measures(
    {
        "rif.chunk.4k rif.chunk.1k": fitted(CHIP_FILE, "variation.kib"),
        "rif.rearranged.equal": by_construction("an identity: both weights are sums of the same bits"),
        "rif.code.shape rif.code.length": by_construction("the code is built as 4 x 36 circulants of 1024"),
    }
)
def _code_claims(tables: Tables) -> dict[str, Measured]:
    chunks = dict(tables["chunks"].rows())
    return {
        **{f"rif.chunk.{kib}k": Measured(chunks[kib], note=f"of error rates, {CHUNK_PAGES:,} pages") for kib in (4, 1)},
        "rif.rearranged.equal": Measured(ecc.ecc_rearranged_differs(10_000, 1)),
        "rif.code.shape": Measured(len(ecc_simulate(0.006, 0, 1, ERRORS, SCHEDULE, 1, 1)["pruned"]) - 1),
        "rif.code.length": Measured(ECC_BITS),
    }


@measures(
    {
        "rif.rp.area": predicted(named("RP_WIDTH", 64)),
        "rif.rp.power": fitted("studies/hpca24/study.py", "RP_VOLTAGE"),
    }
)
def _hardware(tables: Tables) -> dict[str, Measured]:
    """Fig. 16 as it is drawn, with both of its registers; and without the first."""
    at = tables["rp"].filter(pl.col("width") == RP_WIDTH, pl.col("isolated") == 0)
    drawn, lean = (at.filter(segment_register=registers).row(0, named=True) for registers in (1, 0))
    scale = (RP_VOLTAGE / 1.8) ** 2
    return {
        "rif.rp.area": Measured(drawn["area_mm2"], note=f"{lean['area_mm2']:.4f} without the segment register"),
        "rif.rp.power": Measured(
            round(scale * drawn["power_mw"], 3), note=f"{drawn['power_mw']:.2f} mW at 1.8 V, as simulated"
        ),
    }


def _us(text: str) -> float:
    scale = {"us": 1.0, "ms": 1e3, "ns": 1e-3}[text[-2:]]
    return float(text[:-2]) * scale


@measures(
    {
        "rif.device.table1": by_construction("the preset read back"),
        "rif.energy.transfer rif.energy.predict rif.tpred rif.tecc.retried": by_construction("the preset read back"),
        "rif.die.bandwidth rif.predict.naive": by_construction("arithmetic on the preset's times"),
    }
)
def _table1(tables: Tables) -> dict[str, Measured]:
    """Entries of Table I that the preset reproduces, and what follows from them."""
    device = ssdlab.run("hpca24", "random-read-8k", requests=1).manifest.device.config
    chip, geometry = device.chip, device.geometry
    planes = geometry.channels * geometry.chips * geometry.dies * geometry.planes
    raw = planes * geometry.blocks * geometry.pages * PAGE
    iterations = 20
    entries = [
        raw >= 2 << 40,
        geometry.channels == 8,
        geometry.chips * geometry.dies == 4,
        geometry.planes == 4,
        geometry.blocks == 1888,
        geometry.pages == 576,
        _us(chip.t_read) == T_R / 1e3,
        _us(chip.t_prog) == 400,
        _us(chip.t_bers) == 3500,
        _us(device.bus.t_dma) == 13,
        _us(device.ecc.t_decode) == 1 and _us(device.ecc.t_failed) == iterations * _us(device.ecc.t_decode),
        _us(device.read.t_pred) == 2.5,
        device.host.link_bandwidth == "8GB/s",
        abs(PAGE / _us(device.bus.t_dma) / 1e3 - 1.2) < 0.1,
        device.ecc.code == "qc-ldpc" and device.ecc.codeword == "4KiB",
    ]
    energy = device.energy
    whole = 4 * _us(device.read.t_pred)
    return {
        "rif.device.table1": Measured(sum(entries)),
        "rif.energy.transfer": Measured(round(energy.transfer_nj * PAGE / 1024)),
        "rif.energy.predict": Measured(energy.prediction_nj),
        "rif.die.bandwidth": Measured(geometry.planes * PAGE / T_R),
        "rif.tpred": Measured(_us(device.read.t_pred)),
        "rif.predict.naive": Measured(100 * whole / (T_R / 1e3)),
        "rif.tecc.retried": Measured(_us(device.ecc.t_retried)),
    }


@measures(
    {
        # How many pages an engine holds was chosen by these two (docs/decisions/0007).
        "rif.fig7.delta rif.fig8.delta": fitted("presets/devices/hpca24.toml", "ecc.buffer"),
        "rif.fig7.channel": predicted(off("ssd-one", "ssd-zero")),
        "rif.fig7.eccwait": by_construction("four pages times the preset's tECC of a page that fails"),
        "rif.senc.reads": predicted(off("senc", "swr")),
        "rif.swift.senses": predicted(off("swr", "ssd-one")),
    }
)
def _mechanisms(tables: Tables) -> dict[str, Measured]:
    timeline = tables["timeline"]
    end = {scheme: number(timeline.filter(scheme=scheme)["to_ns"].max()) for scheme in ("ssd-zero", "ssd-one", "rif")}
    moved = timeline.filter(scheme="ssd-one", what="transfer")
    retried = set(moved.filter(pl.col("step") > 0)["page"])
    # The pages of A, which are the first four.
    of_a = (pl.col("scheme") == "ssd-one") & (pl.col("what") == "decode") & (pl.col("step") == 0) & (pl.col("page") < 4)
    failed = timeline.filter(of_a).with_columns(took=pl.col("to_ns") - pl.col("from_ns"))
    vain = moved.filter((pl.col("step") == 0) & pl.col("page").is_in(retried)).height
    return {
        "rif.fig7.delta": Measured((end["ssd-one"] - end["ssd-zero"]) / 1e3),
        "rif.fig8.delta": Measured(
            (end["ssd-one"] - end["rif"]) / 1e3, note="without tPRED, which the figure leaves out"
        ),
        "rif.fig7.channel": Measured(100 * vain / moved.height),
        "rif.fig7.eccwait": Measured(number(failed["took"].sum()) / 1e3),
        "rif.senc.reads": Measured(_extra("senc", "transfer")),
        "rif.swift.senses": Measured(_extra("swr", "sense")),
    }


def _extra(scheme: str, what: str) -> float:
    """The most transfers, or senses by their time, that a lone retry costs, of any kind of page."""
    most = 0.0
    with tempfile.TemporaryDirectory() as folder:
        requests = Path(folder) / "reads.trace"
        # Neighbours of one plane, 128 planes apart, a second apart.
        _write(requests, [(n * 1_000_000_000, n * 128, 1, True) for n in range(3)])
        for of in ssdlab.run("hpca24", requests, scheme=scheme, age="pec=2000,retention=30d").explain(0, 1, 2):
            stages = [stage for stage in of.stages if stage.what == what and stage.step > 0]
            most = max(most, len(stages) if what == "transfer" else sum(stage.took_ns for stage in stages) / T_R)
    return most


BANDWIDTH = "host.all.bandwidth_mb_s"


def _fig6() -> list[str]:
    """The traces of Fig. 6: of AliCloud, those with the most reads."""
    ali = sorted((name for name in TWINS if name.startswith("Ali")), key=lambda name: -TWINS[name][0])
    return ali[:4] if FIG6 == "four" else ali


def _each(table: pl.DataFrame, value: str) -> pl.DataFrame:
    return table.pivot(on="scheme", index=["workload", "age", "seed"], values=value)


def _mean(table: pl.DataFrame, value: pl.Expr) -> Measured:
    """The mean over workloads, seed by seed, with its interval."""
    seeds = table.group_by("seed").agg(value.mean().alias("v")).sort("seed")["v"]
    return Measured(*mean_and_half_width(seeds.to_list()))


@measures(
    {
        "rif.one_zero.0 rif.one_zero.1k rif.one_zero.2k": predicted(off("ssd-one", "ssd-zero"), chip("cells.shift")),
        "rif.ali124.zero": fitted("studies/hpca24/systems.toml", "run.*link_bandwidth", "run.*iodepth"),
        "rif.ali124.one.2k": predicted(off("ssd-one", "ssd-zero"), key("ecc.t_failed")),
        "rif.senc.0 rif.senc.1k rif.senc.2k rif.swr.2k rif.swrplus.2k": predicted(off("rif", "ssd-one")),
        "rif.zero.2k": predicted(off("rif", "ssd-one")),
        "rif.swr.waste": predicted(off("swr", "rif"), key("ecc.t_failed")),
        "rif.uncor.rif": predicted(key("read.predictor", "none")),
        "rif.uncor.rpssd": predicted(off("rpssd", "rif")),
        "rif.p9999.senc rif.p9999.swr rif.p9999.swrplus": predicted(off("rif", "ssd-one")),
    }
)
def _systems(tables: Tables) -> dict[str, Measured]:
    systems = tables["systems"]
    speed = _each(systems, BANDWIDTH)
    ages = {"0": "0", "1k": "1K", "2k": "2K"}
    found = {}

    def gain(scheme: str) -> pl.Expr:
        return 100 * (pl.col("rif") / pl.col(scheme) - 1)

    for name, age in ages.items():
        of = speed.filter(age=age)
        lost = _mean(of.filter(pl.col("workload").is_in(_fig6())), 100 * (1 - pl.col("ssd-one") / pl.col("ssd-zero")))
        found[f"rif.one_zero.{name}"] = Measured(lost.value, lost.ci95, f"of {', '.join(_fig6())}")
        found[f"rif.senc.{name}"] = _mean(of, gain("senc"))
    worst = speed.filter(age="2K")
    losses = {
        age: _mean(speed.filter(age=age), 100 * (1 - pl.col("rif") / pl.col("ssd-zero"))) for age in ages.values()
    }
    age = max(losses, key=lambda age: losses[age].value or 0.0)
    ali_124 = worst.filter(workload="Ali_124")
    waste = systems.with_columns(v=pl.col("usage.channel.failed_reads") + pl.col("usage.channel.ecc_wait"))

    def at_2k(table: pl.DataFrame, column: str, workload: str) -> pl.DataFrame:
        return _each(table, column).filter(workload=workload, age="2K")

    tail = tables["tails"].pivot(on="scheme", index="seed", values="host.read.latency_ns.p99_99")
    uncorrectable = at_2k(systems, "usage.channel.failed_reads", "Ali_121")
    return {
        **found,
        "rif.ali124.zero": _mean(ali_124, pl.col("ssd-zero")),
        "rif.ali124.one.2k": _mean(ali_124, pl.col("ssd-one")),
        "rif.swr.2k": _mean(worst, gain("swr")),
        "rif.swrplus.2k": _mean(worst, gain("swr-plus")),
        "rif.zero.2k": Measured(losses[age].value, losses[age].ci95, f"at {age}"),
        "rif.swr.waste": _mean(at_2k(waste, "v", "Ali_124"), pl.col("swr")),
        "rif.uncor.rif": _mean(uncorrectable, pl.col("rif")),
        "rif.uncor.rpssd": _mean(uncorrectable, pl.col("rpssd")),
        **{
            f"rif.p9999.{name}": _mean(tail, 100 * (1 - pl.col("rif") / pl.col(scheme)))
            for name, scheme in (("senc", "senc"), ("swr", "swr"), ("swrplus", "swr-plus"))
        },
    }


@measures(
    {
        "rif.retention.0 rif.retention.200 rif.retention.500 rif.retention.1k": fitted(
            CHIP_FILE, "cells.shift*", "cells.wear_*", "cells.width*"
        ),
        "rif.senc.nrr": predicted(chip("cells.width")),
    }
)
def _chip_claims(tables: Tables) -> dict[str, Measured]:
    days, sentinel = dict(tables["days"].rows()), tables["sentinel"]
    names = {0: "0", 200: "200", 500: "500", 1000: "1k"}
    return {
        **{
            f"rif.retention.{name}": Measured(math.ceil(days[pec]), note=f"in the course of day {days[pec]:.1f}")
            for pec, name in names.items()
        },
        "rif.senc.nrr": Measured(
            number(sentinel["failures"].sum()) / number(sentinel["retried"].sum()),
            note="over 0 to 2K cycles and 1 to 12 months",
        ),
    }


@measures({"rif.traces.table2": by_construction("the ratios that the twins are generated with, counted again")})
def _twins(tables: Tables) -> dict[str, Measured]:
    twins = {row["workload"]: row for row in tables["twins"].iter_rows(named=True)}
    errors = [
        abs(twins[name][column] - published)
        for name, row in TWINS.items()
        for column, published in zip(("read_ratio", "cold_read_ratio"), row, strict=True)
    ]
    return {"rif.traces.table2": Measured(max(errors))}


def figures(tables: Tables) -> dict[str, Figure]:
    """Fig. 3, 4, 6, 7 with 8, 10, 11 with 14, 12, 17, 18 and 19; what the open numbers do; beyond the paper."""
    return {
        "fig3": _fig3(tables["code"]),
        "fig4": _fig4(tables["reached"]),
        "fig6": _bars(tables["systems"], ("ssd-one", "ssd-zero"), None, {}),
        "fig7": _fig7(tables["timeline"]),
        "fig10": _fig10(tables["code"]),
        "fig11": _fig11(tables["pages"]),
        "fig12": _fig12(tables["chunks"]),
        "fig17": _bars(tables["systems"], SCHEMES, "senc", OVER_SENC),
        "fig18": _fig18(tables["systems"]),
        "fig19": _fig19(tables["tails"]),
        "depth": _depth(tables["depth"]),
        "beyond": _beyond(tables["beyond"]),
        "pays": _pays(tables["pays"]),
    }


def _fig3(code: pl.DataFrame) -> Figure:
    figure = blank(8, 3.2)
    left, right = figure.subplots(1, 2)
    bounds = [wilson(failed, words) for failed, words in code.select("failures", "words").iter_rows()]
    share = (code["failures"] / code["words"]).to_list()
    left.fill_between(code["rber"], *zip(*bounds, strict=True), alpha=0.25, linewidth=0)
    left.plot(code["rber"], [value or math.nan for value in share])
    left.set_yscale("log")
    left.set_ylim(5e-5, 1.5)
    left.set_ylabel("frame-error rate, 95 % interval")
    right.plot(code["rber"], code["iterations"])
    right.set_ylabel("mean iterations")
    right.set_ylim(0, 21)
    for axes in (left, right):
        axes.axvline(CAPABILITY_RBER, color=plot.INK, linewidth=0.8, linestyle=":")
        axes.set_xlabel("RBER")
    return figure


def _fig4(reached: pl.DataFrame) -> Figure:
    name = "pages above the capability"
    shares = reached.filter(pl.col("day") % 3 == 0).with_columns((100 * pl.col("exceed")).round().alias(name))
    return plot.heatmap(shares.rename({"pec": "P/E cycles"}), "day", "P/E cycles", name, unit="%")


def _fig7(timeline: pl.DataFrame) -> Figure:
    """What each page of the 256-KiB read does, a line a page."""
    figure = blank(9, 6.6)
    colours = {"sense": plot.COLOURS[0], "transfer": plot.COLOURS[2], "decode": plot.COLOURS[1]}
    panels = figure.subplots(3, 1, sharex=True)
    names = {"ssd-zero": "SSDzero", "ssd-one": "SSDone", "rif": "RiF"}
    for axes, (scheme, title) in zip(panels, names.items(), strict=True):
        of = timeline.filter(scheme=scheme)
        for what, colour in colours.items():
            for page, step, begin, end in of.filter(what=what).select("page", "step", "from_ns", "to_ns").iter_rows():
                # RiF's second sense follows the first in one stage.
                hatch = "////" if step else None
                axes.barh(
                    page,
                    (end - begin) / 1e3,
                    left=begin / 1e3,
                    color=colour,
                    height=0.8,
                    hatch=hatch,
                    edgecolor="w",
                    linewidth=0.3,
                )
        axes.set_yticks([1.5, 5.5, 9.5, 13.5], ["A", "B", "C", "D"])
        axes.invert_yaxis()
        axes.set_title(f"{title}: {number(of['to_ns'].max()) / 1e3:.0f} µs", loc="left", fontsize="medium")
    for what, colour in colours.items():
        panels[0].barh(0, 0, color=colour, label={"sense": "tR", "transfer": "tDMA", "decode": "tECC"}[what])
    panels[0].barh(0, 0, color="w", hatch="////", edgecolor=plot.INK, label="of a retry")
    figure.legend(*panels[0].get_legend_handles_labels(), ncols=4, loc="outside lower center", frameon=False)
    panels[-1].set_xlabel("time [µs]")
    return figure


def _fig10(code: pl.DataFrame) -> Figure:
    figure = blank(8, 3.2)
    for axes, name in zip(figure.subplots(1, 2), ("all", "pruned"), strict=True):
        mean, sd = code[f"{name}_mean"], code[f"{name}_sd"]
        axes.fill_between(code["rber"], mean - 2 * sd, mean + 2 * sd, alpha=0.25, linewidth=0)
        axes.plot(code["rber"], mean)
        rule = ecc.expected_weight(CAPABILITY_RBER, name == "pruned")
        axes.plot([CAPABILITY_RBER] * 2, [0, rule], color=plot.INK, linewidth=0.8, linestyle=":")
        axes.axhline(rule, color=plot.INK, linewidth=0.8, linestyle=":")
        axes.text(code["rber"][0], rule * 1.02, f"$\\rho_s$ = {rule:.0f}")
        axes.set_xlabel("RBER")
        axes.set_ylabel(f"weight of {'4096' if name == 'all' else '1024'} syndromes")
        axes.set_ylim(0)
    return figure


def _fig11(pages: pl.DataFrame) -> Figure:
    figure = blank(6.4, 3.4)
    axes = figure.subplots()
    for name, label in (("all", "all syndromes (Fig. 11)"), ("pruned", "1024 syndromes of one chunk (Fig. 14)")):
        bounds = [wilson(right, of) for right, of in pages.select(f"{name}_right", "pages").iter_rows()]
        low, high = ([100 * bound[end] for bound in bounds] for end in (0, 1))
        axes.fill_between(pages["rber"], low, high, alpha=0.25)
        axes.plot(pages["rber"], 100 * pages[f"{name}_right"] / pages["pages"], marker=".", label=label)
    axes.axvline(CAPABILITY_RBER, color=plot.INK, linewidth=0.8, linestyle=":")
    axes.set_xlabel("RBER")
    axes.set_ylabel("predictions that are right [%]")
    axes.set_ylim(0, 103)
    axes.legend(loc="lower right")
    return figure


def _fig12(chunks: pl.DataFrame) -> Figure:
    figure = blank(6.4, 3.2)
    axes = figure.subplots()
    published = {4: 4.5, 1: 13.5}
    for place, (kib, spread) in enumerate(chunks.iter_rows()):
        axes.bar(place, spread, 0.5, color="C0", label="error rates" if place == 0 else None)
        axes.bar(
            place + 0.3,
            _counted(kib, CAPABILITY_RBER),
            0.1,
            color="C1",
            label="errors counted once, mean" if place == 0 else None,
        )
        if kib in published:
            axes.plot(
                [place - 0.25, place + 0.25],
                [published[kib]] * 2,
                color=plot.INK,
                label="published" if place == 0 else None,
            )
    axes.set_xticks(range(chunks.height), [f"{kib} KiB" for kib in chunks["kib"]])
    axes.set_ylabel("RBERmax / RBERmin − 1 [%]")
    axes.legend()
    return figure


OVER_SENC = {"0": 1.238, "1K": 1.474, "2K": 1.721}
"""Section VI-B: mean bandwidth of RiFSSD over SENC's."""


def _bars(systems: pl.DataFrame, schemes: Sequence[str], over: str | None, published: dict[str, float]) -> Figure:
    """Bandwidth by workload and wear; over a scheme's, or in GB/s. Published are RiFSSD's means."""
    figure = blank(11, 7.6 if over else 3.6)
    ages = ("0", "1K", "2K")
    panels = list(figure.subplots(3, 1, sharey=True, sharex=True) if over else figure.subplots(1, 3, sharey=True))
    for axes, age in zip(panels, ages, strict=True):
        speed = _each(systems, BANDWIDTH).filter(age=age)
        bars, errors = {}, {}
        for scheme in schemes:
            found = [
                _mean(speed.filter(workload=name), pl.col(scheme) / (pl.col(over) if over else 1000)) for name in TWINS
            ]
            heights = [m.value or 0.0 for m in found]
            bars[scheme] = [*heights, sum(heights) / len(heights)]
            errors[scheme] = [*(m.ci95 or 0.0 for m in found), 0.0]
        marks = {("rif", "mean"): published[age]} if published else None
        papers.groups(axes, [*TWINS, "mean"], bars, marks, errors)
        axes.axvline(len(TWINS) - 0.5, color=plot.INK, lw=0.6, ls=":")
        axes.set_title(f"{age} P/E cycles", fontsize="medium")
        if over is None:
            axes.tick_params(axis="x", rotation=60, labelsize="small")
    for axes in panels if over else panels[:1]:
        axes.set_ylabel(f"bandwidth over {papers.NAMES[over]}'s" if over else "bandwidth [GB/s]")
    papers.legend(figure, panels[0], marks=bool(published))
    return figure


def _fig18(systems: pl.DataFrame) -> Figure:
    figure = blank(12, 3.6)
    causes = {
        "COR": ("read_data", "write_data", "command"),
        "UNCOR": ("failed_reads",),
        "ECCWAIT": ("ecc_wait",),
        "IDLE": ("idle",),
    }
    schemes = SCHEMES[:-1]
    panels = figure.subplots(1, 2, sharey=True)
    for axes, workload in zip(panels, ("Ali_121", "Ali_124"), strict=True):
        labels = [(age, scheme) for age in ("0", "1K", "2K") for scheme in schemes]
        of = {key: systems.filter(workload=workload, age=key[0], scheme=key[1]) for key in labels}
        bottom = [0.0] * len(labels)
        for (name, parts), colour in zip(causes.items(), (*plot.COLOURS[:3], "#e5e5e5"), strict=True):
            heights = [sum(number(of[key][f"usage.channel.{part}"].mean()) for part in parts) for key in labels]
            axes.bar(range(len(labels)), heights, bottom=bottom, label=name, color=colour)
            bottom = [a + b for a, b in zip(bottom, heights, strict=True)]
        axes.set_xticks(
            range(len(labels)),
            [f"{papers.NAMES[scheme]}, {age}" for age, scheme in labels],
            rotation=60,
            ha="right",
            fontsize="small",
        )
        axes.set_title(workload, fontsize="medium")
    panels[0].set_ylabel("share of the channels' time [%]")
    figure.legend(*panels[0].get_legend_handles_labels(), ncols=4, loc="outside lower center", frameon=False)
    return figure


def _fig19(tails: pl.DataFrame) -> Figure:
    """Read latencies of Ali_124 at 2K cycles, as far as ten reads lie beyond."""
    figure = blank(6.4, 3.6)
    axes = figure.subplots()
    prefix = "host.read.latency_ns.p"
    shares = {name: float(name[len(prefix) :].replace("_", ".")) for name in tails.columns if name.startswith(prefix)}
    shown = {name: -math.log10(1 - share / 100) for name, share in shares.items() if share <= 99.99}
    for scheme, colour in zip(SCHEMES, plot.COLOURS, strict=False):
        of = tails.filter(scheme=scheme)
        axes.plot(
            [number(of[name].mean()) / 1e3 for name in shown],
            list(shown.values()),
            marker=".",
            label=papers.NAMES[scheme],
            color=colour,
        )
    axes.set_xscale("log")
    axes.set_xticks([300, 500, 1000, 2000, 4000, 7000], ["300", "500", "1,000", "2,000", "4,000", "7,000"])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("read latency [µs]")
    axes.set_yticks([1, 2, 3, 4], ["90", "99", "99.9", "99.99"])
    axes.set_ylabel("percentile")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return figure


def _depth(depth: pl.DataFrame) -> Figure:
    figure = blank(9, 3.4)
    axes = figure.subplots(1, 2)
    speed = depth.filter(workload="Ali_124").pivot(
        on="scheme", index=["workload.iodepth", "ecc.buffer", "seed"], values=BANDWIDTH
    )
    for place, (over, title) in enumerate((("ssd-zero", "over SSDzero"), ("senc", "over SENC"))):
        for style, room in (("-", 1), ("--", 2), (":", 8)):
            gain = (100 * (pl.col("rif") / pl.col(over) - 1)).mean().alias("v")
            of = (
                speed.filter(pl.col("ecc.buffer") == room)
                .group_by("workload.iodepth")
                .agg(gain)
                .sort("workload.iodepth")
            )
            axes[place].plot(
                of["workload.iodepth"], of["v"], style, marker=".", color=f"C{place}", label=f"ECC room of {room}"
            )
        axes[place].set_xscale("log", base=2)
        axes[place].set_xlabel("requests under way")
        axes[place].set_ylabel(f"RiF's bandwidth {title} (%)")
        axes[place].legend()
    return figure


def _beyond(beyond: pl.DataFrame) -> Figure:
    figure = blank(9, 4)
    variants = list(beyond["variant"].unique(maintain_order=True))
    for axes, (column, label, scale) in zip(
        figure.subplots(1, 2),
        ((BANDWIDTH, "bandwidth (GB/s)", 1e3), ("host.read.latency_ns.p99_9", "p99.9 of reads (ms)", 1e6)),
        strict=True,
    ):
        for place, depth in enumerate((13, 64)):
            of = beyond.filter(pl.col("workload.iodepth") == depth)
            means = [number(of.filter(variant=name)[column].mean()) / scale for name in variants]
            label_of = f"{depth} requests under way"
            axes.barh([at + 0.4 * place for at in range(len(variants))], means, 0.4, label=label_of)
        axes.set_yticks([at + 0.2 for at in range(len(variants))], variants if column == BANDWIDTH else [])
        axes.invert_yaxis()
        axes.set_xlabel(label)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), ncols=2, loc="outside upper center", frameon=False)
    return figure


def _pays(pays: pl.DataFrame) -> Figure:
    """RiF over SWR, by the strength of the code and the speed of the channel."""
    figure = blank(9, 3.6)
    keys = ["ecc.strength", "bus.bandwidth", "workload.iodepth", "seed"]
    speed = pays.pivot(on="scheme", index=keys, values=BANDWIDTH)
    for axes, depth in zip(figure.subplots(1, 2, sharey=True), (13, 64), strict=True):
        for bandwidth in ("1.2GB/s", "2.4GB/s", "4.8GB/s"):
            of = speed.filter((pl.col("bus.bandwidth") == bandwidth) & (pl.col("workload.iodepth") == depth))
            gain = (100 * (pl.col("rif") / pl.col("swr") - 1)).mean().alias("v")
            of = of.group_by("ecc.strength").agg(gain).sort("ecc.strength")
            axes.plot(of["ecc.strength"], of["v"], marker=".", label=bandwidth)
        axes.axhline(0, color=plot.INK, linewidth=0.8)
        axes.set_xlabel("errors that the code corrects, over qc-ldpc's")
        axes.set_title(f"{depth} requests under way", fontsize="medium")
    figure.axes[0].set_ylabel("RiF's bandwidth over SWR (%)")
    figure.axes[1].legend(title="channel")
    return figure


# What the figures show (shapes.toml).

AGED = ("0", "1K", "2K")
SHOWN = ("Ali_121", "Ali_124")
"""The workloads of Fig. 18."""


def _channels(tables: Tables, scheme: str, part: str) -> dict[str, float]:
    """A share of the channels' time [%] by workload of Fig. 18 and age."""
    of = tables["systems"].filter(scheme=scheme)
    name = f"usage.channel.{part}"
    return {
        f"{workload} {age}": number(of.filter(workload=workload, age=age)[name].mean())
        for workload in SHOWN
        for age in AGED
    }


def _bandwidths(tables: Tables) -> Seen:
    found = {}
    for age in AGED:
        of = tables["systems"].filter(age=age)
        found[age] = {scheme: number(of.filter(scheme=scheme)["host.all.bandwidth_mb_s"].mean()) for scheme in SCHEMES}
    most = all(max(*list(of.values())[:4]) < of["rif"] < of["ssd-zero"] for of in found.values())
    holds = most and rises(list(found["2K"].values())[:3])
    return Seen(holds, "MB/s; ".join(f"{age}: {listed(of, 0)} " for age, of in found.items()) + "MB/s")


def _nearly_all(tables: Tables) -> Seen:
    parts = {
        part: _channels(tables, "rif", part) for part in ("read_data", "write_data", "command", "idle", "ecc_wait")
    }
    share = {
        key: 100 * sum(parts[part][key] for part in ("read_data", "write_data", "command")) / (100 - parts["idle"][key])
        for key in parts["idle"]
    }
    waits = max(parts["ecc_wait"].values())
    return Seen(
        min(share.values()) >= 95, f"{listed(share)} %; waits for the ECC engine take up to {waits:.1f} % of the time"
    )


def _less(tables: Tables, part: str, least: str, most: str) -> Seen:
    less, more = _channels(tables, least, part), _channels(tables, most, part)
    aged = [key for key in less if not key.endswith(" 0")]
    what = "; ".join(f"{key}: {less[key]:.1f} and {more[key]:.1f} %" for key in aged)
    return Seen(all(less[key] < more[key] for key in aged), f"{papers.NAMES[least]} and {papers.NAMES[most]}: {what}")


def _below(tables: Tables) -> Seen:
    names = [f"host.read.latency_ns.p{share}" for share in ("99", "99_9", "99_99")]
    of = {scheme: [number(tables["tails"].filter(scheme=scheme)[name].mean()) for name in names] for scheme in SCHEMES}
    over = {scheme: min(b / a for a, b in zip(of["rif"], of[scheme], strict=True)) for scheme in SCHEMES[:4]}
    return Seen(min(over.values()) > 1, f"at least so many times RiF's: {listed(over, 2)}")


SHAPES: dict[str, Look] = {
    "rif.shape.bandwidth": _bandwidths,
    "rif.shape.cor": _nearly_all,
    "rif.shape.eccwait": lambda tables: _less(tables, "ecc_wait", "rpssd", "swr"),
    "rif.shape.uncor": lambda tables: _less(tables, "failed_reads", "rif", "rpssd"),
    "rif.shape.tails": _below,
}
