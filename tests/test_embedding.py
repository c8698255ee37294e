"""The C interface: the programs of docs/embedding.md are compiled and run, and have the results of replayed traces."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

import ssdlab
from pages import ROOT

EXAMPLES = ROOT / "examples" / "embedding"
BUILT = ROOT / "target" / "debug"
"""Where `make tested` leaves the library, with the module that the other tests load."""

pytestmark = pytest.mark.slow

Compiled = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def compiled(tmp_path: Path) -> Compiled:
    """Compiles sources with the installed library, and runs the program with some arguments in a folder of its own."""
    for program in ("gcc", "g++", "pkg-config"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    if not (BUILT / "libssdlab.so").exists():
        pytest.skip("needs libssdlab: make tested")
    prefix = tmp_path / "installed"
    subprocess.run([ROOT / "crates" / "capi" / "install.sh", BUILT, prefix], check=True, timeout=60)
    environment = os.environ | {
        "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig"),
        "LD_LIBRARY_PATH": str(prefix / "lib"),
    }

    def call(compiler: str, sources: list[Path], *words: object) -> subprocess.CompletedProcess[str]:
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "ssdlab"],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            check=True,
        )
        program = tmp_path / "program"
        warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
        command = [*shlex.split(compiler), *warnings, *sources, "-o", program, *shlex.split(flags.stdout)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return subprocess.run(
            [program, *map(str, words)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return call


def trace_of(log: Path) -> Path:
    """The requests of a log as a trace in MQSim's layout: time [ns], queue, sector, sectors, whether it is a read."""
    rows = polars.read_parquet(log).sort("request")
    columns = ("arrival_ns", "queue", "offset", "bytes", "op")
    lines = [
        f"{time} {queue} {at // 512} {of // 512} {1 - op}" for time, queue, at, of, op in rows[columns].iter_rows()
    ]
    trace = log.with_suffix(".trace")
    trace.write_text("\n".join(lines) + "\n")
    return trace


def test_the_program_of_the_page_has_the_result_of_its_replay(
    compiled: Compiled, tmp_path: Path, in_page: Callable[[str, str, str], None]
) -> None:
    source = EXAMPLES / "drive.c"
    done = compiled("gcc -std=c11", [source], "requests.parquet", "result.json")
    assert (done.returncode, done.stderr) == (0, "")
    in_page("embedding.md", "program", f"```c\n{source.read_text()}```\n\n```console\n$ ./drive\n{done.stdout}```\n")
    told = (tmp_path / "result.json").read_text()
    replayed = ssdlab.run(
        "asplos21",
        trace_of(tmp_path / "requests.parquet"),
        scheme="pnar2",
        age="pec=2000,retention=6mo",
        settings=["buffer.size=4MiB"],
    ).to_dict()
    del replayed["process"]
    assert json.loads(told)["manifest"]["workload"] == {"driver": "libssdlab"}
    replayed["manifest"]["workload"] = {"driver": "libssdlab"}
    assert told == json.dumps(replayed, indent=1) + "\n"
