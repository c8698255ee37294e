"""Reports, as a browser shows them: headless Chromium, without a network. The first tests need no browser."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars
import pytest

import ssdlab
from browser import chromium, complaints
from conftest import Cli
from ssdlab import study
from ssdlab.common.frames import read_csv, write_table
from ssdlab.runs.reproduce import Reproducer
from ssdlab.show.report.contents import collect, report
from ssdlab.show.report.page import load_assets
from ssdlab.sweeps.comparison import GEOMEAN, compare
from ssdlab.sweeps.table import read_table

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

# What they look at is made once for all of them.
pytestmark = [pytest.mark.slow, pytest.mark.drawn(together=True)]

HOSTILE = "<img src=x onerror=alert(1)>&amp;<script>alert(2)<!--"
"""What a file may be called."""

SWEEP_FILE = """about = "Two schemes & two ages"
[run]
device = "asplos21"
workload = "asplos21/usr_1"
requests = 300
[axes]
scheme = ["baseline", "pnar2"]
seed = [1, 2, 3]
[axes.age]
young = "pec=0,retention=3mo"
old = "pec=2000,retention=6mo"
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of each kind, and its report."""
    home = tmp_path_factory.mktemp("reports")
    run = home / "run"
    run.mkdir()
    ssdlab.run(
        "asplos21",
        "asplos21/usr_1",
        scheme="pr2",
        age="pec=2000,retention=6mo",
        requests=6000,
        warmup=500,
        seed=7,
        settings=["chip.t_rst=6us", "workload.rate_iops=500"],
        json_out=run / "result.json",
        requests_out=run / "log.parquet",
        series_out=run / "time.parquet",
    )
    many = home / "many"
    many.mkdir()
    for scheme in ("baseline", "pnar2"):
        ssdlab.run("asplos21", "asplos21/usr_1", scheme=scheme, requests=500, json_out=many / f"{scheme}.json")
    device = many / f"{HOSTILE}.toml"
    device.write_text('base = "tlc"\n')
    ssdlab.run(device, requests=500, repeat=3, json_out=many / f"{HOSTILE}.json")
    sweep = home / "sweep"
    sweep.mkdir()
    (sweep / "sweep.toml").write_text(SWEEP_FILE)
    outcome = ssdlab.sweep(sweep / "sweep.toml", cache=home / "cache")
    write_table(outcome.table, str(sweep / "table.csv"))
    shutil.copytree(study.study("theory").folder, home / "theory")
    claims = home / "theory" / "claims.toml"
    claims.write_text(claims.read_text().replace("accept = [84.872, 84.872]", "accept = [84, 84.5]"))
    for name in ("run", "many", "sweep", "theory"):
        path, notes = report(home / name)
        assert path == home / name / "report.html"
        assert notes == [], name
    return home


def test_a_folder_that_holds_nothing_known_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "odd.json").write_text('{"a": 1}')
    done = cli("report", "empty")
    assert done.returncode == 2
    assert "there is nothing to report on" in done.stderr
    assert "odd.json" in done.stderr
    assert "ssdlab run --json empty/result.json" in done.stderr
    for words, what in (
        (("nowhere",), "no such folder"),
        (("empty", "--out", "page.png"), ".html"),
        (("empty", "--study", "teory"), "did you mean `theory`"),
    ):
        done = cli("report", *words)
        assert (done.returncode, what in done.stderr) == (2, True), done.stderr


def test_missing_libraries_are_named_with_the_extra(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ssdlab.show.report.page.find_spec", lambda name: None)
    monkeypatch.setattr("ssdlab.show.report.contents.load_assets", load_assets.__wrapped__)
    with pytest.raises(ssdlab.InputError, match=r'plotly\n  help: pip install "ssdlab\[report\]"'):
        report(folders / "run", folders / "other.html")
    assert not (folders / "other.html").exists()


def test_a_page_depends_on_its_folder_only(folders: Path, tmp_path: Path) -> None:
    again, _ = report(folders / "run")
    first = again.read_bytes()
    assert report(folders / "run")[0].read_bytes() == first
    assert len(first) < 3_000_000


def test_logs_of_other_runs_are_passed_over(folders: Path, tmp_path: Path) -> None:
    ssdlab.run(requests=400, json_out=tmp_path / "a.json", requests_out=tmp_path / "a.requests.parquet")
    ssdlab.run(requests=500, requests_out=tmp_path / "b.requests.parquet")
    shutil.copy(tmp_path / "b.requests.parquet", tmp_path / "a.parquet")
    page, notes = collect(tmp_path)
    assert [run["logs"] for run in page["runs"]] == [{"requests": "a.requests.parquet"}]
    assert notes == [
        "a.parquet was passed over: it has 500 requests, and a.json 400",
        "b.requests.parquet was passed over: a.requests.parquet is taken already",
    ]


def test_runs_of_one_command_have_their_logs(tmp_path: Path) -> None:
    for number in (1, 2):
        words = {name: tmp_path / f"m.{name}.{number}.parquet" for name in ("requests", "series")}
        ssdlab.run(
            requests=100 * number,
            json_out=tmp_path / f"m.{number}.json",
            requests_out=words["requests"],
            series_out=words["series"],
        )
    page, notes = collect(tmp_path)
    assert notes == []
    logs = [{kind: f"m.{kind}.{number}.parquet" for kind in ("requests", "series")} for number in (1, 2)]
    assert [run["logs"] for run in page["runs"]] == logs


def test_a_repeated_run_has_the_logs_of_every_seed(tmp_path: Path) -> None:
    ssdlab.run(requests=400, repeat=2, seed=4, json_out=tmp_path / "r.json", series_out=tmp_path / "s.parquet")
    page, notes = collect(tmp_path)
    assert notes == []
    assert [run["logs"] for run in page["runs"]] == [{"series": "s.seed4.parquet"}, {"series": "s.seed5.parquet"}]
    assert "--seed 4 --repeat 2" in page["commands"][0]["command"]


JOBS = '[job.a]\nrw = "randread"\nbs = "4KiB"\niodepth = 3\n[job.b]\nrw = "write"\nbs = "8KiB"\nrate_iops = 90\n'
TRACE = "".join(f"128166372003061{n:03},hm,0,{'Read' if n % 3 else 'Write'},{n * 8192},4096,9\n" for n in range(50))


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"device": "hpca24", "scheme": "pr2,order=fifo", "age": "pec=1000,retention=3mo,fill=0.5", "seed": 3},
        {"device": "mine.toml", "workload": "jobs.toml", "precondition": "closed-form", "warmup": 20},
        {"workload": "two-tenants", "settings": ["job.reader.iodepth=7"], "duration": "10ms"},
        {"workload": "t.csv", "replay": "timed:x3", "sort_window": 9, "volumes": "namespaces", "beyond": "refuse"},
        {"workload": ["t.csv", "t.csv"], "replay": "closed:4"},
        {"workload": "mixed-10-90-16k", "replay": "closed:8", "until_steady": "200us", "requests": 20_000},
    ],
)
def test_the_command_from_a_manifest_plays_the_same_run(
    words: dict[str, Any], tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('base = "tlc"\n[chip]\nt_read = ["38us", "42us", "40us"]\n[gc]\nstart = 3\n')
    (tmp_path / "jobs.toml").write_text(JOBS)
    (tmp_path / "t.csv").write_text(TRACE)
    result = ssdlab.run(**{"requests": 300, **words}).to_dict()
    command = Reproducer().command_of(result["manifest"])
    assert (command.exact, command.note) == (True, "")
    for name, text in command.files.items():
        (tmp_path / name).write_text(text)
    done = cli(*command.arguments[1:], "--json", "again.json", "-q")
    assert done.returncode == 0, done.stderr
    again = json.loads((tmp_path / "again.json").read_text())
    for part in ("host", "flash", "ftl", "usage", "energy"):
        assert again[part] == result[part]


def test_a_command_that_cannot_be_checked_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TRACE)
    manifest = ssdlab.run(workload="t.csv").to_dict()["manifest"]
    (tmp_path / "t.csv").unlink()
    command = Reproducer().command_of(manifest)
    assert not command.exact
    assert "t.csv (blake3:" in command.note
    (tmp_path / "t.csv").write_text(TRACE.replace("4096", "8192"))
    command = Reproducer().command_of(manifest)
    assert not command.exact
    assert "workload.hash" in command.note
    manifest = ssdlab.run(requests=10).to_dict()["manifest"]
    command = Reproducer().command_of({**manifest, "results_version": 1})
    assert not command.exact
    assert "results version 1" in command.note


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def chrome() -> Iterator[Chrome]:
    """Chromium without a network."""
    with chromium() as found:
        found.execute_cdp_cmd("Network.enable", {})
        found.execute_cdp_cmd(
            "Network.emulateNetworkConditions",
            {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
        )
        yield found


def show(chrome: Chrome, page: Path) -> None:
    """Opens a page and waits until it is drawn; nothing may have gone wrong, and nothing been asked of a network."""
    from urllib.parse import quote

    from selenium.webdriver.support.ui import WebDriverWait

    chrome.get(f"file://{quote(str(page))}")
    WebDriverWait(chrome, 60).until(
        lambda driver: driver.execute_script("return document.body.dataset.ready") or complaints(driver)
    )
    settled(chrome)
    assert chrome.execute_script("return document.body.dataset.ready") == "yes"
    asked = chrome.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert [name for name in asked if not name.startswith(("blob:", "data:"))] == []


def settled(chrome: Chrome) -> None:
    """Waits until what was asked for is drawn; nothing may have been complained of."""
    chrome.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => setTimeout(done, 30))")
    assert complaints(chrome) == []


def do(chrome: Chrome, script: str, *words: object) -> Any:
    return chrome.execute_script(script, *words)


def choose(chrome: Chrome, label: str, value: str) -> None:
    """Chooses in a menu, as a user does."""
    script = """const menu = document.querySelector(`select[aria-label="${arguments[0]}"]`);
        menu.value = arguments[1]; menu.dispatchEvent(new Event("change")); return menu.value"""
    assert do(chrome, script, label, value) == value
    settled(chrome)


def search(chrome: Chrome, table: str, text: str) -> None:
    script = """const box = document.querySelector(`${arguments[0]} .dt-search input`);
        box.value = arguments[1]; box.dispatchEvent(new Event("input"))"""
    do(chrome, script, table, text)
    settled(chrome)


def rows(chrome: Chrome, table: str) -> list[list[str]]:
    """The cells of a table, as they are shown."""
    script = """return [...document.querySelectorAll(`${arguments[0]} tbody tr`)]
        .map((row) => [...row.cells].map((cell) => cell.textContent))"""
    found: list[list[str]] = do(chrome, script, table)
    return found


def header(chrome: Chrome, table: str, title: str) -> None:
    """Clicks on a column's title."""
    script = """const titles = [...document.querySelectorAll(`${arguments[0]} thead .dt-column-title`)];
        titles.find((title) => title.textContent === arguments[1]).click()"""
    do(chrome, script, table, title)
    settled(chrome)


