"""A log-structured file system (the workloads f2fs and f2fs-zoned) on drives: what it asks is what they allow."""

from __future__ import annotations

from typing import Any

import pytest

import ssdlab

SMALL = {"log_fs.footprint": "1GiB", "log_fs.file_size": "256KiB", "log_fs.checkpoint": "1s"}
ZONES = {
    "zones.dies": 1,
    "zones.conventional": 1,
    "age.fill": 0.05,
    "log_fs.section_size": "72MiB",
    "log_fs.footprint": "2880MiB",
}


@pytest.mark.parametrize(
    ("device", "workload", "settings"),
    [("tlc", "f2fs", {"ftl.hints": 7}), ("zns", "f2fs-zoned", ZONES)],
)
def test_it_asks_for_what_drives_allow(device: str, workload: str, settings: dict[str, object]) -> None:
    found: Any = ssdlab.run(device, workload, requests=20_000, settings=SMALL | settings)
    host = found.host
    assert host.log_fs.operations > 5_000
    assert host.log_fs.sections_cleaned > 0
    assert host.log_fs.checkpoints > 0
    log_fs = host.log_fs
    written = log_fs.written_bytes + log_fs.node_bytes + log_fs.cleaned_bytes + log_fs.table_bytes
    assert log_fs.amplification == pytest.approx(written / log_fs.written_bytes)
    result = found.to_dict()
    if device == "zns":
        assert result["zones"]["refused"] == 0, "writes stand at the pointer of their zone"
        assert result["zones"]["resets"] > 0
    else:
        assert result["fdp"]["invalid_handles"] == 0
        assert result["host"]["trim"]["requests"] > 0


def test_the_manifest_says_what_was_run_and_other_keys_are_refused() -> None:
    found = ssdlab.run("tlc", "f2fs", requests=500, settings=SMALL | {"log_fs.cleaning": "cost-benefit"})
    assert isinstance(found, ssdlab.Result)
    assert found.to_dict()["manifest"]["workload"]["log_fs"]["cleaning"] == "cost-benefit"
    for settings, words in [
        ({"workload.bs": "4KiB"}, "is no key of the workload"),
        ({"log_fs.cleanin": "greedy"}, "did you mean `cleaning`"),
        ({"log_fs.footprint": "16MiB"}, "choose a larger device or footprint"),
    ]:
        with pytest.raises(ssdlab.InputError, match=words):
            ssdlab.run("tlc", "f2fs", settings=settings)
    with pytest.raises(ssdlab.InputError, match="the workload is a generator"):
        ssdlab.run("tlc", settings={"log_fs.bs": "4KiB"})
