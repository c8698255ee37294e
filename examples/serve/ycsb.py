"""YCSB's workload A on SQLite, on served drives: docs/serve.md.

The database lies straight on the drive, without a file system: SQLite reads, writes and syncs through a VFS of
this program, which asks the drive by NBD. It is loaded once; then the same drive, fresh or six months later
(`ssdlab age`), is read with several schemes.

Needs apsw (pip install apsw). Usage: python ycsb.py [TRANSACTIONS]
"""

from __future__ import annotations

import itertools
import json
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time
from bisect import bisect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from ssdlab.common.confidence import mean_and_half_width

RECORDS, FIELD = 20_000, 1000
"""Rows of the table, and bytes of each."""
CACHE_KIB = 1024
"""What SQLite keeps in memory: a twentieth."""
LOADED = "--age pec=2000 --set ecc.code=qc-ldpc --set ecc.t_decode=1us"
DRIVES = {"fresh": "--from young.ckpt --scheme baseline"} | {
    f"aged, {scheme}": f"--from old.ckpt --scheme {scheme}" for scheme in ("baseline", "pnar2", "rif")
}
SEEDS = (1, 2, 3)


class Drive:
    """A client of an NBD server, one request at a time."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self._take(18)
        self.socket.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        self.size = struct.unpack(">QH", self._take(10))[0]

    def _take(self, length: int) -> bytes:
        data = self.socket.recv(length, socket.MSG_WAITALL)
        if len(data) < length:
            raise OSError("the server has left")
        return data

    def _ask(self, kind: int, offset: int, length: int, data: bytes = b"") -> None:
        self.socket.sendall(struct.pack(">IHHQQI", 0x25609513, 0, kind, 0, offset, length) + data)
        error = struct.unpack(">IIQ", self._take(16))[1]
        if error:
            raise OSError(error, f"the drive answers with error {error}")

    def read(self, offset: int, length: int) -> bytes:
        self._ask(0, offset, length)
        return self._take(length)

    def write(self, offset: int, data: bytes) -> None:
        self._ask(1, offset, len(data), data)

    def flush(self) -> None:
        self._ask(3, 0, 0)


class File:
    """A file of SQLite: a region of the drive. Its length is in memory; that of a database is in its header, too."""

    def __init__(self, drive: Drive, start: int, length: int) -> None:
        self.drive, self.start, self.length = drive, start, length

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 -- SQLite's names
        amount = max(0, min(amount, self.length - offset))
        return self.drive.read(self.start + offset, amount) if amount else b""

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.drive.write(self.start + offset, data)
        self.length = max(self.length, offset + len(data))

    def xTruncate(self, length: int) -> None:  # noqa: N802
        self.length = length

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.drive.flush()

    def xFileSize(self) -> int:  # noqa: N802
        return self.length

    def xSectorSize(self) -> int:  # noqa: N802
        return 4096

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        return 0

    def xFileControl(self, op: int, pointer: int) -> bool:  # noqa: N802
        return False

    def xLock(self, level: int) -> None:  # noqa: N802
        pass

    def xUnlock(self, level: int) -> None:  # noqa: N802
        pass

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return False

    def xClose(self) -> None:  # noqa: N802
        pass


class OnDrive(apsw.VFS):
    """Files on a drive: the database from its first byte on, the write-ahead log from its middle."""

    def __init__(self, drive: Drive) -> None:
        super().__init__("drive", "")
        header = drive.read(0, 100)
        page, pages = struct.unpack(">H", header[16:18])[0], struct.unpack(">I", header[28:32])[0]
        self.files = {"db": File(drive, 0, page * pages), "wal": File(drive, drive.size // 2, 0)}

    def xOpen(self, name: Any, flags: list[int]) -> File:  # noqa: N802
        path = name.filename() if hasattr(name, "filename") else str(name)
        flags[1] = flags[0]
        return self.files["wal" if path.endswith("-wal") else "db"]

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        return name

    def xAccess(self, path: str, flags: int) -> bool:  # noqa: N802
        return False

    def xDelete(self, path: str, sync: bool) -> None:  # noqa: N802
        pass


def serve(folder: Path, data: Path, *words: str) -> subprocess.Popen[bytes]:
    """A server of a drive that holds ``data``."""
    command = [
        sys.executable,
        "-m",
        "ssdlab",
        "serve",
        "--socket",
        "s",
        "--data",
        data,
        "--once",
        "--quiet",
        "--json",
        "out.json",
        *words,
    ]
    server = subprocess.Popen(command, cwd=folder)
    while not (folder / "s").exists():
        time.sleep(0.05)
    return server


@contextmanager
def database(drive: Drive) -> Iterator[apsw.Connection]:
    """The database of a drive."""
    vfs = OnDrive(drive)
    connection = apsw.Connection("db", vfs="drive")
    for pragma in ("locking_mode=exclusive", "journal_mode=wal", "synchronous=full", f"cache_size=-{CACHE_KIB}"):
        connection.execute(f"pragma {pragma}")
    yield connection
    connection.close()
    vfs.unregister()


def load(drive: Drive) -> None:
    """Creates the table and fills it."""
    with database(drive) as connection:
        connection.execute("create table usertable (k integer primary key, field blob)")
        with connection:
            rows = ((key, random.Random(key).randbytes(FIELD)) for key in range(RECORDS))
            connection.executemany("insert into usertable values (?, ?)", rows)


def workload_a(drive: Drive, transactions: int, seed: int) -> None:
    """Half reads, half updates, a commit each; records by Zipf's law (0.99), scattered."""
    draw = random.Random(seed)
    weights = list(itertools.accumulate(rank**-0.99 for rank in range(1, RECORDS + 1)))
    place = list(range(RECORDS))
    draw.shuffle(place)
    with database(drive) as connection:
        for _ in range(transactions):
            key = place[bisect(weights, draw.random() * weights[-1])]
            if draw.random() < 0.5:
                connection.execute("select field from usertable where k = ?", (key,)).fetchone()
            else:
                connection.execute("update usertable set field = ? where k = ?", (draw.randbytes(FIELD), key))


