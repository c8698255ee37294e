"""Lives of blocks under erase schemes, from Python and the command line."""

import json
from pathlib import Path

import pytest

import ssdlab
from conftest import Cli
from ssdlab.chip import lifetime
from ssdlab.chip.characterize import ept, load


def test_shorter_erases_make_longer_lives() -> None:
    chip = load("tlc48-reo", chips=60, blocks=1)
    lives = lifetime.cycle(chip)
    found = lifetime.lifetimes(lives, 63.0)
    cycles = {name: value or 0.0 for name, value in found.items()}
    assert cycles["i-ispe"] < cycles["ispe"] < cycles["dpes"] < cycles["reo"]
    assert cycles["ispe"] < cycles["reo-minus"] < cycles["reo"] == cycles["reo-plus"]
    wrong = lifetime.lifetimes(lifetime.cycle(chip, mispredictions=0.2), 63.0)
    assert cycles["ispe"] == wrong["ispe"]
    assert cycles["ispe"] < (wrong["reo"] or 0.0) < cycles["reo"]
    # Fewer errors allowed, a shorter life, and less for the margin to give.
    weak = lifetime.lifetimes(lifetime.cycle(chip, requirement=40.0), 40.0)
    assert all((weak[name] or 0.0) < cycles[name] for name in cycles)
    # A life that does not end within what was cycled has no length.
    short = lifetime.cycle(chip, ["reo"], last=1000)
    assert lifetime.lifetimes(short, 63.0) == {"reo": None}


def test_blocks_that_have_the_errors_when_fresh_live_for_no_cycle(cli: Cli) -> None:
    few = ("lifetime", "--chips", "2", "--blocks", "1", "--last", "2000", "--scheme", "ispe", "--scheme", "reo")
    done = cli(*few, "--requirement", "10", "--device", "tlc", "tlc48-reo")
    assert done.returncode == 0, done.stderr
    assert "Fresh blocks have 10 errors per KiB or more under every scheme." in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if line.split()[:1] in (["ispe"], ["reo"])]
    assert {row[1] for row in rows} == {"0"}
    lives = lifetime.cycle(load("tlc48-reo", chips=2, blocks=1), ["ispe"], last=2000)
    fresh, second = lives["m_rber"][:2]
    assert lifetime.lifetimes(lives, fresh) == {"ispe": 0.0}
    found = lifetime.lifetimes(lives, (fresh + second) / 2.0)["ispe"]
    assert found == pytest.approx(25.0)


def test_the_table_of_the_procedures_is_that_of_the_schemes() -> None:
    chip = load("tlc48-reo", chips=8, blocks=8)
    for requirement in (40.0, 63.0):
        rows = ept(chip, requirement=requirement).select("loops", "range", "t1_ms", "t2_ms").rows()
        table = chip.ept(requirement)
        assert [(of["loops"], of["range"], 0.5 * of["safe"], 0.5 * of["spared"]) for of in table] == rows


def test_lives_become_terabytes_and_years() -> None:
    drive = ssdlab.Device("electronics25")
    assert drive.raw_capacity == 8 * 2 * 4 * 497 * 2112 * 16384
    found = lifetime.endurance(5000, "electronics25", waf=2.5, dwpd=2.0)
    assert found.terabytes == pytest.approx(5000 * drive.raw_capacity / 2.5 / 1e12)
    assert found.years == pytest.approx(found.terabytes * 1e12 / (2 * drive.capacity) / 365.25)
    with pytest.raises(ssdlab.InputError, match="at least 1"):
        lifetime.endurance(5000, "electronics25", waf=0.5)


def test_the_command_tells_and_writes_lifetimes(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "lives.json"
    done = cli("lifetime", "--scheme", "ispe", "--scheme", "reo", "--chips", "20", "--step", "100", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "reo" in done.stdout
    assert "63 errors" in done.stdout
    rows = json.loads(out.read_text())
    drives = cli(
        "lifetime", "--scheme", "reo", "--chips", "5", "--device", "electronics25", "--waf", "3", "--dwpd", "2"
    )
    assert "TB written" in drives.stdout
    assert "years" in drives.stdout
    assert {row["scheme"] for row in rows} == {"ispe", "reo"}
    for words, said in (
        (["--scheme", "rio"], "the schemes are"),
        (["--requirement", "-1"], "positive requirement"),
        (["--mispredictions", "2"], "a share of 0 to 1"),
        (["absent.toml"], "absent.toml"),
    ):
        failed = cli("lifetime", *words)
        assert failed.returncode == 2, words
        assert said in failed.stderr
    with pytest.raises(ssdlab.InputError, match="no erase scheme"):
        lifetime.cycle(load("tlc48-reo", chips=1, blocks=1), ["isp"])


@pytest.mark.parametrize(
    ("device", "chip"),
    [("tlc", "tlc48"), ("qlc", "qlc"), ("plc", "plc"), ("mqsim", "mlc"), ("hbf", "slc"), ("hpca24", "tlc48-rif")],
)
def test_a_device_brings_its_chip(device: str, chip: str) -> None:
    assert lifetime.chip_of(device) == lifetime.chip_for(None, device) == lifetime.chip_for(chip, device) == chip


def test_the_chips_of_cells_are_those_that_the_key_names() -> None:
    about = next(key.about for key in ssdlab.schema() if (key.section, key.key) == ("chip", "model"))
    assert f"({', '.join(lifetime.OF_CELLS.values())})" in about


def test_a_device_file_brings_its_chip_file(tmp_path: Path) -> None:
    preset = Path(__file__).resolve().parent.parent / "presets" / "chips" / "qlc.toml"
    (tmp_path / "mine.toml").write_text(preset.read_text())
    (tmp_path / "drive.toml").write_text('base = "qlc"\n[chip]\nmodel = "mine.toml"\n')
    assert lifetime.chip_of(str(tmp_path / "drive.toml")) == str(tmp_path / "mine.toml")


def test_the_command_takes_the_chip_of_the_device(cli: Cli) -> None:
    few = ("lifetime", "--chips", "2", "--scheme", "ispe")
    done = cli(*few, "--device", "mqsim", "--waf", "3")
    assert done.returncode == 0, done.stderr
    assert "mlc: cycles to" in done.stdout
    assert "tlc48" not in done.stdout
    assert "tlc48-reo: cycles to" in cli(*few, "--device", "tlc", "tlc48-reo").stdout
    refused = cli(*few, "--device", "fast12-slc", "tlc48-reo")
    assert refused.returncode == 2
    assert "the chip tlc48-reo has 3 bits a cell, and the device fast12-slc has 1" in refused.stderr
    assert "leave out the chip to take that of the device, slc" in refused.stderr


def test_lives_of_chips_that_nobody_measured_say_so(cli: Cli) -> None:
    few = ("--chips", "2", "--blocks", "1", "--scheme", "ispe")
    assert "note:" not in cli("lifetime", "tlc48-reo", *few).stdout
    for chip, source in (
        ("qlc", "1,500 cycles"),
        ("slc", "100,000 cycles"),
        ("tlc48", "as tlc48-reo"),
        ("tlc2x", "as tlc48-reo"),
    ):
        out = cli("lifetime", chip, *few).stdout
        assert "note: the lives of" in out, chip
        assert source in out, chip
