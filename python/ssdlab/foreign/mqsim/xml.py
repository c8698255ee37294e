"""MQSim's XML files: names with texts, in sections."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ssdlab._core import InputError
from ssdlab.foreign.files import read_text
from ssdlab.foreign.mqsim.keys import KEYS
from ssdlab.foreign.options import ForeignOption, Notes, near
from ssdlab.runs.options import PathLike

if TYPE_CHECKING:
    from lxml.etree import _Element


class XmlFile:
    """An XML file of MQSim's: names with texts, in sections."""

    def __init__(self, path: PathLike, root: str, usual: str) -> None:
        self.name = os.fspath(path)
        self.notes = Notes()
        self.root = self._parse(read_text(path))
        if self.root.tag != root:
            other = {"Execution_Parameter_Set": "an ssdconfig.xml", "MQSim_IO_Scenarios": "a workload.xml"}
            what = other.get(self.root.tag)
            remedy = f"this is {what}: give ssdconfig.xml first, then workload.xml" if what else f"give MQSim's {usual}"
            raise self.fail(self.root, f"is not `{root}`", remedy)

    def _parse(self, text: str) -> _Element:
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
        try:
            root = etree.fromstring(text.encode("utf-8", "surrogateescape"), parser)
        except etree.XMLSyntaxError as error:
            what = error.msg.split(", line ")[0].strip()
            raise InputError(
                f"{self.name}:{error.lineno}: is not XML: {what}\n"
                "  help: give MQSim's ssdconfig.xml and workload.xml, in this order"
            ) from None
        if root.getroottree().docinfo.doctype:
            raise InputError(
                f"{self.name}: has a document type, which MQSim's files have not\n  help: take <!DOCTYPE …> out"
            )
        return root

    def fail(self, node: _Element, problem: str, remedy: str) -> InputError:
        return InputError(f"{self.name}:{node.sourceline}: {node.tag} {problem}\n  help: {remedy}")

    def known(self, node: _Element, names: Sequence[str]) -> bool:
        """Whether a section is one of these; others are noted."""
        if node.tag not in names:
            self.notes.add("unknown, ignored", f"{node.tag} (line {node.sourceline})")
        return node.tag in names

    def once(self, found: dict[str, _Element], name: str, node: _Element) -> None:
        """Keeps a node by its name. Of two keys the last one counts, and two sections are merged: as in MQSim."""
        if name in found:
            lines = f"lines {found[name].sourceline} and {node.sourceline}"
            self.notes.add("given twice, the last one counts", f"{node.tag} ({lines})")
            node[:0] = found[name][:]
        found[name] = node

    def section(self, node: _Element, *sections: str) -> XmlSection:
        return XmlSection(self, node, [key for key in KEYS if key.section in sections])


class XmlSection:
    """The values of a section; MQSim's defaults hold where the file says nothing."""

    def __init__(self, file: XmlFile, node: _Element, keys: list[ForeignOption]) -> None:
        self.file, self.node = file, node
        self.inner: dict[str, _Element] = {}
        self._keys = {key.name: key for key in keys}
        self._values: dict[str, _Element] = {}
        spellings = {name: key.name for key in keys for name in (key.name, *key.aliases)}
        for child in node:
            if len(child):
                file.once(self.inner, child.tag, child)
            elif child.tag in spellings:
                file.once(self._values, spellings[child.tag], child)
            else:
                hint = near(child.tag, spellings)
                text = f"{child.tag} (line {child.sourceline}{', ' + hint if hint else ''})"
                file.notes.add("unknown, ignored", text)

    def given(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str) -> str:
        node = self._values.get(name)
        return self._keys[name].default if node is None else (node.text or "").strip()

    def where(self, name: str) -> str:
        """File, line and key, for errors."""
        node = self._values.get(name)
        return f"{self.file.name}: {name}" if node is None else f"{self.file.name}:{node.sourceline}: {node.tag}"

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
