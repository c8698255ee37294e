"""What the files of other tools become: runs, each with its device, its workload and the options that go with them.

:mod:`ssdlab.mqsim` and :mod:`ssdlab.fio` read such files. What they give is played like any other run.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._core import InputError
from .output import write

if TYPE_CHECKING:
    from .result import Result

PathLike = str | os.PathLike[str]

INPUTS: set[str] = set()
"""The user's files that have been read: no output is to take the place of one."""

Document = dict[str, Any]
"""A TOML document: plain keys, and tables by name; ``job`` holds a table of tables."""


@dataclass(frozen=True)
class Key:
    """What becomes of a word of another tool: the rows of the tables in docs/mqsim.md and docs/fio.md."""

    name: str
    ours: str
    """The key here, or where it goes; empty where there is none."""
    note: str = ""
    default: str = ""
    """What the other tool takes where its file says nothing."""
    aliases: tuple[str, ...] = ()
    section: str = ""


class Notes:
    """What could not be taken over as it stands: words by what became of them, in the order of their first mention."""

    def __init__(self) -> None:
        self._groups: dict[str, list[str]] = {}

    def add(self, group: str, word: str) -> None:
        words = self._groups.setdefault(group, [])
        if word not in words:
            words.append(word)

    def lines(self) -> tuple[str, ...]:
        """A line a group."""
        return tuple(f"{group}: {', '.join(words)}" for group, words in self._groups.items())


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
                options += ["--" + name.replace("_", "-"), str(value)]
        options += [word for setting in settings for word in ("--set", str(setting))]
        return shlex.join(["ssdlab", "run", *options])

    def run(self, **words: Any) -> Result:
        """Plays it once; ``words`` are those of :func:`ssdlab.run` and hold over what the files say."""
        from .api import run

        if words.pop("repeat", 1) != 1:
            raise InputError("repeat: a part is played once\n  help: play it with several seeds")
        mine: dict[str, Any] = {**self.placed(), **self.options}
        if "settings" in mine and "settings" in words:
            from .api import setting_words

            words["settings"] = [*mine["settings"], *setting_words(words["settings"])]
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


def to_toml(document: Document) -> str:
    """A document as TOML."""
    plain = {key: value for key, value in document.items() if not isinstance(value, dict)}
    lines = [f"{key} = {_value(value)}" for key, value in plain.items()]
    tables = {key: value for key, value in document.items() if isinstance(value, dict)}
    for name, table in tables.items():
        nested = {f"{name}.{part}": keys for part, keys in table.items() if isinstance(keys, dict)}
        for head, keys in (nested or {name: table}).items():
            lines += ["", f"[{head}]", *(f"{key} = {_value(value)}" for key, value in keys.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    return toml_text(value) if isinstance(value, str) else repr(value)


def toml_text(text: str) -> str:
    """A text as TOML."""
    import json

    # JSON's escapes of one-line texts are TOML's.
    return json.dumps(text, ensure_ascii=False)


LARGEST = 16 << 20
"""The largest of other tools' files that is read [bytes]; the core reads its own files up to the same size."""


def read_text(path: PathLike) -> str:
    """A user's file as text."""
    INPUTS.add(os.fspath(path))
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(LARGEST + 1)
            if len(text) > LARGEST:
                remedy = "such a file is a page of text: is this a trace?"
                raise InputError(f"{os.fspath(path)}: is larger than {LARGEST >> 20} MiB\n  help: {remedy}")
            return text
    except OSError as error:
        raise InputError(
            f"{os.fspath(path)}: cannot be read: {error.strerror}\n  help: give the path of a file"
        ) from None


def near(word: str, known: Iterable[str]) -> str:
    """A hint at the known word that is meant, or an empty text."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), 1, cutoff=0.9)
    return f"did you mean `{found[0]}`?" if found else ""


def table(keys: Iterable[Key], heads: tuple[str, str, str]) -> str:
    """The keys as a table in Markdown: the tables of the docs are these texts."""
    lines = ["| " + " | ".join(heads) + " |", "|---|---|---|"]
    for key in keys:
        names = " / ".join(f"`{name}`" for name in (key.name, *key.aliases))
        ours = ", ".join(f"`{word}`" for word in key.ours.split(", ")) if key.ours else "–"
        lines.append(f"| {names} | {ours} | {key.note} |")
    return "\n".join(lines) + "\n"
