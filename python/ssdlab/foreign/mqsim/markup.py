"""The XML that MQSim reads: what its reader (rapidxml, with no flag set) takes, which is more and less than XML.

A closing tag's name is not compared with the opening one's, declarations and document types are skipped, the declared
encoding is not looked at, `&x;` is kept as it stands, and a file ends at its first zero byte. CDATA is no value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ssdlab.foreign.options import Notes

BLANK = " \t\r\n"
NAME = re.compile(r"[^ \t\r\n/>?]*")
"""Of an element: a name may hold `<`."""
ATTRIBUTE = re.compile(r"""[^ \t\r\n/<>=?!]+[ \t\r\n]*=[ \t\r\n]*("[^"]*"|'[^']*')""")
SPACE = re.compile(r"[ \t\r\n]*")
REFERENCE = re.compile(r"&(amp|apos|quot|lt|gt|#[0-9]*|#x[0-9a-fA-F]*);|&#")
NAMED = {"amp": "&", "apos": "'", "quot": '"', "lt": "<", "gt": ">"}
AS_MQSIM = "read as MQSim reads it"
"""The group of notes on what only MQSim takes."""


class MarkupError(ValueError):
    """What MQSim's reader does not take either."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


@dataclass(eq=False)
class Node:
    """An element."""

    tag: str
    line: int
    """Where it begins; 0 where the file has none."""
    text: str = ""
    """Its first text that is not blank."""
    inner: list[Node] = field(default_factory=list)
    """The elements in it."""


def parse(text: str, notes: Notes) -> list[Node]:
    """The outermost elements of a file."""
    reader = _Reader(text.removeprefix("\ufeff").split("\0", 1)[0], notes)
    reader.read()
    return reader.outermost.inner


class _Reader:
    def __init__(self, text: str, notes: Notes) -> None:
        self.all, self.at, self.notes = text, 0, notes
        self.outermost = Node("", 0)
        self.open = [self.outermost]
        self._counted = (0, 1)

    def read(self) -> None:
        while self.at < len(self.all):
            start = self.at
            end = self.all.find("<", start)
            end = len(self.all) if end < 0 else end
            text = self.all[start:end]
            self.at = end
            if text.strip(BLANK):
                if len(self.open) == 1:
                    self.at = start + len(text) - len(text.lstrip(BLANK))
                    raise self._error("text stands outside the outermost element")
                if not self.open[-1].text:
                    self.open[-1].text = self._expanded(text)
            if end < len(self.all):
                self._tag()
        if len(self.open) > 1:
            node = self.open[-1]
            raise self._error(f"ends within {node.tag}, which begins in line {node.line}")

    def _tag(self) -> None:
        start = self.at
        if self.all.startswith("</", start):
            self._close()
        elif self.all.startswith("<?", start):
            if start and len(self.open) == 1 and not self.outermost.inner and not self.all[:start].strip(BLANK):
                self._note("blanks before <?xml")
            declared = self.all[start : self._skip("?>")]
            encoding = re.search(r"""encoding[ \t\r\n]*=[ \t\r\n]*["']([^"']*)""", declared)
            if encoding and encoding[1].lower() not in ("utf-8", "utf8") and not self.all.isascii():
                self._note(f"characters beyond ASCII, and {encoding[1]} as the encoding: taken as UTF-8")
        elif self.all.startswith("<!", start):
            self._declaration()
        else:
            self._element()

    def _declaration(self) -> None:
        if self.all.startswith("<!--", self.at):
            self._skip("-->")
        elif self.all.startswith("<![CDATA[", self.at):
            if len(self.open) == 1:
                raise self._error("text stands outside the outermost element")
            self._note(f"CDATA in {self.open[-1].tag} (line {self._line()}) is no value")
            self._skip("]]>")
        else:
            if re.compile(r"<!DOCTYPE[ \t\r\n]").match(self.all, self.at):
                self._note(f"a document type (line {self._line()}) is skipped")
                depth = 0
                for found in re.compile(r"[\[\]>]").finditer(self.all, self.at):
                    depth += {"[": 1, "]": -1, ">": 0}[found[0]]
                    if found[0] == ">" and depth <= 0:
                        self.at = found.end()
                        return
            self._skip(">")

    def _element(self) -> None:
        node = Node("", self._line())
        self.at += 1
        node.tag = self._name()
        if not node.tag:
            raise self._error("an element without a name")
        self._blanks()
        while attribute := ATTRIBUTE.match(self.all, self.at):
            self.at = attribute.end()
            self._blanks()
        whole = self.all.startswith("/>", self.at)
        if not whole and not self.all.startswith(">", self.at):
            raise self._error(f"<{node.tag} without its >")
        self.at += 2 if whole else 1
        self.open[-1].inner.append(node)
        if not whole:
            self.open.append(node)

    def _close(self) -> None:
        line = self._line()
        if len(self.open) == 1:
            raise self._error("an element without a name")
        self.at += 2
        name = self._name()
        self._blanks()
        if not self.all.startswith(">", self.at):
            raise self._error(f"</{name} without its >")
        self.at += 1
        node = self.open.pop()
        if name != node.tag:
            self._note(f"</{name}> (line {line}) closes {node.tag}")

    def _name(self) -> str:
        found = NAME.match(self.all, self.at)
        assert found is not None
        self.at = found.end()
        return found[0]

    def _blanks(self) -> None:
        found = SPACE.match(self.all, self.at)
        assert found is not None
        self.at = found.end()

    def _skip(self, end: str) -> int:
        found = self.all.find(end, self.at)
        if found < 0:
            raise self._error(f"ends without a {end}")
        self.at = found + len(end)
        return self.at

    def _expanded(self, text: str) -> str:
        def meant(match: re.Match[str]) -> str:
            code = match[1] or ""
            if code in NAMED:
                return NAMED[code]
            digits, base = (code[2:], 16) if code.startswith("#x") else (code[1:], 10)
            number = int(digits, base) if 0 < len(digits) < 10 else 0
            if not 0 < number < 0x110000 or 0xD800 <= number < 0xE000:
                raise self._error(f"{match[0]} is no character")
            return chr(number)

        return REFERENCE.sub(meant, text)

    def _line(self) -> int:
        """The line of the place that has been reached: lines are counted once."""
        counted, line = self._counted
        self._counted = (self.at, line + self.all.count("\n", counted, self.at))
        return self._counted[1]

    def _error(self, what: str) -> MarkupError:
        return MarkupError(1 + self.all.count("\n", 0, self.at), what)

    def _note(self, what: str) -> None:
        self.notes.add(AS_MQSIM, what)
