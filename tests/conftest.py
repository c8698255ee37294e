"""What the tests share: the CLI as a subprocess, and small traces."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from drawing import is_drawn, sources

# The tests' own processes keep every core busy: threads of libraries beside them would only wait for each other, awake.
# Read when a library is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

HANGS_S = 1800
"""What takes longer hangs [s]. Nothing else waits for a clock: what takes seconds takes minutes on a busy machine."""
SSDLAB = Path(sys.executable).with_name("ssdlab")

# Tests interrupt programs: one that a shell starts in the background would hand on that SIGINT is ignored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Runs ``ssdlab`` in a folder of its own; no outcome may be a traceback or a panic."""

    def call(*words: object) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [SSDLAB, *map(str, words)], capture_output=True, text=True, cwd=tmp_path, timeout=HANGS_S, check=False
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert "panicked" not in done.stderr, done.stderr
        return done

    return call


def beyond_the_end(folder: Path) -> str:
    """A trace in MQSim's layout: 500 reads, and one beyond every drive."""
    lines = [f"{index * 20_000} 0 {index * 64} 16 1" for index in range(500)]
    (folder / "beyond.trace").write_text("\n".join([*lines, f"{20_000_000} 0 {1 << 50} 16 1"]) + "\n")
    return str(folder / "beyond.trace")


def of_before(folder: Path, keys: list[str]) -> list[Path]:
    """Makes of a cache what it was before there were batches: a file a result. Returns these files."""
    from ssdlab.sweeps.cache import BATCHES, RESULT, Cache

    with closing(Cache(folder)) as cache:
        payloads = {key: cache.get(key) for key in keys}
    shutil.rmtree(folder / BATCHES)
    for key, payload in payloads.items():
        assert payload is not None
        cache._write(cache._path(key, RESULT), payload)
    return sorted(folder.rglob(f"*{RESULT}"))


def cpu_s(pid: int) -> float:
    """CPU time of a process [s]."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def until(true: Callable[[], object], running: subprocess.Popen[str] | None = None) -> None:
    """Waits until something is the case, however long a busy machine takes for it; fails when the process that should
    bring it about has ended before, or where it hangs."""
    end = time.monotonic() + HANGS_S
    while not true():
        assert running is None or running.poll() is None, "the process has ended before"
        if time.monotonic() > end:
            if running is not None:
                running.kill()
            raise AssertionError("waited in vain")
        time.sleep(0.01)


Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def _not_skipped(report: Report) -> Report:
    """In CI (``CI`` is set) everything is there that a test may need: one that is skipped fails."""
    if os.environ.get("CI") and report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"skipped in CI, where nothing may be missing: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _not_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _not_skipped((yield))


def _draw(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests marked ``drawn`` that are not among one in ``--share``, and of all that are not among one in
    ``--part``."""
    share, part = config.getoption("--share"), config.getoption("--part")
    of = sources() if share > 1 or part > 1 else ""

    def is_left_out(item: pytest.Item) -> bool:
        marker = item.get_closest_marker("drawn")
        if marker is None:
            return not is_drawn(item.nodeid, part, of)
        name = item.nodeid.partition("::")[0] if "together" in marker.kwargs else item.nodeid
        return not is_drawn(name, share, of)

    left_out = [item for item in items if is_left_out(item)]
    items[:] = [item for item in items if not is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What starts a browser or the command line is slow: one start is nothing, hundreds are a minute.

    What takes longest begins first, so that no worker is left alone with it.
    """
    _draw(config, items)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    for item in items:
        if isinstance(item, pytest.Function) and {"chrome", "cli"} & set(item.fixturenames):
            item.add_marker(pytest.mark.slow)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden, and output shown in docs, again")
    parser.addoption("--share", type=int, default=1, help="of the tests marked drawn run one in so many")
    parser.addoption("--part", type=int, default=1, help="of all tests run one in so many (make quick)")
    parser.addoption("--all-claims", action="store_true", help="pull every lever of every claim (make claims-check)")
    parser.addoption("--wheel", type=Path, metavar="FILE", help="also test this wheel of the checkout (make wheel)")


@pytest.fixture
def in_page(pytestconfig: pytest.Config) -> Callable[[str, str, str], None]:
    """Checks that a page of docs/ holds a text between ``<!-- NAME -->`` and ``<!-- end -->``, to the letter;
    --update-golden writes it there."""

    def check(page: str, name: str, text: str) -> None:
        path = Path(__file__).parent.parent / "docs" / page
        before, marked, rest = path.read_text().partition(f"<!-- {name} -->\n")
        assert marked, f"{page} has no place for {name}"
        found, end, after = rest.partition("<!-- end -->")
        if pytestconfig.getoption("--update-golden"):
            path.write_text(before + marked + text + end + after)
        else:
            assert found == text, f"docs/{page}: write it again with pytest --update-golden"

    return check


@pytest.fixture
def named_statistics() -> Callable[[str], set[str]]:
    """The statistics that a page's table of results names and no run reports."""

    def missing(page: str) -> set[str]:
        import re

        import ssdlab

        text = (Path(__file__).parent.parent / "docs" / page).read_text().partition("\n## Results\n")[2]
        told = re.findall(r"`((?:host|flash|ftl|usage)\.[\w.]+)`", text)
        assert len(told) > 5
        result = ssdlab.run("mqsim", "two-tenants", requests=100)
        known = {name for name, _, _ in result._described}
        plain = {name.replace(".N", ".0") for name in told}
        return {name for name in plain if not any(other == name or other.startswith(name + ".") for other in known)}

    return missing
