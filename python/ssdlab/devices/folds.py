"""Fits on some of the jobs, checked on the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ssdlab._core import InputError
from ssdlab.devices.fitting import Fit, fit
from ssdlab.devices.measured import MeasuredJob
from ssdlab.runs.kept import Interrupted, Kept


def cross_check(jobs: Sequence[MeasuredJob], device: str = "tlc", *, folds: int = 2, **options: Any) -> tuple[Fit, ...]:
    """Fits once for each fold, on the jobs of all others; the figures of the fold's own jobs (``fitted`` is false)
    check it. With two folds both halves are fitted on and reported. ``options`` are those of
    :func:`ssdlab.devices.fit`.

    Raises:
        InputError: there are fewer jobs than folds.
        Interrupted: Ctrl-C; ``error.found`` is the fits that had ended.
    """
    if not 2 <= folds <= len(jobs):
        raise InputError(f"folds is {folds}, of {len(jobs)} jobs\n  help: give 2 or more, and no more than jobs")
    fits: list[Fit] = []
    try:
        for held in parts(jobs, folds):
            fits.append(fit(jobs, device, hold_out=held, profiles=False, **options))
    except KeyboardInterrupt:
        error = Interrupted(Kept(0))
        error.found = tuple(fits)
        raise error from None
    return tuple(fits)


def parts(jobs: Sequence[MeasuredJob], folds: int) -> list[list[str]]:
    """The names of the jobs of each fold. Jobs that are alike are dealt in turn, so that each fold has some of every
    kind: by direction, by whether they are random, by size and by depth."""
    ordered = sorted(jobs, key=lambda job: (job.direction, job.random, job.state, job.block, job.depth, job.name))
    return [[job.name for job in ordered[number::folds]] for number in range(folds)]
