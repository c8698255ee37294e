"""Studies: what papers claim, measured. A study is a folder with

- ``claims.toml``: what is claimed, each with the range that is accepted,
- sweeps, ``NAME.toml`` each, and their tables in ``results/NAME.csv``; ``TABLES`` in ``study.py`` gives further ones,
- ``study.py``: ``measure(tables)`` gives what was measured of each claim, ``figures(tables)`` the figures,
- ``README.md``: how it is set up, what deviates and why.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ._core import InputError
from .cases import WORKER_TIMEOUT_S
from .table import one_line

if TYPE_CHECKING:
    from types import ModuleType

    import polars
    from distributed import Client
    from matplotlib.figure import Figure

    from .cases import Progress


class Claim(NamedTuple):
    """What a paper states."""

    id: str
    kind: str
    """``device`` (the virtual chip, profiled), ``mechanism`` (exact: an idle drive or a formula) or ``system``."""
    where: str
    says: str
    unit: str
    published: float
    accept: tuple[float, float]
    """The measured values that are accepted, both ends included."""


class Measured(NamedTuple):
    """What was measured of a claim."""

    value: float | None
    ci95: float | None = None
    """Half the width of the 95 % confidence interval; None where there is no chance in it, or nothing to tell it by."""
    note: str = ""
    """What is to be known, such as why it is not what was published."""


class Verdict(NamedTuple):
    """A claim and what was measured of it."""

    claim: Claim
    measured: Measured

    @property
    def passed(self) -> bool | None:
        """Whether the measured value is accepted; None where nothing was measured."""
        value = self.measured.value
        return None if value is None else self.claim.accept[0] <= value <= self.claim.accept[1]

    def to_dict(self) -> dict[str, Any]:
        """As JSON: id, kind, published, accept, measured, ci (half width), pass, note."""
        claim, measured = self.claim, self.measured
        return {
            "id": claim.id,
            "kind": claim.kind,
            "published": claim.published,
            "accept": list(claim.accept),
            "measured": measured.value,
            "ci": measured.ci95,
            "pass": self.passed,
            "note": measured.note,
        }


class Tables(Mapping[str, "polars.DataFrame"]):
    """The tables of a study by name, each read when it is asked for."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        self._folder = folder
        self._names = names
        self._read: dict[str, polars.DataFrame] = {}

    def __getitem__(self, name: str) -> polars.DataFrame:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._read:
            from .cases import read_csv

            self._read[name] = read_csv(self._folder / f"{name}.csv")
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Difference(NamedTuple):
    """A statistic that is not what the kept table says."""

    table: str
    case: str
    statistic: str
    kept: float | None
    now: float | None


