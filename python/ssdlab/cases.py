"""Sweeps: the cross product of devices, schemes, workloads, ages, seeds and any configuration key, as one table.

A sweep is a TOML file (or the same as a mapping)::

    [run]                          # what all cases share: any word of a run, any "section.key"
    requests = 100_000
    "ftl.streams" = 2
    [axes]                         # what differs: a list, or a table of labels
    device = ["asplos21", "tlc"]
    "gc.victim" = ["greedy", "fifo"]
    seed = [1, 2, 3]
    [axes.age]
    fresh = "pec=0"
    old = "pec=2000,retention=6mo"
    [axes.workload]                # a label may set several words
    stg_0 = { workload = "electronics25/stg_0", replay = "timed:x10" }
"""

from __future__ import annotations

import fnmatch
import itertools
import json
import math
import os
import re
import time
import warnings
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ._core import InputError, SimulationError
from ._runner import Interrupted, Kept, Options, _open, cpus
from .cache import Cache, Claim, key_of
from .output import TABLES, check_ending, check_folder, check_outputs, write
from .result import Result
from .task import Answer, Task, build, execute, files_of, inputs_of, placed

if TYPE_CHECKING:
    import polars
    from distributed import Client

WORDS = {
    "device": str,
    "workload": str,
    "scheme": str,
    "age": str,
    "precondition": str,
    "replay": str,
    "requests": int,
    "duration": str,
    "warmup": int,
    "until_steady": str,
    "seed": int,
    "format": str,
    "skip_bad_lines": int,
    "sort_window": int,
    "volumes": str,
    "beyond": str,
    "traces": str,
}
"""The words of a run that a sweep may set, and what they are. All others are configuration keys."""

LEAST = {"requests": 1, "warmup": 0, "seed": 0, "skip_bad_lines": 0, "sort_window": 0}
"""The least that the whole numbers among them may be."""

MOST_CASES = 100_000
"""Cases of a sweep: some 3 ms and 5 kB each go before the first is played."""

WAIT_S, POLL_S = 1.0, 0.2
"""How long a sweep waits for a case to end before it looks at its workers and tells how far it is, and before it looks
again at cases that another sweep plays [s]."""

WORKER_TIMEOUT_S = 1800.0
"""How long a Dask cluster may be without any worker before a sweep ends [s]; batch systems take a while."""

DEFAULTS: dict[str, Any] = {"device": "tlc", "workload": "default"}

Value = str | int | float | bool | list[Any]


class Case(NamedTuple):
    """One run of a sweep."""

    labels: dict[str, Value]
    """Its place on each axis."""
    options: Options


class Sweep(NamedTuple):
    """What a sweep file says."""

    about: str
    run: dict[str, Value]
    """What all cases share."""
    axes: dict[str, dict[Value, dict[str, Value]]]
    """For each axis its labels, and the words that a label sets."""
    quick: dict[str, list[Value]]
    """For some axes the labels that a quick check plays."""
    statistics: tuple[str, ...] = ("*",)
    """The statistics that the table keeps: names, ``*`` standing for anything."""
    origin: str = "sweep"
    """Where it was read."""

    @classmethod
    def read(cls, source: str | os.PathLike[str] | Mapping[str, Any]) -> Sweep:
        """Reads a file, or takes the same as a mapping."""
        if isinstance(source, Mapping):
            return _parse(source, "sweep")
        import tomllib

        path = os.fspath(source)
        try:
            with open(path, "rb") as file:
                return _parse(tomllib.load(file), path)
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read: {error.strerror}\n  help: give the path of a sweep file"
            ) from None
        except (ValueError, RecursionError) as error:  # malformed, no UTF-8, a number of 5,000 digits, nested too deep
            raise InputError(f"{path}: {error}\n  help: the file must be TOML") from None

    def cases(self, quick: bool = False) -> list[Case]:
        """All cases, the last axis varying fastest; with ``quick`` those of the quick check only.

        Raises:
            InputError: there are more than :data:`MOST_CASES`, or a value is not accepted.
        """
        axes = [
            [
                (axis, label, words)
                for label, words in labels.items()
                if not quick or axis not in self.quick or label in self.quick[axis]
            ]
            for axis, labels in self.axes.items()
        ]
        count = math.prod(map(len, axes))
        if count > MOST_CASES:
            lengths = " x ".join(f"{len(axis)} {axis[0][0]}" for axis in axes if len(axis) > 1)
            raise InputError(
                f"{self.origin}: has {count:,} cases ({lengths}), more than {MOST_CASES:,}\n  help: give its axes "
                "fewer values, or make several sweeps of it: they may share a cache"
            )
        cases = []
        for point in itertools.product(*axes):
            words = dict(self.run)
            for _, _, set_by_label in point:
                words |= set_by_label
            cases.append(Case({axis: label for axis, label, _ in point}, _options(words, self.origin)))
        return cases


