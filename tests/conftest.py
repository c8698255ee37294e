"""What the tests share: the CLI as a subprocess, and small traces."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SSDLAB = Path(sys.executable).with_name("ssdlab")

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Runs ``ssdlab`` in a folder of its own; no outcome may be a traceback or a panic."""

    def call(*words: object) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [SSDLAB, *map(str, words)], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert "panicked" not in done.stderr, done.stderr
        return done

    return call


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden, and output shown in docs, anew")
    parser.addoption("--wheel", type=Path, metavar="FILE", help="also test this wheel of the checkout (make wheel)")
