"""Sweep files: what all cases share, what differs, and the cases that this makes."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, overload

from ssdlab._core import InputError
from ssdlab.common.numbers import plain
from ssdlab.runs.documents import word_of
from ssdlab.runs.names import names, why_unknown
from ssdlab.runs.options import OPTIONS, Option, Options, options_of

SWEPT = {name: option for name, option in OPTIONS.items() if not option.is_output and option.kind != "settings"}
"""The options of a run that a sweep may set. All other names in it are configuration keys."""

MOST_CASES = 10_000_000
"""Cases of a sweep on one machine: some 3 kB of memory each at most (docs/scale.md)."""
FILES = (
    "device",
    "workload",
    "checkpoint",
    "array",
    "base",
    "chip.model",
    "read.rpt",
    "read.trees",
    "ecc.code",
    "ecc.code_2bit",
    "ecc.code_3bit",
)
"""What may name a file: it is looked for beside the file that names it, then in the working directory."""
Value = str | int | float | bool | list[Any]


class Case(NamedTuple):
    """One run of a sweep."""

    labels: dict[str, Value]
    """Its label on each axis."""
    options: Options
    warm: Options | None = None
    """The run that its drive is warmed up by, if it is."""


class Cases(Sequence[Case]):
    """The cases of a sweep, the last axis varying fastest. Each is made when it is asked for: there may be many.

    Args:
        sweep: what all of them are made of.
        axes: for each axis its labels, with what each sets.
        numbers: which cases of the product these are.
        traces: a folder of real traces that take the place of synthetic ones.
    """

    def __init__(
        self,
        sweep: Sweep,
        axes: dict[str, list[tuple[Value, dict[str, Value]]]],
        numbers: Sequence[int] | None = None,
        traces: str | None = None,
    ) -> None:
        self.sweep = sweep
        self._axes = axes
        self._sets = {axis: dict(labels) for axis, labels in axes.items()}
        self.whole = math.prod(map(len, axes.values()))
        """How many cases the product has."""
        self.labels_of = {axis: [label for label, _ in labels] for axis, labels in axes.items()}
        """The labels of each axis."""
        self.numbers: Sequence[int] = range(self.whole) if numbers is None else numbers
        self.traces = traces

    def only(self, numbers: Sequence[int]) -> Cases:
        """Some of the cases, by their numbers in the product."""
        return Cases(self.sweep, self._axes, numbers, self.traces)

    def with_traces(self, folder: str) -> Cases:
        """These cases with a folder of real traces."""
        return Cases(self.sweep, self._axes, self.numbers, folder)

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> Case: ...
    @overload
    def __getitem__(self, index: slice) -> list[Case]: ...
    def __getitem__(self, index: int | slice) -> Case | list[Case]:
        if isinstance(index, slice):
            return [self[each] for each in range(len(self))[index]]
        values, labels = dict(self.sweep.run), self.labels(index)
        for axis, label in labels.items():
            values |= self._sets[axis][label]
        options, warm = run_of(values, self.sweep.origin), self.sweep.warm_run(values)
        if self.traces is not None:
            options = options.replace(traces=self.traces)
            warm = None if warm is None else warm.replace(traces=self.traces)
        return Case(labels, options, warm)

    def labels(self, index: int) -> dict[str, Value]:
        """The label of a case on each axis."""
        return labels_at(self.labels_of, self.numbers[index])

    def check(self) -> None:
        """Makes a case of each label, beside the first ones of other axes: what no case can have is refused early."""
        step = 1
        for labels in reversed(self._axes.values()):
            for place in range(len(labels)):
                _ = self[place * step]
            step *= len(labels)


def labels_at(axes: Mapping[str, Sequence[Value]], number: int) -> dict[str, Value]:
    """The labels of a case by its number: the last axis varies fastest."""
    places = {}
    for axis, labels in reversed(list(axes.items())):
        number, places[axis] = divmod(number, len(labels))
    return {axis: labels[places[axis]] for axis, labels in axes.items()}


DRIVE = ("device", "array", "scheme", "age", "precondition", "seed", "policies", "traces", "checkpoint")
"""The options of a case that hold for what warms its drive up too, with the drive's keys; all other ones say what is
played."""


class Sweep(NamedTuple):
    """What a sweep file says."""

    about: str
    run: dict[str, Value]
    """What all cases share."""
    axes: dict[str, dict[Value, dict[str, Value]]]
    """For each axis its labels, and the options that a label sets."""
    quick: dict[str, list[Value]]
    """For some axes the labels that a quick check plays."""
    statistics: tuple[str, ...] = ("*",)
    """The statistics that the table keeps: names, ``*`` standing for anything."""
    origin: str = "sweep"
    """Where it was read."""
    warm: dict[str, Value] | None = None
    """What every drive goes through before its cases, if anything: options of a run, above the drive's own, and when
    it is saved."""
    digest: str = ""
    """Of all that the file says: comments and layout do not count."""

    @classmethod
    def read(cls, source: str | os.PathLike[str] | Mapping[str, Any]) -> Sweep:
        """Reads a file, or takes the same as a mapping."""
        return cls.parse(*read_source(source, "sweep"))

    @classmethod
    def parse(cls, data: Mapping[str, Any], origin: str) -> Sweep:
        """Takes what a sweep file says; ``origin`` is where it was read, for errors."""
        return _parse(data, origin)

    def cases(self, quick: bool = False) -> Cases:
        """All cases, the last axis varying fastest; with ``quick`` those of the quick check only.

        Raises:
            InputError: there are more than :data:`MOST_CASES`, or a value is not accepted.
        """
        axes = {
            axis: [
                (label, values)
                for label, values in labels.items()
                if not quick or axis not in self.quick or label in self.quick[axis]
            ]
            for axis, labels in self.axes.items()
        }
        found = Cases(self, axes)
        if found.whole > MOST_CASES:
            lengths = " x ".join(f"{len(labels)} {axis}" for axis, labels in axes.items() if len(labels) > 1)
            raise InputError(
                f"{self.origin}: has {found.whole:,} cases ({lengths}), more than {MOST_CASES:,}\n  help: give its "
                "axes fewer values, or make several sweeps of it: they may share a cache"
            )
        if found.whole:
            found.check()
        return found

    def may_report(self, asked: Sequence[str]) -> list[str]:
        """The statistics that its table may have, and which of those ``asked`` for: queues are no fixed names."""
        found = dict.fromkeys([*names(), *(name for name in asked if why_unknown(name) is None)])
        return [name for name in found if any(fnmatch.fnmatchcase(name, of) for of in self.statistics)]

    def warm_run(self, values: Mapping[str, Value]) -> Options | None:
        """The run that warms up the drive of a case, if any does."""
        if self.warm is None:
            return None
        of_drive = {
            name: value
            for name, value in values.items()
            if name in DRIVE or (name not in SWEPT and not is_of_workload(name))
        }
        played = {name: value for name, value in self.warm.items() if name != "save_at"}
        return run_of({**of_drive, **played}, self.origin).replace(save_at=self.warm.get("save_at"))


def read_source(source: str | os.PathLike[str] | Mapping[str, Any], what: str) -> tuple[Mapping[str, Any], str]:
    """What a TOML file says, or the same given as a mapping; and how errors call it. ``what`` it is: a sweep."""
    if isinstance(source, Mapping):
        return source, what
    import tomllib

    path = os.fspath(source)
    try:
        with open(path, "rb") as file:
            return tomllib.loads(file.read().decode("utf-8-sig")), path
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}\n  help: give the path of a {what} file") from None
    except (ValueError, RecursionError) as error:  # malformed, no UTF-8, a number of 5,000 digits, nested too deep
        raise InputError(f"{path}: {error}\n  help: the file must be TOML") from None


def _parse(data: Mapping[str, Any], origin: str) -> Sweep:
    def fail(key: str, problem: str, remedy: str) -> InputError:
        return InputError(f"{origin}: {key}: {problem}\n  help: {remedy}")

    for name, value in data.items():
        if name not in ("about", "statistics", "run", "warm", "axes", "quick"):
            raise fail(name, "unknown", "a sweep has about, statistics, [run], [warm], [axes] and [quick]")
        if name in ("run", "warm", "axes", "quick") and not isinstance(value, Mapping):
            raise fail(name, "must be a section", f"write [{name}] on a line of its own")
    statistics = data.get("statistics", ["*"])
    if not isinstance(statistics, list) or not all(isinstance(name, str) for name in statistics):
        raise fail("statistics", "must be a list of names", 'write statistics = ["host.read.latency_ns.*"]')
    for name in statistics:
        if remedy := why_unknown(name):
            raise fail("statistics", f"{name}: no run reports this statistic", remedy)
    folder = os.path.dirname(origin)
    run = located(data.get("run", {}), folder)
    axes: dict[str, dict[Value, dict[str, Value]]] = {}
    for axis, values in data.get("axes", {}).items():
        if axis in ("case", "warnings") or _is_reported(axis, statistics):
            raise fail(f"axes.{axis}", "is the name of a column of the table", "call the axis something else")
        if isinstance(values, Mapping):
            axes[axis] = {
                label: located(v if isinstance(v, Mapping) else {axis: v}, folder) for label, v in values.items()
            }
        elif isinstance(values, Sequence) and not isinstance(values, str):
            if any(isinstance(value, Sequence | Mapping) and not isinstance(value, str) for value in values):
                raise fail(f"axes.{axis}", "holds a list in a list", f'name its values: [axes."{axis}"]')
            values = [plain(value) for value in values]
            axes[axis] = {value: located({axis: value}, folder) for value in values}
            if len(axes[axis]) < len(values):
                raise fail(f"axes.{axis}", "names a value twice", "give each once")
        else:
            raise fail(f"axes.{axis}", "is one value", f"write a list, or put {axis} under [run]")
        if not axes[axis]:
            raise fail(f"axes.{axis}", "is empty", "give it values, or leave it out")
    _check_set_once(axes, fail)
    quick = dict(data.get("quick", {}))
    for axis, labels in quick.items():
        if not isinstance(labels, list) or any(isinstance(label, list | Mapping) for label in labels):
            raise fail(f"quick.{axis}", "is no list of labels", f"write quick.{axis} = [LABEL, …]")
        known = axes.get(axis)
        if known is None:
            raise fail(f"quick.{axis}", "is no axis", f"the axes are {', '.join(axes) or 'none'}")
        unknown = [str(label) for label in labels if label not in known]
        if unknown:
            raise fail(
                f"quick.{axis}", f"{', '.join(unknown)}: not on the axis", f"it has {', '.join(map(str, known))}"
            )
    warm = None if "warm" not in data else located(data["warm"], folder)
    if warm is not None and not isinstance(warm.get("save_at", ""), str):
        raise fail("warm.save_at", "is no text", 'write "rest", "end" or a time with its unit')
    keys = {name for labels in axes.values() for values in labels.values() for name in values}
    _check_names(keys | set(run) | set(warm or ()) - {"save_at"}, fail)
    digest = hashlib.sha256(json.dumps(data, default=str, separators=(",", ":")).encode()).hexdigest()
    return Sweep(str(data.get("about", "")), run, axes, quick, tuple(statistics), origin, warm, digest)


def _is_reported(name: str, statistics: Sequence[str]) -> bool:
    """Whether a statistic of this name may be in a table that keeps these."""
    from ssdlab.runs.catalogue import schema

    untyped = name.startswith("array.") and name in {f"{key.section}.{key.key}" for key in schema()}
    may_be = "*" not in name and why_unknown(name) is None and not untyped
    return may_be and any(fnmatch.fnmatchcase(name, of) for of in statistics)


def _check_set_once(axes: Mapping[str, Mapping[Value, Mapping[str, Value]]], fail: Callable[..., InputError]) -> None:
    """Refuses an option that two axes set: cases of different labels would be the same run."""
    owner: dict[str, str] = {}
    for axis, labels in axes.items():
        for option in dict.fromkeys(option for values in labels.values() for option in values):
            other = owner.setdefault(option, axis)
            if other != axis:
                raise fail(
                    f"axes.{axis}",
                    f"sets {option}, and so does axes.{other}",
                    "let one axis set it, or make two sweeps",
                )


def located(values: Mapping[str, Value], folder: str) -> dict[str, Value]:
    """Options, with the paths of files that lie in the folder of the file that names them. Devices and workloads that
    are given as tables become the texts of their files."""

    def found(value: Value) -> Value:
        if isinstance(value, list):
            return [found(each) for each in value]
        if not isinstance(value, str) or "\0" in value or not os.path.splitext(value)[1]:
            return value  # no file, or a preset
        path = os.path.join(folder, value)
        return path if os.path.isfile(path) else value

    def taken(name: str, value: Any) -> Value:
        if name in ("device", "workload") and isinstance(value, Mapping):
            return word_of(name, {key: found(of) if folder and key in FILES else of for key, of in value.items()})
        return found(value) if folder and (of_a_kind(name) or name) in FILES else value

    return {name: taken(name, value) for name, value in values.items()}


def is_of_workload(name: str) -> bool:
    """Whether a name is a key of a workload."""
    return name.startswith(("job.", "workload.", "kv.", "log_fs."))


def of_a_kind(name: str) -> str | None:
    """The key or option in ``drive.NAME.KEY``, which is set for drives of an array that are called so."""
    parts = name.split(".", 2)
    return parts[2] if parts[0] == "drive" and len(parts) == 3 else None


def _check_names(names: set[str], fail: Callable[[str, str, str], InputError]) -> None:
    from ssdlab.runs.catalogue import schema

    keys = {f"{key.section}.{key.key}" for key in schema()}
    known = {key for key in keys if not key.startswith("drive.")}
    for name in sorted(names):
        kind = of_a_kind(name)
        if name in SWEPT or name in known or is_of_workload(name) or kind in known or f"drive.{kind}" in keys:
            continue
        from difflib import get_close_matches

        near = get_close_matches(name, [*SWEPT, *known], 1)
        remedy = (
            f"did you mean `{near[0]}`?"
            if near
            else f"the options are {', '.join(SWEPT)}, and every key of `ssdlab schema`"
        )
        raise fail(name, "there is no such option or key", remedy)


def run_of(values: Mapping[str, Value], origin: str) -> Options:
    """The run that a case plays."""
    given: dict[str, Any] = {}
    settings: dict[str, Value] = {}
    for name, given_value in values.items():
        option, value = SWEPT.get(name), plain(given_value)
        if option is None:
            settings[name] = value
        elif value is None or _is_accepted(option, value):
            given[name] = value
        else:
            what = {
                "number": f"a whole number, {option.least} or more",
                "flag": "true or false",
                "policies": 'AXIS=FILE:FUNCTION in quotes, or { AXIS = "FILE:FUNCTION" }: results are kept by files\' '
                "content",
            }.get(option.kind, "text in quotes")
            raise InputError(f"{origin}: {name}: {value!r} is not accepted\n  help: expected {what}")
    if given.get("scheme") == "none":
        del given["scheme"]
    return options_of({**given, "settings": settings})


def _is_accepted(option: Option, value: Value) -> bool:
    if option.kind == "flag":
        return isinstance(value, bool)
    if option.kind == "number":
        return isinstance(value, int) and not isinstance(value, bool) and option.least <= value < 1 << 63
    if option.kind == "policies" and isinstance(value, Mapping):
        return all(isinstance(policy, str) for policy in value.values())
    return isinstance(value, str) and "\0" not in value
