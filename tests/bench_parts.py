"""Instructions a request, by part of the drive: `make bench-parts`. Needs valgrind.

`make bench-flat` tells the sum alone, of the cases that must stay flat and of what is followed beside.

Plays cases of the bench (crates/ssd/examples/bench.rs) in the release build, short and long, and tells what a further
request costs. Inlined code counts where it was written; that of the standard library, with what it is inlined into.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

CASES = {6: "ideal 8K read", 0: "r8", 1: "m16", 3: "w16", 13: "steady 16K write", 15: "aged read"}
"""Number in the bench, and heading."""
SHORT, LONG = 20_000, 40_000
PARTS = {
    "text": ("/workload/",),
    "host, run loop": (
        "/ssd/src/run/",
        "/ssd/src/host.rs",
        "/ssd/src/commands.rs",
        "/ssd/src/device/mod.rs",
        "/ssd/src/arbitration.rs",
    ),
    "buffer, write path": ("/ssd/src/buffer.rs", "/ssd/src/writes.rs", "/ssd/src/back_end/write.rs"),
    "cached map": ("/ssd/src/translation", "/back_end/mapping.rs", "/back_end/map_pages.rs"),
    "FTL": ("/ssd/src/ftl/", "/back_end/collect.rs", "/schemes/"),
    "agenda": ("/ssd/src/agenda.rs", "/ssd/src/core.rs"),
    "bus, ECC": ("/flash/bus.rs", "/flash/settle.rs", "/flash/channel.rs", "/flash/decoder.rs"),
    "retries, chip": ("/flash/retry.rs", "/nand/src/model/", "/nand/src/characterize.rs", "/libm"),
    "die": ("/ssd/src/flash/",),
    "flow between them": ("/ssd/src/back_end/", "/ssd/src/device/"),
    "meters, statistics": ("/ssd/src/meter.rs", "/ssd/src/observe/", "hdrhistogram"),
    "arenas, geometry, units": ("/ssd/src/", "/nand/", "/units/", "slab"),
}
"""The first part that a file's path fits has it; what fits none is the C library's or the allocator's."""


def part_of(file: str) -> str:
    return next((part for part, places in PARTS.items() if any(place in file for place in places)), "libc, allocation")


def count(bench: Path, case: int, requests: int, folder: Path) -> Counter[str]:
    """Instructions of a run, by part."""
    command = [str(bench), "--case", str(case), str(folder), str(requests)]
    # Writes the trace, which is not counted.
    subprocess.run(command, check=True, capture_output=True)
    out = folder / "callgrind"
    counter = ["valgrind", "--tool=callgrind", "--compress-strings=no", f"--callgrind-out-file={out}"]
    subprocess.run([*counter, *command], check=True, capture_output=True)
    costs: Counter[str] = Counter()
    part, called = "", False
    for line in out.read_text().splitlines():
        if line.startswith(("fl=", "fi=", "fe=")):
            file = line[3:]
            # The standard library's code within a function of ours goes on with the part that it is in.
            if line.startswith("fl=") or "/rustc/" not in file:
                part = part_of(file)
        elif line.startswith("calls="):
            called = True
        elif line[:1].isdigit() or line[:1] in "+-*":
            if not called:
                costs[part] += sum(map(int, line.split()[1:2]))
            called = False
    return costs


def beside(bench: Path) -> None:
    """Prints the instructions of a request of each case that must stay flat, and of what is followed beside."""
    names = subprocess.run([str(bench), "--list"], check=True, capture_output=True, text=True).stdout.splitlines()
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(names):
            if ":" in name and not name.startswith("length"):
                short, long = (count(bench, number, requests, Path(folder)).total() for requests in (SHORT, LONG))
                print(f"| {name} | {(long - short) / (LONG - SHORT):,.0f} |", flush=True)


def by_part(bench: Path) -> None:
    """Prints the instructions of a request of some cases, by part."""
    columns: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for case, title in CASES.items():
            short, long = (count(bench, case, requests, Path(folder)) for requests in (SHORT, LONG))
            columns[title] = {part: (long[part] - short[part]) / (LONG - SHORT) for part in long}
    print("|", *(f" | {title}" for title in columns), "|")
    for part in [*PARTS, "libc, allocation"]:
        print(f"| {part}", *(f"| {cost.get(part, 0):,.0f}" for cost in columns.values()), "|")
    print("| total", *(f"| {sum(cost.values()):,.0f}" for cost in columns.values()), "|")


def main() -> None:
    bench = Path(sys.argv[1])
    if sys.argv[2:] == ["--flat"]:
        beside(bench)
    else:
        by_part(bench)


if __name__ == "__main__":
    main()
