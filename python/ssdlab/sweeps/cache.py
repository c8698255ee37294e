"""Results of cases, kept on disk under the hash of everything that decides them."""

from __future__ import annotations

import bisect
import fcntl
import gzip
import hashlib
import json
import os
import stat
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock

from ssdlab._core import SimulationError
from ssdlab.common import signals
from ssdlab.common.output import remove_stale, write
from ssdlab.runs.findings import Finding, of_data
from ssdlab.runs.manifest import key_of
from ssdlab.runs.result import Result
from ssdlab.sweeps.store import BATCH, JOURNAL, KEY_BYTES, Batch, Damaged, Journal, Kept, Payload, Record, short
from ssdlab.sweeps.table import PLACE, Statistics

RESULT, FAILURE, CHECKPOINT, TEMPORARY = ".json.gz", ".failed.gz", ".checkpoint", ".tmp"
"""What files of a case end in, behind the key. Results had a file each until there were batches."""
CLAIMS = "claims"
"""The file of the cases that are being played: it is empty, and each case is the lock of a byte of it."""
CLAIM_DIGITS = 15
"""The first digits of a case's hash say which byte [60 bits]; two cases that share one would wait for each other."""
BATCHES = "batches"
"""The folder of journals and batches within a cache's."""
MANY = 512
"""Results of which a sweep makes a batch when it ends; fewer stay in the journal, with which the next one goes on."""
RECENT_NS = 50_000_000
"""A folder that was written so lately may be written again without showing it: file systems' clocks are coarse [ns]."""


