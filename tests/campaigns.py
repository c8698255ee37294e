"""Campaigns that are too long for the tests: processes that are killed (SIGKILL), checkpoints with wrong bytes, and
random devices.

``tests/campaigns.py sweeps|shards|servers|checkpoints NUMBER [SEED]`` makes that many kills, or wrong files, and ends
with a line that counts them and what was checked. The first thing that is wrong ends it with an error.
``tests/campaigns.py devices|arrays NUMBER [FIRST]`` plays that many seeds with ``soak``, goes on behind one that fails
or takes too long, and names these. docs/reliability.md has the figures.
"""

from __future__ import annotations

import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars

import ssdlab
from conftest import SSDLAB
from nvme_host import BLOCK, Host, span
from nvme_target import FLUSH, Target
from ssdlab.sweeps.cache import Cache
from test_checkpoints import DRIVE, busy
from test_serve import SETS

SWEEP = """
statistics = ["host.*.latency_ns.*", "ftl.*"]
[run]
requests = 200
[axes]
scheme = ["fifo", "rps"]
"workload.read_ratio" = [0.1, 0.5, 0.9]
seed = [1, 2, 3, 4, 5, 6, 7, 8]
"""
SHARDS = 3
SOAK = Path(__file__).parent.parent / "target/release/examples/soak"
SEED_S = 60.0
"""A seed that takes more processor time is told as one that does not end (assumed: nearly all take under a second)."""


