"""What a paper leaves open, inferred: which settings its system claims agree with.

A point is a value for each of the settings that ``open.toml`` declares (:mod:`ssdlab.study.open`), for the whole paper
at once. It is chosen by the claims of the tuning half (:func:`ssdlab.study.claims.half`) alone; the other half is
reported beside it.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.study.claims import HALVES, Claim, Measured, Tables, half
from ssdlab.study.folder import Study, measuring
from ssdlab.study.open import OF_STUDY, Open
from ssdlab.study.shapes import Look
from ssdlab.sweeps.executors import WORKER_TIMEOUT_S
from ssdlab.sweeps.spec import Sweep, Value

if TYPE_CHECKING:
    from types import ModuleType

    import polars
    from distributed import Client

    from ssdlab.sweeps.campaign import SweepProgress

POINTS = 64
"""The most points that are played, unless more are asked for."""

Labels = tuple[Value, ...]
"""A point: the label of each setting's value."""


class Point(NamedTuple):
    """One value for each open setting, and what the paper's system claims come to."""

    labels: Labels
    measured: dict[str, Measured]
    error: str = ""
    """Why it cannot be played, where it cannot."""
    broken: tuple[str, ...] = ()
    """The shapes that do not hold."""


class Inferred(NamedTuple):
    """What the search found."""

    open: Open
    claims: tuple[Claim, ...]
    """The system claims."""
    points: tuple[Point, ...]
    """In the order in which they were played."""
    whole: bool
    """Whether these are all points of the space."""

    def held(self, point: Point, of: str) -> int:
        """How many claims of a half a point holds."""
        return sum(_off(claim, point) == 0 for claim in self.claims if half(claim.id) == of)

    def claims_of(self, of: str) -> int:
        """How many system claims are in a half."""
        return sum(half(claim.id) == of for claim in self.claims)

    def miss(self, point: Point) -> float:
        """How far the tuning half is off in the mean, in widths of what is accepted, three at most."""
        off = [_off(claim, point) for claim in self.claims if half(claim.id) == HALVES[0]]
        return sum(off) / max(1, len(off))

    @property
    def ranked(self) -> list[Point]:
        """The points, the one that the tuning half chooses first; those that break shapes behind the others."""
        return sorted(
            self.points, key=lambda point: (len(point.broken), -self.held(point, HALVES[0]), self.miss(point))
        )

    def table(self) -> polars.DataFrame:
        """A row a point, the chosen one first: settings, claims held in each half, miss, why it cannot be played, and
        what was measured of each system claim."""
        import polars

        rows = [
            {
                **{setting.name: str(label) for setting, label in zip(self.open.settings, point.labels, strict=True)},
                **{of.replace(" ", "_"): self.held(point, of) for of in HALVES},
                "miss": round(self.miss(point), 4),
                "broken": " ".join(point.broken),
                "error": point.error.splitlines()[0] if point.error else "",
                **{claim.id: _rounded(point, claim) for claim in self.claims},
            }
            for point in self.ranked
        ]
        return polars.DataFrame(rows, infer_schema_length=None)

    def table_of_claims(self) -> polars.DataFrame:
        """A row a system claim: its half, published, low and high (what is accepted), at how many points it holds
        of how many, the measured value that is nearest to what is accepted, and the point that gives it."""
        import polars

        rows = []
        for claim in self.claims:
            played = [point for point in self.points if _rounded(point, claim) is not None]
            nearest = min(played, key=lambda point: _distance(claim, point), default=None)
            rows.append(
                {
                    "claim": claim.id,
                    "half": half(claim.id),
                    "published": claim.published,
                    "low": claim.accept[0],
                    "high": claim.accept[1],
                    "holds_at": sum(_off(claim, point) == 0 for point in played),
                    "points": len(self.points),
                    "nearest": None if nearest is None else _rounded(nearest, claim),
                    "where": "" if nearest is None else self.named(nearest),
                }
            )
        return polars.DataFrame(rows, infer_schema_length=None)

    def named(self, point: Point) -> str:
        """A point's settings, for people."""
        return ", ".join(
            f"{setting.name}={label}" for setting, label in zip(self.open.settings, point.labels, strict=True)
        )


def _rounded(point: Point, claim: Claim) -> float | None:
    found = point.measured.get(claim.id)
    return None if found is None or found.value is None else float(f"{found.value:.6g}")


def _distance(claim: Claim, point: Point) -> float:
    """From what is accepted, and within it from what is published."""
    value, (low, high) = _rounded(point, claim), claim.accept
    if value is None:
        return math.inf
    outside = max(0.0, low - value, value - high)
    return outside or 1e-9 * abs(value - claim.published)


def _off(claim: Claim, point: Point) -> float:
    """How far a claim is outside what is accepted, in widths of that; three at most, and where nothing was measured."""
    value, (low, high) = _rounded(point, claim), claim.accept
    if value is None:
        return 3.0
    width = high - low or max(abs(high), 1.0)
    return min(3.0, max(0.0, low - value, value - high) / width)


