"""fio's job files as they are: their jobs become ours, stonewall by stonewall.

The meaning of the options is fio's (J. Axboe, "fio - Flexible I/O tester", documentation of version 3). docs/fio.md has
the tables of this module side by side with ours; :mod:`ssdlab.fio_output` prints results in fio's layouts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ._core import InputError, Simulation
from .foreign import Document, Key, Notes, Part, PathLike, near, read_text


def _keys(*rows: tuple[str, ...]) -> list[Key]:
    keys = []
    for names, ours, default, *note in rows:
        first, *others = names.split("/")
        keys.append(Key(first, ours, note[0] if note else "", default, tuple(others)))
    return keys


TAKEN = _keys(
    ("rw/readwrite", "rw", "read", "`:N` and `rw_sequencer` are named; `trimwrite` is refused"),
    ("rwmixread", "read_ratio", "50", "of both the last one holds"),
    ("rwmixwrite", "read_ratio", "50"),
    ("bs/blocksize", "bs", "4k", "one size for both directions where they differ: the reads'"),
    ("bsrange/blocksize_range", "bs", "", "every multiple of the smallest, alike"),
    ("bssplit", "bs", "", "shares left out get what is left, in equal parts"),
    ("blockalign/ba", "align", "", "the smallest block if not given"),
    ("size", "footprint, requests", "", "% is of the drive; the whole drive if not given"),
    ("filesize", "footprint", "", "where there is no size"),
    ("io_size/io_limit", "requests", "", "over the mean block; % is of the size"),
    ("number_ios", "requests", "", "no more than the size has; behind ramp_time where a rate tells how many precede"),
    ("loops", "requests", "1", "of the size, or of number_ios; on until io_size is reached"),
    ("offset/fileoffset", "offset", "0", "% is of the drive"),
    ("offset_increment", "offset", "0", "times the number of the clone"),
    ("filename", "offset", "", "/dev/… is the drive; other files lie one behind another, each name once"),
    ("directory", "offset", "", "part of a file's name"),
    ("numjobs", "job.NAME-1, job.NAME-2, …", "1", "clones of a job with a filename share its addresses"),
    ("iodepth", "iodepth", "1", "1 with a synchronous ioengine, as in fio"),
    ("ioengine", "iodepth", "psync", "only whether it is synchronous"),
    ("rate_iops", "rate_iops, read_ratio", "", "of each direction: a mixed job's are its mix"),
    ("rate", "rate_iops, read_ratio", "", "over the mean block; not beside rate_iops"),
    ("rate_process", "arrivals", "linear", "`fixed` or `poisson`"),
    ("rate_poisson", "arrivals", "0", "rate_process=poisson, before fio 2.9"),
    ("thinktime", "thinktime", "0", "behind each completion"),
    ("random_distribution", "random_distribution", "random", "zipf and pareto without a centre"),
    ("runtime/timeout", "--duration", "", "the longest where jobs of a group differ"),
    ("time_based", "requests", "0", "without an end but runtime, which it needs"),
    ("ramp_time", "--duration", "0", "fio's layouts leave out what arrives before; the other outputs do not"),
    ("randseed", "--seed", ""),
    (
        "read_iolog",
        "--workload",
        "",
        "in a group of its own; what would shape its requests has no effect, and is named",
    ),
    ("stonewall/wait_for_previous", "", "0", "a run of its own, on a drive in its first state"),
    ("new_group", "", "0", "a reporting group of its own"),
    ("group_reporting", "", "0", "in fio's layouts"),
    ("percentile_list", "", "", "in fio's layouts; above 0 and at most 100"),
    ("description", "", "", "kept among the job options"),
    ("name", "", "", "the job's name"),
    ("kb_base", "", "1024", "of sizes that are given; the default block is 4096 B"),
)
"""The options that have a meaning here."""

IDLE = _keys(
    ("direct", "", "0", "there is no page cache"),
    ("buffered", "", "1"),
    ("norandommap", "", "0", "blocks are drawn with replacement always"),
    ("randrepeat", "", "1", "runs repeat always; `--seed`"),
    ("allrandrepeat", "", "0"),
    ("thread", "", "0", "there are neither threads nor processes"),
    ("invalidate", "", "1"),
    ("overwrite", "", "0"),
    ("create_on_open", "", "0"),
    ("fallocate", "", "native", "files are addresses"),
    ("unlink", "", "0"),
    ("nrfiles/nr_files", "", "1", "one range of addresses"),
    ("openfiles", "", ""),
    ("file_service_type", "", ""),
    ("iodepth_batch/iodepth_batch_submit", "", "1", "requests are submitted one by one"),
    ("iodepth_batch_complete_min/iodepth_batch_complete", "", "1"),
    ("iodepth_batch_complete_max", "", ""),
    ("iodepth_low", "", ""),
    ("io_submit_mode", "", "inline", "arrivals never wait for a submission"),
    ("gtod_reduce", "", "0", "time is simulated"),
    ("disable_lat", "", "0"),
    ("disable_clat", "", "0"),
    ("disable_slat", "", "0"),
    ("disable_bw_measurement/disable_bw", "", "0"),
    ("clat_percentiles", "", "1"),
    ("lat_percentiles", "", "0"),
    ("slat_percentiles", "", "0"),
    ("cpus_allowed", "", ""),
    ("cpus_allowed_policy", "", ""),
    ("numa_cpu_nodes", "", ""),
    ("numa_mem_policy", "", ""),
    ("nice", "", ""),
    ("prio", "", ""),
    ("mem/iomem", "", ""),
    ("mem_align/iomem_align", "", ""),
    ("hugepage-size", "", ""),
    ("lockmem", "", ""),
    ("refill_buffers", "", "0", "data has no content"),
    ("scramble_buffers", "", "1"),
    ("zero_buffers", "", "0"),
    ("buffer_compress_percentage", "", ""),
    ("buffer_compress_chunk", "", ""),
    ("buffer_pattern", "", ""),
    ("dedupe_percentage", "", ""),
    ("exitall_on_error", "", "0"),
    ("continue_on_error", "", ""),
    ("write_bw_log", "", "", "`--series-out`, `--requests-out`"),
    ("write_lat_log", "", ""),
    ("write_iops_log", "", ""),
    ("log_avg_msec", "", ""),
    ("bwavgtime", "", "500"),
    ("iopsavgtime", "", "500"),
    ("unit_base", "", "0"),
    ("fadvise_hint", "", "1"),
    ("fixedbufs", "", "0", "of io_uring"),
    ("hipri", "", "0"),
    ("registerfiles", "", "0"),
    ("sqthread_poll", "", "0"),
    ("userspace_reap", "", "0", "of libaio"),
    ("random_generator", "", "tausworthe", "`--seed`"),
    ("create_serialize", "", "1", "files are addresses"),
    ("lockfile", "", "none"),
    ("significant_figures", "", "4"),
    ("disk_util", "", "1"),
)
"""The options that have no effect here, whatever their value."""

SYNCHRONOUS = ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "ftruncate", "falloc")
MODES = {
    "read": "read", "write": "write", "trim": "trim", "randread": "randread", "randwrite": "randwrite",
    "randtrim": "randtrim", "rw": "rw", "readwrite": "rw", "randrw": "randrw",
}  # fmt: skip
MIXED = ("rw", "randrw")
DEFAULT_PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
UNTIL_STOPPED = 1 << 40
MOST_REQUESTS = 1 << 60
MOST_BYTES = 1 << 62
LONGEST_NS = 10**17
"""The longest time an option may give: three years."""
PACED_S = 3e8
"""A paced job without an end has requests for so long: no run is longer."""
MOST_JOBS = 256
"""Clones included: a job is a submission queue, and a drive has so many at most."""
MOST_SIZES = 256
MEBI = 1 << 20


@dataclass(frozen=True)
class Job:
    """What the layouts of fio tell about a job, or about one of its clones."""

    name: str
    """The section's name."""
    queue: int
    """The submission queue of its requests, within its part."""
    group: int
    """fio's groupid."""
    options: dict[str, str] = field(default_factory=dict)
    """What its section says."""
    together: bool = False
    """``group_reporting``."""
    ramp_ns: int = 0
    percentiles: tuple[float, ...] = DEFAULT_PERCENTILES
    head: str = ""
    """fio's line about it: rw, block sizes, engine, depth."""
    depth: int = 1


