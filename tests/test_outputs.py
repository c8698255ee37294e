"""Output files: an earlier one is lost to nothing, inputs are spared, signals keep what there is."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest
from click.testing import CliRunner

import ssdlab
from conftest import HANGS_S, SSDLAB, Cli, cpu_s, until
from ssdlab.cli.main import commands
from ssdlab.common import output, signals
from ssdlab.common.numbers import elapsed_text
from ssdlab.common.tables import Table, escaped, show
from ssdlab.runs.runner import Rounds
from ssdlab.show import lines
from ssdlab.sweeps.campaign import SweepProgress

MSR = "10,web,0,Read,4096,4096,1\n20,web,1,Write,8192,4096,1\n"


def small_files() -> None:
    """A disk with room for 100 bytes, as far as this process can tell: no file grows beyond it."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def on_a_full_disk(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The limit holds for every file: Python must not write its bytecode under it, which it would leave cut short."""
    return subprocess.run(
        [str(SSDLAB), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_S,
        preexec_fn=small_files,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )


OUTPUTS = {
    "run --requests 2000 -q --json OUT": "out.json",
    "run --requests 2000 -q --requests-out OUT": "out.parquet",
    "run --requests 2000 -q --series-out OUT": "out.parquet",
    "run --requests 2000 -q --timeline OUT": "out.pftrace",
    "run --requests 200 -q --repeat 2 --json OUT": "out.json",
    "sweep sweep.toml --cache full --out OUT": "out.csv",
    "compare table.csv --by seed --accept-warnings --out OUT": "out.csv",
    "compare table.csv --by seed --accept-warnings --plot OUT": "out.png",
    "trace convert trace.csv OUT --to parquet": "out.parquet",
    "trace convert trace.csv OUT --to mqsim": "out.txt",
    "trace fit trace.csv --out OUT": "out.toml",
    "report . --out OUT": "out.html",
}


@pytest.mark.drawn
@pytest.mark.parametrize(("command", "name"), OUTPUTS.items(), ids=list(OUTPUTS))
def test_a_full_disk_costs_no_earlier_file(tmp_path: Path, cli: Cli, command: str, name: str) -> None:
    (tmp_path / "trace.csv").write_text("".join(f"{10 * i},web,0,Read,{4096 * i},4096,1\n" for i in range(2000)))
    (tmp_path / "sweep.toml").write_text("[run]\nrequests = 100\n[axes]\nseed = [1, 2, 3]\n")
    if "table.csv" in command or "sweep" in command:
        assert cli("sweep", "sweep.toml", "--cache", "full", "--out", "table.csv").returncode == 0
    out = tmp_path / name
    out.write_text("what was there")
    out.chmod(0o640)
    before = sorted(path.name for path in tmp_path.iterdir())
    done = on_a_full_disk(tmp_path, *command.replace("OUT", name).split())
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 1, done.stderr
    assert f"error: {name}: cannot be written: " in done.stderr
    assert "\n  help: " in done.stderr
    assert out.read_text() == "what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == before, "nothing is left beside it"
    done = cli(*command.replace("OUT", name).split())
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() != b"what was there"
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_full_disk_hides_neither_its_message_nor_the_results(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "sweep.toml").write_text("[run]\nrequests = 100\n[axes]\nseed = [1, 2, 3, 4]\n")
    done = on_a_full_disk(tmp_path, "sweep", "sweep.toml", "--cache", "cache")
    assert done.returncode == 1
    assert done.stderr.count("error: ") == 1
    assert done.stderr.startswith("error: cache: cannot be written: File too large\n  help: make room")
    assert not list((tmp_path / "cache").rglob("*.tmp"))
    shown = on_a_full_disk(tmp_path, "run", "--requests", "2000", "--json", "x.json")
    assert shown.returncode == 1
    assert "Throughput" in shown.stdout, "a run whose file cannot be written is shown"
    assert "wrote" not in shown.stdout


def test_links_pipes_and_devices_are_written_as_ever(tmp_path: Path, cli: Cli) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target.name)
    for _ in range(2):  # the target is made, then replaced
        assert cli("run", "-q", "--requests", 10, "--json", link).returncode == 0
        assert link.is_symlink()
        assert json.loads(target.read_text())
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~mask
    assert cli("run", "-q", "--requests", 10, "--json", "/dev/null", "--requests-out", "/dev/null").returncode == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert json.loads(cli("run", "-q", "--requests", 10, "--json", "/dev/stdout").stdout)
    piped = f"{SSDLAB} run -q --requests 10 --json >(cat > pipe.json; touch done)"
    mixed = f"(echo before; {SSDLAB} run --requests 10 --json /dev/stdout; echo after) > mixed.txt"
    subprocess.run(["bash", "-c", f"{piped}; {mixed}"], cwd=tmp_path, check=True, timeout=HANGS_S)
    while not (tmp_path / "done").exists():
        time.sleep(0.01)
    assert json.loads((tmp_path / "pipe.json").read_text())
    text = (tmp_path / "mixed.txt").read_text()
    assert text.startswith("before\n{")
    assert text.endswith("wrote /dev/stdout (results)\nafter\n"), "what a shell has opened is not replaced"
    (tmp_path / "loop").symlink_to("loop")
    refused = cli("run", "-q", "--requests", 10, "--json", "loop")
    assert refused.returncode == 2
    assert "symbolic links" in refused.stderr


