"""Runs a command that builds with cargo, and tells how many of its units are compiled: ``n of N``.

On a terminal the count stands in a line that is written over, elsewhere a line is printed every :data:`EVERY_S`
seconds. Everything else that the command says, errors above all, passes as it is. The status is the command's.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time

EVERY_S = 15.0
"""A line so often, where there is no terminal [s]."""
COUNT = re.compile(r"Building \[[^\]]*\] (\d+)/(\d+)(?:: (.*))?")
"""Cargo's own progress bar: how many units of how many, and which ones are compiled now."""
STEP = re.compile(r"\s*(Compiling|Downloaded|Downloading|Fresh|Blocking|Updating|Locking|Adding) ")
"""Lines that the count stands in place of."""


class Count:
    """What is known of the build, told as it goes on."""

    def __init__(self) -> None:
        self.text = ""
        self.began = time.monotonic()
        self.over = threading.Event()
        self.in_place = sys.stderr.isatty()

    def takes(self, part: str) -> None:
        """A piece of output, without its line's end."""
        found = COUNT.search(part)
        if found is None:
            # What bars are cleared with says nothing.
            if part.strip("\x1b[K \r") and not STEP.match(part):
                print("\r\x1b[K" * self.in_place + part, file=sys.stderr, flush=True)
            return
        done, units, now = found.groups()
        first = (now or "").split(",")[0].strip()
        self.text = f"{done} of {units} parts compiled" + (f", now {first}" if first else "")
        if self.in_place:
            self.show()

    def line(self) -> str:
        """How far it is, in a line."""
        minutes, seconds = divmod(round(time.monotonic() - self.began), 60)
        return f"{self.text or 'starting'} ({minutes}:{seconds:02} min)"

    def beats(self) -> None:
        """Says it from time to time."""
        while not self.over.wait(1.0 if self.in_place else EVERY_S):
            self.show()

    def show(self) -> None:
        """Prints it, over the line before on a terminal."""
        start, end = ("\r\x1b[K", "") if self.in_place else ("", "\n")
        print(f"{start}  {self.line()}", end=end, file=sys.stderr, flush=True)

    def ends(self) -> None:
        """Clears the line."""
        self.over.set()
        if self.in_place:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def main(command: list[str]) -> int:
    """Runs ``command``; its exit status."""
    bar = {"CARGO_TERM_PROGRESS_WHEN": "always", "CARGO_TERM_PROGRESS_WIDTH": "100"}
    child = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, **bar})
    assert child.stderr is not None
    count = Count()
    threading.Thread(target=count.beats, daemon=True).start()
    left = ""
    try:
        while piece := os.read(child.stderr.fileno(), 1 << 16):
            *parts, left = re.split("[\r\n]", left + piece.decode(errors="replace"))
            for part in parts:
                count.takes(part)
        count.takes(left)
        return child.wait()
    finally:
        count.ends()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
