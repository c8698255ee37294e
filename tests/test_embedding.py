"""The C interface: the programs of docs/embedding.md are compiled and run, and have the results of replayed traces."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest

import ssdlab
from pages import ROOT
from ssdlab.runs.reproduce import Reproducer

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
        files = [*map(str, sources), "-o", str(program)]
        command = [*shlex.split(compiler), *warnings, *files, *shlex.split(flags.stdout)]
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


def replay(folder: Path, device: str, **options: Any) -> ssdlab.Result:
    """The run that replays the requests of a log."""
    log = polars.read_parquet(folder / "requests.parquet").sort("request")
    trace = folder / "requests.csv"
    log["arrival_ns", "op", "offset", "bytes", "queue", "hint"].write_csv(trace, include_header=False)
    layout = "csv:time=ns,op=0/1,offset=B,size=B,device,hint"
    result = ssdlab.run(device, trace, format=layout, keep_requests=True, **options)
    assert isinstance(result, ssdlab.Result)
    return result


def test_the_program_of_the_page_has_the_result_of_its_replay(
    compiled: Compiled, tmp_path: Path, in_page: Callable[[str, str, str], None]
) -> None:
    source = EXAMPLES / "drive.c"
    done = compiled("gcc -std=c11", [source], "requests.parquet", "result.json")
    assert (done.returncode, done.stderr) == (0, "")
    in_page("embedding.md", "program", f"```c\n{source.read_text()}```\n\n```console\n$ ./drive\n{done.stdout}```\n")
    settings = ["buffer.size=4MiB"]
    replayed = replay(tmp_path, "asplos21", scheme="pnar2", age="pec=2000,retention=6mo", settings=settings)
    wanted = replayed.to_dict()
    del wanted["process"]
    # What is said of the workload is all that differs.
    wanted["manifest"]["workload"] = {"driver": "libssdlab"}
    assert (tmp_path / "result.json").read_text() == json.dumps(wanted, indent=1) + "\n"
    assert polars.read_parquet(tmp_path / "requests.parquet").equals(replayed.requests)
    command = Reproducer().command_of(wanted["manifest"])
    assert command.arguments[2:6] == ("--device", "asplos21", "--workload", "default")
    assert command.note == "the requests came from libssdlab: give a trace of them as --workload"


def answers(done: subprocess.CompletedProcess[str]) -> dict[int, int]:
    """When a simulator had each answer [ps], by the requests' numbers."""
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines() if line[0].isdigit()]
    assert {right for _, _, right in rows} == {"1"}
    return {int(number): int(time) for number, time, _ in rows}


def finishes(folder: Path) -> dict[int, int]:
    """When the drive finished each request [ns]."""
    return dict(polars.read_parquet(folder / "requests.parquet")["request", "finish_ns"].iter_rows())


def test_gem5_has_answers_when_the_drive_has_finished(compiled: Compiled, tmp_path: Path) -> None:
    """Against headers with gem5's names, an event queue behind them."""
    shutil.copytree(EXAMPLES / "gem5", tmp_path / "mem" / "ssdlab")
    stubs, glue = ROOT / "tests" / "embedding" / "gem5", tmp_path / "mem" / "ssdlab" / "ssdlab.cc"
    done = compiled(f"g++ -std=c++17 -I{stubs} -I{tmp_path}", [stubs / "main.cc", glue])
    got, finished = answers(done), finishes(tmp_path)
    assert done.stdout.endswith("\ndrained\n")
    # Every seventh write asks for no answer. Where the port refuses one it is offered again 300 ps later.
    assert got.keys() == {number for number in range(600) if number % 7 or (number % 2 and number > 80)}
    late = Counter(time - finished[number] * 1000 for number, time in got.items())
    assert late.keys() == {0, 300}
    assert late[0] > late[300] > 50
    replayed = replay(tmp_path, "tlc", settings=["host.t_submit=700ns"])
    assert polars.read_parquet(tmp_path / "requests.parquet").equals(replayed.requests)


def test_sst_has_answers_when_the_drive_has_finished(compiled: Compiled, tmp_path: Path) -> None:
    """Against headers with SST's names, links behind them that take 2.5 ns."""
    stubs, glue = ROOT / "tests" / "embedding" / "sst", EXAMPLES / "sst"
    done = compiled(f"g++ -std=c++17 -I{stubs} -I{glue}", [stubs / "main.cc", glue / "drive.cc"])
    got, finished = answers(done), finishes(tmp_path)
    assert len(got) == 600
    # SST's time may lie between two nanoseconds of the drive.
    assert all((time - 2500) // 1000 == finished[number] for number, time in got.items())
    log = polars.read_parquet(tmp_path / "requests.parquet")
    assert log["op"].n_unique() == 4
