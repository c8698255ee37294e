"""Types that are written from what the core declares: those of results, from results that have every statistic
(``python/ssdlab/runs/statistics.py``), and those of the options of a run (``python/ssdlab/runs/option_types.py``)."""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ssdlab.runs.options import OPTIONS, Option
from ssdlab.runs.result import Result

HEAD = '''"""The parts of a result and what they hold: written by ``pytest --update-golden`` (tests/typed.py).

None stands where there was nothing to measure. What only some drives or workloads have raises AttributeError elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ssdlab.runs.sections import Section
'''
NAMES = (
    (r"host\.(read|write|all|trim|flush|queue\.\d+)", "Requests"),
    (r"host\.(read|write|all|trim|flush|task|load|queue\.\d+)\.latency_ns", "Latency"),
    (r"host\.(task|load)", "Tasks"),
    (r"host\.queue", "Queues"),
    (r"ftl\.relocated_by\.\w+", "Relocated"),
)
"""Parts of one shape have one class; the others are named by their place."""
ABOUT = {
    "Host": "What the host saw.",
    "Requests": "The requests of one kind or one queue.",
    "Tasks": "What a workload waits for as a whole; of workloads whose requests come in tasks, and of KV caches.",
    "Latency": "Latencies [ns]. Percentiles have three significant digits.",
    "Queues": 'The queues that were used, by number: ``queue["0"]``.',
    "Flash": "What the flash did.",
    "Ftl": "What the translation layer did.",
    "Relocated": "What was relocated for one reason.",
    "Usage": "Shares of time by cause [%]: means over channels and dies, and each of them.",
    "Energy": "Energy by what it went into [mJ].",
    "Thermal": "The drive's temperature; of drives with ``thermal.resistance``.",
    "Smart": "The drive's health; of drives whose blocks wear out or fail.",
    "FdpHandle": "A placement handle: what became of the data whose writes name it.",
    "Power": "Power cuts and recoveries; of runs with ``power.cut_at``.",
    "Run": "What was simulated.",
    "Process": "What the run cost: the last section of a result, and the only one that differs between two runs.",
}
DESCRIBED = {
    "run.events": ("", "events of the simulation"),
    "process.wall_s": ("s", "wall time"),
    "process.peak_rss_bytes": ("B", "peak resident set of the process"),
}
"""What is no statistic."""


@dataclass
class Part:
    """A part of a result: what it holds, in the order in which it was seen."""

    place: str
    fields: dict[str, set[str]] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)
    inner: dict[str, str] = field(default_factory=dict)
    """Its own parts' classes."""


def class_of(place: str) -> str:
    for pattern, name in NAMES:
        if re.fullmatch(pattern, place):
            return name
    return "".join(word.capitalize() for word in re.split(r"[._]", place))


def parts_of(results: Iterable[Result]) -> dict[str, Part]:
    """Every class with what it holds; those that another one needs stand before it."""
    found: dict[str, Part] = {}
    for result in results:
        described = {name: (unit, about) for name, unit, about in result._described} | DESCRIBED
        for section, data in result.to_dict().items():
            if section not in ("manifest", "serve", "warnings"):
                _read(section, data, described, found)
    ordered: dict[str, Part] = {}

    def add(name: str) -> None:
        for inner in found[name].inner.values():
            add(inner)
        ordered.setdefault(name, found[name])

    for name in found:
        add(name)
    return ordered


