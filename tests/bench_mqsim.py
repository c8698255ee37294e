"""Measures ssdlab and MQSim on the files of MQSim: `make bench-mqsim`, with MQSIM=path/to/MQSim beside it.

Writes four traces of a million requests and MQSim's two files for each, plays them with `ssdlab run --mqsim`, and
prints CPU time and peak memory. Without a binary of MQSim another version of ssdlab can be played beside this one
(BASE=path/to/ssdlab). Machines are noisy: compare columns of one run.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape

from test_mqsim import CONFIG, TRACED

REQUESTS = 1_000_000
WORKLOADS = {
    "r8: 8-KiB reads, 50k/s": (1.0, 20, 16, 16_000_000),
    "m16: 16-KiB 90/10, 10k/s": (0.9, 100, 32, 200_000_000),
    "m16f: 16-KiB 90/10, 100k/s": (0.9, 10, 32, 200_000_000),
    "w16: 16-KiB 10/90, 25k/s": (0.1, 40, 32, 200_000_000),
}
"""Share of reads, mean gap [us], sectors of a request, sectors of the range."""
MEASURED = {"r8": 10.4, "m16": 18.5, "m16f": 48.5, "w16": 49.0}
"""CPU seconds of MQSim 7ec40e3 on such files, on another machine (docs/speed.md)."""


def trace(path: Path, reads: float, gap_us: float, sectors: int, span: int) -> None:
    """Poisson arrivals, uniform addresses: `time device sector sectors type`, type 1 for reads."""
    draws, now = random.Random(1), 0.0
    with path.open("w") as out:
        for _ in range(REQUESTS):
            now += draws.expovariate(1) * gap_us * 1000
            sector = draws.randrange(span // sectors) * sectors
            out.write(f"{int(now)} 0 {sector} {sectors} {int(draws.random() < reads)}\n")


def element(name: str, inner: str) -> str:
    return f"<{name}>{inner}</{name}>\n"


def elements(values: dict[str, object]) -> str:
    return "".join(element(key, escape(str(value))) for key, value in values.items())


def write_files(folder: Path) -> dict[str, tuple[Path, Path]]:
    """MQSim's two files of each workload."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "ssdconfig.xml"
    sections = {name: dict(values) for name, values in CONFIG.items()}
    *outer, last = sections
    inner = {outer[1]: element(last, elements(sections[last]))}
    body = "".join(element(name, elements(sections[name]) + inner.get(name, "")) for name in outer)
    config.write_text(element("Execution_Parameter_Set", body))
    files = {}
    for title, (reads, gap, sectors, span) in WORKLOADS.items():
        name = title.split(":")[0]
        ascii_trace = folder / f"{name}.trace"
        if not ascii_trace.exists():
            trace(ascii_trace, reads, gap, sectors, span)
        keys = {**TRACED, "Initial_Occupancy_Percentage": 70, "File_Path": ascii_trace}
        flow = element("IO_Flow_Parameter_Set_Trace_Based", elements(keys))
        workload = folder / f"{name}.xml"
        workload.write_text(element("MQSim_IO_Scenarios", element("IO_Scenario", flow)))
        files[title] = (config, workload)
    return files


def measured(command: list[str]) -> tuple[float, float]:
    """CPU seconds and peak MiB of a command."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)}: exit {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    here = Path(sys.executable).with_name("ssdlab")
    others = {"MQSim": os.environ.get("MQSIM"), "base": os.environ.get("BASE")}
    ratios = []
    for title, (config, workload) in write_files(Path("target/bench-mqsim")).items():
        name = title.split(":")[0]
        ours = min(measured([str(here), "run", "-q", "--mqsim", str(config), str(workload)]) for _ in range(3))
        line = f"{title:28s} {ours[0]:6.2f} s {ours[1]:6.0f} MiB"
        for kind, binary in others.items():
            if binary is None:
                continue
            arguments = ["-i", str(config), "-w", str(workload)]
            arguments = arguments if kind == "MQSim" else ["run", "-q", "--mqsim", str(config), str(workload)]
            theirs = min(measured([binary, *arguments]) for _ in range(1 if kind == "MQSim" else 3))
            ratio = theirs[0] / ours[0]
            line += f"   {kind} {theirs[0]:6.2f} s {theirs[1]:6.0f} MiB: {ratio:.2f} times"
            ratios.append(ratio)
        if others["MQSim"] is None:
            line += f"   (MQSim, another machine: {MEASURED[name]:.1f} s)"
        print(line, flush=True)
    if ratios:
        print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f} times")


if __name__ == "__main__":
    main()
