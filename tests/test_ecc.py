"""The simulation of hpca24's code from Python and the command line: counts, files that go on, predictions."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import polars as pl
import pytest

import ssdlab
from conftest import HANGS_S, SSDLAB, Cli, until
from ssdlab.chip import ecc
from ssdlab.common.confidence import wilson

SIMULATE = ("ecc", "simulate", "--rber", "0.003:0.006:0.003", "--words", "6000", "--schedule", "layered")


@pytest.mark.slow
def test_a_table_is_the_same_whatever_the_threads_and_interruptions(cli: Cli, tmp_path: Path) -> None:
    whole = tmp_path / "whole.csv"
    ecc.simulate([0.006, 0.003], words=6000, schedule="layered", threads=3, out=whole)
    out = tmp_path / "results" / "ecc.csv"
    running = subprocess.Popen(
        [SSDLAB, *SIMULATE, "--threads", "1"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    until(out.exists, running)
    running.send_signal(signal.SIGINT)
    _, stderr = running.communicate(timeout=HANGS_S)
    assert running.returncode == 130
    assert stderr == "interrupted: results/ecc.csv is kept; the same command goes on from there\n"
    kept = pl.read_csv(out)["words"].sum()
    assert 0 < kept < 12_000
    assert kept % 2000 == 0
    assert cli(*SIMULATE).returncode == 0
    assert out.read_bytes() == whole.read_bytes()
    lines = whole.read_text().splitlines(keepends=True)
    out.write_text(lines[0] + lines[2])
    assert cli(*SIMULATE, "--plot", "results/ecc.svg").returncode == 0
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in out.parent.iterdir()) == ["ecc.csv", "ecc.svg"]


def test_a_point_ends_with_the_batch_in_which_enough_words_have_failed() -> None:
    found = ecc.simulate([0.0089], words=10**9, failures=10)
    assert found["words"].item() == 2000
    assert found["failures"].item() >= 10


@pytest.mark.parametrize("errors", ["exact", "independent"])
@pytest.mark.parametrize("schedule", ["flooding", "layered"])
def test_few_errors_are_all_corrected_and_many_are_not(errors: ecc.Errors, schedule: ecc.Schedule) -> None:
    fine, failed = ecc.simulate([0.003, 0.012], words=300, errors=errors, schedule=schedule).iter_rows(named=True)
    assert (fine["failures"], fine["fer"], fine["fer_low"]) == (0, 0.0, 0.0)
    assert fine["it_20"] == 0 < fine["iterations"] < 20
    assert (failed["failures"], failed["fer"], failed["fer_high"]) == (300, 1.0, 1.0)
    assert failed["it_20"] == 300
    assert fine["accuracy"] > 0.99 < failed["accuracy"]


def test_finer_sensing_corrects_more() -> None:
    of: list[ecc.Soft] = ["none", "2-bit", "3-bit"]
    found = [ecc.simulate([0.0105, 0.0175], words=200, errors="independent", soft=soft) for soft in of]
    assert [each["failures"].to_list()[0] for each in found] == [199, 0, 0]
    hard, two, three = (each["failures"].to_list()[1] for each in found)
    assert hard == 200 > two > three == 0
    assert found[1]["soft"].to_list() == ["2-bit", "2-bit"]
    with pytest.raises(ssdlab.InputError, match="exact with soft 2-bit"):
        ecc.simulate([0.01], words=10, soft="2-bit")


def test_a_threshold_splits_the_words_by_their_weight() -> None:
    row = ecc.simulate([0.0088], words=400).row(0, named=True)
    assert row["threshold"] == round(ecc.expected_weight(0.0085)) == 236
    weights = ecc.weights(0.0088, 400)
    above = weights.filter(pl.col("weight") > row["threshold"])
    below = weights.filter(pl.col("weight") <= row["threshold"])
    assert weights.select("words", "failures").sum().row(0) == (400, row["failures"])
    assert above.select("words", "failures").sum().row(0) == (row["predicted"], row["predicted_failures"])
    assert row["accuracy"] == sum([*above["failures"], *below["words"] - below["failures"]]) / 400
    assert 0 < row["failures"] < 400
    # All 4096 syndromes tell more than 1024 of them, and both are about as heavy as expected.
    for pruned in (True, False):
        found = ecc.weights(0.0088, 400, pruned=pruned)
        mean = (found["weight"] * found["words"]).sum() / 400
        assert mean == pytest.approx(ecc.expected_weight(0.0088, pruned), rel=0.01)


def test_wilsons_interval_is_the_published_one() -> None:
    assert wilson(10, 100) == pytest.approx((0.05523, 0.17437), abs=1e-5)
    assert wilson(0, 100) == pytest.approx((0.0, 0.03699), abs=1e-5)
    assert wilson(100, 100) == pytest.approx((0.96301, 1.0), abs=1e-5)


@pytest.mark.slow
def test_the_die_weighs_rearranged_words_as_the_matrix_does() -> None:
    assert ecc.ecc_rearranged_differs(10_000, 1) == 0


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("--rber", "0"), ("--rber", "write a rate from 1e-9")),
        (("--rber", "nan"), ("--rber", "nan is not accepted")),
        (("--rber", "0.004:0.012"), ("--rber", "from:to:step")),
        (("--rber", "0.004:0.5:1e-9"), ("--rber", "from:to:step")),
        (("--words", "0"), ("--words", "1 or more")),
        (("--failures", "some"), ("--failures", "write a whole number, or none")),
        (("--errors", "few"), ("--errors", "'exact', 'independent'")),
        (("--schedule", "slow"), ("--schedule", "'flooding', 'layered'")),
        (("--threshold", "-1"), ("--threshold", "0 or more")),
        (("--seed", "x"), ("--seed", "0 or more")),
        (("--threads", "0"), ("--threads", "1 or more")),
        (("--out", "x.parquet"), ("--out", "ends in .csv")),
        (("--out", "kept.csv/x.csv"), ("--out", "give another folder")),
        (("--plot", "x.gif"), ("--plot", "ends in .png or .svg or .pdf")),
        (("--plot", "absent/x.png"), ("--plot", "create it first")),
        (("--seed", "2", "--out", "kept.csv"), ("kept.csv: is of other settings: seed 1, not 2", "--out")),
        (("--threshold", "230", "--out", "kept.csv"), ("threshold 236, not 230", "--out")),
        (("--out", "cut.csv"), ("cut.csv:2: is damaged", "remove the line")),
        (("--out", "other.csv"), ("other.csv: is no table of", "give another file")),
    ],
)
def test_bad_input_is_answered_with_its_place_and_a_remedy(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    ecc.simulate([0.004], words=1, out=tmp_path / "kept.csv")
    kept = (tmp_path / "kept.csv").read_text()
    (tmp_path / "cut.csv").write_text(kept[:-20])
    (tmp_path / "other.csv").write_text("rber,words\n")
    done = cli("ecc", "simulate", "--rber", "0.004", "--words", "1", *words)
    assert done.returncode == 2
    for part in (*parts, "\n  help: "):
        assert part in done.stderr
    assert (tmp_path / "kept.csv").read_text() == kept
