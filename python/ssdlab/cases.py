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
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ._core import InputError, SimulationError
from ._runner import Interrupted, Kept, Options, _open, cpus, write
from .cache import Cache, key_of
from .result import Result
from .task import Answer, Task, build, execute, files_of, placed

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
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: {error}\n  help: the file must be TOML") from None

    def cases(self, quick: bool = False) -> list[Case]:
        """All cases, the last axis varying fastest; with ``quick`` those of the quick check only."""
        axes = [
            [
                (axis, label, words)
                for label, words in labels.items()
                if not quick or axis not in self.quick or label in self.quick[axis]
            ]
            for axis, labels in self.axes.items()
        ]
        cases = []
        for point in itertools.product(*axes):
            words = dict(self.run)
            for _, _, set_by_label in point:
                words |= set_by_label
            cases.append(Case({axis: label for axis, label, _ in point}, _options(words)))
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
    return Sweep(str(data.get("about", "")), run, axes, quick, tuple(statistics))


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


def _options(words: dict[str, Value]) -> Options:
    from .api import precondition_words, setting_words

    options: dict[str, Any] = dict(DEFAULTS)
    settings: dict[str, Value] = {}
    for word, value in words.items():
        kind = WORDS.get(word)
        if kind is None:
            settings[word] = value
        elif value is None or (isinstance(value, kind) and not isinstance(value, bool)):
            options[word] = value
        else:
            what = "a whole number" if kind is int else "text in quotes"
            raise InputError(f"sweep: {word}: {value!r} is not accepted\n  help: expected {what}")
    if options.get("scheme") == "none":
        del options["scheme"]
    first = precondition_words(options.pop("precondition", None))
    return Options(**options, settings=(*first, *setting_words(settings)))


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
    retry_failed: bool = False,
    quick: bool = False,
    traces: str | os.PathLike[str] | None = None,
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
        retry_failed: run again the cases that failed before.
        quick: only the cases of ``[quick]``.
        traces: a folder of real traces that take the place of twins, as in :func:`ssdlab.run`.
        files: write each case's result as JSON into this folder.
        keep_results: give the :class:`ssdlab.Result` of every case too.
        progress: called when cases are done.

    Raises:
        InputError: the sweep itself is wrong, or every case of it; no Dask scheduler answers.
        SimulationError: a worker has another ssdlab, or the cluster is lost; what was done is in the cache.
        Interrupted: Ctrl-C; what was done is in the cache.
    """
    found = Sweep.read(source)
    cases = found.cases(quick)
    if traces is not None:
        cases = [case._replace(options=case.options._replace(traces=os.fspath(traces))) for case in cases]
    run = _Run(cases, Cache(cache), progress)
    run.look_up(retry_failed)
    if run.missing:
        place: Place
        if dask is not None:
            from .cluster import Cluster

            place = Cluster(dask)
        elif executor is not None:
            place = Elsewhere(executor)
        else:
            place = Here(threads or cpus())
        try:
            run.play(place)
        finally:
            place.close()
    return run.outcome(found.statistics, files, keep_results)


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
        self.manifests: list[dict[str, Any]] = []
        self.missing: dict[str, int] = {}
        self.errors: dict[int, str] = {}
        self.changed: dict[str, str] = {}
        self.kept = 0
        self.failed = 0
        self.done = 0
        self.played = 0

    def look_up(self, retry_failed: bool) -> None:
        """Finds out which cases are missing."""
        for index, case in enumerate(self.cases):
            try:
                manifest = json.loads(_open(case.options).manifest)
            except (InputError, SimulationError) as error:
                self.keys.append(None)
                self.manifests.append({})
                self.errors[index] = str(error)
                self.done += 1
                self.failed += 1
                continue
            key = key_of(manifest)
            self.keys.append(key)
            self.manifests.append(manifest)
            if retry_failed:
                self.cache.forgive(key)
            if key in self.missing:
                self.done += 1
            elif self.cache.get(key) is not None:
                self.done += 1
                self.kept += 1
            elif self.cache.failure(key) is not None:
                self.done += 1
                self.kept += 1
                self.failed += 1
            else:
                self.missing[key] = index
        if self.cases and len(self.errors) == len(self.cases):
            raise InputError(self.errors[0])
        self.tell()

    def play(self, place: Place) -> None:
        """Runs what is missing; every result is kept as soon as it is there."""
        waiting = deque(self.missing)
        running: dict[Future[Answer], str] = {}
        try:
            while waiting or running:
                for _ in range(min(place.ahead - len(running), len(waiting))):
                    key = waiting.popleft()
                    index = self.missing[key]
                    try:
                        running[place.submit(self.cases[index].options, key, self.manifests[index])] = key
                    except InputError as error:
                        self.keep(key, Answer("changed", str(error)))
                missing = {}
                for future in wait(running, return_when=FIRST_COMPLETED).done if running else ():
                    key = running.pop(future)
                    answer = _answer(future)
                    if answer.kind == "refused":
                        raise place.refused(answer.value)
                    if answer.kind == "missing":
                        missing[key] = (future, answer.value)
                    else:
                        self.keep(key, answer)
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
                    self.cache.put(key, answer.value)
                    self.done += 1
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted(Kept(self.done)) from None
            raise (place.lost() if isinstance(error, CancelledError) else error) from None

    def keep(self, key: str, answer: Answer) -> None:
        """Keeps what came of a case. That its input has changed says nothing of the case: it is not kept."""
        try:
            if answer.kind == "done":
                self.cache.put(key, answer.value)
            elif answer.kind == "changed":
                self.changed[key] = answer.value
            else:
                self.cache.fail(key, answer.value)
        except OSError as failure:
            raise SimulationError(
                f"{self.cache.folder}: cannot be written: {failure.strerror}\n  help: make room, or give another cache"
            ) from None
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

        rows: list[dict[str, Any]] = []
        failed = []
        results = {}
        for index, (case, key) in enumerate(zip(self.cases, self.keys, strict=True)):
            row: dict[str, Any] = {**case.labels, "case": None if key is None else key[:12]}
            payload = None if key is None else self.cache.get(key)
            if payload is None:
                why = self.errors.get(index)
                if key is not None:
                    why = self.changed.get(key) or self.cache.failure(key)
                failed.append(Failed(case.labels, why or "its result was lost while the sweep ran: run it again"))
            else:
                payload["data"]["manifest"] = self.manifests[index]
                result = Result.from_payload(payload)
                row |= {name: value for name, value, _, _ in result.scalars() if is_kept(name)}
                if keep_results and key is not None:
                    results[key] = result
                if files is not None:
                    os.makedirs(files, exist_ok=True)
                    name = "-".join(str(label).replace("/", "_") for label in case.labels.values()) or "case"
                    write(os.path.join(files, f"{name}.{row['case']}.json"), result.to_json().encode())
            rows.append(row)
        return Outcome(
            _frame(rows, list(self.cases[0].labels) if self.cases else []), tuple(failed), results, self.played
        )


def _answer(future: Future[Answer]) -> Answer:
    """What came of a case; an exception is its failure: one case stops nothing else, whatever is wrong with it."""
    try:
        return Answer(*future.result())
    except (KeyboardInterrupt, CancelledError):
        raise
    except Exception as failure:
        return Answer("failed", f"{type(failure).__name__}: {failure}")


def _frame(rows: list[dict[str, Any]], axes: list[str]) -> polars.DataFrame:
    import polars

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = []
    for name in names:
        values = [row.get(name) for row in rows]
        if name in axes:
            kinds = {type(value) for value in values}
            kind = polars.Int64 if kinds == {int} else polars.Float64 if kinds <= {int, float} else polars.String
            values = [str(value) for value in values] if kind == polars.String else values
        else:
            kind = polars.String if name == "case" else polars.Float64
        columns.append(polars.Series(name, values, dtype=kind, strict=False))
    return polars.DataFrame(columns)


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
    ending = os.path.splitext(path)[1].lower()
    if ending == ".csv":
        table.write_csv(buffer)
    elif ending == ".parquet":
        table.write_parquet(buffer)
    elif ending == ".json":
        table.write_json(buffer)
    else:
        raise InputError(f"{path}: the ending {ending!r} says nothing\n  help: write to a .csv, .parquet or .json file")
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
