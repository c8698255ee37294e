"""What comes from others: licences of every crate, the notices of those that are linked in, and known advisories.

``deny.toml`` lists the licences that are accepted. Advisories of crates are looked up by `cargo deny`, where it is
installed and can reach its database; those of the Python packages that ssdlab needs on PyPI. What could not be looked
up is reported as skipped. ``--write`` writes THIRD-PARTY-NOTICES.txt again. Exit status 1: a licence is not accepted,
the notices are stale, or an advisory is known.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterable
from importlib import metadata as installed
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PYPI = "https://pypi.org/pypi"
NOTICES = ROOT / "THIRD-PARTY-NOTICES.txt"
MODULE = "ssdlab-python"
"""The crate that becomes the extension module."""
TARGET = "x86_64-unknown-linux-gnu"
TEXTS = re.compile(r"(LICEN[CS]E|COPYING|NOTICE|UNLICENSE|COPYRIGHT)([-._].*)?$", re.IGNORECASE)
HEAD = """Parts of others in ssdlab's extension module
============================================

ssdlab's module is linked with the crates below and with the Rust standard library (MIT OR Apache-2.0, copyright the
Rust Project contributors). Where a crate offers MIT among others it is taken under that. The texts follow; each stands
once. `.ci/supply.py --write` has made this file from Cargo.lock.

"""

Package = dict[str, Any]


def metadata(*words: str) -> Any:
    """What cargo knows of the workspace and its dependencies."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", *words]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout)


def accepted(expression: str, allowed: Iterable[str]) -> bool:
    """Whether an SPDX expression can be satisfied by licences that are allowed."""
    words = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def either() -> bool:
        found = both()
        while words and words[0] == "OR":
            words.pop(0)
            found = both() or found
        return found

    def both() -> bool:
        found = one()
        while words and words[0] == "AND":
            words.pop(0)
            found = one() and found
        return found

    def one() -> bool:
        name = words.pop(0)
        if name == "(":
            found = either()
            words.pop(0)
            return found
        if words and words[0] == "WITH":
            name = f"{name} WITH {words[1]}"
            del words[:2]
        return name in allowed

    return either()


def refused(packages: Iterable[Package]) -> list[str]:
    """Crates whose licences are not accepted."""
    rules = tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]
    exceptions = {rule["crate"]: rule["allow"] for rule in rules.get("exceptions", [])}
    return [
        f"{package['name']} {package['version']}: {package['license'] or 'no licence is named'}"
        for package in packages
        if not accepted(package["license"] or "none", {*rules["allow"], *exceptions.get(package["name"], [])})
    ]


def linked() -> list[Package]:
    """The crates of others that are linked into the module: no build scripts, no macros, nothing of other systems."""
    found = metadata("--filter-platform", TARGET)
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    todo, seen = [next(of["id"] for of in packages.values() if of["name"] == MODULE)], set()
    while todo:
        package = packages[todo.pop()]
        if package["id"] in seen or any("proc-macro" in target["kind"] for target in package["targets"]):
            continue
        seen.add(package["id"])
        parts = nodes[package["id"]]["deps"]
        todo += [part["pkg"] for part in parts if any(kind["kind"] is None for kind in part["dep_kinds"])]
    others = [packages[of] for of in seen if packages[of]["source"] is not None]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def texts(package: Package) -> list[str]:
    """The licences and notices that come with a crate; where it offers MIT, in a file of its own, only that text."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and TEXTS.match(path.name))
    mit = [path for path in files if "MIT" in path.name.upper()]
    if mit and accepted(package["license"], {"MIT"}):
        files = [*mit, *(path for path in files if path.name.upper().startswith("NOTICE"))]
    # zstd's own code lies in a folder of the crate that builds it.
    files += [path for path in (folder / "zstd" / "LICENSE",) if path.is_file()]
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in files]


def notices() -> str:
    """The text of THIRD-PARTY-NOTICES.txt."""
    packages = linked()
    lines = [f"{of['name']} {of['version']}  {of['license']}  {of['repository'] or ''}".rstrip() for of in packages]
    by_text: dict[str, tuple[str, list[str]]] = {}
    for package in packages:
        for text in texts(package):
            key = " ".join(text.split())
            by_text.setdefault(key, (text, []))[1].append(package["name"])
    parts = [
        f"{'-' * 80}\n{', '.join(dict.fromkeys(names))}:\n\n{text}\n"
        for text, names in sorted(by_text.values(), key=lambda part: part[1])
    ]
    return HEAD + "\n".join(lines) + "\n\n" + "\n".join(parts)


def advisories_of_crates() -> tuple[bool, str]:
    """Whether no advisory is known, and what to say of it."""
    if shutil.which("cargo-deny") is None:
        return True, "skipped: cargo-deny is not installed (cargo install cargo-deny)"
    done = subprocess.run(["cargo", "deny", "check", "advisories"], capture_output=True, text=True, cwd=ROOT)
    if "failed to fetch" in done.stderr or "unable to load" in done.stderr:
        return True, "skipped: cargo deny cannot reach its database"
    return done.returncode == 0, "none" if done.returncode == 0 else f"see `cargo deny check advisories`\n{done.stderr}"


def needed() -> dict[str, str]:
    """The installed packages that ssdlab needs, by name, with their versions; without extras."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: dict[str, str] = {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    todo = list(project["dependencies"])
    while todo:
        requirement = Requirement(todo.pop())
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        package = canonicalize_name(requirement.name)
        if package not in found:
            found[package] = installed.version(package)
            todo += installed.requires(package) or []
    return found


def release(name: str, version: str, index: str = PYPI) -> dict[str, Any] | None:
    """What the index says of a release; None where it does not say. Some mirrors know only the newest one."""
    for page in (f"{name}/{version}", name):
        try:
            with urllib.request.urlopen(f"{index}/{page}/json", timeout=30) as answer:
                found: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError:
            continue
        if found["info"]["version"] == version and "vulnerabilities" in found:
            return found
    return None


def advisories_of_packages(packages: dict[str, str], index: str = PYPI) -> tuple[bool, str]:
    """The same of Python packages, looked up on PyPI."""
    known, skipped = [], []
    for name, version in sorted(packages.items()):
        try:
            found = release(name, version, index)
        except OSError as error:
            return True, f"skipped: {index} cannot be reached ({error})"
        if found is None:
            skipped.append(f"{name} {version}")
            continue
        open_ones = [each for each in found["vulnerabilities"] if not each.get("withdrawn")]
        known += [f"  {name} {version}: {each['id']} {each.get('link') or ''}".rstrip() for each in open_ones]
    text = f"{len(known) or 'none'} of {len(packages) - len(skipped)} packages"
    if skipped:
        text += f"; skipped, not in the index: {', '.join(skipped)}"
    return not known, "\n".join([text, *known])


def main() -> int:
    if sys.argv[1:] == ["--write"]:
        NOTICES.write_text(notices())
        return 0
    packages = metadata()["packages"]
    bad = refused(packages)
    print(f"licences: {len(packages)} crates, {len(bad) or 'none'} with a licence that deny.toml does not accept")
    for line in bad:
        print(f"  {line}")
    stale = not NOTICES.exists() or NOTICES.read_text() != notices()
    print("notices:", "THIRD-PARTY-NOTICES.txt is stale: .ci/supply.py --write" if stale else "up to date")
    crates_fine, text = advisories_of_crates()
    print("advisories of crates:", text)
    packages_fine, text = advisories_of_packages(needed())
    print("advisories of Python packages:", text)
    return int(bool(bad) or stale or not crates_fine or not packages_fine)


if __name__ == "__main__":
    sys.exit(main())
