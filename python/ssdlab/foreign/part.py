"""What the files of other tools become: runs, each with its device, its workload and the options that go with them.

:mod:`ssdlab.foreign.mqsim` and :mod:`ssdlab.foreign.fio` read such files. What they give is played like any other run.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ssdlab._core import InputError
from ssdlab.common.output import write
from ssdlab.common.toml import Document, to_toml
from ssdlab.foreign.files import PathLike
from ssdlab.runs.options import flag_of, setting_texts

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
    """Further words of :func:`ssdlab.run`; those given by the user hold over them."""
    trace: str | None = None
    """The trace that is played: a path, or with ``content`` the text of one."""
    content: str | None = None
    """A trace that was put together from the user's ones, as MQSim ASCII."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """``section.key`` here to the user's file, line and word, for errors."""
    number: int = 0
    """Its number in the user's file, where that numbers its parts."""

    def place(self, folder: PathLike) -> dict[str, Any]:
        """Writes device.toml and workload.toml, or workload.trace, into a folder; gives the words of
        :func:`ssdlab.run` that play them, without ``options``."""
        os.makedirs(folder, exist_ok=True)
        words: dict[str, Any] = {}
        for name, document in (("device", self.device), ("workload", self.workload)):
            if document is not None:
                words[name] = os.path.join(folder, f"{name}.toml")
                # The name of a user's file may be no UTF-8.
                write(words[name], to_toml(document).encode(errors="replace"))
        if self.content is not None:
            words["workload"] = os.path.join(folder, "workload.trace")
            write(words["workload"], self.content.encode())
        elif self.trace is not None:
            words["workload"] = self.trace
        return words

    def targets(self, folder: PathLike) -> list[str]:
        """The files that :meth:`place` writes."""
        there = {"device.toml": self.device, "workload.toml": self.workload, "workload.trace": self.content}
        return [os.path.join(folder, name) for name, what in there.items() if what is not None]

    def placed(self) -> dict[str, Any]:
        """:meth:`place` in a folder that lasts as long as the process."""
        folder = tempfile.mkdtemp(prefix="ssdlab-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return self.place(folder)

    def command(self, words: Mapping[str, Any]) -> str:
        """The command that plays what :meth:`place` has written."""
        import shlex

        settings = [*self.options.get("settings", ()), *words.get("settings", ())]
        options: list[str] = []
        for name, value in {**self.options, **words}.items():
            if name != "settings" and value not in (None, ()):
                options += [flag_of(name), str(value)]
        options += [word for setting in settings for word in ("--set", str(setting))]
        return shlex.join(["ssdlab", "run", *options])

    def run(self, **words: Any) -> Result:
        """Plays it once; ``words`` are those of :func:`ssdlab.run` and hold over what the files say."""
        from ssdlab.runs.api import run

        if words.pop("repeat", 1) != 1:
            raise InputError("repeat: a part is played once\n  help: play it with several seeds")
        mine: dict[str, Any] = {**self.placed(), **self.options}
        if "settings" in mine and "settings" in words:
            words["settings"] = [*mine["settings"], *setting_texts(words["settings"])]
        try:
            result: Result = run(**{**mine, **words}, repeat=1)
        except InputError as error:
            raise self.translated(error) from None
        return result

    def translated(self, error: InputError) -> InputError:
        """The error in the words of the user's files."""
        text = str(error)
        bare = re.sub(r"^\S*/ssdlab-\w+/(device|workload)\.toml:(\d+: )?", "", text)
        found = {ours: re.search(rf"(?<![\w.]){re.escape(ours)}(?!\w)", text) for ours in self.keys}
        places = {match.start(): ours for ours, match in found.items() if match}
        if not places:
            return error if bare == text else InputError(bare)
        ours = places[min(places)]
        return InputError(f"{self.keys[ours]}: {bare.removeprefix('device: ').removeprefix('configuration: ')}")