class Cache:
    """A folder of results. Any number of processes may use it at once: results appear whole or not at all, and a case
    is claimed before it is played."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self.unusable: dict[str, str] = {}
        """Entries that were found and cannot be used, and why: their cases are played again."""
        self._batches = os.path.join(self.folder, BATCHES)
        self._where: dict[bytes, tuple[Journal, Record] | tuple[Batch, int]] = {}
        """Where each result is."""
        self._known: set[str] = set()
        """The files that have been read."""
        self._own: list[Journal] = []
        """The journals that are ours; results are written to the first one."""
        self._others: list[Journal] = []
        self._moved: list[str] = []
        """Files whose results are in our journals now; they go when these are on the disk."""
        self._listed = (0, 0)
        """When the folder had been changed as it was listed, and when that was [ns]."""
        self._claims: Claims | None = None
        self._claiming = Lock()
        self._sorted: list[bytes] = []
        self._rows: tuple[Batch, Callable[[int], Payload]] | None = None

    def __len__(self) -> int:
        """How many results there are, but for those of before that have a file of their own."""
        self._refresh()
        return len(self._where)

    def __contains__(self, key: str) -> bool:
        """Whether there is the result of a case. One that is in a file of its own moves to a journal."""
        where = self._find(short(key))
        if where is not None:
            return True
        payload = self._result(self._path(key, RESULT), key)
        if payload is None:
            return False
        with suppress(SimulationError, OSError):  # a folder that is only read
            self.put(key, payload)
            self._moved.append(self._path(key, RESULT))
        return True

    def get(self, key: str) -> Payload | None:
        """The result of a case; None where there is none, or where it cannot be used: it is computed again."""
        where = self._find(short(key))
        return self._result(self._path(key, RESULT), key) if where is None else self._payload(where)

    def find(self, start: str) -> Payload | None:
        """The result of the case whose key begins with ``start``, two digits or more; None where there is none."""
        self._refresh()
        if len(self._sorted) != len(self._where):
            self._sorted = sorted(self._where)
        known = start[: 2 * KEY_BYTES]
        place = bisect.bisect_left(self._sorted, bytes.fromhex(known[: len(known) // 2 * 2]))
        for key in self._sorted[place:]:
            if not key.hex().startswith(known[: len(known) // 2 * 2]):
                break
            if key.hex().startswith(known) and (where := self._find(key)) is not None:
                return self._payload(where)
        folder = os.path.join(self.folder, start[:2])
        with suppress(FileNotFoundError, NotADirectoryError):
            for name in sorted(os.listdir(folder)):
                if name.startswith(start) and name.endswith(RESULT):
                    return self._result(os.path.join(folder, name), name.removesuffix(RESULT))
        return None

    def put(self, key: str, payload: Payload) -> None:
        """Keeps the result of a case."""
        try:
            if not self._own:
                os.makedirs(self._batches, exist_ok=True)
                self._own.append(Journal.create(self._batches))
                self._known.add(self._own[0].path)
            journal = self._own[0]
            with signals.held():
                record = journal.append(short(key), payload, time.monotonic())
        except OSError as error:
            raise self._failed(error) from None
        self._where[record.key] = (journal, record)
        self.forgive(key)
        if journal.is_full:
            self._make_batch()

    def gather(
        self, wanted: Sequence[tuple[int, str]], is_kept: Callable[[str], bool], statistics: Statistics
    ) -> dict[int, tuple[Finding, ...]]:
        """Adds the statistics of cases to those of a table, by place and key: the names that ``is_kept`` takes. Returns
        the warnings of those whose results there are."""
        found: dict[int, tuple[Finding, ...]] = {}
        batches: dict[Batch, list[tuple[int, int]]] = {}
        for place, key in wanted:
            where = self._find(short(key))
            if where is not None and isinstance(where[0], Batch):
                batches.setdefault(where[0], []).append((place, where[1]))
                continue
            payload = self.get(key)
            if payload is not None:
                scalars = Result.from_payload(payload).scalars()
                statistics.add(place, {name: value for name, value, _, _ in scalars if is_kept(name)})
                found[place] = of_data(payload["data"])
        for batch, rows in batches.items():
            with self._noting(batch):
                found |= _gather(batch, rows, is_kept, statistics)
        return found

    def close(self) -> None:
        """Has all results on the disk, and lets other processes go on with the journals."""
        if sum(len(journal.records) for journal in self._own) >= MANY:
            with suppress(SimulationError):  # there is no room: they stay where they are
                self._make_batch()
        for journal in (*self._own, *self._others):
            if journal.own:
                journal.sync()
            journal.close()
        self._remove_moved()
        if self._claims is not None:
            self._claims.close()
        self._claims = None
        self._own, self._others, self._where, self._known = [], [], {}, set()
        self._listed = (0, 0)

    def checkpoint(self, key: str) -> str:
        """Where the state is kept in which a run leaves its drive."""
        path = self._path(key, CHECKPOINT)
        self._clear(path)
        return path

    def failure(self, key: str) -> str | None:
        """Why a case failed when it was run last, if it did."""
        path = self._path(key, FAILURE)
        kept = self._read(path)
        if kept is None:
            return None
        if kept.get("key") != key or not isinstance(kept.get("error"), str):
            self.unusable[path] = "belongs to another case"
            return None
        return str(kept["error"])

    def fail(self, key: str, error: str) -> None:
        """Keeps why a case failed."""
        self._write(self._path(key, FAILURE), {"key": key, "error": error})

    def forgive(self, key: str) -> None:
        """Forgets that a case failed."""
        with suppress(OSError):
            os.unlink(self._path(key, FAILURE))

    def claim(self, key: str) -> CaseLock | None:
        """The right to play a case; None while another sweep has it. It ends with the process, however that ends.
        Where the file system has no locks everybody has it: then a case may be played twice."""
        with self._claiming:
            if self._claims is None:
                path = os.path.join(self.folder, CLAIMS)
                try:
                    os.makedirs(self.folder, exist_ok=True)
                    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
                    self._claims = Claims(os.open(path, flags, 0o666))
                except OSError as error:
                    raise self._failed(error) from None
            return self._claims.claim(key)

    def clean(self) -> None:
        """Removes what processes have left behind when they were killed."""
        self._refresh()
        with suppress(OSError):
            for folder in os.scandir(self.folder):
                with suppress(OSError):
                    entries = list(os.scandir(folder))
                    remove_stale([entry.path for entry in entries if entry.name.endswith((TEMPORARY, ".claim"))])
                    old = [entry for entry in entries if entry.name.endswith(RESULT)]
                    self._moved += [entry.path for entry in old if self._is_moved(entry.name.removesuffix(RESULT))]
        if self._moved:
            for journal in self._own:
                journal.sync()
            self._remove_moved()

    def _is_moved(self, key: str) -> bool:
        """Whether the result in a file of its own is in a batch, or in a journal of ours."""
        try:
            where = self._where.get(short(key))
        except ValueError:
            return False
        return where is not None and (isinstance(where[0], Batch) or where[0].own)

    def _find(self, key: bytes) -> tuple[Journal, Record] | tuple[Batch, int] | None:
        """Where a result is; a batch that is damaged counts for nothing."""
        if key not in self._where:
            self._refresh()
        where = self._where.get(key)
        if where is not None and isinstance(where[0], Batch):
            with self._noting(where[0]):
                where[0].check()
            where = self._where.get(key)
        return where

    def _refresh(self) -> None:
        """Takes in what other processes have kept meanwhile."""
        for journal in self._others:
            self._take(journal, journal.read())
        try:
            changed = os.stat(self._batches).st_mtime_ns
        except OSError:
            return
        before, then = self._listed
        if changed == before and then - changed > RECENT_NS:
            return
        self._listed = (changed, time.time_ns())
        gone = [journal for journal in self._others if not journal.is_there]
        for name in sorted(os.listdir(self._batches)):
            path = os.path.join(self._batches, name)
            if path in self._known:
                continue
            if name.endswith(BATCH):
                self._known.add(path)
                self._open_batch(path)
            elif name.endswith(JOURNAL):
                self._open_journal(path)
        for journal in gone:
            self._others.remove(journal)
            journal.close()
            self._where = {key: where for key, where in self._where.items() if where[0] is not journal}

    def _open_journal(self, path: str) -> None:
        try:
            journal = Journal.open(path)
        except (Damaged, OSError):
            self._set_aside(path)
            return
        if journal is not None:
            self._known.add(path)
            (self._own if journal.own else self._others).append(journal)
            self._take(journal, journal.records)
            if journal.problem:
                self.unusable[path] = journal.problem

    def _take(self, journal: Journal, records: Iterable[Record]) -> None:
        for record in records:
            if not isinstance(self._where.get(record.key, (None,))[0], Batch):
                self._where[record.key] = (journal, record)

    def _open_batch(self, path: str) -> None:
        try:
            batch = Batch.open(path)
        except Damaged:
            self._set_aside(path)
            return
        self._where |= {key: (batch, row) for row, key in enumerate(batch.keys)}

    def _make_batch(self) -> None:
        """Makes a batch of what is in our journals, which then go, in this order: nothing is lost on the way."""

        def results() -> Iterable[Kept]:
            done = set()
            for journal in self._own:
                for record in journal.records:
                    where = self._where.get(record.key)
                    if record.key not in done and (where is None or not isinstance(where[0], Batch)):
                        try:
                            yield journal.kept(record)
                        except Damaged:
                            self.unusable[journal.path] = "holds a damaged record"
                            self._where.pop(record.key, None)
                        else:
                            done.add(record.key)

        for journal in self._own:
            journal.sync()
        batch = Batch.create(self._batches, results())
        if batch is not None:
            self._known.add(batch.path)
            self._where |= {key: (batch, row) for row, key in enumerate(batch.keys)}
        for journal in self._own:
            journal.remove()
        self._own = []
        self._remove_moved()

    def _remove_moved(self) -> None:
        for path in self._moved:
            with suppress(OSError):
                os.unlink(path)
        self._moved = []

    def _payload(self, where: tuple[Journal, Record] | tuple[Batch, int]) -> Payload | None:
        holder, place = where
        if isinstance(holder, Journal):
            assert isinstance(place, Record), "Invariant: what is in a journal is a record"
            try:
                return holder.payload(place)
            except Damaged:
                self.unusable[holder.path] = "holds a damaged record"
                del self._where[place.key]
                return None
        assert isinstance(place, int), "Invariant: what is in a batch is a row"
        with self._noting(holder):
            if self._rows is None or self._rows[0] is not holder:
                self._rows = (holder, holder.rows())
            return self._rows[1](place)
        return None

    @contextmanager
    def _noting(self, batch: Batch) -> Iterator[None]:
        """Drops a batch where it turns out to be damaged."""
        try:
            yield
        except Damaged:
            self._where = {key: where for key, where in self._where.items() if where[0] is not batch}
            self._set_aside(batch.path)

    def _set_aside(self, path: str) -> None:
        """Notes a damaged file, and lets it be found no more."""
        self.unusable[path] = "is damaged"
        with suppress(OSError):
            os.rename(path, f"{path}.damaged")

    def _path(self, key: str, suffix: str) -> str:
        return os.path.join(self.folder, key[:2], key + suffix)

    def _result(self, path: str, key: str) -> Payload | None:
        payload = self._read(path)
        if payload is None:
            return None
        # What was played stands in the result: its hash is the key.
        try:
            if key_of(payload["data"]["manifest"]) != key:
                self.unusable[path] = "holds the result of another case"
                return None
            Result.from_payload(payload).scalars()
            _ = payload["data"]["process"]
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            self.unusable[path] = "is no result of this ssdlab"
            return None
        return payload

    def _read(self, path: str) -> Payload | None:
        try:
            with open(path, "rb") as file:
                data = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.unusable[path] = f"cannot be read ({error.strerror})"
            return None
        try:
            digest, body = data[:64], data[64:]
            if hashlib.sha256(body).hexdigest().encode() == digest:
                payload = json.loads(gzip.decompress(body))
                if isinstance(payload, dict):
                    return payload
        except (OSError, EOFError, ValueError, zlib.error, RecursionError):
            pass
        self.unusable[path] = "is damaged"
        return None

    def _write(self, path: str, payload: Payload) -> None:
        body = gzip.compress(json.dumps(payload, separators=(",", ":")).encode(), compresslevel=6, mtime=0)
        self._clear(path)
        write(path, hashlib.sha256(body).hexdigest().encode() + body)

    def _clear(self, path: str) -> None:
        """Makes room for a file, and a folder for it. What else has its name is renamed, and an entry that cannot be
        used is removed."""
        folder = os.path.dirname(path)
        try:
            for existing, is_right in ((folder, stat.S_ISDIR), (path, stat.S_ISREG)):
                if _is_other(existing, is_right):
                    os.rename(existing, f"{existing}.{os.urandom(4).hex()}.aside")
            os.makedirs(folder, exist_ok=True)
            if path in self.unusable:
                with suppress(FileNotFoundError):
                    os.unlink(path)
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> SimulationError:
        return SimulationError(
            f"{self.folder}: cannot be written: {error.strerror}\n  help: make room, or give another cache"
        )


def _gather(
    batch: Batch, rows: Sequence[tuple[int, int]], is_kept: Callable[[str], bool], statistics: Statistics
) -> dict[int, tuple[Finding, ...]]:
    """Adds the statistics of rows of a batch to those of a table, by place and row; returns their warnings."""
    import polars

    names = [[name for name, *_ in described if is_kept(name)] for described in batch.shapes]
    wanted = dict.fromkeys(name for each in names for name in each)
    there = batch.scalars
    frame = batch.columns(["shape", "findings", *(name for name in wanted if name in there)])
    frame = frame[[row for _, row in rows]]
    places = [place for place, _ in rows]
    values = [
        polars.Series(name, [None if text is None else float(json.loads(text)) for text in column])
        if (column := frame[name]).dtype == polars.String
        else column.cast(polars.Float64)
        for name in wanted
        if name in there
    ]
    shapes = [statistics.shape(tuple(name for name in each if name in there)) for each in names]
    lines = polars.DataFrame([polars.Series(PLACE, places, dtype=polars.Int64), *values])
    statistics.extend(lines, [shapes[shape] for shape in frame["shape"]])
    texts = {text: of_data({"warnings": json.loads(text)}) for text in set(frame["findings"]) if text is not None}
    return {place: texts.get(text, ()) for place, text in zip(places, frame["findings"], strict=True)}


def _is_other(path: str, is_right: Callable[[int], bool]) -> bool:
    """Whether something is there that is not of the right kind. It is looked at once: claims come and go meanwhile."""
    try:
        return not is_right(os.stat(path).st_mode)
    except OSError:  # nothing, a link to nothing, links in a circle
        return os.path.islink(path)


class Claims:
    """The locks of cases. They belong to the open file: another one, of this process too, finds them taken.

    Args:
        handle: the file of claims, open.
    """

    def __init__(self, handle: int) -> None:
        self._file = os.fdopen(handle, "r+b", buffering=0)
        self._ours: set[int] = set()

    def claim(self, key: str) -> CaseLock | None:
        """The right to play a case; None while another one has it."""
        place = int(key[:CLAIM_DIGITS], 16)
        if place in self._ours or not self._set(place, fcntl.F_WRLCK):
            return None
        self._ours.add(place)
        return CaseLock(self, place)

    def release(self, place: int) -> None:
        """Gives a right back."""
        self._ours.discard(place)
        if not self._file.closed:
            self._set(place, fcntl.F_UNLCK)

    def close(self) -> None:
        """Gives all rights back."""
        self._file.close()

    def _set(self, place: int, kind: int) -> bool:
        # struct flock: type, whence, start, length, process.
        wanted = struct.pack("hhqqi", kind, os.SEEK_SET, place, 1, 0)
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, wanted)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:
            return True
        return True


class CaseLock:
    """The right to play a case."""

    def __init__(self, claims: Claims, place: int) -> None:
        self._claims = claims
        self._place = place

    def release(self) -> None:
        """Gives the right back."""
        self._claims.release(self._place)
