"""MQSim's XML files: names with texts, in sections."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence

from ssdlab._core import InputError
from ssdlab.foreign.files import read_text
from ssdlab.foreign.mqsim.keys import KEYS
from ssdlab.foreign.mqsim.markup import AS_MQSIM, MarkupError, Node, parse
from ssdlab.foreign.options import ForeignOption, Notes, near
from ssdlab.runs.options import PathLike

WHOLE = re.compile(r"[+-]?[0-9]+")
REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
MOST_DIGITS = 400
"""Of a number: Python refuses to read some thousands."""


class XmlFile:
    """An XML file of MQSim's: names with texts, in sections."""

    def __init__(self, path: PathLike, root: str, usual: str) -> None:
        self.name = os.fspath(path)
        self.notes = Notes()
        self.root = self._root(read_text(path), root)
        if self.root.tag != root:
            other = {"Execution_Parameter_Set": "an ssdconfig.xml", "MQSim_IO_Scenarios": "a workload.xml"}
            what = other.get(self.root.tag)
            remedy = f"this is {what}: give ssdconfig.xml first, then workload.xml" if what else f"give MQSim's {usual}"
            raise self.fail(self.root, f"is not `{root}`", remedy)

    def _root(self, text: str, wanted: str) -> Node:
        """The first outermost element of the name that is wanted, or the first one."""
        try:
            found = parse(text, self.notes)
            if not found:
                raise MarkupError(1, "holds no element")
        except MarkupError as error:
            raise InputError(
                f"{self.name}:{error.line}: is not XML: {error}\n"
                "  help: give MQSim's ssdconfig.xml and workload.xml, in this order"
            ) from None
        return next((node for node in found if node.tag == wanted), found[0])

    def fail(self, node: Node, problem: str, remedy: str) -> InputError:
        return InputError(f"{self.name}:{node.line}: {node.tag} {problem}\n  help: {remedy}")

    def known(self, node: Node, names: Sequence[str]) -> bool:
        """Whether a section is one of these; others are noted."""
        if node.tag not in names:
            self.notes.add("unknown, ignored", f"{node.tag} (line {node.line})")
        return node.tag in names

    def once(self, found: dict[str, Node], name: str, node: Node) -> None:
        """Keeps a node by its name. Of two keys the last one counts, and two sections are merged: as in MQSim."""
        if name in found:
            lines = f"lines {found[name].line} and {node.line}"
            self.notes.add("given twice, the last one counts", f"{node.tag} ({lines})")
            node.inner[:0] = found[name].inner
        found[name] = node

    def section(self, node: Node, *sections: str) -> XmlSection:
        return XmlSection(self, node, [key for key in KEYS if key.section in sections])


class XmlSection:
    """The values of a section; MQSim's defaults hold where the file says nothing."""

    def __init__(self, file: XmlFile, node: Node, keys: list[ForeignOption]) -> None:
        self.file, self.node = file, node
        self.inner: dict[str, Node] = {}
        self._keys = {key.name: key for key in keys}
        self._values: dict[str, Node] = {}
        spellings = {name: key.name for key in keys for name in (key.name, *key.aliases)}
        for child in node.inner:
            if child.tag in spellings:
                file.once(self._values, spellings[child.tag], child)
            elif child.inner:
                file.once(self.inner, child.tag, child)
            else:
                hint = near(child.tag, spellings)
                text = f"{child.tag} (line {child.line}{', ' + hint if hint else ''})"
                file.notes.add("unknown, ignored", text)

    def given(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str) -> str:
        node = self._values.get(name)
        return self._keys[name].default if node is None else node.text.strip()

    def where(self, name: str) -> str:
        """File, line and key, for errors."""
        node = self._values.get(name)
        return f"{self.file.name}: {name}" if node is None else f"{self.file.name}:{node.line}: {node.tag}"

    def bad(self, name: str, expected: str) -> InputError:
        return InputError(f'{self.where(name)}: "{self.text(name)}" is not accepted\n  help: expected {expected}')

    def _number(self, name: str, text: str, pattern: re.Pattern[str]) -> str | None:
        """The number that a text begins with, as C's functions read it; what follows is noted."""
        found = pattern.match(text)
        if found is None or len(found[0]) > MOST_DIGITS or re.match(r"[+-]?0[xX]", text):
            return None
        if found.end() < len(text):
            self.as_mqsim(name, found[0])
        return found[0]

    def as_mqsim(self, name: str, meaning: str) -> None:
        """Notes a value that means something only as MQSim reads it."""
        node = self._values.get(name)
        line = "" if node is None else f" (line {node.line})"
        self.file.notes.add(AS_MQSIM, f'{name} "{self.text(name)}"{line} is {meaning}')

    def whole(self, name: str, least: int = 0) -> int:
        value = int(self._number(name, self.text(name), WHOLE) or -1)
        if not least <= value < 1 << 63:
            raise self.bad(name, f"a whole number, {least} or more")
        return value

    def real(self, name: str, accepted: Callable[[float], bool], expected: str) -> float:
        value = float(self._number(name, self.text(name), REAL) or math.nan)
        if not (math.isfinite(value) and accepted(value)):
            raise self.bad(name, expected)
        return value

    def flag(self, name: str) -> bool:
        """Whatever is not `false` is true, in MQSim."""
        text = self.text(name).lower()
        if text not in ("true", "false"):
            self.as_mqsim(name, "true, as all that is not false")
        return text != "false"

    def choice(self, name: str, *accepted: str) -> str:
        """One of the accepted values, each with its other spellings behind a slash: the first spelling."""
        for value in accepted:
            first, *others = value.split("/")
            if self.text(name).upper() in (first, *others):
                return first
        raise self.bad(name, "one of " + ", ".join(value.replace("/", " or ") for value in accepted))

    def numbers(self, name: str, count: int) -> list[int] | None:
        """Which of ``count`` resources; None where the file does not say."""
        if not self.given(name):
            return None
        parts = self.text(name).split(",")
        numbers = [self._number(name, part.strip(), WHOLE) for part in parts if part]
        found = sorted({-1 if number is None else int(number) for number in numbers})
        if not found or found[0] < 0 or found[-1] >= count:
            raise self.bad(name, f"numbers from 0 to {count - 1}, separated by commas")
        if "" in parts:
            self.as_mqsim(name, ",".join(map(str, found)))
        return found
