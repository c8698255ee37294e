"""What opening runs has found out: the hashes of cases, by what asks for them.

The hash of a case is that of all that decides its result, and to know that the core has to read and check the case's
inputs. What asks for it is a few options and the files that they name; where these are what they were, and ssdlab is,
so is the hash. A case that reads a file which its options do not name (a device's base, a chip's file, a policy) is
opened each time.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any

from ssdlab.common.output import write
from ssdlab.runs.options import Options

ENDING = ".opened"
ASKED_BYTES, KEY_BYTES = 16, 32
LEAST = 256
"""This many new hashes are worth a file: to open as many runs takes a tenth of a second."""
LONGEST = 4096
"""No path is longer."""


class Opened:
    """Hashes of cases, kept in a folder; any number of processes may add to it.

    Args:
        folder: where they are kept.
        cases: how many are asked for: what is kept is not read for a few.
    """

    def __init__(self, folder: str, cases: int) -> None:
        self._folder = folder
        self._is_worth_it = cases >= LEAST
        self._known: dict[bytes, bytes] | None = None
        self._new: dict[bytes, bytes] = {}
        self._states: dict[str, tuple[Any, ...] | None] = {}

    def files(self, options: Options) -> tuple[str, ...]:
        """The files that a run's options name, as absolute paths."""
        return tuple(dict.fromkeys(state[0] for state in self._named(options)))

    def asked(self, options: Options) -> bytes | None:
        """What asks for a case's hash; None where that may not be all."""
        if (
            not self._is_worth_it
            or options.policies is not None
            or options.traces is not None
            or options.array is not None
        ):
            return None
        text = repr((_program(), options.given(), self._named(options)))
        return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=ASKED_BYTES).digest()

    def key(self, asked: bytes | None) -> str | None:
        """The hash of a case that has been opened before."""
        if asked is None:
            return None
        if self._known is None:
            self._known = dict(self._read())
        found = self._known.get(asked) or self._new.get(asked)
        return None if found is None else found.hex()

    def learn(self, asked: bytes | None, key: str, options: Options, read: Iterable[str]) -> None:
        """Keeps what opening a run has found out. ``read``: the files that it reads."""
        if asked is not None and set(read) <= {os.path.abspath(path) for path in self.files(options)}:
            self._new[asked] = bytes.fromhex(key)

    def save(self) -> None:
        """Writes what is new, where there is enough of it. Without it nothing is lost but time."""
        if len(self._new) < LEAST:
            return
        body = b"".join(asked + key for asked, key in self._new.items())
        with suppress(Exception):  # a folder that is only read, a full disk
            os.makedirs(self._folder, exist_ok=True)
            digest = hashlib.sha256(body).digest()
            write(os.path.join(self._folder, digest.hex()[:32] + ENDING), digest + body)
            self._known = {**(self._known or {}), **self._new}
            self._new = {}

    def _read(self) -> Iterable[tuple[bytes, bytes]]:
        with suppress(OSError):
            for name in sorted(os.listdir(self._folder)):
                if not name.endswith(ENDING):
                    continue
                with suppress(OSError), open(os.path.join(self._folder, name), "rb") as file:
                    digest, body = file.read(32), file.read()
                    if hashlib.sha256(body).digest() == digest:
                        for at in range(0, len(body), ASKED_BYTES + KEY_BYTES):
                            middle = at + ASKED_BYTES
                            yield body[at:middle], body[middle : middle + KEY_BYTES]

    def _named(self, options: Options) -> list[tuple[Any, ...]]:
        """The files that options name, each with what changes when it does."""
        words = [value for value in options.given().values() if isinstance(value, str)]
        words += [word for word in options.merge if isinstance(word, str)]
        words += [setting.partition("=")[2].strip().strip("\"'") for setting in options.settings]
        return [state for word in words if (state := self._state(word)) is not None]

    def _state(self, word: str) -> tuple[Any, ...] | None:
        if word not in self._states:
            self._states[word] = None
            if 0 < len(word) < LONGEST and "\n" not in word:
                with suppress(OSError, ValueError):
                    about = os.stat(word)
                    self._states[word] = (os.path.abspath(word), about.st_size, about.st_mtime_ns, about.st_ino)
        return self._states[word]


@cache
def _program() -> tuple[Any, ...]:
    """What changes when ssdlab does: its core, and what makes a hash of a case."""
    from ssdlab import _core

    folder = os.path.dirname(_core.__file__)
    paths = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("_")]
    paths += [os.path.join(folder, "runs", name) for name in os.listdir(os.path.join(folder, "runs"))]
    states = [(os.path.relpath(path, folder), os.stat(path)) for path in sorted(paths) if os.path.isfile(path)]
    return tuple((name, about.st_size, about.st_mtime_ns) for name, about in states)
