"""Profile-guided optimisation of the extension module: `make build`, `make pgo`, `make wheel`.

``train`` builds the module with counters in it, plays training runs on it and merges what they counted; ``build``
builds the wheel with that profile, and puts its module into the checkout. Both builds have the same flags but for the
profile: with others a profile fits nothing, without a word. So the link's map is read at the end: without functions
that the profile made hot there is no wheel.

A profile is kept beside this file, for the toolchain that is pinned: ``flags`` unpacks it and prints with which flag a
build uses it, so that `make build` needs no training. Functions that have changed since are compiled as without one.
``wheels`` builds the wheels of a release with the kept profile, for each of :data:`TARGETS`, with zig as linker: they
need no newer glibc than 2.17 (manylinux2014), whatever machine builds them.
``compare`` says how far the kept profile still fits the one just trained, and fails where it hardly does; ``keep``
takes that one in its place (`make profile`).

The training runs are other workloads than those that `make bench` and `make bench-mqsim` measure.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import random
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "target" / "pgo"
MODULE = ROOT / "python" / "ssdlab" / "_core.abi3.so"
PROFILE = HERE / "ssdlab.profdata"
KEPT = ROOT / "crates" / "python" / "profile.xz"
UNPACKED = ROOT / "target" / "profile"
LEAST_OVERLAP = 60.0
"""Of the edges that the training counts, weighed by how often they are taken, those that the kept profile knows [%]
(assumed)."""
COUNTS = HERE / "counts"
MAP = HERE / "link.map"
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
DIST = ROOT / "target" / "dist"
SMALL_FILE = ("--compression-level", "9")
MOST_BYTES = 6_000_000
"""What a wheel may have."""
FEWEST_HOT = 20
"""Functions that a build with its profile has among the hot ones, at least: without one it has none."""

AGED = "--age pec=1500,retention=3mo --requests 30000"
SMALL = "--precondition closed-form --set geometry.pages=96 --set ftl.over_provisioning=0.15"
TRAINING = {
    "a text trace of reads and writes": "--device mqsim --workload {trace}",
    "the same as fast as it goes, map in memory": "--device mqsim-ideal --workload {trace} --replay closed:64",
    "a drive in the steady state": f"{SMALL} --set geometry.blocks=200 --replay closed:64 --requests 150000",
    "reads with retries": f"--device asplos21 --workload asplos21/YCSB-A {AGED}",
    "the same, pipelined and sensed faster": f"--device asplos21 --workload asplos21/usr_1 --scheme pnar2 {AGED}",
    "predictions on the die": f"--device hpca24 --scheme rif {AGED} --replay closed:32",
    "suspended programs and erases": "--device fast12-mlc --workload fast12/F1 --scheme pes-ips --requests 60000",
    "erases pulse by pulse": (
        "--device electronics25 --scheme reo --set geometry.blocks=60 --precondition closed-form --requests 60000"
    ),
}
"""What the module is trained with, as arguments of `ssdlab run`."""


def write_trace(path: Path) -> None:
    """Lines of a trace in MQSim's format, as no other is measured: mixed sizes, half of it in a tenth of the range."""
    draws, now = random.Random(7), 0.0
    with path.open("w") as out:
        for _ in range(200_000):
            now += draws.expovariate(1) * 30_000
            sectors = draws.choice((8, 8, 24, 48))
            span = 300_000_000 if draws.random() < 0.5 else 30_000_000
            out.write(f"{int(now)} 0 {draws.randrange(span // 8) * 8} {sectors} {int(draws.random() < 0.6)}\n")


def llvm(name: str) -> str:
    """A program of the toolchain's own `llvm-tools`, which are added where they are not here."""
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True, cwd=ROOT)
    program = f"lib/rustlib/*/bin/{name}"
    if not list(Path(sysroot.stdout.strip()).glob(program)):
        added = subprocess.run(["rustup", "component", "add", "llvm-tools"], cwd=ROOT)
        if added.returncode:
            sys.exit(f"error: the toolchain has no {name}\n  help: rustup component add llvm-tools")
    return str(next(Path(sysroot.stdout.strip()).glob(program)))


def build(flag: str) -> Path:
    """A wheel whose module is compiled with a further flag."""
    wheels = HERE / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    # With the target said, the flags are those of what runs on it alone, not of build scripts.
    version = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True, cwd=ROOT).stdout
    host = version.partition("host: ")[2].split()[0]
    maturin = [Path(sys.executable).parent / "maturin", "build", "--quiet", "--release", "--target", host]
    flags = f"-Clink-arg=-Wl,-Map={MAP} {flag}"
    environment = {**os.environ, "RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(HERE)}
    command = [*map(str, maturin), *SMALL_FILE, "--interpreter", sys.executable, "--out", str(wheels)]
    subprocess.run(command, check=True, env=environment, cwd=ROOT)
    return next(wheels.glob("*.whl"))


def train() -> None:
    # What a former profile was used for is not told apart from what this one will be used for.
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir(parents=True)
    llvm("llvm-profdata")
    print("training: building the module with counters", flush=True)
    wheel, package, trace = build(f"-Cprofile-generate={COUNTS}"), HERE / "counting", HERE / "training.trace"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(package)
    write_trace(trace)
    for what, arguments in TRAINING.items():
        print(f"training: {what}", flush=True)
        command = [sys.executable, "-m", "ssdlab", "run", "--quiet", *arguments.format(trace=trace).split()]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(package)}, cwd=HERE)
    # Functions that were never called are left out: a fifth of the size.
    subprocess.run([llvm("llvm-profdata"), "merge", "-sparse", "-o", PROFILE, COUNTS], check=True)


