"""The wheel that `make wheel` built: it holds this checkout, and works by itself on a machine without Rust."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import ssdlab
from conftest import HANGS_S, Cli
from pages import ROOT

PACKAGE = ROOT / "python" / "ssdlab"
RUN = ("--device", "hpca24", "--scheme", "rif", "--age", "pec=1000,retention=1mo", "--requests", "2000", "--seed", "7")


pytestmark = pytest.mark.seldom


@pytest.fixture(scope="module")
def wheel(request: pytest.FixtureRequest) -> Path:
    path: Path | None = request.config.getoption("--wheel")
    if path is None:
        pytest.skip("no --wheel FILE was given (`make check-all` builds one and gives it)")
    return path.resolve()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Runs a program of an empty environment that the wheel was installed into by its name, from the index that was
    built with it, with nothing else to be found."""
    home = tmp_path_factory.mktemp("wheel")
    programs = home / "venv" / "bin"
    subprocess.run([sys.executable, "-m", "venv", home / "venv"], check=True)
    index = wheel.parents[1] / "simple"
    quiet = ("--quiet", "--disable-pip-version-check", "--only-binary", ":all:")
    subprocess.run([programs / "pip", "install", *quiet, "--extra-index-url", index.as_uri(), "ssdlab"], check=True)
    for tool in ("cargo", "rustc", "cc"):
        assert shutil.which(tool, path=str(programs)) is None

    def call(name: str, *words: str, status: int = 0) -> str:
        done = subprocess.run(
            [programs / name, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=home,
            env={"PATH": str(programs)},
            timeout=HANGS_S,
            check=False,
        )
        assert done.returncode == status, done.stdout
        return done.stdout

    return call


def test_it_is_this_checkout_with_all_it_needs_and_an_honest_name(wheel: Path) -> None:
    name, version, python, abi, platform = wheel.stem.split("-")
    assert (name, version, python, abi) == ("ssdlab", ssdlab.__version__, "cp311", "abi3")
    with zipfile.ZipFile(wheel) as archive:
        files = {file: archive.read(file) for file in archive.namelist()}
    kinds = (".py", ".pyi", ".so", ".typed", ".html", ".css", ".js")
    here = {f"ssdlab/{p.relative_to(PACKAGE)}": p.read_bytes() for p in PACKAGE.rglob("*") if p.suffix in kinds}
    assert {file: text for file, text in files.items() if file.startswith("ssdlab/")} == here
    assert wheel.stat().st_size <= 6_000_000
    info = f"ssdlab-{version}.dist-info"
    for text in ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-NOTICES.txt"):
        assert files[f"{info}/licenses/{text}"] == (ROOT / text).read_bytes()
    # The bill of materials names every crate that the notices name.
    (bill,) = (json.loads(text) for file, text in files.items() if file.startswith(f"{info}/sboms/"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    listed = {(part["name"], part["version"]) for part in bill["components"]}
    named = re.findall(r"^([\w-]+) (\d\S*)  ", (ROOT / "THIRD-PARTY-NOTICES.txt").read_text(), re.MULTILINE)
    assert len(named) > 40
    assert set(named) <= listed
    # No symbol of a newer C library than the name says.
    tag = re.fullmatch(r"manylinux_(\d+)_(\d+)_\w+", platform)
    assert tag is not None, platform
    needed = {(int(a), int(b)) for a, b in re.findall(rb"GLIBC_(\d+)\.(\d+)", files["ssdlab/_core.abi3.so"])}
    assert max(needed) == (int(tag[1]), int(tag[2]))


def test_its_commands_work_and_give_the_checkouts_results(installed: Callable[..., str], cli: Cli) -> None:
    assert installed("ssdlab", "--version") == f"ssdlab, version {ssdlab.__version__}\n"
    assert installed("ssdlab", "presets") == cli("presets").stdout
    assert installed("ssdlab", "schema") == cli("schema").stdout
    mine, theirs = (json.loads(text) for text in (cli("run", *RUN, "--json", "-", "-q").stdout, _run(installed)))
    assert mine.pop("process").keys() == theirs.pop("process").keys()
    assert mine == theirs
    assert mine["flash"]["prediction"]["made"] > 0


def _run(installed: Callable[..., str]) -> str:
    """The result; what the command warns of stands before it."""
    printed = installed("ssdlab", "run", *RUN, "--json", "-", "-q")
    return printed[printed.index("{") :]


def test_its_library_works_and_comes_from_the_wheel(installed: Callable[..., str]) -> None:
    code = "import ssdlab; print(ssdlab.__file__); print(ssdlab.run(requests=2000)['host.read.latency_ns.mean'])"
    where, mean = installed("python", "-c", code).splitlines()
    assert "site-packages" in where
    assert float(mean) == ssdlab.run(requests=2000)["host.read.latency_ns.mean"]


def test_what_is_not_in_it_is_told(installed: Callable[..., str]) -> None:
    assert "help: " in installed("ssdlab", "study", "list", status=2)
    assert 'pip install "ssdlab[report]"' in installed("ssdlab", "report", ".", status=2)
    assert "pip install" in installed("ssdlab", "lifetime", "--last", "100", "--plot", "lives.png", status=2)
