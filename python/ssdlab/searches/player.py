"""Candidates played: as cases of a sweep, one for each context and seed, kept in the sweeps' cache."""

from __future__ import annotations

import json
import math
import os
import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError, SimulationError
from ssdlab.runs.findings import excluded_by
from ssdlab.runs.kept import Interrupted, Kept
from ssdlab.runs.options import Options
from ssdlab.runs.simulation import open_simulation
from ssdlab.searches.race import mean
from ssdlab.searches.space import Point
from ssdlab.searches.spec import Constraint, Objective, Rung, Search
from ssdlab.sweeps.cache import Cache
from ssdlab.sweeps.campaign import SweepProgress, sweep
from ssdlab.sweeps.executors import WORKER_TIMEOUT_S
from ssdlab.sweeps.spec import MOST_CASES, Cases, Sweep
from ssdlab.sweeps.table import WARNINGS

if TYPE_CHECKING:
    from distributed import Client

CHECKPOINT = "drive.checkpoint"
"""What commands call a drive that is warmed up."""

Progress = Callable[[str], Callable[[SweepProgress], None] | None]
"""Is told what is played next, and gives what reports its progress."""


class Measured(NamedTuple):
    """What came of a candidate on a rung."""

    objectives: list[list[float]]
    """By objective, by seed: one value for all contexts."""
    constraints: list[list[float]]
    """By constraint, by seed: under the context that is worst for it."""
    statistics: list[float | None]
    """The mean of each further statistic."""
    error: str = ""
    """Why there is nothing, or why it does not count."""
    marked: bool = False
    """Whether it does not count since results carry warnings."""
    doubt: str = ""
    """The warnings that its results carry, where it counts all the same (``accept_warnings``)."""


class Places(NamedTuple):
    """Where cases are played and kept; as for :func:`ssdlab.sweep`."""

    cache: str | os.PathLike[str] = "results/cache"
    threads: int | None = None
    executor: Executor | None = None
    dask: str | Client | None = None
    worker_timeout: float = WORKER_TIMEOUT_S
    retry_failed: bool = False
    traces: str | os.PathLike[str] | None = None


