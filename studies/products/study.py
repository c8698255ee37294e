"""Drives that were bought: what is measured of each claim, the table of the README, and the figure."""

from __future__ import annotations

import csv
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.common.numbers import number_text, with_interval
from ssdlab.devices import read, trust
from ssdlab.study.claims import Lever, Measured, Proof, Tables, fitted, key, measures, predicted
from ssdlab.study.shapes import Look, Seen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRIVES = {"xg6": "Kioxia XG6", "micron-9200": "Micron 9200", "micron-7500": "7500", "micron-7600": "7600 MAX"}
BRIEF = {drive: {"seed": [1]} for drive in DRIVES} | {"nines": {"requests": 20_000, "seed": [1]}}
"""For the levers of what is predicted: ssdlab.study.levers."""
LEVERS = {"read-4k": key("chip.t_read"), "read-128k": key("host.link_bandwidth"), "write": key("host.link_bandwidth")}
DETERMINED = 1.25
"""Jobs that leave more of a figure open than this factor to either side do not determine it."""
FIGURES = {"iops": "iops", "mean": "latency_ns.mean", "p50": "latency_ns.p50", "p99": "latency_ns.p99"}


def _claims() -> list[tuple[str, str, str, str, float]]:
    """The claims of single figures: id, drive, job, metric, published value."""
    document = tomllib.loads((Path(__file__).parent / "claims.toml").read_text(encoding="utf-8"))
    rows = [(claim["id"], *claim["id"].split(".")[1:], claim["published"]) for claim in document["claims"]]
    return [row for row in rows if len(row) == 5]


def _lever(drive: str, job: str) -> Lever:
    """What a job of a drive rests on."""
    own = {
        ("micron-9200", "write-4k-1"): key("host.t_complete"),
        ("xg6", "write-128k-32"): key("slc.t_prog"),
        ("micron-7600", "write-128k-32"): key("chip.t_prog"),
        ("micron-7600", "read-4k-512"): key("host.t_firmware"),
        ("micron-7500", "read-4k-256"): key("host.t_firmware"),
    }
    kind = next(kind for kind in LEVERS if job.startswith(kind))
    steady = key("ftl.over_provisioning") if job == "write-4k-256" else LEVERS[kind]
    return own.get((drive, job), steady)


def _proofs() -> dict[str, Proof]:
    return {id: _proof(drive, job, metric) for id, drive, job, metric, _ in _claims()}


def _proof(drive: str, job: str, metric: str) -> Proof:
    """Facts that were chosen with a figure in view make it a fitted one."""
    given = job == "read-128k-32" or (drive, job) == ("micron-9200", "write-128k-32")
    if metric != "p99" and drive != "xg6" and given:
        return fitted(f"studies/products/facts/{drive}.toml", "host.link_bandwidth")
    return predicted(_lever(drive, job))


def measured(tables: Tables, drive: str, job: str, metric: str, fit: str) -> Measured:
    """A figure of a drive, under the fit that has seen it (``fitted``) or under the one that has not (``not seen``)."""
    op = job.split("-")[0]
    column = f"host.{op}.{FIGURES[metric]}"
    scale = 1.0 if metric == "iops" else 1e3
    rows = tables[drive].filter(fit=f"{job}, {fit}").sort("seed")
    return Measured(*mean_and_half_width([float(value) / scale for value in rows[column].to_list()]))


def left_open(drive: str, job: str, metric: str) -> float:
    """The factor to either side that the other jobs leave open of a figure, as the fit found it (drives/*.csv)."""
    path = Path(__file__).parent / "drives" / f"{drive}.csv"
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    return next(float(row["left_open"]) for row in rows if (row["job"], row["metric"]) == (job, metric))


def _open_text(value: float, factor: float) -> str:
    """What is left open, where that is much."""
    if factor <= DETERMINED:
        return ""
    ends = (value / factor, value * factor)
    return "anything" if factor > 100.0 else " to ".join(number_text(float(f"{end:.3g}")) for end in ends)


@measures(_proofs())
def _held_out(tables: Tables) -> dict[str, Measured]:
    out = {}
    for id, drive, job, metric, _ in _claims():
        found = measured(tables, drive, job, metric, "not seen")
        if found.value is not None:
            text = _open_text(found.value, left_open(drive, job, metric))
            found = found._replace(note=f"not determined by the other jobs: {text}" if text else "")
        out[id] = found
    return out


