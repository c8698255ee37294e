"""Searches: the rule of the race on made-up objectives, and whole searches on small drives."""

from __future__ import annotations

import itertools
import json
import math
import shlex
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ssdlab
from conftest import SSDLAB, Cli, until
from ssdlab.common.confidence import t_quantile
from ssdlab.common.effects import effects_of
from ssdlab.runs.kept import Kept
from ssdlab.runs.manifest import key_of
from ssdlab.searches import player
from ssdlab.searches.race import Field, front_of, hypervolume
from ssdlab.searches.spec import Rung, Search
from ssdlab.show.report.contents import collect
from ssdlab.sweeps import spec
from ssdlab.sweeps.cache import Cache

Fake = Callable[[Mapping[str, Any], dict[str, Any]], dict[str, float] | str]
"""Gives the statistics of a case, or why it fails, from its settings, and its labels beside ``requests``."""

RETRIES: dict[str, Any] = {
    "budget": 40,
    "run": {"device": "asplos21", "workload": "asplos21/usr_1", "requests": 1000},
    "axes": {
        "scheme": ["baseline", "pr2", "pnar2"],
        "host.t_complete": {"low": 1, "high": 51, "step": 50, "unit": "us"},
    },
    "contexts": {"age": {"young": "pec=1000,retention=3mo", "old": "pec=2000,retention=6mo"}},
    "objectives": {
        "host.read.latency_ns.mean": {"goal": "min", "over": "geometric mean"},
        "energy.per_read": {"goal": "min", "where": {"age": "old"}},
    },
    "constraints": {"host.uncorrectable": {"most": 0}},
    "verify": {"seeds": 2},
    "effects": {"candidates": 0},
}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[[Fake], list[int]]:
    """Puts a made-up drive in place of sweeps; gives the list of how many cases each sweep has."""

    def install(drive: Fake) -> list[int]:
        sizes: list[int] = []

        def sweep(made: dict[str, Any], **_: Any) -> Any:
            axes, run = made["axes"], made["run"]
            rows, failed = [], []
            for labels in itertools.product(*axes.values()):
                named = dict(zip(axes, labels, strict=True))
                found = drive(axes["candidate"][named["candidate"]], {**named, "requests": run["requests"]})
                if isinstance(found, str):
                    failed.append(SimpleNamespace(labels=named, error=found))
                rows.append({**named, "case": "0", **(dict.fromkeys(made["statistics"]) if found is None else {})})
                rows[-1] |= found if isinstance(found, dict) else dict.fromkeys(made["statistics"])
            sizes.append(len(rows))
            table = polars.DataFrame(rows, infer_schema_length=None)
            return SimpleNamespace(table=table, failed=failed, played=len(rows))

        monkeypatch.setattr(player, "sweep", sweep)
        # What it reports no drive does.
        monkeypatch.setattr(spec, "why_unknown", lambda _: None)
        return sizes

    return install


def grid(width: int, **more: Any) -> dict[str, Any]:
    """A search over two numbers, x and y: fixed times of the host."""
    axes = {name: {"low": 0, "high": width - 1, "unit": "us"} for name in ("host.t_submit", "host.t_complete")}
    return {
        "budget": 10_000,
        "run": {"requests": 800},
        "axes": axes,
        "objectives": {"time": "min", "rate": "max"},
        "verify": {"seeds": 2},
        "effects": {"candidates": 0},
        **more,
    }


def at(settings: Mapping[str, Any]) -> tuple[int, int]:
    """The place of a candidate; the drive as the file gives it is at 0, 0."""
    x, y = (int(str(settings.get(name, 0)).removesuffix("us")) for name in ("host.t_submit", "host.t_complete"))
    return x, y


def noise(*key: object) -> float:
    """Something between 0.99 and 1.01 that depends on all of the key."""
    import hashlib

    return 0.99 + 0.02 * hashlib.sha256(repr(key).encode()).digest()[0] / 255


def bent(settings: Mapping[str, Any], labels: dict[str, Any]) -> dict[str, float]:
    """y costs time and gives rate, x costs time only; seeds shift all candidates alike, and each a little."""
    x, y = at(settings)
    seed = labels["seed"]
    return {
        "time": (10 + 3 * x + y) * (1 + seed / 7) * noise(x, y, seed),
        "rate": 5.0 + y,
    }


# ---------------------------------------------------------------- the rule


