"""Arrays of drives, from their file to their tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ssdlab
from ssdlab.show.runs import of_result

LOAD = {"workload.rate_iops": 100000, "workload.rw": "randrw"}
SMALL = ["geometry.blocks=40", "ftl.over_provisioning=1.0"]
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


def test_an_array_of_one_drive_gives_the_drives_result(tmp_path: Path) -> None:
    one = _run(_file(tmp_path, "[drive.only]\ndevice = 'tlc'\n"), age="pec=1000,retention=3mo")
    settings = [*SMALL, *(f"{key}={value}" for key, value in LOAD.items())]
    alone = ssdlab.run("tlc", requests=2000, settings=settings, age="pec=1000,retention=3mo")
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


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("[array]\nlayout = 'raid6'\n[drive.a]\ncount = 2\n", {}, ["array.layout", "at least 3 drives"]),
        ("[array]\nhedge = 'delay'\n" + DRIVES, {}, ["array.hedge", "no second way", "mirror"]),
        ("[array]\nlayout = 'mirror'\ncopies = 2\n" + DRIVES, {}, ["array.placement", "declustered"]),
        ("[array]\nlayout = 'raid5'\nparity = 2\n" + DRIVES, {}, ["array.parity", "leave it out"]),
        ("[array]\nlayuot = 'raid5'\n" + DRIVES, {}, ["layuot", "did you mean `layout`"]),
        ("[array]\nlayout = 'stripe'\n", {}, ["has no drives", "[drive.NAME]"]),
        ("[drive.a]\ndevice = 'tcl'\n", {}, ["drive.a", "did you mean `tlc`"]),
        ("[drive.a]\nsettings = ['age.precondition=write:1']\n", {}, ["drive.a", "age.precondition"]),
        (DRIVES, {"checkpoint": "x.ckpt"}, ["--from", "--array"]),
        (DRIVES, {"save": "x.ckpt"}, ["--save", "--array"]),
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
