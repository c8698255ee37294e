"""Runs that have, together, every statistic, each also where there was nothing to measure: for the page of statistics
(docs/conf.py) and for the types of results (tests/typed.py)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ssdlab
from ssdlab.runs.result import Result

TRIM_AND_FLUSH = """fio version 3 iolog
0 /dev/ssd add
0 /dev/ssd open
0 /dev/ssd trim 0 16384
1000 /dev/ssd sync 0 0
2000 /dev/ssd close
"""


ZONED = {"ftl.mapping": "zoned", "power.plp": True, "age.fill": 0, "zones.dies": 1, "zones.blocks": 1}
"""A drive with zones of 72 MiB."""
OF_ZONES = (
    "0,zone-open,0,75497472",
    "1,append,0,16384",
    "2,zone-close,0,75497472",
    "3,zone-report,0,4096",
    "4,zone-finish,0,75497472",
    "5,zone-reset,0,75497472",
    "6,zone-open-random,0,75497472",
    "7,write,0,16384",
    "8,zone-flush,0,16384",
)
"""A request of each kind that zones have, one after another."""
SMALL = {"requests": 100, "workload.rw": "randrw"}
"""Of a run whose statistics are told, not its numbers."""
TREES = str(Path(__file__).parents[1] / "studies" / "learned" / "trees" / "rif-start.csv")
RUNS: tuple[dict[str, Any], ...] = (
    {"until_steady": "1ms", "workload.rw": "randread"},
    {"until_steady": "1s", "requests": 100},
    SMALL
    | {"chip.model": "auto", "buffer.read_cache": "1MiB", "ecc.miscorrection": 0.01, "read.sensing": "adaptive-first"}
    | {"energy.power_states": [8.0, 4.0], "thermal.resistance": 5.0},
    SMALL | {"chip.model": "auto", "read.start": "learned", "read.trees": TREES},
    SMALL
    | {"ftl.slc_cache": "dynamic", "slc.convert": "hot:100", "gc.pacing": "none", "ftl.allocation": "plane"}
    | {"chip.model": "auto", "mapping.unit": "page", "gc.copyback": True},
    SMALL
    | {"ftl.raid": "parity:4", "ftl.over_provisioning": 0.6, "age.fill": 0, "mapping.unit": "page"}
    | {"faults.at": ["1us block 0:1"]},
    SMALL | {"energy.idle_mw": 100.0, "age.precondition": "closed-form"},
    SMALL | {"ftl.hints": 2, "mapping.table": "learned"},
    SMALL | {"ftl.mapping": "fast", "ftl.placement": "static", "age.fill": 0},
    SMALL | ZONED | {"workload.rw": "randwrite", "workload.zone_size": "18MiB"},
    SMALL | {"mapping.checkpoint": "16MiB", "mapping.journal": True, "power.cut_at": ["100us"], "power.plp": True},
)
"""Runs that have, together, every statistic that depends on the configuration."""


def results() -> Iterator[Result]:
    """The results of the runs, then those of the same drives where nothing is read or written."""
    with tempfile.TemporaryDirectory() as folder:
        (trace := Path(folder, "trims.log")).write_text(TRIM_AND_FLUSH)
        # More is asked for than the trace has.
        idle = [
            {name: value for name, value in run.items() if "." in name and not name.startswith("workload.")}
            | {"workload": trace, "requests": 5}
            for run in RUNS
        ]
        for options in (*RUNS, *idle):
            own = {name: value for name, value in options.items() if "." not in name}
            settings = {name: value for name, value in options.items() if "." in name}
            result = ssdlab.run(**own, settings=settings)
            assert isinstance(result, Result)
            yield result
        kv = {"kv.token_bytes": "1KiB", "kv.bs": "64KiB", "kv.stored": 0.5}
        result = ssdlab.run(workload="kv-cache", requests=2000, settings=kv)
        assert isinstance(result, Result)
        yield result
        log_fs = {"log_fs.footprint": "256MiB", "log_fs.file_size": "64KiB"}
        result = ssdlab.run(workload="f2fs", requests=2000, settings=log_fs)
        assert isinstance(result, Result)
        yield result
        (zones := Path(folder, "zones.csv")).write_text("\n".join(OF_ZONES) + "\n")
        result = ssdlab.run(
            workload=zones,
            format="csv:time=ms,op=read/write,offset=B,size=B",
            settings=ZONED | {"zones.random_area": "64KiB"},
        )
        assert isinstance(result, Result)
        yield result
