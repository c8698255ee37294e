"""A campaign of faults: its cases are played, and those that fail are made small."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from ssdlab._core import InputError, SimulationError
from ssdlab.common.shown import html, text
from ssdlab.faults.spec import Campaign, Case
from ssdlab.runs.api import run
from ssdlab.runs.options import flag_of, options_of

OUTCOMES = ("kept", "lost", "reported", "unharmed", "ended", "refused", "failed")
"""Nothing acknowledged was lost; some was, as the configuration allows; some was and reads as an error; the run was
over before anything happened; the drive's life ended; the configuration is refused; a promise, or a law of the
simulator, was broken."""

HARMLESS = {"program", "erase"}
"""Parts whose failure loses nothing: a controller knows at once, and still has the data."""


class Outcome(NamedTuple):
    """What became of a case."""

    case: Case
    outcome: str
    cuts: int = 0
    checked: int = 0
    """Pages that the host's side checked."""
    broken: int = 0
    """Planes and blocks that broke."""
    why: str = ""


class Failure(NamedTuple):
    """A case that failed, and the smallest one found that fails too."""

    number: int
    why: str
    command: str


class Found(NamedTuple):
    """What a campaign has found out."""

    campaign: Campaign
    outcomes: list[Outcome]
    failures: list[Failure]

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)

    def refused(self) -> list[tuple[int, str]]:
        """How many cases are refused for a key, and the first one's reason; the most frequent first."""
        reasons = [found.why.splitlines()[0] for found in self.outcomes if found.outcome == "refused"]
        # "device: ftl.hints: is 99, …": up to the key.
        keys = [reason.split(": ")[:2] for reason in reasons]
        first = {tuple(key): reason for key, reason in zip(reversed(keys), reversed(reasons), strict=True)}
        return [(count, first[key]) for key, count in Counter(map(tuple, keys)).most_common()]

    def counts(self) -> dict[tuple[str, str], Counter[str]]:
        """Cases by outcome: for each value of what was drawn, by name and value, and under ("", "all")."""
        counts: dict[tuple[str, str], Counter[str]] = {("", "all"): Counter()}
        counts.update({("fault", kind): Counter() for kind in self.campaign.kinds()})
        for name, values in self.campaign.draw.items():
            counts.update({(name, str(value)): Counter() for value in values})
        for found in self.outcomes:
            counts["", "all"][found.outcome] += 1
            for name, value in (*found.case.drawn.items(), *(("fault", kind) for kind in found.case.faults)):
                counts[name, str(value)][found.outcome] += 1
        return counts


def faults(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    cases: int | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Found:
    """Plays a campaign. Nothing in its answer depends on threads.

    Args:
        source: the fault file, or the same as a mapping.
        cases: this many cases, from the first on, in place of the file's.
        threads: cases at once; None is one a core.
        progress: called with the cases played and all of them.

    Raises:
        InputError: the file is wrong, or every case of it is refused.
    """
    campaign = Campaign.read(source)
    if cases is not None:
        campaign = campaign._replace(cases=cases)
    outcomes = []
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        for found in pool.map(lambda number: play(campaign.case(number)), range(campaign.cases)):
            outcomes.append(found)
            if progress is not None:
                progress(len(outcomes), campaign.cases)
    if all(found.outcome == "refused" for found in outcomes):
        raise InputError(f"every case is refused, the first for this: {outcomes[0].why}")
    failed = (found for found in outcomes if found.outcome == "failed")
    return Found(campaign, outcomes, [_failure(found) for found in failed])


def play(case: Case) -> Outcome:
    """Plays a case."""
    try:
        result = run(**case.arguments())
    except InputError as error:
        return Outcome(case, "refused", why=str(error))
    except SimulationError as error:
        return Outcome(case, "failed", why=str(error))
    found = result.to_dict()
    power = found.get("power", {"cuts": 0, "checked": 0, "reported": 0, "lost": 0})
    ftl = found["ftl"]
    drives = found["array"]["drives"] if "array" in found else [found]
    parts = [drive["ftl"]["faults"] for drive in drives if "faults" in drive["ftl"]]
    broken = sum(of["planes"] + of["blocks"] for of in parts)
    harmed = power["cuts"] + broken + found["flash"]["failed_programs"] + ftl["wear"].get("retired", 0)
    # What drives of an array have lost it has elsewhere, and it outlives them: only what its host was refused is gone.
    gone = found["array"]["lost_requests"] if "array" in found else sum(of["lost"] for of in parts)
    reported = power["reported"] + gone + found["host"]["uncorrectable"]
    outcome = "reported" if reported else "lost" if power["lost"] else "kept"
    why = ""
    if ftl["wear"]["ended_s"] is not None and "array" not in found:
        outcome = "ended"
    elif harmed == 0:
        outcome = "unharmed"
    elif outcome != "kept" and keeps_all(case):
        outcome, why = "failed", f"{reported + power['lost']} pages were lost, and the drive was to lose none"
    return Outcome(case, outcome, power["cuts"], power["checked"], broken, why)


def keeps_all(case: Case) -> bool:
    """Whether nothing may be lost: the power stays on, and nothing breaks with data, or a single part under parity, or
    parts of those drives of an array that it can do without."""
    harmful = [part for part in case.parts if part.split()[1] not in HARMLESS]
    parity = str(case.settings.get("ftl.raid", "none")) != "none"
    single = len(harmful) == 1 and harmful[0].split()[1] != "channel" and parity
    return not case.cuts and (not harmful or single or bool(case.drive))


def _failure(found: Outcome) -> Failure:
    small = shrunk(found.case, lambda case: play(case).outcome == "failed")
    return Failure(found.case.number, found.why.splitlines()[0], command_of(small))


def shrunk(case: Case, fails: Callable[[Case], bool]) -> Case:
    """The smallest case found that fails too: without cuts and parts that it does not need, and with fewer requests."""
    while True:
        smaller = next((less for less in _smaller(case) if fails(less)), None)
        if smaller is None:
            return case
        case = smaller


def _smaller(case: Case) -> Iterator[Case]:
    if len(case.cuts) + len(case.parts) > 1:
        for cut in case.cuts:
            yield case._replace(cuts=tuple(other for other in case.cuts if other != cut))
        for part in case.parts:
            yield case._replace(parts=tuple(other for other in case.parts if other != part))
    requests = case.options.get("requests")
    if requests is not None:
        for fewer in (requests // 2, requests - requests // 8):
            if 0 < fewer < requests:
                yield case._replace(options={**case.options, "requests": fewer})


def command_of(case: Case) -> str:
    """The command that plays a case."""
    options = options_of(case.arguments())
    settings = [word for setting in options.settings for word in (flag_of("settings"), setting)]
    return shlex.join(["ssdlab", "run", "-q", *options.command(), *settings])
