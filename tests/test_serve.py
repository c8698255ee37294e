"""Drives served to real programs: fio, qemu's tools, libnbd's, file systems with databases in them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import HANGS_S, SSDLAB, Cli, until
from ssdlab.runs.options import options_of
from ssdlab.runs.serving import Drive, Pace, Serving

SMALL = (
    "geometry.channels=1",
    "geometry.chips=1",
    "geometry.dies=1",
    "geometry.blocks=40",
    "ftl.over_provisioning=0.5",
)
"""A drive of 2 GB."""
SETS = [word for key in SMALL for word in ("--set", key)]
URI = "nbd+unix:///?socket=s"
AGED = ["--age", "pec=2000,retention=6mo"]


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if shutil.which(program, path=f"{os.environ['PATH']}:/sbin") is None]
    return pytest.mark.skipif(bool(missing), reason=f"{' and '.join(missing)} not installed")


class Server:
    """``ssdlab serve`` in a folder of its own; clients run there, and come to the socket ``s``."""

    def __init__(self, folder: Path, words: tuple[str, ...], socket: str | None = "s") -> None:
        self.folder = folder
        self.log = folder / "served"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [SSDLAB, "serve", *(() if socket is None else ("--socket", socket)), "--json", "out.json", *words],
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )
        until(lambda: "serving" in self.log.read_text(), self.process)

    def client(self, *words: str, fails: bool = False) -> str:
        """What a client prints; it must not fail, unless that is expected."""
        path = f"{os.environ['PATH']}:/sbin"
        done = subprocess.run(
            [*words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=HANGS_S,
            check=False,
            env={**os.environ, "PATH": path},
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def end(self, number: int = signal.SIGINT) -> str:
        """Ends the server with a signal; what it has printed."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> str:
        """What the server has printed, which ends by itself."""
        assert self.process.wait(timeout=HANGS_S) == 0, self.log.read_text()
        assert not (self.folder / "s").exists(), "the socket goes with it"
        return self.log.read_text()

    def result(self, name: str = "out.json") -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / name).read_text())
        return found


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def begin(*words: str, socket: str | None = "s", files: dict[str, str] | None = None) -> Server:
        for name, text in (files or {}).items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        servers.append(Server(tmp_path, words, socket))
        return servers[-1]

    yield begin
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()


def warned(result: dict[str, Any]) -> list[str]:
    """The findings of a session."""
    return [finding["id"] for finding in result["warnings"]]


def fio(server: Server, *words: str) -> dict[str, Any]:
    """What fio's only job has found."""
    common = ("--name=job", "--ioengine=nbd", f"--uri={URI}", "--output-format=json")
    # Notes may stand before it.
    _, brace, text = server.client("fio", *common, *words).partition("{")
    found: dict[str, Any] = json.loads(brace + text)["jobs"][0]
    return found


@pytest.mark.slow
@needs("fio")
@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_fio_reads_what_it_wrote(serve: Callable[..., Server], clock: str) -> None:
    server = serve(*SETS, *AGED, "--clock", clock, "--data", "data.img", "--lag-bound", "10ns")
    job = fio(server, "--rw=randrw", "--bs=512-8k", "--size=1m", "--iodepth=8", "--verify=crc32c", "--fsync=64")
    assert job["error"] == 0
    printed = server.end()
    assert "Served" in printed
    assert "writes" in printed
    # No machine replies as soon as that.
    assert ("warning: late-replies: 1 % of the replies left " in printed) == (clock == "real")
    result = server.result()
    assert ("late-replies" in warned(result)) == (clock == "real")
    assert result["manifest"]["workload"] == {"driver": "NBD clients"}
    assert result["host"]["write"]["requests"] == job["write"]["total_ios"]
    assert result["host"]["read"]["requests"] == job["read"]["total_ios"]
    assert result["serve"]["clock"] == clock
    assert result["serve"]["errors"] == 0
    if clock == "real":
        assert 0 < result["serve"]["lag_ns"]["p50"] <= result["serve"]["lag_ns"]["max"]
        # fio has waited for the drive.
        assert job["read"]["lat_ns"]["max"] > result["host"]["read"]["latency_ns"]["p50"]
    assert 2**18 < (server.folder / "data.img").stat().st_blocks * 512 < 2**22, "a sparse file"


