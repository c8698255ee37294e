"""Search files: what is searched, what it is judged by, and how much may be played.

A search is a TOML file (or the same as a mapping)::

    budget = 200                      # full cases; or "2 CPU hours"
    seed = 1
    [run]                             # what all cases share, as in a sweep
    requests = 40_000
    [axes]                            # what is searched: labels as in a sweep, or ranges
    scheme = ["baseline", "pnar2", "rif"]
    "ftl.over_provisioning" = { low = 0.07, high = 0.28, step = 0.07 }
    [contexts.age]                    # what a candidate is judged under, all of them together
    fresh = "pec=0"
    old = "pec=2000,retention=6mo"
    [objectives]
    "host.read.latency_ns.p99_9" = { goal = "min", over = "worst" }
    "host.all.bandwidth_mb_s" = "max"
    [constraints]
    "host.uncorrectable" = { most = 0, where = { age = ["fresh"] } }
    [[refuse]]
    scheme = "rif"
    "ftl.over_provisioning" = { below = 0.1 }
    why = "no drive has both"
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.searches.space import Axis, Fail, Range, Space, read_range, read_refusal
from ssdlab.sweeps.spec import Sweep, Value, read_source

GOALS = ("min", "max")
OVERS = ("mean", "geometric mean", "worst")
PROPOSERS = ("product", "nsga2", "tpe")
OWNED = ("seed", "candidate", "case", "requests", "warmup")
"""What a search sets itself: no axis or context may."""
KEYS = ("about", "statistics", "budget", "seed", "proposer", "batch")
SECTIONS = ("run", "warm", "axes", "contexts", "objectives", "constraints", "race", "verify", "effects")


class Objective(NamedTuple):
    """What is minimised or maximised."""

    name: str
    statistic: str
    goal: str
    over: str
    """How the values under several contexts become one."""
    where: dict[str, list[Value]]
    """The contexts that count: labels by axis; all of those that are not named."""


class Constraint(NamedTuple):
    """A bound that a candidate must keep."""

    name: str
    statistic: str
    least: float
    most: float
    where: dict[str, list[Value]]

    def excess(self, value: float) -> float:
        """How far a value is beyond the bound; 0 within it."""
        return max(0.0, self.least - value, value - self.most)

    def text(self, value: float) -> str:
        """A value that breaks the bound."""
        bound = f"at least {self.least:g}" if value < self.least else f"at most {self.most:g}"
        return f"{self.name} is {value:g}, not {bound}"


class Rung(NamedTuple):
    """How long a candidate is played, and with which seeds."""

    share: float
    """Of the requests of a full case."""
    seeds: tuple[int, ...]


class Search(NamedTuple):
    """What a search file says."""

    about: str
    origin: str
    space: Space
    run: dict[str, Value]
    warm: dict[str, Value] | None
    """What every drive goes through before its cases, as in a sweep; whole on every rung."""
    contexts: dict[str, dict[Value, dict[str, Value]]]
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    statistics: tuple[str, ...]
    """Statistics that are shown beside those."""
    budget: float
    """Full cases, or hours of CPU time."""
    hours: bool
    seed: int
    proposer: str | None
    batch: int
    rungs: tuple[Rung, ...]
    confidence: float
    indifference: float
    verify: Rung
    effects: int
    """Candidates that effects are computed from, for each of the seeds of ``verify``."""
    effects_share: float
    """Of the requests of a full case, for effects."""

    @classmethod
    def read(cls, source: str | os.PathLike[str] | Mapping[str, Any]) -> Search:
        """Reads a file, or takes the same as a mapping.

        Raises:
            InputError: it is wrong.
        """
        return _parse(*read_source(source, "search"))

    @property
    def name(self) -> str:
        """That of its file, without the ending; empty where it comes from no file."""
        stem, ending = os.path.splitext(os.path.basename(self.origin))
        return stem if ending else ""

    @property
    def situations(self) -> list[tuple[Value, ...]]:
        """Every combination of the contexts' labels; a single empty one where there are none."""
        return list(itertools.product(*self.contexts.values()))

    @property
    def measured(self) -> list[str]:
        """The statistics that are read of every case."""
        judged = [*(each.statistic for each in self.objectives), *(each.statistic for each in self.constraints)]
        return list(dict.fromkeys([*judged, *self.statistics]))

    def counted(self, where: Mapping[str, Sequence[Value]]) -> list[int]:
        """The places in :attr:`situations` of those that count."""
        return [
            place
            for place, labels in enumerate(self.situations)
            if all(label in where[axis] for axis, label in zip(self.contexts, labels, strict=True) if axis in where)
        ]

    def cost(self, rung: int) -> float:
        """What a rung costs a candidate that has played those before it, in full cases."""
        share, seeds = self.rungs[rung]
        kept = [each.seeds for each in self.rungs[:rung] if each.share == share]
        return share * len(self.situations) * (len(seeds) - (len(kept[-1]) if kept else 0))

    def sweep(self, points: Mapping[int, Any], share: float, seeds: Sequence[int]) -> dict[str, Any]:
        """The sweep that plays candidates, as a mapping: an axis ``candidate``, those of the contexts, ``seed``. A
        candidate without a point is the drive as ``run`` gives it."""
        run = dict(self.run)
        for name in ("requests", "warmup"):
            if name in run and share < 1:
                run[name] = max(1, round(int(run[name]) * share))  # type: ignore[arg-type]
        candidates = {number: {} if point is None else self.space.settings(point) for number, point in points.items()}
        axes = {"candidate": candidates, **self.contexts, "seed": list(seeds)}
        warm = {} if self.warm is None else {"warm": self.warm}
        return {"statistics": self.measured, "run": run, **warm, "axes": axes}


