"""What decides a run's result: the hash of its full input, and the files that it reads."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ssdlab.runs.documents import is_text
from ssdlab.runs.options import OPTIONS, Options
from ssdlab.runs.simulation import open_simulation


def key_of(manifest: dict[str, Any]) -> str:
    """The hash of a run's full input. ``manifest`` is the core's; names of presets and files do not count: their
    contents are in it. The release does not count either, but the version of the results does. Nor does what is at its
    default, so that a new key leaves the hashes of what was kept before it; the version of the results says what
    defaults are."""
    device, workload = manifest["device"], not_default("", manifest["workload"])
    if "generator" in workload:
        workload["generator"] = not_default("workload", workload["generator"])
    for program in ("kv", "log_fs"):
        if program in workload:
            workload[program] = not_default(program, workload[program])
    # Their order decides what each of them draws, whose request goes first, and which phase comes first.
    if "jobs" in workload:
        workload["jobs"] = [(name, not_default("workload", keys)) for name, keys in workload["jobs"].items()]
    if "phases" in workload:
        workload["phases"] = list(workload["phases"].items())
    parts = workload.get("traces", [workload])
    files = [{name: value for name, value in part.items() if name not in ("trace", "prompts")} for part in parts]
    rest = {name: value for name, value in workload.items() if name not in {"traces", *parts[0]}}
    input = {name: value for name, value in manifest.items() if name not in ("ssdlab", "scheme", "device", "workload")}
    if "policies" in manifest:
        input["policies"] = {axis: (of["function"], of["sha256"]) for axis, of in manifest["policies"].items()}
    input |= _content_of(device) | {"workload": [files, rest]}
    if "array" in manifest:
        drives = [drive | _content_of(drive["device"]) for drive in manifest["array"]["drives"]]
        input["array"] = {"config": not_default("array", manifest["array"]["config"]), "drives": drives}
    text = json.dumps(not_default("", input), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


_KEYS: dict[bytes, str] = {}
MOST_KEYS = 1 << 16
"""The keys that a process remembers, at most (assumed: they take some 15 MB)."""


def key_of_text(text: str, manifest: dict[str, Any] | None = None) -> str:
    """As :func:`key_of`, of a manifest as the core writes it; that of a text that was asked for before is known.
    ``manifest``: what the text says, where it has been read."""
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    key = _KEYS.get(digest)
    if key is None:
        if len(_KEYS) >= MOST_KEYS:
            _KEYS.clear()
        key = _KEYS[digest] = key_of(json.loads(text) if manifest is None else manifest)
    return key


def _content_of(device: dict[str, Any]) -> dict[str, Any]:
    """What counts of a device in a manifest."""
    # What nothing is learned of has no trees.
    trees = {"trees": device["trees"]} if "trees" in device else {}
    return {"device": _nameless(device), "cells": device["cells"], "rpt": device["rpt"]} | trees


@cache
def _defaults() -> dict[str, dict[str, Any]]:
    """Section to key to default, as a manifest has it; the options of a run under an empty name."""
    import tomllib

    from ssdlab import _core

    found: dict[str, dict[str, Any]] = {"": {name: option.default for name, option in OPTIONS.items()}}
    for key in _core.schema():
        default = tomllib.loads(f"value = {key['default']}")["value"]
        found.setdefault(key["section"], {})[key["key"]] = default
    return found


def not_default(section: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What is there and not at its default."""
    defaults = _defaults().get(section, {})

    def counts(name: str, value: Any) -> bool:
        default = defaults.get(name)
        return value is not None and (value != default or type(value) is not type(default))

    return {name: value for name, value in values.items() if counts(name, value)}


FILE_KEYS = (
    ("chip", "model", (".toml", ".csv")),
    ("read", "rpt", ("",)),
    ("read", "trees", ("",)),
    *(("ecc", code, (".csv",)) for code in ("code", "code_2bit", "code_3bit")),
)
"""Section and key of the keys that may name a file, and the endings that distinguish files from presets."""


def _nameless(device: dict[str, Any]) -> dict[str, Any]:
    """The configuration without what is at its default, and without names of files: what ``chip.model``, ``read.rpt``
    and ``read.trees`` hold stands under ``cells``, ``rpt`` and ``trees``, and hashes take the place of the codes of
    ``ecc``."""
    config = {section: dict(keys) for section, keys in device["config"].items()}
    for section, key, endings in FILE_KEYS:
        # What was kept before a key existed lacks it.
        value = config.get(section, {}).get(key, "none")
        if value != "none" and value.endswith(endings):
            config[section][key] = device[key] if section == "ecc" else "file"
    sections = {section: not_default(section, keys) for section, keys in config.items()}
    return {section: keys for section, keys in sections.items() if keys}