def test_a_candidate_is_surely_behind_by_the_interval_of_paired_differences() -> None:
    scores = {1: [[10.0, 20.0]], 2: [[11.0, 22.0]], 3: [[10.5, 20.5]]}
    field = Field(scores, ["min"], 0.95, 0.0)
    # Ratios agree for 1 and 2: what is left of all three decides.
    logs = [[math.log(value) for value in each[0]] for each in scores.values()]
    middles = [sum(row) / 2 for row in logs]
    seeds = [sum(row[seed] for row in logs) / 3 for seed in (0, 1)]
    rest = sum(
        (logs[c][s] - middles[c] - seeds[s] + sum(middles) / 3) ** 2 for c, s in itertools.product(range(3), (0, 1))
    )
    half = t_quantile(0.95, 2) * math.sqrt(2 * (rest / 2) / 2)
    assert field.surely_beats(1, 2) == (math.log(10 / 11) + half < 0)
    assert not field.surely_beats(2, 1)
    assert not Field(scores, ["max"], 0.95, 0.0).surely_beats(1, 2)
    # The same rows without chance: every difference is sure.
    sure = Field({1: [[1.0, 2.0]], 2: [[1.01, 2.02]], 3: [[1.0, 2.0]]}, ["min"], 0.95, 0.0)
    assert sure.surely_beats(1, 2)
    assert not sure.surely_beats(1, 3), "what is the same beats nobody"


def test_what_is_worse_by_no_more_than_the_indifference_counts_as_no_worse() -> None:
    values = {1: [[100.5, 100.5], [1.0, 1.0]], 2: [[100.0, 100.0], [2.0, 2.0]]}
    assert Field(values, ["min", "min"], 0.95, 0.01).surely_beats(1, 2)
    assert not Field(values, ["min", "min"], 0.95, 0.001).surely_beats(1, 2)
    shifted = {number: [[value - 100.2 for value in of] for of in each] for number, each in values.items()}
    assert not Field(shifted, ["min", "min"], 0.95, 0.01).surely_beats(1, 2), "no ratios where a value is negative"


POINTS = st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(POINTS)
def test_fronts_and_hypervolumes_agree_with_counting(points: list[tuple[int, int, int]]) -> None:
    numbered = dict(enumerate(points))
    beats = [
        (a, b)
        for (a, one), (b, other) in itertools.permutations(numbered.items(), 2)
        if one != other and all(x <= y for x, y in zip(one, other, strict=True))
    ]
    assert front_of(numbered) == [number for number in numbered if number not in {b for _, b in beats}]
    cells = itertools.product(range(5), repeat=3)
    covered = sum(any(all(x <= c for x, c in zip(point, cell, strict=True)) for point in points) for cell in cells)
    assert hypervolume(points, (5, 5, 5)) == covered


def test_effects_of_a_product_are_exact_and_their_intervals_are_the_jackknifes() -> None:
    factors = {"a": 1.0, "b": 4.0}
    rows = [((first, second), factors[first] * weight) for first in "ab" for second, weight in (("u", 1.0), ("v", 2.0))]
    (a, of_a, of_b, second, of_u, *_, pair, _, _, _, _, rest) = effects_of("time", ["x", "y"], [rows, rows], True)
    # The squares of log 4 and log 2: 4 to 1.
    assert (a.axis, a.label, second.axis, pair.with_axis) == ("x", "", "y", "y")
    assert [a.share, a.share_ci95, second.share, pair.share, rest.share] == pytest.approx([80, 0, 20, 0, 0])
    assert [of_a.effect, of_b.effect, of_u.effect] == pytest.approx([-0.5, 1.0, 2**-0.5 - 1])
    # Plain differences where a value is 0; what one seed says is half of the mean, which the other lacks.
    by_seed = [[(("a",), 0.0), (("b",), 2.0)], [(("a",), 0.0), (("b",), 6.0)]]
    lines = effects_of("errors", ["x"], by_seed, True)
    assert [line.ratio for line in lines] == [False] * 4
    assert lines[2].effect == pytest.approx(2.0)
    assert lines[2].effect_ci95 == pytest.approx(t_quantile(0.95, 1) * math.sqrt(((1 - 2) ** 2 + (3 - 2) ** 2) / 2))


def test_pairs_are_left_out_where_a_draw_hardly_fills_their_cells() -> None:
    rows = [((str(i % 3), str(i % 2)), 1.0 + i % 3) for i in range(12)]
    assert not [line for line in effects_of("time", ["x", "y"], [rows], False) if line.with_axis]
    whole = effects_of("time", ["x", "y"], [rows], True)
    assert [line.share for line in whole if line.with_axis and not line.label] == [pytest.approx(0)]


# ---------------------------------------------------------------- searches of a made-up drive


