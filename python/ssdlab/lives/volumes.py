"""A folder of volumes, each fitted by itself (docs/fit.md).

What came of a volume is a file beside its generator, which names what it was fitted to and how: the same call goes on
where an earlier one was ended.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError, SimulationError
from ssdlab.common.machine import cpus
from ssdlab.common.output import check_folder, write
from ssdlab.runs.options import PathLike
from ssdlab.trace.fit.check import Agreement
from ssdlab.trace.fit.generator import PHASES
from ssdlab.trace.fit.properties import Property

if TYPE_CHECKING:
    import polars

    from ssdlab.sweeps.campaign import SweepProgress

REQUESTS = 100_000
"""A volume that has more requests is fitted to its first ones, this many."""
KEPT = ".volume.json"
"""What the file of a fitted volume ends in."""
FEATURES = ("read_share", "rate", "size", "burstiness", "sequential", "hot", "footprint")
"""What volumes are compared by: the share of requests that read, log10 of requests a second, log2 of the mean size,
log10 of mean over median gap, the shares of requests that go on where the last one ended and of accesses to the hottest
tenth of pages, log10 of the bytes touched. Each counts in units of its deviation over the volumes, all alike."""
PACKED = (".gz", ".zst", ".zstd")
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Volumes are fitted beside one another: the threads of numpy and scikit-learn would only be in each other's way."""


REFUSED = 3
"""The exit status of a process whose volume cannot be fitted; it prints why."""


class Volume(NamedTuple):
    """A volume, and how near its generator comes."""

    name: str
    trace: str
    """Its file's name."""
    requests: int
    """That were fitted."""
    notes: tuple[str, ...]
    """What of the trace the generator leaves out."""
    features: dict[str, float]
    """What volumes are compared by (:data:`FEATURES`), and ``written``: the share of its
    bytes that are written."""
    properties: tuple[Property, ...]
    agreements: tuple[Agreement, ...]
    """Latencies, where they were compared."""

    @property
    def preset(self) -> str:
        """The name of its generator's file."""
        return f"{self.name}.toml"


class NotFitted(NamedTuple):
    """A file of which no generator was made."""

    trace: str
    error: str


class Fitted(NamedTuple):
    """The volumes of a folder."""

    volumes: list[Volume]
    """By their names."""
    left_out: list[NotFitted]


class _Asked(NamedTuple):
    """A volume that is to be fitted."""

    name: str
    path: str
    out: str
    how: dict[str, Any]
    """What else its generator and what is kept of it follow from."""


def volumes_of(folder: PathLike) -> dict[str, str]:
    """The volumes of a folder: the paths of its files by the volumes' names, which are those of the files without
    endings. Hidden files are none.

    Raises:
        InputError: there are none, or two have one name.
    """
    found: dict[str, str] = {}
    root = os.fspath(folder)
    for entry in sorted(os.scandir(root), key=lambda entry: entry.name):
        if not entry.is_file() or entry.name.startswith("."):
            continue
        name = entry.name
        for packed in PACKED:
            name = name.removesuffix(packed)
        name = os.path.splitext(name)[0]
        if name in found:
            raise InputError(f"{found[name]} and {entry.path}: are one volume, {name}\n  help: give one another name")
        found[name] = entry.path
    if not found:
        raise InputError(
            f"{root}: has no files\n  help: give a folder with a trace a volume; `ssdlab trace split` makes one of "
            "traces with many volumes"
        )
    return found


def fit_volumes(
    folder: PathLike,
    out: PathLike,
    *,
    requests: int = REQUESTS,
    phases: int = PHASES,
    check: bool = False,
    device: PathLike = "tlc",
    seeds: int = 5,
    format: str | None = None,
    skip_bad_lines: int = 0,
    sort_window: int | None = None,
    threads: int | None = None,
    progress: Callable[[SweepProgress], None] | None = None,
) -> Fitted:
    """Fits a generator to every volume of a folder, several at a time.

    What is damaged is left out, with why. A volume whose generator is in ``out`` already, from the same content and
    options and the same ssdlab, is not fitted again.

    Args:
        folder: with a trace a volume.
        out: the folder for the generators (``NAME.toml``) and what is known of them.
        requests: a volume that has more is fitted to its first ones, this many.
        phases: of each generator.
        check: replay each volume and its twin, at their speed and ten times as fast, and compare latencies.
        device: with ``check``: on this device.
        seeds: with ``check``: the twin is replayed with this many seeds.
        format: of the traces, where it cannot be recognized.
        skip_bad_lines: malformed lines of a volume that may be left out.
        sort_window: how many requests too late a line may stand.
        threads: volumes at once; None is one a core.
        progress: called when volumes are done.

    Raises:
        InputError: the folder has no volumes, or a file cannot be written.
    """
    from ssdlab.sweeps.campaign import SweepProgress
    from ssdlab.sweeps.task import build

    found = volumes_of(folder)
    target = os.fspath(out)
    check_folder("--out", target)
    reading = {"format": format, "skip_bad_lines": skip_bad_lines, "sort_window": sort_window}
    how: dict[str, Any] = {"build": build(), "requests": requests, "phases": phases, "reading": reading}
    if check:
        device = os.fspath(device)
        how |= {"device": device, "device_digest": _digest(device) if os.path.isfile(device) else "", "seeds": seeds}
    asked = [_Asked(name, path, target, how) for name, path in found.items()]
    volumes: list[Volume] = []
    left_out: list[NotFitted] = []
    kept = 0
    for came, was_kept in _each(asked, threads or cpus()):
        (volumes if isinstance(came, Volume) else left_out).append(came)  # type: ignore[arg-type]
        kept += was_kept
        if progress is not None:
            progress(SweepProgress(len(volumes) + len(left_out), len(asked), kept, len(left_out)))
    return Fitted(sorted(volumes), sorted(left_out))


