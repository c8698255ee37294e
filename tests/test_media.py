"""Flash without a drive, from Python."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import polars
import pytest

import ssdlab
from pages import ROOT, blocks


def ended(media: ssdlab.Media) -> dict[int, ssdlab.MediaCompletion]:
    """All that ends, by number."""
    found: dict[int, ssdlab.MediaCompletion] = {}
    while done := media.advance_to_completion():
        found |= {of.command: of for of in done}
    return found


def test_the_example_of_the_page_says_what_it_promises() -> None:
    (example,) = (block.text for block in blocks(ROOT / "docs" / "tier.md", "python") if "ssdlab.Media" in block.text)
    with redirect_stdout(io.StringIO()) as said:
        exec(example, {"ssdlab": ssdlab})
    first, *rules = said.getvalue().splitlines()
    finish, retries = map(int, first.split())
    # A page of each die, beside one another: a sense, a transfer and a decoding, or two senses.
    assert (5_000 < finish < 15_000, retries) == (True, 0)
    assert rules[0] == "success None"
    assert rules[1:] == [
        "out-of-order program of page 3 of block 7 of plane 0 of die 0: the pages of a block are programmed in order",
        "  help: program page 0 next",
    ]


def test_blocks_are_erased_programmed_and_read_by_their_rules() -> None:
    media = ssdlab.Media("tlc", age={"fill": 0.5})
    shape = media.shape
    assert (shape.planes, shape.program_pages, shape.page_size) == (4, 3, 16_384)
    assert (media.next_page(0, 0, 0), media.next_page(0, 0, shape.blocks - 1)) == (None, 0)
    place = {"die": 0, "plane": 0, "block": 0}
    rows = [(0, "erase", 0), (0, "program", 0), (0, "program", 3), (0, "read", 4), (0, "read", 6)]
    commands = polars.DataFrame(rows, schema=["time_ns", "op", "page"], orient="row").with_columns(
        polars.lit(value).alias(name) for name, value in place.items()
    )
    assert media.submit_many(commands) == range(5)
    assert media.outstanding == 5
    done = ended(media)
    assert [done[number].status for number in range(5)] == ["success"] * 4 + ["unwritten"]
    assert done[0].finish_ns < done[1].finish_ns < done[2].finish_ns < done[3].finish_ns
    assert (media.next_page(0, 0, 0), media.outstanding, media.next_event) == (6, 0, None)


def test_old_data_is_retried_and_a_checkpoint_goes_on(tmp_path: Path) -> None:
    media = ssdlab.Media("qlc", scheme="baseline", age={"pec": 1000, "retention": "3mo"}, seed=5)
    reads = {"time_ns": range(0, 200_000, 1000), "op": "read", "die": 1, "plane": 2, "block": 7, "page": range(200)}
    media.submit_many(reads)
    media.advance(50_000)
    media.save(tmp_path / "flash.ckpt")
    again = ssdlab.Media.load(tmp_path / "flash.ckpt")
    assert (again.now, again.outstanding) == (50_000, media.outstanding)
    done = ended(media)
    assert ended(again) == done
    assert sum(of.retries for of in done.values()) > 200
    with pytest.raises(ssdlab.InputError, match="of flash without a drive\n  help: open it as Media"):
        ssdlab.Device.load(tmp_path / "flash.ckpt")
    ssdlab.Device("tlc").save(tmp_path / "drive.ckpt")
    with pytest.raises(ssdlab.InputError, match="is the checkpoint of a drive\n  help: open it as Device"):
        ssdlab.Media.load(tmp_path / "drive.ckpt")


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ssdlab.InputError, match=r"--set gc.start=4.* has no effect on flash without a drive"):
        ssdlab.Media("tlc", settings={"gc.start": 4})
    with pytest.raises(ssdlab.InputError, match=r"policies.victim: has no effect on flash without a drive"):
        ssdlab.Media("tlc", policies={"victim": lambda blocks: None})
    media = ssdlab.Media("tlc")
    with pytest.raises(
        ssdlab.InputError, match=r"commands\[0\]: media: there is no page 0 of block 480 .*\n.*from 0 to 479"
    ):
        media.submit(0, "read", 0, 0, 480)
    with pytest.raises(
        ssdlab.InputError, match=r"commands\[1\]: op is .*write.*\n  help: write one of read, program, erase"
    ):
        media.submit_many({"time_ns": 0, "op": ["read", "write"], "die": 0, "plane": 0, "block": 0})
    assert media.outstanding == 1
    with pytest.raises(ssdlab.InputError, match=r"commands\[0\]: die is -1\n  help: write a whole number from 0 to"):
        media.submit(0, "read", -1, 0, 0)
    with pytest.raises(ssdlab.InputError, match="has no column block"):
        media.submit_many({"time_ns": 0, "op": "read", "die": 0, "plane": 0})
