"""Fits the constants of the chip presets to families of the papers' claims, and writes the presets.

    pip install "ssdlab[calibrate]"; python presets/chips/calibrate.py [--report] [tlc48 | tlc48-rif | tlc48-reo | ...]

Each family is fitted at once, by least squares on all of its claims, never one claim at a time. Constants that are not
fitted are kept as they stand here, with their source. A run takes some minutes for tlc48; the others that fit nothing
are only written.
Behind each preset stands what the families saw: their claims as the papers' procedures now measure them on the chip,
and for each fitted constant the claims that it saw. With --report the presets are left as they are.
Afterwards the kept RPTs are rewritten, presets/chips/NAME.rpt.csv: the columns pec, months and cut of what
`ssdlab characterize presets/chips/NAME.toml --only rpt` measures; a test of crates/nand compares them with the profile.
"""

from __future__ import annotations

import fnmatch
import json
import math
import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import least_squares

from ssdlab import study
from ssdlab._core import Chip
from ssdlab.chip import characterize
from ssdlab.chip.lifetime import SCHEMES
from ssdlab.common.machine import cpus
from ssdlab.study import claims
from ssdlab.study.folder import measuring

if TYPE_CHECKING:
    from ssdlab._core import BlockWear

Constants = dict[str, dict[str, Any]]
FOLDER = Path(__file__).parent

STEPS = "fitted (rr.steps.*, rr.tread.*, rr.merr.*, rr.margin.*)"
TIMING = "fitted (rr.safe.*, rr.teval20.fresh, rr.tpre*, rr.tdisch*, rr.both.1k.0, rr.rpt.*)"
SPREAD = "assumed (narrow: at 10 million pages a wider spread breaks the fewest steps of rr.steps.*.min)"
EARLY = (
    "assumed (worn pages are retried at age 0: asplos21 section 9; at 2K cycles one step, as Fig. 5 gives no number)"
)
TAIL = "assumed (weak wordlines; the most steps at 2K cycles and a year stay below 25, where the axis of Fig. 5 ends)"
NO_EARLY = "assumed (none: no claim is on worn pages of age 0)"
NO_TAIL = "assumed (none: no claim is on weak wordlines)"
CROSS = "assumed (1 mV/K is left of the shift of voltages with temperature, of half pitches of 0.4 V)"
DISTURB = "assumed (linear in reads and growing with wear: Y. Cai et al., DSN'15; size for this chip not published)"

# Of 48-layer TLC (asplos21). Numbers of what is fitted are where the fit begins.
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
        "cross_shift": (0.0025, CROSS),
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

RANGE = "fitted (rif.retention.*, rif.rp.exact, rif.rp.approx)"

# Of hpca24's own chip: what differs from TLC. Both of its mean accuracies of the predictor imply that the RBERs it is
# averaged over end near 0.033, which pages of tlc48 pass within a week at 2K cycles.
RETRYING: dict[str, tuple[float, str]] = {
    "shift": (0.12, RANGE),
    "shift_time": (0.07, RANGE),  # months
    "shift_wear": (0.09, RANGE),
    "wear_knee": (0.38, RANGE),
    "wear_slope": (2.3, RANGE),
    "width": (0.36, RANGE),
    "width_wear": (0.03, RANGE),
}