@measures({"products.micron-7500.nines": predicted(key("chip.t_read"))})
def _nines(tables: Tables) -> dict[str, Measured]:
    values = tables["nines"].sort("seed")["host.read.latency_ns.p99_9999"].to_list()
    return {"products.micron-7500.nines": Measured(*mean_and_half_width([float(value) / 1e6 for value in values]))}


# Eleven more drives, by halves of their jobs (halves.py).

HALVES = {
    "pe8110": "SK hynix PE8110", "pm9a3": "Samsung PM9A3", "p5520": "Solidigm P5520", "7450-pro": "Micron 7450 PRO",
    "7450-max": "Micron 7450 MAX", "wd-dc": "WD DC", "cm7-r": "Kioxia CM7-R", "pm981a": "Samsung PM981a",
    "p3700": "Intel P3700", "s3700": "Intel S3700", "pm963": "Samsung PM963",
}  # fmt: skip
AIMS = {"within": 80.0, "covered": 90.0}
"""What the shapes ask for [%]."""


class Figured(NamedTuple):
    """A figure of a job that the fit has not seen."""

    drive: str
    job: str
    op: str
    metric: str
    measured: float
    found: Measured
    left_open: float
    kind: str

    @property
    def state(self) -> str:
        """Whether it is known what had been written to the drive."""
        return "known" if self.drive in MODERN else "not known"

    @property
    def missed(self) -> trust.Missed:
        """What it tells of the model (:mod:`ssdlab.devices.trust`)."""
        return trust.Missed(self.drive, self.kind, math.log1p(self.error), self.left_open)

    @property
    def determined(self) -> bool:
        """Whether the sheet and the other jobs say what it is."""
        return self.left_open <= DETERMINED

    @property
    def error(self) -> float:
        """Simulated over measured, minus 1."""
        assert self.found.value is not None
        return self.found.value / self.measured - 1.0

    @property
    def within(self) -> bool:
        """Whether it is as near as claims of single figures ask."""
        return abs(self.error) <= (0.25 if self.metric == "p99" else 0.1)

    @property
    def covered(self) -> bool:
        """Whether what the fit leaves open holds what was measured."""
        return self.is_within(self.left_open)

    def is_within(self, factor: float) -> bool:
        """Whether what was measured is within a factor to either side of what was simulated."""
        return abs(math.log1p(self.error)) <= math.log(factor)


def _halves(tables: Tables) -> Iterator[Figured]:
    """Every figure of the eleven drives, simulated on the drive that has not seen its job [1/s, ns]."""
    folder = Path(__file__).parent / "drives"
    for drive in HALVES:
        jobs = {job.name: job for job in read(folder.parent / "measured" / f"{drive}.csv")}
        for row in csv.DictReader((folder / f"{drive}.csv").read_text(encoding="utf-8").splitlines()):
            rows = tables["halves"].filter(job=f"{drive} {row['job']}").sort("seed")
            values = [float(value) for value in rows[f"host.{row['op']}.{FIGURES[row['metric']]}"].to_list()]
            found = Measured(*mean_and_half_width(values))
            name, op, metric = row["job"], row["op"], row["metric"]
            measured, kind = float(row["measured"]), trust.kind_of(jobs[name], op, metric)
            yield Figured(drive, name, op, metric, measured, found, float(row["left_open"]), kind)


def _held(figures: list[Figured]) -> list[Figured]:
    """The figures that are held by what the fit leaves open together with what the model is wrong by on all other
    drives."""

    def is_held(figure: Figured) -> bool:
        alike = [each for each in figures if (each.state, each.kind) == (figure.state, figure.kind)]
        others = [each.missed for each in alike if each.drive != figure.drive]
        return figure.is_within(trust.together(figure.left_open, trust.of_model(others)))

    return [each for each in figures if is_held(each)]


def of_model(tables: Tables) -> dict[str, dict[str, float]]:
    """What the model is wrong by on the eleven drives, as :data:`ssdlab.devices.trust.OF_MODEL` has it."""
    figures = list(_halves(tables))

    def alike(state: str, kind: str) -> list[trust.Missed]:
        return [each.missed for each in figures if (each.state, each.kind) == (state, kind)]

    found = {state: {kind: alike(state, kind) for kind in trust.KINDS} for state in trust.OF_MODEL}
    return {
        state: {kind: trust.of_model(missed) for kind, missed in kinds.items() if missed}
        for state, kinds in found.items()
    }


