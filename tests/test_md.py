"""What Linux md asks of its drives and what an array asks of its own, for the same writes and reads."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import kernel
import ssdlab
from nvme_host import NQN
from nvme_target import targets
from test_serve import SMALL

KIB = 1024
CHUNK = 64 * KIB


class Case(NamedTuple):
    """An array, and requests to it: reads or writes, first KiB, KiB. Of its drives one may have failed before."""

    level: str
    drives: int
    layout: str
    requests: tuple[tuple[str, int, int], ...]
    failed: int | None = None


def small(op: str, step: int, kib: int, count: int = 12) -> tuple[tuple[str, int, int], ...]:
    """Requests of so many KiB, each in a stripe that none has met before."""
    return tuple((op, 8 * 1024 + step * number, kib) for number in range(count))


# No request meets what another one has left in the cache of md.
CASES = {
    "4 KiB on 4+1": Case("5", 5, 'layout = "raid5"', small("W", 64 * 17, 4)),
    "16 KiB on 4+1": Case("5", 5, 'layout = "raid5"', small("W", 64 * 17, 16)),
    "two of four chunks": Case("5", 5, 'layout = "raid5"', small("W", 256, 128)),
    "three of four chunks": Case("5", 5, 'layout = "raid5"', small("W", 256, 192)),
    "whole stripes of 4+1": Case("5", 5, 'layout = "raid5"', small("W", 256, 256)),
    "4 KiB on 4+2": Case("6", 6, 'layout = "raid6"', small("W", 64 * 17, 4)),
    "three chunks of 4+2": Case("6", 6, 'layout = "raid6"', small("W", 256, 192)),
    "whole stripes of 4+2": Case("6", 6, 'layout = "raid6"', small("W", 256, 256)),
    "reads of 4+1": Case("5", 5, 'layout = "raid5"', small("R", 64 * 17, 64)),
    "copies": Case("1", 2, 'layout = "mirror"', small("W", 64 * 17, 16)),
    "a stripe set": Case("0", 4, 'layout = "stripe"', small("W", 64 * 17, 192)),
    "4 KiB on 4+1 of which one has failed": Case("5", 5, 'layout = "raid5"', small("W", 64 * 17, 4, 15), 1),
    "two of four chunks on 4+1 of which one has failed": Case("5", 5, 'layout = "raid5"', small("W", 256, 128, 15), 3),
    "three of four chunks on 4+1 of which one has failed": Case("5", 5, 'layout = "raid5"', small("W", 256, 192), 4),
    "whole stripes of 4+1 of which one has failed": Case("5", 5, 'layout = "raid5"', small("W", 256, 256), 0),
    "reads of 4+1 of which one has failed": Case("5", 5, 'layout = "raid5"', small("R", 64 * 17, 64, 15), 2),
    "reads of whole stripes of 4+1 of which one has failed": Case("5", 5, 'layout = "raid5"', small("R", 256, 256), 2),
    "4 KiB on 4+2 of which one has failed": Case("6", 6, 'layout = "raid6"', small("W", 64 * 17, 4), 1),
    "copies of which one has failed": Case("1", 2, 'layout = "mirror"', small("W", 64 * 17, 16), 0),
    "reads of copies of which one has failed": Case("1", 2, 'layout = "mirror"', small("R", 64 * 17, 64), 1),
}

BEGIN = """
present() { for turn in $(seq 60); do [ -b /dev/$1 ] && return; sleep 1; done; }
echo 3600 >/sys/module/nvme_core/parameters/io_timeout
# What a drive was asked for is counted at its path.
counts() { for drive in $2; do set -- "$1" "$2" $(cat /sys/block/${drive%n1}c*n1/stat); echo "$1 $drive $5 $9"; done; }
"""
ATTACH = f"""
run nvme connect -t tcp -a 10.0.2.2 -s {{port}} -n {NQN.rpartition(":")[0]}:d{{number}} -i 1 -k 3600
present nvme{{number}}n1
echo 0 >/sys/block/nvme{{number}}n1/queue/read_ahead_kb
"""
# Metadata in the end of drives: the first sectors are data. A first write marks the array as active, which is written
# to all drives.
MAKE = """
run mdadm --create /dev/md0 --metadata=1.0 --level={level} --raid-devices={count} {chunk} --assume-clean --run {drives}
echo 0 >/sys/block/md0/md/safe_mode_delay
echo 0 >/sys/block/md0/queue/read_ahead_kb
run dd if=/debian/busybox of=/dev/md0 bs=4k count=1 oflag=direct
{fails}
sleep 1
run counts before "{names}"
{requests}
sleep 1
run counts after "{names}"
run mdadm --stop /dev/md0
run mdadm --zero-superblock {drives}
"""


def _script(case: Case, label: str) -> str:
    names = [f"nvme{number}n1" for number in range(case.drives)]
    lines = []
    for op, first, kib in case.requests:
        does = f"{'pwrite' if op == 'W' else 'pread'} -q -b {kib}k {first}k {kib}k"
        lines.append(f'/debian/xfs_io -d -c "{does}" /dev/md0 || echo failed')
    made = MAKE.format(
        level=case.level,
        count=case.drives,
        chunk="--bitmap=none" if case.level == "1" else "--chunk=64",
        drives=" ".join(f"/dev/{name}" for name in names),
        fails="" if case.failed is None else f"run mdadm /dev/md0 --fail /dev/{names[case.failed]}",
        names=" ".join(names),
        requests="\n".join(lines),
    )
    return made.replace("counts before", f'counts "before {label}"').replace("counts after", f'counts "after {label}"')


def _of_md(text: dict[str, str], case: Case, label: str) -> tuple[int, int]:
    """Bytes that all drives have read and written between the two counts."""
    sums = []
    for when in ("before", "after"):
        [said] = [lines for line, lines in text.items() if line.startswith(f"counts {when} {label} ")]
        rows = [line.removeprefix(f"{when} {label} ").split() for line in said.splitlines() if label in line]
        assert len(rows) == case.drives
        sums.append([sum(int(row[column]) for row in rows) * 512 for column in (1, 2)])
    return sums[1][0] - sums[0][0], sums[1][1] - sums[0][1]


def _of_ours(folder: Path, case: Case) -> tuple[int, int]:
    array, trace = folder / "array.toml", folder / "requests.csv"
    drives = [f"[drive.d{number}]\nsettings = {[*SMALL]}\n" for number in range(case.drives)]
    if case.failed is not None:
        drives[case.failed] += 'fails_at = "0ns"\n'
    array.write_text(f'[array]\n{case.layout}\nchunk = "64KiB"\n' + "".join(drives))
    lines = [f"{number},{op},{first * KIB},{kib * KIB}\n" for number, (op, first, kib) in enumerate(case.requests)]
    trace.write_text("".join(lines))
    how = "csv:time=us,op=R/W,offset=B,size=B"
    result = ssdlab.run(array=array, workload=trace, format=how, replay="closed:1")
    to_drives = result["array"]["bytes_to_drives"]
    return tuple(sum(to_drives[key] for key in to_drives if key.startswith(of)) for of in ("read", "write"))


def _for_no_parity(case: Case) -> int:
    """Bytes that md reads and an array does not: where a drive of the stripe's parity has failed, md works all parity
    out of all data, and what is written on that drive as well."""
    parities = {"5": 1, "6": 2}.get(case.level, 0)
    data, bytes_read = case.drives - parities, 0
    for op, first, kib in case.requests:
        last = case.drives - 1 - first // 64 // data % case.drives
        if op == "W" and case.failed in {(last + number) % case.drives for number in range(parities)}:
            each, chunks = min(kib, 64) * KIB, -(-kib // 64)
            rest = data - chunks
            bytes_read += (rest - (min(rest, chunks + 1) if parities == 2 else 0)) * each
    return bytes_read


@pytest.mark.seldom
@pytest.mark.skipif(bool(kernel.missing()), reason=f"not installed: {', '.join(kernel.missing())} (make machine)")
def test_an_array_reads_and_writes_as_much_as_linux_md(tmp_path: Path) -> None:
    drives = max(case.drives for case in CASES.values())
    keys = "\n".join(f'"{key}" = {value}' for key, value in (word.split("=") for word in SMALL))
    sections = [f"[d{number}]\n{keys}\n" for number in range(drives)]
    (tmp_path / "drives.toml").write_text("".join(sections))
    with targets(tmp_path) as begin:
        target = begin("drives.toml")
        attach = [ATTACH.format(port=target.place[1], number=number) for number in range(drives)]
        labels = {key: key.replace(" ", "-") for key in CASES}
        scripts = [_script(case, labels[key]) for key, case in CASES.items()]
        said = kernel.play(BEGIN + "".join(attach) + "".join(scripts), tmp_path, 3000)
    found = {key: _of_md(said, case, labels[key]) for key, case in CASES.items()}
    ours = {key: _of_ours(tmp_path, case) for key, case in CASES.items()}
    assert found == {key: (reads + _for_no_parity(CASES[key]), writes) for key, (reads, writes) in ours.items()}
