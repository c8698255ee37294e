"""Studies: what papers claim, measured. A study is a folder with

- ``claims.toml``: what is claimed, each with the range that is accepted,
- sweeps, ``NAME.toml`` each, and their tables in ``results/NAME.csv``; ``TABLES`` in ``study.py`` gives further ones,
- ``study.py``: functions marked with ``@measures`` give what was measured of each claim and say what it proves,
  ``figures(tables)`` the figures; ``BRIEF`` says how small a run still shows what the claims rest on,
- ``README.md``: how it is set up, what deviates and why.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

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


class Lever(NamedTuple):
    """A part of the mechanism behind a predicted claim, and what is done to it: the measured value must move
    (:mod:`ssdlab.levers`)."""

    kind: str
    """``key`` (of the drive), ``chip`` (a constant of the virtual chip), ``scheme`` or ``name`` (in study.py)."""
    name: str
    to: float | str | int
    """A factor of a key or constant, or what takes its place."""

    def __str__(self) -> str:
        kind = "" if self.kind in ("key", "name") else f"{self.kind} "
        return f"{kind}{self.name} {f'x {self.to:g}' if isinstance(self.to, float) else f'-> {self.to}'}"


def key(name: str, to: float | str | int = 1.2) -> Lever:
    """A key of the drive: 20 % more, or something else (a float is a factor)."""
    return Lever("key", name, to)


def chip(name: str, factor: float = 1.2) -> Lever:
    """A constant of the virtual chip, as ``section.key``: 20 % more, or another factor."""
    return Lever("chip", name, factor)


def named(name: str, to: float | str | int) -> Lever:
    """A name in ``study.py`` that gets another value."""
    return Lever("name", name, to)


def off(scheme: str, instead: str) -> Lever:
    """A scheme whose place another takes."""
    return Lever("scheme", scheme, instead)


class Predicted(NamedTuple):
    """Nothing was chosen with the claim's number in view, and what it rests on moves it."""

    levers: tuple[Lever, ...] = ()
    """Each moves the measured value. Only a claim that is not measured may have none."""

    @property
    def kind(self) -> str:
        """What it is, in a word."""
        return "predicted"

    def __str__(self) -> str:
        return ", ".join(map(str, self.levers))


class Constant(NamedTuple):
    """A constant in a file of this repository."""

    file: str
    name: str
    """``section.key`` in TOML (a star stands for any), the name of a constant elsewhere."""

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


class Fitted(NamedTuple):
    """Constants were chosen with the claim's number in view."""

    constants: tuple[Constant, ...]

    @property
    def kind(self) -> str:
        """What it is, in a word."""
        return "fitted"

    def __str__(self) -> str:
        files = dict.fromkeys(constant.file for constant in self.constants)
        names = {file: ", ".join(name for of, name in self.constants if of == file) for file in files}
        return "; ".join(f"{file}: {names[file]}" for file in files)


class ByConstruction(NamedTuple):
    """The number follows from what was put in: a literal, a preset read back, arithmetic, or a range that cannot be
    left."""

    why: str

    @property
    def kind(self) -> str:
        """What it is, in a word."""
        return "by construction"

    def __str__(self) -> str:
        return self.why


Proof = Predicted | Fitted | ByConstruction
"""What it proves that a claim holds."""
KINDS = ("predicted", "fitted", "by construction")


def predicted(*levers: Lever) -> Predicted:
    """A claim that each of these levers moves."""
    return Predicted(levers)


def fitted(file: str, *names: str) -> Fitted:
    """A claim that constants of a file were fitted to."""
    return Fitted(tuple(Constant(file, name) for name in names))


def by_construction(why: str) -> ByConstruction:
    """A claim that follows from what was put in."""
    return ByConstruction(why)


class Measured(NamedTuple):
    """What was measured of a claim."""

    value: float | None
    ci95: float | None = None
    """Half the width of the 95 % confidence interval; None where there is no chance in it, or nothing to tell it by."""
    note: str = ""
    """What is to be known, such as why it is not what was published."""


class Measuring(Protocol):
    """A function of ``study.py`` that measures claims."""

    __name__: str
    proofs: dict[str, Proof]

    def __call__(self, tables: Mapping[str, polars.DataFrame]) -> dict[str, Measured]:
        """What was measured of each claim in ``proofs``."""


def measures(proofs: Mapping[str, Proof]) -> Callable[[Callable[[Tables], dict[str, Measured]]], Measuring]:
    """Marks a function of ``study.py`` that measures claims, and says what each of them proves. A key names one claim,
    or several with spaces between them."""
    found = {id: proof for ids, proof in proofs.items() for id in ids.split()}

    def mark(function: Any) -> Measuring:
        function.proofs = found
        marked: Measuring = function
        return marked

    return mark


class Verdict(NamedTuple):
    """A claim, what was measured of it, and what it proves."""

    claim: Claim
    measured: Measured
    proof: Proof | None
    """None where the study has no ``study.py`` yet."""

    @property
    def proves(self) -> str:
        """``predicted``, ``fitted`` or ``by construction``."""
        return "" if self.proof is None else self.proof.kind

    @property
    def passed(self) -> bool | None:
        """Whether the measured value is accepted; None where nothing was measured."""
        value = self.measured.value
        return None if value is None else self.claim.accept[0] <= value <= self.claim.accept[1]

    def to_dict(self) -> dict[str, Any]:
        """As JSON: id, kind, published, accept, measured, ci (half width), pass, proves, proof, note."""
        claim, measured = self.claim, self.measured
        return {
            "id": claim.id,
            "kind": claim.kind,
            "published": claim.published,
            "accept": list(claim.accept),
            "measured": measured.value,
            "ci": measured.ci95,
            "pass": self.passed,
            "proves": self.proves,
            "proof": "" if self.proof is None else str(self.proof),
            "note": measured.note,
        }


class Count(NamedTuple):
    """How many claims hold and how many do not."""

    hold: int
    fail: int
    unmeasured: int

    def __str__(self) -> str:
        return f"{self.hold} hold, {self.fail} fail, {self.unmeasured} not measured"


def count(verdicts: Iterable[Verdict], proves: str | None = None) -> Count:
    """Counts claims; with ``proves`` those of one kind."""
    passed = [verdict.passed for verdict in verdicts if proves is None or verdict.proves == proves]
    return Count(passed.count(True), passed.count(False), passed.count(None))


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
        return [
            Verdict(claim, measured.get(claim.id, Measured(None, note=why)), proofs.get(claim.id))
            for claim in self.claims
        ]

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