def _parse(data: Mapping[str, Any], origin: str) -> Sweep:
    def fail(key: str, problem: str, remedy: str) -> InputError:
        return InputError(f"{origin}: {key}: {problem}\n  help: {remedy}")

    for name, value in data.items():
        if name not in ("about", "statistics", "run", "axes", "quick"):
            raise fail(name, "unknown", "a sweep has about, statistics, [run], [axes] and [quick]")
        if name in ("run", "axes", "quick") and not isinstance(value, Mapping):
            raise fail(name, "must be a section", f"write [{name}] on a line of its own")
    statistics = data.get("statistics", ["*"])
    if not isinstance(statistics, list) or not all(isinstance(name, str) for name in statistics):
        raise fail("statistics", "must be a list of names", 'write statistics = ["host.read.latency_ns.*"]')
    run = dict(data.get("run", {}))
    axes: dict[str, dict[Value, dict[str, Value]]] = {}
    for axis, values in data.get("axes", {}).items():
        if axis == "case":
            raise fail("axes.case", "is the name of a column of the table", "call the axis something else")
        if isinstance(values, Mapping):
            axes[axis] = {label: dict(v) if isinstance(v, Mapping) else {axis: v} for label, v in values.items()}
        elif isinstance(values, Sequence) and not isinstance(values, str):
            if any(isinstance(value, Sequence | Mapping) and not isinstance(value, str) for value in values):
                raise fail(f"axes.{axis}", "holds a list in a list", f'name its values: [axes."{axis}"]')
            axes[axis] = {value: {axis: value} for value in values}
            if len(axes[axis]) < len(values):
                raise fail(f"axes.{axis}", "names a value twice", "give each once")
        else:
            raise fail(f"axes.{axis}", "is one value", f"write a list, or put {axis} under [run]")
        if not axes[axis]:
            raise fail(f"axes.{axis}", "is empty", "give it values, or leave it out")
    quick = dict(data.get("quick", {}))
    for axis, labels in quick.items():
        if not isinstance(labels, list) or any(isinstance(label, list | Mapping) for label in labels):
            raise fail(f"quick.{axis}", "is no list of labels", f"write quick.{axis} = [LABEL, …]")
        known = axes.get(axis)
        if known is None:
            raise fail(f"quick.{axis}", "is no axis", f"the axes are {', '.join(axes) or 'none'}")
        unknown = [str(label) for label in labels if label not in known]
        if unknown:
            raise fail(
                f"quick.{axis}", f"{', '.join(unknown)}: not on the axis", f"it has {', '.join(map(str, known))}"
            )
    keys = set(run) | {word for labels in axes.values() for words in labels.values() for word in words}
    _check_words(keys, fail)
    return Sweep(str(data.get("about", "")), run, axes, quick, tuple(statistics), origin)


def _check_words(words: set[str], fail: Callable[[str, str, str], InputError]) -> None:
    from .api import schema

    known = {f"{key.section}.{key.key}" for key in schema()}
    for word in sorted(words):
        if word in WORDS or word in known or word.startswith("job.") or word.startswith("workload."):
            continue
        from difflib import get_close_matches

        near = get_close_matches(word, [*WORDS, *known], 1)
        remedy = (
            f"did you mean `{near[0]}`?"
            if near
            else f"the words are {', '.join(WORDS)}, and every key of `ssdlab schema`"
        )
        raise fail(word, "there is no such word or key", remedy)


