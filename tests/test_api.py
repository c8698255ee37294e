"""The library: results, tables, determinism, the device."""

from __future__ import annotations

import json
import pickle
import re
import threading
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ssdlab
from conftest import beyond_the_end
from ssdlab import _core
from ssdlab.common.confidence import mean_and_half_width, t_quantile
from ssdlab.runs.options import OPTIONS, Options, options_of
from ssdlab.runs.runner import play


def small(**words: Any) -> ssdlab.Result:
    return cast(ssdlab.Result, ssdlab.run(**{"requests": 3000, **words}))


def without_cost(result: ssdlab.Result | ssdlab.Runs) -> str:
    data = result.to_dict()
    assert list(data)[-1] == "process"
    del data["process"]
    return json.dumps(data)


def test_a_result_gives_attributes_and_keys_alike() -> None:
    result = small()
    assert result.host.all.requests == 3000
    assert result.host["read"]["latency_ns"]["p99_99"] == result.host.read.latency_ns.p99_99
    assert result["host.read.latency_ns.p99_99"] == result.host.read.latency_ns.p99_99
    assert result.manifest.device.name == "tlc"
    assert len(result.usage.dies) == 32
    assert "3,000 requests on tlc" in repr(result)
    with pytest.raises(AttributeError, match="there is no 'rad' here"):
        _ = result.host.rad  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"did you mean latency_ns\.p99\?"):
        _ = result.host.read.p99  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"did you mean p99_99\?"):
        _ = result.host.read.latency_ns.p9999  # type: ignore[attr-defined]


def test_a_result_cannot_be_changed() -> None:
    result = small()
    with pytest.raises(AttributeError):
        result.note = "no"
    with pytest.raises(AttributeError):
        result.host.read.requests = 0
    with pytest.raises(TypeError):
        result.host["read"] = 0  # type: ignore[index]
    result.to_dict()["host"]["read"]["requests"] = -1
    assert result.host.read.requests > 0


def test_statistics_name_their_unit_and_meaning() -> None:
    result = small()
    table = result.statistics()
    assert table.columns == ["name", "value", "unit", "description"]
    assert table["name"].n_unique() == table.height
    assert table["description"].str.len_chars().min() > 5  # type: ignore[operator]
    for name, value in table.select("name", "value").iter_rows():
        assert result[name] == value or (result[name] is None and value is None)
    assert table.filter(name="host.read.latency_ns.p50")["unit"].item() == "ns"


def test_usage_adds_up_to_the_whole_time() -> None:
    result = small(workload="mixed-90-10-16k-fast")
    for part in (result.usage.die, result.usage.channel, *result.usage.dies, *result.usage.channels):
        assert sum(part.values()) == pytest.approx(100.0, abs=1e-6)


def test_two_runs_are_the_same_to_the_byte() -> None:
    first, second = small(keep_requests=True), small(keep_requests=True)
    assert without_cost(first) == without_cost(second)
    assert first.requests.equals(second.requests)
    assert first.series.equals(second.series)
    assert without_cost(small(seed=2)) != without_cost(first)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    one = ssdlab.run(requests=3000, repeat=4, threads=1)
    many = ssdlab.run(requests=3000, repeat=4, threads=4)
    assert isinstance(one, ssdlab.Runs)
    assert without_cost(one) == without_cost(many)
    assert without_cost(one[2]) == without_cost(small(seed=3))


def test_repeats_are_summed_up_with_confidence_intervals() -> None:
    runs = ssdlab.run(requests=3000, repeat=3, seed=5)
    assert isinstance(runs, ssdlab.Runs)
    data = json.loads(runs.to_json())
    assert list(data) == ["manifest", "repeats", "summary", "run", "process"]
    assert "process" not in data["repeats"][0]
    assert data["manifest"]["seeds"] == [5, 6, 7]
    means = [part["host"]["read"]["latency_ns"]["mean"] for part in data["repeats"]]
    mean, half = mean_and_half_width(means)
    assert data["summary"]["host"]["read"]["latency_ns"]["mean"] == {"mean": mean, "ci95": half}
    table = runs.summary()
    assert table.columns == ["name", "mean", "ci95", "unit", "description"]
    assert table.filter(name="host.read.latency_ns.mean")["ci95"].item() == half


