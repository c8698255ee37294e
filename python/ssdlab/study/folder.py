"""The folder of a study: its sweeps, tables, claims and what was measured of them."""

from __future__ import annotations

import fnmatch
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import RESULTS_VERSION, InputError
from ssdlab.common.tables import one_line
from ssdlab.study.claims import Claim, Measured, Measuring, Proof, Reason, Tables, Verdict, half
from ssdlab.study.open import Open
from ssdlab.study.paper import Shown, figures_of
from ssdlab.study.shapes import Look, Told
from ssdlab.study.shapes import read as shapes_of
from ssdlab.sweeps.executors import WORKER_TIMEOUT_S

if TYPE_CHECKING:
    from types import ModuleType

    import polars
    from distributed import Client
    from matplotlib.figure import Figure

    from ssdlab.sweeps.campaign import SweepProgress


VERSIONS = "versions.toml"
"""The file beside kept tables that says of which results version each is."""
NOT_SWEEPS = ("claims", "shapes", "open", "why", "figures")
"""TOML files of a study that are no sweeps."""


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
        return {path.stem: path for path in sorted(self.folder.glob("*.toml")) if path.stem not in NOT_SWEEPS}

    @property
    def computed(self) -> dict[str, Callable[[Callable[[float], None] | None], polars.DataFrame]]:
        """The tables that ``study.py`` computes by itself (``TABLES``): each takes a listener for the share that is
        done."""
        return dict(getattr(self._module(), "TABLES", {}))

    @property
    def needs(self) -> dict[str, str]:
        """The tables that need a real trace (``NEEDS`` of ``study.py``), with its file where the study is run. Where
        that is not there the kept table stays as it is; a quick check leaves them out."""
        return dict(getattr(self._module(), "NEEDS", {}))

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
        shard: str | None = None,
        progress: Callable[[str], Callable[[SweepProgress], None] | None] = lambda name: None,
        warned: Callable[[str, list[str]], None] = lambda name, lines: None,
    ) -> list[str]:
        """Runs all sweeps and writes their tables to ``results`` (the study's own folder if not given), but for those
        whose real trace is not there (:attr:`needs`); returns what failed, a line each. ``dask`` and
        ``worker_timeout``: where the cases of sweeps are played, as for :func:`ssdlab.sweep`. ``progress`` gives a
        listener for the sweep that begins; ``warned`` is told the warnings of a sweep's results, as lines.

        ``shard``, as of a sweep, plays a part of each sweep's cases: parts of the tables are written, of which
        :meth:`merge` makes the tables. What ``study.py`` computes is computed by the first shard."""
        from ssdlab.common.frames import write_table
        from ssdlab.sweeps.campaign import sweep
        from ssdlab.sweeps.shards import Shard

        part = None if shard is None else Shard.read(shard)
        folder = results or self.folder / "results"
        folder.mkdir(parents=True, exist_ok=True)
        failures = []
        absent = self.absent
        for name, compute in self.computed.items():
            if name not in absent and (part is None or part.number == 1):
                write_table(compute(None), str(folder / f"{name}.csv"))
                _note_version(folder, name)
        for name, path in self.sweeps.items():
            if name in absent:
                continue
            outcome = sweep(
                path,
                cache=cache,
                threads=threads,
                dask=dask,
                worker_timeout=worker_timeout,
                traces=traces,
                retry_failed=retry_failed,
                shard=shard,
                out=None if part is None else folder / f"{name}.{part.number}-of-{part.of}.parquet",
                progress=progress(name),
            )
            if part is None:
                write_table(outcome.table, str(folder / f"{name}.csv"))
                _note_version(folder, name)
            if any(outcome.warnings):
                warned(name, outcome.warning_lines())
            failures += [f"{name} {label_of(failed.labels)}: {failed.error}" for failed in outcome.failed]
        return failures

    @property
    def absent(self) -> list[str]:
        """The tables that need a real trace which is not there."""
        return [name for name, trace in self.needs.items() if not Path(trace).exists()]

    def merge(self, parts: Path, results: Path | None = None) -> tuple[list[str], list[str]]:
        """Puts the parts together that the shards of :meth:`run` have written into one folder: the tables are those of
        one machine, to the byte. Returns the tables that were written, and what failed in their cases, a line each.

        Raises:
            InputError: parts are missing or do not belong together (:func:`ssdlab.merge`), or are of another results
                version; no table is written then.
        """
        from shutil import copyfile

        from ssdlab.common.frames import write_table
        from ssdlab.common.output import replacing
        from ssdlab.sweeps.merging import merge

        remedy = f"`ssdlab study run {self.id} --shard i/N --results {parts}` writes parts; the first shard has these"
        versions, merged, failures = _versions(parts), {}, []
        computed = [name for name in self.computed if name not in self.absent]
        for name in computed:
            if not (parts / f"{name}.csv").exists():
                raise InputError(f"{parts}: has no {name}.csv\n  help: {remedy}")
            if versions.get(name) != RESULTS_VERSION:
                raise InputError(
                    f"{parts / f'{name}.csv'}: is of results version {versions.get(name)}, and this program is of "
                    f"{RESULTS_VERSION}\n  help: run the first shard again"
                )
        for name in self.sweeps:
            if name in self.absent:
                continue
            paths = sorted(parts.glob(f"{name}.*-of-*.parquet"))
            if not paths:
                raise InputError(f"{parts}: has no part of {name}\n  help: {remedy}")
            merged[name] = merge(paths)
            failures += [f"{name} {label_of(failed.labels)}: {failed.error}" for failed in merged[name].failed]
        folder = results or self.folder / "results"
        folder.mkdir(parents=True, exist_ok=True)
        for name in computed:
            with replacing(folder / f"{name}.csv") as temporary:
                copyfile(parts / f"{name}.csv", temporary)
        for name, outcome in merged.items():
            write_table(outcome.table, str(folder / f"{name}.csv"))
        for name in (*computed, *merged):
            _note_version(folder, name)
        return [*computed, *merged], failures

    def outdated(self, results: Path | None = None) -> dict[str, int | None]:
        """The kept tables of another results version than this program's, with their versions; None where it is not
        known. The claims that are measured from them are those of that version."""
        versions = _versions(results or self.folder / "results")
        tables = {*self.sweeps, *self.computed}
        return {name: versions.get(name) for name in sorted(tables) if versions.get(name) != RESULTS_VERSION}

    def check(
        self,
        *,
        cache: str | os.PathLike[str],
        threads: int | None = None,
        dask: str | Client | None = None,
        worker_timeout: float = WORKER_TIMEOUT_S,
        progress: Callable[[str], Callable[[SweepProgress], None] | None] = lambda name: None,
    ) -> tuple[int, list[Difference]]:
        """Runs the quick cases again and compares them with the kept tables, exactly, but for tables of another results
        version (:meth:`outdated`). Returns how many cases were compared, and what differs."""
        from ssdlab.common.frames import read_csv
        from ssdlab.sweeps.campaign import sweep
        from ssdlab.sweeps.table import axes_of, statistics_of

        compared, differences = 0, []
        left_out = {*self.needs, *self.outdated()}
        quick = getattr(self._module(), "QUICK", {})
        for name, compute in self.computed.items():
            if name in left_out:
                continue
            kept = read_csv(self.folder / "results" / f"{name}.csv")
            now = quick.get(name, compute)(None)
            if name in quick:
                key = kept.columns[0]
                kept = kept.filter(kept[key].is_in(now[key].implode()))
            found, differing = _differences(name, kept, now)
            compared += found
            differences += differing
        for name, path in self.sweeps.items():
            if name in left_out:
                continue
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
        proofs = self.proofs
        why = "not measured yet"
        if module is not None:
            missing = [name for name in [*self.sweeps, *self.computed] if not (folder / f"{name}.csv").exists()]
            if missing:
                why = f"not run yet: ssdlab study run {self.id} (no {', '.join(missing)})"
            else:
                tables = Tables(folder, [*self.sweeps, *self.computed])
                for function in measuring(module):
                    found = function(tables)
                    if set(found) != set(function.proofs):
                        odd = ", ".join(sorted(set(found) ^ set(function.proofs)))
                        raise InputError(
                            f"{self.folder / 'study.py'}: {odd}: measured or declared, not both\n"
                            "  help: say in @measures what each measured claim proves"
                        )
                    measured |= found
        split = (self.folder / "open.toml").exists()
        leads = Open.read(self.folder, self.sweeps).leads if split else ()
        reasons = self.reasons
        return [
            Verdict(
                claim,
                measured.get(claim.id, Measured(None, note=why)),
                proofs.get(claim.id),
                half(claim.id) if split and claim.kind == "system" else "",
                any(fnmatch.fnmatchcase(claim.id, lead) for lead in leads),
                reasons.get(claim.id),
            )
            for claim in self.claims
        ]

    def shapes(self, results: Path | None = None) -> list[Told]:
        """Every shape with what the tables in ``results``, or the study's own, show of it."""
        folder, shapes, reasons = results or self.folder / "results", shapes_of(self.folder), self.reasons
        looks: dict[str, Look] = getattr(self._module(), "SHAPES", {})
        if {shape.id for shape in shapes} != looks.keys():
            odd = ", ".join(sorted({shape.id for shape in shapes} ^ looks.keys()))
            raise InputError(
                f"{self.folder / 'shapes.toml'}: {odd}\n  help: SHAPES of study.py has a function for each shape"
            )
        names = [*self.sweeps, *self.computed] if shapes else []
        there = all((folder / f"{name}.csv").exists() for name in names)
        tables = Tables(folder, names)
        return [Told(shape, looks[shape.id](tables) if there else None, reasons.get(shape.id)) for shape in shapes]

    @property
    def reasons(self) -> dict[str, Reason]:
        """Why claims and shapes do not hold, from ``why.toml``."""
        import tomllib

        path = self.folder / "why.toml"
        if not path.exists():
            return {}
        try:
            found = {id: Reason(**part) for id, part in tomllib.loads(path.read_text(encoding="utf-8")).items()}
        except (tomllib.TOMLDecodeError, TypeError) as error:
            raise InputError(f'{path}: {error}\n  help: a line is "claim" = {{ why = "…", link = "…" }}') from None
        known = {claim.id for claim in self.claims} | {shape.id for shape in shapes_of(self.folder)}
        unknown = sorted(found.keys() - known)
        if unknown:
            raise InputError(
                f"{path}: {', '.join(unknown)}: no such claims\n  help: claims.toml and shapes.toml have their ids"
            )
        return found

    @property
    def proofs(self) -> dict[str, Proof]:
        """What each claim proves, as ``study.py`` declares it."""
        module = self._module()
        if module is None:
            return {}
        path, found = self.folder / "study.py", dict[str, Proof]()
        for function in measuring(module):
            twice = sorted(set(found) & set(function.proofs))
            if twice:
                raise InputError(f"{path}: declares {', '.join(twice)} twice\n  help: once says what a claim proves")
            found |= function.proofs
        known = {claim.id for claim in self.claims}
        if set(found) - known:
            raise InputError(
                f"{path}: measures {', '.join(sorted(set(found) - known))}\n  help: claims.toml has no such ids"
            )
        if known - set(found):
            raise InputError(
                f"{path}: does not say what is proved by {', '.join(sorted(known - set(found)))}\n"
                "  help: measure them in a function marked with @measures, as predicted, fitted or by construction"
            )
        return found

    def figures(self, results: Path | None = None) -> dict[str, Figure]:
        """The study's figures by name."""
        module = self._module()
        if module is None or not hasattr(module, "figures"):
            return {}
        found: dict[str, Figure] = module.figures(
            Tables(results or self.folder / "results", [*self.sweeps, *self.computed])
        )
        titles = {each.drawn: f"{each.label}: {each.shows}" for each in self.paper}
        for name, figure in found.items():
            if name in titles:
                figure.suptitle(titles[name], fontsize="medium")
            # A figure without a title says at least what it is of.
            elif not figure.get_suptitle() and not any(axes.get_title() for axes in figure.axes):
                figure.suptitle(f"{self.about}: {name}", fontsize="medium")
        return found

    @property
    def paper(self) -> list[Shown]:
        """The paper's figures and tables (``figures.toml``)."""
        return figures_of(self.folder)

    def findings(self, results: Path | None = None) -> dict[str, str]:
        """The tables of the study's README by name, as Markdown, where ``study.py`` makes them: behind the line
        ``<!-- NAME -->`` stands the table."""
        module = self._module()
        if module is None or not hasattr(module, "findings"):
            return {}
        found: dict[str, str] = module.findings(
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
        try:
            spec.loader.exec_module(module)
        except ModuleNotFoundError as error:
            raise InputError(
                f"{path}: needs {error.name}, which is not installed\n  help: pip install {error.name}"
            ) from None
        return module


def measuring(module: ModuleType) -> list[Measuring]:
    """The functions of a ``study.py`` that measure claims, in their order."""
    return [value for value in vars(module).values() if hasattr(value, "proofs")]


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


def _versions(folder: Path) -> dict[str, int]:
    import tomllib

    path = folder / VERSIONS
    if not path.exists():
        return {}
    try:
        return {name: int(version) for name, version in tomllib.loads(path.read_text(encoding="utf-8")).items()}
    except (tomllib.TOMLDecodeError, TypeError, ValueError) as error:
        raise InputError(f"{path}: {error}\n  help: a line is table = results version") from None


def _note_version(folder: Path, name: str) -> None:
    """Writes down of which results version a table is."""
    from ssdlab.common import output

    versions = {**_versions(folder), name: RESULTS_VERSION}
    lines = "".join(f"{table} = {versions[table]}\n" for table in sorted(versions))
    about = "# The results version of each table (docs/results-versions.md); `ssdlab study run` writes it.\n"
    output.write(folder / VERSIONS, f"{about}{lines}".encode())


def number(value: Any) -> float:
    """A number from a table; what is none fails."""
    return float(value)


def label_of(labels: Mapping[str, Any]) -> str:
    """A case's labels, for people."""
    return one_line(" ".join(f"{axis}={label}" for axis, label in labels.items()))


def home() -> Path:
    """The folder of studies: ``SSDLAB_STUDIES``, or ``studies`` beside the package's sources or here."""
    given = os.environ.get("SSDLAB_STUDIES")
    candidates = [Path(given)] if given else [Path(__file__).resolve().parents[3] / "studies", Path("studies")]
    for folder in candidates:
        if folder.is_dir():
            return folder
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
