"""MQSim's XML files: names with texts, in sections."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ssdlab._core import InputError
from ssdlab.foreign.files import read_text
from ssdlab.foreign.mqsim.keys import KEYS
from ssdlab.foreign.options import ForeignOption, Notes, near
from ssdlab.runs.options import PathLike


@dataclass
class XmlNode:
    name: str
    line: int
    text: str = ""
    children: list[XmlNode] = field(default_factory=list)


class XmlFile:
    """An XML file of MQSim's: names with texts, in sections."""

    def __init__(self, path: PathLike, root: str, usual: str) -> None:
        self.name = os.fspath(path)
        self.notes = Notes()
        self.root = self._parse(read_text(path))
        if self.root.name != root:
            other = {"Execution_Parameter_Set": "an ssdconfig.xml", "MQSim_IO_Scenarios": "a workload.xml"}
            what = other.get(self.root.name)
            remedy = f"this is {what}: give ssdconfig.xml first, then workload.xml" if what else f"give MQSim's {usual}"
            raise self.fail(self.root, f"is not `{root}`", remedy)

    def _parse(self, text: str) -> XmlNode:
        from xml.parsers import expat

        parser = expat.ParserCreate()
        top = XmlNode("", 0)
        open_nodes = [top]

        def start(name: str, attributes: dict[str, str]) -> None:
            node = XmlNode(name, parser.CurrentLineNumber)
            open_nodes[-1].children.append(node)
            open_nodes.append(node)

        def data(text: str) -> None:
            open_nodes[-1].text += text

        def doctype(*_: object) -> None:
            raise InputError(
                f"{self.name}:{parser.CurrentLineNumber}: has a document type, which MQSim's files have not\n"
                "  help: take <!DOCTYPE …> out"
            )

        parser.StartElementHandler = start
        parser.EndElementHandler = lambda name: open_nodes.pop()
        parser.CharacterDataHandler = data
        parser.StartDoctypeDeclHandler = doctype
        try:
            parser.Parse(text.encode("utf-8", "surrogateescape"), True)
        except expat.ExpatError as error:
            raise InputError(
                f"{self.name}:{error.lineno}: is not XML: {expat.ErrorString(error.code)}\n"
                "  help: give MQSim's ssdconfig.xml and workload.xml, in this order"
            ) from None
        except InputError:
            raise
        except (LookupError, ValueError) as error:
            raise InputError(
                f"{self.name}:1: has an encoding that cannot be read: {error}\n"
                '  help: save it in UTF-8, and say encoding="UTF-8"'
            ) from None
        return top.children[0]

    def fail(self, node: XmlNode, problem: str, remedy: str) -> InputError:
        return InputError(f"{self.name}:{node.line}: {node.name} {problem}\n  help: {remedy}")

    def known(self, node: XmlNode, names: Sequence[str]) -> bool:
        """Whether a section is one of these; others are noted."""
        if node.name not in names:
            self.notes.add("unknown, ignored", f"{node.name} (line {node.line})")
        return node.name in names

    def once(self, found: dict[str, XmlNode], name: str, node: XmlNode) -> None:
        """Keeps a node by its name. Of two keys the last one counts, and two sections are merged: as in MQSim."""
        if name in found:
            self.notes.add(
                "given twice, the last one counts", f"{node.name} (lines {found[name].line} and {node.line})"
            )
            node.children = [*found[name].children, *node.children]
        found[name] = node

    def section(self, node: XmlNode, *sections: str) -> XmlSection:
        return XmlSection(self, node, [key for key in KEYS if key.section in sections])


class XmlSection:
    """The values of a section; MQSim's defaults hold where the file says nothing."""

    def __init__(self, file: XmlFile, node: XmlNode, keys: list[ForeignOption]) -> None:
        self.file, self.node = file, node
        self.inner: dict[str, XmlNode] = {}
        self._keys = {key.name: key for key in keys}
        self._values: dict[str, XmlNode] = {}
        spellings = {name: key.name for key in keys for name in (key.name, *key.aliases)}
        for child in node.children:
            if child.children:
                file.once(self.inner, child.name, child)
            elif child.name in spellings:
                file.once(self._values, spellings[child.name], child)
            else:
                hint = near(child.name, spellings)
                text = f"{child.name} (line {child.line}{', ' + hint if hint else ''})"
                file.notes.add("unknown, ignored", text)

    def given(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str) -> str:
        node = self._values.get(name)
        return self._keys[name].default if node is None else node.text.strip()

    def where(self, name: str) -> str:
        """File, line and key, for errors."""
        node = self._values.get(name)
        return f"{self.file.name}:{node.line}: {node.name}" if node else f"{self.file.name}: {name}"

    def bad(self, name: str, expected: str) -> InputError:
        return InputError(f'{self.where(name)}: "{self.text(name)}" is not accepted\n  help: expected {expected}')

    def whole(self, name: str, least: int = 0) -> int:
        try:
            value = int(self.text(name))
        except ValueError:
            value = -1
        if not least <= value < 1 << 63:
            raise self.bad(name, f"a whole number, {least} or more")
        return value

    def real(self, name: str, accepted: Callable[[float], bool], expected: str) -> float:
        try:
            value = float(self.text(name))
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and accepted(value)):
            raise self.bad(name, expected)
        return value

    def flag(self, name: str) -> bool:
        text = self.text(name).lower()
        if text not in ("true", "false"):
            raise self.bad(name, "true or false")
        return text == "true"

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
        try:
            found = sorted({int(text) for text in self.text(name).split(",")})
        except ValueError:
            found = []
        if not found or found[0] < 0 or found[-1] >= count:
            raise self.bad(name, f"numbers from 0 to {count - 1}, separated by commas")
        return found
