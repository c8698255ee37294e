"""The page: its module gives what native runs give, and the page shows it."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import threading
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import ssdlab
from browser import chromium, complaints
from conftest import HANGS_S, Cli, until
from pages import ROOT

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = pytest.mark.seldom

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
    command = ["node", str(ROOT / "crates" / "web" / "ask.mjs"), str(page)]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=HANGS_S, check=False)
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


def test_errors_are_the_native_ones(built: Path) -> None:
    wrong: list[Question] = [
        {"device": "tlcx"},
        {"scheme": "pr3"},
        {"age": "pec=abc"},
        {"workload": "asplos21/usr_9"},
        {"settings": ["workload.bs=-1"]},
        {"settings": ["chip.t_prog=soon"]},
        {"requests": 10, "warmup": 10},
        {"qd": 0},
    ]
    for options in wrong:
        with pytest.raises(ssdlab.InputError) as native:
            ssdlab.run(**({**options, "replay": "closed:0"} if options.pop("qd", None) == 0 else options))
        asked = options if options else {"qd": 0}
        asked = {name: value for name, value in asked.items() if name != "replay"} or {"qd": 0}
        (answer,) = ask(built, {"do": "open", "options": asked})
        assert answer == {"error": str(native.value)}


def test_a_run_is_bounded_in_requests_and_in_memory(built: Path) -> None:
    small = {"settings": ["workload.rw=randread"], "workload": "random-read-8k"}
    answers = ask(built, {"do": "open", "options": {**small, "requests": 900_000}}, {"do": "play"}, {"do": "finish"})
    assert answers[1]["ok"]["bounded"]
    assert answers[1]["ok"]["submitted"] == 200_001
    assert "interrupted" in [warning["id"] for warning in answers[2]["ok"]["result"]["warnings"]]
    answers = ask(built, {"do": "open", "options": {**small, "requests": 200_000}}, {"do": "play"}, {"do": "finish"})
    assert not answers[1]["ok"]["bounded"]
    assert "interrupted" not in [warning["id"] for warning in answers[2]["ok"]["result"]["warnings"]]
    # Before a request has completed there is no result.
    answers = ask(built, {"do": "open", "options": small}, {"do": "finish"}, {"do": "step"})
    assert "before any request has completed" in answers[1]["error"]
    assert "run: is not open" in answers[2]["error"]


def test_a_drive_that_needs_too_much_memory_stops_the_module_with_a_word(built: Path) -> None:
    parts = {"channels": 64, "chips": 8, "dies": 8, "planes": 8, "blocks": 2040}
    settings = [f"geometry.{name}={count}" for name, count in parts.items()]
    question = json.dumps({"do": "open", "options": {"settings": settings, "requests": 100}})
    command = ["node", str(ROOT / "crates" / "web" / "ask.mjs"), str(built)]
    done = subprocess.run(command, input=question, capture_output=True, text=True, timeout=HANGS_S, check=False)
    assert done.returncode == 1
    assert "needs more than 1 GiB of memory" in done.stderr


def test_bounds_chips_and_lives_are_the_native_ones(built: Path) -> None:
    from ssdlab.chip import lifetime
    from ssdlab.chip.characterize import Chip

    device, retries, lives = ask(
        built,
        {"do": "device", "options": {"device": "hpca24"}},
        {"do": "retries", "chip": "tlc48", "pec": 1000, "celsius": 30, "ages": [0, 3], "chips": 2, "blocks": 3},
        {
            "do": "lifetime", "chip": "tlc48-reo", "pulse": "felp", "margin": "ecc", "voltage": "nominal",
            "chips": 2, "blocks": 5, "step": 500, "last": 4000,
        },
    )  # fmt: skip
    native = ssdlab.bounds("hpca24")
    assert [access["what"] for access in device["ok"]["bounds"]] == [access.what for access in native.accesses]
    for found, access in zip(device["ok"]["bounds"], native.accesses, strict=True):
        assert [bound["per_s"] for bound in found["bounds"]] == [bound.per_s for bound in access.bounds]
    chip = Chip("tlc48", chips=2, blocks=3)
    assert [of["pages"] for of in retries["ok"]] == chip.retry_steps([(1.0, 0.0, 30.0), (1.0, 3.0, 30.0)], 1)
    worn = lifetime.cycle(Chip("tlc48-reo", chips=2, blocks=5), ["reo"], step=500, last=4000)
    assert [row["m_rber"] for row in lives["ok"]["rows"]] == worn["m_rber"].to_list()
    assert [row["erase_ms"] for row in lives["ok"]["rows"]] == worn["erase_ms"].to_list()


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def site(built: Path) -> Iterator[str]:
    """The page, served."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(built))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/index.html"
        server.shutdown()


@pytest.fixture(scope="module")
def chrome() -> Iterator[Chrome]:
    with chromium() as found:
        yield found


Show = Callable[[str], None]