def _options(words: dict[str, Value], origin: str) -> Options:
    from .api import precondition_words, setting_words

    options: dict[str, Any] = dict(DEFAULTS)
    settings: dict[str, Value] = {}
    for word, value in words.items():
        kind = WORDS.get(word)
        if kind is None:
            settings[word] = value
        elif value is None or _is_accepted(word, value):
            options[word] = value
        else:
            what = f"a whole number, {LEAST[word]} or more" if kind is int else "text in quotes"
            raise InputError(f"{origin}: {word}: {value!r} is not accepted\n  help: expected {what}")
    if options.get("scheme") == "none":
        del options["scheme"]
    first = precondition_words(options.pop("precondition", None))
    return Options(**options, settings=(*first, *setting_words(settings)))


def _is_accepted(word: str, value: Value) -> bool:
    if isinstance(value, int) and not isinstance(value, bool) and word in LEAST:
        return LEAST[word] <= value < 1 << 63
    return WORDS[word] is str and isinstance(value, str) and "\0" not in value


class Progress(NamedTuple):
    """How far a sweep has come."""

    done: int
    total: int
    kept: int
    """Of those done, the ones whose results were there already."""
    failed: int


class Failed(NamedTuple):
    """A case that failed."""

    labels: dict[str, Value]
    error: str


class Outcome(NamedTuple):
    """What a sweep has found."""

    table: polars.DataFrame
    """A row a case: the axes, ``case`` (the first twelve digits of its hash), then every statistic (f64, null where
    there was nothing to measure or the case failed). The cost of the runs is not in it."""
    failed: tuple[Failed, ...]
    results: dict[str, Result]
    """By hash, where they were asked for."""
    played: int
    """Cases that were run, not taken from the cache."""


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
    progress: Callable[[Progress], None] | None = None,
) -> Outcome:
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
        cases = [case._replace(options=case.options._replace(traces=os.fspath(traces))) for case in cases]
    check_outputs({"--out": out}, () if isinstance(source, Mapping) else (os.fspath(source),))
    if not os.path.isdir(cache):
        check_folder("--cache", cache)
    if files is not None:
        check_folder("--files", files)
    run = _Run(cases, Cache(cache), progress)
    try:
        run.look_up(retry_failed)
        if out is not None:
            check_outputs({"--out": out}, run.inputs(out))
        if run.missing:
            check_folder("--cache", cache)  # one that holds all of the sweep need not be writable
            place: Place
            if dask is not None:
                from .cluster import Cluster

                place = Cluster(dask, worker_timeout)
            elif executor is not None:
                place = Elsewhere(executor)
            else:
                place = Here(threads or cpus())
            try:
                run.play(place)
            finally:
                place.close()
        outcome = run.outcome(found.statistics, files, keep_results)
        if out is not None:
            write_table(outcome.table, out)
    except KeyboardInterrupt:
        raise Interrupted(Kept(run.done)) from None
    return outcome


class Place(Protocol):
    """Where cases are played."""

    @property
    def ahead(self) -> int:
        """How many cases may be under way."""

    def submit(self, options: Options, key: str, manifest: Mapping[str, Any]) -> Future[Answer]:
        """Gives it a case."""

    def supply(self, missing: Iterable[tuple[Future[Answer], tuple[str, list[str]]]]) -> dict[str, str]:
        """Ships what cases were missing, before they are submitted again. Returns what cannot be had, and why."""

    def refused(self, *workers: str) -> SimulationError:
        """The error for workers with another ssdlab."""

    def check(self) -> None:
        """Is called every second or more often; raises where nothing will be played any more."""

    def lost(self) -> SimulationError:
        """The error for cases that were cancelled by nobody here."""

    def close(self) -> None:
        """Ends what is still being played."""


class Elsewhere:
    """Any executor: its workers find files where they are here."""

    ahead = 1024

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, options: Options, key: str, manifest: Mapping[str, Any]) -> Future[Answer]:
        places = files_of(options, manifest)
        return self._executor.submit(execute, Task(placed(options, places), key, build()))

    def supply(self, missing: Iterable[tuple[Future[Answer], tuple[str, list[str]]]]) -> dict[str, str]:
        """Nothing is ever missing: no task names files."""
        return {}

    def refused(self, *workers: str) -> SimulationError:
        return SimulationError(
            f"another ssdlab: {', '.join(workers)}; here is {build()}\n  help: install the same build on all machines"
        )

    def check(self) -> None:
        pass

    def lost(self) -> SimulationError:
        return SimulationError("the executor was shut down\n  help: keep it until the sweep has ended")

    def close(self) -> None:
        pass


