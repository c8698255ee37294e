"""ssdlab: a laboratory for NAND-flash SSDs.

    import ssdlab

    result = ssdlab.run("tlc", "default", requests=50_000)
    result.host.read.latency_ns.p99_99     # [ns]
    result.statistics()                    # a polars DataFrame: name, value, unit, description

Everything is loaded at first use, so that importing the package costs next to nothing.
"""

# What typing would give, without the time that it takes to load.
TYPE_CHECKING = False

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ._core import InputError, SimulationError
    from ._runner import Interrupted, Kept
    from .api import presets, run, schema
    from .cases import sweep
    from .comparison import Comparison, compare
    from .device import Completion, Conditions, Device
    from .result import Result, Runs

__all__ = [
    "Comparison",
    "Completion",
    "Conditions",
    "Device",
    "InputError",
    "Interrupted",
    "Kept",
    "Result",
    "Runs",
    "SimulationError",
    "compare",
    "presets",
    "run",
    "schema",
    "sweep",
]

_HOMES = {
    "Comparison": "comparison",
    "Completion": "device",
    "Conditions": "device",
    "Device": "device",
    "InputError": "_core",
    "Interrupted": "_runner",
    "Kept": "_runner",
    "Result": "result",
    "Runs": "result",
    "SimulationError": "_core",
    "compare": "comparison",
    "presets": "api",
    "run": "api",
    "schema": "api",
    "sweep": "cases",
}


def __getattr__(name: str) -> object:
    """Loads a public name's module at its first use (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'ssdlab' has no attribute {name!r}")
    import importlib

    value = globals()[name] = getattr(importlib.import_module(f"ssdlab.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
