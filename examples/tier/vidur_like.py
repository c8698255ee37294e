"""A drive as a memory tier of a serving simulator such as Vidur: `transfer_time(bytes)` in seconds.

ssdlab tier qlc --age pec=1000,retention=3mo --out tier.json
python vidur_like.py tier.json 327680        # a block of a KV cache: 1,024 tokens of 320 B
"""

import math
import sys

import ssdlab


class FlashTier:
    """KV-cache blocks on a drive: each is moved in requests of one size, this many at a time."""

    def __init__(self, path: str, request: int = 131_072, depth: int = 8, age: str | None = None) -> None:
        self.surface = ssdlab.Tier.load(path)
        self.request, self.depth, self.age = request, depth, age

    def transfer_time(self, size: int, op: str = "read") -> float:
        """Seconds until `size` bytes have been read from the drive, or written to it."""
        requests = math.ceil(size / self.request)
        depth = min(requests, self.depth)
        latency = self.surface.latency_ns(op, self.request, depth, age=self.age) / 1e9
        rate = self.surface.read(bytes=self.request, qd=depth, reads=float(op == "read"), age=self.age)
        # The first `depth` requests are under way at once; the others follow at the drive's rate.
        return latency + (requests - depth) / rate.requests_per_s.value


if __name__ == "__main__":
    tier = FlashTier(sys.argv[1])
    for words in sys.argv[2:]:
        print(f"{int(words):,} B: {1e6 * tier.transfer_time(int(words)):,.1f} us")
