"""Reports: what a folder of results, or a study, shows."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from ssdlab._core import RESULTS_VERSION, InputError
from ssdlab._version import __version__
from ssdlab.common.output import check_outputs, write
from ssdlab.common.wording import cause_words
from ssdlab.runs.findings import kinds
from ssdlab.show.report.page import load_assets, markdown_html, page_html
from ssdlab.show.report.runs import collect_files, title_of
from ssdlab.show.report.tables import (
    Json,
    described_statistics,
    finite_values,
    statistics_in_words,
    student_quantiles,
    table_data,
)

if TYPE_CHECKING:
    from ssdlab.study.folder import Study


def report(
    folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, study: str | None = None
) -> tuple[Path, list[str]]:
    """Writes the report of a folder.

    Args:
        folder: what to report on (see the module's text).
        out: the HTML file; ``report.html`` in the folder if not given.
        study: whose tables the folder holds, where its name does not show it.

    Returns:
        The file, and notes on what was passed over.

    Raises:
        InputError: nothing in the folder is known, or plotly or itables are missing.
    """
    root = Path(folder)
    if not root.is_dir():
        what = "it is a file" if root.exists() else "there is no such folder"
        raise InputError(f"{root}: {what}\n  help: give the folder of a study, of results (JSON) or of sweeps' tables")
    target = Path(out) if out is not None else root / "report.html"
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{target}: a report is HTML\n  help: write to a .html file")
    check_outputs({"--out": str(target)}, ())
    assets = load_assets()
    page, notes = collect(root, study)
    if out is not None:
        page["commands"][-1]["command"] += f" --out {shlex.quote(str(out))}"
    write(target, page_html(page, assets).encode())
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
        "search": None,
        "warnings": {kind.id: {"meaning": kind.meaning, "excludes": kind.excludes} for kind in kinds()},
        "statistics": (described := described_statistics()),
        "words": statistics_in_words(described),
        "causes": {"hold": cause_words("hold")},
        "t95": student_quantiles(),
    }
    found = _study_of(folder, study)
    notes: list[str] = []
    if found is not None:
        notes += _collect_study(page, folder, found)
    else:
        notes += collect_files(page, folder)
        page["title"] = title_of(page["runs"]) or (page["search"] or {}).get("name") or page["title"]
    command = ["ssdlab", "report", str(folder), *(["--study", study] if study is not None else [])]
    page["commands"].append({"about": "writes this page", "command": shlex.join(command), "note": ""})
    page["notes"] = notes
    return page, notes


def _study_of(folder: Path, name: str | None) -> Study | None:
    """The study that a folder belongs to."""
    from ssdlab.study.folder import Study, home, studies
    from ssdlab.study.folder import study as named

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
    from ssdlab.common.frames import read_csv

    own = folder.resolve() == study.folder.resolve()
    results = study.folder / "results" if own else folder
    notes = []
    page["title"], page["about"] = study.id, study.about
    page["claims"] = [
        {
            **{name: getattr(verdict.claim, name) for name in ("id", "kind", "where", "says", "unit", "published")},
            "accept": list(verdict.claim.accept),
            "measured": finite_values(verdict.measured.value),
            "ci": finite_values(verdict.measured.ci95),
            "passed": verdict.passed,
            "proves": verdict.proves,
            "proof": verdict.basis,
            "half": verdict.half,
            "note": verdict.measured.note,
            "why": "" if verdict.reason is None else verdict.reason.why,
        }
        for verdict in study.verdicts(results)
    ]
    page["conditions"] = study.conditions
    readme = study.folder / "README.md"
    if readme.is_file():
        page["text"] = markdown_html(readme.read_text(encoding="utf-8"))
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
            table_data(
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
