"""Program and erase suspension: what is measured of each claim, and the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

import ssdlab
from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.show import papers, plot
from ssdlab.study.claims import Lever, Measured, Tables, by_construction, fitted, key, measures, off, predicted
from ssdlab.study.folder import number, study
from ssdlab.study.shapes import Look, Seen, listed
from ssdlab.sweeps.comparison import compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHIPS = {"slc": "fast12-slc", "mlc": "fast12-mlc"}
# Table 1 [us].
READ = {"slc": 10, "mlc": 25}
BUS = {"slc": 20, "mlc": 40}
PULSE, VERIFY = 20, {"slc": 8, "mlc": 24}
LOOPS = {"slc": 5, "mlc": 15}
ERASE = {"slc": 1500, "mlc": 3300}
PAGE = {"slc": 2048, "mlc": 4096}

# Latencies of reads and writes under FIFO [ms].
TABLE2 = {
    "slc": {
        "F1": (0.37, 0.87),
        "F2": (0.24, 0.57),
        "DAP": (1.92, 6.85),
        "MSN": (4.13, 4.58),
        "C3": (0.25, 2.85),
        "C8": (0.44, 2.33),
    },
    "mlc": {
        "F1": (0.44, 1.58),
        "F2": (0.27, 1.03),
        "DAP": (5.74, 11.74),
        "MSN": (8.47, 25.21),
        "C3": (0.52, 6.30),
        "C8": (0.56, 4.54),
    },
}

BRIEF = {
    # Without the load's warm-up of the FTL, which takes far longer than these runs.
    "runs": {"requests": 800, "age.staggered": "false", "seed": [1]},
    "queue": {"requests": 3000, "device": ["fast12-slc"], "schedule.write_queue": ["16", "512"], "seed": [1]},
    "": {"STRIDE": 20},
}
"""For the levers of what is predicted: ssdlab.study.levers."""
STRIDE = 1
"""How much further apart the reads of ``meetings`` come."""

BY_CLAIM = (
    ("rps", "rps", "fifo", "read_us", -1),
    ("pe0", "pe0", "fifo", "read_us", -1),
    ("ipc_rps", "pes-ipc", "rps", "read_us", -1),
    ("ipc_fifo", "pes-ipc", "fifo", "read_us", -1),
    ("ips_ipc", "pes-ips", "pes-ipc", "read_us", 1),
    ("write.rps", "rps", "fifo", "write_us", 1),
    ("write.ips", "pes-ips", "fifo", "write_us", 1),
    ("write.ipc", "pes-ipc", "fifo", "write_us", 1),
    ("suspended", "pes-ipc", "", "flash.suspend.share", 1),
    ("overhead", "pes-ipc", "", "flash.suspend.overhead", 1),
)
"""Claims that one trace measures: name, scheme, the one that it is compared with, value, and which way it counts."""

FILL = RELOCATIONS = PARTS = GAP = ""
"""The point of ``space`` that is measured (open.toml); none: ``runs``, the chosen point at full length."""

TABLES = {"meetings": lambda progress: _meetings(CHIPS), "real": lambda progress: _real()}
QUICK = {"meetings": lambda progress: _meetings({"slc": CHIPS["slc"]})}
"""In CI some rows only."""
NEEDS = {"real": "traces/msn_fs.ascii.gz"}
"""A part of the trace of MSN's file server, the volume family of the paper's MSN (SNIA IOTTA)."""


def _meetings(chips: Mapping[str, str]) -> pl.DataFrame:
    """A read that meets a lone program `offset_ns` after its beginning: how long it waits, and how much longer the
    program takes beyond the read: chip, policy, offset_ns, wait_ns, added_ns."""
    rows = []
    for chip, device in chips.items():
        total = (PULSE + VERIFY[chip]) * LOOPS[chip] * 1000
        for policy in ("inter-phase", "intra-phase"):
            settings = {
                "schedule.order": "read-first",
                "schedule.suspend_program": policy,
                "buffer.mode": "write-through",
            }
            alone = _play(device, chip, settings, None)[1]
            idle = _play(device, chip, settings, 10 * alone)[0]
            for offset in range(0, total, STRIDE * (503 if chip == "slc" else 1009)):
                read, write = _play(device, chip, settings, alone - total + offset)
                wait = read - idle
                # From the suspension to the resumption: the sense, and the page's way over the bus.
                served = (READ[chip] + BUS[chip]) * 1000
                rows.append((chip, policy, offset, wait, max(0, write - alone - served)))
        # With blocks erased when they are opened, the write erases first.
        settings = {"schedule.order": "read-first", "schedule.suspend_erase": "reset-and-resume"}
        settings |= {"buffer.mode": "write-through", "ftl.erase_when": "opened"}
        alone = _play(device, chip, settings, None)[1]
        idle = _play(device, chip, settings, 10 * alone)[0]
        begins = alone - total - (BUS[chip] + ERASE[chip] + VERIFY[chip]) * 1000
        verify = range(ERASE[chip] * 1000, (ERASE[chip] + VERIFY[chip]) * 1000, STRIDE * 503)
        for offset in (*range(0, ERASE[chip] * 1000, STRIDE * 49_999), *verify):
            read, write = _play(device, chip, settings, begins + offset)
            rows.append((chip, "erase", offset, read - idle, max(0, write - alone - (READ[chip] + BUS[chip]) * 1000)))
    return pl.DataFrame(rows, schema=["chip", "policy", "offset_ns", "wait_ns", "added_ns"], orient="row")


def _play(device: str, chip: str, settings: dict[str, str], at: int | None) -> tuple[int, int]:
    """Latencies [ns] of a read that comes at a time, and of a write that comes at 0, of two pages of one chip."""
    drive = ssdlab.Device(device, settings=settings)
    write = drive.submit(0, "write", offset=0, bytes=PAGE[chip])
    # Pages go over the 16 chips first.
    read = None if at is None else drive.submit(at, "read", offset=64 * PAGE[chip], bytes=PAGE[chip])
    done = {each.request: each.finish_ns for each in drive.advance(1_000_000_000)}
    return (0 if read is None or at is None else done[read] - at), done[write]


COMPRESSED = {"slc": "timed:x6.3", "mlc": "timed:x3.2"}
"""So much faster the drive is idle for 70 % of the time under FIFO (section 3.1)."""


def _real(schemes: Sequence[str] = ("fifo", "rps", "pe0", "pes-ips", "pes-ipc")) -> pl.DataFrame:
    """The real trace under the schemes, in the setting of ``runs``: chip, scheme, read_us, write_us, idle, suspended
    and overhead (in %), erases."""
    import tomllib

    run = tomllib.loads((Path(__file__).parent / "runs.toml").read_text(encoding="utf-8"))["run"]
    settings = {key: value for key, value in run.items() if "." in key}
    rows = []
    for chip, device in CHIPS.items():
        for scheme in schemes:
            result = ssdlab.run(
                device,
                NEEDS["real"],
                scheme=scheme,
                replay=COMPRESSED[chip],
                precondition=run["precondition"],
                settings=settings,
            )
            host, suspend = result.host, result.flash.suspend
            times = [round(number(of.latency_ns.mean) / 1000, 1) for of in (host.read, host.write)]
            shares = (100.0 - result.usage.host, suspend.share, suspend.overhead)
            rounded = [None if share is None else round(share, 2) for share in shares]
            rows.append((chip, scheme, *times, *rounded, float(result.flash.erases)))
    columns = ["chip", "scheme", "read_us", "write_us", "idle", "suspended", "overhead", "erases"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def findings(tables: Tables) -> dict[str, str]:
    """The table of README.md that a trace of MSN's own makes, as Markdown."""
    return {"real": _by_claim(tables)}


