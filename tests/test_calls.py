"""How many calls one read with three retries takes in the drive: a ratchet on what a reader has to follow.

``make calls`` counts them, in a build without optimisation, where nothing is inlined: all of them, and those that lead
into another file. ``tests/golden/calls.csv`` holds both. A change after which there are more fails here; if there must
be more, `pytest --update-golden` writes the new numbers down, and its commit says why. What has fallen by 3 % is
written down too.
"""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "golden" / "calls.csv"
LEAST = 0.03

Calls = dict[str, int]
"""In all, and into another file."""


@pytest.mark.seldom
def test_no_read_takes_more_calls_than_it_did(pytestconfig: pytest.Config) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not here (`make programs` installs it)")
    command = ["make", "--no-print-directory", "calls"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = re.search(r"retries: (\d+) calls between functions of crates/ssd/src/, (\d+) change the file", done.stdout)
    assert said is not None, done.stdout + done.stderr
    now = {"all": int(said[1]), "into another file": int(said[2])}
    if pytestconfig.getoption("--update-golden"):
        with KEPT.open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([("calls", "number"), *now.items()])
    with KEPT.open(newline="") as rows:
        kept = {row["calls"]: int(row["number"]) for row in csv.DictReader(rows)}
    assert moved(now, kept) == {}, "more, or far fewer: pytest --update-golden, and say why in the commit"


def test_the_ratchet_turns_one_way() -> None:
    kept = {"all": 1000, "into another file": 700}
    assert moved({"all": 1000, "into another file": 680}, kept) == {}
    assert moved({"all": 1001, "into another file": 700}, kept) == {"all": 1}
    assert moved({"all": 1000, "into another file": 678}, kept) == {"into another file": -22}


def moved(now: Calls, kept: Calls) -> Calls:
    """What there is more of than before, or much less: by how many calls."""
    assert now.keys() == kept.keys()
    by = {what: now[what] - kept[what] for what in now}
    return {what: number for what, number in by.items() if number > 0 or number < -LEAST * kept[what]}
