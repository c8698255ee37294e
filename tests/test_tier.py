"""What language models ask of a drive: tasks of generators, and KV caches."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from ssdlab.runs.manifest import files_of, inputs_of, key_of
from ssdlab.runs.options import options_of
from ssdlab.runs.reproduce import Reproducer
from ssdlab.runs.simulation import open_simulation
from ssdlab.sweeps.task import with_files

SMALL = {
    "geometry.channels": 1, "geometry.chips": 1, "geometry.dies": 2, "geometry.blocks": 64, "geometry.pages": 96,
    "ftl.over_provisioning": 0.2, "buffer.size": "4MiB", "kv.token_bytes": "4KiB", "kv.bs": "256KiB", "kv.number": 20,
}  # fmt: skip
PROMPTS = [
    {"timestamp": 0, "input_length": 1024, "output_length": 5, "hash_ids": [0, 1]},
    {"timestamp": 4000, "input_length": 1500, "output_length": 5, "hash_ids": [0, 1, 2]},
]


def mean(of: Any) -> float:
    """The mean of latencies [ns]."""
    found: float = of.latency_ns.mean
    return found


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    path.write_text("".join(json.dumps(prompt) + "\n" for prompt in PROMPTS))
    return path


def test_a_task_takes_as_long_as_its_chain_of_reads() -> None:
    # One search at a time on an ideal drive: each step waits for the slowest of its reads, then computes for 10 us.
    settings = {"chip.model": "none", "workload.rw": "randread", "workload.bs": "4KiB", "workload.rate_iops": "none"}
    chain = {"workload.iodepth": 1, "workload.steps": 5, "workload.thinktime": "10us"}
    alone = ssdlab.run(settings=settings | {"workload.iodepth": 1}, requests=100).host.read
    host = ssdlab.run(settings=settings | chain, requests=100).host
    assert host.task.count == 20
    assert mean(host.task) == pytest.approx(5 * mean(host.read) + 4 * 10_000)
    assert mean(host.read) == pytest.approx(mean(alone), rel=0.02)
    wide = ssdlab.run(settings=settings | chain | {"workload.batch": 8}, requests=400).host.task
    assert wide.count == 10
    assert mean(wide) > mean(host.task), "a step waits for the slowest of eight"


def test_tasks_of_the_warmup_do_not_count() -> None:
    settings = {"workload.rw": "randread", "workload.rate_iops": "none", "workload.iodepth": 2, "workload.batch": 10}
    assert ssdlab.run(settings=settings, requests=200, warmup=105).host.task.count == 9


def test_a_prompt_is_loaded_and_computed(prompts: Path) -> None:
    result = ssdlab.run("tlc", prompts, settings=SMALL | {"kv.prefill_rate": 1024})
    host = result.host
    assert (host.task.count, host.load.count) == (2, 1)
    assert host.kv.tokens_from_drive == 1024
    assert host.kv.tokens_computed == 1024 + 476
    assert host.write.bytes == (1024 + 476) * 4096
    # The first prompt waits for nothing; the second one is read and computed.
    assert host.task.latency_ns.max == 1_000_000_000
    assert mean(host.task) * 2 == pytest.approx(1e9 + mean(host.load) + 476 / 1024 * 1e9)
    text = " ".join(str(result).split())
    assert "A prompt's first token took" in text
    assert "41 % of the tokens were known" in text
    assert "prompts.jsonl" in text
    packed = prompts.with_name("packed.jsonl")
    packed.write_bytes(gzip.compress(prompts.read_bytes()))
    other = ssdlab.run("tlc", packed, settings=SMALL | {"kv.prefill_rate": 1024})
    assert other.host.to_dict() == host.to_dict()


def test_parts_of_a_prompts_time_are_told_where_all_prompts_count() -> None:
    whole, part = (
        " ".join(str(ssdlab.run("tlc", "kv-cache", settings=SMALL, warmup=warmup)).split()) for warmup in (0, 200)
    )
    for text, is_whole in ((whole, True), (part, False)):
        assert "A prompt's first token took" in text
        assert "of the tokens were known" in text
        assert ("waiting for the engine" in text) == is_whole


def test_reads_of_old_blocks_are_retried_more_often_than_those_of_new_ones() -> None:
    age = {"pec": 2000, "retention": "6mo"}

    def run(**kv: float) -> ssdlab.Result:
        settings = SMALL | {f"kv.{key}": value for key, value in kv.items()}
        result = ssdlab.run("asplos21", "kv-cache", age=age, settings=settings)
        assert isinstance(result, ssdlab.Result)
        return result

    old, new = run(stored=0.5, reuse=0), run(reuse=0.5)
    assert old.host.kv.tokens_from_drive == pytest.approx(old.host.kv.tokens / 2, rel=0.15)
    assert (old.flash.retry.steps.mean or 0) > 5
    assert new.host.load.count > 5
    assert (new.flash.retry.steps.mean or 0) < 2, "what is worn and new needs few retries"
    assert old.host.kv.load_ns > 2 * new.host.kv.load_ns


def test_prompts_are_played_by_arrays_and_in_sweeps(tmp_path: Path, prompts: Path) -> None:
    (tmp_path / "array.toml").write_text('[array]\nlayout = "stripe"\n[drive.one]\ndevice = "tlc"\ncount = 2\n')
    settings = {key: value for key, value in SMALL.items() if not key.startswith("kv.number")}
    one = ssdlab.run("tlc", prompts, settings=settings)
    two = ssdlab.run(array=tmp_path / "array.toml", workload=prompts, settings=settings)
    assert isinstance(one, ssdlab.Result)
    assert isinstance(two, ssdlab.Result)
    assert two.host.task.count == 2
    assert mean(two.host.load) < mean(one.host.load)
    spec = {
        "statistics": ["host.task.latency_ns.mean"],
        "run": {"workload": "kv-cache", "device": "tlc", **SMALL},
        "axes": {"engines": {"1": {"kv.engines": 1}, "4": {"kv.engines": 4}}},
    }
    table = ssdlab.sweep(spec, cache=tmp_path / "cache").table
    assert table["host.task.latency_ns.mean"].is_sorted(descending=True)


def test_a_file_of_prompts_is_an_input_that_moves_with_its_run(prompts: Path, tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(f'[kv]\nprompts = "{prompts}"\n')
    moved = tmp_path / "moved.jsonl"
    moved.write_bytes(prompts.read_bytes())
    keyed = {"kv.prompts": str(prompts)}
    for given in ({"workload": str(tmp_path / "w.toml")}, {"workload": keyed}, {"settings": keyed}):
        options = options_of({"device": "tlc", "workload": "kv-cache", **given})
        manifest = json.loads(open_simulation(options).manifest)
        found = files_of(options, manifest)
        assert found["kv.prompts"] == str(prompts)
        assert str(prompts) in inputs_of(options, manifest)
        elsewhere = with_files(options, {**found, "kv.prompts": str(moved)})
        prompts.rename(tmp_path / "gone")
        assert key_of(json.loads(open_simulation(elsewhere).manifest)) == key_of(manifest)
        (tmp_path / "gone").rename(prompts)
    alone = options_of({"device": "tlc", "workload": str(prompts)})
    assert files_of(alone, json.loads(open_simulation(alone).manifest)) == {"workload": str(prompts)}


@pytest.mark.drawn
@pytest.mark.slow
def test_what_is_run_can_be_run_again(prompts: Path) -> None:
    for workload, part in [(str(prompts), "prompts.jsonl"), ("kv-cache", "kv-cache")]:
        result = ssdlab.run("tlc", workload, requests=50, settings={"kv.token_bytes": "4KiB", "kv.number": 5})
        assert isinstance(result, ssdlab.Result)
        command = Reproducer((prompts.parent,)).command_of(result.manifest.to_dict())
        assert command.exact, command
        assert part in command.text
        assert "kv.token_bytes=4KiB" in command.text


def test_keys_of_another_workload_are_refused(prompts: Path) -> None:
    for workload, setting, words in [
        ("kv-cache", "workload.bs=4KiB", "is no key of the workload"),
        ("default", "kv.engines=2", "is of .kv., and"),
        (str(prompts), "kv.engine=2", "did you mean `engines`"),
        (str(prompts), "kv.footprint=4TiB", "kv.footprint"),
    ]:
        with pytest.raises(ssdlab.InputError, match=words.replace("(", r"\(")):
            ssdlab.run("tlc", workload, settings=[setting])
