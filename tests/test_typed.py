"""The types of results: they are those of the statistics, and type checkers refuse a name that there is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import every_statistic
import ssdlab
import typed

ROOT = Path(__file__).parent.parent
MODULE = ROOT / "python/ssdlab/runs/statistics.py"
OPTIONS_MODULE = ROOT / "python/ssdlab/runs/option_types.py"


@pytest.mark.slow
def test_the_types_of_results_are_those_of_the_statistics(pytestconfig: pytest.Config) -> None:
    results = list(every_statistic.results())
    plain = {column["name"] for column in ssdlab._core.columns()[1] if column["unit"] == "pages"}
    plain |= {name for result in results for name, unit, _ in result._described if unit == "pages"}
    assert not plain, "a count of pages says whether they are flash pages or logical pages"
    text = typed.text_of(results)
    if pytestconfig.getoption("--update-golden"):
        MODULE.write_text(text)
    assert MODULE.read_text() == text, f"{MODULE}: write it again with pytest --update-golden"


def test_the_types_of_options_are_those_that_the_core_declares(pytestconfig: pytest.Config) -> None:
    text = typed.text_of_options()
    if pytestconfig.getoption("--update-golden"):
        OPTIONS_MODULE.write_text(text)
    assert OPTIONS_MODULE.read_text() == text, f"{OPTIONS_MODULE}: write it again with pytest --update-golden"


GOOD = """
import ssdlab

result = ssdlab.Result.from_payload({})
mean: float | None = result.host.read.latency_ns.mean
p99: int | None = result.host.queue["0"].latency_ns.p99
idle: float = result.usage.channels[0].idle
blocks: int = result.ftl.relocated_by.gc.blocks
steps: float | None = result.flash.retry.steps.mean
spare: float | None = result.smart.available_spare if result.smart else None
rate = result.manifest.workload.generator.rate_iops + result.manifest.device.config.age.pec
anything = result["host"]["read"]["p99"]
"""
BAD = {
    "result.host.read.p99": 'error: "Requests" has no attribute "p99"',
    "result.host.queue['0'].latency_ns.p999": 'error: "Latency" has no attribute "p999"',
    "result.ftl.relocated_by.gc.block": 'error: "Relocated" has no attribute "block"; maybe "blocks"?',
    "result.usage.dies[0].decode": 'error: "UsageDie" has no attribute "decode"',
    "result.flash.erase.loops.mean + 1": 'error: Unsupported operand types for + ("None" and "int")',
}


@pytest.mark.drawn
@pytest.mark.slow
def test_mypy_refuses_a_name_that_there_is_not(tmp_path: Path) -> None:
    lines = ["import ssdlab", "", "result = ssdlab.Result.from_payload({})", *BAD]
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(ROOT / ".mypy_cache")]
    done = subprocess.run(
        [*command, "good.py", "bad.py"],
        cwd=tmp_path, env={"MYPYPATH": str(ROOT / "python")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = [line for line in done.stdout.splitlines() if "note:" not in line]
    assert len(found) == len(BAD), done.stdout + done.stderr
    for number, (line, words) in enumerate(zip(found, BAD.values(), strict=True), 4):
        assert line.startswith(f"bad.py:{number}: {words}"), line


def test_parts_are_of_their_types_when_they_are_read() -> None:
    from ssdlab.runs import statistics

    result = ssdlab.run(requests=100, settings={"faults.at": ["1us block 0:1"]})
    assert isinstance(result, ssdlab.Result)
    for part, kind in (
        (result.host.queue["0"].latency_ns, statistics.Latency),
        (result.usage.dies[3], statistics.UsageDie),
        (result.flash.retry.steps, statistics.FlashRetrySteps),
        (result.smart, statistics.Smart),
    ):
        assert type(part) is kind
    assert result.thermal is None
    assert {"read", "latency_ns", "p99"} <= {
        *dir(result.host),
        *dir(result.host.read),
        *dir(result.host.read.latency_ns),
    }
    assert result.host.read.latency_ns["p99"] == result.host.read.latency_ns.p99
