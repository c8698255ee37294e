"""Hosts prove who they are by DH-HMAC-CHAP (Base 2.0, 8.13), computed here by Python's own functions."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from conftest import Cli
from nvme_host import BLOCK, DISCOVERY, HOST, NQN, Host, Queue
from nvme_target import INVALID_FIELD, SEQUENCE, Target, refused, targets
from test_serve import SETS


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    with targets(tmp_path) as begin:
        yield begin


REQUIRED, INVALID_HOST = 0x191, 0x184
PROTOCOL = 0xE9 << 24 | 1 << 16 | 1 << 8
NEGOTIATE, CHALLENGE, REPLY, SUCCESS_1, SUCCESS_2, FAILURE_1 = 0x0000, 0x0101, 0x0201, 0x0301, 0x0401, 0xF000
HASHES = {1: "sha256", 2: "sha384", 3: "sha512"}
# RFC 7919, appendix A.1.
PRIME = int(
    "FFFFFFFFFFFFFFFFADF85458A2BB4A9AAFDC5620273D3CF1D8B9C583CE2D3695A9E13641146433FBCC939DCE249B3EF9"
    "7D2FE363630C75D8F681B202AEC4617AD3DF1ED5D5FD65612433F51F5F066ED0856365553DED1AF3B557135E7F57C935"
    "984F0C70E0E68B77E2A689DAF3EFE8721DF158A136ADE73530ACCA4F483A797ABC0AB182B324FB61D108A94BB2C8E3FB"
    "B96ADAB760D7F4681D4F42A3DE394DF4AE56EDE76372BB190B07A7C8EE0A6D709E02FCE1CDF7E2ECC03404CD28342F61"
    "9172FE9CE98583FF8E4F1232EEF28183C3FE3B1B4C6FAD733BB5FCBC2EC22005C58EF1837D1683B2C6F34A26C1B2EFFA"
    "886B423861285C97FFFFFFFFFFFFFFFF",
    16,
)


def secret(key: bytes, hash_: int = 0) -> str:
    """As `nvme gen-dhchap-key` writes it."""
    return f"DHHC-1:{hash_:02}:{base64.b64encode(key + struct.pack('<I', zlib.crc32(key))).decode()}:"


def transformed(key: bytes, hash_: int, nqn: str) -> bytes:
    return key if hash_ == 0 else hmac.digest(key, nqn.encode() + b"NVMe-over-Fabrics", HASHES[hash_])


def send(queue: Queue, message: bytes) -> None:
    queue.ask(0x7F, PROTOCOL, len(message), namespace=5, data=message)


def receive(queue: Queue) -> tuple[int, bytes]:
    _, data = queue.ask(0x7F, PROTOCOL, 2048, namespace=6, expects=2048)
    return struct.unpack_from("<H", data)[0], data


def negotiate(queue: Queue, hashes: list[int], groups: list[int], concatenates: int = 0) -> tuple[int, bytes]:
    offers = struct.pack("<BBBB", 1, 0, len(hashes), len(groups)) + bytes(hashes).ljust(30, b"\0")
    send(queue, struct.pack("<HHHBB", NEGOTIATE, 0, 7, concatenates, 1) + offers + bytes(groups).ljust(30, b"\0"))
    return receive(queue)


def reply(queue: Queue, challenge: bytes, key: bytes, *, mutual: bool = False) -> tuple[int, bytes, bytes]:
    """Answers a challenge; what comes then, and what a controller would prove itself by, but for its key."""
    length, _, hash_, group, public, sequence = struct.unpack_from("<BBBBHI", challenge, 6)
    value, public_of_drive = challenge[16 : 16 + length], challenge[16 + length : 16 + length + public]
    name, own, shared = HASHES[hash_], b"", b""
    if group:
        exponent = int.from_bytes(os.urandom(64))
        own = pow(2, exponent, PRIME).to_bytes(256)
        shared = pow(int.from_bytes(public_of_drive), exponent, PRIME).to_bytes(256)

    def augmented(value: bytes) -> bytes:
        return hmac.digest(hashlib.new(name, shared).digest(), value, name) if group else value

    said = struct.pack("<IHB", sequence, 7, 0) + b"HostHost" + HOST.encode() + b"\0" + NQN.encode()
    response = hmac.digest(key, augmented(value) + said, name)
    other = os.urandom(length)
    head = struct.pack("<HHHBBBBHI", REPLY, 0, 7, length, 0, mutual, 0, len(own), 99)
    send(queue, head + response + other + own)
    kind, data = receive(queue)
    proof = augmented(other) + struct.pack("<IHB", 99, 7, 0) + b"Controller" + NQN.encode() + b"\0" + HOST.encode()
    return kind, data, proof


KEY, OTHER = os.urandom(32), os.urandom(48)


def secrets(folder: Path, text: str, mode: int = 0o600) -> list[str]:
    (folder / "secrets").write_text(text)
    (folder / "secrets").chmod(mode)
    return ["--dhchap-secrets", "secrets"]


@pytest.mark.parametrize("hash_", [0, 1, 2, 3])
@pytest.mark.parametrize("group", [0, 1])
def test_a_host_and_a_drive_prove_who_they_are(
    serve: Callable[..., Target], tmp_path: Path, hash_: int, group: int
) -> None:
    words = secrets(tmp_path, f"# hosts\n{HOST} {secret(KEY, hash_)} {secret(OTHER, 3)}\n")
    target = serve(*SETS, *words, "--grace", "0ns")
    of_hash = hash_ or 1
    # Looking at what there is needs no proof; other hosts are not let in.
    Host(target.place, queues=0, nqn=DISCOVERY).close()
    stranger = Queue(target.place)
    refused(INVALID_HOST, lambda: stranger.connect(0, host="nqn.2014-08.org.nvmexpress:uuid:other"))
    admin = Queue(target.place)
    controller = admin.connect(0)
    refused(REQUIRED, lambda: admin.ask(0x7F, 0, 0x14, 0x460001, namespace=0))
    refused(SEQUENCE, lambda: receive(admin))
    refused(INVALID_FIELD, lambda: admin.ask(0x7F, 0, 8, namespace=5, data=bytes(8)))

    def prove(queue: Queue, *, mutual: bool) -> None:
        kind, challenge = negotiate(queue, [9, of_hash], [group])
        assert kind == CHALLENGE
        assert challenge[8:10] == bytes([of_hash, group])
        kind, data, proof = reply(queue, challenge, transformed(KEY, hash_, HOST), mutual=mutual)
        assert (kind, data[8]) == (SUCCESS_1, mutual)
        if mutual:
            refused(REQUIRED, lambda: queue.ask(0x18))
            expected = hmac.digest(transformed(OTHER, 3, NQN), proof, HASHES[of_hash])
            assert data[16 : 16 + len(expected)] == expected
            send(queue, struct.pack("<HHH10x", SUCCESS_2, 0, 7))

    prove(admin, mutual=True)
    admin.ask(0x7F, 0, 0x14, 0x460001, namespace=0)
    queue = Queue(target.place)
    queue.connect(1, controller)
    refused(REQUIRED, lambda: queue.read(0, 1))
    refused(REQUIRED, lambda: queue.write(0, bytes(BLOCK)))
    prove(queue, mutual=False)
    queue.write(0, b"y" * BLOCK)
    assert queue.read(0, 1) == b"y" * BLOCK
    for of in (stranger, queue, admin):
        of.close()
    target.end()
    assert target.result()["host"]["write"]["requests"] == 1


def test_who_proves_nothing_is_told_why(serve: Callable[..., Target], tmp_path: Path) -> None:
    target = serve(*SETS, *secrets(tmp_path, f"{HOST} {secret(KEY)}"), "--grace", "0ns")

    def failed(data: tuple[int, bytes], why: int) -> None:
        kind, message = data
        assert (kind, message[4:8]) == (FAILURE_1, bytes([7, 0, 1, why]))

    def new() -> Queue:
        queue = Queue(target.place)
        queue.connect(0)
        return queue

    failed(negotiate(new(), [1], [0], concatenates=1), 3)
    failed(negotiate(new(), [9], [0]), 4)
    failed(negotiate(new(), [1], [9]), 5)
    failed(negotiate(new(), [1] * 30, [0] * 0), 5)
    queue = new()
    send(queue, struct.pack("<HHHBB", NEGOTIATE, 0, 7, 0, 2) + bytes(64))
    failed(receive(queue), 6)
    queue = new()
    send(queue, struct.pack("<HHHBB", NEGOTIATE, 0, 7, 0, 1) + bytes(64))
    failed(receive(queue), 2)
    queue = new()
    send(queue, struct.pack("<HHH10x", SUCCESS_2, 0, 7))
    failed(receive(queue), 7)
    # A wrong secret, and a drive that has none although the host asks for it: that connection has no other try.
    for key, mutual in ((OTHER, False), (KEY, True)):
        queue = new()
        kind, data, _ = reply(queue, negotiate(queue, [1], [0])[1], key, mutual=mutual)
        failed((kind, data), 1)
        refused(SEQUENCE, partial(send, queue, bytes(16)))
        refused(REQUIRED, partial(queue.ask, 0x18))
    # A number that anybody could guess.
    queue = new()
    _, challenge = negotiate(queue, [1], [1])
    assert len(challenge) == 2048
    send(queue, struct.pack("<HHHBBBBHI", REPLY, 0, 7, 32, 0, 0, 0, 256, 1) + bytes(64) + (1).to_bytes(256))
    failed(receive(queue), 6)
    target.end()


def test_a_file_of_secrets_that_is_none_is_an_error_with_a_remedy(cli: Cli, tmp_path: Path) -> None:
    good = secret(KEY)
    for text, mode, problem in [
        (f"{HOST} {good}", 0o644, "others may read it"),
        ("", 0o600, "has no secret"),
        (HOST, 0o600, "secrets:1: is not a host of its own with one or two secrets"),
        (f"{HOST} {good}\n{HOST} {good}", 0o600, "secrets:2: is not a host"),
        (f"{HOST} DHHC-1:00:{'A' * 48}:", 0o600, "secrets:1: a secret is no DHHC-1:HASH:KEY: with its digest"),
        (f"{HOST} {good.replace(':00:', ':07:')}", 0o600, "a secret is no DHHC-1"),
    ]:
        done = cli("serve", "--nvme", "127.0.0.1:0", *secrets(tmp_path, text, mode))
        assert (done.returncode, problem in done.stderr, "help:" in done.stderr) == (2, True, True), done.stderr
    assert "cannot be read" in cli("serve", "--nvme", "127.0.0.1:0", "--dhchap-secrets", "no").stderr
    assert "are of NVMe" in cli("serve", "--socket", "s", "--dhchap-secrets", "secrets").stderr
