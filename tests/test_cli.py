"""The command line: the JSON contract, outputs, errors, Ctrl-C, start-up."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import polars
import pytest

from conftest import HANGS_S, SSDLAB, Cli, beyond_the_end, cpu_s, until

LATENCIES = ["mean", "p50", "p99", "p99_9", "p99_99", "p99_9999", "max"]


def test_the_json_holds_what_the_contract_says(cli: Cli) -> None:
    done = cli("run", "--requests", 3000, "--json", "-", "--quiet")
    assert done.returncode == 0
    assert done.stderr.startswith("warning: not-steady: ")
    data = json.loads(done.stdout)
    statistics = ["host", "flash", "ftl", "usage", "energy", "run"]
    assert list(data) == ["manifest", "warnings", *statistics, "latency_distribution", "process"]
    for kind in ("read", "write", "all"):
        part = data["host"][kind]
        assert list(part) == ["requests", "bytes", "iops", "bandwidth_mb_s", "latency_ns"]
        assert list(part["latency_ns"]) == LATENCIES
        assert [part["latency_ns"][key] for key in LATENCIES[1:]] == sorted(
            part["latency_ns"][k] for k in LATENCIES[1:]
        )
    assert {"reads", "programs", "erases"} <= set(data["flash"])
    assert {"waf", "gc_runs", "pages_relocated"} <= set(data["ftl"])
    assert {"channel", "die"} <= set(data["usage"])
    assert list(data["process"]) == ["wall_s", "peak_rss_bytes"]
    assert 5 << 20 < data["process"]["peak_rss_bytes"] < 1 << 30
    assert list(data["run"]) == ["events"]
    assert data["run"]["events"] > 0


def test_only_the_last_section_differs_between_two_runs(cli: Cli, tmp_path: Path) -> None:
    texts = []
    for name in ("a", "b"):
        words = ("--json", f"{name}.json", "--requests-out", f"{name}.r", "--series-out", f"{name}.s", "-q")
        assert cli("run", "--requests", 3000, *words).returncode == 0
        texts.append((tmp_path / f"{name}.json").read_text())
    first, second = (text.partition('\n "process": {')[0] for text in texts)
    assert first == second
    assert len(first) > 1000
    assert texts[0].count("{") - first.count("{") == 1
    for kind in ("r", "s"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_the_table_tells_the_latencies_and_the_files(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", "--requests", 3000, "--json", "x.json", "--requests-out", "x.parquet")
    for word in ("tlc", "reads", "writes", "p99.9999", "MB/s", "Dies", "WAF", "requests/s", "~", "peak RSS"):
        assert word in done.stdout
    assert done.stdout.partition("next: ")[0].endswith("wrote x.json (results)\nwrote x.parquet (a row a request)\n")
    shown = [line for line in done.stdout.splitlines() if not line.startswith(("warning: ", "  help: "))]
    assert shown[0].startswith("tlc served ")
    assert max(map(len, shown)) <= 80
    assert polars.read_parquet(tmp_path / "x.parquet").height == 3000


def test_repeats_write_a_log_each(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", "--requests", 500, "--repeat", 3, "--requests-out", "x.parquet", "--json", "-")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["repeats"]) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"x.seed{n}.parquet" for n in (1, 2, 3)]


def test_repeats_show_confidence_intervals(cli: Cli) -> None:
    assert "95 % confidence interval" in cli("run", "--requests", 500, "--repeat", 3).stdout


def test_presets_and_schema_list_everything(cli: Cli) -> None:
    listed = cli("presets").stdout
    for word in ("tlc", "mqsim-ideal", "random-read-8k", "read-first", "DiskSim"):
        assert word in listed
    assert "[geometry]" in cli("presets", "tlc").stdout
    assert "[workload]" in cli("presets", "default").stdout
    assert "did you mean `tlc`?" in cli("presets", "tlcc").stderr
    schema = cli("schema").stdout
    for word in ("[chip]", "t_prog", "[workload]", "such as"):
        assert word in schema
    assert "[chip]" not in cli("schema", "age").stdout
    assert cli("schema", "agee").returncode == 2


def test_the_choice_of_a_trace_format_is_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("128166372003061629,web,0,Read,0,4096,100\n" * 5)
    done = cli("run", "--workload", "t.csv", "--json", "-", "--quiet")
    assert done.returncode == 0
    assert "MSR CSV" in done.stderr
    assert json.loads(done.stdout)["host"]["all"]["requests"] == 5


MSR = "{},web,0,Read,0,4096,100\n"
TRACES = {
    "empty.csv": b"",
    "blank.csv": b"\n\n\n",
    "binary.csv": bytes(range(256)) * 64,
    "backwards.csv": (MSR.format(2000) + MSR.format(1000)).encode(),
    "truncated.csv": (MSR.format(1000) * 3 + "128166372003061629,web,0,Re\n").encode(),
    "overflow.csv": (MSR.format(1000) + "1001,web,0,Read,99999999999999999999999,4096,1\n").encode(),
    "long.csv": b"1" * (1 << 20),
    "cut.csv.gz": bytes.fromhex("1f8b0800000000000003") + b"\x4b\x4c",
    "device.toml": b'[chip]\nt_porg = "2us"\n',
    "broken.toml": b"[chip\n",
    "work.toml": b"[workload]\nrate_iops = 5\nrate_ipos = 5\n",
}
ERRORS = [
    (("--set", "chip.t_porg=1us"), ("chip.t_porg", "did you mean `t_prog`?")),
    (("--set", "chp.t_prog=1us"), ("chp", "did you mean `chip`?")),
    (("--set", "chip.t_prog"), ("--set chip.t_prog", "no `=`")),
    (("--set", "chip.t_prog=400"), ("chip.t_prog", "400 is not accepted", "unit")),
    (("--set", "chip.t_prog=400MB"), ("chip.t_prog", "400MB", "unit")),
    (("--set", "geometry.channels=0"), ("geometry.channels",)),
    (("--set", "geometry.blocks=4000000000"), ("geometry.blocks", "at most 2 147 483 648 pages")),
    (("--set", "workload.requets=1"), ("workload.requets", "did you mean `requests`?")),
    (("--device", "tcl"), ("tcl", "did you mean `tlc`?")),
    (("--device", "nowhere.toml"), ("nowhere.toml",)),
    (("--device", "device.toml"), ("device.toml:2", "t_porg", "did you mean `t_prog`?")),
    (("--device", "broken.toml"), ("broken.toml:1",)),
    (("--device", "binary.csv"), ("binary.csv",)),
    (("--workload", "work.toml"), ("work.toml:3", "rate_ipos", "did you mean `rate_iops`?")),
    (("--workload", "defualt"), ("defualt", "did you mean `default`?")),
    (("--workload", "missing.csv"), ("missing.csv", "no such workload or file")),
    (("--workload", "."), ("no such workload or file",)),
    (("--workload", "empty.csv"), ("empty.csv", "holds no requests")),
    (("--workload", "blank.csv"), ("blank.csv", "holds no requests")),
    (("--workload", "binary.csv"), ("binary.csv: is no text", "--format")),
    (("--workload", "backwards.csv", "--sort-window", "0"), ("backwards.csv:2", "goes back", "sort")),
    (("--workload", "truncated.csv"), ("truncated.csv:4",)),
    (("--workload", "overflow.csv"), ("overflow.csv:2", "Offset")),
    (("--workload", "long.csv"), ("long.csv:1", "longer than")),
    (("--workload", "cut.csv.gz"), ("cut.csv.gz", "gzip")),
    (("--workload", "backwards.csv", "--format", "mrs"), ("mrs", "msr")),
    (("--format", "msr"), ("--format", "generator")),
    (("--scheme", "fiffo"), ("--scheme fiffo", "did you mean `fifo`?")),
    (("--age", "pce=3"), ("pce", "did you mean `pec`?")),
    (("--age", "retention=6"), ("retention", "3mo")),
    (("--replay", "closed:0"), ("--replay closed:0", "closed:QD")),
    (("--duration", "10"), ("--duration 10", "unit")),
    (("--requests", "0"), ("--requests", "1 or more")),
    (("--requests", "many"), ("--requests", "many")),
    (("--seed", "-1"), ("--seed", "0 or more")),
    (("--rpeat", "3"), ("--rpeat", "--repeat")),
    (("--json", "no/such/x.json"), ("--json no/such/x.json", "there is no folder no/such")),
    (("--requests-out", "."), ("--requests-out .", "it is a folder")),
    (("--series-out", "no/x"), ("--series-out no/x", "there is no folder no")),
    (("--json", "x", "--requests-out", "./x"), ("--requests-out ./x", "also what --json writes")),
    (("--workload", "backwards.csv", "--json", "backwards.csv"), ("is an input",)),
    (("--json", ""), ("--json is empty",)),
    (("--fio", ""), ("--fio is empty",)),
    (("--mqsim", "", ""), ("--mqsim is empty",)),
    (("--fio", "x.fio", "--write-toml", ""), ("--write-toml is empty",)),
    (("--output-format", "fio-json", "--json", "-"), ("--json -", "--output-format")),
    (("--series-out", "-"), ("--series-out -: goes to a file",)),
    (("--qd", "4", "--set", "workload.iodepth=4"), ("error: --qd: is given, and the workload paces itself",)),
    (("--replay", "closed:4", "--set", "workload.iodepth=4"), ("error: --replay: is given",)),
    (("--scheme", "baseline", "--scheme", "pnar2"), ("--scheme is given twice", "give it once")),
    (("--device", "tlc", "--device=qlc"), ("--device is given twice",)),
    (("--age", "pec=2000", "--age", "pec=10"), ("age pec=2000,pec=10: pec is given twice",)),
    (("--age", "pec=2000,pec=10"), ("pec is given twice", "give pec once")),
]


@pytest.mark.parametrize(("words", "parts"), ERRORS, ids=[" ".join(words) for words, _ in ERRORS])
def test_bad_input_is_answered_with_place_and_remedy(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    for name, content in TRACES.items():
        if name in words:
            (tmp_path / name).write_bytes(content)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = cli("run", *words)
    assert done.returncode == 2, done.stderr
    assert re.search(r"^error: ", done.stderr, re.MULTILINE), done.stderr
    assert "\n  help: " in done.stderr, done.stderr
    for part in parts:
        assert part in done.stderr
    assert len(done.stderr) < 1500
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_ages_are_joined_and_flags_may_repeat(cli: Cli) -> None:
    words = ("run", "--requests", "50", "--json", "-", "--quiet", "-q")
    apart, together = (
        cli(*words, *age)
        for age in (("--age", "pec=2000", "--age", "retention=6mo"), ("--age", "pec=2000,retention=6mo"))
    )
    ages = [json.loads(done.stdout)["manifest"]["device"]["config"]["age"] for done in (apart, together)]
    assert ages[0] == ages[1]
    assert (ages[0]["pec"], ages[0]["retention"]) == (2000, "180d")


def every_command(group: click.Group, context: click.Context) -> dict[str, click.Command]:
    """The commands of a group, and those of the groups in it."""
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found |= {f"{name} {inner}": of for inner, of in every_command(command, context).items()}
        else:
            found[name] = command
    return found


def test_every_command_refuses_an_option_that_it_would_lose() -> None:
    from ssdlab.cli.base import Once, commands

    found = every_command(commands, click.Context(commands))
    assert {"run", "ecc simulate", "trace cut", "study run"} <= found.keys()
    assert [name for name, command in found.items() if not isinstance(command, Once)] == []
    with pytest.raises(click.UsageError, match="--threads is given twice"):
        found["sweep"].make_context("sweep", ["x.toml", "--threads", "1", "--threads", "2"])


def test_a_files_name_need_not_be_utf_8(cli: Cli, tmp_path: Path) -> None:
    name = os.fsdecode(b"jobs\xff.fio")
    (tmp_path / name).write_text("[a]\nrw=randread\n[b]\nstonewall\nrw=randwrite\n")
    for words in (("--requests", 5), ("--write-toml", "mine")):
        done = cli("run", "--fio", name, *words)
        assert done.returncode == 0, done.stderr


def test_a_run_that_cannot_go_on_says_what_was_kept(cli: Cli, tmp_path: Path) -> None:
    words = ("--format", "mqsim", "--beyond", "refuse", "--requests-out", "x.parquet", "--json", "x.json")
    done = cli("run", "--workload", beyond_the_end(tmp_path), *words)
    assert done.returncode == 2
    assert done.stderr.startswith("error: a request of 8192 B at byte ")
    rows = polars.read_parquet(tmp_path / "x.parquet").height
    assert f"kept: x.parquet with {rows:,} rows" in done.stderr
    assert not (tmp_path / "x.json").exists()


def test_a_worn_out_drive_gives_its_result_and_says_so(cli: Cli, tmp_path: Path) -> None:
    words = ["--precondition", "closed-form", "--replay", "closed:64", "--set", "workload.rw=randwrite"]
    words += ["--set", "wear.erase_fail=0.2", "--set", "geometry.blocks=60", "--set", "ftl.over_provisioning=0.3"]
    words += ["--json", "eol.json"]
    done = cli("run", "-q", *words)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("warning: worn-out: the drive wore out after ")
    result = json.loads((tmp_path / "eol.json").read_text())
    assert result["ftl"]["wear"]["ended_s"] > 0
    assert 0 < result["host"]["write"]["requests"] < 200_000


def test_settings_without_effect_are_told(cli: Cli) -> None:
    bare = ("run", "-q", "--requests", "100", "--set", "chip.model=none")
    assert (
        "no effect: read.pipeline, age.pec without a chip model"
        in cli(*bare, "--scheme", "pr2", "--age", "pec=1000").stderr
    )
    assert "no effect: erase.requirement without erase.pulse" in cli(*bare, "--set", "erase.requirement=40").stderr
    load = ("run", "-q", "--requests", "100", "--set", "age.load=0.1")
    assert "no effect: age.load without age.precondition" in cli(*load).stderr
    assert "no effect" not in cli(*load, "--precondition", "closed-form").stderr
    ideal = cli("run", "-q", "--requests", "100", "--scheme", "ssd-zero", "--set", "chip.model=tlc48")
    assert "chip.model=tlc48 undoes chip.model=none of --scheme ssd-zero" in ideal.stderr
    assert "no effect" not in cli("run", "-q", "--requests", "100", "--scheme", "pnar2", "--age", "pec=1000").stderr


@pytest.mark.parametrize("repeat", [1, 2])
@pytest.mark.slow
def test_ctrl_c_ends_a_run_at_once_and_says_what_was_kept(tmp_path: Path, repeat: int) -> None:
    words = "run --workload random-read-8k --set workload.requests=100000000 --requests-out x.parquet --json x.json"
    running = subprocess.Popen(
        [SSDLAB, *words.split(), "--repeat", str(repeat)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background SIGINT may be ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    # By then it is in the core, and its end is minutes away.
    until(lambda: cpu_s(running.pid) > 1.5, running)
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=HANGS_S)
    assert running.returncode == 130
    # One run shows what there is; repeats do not.
    assert stdout.startswith("warning: interrupted: ") if repeat == 1 else stdout == ""
    *progress, last = stderr.splitlines()  # of which there is none unless the machine is slow
    assert last.startswith("interrupted: ")
    assert all("requests/s" in line for line in progress)
    assert (tmp_path / "x.json").exists() == (repeat == 1)
    logs = sorted(tmp_path.glob("*.parquet"))
    assert len(logs) == repeat
    for path in logs:
        assert f"{path.name} with {polars.read_parquet(path).height:,} rows" in stderr


def test_a_closed_pipe_ends_the_output_quietly(tmp_path: Path) -> None:
    run = f"{SSDLAB} run --workload random-read-8k --requests 2000 --json - -q | head -c 1"
    command = f"{SSDLAB} presets mqsim | head -1; {run}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stderr == ""


def test_a_closed_pipe_loses_no_file(tmp_path: Path) -> None:
    command = f"{SSDLAB} run --requests 3000 --json x.json --series-out x.parquet | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stderr == ""
    assert json.loads((tmp_path / "x.json").read_text())["host"]["all"]["requests"] == 3000


def test_importing_the_package_costs_next_to_nothing() -> None:
    def cpu(code: str) -> float:
        return min(cpu_of([sys.executable, "-c", code]) for _ in range(5))

    cost = cpu("import ssdlab") - cpu("pass")
    print(f"import ssdlab: {cost * 1e3:.1f} ms")
    assert cost < 0.03


def test_modules_are_loaded_at_their_first_use() -> None:
    code = (
        "import sys, ssdlab\n"
        "assert not [name for name in sys.modules if name.startswith('ssdlab.') and name != 'ssdlab._version']\n"
        "print(ssdlab.trace.read.__name__, ssdlab.policy.Ftl.__name__, ssdlab.study.__name__, ssdlab.plot.__name__)\n"
        "assert not {'polars', 'matplotlib', 'rich'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "read Ftl ssdlab.study ssdlab.plot\n"), done.stderr


@pytest.mark.slow
def test_a_json_run_starts_within_its_budget_and_without_heavy_imports(tmp_path: Path) -> None:
    out = tmp_path / "x.json"
    cost = min(cpu_of([SSDLAB, "run", "--requests", "1", "--json", out]) for _ in range(5))
    print(f"start-up of a --json run: {cost * 1e3:.0f} ms of CPU")
    # The aim is 0.1 s; a busy CI machine gets three times that.
    assert cost < 0.3
    done = subprocess.run(
        [sys.executable, "-X", "importtime", SSDLAB, "run", "--requests", "1", "--json", out],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(re.findall(r"\| +(\w+)$", done.stderr, re.MULTILINE))
    assert "click" in loaded
    assert not loaded & {"rich", "polars", "concurrent", "asyncio"}


def cpu_of(command: list[object]) -> float:
    """CPU time of a process [s]."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


