"""``ssdlab.search``: a search from its file to its tables."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ssdlab._core import RESULTS_VERSION, InputError
from ssdlab._version import __version__
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.common.effects import LEAST_SHARE, Effect, effects_of
from ssdlab.common.frames import write_table
from ssdlab.common.output import check_folder, write
from ssdlab.common.reasons import Reason, reasons_of
from ssdlab.common.shown import html, text
from ssdlab.runs.findings import Finding, interrupted
from ssdlab.runs.kept import Interrupted
from ssdlab.searches.player import Measured, Places, Player
from ssdlab.searches.proposals import proposer_of
from ssdlab.searches.race import front_of, hypervolume, mean
from ssdlab.searches.racing import Candidate, Race, field_of
from ssdlab.searches.spec import Rung, Search
from ssdlab.sweeps.campaign import SweepProgress
from ssdlab.sweeps.executors import WORKER_TIMEOUT_S

if TYPE_CHECKING:
    import pandas
    import polars
    from distributed import Client

KIND = "ssdlab search"
"""What the JSON of a search is known by."""
TABLES = ("front", "candidates", "effects", "progress")
GIVEN = -1
"""The number under which the drive as the file gives it is played beside the front."""
REFERENCE = 1.1
"""The reference point of the hypervolume: objectives go from 0, the best of the last rung, to 1, the worst."""


@dataclass(frozen=True)
class SearchResult:
    """What a search found. Nothing in it depends on workers, clocks or the state of the cache."""

    search: Search
    proposer: str
    """``product``, ``nsga2`` or ``tpe``."""
    front: polars.DataFrame
    """A row a point of the front: ``candidate``, the axes, each objective and constraint with ``_ci95``, by seeds that
    the search has not seen, beside ``.search``, what the search had measured; ``holds``: whether it is on the front
    with those seeds too; ``why`` it is in doubt, where warnings were accepted and points carry any."""
    candidates: polars.DataFrame
    """A row a candidate, in the order of their proposal: axes, ``state``, ``rung`` (the last one played, from 1), what
    was measured there, ``why``."""
    effects: polars.DataFrame
    """What each axis, each label and each pair contributes to each objective."""
    progress: polars.DataFrame
    """How the front moved: a row for each candidate that played the last rung."""
    given: dict[str, Any] | None
    """The drive as ``[run]`` gives it, by the seeds of the front: objectives and constraints with ``_ci95``, and
    ``why`` there is nothing, if so; None where the search ended before."""
    read_starts: dict[int, str]
    """Of points of the front under which data is aged, where their reads begin (``read.start``)."""
    commands: dict[int, dict[str, str]]
    """Of each point of the front the commands of its full cases by a seed, by context."""
    spent: float
    """Full cases that the race has played; verification and effects come on top."""
    played: int
    """Cases that were run and not taken from the cache."""
    warnings: tuple[Finding, ...] = ()
    """What puts the search itself in doubt: ``interrupted``, where it was. What its cases carry stands beside each
    candidate (``state``, ``why``)."""

    def to_pandas(self, table: Literal["front", "candidates", "effects", "progress"] = "front") -> pandas.DataFrame:
        """One of its tables as a pandas frame (``pip install 'ssdlab[pandas]'``)."""
        from ssdlab.common.frames import to_pandas

        if table not in TABLES:
            raise InputError(f"table is {table!r}\n  help: write {', '.join(TABLES)}")
        return to_pandas(getattr(self, table))

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)

    def counts(self) -> dict[str, int]:
        """How many candidates are in each state."""
        return dict(Counter(self.candidates["state"]))

    def doubts(self) -> dict[int, str]:
        """The warnings of points of the front that carry any, where they were accepted."""
        if "why" not in self.front.columns:
            return {}
        return {number: why for number, why in self.front.select("candidate", "why").iter_rows() if why}

    def reasons(self, state: str) -> list[Reason]:
        """Why candidates are in a state such as ``refused``, ``infeasible`` or ``marked``: alike ones together, the
        most frequent first."""
        of = self.candidates.filter(self.candidates["state"] == state)
        return reasons_of(zip(of["candidate"].cast(str), of["why"], strict=True))

    def ties(self) -> list[list[dict[str, Any]]]:
        """The rows of the front, together where they differ in no objective by more than its intervals say."""
        return self._alike(self.front)

    def near(self) -> list[list[dict[str, Any]]]:
        """The candidates that no point of the front surely beats, as the race has measured them; together as
        :meth:`ties`."""
        first = self.search.objectives[0]
        of = self.candidates.filter(self.candidates["state"] == "near")
        return self._alike(of.sort(first.name, descending=first.goal == "max", maintain_order=True))

    def _alike(self, rows: polars.DataFrame) -> list[list[dict[str, Any]]]:
        found: list[list[dict[str, Any]]] = []
        for row in rows.iter_rows(named=True):
            alike = next((of for of in found if self._are_alike(of[0], row)), None)
            if alike is None:
                found.append([row])
            else:
                alike.append(row)
        return found

    def _are_alike(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        for each in self.search.objectives:
            values = one[each.name], other[each.name]
            if None in values:
                return False
            half = max(one[f"{each.name}_ci95"] or 0.0, other[f"{each.name}_ci95"] or 0.0)
            if abs(values[0] - values[1]) > half:
                return False
        return True

    def axes_of_front(self) -> tuple[dict[str, Any], list[str]]:
        """The axes on which all points of the front have one label, with it, where they are several; and the others."""
        axes = list(self.search.space.axes)
        shared = {
            axis: self.front[axis][0] for axis in axes if self.front.height > 1 and self.front[axis].n_unique() == 1
        }
        return shared, [axis for axis in axes if axis not in shared]

    def without_effect(self) -> dict[str, float]:
        """The axes that change nothing here, with the largest share of any objective's differences that they, alone or
        with another one, contribute [%]: less than
        :data:`ssdlab.common.effects.LEAST_SHARE`."""
        import polars

        whole = self.effects.filter((polars.col("label") == "") & (polars.col("axis") != "rest"))
        found = {}
        for axis in whole["axis"].unique(maintain_order=True):
            of = whole.filter((polars.col("axis") == axis) | (polars.col("with_axis") == axis))
            shares = of.group_by("objective").agg(polars.col("share").sum())["share"]
            most = max((share for share in shares if share is not None), default=0.0)
            if most < LEAST_SHARE:
                found[axis] = most
        return found

    def deciding(self) -> dict[str, Any]:
        """Of the axes that contribute little (:meth:`without_effect`) those on which all that may be best have one
        label, with it: it decides among the best, whatever it does elsewhere."""
        best = self.candidates.filter(self.candidates["state"].is_in(["front", "near"]))
        return {
            axis: best[axis][0]
            for axis in self.without_effect()
            if best.height and best[axis].n_unique() == 1 and self.candidates[axis].n_unique() > 1
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        search = self.search
        return {
            "kind": KIND,
            "ssdlab": __version__,
            "results_version": RESULTS_VERSION,
            "name": search.name,
            "about": search.about,
            "axes": list(search.space.axes),
            "contexts": {axis: [str(label) for label in labels] for axis, labels in search.contexts.items()},
            "objectives": [each._asdict() for each in search.objectives],
            "constraints": [
                {**each._asdict(), "least": _finite(each.least), "most": _finite(each.most)}
                for each in search.constraints
            ],
            "rungs": [{"requests": share, "seeds": list(seeds)} for share, seeds in search.rungs],
            "verify": list(search.verify.seeds),
            "effects_from": {"candidates": search.effects, "requests": search.effects_share},
            "proposer": self.proposer,
            "warnings": [{**of._asdict(), "numbers": dict(of.numbers)} for of in self.warnings],
            "spent": self.spent,
            "counts": self.counts(),
            "given": self.given,
            "read_starts": {str(number): start for number, start in self.read_starts.items()},
            "commands": {str(number): of for number, of in self.commands.items()},
            **{name: getattr(self, name).to_dicts() for name in TABLES},
        }

    def write(self, folder: str | os.PathLike[str]) -> list[str]:
        """Writes ``search.json`` and a CSV for each table into a folder; returns their paths."""
        paths = [os.path.join(folder, f"{name}.csv") for name in TABLES]
        for name, path in zip(TABLES, paths, strict=True):
            write_table(getattr(self, name), path)
        paths.append(os.path.join(folder, "search.json"))
        write(paths[-1], (json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())
        return paths


def search(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    cache: str | os.PathLike[str] = "results/cache",
    threads: int | None = None,
    executor: Executor | None = None,
    dask: str | Client | None = None,
    worker_timeout: float = WORKER_TIMEOUT_S,
    retry_failed: bool = False,
    traces: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    accept_warnings: bool = False,
    progress: Callable[[str], Callable[[SweepProgress], None] | None] = lambda about: None,
) -> SearchResult:
    """Searches a space for the configurations that no other surely beats.

    Args:
        source: a search file, or the same as a mapping.
        out: a folder to write the tables and ``search.json`` into.
        accept_warnings: take candidates whose full cases carry warnings; without, they are left out
            (docs/warnings.md).
        progress: told what is played next; gives what reports its progress.

    The other arguments are those of :func:`ssdlab.sweep`. The result is the same, byte by byte, for any number of
    workers, and however often the search was interrupted.

    Raises:
        InputError: the search is wrong, or Optuna is needed and not here.
        SimulationError: as for a sweep.
        Interrupted: Ctrl-C; what was done is in the cache, and the same call goes on from there. ``error.found`` is
            what the search has found until then.
    """
    found = Search.read(source)
    if out is not None:
        check_folder("--out", out)
    places = Places(cache, threads, executor, dask, worker_timeout, retry_failed, traces)
    result = _searched(found, Player(found, places, progress, accept_warnings=accept_warnings))
    if out is not None:
        result.write(out)
    return result


def _searched(search: Search, player: Player) -> SearchResult:
    proposer = proposer_of(search)
    race = Race(search, player)
    verified: dict[int, Measured] | None = None
    try:
        race.run(proposer)
        points = {each.number: each.point for each in race.candidates if each.state == "front"}
        verified = player.play({**points, GIVEN: None}, search.verify, "the front with new seeds") if points else {}
        effects = _effects_table(search, player, search.verify.seeds if search.effects else ())
    except Interrupted as error:
        race.judge("the search was interrupted")
        text = f"the search was interrupted after {race.spent:g} full cases"
        text += (
            ": the front has not been verified with new seeds" if verified is None else ": nothing is said of effects"
        )
        finding = interrupted(text, {"cases": race.spent}, "the same command goes on from there")
        error.found = _result(
            search, player, race, proposer.name, verified, _effects_table(search, player, ()), finding
        )
        raise
    return _result(search, player, race, proposer.name, verified, effects)


def _result(
    search: Search,
    player: Player,
    race: Race,
    proposer: str,
    verified: Mapping[int, Measured] | None,
    effects: polars.DataFrame,
    *warnings: Finding,
) -> SearchResult:
    """What a race has found. A front that has not been ``verified`` is given by the seeds of the race."""
    front = [each for each in race.candidates if each.state == "front"]
    if verified is None:
        verified = {each.number: race.measured[-1][each.number] for each in front}
    verified = dict(verified)
    given = verified.pop(GIVEN, None)
    seed = search.verify.seeds[0]
    starts = {each.number: player.start_of_reads(each.point, seed) for each in front}
    return SearchResult(
        search,
        proposer,
        _front_table(search, race, front, verified),
        _candidates_table(search, race),
        effects,
        _progress_table(search, race),
        None if given is None else {**_numbers(search, given), "why": " ".join(given.error.split())},
        {number: start for number, start in starts.items() if start is not None},
        {each.number: player.commands(each.point, seed) for each in front},
        round(race.spent, 9),
        player.played,
        warnings,
    )


def _front_table(
    search: Search, race: Race, front: Sequence[Candidate], verified: Mapping[int, Measured]
) -> polars.DataFrame:
    holding = field_of(search, dict(verified)).front(
        number for number, found in verified.items() if not found.error and not race.excess(found)
    )
    rows = []
    for candidate in front:
        number = candidate.number
        row: dict[str, Any] = {"candidate": number, **search.space.named(candidate.point)}
        row |= _numbers(search, verified[number])
        seen = race.measured[-1][number]
        for objective, values in zip(search.objectives, seen.objectives, strict=True):
            row[f"{objective.name}.search"] = mean(values)
        doubt = verified[number].doubt or seen.doubt
        rows.append(
            {**row, "holds": number in holding, **({"why": f"taken with its warnings: {doubt}"} if doubt else {})}
        )
    first = search.objectives[0]
    sign = 1 if first.goal == "min" else -1
    rows.sort(key=lambda row: (row[first.name] is None, sign * (row[first.name] or 0.0), row["candidate"]))
    return _frame(search, rows, ["candidate", *search.space.axes, *_number_names(search), "holds"])


def _candidates_table(search: Search, race: Race) -> polars.DataFrame:
    rows = []
    for candidate in race.candidates:
        played = race.measured[candidate.rung][candidate.number] if candidate.rung >= 0 else _NOTHING
        rows.append(
            {
                "candidate": candidate.number,
                **search.space.named(candidate.point),
                "state": candidate.state,
                "rung": candidate.rung + 1,
                **_numbers(search, played),
                "why": " ".join(candidate.why.split()),
            }
        )
    return _frame(search, rows, ["candidate", *search.space.axes, "state", "rung", *_number_names(search), "why"])


_NOTHING = Measured([], [], [], "not played")


def _number_names(search: Search) -> list[str]:
    judged = list(
        dict.fromkeys([*(each.name for each in search.objectives), *(each.name for each in search.constraints)])
    )
    return [
        *(column for name in judged for column in (name, f"{name}_ci95")),
        *(name for name in search.statistics if name not in judged),
    ]


def _numbers(search: Search, found: Measured) -> dict[str, float | None]:
    """Means and half widths of what was measured, by column."""
    row: dict[str, float | None] = dict.fromkeys(_number_names(search))
    if found.error:
        return row
    for statistic, value in zip(search.statistics, found.statistics, strict=True):
        row[statistic] = value
    names = [*(each.name for each in search.constraints), *(each.name for each in search.objectives)]
    for name, values in zip(names, (*found.constraints, *found.objectives), strict=True):
        row[name], row[f"{name}_ci95"] = mean_and_half_width(values)
    return row


def _effects_table(search: Search, player: Player, seeds: Sequence[int]) -> polars.DataFrame:
    """Effects from candidates that are chosen without regard to results, with the seeds of the verification: for each
    seed the whole product, or a draw of its own."""
    import polars

    whole = search.space.size() <= search.effects
    by_seed: list[list[tuple[tuple[str, ...], list[float]]]] = []
    for seed in seeds:
        drawn = search.space.drawn(search.effects, f"{search.seed}:{seed}")
        points = {number: point for number, point in enumerate(drawn) if player.refusal(point) is None}
        found = player.play(points, Rung(search.effects_share, (seed,)), f"effects, seed {seed}")
        by_seed.append(
            [
                (search.space.parts(points[number]), [values[0] for values in each.objectives])
                for number, each in found.items()
                if not each.error
            ]
        )
    lines: list[Effect] = []
    for place, objective in enumerate(search.objectives):
        of_seeds = [[(labels, values[place]) for labels, values in rows] for rows in by_seed]
        lines += effects_of(objective.name, list(search.space.axes), of_seeds, whole)
    kinds = {"effect": polars.Float64, "effect_ci95": polars.Float64, "share": polars.Float64}
    texts = dict.fromkeys(("objective", "axis", "label", "with_axis", "with_label"), polars.String)
    schema = {**texts, **kinds, "ratio": polars.Boolean, "share_ci95": polars.Float64}
    return polars.DataFrame(
        [line._asdict() for line in lines], schema={name: schema[name] for name in Effect._fields}, orient="row"
    )


def _progress_table(search: Search, race: Race) -> polars.DataFrame:
    """The front after each candidate that played the last rung: full cases played until then, candidates of the last
    rung, points of the front, and its hypervolume as a share of what it is at the end."""
    import polars

    last = race.measured[-1]
    usable = {number: found for number, found in last.items() if not found.error}
    feasible = {number for number, found in usable.items() if not race.excess(found)}
    means = field_of(search, usable).means if usable else {}
    ends = [(min(of), max(of)) for of in zip(*(means[number] for number in sorted(feasible)), strict=True)]
    reference = [REFERENCE] * len(ends)
    rows: list[tuple[float, int, int, float]] = []
    seen: dict[int, list[float]] = {}
    reached = [each for each in race.candidates if each.rung == len(search.rungs) - 1]
    for count, candidate in enumerate(sorted(reached, key=lambda each: each.spent), 1):
        if candidate.number in feasible:
            seen[candidate.number] = [
                (value - low) / (high - low) if high > low else 0.0
                for value, (low, high) in zip(means[candidate.number], ends, strict=True)
            ]
        points = [seen[number] for number in front_of(seen)]
        rows.append((round(candidate.spent, 9), count, len(points), hypervolume(points, reference) if points else 0.0))
    most = rows[-1][-1] if rows else 0.0
    rows = [(cases, count, front, volume / most if most else 0.0) for cases, count, front, volume in rows]
    names = {"cases": polars.Float64, "finished": polars.Int64, "front": polars.Int64, "hypervolume": polars.Float64}
    return polars.DataFrame(rows, schema=names, orient="row")


def _frame(search: Search, rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> polars.DataFrame:
    """A table of candidates: labels as they are where an axis has numbers only, and as text otherwise."""
    import polars

    names = list(dict.fromkeys([*names, *(name for row in rows for name in row)]))
    whole, text = ("candidate", "rung"), ("state", "why")
    columns = []
    for name in names:
        values = [row.get(name) for row in rows]
        kind: Any = polars.Float64
        if name in whole or (name in search.space.axes and {type(value) for value in values} == {int}):
            kind = polars.Int64
        elif name == "holds":
            kind = polars.Boolean
        elif name in text or (name in search.space.axes and not {type(value) for value in values} <= {int, float}):
            kind, values = polars.String, ["" if value is None and name in text else str(value) for value in values]
        columns.append(polars.Series(name, values, dtype=kind, strict=False))
    return polars.DataFrame(columns)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
