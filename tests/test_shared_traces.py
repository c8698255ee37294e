"""Real traces replay on every device preset. They lie outside the repository and may not be copied into it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import ssdlab

FOLDER = Path(os.environ.get("SSDLAB_TRACES") or Path(__file__).parents[2] / "shared" / "traces")
TRACES = sorted(path for kind in ("csv", "mqsim", "ascii") for path in FOLDER.glob(f"*.{kind}*"))
# A drive of zones refuses what a trace of another drive writes out of order.
DEVICES = [
    preset.name for preset in ssdlab.presets() if preset.kind == "device" and preset.name not in ("zns", "zn540")
]


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.skipif(not TRACES, reason=f"no traces in {FOLDER}; SSDLAB_TRACES names another folder")
@pytest.mark.parametrize("device", DEVICES)
def test_every_shared_trace_replays(device: str) -> None:
    failures = []
    for trace in TRACES:
        format = "disksim:time=ms,offset=B,size=B" if "msr_window" in trace.name else None
        try:
            result = ssdlab.run(device, trace, requests=3000, replay="closed:32", format=format)
        except (ssdlab.InputError, ssdlab.SimulationError) as error:
            failures.append(f"{trace.name}: {error}")
        else:
            assert result.host.all.requests == 3000, trace.name
    assert not failures, "\n".join(failures)
