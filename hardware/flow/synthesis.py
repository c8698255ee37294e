"""A variant of the RTL as cells (yosys, abc), their area by part, and the longest path through them (OpenSTA)."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cells import FLIP_FLOP, GATES, LIBRARY, Cell

RTL = Path(__file__).resolve().parent.parent / "rtl"
CONTRACT = 10.0
"""The clock's period for which is synthesised [ns]: 100 MHz (hpca24 section VI-C)."""


@dataclass(frozen=True)
class Variant:
    """Parameters of `rp`."""

    width: int = 128
    segment_register: bool = False
    isolated: bool = False
    thresholds: int = 1
    segments: int = 36
    size: int = 1024

    @property
    def parameters(self) -> dict[str, int]:
        return {
            "WIDTH": self.width,
            "SEGMENTS": self.segments,
            "SIZE": self.size,
            "SEGMENT_REGISTER": int(self.segment_register),
            "ISOLATED": int(self.isolated),
            "THRESHOLDS": self.thresholds,
        }

    @property
    def name(self) -> str:
        more = f"-{self.thresholds}-thresholds" if self.thresholds > 1 else ""
        return f"{self.width}{'-registered' * self.segment_register}{'-isolated' * self.isolated}{more}"


def sources(instead: str) -> list[Path]:
    """The RTL with one of the two files that have the adders."""
    return sorted(path for path in RTL.glob("*.v") if path.name not in {"adders.v", "cells.v"} - {instead})


def run(command: list[str], folder: Path, seconds: int = 600) -> str:
    """What a program prints."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        raise SystemExit(
            f"error: {' '.join(command[:3])} failed in {folder}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        )
    return done.stdout


@dataclass
class Netlist:
    """A variant as cells: its folder, with netlist.v and netlist.json, and how many of each kind each part has."""

    variant: Variant
    folder: Path
    parts: dict[str, Counter[str]]

    def area(self, cells: dict[str, Cell], part: str | None = None) -> float:
        """[um2]."""
        counted = sum(self.parts.values(), Counter()) if part is None else self.parts.get(part, Counter())
        return sum(cells[kind].area * count for kind, count in counted.items())

    @property
    def cells(self) -> int:
        return sum(sum(part.values()) for part in self.parts.values())

    @property
    def flip_flops(self) -> int:
        return sum(part[FLIP_FLOP] for part in self.parts.values())


def synthesised(variant: Variant, liberty: Path, folder: Path) -> Netlist:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "constraints").write_text(f"set_driving_cell {LIBRARY}__buf_2\nset_load 1 [all_outputs]\n")
    sets = " ".join(f"-set {name} {value}" for name, value in variant.parameters.items())
    script = f"""
        read_liberty -lib {liberty}
        read_verilog {" ".join(map(str, sources("cells.v")))}
        chparam {sets} rp
        synth -top rp
        dfflibmap -liberty {liberty}
        abc -liberty {liberty} -constr constraints -D {1000 * CONTRACT:.0f}
        opt_clean
        write_json parts.json
        rename -enumerate
        flatten
        opt_clean -purge
        check -assert
        write_verilog -noattr -noexpr netlist.v
        write_json netlist.json
    """
    run(["yosys", "-q", "-p", script], folder)
    modules = json.loads((folder / "parts.json").read_text())["modules"]
    return Netlist(variant, folder, counted(modules))


ADDERS = {"full_adder": "fa_1", "half_adder": "ha_1"}
"""Modules of one cell: it belongs to the part that uses them."""


def counted(modules: dict[str, Any]) -> dict[str, Counter[str]]:
    """The cells of each part of a netlist that has its modules still."""
    parts: dict[str, Counter[str]] = {}
    for name, module in modules.items():
        part = re.sub(r"^\$paramod(\$[0-9a-f]+)?\\(\w+).*", r"\2", name)
        if part in ADDERS or part.startswith(LIBRARY):
            continue
        kinds = [
            ADDERS.get(cell["type"], cell["type"].removeprefix(f"{LIBRARY}__")) for cell in module["cells"].values()
        ]
        own = Counter(kind for kind in kinds if kind in GATES or kind == FLIP_FLOP)
        if own:
            parts[part] = own
    return parts


def longest_path(netlist: Netlist, liberty: Path) -> tuple[float, str]:
    """The longest path [ns], with the set-up time at its end, and where it begins and ends."""
    script = f"""
        read_liberty {liberty}
        read_verilog netlist.v
        link_design rp
        create_clock -name clock -period {CONTRACT} [get_ports clock]
        set_input_delay 0 -clock clock [all_inputs]
        set_input_transition 0.1 [all_inputs]
        set_output_delay 0 -clock clock [all_outputs]
        set_load 10 [all_outputs]
        report_checks -path_delay max -digits 4
        exit
    """
    (netlist.folder / "sta.tcl").write_text(script)
    text = run(["sta", "-no_splash", "-exit", "sta.tcl"], netlist.folder)
    slack = re.search(r"(-?[\d.]+)\s+slack", text)
    start, end = re.search(r"Startpoint: (\S+)", text), re.search(r"Endpoint: (\S+)", text)
    if not (slack and start and end):
        raise SystemExit(f"error: OpenSTA found no path in {netlist.folder}\n{text[-2000:]}")
    (netlist.folder / "path.txt").write_text(text)
    return CONTRACT - float(slack[1]), f"{start[1]} to {end[1]}"