def play(folder: Path, transactions: int, seed: int, *words: str) -> list[float]:
    """Transactions a second; what a read takes on average and in 99 % of the cases, a write and a flush [us]."""
    # A copy that leaves the holes out.
    subprocess.run(["cp", "--sparse=always", folder / "loaded", folder / "data"], check=True)
    server = serve(folder, folder / "data", *words)
    drive = Drive(folder / "s")
    workload_a(drive, transactions, seed)
    drive.socket.close()
    server.wait()
    host = json.loads((folder / "out.json").read_text())["host"]
    of = [
        (host[kind]["latency_ns"], which)
        for kind, which in (("read", "mean"), ("read", "p99"), ("write", "mean"), ("flush", "mean"))
    ]
    return [transactions / host["elapsed_s"], *(latency[which] / 1e3 for latency, which in of)]


def main(transactions: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        loaded = serve(folder, folder / "loaded", *LOADED.split(), "--save", "young.ckpt")
        drive = Drive(folder / "s")
        load(drive)
        drive.socket.close()
        loaded.wait()
        command = [sys.executable, "-m", "ssdlab", "age", "young.ckpt", "--for", "6mo", "--save", "old.ckpt"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        print(f"{'':24}{'transactions/s':>16}{'read':>14}{'p99':>14}{'write':>14}{'flush':>16}  simulated, us")
        for label, words in DRIVES.items():
            seeds = [play(folder, transactions, seed, *words.split()) for seed in SEEDS]
            found = [mean_and_half_width(list(values)) for values in zip(*seeds, strict=True)]
            cells = "".join(
                f"{f'{mean:,.0f} ± {half or 0:,.0f}':>{width}}"
                for (mean, half), width in zip(found, (16, 14, 14, 14, 16), strict=True)
            )
            print(f"{label:24}{cells}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
