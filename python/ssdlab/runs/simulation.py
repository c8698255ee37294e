"""Opening a run."""

from __future__ import annotations

from ssdlab._core import InputError, Simulation
from ssdlab.runs.options import Options


def _open(options: Options) -> Simulation:
    given = options._asdict()
    del given["series_out"]
    given["settings"] = list(options.settings)
    given["merge"] = list(options.merge)
    try:
        return Simulation(given.pop("device"), given.pop("workload"), **given)
    except UnicodeEncodeError as error:
        raise InputError(f"{error.object!r}: is not valid UTF-8\n  help: rename the file, or link to it") from None
