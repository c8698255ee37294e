"""Fault files: what is drawn for each case, how often the power is cut, and which parts break.

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
    most = 3                          # this many cuts at most, one at least
    within = 600                      # each in one of the first 600 programs and erases
    [parts]
    may = ["block 0:3", "die 1", "program 0"]   # what may break, as in faults.at
    most = 2                          # this many of these at most, one at least
    within_us = 30_000                # each in the first 30,000 microseconds
    drive = "worn"                    # of an array: parts of the drives of this kind, which it can do without

Without [cuts] and [parts], power is cut.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from typing import Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.runs.options import OPTIONS
from ssdlab.sweeps.spec import located, read_source

KEYS = ("about", "cases", "seed", "run", "draw", "cuts", "parts")
OWNED = ("seed", "power.cut_at", "faults.at", "settings")
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
    parts: tuple[str, ...] = ()
    """What breaks, and when, as in faults.at."""
    drive: str = ""
    """Of an array, the kind of drives whose parts these are; otherwise of all drives."""

    @property
    def faults(self) -> tuple[str, ...]:
        """What happens to the drive: power cuts, and kinds of parts."""
        return (("power cut",) if self.cuts else ()) + tuple(sorted({part.split()[1] for part in self.parts}))

    def arguments(self) -> dict[str, Any]:
        """What :func:`ssdlab.run` takes."""
        settings = dict(self.settings)
        if self.cuts:
            settings["power.cut_at"] = [f"op:{operation}" for operation in self.cuts]
        if self.parts:
            settings[f"drive.{self.drive}.faults.at" if self.drive else "faults.at"] = list(self.parts)
        return {**self.options, "settings": settings}


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
    may: tuple[str, ...] = ()
    most_parts: int = 0
    within_us: int = 0
    drive: str = ""

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
        count = random_of.randint(min(1, self.most), self.most)
        cuts = tuple(sorted({random_of.randint(1, self.within) for _ in range(count)}))
        count = random_of.randint(1, self.most_parts) if self.may else 0
        broken = sorted((random_of.randint(0, self.within_us), random_of.choice(self.may)) for _ in range(count))
        parts = tuple(f"{time}us {part}" for time, part in broken)
        return Case(number, options, settings, drawn, cuts, parts, self.drive)

    def kinds(self) -> list[str]:
        """What may happen to the drive, as :attr:`Case.faults` names it."""
        return (["power cut"] if self.most else []) + sorted({part.split()[0] for part in self.may})


def _parse(data: Mapping[str, Any], origin: str) -> Campaign:
    def fail(key: str, problem: str, remedy: str) -> InputError:
        return InputError(f"{origin}: {key}: {problem}\n  help: {remedy}")

    for name, value in data.items():
        if name not in KEYS:
            raise fail(name, "unknown", "a campaign has about, cases, seed, [run], [draw], [cuts] and [parts]")
        if name in ("run", "draw", "cuts", "parts") and not isinstance(value, Mapping):
            raise fail(name, "must be a section", f"write [{name}] on a line of its own")

    def number(section: Mapping[str, Any], key: str, default: int, where: str = "") -> int:
        value = section.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise fail(where + key, f"is {value!r}", "write a whole number from 1 up")
        return value

    run = located(data.get("run", {}), os.path.dirname(origin))
    for name in run:
        if name in OWNED or (name not in OPTIONS and "." not in name):
            raise fail(f"run.{name}", "is no option of these runs", "write options of a run, or keys; not the seed")
    draw: dict[str, Any] = located(data.get("draw", {}), os.path.dirname(origin))
    for name, values in draw.items():
        if name in OWNED:
            raise fail(
                f"draw.{name}", "is set by the campaign itself", "leave it out: [cuts] and [parts] say what happens"
            )
        if not isinstance(values, list) or not values:
            raise fail(f"draw.{name}", "must be a list of values", f'write "{name}" = [ ... ] with what is drawn from')
    cuts, parts = data.get("cuts", {}), data.get("parts", {})
    for section, known in ((cuts, ("most", "within")), (parts, ("may", "most", "within_us", "drive"))):
        where = "cuts" if section is cuts else "parts"
        for name in section:
            if name not in known:
                raise fail(f"{where}.{name}", "unknown", f"[{where}] has {', '.join(known)}")
    may = parts.get("may", [])
    if not isinstance(may, list) or not all(isinstance(part, str) and len(part.split()) == 2 for part in may):
        raise fail("parts.may", f"is {may!r}", 'write a list of parts as in faults.at: [ "block 0:3", "die 1" ]')
    if "parts" in data and not may:
        raise fail("parts.may", "is missing", 'write what may break: [ "block 0:3", "die 1" ]')
    drive = parts.get("drive", "")
    if not isinstance(drive, str) or (drive and "array" not in run):
        raise fail("parts.drive", f"is {drive!r}", "write the name of a section [drive.NAME] of the array in run.array")
    return Campaign(
        str(data.get("about", "")),
        origin,
        number(data, "cases", 100),
        number(data, "seed", 1),
        run,
        draw,
        number(cuts, "most", 3, "cuts.") if "cuts" in data or not may else 0,
        number(cuts, "within", 1000, "cuts."),
        tuple(may),
        number(parts, "most", 1, "parts."),
        number(parts, "within_us", 10_000, "parts."),
        drive,
    )
