"""Shards of a sweep: their parts make the table of one machine, and what does not belong together is refused."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import polars
import pytest

import ssdlab
from conftest import Cli
from ssdlab.runs.findings import Finding
from ssdlab.sweeps.shards import HEADER, NUMBER, Shard, read_part
from ssdlab.sweeps.spec import Sweep, labels_at

FILE = """
statistics = ["host.*.latency_ns.*", "ftl.*", "flash.*"]
[run]
requests = 60
[axes]
device = ["tlc", "asplos21"]
"workload.rw" = ["randread", "randrw"]
seed = [1, 2, 3]
[axes.age]
fresh = "pec=0"
old = "pec=1500,retention=3mo"
broken = "pec=-1"
"""
"""Cases that differ in their statistics and in their warnings, and cases that fail."""


def trace_of(path: Path, requests: int) -> None:
    """A trace of reads."""
    path.write_text("".join(f"{1000 * i},web,0,Read,{i * 4096},4096,1\n" for i in range(requests)))


def written(folder: Path, source: Any, shards: int, **options: Any) -> list[Path]:
    """The parts of a sweep, each with a cache of its own."""
    paths = [folder / f"part.{number}.parquet" for number in range(1, shards + 1)]
    for number, path in enumerate(paths, 1):
        cache = folder / f"cache.{number}"
        ssdlab.sweep(source, cache=cache, shard=f"{number}/{shards}", out=path, **options)
    return paths


def test_every_case_is_in_one_shard_and_shards_are_alike() -> None:
    draw = random.Random(3)
    for cases in (1, 7, 1000, draw.randrange(5000, 9000)):
        for of in (1, 2, 3, 10, 64, draw.randrange(65, 200)):
            held = [list(Shard(number, of).numbers(cases)) for number in range(1, of + 1)]
            assert sorted(number for each in held for number in each) == list(range(cases))
            assert max(map(len, held)) - min(map(len, held)) <= 4, (cases, of)
            for shard, numbers in enumerate(held, 1):
                assert all(Shard.of_case(number, of) == Shard(shard, of) for number in numbers[:20])
    # Where an axis has as many labels as there are shards each shard has cases of every label.
    spread = {(number % 10, Shard.of_case(number, 10).number) for number in range(10_000)}
    assert len(spread) == 100


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/2", "1/2/3", "1/9999999999", ""])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ssdlab.InputError, match="is no part of a whole\n  help: write i/N"):
        Shard.read(text)


def test_the_labels_of_a_case_follow_from_its_number() -> None:
    sweep = Sweep.read({"axes": {"seed": [1, 2, 3], "requests": [10, 20], "scheme": ["none", "rps"]}})
    cases = sweep.cases()
    assert [labels_at(cases.labels_of, number) for number in range(12)] == [case.labels for case in cases]
    some = cases.only([3, 7])
    assert [case.labels for case in some] == [cases[3].labels, cases[7].labels]


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 3, 50])
def test_the_merged_table_is_that_of_one_machine_to_the_byte(cli: Cli, tmp_path: Path, shards: int) -> None:
    (tmp_path / "sweep.toml").write_text(FILE)
    whole = ssdlab.sweep(tmp_path / "sweep.toml", cache=tmp_path / "whole", out=tmp_path / "whole.csv")
    assert whole.failed
    assert len({bool(each) for each in whole.warnings}) == 2, "some cases have warnings"
    paths = written(tmp_path, tmp_path / "sweep.toml", shards)
    assert sum(read_part(str(path)).frame.height for path in paths) == 36
    assert any(read_part(str(path)).frame.height == 0 for path in paths) == (shards > 36)
    random.Random(shards).shuffle(paths)
    merged = ssdlab.merge(paths, out=tmp_path / "merged.csv")
    assert (tmp_path / "merged.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert merged.failed == whole.failed
    assert merged.warnings == whole.warnings
    assert merged.warning_lines() == whole.warning_lines()
    done = cli("merge", *paths, "--out", "again.csv")
    assert done.returncode == 1, "cases have failed"
    assert "wrote again.csv: 36 cases" in done.stdout
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_warning_of_all_cases_is_one_of_the_whole_sweep_only(tmp_path: Path) -> None:
    """That a setting has no effect counts where it has none in any case: no shard can know."""
    sweep = {"run": {"requests": 50, "age": "pec=1000", "device": "hpca24"}, "axes": {"scheme": ["ssd-zero", "swr"]}}
    paths = written(tmp_path, sweep, 2)
    lone = {of.id for number in (1, 2) for of in _kinds(sweep, tmp_path / f"cache.{number}", f"{number}/2")}
    assert "settings-without-effect" in lone
    merged, whole = ssdlab.merge(paths), ssdlab.sweep(sweep, cache=tmp_path / "whole")
    assert merged.warnings == whole.warnings
    assert "settings-without-effect" not in {of.id for each in merged.warnings for of in each}


def _kinds(sweep: Any, cache: Path, shard: str) -> list[Finding]:
    return [of for each in ssdlab.sweep(sweep, cache=cache, shard=shard).warnings for of in each]


SMALL: dict[str, Any] = {"run": {"requests": 20}, "axes": {"seed": [*range(1, 9)]}}


def test_missing_cases_and_those_of_two_parts_are_named(cli: Cli, tmp_path: Path) -> None:
    first, second, third = written(tmp_path, SMALL, 3)
    with pytest.raises(ssdlab.InputError) as caught:
        ssdlab.merge([first, third], out=tmp_path / "x.csv")
    missing = read_part(str(second)).frame[NUMBER].to_list()
    assert f"{len(missing)} of 8 cases are missing, those of shards 2/3: seed={missing[0] + 1}" in str(caught.value)
    assert "help: ssdlab sweep sweep --shard 2/3 --out PART.parquet" in str(caught.value)
    assert not (tmp_path / "x.csv").exists()
    with pytest.raises(ssdlab.InputError) as caught:
        ssdlab.merge([first, second, third, second])
    assert f"{len(missing)} cases are in both: seed={missing[0] + 1}" in str(caught.value)
    # Shards of another number: some cases are there twice, and others are not there.
    (tmp_path / "other").mkdir()
    half = written(tmp_path / "other", SMALL, 2)[0]
    with pytest.raises(ssdlab.InputError, match="are in both"):
        ssdlab.merge([first, second, half])
    done = cli("merge", first, "--out", "x.csv")
    assert done.returncode == 2
    assert "error: " in done.stderr


def test_parts_of_other_sweeps_builds_and_files_are_refused(tmp_path: Path) -> None:
    first, second = written(tmp_path, SMALL, 2)
    for name, change, problem in (
        ("digest", "0" * 64, "are of different sweeps"),
        ("build", "ssdlab 0.0.9", "were played by different builds:\n  ssdlab"),
        ("quick", True, "--quick was given for one of them"),
        ("traces", True, "--traces was given for one of them"),
        ("axes", {"seed": [1, 2]}, "are of different sweeps"),
    ):
        frame = polars.read_parquet(second)
        about = json.loads(frame[HEADER][0]) | {name: change}
        changed = [json.dumps(about), *[None] * (frame.height - 1)]
        frame.with_columns(polars.Series(HEADER, changed)).write_parquet(tmp_path / "other.parquet")
        with pytest.raises(ssdlab.InputError, match=problem) as caught:
            ssdlab.merge([first, tmp_path / "other.parquet"])
        assert f"{first} and {tmp_path / 'other.parquet'}: " in str(caught.value)
        assert "\n  help: run the shards again with the same files" in str(caught.value)


def test_a_file_that_is_another_one_on_another_machine_is_found_out(tmp_path: Path) -> None:
    """Each shard is run in a folder of its own, as on machines of their own."""
    paths = []
    for number, requests in ((1, 40), (2, 41)):
        home = tmp_path / f"machine{number}"
        home.mkdir()
        trace_of(home / "my.csv", requests)
        (home / "sweep.toml").write_text('[run]\nworkload = "my.csv"\n[axes]\nseed = [1, 2, 3, 4]\n')
        paths.append(home / "part.parquet")
        ssdlab.sweep(home / "sweep.toml", cache=home / "cache", shard=f"{number}/2", out=paths[-1])
    with pytest.raises(ssdlab.InputError, match=r"my\.csv was another file for each"):
        ssdlab.merge(paths)
    trace_of(tmp_path / "machine2" / "my.csv", 40)
    ssdlab.sweep(tmp_path / "machine2" / "sweep.toml", cache=tmp_path / "c", shard="2/2", out=paths[1])
    whole = ssdlab.sweep(tmp_path / "machine1" / "sweep.toml", cache=tmp_path / "c")
    assert ssdlab.merge(paths).table.equals(whole.table)


def test_what_is_no_part_is_refused_with_the_remedy(tmp_path: Path) -> None:
    table = ssdlab.sweep(SMALL, cache=tmp_path / "cache").table
    table.write_parquet(tmp_path / "table.parquet")
    table.write_csv(tmp_path / "table.csv")
    (part,) = written(tmp_path, SMALL, 1)
    (tmp_path / "torn.parquet").write_bytes(part.read_bytes()[:-40])
    for name in ("table.parquet", "table.csv", "torn.parquet", "absent.parquet"):
        with pytest.raises(ssdlab.InputError, match=rf"{name}: (is no part|cannot be read)(.|\n)*\n  help: "):
            ssdlab.merge([tmp_path / name])
    with pytest.raises(ssdlab.InputError, match=r"--out x\.csv: a shard writes a part of the table"):
        ssdlab.sweep(SMALL, cache=tmp_path / "cache", shard="1/2", out="x.csv")


STUDY = """
import polars

