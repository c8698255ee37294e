"""Tables of devices that were fitted to measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ssdlab.common.numbers import number_text, with_interval
from ssdlab.common.tables import Table
from ssdlab.devices.unknowns import shown

if TYPE_CHECKING:
    from ssdlab.devices.fitting import Compared, Estimate, Fit

MOST_SHOWN = 100.0
"""Wider intervals, as factors, are not shown."""
TRUST = (
    "held out: where the drive's own figure is to be expected (95 %), by what the fitted jobs leave open and what the "
    "model is wrong by on drives that were bought; if it is not known what had been written to the drive before, "
    "it may be three times as far off (docs/fit-device.md)"
)
COLUMNS = ("job", "figure", "measured", "simulated", "error [%]", "")


def of_fit(found: Fit, checks: Sequence[Fit] = ()) -> tuple[list[Table], list[str]]:
    """A fit: constants, what cannot be told apart, every figure, those of its cross-checks too; and its footnotes."""
    tables = [_constants(found), of_figures("Measured and simulated", found.figures)]
    tables += of_checks(checks) if checks else []
    notes = [f"the figures do not tell apart: {line}" for line in apart(found)]
    notes += [f"note: {line}" for line in found.notes]
    if any(each.expected is not None for of in (found, *checks) for each in of.figures):
        notes.append(TRUST)
    notes.append(
        f"chi-squared {found.chi2:.1f} with {found.freedom} degrees of freedom; {found.runs:,} runs; "
        f"intervals are 95 %, those of simulated figures over {found.seeds} seeds"
    )
    return tables, notes


def of_checks(checks: Sequence[Fit]) -> list[Table]:
    """The figures that each fit of a cross-check has not seen."""
    rows = [each for found in checks for each in found.figures if not each.fitted]
    return [of_figures("Held out: each figure under the fit that has not seen its job", rows)]


def of_figures(title: str, figures: Sequence[Compared]) -> Table:
    """Figures, measured and simulated."""
    rows: list[tuple[str, ...]] = []
    for each in figures:
        scale = 1.0 if each.figure.metric == "iops" else 1e3
        unit = "" if each.figure.metric == "iops" else " [us]"
        simulated = with_interval(each.simulated / scale, None if each.ci95 is None else each.ci95 / scale)
        state = ("fitted" if each.counted else "not counted") if each.fitted else _held_out(each, scale)
        error = f"{100 * each.error:+.1f}"
        measured = number_text(float(f"{each.figure.value / scale:.5g}"))
        rows.append((each.job.name, f"{each.figure.name.replace('_', '.')}{unit}", measured, simulated, error, state))
    return Table(title, COLUMNS, rows, left=2, right=1)


def _held_out(each: Compared, scale: float) -> str:
    """Held out: where the drive's own figure is to be expected; and whether the fitted jobs say so."""
    state = "held out" if each.determined else "not determined"
    if each.expected is None or each.expected[1] > MOST_SHOWN * each.simulated:
        return state
    return f"{state}: {' to '.join(number_text(float(f'{end / scale:.3g}')) for end in each.expected)}"


def apart(found: Fit) -> list[str]:
    """What the figures cannot tell apart, a line each."""
    lines = []
    if len(found.shapes) > 1:
        lines.append(" | ".join(str(shape) for shape, _ in found.shapes))
    for blur in found.blurs:
        powers = ", ".join(f"{name} ^ {power:+.2f}" for name, power in blur.powers)
        width = "any factor" if blur.factor > 1e3 else f"a factor of {blur.factor:.2f}"
        lines.append(f"{powers}: together by {width} to either side")
    return lines


def to_json(found: Fit) -> dict[str, Any]:
    """A fit as JSON."""
    return {
        "device": found.space.device,
        "warnings": [{**of._asdict(), "numbers": dict(of.numbers)} for of in found.warnings],
        "settings": list(found.settings),
        "shape": found.shape._asdict(),
        "shapes": [{**shape._asdict(), "delta_chi2": above} for shape, above in found.shapes],
        "constants": [each._asdict() for each in found.estimates],
        "apart": [{"factor": _finite(blur.factor), "powers": dict(blur.powers)} for blur in found.blurs],
        "figures": [
            {
                "job": each.job.name,
                "op": each.figure.op,
                "metric": each.figure.metric,
                "measured": each.figure.value,
                "simulated": each.simulated,
                "ci95": each.ci95,
                "error": each.error,
                "fitted": each.fitted,
                "counted": each.counted,
                "spread": each.spread,
                "expected": each.expected,
                "source": each.figure.source,
            }
            for each in found.figures
        ],
        "chi2": found.chi2,
        "freedom": found.freedom,
        "runs": found.runs,
        "seeds": found.seeds,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _constants(found: Fit) -> Table:
    rows: list[tuple[str, ...]] = []
    for place, name in enumerate(("channels", "dies a channel", "planes")):
        values = sorted({shape[place] for shape, _ in found.shapes})
        state = "" if found.space.free[place] else "given"
        rows.append((name, str(found.shape[place]), str(values[0]), str(values[-1]), state))
    for each in found.estimates:
        rows.append(
            (each.name, shown(each.value, each.unit), *_ends(each), "" if each.seen else "not seen by the jobs")
        )
    return Table(f"Fitted to {found.space.device}'s model", ("constant", "value", "from", "to", ""), rows, right=1)


def _ends(each: Estimate) -> tuple[str, str]:
    low, high = ("-" if end is None else shown(end, each.unit) for end in (each.low, each.high))
    return low, high


__all__ = ["apart", "of_checks", "of_figures", "of_fit", "to_json"]
