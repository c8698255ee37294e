"""Folders of volumes: split, fitted one by one, put into clusters, and made the workload of a fleet."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from conftest import Cli
from ssdlab import trace
from ssdlab.lives import clusters
from ssdlab.lives.clusters import WORKLOADS, Cluster, Clusters, cluster, twin_errors, write_workloads
from ssdlab.lives.pace import paced
from ssdlab.lives.population import FleetSpec
from ssdlab.lives.volumes import FEATURES, KEPT, NotFitted, Volume, fit_volumes, volumes_of
from ssdlab.trace.fit.check import Agreement
from ssdlab.trace.fit.properties import Property
from test_fleet import FILE, written
from test_shared_traces import FOLDER

np = pytest.importorskip("numpy")
near: Any = pytest.approx

KINDS: dict[str, dict[str, Any]] = {
    "log": {"reads": 0.05, "bytes": 16384, "gap_us": 900, "random": False},
    "table": {"reads": 0.7, "bytes": 4096, "gap_us": 200, "random": True},
}


def requests_of(kind: str, seed: int, count: int) -> list[tuple[int, str, int, int]]:
    """Requests of a kind of volume: time [us], operation, offset, bytes."""
    of, draw = KINDS[kind], random.Random(f"{kind} {seed}")
    rows, now, at = [], 0, 0
    for _ in range(count):
        now += max(1, round(draw.expovariate(1.0 / of["gap_us"])))
        at = draw.randrange(1 << 16) * of["bytes"] if of["random"] else at + of["bytes"]
        rows.append((now, "R" if draw.random() < of["reads"] else "W", at, of["bytes"]))
    return rows


def alibaba(path: Path, volumes: dict[int, str], count: int) -> None:
    """Volumes of these kinds by number as one file of Alibaba's layout, by time."""
    begin = 1_577_808_000_000_000
    rows = [
        (time, f"{number},{op},{offset},{size},{begin + time}")
        for number, kind in volumes.items()
        for time, op, offset, size in requests_of(kind, number, count)
    ]
    path.write_text("".join(f"{line}\n" for _, line in sorted(rows)))


def tencent(path: Path, volumes: dict[int, str], count: int) -> None:
    """Writes a trace of these volumes in Tencent's layout, which counts in seconds and sectors, and calls a write 1."""
    rows = [
        (time, f"{1538323200 + time // 1_000_000},{offset // 512},{size // 512},{int(op == 'W')},{number}")
        for number, kind in volumes.items()
        for time, op, offset, size in requests_of(kind, number, count)
    ]
    path.write_text("".join(f"{line}\n" for _, line in sorted(rows)))


VOLUMES = {3: "log", 7: "table", 11: "log", 40: "table", 52: "table"}


@pytest.mark.parametrize("layout", [alibaba, tencent])
def test_a_trace_of_many_volumes_becomes_a_file_a_volume(layout: Any, tmp_path: Path) -> None:
    layout(tmp_path / "all.csv", VOLUMES, 400)
    done = trace.split(tmp_path / "all.csv", tmp_path / "volumes", requests=300)
    assert done.volumes == dict.fromkeys(VOLUMES, 300)
    assert sorted(path.name for path in (tmp_path / "volumes").iterdir()) == sorted(f"{n}.mqsim" for n in VOLUMES)
    whole = trace.read(tmp_path / "all.csv")
    for number in VOLUMES:
        own, there = trace.read(tmp_path / "volumes" / f"{number}.mqsim"), whole.filter(device=number).head(300)
        for name in ("op", "offset", "bytes"):
            assert own[name].to_list() == there[name].to_list()
        assert (own["time_ns"] - own["time_ns"][0]).to_list() == (there["time_ns"] - there["time_ns"][0]).to_list()
    with pytest.raises(ssdlab.InputError, match="volumes: is there already\n  help: give the name of a new folder"):
        trace.split(tmp_path / "all.csv", tmp_path / "volumes")


