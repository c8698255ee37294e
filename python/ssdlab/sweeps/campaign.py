"""Sweeps: the cross product of devices, schemes, workloads, ages, seeds and any configuration key, as one table.

A sweep is a TOML file (or the same as a mapping)::

    [run]                          # what all cases share: any option of a run, any "section.key"
    requests = 100_000
    "ftl.streams" = 2
    [axes]                         # what differs: a list, or a table of labels
    device = ["asplos21", "tlc"]
    "gc.victim" = ["greedy", "fifo"]
    seed = [1, 2, 3]
    [axes.age]
    fresh = "pec=0"
    old = "pec=2000,retention=6mo"
    [axes.workload]                # a label may set several options
    stg_0 = { workload = "electronics25/stg_0", replay = "timed:x10" }
    [warm]                         # what every drive goes through before, once: the cases go on from there
    "workload.rw" = "randwrite"
    requests = 1_000_000
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import time
import warnings
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import closing, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError, SimulationError
from ssdlab.common.frames import write_table
from ssdlab.common.machine import cpus
from ssdlab.common.output import TABLES, check_ending, check_folder, check_outputs, write
from ssdlab.common.shown import html, text
from ssdlab.runs.findings import Finding, ids, shared
from ssdlab.runs.kept import Interrupted, Kept
from ssdlab.runs.manifest import inputs_of, key_of
from ssdlab.runs.options import Options
from ssdlab.runs.result import Result
from ssdlab.runs.simulation import open_simulation
from ssdlab.sweeps.cache import Cache, CaseLock
from ssdlab.sweeps.executors import WORKER_TIMEOUT_S, CaseExecutor, ExternalExecutor, LocalExecutor
from ssdlab.sweeps.spec import Case, Sweep, Value
from ssdlab.sweeps.table import ROWS, statistics_frame, sweep_frame
from ssdlab.sweeps.task import Answer
from ssdlab.sweeps.warm import warm_up

if TYPE_CHECKING:
    import pandas
    import polars
    from distributed import Client


WAIT_S, POLL_S = 1.0, 0.2
"""How long a sweep waits for a case to end before it looks at its workers and reports its progress, and before it looks
again at cases that another sweep plays [s]."""


IDLE = "settings-without-effect"
"""Of a sweep this is a finding where it holds of all cases."""


class SweepProgress(NamedTuple):
    """How far a sweep has come."""

    done: int
    total: int
    kept: int
    """Of those done, the ones whose results were there already."""
    failed: int


class FailedCase(NamedTuple):
    """A case that failed."""

    labels: dict[str, Value]
    error: str


class SweepResult(NamedTuple):
    """The result of a sweep."""

    table: polars.DataFrame
    """A row a case: the axes, ``case`` (the first twelve digits of its hash), ``warnings`` (the ids of what puts its
    numbers in doubt, null where nothing does), then every statistic (f64, null where there was nothing to measure or
    the case failed). The cost of the runs is not in it."""
    failed: tuple[FailedCase, ...]
    results: dict[str, Result]
    """By hash, where they were asked for."""
    played: int
    """Cases that were run, not taken from the cache."""
    warnings: tuple[tuple[Finding, ...], ...] = ()
    """What puts each case's numbers in doubt, by row (docs/warnings.md)."""

    def to_pandas(self) -> pandas.DataFrame:
        """The table, as a pandas frame (``pip install 'ssdlab[pandas]'``)."""
        from ssdlab.common.frames import to_pandas

        return to_pandas(self.table)

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)

    def warning_lines(self) -> list[str]:
        """The kinds of warnings with the first case that has each, as people read them."""
        return shared(self.warnings, "cases")


