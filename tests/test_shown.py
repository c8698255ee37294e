"""What Python shows of results: the tables of the command line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import polars
import pytest

import ssdlab
from conftest import SSDLAB
from ssdlab.chip import characterize
from ssdlab.common.tables import WIDTH, Table, plain_lines
from ssdlab.faults.campaign import faults


def test_print_shows_what_the_command_line_shows(tmp_path: Path) -> None:
    words = ["run", "--requests", "300", "--qd", "4"]
    done = subprocess.run([str(SSDLAB), *words], cwd=tmp_path, check=True, capture_output=True, text=True)
    result = ssdlab.run(requests=300, qd=4)
    # But for the last line, which says what the run cost.
    shown = done.stdout.partition("next: ")[0]
    assert str(result).splitlines()[:-1] == shown.splitlines()[:-1]
    assert result.summary() == str(result)
    assert repr(result).startswith("<ssdlab.Result: 300 requests on tlc")
    page = result._repr_html_()
    assert page.count("<table>") == page.count("</table>") > 2
    assert ">300</td>" in page


@pytest.mark.parametrize(
    ("asked", "pace", "shown"),
    [
        ({"workload.rate_iops": 10_000}, "timed", "at 10,000/s"),
        ({"workload.rate_iops": 10_000, "workload.numjobs": 4}, "timed", "at 40,000/s"),
        ({"workload.rate_iops": 10_000}, "timed:x2", "timed:x2 of 10,000/s"),
        ({"workload.rate_iops": 10_000}, "closed:4", "closed:4"),
    ],
)
def test_a_run_says_at_which_rate_its_requests_come(asked: dict[str, int], pace: str, shown: str) -> None:
    text = " ".join(str(ssdlab.run("tlc", settings=asked, replay=pace, requests=200)).split())
    assert f"GiB, {shown}, " in text


def test_every_result_has_a_text_and_a_page(tmp_path: Path) -> None:
    sweep = ssdlab.sweep(
        {"run": {"requests": 200}, "axes": {"scheme": ["baseline", "pnar2"], "seed": [1, 2]}}, cache=tmp_path
    )
    shown = [
        sweep,
        ssdlab.compare(sweep.table, "host.all.latency_ns.mean", accept_warnings=True),
        ssdlab.bounds("tlc"),
        ssdlab.run(requests=100, repeat=2),
    ]
    for each in shown:
        text = str(each)
        assert "\n  " in text, each
        page = each._repr_html_()
        assert page.count("<tr>") >= 2
    assert str(shown[1]).startswith("Mean request latency, beside baseline's: pnar2 the same.")


def test_explanations_have_a_text_and_a_page() -> None:
    result = ssdlab.run(requests=300, qd=4)
    for each in (result.explain(4)[0], result.tail(90)):
        assert str(each).splitlines()[0]
        assert " took " in str(each)
        assert "<table>" in each._repr_html_()
        assert "<b>" in each._repr_html_().partition("<table>")[0]


def test_words_in_tables_are_whole() -> None:
    choices = "start=default,next=table,pipeline=cache-read,sensing=default"
    table = Table("t", ("name", "choices", "what"), [("a", choices, "some 12 % of all " * 4)], left=3)
    lines = plain_lines(table)
    assert max(map(len, lines)) <= WIDTH
    words = {word for line in lines for word in re.split(r"[ ,]+", line)}
    assert {"start=default", "next=table", "pipeline=cache-read", "sensing=default"} <= words
    assert not any(line.strip().startswith("%") for line in lines), "a unit stays with its number"


def test_names_cannot_break_a_page() -> None:
    result = ssdlab.run(requests=10)
    object.__setattr__(
        result, "_data", {**result._data, "manifest": {**result._data["manifest"], "scheme": "<script>"}}
    )
    assert "<script>" not in result._repr_html_()
    assert "&lt;script&gt;" in result._repr_html_()


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("iodepth", "did you mean qd?"),
        ("queue_depth", "did you mean qd?"),
        ("workloads", "did you mean"),
        ("blocks", 'settings={"geometry.blocks": …}'),
        ("bs", 'settings={"workload.bs": …}'),
        ("colour", "the options are device, "),
    ],
)
def test_unknown_keywords_say_what_was_meant(given: str, hint: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword") as caught:
        ssdlab.run(requests=1, **{given: 1})  # type: ignore[call-overload]
    assert hint in str(caught.value)


def test_lists_and_other_finds_have_a_text_and_a_page_too() -> None:
    presets, keys = ssdlab.presets(), ssdlab.schema()
    assert str(presets).startswith("Devices (--device)\n  name")
    assert "[geometry] " in str(keys)
    assert len(presets._repr_html_().split("<table>")) == 5
    explained = ssdlab.run(requests=300, qd=4).explain(3, 4)
    assert str(explained).startswith("These 2 requests took ")
    assert explained._repr_html_().count("<table>") == 2
    chip = characterize.load("tlc48", chips=2, blocks=2)
    assert str(chip).startswith("tlc48: ")
    assert repr(chip).startswith("<ssdlab chip tlc48: ")
    assert "<td" in chip._repr_html_()
    device = ssdlab.Device("tlc")
    device.submit(0, "read", 0, 4096)
    assert repr(device).endswith(", at 0.000000 s, 1 requests under way>")
    found = faults({"cases": 2, "run": {"requests": 100}})
    assert str(found).startswith("No promise was broken in 2 cases")


def test_tables_are_pandas_frames_too(tmp_path: Path) -> None:
    frames = pytest.importorskip("pandas")
    table = polars.DataFrame({"name": ["a", None], "count": [1, None], "share": [0.5, None], "is": [True, False]})
    found = ssdlab.to_pandas(table)
    assert list(found.columns) == table.columns
    assert found["count"].tolist()[0] == 1
    assert frames.isna(found["count"][1])
    assert frames.isna(found["name"][1])
    result = ssdlab.run(requests=300, qd=4, keep_requests=True)
    assert result.to_pandas().shape == result.statistics().shape
    assert ssdlab.to_pandas(result.requests)["latency_ns"].sum() == result.requests["latency_ns"].sum()
    sweep = ssdlab.sweep(
        {"run": {"requests": 200}, "axes": {"scheme": ["baseline", "pnar2"], "seed": [1, 2]}}, cache=tmp_path
    )
    comparison = ssdlab.compare(sweep.table, "host.all.latency_ns.mean", accept_warnings=True)
    for each, frame in (
        (sweep, sweep.table),
        (comparison, comparison.frame()),
        (ssdlab.run(requests=100, repeat=2), None),
        (result.tail(90), None),
        (result.explain(3)[0], None),
    ):
        shown = each.to_pandas()
        assert shown.shape[0] > 0
        assert frame is None or shown.shape == frame.shape


def test_without_pandas_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ssdlab.InputError, match=r"pip install 'ssdlab\[pandas\]'"):
        ssdlab.run(requests=10).to_pandas()
