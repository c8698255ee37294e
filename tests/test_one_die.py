"""The drive equals an independent simulation of one die (`one_die.py`) to the nanosecond, under every scheme."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

import one_die
import ssdlab
from lifecycle import trace
from one_die import Die, Phase, Request, Simulator
from pages import ROOT
from ssdlab import _core
from ssdlab.chip import characterize

PAGES = 12
"""Pages of a block."""
WRITTEN = 120
"""Pages that hold data when the run begins; those behind them are written."""
SENSES = (2, 3, 2)
CUT = 0.4
CASES = 12
"""Workloads that are compared under each scheme."""
NO_RETRIES = ("norr", "ssd-zero")
IDEAL_TIMES: dict[str, int] = {"per": 91_000, "pe0": 0}
"""Programs and erases that take as long as the mean read of the device's file, or no time (fast12 section 3.2)."""
SKIP_LOSS = 0.25

DRIVE: dict[str, Any] = {
    "geometry.channels": 1,
    "geometry.chips": 1,
    "geometry.dies": 1,
    "geometry.planes": 1,
    "geometry.blocks": 40,
    "geometry.pages": PAGES,
    "ftl.over_provisioning": 1.0,
    # A block is erased when it is opened: so programs alone bring erases, without garbage collection.
    "ftl.erase_when": "opened",
    "mapping.table": "ideal",
    "age.fill": 0.5,
    "buffer.mode": "write-through",
    "read.prediction_accuracy": 1.0,
    "chip.senses": list(SENSES),
}
STEPS = "pec,months,steps,pages\n0,0,0,2\n0,0,1,1\n0,0,2,1\n0,0,4,1\n90000,1000,40,1\n"
RPT = f"pec,months,cut\n100000,1200,{CUT}\n"
WORN: dict[str, Any] = {"chip.model": "tlc48", "age.pec": 1000, "age.retention": "3mo"}
"""A virtual chip, for the schemes that ask its cells."""

SCHEMES = {row["name"]: dict(row["choices"]) for row in _core.schemes()}
VIRTUAL = ["pnar2-first"]
"""Rows that ask how many errors a first sense leaves room for, which numbers of failing senses do not say; their times
are tested in crates/ssd/tests/reads/read_retry.rs."""
TOGETHER = {
    "pnar2,suspend-program=intra-phase,suspend-erase=reset-and-resume": {},
    "pnar2,suspend-program=inter-phase,suspend-erase=pulse-boundary": {},
    "rif,suspend-program=intra-phase,suspend-erase=safe-points": {},
    "reo,suspend-erase=pulse-boundary,pipeline=cache-read": {},
    "reo-minus,suspend-erase=reset-and-resume": {},
    "reo,ssr": {},
    "pes-ipc": {"chip.shadow_buffer": False},
    "pes-ips": {"chip.cache_read": True},
    "pnar2": {"chip.cache_read": True},
}
"""Schemes that are used together, and other chips."""


def choices_of(scheme: str) -> dict[str, str]:
    """The choices of rows and of single axes."""
    found: dict[str, str] = {}
    for part in scheme.split(","):
        axis, _, choice = part.partition("=")
        found |= {axis: choice} if choice else SCHEMES[part]
    return found


def times(rng: random.Random) -> tuple[dict[str, int], dict[str, str]]:
    """Random times, by the names of :class:`Die` and as keys. Few events fall together."""
    keys = {
        "t_dma": ("bus.t_dma", 8, 30),
        "t_ecc": ("ecc.t_decode", 5, 40),
        "t_voltage_reset": ("chip.t_voltage_reset", 2, 6),
        "t_buffer": ("chip.t_buffer", 2, 5),
        "t_set": ("chip.t_set", 1, 3),
        "t_rst": ("chip.t_rst", 3, 8),
        "t_pred": ("read.t_pred", 2, 4),
    }
    drawn = {name: rng.randrange(low * 1000, high * 1000) for name, (_, low, high) in keys.items()}
    return drawn, {key: f"{drawn[name]}ns" for name, (key, _, _) in keys.items()}


