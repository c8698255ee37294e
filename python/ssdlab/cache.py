"""Results of cases, kept on disk under the hash of everything that decides them."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
from contextlib import suppress
from typing import Any

Payload = dict[str, Any]


def key_of(manifest: dict[str, Any]) -> str:
    """The hash of a run's full input. ``manifest`` is the core's; names of presets and files do not count: their
    contents are in it. The release does not count either, but the version of the results does."""
    device, workload = manifest["device"], manifest["workload"]
    parts = workload.get("traces", [workload])
    files = [{name: value for name, value in part.items() if name != "trace"} for part in parts]
    rest = {name: value for name, value in workload.items() if name not in {"traces", *parts[0]}}
    input = {name: value for name, value in manifest.items() if name not in ("ssdlab", "scheme", "device", "workload")}
    input |= {"device": _nameless(device), "cells": device["cells"], "rpt": device["rpt"], "workload": [files, rest]}
    return hashlib.sha256(json.dumps(input, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


FILE_KEYS = (("chip", "model", (".toml", ".csv")), ("read", "rpt", ("",)), ("ecc", "code", (".csv",)))
"""Section and key of the keys that may name a file, and the endings that tell files from presets."""


def _nameless(device: dict[str, Any]) -> dict[str, Any]:
    """The configuration without names of files: what ``chip.model`` and ``read.rpt`` hold stands under ``cells`` and
    ``rpt``, and the hash of ``ecc.code`` takes its place."""
    config = {section: dict(keys) for section, keys in device["config"].items()}
    for section, key, endings in FILE_KEYS:
        value = config[section][key]
        if value != "none" and value.endswith(endings):
            config[section][key] = device["code"] if section == "ecc" else "file"
    return config


class Cache:
    """A folder of results. Any number of processes may use it at once: entries appear whole or not at all."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)

    def get(self, key: str) -> Payload | None:
        """The result of a case; None where there is none, or where it is damaged: it is computed again."""
        return self._read(self._path(key, ".json.gz"))

    def find(self, start: str) -> Payload | None:
        """The result of the case whose key begins with ``start``, two digits or more; None where there is none."""
        folder = os.path.join(self.folder, start[:2])
        with suppress(FileNotFoundError, NotADirectoryError):
            for name in sorted(os.listdir(folder)):
                if name.startswith(start) and name.endswith(".json.gz"):
                    return self._read(os.path.join(folder, name))
        return None

    def put(self, key: str, payload: Payload) -> None:
        """Keeps the result of a case."""
        self._write(self._path(key, ".json.gz"), payload)
        self.forgive(key)

    def failure(self, key: str) -> str | None:
        """Why a case failed when it was run last, if it did."""
        kept = self._read(self._path(key, ".failed.gz"))
        return None if kept is None else str(kept["error"])

    def fail(self, key: str, error: str) -> None:
        """Keeps why a case failed."""
        self._write(self._path(key, ".failed.gz"), {"error": error})

    def forgive(self, key: str) -> None:
        """Forgets that a case failed."""
        with suppress(FileNotFoundError):
            os.unlink(self._path(key, ".failed.gz"))

    def _path(self, key: str, suffix: str) -> str:
        return os.path.join(self.folder, key[:2], key + suffix)

    def _read(self, path: str) -> Payload | None:
        try:
            with open(path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return None
        try:
            digest, body = data[:64], data[64:]
            if hashlib.sha256(body).hexdigest().encode() == digest:
                payload = json.loads(gzip.decompress(body))
                if isinstance(payload, dict):
                    return payload
        except (OSError, EOFError, ValueError):
            pass
        return None

    def _write(self, path: str, payload: Payload) -> None:
        body = gzip.compress(json.dumps(payload, separators=(",", ":")).encode(), compresslevel=6, mtime=0)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), suffix=".tmp")
        try:
            with open(handle, "wb") as file:
                file.write(hashlib.sha256(body).hexdigest().encode() + body)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
