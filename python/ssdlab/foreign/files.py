"""The user's files of other tools."""

from __future__ import annotations

import os

from ssdlab._core import InputError
from ssdlab.runs.options import PathLike

INPUTS: set[str] = set()
"""The user's files that have been read: no output is to take the place of one."""
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
