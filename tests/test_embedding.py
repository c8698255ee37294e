"""The C interface: the programs of docs/embedding.md are compiled and run, and have the results of replayed traces."""

from __future__ import annotations

import json
import os
import re
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
from conftest import HANGS_S
from pages import ROOT
from ssdlab.runs.reproduce import Reproducer

EXAMPLES = ROOT / "examples" / "embedding"
BUILT = ROOT / "target" / "debug"
"""Where `make tested` leaves the library, with the module that the other tests load."""

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")

SST_INSTALLED = ["installed"] if shutil.which("sst-config") else []
"""SST itself, where this machine has it: no package of Debian or PyPI does, so that CI has none."""

pytestmark = pytest.mark.slow

Compiled = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment in which the library is installed."""
    for program in ("gcc", "g++", "pkg-config", "strip", "readelf"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    if not (BUILT / "libssdlab.so").exists():
        pytest.skip("needs libssdlab: make tested")
    prefix = tmp_path / "installed"
    subprocess.run([ROOT / "crates" / "capi" / "install.sh", BUILT, prefix], check=True, timeout=HANGS_S)
    return os.environ | {
        "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig"),
        "LD_LIBRARY_PATH": str(prefix / "lib"),
    }


@pytest.fixture
def compiled(installed: dict[str, str], tmp_path: Path) -> Compiled:
    """Compiles sources with the installed library, and runs the program with some arguments in a folder of its own."""

    def call(compiler: str, sources: list[Path], *words: object) -> subprocess.CompletedProcess[str]:
        command = [*shlex.split(compiler), *WARNINGS, *map(str, sources), "-o", "program"]
        built = in_shell(f"{shlex.join(command)} $(pkg-config --cflags --libs ssdlab)", tmp_path, installed)
        assert built.returncode == 0, built.stderr
        return in_shell(shlex.join(["./program", *map(str, words)]), tmp_path, installed)

    return call


def test_the_installed_library_has_the_name_of_its_interface_and_nothing_for_debuggers(
    installed: dict[str, str], tmp_path: Path
) -> None:
    folder = Path(installed["LD_LIBRARY_PATH"])
    major, minor, _ = ssdlab.__version__.split(".")
    interface = f"libssdlab.so.{f'0.{minor}' if major == '0' else major}"
    assert f"`{interface}`" in (ROOT / "docs" / "embedding.md").read_text()
    for name in ("libssdlab.so", interface):
        assert (folder / name).resolve() == (folder / f"libssdlab.so.{ssdlab.__version__}").resolve()
    # What the header declares carries the version of the interface, and nothing else is to be seen.
    symbols = in_shell(f"nm --dynamic --defined-only --with-symbol-versions {folder}/{interface}", tmp_path, installed)
    version = f"SSDLAB_{interface.removeprefix('libssdlab.so.')}"
    header = (ROOT / "crates" / "capi" / "include" / "ssdlab.h").read_text()
    declared = set(re.findall(r"^[^#\n /*][^\n]*?\b(ssdlab_\w+)\(", header, re.MULTILINE))
    assert len(declared) > 20
    assert {line.split()[2] for line in symbols.stdout.splitlines()} - {version, f"{version}@@{version}"} == {
        f"{name}@@{version}" for name in declared
    }
    (tmp_path / "empty.c").write_text("#include <ssdlab.h>\nint main(void) { ssdlab_defaults(); return 0; }\n")
    built = in_shell("gcc empty.c $(pkg-config --cflags --libs ssdlab) -o empty", tmp_path, installed)
    assert built.returncode == 0, built.stderr
    # The program asks for the interface, whatever the release of it.
    assert f"Shared library: [{interface}]" in in_shell("readelf -d empty", tmp_path, installed).stdout
    (folder / "libssdlab.so").unlink()
    assert in_shell("./empty", tmp_path, installed).returncode == 0
    sections = in_shell(f"readelf -SW {folder}/{interface} {folder}/libssdlab.a", tmp_path, installed)
    assert sections.returncode == 0, sections.stderr
    assert ".text" in sections.stdout
    assert ".debug_" not in sections.stdout


def in_shell(command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a command as a reader of the page would."""
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )


def replay(folder: Path, device: str, **options: Any) -> ssdlab.Result:
    """The run that replays the requests of a log."""
    log = polars.read_parquet(folder / "requests.parquet").sort("request")
    trace = folder / "requests.csv"
    log["arrival_ns", "op", "offset", "bytes", "queue", "hint"].write_csv(trace, include_header=False)
    layout = "csv:time=ns,op=0/1,offset=B,size=B,device,hint"
    result = ssdlab.run(device, trace, format=layout, keep_requests=True, **options)
    assert isinstance(result, ssdlab.Result)
    return result


