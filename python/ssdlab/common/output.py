"""Output files: each is written to a temporary file and renamed, so that an earlier file stays whole until then."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from ssdlab._core import InputError, SimulationError
from ssdlab.common import signals

if TYPE_CHECKING:
    from collections.abc import Mapping

STALE_S = 3600.0
"""A temporary file that no process holds is removed when it is so old [s]. Its writer holds a lock (flock), which other
machines may not see on a network file system: hence the age."""
TABLES = (".csv", ".parquet", ".json")
"""What a table's file may end in."""
FIGURES = (".png", ".svg", ".pdf")
"""What a figure's file may end in."""

_open: set[Output] = set()
"""The files that are being written."""


def discard_all() -> None:
    """Drops all files that are being written, before the process ends."""
    for output in list(_open):
        output.discard()


class Output:
    """A file that is being written. :attr:`temporary` is where it is written to; :meth:`commit` gives it its name.

    Pipes, devices and what standard output goes to are written in place. A symbolic link keeps pointing at its target,
    which is replaced. Mode and, as far as permitted, owner of an earlier file are kept.

    Raises:
        SimulationError: the file cannot be created.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._target = os.path.realpath(self.path)
        self._lock: int | None = None
        try:
            earlier = os.stat(self.path)
        except FileNotFoundError:
            earlier = None
        except (OSError, ValueError) as error:
            raise self._failed(error) from None
        folder = os.path.dirname(self._target) or "."
        if earlier is not None and (_in_place(self.path, earlier) or not os.access(folder, os.W_OK)):
            self.temporary = self.path
            return
        name = os.path.basename(self._target)[:50]
        self.temporary = os.path.join(folder, f".{name}.{os.urandom(4).hex()}.tmp")
        try:
            remove_stale(entry.path for entry in os.scandir(folder) if _is_temporary(entry.name, name))
            # The umask, and the folder's default rights, hold for a file that was not there before.
            self._lock = os.open(self.temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            _open.add(self)
            lock(self._lock)
            if earlier is not None:
                with suppress(OSError):
                    os.fchown(self._lock, earlier.st_uid, earlier.st_gid)
                os.fchmod(self._lock, stat.S_IMODE(earlier.st_mode))
        except (OSError, ValueError) as error:
            self.discard()
            raise self._failed(error) from None

    def commit(self, aside: bool = False) -> str:
        """Gives what was written its name; returns the name. ``aside``: an earlier file keeps its name, and what was
        written is called ``x.partial.json`` beside it."""
        if self._lock is None:
            return self.path
        with signals.held():
            return self._commit(aside)

    def _commit(self, aside: bool) -> str:
        assert self._lock is not None, "Invariant: it has not been committed"
        target, path = self._target, self.path
        if aside and os.path.exists(target):
            target, path = (".partial".join(os.path.splitext(name)) for name in (target, path))
        try:
            os.fsync(self._lock)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                self.discard()
                raise self._failed(error) from None
        try:
            os.replace(self.temporary, target)
        except OSError as error:
            self._copy(target, error)
        self._release()
        return path

    def _copy(self, target: str, error: OSError) -> None:
        """Writes into a file that cannot be replaced: one that a container mounts, or another user's in /tmp."""
        try:
            if error.errno not in (errno.EBUSY, errno.EPERM, errno.EACCES, errno.EXDEV) or not os.path.isfile(target):
                raise error

            from shutil import copyfile

            copyfile(self.temporary, target)
        except OSError as problem:
            self._release()
            raise SimulationError(
                f"{self.path}: cannot be written: {problem.strerror}\n  help: what was to be written is in "
                f"{self.temporary}"
            ) from None
        os.unlink(self.temporary)

    def discard(self) -> None:
        """Drops what was written; an earlier file is as it was."""
        if self._lock is not None:
            with suppress(OSError):
                os.unlink(self.temporary)
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            _open.discard(self)
            os.close(self._lock)
            self._lock = None

    def renamed(self, error: BaseException) -> None:
        """Lets an error speak of the file by its name."""
        if self.temporary != self.path and isinstance(error, InputError | SimulationError):
            error.args = (str(error).replace(self.temporary, self.path),)

    def _failed(self, error: OSError | ValueError) -> SimulationError:
        why = error.strerror if isinstance(error, OSError) else str(error)
        kept = "; the file that was there is as it was" if os.path.isfile(self.path) else ""
        return SimulationError(
            f"{self.path}: cannot be written: {why}\n  help: check that the folder exists and has room{kept}"
        )


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Gives the path to write a file's content to. The file has its name when the block ends; where it raises, an
    earlier file is as it was.

    Raises:
        SimulationError: the file cannot be written.
    """
    output = Output(path)
    try:
        yield output.temporary
    except OSError as error:
        output.discard()
        raise output._failed(error) from None
    except BaseException as error:
        output.discard()
        output.renamed(error)
        raise
    output.commit()


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file whole, or not at all: a failure is a :class:`SimulationError` that names it."""
    with replacing(path) as temporary:
        stream = _standard_stream(temporary)
        if stream is None:
            with open(temporary, "wb") as file:
                file.write(data)
        else:
            stream.flush()
            view = memoryview(data)
            while view:
                view = view[os.write(stream.fileno(), view) :]


