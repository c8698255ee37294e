"""Arrays of drives, from their file to their tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from ssdlab.runs.manifest import files_of, inputs_of, key_of
from ssdlab.runs.options import options_of
from ssdlab.runs.simulation import open_simulation
from ssdlab.show.runs import of_result
from ssdlab.sweeps import task
from ssdlab.sweeps.spec import Sweep

LOAD = {"workload.rate_iops": 100000, "workload.rw": "randrw"}
SMALL = ["geometry.blocks=40", "geometry.pages=96", "ftl.over_provisioning=1.0"]
DRIVES = "[drive.a]\ndevice = 'tlc'\ncount = 3\n"


def _file(folder: Path, text: str) -> str:
    path = folder / "array.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def _run(array: str, **options: Any) -> ssdlab.Result:
    settings = [*SMALL, *(f"{key}={value}" for key, value in LOAD.items()), *options.pop("settings", ())]
    result = ssdlab.run(array=array, requests=2000, settings=settings, **options)
    assert isinstance(result, ssdlab.Result)
    return result


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "more"),
    [
        ("retention=3mo", []),
        ("precondition=write:1", []),
        ("precondition=closed-form,load=full", ["workload.random_distribution=zipf:1.1", "ftl.over_provisioning=0.5"]),
    ],
)
def test_an_array_of_one_drive_gives_the_drives_result(tmp_path: Path, start: str, more: list[str]) -> None:
    one = _run(_file(tmp_path, "[drive.only]\ndevice = 'tlc'\n"), age=f"pec=1000,{start}", settings=more)
    settings = [*SMALL, *(f"{key}={value}" for key, value in LOAD.items()), *more]
    alone = ssdlab.run("tlc", requests=2000, settings=settings, age=f"pec=1000,{start}")
    assert isinstance(alone, ssdlab.Result)
    for section in ("host", "flash", "ftl", "usage"):
        assert getattr(one, section).to_dict() == getattr(alone, section).to_dict(), section
    assert alone.array is None
    assert "array" not in alone.manifest


def test_an_array_reports_itself_and_each_drive(tmp_path: Path) -> None:
    text = "[array]\nlayout = 'raid5'\n" + DRIVES + "[drive.spare]\nspare = true\n[drive.dies]\nfails_at = '2ms'\n"
    result = _run(_file(tmp_path, text), settings=["array.rebuild_rate=1GB/s"])
    array = result.array
    assert array is not None
    assert [drive.name for drive in array.drives] == ["a-1", "a-2", "a-3", "spare", "dies"]
    assert array.drives_failed == 1
    assert array.lost_requests == 0
    assert array.reads_reconstructed > 0
    assert array.rebuilds[0].drive == "spare"
    assert array.rebuilds[0].rows > 0
    assert result.host.all.requests == 2000
    assert result.manifest.array.config.rebuild_rate == "1GB/s"
    titles = [table.title for table in of_result(result)[0]]
    assert "Rebuilds" in titles
    assert titles[0].startswith("raid5 of 4 drives")
    assert _run(_file(tmp_path, text), settings=["array.rebuild_rate=1GB/s"]).array == array, "the same twice"


REBUILT = "[array]\nlayout = 'raid5'\n" + DRIVES + "[drive.spare]\nspare = true\n[drive.dies]\nfails_at = '2ms'\n"


@pytest.mark.slow
def test_a_run_goes_on_from_the_checkpoint_of_an_array(tmp_path: Path) -> None:
    path, saved = _file(tmp_path, REBUILT), tmp_path / "array.ckpt"
    first = _run(path, save=saved, save_at="8ms", seed=3)
    assert first.array is not None
    # The rebuild goes on where it was: what was before the run is at its beginning.
    later = _run(path, checkpoint=saved)
    assert later.array is not None
    assert later.array.drives_failed == 0
    assert (first.array.drives[4].failed_ns, later.array.drives[4].failed_ns) == (2_000_000, 0)
    assert (first.array.rebuilds[0].began_ns, later.array.rebuilds[0].began_ns) == (2_000_000, 0)
    assert later.array.rebuilds[0].rows > 0
    assert "checkpoint" in later.manifest.to_dict()
    assert _run(path, checkpoint=saved).array == later.array, "the same twice"
    assert _run(path, checkpoint=saved, check=True).array == later.array
    # As it stands it keeps its policies; at rest these may change.
    with pytest.raises(ssdlab.InputError, match=r"array\.hedge was \"none\" and is \"delay\""):
        _run(path, checkpoint=saved, settings=["array.hedge=delay"])
    rests = tmp_path / "rests.ckpt"
    whole = _run(path, save=rests, settings=["array.rebuild_rate=20GB/s"])
    assert whole.array is not None
    hedged = _run(path, checkpoint=rests, settings=["array.hedge=delay", "array.hedge_delay=300us"])
    assert hedged.array is not None
    assert hedged.array.hedges_sent > 0
    assert hedged.array.reads_reconstructed == 0, "the spare drive has been rebuilt"
    assert hedged.array.rebuilds[0].ended_ns is not None


def test_checkpoints_of_other_arrays_and_drives_are_refused(tmp_path: Path) -> None:
    path, saved = _file(tmp_path, "[array]\nlayout = 'raid5'\n" + DRIVES), tmp_path / "array.ckpt"
    _run(path, save=saved, save_at="end")
    one = tmp_path / "one.ckpt"
    settings = [*SMALL, "workload.rw=randread"]
    ssdlab.run("tlc", requests=100, settings=settings, save=one)
    torn = tmp_path / "torn.ckpt"
    torn.write_bytes(saved.read_bytes()[:-1000])

    def refused(*words: str, array: str = path, checkpoint: Path = saved, **options: Any) -> None:
        with pytest.raises(ssdlab.InputError) as error:
            _run(array, checkpoint=checkpoint, **options)
        for word in words:
            assert word in str(error.value), str(error.value)

    refused("another array", "array.chunk", settings=["array.chunk=16KiB"])
    refused("has 3 drives", "the array has 4", settings=["drive.a.count=4"])
    refused("drive a-1", "age.pec", age="pec=100")
    refused("one drive", checkpoint=one)
    refused("is damaged", "digest", checkpoint=torn)
    other = tmp_path / "other"
    other.mkdir()
    renamed = _file(other, "[array]\nlayout = 'raid5'\n" + DRIVES.replace("drive.a", "drive.b"))
    refused("has a drive a-1", "b-1", array=renamed)
    with pytest.raises(ssdlab.InputError, match="checkpoint of an array"):
        ssdlab.run(requests=100, settings=settings, checkpoint=saved)


def test_slow_requests_of_an_array_are_explained_with_the_drives_that_they_waited_for(tmp_path: Path) -> None:
    age = "[drive.old]\nage = 'pec=2000,retention=6mo'\n"
    run = _run(_file(tmp_path, "[array]\nlayout = 'raid5'\nlink_latency = '3us'\n" + DRIVES + age))
    slow = run.explain(7, slowest=3)
    assert [len(slow), slow[0].request] == [4, 7]
    for of in slow:
        assert sum(stage.took_ns for stage in of.stages) == of.latency_ns
        assert set(of.drives) <= {"a-1", "a-2", "a-3", "old"}
        assert of.drives
    assert slow[1].latency_ns == max(each.latency_ns.max or 0 for each in (run.host.read, run.host.write))
    text = str(slow)
    assert "old: read" in text
    assert "to drive" in text
    assert {"drive", "purpose"} <= set(slow[0].table().columns)


def test_a_timeline_of_an_array_shows_every_drive_under_its_name(tmp_path: Path) -> None:
    path = tmp_path / "array.pftrace"
    size = _run(_file(tmp_path, "[array]\nlayout = 'mirror'\n" + DRIVES)).timeline(path, "0ms:1ms")
    data = path.read_bytes()
    assert len(data) == size
    for name in (b"a-1", b"a-2", b"a-3"):
        assert name in data


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("[array]\nlayout = 'raid6'\n[drive.a]\ncount = 2\n", {}, ["array.layout", "at least 3 drives"]),
        ("[array]\nhedge = 'delay'\n" + DRIVES, {}, ["array.hedge", "no second way", "mirror"]),
        ("[array]\nlayout = 'mirror'\ncopies = 2\n" + DRIVES, {}, ["array.placement", "declustered"]),
        ("[array]\nlayout = 'raid5'\nparity = 2\n" + DRIVES, {}, ["array.parity", "leave it out"]),
        ("[array]\nscrub_rate = '1GB/s'\n" + DRIVES, {}, ["array.scrub_rate", "nothing to repair from", "mirror"]),
        ("[array]\nscrub_rate = '0MB/s'\nlayout = 'raid5'\n" + DRIVES, {}, ["array.scrub_rate", "is 0"]),
        (DRIVES + "mean_life = '0s'\n", {}, ["drive.a.mean_life", "is 0"]),
        ("[array]\ncoordinate = 'staggered'\n" + DRIVES, {}, ["array.coordinate", "no way around", "mirror"]),
        ("[array]\nwindow = '0s'\n" + DRIVES, {}, ["array.window", "is 0"]),
        ("[array]\nlayuot = 'raid5'\n" + DRIVES, {}, ["layuot", "did you mean `layout`"]),
        ("[array]\nlayout = 'stripe'\n", {}, ["has no drives", "[drive.NAME]"]),
        ("[drive.a]\ndevice = 'tcl'\n", {}, ["drive.a", "did you mean `tlc`"]),
        (DRIVES, {"checkpoint": "x.ckpt"}, ["x.ckpt", "cannot be read", "--save"]),
        (DRIVES, {"device": "tlc"}, ["--device", "all name theirs", "leave it out"]),
    ],
)
def test_mistakes_are_told_with_their_remedies(
    tmp_path: Path, text: str, options: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(ssdlab.InputError) as error:
        _run(_file(tmp_path, text), **options)
    for word in words:
        assert word in str(error.value), str(error.value)


def test_drives_of_different_sizes_are_noted(tmp_path: Path) -> None:
    text = "[drive.a]\n[drive.large]\nsettings = ['geometry.blocks=80']\n"
    # What is given beside the file comes after each drive's own.
    settings = ["ftl.over_provisioning=1.0", "workload.rate_iops=1000"]
    text = text.replace("[drive.a]\n", "[drive.a]\nsettings = ['geometry.blocks=40']\n")
    result = ssdlab.run(array=_file(tmp_path, text), requests=100, settings=settings)
    assert isinstance(result, ssdlab.Result)
    assert result.note is not None
    assert "large has more" in result.note
    assert result.array is not None
    assert result.array.unused_bytes > 0


def test_what_is_given_beside_an_array_is_told_where_it_replaces(tmp_path: Path) -> None:
    text = "[drive.a]\nscheme = 'rif'\nage = 'pec=500'\n[drive.b]\nsettings = ['gc.stop=6']\n"
    array = _file(tmp_path, text)
    assert _run(array).note is None
    result = _run(array, scheme="baseline", age="pec=100,retention=1mo", settings=["gc.stop=7"])
    assert result.note == ("what is given beside the array replaces scheme (of a), age.pec (of a), gc.stop (of b)")
    assert _run(array, device="tlc-page").manifest.device.name == "tlc-page", "no drive names its own"


@pytest.mark.parametrize(
    "line",
    [
        "device = 'tlc-page'",
        "scheme = 'rif'",
        "age = 'pec=2000,retention=6mo'",
        "settings = ['chip.t_prog=900us']",
        "count = 2",
        "spare = true",
        "fails_at = '1ms'",
        "mean_life = '1ms'",
    ],
)
def test_every_key_of_a_drive_has_an_effect(tmp_path: Path, line: str) -> None:
    """It changes what is reported of the drives."""
    text = "[array]\nlayout = 'mirror'\nplacement = 'declustered'\ncopies = 2\n[drive.a]\ncount = 3\n[drive.b]\n"
    plain, changed = _run(_file(tmp_path, text)).array, _run(_file(tmp_path, text + line + "\n")).array
    assert plain is not None
    assert changed is not None
    assert plain.drives != changed.drives


def test_warnings_come_from_every_drive(tmp_path: Path) -> None:
    """The second drive alone holds nothing at its start, and has a setting without effect."""
    text = "[drive.a]\n[drive.b]\nsettings = ['age.precondition=none', 'age.fill=0.1', 'chip.neighbour_disturb=50']\n"
    result = _run(_file(tmp_path, text), settings=["workload.rw=randread"])
    told = {of.id: of.text for of in result.warnings}
    assert told["unwritten-reads"].startswith("b: ")
    assert told["settings-without-effect"].startswith("b: ")


def test_reads_fail_fast_where_an_array_has_another_way(tmp_path: Path) -> None:
    """Those of one old drive are reconstructed from young ones; the hosts' reads are shorter, and none is lost."""
    text = "[array]\nlayout = 'raid5'\n[drive.old]\nage = 'pec=3000,retention=1y'\n[drive.young]\ncount = 4\n"
    array, reads = _file(tmp_path, text), {"workload.rw": "randread", "workload.rate_iops": 5000}
    words = [f"{key}={value}" for key, value in reads.items()]
    patient, hasty = (
        _run(array, scheme="baseline", settings=[*words, f"read.fail_fast={limit}"]) for limit in ("none", 1)
    )
    assert patient.array is not None
    assert hasty.array is not None
    assert patient.array.reads_given_up == 0
    assert hasty.array.reads_given_up == hasty.flash.retry.given_up
    assert hasty.array.reads_reconstructed > 0
    assert hasty.host.uncorrectable == hasty.host.given_up == hasty.array.repairs == 0
    slow, fast = (of.host.read.latency_ns.p99 for of in (patient, hasty))
    assert slow is not None
    assert fast is not None
    assert fast < slow
    assert not {"uncorrectable-reads", "settings-without-effect"} & {of.id for of in hasty.warnings}
    both = ["read.fail_fast=1", "read.fail_busy=erase"]
    alone = ssdlab.run("tlc", requests=100, settings=[*SMALL, *both])
    stripes = _run(_file(tmp_path, text.replace("raid5", "stripe")), settings=both)
    for result in (alone, stripes):
        assert isinstance(result, ssdlab.Result)
        told = [of.text for of in result.warnings if of.id == "settings-without-effect"]
        assert told
        for key in ("read.fail_fast", "read.fail_busy"):
            assert f"{key} without a host that has another way" in told[0]


