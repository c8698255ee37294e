"""Policies in Python: their twins in Rust give the same bytes, and their mistakes are told with their lines."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ssdlab
import twins
from conftest import HANGS_S, Cli
from pages import ROOT, blocks
from ssdlab import policy
from ssdlab.runs.manifest import files_of, inputs_of, key_of
from ssdlab.runs.options import options_of
from ssdlab.runs.reproduce import Reproducer

TWINS = Path(twins.__file__)

SMALL: dict[str, Any] = {
    "precondition": "closed-form",
    "replay": "closed:16",
    "requests": 10_000,
    "age": "pec=2000,retention=1y",
    "settings": {
        # How a drive in the middle of its life is found depends on the choice that a policy stands in for.
        "age.staggered": False,
        "geometry.channels": 1,
        "geometry.chips": 1,
        "geometry.dies": 1,
        "geometry.blocks": 32,
        "geometry.pages": 36,
        "ftl.over_provisioning": 0.6,
        "buffer.size": "1MiB",
        "workload.rw": "randrw",
        "workload.rwmixread": 20,
    },
}
"""A drive of one die whose blocks are collected and whose reads are retried from the start."""

PHASES: dict[str, Any] = {
    "chip.t_prog": None,
    "chip.program_loops": 8,
    "chip.t_program_pulse": "60us",
    "chip.t_program_verify": "25us",
    "chip.t_bers": None,
    "chip.erase_loops": 3,
    "chip.t_erase_pulse": "1ms",
    "chip.t_erase_verify": "100us",
    "schedule.order": "read-first",
    "schedule.suspend_program": "inter-phase",
    "schedule.suspend_erase": "pulse-boundary",
}


def small(**changed: Any) -> dict[str, Any]:
    """The small drive with other settings."""
    return SMALL | {"settings": SMALL["settings"] | changed}


def drawn(seed: int) -> dict[str, Any]:
    """A random drive under a random load; each question comes up hundreds of times."""
    draw = random.Random(seed)
    return SMALL | {
        "seed": seed,
        "replay": f"closed:{draw.randint(4, 40)}",
        "age": f"pec={draw.choice([1000, 2000, 3000])},retention={draw.choice(['3mo', '1y'])}",
        "settings": SMALL["settings"]
        | PHASES
        | {
            "geometry.dies": draw.choice([1, 2]),
            "geometry.planes": draw.choice([1, 2, 4]),
            "geometry.blocks": draw.randint(30, 60),
            "geometry.pages": 3 * draw.randint(8, 20),
            "ftl.over_provisioning": draw.choice([0.7, 1.0]),
            "ftl.streams": draw.choice([1, 2]),
            "gc.copyback": draw.choice([False, True]),
            "gc.preemptible": draw.choice([False, True]),
            "read.pipeline": draw.choice(["off", "cache-read"]),
            "chip.program_loops": draw.randint(2, 9),
            "workload.rwmixread": draw.choice([20, 40]),
        },
    }


class Counting:
    """A policy that counts how often it is asked."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self.ask = ask
        self.times = 0

    def __call__(self, question: Any) -> Any:
        self.times += 1
        return self.ask(question)


def statistics(result: Any) -> str:
    """All that a run has found out, as its JSON has it; what to try next may be another thing where a function of one's
    own decides."""
    data = json.loads(result.to_json())
    for finding in data["warnings"]:
        del finding["remedy"]
    return json.dumps({part: data[part] for part in data if part not in ("manifest", "process")})


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("axis", "twin", "key", "word", "other"),
    [
        ("victim", twins.greedy, "gc.victim", "greedy", "cost-benefit"),
        ("victim", twins.cost_benefit, "gc.victim", "cost-benefit", "greedy"),
        ("victim", twins.five_choices, "gc.victim", "d-choices:5", "greedy"),
        ("victim", twins.first_filled, "gc.victim", "fifo", "fifo"),
        ("start", twins.tracked, "read.start", "tracked", "tracked"),
        ("start", twins.tracked, "read.start", "patrolled", "patrolled"),
        ("next", twins.table, "read.next", "table", "oracle"),
        ("next", twins.swift, "read.next", "swift", "swift"),
        ("next", twins.sentinel, "read.next", "sentinel", "sentinel"),
        ("order", twins.read_first, "schedule.order", "read-first", "fifo"),
        ("order", twins.user_first, "schedule.order", "user-first", "fifo"),
        ("suspend_program", twins.inter_phase, "schedule.suspend_program", "inter-phase", "intra-phase"),
        ("suspend_program", twins.intra_phase, "schedule.suspend_program", "intra-phase", "inter-phase"),
        ("suspend_erase", twins.reset_and_resume, "schedule.suspend_erase", "reset-and-resume", "pulse-boundary"),
        ("suspend_erase", twins.safe_points, "schedule.suspend_erase", "safe-points", "safe-points"),
        ("pacing", twins.token, "gc.pacing", "token", "proportional"),
    ],
)
def test_a_policy_gives_the_bytes_of_its_twin_in_rust(
    axis: str, twin: Callable[..., Any], key: str, word: str, other: str, seed: int
) -> None:
    """The policy stands in for another choice where that costs the same."""
    options = drawn(seed)
    built_in = ssdlab.run("tlc-page", **options | {"settings": options["settings"] | {key: word}})
    counting = Counting(twin)
    prototype = ssdlab.run(
        "tlc-page", **options | {"settings": options["settings"] | {key: other}, "policies": {axis: counting}}
    )
    assert statistics(prototype) == statistics(built_in)
    # A run's device is described twice: for its manifest, and when it is built.
    assert counting.times == 10 if axis == "order" else counting.times > 50, counting.times


