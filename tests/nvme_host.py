"""A host of NVMe/TCP without a kernel, as plain as can be and able to break every rule: a connection is a queue.

Layouts are those of the NVM Express Base Specification 2.0, NVM Command Set Specification 1.0 and TCP Transport
Specification 1.0.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple

from conftest import HANGS_S

NQN = "nqn.2026-01.internal.ssdlab:drive"
DISCOVERY = "nqn.2014-08.org.nvmexpress.discovery"
HOST = "nqn.2014-08.org.nvmexpress:uuid:5b5ab3bc-54f2-4d9f-9f4b-0c4f0f5a8f11"
BLOCK = 512
NVM_ALONE, ALL_SETS = 0, 6
"""Command sets that a controller is enabled for (CC.CSS)."""

_TABLE = [0] * 256
for _byte in range(256):
    _value = _byte
    for _ in range(8):
        _value = _value >> 1 ^ (0x82F63B78 if _value & 1 else 0)
    _TABLE[_byte] = _value


def crc32c(data: bytes) -> int:
    """CRC-32C (RFC 3720, B.4), bit by bit as the specification has it."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


class RefusedError(Exception):
    """A command that ended with a status other than success."""

    def __init__(self, status: int, result: int) -> None:
        super().__init__(f"status {status:#05x}")
        self.status = status
        """Type and code: bits 10:0 of the status without the phase tag, More and Do Not Retry."""
        self.result = result


class TerminatedError(Exception):
    """The controller has ended the connection: with a fatal error status and information, or without a word."""

    def __init__(self, status: int | None, information: int = 0) -> None:
        super().__init__(f"C2HTermReq {status}, {information}")
        self.status = status
        self.information = information


class Completion(NamedTuple):
    command: int
    status: int
    result: int
    data: bytes
    dnr: bool


