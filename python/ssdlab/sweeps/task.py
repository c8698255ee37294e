"""A case of a sweep as it is played: by a thread here, by another process, on another machine.

What is to be played travels as a :class:`Task`, what came of it as an :class:`Answer`. Elsewhere nothing is taken on
trust: :func:`execute` refuses another build of ssdlab, checks files by their SHA-256, and plays only what has the hash
(:func:`ssdlab.runs.manifest.key_of`) that the sweep was started with.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from ssdlab._core import RESULTS_VERSION, InputError, SimulationError
from ssdlab._core import __version__ as core_version
from ssdlab.policy import source
from ssdlab.runs.documents import is_text, title_of
from ssdlab.runs.manifest import key_of_text
from ssdlab.runs.options import Options
from ssdlab.runs.runner import Stop, play
from ssdlab.runs.simulation import open_simulation

SAMPLES = (
    Options("asplos21", "default", scheme="pso", age="pec=2000,retention=6mo", requests=200),
    Options("hpca24", "default", scheme="rif", age="pec=1000,retention=1mo", requests=200),
    Options("electronics25", "default", scheme="reo", age="pec=2500,fill=1", replay="closed:64", requests=200),
)
"""What :func:`build` plays."""

CHUNK = 4 << 20
"""A file is shipped in pieces of this size [B]."""


class File(NamedTuple):
    """A file that a case reads, known by its content."""

    id: str
    """Of name and content."""
    name: str
    size: int
    sha256: str
    path: str
    """Where it lies, or would lie on a shared file system; empty where it is always shipped."""


class Task(NamedTuple):
    """A case to be played."""

    options: Options
    key: str
    """The hash of everything that decides the result."""
    build: str | None = None
    """The ssdlab that must play it; None in the process that asks."""
    files: tuple[tuple[str, File], ...] = ()
    """What it reads, by role (:func:`with_files`), where it is found or received by content."""


class Answer(NamedTuple):
    """What came of a case. Errors travel as text: not every exception can be sent to another process."""

    kind: Literal["done", "failed", "changed", "lost", "missing", "refused"]
    """``done``: the payload of the result. ``failed``: why the case fails, wherever it is played. ``changed``: why its
    input is not the one the sweep began with. ``lost``: what stopped it that is not of the case (a worker that died, a
    full disk, no memory). ``missing``: (worker, ids of files) that are to be shipped. ``refused``:
    the worker and the build that it has."""
    value: Any


@cache
def build() -> str:
    """This ssdlab: release, core, version of results, and a digest of what the core computes.

    Two builds of one release can differ (other sources, compilers, mathematical libraries). What counts is what they
    compute, not their bytes: the digest is that of a few short runs (some milliseconds, once a process).
    """
    from ssdlab._version import __version__

    digest = hashlib.sha256()
    for options in SAMPLES:
        data = play(options, keep_series=False).to_payload()["data"]
        digest.update(json.dumps([data[part] for part in sorted(data) if part != "process"], sort_keys=True).encode())
    return f"ssdlab {__version__} (core {core_version}, results {RESULTS_VERSION}, digest {digest.hexdigest()[:12]})"


def execute(task: Task, stop: Stop | None = None, where: str | None = None, store: str | None = None) -> Answer:
    """Plays a case; what an :class:`concurrent.futures.Executor` calls, here or on another machine.

    Args:
        task: the case.
        stop: ends it early.
        where: the worker's name; host and process if not given.
        store: the worker's folder of files that were shipped.
    """
    if task.build is not None and task.build != build():
        return Answer("refused", f"{where or _here()} has {build()}")
    found = {role: located(file, store) for role, file in task.files}
    absent = [file.id for role, file in task.files if found[role] is None]
    if absent:
        return Answer("missing", (where, absent))
    paths = {role: path for role, path in found.items() if path is not None}
    options = with_files(task.options, paths) if paths else task.options
    read = {path: _state(path) for path in paths.values()}
    try:
        simulation = open_simulation(options)
    except (InputError, SimulationError) as error:
        # It could be opened when the sweep began.
        return Answer("changed", f"{where or _here()}: {error}")
    key = key_of_text(simulation.manifest)
    if key != task.key:
        words = (options.device, options.workload, *options.merge)
        inputs = ", ".join(title_of(word) if is_text(word) else word for word in words)
        return Answer(
            "changed",
            f"{inputs}: on {where or _here()} this is not the input that the sweep began with (case {key[:12]}, not "
            f"{task.key[:12]})\n  help: leave files as they are while a sweep runs, and have the same ones everywhere",
        )
    try:
        payload = play(options, simulation=simulation, stop=stop, keep_series=False).to_payload()
    except (InputError, SimulationError) as error:
        return Answer("failed", str(error))
    for path, state in read.items():
        if _state(path) != state:
            return Answer("changed", f"{path}: changed while the case was played on {where or _here()}")
    return Answer("done", payload)


def execute_all(
    tasks: Iterable[Task], stop: Stop | None = None, where: str | None = None, store: str | None = None
) -> list[Answer]:
    """Plays cases one after the other; as :func:`execute`."""
    return [execute(task, stop, where, store) for task in tasks]


def _here() -> str:
    import socket

    return f"process {os.getpid()} of {socket.gethostname()}"


def with_files(options: Options, paths: Mapping[str, str]) -> Options:
    """The run with other paths of its files. ``paths`` has all that :func:`files_of` names."""
    merge, settings = list(options.merge), list(options.settings)
    policies = {role.removeprefix("policy:"): path for role, path in paths.items() if role.startswith("policy:")}
    if policies:
        options = options.replace(policies=source.moved(options.policies, policies))
    options = options.replace(traces=os.path.dirname(paths["traces"]) if "traces" in paths else None)
    for role, path in paths.items():
        if role == "device":
            options = options.replace(device=path)
        elif role == "array":
            # In place of a device it stands for none.
            device = path if options.device == options.array else options.device
            options = options.replace(array=path, device=device)
        elif role in ("workload", "checkpoint"):
            options = options.replace(**{role: path})
        elif role.startswith("merge:"):
            merge[int(role.removeprefix("merge:"))] = path
        elif "." in role and not role.startswith(("policy:", "base:")):
            settings.append(f"{role}={path}")
    return options.replace(merge=tuple(merge), settings=tuple(settings))


def located(file: File, store: str | None) -> str | None:
    """Where a file is here: under its own path or in ``store``, whichever has its content; None if neither has."""
    paths = [file.path] if file.path else []
    if store is not None:
        paths.append(os.path.join(store, file.id, file.name))
    for path in paths:
        try:
            if os.path.getsize(path) == file.size and sha256_of(path) == file.sha256:
                return path
        except OSError:
            continue
    return None


def receive(file: File, offset: int, chunk: bytes, store: str) -> str | None:
    """Takes a piece of a file that is shipped, the last one with an empty ``chunk``: the file then takes its place if
    its content is what was announced. Returns what is wrong."""
    folder = os.path.join(store, file.id)
    part = os.path.join(folder, f"{os.getpid()}.part")
    try:
        os.makedirs(folder, exist_ok=True)
        if chunk:
            with open(part, "r+b" if offset else "wb") as out:
                out.seek(offset)
                out.write(chunk)
            return None
        if not file.size:
            open(part, "wb").close()
        digest = sha256_of(part)
        if digest != file.sha256 or os.path.getsize(part) != file.size:
            os.unlink(part)
            return f"its SHA-256 is {digest[:12]}…, not {file.sha256[:12]}…"
        os.replace(part, os.path.join(folder, file.name))
    except OSError as error:
        return f"cannot be written to {folder}: {error.strerror}"
    return None


_known: dict[tuple[str, tuple[int, ...]], str] = {}


def sha256_of(path: str) -> str:
    """The SHA-256 of a file's content, computed once for each state of the file."""
    state = _state(path)
    if state is None:
        raise FileNotFoundError(path)
    if (path, state) not in _known:
        with open(path, "rb") as file:
            _known[path, state] = hashlib.file_digest(file, "sha256").hexdigest()
    return _known[path, state]


def _state(path: str) -> tuple[int, ...] | None:
    """What changes when a file does; None where there is none."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_size, about.st_mtime_ns, about.st_ino
