"""Files of other tools become runs, each with its device, its workload and the options that go with them.

:mod:`ssdlab.foreign.mqsim` and :mod:`ssdlab.foreign.fio` read such files. Their runs are played like any other.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ssdlab._core import InputError
from ssdlab.common.output import write as write_file
from ssdlab.common.toml import Document, to_toml
from ssdlab.runs.options import PathLike, flag_of, setting_texts

if TYPE_CHECKING:
    from ssdlab.runs.result import Result


@dataclass(frozen=True)
class Part:
    """One run of a foreign file: an I/O scenario of MQSim, or fio's jobs up to a stonewall."""

    name: str
    device: Document | None
    """The device; None where the user chooses one."""
    workload: Document | None
    """The generator's jobs; None where a trace is played."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further options of :func:`ssdlab.run`; those given by the user take precedence."""
    trace: str | None = None
    """The trace that is played: a path, or with ``content`` the text of one."""
    content: str | None = None
    """A trace that was put together from the user's ones, as MQSim ASCII."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """``section.key`` here to the user's file, line and option, for errors."""
    number: int = 0
    """Its number in the user's file, where that numbers its parts."""

    def write(self, folder: PathLike) -> dict[str, Any]:
        """Writes device.toml and workload.toml, or workload.trace, into a folder; gives the
        options of :func:`ssdlab.run` that play them, without ``options``."""
        os.makedirs(folder, exist_ok=True)
        given: dict[str, Any] = {}
        for name, document in (("device", self.device), ("workload", self.workload)):
            if document is not None:
                given[name] = os.path.join(folder, f"{name}.toml")
                # The name of a user's file may be no UTF-8.
                write_file(given[name], to_toml(document).encode(errors="replace"))
        if self.content is not None:
            given["workload"] = os.path.join(folder, "workload.trace")
            write_file(given["workload"], self.content.encode())
        elif self.trace is not None:
            given["workload"] = self.trace
        return given

    def targets(self, folder: PathLike) -> list[str]:
        """The files that :meth:`write` writes."""
        there = {"device.toml": self.device, "workload.toml": self.workload, "workload.trace": self.content}
        return [os.path.join(folder, name) for name, what in there.items() if what is not None]

    def write_temporarily(self) -> dict[str, Any]:
        """:meth:`write` into a folder that lasts as long as the process."""
        import tempfile

        folder = tempfile.mkdtemp(prefix="ssdlab-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return self.write(folder)

    def command(self, given: Mapping[str, Any]) -> str:
        """The command that plays what :meth:`write` has written."""
        import shlex

        settings = [*self.options.get("settings", ()), *given.get("settings", ())]
        options: list[str] = []
        for name, value in {**self.options, **given}.items():
            if name != "settings" and value not in (None, ()):
                options += [flag_of(name), str(value)]
        options += [argument for setting in settings for argument in ("--set", str(setting))]
        return shlex.join(["ssdlab", "run", *options])

    def run(self, **given: Any) -> Result:
        """Plays it once; ``given`` are options of :func:`ssdlab.run`, which take precedence over the files."""
        from ssdlab.runs.api import run

        if given.pop("repeat", 1) != 1:
            raise InputError("repeat: a part is played once\n  help: play it with several seeds")
        mine: dict[str, Any] = {**self.write_temporarily(), **self.options}
        if "settings" in mine and "settings" in given:
            given["settings"] = [*mine["settings"], *setting_texts(given["settings"])]
        try:
            result: Result = run(**{**mine, **given}, repeat=1)
        except InputError as error:
            raise self.translated(error) from None
        return result

    def translated(self, error: InputError) -> InputError:
        """The error in terms of the user's files."""
        text = str(error)
        bare = re.sub(r"^\S*/ssdlab-\w+/(device|workload)\.toml:(\d+: )?", "", text)
        found = {ours: re.search(rf"(?<![\w.]){re.escape(ours)}(?!\w)", text) for ours in self.keys}
        positions = {match.start(): ours for ours, match in found.items() if match}
        if not positions:
            return error if bare == text else InputError(bare)
        ours = positions[min(positions)]
        return InputError(f"{self.keys[ours]}: {bare.removeprefix('device: ').removeprefix('configuration: ')}")