def test_scrubs_and_drives_that_fail_by_chance_are_reported(tmp_path: Path) -> None:
    text = "[array]\nlayout = 'raid5'\nscrub_rate = '500MB/s'\n[drive.a]\ncount = 3\n"
    text += "[drive.b]\nmean_life = '1ms'\ncount = 2\n"
    result = _run(_file(tmp_path, text))
    assert result.array is not None
    assert result.array.stripes_scrubbed > 0
    assert result.array.scrub_errors == 0
    assert result.array.requests_to_drives.read_scrub >= 3 * result.array.stripes_scrubbed
    assert result.array.drives_failed == 2
    failed = [drive.failed_ns for drive in result.array.drives if drive.failed_ns is not None]
    assert len(set(failed)) == 2
    assert result.array.data_lost_ns == max(failed), "the second one is too many"
    tables, _ = of_result(result)
    [came] = [table for table in tables if table.title == "Array: what came of them"]
    assert {"stripes scrubbed", "data lost at"} <= set(came.columns)


def test_overload_of_an_array_counts_its_hosts_requests(tmp_path: Path) -> None:
    """A request that becomes several to drives is one: what arrives too fast is told, and what does not is not."""
    array = _file(tmp_path, "[array]\nlayout = 'stripe'\nchunk = '16KiB'\n" + DRIVES)
    large = ["workload.bs=256KiB", "workload.rw=randread"]
    slow, fast = (_run(array, settings=[*large, f"workload.rate_iops={rate}"]) for rate in (1_000, 1_000_000))
    assert "overload" not in {of.id for of in slow.warnings}
    assert "overload" in {of.id for of in fast.warnings}


