"""docs/lifecycle.md: its tables, diagrams and formulas are those of the simulator; the code that it names exists."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Any

import pytest

from lifecycle import PAGE_BYTES, T_PRE_CUT, Played, Span, diagram, play, table, times, toml
from pages import ROOT
from timelines import Slice

InPage = Callable[[str, str, str], None]
PAGE = "lifecycle.md"

RETRIES = 3
READ_SETTINGS: dict[str, Any] = {"chip.model": "steps.csv", "mapping.table": "ideal", "read.rpt": "rpt.csv"}
READ_FILES = {
    "steps.csv": f"pec,months,steps,pages\n0,0,{RETRIES},1\n90000,1000,40,1\n",
    "rpt.csv": f"pec,months,cut\n100000,1200,{T_PRE_CUT}\n",
}

PAGES = 12
"""Pages of a block, of the drive that collects."""
WRITE_SETTINGS: dict[str, Any] = {
    "geometry.channels": 1,
    "geometry.chips": 1,
    "geometry.planes": 1,
    "geometry.blocks": 14,
    "geometry.pages": PAGES,
    "ftl.over_provisioning": 1.0,
    "gc.start": 3,
    "gc.stop": 3,
    "buffer.size": "64KiB",
    "age.fill": 0.0,
    "chip.model": "none",
    "mapping.table": "ideal",
}
WRITES = 12
"""Writes of the burst: as many as the block has pages that the first of them opens."""
APART_NS = 800_000
"""Between two of them: longer than a program, so that a drive which does not collect keeps up."""


@cache
def lone_read(scheme: str) -> Played:
    return play(scheme, [(0, "Read", 0)], READ_SETTINGS, READ_FILES)


def spans_of_read(played: Played) -> list[Span]:
    """Everything that is done for the read, and because of it."""
    (request,) = played.requests
    spans = [Span("R1–R3", "host", 0, request.stages[0].from_ns, "taken up, found, queued", "")]
    for stage in request.stages:
        if stage.what == "command":
            spans.append(Span("R4", "plane", stage.from_ns, stage.to_ns, "SET FEATURE: reduced tPRE", "f"))
    decoded = [span.notes["step"] for span in played.track("/decoder")]
    for span in played.track("/plane 0"):
        step = str(span.notes.get("step", ""))
        cancelled = "in vain" in span.name
        mark = "x" if cancelled else step or {"RESET": "r", "SET FEATURE": "f"}[span.name]
        about = span.name if step else f"{span.name}{': default tPRE' * (span.name == 'SET FEATURE')}"
        spans.append(Span("R4" if step else "R8", "plane", span.begin, span.end, about, mark))
    for span in played.track("/channel 0"):
        step = str(span.notes["step"])
        spans.append(Span("R5", "bus", span.begin, span.end, f"page of attempt {step} leaves", step))
    for span in played.track("/decoder"):
        step = span.notes["step"]
        corrected = step == max(decoded)
        about = f"attempt {step}: {'corrected' if corrected else 'not corrected'}"
        spans.append(Span("R6, R7", "ECC", span.begin, span.end, about, str(step)))
    for track, resource, mark in (("/DRAM", "DRAM", "d"), ("/link out", "link", "l")):
        spans += [Span("R9", resource, span.begin, span.end, "data to the host", mark) for span in played.track(track)]
    return sorted(spans, key=lambda span: (span.begin, span.end))


def test_the_read_needs_three_retries_and_the_page_shows_how() -> None:
    for scheme in ("baseline", "pr2", "ar2", "pnar2"):
        played = lone_read(scheme)
        assert played.requests[0].retries == RETRIES
        assert played.result["flash.retry.steps.mean"] == RETRIES


def test_the_read_drive_is_shown(in_page: InPage) -> None:
    in_page(PAGE, "read-drive", toml(READ_SETTINGS, READ_FILES))


@pytest.mark.parametrize("scheme", ["baseline", "pnar2"])
def test_steps_of_a_read(scheme: str, in_page: InPage) -> None:
    spans = spans_of_read(lone_read(scheme))
    longest = lone_read("baseline").requests[0].latency_ns
    in_page(PAGE, f"read-{scheme}", table(spans))
    rows = ["plane", "bus", "ECC", "DRAM", "link"]
    in_page(PAGE, f"read-{scheme}-diagram", diagram(spans, rows, 5_000, longest, 50_000))


def read_formulas() -> list[tuple[str, str, str, int]]:
    """Scheme, formula, formula with the numbers in, and its value, of a lone read of page 0 (asplos21 Eq. 2 to 5)."""
    t, n = times(), RETRIES
    full, reduced, rest = t.t_read(0), t.t_read_reduced(0), t.t_dma + t.t_ecc
    numbers = f"{full:,} + {t.t_dma:,} + {t.t_ecc:,}"
    out = f"{t.dram:,} + {t.link:,}"
    tail = f"({t.t_dma:,} + {t.t_ecc:,})"
    first, end = "tR + tDMA + tECC", "tDRAM + tLINK"
    return [
        (
            "baseline",
            f"{first} + N (tR + tDMA + tECC) + {end}",
            f"{numbers} + {n} × ({numbers}) + {out}",
            full + rest + n * (full + rest) + t.out,
        ),
        (
            "pr2",
            f"{first} + N tR + tDMA + tECC + {end}",
            f"{numbers} + {n} × {full:,} + {tail} + {out}",
            full + rest + n * full + rest + t.out,
        ),
        (
            "ar2",
            f"{first} + tSET + N (ρ tR + tDMA + tECC) + {end}",
            f"{numbers} + {t.t_set:,} + {n} × ({reduced:,} + {t.t_dma:,} + {t.t_ecc:,}) + {out}",
            full + rest + t.t_set + n * (reduced + rest) + t.out,
        ),
        (
            "pnar2",
            f"{first} + tSET + N ρ tR + tDMA + tECC + {end}",
            f"{numbers} + {t.t_set:,} + {n} × {reduced:,} + {tail} + {out}",
            full + rest + t.t_set + n * reduced + rest + t.out,
        ),
    ]


def test_the_latency_of_the_read_is_the_formulas_to_the_nanosecond(in_page: InPage) -> None:
    rows = "| scheme | latency | with the numbers in [ns] | [ns] | simulated [ns] | saved [ns] |\n"
    rows += "|---|---|---|--:|--:|--:|\n"
    base = lone_read("baseline").requests[0].latency_ns
    for scheme, formula, numbers, value in read_formulas():
        simulated = lone_read(scheme).requests[0].latency_ns
        assert value == simulated, scheme
        rows += f"| `{scheme}` | {formula} | {numbers} | {value:,} | {simulated:,} | {base - simulated:,} |\n"
    in_page(PAGE, "read-formulas", rows)


def test_where_the_constants_of_the_read_come_from(in_page: InPage) -> None:
    t = times()
    cut = f"{t.senses[0]} × ((1 − {T_PRE_CUT}) tPRE + tEVAL + tDISCH)"
    rows = [
        ("tR", f"{t.senses[0]} × (tPRE + tEVAL + tDISCH)", t.t_read(0), "page 0 of a block: `chip.senses`, `chip.t_*`"),
        ("ρ tR", cut, t.t_read_reduced(0), f"ρ = {t.t_read_reduced(0) / t.t_read(0):.3f}, from `read.rpt`"),
        ("tDMA", "a page over the bus", t.t_dma, "`bus.t_dma`"),
        ("tECC", "a page decoded", t.t_ecc, "`ecc.t_decode`"),
        ("tSET", "SET FEATURE", t.t_set, "`chip.t_set`"),
        ("tRST", "RESET", t.t_rst, "`chip.t_rst`"),
        ("tDRAM", f"{PAGE_BYTES:,} B through the DRAM", t.dram, "`buffer.dram_bandwidth`"),
        ("tLINK", f"{PAGE_BYTES:,} B over the link", t.link, "`host.link_bandwidth`"),
    ]
    text = "| | is | [ns] | from |\n|---|---|--:|---|\n"
    in_page(PAGE, "read-constants", text + "".join(f"| {a} | {b} | {c:,} | {d} |\n" for a, b, c, d in rows))


def test_what_is_left_on_the_die_after_the_read(in_page: InPage) -> None:
    """RESET and SET FEATURE come when the data is in the controller: the host does not wait for them."""
    t, played = times(), lone_read("pnar2")
    decoded = played.track("/decoder")[-1].end
    left = [span for span in spans_of_read(played) if span.step == "R8"]
    assert [(span.begin, span.end) for span in left] == [
        (decoded, decoded + t.t_rst),
        (decoded + t.t_rst, decoded + t.t_rst + t.t_set),
    ]
    (wasted,) = [span for span in spans_of_read(played) if span.mark == "x"]
    assert wasted.end == decoded
    busy, sensed = left[-1].end - decoded, wasted.end - wasted.begin
    text = (
        f"The plane is busy for {busy:,} ns after the last decoding, from {decoded:,} to {left[-1].end:,} ns.\n"
        f"The host does not wait for that. Attempt {RETRIES + 1} has been sensed for {sensed:,} ns in vain.\n"
    )
    in_page(PAGE, "read-rest", text)


# The write that collects.


def history() -> list[int]:
    """The pages that are written first. Afterwards three blocks are free, and the block that greedy collection takes
    next has three valid pages."""
    pages = list(range(7 * PAGES))
    # Block 0 keeps three valid pages, blocks 1 to 5 keep five each: the first collection takes blocks 0 and 1.
    pages += [page for page in range(PAGES) if page % 4 != 0]
    pages += [block * PAGES + page for block in range(1, 7) for page in range(7)][:39]
    # The pages of the block which that collection's write opens. The last two are block 2's, which keeps three.
    pages += [
        6 * PAGES + 4,
        6 * PAGES + 5,
        1,
        2,
        2 * PAGES,
        2 * PAGES + 1,
        3 * PAGES,
        3 * PAGES + 1,
        5 * PAGES,
        5 * PAGES + 1,
    ]
    return [*pages, 2 * PAGES + 7, 2 * PAGES + 8]


BETWEEN_NS = 10_000_000
BURST = [6 * PAGES + 6, 6 * PAGES + 7, *range(3 * PAGES + 2, 3 * PAGES + 2 + WRITES - 2)]


@cache
def collecting(more: int = WRITES, **changes: Any) -> Played:
    """The history, this many writes of the burst, and a read when all is done."""
    before = history()
    requests = [(index * BETWEEN_NS, "Write", page) for index, page in enumerate(before)]
    start = len(before) * BETWEEN_NS
    requests += [(start + index * APART_NS, "Write", page) for index, page in enumerate(BURST[:more])]
    requests.append((start + 2 * BETWEEN_NS, "Read", 0))
    settings = WRITE_SETTINGS | {key.replace("__", "."): value for key, value in changes.items()}
    return play("baseline", requests, settings, {})


def spans_of_write(played: Played) -> list[Span]:
    """What the drive does from the write that collects until it rests again; times from that write's arrival."""
    start = len(history()) * BETWEEN_NS
    spans: list[Span] = []

    def add(track: str, of: Callable[[Slice], tuple[str, str, str, str]]) -> None:
        for span in played.track(track):
            if start <= span.begin < start + 2 * BETWEEN_NS:
                step, resource, about, mark = of(span)
                spans.append(Span(step, resource, span.begin - start, span.end - start, about, mark))

    opened = next(span.begin for span in played.track("/channel 0") if span.begin >= start) - start
    spans.append(Span("W1", "host", 0, 0, "taken up", ""))
    spans.append(Span("W5", "FTL", opened, opened, "a victim is chosen, its reads are queued", ""))
    add("/link in", lambda _: ("W2", "link", "data from the host", "h"))
    add("/DRAM", lambda _: ("W3", "DRAM", "data into the buffer", "h"))
    reads, programs = iter("123"), iter("123")

    def plane(span: Slice) -> tuple[str, str, str, str]:
        if span.name == "erase":
            return "W8", "plane", "the victim is erased", "E"
        if span.name == "sense (move)":
            number = next(reads)
            place = f"block {span.notes['block']}, page {span.notes['page']}"
            return "W6", "plane", f"valid page {number}: {place}", number
        if span.name == "program (move)":
            return "W7", "plane", f"copy of valid page {next(programs)}", "P"
        return "W4", "plane", "the host's page is programmed", "H"

    add("/plane 0", plane)
    out, into = iter("123"), iter("h123")

    def bus(span: Slice) -> tuple[str, str, str, str]:
        if span.name == "read_data":
            number = next(out)
            return "W6", "bus", f"valid page {number} to the controller", number
        number = next(into)
        if number == "h":
            return "W4", "bus", "the host's page to its register", "h"
        return "W7", "bus", f"valid page {number} to its register", number

    add("/channel 0", bus)
    decoded = iter("123")
    add("/decoder", lambda _: ("W6", "ECC", f"valid page {next(decoded)} decoded", "e"))
    return sorted(spans, key=lambda span: (span.begin, span.end, span.step))


