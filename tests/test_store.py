"""The store of a cache: journals and batches, cut and killed at every step."""

from __future__ import annotations

import copy
import gc
import hashlib
import json
import math
import os
import random
import resource
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from conftest import of_before
from ssdlab._core import Simulation
from ssdlab.runs.options import Options
from ssdlab.runs.runner import play
from ssdlab.runs.simulation import open_simulation
from ssdlab.sweeps import cache as caches
from ssdlab.sweeps import campaign, opened, store
from ssdlab.sweeps.cache import Cache
from ssdlab.sweeps.store import BATCH, JOURNAL, KEYS, Batch, Payload, short

SMALL: dict[str, Any] = {"run": {"requests": 30}, "axes": {"seed": [*range(1, 13)]}}


@pytest.fixture(scope="module")
def played() -> Payload:
    """The result of a run."""
    return json.loads(json.dumps(play(Options("tlc", "default", requests=30)).to_payload()))  # type: ignore[no-any-return]


def key_of(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def drawn(played: Payload, number: int) -> Payload:
    """A result like one that was played, with other values: whole numbers, floats, none at all, numbers beyond 64 bits,
    texts; and with other statistics than the one before."""
    draw = random.Random(number)
    found = copy.deepcopy(played)
    values: list[Any] = [0, 7, -3, 2.5, 1e300, None, 1 << 80, "text", True, 0.1 + 0.2]
    for name, *_ in found["described"][:40]:
        *parts, last = name.split(".")
        level = found["data"]
        for part in parts:
            level = level[part]
        if not isinstance(level[last], list):
            level[last] = draw.choice(values[: 2 + draw.randrange(len(values) - 1)])
    found["described"] = found["described"][: draw.choice([len(found["described"]), 30, 41])]
    found["data"]["manifest"]["seed"] = number
    found["distributions"] = [[[draw.randrange(1 << 40), draw.random()] for _ in range(draw.randrange(5))], []]
    if draw.random() < 0.3:
        del found["data"]["warnings"]
    return found


def all_of(folder: Path, count: int) -> dict[int, Payload]:
    """What a cache gives for the first cases."""
    with closing(Cache(folder)) as cache:
        found = {number: cache.get(key_of(number)) for number in range(count)}
    return {number: payload for number, payload in found.items() if payload is not None}


@pytest.mark.parametrize("full", [3, 1000])
def test_results_come_back_as_they_were_from_journals_and_batches(
    tmp_path: Path, played: Payload, monkeypatch: pytest.MonkeyPatch, full: int
) -> None:
    monkeypatch.setattr(store, "FULL", full)
    payloads = {number: drawn(played, number) for number in range(23)}
    with closing(Cache(tmp_path)) as cache:
        for number, payload in payloads.items():
            cache.put(key_of(number), payload)
            assert cache.get(key_of(number)) == payload
    found = all_of(tmp_path, 30)
    assert found == payloads
    for number, payload in found.items():  # types too: 1 is not True, and 2 is not 2.0
        assert json.dumps(payload) == json.dumps(payloads[number])
    assert len(list(tmp_path.glob(f"batches/*{BATCH}"))) == (7 if full == 3 else 0)
    with closing(Cache(tmp_path)) as cache:
        assert len(cache) == 23
        for digits in (12, 13, 33, 64):
            assert cache.find(key_of(5)[:digits]) == payloads[5]
        assert cache.find("ff" * 6) is None


def test_times_of_parts_are_kept_as_times_and_come_back_to_the_last_bit(tmp_path: Path, played: Payload) -> None:
    """Shares that are whole times over the run's are kept as these; others, and what is not alike, as they are."""
    payloads = [copy.deepcopy(played) for _ in range(6)]
    elapsed = round(played["data"]["host"]["elapsed_s"] * 1e9)
    usage = [payload["data"]["usage"] for payload in payloads]
    usage[1]["dies"][3]["read"] = math.nextafter(100.0 * 12345 / elapsed, 100.0)
    usage[2]["dies"][0]["read"] = 7
    del usage[3]["dies"][1]["idle"]
    usage[4]["dies"], usage[4]["channels"] = [], None
    payloads[5]["data"]["host"]["elapsed_s"] = None
    results = [store.Kept(short(key_of(number)), json.dumps(of["described"]), "null", copy.deepcopy(of["data"]), [])
               for number, of in enumerate(payloads)]  # fmt: skip
    batch = Batch.create(str(tmp_path), results)
    assert batch is not None
    times = batch.columns(["times.dies.read"])["times.dies.read"].to_list()
    assert [column is not None for column in times] == [True, False, False, False, False, False]
    assert [100.0 * time / elapsed for time in times[0]] == [die["read"] for die in usage[0]["dies"]]
    assert not any(name.startswith("times") for name in batch.scalars), "they are no statistics"
    row = batch.rows()
    for number, payload in enumerate(payloads):
        assert json.dumps(row(number)["data"] | {"manifest": 0}) == json.dumps(payload["data"] | {"manifest": 0})


@pytest.mark.drawn
@pytest.mark.slow
def test_a_journal_that_is_cut_anywhere_gives_what_is_whole_and_goes_on(tmp_path: Path, played: Payload) -> None:
    payloads = {number: drawn(played, number) for number in range(3)}
    ends = [len(store.MAGIC)]
    with closing(Cache(tmp_path / "whole")) as cache:
        for number, payload in payloads.items():
            cache.put(key_of(number), payload)
            ends.append(next((tmp_path / "whole" / "batches").iterdir()).stat().st_size)
    data = next((tmp_path / "whole" / "batches").iterdir()).read_bytes()
    draw = random.Random(1)
    near = {end + step for end in ends for step in range(-30, 31)}
    for length in sorted({at for at in near if 0 <= at <= len(data)} | set(draw.sample(range(len(data)), 60))):
        folder = tmp_path / "cut"
        (folder / "batches").mkdir(parents=True)
        path = folder / "batches" / f"x{JOURNAL}"
        path.write_bytes(data[:length])
        whole = sum(end <= length for end in ends[1:])
        cache = Cache(folder)
        assert len(cache) == whole, length
        begun = any(end < length < after for end, after in pairwise(ends))
        # A record of names and units may be whole where that of the result behind it is not there.
        assert (not cache.unusable) or begun
        for number in range(whole, 3):
            cache.put(key_of(number), payloads[number])
        cache.close()
        assert all_of(folder, 3) == payloads
        shutil.rmtree(folder)


def test_a_full_disk_costs_the_result_that_it_stopped(tmp_path: Path) -> None:
    """Files may have this many bytes and no more: a record is written in part, and taken back."""
    whole = ssdlab.sweep(SMALL, cache=tmp_path / "whole")
    size = next((tmp_path / "whole" / "batches").iterdir()).stat().st_size
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    kept = 0
    for share in (0.05, 0.5, 0.55, 0.9):
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(share * size), hard))
        try:
            with pytest.raises(ssdlab.SimulationError, match=r"cannot be written: File too large\n  help: make room"):
                ssdlab.sweep(SMALL, cache=tmp_path / "full", threads=1)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        with closing(Cache(tmp_path / "full")) as cache:
            before, kept = kept, len(cache)
        assert kept >= before
    assert 0 < kept < 12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = ssdlab.sweep(SMALL, cache=tmp_path / "full")
    assert again.played == 12 - kept
    assert again.table.equals(whole.table)