def inputs(folder: Path) -> dict[str, Path]:
    """A run's files, each with a second name in the folder."""
    presets = Path(__file__).parents[1] / "presets"
    texts = {
        "trace.csv": MSR,
        "device.toml": 'base = "middle.toml"\n',
        "middle.toml": 'base = "base.toml"\n',
        "base.toml": 'base = "asplos21"\n',
        "chip.toml": (presets / "chips" / "tlc48.toml").read_text(),
        "rpt.csv": "pec,months,cut\n0,12,0.4\n",
        "code.csv": (presets / "ecc" / "qc-ldpc.csv").read_text(),
        "work.toml": '[workload]\nrw = "randread"\nrequests = 10\n',
    }
    found = {}
    for number, (name, text) in enumerate(texts.items()):
        (folder / name).write_text(text)
        os.link(folder / name, folder / f"{number}.csv")
        found[name] = folder / f"{number}.csv"
    return found


def test_no_input_is_written_over_under_any_name(tmp_path: Path, cli: Cli) -> None:
    names = inputs(tmp_path)
    texts = {path: path.read_text() for path in names.values()}
    words = ["--set", "chip.model=chip.toml", "--set", "read.rpt=rpt.csv", "--device", "device.toml", "--scheme", "ar2"]
    runs = {
        **dict.fromkeys(("trace.csv",), ("--workload", "trace.csv")),
        "work.toml": ("--workload", "work.toml"),
        "code.csv": ("--device", "hpca24", "--scheme", "rif", "--set", "ecc.code=code.csv", "--requests", "5"),
    }
    for name, link in names.items():
        for option in ("--json", "--requests-out", "--timeline")[: 3 if name == "trace.csv" else 1]:
            done = cli("run", "-q", *runs.get(name, (*words, "--requests", "5")), option, link.name)
            assert done.returncode == 2, (name, option, done.stderr)
            assert done.stderr == f"error: {option} {link.name}: is an input of this run\n  help: give another path\n"
    (tmp_path / "sweep.toml").write_text(
        '[run]\nrequests = 5\nscheme = "ar2"\n"chip.model" = "chip.toml"\n"read.rpt" = "rpt.csv"\n'
        '[axes]\ndevice = ["device.toml", "tlc"]\nworkload = ["work.toml", "default"]\n'
    )
    os.link(tmp_path / "sweep.toml", tmp_path / "sweep.csv")
    read = [names[name].name for name in ("base.toml", "chip.toml", "work.toml")]
    for name in (*read, "sweep.csv"):
        done = cli("sweep", "sweep.toml", "--out", name)
        assert done.returncode == 2, name
        assert f"error: --out {name}: is an input" in done.stderr
    assert cli("trace", "convert", "trace.csv", names["trace.csv"].name).returncode == 2
    assert cli("trace", "fit", "trace.csv", "--out", "work.toml", "--device", "work.toml").returncode == 2
    assert {path: path.read_text() for path in names.values()} == texts