FIO = f"fio --name=job --ioengine=nbd --uri={URI} --bs=4k --randseed=7"
DEEP = {
    "fio": f"{FIO} --rw=randrw --size=64m --number_ios=300 --iodepth=16",
    "jobs": f"{FIO} --rw=randread --size=16m --offset_increment=16m --number_ios=60 --iodepth=4 --numjobs=3",
    "qemu-img": f"qemu-img bench -f raw -d 8 -c 200 -s 16384 -w {URI}",
    "nbdcopy": f"nbdcopy image {URI}",
}
"""Clients with several requests under way, several threads, several processes."""


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """This many loops take the machine's cores."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.drawn
@pytest.mark.slow
@needs("fio", "qemu-img", "nbdcopy")
@pytest.mark.parametrize("program", DEEP)
def test_virtual_times_are_the_same_on_a_busy_machine(serve: Callable[..., Server], program: str) -> None:
    logs = []
    for number in range(2):
        server = serve(*SETS, *AGED, "--requests-out", f"{number}.parquet", "--grace", "none")
        (server.folder / "image").write_bytes(bytes(range(256)) * (1 << 16))
        with busy(3 * number):
            server.client(*DEEP[program].split())
        server.end()
        logs.append(pl.read_parquet(server.folder / f"{number}.parquet"))
        found = server.result()["serve"]
        assert (found["watched"], found["not_watched"]) == (found["connections"], [])
        assert (found["grace_expired"], found["unprompted"]) == (0, 0)
        assert "machine-dependent-clock" not in warned(server.result())
    assert logs[0].height >= 64
    assert logs[0].equals(logs[1])


TCP = """
import socket, struct, sys, threading
host, port = sys.argv[1].rsplit(":", 1)
def take(at, length):
    data = b""
    while len(data) < length:
        data += at.recv(length - len(data))
    return data
def ask(first):
    at = socket.create_connection((host, int(port)))
    take(at, 18)
    at.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
    take(at, 10)
    for number in range(10):
        for part in range(4):
            at.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 0, part, (first + 4 * number + part) << 18, 4096))
        take(at, 4 * (16 + 4096))
