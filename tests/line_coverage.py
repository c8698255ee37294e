"""Which lines of the drive its Rust tests reach: `make coverage`.

Builds the tests of the drive's crate and of arrays with the compiler's own coverage (`-C instrument-coverage`, in
`target/coverage`), runs them with few random cases, and prints the share of lines reached in each room. What the tests
in Python reach besides is not counted, and a line that is reached is not one whose result is looked at: that is what
`make mutants` asks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "target" / "coverage"
PACKAGES = ["--package", "ssdlab-drive", "--package", "array", "--package", "testing"]
SOURCES = "crates/ssd/src/"


def tool(name: str) -> str:
    """A program of the toolchain's llvm-tools."""
    root = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True).stdout.strip()
    found = next(Path(root).glob(f"lib/rustlib/*/bin/{name}"), None)
    if found is None:
        sys.exit(f"error: the toolchain has no {name}\n  help: rustup component add llvm-tools")
    return str(found)


def room(file: str) -> str | None:
    """The room that a source file is in; none where it is not the drive's, or tests alone."""
    _, found, path = file.partition(SOURCES)
    if not found or path.endswith("tests.rs") or "/tests/" in path:
        return None
    return path.split("/")[0] if "/" in path else "files beside the rooms"


def main() -> None:
    """Prints a row for each room: lines, and the share of them that tests reach."""
    cases = sys.argv[1] if len(sys.argv) > 1 else "64"
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
    built = subprocess.run(listed, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout
    messages = (json.loads(line) for line in built.splitlines() if line.startswith("{"))
    programs = [program for message in messages if (program := message.get("executable"))]
    subprocess.run([*command, "--no-fail-fast"], cwd=ROOT, env=environment, check=True)
    merged = OUT / "merged.profdata"
    files = [str(file) for file in raw.glob("*.profraw")]
    subprocess.run([tool("llvm-profdata"), "merge", "--sparse", *files, "-o", str(merged)], check=True)
    objects = [word for program in programs[1:] for word in ("--object", program)]
    export = [tool("llvm-cov"), "export", "--summary-only", f"--instr-profile={merged}", programs[0], *objects]
    found = json.loads(subprocess.run(export, check=True, capture_output=True, text=True).stdout)
    lines: Counter[str] = Counter()
    reached: Counter[str] = Counter()
    for file in found["data"][0]["files"]:
        if (name := room(file["filename"])) is not None:
            count = file["summary"]["lines"]
            lines[name] += count["count"]
            reached[name] += count["covered"]
    print("| room | lines | reached |\n|---|---|---|")
    for name in sorted(lines):
        print(f"| `{name}` | {lines[name]:,} | {100 * reached[name] / lines[name]:.1f} % |")
    print(f"| all | {lines.total():,} | {100 * reached.total() / lines.total():.1f} % |")


if __name__ == "__main__":
    main()