@pytest.mark.parametrize("asked", [{"request": -1}, {"slowest": -2}])
def test_what_is_no_request_is_refused(asked: dict[str, int]) -> None:
    result = ssdlab.run(requests=20)
    assert isinstance(result, ssdlab.Result)
    with pytest.raises(ssdlab.InputError, match="write a whole number, 0 or more"):
        result.explain(*([asked["request"]] if "request" in asked else []), slowest=asked.get("slowest", 0))
    with pytest.raises(ssdlab.InputError, match="request 77 did not complete"):
        result.explain(77)
    assert [of.request for of in result.explain(5, 77)] == [5]
    with pytest.raises(ssdlab.InputError, match="percentile is 'p99'"):
        result.tail(cast(float, "p99"))
    with pytest.raises(ssdlab.InputError, match="device is 3"):
        ssdlab.run(cast(str, 3))


def test_interrupted_repeats_hand_back_the_seeds_that_had_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import concurrent.futures

    from ssdlab.cli.playing import _hand_back
    from ssdlab.runs import runner

    whole, wait = runner.play, concurrent.futures.wait
    waited: list[Any] = []

    def play(options: Any, *, stop: Any, **rest: Any) -> ssdlab.Result:
        if options.seed == 6:
            stop.wait()
            raise runner._Stopped
        return whole(options, stop=stop, **rest)

    def interrupt(futures: Any, **rest: Any) -> Any:
        if not waited:
            waited.append(wait([futures[0], futures[2]]))
            raise KeyboardInterrupt
        return wait(futures, **rest)

    monkeypatch.setattr(runner, "play", play)
    monkeypatch.setattr(concurrent.futures, "wait", interrupt)
    with pytest.raises(ssdlab.Interrupted) as caught:
        ssdlab.run(requests=300, seed=5, repeat=3, threads=3)
    found = caught.value.kept.result
    assert "no results were written" not in str(caught.value)
    assert found.to_dict()["manifest"]["seeds"] == [5, 7]
    assert "interrupted when 2 of 3 seeds had ended" in str(found)
    # An earlier file keeps its name; what is read again is marked too.
    out = tmp_path / "r.json"
    out.write_text("{}")
    assert _hand_back(found, str(out), quiet=True) == [str(tmp_path / "r.partial.json")]
    again = ssdlab.load(tmp_path / "r.partial.json")
    assert isinstance(again, ssdlab.Runs)
    assert [finding.id for finding in again.findings] == ["interrupted"]
    assert again.warnings[0].id == "interrupted"
    assert [each.host.all.iops for each in again] == [each.host.all.iops for each in found]


def test_repeats_that_lack_a_statistic_are_left_out_of_its_mean() -> None:
    # Eight requests of four queues: a seed can leave a queue without any.
    settings = {"workload.queues": 4}
    runs = ssdlab.run("tlc", "lsm", requests=8, repeat=4, settings=settings)
    assert isinstance(runs, ssdlab.Runs)
    by_seed = [{name: value for name, value, _, _ in result.scalars()} for result in runs]
    assert len({frozenset(of) for of in by_seed}) > 1, "the seeds must differ in their statistics"
    found = {name: mean for name, mean, *_ in runs.intervals()}
    assert set(found) == set().union(*by_seed)
    for name, mean in found.items():
        values = [float(value) for of in by_seed if (value := of.get(name)) is not None]
        assert mean == (pytest.approx(sum(values) / len(values)) if values else None), name
    assert str(runs)
    assert (
        json.loads(runs.to_json())["summary"]["host"]["queue"]["3"]["requests"]["mean"]
        == found["host.queue.3.requests"]
    )


@pytest.mark.parametrize(
    ("freedom", "t"),
    [
        (1, 12.706204736),
        (2, 4.302652730),
        (4, 2.776445105),
        (29, 2.045229642),
        (1000, 1.962339081),
        (10000, 1.960201240),
    ],
)
def test_student_t_matches_the_printed_tables(freedom: int, t: float) -> None:
    assert t_quantile(0.95, freedom) == pytest.approx(t, rel=1e-9)