def _parse(data: Mapping[str, Any], origin: str) -> Search:
    def fail(key: str, problem: str, remedy: str) -> InputError:
        return InputError(f"{origin}: {key}: {problem}\n  help: {remedy}")

    _check_sections(data, fail)
    axes, contexts, run, warm = _axes(data, origin, fail)
    space = Space(axes, tuple(read_refusal(i, each, axes, fail) for i, each in enumerate(data.get("refuse", ()))))
    objectives = tuple(_objective(name, given, contexts, fail) for name, given in data.get("objectives", {}).items())
    if not objectives:
        raise fail("objectives", "there are none", 'write [objectives] and "host.read.latency_ns.p99_9" = "min"')
    constraints = tuple(_constraint(name, given, contexts, fail) for name, given in data.get("constraints", {}).items())
    seed = _number("seed", data.get("seed", 1), 0, fail)
    rungs, confidence, indifference = _race(data.get("race", {}), seed, "requests" in run, fail)
    verify = _verify(data.get("verify", {}), rungs, fail)
    effects, effects_share = _effects(data.get("effects", {}), rungs, fail)
    budget, hours = _budget(data, fail)
    proposer = data.get("proposer")
    if proposer is not None and proposer not in PROPOSERS:
        raise fail("proposer", f"{proposer!r} is not known", f"it is one of {', '.join(PROPOSERS)}")
    batch = _number("batch", data.get("batch", 16), 4, fail)
    statistics = data.get("statistics", [])
    if not isinstance(statistics, list) or not all(isinstance(name, str) for name in statistics):
        raise fail("statistics", "must be a list of names", 'write statistics = ["ftl.waf"]')
    found = Search(
        str(data.get("about", "")), origin, space, run, warm, contexts, objectives, constraints, tuple(statistics),
        budget, hours, seed, proposer, batch, rungs, confidence, indifference, verify, effects, effects_share,
    )  # fmt: skip
    least = sum(map(found.cost, range(len(rungs))))
    if not hours and budget < least:
        raise fail(
            "budget", f"{budget:g} full cases play no candidate to its end", f"a candidate needs {least:g}: write more"
        )
    return found


def _check_sections(data: Mapping[str, Any], fail: Fail) -> None:
    for name, value in data.items():
        if name not in (*KEYS, *SECTIONS, "refuse"):
            from difflib import get_close_matches

            near = get_close_matches(name, [*KEYS, *SECTIONS, "refuse"], 1)
            known = f"a search has {', '.join(KEYS)}, [{'], ['.join(SECTIONS)}] and [[refuse]]"
            raise fail(name, "unknown", f"did you mean `{near[0]}`?" if near else known)
        if name in SECTIONS and not isinstance(value, Mapping):
            raise fail(name, "must be a section", f"write [{name}] on a line of its own")
    refusals = data.get("refuse", [])
    if not isinstance(refusals, list) or not all(isinstance(each, Mapping) for each in refusals):
        raise fail("refuse", "must be a list of sections", "write [[refuse]] on a line of its own, for each")