def test_a_victim_is_chosen_by_wear_and_stream() -> None:
    """Streams of the host are told apart, relocated data has none, and blocks are erased as the statistics say."""
    seen: list[tuple[int, int | None]] = []

    def least_worn(blocks: policy.Blocks) -> policy.Candidate | None:
        found = blocks.all()
        assert all(blocks.valid(block.number) == block.valid for block in found)
        assert {block.number for block in blocks.contenders()} <= {block.number for block in found}
        seen.extend((block.erases, block.stream) for block in found)
        gains = [block for block in found if block.valid < blocks.limit]
        return min(gains, key=lambda block: (block.erases, block.valid), default=None)

    options = small(**{"ftl.hints": 2, "workload.hint": 1, "workload.rwmixread": 0})
    result = ssdlab.run("tlc-page", **options | {"policies": {"victim": least_worn}})
    assert {stream for _, stream in seen} == {None, 1}
    assert 0 < max(erases for erases, _ in seen) <= result.ftl.wear.erases.max


def test_blocks_that_a_policy_keeps_stay_as_they_were_and_change_nothing() -> None:
    def described(blocks: policy.Blocks) -> list[tuple[int, int, int, int, int | None]]:
        return [(block.number, block.valid, block.age, block.erases, block.stream) for block in blocks.all()]

    kept: list[tuple[policy.Blocks, list[tuple[int, int, int, int, int | None]]]] = []

    def greedy(blocks: policy.Blocks) -> policy.Candidate | None:
        kept.append((blocks, described(blocks)))
        return next(iter(blocks.contenders()), None)

    options = small(**{"gc.victim": "greedy"})
    result = ssdlab.run("tlc-page", **options | {"policies": {"victim": greedy}})
    assert statistics(result) == statistics(ssdlab.run("tlc-page", **options))
    assert len({str(of) for _, of in kept}) > 50
    assert all(described(blocks) == of for blocks, of in kept)


MISTAKES = """\
def divides(blocks):
    share = blocks.pages
    return share / 0


def asks_otherwise(failed):
    return failed.step


def talks(anything):
    return "seven"


def names_itself(blocks):
    return min(blocks.contenders(), key=lambda block: block.valid).number


def goes_on(failed):
    return failed.last + 1


def stops_early(at):
    return (at.left_ns // 2, "next-phase")


def wants_the_first(blocks):
    return blocks.first_filled()


def ranks_below(operation):
    return -1


def begins_beyond(sense):
    return sense.table + 1
"""


