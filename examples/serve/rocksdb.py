"""RocksDB on a served drive, fresh and six months later: docs/serve.md.

A database is made on the machine and put into a file system's image, which is loaded into the drive (nbdcopy). Then
the drive rests (`ssdlab age`), and RocksDB reads records at random through nbdfuse and fuse2fs.

Needs root, mke2fs, nbdcopy, nbdfuse, fuse2fs and rocksdict (pip install rocksdict). Usage: python rocksdb.py [READS]
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rocksdict import BlockBasedOptions, Cache, Options, Rdict

RECORDS, VALUE = 40_000, 1000
"""Records, and bytes of each: they are random, and not compressed."""
URI = "nbd+unix:///?socket=s"
DRIVES = {
    "fresh": "--from young.ckpt --scheme baseline",
    "aged, baseline": "--from old.ckpt --scheme baseline",
    "aged, pnar2": "--from old.ckpt --scheme pnar2",
}


def options() -> Options:
    """RocksDB's own, with a cache of 1 MiB."""
    found, blocks = Options(raw_mode=True), BlockBasedOptions()
    blocks.set_block_cache(Cache(1 << 20))
    found.set_block_based_table_factory(blocks)
    return found


def make(folder: Path) -> None:
    """The image of a file system with a database."""
    database = Rdict(str(folder / "tree" / "db"), options())
    for key in range(RECORDS):
        database[b"%08d" % key] = random.Random(key).randbytes(VALUE)
    database.flush()
    database.close()
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", "tree", "image", "128M"], cwd=folder, check=True)


def serve(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """A server of a drive that keeps its data in a file."""
    command = [sys.executable, "-m", "ssdlab", "serve", "--socket", "s", "--data", "data", "--quiet"]
    server = subprocess.Popen([*command, "--json", "out.json", *words], cwd=folder)
    while not (folder / "s").exists():
        time.sleep(0.05)
    return server


def mounted(folder: Path, reads: int) -> None:
    """Reads records through a file system."""
    disk, files = folder / "disk", folder / "files"
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    of_disk = subprocess.Popen(["nbdfuse", "disk/all", "--unix", "s"], **quiet)  # type: ignore[call-overload]
    while not (disk / "all").exists():
        time.sleep(0.05)
    of_files = subprocess.Popen(["fuse2fs", "-f", "-o", "fakeroot", "disk/all", "files"], **quiet)  # type: ignore[call-overload]
    while not files.is_mount():
        time.sleep(0.05)
    try:
        database = Rdict(str(files / "db"), options())
        draw = random.Random(1)
        for _ in range(reads):
            key = draw.randrange(RECORDS)
            assert database[b"%08d" % key] == random.Random(key).randbytes(VALUE)
        database.close()
    finally:
        for at, process in ((files, of_files), (disk, of_disk)):
            subprocess.run(["umount", at], check=False)
            process.wait()


def main(reads: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("tree", "disk", "files"):
            (folder / part).mkdir()
        make(folder)
        loaded = serve(folder, "--age", "pec=2000", "--once", "--save", "young.ckpt")
        subprocess.run(["nbdcopy", "image", URI], cwd=folder, check=True)
        loaded.wait()
        command = [sys.executable, "-m", "ssdlab", "age", "young.ckpt", "--for", "6mo", "--save", "old.ckpt"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        print(f"{'':18}{'simulated s':>12}{'reads':>8}{'mean us':>9}{'p99 us':>9}")
        for label, words in DRIVES.items():
            server = serve(folder, *words.split(), "--once")
            mounted(folder, reads)
            server.wait()
            host = json.loads((folder / "out.json").read_text())["host"]
            of = host["read"]
            mean, p99 = (of["latency_ns"][which] / 1e3 for which in ("mean", "p99"))
            print(f"{label:18}{host['elapsed_s']:>12.3f}{of['requests']:>8,}{mean:>9,.0f}{p99:>9,.0f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
