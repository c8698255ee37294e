"""The page: its module gives what native runs give, and the page shows it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from pages import ROOT

pytestmark = pytest.mark.slow

Question = dict[str, Any]

AGED = {"device": "asplos21", "age": "pec=2000,retention=6mo"}

RUNS: dict[str, Question] = {
    "readme": {**AGED, "workload": "asplos21/usr_1", "requests": 20_000, "scheme": "pnar2"},
    "explain": {**AGED, "settings": ["workload.rate_iops=5000"], "requests": 20_000},
    "make run": {"age": "pec=1000,retention=3mo", "requests": 20_000},
    "rif": {"device": "hpca24", "age": "pec=1000,retention=3mo", "scheme": "rif", "qd": 16, "requests": 5_000},
    "reo": {"device": "electronics25", "workload": "electronics25/ali_3", "scheme": "reo", "requests": 5_000},
    "suspension": {"device": "fast12-slc", "scheme": "pes-ipc", "requests": 5_000},
    "zones": {"device": "zns", "requests": 2_000, "settings": ["workload.rw=randread"]},
}
"""README's runs, and one of each paper's drives and of zones."""


@pytest.fixture(scope="module")
def built() -> Path:
    """The page, as `make page` leaves it."""
    made = subprocess.run([ROOT / "crates" / "web" / "build.sh"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return ROOT / "target" / "page"


def ask(page: Path, *questions: Question) -> list[Any]:
    """What the module answers, in node."""
    if shutil.which("node") is None:
        pytest.skip("needs node: `make programs` installs it where apt and root are")
    asked = "".join(json.dumps(question) + "\n" for question in questions)
    command = ["node", ROOT / "crates" / "web" / "ask.mjs", page]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def played(page: Path, options: Question) -> dict[str, Any]:
    """The result of a run of the module."""
    _, play, finish = ask(page, {"do": "open", "options": options}, {"do": "play"}, {"do": "finish"})
    assert play["ok"]["ended"], play
    result: dict[str, Any] = finish["ok"]["result"]
    return result


@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_the_module_is_the_native_one(built: Path, name: str) -> None:
    options = RUNS[name]
    native = ssdlab.run(**options).to_dict()
    native.pop("process")
    found = played(built, options)
    assert found.keys() == native.keys()
    for section in native:
        assert found[section] == native[section], section
