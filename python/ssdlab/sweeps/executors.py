"""Where the cases of a sweep are played: threads of this process, or any executor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from threading import Event, Lock
from typing import Any, Protocol

from ssdlab._core import SimulationError
from ssdlab.runs.manifest import files_of
from ssdlab.runs.options import Options
from ssdlab.sweeps.task import Answer, Task, build, execute, execute_all, with_files

WORKER_TIMEOUT_S = 1800.0
"""How long a Dask cluster may be without any worker before a sweep ends [s]; batch systems take a while."""


TASK_S = 0.1
"""Cases that are shorter are given to workers together, as many as take about this time [s]: what a task costs a
scheduler, some 1 ms, is little beside it (assumed)."""
MOST_TOGETHER = 64
"""Cases of a task at most: their results, some 30 kB each, come back at once."""
TASKS_AHEAD = 256
"""Tasks that may wait for workers, at least."""

Manifest = Callable[[], Mapping[str, Any]]
"""Opens a case, and says what it plays."""


class CaseExecutor(Protocol):
    """Where cases are played."""

    @property
    def ahead(self) -> int:
        """How many cases may be under way."""

    def submit(self, options: Options, key: str, manifest: Manifest) -> Future[Answer]:
        """Gives it a case; ``manifest`` says what it plays, where that is asked for."""

    def flush(self) -> None:
        """All cases that there are for now have been given."""

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


class Together:
    """Gives cases to workers, several short ones as one task. What comes of each is a future of its own.

    Args:
        send: gives a worker a task of some cases.
    """

    def __init__(self, send: Callable[[list[Task]], Future[list[Answer]]]) -> None:
        self._send = send
        self._gathered: list[tuple[Task, Future[Answer]]] = []
        self._lock = Lock()
        self.size = 1
        """How many cases make a task: one, until it is known how long they take."""

    def add(self, task: Task) -> Future[Answer]:
        """Takes a case."""
        future: Future[Answer] = Future()
        self._gathered.append((task, future))
        if len(self._gathered) >= self.size:
            self.flush()
        return future

    def flush(self) -> None:
        """Gives away what has been taken."""
        gathered, self._gathered = self._gathered, []
        if gathered:
            self._give(gathered)

    def _give(self, cases: list[tuple[Task, Future[Answer]]]) -> None:
        try:
            sent = self._send([task for task, _ in cases])
        except BrokenExecutor as error:
            for _, future in cases:
                future.set_exception(error)
            return

        def cancel(future: Future[Answer]) -> None:
            if future.cancelled():
                sent.cancel()

        for _, future in cases:
            future.add_done_callback(cancel)
        sent.add_done_callback(lambda sent: self._share_out(cases, sent))

    def _share_out(self, cases: list[tuple[Task, Future[Answer]]], sent: Future[list[Answer]]) -> None:
        try:
            answers = [Answer(*answer) for answer in sent.result()]
        except CancelledError:
            for _, future in cases:
                if future.cancel():
                    future.set_running_or_notify_cancel()
            return
        except Exception as error:
            # One of them may have taken its worker with it: the others are not to blame.
            for case in cases:
                try:
                    if len(cases) == 1:
                        raise error
                    self._give([case])
                except Exception as problem:
                    with suppress(InvalidStateError):
                        case[1].set_exception(problem)
            return
        if len(answers) == 1:
            answers *= len(cases)  # a worker that is refused cannot read what it was given
        self._note(answers)
        for (_, future), answer in zip(cases, answers, strict=True):
            with suppress(InvalidStateError):  # cancelled meanwhile
                future.set_result(answer)

    def _note(self, answers: list[Answer]) -> None:
        took = [answer.value["data"]["process"]["wall_s"] for answer in answers if answer.kind == "done"]
        if took:
            fit = min(MOST_TOGETHER, max(1, int(TASK_S / max(max(took), 1e-6))))
            with self._lock:
                self.size = min(fit, 2 * self.size)


class ExternalExecutor:
    """Any executor: its workers find files where they are here."""

    def __init__(self, executor: Executor) -> None:
        self._together = Together(lambda tasks: executor.submit(execute_all, tasks))

    @property
    def ahead(self) -> int:
        """How many cases may be under way."""
        return TASKS_AHEAD * self._together.size

    def submit(self, options: Options, key: str, manifest: Manifest) -> Future[Answer]:
        paths = files_of(options, manifest())
        return self._together.add(Task(with_files(options, paths), key, build()))

    def flush(self) -> None:
        self._together.flush()

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
    """Threads of this process. A task costs next to nothing there: each case is one."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(max_workers=threads)
        self._stop = Event()
        self._threads = threads
        super().__init__(self._pool)

    @property
    def ahead(self) -> int:
        """How many cases may be under way: two a thread."""
        return 2 * self._threads

    def submit(self, options: Options, key: str, manifest: Manifest) -> Future[Answer]:
        return self._pool.submit(execute, Task(options, key), self._stop)

    def close(self) -> None:
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)
