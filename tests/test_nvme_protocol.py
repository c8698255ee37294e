"""Who may connect to drives that are served as NVMe drives, and what becomes of who breaks the protocol."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from nvme_host import BLOCK, DISCOVERY, HOST, Host, Queue, TerminatedError, span
from nvme_target import INVALID_FIELD, SEQUENCE, WRITE, Target, refused, targets, text
from test_serve import SETS


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    with targets(tmp_path) as begin:
        yield begin


def test_hosts_that_may_connect_and_how(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--allow-host", HOST, "--allow-host", "nqn.2014-08.org.nvmexpress:uuid:x")
    queue = Queue(target.place)
    refused(SEQUENCE, lambda: queue.ask(6, 1, expects=4096))
    refused(0x184, lambda: queue.connect(0, host="nqn.2014-08.org.nvmexpress:uuid:other"))
    found = refused(0x182, lambda: queue.connect(0, nqn="nqn.2026-01.internal.ssdlab:nothing"))
    assert found.result == 1 << 16 | 256, "where in the data"
    assert refused(0x182, lambda: queue.connect(0, size=0)).result == 44
    assert refused(0x182, lambda: queue.connect(0, size=500)).result == 44
    assert refused(0x182, lambda: queue.connect(3, 1)).result == 1 << 16 | 16
    controller = queue.connect(0)
    refused(SEQUENCE, lambda: queue.connect(0))
    refused(SEQUENCE, lambda: queue.ask(6, 1, expects=4096))
    io = Queue(target.place)
    refused(SEQUENCE, lambda: io.connect(1, controller))
    host = Host(target.place)
    assert host.controller != controller
    again = Queue(target.place)
    refused(SEQUENCE, lambda: again.connect(1, host.controller))
    assert refused(0x182, lambda: again.connect(2, host.controller)).result == 42, "it was given one queue"
    for other in (queue, io, again):
        other.close()
    host.close()


def test_the_discovery_controller_lists_the_drives(serve: Callable[..., Target], tmp_path: Path) -> None:
    keys = "\n".join(f'"{key}" = "{value}"' for key, value in (word.split("=") for word in SETS if word != "--set"))
    (tmp_path / "drives.toml").write_text(f"[fresh]\n{keys}\n[old]\n{keys}\n")
    target = serve("drives.toml", "--grace", "0ns")
    host = Host(target.place, queues=0, nqn=DISCOVERY)
    assert host.identify(1)[111] == 2
    log = host.log(0x70, 3072)
    assert struct.unpack_from("<QQH", log) == (1, 2, 0)
    found = []
    for at in (1024, 2048):
        assert log[at : at + 3] == bytes([3, 1, 2])
        assert (text(log, at + 512, 256), int(text(log, at + 32, 32))) == target.place
        found.append(log[at + 256 : at + 512].rstrip(b"\0").decode())
    assert found == [f"nqn.2026-01.internal.ssdlab:{name}" for name in ("fresh", "old")]
    refused(INVALID_FIELD, lambda: host.identify(0, 1))
    host.close()
    for number, nqn in enumerate(found):
        host = Host(target.place, nqn=nqn)
        host.queues[0].write(0, bytes([number]) * BLOCK)
        assert host.queues[0].read(0, 1) == bytes([number]) * BLOCK
        host.close()
    target.end()
    for name in ("fresh", "old"):
        assert target.result(f"out.{name}.json")["host"]["write"]["requests"] == 1


def terminated(status: int | None, queue: Queue, bytes_: bytes) -> TerminatedError:
    queue.socket.sendall(bytes_)
    with pytest.raises(TerminatedError) as found:
        queue.receive()
    assert found.value.status == status
    queue.close()
    return found.value


def test_who_breaks_the_protocol_is_left_and_nobody_else(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "0ns")
    host = Host(target.place)
    command = struct.pack("<BBHI16xQIBBBB24x", 0x7F, 0x40, 0, 1, 0, 0, 0, 0, 0, 0x5A)
    request = struct.pack("<BBBBIHBBI", 0, 0, 128, 0, 128, 0, 0, 0, 0).ljust(128, b"\0")

    def new(**framing: bool) -> Queue:
        return Queue(target.place, **framing)

    # Before anything is agreed on.
    for wrong, status, at in [
        (b"\x04" + request[1:], 2, 0),
        (request[:2] + b"\x10" + request[3:], 1, 2),
        (request[:8] + b"\x07" + request[9:], 6, 8),
        (request[:10] + b"\x40" + request[11:], 1, 10),
    ]:
        assert terminated(status, new(agrees=False), wrong).information == at
    # Headers: unknown types, lengths, digests that were not agreed on, a second ICReq.
    queue = new()
    assert terminated(1, queue, bytes([0x55, 0, 24, 0, 24, 0, 0, 0])).information == 0
    assert terminated(2, new(), request).information == 0
    queue = new()
    unit = queue.unit(4, command)
    assert terminated(1, queue, unit[:2] + b"\x40" + unit[3:]).information == 2
    assert terminated(1, new(), unit[:1] + b"\x01" + unit[2:]).information == 1
    assert terminated(1, new(), unit[:4] + struct.pack("<I", 8) + unit[8:]).information == 4
    assert terminated(5, new(), unit[:3] + b"\x48" + struct.pack("<I", 72 + 9000) + unit[8:]).information == 4
    # A digest that is wrong: of a header it ends the connection, of data the command.
    queue = new(header_digest=True)
    unit = queue.unit(4, command)
    assert terminated(3, queue, unit[:-1] + bytes([unit[-1] ^ 1])).information != 0
    hosts = [Host(target.place, data_digest=True)]
    queue = hosts[-1].queues[0]
    entry = struct.pack("<BBHI16xQIBBBBQI12x", 1, 0x40, 9, 1, 0, 512, 0, 0, 0, 1, 0, 0)
    unit = queue.unit(4, entry, bytes(512))
    queue.socket.sendall(unit[:-1] + bytes([unit[-1] ^ 1]))
    done = queue.receive()
    assert (done.command, done.status, done.dnr) == (9, 0x022, False)
    # Data that was not asked for, of another command, beyond the end, out of order, without an end.
    terminated(1, new(), queue.unit(6, struct.pack("<HHII4x", 0, 0, 0, 4), b"abcd", 4)[:28])

    def asked() -> tuple[Queue, int, int]:
        hosts.append(Host(target.place))
        of = hosts[-1].queues[0]
        sent = of.send(WRITE, *span(0, 8), namespace=1, data=bytes(4096))
        header = of._take(24)
        name, transfer = struct.unpack_from("<HH", header, 8)
        assert (header[0], name) == (9, sent)
        return of, sent, transfer

    for names, transfers, offset, length, status in [
        (1, 0, 0, 4096, 1),
        (0, 1, 0, 4096, 1),
        (0, 0, 512, 4096, 1),
        (0, 0, 0, 8192, 4),
        (0, 0, 0, 2048, 1),
    ]:
        of, name, transfer = asked()
        header = struct.pack("<HHII4x", name + names, transfer + transfers, offset, length)
        terminated(status, of, of.unit(6, header, bytes(length), 4))
    # More commands than the queue holds.
    hosts.append(Host(target.place))
    full = hosts[-1].queues[0]
    for number in range(127):
        full.send(WRITE, *span(8 * number, 8), namespace=1, data=bytes(4096))
    full.send(WRITE, *span(0, 8), namespace=1, data=bytes(4096))
    while True:
        try:
            header = full._take(24)
        except TerminatedError:
            break
        if header[0] == 3:
            assert struct.unpack_from("<H", header, 8) == (2,)
            break
    # The first host has noticed nothing.
    host.queues[0].write(0, b"x" * BLOCK)
    assert host.queues[0].read(0, 1) == b"x" * BLOCK
    host.close()
    target.end()


def test_a_host_that_falls_silent_is_left(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "0ns")
    queue = Queue(target.place)
    queue.connect(0, keep_alive=100)
    with pytest.raises(TerminatedError):
        queue._take(1)
    queue.close()


def test_a_host_that_does_not_listen_keeps_nobody_waiting(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "none")
    deaf = Host(target.place)
    deaf.admin.socket.settimeout(1)
    with suppress(TimeoutError):
        while True:
            deaf.admin.send(6, 1, expects=4096)
    host = Host(target.place)
    for block in range(20):
        host.queues[0].write(block, bytes([block]) * BLOCK)
        assert host.queues[0].read(block, 1) == bytes([block]) * BLOCK
    host.close()
    deaf.close()
    target.end()


def test_what_is_missing_or_too_much_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    for words, problem in [
        (["--nvme", "127.0.0.1:0", "--socket", "s"], "give --socket PATH, --listen HOST:PORT or --nvme HOST:PORT"),
        (["--socket", "s", "--allow-host", "x"], "give it with --nvme HOST:PORT"),
        (["--nvme", "nowhere"], "write HOST:PORT with a port that is free, such as 127.0.0.1:4420"),
    ]:
        done = subprocess.run(
            [sys.executable, "-m", "ssdlab", "serve", *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert problem in " ".join(done.stderr.split()), done.stderr