threads = [threading.Thread(target=ask, args=(1000 * index,)) for index in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
"""A client of TCP: two threads, each with a connection and four requests under way."""


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.parametrize("program", ["threads", pytest.param("fio", marks=needs("fio"))])
def test_clients_of_tcp_are_watched_too(serve: Callable[..., Server], program: str) -> None:
    logs = []
    for number in range(2):
        words = ("--listen", "127.0.0.1:0", "--requests-out", f"{number}.parquet", "--grace", "none")
        server = serve(*SETS, *AGED, *words, socket=None)
        place = server.log.read_text().partition("nbd://")[2].split("/")[0]
        with busy(3 * number):
            if program == "fio":
                server.client(
                    *f"{FIO} --rw=randread --size=64m --number_ios=200 --iodepth=8".replace(
                        URI, f"nbd://{place}/"
                    ).split()
                )
            else:
                server.client(sys.executable, "-c", TCP, place)
        server.end()
        logs.append(pl.read_parquet(server.folder / f"{number}.parquet"))
        found = server.result()["serve"]
        assert (found["watched"], found["not_watched"]) == (found["connections"], [])
        assert (found["grace_expired"], found["unprompted"]) == (0, 0)
    assert logs[0].height >= 80
    assert logs[0].equals(logs[1])


@pytest.mark.slow
@needs("fio")
def test_a_request_comes_its_think_time_after_the_reply(serve: Callable[..., Server]) -> None:
    server = serve(*SETS, *AGED, "--requests-out", "r.parquet", "--think", "3us")
    fio(server, "--rw=randrw", "--bs=4k", "--size=64m", "--number_ios=300", "--randseed=7")
    server.end()
    log = pl.read_parquet(server.folder / "r.parquet")
    gaps = log["arrival_ns"][1:] - log["finish_ns"][:-1]
    assert set(gaps) == {3000}


POLLS = """
import socket, struct, sys, time
at = socket.socket(socket.AF_UNIX)
at.connect("s")
def take(length):
    data = b""
    while len(data) < length:
        try:
            data += at.recv(length - len(data))
        except BlockingIOError:
            if "naps" in sys.argv:
                time.sleep(1e-6)
    return data
take(18)
at.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
take(10)
at.setblocking(False)
for number in range(4):
    for part in range(2):
        at.send(struct.pack(">IHHQQI", 0x25609513, 0, 0, part, 4096 * (2 * number + part), 4096))
    take(2 * (16 + 4096))
"""
"""A client that never sleeps, or never for longer than a moment."""


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.parametrize("how", ["", "naps"])
def test_a_client_that_polls_is_not_waited_for_for_ever_and_a_finding(serve: Callable[..., Server], how: str) -> None:
    server = serve(*SETS, "--grace", "1ms")
    server.client(sys.executable, "-c", POLLS, how)
    printed = " ".join(server.end().split())
    found = server.result()["serve"]
    if how == "naps" and not found["not_watched"]:
        # Two looks have met it in one and the same of its sleeps, each time: then it waits, as others do.
        assert (found["watched"], found["grace_expired"]) == (1, 0)
        assert "machine-dependent-clock" not in printed
        return
    assert "works on and on and asks for nothing: simulated time waits for its requests by --grace" in printed
    assert len(found["not_watched"]) == 1
    assert found["grace_expired"] > 0
    assert printed.count("machine-dependent-clock") == 1
    assert f"warning: machine-dependent-clock: --grace 1ms ran out {found['grace_expired']} times" in printed
    assert "machine-dependent-clock" in warned(server.result())


@pytest.mark.slow
@needs("qemu-img", "qemu-io")
def test_qemus_tools(serve: Callable[..., Server]) -> None:
    server = serve(*SETS)
    commands = ["write -P 7 100000 5000", "read -P 7 100000 5000", "write -z 101376 1024", "read -P 0 101376 1024"]
    commands += ["write -f -P 9 5m 1m", "discard 5m 512k", "read -P 0 5m 512k", "read -P 9 5632k 512k", "flush"]
    server.client("qemu-io", "-f", "raw", *(word for command in commands for word in ("-c", command)), URI)
    (server.folder / "from").write_bytes(os.urandom(1 << 20) + bytes(1 << 20) + os.urandom(1 << 20))
    server.client("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", "from", URI)
    server.client("qemu-img", "convert", "-f", "raw", "-O", "qcow2", URI, "back")
    server.client("qemu-img", "compare", "-f", "raw", "-F", "qcow2", URI, "back")
    found = json.loads(server.client("qemu-img", "map", "-f", "raw", "--output=json", URI))
    data = [(part["start"], part["length"]) for part in found if part["data"]]
    assert data[:2] == [(0, 1 << 20), (2 << 20, 1 << 20)]
    server.end()
    result = server.result()
    assert result["serve"]["errors"] == 0
    assert result["host"]["write"]["requests"] > 3


@pytest.mark.slow
@needs("nbdcopy", "nbdinfo", "mke2fs", "debugfs")
def test_a_file_system_with_a_database_there_and_back(serve: Callable[..., Server]) -> None:
    server = serve(*SETS, *AGED, "--scheme", "pnar2")
    tree = server.folder / "tree"
    tree.mkdir()
    with closing(sqlite3.connect(tree / "a.db")) as database:
        database.execute("create table t (k integer primary key, v blob)")
        database.executemany("insert into t values (?, ?)", ((key, os.urandom(500)) for key in range(2000)))
        database.commit()
    server.client("mke2fs", "-q", "-t", "ext4", "-d", "tree", "image", "64M")
    server.client("nbdcopy", "image", URI)
    about = json.loads(server.client("nbdinfo", "--json", URI))["exports"][0]
    assert about["can_multi_conn"]
    assert about["can_fua"]
    assert about["contexts"] == ["base:allocation"]
    assert about["description"] == "simulated drive tlc, pnar2"
    parts = json.loads(server.client("nbdinfo", "--map", "--json", URI))
    assert {part["type"] for part in parts} == {0, 3}
    assert sum(part["length"] for part in parts) == about["export-size"]
    server.client("nbdcopy", URI, "back")
    server.client("e2fsck", "-fn", "back")
    server.client("debugfs", "-R", "dump /a.db found.db", "back")
    assert (server.folder / "found.db").read_bytes() == (tree / "a.db").read_bytes()
    server.end(signal.SIGTERM)
    assert server.result()["serve"]["errors"] == 0


FUSE = os.access("/dev/fuse", os.W_OK) and os.geteuid() == 0


@pytest.mark.seldom
@needs("nbdfuse", "fuse2fs", "mke2fs", "qemu-img")
@pytest.mark.skipif(not FUSE, reason="/dev/fuse cannot be used")
def test_a_database_on_a_mounted_file_system(serve: Callable[..., Server]) -> None:
    server = serve(*SETS, *AGED)
    mounts = [server.folder / name for name in ("disk", "files")]
    for mount in mounts:
        mount.mkdir()
    server.client("mke2fs", "-q", "-t", "ext4", "image", "64M")
    server.client("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", "image", URI)
    quiet = {"cwd": server.folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    disk = subprocess.Popen(["nbdfuse", "disk/all", "--unix", "s"], **quiet)  # type: ignore[call-overload]
    try:
        until(lambda: (mounts[0] / "all").exists(), disk)
        files = subprocess.Popen(["fuse2fs", "-f", "-o", "fakeroot", "disk/all", "files"], **quiet)  # type: ignore[call-overload]
        try:
            until(lambda: os.path.ismount(mounts[1]), files)
            with closing(sqlite3.connect(mounts[1] / "a.db")) as database:
                database.execute("create table t (k integer primary key, v blob)")
                for key in range(20):
                    with database:
                        database.execute("insert into t values (?, ?)", (key, b"v" * 1000))
                assert database.execute("select sum(length(v)) from t").fetchone() == (20_000,)
                assert database.execute("pragma integrity_check").fetchone() == ("ok",)
        finally:
            subprocess.run(["umount", str(mounts[1])], check=False)
            files.wait(timeout=HANGS_S)
    finally:
        subprocess.run(["umount", str(mounts[0])], check=False)
        disk.wait(timeout=HANGS_S)
    server.end()
    result = server.result()
    assert result["serve"]["errors"] == 0
    assert result["serve"]["grace_expired"] < 20
    assert result["host"]["write"]["requests"] > 100


@pytest.mark.slow
@needs("qemu-io")
def test_memory_holds_as_much_data_as_it_was_given(serve: Callable[..., Server]) -> None:
    server = serve(*SETS, "--memory", "1MiB", "--once")
    writes = ("-c", "write 1M 1M", "-c", "write -P 7 2M 4k")
    assert "No space left on device" in server.client("qemu-io", "-f", "raw", *writes, URI, fails=True)
    server.ended()
    assert server.result()["serve"]["errors"] == 1


@pytest.mark.slow
@needs("qemu-io")
def test_what_a_drive_cannot_do_is_an_error_for_the_program(serve: Callable[..., Server]) -> None:
    old = ["--set", "chip.model=tlc48", "--age", "pec=3000,retention=150mo,fill=1.0", "--set", "read.rpt=none"]
    server = serve(*SETS, *old, "--once")
    reads = [word for page in range(40) for word in ("-c", f"read {page * 16}k 4k")]
    printed = server.client("qemu-io", "-f", "raw", *reads, URI, fails=True)
    assert "read failed: Input/output error" in printed
    server.ended()
    result = server.result()
    assert result["serve"]["errors"] == result["host"]["uncorrectable"] > 0


@pytest.mark.drawn
@pytest.mark.slow
def test_the_example_of_a_database(tmp_path: Path) -> None:
    pytest.importorskip("apsw")
    example = Path(__file__).parent.parent / "examples" / "serve" / "ycsb.py"
    environment = {**os.environ, "PATH": f"{SSDLAB.parent}:{os.environ['PATH']}"}
    command = [sys.executable, str(example), "300"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=HANGS_S, check=True
    )
    rates = {line[:24].strip(): float(line[24:].split()[0].replace(",", "")) for line in done.stdout.splitlines()[1:]}
    assert rates["fresh"] > rates["aged, rif"] > rates["aged, baseline"]


class Client:
    """A client of the protocol, the old way: one request at a time."""

    def __init__(self, place: Path | tuple[str, int], name: str = "") -> None:
        self.socket = socket.socket(socket.AF_UNIX if isinstance(place, Path) else socket.AF_INET)
        self.socket.settimeout(HANGS_S)
        self.socket.connect(str(place) if isinstance(place, Path) else place)
        assert self._take(18).startswith(b"NBDMAGICIHAVEOPT")
        self.socket.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, len(name)) + name.encode())
        (self.size, _) = struct.unpack(">QH", self._take(10))

    def _take(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            more = self.socket.recv(length - len(data))
            assert more, "the server has left"
            data += more
        return data

    def ask(self, kind: int, offset: int, length: int, data: bytes = b"") -> bytes:
        self.socket.sendall(struct.pack(">IHHQQI", 0x25609513, 0, kind, 1, offset, length) + data)
        _, error, _ = struct.unpack(">IIQ", self._take(16))
        assert error == 0
        return self._take(length) if kind == 0 else b""


@pytest.mark.parametrize("tcp", [False, True])
def test_a_session_played_again_is_the_same_run(tcp: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = options_of({"age": "pec=2000,retention=6mo", "settings": SMALL, "seed": 3})
    pace = Pace("virtual", think="2us", grace="none")
    place = {"address": "127.0.0.1:0"} if tcp else {"socket": "s"}
    serving = Serving([Drive("", options, None)], pace, records=True, **place)
    [uri] = serving.start()
    assert uri == URI or tcp
    at = ("127.0.0.1", int(uri.removeprefix("nbd://127.0.0.1:").rstrip("/"))) if tcp else Path("s")

    def ask() -> None:
        client = Client(at)
        for number in range(30):
            client.ask(1, number * 70_000, 6000, bytes([number]) * 6000)
            assert client.ask(0, number * 70_000 + 5999, 2) == bytes([number, 0])
        client.ask(3, 0, 0)
        client.socket.close()

    with ThreadPoolExecutor() as pool:
        asked = pool.submit(ask)
        while not asked.done():
            serving.attend()
    asked.result()
    [served] = serving.stop()
    again = served.session.replay()
    while not again.step(1000):
        pass
    found, first = json.loads(again.finish()["result"]), served.result.to_dict()
    assert first["serve"] == {
        "clock": "virtual",
        "think": "2us",
        "grace": "none",
        "depth": 1,
        "grace_expired": 0,
        "watched": 0,
        "not_watched": ["it is part of the server"],
        "unprompted": 0,
        "connections": 1,
        "errors": 0,
    }
    for section in ("manifest", "host", "flash", "ftl", "usage", "run"):
        assert found[section] == first[section], section


def test_a_drive_goes_on_in_a_run_and_in_another_session(serve: Callable[..., Server], cli: Cli) -> None:
    found: list[dict[str, Any]] = []
    for words in [(*SETS, *AGED), ("--from", "0.ckpt")]:
        server = serve(*words, "--once", "--save", f"{len(found)}.ckpt")
        client = Client(server.folder / "s")
        for number in range(20):
            client.ask(1, number << 16, 1 << 16, bytes(1 << 16))
        client.socket.close()
        assert f"wrote {len(found)}.ckpt (a checkpoint, for --from)" in server.ended()
        found.append(server.result())
    assert [result["manifest"]["device"]["config"]["age"]["pec"] for result in found] == [2000, 2000]
    assert found[1]["manifest"]["checkpoint"] != found[0]["manifest"].get("checkpoint")
    assert cli("run", "--from", "1.ckpt", "--requests", "100", "--quiet").returncode == 0


@pytest.mark.slow
def test_late_replies_are_a_finding_beyond_the_bound(serve: Callable[..., Server]) -> None:
    for bound, late in [("1ns", True), ("1h", False)]:
        server = serve(*SETS, "--clock", "real", "--lag-bound", bound, "--once")
        client = Client(server.folder / "s")
        client.ask(0, 0, 4096)
        client.socket.close()
        printed = server.ended()
        result = server.result()
        assert ("late-replies" in warned(result), "warning: late-replies: " in printed) == (late, late)
        if late:
            [finding] = [finding for finding in result["warnings"] if finding["id"] == "late-replies"]
            assert finding["numbers"] == {"lag_p99_ns": result["serve"]["lag_ns"]["p99"], "lag_bound_ns": 1.0}


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_what_the_first_clients_load_is_old_for_those_that_come_later(serve: Callable[..., Server], clock: str) -> None:
    means = []
    for words in ((), ("--age-after-load", "6mo")):
        server = serve(
            *SETS,
            "--age",
            "pec=2000",
            "--scheme",
            "baseline",
            "--clock",
            clock,
            "--requests-out",
            "r.parquet",
            "--once",
            *words,
        )
        client = Client(server.folder / "s")
        for page in range(32):
            client.ask(1, page << 16, 1 << 16, bytes([page]) * (1 << 16))
        # What is read waits for no program, however soon after it that is.
        client.ask(3, 0, 0)
        if words:
            # The next one comes at once. Who asks for nothing has loaded nothing.
            client.socket.close()
            Client(server.folder / "s").socket.close()
            client = Client(server.folder / "s")
        for page in range(32):
            assert client.ask(0, page << 16, 4096) == bytes([page]) * 4096
        client.socket.close()
        server.ended()
        host = server.result()["host"]
        # The load is a warm-up.
        assert (host["write"]["requests"], host["read"]["requests"]) == (0 if words else 32, 32)
        means.append(host["read"]["latency_ns"]["mean"])
    assert means[1] > 3 * means[0]


@pytest.mark.slow
def test_everything_that_a_run_writes(serve: Callable[..., Server]) -> None:
    outputs = ["--requests-out", "r.parquet", "--series-out", "s.parquet", "--timeline", "t.pftrace"]
    server = serve(*SETS, *outputs, "--slowest", "1", "--explain", "1", "--once")
    client = Client(server.folder / "s")
    for number in range(20):
        client.ask(0, number << 20, 4096)
    client.socket.close()
    printed = server.ended()
    assert "wrote t.pftrace" in printed
    assert "read of 4,096 B" in printed
    assert pl.read_parquet(server.folder / "r.parquet")["op"].to_list() == [0] * 20
    assert pl.read_parquet(server.folder / "s.parquet")["reads"].sum() == 20
    assert (server.folder / "t.pftrace").stat().st_size > 1000


def test_several_drives(serve: Callable[..., Server], tmp_path: Path, cli: Cli) -> None:
    fresh = "\n".join(f'"{key}" = "{value}"' for key, value in (word.split("=") for word in SMALL))
    (tmp_path / "drives.toml").write_text(
        f'[fresh]\n{fresh}\n[old]\nage = "pec=3000,retention=1y"\ndata = "o"\n{fresh}\n'
    )
    server = serve("drives.toml", "--requests-out", "r.parquet")
    clients = [Client(tmp_path / "s", name) for name in ("fresh", "old")]
    for number in range(5):
        for index, client in enumerate(clients):
            client.ask(1, number * 4096, 4096, bytes([index]) * 4096)
            assert client.ask(0, number * 4096, 4096) == bytes([index]) * 4096
    server.end()
    for name, pec in (("fresh", 0), ("old", 3000)):
        result = server.result(f"out.{name}.json")
        assert result["manifest"]["device"]["config"]["age"]["pec"] == pec
        assert (
            result["host"]["read"]["requests"] == pl.read_parquet(tmp_path / f"r.{name}.parquet")["op"].eq(0).sum() == 5
        )

    for text, problem in [
        ("", "drives.toml: has no drive"),
        ('device = "tlc"', "device: stands in no section"),
        ('[a]\ndevise = "tlc"', "a.devise: unknown"),
        ('["a/b"]\n', "cannot be a drive's name"),
        ("[a]\ndata = 3", "a.data: is 3"),
        ('[a]\nchip = { t_raed = "1us" }', "t_raed"),
        ("[a", "drives.toml: "),
    ]:
        (tmp_path / "drives.toml").write_text(text)
        done = cli("serve", "drives.toml", "--socket", "s")
        assert (done.returncode, problem in done.stderr, "help:" in done.stderr) == (2, True, True), done.stderr


def test_what_cannot_be_served_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "large").write_bytes(b"")
    os.truncate(tmp_path / "large", 1 << 41)
    at = ("--socket", "s")
    for words, problem in [
        ((), "give --socket PATH, --listen"),
        ((*at, "--listen", "localhost:0"), "give --socket PATH, --listen"),
        (("--socket", "file"), "--socket file: exists already"),
        (("--listen", "nowhere"), "--listen nowhere: is not accepted"),
        ((*at, "--think", "soon"), "--think soon: is not accepted"),
        ((*at, "--grace", "5"), "--grace 5: is not accepted"),
        ((*at, "--depth", "1025"), "--depth 1025: is too many"),
        ((*at, "--memory", "much"), "--memory much: is not accepted"),
        ((*at, "--data", "large"), "more than the device's"),
        ((*at, "--data", "no/where"), "--data no/where: cannot be used"),
        ((*at, "--data", "file", "--json", "file"), "is an input"),
        ((*at, "--window", "1ms:2ms"), "give --timeline"),
        ((*at, "--set", "workload.bs=4KiB"), "generator's key"),
        ((*at, "--age", "pec=x"), "--age pec=x"),
        (("d.toml", *at, "--age", "pec=1"), "--age is given beside d.toml"),
        (("d.toml", *at), "d.toml: cannot be read"),
        (("--nvme", "localhost:0", "--device", "zns", "--set", "zones.append_limit=4KiB"), "ZASL"),
    ]:
        done = cli("serve", *words)
        assert (done.returncode, problem in done.stderr, "help:" in done.stderr) == (2, True, True), done.stderr
        assert not (tmp_path / "s").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "large"], "nothing is left behind"


