"""Hidden Markov chains: which phase a workload was in when it did what it did.

The chain is found by expectation maximization (L. E. Baum, T. Petrie, G. Soules, N. Weiss, Annals of Mathematical
Statistics 41(1), 1970); its phases are then drawn by their probabilities given all that was seen.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ssdlab._core import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]
    RealArray = NDArray[np.float64]

LACKING = "a fit needs numpy and scikit-learn\n  help: pip install 'ssdlab[fit]'"
WINDOW, MOST = 256, 60_000
"""Symbols of a window of the search, and of all its windows. Fitted, as are the constants of
:mod:`ssdlab.trace.fit`."""


def numpy() -> Any:
    """The package, or what to install."""
    try:
        import numpy
    except ModuleNotFoundError:
        raise InputError(LACKING) from None
    return numpy


def path(symbols: IntArray, phases: int, seed: int) -> IntArray:
    """The phase of every symbol, counted from 0, which is the one met most; phases that are never met are left out.

    Args:
        symbols: what was seen, one after the other: shape (n,), numbers from 0.
        phases: how many phases there may be.
        seed: of the search, and of the draws.
    """
    np = numpy()
    first, steps, mix = _search(symbols, phases, seed)
    by_symbol, random = np.ascontiguousarray(mix.T), np.random.default_rng(seed)
    odds = np.empty((len(symbols), len(steps)))
    row = first * by_symbol[symbols[0]]
    for at, symbol in enumerate(symbols.tolist()):
        if at:
            row = (row @ steps) * by_symbol[symbol]
        row = row / row.sum()
        odds[at] = row
    # Backwards, each phase given the one after it.
    found, draws, onward = np.empty(len(symbols), np.int64), random.random(len(symbols)), np.ascontiguousarray(steps.T)
    row = odds[-1]
    for at in range(len(symbols) - 1, -1, -1):
        sums = row.cumsum()
        found[at] = min(int(np.searchsorted(sums, draws[at] * sums[-1], side="right")), len(sums) - 1)
        row = odds[at - 1] * onward[found[at]]
    order = np.argsort(-np.bincount(found, minlength=phases), kind="stable")
    number = np.empty(phases, np.int64)
    number[order] = np.arange(phases)
    ranked: IntArray = number[found]
    return ranked


def _search(symbols: IntArray, phases: int, seed: int) -> tuple[RealArray, RealArray, RealArray]:
    """The phases at the start, the steps between them and what they emit, as shares."""
    np = numpy()
    random = np.random.default_rng(seed)
    n, kinds = len(symbols), int(symbols.max()) + 1
    length = min(WINDOW, n)
    windows = symbols[: n // length * length].reshape(-1, length)
    some = len(windows)
    if some * length > MOST:
        some = MOST // length
    chosen = windows[np.sort(random.choice(len(windows), some, replace=False))]
    share = np.bincount(symbols, minlength=kinds) / n
    # Begun as a chain of the symbols themselves, the frequent ones several times over.
    own = np.argsort(-share)[:phases]
    while len(own) < phases:
        own = np.append(own, np.argmax(share / (1 + np.bincount(own, minlength=kinds))))
    pairs = np.zeros((kinds, kinds))
    np.add.at(pairs, (symbols[:-1], symbols[1:]), 1)
    pairs = (pairs + share) / (pairs.sum(1, keepdims=True) + 1)
    steps = pairs[own][:, own] * random.uniform(0.5, 1.5, (phases, phases)) + 1e-4
    steps /= steps.sum(1, keepdims=True)
    mix = 0.1 * share + 0.9 * (own[:, None] == np.arange(kinds))
    mix *= random.uniform(0.8, 1.2, mix.shape)
    mix /= mix.sum(1, keepdims=True)
    first = np.full(phases, 1 / phases)
    before = -math.inf
    for turn in range(80):
        there, moves, first, likely = _expect(chosen, first, steps, mix)
        flat = chosen.T.ravel()
        mix = np.stack([np.bincount(flat, weights=there[:, p], minlength=kinds) for p in range(phases)])
        mix = mix + 1e-3 * share
        mix /= mix.sum(1, keepdims=True)
        steps = moves + 1e-9
        steps /= steps.sum(1, keepdims=True)
        if turn > 40 and likely - before < 2e-5:
            break
        before = likely
    return first, steps, mix


def _expect(
    windows: IntArray, first: RealArray, steps: RealArray, mix: RealArray
) -> tuple[RealArray, RealArray, RealArray, float]:
    """For every request of every window (in order of position, then window) the probabilities of the phases, expected
    steps between them, the phases at the start, and the mean log likelihood of a request."""
    np = numpy()
    across = windows.T
    length, count, phases = len(across), len(windows), len(steps)
    odds, scale = np.empty((length, count, phases)), np.empty((length, count))
    by_symbol = np.ascontiguousarray(mix.T)
    row = first * by_symbol[across[0]]
    for at in range(length):
        if at:
            row = (row @ steps) * by_symbol[across[at]]
        scale[at] = row.sum(1)
        row = row / scale[at][:, None]
        odds[at] = row
    moves, back = np.zeros((phases, phases)), np.ones((count, phases))
    for at in range(length - 1, -1, -1):
        here = odds[at] * back
        here /= here.sum(1, keepdims=True)
        if at:
            ahead = by_symbol[across[at]] * back / scale[at][:, None]
            moves += odds[at - 1].T @ ahead
            back = ahead @ steps.T
        odds[at] = here
    first = 0.5 * first + 0.5 * np.maximum(odds[0].mean(0), 1e-6)
    return odds.reshape(-1, phases), moves * steps, first / first.sum(), float(np.log(scale).mean())
