"""The fit: candidates are simulated until their figures are the measured ones."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ssdlab._core import InputError
from ssdlab.common.shown import html, text
from ssdlab.devices import trust
from ssdlab.devices.bench import REQUESTS, Bench
from ssdlab.devices.measured import Figure, MeasuredJob
from ssdlab.devices.start import busy_firmware, start
from ssdlab.devices.unknowns import MOST, PHASE, Shape, Space, space
from ssdlab.runs.findings import Finding, interrupted
from ssdlab.runs.kept import Interrupted, Kept
from ssdlab.runs.options import PathLike

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.float64]]

BUDGET = 6000
"""Runs after which a fit begins nothing new but its intervals, which take about as many; one takes 5 to 300 ms."""
SEEDS, FIRST_SEED = 5, 101
"""Seeds of the figures that are reported, and the first of them; the fit itself has one."""
NOISE_SEEDS = (1, 2, 3, 4, 5, 6)
"""The noise of simulated figures is that over these."""
SMALLER = {"host.t_firmware": 1 / 4, "buffer.size": 1 / 8}
"""No closed form gives these, and too large they hide others: fits begin with such a part of them too."""
STEP = 0.06
"""Derivatives are differences over this, up and down: 6 % of a constant."""
MOVED = 0.1
"""They are computed again when a constant has moved by more."""
QUANTILE = 3.84
"""Of chi-squared with one degree of freedom: a 95 % interval of a profile likelihood (Wilks 1938)."""
SHAPES = 11.34
"""Of chi-squared with three degrees of freedom, 99 %: shapes within it are not contradicted. Candidates of two shapes
have no random numbers in common, so that less would hold chance against one of them."""
VAGUE = math.log(1.25)
"""Combinations whose 95 % interval is wider than 25 % are reported as what cannot be told apart, and figures of jobs
that were held out as not determined."""
HOPEFUL = 6.0
"""A shape is followed on where two steps have brought its chi-squared below this many times the best one's."""
UNSEEN = 0.1
"""A constant is not seen where all figures together move by less of their noise when it doubles."""
JUMPY = 0.1
"""The weight of percentiles at first."""
REFINEMENTS = 3
"""How often intervals are searched again, at most, where a better candidate was met on the way."""
BEHIND = (0.1, 0.2, 0.4, 0.7)
"""How far, on a logarithmic scale, a constant is moved to see whether something else bounds what it bounded: 10 % to
twice (assumed)."""
SATURATED = 0.5
"""It does where chi-squared comes to less than this part of what the derivatives say (assumed)."""
OUTLYING = 3.0
"""Standard deviations beyond which a robust fit counts a figure by its distance."""
REFUSED = 1e6
INTERVALS = 2.0
"""Runs of a fit with its intervals, over those without."""


class Estimate(NamedTuple):
    """A constant that was fitted."""

    name: str
    unit: str
    value: float
    low: float | None
    """The ends of its 95 % interval; None where nothing within its range contradicts."""
    high: float | None
    seen: bool
    """Whether the jobs see it: if not, it is where the fit began."""


class Progress(NamedTuple):
    """How far a fit has come."""

    stage: str
    runs: int
    """That were played."""
    chi2: float
    """Of the best candidate."""
    share: float | None
    """About the share of the work that is done; None where its amount is not known."""


class Blur(NamedTuple):
    """A combination of constants that the jobs leave open: they may change together, each by its power of a factor."""

    factor: float
    """Of the 95 % interval, to either side; infinite where nothing bounds it."""
    powers: tuple[tuple[str, float], ...]