def test_the_write_drive_is_shown(in_page: InPage) -> None:
    in_page(PAGE, "write-drive", toml(WRITE_SETTINGS, {}))


def test_the_write_collects_a_victim_with_three_valid_pages(in_page: InPage) -> None:
    played = collecting(more=1)
    spans = spans_of_write(played)
    before = play("baseline", [(i * BETWEEN_NS, "Write", p) for i, p in enumerate(history())], WRITE_SETTINGS, {})
    # It has begun when the host sees the write complete, where the run ends without the read.
    requests = [(i * BETWEEN_NS, "Write", p) for i, p in enumerate([*history(), BURST[0]])]
    assert play("baseline", requests, WRITE_SETTINGS, {}).result["ftl.gc_runs"] == played.result["ftl.gc_runs"]
    # One collection more, and three more pages relocated, than by the history alone.
    assert played.result["ftl.gc_runs"] - before.result["ftl.gc_runs"] == 1
    moved = "ftl.pages_relocated"
    assert played.result[moved] - before.result[moved] == 3
    in_page(PAGE, "write-steps", table(spans))
    rows = ["link", "DRAM", "bus", "plane", "ECC"]
    in_page(PAGE, "write-diagram", diagram(spans, rows, 100_000, spans[-1].end, 1_000_000))
    in_page(PAGE, "write-diagram-fine", fine(spans))