def _by_claim(tables: Tables) -> str:
    """What the claims of schemes come to on the real trace and on the synthetic MSN, beside the published means."""
    claims = {claim.id: claim.published for claim in study("fast12").claims}
    real = tables["real"].rename({"suspended": "flash.suspend.share", "overhead": "flash.suspend.overhead"})
    twin = _runs(tables).filter(workload="MSN").rename({READS: "read_us", WRITES: "write_us"})
    names = {device: chip for chip, device in CHIPS.items()}
    twin = twin.with_columns(chip=pl.col("device").replace_strict(names))
    lines = ["| claim | paper, mean of six | synthetic MSN | real trace | difference |", "|---|--:|--:|--:|--:|"]
    for name, scheme, over, value, sign in BY_CLAIM:
        for chip in CHIPS:
            made, seen = (_change(of.filter(chip=chip), scheme, over, value, sign) for of in (twin, real))
            id = f"pes.{name}.{chip}"
            numbers = [f"{number:.3g}" for number in (claims[id], made, seen)]
            lines.append(f"| `{id}` | {' | '.join(numbers)} | {seen - made:+.3g} |")
    return "\n".join(lines)


def _change(of: pl.DataFrame, scheme: str, over: str, value: str, sign: int) -> float:
    """How much larger (or smaller, where ``sign`` is negative) a value is under one scheme than under another [%]; a
    value that is a share already as it is. Means over seeds."""
    if not over:
        return number(of.filter(scheme=scheme)[value].mean())
    return (
        sign * 100 * (number(of.filter(scheme=scheme)[value].mean()) / number(of.filter(scheme=over)[value].mean()) - 1)
    )


