"""What parts of a whole product buy: against closed forms, and against the definition by orders."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ssdlab
from conftest import Cli
from ssdlab.sweeps.shares import pairs, shares

PARTS = ("a", "b", "c", "d")


def product(value: Callable[[set[str], int, int], float]) -> polars.DataFrame:
    """A sweep's table: every combination of four parts at two ages by three seeds."""
    rows: list[dict[str, Any]] = []
    for there in itertools.product(("off", "on"), repeat=len(PARTS)):
        joined = {part for part, label in zip(PARTS, there, strict=True) if label == "on"}
        for age, seed in itertools.product((1, 2), (1, 2, 3)):
            labels = dict(zip(PARTS, there, strict=True))
            rows.append({**labels, "age": age, "seed": seed, "case": "0", "t": value(joined, age, seed)})
    return polars.DataFrame(rows)


def made_up(joined: set[str], age: int, seed: int) -> float:
    """a and b halve it, but no more together than one of them; c divides it by 3 at each age; d does nothing."""
    return (900.0 + seed) / (2 if joined & {"a", "b"} else 1) / (3**age if "c" in joined else 1)


def test_shares_are_what_the_closed_form_says() -> None:
    table = product(made_up)
    found = {(row["age"], row["part"]): row for row in shares(table, "t", PARTS).iter_rows(named=True)}
    for age in (1, 2):
        names = ("alone", "on_top", "share")
        assert [found[age, "a"][name] for name in names] == pytest.approx([2, 1, math.sqrt(2)])
        assert [found[age, "b"][name] for name in names] == pytest.approx([2, 1, math.sqrt(2)])
        assert [found[age, "c"][name] for name in names] == pytest.approx([3**age] * 3)
        assert [found[age, "d"][name] for name in names] == pytest.approx([1, 1, 1])
        assert found[age, "a"]["share_ci95"] == pytest.approx(0, abs=1e-9), "seeds differ by a factor alone"
    meet = {(row["part"], row["other"]): row["factor"] for row in pairs(table, "t", PARTS).iter_rows(named=True)}
    assert meet == pytest.approx({pair: 0.5 if pair == ("a", "b") else 1 for pair in meet})
    assert len(meet) == 6


@given(st.lists(st.floats(1, 1000), min_size=16, max_size=16))
@settings(max_examples=25)
def test_shares_are_means_over_all_orders_and_multiply_to_the_whole_gain(values: list[float]) -> None:
    subsets = [frozenset(of) for size in range(5) for of in itertools.combinations(PARTS, size)]
    of = dict(zip(subsets, values, strict=True))
    table = product(lambda joined, age, seed: of[frozenset(joined)]).filter(seed=1, age=1).drop("age", "seed")
    found = dict(shares(table, "t").select("part", "share").iter_rows())
    assert math.prod(found.values()) == pytest.approx(of[frozenset()] / of[frozenset(PARTS)])
    by_order: dict[str, list[float]] = {part: [] for part in PARTS}
    for order in itertools.permutations(PARTS):
        for place, part in enumerate(order):
            by_order[part].append(math.log(of[frozenset(order[:place])] / of[frozenset(order[: place + 1])]))
    assert found == pytest.approx({part: math.exp(math.fsum(logs) / 24) for part, logs in by_order.items()})


def test_the_command_shows_and_writes_what_parts_buy(cli: Cli, tmp_path: Path) -> None:
    product(made_up).write_csv(tmp_path / "made-up.csv")
    words = [word for part in PARTS for word in ("--part", part)]
    done = cli("shares", "made-up.csv", "--metric", "t", *words, "--out", "shares.csv")
    assert done.returncode == 0, done.stderr
    assert ["2", "c", "9", "9", "9"] in [line.split() for line in done.stdout.splitlines()]
    assert polars.read_csv(tmp_path / "shares.csv").equals(shares(product(made_up), "t", PARTS))
    wrong = cli("shares", "made-up.csv", "--metric", "t", "--part", "seed")
    assert (wrong.returncode, "parts are axes of two labels" in wrong.stderr) == (2, True)


@pytest.mark.parametrize(
    ("change", "metric", "parts", "says"),
    [
        (lambda table: table.head(95), "t", PARTS, "age=2, seed=3: has 15 positive t in 15 cases, for 16 combinations"),
        (lambda table: table.with_columns(t=table["t"] - 150.5), "t", PARTS, "positive t in 16 cases"),
        (lambda table: table, "u", PARTS, "the table has no column u"),
        (lambda table: table, "t", ("seed",), "parts are axes of two labels"),
    ],
)
def test_what_is_no_product_is_told(
    change: Callable[[polars.DataFrame], polars.DataFrame], metric: str, parts: tuple[str, ...], says: str
) -> None:
    with pytest.raises(ssdlab.InputError, match=says):
        shares(change(product(made_up)), metric, parts)
