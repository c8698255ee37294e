"""Results of cases, kept on disk under the hash of everything that decides them."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import stat
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ssdlab._core import SimulationError
from ssdlab.common.output import lock, remove_stale, write
from ssdlab.runs.manifest import key_of
from ssdlab.runs.result import Result

Payload = dict[str, Any]

RESULT, FAILURE, CHECKPOINT, CLAIM, TEMPORARY = ".json.gz", ".failed.gz", ".checkpoint", ".claim", ".tmp"
"""What files of a cache end in, behind the key."""


class Cache:
    """A folder of results. Any number of processes may use it at once: entries appear whole or not at all, and a case
    is claimed before it is played."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self.unusable: dict[str, str] = {}
        """Entries that were found and cannot be used, and why: their cases are played again."""

    def get(self, key: str) -> Payload | None:
        """The result of a case; None where there is none, or where it cannot be used: it is computed again."""
        return self._result(self._path(key, RESULT), key)

    def find(self, start: str) -> Payload | None:
        """The result of the case whose key begins with ``start``, two digits or more; None where there is none."""
        folder = os.path.join(self.folder, start[:2])
        with suppress(FileNotFoundError, NotADirectoryError):
            for name in sorted(os.listdir(folder)):
                if name.startswith(start) and name.endswith(RESULT):
                    return self._result(os.path.join(folder, name), name.removesuffix(RESULT))
        return None

    def put(self, key: str, payload: Payload) -> None:
        """Keeps the result of a case."""
        self._write(self._path(key, RESULT), payload)
        self.forgive(key)

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
        path = self._path(key, CLAIM)
        self._clear(path)
        while True:
            try:
                handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            except OSError as error:
                raise self._failed(error) from None
            if not lock(handle):
                os.close(handle)
                return None
            # Its last owner may have removed the file meanwhile: then the lock is on nothing.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    return CaseLock(handle, path)
            os.close(handle)

    def clean(self) -> None:
        """Removes what processes have left behind when they were killed."""
        with suppress(OSError):
            for shard in os.scandir(self.folder):
                with suppress(OSError):
                    names = [entry.path for entry in os.scandir(shard) if entry.name.endswith((TEMPORARY, CLAIM))]
                    remove_stale(names)

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


def _is_other(path: str, is_right: Callable[[int], bool]) -> bool:
    """Whether something is there that is not of the right kind. It is looked at once: claims come and go meanwhile."""
    try:
        return not is_right(os.stat(path).st_mode)
    except OSError:  # nothing, a link to nothing, links in a circle
        return os.path.islink(path)


class CaseLock:
    """The right to play a case."""

    def __init__(self, handle: int, path: str) -> None:
        self._handle = handle
        self._path = path

    def release(self) -> None:
        """Gives the right back."""
        with suppress(OSError):
            os.unlink(self._path)
        os.close(self._handle)
