"""The types of the options of a run: written by ``pytest --update-golden`` (tests/typed.py)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from ssdlab.policy import Given, NewFtl

PathLike = str | os.PathLike[str]
Age = str | Mapping[str, object]
Settings = Mapping[str, Any] | Iterable[str]


class RunOptions(TypedDict, total=False):
    """The options of a run that are given by keyword."""

    array: PathLike | None
    """File (TOML) of an array of drives, on which the workload is run: docs/arrays.md. ``device``, ``scheme``,
    ``age`` and ``settings`` are those of each of its drives, ``array.KEY`` in ``settings`` those of the array."""
    qd: int | None
    """Requests outstanding at once, each followed by another: queue depth N is ``replay = "closed:N"``."""
    scheme: str | None
    """Scheme's name, or ``axis=choice`` pairs with commas between."""
    age: Age | None
    """State that the run starts from: ``"pec=2000,retention=6mo"`` or a dict of the same."""
    precondition: str | None
    """``"closed-form"`` starts as after long overwriting, ``"write:N"`` really overwrites the drive N times first;
    the same as ``age.precondition``."""
    settings: Settings | None
    """Configuration keys: ``{"chip.t_prog": "400us"}``, ``{"chip": {"t_prog": "400us"}}`` or
    ``["chip.t_prog=400us"]``; ``ssdlab.schema()`` lists them."""
    policies: Given | None
    """Functions that stand in for built-in choices: ``{"victim": my_function}``, ``{"victim":
    "my_policies.py:oldest"}`` or ``"victim=my_policies.py:oldest"``; see ``ssdlab.policy``."""
    ftl: NewFtl | str | None
    """An FTL of your own, a class in Python: ``"mine.py:MyFtl"`` or the class itself; the same as the policy
    ``ftl``. See ``ssdlab.policy.Ftl``."""
    replay: str | None
    """``"timed"`` (the default), ``"timed:xN"`` (N times faster) or ``"closed:QD"`` (QD requests at once)."""
    requests: int | None
    """Stop after this many requests."""
    duration: str | None
    """Submit nothing after this simulated time, such as 10s."""
    warmup: int
    """Requests at the start that are played and left out of the statistics."""
    until_steady: str | None
    """Play until the drive is in a steady state by rounds of at least this simulated time (``"1s"``), after the PTS
    of SNIA; the last five rounds are the result, and ``host.steady.reached`` reports it. A generator goes on for
    as long as it takes."""
    seed: int
    """Seed of all random streams; same inputs and seed, same result."""
    beyond: str | None
    """``"wrap"`` (the default) or ``"refuse"`` requests beyond the drive or their namespace."""
    checkpoint: PathLike | None
    """File that ``save`` or ``Device.save()`` has written: its drive goes on, and the run's times and statistics
    begin there. Without ``device`` it is the drive of the file; one that is given must be the same, but for
    policies where nothing was under way."""
    format: str | None
    """Format of the trace, where it cannot be recognized from its content: ``"disksim:time=ms,offset=B,size=B"``."""
    skip_bad_lines: int
    """Malformed lines of a trace that may be left out, counted in ``host.trace.bad_lines``."""
    sort_window: int | None
    """How many requests too late a line of a trace may stand (1024): it is put in order, and counted."""
    volumes: str | None
    """Where a trace's volumes lie: ``"overlay"`` (all from address 0; the default), ``"namespaces"`` (equal parts of
    the drive) or ``"concatenate"`` (one after another)."""
    traces: PathLike | None
    """Folder of real traces: a workload such as ``"asplos21/stg_0"``, which is generated with the statistics of a
    real trace, is replaced by the file of that name (``stg_0.csv.gz``) where the folder has it."""
    check: bool
    """Verify the drive's invariants after every event; the result is the same. One that does not hold ends the run
    with a ``SimulationError``, which says where, when and what was expected."""
    requests_out: PathLike | None
    """Write the request log here (Parquet). With ``repeat``, ``x.parquet`` gives ``x.seedN.parquet``."""
    keep_requests: bool
    """Keep the request log in memory, for ``Result.requests``."""
    series_out: PathLike | None
    """Write the time series (Parquet)."""
    save: PathLike | None
    """Write the state of the drive here: a checkpoint. With ``repeat``, ``x.ckpt`` gives ``x.seedN.ckpt``."""
    save_at: str | None
    """When it is written: ``"rest"`` (the default: the run is over, everything buffered is on flash, and the drive
    has nothing more to do by itself), ``"end"`` (as it stands when the last request has completed) or a simulated
    time of the run (``"2s"``, as it stands)."""