class Queue:
    """A connection. Commands may be sent without waiting (:meth:`send`), or one at a time (:meth:`ask`)."""

    def __init__(
        self,
        place: tuple[str, int],
        *,
        header_digest: bool = False,
        data_digest: bool = False,
        alignment: int = 0,
        agrees: bool = True,
    ) -> None:
        self.socket = socket.create_connection(place)
        self.socket.settimeout(HANGS_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.header_digest, self.data_digest, self.alignment = header_digest, data_digest, alignment
        self._next = 0
        self._data: dict[int, bytes] = {}
        self._to_send: dict[int, bytes] = {}
        self.ready_to_transfer = 0
        """How often the controller has asked for data (R2T)."""
        if agrees:
            digests = header_digest | data_digest << 1
            request = struct.pack("<BBBBIHBBI", 0, 0, 128, 0, 128, 0, alignment, digests, 0)
            self.socket.sendall(request.ljust(128, b"\0"))
            answer = self._take(128)
            assert answer[:4] == bytes([1, 0, 128, 0])
            assert answer[11] == digests
            (self.most_data,) = struct.unpack_from("<I", answer, 12)

    def close(self) -> None:
        self.socket.close()

    def _take(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            try:
                more = self.socket.recv(length - len(data))
            except ConnectionResetError:
                more = b""
            if not more:
                raise TerminatedError(None)
            data += more
        return data

    def unit(self, kind: int, header: bytes, data: bytes = b"", flags: int = 0) -> bytes:
        """A protocol data unit, with the digests that were agreed on."""
        length = 8 + len(header)
        place = length + 4 * self.header_digest
        total = place + len(data) + (4 if data and self.data_digest else 0)
        flags |= self.header_digest | (self.data_digest and bool(data)) << 1
        head = struct.pack("<BBBBI", kind, flags, length, place if data else 0, total) + header
        if self.header_digest:
            head += struct.pack("<I", crc32c(head))
        if data and self.data_digest:
            data += struct.pack("<I", crc32c(data))
        return head + data

    def send(
        self,
        opcode: int,
        *dwords: int,
        namespace: int = 0,
        data: bytes = b"",
        expects: int = 0,
        capsule: bool = False,
        fuse: int = 0,
    ) -> int:
        """Sends a command with dwords 10 to 15; returns its name. ``data`` goes in the capsule, or when asked for.
        ``fuse`` is 1 for the first of two fused commands and 2 for the second."""
        command = self._next
        self._next = (self._next + 1) % 0x8000
        kind = 0x01 if capsule else 0x5A
        sgl = struct.pack("<QIBBBB", 0, len(data) or expects, 0, 0, 0, kind)
        entry = struct.pack("<BBHI16x", opcode, 0x40 | fuse, command, namespace) + sgl
        entry += struct.pack("<6I", *dwords, *[0] * (6 - len(dwords)))
        if data and not capsule:
            self._to_send[command] = data
        self.socket.sendall(self.unit(4, entry, data if capsule else b""))
        return command

    def receive(self) -> Completion:
        """The next completion; what the controller asks for until then is sent."""
        while True:
            header = self._take(8)
            kind, flags, length, place, total = struct.unpack("<BBBBI", header)
            header += self._take(length - 8)
            if kind == 3:
                status, information = struct.unpack_from("<HI", header, 8)
                self._take(total - length)
                raise TerminatedError(status, information)
            assert bool(flags & 1) == self.header_digest
            at = length
            if self.header_digest:
                assert struct.unpack("<I", self._take(4))[0] == crc32c(header)
                at += 4
            if kind == 7:
                command, _, offset, bytes_ = struct.unpack_from("<HHII", header, 8)
                assert flags & 4
                assert (offset, place % (4 * (self.alignment + 1))) == (0, 0)
                self._take(place - at)
                data = self._take(bytes_)
                at = place + bytes_
                if self.data_digest:
                    assert flags & 2
                    assert struct.unpack("<I", self._take(4))[0] == crc32c(data)
                    at += 4
                self._data[command] = data
            elif kind == 9:
                command, transfer, offset, bytes_ = struct.unpack_from("<HHII", header, 8)
                self.ready_to_transfer += 1
                self.transfer(command, transfer, self._to_send.pop(command)[offset : offset + bytes_])
            else:
                assert kind == 5, kind
                result, _, _, command, status = struct.unpack_from("<QHHHH", header, 8)
                return Completion(
                    command, status >> 1 & 0x7FF, result, self._data.pop(command, b""), bool(status >> 15)
                )
            assert at == total

    def transfer(self, command: int, transfer: int, data: bytes, piece: int = 40_000) -> None:
        """Sends data that was asked for, in pieces."""
        for at in range(0, len(data), piece):
            part = data[at : at + piece]
            header = struct.pack("<HHII4x", command, transfer, at, len(part))
            self.socket.sendall(self.unit(6, header, part, 4 if at + len(part) == len(data) else 0))

    def ask(self, opcode: int, *dwords: int, **how: object) -> tuple[int, bytes]:
        """Sends a command and waits for it; its result and data."""
        command = self.send(opcode, *dwords, **how)  # type: ignore[arg-type]
        done = self.receive()
        assert done.command == command
        if done.status:
            raise RefusedError(done.status, done.result)
        return done.result, done.data

    def connect(
        self,
        queue: int,
        controller: int = 0xFFFF,
        *,
        nqn: str = NQN,
        host: str = HOST,
        size: int = 127,
        keep_alive: int = 0,
    ) -> int:
        """Connects the queue; the controller's number."""
        data = bytes(range(16)) + struct.pack("<H", controller)
        data = data.ljust(256, b"\0") + nqn.encode().ljust(256, b"\0") + host.encode().ljust(256, b"\0")
        dwords = (queue << 16, size, keep_alive)
        result, _ = self.ask(0x7F, *dwords, namespace=1, data=data.ljust(1024, b"\0"), capsule=True)
        return result & 0xFFFF

    # Commands of an I/O queue.

    def read(self, block: int, blocks: int, **how: object) -> bytes:
        """Reads blocks."""
        _, data = self.ask(2, *span(block, blocks), namespace=1, expects=blocks * BLOCK, **how)
        return data

    def write(self, block: int, data: bytes, *, fua: bool = False, capsule: bool = False) -> None:
        """Writes blocks."""
        dwords = span(block, len(data) // BLOCK, fua << 30)
        self.ask(1, *dwords, namespace=1, data=data, capsule=capsule)


def span(block: int, blocks: int, flags: int = 0) -> tuple[int, int, int]:
    """Dwords 10 to 12 of a command of I/O."""
    return block & 0xFFFFFFFF, block >> 32, blocks - 1 | flags


class Host:
    """A host with an admin queue and some I/O queues."""

    def __init__(
        self, place: tuple[str, int], queues: int = 1, *, nqn: str = NQN, command_sets: int = ALL_SETS, **framing: bool
    ) -> None:
        self.place, self.nqn, self.framing = place, nqn, framing
        self.admin = Queue(place, **framing)
        self.controller = self.admin.connect(0, nqn=nqn)
        # Enabled, with queue entries of 64 and 16 bytes.
        self.admin.ask(0x7F, 0, 0x14, 0x460001 | command_sets << 4, namespace=0)
        status, _ = self.admin.ask(0x7F, 0, 0x1C, namespace=4)
        assert status & 1
        self.queues: list[Queue] = []
        if queues:
            granted, _ = self.admin.ask(9, 7, queues - 1 << 16 | queues - 1)
            assert granted & 0xFFFF == granted >> 16
            self.granted = (granted & 0xFFFF) + 1
            self.queues = [self.queue(number + 1) for number in range(min(queues, self.granted))]

    def queue(self, number: int, size: int = 127) -> Queue:
        """A further I/O queue."""
        queue = Queue(self.place, **self.framing)
        queue.connect(number, self.controller, nqn=self.nqn, size=size)
        return queue

    def identify(self, structure: int, namespace: int = 0, set_: int = 0, specific: int = 0) -> bytes:
        """A structure of 4,096 bytes."""
        _, data = self.admin.ask(6, structure, set_ << 24 | specific, namespace=namespace, expects=4096)
        return data

    def log(self, page: int, length: int, offset: int = 0) -> bytes:
        """A log page, or a part of it."""
        dwords = length // 4 - 1
        _, data = self.admin.ask(
            2, page | (dwords & 0xFFFF) << 16, dwords >> 16, offset, namespace=0xFFFFFFFF, expects=length
        )
        return data

    def close(self) -> None:
        """Leaves."""
        for queue in (*self.queues, self.admin):
            queue.close()


def ranges(found: Sequence[tuple[int, int]]) -> bytes:
    """Ranges of Dataset Management: block and how many."""
    return b"".join(struct.pack("<IIQ", 0, blocks, block) for block, blocks in found)