def fine(spans: list[Span]) -> str:
    """The reads of the victim's valid pages, by finer steps."""
    begin = min(span.begin for span in spans if span.step == "W6")
    shifted = [span._replace(begin=span.begin - begin, end=span.end - begin) for span in spans if span.begin >= begin]
    until = max(span.end for span in shifted if span.step == "W6") + 20_000
    text = diagram(shifted, ["bus", "plane", "ECC"], 5_000, until, 50_000)
    return f"From {begin:,} ns on, when the host's program has ended:\n\n{text}"


def victim_pages() -> list[int]:
    """The valid pages of the victim, by their places in it."""
    return [9, 10, 11]


def test_the_write_in_closed_form(in_page: InPage) -> None:
    t, spans = times(), spans_of_write(collecting(more=1))
    (request,) = [of for of in collecting(more=1).requests if of.request == len(history())]
    acknowledged = t.link + t.dram
    assert request.latency_ns == acknowledged
    through = collecting(more=1, buffer__mode="write-through").requests[len(history())].latency_ns
    programmed = t.link + t.t_dma + t.t_prog
    assert through == programmed == max(span.end for span in spans if span.step == "W4")
    senses = [t.t_read(page) for page in victim_pages()]
    read_until = programmed + sum(senses) + len(senses) * t.t_dma
    assert read_until == max(span.end for span in spans if span.step == "W6" and span.resource == "bus")
    moved = read_until + len(senses) * (t.t_dma + t.t_prog)
    assert moved == max(span.end for span in spans if span.step == "W7")
    erased = moved + t.t_bers
    assert erased == max(span.end for span in spans)
    host = f"{t.link:,} + {t.t_dma:,} + {t.t_prog:,}"
    sensed = " + ".join(f"{sense:,}" for sense in senses)
    pages = len(senses)
    rows = [
        ("the host sees its write complete", "tLINK + tDRAM", f"{t.link:,} + {t.dram:,}", acknowledged),
        ("its page is on flash (`write-through` completes here)", "tLINK + tDMA + tPROG", host, programmed),
        (
            "the valid pages have left the plane",
            "… + Σ tR + 3 tDMA",
            f"{programmed:,} + ({sensed}) + {pages} × {t.t_dma:,}",
            read_until,
        ),
        (
            "they are programmed again",
            "… + 3 (tDMA + tPROG)",
            f"{read_until:,} + {pages} × ({t.t_dma:,} + {t.t_prog:,})",
            moved,
        ),
        ("the victim is free", "… + tBERS", f"{moved:,} + {t.t_bers:,}", erased),
    ]
    text = "| when | formula | with the numbers in [ns] | [ns] = simulated |\n|---|---|---|--:|\n"
    in_page(PAGE, "write-formulas", text + "".join(f"| {a} | {b} | {c} | {d:,} |\n" for a, b, c, d in rows))


