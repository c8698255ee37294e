"""The QC-LDPC code of hpca24 over raw bit error rates: frame errors, iterations, and read-retry prediction by syndrome
weight.

A word is a codeword with errors: 36,864 bits, 4 KiB of them data. Words are numbered, and a word's errors follow from
(seed, RBER, number) alone: counts depend neither on threads nor on where a simulation was cut.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from ssdlab._core import ECC_ITERATIONS, InputError, ecc_expected_weight, ecc_rearranged_differs, ecc_simulate
from ssdlab.chip.characterize import CAPABILITY_RBER
from ssdlab.common.confidence import wilson
from ssdlab.common.machine import cpus
from ssdlab.common.output import write

if TYPE_CHECKING:
    import polars

__all__ = ["ecc_rearranged_differs", "expected_weight", "rates", "simulate", "weights"]

ShareListener = Callable[[str, float], None]
"""Called with what is simulated, and the share that is done."""
Errors = Literal["exact", "independent"]
"""Exactly RBER x 36,864 errors a word, as hpca24 section IV-B generates its test pages, or every bit by itself."""
Schedule = Literal["flooding", "layered"]
Soft = Literal["none", "2-bit", "3-bit"]
"""How finely pages are sensed: bits a cell. Soft words have independent errors."""

COUNTS = (
    "words",
    "failures",
    "miscorrected",
    "predicted",
    "predicted_failures",
    *(f"it_{number}" for number in range(ECC_ITERATIONS + 1)),
)
"""What adds up over words."""
COLUMNS = (
    *("rber", "errors", "soft", "schedule", "seed", "threshold"),
    *COUNTS,
    *("fer", "fer_low", "fer_high", "iterations", "accuracy"),
)
BATCH = 2000
"""Words between two looks at what was counted: Ctrl-C loses this many at most, and a point ends at a multiple of it."""
MOST_RATES = 10_000


class _Settings(NamedTuple):
    """What all points of a table share."""

    errors: str
    soft: str
    schedule: str
    seed: int
    threshold: int


def rates(text: str) -> tuple[float, ...]:
    """The rates of ``0.0085``, ``0.004,0.0085`` or ``0.004:0.012:0.0005`` (from, to, step; both ends belong to it).
    Decimals are exact: no rounded sums."""
    from decimal import Decimal

    found: list[float] = []
    try:
        for part in text.split(","):
            first, *rest = map(Decimal, part.split(":"))
            last, step = rest or (first, Decimal(1))
            steps = int((last - first) / step)
            if not (Decimal("1e-9") <= first <= last <= Decimal("0.5") and step > 0 and steps < MOST_RATES):
                raise ValueError(part)
            found += [float(first + step * number) for number in range(steps + 1)]
    except (ArithmeticError, ValueError):
        raise InputError(
            f"{text} is not accepted: write a rate from 1e-9 to 0.5, several with commas, or from:to:step"
        ) from None
    return tuple(found)


def expected_weight(rber: float, pruned: bool = True) -> float:
    """The expected syndrome weight at an RBER: of the 1024 pruned syndromes, or of all 4096."""
    return ecc_expected_weight(rber, pruned)


def simulate(
    rber: Sequence[float],
    *,
    words: int,
    failures: int | None = None,
    errors: Errors = "exact",
    soft: Soft = "none",
    schedule: Schedule = "flooding",
    threshold: int | None = None,
    seed: int = 1,
    threads: int | None = None,
    progress: ShareListener | None = None,
    out: str | os.PathLike[str] | None = None,
) -> polars.DataFrame:
    """Decodes ``words`` words at each RBER, or as many as it takes for ``failures`` of them to fail (whole batches of
    2,000): a row an RBER with

    - rber, errors, soft, schedule, seed, threshold: what was simulated;
    - words; failures: those not decoded to what was stored; miscorrected: those decoded to another codeword;
    - predicted: words whose pruned syndrome weight is above ``threshold`` (hpca24's rho_s; by default the one
      expected at its capability, RBER 0.0085); predicted_failures: those of them that failed;
    - it_0, …, it_20: words by iterations, failed ones among them;
    - fer, fer_low, fer_high: frame-error rate and its 95 % interval (Wilson); iterations: their mean; accuracy: the
      share of words whose failure or success was predicted.

    With ``out``, a CSV file, the table is kept there after every batch, and what it holds already is not simulated
    again; other points of the file are in the result too.
    """
    if threshold is None:
        threshold = round(expected_weight(CAPABILITY_RBER))
    if soft != "none" and errors == "exact":
        raise InputError(
            f"errors: exact with soft {soft}: how far a cell is off is drawn cell by cell\n"
            "  help: take independent errors (--errors independent)"
        )
    settings = _Settings(errors, soft, schedule, seed, threshold)
    asked = sorted(set(rber))
    if not asked or words < 1:
        raise InputError(f"{len(asked)} rates, {words} words: nothing is asked for\n  help: give one or more of each")
    for rate in asked:
        expected_weight(rate)  # refuses what is no rate
    points = {} if out is None else _kept(out, settings)
    for index, rate in enumerate(asked):
        counts = points.get(rate, [0] * len(COUNTS))
        while counts[0] < words and not (failures and counts[1] >= failures):
            if progress is not None:
                progress(f"RBER {rate:g}", (index + counts[0] / words) / len(asked))
            first = counts[0]
            last = min(words, first - first % BATCH + BATCH)
            done = ecc_simulate(rate, first, last, errors, schedule, seed, threads or cpus(), soft)
            above = done["pruned"][threshold + 1 :]
            predicted = (sum(map(sum, above)), sum(lost for _, lost in above))
            found = (done["words"], done["failures"], done["miscorrected"], *predicted, *done["by_iterations"])
            counts = points[rate] = [a + b for a, b in zip(counts, found, strict=True)]
            if out is not None:
                _keep(out, _frame(points, settings))
    return _frame(points, settings)


def weights(
    rber: float,
    words: int,
    *,
    pruned: bool = True,
    errors: Errors = "exact",
    schedule: Schedule = "flooding",
    seed: int = 1,
    threads: int | None = None,
    progress: ShareListener | None = None,
) -> polars.DataFrame:
    """The weights of the pruned syndromes, or of all, of the same words as :func:`simulate`'s: weight, words, failures
    (those of the words that were not decoded). Weights without words have no row."""
    import polars

    sums: dict[int, tuple[int, int]] = {}
    for first in range(0, words, BATCH):
        if progress is not None:
            progress(f"RBER {rber:g}", first / words)
        last = min(words, first + BATCH)
        done = ecc_simulate(rber, first, last, errors, schedule, seed, threads or cpus())
        for weight, (decoded, failed) in enumerate(done["pruned"] if pruned else done["all"]):
            if decoded or failed:
                before = sums.get(weight, (0, 0))
                sums[weight] = (before[0] + decoded + failed, before[1] + failed)
    rows = [(weight, *sums[weight]) for weight in sorted(sums)]
    return polars.DataFrame(rows, schema=dict.fromkeys(("weight", "words", "failures"), polars.Int64), orient="row")


def _frame(points: dict[float, list[int]], settings: _Settings) -> polars.DataFrame:
    import polars

    rows = []
    for rate in sorted(points):
        words, failures, _, predicted, predicted_failures, *by_iterations = counts = points[rate]
        right = predicted_failures + (words - predicted) - (failures - predicted_failures)
        iterations = sum(number * count for number, count in enumerate(by_iterations))
        shares = (failures / words, *wilson(failures, words), iterations / words, right / words)
        rows.append((rate, *settings, *counts, *shares))
    kinds = {"rber": polars.Float64, **dict.fromkeys(("errors", "soft", "schedule"), polars.String)}
    kinds |= dict.fromkeys(("seed", "threshold", *COUNTS), polars.Int64)
    return polars.DataFrame(rows, schema={name: kinds.get(name, polars.Float64) for name in COLUMNS}, orient="row")


def _kept(path: str | os.PathLike[str], settings: _Settings) -> dict[float, list[int]]:
    """The counts that a file holds, by RBER. Rates come back bit for bit: their streams of errors hang on them."""
    remedy = "give another file (--out), or remove this one"
    try:
        with open(path, encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file) if os.path.getsize(path) else ([],)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read: {error}\n  help: {remedy}") from None
    if tuple(header) != COLUMNS:
        raise InputError(f"{path}: is no table of ssdlab ecc simulate\n  help: {remedy}")
    points = {}
    for line, row in enumerate(rows, 2):
        for name, value, wanted in zip(_Settings._fields, row[1:], settings, strict=False):
            if value != str(wanted):
                raise InputError(f"{path}: is of other settings: {name} {value}, not {wanted}\n  help: {remedy}")
        try:
            counts = [int(value) for value in row[6 : 6 + len(COUNTS)]]
            if len(row) != len(COLUMNS) or not counts[0] == sum(counts[5:]) >= max(1, counts[1]):
                raise ValueError(line)
            points[float(row[0])] = counts
        except ValueError:
            raise InputError(f"{path}:{line}: is damaged\n  help: remove the line, or the file") from None
    return points


def _keep(path: str | os.PathLike[str], table: polars.DataFrame) -> None:
    """Writes a table in place of the one before: whole, or not at all."""
    write(path, table.write_csv().encode())
