"""What a paper leaves open: inferred on one half of its claims."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import ssdlab
from ssdlab import study
from ssdlab.cli.main import commands
from ssdlab.study.claims import half
from ssdlab.study.folder import Study
from ssdlab.study.infer import POINTS, Inferred, brief_sweep, infer

OPEN = """
about = "theory, as if it did not say how long a read and a program take"
leads = ["theory.lone.w*"]
sweeps = ["lone"]
[brief.lone]
requests = 20
[open."chip.t_read"]
says = "nothing"
why = "a test"
values = ["40us", "50us", "60us"]
[open.host]
says = "nothing"
why = "a test"
values = { slow = { "host.t_submit" = "9us" }, "as it is" = {}, impossible = { "host.t_submit" = "soon" } }
"""


@pytest.fixture
def theory(tmp_path: Path) -> Study:
    folder = tmp_path / "theory"
    shutil.copytree(study.study("theory").folder, folder)
    claims = folder / "claims.toml"
    claims.write_text(claims.read_text().replace('kind = "mechanism"', 'kind = "system"'))
    (folder / "open.toml").write_text(OPEN)
    return Study(folder)


def chosen(found: Inferred) -> tuple[object, ...]:
    return found.ranked[0].labels


def test_the_halves_are_what_they_were() -> None:
    """The rule was fixed before anything was chosen, and so are the halves."""
    found = {
        each.id: [half(claim.id) for claim in each.claims if claim.kind == "system"].count("tuning")
        for each in study.studies()
    }
    assert found == {
        "asplos21": 11,
        "fast12": 17,
        "hpca24": 7,
        "electronics25": 21,
        "readflow": 1,
        "eraseflow": 0,
        "controller": 0,
        "theory": 0,
        "products": 12,
        "recovery": 0,
        "placement": 7,
        "kv-cache": 0,
        "hbf": 0,
        "redundancy": 0,
        "fleet": 0,
        "erasecells": 0,
        "learned": 0,
    }
    assert [half(id) for id in ("rr.pr2.mean", "rr.pr2.max")] == ["tuning", "test"]


def test_all_of_a_small_space_is_played_and_the_right_point_found(theory: Study, tmp_path: Path) -> None:
    found = infer(theory, cache=tmp_path / "cache")
    assert found.whole
    assert len(found.points) == 9
    assert chosen(found) == ("50us", "as it is")
    assert found.held(found.ranked[0], "tuning") == found.claims_of("tuning")
    impossible = [point for point in found.points if "impossible" in point.labels]
    assert len(impossible) == 3
    assert all("soon" in point.error and not point.measured for point in impossible)
    claims = {row["claim"]: row for row in found.table_of_claims().iter_rows(named=True)}
    read = claims["theory.lone.read"]
    assert (read["holds_at"], read["points"], read["nearest"]) == (1, 9, 84.872)
    assert read["where"] == "chip.t_read=50us, host=as it is"
    # Tables that are not played again are the kept ones: their claims hold at every point that can be played.
    assert claims["theory.waf.greedy"]["holds_at"] == 6
    table = found.table()
    assert table.height == 9
    assert table.columns[:4] == ["chip.t_read", "host", "tuning", "test"]


def test_a_large_space_is_searched_one_setting_after_another(theory: Study, tmp_path: Path) -> None:
    found = infer(theory, points=8, cache=tmp_path / "cache")
    assert not found.whole
    # The second round finds it: beside a slow host a fast sense is nearer to the published latency.
    assert [point.labels for point in found.points[:4]] == [
        ("40us", "slow"),
        ("50us", "slow"),
        ("60us", "slow"),
        ("40us", "as it is"),
    ]
    assert chosen(found) == ("50us", "as it is")
    assert infer(theory, points=8, cache=tmp_path / "cache").table().equals(found.table())
    cut = infer(theory, points=4, cache=tmp_path / "cache")
    assert len(cut.points) == 4


def test_held_out_claims_choose_nothing(theory: Study, tmp_path: Path) -> None:
    before = infer(theory, cache=tmp_path / "cache").ranked
    claims = theory.folder / "claims.toml"
    held = [claim for claim in theory.claims if half(claim.id) == "test"]
    assert held
    text = claims.read_text().splitlines()
    for claim in held:
        at = next(place for place, line in enumerate(text) if f'"{claim.id}"' in line)
        text[at] = text[at][: text[at].index("accept")] + "accept = [1e9, 2e9] },"
    claims.write_text("\n".join(text))
    after = infer(Study(theory.folder), cache=tmp_path / "cache")
    assert [point.labels for point in after.ranked] == [point.labels for point in before]
    assert after.held(after.ranked[0], "test") == 0


def test_settings_stand_above_what_a_sweep_says(theory: Study) -> None:
    made = brief_sweep(
        theory, "lone", {"requests": 7, "workload.rw": ["randread"], "seed": 3}, {"bus.t_command": "1us"}
    )
    assert made["run"]["bus.t_command"] == "1us"
    assert (made["run"]["requests"], made["run"]["seed"]) == (7, 3)
    assert made["axes"] == {"workload.rw": {"randread": {"workload.rw": "randread"}}}


def test_verdicts_say_what_has_seen_a_claim(theory: Study) -> None:
    verdicts = {verdict.claim.id: verdict for verdict in theory.verdicts()}
    for id, verdict in verdicts.items():
        assert verdict.half == half(id)
        assert verdict.proves == ("fitted" if verdict.half == "tuning" else "predicted")
        lead = "lead" if id == "theory.lone.write" else ""
        assert verdict.seen == ("choice" if verdict.half == "tuning" else lead)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('values = ["40us", "50us", "60us"]', 'values = ["40us"]', r"open\.chip\.t_read: is not complete"),
        ('sweeps = ["lone"]', 'sweeps = ["alone"]', r"alone: no sweep of this study"),
        ("leads =", "lead =", r"lead: unknown"),
        ('"9us"', '"9us', r"open\.toml: .*line \d+"),
    ],
)
def test_a_wrong_file_is_told_with_its_key(theory: Study, old: str, new: str, told: str) -> None:
    (theory.folder / "open.toml").write_text(OPEN.replace(old, new))
    with pytest.raises(ssdlab.InputError, match=told):
        infer(theory, cache=theory.folder / "cache")


def test_a_reason_for_no_claim_is_an_error(theory: Study) -> None:
    (theory.folder / "why.toml").write_text('"theory.none" = { why = "so", link = "README.md" }')
    with pytest.raises(ssdlab.InputError, match=r"why\.toml: theory\.none: no such claims"):
        theory.verdicts()
    (theory.folder / "why.toml").write_text('"theory.lone.read" = { because = "so" }')
    with pytest.raises(ssdlab.InputError, match=r"why\.toml: .*because"):
        theory.verdicts()


def test_the_help_states_the_default() -> None:
    text = CliRunner().invoke(commands, ["study", "infer", "--help"]).output
    assert f"[default: {POINTS}]" in text
