"""The shape of the Python package, read from its sources: which module may import which, and how long a function is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "ssdlab"
LAYERS = (
    "common",
    "policy",
    "runs",
    "trace",
    "sweeps",
    "searches",
    "faults",
    "lives",
    "chip",
    "foreign",
    "devices",
    "study",
    "show",
    "cli",
)
"""The packages from the bottom up: each imports from itself and from those before it."""
LONGEST_FUNCTION = 70
"""Lines, signature and docstring included."""


def sources(root: Path) -> dict[str, Path]:
    """The modules of a package by their dotted names."""
    found = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def targets(name: str, path: Path, known: set[str]) -> Iterator[str]:
    """The modules that a module imports anywhere: in functions and for annotations too."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            for alias in node.names:
                full = f"{module}.{alias.name}"
                if full in known or module in known:
                    yield full if full in known else module


def imports(root: Path) -> dict[str, set[str]]:
    """Which modules of a package each of them imports."""
    found = sources(root)
    known = {*found, f"{root.name}._core"}
    return {name: set(targets(name, path, known)) for name, path in found.items()}


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """A path that leads from a module back to itself, or an empty list."""
    done: set[str] = set()

    def search(path: list[str]) -> list[str]:
        for target in sorted(arrows.get(path[-1], ())):
            if target in path:
                return [*path[path.index(target) :], target]
            if target not in done and (found := search([*path, target])):
                return found
        done.add(path[-1])
        return []

    return next((found for name in sorted(arrows) if name not in done and (found := search([name]))), [])


def layer(module: str) -> str | None:
    """The package that a module belongs to; None for those at the top."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else None


def long_functions(path: Path) -> list[str]:
    """The functions of a file that are too long."""
    return [
        f"{path.name}:{node.lineno}: {node.name}: {length} lines"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST_FUNCTION
    ]


def test_no_import_leads_back() -> None:
    assert circle(imports(PACKAGE)) == []


def test_packages_import_from_the_layers_below_only() -> None:
    wrong = [
        f"{module} -> {target}"
        for module, found in imports(PACKAGE).items()
        for target in found
        if (here := layer(module)) and (there := layer(target)) and LAYERS.index(there) > LAYERS.index(here)
    ]
    assert wrong == []
    folders = {path.parent.name for path in PACKAGE.glob("*/*.py")}
    assert folders == set(LAYERS), "every package has its layer"


def test_functions_are_short() -> None:
    assert [line for path in sources(PACKAGE).values() for line in long_functions(path)] == []


@pytest.mark.parametrize(
    "text",
    [
        "from tiny.high import b",
        "def f():\n    from tiny.high import b",
        "def f():\n    import tiny.high",
        "from . import high",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .high import b",
        "from tiny.low import a",
    ],
)
def test_a_circle_is_found_wherever_the_import_stands(text: str, tmp_path: Path) -> None:
    root = tmp_path / "tiny"
    root.mkdir()
    (root / "__init__.py").write_text("")
    (root / "low.py").write_text("a = 1\n")
    (root / "high.py").write_text("from tiny.low import a\nb = a\n")
    assert circle(imports(root)) == []
    (root / "low.py").write_text(text)
    found = circle(imports(root))
    assert len(found) >= 2
    assert found[0] == found[-1]


def test_a_long_function_is_found(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_text("def f():\n" + "    x = 1\n" * (LONGEST_FUNCTION - 1))
    assert long_functions(path) == []
    path.write_text("def f():\n" + "    x = 1\n" * LONGEST_FUNCTION)
    assert long_functions(path) == ["long.py:1: f: 71 lines"]
