"""The sections of a result, typed and frozen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, cast


class Section(Mapping[str, Any]):
    """A part of a result: ``section.key`` and ``section["key"]`` are the same; nothing can be changed."""

    __slots__ = ("_data",)
    _data: dict[str, Any]
    _parts: ClassVar[dict[str, type[Section]]] = {}
    """Types of the sections below this one, by key; "*" for all others."""

    def __init__(self, data: dict[str, Any]) -> None:
        object.__setattr__(self, "_data", data)

    def __getitem__(self, key: str) -> Any:
        value = self._data[key]
        kind = self._parts.get(key) or self._parts.get("*", Section)
        if isinstance(value, dict):
            return kind(value)
        if isinstance(value, list):
            return tuple(kind(item) if isinstance(item, dict) else item for item in value)
        return value

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r} here, but {', '.join(self._data)}") from None

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


class Latency(Section):
    """Latencies [ns]; None where there were no requests. Percentiles have three significant digits."""

    __slots__ = ()
    mean: float | None
    p50: int | None
    p99: int | None
    p99_9: int | None
    p99_99: int | None
    p99_9999: int | None
    max: int | None


class Requests(Section):
    """The requests of one kind or one queue."""

    __slots__ = ()
    _parts: ClassVar = {"latency_ns": Latency}
    requests: int
    """Requests that completed."""
    bytes: int
    iops: float
    """Requests a second of simulated time [1/s]."""
    bandwidth_mb_s: float
    """[MB/s], 1 MB = 10^6 B."""
    latency_ns: Latency


class Queues(Section):
    """The queues that were used, by number: ``queue["0"]``."""

    __slots__ = ()
    _parts: ClassVar = {"*": Requests}


class Host(Section):
    """What the host saw."""

    __slots__ = ()
    _parts: ClassVar = {"read": Requests, "write": Requests, "all": Requests, "queue": Queues}
    read: Requests
    write: Requests
    all: Requests
    queue: Queues
    elapsed_s: float
    """Simulated time [s], from the first counted request to the end."""
    wrapped: int
    """Requests whose address lay beyond the device and was wrapped around."""
    buffer_hits: int
    merged_writes: int


class Flash(Section):
    """What the flash did."""

    __slots__ = ()
    reads: int
    """Flash pages read."""
    programs: int
    """Flash pages programmed, padding included."""
    erases: int
    """Blocks erased."""


class Ftl(Section):
    """What the translation layer did."""

    __slots__ = ()
    waf: float | None
    """Write amplification; None where nothing was written to flash."""
    gc_runs: int
    pages_relocated: int


class Usage(Section):
    """Shares of time by cause [%]: means over channels and dies, and each of them."""

    __slots__ = ()
    channel: Section
    die: Section
    channels: tuple[Section, ...]
    dies: tuple[Section, ...]
    ecc: float
    link_in: float
    link_out: float
    dram: float


class Energy(Section):
    """Energy by what it went into [mJ]."""

    __slots__ = ()
    sense: float
    transfer: float
    program: float
    erase: float
    decode: float
    total: float
    per_gb: float | None
    """For each GB that the host read or wrote [J/GB]."""


class Run(Section):
    """What was simulated."""

    __slots__ = ()
    events: int
    """Events of the simulation."""


class Process(Section):
    """What the run cost: the last section of a result, and the only one that differs between two runs."""

    __slots__ = ()
    wall_s: float
    peak_rss_bytes: int
