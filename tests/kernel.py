"""A stock Linux kernel in a virtual machine without root: QEMU emulates the processor, and its user-mode network
reaches servers of this machine at 10.0.2.2. The file system is an archive in memory of Debian's own programs."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

QEMU = "qemu-system-x86_64"
PROGRAMS = (
    "busybox",
    "nvme",
    "fio",
    "mke2fs",
    "e2fsck",
    "mkfs.f2fs",
    "fsck.f2fs",
    "mkfs.xfs",
    "xfs_repair",
    "xfs_io",
    "sqlite3",
    "mdadm",
)
MODULES = ("virtio_pci", "virtio_net", "nvme-tcp", "ext4", "f2fs", "xfs", "raid0", "raid1", "raid456")
PATH = f"{os.environ['PATH']}:/sbin:/usr/sbin"


def kernel() -> Path | None:
    """A kernel of Debian with its modules, the newest one."""
    found = [path for path in Path("/boot").glob("vmlinuz-*") if _modules(path).is_dir()]
    return max(found, default=None, key=lambda path: path.stat().st_mtime)


def missing() -> list[str]:
    """What is needed and is not here."""
    programs = [program for program in (QEMU, *PROGRAMS) if shutil.which(program, path=PATH) is None]
    return programs + ([] if kernel() is not None else ["a kernel in /boot with its modules (linux-image-amd64)"])


def _modules(of: Path) -> Path:
    return Path("/lib/modules") / of.name.removeprefix("vmlinuz-")


def _needed(program: str) -> dict[str, Path]:
    """A program and its libraries, by where they belong."""
    path = shutil.which(program, path=PATH)
    assert path is not None
    listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    libraries = re.findall(r"(/\S+) \(0x", listed)
    return {f"debian/{program}": Path(path)} | {library.lstrip("/"): Path(library) for library in libraries}


def _loaded(of: Path) -> list[Path]:
    """Files of modules, each after those that it needs."""
    version, found = _modules(of).name, []
    for module in MODULES:
        listed = subprocess.run(
            ["/sbin/modprobe", "-S", version, "--show-depends", module], capture_output=True, text=True, check=True
        )
        found += [Path(line.split()[1]) for line in listed.stdout.splitlines() if line.startswith("insmod")]
    return list(dict.fromkeys(found))


class _Archive:
    """An initramfs: a cpio archive in the format `newc`."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.folders: set[str] = set()

    def add(self, name: str, mode: int, data: bytes = b"") -> None:
        folder = name.rpartition("/")[0]
        if folder and folder not in self.folders:
            self.folders.add(folder)
            self.add(folder, stat.S_IFDIR | 0o755)
        path = name.encode() + b"\0"
        fields = (len(self.parts) + 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + path
        self.parts.append(head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4))

    def whole(self) -> bytes:
        self.add("TRAILER!!!", 0)
        return b"".join(self.parts)


def _archive(of: Path, script: str, given: Mapping[str, bytes]) -> bytes:
    archive = _Archive()
    for name, data in given.items():
        archive.add(f"files/{name}", stat.S_IFREG | 0o644, data)
    for folder in ("proc", "sys", "dev", "tmp", "mnt"):
        archive.folders.add(folder)
        archive.add(folder, stat.S_IFDIR | 0o755)
    files = {name: path for program in PROGRAMS for name, path in _needed(program).items()}
    for name, path in files.items():
        archive.add(name, stat.S_IFREG | 0o755, path.read_bytes())
    modules = _loaded(of)
    for module in modules:
        archive.add(f"modules/{module.name}", stat.S_IFREG | 0o644, module.read_bytes())
    loads = "\n".join(f"insmod /modules/{module.name} || echo cannot load {module.name}" for module in modules)
    init = f"""#!/debian/busybox sh
/debian/busybox mkdir /bin; /debian/busybox --install -s /bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
{loads}
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
run() {{
    echo; echo "== run $*"
    if [ -x /debian/$1 ]; then /debian/"$@" 2>&1; else "$@" 2>&1; fi
    code=$?; echo; echo "== ended $code"
}}
asks() {{ echo; echo "== asks $1"; read answer; }}
{script}
echo == all
poweroff -f
"""
    archive.add("init", stat.S_IFREG | 0o755, init.encode())
    return archive.whole()


def play(
    script: str,
    folder: Path,
    seconds: float,
    does: Mapping[str, Callable[[], object]] | None = None,
    files: Mapping[str, bytes] | None = None,
    processors: int = 4,
) -> dict[str, str]:
    """Plays a script in a virtual machine; what each of its lines ``run PROGRAM …`` has printed, by the line. At a line
    ``asks WORD`` the machine waits until what ``does`` has for the word is done. It has ``files`` in /files, and this
    many ``processors``.

    Raises:
        AssertionError: one of them failed, or the machine did not come to the end.
    """
    of = kernel()
    assert of is not None
    archive = folder / "initramfs"
    archive.write_bytes(_archive(of, script, files or {}))
    words = [QEMU, "-accel", "tcg", "-cpu", "max", "-smp", str(processors), "-m", "1024", "-nographic", "-no-reboot"]
    words += ["-kernel", str(of), "-initrd", str(archive), "-append", "console=ttyS0 quiet panic=-1 no_timer_check"]
    # Without the check of the timer, which a busy machine fails.
    words += ["-netdev", "user,id=n", "-device", "virtio-net-pci,netdev=n", "-monitor", "none"]
    log = folder / "console"
    machine = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert machine.stdin is not None
    assert machine.stdout is not None
    ends = threading.Timer(seconds, machine.kill)
    ends.start()
    try:
        with log.open("wb") as console:
            for piece in machine.stdout:
                console.write(piece)
                console.flush()
                if asked := re.match(rb"== asks (\w+)", piece):
                    (does or {})[asked[1].decode()]()
                    machine.stdin.write(b"\n")
                    machine.stdin.flush()
    finally:
        ends.cancel()
        machine.kill()
        machine.wait()
    printed = log.read_text(errors="replace").replace("\r", "")
    assert "== all" in printed, printed[-5000:]
    said: dict[str, str] = {}
    line = None
    for text in printed.splitlines():
        begun, ended = re.match(r"== run (.*)", text), re.match(r"== ended (\d+)", text)
        if begun:
            line = begun[1]
            said[line] = ""
        elif ended and line is not None:
            assert ended[1] == "0", f"{line}\n{said[line]}"
            line = None
        elif line is not None:
            said[line] += text + "\n"
    return said
