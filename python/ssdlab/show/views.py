"""What `print` and notebooks show of each kind of result: the tables of the command line."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from ssdlab.chip.characterize import Chip
from ssdlab.common.shown import View
from ssdlab.devices.fitting import Fit
from ssdlab.faults.campaign import Found
from ssdlab.lives.fleet import Fleet
from ssdlab.lives.life import Life
from ssdlab.runs.bounds import DeviceBounds
from ssdlab.runs.catalogue import Keys, Presets
from ssdlab.runs.explain import Explanation, Explanations, of_explanation
from ssdlab.runs.findings import lines
from ssdlab.runs.result import Result, Runs
from ssdlab.runs.tail import Tail, of_tail
from ssdlab.searches.campaign import SearchResult
from ssdlab.show import verdicts
from ssdlab.show.bounds import of_bounds
from ssdlab.show.curves import of_curve
from ssdlab.show.devices import of_fit
from ssdlab.show.faults import of_campaign
from ssdlab.show.fleets import of_fleet
from ssdlab.show.lists import of_chip, of_keys, of_presets
from ssdlab.show.lives import of_life
from ssdlab.show.runs import of_result, of_runs, warnings_of
from ssdlab.show.searches import of_search
from ssdlab.show.sweeps import notes_of, of_comparison, of_sweep, shown_of
from ssdlab.show.tiers import of_tier
from ssdlab.sweeps.campaign import SweepResult
from ssdlab.sweeps.comparison import Comparison
from ssdlab.sweeps.curve import Curve
from ssdlab.sweeps.surface import Tier


@singledispatch
def view(found: Any) -> View:
    """What is shown of a result."""
    raise TypeError(f"{type(found).__name__} is not shown")


@view.register
def _(found: Result) -> View:
    return View(warnings_of(found), verdicts.of_run(found), *of_result(found))


@view.register
def _(found: Runs) -> View:
    return View(warnings_of(found), verdicts.of_runs(found), *of_runs(found))


@view.register
def _(found: SweepResult) -> View:
    verdict = verdicts.of_sweep(found.table, shown_of(found.table)[0])
    failed = verdicts.of_failed(found.failed, found.table.height)
    cells = of_sweep(found.table)
    return View([*failed, *found.warning_lines()], verdict, [cells], notes_of(cells))


@view.register
def _(found: Comparison) -> View:
    return View([], found.takeaway(), *of_comparison(found))


@view.register
def _(found: Curve) -> View:
    return View(list(found.warnings), found.verdict(), *of_curve(found))


@view.register
def _(found: Tier) -> View:
    return View(list(found.warnings), found.verdict(), *of_tier(found))


@view.register
def _(found: Life) -> View:
    return View(found.warnings, found.verdict(), *of_life(found))


@view.register
def _(found: Fleet) -> View:
    return View(found.warnings, found.verdict(), *of_fleet(found))


@view.register
def _(found: SearchResult) -> View:
    return View(lines(found.warnings), verdicts.of_search(found), *of_search(found))


@view.register
def _(found: Explanation) -> View:
    return View([], verdicts.of_explained([found]), [of_explanation(found)], [])


@view.register
def _(found: Explanations) -> View:
    return View([], verdicts.of_explained(found), [of_explanation(each) for each in found], [])


@view.register
def _(found: Tail) -> View:
    return View(lines(found.warnings), verdicts.of_tail(found), [of_tail(found)], [])


@view.register
def _(found: DeviceBounds) -> View:
    return View([], verdicts.of_device(found), *of_bounds(found))


@view.register
def _(found: Found) -> View:
    return View([], verdicts.of_campaign(found), *of_campaign(found))


@view.register
def _(found: Fit) -> View:
    return View(lines(found.warnings), verdicts.of_fit(found), *of_fit(found))


@view.register
def _(found: Presets) -> View:
    return View([], "", of_presets(found), [])


@view.register
def _(found: Keys) -> View:
    return View([], "", of_keys(found), [])


@view.register
def _(found: Chip) -> View:
    return View([], "", [of_chip(found)], [])
