"""The controller of a TLC drive through its life: what each scheme buys, and which of them are enough."""

from __future__ import annotations

import itertools
import math
import os
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import ssdlab
from ssdlab.chip import lifetime
from ssdlab.chip.characterize import load
from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.common.frames import read_csv
from ssdlab.show import plot
from ssdlab.study.claims import Tables
from ssdlab.sweeps.shares import pairs, shares
from ssdlab.sweeps.spec import Sweep
from ssdlab.sweeps.table import axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
MEAN, TAIL = "host.read.latency_ns.mean", "host.read.latency_ns.p99"
LOST, ENERGY = "host.uncorrectable", "energy.per_gb"
NEEDS = {"real": "traces/websearch1.mqsim.gz"}
"""Traces of the UMass repository and of SNIA IOTTA."""

PRODUCT = tomllib.loads((HERE / "product.toml").read_text(encoding="utf-8"))
PARTS = ("start", "next", "steps", "predictor", "suspension", "erase", "reclaim", "ecc")
"""Axes of the product, of which each has what it is without a part first."""
LABELS = {part: tuple(PRODUCT["axes"][part]) for part in PARTS}
NAMES = dict(
    zip(
        PARTS,
        (
            "tracked starts",
            "Swift-Read",
            "PR² and AR²",
            "on-die predictor",
            "suspension",
            "REO+",
            "reclaim",
            "soft decoding",
        ),
        strict=True,
    )
)
AGES = tuple(PRODUCT["axes"]["age"])
WORKLOADS = tuple(PRODUCT["axes"]["workload"])
Point = frozenset[str]
"""The parts that a controller has."""
NOTHING, EVERYTHING = frozenset[str](), frozenset(PARTS)


def settings(point: Point) -> dict[str, Any]:
    """The keys of a controller."""
    found: dict[str, Any] = {}
    for part, (without, there) in LABELS.items():
        found |= PRODUCT["axes"][part][there if part in point else without]
    return found


# How the constants matter.

FAMILIES = {
    "retention": ("cells.shift", "cells.shift_wear", "cells.shift_early"),
    "width of states": ("cells.width", "cells.width_wear", "cells.width_shift"),
    "short senses": ("sensing.pre", "sensing.eval", "sensing.disch"),
    "erase needs": ("erasing.fresh", "erasing.knots_grains"),
    "erase wears": ("erasing.program_stress", "erasing.loop_stress", "erasing.rber_wear"),
}
"""Constants of the chip that were fitted together."""
DRIVES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "over-provisioning 15 %": {"ftl.over_provisioning": 0.15},
    "over-provisioning 28 %": {"ftl.over_provisioning": 0.28},
    "code - 20 %": {"ecc.strength": 0.8},
    "code + 20 %": {"ecc.strength": 1.2},
}
OTHERS = tuple(f"{family} {sign} 20 %" for family in FAMILIES for sign in "-+")


def changed(family: str, factor: float) -> str:
    """The chip's file with the constants of a family times a factor."""
    text = (HERE.parents[1] / "presets/chips/tlc48.toml").read_text(encoding="utf-8")
    section, lines = "", []
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        name, equals, value = line.partition(" = ")
        if equals and f"{section}.{name}" in FAMILIES[family]:
            value = re.sub(r"\d+(\.\d+)?(e-?\d+)?", lambda found: repr(float(found[0]) * factor), value)
        lines.append(name + equals + value)
    return "\n".join(lines) + "\n"


def timings(chip: str) -> str:
    """The read-timing parameter table of a chip through its life: what asplos21 section 5.2.3 leaves to the capability
    at 85 °C, 14 errors, at every 500 cycles."""
    of = load(chip)
    lines = ["pec,months,cut"]
    for pec, months in itertools.product(range(0, 5001, 500), (0.0, 1.0, 3.0, 6.0, 9.0, 12.0)):
        lines.append(f"{pec},{months},{of.safe_pre_cut((pec / 1e3, months, 85.0), 14)}")
    return "\n".join(lines) + "\n"


