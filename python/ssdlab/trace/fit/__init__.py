"""Generators fitted to traces: a preset of phases that imitates a trace, and how far it does (docs/fit.md).

The preset is a hidden Markov model: phases, each with its mix of requests and of bursts, and of the gaps behind them.
"""

from ssdlab.trace.fit.check import Agreement, Missing, check, missing, twin_of, write
from ssdlab.trace.fit.generator import PHASES, FittedGenerator, fit
from ssdlab.trace.fit.properties import Property, properties

__all__ = [
    "PHASES",
    "Agreement",
    "FittedGenerator",
    "Missing",
    "Property",
    "check",
    "fit",
    "missing",
    "properties",
    "twin_of",
    "write",
]