def test_a_split_that_fails_leaves_nothing(tmp_path: Path) -> None:
    alibaba(tmp_path / "all.csv", VOLUMES, 50)
    with open(tmp_path / "all.csv", "a") as file:
        file.write("3,R,broken\n")
    with pytest.raises(ssdlab.InputError, match=r"all\.csv"):
        trace.split(tmp_path / "all.csv", tmp_path / "volumes")
    assert [path.name for path in tmp_path.iterdir()] == ["all.csv"]


def volume(name: str, **features: float) -> Volume:
    """A volume of these features."""
    values = {of: features.get(of, 0.0) for of in FEATURES} | {"written": features.get("written", 0.5)}
    read = features.get("read_share", 0.0)
    return Volume(name, f"{name}.csv", 100, (), values, (Property("read ratio", "", read, read + 0.02),), ())


def test_clusters_are_those_that_a_search_of_all_finds() -> None:
    """Partitioning around medoids against every choice of middles, on few volumes."""
    from itertools import combinations

    draw = random.Random(5)
    for number in range(8):
        count = draw.randrange(6, 12)
        drawn = [volume(f"v{n}", **{of: draw.gauss(5.0 * (n % 3), 1.0) for of in FEATURES}) for n in range(count)]
        distances = clusters._distances(drawn)
        for k in (1, 2, 3):
            found = cluster(drawn, k)
            places = [int(of.middle.name[1:]) for of in found.clusters]
            cost = distances[:, places].min(axis=1).sum()
            best = min(distances[:, list(of)].min(axis=1).sum() for of in combinations(range(count), k))
            assert cost <= best * 1.02, (number, k)
            assert sum(len(of.volumes) for of in found.clusters) == count
            for of in found.clusters:
                assert of.volumes[0] == of.middle
                assert of.share == pytest.approx(len(of.volumes) / count)


def test_the_number_of_clusters_is_the_one_that_separates_best() -> None:
    draw = random.Random(2)
    apart = [volume(f"v{n}", **{of: 9.0 * (n % 4) * (1 + f) + draw.random() for f, of in enumerate(FEATURES)})
             for n in range(40)]  # fmt: skip
    found = cluster(apart)
    assert len(found.clusters) == 4
    assert found.silhouette is not None
    assert found.silhouette > 0.8
    assert {frozenset(int(v.name[1:]) % 4 for v in of.volumes) for of in found.clusters} == {
        frozenset({n}) for n in range(4)
    }
    # Silhouettes by their definition, one volume after another.
    distances, of = clusters._distances(apart), np.array([n % 4 for n in range(40)])
    scores = []
    for n in range(40):
        means = [distances[n, (of == c) & (np.arange(40) != n)].mean() for c in range(4)]
        own, other = means[of[n]], min(means[c] for c in range(4) if c != of[n])
        scores.append((other - own) / max(own, other))
    assert found.silhouette == pytest.approx(sum(scores) / 40, rel=1e-4)
    # One alone, two, and many that are all alike.
    assert [len(cluster(apart[:n]).clusters) for n in (1, 2)] == [1, 2]
    assert cluster([volume(f"v{n}") for n in range(9)], 2).clusters[0].radius == 0.0
    with pytest.raises(ssdlab.InputError, match="--clusters 41: there are 40 volumes"):
        cluster(apart, 41)


def test_errors_are_those_of_twins_of_clusters_and_of_the_fleet() -> None:
    def with_rate(name: str, rate: float, twin: float, p99: float, twin_p99: float) -> Volume:
        return volume(name, read_share=0.5)._replace(
            properties=(Property("requests a second", "1/s", rate, twin), Property("read ratio", "", 0.5, 0.53)),
            agreements=(Agreement("timed", "read", "p99", 1000, p99, twin_p99, None),),
        )

    one, two, three = with_rate("a", 100, 110, 50, 55), with_rate("b", 200, 100, 60, 60), with_rate("c", 40, 40, 9, 18)
    found = Clusters((Cluster(one, (one, two), 2 / 3, 0.1), Cluster(three, (three,), 1 / 3, 0.0)), None)
    rate, read, p99 = twin_errors(found)
    assert (rate.name, rate.points, rate.volumes) == ("requests a second [1/s]", False, 3)
    assert (rate.own_median, rate.own_worst, rate.worst) == (near(0.1), near(1.0), "b")
    assert rate.cluster_worst == pytest.approx(200 / 110 - 1)
    assert (rate.mean, rate.fleet_mean) == (near(340 / 3), near((110 + 110 + 40) / 3))
    # One of three volumes is faster than all twins.
    assert rate.distance == pytest.approx(1 / 3)
    assert (read.points, read.own_median) == (True, near(0.03))
    assert (p99.name, p99.own_worst, p99.worst) == ("timed read p99 [us]", near(1.0), "c")