def test_few_values_give_no_interval() -> None:
    assert mean_and_half_width([]) == (None, None)
    assert mean_and_half_width([3.0]) == (3.0, None)
    assert mean_and_half_width([2.0, 2.0]) == (2.0, 0.0)


def test_the_request_log_adds_up_with_the_statistics(tmp_path: Path) -> None:
    path = tmp_path / "requests.parquet"
    result = small(requests_out=path, requests=5000, warmup=500)
    log = polars.read_parquet(path)
    assert log.columns == [column["name"] for column in _core.columns()[0]]
    assert set(log.dtypes) == {polars.Int64}
    assert result.log_rows == log.height == 5000
    assert log.equals(result.requests)
    assert (log["finish_ns"] - log["arrival_ns"]).equals(log["latency_ns"], check_names=False)
    assert log["finish_ns"].is_sorted()
    assert log["request"].sort().to_list() == list(range(5000))
    counted = log.filter(polars.col("request") >= 500)
    for kind, rows in (("read", counted.filter(op=0)), ("write", counted.filter(op=1)), ("all", counted)):
        part = result.host[kind]
        assert part.requests == rows.height
        assert part.bytes == rows["bytes"].sum()
        assert part.latency_ns.max == rows["latency_ns"].max()
        assert part.latency_ns.mean == pytest.approx(cast(float, rows["latency_ns"].mean()), rel=1e-12)
        exact = rows["latency_ns"].sort()[-(-rows.height * 99 // 100) - 1]
        assert part.latency_ns.p99 == pytest.approx(exact, rel=2e-3)


def test_the_time_series_loses_no_request(tmp_path: Path) -> None:
    path = tmp_path / "series.parquet"
    result = small(series_out=path)
    series = polars.read_parquet(path)
    assert series.equals(result.series)
    # The last two are of drives whose power is limited or whose temperature is followed.
    columns = [column["name"] for column in _core.columns()[1]]
    assert series.columns == columns[:-2]
    limits = ["energy.power_states=[0.5]", "thermal.resistance=20"]
    limited = ssdlab.run("tlc", requests=3000, settings=limits)
    assert limited.series.columns == columns
    assert limited["thermal.temperature"] > 30.0
    assert limited["energy"]["held"] > 20.0
    assert series.select(polars.col("reads") + polars.col("writes")).sum().item() == 3000
    assert series["read_bytes"].sum() == result.host.read.bytes
    assert series["time_ns"].is_sorted()


def test_a_result_without_its_time_series_is_the_same_otherwise() -> None:
    options = Options("tlc", "default", requests=200)
    whole, without = play(options), play(options, keep_series=False)
    assert whole.has_series
    assert not without.has_series
    assert without.to_json(process=False) == whole.to_json(process=False)


def test_latency_distributions_rise_to_one() -> None:
    result = small()
    for kind in ("read", "write"):
        table = result.latency_distribution(kind)
        assert table["share"].is_sorted()
        assert table["share"][-1] == 1.0
        assert table["latency_ns"][-1] == result.host[kind].latency_ns.max
    with pytest.raises(ssdlab.InputError, match='write "read" or "write"'):
        result.latency_distribution("both")  # type: ignore[arg-type]


def test_a_run_without_a_log_says_how_to_keep_one() -> None:
    with pytest.raises(ssdlab.InputError, match="keep_requests=True"):
        _ = small().requests


def test_settings_and_age_are_words_or_dicts() -> None:
    word = small(settings=["chip.t_read=60us", "chip.cache_read=false"], age="pec=2000,retention=6mo")
    flat = small(settings={"chip.t_read": "60us", "chip.cache_read": False}, age={"pec": 2000, "retention": "6mo"})
    nested = small(settings={"chip": {"t_read": "60us", "cache_read": False}}, age={"retention": "6mo", "pec": 2000})
    assert without_cost(word) == without_cost(flat) == without_cost(nested)
    assert word.manifest.device.config.age.pec == 2000
    assert word.flash.read_retention_days is not None
    assert word.flash.read_retention_days > 150


def test_the_manifest_names_neither_place_nor_time_nor_threads(tmp_path: Path) -> None:
    trace = tmp_path / "t.trace"
    trace.write_text("0 0 0 8 1\n1000 0 64 8 0\n")
    result = small(workload=trace, format="mqsim")
    text = json.dumps(result.manifest.to_dict())
    assert str(tmp_path) not in text
    assert result.manifest.workload.trace == "t.trace"
    assert result.manifest.workload.hash.startswith("blake3:")
    other = tmp_path / "elsewhere"
    other.mkdir()
    trace.rename(other / "t.trace")
    assert without_cost(small(workload=other / "t.trace", format="mqsim")) == without_cost(result)


def test_progress_is_told_and_ends_at_the_whole() -> None:
    told: list[tuple[float | None, int, int]] = []
    small(progress=lambda *state: told.append(state), workload="random-read-8k", requests=200_000)
    assert told[-1] == (1.0, 200_000, 200_000)
    assert [state[1] for state in told] == sorted(state[1] for state in told)


def test_the_interpreter_is_free_while_a_run_plays() -> None:
    done = threading.Event()
    turns = 0

    def count() -> None:
        nonlocal turns
        while not done.wait(0.001):
            turns += 1

    counter = threading.Thread(target=count)
    counter.start()
    simulation = _core.Simulation("tlc", "random-read-8k", requests=300_000)
    while not simulation.step(300_000):
        pass
    done.set()
    counter.join()
    assert turns > 20


def test_a_run_that_cannot_go_on_keeps_its_log(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    with pytest.raises(ssdlab.InputError, match="does not lie within") as caught:
        ssdlab.run(workload=beyond_the_end(tmp_path), format="mqsim", beyond="refuse", requests_out=path)
    kept = caught.value.kept  # type: ignore[attr-defined]
    assert kept.logs == ((str(path), polars.read_parquet(path).height),)
    assert kept.completed == kept.logs[0][1] > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"requests": 0}, "requests is 0"),
        ({"age": "pec=1,pec=2"}, "pec is given twice"),
        ({"age": ["pec=1", "retention=1mo"]}, "write 'pec=2000,retention=6mo'"),
        ({"repeat": 0}, "repeat is 0"),
        ({"warmup": 1.5}, "warmup is 1.5"),
        ({"seed": 1 << 70}, "seed is"),
        ({"device": "tlcc"}, "did you mean `tlc`"),
        ({"settings": {"chip.t_porg": "1us"}}, "did you mean `t_prog`"),
        ({"settings": {"chip": {"t_prog": 400}}}, "a time with its unit"),
        ({"workload": "caf\udce9.csv"}, "UTF-8"),
    ],
)
def test_bad_words_are_input_errors(words: dict[str, Any], message: str) -> None:
    with pytest.raises(ssdlab.InputError, match=message):
        ssdlab.run(**words)


