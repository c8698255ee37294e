"""Reports: a folder of results as one HTML file that needs no network, with charts and tables to work with.

What a folder may be, and what is shown of it:

- a study's folder, or a folder of a study's tables (``results/STUDY``): claims, text, figures, tables;
- results of ``ssdlab run --json`` (also with ``--repeat``, also those of ``ssdlab sweep --files``), with their
  ``--requests-out`` and ``--series-out``: latencies, time series, where time went, manifest;
- tables of ``ssdlab sweep --out`` and of other commands: charts by metric, axis and group.

The page is ``page/page.html``: Python collects the data, ``page/page.js`` shows them with plotly.js and DataTables,
which the packages ``plotly`` and ``itables`` bring.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import math
import os
import shlex
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from . import __version__
from ._core import RESULTS_VERSION, InputError
from .api import _word
from .output import check_outputs, write
from .reproduce import Reproducer, flat

if TYPE_CHECKING:
    import polars

    from .study import Study

Json = dict[str, Any]

PAGE = Path(__file__).parent / "page"

REQUESTS = {"request", "op", "arrival_ns", "finish_ns", "latency_ns"}
SERIES = {"time_ns", "reads", "writes", "outstanding", "die_busy"}
"""The columns by which a request log and a time series are known."""

INTERVALS, IN_AN_INTERVAL = 300, 400
"""Intervals of the chart of latency over time, at most, and how many requests an interval should have on average."""

FEW = 10
"""A percentile beyond which fewer samples lie is not drawn; values of a fraction that make an axis."""


def report(
    folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, study: str | None = None
) -> tuple[Path, list[str]]:
    """Writes the report of a folder.

    Args:
        folder: what to report on (see the module's text).
        out: the HTML file; ``report.html`` in the folder if not given.
        study: whose tables the folder holds, where its name does not tell.

    Returns:
        The file, and notes on what was passed over.

    Raises:
        InputError: nothing in the folder is known, or plotly or itables are missing.
    """
    place = Path(folder)
    if not place.is_dir():
        what = "it is a file" if place.exists() else "there is no such folder"
        raise InputError(f"{place}: {what}\n  help: give the folder of a study, of results (JSON) or of sweeps' tables")
    target = Path(out) if out is not None else place / "report.html"
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{target}: a report is HTML\n  help: write to a .html file")
    check_outputs({"--out": str(target)}, ())
    assets = _assets()
    page, notes = collect(place, study)
    if out is not None:
        page["commands"][-1]["command"] += f" --out {shlex.quote(str(out))}"
    write(target, _html(page, assets).encode())
    return target, notes


def collect(folder: Path, study: str | None = None) -> tuple[Json, list[str]]:
    """What the page shows of a folder, as JSON; notes on what was passed over."""
    page: Json = {
        "title": folder.resolve().name,
        "about": "",
        "ssdlab": __version__,
        "results_version": RESULTS_VERSION,
        "commands": [],
        "claims": [],
        "text": "",
        "figures": [],
        "tables": [],
        "runs": [],
        "statistics": _described(),
        "t95": _t_quantiles(),
    }
    found = _study_of(folder, study)
    notes: list[str] = []
    if found is not None:
        notes += _collect_study(page, folder, found)
    else:
        notes += _collect_files(page, folder)
    command = ["ssdlab", "report", str(folder), *(["--study", study] if study is not None else [])]
    page["commands"].append({"about": "writes this page", "command": shlex.join(command), "note": ""})
    page["notes"] = notes
    return page, notes


def _study_of(folder: Path, name: str | None) -> Study | None:
    """The study that a folder belongs to."""
    from .study import Study, home, studies
    from .study import study as named

    if name is not None:
        return named(name)
    if (folder / "claims.toml").is_file():
        return Study(folder)
    try:
        home()
    except InputError:
        return None
    for found in studies():
        if found.id == folder.resolve().name and any((folder / f"{table}.csv").is_file() for table in found.sweeps):
            return found
    return None


def _collect_study(page: Json, folder: Path, study: Study) -> list[str]:
    from .cases import read_csv

    own = folder.resolve() == study.folder.resolve()
    results = study.folder / "results" if own else folder
    notes = []
    page["title"], page["about"] = study.id, study.about
    page["claims"] = [
        {
            **{name: getattr(verdict.claim, name) for name in ("id", "kind", "where", "says", "unit", "published")},
            "accept": list(verdict.claim.accept),
            "measured": _finite(verdict.measured.value),
            "ci": _finite(verdict.measured.ci95),
            "passed": verdict.passed,
            "proves": verdict.proves,
            "proof": "" if verdict.proof is None else str(verdict.proof),
            "note": verdict.measured.note,
        }
        for verdict in study.verdicts(results)
    ]
    page["conditions"] = study.conditions
    readme = study.folder / "README.md"
    if readme.is_file():
        page["text"] = _markdown(readme.read_text(encoding="utf-8"))
    elsewhere = "" if own else f" --results {shlex.quote(str(folder))}"
    page["commands"] += [
        {"about": "plays what is missing and writes the tables", "command": f"ssdlab study run {study.id}{elsewhere}"},
        {"about": "the claims", "command": f"ssdlab study claims {study.id}{elsewhere}"},
    ]
    if own:
        page["commands"].insert(
            1,
            {
                "about": "compares some cases with the tables, exactly",
                "command": f"ssdlab study run {study.id} --quick",
            },
        )
    for path in sorted(results.glob("*.csv")) if results.is_dir() else ():
        name = path.stem
        source = study.sweeps.get(name)
        page["tables"].append(
            _table(
                name,
                read_csv(path),
                path.name,
                command=f"ssdlab sweep {shlex.quote(str(source))} --out {name}.csv" if source else "",
                source=source,
            )
        )
    page["tables"].sort(key=lambda table: (not table["source"], table["name"] != "systems", table["name"]))
    if page["tables"]:
        figures, note = _figures(study, results)
        page["figures"] = figures
        notes += note
    return notes


def _figures(study: Study, results: Path) -> tuple[list[Json], list[str]]:
    """The study's figures as SVG."""
    import io

    try:
        import matplotlib as mpl
    except ImportError:
        return [], ['the study\'s figures are left out: they need matplotlib (pip install "ssdlab[plot]")']
    if any(not (results / f"{name}.csv").is_file() for name in [*study.sweeps, *study.computed]):
        return [], ["the study's figures are left out: not all of its tables are here"]
    drawn = []
    with mpl.rc_context({"svg.hashsalt": "ssdlab"}):
        for name, figure in study.figures(results).items():
            buffer = io.StringIO()
            figure.savefig(buffer, format="svg", metadata={"Date": None})
            drawn.append({"name": name, "svg": buffer.getvalue()})
    return drawn, []


def _collect_files(page: Json, folder: Path) -> list[str]:
    """Results, logs and tables that lie in a folder."""
    from .cases import read_csv

    notes, results, tables = [], {}, {}
    logs: dict[str, dict[str, polars.DataFrame]] = {"requests": {}, "series": {}}
    for path in sorted(folder.iterdir()):
        ending = path.suffix.lower()
        if not path.is_file() or ending not in (".json", ".csv", ".parquet"):
            continue
        try:
            if ending == ".json":
                data = _read_json(path)
                if isinstance(data, dict):
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
    if not results and not tables:
        seen = f"\n  note: {notes[0]}" if notes else ""
        raise InputError(
            f"{folder}: there is nothing to report on{seen}\n  help: it must hold results (`ssdlab run --json "
            f"{folder}/result.json`) or tables (`ssdlab sweep FILE --out {folder}/table.csv`), or be a study's folder"
        )
    for name, data in results.items():
        notes += _add_runs(page, name, data)
    notes += _add_logs(page, logs)
    _add_commands(page, results, folder)
    sources = _sources(folder)
    if len(page["runs"]) > 1:
        table, decided = _table_of_runs(page["runs"])
        page["tables"].append(_table("runs", table, "the results of this folder", decided=decided))
        for run in page["runs"]:
            del run["statistics"]
    for name, table in tables.items():
        axes = tuple(table.columns[: table.columns.index("case")]) if "case" in table.columns else None
        source = sources.get(axes) if axes is not None else None
        command = f"ssdlab sweep {shlex.quote(str(source))} --out {shlex.quote(str(folder / name))}" if source else ""
        page["tables"].append(_table(name, table, name, command=command, source=source))
        page["tables"][-1]["cases"] = _kept_cases(table, folder) if axes is not None else []
        if command:
            page["commands"].append({"about": f"the table {name}", "command": command, "note": ""})
    _share_manifests(page["runs"])
    return notes


def _kept_cases(table: polars.DataFrame, folder: Path) -> list[Json]:
    """Manifest and command of the cases of a sweep's table whose results are kept, here or in ``results/cache``."""
    from .cache import Cache

    finder = Reproducer((".", folder))
    found = []
    kept = [Cache(place) for place in (folder / "cache", Path("results/cache")) if place.is_dir()]
    for row, case in enumerate(table["case"].to_list()):
        for place in kept:
            payload = place.find(str(case))
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
    from .cases import Sweep

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
                    "statistics": {
                        key: _finite(value)
                        for section in ("host", "flash", "ftl", "usage", "energy")
                        for key, value in flat(part.get(section, {}), f"{section}.").items()
                        if not isinstance(value, list) and not isinstance(value, str)
                    },
                    "usage": {of: part["usage"][of] for of in ("channels", "dies")},
                }
            )
    except (KeyError, TypeError, AttributeError) as error:
        return [f"{name}.json was passed over: as a result it lacks {error}"]
    return []