def alone_and_without() -> dict[str, Point]:
    """Nothing, everything, each part alone, everything but it."""
    alone = {f"only {part}": frozenset({part}) for part in PARTS}
    without = {f"all but {part}": EVERYTHING - {part} for part in PARTS}
    return {"nothing": NOTHING, **alone, "all": EVERYTHING, **without}


def sensitivity(drives: Sequence[str], points: Mapping[str, Point], seeds: Sequence[int]) -> pl.DataFrame:
    """The read latency of controllers on other drives, at 3,000 cycles: line, drive, point, workload, seed, and what
    was measured."""
    with tempfile.TemporaryDirectory() as folder:
        axis: dict[str, dict[str, Any]] = {}
        for name in drives:
            axis[name] = dict(DRIVES.get(name, {}))
            if name not in DRIVES:
                family, sign, _, _ = name.rsplit(" ", 3)
                chip = Path(folder, f"{name}.toml")
                chip.write_text(changed(family, 1.2 if sign == "+" else 0.8), encoding="utf-8")
                chip.with_suffix(".csv").write_text(timings(str(chip)), encoding="utf-8")
                axis[name] = {"chip.model": str(chip), "read.rpt": str(chip.with_suffix(".csv"))}
        asked = {
            "statistics": [MEAN, TAIL, LOST],
            "run": Sweep.read(HERE / "product.toml").run | PRODUCT["axes"]["age"]["3K"],
            "warm": PRODUCT["warm"],
            "axes": {
                "point": {name: settings(point) for name, point in points.items()},
                "drive": axis,
                "workload": {name: PRODUCT["axes"]["workload"][name] for name in ("YCSB-A", "Ali_2")},
                "seed": list(seeds),
            },
        }
        found = ssdlab.sweep(asked, cache=os.path.join(folder, "cache")).table
    return found.with_columns(line=pl.concat_str("drive", "point", "workload", "seed", separator=", ")).select(
        "line", "drive", "point", "workload", "seed", MEAN, TAIL, LOST
    )


TABLES: dict[str, Callable[[Any], pl.DataFrame]] = {
    "sensitivity": lambda progress: sensitivity((*DRIVES, *OTHERS), alone_and_without(), (1, 2)),
    "lives": lambda progress: _lives(),
}
QUICK = {"sensitivity": lambda progress: sensitivity(("width of states + 20 %",), {"all": EVERYTHING}, (1,))}
"""In CI some rows only."""


def _lives() -> pl.DataFrame:
    """P/E cycles at which a block's mean M_RBER after a year reaches 63 errors a KiB: scheme, cycles."""
    lives = lifetime.cycle(load("tlc48", chips=160, blocks=4), ("ispe", "reo-plus"))
    return pl.DataFrame(list(lifetime.lifetimes(lives, 63.0).items()), schema=["scheme", "cycles"], orient="row")


# What the product says.


def accepted(product: pl.DataFrame) -> pl.DataFrame:
    """The product with what its cases warn of taken as it is. Both warnings are of writes, and only reads are compared:
    `buffer-only`, of Ali_124's few writes most stay in the write buffer; and `held-off`, erases that let reads go first
    get on slowly. The controllers that it chooses are played again for longer (`best.toml`)."""
    return product.drop("warnings", strict=False)


def point_of(row: Mapping[str, Any]) -> Point:
    """The parts that a row of the product has."""
    return frozenset(part for part in PARTS if row[part] == LABELS[part][1])