def _runs(tables: Tables) -> pl.DataFrame:
    """The six twins on both chips under the schemes, with axes ``workload`` and ``device`` in place of ``load``."""
    table = tables["space" if FILL else "runs"]
    if FILL:
        point = f" fill={FILL} relocations={RELOCATIONS} parts={PARTS} gap={GAP}"
        table = table.filter(pl.col("load").str.ends_with(point))
    words = pl.col("load").str.split(" ").list
    trace, device = words.get(0).alias("workload"), pl.lit("fast12-") + words.get(1)
    return table.select(trace, device.alias("device"), pl.exclude("load"))


def _ratio(tables: Tables, metric: str, chip: str, scheme: str, over: str) -> dict[str, list[float]]:
    """Ratios by workload, seed by seed."""
    runs = _runs(tables).filter(pl.col("device") == CHIPS[chip])
    both = runs.filter(pl.col("scheme") == scheme).join(
        runs.filter(pl.col("scheme") == over), on=["workload", "seed"], suffix="_over"
    )
    found: dict[str, list[float]] = {}
    for row in both.sort("workload", "seed").iter_rows(named=True):
        found.setdefault(row["workload"], []).append(row[metric] / row[f"{metric}_over"])
    return found


def _mean(ratios: dict[str, list[float]]) -> tuple[float | None, float | None]:
    """The mean over workloads, seed by seed, with its interval."""
    return mean_and_half_width([sum(seed) / len(seed) for seed in zip(*ratios.values(), strict=True)])


READS, WRITES = "host.read.latency_ns.mean", "host.write.latency_ns.mean"


def _reduction(tables: Tables, chip: str, scheme: str, over: str) -> Measured:
    mean, width = _mean(_ratio(tables, READS, chip, scheme, over))
    return Measured(None if mean is None else 100 * (1 - mean), None if width is None else 100 * width)


def _increase(tables: Tables, metric: str, chip: str, scheme: str, over: str, worst: bool = False) -> Measured:
    ratios = _ratio(tables, metric, chip, scheme, over)
    if worst:
        means = {name: mean_and_half_width(of) for name, of in ratios.items()}
        name = max(means, key=lambda name: means[name][0] or 0.0)
        mean, width = means[name]
        return Measured(100 * ((mean or 1.0) - 1), None if width is None else 100 * width, f"on {name}")
    mean, width = _mean(ratios)
    return Measured(None if mean is None else 100 * (mean - 1), None if width is None else 100 * width)


