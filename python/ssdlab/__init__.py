"""ssdlab: a laboratory for NAND-flash SSDs.

    import ssdlab

    result = ssdlab.run("tlc", "default", requests=50_000)
    result.host.read.latency_ns.p99_99     # [ns]
    result.statistics()                    # a polars DataFrame: name, value, unit, description

Everything is loaded at first use, so that importing the package costs next to nothing.
"""

from ssdlab._version import __version__

# What typing would give, without the time that it takes to load.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from ssdlab import plot, policy, study, trace
    from ssdlab._core import InputError, SimulationError
    from ssdlab.common.frames import to_pandas
    from ssdlab.lives.fleet import Fleet, fleet
    from ssdlab.lives.life import Life, life
    from ssdlab.runs.api import run
    from ssdlab.runs.bounds import bounds
    from ssdlab.runs.catalogue import presets, schema
    from ssdlab.runs.device import Array, Completion, Conditions, Device
    from ssdlab.runs.findings import Finding
    from ssdlab.runs.kept import Interrupted, Kept
    from ssdlab.runs.media import Media, MediaCompletion, MediaShape
    from ssdlab.runs.result import Result, Runs
    from ssdlab.runs.saved import load
    from ssdlab.searches.campaign import SearchResult, search
    from ssdlab.sweeps.campaign import sweep
    from ssdlab.sweeps.comparison import Comparison, compare
    from ssdlab.sweeps.curve import Curve, curve
    from ssdlab.sweeps.merging import merge
    from ssdlab.sweeps.surface import Tier
    from ssdlab.sweeps.tier import tier

__all__ = [
    "Array",
    "Comparison",
    "Completion",
    "Conditions",
    "Curve",
    "Device",
    "Finding",
    "Fleet",
    "InputError",
    "Interrupted",
    "Kept",
    "Life",
    "Media",
    "MediaCompletion",
    "MediaShape",
    "Result",
    "Runs",
    "SearchResult",
    "SimulationError",
    "Tier",
    "__version__",
    "bounds",
    "compare",
    "curve",
    "fleet",
    "life",
    "load",
    "merge",
    "plot",
    "policy",
    "presets",
    "run",
    "schema",
    "search",
    "study",
    "sweep",
    "tier",
    "to_pandas",
    "trace",
]

_HOMES = {
    "Array": "runs.device",
    "Comparison": "sweeps.comparison",
    "Completion": "runs.device",
    "Conditions": "runs.device",
    "Curve": "sweeps.curve",
    "Device": "runs.device",
    "Finding": "runs.findings",
    "Fleet": "lives.fleet",
    "InputError": "_core",
    "Interrupted": "runs.kept",
    "Kept": "runs.kept",
    "Life": "lives.life",
    "Media": "runs.media",
    "MediaCompletion": "runs.media",
    "MediaShape": "runs.media",
    "Result": "runs.result",
    "Runs": "runs.result",
    "SearchResult": "searches.campaign",
    "SimulationError": "_core",
    "Tier": "sweeps.surface",
    "bounds": "runs.bounds",
    "compare": "sweeps.comparison",
    "curve": "sweeps.curve",
    "fleet": "lives.fleet",
    "life": "lives.life",
    "load": "runs.saved",
    "merge": "sweeps.merging",
    "plot": "plot",
    "policy": "policy",
    "presets": "runs.catalogue",
    "run": "runs.api",
    "schema": "runs.catalogue",
    "search": "searches.campaign",
    "study": "study",
    "sweep": "sweeps.campaign",
    "tier": "sweeps.tier",
    "to_pandas": "common.frames",
    "trace": "trace",
}


def __getattr__(name: str) -> object:
    """Loads a public name's module at its first use (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'ssdlab' has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f"ssdlab.{home}")
    value = globals()[name] = module if home == name else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