def _share(figures: list[Figured], good: list[Figured], aim: str) -> Seen:
    share = 100.0 * len(good) / len(figures)
    return Seen(share >= AIMS[aim], f"{len(good)} of {len(figures)}, {share:.0f} %")


def _within(tables: Tables) -> Seen:
    told = [each for each in _halves(tables) if each.determined]
    return _share(told, [each for each in told if each.within], "within")


def _covered(tables: Tables) -> Seen:
    all_of_them = list(_halves(tables))
    return _share(all_of_them, _held(all_of_them), "covered")


SHAPES: dict[str, Look] = {"products.shape.halves.within": _within, "products.shape.halves.covered": _covered}


def _halves_table(tables: Tables) -> str:
    lines = [
        "| drive | job | figure | measured | simulated | error | left open, to either side | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in _halves(tables):
        assert each.found.value is not None
        rate = each.metric == "iops"
        scale, unit = (1.0, "") if rate else (1e3, " [us]")
        ci = None if each.found.ci95 is None else each.found.ci95 / scale
        factor = f"x {each.left_open:.2f}" if each.left_open < 100.0 else "anything"
        verdict = ("within" if each.within else "**outside**") if each.determined else "not determined"
        lines.append(
            f"| {HALVES[each.drive]} | {each.job} | {each.op} {each.metric}{unit} "
            f"| {number_text(float(f'{each.measured / scale:.5g}'))} | {with_interval(each.found.value / scale, ci)} "
            f"| {100 * each.error:+.1f} % | {factor} | {verdict} |"
        )
    return "\n".join(lines)


def _waiting(tables: Tables) -> str:
    """Reads beside writes, where they wait for programs and erases and where these make way."""
    lines = [
        "| drive | read | measured [us] | reads wait | error | programs and erases make way | error |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in _halves(tables):
        if each.job != "mix-4k" or each.op != "read":
            continue
        cells = []
        for more in (", waiting", ""):
            rows = tables["halves"].filter(job=f"{each.drive} {each.job}{more}").sort("seed")
            values = [float(value) / 1e3 for value in rows[f"host.read.{FIGURES[each.metric]}"].to_list()]
            mean, ci = mean_and_half_width(values)
            assert mean is not None, "Invariant: there is one seed at least"
            cells += [with_interval(mean, ci), f"{100 * (1e3 * mean / each.measured - 1):+.0f} %"]
        measured = number_text(float(f"{each.measured / 1e3:.5g}"))
        lines.append(f"| {HALVES[each.drive]} | {each.metric} | {measured} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _by_drive(tables: Tables) -> str:
    """How many figures of each drive are determined, within range, and covered: by the fit alone, and with the model's
    own error."""
    heads = "drive", "figures", "determined", "within", "covered by the fit", "with the model"
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    figures = list(_halves(tables))
    held = _held(figures)

    def line(name: str, part: list[Figured]) -> str:
        told = [each for each in part if each.determined]
        covered = (sum(each.covered for each in part), sum(each in held for each in part))
        counts = (len(part), len(told), sum(each.within for each in told), *covered)
        return f"| {name} | {' | '.join(map(str, counts))} |"

    lines += [line(name, [each for each in figures if each.drive == drive]) for drive, name in HALVES.items()]
    return "\n".join([*lines, line("all", figures)])


MODERN = ("pe8110", "pm9a3", "p5520", "7450-pro", "7450-max", "wd-dc", "cm7-r")
"""The data-center drives, which have facts/datacenter.toml in common."""
SEEN = ("pe8110", "p5520", "7450-pro")
"""Those whose reads facts/datacenter.toml has seen."""


def _wrong(tables: Tables) -> str:
    """What the model is wrong by, by kind of figure."""
    counts = Counter((each.state, each.kind) for each in _halves(tables))
    lines = ["| what was written before is | figures | number | wrong by, to either side |", "|---|---|---|---|"]
    for state, kinds in of_model(tables).items():
        lines += [f"| {state} | {kind} | {counts[state, kind]} | x {factor:.2f} |" for kind, factor in kinds.items()]
    return "\n".join(lines)


def _trusted(tables: Tables) -> str:
    """How far what is predicted lies from what was measured, by kind of figure: the factor within which so many of the
    figures lie, whether they are determined or not."""
    import numpy

    figures = list(_halves(tables))
    kinds: tuple[tuple[str, Callable[[Figured], bool]], ...] = (
        ("steady random writes", lambda each: each.job.startswith("steady")),
        ("reads beside writes: mean, p50", lambda each: each.op == "read" and each.metric in ("mean", "p50")),
        ("reads beside writes: p99", lambda each: each.op == "read" and each.metric == "p99"),
        ("writes beside reads", lambda each: each.op == "write" and not each.job.startswith("steady")),
    )
    of_all: tuple[tuple[str, Callable[[Figured], bool]], ...] = (
        ("reads", lambda each: each.op == "read"),
        ("writes", lambda each: each.op == "write"),
    )
    groups = (
        ("three data-center drives, seen in part", [each for each in figures if each.drive in SEEN], kinds),
        ("four others", [each for each in figures if each.drive in set(MODERN) - set(SEEN)], kinds),
        ("client and older drives", [each for each in figures if each.drive not in MODERN], of_all),
    )
    lines = ["| drives | figures | number | half of them within | 90 % within |", "|---|---|---|---|---|"]
    for drives, part, rows in groups:
        for name, belongs in rows:
            factors = [math.exp(abs(math.log1p(each.error))) for each in part if belongs(each)]
            half, most = numpy.quantile(factors, [0.5, 0.9])
            lines.append(f"| {drives} | {name} | {len(factors)} | x {half:.2f} | x {most:.2f} |")
    return "\n".join(lines)


def findings(tables: Tables) -> dict[str, str]:
    """Every figure: measured, under the fit that has not seen its job, and under the fit to all."""
    lines = [
        "| drive | job | figure | measured | not seen | error | not determined | fitted | error |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for _, drive, job, metric, published in _claims():
        cells = []
        for fit in ("not seen", "fitted"):
            found = measured(tables, drive, job, metric, fit)
            assert found.value is not None
            cells += [with_interval(found.value, found.ci95), f"{100 * (found.value / published - 1):+.1f} %"]
            if fit == "not seen":
                cells.append(_open_text(found.value, left_open(drive, job, metric)))
        name = metric if metric == "iops" else f"{metric} [us]"
        shown = number_text(float(f"{published:.5g}"))
        lines.append(f"| {DRIVES[drive]} | {job} | {name} | {shown} | {' | '.join(cells)} |")
    halves = {
        "drives": _by_drive(tables),
        "halves": _halves_table(tables),
        "waiting": _waiting(tables),
        "trusted": _trusted(tables),
        "wrong": _wrong(tables),
    }
    return {"jobs": "\n".join(lines), **halves}


def figures(tables: Tables) -> dict[str, Figure]:
    """jobs: errors of every figure, under the fit that has not seen it and under the fit to all."""
    names = [f"{DRIVES[drive]}: {job} {metric}" for _, drive, job, metric, _ in _claims()]
    figure = blank(8, 7.5)
    axes = figure.subplots()
    kinds = (
        ("not seen", True, "its job not seen", "C0", "C0"),
        ("not seen", False, "its job not seen, and not determined by the others", "C0", "white"),
        ("fitted", None, "fitted to all", "C1", "C1"),
    )
    for fit, told, label, color, face in kinds:
        rows = []
        for place, (_, drive, job, metric, published) in enumerate(_claims()):
            found = measured(tables, drive, job, metric, fit)
            determined = left_open(drive, job, metric) <= DETERMINED
            if found.value is not None and told in (None, determined):
                rows.append((found.value / published, place, (found.ci95 or 0.0) / published))
        offset = 0.15 if fit == "fitted" else -0.15
        axes.errorbar(
            [row[0] for row in rows],
            [row[1] + offset for row in rows],
            xerr=[row[2] for row in rows],
            fmt="o",
            markersize=4,
            label=label,
            color=color,
            markerfacecolor=face,
        )
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.axvspan(0.9, 1.1, color="grey", alpha=0.2)
    axes.set_xscale("log")
    axes.set_xticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"])
    axes.minorticks_off()
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("simulated over measured (grey: 10 %)")
    figure.legend(loc="outside lower center", ncols=3)
    return {"jobs": figure}