def _no(policy: str) -> Lever:
    """Suspension of programs or erases off."""
    return key(f"schedule.suspend_{policy}", "none")


@measures(
    {
        "pes.ips.extra.slc pes.ips.extra.mlc": predicted(_no("program"), key("chip.t_program_verify")),
        "pes.ips.points.slc pes.ips.points.mlc": predicted(_no("program")),
        "pes.ips.resume pes.ipc.program.done": predicted(key("chip.t_buffer")),
        "pes.ipc.extra.max": predicted(_no("program"), key("chip.t_voltage_reset")),
        "pes.ipc.verify.slc pes.ipc.verify.mlc": predicted(_no("program"), key("chip.t_buffer")),
        "pes.ipc.program.slc pes.ipc.program.mlc": predicted(_no("program"), key("chip.t_buffer")),
        "pes.erase.resume": predicted(_no("erase"), key("chip.t_voltage_reset")),
        "pes.erase.verify.slc pes.erase.verify.mlc": predicted(_no("erase"), key("chip.t_erase_verify")),
    }
)
def _mechanisms(tables: Tables) -> dict[str, Measured]:
    meetings = tables["meetings"]

    def of(chip: str, policy: str) -> pl.DataFrame:
        cycle = (PULSE + VERIFY[chip]) * 1000
        rows = meetings.filter(pl.col("chip") == chip, pl.col("policy") == policy)
        # The last phase ends the program: nothing is suspended there.
        return rows.with_columns(within=pl.col("offset_ns") % cycle).filter(
            pl.col("offset_ns") < cycle * (LOOPS[chip] - 1)
        )

    found: dict[str, Measured] = {}
    for chip in CHIPS:
        ips, ipc = of(chip, "inter-phase"), of(chip, "intra-phase")
        verify = ipc.filter(pl.col("within") >= PULSE * 1000)
        pulse = ipc.filter(pl.col("within") < PULSE * 1000)
        found |= {
            f"pes.ips.extra.{chip}": Measured(number(ips["wait_ns"].mean()) / 1e3),
            # The last loop, which `of` leaves out, has two points like every other; the second is the program's end.
            f"pes.ips.points.{chip}": Measured((ips["offset_ns"] + ips["wait_ns"]).n_unique() + 2),
            f"pes.ipc.verify.{chip}": Measured(number(verify["added_ns"].max()) / 1e3),
            f"pes.ipc.program.{chip}": Measured(number(pulse["added_ns"].max()) / 1e3),
        }
        erase = meetings.filter(pl.col("chip") == chip, pl.col("policy") == "erase")
        again = erase.filter(pl.col("offset_ns") >= ERASE[chip] * 1000)
        found[f"pes.erase.verify.{chip}"] = Measured(number(again["added_ns"].max()) / 1e3)
    pulse = meetings.filter(pl.col("policy") == "erase", pl.col("offset_ns") < 1_000_000)
    found["pes.erase.resume"] = Measured(number(pulse["added_ns"].max()) / 1e3, note="reset and set again")
    both = meetings.filter(pl.col("policy") == "intra-phase")
    slc = of("slc", "inter-phase")
    # A program phase whose voltages are being reset has reached its V_th.
    done = of("slc", "intra-phase").filter(pl.col("within").is_between(16_001, 19_999))
    return found | {
        "pes.ipc.extra.max": Measured(number(both["wait_ns"].max()) / 1e3),
        "pes.ips.resume": Measured(number(slc["added_ns"].max()) / 1e3),
        "pes.ipc.program.done": Measured(number(done["added_ns"].max()) / 1e3),
    }