@pytest.mark.parametrize(
    ("axis", "function", "line", "problem", "remedy"),
    [
        ("victim", "divides", 3, "ZeroDivisionError: division by zero\n", "return share / 0"),
        ("victim", "names_itself", 14, "answered ", "None, or one of the blocks that it is given"),
        ("victim", "wants_the_first", 27, "ValueError: the drive keeps the order of filling only with", "first_filled"),
        ("next", "asks_otherwise", 7, "AttributeError: ", "return failed.step"),
        ("next", "talks", 10, "answered 'seven'", 'a step of the table, "near-optimal" or "sentinel"'),
        ("next", "goes_on", 18, "answered step ", "answer a step of the table, 0 to "),
        ("suspend_program", "stops_early", 22, "answered ", " ns: until the phase ends"),
        ("suspend_erase", "talks", 10, "answered 'seven'", "one of next-phase, repeat-phase"),
        ("start", "begins_beyond", 34, "answered step ", "answer a step of the table, 0 to "),
        ("order", "ranks_below", 30, "answered -1", "a whole number from 0 to 255"),
    ],
)
def test_a_mistake_is_told_with_the_policys_line(
    cli: Cli, tmp_path: Path, axis: str, function: str, line: int, problem: str, remedy: str
) -> None:
    (tmp_path / "mine.py").write_text(MISTAKES)
    tracks = {"read.start": "tracked"}
    words = [word for setting in options_of(small(**PHASES, **tracks)).settings for word in ("--set", setting)]
    options = ("--device", "tlc-page", "--age", SMALL["age"], "--replay", SMALL["replay"], "--requests", 10_000)
    done = cli("run", *options, *words, "--policy", f"{axis}=mine.py:{function}", "--requests-out", "log.parquet")
    assert done.returncode == 2
    assert f"error: mine.py:{line}: policies.{axis}: {problem}" in done.stderr
    assert remedy in done.stderr
    assert "\n  help: " in done.stderr
    if axis == "order":
        assert not (tmp_path / "log.parquet").exists()
    else:
        # What had completed is kept, as when any run ends early.
        assert (tmp_path / "log.parquet").exists()
        assert "kept: log.parquet" in done.stderr


