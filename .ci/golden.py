"""Whether this machine's results are the golden ones (tests/golden/results.json): with ssdlab alone, without pytest."""

from __future__ import annotations

import ast
import json
import platform
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ssdlab

TESTS = Path(__file__).resolve().parent.parent / "tests"


def numbers(kept: Any, now: Any, name: str) -> Iterator[tuple[str, Any, Any]]:
    """Each number that is kept, with its name and what it is now."""
    if isinstance(kept, dict):
        for key, inner in kept.items():
            yield from numbers(inner, now.get(key) if isinstance(now, dict) else None, f"{name}.{key}")
    else:
        yield name, kept, now


def main() -> int:
    """Runs the cases of tests/test_studies.py."""
    cases = re.search(r"^CASES = (\{.*?^\})", (TESTS / "test_studies.py").read_text(), re.DOTALL | re.MULTILINE)
    assert cases is not None
    kept = json.loads((TESTS / "golden" / "results.json").read_text())["results"]
    compared, other = 0, []
    for name, words in ast.literal_eval(cases[1]).items():
        found = json.loads(json.dumps(ssdlab.run(**words, requests=3000).to_dict()))
        for number, before, now in numbers(kept[name], found, name):
            compared += 1
            other += [f"{number}: {before} -> {now}"] if before != now else []
    print(f"{platform.machine()}: {compared} numbers compared, {len(other)} differ", *other[:10], sep="\n")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