def test_the_race_finds_the_front_of_the_product_for_less(fake: Callable[[Fake], list[int]]) -> None:
    sizes = fake(bent)
    found = ssdlab.search(grid(8))
    assert found.proposer == "product"
    xs = found.front.sort("candidate")
    assert xs["host.t_submit"].to_list() == [0] * 8
    assert xs["host.t_complete"].to_list() == list(range(8))
    # 64 candidates in the first rung; the 56 that x makes slower without any gain are dropped behind it.
    assert found.counts() == {"front": 8, "dropped": 56}
    assert found.spent == 64 * 0.125 * 2 + 8 * (0.5 * 2 + 3)
    assert sizes == [1, 64 * 2, 8 * 2, 8 * 3, (8 + 1) * 2], "a case alone, rungs, front and given"
    assert found.progress["hypervolume"].to_list()[-1] == 1
    assert found.progress["hypervolume"].is_sorted()
    whole = ssdlab.search(grid(8, race={"rungs": [{"requests": 1, "seeds": 3}]}))
    assert whole.spent == 64 * 3
    assert whole.front["candidate"].to_list() == found.front["candidate"].to_list()
    assert found.front["holds"].all()


def test_contexts_are_judged_together_as_the_file_says(fake: Callable[[Fake], list[int]]) -> None:
    seen = {"young": {"time": 2.0, "rate": 3.0, "errors": 0.0}, "old": {"time": 8.0, "rate": 5.0, "errors": 4.0}}
    fake(lambda settings, labels: seen[labels["age"]])
    judged = {
        "mean": {"goal": "min", "statistic": "time"},
        "worst": {"goal": "min", "statistic": "time", "over": "worst"},
        "least": {"goal": "max", "statistic": "rate", "over": "worst"},
        "factor": {"goal": "min", "statistic": "time", "over": "geometric mean"},
        "later": {"goal": "min", "statistic": "time", "where": {"age": ["old"]}},
    }
    about = grid(2, objectives=judged, contexts={"age": {"young": "pec=0", "old": "pec=1000"}}, statistics=["rate"])
    about["constraints"] = {"errors": {"most": 0, "where": {"age": "young"}}}
    found = ssdlab.search(about)
    row = found.candidates.row(0, named=True)
    assert [row[name] for name in (*judged, "errors", "rate")] == [5, 8, 3, pytest.approx(4), 8, 0, 4]
    assert found.counts() == {"front": 4}, "those that are the same stay"
    about["constraints"] = {"errors": {"most": 0}}
    found = ssdlab.search(about)
    assert found.counts() == {"infeasible": 4}
    assert found.candidates["why"][0] == "errors is 4, not at most 0"
    assert found.front.height == 0
    assert found.progress.height == 0


def test_what_fails_or_measures_nothing_is_told_and_the_race_goes_on(fake: Callable[[Fake], list[int]]) -> None:
    def drive(settings: Mapping[str, Any], labels: dict[str, Any]) -> dict[str, Any] | str:
        x, y = at(settings)
        if (x, y) == (0, 0):
            return "it broke"
        return {**bent(settings, labels), **({"rate": None} if (x, y) == (0, 1) else {})}

    fake(drive)
    found = ssdlab.search(grid(3))
    assert found.candidates.filter(state="failed")["why"].to_list() == [
        "seed=1: it broke", "rate: there was nothing to measure",
    ]  # fmt: skip
    assert found.counts()["front"] >= 1


@pytest.mark.parametrize("end", ["warnings", "constraint", "mean", "failure"])
def test_whoever_is_left_out_has_dropped_nobody(fake: Callable[[Fake], list[int]], end: str) -> None:
    """The best in short runs surely beats all others, and is left out at full length."""

    def drive(settings: Mapping[str, Any], labels: dict[str, Any]) -> dict[str, Any] | str:
        found = {"time": 10.0 + sum(at(settings)), "rate": 1.0, "limit": 0.0, "warnings": None}
        if at(settings) == (0, 0) and labels["requests"] == 800:
            match end:
                case "failure":
                    return "it broke"
                case "warnings":
                    found["warnings"] = cast(float, "not-steady")
                case "constraint":
                    found["limit"] = 2.0
                case "mean":  # not with every seed
                    found["limit"] = 9.0 if labels["seed"] == 1 else 0.0
        return found

    fake(drive)
    about = grid(2, constraints={"limit": {"most": 1}})
    found = ssdlab.search(about)
    left_out = {"warnings": "marked", "failure": "failed"}.get(end, "infeasible")
    # (0, 1) and (1, 0) are alike; they drop (1, 1) again.
    assert found.candidates["state"].to_list() == [left_out, "front", "front", "dropped"]
    assert found.candidates["why"][3] == "surely behind candidate 2"
    # The first to the end takes 1 + 4 of the budget: the others are not run, and not said to be behind.
    spent = ssdlab.search({**about, "budget": 8})
    assert spent.candidates["state"].to_list() == [left_out, "unplayed", "unplayed", "dropped"]
    assert set(spent.candidates["why"][1:3]) == {"the budget was spent before rung 2"}