def over_workloads(product: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The product with the geometric mean over the workloads in place of each."""
    keys = [*PARTS, "age", "seed"]
    return product.group_by(keys, maintain_order=True).agg(
        pl.first("case"), pl.col(metric).log().mean().exp()
    ).select(*keys, "case", metric)  # fmt: skip


class Measured:
    """The product by point and context (age, workload): means over seeds."""

    def __init__(self, product: pl.DataFrame) -> None:
        keys = [*PARTS, "age", "workload"]
        found = product.group_by(keys, maintain_order=True).agg(
            pl.col(MEAN).log().mean().exp(), pl.col(TAIL).log().mean().exp(), pl.col(LOST).sum(), pl.col(ENERGY).mean()
        )  # fmt: skip
        self.rows: dict[tuple[str, str], dict[Point, dict[str, float]]] = {}
        for row in found.iter_rows(named=True):
            self.rows.setdefault((row["age"], row["workload"]), {})[point_of(row)] = row

    def best(self, context: tuple[str, str], metric: str) -> float:
        """The least value of those that lose no read."""
        return min(row[metric] for row in self.rows[context].values() if not row[LOST])

    def regret(self, point: Point, context: tuple[str, str], metric: str) -> float:
        """By how much a controller is above the best; infinite where it loses reads."""
        row = self.rows[context][point]
        return math.inf if row[LOST] else row[metric] / self.best(context, metric) - 1.0

    def worst(self, point: Point, metrics: Sequence[str], ages: Sequence[str] = AGES) -> float:
        """The largest regret over the workloads and over ages."""
        return max(
            self.regret(point, context, metric) for context in self.rows if context[0] in ages for metric in metrics
        )

    def enough(self, metrics: Sequence[str], contexts: Sequence[tuple[str, str]], within: float = 0.05) -> list[Point]:
        """The smallest controllers that are nowhere worse by more than ``within``, the best of them first."""
        found = {
            point: max(self.regret(point, context, metric) for context in contexts for metric in metrics)
            for point in next(iter(self.rows.values()))
        }
        good = {point: worst for point, worst in found.items() if worst <= within}
        fewest = min((len(point) for point in good), default=0)
        return sorted((point for point in good if len(point) == fewest), key=lambda point: good[point])


def text(point: Point) -> str:
    """A controller in words."""
    return ", ".join(NAMES[part] for part in PARTS if part in point) or "nothing"


# The tables of README.md. A test compares them; `pytest --update-golden` writes them.


def findings(tables: Tables) -> dict[str, str]:
    """The tables of README.md by name, as Markdown."""
    product = accepted(tables["product"])
    measured = Measured(product)
    return {
        "shares": _shares(over_workloads(product, MEAN), MEAN),
        "tail": _shares(over_workloads(product, TAIL), TAIL),
        "workloads": _by_workload(product),
        "pairs": _pairs(over_workloads(product, MEAN)),
        "rif": _rif(over_workloads(product, MEAN)),
        "inside": _inside(tables["inside"]),
        "suspension": _suspension(tables["tails"]),
        "best": _best(measured),
        "steps": _steps(measured),
        "verified": _verified(tables["best"]),
        "regrets": _regrets(tables["best"]),
        "costs": _costs(tables["best"]),
        "real": _real(tables["real"]),
        "beyond": _beyond(tables["beyond"], MEAN),
        "beyond_tail": _beyond(tables["beyond"], TAIL),
        "sensitivity": _sensitivity(tables["sensitivity"]),
    }


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def times(value: float, half: float | None = None) -> str:
    """By how many times, with its interval where that shows; a wide one by its ends, which the logarithm has even."""
    digits = 0 if value >= 20 else 1 if value >= 3 else 2
    shown = f"{value:.{digits}f}"
    if half is None or half < 0.5 * 10**-digits:
        return shown
    if half > 0.3 * value:
        low, high = (value * math.exp(sign * half / value) for sign in (-1, 1))
        return f"{shown} ({low:.1f} to {high:.1f})"
    return f"{shown} ± {half:.{digits}f}"


def _shares(product: pl.DataFrame, metric: str) -> str:
    found = {(row["age"], row["part"]): row for row in shares(product, metric, PARTS).iter_rows(named=True)}
    rows = []
    for part in PARTS:
        cells = []
        for age in AGES:
            of = found[age, part]
            cells.append(" / ".join(times(of[name], of[f"{name}_ci95"]) for name in ("alone", "on_top", "share")))
        rows.append((NAMES[part], *cells))
    total = [math.prod(found[age, part]["share"] for part in PARTS) for age in AGES]
    return markdown(("", *AGES), [*rows, ("all together", *map(times, total))])


def _by_workload(product: pl.DataFrame) -> str:
    found = {
        (row["age"], row["workload"], row["part"]): row
        for row in shares(product.filter(age="3K"), MEAN, PARTS).iter_rows(named=True)
    }
    rows = [
        (
            NAMES[part],
            *(times(found["3K", load, part]["share"], found["3K", load, part]["share_ci95"]) for load in WORKLOADS),
        )
        for part in PARTS
    ]
    return markdown(("", *WORKLOADS), rows)


def _pairs(product: pl.DataFrame) -> str:
    found: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
    for row in pairs(product, MEAN, PARTS).iter_rows(named=True):
        found.setdefault((row["part"], row["other"]), {})[row["age"]] = (row["factor"], row["factor_ci95"])
    ordered = sorted(found.items(), key=lambda item: item[1]["3K"][0])
    shown = [item for item in ordered if abs(math.log(item[1]["3K"][0])) > math.log(1.1)]
    rows = [(f"{NAMES[part]} with {NAMES[other]}", *(times(*of[age]) for age in AGES)) for (part, other), of in shown]
    return markdown(("", *AGES), rows)


def _rif(product: pl.DataFrame) -> str:
    """What RiF (Swift-Read behind a predictor on the die) buys by how blocks are erased."""
    rif = {"next", "predictor"}
    values = {(row["age"], row["seed"], point_of(row)): row[MEAN] for row in product.iter_rows(named=True)}
    seeds = product["seed"].unique(maintain_order=True).to_list()
    rows = []
    for about, others in (("alone", NOTHING), ("on top of all others", EVERYTHING - rif - {"erase"})):
        for erase in (NOTHING, frozenset({"erase"})):
            cells = []
            for age in AGES:
                logs = [
                    math.log(values[age, seed, others | erase] / values[age, seed, others | erase | rif])
                    for seed in seeds
                ]
                cells.append(_times_of(logs))
            rows.append((f"RiF {about}, {'REO+' if erase else 'ISPE'}", *cells))
    return markdown(("", *AGES), rows)


def _times_of(logs: list[float]) -> str:
    mean, half = mean_and_half_width(logs)
    assert mean is not None
    return times(math.exp(mean), None if half is None else math.exp(mean) * half)


def _ratios(table: pl.DataFrame, metric: str, over: Mapping[str, str], under: Mapping[str, str]) -> list[float]:
    """The logarithms of what a statistic falls by from some labels to others: by seed, mean over what else differs."""
    keys = [axis for axis in axes_of(table) if axis not in over]
    both = [table.filter(**labels).select(*keys, metric) for labels in (over, under)]
    joined = both[0].join(both[1], on=keys, maintain_order="left")
    logs = (pl.col(metric) / pl.col(f"{metric}_right")).log().mean()
    return joined.group_by("seed", maintain_order=True).agg(logs)[metric].to_list()


def _inside(table: pl.DataFrame) -> str:
    """What PR2 and AR2 buy by how a page is read again."""
    rows = []
    for read in table["read"].unique(maintain_order=True):
        for about, off, on in (
            ("PR²", {"pr2": "off", "ar2": "off"}, {"pr2": "on", "ar2": "off"}),
            ("AR²", {"pr2": "off", "ar2": "off"}, {"pr2": "off", "ar2": "on"}),
            ("both", {"pr2": "off", "ar2": "off"}, {"pr2": "on", "ar2": "on"}),
        ):
            of = table.filter(read=read)
            rows.append(
                (f"{about} with {read}", *(_times_of(_ratios(of.filter(age=age), MEAN, off, on)) for age in AGES))
            )
    return markdown(("", *AGES), rows)


def _suspension(table: pl.DataFrame) -> str:
    """Tails of the write-heavy twin's reads [ms], by what is suspended and how blocks are erased."""
    rows = []
    for erase in table["erase"].unique(maintain_order=True):
        for suspension in table["suspension"].unique(maintain_order=True):
            of = table.filter(erase=erase, suspension=suspension)
            cells = []
            for age in of["age"].unique(maintain_order=True):
                parts = [_mean(of.filter(age=age), f"host.read.latency_ns.{name}", 1e6) for name in ("p99_9", "p99_99")]
                cells.append(" / ".join(parts))
            rows.append((erase, suspension, *cells))
    return markdown(("erase", "suspended", *table["age"].unique(maintain_order=True)), rows)


def _mean(table: pl.DataFrame, column: str, unit: float) -> str:
    mean, half = mean_and_half_width([value / unit for value in table[column]])
    assert mean is not None
    digits = 0 if mean >= 100 else 1 if mean >= 10 else 2
    return f"{mean:.{digits}f}" + ("" if half is None or half < 0.5 * 10**-digits else f" ± {half:.{digits}f}")


def _best(measured: Measured) -> str:
    """At each age under each workload: the least mean read latency, and what is enough for it within 5 %."""
    rows = []
    for age, load_ in itertools.product(AGES, WORKLOADS):
        context = (age, load_)
        without = measured.rows[context][NOTHING]
        enough = measured.enough((MEAN,), [context])
        lost = " (reads lost)" if without[LOST] else ""
        latencies = (f"{without[MEAN] / 1e3:,.0f}{lost}", f"{measured.best(context, MEAN) / 1e3:,.0f}")
        others = f" (or {len(enough) - 1} other)" if len(enough) > 1 else ""
        rows.append((age, load_, *latencies, text(enough[0]) + others))
    return markdown(("age", "workload", "nothing [us]", "best [us]", "enough to be within 5 % of it"), rows)


def by_size(measured: Measured) -> dict[int, tuple[Point, float, float]]:
    """For each number of parts the controller whose worst distance from the best, over all ages and workloads, is least
    in the mean: with that, and with the worst in p99."""
    found = {}
    for size in range(len(PARTS) + 1):
        points = [frozenset(of) for of in itertools.combinations(PARTS, size)]
        best = min(points, key=lambda point: (measured.worst(point, (MEAN,)), sorted(point)))
        found[size] = (best, measured.worst(best, (MEAN,)), measured.worst(best, (TAIL,)))
    return found


def _steps(measured: Measured) -> str:
    rows = []
    for size, (point, mean, tail) in by_size(measured).items():
        rows.append(
            (
                f"{size}",
                text(point),
                *("loses reads" if math.isinf(of) else f"{100 * of:,.0f} %" for of in (mean, tail)),
            )
        )
    return markdown(("parts", "controller", "worst mean above the best", "worst p99 above the best"), rows)


def _verified(table: pl.DataFrame) -> str:
    """Controllers with seeds that chose nothing: over the workloads at each age, and what they cost."""
    rows = []
    for name in table["controller"].unique(maintain_order=True):
        of = table.filter(controller=name)
        cells = []
        for age in AGES:
            at = of.filter(age=age)
            lost = " (reads lost)" if at[LOST].sum() else ""
            cells.append(
                _mean(over(at, MEAN), MEAN, 1e3) + " / " + _mean(over(at, TAIL_OF_BEST), TAIL_OF_BEST, 1e3) + lost
            )
        rows.append((str(name), *cells, _mean(over(of, ENERGY), ENERGY, 1.0)))
    return markdown(("controller", *AGES, "energy [J/GB]"), rows)


def _regrets(table: pl.DataFrame) -> str:
    rows = []
    for name in table["controller"].unique(maintain_order=True):
        cells = []
        for metric in (MEAN, TAIL_OF_BEST):
            mean, half, where = max(_regret(of, str(name), metric) for _, of in table.group_by("age", "workload"))
            cells.append("loses reads" if math.isinf(mean) else f"{mean:,.0f} ± {half:,.0f} ({where})")
        rows.append((str(name), *cells))
    return markdown(("controller", "mean [%]", "p99.9 [%]"), rows)


def _regret(context: pl.DataFrame, name: str, metric: str) -> tuple[float, float, str]:
    """How far a controller is above the best at an age under a workload [%], seed by seed; and where that is."""
    own = context.filter(controller=name).sort("seed")
    where = f"{own['age'][0]}, {own['workload'][0]}"
    if own[LOST].sum():
        return math.inf, 0.0, where
    kept = context.filter(pl.col(LOST).sum().over("controller") == 0)
    means = kept.group_by("controller").agg(pl.col(metric).log().mean()).sort(metric, "controller")
    best = context.filter(controller=means["controller"][0]).sort("seed")
    mean, half = mean_and_half_width((100 * (own[metric] / best[metric] - 1)).to_list())
    assert mean is not None
    return mean, half or 0.0, where


def _costs(table: pl.DataFrame) -> str:
    """What each controller needs on this drive: memory, silicon on a die of four planes, and energy, by
    `hardware/costs.csv`; and the ages at which no other controller is better."""
    rows = read_csv(HERE.parents[1] / "hardware/costs.csv").iter_rows(named=True)
    costs = {(row["key"], row["choice"]): row for row in rows}
    controllers = tomllib.loads((HERE / "best.toml").read_text(encoding="utf-8"))["axes"]["controller"]
    needs: dict[str, tuple[float, float]] = {}
    for name, keys in controllers.items():
        found = [costs[key, choice] for key, choice in keys.items() if (key, choice) in costs]
        tracked = table.filter(controller=name)["flash.retry.tracked"].mean()
        assert isinstance(tracked, float)
        numbers = {"drive": 1.0, "channel": 8.0, "chip": 16.0, "flash.retry.tracked": tracked}
        memory = sum((row["bytes"] or 0) * numbers[row["per"]] for row in found)
        needs[name] = (memory, 4 * sum(row["die_mm2"] or 0.0 for row in found))
    front = {age: _unbeaten(table.filter(age=age), needs) for age in AGES}
    lines = []
    for name, (memory, area) in needs.items():
        shown = f"{memory:,.0f}" if memory < 10_000 else f"{memory / 1024:,.0f} KiB"
        energy = _mean(over(table.filter(controller=name), ENERGY), ENERGY, 1.0)
        ages = ", ".join(age for age in AGES if name in front[age])
        lines.append((name, shown, f"{area:.3f}" if area else "0", energy, ages or "–"))
    head = ("controller", "memory [B]", "silicon on a die [mm²]", "energy [J/GB]", "no other is better")
    return markdown(head, lines)


def _unbeaten(age: pl.DataFrame, needs: Mapping[str, tuple[float, float]]) -> list[str]:
    """The controllers that lose no read at an age, and than which no other that loses none is as good in all of mean
    and p99.9 of reads, energy, memory and silicon."""
    objectives: dict[str, tuple[float, ...]] = {}
    for name, need in needs.items():
        of = age.filter(controller=name)
        if not of[LOST].sum():
            logs = of.select(pl.col(MEAN, TAIL_OF_BEST, ENERGY).log().mean()).row(0)
            objectives[name] = (*logs, *need)
    return [
        name
        for name, own in objectives.items()
        if not any(
            other != own and all(a <= b for a, b in zip(other, own, strict=True)) for other in objectives.values()
        )
    ]


def _real(table: pl.DataFrame) -> str:
    rows = []
    for workload, name in itertools.product(
        *(table[axis].unique(maintain_order=True) for axis in ("workload", "controller"))
    ):
        of = table.filter(workload=workload, controller=name)
        cells = []
        for age in AGES:
            at = of.filter(age=age)
            cells.append(
                _mean(at, MEAN, 1e3) + " / " + _mean(at, TAIL, 1e3) + (" (reads lost)" if at[LOST].sum() else "")
            )
        rows.append((workload, name, *cells))
    return markdown(("trace", "controller", *AGES), rows)


def _beyond(table: pl.DataFrame, metric: str) -> str:
    """By how many times the reads of each controller are faster than those of the six parts, over the workloads."""
    names = table["controller"].unique(maintain_order=True).to_list()
    ages = table["age"].unique(maintain_order=True).to_list()
    six = {"controller": SIX}
    rows = []
    for name in names:
        cells = []
        for age in ages:
            at = table.filter(age=age)
            of = at.filter(controller=name)
            if name == SIX:
                shown = _mean(over(of, metric), metric, 1e3)
            else:
                shown = _times_of(_ratios(at, metric, six, {"controller": name}))
            cells.append(shown + (" (reads lost)" if of[LOST].sum() else ""))
        rows.append((f"{name} [us]" if name == SIX else str(name), *cells))
    return markdown(("controller", *ages), rows)


SIX = "six parts"
TAIL_OF_BEST = "host.read.latency_ns.p99_9"


def over(table: pl.DataFrame, metric: str) -> pl.DataFrame:
    """A line a seed: the geometric mean over all else."""
    return table.group_by("seed", maintain_order=True).agg(pl.col(metric).log().mean().exp())


def gains(table: pl.DataFrame) -> dict[tuple[str, str], tuple[float, float]]:
    """By drive and part: by how many times the mean read falls by it alone, and on top of all others."""
    logs = table.group_by("drive", "point").agg(pl.col(MEAN).log().mean())
    of = {(row["drive"], row["point"]): row[MEAN] for row in logs.iter_rows(named=True)}
    return {
        (drive, part): (
            math.exp(of[drive, "nothing"] - of[drive, f"only {part}"]),
            math.exp(of[drive, f"all but {part}"] - of[drive, "all"]),
        )
        for drive in table["drive"].unique(maintain_order=True)
        for part in PARTS
    }


def _sensitivity(table: pl.DataFrame) -> str:
    found = gains(table)
    drives = table["drive"].unique(maintain_order=True).to_list()
    rows = [(drive, *(" / ".join(times(value) for value in found[drive, part]) for part in PARTS)) for drive in drives]
    return markdown(("drive", *(NAMES[part] for part in PARTS)), rows)


def figures(tables: Tables) -> dict[str, Figure]:
    """Each by name: controller (what each part is worth to the six), shares (of what all parts together do), size
    (how far controllers of some parts are from the best), suspension (tails by what is suspended), sensitivity
    (gains on other drives)."""
    return {
        "controller": _draw_controller(tables["beyond"]),
        "shares": _draw_shares(accepted(tables["product"])),
        "size": _draw_sizes(Measured(accepted(tables["product"]))),
        "suspension": _draw_suspension(tables["tails"]),
        "sensitivity": _draw_sensitivity(tables["sensitivity"]),
    }


def _draw_controller(table: pl.DataFrame) -> Figure:
    """By how many times reads are faster with each change of the six parts, by age: mean and p99."""
    names = [name for name in table["controller"].unique(maintain_order=True) if name != SIX]
    figure = blank(11, 5)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, metric, label in zip(panels, (MEAN, TAIL), ("mean read", "p99 of reads"), strict=True):
        for place, age in enumerate(table["age"].unique(maintain_order=True)):
            at = table.filter(age=age)
            found = [
                mean_and_half_width(_ratios(at, metric, {"controller": SIX}, {"controller": name})) for name in names
            ]
            values = [math.exp(mean or 0.0) for mean, _ in found]
            ends = [
                [value * (1 - math.exp(-(half or 0.0))) for value, (_, half) in zip(values, found, strict=True)],
                [value * (math.exp(half or 0.0) - 1) for value, (_, half) in zip(values, found, strict=True)],
            ]
            rows = [row + (place - 0.5) * 0.3 for row in range(len(names))]
            axes.errorbar(values, rows, xerr=ends, fmt="os"[place], markersize=5, label=f"{age} P/E cycles")
        axes.set_xscale("log")
        axes.set_xlim(0.15, 2.5)
        axes.set_xticks([0.2, 0.5, 1, 2], ["0.2", "0.5", "1", "2"])
        axes.set_xticks([], minor=True)
        axes.axvline(1.0, color="0.5", lw=0.8)
        axes.grid(alpha=0.3)
        axes.set_xlabel(f"{label}: times as fast as with the six parts")
        axes.axhline(len([name for name in names if name.startswith("without")]) - 0.5, color="0.5", lw=0.8, ls="--")
    labels = [name if name.startswith("without") else f"with {name}" for name in names]
    panels[0].set_yticks(range(len(names)), labels)
    panels[0].invert_yaxis()
    figure.legend(*panels[0].get_legend_handles_labels(), ncols=2, loc="outside lower center", frameon=False)
    return figure


def _draw_shares(product: pl.DataFrame) -> Figure:
    """What each part buys by age: alone, its share, on top of all others."""
    figure = blank(11, 7.5)
    grid = figure.subplots(2, len(AGES), sharey=True, sharex="row")
    for line, metric, label in ((grid[0], MEAN, "mean read"), (grid[1], TAIL, "p99")):
        found = shares(over_workloads(product, metric), metric, PARTS)
        for axes, age in zip(line, AGES, strict=True):
            of = found.filter(age=age)
            for place, (name, words) in enumerate(
                (("alone", "alone"), ("share", "Shapley's share"), ("on_top", "on top"))
            ):
                rows = [row + (place - 1) * 0.22 for row in range(len(PARTS))]
                ends = [
                    [
                        value * (1 - math.exp(-half / value))
                        for value, half in of.select(name, f"{name}_ci95").iter_rows()
                    ],
                    [
                        value * (math.exp(half / value) - 1)
                        for value, half in of.select(name, f"{name}_ci95").iter_rows()
                    ],
                ]
                axes.errorbar(of[name], rows, xerr=ends, fmt="osD"[place], markersize=4, label=words)
            _times_axis(axes, (0.7, 20))
            axes.set_title(age if age == "fresh" else f"{age} P/E cycles", fontsize=10)
            axes.set_xlabel(f"factor by which {label} falls", fontsize=9)
        line[0].set_yticks(range(len(PARTS)), [NAMES[part] for part in PARTS])
    # All share it.
    grid[0][0].invert_yaxis()
    figure.legend(*grid[0][0].get_legend_handles_labels(), ncols=3, loc="outside upper center", frameon=False)
    return figure


def _times_axis(axes: Axes, limits: tuple[float, float]) -> None:
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    ticks = [tick for tick in (0.5, 1, 2, 5, 10, 20) if limits[0] <= tick <= limits[1]]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.axvline(1.0, color="0.5", lw=0.8)
    axes.grid(alpha=0.3)


def _draw_sizes(measured: Measured) -> Figure:
    """How far from the best the controllers of this many parts are where they are furthest."""
    figure = blank(7.5, 4)
    axes = figure.subplots()
    found = [of for of in by_size(measured).values() if not math.isinf(of[1])]
    sizes = [len(point) for point, _, _ in found]
    axes.plot(sizes, [100 * mean for _, mean, _ in found], marker="o", label="mean read")
    axes.plot(sizes, [100 * tail for _, _, tail in found], marker="o", label="p99 of reads")
    before = NOTHING
    for point, mean, _ in found:
        words = [f"+ {NAMES[part]}" for part in PARTS if part in point - before]
        words += [f"- {NAMES[part]}" for part in PARTS if part in before - point]
        spot = (len(point), 100 * mean)
        axes.annotate(", ".join(words), spot, (0, -8), textcoords="offset points", fontsize=7, rotation=-35, va="top")
        before = point
    axes.axhline(5, color="0.5", lw=0.8, ls="--")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlim(0.7, 9)
    axes.set_ylim(1, 10_000)
    axes.set_xticks(range(1, 9))
    axes.set_xlabel("parts of the controller")
    axes.set_ylabel("above the best, at the worst\nage and workload (%)")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure


def _draw_suspension(table: pl.DataFrame) -> Figure:
    ages = table["age"].unique(maintain_order=True).to_list()
    figure = blank(11, 3.6)
    panels = figure.subplots(1, len(ages), sharey=True)
    for axes, age in zip(panels, ages, strict=True):
        plot.grouped(
            axes, table.filter(age=age), "host.read.latency_ns.p99_99", rows="suspension", by="erase", unit=1e6
        )
        axes.set_title(age if age == "fresh" else f"{age} P/E cycles", fontsize=10)
        axes.set_xlabel("p99.99 of reads (ms)")
    panels[0].invert_yaxis()
    figure.legend(*panels[0].get_legend_handles_labels(), ncols=2, loc="outside upper center", frameon=False)
    return figure


def _draw_sensitivity(table: pl.DataFrame) -> Figure:
    """What each part buys on every drive: a dot a drive."""
    found = gains(table)
    figure = blank(10, 4)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, place, label in zip(panels, (0, 1), ("alone", "on top of all others"), strict=True):
        for row, part in enumerate(PARTS):
            values = [gain[place] for (_, of), gain in found.items() if of == part]
            axes.plot(values, [row] * len(values), "o", alpha=0.5, color="C0")
            axes.plot([found["as it is", part][place]], [row], "D", color="C3")
        _times_axis(axes, (0.5, 7))
        axes.set_xlabel(f"factor by which the mean read latency falls, {label}")
    panels[0].set_yticks(range(len(PARTS)), [NAMES[part] for part in PARTS])
    panels[0].invert_yaxis()
    return figure