def files_of(options: Options, manifest: Mapping[str, Any]) -> dict[str, str]:
    """The files that a run reads, by role: ``device``, ``workload``, ``merge:N``, ``traces`` (the trace in place of a
    twin), ``checkpoint``, ``array``, ``policy:AXIS`` and the keys ``kv.prompts``, ``chip.model``, ``read.rpt``,
    ``read.trees``, ``ecc.code`` and those of soft words; of an array's drives, each under its setting:
    ``drive.NAME.device``, ``drive.NAME.chip.model``. Paths are absolute. A device file's bases are not among them."""
    from ssdlab import _core

    found = {}
    is_named = options.device in _presets()[0] or _core.described_device(options.device)
    if options.device != options.array and not is_named and not is_text(options.device):
        found["device"] = options.device
    parts = manifest["workload"].get("traces", [manifest["workload"]])
    if options.workload not in _presets()[1]:
        if not is_text(options.workload):
            found["workload"] = options.workload
    elif "trace" in parts[0] and options.traces is not None:
        found["traces"] = os.path.join(options.traces, parts[0]["trace"])
    prompts = _prompts_of(options) if "prompts" in manifest["workload"] else None
    if prompts is not None:
        found["kv.prompts"] = prompts
    if options.checkpoint is not None:
        found["checkpoint"] = options.checkpoint
    if options.array is not None:
        found["array"] = options.array
    found |= {f"merge:{index}": path for index, path in enumerate(options.merge)}
    if options.policies is not None:
        from ssdlab.policy.source import files

        found |= {f"policy:{axis}": path for axis, path in files(options.policies).items()}
    if options.array is None:
        found |= _named(manifest["device"])
    else:
        found |= devices_of(options)
        for drive in manifest["array"]["drives"]:
            found |= {f"drive.{drive['name']}.{key}": path for key, path in _named(drive["device"]).items()}
    return {role: os.path.abspath(path) for role, path in found.items()}


def _prompts_of(options: Options) -> str | None:
    """The file of prompts that a setting or a workload's text or file names; None where the workload is that file."""
    from ssdlab._core import InputError, text_in

    given = dict(setting.split("=", 1) for setting in options.settings if "=" in setting)
    if "kv.prompts" in given:
        return str(given["kv.prompts"]).strip().strip("\"'")
    if not is_text(options.workload) and not options.workload.endswith(".toml"):
        return None
    try:
        text = options.workload if is_text(options.workload) else Path(options.workload).read_text(encoding="utf-8")
        return text_in(text, "kv", "prompts")
    except (OSError, ValueError, InputError):
        return None


@cache
def _presets() -> tuple[frozenset[str], frozenset[str]]:
    """The names of devices and workloads."""
    from ssdlab import _core

    return frozenset(of["name"] for of in _core.devices()), frozenset(of["name"] for of in _core.workloads())


def _named(device: Mapping[str, Any]) -> dict[str, str]:
    """The files that keys of a device name."""
    values = {f"{section}.{key}": (device["config"][section][key], endings) for section, key, endings in FILE_KEYS}
    return {name: value for name, (value, endings) in values.items() if value != "none" and value.endswith(endings)}


def is_device(role: str) -> bool:
    """Whether a file of :func:`files_of` is a device file, which may build on others."""
    return role == "device" or (role.startswith("drive.") and role.endswith(".device"))


def inputs_of(options: Options, manifest: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """The paths of all files that a run reads, those that its device files build on too. ``manifest`` is the run's,
    where it is known.

    Raises:
        InputError: the run itself is wrong.
    """
    if manifest is None:
        manifest = json.loads(open_simulation(options.without_outputs()).manifest)
    by_role = files_of(options, manifest)
    paths = list(by_role.values())
    for role, path in by_role.items():
        paths += device_files(path)[1:] if is_device(role) else ()
    if is_text(options.device):
        paths += device_files(options.device)
    return tuple(dict.fromkeys(paths))


def devices_of(options: Options) -> dict[str, str]:
    """The device files that an array's drives name, or that are given for them beside the array, by their settings
    ``drive.NAME.device``."""
    from ssdlab._core import drive_files

    found = drive_files(options.array or "", list(options.settings))
    return {f"drive.{name}.device": str(files[0]) for name, files in found if files}


def device_files(device: str) -> list[str]:
    """The device files that the core reads for a device, each before the one that it builds on, as absolute paths."""
    from ssdlab import _core

    return [os.path.abspath(path) for path in _core.device_files(device)]
