"""Where a cache keeps the results of cases: journals, which grow by a record a result, and batches of many results.

A journal belongs to one process at a time (a lock on its file, which ends with the process); then the next one goes on
with it. When it is long enough it becomes a batch: a Parquet file with a row a result and a column a statistic, which
is called by the hash of its bytes and never changes. Every record has its digest. So a result that was kept is there
whole or not at all, and one that is in a journal and in a batch, as its writer was killed between the two, counts once.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab.common.output import lock, write
from ssdlab.sweeps.times import TIMES, packed, unpack

if TYPE_CHECKING:
    import polars

Payload = dict[str, Any]
Described = list[list[str]]

JOURNAL, BATCH, KEYS = ".journal", ".parquet", ".keys"
"""What the files end in."""
SHAPE_BYTES = 8
KEY_BYTES = 16
"""The part of a case's hash that tells it from all others."""
MAGIC = b"ssdlab journal 1\n"
HEAD = struct.Struct("<IB16s")
"""What a record begins with: the length of its body [B], its kind, a digest of both."""
DESCRIBED, RESULT = 0, 1
"""Kinds of records: the names, units and descriptions of a result's statistics; a result."""
SYNC_S = 1.0
"""The longest time from the writing of a record until it is on the disk [s]: a cut of the power loses that much."""
FULL = 4096
"""Results of which a journal becomes a batch: 50 MB of them are held in memory then, and a batch's file is 1 MB."""
NOT_STATISTICS = ("key", "shape", "shapes", "findings", "manifest", "rest")
"""The columns of a batch that are no statistics, beside those of times."""


def short(key: str) -> bytes:
    """A case's hash as stores know it."""
    return bytes.fromhex(key[: 2 * KEY_BYTES])


class Damaged(Exception):  # noqa: N818 -- what is damaged is played again
    """A file or a record is not what its digest says."""


class Record(NamedTuple):
    """A result in a journal."""

    key: bytes
    offset: int
    """Of its body [B]."""
    length: int


class Kept(NamedTuple):
    """A result, what is alike in most of them as text."""

    key: bytes
    described: str
    """The names, units and descriptions of its statistics, as JSON."""
    manifest: str
    """As JSON."""
    data: dict[str, Any]
    """Without the manifest."""
    distributions: list[Any]