@measures({"pes.device.table1": by_construction("the presets read back")})
def _table1(tables: Tables) -> dict[str, Measured]:
    """Entries of Table 1 that the presets reproduce."""
    config = {
        chip: ssdlab.run(device, "random-read-8k", requests=1).manifest.device.config for chip, device in CHIPS.items()
    }
    right = 0
    for chip, of in config.items():
        pulse, verify = of.chip.t_program_pulse, of.chip.t_program_verify
        loops = of.chip.program_loops
        right += of.bus.t_dma == f"{BUS[chip]}us"
        right += of.chip.t_read == f"{READ[chip]}us"
        right += (loops, pulse, verify) == (LOOPS[chip], f"{PULSE}us", f"{VERIFY[chip]}us")
        # T_w_total, T_w_cycle, T_w_program and T_verify follow from those three.
        right += 4 * ((PULSE + VERIFY[chip]) * LOOPS[chip] == {"slc": 140, "mlc": 660}[chip])
        right += of.chip.t_erase_pulse in (f"{ERASE[chip]}us", f"{ERASE[chip] / 1000}ms")
    right += all(of.chip.t_voltage_reset == "4us" for of in config.values())
    right += all(of.chip.t_buffer == "3us" for of in config.values())
    return {"pes.device.table1": Measured(right)}


def _queue(tables: Tables) -> pl.DataFrame:
    """Write latency over FIFO's with F2 seven times as fast: device, scheme, limit, seed, ratio."""
    runs = tables["queue"].rename({"schedule.write_queue": "limit"})
    both = runs.join(runs.filter(pl.col("scheme") == "fifo"), on=["device", "limit", "seed"], suffix="_fifo")
    return both.select("device", "scheme", "limit", "seed", ratio=pl.col(WRITES) / pl.col(f"{WRITES}_fifo"))


@measures(
    {"pes.queue.range": by_construction("accepts 0 to 1000; it moves by less than a hundredth of that without RPS")}
)
def _queue_range(tables: Tables) -> dict[str, Measured]:
    ratios = _queue(tables).filter(pl.col("device") == CHIPS["slc"], pl.col("scheme") == "rps")
    ends = (ratios.filter(pl.col("limit") == limit).sort("seed")["ratio"].to_list() for limit in (512, 16))
    mean, width = mean_and_half_width([100 * (most - least) for most, least in zip(*ends, strict=True)])
    return {"pes.queue.range": Measured(mean, width, "SLC; at this rate the drive is never idle")}


def _each(names: str) -> str:
    """The claims of both chips."""
    return " ".join(f"pes.{name.replace('*', chip)}" for name in names.split() for chip in CHIPS)