def test_numbers_of_numpy_are_numbers() -> None:
    plain = small(requests=100, seed=2, age={"pec": 100, "fill": 0.5}, settings={"ftl.over_provisioning": 0.25})
    of_numpy = small(
        requests=np.int64(100),
        seed=np.uint8(2),
        age={"pec": np.int32(100), "fill": np.float32(0.5)},
        settings={"ftl.over_provisioning": np.float32(0.25)},
    )
    assert without_cost(of_numpy) == without_cost(plain)
    assert len(cast(ssdlab.Runs, small(requests=np.int16(50), repeat=np.int64(2)))) == 2
    for wrong in (np.float64(100.0), np.True_, np.int64(-1), 1.5):
        with pytest.raises(ssdlab.InputError, match="write a whole number, 1 or more"):
            small(requests=wrong)


def test_a_key_that_a_result_has_not_is_answered_with_the_nearest() -> None:
    result = small(requests=50)
    for key, says in (
        ("host.read.latency_ns.p98", "no 'p98' here, but mean, p50, p99, .*\n  help: did you mean p99"),
        ("host.raed.iops", "no 'raed' here, .*\n  help: did you mean read"),
        ("hots.read.iops", "no 'hots' here, .*\n  help: did you mean host"),
        ("host.read.iops.mean", "host.read.iops.mean: mean stands below one value"),
        ("usage.dies.0.idle", "usage.dies.0.idle: 0 stands below one value, or below a list"),
    ):
        with pytest.raises(KeyError) as caught:
            result[key]
        assert re.search(says, str(caught.value)), caught.value
    with pytest.raises(KeyError, match="did you mean read"):
        result.host["raed"]
    assert "raed" not in result.host
    assert result.host.get("raed") is None


