"""Progress where there is no terminal (a batch system, nohup, a log): a plain line every ten seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ssdlab.common.numbers import elapsed_text

if TYPE_CHECKING:
    from ssdlab.runs.runner import Progress
    from ssdlab.sweeps.campaign import Progress as Cases

EVERY_S = 10.0
"""Between two lines [s]."""

Say = Callable[[str], None]


class Lines:
    """Says how far something has come. It may be asked from several threads.

    Args:
        say: takes a line.
        clock: gives the time [s].
    """

    def __init__(self, say: Say, clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._lock = threading.Lock()
        self._begun = self._said = clock()

    def tell(self, line: Callable[[float], str]) -> None:
        """Says a line if it is time for one; ``line`` makes it of the time that has passed [s]."""
        now = self._clock()
        if now - self._said >= EVERY_S:
            with self._lock:
                if now - self._said < EVERY_S:
                    return
                self._said = now
            self._say(line(now - self._begun))


def requests(say: Say, clock: Callable[[], float] = time.monotonic) -> Progress:
    """Tells how far a run has come."""
    lines = Lines(say, clock)

    def progress(share: float | None, submitted: int, completed: int) -> None:
        def line(passed: float) -> str:
            parts = [f"{completed:,} requests"]
            if share is not None:
                parts[0] += f" ({100 * share:.1f} %)"
            parts += [f"{completed / passed:,.0f} requests/s"] if passed else []
            return ", ".join(parts + _left(passed, share))

        lines.tell(line)

    return progress


def cases(what: str, say: Say, clock: Callable[[], float] = time.monotonic) -> Callable[[Cases], None]:
    """Tells how far a sweep has come."""
    lines = Lines(say, clock)

    def progress(now: Cases) -> None:
        def line(passed: float) -> str:
            counts = [f"{now.kept:,} kept"] * (now.kept > 0) + [f"{now.failed:,} failed"] * (now.failed > 0)
            parts = [f"{what}: {now.done:,} of {now.total:,} cases" + (f" ({', '.join(counts)})" if counts else "")]
            played, missing = now.done - now.kept, now.total - now.kept
            if played and passed:
                parts.append(f"{played / passed:.2g} cases/s")
            return ", ".join(parts + _left(passed, played / missing if missing else None))

        lines.tell(line)

    return progress


def shares(say: Say, clock: Callable[[], float] = time.monotonic) -> Callable[[str, float], None]:
    """Tells the name of what is done and the share that is done."""
    lines = Lines(say, clock)
    return lambda name, share: lines.tell(
        lambda passed: ", ".join([f"{name}: {100 * share:.1f} %", *_left(passed, share)])
    )


def _left(passed: float, share: float | None) -> list[str]:
    """About how long the rest takes, where that can be known."""
    return [f"about {elapsed_text(passed * (1 - share) / share)} left"] if share and passed else []
