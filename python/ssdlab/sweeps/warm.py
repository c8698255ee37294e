"""Drives that are warmed up before the cases of a sweep: each once, and every case goes on from where that ended.

A drive's state is a checkpoint in the cache, under the hash of everything that decides it. Those that are missing are
made where the sweep runs, each by one sweep alone; workers elsewhere get the file as they get a trace.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Event

from ssdlab._core import InputError, SimulationError, checkpoint_check
from ssdlab.runs.manifest import key_of_text
from ssdlab.runs.options import Options
from ssdlab.runs.runner import Stop, play
from ssdlab.runs.simulation import open_simulation
from ssdlab.sweeps.cache import Cache

POLL_S = 0.2
"""How long a sweep waits before it looks again at a drive that another one warms up [s]."""


class State:
    """What came of warming a drive up: the path of its checkpoint, or why there is none."""

    __slots__ = ("error", "path")

    def __init__(self, path: str = "", error: str = "") -> None:
        self.path = path
        self.error = error


def warm_up(runs: Sequence[Options], cache: Cache, threads: int, retry_failed: bool = False) -> dict[Options, State]:
    """The states that runs leave their drives in; those that are not in the cache are made, ``threads`` at once."""
    stop = Event()
    with ThreadPoolExecutor(max_workers=threads) as pool:
        futures = {
            pool.submit(state_of, options, cache, stop, retry_failed): options for options in dict.fromkeys(runs)
        }
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
    # What has failed stands before what was stopped for it.
    errors = [error for error in (future.exception() for future in futures) if error is not None]
    if errors:
        raise min(errors, key=lambda error: not isinstance(error, InputError | SimulationError))
    return {options: future.result() for future, options in futures.items()}


def state_of(options: Options, cache: Cache, stop: Stop | None = None, retry_failed: bool = False) -> State:
    """The state that a run leaves its drive in: from the cache, or played and kept there."""
    try:
        key = state_key(options)
    except (InputError, SimulationError) as error:
        return State(error=_of_warm(str(error)))
    if retry_failed:
        cache.forgive(key)
    path = cache.checkpoint(key)
    while not _is_usable(path, cache):
        failure = cache.failure(key)
        if failure is not None:
            return State(error=_of_warm(failure))
        claim = cache.claim(key)
        if claim is None:
            if stop is not None and stop.is_set():
                return State(error=_of_warm("interrupted"))
            time.sleep(POLL_S)
            continue
        try:
            if not _is_usable(path, cache):
                play(options.replace(save=path), stop=stop)
        except (InputError, SimulationError) as error:
            cache.fail(key, str(error))
        finally:
            claim.release()
    return State(path)


def state_key(options: Options) -> str:
    """The hash of everything that decides a state: the run, and when the drive is saved."""
    key = key_of_text(open_simulation(options).manifest)
    return hashlib.sha256(f"{key} {options.save_at or 'rest'}".encode()).hexdigest()


def _is_usable(path: str, cache: Cache) -> bool:
    """Whether a checkpoint is there that this build can go on from."""
    try:
        checkpoint_check(path)
    except FileNotFoundError:
        return False
    except InputError as error:
        cache.unusable[path] = str(error).partition("\n")[0].removeprefix(f"{path}: ")
        return False
    return True


def _of_warm(error: str) -> str:
    return f"[warm]: {error}"