def _title(result: Json) -> str:
    manifest = result["manifest"]
    scheme = f", {manifest['scheme']}" if manifest["scheme"] else ""
    return f"{manifest['device']['name']}{scheme}: {_workload(manifest['workload'])}, {manifest['replay']}"


def _workload(work: Json) -> str:
    if "phases" in work:
        return f"{sum(name.startswith('phase.') for name in work['phases'])} phases"
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
                fits[0]["series"] = _columns(table)
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
    if manifest["until_steady"] is None:
        log = log.filter(polars.col("request") >= manifest["warmup"])
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
        kind: _columns(
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
    most = max(0.0, min(6.0, math.log10(count / FEW)))
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


DERIVED = ("ssdlab", "device.capacity_bytes", "device.cells.", "device.rpt", "device.code")
"""What follows from other parts of a manifest."""


def _table_of_runs(runs: list[Json]) -> tuple[polars.DataFrame, list[str]]:
    """Runs as the table of a sweep: what of their manifests differs are the axes. Also the columns that an axis before
    them decides, as ``scheme`` decides ``read.pipeline``: they are no axes of their own."""
    import polars

    manifests = [flat(run["manifest"]) for run in runs]
    columns: dict[str, list[Any]] = {
        "device": [manifest["device.name"] for manifest in manifests],
        "scheme": [manifest["scheme"] for manifest in manifests],
        "workload": [run["workload"] for run in runs],
    }
    for key in dict.fromkeys(key for manifest in manifests for key in manifest if not key.startswith(DERIVED)):
        short = key.removeprefix("device.config.").removeprefix("workload.generator.")
        columns.setdefault(short, [manifest.get(key) for manifest in manifests])
    columns.pop("device.name", None)

    axes: dict[str, Sequence[str | int | float]] = {}
    decided: list[str] = []
    for name, found in columns.items():
        plain = [value if type(value) in (int, float, str) else _word(value) for value in found]
        values = plain if all(type(value) in (int, float) for value in plain) else [str(value) for value in plain]
        if len(set(values)) == 1:
            continue
        deciding = (of for axis, of in axes.items() if axis not in decided)
        if any(len(set(zip(of, values, strict=True))) == len(set(of)) for of in deciding):
            decided.append(name)
        axes[name] = values
    frame = [polars.Series(name, values, strict=False) for name, values in axes.items()]
    frame.append(polars.Series("case", [run["name"] for run in runs]))
    for key in dict.fromkeys(key for run in runs for key in run["statistics"]):
        numbers = [run["statistics"].get(key) for run in runs]
        frame.append(polars.Series(key, numbers, dtype=polars.Float64, strict=False))
    return polars.DataFrame(frame), decided


def _table(
    name: str,
    table: polars.DataFrame,
    file: str,
    *,
    command: str = "",
    source: Path | None = None,
    decided: Sequence[str] = (),
) -> Json:
    """A table by columns. In that of a sweep the axes stand before ``case``; elsewhere texts, and the first columns
    as far as they look like axes."""
    from itertools import takewhile

    swept = "case" in table.columns
    if swept:
        axes = table.columns[: table.columns.index("case")]
    else:
        first = set(takewhile(lambda column: _like_axis(table[column]), table.columns))
        axes = [column for column in table.columns if column in first or not table[column].dtype.is_numeric()]
    columns = []
    for column in table.columns:
        role = "axis" if column in axes else "key" if column == "case" else "statistic"
        if column in decided:
            role = "decided"
        columns.append({"name": column, "role": role, **_values(table[column])})
    text = source.read_text(encoding="utf-8") if source is not None else ""
    about = ""
    if source is not None:
        from .cases import Sweep

        about = Sweep.read(source).about
    return {
        "name": name,
        "file": file,
        "about": about,
        "rows": table.height,
        "swept": swept,
        "columns": columns,
        "command": command,
        "source": text,
        "cases": [],
    }


def _like_axis(column: polars.Series) -> bool:
    """Whether a column holds texts, or numbers that come again: whole ones, or few."""
    if not column.dtype.is_numeric():
        return True
    found = column.drop_nulls().unique().cast(float)
    return found.len() * 2 <= column.len() and (found.len() <= FEW or bool((found % 1 == 0).all()))


def _values(column: polars.Series) -> Json:
    """A column's values, once only where all are the same."""
    numeric = column.dtype.is_numeric()
    values = [_finite(value) for value in column] if numeric else [None if v is None else str(v) for v in column]
    if len(values) > 1 and all(value == values[0] for value in values):
        return {"numeric": numeric, "all": values[0]}
    return {"numeric": numeric, "values": values}


def _columns(table: polars.DataFrame) -> Json:
    return {name: [_finite(value) for value in table[name]] for name in table.columns}


def _finite(value: Any) -> Any:
    """A number as JSON can hold it: whole ones without a fraction, none in place of what is not finite."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def _described() -> dict[str, list[str]]:
    """Unit and description of each statistic, as a run tells them."""
    from .api import run

    return {name: [unit, about] for name, _, unit, about in run(requests=1).scalars() if not name.startswith("run.")}


def _t_quantiles() -> list[float]:
    """Student's t of 95 % by degrees of freedom, from 1."""
    from .confidence import t_quantile

    return [round(t_quantile(0.95, freedom), 6) for freedom in range(1, 41)]


def _markdown(text: str) -> str:
    """Markdown as HTML; tags in it are shown, not obeyed, and nothing is loaded."""
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise _missing("markdown-it-py") from None
    rendered: str = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image").render(text)
    return rendered


def _missing(package: str) -> InputError:
    return InputError(f'reports need {package}\n  help: pip install "ssdlab[report]"')


@cache
def _assets() -> dict[str, str]:
    """The libraries, packed: plotly.js, DataTables' script and its style."""
    wanted = {
        "plotly": ("plotly", "package_data/plotly.min.js"),
        "datatables": ("itables", "html/dt_bundle.js"),
        "datatables_style": ("itables", "html/dt_bundle.css"),
    }
    found = {}
    for name, (package, path) in wanted.items():
        spec = find_spec(package)
        places: Sequence[str] = list(spec.submodule_search_locations or ()) if spec is not None else ()
        file = next((Path(place, path) for place in places if Path(place, path).is_file()), None)
        if file is None:
            raise _missing(package)
        # Base64 of gzip, which browsers unpack: a page of 2 MB in place of 6.
        found[name] = base64.b64encode(gzip.compress(file.read_bytes(), mtime=0)).decode()
    return found


def _html(page: Json, assets: dict[str, str]) -> str:
    data = json.dumps(page, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Nothing in the data can end the script element or begin a comment in it.
    for character in "<>&\u2028\u2029":
        data = data.replace(character, f"\\u{ord(character):04x}")
    return Template((PAGE / "page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(page["title"]),
        style=(PAGE / "page.css").read_text(encoding="utf-8"),
        script=(PAGE / "page.js").read_text(encoding="utf-8"),
        data=data,
        **assets,
    )
