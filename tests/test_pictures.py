"""Pictures of sweeps, the sentence above a table, and tables that find room on a screen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest
from matplotlib.patches import Rectangle

import ssdlab
from conftest import Cli
from ssdlab.common.tables import WIDTH, Table, plain_lines
from ssdlab.common.wording import headings, phrase, unit, words
from ssdlab.show import verdicts
from ssdlab.show.pictures import numbers_of
from ssdlab.sweeps.spec import Sweep

P99 = "host.read.latency_ns.p99"


def table() -> polars.DataFrame:
    """A sweep's table: p99 grows with the queue depth, and twice as much under slow."""
    rows = [
        {"qd": qd, "scheme": scheme, "seed": seed, P99: (1e5 + 1e4 * qd + 10 * seed) * (2 if scheme == "slow" else 1)}
        for qd in (1, 4, 16)
        for scheme in ("fast", "slow")
        for seed in (1, 2)
    ]
    frame = polars.DataFrame(rows, strict=False)
    case = polars.Series("case", [f"{row}" for row in range(frame.height)])
    warnings = polars.Series("warnings", [None] * frame.height, dtype=polars.String)
    return frame.select("qd", "scheme", "seed").with_columns(case, warnings).with_columns(frame[P99])


def test_numbers_of_an_axis_make_lines_with_bands_and_units() -> None:
    figure = ssdlab.plot.sweep(table(), "qd", P99, "scheme")
    (ax,) = figure.axes
    shown = {
        line.get_label(): np.asarray(line.get_ydata()).tolist()
        for line in ax.lines
        if line.get_label() in ("fast", "slow")
    }
    assert shown["fast"] == pytest.approx([110.015, 140.015, 260.015])
    assert shown["slow"] == pytest.approx([220.03, 280.03, 520.03])
    assert ax.get_ylabel() == "read latency, p99 [µs] (lower is better)"
    assert ax.get_xlabel() == "queue depth"
    assert figure.get_suptitle() == "Read latency, p99, by queue depth and scheme"
    assert len(ax.collections) == 2, "a band for each line"
    assert len({line.get_linestyle() for line in ax.lines if line.get_label() in shown}) == 2


def test_names_make_bars_and_what_is_not_named_is_said() -> None:
    figure = ssdlab.plot.sweep(table(), "scheme", P99, "scheme")
    assert figure.get_suptitle().endswith("; mean over qd")
    heights = [bar.get_height() for bar in figure.axes[0].patches if isinstance(bar, Rectangle)]
    assert heights == pytest.approx([170.015, 340.03])


def test_two_axes_make_a_heat_map() -> None:
    figure = ssdlab.plot.sweep(table(), "qd", "scheme", P99)
    assert [text.get_text() for text in figure.axes[0].texts] == ["110", "140", "260", "220", "280", "520"]
    assert figure.axes[1].get_ylabel() == "read latency, p99 [µs] (lower is better)"
    assert figure.get_suptitle() == "Read latency, p99, by queue depth and scheme"
    # What is averaged over is said, and a cell in doubt is marked.
    marked = table().with_columns(
        bs=polars.Series(["4KiB", "8KiB"] * 6), warnings=polars.Series(["overload", *[None] * 11])
    )
    figure = ssdlab.plot.sweep(marked.select("bs", *table().columns), "qd", "scheme", P99)
    assert [text.get_text() for text in figure.axes[0].texts] == ["110*", "140", "260", "220", "280", "520"]
    assert figure.get_suptitle().endswith(
        ", by queue depth and scheme; mean over request size; * warnings put it in doubt"
    )


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (("schem", P99), "did you mean `scheme`?"),
        (("qd", "host.read.latency_ns.p9"), "did you mean `host.read.latency_ns.p99`?"),
        (("qd", "scheme"), "name what it shows: qd,scheme,STATISTIC"),
        (("qd", P99, "schema"), "did you mean `scheme`?"),
    ],
)
def test_a_picture_of_what_is_not_there_is_refused(asked: tuple[str, ...], says: str) -> None:
    with pytest.raises(ssdlab.InputError, match=says.replace("?", r"\?")):
        ssdlab.plot.sweep(table(), *asked)


def test_labels_are_numbers_where_all_are() -> None:
    assert numbers_of([1, 4]) == [1.0, 4.0]
    assert numbers_of(["4KiB", "1MiB"]) == [4096.0, 1048576.0]
    assert numbers_of(["closed:1", "closed:16"]) == [1.0, 16.0]
    assert numbers_of(["50us", "1ms"]) == [50e3, 1e6]
    assert numbers_of(["baseline", "pnar2"]) is None
    assert numbers_of(["closed:1", "timed"]) is None
    assert numbers_of(["4KiB", "50us"]) is None