def infer(
    study: Study,
    *,
    points: int = POINTS,
    cache: str | os.PathLike[str] = "results/cache",
    threads: int | None = None,
    dask: str | Client | None = None,
    worker_timeout: float = WORKER_TIMEOUT_S,
    progress: Callable[[str], Callable[[SweepProgress], None] | None] = lambda name: None,
) -> Inferred:
    """Searches what a paper leaves open: all of the space where it has ``points`` points at most; else one setting
    after another from the first values on, each to what is best by the tuning half, until none changes or this many
    have been played. What was played is kept in ``cache``: the same call goes on where it was stopped.

    Raises:
        InputError: ``open.toml`` is absent or wrong.
        Interrupted: Ctrl-C; what was done is in the cache.
    """
    module = study._module()
    if module is None:
        raise InputError(f"{study.folder}: has no study.py\n  help: nothing there measures claims")
    declared = Open.read(study.folder, study.sweeps)
    claims = tuple(claim for claim in study.claims if claim.kind == "system")
    found: dict[Labels, Point] = {}
    tables_by_sweep: dict[str, polars.DataFrame] = {}

    def so_far(whole: bool = False) -> Inferred:
        return Inferred(declared, claims, tuple(found.values()), whole)

    def play(labels: Labels) -> Point:
        if labels not in found:
            values: dict[str, Value] = {}
            for setting, label in zip(declared.settings, labels, strict=True):
                values |= setting.values[label]
            tables: dict[str, polars.DataFrame] = {}
            error = ""
            for name in declared.sweeps:
                brief = brief_sweep(study, name, declared.brief.get(name, {}), values)
                # Points that differ in names of study.py alone read one table.
                asked = json.dumps(brief)
                try:
                    if asked not in tables_by_sweep:
                        listener = progress(f"point {len(found) + 1}")
                        played = _played(brief, cache, threads, dask, worker_timeout, listener)
                        tables_by_sweep[asked] = played
                    tables[name] = tables_by_sweep[asked]
                except InputError as failed:
                    error = str(failed)
            with _named(module, values):
                measured, broken = ({}, ()) if error else _measured(study, module, tables)
            found[labels] = Point(labels, measured, error, broken)
        return found[labels]

    every = [list(setting.values) for setting in declared.settings]
    if math.prod(map(len, every)) <= points:
        for labels in itertools.product(*every):
            play(labels)
        return so_far(whole=True)
    for labels in _ascent(every, lambda: so_far().ranked[0].labels):
        if len(found) >= points and labels not in found:
            break
        play(labels)
    return so_far()


def _ascent(every: list[list[Value]], best: Callable[[], Labels]) -> Iterator[Labels]:
    """Points to be played: of one setting after another all values, beside the best ones of the others, until a whole
    round has found nothing better."""
    at: Labels = tuple(values[0] for values in every)
    yield at
    while True:
        before = at
        for place, values in enumerate(every):
            for value in values:
                yield (*at[:place], value, *at[place + 1 :])
            at = best()
        if at == before:
            return


def brief_sweep(study: Study, name: str, brief: Mapping[str, Any], values: Mapping[str, Value]) -> dict[str, Any]:
    """A sweep of the study made short and under some settings, which stand above what its file says; as a mapping."""
    sweep, brief = Sweep.read(study.sweeps[name]), dict(brief)
    axes = dict(sweep.axes)
    for axis in list(brief):
        if axis in axes and isinstance(brief[axis], list):
            labels = brief.pop(axis)
            # Values of its own, such as further seeds, or some of the labels.
            axes[axis] = {label: axes[axis].get(label, {axis: label}) for label in labels}
    values = {key: value for key, value in values.items() if not key.startswith(OF_STUDY)}
    return {
        "about": sweep.about,
        "statistics": list(sweep.statistics),
        "run": {**sweep.run, **brief, **values},
        **({} if sweep.warm is None else {"warm": sweep.warm}),
        "axes": {
            axis: {
                label: {key: value for key, value in set_by_label.items() if key not in values}
                for label, set_by_label in labels.items()
            }
            for axis, labels in axes.items()
        },
    }


def _played(
    brief: dict[str, Any],
    cache: str | os.PathLike[str],
    threads: int | None,
    dask: str | Client | None,
    worker_timeout: float,
    progress: Callable[[SweepProgress], None] | None,
) -> polars.DataFrame:
    """The table of a brief sweep, as it would be read from its file."""
    import io

    import polars

    from ssdlab.sweeps.campaign import sweep

    outcome = sweep(brief, cache=cache, threads=threads, dask=dask, worker_timeout=worker_timeout, progress=progress)
    if outcome.failed:
        raise InputError(outcome.failed[0].error)
    text = io.StringIO()
    outcome.table.write_csv(text)
    text.seek(0)
    return polars.read_csv(text, infer_schema_length=None)


def _measured(
    study: Study, module: ModuleType, played: dict[str, polars.DataFrame]
) -> tuple[dict[str, Measured], tuple[str, ...]]:
    """What the system claims come to, and which shapes do not hold: by what was played and the kept tables."""
    system = {claim.id for claim in study.claims if claim.kind == "system"}
    kept = Tables(study.folder / "results", [*study.sweeps, *getattr(module, "TABLES", {})])
    tables: Tables = ChainMap(played, kept)  # type: ignore[arg-type, assignment]
    measured = {
        id: found
        for function in measuring(module)
        if system & function.proofs.keys()
        for id, found in function(tables).items()
        if id in system
    }
    looks: dict[str, Look] = getattr(module, "SHAPES", {})
    return measured, tuple(id for id, look in looks.items() if not look(tables).holds)


@contextmanager
def _named(module: ModuleType, values: Mapping[str, Value]) -> Iterator[None]:
    """Names in study.py that a point sets, while its claims are measured."""
    names = {key.removeprefix(OF_STUDY): value for key, value in values.items() if key.startswith(OF_STUDY)}
    unknown = [name for name in names if not hasattr(module, name)]
    if unknown:
        raise InputError(f"open.toml: {OF_STUDY}{unknown[0]}: study.py has no such name\n  help: name what is there")
    before = {name: getattr(module, name) for name in names}
    try:
        for name, value in names.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)
