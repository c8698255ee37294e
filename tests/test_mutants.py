"""Mistakes in the drive are found out: see mutants.py."""

from __future__ import annotations

import pytest

from mutants import ROOT, SOURCES, Edit, Mutant, MutantError, planted, read, survivors


def source(file: str) -> str:
    return (ROOT / SOURCES / file).read_text()


@pytest.mark.seldom
def test_every_mutant_is_found_out() -> None:
    assert survivors(read()) == []


def test_every_mutant_has_its_place() -> None:
    """What `make check-all` would say of a list that no longer fits the sources, without a build."""
    mutants = read()
    changed = planted(mutants, source)
    assert changed.keys() == {edit.file for mutant in mutants for edit in mutant.edits}
    assert sum("ftl/" in mutant.edits[0].file for mutant in mutants) >= 10
    assert len({mutant.name for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        file = "src" if mutant.target == "lib" else f"tests/{mutant.target}"
        words = mutant.test.split("::")
        of = [word for word in words[:-1] if word != "tests"]
        # Unit tests stand in the file that they try, or beside it.
        places = [ROOT.joinpath("crates/ssd", file, *names).with_suffix(".rs") for names in (of, words[:-1])]
        assert any(f"fn {words[-1]}(" in place.read_text() for place in places if place.is_file()), mutant


def mutant(*edits: Edit) -> Mutant:
    return Mutant("a slip", edits, "writes", "some::test", "")


def test_mutants_are_planted_side_by_side_and_a_text_that_has_changed_is_named() -> None:
    text = "fn f(a: u32) -> u32 {\n    if a\n        > 1 { a } else { 0 }\n}\n"
    slips = [
        mutant(Edit("f.rs", "if «a > 1» {", "a >= 1")),
        mutant(Edit("f.rs", "if «a > 1» {", "true"), Edit("f.rs", "{ «0» }", "1")),
    ]
    assert planted(slips, lambda _: text) == {
        "f.rs": "fn f(a: u32) -> u32 {\n"
        "    if (match crate::mutant() { 1 => { a >= 1 } 2 => { true } _ => { a\n        > 1 } }) "
        "{ a } else { (match crate::mutant() { 2 => { 1 } _ => { 0 } }) }\n}\n"
    }
    for before, problem in (
        ("if «a < 1» {", "'a slip': its text stands 0 times in crates/ssd/src/f.rs, not once"),
        ("«a»", "stands 3 times"),
        ("if a > 1 {", "encloses what is changed"),
    ):
        with pytest.raises(MutantError, match=problem):
            planted([mutant(Edit("f.rs", before, ""))], lambda _: text)
    with pytest.raises(MutantError, match="overlapping"):
        planted([slips[0], mutant(Edit("f.rs", "«if a > 1 {»", ""))], lambda _: text)
