"""The library's face: :func:`run`, :func:`presets`, :func:`schema`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from ssdlab._core import InputError
from ssdlab.common.output import check_outputs, write
from ssdlab.runs.options import Age, Options, PathLike, Settings, _whole, age_words, precondition_words, setting_words
from ssdlab.runs.result import Result, Runs
from ssdlab.runs.runner import Progress, for_seed, play, play_repeats


@overload
def run(
    device: PathLike = ...,
    workload: PathLike | Sequence[PathLike] = ...,
    *,
    scheme: str | None = ...,
    age: Age | None = ...,
    replay: str | None = ...,
    requests: int | None = ...,
    duration: str | None = ...,
    repeat: Literal[1] = ...,
    seed: int = ...,
    settings: Settings | None = ...,
    warmup: int = ...,
    precondition: str | None = ...,
    until_steady: str | None = ...,
    format: str | None = ...,
    skip_bad_lines: int = ...,
    sort_window: int | None = ...,
    volumes: str | None = ...,
    beyond: str | None = ...,
    traces: PathLike | None = ...,
    requests_out: PathLike | None = ...,
    keep_requests: bool = ...,
    series_out: PathLike | None = ...,
    json_out: PathLike | None = ...,
    progress: Progress | None = ...,
    threads: int | None = ...,
) -> Result: ...
@overload
def run(
    device: PathLike = ...,
    workload: PathLike | Sequence[PathLike] = ...,
    *,
    scheme: str | None = ...,
    age: Age | None = ...,
    replay: str | None = ...,
    requests: int | None = ...,
    duration: str | None = ...,
    repeat: int,
    seed: int = ...,
    settings: Settings | None = ...,
    warmup: int = ...,
    precondition: str | None = ...,
    until_steady: str | None = ...,
    format: str | None = ...,
    skip_bad_lines: int = ...,
    sort_window: int | None = ...,
    volumes: str | None = ...,
    beyond: str | None = ...,
    traces: PathLike | None = ...,
    requests_out: PathLike | None = ...,
    keep_requests: bool = ...,
    series_out: PathLike | None = ...,
    json_out: PathLike | None = ...,
    progress: Progress | None = ...,
    threads: int | None = ...,
) -> Result | Runs: ...
def run(
    device: PathLike = "tlc",
    workload: PathLike | Sequence[PathLike] = "default",
    *,
    scheme: str | None = None,
    age: Age | None = None,
    replay: str | None = None,
    requests: int | None = None,
    duration: str | None = None,
    repeat: int = 1,
    seed: int = 1,
    settings: Settings | None = None,
    warmup: int = 0,
    precondition: str | None = None,
    until_steady: str | None = None,
    format: str | None = None,
    skip_bad_lines: int = 0,
    sort_window: int | None = None,
    volumes: str | None = None,
    beyond: str | None = None,
    traces: PathLike | None = None,
    requests_out: PathLike | None = None,
    keep_requests: bool = False,
    series_out: PathLike | None = None,
    json_out: PathLike | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
) -> Result | Runs:
    """Replays a workload on a device and tells what happened. The GIL is released while it plays.

    Args:
        device: a preset's name (see :func:`presets`) or the path of a device file (TOML).
        workload: a preset's name, a workload file (.toml) or a trace, plain, gzip or zstd;
            a list of traces is merged by time.
        scheme: a scheme's name, or ``axis=choice`` pairs joined by commas.
        age: the state that the run starts from: ``"pec=2000,retention=6mo"`` or a dict of the same.
        replay: ``"timed"`` (the default), ``"timed:xN"`` (N times faster) or ``"closed:QD"`` (QD requests at once).
        requests: stop after so many requests.
        duration: submit nothing after this simulated time, with its unit: ``"10s"``.
        repeat: play so often, with seeds ``seed``, ``seed + 1``, ...; above 1 the answer is :class:`Runs`.
        seed: of all random streams; same inputs and seed, same result.
        settings: configuration keys: ``{"chip.t_prog": "400us"}``, ``{"chip": {"t_prog": "400us"}}`` or
            ``["chip.t_prog=400us"]``; see :func:`schema`.
        warmup: requests at the start that are played and left out of the statistics.
        precondition: ``"closed-form"`` starts as after long uniform overwriting, ``"write:N"`` really overwrites the
            drive N times first; the same as ``age.precondition``.
        until_steady: play until the drive is in a steady state by rounds of this simulated time (``"1s"``), after
            SNIA's PTS; the last five rounds are the result, and ``host.steady.reached`` tells. A generator goes on for
            as long as it takes.
        format: of a trace, where it cannot be told from its content: ``"disksim:time=ms,offset=B,size=B"``.
        skip_bad_lines: malformed lines of a trace that may be left out, counted in ``host.trace.bad_lines``.
        sort_window: how many requests too late a line of a trace may stand (1024): it is put in order, and counted.
        volumes: where a trace's volumes lie: ``"overlay"`` (all from address 0; the default), ``"namespaces"`` (equal
            parts of the drive) or ``"concatenate"`` (one after another).
        beyond: ``"wrap"`` (the default) or ``"refuse"`` requests beyond the drive or their namespace.
        traces: a folder of real traces: a workload such as ``"asplos21/stg_0"``, which is the generated twin of a real
            trace, is replaced by the file of that name (``stg_0.csv.gz``) where the folder has it.
        requests_out: write the request log here (Parquet). With ``repeat``, ``x.parquet`` gives ``x.seedN.parquet``.
        keep_requests: keep the request log in memory, for ``Result.requests``.
        series_out: write the time series here (Parquet).
        json_out: write the result here (JSON).
        progress: called some 20 times a second with the share played (or None), requests submitted and completed.
            With ``repeat`` it is called from the worker threads.
        threads: for ``repeat``; None is one a core. The results do not depend on it.

    Raises:
        InputError: bad input; the message names file, line or key, and the remedy.
        SimulationError: the run cannot go on; ``error.kept`` tells what is left of it.
        Interrupted: Ctrl-C (a KeyboardInterrupt); ``error.kept`` tells what is left of the run.
    """
    works = [os.fspath(work) for work in ([workload] if isinstance(workload, str | os.PathLike) else workload)]
    if not works:
        raise InputError("workload is an empty list\n  help: give a workload, or one or more traces")
    options = Options(
        device=os.fspath(device),
        workload=works[0],
        merge=tuple(works[1:]),
        volumes=volumes,
        beyond=beyond,
        traces=os.fspath(traces) if traces is not None else None,
        scheme=scheme,
        age=age_words(age),
        settings=(*precondition_words(precondition), *setting_words(settings)),
        replay=replay,
        requests=None if requests is None else _whole("requests", requests, 1),
        duration=duration,
        warmup=_whole("warmup", warmup, 0),
        until_steady=until_steady,
        seed=_whole("seed", seed, 0),
        format=format,
        skip_bad_lines=_whole("skip_bad_lines", skip_bad_lines, 0),
        sort_window=None if sort_window is None else _whole("sort_window", sort_window, 0),
        requests_out=None if requests_out is None else os.fspath(requests_out),
        keep_requests=keep_requests,
        series_out=None if series_out is None else os.fspath(series_out),
    )
    repeat = _whole("repeat", repeat, 1)
    threads = None if threads is None else _whole("threads", threads, 1)
    path = None if json_out is None else os.fspath(json_out)
    result = play_checked(options, repeat, threads, path, progress=progress)
    if path is not None:
        write(path, result.to_json().encode())
    return result


def play_checked(
    options: Options,
    repeat: int,
    threads: int | None,
    json_out: str | None,
    *,
    progress: Progress | None = None,
    note: Any = None,
) -> Result | Runs:
    """Checks where the outputs go, then plays."""
    if repeat > MOST_REPEATS:
        raise InputError(f"repeat is {repeat}\n  help: write {MOST_REPEATS:,} at most, or several commands with --seed")
    seeds = range(options.seed, options.seed + repeat)
    _whole("seed + repeat", seeds[-1], 0)
    outputs: dict[str, str | None] = {"--json": json_out}
    for option, path in (("--requests-out", options.requests_out), ("--series-out", options.series_out)):
        if repeat == 1 or path is None:
            outputs[option] = path
        else:
            # A word apart for each file: an error names its path.
            outputs |= {f"{option} (seed {seed})": for_seed(path, seed) for seed in seeds}
    check_against_inputs(outputs, options)
    if repeat > 1:
        return play_repeats(options, repeat, threads, progress=progress, note=note)
    return play(options, progress=progress, note=note)


MOST_REPEATS = 10_000
"""The results of all repeats are held in memory, some 100 kB each."""


def check_against_inputs(outputs: Mapping[str, str | None], options: Options) -> None:
    """Refuses outputs that cannot be written or that the run reads (:func:`ssdlab.common.output.check_outputs`)."""
    inputs: Sequence[str] = ()
    # What is not there cannot be an input: the common case costs nothing.
    if any(path not in (None, "-") and os.path.isfile(path) for path in outputs.values()):
        from ssdlab.runs.manifest import inputs_of

        inputs = inputs_of(options)
    check_outputs(outputs, inputs)