def started(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """A command that runs in a folder."""
    return subprocess.Popen([SSDLAB, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def killed(process: subprocess.Popen[bytes], after_s: float) -> bool:
    """Kills a process after a time; whether it was still running."""
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return process.returncode == -signal.SIGKILL


def kept(cache: Path) -> int:
    """The results of a cache."""
    if not cache.exists():
        return 0
    with closing(Cache(cache)) as found:
        return len(found)


def swept(number: int, draw: random.Random, folder: Path, shards: int) -> str:
    """Kills sweeps, or shards of one, until they are done, again and again. No result that was there before may be gone
    after a kill, and the table is that of a sweep that nobody has killed."""
    (folder / "sweep.toml").write_text(SWEEP)
    before = time.monotonic()
    assert started(folder, "sweep", "sweep.toml", "--out", "whole.csv", "--cache", "whole").wait() == 0
    longest = time.monotonic() - before
    kills = tables = results = 0
    while kills < number:
        for shard in range(1, shards + 1):
            words = ["sweep", "sweep.toml", "--cache", f"cache.{shard}"]
            words += (
                ["--out", "killed.csv"]
                if shards == 1
                else ["--shard", f"{shard}/{shards}", "--out", f"{shard}.parquet"]
            )
            had, cache = 0, folder / f"cache.{shard}"
            while killed(started(folder, *words), draw.uniform(0.0, 2.0 * longest)):
                now = kept(cache)
                assert now >= had, f"{had - now} results are gone"
                had, kills, results = now, kills + 1, results + now - had
        if shards > 1:
            parts = [f"{shard}.parquet" for shard in range(1, shards + 1)]
            assert started(folder, "merge", *parts, "--out", "killed.csv").wait() == 0
        tables += 1
        one, other = (polars.read_csv(folder / name) for name in ("whole.csv", "killed.csv"))
        assert one.equals(other), "the table is another one"
        for shard in range(1, shards + 1):
            shutil.rmtree(folder / f"cache.{shard}")
    return f"{kills} kills, {results} results kept through them, {tables} tables the same"


def sweeps(number: int, draw: random.Random, folder: Path) -> str:
    """See :func:`swept`."""
    return swept(number, draw, folder, 1)


def shards(number: int, draw: random.Random, folder: Path) -> str:
    """See :func:`swept`."""
    return swept(number, draw, folder, SHARDS)


def servers(number: int, draw: random.Random, folder: Path) -> str:
    """Kills servers with writes under way. What was flushed before is read from the next server with the same file, and
    of what came after the flush each block has a content that was written there."""
    blocks = 4096
    # Of each block what it may read as, the last flushed first.
    states = [[bytes(BLOCK)] for _ in range(blocks)]
    written = flushed = checked = 0
    for _ in range(number + 1):
        target = Target(folder, (*SETS, "--data", "data.img", "--grace", "0ns"))
        host = Host(target.place)
        [queue] = host.queues
        found = b"".join(queue.read(first, 128) for first in range(0, blocks, 128))
        for block, of in enumerate(states):
            content = found[block * BLOCK : (block + 1) * BLOCK]
            assert content in of, f"block {block} reads as none of its {len(of)} contents"
            states[block] = [content]
            checked += 1
        for _ in range(draw.randrange(150)):
            if draw.random() < 0.1:
                queue.ask(FLUSH, namespace=1)
                states = [of[-1:] for of in states]
                flushed += 1
                continue
            first, count = draw.randrange(blocks - 16), draw.randrange(1, 17)
            data = draw.randbytes(BLOCK * count)
            for block in range(count):
                states[first + block].append(data[block * BLOCK : (block + 1) * BLOCK])
            queue.write(first, data)
            written += count
        # Writes that no answer is waited for.
        for _ in range(draw.randrange(8)):
            first, data = draw.randrange(blocks), draw.randbytes(BLOCK)
            states[first].append(data)
            queue.send(1, *span(first, 1), namespace=1, data=data, capsule=True)
        target.process.send_signal(signal.SIGKILL)
        target.process.wait()
        host.close()
    return f"{number} kills, {written} blocks written, {flushed} flushes, {checked} blocks checked"


def checkpoints(number: int, draw: random.Random, folder: Path) -> str:
    """Reads checkpoints of a drive at work, of an array and of flash, each with one to four wrong bytes, cut off, or
    with other bytes from some place on. Each has to be refused with a reason."""
    busy().save(folder / "drive.ckpt")
    (folder / "array.toml").write_text('[array]\nlayout = "raid5"\nchunk = "16KiB"\n[drive.of]\ncount = 3\n')
    of_array = {"array": folder / "array.toml", "device": "tlc-page", "settings": DRIVE}
    ssdlab.run(**of_array, requests=50, save=folder / "array.ckpt")  # type: ignore[call-overload]
    media = ssdlab.Media("tlc-page", settings={key: of for key, of in DRIVE.items() if key.startswith("geometry.")})
    media.submit(0, "erase", die=0, plane=0, block=3)
    media.save(folder / "flash.ckpt")
    readers: dict[str, Callable[[Path], object]] = {
        "drive": ssdlab.Device.load,
        "array": lambda path: ssdlab.run(**of_array, requests=1, checkpoint=path),  # type: ignore[call-overload]
        "flash": ssdlab.Media.load,
    }
    wholes = {name: (folder / f"{name}.ckpt").read_bytes() for name in readers}
    for name, read in readers.items():
        read(folder / f"{name}.ckpt")
    said: Counter[str] = Counter()
    wrong = folder / "wrong.ckpt"
    for of in range(number):
        name = [*readers][of % len(readers)]
        data = bytearray(wholes[name])
        match draw.randrange(10):
            case 0:
                del data[draw.randrange(len(data)) :]
            case 1:
                at = draw.randrange(len(data) - 1)
                length = draw.randrange(1, len(data) - at)
                data[at : at + length] = draw.randbytes(length)
            case _:
                for _ in range(draw.randrange(1, 5)):
                    data[draw.randrange(len(data))] ^= draw.randrange(1, 256)
        if bytes(data) == wholes[name]:
            continue
        wrong.write_bytes(data)
        try:
            readers[name](wrong)
        except ssdlab.InputError as error:
            said[str(error).split("wrong.ckpt: ")[-1].splitlines()[0][:60]] += 1
        else:
            raise AssertionError(f"{name}, file {of}: was read")
    reasons = "; ".join(f"{reason} {count}" for reason, count in said.most_common(4))
    return f"{number} files, {said.total()} refused: {reasons}"


def processor_s(process: subprocess.Popen[bytes]) -> float:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def soaked(number: int, first: int, words: tuple[str, ...]) -> str:
    """Plays seeds one by one. A seed that fails is told, and so is one that takes more than `SEED_S` of processor time,
    behind which another process goes on."""
    ends: Counter[str] = Counter()
    seed = first
    while seed < first + number:
        command = [str(SOAK), "each", *words, str(seed), str(first + number - 1)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
            assert process.stdout is not None
            unfinished, began = b"", 0.0
            while True:
                if select.select([process.stdout], [], [], 5.0)[0]:
                    read = process.stdout.read(1 << 16)
                    if not read:
                        break
                    *lines, unfinished = (unfinished + read).split(b"\n")
                    for found in filter(
                        None, (re.match(r"(\d+) (passed|refused|failed)", line.decode()) for line in lines)
                    ):
                        ends[found[2]] += 1
                        seed, began = int(found[1]) + 1, processor_s(process)
                        if found[2] == "failed":
                            print(found.string, flush=True)
                        if seed % 1000 == 0:
                            print(f"# before {seed}: {dict(ends)}", flush=True)
                elif processor_s(process) > began + SEED_S:
                    process.kill()
                    break
            if process.wait() != 0:
                ends["did not end"] += 1
                print(f"{seed} did not end within {SEED_S} s ({process.returncode})", flush=True)
                seed += 1
    return ", ".join(f"{count} {how}" for how, count in ends.most_common())


def main() -> int:
    """One campaign."""
    campaigns = {each.__name__: each for each in (sweeps, shards, servers, checkpoints)}
    soaks: dict[str, tuple[str, ...]] = {"devices": (), "arrays": ("arrays",)}
    if len(sys.argv) < 3 or sys.argv[1] not in (*campaigns, *soaks):
        print(f"usage: campaigns.py {'|'.join((*campaigns, *soaks))} NUMBER [SEED]", file=sys.stderr)
        return 2
    if sys.argv[1] in soaks:
        print(soaked(int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1, soaks[sys.argv[1]]))
        return 0
    draw = random.Random(sys.argv[3] if len(sys.argv) > 3 else "1")
    with tempfile.TemporaryDirectory() as folder:
        print(campaigns[sys.argv[1]](int(sys.argv[2]), draw, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
