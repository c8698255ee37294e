"""A stock kernel in a virtual machine sees drives that are served as NVMe drives."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kernel
from nvme_host import BLOCK, NQN
from nvme_target import Target, targets
from ssdlab.runs.control import tell
from test_nvme_zones import ZONES
from test_serve import SETS, SMALL


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    with targets(tmp_path) as begin:
        yield begin


ATTACH = """
run nvme discover -t tcp -a 10.0.2.2 -s {port}
run nvme connect -t tcp -a 10.0.2.2 -s {port} -n {nqn} -i 4 --hdr-digest --data-digest
for turn in 1 2 3 4 5 6 7 8 9 10; do [ -b /dev/nvme0n1 ] || sleep 1; done
"""
DETACH = """
run nvme disconnect -n {nqn}
"""
FIO = "--ioengine=libaio --iodepth=16 --verify=crc32c --verify_fatal=1"
USES = """
run nvme id-ctrl /dev/nvme0
run nvme id-ns /dev/nvme0n1
run fio --name=job --filename=/dev/nvme0n1 --direct=1 --rw=randwrite --bsrange=512-64k --size=8m {fio}
run mke2fs -q -t ext4 -F /dev/nvme0n1 64M
run mount -t ext4 -o discard /dev/nvme0n1 /mnt
run dd if=/dev/urandom of=/mnt/a bs=64k count=64
run cp /mnt/a /mnt/b
run umount /mnt
run mount -t ext4 /dev/nvme0n1 /mnt
run cmp /mnt/a /mnt/b
run rm /mnt/b
run umount /mnt
run e2fsck -fn /dev/nvme0n1
run mkfs.f2fs -q -f /dev/nvme0n1
run mount -t f2fs /dev/nvme0n1 /mnt
run dd if=/dev/urandom of=/mnt/a bs=64k count=16
run umount /mnt
run fsck.f2fs /dev/nvme0n1
run nvme write-zeroes /dev/nvme0n1 -s 0 -c 7
run nvme dsm /dev/nvme0n1 -a 0 -s 0,100 -b 8,8 -d
run nvme verify /dev/nvme0n1 -s 0 -c 7
run nvme copy /dev/nvme0n1 --sdlba=1000 --blocks=7 --slbs=0
run nvme reset /dev/nvme0
sleep 2
run dd if=/dev/nvme0n1 of=/dev/null bs=64k count=16
run cat /sys/block/nvme0n1/queue/physical_block_size
"""
PLACEMENT = """
run nvme fdp configs /dev/nvme0 -e 1
run nvme fdp usage /dev/nvme0 -e 1
run nvme fdp stats /dev/nvme0 -e 1
run nvme fdp events /dev/nvme0 -e 1
run nvme fdp status /dev/nvme0n1 -n 1
run nvme fdp update /dev/nvme0n1 -n 1 -p 0
run nvme fdp events /dev/nvme0 -e 1 -E
run nvme fdp set-events /dev/nvme0n1 -n 1 -p 0 -e -t 3
run nvme endurance-log /dev/nvme0 -g 1
"""
ERASES = """
run dd if=/debian/busybox of=/dev/nvme0n1 bs=64k count=4 conv=fsync
run nvme format /dev/nvme0n1 -s 1 --force
run cmp -n 262144 /dev/nvme0n1 /dev/zero
run dd if=/debian/busybox of=/dev/nvme0n1 bs=64k count=4 conv=fsync
run nvme sanitize /dev/nvme0 -a 2
sleep 1
run nvme sanitize-log /dev/nvme0
run cmp -n 262144 /dev/nvme0n1 /dev/zero
"""
WRITERS = """
echo 100 >/proc/sys/vm/dirty_expire_centisecs; echo 50 >/proc/sys/vm/dirty_writeback_centisecs
synced() {
    n=0
    while dd if=/dev/urandom of=/mnt/synced.$n bs=4k count=8 conv=fsync 2>/dev/null; do
        sum=$(md5sum </mnt/synced.$n) || break
        echo "$sum $n" >>/tmp/synced; n=$((n + 1))
    done
}
loose() { n=0; while dd if=/dev/urandom of=/mnt/loose.$((n % 8)) bs=16k count=8 2>/dev/null; do n=$((n + 1)); done; }
# Of "extra" alone the last commit outlives a power cut: a journal's removal is synced too.
commits() {
    n=0
    while /debian/sqlite3 /mnt/base "pragma synchronous=extra; insert into t values($n, hex(randomblob(2000)));"; do
        n=$((n + 1)); echo $n >/tmp/committed
    done 2>/dev/null
}
intact() {
    while read sum dash n; do
        [ "$(md5sum </mnt/synced.$n)" = "$sum  -" ] || { echo "synced.$n is not what it was"; return 1; }
    done </tmp/synced
    echo "intact: $(wc -l </tmp/synced)"
}
kept() {
    echo "rows: $1, committed: $(cat /tmp/committed)"
    [ "$1" -ge "$(cat /tmp/committed)" ]
}
outlives() {
    : >/tmp/synced; echo 0 >/tmp/committed
    run mount -t $1 /dev/nvme0n1 /mnt
    /debian/sqlite3 /mnt/base "create table t(n integer, data text);"; sync
    synced & loose & commits &
    while [ $(wc -l </tmp/synced) -lt 8 ] || [ $(cat /tmp/committed) -lt 4 ]; do sleep 1; done
    /debian/xfs_io -x -c shutdown /mnt
    asks cut
    wait
    run umount /mnt
    run mount -t $1 /dev/nvme0n1 /mnt
    run intact $1
    run sqlite3 /mnt/base "pragma integrity_check;"
    run kept "$(/debian/sqlite3 /mnt/base 'select count(*) from t;')" $1
    run umount /mnt
}
"""
CUTS = """
run mke2fs -q -t ext4 -F /dev/nvme0n1 256M
outlives ext4
run e2fsck -fn /dev/nvme0n1
run mkfs.f2fs -q -f /dev/nvme0n1
outlives f2fs
run fsck.f2fs /dev/nvme0n1
run mkfs.xfs -q -f -m reflink=0 /dev/nvme0n1
outlives xfs
run xfs_repair -n /dev/nvme0n1
"""
TOLD = """
run nvme smart-log /dev/nvme0
"""
CUTTABLE = ('power.cut_at=["on-demand"]', "mapping.journal=true", "mapping.checkpoint=64MiB", "ftl.hints=4")


@pytest.mark.seldom
@pytest.mark.skipif(bool(kernel.missing()), reason=f"not installed: {', '.join(kernel.missing())} (make machine)")
@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_a_kernel_sees_a_drive(serve: Callable[..., Target], clock: str, tmp_path: Path) -> None:
    sets = [word for key in (*CUTTABLE, "wear.endurance=3000") for word in ("--set", key)]
    target = serve(*SETS, "--age", "pec=1500", *sets, "--control", "c", "--clock", clock)
    # A guest that works never waits, so that simulated time would stand still: power is cut by the real clock alone.
    cuts = WRITERS + CUTS if clock == "real" else ""
    begins = (ATTACH + USES).format(port=target.place[1], nqn=NQN, fio=FIO)
    does = {"cut": lambda: tell(str(target.folder / "c"), {"do": "cut"})}
    said = kernel.play(begins + PLACEMENT + ERASES + cuts + TOLD + DETACH.format(nqn=NQN), tmp_path, 3000, does)
    words = {line.split()[0] + " " + line.split()[1]: text for line, text in said.items()}
    assert NQN in words["nvme discover"]
    assert "ssdlab tlc" in words["nvme id-ctrl"]
    assert "lbads:9" in words["nvme id-ns"]
    smart = dict(line.replace("\t", "").split(":", 1) for line in words["nvme smart-log"].splitlines() if ":" in line)
    smart = {key.strip(): value.split()[0] for key, value in smart.items() if value.strip()}
    assert smart["percentage_used"] == "50%"
    assert smart["media_errors"] == "0"
    assert smart["unsafe_shutdowns"] == ("3" if clock == "real" else "0")
    assert said["nvme fdp configs /dev/nvme0 -e 1"].count("Initially Isolated") == 4
    assert "Not Fully Written" in said["nvme fdp events /dev/nvme0 -e 1 -E"]
    assert "0x2" in said["nvme sanitize-log /dev/nvme0"]
    for system in ("ext4", "f2fs", "xfs") if clock == "real" else ():
        assert "intact: " in said[f"intact {system}"]
    assert int(smart["host_write_commands"].replace(",", "")) > 100
    target.end()
    result = target.result()
    assert result["serve"]["errors"] == 0
    assert result["serve"]["connections"] == 10, "an admin queue and four others, and again after the reset"
    assert said["cat /sys/block/nvme0n1/queue/physical_block_size"].strip() == "4096"
    assert result["host"]["write"]["requests"] == int(smart["host_write_commands"].replace(",", ""))


OFF = """
run mke2fs -q -t ext4 -F /dev/nvme0n1 64M
run mount -t ext4 /dev/nvme0n1 /mnt
run dd if=/debian/busybox of=/mnt/kept bs=64k conv=fsync
dd if=/dev/zero of=/mnt/lost bs=64k count=2 &
asks cut
wait
run sh -c "! dd if=/dev/zero of=/mnt/late bs=64k count=2 conv=fsync"
run umount /mnt
asks restore
run mount -t ext4 /dev/nvme0n1 /mnt
run cmp /mnt/kept /debian/busybox
run sh -c "! [ -s /mnt/late ]"
run umount /mnt
run e2fsck -fn /dev/nvme0n1
"""


@pytest.mark.seldom
@pytest.mark.skipif(bool(kernel.missing()), reason=f"not installed: {', '.join(kernel.missing())} (make machine)")
def test_a_file_system_outlives_a_time_without_power(serve: Callable[..., Target], tmp_path: Path) -> None:
    sets = [word for key in CUTTABLE[:3] for word in ("--set", key)]
    target = serve(*SETS, *sets, "--control", "c", "--clock", "real")
    control = str(target.folder / "c")
    does = {
        "cut": lambda: tell(control, {"do": "cut", "until": "restore"}),
        "restore": lambda: tell(control, {"do": "restore"}),
    }
    script = ATTACH.format(port=target.place[1], nqn=NQN) + OFF + DETACH.format(nqn=NQN)
    kernel.play(script, tmp_path, 600, does)
    target.end()
    result = target.result()
    assert result["power"]["cuts"] == 1
    assert result["serve"]["errors"] > 0, "what came without power"


ZONED_USES = """
run cat /sys/block/nvme0n1/queue/zoned /sys/block/nvme0n1/queue/chunk_sectors /sys/block/nvme0n1/queue/nr_zones
run nvme zns id-ns /dev/nvme0n1
run nvme zns report-zones /dev/nvme0n1 -d 3
run fio --name=job --filename=/dev/nvme0n1 --direct=1 --rw=write --bs=64k --size=192m {fio}
run nvme zns report-zones /dev/nvme0n1 -d 4
run nvme zns zone-append /dev/nvme0n1 -s 2097152 -z 4096 -d /debian/busybox
run nvme zns reset-zone /dev/nvme0n1 -s 0 -a
run nvme zns report-zones /dev/nvme0n1 -d 2
"""


@pytest.mark.seldom
@pytest.mark.skipif(bool(kernel.missing()), reason=f"not installed: {', '.join(kernel.missing())} (make machine)")
def test_a_kernel_sees_a_zoned_drive(serve: Callable[..., Target], tmp_path: Path) -> None:
    target = serve(*SETS, *ZONES)
    fio = "--zonemode=zbd --max_open_zones=2 --ioengine=psync --verify=crc32c"
    said = kernel.play((ATTACH + ZONED_USES + DETACH).format(port=target.place[1], nqn=NQN, fio=fio), tmp_path, 600)
    [queue] = [text for line, text in said.items() if line.startswith("cat ")]
    assert queue.split()[:2] == ["host-managed", str((128 << 20) // BLOCK)]
    target.end()
    assert target.result()["serve"]["errors"] == 0


F2FS = """
present() { for turn in $(seq 30); do [ -b /dev/$1 ] && return; sleep 1; done; }
present nvme0n2
run cat /sys/block/nvme0n1/queue/zoned /sys/block/nvme0n2/queue/zoned
run mkfs.f2fs -q -f -m -c /dev/nvme0n2 /dev/nvme0n1
run mount -t f2fs /dev/nvme0n1 /mnt
run dd if=/dev/urandom of=/mnt/a bs=64k count=256
run cp /mnt/a /mnt/b
run umount /mnt
run mount -t f2fs /dev/nvme0n1 /mnt
run cmp /mnt/a /mnt/b
run umount /mnt
run fsck.f2fs /dev/nvme0n1
"""
MANAGES = """
id=$(/debian/nvme id-ctrl /dev/nvme0 | awk '$1 == "cntlid" {print $3}')
run nvme id-ctrl /dev/nvme0
run nvme detach-ns /dev/nvme0 -n 2 -c $id
run nvme list-ns /dev/nvme0
run nvme list-ns /dev/nvme0 -a
run nvme delete-ns /dev/nvme0 -n 2
run nvme delete-ns /dev/nvme0 -n 1
run nvme create-ns /dev/nvme0 -s 8192 -c 8192 -f 1 -m 1
run nvme create-ns /dev/nvme0 -s 131072 -c 131072 -f 0 -m 1 -y 2
run nvme attach-ns /dev/nvme0 -n 1 -c $id
run nvme attach-ns /dev/nvme0 -n 2 -c $id
run nvme list-ns /dev/nvme0 -y 2
run nvme ns-rescan /dev/nvme0
present nvme0n1; present nvme0n2
run cat /sys/block/nvme0n1/queue/logical_block_size /sys/block/nvme0n2/queue/nr_zones
run nvme id-ns /dev/nvme0 -n 1
run mke2fs -q -t ext4 -F /dev/nvme0n1 30M
run e2fsck -fn /dev/nvme0n1
run fio --name=job --filename=/dev/nvme0n2 --direct=1 --rw=write --bs=64k --size=16m {fio}
run nvme zns open-zone /dev/nvme0n2 -s 65536 -r
run nvme zns zrwa-flush-zone /dev/nvme0n2 -l 65543
run nvme zns report-zones /dev/nvme0n2 -d 3
run nvme zns changed-zone-list /dev/nvme0n2
"""
"""Two namespaces of the drive, with conventional zones and with others, and then two others."""
F2FS_ZONES = (
    "geometry.blocks=96",
    "geometry.pages=240",
    "ftl.over_provisioning=0.2",
    "age.precondition=none",
    "age.fill=0",
    "ftl.mapping=zoned",
    "ftl.erase_when=reclaimed",
    "age.staggered=false",
    "power.plp=true",
    "buffer.size=16MiB",
    "zones.size=16MiB",
    "zones.conventional=4",
    "zones.max_open=8",
    "zones.max_active=8",
    "zones.random_area=256KiB",
)
"""F2FS wants six open zones and some tens of them in all."""


@pytest.mark.seldom
@pytest.mark.skipif(bool(kernel.missing()), reason=f"not installed: {', '.join(kernel.missing())} (make machine)")
def test_a_kernel_manages_namespaces(serve: Callable[..., Target], tmp_path: Path) -> None:
    target = serve(*(word for key in (*SMALL[:3], *F2FS_ZONES) for word in ("--set", key)))
    fio = "--zonemode=zbd --max_open_zones=2 --ioengine=psync --verify=crc32c"
    script = (ATTACH + DETACH).format(port=target.place[1], nqn=NQN).replace(DETACH.format(nqn=NQN), "")
    said = kernel.play(script + F2FS + MANAGES.replace("{fio}", fio) + DETACH.format(nqn=NQN), tmp_path, 1500)
    zoned, sizes = [text.split() for line, text in said.items() if line.startswith("cat ")]
    assert (zoned, sizes) == (["none", "host-managed"], ["4096", "4"])
    assert said["nvme list-ns /dev/nvme0"].split() == ["[", "0]:0x1"]
    assert said["nvme list-ns /dev/nvme0 -a"].split() == ["[", "0]:0x1", "[", "1]:0x2"]
    assert "nsid:1" in said["nvme create-ns /dev/nvme0 -s 8192 -c 8192 -f 1 -m 1"]
    assert "nsid:2" in said["nvme create-ns /dev/nvme0 -s 131072 -c 131072 -f 0 -m 1 -y 2"]
    zones = said["nvme zns report-zones /dev/nvme0n2 -d 3"]
    [line] = [line for line in zones.splitlines() if line.startswith("SLBA: 0x10000")]
    assert "WP: 0x10008" in line
    assert "State: 0x30" in line
    assert "Attrs: 0x8" in line, "it has a zone random write area"
    target.end()
    assert target.result()["serve"]["errors"] == 0


@pytest.mark.seldom
@pytest.mark.skipif(bool(kernel.missing()), reason=f"not installed: {', '.join(kernel.missing())} (make machine)")
def test_the_example_of_file_systems(tmp_path: Path) -> None:
    example = Path(__file__).parent.parent / "examples" / "serve" / "guest.py"

    def table(*words: str) -> dict[str, list[float]]:
        command = [sys.executable, str(example), *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=3000, check=True)
        lines = [line.replace(" ± ", "±") for line in done.stdout.splitlines()[1:]]
        cells = [re.match(r"(.*?)  +(.*)", line) for line in lines]
        return {
            found[1]: [float(cell.split("±")[0].replace(",", "")) for cell in found[2].split()]
            for found in cells
            if found
        }

    by_age = table("ycsb", "40")
    assert by_age["fresh"][0] > by_age["aged, pnar2"][0] > by_age["aged, baseline"][0]
    by_system = table("f2fs", "32")
    _, drive, flash, *_ = by_system["F2FS on zones"]
    assert drive == flash, "what zones hold is moved by the host alone"
    assert all(of_file >= 1 for _, _, _, of_file, *_ in by_system.values())
