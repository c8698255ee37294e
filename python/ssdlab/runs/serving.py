"""Drives served to real programs: from what a user gives to the results at the end."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ssdlab._core import InputError, Server, Session
from ssdlab.common.machine import peak_rss_bytes
from ssdlab.common.output import Output, write
from ssdlab.runs.control import Control
from ssdlab.runs.options import Options, options_of
from ssdlab.runs.result import Result
from ssdlab.runs.secrets import secrets_of

OPTIONS = (
    *("device", "array", "scheme", "age", "precondition", "warmup", "seed", "checkpoint", "settings"),
    *("policies", "ftl"),
)
"""The options of a run that a served drive takes."""


class Drive(NamedTuple):
    """A drive to be served."""

    name: str
    """What clients call it; empty for the only one."""
    options: Options
    """Those of :data:`OPTIONS`, and where its requests and time series go."""
    data: str | None
    """The file that keeps its data; in memory where there is none."""

    def renamed(self, path: str | None) -> str | None:
        """A file of this drive: ``out.json`` becomes ``out.NAME.json`` where drives have names."""
        if path is None or not self.name:
            return path
        stem, suffix = os.path.splitext(path)
        return f"{stem}.{self.name}{suffix}"

    def with_outputs(self, requests_out: str | None, series_out: str | None) -> Drive:
        """This drive, which writes these files."""
        named = {"requests_out": self.renamed(requests_out), "series_out": self.renamed(series_out)}
        return self._replace(options=self.options.replace(**named))


class Pace(NamedTuple):
    """How simulated time goes (docs/serve.md)."""

    clock: Literal["real", "virtual"]
    think: str = "0"
    grace: str = "5ms"
    depth: int = 1
    lag_bound: str = "100us"


class Served(NamedTuple):
    """A drive that was served."""

    drive: Drive
    result: Result
    session: Session


def drives_of(path: str) -> list[Drive]:
    """The drives of a file: a section each, with options of a run, ``data`` and configuration keys.

    Raises:
        InputError: the file cannot be read, or says what no drive is.
    """
    import tomllib

    try:
        with open(path, "rb") as file:
            found = tomllib.loads(file.read().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror}\n  help: give the path of a file of drives"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {error}\n  help: the file must be TOML") from None
    if not found:
        raise InputError(f'{path}: has no drive\n  help: write a section each: [NAME] and device = "tlc"')
    return [_drive(path, name, keys) for name, keys in found.items()]


def _drive(path: str, name: str, keys: Any) -> Drive:
    if not isinstance(keys, Mapping):
        raise InputError(f"{path}: {name}: stands in no section\n  help: write [NAME] above what a drive has")
    if not name or not all(letter.isalnum() or letter in "-_" for letter in name):
        raise InputError(f"{path}: {name!r}: cannot be a drive's name\n  help: use letters, digits, - and _")
    given = {option: value for option, value in keys.items() if option in OPTIONS and option != "settings"}
    settings = {key: value for key, value in keys.items() if key not in given and key != "data"}
    for key, value in settings.items():
        if "." not in key and not isinstance(value, Mapping):
            known = ", ".join(option for option in OPTIONS if option != "settings")
            raise InputError(
                f"{path}: {name}.{key}: unknown\n  help: a drive has {known}, data, and keys such as "
                '"chip.t_read" = "60us"'
            )
    data = keys.get("data")
    if data is not None and not isinstance(data, str):
        raise InputError(f"{path}: {name}.data: is {data!r}\n  help: write the path of a file")
    return Drive(name, options_of({**given, "settings": settings}), data)


class Serving:
    """A server of drives, from its begin to its end."""

    def __init__(
        self,
        drives: Sequence[Drive],
        pace: Pace,
        *,
        socket: str | None = None,
        address: str | None = None,
        nvme: str | None = None,
        hosts: Sequence[str] | None = None,
        secrets: str | None = None,
        control: str | None = None,
        memory: str = "4GiB",
        records: bool = False,
        after_load: str | None = None,
    ) -> None:
        """Opens the drives. Clients of NBD come to the path ``socket`` or to a TCP ``address``; hosts of NVMe come to
        the TCP address ``nvme``: all, or those of the names (NQNs) ``hosts``, and with a file of ``secrets`` those that
        prove who they are (:mod:`ssdlab.runs.secrets`). ``memory`` is what data without a file
        may take; with ``records`` the sessions' requests can be played again. After the first clients have left, the
        drives are left alone for ``after_load``, such as ``"6mo"``; what is measured begins then. At the path
        ``control`` others let time pass, save drives and ask how they are (:mod:`ssdlab.runs.control`).

        Raises:
            InputError: a drive that cannot be built, a place that clients cannot come to.
        """
        self.drives = drives
        self.notes: list[str] = []
        self._started = time.perf_counter()
        self._logs: list[Output | None] = []
        self._server = Server(
            socket=socket,
            address=address,
            nvme=nvme,
            hosts=None if hosts is None else set(hosts),
            secrets={} if secrets is None else secrets_of(secrets),
            **pace._asdict(),
        )
        self._control: Control | None = None
        try:
            self._open(memory, records, after_load)
            self._control = None if control is None else Control(control)
        except BaseException:
            self._discard()
            raise

    def __enter__(self) -> Serving:
        return self

    def __exit__(self, *_: object) -> None:
        self._discard()

    def _discard(self) -> None:
        """Drops the logs that have not been completed, and the socket of control."""
        if self._control is not None:
            self._control.close()
        for log in self._logs:
            if log is not None:
                log.discard()

    def _open(self, memory: str, records: bool, after_load: str | None) -> None:
        from ssdlab.policy.source import load

        for drive in self.drives:
            options = drive.options
            log = None if options.requests_out is None else Output(options.requests_out)
            self._logs.append(log)
            note = self._server.export(
                drive.name,
                options.device,
                memory=memory,
                data=drive.data,
                records=records,
                after_load=after_load,
                scheme=options.scheme,
                age=options.age,
                settings=list(options.settings),
                requests_out=None if log is None else log.temporary,
                seed=options.seed,
                warmup=options.warmup,
                checkpoint=options.checkpoint,
                array=options.array,
                policies=load(options.policies or ()),
            )
            if note is not None:
                self.notes.append(note)

    def start(self) -> list[str]:
        """Begins to serve; returns the URI of each drive."""
        return self._server.start()

    def attend(self) -> bool:
        """Looks after clients for a moment; whether some have asked for something and all have left."""
        if self._control is not None:
            self._control.attend(self._server)
        return self._server.attend()

    def said(self) -> list[str]:
        """What users should be told of what goes on, since this was asked last."""
        return self._server.notes()

    def stop(self) -> Iterator[Served]:
        """Ends, and writes each drive's requests and time series."""
        for drive, log, session in zip(self.drives, self._logs, self._server.stop(), strict=True):
            finished = session.finish()
            if log is not None:
                log.commit()
            series = finished["series"]
            if drive.options.series_out is not None and series is not None:
                write(drive.options.series_out, series)
            cost = {"wall_s": time.perf_counter() - self._started, "peak_rss_bytes": peak_rss_bytes()}
            result = Result.from_core(finished, drive.options.requests_out, None, cost)
            yield Served(drive, result, session)