@pytest.mark.parametrize(
    ("given", "problem", "remedy"),
    [
        ({"victims": twins.greedy}, "policies.victims: there is no such axis", "the axes are victim, order, start"),
        ({"victim": 7}, "policies.victim: 7 is not accepted", "a function, or FILE:FUNCTION"),
        ("victim", "policies: 'victim' is not accepted", "AXIS=FILE:FUNCTION"),
        ("victim=none.py:f", "none.py: cannot be read: No such file", "policies.victim"),
        ("victim=broken.py:f", "broken.py:2: policies.victim: SyntaxError: ", "Python that runs by itself"),
        ("victim=sibling.py:f", "sibling.py:1: policies.victim: ModuleNotFoundError: ", "files beside it"),
        (f"victim={TWINS}:nothing", "has no function nothing", "top level"),
        ({"victim": len}, "policies.victim: len: has no text", "into a file"),
        (f"pacing={TWINS}:token", 'gc.pacing: is "none", and a policy is given for it', 'such as "token"'),
        (f"suspend_erase={TWINS}:inter_phase", 'schedule.suspend_erase: is "none"', '"pulse-boundary"'),
    ],
)
def test_what_is_no_policy_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: Any, problem: str, remedy: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.py").write_text("x = 1\ndef f(:\n")
    Path("sibling.py").write_text("import broken\n")
    for build in (lambda: ssdlab.run("tlc-page", policies=given), lambda: ssdlab.Device("tlc-page", policies=given)):
        with pytest.raises(ssdlab.InputError) as raised:
            build()
        text, _, help = str(raised.value).partition("\n  help: ")
        assert problem in text
        assert remedy in help


def test_what_a_policy_raises_is_the_errors_cause_and_an_interruption_stays_one() -> None:
    def raises(error: BaseException) -> Callable[[policy.Blocks], None]:
        def victim(_: policy.Blocks) -> None:
            raise error

        return victim

    error = KeyError("lost")
    with pytest.raises(ssdlab.InputError, match=r"test_policies\.py:\d+: policies\.victim: KeyError: 'lost'") as raised:
        ssdlab.run("tlc-page", **SMALL, policies={"victim": raises(error)})
    assert raised.value.__cause__ is error
    # Ctrl-C comes to whatever Python is doing.
    with pytest.raises(ssdlab.Interrupted, match="requests had completed"):
        ssdlab.run("tlc-page", **SMALL, policies={"victim": raises(KeyboardInterrupt())})


def test_a_device_asks_its_policies_and_fails_with_them() -> None:
    def played(policies: Any) -> list[ssdlab.Completion]:
        options = small(**PHASES)
        settings = dict(word.partition("=")[::2] for word in options_of(options).settings if "workload." not in word)
        device = ssdlab.Device("tlc-page", age=SMALL["age"], settings=settings, policies=policies)
        draw, done = random.Random(1), []
        for number in range(8000):
            kind: Any = draw.choice(["read", "write", "write", "write"])
            device.submit(number * 100_000, kind, draw.randrange(device.capacity >> 14) << 14, 16384)
            done += device.advance(number * 100_000)
        return done

    asked = Counting(twins.greedy)
    assert played({"victim": asked, "next": twins.table}) == played(None)
    assert asked.times > 20
    first = Counting(lambda blocks: blocks.contenders()[0])
    with pytest.raises(ssdlab.InputError, match=r"policies\.next: answered step 255"):
        played({"victim": first, "next": lambda failed: 255})


def test_data_that_a_function_gives_up_is_said_to_be_its_loss() -> None:
    reads: dict[str, Any] = {"age": SMALL["age"], "settings": {"workload.rw": "randread"}, "requests": 300}
    found = ssdlab.run("asplos21", **reads, policies={"next": lambda failed: None}).warnings
    (lost,) = [finding for finding in found if finding.id == "uncorrectable-reads"]
    assert "without the functions of your own (start, next)" in lost.remedy


def test_a_policy_must_not_ask_the_device_and_other_threads_may() -> None:
    settings = {**SMALL["settings"], "age.precondition": "closed-form"}
    settings = {key: value for key, value in settings.items() if not key.startswith("workload.")}
    seen: list[object] = []

    def asking(blocks: policy.Blocks) -> policy.Candidate | None:
        try:
            seen.append(device.now)
        except ssdlab.InputError as error:
            seen.append(str(error).splitlines()[0])
        # Another thread waits for the device without keeping this one from going on.
        watcher = threading.Thread(target=lambda: seen.append(device.capacity), daemon=True)
        watcher.start()
        watchers.append(watcher)
        return blocks.contenders()[0]

    watchers: list[threading.Thread] = []
    device = ssdlab.Device("tlc-page", settings=settings, policies={"victim": asking})
    for number in range(600):
        device.submit(0, "write", (number * 7919 % 800) << 14, 16384)
    device.advance(10**10)
    for watcher in watchers:
        watcher.join(HANGS_S)
        assert not watcher.is_alive()
    assert len(watchers) > 3
    assert set(seen) == {"a policy asks a device", device.capacity}


def test_repeats_on_threads_and_explanations_ask_policies_too() -> None:
    from ssdlab.runs.explain import explain

    options = small() | {"requests": 2000}
    path = f"victim={TWINS}:greedy,next={TWINS}:table"
    runs = ssdlab.run("tlc-page", **options, repeat=3, threads=2, policies=path)
    alone = ssdlab.run("tlc-page", **options, repeat=3, threads=2)
    assert isinstance(runs, ssdlab.Runs)
    assert isinstance(alone, ssdlab.Runs)
    assert [statistics(run) for run in runs] == [statistics(run) for run in alone]
    asked = {"device": "tlc-page", **options}
    assert explain(options_of(asked | {"policies": path}), 3, ()) == explain(options_of(asked), 3, ())


def test_a_file_is_run_anew_for_each_run(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from dataclasses import dataclass\nasked = []\n\n\ndef every_other(blocks):\n    asked.append(1)\n"
        "    return blocks.contenders()[0] if len(asked) % 2 else blocks.contenders()[-1]\n"
    )
    first, second = (ssdlab.run("tlc-page", **small(), policies=f"victim={mine}:every_other") for _ in range(2))
    assert statistics(first) == statistics(second)


@pytest.mark.drawn
@pytest.mark.slow
def test_a_result_names_its_policies_by_their_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(TWINS.read_text())
    options = {"device": "tlc-page", **small(), "requests": 500}
    result = ssdlab.run(**options, policies={"victim": "mine.py:greedy"})
    manifest = result.manifest.to_dict()
    source = manifest["policies"]["victim"]
    assert (source["file"], source["function"], len(source["sha256"])) == ("mine.py", "greedy", 64)
    assert "policies" not in ssdlab.run(**options).manifest
    # The name of the file does not count, its content and the function do.
    asked = options_of(options | {"policies": "victim=mine.py:greedy"})
    assert files_of(asked, manifest)["policy:victim"] == str(tmp_path / "mine.py") in inputs_of(asked, manifest)
    Path("mine.py").rename("yours.py")
    keys = {
        key_of(ssdlab.run(**options, policies=f"victim=yours.py:{name}").manifest.to_dict()) for name in ("greedy",)
    }
    assert keys == {key_of(manifest)}
    Path("yours.py").write_text(TWINS.read_text() + "\n")
    for policies in ("victim=yours.py:greedy", "victim=yours.py:cost_benefit", {"victim": twins.greedy}):
        keys.add(key_of(ssdlab.run(**options, policies=policies).manifest.to_dict()))
    assert len(keys) == 4
    # A command plays it again where the file is at hand.
    command = Reproducer().command_of(manifest)
    assert not command.exact
    assert "give --policy victim: mine.py (sha256 " in command.note
    Path("mine.py").write_text(TWINS.read_text())
    command = Reproducer().command_of(manifest)
    assert command.exact
    assert "--policy victim=mine.py:greedy" in command.text
    function = ssdlab.run(**options, policies={"victim": twins.greedy})
    assert "was a function of Python (greedy)" in Reproducer().command_of(function.manifest.to_dict()).note


def swept(folder: Path) -> dict[str, Any]:
    return {
        "statistics": ["ftl.waf", "host.write.latency_ns.p99"],
        "run": {
            "device": "tlc-page",
            **{name: value for name, value in SMALL.items() if name != "settings"},
            **SMALL["settings"],
            "requests": 3000,
        },
        "axes": {
            "policies": {
                "built in": {"policies": "none"},
                "greedy": {"policies": f"victim={folder}/mine.py:greedy"},
                "oldest": {"policies": {"victim": f"{folder}/mine.py:oldest"}},
            },
            "seed": [1, 2],
        },
    }


OLDEST = "\n\ndef oldest(blocks):\n    return max(blocks.contenders(), key=lambda block: block.age, default=None)\n"


def test_a_sweep_keeps_results_by_the_text_of_policies(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(TWINS.read_text() + OLDEST)
    played = ssdlab.sweep(swept(tmp_path), cache=tmp_path / "cache")
    assert (played.played, played.failed) == (6, ())
    waf = {(row["policies"], row["seed"]): row["ftl.waf"] for row in played.table.iter_rows(named=True)}
    assert waf["greedy", 1] == waf["built in", 1] < waf["oldest", 1]
    again = ssdlab.sweep(swept(tmp_path), cache=tmp_path / "cache")
    assert again.played == 0
    assert again.table.equals(played.table)
    # Processes of their own read the file: the same table.
    with ProcessPoolExecutor(1) as pool:
        there = ssdlab.sweep(swept(tmp_path), cache=tmp_path / "there", executor=pool)
    assert there.played == 6
    assert there.table.equals(played.table)
    mine.write_text(mine.read_text().replace("block.age", "-block.age"))
    changed = ssdlab.sweep(swept(tmp_path), cache=tmp_path / "cache")
    assert changed.played == 4
    assert not changed.table.equals(played.table)


def test_a_case_fails_with_its_policy_and_functions_are_not_swept(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(TWINS.read_text() + OLDEST.replace("block.age", "block.youth"))
    result = ssdlab.sweep(swept(tmp_path), cache=tmp_path / "cache")
    assert [case.labels["policies"] for case in result.failed] == ["oldest", "oldest"]
    assert "AttributeError" in result.failed[0].error
    assert f"{mine}:" in result.failed[0].error
    with pytest.raises(ssdlab.InputError, match="results are kept by files' content"):
        ssdlab.sweep({"run": {"policies": {"victim": twins.greedy}}}, cache=tmp_path / "cache")


def test_the_example_is_the_one_of_the_page() -> None:
    (block,) = (block for block in blocks(ROOT / "docs" / "prototypes.md") if block.caption == "strided.py")
    assert (ROOT / "examples" / "strided.py").read_text() == block.text


def test_policies_can_be_tried_without_a_drive() -> None:
    failed = policy.Failed(start=2, reference=2, last=7)
    steps = [twins.table(policy.Failed(2, step, 7)) for step in (2, 7, 0, 1)]
    assert (twins.swift(failed), steps) == ("near-optimal", [3, 0, 1, None])
    at = policy.InPhase(pulse=True, done_ns=11, left_ns=59, reset_ns=4, safe_ns=10)
    assert twins.safe_points(at) == (13, "rest-of-phase")
    assert twins.intra_phase(at) == (4, "verify-then-repeat")
    assert twins.token(policy.Collection(room=100, least=100, start=300, pages=100, valid=80)) == (8000, 2000)
    with pytest.raises(ValueError, match="a reference is a step"):
        policy.Failed(0, "best", 7)
    with pytest.raises(AttributeError):
        failed.start = 3  # type: ignore[misc]
