"""The options of a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ssdlab._core import InputError


class Options(NamedTuple):
    """What to run: the words of the command line, in the core's terms."""

    device: str
    workload: str
    scheme: str | None = None
    age: str | None = None
    settings: tuple[str, ...] = ()
    replay: str | None = None
    requests: int | None = None
    duration: str | None = None
    warmup: int = 0
    until_steady: str | None = None
    seed: int = 1
    format: str | None = None
    skip_bad_lines: int = 0
    sort_window: int | None = None
    merge: tuple[str, ...] = ()
    volumes: str | None = None
    beyond: str | None = None
    traces: str | None = None
    requests_out: str | None = None
    keep_requests: bool = False
    series_out: str | None = None


PathLike = str | os.PathLike[str]


Age = str | Mapping[str, object]


Settings = Mapping[str, Any] | Iterable[str]


def precondition_words(precondition: str | None) -> tuple[str, ...]:
    """The setting that a precondition stands for."""
    return () if precondition is None else (f"age.precondition={precondition}",)


def age_words(age: Age | None) -> str | None:
    """An age as the core reads it: ``pec=2000,retention=6mo``."""
    if age is None or isinstance(age, str):
        return age
    return ",".join(f"{key}={_word(value)}" for key, value in age.items())


def setting_words(settings: Settings | None) -> list[str]:
    """Settings as the core reads them: ``section.key=value`` each."""
    if settings is None:
        return []
    if isinstance(settings, str):
        return [settings]
    if not isinstance(settings, Mapping):
        return [str(word) for word in settings]
    words = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            words += [f"{key}.{name}={_word(inner)}" for name, inner in value.items()]
        else:
            words.append(f"{key}={_word(value)}")
    return words


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_word(item) for item in value) + "]"
    return "none" if value is None else str(value)


def _whole(name: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 63:
        raise InputError(f"{name} is {value!r}\n  help: write a whole number, {least} or more")
    return value