EPULSE = "electronics25 section 3.2 and Table 2"
LIFE = "fitted (reo.nispe*, reo.mtbers.1k, reo.std.3k5, reo.life.base)"
STRESS = "fitted (reo.life.*, reo.mrber.*, reo.mispredict.life*, reo.weak_ecc.life, reo.stress.erase)"
FAIL = "electronics25 section 5.2, Fig. 15"
MARGIN = "fitted (reo.margin.*, reo.ept.t2, reo.c1.mrber, reo.c2.mrber, reo.skip.40, reo.life.*, reo.mrber.*)"
ERASING = {
    "t_grain": ("500us", "electronics25 section 5.1: m-ISPE's pulse"),
    "grains": (7, EPULSE + ": tEP 3.5 ms"),
    "t_verify": ("100us", "electronics25 section 3.2: tVR of about 100 us"),
    "loops": (5, "electronics25 section 6: L = 5"),
    "delta": (5000.0, FAIL),
    "gamma": (0.3, "assumed (electronics25 Fig. 15 says much less than delta)"),
    "fresh": (3.61, LIFE),
    "fresh_spread": (0.036, LIFE),
    "growth_spread": (0.099668, LIFE),
    "wear_spread": (0.046497, LIFE),
    "knots_wear": ([0.0, 1.4518, 2.9255, 5.2553, 8.7792, 42.024, 236.86, 849.54, 3328.9], LIFE),
    "knots_grains": ([0.0, 0.44726, 1.6642, 5.1014, 8.67, 18.545, 28.852, 32.348, 47.803], LIFE),
    "program_stress": (1.7496, STRESS),
    "loop_stress": (1.4288, STRESS),
    "skip_loss": (0.2973, STRESS),
    "scaled_stress": (0.096126, STRESS),
    "scaled_errors": (
        20,
        "assumed (DPES has a rather high M_RBER: electronics25 section 7.2; how high is not published)",
    ),
    "rber_fresh": (16.046, MARGIN),
    "rber_wear": (0.1285, MARGIN),
    "rber_power": (1.7117, MARGIN),
    "rber_incomplete": (29.739, MARGIN),
    "incomplete_power": (0.63769, MARGIN),
    "requirement": (63.0, "electronics25 section 5.3"),
    "wordline_speed": (0.4, "electronics25 section 3.3: the best wordline is erased 40 % faster than the worst"),
    "gate_shift": (2.36, "electronics25 section 5.4: 21 % of the shift lost per 0.1 V"),
    "gate_stress": (100.0, "fitted (reo.read.reo_plus.2k5, reo.read.reo_plus.4k5)"),
    "gate_grain": (0.05, "electronics25 sections 4 and 6: 0 to 1 V by 0.05 V"),
}


