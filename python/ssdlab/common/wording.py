"""Statistics in words: how tables, sentences and figures name what a result calls "host.read.latency_ns.p99"."""

from __future__ import annotations

from collections.abc import Sequence

from ssdlab.common.numbers import is_time

_WHOSE = {"read": "read", "write": "write", "all": "request", "trim": "trim", "flush": "flush"}
_ENDS = {"_ns": "ns", "_us": "µs", "_ms": "ms", "_s": "s", "_mb_s": "MB/s", "_bytes": "B", "_mj": "mJ", "_j": "J"}
_LOWER = ("ftl.waf", "flash.erases", "ftl.pages_relocated")


def _host(name: str) -> tuple[str, str, str] | None:
    """Of a statistic of the host's requests: whose, what, and of a latency which: ("read", "latency_ns", "p99.9")."""
    parts = name.split(".")
    if parts[0] != "host" or len(parts) < 3:
        return None
    last = parts[-1].replace("_", ".") if "latency_ns" in parts else ""
    what = "latency_ns" if last else parts[-1]
    whose = [part for part in parts[1:-1] if part != "latency_ns"]
    if what not in ("latency_ns", "iops", "bandwidth_mb_s") or not whose:
        return None
    return _WHOSE.get(whose[0], whose[0].replace("_", " ")) + "".join(f" {part}" for part in whose[1:]), what, last


def words(name: str) -> str:
    """A statistic as the name of an axis: "read latency, p99"; its own name where it has no other."""
    if (found := _host(name)) is not None:
        whose, what, last = found
        if what == "latency_ns":
            return f"{whose} latency, {last}"
        plain = "throughput" if what == "iops" else "bandwidth"
        return plain if whose == "request" else f"{whose} {plain}"
    return {"ftl.waf": "write amplification (WAF)"}.get(name, name)


def phrase(name: str) -> str:
    """A statistic within a sentence: "p99 read latency"."""
    found = _host(name)
    return f"{found[2]} {found[0]} latency" if found is not None and found[1] == "latency_ns" else words(name)


def heading(name: str) -> str:
    """A statistic as the head of a column, whose cells show the unit where there is one: "read p99"."""
    if (found := _host(name)) is not None:
        whose, what, last = found
        if what == "latency_ns":
            return f"{whose} {last}"
        return {"request requests/s": "requests/s"}.get(text := f"{whose} {unit(name)}", text)
    return {"ftl.waf": "WAF"}.get(name, name)


def headings(names: list[str]) -> list[str]:
    """:func:`heading` of each; of those that would be the same, the statistic's own name."""
    heads = [heading(name) for name in names]
    return [name if heads.count(head) > 1 else head for name, head in zip(names, heads, strict=True)]


_CAUSES = {"hold": "data out"}


def cause_words(name: str) -> str:
    """What a die or a channel did, in words: "data out" for "hold"."""
    return _CAUSES.get(name, name.replace("_", " "))


_AXES = {
    "qd": "queue depth",
    "bs": "request size",
    "rate": "offered [requests/s]",
    "rber": "raw bit error rate",
    "pec": "P/E cycles",
}


def axis_words(name: str) -> str:
    """An axis of a sweep in words: "queue depth" for "qd"; its own name where it has no other."""
    return _AXES.get(name, name)


def unit(name: str) -> str:
    """What a statistic is counted in; "" where its name does not say."""
    found = _host(name)
    if found is not None and found[1] == "iops":
        return "requests/s"
    if is_time(name):
        return "ns"
    last = name.rpartition(".")[2]
    if name.startswith("usage."):
        return "%"
    ends = [end for end in _ENDS if last.endswith(end)]
    return _ENDS[max(ends, key=len)] if ends else ""


def better(name: str) -> str:
    """Which way a statistic is better: "lower", "higher", or "" where that depends."""
    if is_time(name) or name in _LOWER or name.startswith("energy."):
        return "lower"
    return "higher" if name.endswith((".iops", ".bandwidth_mb_s")) else ""


SHOWN = 5
"""The most names that a sentence lists; of more it says how many."""


def listed(parts: Sequence[str], most: int = SHOWN) -> str:
    """A list in a sentence: "a, b and c"; "a, b and 7 more"."""
    shown = [*parts[:most], *([f"{len(parts) - most:,} more"] if len(parts) > most else [])]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def scale_of(statistic: str, most: float) -> tuple[float, str]:
    """What values up to ``most`` are drawn in, and the name of the axis: (1e6, "read latency, p99 [ms]")."""
    of = unit(statistic)
    scale = 1.0
    if of == "ns":
        scale, of = next((s, u) for s, u in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")) if most >= 2 * s or s == 1e3)
    elif of in ("requests/s", "MB/s") and most >= 2e4:
        scale, of = (1e6, f"million {of}") if most >= 2e6 else (1e3, f"thousand {of}")
    return scale, words(statistic) + (f" [{of}]" if of else "")


def better_text(statistic: str) -> str:
    """What follows the name of an axis: " (lower is better)", or nothing."""
    return f" ({better(statistic)} is better)" if better(statistic) else ""
