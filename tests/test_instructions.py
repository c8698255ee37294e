"""What a request costs in instructions: a ratchet. Times depend on the machine and on what else it does; the
instructions of a short run of the tests' own build do not, but for a per cent.

``tests/golden/instructions.csv`` holds what cases of the bench cost. A change that makes one 3 % dearer fails here;
if it must cost more, `pytest --update-golden` writes the new number down, and its commit says why. What has become 3
% cheaper is written down too.
"""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "golden" / "instructions.csv"
BENCH = ROOT / "target" / "debug" / "examples" / "bench"
"""The bench as `make tested` builds it (crates/ssd/examples/bench.rs)."""
CASES = {0: 3_000, 1: 3_000, 3: 9_000, 13: 12_000, 15: 1_500}
"""Of the bench, with the requests that are played: reads and writes of MQSim's device, writes to an aged drive whose
blocks are collected, reads with retries."""
MOST = 0.03

Costs = dict[str, int]
"""Instructions a request of each case."""


@pytest.mark.drawn
@pytest.mark.slow
def test_no_request_costs_more_than_it_did(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not here (`make programs` installs it)")
    costs = dict(cost(case, requests, tmp_path) for case, requests in CASES.items())
    if pytestconfig.getoption("--update-golden"):
        with KEPT.open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([("case", "instructions_per_request"), *costs.items()])
    with KEPT.open(newline="") as rows:
        kept = {row["case"]: int(row["instructions_per_request"]) for row in csv.DictReader(rows)}
    assert moved(costs, kept) == {}, "dearer, or cheaper: pytest --update-golden, and say why in the commit"


def test_the_ratchet_holds_at_three_per_cent() -> None:
    kept = {"reads": 1000, "writes": 2000}
    assert moved({"reads": 1029, "writes": 1941}, kept) == {}
    assert moved({"reads": 1031, "writes": 2000}, kept) == {"reads": 1.031}
    assert moved({"reads": 1000, "writes": 1900}, kept) == {"writes": 0.95}


def moved(now: Costs, kept: Costs) -> dict[str, float]:
    """What the cases cost whose cost has moved, as a multiple of what they cost before."""
    assert now.keys() == kept.keys()
    ratios = {case: now[case] / kept[case] for case in now}
    return {case: ratio for case, ratio in ratios.items() if abs(ratio - 1) > MOST}


def cost(case: int, requests: int, folder: Path) -> tuple[str, int]:
    """Device and name of a case, and what a request of its last two thirds costs: without a run's beginning."""
    (_, first), (name, all_of_them) = (instructions(case, played, folder) for played in (requests // 3, requests))
    return name, round((all_of_them - first) / (requests - requests // 3))


def instructions(case: int, requests: int, folder: Path) -> tuple[str, int]:
    """Device and name of a case, and the instructions of that many of its requests."""
    command = [str(BENCH), "--case", str(case), str(folder), str(requests)]
    # Writes the trace, which is not counted.
    row = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # Calls and caches are not looked at, which would take most of the time.
    counter = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={folder / 'instructions'}"]
    counted = subprocess.run([*counter, *command], check=True, capture_output=True, text=True).stderr
    total = re.search(r"I +refs: +([\d,]+)", counted)
    assert total is not None, counted
    return f"{row[:13].strip()}: {row[13:50].strip()}", int(total[1].replace(",", ""))