class Study:
    """A study's folder."""

    def __init__(self, folder: Path) -> None:
        import tomllib

        self.folder = folder
        self.id = folder.name
        path = folder / "claims.toml"
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
            self.about = str(data.get("about", ""))
            self.conditions = str(data.get("conditions", ""))
            self.claims = [Claim(**{**claim, "accept": tuple(claim["accept"])}) for claim in data["claims"]]
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read: {error.strerror}\n  help: `ssdlab study list` lists studies"
            ) from None
        except (tomllib.TOMLDecodeError, TypeError, KeyError) as error:
            raise InputError(f"{path}: {error}\n  help: a claim has {', '.join(Claim._fields)}") from None

    @property
    def sweeps(self) -> dict[str, Path]:
        """The sweep files by name."""
        return {path.stem: path for path in sorted(self.folder.glob("*.toml")) if path.stem != "claims"}

    @property
    def computed(self) -> dict[str, Callable[[Callable[[float], None] | None], polars.DataFrame]]:
        """The tables that ``study.py`` computes by itself (``TABLES``): each takes a listener for the share that is
        done."""
        return dict(getattr(self._module(), "TABLES", {}))

    def run(
        self,
        results: Path | None = None,
        *,
        cache: str | os.PathLike[str] = "results/cache",
        threads: int | None = None,
        dask: str | Client | None = None,
        worker_timeout: float = WORKER_TIMEOUT_S,
        traces: str | os.PathLike[str] | None = None,
        retry_failed: bool = False,
        progress: Callable[[str], Callable[[Progress], None] | None] = lambda name: None,
    ) -> list[str]:
        """Runs all sweeps and writes their tables to ``results`` (the study's own folder if not given); returns what
        failed, a line each. ``dask`` and ``worker_timeout``: where the cases of sweeps are played, as for
        :func:`ssdlab.sweep`. ``progress`` gives a listener for the sweep that begins."""
        from .cases import sweep, write_table

        folder = results or self.folder / "results"
        folder.mkdir(parents=True, exist_ok=True)
        failures = []
        for name, compute in self.computed.items():
            write_table(compute(None), str(folder / f"{name}.csv"))
        for name, path in self.sweeps.items():
            outcome = sweep(
                path,
                cache=cache,
                threads=threads,
                dask=dask,
                worker_timeout=worker_timeout,
                traces=traces,
                retry_failed=retry_failed,
                progress=progress(name),
            )
            write_table(outcome.table, str(folder / f"{name}.csv"))
            failures += [f"{name} {label_of(failed.labels)}: {failed.error}" for failed in outcome.failed]
        return failures

    def check(
        self,
        *,
        cache: str | os.PathLike[str],
        threads: int | None = None,
        dask: str | Client | None = None,
        worker_timeout: float = WORKER_TIMEOUT_S,
        progress: Callable[[str], Callable[[Progress], None] | None] = lambda name: None,
    ) -> tuple[int, list[Difference]]:
        """Runs the quick cases again and compares them with the kept tables, exactly. Returns how many cases were
        compared, and what differs."""
        from .cases import axes_of, read_csv, statistics_of, sweep

        compared, differences = 0, []
        quick = getattr(self._module(), "QUICK", {})
        for name, compute in self.computed.items():
            kept = read_csv(self.folder / "results" / f"{name}.csv")
            now = quick.get(name, compute)(None)
            if name in quick:
                key = kept.columns[0]
                kept = kept.filter(kept[key].is_in(now[key].implode()))
            found, differing = _differences(name, kept, now)
            compared += found
            differences += differing
        for name, path in self.sweeps.items():
            kept = Tables(self.folder / "results", [name])[name]
            outcome = sweep(
                path,
                cache=cache,
                threads=threads,
                dask=dask,
                worker_timeout=worker_timeout,
                quick=True,
                progress=progress(name),
            )
            now = outcome.table
            axes, statistics = axes_of(now), statistics_of(now)
            by_label = {label_of({axis: row[axis] for axis in axes}): row for row in kept.iter_rows(named=True)}
            for row in now.iter_rows(named=True):
                case = label_of({axis: row[axis] for axis in axes})
                before = by_label.get(case, {})
                compared += 1
                differences += [
                    Difference(name, case, statistic, before.get(statistic), row[statistic])
                    for statistic in statistics
                    if before.get(statistic) != row[statistic]
                ]
        return compared, differences

    def verdicts(self, results: Path | None = None) -> list[Verdict]:
        """Every claim with what was measured of it, from the tables in ``results`` or the study's own."""
        module = self._module()
        folder = results or self.folder / "results"
        measured: dict[str, Measured] = {}
        why = "not measured yet"
        if module is not None:
            missing = [name for name in [*self.sweeps, *self.computed] if not (folder / f"{name}.csv").exists()]
            if missing:
                why = f"not run yet: ssdlab study run {self.id} (no {', '.join(missing)})"
            else:
                measured = module.measure(Tables(folder, [*self.sweeps, *self.computed]))
        unknown = sorted(set(measured) - {claim.id for claim in self.claims})
        if unknown:
            raise InputError(
                f"{self.folder / 'study.py'}: measures {', '.join(unknown)}\n  help: claims.toml has no such ids"
            )
        return [Verdict(claim, measured.get(claim.id, Measured(None, note=why))) for claim in self.claims]

    def figures(self, results: Path | None = None) -> dict[str, Figure]:
        """The study's figures by name."""
        module = self._module()
        if module is None or not hasattr(module, "figures"):
            return {}
        found: dict[str, Figure] = module.figures(
            Tables(results or self.folder / "results", [*self.sweeps, *self.computed])
        )
        return found

    def _module(self) -> ModuleType | None:
        path = self.folder / "study.py"
        if not path.exists():
            return None
        name = f"ssdlab_study_{self.id}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module


def _differences(name: str, kept: polars.DataFrame, now: polars.DataFrame) -> tuple[int, list[Difference]]:
    """Compares two computed tables line by line."""
    if kept.columns != now.columns or kept.height != now.height:
        return now.height, [Difference(name, "all", "shape", float(kept.height), float(now.height))]
    lines = zip(kept.iter_rows(), now.iter_rows(), strict=True)
    return now.height, [
        Difference(name, f"line {number}", column, before, after)
        for number, (old, new) in enumerate(lines, 2)
        for column, before, after in zip(now.columns, old, new, strict=True)
        if before != after
    ]


def number(value: Any) -> float:
    """A number from a table; what is none fails."""
    return float(value)


def label_of(labels: Mapping[str, Any]) -> str:
    """A case's place on the axes, for people."""
    return one_line(" ".join(f"{axis}={label}" for axis, label in labels.items()))


def home() -> Path:
    """The folder of studies: ``SSDLAB_STUDIES``, or ``studies`` beside the package's sources or here."""
    given = os.environ.get("SSDLAB_STUDIES")
    places = [Path(given)] if given else [Path(__file__).resolve().parents[2] / "studies", Path("studies")]
    for place in places:
        if place.is_dir():
            return place
    raise InputError(
        "there are no studies here\n  help: run it in a checkout of ssdlab, or set SSDLAB_STUDIES to their folder"
    )


def studies() -> list[Study]:
    """All studies, by name."""
    return [Study(path.parent) for path in sorted(home().glob("*/claims.toml"))]


def study(id: str) -> Study:
    """The study called ``id``."""
    known = [found.id for found in studies()]
    if id not in known:
        from difflib import get_close_matches

        near = get_close_matches(id, known, 1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
        raise InputError(f"study `{id}`: there is no such study\n  help: {hint}")
    return Study(home() / id)