@pytest.fixture
def show(chrome: Chrome, site: str) -> Iterator[Show]:
    """Opens the page at an address, and waits until all is drawn; nothing may be complained of, nor asked of others."""
    phone(chrome, 1280)

    def opened(hash_: str) -> None:
        chrome.get("about:blank")
        chrome.get(site + hash_)
        until(lambda: do(chrome, "return document.body.dataset.busy") == "no")

    yield opened
    assert complaints(chrome) == []
    asked = do(chrome, "return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert [name for name in asked if not name.startswith((site.rpartition("/")[0], "data:", "blob:"))] == []


def phone(chrome: Chrome, width: int) -> None:
    """A window of some width."""
    of = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", of)


def do(chrome: Chrome, script: str, *words: object) -> Any:
    return chrome.execute_script(script, *words)


def shown(chrome: Chrome) -> list[list[str]]:
    """The numbers of the table of both runs, exactly."""
    script = """return [...document.querySelectorAll('#numbers tbody tr')]
        .map((row) => [...row.querySelectorAll('td[data-value]')].map((cell) => cell.dataset.value))"""
    found: list[list[str]] = do(chrome, script)
    return found


def copied(chrome: Chrome, what: str) -> str:
    """What a button copies; without leave to write to the clipboard the page shows it."""
    do(chrome, f"document.getElementById('copy-{what}').click()")
    text: str = do(chrome, "document.getElementById('by-hand').close(); return document.body.dataset.copied")
    return text


SMALL = (
    "#device=asplos21&workload=asplos21/usr_1&pec=2000&months=6&scheme=baseline&versus=pnar2&requests=400&reads=90"
    "&seed=3&set=host.t_complete%3D140us&set=bus.t_command%3D300ns"
)


def test_every_tab_draws_what_it_says(chrome: Chrome, show: Show) -> None:
    show(SMALL)
    for chart in ("cdf", "bars", "curve", "bounds", "ages", "lanes"):
        assert do(chrome, f"return document.querySelectorAll('#{chart} svg[aria-label]').length") > 0, chart
    assert do(chrome, "return document.querySelectorAll('#lanes rect').length") > 20
    # One after the other by the keyboard.
    for key, tab in (("ArrowRight", "chip"), ("ArrowRight", "life"), ("ArrowLeft", "chip")):
        do(chrome, "document.activeElement.blur(); document.querySelector('[role=tab][aria-selected=true]').focus()")
        do(
            chrome,
            "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))",
            key,
        )
        until(lambda: do(chrome, "return document.body.dataset.busy") == "no")
        assert do(chrome, "return document.activeElement.id") == f"tab-{tab}"
        charts = {"chip": ("states", "errors"), "life": ("mrber", "loops", "tbers")}[tab]
        for chart in charts:
            assert do(chrome, f"return document.querySelectorAll('#{chart} svg polyline').length") > 2, chart


def test_everything_has_a_name_and_fits_a_phone(chrome: Chrome, show: Show) -> None:
    nameless = """return [...document.querySelectorAll('input, select, textarea, button')]
        .filter((of) => !of.labels?.length && !of.getAttribute('aria-label') && !of.textContent.trim())
        .map((of) => of.outerHTML)"""
    for tab in ("drive", "chip", "life"):
        show(f"{SMALL}&tab={tab}")
        assert do(chrome, nameless) == []
        phone(chrome, 390)
        assert do(chrome, "return document.documentElement.scrollWidth") <= 390, tab
        phone(chrome, 1280)


def test_an_address_is_a_state_and_the_command_prints_its_numbers(
    chrome: Chrome, show: Show, site: str, cli: Cli, tmp_path: Path
) -> None:
    show(SMALL)
    numbers = shown(chrome)
    commands, table, link = (copied(chrome, what) for what in ("command", "toml", "link"))
    for which, command in enumerate(commands.splitlines()):
        words = shlex.split(command)
        assert words[0] == "ssdlab"
        assert cli(*words[1:], "--json", f"{which}.json", "--quiet").returncode == 0
        native = json.loads((tmp_path / f"{which}.json").read_text())
        latency = native["host"]["read"]["latency_ns"]
        assert [float(row[which]) for row in numbers[:4]] == [latency[of] for of in ("mean", "p50", "p99", "p99_9")]
    (tmp_path / "page.toml").write_text(table)
    swept = ssdlab.sweep(tmp_path / "page.toml", cache=tmp_path / "cache")
    means = dict(swept.table.select("scheme", "host.read.latency_ns.mean").iter_rows())
    assert [means["baseline"], means["pnar2"]] == [float(value) for value in numbers[0]]
    show("#tab=life")
    show(link.removeprefix(site))
    assert shown(chrome) == numbers
    assert copied(chrome, "link") == link


def test_a_moved_knob_stops_the_run_and_is_answered_at_once(chrome: Chrome, show: Show) -> None:
    show(SMALL)
    # A long run, which a knob gives up: the address has the last value, and nothing of the run before is shown.
    move = """const slider = document.getElementById('drive-pec'); delete document.body.dataset.preview;
        slider.value = arguments[0]; slider.dispatchEvent(new Event('input', {bubbles: true}));"""
    do(chrome, "location.hash = arguments[0]", SMALL.replace("requests=400", "requests=200000"))
    until(lambda: do(chrome, "return document.body.dataset.busy") == "yes")
    for cycles in (500, 1000, 1500):
        do(chrome, move, cycles)
        until(lambda: do(chrome, "return document.body.dataset.preview"))
    # 0.1 to 0.3 s on the machine it was written on; a busy one takes longer, the whole run a minute.
    assert float(do(chrome, "return document.body.dataset.preview")) < 10_000
    until(lambda: "pec=1500" in do(chrome, "return location.hash"))
    do(chrome, "location.hash = arguments[0]", SMALL)
    until(lambda: do(chrome, "return document.body.dataset.busy") == "no")
    assert do(chrome, "return document.getElementById('drive-pec-text').value") == "2000"


@pytest.mark.parametrize(
    ("hash_", "knob", "options"),
    [
        ("#device=tlcx", "device", {"device": "tlcx"}),
        ("#pec=many", "pec", {"age": "pec=many"}),
        ("#months=long", "months", {"age": "retention=long"}),
        ("#scheme=baseline&versus=pr3", "versus", {"scheme": "pr3"}),
        ("#bs=3", "bs", {"settings": ["workload.bs=3"]}),
        ("#qd=none", "pace", {"replay": "closed:none"}),
        ("#set=chip.t_prog%3Dsoon", "set", {"settings": ["chip.t_prog=soon"]}),
    ],
)
def test_what_is_wrong_stands_beside_its_knob(
    chrome: Chrome, show: Show, hash_: str, knob: str, options: Question
) -> None:
    show(hash_)
    with pytest.raises(ssdlab.InputError) as native:
        ssdlab.run(**options)
    found = do(chrome, "return [...document.querySelectorAll(`[data-knob] .refused`)].map((of) => of.textContent)")
    assert found == [str(native.value)]
    assert do(chrome, "return document.querySelector('[data-knob] .refused').parentElement.dataset.knob") == knob


def test_a_tab_and_a_tour_that_there_are_not_are_the_first_and_none(chrome: Chrome, show: Show) -> None:
    show("#tab=cells&tour=fast13&requests=400")
    assert do(chrome, "return document.getElementById('tab-drive').getAttribute('aria-selected')") == "true"
    assert do(chrome, "return document.getElementById('guide').hidden")


@pytest.mark.parametrize(
    ("hash_", "knob", "says"),
    [
        ("#tab=chip&pec=many", "pec", "write a number"),
        ("#tab=chip&months=-1", "months", "write 0 to"),
        ("#tab=chip&chip=tlc47", "chip", "tlc48"),
        ("#tab=life&wear=tlc47", "wear", "tlc48"),
        ("#tab=life&requirement=-5", "requirement", "a positive requirement"),
    ],
)
def test_what_is_wrong_with_a_chip_stands_beside_its_knob(
    chrome: Chrome, show: Show, hash_: str, knob: str, says: str
) -> None:
    show(hash_)
    (found,) = do(
        chrome,
        "return [...document.querySelectorAll('[data-knob] .refused')]"
        ".map((of) => [of.parentElement.dataset.knob, of.textContent])",
    )
    assert found[0] == knob
    assert says in found[1]


def test_a_bounded_run_says_so(chrome: Chrome, show: Show) -> None:
    show("#workload=random-read-8k&requests=900000")
    assert "stopped at 200,000 requests" in do(chrome, "return document.getElementById('numbers').textContent")
    assert "interrupted" in do(chrome, "return document.getElementById('warnings').textContent")


NEAR = {
    "asplos21": (0.5, 0.8, 9, 8, 8, 12),
    "hpca24": (300, 500, 8, 45, 60, 3),
    "fast12": (20, 10, 10, 22, 6, 5),
    "electronics25": (250, 4, 4, 300, 300, 3),
}
"""By how much the number of each step may differ from the paper's, which is a mean over more workloads."""


@pytest.mark.parametrize("tour", NEAR)
def test_a_tour_reaches_its_numbers(chrome: Chrome, show: Show, tour: str) -> None:
    """The paper's number is that of the study's claim, and the one beside it is near."""
    claims = tomllib.loads((ROOT / "studies" / tour / "claims.toml").read_text())["claims"]
    published = {claim["id"]: claim["published"] for claim in claims}
    show("#tab=life")
    choose = "menu.value = arguments[0]; menu.dispatchEvent(new Event('change'))"
    do(chrome, f"const menu = document.getElementById('tour'); {choose}", tour)
    for step, near in enumerate(NEAR[tour], 1):
        until(lambda: do(chrome, "return document.getElementById('live').dataset.value"))
        box = do(chrome, "return {...document.getElementById('guide').dataset}")
        live = float(do(chrome, "return document.getElementById('live').dataset.value"))
        assert box["step"] == str(step)
        assert float(box["published"]) == published[box["claim"]], box["claim"]
        assert abs(live - published[box["claim"]]) <= near, (box["claim"], live)
        if step < 6:
            do(chrome, "document.getElementById('next').click()")
    assert do(chrome, "return document.getElementById('next').disabled")