def as_embedded(replayed: ssdlab.Result) -> dict[str, Any]:
    """What libssdlab says of the requests of a replay: what is said of the workload is all that differs, and whether it
    can be longer."""
    result = replayed.to_dict()
    del result["process"]
    result["manifest"]["workload"] = {"driver": "libssdlab"}
    result["warnings"] = [of for of in result["warnings"] if of["id"] != "trace-units"]
    for finding in result["warnings"]:
        # A trace ends; a program may go on.
        ends = "the workload has ended: begin with a drive that has been written"
        if finding["id"] == "not-steady" and ends in finding["remedy"]:
            finding["remedy"] = (
                "begin with a drive that has been written (--precondition closed-form), or run until nothing changes "
                "(--until-steady auto), or longer, with a --warmup"
            )
    return result


def test_the_program_that_drives_flash_alone_says_what_the_page_says(
    compiled: Compiled, in_page: Callable[[str, str, str], None]
) -> None:
    source = EXAMPLES / "media.c"
    done = compiled("gcc -std=c11", [source])
    assert (done.returncode, done.stderr) == (0, "")
    in_page("embedding.md", "media", f"```c\n{source.read_text()}```\n\n```console\n$ ./media\n{done.stdout}```\n")


def test_an_ftl_in_c_equals_the_drives_own_and_says_what_the_page_says(compiled: Compiled) -> None:
    done = compiled("gcc -std=c11", [EXAMPLES / "own_ftl.c"])
    assert (done.returncode, done.stderr) == (0, "")
    assert f"$ ./own_ftl\n{done.stdout}```" in (ROOT / "docs" / "own-ftl.md").read_text()


def test_the_program_of_the_page_has_the_result_of_its_replay(
    compiled: Compiled, tmp_path: Path, in_page: Callable[[str, str, str], None]
) -> None:
    source = EXAMPLES / "drive.c"
    done = compiled("gcc -std=c11", [source], "requests.parquet", "result.json")
    assert (done.returncode, done.stderr) == (0, "")
    in_page("embedding.md", "program", f"```c\n{source.read_text()}```\n\n```console\n$ ./drive\n{done.stdout}```\n")
    settings = ["buffer.size=4MiB"]
    replayed = replay(tmp_path, "asplos21", scheme="pnar2", age="pec=2000,retention=6mo", settings=settings)
    wanted = as_embedded(replayed)
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


@pytest.mark.drawn
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
    assert json.loads((tmp_path / "result.json").read_text()) == as_embedded(replayed)


def sst_component(folder: Path, environment: dict[str, str], flags: str) -> subprocess.CompletedProcess[str]:
    """Builds the component with the command of the page; ``sst-config`` says these flags, or is SST's own."""
    page = (ROOT / "docs" / "embedding.md").read_text()
    (command,) = (line.removeprefix("$ ") for line in page.splitlines() if "$(sst-config " in line)
    shutil.copytree(EXAMPLES / "sst", folder, dirs_exist_ok=True)
    if flags:
        config = folder / "bin" / "sst-config"
        config.parent.mkdir()
        config.write_text(f"#!/bin/sh\n[ \"$*\" = --ELEMENT_CXXFLAGS ] && echo '{flags}'\n")
        config.chmod(0o755)
        environment = environment | {"PATH": f"{config.parent}{os.pathsep}{environment['PATH']}"}
    return in_shell(command, folder, environment)


@pytest.mark.drawn
@pytest.mark.parametrize(
    "sst", [*(pytest.param(old, marks=pytest.mark.seldom) for old in ("14", "16")), "17", *SST_INSTALLED]
)
def test_sst_has_answers_when_the_drive_has_finished(installed: dict[str, str], tmp_path: Path, sst: str) -> None:
    """Against headers with SST's names where SST has them, links behind them that take 2.5 ns, and handlers as SST 14
    and 15, 16, and 17 name them; with SST's own headers the component is only built.

    The result ends with the last completion, as that of a replay, though the drive goes on.
    """
    stubs = ROOT / "tests" / "embedding" / "sst"
    flags = "" if sst == "installed" else f"-I{stubs} -DSST_MAJOR={sst} {' '.join(WARNINGS)}"
    built = sst_component(tmp_path, installed, flags)
    assert built.returncode == 0, built.stderr
    if not flags:
        return
    library = f"-I. {stubs}/main.cc ./libssdlab_sst.so $(pkg-config --cflags --libs ssdlab)"
    built = in_shell(f"g++ -std=c++17 {flags} {library} -o program", tmp_path, installed)
    assert built.returncode == 0, built.stderr
    got, finished = answers(in_shell("./program", tmp_path, installed)), finishes(tmp_path)
    assert len(got) == 600
    # SST's time may lie between two nanoseconds of the drive.
    assert all((time - 2500) // 1000 == finished[number] for number, time in got.items())
    log = polars.read_parquet(tmp_path / "requests.parquet")
    assert log["op"].n_unique() == 4
    assert len(answers(in_shell("./program blocks", tmp_path, installed))) == 600
    wanted = as_embedded(replay(tmp_path, "tlc", settings=["host.t_submit=700ns"]))
    assert json.loads((tmp_path / "result.json").read_text()) == wanted
