"""What a paper does not say, declared: ``open.toml`` in a study's folder.

Each setting has its plausible range::

    about = "What the paper leaves open"
    leads = ["rr.*"]                  # claims that were looked at before the split was made
    sweeps = ["systems"]              # the sweeps that are played for each point; other tables are the kept ones
    [brief.systems]                   # how short: options of its runs, labels of its axes
    requests = 6000
    seed = [11]
    [open."host.t_complete"]          # an option of a run, a key of the drive, "study.NAME" of study.py, or any name
    says = "nothing of the host's share (section 7.1)"
    why = "a fixed time a request, of kernel and driver"
    values = ["0us", "100us"]         # or a table: label = { "a.key" = 1, "another.key" = 2 }
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.sweeps.spec import Value

OF_STUDY = "study."
"""What a setting begins with that is a name in study.py."""


class Setting(NamedTuple):
    """Something that the paper does not say."""

    name: str
    says: str
    """What the paper says of it, and where."""
    why: str
    """Why the range is plausible."""
    values: dict[Value, dict[str, Value]]
    """What each value sets, by its label; the search begins at the first."""


class Open(NamedTuple):
    """What a paper leaves open."""

    about: str
    leads: tuple[str, ...]
    """Claims (globs) that were looked at before the split was made."""
    sweeps: tuple[str, ...]
    brief: dict[str, dict[str, Any]]
    settings: tuple[Setting, ...]

    @classmethod
    def read(cls, folder: Path, sweeps: Collection[str]) -> Open:
        """Reads the ``open.toml`` of a study's folder; ``sweeps`` are its sweeps.

        Raises:
            InputError: there is none, or it is wrong.
        """
        import tomllib

        path = folder / "open.toml"
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read: {error.strerror}\n  help: declare there what the paper leaves open"
            ) from None
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{path}: {error}\n  help: the file must be TOML") from None
        odd = sorted(set(data) - {"about", "leads", "sweeps", "brief", "open"})
        if odd:
            raise InputError(f"{path}: {odd[0]}: unknown\n  help: it has about, leads, sweeps, [brief.*] and [open.*]")
        for name in (*data.get("sweeps", ()), *data.get("brief", ())):
            if name not in sweeps:
                raise InputError(f"{path}: {name}: no sweep of this study\n  help: {', '.join(sweeps)}")
        settings = []
        for name, part in data.get("open", {}).items():
            values = part.get("values", ())
            if set(part) != {"says", "why", "values"} or len(values) < 2:
                raise InputError(
                    f"{path}: open.{name}: is not complete\n  help: give says, why, and two values or more"
                )
            named = values if isinstance(values, Mapping) else {value: {name: value} for value in values}
            settings.append(Setting(name, part["says"], part["why"], {label: dict(v) for label, v in named.items()}))
        return cls(
            str(data.get("about", "")),
            tuple(data.get("leads", ())),
            tuple(data.get("sweeps", ())),
            data.get("brief", {}),
            tuple(settings),
        )
