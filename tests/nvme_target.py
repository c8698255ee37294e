"""``ssdlab serve --nvme`` for tests, and what its hosts hear."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nvme_host import RefusedError
from test_serve import Server

FLUSH, WRITE, READ, COMPARE, ZEROES, DEALLOCATE, VERIFY, COPY = 0, 1, 2, 5, 8, 9, 12, 0x19
READ_ONLY, UNRECOVERED, COMPARE_FAILURE, DEALLOCATED = 0x182, 0x281, 0x285, 0x287
FAILED_FUSED, MISSING_FUSED = 0x009, 0x00A
INVALID_OPCODE, INVALID_FIELD, INVALID_NAMESPACE, SEQUENCE, OUT_OF_RANGE = 0x001, 0x002, 0x00B, 0x00C, 0x080


class Target(Server):
    """``ssdlab serve --nvme`` in a folder of its own."""

    def __init__(self, folder: Path, words: tuple[str, ...]) -> None:
        super().__init__(folder, ("--nvme", "127.0.0.1:0", *words), None)
        host, _, port = self.log.read_text().partition("nvme+tcp://")[2].split("/")[0].rpartition(":")
        self.place = (host, int(port))


def refused(status: int, of: Callable[[], object]) -> RefusedError:
    with pytest.raises(RefusedError) as found:
        of()
    assert found.value.status == status, f"{found.value.status:#x}"
    return found.value


def text(data: bytes, at: int, length: int) -> str:
    return data[at : at + length].decode().strip()


@contextmanager
def targets(folder: Path) -> Iterator[Callable[..., Target]]:
    """Begins targets in a folder; they end with it."""
    begun: list[Target] = []

    def begin(*words: str) -> Target:
        begun.append(Target(folder, words))
        return begun[-1]

    yield begin
    for target in begun:
        if target.process.poll() is None:
            target.process.kill()
            target.process.wait()
