"""What a prediction takes: the transitions of a netlist whose cells have delays, times the energy of each."""

from __future__ import annotations

import json
import re
import struct
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from cells import FLIP_FLOP, LIBRARY, VOLTAGE, Cell
from library import WIRE_LOAD
from synthesis import CONTRACT, Netlist, Variant, run

BENCH = Path(__file__).resolve().parent.parent / "sim" / "bench.v"
WORDS = 4
"""The first sets the registers, the others are counted."""


@dataclass(frozen=True)
class Energy:
    """Of a prediction."""

    cycles: int
    picojoules: dict[str, float]
    """By part; the clock's net and the pins that it drives by themselves."""

    @property
    def nanojoules(self) -> float:
        return sum(self.picojoules.values()) / 1000

    @property
    def milliwatts(self) -> float:
        """At the clock for which was synthesised."""
        return 1000 * self.nanojoules / (self.cycles * CONTRACT)


def pages(variant: Variant, codewords: bytes, folder: Path) -> None:
    """The first words that `codewords` writes, for $readmemh."""
    limbs = variant.segments * variant.size // 32
    numbers = [number for (number,) in struct.iter_unpack("<I", codewords[: 4 + 4 * WORDS * (limbs + 2)])]
    words = [numbers[1 + number * (limbs + 2) :][: limbs + 2] for number in range(WORDS)]
    step = variant.width // 32
    lines = [
        "".join(f"{limb:08x}" for limb in reversed(word[at : at + step]))
        for word in words
        for at in range(0, limbs, step)
    ]
    (folder / "pages.hex").write_text("\n".join(lines))
    expected = [numbers[0]] + [number for word in words for number in word[-2:]]
    (folder / "expected.hex").write_text("\n".join(f"{number:x}" for number in expected))


def transitions(netlist: Netlist, models: Path) -> tuple[dict[str, int], dict[tuple[str, str], int]]:
    """What the bench counted; the transitions of each cell's outputs, and of the bits of `data`."""
    variant = netlist.variant
    parameters = {"WIDTH": variant.width, "SEGMENTS": variant.segments, "SIZE": variant.size, "WORDS": WORDS}
    parameters["THRESHOLDS"] = variant.thresholds
    sets = [f"-Pbench.{name}={value}" for name, value in parameters.items()]
    files = [str(BENCH), str(models), "netlist.v"]
    run(["iverilog", "-g2005-sv", "-DTIMED", "-s", "bench", "-o", "bench.vvp", *sets, *files], netlist.folder)
    text = run(["vvp", "-n", "bench.vvp"], netlist.folder)
    bench = {name: int(value) for name, value in re.findall(r"^bench (\w+) (\d+)$", text, re.M)}
    if bench["differ"]:
        raise SystemExit(f"error: the netlist in {netlist.folder} differs from crates/ecc in {bench['differ']} words")
    found = re.findall(r"^bench\.(\S+)\.count_\w+ (\w+) (\d+)$", text, re.M)
    return bench, {(cell.removeprefix("rp.").strip("\\"), pin): int(count) for cell, pin, count in found}


def energy(netlist: Netlist, cells: dict[str, Cell], models: Path) -> Energy:
    """Every net's charge, and what its transitions take inside the cells that it goes to."""
    bench, counted = transitions(netlist, models)
    module = json.loads((netlist.folder / "netlist.json").read_text())["modules"]["rp"]
    kinds = {name: cell["type"].removeprefix(f"{LIBRARY}__") for name, cell in module["cells"].items()}

    def part(cell: str) -> str:
        return next((each for each in cell.split(".") if each in netlist.parts), "rp")

    sinks = defaultdict(list)
    drivers = {}
    for name, cell in module["cells"].items():
        for pin, (bit,) in cell["connections"].items():
            if pin in cells[kinds[name]].pins:
                sinks[bit].append((name, pin))
            else:
                drivers[bit] = (name, pin)
    femtojoules: defaultdict[str, float] = defaultdict(float)

    def add(driver: str, bit: int, count: float) -> None:
        for name, pin in sinks[bit]:
            kind = cells[kinds[name]].pins[pin]
            femtojoules[driver] += count * (kind.capacitance + WIRE_LOAD) * VOLTAGE**2 / 2
            femtojoules["clock" if driver == "clock" else part(name)] += count * kind.energy

    for bit, (name, pin) in drivers.items():
        count = counted[name, pin]
        add(part(name), bit, count)
        if kinds[name] == FLIP_FLOP:
            femtojoules[part(name)] += count * cells[FLIP_FLOP].output_energy
    for place, bit in enumerate(module["ports"]["data"]["bits"]):
        add("data", bit, counted[f"input_[{place}]", "data"])
    (clock,) = module["ports"]["clock"]["bits"]
    add("clock", clock, 2 * bench["cycles"])
    words = bench["words"]
    return Energy(bench["cycles"] // words, {part: value / 1000 / words for part, value in sorted(femtojoules.items())})
