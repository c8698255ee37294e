"""The progress bar, on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text

if TYPE_CHECKING:
    from ssdlab.runs.runner import ProgressListener, Rounds, RoundsListener
    from ssdlab.sweeps.campaign import SweepProgress


@contextmanager
def cases(what: str) -> Iterator[Callable[[SweepProgress], None]]:
    """Gives what reports a sweep's progress: cases done, their rate, the time left."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[about]}"),
        TimeRemainingColumn(compact=True),
    )
    with Bar(*columns, console=Console(stderr=True, highlight=False), transient=True) as shown:
        task = shown.add_task(what, total=None, about="")

        def progress(now: SweepProgress) -> None:
            speed = shown.tasks[task].speed
            parts = [f"{speed:.2g} cases/s"] if speed else []
            parts += [f"{now.kept} kept"] if now.kept else []
            parts += [f"[red]{now.failed} failed[/]"] if now.failed else []
            shown.update(task, total=now.total, completed=now.done, about=", ".join(parts))

        yield progress


@contextmanager
def shares() -> Iterator[Callable[[str, float | None], None]]:
    """Gives what reports a name and the share that is done, where it can be known."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True),
    )
    with Bar(*columns, console=Console(stderr=True, highlight=False), transient=True) as shown:
        task = shown.add_task("", total=1.0)

        def progress(name: str, share: float | None) -> None:
            shown.update(task, description=name, total=None if share is None else 1.0, completed=share or 0.0)

        yield progress


@contextmanager
def bar() -> Iterator[tuple[ProgressListener, Callable[[str], None], RoundsListener]]:
    """Gives what reports progress, what prints a line above the bar, and what reports how far from a steady state a run
    is. The bar goes when the run has ended."""
    from ssdlab.show.lines import rounds_text

    console = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.fields[done]}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(compact=True))
    with Bar(*columns, console=console, transient=True) as shown:
        task = shown.add_task("", total=None, done="starting")

        steady = ""

        def progress(share: float | None, submitted: int, completed: int) -> None:
            if steady:
                shown.update(task, done=f"{completed:,} requests, {steady}")
                return
            total = None if share is None else 1.0
            shown.update(task, total=total, completed=share or 0.0, done=f"{completed:,} requests")

        def rounds(now: Rounds) -> None:
            nonlocal steady
            steady = rounds_text(now)
            # The time left follows from the rounds: of those that are to come at least.
            shown.update(task, total=float(now.done + now.left()), completed=float(now.done))

        yield progress, lambda text: console.print(Text(text)), rounds