def unpacked() -> Path:
    """The kept profile as a file, named by its content: cargo builds again where that has changed."""
    packed = KEPT.read_bytes()
    profile = UNPACKED / f"{hashlib.sha256(packed).hexdigest()[:16]}.profdata"
    if not profile.exists():
        UNPACKED.mkdir(parents=True, exist_ok=True)
        part = profile.with_suffix(f".{os.getpid()}")
        part.write_bytes(lzma.decompress(packed))
        part.replace(profile)
    return profile


def profile_flags() -> str:
    # What does not fit any more is no mistake: it is compiled as without a profile.
    return f"-Cprofile-use={unpacked()} -Cllvm-args=-no-pgo-warn-mismatch"


def keep() -> None:
    KEPT.write_bytes(lzma.compress(PROFILE.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{KEPT.relative_to(ROOT)}: {KEPT.stat().st_size // 1000} kB")


def compare() -> None:
    told = subprocess.run(
        [llvm("llvm-profdata"), "overlap", "--cs=false", str(unpacked()), str(PROFILE)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found = re.search(r"Edge profile overlap: ([0-9.]+)%", told)
    share = float(found[1]) if found else 0.0
    print(f"the kept profile fits the one trained now by {share:.0f} % of what is counted", flush=True)
    if share < LEAST_OVERLAP:
        sys.exit(f"error: {KEPT.relative_to(ROOT)} is too old\n  help: make profile, and commit it")


def hot_functions() -> int:
    """Functions that the last link has put among the hot ones."""
    with MAP.open(errors="replace") as lines:
        return sum(":(.text.hot." in line for line in lines)


def write_index(wheels: list[Path], folder: Path) -> None:
    """A package index of wheels (PEP 503), to be served as it is: `pip install --extra-index-url URL ssdlab`."""
    shutil.rmtree(folder, ignore_errors=True)
    own = folder / "ssdlab"
    own.mkdir(parents=True)
    head, link = "<!DOCTYPE html><title>{}</title>\n", '<a href="{}">{}</a>\n'
    (folder / "index.html").write_text(head.format("packages") + link.format("ssdlab/", "ssdlab"))
    lines = [head.format("ssdlab")]
    for wheel in wheels:
        shutil.copy(wheel, own)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        lines.append(link.format(f'{wheel.name}#sha256={digest}" data-requires-python="&gt;=3.11', wheel.name))
    (own / "index.html").write_text("".join(lines))


def release_wheels() -> None:
    programs = Path(sys.executable).parent
    subprocess.run([programs / "pip", "install", "--quiet", "ziglang>=0.14"], check=True)
    shutil.rmtree(DIST, ignore_errors=True)
    zig = ("--zig", "--compatibility", "manylinux2014")
    for target in TARGETS:
        subprocess.run(["rustup", "target", "add", target], check=True, cwd=ROOT)
        maturin = [programs / "maturin", "build", "--quiet", "--release", *SMALL_FILE, *zig]
        command = [*maturin, "--target", target, "--out", DIST]
        flags = {"RUSTFLAGS": profile_flags(), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        subprocess.run([*map(str, command)], check=True, env=os.environ | flags, cwd=ROOT)
    wheels = sorted(DIST.glob("*.whl"))
    for wheel in wheels:
        print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
    if large := [wheel.name for wheel in wheels if wheel.stat().st_size > MOST_BYTES]:
        sys.exit(
            f"error: {', '.join(large)}: more than {MOST_BYTES / 1e6:.0f} MB; is the module stripped (pyproject.toml)?"
        )
    write_index(wheels, DIST / "simple")


def use() -> None:
    print("building the wheel with the profile", flush=True)
    wheel = build(f"-Cprofile-use={PROFILE}")
    hot = hot_functions()
    print(f"{hot} functions are hot by the profile", flush=True)
    if hot < FEWEST_HOT:
        sys.exit(f"error: the profile was not used: the two builds differ in more than their profile; see {MAP}")
    wheels = ROOT / "target" / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    shutil.copytree(wheel.parent, wheels)
    write_index([wheel], ROOT / "target" / "simple")
    # Not written over: it may be in use.
    new = MODULE.with_suffix(".new")
    with zipfile.ZipFile(wheel) as archive:
        new.write_bytes(archive.read(f"ssdlab/{MODULE.name}"))
    new.replace(MODULE)


if __name__ == "__main__":
    {
        "train": train,
        "build": use,
        "flags": lambda: print(profile_flags()),
        "keep": keep,
        "compare": compare,
        "wheels": release_wheels,
    }[sys.argv[1]]()