class Journal:
    """Results that have been kept one by one.

    Args:
        path: its file.
        own: this process writes it, and has its lock.
    """

    def __init__(self, path: str, file: io.FileIO, own: bool) -> None:
        self.path = path
        self.own = own
        self.records: list[Record] = []
        self.problem = ""
        """What was wrong with it, if anything was."""
        self._file = file
        self._end = 0
        self._described: dict[bytes, bytes] = {}
        """Names, units and descriptions of statistics, by their digest."""
        self._first: bytes | None = None
        """The text of its first result, by which others are compressed."""
        self._last: tuple[Any, bytes, bytes] | None = None
        """Those of the last result: as they were given, as text, and their digest."""
        self._synced = 0.0

    @classmethod
    def open(cls, path: str) -> Journal | None:
        """A journal, ours where no process has it; None where it has gone meanwhile.

        Raises:
            Damaged: it is no journal of this ssdlab.
        """
        try:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            own = lock(handle)
        except FileNotFoundError:
            return None
        except OSError:  # a folder that is only read
            handle, own = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW), False
        found = cls(path, io.FileIO(handle, "r+b" if own else "rb"), own)
        if not found.is_there:  # its owner has made a batch of it meanwhile
            found.close()
            return None
        found.read()
        return found

    @classmethod
    def create(cls, folder: str) -> Journal:
        """A new journal."""
        while True:
            path = os.path.join(folder, f"{os.urandom(8).hex()}{JOURNAL}")
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            if lock(handle):
                break
            os.close(handle)  # another process has found it already, and goes on with it
        found = cls(path, io.FileIO(handle, "r+b"), own=True)
        found._append(MAGIC)
        return found

    def read(self) -> list[Record]:
        """What has been written since it was read last. What is torn at its end is cut off where it is ours, and is
        still being written where it is another's."""
        if 0 < os.fstat(self._file.fileno()).st_size <= self._end:
            return []
        self._file.seek(self._end)
        data = self._file.readall() or b""
        at = 0
        if self._end == 0:
            if not data.startswith(MAGIC):
                if not MAGIC.startswith(data):
                    raise Damaged
                if self.own:  # its writer was killed when it began
                    self._append(MAGIC)
                return []
            at = len(MAGIC)
        found: list[Record] = []
        while at + HEAD.size <= len(data):
            length, kind, digest = HEAD.unpack_from(data, at)
            body = data[at + HEAD.size : at + HEAD.size + length]
            if len(body) < length:
                break
            if _digest(kind, body) != digest:
                self.problem = "holds a damaged record"
            elif kind == DESCRIBED:
                self._described[_shape(body)] = body
            elif kind == RESULT:
                found.append(Record(body[:KEY_BYTES], self._end + at + HEAD.size, length))
                _, first, packed = _parts(body)
                if self._first is None and first:
                    self._first = zlib.decompress(packed)
            at += HEAD.size + length
        self._end += at
        if at < len(data) and self.own:
            self.problem = self.problem or "ends in a torn record"
            self._file.truncate(self._end)
        self.records += found
        return found

    def append(self, key: bytes, payload: Mapping[str, Any], now: float) -> Record:
        """Writes a result behind the others. ``now``: a clock, which tells when they are to be on the disk [s]."""
        if self._last is None or self._last[0] != payload["described"]:
            described = _text(payload["described"]).encode()
            self._last = payload["described"], described, _shape(described)
        _, described, shape = self._last
        if shape not in self._described:
            self._append(_record(DESCRIBED, described))
            self._described[shape] = described
        data = payload["data"]
        rest = _text([{**data, "manifest": None}, payload["distributions"]])
        text = f"{_text(data['manifest'])}\n{rest}".encode()
        first = self._first is None
        if self._first is None:
            packed = zlib.compress(text, 1)
        else:
            by = zlib.compressobj(1, zdict=self._first)
            packed = by.compress(text) + by.flush()
        body = key + shape + bytes([first]) + packed
        record = Record(key, self._end + HEAD.size, len(body))
        self._append(_record(RESULT, body))
        # Once it is in the file: what is compressed by a text that is not there could not be read.
        self._first = text if self._first is None else self._first
        self.records.append(record)
        if now > self._synced + SYNC_S:
            self.sync()
            self._synced = now
        return record

    def payload(self, record: Record) -> Payload:
        """A result.

        Raises:
            Damaged: it is not what was written.
        """
        kept = self.kept(record)
        try:
            kept.data["manifest"] = json.loads(kept.manifest)
            described = _described(kept.described)
        except (ValueError, RecursionError):
            raise Damaged from None
        return {"data": kept.data, "described": described, "distributions": kept.distributions}

    def kept(self, record: Record) -> Kept:
        """A result as it is written.

        Raises:
            Damaged: it is not what was written.
        """
        body = os.pread(self._file.fileno(), record.length, record.offset)
        head = os.pread(self._file.fileno(), HEAD.size, record.offset - HEAD.size)
        if len(head) < HEAD.size or HEAD.unpack(head)[2] != _digest(RESULT, body):
            raise Damaged
        shape, first, packed = _parts(body)
        try:
            text = zlib.decompress(packed) if first else _unpacked(packed, self._first or b"")
            manifest, rest = text.decode().split("\n")
            data, distributions = json.loads(rest)
            return Kept(record.key, self._described[shape].decode(), manifest, data, distributions)
        except (zlib.error, ValueError, KeyError, RecursionError):
            raise Damaged from None

    @property
    def is_full(self) -> bool:
        """Whether it is time for a batch."""
        return len(self.records) >= FULL

    @property
    def is_there(self) -> bool:
        """Whether its file is still there; otherwise a batch has been made of it."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), os.stat(self.path))
        except OSError:
            return False

    def sync(self) -> None:
        """Has all of it on the disk."""
        with suppress(OSError):  # a file system that cannot
            os.fsync(self._file.fileno())

    def remove(self) -> None:
        """Removes the file: what it held is in a batch."""
        with suppress(OSError):
            os.unlink(self.path)
        self.close()

    def close(self) -> None:
        """Lets another process have it."""
        self._file.close()

    def _append(self, data: bytes) -> None:
        """Writes all of something, or none of it: a full disk leaves what was there."""
        try:
            self._file.seek(self._end)
            view = memoryview(data)
            while view:
                view = view[self._file.write(view) or 0 :]
        except OSError:
            with suppress(OSError):
                self._file.truncate(self._end)
            raise
        self._end += len(data)


def _record(kind: int, body: bytes) -> bytes:
    return HEAD.pack(len(body), kind, _digest(kind, body)) + body


def _digest(kind: int, body: bytes) -> bytes:
    return hashlib.blake2b(bytes([kind]) + body, digest_size=16).digest()


def _shape(described: bytes) -> bytes:
    """What a result calls the names, units and descriptions of its statistics by."""
    return hashlib.blake2b(described, digest_size=SHAPE_BYTES).digest()


def _parts(body: bytes) -> tuple[bytes, int, bytes]:
    """Of the record of a result: its shape, whether it is compressed by itself, its compressed text."""
    middle = KEY_BYTES + SHAPE_BYTES
    return body[KEY_BYTES:middle], body[middle], body[middle + 1 :]


def _unpacked(packed: bytes, first: bytes) -> bytes:
    by = zlib.decompressobj(zdict=first)
    return by.decompress(packed) + by.flush()


class Batch:
    """Results in a Parquet file that is called by the hash of its bytes."""

    def __init__(self, path: str, keys: Sequence[bytes]) -> None:
        self.path = path
        self.keys = keys
        """Of its rows."""
        self._sound: bool | None = None
        self._shapes: list[Described] = []
        self._scalars: frozenset[str] | None = None

    @classmethod
    def open(cls, path: str) -> Batch:
        """A batch, by its index; it is read when one of its results is asked for.

        Raises:
            Damaged: the index is missing or damaged, and so is the batch.
        """
        try:
            with open(path.removesuffix(BATCH) + KEYS, "rb") as file:
                digest, keys = file.read(32), file.read()
            if hashlib.sha256(keys).digest() == digest:
                return cls(path, _split(keys))
        except OSError:
            pass
        found = cls(path, [])
        found.keys = found.columns(["key"])["key"].to_list()
        with suppress(Exception):  # a folder that is only read
            write(path.removesuffix(BATCH) + KEYS, hashlib.sha256(b"".join(found.keys)).digest() + b"".join(found.keys))
        return found

    @classmethod
    def create(cls, folder: str, results: Iterable[Kept]) -> Batch | None:
        """Writes a batch: whole, or not at all; None where there is nothing to write.

        Raises:
            SimulationError: the disk is full, or another reason why it cannot be written.
        """
        frame = _frame(results)
        if not frame.height:
            return None
        content = io.BytesIO()
        frame.write_parquet(content, compression="zstd", compression_level=6, statistics=False)
        data = content.getvalue()
        path = os.path.join(folder, hashlib.sha256(data).hexdigest()[:32] + BATCH)
        write(path, data)
        keys = frame["key"].to_list()
        write(path.removesuffix(BATCH) + KEYS, hashlib.sha256(b"".join(keys)).digest() + b"".join(keys))
        sync_folder(folder)
        return cls(path, keys)

    def check(self) -> None:
        """Reads the file, once.

        Raises:
            Damaged: it is not what was written.
        """
        if self._sound is None:
            try:
                with open(self.path, "rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError:
                digest = ""
            self._sound = os.path.basename(self.path) == digest[:32] + BATCH
        if not self._sound:
            raise Damaged

    def columns(self, names: Iterable[str]) -> polars.DataFrame:
        """Some of its columns: statistics, and those of :data:`NOT_STATISTICS`."""
        import polars

        self.check()
        try:
            return polars.read_parquet(self.path, columns=list(names))
        except (OSError, polars.exceptions.PolarsError):
            raise Damaged from None

    @property
    def shapes(self) -> list[Described]:
        """The statistics of its results: for each shape name, unit and description of each."""
        import polars

        if not self._shapes:
            self.check()
            self._shapes = json.loads(polars.read_parquet(self.path, columns=["shapes"], n_rows=1)["shapes"][0])
        return self._shapes

    @property
    def scalars(self) -> frozenset[str]:
        """The statistics that have a column: in some of the results at least they are one number."""
        import polars

        if self._scalars is None:
            self.check()
            names = frozenset(polars.read_parquet_schema(self.path)) - {*NOT_STATISTICS}
            self._scalars = frozenset(name for name in names if not name.startswith(TIMES))
        return self._scalars

    def rows(self) -> Callable[[int], Payload]:
        """Gives what takes out the results one by one: the whole batch is in memory meanwhile."""
        import polars

        self.check()
        frame = polars.read_parquet(self.path)
        shapes = self.shapes

        def row(number: int) -> Payload:
            found = frame.row(number, named=True)
            described = shapes[found["shape"]]
            data, distributions = json.loads(found["rest"])
            data["manifest"] = json.loads(found["manifest"])
            if found["findings"] is not None:
                data["warnings"] = json.loads(found["findings"])
            for name, *_ in described:
                if name in found:
                    *parts, last = name.split(".")
                    level = data
                    for part in parts:
                        level = level[part]
                    if not isinstance(level[last], list):
                        value = found[name]
                        level[last] = json.loads(value) if isinstance(value, str) else value
            unpack(data, found)
            return {"data": data, "described": described, "distributions": distributions}

        return row


def _split(keys: bytes) -> list[bytes]:
    return [keys[at : at + KEY_BYTES] for at in range(0, len(keys), KEY_BYTES)]


def _frame(results: Iterable[Kept]) -> polars.DataFrame:
    """Results as a table: what are numbers of their own as columns, the rest as text."""
    import polars

    shapes: dict[str, int] = {}
    paths: list[list[tuple[str, list[str]]]] = []
    columns: dict[str, list[Any]] = {}
    others: dict[str, list[Any]] = {name: [] for name in NOT_STATISTICS if name != "shapes"}
    for count, kept in enumerate(results):
        shape = shapes.setdefault(kept.described, len(shapes))
        if shape == len(paths):
            paths.append([(name, name.split(".")) for name, *_ in json.loads(kept.described)])
        for name, value in (*packed(kept.data).items(), *_taken(kept.data, paths[shape])):
            column = columns.setdefault(name, [])
            if len(column) < count:
                column += [None] * (count - len(column))
            column.append(value)
        findings = kept.data.get("warnings")
        if findings is not None:
            kept.data["warnings"] = None
        others["key"].append(kept.key)
        others["shape"].append(shape)
        others["findings"].append(None if findings is None else _text(findings))
        others["manifest"].append(kept.manifest)
        others["rest"].append(_text([kept.data, kept.distributions]))
    lines = len(others["key"])
    kinds = {"key": polars.Binary, "shape": polars.Int32}
    series = [polars.Series(name, values, dtype=kinds.get(name, polars.String)) for name, values in others.items()]
    whole = "[" + ",".join(shapes) + "]"
    series.append(polars.Series("shapes", [whole, *[None] * lines][:lines], dtype=polars.String))
    series += [_column(name, values + [None] * (lines - len(values))) for name, values in columns.items()]
    return polars.DataFrame(series)


def _taken(data: dict[str, Any], paths: Iterable[tuple[str, list[str]]]) -> Iterator[tuple[str, Any]]:
    """The statistics that are one number; null takes their place in ``data``."""
    for name, (*parts, last) in paths:
        level = data
        for part in parts:
            level = level[part]
        value = level[last]
        if not isinstance(value, list):
            level[last] = None
            yield name, value


def _column(name: str, values: list[Any]) -> polars.Series:
    """A statistic: whole numbers, or floats; what is neither throughout, as text. Times: lists of whole numbers."""
    import polars

    if name.startswith(TIMES):
        return polars.Series(name, values, dtype=polars.List(polars.Int64))
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {float}:
        return polars.Series(name, values, dtype=polars.Float64)
    if kinds == {int} and all(value is None or -(1 << 63) <= value < 1 << 63 for value in values):
        return polars.Series(name, values, dtype=polars.Int64)
    texts = [None if value is None else json.dumps(value) for value in values]
    return polars.Series(name, texts, dtype=polars.String)


@lru_cache(maxsize=16)
def _described(text: str) -> list[list[str]]:
    """What a result calls its statistics by: results of a kind share it."""
    found: list[list[str]] = json.loads(text)
    return found


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def sync_folder(folder: str) -> None:
    """Has the names in a folder on the disk."""
    with suppress(OSError):  # a file system that cannot
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