from ssdlab.common.output import write

def computed(progress):
    write(COUNTED, str(1 + int(open(COUNTED).read())).encode())
    return polars.DataFrame({"case": ["a"], "number": [0.5]})

TABLES = {"computed": computed}
"""


def study_in(folder: Path) -> Path:
    """A study of two sweeps, one of which has cases that fail, and a table that it computes."""
    (folder / "lab").mkdir()
    (folder / "counted").write_text("0")
    (folder / "lab" / "claims.toml").write_text("claims = []\n")
    (folder / "lab" / "study.py").write_text(f"COUNTED = {str(folder / 'counted')!r}\n{STUDY}")
    (folder / "lab" / "seeds.toml").write_text("[run]\nrequests = 20\n[axes]\nseed = [1, 2, 3, 4, 5]\n")
    (folder / "lab" / "ages.toml").write_text(FILE)
    return folder / "lab"


@pytest.mark.drawn
@pytest.mark.slow
def test_the_shards_of_a_study_make_the_tables_of_one_machine(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = study_in(tmp_path)
    monkeypatch.setenv("SSDLAB_STUDIES", str(tmp_path))
    assert cli("study", "run", "lab", "--cache", "whole", "--results", "whole-results").returncode == 1, "cases fail"
    for number in (1, 2, 3):
        done = cli("study", "run", "lab", "--shard", f"{number}/3", "--cache", f"cache.{number}", "--results", "parts")
        assert f"wrote shard {number}/3 of 2 sweeps into parts" in done.stdout, done.stderr
    assert (tmp_path / "counted").read_text() == "2", "the first shard alone computes what no sweep gives"
    done = cli("study", "merge", "lab", "parts")
    assert done.returncode == 1, "cases have failed"
    assert "12 cases failed" in done.stderr
    names = {path.name for path in (lab / "results").iterdir()}
    assert names == {"computed.csv", "seeds.csv", "ages.csv", "versions.toml"}
    for name in names:
        assert (lab / "results" / name).read_bytes() == (tmp_path / "whole-results" / name).read_bytes(), name
    # What is missing is named, and nothing is written.
    (tmp_path / "parts" / "seeds.2-of-3.parquet").unlink()
    before = {name: (lab / "results" / name).stat().st_mtime_ns for name in names}
    done = cli("study", "merge", "lab", "parts")
    assert done.returncode == 2
    assert "cases are missing, those of shards 2/3" in done.stderr
    (tmp_path / "parts" / "computed.csv").rename(tmp_path / "computed.csv")
    done = cli("study", "merge", "lab", "parts")
    assert "parts: has no computed.csv\n  help: `ssdlab study run lab --shard i/N --results parts`" in done.stderr
    (tmp_path / "computed.csv").rename(tmp_path / "parts" / "computed.csv")
    (tmp_path / "parts" / "versions.toml").write_text("computed = 3\n")
    done = cli("study", "merge", "lab", "parts")
    assert "computed.csv: is of results version 3, and this program is of" in done.stderr
    assert before == {name: (lab / "results" / name).stat().st_mtime_ns for name in names}
    for words in (("--quick",), ("--figures", "x")):
        done = cli("study", "run", "lab", "--shard", "1/2", *words)
        assert done.returncode == 2
        assert "--shard writes parts of tables" in done.stderr


def test_findings_keep_their_numbers_on_the_way(tmp_path: Path) -> None:
    (part,) = written(tmp_path, SMALL, 1)
    merged, whole = ssdlab.merge([part]), ssdlab.sweep(SMALL, cache=tmp_path / "cache.1")
    assert merged.warnings == whole.warnings
    found = merged.warnings[0][0]
    assert isinstance(found, Finding)
    assert all(math.isfinite(value) for value in found.numbers.values())
