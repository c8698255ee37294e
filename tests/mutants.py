"""Mutation testing of the drive: mistakes that tests must find out, in a copy of the sources. `make mutants` plants
all of them; `tests/mutants.py WORD` those whose names have a word.

``mutants.toml`` says what is wrong in each, and which test finds it out. All are compiled into one build: at each place
the copy asks the environment which mutant it is. A build for each, as of cargo-mutants, would take twenty times as
long.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_suffix(".toml")
BUILD = ROOT / "target" / "mutants"
COPIED = ("crates", "presets", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml")
"""What crate ssd is built from."""
SOURCES = "crates/ssd/src/"
VARIABLE = "SSDLAB_MUTANT"
ASKED = f"""
/// Which mutant this is; 0 is none.
pub(crate) fn mutant() -> u32 {{
    static MUTANT: std::sync::LazyLock<u32> =
        std::sync::LazyLock::new(|| std::env::var("{VARIABLE}").map_or(0, |number| number.parse().unwrap()));
    *MUTANT
}}
"""
"""Added to the copy's lib.rs."""


def slow() -> list[str]:
    """Arguments that leave out tests which measure long runs, as `make quick` does."""
    found = re.search(r"^SLOW := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found is not None
    return [word for name in found[1].replace("\\", " ").split() for word in ("--skip", name)]


class MutantError(Exception):
    """The list does not fit the sources, or a mutant is not found out."""


@dataclass(frozen=True)
class Edit:
    """What a mutant changes in a file."""

    file: str
    before: str
    after: str

    def place(self, text: str) -> tuple[int, int]:
        """From where to where in a text stands what is changed; spaces and line ends do not count."""
        head, mark, rest = self.before.partition("«")
        kept, end_mark, tail = rest.partition("»")
        if not mark or not end_mark or not kept.strip():
            raise MutantError(f"`before` encloses what is changed with « and »: {self.before!r}")
        found = list(re.finditer(rf"{_spaced(head)}\s*({_spaced(kept)})\s*{_spaced(tail)}", text))
        if len(found) != 1:
            raise MutantError(
                f"its text stands {len(found)} times in {SOURCES}{self.file}, not once:\n    {self.before}\n"
                f"  give the text that stands there now; if what it breaks is gone, take it out of tests/{LIST.name}"
            )
        return found[0].span(1)


def _spaced(text: str) -> str:
    """A pattern of the text's words and signs, however they are spaced."""
    return r"\s*".join(map(re.escape, re.findall(r"\w+|[^\w\s]", text)))


@dataclass(frozen=True)
class Mutant:
    """A mistake, and who finds it out."""

    name: str
    edits: tuple[Edit, ...]
    target: str
    """`lib`, or a folder of crates/ssd/tests."""
    test: str
    says: str


def read(path: Path = LIST) -> list[Mutant]:
    """The mutants of a list."""
    mutants = []
    for row in tomllib.loads(path.read_text())["mutant"]:
        edits = row.get("edits") or [{key: row[key] for key in ("file", "before", "after")}]
        target, _, test = row["test"].partition(" ")
        mutants.append(Mutant(row["name"], tuple(Edit(**edit) for edit in edits), target, test, row.get("says", "")))
    return mutants


def planted(mutants: Iterable[Mutant], source: Callable[[str], str]) -> dict[str, str]:
    """The files that mutants change, with all of them in: each asks which one it is. The first has number 1."""
    places: dict[str, dict[tuple[int, int], list[tuple[int, str]]]] = defaultdict(lambda: defaultdict(list))
    for number, mutant in enumerate(mutants, 1):
        for edit in mutant.edits:
            try:
                span = edit.place(source(edit.file))
            except MutantError as failure:
                raise MutantError(f"mutant {mutant.name!r}: {failure}") from None
            places[edit.file][span].append((number, edit.after))
    return {file: _with_all(source(file), spans) for file, spans in places.items()}


def _with_all(text: str, spans: dict[tuple[int, int], list[tuple[int, str]]]) -> str:
    ends = sorted(spans)
    for (_, end), (start, _) in pairwise(ends):
        if start < end:
            raise MutantError(f"two mutants change overlapping texts: {text[start:end]!r}")
    for start, end in reversed(ends):
        arms = "".join(f"{number} => {{ {after} }} " for number, after in spans[start, end])
        text = f"{text[:start]}(match crate::mutant() {{ {arms}_ => {{ {text[start:end]} }} }}){text[end:]}"
    return text


def copy(files: dict[str, str]) -> Path:
    """A copy of the sources with some of them changed. What has not changed since the last copy is left alone: cargo
    looks at the times of files."""
    to = BUILD / "source"
    wanted = {
        path.relative_to(ROOT): path.read_bytes()
        for name in COPIED
        for path in ([ROOT / name] if (ROOT / name).is_file() else (ROOT / name).rglob("*"))
        if path.is_file() and not path.relative_to(ROOT).is_relative_to("crates/fuzz/fuzz")
    }
    wanted |= {Path(SOURCES) / file: text.encode() for file, text in files.items()}
    root = Path(SOURCES) / "lib.rs"
    wanted[root] += ASKED.encode()
    for path in to.rglob("*"):
        if path.is_file() and path.relative_to(to) not in wanted:
            path.unlink()
    for link in (path for name in COPIED for path in (ROOT / name).rglob("*") if path.is_symlink()):
        of = to / link.relative_to(ROOT)
        of.parent.mkdir(parents=True, exist_ok=True)
        if not of.is_symlink():
            of.symlink_to(os.readlink(link))
    for path, content in wanted.items():
        if not (to / path).is_file() or (to / path).read_bytes() != content:
            (to / path).parent.mkdir(parents=True, exist_ok=True)
            (to / path).write_bytes(content)
    return to


def build(source: Path, targets: Iterable[str]) -> dict[str, str]:
    """Compiles tests of crate ssd; the programs by their names."""
    chosen = [word for name in sorted(targets) for word in (["--lib"] if name == "lib" else ["--test", name])]
    command = [
        "cargo",
        "test",
        "--quiet",
        "--offline",
        "--package",
        "ssdlab-drive",
        "--no-run",
        "--message-format",
        "json",
    ]
    command += ["--target-dir", str(BUILD / "target"), *chosen]
    done = subprocess.run(command, cwd=source, stdout=subprocess.PIPE, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0:
        errors = [row["message"]["rendered"] for row in rows if row.get("message", {}).get("level") == "error"]
        raise MutantError("a mutant does not compile: `after` is to fit in the place of `before`\n" + "\n".join(errors))
    made = [row for row in rows if row.get("executable") and row["profile"]["test"]]
    return {"lib" if "lib" in row["target"]["kind"] else row["target"]["name"]: row["executable"] for row in made}


def play(program: str, tests: list[str], number: int, source: Path) -> tuple[bool, str]:
    """Whether tests pass in a mutant, and what they say."""
    done = subprocess.run(
        [program, "--exact", *tests],
        cwd=source / "crates" / "ssd",
        env={**os.environ, VARIABLE: str(number)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if f"running {len(tests)} test" not in done.stdout:
        raise MutantError(f"not all of these tests are there: {', '.join(tests)}")
    return done.returncode == 0, done.stdout


def survivors(mutants: list[Mutant]) -> list[str]:
    """Mutants that their tests do not find out, each with why. Without a mutant the tests pass, or this fails."""
    source = copy(planted(mutants, lambda file: (ROOT / SOURCES / file).read_text()))
    tests = {(mutant.target, mutant.test) for mutant in mutants}
    programs = build(source, {target for target, _ in tests})
    for target, program in programs.items():
        passed, said = play(program, sorted(test for of, test in tests if of == target), 0, source)
        if not passed:
            raise MutantError(f"tests fail without any mutant:\n{said}")

    def outcome(number: int, mutant: Mutant) -> str | None:
        passed, said = play(programs[mutant.target], [mutant.test], number, source)
        if passed:
            return f"mutant {mutant.name!r}: {mutant.test} passes"
        if mutant.says not in said:
            return f"mutant {mutant.name!r}: {mutant.test} fails, but does not say {mutant.says!r}:\n{said}"
        return None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = pool.map(outcome, range(1, len(mutants) + 1), mutants)
        return [found for found in outcomes if found is not None]


def main() -> int:
    """Plants the mutants whose names have a word, or all."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    mutants = [mutant for mutant in read() if word in mutant.name]
    if shutil.which("cargo") is None:
        print("error: cargo is needed", file=sys.stderr)
        return 2
    try:
        found = survivors(mutants)
    except MutantError as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 2
    print(*found, f"{len(mutants) - len(found)} of {len(mutants)} mutants are found out", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
