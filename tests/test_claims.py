"""What claims prove: a predicted one moves with its mechanism, a fitted one names constants that exist."""

from __future__ import annotations

import fnmatch
import re
import shutil
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest

import ssdlab
from ssdlab import study
from ssdlab.chip.characterize import load
from ssdlab.study.claims import HALVES, KINDS, Constant, Fitted, Predicted, Verdict
from ssdlab.study.folder import Study, measuring
from ssdlab.study.levers import Bench

ROOT = Path(__file__).parent.parent
STUDIES = study.studies()
PAPERS = ("asplos21", "electronics25", "fast12", "hpca24")
"""The four whose systems the project is about."""
CHIPS = {"asplos21": "tlc48", "hpca24": "tlc48-rif", "electronics25": "tlc48-reo"}


@cache
def verdicts(id: str) -> list[Verdict]:
    return study.study(id).verdicts()


@cache
def bench(id: str) -> Bench:
    """One a study: what one function's levers play others need not play again."""
    return Bench(study.study(id))


FUNCTIONS = [
    (found.id, function.__name__)
    for found in STUDIES
    for function in measuring(found._module() or pytest.fail(found.id))
    if any(isinstance(proof, Predicted) and proof.levers for proof in function.proofs.values())
]


def is_quick(claim: study.Claim) -> bool:
    """Whether every run of the tests pulls a lever: not those of systems, which play many drives, nor those of a code,
    which decode thousands of words (`make check-all`)."""
    return claim.kind != "system" and not claim.id.startswith(("rif.ldpc.", "rif.rp."))


@pytest.mark.drawn
@pytest.mark.parametrize(("id", "function"), FUNCTIONS)
@pytest.mark.slow
def test_a_predicted_claim_moves_with_its_mechanism(id: str, function: str, request: pytest.FixtureRequest) -> None:
    claims = {claim.id: claim for claim in study.study(id).claims}
    every = request.config.getoption("--all-claims")
    moved = list(bench(id).moves(lambda claim, lever: every or is_quick(claims[claim]), function))
    assert moved or not every
    assert [str(each) for each in moved if not each.enough] == []


@pytest.mark.drawn
@pytest.mark.slow
def test_only_what_is_not_measured_has_no_lever() -> None:
    bare = [
        verdict.claim.id
        for found in STUDIES
        for verdict in verdicts(found.id)
        if isinstance(verdict.proof, Predicted) and not verdict.proof.levers
    ]
    assert bare == ["flow.progressive"]
    every = [verdict for found in STUDIES for verdict in verdicts(found.id)]
    assert all(verdict.measured.value is None for verdict in every if verdict.claim.id in bare)


def exists(constant: Constant) -> bool:
    path = ROOT / constant.file
    if not path.is_file():
        return False
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        values = [tomllib.loads(text)]
        for part in constant.name.split("."):
            values = [
                below
                for value in values
                if isinstance(value, dict)
                for name, below in value.items()
                if fnmatch.fnmatchcase(name, part)
            ]
        return bool(values) and not any(isinstance(value, dict) for value in values)
    start = rf"{constant.name} = " if path.suffix == ".py" else rf"\s*(pub(\(super\))? )?const {constant.name}\b"
    return re.search(rf"^{start}", text, re.MULTILINE) is not None


def test_fitted_claims_name_constants_that_exist() -> None:
    constants = {
        constant
        for found in STUDIES
        for proof in found.proofs.values()
        if isinstance(proof, Fitted)
        for constant in proof.constants
    }
    assert len(constants) > 10
    assert [str(constant) for constant in constants if not exists(constant)] == []
    for file, name in (
        ("presets/chips/tlc48.toml", "cells.shfit"),
        ("crates/nand/src/ept.rs", "FIRS"),
        ("no.toml", "a"),
    ):
        assert not exists(Constant(file, name))


@pytest.mark.parametrize(("id", "chip"), CHIPS.items())
def test_what_a_chip_was_fitted_to_is_not_called_predicted(id: str, chip: str) -> None:
    proofs = study.study(id).proofs
    file = f"presets/chips/{chip}.toml"
    patterns = {}
    for constant in load(chip, chips=1, blocks=1).constants:
        if constant["source"].startswith("fitted ("):
            key = f"{constant['section']}.{constant['key']}"
            patterns[key] = re.findall(r"r[a-z]+\.[\w.*]+", constant["source"])
    assert all(patterns.values())
    for claim, proof in proofs.items():
        to_it = {key for key, of in patterns.items() if any(fnmatch.fnmatchcase(claim, pattern) for pattern in of)}
        if to_it:
            assert not isinstance(proof, Predicted), f"{claim}: {sorted(to_it)} were fitted to it"
        if isinstance(proof, Fitted):
            named = [constant.name for constant in proof.constants if constant.file == file]
            assert all(any(fnmatch.fnmatchcase(key, name) for key in to_it) for name in named), (claim, named, to_it)
            assert named or not to_it, (claim, to_it)


