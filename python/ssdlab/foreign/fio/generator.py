"""A job of fio's becomes a job of the generator."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ssdlab._core import InputError
from ssdlab.common.toml import Document
from ssdlab.foreign.fio.job import MEBI, MIXED, MODES, SYNCHRONOUS
from ssdlab.foreign.fio.jobfile import JobSection, parsed_number, parsed_size, parsed_time
from ssdlab.foreign.options import Notes

UNTIL_STOPPED = 1 << 40
MOST_REQUESTS = 1 << 60
PACED_S = 3e8
"""The time for which a paced job without an end has requests: no run is longer."""
MOST_SIZES = 256


@dataclass
class TargetDrive:
    capacity: int
    queues: int
    options: dict[str, Any]
    """The options of :func:`ssdlab.run` that specify the drive."""
    zones: tuple[int, int, int] | None = None
    """Size and capacity of its zones, and how many may be open, where a job asks for them."""
    handles: int = 0
    """Its placement handles."""
    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Where each file begins and how large it is: one behind another."""

    def lay_out(self, sections: list[JobSection], notes: Notes) -> None:
        """Assigns addresses to the files of all jobs, each as large as its largest user needs it."""
        sizes: dict[str, tuple[int, JobSection]] = {}
        whole: dict[str, JobSection] = {}
        for section in sections:
            if section.has("read_iolog"):
                continue
            for clone in range(section.whole("numjobs", 1, 1)):
                name, offset, size = _file(section, clone, self)
                if name and not size:
                    whole[name] = section
                if name and size and offset + size > sizes.get(name, (0, section))[0]:
                    sizes[name] = offset + size, section
        if len(whole.keys() | sizes.keys()) > 1:
            for section in [section for name, section in whole.items() if name not in sizes]:
                notes.add(
                    "approximated", f"[{section.name}] has no size: its file is the whole drive, under the others"
                )
        end = 0
        for name, (size, section) in sizes.items():
            self.files[name] = end, size
            end += -(-size // MEBI) * MEBI
            if end > self.capacity:
                raise InputError(
                    f"{section.where('size')}: files of {end / 1e9:.4g} GB are more than the drive's "
                    f"{self.capacity / 1e9:.4g} GB\n  help: choose smaller ones, a larger --device, or "
                    "filename=/dev/… for all jobs"
                )


def generator_job(section: JobSection, clone: int, drive: TargetDrive, notes: Notes) -> Document:
    mode = _mode(section, notes)
    sizes = request_sizes(section, mode, notes)
    mean = sum(size * share for size, share in sizes) / sum(share for _, share in sizes)
    least, most = min(size for size, _ in sizes), max(size for size, _ in sizes)
    align = (
        parsed_size(section, "blockalign", section.text("blockalign").split(",")[0])
        if section.has("blockalign")
        else least
    )
    offset, room = _range(section, clone, drive, most)
    job: Document = {
        "rw": mode,
        "bs": f"{least}B" if len(sizes) == 1 else ":".join(f"{size}B/{share:g}" for size, share in sizes),
        "align": f"{align}B",
        "offset": f"{offset}B",
        "footprint": f"{room}B",
    }
    job.update(_zones_of(section, drive, (offset, room), notes))
    ratio = _read_ratio(section)
    rate, ratio = _rate(section, mode, mean, ratio)
    if mode in MIXED:
        job["read_ratio"] = ratio
    if mode.startswith("rand"):
        job["random_distribution"] = _distribution(section, len(sizes) == 1, notes)
    job["rate_iops"] = rate or "none"
    if rate:
        process = section.text("rate_process", "poisson" if section.flag("rate_poisson") else "linear")
        if process not in ("linear", "poisson"):
            raise section.bad("rate_process", "linear or poisson")
        job["arrivals"] = "poisson" if process == "poisson" else "fixed"
    job["iodepth"] = _depth(section, notes)
    think = parsed_time(section, "thinktime", 1e3)
    if think:
        job["thinktime"] = f"{think}ns"
    job["requests"] = _requests(section, room, mean, rate, notes)
    job.update(_placement(section, drive, notes))
    return job


def _placement(section: JobSection, drive: TargetDrive, notes: Notes) -> Document:
    """The hint by which a job's writes are placed: its first placement identifier."""
    placement = section.text("dataplacement", "fdp" if section.flag("fdp") else "none")
    if placement not in ("none", "fdp", "streams"):
        raise section.bad("dataplacement", "none, fdp or streams")
    if placement == "none":
        return {}
    first, *others = section.text("plids", "0").split(",")
    if others:
        notes.add("approximated", f"plids={section.text('plids')}: the first alone; make it several jobs")
    if not first.strip().isdigit() or int(first) > 0xFFFF:
        raise section.bad("plids", "a placement identifier such as 1")
    if int(first) >= drive.handles:
        kind = "approximated" if drive.handles else "no effect"
        notes.add(kind, f"plids={int(first)}: the drive has {drive.handles} placement handles (ftl.hints)")
    return {"hint": int(first)}


def _zones_of(section: JobSection, drive: TargetDrive, addresses: tuple[int, int], notes: Notes) -> Document:
    """What a job does with zones, in fio's zonemode=zbd: the zones that lie wholly within its addresses."""
    kind = section.text("zonemode", "none")
    if kind not in ("none", "zbd"):
        if kind != "strided":
            raise section.bad("zonemode", "none, strided or zbd")
        notes.add("unsupported, ignored", f"zonemode={kind}")
    if kind != "zbd":
        return {}
    size, capacity, most = drive.zones or (0, 0, 1)
    if section.has("zonesize"):
        size = capacity = parsed_size(section, "zonesize", section.text("zonesize"))
    if section.has("zonecapacity"):
        capacity = parsed_size(section, "zonecapacity", section.text("zonecapacity"))
    start, end = (-(-addresses[0] // size) * size, sum(addresses) // size * size) if size else (0, 0)
    if start >= end:
        raise InputError(
            f"{section.where('zonemode')}: no zone lies within the job's addresses\n"
            "  help: choose a --device with zones, such as zns, or a larger size"
        )
    if (start, end - start) != addresses:
        notes.add("approximated", f"[{section.name}] zonemode=zbd: whole zones, {start} to {end} B")
    return {
        "offset": f"{start}B",
        "footprint": f"{end - start}B",
        "zone_size": f"{size}B",
        "zone_capacity": f"{capacity}B",
        "open_zones": section.whole("max_open_zones", 0) or most,
    }


def _mode(section: JobSection, notes: Notes) -> str:
    text, _, step = section.text("rw", "read").partition(":")
    if step:
        notes.add("unsupported, ignored", f"rw={text}:{step} (as {text})")
    if text not in MODES:
        raise section.bad("rw", "one of " + ", ".join(MODES))
    return MODES[text]


def _directions(text: str) -> list[str]:
    """``a``, ``a,b`` or ``a,b,c`` of reads, writes, trims: a missing one is the one before."""
    parts = [part.strip() for part in text.split(",")]
    while len(parts) < 3:
        parts.append(parts[-1] if len(parts) == 1 or parts[-1] else parts[0])
    return [part or parts[0] for part in parts[:3]]


def _of_mode(section: JobSection, key: str, mode: str, notes: Notes) -> str:
    """An option's part for a mode."""
    reads, writes, trims = _directions(section.text(key))
    if mode in MIXED and reads != writes:
        notes.add("approximated", f"{key}={section.text(key)}: one for both directions, the reads'")
    return trims if "trim" in mode else writes if mode.endswith("write") else reads


def request_sizes(section: JobSection, mode: str, notes: Notes) -> list[tuple[int, float]]:
    """The sizes of requests and their shares."""
    if section.has("bssplit"):
        entries = [entry.partition("/") for entry in _of_mode(section, "bssplit", mode, notes).split(":")]
        given = [(parsed_size(section, "bssplit", size), share) for size, _, share in entries]
        try:
            known = sum(float(share) for _, share in given if share)
            rest = (100 - known) / max(1, sum(not share for _, share in given))
            shares = [(size, float(share) if share else rest) for size, share in given]
        except ValueError:
            raise section.bad("bssplit", "sizes with their shares in %, such as 4k/60:64k/40") from None
        found = [(size, share) for size, share in shares if share > 0 and size > 0]
        if not found or not all(not share or 0 <= float(share) <= 100 for _, share in given):
            raise section.bad("bssplit", "sizes with their shares in %, such as 4k/60:64k/40")
        return found
    if section.has("bsrange"):
        text = _of_mode(section, "bsrange", mode, notes)
        ends = [parsed_size(section, "bsrange", end) for end in text.split("-")]
        if len(ends) != 2 or not 0 < ends[0] <= ends[1]:
            raise section.bad("bsrange", "two sizes such as 4k-64k")
        step = ends[0] * max(1, -(-ends[1] // ends[0] // MOST_SIZES))
        return [(size, 1.0) for size in range(ends[0], ends[1] + 1, step)]
    size = parsed_size(section, "bs", _of_mode(section, "bs", mode, notes)) if section.has("bs") else 4096
    if size < 1:
        raise section.bad("bs", "a size such as 4k")
    return [(size, 1.0)]


def _share(section: JobSection, key: str, drive: TargetDrive) -> int:
    """A size, or a part of the drive in %."""
    return _part_of(section, key, drive.capacity)


def _part_of(section: JobSection, key: str, whole: int) -> int:
    """A size, or a part of a whole in %."""
    text = section.text(key).split(",")[0].strip()
    if not text.endswith("%"):
        return parsed_size(section, key, text)
    if not re.fullmatch(r"\d+(\.\d+)?%", text):
        raise section.bad(key, "a size such as 1g, or a share such as 20%")
    return int(whole * min(100.0, float(text[:-1])) / 100)


def _file(section: JobSection, clone: int, drive: TargetDrive) -> tuple[str, int, int]:
    """A clone's file (empty for the drive itself), where it begins in it, and its size (0 if not given)."""
    offset = _share(section, "offset", drive) if section.has("offset") else 0
    if section.has("offset_increment"):
        offset += clone * _share(section, "offset_increment", drive)
    size = next((_share(section, key, drive) for key in ("size", "filesize") if section.has(key)), 0)
    name = section.text("filename")
    if name.startswith("/dev/"):
        return "", offset, size
    # A file without a name is a clone's own.
    own = f"{section.file}:{section.line}:{clone}"
    return f"{section.text('directory')}/{name}" if name else own, offset, size


def _range(section: JobSection, clone: int, drive: TargetDrive, most: int) -> tuple[int, int]:
    """The addresses of a clone of a job: where they begin and how many there are."""
    name, offset, size = _file(section, clone, drive)
    start, whole = drive.files.get(name, (0, drive.capacity))
    room = min(size or whole, whole - offset)
    if room < min(most, whole):
        raise InputError(
            f"{section.where('offset')}: {offset} B leaves no room on the drive's {drive.capacity} B\n"
            "  help: choose a smaller one, or a larger --device"
        )
    return start + offset, room


def _read_ratio(section: JobSection) -> float:
    key = next((key for key in reversed(section.values) if key in ("rwmixread", "rwmixwrite")), "rwmixread")
    share = section.whole(key, 50)
    if share > 100:
        raise section.bad(key, "a whole number of % from 0 to 100")
    return (100 - share if key == "rwmixwrite" else share) / 100


def _distribution(section: JobSection, same_size: bool, notes: Notes) -> str:
    text = section.text("random_distribution", "random").split(",")[0]
    kind, _, rest = text.partition(":")
    if kind in ("zipf", "pareto", "normal"):
        value, slash, _ = rest.partition("/")
        if slash:
            notes.add("approximated", f"random_distribution={text}: without its centre")
        # 1.1 and 0.2 are fio's.
        return f"{kind}:{value or {'zipf': '1.1', 'pareto': '0.2', 'normal': '50'}[kind]}"
    if kind not in ("random", "zoned"):
        raise section.bad("random_distribution", "random, zipf:θ, pareto:h, normal:deviation or zoned:…")
    if kind == "zoned":
        return f"zoned:{_zones(section, rest)}"
    if section.flag("norandommap"):
        return "random"
    if not same_size:
        notes.add("approximated", "blocks of several sizes: drawn with replacement, as with norandommap")
        return "random"
    return "random-once"


def _zones(section: JobSection, text: str) -> str:
    """Zones; shares and ranges that are left out get what is left of 100 %, in equal parts."""
    zones = [entry.partition("/")[::2] for entry in text.split(":")]
    try:
        columns = [[float(value) if value.strip() else None for value in column] for column in zip(*zones, strict=True)]
    except ValueError:
        raise section.bad("random_distribution", "zones such as zoned:60/10:30/20:10/70") from None
    filled = []
    for column in columns:
        rest = (100 - sum(value or 0 for value in column)) / max(1, column.count(None))
        filled.append([rest if value is None else value for value in column])
    return ":".join(f"{accesses:g}/{room:g}" for accesses, room in zip(*filled, strict=True))


def _rate(section: JobSection, mode: str, mean: float, ratio: float) -> tuple[float, float]:
    """Requests a second, 0 without a bound; and the share of reads, which the rates of a mixed job decide."""
    given = {key: rates for key in ("rate_iops", "rate") if any(rates := _rates(section, key))}
    if len(given) > 1:
        raise InputError(f"{section.where('rate')}: stands beside rate_iops\n  help: choose one of the two")
    for key, rates in given.items():
        unit = mean if key == "rate" else 1.0
        if mode not in MIXED or not 0 < ratio < 1:
            writes = mode.endswith("write") if mode not in MIXED else ratio == 0
            return rates[2 if "trim" in mode else int(writes)] / unit, ratio
        reads, writes_rate, _ = rates
        if not reads and not writes_rate:
            continue
        if not reads or not writes_rate:
            raise section.bad(key, "a rate of both directions; for a bound of one of them, make it two jobs")
        return (reads + writes_rate) / unit, reads / (reads + writes_rate)
    return 0.0, ratio


def _rates(section: JobSection, key: str) -> list[float]:
    """Of reads, writes and trims; 0 without a bound."""
    texts = [part.strip() for part in section.text(key).split(",")]
    rates = [parsed_number(section, key, text, "a rate such as 1000 or 10m") if text else 0.0 for text in texts]
    return [rates[index] if index < len(rates) else rates[0] for index in range(3)]


def _depth(section: JobSection, notes: Notes) -> int:
    depth = section.whole("iodepth", 1, 1)
    engine = section.text("ioengine", "psync")
    if engine in SYNCHRONOUS and depth > 1:
        notes.add("approximated", f"iodepth={depth}: 1, as ioengine={engine} is synchronous")
        return 1
    return depth


def _requests(section: JobSection, room: int, mean: float, rate: float, notes: Notes) -> int:
    if section.flag("time_based"):
        if parsed_time(section, "runtime", 1e9):
            return max(1, min(MOST_REQUESTS, int(rate * PACED_S))) if rate else UNTIL_STOPPED
        notes.add("approximated", "time_based: has no runtime, so the size ends the job")
    loops = section.whole("loops", 1, 1)
    total = _part_of(section, "io_size", room) if section.has("io_size") else room
    if total <= room:
        total *= loops
    elif loops > 1:
        # Whole passes, until both are reached.
        total = room * max(loops, -(-total // room))
    count = max(1, int(total / mean))
    if section.has("number_ios"):
        wanted = section.whole("number_ios", 1, 1) * loops
        ramp = parsed_time(section, "ramp_time", 1e9)
        if ramp and not rate:
            notes.add("approximated", "number_ios: counts from the job's begin, not from the end of ramp_time")
        count = min(count, wanted + round(rate * ramp / 1e9))
    if count > MOST_REQUESTS:
        key = "loops" if loops > 1 else "io_size"
        raise InputError(f"{section.where(key)}: makes {count:.3g} requests\n  help: choose fewer, or a runtime")
    return count