def test_sweeps_take_arrays_and_their_keys_as_axes(tmp_path: Path) -> None:
    """And the table of one that others play with copies of its files is the same."""
    _file(tmp_path, "[array]\nlayout = 'mirror'\n" + DRIVES)
    (tmp_path / "sweep.toml").write_text(
        "[run]\narray = 'array.toml'\nrequests = 300\n'workload.rate_iops' = 100000\n'geometry.blocks' = 40\n"
        "'ftl.over_provisioning' = 1.0\n[axes]\n'array.select' = ['primary', 'shortest-queue']\nseed = [1, 2]\n"
    )
    sweep = tmp_path / "sweep.toml"
    found = ssdlab.sweep(sweep, cache=tmp_path / "cache", keep_results=True)
    assert found.table["array.select"].to_list() == ["primary", "primary", "shortest-queue", "shortest-queue"]
    for case, result in zip(Sweep.read(sweep).cases(), found.results.values(), strict=True):
        assert result.manifest.array.config.select == case.labels["array.select"]
    means = found.table["host.read.latency_ns.mean"].to_list()
    assert len(set(means)) == 4
    again = ssdlab.sweep(sweep, cache=tmp_path / "cache")
    assert again.table.equals(found.table)


def test_drives_of_one_kind_are_given_beside_the_array(tmp_path: Path) -> None:
    """It goes before what is given for all drives, which goes before the file."""
    text = "[array]\nlayout = 'mirror'\n[drive.a]\nscheme = 'rif'\n[drive.b]\nage = 'pec=100'\ncount = 2\n"
    words = ["drive.b.scheme=pr2", "drive.b.age=pec=300,retention=6mo", "drive.b.gc.stop=6", "drive.b.count=1"]
    array = _file(tmp_path, text)
    drives = _run(array, scheme="baseline", age="pec=200", settings=["gc.stop=7", *words]).manifest.array.drives
    assert [drive.count for drive in drives] == [1, 1]
    first, second = (drive.device.config for drive in drives)
    assert (first.age.pec, second.age.pec) == (200, 300)
    assert (first.gc.stop, second.gc.stop) == (7, 6)
    written = _file(tmp_path, text.replace("pec=100'\ncount = 2", "pec=300,retention=6mo'\nscheme = 'pr2'"))
    assert second.read == _run(written).manifest.array.drives[1].device.config.read
    for word, expected in {
        "drive.c.count=2": ["--set drive.c.count=2", "no drive.c", "a, b"],
        "drive.b.cuont=2": ["--set drive.b.cuont=2", "count"],
        "drive.b.count": ["no `=`", "drive.NAME.KEY=VALUE"],
        "drive.b.gc.stpo=2": ["drive.b", "gc.stpo", "stop"],
    }.items():
        with pytest.raises(ssdlab.InputError) as refused:
            _run(array, settings=[word])
        assert all(part in str(refused.value) for part in expected), str(refused.value)


