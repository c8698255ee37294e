"""What a user must know before believing a result: its findings, and which of them leave it out of comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

ACCEPT = "--accept-warnings (accept_warnings=True)"
"""How results with warnings are taken all the same, in messages."""


class Finding(NamedTuple):
    """A warning that goes with a result (docs/warnings.md)."""

    id: str
    """Its kind, such as ``overload``."""
    text: str
    """What was found, a sentence with its numbers."""
    numbers: Mapping[str, float]
    """The numbers of ``text`` by name; a unit ends the name."""
    remedy: str
    """What to do about it."""

    @property
    def excludes(self) -> bool:
        """Whether comparisons, searches and fits leave such a result out, unless they are to accept warnings."""
        return self.id in excluding()

    def __str__(self) -> str:
        return f"{self.id}: {self.text}"


class Kind(NamedTuple):
    """A kind of finding."""

    id: str
    meaning: str
    when: str
    """Its threshold."""
    why: str
    """The threshold's reason."""
    excludes: bool


@cache
def kinds() -> tuple[Kind, ...]:
    """The kinds of findings, the gravest first."""
    from ssdlab._core import warnings

    return tuple(Kind(**row) for row in warnings())


@cache
def excluding() -> frozenset[str]:
    """The kinds that leave a result out of comparisons, searches and fits."""
    return frozenset(kind.id for kind in kinds() if kind.excludes)


def interrupted(what: str, numbers: Mapping[str, float], remedy: str) -> Finding:
    """What marks what there was when a signal came."""
    return Finding("interrupted", what, numbers, remedy)


def of_data(data: Mapping[str, Any]) -> tuple[Finding, ...]:
    """The findings in a result as it is kept: of one that was kept before there were any, none."""
    return tuple(Finding(of["id"], of["text"], dict(of["numbers"]), of["remedy"]) for of in data.get("warnings", ()))


def ids(findings: Iterable[Finding]) -> str | None:
    """The ids as tables have them: with commas between; None where there is nothing to say."""
    return ", ".join(finding.id for finding in findings) or None


def excluded_by(listed: str | None) -> tuple[str, ...]:
    """Of ids as tables have them those that exclude."""
    return tuple(id for id in (listed or "").split(", ") if id in excluding())


def lines(findings: Iterable[Finding]) -> list[str]:
    """Each finding as people read it: what was found, and below it what to do."""
    return [line for of in findings for line in (f"warning: {of}", f"  help: {of.remedy}")]


def shared(results: Iterable[tuple[Finding, ...]], of: str = "runs") -> list[str]:
    """The findings of several results as people read them, each kind once, with how many have it."""
    lists = list(results)
    first = {finding.id: finding for findings in reversed(lists) for finding in reversed(findings)}
    ordered = [first[kind.id] for kind in kinds() if kind.id in first]
    shown = []
    for finding in ordered:
        having = sum(any(other.id == finding.id for other in findings) for findings in lists)
        shown += [f"warning: {finding} (in {having:,} of {len(lists):,} {of})", f"  help: {finding.remedy}"]
    return shown
