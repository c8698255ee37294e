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
import hashlib
import json
import os
import re
import time
import warnings
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import closing, suppress
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError, SimulationError
from ssdlab.common.frames import write_table
from ssdlab.common.machine import cpus
from ssdlab.common.output import TABLES, check_ending, check_folder, check_outputs, write
from ssdlab.common.shown import html, text
from ssdlab.runs.findings import Finding, ids, shared
from ssdlab.runs.kept import Interrupted, Kept
from ssdlab.runs.manifest import inputs_of, key_of_text
from ssdlab.runs.options import Options, whole_number
from ssdlab.runs.result import Result
from ssdlab.runs.simulation import open_simulation
from ssdlab.sweeps.cache import Cache, CaseLock
from ssdlab.sweeps.executors import WORKER_TIMEOUT_S, CaseExecutor, ExternalExecutor, LocalExecutor
from ssdlab.sweeps.opened import Opened
from ssdlab.sweeps.shards import ENDING, Header, Line, Shard, header_of, write_part
from ssdlab.sweeps.spec import Cases, Sweep, Value, labels_at
from ssdlab.sweeps.table import Statistics, sweep_frame
from ssdlab.sweeps.task import Answer, build, sha256_of
from ssdlab.sweeps.warm import State, warm_up

if TYPE_CHECKING:
    import pandas
    import polars
    from distributed import Client


WAIT_S, POLL_S = 1.0, 0.2
"""How long a sweep waits for a case to end before it looks at its workers and reports its progress, and before it looks
again at cases that another sweep plays [s]."""


OPENED = "opened"
"""The folder in a cache of what opening runs has found out."""

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
    shard: str | None = None,
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
        shard: only the ``i``-th of ``N`` parts of the cases, as ``"i/N"``: ``out`` is then a part of the table
            (.parquet), and :func:`ssdlab.merge` makes the table of all parts.
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
    threads = None if threads is None else whole_number("threads", threads, 1)
    part = None if shard is None else Shard.read(shard)
    cases = _cases(source, quick, part, traces)
    _check_places(source, part, out, cache, files)
    campaign = _Campaign(cases, Cache(cache), progress)
    with closing(campaign.cache):
        try:
            campaign.warm_up(threads or cpus(), retry_failed)
            campaign.look_up(retry_failed)
            if out is not None:
                check_outputs({"--out": out}, campaign.inputs() if os.path.isfile(out) else ())
            if campaign.missing:
                check_folder("--cache", cache)  # one that holds all of the sweep need not be writable
                with closing(_case_executor(threads, executor, dask, worker_timeout)) as played_by:
                    campaign.play(played_by)
            lines, statistics, results = campaign.outcome(files, keep_results)
            outcome = result_of(cases.labels_of, lines, statistics, results, campaign.played)
            if out is not None and part is not None:
                write_part(out, campaign.header(part, quick), lines, statistics)
            elif out is not None:
                write_table(outcome.table, out)
        except KeyboardInterrupt:
            raise Interrupted(Kept(campaign.done)) from None
    return outcome


def _cases(
    source: str | os.PathLike[str] | Mapping[str, Any],
    quick: bool,
    shard: Shard | None,
    traces: str | os.PathLike[str] | None,
) -> Cases:
    """The cases that a sweep is asked for."""
    cases = Sweep.read(source).cases(quick)
    if shard is not None:
        cases = cases.only(array("q", shard.numbers(cases.whole)))
    return cases if traces is None else cases.with_traces(os.fspath(traces))


def _check_places(
    source: str | os.PathLike[str] | Mapping[str, Any],
    shard: Shard | None,
    out: str | None,
    cache: str | os.PathLike[str],
    files: str | os.PathLike[str] | None,
) -> None:
    """Refuses places that cannot be written to."""
    check_ending("--out", out, TABLES)
    if shard is not None and out is not None and not out.lower().endswith(ENDING):
        raise InputError(f"--out {out}: a shard writes a part of the table\n  help: write to a {ENDING} file")
    check_outputs({"--out": out}, () if isinstance(source, Mapping) else (os.fspath(source),))
    if not os.path.isdir(cache):
        check_folder("--cache", cache)
    if files is not None:
        check_folder("--files", files)


