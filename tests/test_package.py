"""What is given away: versions that agree, licences that are accepted, and what starting costs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import ssdlab
from conftest import HANGS_S
from pages import ROOT


def module(path: Path) -> ModuleType:
    """A script of the repository as a module."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_every_dependency_has_a_row_that_says_what_it_is_for() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text()
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    told = {name for cell in cells for name in re.findall(r"`([\w-]+)`", cell.partition("(")[0])}
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    crates = {name for name, of in workspace.items() if not (isinstance(of, dict) and "path" in of)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [
        *project["dependencies"],
        *(text for extra in project["optional-dependencies"].values() for text in extra),
    ]
    # What `make` installs by name, before it installs what these list.
    by_make = set(re.findall(r"\$\(PIP\) (\w+)", (ROOT / "Makefile").read_text()))
    assert told == crates | by_make | {re.split(r"[<>=]", text)[0] for text in listed}
    # Each crate of the workspace's list is needed by one of them.
    manifests = "".join(path.read_text() for path in ROOT.glob("crates/*/Cargo.toml"))
    assert [name for name in crates if not re.search(rf"^{name}\b", manifests, re.MULTILINE)] == []


def test_all_name_the_same_version() -> None:
    version = ssdlab.__version__
    assert tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"] == version
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == version
    assert re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1] == version  # type: ignore[index]
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == version  # type: ignore[index]


def test_the_crate_and_what_it_is_made_of_are_packaged_without_a_complaint(tmp_path: Path) -> None:
    """`make packages` builds them too."""
    names = re.search(r"^PUBLISHED := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert names is not None
    chosen = [word for name in names[1].split() for word in ("--package", name)]
    command = ["cargo", "package", "--offline", "--no-verify", "--allow-dirty", "--target-dir", str(tmp_path), *chosen]
    if shutil.which("cargo") is None:
        pytest.skip("there is no cargo")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANGS_S, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr, done.stderr
    made = {path.name.removesuffix(f"-{ssdlab.__version__}.crate") for path in (tmp_path / "package").glob("*.crate")}
    assert made == set(names[1].split())
    # A name of their own each: one as general as `ssd` is somebody else's.
    assert all(name.startswith("ssdlab") for name in made)
    # All that they are made of is among them: what else the workspace has is needed by none.
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    own = {name: of.get("package", name) for name, of in workspace.items() if isinstance(of, dict) and "path" in of}
    for name, package in own.items():
        if package in made:
            manifest = tomllib.loads((ROOT / "crates" / name / "Cargo.toml").read_text())
            assert manifest["lib"]["name"] == name
            assert {own[needed] for needed in manifest["dependencies"] if needed in own} <= made


def test_a_build_says_how_far_it_is_and_its_errors_pass(capsys: pytest.CaptureFixture[str]) -> None:
    watched = module(ROOT / "crates" / "python" / "watched.py")
    count = watched.Count()
    for part in ("   Compiling nand v0.1.0", "    Building [=====>     ] 45/123: nand, ecc", "error: no such key"):
        count.takes(part)
    assert count.line().startswith("45 of 123 parts compiled, now nand (")
    assert capsys.readouterr().err.replace("\r\x1b[K", "") == "error: no such key\n"
    assert watched.main([sys.executable, "-c", "import sys; print('torn', end='', file=sys.stderr); sys.exit(3)"]) == 3
    assert "torn" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("expression", "fine"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("Unlicense/MIT", True),
        ("GPL-2.0 OR Apache-2.0 WITH LLVM-exception", True),
        ("Apache-2.0 WITH another-exception", False),
        ("(MIT OR GPL-3.0-only) AND Unicode-3.0", True),
        ("MIT AND GPL-3.0-only", False),
        ("(GPL-2.0 AND MIT) OR LGPL-2.1", False),
    ],
)
def test_licences_are_read_as_spdx_says(expression: str, fine: bool) -> None:
    supply = module(ROOT / ".ci" / "supply.py")
    assert supply.accepted(expression, {"MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"}) is fine


