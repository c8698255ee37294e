"""Devices and workloads as dicts: the same as their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import ssdlab
from ssdlab.runs.documents import word_of
from ssdlab.runs.options import options_of

NESTED = {"base": "qlc", "geometry": {"channels": 4, "blocks": np.int64(200)}, "chip": {"t_read": "60us"}}
DOTTED = {"base": "qlc", "geometry.channels": 4, "geometry.blocks": 200, "chip.t_read": "60us"}
TOML = 'base = "qlc"\n[geometry]\nchannels = 4\nblocks = 200\n[chip]\nt_read = "60us"\n'


def played(**given: Any) -> ssdlab.Result:
    return cast(ssdlab.Result, ssdlab.run(**{"requests": 500, **given}))


def config(result: ssdlab.Result) -> Any:
    return result.manifest.to_dict()["device"]["config"]


def test_a_device_is_the_same_as_a_dict_nested_or_dotted_and_as_its_file(tmp_path: Path) -> None:
    (tmp_path / "device.toml").write_text(TOML)
    of_file = played(device=tmp_path / "device.toml")
    for given in (NESTED, DOTTED):
        result = played(device=given)
        assert config(result) == config(of_file)
        assert result.host.to_dict() == of_file.host.to_dict()
        assert result.manifest.device.name == "device"
    assert ssdlab.bounds(NESTED).capacity_bytes == of_file.manifest.device.capacity_bytes
    assert ssdlab.Device(NESTED).capacity == of_file.manifest.device.capacity_bytes
    in_a_line = played(device={"base": "1TB, 4 ch x 2 dies, TLC", "chip.t_read": "33us"})
    assert config(in_a_line)["chip"]["t_read"] == "33us"
    assert config(in_a_line)["geometry"]["channels"] == 4


def test_a_workload_is_the_same_as_a_dict_and_as_its_file(tmp_path: Path) -> None:
    (tmp_path / "load.toml").write_text('[workload]\nrw = "randread"\nbs = "4KiB"\nrate_iops = 30_000\n')
    of_file = played(workload=tmp_path / "load.toml").host.to_dict()
    keys = {"rw": "randread", "bs": "4KiB", "rate_iops": 30_000}
    for given in (keys, {"workload": keys}, {f"workload.{name}": value for name, value in keys.items()}):
        assert played(workload=given).host.to_dict() == of_file
    # The order of jobs is that of the dict, and their names may hold anything.
    jobs = {"job": {"b.1": {"rw": "read", "bs": "128KiB"}, "a": {"rw": "randwrite"}}}
    assert list(played(workload=jobs).manifest.to_dict()["workload"]["jobs"]) == ["b.1", "a"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"device": {"geometry.chanels": 4}},
            r"device text: geometry.chanels: unknown key.*\n.*did you mean `channels`",
        ),
        ({"device": {"geometry": {"channels": "four"}}}, r"device text: geometry.channels: \"four\" is not accepted"),
        ({"device": {"geometry.blocks": 4, "geometry": {"blocks": 5}}}, r"device: geometry.blocks: is given twice"),
        ({"device": {"preset": "tlc"}}, r"device: preset: there is no such key\n.*is its base"),
        ({"device": {"chip.t_read": object()}}, r"device: chip.t_read: is <object"),
        ({"device": {4: 5}}, r"device: 4 is no key"),
        ({"workload": {"rww": "read"}}, r"workload text: workload.rww: unknown key.*\n.*did you mean `rw`"),
        ({"workload": {"preset": "default"}}, r"workload: preset: .*\n.*settings="),
    ],
)
def test_a_dict_is_refused_as_its_file_would_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ssdlab.InputError, match=message):
        played(**given)


def test_values_are_written_as_toml() -> None:
    given = {
        "about": 'a "quoted" \u00b5 text',
        "a.flag": True,
        "a.none": None,
        "a.list": [1, "2us"],
        "a.share": np.float64(0.5),
    }
    text = word_of("device", given)
    assert text == (
        'about = "a \\"quoted\\" \u00b5 text"\na.flag = true\na.none = "none"\na.list = [1, "2us"]\na.share = 0.5\n'
    )
    assert word_of("device", Path("mine.toml")) == "mine.toml"
    # An empty dict is an empty file: the usual device.
    assert options_of({"device": {}}).device == "\n"


def test_sweeps_and_curves_take_dicts(tmp_path: Path) -> None:
    small = {"about": "small", "base": "tlc", "geometry.channels": 2}
    spec = {
        "run": {"requests": 300, "workload": {"rw": "randread", "bs": "4KiB"}},
        "axes": {"drive": {"small": {"device": small}, "tlc": {"device": "tlc"}}},
    }
    table = ssdlab.sweep(spec, cache=tmp_path / "cache").table
    assert table["drive"].to_list() == ["small", "tlc"]

    assert table["host.read.latency_ns.mean"].n_unique() == 2
    curve = ssdlab.curve([small, "tlc"], {"rw": "randread"}, qd=[1, 4], requests=300, cache=tmp_path / "cache")
    assert [line.name for line in curve.lines] == ["small", "tlc"]
    with pytest.raises(ssdlab.InputError, match="small is named twice"):
        ssdlab.curve([small, small], qd=[1], requests=300, cache=tmp_path / "cache")
    # In a file it is a table.
    file = tmp_path / "sweep.toml"
    (tmp_path / "mine.toml").write_text('base = "qlc"\n')
    file.write_text(
        '[run]\nrequests = 300\ndevice = { base = "mine.toml", geometry.channels = 2 }\n[axes]\nseed = [1, 2]\n'
    )
    assert ssdlab.sweep(file, cache=tmp_path / "cache").table.height == 2