def _each(asked: list[_Asked], threads: int) -> Iterator[tuple[Volume | NotFitted, bool]]:
    """What comes of each volume, and whether it had been kept."""
    missing = []
    for one in asked:
        volume = _kept(one)
        if volume is None:
            missing.append(one)
        else:
            yield volume, True
    if not missing:
        return
    done = len(asked) - len(missing)
    workers = _Workers()
    with ThreadPoolExecutor(min(threads, len(missing))) as pool:
        try:
            for future in as_completed([pool.submit(workers.fit, one) for one in missing]):
                came = future.result()
                done += 1
                yield came, False
        except KeyboardInterrupt as error:
            error.kept = (done,)  # type: ignore[attr-defined]
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            workers.end()


class _Workers:
    """Processes that fit a volume each: what one of them does not survive costs its volume alone."""

    def __init__(self) -> None:
        self._lock, self._ended = Lock(), False
        self._running: set[subprocess.Popen[bytes]] = set()

    def fit(self, asked: _Asked) -> Volume | NotFitted:
        """Fits a volume in a process of its own."""
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = dict.fromkeys(ONE_THREAD, "1") | os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        with self._lock:
            if self._ended:
                raise CancelledError
            worker = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
            )
            self._running.add(worker)
        try:
            out, said = worker.communicate(json.dumps(asked._asdict()).encode())
        finally:
            self._running.discard(worker)
        if self._ended:
            raise CancelledError
        volume = _kept(asked) if worker.returncode == 0 else None
        if volume is not None:
            return volume
        trace = os.path.basename(asked.path)
        if worker.returncode == REFUSED:
            return NotFitted(trace, out.decode())
        if worker.returncode < 0:
            remedy = "memory was lacking, as a rule: --threads 1 or fewer --requests take less"
            return NotFitted(trace, f"its process was ended by signal {-worker.returncode}\n  help: {remedy}")
        raise SimulationError(f"{asked.path}: an internal fault:\n{said.decode(errors='replace')}")

    def end(self) -> None:
        """Ends what is still running."""
        with self._lock:
            self._ended = True
            for worker in list(self._running):
                worker.kill()


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _key(asked: _Asked) -> str:
    """What a volume's generator follows from, as a hash."""
    return hashlib.sha256(json.dumps([_digest(asked.path), asked.how], sort_keys=True).encode()).hexdigest()


def _file(asked: _Asked) -> str:
    return os.path.join(asked.out, asked.name + KEPT)


def _kept(asked: _Asked) -> Volume | None:
    """A volume that was fitted before."""
    try:
        with open(_file(asked), "rb") as file:
            data = json.load(file)
        if data["key"] != _key(asked) or data["preset"] != _digest(os.path.join(asked.out, f"{asked.name}.toml")):
            return None
        return _volume(data)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _volume(data: Mapping[str, Any]) -> Volume:
    values = {name: data[name] for name in Volume._fields}
    values["properties"] = tuple(Property(*of) for of in values["properties"])
    values["agreements"] = tuple(Agreement(*of) for of in values["agreements"])
    return Volume(**values | {"notes": tuple(values["notes"])})


def features(trace: polars.DataFrame) -> dict[str, float]:
    """What a volume (a frame as :func:`ssdlab.trace.read` gives it) is compared with others by."""
    from ssdlab.trace.description import info

    found = info(trace)
    moved = found["bytes_read"] + found["bytes_written"]
    gap = found["gap_ns"]
    return {
        "read_share": found["read_ratio"] or 0.0,
        "rate": math.log10(max(found["iops"] or 0.0, 1e-6)),
        "size": math.log2(max(moved / max(found["reads"] + found["writes"], 1), 1.0)),
        "burstiness": math.log10(max(gap["mean"] or 0.0, 1.0) / max(gap["p50"] or 0.0, 1.0)),
        "sequential": found["sequential_ratio"] or 0.0,
        "hot": found["hot_10"] or 0.0,
        "footprint": math.log10(max(found["footprint_bytes"], 1)),
        "written": found["bytes_written"] / max(moved, 1),
    }


def _fitted(asked: _Asked) -> None:
    """Fits a volume, and keeps what came of it.

    Raises:
        InputError: it cannot be fitted.
    """
    from ssdlab.trace import fit, reading

    how, trace = asked.how, os.path.basename(asked.path)
    frame = reading.read(asked.path, requests=how["requests"], **how["reading"])
    found = fit.fit(frame, about=f"fitted to {trace}", phases=how["phases"])
    preset = os.path.join(asked.out, f"{asked.name}.toml")
    fit.write(found, preset)
    properties = fit.properties(frame, fit.twin_of(preset))
    agreements: list[Agreement] = []
    if "device" in how:
        where = {"device": how["device"], "seeds": how["seeds"], "requests": how["requests"]}
        agreements = fit.check(asked.path, preset, **where, **how["reading"])
    volume = Volume(asked.name, trace, frame.height, found.notes, features(frame), tuple(properties), tuple(agreements))
    data = {"key": _key(asked), "preset": _digest(preset), **volume._asdict()}
    write(_file(asked), json.dumps(data).encode())


if __name__ == "__main__":
    try:
        _fitted(_Asked(**json.load(sys.stdin)))
    except (InputError, SimulationError) as refusal:
        print(refusal, end="")
        sys.exit(REFUSED)