def test_the_files_of_an_array_are_shipped_and_moved_with_its_run(tmp_path: Path) -> None:
    chips = Path(__file__).parents[1] / "presets" / "chips"
    chip = tmp_path / "chip.toml"
    chip.write_text((chips / "tlc48.toml").read_text() + "\n# mine\n")
    (tmp_path / "mine.toml").write_text("base = 'base.toml'\n")
    (tmp_path / "base.toml").write_text("[chip]\nmodel = 'chip.toml'\n")
    text = "[drive.a]\ndevice = 'mine.toml'\n[drive.b]\ndevice = 'tlc'\n"
    array = _file(tmp_path, text)
    options = options_of({"array": array, "requests": 300, "settings": SMALL})
    manifest = json.loads(open_simulation(options).manifest)
    by_role = {"array": array, "drive.a.device": str(tmp_path / "mine.toml"), "drive.a.chip.model": str(chip)}
    assert files_of(options, manifest) == by_role
    assert {Path(path).name for path in inputs_of(options)} == {"array.toml", "mine.toml", "base.toml", "chip.toml"}
    other = tmp_path / "elsewhere"
    other.mkdir()
    paths = {role: str(other / Path(path).name) for role, path in by_role.items()}
    for name in ("array.toml", "mine.toml", "base.toml", "chip.toml"):
        (tmp_path / name).rename(other / name)
    moved = task.with_files(options, paths)
    assert (moved.array, moved.device) == (str(other / "array.toml"),) * 2
    assert key_of(json.loads(open_simulation(moved).manifest)) == key_of(manifest)
    Path(paths["drive.a.chip.model"]).write_text((chips / "tlc2x.toml").read_text())
    assert key_of(json.loads(open_simulation(moved).manifest)) != key_of(manifest)