def drawn(chrome: Chrome, chart: str) -> list[dict[str, Any]]:
    """The traces of a chart that have marks on the page."""
    script = """const chart = document.getElementById(arguments[0]);
        const marks = chart.querySelectorAll(".trace .point, .trace path.js-line, .trace .points path").length;
        return marks === 0 ? [] : chart.data.map((trace) => ({ name: trace.name, type: trace.type ?? "scatter",
            x: [...trace.x], y: [...trace.y], half: [...trace.error_y?.array ?? []] }))"""
    found: list[dict[str, Any]] = do(chrome, script, chart)
    return found


def test_a_run_is_shown_with_the_command_that_gives_it_again(
    folders: Path, chrome: Chrome, cli: Cli, tmp_path: Path
) -> None:
    show(chrome, folders / "run" / "report.html")
    result = json.loads((folders / "run" / "result.json").read_text())
    log = polars.read_parquet(folders / "run" / "log.parquet").filter(polars.col("request") >= 500)

    assert do(chrome, "return document.querySelector('h1').textContent") == "asplos21, pr2: randrw mean:49KiB, timed"
    buttons = "return [...document.querySelectorAll('#cdf .modebar-btn')].map((one) => one.dataset.title)"
    # None uploads.
    assert do(chrome, buttons) == ["Download plot", "Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes"]
    reads, writes = drawn(chrome, "cdf")
    assert (reads["name"], writes["name"]) == ("reads", "writes")
    latencies = log.filter(op=0)["latency_ns"].sort()
    for nines, share in ((1, 0.9), (2, 0.99)):
        at = reads["x"][reads["y"].index(nines)]
        assert at == latencies[-(-int(latencies.len() * share * 1000) // 1000) - 1] / 1e3
    assert 10 ** -reads["y"][-1] * latencies.len() >= 10, "a curve ends where ten samples lie beyond"
    series = polars.read_parquet(folders / "run" / "time.parquet")
    seconds = [end / 1e9 for end in series["time_ns"]]
    bandwidth = drawn(chrome, "series")[0]["y"]
    lengths = [b - a for a, b in zip([0.0, *seconds], seconds, strict=False)]
    carried = sum(rate * length for rate, length in zip(bandwidth, lengths, strict=True) if rate is not None)
    assert carried == pytest.approx(sum(series["read_bytes"].to_list()) / 1e6)
    choose(chrome, "shown", "outstanding requests")
    assert drawn(chrome, "series")[0]["y"] == series["outstanding"].to_list()
    dies = {trace["name"]: trace["y"] for trace in drawn(chrome, "dies")}
    assert dies["read"] == [die["read"] for die in result["usage"]["dies"]]
    assert "idle" not in dies
    assert len(drawn(chrome, "channels")[0]["x"]) == 4
    assert {trace["name"] for trace in drawn(chrome, "latency-over-time")} == {"max", "p99", "p50"}

    found = {row[0]: row[1] for row in rows(chrome, "#statistics")}
    assert found["host.read.requests"] == f"{result['host']['read']['requests']:,}"
    assert len(found) == 25
    header(chrome, "#statistics", "value")
    header(chrome, "#statistics", "value")
    largest = [float(row[1].replace(",", "")) for row in rows(chrome, "#statistics")]
    assert largest == sorted(largest, reverse=True)
    assert largest[0] == result["host"]["all"]["bytes"]
    search(chrome, "#statistics", "ftl.waf_by")
    names = [row[0] for row in rows(chrome, "#statistics")]
    assert sorted(names) == sorted(f"ftl.waf_by.{cause}" for cause in result["ftl"]["waf_by"])
    search(chrome, "#keys", "t_rst")
    assert rows(chrome, "#keys") == [["device.config.chip.t_rst", "6us"]]

    command = do(chrome, "return document.querySelector('#reproduce pre').textContent")
    assert "Checked" in do(chrome, "return document.querySelector('#reproduce').textContent")
    assert cli(*shlex.split(command)[1:]).returncode == 0
    again = json.loads((tmp_path / "result.json").read_text())
    del again["process"], result["process"]
    assert again == result


def doubts(chrome: Chrome, section: str) -> list[str]:
    """The warnings at the top of a section."""
    script = """const of = document.querySelector(arguments[0]).querySelector(".warnings");
        return [...of?.children ?? []].map((one) => one.textContent)"""
    found: list[str] = do(chrome, script, section)
    return found


def test_what_puts_results_in_doubt_stands_above_them(chrome: Chrome, tmp_path: Path) -> None:
    small = {"geometry.blocks": 40, "geometry.pages": 48, "ftl.over_provisioning": 1.0}
    lost: dict[str, Any] = {"age": "pec=10000,retention=1y", "requests": 300, "settings": small}
    for folder, repeat in (("one", 1), ("repeated", 2)):
        (tmp_path / folder).mkdir()
        ssdlab.run("tlc", **lost, repeat=repeat, json_out=tmp_path / folder / "lost.json")
    (tmp_path / "swept").mkdir()
    about = {
        "run": {"device": "tlc", "requests": 300, **small},
        "axes": {"age": {"young": "pec=0", "lost": lost["age"]}, "seed": [1, 2]},
    }
    table = ssdlab.sweep(about, cache=tmp_path / "cache").table
    write_table(table, str(tmp_path / "swept" / "table.csv"))
    assert [("uncorrectable-reads" in (of or "")) for of in table["warnings"]] == [False, False, True, True]

    result = json.loads((tmp_path / "one" / "lost.json").read_text())
    first = result["warnings"][0]
    assert first["id"] == "uncorrectable-reads"
    show(chrome, report(tmp_path / "one")[0])
    assert doubts(chrome, "#main") == [f"{of['id']}: {of['text']}{of['remedy']}" for of in result["warnings"]]
    show(chrome, report(tmp_path / "repeated")[0])
    assert "(in 2 of 2 runs)" in doubts(chrome, "#repeats-lost")[0]
    assert "lost, seed 1; lost, seed 2" in doubts(chrome, "#tables")[0]
    show(chrome, report(tmp_path / "swept")[0])
    (told,) = (of for of in doubts(chrome, "#tables") if of.startswith("uncorrectable-reads: "))
    assert told.endswith("(in 2 of 4 rows: age=lost seed=1; age=lost seed=2)")
    left_out = do(chrome, "return document.querySelector('#doubts > div > .hint').textContent")
    assert left_out.startswith("`ssdlab compare` leaves out rows that carry uncorrectable-reads, ")


def colours_follow_the_system(chrome: Chrome) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    bar = "return document.querySelector('#explorer .trace .point path').style.fill"
    light = do(chrome, ground), do(chrome, bar)
    for value in ("dark", "light"):
        media = {"features": [{"name": "prefers-color-scheme", "value": value}]}
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        settled(chrome)
        now = do(chrome, ground), do(chrome, bar)
        assert [a == b for a, b in zip(now, light, strict=True)] == [value == "light"] * 2


def test_a_sweep_is_compared_as_the_command_compares_it(folders: Path, chrome: Chrome) -> None:
    show(chrome, folders / "sweep" / "report.html")
    colours_follow_the_system(chrome)
    table = read_table(folders / "sweep" / "table.csv")
    metric = "host.read.latency_ns.p99"
    choose(chrome, "metric", metric)
    expected = compare(table, metric)
    by_age = {"old": 0, "young": 1}
    for trace in drawn(chrome, "explorer"):
        cells = [expected.rows[age][trace["name"]].value for age in trace["x"]]
        assert trace["type"] == "bar"
        assert set(trace["x"]) == set(by_age)
        assert trace["y"] == pytest.approx([cell.mean / 1e3 for cell in cells if cell.mean])
        assert trace["half"] == pytest.approx([cell.half_width / 1e3 for cell in cells if cell.half_width])
    choose(chrome, "relative to", "baseline")
    for trace in drawn(chrome, "explorer"):
        cells = [expected.rows[age][trace["name"]].ratio for age in trace["x"]]
        assert trace["x"][-1] == GEOMEAN
        assert trace["y"] == pytest.approx([cell.mean for cell in cells])
        assert trace["half"] == pytest.approx([cell.half_width or 0 for cell in cells])
    choose(chrome, "over", "")
    choose(chrome, "age", "old")
    (ratio,) = (trace["y"][0] for trace in drawn(chrome, "explorer") if trace["name"] == "pnar2")
    assert ratio == pytest.approx(expected.rows["old"]["pnar2"].ratio.mean)
    choose(chrome, "over", "energy.per_read")
    dots = drawn(chrome, "explorer")
    assert sum(len(trace["x"]) for trace in dots) == table.filter(age="old").height

    assert len(rows(chrome, "#table")) == table.height
    search(chrome, "#table", "pnar2")
    header(chrome, "#table", "host.read.latency_ns.mean")
    titles = "return [...document.querySelectorAll('#table thead .dt-column-title')].map((one) => one.textContent)"
    place = do(chrome, titles).index("host.read.latency_ns.mean")
    shown = [float(row[place].replace(",", "")) for row in rows(chrome, "#table")]
    kept = sorted(table.filter(scheme="pnar2")["host.read.latency_ns.mean"])
    assert shown == pytest.approx(kept, rel=1e-4)
    commands = do(chrome, "return [...document.querySelectorAll('#reproduce pre')].map((one) => one.textContent)")
    assert commands[0] == f"ssdlab sweep {folders / 'sweep' / 'sweep.toml'} --out {folders / 'sweep' / 'table.csv'}"


def test_cases_of_a_table_are_played_again_from_the_cache(
    folders: Path, chrome: Chrome, cli: Cli, tmp_path: Path
) -> None:
    shutil.copy(folders / "sweep" / "table.csv", tmp_path / "table.csv")
    shutil.copytree(folders / "cache", tmp_path / "cache")
    show(chrome, report(tmp_path)[0])
    table = read_table(tmp_path / "table.csv")
    row = table.with_row_index().filter(scheme="pnar2", age="old", seed=3).row(0, named=True)
    choose(chrome, "case", str(row["index"]))
    command = do(chrome, "return document.querySelector('#source pre').textContent")
    assert "Checked" in do(chrome, "return document.getElementById('source').textContent")
    assert cli(*shlex.split(command)[1:], "--json", "again.json", "-q").returncode == 0
    again = json.loads((tmp_path / "again.json").read_text())
    assert again["host"]["read"]["latency_ns"]["mean"] == row["host.read.latency_ns.mean"]


def test_a_study_shows_its_claims_and_what_fails_first(folders: Path, chrome: Chrome) -> None:
    show(chrome, folders / "theory" / "report.html")
    verdicts = study.Study(folders / "theory").verdicts()
    tiles = do(chrome, "return [...document.querySelectorAll('.tile b')].map((one) => one.textContent)")
    assert tiles == ["12", "11", "1", "0"]
    found = rows(chrome, "#claims")
    assert len(found) == len(verdicts)
    assert (found[0][1], found[0][7], found[0][9]) == ("theory.lone.read", "84.872", "outside")
    assert {row[1]: row[9] for row in found[1:]} == {v.claim.id: "within range" for v in verdicts if v.passed}
    assert {row[10] for row in found} == {"predicted"}
    assert found[0][11] == str(verdicts[0].proof)
    told = do(chrome, "return document.getElementById('proves').textContent")
    assert told == (
        "predicted: 11 within range, 1 outside, 0 not measured; fitted: 0 within range, 0 outside, 0 not measured; "
        "by construction: 0 within range, 0 outside, 0 not measured."
    )
    choose(chrome, "state", "outside")
    assert [row[1] for row in rows(chrome, "#claims")] == ["theory.lone.read"]
    choose(chrome, "evidence", "fitted")
    assert rows(chrome, "#claims") == [["No matching records found"]]
    choose(chrome, "evidence", "all")
    choose(chrome, "table", "waf")
    assert drawn(chrome, "explorer") != []
    kept = read_csv(folders / "theory" / "results" / "waf.csv")
    assert f"{kept.height} rows" in do(chrome, "return document.getElementById('tables').textContent")
    images = do(chrome, "return [...document.querySelectorAll('.figures img')].map((one) => one.naturalWidth)")
    assert images != []
    assert min(images) > 100
    text = do(chrome, "return document.getElementById('text').textContent")
    assert text.split() != []
    assert "ssdlab study run theory" in do(chrome, "return document.getElementById('reproduce').textContent")


def test_texts_from_files_are_texts(folders: Path, chrome: Chrome) -> None:
    show(chrome, folders / "many" / "report.html")
    data = (folders / "many" / "report.html").read_text().split('id="data">')[1].split("</script>")[0]
    assert re.search("[<>&]", data) is None
    assert json.loads(data)["runs"][0]["file"] == HOSTILE
    with pytest.raises(Exception, match="no such alert"):
        chrome.switch_to.alert  # noqa: B018 -- a property that looks for one
    assert do(chrome, "return document.querySelectorAll('img[src=x], main script, header script').length") == 0
    menu = "return [...document.querySelector('select[aria-label=run]').options].map((one) => one.textContent)"
    names = do(chrome, menu)
    assert names == [*(f"{HOSTILE}, seed {seed}" for seed in (1, 2, 3)), "baseline", "pnar2"]
    result = json.loads((folders / "many" / "pnar2.json").read_text())
    choose(chrome, "run", "4")
    search(chrome, "#statistics", "host.read.latency_ns.mean")
    assert rows(chrome, "#statistics")[0][1].replace(",", "") == f"{result['host']['read']['latency_ns']['mean']:.0f}"
    command = do(chrome, "return document.querySelector('#keys').parentElement.querySelector('pre').textContent")
    assert "--scheme pnar2" in command
    do(chrome, "document.getElementById('cdf').parentElement.querySelector('input[type=checkbox]').click()")
    settled(chrome)
    assert {trace["name"].split(":")[0] for trace in drawn(chrome, "cdf")} >= {"baseline", "pnar2"}
    assert HOSTILE in {row[0] for row in rows(chrome, "#table")}


def test_a_report_of_a_study_holds_its_claims_and_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ssdlab.show.report.contents._figures", lambda *given: ([], []))
    for found in (study.study("fast12"), study.study("electronics25")):
        page, _ = collect(found.folder)
        assert [claim["id"] for claim in page["claims"]] == [claim.id for claim in found.claims]
        assert {table["name"] for table in page["tables"]} >= set(found.sweeps)


def test_a_search_shows_its_front_and_the_command_of_each_point(chrome: Chrome, tmp_path: Path) -> None:
    axes = {"scheme": ["baseline", "ar2", "pnar2"], "host.t_complete": ["1us", "90us"]}
    found = ssdlab.search(
        {
            "budget": 30,
            "run": {
                "device": "asplos21",
                "workload": "asplos21/usr_1",
                "requests": 800,
                "age": "pec=2000,retention=6mo",
            },
            "axes": axes,
            "objectives": {"host.read.latency_ns.mean": "min", "energy.per_read": "min"},
            "verify": {"seeds": 2},
        },
        cache=tmp_path / "cache",
        out=tmp_path,
    )
    page, notes = report(tmp_path)
    assert notes == []
    show(chrome, page)
    (front,) = [trace for trace in drawn(chrome, "search") if trace["name"].startswith("front")]
    points = found.front
    assert front["x"] == pytest.approx(points["energy.per_read"].to_list())
    assert front["y"] == pytest.approx([value / 1000 for value in points["host.read.latency_ns.mean"]])
    assert [row[0] for row in rows(chrome, "#front-table")] == [str(number) for number in points["candidate"]]
    last = points["candidate"][-1]
    choose(chrome, "point of the front", str(last))
    shown = do(chrome, "return document.querySelector('#point pre').textContent")
    assert [shown] == list(found.commands[last].values())
    choose(chrome, "across", "candidate")
    assert drawn(chrome, "search")[-1]["x"] == points["candidate"].to_list()