def test_a_file_of_clusters_is_the_workload_of_a_fleet(tmp_path: Path) -> None:
    logs, tables, idle = (volume(name, written=of) for name, of in (("log 1", 0.9), ("table.2", 0.3), ("idle", 0.001)))
    for of in (logs, tables):
        (tmp_path / of.preset).write_text("[workload]\nrequests = 1000\n")
    groups = (Cluster(logs, (logs,) * 3, 0.5, 0.0), Cluster(tables, (tables,), 1 / 6, 0.0),
              Cluster(idle, (idle,) * 2, 1 / 3, 0.0))  # fmt: skip
    assert write_workloads(Clusters(groups, None), tmp_path, "six") == [groups[2]]
    named = {**FILE, "workloads": {"file": str(tmp_path / WORKLOADS)}}
    found = FleetSpec.read(named).workloads
    assert {name: of.share for name, of in found.items()} == {"log 1": 0.75, "table.2": 0.25}
    assert found["log 1"].settings == {"workload": str(tmp_path / "log 1.toml")}
    assert "stands for 3 of 6 volumes (six)" in found["log 1"].source
    for section, message in (
        ({"file": str(tmp_path / "none.toml")}, r"workloads\.file: .*none\.toml is not there\n  help: name what"),
        ({"file": "x", "mixed": {}}, r"workloads\.file: is no path, or has labels beside it"),
        ({"file": 3}, r"workloads\.file: is no path"),
    ):
        with pytest.raises(ssdlab.InputError, match=message):
            FleetSpec.read({**FILE, "workloads": section})
    (tmp_path / "bad.toml").write_text("[log]\nshare = 0.5\n")
    with pytest.raises(ssdlab.InputError, match=r"bad\.toml: workloads\.log: has no share and source"):
        FleetSpec.read({**FILE, "workloads": {"file": str(tmp_path / "bad.toml")}})


def test_a_twin_is_replayed_as_fast_as_its_drive_is_written() -> None:
    probe = {"host.write.bytes": 4_000_000, "host.all.requests": 1000, "host.all.iops": 50.0}
    # 200 kB a second: a thousand requests in 20 s.
    assert paced("x", probe, 600_000.0, own_times=True) == {"replay": "timed:x3.0"}
    assert paced("x", probe, 600_000.0, own_times=False) == {"workload.rate_iops": 150.0}
    with pytest.raises(ssdlab.InputError, match="x: writes nothing"):
        paced("x", {**probe, "host.write.bytes": 0}, 1.0, own_times=True)
    with pytest.raises(ssdlab.InputError, match=r"x: would have to be replayed 5e\+09 times as fast"):
        paced("x", probe, 1e15, own_times=True)


