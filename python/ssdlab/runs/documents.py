"""Devices and workloads as dicts: the same as their files, nested or with dotted keys."""

from __future__ import annotations

import numbers
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ssdlab._core import InputError

Given = str | os.PathLike[str] | Mapping[str, Any]
"""A device or a workload: a name, a path, or what its file would hold."""

PLAIN = ("about", "source", "base")
"""Keys above the sections of a file."""


def word_of(what: str, value: Given) -> str:
    """A device or a workload as the core takes it: its name, its path, or the text of its file.

    Raises:
        InputError: a dict that no file could be.
    """
    if isinstance(value, Mapping):
        return _text(what, value)
    try:
        return os.fspath(value)
    except TypeError:
        raise InputError(f"{what} is {value!r}\n  help: write a name, the path of a file or a dict") from None


def is_text(word: str) -> bool:
    """Whether it is the text of a file: names and paths are one line."""
    return "\n" in word


def title_of(word: str) -> str:
    """What a person calls it."""
    if not is_text(word):
        return os.path.basename(word) if os.path.sep in word else word
    import tomllib

    try:
        return str(tomllib.loads(word).get("about", "device"))
    except ValueError:
        return "device"


def _text(what: str, given: Mapping[str, Any]) -> str:
    lines: dict[tuple[str, ...], str] = {}
    for path, value in _leaves(what, (), given):
        key = path
        if len(path) == 1 and path[0] not in PLAIN:
            if what == "workload" and path[0] != "preset":
                key = ("workload", *path)
            elif path[0] in ("preset", "device", "workload"):
                raise InputError(f"{what}: {path[0]}: there is no such key\n  help: {INSTEAD[what]}")
        if key in lines:
            raise InputError(f"{what}: {'.'.join(key)}: is given twice\n  help: give it once")
        lines[key] = f"{'.'.join(map(_key, key))} = {_value(what, '.'.join(key), value)}"
    return "\n".join(lines.values()) + "\n"


INSTEAD = {
    "device": 'the preset or file that a device builds on is its base: {"base": "tlc", "geometry.channels": 4}',
    "workload": "a dict is a whole workload; to change a preset name it as the workload, and give its keys in "
    'settings={"workload.bs": "4KiB"}',
}
"""What to write in place of the name of a preset."""


def _leaves(what: str, above: tuple[str, ...], given: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in given.items():
        if not isinstance(key, str) or not key:
            raise InputError(f"{what}: {key!r} is no key\n  help: keys are texts such as geometry.channels")
        # The first level may be dotted; a name of a job may have dots.
        path = (*above, key) if above else tuple(key.split("."))
        if isinstance(value, Mapping):
            yield from _leaves(what, path, value)
        else:
            yield path, value


def _key(part: str) -> str:
    from ssdlab.common.toml import toml_text

    return part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else toml_text(part)


def _value(what: str, key: str, value: object) -> str:
    from ssdlab.common.toml import toml_text

    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return '"none"'
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(what, key, each) for each in value) + "]"
    raise InputError(f"{what}: {key}: is {value!r}\n  help: write a number, a text, True or False, or a list of these")
