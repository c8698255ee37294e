"""Sweeps on a Dask cluster (the extra ``dask``): versions are checked, files found or shipped, cases played."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import pickle
import re
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ssdlab._core import InputError, SimulationError
from ssdlab.common.numbers import elapsed_text
from ssdlab.runs.manifest import device_files, files_of, is_device
from ssdlab.runs.options import Options
from ssdlab.sweeps.executors import TASKS_AHEAD, Manifest, Together
from ssdlab.sweeps.task import CHUNK, Answer, File, Task, build, receive, sha256_of, with_files

if TYPE_CHECKING:
    from distributed import Client

CONNECT_S = 10.0
"""How long the scheduler has to answer [s]."""


class Cluster:
    """A Dask cluster that plays the cases of a sweep.

    Args:
        address: the scheduler's address (``tcp://host:8786``), its scheduler file, or a ``distributed.Client``, which
            stays open.

        worker_timeout: how long it may be without any worker [s].

    Raises:
        InputError: Dask is not installed, nobody answers, or a worker has another ssdlab.
    """

    def __init__(self, address: str | Client, worker_timeout: float) -> None:
        self._worker_timeout = worker_timeout
        self._empty_since: float | None = None
        """Since when there has been no worker."""
        self._had_workers = False
        self._own = isinstance(address, str)
        self._client: Any = _connect(address) if isinstance(address, str) else address
        scheduler: Any = self._client.scheduler
        self.name: str = scheduler.address
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        self._files: dict[str, tuple[File, bytes | None]] = {}
        self._submitted: WeakKeyDictionary[Future[Answer], float] = WeakKeyDictionary()
        self._shipped: dict[tuple[str, str], float] = {}
        self._threads, self._counted = 0, 0.0
        self._together = Together(self._send)
        self._play, self._build = _player(), build()
        try:
            builds = self._client.run(_prober(), on_error="ignore")
        except OSError as error:
            raise self.lost() from error
        others = {worker: found for worker, found in builds.items() if found != self._build}
        if others:
            raise self.refused(*(f"{worker} has {found}" for worker, found in sorted(others.items())))
        self.check()

    @property
    def ahead(self) -> int:
        """How many cases may be under way: four tasks a thread, and enough for a cluster that grows with what waits."""
        if time.monotonic() > self._counted + 1.0:
            self._threads = sum(self._there().values())
            self._counted = time.monotonic()
        return max(TASKS_AHEAD, 4 * self._threads) * self._together.size

    def check(self) -> None:
        """Says that there are no workers, and raises where there have been none for too long."""
        there, now = self._there(), time.monotonic()
        if there:
            self._had_workers, self._empty_since = True, None
            return
        limit = elapsed_text(self._worker_timeout)
        if self._empty_since is None:
            self._empty_since = now
            gone = "has lost all its workers" if self._had_workers else "has no workers yet"
            warnings.warn(
                f"{self.name} {gone}: the sweep waits for one, and ends after {limit} (--worker-timeout)",
                stacklevel=4,
            )
        if now - self._empty_since >= self._worker_timeout:
            raise SimulationError(
                f"{self.name} has had no worker for {limit}\n  help: start workers, or let it wait longer "
                "(--worker-timeout SECONDS); what was done is kept, and the same command goes on from there"
            )

    def _there(self) -> dict[str, int]:
        """The workers that there are now, and their threads."""
        try:
            threads: dict[str, int] = self._client.nthreads()
        except (OSError, AttributeError) as error:  # a client that has given its scheduler up has none
            raise self.lost() from error
        return threads

    def submit(self, options: Options, key: str, manifest: Manifest) -> Future[Answer]:
        """Gives a case to the cluster."""
        paths = files_of(options, manifest())
        files = tuple(pair for role, path in paths.items() for pair in self._described(role, path))
        task = Task(with_files(options, paths), key, self._build, files)
        future = self._together.add(task)
        self._submitted[future] = time.monotonic()
        return future

    def flush(self) -> None:
        """Gives the cluster what has been gathered."""
        self._together.flush()

    def _send(self, tasks: list[Task]) -> Future[list[Answer]]:
        try:
            return self._followed(self._client.submit(self._play, self._build, pickle.dumps(tasks), pure=False))
        except Exception as error:  # Dask's own, such as ClosedClientError
            raise self.lost() from error

    def _followed(self, task: Any) -> Future[list[Answer]]:
        """A future of Dask's as one of Python's. ``Client.get_executor`` does the same, but takes a result for an error
        where the worker dies while it is fetched."""
        future: Future[list[Answer]] = Future()

        async def follow() -> None:
            with suppress(InvalidStateError):  # cancelled here meanwhile
                try:
                    future.set_result(await task)
                except (asyncio.CancelledError, CancelledError):
                    if future.cancel():
                        future.set_running_or_notify_cancel()
                except Exception as error:
                    future.set_exception(error)

        def cancel(future: Future[list[Answer]]) -> None:
            if future.cancelled() and not task.done():
                task.cancel()

        future.add_done_callback(cancel)
        self._client.loop.add_callback(follow)
        return future

    def _described(self, role: str, path: str) -> Iterable[tuple[str, File]]:
        if is_device(role) and len(files := device_files(path)) > 1:
            return self._chain(role, files, 0)
        try:
            file = _file(os.path.basename(path), os.path.getsize(path), sha256_of(path), path)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}\n  help: it was there a moment ago") from None
        self._files.setdefault(file.id, (file, None))
        return [(role, file)]

    def _chain(self, role: str, files: list[str], depth: int) -> list[tuple[str, File]]:
        """A device file on top of other files: all are shipped, each naming the next by where it is put."""
        path, *below = files
        with open(path, "rb") as opened:
            content = opened.read()
        deeper: list[tuple[str, File]] = []
        if below:
            deeper = self._chain(role, below, depth + 1)
            base = deeper[0][1]
            content = _rebased(content, f"../{base.id}/{base.name}", path)
        file = _file(os.path.basename(path), len(content), hashlib.sha256(content).hexdigest(), "")
        self._files[file.id] = (file, content)
        return [(f"base:{depth}:{role}" if depth else role, file), *deeper]

    def supply(self, missing: Iterable[tuple[Future[Answer], tuple[str, list[str]]]]) -> dict[str, str]:
        """Ships files to the workers that lack them, each file once a worker. Returns those that
        are no longer what they were, and why."""
        wanted: dict[str, list[str]] = {}
        for future, (worker, ids) in missing:
            for id in ids:
                # An answer may be older than what has been shipped since.
                shipped = self._shipped.get((worker, id), 0.0)
                if shipped < self._submitted[future] and worker not in wanted.setdefault(id, []):
                    wanted[id].append(worker)
        changed = {}
        there = self._there()
        for id, workers in wanted.items():
            workers = [worker for worker in workers if worker in there]
            problem = self._ship(*self._files[id], workers) if workers else None
            if problem is not None:
                changed[id] = problem
            now = time.monotonic()
            self._shipped |= {(worker, id): now for worker in workers}
        return changed

    def _ship(self, file: File, content: bytes | None, workers: list[str]) -> str | None:
        def send(offset: int, chunk: bytes) -> None:
            try:
                # A worker that is gone is none of our business: its cases go to another.
                replies = self._client.run(_take, file, offset, chunk, workers=workers, on_error="ignore")
            except OSError as error:
                raise self.lost() from error
            for worker, problem in replies.items():
                if problem is not None:
                    raise SimulationError(
                        f"{file.path or file.name}: shipped to {worker}: {problem}\n  help: let workers have a folder "
                        "with room (dask worker --local-directory)"
                    )

        remedy = "leave files as they are while a sweep runs"
        offset, digest = 0, hashlib.sha256()
        try:
            with open(file.path, "rb") if content is None else io.BytesIO(content) as opened:
                while chunk := opened.read(CHUNK):
                    digest.update(chunk)
                    send(offset, chunk)
                    offset += len(chunk)
        except OSError as error:
            return f"{file.path}: cannot be read: {error.strerror}\n  help: {remedy}"
        if digest.hexdigest() != file.sha256:
            return f"{file.path}: is not what it was when the sweep began\n  help: {remedy}"
        send(offset, b"")
        return None

    def refused(self, *workers: str) -> SimulationError:
        """The error for workers that have another ssdlab."""
        lines = "\n  ".join(workers)
        return SimulationError(
            f"another ssdlab on {'a worker' if len(workers) == 1 else f'{len(workers)} workers'} of {self.name}:\n"
            f"  {lines}\n  here is {self._build}\n  help: install the same build on all machines, and start the "
            "workers again; what was done is kept"
        )

    def lost(self) -> SimulationError:
        """The error for a scheduler that is gone."""
        return SimulationError(
            f"the Dask scheduler {self.name} has gone\n  help: start it and its workers again; what was done is kept, "
            "and the same command goes on from there"
        )

    def close(self) -> None:
        """Cancels what has not been played, and leaves."""
        if self._own:
            self._client.close(timeout=5)


def _connect(address: str) -> Any:
    try:
        import distributed
    except ImportError as error:
        raise InputError(
            f"--dask {address}: dask.distributed cannot be loaded ({error})\n  help: pip install 'ssdlab[dask]'"
        ) from None
    connect: Any = distributed.Client
    remedy = "give the address that `dask scheduler` prints (tcp://HOST:8786), or its --scheduler-file"
    try:
        if os.path.isfile(address):
            _check_scheduler_file(address, remedy)
            return connect(scheduler_file=address, timeout=CONNECT_S, set_as_default=False)
        if not re.fullmatch(r"(\w+://)?[^/\s]+:\d+", address):
            raise InputError(f"--dask {address}: is no address and no file\n  help: {remedy}")
        return connect(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"--dask {address}: no scheduler answers\n  help: {remedy}") from None


def _check_scheduler_file(path: str, remedy: str) -> None:
    import json

    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("address"), str):
        raise InputError(f"--dask {path}: is no scheduler file\n  help: {remedy}")


def _file(name: str, size: int, sha256: str, path: str) -> File:
    return File(hashlib.sha256(f"{name}\0{sha256}".encode()).hexdigest()[:32], name, size, sha256, path)


def _rebased(content: bytes, base: str, path: str) -> bytes:
    """A device file on top of ``base`` in place of what it names."""
    from ssdlab._core import text_in

    text = content.decode("utf-8-sig")
    done = re.sub(r"""^[ \t]*["']?base["']?[ \t]*=.*$""", f'base = "{base}"', text, count=1, flags=re.MULTILINE)
    try:
        is_rebased = text_in(done, "", "base") == base
    except InputError:
        is_rebased = False
    if not is_rebased:  # what looked like it is a line of a longer text
        raise InputError(f'{path}: base: cannot be read on other machines\n  help: write base = "FILE" on one line')
    return done.encode()


# Functions within functions travel by value: they run on workers of any ssdlab, and on those that have none.


def _prober() -> Callable[[], str]:
    def probe() -> str:
        try:
            from ssdlab.sweeps.task import build
        except ImportError:
            try:
                from ssdlab._version import __version__
            except ImportError:
                return "no ssdlab"
            return f"ssdlab {__version__}"
        try:
            return build()
        except Exception as error:
            return f"an ssdlab that does not work ({type(error).__name__}: {error})"

    return probe


def _player() -> Callable[[str, bytes], list[Answer]]:
    probe = _prober()

    def play(expected: str, tasks: bytes) -> Any:
        import os
        import pickle

        from distributed import get_worker

        worker: Any = get_worker()
        found = probe()
        if found != expected:
            return [("refused", f"{worker.address} has {found}")]
        from ssdlab.sweeps.task import execute_all

        class Stop:
            """Whether the task has been cancelled meanwhile."""

            key = worker.get_current_task()

            def is_set(self) -> bool:
                state = worker.state.tasks.get(self.key)
                return state is None or state.state == "cancelled"

        store = os.path.join(worker.local_directory, "ssdlab")
        return execute_all(pickle.loads(tasks), Stop(), worker.address, store)

    return play


def _take(file: File, offset: int, chunk: bytes, dask_worker: Any) -> str | None:
    return receive(file, offset, chunk, os.path.join(dask_worker.local_directory, "ssdlab"))
