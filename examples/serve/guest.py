"""File systems of a stock kernel on served NVMe drives: docs/serve.md.

Debian's kernel runs in QEMU, without root and without KVM (`make machine` installs both), and attaches one drive
after the other by NVMe/TCP (tests/kernel.py). The clock is virtual: what the emulated processor takes costs no
simulated time.

Usage: python guest.py ycsb [TRANSACTIONS]   YCSB's workload A on SQLite in ext4, by the drive's age and its scheme
       python guest.py f2fs [MEGABYTES]      a file of so many MiB that is written over and over: in F2FS on zones, and
                                             in ext4 and F2FS on a drive of the same flash without zones
"""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from bisect import bisect
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ssdlab.common.confidence import mean_and_half_width

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import kernel

SSDLAB = [sys.executable, "-m", "ssdlab"]
NQN = "nqn.2026-01.internal.ssdlab:drive"
ONE_DIE = ("geometry.channels=1", "geometry.chips=1", "geometry.dies=1")

RECORDS, FIELD = 10_000, 1000
"""Rows of SQLite's table, and bytes of each."""
SEEDS = (1, 2, 3)
"""Of YCSB: which records, and what is done to them."""
LOADED = "--age pec=2000 --set ecc.code=qc-ldpc --set ecc.t_decode=1us"
DRIVES = {"fresh": "--from young.ckpt --scheme baseline"} | {
    f"aged, {scheme}": f"--from old.ckpt --scheme {scheme}" for scheme in ("baseline", "pnar2", "rif")
}
LOAD = """
run mke2fs -q -t ext4 -F /dev/nvme0n1 128M
run mount -t ext4 /dev/nvme0n1 /mnt
run sqlite3 /mnt/base ".read /files/load.sql"
"""
RUN = """
run mount -t ext4 /dev/nvme0n1 /mnt
run sqlite3 /mnt/base ".read /files/run.{seed}.sql"
"""

# Zones of 3.75 MiB, a block of each of the die's four planes.
FLASH = (*ONE_DIE, "geometry.blocks=128", "geometry.pages=60", "ftl.over_provisioning=0.2", "buffer.size=4MiB")
FLASH += ("age.precondition=none", "age.fill=0")
ZONES = ("ftl.mapping=zoned", "ftl.erase_when=reclaimed", "age.staggered=false", "power.plp=true")
ZONES += ("zones.size=4MiB", "zones.conventional=8", "zones.max_open=16", "zones.max_active=16")
SYSTEMS = {
    "ext4": ((), "run mke2fs -q -t ext4 -F /dev/nvme0n1", "ext4"),
    "F2FS": ((), "run mkfs.f2fs -q -f /dev/nvme0n1", "f2fs"),
    # Its tables are in the namespace of conventional zones, the first one.
    "F2FS on zones": (ZONES, "present nvme0n2; run mkfs.f2fs -q -f -m -c /dev/nvme0n2 /dev/nvme0n1", "f2fs"),
}
PASSES = 4
"""How often each part of the file is written, in an order of its own each time."""
FILES = """
{make}
run mount -t {kind} /dev/nvme0n1 /mnt
run fio --name=job --directory=/mnt --rw=randwrite --bs=64k --fsync=64 --randseed=1 --size={size}m --io_size={written}m
"""

BEGIN = """
present() { for turn in $(seq 60); do [ -b /dev/$1 ] && return; sleep 1; done; }
# The machine may be slower than drives are thought to be.
echo 3600 >/sys/module/nvme_core/parameters/io_timeout
"""
ATTACH = f"""
run nvme connect -t tcp -a 10.0.2.2 -s {{port}} -n {NQN} -i 1 -k 3600
present nvme0n1
echo 0 >/sys/block/nvme0n1/queue/read_ahead_kb
{{script}}
run umount /mnt
run nvme disconnect -n {NQN}
for turn in $(seq 60); do [ -b /dev/nvme0n1 ] || break; sleep 1; done
"""


class Session:
    """A drive that a guest attaches, what the guest does there, and what the drive says of it at the end."""

    def __init__(self, folder: Path, number: int, words: Sequence[str], script: str) -> None:
        """Begins to serve the drive of these options."""
        self.out, log = folder / f"{number}.json", folder / f"{number}.log"
        command = [*SSDLAB, "serve", "--nvme", "127.0.0.1:0", "--once", "--json", str(self.out), *words]
        with log.open("wb") as output:
            self.server = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        while "nvme+tcp://" not in log.read_text():
            assert self.server.poll() is None, log.read_text()
            time.sleep(0.05)
        port = log.read_text().partition("nvme+tcp://127.0.0.1:")[2].split("/")[0]
        self.script = ATTACH.format(port=port, script=script)

    def result(self) -> dict[str, Any]:
        """The result of the session, when the guest has left."""
        self.server.wait()
        found: dict[str, Any] = json.loads(self.out.read_text())
        assert found["serve"]["errors"] == 0
        return found


