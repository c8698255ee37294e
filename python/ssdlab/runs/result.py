"""What a run has found out: typed, frozen, as JSON and as polars tables."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from ssdlab.common.shown import html, text
from ssdlab.runs.findings import Finding, kinds, of_data
from ssdlab.runs.sections import NoSuchKeyError, Section, Settings
from ssdlab.runs.statistics import Energy, Flash, Ftl, Host, Power, Process, Run, Smart, Thermal, Usage

if TYPE_CHECKING:
    import pandas
    import polars

    from ssdlab._core import FinishedRun
    from ssdlab.runs.explain import Explanations
    from ssdlab.runs.options import Options
    from ssdlab.runs.tail import Tail

    Distributions = tuple[list[tuple[int, float]], list[tuple[int, float]]]


_Part = TypeVar("_Part", bound=Section)

_NO_RUN = "this result was kept without its run\n  help: run it again with ssdlab.run"


class Result:
    """The result of one run."""

    __slots__ = ("_data", "_described", "_distributions", "_log", "_options", "_series", "log_path", "log_rows", "note")
    _data: dict[str, Any]
    _described: list[tuple[str, str, str]]
    _distributions: Distributions
    _log: bytes | None
    _options: Options | None
    _series: bytes | None
    note: str | None
    """How the workload was read (a detected trace format)."""
    log_path: str | None
    """Where the request log was written."""
    log_rows: int | None
    """Rows of the request log; None where none was kept."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("results are read-only")

    @classmethod
    def from_core(
        cls,
        finished: FinishedRun,
        log_path: str | None,
        note: str | None,
        process: dict[str, float | int],
        options: Options | None = None,
    ) -> Result:
        """Puts together what the core gives at the end of a run."""
        self = cls()
        data = json.loads(finished["result"])
        data["process"] = process
        log = finished["requests"]
        values = {
            "_data": data,
            "_described": [(of["name"], of["unit"], of["about"]) for of in finished["described"]],
            "_distributions": finished["distributions"],
            "_series": finished["series"],
            "_options": options,
            "_log": log[1] if log and log_path is None else None,
            "log_path": log_path,
            "log_rows": log[0] if log else None,
            "note": note,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        return self

    def explain(self, *requests: int, slowest: int | None = None) -> Explanations:
        """Where the time of ``requests`` (numbers from 0) went, and that of the ``slowest`` others: 10 if nothing is
        asked for. The run is played again."""
        from ssdlab._core import InputError
        from ssdlab.runs.explain import Explanations, explain

        if self._options is None:
            raise InputError(_NO_RUN)
        found = explain(self._options, (0 if requests else 10) if slowest is None else slowest, requests)
        if requests and not found.requests:
            raise InputError(f"request {min(requests)} did not complete\n  help: the run has fewer requests")
        return Explanations(found.requests)

    def tail(self, percentile: float = 99.0) -> Tail:
        """Where the time of all reads beyond a percentile went, beside as many reads around the median. The run is
        played twice again."""
        from ssdlab._core import InputError
        from ssdlab.runs.tail import tail

        if self._options is None:
            raise InputError(_NO_RUN)
        if isinstance(percentile, bool) or not isinstance(percentile, int | float):
            raise InputError(f"percentile is {percentile!r}\n  help: write a number such as 99 or 99.9")
        return tail(self._options, percentile)

    def timeline(self, path: str | os.PathLike[str], *windows: str, slowest: int | None = None) -> int:
        """Writes what every die, plane, channel, ECC engine and host queue did as a trace for the Perfetto UI: in
        ``windows`` such as ``"10ms:12ms"``, around the ``slowest`` so many requests, or all the time if neither is
        given. The run is played again. Returns the file's size [B]."""
        from ssdlab._core import InputError
        from ssdlab.runs.timeline import write

        if self._options is None:
            raise InputError(_NO_RUN)
        return write(self._options, os.fspath(path), windows, slowest)

    def to_payload(self) -> dict[str, Any]:
        """The result without log and time series, as what :meth:`from_payload` takes: JSON, for caches."""
        return {"data": self._data, "described": self._described, "distributions": self._distributions}

    @classmethod
    def from_payload(cls, payload: dict[str, Any], series: bytes | None = None, log_path: str | None = None) -> Result:
        """A result that was kept, and the time series and request log that were written beside it."""
        self = cls()
        distributions = tuple([(int(latency), share) for latency, share in part] for part in payload["distributions"])
        values = {
            "_data": payload["data"],
            "_described": [tuple(line) for line in payload["described"]],
            "_distributions": distributions,
            "_series": series,
            "_log": None,
            "_options": None,
            "log_path": log_path,
            "log_rows": None,
            "note": None,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        return self

    @property
    def manifest(self) -> Settings:
        """What was run: enough to run it again. Holds no time, host or path."""
        return self._part("manifest", Settings)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What puts the numbers in doubt, the gravest first (docs/warnings.md); empty where nothing does."""
        return of_data(self._data)

    @property
    def host(self) -> Host:
        """What the host saw."""
        return self._part("host", Host)

    @property
    def flash(self) -> Flash:
        """What the flash did."""
        return self._part("flash", Flash)

    @property
    def ftl(self) -> Ftl:
        """What the translation layer did."""
        return self._part("ftl", Ftl)

    @property
    def usage(self) -> Usage:
        """Where the time of channels and dies went [%]."""
        return self._part("usage", Usage)

    @property
    def energy(self) -> Energy:
        """What flash, channels and ECC engines used [mJ]."""
        return self._part("energy", Energy)

    @property
    def run(self) -> Run:
        """Events of the simulation."""
        return self._part("run", Run)

    @property
    def power(self) -> Power | None:
        """Power cuts and recoveries, where there were any."""
        return self._part("power", Power) if "power" in self._data else None

    @property
    def smart(self) -> Smart | None:
        """The drive's health, where blocks wear out or fail."""
        return self._part("smart", Smart) if "smart" in self._data else None

    @property
    def thermal(self) -> Thermal | None:
        """The drive's temperature, where it is kept."""
        return self._part("thermal", Thermal) if "thermal" in self._data else None

    @property
    def serve(self) -> Settings | None:
        """How the drive was served to programs (docs/serve.md), where it was."""
        return self._part("serve", Settings) if "serve" in self._data else None

    @property
    def array(self) -> Settings | None:
        """What an array did, and each of its drives (docs/arrays.md); None where the run was on one device."""
        return self._part("array", Settings) if "array" in self._data else None

    @property
    def process(self) -> Process:
        """Wall time [s] and peak resident set [B] of the process that played the run."""
        return self._part("process", Process)

    def _part(self, name: str, kind: type[_Part]) -> _Part:
        return kind(self._data[name])

    def __getitem__(self, key: str) -> Any:
        """``result["host"]["read"]``, or by a statistic's dotted name: ``result["host.read.iops"]``."""
        section, *parts = key.split(".")
        if section not in self._data:
            raise NoSuchKeyError(section, Section(self._data))
        value: Any = getattr(self, section, self._data[section])
        for part in parts:
            if not isinstance(value, Section):
                raise KeyError(f"{key}: {part} stands below one value, or below a list: result.usage.channels[0].idle")
            value = value[part]
        return value

    def __repr__(self) -> str:
        device = self.manifest.device.name
        marked = "".join(f", {finding.id}" for finding in self.warnings)
        return f"<ssdlab.Result: {self.host.all.requests:,} requests on {device}, {self.host.elapsed_s:.3f} s{marked}>"

    def summary(self) -> str:
        """The tables of the command line, as text."""
        return text(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Every statistic (:meth:`statistics`), as a pandas frame (``pip install 'ssdlab[pandas]'``)."""
        from ssdlab.common.frames import to_pandas

        return to_pandas(self.statistics())

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)

    def to_dict(self) -> dict[str, Any]:
        """A copy of the whole result as plain dictionaries and lists."""
        return cast("dict[str, Any]", json.loads(json.dumps(self._data)))

    def to_json(self, process: bool = True) -> str:
        """The result as JSON with a stable order of keys: only the last section, ``process``, differs between two runs.
        It can be left out. :func:`ssdlab.load` reads it."""
        return json.dumps(self.to_saved(process), indent=1) + "\n"

    def to_saved(self, process: bool = True) -> dict[str, Any]:
        """What :meth:`to_json` writes: the result with its latency distributions, which keep a point where the share of
        requests passes a fiftieth of a nine (0.02, 0.04, … of -log10 of the share beyond)."""
        saved = {name: part for name, part in self._data.items() if name != "process"}
        saved["latency_distribution"] = {
            kind: dict(zip(("latency_ns", "share"), map(list, zip(*_thinned(rows), strict=True)), strict=True))
            for kind, rows in zip(("read", "write"), self._distributions, strict=True)
            if rows
        }
        return {**saved, "process": self._data["process"]} if process else saved

    def scalars(self) -> list[tuple[str, float | int | None, str, str]]:
        """Every statistic that is one number: name, value (None: nothing to measure), unit, description."""
        rows = []
        for name, unit, description in self._described:
            value: Any = self._data
            for part in name.split("."):
                value = value[part]
            if not isinstance(value, list):
                rows.append((name, value, unit, description))
        return rows

    def statistics(self) -> polars.DataFrame:
        """Every statistic: name, value (f64; null where there was nothing to measure), unit, description."""
        import polars

        rows = [(name, None if v is None else float(v), unit, about) for name, v, unit, about in self.scalars()]
        schema = {"name": polars.String, "value": polars.Float64, "unit": polars.String, "description": polars.String}
        return polars.DataFrame(rows, schema=schema, orient="row")

    @property
    def requests(self) -> polars.DataFrame:
        """One row a request, in order of completion: request, queue, op (0 read, 1 write, 2 trim, 3 flush, and those of
        zones: docs/formats.md), offset [B], bytes, arrival_ns, finish_ns, latency_ns, hint (i64). Requests that do not
        count are included, those of the warm-up and those of a load that settles (``host.settled_requests``): their
        numbers are below the sum of both. Where a steady state was reached (``host.steady.reached``), requests count
        of these that completed later than ``host.steady.from_ns`` and not later than ``host.steady.to_ns``.

        Raises :class:`ssdlab.InputError` where the run kept no log.
        """
        import polars

        if self._log is not None:
            return polars.read_parquet(self._log)
        if self.log_path is not None:
            return polars.read_parquet(self.log_path)
        from ssdlab._core import InputError

        raise InputError("this run kept no request log\n  help: run with keep_requests=True or requests_out=...")

    @property
    def has_series(self) -> bool:
        """Whether :attr:`series` is there."""
        return self._series is not None

    @property
    def series(self) -> polars.DataFrame:
        """The time series, at most 2,048 rows: time_ns, reads, writes, read_bytes, write_bytes, outstanding,
        buffered_pages, die_busy, channel_busy, and more (docs/formats.md). Warm-up included."""
        import polars

        if self._series is None:
            from ssdlab._core import InputError

            raise InputError(
                "this result was kept without its time series\n  help: run the case by itself, or give the file of "
                "--series-out: ssdlab.load(path, series=...)"
            )
        return polars.read_parquet(self._series)

    def latency_distribution(self, kind: Literal["read", "write"]) -> polars.DataFrame:
        """The cumulative distribution: latency_ns (i64) and share of the requests that do not exceed it (f64)."""
        import polars

        if kind not in ("read", "write"):
            from ssdlab._core import InputError

            raise InputError(f'kind is {kind!r}\n  help: write "read" or "write"')
        rows = self._distributions[0 if kind == "read" else 1]
        return polars.DataFrame(rows, schema={"latency_ns": polars.Int64, "share": polars.Float64}, orient="row")


def _thinned(rows: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """A distribution with a point where it passes a fiftieth of a nine, its first and its last."""
    kept, passed = [], -1
    for latency, share in rows[:-1]:
        at = int(-50.0 * math.log10(1.0 - share)) if share < 1.0 else passed
        if at > passed:
            kept.append((latency, share))
            passed = at
    return [*kept, *rows[-1:]]


class Runs:
    """The results of repeated runs that differ in their seed only, in the seeds' order."""

    __slots__ = ("findings", "peak_rss_bytes", "results", "wall_s")
    results: tuple[Result, ...]
    wall_s: float
    peak_rss_bytes: int
    findings: tuple[Finding, ...]
    """What is said of the repeats as a whole: ``interrupted``, where not all have been played."""

    def __init__(
        self, results: tuple[Result, ...], wall_s: float, peak_rss_bytes: int, findings: tuple[Finding, ...] = ()
    ) -> None:
        object.__setattr__(self, "results", results)
        object.__setattr__(self, "wall_s", wall_s)
        object.__setattr__(self, "peak_rss_bytes", peak_rss_bytes)
        object.__setattr__(self, "findings", findings)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("results are read-only")

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __getitem__(self, index: int) -> Result:
        return self.results[index]

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What puts the numbers of any repeat in doubt: each kind once, as the first repeat that has it says it."""
        found = {finding.id: finding for result in reversed(self.results) for finding in reversed(result.warnings)}
        found |= {finding.id: finding for finding in self.findings}
        return tuple(found[kind.id] for kind in kinds() if kind.id in found)

    def to_pandas(self) -> pandas.DataFrame:
        """Every statistic with its interval (:meth:`summary`), as a pandas frame (``pip install 'ssdlab[pandas]'``)."""
        from ssdlab.common.frames import to_pandas

        return to_pandas(self.summary())

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)

    def intervals(self) -> list[tuple[str, float | None, float | None, str, str]]:
        """Every statistic that any repeat has: name, mean of the repeats, half width of its 95 % confidence interval
        (Student's t), unit, description. Repeats in which there was nothing to measure are left out, and so are those
        that lack the statistic: those without a trim have no ``host.trim``."""
        from ssdlab.common.confidence import mean_and_half_width

        found: dict[str, tuple[list[float], str, str]] = {}
        for result in self.results:
            for name, value, unit, description in result.scalars():
                values, _, _ = found.setdefault(name, ([], unit, description))
                if value is not None:
                    values.append(float(value))
        return [
            (name, *mean_and_half_width(values), unit, description)
            for name, (values, unit, description) in found.items()
        ]

    def summary(self) -> polars.DataFrame:
        """Every statistic: name, mean, ci95 (half width of the 95 % confidence interval, Student's t; null for fewer
        than two values), unit, description."""
        import polars

        kinds = {"name": polars.String, "mean": polars.Float64, "ci95": polars.Float64}
        schema = {**kinds, "unit": polars.String, "description": polars.String}
        return polars.DataFrame(self.intervals(), schema=schema, orient="row")

    def to_dict(self) -> dict[str, Any]:
        """``manifest`` (with ``seeds`` in place of ``seed``), ``repeats`` (a result each, without ``process``),
        ``summary`` (a statistic's place in a result holds its mean and ci95), ``run`` and ``process``; ``warnings``
        where not all repeats have been played."""
        manifest = self.results[0].manifest.to_dict()
        del manifest["seed"]
        summary: dict[str, Any] = {}
        for name, mean, ci95, _, _ in self.intervals():
            *sections, key = name.split(".")
            level = summary
            for section in sections:
                level = level.setdefault(section, {})
            level[key] = {"mean": mean, "ci95": ci95}
        repeats = [result.to_dict() for result in self.results]
        for repeat in repeats:
            del repeat["process"]
        return {
            "manifest": {**manifest, "seeds": [result.manifest.seed for result in self.results]},
            **(
                {"warnings": [{**of._asdict(), "numbers": dict(of.numbers)} for of in self.findings]}
                if self.findings
                else {}
            ),
            "repeats": repeats,
            "summary": summary,
            "run": {"events": sum(result.run.events for result in self.results)},
            "process": {"wall_s": self.wall_s, "peak_rss_bytes": self.peak_rss_bytes},
        }

    def to_json(self) -> str:
        """The results as JSON with a stable order of keys; only ``process``, the last section, differs between two
        runs. :func:`ssdlab.load` reads it."""
        repeats = [result.to_saved(process=False) for result in self.results]
        return json.dumps({**self.to_dict(), "repeats": repeats}, indent=1) + "\n"