MSR = "128166481075232275,h,1,Write,281358336,45056,9\n128166481075242275,h,1,Read,281358336,45056,9\n"


def test_two_traces_are_shown_by_their_names(cli: Cli, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(MSR)
    done = cli("run", "--workload", "a.csv", "--workload", "b.csv")
    assert done.returncode == 0, done.stderr
    assert "\ntlc: a.csv + b.csv, timed, " in done.stdout


def test_a_run_that_measures_nothing_is_refused_or_says_so(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(MSR)
    done = cli("run", "--requests", 100, "--warmup", 100)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--warmup 100: leaves nothing to be measured: 100 requests are played\n  help: " in done.stderr
    assert cli("run", "-q", "--requests", 100, "--warmup", 99).returncode == 0
    # How many requests a trace has is known at its end.
    done = cli("run", "--workload", "a.csv", "--warmup", 2)
    assert done.returncode == 0, done.stderr
    assert "no request was measured" in done.stdout
    done = cli("run", "-q", "--workload", "a.csv", "--warmup", 2, "--json", "-")
    assert json.loads(done.stdout)["host"]["queue"] == {}


def test_more_requests_than_a_workload_has_extend_a_generator_and_are_missed_in_a_trace(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(MSR)
    short = "workload.requests=50"
    done = cli("run", "-q", "--set", short, "--requests", 60, "--json", "-")
    assert json.loads(done.stdout)["host"]["all"]["requests"] == 60
    assert "missing_requests" not in json.loads(done.stdout)["host"]["trace"]
    done = cli("run", "-q", "--workload", "two-tenants", "--set", short, "--requests", 150, "--json", "-")
    assert json.loads(done.stdout)["host"]["all"]["requests"] == 150
    done = cli("run", "-q", "--workload", "a.csv", "--requests", 5, "--json", "-")
    assert "the workload ended 3 requests before those asked for" in done.stderr
    assert json.loads(done.stdout)["host"]["trace"]["missing_requests"] == 3
    assert "warning: workload-ended: " in cli("run", "--workload", "a.csv", "--requests", 5).stdout


def test_a_trace_that_ends_within_a_line_is_played_up_to_it(cli: Cli, tmp_path: Path) -> None:
    whole = "time,op,offset,size\n" + "".join(f"{10 * n},R,{4096 * n},4096\n" for n in range(100))
    (tmp_path / "whole.csv").write_text(whole)
    (tmp_path / "cut.csv").write_text(whole + "1000,R,40")
    declared = ("--format", "csv:time=us,op=R/W,offset=B,size=B", "--json", "-", "-q")
    results = []
    for name, found in (("whole", False), ("cut", True)):
        done = cli("run", "--workload", f"{name}.csv", *declared)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        assert ("trace-cut" in [warning["id"] for warning in result["warnings"]]) == found
        results.append(result["host"])
    assert [host["trace"].pop("bad_lines") for host in results] == [0, 1]
    assert results[0] == results[1]
    assert results[0]["read"]["requests"] == 100
    assert results[0]["trace"]["other_lines"] == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--set", "workload.footprint=4GiB", "--set", "workload.rw=randread"), "randread 16KiB, uniform over 4 GiB, "),
        (("--workload", "two-tenants"), "reader: randread 4KiB, zipf:0.99 over 8 GiB + writer: write 128KiB, timed"),
    ],
)
def test_the_title_names_the_distribution(cli: Cli, words: tuple[str, ...], says: str) -> None:
    assert says in " ".join(cli("run", *words, "--requests", 50).stdout.split())


def test_what_is_read_whole_has_a_limit(cli: Cli, tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(17 << 20)
    names = ("big.toml", "big.csv", "big.fio", "big.xml")
    for name in names:
        (tmp_path / name).hardlink_to(tmp_path / "big")
    aged = ("--device", "asplos21", "--set", "read.sensing=adaptive")
    for words in (
        ("--set", "chip.model=big.toml"),
        (*aged, "--set", "read.rpt=big.csv"),
        ("--device", "asplos21", "--set", "ecc.code=big.csv"),
        ("--device", "big.toml"),
        ("--workload", "big.toml"),
        ("--fio", "big.fio"),
        ("--mqsim", "big.xml", "big.xml"),
    ):
        done = cli("run", *words)
        assert (done.returncode, "larger than 16 MiB" in done.stderr) == (2, True), (words, done.stderr)
        assert "\n  help: " in done.stderr
    done = cli("run", "--set", "workload.numjobs=60000")
    assert done.returncode == 2
    assert "workload.numjobs: makes 60000 jobs, and a workload has 1024 at most" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_options_and_presets(shell: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    script = cli("completion", shell)
    assert (script.returncode, script.stderr) == (0, "")
    assert f"_SSDLAB_COMPLETE={shell}_complete" in script.stdout
    monkeypatch.setenv("_SSDLAB_COMPLETE", f"{shell}_complete")
    for words, completed in (
        ("ssdlab run --pl", "--plot"),
        ("ssdlab run --device asp", "asplos21"),
        ("ssdlab dev", "device"),
    ):
        begun = words.split()[-1]
        monkeypatch.setenv("COMP_WORDS", words if shell != "fish" else words.removesuffix(begun))
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1) if shell != "fish" else begun)
        assert completed in cli().stdout


def module_of(command: click.Command) -> str:
    """Where a command is written."""
    return command.callback.__module__ if command.callback else ""


def test_help_lists_every_command_whole() -> None:
    from ssdlab.cli import base
    from ssdlab.cli.base import MODULES, commands

    found: dict[str, str] = {}
    for path in Path(base.__file__).parent.glob("*.py"):
        module = importlib.import_module(f"ssdlab.cli.{path.stem}")
        here = (name for name, command in commands.commands.items() if module_of(command) == module.__name__)
        found |= dict.fromkeys(here, path.stem)
    assert found == MODULES
    shown = subprocess.run(
        [str(SSDLAB), "--help"], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"}
    ).stdout
    assert not [line for line in shown.splitlines()[1:] if line.endswith("...")]
    assert max(map(len, shown.splitlines())) <= 80


def test_a_device_in_a_line_is_a_device_file(cli: Cli) -> None:
    line = "256GB, 4 ch x 2 dies x 2 planes, QLC, PCIe 3 x4"
    written = cli("device", line, "--write", "mine.toml")
    assert written.returncode == 0, written.stderr
    assert "assumed: pages = 1536" in written.stdout
    runs = [cli("run", "--device", of, "--requests", "50", "--json", "-") for of in (line, "mine.toml")]
    described, by_file = (json.loads(run.stdout) for run in runs)
    assert described["host"] == by_file["host"]
    assert described["manifest"]["device"]["config"] == by_file["manifest"]["device"]["config"]
    again = cli("device", "mine.toml", "--write", "again.toml")
    assert (again.returncode, "is a file already" in again.stderr) == (2, True)
