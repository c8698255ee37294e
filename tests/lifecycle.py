"""What docs/lifecycle.md shows: runs of a few requests, as tables and diagrams, and the constants of the device."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import ssdlab
from pages import ROOT
from ssdlab.runs.explain import Explanation
from timelines import Slice, read

FIRST_MSR_NS = 128_166_372_003_061_629
"""Any Windows filetime will do: a trace begins with its first request."""
PAGE_BYTES = 16_384
T_PRE_CUT = 0.4
"""The share of tPRE that the read-timing parameter table of the page cuts."""


class Span(NamedTuple):
    """Something that a resource does from one time to another [ns]."""

    step: str
    resource: str
    begin: int
    end: int
    about: str
    mark: str
    """Its character in a diagram."""

    def row(self) -> str:
        took = f"{self.end - self.begin:,}"
        return f"| {self.step} | {self.resource} | {self.begin:,} | {self.end:,} | {took} | {self.about} |\n"


HEAD = "| step | resource | from [ns] | to [ns] | took [ns] | |\n|---|---|--:|--:|--:|---|\n"


def table(spans: list[Span]) -> str:
    return HEAD + "".join(span.row() for span in spans)


def diagram(spans: list[Span], rows: list[str], ns: int, until: int, tick: int) -> str:
    """A row for each resource, a column for each ``ns``: the mark of what the resource does in its middle. What
    is too short for any column has the one in which it begins."""
    columns, ticks = -(-until // ns), -(-until // tick)
    axis = "".join(f"{number * tick // 1000}".ljust(tick // ns) for number in range(ticks))
    lines = [f"{'µs':9}{axis.rstrip()}", f"{'':9}{('|' + ' ' * (tick // ns - 1)) * ticks}".rstrip()]
    for row in rows:
        marks = [" "] * columns
        here = [span for span in spans if span.resource == row and span.mark]
        for span in sorted(here, key=lambda span: span.begin - span.end):
            first, end = (span.begin + ns // 2) // ns, (span.end + ns // 2) // ns
            first = first if first < end else span.begin // ns
            for column in range(max(first, 0), min(max(end, first + 1), columns)):
                marks[column] = span.mark
        lines.append(f"{row:9}{''.join(marks)}".rstrip())
    return "```text\n" + "\n".join(lines) + "\n```\n"


def toml(settings: dict[str, Any], files: dict[str, str]) -> str:
    """Settings and files as the page shows them."""
    text = "```toml\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()) + "```\n"
    return text + "".join(f"\n`{name}`:\n\n```text\n{content}```\n" for name, content in files.items())


def trace(requests: list[tuple[int, str, int]]) -> str:
    """A trace in MSR's layout: (time [ns], Read or Write, page), each request one page."""
    rows = ((FIRST_MSR_NS + time // 100, op, page * PAGE_BYTES) for time, op, page in requests)
    return "".join(f"{stamp},drive,0,{op},{offset},{PAGE_BYTES},0\n" for stamp, op, offset in rows)


class Played(NamedTuple):
    """A run of the page: its result, its tracks, the stages of its requests."""

    result: ssdlab.Result
    tracks: dict[str, list[Slice]]
    requests: list[Explanation]

    def track(self, name: str) -> list[Slice]:
        """The slices of the one track with that name."""
        (slices,) = [slices for path, slices in self.tracks.items() if path.endswith(name)]
        return [span for span in slices if span.depth == 0]


def play(scheme: str, requests: list[tuple[int, str, int]], settings: dict[str, Any], files: dict[str, str]) -> Played:
    with TemporaryDirectory() as folder:
        for name, content in {**files, "requests.csv": trace(requests)}.items():
            Path(folder, name).write_text(content)
        paths = {key: str(Path(folder, value)) if value in files else value for key, value in settings.items()}
        workload = Path(folder, "requests.csv")
        result = ssdlab.run("asplos21", workload, scheme=scheme, settings=paths, keep_requests=True)
        result.timeline(Path(folder, "run.pftrace"))
        explained = result.explain(*range(len(requests)))
        return Played(result, read(Path(folder, "run.pftrace")), explained)


def ns(text: object) -> int:
    """A time of a device's file [ns]."""
    number, unit = re.fullmatch(r"([\d.]+)(ns|us|ms)", str(text)).groups()  # type: ignore[union-attr]
    return round(float(number) * {"ns": 1, "us": 1_000, "ms": 1_000_000}[unit])


class Times(NamedTuple):
    """The constants of the device [ns]."""

    senses: list[int]
    t_pre: int
    sense: int
    """One sense: tPRE + tEVAL + tDISCH."""
    t_dma: int
    t_ecc: int
    t_set: int
    t_rst: int
    t_prog: int
    t_bers: int
    dram: int
    link: int

    def t_read(self, page: int) -> int:
        """tR of a page of a block."""
        return self.senses[page % len(self.senses)] * self.sense

    def t_read_reduced(self, page: int) -> int:
        """tR with the tPRE of the read-timing parameter table."""
        return self.senses[page % len(self.senses)] * (self.sense - round(T_PRE_CUT * self.t_pre))

    @property
    def out(self) -> int:
        """A page's way through DRAM and link."""
        return self.dram + self.link


@cache
def times() -> Times:
    """Read from the device's file, not from a run."""
    device = tomllib.loads((ROOT / "presets" / "devices" / "asplos21.toml").read_text())
    chip, host, buffer = device["chip"], device["host"], device["buffer"]
    t_pre = ns(chip["t_pre"])

    def crosses(rate: str) -> int:
        return -(-PAGE_BYTES * 10 // round(10 * float(rate.removesuffix("GB/s"))))

    loops, phases = ("program", "erase"), ("pulse", "verify")
    prog, bers = (chip[f"{of}_loops"] * sum(ns(chip[f"t_{of}_{phase}"]) for phase in phases) for of in loops)
    return Times(
        senses=chip["senses"],
        t_pre=t_pre,
        sense=t_pre + ns(chip["t_eval"]) + ns(chip["t_disch"]),
        t_dma=ns(device["bus"]["t_dma"]),
        t_ecc=ns(device["ecc"]["t_decode"]),
        t_set=ns(chip["t_set"]),
        t_rst=ns(chip["t_rst"]),
        t_prog=prog,
        t_bers=bers,
        dram=crosses(buffer["dram_bandwidth"]),
        link=crosses(host["link_bandwidth"]),
    )
