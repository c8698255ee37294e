"""The space of a search: its axes, the points that they make, and the combinations that are refused."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.sweeps.spec import Value

Point = tuple[Value, ...]
"""A configuration that is searched: a label or a number on each axis."""
Fail = Callable[[str, str, str], InputError]
"""Makes an error of a key, what is wrong with it, and the remedy."""

DIGITS = 6
"""Significant digits of a number from a range."""
BINS = 4
"""A range with more values than this is divided into this many parts where effects are shown."""


class Range(NamedTuple):
    """An axis of numbers."""

    low: float
    high: float
    step: float | None
    """Between neighbouring values; None where there is no grid."""
    log: bool
    unit: str
    """What stands behind the number in the configuration: ``us``."""

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return all(isinstance(each, int) for each in (self.low, self.high, self.step or 0))

    def values(self) -> list[float] | None:
        """All values; None where they are not countable."""
        if self.step is None:
            return None
        count = math.floor((self.high - self.low) / self.step * (1 + 1e-12) + 1e-9) + 1
        return [self.rounded(self.low + index * self.step) for index in range(count)]

    def rounded(self, number: float) -> float:
        """A number of the range as it is played and shown."""
        return round(number) if self.whole else float(f"{number:.{DIGITS}g}")

    def draw(self, draws: random.Random) -> float:
        """A value at random; every one, or with ``log`` every factor, is equally likely."""
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            return self.rounded(min(max(math.exp(draws.uniform(low, high)), self.low), self.high))
        values = self.values()
        return draws.choice(values) if values else self.rounded(draws.uniform(self.low, self.high))

    def part(self, number: float) -> str:
        """The part of the range that a number lies in, for effects."""
        values = self.values()
        if values is not None and len(values) <= BINS:
            return str(number)
        scale: Callable[[float], float] = math.log if self.log else float
        low, high = scale(self.low), scale(self.high)
        index = min(BINS - 1, max(0, math.floor((scale(number) - low) / (high - low) * BINS)))
        ends = [low + (high - low) * each / BINS for each in (index, index + 1)]
        first, last = (math.exp(end) if self.log else end for end in ends)
        return f"{first:.4g} to {last:.4g}"


Axis = Range | dict[Value, dict[str, Value]]
"""Numbers, or labels with the options that each sets."""


class Refusal(NamedTuple):
    """A combination without meaning."""

    when: dict[str, Callable[[Value], bool]]
    why: str

    def matches(self, point: Mapping[str, Value]) -> bool:
        """Whether it refuses a point."""
        return all(is_met(point[axis]) for axis, is_met in self.when.items())


class Space(NamedTuple):
    """Axes, and combinations that are refused."""

    axes: dict[str, Axis]
    refusals: tuple[Refusal, ...]

    def size(self) -> float:
        """How many points there are, refused ones included; infinite where a range has no grid."""
        return math.prod(math.inf if (values := self.values(axis)) is None else len(values) for axis in self.axes)

    def values(self, axis: str) -> list[Any] | None:
        """All values of an axis; None where they are not countable."""
        found = self.axes[axis]
        return found.values() if isinstance(found, Range) else list(found)

    def points(self) -> Iterator[Point]:
        """Every point, the last axis varying fastest. All axes must be countable."""
        return itertools.product(*(self.values(axis) or () for axis in self.axes))

    def drawn(self, count: int, key: str) -> list[Point]:
        """Different points that are not refused, each drawn evenly; all of them where there are no more.
        ``key`` decides what is drawn."""
        if self.size() <= count:
            return [point for point in self.points() if self.refused(point) is None]
        draws = random.Random(key)
        found: dict[Point, None] = {}
        for _ in range(20 * count):  # refused and repeated ones come between
            if len(found) == count:
                break
            point = tuple(
                axis.draw(draws) if isinstance(axis, Range) else draws.choice(list(axis)) for axis in self.axes.values()
            )
            if self.refused(point) is None:
                found[point] = None
        return list(found)

    def refused(self, point: Point) -> str | None:
        """Why the file refuses a point, if it does."""
        named = self.named(point)
        return next((refusal.why for refusal in self.refusals if refusal.matches(named)), None)

    def named(self, point: Point) -> dict[str, Value]:
        """A point with the names of its axes."""
        return dict(zip(self.axes, point, strict=True))

    def settings(self, point: Point) -> dict[str, Value]:
        """The options and keys that a point sets."""
        found: dict[str, Value] = {}
        for name, value in self.named(point).items():
            axis = self.axes[name]
            if isinstance(axis, Range):
                found[name] = f"{value}{axis.unit}" if axis.unit else value
            else:
                found |= axis[value]
        return found

    def parts(self, point: Point) -> tuple[str, ...]:
        """A point as effects are shown of: labels, and parts of ranges."""
        return tuple(
            axis.part(value) if isinstance(axis, Range) else str(value)  # type: ignore[arg-type]
            for axis, value in zip(self.axes.values(), point, strict=True)
        )


def read_range(name: str, data: Mapping[str, Any], fail: Fail) -> Range:
    """The range that a file gives for an axis."""
    key = f"axes.{name}"
    odd = sorted(set(data) - {"low", "high", "log", "step", "unit"})
    if odd:
        raise fail(f"{key}.{odd[0]}", "unknown", "a range has low, high, log, step and unit; labels have other names")
    low, high, step, log = data["low"], data["high"], data.get("step"), data.get("log", False)
    for part, value in (("low", low), ("high", high), ("step", step)):
        if isinstance(value, bool) or not isinstance(value, int | float | None) or not math.isfinite(value or 0):
            raise fail(f"{key}.{part}", f"{value!r} is no number", 'write { low = 0.07, high = 0.28 }, and unit = "us"')
    if not low < high:
        raise fail(key, f"low is {low} and high is {high}", "low must be below high")
    if not isinstance(log, bool) or not isinstance(data.get("unit", ""), str):
        raise fail(key, "log must be true or false, and unit text", "write { low = 1, high = 64, log = true }")
    if step is not None and (step <= 0 or step > high - low):
        raise fail(f"{key}.step", f"is {step}", f"it must be above 0, and {high - low:g} at most")
    if log and (step is not None or low <= 0):
        raise fail(key, "log goes with no step, and with low above 0", "leave out log or step, or name the values")
    if step is None and not log and isinstance(low, int) and isinstance(high, int):
        step = 1
    return Range(low, high, step, log, data.get("unit", ""))


def read_refusal(index: int, data: Mapping[str, Any], axes: Mapping[str, Axis], fail: Fail) -> Refusal:
    """A ``[[refuse]]`` of a file."""
    key = f"refuse {index + 1}"
    when: dict[str, Callable[[Value], bool]] = {}
    for name, wanted in data.items():
        if name == "why":
            continue
        if name not in axes:
            raise fail(f"{key}: {name}", "is no axis", f"the axes are {', '.join(axes)}")
        when[name] = _condition(f"{key}: {name}", wanted, axes[name], fail)
    if not when or not isinstance(data.get("why", ""), str):
        raise fail(key, "names no axis, or its why is no text", 'write axis = ["label", …] and why = "…"')
    shown = ", ".join(f"{name} = {wanted}" for name, wanted in data.items() if name != "why")
    return Refusal(when, data.get("why") or f"the file refuses {shown}")


def _condition(key: str, wanted: Any, axis: Axis, fail: Fail) -> Callable[[Value], bool]:
    """What a value of an axis must be for a refusal: one of some, none of some, below or above a number."""
    if isinstance(wanted, Mapping):
        kind, bound = next(iter(wanted.items())) if len(wanted) == 1 else ("", None)
        if kind == "not":
            others = _condition(key, bound, axis, fail)
            return lambda value: not others(value)
        if kind in ("below", "above") and isinstance(bound, int | float):
            sign = 1 if kind == "below" else -1
            return lambda value: isinstance(value, int | float) and sign * value < sign * bound
        raise fail(key, f"{dict(wanted)} is no condition", "write { not = … }, { below = N } or { above = N }")
    labels = wanted if isinstance(wanted, list) else [wanted]
    unknown = [label for label in labels if isinstance(label, list | dict)]
    if not isinstance(axis, Range):
        unknown = [label for label in labels if isinstance(label, list | dict) or label not in axis]
    if unknown:
        known = f"{axis.low} to {axis.high}" if isinstance(axis, Range) else ", ".join(map(str, axis))
        raise fail(key, f"{unknown[0]}: not on the axis", f"it has {known}")
    return lambda value: value in labels