class JobFile(NamedTuple):
    """A job file, read."""

    parts: tuple[Part, ...]
    """The runs: jobs up to a stonewall each."""
    notes: tuple[str, ...]
    """What has no counterpart or no effect, a line a group."""
    jobs: tuple[tuple[Job, ...], ...]
    """The jobs of each part, clones included."""
    options: dict[str, str]
    """What stands in [global]."""


def load(
    jobfile: PathLike,
    sections: Sequence[str] = (),
    *,
    device: str = "tlc",
    scheme: str | None = None,
    age: str | None = None,
    settings: Sequence[str] = (),
) -> JobFile:
    """Reads a job file for a device.

    ``sections`` are the jobs that are wanted (fio's ``--section``); all if none is given. ``part.run()`` plays the jobs
    up to a stonewall on that device; for fio's layouts (:mod:`ssdlab.fio_output`) with ``keep_requests=True``. Raises
    :class:`ssdlab.InputError` with file, line, option and remedy.
    """
    import json

    found, everywhere = _read(os.fspath(jobfile))
    names = [section.name for section in found]
    for name in sections:
        if name not in names:
            hint = near(name, names) or f"its jobs are {', '.join(names)}"
            raise InputError(f"{os.fspath(jobfile)}: holds no job `{name}`\n  help: {hint}")
    wanted = [section for section in found if not sections or section.name in sections]
    if not wanted:
        raise InputError(f"{os.fspath(jobfile)}: holds no job\n  help: add a section such as [reader] with rw=randread")
    plain = [word for word in settings if not word.startswith(("workload.", "job."))]
    manifest = json.loads(Simulation(device, "default", scheme=scheme, age=age, settings=plain).manifest)
    config = manifest["device"]
    words = {"device": device, "scheme": scheme, "age": age, "settings": list(settings)}
    drive = _Drive(int(config["capacity_bytes"]), int(config["config"]["host"]["queues"]), words)
    return _import(os.fspath(jobfile), wanted, everywhere, drive)