class Compared(NamedTuple):
    """A figure, measured and simulated."""

    job: MeasuredJob
    figure: Figure
    simulated: float
    ci95: float | None
    """Over the seeds."""
    fitted: bool
    """Whether the fit has seen the job."""
    counted: bool
    """Whether the fit counts the figure (:meth:`MeasuredJob.counted`)."""
    spread: float | None = None
    """Of a job that was held out: the factor to either side of what the fitted jobs, and the ranges, leave open of the
    figure (95 %)."""

    @property
    def determined(self) -> bool:
        """Whether the jobs that were fitted say what the figure is."""
        return self.spread is None or self.spread <= math.exp(VAGUE)

    @property
    def expected(self) -> tuple[float, float] | None:
        """Of a job that was held out: where the drive's own figure is to be expected (95 %), by what is left open of it
        and what the model is wrong by (:mod:`ssdlab.devices.trust`)."""
        if self.spread is None:
            return None
        kind = trust.kind_of(self.job, self.figure.op, self.figure.metric)
        return trust.expected(self.simulated, self.spread, kind)

    @property
    def error(self) -> float:
        """Simulated over measured, minus 1."""
        return self.simulated / self.figure.value - 1.0


class Fit(NamedTuple):
    """What a fit has found."""

    space: Space
    shape: Shape
    values: tuple[float, ...]
    estimates: tuple[Estimate, ...]
    shapes: tuple[tuple[Shape, float], ...]
    """The shapes that the figures do not contradict, with their chi-squared over the best one's: best first."""
    blurs: tuple[Blur, ...]
    figures: tuple[Compared, ...]
    chi2: float
    """Of the figures that were fitted."""
    freedom: int
    """Figures that were fitted, less constants that they see."""
    runs: int
    notes: tuple[str, ...]
    seeds: int
    warnings: tuple[Finding, ...] = ()
    """What puts the simulated figures in doubt (docs/warnings.md); ``interrupted`` where the fit was."""

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)

    @property
    def settings(self) -> tuple[str, ...]:
        """The fitted drive, as settings of the base device."""
        return self.space.settings(self.shape, self.values)


