"""Results that were saved as JSON, read again."""

from __future__ import annotations

import json
import os
from typing import Any

from ssdlab._core import InputError
from ssdlab.runs.findings import of_data
from ssdlab.runs.options import PathLike
from ssdlab.runs.result import Result, Runs

Json = dict[str, Any]


def load(path: PathLike, *, series: PathLike | None = None, requests: PathLike | None = None) -> Result | Runs:
    """Reads a result that ``ssdlab run --json`` or ``ssdlab.run(json_out=...)`` wrote.

    Args:
        path: the JSON file.
        series: the file of ``--series-out`` of the same run, for :attr:`Result.series`.
        requests: the file of ``--requests-out`` of the same run, for :attr:`Result.requests`.

    Returns:
        A :class:`Result`, or :class:`Runs` where the file holds repeats. Latency distributions are as
        :meth:`Result.to_saved` keeps them. What plays the run again (``explain``, ``timeline``) is refused.

    Raises:
        InputError: the file cannot be read or holds no result.
    """
    name = os.fspath(path)
    data = _read(name)
    try:
        if "repeats" not in data:
            return _result(data, series, requests)
        if series is not None or requests is not None:
            raise InputError(
                f"{name}: holds repeats, each with files of its own\n  help: leave out series and requests"
            )
        process = data["process"]
        results = tuple(_result({**part, "process": process}, None, None) for part in data["repeats"])
        return Runs(results, process["wall_s"], process["peak_rss_bytes"], of_data(data))
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name}: as a result it lacks {error}\n  help: {_REMEDY}") from None


_REMEDY = "give a file that `ssdlab run --json FILE` wrote"


def _read(name: str) -> Json:
    try:
        with open(name, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}\n  help: {_REMEDY}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: is not JSON: {error}\n  help: {_REMEDY}") from None
    if not isinstance(data, dict) or "manifest" not in data or not {"host", "repeats"} & data.keys():
        raise InputError(f"{name}: holds no result of a run\n  help: {_REMEDY}")
    return data


def _result(data: Json, series: PathLike | None, requests: PathLike | None) -> Result:
    distributions = data.pop("latency_distribution", {})
    rows = [
        list(zip(of["latency_ns"], of["share"], strict=True)) if (of := distributions.get(kind)) else []
        for kind in ("read", "write")
    ]
    payload = {"data": data, "described": _described(data), "distributions": rows}
    log = None if requests is None else os.fspath(requests)
    if series is None:
        return Result.from_payload(payload, None, log)
    try:
        with open(series, "rb") as file:
            return Result.from_payload(payload, file.read(), log)
    except OSError as error:
        help = "help: give the file of --series-out"
        raise InputError(f"{os.fspath(series)}: cannot be read: {error.strerror}\n  {help}") from None


def _described(data: Json) -> list[tuple[str, str, str]]:
    """Name, unit and description of the statistics of a result: those that a request to the same drive reports. What
    that has not, such as the statistics of a further queue, stands without."""
    from ssdlab.runs.api import run
    from ssdlab.runs.options import value_text
    from ssdlab.runs.reproduce import flat

    config = flat(data["manifest"]["device"]["config"])
    try:
        settings = [f"{key}={value_text(value)}" for key, value in config.items()]
        probe = run(settings=settings, requests=1)
    except InputError:
        # Of a drive with files that are not here, or of another release.
        probe = run(requests=1)
    assert isinstance(probe, Result), "Invariant: one run gives one result"
    known = {name: (unit, about) for name, _, unit, about in probe.scalars()}
    sections = {name: part for name, part in data.items() if name not in ("manifest", "warnings", "run", "process")}
    own = [name for name, value in flat(sections).items() if value is None or isinstance(value, int | float)]
    ordered = [name for name in known if name in own] + [name for name in own if name not in known]
    return [(name, *known.get(name, ("", ""))) for name in ordered]
