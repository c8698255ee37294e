"""Fault files: what is drawn for each case, and how often the power is cut.

A campaign is a TOML file (or the same as a mapping)::

    cases = 500
    seed = 1
    [run]                             # what all cases share, as in a sweep
    device = "tlc"
    requests = 400
    "buffer.size" = "1MiB"
    replay = "closed:8"
    [draw]                            # of each list one value is drawn: an option of a run, or a key
    scheme = ["baseline", "rif"]
    "power.plp" = [true, false]
    [cuts]
    most = 3                          # so many cuts at most, one at least
    within = 600                      # each in one of the first so many programs and erases
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from typing import Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.runs.options import OPTIONS
from ssdlab.sweeps.spec import read_source

KEYS = ("about", "cases", "seed", "run", "draw", "cuts")
OWNED = ("seed", "power.cut_at", "settings")
"""What a campaign sets itself, or takes apart: nothing draws it."""


class Case(NamedTuple):
    """One case of a campaign."""

    number: int
    options: dict[str, Any]
    """Of the run, those beside settings."""
    settings: dict[str, Any]
    drawn: dict[str, Any]
    """What was drawn, by name."""
    cuts: tuple[int, ...]
    """The programs and erases in which the power is cut, counted from the beginning of the workload."""

    def arguments(self) -> dict[str, Any]:
        """What :func:`ssdlab.run` takes."""
        cuts = [f"op:{operation}" for operation in self.cuts]
        return {**self.options, "settings": {**self.settings, "power.cut_at": cuts}}


class Campaign(NamedTuple):
    """What a fault file says."""

    about: str
    origin: str
    cases: int
    seed: int
    run: dict[str, Any]
    draw: dict[str, list[Any]]
    most: int
    within: int

    @classmethod
    def read(cls, source: str | os.PathLike[str] | Mapping[str, Any]) -> Campaign:
        """Reads a file, or takes the same as a mapping.

        Raises:
            InputError: it is wrong.
        """
        return _parse(*read_source(source, "fault"))

    def case(self, number: int) -> Case:
        """A case by its number, from 0 on: the same whichever others are played."""
        random_of = random.Random(f"{self.seed} {number}")
        drawn = {name: random_of.choice(values) for name, values in self.draw.items()}
        options: dict[str, Any] = {"seed": random_of.randrange(1 << 31)}
        settings: dict[str, Any] = {}
        for name, value in {**self.run, **drawn}.items():
            (options if name in OPTIONS else settings)[name] = value
        count = random_of.randint(1, self.most)
        cuts = tuple(sorted({random_of.randint(1, self.within) for _ in range(count)}))
        return Case(number, options, settings, drawn, cuts)


def _parse(data: Mapping[str, Any], origin: str) -> Campaign:
    def fail(key: str, problem: str, remedy: str) -> InputError:
        return InputError(f"{origin}: {key}: {problem}\n  help: {remedy}")

    for name, value in data.items():
        if name not in KEYS:
            raise fail(name, "unknown", "a campaign has about, cases, seed, [run], [draw] and [cuts]")
        if name in ("run", "draw", "cuts") and not isinstance(value, Mapping):
            raise fail(name, "must be a section", f"write [{name}] on a line of its own")

    def number(section: Mapping[str, Any], key: str, default: int, where: str = "") -> int:
        value = section.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise fail(where + key, f"is {value!r}", "write a whole number from 1 up")
        return value

    run = dict(data.get("run", {}))
    for name in run:
        if name in OWNED or (name not in OPTIONS and "." not in name):
            raise fail(
                f"run.{name}", "is no option of these runs", "write options of a run, or keys; not the seed"
            )
    draw = dict(data.get("draw", {}))
    for name, values in draw.items():
        if name in OWNED:
            raise fail(
                f"draw.{name}", "is set by the campaign itself", "leave it out; [cuts] says when the power is cut"
            )
        if not isinstance(values, list) or not values:
            raise fail(f"draw.{name}", "must be a list of values", f'write "{name}" = [ ... ] with what is drawn from')
    cuts = data.get("cuts", {})
    for name in cuts:
        if name not in ("most", "within"):
            raise fail(f"cuts.{name}", "unknown", "[cuts] has most and within")
    return Campaign(
        str(data.get("about", "")),
        origin,
        number(data, "cases", 100),
        number(data, "seed", 1),
        run,
        draw,
        number(cuts, "most", 3, "cuts."),
        number(cuts, "within", 1000, "cuts."),
    )
