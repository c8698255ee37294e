"""The command that plays a run again, from the manifest of its result."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

from ssdlab._core import RESULTS_VERSION, InputError, SimulationError
from ssdlab.policy.source import Pairs
from ssdlab.runs.catalogue import presets
from ssdlab.runs.manifest import key_of, not_default
from ssdlab.runs.options import OPTIONS, Options, value_text
from ssdlab.runs.simulation import open_simulation

Manifest = dict[str, Any]

MOST_SETTINGS = 8
"""A workload that differs in more keys from every preset is written into a file."""


class Command(NamedTuple):
    """How to play a run again."""

    arguments: tuple[str, ...]
    """``ssdlab run`` and its options."""
    files: dict[str, str]
    """Files that it reads and that must be written first, by name."""
    exact: bool
    """Whether the command has been checked: it resolves to the very input of the manifest."""
    note: str = ""
    """Why it could not be checked, or what is to be done."""

    @property
    def text(self) -> str:
        """For a POSIX shell: the files, then the command."""
        files = [f"cat > {shlex.quote(name)} <<'END'\n{text}END\n" for name, text in self.files.items()]
        return "".join(files) + shlex.join(self.arguments)


class Reproducer:
    """Finds commands for manifests; remembers what presets resolve to. Traces are looked for in ``folders``."""

    def __init__(self, folders: Sequence[str | os.PathLike[str]] = (".",)) -> None:
        self._folders = [os.fspath(folder) for folder in folders]
        self._presets = {kind: [p.name for p in presets() if p.kind == kind] for kind in ("device", "workload")}
        self._opened: dict[Options, Manifest | None] = {}

    def command_of(self, manifest: Manifest, repeat: int = 1) -> Command:
        """The command that gives the result of ``manifest``, or of ``repeat`` runs of which it is the first."""
        resolved = ("device", "workload", "scheme", "checkpoint", "array")
        plan = {name: manifest[name] for name in OPTIONS if name in manifest and name not in resolved}
        plan["policies"], unknown = self._policies(manifest.get("policies", {}))
        options = Options("tlc", "default", **plan)
        options, age, settings = self._device(options, manifest)
        options, more, files, why = self._workload(options, manifest["workload"])
        settings += more
        why = why or unknown
        options = options.replace(age=",".join(age) or None)
        shown = options.replace(replay=None) if options.replay == "timed" else options
        arguments = ["ssdlab", "run", *shown.command(), *(("--repeat", str(repeat)) if repeat > 1 else ())]
        arguments += [argument for setting in settings for argument in ("--set", setting)]
        if "checkpoint" in manifest:
            arguments += ["--from", "CHECKPOINT"]
            why = f"give the file of {manifest['checkpoint'][:19]}… in place of CHECKPOINT (ssdlab run --save)"
        if "array" in manifest:
            arguments += ["--array", "ARRAY"]
            why = "give the array file in place of ARRAY, without --device, --age and --set of its drives"
        if not why:
            asked = options.replace(settings=tuple(settings))
            why = _check(asked, files, manifest)
        version = manifest.get("results_version")
        if not why and version != RESULTS_VERSION:
            why = f"the result is of results version {version}; this ssdlab is of {RESULTS_VERSION} and may differ"
        return Command(tuple(arguments), files, not why, why)

    def _look(self, options: Options) -> Manifest | None:
        """What options resolve to; None where they are refused."""
        if options not in self._opened:
            try:
                self._opened[options] = json.loads(open_simulation(options).manifest)
            except (InputError, SimulationError):
                self._opened[options] = None
        return self._opened[options]

    def _device(self, options: Options, manifest: Manifest) -> tuple[Options, list[str], list[str]]:
        """Device and scheme, and what else differs: keys of the age, settings."""
        device = manifest["device"]
        name, wanted = device["name"], flat(device["config"])
        names = [name] if name in self._presets["device"] else self._presets["device"]
        schemes = [manifest["scheme"], None] if manifest["scheme"] else [None]
        best: tuple[int, Options, dict[str, Any]] | None = None
        for name in names:
            for scheme in schemes:
                base = Options(name, "default", scheme=scheme, requests=1)
                found = self._look(base)
                if found is None:
                    continue
                config = flat(found["device"]["config"])
                differs = {key: value for key, value in wanted.items() if config.get(key, _Nothing) != value}
                cost = len(differs) + 1000 * (found["device"]["cells"] != device["cells"])
                if best is None or cost < best[0]:
                    best = (cost, options.replace(device=name, scheme=scheme), differs)
        assert best is not None, "Invariant: presets resolve"
        _, options, differs = best
        age, settings = [], []
        for key, value in differs.items():
            section, _, name = key.partition(".")
            text = value_text(value)
            if section == "age" and "," not in text:
                age.append(f"{name}={text}")
            else:
                settings.append(f"{key}={text}")
        return options, age, settings

    def _workload(self, options: Options, workload: dict[str, Any]) -> tuple[Options, list[str], dict[str, str], str]:
        """Options of the workload, settings, files to be written, and why it cannot be played as it is."""
        if "trace" in workload or "traces" in workload:
            return self._traces(options, workload)
        if "driver" in workload:
            why = f"the requests came from {workload['driver']}: give a trace of them as --workload"
            return options, [], {}, why
        if "prompts" in workload:
            name = str(workload["prompts"])
            path = self._path_of(name)
            why = "" if path else f"give the path of {name} ({workload['hash']}): prompts that are not in this folder"
            keys = [f"kv.{key}={value_text(value)}" for key, value in not_default("kv", workload["kv"]).items()]
            return options.replace(workload=path or name), keys, {}, why
        wanted = flat(workload)
        best: tuple[int, str, list[str]] | None = None
        for name in self._presets["workload"]:
            found = self._look(options.replace(workload=name, seed=1, warmup=0))
            if found is None or flat(found["workload"]).keys() != wanted.keys():
                continue
            base = flat(found["workload"])
            settings = [
                f"{key.replace('generator.', 'workload.', 1).replace('jobs.', 'job.', 1)}={value_text(value)}"
                for key, value in wanted.items()
                if base[key] != value
            ]
            if best is None or len(settings) < best[0]:
                best = (len(settings), name, settings)
        if best is not None and best[0] <= MOST_SETTINGS:
            return options.replace(workload=best[1]), best[2], {}, ""
        return options.replace(workload="workload.toml"), [], {"workload.toml": _workload_file(workload)}, ""

    def _traces(self, options: Options, workload: dict[str, Any]) -> tuple[Options, list[str], dict[str, str], str]:
        parts = workload.get("traces", [workload])
        paths = [self._path_of(str(part["trace"])) for part in parts]
        formats = {str(part["format"]) for part in parts}
        usual = {"volumes": "overlay", "beyond": "wrap", "sort_window": 1024, "skip_bad_lines": 0}
        given = {name: workload.get(name, value) for name, value in usual.items()}
        unusual: dict[str, Any] = {name: value for name, value in given.items() if value != usual[name]}
        options = options.replace(
            workload=paths[0] or str(parts[0]["trace"]),
            merge=tuple(path or str(part["trace"]) for part, path in zip(parts[1:], paths[1:], strict=True)),
            format=formats.pop() if len(formats) == 1 else None,
            **unusual,
        )
        missing = [f"{part['trace']} ({part['hash']})" for part, path in zip(parts, paths, strict=True) if not path]
        why = f"give the path of {', '.join(missing)}: a trace that is not in this folder" if missing else ""
        return options, [], {}, why

    def _policies(self, policies: dict[str, Any]) -> tuple[Pairs | None, str]:
        """The policies that are in files, and why they are not all."""
        found, why = [], ""
        for axis, of in policies.items():
            path = of["file"] and self._path_of(of["file"])
            if path:
                found.append((axis, f"{path}:{of['function']}"))
            elif of["file"]:
                why = f"give --policy {axis}: {of['file']} (sha256 {of['sha256'][:12]}…) is not in this folder"
            else:
                why = f"policies.{axis} was a function of Python ({of['function']}): write it into a file"
        return tuple(found) or None, why

    def _path_of(self, name: str) -> str | None:
        for folder in self._folders:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                return name if folder == "." else path
        return None


_Nothing = object()


def _check(options: Options, files: dict[str, str], manifest: Manifest) -> str:
    """Why options do not resolve to the input of ``manifest``; empty where they do."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            options = options.replace(workload=path)
        try:
            found = json.loads(open_simulation(options).manifest)
        except (InputError, SimulationError) as error:
            return f"this ssdlab refuses it: {str(error).splitlines()[0]}"
    try:
        if key_of({**found, "results_version": None}) == key_of({**manifest, "results_version": None}):
            return ""
    except (KeyError, AttributeError, TypeError):
        return "the manifest lacks what today's have"
    parts = [
        f"{part}.{key}"
        for part in ("device", "workload")
        for key, value in flat(manifest[part]).items()
        if key not in ("name", "trace") and flat(found[part]).get(key, _Nothing) != value
    ]
    return f"it resolves to another input: {', '.join(parts[:5]) or 'of another ssdlab'}"


def flat(section: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested dictionaries as one, with dotted keys."""
    found: dict[str, Any] = {}
    for key, value in section.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


def _workload_file(workload: dict[str, Any]) -> str:
    """A workload file that says every key."""
    jobs = {f"job.{name}": keys for name, keys in workload.get("jobs", {}).items()}
    programs = {name: workload[name] for name in ("kv", "log_fs") if name in workload}
    sections = programs or (jobs or {"workload": workload["generator"]} | workload.get("phases", {}))
    # JSON's texts, numbers, truths and lists are TOML's.
    lines = [
        f"[{section}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
        for section, keys in sections.items()
    ]
    return "\n".join(lines)