def theory(folder: Path, old: str, new: str) -> Study:
    """A copy of the study with another line in it."""
    shutil.copytree(study.study("theory").folder, folder / "theory")
    source = folder / "theory" / "study.py"
    text = source.read_text()
    assert old in text
    source.write_text(text.replace(old, new))
    return Study(folder / "theory")


def test_a_claim_that_says_nothing_of_what_it_proves_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ssdlab.InputError, match=r"does not say what is proved by theory\.waf\.greedy"):
        _ = theory(tmp_path, old='"theory.waf.greedy": predicted(key("gc.victim", "fifo")),', new="").proofs


def test_a_claim_that_is_measured_and_not_declared_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ssdlab.InputError, match=r"theory\.lone\.writes: measured or declared, not both"):
        theory(tmp_path, old='"theory.lone.write": _lone(', new='"theory.lone.writes": _lone(').verdicts()


def test_a_predicted_claim_that_is_a_literal_is_found_out(tmp_path: Path) -> None:
    found = theory(tmp_path, old='_lone(tables, "randwrite", "write")', new="Measured(13.288)")
    moved = list(Bench(found).moves(function="_lone_claims"))
    assert {each.claim.id for each in moved if not each.enough} == {"theory.lone.write"}
    assert {each.claim.id for each in moved if each.enough} == {"theory.lone.read"}


def table_of_counts() -> str:
    """How many claims of each paper hold, by what they prove and by half, and how many of those that fail say why."""
    papers = {id: verdicts(id) for id in PAPERS}
    papers["all"] = [verdict for part in papers.values() for verdict in part]

    def of(part: Iterable[Verdict]) -> str:
        found = list(part)
        return f"{sum(verdict.passed is True for verdict in found)} of {len(found)}"

    lines = [
        f"| claims within range | all | {' | '.join((*KINDS, *HALVES))} | outside, with the reason |",
        f"|---{'|---' * (2 + len(KINDS) + len(HALVES))}|",
    ]
    for name, part in papers.items():
        failing = [verdict for verdict in part if not verdict.passed]
        cells = [of(part), *(of(v for v in part if v.proves == kind) for kind in KINDS)]
        cells += [of(v for v in part if v.half == each) for each in HALVES]
        cells.append(f"{sum(verdict.reason is not None for verdict in failing)} of {len(failing)}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_the_lab_counts_what_holds(in_page: Callable[[str, str, str], None]) -> None:
    in_page("studies.md", "claims", table_of_counts())


@pytest.mark.slow
def test_the_readme_of_each_study_counts_its_claims(request: pytest.FixtureRequest) -> None:
    for found in STUDIES:
        counts = ((proves, study.count(verdicts(found.id), proves)) for proves in KINDS)
        told = "; ".join(f"{proves} {', '.join(map(str, count))}" for proves, count in counts)
        line = f"Claims (within range, outside, not measured): {told}."
        path = found.folder / "README.md"
        text = path.read_text(encoding="utf-8")
        if request.config.getoption("--update-golden"):
            path.write_text(re.sub(r"^Claims \(within.*$", line, text, flags=re.MULTILINE), encoding="utf-8")
        else:
            assert line in text.splitlines(), f"{path}: write it again with pytest --update-golden"


@pytest.mark.slow
def test_the_readme_of_a_study_shows_the_tables_of_its_results(request: pytest.FixtureRequest) -> None:
    """Behind the line `<!-- NAME -->` stands the table that study.py makes of the results."""
    shown = 0
    for found in STUDIES:
        path = found.folder / "README.md"
        text = path.read_text(encoding="utf-8")
        for name, table in found.findings().items():
            mark = re.compile(rf"^<!-- {name} -->\n(?:\|.*\n)*", re.MULTILINE)
            (place,) = list(mark.finditer(text)) or pytest.fail(f"{path}: has no line <!-- {name} -->")
            now = f"{text[: place.start()]}<!-- {name} -->\n{table}\n{text[place.end() :]}"
            assert now == text or request.config.getoption("--update-golden"), (
                f"{path}: the table {name} is another now: write it again with pytest --update-golden"
            )
            text = now
            shown += 1
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
    assert shown >= 11


def anchors(text: str) -> set[str]:
    """What links may point to in a page: its headings, as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_what_fails_says_why_and_shows_it() -> None:
    for found in STUDIES:
        failing = {verdict.claim.id for verdict in verdicts(found.id) if not verdict.passed}
        failing |= {told.shape.id for told in found.shapes() if not (told.seen and told.seen.holds)}
        assert failing - found.reasons.keys() == set(), f"{found.id}: no reason in why.toml"
        assert found.reasons.keys() - failing == set(), f"{found.id}: why.toml gives reasons for what holds"
        for id, reason in found.reasons.items():
            assert reason.why, id
            assert "\n" not in reason.why, id
            file, _, anchor = reason.link.partition("#")
            page = found.folder / file
            assert page.is_file(), (id, reason.link)
            assert not anchor or anchor in anchors(page.read_text(encoding="utf-8")), (id, reason.link)
