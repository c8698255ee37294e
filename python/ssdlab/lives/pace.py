"""How fast a workload is played, so that a drive is written as much as its life asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ssdlab._core import InputError
from ssdlab.sweeps.spec import Value

SLOWEST, FASTEST = 1e-6, 1e9
"""Speeds that a replay may have (``replay``)."""


def has_own_times(manifest: Mapping[str, Any]) -> bool:
    """Whether a run's requests have times of their own, as those of traces and of their twins, and no rate."""
    return "trace" in manifest["workload"] or "phases" in manifest["workload"]


def paced(name: str, probe: Mapping[str, Any], wanted: float, own_times: bool) -> dict[str, Value]:
    """What makes a workload write this many bytes a second: its rate, or how much faster than recorded it is replayed.

    Args:
        name: of the workload, for errors.
        probe: the statistics of a run of it at its own speed.
        wanted: bytes a second.
        own_times: see :func:`has_own_times`.

    Raises:
        InputError: it writes nothing, or too little to be replayed so fast.
    """
    written, requests = probe["host.write.bytes"], probe["host.all.requests"]
    if not written:
        raise InputError(
            f'{name}: writes nothing\n  help: drives are worn by writes: set workload.rw = "randrw" or "randwrite"'
        )
    if not own_times:
        return {"workload.rate_iops": float(f"{wanted / (written / requests):.6g}")}
    speed = float(f"{wanted * requests / probe['host.all.iops'] / written:.6g}")
    if not SLOWEST <= speed <= FASTEST:
        raise InputError(
            f"{name}: would have to be replayed {speed:g} times as fast to write {wanted:.3g} B/s\n"
            "  help: take a trace that writes more, or mend writes_per_day and duty"
        )
    return {"replay": f"timed:x{speed!r}"}
