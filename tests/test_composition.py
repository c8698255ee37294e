"""What composes with what: each pair of parts is made into a small run, and the page lists what came of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest

from composition import PARTS, Part, alone, together

REASONS: list[tuple[str, str, str, str]] = [
    # one part, the other (regular expressions), kind, why
    (".*", "flash without a drive", "D", "it has no FTL, no buffer and no host commands, which this part is made of"),
    ("array.*|served.*", "flash without a drive", "D", "an array is made of drives, and a server serves them"),
    ("flash without a drive", ".*", "D", "the engine sends host commands, which a drive takes"),
    ("closed-form start", "flash without a drive", "D", "it describes what an FTL has left behind"),
    ("power cuts", "flash without a drive", "N", "commands under way are not cut there"),
    ("erases pulse.*", "QLC.*", "M", "erase pulses were measured of three-bit chips alone (electronics25)"),
    ("QLC.*", "copyback", "P", "each pass takes its data over the bus"),
    ("copyback", "parity.*", "P", "parity is computed by the controller, which copyback goes around"),
    ("copyback", "zones", "D", "the host resets zones: the drive collects nothing"),
    ("zones", ".*collection", "D", "the host resets zones: the drive collects nothing"),
    ("zones", ".*handles", "D", "both say where data goes: a zone, or a handle"),
    ("zones", ".* table|journal.*", "D", "the map of zones is a list of blocks, which is always in memory"),
    ("zones", "FTL in Python", "D", "the host of zones places its data itself"),
    ("zones", "closed-form start", "S", "a zone is not overwritten in place; `age.fill` says how many are full"),
    ("zones", "array.*", "N", "parity of a stripe that is not full would need a log beside it"),
    ("copyback", "blocks and.*", "N", "a merge reads its pages and programs them"),
    ("SLC cache", "blocks and.*", "N", "the log would have to be blocks of the cache"),
    ("parity.*", "blocks and.*", "N", "parity would need blocks beside those that are mapped as a whole"),
    ("zones", "blocks and.*", "D", "they are two choices of one mapping"),
    ("blocks and.*", ".*handles", "D", "a merge puts all of a logical block into one, whatever its handle"),
    ("blocks and.*", ".* table|journal.*", "D", "a table of blocks is small, and always in memory"),
    ("blocks and.*", "FTL in Python", "D", "both say where each page goes"),
    ("blocks and.*", "closed-form start", "D", "it describes what a mapping by pages has left behind"),
    ("blocks and.*", "background collection", "D", "merges begin when the log is full, not when a die is idle"),
    ("cached.*", "learned.*", "D", "they are two choices of one table"),
    ("served.*", "KV cache.*", "D", "requests come from programs, or from the engine"),
]
KINDS = {
    "D": "by definition",
    "P": "physics of the chip",
    "S": "the specification",
    "M": "no measurement is published",
    "N": "not built yet",
}


def reason(one: Part, other: Part) -> tuple[str, str]:
    """Kind and sentence of the last reason that is given for a pair."""
    given = [row[2:] for row in REASONS if re.fullmatch(row[0], one.name) and re.fullmatch(row[1], other.name)]
    assert given, f"{one.name} and {other.name} do not work together, and no reason is given"
    return given[-1]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_each_part_is_seen_at_work(part: Part, tmp_path: Path) -> None:
    assert alone((part,), tmp_path) is None


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.long
def test_the_page_says_what_each_pair_does(in_page: Callable[[str, str, str], None], tmp_path: Path) -> None:
    found = {(one.name, other.name): together(one, other, tmp_path) for one, other in combinations(PARTS, 2)}
    table = [f"| | | {' | '.join(str(number + 1) for number in range(len(PARTS)))} |", "|---" * (len(PARTS) + 2) + "|"]
    for row, part in enumerate(PARTS):
        pairs = [(other, part) for other in PARTS[:row]]
        cells = ["+" if found[one.name, other.name] is None else reason(one, other)[0] for one, other in pairs]
        cells += [""] * (len(PARTS) - row)
        table.append(f"| {row + 1} | [{part.name}]({part.page}) | {' | '.join(cells)} |")
    in_page("composition.md", "pairs", "\n".join([*table, ""]))

    rows = ["| parts | what the program says | why |", "|---|---|---|"]
    for one, other in combinations(PARTS, 2):
        said = found[one.name, other.name]
        if said is not None:
            kind, why = reason(one, other)
            rows.append(f"| {one.name}; {other.name} | {said} | {KINDS[kind]}: {why} |")
    in_page("composition.md", "refused", "\n".join([*rows, ""]))
    in_page(
        "composition.md", "sum", f"{len(found)} pairs: {sum(said is None for said in found.values())} work together.\n"
    )
