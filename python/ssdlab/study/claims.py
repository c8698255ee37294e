"""Claims of papers: what is published, what was measured, and what a measured value within the accepted
range is evidence of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import polars


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


HALVES = ("tuning", "test")
"""The halves of a paper's system claims: what it leaves open is chosen on the first, and both are reported."""


def half(id: str) -> str:
    """The half that a system claim is in. The rule was fixed before anything was chosen: the lowest bit of the first
    byte of the id's SHA-256, 1 is the tuning half."""
    return HALVES[1 - (sha256(id.encode()).digest()[0] & 1)]


class Lever(NamedTuple):
    """A part of the mechanism behind a predicted claim, and what is done to it: the measured value must move
    (:mod:`ssdlab.study.levers`)."""

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
        """The kind of the proof."""
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
        """The kind of the proof."""
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
        """The kind of the proof."""
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
    """Half the width of the 95 % confidence interval; None where nothing is random, or nothing to estimate it from."""
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


class Reason(NamedTuple):
    """Why a claim does not hold."""

    why: str
    """One line."""
    link: str
    """Where that is shown: a sweep of what the paper leaves open, or arithmetic."""


class Verdict(NamedTuple):
    """A claim, what was measured of it, and what it proves."""

    claim: Claim
    measured: Measured
    proof: Proof | None
    """None where the study has no ``study.py`` yet."""
    half: str = ""
    """One of :data:`HALVES` for a system claim of a paper whose open settings were inferred."""
    lead: bool = False
    """Whether it was looked at before the halves were made (``leads`` of ``open.toml``)."""
    reason: Reason | None = None
    """Why it does not hold (``why.toml``)."""

    @property
    def proves(self) -> str:
        """``predicted``, ``fitted`` or ``by construction``. What open settings were chosen by is fitted."""
        if self.half == HALVES[0] and isinstance(self.proof, Predicted):
            return "fitted"
        return "" if self.proof is None else self.proof.kind

    @property
    def basis(self) -> str:
        """What was chosen by it, or what it follows from; for a predicted claim what moves it."""
        if self.half == HALVES[0] and isinstance(self.proof, Predicted):
            return "the settings of open.toml"
        return "" if self.proof is None else str(self.proof)

    @property
    def seen(self) -> str:
        """What has looked at the claim: ``choice`` (of open settings), ``fit`` (of constants) or ``lead``; empty where
        nothing has."""
        if self.half == HALVES[0]:
            return "choice"
        return "fit" if isinstance(self.proof, Fitted) else "lead" if self.lead else ""

    @property
    def passed(self) -> bool | None:
        """Whether the measured value is accepted; None where nothing was measured."""
        value = self.measured.value
        return None if value is None else self.claim.accept[0] <= value <= self.claim.accept[1]

    def to_dict(self) -> dict[str, Any]:
        """As JSON: id, kind, published, accept, measured, ci (half width), pass, proves, proof, half, seen, why, link,
        note."""
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
            "proof": self.basis,
            "half": self.half,
            "seen": self.seen,
            "why": "" if self.reason is None else self.reason.why,
            "link": "" if self.reason is None else self.reason.link,
            "note": measured.note,
        }


class Count(NamedTuple):
    """How many claims are within their accepted range (``hold``), and how many outside of it (``fail``)."""

    hold: int
    fail: int
    unmeasured: int

    def __str__(self) -> str:
        return f"{self.hold} within range, {self.fail} outside, {self.unmeasured} not measured"


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
            from ssdlab.common.frames import read_csv

            self._read[name] = read_csv(self._folder / f"{name}.csv")
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