def programs(rng: random.Random, settings: dict[str, Any], choices: dict[str, str]) -> tuple[Phase, ...]:
    """The phases of a program; DPES's take a tenth longer on a new drive (electronics25 section 7.1)."""
    loops, pulse, verify = rng.choice((3, 5)), rng.randrange(20, 40) * 1000, rng.randrange(10, 25) * 1000
    settings["chip.program_loops"] = loops
    settings["chip.t_program_pulse"] = f"{pulse}ns"
    settings["chip.t_program_verify"] = f"{verify}ns"
    if choices.get("voltage") == "scaled":
        pulse, verify = pulse * 11 // 10, verify * 11 // 10
    return (("pulse", pulse), ("verify", verify)) * loops


def one_phase(time: int) -> tuple[Phase, ...]:
    return (("pulse", time),)


def erases(rng: random.Random, settings: dict[str, Any], choices: dict[str, str], folder: Path) -> tuple[Phase, ...]:
    """The phases of an erase: one pulse, or what the scheme makes of blocks that all need the same number of grains."""
    if "pulse" not in choices:
        pulse, verify = rng.randrange(300_000, 800_000), rng.randrange(50_000, 100_000)
        settings["chip.erase_loops"] = 1
        settings["chip.t_erase_pulse"] = f"{pulse}ns"
        settings["chip.t_erase_verify"] = f"{verify}ns"
        return (("pulse", pulse), ("verify", verify))
    grains = round(rng.uniform(0.5, 33), 3)
    path = folder / "chip.toml"
    path.write_text(chip(grains))
    settings["chip.model"] = str(path)
    if choices["pulse"] == "ispe":
        return one_die.phases(one_die.ispe(grains))
    if choices["pulse"] == "i-ispe":
        return one_die.phases(one_die.i_ispe(grains, SKIP_LOSS))
    column = "t1_ms" if choices["margin"] == "none" else "t2_ms"
    profiled = characterize.ept(characterize.load(path)).to_dicts()
    table = {(row["loops"], row["range"]): round(row[column] * 1e6 / one_die.GRAIN) for row in profiled}
    return one_die.phases(one_die.felp(grains, table))


def chip(grains: float) -> str:
    """A chip whose blocks are all alike, and need this many grains."""
    text = (ROOT / "presets" / "chips" / "tlc48-reo.toml").read_text()
    alike = (
        "fresh_spread",
        "growth_spread",
        "wear_spread",
        "chip",
        "block",
        "layer",
        "wordline",
        "kib",
        "wordline_speed",
    )
    for key, value in {**dict.fromkeys(alike, 0), "fresh": grains, "skip_loss": SKIP_LOSS}.items():
        text, found = re.subn(rf"(?m)^{key} = [\d.]+$", f"{key} = {value}", text)
        assert found == 1, key
    return text