def test_a_base_is_an_input_however_its_file_is_written(tmp_path: Path, cli: Cli) -> None:
    below = {
        "bom.toml": '\ufeffbase = "under.toml"\n',
        "lines.toml": 'base = "under.toml"\ngc = {\n  start = 3,\n}\n',
        "escape.toml": 'about = "\\e[1m"\nbase = "under.toml"\n',
    }
    for name, text in (below | {"under.toml": '[chip]\nt_read = ["40us", "50us", "60us"]\n'}).items():
        (tmp_path / name).write_text(text)
    (tmp_path / "array.toml").write_text(
        '\ufeff[array]\nlayout = "mirror"\n[drive.a]\ndevice = "bom.toml"\ncount = 2\n'
    )
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "top.toml").write_text('base = "bom.toml"\n')
    for words in (*(("--device", name) for name in (*below, "elsewhere/top.toml")), ("--array", "array.toml")):
        assert cli("run", "-q", "--requests", 5, *words).returncode == 0, words
        done = cli("run", "-q", "--requests", 5, *words, "--json", "under.toml")
        assert done.returncode == 2, words
        assert "error: --json under.toml: is an input of this run" in done.stderr
    with pytest.raises(ssdlab.InputError, match="is an input of this run"):
        ssdlab.run({"base": str(tmp_path / "bom.toml")}, requests=5, json_out=tmp_path / "under.toml")


def test_a_log_of_one_of_several_seeds_is_no_input_either(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "log.seed2.csv").write_text(MSR)
    done = cli("run", "-q", "--workload", "log.seed2.csv", "--repeat", 3, "--requests-out", "log.csv")
    assert done.returncode == 2
    assert "is an input" in done.stderr
    assert (tmp_path / "log.seed2.csv").read_text() == MSR


def test_left_over_files_are_removed_when_nobody_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    stale, young, held, other = (tmp_path / name for name in (".x.json.0000aaaa.tmp", ".x.json.1111aaaa.tmp", "", ""))
    other = tmp_path / ".y.json.0000aaaa.tmp"
    for left in (stale, young, other):
        left.write_text("half")
    writing = output.Output(path)
    held = Path(writing.temporary)
    for left in (stale, held, other):
        os.utime(left, (1, 1))
    output.write(path, b"whole")
    assert sorted(left.name for left in tmp_path.iterdir()) == sorted(("x.json", young.name, held.name, other.name))
    writing.discard()
    assert not held.exists()
    assert path.read_bytes() == b"whole"


def test_what_cannot_be_renamed_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    path.write_text("a longer text that was there")

    def busy(*_: Any) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(os, "replace", busy)
    output.write(path, b"new")
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.json"]


FOREVER = "run -q --workload random-read-8k --set workload.requests=100000000 --requests-out x.parquet --json x.json"


def begin(folder: Path, words: str, handlers: Callable[[], object] | None = None) -> subprocess.Popen[str]:
    def fresh() -> None:
        for number in signals.NAMES:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if handlers is not None:
            handlers()

    return subprocess.Popen(
        [SSDLAB, *words.split()],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=fresh,
    )


def temporary(folder: Path, name: str) -> Callable[[], bool]:
    """Whether a file is being written, and some of it has been."""
    return lambda: any(path.stat().st_size for path in folder.glob(f".{name}.*.tmp"))


def writes_log(folder: Path) -> bool:
    """Whether the core has begun to write the log of requests."""
    return any(folder.glob(".x.parquet*"))


@pytest.mark.drawn
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.slow
def test_every_signal_keeps_the_log_and_says_so(tmp_path: Path, number: signal.Signals) -> None:
    earlier = tmp_path / "x.json"
    earlier.write_text("earlier")
    for name in ("x.parquet", "x.partial.parquet"):
        running = begin(tmp_path, FOREVER)
        until(lambda: writes_log(tmp_path), running)
        # It has computed for a while since then, however long it took to load.
        begun = cpu_s(running.pid)
        until(lambda pid=running.pid, begun=begun: cpu_s(pid) > begun + 1.0, running)  # type: ignore[misc]
        running.send_signal(number)
        for _ in range(3):  # a second and a third change nothing
            time.sleep(0.002)
            running.send_signal(number)
        stdout, stderr = running.communicate(timeout=HANGS_S)
        assert running.returncode == 128 + number
        assert stdout == "" or stdout.startswith("warning: interrupted: ")
        rows = polars.read_parquet(tmp_path / name).height
        assert stderr.startswith(f"{signals.NAMES[number]}: ")
        assert f"kept: {name} with {rows:,} rows; kept: {'x.partial.json'}\n" in stderr
        kept = json.loads((tmp_path / "x.partial.json").read_text())
        assert kept["warnings"][0]["id"] == "interrupted"
        assert kept["warnings"][0]["numbers"]["requests"] == rows
        assert stderr.count("\n") == 1
    assert earlier.read_text() == "earlier"
    assert len(list(tmp_path.iterdir())) == 4, "an earlier log and an earlier result keep their names"


