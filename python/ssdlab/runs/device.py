"""The device as a library: submit requests, advance the time, take completions."""

from __future__ import annotations

from os import fspath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ssdlab import _core
from ssdlab.common.output import replacing
from ssdlab.runs.batches import Columns, Refusing
from ssdlab.runs.documents import Given as Word
from ssdlab.runs.documents import word_of
from ssdlab.runs.options import Age, PathLike, Settings, age_text, functions_of, setting_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars

    from ssdlab.policy import Given


def is_checkpoint(path: PathLike) -> bool:
    """Whether a file begins as a checkpoint does."""
    try:
        with open(path, "rb") as file:
            return file.readline(18) == b"ssdlab checkpoint\n"
    except OSError:
        return False


Operation = Literal[
    "read",
    "write",
    "trim",
    "flush",
    "append",
    "zone-open",
    "zone-close",
    "zone-finish",
    "zone-reset",
    "zone-offline",
    "zone-open-random",
    "zone-flush",
    "zone-report",
    "handle-update",
]
"""What a request asks for."""


class Completion(NamedTuple):
    """A request that has completed."""

    request: int
    """The number that :meth:`Device.submit` gave."""
    finish_ns: int
    """When the host saw it complete [ns]."""
    uncorrectable: bool
    """Some of the data that it asked for could not be corrected."""
    status: str = "Successful Completion"
    """The status of the NVMe specification, such as ``"Zone Invalid Write"``: anything but ``"Successful Completion"``
    where what was asked was not done."""
    offset: int = 0
    """The first byte that it was done to: of an append where its data is."""


class FdpEvent(NamedTuple):
    """What has happened to reclaim units (NVMe Flexible Data Placement)."""

    code: int
    """Its type: 0 a unit was left before its end, 3 a write named no handle, 128 data was moved, 129 a unit is full."""
    time_ns: int
    """When [ns]."""
    handle: int
    """The handle; 0 where data was moved."""
    pages: int
    """Pages that were moved, or were left of the unit."""


class HandleStatistics(NamedTuple):
    """What became of the data of a placement handle; padding is nobody's."""

    hint: int
    """The placement identifier that names it."""
    written: int
    """What was programmed of the data that the host wrote with it [B]."""
    relocated: int
    """What was relocated of that data, each time that it was: of initially isolated handles also among data of
    others [B]."""
    filled: int
    """Its reclaim units that were written to their end."""
    left: int
    """Its reclaim units that the host has left before."""

    @property
    def write_amplification(self) -> float | None:
        """What was programmed over what of it the host wrote; None where nothing was."""
        return (self.written + self.relocated) / self.written if self.written else None


class Handles(NamedTuple):
    """The reclaim units of placement handles."""

    unit: int
    """Nominal size of a reclaim unit [B]."""
    available: tuple[int, ...]
    """Of each handle of each group what it can still write to its unit (RUAMW) [B]."""
    host_written: int
    """Bytes that the host wrote."""
    media_written: int
    """Bytes that were written to the flash."""
    media_erased: int
    """Bytes that were erased."""
    events: tuple[FdpEvent, ...]
    """The newest 63 events, the oldest first."""
    groups: int
    """Reclaim groups (``ftl.reclaim_groups``)."""
    identifiers: tuple[int, ...]
    """The placement identifiers that ``available`` is of, group by group: hints of requests."""
    by_handle: tuple[HandleStatistics, ...]
    """What became of the data of each, in the same order."""


class Zone(NamedTuple):
    """A zone, as a report of zones has it."""

    state: str
    """``"empty"``, ``"implicitly-open"``, ``"explicitly-open"``, ``"closed"``, ``"full"``, ``"read-only"``,
    ``"offline"`` or ``"conventional"``."""
    start: int
    """Its first byte."""
    capacity: int
    """Bytes that can be written."""
    write_pointer: int
    """Where the next write goes [B]."""
    random_area: bool
    """It has a zone random write area."""


class Conditions(NamedTuple):
    """The conditions of a flash page."""

    pec: int
    """Program/erase cycles of its block."""
    retention_s: float
    """Age of its data, as if kept at 30 C [s]."""
    temperature_c: float
    """[C]"""
    reads: int
    """Reads of its block since it was erased."""


