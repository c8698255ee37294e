"""Whether `make check-all` is due: its files differ from those that it passed with last.

``.ci/stamp`` is kept in the repository. It holds a digest of what `make test` does not try: everything that can break
the tests marked `seldom`, which are the pages, what packages are made of, which versions of what they need,
`trace fit`, of files and of folders, and the list of mutants. Other code is left out: the tests try it in every run.
Exit status 0: not due; 1: due. ``--write`` writes the stamp.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAMP = ROOT / ".ci" / "stamp"
CONTENTS = (
    "docs/**/*",
    "README.md",
    "ARCHITECTURE.md",
    "pyproject.toml",
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "crates/*/Cargo.toml",
    "LICENSE-*",
    "THIRD-PARTY-NOTICES.txt",
    "deny.toml",
    "crates/python/pgo.py",
    "crates/web/**/*",
    "tests/test_page.py",
    "Makefile",
    ".ci/stamp.py",
    ".ci/supply.py",
    "python/ssdlab/trace/fit/*.py",
    "tests/test_fit.py",
    "python/ssdlab/lives/volumes.py",
    "python/ssdlab/lives/clusters.py",
    "tests/test_volumes.py",
    "tests/mutants.*",
    "tests/test_mutants.py",
    "tests/test_docs.py",
    "tests/test_wheel.py",
)
NAMES = ("python/ssdlab/**/*",)
"""Of these only the names count: a file more or less is what a wheel may lose."""
BUILT = ("__pycache__", ".ipynb_checkpoints", ".so", ".pyc", ".new")


def digest() -> str:
    """One line for all files."""
    total = hashlib.sha256()
    for patterns, with_content in ((CONTENTS, True), (NAMES, False)):
        paths = {path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}
        for path in sorted(paths):
            name = path.relative_to(ROOT).as_posix()
            if any(part.endswith(BUILT) for part in name.split("/")):
                continue
            content = hashlib.sha256(path.read_bytes()).hexdigest() if with_content else ""
            total.update(f"{name}\0{content}\n".encode())
    return total.hexdigest()


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        STAMP.write_text(digest() + "\n")
    else:
        sys.exit(not STAMP.exists() or STAMP.read_text().strip() != digest())