def _axes(
    data: Mapping[str, Any], origin: str, fail: Fail
) -> tuple[dict[str, Axis], dict[str, dict[Value, dict[str, Value]]], dict[str, Value], dict[str, Value] | None]:
    """The axes of the space, those of the contexts, what all cases share, and how drives are warmed up. What sweeps
    have too is read as a sweep's."""
    given, contexts = dict(data.get("axes", {})), dict(data.get("contexts", {}))
    if not given:
        raise fail("axes", "there are none", 'write [axes] and scheme = ["baseline", "pnar2"]')
    for part in ("axes", "contexts"):
        for name in data.get(part, {}):
            if name in OWNED:
                raise fail(
                    f"{part}.{name}", "is set by the search itself", "leave it out; [race] sets lengths and seeds"
                )
            if name in given and name in contexts:
                raise fail(f"contexts.{name}", "is an axis too", "let it be one of the two")
    ranges = {
        name: read_range(name, values, fail)
        for name, values in given.items()
        if isinstance(values, Mapping) and {"low", "high"} <= set(values)
    }
    stated = {name: [each.low] if (each := ranges.get(name)) else values for name, values in given.items()}
    of_sweep: dict[str, Any] = {part: data[part] for part in ("run", "warm") if part in data}
    of_sweep["statistics"] = []  # those that are measured come later
    sweep = Sweep.parse({**of_sweep, "axes": {**stated, **contexts}}, origin)
    read = sweep.axes
    for name in OWNED:
        if any(name in set_by for labels in read.values() for set_by in labels.values()):
            raise fail(name, "is set by a label", "lengths are those of [run] and [race], seeds those of the search")
    axes: dict[str, Axis] = {name: ranges.get(name) or read[name] for name in given}
    return axes, {name: read[name] for name in contexts}, sweep.run, sweep.warm


def _spec(key: str, given: Mapping[str, Any], known: tuple[str, ...], fail: Fail) -> None:
    odd = [name for name in given if name not in known]
    if odd:
        raise fail(f"{key}.{odd[0]}", "unknown", f"there are {', '.join(known)}")


def _objective(name: str, given: Any, contexts: Mapping[str, Any], fail: Fail) -> Objective:
    key = f"objectives.{name}"
    given = given if isinstance(given, Mapping) else {"goal": given}
    _spec(key, given, ("goal", "over", "statistic", "where"), fail)
    goal, over = given.get("goal"), given.get("over", OVERS[0])
    if goal not in GOALS:
        raise fail(key, f"the goal is {goal!r}", 'write "min" or "max", or { goal = "min", over = "worst" }')
    if over not in OVERS:
        raise fail(f"{key}.over", f"{over!r} is not known", f"it is one of {', '.join(OVERS)}")
    return Objective(name, str(given.get("statistic", name)), goal, over, _where(key, given, contexts, fail))


def _constraint(name: str, given: Any, contexts: Mapping[str, Any], fail: Fail) -> Constraint:
    key = f"constraints.{name}"
    if not isinstance(given, Mapping) or not {"least", "most"} & set(given):
        raise fail(key, "has no bound", "write { most = 3.5 } or { least = 1 }")
    _spec(key, given, ("least", "most", "statistic", "where"), fail)
    for part in ("least", "most"):
        bound = given.get(part, 0)
        if isinstance(bound, bool) or not isinstance(bound, int | float) or math.isnan(bound):
            raise fail(f"{key}.{part}", f"{bound!r} is no number", "write { most = 3.5 }")
    least, most = given.get("least", -math.inf), given.get("most", math.inf)
    return Constraint(name, str(given.get("statistic", name)), least, most, _where(key, given, contexts, fail))


