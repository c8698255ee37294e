"""The page of a report: one HTML file with everything in it."""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from string import Template

from ssdlab._core import InputError
from ssdlab.show.report.tables import Json

PAGE = Path(__file__).parent / "assets"


def markdown_html(text: str) -> str:
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
def load_assets() -> dict[str, str]:
    """The libraries, packed: plotly.js, DataTables' script and its style."""
    wanted = {
        "plotly": ("plotly", "package_data/plotly.min.js"),
        "datatables": ("itables", "html/dt_bundle.js"),
        "datatables_style": ("itables", "html/dt_bundle.css"),
    }
    found = {}
    for name, (package, path) in wanted.items():
        spec = find_spec(package)
        roots: Sequence[str] = list(spec.submodule_search_locations or ()) if spec is not None else ()
        file = next((Path(root, path) for root in roots if Path(root, path).is_file()), None)
        if file is None:
            raise _missing(package)
        # Base64 of gzip, which browsers unpack: a page of 2 MB in place of 6.
        found[name] = base64.b64encode(gzip.compress(file.read_bytes(), mtime=0)).decode()
    return found


def page_html(page: Json, assets: dict[str, str]) -> str:
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
