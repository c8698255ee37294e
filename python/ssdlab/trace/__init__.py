"""Block traces: as tables, described, converted and cut."""

from ssdlab.trace.description import info, plot
from ssdlab.trace.generated import generate, of_workload, twins
from ssdlab.trace.reading import Converted, Inspection, Split, convert, inspect, read, split

__all__ = [
    "Converted",
    "Inspection",
    "Split",
    "convert",
    "generate",
    "info",
    "inspect",
    "of_workload",
    "plot",
    "read",
    "split",
    "twins",
]