def test_arrays_of_a_sweep_are_compared(tmp_path: Path) -> None:
    """By a key of the array, and by one of some of its drives."""
    _file(tmp_path, "[array]\nlayout = 'mirror'\n[drive.a]\nage = 'pec=3000,retention=1y'\n[drive.b]\n")
    sweep = {
        "run": {
            "array": str(tmp_path / "array.toml"),
            "requests": 1000,
            "workload.rw": "randread",
            "workload.rate_iops": 5000,
        },
        "axes": {"array.select": ["primary", "shortest-queue"], "drive.a.scheme": ["baseline", "rif"], "seed": [1, 2]},
    }
    table = ssdlab.sweep(sweep).table
    by_select = ssdlab.compare(table, by="array.select", baseline="primary")
    assert sorted(by_select.rows) == ["baseline", "geometric mean", "rif"]
    ratio = by_select.rows["baseline"]["shortest-queue"].ratio
    assert ratio.mean is not None
    assert ratio.half_width is not None
    assert ratio.mean + ratio.half_width < 1.0, "the slow drive is avoided"
    by_scheme = ssdlab.compare(table, by="drive.a.scheme", baseline="baseline")
    cells = by_scheme.rows["primary"]
    assert cells["rif"].pairs == 2
    means = table.filter((table["drive.a.scheme"] == "rif") & (table["array.select"] == "primary"))
    assert cells["rif"].value.mean == pytest.approx(means["host.read.latency_ns.mean"].mean())