def check_outputs(outputs: Mapping[str, str | None], inputs: Iterable[str]) -> None:
    """Refuses paths that cannot be written, that two outputs share, or that are an input, under whatever name: links,
    hard ones too, are followed. ``outputs`` is option -> path, "-" for standard output.

    Raises:
        InputError: a path is refused.
    """
    read = {identity for path in inputs if (identity := _identity(path)) is not None}
    taken: dict[object, str] = {}
    for option, path in outputs.items():
        if path is None or path == "-":
            continue
        problem = _unwritable(path)
        if problem is not None:
            raise InputError(f"{option} {path}: cannot be written: {problem[0]}\n  help: {problem[1]}")
        identity = _identity(path)
        if identity is None and os.path.exists(path):
            continue  # a pipe or a device
        # What is not there yet is known by its name.
        full = identity or os.path.realpath(path)
        if full in taken:
            raise InputError(f"{option} {path}: is also what {taken[full]} writes\n  help: give another path")
        taken[full] = option
        if identity in read:
            raise InputError(f"{option} {path}: is an input of this run\n  help: give another path")


def check_ending(option: str, path: str | None, endings: tuple[str, ...]) -> None:
    """Refuses a path whose ending does not determine what to write.

    Raises:
        InputError: the ending is another.
    """
    if path is not None and not path.lower().endswith(endings):
        shown = f"{', '.join(endings[:-1])} or {endings[-1]}"
        ending, subject = os.path.splitext(path)[1], f"{option} {path}".strip()
        raise InputError(f"{subject}: the ending {ending!r} is not known\n  help: write to a {shown} file")


def check_folder(option: str, folder: str | os.PathLike[str]) -> None:
    """Makes a folder that is to be written to, and makes sure that it can be.

    Raises:
        InputError: it cannot be.
    """
    folder = os.fspath(folder)
    try:
        os.makedirs(folder, exist_ok=True)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{option} {folder}: cannot be made: {why}\n  help: give another folder") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            f"{option} {folder}: no permission to write in it\n  help: change its permissions or give another folder"
        )


def lock(handle: int) -> bool:
    """Takes the lock of an open file unless another holds it; whether it is ours. The lock ends with the process that
    took it, however that ends. On a file system without locks it is always ours."""
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def remove_stale(paths: Iterable[str]) -> None:
    """Removes temporary files that processes have left behind when they were killed."""
    now = time.time()
    for path in paths:
        with suppress(OSError):
            if now - os.stat(path, follow_symlinks=False).st_mtime < STALE_S:
                continue
            handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if lock(handle):
                    os.unlink(path)
            finally:
                os.close(handle)


def _is_temporary(entry: str, name: str) -> bool:
    middle = entry.removeprefix(f".{name}.").removesuffix(".tmp")
    return len(middle) == 8 and entry == f".{name}.{middle}.tmp"


def _in_place(path: str, about: os.stat_result) -> bool:
    """Whether a file cannot be replaced by another: what a shell has opened, a pipe, a device."""
    if not stat.S_ISREG(about.st_mode) or _standard_stream(path) is not None:
        return True
    return os.path.realpath(os.path.dirname(path) or ".").startswith("/proc/")


def _standard_stream(path: str) -> IO[str] | None:
    """The standard stream that a path stands for."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            if os.path.samestat(os.stat(path), os.fstat(stream.fileno())):
                return stream
    return None


def _identity(path: str) -> tuple[int, int] | None:
    """What two names of one file have in common; None where there is no file of data."""
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return None
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) else None


def _unwritable(path: str) -> tuple[str, str] | None:
    """Why a file cannot be written, and the remedy."""
    folder = os.path.dirname(path) or "."
    try:
        if os.path.isdir(path):
            return "it is a folder", "give the path of a file"
        if os.path.islink(path) and not os.path.exists(path):
            folder = os.path.dirname(os.path.realpath(path, strict=False))
            with suppress(FileNotFoundError):
                os.stat(path)  # fails for a loop
        if os.path.exists(path):
            return None if os.access(path, os.W_OK) else ("permission denied", "change its permissions or the path")
        if not os.path.isdir(folder):
            return f"there is no folder {folder}", "create it first, or give another path"
        if not os.access(folder, os.W_OK):
            return f"no permission to write in {folder}", "change its permissions or the path"
    except OSError as error:
        return error.strerror or str(error), "give another path"
    except ValueError as error:
        return str(error), "give another path"
    return None
