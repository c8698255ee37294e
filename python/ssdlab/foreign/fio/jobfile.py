"""fio's job files: sections of options, and the values of options."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from ssdlab._core import InputError
from ssdlab.foreign.files import read_text
from ssdlab.foreign.fio.options import SPELLINGS

MOST_BYTES = 1 << 62
LONGEST_NS = 10**17
"""The longest time an option may give: three years."""


@dataclass
class JobSection:
    name: str
    file: str
    line: int
    """Where it begins."""
    values: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    """Option to value, file and line; what [global] says included."""
    own: dict[str, str] = field(default_factory=dict)
    """What the section itself says, as it stands."""
    unset: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Option to the variables in it that the environment lacks: they are empty."""

    @property
    def title(self) -> str:
        """The job's name: its own, or its section's."""
        return self.own.get("name", self.name)

    def where(self, key: str) -> str:
        if key in self.values:
            _, file, line = self.values[key]
            return f"{file}:{line}: [{self.name}] {key}"
        return f"{self.file}:{self.line}: [{self.name}] {key}"

    def has(self, key: str) -> bool:
        return key in self.values

    def text(self, key: str, default: str = "") -> str:
        return self.values[key][0] if key in self.values else default

    def bad(self, key: str, expected: str) -> InputError:
        lacking = self.unset.get(key, ())
        more = f"; {', '.join(lacking)} is not set in the environment, so empty: export it" if lacking else ""
        return InputError(f'{self.where(key)}: "{self.text(key)}" is not accepted\n  help: expected {expected}{more}')

    def flag(self, key: str) -> bool:
        if not self.has(key):
            return False
        text = self.text(key).strip()
        if text not in ("", "0", "1", "true", "false"):
            raise self.bad(key, "0 or 1, or nothing")
        return text not in ("0", "false")

    def whole(self, key: str, default: int, least: int = 0) -> int:
        if not self.has(key):
            return default
        try:
            value = int(self.text(key).split(",")[0])
        except ValueError:
            value = -1
        if not least <= value < 1 << 40:
            raise self.bad(key, f"a whole number, {least} or more")
        return value


def read_sections(path: str) -> tuple[list[JobSection], dict[str, str]]:
    """The jobs of a file, each with what [global] sections before it say; and what these say."""
    shared = JobSection("global", path, 1)
    jobs: list[JobSection] = []
    _read_into(path, shared, jobs, None, (), [])
    return jobs, shared.own


MOST_INCLUDES = 256
"""Files that a job file may include, in all: files that include each other several times would multiply."""


def _read_into(
    path: str,
    shared: JobSection,
    jobs: list[JobSection],
    current: JobSection | None,
    outer: tuple[str, ...],
    included: list[str],
) -> JobSection | None:
    for number, raw in enumerate(read_text(path).removeprefix("\ufeff").splitlines(), 1):
        line = re.split(r"[;#]", raw, maxsplit=1)[0].strip()
        if not line:
            continue
        where = f"{path}:{number}"
        if line.startswith("["):
            name = line[1:].removesuffix("]").strip()
            if not line.endswith("]") or not name:
                raise InputError(f"{where}: {line}: is not a section\n  help: write [NAME]")
            if name == "global":
                current = shared
            else:
                current = JobSection(name, path, number, dict(shared.values), unset=dict(shared.unset))
                jobs.append(current)
            continue
        if re.match(r"include\s", line):
            target = os.path.join(os.path.dirname(path), line.split(None, 1)[1])
            if len(outer) > 15 or os.path.realpath(target) in outer:
                raise InputError(f"{where}: include {target}: includes itself\n  help: take it out")
            if not os.path.isfile(target):
                raise InputError(f"{where}: include {target}: there is no such file\n  help: give a job file's path")
            included.append(target)
            if len(included) > MOST_INCLUDES:
                raise InputError(
                    f"{where}: include {target}: is include number {len(included)}\n"
                    f"  help: include {MOST_INCLUDES} files at most, each of them once"
                )
            current = _read_into(target, shared, jobs, current, (*outer, os.path.realpath(path)), included)
            continue
        if current is None:
            raise InputError(
                f"{where}: {line}: stands before any section\n  help: begin with [global] or a job's [NAME]"
            )
        name, _, value = (part.strip() for part in line.partition("="))
        value, lacking = _expanded(value)
        key = SPELLINGS.get(name, name)
        current.unset.pop(key, None)
        if lacking:
            current.unset[key] = lacking
        current.values.pop(key, None)
        current.values[key] = (value, path, number)
        current.own[name] = value
    return current


def _expanded(value: str) -> tuple[str, tuple[str, ...]]:
    """``${NAME}`` of the environment, and fio's own variables; and the names that the environment lacks, which are
    empty, as in fio."""
    own = {"$pagesize": str(os.sysconf("SC_PAGESIZE")), "$ncpus": str(os.cpu_count() or 1)}
    for variable_name, meaning in own.items():
        value = value.replace(variable_name, meaning)
    names = re.findall(r"\$\{(\w+)\}", value)
    lacking = tuple(f"${{{name}}}" for name in dict.fromkeys(names) if name not in os.environ)
    return re.sub(r"\$\{(\w+)\}", lambda match: os.environ.get(match[1], ""), value), lacking


PREFIXES = "kmgtp"


def parsed_number(section: JobSection, key: str, text: str, what: str) -> float:
    """A size in bytes: `4k`, `1g`; fio's prefixes are powers of 1024 unless kb_base is 1000."""
    match = re.fullmatch(r"(0x[0-9a-f]+|\d+(?:\.\d+)?)([kmgtp]?)(i?)(b?)", text.strip().lower())
    if not match:
        raise section.bad(key, what)
    digits, prefix, binary, byte = match.groups()
    value = int(digits, 16) if digits.startswith("0x") else float(digits)
    thousand = section.text("kb_base", "1024") == "1000"
    # "kib" is the other base than "k", "ki" and "kb" are not (fio 3.33).
    base = 1024 if thousand == bool(binary and byte) else 1000
    power = base ** (PREFIXES.index(prefix) + 1 if prefix else 0)
    if value > MOST_BYTES / power:
        raise section.bad(key, f"{what}, and no more than 4096p")
    return float(value * power)


def parsed_size(section: JobSection, key: str, text: str) -> int:
    return int(parsed_number(section, key, text, "a size such as 4k, 100m or 1g"))


UNITS = {"d": 86_400e9, "h": 3600e9, "m": 60e9, "s": 1e9, "ms": 1e6, "msec": 1e6, "us": 1e3, "usec": 1e3, "": 0}


def parsed_time(section: JobSection, key: str, bare: float) -> int:
    """A time [ns]; ``bare``: the unit of a number without one."""
    if not section.has(key):
        return 0
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(d|h|ms|msec|m|s|us|usec|)", section.text(key).lower())
    if not match:
        raise section.bad(key, "a time such as 30, 30s, 5m or 100ms")
    time = float(match[1]) * (UNITS[match[2]] or bare)
    if time > LONGEST_NS:
        raise section.bad(key, "three years at most")
    return round(time)
