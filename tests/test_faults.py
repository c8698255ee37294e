"""Campaigns of faults: what is drawn, what comes out, and failures made small."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import pytest

from ssdlab import InputError
from ssdlab.faults.campaign import command_of, faults, keeps_all, shrunk
from ssdlab.faults.spec import Campaign, Case

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
EXAMPLE = EXAMPLES / "power-cuts.toml"


def test_a_campaign_keeps_what_was_promised_whoever_plays_it() -> None:
    found = faults(EXAMPLE, cases=24, threads=2)
    assert found.failures == []
    total = found.counts()["", "all"]
    assert total["kept"] + total["lost"] + total["reported"] >= 18
    assert total["refused"] == 0
    assert sum(outcome.cuts for outcome in found.outcomes) > 30
    assert sum(outcome.checked for outcome in found.outcomes) > 1000
    assert faults(EXAMPLE, cases=24, threads=1).outcomes == found.outcomes
    assert faults(EXAMPLE, cases=5).outcomes == found.outcomes[:5]


def test_parity_rebuilds_what_a_part_held() -> None:
    found = faults(EXAMPLES / "broken-parts.toml", cases=60, threads=2)
    assert found.failures == []
    counts = found.counts()
    assert counts["ftl.raid", "none"]["reported"] > 10 * counts["ftl.raid", "parity:4"]["reported"]
    assert counts["ftl.raid", "parity:4"]["kept"] >= 15
    assert sum(counts["fault", kind].total() for kind in ("block", "plane", "die")) > 30


@pytest.mark.slow
def test_an_array_keeps_what_its_drives_lose() -> None:
    found = faults(EXAMPLES / "array-faults.toml", cases=20, threads=2)
    assert found.failures == []
    counts = found.counts()["", "all"]
    assert counts["kept"] + counts["unharmed"] == 20
    assert sum(outcome.broken for outcome in found.outcomes) > 20
    # In all drives at once the same parts are too many.
    source = tomllib.loads((EXAMPLES / "array-faults.toml").read_text())
    source["run"]["array"] = str(EXAMPLES / "array.toml")
    everywhere = faults(source | {"parts": {"may": ["channel 0", "die 1"], "most": 2, "within_us": 20_000}}, cases=12)
    assert everywhere.counts()["", "all"]["reported"] > 0
    assert everywhere.failures == []


def test_zones_keep_what_was_acknowledged_through_power_cuts() -> None:
    found = faults(EXAMPLES / "zone-faults.toml", cases=12, threads=2)
    assert found.failures == []
    assert found.counts()["", "all"]["kept"] >= 8
    assert sum(outcome.checked for outcome in found.outcomes) > 10_000


@pytest.mark.drawn
def test_drives_with_what_an_ftl_has_keep_what_they_promised() -> None:
    found = faults(EXAMPLES / "ftl-faults.toml", cases=40, threads=2)
    assert found.failures == []
    counts = found.counts()
    assert counts["", "all"]["kept"] + counts["", "all"]["lost"] >= 20
    assert counts["ftl.isolation", "persistent"].total() > 10


def test_refused_cases_say_why() -> None:
    half = {"seed": 1, "run": {"requests": 20}, "draw": {"ftl.hints": [0, 99]}, "cuts": {"most": 1, "within": 10}}
    found = faults(half, cases=8)
    [(count, reason)] = found.refused()
    assert 0 < count < 8
    assert "ftl.hints" in reason
    assert f"{count} refused: {reason}" in str(found)
    with pytest.raises(InputError, match=r"every case is refused, the first for this: .*ftl\.hints.*\n  help: "):
        faults({**half, "draw": {"ftl.hints": [99]}}, cases=8)


def test_what_must_not_be_lost() -> None:
    def case(raid: str, *parts: str, cuts: tuple[int, ...] = ()) -> Case:
        return Case(0, {}, {"ftl.raid": raid}, {}, cuts, tuple(f"1us {part}" for part in parts))

    assert keeps_all(case("parity:4", "die 1", "program 0"))
    assert keeps_all(case("none", "program 0", "erase 1"))
    assert not keeps_all(case("none", "block 0:1"))
    assert not keeps_all(case("parity:4", "channel 1"))
    assert not keeps_all(case("parity:4", "block 0:1", "block 1:1"))
    assert not keeps_all(case("none", "program 0", cuts=(5,)))
    assert keeps_all(case("none", "die 1", "block 0:1")._replace(drive="worn"))


def test_a_failure_is_made_as_small_as_it_goes() -> None:
    case = Campaign.read({"seed": 3, "run": {"requests": 600}, "cuts": {"most": 9, "within": 100}}).case(8)
    needed = case.cuts[-1]
    small = shrunk(case, lambda less: needed in less.cuts and less.options["requests"] >= 40)
    assert small.cuts == (needed,)
    assert 40 <= small.options["requests"] < 46
    assert command_of(small).endswith(f"--set 'power.cut_at=[op:{needed}]'")


def test_the_command_of_a_case_has_the_options_of_the_case() -> None:
    run = {"workload": "llm/kv-cache", "requests": 40, "precondition": "closed-form", "check": True}
    case = Campaign.read({"run": run, "cuts": {"within": 9}}).case(0)
    words = shlex.split(command_of(case))
    assert words[:7] == ["ssdlab", "run", "-q", "--device", "tlc", "--workload", "llm/kv-cache"]
    settings = [word for at, word in enumerate(words) if words[at - 1] == "--set"]
    assert settings[0] == "age.precondition=closed-form"
    assert settings[1].startswith("power.cut_at=[op:")
    assert {"--check", "--requests", "--seed"} < set(words)


@pytest.mark.parametrize(
    ("data", "key"),
    [
        ({"cases": 0}, "cases"),
        ({"axes": {}}, "axes"),
        ({"run": {"seed": 1}}, "run.seed"),
        ({"draw": {"power.cut_at": ["1ms"]}}, "draw.power.cut_at"),
        ({"draw": {"power.plp": True}}, "draw.power.plp"),
        ({"cuts": {"often": 1}}, "cuts.often"),
        ({"parts": {"may": ["block"]}}, "parts.may"),
        ({"parts": {"most": 1}}, "parts.may"),
        ({"parts": {"may": ["die 1"], "drive": "worn"}}, "parts.drive"),
    ],
)
def test_a_wrong_file_is_refused_by_its_key(data: dict[str, object], key: str) -> None:
    with pytest.raises(InputError, match=f"fault: {key}: .*\n  help: "):
        Campaign.read(data)