@measures(
    {
        _each("rps.* write.rps.* write.rps.*.max"): predicted(off("rps", "fifo")),
        _each("pe0.*"): predicted(off("pe0", "fifo")),
        _each("ipc_rps.* ipc_fifo.* suspended.* overhead.*"): predicted(off("pes-ipc", "rps")),
        _each("write.ipc.* write.ipc.*.max"): predicted(off("pes-ipc", "rps")),
        _each("ips_ipc.* ips_ipc.*.max"): predicted(off("pes-ips", "pes-ipc")),
        _each("write.ips.*"): predicted(off("pes-ips", "rps")),
        "pes.ips_ipc.order": predicted(off("pes-ips", "pes-ipc")),
        "pes.ipc_vs_pe0": predicted(off("pes-ipc", "rps")),
        "pes.rps_over_pe0": predicted(off("pe0", "rps")),
    }
)
def _schemes(tables: Tables) -> dict[str, Measured]:
    """What the schemes do."""
    runs = _runs(tables)
    found: dict[str, Measured] = {}
    for chip in CHIPS:
        suspended = runs.filter(pl.col("device") == CHIPS[chip], pl.col("scheme") == "pes-ipc")
        found |= {
            f"pes.rps.{chip}": _reduction(tables, chip, "rps", "fifo"),
            f"pes.pe0.{chip}": _reduction(tables, chip, "pe0", "fifo"),
            f"pes.ipc_rps.{chip}": _reduction(tables, chip, "pes-ipc", "rps"),
            f"pes.ipc_fifo.{chip}": _reduction(tables, chip, "pes-ipc", "fifo"),
            f"pes.ips_ipc.{chip}": _increase(tables, READS, chip, "pes-ips", "pes-ipc"),
            f"pes.ips_ipc.{chip}.max": _increase(tables, READS, chip, "pes-ips", "pes-ipc", worst=True),
            f"pes.write.rps.{chip}": _increase(tables, WRITES, chip, "rps", "fifo"),
            f"pes.write.rps.{chip}.max": _increase(tables, WRITES, chip, "rps", "fifo", worst=True),
            f"pes.write.ips.{chip}": _increase(tables, WRITES, chip, "pes-ips", "fifo"),
            f"pes.write.ipc.{chip}": _increase(tables, WRITES, chip, "pes-ipc", "fifo"),
            f"pes.write.ipc.{chip}.max": _increase(tables, WRITES, chip, "pes-ipc", "fifo", worst=True),
            f"pes.suspended.{chip}": Measured(number(suspended["flash.suspend.share"].mean())),
            f"pes.overhead.{chip}": Measured(
                # Nothing where nothing was suspended.
                None
                if suspended["flash.suspend.overhead"].is_null().all()
                else number(suspended["flash.suspend.overhead"].mean())
            ),
        }
    over = [_increase(tables, READS, chip, "pes-ipc", "pe0").value or 0.0 for chip in CHIPS]
    ideal = [_mean(_ratio(tables, READS, chip, "rps", "pe0"))[0] or 0.0 for chip in CHIPS]
    loses = {chip: _ratio(tables, READS, chip, "pes-ips", "pes-ipc") for chip in CHIPS}
    order = sum(sum(loses["slc"][name]) > sum(loses["mlc"][name]) for name in loses["slc"])
    return found | {
        "pes.ipc_vs_pe0": Measured(max(over)),
        "pes.rps_over_pe0": Measured(sum(ideal) / 2),
        "pes.ips_ipc.order": Measured(order),
    }


@measures(
    {
        f"pes.idle {_each('fifo.read.* fifo.write.*')}": fitted(
            "studies/fast12/runs.toml", "axes.load.*.workload?rate_iops", "axes.load.*.workload?arrivals"
        ),
    }
)
def _table2(tables: Tables) -> dict[str, Measured]:
    """What the twins were fitted to."""
    runs = _runs(tables)
    pairs = runs.filter(pl.col("scheme") == "fifo").group_by("workload", "device")
    each = [number(idle) for idle in pairs.agg(idle=100.0 - pl.col("usage.host").mean())["idle"]]
    note = f"under FIFO, mean of {len(each)} pairs of trace and chip: {min(each):.0f} to {max(each):.0f}"
    found = {"pes.idle": Measured(sum(each) / len(each), note=note)}
    for chip, table in TABLE2.items():
        fifo = runs.filter(pl.col("device") == CHIPS[chip], pl.col("scheme") == "fifo")
        for place, (kind, metric) in enumerate((("read", READS), ("write", WRITES))):
            factors = []
            for name, row in table.items():
                factor = number(fifo.filter(pl.col("workload") == name)[metric].mean()) / 1e6 / row[place]
                factors.append((max(factor, 1 / factor), name))
            worst = max(factors)
            found[f"pes.fifo.{kind}.{chip}"] = Measured(worst[0], note=f"on {worst[1]}; the twins are not the traces")
    return found


