"""Numbers as people read them."""

from __future__ import annotations

import numbers
from typing import Any


def plain(value: Any) -> Any:
    """A number as Python has it: one of numpy becomes an int or a float. Anything else stays as it is."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def time_text(ns: float | None) -> str:
    """A latency in the unit that fits, to three digits: "61.2 µs"."""
    if ns is None:
        return "-"
    # What would be rounded to 1000 is 1.00 of the next unit.
    for limit, scale, unit in ((999.5e3, 1e3, "µs"), (999.5e6, 1e6, "ms"), (float("inf"), 1e9, "s")):
        if ns < limit:
            value = ns / scale
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"
    raise AssertionError("Invariant: the last limit is infinite")


def decimal_size(count: int) -> str:
    """A capacity: "1.08 TB"."""
    for scale, unit in ((1e12, "TB"), (1e9, "GB")):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count / 1e6:.3g} MB"


def binary_size(count: int) -> str:
    """A size in the unit that fits, powers of 1024: "480 GiB"."""
    value, names = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(names) > 1:
        value /= 1024
        del names[0]
    return f"{value:.0f} {names[0]}" if value >= 99.5 else f"{value:.3g} {names[0]}"


def number_text(value: float | None) -> str:
    """Five significant digits, whole numbers with separators."""
    if value is None:
        return "-"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.5g}"


def three_digits(value: float) -> str:
    """Three significant digits without an exponent: "0.0123", "97.4", "1,530"."""
    return f"{float(f'{value:.3g}'):,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def percent_text(share: float) -> str:
    """A share of one, or a change, in percent: "42 %", "0.7 %"."""
    percent = 100.0 * share
    return f"{percent:.0f} %" if abs(percent) >= 9.95 else f"{percent:.2g} %"


def with_interval(mean: float | None, half_width: float | None) -> str:
    """A mean with its confidence interval; the mean has the digits that the interval leaves sense in."""
    if mean is None or half_width is None or half_width <= 1e-12 * abs(mean):
        return number_text(mean)
    import math

    digits = max(0, 1 - math.floor(math.log10(half_width)))
    return f"{mean:,.{digits}f} ± {half_width:,.{digits}f}"


def is_time(statistic: str) -> bool:
    """Whether a statistic is a time in nanoseconds, by its name: "host.read.latency_ns.mean"."""
    return any(part.endswith("_ns") for part in statistic.split("."))


def value_text(statistic: str, value: float | None, half_width: float | None = None) -> str:
    """A value of a statistic, with its confidence interval: times in the unit that fits, "61.2 ± 0.3 µs"."""
    if not is_time(statistic) or value is None:
        return with_interval(value, half_width)
    if half_width is None or half_width <= 1e-12 * abs(value):
        return time_text(value)
    shown, _, unit = time_text(value).rpartition(" ")
    scale = {"µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
    places = len(shown.partition(".")[2])
    half = half_width / scale
    # One digit of the interval at least.
    while places < 6 and round(half, places) == 0.0:
        places += 1
    return f"{value / scale:.{places}f} ± {half:.{places}f} {unit}"


def elapsed_text(seconds: float) -> str:
    """A time in two units: "1 h 5 min"."""
    whole = round(seconds)
    for unit, name, part, below in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= unit:
            return f"{whole // unit} {name} {whole % unit // part} {below}"
    return f"{whole} s"


SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZES |= {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def size_of(text: str) -> int:
    """A size of a manifest, such as "16KiB", in bytes; a bandwidth, such as "7GB/s", in bytes a second."""
    value, unit = _parted(text.removesuffix("/s"))
    return round(value * SIZES[unit])


def time_of(text: str) -> int:
    """A time of a manifest, such as "45us", in nanoseconds."""
    value, unit = _parted(text)
    return round(value * TIMES[unit])


def _parted(text: str) -> tuple[float, str]:
    digits = text.rstrip("BkKMGTinusm")
    return float(digits), text[len(digits) :]
