"""The run loop: plays the core in short steps, so that progress is shown and Ctrl-C is answered at once."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ssdlab._core import InputError, Simulation, SimulationError
from ssdlab.common.machine import cpus, peak_rss_bytes
from ssdlab.common.output import Output, write
from ssdlab.runs.findings import interrupted as interrupted_by
from ssdlab.runs.kept import Interrupted, Kept
from ssdlab.runs.options import Options
from ssdlab.runs.result import Result, Runs
from ssdlab.runs.simulation import open_simulation

if TYPE_CHECKING:
    from ssdlab._core import FinishedRun, Progress

ProgressListener = Callable[["float | None", int, int], None]
"""Called with the share played (None where it cannot be known), the requests submitted and those completed."""


class Rounds(NamedTuple):
    """How far the search for a steady state has come (``until_steady``)."""

    done: int
    """Rounds that have ended."""
    iops: float | None
    """Requests/s and write amplification, means of the last five rounds; None before there are two."""
    waf: float | None
    spread: float | None
    """Largest less smallest over the mean of the last rounds, of the number that has the larger one: a steady state
    has 0.2 at most."""
    slope: float | None
    """The rise of the line through them over the mean: a steady state has 0.1 at most."""

    def left(self) -> int:
        """About how many rounds are to come at least: five make a window, and differences are taken to halve in it."""
        if self.slope is None or self.spread is None:
            return max(1, 5 - self.done)
        excess = max(abs(self.slope) / 0.1, self.spread / 0.2, 1.0)
        return max(1, 5 - self.done, math.ceil(5 * math.log2(excess)))


RoundsListener = Callable[[Rounds], None]

STEP_S = 0.05
"""Wall time that a step aims at [s]: Ctrl-C waits for one at most."""

MOST_REQUESTS = 1 << 20
"""Requests of a step at most: no step is as long as :data:`STEP_S` with more (assumed)."""


NOTED_S = 0.5
"""Wall time from which on it is said that no request is played yet [s] (assumed: what lasts less needs no word)."""


class _Stopped(Exception):  # noqa: N818 -- nothing is in error where another run has ended
    """Another repeat has ended the whole."""

    kept = Kept(0)


def play(
    options: Options,
    *,
    progress: ProgressListener | None = None,
    note: Callable[[str], None] | None = None,
    rounds: RoundsListener | None = None,
    stop: Stop | None = None,
    simulation: Simulation | None = None,
    keep_series: bool = True,
) -> Result:
    """Plays one run to its end. Errors carry ``kept`` (a :class:`Kept`) and say it in their notes. ``simulation`` is
    what ``options`` open, where that has been done. ``keep_series``: the result is to have its time series."""
    started = time.perf_counter()
    log = None if options.requests_out is None else Output(options.requests_out)
    saved = None if options.save is None else Output(options.save)
    try:
        simulation = simulation or open_simulation(_to_temporary(options, log, saved))
        completed, finished = _played(simulation, log, progress, note, rounds, stop, keep_series)
    except Interrupted as error:
        if saved is not None:
            saved.discard()
        error.kept = error.kept._replace(result=_until_now(simulation, error.finished, started, options))
        error.args = (str(error.kept),)
        raise
    except BaseException as error:
        for output in (log, saved):
            if output is not None:
                output.discard()
                output.renamed(error)
        _say_how_to_replay(error, options)
        raise
    series, rows = finished["series"], finished["requests"]
    kept = Kept(completed)
    try:
        if log is not None and rows is not None:
            kept = Kept(completed, ((log.commit(), rows[0]),))
        if options.series_out is not None and series is not None:
            write(options.series_out, series)
        if saved is not None:
            simulation.save()
            saved.commit()
    except (InputError, SimulationError) as error:
        if saved is not None:
            saved.discard()
            saved.renamed(error)
        _attach(error, kept)
        raise
    return _result(simulation, finished, started, options)


def _result(simulation: Simulation, finished: FinishedRun, started: float, options: Options) -> Result:
    """A result from what the core gives at the end of a run."""
    process = {"wall_s": time.perf_counter() - started, "peak_rss_bytes": peak_rss_bytes()}
    return Result.from_core(finished, options.requests_out, simulation.note, process, options)


def _until_now(
    simulation: Simulation | None, finished: FinishedRun | None, started: float, options: Options
) -> Result | None:
    """What an interrupted run has measured; None where no request had completed."""
    if simulation is None or finished is None:
        return None
    result = _result(simulation, finished, started, options)
    return result if result.host.all.requests else None


def _say_how_to_replay(error: BaseException, options: Options) -> None:
    """Where an invariant does not hold, the error gives the command that plays the run again and checks it."""
    if not (isinstance(error, SimulationError) and str(error).startswith("Invariant")):
        return
    import shlex

    settings = [word for setting in options.settings for word in ("--set", setting)]
    command = shlex.join(["ssdlab", "run", *options.replace(check=True).command(), *settings])
    error.args = (f"{error}\n  replay: {command}",)


def _to_temporary(options: Options, log: Output | None, saved: Output | None) -> Options:
    """This run, which writes its files to where nobody reads them yet."""
    options = options if log is None else options.replace(requests_out=log.temporary)
    return options if saved is None else options.replace(save=saved.temporary)


def _played(
    simulation: Simulation,
    log: Output | None,
    progress: ProgressListener | None,
    note: Callable[[str], None] | None,
    rounds: RoundsListener | None,
    stop: Stop | None,
    keep_series: bool,
) -> tuple[int, FinishedRun]:
    """Plays a simulation to its end: requests that completed, and what the core gives at the end. A run that ends
    before keeps its request log."""
    completed = 0
    try:
        if note is not None and simulation.note:
            note(simulation.note)
        said = note is None
        began = time.perf_counter()
        for at in _steps(simulation, stop):
            completed = at["completed"]
            if not said and note is not None and time.perf_counter() - began > NOTED_S:
                said = True
                if simulation.warms() is not None:
                    note("warming the FTL: the writes before the run go through the FTL alone, without dies and time")
            found = None if rounds is None else simulation.rounds()
            if rounds is not None and found is not None:
                done, trend = found
                rounds(Rounds(done, **trend) if trend else Rounds(done, None, None, None, None))
            if progress is not None:
                progress(at["share"], at["submitted"], completed)
        return completed, simulation.finish(keep_series=keep_series)
    except KeyboardInterrupt:
        kept, finished = _keep(simulation, log, completed)
        interrupted = Interrupted(kept)
        interrupted.finished = finished
        raise interrupted from None
    except _Stopped as stopped:
        stopped.kept, _ = _keep(simulation, log, completed)
        raise
    except (InputError, SimulationError) as error:
        _attach(error, _keep(simulation, log, completed)[0])
        if log is not None:
            log.renamed(error)
        raise
    except BaseException:  # a fault of the core: what it has written is not to be trusted
        if log is not None:
            log.discard()
        raise


def _steps(simulation: Simulation, stop: Stop | None) -> Iterator[Progress]:
    """Plays a simulation in steps of some :data:`STEP_S`; after each, how far it is."""
    requests = 256
    while True:
        before = time.perf_counter()
        ended = simulation.step(requests)
        took = time.perf_counter() - before
        # A step may end before this many requests, where they are long.
        requests = min(MOST_REQUESTS, max(1, int(requests * min(4.0, max(0.25, STEP_S / max(took, 1e-6))))))
        yield simulation.progress()
        if ended:
            return
        if stop is not None and stop.is_set():
            raise _Stopped


def play_repeats(
    options: Options,
    repeat: int,
    threads: int | None,
    *,
    progress: ProgressListener | None = None,
    note: Callable[[str], None] | None = None,
) -> Runs:
    """Plays ``repeat`` runs with consecutive seeds on a pool of threads; their order and results are the seeds'."""
    from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
    from threading import Event

    started = time.perf_counter()
    stop = Event()
    shares: list[tuple[float | None, int, int]] = [(0.0, 0, 0)] * repeat

    def one(index: int) -> Result:
        def report(share: float | None, submitted: int, completed: int) -> None:
            shares[index] = (share, submitted, completed)
            if progress is not None:
                known = [share for share, _, _ in shares if share is not None]
                whole = sum(known) / repeat if len(known) == repeat else None
                progress(whole, sum(s for _, s, _ in shares), sum(c for _, _, c in shares))

        if stop.is_set():
            raise _Stopped
        seed = options.seed + index
        mine = options.replace(
            seed=seed,
            requests_out=for_seed(options.requests_out, seed),
            series_out=for_seed(options.series_out, seed),
            save=for_seed(options.save, seed),
        )
        try:
            return play(mine, progress=report, note=note if index == 0 else None, stop=stop)
        except BaseException:
            stop.set()
            raise

    interrupted = False
    with ThreadPoolExecutor(max_workers=min(threads or cpus(), repeat)) as pool:
        futures: list[Future[Result]] = []
        # Whenever it comes, an interruption stops what has begun: the pool waits for its threads.
        try:
            for index in range(repeat):
                futures.append(pool.submit(one, index))
            wait(futures, return_when=FIRST_EXCEPTION)
        except KeyboardInterrupt:
            stop.set()
            wait(futures)
            interrupted = True
    failures = [error for error in (future.exception() for future in futures) if error is not None]
    if interrupted or failures:
        kept = Kept(sum(completed for _, _, completed in shares))
        for future in futures:
            left = getattr(future.exception(), "kept", Kept(0))
            if future.exception() is None:
                path, rows = future.result().log_path, future.result().log_rows
                left = Kept(0, ((path, rows),)) if path is not None and rows is not None else left
            kept = Kept(kept.completed, kept.logs + left.logs, kept.broken + left.broken)
        if interrupted:
            ended = tuple(future.result() for future in futures if future.exception() is None)
            raise Interrupted(kept._replace(result=_runs_until_now(ended, repeat, started)))
        failure = next(error for error in failures if not isinstance(error, _Stopped))
        if isinstance(failure, InputError | SimulationError):
            _attach(failure, kept)
        raise failure
    return Runs(tuple(future.result() for future in futures), time.perf_counter() - started, peak_rss_bytes())