def _read(place: str, data: dict[str, Any], described: dict[str, tuple[str, str]], found: dict[str, Part]) -> None:
    part = found.setdefault(class_of(place), Part(place))
    for name, value in data.items():
        below = f"{place}.{name}"
        kinds = part.fields.setdefault(name, set())
        if isinstance(value, dict):
            part.inner[name] = class_of(below)
            kinds.add(class_of(below))
            _read(below, value, described, found)
        elif isinstance(value, list):
            # `channels` are this many of what `channel` is.
            (item,) = {class_of(below[:-1]) if isinstance(item, dict) else type(item).__name__ for item in value}
            for each in value:
                if isinstance(each, dict):
                    _read(below[:-1], each, described, found)
            if item in found:
                part.inner[name] = item
            kinds.add(f"tuple[{item}, ...]")
        else:
            kinds.add(type(value).__name__)
        if below in described:
            unit, about = described[below]
            # A description of pages, blocks or requests names its unit itself.
            unit = f" [{unit}]" if unit and unit not in about.lower() else ""
            # What is said of all requests holds for those of a kind.
            if not part.about.get(name) or place.startswith("host.all"):
                about = re.sub(r"\ball requests\b", "the requests", about)
                part.about[name] = f"{about[:1].upper()}{about[1:]}{unit}."


def _type(kinds: set[str]) -> str:
    plain = sorted(kinds - {"NoneType"})
    # What was null in every run is a number all the same.
    text = " | ".join(plain) or "float"
    return f"{text} | None" if "NoneType" in kinds else text


def _docstring(text: str) -> list[str]:
    lines = textwrap.wrap(text, 110, break_long_words=False)
    lines[0] = f'"""{lines[0]}'
    lines[-1] += '"""'
    return [f"    {line}" for line in lines]


def _class(name: str, part: Part) -> str:
    about = ABOUT.get(name) or f"What stands under ``{part.place}``."
    lines = [f"class {name}(Section):", *_docstring(about), "", "    __slots__ = ()"]
    if name == "Queues":
        (inner,) = set(part.inner.values())
        lines += [f'    _parts: ClassVar = {{"*": {inner}}}', "    if TYPE_CHECKING:", ""]
        return "\n".join([*lines, f"        def __getitem__(self, key: str) -> {inner}: ..."])
    if part.inner:
        rows = [f'"{key}": {kind}' for key, kind in part.inner.items()]
        line = f"    _parts: ClassVar = {{{', '.join(rows)}}}"
        if len(line) > 120:
            line = "\n".join(["    _parts: ClassVar = {", *(f"        {row}," for row in rows), "    }"])
        lines.append(line)
    for key, kinds in part.fields.items():
        assert key.isidentifier(), key
        assert not keyword.iskeyword(key), key
        lines.append(f"    {key}: {_type(kinds)}")
        if key in part.about:
            lines += _docstring(part.about[key])
    return "\n".join(lines)


def text_of(results: Iterable[Result]) -> str:
    """The module."""
    classes = [_class(name, part) for name, part in parts_of(results).items()]
    return HEAD + "".join(f"\n\n{text}\n" for text in classes)


OPTIONS_HEAD = '''"""The types of the options of a run: written by ``pytest --update-golden`` (tests/typed.py)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from ssdlab.policy import Given, NewFtl

PathLike = str | os.PathLike[str]
Age = str | Mapping[str, object]
Settings = Mapping[str, Any] | Iterable[str]


class RunOptions(TypedDict, total=False):
    """The options of a run that are given by keyword."""

'''
POSITIONAL = ("device", "workload")
"""What may be given by position, and so stands in the signature of :func:`ssdlab.run`."""
TYPES = {
    "text": "str",
    "path": "PathLike",
    "number": "int",
    "flag": "bool",
    "age": "Age",
    "settings": "Settings",
    "precondition": "str",
    "policies": "Given",
    "ftl": "NewFtl | str",
}


def _type_of_option(option: Option) -> str:
    may_be_none = option.default is None or option.kind == "settings"
    return f"{TYPES[option.kind]} | None" if may_be_none else TYPES[option.kind]


def text_of_options() -> str:
    """The module."""
    lines = []
    for name, option in OPTIONS.items():
        if name not in POSITIONAL:
            lines += [f"    {name}: {_type_of_option(option)}", *_docstring(option.about)]
    return OPTIONS_HEAD + "\n".join(lines) + "\n"