# Reading


@dataclass
class _Section:
    name: str
    file: str
    line: int
    """Where it begins."""
    values: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    """Option to value, file and line; what [global] says included."""
    own: dict[str, str] = field(default_factory=dict)
    """What the section itself says, as it stands."""

    @property
    def title(self) -> str:
        """The job's name: its own, or its section's."""
        return self.own.get("name", self.name)

    def where(self, key: str) -> str:
        if key in self.values:
            _, file, line = self.values[key]
            return f"{file}:{line}: [{self.name}] {key}"
        return f"{self.file}:{self.line}: [{self.name}] {key}"

    def has(self, key: str) -> bool:
        return key in self.values

    def text(self, key: str, default: str = "") -> str:
        return self.values[key][0] if key in self.values else default

    def bad(self, key: str, expected: str) -> InputError:
        return InputError(f'{self.where(key)}: "{self.text(key)}" is not accepted\n  help: expected {expected}')

    def flag(self, key: str) -> bool:
        if not self.has(key):
            return False
        word = self.text(key).strip()
        if word not in ("", "0", "1", "true", "false"):
            raise self.bad(key, "0 or 1, or nothing")
        return word not in ("0", "false")

    def whole(self, key: str, default: int, least: int = 0) -> int:
        if not self.has(key):
            return default
        try:
            value = int(self.text(key).split(",")[0])
        except ValueError:
            value = -1
        if not least <= value < 1 << 40:
            raise self.bad(key, f"a whole number, {least} or more")
        return value


SPELLINGS = {name: key.name for key in (*TAKEN, *IDLE) for name in (key.name, *key.aliases)}