def result_of(
    axes: Mapping[str, Sequence[Value]],
    lines: Sequence[Line],
    statistics: Statistics,
    results: dict[str, Result] | None = None,
    played: int = 0,
) -> SweepResult:
    """The result of a sweep from what there is of each case. ``axes``: their labels."""
    found = [line.findings for line in lines]
    if not all(any(of.id == IDLE for of in each) for each in found):
        # Beside others a case may well be ideal: an age means nothing to a scheme without a chip model.
        found = [tuple(of for of in each if of.id != IDLE) for each in found]
    labels = [labels_at(axes, line.number) for line in lines]
    columns = {axis: [each[axis] for each in labels] for axis in axes}
    cases = [None if line.case is None else line.case[:12] for line in lines]
    table = sweep_frame(columns, cases, [ids(each) for each in found], statistics)
    failed = [FailedCase(each, line.error) for each, line in zip(labels, lines, strict=True) if line.error is not None]
    return SweepResult(table, tuple(failed), results or {}, played, tuple(found))


def _contents(paths: Iterable[str], folder: str) -> dict[str, str]:
    """Files as they are seen from a folder, and the SHA-256 of each. What is in the cache is not of the input."""
    return {os.path.relpath(path, folder or "."): sha256_of(path) for path in sorted(paths)}


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

    def __init__(self, cases: Cases, cache: Cache, progress: Callable[[SweepProgress], None] | None) -> None:
        self.cases = cases
        self.cache = cache
        self.progress = progress
        self.keys: list[str | None] = []
        self.opened = Opened(os.path.join(cache.folder, OPENED), len(cases))
        self.claims: dict[str, CaseLock] = {}
        """The cases that this sweep alone plays."""
        self.waits = False
        """Whether the user knows that another sweep is waited for."""
        self.missing: dict[str, int] = {}
        self.states: dict[Options, State] = {}
        """The drives that were warmed up."""
        self.errors: dict[int, str] = {}
        self.not_kept: dict[str, str] = {}
        """Why cases have no result, where that is not of the cases."""
        self.kept = 0
        self.failed = 0
        self.done = 0
        self.played = 0

    def warm_up(self, threads: int, retry_failed: bool) -> None:
        """Warms up the drives of cases that go on from there."""
        self.cache.clean()
        if self.cases.sweep.warm is None:
            return
        runs = dict.fromkeys(case.warm for case in self.cases if case.warm is not None)
        if not runs:
            return
        check_folder("--cache", self.cache.folder)
        self.report()
        self.states = warm_up(list(runs), self.cache, threads, retry_failed)

    def options(self, index: int) -> Options:
        """The run of a case, with the drive that was warmed up for it.

        Raises:
            InputError: the drive could not be warmed up.
        """
        case = self.cases[index]
        if case.warm is None:
            return case.options
        state = self.states[case.warm]
        if state.error:
            raise InputError(state.error)
        return case.options.replace(checkpoint=state.path)

    def look_up(self, retry_failed: bool) -> None:
        """Finds out which cases are missing."""
        for index in range(len(self.cases)):
            self.report()
            try:
                key = self.key(self.options(index))
            except (InputError, SimulationError) as error:
                self.keys.append(None)
                self.errors[index] = str(error)
                self.done += 1
                self.failed += 1
                continue
            self.keys.append(key)
            if retry_failed:
                self.cache.forgive(key)
            if key in self.missing:
                self.done += 1
            elif not self.is_there(key):
                self.missing[key] = index
        self.opened.save()
        if self.errors and len(self.errors) == self.cases.whole:  # a shard does not know of the others
            raise InputError(self.errors[0])
        for why, count in Counter(self.cache.unusable.values()).items():
            first = next(path for path, problem in self.cache.unusable.items() if problem == why)
            more = f" ({count - 1:,} more likewise)" if count > 1 else ""
            warnings.warn(f"{first} {why}{more}: played again", stacklevel=3)
        self.report()

    def key(self, options: Options) -> str:
        """The hash of a case."""
        asked = self.opened.asked(options)
        key = self.opened.key(asked)
        if key is None:
            text = open_simulation(options).manifest
            manifest = json.loads(text)
            key = key_of_text(text, manifest)
            if asked is not None:
                self.opened.learn(asked, key, options, inputs_of(options, manifest))
        return key

    def is_there(self, key: str) -> bool:
        """Whether there is a result of a case, or a failure: then the case is done."""
        failed = False
        if key not in self.cache:
            if self.cache.failure(key) is None:
                return False
            failed = True
        self.done += 1
        self.kept += 1
        self.failed += failed
        return True

    def manifest(self, index: int) -> dict[str, Any]:
        """What a case plays.

        Raises:
            InputError: its input is not what it was when the sweep began.
        """
        found: dict[str, Any] = json.loads(open_simulation(self.options(index)).manifest)
        return found

    def inputs(self) -> set[str]:
        """The files that all cases read, but for the drives that were warmed up."""
        found: set[str] = set()
        for index, key in enumerate(self.keys):
            if key is not None:
                options = self.cases[index].options
                if self.opened.key(self.opened.asked(options)) is not None:
                    found |= {*self.opened.files(options)}
                else:
                    found |= {*inputs_of(options)}
        return found

    def in_turn(self) -> Iterator[str]:
        """Missing cases: those that go on from one drive, or differ by their schemes alone, follow one another: their
        past is read, or played, once."""
        alike: dict[bytes, list[str]] = {}
        for key, index in self.missing.items():
            case = self.cases[index]
            past = repr(case.warm or case.options.replace(scheme=None)).encode(errors="surrogatepass")
            alike.setdefault(hashlib.blake2b(past, digest_size=16).digest(), []).append(key)
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
                        running[executor.submit(self.options(index), key, partial(self.manifest, index))] = key
                    except InputError as error:
                        self.keep(key, Answer("changed", str(error)))
                executor.flush()
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
        """Keeps what came of a case. That its input has changed, or that a worker died, says nothing of the case: it is
        told and not kept, and the next sweep plays the case again."""
        if answer.kind == "done":
            self.cache.put(key, answer.value)
        elif answer.kind in ("changed", "lost"):
            self.not_kept[key] = answer.value
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

    def header(self, shard: Shard, quick: bool) -> Header:
        """What the part of a table says of itself that this sweep writes."""
        inputs = _contents(self.inputs(), os.path.dirname(self.cases.sweep.origin))
        return header_of(self.cases, shard, quick=quick, build=build(), inputs=inputs)

    def outcome(
        self, files: str | os.PathLike[str] | None, keep_results: bool
    ) -> tuple[list[Line], Statistics, dict[str, Result]]:
        """What there is of each case."""
        pattern = re.compile("|".join(map(fnmatch.translate, self.cases.sweep.statistics)))

        @cache
        def is_kept(name: str) -> bool:
            return pattern.match(name) is not None and not name.startswith("run.")

        statistics = Statistics(len(self.cases))
        there = [(index, key) for index, key in enumerate(self.keys) if key is not None]
        findings = self.cache.gather(there, is_kept, statistics)
        lines = []
        results = {}
        for index, key in enumerate(self.keys):
            why = None
            if index not in findings:
                why = self.errors.get(index) if key is None else self.not_kept.get(key) or self.cache.failure(key)
                why = why or "its result was lost while the sweep ran: run it again"
            number = self.cases.numbers[index]
            lines.append(Line(number, None if key is None else key[:12], findings.get(index, ()), why))
            if key is not None and (keep_results or files is not None) and index in findings:
                result = self.result(index, key)
                if keep_results:
                    results[key] = result
                if files is not None:
                    name = f"{_file_name(self.cases.labels(index))}.{key[:12]}.json"
                    write(os.path.join(files, name), result.to_json(process=False).encode())
        return lines, statistics, results

    def result(self, index: int, key: str) -> Result:
        """The result of a case, with the names that this sweep gives its files."""
        payload = self.cache.get(key)
        if payload is None:
            raise SimulationError(f"{self.cache.folder}: a result was lost while the sweep ran\n  help: run it again")
        with suppress(InputError, SimulationError):
            payload["data"]["manifest"] = self.manifest(index)
        return Result.from_payload(payload)


def _file_name(labels: Mapping[str, Value]) -> str:
    """A file's name made of a case's labels, with what no name can hold left out."""
    name = "-".join(str(label) for label in labels.values())
    name = "".join(letter if letter.isprintable() and letter not in "/\\" else "_" for letter in name)
    return name.encode()[:150].decode(errors="ignore") or "case"


def _answer(future: Future[Answer]) -> Answer:
    """What came of a case; an exception is its failure, but for those of what plays it: one case stops nothing else,
    whatever is wrong with it."""
    try:
        return Answer(*future.result())
    except (KeyboardInterrupt, CancelledError):
        raise
    except (BrokenExecutor, OSError, MemoryError) as problem:
        return Answer("lost", f"{type(problem).__name__}: {problem}\n  help: run the sweep again")
    except Exception as failure:
        return Answer("failed", f"{type(failure).__name__}: {failure}")
