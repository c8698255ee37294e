"""The progress bar, on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text

if TYPE_CHECKING:
    from ._runner import Progress


@contextmanager
def bar() -> Iterator[tuple[Progress, Callable[[str], None]]]:
    """Gives what reports progress, and what prints a line above the bar. The bar goes when the run has ended."""
    console = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.fields[done]}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(compact=True))
    with Bar(*columns, console=console, transient=True) as shown:
        task = shown.add_task("", total=None, done="starting")

        def progress(share: float | None, submitted: int, completed: int) -> None:
            total = None if share is None else 1.0
            shown.update(task, total=total, completed=share or 0.0, done=f"{completed:,} requests")

        yield progress, lambda text: console.print(Text(text))