@pytest.mark.parametrize(
    ("sweep", "states", "text"),
    [
        # A case alone, three rungs, the verification, effects of two seeds.
        (2, {"unplayed": 64}, "the search was interrupted before rung 1"),
        (3, {"unplayed": 8, "dropped": 56}, "the search was interrupted before rung 2"),
        (5, {"front": 8, "dropped": 56}, ": the front has not been verified with new seeds"),
        (6, {"front": 8, "dropped": 56}, ": nothing is said of effects"),
    ],
)
def test_an_interrupted_search_hands_back_what_it_has_found(
    fake: Callable[[Fake], list[int]], sweep: int, states: dict[str, int], text: str
) -> None:
    sizes = fake(bent)
    about = grid(8, effects={"candidates": 4})
    whole = ssdlab.search(about)
    assert len(sizes) == 7
    sizes.clear()

    def drive(settings: Mapping[str, Any], labels: dict[str, Any]) -> dict[str, float]:
        if len(sizes) == sweep - 1:
            raise ssdlab.Interrupted(Kept(0))
        return bent(settings, labels)

    sizes = fake(drive)
    with pytest.raises(ssdlab.Interrupted) as caught:
        ssdlab.search(about)
    found = caught.value.found
    assert found.counts() == states
    (finding,) = found.warnings
    assert finding.id == "interrupted"
    assert finding.text.startswith(f"the search was interrupted after {found.spent:g} full cases")
    assert text in finding.text or text in set(found.candidates["why"])
    assert found.effects.height == 0
    assert found.front["candidate"].to_list() == (whole.front["candidate"].to_list() if "front" in states else [])
    # Verified ones are given with the seeds of the verification, the others with those of the race.
    assert found.front.equals(whole.front) == (sweep == 6)
    assert found.to_dict()["warnings"][0]["id"] == "interrupted"


def test_a_budget_is_kept_and_brings_candidates_to_the_end(fake: Callable[[Fake], list[int]]) -> None:
    fake(bent)
    # 64 candidates cost 16 in the first rung, and 4 each from there to the end.
    found = ssdlab.search(grid(8, budget=26))
    assert found.spent == 24
    assert found.counts() == {"front": 2, "dropped": 56, "unplayed": 6}
    assert set(found.candidates.filter(state="unplayed")["why"]) == {"the budget was spent before rung 2"}


@pytest.mark.drawn
@pytest.mark.slow
def test_optuna_searches_what_is_too_large(fake: Callable[[Fake], list[int]]) -> None:
    fake(bent)
    results = {}
    for proposer in ("nsga2", "tpe"):
        about = grid(64, budget=150, proposer=proposer, batch=8)
        about["axes"]["ftl.over_provisioning"] = {"low": 0.07, "high": 0.28}
        about["axes"]["gc.start"] = {"low": 4, "high": 64, "log": True}
        found = ssdlab.search(about)
        assert found.to_dict() == ssdlab.search(about).to_dict()
        assert found.proposer == proposer
        assert 100 < found.spent <= 150
        assert found.to_dict() != ssdlab.search({**about, "seed": 2}).to_dict()
        results[proposer] = found.candidates
    for table in results.values():
        assert table["ftl.over_provisioning"].is_between(0.07, 0.28).all()
        assert table["gc.start"].is_between(4, 64).all()
        assert table.unique(["host.t_submit", "host.t_complete", "ftl.over_provisioning", "gc.start"]).height == len(
            table
        )
    assert not results["nsga2"].equals(results["tpe"])
    small = ssdlab.search(grid(2, proposer="nsga2", batch=4))
    assert small.candidates.height == 4, "it ends when nothing new is proposed"


def test_combinations_are_refused_once_by_the_file_or_by_the_core(fake: Callable[[Fake], list[int]]) -> None:
    fake(lambda settings, labels: {"time": 1.0, "rate": 1.0})
    about = grid(6)
    about["axes"] |= {"erase.pulse": ["ispe", "felp"], "erase.margin": ["none", "ecc"]}
    about["run"]["device"] = "electronics25"
    about["refuse"] = [
        {"host.t_submit": {"above": 2}, "why": "too slow"},
        {"host.t_complete": {"not": [0, 1]}, "erase.margin": "none"},
        {"host.t_submit": {"below": 1}, "erase.pulse": "felp"},
    ]
    refused = ssdlab.search(about).candidates.filter(state="refused").group_by("why").len()
    whys = {str(why).partition("\n")[0]: count for why, count in refused.iter_rows()}
    assert whys == {
        "too slow": 3 * 6 * 4,
        "the file refuses host.t_complete = {'not': [0, 1]}, erase.margin = none": 3 * 4 * 2,
        "the file refuses host.t_submit = {'below': 1}, erase.pulse = felp": 2 + 6,
        'device: erase.margin: is ecc, and only felp uses it help: set erase.pulse to "felp", or this to "none"': 3 * 6,
    }


