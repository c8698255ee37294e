"""What is done to drives while they are served, other than by their clients: a socket takes it, a line of JSON each.

A line is ``{"do": "rest", "for": "6mo", "at": "40C"}``, ``{"do": "save", "file": "old.ckpt"}``, ``{"do": "cut"}``,
``{"do": "cut", "until": "restore"}``, ``{"do": "restore"}`` or ``{"do": "health"}``.
With several drives ``"drive": NAME`` says which. It is answered by a line: what was found, or ``{"error": …}``.
"""

from __future__ import annotations

import json
import os
import socket
import stat
from contextlib import suppress
from typing import Any

from ssdlab._core import InputError, Server, SimulationError

PATIENCE_S = 5.0
"""The longest time that a line may take to come [s]."""
LONGEST = 65_536
"""The longest line [B]."""
WORDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "rest": (("for",), ("at",)),
    "save": (("file",), ()),
    "cut": ((), ("until",)),
    "restore": ((), ()),
    "health": ((), ()),
}
"""What can be done: what it needs, and what else it takes; any takes ``drive``."""


class Control:
    """The socket of a server."""

    def __init__(self, path: str) -> None:
        """Listens at a path, which nobody else may use.

        Raises:
            InputError: it cannot be listened at.
        """
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            with suppress(OSError):
                if stat.S_ISSOCK(os.lstat(path).st_mode) and not _answers(path):
                    # A server that was killed has left it.
                    os.unlink(path)
            before = os.umask(0o177)
            try:
                self._socket.bind(path)
            finally:
                os.umask(before)
        except OSError as error:
            self._socket.close()
            raise InputError(
                f"--control {path}: cannot be listened at: {error.strerror or error}\n"
                "  help: name another path of less than 108 bytes, or end the server that listens there"
            ) from None
        self._socket.listen()
        self._socket.setblocking(False)

    def close(self) -> None:
        """Listens no more; the path goes with it."""
        if self._socket.fileno() >= 0:
            self._socket.close()
            with suppress(OSError):
                os.unlink(self.path)

    def attend(self, server: Server) -> None:
        """Does what somebody who has called asks for, if somebody has."""
        try:
            caller, _ = self._socket.accept()
        except BlockingIOError:
            return
        with caller, suppress(OSError):
            caller.settimeout(PATIENCE_S)
            answer = _done(server, _line(caller))
            caller.sendall(json.dumps(answer).encode() + b"\n")


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as to:
        return to.connect_ex(path) == 0


def _line(of: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n") and len(line) < LONGEST:
        more = of.recv(LONGEST)
        if not more:
            break
        line += more
    return line


def _done(server: Server, line: bytes) -> dict[str, Any]:
    try:
        given = _read(line)
        drive = given.get("drive")
        match given["do"]:
            case "rest":
                server.rest(drive, given["for"], given.get("at"))
                return {"rested": given["for"]}
            case "save":
                server.save(drive, os.path.abspath(given["file"]))
                return {"saved": given["file"]}
            case "cut":
                until = given.get("until")
                if until not in (None, "restore"):
                    raise InputError(f'cut.until: is {until!r}\n  help: write "restore", or leave it out')
                server.cut(drive, until is not None)
                return {"cut": 1}
            case "restore":
                server.restore(drive)
                return {"restored": 1}
            case _:
                health: dict[str, Any] = json.loads(server.health(drive))
                return health
    except (InputError, SimulationError) as error:
        return {"error": str(error)}


def _read(line: bytes) -> dict[str, str]:
    """What a line asks for.

    Raises:
        InputError: it is no JSON, or asks for what cannot be done.
    """
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError):
        asked = None
    shown = line.decode(errors="replace").strip()[:200]
    if not isinstance(asked, dict) or not all(isinstance(value, str) for value in asked.values()):
        raise InputError(f'{shown}: is no object of texts\n  help: write a line such as {{"do": "rest", "for": "6mo"}}')
    do = asked.get("do")
    if do not in WORDS:
        raise InputError(f'{shown}: "do" is none of them\n  help: write one of {", ".join(WORDS)}')
    needed, others = WORDS[do]
    unknown = [name for name in asked if name not in ("do", "drive", *needed, *others)]
    missing = [name for name in needed if name not in asked]
    if unknown or missing:
        what = f"{unknown[0]}: unknown" if unknown else f"{missing[0]}: is missing"
        raise InputError(f"{do}.{what}\n  help: give {', '.join([*needed, *others, 'drive'])}")
    return asked


def tell(path: str, asked: dict[str, str]) -> dict[str, Any]:
    """Asks a server for something, and waits for it.

    Raises:
        InputError: there is no server, or it does not do it.
    """
    with socket.socket(socket.AF_UNIX) as to:
        try:
            to.connect(path)
            to.sendall(json.dumps(asked).encode() + b"\n")
            answer: dict[str, Any] = json.loads(_line(to) or b"{}")
        except OSError as error:
            raise InputError(
                f"{path}: no server answers: {error.strerror or error}\n"
                "  help: give the path that `ssdlab serve --control PATH` has"
            ) from None
    if "error" in answer or not answer:
        raise InputError(answer.get("error", f"{path}: the server has ended"))
    return answer
