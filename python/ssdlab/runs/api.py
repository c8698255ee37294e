"""Playing runs: :func:`run`, and what the command line does alike."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack, overload

from ssdlab._core import InputError
from ssdlab.common.output import check_outputs, write
from ssdlab.runs.options import OPTIONS, Given, Options, PathLike, RunOptions, options_of, whole_number
from ssdlab.runs.result import Result, Runs
from ssdlab.runs.runner import ProgressListener, RoundsListener, for_seed, play, play_repeats


@overload
def run(
    device: Given | None = ...,
    workload: Given | Sequence[Given] = ...,
    *,
    repeat: Literal[1] = ...,
    threads: int | None = ...,
    json_out: PathLike | None = ...,
    progress: ProgressListener | None = ...,
    **options: Unpack[RunOptions],
) -> Result: ...
@overload
def run(
    device: Given | None = ...,
    workload: Given | Sequence[Given] = ...,
    *,
    repeat: int,
    threads: int | None = ...,
    json_out: PathLike | None = ...,
    progress: ProgressListener | None = ...,
    **options: Unpack[RunOptions],
) -> Result | Runs: ...
def run(
    device: Given | None = None,
    workload: Given | Sequence[Given] = "default",
    *,
    repeat: int = 1,
    threads: int | None = None,
    json_out: PathLike | None = None,
    progress: ProgressListener | None = None,
    **options: Unpack[RunOptions],
) -> Result | Runs:
    unknown = next((name for name in options if name not in OPTIONS), None)
    if unknown is not None:
        raise TypeError(f"run() got an unexpected keyword argument {unknown!r}{_meant(unknown)}")
    asked = options_of({"device": device, "workload": workload, **options})
    repeat = whole_number("repeat", repeat, 1)
    threads = None if threads is None else whole_number("threads", threads, 1)
    path = None if json_out is None else os.fspath(json_out)
    result = play_checked(asked, repeat, threads, path, progress=progress)
    if path is not None:
        write(path, result.to_json().encode())
    return result


FIO = {"iodepth": "qd", "queue_depth": "qd", "depth": "qd", "runtime": "duration"}
FIO |= dict.fromkeys(("rate_iops", "bs", "rw"), "settings")
"""What stands for words of fio's, and of other tools."""


def _meant(unknown: str) -> str:
    """A hint for a keyword that there is not."""
    from difflib import get_close_matches

    from ssdlab.runs.catalogue import schema

    keys = [f"{key.section}.{key.key}" for key in schema() if key.key == unknown]
    if unknown in FIO and FIO[unknown] != "settings":
        return f": did you mean {FIO[unknown]}?"
    if keys or unknown in FIO:
        return f': a key is given as settings={{"{keys[0] if keys else f"workload.{unknown}"}": …}}'
    near = get_close_matches(unknown, OPTIONS, 1)
    return f": did you mean {near[0]}?" if near else f": the options are {', '.join(OPTIONS)}"


run.__doc__ = f"""Replays a workload on a device and reports what happened. The GIL is released while it plays.

Args:
{"".join(f"    {name}: {option.about}{chr(10)}" for name, option in OPTIONS.items())}\
    repeat: play so often, with seeds ``seed``, ``seed + 1``, ...; above 1 the answer is :class:`Runs`.
    threads: for ``repeat``; None is one a core. The results do not depend on it.
    json_out: write the result here (JSON).
    progress: called some 20 times a second with the share played (or None), requests submitted and completed.
        With ``repeat`` it is called from the worker threads.

Raises:
    InputError: bad input; the message names file, line or key, and the remedy.
    SimulationError: the run cannot go on; ``error.kept`` lists what is left of it.
    Interrupted: Ctrl-C (a KeyboardInterrupt); ``error.kept`` lists what is left of the run.
"""


def play_checked(
    options: Options,
    repeat: int,
    threads: int | None,
    json_out: str | None,
    *,
    progress: ProgressListener | None = None,
    note: Any = None,
    rounds: RoundsListener | None = None,
) -> Result | Runs:
    """Checks where the outputs go, then plays."""
    if repeat > MOST_REPEATS:
        raise InputError(f"repeat is {repeat}\n  help: write {MOST_REPEATS:,} at most, or several commands with --seed")
    seeds = range(options.seed, options.seed + repeat)
    whole_number("seed + repeat", seeds[-1], 0)
    outputs: dict[str, str | None] = {"--json": json_out}
    per_seed = {"--requests-out": options.requests_out, "--series-out": options.series_out, "--save": options.save}
    for option, path in per_seed.items():
        if repeat == 1 or path is None:
            outputs[option] = path
        else:
            # A name for each file: an error names its path.
            outputs |= {f"{option} (seed {seed})": for_seed(path, seed) for seed in seeds}
    check_against_inputs(outputs, options)
    if repeat > 1:
        return play_repeats(options, repeat, threads, progress=progress, note=note)
    return play(options, progress=progress, note=note, rounds=rounds)


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
