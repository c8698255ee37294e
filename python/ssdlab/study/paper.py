"""A paper's figures and tables beside what a study has of them (``figures.toml``), as a part of the study's README."""

from __future__ import annotations

import fnmatch
import re
import textwrap
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from ssdlab._core import InputError
from ssdlab.study.claims import Verdict

COLUMNS = 120
"""Of its README's lines."""
FILE = "figures.toml"
BEGIN, END = "<!-- figures -->", "<!-- end -->"
"""Between these lines of a README its figures stand."""
Ending = Literal["agrees", "differs", "not reproducible", "explains"]


class Shown(NamedTuple):
    """A figure or table of a paper."""

    label: str
    """Its name in the paper: ``Fig. 14``, ``Table 1``."""
    shows: str
    verdict: Ending
    """Whether what the study has agrees with it, differs, cannot be had, or nothing was measured in it."""
    why: str = ""
    drawn: str = ""
    """The drawing (``figures`` of ``study.py``); none where there is nothing to draw."""
    claims: tuple[str, ...] = ()
    """Patterns of claims about it, beside those whose ``where`` names it."""


def figures_of(folder: Path) -> list[Shown]:
    """The paper's figures and tables, in its order; none where the study has no ``figures.toml``.

    Raises:
        InputError: an entry is not as it has to be.
    """
    path = folder / FILE
    if not path.exists():
        return []
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))["figures"]
        found = [Shown(**{**row, "claims": tuple(row.get("claims", ()))}) for row in rows]
    except (tomllib.TOMLDecodeError, TypeError, KeyError) as error:
        raise InputError(f"{path}: {error}\n  help: a figure has {', '.join(Shown._fields)}") from None
    for shown in found:
        if shown.verdict not in get_args(Ending):
            raise InputError(f"{path}: {shown.label}: verdict is one of {', '.join(get_args(Ending))}")
        if not shown.why:
            raise InputError(f"{path}: {shown.label}: `why` is missing: a line on what agrees, or why it does not")
    return found


def section(shown: Sequence[Shown], verdicts: Sequence[Verdict]) -> str:
    """Every figure with its drawing, its published values beside the measured ones, and what they say, as Markdown."""
    return "\n".join(_entry(each, [one for one in verdicts if _is_about(each, one)]) for each in shown)


def replaced(text: str, figures: str) -> str | None:
    """A README with these figures; None where it has no place for them."""
    before, begin, rest = text.partition(f"{BEGIN}\n")
    if not begin:
        return None
    return f"{before}{BEGIN}\n{figures}{END}{rest.partition(END)[2]}"


def _is_about(shown: Shown, verdict: Verdict) -> bool:
    claim = verdict.claim
    if any(fnmatch.fnmatch(claim.id, pattern) for pattern in shown.claims):
        return True
    return re.search(rf"{re.escape(shown.label)}(?![0-9IVX])", claim.where) is not None


def _entry(shown: Shown, verdicts: Sequence[Verdict]) -> str:
    lines = [f"### {shown.label}: {shown.shows}", ""]
    if shown.drawn:
        lines += [f"![{shown.label}: {shown.shows}](figures/{shown.drawn}.svg)", ""]
    if verdicts:
        lines += ["| published value | paper | here | accepted | |", "|---|--:|--:|--:|---|"]
        lines += [_row(verdict) for verdict in verdicts]
        lines += [""]
    ending = {"explains": "Nothing is measured in it."}.get(shown.verdict, f"**{shown.verdict.capitalize()}.**")
    said = textwrap.fill(f"{ending} {shown.why}", COLUMNS, break_long_words=False, break_on_hyphens=False)
    return "\n".join([*lines, said, "", ""])


def _row(verdict: Verdict) -> str:
    claim, value = verdict.claim, verdict.measured.value
    here = "not measured" if value is None else _number(value)
    interval = verdict.measured.ci95
    if value is not None and interval is not None:
        here += f" ± {_number(interval)}"
    low, high = claim.accept
    accepted = _number(low) if low == high else f"{_number(low)} to {_number(high)}"
    passed = {None: "", True: "within", False: "**outside**"}[verdict.passed]
    says = claim.says.replace("|", "\\|")
    return f"| {says} [{claim.unit}] | {_number(claim.published)} | {here} | {accepted} | {passed} |"


def _number(value: float) -> str:
    """Three digits that count, four of larger ones."""
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