def figures(tables: Tables) -> dict[str, Figure]:
    """The paper's figures, and tails on TLC."""
    read_marks = {"rps": (100 - 44.6, 100 - 48.3), "pe0": (100 - 71.7, 100 - 75.6)}
    over_rps = {"pes-ipc": (100 - 48.9, 100 - 50.5)}
    ips = {"pes-ips": (108.0, 102.7)}
    writes = {"rps": (102.3, 101.2), "pes-ips": (103.6, 101.9), "pes-ipc": (103.6, 102.0)}
    return {
        "fig1": _ratios(tables, READS, ("fifo", "rps", "per", "pe0"), read_marks, (0, 110)),
        "fig2": _ratios(tables, READS, ("rps", "per", "pe0", "pes-ipc"), over_rps, (0, 110)),
        "fig3": _ratios(tables, READS, ("pes-ipc", "pes-ips"), ips, (90, 115)),
        "fig4": _ratios(tables, WRITES, ("fifo", "rps", "pes-ips", "pes-ipc"), writes, (90, 110)),
        "fig5": _by_workload(tables, "flash.suspend.overhead", "time added to\nsuspended operations [%]", (10.2, 7.8)),
        "fig6": _by_workload(tables, "flash.suspend.share", "programs and erases\nsuspended [%]", (4.9, 7.4)),
        "fig7": _limits(tables),
        "tlc_tails": _tails(tables),
    }


def _ratios(
    tables: Tables,
    metric: str,
    schemes: tuple[str, ...],
    published: dict[str, tuple[float, float]],
    limits: tuple[float, float],
) -> Figure:
    """Latencies over the first scheme's by trace, SLC on the left and MLC on the right; published are means [%]."""
    figure = blank(10, 3.2)
    panels = figure.subplots(1, 2, sharey=True)
    for at, (axes, (chip, device)) in enumerate(zip(panels, CHIPS.items(), strict=True)):
        of = _runs(tables).filter(pl.col("device") == device, pl.col("scheme").is_in(schemes))
        rows = compare(of, metric, baseline=schemes[0]).rows
        traces = [row for row in rows if row in of["workload"].to_list()]
        bars, errors = {}, {}
        for scheme in schemes:
            ratios = [rows[row][scheme].ratio for row in traces]
            heights = [100 * number(ratio.mean) for ratio in ratios]
            bars[scheme] = [*heights, sum(heights) / len(heights)]
            errors[scheme] = [*(100 * (ratio.half_width or 0.0) for ratio in ratios), 0.0]
        marks = {(scheme, "mean"): values[at] for scheme, values in published.items()}
        papers.groups(axes, [*traces, "mean"], bars, marks, errors)
        axes.axvline(len(traces) - 0.5, color=plot.INK, lw=0.6, ls=":")
        axes.set_title(chip.upper(), fontsize="medium")
    of_what = "read" if metric == READS else "write"
    panels[0].set_ylabel(f"mean {of_what} latency\n[% of {papers.NAMES[schemes[0]]}'s]")
    panels[0].set_ylim(*limits)
    papers.legend(figure, panels[0])
    return figure


def _by_workload(tables: Tables, metric: str, label: str, published: tuple[float, float]) -> Figure:
    """A statistic of PES_IPC by trace; published are the means of SLC and MLC."""
    figure = blank(7.6, 3.2)
    axes = figure.subplots()
    bars: dict[str, list[float]] = {}
    for chip, device in CHIPS.items():
        of = _runs(tables).filter(pl.col("device") == device, pl.col("scheme") == "pes-ipc")
        means = of.group_by("workload", maintain_order=True).agg(pl.col(metric).mean())
        values = [number(value) for value in means[metric]]
        bars[chip.upper()] = [*values, sum(values) / len(values)]
        traces = means["workload"].to_list()
    marks = {(chip.upper(), "mean"): value for chip, value in zip(CHIPS, published, strict=True)}
    papers.groups(axes, [*traces, "mean"], bars, marks)
    axes.set_ylabel(label)
    papers.legend(figure, axes)
    return figure


