"""The studies: claims, kept results, golden results."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from ssdlab import _core, study
from ssdlab.common.frames import read_csv
from ssdlab.study.folder import Study

SSDLAB = Path(sys.executable).with_name("ssdlab")
HERE = Path(__file__).parent
PAPERS = HERE.parent.parent / "shared" / "claims.toml"
GOLDEN = HERE / "golden" / "results.json"
TRACES = Path(os.environ.get("SSDLAB_TRACES") or HERE.parent.parent / "shared" / "traces")

CASES = {
    "default": {"device": "tlc", "workload": "default"},
    "aged": {"device": "tlc", "workload": "mixed-10-90-16k", "precondition": "closed-form", "replay": "closed:32"},
    "fast12": {"device": "fast12-mlc", "workload": "fast12/F2", "scheme": "fifo"},
    "jobs": {"device": "asplos21", "workload": "two-tenants"},
    "mapped": {"device": "mqsim", "workload": "random-read-8k"},
}


def golden() -> dict[str, object]:
    results = {}
    for name, words in CASES.items():
        found = ssdlab.run(**words, requests=3000).to_dict()  # type: ignore[call-overload]
        results[name] = {part: found[part] for part in ("host", "flash", "ftl")}
    return {"results_version": _core.RESULTS_VERSION, "results": results}


def changed(kept: Any, now: Any, name: str = "") -> list[str]:
    """The statistics that are others than those kept, or are gone. New ones change nothing."""
    if isinstance(kept, dict) and isinstance(now, dict):
        parts = ((key, f"{name}.{key}" if name else key) for key in kept)
        return [
            line
            for key, inner in parts
            for line in (changed(kept[key], now[key], inner) if key in now else [f"{inner}: is gone"])
        ]
    return [] if kept == now else [f"{name}: {kept} -> {now}"]


def check_golden(path: Path, now: dict[str, Any], update: bool) -> None:
    """Compares results with those of a file, and writes them there if asked to and if that is right: results may
    change only with their version. A file of another version is written again."""
    kept = json.loads(path.read_text())
    of_today = kept["results_version"] == now["results_version"]
    differences = changed(kept["results"], now["results"]) if of_today else []
    assert not differences, (
        f"results have changed, and RESULTS_VERSION is {now['results_version']} still: if they were meant to, raise it "
        "in crates/ssd/src/lib.rs, run pytest --update-golden, and run the studies again:\n"
        + "\n".join(differences[:20])
    )
    if update:
        path.write_text(json.dumps(now, indent=1) + "\n")
    elif kept != now:
        what = "statistics are new" if of_today else f"the file is of results version {kept['results_version']}"
        raise AssertionError(f"{what}: run pytest --update-golden")


def test_results_change_only_with_the_results_version(request: pytest.FixtureRequest) -> None:
    check_golden(GOLDEN, json.loads(json.dumps(golden())), request.config.getoption("--update-golden"))


def test_golden_results_are_not_written_over_by_others_of_the_same_version(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    old = {"results_version": 7, "results": {"a": {"host": {"iops": 1.0, "all": [1, 2]}}}}

    def now(version: int = 7, **host: Any) -> dict[str, Any]:
        return {"results_version": version, "results": {"a": {"host": {"iops": 1.0, "all": [1, 2]} | host}}}

    text = json.dumps(old)
    for wrong in (now(iops=1.5), now(all=[1, 3]), {**old, "results": {"a": {"host": {"iops": 1.0}}}}):
        path.write_text(text)
        for update in (False, True):
            with pytest.raises(AssertionError, match=r"(?s)RESULTS_VERSION is 7 still.*a\.host\.(iops: 1|all)"):
                check_golden(path, wrong, update)
        assert path.read_text() == text, "nothing is written"
    for right in (now(new=3), now(version=8, iops=1.5)):
        path.write_text(text)
        with pytest.raises(AssertionError, match="run pytest --update-golden"):
            check_golden(path, right, update=False)
        check_golden(path, right, update=True)
        assert json.loads(path.read_text()) == right
        check_golden(path, right, update=False)


@pytest.mark.skipif(not PAPERS.exists(), reason="the papers' claims are not beside this checkout")
def test_claims_are_the_papers_own() -> None:
    papers = tomllib.loads(PAPERS.read_text())
    for name, section in papers.items():
        own = tomllib.loads((study.home() / name / "claims.toml").read_text())["claims"]
        more = [claim["id"] for claim in own[len(section["claims"]) :]]
        assert own[: len(section["claims"])] == section["claims"], name
        assert more == (["rif.rp.area", "rif.rp.power"] if name == "hpca24" else []), "of the predictor's silicon"


def test_claims_have_ids_of_their_own_and_ranges_around_something() -> None:
    ids = [claim.id for found in study.studies() for claim in found.claims]
    assert len(ids) == len(set(ids))
    for found in study.studies():
        for claim in found.claims:
            assert claim.accept[0] <= claim.accept[1], claim.id
            assert claim.kind in ("device", "mechanism", "system"), claim.id


def test_every_claim_of_theory_holds() -> None:
    verdicts = study.study("theory").verdicts()
    assert len(verdicts) == 12
    for verdict in verdicts:
        assert verdict.passed, verdict


def test_the_timing_table_of_the_controller_is_its_chips() -> None:
    """That of AR2, up to the end of the drive's life."""
    found = study.study("controller")
    assert (found.folder / "rpt.csv").read_text() == found._module().timings("tlc48")  # type: ignore[union-attr]