def _runs_until_now(ended: tuple[Result, ...], repeat: int, started: float) -> Runs | None:
    """The repeats that had ended when a signal came; None where none had."""
    if not ended:
        return None
    text = f"the run was interrupted when {len(ended)} of {repeat} seeds had ended: these alone are given"
    finding = interrupted_by(text, {"seeds": len(ended)}, "the same command plays all of them")
    return Runs(ended, time.perf_counter() - started, peak_rss_bytes(), (finding,))


def for_seed(path: str | None, seed: int) -> str | None:
    """The file of one repeat: ``out.parquet`` becomes ``out.seed3.parquet``."""
    if path is None:
        return None
    stem, suffix = os.path.splitext(path)
    return f"{stem}.seed{seed}{suffix}"


def _keep(simulation: Simulation, log: Output | None, completed: int) -> tuple[Kept, FinishedRun | None]:
    """Completes the request log of a run that is not going on, and gives what the core has measured until then (None
    where it gives nothing). An earlier log keeps its name."""
    completed = max(completed, simulation.progress()["completed"])
    finished = None
    try:
        finished = simulation.finish(interrupted=True)
        rows = finished["requests"]
        if log is not None and rows is not None:
            return Kept(completed, logs=((log.commit(aside=True), rows[0]),)), finished
    except (InputError, SimulationError):
        pass
    if log is None:
        return Kept(completed), finished
    log.discard()
    return Kept(completed, broken=(log.path,)), finished


def _attach(error: InputError | SimulationError, kept: Kept) -> None:
    """Reports in an error what is left of the run, in place of earlier notes."""
    error.kept = kept  # type: ignore[union-attr]
    error.__notes__ = [str(kept)]


class Stop(Protocol):
    """Tells whether a run is to end, as :class:`threading.Event` does."""

    def is_set(self) -> bool: ...
