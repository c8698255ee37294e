"""What puts results in doubt is said everywhere: on the screen, in JSON, in Python, in tables, where compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest

import ssdlab
from conftest import Cli
from ssdlab.runs import findings
from ssdlab.show import runs as shown
from ssdlab.sweeps.table import axes_of, read_table, statistics_of

SMALL = {
    "geometry.channels": 1,
    "geometry.chips": 1,
    "geometry.dies": 1,
    "geometry.planes": 2,
    "geometry.blocks": 64,
    "geometry.pages": 66,
    "ftl.over_provisioning": 0.5,
}
READS: dict[str, Any] = {"settings": {**SMALL, "workload.rw": "randread"}, "requests": 1200, "replay": "closed:4"}
WORN = "pec=10000,retention=1y"
"""Of this age no read is corrected."""


def ids(result: Any) -> list[str]:
    return [finding.id for finding in result.warnings]


def test_the_docs_table_is_the_cores(in_page: Callable[[str, str, str], None]) -> None:
    lines = ["| id | what it says | when | why there | left out of comparisons |", "|---|---|---|---|---|"]
    for kind in findings.kinds():
        excludes = "yes" if kind.excludes else ""
        lines.append(f"| `{kind.id}` | {kind.meaning} | {kind.when} | {kind.why} | {excludes} |")
    in_page("warnings.md", "warnings", "\n".join(lines) + "\n")


def test_a_clean_run_says_nothing_and_a_broken_drive_says_so_first(tmp_path: Path) -> None:
    clean = ssdlab.run("tlc", **READS)
    assert isinstance(clean, ssdlab.Result)
    assert (clean.warnings, clean.to_dict()["warnings"], shown.warnings_of(clean)) == ((), [], [])
    worn = ssdlab.run("tlc", **READS, age=WORN, json_out=tmp_path / "worn.json")
    assert isinstance(worn, ssdlab.Result)
    assert ids(worn) == ["uncorrectable-reads"]
    (finding,) = worn.warnings
    assert finding.excludes
    assert finding.numbers == {"requests": worn.host.uncorrectable, "share": 1.0}
    first, second = shown.warnings_of(worn)
    assert first.startswith("warning: uncorrectable-reads: 1,200 of 1,200 reads")
    assert second.startswith("  help: ")
    loaded = ssdlab.load(tmp_path / "worn.json")
    assert isinstance(loaded, ssdlab.Result)
    assert loaded.warnings == worn.warnings
    assert all(not name.startswith("warnings") for name, *_ in loaded.scalars())
    saved = json.loads((tmp_path / "worn.json").read_text())
    assert list(saved)[:2] == ["manifest", "warnings"]
    del saved["warnings"]
    (tmp_path / "old.json").write_text(json.dumps(saved))
    assert ssdlab.load(tmp_path / "old.json").warnings == ()


def test_repeats_say_each_kind_once() -> None:
    runs = ssdlab.run("tlc", **READS, age=WORN, repeat=2)
    assert isinstance(runs, ssdlab.Runs)
    assert ids(runs) == ["uncorrectable-reads"]
    assert "(in 2 of 2 runs)" in shown.warnings_of(runs)[0]


def test_settings_without_effect_are_a_finding() -> None:
    told = ssdlab.run("tlc", **{**READS, "settings": {**READS["settings"], "power.plp": True}})
    assert isinstance(told, ssdlab.Result)
    assert ids(told) == ["settings-without-effect"]
    assert "power.plp without power.cut_at" in told.warnings[0].text
    assert not told.warnings[0].excludes


def test_a_load_that_an_aged_drive_carries_is_no_overload_and_a_tenfold_one_is() -> None:
    rate = 5_000.0

    def run(rate: float) -> Any:
        settings = {"workload.rate_iops": rate}
        return ssdlab.run("asplos21", age="pec=2000,retention=6mo", settings=settings, requests=20_000)

    assert "overload" not in ids(run(rate))
    overloaded = run(10 * rate)
    assert "overload" in ids(overloaded)
    numbers = overloaded.warnings[0].numbers
    assert numbers["offered_iops"] == pytest.approx(10 * rate, rel=0.02)
    assert numbers["carried_iops"] < 0.9 * numbers["offered_iops"]


ZONES = {"workload.rw": "randwrite", "workload.zone_size": "1152MiB"}


def test_requests_that_zones_refuse_are_said() -> None:
    def run(**settings: Any) -> Any:
        return ssdlab.run("zns", settings=ZONES | settings, requests=2000, replay="closed:4")

    allowed = run(**{"workload.open_zones": 14})
    assert "refused" not in ids(allowed)
    too_many = run(**{"workload.open_zones": 20})
    (finding,) = (of for of in too_many.warnings if of.id == "refused")
    assert finding.excludes
    assert finding.numbers["requests"] == too_many.to_dict()["zones"]["refused"]
    assert "Too Many Active Zones" in finding.text
    assert "zones.max_active is 14" in finding.text
    assert "workload.open_zones" in finding.remedy
    unordered = run(**{"workload.zone_size": "none"})
    (finding,) = (of for of in unordered.warnings if of.id == "refused")
    assert "Zone Invalid Write" in finding.text
    assert "workload.zone_size" in finding.remedy


DRIVE = {
    "geometry.channels": 2,
    "geometry.chips": 1,
    "geometry.dies": 2,
    "geometry.planes": 2,
    "geometry.blocks": 128,
    "geometry.pages": 96,
    "ftl.over_provisioning": 0.25,
    "buffer.size": "4MiB",
    "workload.rw": "randwrite",
}


def small(settings: dict[str, Any], replay: str = "closed:8") -> Any:
    return ssdlab.run("tlc", settings=DRIVE | settings, requests=2000, replay=replay)


def test_a_load_that_fills_the_drive_says_so() -> None:
    half: dict[str, Any] = {"age.precondition": "closed-form", "age.fill": 0.5}
    assert "writes-beyond-fill" in ids(small(half))
    assert "writes-beyond-fill" not in ids(small(half | {"workload.footprint": "500MiB"}))
    assert "writes-beyond-fill" not in ids(small(half | {"age.fill": 1.0}))


def test_power_cuts_stand_below_the_tables_and_missing_ones_are_said() -> None:
    cut = small({"power.cut_at": ["op:40"]})
    assert "cuts-missing" not in ids(cut)
    (line,) = (line for line in shown.of_result(cut)[1] if "power cut" in line)
    assert line.startswith("1 power cut: ")
    assert f"{cut.power.lost:,} pages of acknowledged data lost, {cut.power.aborted:,} requests not completed" in line
    never = small({"power.cut_at": ["op:4000000"]})
    assert "cuts-missing" in ids(never)
    assert not any("power cut" in line for line in shown.of_result(never)[1])


def test_requests_of_a_generator_that_come_at_once_are_said() -> None:
    at_once = {"workload.rw": "randread", "workload.rate_iops": "none"}
    assert "trace-at-once" in ids(small(at_once, "timed"))
    assert "trace-at-once" not in ids(small(at_once))
    assert "trace-at-once" not in ids(small(at_once | {"workload.iodepth": 4}, "timed"))


def test_handles_that_there_are_not_are_said() -> None:
    assert "unknown-handles" in ids(small({"ftl.hints": 4, "workload.hint": 9}))
    assert "unknown-handles" not in ids(small({"ftl.hints": 4, "workload.hint": 3}))


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"workload.hint": 3}, "workload.hint without ftl.hints"),
        ({"workload.read_ratio": 0.5}, "workload.read_ratio without reads and writes mixed"),
        ({"workload.rw": "randrw", "workload.read_ratio": 0.5}, None),
    ],
)
def test_settings_of_a_generator_without_effect_are_a_finding(settings: dict[str, Any], text: str | None) -> None:
    found = [of.text for of in small(settings).warnings if of.id == "settings-without-effect"]
    assert len(found) == (text is not None)
    assert text is None or text in found[0]


def trace(path: Path, line: Callable[[int], str]) -> Path:
    path.write_text("".join(line(n) for n in range(400)))
    return path


@pytest.mark.parametrize(
    ("found", "line"),
    [
        ([], lambda n: f"{n * 10_000 + 10**17},h,0,Read,{n * 4096},4096,1\n"),
        # In sectors and microseconds, as if they were bytes and ticks of 100 ns.
        (["trace-units"], lambda n: f"{n * 1000 + 10**17},h,0,Read,{n * 8},8,1\n"),
        (["trace-units"], lambda n: f"{n * 10_000 + 10**17},h,0,Read,{n * 8},{600 + n},1\n"),
        (["trace-at-once"], lambda n: f"{10**17},h,0,Read,{n * 4096},4096,1\n"),
        (["trace-clock"], lambda n: f"{10**17 + (n if n != 50 else n - 2001) * 10_000},h,0,Read,{n * 4096},4096,1\n"),
    ],
    ids=["right", "sectors", "ragged", "at-once", "backwards"],
)
def test_the_head_of_a_trace_is_inspected(tmp_path: Path, found: list[str], line: Callable[[int], str]) -> None:
    path = trace(tmp_path / "t.csv", line)
    result = ssdlab.run("tlc", path, settings=SMALL, format="msr", replay="closed:4")
    assert [id for id in ids(result) if id.startswith("trace")] == found


def product(tmp_path: Path, ages: list[str]) -> Any:
    shared = {**READS["settings"], "requests": 1200, "replay": "closed:4", "device": "tlc"}
    axes = {"age": ages, "scheme": ["baseline", "pr2"], "seed": [1, 2]}
    return ssdlab.sweep({"run": shared, "axes": axes}, cache=tmp_path / "cache", out=tmp_path / "table.csv", threads=2)


def test_sweeps_mark_cases_and_comparisons_leave_them_out(tmp_path: Path) -> None:
    outcome = product(tmp_path, ["pec=0", WORN])
    assert outcome.table.columns[3:5] == ["case", "warnings"]
    assert outcome.table["warnings"].to_list() == [None] * 4 + ["uncorrectable-reads"] * 4
    assert "(in 4 of 8 cases)" in outcome.warning_lines()[0]
    table = read_table(tmp_path / "table.csv")
    assert axes_of(table) == ["age", "scheme", "seed"]
    assert "warnings" not in statistics_of(table)
    assert table["warnings"].to_list() == outcome.table["warnings"].to_list()
    compared = ssdlab.compare(table)
    assert list(compared.rows) == ["pec=0"]
    assert compared.left_out is not None
    assert str(compared.left_out).startswith("4 of 8 cases are left out for their warnings (uncorrectable-reads)")
    everything = ssdlab.compare(table, accept_warnings=True)
    assert (len(everything.rows), everything.left_out) == (3, None)
    with pytest.raises(ssdlab.InputError, match="4 of 8 cases carry warnings: uncorrectable-reads"):
        shares(table)
    assert shares(table, accept_warnings=True).height
    with pytest.raises(ssdlab.InputError, match="every case carries a warning"):
        ssdlab.compare(table.filter(table["age"] == WORN))
    # What was kept before there were warnings is taken as it is.
    old = table.drop("warnings")
    assert len(ssdlab.compare(old).rows) == 3
    assert shares(old).height


def shares(table: polars.DataFrame, **options: bool) -> polars.DataFrame:
    from ssdlab.sweeps.shares import shares as found

    return found(table, "host.read.latency_ns.mean", ["age", "scheme"], **options)


def test_a_search_leaves_out_what_its_full_cases_mark(tmp_path: Path) -> None:
    space = {
        "run": {**READS["settings"], "requests": 1200, "replay": "closed:4", "device": "tlc"},
        "axes": {"age": ["pec=0", WORN], "scheme": ["baseline", "pr2"]},
        "objectives": {"host.read.latency_ns.mean": {"goal": "min"}},
        "budget": 100,
        "race": {"rungs": [{"requests": 1, "seeds": 2}]},
        "verify": {"seeds": 2},
        "effects": {"candidates": 0},
    }
    found = ssdlab.search(space, cache=tmp_path / "cache", threads=2)
    marked = found.candidates.filter(found.candidates["state"] == "marked")
    assert marked["age"].to_list() == [WORN, WORN]
    assert marked["why"][0] == "uncorrectable-reads in 2 of 2 cases"
    accepted = ssdlab.search(space, cache=tmp_path / "cache", threads=2, accept_warnings=True)
    assert "marked" not in accepted.candidates["state"].to_list()
    assert accepted.doubts() == {}, "young drives win, without any warning"
    # A winner in doubt says so, wherever it is shown.
    worn = {**space, "axes": {"age": [WORN]}}
    doubtful = ssdlab.search(worn, cache=tmp_path / "cache", threads=2, accept_warnings=True)
    why = "taken with its warnings: uncorrectable-reads in 2 of 2 cases"
    assert (doubtful.doubts(), doubtful.candidates["why"].to_list()) == ({1: why}, [why])
    assert f"warning: candidate 1 is {why}" in " ".join(str(doubtful).split())


def test_strict_is_strict_with_what_a_search_accepts(cli: Cli, tmp_path: Path) -> None:
    text = "budget = 9\n[run]\nrequests = 300\n'workload.rw' = 'randwrite'\n[axes]\n'workload.bs' = ['4KiB']\n"
    text += "[race]\nrungs = [{ seeds = 2 }]\n[verify]\nseeds = 2\n[effects]\ncandidates = 0\n"
    (tmp_path / "s.toml").write_text(text + "[objectives]\n'host.write.latency_ns.mean' = 'min'\n")
    done = cli("search", "s.toml", "--accept-warnings", "--strict")
    assert done.returncode == 3
    assert "warning: candidate 1 is taken with its warnings: " in done.stdout


def test_strict_ends_with_status_3(cli: Cli) -> None:
    settings = [f"--set={key}={value}" for key, value in READS["settings"].items()]
    words = ("run", "--device", "tlc", "--requests", "1200", "--replay", "closed:4", "--strict", *settings)
    clean = cli(*words)
    assert (clean.returncode, "warning:" in clean.stdout) == (0, False)
    worn = cli(*words, "--age", WORN)
    assert worn.returncode == 3
    assert worn.stdout.startswith("warning: uncorrectable-reads: ")
    quiet = cli(*words, "--age", WORN, "-q")
    assert (quiet.returncode, quiet.stdout) == (3, "")
    assert quiet.stderr.startswith("warning: uncorrectable-reads: ")