def sweep(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    cache: str | os.PathLike[str] = "results/cache",
    threads: int | None = None,
    executor: Executor | None = None,
    dask: str | Client | None = None,
    worker_timeout: float = WORKER_TIMEOUT_S,
    retry_failed: bool = False,
    quick: bool = False,
    traces: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    files: str | os.PathLike[str] | None = None,
    keep_results: bool = False,
    progress: Callable[[SweepProgress], None] | None = None,
) -> SweepResult:
    """Runs what is missing of a sweep and gives all of it as one table.

    Args:
        source: a sweep file, or the same as a mapping.
        cache: the folder that keeps results, each under the hash of everything that decides it. It may be shared.
        threads: how many cases run at once; None is one a core. The table does not depend on it.
        executor: runs the cases instead of threads of this process: any :class:`concurrent.futures.Executor`.
            Its workers need the same ssdlab, and the same files under the same paths; both are checked.
        dask: runs the cases on a Dask cluster: the address of its scheduler, a scheduler file, or a
            ``distributed.Client``. Files that a worker has not got are shipped. Needs ``pip install 'ssdlab[dask]'``.
        worker_timeout: how long the cluster may be without any worker before the sweep ends [s].
        retry_failed: run again the cases that failed before.
        quick: only the cases of ``[quick]``.
        traces: a folder of real traces that take the place of twins, as in :func:`ssdlab.run`.
        out: write the table to this file (.csv, .parquet or .json).
        files: write each case's result as JSON into this folder, without what it cost.
        keep_results: give the :class:`ssdlab.Result` of every case too.
        progress: called when cases are done.

    Raises:
        InputError: the sweep itself is wrong, or every case of it; an output cannot be written, or is an input; no
            Dask scheduler answers.
        SimulationError: a worker has another ssdlab, the cluster or all its workers are lost, the disk is full; what
            was done is in the cache.
        Interrupted: Ctrl-C; what was done is in the cache.
    """
    out = None if out is None else os.fspath(out)
    check_ending("--out", out, TABLES)
    found = Sweep.read(source)
    cases = found.cases(quick)
    if traces is not None:
        cases = [with_traces(case, os.fspath(traces)) for case in cases]
    check_outputs({"--out": out}, () if isinstance(source, Mapping) else (os.fspath(source),))
    if not os.path.isdir(cache):
        check_folder("--cache", cache)
    if files is not None:
        check_folder("--files", files)
    campaign = _Campaign(cases, Cache(cache), progress)
    try:
        campaign.warm_up(threads or cpus(), retry_failed)
        campaign.look_up(retry_failed)
        if out is not None:
            check_outputs({"--out": out}, campaign.inputs(out))
        if campaign.missing:
            check_folder("--cache", cache)  # one that holds all of the sweep need not be writable
            with closing(_case_executor(threads, executor, dask, worker_timeout)) as played_by:
                campaign.play(played_by)
        outcome = campaign.outcome(found.statistics, files, keep_results)
        if out is not None:
            write_table(outcome.table, out)
    except KeyboardInterrupt:
        raise Interrupted(Kept(campaign.done)) from None
    return outcome


def with_traces(case: Case, folder: str) -> Case:
    """A case with a folder of real traces."""
    warm = None if case.warm is None else case.warm.replace(traces=folder)
    return case._replace(options=case.options.replace(traces=folder), warm=warm)


def _case_executor(
    threads: int | None, executor: Executor | None, dask: str | Client | None, worker_timeout: float
) -> CaseExecutor:
    """What plays the cases of a sweep."""
    if dask is not None:
        from ssdlab.sweeps.cluster import Cluster

        return Cluster(dask, worker_timeout)
    return LocalExecutor(threads or cpus()) if executor is None else ExternalExecutor(executor)