def test_a_search_says_why_what_it_left_out_and_which_axes_change_nothing(fake: Callable[[Fake], list[int]]) -> None:
    def drive(settings: Mapping[str, Any], labels: dict[str, Any]) -> dict[str, float] | str:
        x, y = at(settings)
        if x == 3:
            return f"the drive ended at {0.1 * y:.1f} s\n  help: give it more blocks"
        # y changes nothing; what is written wears more than is allowed where x is 2.
        return {"time": 10.0 + x, "rate": 5.0 + x * (x < 2), "wear": 10.0 * x + y}

    fake(drive)
    about = grid(4, constraints={"wear": {"most": 19}}, effects={"candidates": 16})
    about["refuse"] = [{"host.t_submit": {"below": 1}, "host.t_complete": {"above": 2}, "why": "too slow"}]
    found = ssdlab.search(about)
    assert [(of.cases, of.problem) for of in found.reasons("refused")] == [(1, "too slow")]
    (failed,) = found.reasons("failed")
    assert (failed.cases, failed.remedy) == (4, "give it more blocks")
    assert "the drive ended at 0.0 s" in failed.problem
    (infeasible,) = found.reasons("infeasible")
    assert infeasible.cases == 4
    assert list(found.without_effect()) == ["host.t_complete"]
    text = " ".join(str(found).split())
    assert "7 of 16 candidates (2 different results)" in text
    assert "5, 6, 7, 8 1 0 | 1 | 2 | 3 11 6 yes" in text
    assert "Why candidates were left out" in text
    assert "changes nothing here, by its share of any objective's differences: host.t_complete (nothing at all)" in text


def test_the_drive_as_given_stands_beside_the_winner_and_what_decides_among_the_best_is_named(
    fake: Callable[[Fake], list[int]],
) -> None:
    def drive(settings: Mapping[str, Any], labels: dict[str, Any]) -> dict[str, float]:
        x, y = at(settings)
        given = not settings
        # x decides nearly all; y takes a thousandth off, and chance is less than that but where x is 1.
        time = 20.0 if given else 10.0 * (1 + x) * (1.0 if y == 0 else 1.001) * (noise(y, labels["seed"]) if x else 1.0)
        return {"time": time, "rate": 5.0}

    fake(drive)
    about = grid(2, objectives={"time": "min"}, effects={"candidates": 4}, race={"indifference": 0.0})
    about["run"] |= {"device": "tlc", "age": "pec=1000,retention=1mo"}
    found = ssdlab.search(about)
    assert found.given is not None
    assert found.given["time"] == 20.0
    assert found.deciding() == {"host.t_complete": 0}
    assert set(found.read_starts.values()) == {"patrolled"}
    text = " ".join(str(found).split())
    assert "lowest time 10 with host.t_submit 0, host.t_complete 0 (as given: 20)" in text
    assert "as given 20" in text
    assert "changes nothing here" not in text
    assert "and yet all that may be best have 0: it decides among the best" in text
    assert "reads begin where its patrols have found (read.start = patrolled), an assumption" in text
    assert json.loads(json.dumps(found.to_dict()))["given"]["time"] == 20.0


def test_what_is_not_surely_behind_is_shown_and_alike_results_are_a_row(fake: Callable[[Fake], list[int]]) -> None:
    def drive(settings: Mapping[str, Any], labels: dict[str, Any]) -> dict[str, float]:
        x, y = at(settings)
        return {"time": (10.0 + 0.001 * y if x == 0 else 30.0) * noise(x, y, labels["seed"]), "rate": 5.0}

    fake(drive)
    found = ssdlab.search(grid(3, objectives={"time": "min"}))
    (alike,) = found.near()
    assert len(alike) == found.counts()["near"] == 2
    text = " ".join(str(found).split())
    assert "Not surely behind the front: 2 candidates, with the seeds of the race" in text


