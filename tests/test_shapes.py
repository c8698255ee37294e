"""Shapes of the papers' figures: declared once, looked at in the tables, and in the way of a search."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import ssdlab
from ssdlab.study.folder import Study, studies, study
from ssdlab.study.shapes import read, rises


def test_every_shape_of_a_study_is_looked_at() -> None:
    told = {found.id: found.shapes() for found in studies()}
    assert {id: len(part) for id, part in told.items() if part} == {
        "asplos21": 4,
        "electronics25": 5,
        "fast12": 3,
        "hpca24": 5,
        "products": 2,
    }
    for part in told.values():
        for each in part:
            assert each.seen is not None, each.shape.id
            assert re.search(r"\d", each.seen.what), f"{each.shape.id}: the numbers that decide it"


def test_a_line_rises() -> None:
    assert rises([1, 1, 2])
    assert not rises([1, 2, 1.9])


@pytest.fixture
def rif(tmp_path: Path) -> Path:
    folder = tmp_path / "hpca24"
    shutil.copytree(study("hpca24").folder, folder, ignore=shutil.ignore_patterns("figures", "__pycache__"))
    return folder


def test_a_shape_is_lost_with_what_it_shows(rif: Path) -> None:
    """Each shape that holds fails where the rows of RiF and of SENC change places."""
    held = {told.shape.id for told in Study(rif).shapes() if told.seen and told.seen.holds}
    for name in ("systems", "tails"):
        path = rif / "results" / f"{name}.csv"
        text = re.sub(r"^rif,", "other,", path.read_text(), flags=re.MULTILINE)
        path.write_text(
            re.sub(r"^other,", "senc,", re.sub(r"^senc,", "rif,", text, flags=re.MULTILINE), flags=re.MULTILINE)
        )
    lost = {told.shape.id for told in Study(rif).shapes() if told.seen and not told.seen.holds}
    assert held & lost == held - {"rif.shape.eccwait"}, "of RPSSD and SWR"


def test_what_is_wrong_is_named(rif: Path) -> None:
    path = rif / "shapes.toml"
    text = path.read_text()
    for wrong, said in (
        (text.replace('where = "VI-B, Fig. 17"\n', ""), r"shapes\.toml: .*where.*a shape has id, where, says"),
        (text.replace("rif.shape.uncor", "rif.shape.cor"), r"rif\.shape\.cor: twice"),
        (
            text.replace("rif.shape.uncor", "rif.shape.other"),
            r"rif\.shape\.other, rif\.shape\.uncor\n.*SHAPES of study\.py",
        ),
    ):
        path.write_text(wrong)
        with pytest.raises(ssdlab.InputError, match=rf"(?s){said}"):
            Study(rif).shapes()
    path.unlink()
    assert read(rif) == []