def _read(path: str) -> tuple[list[_Section], dict[str, str]]:
    """The jobs of a file, each with what [global] sections before it say; and what these say."""
    shared = _Section("global", path, 1)
    jobs: list[_Section] = []
    _read_into(path, shared, jobs, None, (), [])
    return jobs, shared.own


MOST_INCLUDES = 256
"""Files that a job file may include, all told: files that include each other several times would multiply."""


def _read_into(
    path: str,
    shared: _Section,
    jobs: list[_Section],
    current: _Section | None,
    outer: tuple[str, ...],
    included: list[str],
) -> _Section | None:
    for number, raw in enumerate(read_text(path).removeprefix("\ufeff").splitlines(), 1):
        line = re.split(r"[;#]", raw, maxsplit=1)[0].strip()
        if not line:
            continue
        where = f"{path}:{number}"
        if line.startswith("["):
            name = line[1:].removesuffix("]").strip()
            if not line.endswith("]") or not name:
                raise InputError(f"{where}: {line}: is not a section\n  help: write [NAME]")
            if name == "global":
                current = shared
            else:
                current = _Section(name, path, number, dict(shared.values))
                jobs.append(current)
            continue
        if re.match(r"include\s", line):
            target = os.path.join(os.path.dirname(path), line.split(None, 1)[1])
            if len(outer) > 15 or os.path.realpath(target) in outer:
                raise InputError(f"{where}: include {target}: includes itself\n  help: take it out")
            if not os.path.isfile(target):
                raise InputError(f"{where}: include {target}: there is no such file\n  help: give a job file's path")
            included.append(target)
            if len(included) > MOST_INCLUDES:
                raise InputError(
                    f"{where}: include {target}: is include number {len(included)}\n"
                    f"  help: include {MOST_INCLUDES} files at most, each of them once"
                )
            current = _read_into(target, shared, jobs, current, (*outer, os.path.realpath(path)), included)
            continue
        if current is None:
            raise InputError(
                f"{where}: {line}: stands before any section\n  help: begin with [global] or a job's [NAME]"
            )
        word, _, value = (part.strip() for part in line.partition("="))
        value = _expanded(value, where)
        key = SPELLINGS.get(word, word)
        current.values.pop(key, None)
        current.values[key] = (value, path, number)
        current.own[word] = value
    return current