# ---------------------------------------------------------------- what is wrong with a file


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"budget": None}, ("budget: is None", "a number of full cases")),
        ({"budget": "2 hours"}, ("budget: is '2 hours'", '"2 CPU hours"')),
        ({"budget": 1}, ("budget: 1 full cases play no candidate to its end", "needs 8.5")),
        ({"budget": 20, "batch": 32}, ("budget: 20 full cases play the first rung of 24", "give 24 or more")),
        ({"proposer": "random"}, ("proposer: 'random' is not known", "nsga2")),
        ({"proposer": "product", "axes": {"gc.start": [4, 5], "ftl.over_provisioning": {"low": 0.1, "high": 0.2}}},
         ("the product is endless", "a step")),
        ({"proposer": "product", "budget": 12}, ("the product has 40 candidates", "a larger budget")),
        ({"objective": {}}, ("objective: unknown", "did you mean `objectives`?")),
        ({"objectives": {}}, ("objectives: there are none",)),
        ({"objectives": {"x": "least"}}, ("objectives.x: the goal is 'least'", '"min" or "max"')),
        ({"objectives": {"x": {"goal": "min", "over": "sum"}}}, ("objectives.x.over: 'sum'", "geometric mean")),
        ({"objectives": {"x": {"goal": "min", "where": {"age": "no"}}}}, ("objectives.x.where.age", "young, old")),
        ({"constraints": {"x": 3}}, ("constraints.x: has no bound", "{ most = 3.5 }")),
        ({"constraints": {"x": {"most": "3"}}}, ("constraints.x.most: '3' is no number",)),
        ({"axes": {}}, ("axes: there are none",)),
        ({"axes": {"seed": [1, 2]}}, ("axes.seed: is set by the search itself",)),
        ({"axes": {"load": {"a": {"requests": 3}}}}, ("requests: is set by a label",)),
        ({"axes": {"gc.strat": [1]}}, ("gc.strat: there is no such option", "did you mean `gc.start`?")),
        ({"axes": {"gc.start": {"low": 5, "high": 5}}}, ("axes.gc.start: low is 5 and high is 5", "below high")),
        ({"axes": {"gc.start": {"low": 5, "high": 9, "by": 1}}}, ("axes.gc.start.by: unknown", "step")),
        ({"axes": {"gc.start": {"low": 0, "high": 9, "log": True}}}, ("axes.gc.start: log goes with",)),
        ({"axes": {"age": ["pec=0"]}}, ("contexts.age: is an axis too",)),
        ({"refuse": [{"scheme": "x"}]}, ("refuse 1: scheme: x: not on the axis", "it has baseline, pr2")),
        ({"refuse": [{"why": "x"}]}, ("refuse 1: names no axis",)),
        ({"race": {"rungs": [{"requests": 0.5, "seeds": 2}]}}, ("race.rungs: the last rung plays a part",)),
        ({"race": {"rungs": [{"requests": 1, "seeds": 1}]}}, ("race.rungs, rung 1: seeds: is 1", "2 or more")),
        ({"race": {"rungs": [{"requests": 1, "seeds": 3}, {"seeds": 2}]}}, ("rung 2: is shorter",)),
        ({"race": {"confidence": 95}}, ("race.confidence: is 95", "below 1")),
        ({"run": {"device": "asplos21"}, "race": {"rungs": [{"requests": 0.5, "seeds": 2}, {"seeds": 2}]}},
         ("race.rungs: play shares of requests",)),
        ({"verify": {"seeds": 1}}, ("verify.seeds: is 1",)),
        ({"effects": {"requests": 2}}, ("effects.requests: is 2",)),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_told_with_key_and_remedy(change: dict[str, Any], parts: tuple[str, ...]) -> None:
    about = {**RETRIES, "axes": {**RETRIES["axes"], "gc.start": {"low": 4, "high": 13}}, "batch": 16, **change}
    if "axes" not in change:
        about["axes"] = {"scheme": ["baseline", "pr2", "pnar2", "rr"][:2], "gc.start": {"low": 4, "high": 23}}
    with pytest.raises(ssdlab.InputError) as caught:
        ssdlab.search(about, cache="never")
    assert str(caught.value).startswith("search: ")
    for part in (*parts, "\n  help: "):
        assert part in str(caught.value)


def test_a_search_without_a_front_says_what_became_of_all(fake: Callable[[Fake], list[int]]) -> None:
    from ssdlab.show.verdicts import of_search

    limit = {"time": {"most": 1000}}
    fake(lambda settings, labels: {"time": 1.0 if labels["requests"] < 800 else 1e9, "rate": 1.0})
    spent = of_search(ssdlab.search(grid(2, budget=8, constraints=limit)))
    assert spent == (
        "None of 4 configurations is on the front: 1 breaking a constraint and 3 not run to their end. The budget of "
        "8 full cases brings no other one to its end: raise budget; one configuration takes 4.25 full cases."
    )
    fake(lambda settings, labels: "no such drive" if at(settings)[0] else {"time": 1e9, "rate": 1.0})
    broken = of_search(ssdlab.search(grid(2, constraints=limit)))
    assert broken == "None of 4 configurations is on the front: 2 breaking a constraint and 2 failed."
    fake(lambda settings, labels: {**bent(settings, labels), "warnings": cast(float, "not-steady")})
    marked = of_search(ssdlab.search(grid(2)))
    assert "left out for the warnings of their results" in marked
    assert "constraint" not in marked


def test_a_malformed_file_is_told_with_its_line(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "search.toml").write_text("budget = 10\n[axes\n")
    done = cli("search", "search.toml")
    assert (done.returncode, "search.toml: " in done.stderr, "line 2" in done.stderr) == (2, True, True)
    assert "give the path of a search file" in cli("search", "absent.toml").stderr