def drawn(
    rng: random.Random, scheme: str, other: dict[str, Any], folder: Path
) -> tuple[Die, dict[str, Any], list[tuple[int, str, int]]]:
    """A die with a scheme, the settings that make the drive equal to it, and requests."""
    choices = choices_of(scheme)
    settings = {**DRIVE, **other}
    for axis in ("suspend_program", "suspend_erase"):
        settings[f"schedule.{axis}"] = choices.get(axis.replace("_", "-"), "none")
    constants, keys = times(rng)
    settings |= keys
    pre, rest = rng.randrange(6, 30) * 1000 + 7, rng.randrange(5_000, 23_000)
    settings |= {"chip.t_pre": f"{pre}ns", "chip.t_eval": "3000ns", "chip.t_disch": f"{rest - 3000}ns"}
    decoders, ecc_buffer = rng.choice((1, 2)), rng.choice((1, 2, 8))
    settings |= {"ecc.decoders": decoders, "ecc.buffer": ecc_buffer}
    (folder / "steps.csv").write_text(STEPS)
    settings["chip.model"] = str(folder / "steps.csv")
    if scheme in NO_RETRIES:
        del settings["chip.model"]
    if choices.get("next") in ("tailored", "syndrome"):
        settings |= WORN
    if choices.get("sensing") == "adaptive":
        (folder / "rpt.csv").write_text(RPT)
        settings["read.rpt"] = str(folder / "rpt.csv")
    if scheme in IDEAL_TIMES:
        program = erase = one_phase(IDEAL_TIMES[scheme])
    else:
        program = programs(rng, settings, choices)
        erase = erases(rng, settings, choices, folder)
    die = Die(
        t_read=tuple(senses * (pre + rest) for senses in SENSES),
        t_reduced=tuple(senses * (pre - round(CUT * pre) + rest) for senses in SENSES),
        t_sense=pre + rest,
        decoders=decoders,
        ecc_buffer=ecc_buffer,
        program=program,
        erases=(erase,),
        pages=PAGES,
        dram=1_280,
        link=4_096,
        shadow_buffer=other.get("chip.shadow_buffer", True),
        cache_read=other.get("chip.cache_read", False),
        order=choices.get("order", "read-first"),
        suspend_program=choices.get("suspend-program", "none"),
        suspend_erase=choices.get("suspend-erase", "none"),
        next=choices.get("next", "table"),
        pipeline=choices.get("pipeline", "off"),
        sensing=choices.get("sensing", "default"),
        predictor=choices.get("predictor", "none"),
        **constants,
    )
    return die, settings, workload(rng)


def workload(rng: random.Random) -> list[tuple[int, str, int]]:
    """Up to forty requests of a page each, sparse or crowded; half of the workloads only read."""
    gap, reads = rng.choice((200, 600, 2000, 8000)), rng.choice((0.6, 1.0))
    requests: list[tuple[int, str, int]] = []
    time, written = 0, WRITTEN
    for _ in range(rng.randrange(5, 40)):
        if rng.random() < reads:
            requests.append((time, "Read", rng.randrange(WRITTEN)))
        else:
            requests.append((time, "Write", written))
            written += 1
        time += rng.randrange(1, gap) * 100
    return requests


def failing(result: ssdlab.Result, scheme: str, settings: dict[str, Any], path: Path, count: int) -> list[int]:
    """How many senses of each request's page fail. Schemes that begin with the default references and walk the table
    need as many as the baseline; those whose second sense is near the optimum as many as an ideal one. Schemes that
    learn where to begin are asked themselves."""
    choices = choices_of(scheme)
    if scheme in NO_RETRIES:
        return [0] * count
    if choices.get("start", "default") == "default":
        second = "table" if choices.get("next", "table") == "table" else "oracle"
        given = {**settings, "read.next": second}
        result = ssdlab.run("asplos21", path, scheme="baseline", settings=given, keep_requests=True)
    return [request.retries for request in result.explain(*range(count))]


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "other"),
    [*((name, {}) for name in SCHEMES if name not in VIRTUAL), *TOGETHER.items()],
    ids=lambda each: str(each).strip("{}"),
)
def test_a_drive_of_one_die_is_the_independent_one(scheme: str, other: dict[str, Any], tmp_path: Path) -> None:
    for seed in range(CASES):
        rng = random.Random(f"{scheme} {other} {seed}")
        die, settings, requests = drawn(rng, scheme, other, tmp_path)
        path = tmp_path / "requests.csv"
        path.write_text(trace(requests))
        result = ssdlab.run("asplos21", path, scheme=scheme, settings=settings, keep_requests=True)
        senses = failing(result, scheme, settings, path, len(requests))
        given = [
            Request(time, op == "Read", page % PAGES, fails)
            for (time, op, page), fails in zip(requests, senses, strict=True)
        ]
        finished = Simulator(die, given).play()
        drive = {row["request"]: row["finish_ns"] for row in result.requests.iter_rows(named=True)}
        assert drive == finished, f"seed {seed}: {die}"
