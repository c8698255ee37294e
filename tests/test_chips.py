"""Virtual chips from Python and the command line, and what they say of a run."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import ssdlab
from conftest import Cli
from ssdlab._core import Chip
from ssdlab.chip import characterize


@pytest.mark.drawn
def test_a_population_is_measured_into_tables_and_figures(cli: Cli, tmp_path: Path) -> None:
    done = cli("characterize", "tlc48-reo", "--chips", 4, "--blocks", 3, "--figures", "--out", "tables")
    assert done.returncode == 0, done.stderr
    for name in characterize.TABLES:
        assert pl.read_csv(tmp_path / "tables" / f"{name}.csv").height > 0, name
    assert len(list((tmp_path / "tables").glob("*.png"))) == 10
    again = cli("characterize", "tlc48-reo", "--chips", 4, "--blocks", 3, "--only", "steps", "--out", "again")
    assert again.returncode == 0
    kept = (tmp_path / "tables" / "steps.csv").read_bytes()
    assert (tmp_path / "again" / "steps.csv").read_bytes() == kept


def test_pages_that_no_step_reads_are_not_read_from_measured_steps_either(tmp_path: Path) -> None:
    steps = characterize.retry_steps(characterize.load("plc", chips=4, blocks=4), pec=(3000,), months=(12.0,))
    lost = steps.filter(pl.col("steps").is_null())
    assert lost.height == 1, steps
    assert steps["steps"].max() == 80, steps
    file = tmp_path / "steps.csv"
    steps.write_csv(file)
    settings = ["workload.rw=randread", "age.pec=3000", "age.retention=1y", "read.next=table", "read.start=default"]
    run = ssdlab.run(
        "tlc",
        requests=2000,
        settings=[*settings, f"chip.model={file}"],
    )
    # Each page of 16 KiB is as one that was measured; a request reads one.
    share = int(lost["pages"].sum()) / int(steps["pages"].sum())
    assert run["host.uncorrectable"] / 2000 == pytest.approx(share, rel=0.3)


def chip_file(folder: Path, **constants: object) -> Path:
    """tlc48-reo with other constants of [erasing]."""
    lines = (Path(__file__).parent.parent / "presets" / "chips" / "tlc48-reo.toml").read_text().splitlines()
    section = ""
    for number, line in enumerate(lines):
        section = line if line.startswith("[") else section
        key = line.split(" = ")[0]
        if section == "[erasing]" and key in constants:
            lines[number] = f"{key} = {constants[key]}"
    file = folder / "chip.toml"
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.mark.parametrize(
    ("grains", "t_grain", "loops"), [(3, '"700us"', 3), (5, '"500us"', 3), (7, '"500us"', 5), (9, '"300us"', 2)]
)
def test_the_tables_of_characterize_are_those_of_the_drive(
    tmp_path: Path, grains: int, t_grain: str, loops: int
) -> None:
    write = tmp_path / "write.trace"
    write.write_text("0 0 0 32 0\n")  # MQSim's format: a page is written, and its block erased first.
    grain_ns = {'"700us"': 700_000, '"500us"': 500_000, '"300us"': 300_000}[t_grain]
    seen = set()
    for needed in range(grains * loops):
        # A block that needs half a grain more.
        file = chip_file(tmp_path, grains=grains, t_grain=t_grain, loops=loops, fresh=needed + 0.5, fresh_spread=0)
        chip = characterize.load(file, chips=1, blocks=1)
        table = {(row["loops"], row["range"]): row for row in characterize.ept(chip).iter_rows(named=True)}
        assert len(table) == 8 * loops
        for scheme, column in (("reo-minus", "t1_ms"), ("reo", "t2_ms")):
            # electronics25 section 4: the first loop begins with a short pulse; fail bits choose the last pulse.
            pulses, done, loop, ended = [2], 2, 0, False
            while done < needed + 0.5 and not ended:
                rest = len(pulses) == 1
                full, loop = (grains - 2, 0) if rest else (grains, loop + 1)
                cell = table.get((loop + 1, chip.fail_range(chip.fail_bits(needed + 0.5 - done))))
                if loop == loops:
                    break
                ms = None if cell is None else cell[column]
                pulse = full if ms is None else min(full, round(ms * 1e6 / grain_ns))
                if cell is not None:
                    assert ms == pytest.approx(pulse * grain_ns / 1e6), (needed, scheme, loop)
                    seen.add((loop, cell["range"], column))
                if pulse == 0:
                    break
                pulses.append(pulse)
                done += pulse
                ended = pulse < full and scheme == "reo"
            settings = {"chip.model": str(file), "ftl.erase_when": "opened", "bus.t_command": "0us"}
            one = {f"geometry.{part}": 1 for part in ("channels", "chips", "planes")}
            run = ssdlab.run("electronics25", write, scheme=scheme, age="pec=0,fill=0.5", settings=settings | one)
            took = round(run["usage.die.erase"] / 100 * run["host.elapsed_s"] * 1e9)
            assert took == sum(pulses) * grain_ns + len(pulses) * 100_000, (needed, scheme, pulses)
    assert len(seen) > 4 * loops


def test_the_rpt_and_the_vpt_of_characterize_are_those_of_the_drive(tmp_path: Path) -> None:
    file = chip_file(tmp_path, gate_grain=0.02)
    # Whatever population is looked at.
    chip = characterize.load(file, chips=2, blocks=2)
    drive = ssdlab.run("asplos21", "random-read-8k", scheme="ar2", requests=1, settings={"chip.model": str(file)})
    profiled = characterize.rpt(chip).select("pec", "months", "cut").rows()
    assert profiled == [tuple(row) for row in drive.manifest.device.rpt]
    volts = characterize.wordline_speeds(chip)["gate_v"]
    # exp(2.36 V) times the slowest wordline's shift is the fastest's, 1.4, at 0.143 V.
    assert volts.max() == pytest.approx(0.14)
    assert volts.n_unique() == 8
    assert characterize.gate_voltages(chip).height == 51


def test_every_constant_of_every_chip_has_a_source(cli: Cli) -> None:
    for name in Chip.names():
        chip = characterize.load(name, chips=1, blocks=1)
        for constant in chip.constants:
            assert constant["value"], (name, constant)
            assert len(constant["about"]) > 10, (name, constant)
            assert len(constant["source"]) > 5, (name, constant)
    shown = cli("characterize", "tlc48", "--constants").stdout
    assert "cells.width_shift" in shown
    assert "fitted (rr.steps" in shown


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("characterize", "tlc47"), "did you mean `tlc48`?"),
        (("characterize", "absent.toml"), "cannot be read"),
        (("characterize", "bad.toml"), "bad.toml"),
        (("characterize", "tlc48", "--only", "rtp"), "no table is called rtp"),
        (("run", "--set", "chip.model=tlc47"), "did you mean `tlc48`?"),
        (("run", "--set", "chip.model=absent.toml"), "cannot be read"),
        (("run", "--set", "chip.model=bad.csv"), "bad.csv:2: steps"),
        (("run", "--set", "chip.model=slc"), "is a chip of 1 bits a cell"),
        (("run", "--set", "energy.sense_mw=-1"), "energy.sense_mw: is -1"),
    ],
)
def test_bad_chips_are_answered_with_place_and_remedy(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], part: str
) -> None:
    (tmp_path / "bad.toml").write_text("[cells]\nbits = 3\n")
    (tmp_path / "bad.csv").write_text("pec,months,steps,pages\n0,0,x,1\n")
    done = cli(*words)
    assert done.returncode == 2
    assert part in done.stderr
    assert "\n  help: " in done.stderr


def test_older_and_more_worn_data_needs_more_retry_steps(tmp_path: Path) -> None:
    def steps(age: str, model: str = "tlc48") -> float:
        settings = {"chip.model": model, "age.temperature": "85C", "mapping.table": "ideal"}
        result = ssdlab.run("asplos21", "random-read-8k", age=age, requests=4000, settings=settings)
        assert result["flash.retry.unreadable"] == 0
        return float(result["flash.retry.steps.mean"])

    ages = ["pec=0", "pec=0,retention=3mo", "pec=1000,retention=3mo", "pec=2000,retention=12mo"]
    found = [steps(age) for age in ages]
    assert found[0] == 0.0
    assert found == sorted(found)
    # asplos21 section 3.1: 19.9 at 2K P/E and a year.
    assert found[3] == pytest.approx(19.9, abs=0.6)
    table = tmp_path / "steps.csv"
    table.write_text("pec,months,steps,pages\n0,0,0,10\n2000,12,9,10\n")
    assert steps(ages[3], str(table)) == 9.0
    none = ssdlab.run("asplos21", "random-read-8k", requests=100, settings={"chip.model": "none"})
    assert none["flash.retry.steps.mean"] is None


def test_the_content_of_a_chip_file_decides_the_case(tmp_path: Path) -> None:
    file = tmp_path / "chip.toml"
    preset = Path(__file__).parent.parent / "presets" / "chips" / "tlc48.toml"
    file.write_text(preset.read_text())
    sweep = {"run": {"requests": 100, "chip.model": str(file)}, "axes": {"seed": [1]}}
    first = ssdlab.sweep(sweep, cache=tmp_path / "cache")
    file.write_text(preset.read_text().replace("capability = 72", "capability = 60"))
    second = ssdlab.sweep(sweep, cache=tmp_path / "cache")
    assert second.played == 1
    assert first.table["case"][0] != second.table["case"][0]


def test_energy_is_power_times_time_and_energy_times_data() -> None:
    result = ssdlab.run("tlc", "default", requests=5000)
    elapsed_ns = result["host.elapsed_s"] * 1e9
    sensing = result["usage.die.read"] / 100 * elapsed_ns * 32
    assert result["energy.sense"] == pytest.approx(sensing * 82.5 / 1e3 / 1e6, rel=1e-6)
    parts = [result.energy[name] for name in ("sense", "transfer", "program", "erase", "decode", "predict")]
    assert result.energy.total == pytest.approx(sum(parts))
    moved = result["host.read.bytes"] + result["host.write.bytes"]
    assert result.energy.per_gb == pytest.approx(result.energy.total / 1e3 / (moved / 1e9))
    twice = ssdlab.run("tlc", "default", requests=5000, settings={"energy.decode_nj": 163.8})
    assert twice.energy.decode == pytest.approx(2 * result.energy.decode)


@pytest.mark.slow
def test_the_statistics_of_retries_say_what_the_schemes_do() -> None:
    def play(scheme: str, age: str = "pec=2000,retention=12mo", **settings: str | float) -> ssdlab.Result:
        return ssdlab.run(
            "asplos21",
            "asplos21/YCSB-B",
            scheme=scheme,
            age=age,
            requests=1500,
            settings={f"read.{k}": v for k, v in settings.items()},
        )

    baseline, pr2, ar2, pso = (play(scheme) for scheme in ("baseline", "pr2", "ar2", "pso"))
    steps = [baseline[f"flash.retry.steps.{name}"] for name in ("min", "p50", "p99", "max")]
    assert steps == sorted(steps)
    assert steps[0] == 0
    assert 0 < baseline["flash.retry.share"] < 1
    for name in ("speculative", "speculative_time", "set_features", "tracked", "t_pre_fallbacks"):
        assert baseline[f"flash.retry.{name}"] == 0, name
    assert baseline["energy.speculative"] == 0
    # PR2 senses in vain, which is part of the sensing and makes a read dearer.
    assert pr2["flash.retry.speculative"] > 0
    assert pr2["flash.retry.speculative_time"] > 0
    assert 0 < pr2["energy.speculative"] < pr2["energy.sense"]
    assert pr2["energy.per_read"] > baseline["energy.per_read"] > ar2["energy.per_read"]
    assert ar2["flash.retry.set_features"] > 0
    assert pso["flash.retry.tracked"] > 0
    assert play("ar2", rpt_error=-8000)["flash.retry.t_pre_fallbacks"] > 0
    lost = play("baseline", age="pec=3000,retention=90mo")
    assert 0 < lost["host.uncorrectable"] <= lost["flash.retry.unreadable"]


@pytest.mark.slow
def test_the_statistics_of_predictions_say_what_the_schemes_do() -> None:
    def play(scheme: str, **settings: str | float) -> ssdlab.Result:
        settings = {f"read.{key}": value for key, value in settings.items()}
        age = "pec=1000,retention=uniform:0..30d"
        return ssdlab.run("hpca24", "hpca24/Ali_124", scheme=scheme, age=age, requests=2000, settings=settings)

    swr, rpssd, rif = (play(scheme) for scheme in ("swr", "rpssd", "rif"))
    assert swr["flash.prediction.made"] == swr["energy.predict"] == 0
    for result in (rpssd, rif):
        made = result["flash.prediction.made"]
        assert result["energy.predict"] == pytest.approx(made * 3.2 / 1e6)
        assert 0 < result["flash.prediction.failures"] < made
        assert 0.95 < result["flash.prediction.accuracy"] < 1
    # The controller's prediction ends decodings, and the die's transfers too (hpca24 Fig. 18).
    channel = {name: of.usage.channel for name, of in (("swr", swr), ("rpssd", rpssd), ("rif", rif))}
    assert channel["rpssd"]["ecc_wait"] < 0.1 * channel["swr"]["ecc_wait"]
    assert channel["rif"]["failed_reads"] < 0.1 * channel["rpssd"]["failed_reads"]
    vain = [of["flash.retry.uncorrectable_transfers"] for of in (swr, rpssd, rif)]
    assert vain[2] < 0.1 * vain[0]
    # What RPSSD saves of decodings it spends on retries of pages that could have been corrected.
    assert rif["energy.per_read"] < 0.8 * min(rpssd["energy.per_read"], swr["energy.per_read"])
    assert rpssd["energy.per_read"] == pytest.approx(swr["energy.per_read"], rel=0.05)
    worse = play("rif", prediction_accuracy=0.8)
    assert worse["flash.prediction.accuracy"] == pytest.approx(0.8, abs=0.02)
    assert worse["host.all.bandwidth_mb_s"] < rif["host.all.bandwidth_mb_s"]
