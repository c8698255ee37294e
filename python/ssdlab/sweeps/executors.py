"""Where the cases of a sweep are played: threads of this process, or any executor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from threading import Event
from typing import Any, Protocol

from ssdlab._core import SimulationError
from ssdlab.runs.manifest import files_of
from ssdlab.runs.options import Options
from ssdlab.sweeps.task import Answer, Task, build, execute, with_files

WORKER_TIMEOUT_S = 1800.0
"""How long a Dask cluster may be without any worker before a sweep ends [s]; batch systems take a while."""


Manifest = Callable[[], Mapping[str, Any]]
"""Opens a case, and says what it plays."""


class CaseExecutor(Protocol):
    """Where cases are played."""

    @property
    def ahead(self) -> int:
        """How many cases may be under way."""

    def submit(self, options: Options, key: str, manifest: Manifest) -> Future[Answer]:
        """Gives it a case; ``manifest`` says what it plays, where that is asked for."""

    def supply(self, missing: Iterable[tuple[Future[Answer], tuple[str, list[str]]]]) -> dict[str, str]:
        """Ships what cases were missing, before they are submitted again. Returns what cannot be had, and why."""

    def refused(self, *workers: str) -> SimulationError:
        """The error for workers with another ssdlab."""

    def check(self) -> None:
        """Is called every second or more often; raises where nothing will be played any more."""

    def lost(self) -> SimulationError:
        """The error for cases that were cancelled by nobody here."""

    def close(self) -> None:
        """Ends what is still being played."""


class ExternalExecutor:
    """Any executor: its workers find files where they are here."""

    ahead = 1024

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, options: Options, key: str, manifest: Manifest) -> Future[Answer]:
        paths = files_of(options, manifest())
        return self._executor.submit(execute, Task(with_files(options, paths), key, build()))

    def supply(self, missing: Iterable[tuple[Future[Answer], tuple[str, list[str]]]]) -> dict[str, str]:
        """Nothing is ever missing: no task names files."""
        return {}

    def refused(self, *workers: str) -> SimulationError:
        return SimulationError(
            f"another ssdlab: {', '.join(workers)}; here is {build()}\n  help: install the same build on all machines"
        )

    def check(self) -> None:
        pass

    def lost(self) -> SimulationError:
        return SimulationError("the executor was shut down\n  help: keep it until the sweep has ended")

    def close(self) -> None:
        pass


class LocalExecutor(ExternalExecutor):
    """Threads of this process."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(max_workers=threads)
        self._stop = Event()
        super().__init__(self._pool)
        self.ahead = 2 * threads

    def submit(self, options: Options, key: str, manifest: Manifest) -> Future[Answer]:
        return self._pool.submit(execute, Task(options, key), self._stop)

    def close(self) -> None:
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)