def worn_faster(factor: float, endurance: str) -> Constants:
    """The erase model of 48-layer TLC, of a chip on which the same stress does so many times the harm."""
    same = "assumed (as for 48-layer TLC)"
    knots = [float(f"{wear / factor:.5g}") for wear in ERASING["knots_wear"][0]]
    erasing = {key: (value, same) for key, (value, _) in ERASING.items()}
    return erasing | {
        "knots_wear": (knots, f"assumed (as for 48-layer TLC, reached {factor:g} times as fast: {endurance})")
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


STRESSES = ("program_stress", "loop_stress", "skip_loss", "scaled_stress")
ERRORS = ("rber_fresh", "rber_wear", "rber_power", "rber_incomplete", "incomplete_power")
ERASE_KEYS = (
    "growth_spread",
    "wear_spread",
    *(f"knots_grains {index}" for index in range(1, 9)),
    *STRESSES,
    *ERRORS,
)
KNOTS = (0, 528, 1064, 1547, 2056, 3173, 4027, 5294, 7943)
"""P/E cycles of the conventional scheme after which a typical block has the wear of each knot."""


def written(value: object, key: str = "") -> str:
    """A value in TOML; numbers to five significant digits."""
    if key == "shift_time" and not isinstance(value, str):
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


def fit(
    constants: Constants,
    section: str,
    keys: Sequence[str],
    residuals: Callable[[Chip], list[float]],
    derived: Callable[[Constants], Constants] = lambda constants: constants,
    blocks: int = 120,
) -> Constants:
    """Least squares over some constants, as multiples of where they begin and held weakly there. `derived` sets the
    constants that follow from these; `blocks` are those of each of 160 chips."""
    start = np.array([value_of(constants, section, key) for key in keys])

    def at(factors: Any) -> Constants:
        return derived(with_values(constants, section, keys, start * factors))

    def of(factors: Any) -> list[float]:
        chip = Chip("fit", toml("fit", at(factors)), blocks=blocks)
        return [*residuals(chip), *(0.1 * (factors - 1.0))]

    found = least_squares(of, np.ones(len(keys)), diff_step=4e-3, max_nfev=12, verbose=2)
    return at(found.x)


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


def retrying(chip: Chip) -> list[float]:
    """How far hpca24's retention days, and the RBER that pages reach in a month at 2K cycles, are from the claims."""
    # A day is rounded up: the middle of it.
    days = {0.0: 16.5, 0.2: 13.5, 0.5: 9.5, 1.0: 7.5}
    capability = characterize.CAPABILITY_RBER * 8192
    found = [((chip.first_day(x, capability) or 400.0) - day) / 0.35 for x, day in days.items()]
    # Pages two deviations off.
    parts = ("chip", "block", "layer", "wordline")
    factor = 2.0 * math.sqrt(sum(characterize.constant(chip, "variation", part) ** 2 for part in parts))
    most = max(chip.errors(kind, (2.0, 1.0, 30.0), factor, 0.0) for kind in range(3)) / 8192
    return [*found, (most - 0.033) / 0.001]


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


def knots(constants: Constants) -> Constants:
    """Puts the knots of wear at their P/E cycles: so the stresses decide what other schemes spare, and leave the
    conventional lives as they are. The knots of grains are made to rise."""
    part = {key: value for key, (value, _) in constants["erasing"].items()}
    grains = np.maximum.accumulate(part["knots_grains"])
    grains += 1e-3 * np.cumsum(np.diff(grains, prepend=-1.0) <= 0.0)
    needed = np.ceil(part["fresh"] + np.interp(np.arange(KNOTS[-1]), KNOTS, grains))
    most = 2 * part["loops"] - 1  # the last loop is repeated (docs/decisions/0022)
    loops = np.minimum(np.ceil(needed / part["grains"]), most).astype(int)
    pulses = np.cumsum(np.exp(part["loop_stress"] * np.minimum(np.arange(most), part["loops"] - 1)))
    wear = np.concatenate([[0.0], np.cumsum(part["program_stress"] + pulses[loops - 1]) / 1e3])
    changed = {
        "knots_wear": ([float(wear[cycles]) for cycles in KNOTS], LIFE),
        "knots_grains": ([float(value) for value in grains], LIFE),
    }
    return {**constants, "erasing": {**constants["erasing"], **changed}}


def erase_times(chip: Chip) -> list[float]:
    """How far the minimum erase times of conventionally cycled blocks are from their claims."""
    needed = [
        np.array([block["needed"] for block in blocks]) for blocks in chip.erase_lives([1000, 2000, 3000, 3500])
    ]

    def between(values: Any, low: float, high: float) -> float:
        """The share between, with soft edges: least squares must see small changes."""
        edges = np.clip([(low - values) / 0.05, (values - high) / 0.05], -50, 50)
        return float(np.mean(np.prod(1.0 / (1.0 + np.exp(edges)), axis=0)))

    deviation = float(np.std(np.minimum(np.ceil(needed[3]), 35.0) * 0.5))
    return [
        (100.0 * between(needed[0], 0.0, 5.0) - 36.0) / 7.5,
        max(0.0, float(needed[0].max()) - 6.9) / 0.1,
        min(0.0, float(needed[1].min()) - 7.15) / 0.05,
        max(0.0, float(needed[1].max()) - 28.0),
        (100.0 * between(needed[2], 14.0, 21.0) - 40.0) / 6.0,
        (deviation - 2.7) / 0.4,
    ]


def cycles_to(rows: Sequence[BlockWear], requirement: float) -> float:
    """The P/E cycles at which the mean M_RBER passes a requirement; of a life that ends later, its length."""
    passes = next((i for i, row in enumerate(rows) if i and rows[i - 1]["mean"] < requirement <= row["mean"]), None)
    if passes is None:
        return rows[-1]["pec"]
    before, behind = rows[passes - 1], rows[passes]
    part = (requirement - before["mean"]) / (behind["mean"] - before["mean"])
    return before["pec"] + part * (behind["pec"] - before["pec"])


def erase_lives(chip: Chip) -> list[float]:
    """How far lives under the erase schemes (electronics25 Fig. 21, 25 and 26, and the share of section 3.1) are from
    their claims, in half the width of what is accepted."""

    def lives(scheme: str, wrong: float = 0.0, requirement: float = 63.0) -> list[BlockWear]:
        return chip.lifetime(*SCHEMES[scheme], wrong, requirement, 50, 10_000)

    rows = {name: lives(name) for name in ("ispe", "i-ispe", "dpes", "reo-minus", "reo")}
    cycles = {name: cycles_to(found, 63.0) for name, found in rows.items()}
    errors = {row["pec"]: row["mean"] for row in rows["reo"]}

    def gain(cycles: float, over: float) -> float:
        return 100.0 * (cycles / over - 1.0)

    base, weak = cycles["ispe"], [cycles_to(lives(name, 0.0, 40.0), 40.0) for name in ("reo", "reo-minus")]
    wrong = {name: cycles_to(lives(name, 0.2), 63.0) for name in ("reo", "reo-minus")}
    programs = characterize.constant(chip, "erasing", "program_stress") * 5.0
    fresh = characterize.constant(chip, "erasing", "rber_fresh")
    both = alone = 0.0
    for life in zip(*chip.erase_lives(list(range(0, 5001, 50))), strict=True):
        both += life[-1]["rber"] - fresh
        alone += float(np.interp(programs, [at["wear"] for at in life], [at["rber"] - fresh for at in life]))
    return [
        (base - 5300.0) / 200.0,
        (cycles["reo-minus"] - 6900.0) / 300.0,
        (cycles["reo"] - 7600.0) / 350.0,
        (gain(cycles["dpes"], base) - 26.0) / 4.0,
        (gain(cycles["i-ispe"], base) + 25.0) / 4.0,
        (gain(cycles["reo"], cycles["reo-minus"]) - 10.0) / 3.0,
        (gain(cycles["reo"], cycles["dpes"]) - 13.0) / 4.0,
        (errors[0] - 46.0) / 2.0,
        (errors[6000] - errors[0] - 9.5) / 1.5,
        (gain(wrong["reo"], base) - 42.0) / 5.0,
        (gain(wrong["reo-minus"], base) - 29.0) / 4.5,
        (gain(*weak) - 14.0) / 6.0,
        (100.0 * (1.0 - alone / both) - 80.0) / 3.0,
    ]


def margins(chip: Chip) -> list[float]:
    """How far the errors of blocks that just need all of a loop, erased completely or not, are from the margins of
    electronics25 Fig. 17 and Table 1, in 0.3 errors: 63 and 40 must lie between what is allowed and what is not."""

    def value(key: str) -> float:
        return characterize.constant(chip, "erasing", key)

    def worst(loops: int, left: float = 0.0) -> float:
        """With fail bits of so many delta left."""
        added = 7.0 * loops - value("fresh")
        errors = value("rber_fresh") + value("rber_wear") * added ** value("rber_power")
        return errors + value("rber_incomplete") * left ** value("incomplete_power")

    gamma = value("gamma")
    below = [worst(5), worst(3, 1.0), worst(4, gamma), worst(1, 1.0)]
    above = [worst(5, gamma), worst(1, 2.0), worst(4, 1.0)]
    weak_below, weak_above = [worst(2, gamma)], [worst(2, 1.0), worst(3, gamma)]
    return [
        (63.0 - worst(1) - 47.0) / 3.0,
        *(max(0.0, errors - 62.95) / 0.3 for errors in below),
        *(max(0.0, 63.15 - errors) / 0.3 for errors in above),
        *(max(0.0, errors - 39.85) / 0.3 for errors in weak_below),
        *(max(0.0, 40.15 - errors) / 0.3 for errors in weak_above),
    ]


def steady(chip: Chip) -> list[float]:
    """The growth of erase times over P/E cycles changes slowly: the log of its ratio from knot to knot, weakly."""
    grains = json.loads(characterize.constant_of(chip, "erasing", "knots_grains")["value"])
    return list(0.2 * np.diff(np.log(np.diff(grains) / np.diff(KNOTS)))[3:])


def erasing(chip: Chip) -> list[float]:
    """Erasing as one family: conventional erase times, lives under every scheme, margins."""
    return [*erase_times(chip), *erase_lives(chip), *margins(chip), *steady(chip)]


def tlc48() -> tuple[str, Constants]:
    same = "assumed (as tlc48-reo; asplos21 measures no lifetimes)"
    constants: Constants = {
        **TLC,
        "cells": TLC["cells"] | {"shift_early": (0.21, EARLY)},
        "variation": TLC["variation"] | {"tail": (0.02, TAIL)},
        "erasing": {
            key: (value, same if text.startswith("fitted") else text) for key, (value, text) in ERASING.items()
        },
    }
    constants = fit(constants, "cells", KEYS, reading)
    constants = fit(constants, "sensing", CUTS, timing)
    return "48-layer 3D TLC: the chips of asplos21; erasing as in electronics25", constants


def tlc48_rif() -> tuple[str, Constants]:
    """Cells as tlc48's but for how fast they lose charge, and how wide their states are: hpca24's pages need retries
    from the same days on, and reach a sixth of the RBER that asplos21's imply."""
    other = "assumed (as tlc48; hpca24 does not tell)"
    constants = {
        section: {
            key: (value, other if source.startswith("fitted") and key != "kib" else source)
            for key, (value, source) in keys.items()
        }
        for section, keys in {**TLC, "erasing": ERASING}.items()
    }
    constants["cells"].update(RETRYING)
    return "48-layer 3D TLC of hpca24", fit(constants, "cells", tuple(RETRYING), retrying)


def tlc48_reo() -> tuple[str, Constants]:
    """Cells of the same chip but another wear: electronics25 measures at most 16 errors where one loop suffices,
    after a year at 30 °C, and reaches 63 after 5,300 cycles only, where asplos21 has 40 at 2,000.

    The sum of squares of lives is rugged (pulses are whole grains): where the fit begins was found by an evolution
    strategy (CMA-ES, a thousand points) on the same sum, and least squares hardly moves it."""
    constants = fit(knots({**TLC, "erasing": ERASING}), "erasing", ERASE_KEYS, erasing, knots, blocks=6)
    return "48-layer 3D TLC of electronics25: erasing and lifetime; reading as tlc48", constants


def planar(bits: int, loops: int, verify: str, t_grain: str, cycles: int) -> Constants:
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
    # A cycle is one pulse and its programs; after so many a block needs 32 grains more, and has the errors that it may.
    worn = float(f"{cycles / 1e3 * (1.0 + erasing['program_stress'][0]):.5g}")
    life = f"assumed (an endurance of some {cycles:,} cycles, as vendors stated for such chips)"
    errors = "assumed (a ninth of those of 48-layer TLC, as its ECC corrects)"
    erasing |= {
        "t_grain": (t_grain, source + ": one pulse of tBERS, in parts of which a worn-out block needs all"),
        "grains": (40, "assumed (one pulse suffices for life: fast12 section 4.1)"),
        "t_verify": (verify, source),
        "loops": (1, "fast12 section 4.1: one pulse"),
        "knots_wear": ([0.0, worn], life),
        "knots_grains": ([0.0, 32.0], life),
        "requirement": (7.0, "assumed (7 of the 8 that its ECC corrects, as 63 of 72 in electronics25)"),
        "rber_fresh": (0.5, "assumed (next to none)"),
        "rber_wear": (0.01725, life),
        "rber_incomplete": (float(f"{ERASING['rber_incomplete'][0] / 9:.5g}"), errors),
    }
    programming = {
        "loops": (loops, source),
        "t_pulse": ("20us", source),
        "t_verify": (verify, source),
        "v_start": (15.0, "assumed (fast12 models no voltages)"),
        "v_step": (0.5, "assumed (fast12 models no voltages)"),
    }
    return {"cells": cells, "variation": variation, "sensing": sensing, "programming": programming, "erasing": erasing}


def tlc2x() -> Constants:
    """2D TLC, of which electronics25 gives two figures and no constants: tlc48-reo, but that one erase pulse suffices
    for life, as on the 2D chips of fast12. Nothing is fitted."""
    with (FOLDER / "tlc48-reo.toml").open("rb") as file:
        reo = tomllib.load(file)
    same = "assumed (as tlc48-reo; electronics25 Fig. 6 names a 2D chip and gives no constants)"
    changed: Constants = {
        "variation": {
            "layer": (0.0, "planar chips have no layers"),
            "layers": (1, "planar chips have no layers"),
            "wordlines": (128, "assumed (a usual number)"),
        },
        "erasing": {
            "t_grain": (
                "82500ns",
                "fast12 Table 1: one pulse of 3.3 ms, in parts of which the hardest block needs all",
            ),
            "grains": (40, "assumed (one pulse suffices for life: fast12 section 4.1)"),
            "t_verify": ("24us", "fast12 Table 1"),
            "loops": (1, "fast12 section 4.1: one pulse"),
        },
    }
    return {
        section: {key: changed.get(section, {}).get(key, (value, same)) for key, value in reo[section].items()}
        for section in ("cells", "variation", "sensing", "programming", "erasing")
    }


def qlc() -> Constants:
    """Four bits in the window of three: no paper at hand measures such a chip, so that nothing is fitted. Half pitches
    are half as many volts, states are programmed nearly as narrow in them, and wear comes three times as fast."""
    half = "assumed (in half pitches of half the volts: "
    cells = {key: (value, "assumed (as for 48-layer TLC)") for key, (value, _) in TLC["cells"].items()}
    for key in (
        "cold_errors",
        "disturb",
        "disturb_wear",
        "disturb_scale",
        "cross_shift",
        "width_factor",
        "shift_lowest",
    ):
        cells[key] = TLC["cells"][key]
    cells |= {
        "bits": (4, "the chip has four bits a cell"),
        "shift": (0.45, half + "newer cells lose less charge than those of asplos21)"),
        "shift_time": (0.5388, "assumed (as tlc48)"),
        "wear_knee": (0.2, "assumed (an endurance of some 1,500 cycles, a third of TLC's or less)"),
        "wear_slope": (2.5, "assumed (as wear_knee)"),
        "width": (0.33, half + "two-pass programs make states narrower; 0.0006 errors a bit fresh)"),
        "width_wear": (0.12, "assumed (as wear_knee)"),
        "cold_errors": (2.4, "assumed (as for 48-layer TLC)"),
        "cross_shift": (0.005, half + "1 mV/K is left of the shift of voltages with temperature)"),
        "retry_step": (0.13, "assumed (finer than of TLC, whose states are twice as far apart)"),
        "retry_steps": (50, "assumed (longer than any page needs after a year at 1,000 cycles)"),
        "capability": (72, "assumed (the ECC of asplos21 Table 1)"),
    }
    other = "assumed (as for 48-layer TLC)"
    variation = {key: (value, other) for key, (value, _) in TLC["variation"].items()}
    variation |= {"layers": (96, "assumed (a usual number)"), "tail": (0.02, "assumed (as tlc48)")}
    programming = {
        "loops": (24, "assumed (twice as many as for TLC, whose states are twice as far apart)"),
        "t_pulse": ("60us", "assumed (so that a program takes 2 ms)"),
        "t_verify": ("23us", "assumed (so that a program takes 2 ms)"),
        "v_start": (15.0, "assumed (as for 48-layer TLC)"),
        "v_step": (0.25, "assumed (half of that of TLC)"),
    }
    sensing = {key: (value, other) for key, (value, _) in TLC["sensing"].items()}
    erasing = worn_faster(3.5, "an endurance of some 1,500 cycles")
    return {"cells": cells, "variation": variation, "sensing": sensing, "programming": programming, "erasing": erasing}


def plc() -> Constants:
    """Five bits in the window of four: as :func:`qlc`, once more in half as many volts. Such chips were shown (192
    layers with floating gates, Solidigm 2022), not measured in public."""
    half = "assumed (in half pitches of half the volts of QLC: "
    constants = {section: dict(values) for section, values in qlc().items()}
    constants["cells"] |= {
        "bits": (5, "the chip has five bits a cell"),
        "shift": (0.6, half + "in volts two thirds of that of QLC)"),
        "wear_knee": (0.1, "assumed (an endurance of some 500 cycles, a third of QLC's)"),
        "wear_slope": (4.0, "assumed (as wear_knee)"),
        "width": (0.36, half + "0.001 errors a bit fresh, twice those of QLC)"),
        "cross_shift": (0.01, half + "1 mV/K is left of the shift of voltages with temperature)"),
        "retry_step": (0.1, "assumed (finer than of QLC)"),
        "retry_steps": (80, "assumed (longer than any page needs after a year at 500 cycles)"),
    }
    constants["erasing"] = worn_faster(10.6, "an endurance of some 500 cycles")
    constants["programming"] |= {
        "loops": (48, "assumed (twice as many as for QLC)"),
        "t_pulse": ("60us", "assumed (so that a program takes 4 ms)"),
        "t_verify": ("23us", "assumed (so that a program takes 4 ms)"),
        "v_step": (0.125, "assumed (half of that of QLC)"),
    }
    return constants


PRESETS: dict[str, Callable[[], tuple[str, Constants]]] = {
    "tlc48": tlc48,
    "tlc48-rif": tlc48_rif,
    "tlc48-reo": tlc48_reo,
    "slc": lambda: ("SLC of fast12 Table 1", planar(1, 5, "8us", "37500ns", 100_000)),
    "tlc2x": lambda: ("2x-nm 2D TLC of electronics25 section 3.1: tlc48-reo, erased in one pulse", tlc2x()),
    "qlc": lambda: ("QLC: 16 states a cell, all assumed", qlc()),
    "plc": lambda: ("PLC: 32 states a cell, all assumed", plc()),
    "mlc": lambda: ("2-bit MLC of fast12 Table 1", planar(2, 15, "24us", "82500ns", 10_000)),
}


def saw(source: str, ids: Sequence[str]) -> list[str]:
    """The claims that a constant was fitted to."""
    patterns = re.findall(r"r[a-z]+\.[\w.*]+", source) if source.startswith("fitted") else []
    return [id for id in ids if any(fnmatch.fnmatchcase(id, pattern) for pattern in patterns)]


def loads(module: Any, function: Any) -> bool:
    """Whether a function of a study loads a chip."""
    names = getattr(getattr(function, "__code__", None), "co_names", ())
    return "load" in names or any(loads(module, getattr(module, name, None)) for name in names)


class Tables(dict[str, Any]):
    """The tables of a study: those of chips measured when they are asked for, others the kept ones."""

    def __init__(self, found: study.Study, module: Any) -> None:
        super().__init__()
        computed = {name: make for name, make in getattr(module, "TABLES", {}).items() if loads(module, make)}
        self._make, self._kept = computed, claims.Tables(found.folder / "results", [*found.sweeps, *module.TABLES])

    def __missing__(self, name: str) -> Any:
        self[name] = self._make[name](None) if name in self._make else self._kept[name]
        return self[name]


def measured(file: Path, ids: Sequence[str]) -> dict[str, float | None]:
    """What the papers' procedures measure of claims on a chip."""
    values = {}
    for found in study.studies():
        module = found._module()
        functions = [each for each in measuring(module) if set(ids) & each.proofs.keys()] if module else []
        if functions:
            module.load = lambda chip, **options: characterize.load(file, **options)
            tables = Tables(found, module)
            values |= {id: each.value for function in functions for id, each in function(tables).items()}
    return values


def report(name: str) -> None:
    """Prints all device claims that the families of a preset saw, and what each fitted constant saw."""
    file = FOLDER / f"{name}.toml"
    every = {claim.id: claim for found in study.studies() for claim in found.claims if claim.kind == "device"}
    constants = characterize.load(file, chips=1, blocks=1).constants
    fitted = {f"{of['section']}.{of['key']}": (of["value"], saw(of["source"], list(every))) for of in constants}
    seen = sorted({id for _, ids in fitted.values() for id in ids})
    now = measured(file, seen)
    print(f"{name}: {len(seen)} claims of devices were seen\n  {'claim':24} {'published':>10} {'accepted':>18} now")
    for id in seen:
        (low, high), value = every[id].accept, now.get(id)
        shown = "not measured" if value is None else f"{value:.5g}{'' if low <= value <= high else '  outside'}"
        print(f"  {id:24} {every[id].published:>10g} {f'{low:g} to {high:g}':>18} {shown}")
    for constant, (value, ids) in fitted.items():
        if ids:
            print(f"  {constant} = {value} saw {', '.join(ids)}")


def main(words: list[str]) -> None:
    names = [word for word in words if word != "--report"] or list(PRESETS)
    for name in names:
        if "--report" not in words:
            about, constants = PRESETS[name]()
            text = toml(about, constants)
            Chip(name, text)
            (FOLDER / f"{name}.toml").write_text(text)
            print(f"wrote {name}.toml")
        report(name)


if __name__ == "__main__":
    main(sys.argv[1:])