def test_a_licence_that_is_not_accepted_is_named() -> None:
    supply = module(ROOT / ".ci" / "supply.py")
    crates = [
        {"name": "one", "version": "1.0.0", "license": "MIT"},
        {"name": "two", "version": "2.0.0", "license": "AGPL-3.0-only"},
        {"name": "three", "version": "3.0.0", "license": None},
        {"name": "cbindgen", "version": "0.29.0", "license": "MPL-2.0"},
        {"name": "other", "version": "0.29.0", "license": "MPL-2.0"},
    ]
    found = supply.refused(crates)
    assert found == ["two 2.0.0: AGPL-3.0-only", "three 3.0.0: no licence is named", "other 0.29.0: MPL-2.0"]


def test_advisories_of_packages_are_those_of_their_releases(tmp_path: Path) -> None:
    supply = module(ROOT / ".ci" / "supply.py")
    index = tmp_path.as_uri()

    def publish(page: str, version: str, *found: dict[str, str | None]) -> None:
        (tmp_path / page).mkdir(parents=True)
        (tmp_path / page / "json").write_text(json.dumps({"info": {"version": version}, "vulnerabilities": found}))

    bad: dict[str, str | None] = {"id": "PYSEC-1", "link": "https://example.org/1", "withdrawn": None}
    publish("one/1.0", "1.0", bad, {**bad, "id": "PYSEC-2", "withdrawn": "2026-01-01"})
    publish("two/2.0", "2.0")
    assert supply.advisories_of_packages({"two": "2.0"}, index) == (True, "none of 1 packages")
    fine, text = supply.advisories_of_packages({"two": "2.0", "one": "1.0"}, index)
    assert (fine, text) == (False, "1 of 2 packages\n  one 1.0: PYSEC-1 https://example.org/1")
    fine, text = supply.advisories_of_packages({"three": "3.0"}, index)
    assert fine
    assert text.startswith("skipped: file://")
    assert {"click", "rich", "polars", "pygments"} <= set(supply.needed())


HEAVY = {"asyncio", "matplotlib", "numpy", "polars", "rich", "unittest", "email", "http", "urllib.request"}


def loaded_by(code: str) -> set[str]:
    """The modules that are loaded when a piece of code has run."""
    text = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_the_first_import_and_the_first_command_load_nothing_heavy() -> None:
    plain = loaded_by("")
    assert not (loaded_by("import ssdlab") - plain) & {*HEAVY, "click", "json", "typing"}
    play = "import ssdlab.cli.main as m; m.commands.main(['run', '-q', '--requests', '10'], standalone_mode=False)"
    assert not (loaded_by(play) - plain) & HEAVY


def test_an_index_of_a_wheel_is_one_that_pip_installs_from(tmp_path: Path) -> None:
    """The wheel of this test holds one module and needs nothing."""
    wheel = tmp_path / "ssdlab-9.9.9-py3-none-any.whl"
    info = "ssdlab-9.9.9.dist-info"
    files = {
        "ssdlab.py": "here = True\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: ssdlab\nVersion: 9.9.9\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "".join(f"{name},,\n" for name in ("ssdlab.py", f"{info}/METADATA", f"{info}/WHEEL")),
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    module(ROOT / "crates" / "python" / "pgo.py").write_index([wheel], tmp_path / "simple")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    target = ("--target", tmp_path / "there", "--index-url", (tmp_path / "simple").as_uri(), "ssdlab")
    subprocess.run([*pip, *target], check=True)
    assert (tmp_path / "there" / "ssdlab.py").read_text() == "here = True\n"
    page = tmp_path / "simple" / "ssdlab" / "index.html"
    page.write_text(page.read_text().replace("sha256=", "sha256=0"))
    done = subprocess.run([*pip, "--upgrade", *target], check=False, capture_output=True, text=True)
    assert done.returncode != 0