def test_recovery_reads_what_its_closed_forms_say() -> None:
    """Of every case that is kept: the first page of each superblock, and of a map in memory each translation page."""
    found = study.study("recovery")
    forms: Any = found._module()
    for name in ("cuts", "cached", "plp", "scan"):
        for row in read_csv(found.folder / "results" / f"{name}.csv").iter_rows(named=True):
            blocks, cuts = row["geometry.blocks"], row["power.cuts"]
            assert row["power.reads.headers"] == cuts * forms.headers(blocks), row
            if name in ("cuts", "plp"):
                assert row["power.reads.map"] == cuts * forms.map_pages(blocks), row
            assert row["power.reads.blocks"] <= cuts * forms.pages(blocks), row


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "workload", "settings"),
    [
        ("zns", "cache-zoned", {"zones.conventional": 2, "age.fill": 0.1}),
        ("zns", "lsm-zoned", {"age.fill": 0.1}),
        ("tlc", "cache", {"ftl.hints": 2}),
        ("tlc", "lsm", {"ftl.hints": 4}),
    ],
)
def test_the_loads_of_placement_are_played_as_their_drives_allow(
    device: str, workload: str, settings: dict[str, object]
) -> None:
    found: Any = ssdlab.run(device, workload, requests=10_000, settings=settings).to_dict()
    if device == "zns":
        assert found["zones"]["refused"] == 0, "writes stand at the pointer of their zone"
        assert found["host"]["append"]["requests"] > 0
        assert found["zones"]["resets"] > 0
    else:
        assert found["host"]["write"]["requests"] > 0
        assert ("trim" in found["host"]) == (workload == "lsm")


KEPT = sorted(found.id for found in study.studies() if (found.folder / "results").exists())


@pytest.mark.drawn
@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    "id",
    # A fleet is one computation, of half a minute.
    [pytest.param(id, marks=pytest.mark.seldom) if id == "fleet" else id for id in KEPT],
)
def test_kept_results_are_what_runs_give_today(id: str, tmp_path: Path) -> None:
    found = study.study(id)
    compared, differences = found.check(cache=tmp_path)
    assert compared > 0 or not {*found.sweeps, *found.computed} - {*found.outdated()}
    assert differences == []


BEHIND = ("controller",)
"""Studies whose tables are of an earlier results version until they are played again (docs/results-versions.md)."""


def test_every_table_is_of_the_present_results_version() -> None:
    for found in study.studies():
        if (found.folder / "results").exists():
            assert bool(found.outdated()) == (found.id in BEHIND), found.id


@pytest.mark.slow
def test_tables_say_of_which_results_version_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "theory"
    shutil.copytree(study.study("theory").folder, folder)
    versions = folder / "results" / "versions.toml"
    versions.write_text(f"lone = {_core.RESULTS_VERSION}\nwaf = {_core.RESULTS_VERSION - 1}\n")
    assert Study(folder).outdated() == {"queues": None, "waf": _core.RESULTS_VERSION - 1}
    # What is of another version is not compared.
    kept = folder / "results" / "waf.csv"
    kept.write_text(kept.read_text().replace("1", "2"))
    compared, differences = Study(folder).check(cache=tmp_path / "cache")
    assert (compared, differences) == (2, [])
    environment = {**os.environ, "SSDLAB_STUDIES": str(folder.parent)}
    done = subprocess.run(
        [str(SSDLAB), "study", "claims", "theory"], env=environment, check=False, capture_output=True, text=True
    )
    assert f"warning: theory: tables of results version {_core.RESULTS_VERSION - 1}, unknown" in done.stderr
    assert "ssdlab study run theory" in done.stderr


