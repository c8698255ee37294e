"""Devices fitted to measurements: drives that were simulated are found again, from fio's results alone."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from conftest import Cli
from ssdlab import InputError
from ssdlab.foreign import fio

pytest.importorskip("scipy")

from ssdlab import devices  # noqa: E402
from ssdlab.devices.start import units  # noqa: E402
from ssdlab.devices.unknowns import Shape, space  # noqa: E402

JOBS = """
[global]
filename=/dev/nvme0n1
ioengine=io_uring
bs=4k
rw=randread
[read-1]
iodepth=1
number_ios=200
[read-8]
stonewall
iodepth=8
number_ios=1500
[read-256]
stonewall
iodepth=256
number_ios=6000
[large-1]
stonewall
bs=64k
iodepth=1
number_ios=200
[sequential]
stonewall
rw=read
bs=128k
iodepth=32
number_ios=1000
[write-1]
stonewall
rw=randwrite
iodepth=1
number_ios=300
[fill]
stonewall
rw=write
bs=128k
iodepth=32
number_ios=1200
[mixed]
stonewall
rw=randrw
rwmixread=70
bs=16k
iodepth=16
number_ios=2500
"""


def drawn(seed: int) -> tuple[Shape, dict[str, float]]:
    """A drive that nobody knows: its shape and constants [ns, B/s, B]."""
    of = random.Random(seed)
    values = {
        "chip.t_read": of.uniform(35e3, 90e3),
        "chip.t_prog": of.uniform(500e3, 2000e3),
        "bus.bandwidth": of.uniform(0.6e9, 2e9),
        "host.link_bandwidth": of.uniform(1.5e9, 7e9),
        "host.t_submit + host.t_complete": of.uniform(3e3, 12e3),
        "host.t_firmware": of.uniform(1e3, 6e3),
        "buffer.size": of.uniform(8, 64) * 2**20,
    }
    return Shape(of.choice((2, 4, 8)), of.choice((2, 4, 8)), of.choice((2, 4))), values


def measure(folder: Path, shape: Shape, values: dict[str, float]) -> Path:
    """fio's JSON of the drive."""
    base = space("tlc")
    known = [values[each.name] for each in base.unknowns]
    (folder / "jobs.fio").write_text(JOBS)
    imported = fio.load(folder / "jobs.fio", device="tlc", settings=base.settings(shape, known))
    results = [part.run(keep_requests=True, seed=77) for part in imported.parts]
    path = folder / "measured.json"
    path.write_text(fio.to_json(results, imported))
    return path


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_constants_of_a_drive_that_is_not_known_are_found_again(seed: int, tmp_path: Path) -> None:
    shape, values = drawn(seed)
    found = devices.fit(devices.read(measure(tmp_path, shape, values)), "tlc", budget=2500, seeds=2, threads=2)
    assert found.chi2 < 2.0 * found.freedom
    # Dies and planes that sense by themselves are alike: of shapes that are not contradicted one has as many.
    assert any(each.dies * each.planes * each.channels == shape.dies * shape.planes * shape.channels
               for each, _ in found.shapes), (shape, found.shapes)  # fmt: skip
    outside = []
    for each in found.estimates:
        low, high = each.low or 0.0, each.high or float("inf")
        if each.seen and not low <= values[each.name] <= high:
            outside.append((each.name, values[each.name], each.low, each.value, each.high))
    assert not outside
    by = {each.name: each for each in found.estimates}
    assert by["chip.t_read"].value == pytest.approx(values["chip.t_read"], rel=0.05)
    worst = max(found.figures, key=lambda each: abs(each.error) if each.counted and each.figure.metric == "mean" else 0)
    assert abs(worst.error) < 0.05, worst
    path = tmp_path / "found.toml"
    path.write_text(devices.device_toml(found))
    assert ssdlab.run(path, requests=100).host.all.requests == 100