def test_the_command_draws(tmp_path: Path, cli: object) -> None:
    (tmp_path / "s.toml").write_text("[run]\nrequests = 300\nworkload = 'random-read-8k'\n[axes]\nqd = [1, 8]\n")
    assert callable(cli)
    done = cli("sweep", "s.toml", "--plot", f"qd,{P99}")
    assert "wrote s.png\n" in done.stdout
    assert (tmp_path / "s.png").read_bytes()[:4] == b"\x89PNG"
    assert "Over 2 cases, " in done.stdout
    wrong = cli("sweep", "s.toml", "--plot", "qd")
    assert wrong.returncode == 2
    assert "write X,Y or X,Y,SERIES" in wrong.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--plot", f"qdd,{P99}"), "qdd: there is no such axis in the table\n  help: did you mean `qd`?"),
        (("--plot", "qd,host.read.latency_ns.p98"), "no such axis or statistic in the table\n  help: did you mean"),
        (("--plot", f"qd,{P99},shceme"), "shceme: there is no such axis in the table\n  help: did you mean `scheme`?"),
        (("--plot", "qd,scheme"), "two axes make a heat map"),
        (("--plot", "qd,scheme,ftl.wav"), "ftl.wav: there is no such statistic in the table"),
        (("--plot", "qd,energy.total"), "energy.total: there is no such axis or statistic"),
        (("--show", "host.all.iosp"), "--show host.all.iosp: there is no such statistic in the table\n  help: did you"),
    ],
)
def test_what_a_table_cannot_have_is_refused_before_any_case(
    tmp_path: Path, cli: Cli, words: tuple[str, ...], says: str
) -> None:
    spec = (
        'statistics = ["host.*", "ftl.*"]\n[run]\nrequests = 300\n[axes]\nqd = [1, 8]\nscheme = ["baseline", "rif"]\n'
    )
    (tmp_path / "s.toml").write_text(spec)
    done = cli("sweep", "s.toml", *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]


def test_a_table_may_have_what_some_drives_report() -> None:
    spec = Sweep.read({"statistics": ["host.*", "fdp.*", "array.*"]})
    asked = ["host.queue.7.iops", "array.hedges_won", "ftl.waf", "host.all.iosp"]
    found = spec.may_report(asked)
    assert {"host.queue.7.iops", "array.hedges_won"} <= set(found)
    assert any(name.startswith("fdp.") for name in found)
    assert not {"ftl.waf", "host.all.iosp"} & set(found)


def test_a_sweeps_sentence_names_its_ends_and_what_moves_it() -> None:
    assert verdicts.of_sweep(table(), P99) == (
        "Over 12 cases, p99 read latency goes from 110 µs (qd 1, scheme fast) to 520 µs (qd 16, scheme slow); qd moves "
        "it most, by a factor of 2.36."
    )
    seeds = table().filter(polars.col("qd") == 4, polars.col("scheme") == "fast")
    assert (
        verdicts.of_sweep(seeds, P99) == "Over 2 cases, p99 read latency goes from 140 µs (seed 1) to 140 µs (seed 2)."
    )


def test_words_of_statistics() -> None:
    assert words("host.write.latency_ns.p99_9") == "write latency, p99.9"
    assert phrase("host.all.latency_ns.mean") == "mean request latency"
    assert words("host.all.iops") == "throughput"
    assert unit("host.read.bandwidth_mb_s") == "MB/s"
    assert words("energy.per_read") == "energy.per_read"
    assert headings(["host.read.latency_ns.mean", "ftl.waf", "host.all.iops"]) == ["read mean", "WAF", "requests/s"]


def test_no_table_is_wider_than_a_screen_and_none_of_its_cells_is_lost() -> None:
    columns = ("name", *(f"column {place}" for place in range(12)), "note")
    rows = [(f"row {row}", *(f"{row}{place:08}" for place in range(12)), "a note of many words " * 4) for row in (1, 2)]
    lines = plain_lines(Table("A table " * 15, columns, rows, right=1))
    assert max(map(len, lines)) <= WIDTH
    shown = " ".join(" ".join(lines).split())
    for row in rows:
        for cell in row[1:-1]:
            assert cell in shown
    assert shown.count("many") == 8


def test_names_for_completion_are_public() -> None:
    assert dir(ssdlab) == sorted(ssdlab.__all__)
    assert all(callable(getattr(ssdlab.plot, name)) for name in dir(ssdlab.plot))
