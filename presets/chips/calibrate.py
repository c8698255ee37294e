"""Fits the constants of the chip presets to families of the papers' claims, and writes the presets.

    pip install "ssdlab[calibrate]"; python presets/chips/calibrate.py [tlc48 | tlc48-reo | slc | mlc ...]

Each family is fitted at once, by least squares on all of its claims, never one claim at a time. Constants that are not
fitted are kept as they stand here, with their source. A run takes some minutes for tlc48; the others are only written.
Afterwards the kept RPTs are rewritten, presets/chips/NAME.rpt.csv: the columns pec, months and cut of what
`ssdlab characterize presets/chips/NAME.toml --only rpt` measures; a test of crates/nand compares them with the profile.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from ssdlab._core import Chip
from ssdlab.chip import characterize
from ssdlab.common.machine import cpus

Constants = dict[str, dict[str, Any]]
FOLDER = Path(__file__).parent

STEPS = "fitted (rr.steps.*, rr.tread.*, rr.merr.*, rr.margin.*, rif.retention.*)"
TIMING = "fitted (rr.safe.*, rr.teval20.fresh, rr.tpre*, rr.tdisch*, rr.both.1k.0, rr.rpt.*)"
SPREAD = "assumed (narrow: at 10 million pages a wider spread breaks the fewest steps of rr.steps.*.min)"
EARLY = "assumed (worn pages are retried at age 0: asplos21 section 9; at 2K cycles one step, as Fig. 5 gives no number)"
TAIL = "assumed (weak wordlines; the most steps at 2K cycles and a year stay below 25, where the axis of Fig. 5 ends)"
NO_EARLY = "assumed (none: no claim is on worn pages of age 0)"
NO_TAIL = "assumed (none: no claim is on weak wordlines)"
DISTURB = "assumed (linear in reads and growing with wear: Y. Cai et al., DSN'15; size for this chip not published)"

# Of 48-layer TLC (asplos21, hpca24). Numbers of what is fitted are where the fit begins.
TLC: Constants = {
    "cells": {
        "bits": (3, "asplos21 section 2.2"),
        "shift": (0.60559, STEPS),
        "shift_time": (0.557, STEPS),  # months
        "shift_wear": (0.24514, STEPS),
        "shift_early": (0.0, NO_EARLY),
        "shift_lowest": (0.79, "assumed (higher states leak more: Y. Luo et al., SIGMETRICS'18)"),
        "wear_knee": (0.38076, STEPS),
        "wear_slope": (1.47, STEPS),
        "width": (0.29089, STEPS),
        "width_wear": (0.063327, STEPS),
        "width_shift": (0.025016, STEPS),
        "width_factor": (0.05, "assumed (pages that leak more are slightly wider)"),
        "cold_errors": (2.4, "fitted (rr.merr.temp.*, rr.margin.*)"),
        "cold_power": (0.78, "fitted (rr.merr.temp.*, rr.margin.*)"),
        "disturb": (0.1, DISTURB),
        "disturb_wear": (0.5, DISTURB),
        "disturb_scale": (0, "assumed (the erased state alone, the simplest form)"),
        "retry_step": (0.17368, STEPS),
        "retry_steps": (40, "assumed (at least 25: asplos21 Fig. 5; longer than any page of the claims needs)"),
        "capability": (72, "asplos21 Table 1"),
    },
    "variation": {
        "chip": (0.009, SPREAD),
        "block": (0.009, SPREAD),
        "layer": (0.024, SPREAD),
        "wordline": (0.003, SPREAD),
        "tail": (0.0, NO_TAIL),
        "kib": (0.016, "fitted (rif.chunk.*)"),
        "layers": (48, "asplos21 section 4"),
        "wordlines": (4, "asplos21 section 4: 192 wordlines a block"),
    },
    "sensing": {
        "pre": (0.044853, TIMING),
        "pre_scale": (0.091841, TIMING),
        "disch_in_pre": (0.37, TIMING),
        "eval": (10.991, TIMING),
        "eval_scale": (0.23378, TIMING),
        "disch": (0.34483, TIMING),
        "disch_scale": (0.090123, TIMING),
        "wear": (0.26889, TIMING),
        "retention": (1.5458, TIMING),
        "cold": (0.09, "fitted (rr.tpre.temp.max)"),
        "grid": (15, "asplos21 section 5.2: cuts are quoted in fifteenths"),
    },
    "programming": {
        "loops": (12, "assumed (700 us in loops of some 58 us)"),
        "t_pulse": ("50us", "assumed (most of a loop is the pulse)"),
        "t_verify": ("8333ns", "assumed (so that tPROG is the 700 us of asplos21 Table 1)"),
        "v_start": (15.0, "assumed (above 20 V at the end: electronics25 section 2.1)"),
        "v_step": (0.5, "assumed (a usual step)"),
    },
}

EPULSE = "electronics25 section 3.2 and Table 2"
LIFE = "fitted (reo.nispe*, reo.mtbers.1k, reo.std.3k5, reo.life.base)"
FAIL = "electronics25 section 5.2, Fig. 15"
MARGIN = "fitted (reo.margin.*, reo.ept.t2, reo.c1.mrber, reo.c2.mrber)"
ERASING = {
    "t_grain": ("500us", "electronics25 section 5.1: m-ISPE's pulse"),
    "grains": (7, EPULSE + ": tEP 3.5 ms"),
    "t_verify": ("100us", "electronics25 section 3.2: tVR of about 100 us"),
    "loops": (5, "electronics25 section 6: L = 5"),
    "delta": (5000.0, FAIL),
    "gamma": (0.3, "assumed (electronics25 Fig. 15 says much less than delta)"),
    "fresh": (3.61, LIFE),
    "fresh_spread": (0.036, LIFE),
    "growth_spread": (0.0961, LIFE),
    "wear_spread": (0.0512, LIFE),
    "knots_wear": ([0.0, 0.66, 1.33, 2.15, 4.37, 16.05, 57.2, 231.5, 596.0], LIFE),
    "knots_grains": ([0.0, 0.45, 1.493, 4.098, 8.429, 18.255, 25.141, 29.817, 42.306], LIFE),
    "program_stress": (0.25, "fitted (reo.stress.erase: 80 % of the stress of a cycle of one loop)"),
    "loop_stress": (1.1345, LIFE),
    "skip_loss": (0.29, "fitted (reo.life.i_ispe)"),
    "scaled_stress": (0.41, "fitted (reo.life.dpes)"),
    "scaled_errors": (
        20,
        "assumed (DPES has a rather high M_RBER: electronics25 section 7.2; how high is not published)",
    ),
    "rber_fresh": (16.1, MARGIN),
    "rber_wear": (0.127, MARGIN),
    "rber_power": (1.715, MARGIN),
    "rber_incomplete": (29.85, MARGIN),
    "incomplete_power": (0.632, MARGIN),
    "requirement": (63.0, "electronics25 section 5.3"),
    "wordline_speed": (0.4, "electronics25 section 3.3: the best wordline is erased 40 % faster than the worst"),
    "gate_shift": (2.36, "electronics25 section 5.4: 21 % of the shift lost per 0.1 V"),
    "gate_stress": (45.0, "fitted (reo.read.reo_plus.*)"),
    "gate_grain": (0.05, "electronics25 sections 4 and 6: 0 to 1 V by 0.05 V"),
}

KEYS = (
    "shift",
    "shift_time",
    "shift_wear",
    "wear_knee",
    "wear_slope",
    "width",
    "width_wear",
    "width_shift",
    "retry_step",
)
CUTS = ("pre", "pre_scale", "disch_in_pre", "eval", "eval_scale", "disch", "disch_scale", "wear", "retention")


ERASE_KEYS = ("growth_spread", "wear_spread", *(f"knots_grains {index}" for index in range(1, 9)))


def written(value: object, key: str = "") -> str:
    """A value in TOML; numbers to five significant digits."""
    if key == "shift_time":
        assert isinstance(value, float)
        return f'"{round(value * 30 * 86_400)}s"'
    if isinstance(value, list):
        return "[" + ", ".join(written(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else f"{value:.5g}" if isinstance(value, float) else repr(value)


def toml(about: str, constants: Constants) -> str:
    """A chip file."""
    lines = ["# Written by presets/chips/calibrate.py.", f'about = "{about}"']
    for section, keys in constants.items():
        lines += ["", f"[{section}]", *(f"{key} = {written(value, key)}" for key, (value, _) in keys.items())]
    for section, keys in constants.items():
        lines += ["", f"[source.{section}]", *(f'{key} = "{source}"' for key, (_, source) in keys.items())]
    return "\n".join(lines) + "\n"


def with_values(constants: Constants, section: str, keys: Sequence[str], values: Sequence[float]) -> Constants:
    """The constants with some of them changed."""
    changed = {name: dict(part) for name, part in constants.items()}
    for key, value in zip(keys, values, strict=True):
        name, _, index = key.partition(" ")
        old, source = changed[section][name]
        new = [float(value) if i == int(index) else item for i, item in enumerate(old)] if index else float(value)
        changed[section][name] = (new, source)
    return changed


def value_of(constants: Constants, section: str, key: str) -> float:
    """A constant; "name i" is the i-th of a list."""
    name, _, index = key.partition(" ")
    value = constants[section][name][0]
    return float(value[int(index)] if index else value)


def fit(constants: Constants, section: str, keys: Sequence[str], residuals: Callable[[Chip], list[float]]) -> Constants:
    """Least squares over some constants, as multiples of where they begin and held weakly there."""
    start = np.array([value_of(constants, section, key) for key in keys])

    def of(factors: Any) -> list[float]:
        chip = Chip("fit", toml("fit", with_values(constants, section, keys, start * factors)))
        return [*residuals(chip), *(0.1 * (factors - 1.0))]

    found = least_squares(of, np.ones(len(keys)), diff_step=4e-3, max_nfev=12, verbose=2)
    return with_values(constants, section, keys, start * found.x)


def reading(chip: Chip) -> list[float]:
    """How far retry steps and margins are from their claims, in tolerable deviations."""
    counts = chip.retry_steps([(2, 12, 85.0), (0, 6, 85.0), (0, 3, 85.0), (1, 3, 85.0)], cpus())

    def share_from(found: list[int], steps: int) -> float:
        return sum(found[steps:]) / sum(found)

    mean = sum(steps * pages for steps, pages in enumerate(counts[0])) / sum(counts[0])
    found = [(mean - 19.9) / 0.15, (100 * share_from(counts[1], 7) - 55.0) / 2.0]
    # No page may need fewer than 4 and 8 steps.
    found += [
        math.log10(1.0 + 1e7 * (1.0 - share_from(part, steps))) for part, steps in ((counts[2], 4), (counts[3], 8))
    ]
    # M_ERR is rounded up: the middle of the range that gives it.
    errors = {(0.0, 3.0): 14.6, (1.0, 12.0): 29.6, (2.0, 12.0): 34.6}
    found += [(chip.m_err_between((x, months, 85.0)) - m) / 0.3 for (x, months), m in errors.items()]
    return found


def timing(chip: Chip) -> list[float]:
    """How far the errors of cut senses are from their claims."""

    def added(x: float, months: float, pre: float = 0.0, evaluation: float = 0.0, disch: float = 0.0) -> float:
        at = (x, months, 85.0)
        return chip.m_err_between(at, (pre, evaluation, disch)) - chip.m_err_between(at)

    margin = 72.0 - chip.m_err_between((2.0, 12.0, 85.0))
    worst = added(2.0, 12.0, pre=7 / 15)
    return [
        # The last safe cuts leave little, the next ones would be too much.
        (worst - margin + 2.0) / 1.0,
        (added(2.0, 12.0, evaluation=0.1) - margin + 8.0) / 4.0,
        (added(2.0, 12.0, disch=4 / 15) - margin + 6.0) / 3.0,
        (added(0.0, 0.0, evaluation=0.2) - 30.5) / 0.5,
        (worst / added(2.0, 0.0, pre=7 / 15) - 1.62) / 0.03,
        (added(1.0, 0.0, pre=8 / 15) - 34.8) / 0.5,
        (added(1.0, 0.0, disch=0.2) - 8.0) / 0.4,
        min(0.0, chip.m_err_between((1.0, 0.0, 85.0), (8 / 15, 0.0, 0.2)) - 84.0) / 2.0,
    ]


def erasing(chip: Chip) -> list[float]:
    """How far the minimum erase times of blocks under the conventional scheme are from their claims."""
    lives = [np.array(blocks) for blocks in chip.erase_lives([1000, 2000, 3000, 3500, 5300])]
    needed = [blocks[:, 0] for blocks in lives]

    def between(values: Any, low: float, high: float) -> float:
        """The share between, with soft edges: least squares must see small changes."""
        return float(np.mean(1.0 / (1.0 + np.exp((low - values) / 0.05)) / (1.0 + np.exp((values - high) / 0.05))))

    deviation = float(np.std(np.minimum(np.ceil(needed[3]), 35.0) * 0.5))
    return [
        (100.0 * between(needed[0], 0.0, 5.0) - 36.0) / 3.0,
        max(0.0, float(needed[0].max()) - 6.9) / 0.1,
        min(0.0, float(needed[1].min()) - 7.15) / 0.05,
        max(0.0, float(needed[1].max()) - 28.0),
        (100.0 * between(needed[2], 14.0, 21.0) - 41.0) / 1.5,
        (deviation - 2.75) / 0.08,
        (float(lives[4][:, 2].mean()) - 63.0) / 0.4,
    ]


def tlc48() -> tuple[str, Constants]:
    constants: Constants = {
        **TLC,
        "cells": TLC["cells"] | {"shift_early": (0.21, EARLY)},
        "variation": TLC["variation"] | {"tail": (0.02, TAIL)},
        "erasing": ERASING,
    }
    constants = fit(constants, "cells", KEYS, reading)
    constants = fit(constants, "sensing", CUTS, timing)
    return "48-layer 3D TLC: the chips of asplos21 and hpca24; erasing as in electronics25", constants


def tlc48_reo() -> tuple[str, Constants]:
    """Cells of the same chip but another wear: electronics25 measures at most 16 errors where one loop suffices,
    after a year at 30 °C, and reaches 63 after 5,300 cycles only, where asplos21 has 40 at 2,000."""
    constants = fit({**TLC, "erasing": ERASING}, "erasing", ERASE_KEYS, erasing)
    return "48-layer 3D TLC of electronics25: erasing and lifetime; reading as tlc48", constants


def planar(bits: int, loops: int, verify: str, t_bers: str) -> Constants:
    source = "fast12 Table 1"
    few = "assumed (fast12 models no errors: wide enough apart for none in its lifetime)"
    cells = {
        **TLC["cells"],
        "bits": (bits, source),
        "shift": (0.1, few),
        "width": (0.15, few),
        "width_shift": (0.02, few),
        "cold_errors": (0.2, few),
        "capability": (8, "assumed (a BCH code of its time)"),
        "retry_steps": (8, "assumed (as many as a short table has)"),
    }
    cells = {key: (value, few if text.startswith("fitted") else text) for key, (value, text) in cells.items()}
    other = "assumed (as for 48-layer TLC; fast12 models no such thing)"
    sensing = {key: (value, other) for key, (value, _) in TLC["sensing"].items()}
    variation = {key: (value, other) for key, (value, _) in TLC["variation"].items()}
    erasing = {key: (value, other) for key, (value, _) in ERASING.items()}
    erasing |= {
        "t_grain": (t_bers, source + ": one pulse of this length"),
        "grains": (1, "assumed (the pulse is not divided)"),
        "fresh": (0.9, "assumed (one pulse suffices)"),
        "t_verify": (verify, source),
        "loops": (1, "fast12 section 4.1: one pulse"),
    }
    programming = {
        "loops": (loops, source),
        "t_pulse": ("20us", source),
        "t_verify": (verify, source),
        "v_start": (15.0, "assumed (fast12 models no voltages)"),
        "v_step": (0.5, "assumed (fast12 models no voltages)"),
    }
    return {"cells": cells, "variation": variation, "sensing": sensing, "programming": programming, "erasing": erasing}


PRESETS: dict[str, Callable[[], tuple[str, Constants]]] = {
    "tlc48": tlc48,
    "tlc48-reo": tlc48_reo,
    "slc": lambda: ("SLC of fast12 Table 1", planar(1, 5, "8us", "1500us")),
    "mlc": lambda: ("2-bit MLC of fast12 Table 1", planar(2, 15, "24us", "3300us")),
}


def main(names: list[str]) -> None:
    for name in names or list(PRESETS):
        about, constants = PRESETS[name]()
        text = toml(about, constants)
        Chip(name, text)
        (FOLDER / f"{name}.toml").write_text(text)
        print(f"wrote {name}.toml")


if __name__ == "__main__":
    main(sys.argv[1:])
