"""FTLs of one's own to begin with: `ssdlab run --ftl examples/own_ftl.py:PageMapped` (docs/own-ftl.md)."""

from __future__ import annotations

from ssdlab.policy import Blocks, Candidate, DriveLayout


class PageMapped:
    """Any page may be anywhere: a map, the plane that an address is dealt to, and greedy collection.

    It decides as the drive's own FTL does with `ftl.placement = "static"` and `gc.victim = "greedy"`, and so it has
    the same results.
    """

    def __init__(self, drive: DriveLayout) -> None:
        self.drive = drive
        self.places: dict[int, int] = {}

    def write(self, lpn: int, hint: int, dealt: int) -> int | tuple[int, int]:
        return dealt

    def placed(self, lpn: int, ppn: int, moved: bool) -> None:
        self.places[lpn] = ppn

    def trimmed(self, lpn: int) -> None:
        self.places.pop(lpn, None)

    def locate(self, lpn: int) -> int | None:
        return self.places.get(lpn)

    def reclaim(self, plane: int, blocks: Blocks) -> Candidate | int | None:
        valid = blocks.least_valid
        return blocks.oldest(valid) if valid is not None and valid < blocks.limit else None


class HotCold(PageMapped):
    """A page map with two streams (`ftl.streams` = 4): what is written again sooner than on average is hot.

    It remembers when each page was written last, in pages written to the drive, and how long that lasts on average.
    """

    def __init__(self, drive: DriveLayout) -> None:
        super().__init__(drive)
        self.written = 0
        self.last: dict[int, int] = {}
        self.mean = float(drive.logical_pages)

    def write(self, lpn: int, hint: int, dealt: int) -> tuple[int, int]:
        self.written += 1
        since = self.written - self.last.get(lpn, self.written - self.drive.logical_pages)
        self.last[lpn] = self.written
        self.mean += (since - self.mean) / 10_000
        return dealt, 0 if since < self.mean / 4 else 1