@pytest.mark.drawn
@pytest.mark.slow
def test_presets_are_read_back_as_the_same_device(tmp_path: Path) -> None:
    for preset in ssdlab.presets():
        if preset.kind not in ("device", "workload"):
            continue
        file = tmp_path / f"{preset.name.replace('/', '-')}.toml"
        file.write_text(preset.text)
        named = small(**{preset.kind: preset.name}, requests=300)
        read = small(**{preset.kind: file}, requests=300)
        assert without_cost(named) == without_cost(read), preset.name


def test_a_device_file_may_say_what_only_schemes_make_use_of_and_a_setting_may_not(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('chip.model = "none"\nchip.t_pre = "25us"\nread.tracking = "block"\n')
    idle = ["settings-without-effect"]

    def warned(**given: Any) -> list[str]:
        result = small(device=file, requests=100, **given)
        return [warning.text for warning in result.warnings if warning.id in idle]

    assert warned() == []
    assert "mapping.cache" in warned(settings={"mapping.cache": "1MiB", "mapping.table": "ideal"})[0]
    assert "chip.t_pre" in warned(settings={"chip.t_pre": "26us", "chip.senses": None})[0]


def test_every_key_of_the_schema_has_a_meaning() -> None:
    keys = ssdlab.schema()
    assert {"geometry", "chip", "host", "age", "workload"} <= {key.section for key in keys}
    assert all(len(key.about) > 5 and key.accepts and key.default for key in keys)


def test_a_device_completes_what_it_is_given() -> None:
    device = ssdlab.Device("tlc", age="pec=500,retention=30d")
    assert device.now == device.outstanding == 0
    first = device.submit(0, "read", offset=0, bytes=16384)
    second = device.submit(1000, "write", offset=16384, bytes=4096)
    assert device.outstanding == 2
    done = device.advance(10_000_000)
    assert {completion.request for completion in done} == {first, second}
    assert all(completion.finish_ns > 0 for completion in done)
    assert device.now == 10_000_000
    assert device.advance_to_completion() == []
    device.flush()
    conditions = device.conditions(0)
    assert conditions is not None
    assert conditions.pec >= 500
    assert conditions.reads >= 1
    assert conditions.retention_s == pytest.approx(30 * 86_400, rel=0.01)
    young = device.conditions(16384)
    assert young is not None
    assert young.retention_s < 1


ONE_PLANE = {"geometry.channels": 1, "geometry.chips": 1, "geometry.dies": 1, "geometry.planes": 1}


def test_a_device_takes_placement_hints() -> None:
    def last(hints: tuple[int, ...], handles: int) -> int:
        settings = {**ONE_PLANE, "ftl.hints": handles, "age.fill": 0, "buffer.mode": "write-through"}
        device = ssdlab.Device("tlc", settings=settings)
        for page, hint in enumerate(hints):
            device.submit(0, "write", offset=page * 16384, bytes=16384, hint=hint)
        return max(completion.finish_ns for completion in device.advance(100_000_000))

    # A wordline is of one handle: what comes while the first page is programmed goes together or apart.
    together, apart = last((0, 0, 2), 2), last((0, 0, 1), 2)
    assert apart > together
    assert last((0, 0, 1), 0) == last((0, 0, 1), 1) == last((0, 0, 0), 2) == together
    with pytest.raises(ssdlab.InputError, match="negative or too large"):
        last((65_536,), 2)


def test_a_request_to_a_device_has_the_priority_of_its_queue() -> None:
    def order(arbitration: str) -> list[int]:
        settings = {"host.arbitration": arbitration, "host.priorities": "[low, urgent]", "host.commands": 1}
        device = ssdlab.Device("tlc", settings={**settings, "host.queues": 2})
        numbers = [device.submit(0, "read", 0, 4096, queue=queue) for queue in (0, 0, 0, 1, 1)]
        return [numbers.index(completion.request) for completion in device.advance(100_000_000)]

    assert order("weighted") == [0, 3, 4, 1, 2]
    assert order("round-robin") == [0, 3, 1, 4, 2]


def test_a_device_refuses_what_it_cannot_do() -> None:
    device = ssdlab.Device("tlc")
    device.advance(1000)
    with pytest.raises(ssdlab.InputError, match="submit requests in time order"):
        device.submit(999, "read", 0, 4096)
    with pytest.raises(ssdlab.InputError, match="does not lie within"):
        device.submit(2000, "read", device.capacity, 4096)
    with pytest.raises(ssdlab.InputError, match="write one of read, write, trim, flush, append"):
        device.submit(2000, "erase", 0, 4096)  # type: ignore[arg-type]
    with pytest.raises(ssdlab.InputError, match="negative or too large"):
        device.submit(-1, "read", 0, 4096)
    with pytest.raises(ssdlab.InputError, match="did you mean `tlc`"):
        ssdlab.Device("tcl")


def test_traces_are_merged_and_their_volumes_laid_out(tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.txt"
    first.write_text("10,web,0,Read,0,4096,1\n30,web,3,Write,0,4096,1\n")
    second.write_text("fio version 3 iolog\n0 /dev/a add\n0 /dev/a read 8192 4096\n")
    result = ssdlab.run("tlc", [first, second], volumes="concatenate", keep_requests=True)
    assert result["host.all.requests"] == 3
    assert result["host.trace.other_lines"] == 2
    assert sorted(result.requests["offset"].to_list()) == [0, 8192, 1 << 20]
    with pytest.raises(ssdlab.InputError, match="is not a trace"):
        ssdlab.run("tlc", ["default", first])
    far = tmp_path / "far.csv"
    far.write_text("10,web,0,Read,9000000000000000,4096,1\n")
    assert ssdlab.run("tlc", far)["host.wrapped"] == 1
    with pytest.raises(ssdlab.InputError, match="does not lie within"):
        ssdlab.run("tlc", far, beyond="refuse")


def test_trims_and_flushes_complete_and_show() -> None:
    device = ssdlab.Device("tlc")
    device.submit(0, "write", offset=0, bytes=65536)
    device.submit(10_000, "flush", offset=0, bytes=0)
    device.submit(10_000_000, "trim", offset=0, bytes=32768)
    done = {completion.request: completion for completion in [*device.advance(1_000_000_000)]}
    assert len(done) == 3
    assert done[1].finish_ns > 1_000_000, "a flush waits for the program"
    assert device.conditions(0) is None
    assert device.conditions(32768) is not None


def test_an_iodepth_is_a_closed_loop_of_the_workloads_own() -> None:
    loop = {"workload.requests": 4000, "workload.rate_iops": "none"}
    outer = ssdlab.run("tlc", "default", replay="closed:32", settings=loop)
    own = ssdlab.run("tlc", "default", settings=loop | {"workload.iodepth": 32})
    assert own["host"] == outer["host"]
    assert own["flash"] == outer["flash"]
    thinking = ssdlab.run("tlc", "default", settings=loop | {"workload.iodepth": 32, "workload.thinktime": "10ms"})
    assert thinking["host.elapsed_s"] == pytest.approx(4000 / 32 * 0.010, rel=0.1)
    assert thinking["usage.host"] < own["usage.host"]
    with pytest.raises(ssdlab.InputError, match="paces itself by its iodepth"):
        ssdlab.run("tlc", "default", replay="closed:8", settings=loop | {"workload.iodepth": 32})
    limited = ssdlab.run("tlc", "hpca24/Ali_2", requests=300)
    assert limited["host.all.requests"] == 300
    assert ssdlab.run("tlc", "hpca24/Ali_2", duration="5ms")["host.elapsed_s"] == pytest.approx(0.005, rel=0.5)


def test_jobs_share_the_drive() -> None:
    result = ssdlab.run("tlc", "two-tenants", requests=5000, settings=["job.writer.rate_iops=20000", "host.queues=2"])
    reader, writer = result["host.queue.0"], result["host.queue.1"]
    assert (reader["requests"], writer["requests"]) == (result["host.read.requests"], result["host.write.requests"])
    assert writer["requests"] / result["host.elapsed_s"] == pytest.approx(20_000, rel=0.1)
    assert result.manifest.workload.jobs.writer.rate_iops == 20_000


def test_real_traces_take_the_place_of_their_twins(tmp_path: Path) -> None:
    (tmp_path / "stg_0.csv").write_text("".join(f"{10 + i},stg,0,Read,{i * 4096},4096,1\n" for i in range(7)))
    real = ssdlab.run("asplos21", "asplos21/stg_0", traces=tmp_path)
    assert (real["host.all.requests"], real.manifest.workload.trace) == (7, "stg_0.csv")
    twin = ssdlab.run("asplos21", "asplos21/hm_0", traces=tmp_path, requests=100)
    assert twin.manifest.workload.generator.read_ratio == pytest.approx(0.36)
    with pytest.raises(ssdlab.InputError, match="give the folder"):
        ssdlab.run("asplos21", "asplos21/stg_0", traces=tmp_path / "absent")
    # In place of a twin that keeps this many requests under way a trace is played in such a loop.
    (tmp_path / "Ali_121.csv").write_text((tmp_path / "stg_0.csv").read_text())
    closed = ssdlab.run("hpca24", "hpca24/Ali_121", traces=tmp_path)
    assert closed.manifest.replay == "closed:13"
    deeper = ssdlab.run("hpca24", "hpca24/Ali_121", traces=tmp_path, settings={"workload.iodepth": 64})
    assert deeper.manifest.replay == "closed:64"
    assert ssdlab.run("hpca24", "hpca24/Ali_121", traces=tmp_path, replay="timed").manifest.replay == "timed"
    with pytest.raises(ssdlab.InputError, match="generator's key"):
        ssdlab.run("hpca24", "hpca24/Ali_121", traces=tmp_path, settings={"workload.bs": "4KiB"})


def test_a_steady_state_is_looked_for_and_reported() -> None:
    settings = {"geometry.blocks": 64, "workload.bs": "16KiB", "workload.align": "16KiB", "workload.rw": "randwrite"}
    result = ssdlab.run(
        "fast12-slc",
        replay="closed:32",
        precondition="closed-form",
        until_steady="100ms",
        settings=settings | {"workload.random_distribution": "random"},
    )
    assert result["host.steady.reached"]
    assert result["host.steady.rounds"] >= 5
    # No round is shorter than was asked for; it is longer where planes are not programmed over by then.
    assert result["host.elapsed_s"] == pytest.approx(5 * result["host.steady.round_s"], rel=0.01)
    assert result["host.steady.round_s"] >= 0.1
    assert result["ftl.gc_runs"] > 0
    assert result["ftl.waf"] == pytest.approx(sum(result["ftl.waf_by"].values()), rel=0.02)
    written = ssdlab.run("fast12-slc", precondition="write:0.5", requests=100, settings={"geometry.blocks": 64})
    assert written["host.all.requests"] == 100
    assert written["ftl.wear.erases.mean"] > 0


@pytest.mark.slow
def test_rounds_begin_behind_the_warm_up() -> None:
    small = {"geometry.blocks": 40, "geometry.channels": 2, "geometry.chips": 1, "geometry.pages": 192}
    settings = small | {"ftl.over_provisioning": 0.6, "workload.rw": "randwrite"}
    run: dict[str, Any] = {"qd": 64, "precondition": "write:1", "until_steady": "20ms", "settings": settings}
    found = [ssdlab.run("tlc", warmup=warmup, **run) for warmup in (0, 30_000)]
    rates = [result["host.all.iops"] for result in found]
    # Latencies and counters are of one span, with a warm-up as without.
    assert rates[1] == pytest.approx(rates[0], rel=0.05)
    for result in found:
        written = result["host.write.requests"]
        assert result["host.steady.reached"]
        assert written == result["host.all.requests"]


def test_a_run_that_ends_in_its_warm_up_counts_from_its_beginning(tmp_path: Path) -> None:
    settings = {"geometry.blocks": 40, "geometry.pages": 48, "ftl.over_provisioning": 1.0}
    trace = tmp_path / "fifty.csv"
    trace.write_text("".join(f"{n},W,{n * 16384},16384\n" for n in range(50)))
    run: dict[str, Any] = {
        "format": "csv:time=ms,op=R/W,offset=B,size=B",
        "precondition": "write:1",
        "settings": settings,
    }
    result = ssdlab.run("tlc", trace, warmup=100, **run)
    assert "nothing-measured" in {of.id for of in result.warnings}
    # What came before the workload, 4,608 pages in far longer, is not of the run.
    assert 0.049 < result["host.elapsed_s"] < 0.06
    assert result["flash.programs"] < 1000


def test_trims_move_nothing_and_appends_are_writes(tmp_path: Path) -> None:
    trace = tmp_path / "trims.csv"
    lines = [(n, "W", 4096) if n % 2 else (n, "trim", 1 << 30) for n in range(40)]
    trace.write_text("".join(f"{n},{op},{n * 4096},{size}\n" for n, op, size in lines))
    result = ssdlab.run("tlc", trace, format="csv:time=us,op,offset=B,size=B")
    assert result["host.trim.bytes"] == 20 << 30
    assert result["host.all.bytes"] == result["host.queue.0.bytes"] == result["host.write.bytes"] == 20 * 4096
    zoned = ssdlab.run("zns", "lsm-zoned", requests=200)
    appended = zoned["host.append.requests"]
    assert appended > 0
    assert zoned.series["writes"].sum() == appended + zoned["host.write.requests"]


Commands = st.lists(st.tuples(st.booleans(), st.integers(0, 4000), st.integers(1, 70_000)), min_size=1, max_size=30)


@settings(max_examples=25, deadline=None)
@given(Commands)
def test_whatever_is_submitted_completes_once_and_not_before_it_came(commands: list[tuple[bool, int, int]]) -> None:
    device = ssdlab.Device("fast12-slc")
    arrivals: dict[int, int] = {}
    time = 0
    for read, gap, length in commands:
        time += gap
        number = device.submit(time, "read" if read else "write", (gap * 12_345) % 1_000_000, length)
        arrivals[number] = time
    done = []
    while batch := device.advance_to_completion():
        done += batch
    assert sorted(completion.request for completion in done) == sorted(arrivals)
    assert all(completion.finish_ns > arrivals[completion.request] for completion in done)
    assert device.outstanding == 0


def test_the_core_takes_the_options_that_are_declared() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'requets'"):
        _core.Simulation("tlc", "default", requets=5)
    given = Options("tlc", "default").for_core()
    assert {*given, "precondition", "qd", "ftl", "series_out"} == {*OPTIONS, "merge"}
    given = {**given, "policies": []}
    assert _core.Simulation(given.pop("device"), given.pop("workload"), **given).manifest


def test_every_option_is_documented_and_others_are_refused() -> None:
    for name in OPTIONS:
        assert f"\n    {name}: " in str(ssdlab.run.__doc__)
    with pytest.raises(TypeError, match=r"run\(\) got an unexpected keyword argument 'requets'"):
        ssdlab.run(requets=5)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="no option 'requets'"):
        Options("tlc", "default", requets=5)


def test_options_are_values() -> None:
    options = options_of({"workload": ["a.csv", "b.csv"], "age": {"pec": 10}, "precondition": "write:1", "seed": 7})
    assert (options.workload, options.merge, options.age) == ("a.csv", ("b.csv",), "pec=10")
    assert options.settings == ("age.precondition=write:1",)
    assert pickle.loads(pickle.dumps(options)) == options
    assert hash(options.replace()) == hash(options)
    assert options.replace(seed=8) != options
    assert options.replace(keep_requests=True, series_out="x").without_outputs() == options
    assert options.command()[-4:] == ["--age", "pec=10", "--seed", "7"]
    with pytest.raises(AttributeError, match="read-only"):
        options.seed = 1
