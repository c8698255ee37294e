"""The documentation's code blocks: found, run, and compared with what the page shows."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from conftest import HANGS_S

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(?:\{code-block\} )?(\w+)\n(?::caption: ([^\n]+)\n\n?)?(.*?)^```$", re.MULTILINE | re.DOTALL)
COSTS = re.compile(r"in [\d.,]+ s: [\d,]+ requests/s|peak RSS [\d,]+ MiB")
"""What differs from run to run."""


class Block(NamedTuple):
    """A code block of a page."""

    language: str
    caption: str | None
    """The file that it stands for."""
    text: str
    start: int
    """Where its text begins in the page."""


def blocks(page: Path, *languages: str) -> list[Block]:
    """The code blocks of a page, in those languages if any are given."""
    text = page.read_text()
    found = [Block(match[1], match[2], match[3], match.start(3)) for match in BLOCK.finditer(text)]
    assert len(found) == len(re.findall(r"^```(?:\{code-block\} )?\w", text, re.MULTILINE)), "a fence is not closed"
    return [block for block in found if not languages or block.language in languages]


class Step(NamedTuple):
    """A command and what it prints."""

    command: str
    shown: str


def steps(block: Block) -> list[Step]:
    """The commands of a console block (lines from ``$`` on, continued by a backslash) and their output."""
    parts = re.split(r"^\$ ((?:.*\\\n)*.*)\n", block.text, flags=re.MULTILINE)
    assert parts[0] == "", f"a console block begins with a command: {parts[0]!r}"
    return [Step(command, shown) for command, shown in zip(parts[1::2], parts[2::2], strict=True)]


def play(page: Path, folder: Path, update: bool = False) -> int:
    """Runs a page from top to bottom in a folder and compares what it shows; returns how many parts ran.

    Blocks with a caption are files. The commands of ``console`` blocks run, ``python`` blocks are executed and
    ``pycon`` sessions checked, both in one scope. With ``update`` the output of commands is written into the page.
    """
    scope: dict[str, Any] = {}
    old, new, done, ran = page.read_text(), [], 0, 0
    for block in blocks(page):
        line = old.count("\n", 0, block.start) + 1
        if block.caption is not None:
            (folder / block.caption).write_text(block.text)
        elif block.language == "console":
            new += [old[done : block.start]]
            done = block.start + len(block.text)
            for step in steps(block):
                printed = _run(step, folder, f"{page.name}:{line}")
                ran += 1
                if COSTS.sub("~", printed) == COSTS.sub("~", step.shown):
                    printed = step.shown
                assert update or printed == step.shown, f"{page.name}:{line}: {step.command}"
                new += [f"$ {step.command}\n", printed]
        elif block.language == "python":
            exec(compile("\n" * (line - 1) + block.text, str(page), "exec"), scope)
            ran += 1
        elif block.language == "pycon":
            _session(block.text, scope, page, line)
            ran += 1
    if update:
        page.write_text("".join(new) + old[done:])
    return ran


PROGRESS = re.compile(
    r"^(?:\S+: [\d,]+ of [\d,]+ cases|[\d,]+ requests(?: \(|, [\d,]+ requests/s)|\w+: [\d.]+ %,? ?).*\n", re.MULTILINE
)


def _run(step: Step, folder: Path, where: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", step.command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=os.environ | {"PATH": path},
        timeout=HANGS_S,
        check=False,
    )
    expected = 2 if step.shown.startswith("error: ") else 0
    assert done.returncode == expected, f"{where}: {step.command}\n{done.stdout}"
    # Trailing blank lines are not shown, nor what a slow machine says every ten seconds.
    printed = PROGRESS.sub("", done.stdout)
    return printed.rstrip("\n") + "\n" if printed else ""


def _session(text: str, scope: dict[str, Any], page: Path, line: int) -> None:
    test = doctest.DocTestParser().get_doctest(text, scope, page.name, str(page), line - 1)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    failed = runner.run(test, out=said.append, clear_globs=False).failed
    scope.update(test.globs)
    assert failed == 0, "".join(said)


def edit(page: Path, root: Path) -> list[str]:
    """Applies a page's captioned blocks to a copy of the sources: new files, and diffs by their context.

    Each part of a diff (parted by ``@@``) must be found exactly once, as it is. Returns the files.
    """
    files = []
    for block in blocks(page):
        if block.caption is None:
            continue
        path = root / block.caption
        files.append(block.caption)
        if block.language != "diff":
            assert not path.exists(), f"{block.caption} is there already"
            path.write_text(block.text)
            continue
        for part in re.split(r"^@@\n", block.text, flags=re.MULTILINE):
            lines = part.splitlines(keepends=True)
            before = "".join(line[1:] for line in lines if line[0] != "+")
            after = "".join(line[1:] for line in lines if line[0] != "-")
            source = path.read_text()
            assert source.count(before) == 1, f"{page.name}: {block.caption} does not have once:\n{before}"
            path.write_text(source.replace(before, after))
    return files
