"""The predictor's RTL beside crates/ecc, and what `make hardware` keeps of it."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import Any

import pytest

from ssdlab.runs.catalogue import schema

ROOT = Path(__file__).parent.parent
HARDWARE = ROOT / "hardware"
WORDS = 2_000


def rows(name: str) -> list[dict[str, str]]:
    with (HARDWARE / name).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The main script of the flow, which is a folder of scripts."""
    monkeypatch.syspath_prepend(str(HARDWARE / "flow"))
    import measure

    return measure


def test_what_is_kept_is_of_the_rtl_that_is_here(measure: Any) -> None:
    kept = rows("results/rp.csv")
    assert {row["rtl"] for row in kept} == {measure.digest()}, "the RTL has changed since: make hardware"
    assert [int(row["words"]) for row in kept] == [100_000] * (len(measure.VARIANTS) + 1)
    for row in kept:
        # A word of the page register a cycle; it comes in the next one, and is XORed, counted and compared in three.
        assert int(row["cycles"]) == 36 * 1024 // int(row["width"]) + 3 + int(row["segment_register"])


def test_costs_are_of_choices_that_a_drive_has() -> None:
    accepts = {f"{key.section}.{key.key}": key.accepts for key in schema()}
    of = ("segment_register", "width", "isolated", "thresholds")
    kept = {tuple(row[name] for name in of): row for row in rows("results/rp.csv")}
    three, one = (float(kept["1", "128", "0", number]["area_mm2"]) for number in ("3", "1"))
    for row in rows("costs.csv"):
        assert f'"{row["choice"]}"' in accepts[row["key"]], row
        assert row["per"] in {"drive", "channel", "chip", "die", "block", "wordline", "flash.retry.tracked"}, row
        if row["key"] == "read.predictor":
            area = row["die_mm2" if row["choice"] == "on-die" else "controller_mm2"]
            assert area == kept["1", "128", "0", "1"]["area_mm2"], "the predictor's area has changed"
        if "threshold of its own" in row["what"]:
            assert float(row["die_mm2"]) == round((three - one) / 2, 5), "the thresholds' area has changed"


@pytest.mark.drawn
@pytest.mark.slow
def test_the_rtl_says_of_codewords_what_the_library_says(measure: Any, tmp_path: Path) -> None:
    if shutil.which("verilator") is None:
        pytest.skip("verilator is not installed")
    codewords = ROOT / "target" / "debug" / "examples" / "codewords"
    words = measure.written(codewords, WORDS, 1, tmp_path)
    assert measure.compared(measure.bench(measure.DRAWN, measure.rtl(), tmp_path), WORDS, words) == 292
