"""Results and logs in a folder, as data of a report."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from ssdlab._core import InputError
from ssdlab.runs.counted import Counted
from ssdlab.runs.findings import of_data
from ssdlab.runs.reproduce import Reproducer, flat
from ssdlab.searches.campaign import KIND
from ssdlab.show.report.tables import Json, finite_values, table_columns, table_data, table_of_runs

if TYPE_CHECKING:
    import polars


REQUESTS = {"request", "op", "arrival_ns", "finish_ns", "latency_ns"}
SERIES = {"time_ns", "reads", "writes", "outstanding", "die_busy"}
"""The columns by which a request log and a time series are known."""
INTERVALS, IN_AN_INTERVAL = 300, 400
"""Intervals of the chart of latency over time, at most, and how many requests an interval should have on average."""
LEAST_BEYOND = 10
"""A percentile beyond which fewer samples lie is not drawn."""


def collect_files(page: Json, folder: Path) -> list[str]:
    """Results, logs and tables that lie in a folder."""
    from ssdlab.common.frames import read_csv

    notes, results, tables = [], {}, {}
    logs: dict[str, dict[str, polars.DataFrame]] = {"requests": {}, "series": {}}
    for path in sorted(folder.iterdir()):
        ending = path.suffix.lower()
        if not path.is_file() or ending not in (".json", ".csv", ".parquet"):
            continue
        try:
            if ending == ".json":
                data = _read_json(path)
                if isinstance(data, dict) and data.get("kind") == KIND:
                    page["search"], page["about"] = data, data["about"]
                elif isinstance(data, dict):
                    results[path.stem] = data
                else:
                    tables[path.name] = data
                continue
            table = read_csv(path)
        except InputError as error:
            notes.append(str(error).splitlines()[0])
            continue
        if set(table.columns) >= REQUESTS:
            logs["requests"][path.name] = table
        elif set(table.columns) >= SERIES:
            logs["series"][path.name] = table
        else:
            tables[path.name] = table
    if not results and not tables and page["search"] is None:
        seen = f"\n  note: {notes[0]}" if notes else ""
        raise InputError(
            f"{folder}: there is nothing to report on{seen}\n  help: it must hold results (`ssdlab run --json "
            f"{folder}/result.json`) or tables (`ssdlab sweep FILE --out {folder}/table.csv`, "
            f"`ssdlab search FILE --out {folder}`), or be a study's folder"
        )
    for name, data in results.items():
        notes += _add_runs(page, name, data)
    notes += _add_logs(page, logs)
    _add_commands(page, results, folder)
    sources = _sources(folder)
    if len(page["runs"]) > 1:
        table, decided = table_of_runs(page["runs"])
        page["tables"].append(table_data("runs", table, "the results of this folder", decided=decided))
        for run in page["runs"]:
            del run["statistics"]
    for name, table in tables.items():
        axes = tuple(table.columns[: table.columns.index("case")]) if "case" in table.columns else None
        source = sources.get(axes) if axes is not None else None
        command = f"ssdlab sweep {shlex.quote(str(source))} --out {shlex.quote(str(folder / name))}" if source else ""
        page["tables"].append(table_data(name, table, name, command=command, source=source))
        page["tables"][-1]["cases"] = _kept_cases(table, folder) if axes is not None else []
        if command:
            page["commands"].append({"about": f"the table {name}", "command": command, "note": ""})
    _share_manifests(page["runs"])
    return notes


def _kept_cases(table: polars.DataFrame, folder: Path) -> list[Json]:
    """Manifest and command of the cases of a sweep's table whose results are kept, here or in ``results/cache``."""
    from ssdlab.sweeps.cache import Cache

    finder = Reproducer((".", folder))
    found = []
    kept = [Cache(path) for path in (folder / "cache", Path("results/cache")) if path.is_dir()]
    for row, case in enumerate(table["case"].to_list()):
        for cache in kept:
            payload = cache.find(str(case))
            if payload is None:
                continue
            manifest = payload["data"]["manifest"]
            found.append({"row": row, "manifest": manifest, "command": _command(finder, manifest)})
            break
    _share_manifests(found)
    return found


def _command(finder: Reproducer, manifest: Json) -> Json:
    try:
        command = finder.command_of(manifest)
    except (KeyError, TypeError, AttributeError):
        return {"command": "", "exact": False, "note": "the manifest lacks what today's have"}
    return {"command": command.text, "exact": command.exact, "note": command.note}


