"""Counts the calls between functions of ``crates/ssd/src`` that one read with three retries takes, and how many of them
change the file: the difference between two runs of the example, of one read and of two, under callgrind.

``make calls`` runs it on a build without optimization, where nothing is inlined. Usage: ``count.py PROGRAM``.
"""

from __future__ import annotations

import collections
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = "crates/ssd/src/"


def calls(program: str, reads: int) -> collections.Counter[tuple[str, str]]:
    """The calls of a run by the caller's file and the callee's."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", "--compress-strings=no", f"--callgrind-out-file={out}"]
        subprocess.run([*command, program, str(reads)], check=True, capture_output=True)
        found: collections.Counter[tuple[str, str]] = collections.Counter()
        file = callee = ""
        for line in out.read_text().splitlines():
            key, _, value = line.partition("=")
            if key == "fl":
                file = callee = value
            elif key == "fn":
                callee = file
            elif key in ("cfi", "cfl"):
                callee = value
            elif key == "calls":
                if HERE in file and HERE in callee:
                    found[file, callee] += int(re.split(r"\s", value)[0])
                callee = file
    return found


def main() -> None:
    """Prints both numbers."""
    program = sys.argv[1]
    one = calls(program, 2)
    one.subtract(calls(program, 1))
    inside = sum(number for (caller, callee), number in one.items() if caller == callee)
    across = sum(number for (caller, callee), number in one.items() if caller != callee)
    print(f"one read with three retries: {inside + across} calls between functions of {HERE}, {across} change the file")


if __name__ == "__main__":
    main()
