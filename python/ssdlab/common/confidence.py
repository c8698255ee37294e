"""Confidence intervals of means, by Student's t distribution, and of shares. Why without a library: decision 13."""

from __future__ import annotations

import math
from collections.abc import Sequence


def mean_and_half_width(values: list[float], level: float = 0.95) -> tuple[float | None, float | None]:
    """The mean, and half the width of its confidence interval; None for what too few values cannot give."""
    count = len(values)
    if count == 0:
        return None, None
    mean = math.fsum(values) / count
    if count == 1:
        return mean, None
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, t_quantile(level, count - 1) * math.sqrt(variance / count)


def wilson(count: int, total: int, level: float = 0.95) -> tuple[float, float]:
    """The confidence interval of the share that ``count`` of ``total`` stand for (Wilson's score interval)."""
    from statistics import NormalDist

    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    share, spread = count / total, z * z / total
    middle = share + spread / 2.0
    half = z * math.sqrt(share * (1.0 - share) / total + spread / total / 4.0)
    # Rounding must not move the ends off 0 and 1.
    low = (middle - half) / (1.0 + spread) if count else 0.0
    return low, (middle + half) / (1.0 + spread) if count < total else 1.0


def t_quantile(level: float, freedom: int) -> float:
    """The t that a Student variable of ``freedom`` degrees exceeds in size with probability 1 - ``level``."""
    low, high = 0.0, 1.0
    while t_probability(high, freedom) < level:
        high *= 2.0
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if t_probability(middle, freedom) < level else (low, middle)
    return (low + high) / 2.0


def t_probability(t: float, freedom: int) -> float:
    """P(\\|T\\| <= t): the finite series for whole degrees of freedom (Abramowitz & Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2 == 1
    term = cosine if odd else 1.0
    total = 0.0
    for k in range(1 if odd else 0, freedom - 1, 2):
        total += term
        term *= cosine * cosine * (k + 1) / (k + 2)
    return 2.0 / math.pi * (angle + sine * total) if odd else sine * total


def mean_text(values: Sequence[float], digits: int = 0) -> str:
    """The mean of values, with the half width of its 95 % confidence interval where ``digits`` show it."""
    mean, half = mean_and_half_width(list(values))
    if mean is None:
        return ""
    text = f"{mean:,.{digits}f}"
    return text if half is None or half < 0.5 * 10**-digits else f"{text} ± {half:,.{digits}f}"