def _read_json(path: Path) -> Json | polars.DataFrame:
    """A result, or a table."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path.name} was passed over: {error}") from None
    if isinstance(data, dict) and data.get("kind") == KIND:
        return data
    if isinstance(data, dict) and isinstance(data.get("manifest"), dict) and ("host" in data or "repeats" in data):
        return data
    if isinstance(data, list) and data and all(isinstance(row, dict) for row in data):
        values = [value for row in data for value in row.values()]
        if not any(isinstance(value, list | dict) for value in values):
            import polars

            return polars.DataFrame(data, infer_schema_length=None, strict=False)
    raise InputError(f"{path.name} was passed over: it is neither a result of `ssdlab run --json` nor a table")


def _sources(folder: Path) -> dict[tuple[str, ...], Path]:
    """Sweep files in the folder by the axes of their tables; where two have the same axes, none."""
    from ssdlab.sweeps.spec import Sweep

    found: dict[tuple[str, ...], list[Path]] = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            found.setdefault(tuple(Sweep.read(path).axes), []).append(path)
        except InputError:
            continue
    return {axes: paths[0] for axes, paths in found.items() if axes and len(paths) == 1}


def _add_runs(page: Json, name: str, data: Json) -> list[str]:
    """The runs of a result; a repeated run has one for each seed."""
    try:
        for part in data.get("repeats", [data]):
            seed = part["manifest"]["seed"]
            page["runs"].append(
                {
                    "file": name,
                    "name": f"{name}, seed {seed}" if "repeats" in data else name,
                    "seed": seed,
                    "repeated": "repeats" in data,
                    "logs": {},
                    "title": _title(part),
                    "workload": _workload(part["manifest"]["workload"]),
                    "manifest": part["manifest"],
                    "warnings": [{"id": of.id, "text": of.text, "remedy": of.remedy} for of in of_data(part)],
                    "statistics": {
                        key: finite_values(value)
                        for section in ("host", "flash", "ftl", "usage", "energy")
                        for key, value in flat(part.get(section, {}), f"{section}.").items()
                        if not isinstance(value, list) and not isinstance(value, str)
                    },
                    "usage": {of: part["usage"][of] for of in ("channels", "dies")},
                    **_saved_distributions(part),
                }
            )
    except (KeyError, TypeError, AttributeError) as error:
        return [f"{name}.json was passed over: as a result it lacks {error}"]
    return []


def _saved_distributions(result: Json) -> Json:
    """The latency distributions that a result holds, as far as ten requests lie beyond."""
    found = {}
    for kind, points in result.get("latency_distribution", {}).items():
        count = result["host"][kind]["requests"]
        known = [
            (latency, share)
            for latency, share in zip(points["latency_ns"], points["share"], strict=True)
            if (1.0 - share) * count >= LEAST_BEYOND - 1e-6
        ]
        if known:
            nines = [-math.log10(1.0 - share) for _, share in known]
            found[kind] = {"nines": nines, "latency_ns": [latency for latency, _ in known], "requests": count}
    return {"cdf": found} if found else {}


def _title(result: Json) -> str:
    manifest = result["manifest"]
    scheme = f", {manifest['scheme']}" if manifest["scheme"] else ""
    return f"{manifest['device']['name']}{scheme}: {_workload(manifest['workload'])}, {manifest['replay']}"


def title_of(runs: list[Json]) -> str:
    """The runs of a folder in a line: that of the run where all agree, else their devices and schemes."""
    titles = list(dict.fromkeys(run["title"] for run in runs))
    if len(titles) <= 1:
        return "".join(titles)
    heads = list(dict.fromkeys(title.partition(": ")[0] for title in titles))
    rest = list(dict.fromkeys(title.partition(": ")[2] for title in titles))
    more = f" and {len(heads) - 3} more" if len(heads) > 3 else ""
    return f"{'; '.join(heads[:3])}{more}: {rest[0] if len(rest) == 1 else f'{len(rest)} workloads'}"


def _workload(work: Json) -> str:
    if "phases" in work:
        return f"{sum(name.startswith('phase.') for name in work['phases'])} phases"
    if "driver" in work:
        return f"requests from {work['driver']}"
    if "kv" in work:
        return f"KV cache, {work.get('prompts', 'generated prompts')}"
    if "log_fs" in work:
        return (
            f"log-structured file system, {work['log_fs']['active_logs']} logs, {work['log_fs']['cleaning']} cleaning"
        )
    parts = {"": work["generator"]} if "generator" in work else work.get("jobs", {})
    jobs = [f"{f'{name}: ' if name else ''}{job['rw']} {job['bs']}" for name, job in parts.items()]
    traces = [str(part["trace"]) for part in work.get("traces", [work]) if "trace" in part]
    return " + ".join([*jobs, *traces])


def _add_logs(page: Json, logs: dict[str, dict[str, polars.DataFrame]]) -> list[str]:
    """Gives request logs and time series to their runs: those whose name theirs begins with, or the lone run. A request
    log that does not hold as many requests as its result counts belongs to another run, and is passed over."""
    notes = []
    for kind, tables in logs.items():
        alone = len({run["file"] for run in page["runs"]}) == 1
        for name, table in tables.items():
            fits = [run for run in page["runs"] if _belongs(name, run, alone)]
            fits = [run for run in fits if len(run["file"]) == max(len(fit["file"]) for fit in fits)]
            problem = ""
            if len(fits) != 1:
                problem = "name it as its result is called: NAME.json, NAME.requests.parquet, NAME.series.parquet"
            elif kind in fits[0]["logs"]:
                problem = f"{fits[0]['logs'][kind]} is taken already"
            elif kind == "series":
                fits[0]["series"] = table_columns(table)
            else:
                problem = _add_requests(fits[0], table)
            if not problem:
                fits[0]["logs"][kind] = name
            else:
                notes.append(f"{name} was passed over: {problem}")
    return notes


def _belongs(name: str, run: Json, alone: bool) -> bool:
    """Whether a log is that of a run, by its name; a result that is ``alone`` asks for no name but for its seed."""
    seeded = not run["repeated"] or f".seed{run['seed']}." in name
    rest = name.removeprefix(run["file"])
    # Of several runs the log of m.2.json is m.requests.2.parquet.
    stem, _, number = run["file"].rpartition(".")
    numbered = number.isdecimal() and name.startswith(f"{stem}.") and f".{number}." in name.removeprefix(stem)
    return seeded and (alone or numbered or (len(rest) < len(name) and not rest[0].isalnum()))


def _add_requests(run: Json, log: polars.DataFrame) -> str:
    """Latency distributions and latency over time, of the requests that the statistics count; why not, if so."""
    import polars

    manifest, statistics = run["manifest"], run["statistics"]
    steady = {key: statistics.get(f"host.steady.{key}") for key in ("reached", "from_ns", "to_ns")}
    host = {"settled_requests": statistics.get("host.settled_requests"), "steady": steady}
    try:
        log = Counted.of(manifest["warmup"], host).requests(log)
    except InputError as error:
        return str(error).splitlines()[0]
    if log.height != statistics["host.all.requests"]:
        return f"it has {log.height:,} requests, and {run['file']}.json {statistics['host.all.requests']:,}"
    mean = statistics["host.all.latency_ns.mean"]
    if log.height and not math.isclose(float(log["latency_ns"].mean()), mean, rel_tol=1e-6):  # type: ignore[arg-type]
        return f"its latencies are not those of {run['file']}.json"
    kinds = {"read": log.filter(op=0), "write": log.filter(op=1)}
    run["cdf"] = {kind: _distribution(part["latency_ns"]) for kind, part in kinds.items() if part.height}
    first, last = log["arrival_ns"].min(), log["arrival_ns"].max()
    assert isinstance(first, int)
    assert isinstance(last, int)
    intervals = min(INTERVALS, max(1, log.height // IN_AN_INTERVAL))
    step = -(-(last - first + 1) // intervals)
    run["over_time"] = {
        kind: table_columns(
            part.group_by(((polars.col("arrival_ns") - first) // step).alias("interval"))
            .agg(
                polars.col("latency_ns").median().alias("p50"),
                polars.col("latency_ns").quantile(0.99, "higher").alias("p99"),
                polars.col("latency_ns").max().alias("max"),
            )
            .sort("interval")
            .select((first + (polars.col("interval") + 0.5) * step).alias("time_ns"), "p50", "p99", "max")
        )
        for kind, part in kinds.items()
        if part.height
    }
    return ""


def _distribution(latencies: polars.Series) -> Json:
    """Latencies by how many nines of the requests do not exceed them; ends where ten samples lie beyond."""
    count = latencies.len()
    ordered = latencies.sort()
    most = max(0.0, min(6.0, math.log10(count / LEAST_BEYOND)))
    nines = [index / 50 for index in range(math.floor(most * 50) + 1)]
    ranks = [max(1, math.ceil(count * (1.0 - 10.0**-of))) for of in nines]
    return {"nines": nines, "latency_ns": [int(ordered[rank - 1]) for rank in ranks], "requests": count}


def _add_commands(page: Json, results: dict[str, Json], folder: Path) -> None:
    """Each run's command, and that of the whole where the runs are repeats of one."""
    finder = Reproducer((".", folder))
    for run in page["runs"]:
        run["command"] = _command(finder, run["manifest"])
    for name, data in results.items():
        own = [run for run in page["runs"] if run["file"] == name]
        if "repeats" in data and own:
            found = finder.command_of(own[0]["manifest"], len(own))
            about = f"{name}.json: {len(own)} repeats"
        elif own and len(results) == 1:
            found, about = finder.command_of(own[0]["manifest"]), f"{name}.json"
        else:
            continue
        text = f"{found.text} --json {shlex.quote(f'{name}.json')}"
        page["commands"].append({"about": about, "command": text, "exact": found.exact, "note": found.note})


def _share_manifests(runs: list[Json]) -> None:
    """Flattens the manifests, and keeps of every one but the first what differs: thousands fit into a page."""
    first = flat(runs[0]["manifest"]) if runs else {}
    for index, run in enumerate(runs):
        mine = flat(run["manifest"])
        run["manifest"] = (
            mine
            if index == 0
            else {
                **{key: value for key, value in mine.items() if key not in first or first[key] != value},
                **dict.fromkeys((key for key in first if key not in mine), None),
            }
        )