def test_a_statistic_that_no_run_reports_is_told_before_any_case(tmp_path: Path) -> None:
    about = {**RETRIES, "objectives": {"host.read.latency_ns.p99_8": "min"}}
    with pytest.raises(
        ssdlab.InputError, match=r"no run reports this.*\n.*did you mean `host\.read\.latency_ns\.p99_9`"
    ):
        ssdlab.search(about, cache=tmp_path)
    assert len(Cache(tmp_path)) == 0
    # What some other drive reports is told after one case.
    with pytest.raises(ssdlab.InputError, match=r"ftl\.slc\.taken: no run reports this"):
        ssdlab.search({**RETRIES, "objectives": {"ftl.slc.taken": "min"}}, cache=tmp_path)
    assert len(Cache(tmp_path)) == 1


def test_the_first_page_reads_the_format_of_the_whole_question() -> None:
    """Read, predictor, suspension, erase, reclaim, ECC; age by workload; tail, bandwidth, energy."""
    found = Search.read(
        {
            "budget": "8 CPU hours",
            "run": {"device": "electronics25", "requests": 100_000, "precondition": "closed-form"},
            "axes": {
                "read": {"table": {}, "swift": {"read.next": "swift"}},
                "read.predictor": ["none", "controller", "on-die"],
                "suspension": {"none": {}, "at once": {"schedule.suspend_erase": "reset-and-resume"}},
                "erase": {"ispe": {"erase.pulse": "ispe"}, "reo": {"erase.pulse": "felp", "erase.margin": "ecc"}},
                "reclaim": {"none": {}, "by wordline": {"refresh.reads": 400_000, "refresh.reclaim": "wordline"}},
                "ecc": {"hard": {}, "soft": {"ecc.code": "qc-ldpc", "ecc.soft_after": 1}},
            },
            "contexts": {
                "age": {"fresh": "pec=0", "5K": "pec=5000,retention=1y"},
                "load": {"stg_0": "electronics25/stg_0", "usr_1": "asplos21/usr_1"},
            }
            | {"load": {"stg_0": {"workload": "electronics25/stg_0"}, "usr_1": {"workload": "asplos21/usr_1"}}},
            "objectives": {
                "host.read.latency_ns.p99_99": {"goal": "min", "over": "worst"},
                "host.all.bandwidth_mb_s": {"goal": "max", "over": "geometric mean"},
                "energy.per_gb": "min",
            },
            "constraints": {"host.uncorrectable": {"most": 0, "where": {"age": "fresh"}}, "ftl.waf": {"most": 4}},
        }
    )
    assert (found.space.size(), len(found.situations), found.hours) == (2 * 3 * 2 * 2 * 2 * 2, 4, True)


# ---------------------------------------------------------------- real drives


@pytest.mark.drawn
@pytest.mark.slow
def test_racings_front_is_that_of_the_full_product(tmp_path: Path) -> None:
    about = {**RETRIES, "effects": {"candidates": 6}}
    raced = ssdlab.search(about, cache=tmp_path)
    whole = ssdlab.search({**about, "race": {"rungs": [{"requests": 1, "seeds": 3}]}}, cache=tmp_path)
    points = ["scheme", "host.t_complete"]
    assert raced.front.select(points).equals(whole.front.select(points))
    assert raced.front["holds"].all()
    assert raced.spent < whole.spent == 36
    assert "dropped" in raced.counts()
    by_axis = {
        (row["objective"], row["axis"]): row["share"]
        for row in raced.effects.iter_rows(named=True)
        if not row["label"] and not row["with_axis"]
    }
    assert by_axis["host.read.latency_ns.mean", "scheme"] > 80
    assert by_axis["energy.per_read", "host.t_complete"] < 1


def test_hours_of_processor_time_are_counted_from_the_cache(tmp_path: Path) -> None:
    about = {**RETRIES, "budget": "1 CPU hours"}
    found = ssdlab.search(about, cache=tmp_path)
    assert (found.proposer, found.candidates.height) == ("product", 6)
    assert ssdlab.search(about, cache=tmp_path).to_dict() == found.to_dict()
    least = ssdlab.search({**about, "budget": "0.0000001 CPU hours"}, cache=tmp_path)
    assert set(least.counts()) <= {"unplayed", "dropped"}


def test_hours_of_a_case_are_counted_once(tmp_path: Path) -> None:
    about = {**RETRIES, "budget": "1 CPU hours", "axes": {"scheme": ["baseline"]}}
    search = Search.read(about)
    playing = player.Player(search, player.Places(tmp_path), lambda about: None)
    # The seeds of a rung are those of the one before, and further ones; the first case of all is one of them.
    for seeds in ((1, 2), (1, 2, 3)):
        playing.play({1: ("baseline",)}, Rung(1.0, seeds), "")
    entries = [Cache(tmp_path).find(case) for case in playing._counted]
    assert len(entries) == 2 * 3, "contexts times seeds"
    walls = [float(entry["data"]["process"]["wall_s"]) for entry in entries if entry is not None]
    assert playing.hours == pytest.approx(math.fsum(walls) / 3600.0)


