"""Which lines of the drive its Rust tests reach: `make coverage`.

Builds the tests of the drive's crate and of arrays with the compiler's own coverage (`-C instrument-coverage`, in
`target/coverage`), runs them but for those that `make quick` leaves out, and prints the share of lines reached in each
room, and the files of which least is reached. What the tests in Python reach besides is not counted, and a line that
is reached is not one whose result is looked at: that is what `make mutants` and `make mutants-drawn` ask.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "crates" / "python"))

from pgo import llvm  # noqa: E402

from mutants import slow  # noqa: E402

OUT = ROOT / "target" / "coverage"
PACKAGES = ["--package", "ssdlab-drive", "--package", "array", "--package", "testing"]
SOURCES = "crates/ssd/src/"
FILES = 15
"""How many files are listed."""


def room(file: str) -> str | None:
    """The room that a source file is in; none where it is not the drive's, or tests alone."""
    _, found, path = file.partition(SOURCES)
    if not found or path.endswith("tests.rs") or "/tests/" in path:
        return None
    return path.split("/")[0] if "/" in path else "files beside the rooms"


def measured(cases: str) -> list[dict[str, object]]:
    """Builds and runs the tests; what each source file has of lines, and how many were reached."""
    raw = OUT / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    for old in raw.glob("*.profraw"):
        old.unlink()
    environment = os.environ | {
        "RUSTFLAGS": "-C instrument-coverage",
        "CARGO_TARGET_DIR": str(OUT),
        "CARGO_INCREMENTAL": "0",
        "LLVM_PROFILE_FILE": str(raw / "%p-%m.profraw"),
        "PROPTEST_CASES": cases,
    }
    command = ["cargo", "test", "--quiet", *PACKAGES, "--tests"]
    listed = [*command, "--no-run", "--message-format=json"]
    built = subprocess.run(listed, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = (json.loads(line) for line in built.splitlines() if line.startswith("{"))
    programs = [program for message in messages if (program := message.get("executable"))]
    subprocess.run([*command, "--no-fail-fast", "--", *slow()], cwd=ROOT, env=environment, check=True)
    merged = OUT / "merged.profdata"
    files = [str(file) for file in raw.glob("*.profraw")]
    subprocess.run([llvm("llvm-profdata"), "merge", "--sparse", *files, "-o", str(merged)], check=True)
    objects = [word for program in programs[1:] for word in ("--object", program)]
    export = [llvm("llvm-cov"), "export", "--summary-only", f"--instr-profile={merged}", programs[0], *objects]
    found = json.loads(subprocess.run(export, check=True, stdout=subprocess.PIPE, text=True).stdout)
    rows: list[dict[str, object]] = found["data"][0]["files"]
    return rows


def main() -> None:
    """Prints a row for each room: lines, and the share of them that tests reach; then the files with least of it."""
    lines: Counter[str] = Counter()
    reached: Counter[str] = Counter()
    least = []
    for file in measured(sys.argv[1] if len(sys.argv) > 1 else "64"):
        name, summary = str(file["filename"]), file["summary"]
        if (of := room(name)) is not None and isinstance(summary, dict):
            count = summary["lines"]
            lines[of] += count["count"]
            reached[of] += count["covered"]
            least.append((count["covered"] / max(1, count["count"]), count["count"], name.partition(SOURCES)[2]))
    print("| room | lines | reached |\n|---|---|---|")
    for name in sorted(lines):
        print(f"| `{name}` | {lines[name]:,} | {100 * reached[name] / lines[name]:.1f} % |")
    print(f"| all | {lines.total():,} | {100 * reached.total() / lines.total():.1f} % |")
    print("\n| file | lines | reached |\n|---|---|---|")
    for share, count, name in sorted(least)[:FILES]:
        print(f"| `{name}` | {count:,} | {100 * share:.1f} % |")


if __name__ == "__main__":
    main()