def test_a_first_result_that_found_no_room_is_not_what_others_are_compressed_by(
    tmp_path: Path, played: Payload, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, full = store.Journal._append, [OSError(27, "File too large")]

    def appended(journal: store.Journal, data: bytes) -> None:
        if full and store.HEAD.size < len(data) and store.HEAD.unpack_from(data)[1] == store.RESULT:
            raise full.pop()
        append(journal, data)

    monkeypatch.setattr(store.Journal, "_append", appended)
    payloads = {number: drawn(played, number) for number in range(3)}
    with closing(Cache(tmp_path)) as cache:
        with pytest.raises(ssdlab.SimulationError, match="cannot be written"):
            cache.put(key_of(0), payloads[0])
        for number in (1, 2):
            cache.put(key_of(number), payloads[number])
    with closing(Cache(tmp_path)) as cache:
        assert [cache.get(key_of(number)) for number in range(3)] == [None, payloads[1], payloads[2]]
        assert cache.unusable == {}


def test_a_damaged_record_is_named_and_costs_one_result(tmp_path: Path) -> None:
    first = ssdlab.sweep(SMALL, cache=tmp_path)
    (path,) = (tmp_path / "batches").iterdir()
    data = bytearray(path.read_bytes())
    data[-10] ^= 1
    path.write_bytes(data)
    with pytest.warns(UserWarning, match=rf"{path} holds a damaged record: played again"):
        again = ssdlab.sweep(SMALL, cache=tmp_path)
    assert (again.played, again.table.equals(first.table)) == (1, True)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["torn", "flipped", "empty", "index", "no index"])