class Player:
    """Plays candidates. It remembers nothing but what it has cost: results are in the cache."""

    def __init__(self, search: Search, places: Places, progress: Progress, *, accept_warnings: bool = False) -> None:
        self._accept_warnings = accept_warnings
        self._search = search
        self._places = places
        self._progress = progress
        self._checked = False
        self._told: set[str] = set()
        self.played = 0
        """Cases that were played and not found in the cache."""
        self.done = 0
        """Cases whose results are in the cache."""
        self.hours = 0.0
        """CPU time of the cases, those from the cache too, each once; counted only where the budget is in hours."""
        self._counted: set[str] = set()

    def play(self, points: Mapping[int, Point | None], rung: Rung, about: str) -> dict[int, Measured]:
        """What comes of candidates, by their numbers; None is the drive as the file gives it."""
        if not points:
            return {}
        if not self._checked:
            self._checked = True
            first = next(iter(points.items()))
            contexts = {axis: dict([next(iter(labels.items()))]) for axis, labels in self._search.contexts.items()}
            alone = self._search._replace(contexts=contexts)
            self._sweep(alone.sweep(dict([first]), rung.share, rung.seeds[:1]), "a first case")
        found = {}
        size = max(1, MOST_CASES // (len(self._search.situations) * len(rung.seeds)))
        numbers = list(points)
        for start in range(0, len(numbers), size):
            part = {number: points[number] for number in numbers[start : start + size]}
            rows, errors = self._sweep(self._search.sweep(part, rung.share, rung.seeds), about)
            each = len(self._search.situations) * len(rung.seeds)
            for place, number in enumerate(part):
                of = rows[place * each :][:each]
                mark = "" if number in errors or rung.share < 1.0 else _mark(of)
                found[number] = (
                    Measured([], [], [], mark, marked=True)
                    if mark and not self._accept_warnings
                    else self._measured(of, errors.get(number, ""), len(rung.seeds))._replace(doubt=mark)
                )
        return found

    def refusal(self, point: Point) -> str | None:
        """Why the core refuses a candidate under one of the contexts, if it does: it is prepared and not played."""
        for case in self.cases(point, self._search.rungs[-1].seeds[0]):
            try:
                for options in filter(None, (case.warm, case.options)):
                    open_simulation(options)
            except (InputError, SimulationError) as error:
                return str(error)
        return None

    def cases(self, point: Point, seed: int) -> Cases:
        """The full cases of a candidate by one seed, one for each context."""
        made = Sweep.parse(self._search.sweep({0: point}, 1.0, [seed]), self._search.origin).cases()
        if self._places.traces is None:
            return made
        return made.with_traces(os.fspath(self._places.traces))

    def start_of_reads(self, point: Point, seed: int) -> str | None:
        """Where the reads of a candidate begin (``read.start``), under a context in which data is aged; None where none
        is."""
        for case in self.cases(point, seed):
            config = json.loads(open_simulation(case.options).manifest)["device"]["config"]
            if config["age"]["pec"] or config["age"]["retention"] not in ("0s", "0ns"):
                return str(config["read"]["start"])
        return None

    def commands(self, point: Point, seed: int) -> dict[str, str]:
        """The command of each of those cases, by its context; two where the drive is warmed up."""
        found = {}
        for case, labels in zip(self.cases(point, seed), self._search.situations, strict=True):
            commands = [_command(case.options)]
            if case.warm is not None:
                at = ["--save-at", case.warm.save_at] if case.warm.save_at else []
                warm = _command(case.warm, "--save", CHECKPOINT, *at)
                commands = [warm, _command(case.options, "--from", CHECKPOINT)]
            found[", ".join(map(str, labels))] = " && ".join(commands)
        return found

    def _sweep(self, made: dict[str, Any], about: str) -> tuple[list[dict[str, Any]], dict[int, str]]:
        """Rows in the order candidate, contexts, seed; and why candidates failed."""
        places = self._places._asdict()
        listener = self._progress(about)
        with self._each_note_once():
            try:
                outcome = sweep(made, **places, progress=listener)
            except Interrupted as error:
                raise Interrupted(Kept(self.done + error.kept[0])) from None
        self.played += outcome.played
        self.done += outcome.table.height - len(outcome.failed)
        errors: dict[int, str] = {}
        for case in outcome.failed:
            labels = {axis: label for axis, label in case.labels.items() if axis != "candidate"}
            where = ", ".join(f"{axis}={label}" for axis, label in labels.items())
            errors.setdefault(int(case.labels["candidate"]), f"{where}: {case.error}")  # type: ignore[arg-type]
        if len(outcome.failed) < outcome.table.height:
            self._check_statistics(made, outcome.table.columns)
        if self._search.hours:
            self._count_hours([case for case in outcome.table["case"] if case is not None])
        return list(outcome.table.iter_rows(named=True)), errors

    def _check_statistics(self, made: dict[str, Any], columns: Sequence[str]) -> None:
        for name in self._search.measured:
            if name in columns:
                continue
            from difflib import get_close_matches

            from ssdlab.runs.api import run

            known = [each for each, *_ in run(requests=1).scalars() if not each.startswith("run.")]
            near = get_close_matches(name, known, 1)
            remedy = f"did you mean `{near[0]}`?" if near else "docs/statistics.md lists them"
            raise InputError(f"{self._search.origin}: {name}: no run reports this statistic\n  help: {remedy}")

    def _count_hours(self, cases: Sequence[str]) -> None:
        cache = Cache(self._places.cache)
        for case in cases:
            if case in self._counted:
                continue
            self._counted.add(case)
            payload = cache.find(case)
            if payload is not None:
                self.hours += float(payload["data"]["process"]["wall_s"]) / 3600.0

    def _measured(self, rows: Sequence[Mapping[str, Any]], error: str, seeds: int) -> Measured:
        search = self._search
        if error:
            return Measured([], [], [], error)
        try:
            by_seed = [rows[seed::seeds] for seed in range(seeds)]
            return Measured(
                [[self._objective(each, of) for of in by_seed] for each in search.objectives],
                [[self._constraint(each, of) for of in by_seed] for each in search.constraints],
                [_mean_of([row[name] for row in rows]) for name in search.statistics],
            )
        except ValueError as absent:
            return Measured([], [], [], str(absent))

    def _objective(self, objective: Objective, rows: Sequence[Mapping[str, Any]]) -> float:
        values = self._values(objective, rows)
        if objective.over == "worst":
            return max(values) if objective.goal == "min" else min(values)
        if objective.over == "mean":
            return mean(values)
        if min(values) <= 0.0:
            raise ValueError(f"{objective.name}: {min(values):g} has no geometric mean with others")
        return math.exp(mean([math.log(value) for value in values]))

    def _constraint(self, constraint: Constraint, rows: Sequence[Mapping[str, Any]]) -> float:
        values = self._values(constraint, rows)
        return max(values, key=lambda value: max(constraint.least - value, value - constraint.most))

    def _values(self, of: Objective | Constraint, rows: Sequence[Mapping[str, Any]]) -> list[float]:
        """The statistic under each context that counts."""
        found = []
        for place in self._search.counted(of.where):
            value = rows[place][of.statistic]
            if value is None:
                situation = ", ".join(map(str, self._search.situations[place]))
                raise ValueError(f"{of.statistic}: there was nothing to measure{situation and f' under {situation}'}")
            found.append(float(value))
        return found

    @contextmanager
    def _each_note_once(self) -> Iterator[None]:
        """Lets a note of a sweep pass that no sweep of this search has given before, whatever it counts."""
        earlier = warnings.showwarning

        def show(message: Warning | str, *rest: Any, **named: Any) -> None:
            text = str(message).partition(" (in ")[0]
            if text not in self._told:
                self._told.add(text)
                earlier(message, *rest, **named)

        warnings.showwarning = show
        try:
            yield
        finally:
            warnings.showwarning = earlier


def _mark(rows: Sequence[Mapping[str, Any]]) -> str:
    """What leaves a candidate out: the warnings of its results at full length. Shorter runs only choose who goes on."""
    found = Counter(id for row in rows for id in excluded_by(row.get(WARNINGS)))
    return ", ".join(f"{id} in {count} of {len(rows)} cases" for id, count in found.most_common())


def _command(options: Options, *more: str) -> str:
    settings = [word for setting in options.settings for word in ("--set", setting)]
    return shlex.join(["ssdlab", "run", *options.command(), *settings, *more])


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None
