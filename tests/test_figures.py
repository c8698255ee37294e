"""The papers' figures: all of them are listed, what is kept is fresh, labels are whole and say what the papers say."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.text import Text

import ssdlab
from ssdlab.show import papers
from ssdlab.study.folder import Study, study
from ssdlab.study.paper import BEGIN, END, figures_of, replaced

PAPERS = {
    "asplos21": [*(f"Fig. {n}" for n in range(1, 16)), "Table 1", "Table 2"],
    "electronics25": [*(f"Fig. {n}" for n in range(1, 27)), *(f"Table {n}" for n in range(1, 5))],
    "fast12": [*(f"Fig. {n}" for n in range(1, 8)), "Table 1", "Table 2"],
    "hpca24": [*(f"Fig. {n}" for n in range(1, 20)), "Table I", "Table II"],
}
"""The numbered figures and tables of each paper."""
MOST_BYTES = 80_000
KEYS = re.compile(rf"(?<![\w-])({'|'.join(sorted({*papers.NAMES} - {'per'}, key=len, reverse=True))})(?![\w-])|^per$")
"""A scheme under its name of the command line; one of them is a word as well."""


@pytest.fixture(scope="module", params=PAPERS)
def one(request: pytest.FixtureRequest) -> Study:
    return study(request.param)


def test_every_figure_and_table_of_a_paper_is_listed_in_its_order(one: Study) -> None:
    assert [shown.label for shown in one.paper] == PAPERS[one.id]


@pytest.mark.drawn
@pytest.mark.slow
def test_kept_figures_and_readmes_are_fresh(one: Study, request: pytest.FixtureRequest) -> None:
    """`ssdlab study figures` would write what is there; the text of an SVG is that of one version of Matplotlib."""
    written = papers.files(one)
    update = bool(request.config.getoption("--update-golden"))
    for path, text in written.items():
        if update:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        kept = path.read_text(encoding="utf-8")
        if path.suffix == ".svg" and f"Matplotlib v{mpl.__version__}," not in kept:
            assert text.count("<text") == kept.count("<text"), path
            continue
        assert kept == text, f"{path}: `ssdlab study figures {one.id}` writes it again"
        assert len(text.encode()) <= MOST_BYTES or path.suffix != ".svg", path
    folder = one.folder / "figures"
    assert sorted(folder.iterdir()) == sorted(path for path in written if path.suffix == ".svg"), "figures of no paper"


@pytest.mark.drawn
@pytest.mark.slow
def test_labels_are_whole_and_schemes_have_the_papers_names(one: Study) -> None:
    drawings = one.figures()
    for shown in one.paper:
        if not shown.drawn:
            continue
        figure = drawings[shown.drawn]
        figure.draw_without_rendering()
        for text in figure.findobj(Text):
            assert isinstance(text, Text)
            # Ticks beyond an axis' ends are not drawn.
            if not text.get_visible() or not text.get_text().strip() or not text.get_window_extent().width:
                continue
            assert not KEYS.search(text.get_text()), f"{shown.label}: {text.get_text()!r}"
        drawn = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        whole = drawn.x0 > -0.02 and drawn.y0 > -0.02 and drawn.x1 < width + 0.02 and drawn.y1 < height + 0.02
        assert whole, f"{shown.label}: labels beyond the figure's edge: {drawn}"


def test_a_list_with_mistakes_says_which(tmp_path: Path) -> None:
    path = tmp_path / "figures.toml"
    row = '[[figures]]\nlabel = "Fig. 1"\nshows = "a"\n'
    for text, said in (
        (f'{row}verdict = "perhaps"\nwhy = "x"\n', "Fig. 1: verdict is one of agrees"),
        (f'{row}verdict = "agrees"\n', "Fig. 1: `why` is missing"),
        (f'{row}verdict = "agrees"\nwhy = "x"\ndrawing = "fig1"\n', "a figure has label, shows, verdict"),
    ):
        path.write_text(text)
        with pytest.raises(ssdlab.InputError, match=re.escape(said)):
            figures_of(tmp_path)


def test_figures_take_their_place_and_no_other() -> None:
    assert replaced(f"before\n{BEGIN}\nold\n{END}\nbehind\n", "new\n") == f"before\n{BEGIN}\nnew\n{END}\nbehind\n"
    assert replaced("no place", "new\n") is None
