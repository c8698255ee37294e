"""The documentation site: `make docs` builds it. Pages of keys and statistics are written from the program itself."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.pycode import ModuleAnalyzer

import ssdlab

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import every_statistic

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "ssdlab"
author = "the ssdlab authors"
version = release = ssdlab.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["**.ipynb_checkpoints"]

myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 60

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "undoc-members": True}
napoleon_numpy_docstring = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
add_module_names = False

html_theme = "furo"
html_title = f"ssdlab {version}"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
pygments_style = "friendly"
pygments_dark_style = "github-dark"

KEYS = {f"{key.section}.{key.key}" for key in ssdlab.schema()}


def keys() -> str:
    """Every configuration key, as the program tells it."""
    lines = []
    for section, rows in groupby(ssdlab.schema(), key=lambda key: (key.section, key.section_about)):
        lines += [f"## {section[0]}", "", section[1], ""]
        for key in rows:
            accepts = re.sub(r'"([^"]+)"', r'`"\1"`', key.accepts)
            lines += [f"```{{confval}} {key.section}.{key.key}"]
            lines += [f":type: {json.dumps(accepts)}", f":default: {json.dumps(f'`{key.default}`')}"]
            lines += ["", key.about, "```", ""]
    return "\n".join(lines)


def statistics() -> str:
    """Every statistic, from the results of runs that have all of them."""
    rows: dict[str, tuple[str, str]] = {}
    for result in every_statistic.results():
        for name, _, unit, about in result.statistics().iter_rows():
            # A queue stands for all.
            name, about = re.sub(r"queue\.\d+", "queue.N", name), re.sub(r"queue \d+", "queue N", about)
            rows.setdefault(name, (unit, about))

    def group(name: str) -> str:
        words = name.split(".")
        return ".".join(words[:-1][: 3 if words[1] == "queue" else 2])

    parts, groups = list(dict.fromkeys(name.split(".")[0] for name in rows)), list(dict.fromkeys(map(group, rows)))
    ordered = sorted(rows, key=lambda name: (parts.index(name.split(".")[0]), groups.index(group(name))))
    lines = []
    for title, names in groupby(ordered, key=group):
        lines += [f"## {title}", "", "| statistic | unit | |", "|---|---|---|"]
        lines += [f"| `{name}` | {rows[name][0]} | {rows[name][1]} |" for name in names]
        lines.append("")
    return "\n".join(lines)


GENERATED = {"keys": keys, "statistics": statistics}


def write_generated(_: Sphinx, name: str, source: list[str]) -> None:
    """Completes a page that the program writes."""
    if name in GENERATED:
        source[0] += "\n" + GENERATED[name]()


def link_keys(_: Sphinx, page: nodes.document) -> None:
    """A configuration key in the text, alone or with a value (`gc.victim = "fifo"`), leads to its entry."""
    for literal in list(page.findall(nodes.literal)):
        key = literal.astext().split("=")[0].strip()
        if key in KEYS and not isinstance(literal.parent, nodes.reference | pending_xref | nodes.title):
            link = pending_xref("", refdomain="std", reftype="confval", reftarget=key, refexplicit=True, refwarn=True)
            literal.replace_self(link)
            link += literal


def fields(_: Sphinx, what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """The text below a field is text, also where it has a colon (Napoleon would take what is before it for a type)."""
    if what in ("attribute", "property", "data") and lines:
        lines[0] = "" if lines[0].startswith("Alias for field number") else f": {lines[0]}"


def outdated(*_: object) -> Iterable[str]:
    """Pages that the program writes are always written again."""
    return GENERATED


def add_page(app: Sphinx, failure: Exception | None) -> None:
    """The lab in a browser (docs/page.md), where `make page` has built it: a folder of the site, as it is."""
    built = Path(__file__).parent.parent / "target" / "page"
    if failure is None and app.builder.format == "html" and built.is_dir():
        shutil.copytree(built, Path(app.outdir) / "lab", dirs_exist_ok=True)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    # `run` answers with Result or Runs: its overloads would say the same arguments twice.
    api = ModuleAnalyzer.for_module("ssdlab.runs.api")
    api.analyze()
    api.overloads.clear()
    app.connect("source-read", write_generated)
    app.connect("doctree-read", link_keys)
    app.connect("autodoc-process-docstring", fields, priority=400)
    app.connect("env-get-outdated", outdated)
    app.connect("build-finished", add_page)