@pytest.mark.seldom
def test_a_folder_is_fitted_goes_on_and_names_what_is_damaged(cli: Cli, tmp_path: Path) -> None:
    alibaba(tmp_path / "all.csv", VOLUMES, 2000)
    done = cli("trace", "split", "all.csv", "volumes", "--requests", 1800)
    assert done.returncode == 0, done.stderr
    assert "wrote volumes: 5 volumes, 9,000 requests" in done.stdout
    (tmp_path / "volumes" / "torn.csv.gz").write_bytes(b"\x1f\x8b\x08\x00torn")
    (tmp_path / "volumes" / "few.mqsim").write_text("0 1 0 8 1\n")
    command = ("trace", "fit", "volumes", "--out", "twins", "--phases", 4, "--requests", 1600, "--check", "--seeds", 1,
               "--device", "tlc")  # fmt: skip
    done = cli(*command)
    assert done.returncode == 1, done.stderr
    assert "left out torn.csv.gz: " in done.stderr
    assert "left out few.mqsim: the trace has 1 reads, writes and trims" in done.stderr
    assert "5 volumes are in 2 clusters" in done.stdout
    out = " ".join(done.stdout.split())
    for words in ("read ratio", "x10 read p99 [us]", "gap, p50 [us]", "hottest 10 %", "wrote twins/work"):
        assert words in out, words
    records = {path.name.removesuffix(KEPT): path.stat().st_mtime_ns for path in (tmp_path / "twins").glob(f"*{KEPT}")}
    assert set(records) == {str(number) for number in VOLUMES}
    # The two kinds of volumes are told apart.
    named = {"file": str(tmp_path / "twins" / WORKLOADS)}
    found = FleetSpec.read({**FILE, "workloads": named}).workloads
    assert sorted(of.share for of in found.values()) == pytest.approx([0.4, 0.6])
    # What is there is not fitted again; what was killed in the middle, or is another file by now, is.
    (tmp_path / "twins" / f"7{KEPT}").write_text("{")
    (tmp_path / "twins" / "11.toml").write_text("")
    (tmp_path / "volumes" / "3.mqsim").write_text((tmp_path / "volumes" / "40.mqsim").read_text())
    again = cli(*command)
    assert again.returncode == 1
    after = {path.name.removesuffix(KEPT): path.stat().st_mtime_ns for path in (tmp_path / "twins").glob(f"*{KEPT}")}
    assert {name for name in records if after[name] == records[name]} == {"40", "52"}
    assert json.loads((tmp_path / "twins" / f"3{KEPT}").read_text())["properties"][0][:1] == ["read ratio"]
    # A fleet of these twins.
    written(tmp_path / "fleet.toml")
    text = (tmp_path / "fleet.toml").read_text()
    begin, end = text.index("[workloads]"), text.index("[replace]")
    (tmp_path / "fleet.toml").write_text(f'{text[:begin]}[workloads]\nfile = "twins/{WORKLOADS}"\n{text[end:]}')
    done = cli("fleet", "fleet.toml", "--out", "fleet.csv")
    assert done.returncode == 0, done.stderr
    assert "p99.99" in done.stdout
    wrong: tuple[tuple[tuple[Any, ...], str], ...] = (
        (("volumes",), "is a folder of volumes\n  help: give --out DIR"),
        (("volumes", "all.csv"), "volumes: is a folder"),
        (("volumes", "--out", "volumes"), "is the folder of the volumes"),
        (("all.csv", "--clusters", 2), "are for a folder of volumes"),
        (
            ("volumes", "--out", "twins", "--phases", 4, "--requests", 1600, "--check", "--seeds", 1, "--clusters", 9),
            "there are 5 volumes",
        ),
    )
    for given, says in wrong:
        done = cli("trace", "fit", *given)
        assert done.returncode == 2, given
        assert says in done.stderr


def test_names_that_meet_and_empty_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ssdlab.InputError, match="has no files\n  help: give a folder with a trace a volume"):
        volumes_of(tmp_path)
    (tmp_path / "web.csv.gz").touch()
    (tmp_path / ".hidden").touch()
    assert list(volumes_of(tmp_path)) == ["web"]
    (tmp_path / "web.mqsim").touch()
    with pytest.raises(ssdlab.InputError, match="are one volume, web\n  help: give one another name"):
        volumes_of(tmp_path)


@pytest.mark.seldom
@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no traces in {FOLDER}; SSDLAB_TRACES names another folder")
def test_shared_traces_are_a_fleet(tmp_path: Path) -> None:
    """Every trace of the folder is fitted, and what is no trace is named."""
    found = fit_volumes(FOLDER, tmp_path, requests=2000, phases=8)
    assert all(isinstance(of, NotFitted) for of in found.left_out)
    assert {of.trace for of in found.left_out} == {"MANIFEST.tsv", "README.md"}
    groups = cluster(found.volumes)
    assert len(groups.clusters) > 1
    assert all(math.isfinite(of.own_median) for of in twin_errors(groups))
    assert fit_volumes(FOLDER, tmp_path, requests=2000, phases=8).volumes == found.volumes