class Here(Elsewhere):
    """Threads of this process."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(max_workers=threads)
        self._stop = Event()
        super().__init__(self._pool)
        self.ahead = 2 * threads

    def submit(self, options: Options, key: str, manifest: Mapping[str, Any]) -> Future[Answer]:
        return self._pool.submit(execute, Task(options, key), self._stop)

    def close(self) -> None:
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)


class _Run:
    """A sweep in progress."""

    def __init__(self, cases: list[Case], cache: Cache, progress: Callable[[Progress], None] | None) -> None:
        self.cases = cases
        self.cache = cache
        self.progress = progress
        self.keys: list[str | None] = []
        self.manifests: list[bytes] = []
        """Of each case, as compressed JSON: there may be many."""
        self.claims: dict[str, Claim] = {}
        """The cases that this sweep alone plays."""
        self.waits = False
        """Whether it has been said that another sweep is waited for."""
        self.missing: dict[str, int] = {}
        self.errors: dict[int, str] = {}
        self.changed: dict[str, str] = {}
        self.kept = 0
        self.failed = 0
        self.done = 0
        self.played = 0

    def look_up(self, retry_failed: bool) -> None:
        """Finds out which cases are missing."""
        self.cache.clean()
        for index, case in enumerate(self.cases):
            self.tell()
            try:
                text = _open(case.options).manifest
            except (InputError, SimulationError) as error:
                self.keys.append(None)
                self.manifests.append(b"")
                self.errors[index] = str(error)
                self.done += 1
                self.failed += 1
                continue
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
        self.tell()

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

    def play(self, place: Place) -> None:
        """Runs what is missing; every result is kept as soon as it is there."""
        waiting = deque(self.missing)
        running: dict[Future[Answer], str] = {}
        try:
            while waiting or running:
                for key in self.claimed(waiting, place.ahead - len(running)):
                    index = self.missing[key]
                    try:
                        running[place.submit(self.cases[index].options, key, self.manifest(index))] = key
                    except InputError as error:
                        self.keep(key, Answer("changed", str(error)))
                if not running and not waiting:
                    break
                missing = {}
                for future in self.wait(running, more=len(waiting) > 0 and len(running) < place.ahead):
                    key = running.pop(future)
                    answer = _answer(future)
                    if answer.kind == "refused":
                        raise place.refused(answer.value)
                    if answer.kind == "missing":
                        missing[key] = (future, answer.value)
                    else:
                        self.keep(key, answer)
                place.check()
                changed = place.supply(missing.values()) if missing else {}
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
                    # Where the disk is full the first error has said so.
                    with suppress(SimulationError):
                        self.cache.put(key, answer.value)
                        self.done += 1
            raise (place.lost() if isinstance(error, CancelledError) else error) from None
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
                    self.tell()
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
            self.tell()
            return set()
        done = wait(running, POLL_S if more else WAIT_S, FIRST_COMPLETED).done
        if not done:
            self.tell()
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
        self.tell()

    def tell(self) -> None:
        if self.progress is not None:
            self.progress(Progress(self.done, len(self.cases), self.kept, self.failed))

    def outcome(self, statistics: tuple[str, ...], files: str | os.PathLike[str] | None, keep_results: bool) -> Outcome:
        pattern = re.compile("|".join(fnmatch.translate(name) for name in statistics))

        def is_kept(name: str) -> bool:
            return pattern.match(name) is not None and not name.startswith("run.")

        cases: list[str | None] = []
        rows: list[dict[str, Any]] = []
        frames: list[polars.DataFrame] = []
        failed = []
        results = {}
        for index, (case, key) in enumerate(zip(self.cases, self.keys, strict=True)):
            row: dict[str, Any] = {}
            cases.append(None if key is None else key[:12])
            payload = None if key is None else self.cache.get(key)
            if payload is None:
                why = self.errors.get(index)
                if key is not None:
                    why = self.changed.get(key) or self.cache.failure(key)
                failed.append(Failed(case.labels, why or "its result was lost while the sweep ran: run it again"))
            else:
                payload["data"]["manifest"] = self.manifest(index)
                result = Result.from_payload(payload)
                row = {name: value for name, value, _, _ in result.scalars() if is_kept(name)}
                if keep_results and key is not None:
                    results[key] = result
                if files is not None:
                    name = f"{_file_name(case.labels)}.{cases[-1]}.json"
                    write(os.path.join(files, name), result.to_json(process=False).encode())
            rows.append(row)
            if len(rows) == ROWS or index == len(self.cases) - 1:
                frames.append(_statistics(rows))
                rows = []
        table = _frame([case.labels for case in self.cases], cases, frames)
        return Outcome(table, tuple(failed), results, self.played)


ROWS = 1000
"""Lines of a table that are held as Python's numbers, which take ten times the room of polars'."""


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


def _statistics(rows: list[dict[str, Any]]) -> polars.DataFrame:
    import polars

    names = dict.fromkeys(name for row in rows for name in row)
    columns = [[row.get(name) for row in rows] for name in names]
    frame = polars.DataFrame(
        [
            polars.Series(name, values, dtype=polars.Float64, strict=False)
            for name, values in zip(names, columns, strict=True)
        ]
    )
    # A frame without columns has no lines: the number of lines is what counts here.
    return frame if names else polars.DataFrame({"": [None] * len(rows)})


def _frame(
    labels: list[dict[str, Value]], cases: list[str | None], statistics: list[polars.DataFrame]
) -> polars.DataFrame:
    import polars

    columns = []
    for axis in labels[0] if labels else []:
        values: list[Any] = [each[axis] for each in labels]
        kinds = {type(value) for value in values}
        kind = polars.Int64 if kinds == {int} else polars.Float64 if kinds <= {int, float} else polars.String
        if any(isinstance(value, int) and not -(1 << 63) <= value < 1 << 63 for value in values):
            kind = polars.String
        values = [str(value) for value in values] if kind == polars.String else values
        columns.append(polars.Series(axis, values, dtype=kind, strict=False))
    columns.append(polars.Series("case", cases, dtype=polars.String))
    found = polars.concat(statistics, how="diagonal") if statistics else polars.DataFrame()
    found = found.select(name for name in found.columns if name)
    return polars.DataFrame(columns).hstack(found) if found.width else polars.DataFrame(columns)


def axes_of(table: polars.DataFrame) -> list[str]:
    """The columns of a sweep's table that are axes: those before ``case``."""
    if "case" not in table.columns:
        raise InputError("this is no table of a sweep: it has no column `case`\n  help: write one with `ssdlab sweep`")
    return table.columns[: table.columns.index("case")]


