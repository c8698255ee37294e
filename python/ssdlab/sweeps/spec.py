"""tmp"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.runs.options import Options

WORDS = {
    "device": str,
    "workload": str,
    "scheme": str,
    "age": str,
    "precondition": str,
    "replay": str,
    "requests": int,
    "duration": str,
    "warmup": int,
    "until_steady": str,
    "seed": int,
    "format": str,
    "skip_bad_lines": int,
    "sort_window": int,
    "volumes": str,
    "beyond": str,
    "traces": str,
}
"""The words of a run that a sweep may set, and what they are. All others are configuration keys."""


LEAST = {"requests": 1, "warmup": 0, "seed": 0, "skip_bad_lines": 0, "sort_window": 0}
"""The least that the whole numbers among them may be."""


MOST_CASES = 100_000
"""Cases of a sweep: some 3 ms and 5 kB each go before the first is played."""


DEFAULTS: dict[str, Any] = {"device": "tlc", "workload": "default"}


Value = str | int | float | bool | list[Any]


class Case(NamedTuple):
    """One run of a sweep."""

    labels: dict[str, Value]
    """Its place on each axis."""
    options: Options


class Sweep(NamedTuple):
    """What a sweep file says."""

    about: str
    run: dict[str, Value]
    """What all cases share."""
    axes: dict[str, dict[Value, dict[str, Value]]]
    """For each axis its labels, and the words that a label sets."""
    quick: dict[str, list[Value]]
    """For some axes the labels that a quick check plays."""
    statistics: tuple[str, ...] = ("*",)
    """The statistics that the table keeps: names, ``*`` standing for anything."""
    origin: str = "sweep"
    """Where it was read."""

    @classmethod
    def read(cls, source: str | os.PathLike[str] | Mapping[str, Any]) -> Sweep:
        """Reads a file, or takes the same as a mapping."""
        if isinstance(source, Mapping):
            return _parse(source, "sweep")
        import tomllib

        path = os.fspath(source)
        try:
            with open(path, "rb") as file:
                return _parse(tomllib.load(file), path)
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read: {error.strerror}\n  help: give the path of a sweep file"
            ) from None
        except (ValueError, RecursionError) as error:  # malformed, no UTF-8, a number of 5,000 digits, nested too deep
            raise InputError(f"{path}: {error}\n  help: the file must be TOML") from None

    def cases(self, quick: bool = False) -> list[Case]:
        """All cases, the last axis varying fastest; with ``quick`` those of the quick check only.

        Raises:
            InputError: there are more than :data:`MOST_CASES`, or a value is not accepted.
        """
        axes = [
            [
                (axis, label, words)
                for label, words in labels.items()
                if not quick or axis not in self.quick or label in self.quick[axis]
            ]
            for axis, labels in self.axes.items()
        ]
        count = math.prod(map(len, axes))
        if count > MOST_CASES:
            lengths = " x ".join(f"{len(axis)} {axis[0][0]}" for axis in axes if len(axis) > 1)
            raise InputError(
                f"{self.origin}: has {count:,} cases ({lengths}), more than {MOST_CASES:,}\n  help: give its axes "
                "fewer values, or make several sweeps of it: they may share a cache"
            )
        cases = []
        for point in itertools.product(*axes):
            words = dict(self.run)
            for _, _, set_by_label in point:
                words |= set_by_label
            cases.append(Case({axis: label for axis, label, _ in point}, _options(words, self.origin)))
        return cases


def _parse(data: Mapping[str, Any], origin: str) -> Sweep:
    def fail(key: str, problem: str, remedy: str) -> InputError:
        return InputError(f"{origin}: {key}: {problem}\n  help: {remedy}")

    for name, value in data.items():
        if name not in ("about", "statistics", "run", "axes", "quick"):
            raise fail(name, "unknown", "a sweep has about, statistics, [run], [axes] and [quick]")
        if name in ("run", "axes", "quick") and not isinstance(value, Mapping):
            raise fail(name, "must be a section", f"write [{name}] on a line of its own")
    statistics = data.get("statistics", ["*"])
    if not isinstance(statistics, list) or not all(isinstance(name, str) for name in statistics):
        raise fail("statistics", "must be a list of names", 'write statistics = ["host.read.latency_ns.*"]')
    run = dict(data.get("run", {}))
    axes: dict[str, dict[Value, dict[str, Value]]] = {}
    for axis, values in data.get("axes", {}).items():
        if axis == "case":
            raise fail("axes.case", "is the name of a column of the table", "call the axis something else")
        if isinstance(values, Mapping):
            axes[axis] = {label: dict(v) if isinstance(v, Mapping) else {axis: v} for label, v in values.items()}
        elif isinstance(values, Sequence) and not isinstance(values, str):
            if any(isinstance(value, Sequence | Mapping) and not isinstance(value, str) for value in values):
                raise fail(f"axes.{axis}", "holds a list in a list", f'name its values: [axes."{axis}"]')
            axes[axis] = {value: {axis: value} for value in values}
            if len(axes[axis]) < len(values):
                raise fail(f"axes.{axis}", "names a value twice", "give each once")
        else:
            raise fail(f"axes.{axis}", "is one value", f"write a list, or put {axis} under [run]")
        if not axes[axis]:
            raise fail(f"axes.{axis}", "is empty", "give it values, or leave it out")
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
    keys = set(run) | {word for labels in axes.values() for words in labels.values() for word in words}
    _check_words(keys, fail)
    return Sweep(str(data.get("about", "")), run, axes, quick, tuple(statistics), origin)


def _check_words(words: set[str], fail: Callable[[str, str, str], InputError]) -> None:
    from ssdlab.runs.catalogue import schema

    known = {f"{key.section}.{key.key}" for key in schema()}
    for word in sorted(words):
        if word in WORDS or word in known or word.startswith("job.") or word.startswith("workload."):
            continue
        from difflib import get_close_matches

        near = get_close_matches(word, [*WORDS, *known], 1)
        remedy = (
            f"did you mean `{near[0]}`?"
            if near
            else f"the words are {', '.join(WORDS)}, and every key of `ssdlab schema`"
        )
        raise fail(word, "there is no such word or key", remedy)


def _options(words: dict[str, Value], origin: str) -> Options:
    from ssdlab.runs.options import precondition_words, setting_words

    options: dict[str, Any] = dict(DEFAULTS)
    settings: dict[str, Value] = {}
    for word, value in words.items():
        kind = WORDS.get(word)
        if kind is None:
            settings[word] = value
        elif value is None or _is_accepted(word, value):
            options[word] = value
        else:
            what = f"a whole number, {LEAST[word]} or more" if kind is int else "text in quotes"
            raise InputError(f"{origin}: {word}: {value!r} is not accepted\n  help: expected {what}")
    if options.get("scheme") == "none":
        del options["scheme"]
    first = precondition_words(options.pop("precondition", None))
    return Options(**options, settings=(*first, *setting_words(settings)))


def _is_accepted(word: str, value: Value) -> bool:
    if isinstance(value, int) and not isinstance(value, bool) and word in LEAST:
        return LEAST[word] <= value < 1 << 63
    return WORDS[word] is str and isinstance(value, str) and "\0" not in value