@pytest.mark.drawn
def test_searches_race_policies_of_arrays(tmp_path: Path) -> None:
    """The mirror's slower first copy is left to itself where the shorter queue is read."""
    array = _file(tmp_path, "[array]\nlayout = 'mirror'\n[drive.a]\nage = 'pec=3000,retention=1y'\n[drive.b]\n")
    result = ssdlab.search(
        {
            "budget": 4000,
            "run": {
                "array": array,
                "ftl.over_provisioning": 1.0,
                "geometry.blocks": 40,
                **LOAD,
                "workload.rw": "randread",
            },
            "axes": {"array.select": ["primary", "shortest-queue"]},
            "objectives": {"host.read.latency_ns.mean": "min"},
        }
    )
    assert result.front["array.select"].to_list() == ["shortest-queue"]


@pytest.mark.drawn
@pytest.mark.slow
def test_drives_begin_as_their_parts_of_an_uneven_load_have_left_them(tmp_path: Path) -> None:
    """Half of a stripe's drives are written: they are warmed with their part, and the others have nothing to be warmed
    with. Of an uneven load every drive has its own, and that of a mirror is as on a drive alone."""
    hot = ["workload.random_distribution=zipf:1.2", "ftl.over_provisioning=0.5", "workload.rw=randwrite"]
    array = _run(
        _file(tmp_path, "[array]\nlayout = 'mirror'\n" + DRIVES), age="precondition=closed-form,load=full", settings=hot
    ).array
    assert array is not None
    settings = [*SMALL, *(f"{key}={value}" for key, value in LOAD.items()), *hot]
    alone = ssdlab.run("tlc", requests=2000, settings=settings, age="precondition=closed-form,load=full")
    assert isinstance(alone, ssdlab.Result)
    pages = [drive.host.warmed_pages for drive in array.drives]
    assert alone.host.warmed_pages > 10_000
    assert all(pages == pytest.approx(alone.host.warmed_pages, rel=0.3) for pages in pages)
    for drive in array.drives:
        assert drive.ftl.waf_before == pytest.approx(alone.ftl.waf_before, rel=0.1)
    # The first chunk of the first drive alone is written.
    chunks = ["workload.rw=randwrite", "workload.footprint=64KiB", "ftl.over_provisioning=0.5"]
    text = "[array]\nlayout = 'stripe'\n" + DRIVES
    array = _run(_file(tmp_path, text), age="precondition=closed-form,load=full", settings=chunks).array
    assert array is not None
    assert [drive.host.warmed_pages > 0 for drive in array.drives] == [True, False, False]


def test_objects_are_placed_by_hash_and_the_fullest_drive_rules(tmp_path: Path) -> None:
    text = "[array]\nlayout = 'mirror'\ncopies = 3\nplacement = 'hashed'\n[drive.a]\ndevice = 'tlc'\ncount = 5\n"
    hashed = _run(_file(tmp_path, text)).array
    even = _run(_file(tmp_path, text.replace("hashed", "declustered"))).array
    assert hashed is not None
    assert even is not None
    assert 0.7 * even.capacity_bytes < hashed.capacity_bytes < 0.99 * even.capacity_bytes
    assert hashed.unused_bytes > 10 * even.unused_bytes
    writes = sorted(drive.requests.write_data + drive.requests.write_parity for drive in hashed.drives)
    assert writes[-1] > 1.05 * writes[0]