class Device:
    """A simulated SSD that is driven request by request. Simulated time is whole nanoseconds from 0.

    >>> device = Device("tlc")
    >>> number = device.submit(0, "read", offset=0, bytes=16384)
    >>> [done] = device.advance_to_completion()
    >>> done.request == number
    True

    Its methods may be called from several threads; the GIL is released while time advances.
    """

    __slots__ = ("_core",)

    def __init__(
        self,
        device: Word = "tlc",
        *,
        scheme: str | None = None,
        age: Age | None = None,
        settings: Settings | None = None,
        policies: Given | None = None,
        seed: int = 1,
    ) -> None:
        """The options are those of :func:`ssdlab.run`. Raises :class:`ssdlab.InputError` for what cannot be built."""
        with Refusing():
            self._core = _core.Device(
                word_of("device", device),
                scheme=scheme,
                age=age_text(age),
                settings=setting_texts(settings),
                policies=functions_of(policies),
                seed=seed,
            )

    def __repr__(self) -> str:
        from ssdlab.common.numbers import decimal_size

        under_way = f", {self.outstanding:,} requests under way" if self.outstanding else ""
        return f"<ssdlab.{type(self).__name__}: {decimal_size(self.capacity)}, at {self.now / 1e9:,.6f} s{under_way}>"

    @classmethod
    def load(cls, path: PathLike, *, scheme: str | None = None, settings: Settings | None = None) -> Device:
        """The device that :meth:`save` has written, or a run (``ssdlab run --save``): it goes on as if it had never
        stopped. ``scheme`` and ``settings`` may change policies where nothing was under way.

        Raises:
            InputError: the file is damaged, of another build of ssdlab, or another drive's.
        """
        return cls(path, scheme=scheme, settings=settings)

    def save(self, path: PathLike) -> None:
        """Writes the whole state to a file, whatever is under way, for :meth:`load`.

        Raises:
            SimulationError: the file cannot be written.
        """
        with replacing(path) as temporary:
            self._core.save(temporary)

    def submit(
        self,
        time_ns: int,
        op: Operation,
        offset: int,
        bytes: int,
        queue: int = 0,
        hint: int = 0,
    ) -> int:
        """Hands a request to the device; returns its number.

        Args:
            time_ns: when it arrives [ns]: not before :attr:`now` nor before an earlier request's.
            op: ``"read"``, ``"write"``, ``"trim"`` (deallocate the whole pages of the range) or ``"flush"`` (complete
                when everything acknowledged is on flash; offset and bytes are 0). Of zones (``ftl.mapping = "zoned"``)
                ``"append"`` (to the zone that begins at offset; the completion says where) and ``"zone-open"``,
                ``"zone-close"``, ``"zone-finish"``, ``"zone-reset"``, ``"zone-offline"``, ``"zone-open-random"``,
                ``"zone-flush"`` and ``"zone-report"``, for the zones of the range. ``"handle-update"`` gives the
                placement handle of the hint another reclaim unit.
            offset: first byte; offset + bytes must lie within :attr:`capacity`.
            bytes: length, 1 or more; need not be aligned to anything.
            queue: submission queue, taken modulo the device's number of queues. Its priority (``host.priorities``) is
                the request's.
            hint: placement hint of written data, 0 to 65,535, taken modulo ``ftl.hints``; 0 is none.

        Raises:
            InputError: a time that goes backwards, or bytes beyond the device.
        """
        with Refusing():
            return self._core.submit(time_ns, op, offset, bytes, queue, hint)

    def submit_many(self, requests: polars.DataFrame | Mapping[str, Any]) -> range:
        """Hands requests to the device, as :meth:`submit` does one by one; returns their numbers. A million in a call
        are fine.

        Args:
            requests: the columns ``time_ns``, ``op``, ``offset`` and ``bytes``, and where they are wanted ``queue`` and
                ``hint``: a polars frame, or a mapping of sequences. A single value in place of a sequence holds for
                all of them.

        Raises:
            InputError: a request is refused: the message begins with its index, ``requests[7]: …``. Those before it
                have been submitted, it and those after it have not. Where a column cannot be read nothing has been
                submitted.

        >>> device = Device("tlc")
        >>> device.submit_many({"time_ns": [0, 0, 50], "op": "read", "offset": [0, 65536, 0], "bytes": 4096})
        range(0, 3)
        """
        columns = _COLUMNS.of(requests)
        count = len(columns[0])
        try:
            first = self._core.submit_many(*columns)
        except (OverflowError, TypeError):
            raise _COLUMNS.unread(columns) from None
        return range(first, first + count)

    def zones(self, first: int = 0, count: int | None = None) -> list[Zone]:
        """The zones from number ``first`` on, of a drive that has any: ``count`` of them, or all that follow.

        >>> drive = Device("zns")
        >>> drive.zones(count=1)[0].state
        'empty'
        """
        with Refusing():
            return [Zone(**zone) for zone in self._core.zones(first, count)]

    @property
    def fdp(self) -> Handles | None:
        """The reclaim units of placement handles, where the drive takes hints (``ftl.hints``)."""
        found = self._core.fdp()
        if found is None:
            return None
        events = tuple(FdpEvent(**event) for event in found["events"])
        written = found["host_written"], found["media_written"], found["media_erased"]
        groups = found["groups"], tuple(found["identifiers"])
        by_handle = tuple(HandleStatistics(**of) for of in found["by_handle"])
        return Handles(found["unit"], tuple(found["available"]), *written, events, *groups, by_handle)

    def advance(self, time_ns: int) -> list[Completion]:
        """Plays up to ``time_ns`` [ns]; returns what completed, in order of completion."""
        with Refusing():
            return [Completion(**done) for done in self._core.advance(time_ns)]

    def advance_to_completion(self) -> list[Completion]:
        """Plays until something completes; returns what did, nothing where nothing was left to do."""
        return [Completion(**done) for done in self._core.advance_to_completion()]

    def flush(self) -> None:
        """Writes everything buffered to flash and plays until all is idle."""
        self._core.flush()

    def rest(self, span: str, at: str | None = None) -> None:
        """Leaves the drive alone, powered and idle: everything buffered is written, then all of its data grows older,
        and is refreshed as configured (``refresh.period``). :attr:`now` goes on only by what the drive does meanwhile.

        Args:
            span: how long, such as ``"6mo"``.
            at: the temperature [C], such as ``"40C"``; that of the drive at rest where it is left out.

        Raises:
            InputError: a span or a temperature that is none.
        """
        self._core.rest(span, at)

    def conditions(self, offset: int) -> Conditions | None:
        """The conditions of the flash page behind a byte address; None where it was never written."""
        with Refusing():
            found = self._core.conditions(offset)
        return None if found is None else Conditions(**found)

    @property
    def now(self) -> int:
        """The present simulated time [ns]."""
        return self._core.now

    @property
    def capacity(self) -> int:
        """Logical capacity [B]."""
        return self._core.capacity

    @property
    def raw_capacity(self) -> int:
        """Capacity of the flash, spare blocks included [B]."""
        return self._core.raw_capacity

    @property
    def outstanding(self) -> int:
        """Requests that were submitted and have not completed."""
        return self._core.outstanding