def test_later_writes_wait_for_room_in_the_buffer(in_page: InPage) -> None:
    first = len(history())
    collected = collecting().requests[first : first + WRITES]
    # A drive with two blocks more does not collect.
    roomy = collecting(geometry__blocks=16)
    assert roomy.result["ftl.gc_runs"] == 0
    undisturbed = roomy.requests[first : first + WRITES]
    assert {of.latency_ns for of in undisturbed} == {times().link + times().dram}
    text = "| write | arrives [ns] | latency [ns] | of it in `buffer` [ns] | without collection [ns] |\n"
    text += "|--:|--:|--:|--:|--:|\n"
    for number, (with_it, without) in enumerate(zip(collected, undisturbed, strict=True)):
        waited = sum(stage.took_ns for stage in with_it.stages if stage.what == "buffer")
        assert with_it.latency_ns == without.latency_ns + waited
        text += f"| {number} | {number * APART_NS:,} | {with_it.latency_ns:,} | {waited:,} | {without.latency_ns:,} |\n"
    assert collected[0].latency_ns == undisturbed[0].latency_ns < max(of.latency_ns for of in collected) / 100
    in_page(PAGE, "write-burst", text)
    larger = collecting(buffer__size="96KiB").requests[first : first + WRITES]
    assert max(of.latency_ns for of in larger) < max(of.latency_ns for of in collected)