def test_a_damaged_batch_is_named_and_its_cases_are_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(caches, "MANY", 1)
    first = ssdlab.sweep(SMALL, cache=tmp_path)
    more = {**SMALL, "axes": {"seed": [*range(1, 19)]}}
    whole = ssdlab.sweep(more, cache=tmp_path)
    assert whole.played == 6, "a batch of its own"
    path = max(tmp_path.glob(f"batches/*{BATCH}"), key=lambda path: len(Batch.open(str(path)).keys))
    data = bytearray(path.read_bytes())
    index = path.with_suffix(KEYS)
    if damage == "index":
        index.write_bytes(index.read_bytes()[:-16])
    elif damage == "no index":
        index.unlink()
    else:
        data[len(data) // 2] ^= 1
        spoiled: dict[str, bytes] = {"torn": bytes(data[:-100]), "flipped": bytes(data), "empty": b""}
        path.write_bytes(spoiled[damage])
    if damage in ("index", "no index"):
        assert ssdlab.sweep(more, cache=tmp_path).played == 0
        assert len(index.read_bytes()) == 32 + 12 * 16, "it is made again"
        return
    with pytest.warns(UserWarning, match=rf"{path} is damaged: played again"):
        again = ssdlab.sweep(more, cache=tmp_path)
    assert again.played == 12
    assert again.table.equals(whole.table)
    assert again.table[:12].equals(first.table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ssdlab.sweep(more, cache=tmp_path).played == 0


class Killed(BaseException):
    """The process has been killed."""


class Killer:
    """Kills at a step: at the n-th thing that a program does to files of a folder, and at all that follow."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.folder = ""
        sys.addaudithook(self._step)

    def _step(self, event: str, words: tuple[Any, ...]) -> None:
        if self.left is None or event not in ("open", "os.rename", "os.remove", "os.truncate", "os.mkdir"):
            return
        if any(isinstance(word, str) and word.startswith(self.folder) for word in words):
            self.left -= 1
            if self.left < 0:
                raise Killed

    @contextmanager
    def at(self, step: int, folder: Path) -> Iterator[None]:
        """Kills what is done within at a step of it."""
        self.left, self.folder = step, str(folder)
        try:
            yield
        finally:
            self.left = None


KILLER = Killer()


def killed(steps: int, folder: Path, work: Callable[[], object]) -> bool:
    """Whether work was killed at a step. Its files are closed, and with that its locks are free."""
    try:
        with KILLER.at(steps, folder):
            work()
    except Killed:
        gc.collect()
        for handle in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if os.readlink(f"/proc/self/fd/{handle}").startswith(str(folder)):
                    os.close(int(handle))
        return True
    return False


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.parametrize(
    "start",
    [
        pytest.param("nothing", marks=pytest.mark.seldom),
        pytest.param("journal", marks=pytest.mark.seldom),
        "batch",
        pytest.param("files of before", marks=pytest.mark.seldom),
    ],
)
def test_nothing_is_lost_and_nothing_counts_twice_wherever_a_sweep_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    """Every step that makes, opens, names or removes a file of the cache is a place to be killed at."""

    def sizes(full: int, many: int) -> None:
        monkeypatch.setattr(store, "FULL", full)
        monkeypatch.setattr(caches, "MANY", many)

    run = {"requests": 5, "chip.model": "none"}
    some = {"run": run, "axes": {"seed": [1, 2, 3, 4, 5, 6]}}
    few = {"run": run, "axes": {"seed": [1, 2, 3]}}
    whole, begun, folder = ssdlab.sweep(some, cache=tmp_path / "whole"), tmp_path / "begun", tmp_path / "killed"
    begun.mkdir()
    if start != "nothing":
        sizes(3 if start == "batch" else 100, 2 if start == "batch" else 100)
        before = ssdlab.sweep(few, cache=begun, keep_results=True)
        if start == "files of before":
            of_before(begun, list(before.results))
    sizes(3, 2)
    for step in range(1000):
        shutil.copytree(begun, folder)
        done = not killed(step, folder, lambda: ssdlab.sweep(some, cache=folder, threads=1))
        with closing(Cache(folder)) as kept:
            old = [path.name.split(".")[0] for path in folder.rglob("*.json.gz")]
            results = len(kept) + sum(short(key) not in kept._where for key in old)
        assert start == "nothing" or results >= 3, "what was there is there"
        again = ssdlab.sweep(some, cache=folder, threads=1)
        assert again.table.equals(whole.table), step
        assert again.played == 6 - results, f"step {step}: what was kept is not played again"
        assert results == 6 or not done
        with closing(Cache(folder)) as kept:
            assert len(kept) == 6, step
        assert not list(folder.rglob("*.json.gz"))
        keys = [key for path in folder.rglob(f"*{BATCH}") for key in Batch.open(str(path)).keys]
        assert len(keys) == len(set(keys)), "in one batch each"
        shutil.rmtree(folder)
        if done:
            break
    assert step > 20


def test_what_a_fuzzer_could_write_stops_no_cache(tmp_path: Path, played: Payload) -> None:
    """Any bytes in place of a journal, a batch or an index: the cache says so, and goes on."""
    with closing(Cache(tmp_path / "good")) as cache:
        for number in range(3):
            cache.put(key_of(number), drawn(played, number))
    good = next((tmp_path / "good" / "batches").iterdir()).read_bytes()
    draw = random.Random(5)
    for turn in range(60):
        data = bytearray(good)
        for _ in range(draw.randrange(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        folder = tmp_path / f"bad{turn}" / "batches"
        folder.mkdir(parents=True)
        for ending in (JOURNAL, BATCH, KEYS):
            (folder / f"x{ending}").write_bytes(data)
        with closing(Cache(folder.parent)) as cache:
            found = [cache.get(key_of(number)) for number in range(3)]
            assert all(payload is None or payload == drawn(played, number) for number, payload in enumerate(found))
            assert cache.unusable
            cache.put(key_of(4), drawn(played, 4))
        assert all_of(folder.parent, 5)[4] == drawn(played, 4)


def test_hashes_that_are_remembered_are_those_that_opening_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file has changed, or ssdlab has, a case is opened again."""
    monkeypatch.setattr(opened, "LEAST", 1)
    monkeypatch.chdir(tmp_path)
    device, base = tmp_path / "mine.toml", tmp_path / "base.toml"
    device.write_text("[geometry]\nchannels = 2\n")
    sweep = {"run": {"requests": 20, "device": "mine.toml"}, "axes": {"seed": [1, 2]}}
    opens: list[int] = []

    def counted(options: Options) -> Simulation:
        opens.append(1)
        return open_simulation(options)

    monkeypatch.setattr(campaign, "open_simulation", counted)

    def sweeps(played: int, opening: int) -> list[Any]:
        opens.clear()
        found = ssdlab.sweep(sweep, cache=tmp_path / "cache", keep_results=False)
        assert (found.played, len(opens)) == (played, opening)
        fresh = ssdlab.sweep(sweep, cache=tmp_path / f"fresh{len(list(tmp_path.iterdir()))}")
        assert found.table.equals(fresh.table)
        return found.table["case"].to_list()

    first = sweeps(2, 2)
    assert sweeps(0, 0) == first
    device.write_text("[geometry]\nchannels = 4\n")
    second = sweeps(2, 2)
    assert second != first
    device.write_text("[geometry]\nchannels = 2\n")
    assert sweeps(0, 2) == first, "another time of the file: it is opened, and found to be what it was"
    assert sweeps(0, 0) == first
    # What a file names that the options do not is not known from them, whatever TOML it is written in.
    base.write_text("[geometry]\nchannels = 2\n")
    device.write_text('\ufeffbase = "base.toml"\n[geometry]\nchips = 1\n')
    third = sweeps(2, 2)
    base.write_text("[geometry]\nchannels = 4\n")
    assert sweeps(2, 2) != third
    # So it is with the prompts that a workload names; those of a setting are known.
    prompts = tmp_path / "p.jsonl"
    (tmp_path / "w.toml").write_text('kv = {\n  prompts = "p.jsonl",\n}\n')

    def asked(input_length: int) -> None:
        line = {"timestamp": 0, "input_length": input_length, "output_length": 5, "hash_ids": [0]}
        prompts.write_text(json.dumps(line) + "\n")

    for workload, opening in (({"workload": "w.toml"}, 2), ({"workload": "kv-cache", "kv.prompts": "p.jsonl"}, 0)):
        sweep["run"] = {"device": "tlc", "requests": 20, **workload}
        asked(600)
        fourth = sweeps(2, 2)
        assert sweeps(0, opening) == fourth
        asked(700)
        assert sweeps(2, 2) != fourth
    monkeypatch.setattr(opened, "_program", lambda: ("another ssdlab",))
    sweeps(0, 2)