def play(folder: Path, drives: Iterable[tuple[Sequence[str], str]], files: dict[str, bytes]) -> list[dict[str, Any]]:
    """Has one guest attach drives, one after the other, by their options and what is done there; the results."""
    sessions: list[Session] = []
    try:
        for number, (words, script) in enumerate(drives):
            sessions.append(Session(folder, number, words, script))
        scripts = "".join(session.script for session in sessions)
        kernel.play(BEGIN + scripts, folder, 7200, files=files, processors=1)
        return [session.result() for session in sessions]
    finally:
        for session in sessions:
            session.server.kill()


def sets(*keys: str) -> list[str]:
    """Options that set keys."""
    return [word for key in keys for word in ("--set", key)]


def workload_a(transactions: int, seed: int) -> bytes:
    """YCSB's workload A: half reads, half updates, a commit each; records by Zipf's law (0.99), scattered."""
    draw = random.Random(seed)
    weights = list(itertools.accumulate(rank**-0.99 for rank in range(1, RECORDS + 1)))
    place = list(range(RECORDS))
    draw.shuffle(place)
    lines = ["pragma journal_mode=wal;", "pragma synchronous=full;"]
    for _ in range(transactions):
        key = place[bisect(weights, draw.random() * weights[-1])]
        if draw.random() < 0.5:
            lines.append(f"select length(field) from usertable where k = {key};")
        else:
            lines.append(f"update usertable set field = hex(randomblob({FIELD // 2})) where k = {key};")
    return "\n".join(lines).encode()


def ycsb(folder: Path, transactions: int) -> None:
    """SQLite by age and scheme: transactions a second, and the drive's reads and flushes [us]."""
    rows = [f"insert into usertable values ({key}, hex(randomblob({FIELD // 2})));" for key in range(RECORDS)]
    load = "\n".join(["create table usertable (k integer primary key, field text);", "begin;", *rows, "commit;"])
    loads = [*LOADED.split(), "--data", "loaded", "--save", "young.ckpt"]
    play(folder, [(loads, LOAD)], {"load.sql": load.encode()})
    aged = [*SSDLAB, "age", "young.ckpt", "--for", "6mo", "--save", "old.ckpt"]
    subprocess.run(aged, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    cases = list(itertools.product(DRIVES, SEEDS))
    for label, seed in cases:
        # A copy that leaves the holes out.
        subprocess.run(["cp", "--sparse=always", folder / "loaded", folder / f"{label}.{seed}"], check=True)
    drives = [([*DRIVES[label].split(), "--data", f"{label}.{seed}"], RUN.format(seed=seed)) for label, seed in cases]
    results = play(folder, drives, {f"run.{seed}.sql": workload_a(transactions, seed) for seed in SEEDS})
    print(f"{'':18}{'transactions/s':>16}{'reads':>12}{'mean':>12}{'p99':>16}{'flush':>14}{'unprompted':>12}")
    for label in DRIVES:
        found = [result for (of, _), result in zip(cases, results, strict=True) if of == label]
        values = [
            (
                transactions / host["elapsed_s"],
                host["read"]["requests"],
                *(host["read"]["latency_ns"][which] / 1e3 for which in ("mean", "p99")),
                host["flush"]["latency_ns"]["mean"] / 1e3,
                result["serve"]["unprompted"],
            )
            for result in found
            for host in [result["host"]]
        ]
        spans = [mean_and_half_width(list(each)) for each in zip(*values, strict=True)]
        cells = "".join(
            f"{f'{mean:,.0f} ± {half or 0:,.0f}':>{width}}"
            for (mean, half), width in zip(spans, (16, 12, 12, 16, 14, 12), strict=True)
        )
        print(f"{label:18}{cells}", flush=True)


def f2fs(folder: Path, megabytes: int) -> None:
    """A file that is written over and over: bytes at the drive and at its flash for each byte of the file."""
    written = PASSES * megabytes
    drives = [
        (sets(*FLASH, *keys), FILES.format(make=make, kind=kind, size=megabytes, written=written))
        for keys, make, kind in SYSTEMS.values()
    ]
    results = play(folder, drives, {})
    print(
        f"{'MiB':16}{'file':>8}{'drive':>8}{'flash':>8}{'drive/file':>12}{'flash/drive':>12}{'flash/file':>12}{'s':>8}"
    )
    for label, result in zip(SYSTEMS, results, strict=True):
        host, waf = result["host"], result["ftl"]["waf"]
        drive = host["write"]["bytes"] / 2**20
        print(
            f"{label:16}{written:>8,}{drive:>8,.0f}{waf * drive:>8,.0f}{drive / written:>12.2f}{waf:>12.2f}"
            f"{waf * drive / written:>12.2f}{host['elapsed_s']:>8.2f}"
        )


def main(which: str, size: int) -> None:
    if missing := kernel.missing():
        sys.exit(f"not installed: {', '.join(missing)}\n  help: make machine")
    with tempfile.TemporaryDirectory() as name:
        {"ycsb": ycsb, "f2fs": f2fs}[which](Path(name), size)


if __name__ == "__main__":
    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    if asked not in ("ycsb", "f2fs"):
        sys.exit(__doc__)
    main(asked, int(sys.argv[2]) if len(sys.argv) > 2 else {"ycsb": 300, "f2fs": 200}[asked])