# The page and the code.


def prose() -> str:
    """The page without what tests write into it."""
    text = (ROOT / "docs" / PAGE).read_text()
    return re.sub(r"<!-- [\w-]+ -->\n.*?<!-- end -->", "", text, flags=re.DOTALL)


def test_the_pages_code_exists() -> None:
    named = re.findall(r"`((?:\w+/)*\w+\.rs)(?:: (\w+))?`", prose())
    assert len(named) > 15
    assert any(function for _, function in named)
    for path, function in named:
        source = (ROOT / "crates" / "ssd" / "src" / path).read_text()
        if function:
            assert re.search(rf"\bfn {function}\b", source), f"{path} has no function {function}"


def test_the_steps_of_an_attempt_are_those_of_the_code(in_page: InPage) -> None:
    source = (ROOT / "crates" / "ssd" / "src" / "flash" / "read.rs").read_text()
    function = source.partition("fn step_ends(")[2]
    found = re.search(r"^ {8}match step \{\n.*?^ {8}\}\n", function, re.MULTILINE | re.DOTALL)
    assert found
    in_page(PAGE, "read-steps", f"```rust\n{dedent(found[0])}```\n")


def test_every_step_of_the_tables_has_its_place_in_the_code() -> None:
    text = (ROOT / "docs" / PAGE).read_text()
    places = re.findall(r"^\| ([RW]\d+) \| .*\.rs", prose(), re.MULTILINE)
    assert len(places) == len(set(places))
    for kind in "RW":
        numbers = [int(place[1:]) for place in places if place[0] == kind]
        assert all(after == before + 1 for before, after in pairwise(numbers))
    assert set(re.findall(r"\b[RW]\d\b", text)) == set(places)


def test_no_number_stands_outside_the_checked_blocks() -> None:
    text = re.sub(
        r"`[^`\n]*`|\]\([^)]*\)|\b[RW]\d\b|asplos21|hpca24|ASPLOS'21|Eq\. \d|^#.*$", "", prose(), flags=re.MULTILINE
    )
    assert not re.findall(r".*\d.*", text)
