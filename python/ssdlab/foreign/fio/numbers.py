"""Numbers as fio prints them."""

from __future__ import annotations


def range_unit(least: int, most: int, percentiles: bool = False) -> tuple[str, int]:
    """The unit in which fio shows such a range of ns."""
    if least > 2_000_000 and most > 99_999_999:
        return "msec", 1_000_000
    return ("usec", 1000) if least > 2000 and most > 99_999 else ("nsec", 1)


def prefixed(value: int, base: int, unit: str = "", digits: int = 4) -> str:
    """A number with a given count of digits, and fio's prefixes: ``13.2k``, ``97.7GiB/s``."""
    prefixes = ("", "Ki", "Mi", "Gi", "Ti", "Pi") if base == 1024 else ("", "k", "M", "G", "T", "P")
    scaled, power = float(value), 0
    while len(str(int(scaled))) > digits and power < 5:
        scaled /= base
        power += 1
    if power == 0:
        return f"{value}{unit}"
    decimals = max(0, digits - len(str(int(scaled))) - 1)
    return f"{scaled:.{decimals}f}{prefixes[power]}{unit}"


def block(size: int) -> str:
    """A block's size as in fio's line about a job."""
    return prefixed(size, 1024, "B")


LAST_BIN = (63 << 27) + (1 << 26) + (1 << 33)
"""What lies above 17 s is in fio's last bin (stat.h, FIO_IO_U_PLAT_GROUP_NR 29)."""


def bin_of(latency: int) -> int:
    """The middle of fio's bin of a latency [ns]: exact below 128 ns, then 64 bins from each power of two to the next
    (stat.h, FIO_IO_U_PLAT_BITS 6)."""
    if latency < 128:
        return latency
    width = latency.bit_length() - 7
    return min(LAST_BIN, (latency >> width << width) + (1 << width - 1))