def test_an_array_is_driven_request_by_request_saved_and_loaded(tmp_path: Path) -> None:
    file = _file(tmp_path, "[array]\nlayout = 'raid5'\n" + DRIVES)
    array = ssdlab.Array(file, settings=SMALL, seed=3)
    assert array.capacity < 2 * array.raw_capacity // 3
    assert array.submit(0, "write", 0, 65536) == 0
    assert array.submit_many({"time_ns": [1000, 2000], "op": "read", "offset": [0, 1 << 20], "bytes": 16384}) == range(
        1, 3
    )
    assert {done.request for done in array.advance(1_000_000_000)} == {0, 1, 2}
    array.flush()
    assert array.conditions(0) is not None
    saved = tmp_path / "array.ckpt"
    array.save(saved)
    loaded = ssdlab.Array(file, settings=SMALL, checkpoint=saved)
    assert (loaded.now, loaded.capacity) == (array.now, array.capacity)
    reads = {"time_ns": loaded.now, "op": "read", "offset": [0, 65536, 1 << 21], "bytes": 16384}
    done = []
    for drive in (array, loaded):
        drive.submit_many(reads)
        done.append([of.finish_ns for of in drive.advance(drive.now + 1_000_000_000)])
    assert done[0] == done[1]
    with pytest.raises(ssdlab.InputError, match="checkpoint=PATH"):
        ssdlab.Array.load(saved)
    with pytest.raises(ssdlab.InputError, match="has no drives"):
        ssdlab.Array(_file(tmp_path, "[array]\n"))


def test_tables_have_the_counts_of_arrays(tmp_path: Path) -> None:
    text = "[array]\nlayout = 'raid5'\nrewrite = 'log'\nlog_spare = 0.4\n" + DRIVES
    result = _run(_file(tmp_path, text))
    array = result.array
    assert array is not None
    found = {name: value for name, value, _, _ in result.scalars() if name.startswith("array.")}
    assert found["array.log_blocks_written"] == array["log_blocks_written"] > 0
    assert found["array.requests_to_drives.write_parity"] == array["requests_to_drives"]["write_parity"] > 0
    assert found["array.log_write_amplification"] == pytest.approx(
        (1 + (array["log_blocks_moved"] + array["log_blocks_padded"]) / array["log_blocks_written"]) * 3 / 2
    )
    alone = ssdlab.run("tlc", requests=100, settings=SMALL)
    assert isinstance(alone, ssdlab.Result)
    assert not [name for name, *_ in alone.scalars() if name.startswith("array.")]


@pytest.mark.seldom
def test_windows_bring_the_tail_near_that_of_drives_which_collect_nothing(tmp_path: Path) -> None:
    """The shape that Li et al. claim (IODA, SOSP 2021, abstract): reads that fail quickly and are reconstructed help,
    and with windows, in which few drives are busy at a time, the tail is near the ideal case without disturbance."""
    small = ["geometry.channels=4", "geometry.chips=1", "geometry.dies=1", "geometry.blocks=100", "geometry.pages=96"]
    drive = (
        f"[drive.d]\ndevice = 'tlc'\nscheme = 'rif'\ncount = 4\nsettings = {[*small, 'ftl.over_provisioning=0.28']}\n"
    )
    array = _file(tmp_path, "[array]\nlayout = 'raid5'\n" + drive)
    load = {"rw": "randrw", "rwmixread": 80, "bs": "16KiB", "align": "bs", "rate_iops": 2500}
    load |= {f"workload.{key}": load.pop(key) for key in [*load]}
    collected, fails = {"gc.idle_stop": 12}, {"read.fail_busy": "collection"}

    def tail(settings: dict[str, Any], precondition: str) -> float:
        words = [f"{key}={value}" for key, value in (load | settings).items()]
        result = ssdlab.run(array=array, requests=60_000, warmup=12_000, settings=words, precondition=precondition)
        assert isinstance(result, ssdlab.Result)
        found = result.host.read.latency_ns.p99_9
        assert found is not None
        return found

    ideal, without = tail({}, "none"), tail(collected, "closed-form")
    windows = {"array.coordinate": "staggered", "array.window": "400ms"}
    with_windows = tail(collected | windows, "closed-form")
    assert without > 2 * ideal
    assert with_windows < 1.2 * ideal
    fails_fast = tail(collected | fails, "closed-form")
    with_both = tail(collected | fails | windows, "closed-form")
    assert with_both < 1.2 * ideal < fails_fast < 0.9 * without
    too_short = tail(collected | windows | {"array.window": "30ms"}, "closed-form")
    assert too_short > 1.5 * with_windows
