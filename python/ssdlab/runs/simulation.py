"""Opening a run: the core reads its inputs, and plays nothing yet."""

from __future__ import annotations

from ssdlab._core import InputError, Simulation
from ssdlab.runs.options import Options


def open_simulation(options: Options) -> Simulation:
    """Opens a run.

    Raises:
        InputError: the core refuses it, or a policy cannot be read.
    """
    given = options.for_core()
    given["policies"] = []
    if options.policies is not None:
        from ssdlab.policy.source import load

        given["policies"] = load(options.policies)
    try:
        return Simulation(given.pop("device"), given.pop("workload"), **given)
    except UnicodeEncodeError as error:
        raise InputError(f"{error.object!r}: is not valid UTF-8\n  help: rename the file, or link to it") from None
