"""Secrets of NVMe hosts for DH-HMAC-CHAP, as a file has them.

A line is the host's name (NQN) and its secret, and perhaps the secret by which drives prove to it who they are:
``nqn.2014-08.org.nvmexpress:uuid:… DHHC-1:00:…:``, as ``nvme gen-dhchap-key`` prints them. What
follows a # is a comment.
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
import zlib

from ssdlab._core import InputError

Secret = tuple[int, bytes]
"""The identifier of the hash function that transforms it, 0 for none, and the key."""
LENGTHS = (32, 48, 64)
"""Bytes that keys have."""


def secrets_of(path: str) -> dict[str, list[Secret]]:
    """The secrets of a file, by the host's name.

    Raises:
        InputError: the file cannot be read, others may read it, or a line is none.
    """
    try:
        with open(path, encoding="utf-8") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise InputError(f"{path}: others may read it\n  help: chmod 600 {path}")
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}\n  help: give the path of a file of secrets") from None
    found: dict[str, list[Secret]] = {}
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) not in (2, 3) or words[0] in found:
            raise InputError(
                f"{path}:{number}: is not a host of its own with one or two secrets\n"
                "  help: write NQN SECRET, or NQN SECRET SECRET-OF-THE-DRIVES, a line for each host"
            )
        found[words[0]] = [_secret(f"{path}:{number}", word) for word in words[1:]]
    if not found:
        raise InputError(f"{path}: has no secret\n  help: write a line NQN SECRET for each host")
    return found


def _secret(place: str, word: str) -> Secret:
    """Reads ``DHHC-1:HASH:BASE64:``, whose last four bytes are the CRC-32 of the key (Base 2.0, 8.13.5.8)."""
    parts = word.split(":")
    try:
        begins, hash_, text, end = parts
        data = base64.b64decode(text, validate=True)
        key, digest = data[:-4], data[-4:]
        valid = begins == "DHHC-1" and hash_ in ("00", "01", "02", "03") and end == "" and len(key) in LENGTHS
    except (ValueError, binascii.Error):
        valid, key, digest, hash_ = False, b"", b"", ""
    if not valid or digest != zlib.crc32(key).to_bytes(4, "little"):
        raise InputError(
            f"{place}: a secret is no DHHC-1:HASH:KEY: with its digest\n  help: make one with `nvme gen-dhchap-key`"
        )
    return int(hash_), key