ARRAY = """
[array]
layout = "raid5"
chunk = "16KiB"
[drive.good]
count = 3
[drive.dies]
fails_at = "3ms"
"""
"""Four drives, of which one fails in the midst of the session."""
WRITES_AND_READS = """
import random, socket, struct
at = socket.socket(socket.AF_UNIX)
at.connect("s")
def take(length):
    data = b""
    while len(data) < length:
        data += at.recv(length - len(data))
    return data
take(18)
at.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
take(10)
def ask(kind, number, place, data=b""):
    at.sendall(struct.pack(">IHHQQI", 0x25609513, 0, kind, number, place << 13, 8192) + data)
    assert struct.unpack(">IIQ", take(16)) == (0x67446698, 0, number)
    return take(8192) if kind == 0 else b""
draw, kept = random.Random(5), {}
for number in range(150):
    place = draw.randrange(40)
    kept[place] = draw.randbytes(8192)
    ask(1, number, place, kept[place])
for place, data in kept.items():
    assert ask(0, place, place) == data
"""


@pytest.mark.slow
def test_an_array_that_loses_a_drive_serves_its_data_the_same_twice(serve: Callable[..., Server]) -> None:
    logs = []
    for number in range(2):
        words = ("--array", "array.toml", *SETS, *AGED, "--requests-out", f"{number}.parquet", "--save", "saved")
        server = serve(*words, files={"array.toml": ARRAY})
        server.client(sys.executable, "-c", WRITES_AND_READS)
        assert "raid5 of 4 drives" in server.end()
        logs.append(pl.read_parquet(server.folder / f"{number}.parquet"))
        result = server.result()
        array = result["array"]
        assert (array["drives_failed"], array["lost_requests"], result["serve"]["errors"]) == (1, 0, 0)
        assert array["reads_reconstructed"] > 0
        assert array["writes_read_modify"] + array["writes_reconstruct"] + array["writes_decode"] > 100
        assert result["host"]["write"]["requests"] == 150
    assert logs[0].equals(logs[1])
    later = serve("--array", "array.toml", *SETS, *AGED, "--from", "saved")
    later.client(sys.executable, "-c", WRITES_AND_READS)
    later.end()
    assert later.result()["array"]["reads_reconstructed"] > 0, "the drive has failed for good"
