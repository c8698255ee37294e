"""Progress where there is no terminal (a batch system, nohup, a log): a plain line every ten seconds."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ssdlab.common.numbers import elapsed_text

if TYPE_CHECKING:
    from ssdlab.devices.fitting import Progress
    from ssdlab.runs.runner import ProgressListener, Rounds, RoundsListener
    from ssdlab.sweeps.campaign import SweepProgress

EVERY_S = 10.0
"""Between two lines [s]."""

Print = Callable[[str], None]


class Lines:
    """Prints how far something has come. It may be asked from several threads.

    Args:
        print_line: takes a line.
        clock: gives the time [s].
    """

    def __init__(self, print_line: Print, clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = print_line, clock
        self._lock = threading.Lock()
        self._begun = self._printed = clock()

    def print(self, line: Callable[[float], str]) -> None:
        """Prints a line if it is time for one; ``line`` makes it of the time that has passed [s]."""
        now = self._clock()
        if now - self._printed >= EVERY_S:
            with self._lock:
                if now - self._printed < EVERY_S:
                    return
                self._printed = now
            self._say(line(now - self._begun))


def requests(print_line: Print, clock: Callable[[], float] = time.monotonic) -> tuple[ProgressListener, RoundsListener]:
    """Prints how far a run has come, and how far from a steady state it is where one is looked for."""
    lines = Lines(print_line, clock)
    latest: list[Rounds] = []

    def progress(share: float | None, submitted: int, completed: int) -> None:
        def line(passed: float) -> str:
            parts = [f"{completed:,} requests"]
            if share is not None:
                parts[0] += f" ({100 * share:.1f} %)"
            parts += [f"{completed / passed:,.0f} requests/s"] if passed else []
            if latest:
                done = latest[0].done
                parts.append(rounds_text(latest[0]))
                share_of_rounds = done / (done + latest[0].left()) if done else None
                return ", ".join(parts + _left(passed, share_of_rounds))
            return ", ".join(parts + _left(passed, share))

        lines.print(line)

    def rounds(now: Rounds) -> None:
        latest[:] = [now]

    return progress, rounds


def rounds_text(now: Rounds) -> str:
    """How far from a steady state a run is: the round that is run, and by how much the last ones differ."""
    text = f"round {now.done + 1}"
    if now.slope is None or now.spread is None:
        return text
    waf = f": WAF {now.waf:.2f}" if now.waf else ":"
    return f"{text}{waf} slope {100 * now.slope:+.0f} %, spread {100 * now.spread:.0f} % (steady: 10 and 20 %)"


def cases(what: str, print_line: Print, clock: Callable[[], float] = time.monotonic) -> Callable[[SweepProgress], None]:
    """Prints how far a sweep has come."""
    lines = Lines(print_line, clock)

    def progress(now: SweepProgress) -> None:
        def line(passed: float) -> str:
            counts = [f"{now.kept:,} kept"] * (now.kept > 0) + [f"{now.failed:,} failed"] * (now.failed > 0)
            parts = [f"{what}: {now.done:,} of {now.total:,} cases" + (f" ({', '.join(counts)})" if counts else "")]
            played, missing = now.done - now.kept, now.total - now.kept
            if played and passed:
                parts.append(f"{played / passed:.2g} cases/s")
            return ", ".join(parts + _left(passed, played / missing if missing else None))

        lines.print(line)

    return progress


def shares(print_line: Print, clock: Callable[[], float] = time.monotonic) -> Callable[[str, float | None], None]:
    """Prints the name of what is done and the share that is done, where it can be known."""
    lines = Lines(print_line, clock)

    def progress(name: str, share: float | None) -> None:
        done = name if share is None else f"{name}: {100 * share:.1f} %"
        lines.print(lambda passed: ", ".join([done, *_left(passed, share)]))

    return progress


def fits(print_line: Print, clock: Callable[[], float] = time.monotonic) -> Callable[[Progress], None]:
    """Prints how far the fit of a device has come."""
    lines = Lines(print_line, clock)

    def progress(now: Progress) -> None:
        def line(passed: float) -> str:
            best = f", chi-squared {now.chi2:.1f} at best" if math.isfinite(now.chi2) else ""
            return ", ".join([f"{now.stage}: {now.runs:,} runs{best}", *_left(passed, now.share)])

        lines.print(line)

    return progress


def _left(passed: float, share: float | None) -> list[str]:
    """About how long the rest takes, where that can be known."""
    return [f"about {elapsed_text(passed * (1 - share) / share)} left"] if share and passed else []
