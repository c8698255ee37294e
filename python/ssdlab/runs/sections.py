"""What the sections of a result are: frozen, and read by name or key. Which there are: ``statistics.py``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, cast


class NoSuchKeyError(KeyError):
    """A part of a result has no such key: the message names those that there are, and the one that is meant."""

    def __init__(self, key: str, section: Section | None = None) -> None:
        super().__init__(key)
        self._section = section

    def __str__(self) -> str:
        key = self.args[0]
        return (
            super().__str__() if self._section is None else f"there is no {key!r} here, but {self._section._names(key)}"
        )


class Section(Mapping[str, Any]):
    """A part of a result: ``section.key`` and ``section["key"]`` are the same; nothing can be changed."""

    __slots__ = ("_data",)
    _data: dict[str, Any]
    _parts: ClassVar[dict[str, type[Section]]] = {}
    """Types of the sections below this one, by key; "*" for all others."""

    def __init__(self, data: dict[str, Any]) -> None:
        object.__setattr__(self, "_data", data)

    def __getitem__(self, key: str) -> Any:
        if key not in self._data:
            raise NoSuchKeyError(key, self)
        value = self._data[key]
        kind = self._parts.get(key) or self._parts.get("*", Section)
        if isinstance(value, dict):
            return kind(value)
        if isinstance(value, list):
            return tuple(kind(item) if isinstance(item, dict) else item for item in value)
        return value

    if not TYPE_CHECKING:
        # Hidden from type checkers, so that they refuse a name that no part declares (ssdlab.runs.statistics).
        def __getattr__(self, name: str) -> Any:
            try:
                return self[name]
            except KeyError as error:
                raise AttributeError(str(error)) from None

    def _names(self, near: str) -> str:
        """The names that there are, and the one that is meant."""
        from difflib import get_close_matches

        below = [f"{name}.{near}" for name, value in self._data.items() if isinstance(value, dict) and near in value]
        meant = below or get_close_matches(near, self._data, 1)
        return ", ".join(self._data) + (f"\n  help: did you mean {meant[0]}?" if meant else "")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("results are read-only")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("results are read-only")

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._data})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._data!r})"

    def __reduce__(self) -> tuple[type[Section], tuple[dict[str, Any]]]:
        return type(self), (self._data,)

    def to_dict(self) -> dict[str, Any]:
        """A copy as plain dictionaries and lists."""
        return cast("dict[str, Any]", json.loads(json.dumps(self._data)))


class Settings(Section):
    """A section of what was given: a manifest's, of whatever keys the device and the workload have."""

    __slots__ = ()
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