def fit(
    jobs: Sequence[MeasuredJob],
    device: PathLike = "tlc",
    *,
    settings: Iterable[str] = (),
    capacity: str | None = None,
    more: Iterable[str] = (),
    hold_out: Sequence[str] = (),
    budget: int = BUDGET,
    requests: int = REQUESTS,
    seeds: int = SEEDS,
    threads: int | None = None,
    profiles: bool = True,
    robust: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Fit:
    """Fits a device to what was measured (:func:`ssdlab.devices.read`).

    ``device`` is the base: what is neither unknown nor in ``settings`` (what is known) it gives. ``more`` are further
    unknowns, ``KEY=LOW..HIGH``. Jobs of ``hold_out`` are not fitted; they are compared. ``profiles``: intervals are
    profile likelihoods; otherwise they follow from the derivatives, in a tenth of the runs. ``robust``: a figure that
    is further away than :data:`OUTLYING` counts by its distance, so that what the model cannot give bends the others
    less. ``progress`` is told after each candidate how far the fit has come.

    Raises:
        InputError: a device, key or job is not accepted, or nothing is left to be fitted.
        Interrupted: Ctrl-C; ``error.found`` is the best candidate until then as a :class:`Fit`, without intervals, or
            None.
    """
    try:
        import scipy.optimize  # noqa: F401
    except ImportError:
        raise InputError('fitting needs scipy\n  help: pip install "ssdlab[fit]"') from None
    unknown = next((name for name in hold_out if name not in {job.name for job in jobs}), None)
    if unknown is not None:
        names = ", ".join(job.name for job in jobs)
        raise InputError(f"hold-out {unknown}: there is no such job\n  help: its jobs are {names}")
    jobs = [job.with_closed_forms() for job in jobs]
    bare = next((job.name for job in jobs if not job.figures), None)
    if bare is not None:
        raise InputError(f"{bare}: has percentiles alone, of a steady state\n  help: give its IOPS or its mean latency")
    fitted = [job for job in jobs if job.name not in hold_out]
    if not fitted:
        raise InputError("hold-out: leaves no job to fit\n  help: hold out fewer")
    steady = any(job.state == "steady" for job in fitted)
    candidates = space(str(device), settings, capacity=capacity, more=more, steady=steady)
    if any(job.overwriting for job in jobs) and not candidates.program(candidates.base):
        raise InputError(
            f"steady: {device} has neither one chip.t_prog nor chip.program_loops\n"
            "  help: give a device whose programs have one time"
        )
    bench = Bench(candidates, jobs, requests=requests, threads=threads)
    search = _Search(bench, fitted, budget, progress, OUTLYING if robust else math.inf)
    try:
        search.run()
        return search.found(jobs, seeds, profiles=profiles)
    except KeyboardInterrupt:
        error = Interrupted(Kept(0))
        error.found = search.until_now()
        raise error from None


class _Point(NamedTuple):
    """A candidate that was played."""

    shape: Shape
    logs: tuple[float, ...]
    chi2: float
    """With the prior's share."""


class _Search:
    """One fit: continuous constants by least squares, the shape by its neighbours."""

    def __init__(
        self,
        bench: Bench,
        jobs: list[MeasuredJob],
        budget: int,
        progress: Callable[[Progress], None] | None,
        outlying: float,
    ) -> None:
        import numpy

        self.bench, self.jobs, self.budget, self.progress = bench, jobs, budget, progress
        self.outlying = outlying
        self.stage = "constants"
        self.solved, self.to_solve = 0, 0
        """Least squares that have ended, and those that are still expected."""
        self.before_intervals: int | None = None
        self.slopes: Array | None = None
        """The derivatives that were taken last at the best shape."""
        self.space = bench.space
        begin = start(self.space, jobs)
        self.begin = begin
        self.origin = numpy.log(begin.values)
        self.low = numpy.log([each.low for each in self.space.unknowns])
        self.high = numpy.log([each.high for each in self.space.unknowns])
        self.prior = numpy.array([each.prior for each in self.space.unknowns])
        self.best = _Point(begin.shape, tuple(self.origin), math.inf)
        self.tried: dict[Shape, _Point] = {}
        self.noise = self._noise(begin.shape, begin.values)
        counted = [each for job in jobs for each in job.counted()]
        self.smooth = numpy.array([JUMPY if each.metric.startswith("p") else 1.0 for each in counted])

    def _noise(self, shape: Shape, values: Sequence[float]) -> Array:
        """Of each figure: as measured, and of the simulation over some seeds, twice (its own, and the drive's)."""
        import numpy

        settings = [self.space.settings(shape, values, steady=job.overwriting) for job in self.jobs]
        rows = []
        for job, runs in zip(self.jobs, self.bench.simulated(self.jobs, settings, NOISE_SEEDS), strict=True):
            for figure in job.counted():
                logs = numpy.log([run[figure.op, figure.metric] for run in runs])
                rows.append(math.hypot(figure.noise, math.sqrt(2.0) * float(numpy.nanstd(logs, ddof=1))))
        return numpy.array(rows)

    def residuals(self, shape: Shape, logs: Array) -> Array:
        """The log ratios of simulated over measured figures, each over its noise."""
        import numpy

        try:
            found = self.ratios(self.jobs, shape, logs)
        except InputError:
            return numpy.full(len(self.noise), REFUSED)
        out = numpy.nan_to_num(found / self.noise, nan=REFUSED, posinf=REFUSED, neginf=-REFUSED)
        # Of the distance: its square within the bound, and what goes on from there in a straight line (Huber 1964).
        far = numpy.abs(out) > self.outlying
        out[far] = numpy.sign(out[far]) * numpy.sqrt(self.outlying * (2.0 * numpy.abs(out[far]) - self.outlying))
        prior = (logs - self.origin) / self.prior
        self._keep(_Point(shape, tuple(map(float, logs)), float(numpy.sum(out**2) + numpy.sum(prior**2))))
        if self.progress is not None:
            self.progress(Progress(self.stage, self.bench.runs, self.best.chi2, self._share()))
        return out

    def _share(self) -> float | None:
        """Solved least squares over those expected, at the mean cost until now; intervals take as many again."""
        runs = self.bench.runs
        if self.before_intervals is not None:
            return min(0.99, runs / max(runs, self.before_intervals * INTERVALS))
        if not self.solved:
            return None
        expected = min(self.budget, runs * (1 + self.to_solve / self.solved)) * INTERVALS
        return min(0.99, runs / max(runs, expected))

    def _candidates(self, jobs: Sequence[MeasuredJob], shape: Shape, points: Sequence[Array]) -> None:
        """Plays several candidates at once, for what asks for them one by one; one that is refused is met there."""
        import numpy

        each = [self._settings_of(jobs, shape, tuple(numpy.exp(logs))) for logs in points]
        with contextlib.suppress(InputError):
            self.bench.simulated([*jobs] * len(points), [setting for settings in each for setting in settings], (1,))

    def ratios(self, jobs: Sequence[MeasuredJob], shape: Shape, logs: Array) -> Array:
        """The logarithms of simulated over measured, of the figures that jobs count."""
        import numpy

        settings = self._settings_of(jobs, shape, tuple(numpy.exp(logs)))
        found = []
        for job, runs in zip(jobs, self.bench.simulated(jobs, settings, (1,)), strict=True):
            found += [math.log(runs[0][each.op, each.metric] / each.value) for each in job.counted()]
        return numpy.array(found)

    def _settings_of(self, jobs: Sequence[MeasuredJob], shape: Shape, values: Sequence[float]) -> list[tuple[str, ...]]:
        """What each job is played on. Jobs that only read are played once for all of what they cannot see."""
        rows = zip(self.space.unknowns, values, self.begin.values, strict=True)
        hidden = [begin if unknown.written else value for unknown, value, begin in rows]
        return [
            self.space.settings(shape, hidden if job.direction == "read" else values, steady=job.overwriting)
            for job in jobs
        ]

    def _keep(self, point: _Point) -> None:
        """The best candidate of each shape, and of all, whatever it was played for."""
        if point.shape not in self.tried or point.chi2 < self.tried[point.shape].chi2:
            self.tried[point.shape] = point
        if point.chi2 < self.best.chi2:
            self.best = point

    def jacobian(self, shape: Shape, logs: Array, *, both: bool = False) -> Array:
        """Derivatives of the residuals by the logarithms of the constants: differences to one side, or to ``both``."""
        import numpy

        pairs = []
        for index in range(len(logs)):
            up = 1.0 if logs[index] + STEP <= self.high[index] else -1.0
            ends = [logs.copy(), logs.copy()]
            ends[0][index] = max(self.low[index], logs[index] - up * STEP) if both else logs[index]
            ends[1][index] = logs[index] + up * STEP
            pairs.append(ends)
        self._candidates(self.jobs, shape, [end for ends in pairs for end in ends])
        columns = []
        for index, ends in enumerate(pairs):
            before, after = (self.residuals(shape, end) for end in ends)
            columns.append((after - before) / (ends[1][index] - ends[0][index]))
        return numpy.stack(columns, axis=1)

    def run(self) -> None:
        """Fits the constants at the first shape, then at its neighbours, on from the best one until none is better."""
        import numpy

        starts = list(self._starts())
        # The starts, the two best again, the best shape before its neighbours and behind them, and its neighbours.
        self.to_solve = len(starts) + 4 + len(list(self._neighbours(self.begin.shape)))
        ends = []
        for logs in starts:
            if not self._spent():
                ends.append(self._solve(self.begin.shape, logs, 3))
        # The best start is followed on, and others that are not far behind.
        ends.sort(key=lambda point: point.chi2)
        for point in [point for point in ends[:2] if point.chi2 <= HOPEFUL * ends[0].chi2]:
            if not self._spent():
                self._solve(self.begin.shape, numpy.array(point.logs), 12)
        # Where the drive is another than the first candidate its noise is as well.
        near = self.best
        self.noise = numpy.maximum(self.noise, self._noise(near.shape, [math.exp(each) for each in near.logs]))
        self.best = near._replace(chi2=math.inf)
        self.tried.clear()
        self._solve(near.shape, numpy.array(near.logs), 6)
        self.stage = "shapes"
        while not self._spent():
            here = self.best
            for shape in self._neighbours(here.shape):
                if shape not in self.tried and not self._spent():
                    # The derivatives of the best shape do for the first step of a neighbour.
                    self._solve(shape, self._nearer(here, shape), 2, self.slopes)
                    point = self.tried[shape]
                    if point.chi2 < HOPEFUL * here.chi2 + HOPEFUL * QUANTILE:
                        self._solve(shape, numpy.array(point.logs), 5)
            if self.best.shape == here.shape:
                break
        self._solve(self.best.shape, numpy.array(self.best.logs), 6)
        # Shapes that are nearly as good once more, from the best one's constants.
        for shape in [shape for shape, point in self.tried.items() if self._above(point) <= 2.0 * SHAPES]:
            if shape != self.best.shape and not self._spent():
                self._solve(shape, self._carried(self.best, shape), 5)

    def _scale(self) -> float:
        """Where the model does not fit within the noise intervals are wider by its root (Birge 1932)."""
        return max(1.0, self.best.chi2 / max(1, len(self.noise) - len(self.origin)))

    def _above(self, point: _Point) -> float:
        return (point.chi2 - self.best.chi2) / self._scale()

    def _starts(self) -> Iterator[Array]:
        """The closed forms' constants; those with one of them much smaller; and those of a busy firmware."""
        yield self.origin
        for index, unknown in enumerate(self.space.unknowns):
            if unknown.name in SMALLER:
                other = self.origin.copy()
                other[index] = max(self.low[index], other[index] + math.log(SMALLER[unknown.name]))
                yield other
            busy = busy_firmware(self.space, self.jobs) if unknown.name == "host.t_firmware" else math.inf
            if busy < unknown.high:
                other = self.origin.copy()
                other[index] = max(self.low[index], math.log(busy))
                yield other

    def _spent(self) -> bool:
        return self.bench.runs >= self.budget

    def _neighbours(self, shape: Shape) -> Iterator[Shape]:
        """Twice and half as many of each, and channels for dies."""
        free = self.space.free
        for place in range(3):
            for factor in (2.0, 0.5):
                if free[place]:
                    yield from _times(shape, {place: factor})
        if free[0] and free[1]:
            yield from _times(shape, {0: 2.0, 1: 0.5})
            yield from _times(shape, {0: 0.5, 1: 2.0})
        if free[1] and free[2]:
            yield from _times(shape, {1: 2.0, 2: 0.5})
            yield from _times(shape, {1: 0.5, 2: 2.0})

    def _nearer(self, point: _Point, shape: Shape) -> Array:
        """Where a shape's fit begins: another one's constants, or those of the closed forms, whichever fit better."""
        import numpy

        starts = [self._carried(each, shape) for each in (point, _Point(self.begin.shape, tuple(self.origin), 0.0))]
        misses = [float(numpy.sum((self.smooth * self.residuals(shape, each)) ** 2)) for each in starts]
        return starts[misses.index(min(misses))]

    def _carried(self, point: _Point, shape: Shape) -> Array:
        """The constants of another shape's candidate, with a tPROG that keeps what is programmed a second."""
        import numpy

        logs = numpy.array(point.logs)
        for index, unknown in enumerate(self.space.unknowns):
            if unknown.parts[0][0] in ("chip.t_prog", PHASE[0]):
                logs[index] += math.log(math.prod(shape) / math.prod(point.shape))
        carried: Array = numpy.clip(logs, self.low, self.high)
        return carried

    def _solve(self, shape: Shape, logs: Array, evaluations: int, slopes: Array | None = None) -> _Point:
        """Least squares from a point on, of means and rates first: percentiles between two modes of a distribution
        jump, and would bar the way. ``slopes`` are derivatives that do for the first step. Returns where it ends."""
        import numpy

        at = numpy.clip(logs, self.low + 1e-6, self.high - 1e-6)
        if self.residuals(shape, at)[0] >= REFUSED:
            self.tried[shape] = _Point(shape, tuple(at), math.inf)
            return self.tried[shape]
        kept = [] if slopes is None else [(at, slopes)]
        for weights in (self.smooth, numpy.ones(len(self.smooth))):
            at = self._squares(shape, at, weights, evaluations, kept)
        if shape == self.best.shape and kept:
            self.slopes = kept[-1][1]
        self.solved += 1
        self.to_solve = max(1, self.to_solve - 1)
        away = float(numpy.sum(self.residuals(shape, at) ** 2) + numpy.sum(((at - self.origin) / self.prior) ** 2))
        return _Point(shape, tuple(map(float, at)), away)

    def _squares(
        self, shape: Shape, begin: Array, weights: Array, evaluations: int, kept: list[tuple[Array, Array]]
    ) -> Array:
        """``kept``: where derivatives were taken, with them; new ones are added."""
        import numpy
        from scipy.optimize import least_squares

        asked = 0

        def residuals(at: Array) -> Array:
            nonlocal asked
            asked += 1
            return numpy.concatenate([weights * self.residuals(shape, at), (at - self.origin) / self.prior])

        def jacobian(at: Array) -> Array:
            # Behind the last evaluation nothing uses them.
            if not kept or (asked < evaluations and numpy.max(numpy.abs(kept[-1][0] - at)) > MOVED):
                kept.append((at.copy(), self.jacobian(shape, at)))
            return numpy.concatenate([weights[:, None] * kept[-1][1], numpy.diag(1.0 / self.prior)])

        inside = numpy.clip(begin, self.low + 1e-6, self.high - 1e-6)
        found = least_squares(
            residuals, inside, jacobian, (self.low, self.high), x_scale=0.3, ftol=2e-3, xtol=1e-3, max_nfev=evaluations
        )
        at: Array = found.x
        return at

    def found(self, jobs: Sequence[MeasuredJob], seeds: int, *, profiles: bool) -> Fit:
        """Intervals, what cannot be told apart, and all figures of the best candidate."""
        import numpy

        from ssdlab.devices.intervals import blurs, seen_by

        self.stage, self.before_intervals = "intervals", self.bench.runs
        for _ in range(REFINEMENTS):
            best, logs = self.best, numpy.array(self.best.logs)
            matrix = self.jacobian(best.shape, logs, both=True)
            seen = seen_by(matrix, UNSEEN)
            ends = self._ends(best.shape, logs, matrix, seen, profiles=profiles)
            behind = list(self._behind(best.shape, logs, matrix, ends)) if profiles else []
            # What is played for an interval may be better than the best before.
            if self.best is best or self.bench.runs >= 2 * self.budget:
                break
        near = [point for point in self.tried.values() if point.shape != best.shape and self._above(point) <= SHAPES]
        ends = self._widened(ends, [*near, *(point for point in behind if self._above(point) <= SHAPES)])
        scale, freedom = self._scale(), max(0, len(self.noise) - int(numpy.sum(seen)))
        values = tuple(float(value) for value in numpy.exp(logs))
        names = [each.name for each in self.space.unknowns]
        estimates = tuple(
            Estimate(unknown.name, unknown.unit, value, low, high, bool(is_seen))
            for unknown, value, (low, high), is_seen in zip(self.space.unknowns, values, ends, seen, strict=True)
        )
        shapes = sorted(
            [(best.shape, 0.0), *((point.shape, self._above(point)) for point in near)], key=lambda row: row[1]
        )
        return Fit(
            self.space,
            best.shape,
            values,
            estimates,
            tuple(shapes),
            tuple(Blur(*row) for row in blurs(matrix, seen, names, scale, VAGUE)),
            tuple(self._compared(jobs, best.shape, logs, seeds, matrix)),
            float(numpy.sum(self.residuals(best.shape, logs) ** 2)),
            freedom,
            self.bench.runs,
            tuple(f"{name}: {line}" for name, played in self.bench.played.items() for line in played.notes),
            seeds,
            self.bench.marks(jobs, self._settings(jobs, best.shape, values), range(FIRST_SEED, FIRST_SEED + seeds)),
        )

    def _settings(self, jobs: Sequence[MeasuredJob], shape: Shape, values: Sequence[float]) -> list[tuple[str, ...]]:
        return [self.space.settings(shape, values, steady=job.overwriting) for job in jobs]

    def until_now(self) -> Fit | None:
        """The best candidate of an interrupted fit, each of its figures by one seed."""
        import numpy

        points = [point for point in (self.best, *self.tried.values()) if math.isfinite(point.chi2)]
        if not points:
            return None
        best = min(points, key=lambda point: point.chi2)
        logs = numpy.array(best.logs)
        unknowns, values = self.space.unknowns, tuple(float(value) for value in numpy.exp(logs))
        estimates = tuple(
            Estimate(of.name, of.unit, value, None, None, True) for of, value in zip(unknowns, values, strict=True)
        )
        figures = tuple(self._compared(self.jobs, best.shape, logs, 1, numpy.zeros((0, len(logs)))))
        text = f"the fit was interrupted after {self.bench.runs:,} runs: this is its best candidate, without intervals"
        mark = interrupted(
            text, {"runs": float(self.bench.runs)}, "fit again, with a smaller --budget where it takes too long"
        )
        marks = self.bench.marks(self.jobs, self._settings(self.jobs, best.shape, values), (FIRST_SEED,))
        return Fit(
            self.space, best.shape, values, estimates, ((best.shape, 0.0),), (), figures, best.chi2,
            max(0, len(self.noise) - len(logs)), self.bench.runs, (), 1, (mark, *marks),
        )  # fmt: skip

    def _ends(
        self, shape: Shape, logs: Array, matrix: Array, seen: Array, *, profiles: bool
    ) -> list[tuple[float | None, float | None]]:
        """The intervals at a candidate."""
        import numpy

        from ssdlab.devices import intervals

        if profiles:
            bounds, allowed = (self.low, self.high), QUANTILE * self._scale()
            return intervals.profiles(lambda at: self.residuals(shape, at), logs, matrix, seen, bounds, allowed)
        widths = 1.96 * intervals.left_open(matrix, numpy.eye(len(logs)), self.prior, self._scale())
        found: list[tuple[float | None, float | None]] = []
        for at, width, low, high in zip(logs, widths, self.low, self.high, strict=True):
            found.append(
                (
                    math.exp(at - width) if at - width > low else None,
                    math.exp(at + width) if at + width < high else None,
                )
            )
        return found

    def _behind(
        self, shape: Shape, logs: Array, matrix: Array, ends: Sequence[tuple[float | None, float | None]]
    ) -> Iterator[_Point]:
        """Where least squares end behind the ends of intervals. Of two constants that may bound a rate (the host link
        and the flash buses) the derivatives at the best candidate know the one that does: the other cannot follow them,
        until it bounds the rate itself."""
        import numpy

        best = self.residuals(shape, logs)
        for index, pair in enumerate(ends):
            for sign in (sign for sign, end in zip((-1.0, 1.0), pair, strict=True) if end is not None):
                for step in BEHIND:
                    at = logs.copy()
                    at[index] = min(max(at[index] + sign * step, self.low[index]), self.high[index])
                    expected = best + matrix @ (at - logs)
                    if numpy.sum(self.residuals(shape, at) ** 2) < SATURATED * numpy.sum(expected**2):
                        yield self._solve(shape, at, 5)
                        break

    def _widened(
        self, ends: list[tuple[float | None, float | None]], near: Sequence[_Point]
    ) -> list[tuple[float | None, float | None]]:
        """Intervals that hold as well for other shapes, and behind the ends, where the figures do not contradict: there
        by the derivatives."""
        import numpy

        for point in near:
            logs = numpy.array(point.logs)
            matrix = self.jacobian(point.shape, logs)
            spread = numpy.linalg.pinv(matrix.T @ matrix, rcond=1e-4)
            left = max(1.0, QUANTILE - self._above(point)) * self._scale()
            widths = numpy.sqrt(numpy.maximum(0.0, numpy.diag(spread)) * left)
            lows, highs = numpy.exp(logs - widths), numpy.exp(logs + widths)
            ends = [
                (None if low is None else min(low, float(other)), None if high is None else max(high, float(another)))
                for (low, high), other, another in zip(ends, lows, highs, strict=True)
            ]
        return ends

    def _compared(
        self, jobs: Sequence[MeasuredJob], shape: Shape, logs: Array, seeds: int, matrix: Array
    ) -> Iterator[Compared]:
        import numpy

        from ssdlab.common.confidence import mean_and_half_width

        values = tuple(float(value) for value in numpy.exp(logs))
        settings = self._settings(jobs, shape, values)
        fitted = {job.name for job in self.jobs}
        spreads = self._spreads([job for job in jobs if job.name not in fitted], shape, logs, matrix)
        numbers = range(FIRST_SEED, FIRST_SEED + seeds)
        for job, runs in zip(jobs, self.bench.simulated(jobs, settings, numbers), strict=True):
            for figure in job.figures:
                mean, half = mean_and_half_width([run[figure.op, figure.metric] for run in runs])
                assert mean is not None, "Invariant: there is one seed at least"
                known, counted = job.name in fitted, figure in job.counted()
                # Where the mean latency counts the IOPS are the same figure.
                metric = "mean" if figure.metric == "iops" and not counted else figure.metric
                spread = spreads.get((job.name, figure.op, metric))
                yield Compared(job, figure, mean, half, known, counted, spread)

    def _spreads(
        self, jobs: Sequence[MeasuredJob], shape: Shape, logs: Array, matrix: Array
    ) -> dict[tuple[str, str, str], float]:
        """What is left open of the figures of jobs that were not fitted, as factors to either side."""
        import numpy

        from ssdlab.devices.intervals import left_open

        figures = [(job.name, each.op, each.metric) for job in jobs for each in job.counted()]
        if not figures:
            return {}
        columns = []
        for index in range(len(logs)):
            ends = [logs.copy(), logs.copy()]
            ends[0][index] = max(self.low[index], logs[index] - STEP)
            ends[1][index] = min(self.high[index], logs[index] + STEP)
            before, after = (self.ratios(jobs, shape, end) for end in ends)
            columns.append((after - before) / (ends[1][index] - ends[0][index]))
        moved = numpy.nan_to_num(numpy.stack(columns, axis=1))
        widths = left_open(matrix, moved, self.prior, self._scale())
        return {name: math.exp(1.96 * float(width)) for name, width in zip(figures, widths, strict=True)}


def _times(shape: Shape, factors: dict[int, float]) -> Iterator[Shape]:
    """A shape with some of its parts multiplied, if there may be such a drive."""
    parts = [part * factors.get(place, 1.0) for place, part in enumerate(shape)]
    if all(part >= 1 and part == int(part) and part <= most for part, most in zip(parts, MOST, strict=True)):
        yield Shape(*map(int, parts))