@pytest.mark.slow
def test_a_hangup_that_is_ignored_stays_so(tmp_path: Path) -> None:
    running = begin(
        tmp_path,
        "run -q --workload random-read-8k --requests 300000 --requests-out x.parquet",
        lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    until(temporary(tmp_path, "x.parquet"))
    running.send_signal(signal.SIGHUP)
    assert running.wait(timeout=HANGS_S) == 0
    assert polars.read_parquet(tmp_path / "x.parquet").height == 300_000


def test_a_signal_while_the_command_loads_is_answered_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    command = "import sys; sys.path.insert(0, '.'); from ssdlab.__main__ import main; main()"
    done = subprocess.run(
        [SSDLAB.with_name("python"), "-c", command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (done.returncode, done.stderr) == (130, "interrupted; nothing was kept\n")


@pytest.mark.slow
def test_a_core_that_computes_for_long_is_ended_all_the_same(tmp_path: Path) -> None:
    running = begin(tmp_path, "lifetime --chips 100000 --step 1")
    until(lambda: cpu_s(running.pid) > 1.0)  # by then it is in the core
    running.send_signal(signal.SIGTERM)
    _, stderr = running.communicate(timeout=HANGS_S)
    assert (running.returncode, stderr) == (143, "terminated; nothing was kept\n")


def test_a_signal_is_put_off_while_a_file_gets_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "_mode", "raise")
    monkeypatch.setattr(signals, "_answered", None)
    done = []

    def commit() -> None:
        with signals.held():
            signals._answer(signal.SIGTERM, None)
            done.append("renamed")
        done.append("never")

    with pytest.raises(KeyboardInterrupt):
        commit()
    assert done == ["renamed"]
    assert signals.status() == 143
    signals._answer(signal.SIGTERM, None)  # too soon after the first


def test_without_a_terminal_a_line_tells_how_far_it_is() -> None:
    said: list[str] = []
    now = 0.0

    def clock() -> float:
        return now

    run, rounds = lines.requests(said.append, clock)
    cases = lines.cases("sweep.toml", said.append, clock)
    shares = lines.shares(said.append, clock)
    for second in range(41):
        now = float(second)
        run(second / 80, 0, 1000 * second)
        cases(SweepProgress(10 + second, 90, 10, 1))
        shares("rpt", second / 50)
    assert len(said) == 12, "one in ten seconds each"
    assert said[:3] == [
        "10,000 requests (12.5 %), 1,000 requests/s, about 1 min 10 s left",
        "sweep.toml: 20 of 90 cases (10 kept, 1 failed), 1 cases/s, about 1 min 10 s left",
        "rpt: 20.0 %, about 40 s left",
    ]
    now = 60.0
    run(None, 0, 90_000)
    assert said[-1] == "90,000 requests, 1,500 requests/s"
    # A search for a steady state tells its rounds, and how far they are from one.
    now = 70.0
    rounds(Rounds(6, 52_000.0, 4.7, 0.5, -0.4))
    run(None, 0, 90_000)
    assert said[-1] == (
        "90,000 requests, 1,286 requests/s, round 7: WAF 4.70 slope -40 %, spread 50 % (steady: 10 and 20 %), "
        "about 1 min 57 s left"
    )
    assert [elapsed_text(seconds) for seconds in (0.4, 3700, 90_000)] == ["0 s", "1 h 1 min", "1 d 1 h"]


def test_commands_without_a_terminal_tell_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ssdlab.cli.main import commands

    monkeypatch.setattr(lines, "EVERY_S", 0.0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweep.toml").write_text("[run]\nrequests = 10\n[axes]\nseed = [1, 2]\n")
    for words, line in (
        ("run --requests 3000", "3,000 requests (100.0 %)"),
        ("sweep sweep.toml", "sweep.toml: 2 of 2 cases"),
    ):
        commands.main(words.split(), standalone_mode=False)
        assert line in capsys.readouterr().err
    commands.main(["run", "-q", "--workload", "random-read-8k", "--requests", "3000"], standalone_mode=False)
    assert capsys.readouterr().err == ""


def test_labels_and_names_do_not_steer_the_terminal(
    tmp_path: Path, cli: Cli, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert escaped("a\x1b[2Jb\x9bc\rd\u202ee\n\tµ…") == "a\\x1b[2Jb\\x9bc\\rd\\u202ee\n\tµ…"
    table = Table("\x1b]0;t\x07[red]", ("[/x]", "\x1b[1m"), [("two\nlines", "\x00")])
    for terminal in (False, True):
        monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)  # noqa: B023 -- read at once
        show([table], ["\x1b[31mfoot[/b]"])
        out = capsys.readouterr().out
        for word in ("\\x1b]0;t\\x07[red]", "[/x]", "two\\nlines", "\\x00", "\\x1b[31mfoot[/b]"):
            assert word in out
        for raw in ("\x1b]0", "\x1b[31m", "\x07", "\x00"):  # rich's own colours are others
            assert raw not in out
    name = "bad\x1b[31m[red].toml"
    (tmp_path / name).write_text(
        '[run]\nrequests = 10\n[axes."sc\\u001b[7mheme"]\n"\\u001b[5mz\\u0000/[/b]" = { scheme = "fifo" }\n'
        '"\\u009b31m\\n" = { workload = "absent\\u001b[31m" }\n'
    )
    done = cli("sweep", name, "--files", "files", "--out", "table.csv")
    assert done.returncode == 1, done.stderr
    assert not set(done.stdout + done.stderr) & {"\x1b", "\x9b", "\x00"}
    assert "\\x9b31m\\n: workload `absent" in done.stderr
    [file] = (tmp_path / "files").iterdir()
    assert file.name.startswith("_[5mz__[_b].")
    data = json.loads(file.read_text())
    assert "process" not in data, "what it cost is no part of it"
    again = cli("run", "-q", "--json", "-", "--device", "ab\x1bcd")
    assert "ab\\x1bcd" in again.stderr


def test_equal_runs_are_equal_bytes_up_to_the_last_section(cli: Cli) -> None:
    for words in ((), ("--repeat", "2")):
        one, two = (cli("run", "-q", "--requests", 500, "--json", "-", *words).stdout for _ in "ab")
        assert list(json.loads(one))[-1] == "process"
        assert one.partition('\n "process"')[0] == two.partition('\n "process"')[0]
        assert set(json.loads(one)["process"]) == {"wall_s", "peak_rss_bytes"}
        assert one.count("wall_s") == 1
    result = ssdlab.run(requests=10)
    assert json.loads(result.to_json(process=False)).keys() == json.loads(result.to_json()).keys() - {"process"}


DRAWN = (
    "run --plot p.png",
    "sweep sweep.toml --plot seed,host.iops",
    "compare table.csv --plot p.png",
    "curve tlc --plot p.png",
    "search search.toml --plot p.png",
    "life life.toml --plot p.png",
    "fleet fleet.toml --plot p.png",
    "lifetime tlc48 --plot p.png",
    "characterize tlc48 --figures",
    "ecc simulate --rber 0.01 --plot p.png",
    "trace info trace.csv --plot p.png",
    "study run theory --results results --figures figures",
)


@pytest.mark.parametrize("command", DRAWN)
def test_without_matplotlib_a_figure_is_refused_before_anything_is_played(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of the files is there, and what would be played takes seconds to hours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = CliRunner().invoke(commands, command.split())
    assert isinstance(done.exception, ssdlab.InputError)
    assert re.fullmatch(r'--\w+: drawing needs matplotlib\n  help: pip install "ssdlab\[plot\]"', str(done.exception))
    assert list(tmp_path.iterdir()) == []


def test_a_run_tells_of_trims_of_single_requests_and_where_reads_begin_without_its_scheme(tmp_path: Path) -> None:
    shown = str(ssdlab.run("tlc", "lsm", requests=3000))
    assert re.search(r"^ *trims +8\.00 µs", shown, re.MULTILINE)
    aged: dict[str, Any] = {"age": "pec=2000,retention=6mo", "requests": 100}
    told = "without --scheme pnar2 reads of tlc begin where its patrols have found"
    assert told in str(ssdlab.run("tlc", scheme="pnar2", **aged))
    assert "without --scheme" not in str(ssdlab.run("tlc", **aged))
    assert "without --scheme" not in str(ssdlab.run("asplos21", scheme="pnar2", **aged))
    assert re.search(
        r"first\s+token\s+took\s+[\d.]+\s+s\s+\(1\s+was\s+measured\)", str(ssdlab.run("tlc", "kv-cache", requests=500))
    )
    (tmp_path / "trace.csv").write_text(MSR)
    assert "the same with every seed" in " ".join(str(ssdlab.run("tlc", tmp_path / "trace.csv", repeat=2)).split())