FILE = """
budget = 20
proposer = "nsga2"
batch = 4
[run]
device = "asplos21"
workload = "asplos21/usr_1"
requests = 600
age = "pec=2000,retention=6mo"
[axes]
scheme = ["baseline", "pr2", "pnar2", "pso"]
"host.t_complete" = { low = 1.5, high = 20.0, unit = "us" }
"host.t_firmware" = { low = 1, high = 32, log = true, unit = "us" }
[objectives]
"host.read.latency_ns.mean" = "min"
"energy.per_read" = "min"
[verify]
seeds = 2
[effects]
candidates = 6
requests = 1
"""


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.drawn
@pytest.mark.slow
def test_results_are_the_same_bytes_for_any_number_of_workers(tmp_path: Path) -> None:
    (tmp_path / "search.toml").write_text(FILE)
    for threads in (1, 3):
        folder = tmp_path / f"out{threads}"
        found = ssdlab.search(tmp_path / "search.toml", cache=tmp_path / f"cache{threads}", threads=threads, out=folder)
        assert found.played > 20
    assert written(tmp_path / "out1") == written(tmp_path / "out3")
    assert sorted(written(tmp_path / "out1")) == [
        "candidates.csv", "effects.csv", "front.csv", "progress.csv", "search.json",
    ]  # fmt: skip
    again = ssdlab.search(tmp_path / "search.toml", cache=tmp_path / "cache1", out=tmp_path / "again")
    assert again.played == 0
    assert written(tmp_path / "again") == written(tmp_path / "out1")


@pytest.mark.drawn
def test_a_killed_search_goes_on_where_it_was(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "search.toml").write_text(FILE.replace("requests = 600", "requests = 1000"))
    words: list[str | Path] = [SSDLAB, "search", "search.toml", "--threads", "1", "--out", "killed"]
    results = tmp_path / "results" / "cache"
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
        until(lambda: len(Cache(results)) > 6, running)
        running.kill()
    kept = len(Cache(results))
    done = cli("search", "search.toml", "--out", "resumed")
    assert done.returncode == 0, done.stderr
    cases = len(Cache(results))
    assert f"; {cases - kept} cases run now" in done.stdout
    cli("search", "search.toml", "--out", "whole", "--cache", "other")
    assert written(tmp_path / "resumed") == written(tmp_path / "whole")


@pytest.mark.drawn
def test_the_command_shows_writes_and_draws_what_was_found(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "search.toml").write_text(FILE)
    done = cli("search", "search.toml", "--out", "out", "--plot", "out/front.png")
    assert done.returncode == 0, done.stderr
    for part in ("Front: ", "What the axes contribute", "on the front", "wrote out/search.json", "wrote out/front.png"):
        assert part in done.stdout
    assert (tmp_path / "out" / "front.png").read_bytes().startswith(b"\x89PNG")
    data = json.loads((tmp_path / "out" / "search.json").read_text())
    assert json.loads(cli("search", "search.toml", "--json").stdout) == data
    # The command of a point plays one of the cases that its numbers come from.
    (command,) = data["commands"][str(data["front"][0]["candidate"])].values()
    assert cli(*shlex.split(command)[1:], "--json", "case.json").returncode == 0
    key = key_of(json.loads((tmp_path / "case.json").read_text())["manifest"])
    assert Cache(tmp_path / "results" / "cache").get(key) is not None
    page, notes = collect(tmp_path / "out")
    assert page["search"] == data
    assert page["title"] == "search", "that of search.toml"
    assert notes == []
    assert [table["name"] for table in page["tables"]] == ["candidates.csv", "effects.csv", "front.csv", "progress.csv"]


def test_drives_are_warmed_up_once_for_all_candidates_and_rungs(tmp_path: Path) -> None:
    about = {
        **RETRIES,
        "axes": {"scheme": ["baseline", "swr"]},
        "warm": {"scheme": "baseline", "requests": 500, "seed": 7},
    }
    found = ssdlab.search(about, cache=tmp_path / "cache")
    assert found.counts().keys() <= {"front", "near", "dropped"}
    assert len(list(tmp_path.rglob("*.checkpoint"))) == 2, "one for each age"
    # The commands of a point warm its drive up, and play from there a case that its numbers come from.
    warm, case = next(iter(found.commands.values()))["old"].split(" && ")
    for command in (warm, f"{case} --json case.json"):
        subprocess.run([SSDLAB, *shlex.split(command)[1:]], cwd=tmp_path, check=True, capture_output=True)
    key = key_of(json.loads((tmp_path / "case.json").read_text())["manifest"])
    assert Cache(tmp_path / "cache").find(key) is not None
    # A drive that cannot be warmed up is refused, with the reason.
    refused = ssdlab.search({**about, "warm": {"gc.start": 10_000}}, cache=tmp_path / "cache")
    assert refused.counts().keys() == {"refused"}
