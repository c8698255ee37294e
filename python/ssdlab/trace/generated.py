"""The requests that a generator makes, as a trace."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ssdlab._core import InputError
from ssdlab.common.output import check_outputs, replacing
from ssdlab.runs.documents import word_of
from ssdlab.runs.options import Options, PathLike
from ssdlab.runs.simulation import open_simulation
from ssdlab.trace.description import info
from ssdlab.trace.reading import Converted, convert, target_of

if TYPE_CHECKING:
    import polars


WORDS = ("read", "write", "trim", "flush")
"""The operations that reach a text format, by number; all others are left out."""
HELD = {"msr": 2, "mqsim": 2, "fio": 4}
"""How many of these a format holds."""
LARGE = {"geometry.blocks": 4000}
"""Makes of ``tlc`` a drive of 9 TB, for workloads whose addresses lie beyond its end."""


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
    settings = open_loop
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
    if played.host.wrapped:
        settings = settings | LARGE
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

    Trims and flushes are kept in Parquet and in fio's logs; other formats leave them out, and they are counted.

    Args:
        workload: a preset's name or a workload file.
        out: the trace; ``to`` and its ending choose the format as of :func:`convert`.
        requests: as many; what the workload specifies if not given.
        seed: of its random streams.

    Raises:
        InputError: the workload is refused, the ending tells no format, or the format holds none of the requests.
    """
    import tempfile

    import polars as pl

    target = os.fspath(out)
    check_outputs({"OUT": target}, ())
    to = target_of(target, to)
    made = of_workload(workload, requests, seed)
    if to is None:
        with replacing(target) as temporary:
            made.with_columns(pl.col("time_ns") - made["time_ns"].min()).write_parquet(temporary)
        return Converted({"requests": made.height, "bad_lines": 0, "other_lines": 0, "reordered": 0}, ())
    words = dict(enumerate(WORDS[: HELD[to]]))
    held = made.filter(pl.col("op").is_in(list(words)))
    if not held.height:
        all_held = ", ".join(words.values())
        raise InputError(f"{workload}: makes nothing that {to} holds ({all_held})\n  help: write Parquet")
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        held.with_columns(pl.col("op").replace_strict(words)).write_csv(file, include_header=False)
        file.flush()
        done = convert(file.name, out, to=to, format="csv:time=ns,op,offset=B,size=B,device,hint")
    return done._replace(counts=done.counts | {"left_out": done.counts["left_out"] + made.height - held.height})


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
