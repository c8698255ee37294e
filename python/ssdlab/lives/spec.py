"""Life files: a drive, what its host writes in a day, for how many years, and the schemes that are compared.

A life is a TOML file (or the same as a mapping)::

    about = "Reads of a drive that is overwritten three times in ten days"
    [run]                             # as of a sweep: options of a run, keys of the drive and of its workload
    device = "tlc"
    requests = 5000                   # of an epoch, while the host is active
    "workload.rw" = "randrw"
    [life]
    years = 5
    epochs = 20
    writes_per_day = 0.3              # of the logical capacity (DWPD)
    duty = 0.2                        # the share of the day in which the host is active
    temperature = "40C"               # of the air
    seeds = 1
    [schemes]                         # a life each: a label, and what it sets
    table = { scheme = "baseline" }
    tracked = { scheme = "pso" }
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.sweeps.spec import Value, located, read_source

OWNED = ("age", "precondition", "seed", "workload.rate_iops", "age.retention", "age.schedule", "age.temperature")
"""What a life sets itself."""
Fail = Callable[[str, str, str], InputError]


class Conditions(NamedTuple):
    """What a drive lives under."""

    years: float = 5.0
    epochs: int = 20
    writes_per_day: float = 0.3
    """Of the logical capacity (DWPD)."""
    duty: float = 0.25
    """The share of the day in which the host is active: the rate of requests then follows from what it writes."""
    temperature: float = 30.0
    """Of the air, or of a drive whose own heat is not followed (``thermal.resistance``) [C]."""
    seeds: int = 1

    @property
    def months(self) -> float:
        """Of 30 days."""
        return self.years * 365.0 / 30.0


class LifeSpec(NamedTuple):
    """What a life file says."""

    about: str
    run: dict[str, Value]
    schemes: dict[str, dict[str, Value]]
    conditions: Conditions
    origin: str

    @classmethod
    def read(cls, source: str | os.PathLike[str] | Mapping[str, Any]) -> LifeSpec:
        """Reads a file, or takes the same as a mapping.

        Raises:
            InputError: it is wrong.
        """
        data, origin = read_source(source, "life")
        fail = failing(origin)
        sections(data, ("run", "life", "schemes"), "a life has about, [run], [life] and [schemes]", fail)
        run, schemes = drives(data, origin, fail)
        return cls(str(data.get("about", "")), run, schemes, conditions(data.get("life", {}), fail), origin)


def failing(origin: str) -> Fail:
    """How a file's mistakes are named."""

    def fail(key: str, problem: str, remedy: str) -> InputError:
        return InputError(f"{origin}: {key}: {problem}\n  help: {remedy}")

    return fail


def sections(data: Mapping[str, Any], names: tuple[str, ...], has: str, fail: Fail) -> None:
    """Refuses what is no section of a file."""
    for name, value in data.items():
        if name != "about" and name not in names:
            raise fail(name, "unknown", has)
        if name in names and not isinstance(value, Mapping):
            raise fail(name, "must be a section", f"write [{name}] on a line of its own")


def drives(data: Mapping[str, Any], origin: str, fail: Fail) -> tuple[dict[str, Value], dict[str, dict[str, Value]]]:
    """[run] and [schemes]: what all drives share, and what each label sets."""
    folder = os.path.dirname(origin)
    run = located(data.get("run", {}), folder)
    rows = data.get("schemes", {"default": {}})
    for label, values in rows.items():
        if not isinstance(values, Mapping):
            raise fail(f"schemes.{label}", "is no table", f'write {label} = {{ scheme = "{values}" }}')
    if not rows:
        raise fail("schemes", "is empty", "give it rows, or leave it out")
    schemes = {str(label): located(values, folder) for label, values in rows.items()}
    for where, values in {"run": run, **{f"schemes.{label}": of for label, of in schemes.items()}}.items():
        for name in values:
            if name in OWNED:
                raise fail(
                    f"{where}.{name}", "is set by the life itself", "leave it out: [life] says what a drive meets"
                )
    return run, schemes


RANGES: dict[str, tuple[float, float, str]] = {
    "years": (0.01, 100.0, "years from 0.01 to 100"),
    "epochs": (1, 1000, "a whole number from 1 to 1000"),
    "writes_per_day": (1e-6, 1e3, "times the logical capacity, such as 0.3"),
    "duty": (1e-6, 1.0, "a share above 0, up to 1"),
    "seeds": (1, 1000, "a whole number from 1 to 1000"),
}


def conditions(section: Mapping[str, Any], fail: Fail) -> Conditions:
    """[life]."""
    found: dict[str, Any] = {}
    for name, value in section.items():
        if name not in Conditions._fields:
            raise fail(f"life.{name}", "unknown", f"[life] has {', '.join(Conditions._fields)}")
        found[name] = temperature_of(value, f"life.{name}", fail) if name == "temperature" else value
        if name == "temperature":
            continue
        low, high, expected = RANGES[name]
        whole = name in ("epochs", "seeds")
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not low <= value <= high:
            raise fail(f"life.{name}", f"is {value!r}", f"write {expected}")
    return Conditions(**found)


def temperature_of(value: Any, key: str, fail: Fail) -> float:
    """A temperature such as "40C" [C]."""
    try:
        degrees = float(str(value).removesuffix("C"))
    except ValueError:
        degrees = float("nan")
    if not (isinstance(value, str) and value.endswith("C") and -40.0 <= degrees <= 125.0):
        raise fail(key, f"is {value!r}", 'write a temperature from -40C to 125C, such as "40C"')
    return degrees
