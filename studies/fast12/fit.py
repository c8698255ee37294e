"""Fits what the twins of the six traces leave open to what the paper states of the traces, and writes ``space.toml``.

For each drive, trace and point of the space: the size of a batch and the rate, to Table 2's latencies of reads and
writes under FIFO and to 70 % of time without a request in the drive (section 3.1). No other number of the paper is
looked at.

    python studies/fast12/fit.py           # about an hour of CPU: 7,800 runs, which share their pasts
    python studies/fast12/fit.py --full    # the chosen point again, on runs as long as those of runs.toml: its loads
"""

from __future__ import annotations

import itertools
import math
import runpy
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ssdlab

STUDY = runpy.run_path(str(Path(__file__).with_name("study.py")))
TABLE2: dict[str, dict[str, tuple[float, float]]] = STUDY["TABLE2"]
IDLE = 70.0
"""Share of time without a request (section 3.1) [%]."""

SIZES = {"F1": 3584, "F2": 2560, "DAP": 65536, "MSN": 10240, "C3": 5120, "C8": 8192}
"""Mean sizes in presets/workloads/fast12.toml [B]."""
PAGE: dict[str, int] = STUDY["PAGE"]
SECTOR = 512
ALIGN = {"F1": "512B", "F2": "512B", "DAP": "4KiB", "MSN": "4KiB", "C3": "1KiB", "C8": "1KiB"}
"""What the traces' own requests are multiples of (assumed, as open.toml says)."""

SPACE = {
    "fill": ("1.0", "0.8"),
    "relocations": ("1", "12"),
    "parts": ("own", "sectors", "pages"),
    "gap": ("0us", "1us", "20us"),
}
"""What open.toml declares, whose reasons it gives."""

START = {
    "slc": {
        "F1": (17, 4500),
        "F2": (35, 17e3),
        "DAP": (15, 1200),
        "MSN": (220, 13e3),
        "C3": (45, 6500),
        "C8": (22, 4200),
    },
    "mlc": {"F1": (5, 1200), "F2": (11, 4000), "DAP": (15, 600), "MSN": (400, 5e3), "C3": (30, 2100), "C8": (14, 1500)},
}
"""Where the search for requests in a batch and requests a second begins (runs.toml's MSN on MLC: at 8,000 a second)."""

CHOSEN = ("1.0", "1", "own", "0us")
BRIEF = {"": 8_000, "DAP": 3_000}
"""Requests of a run, by trace: those of DAP are larger (they were fitted with 8,000, too)."""
FULL = {"": 40_000, "DAP": 15_000, "MSN": 120_000}
"""Requests of a run in runs.toml, by trace: the batches of MSN are large."""
STEPS = 8
"""Of a search."""

Point = tuple[str, ...]


def settings(
    chip: str, trace: str, point: Point, batch: float, rate: float, requests: dict[str, int]
) -> dict[str, float | str]:
    """What a cell of the table sets."""
    fill, relocations, parts, gap = point
    found: dict[str, float | str] = {"device": f"fast12-{chip}", "workload": f"fast12/{trace}"}
    if parts == "pages":
        # A request at a sector's boundary, padded to whole pages.
        found["workload.align"] = f"{PAGE[chip]}B"
        found["workload.mean_size"] = f"{SIZES[trace] + PAGE[chip] - SECTOR}B"
    else:
        found["workload.align"] = ALIGN[trace] if parts == "own" else f"{SECTOR}B"
    within = "" if gap == "0us" else f"/{gap}"
    found["workload.arrivals"] = f"batches:{batch:.3g}{within}"
    found["workload.rate_iops"] = float(f"{rate:.3g}")
    found |= {"age.fill": float(fill), "gc.relocations": int(relocations)}
    return found | ({"requests": requests[trace]} if trace in requests else {})


def miss(chip: str, trace: str, point: Point, batch: float, rate: float, requests: dict[str, int]) -> float:
    """How far FIFO is from the paper: squares of logarithms of both ratios, and of tens of points of idle time."""
    within = float(point[3].removesuffix("us"))
    if not 1.05 <= batch <= 3000 or rate * within >= 1e6:
        return math.inf
    given = settings(chip, trace, point, batch, rate, requests)
    device, workload = str(given.pop("device")), str(given.pop("workload"))
    length = int(given.pop("requests", requests[""]))
    given |= {"buffer.mode": "write-through", "gc.idle": "none"}
    result = ssdlab.run(
        device, workload, scheme="fifo", requests=length, seed=11, precondition="closed-form", settings=given
    )
    host = result.host
    pairs = zip((host.read, host.write), TABLE2[chip][trace], strict=True)
    apart = [math.log((of.latency_ns.mean or math.inf) / 1e6 / published) for of, published in pairs]
    return float(apart[0] ** 2 + apart[1] ** 2 + ((100.0 - result.usage.host - IDLE) / 10) ** 2)