def _expanded(value: str, where: str) -> str:
    """``${NAME}`` of the environment, and fio's own words."""
    own = {"$pagesize": str(os.sysconf("SC_PAGESIZE")), "$ncpus": str(os.cpu_count() or 1)}
    for word, meaning in own.items():
        value = value.replace(word, meaning)

    def variable(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None:
            raise InputError(f"{where}: {match[0]}: is not set in the environment\n  help: export {match[1]}=…")
        return found

    return re.sub(r"\$\{(\w+)\}", variable, value)


PREFIXES = "kmgtp"


def _number(section: _Section, key: str, word: str, what: str) -> float:
    """A size in bytes: `4k`, `1g`; fio's prefixes are powers of 1024 unless kb_base is 1000."""
    match = re.fullmatch(r"(0x[0-9a-f]+|\d+(?:\.\d+)?)([kmgtp]?)(i?)(b?)", word.strip().lower())
    if not match:
        raise section.bad(key, what)
    digits, prefix, binary, byte = match.groups()
    value = int(digits, 16) if digits.startswith("0x") else float(digits)
    thousand = section.text("kb_base", "1024") == "1000"
    # "kib" is the other base than "k", "ki" and "kb" are not (fio 3.33).
    base = 1024 if thousand == bool(binary and byte) else 1000
    power = base ** (PREFIXES.index(prefix) + 1 if prefix else 0)
    if value > MOST_BYTES / power:
        raise section.bad(key, f"{what}, and no more than 4096p")
    return float(value * power)


def _size(section: _Section, key: str, word: str) -> int:
    return int(_number(section, key, word, "a size such as 4k, 100m or 1g"))


UNITS = {"d": 86_400e9, "h": 3600e9, "m": 60e9, "s": 1e9, "ms": 1e6, "msec": 1e6, "us": 1e3, "usec": 1e3, "": 0}


def _time(section: _Section, key: str, bare: float) -> int:
    """A time [ns]; ``bare``: the unit of a number without one."""
    if not section.has(key):
        return 0
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(d|h|ms|msec|m|s|us|usec|)", section.text(key).lower())
    if not match:
        raise section.bad(key, "a time such as 30, 30s, 5m or 100ms")
    time = float(match[1]) * (UNITS[match[2]] or bare)
    if time > LONGEST_NS:
        raise section.bad(key, "three years at most")
    return round(time)


# Jobs


@dataclass
class _Drive:
    capacity: int
    queues: int
    words: dict[str, Any]
    """The words of :func:`ssdlab.run` that say which drive it is."""
    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Where each file begins and how large it is: one behind another."""

    def lay_out(self, sections: list[_Section], notes: Notes) -> None:
        """Finds a place for the files of all jobs, each as large as any job needs it."""
        sizes: dict[str, tuple[int, _Section]] = {}
        whole: dict[str, _Section] = {}
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
                    "taken otherwise", f"[{section.name}] has no size: its file is the whole drive, under the others"
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


def _import(path: str, sections: list[_Section], everywhere: dict[str, str], drive: _Drive) -> JobFile:
    notes = Notes()
    walls: list[list[_Section]] = []
    groups: list[list[int]] = []
    group = -1
    for section in sections:
        alone = section.flag("stonewall") or not walls
        if alone:
            walls.append([])
            groups.append([])
        if alone or section.flag("new_group"):
            group += 1
        walls[-1].append(section)
        groups[-1].append(group)
        _note(section, notes)
    if len(walls) > 1:
        notes.add("taken otherwise", "stonewall: each group is a run of its own, on a drive in its first state")
    for wall in walls:
        total = 0
        for section in wall:
            total += section.whole("numjobs", 1, 1)
            if total > MOST_JOBS:
                raise InputError(
                    f"{section.where('numjobs')}: {total} jobs run at once, and a drive has at most "
                    f"{MOST_JOBS} submission queues\n  help: choose fewer with more iodepth, or give some a stonewall"
                )
    drive.lay_out(sections, notes)
    parts, jobs = [], []
    for number, (wall, ids) in enumerate(zip(walls, groups, strict=True)):
        part, members = _part(wall, ids, drive, notes, f"group {number}" if len(walls) > 1 else os.path.basename(path))
        parts.append(part)
        jobs.append(members)
    lines = tuple(f"{path}: {line}" for line in notes.lines())
    return JobFile(tuple(parts), lines, tuple(jobs), everywhere)


def _note(section: _Section, notes: Notes) -> None:
    idle = {key.name for key in IDLE}
    known = {key.name for key in TAKEN}
    for key in section.values:
        if key in idle:
            notes.add("no effect", key)
        elif key not in known:
            hint = near(key, SPELLINGS)
            notes.add("no counterpart, left out", f"{key}{f' ({hint})' if hint else ''}")
    if section.has("ioengine"):
        notes.add("no effect", f"ioengine={section.text('ioengine')}")


def _part(
    wall: list[_Section], groups: list[int], drive: _Drive, notes: Notes, name: str
) -> tuple[Part, tuple[Job, ...]]:
    keys: dict[str, str] = {}
    options = {name: word for name, word in drive.words.items() if word is not None}
    stops = {section.where("runtime"): _time(section, "runtime", 1e9) for section in wall}
    ramps = [_time(section, "ramp_time", 1e9) for section in wall]
    duration = max((stop + ramp if stop else 0) for stop, ramp in zip(stops.values(), ramps, strict=True))
    if len(set(stops.values())) > 1 and duration:
        notes.add("taken otherwise", "runtime: the longest one holds for all jobs of a group")
    if duration:
        options["duration"] = f"{duration}ns"
    seeds = [section.whole("randseed", 0) for section in wall if section.has("randseed")]
    if seeds:
        options["seed"] = seeds[0]
    replayed = [section for section in wall if section.has("read_iolog")]
    if replayed:
        return _replay(wall, replayed[0], groups, notes, name, options)
    document: Document = {"about": f"fio: {name}", "job": {}}
    members: list[Job] = []
    for section, group in zip(wall, groups, strict=True):
        clones = section.whole("numjobs", 1, 1)
        for clone in range(clones):
            label = _label(section.title if clones == 1 else f"{section.title}-{clone + 1}", document["job"])
            job = _generator(section, clone, drive, notes)
            document["job"][label] = job
            for key, word in WORDS.items():
                keys[f"job.{label}.{key}"] = section.where(word)
            members.append(_member(section, len(members), group, job))
    if len(members) > drive.queues:
        options["settings"] = [*options["settings"], f"host.queues={len(members)}"]
        notes.add("taken otherwise", f"{len(members)} jobs: so many submission queues (host.queues)")
    return Part(name, None, document, options, keys=keys), tuple(members)


WORDS = {
    "footprint": "size",
    "offset": "offset",
    "bs": "bs",
    "align": "blockalign",
    "rate_iops": "rate_iops",
    "iodepth": "iodepth",
    "requests": "size",
    "random_distribution": "random_distribution",
    "thinktime": "thinktime",
}
"""Keys of our jobs and the option that decides each, for errors."""


def _label(name: str, taken: Document) -> str:
    """A job's name as a bare key of TOML, and no other job's."""
    label = base = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    count = 1
    while label in taken:
        count += 1
        label = f"{base}-{count}"
    return label


BESIDE_IOLOG = (
    "read_iolog", "runtime", "ramp_time", "randseed", "stonewall", "new_group", "group_reporting", "percentile_list",
    "description", "name", "kb_base",
)  # fmt: skip
"""What holds where a log says what is played."""


def _replay(
    wall: list[_Section], section: _Section, groups: list[int], notes: Notes, name: str, options: dict[str, Any]
) -> tuple[Part, tuple[Job, ...]]:
    if len(wall) > 1:
        raise InputError(f"{section.where('read_iolog')}: is played beside other jobs\n  help: give it a stonewall")
    word = section.text("read_iolog")
    beside = os.path.join(os.path.dirname(section.file), word)
    path = next((path for path in (word, beside) if os.path.isfile(path)), None)
    if path is None:
        raise InputError(
            f'{section.where("read_iolog")}: "{word}": there is no such file\n  help: give an iolog\'s path'
        )
    for key in section.values:
        if key not in BESIDE_IOLOG and any(key == known.name for known in TAKEN):
            notes.add("no effect beside read_iolog", key)
    job = Job(
        section.title,
        0,
        groups[0],
        dict(section.own),
        section.flag("group_reporting"),
        _time(section, "ramp_time", 1e9),
        _percentiles(section),
        "read_iolog",
    )
    return Part(name, None, None, options, trace=path), (job,)


def _generator(section: _Section, clone: int, drive: _Drive, notes: Notes) -> Document:
    mode = _mode(section, notes)
    sizes = _sizes(section, mode, notes)
    mean = sum(size * share for size, share in sizes) / sum(share for _, share in sizes)
    least, most = min(size for size, _ in sizes), max(size for size, _ in sizes)
    align = (
        _size(section, "blockalign", section.text("blockalign").split(",")[0]) if section.has("blockalign") else least
    )
    offset, room = _range(section, clone, drive, most)
    job: Document = {
        "rw": mode,
        "bs": f"{least}B" if len(sizes) == 1 else ":".join(f"{size}B/{share:g}" for size, share in sizes),
        "align": f"{align}B",
        "offset": f"{offset}B",
        "footprint": f"{room}B",
    }
    ratio = _read_ratio(section)
    rate, ratio = _rate(section, mode, mean, ratio)
    if mode in MIXED:
        job["read_ratio"] = ratio
    if mode.startswith("rand"):
        job["random_distribution"] = _distribution(section, notes)
    job["rate_iops"] = rate or "none"
    if rate:
        process = section.text("rate_process", "poisson" if section.flag("rate_poisson") else "linear")
        if process not in ("linear", "poisson"):
            raise section.bad("rate_process", "linear or poisson")
        job["arrivals"] = "poisson" if process == "poisson" else "fixed"
    job["iodepth"] = _depth(section, notes)
    think = _time(section, "thinktime", 1e3)
    if think:
        job["thinktime"] = f"{think}ns"
    job["requests"] = _requests(section, room, mean, rate, notes)
    return job


def _mode(section: _Section, notes: Notes) -> str:
    word, _, step = section.text("rw", "read").partition(":")
    if step:
        notes.add("no counterpart, left out", f"rw={word}:{step} (taken as {word})")
    if word not in MODES:
        raise section.bad("rw", "one of " + ", ".join(MODES))
    return MODES[word]


def _directions(word: str) -> list[str]:
    """``a``, ``a,b`` or ``a,b,c`` of reads, writes, trims: a missing one is the one before."""
    parts = [part.strip() for part in word.split(",")]
    while len(parts) < 3:
        parts.append(parts[-1] if len(parts) == 1 or parts[-1] else parts[0])
    return [part or parts[0] for part in parts[:3]]


def _of_mode(section: _Section, key: str, mode: str, notes: Notes) -> str:
    """An option's part for a mode."""
    reads, writes, trims = _directions(section.text(key))
    if mode in MIXED and reads != writes:
        notes.add("taken otherwise", f"{key}={section.text(key)}: one for both directions, the reads'")
    return trims if "trim" in mode else writes if mode.endswith("write") else reads


def _sizes(section: _Section, mode: str, notes: Notes) -> list[tuple[int, float]]:
    """The sizes of requests and their shares."""
    if section.has("bssplit"):
        entries = [entry.partition("/") for entry in _of_mode(section, "bssplit", mode, notes).split(":")]
        given = [(_size(section, "bssplit", size), share) for size, _, share in entries]
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
        word = _of_mode(section, "bsrange", mode, notes)
        ends = [_size(section, "bsrange", end) for end in word.split("-")]
        if len(ends) != 2 or not 0 < ends[0] <= ends[1]:
            raise section.bad("bsrange", "two sizes such as 4k-64k")
        step = ends[0] * max(1, -(-ends[1] // ends[0] // MOST_SIZES))
        return [(size, 1.0) for size in range(ends[0], ends[1] + 1, step)]
    size = _size(section, "bs", _of_mode(section, "bs", mode, notes)) if section.has("bs") else 4096
    if size < 1:
        raise section.bad("bs", "a size such as 4k")
    return [(size, 1.0)]


def _share(section: _Section, key: str, drive: _Drive) -> int:
    """A size, or a part of the drive in %."""
    return _part_of(section, key, drive.capacity)


def _part_of(section: _Section, key: str, whole: int) -> int:
    """A size, or a part of a whole in %."""
    word = section.text(key).split(",")[0].strip()
    if not word.endswith("%"):
        return _size(section, key, word)
    if not re.fullmatch(r"\d+(\.\d+)?%", word):
        raise section.bad(key, "a size such as 1g, or a share such as 20%")
    return int(whole * min(100.0, float(word[:-1])) / 100)


def _file(section: _Section, clone: int, drive: _Drive) -> tuple[str, int, int]:
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


def _range(section: _Section, clone: int, drive: _Drive, most: int) -> tuple[int, int]:
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


def _read_ratio(section: _Section) -> float:
    key = next((key for key in reversed(section.values) if key in ("rwmixread", "rwmixwrite")), "rwmixread")
    share = section.whole(key, 50)
    if share > 100:
        raise section.bad(key, "a whole number of % from 0 to 100")
    return (100 - share if key == "rwmixwrite" else share) / 100


def _distribution(section: _Section, notes: Notes) -> str:
    word = section.text("random_distribution", "random").split(",")[0]
    kind, _, rest = word.partition(":")
    if kind in ("zipf", "pareto", "normal"):
        value, slash, _ = rest.partition("/")
        if slash:
            notes.add("taken otherwise", f"random_distribution={word}: without its centre")
        # 1.1 and 0.2 are fio's.
        return f"{kind}:{value or {'zipf': '1.1', 'pareto': '0.2', 'normal': '50'}[kind]}"
    if kind not in ("random", "zoned"):
        raise section.bad("random_distribution", "random, zipf:θ, pareto:h, normal:deviation or zoned:…")
    return f"zoned:{_zones(section, rest)}" if kind == "zoned" else kind


def _zones(section: _Section, word: str) -> str:
    """Zones; shares and ranges that are left out get what is left of 100 %, in equal parts."""
    zones = [entry.partition("/")[::2] for entry in word.split(":")]
    try:
        columns = [[float(value) if value.strip() else None for value in column] for column in zip(*zones, strict=True)]
    except ValueError:
        raise section.bad("random_distribution", "zones such as zoned:60/10:30/20:10/70") from None
    filled = []
    for column in columns:
        rest = (100 - sum(value or 0 for value in column)) / max(1, column.count(None))
        filled.append([rest if value is None else value for value in column])
    return ":".join(f"{accesses:g}/{room:g}" for accesses, room in zip(*filled, strict=True))


def _rate(section: _Section, mode: str, mean: float, ratio: float) -> tuple[float, float]:
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


def _rates(section: _Section, key: str) -> list[float]:
    """Of reads, writes and trims; 0 without a bound."""
    words = [part.strip() for part in section.text(key).split(",")]
    rates = [_number(section, key, word, "a rate such as 1000 or 10m") if word else 0.0 for word in words]
    return [rates[index] if index < len(rates) else rates[0] for index in range(3)]


def _depth(section: _Section, notes: Notes) -> int:
    depth = section.whole("iodepth", 1, 1)
    engine = section.text("ioengine", "psync")
    if engine in SYNCHRONOUS and depth > 1:
        notes.add("taken otherwise", f"iodepth={depth}: 1, as ioengine={engine} is synchronous")
        return 1
    return depth


def _requests(section: _Section, room: int, mean: float, rate: float, notes: Notes) -> int:
    if section.flag("time_based"):
        if _time(section, "runtime", 1e9):
            return max(1, min(MOST_REQUESTS, int(rate * PACED_S))) if rate else UNTIL_STOPPED
        notes.add("taken otherwise", "time_based: has no runtime, so the size ends the job")
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
        ramp = _time(section, "ramp_time", 1e9)
        if ramp and not rate:
            notes.add("taken otherwise", "number_ios: counts from the job's begin, not from the end of ramp_time")
        count = min(count, wanted + round(rate * ramp / 1e9))
    if count > MOST_REQUESTS:
        key = "loops" if loops > 1 else "io_size"
        raise InputError(f"{section.where(key)}: makes {count:.3g} requests\n  help: choose fewer, or a runtime")
    return count


def _percentiles(section: _Section) -> tuple[float, ...]:
    if not section.has("percentile_list"):
        return DEFAULT_PERCENTILES
    try:
        found = sorted(float(word) for word in section.text("percentile_list").split(":"))
    except ValueError:
        found = []
    if not found or not all(0 < value <= 100 for value in found):
        raise section.bad("percentile_list", "percentiles above 0 and up to 100, such as 50:99:99.9")
    return tuple(found)


def _member(section: _Section, queue: int, group: int, job: Document) -> Job:
    from .fio_output import block

    sizes = [int(part.split("B")[0]) for part in job["bs"].split(":")]
    span = f"{block(min(sizes))}-{block(max(sizes))}"
    engine = section.text("ioengine", "psync")
    head = f"rw={section.text('rw', 'read')}, bs=(R) {span}, (W) {span}, (T) {span}, ioengine={engine}"
    return Job(
        section.title,
        queue,
        group,
        dict(section.own),
        section.flag("group_reporting"),
        _time(section, "ramp_time", 1e9),
        _percentiles(section),
        f"{head}, iodepth={job['iodepth']}",
        int(job["iodepth"]),
    )
