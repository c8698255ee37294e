"""The requests that a generator makes, as a trace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ssdlab._core import InputError
from ssdlab.runs.documents import word_of
from ssdlab.runs.options import Options, PathLike
from ssdlab.runs.simulation import open_simulation
from ssdlab.trace.description import info
from ssdlab.trace.reading import Converted, convert

if TYPE_CHECKING:
    import polars


def of_workload(workload: PathLike, requests: int | None = None, seed: int = 1) -> polars.DataFrame:
    """The requests that a generator makes, as a frame like that of :func:`read`, with queues as devices. Its loops
    are opened: requests that wait for others come at their arrival, or all at once."""
    import polars as pl

    from ssdlab.runs import api

    open_loop = {
        "workload.iodepth": "none",
        "workload.thinktime": "0s",
        "workload.batch": 1,
        "workload.steps": 1,
        "age.fill": 0,
        "host.queues": 64,
    }
    settings = {**open_loop, "geometry.blocks": 4000}
    plain = Options("tlc", word_of("workload", workload), requests=1)
    described = json.loads(open_simulation(plain).manifest)["workload"]
    if "log_fs" in described:
        # Its requests have times, and it has no keys of generators.
        settings = {name: value for name, value in settings.items() if not name.startswith("workload.")}
    if "kv" in described:
        raise InputError(
            f"{workload}: when a KV cache reads and writes depends on the drive\n"
            "  help: run it on one, and keep its requests: ssdlab run --requests-out FILE"
        )
    played = api.run("tlc", workload, requests=requests, seed=seed, settings=settings, keep_requests=True)
    return played.requests.sort("request").select(
        time_ns=pl.col("arrival_ns"),
        op=pl.col("op"),
        offset=pl.col("offset"),
        bytes=pl.col("bytes"),
        device=pl.col("queue"),
        hint=pl.col("hint"),
    )


def generate(
    workload: PathLike, out: PathLike, *, to: str | None = None, requests: int | None = None, seed: int = 1
) -> Converted:
    """Writes the requests that a generator makes as a trace, for tools that take none (see :func:`of_workload`).

    Args:
        workload: a preset's name or a workload file.
        out: the trace; ``to`` and its ending choose the format as of :func:`convert`.
        requests: as many; what the workload specifies if not given.
        seed: of its random streams.

    Raises:
        InputError: the workload is refused, or the ending tells no format.
    """
    import tempfile

    made = of_workload(workload, requests, seed)
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        columns = ("time_ns", "op", "offset", "bytes", "device", "hint")
        made.select(columns).with_columns(made["op"].replace_strict({0: "R", 1: "W"})).write_csv(
            file, include_header=False
        )
        file.flush()
        return convert(file.name, out, to=to, format="csv:time=ns,op=R/W,offset=B,size=B,device,hint")


def twins(names: Sequence[str]) -> polars.DataFrame:
    """What the synthetic traces called ``names`` are like (see :func:`info`): workload, read_ratio,
    cold_read_ratio, size_bytes, gap_ms."""
    import polars as pl

    rows = []
    for name in names:
        found = info(of_workload(name))
        sizes, gaps = (found["bytes_read"] + found["bytes_written"]) / found["requests"], found["gap_ns"]["mean"] / 1e6
        rows.append((name.partition("/")[2], found["read_ratio"], found["cold_read_ratio"], sizes, gaps))
    numbers = dict.fromkeys(("read_ratio", "cold_read_ratio", "size_bytes", "gap_ms"), pl.Float64)
    return pl.DataFrame(rows, schema={"workload": pl.String, **numbers}, orient="row")