def _where(key: str, given: Mapping[str, Any], contexts: Mapping[str, Any], fail: Fail) -> dict[str, list[Value]]:
    where = given.get("where", {})
    if not isinstance(where, Mapping):
        raise fail(f"{key}.where", "must name contexts", 'write where = { age = ["fresh"] }')
    found = {}
    for axis, labels in where.items():
        if axis not in contexts:
            raise fail(f"{key}.where.{axis}", "is no context", f"the contexts are {', '.join(contexts) or 'none'}")
        labels = labels if isinstance(labels, list) else [labels]
        unknown = [label for label in labels if label not in contexts[axis]]
        if unknown or not labels:
            raise fail(
                f"{key}.where.{axis}",
                f"{unknown}: not among its labels",
                f"it has {', '.join(map(str, contexts[axis]))}",
            )
        found[axis] = labels
    return found


def _race(given: Mapping[str, Any], seed: int, has_length: bool, fail: Fail) -> tuple[tuple[Rung, ...], float, float]:
    _spec("race", given, ("rungs", "confidence", "indifference"), fail)
    usual = [(0.125, 2), (0.5, 2), (1.0, 3)] if has_length else [(1.0, 3)]
    stated = given.get("rungs", [{"requests": share, "seeds": seeds} for share, seeds in usual])
    example = "write rungs = [{ requests = 0.125, seeds = 2 }, { requests = 1, seeds = 3 }]"
    if not isinstance(stated, list) or not stated or not all(isinstance(each, Mapping) for each in stated):
        raise fail("race.rungs", "is no list of rungs", example)
    rungs: list[Rung] = []
    for place, each in enumerate(stated, 1):
        key = f"race.rungs, rung {place}"
        _spec(key, each, ("requests", "seeds"), fail)
        share = _length(f"{key}: requests", each.get("requests", 1), fail)
        seeds = _number(f"{key}: seeds", each.get("seeds"), 2, fail)
        if rungs and (share < rungs[-1].share or seeds < len(rungs[-1].seeds)):
            raise fail(key, "is shorter than the one before, or has fewer seeds", example)
        rungs.append(Rung(share, tuple(range(seed, seed + seeds))))
    if rungs[-1].share != 1:
        raise fail("race.rungs", "the last rung plays a part of the requests only", "let it have requests = 1")
    if rungs[0].share < 1 and not has_length:
        raise fail("race.rungs", "play shares of requests, and [run] has no requests", "give [run] requests = N")
    return tuple(rungs), _share("race.confidence", given, 0.95, fail), _share("race.indifference", given, 0.01, fail)


def _verify(given: Mapping[str, Any], rungs: tuple[Rung, ...], fail: Fail) -> Rung:
    _spec("verify", given, ("seeds",), fail)
    seeds = _number("verify.seeds", given.get("seeds", 5), 2, fail)
    first = rungs[-1].seeds[-1] + 1
    return Rung(1.0, tuple(range(first, first + seeds)))


def _effects(given: Mapping[str, Any], rungs: tuple[Rung, ...], fail: Fail) -> tuple[int, float]:
    _spec("effects", given, ("candidates", "requests"), fail)
    share = _length("effects.requests", given.get("requests", rungs[0].share), fail)
    return _number("effects.candidates", given.get("candidates", 64), 0, fail), share


def _budget(data: Mapping[str, Any], fail: Fail) -> tuple[float, bool]:
    budget = data.get("budget")
    hours = re.fullmatch(r"([0-9.]+) CPU hours?", budget) if isinstance(budget, str) else None
    try:
        number = float(hours[1]) if hours else budget
    except ValueError:
        number = None
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < math.inf:
        raise fail("budget", f"is {budget!r}", 'write a number of full cases, or "2 CPU hours"')
    return float(number), hours is not None


def _number(key: str, value: Any, least: int, fail: Fail) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 31:
        raise fail(key, f"is {value!r}", f"write a whole number, {least} or more")
    return value


def _length(key: str, value: Any, fail: Fail) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise fail(key, f"is {value!r}", "write the share of [run]'s requests: above 0, 1 at most")
    return float(value)


def _share(key: str, given: Mapping[str, Any], usual: float, fail: Fail) -> float:
    value = given.get(key.rpartition(".")[2], usual)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise fail(key, f"is {value!r}", "write a share: 0 or more, below 1")
    return float(value)


__all__ = ["Constraint", "Objective", "Range", "Rung", "Search"]