def statistics_of(table: polars.DataFrame) -> list[str]:
    """The columns of a sweep's table that are statistics: those behind ``case``."""
    axes_of(table)
    return table.columns[table.columns.index("case") + 1 :]


def write_table(table: polars.DataFrame, path: str) -> None:
    """Writes a table as CSV, Parquet or JSON, by the path's ending."""
    import io

    buffer = io.BytesIO()
    check_ending("", path, TABLES)
    ending = os.path.splitext(path)[1].lower()
    if ending == ".csv":
        table.write_csv(buffer)
    elif ending == ".parquet":
        table.write_parquet(buffer)
    else:
        table.write_json(buffer)
    write(path, buffer.getvalue())


def read_table(path: str | os.PathLike[str]) -> polars.DataFrame:
    """Reads a table that a sweep has written as CSV or Parquet."""
    import polars

    table = read_csv(path)
    return table.with_columns(polars.col(name).cast(polars.Float64) for name in statistics_of(table))


def read_csv(path: str | os.PathLike[str]) -> polars.DataFrame:
    """Reads a table that was written as CSV or Parquet."""
    import polars

    path = os.fspath(path)
    try:
        if path.lower().endswith(".parquet"):
            return polars.read_parquet(path)
        return polars.read_csv(path, infer_schema_length=None)
    except (OSError, polars.exceptions.PolarsError) as error:
        raise InputError(
            f"{path}: cannot be read: {error}\n  help: give a table that `ssdlab sweep` has written"
        ) from None
