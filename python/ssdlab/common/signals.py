"""How the command answers signals: Ctrl-C, SIGTERM and SIGHUP end it in the same way, with what there is kept.

A signal raises KeyboardInterrupt in the main thread, once: those that follow within :data:`AGAIN_S` find it at keeping
results, and do not disturb it. The library installs nothing: only ``ssdlab`` on a command line does.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Literal

NAMES = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
"""The signals that are answered, and their names in messages."""

AGAIN_S = 3.0
"""The time after a signal in which others are ignored [s]."""

DEAF_S = 2.0
"""The time that the main thread may take to answer, which it does not do while the core computes; then the process ends
[s of processor time: a busy machine gives it little]."""

STUCK_S = 30.0
"""The time that the main thread may take to answer where the process waits and does not compute; then it ends [s]."""

_mode: Literal["leave", "raise"] = "leave"
"""Whether a signal ends the process at once, as nothing has been begun, or is raised."""
_received: int = signal.SIGINT
_answered: float | None = None
_held = 0
_pending = False
_kept: Callable[[], str | None] | None = None
"""Reports what is kept of the results of what runs now."""


def install() -> None:
    """Answers signals from now on, with the end of the process until :func:`raising`. Those that are ignored, as
    under nohup, stay so."""
    for number in NAMES:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _answer)


def raising(clean_up: Callable[[], None]) -> None:
    """Raises KeyboardInterrupt at a signal from now on, or calls ``clean_up`` and ends the process where the main
    thread does not answer."""
    global _mode
    _mode = "raise"
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader, clean_up), name="signals", daemon=True).start()


def leaving() -> None:
    """All is done and the process ends: Ctrl-C comes too late, and other signals do as they always do, but for those
    that follow one which has ended it."""
    signal.set_wakeup_fd(-1)
    for number in NAMES:
        if signal.getsignal(number) is _answer:
            late = number == signal.SIGINT or _answered is not None
            signal.signal(number, signal.SIG_IGN if late else signal.SIG_DFL)


def signal_name() -> str:
    """The name of the signal that has ended the command, for messages."""
    return NAMES[signal.Signals(_received)]


def message() -> str:
    """The message when a signal has ended the command."""
    kept = _kept() if _kept is not None else None
    return f"{newline()}{signal_name()}" + (f": {kept}" if kept else "; nothing was kept")


@contextmanager
def keeping(kept: Callable[[], str | None]) -> Iterator[None]:
    """Has ``kept`` say what there is of results, if anything, where a signal ends the block. It is asked when that has
    happened, which may be after the block."""
    global _kept
    _kept = kept
    yield
    _kept = None


def status() -> int:
    """The exit status of a command that a signal has ended."""
    return 128 + _received


@contextmanager
def held() -> Iterator[None]:
    """Puts a signal off until the block has ended: what it does is done wholly."""
    global _held, _pending
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are answered in the main thread alone
        return
    _held += 1
    try:
        yield
    finally:
        _held -= 1
        if _pending and not _held:
            _pending = False
            raise KeyboardInterrupt


def _answer(number: int, frame: FrameType | None) -> None:
    global _received, _answered, _pending
    now = time.monotonic()
    if _answered is not None and now < _answered + AGAIN_S and _mode == "raise":
        return
    _received, _answered = number, now
    if _mode == "leave":
        _leave()
    if _held:
        _pending = True
    else:
        raise KeyboardInterrupt


def _leave() -> None:
    with suppress(OSError):
        os.write(2, f"{message()}\n".encode())
    os._exit(status())


def _watch(reader: int, clean_up: Callable[[], None]) -> None:
    """Ends the process where the main thread does not answer a signal."""
    global _received
    while received := os.read(reader, 1):
        if received[0] not in NAMES:
            continue
        before, computed = time.monotonic(), time.process_time()
        while (
            time.process_time() < computed + DEAF_S
            and time.monotonic() < before + STUCK_S
            and (_answered is None or _answered + AGAIN_S < before)
        ):
            time.sleep(0.05)
        if _answered is None or _answered + AGAIN_S < before:
            _received = received[0]
            with suppress(Exception):
                clean_up()
            _leave()


def newline() -> str:
    """What goes before a message: the terminal has echoed "^C" at the start of the line."""
    return "\n" if sys.stderr is not None and sys.stderr.isatty() else ""