class Array(Device):
    """An array of drives that is driven request by request.

    It has what a :class:`Device` has, and is made of the file of ``ssdlab run --array`` (docs/arrays.md). Drives that
    are to fail (``fails_at``) do so from its beginning on.

    >>> array = Array("examples/array.toml")
    >>> number = array.submit(0, "read", offset=0, bytes=16384)
    >>> [done] = array.advance_to_completion()
    >>> done.request == number
    True
    """

    __slots__ = ()

    def __init__(
        self,
        file: PathLike,
        *,
        device: Word | None = None,
        scheme: str | None = None,
        age: Age | None = None,
        settings: Settings | None = None,
        policies: Given | None = None,
        seed: int = 1,
        checkpoint: PathLike | None = None,
    ) -> None:
        """The options are those of :func:`ssdlab.run` with ``array``; ``checkpoint`` is what :meth:`save` of such
        an array has written, or a run on it: it goes on as if it had never stopped. Raises
        :class:`ssdlab.InputError` for what cannot be built."""
        with Refusing():
            self._core = _core.Device.of_array(
                fspath(file),
                device=None if device is None else word_of("device", device),
                scheme=scheme,
                age=age_text(age),
                settings=setting_texts(settings),
                policies=functions_of(policies),
                seed=seed,
                checkpoint=None if checkpoint is None else fspath(checkpoint),
            )

    @classmethod
    def load(cls, path: PathLike, *, scheme: str | None = None, settings: Settings | None = None) -> Array:
        """Refused: a checkpoint of an array does not hold its file. Write ``Array(FILE, checkpoint=path)``.

        Raises:
            InputError: always.
        """
        raise _core.InputError(
            f"{fspath(path)}: the checkpoint of an array does not hold its file\n"
            "  help: write ssdlab.Array(FILE, checkpoint=PATH)"
        )


_COLUMNS = Columns(
    "requests",
    {"time_ns": None, "op": None, "offset": None, "bytes": None, "queue": 0, "hint": 0},
    {"queue": (1 << 16) - 1, "hint": (1 << 16) - 1},
)
"""What :meth:`Device.submit_many` takes."""