def fit(chip: str, trace: str, point: Point, requests: dict[str, int]) -> dict[str, float | str]:
    """The batch and rate with the least miss."""

    def of(at: tuple[float, float]) -> float:
        return miss(chip, trace, point, math.exp(at[0]), math.exp(at[1]), requests)

    batch, rate = START[chip][trace]
    best = simplex(of, (math.log(batch), math.log(rate)), (0.4, -0.25), STEPS)
    return settings(chip, trace, point, math.exp(best[0]), math.exp(best[1]), requests)


def simplex(
    of: Callable[[tuple[float, float]], float], at: tuple[float, float], step: tuple[float, float], steps: int
) -> tuple[float, float]:
    """The least of a function of two numbers (J. A. Nelder, R. Mead, The Computer Journal 7(4), 1965)."""

    def between(one: tuple[float, float], other: tuple[float, float], share: float) -> tuple[float, float]:
        return one[0] + share * (other[0] - one[0]), one[1] + share * (other[1] - one[1])

    places = [at, (at[0] + step[0], at[1]), (at[0], at[1] + step[1])]
    corners = sorted((of(place), place) for place in places)
    for _ in range(steps):
        (least, best), (middle, second), (most, worst) = corners
        centre = between(best, second, 0.5)
        new = tried = (of(place := between(centre, worst, -1.0)), place)
        if tried[0] < least:
            new = min(tried, (of(place := between(centre, worst, -2.0)), place))
        elif tried[0] >= middle:
            new = (of(place := between(centre, worst, 0.5)), place)
        if new[0] < most:
            corners = sorted([corners[0], corners[1], new])
        else:
            nearer = [between(each, best, 0.5) for each in (second, worst)]
            corners = sorted([corners[0], *((of(place), place) for place in nearer)])
    return corners[0][1]


def label(chip: str, trace: str, point: Point) -> str:
    """The name of a case in ``space.toml``."""
    return " ".join((trace, chip, *(f"{name}={value}" for name, value in zip(SPACE, point, strict=True))))


def row(name: str, given: dict[str, float | str]) -> str:
    """A line of an axis."""
    import json

    inner = ", ".join(
        f"{key if key.isidentifier() else json.dumps(key)} = {json.dumps(of)}" for key, of in given.items()
    )
    return f"{json.dumps(name)} = {{ {inner} }}"


HEAD = """# Written by fit.py: for each drive, trace and point of the space of open.toml the batch and rate with
# which FIFO comes nearest to Table 2 and to 70 % idle time. `ssdlab study infer fast12` plays it.
about = "What the paper leaves open: every point of the space, each with arrivals fitted to Table 2 and to idle time"
statistics = [
    "host.read.requests", "host.read.latency_ns.mean", "host.write.latency_ns.mean", "usage.host",
    "flash.suspend.*",
]

[run]
requests = 8_000
precondition = "closed-form"
"buffer.mode" = "write-through"
"gc.idle" = "none"

[quick]
scheme = []

[axes]
scheme = ["fifo", "rps", "pe0", "pes-ips", "pes-ipc"]
seed = [11]

[axes.load]
"""


def main() -> None:
    """Fits all points, or the chosen one."""
    full = "--full" in sys.argv
    points = [CHOSEN] if full else list(itertools.product(*SPACE.values()))
    # The points of a trace follow one another: they share the past that is played before.
    cells = [(chip, trace, point) for chip in TABLE2 for trace in TABLE2[chip] for point in points]
    lines = []
    with ThreadPoolExecutor(2) as pool:
        fits = pool.map(lambda cell: fit(cell[0], cell[1], cell[2], FULL if full else BRIEF), cells)
        for cell, given in zip(cells, fits, strict=True):
            lines.append(row(label(*cell), given))
            print(lines[-1], flush=True)
    if not full:
        (Path(__file__).parent / "space.toml").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