def _limits(tables: Tables) -> Figure:
    figure = blank(7.6, 3.2)
    of = _queue(tables).group_by("device", "scheme", "limit").agg(pl.col("ratio").mean()).sort("limit")
    for axes, (chip, device) in zip(figure.subplots(1, 2, sharey=True), CHIPS.items(), strict=True):
        for scheme in ("rps", "pes-ipc"):
            line = of.filter(pl.col("device") == device, pl.col("scheme") == scheme)
            axes.plot(line["limit"], line["ratio"], marker="o", label=papers.NAMES[scheme])
        axes.set_xscale("log", base=2)
        axes.set_xlabel("maximum write queue [pages]")
        axes.set_xticks([16, 32, 64, 128, 256, 512], ["16", "32", "64", "128", "256", "512"])
        axes.grid(alpha=0.3)
        axes.set_ylabel("write latency over FIFO's")
        axes.set_title(chip.upper())
        axes.legend()
    return figure


def _tails(tables: Tables) -> Figure:
    """Read latency by percentile, without and with suspension, by the loops of an erase."""
    figure = blank(9.6, 3.4)
    shares = {"mean": "mean", "p99": "p99", "p99.9": "p99_9", "p99.99": "p99_99"}
    runs = tables["tlc"]
    loops = sorted(runs["chip.erase_loops"].unique())
    for axes, count in zip(figure.subplots(1, len(loops), sharey=True), loops, strict=True):
        of = runs.filter(pl.col("chip.erase_loops") == count)
        for name in of["suspension"].unique(maintain_order=True):
            values = of.filter(pl.col("suspension") == name)
            means = [number(values[f"host.read.latency_ns.{key}"].mean()) / 1e6 for key in shares.values()]
            axes.plot(list(shares), means, marker="o", label=name)
        axes.set_yscale("log")
        axes.set_title(f"erase of {count} loop{'s' if count > 1 else ''}")
    figure.axes[0].set_ylabel("read latency (ms)")
    figure.axes[-1].legend(fontsize="small")
    return figure


# What the figures show (shapes.toml).

LIMITS = (16, 32, 64, 128, 256, 512)
"""Fig. 7: pages of the write queue."""


def _over_fifo(tables: Tables) -> dict[str, dict[str, list[float]]]:
    """Write latency over FIFO's [%] by chip and scheme, a value for each limit."""
    of = _queue(tables).group_by("device", "scheme", "limit").agg(ratio=100 * pl.col("ratio").mean()).sort("limit")
    return {
        chip: {scheme: of.filter(device=device, scheme=scheme)["ratio"].to_list() for scheme in ("rps", "pes-ipc")}
        for chip, device in CHIPS.items()
    }


def _slower_by_queue(tables: Tables) -> Seen:
    found = {f"{chip} {scheme}": line for chip, of in _over_fifo(tables).items() for scheme, line in of.items()}
    what = "; ".join(f"{name}: {', '.join(f'{value:.0f}' for value in line)}" for name, line in found.items())
    return Seen(all(line[0] < line[-1] for line in found.values()), f"{what} % of FIFO's")


def _constant(tables: Tables) -> Seen:
    added = {
        chip: [ipc - rps for rps, ipc in zip(of["rps"], of["pes-ipc"], strict=True)]
        for chip, of in _over_fifo(tables).items()
    }
    what = "; ".join(f"{chip}: {', '.join(f'{value:.1f}' for value in line)}" for chip, line in added.items())
    return Seen(all(max(line) - min(line) <= 5 for line in added.values()), f"{what} points more than RPS")


def _fastest_reads(tables: Tables) -> Seen:
    found = {
        chip: {
            scheme: 100 * (_mean(_ratio(tables, READS, chip, scheme, "fifo"))[0] or 0.0)
            for scheme in ("pe0", "pes-ipc", "rps")
        }
        for chip in CHIPS
    }
    holds = all(max(of["pe0"], of["pes-ipc"]) < of["rps"] < 100 for of in found.values())
    return Seen(holds, "; ".join(f"{chip}: {listed(of)} % of FIFO's" for chip, of in found.items()))


SHAPES: dict[str, Look] = {
    "pes.shape.queue": _slower_by_queue,
    "pes.shape.queue.constant": _constant,
    "pes.shape.schemes": _fastest_reads,
}