@pytest.mark.slow
def test_a_check_sees_every_difference(tmp_path: Path) -> None:
    folder = tmp_path / "theory"
    shutil.copytree(study.study("theory").folder, folder)
    kept = folder / "results" / "lone.csv"
    kept.write_text(kept.read_text().replace("84872.0", "84873.0", 1))
    _, differences = Study(folder).check(cache=tmp_path / "cache")
    assert [(d.table, d.now) for d in differences] == [("lone", 84872.0)]


@pytest.mark.drawn
@pytest.mark.slow
def test_the_claims_command_prints_json_and_tells_what_fails(tmp_path: Path) -> None:
    folder = tmp_path / "studies" / "theory"
    shutil.copytree(study.study("theory").folder, folder)
    claims = folder / "claims.toml"
    claims.write_text(claims.read_text().replace("accept = [84.872, 84.872]", "accept = [84, 84.5]"))

    def call(*words: str) -> str:
        environment = {**os.environ, "SSDLAB_STUDIES": str(folder.parent)}
        return subprocess.run(
            [str(SSDLAB), "study", *words], env=environment, check=True, capture_output=True, text=True
        ).stdout

    found = json.loads(call("claims", "theory", "--json"))
    assert len(found) == 12
    assert set(found[0]) == {
        "id", "kind", "published", "accept", "measured", "ci", "pass", "proves", "proof", "half", "seen",
        "why", "link", "note",
    }  # fmt: skip
    assert {claim["proves"] for claim in found} == {"predicted"}
    assert found[0]["proof"] == "chip.t_read x 1.2, bus.bandwidth x 1.2, host.t_submit x 1.2"
    failing = [claim for claim in found if not claim["pass"]]
    assert [(claim["id"], claim["measured"]) for claim in failing] == [("theory.lone.read", 84.872)]
    assert "   NO  " in call("claims")
    assert "12 claims: 11 within range, 1 outside, 0 not measured" in call("claims")
    assert "  predicted: 11 within range, 1 outside, 0 not measured\n  fitted: 0 within range" in call("claims")
    shutil.rmtree(folder / "results")
    assert "not run yet" in call("claims")
    assert "theory" in call("list")


def test_a_study_runs_to_the_same_tables(tmp_path: Path) -> None:
    found = study.study("theory")
    lone = tmp_path / "lone"
    shutil.copytree(found.folder, lone)
    for name in ("queues", "waf"):
        (lone / f"{name}.toml").unlink()
    assert Study(lone).run(tmp_path / "results", cache=tmp_path / "cache") == []
    kept = (found.folder / "results" / "lone.csv").read_bytes()
    assert (tmp_path / "results" / "lone.csv").read_bytes() == kept


def test_the_table_of_a_real_trace_that_is_not_there_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lone = tmp_path / "lone"
    lone.mkdir()
    (lone / "claims.toml").write_text("claims = []\n")
    (lone / "study.py").write_text('NEEDS = {"real": "traces/a.trace"}\n')
    (lone / "real.toml").write_text('[run]\nworkload = "traces/a.trace"\nrequests = 1\n')
    (lone / "results").mkdir()
    (lone / "results" / "real.csv").write_text("kept\n")
    assert Study(lone).run(cache=tmp_path / "cache") == []
    assert (lone / "results" / "real.csv").read_text() == "kept\n"
    assert Study(lone).check(cache=tmp_path / "cache") == (0, [])
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "a.trace").write_text("0 0 0 32 0\n")
    assert Study(lone).run(cache=tmp_path / "cache") == []
    assert "host.read.requests" in (lone / "results" / "real.csv").read_text()


@pytest.mark.slow
@pytest.mark.skipif(not TRACES.is_dir(), reason=f"no traces in {TRACES}; SSDLAB_TRACES names another folder")
def test_the_kept_table_of_a_real_trace_is_what_the_trace_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "traces").symlink_to(TRACES)
    monkeypatch.chdir(tmp_path)
    found: Any = study.study("fast12")
    kept = read_csv(found.folder / "results" / "real.csv").filter(scheme="pes-ipc")
    assert found._module()._real(["pes-ipc"]).rows() == kept.rows()


def test_an_unknown_study_is_answered_with_its_neighbour() -> None:
    with pytest.raises(ssdlab.InputError, match="did you mean `theory`"):
        study.study("teory")


def test_claims_are_measured_where_there_is_no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for found in study.studies():
        found._module()
    assert study.study("theory").verdicts()
    with pytest.raises(ssdlab.InputError, match="drawing needs matplotlib"):
        study.study("asplos21").figures()
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ssdlab.InputError, match=r"asplos21/study.py: needs polars, which is not installed"):
        study.study("asplos21").verdicts()
