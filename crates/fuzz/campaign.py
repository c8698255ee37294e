"""Feeds every reader with what it does not expect, for a time, and counts: `make fuzz SECONDS=600`.
Names of targets (`rust/trace python/fio`) after the seconds choose some.

Targets in Rust are programs of their own with libFuzzer, built by the pinned toolchain (LLVM's pass that counts edges
needs no other one). Targets in Python are `tests/fuzzing.py`, with Atheris where it is installed. What is found on the
way stays in `target/fuzz/found`, and the next campaign goes on from it. Inputs that were read are added up in
`campaign.txt`. An input on which a target fails is kept in `target/fuzz/failures`; mended, it goes to the corpus.
"""

from __future__ import annotations

import csv
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = "x86_64-unknown-linux-gnu"
FOLDER = ROOT / "target" / "fuzz"
LEDGER = Path(__file__).with_name("campaign.txt")
PYTHON = ("mqsim", "fio", "sweep", "cache")
EDGES = ("level=4", "inline-8bit-counters", "pc-table", "trace-compares")
"""What the pass puts in: a counter for each edge, and what comparisons compare."""
LIMITS = ("-timeout=20", "-rss_limit_mb=2048", "-malloc_limit_mb=256", "-print_final_stats=1")
"""[s], [MiB], [MiB]: what takes longer or allocates more fails."""
LENGTHS = (64, 256, 8192)
"""[B] Longest inputs of a third of the time each: short ones are read many times as often."""
PROFILE = {"LTO": "off", "CODEGEN_UNITS": "16", "DEBUG_ASSERTIONS": "true", "OVERFLOW_CHECKS": "true"}


def build() -> list[str]:
    """Builds the programs and returns the targets."""
    flags = ["-Cpasses=sancov-module", *(f"-Cllvm-args=-sanitizer-coverage-{edge}" for edge in EDGES)]
    profile = {f"CARGO_PROFILE_RELEASE_{name}": value for name, value in PROFILE.items()}
    cargo = ["cargo", "build", "--quiet", "--package", "fuzz"]
    engine = ["--release", "--features", "engine", "--bins", "--target", TARGET, "--target-dir", str(FOLDER)]
    subprocess.run([*cargo, *engine], cwd=ROOT, check=True, env=os.environ | profile | {"RUSTFLAGS": " ".join(flags)})
    subprocess.run([*cargo, "--example", "seeds"], cwd=ROOT, check=True)
    return subprocess.run([_seeds()], check=True, capture_output=True, text=True).stdout.split()


def _seeds() -> str:
    return str(ROOT / "target" / "debug" / "examples" / "seeds")


def in_rust(target: str, seconds: int) -> tuple[int, bool]:
    """Inputs that a target was fed with, and whether it held."""
    found, seeds, failures = (FOLDER / part / target for part in ("found", "seeds", "failures"))
    for folder in (found, seeds, failures):
        folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([_seeds(), target, str(seeds)], check=True)
    program = str(FOLDER / TARGET / "release" / target)
    inputs, held = 0, True
    for length in LENGTHS:
        time = max(1, seconds // len(LENGTHS))
        words = [*LIMITS, f"-max_len={length}", f"-max_total_time={time}", f"-artifact_prefix={failures}/"]
        fed = [program, str(found), str(seeds), *words]
        done = subprocess.run(fed, capture_output=True, text=True, errors="replace")
        inputs += _read(done.stderr)
        held = _held(target, done) and held
    return inputs, held


def in_python(target: str, seconds: int) -> tuple[int, bool]:
    """Feeds a target in Python for some seconds: inputs that it took, and whether it held."""
    guided = ["--guided"] if importlib.util.find_spec("atheris") else [str(os.getpid())]
    words = [sys.executable, str(ROOT / "tests" / "fuzzing.py"), target, str(seconds), *guided]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", cwd=ROOT)
    return _read(done.stdout + done.stderr), _held(target, done)


def _held(target: str, done: subprocess.CompletedProcess[str]) -> bool:
    if done.returncode:
        print(f"{target}: status {done.returncode}\n{done.stderr[-4000:]}", file=sys.stderr)
    return done.returncode == 0


def _read(text: str) -> int:
    """Inputs that were read, as an engine or `tests/fuzzing.py` says."""
    said = re.findall(r"number_of_executed_units:\s*(\d+)|: ([\d,]+) inputs$", text, re.MULTILINE)
    return int("".join(said[-1]).replace(",", "")) if said else 0


def ledger() -> dict[str, int]:
    """Inputs so far, by target."""
    if not LEDGER.exists():
        return {}
    with LEDGER.open() as file:
        return {row["target"]: int(row["inputs"]) for row in csv.DictReader(file)}


def main(seconds: int, wanted: Sequence[str] = ()) -> int:
    """Feeds the wanted targets, or all, for equal parts of the time."""
    targets = [(f"rust/{name}", name, in_rust) for name in build()]
    targets += [(f"python/{name}", name, in_python) for name in PYTHON]
    targets = [target for target in targets if not wanted or target[0] in wanted]
    counts = ledger()
    each = max(1, seconds // max(1, len(targets)))
    held = True
    for name, target, feed in targets:
        inputs, good = feed(target, each)
        counts[name] = counts.get(name, 0) + inputs
        held = held and good
        print(f"{name:20} {inputs:>13,} inputs, {inputs // each:>9,} a second, {counts[name]:>15,} in all", flush=True)
        with LEDGER.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("target", "inputs"), *sorted(counts.items())])
    for language in ("rust", "python"):
        total = sum(inputs for name, inputs in counts.items() if name.startswith(language))
        print(f"{language}: {total:,} inputs in all")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
