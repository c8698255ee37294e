"""What readers in Python are fed with: other tools' files, sweep files, entries of caches.

    python tests/fuzzing.py TARGET SECONDS [SEED]

mutates the corpus (``tests/corpus/TARGET``) for so long and prints how many inputs were read; with Atheris where it is
installed, which looks for new paths. What a reader may raise is an :class:`ssdlab.InputError`; anything else ends the
command, which prints the input.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ssdlab import InputError
from ssdlab.foreign import fio, mqsim
from ssdlab.runs.manifest import key_of
from ssdlab.sweeps.cache import RESULT, Cache
from ssdlab.sweeps.spec import Sweep

CORPUS = Path(__file__).parent / "corpus"
BREAK = b"\n---8<---\n"
"""Between the two files of MQSim."""
LONGEST = 1 << 16
TOKENS = (
    *(b"0", b"-1", b"1e999", b"nan", b"18446744073709551616", b"4294967296", b"0x7fffffffffffffff", b"9" * 5000),
    *(b"<", b">", b"&amp;", b"&x;", b"<!--", b"]]>", b"<a/>", b"[", b"]", b"[" * 2000, b'"', b"'", b"=", b":", b","),
    *(b"%", b"$ncpus", b"${HOME}", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b"true", b"null", b"none", b"{}"),
)


@cache
def folder() -> Path:
    """Where inputs become files: in memory, where that is."""
    return Path(tempfile.mkdtemp(prefix="ssdlab-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))


def _file(name: str, data: bytes) -> Path:
    path = folder() / name
    path.write_bytes(data)
    return path


def feed_mqsim(data: bytes) -> None:
    """ssdconfig.xml and workload.xml."""
    config, _, workload = data.partition(BREAK)
    mqsim.load(_file("ssdconfig.xml", config), _file("workload.xml", workload))


def feed_fio(data: bytes) -> None:
    """A job file."""
    fio.load(_file("jobs.fio", data))


def feed_sweep(data: bytes) -> None:
    """A sweep file, and its cases."""
    sweep = Sweep.read(_file("sweep.toml", data))
    sweep.cases(quick=True)


def feed_cache(data: bytes) -> None:
    """An entry of a cache: as it is, and as the result of the case that it says it is."""
    body = gzip.compress(data, 1, mtime=0)
    for key, entry in (("00" * 32, data), (_key(data), hashlib.sha256(body).hexdigest().encode() + body)):
        place = folder() / "cache" / key[:2]
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{key}{RESULT}"
        path.write_bytes(entry)
        Cache(folder() / "cache").get(key)
        path.unlink()


def _key(data: bytes) -> str:
    """The key of the case whose manifest an entry holds."""
    try:
        return key_of(json.loads(data)["data"]["manifest"])
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return "11" * 32


TARGETS: dict[str, Callable[[bytes], None]] = {
    "mqsim": feed_mqsim,
    "fio": feed_fio,
    "sweep": feed_sweep,
    "cache": feed_cache,
}


def feed(target: str, data: bytes) -> None:
    """Feeds a reader; what it refuses is refused."""
    try:
        TARGETS[target](data)
    except InputError as error:
        refused = str(error)
    else:
        return
    if "\n  help: " not in refused:
        raise AssertionError(f"says no remedy: {refused}")


def corpus(target: str) -> list[bytes]:
    """The inputs that a target starts from."""
    return [path.read_bytes() for path in sorted((CORPUS / target).iterdir())]


def mutated(inputs: list[bytes], number: int) -> bytes:
    """An input made of others, by its number alone: bytes, words and lines are changed, copied, left out."""
    draws = random.Random(number)
    made = draws.choice(inputs)
    for _ in range(draws.randint(1, 4)):
        other = draws.choice(inputs)
        at = draws.randrange(len(made) + 1)
        end = min(len(made), at + draws.randint(1, 24))
        kind = draws.randrange(8)
        if kind == 0:
            made = made[:at] + bytes(byte ^ 1 << draws.randrange(8) for byte in made[at : at + 1]) + made[at + 1 :]
        elif kind == 1:
            made = made[:at] + made[end:]
        elif kind == 2:
            made = made[:at] + made[at:end] * draws.randint(2, 30) + made[end:]
        elif kind == 3:
            made = made[:at] + draws.choice(TOKENS) + made[at:]
        elif kind == 4:
            made = made[:at] + draws.choice(TOKENS) + made[end:]
        else:
            lines, others = made.split(b"\n"), other.split(b"\n")
            line = draws.randrange(len(lines))
            lines[line : line + (kind != 5)] = [draws.choice(others)] if kind != 7 else []
            made = b"\n".join(lines)
    return made[:LONGEST]


def main(target: str, seconds: float, seed: int = 0) -> int:
    """Mutates a target's corpus for so long; how many inputs were read."""
    inputs, end, number = corpus(target), time.monotonic() + seconds, 0
    while number % 256 or time.monotonic() < end:
        data = mutated(inputs, (seed << 40) + number)
        began = time.process_time()
        try:
            feed(target, data)
            took = time.process_time() - began
            assert took < 10.0, f"takes {took:.1f} s"
        except BaseException:
            print(f"{target}: mutation {(seed << 40) + number}: {data!r}", file=sys.stderr)
            raise
        number += 1
    return number


def guided(target: str, seconds: float) -> None:
    """Feeds a target with Atheris, from the corpus on."""
    import atheris

    atheris.instrument_all()
    known = CORPUS / target
    found, failures = (CORPUS.parents[1] / "target" / "fuzz" / part / target for part in ("found", "failures"))
    for place in (found, failures):
        place.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={int(seconds)}", f"-max_len={LONGEST}", "-rss_limit_mb=2048", "-timeout=20"]
    words = [sys.argv[0], *limits, f"-artifact_prefix={failures}/", "-print_final_stats=1"]
    atheris.Setup([*words, str(found), str(known)], lambda data: feed(target, data))
    atheris.Fuzz()


if __name__ == "__main__":
    if "--guided" in sys.argv:
        guided(sys.argv[1], float(sys.argv[2]))
    else:
        print(f"{sys.argv[1]}: {main(sys.argv[1], float(sys.argv[2]), *map(int, sys.argv[3:4])):,} inputs")