class _Campaign:
    """A sweep in progress."""

    def __init__(self, cases: list[Case], cache: Cache, progress: Callable[[SweepProgress], None] | None) -> None:
        self.cases = cases
        self.cache = cache
        self.progress = progress
        self.keys: list[str | None] = []
        self.manifests: list[bytes] = []
        """Of each case, as compressed JSON: there may be many."""
        self.claims: dict[str, CaseLock] = {}
        """The cases that this sweep alone plays."""
        self.waits = False
        """Whether the user knows that another sweep is waited for."""
        self.missing: dict[str, int] = {}
        self.unwarmed: dict[int, str] = {}
        """The cases whose drives could not be warmed up, and why."""
        self.errors: dict[int, str] = {}
        self.changed: dict[str, str] = {}
        self.kept = 0
        self.failed = 0
        self.done = 0
        self.played = 0

    def warm_up(self, threads: int, retry_failed: bool) -> None:
        """Warms up the drives of cases that go on from there."""
        self.cache.clean()
        runs = [case.warm for case in self.cases if case.warm is not None]
        if not runs:
            return
        check_folder("--cache", self.cache.folder)
        self.report()
        states = warm_up(runs, self.cache, threads, retry_failed)
        for index, case in enumerate(self.cases):
            if case.warm is not None:
                state = states[case.warm]
                if state.error:
                    self.unwarmed[index] = state.error
                self.cases[index] = case._replace(options=case.options.replace(checkpoint=state.path))

    def look_up(self, retry_failed: bool) -> None:
        """Finds out which cases are missing."""
        for index, case in enumerate(self.cases):
            self.report()
            try:
                if index in self.unwarmed:
                    raise InputError(self.unwarmed[index])
                simulation = open_simulation(case.options)
            except (InputError, SimulationError) as error:
                self.keys.append(None)
                self.manifests.append(b"")
                self.errors[index] = str(error)
                self.done += 1
                self.failed += 1
                continue
            text = simulation.manifest
            key = key_of(json.loads(text))
            self.keys.append(key)
            self.manifests.append(zlib.compress(text.encode(), 1))
            if retry_failed:
                self.cache.forgive(key)
            if key in self.missing:
                self.done += 1
            elif not self.is_there(key):
                self.missing[key] = index
        if self.cases and len(self.errors) == len(self.cases):
            raise InputError(self.errors[0])
        for why, count in Counter(self.cache.unusable.values()).items():
            first = next(path for path, problem in self.cache.unusable.items() if problem == why)
            more = f" ({count - 1:,} more likewise)" if count > 1 else ""
            warnings.warn(f"{first} {why}{more}: played again", stacklevel=3)
        self.report()

    def is_there(self, key: str) -> bool:
        """Whether there is a result of a case, or a failure: then the case is done."""
        failed = False
        if self.cache.get(key) is None:
            if self.cache.failure(key) is None:
                return False
            failed = True
        self.done += 1
        self.kept += 1
        self.failed += failed
        return True

    def manifest(self, index: int) -> dict[str, Any]:
        """What a case plays."""
        found: dict[str, Any] = json.loads(zlib.decompress(self.manifests[index]))
        return found

    def inputs(self, out: str) -> set[str]:
        """The files that all cases read, where one of them could be ``out``."""
        if not os.path.isfile(out):
            return set()
        numbers = (index for index, key in enumerate(self.keys) if key is not None)
        return {path for index in numbers for path in inputs_of(self.cases[index].options, self.manifest(index))}

    def in_turn(self) -> Iterator[str]:
        """Missing cases: those that differ by their schemes alone follow one another, so their past is played once."""
        alike: dict[Options, list[str]] = {}
        for key, index in self.missing.items():
            alike.setdefault(self.cases[index].options.replace(scheme=None), []).append(key)
        return chain.from_iterable(alike.values())

    def play(self, executor: CaseExecutor) -> None:
        """Runs what is missing; every result is kept as soon as it is there."""
        waiting = deque(self.in_turn())
        running: dict[Future[Answer], str] = {}
        try:
            while waiting or running:
                for key in self.claimed(waiting, executor.ahead - len(running)):
                    index = self.missing[key]
                    try:
                        running[executor.submit(self.cases[index].options, key, self.manifest(index))] = key
                    except InputError as error:
                        self.keep(key, Answer("changed", str(error)))
                if not running and not waiting:
                    break
                missing = {}
                for future in self.wait(running, more=len(waiting) > 0 and len(running) < executor.ahead):
                    key = running.pop(future)
                    answer = _answer(future)
                    if answer.kind == "refused":
                        raise executor.refused(answer.value)
                    if answer.kind == "missing":
                        missing[key] = (future, answer.value)
                    else:
                        self.keep(key, answer)
                executor.check()
                changed = executor.supply(missing.values()) if missing else {}
                for key, (_, (_, ids)) in missing.items():
                    problems = [changed[id] for id in ids if id in changed]
                    if problems:
                        self.keep(key, Answer("changed", problems[0]))
                    else:
                        waiting.appendleft(key)
        except (KeyboardInterrupt, CancelledError, SimulationError) as error:
            for future in running:
                future.cancel()
            for future, key in running.items():
                if future.done() and not future.cancelled() and (answer := _answer(future)).kind == "done":
                    # Where the disk is full the first error has reported it.
                    with suppress(SimulationError):
                        self.cache.put(key, answer.value)
                        self.done += 1
            raise (executor.lost() if isinstance(error, CancelledError) else error) from None
        finally:
            for claim in self.claims.values():
                claim.release()

    def claimed(self, waiting: deque[str], room: int) -> Iterator[str]:
        """Takes up to ``room`` cases that no other sweep plays, and leaves those of others for later: when they have
        come to their end, they are there."""
        for _ in range(len(waiting)):
            if room <= 0:
                return
            key = waiting.popleft()
            if key not in self.claims:
                claim = self.cache.claim(key)
                if claim is None:
                    waiting.append(key)
                    continue
                self.claims[key] = claim
                if self.is_there(key):
                    self.release(key)
                    self.report()
                    continue
            room -= 1
            yield key

    def release(self, key: str) -> None:
        """Lets others have a case."""
        claim = self.claims.pop(key, None)
        if claim is not None:
            claim.release()

    def wait(self, running: Iterable[Future[Answer]], more: bool) -> set[Future[Answer]]:
        """Waits for cases to end, a short while; ``more``: there are others that could be played meanwhile."""
        if not running:
            if not self.waits:
                self.waits = True
                warnings.warn("the cases that are left are played by another sweep: waiting for it", stacklevel=4)
            time.sleep(POLL_S)
            self.report()
            return set()
        done = wait(running, POLL_S if more else WAIT_S, FIRST_COMPLETED).done
        if not done:
            self.report()
        return done

    def keep(self, key: str, answer: Answer) -> None:
        """Keeps what came of a case. That its input has changed says nothing of the case: it is not kept."""
        if answer.kind == "done":
            self.cache.put(key, answer.value)
        elif answer.kind == "changed":
            self.changed[key] = answer.value
        else:
            self.cache.fail(key, answer.value)
        self.release(key)
        self.failed += answer.kind != "done"
        self.done += 1
        self.played += 1
        self.report()

    def report(self) -> None:
        if self.progress is not None:
            self.progress(SweepProgress(self.done, len(self.cases), self.kept, self.failed))

    def outcome(
        self, statistics: tuple[str, ...], files: str | os.PathLike[str] | None, keep_results: bool
    ) -> SweepResult:
        pattern = re.compile("|".join(fnmatch.translate(name) for name in statistics))

        def is_kept(name: str) -> bool:
            return pattern.match(name) is not None and not name.startswith("run.")

        cases: list[str | None] = []
        found: list[tuple[Finding, ...]] = []
        rows: list[dict[str, Any]] = []
        frames: list[polars.DataFrame] = []
        failed = []
        results = {}
        for index, (case, key) in enumerate(zip(self.cases, self.keys, strict=True)):
            row: dict[str, Any] = {}
            cases.append(None if key is None else key[:12])
            found.append(())
            payload = None if key is None else self.cache.get(key)
            if payload is None:
                why = self.errors.get(index)
                if key is not None:
                    why = self.changed.get(key) or self.cache.failure(key)
                failed.append(FailedCase(case.labels, why or "its result was lost while the sweep ran: run it again"))
            else:
                payload["data"]["manifest"] = self.manifest(index)
                result = Result.from_payload(payload)
                found[-1] = result.warnings
                row = {name: value for name, value, _, _ in result.scalars() if is_kept(name)}
                if keep_results and key is not None:
                    results[key] = result
                if files is not None:
                    name = f"{_file_name(case.labels)}.{cases[-1]}.json"
                    write(os.path.join(files, name), result.to_json(process=False).encode())
            rows.append(row)
            if len(rows) == ROWS or index == len(self.cases) - 1:
                frames.append(statistics_frame(rows))
                rows = []
        if not all(any(of.id == IDLE for of in each) for each in found):
            # Beside others a case may well be ideal: an age means nothing to a scheme without a chip model.
            found = [tuple(of for of in each if of.id != IDLE) for each in found]
        table = sweep_frame([case.labels for case in self.cases], cases, [ids(each) for each in found], frames)
        return SweepResult(table, tuple(failed), results, self.played, tuple(found))


def _file_name(labels: Mapping[str, Value]) -> str:
    """A file's name made of a case's labels, with what no name can hold left out."""
    name = "-".join(str(label) for label in labels.values())
    name = "".join(letter if letter.isprintable() and letter not in "/\\" else "_" for letter in name)
    return name.encode()[:150].decode(errors="ignore") or "case"


def _answer(future: Future[Answer]) -> Answer:
    """What came of a case; an exception is its failure: one case stops nothing else, whatever is wrong with it."""
    try:
        return Answer(*future.result())
    except (KeyboardInterrupt, CancelledError):
        raise
    except Exception as failure:
        return Answer("failed", f"{type(failure).__name__}: {failure}")
