"""Which of the longest tests `make test` runs: one in ``share``, chosen by the tree of the commit, so that each landing
runs others, and all in as many landings. `make check-all` runs all of them.

Python's are marked ``drawn``; those of the crates, which have no marks, are named here. What soaks, and what once found
lost data, is not among them: it is run every time. As a program this prints what leaves out the rest of the crates'::

    python tests/drawing.py 5    # --skip memory::memory_per_block… --skip …

`make quick` leaves all of them out, and takes one in so many of the files of the crates' tests::

    python tests/drawing.py quick       # --skip memory::memory_per_block… --skip …
    python tests/drawing.py quick 12    # the same, and contention:: raid:: …
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

OF_CRATES = (
    "arrays: devices::drives_of_an_array_are_overwritten_as_one_drive_is",
    "arrays: devices::refresh_waits_for_the_window_of_its_drive",
    "arrays: devices::runs_of_arrays_are_repeatable",
    "arrays: loss::the_mean_time_to_data_loss_is_that_of_its_markov_chain",
    "drive: live::requests_from_outside_have_the_result_of_their_replay",
    "drive: memory::memory_per_block_and_per_touched_page_is_what_is_stated",
    "drive: own_ftl::one_that_decides_as_the_drive_does_changes_nothing",
    "drive: own_ftl::one_that_decides_at_random_loses_nothing_is_saved_and_goes_on",
    "drive: policies::stand_ins_that_answer_like_the_built_in_choices_change_nothing",
    "drive: queueing_theory::one_bus_under_poisson_reads_waits_as_an_m_d_1_queue",
    "drive: queueing_theory::one_die_under_poisson_reads_waits_as_an_m_d_1_queue",
    "drive: queueing_theory::one_ecc_engine_under_poisson_reads_waits_as_an_m_d_1_queue",
    "drive: steady::rounds_are_short_where_the_drive_starts_in_the_steady_state_of_its_load",
    "it: generator::twins_have_what_their_papers_tables_say",
    "reads: schemes_on_devices::every_scheme_runs_on_every_device_or_says_that_it_changes_nothing",
    "reads: suspension::a_million_suspensions_lose_nothing_and_do_nothing_twice",
    "ssd: run::kept::tests::what_is_not_asked_changes_nothing",
    "writes: garbage_collection::dies_of_a_staggered_drive_collect_one_after_another",
    "writes: garbage_collection::fifo_amplifies_uniform_writes_as_theory_says",
    "writes: garbage_collection::greedy_amplifies_less_than_fifo_and_d_choices_lie_between",
    "writes: garbage_collection::paced_writes_wait_for_two_collections_at_most_and_cost_nothing",
    "writes: garbage_collection::the_closed_form_start_is_the_state_that_writing_leads_to",
    "writes: garbage_collection::under_hot_and_cold_traffic_streams_pay_and_cost_benefit_beats_greedy",
    "writes: garbage_collection::wear_levelling_narrows_the_spread_of_erases",
    "writes: map_unit::write_amplification_is_the_closed_form_whatever_the_unit",
    "writes: raid::what_random_writes_leave_survives_the_loss_of_a_die_and_of_blocks",
    "writes: stationary::a_load_that_leaves_dies_idle_meets_a_drive_whose_collection_has_kept_up",
    "writes: stationary::the_first_requests_meet_the_drive_of_a_long_run",
    "writes: warming::a_skewed_load_that_leaves_dies_idle_meets_collections_that_go_on",
    "writes: warming::a_warm_up_leaves_no_trace_but_the_state",
    "writes: warming::a_warmed_drive_is_checked_like_any_other",
    "writes: warming::the_first_requests_of_a_skewed_load_meet_the_drive_of_a_long_run",
)
"""The crates' longest tests: three quarters of their time. Each begins with the program that has it."""


def sources() -> str:
    """The tree of the commit; empty where there is none."""
    words = ["git", "rev-parse", "HEAD^{tree}"]
    told = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout.strip()


def is_drawn(name: str, share: int, of: str) -> bool:
    """Whether a test is among one in ``share`` of those with the sources ``of``; without sources all are."""
    return not of or number(name, of) % share == 0


def number(name: str, of: str) -> int:
    """A number that a name and the sources choose."""
    return int(hashlib.sha256(f"{of} {name}".encode()).hexdigest(), 16)


def skipped(share: int, of: str) -> list[str]:
    """The options that leave out those of the crates' longest tests that are not drawn."""
    return skips([name for name in OF_CRATES if not is_drawn(name, share, of)])


def skips(names: Iterable[str]) -> list[str]:
    """The options that leave out tests of the crates."""
    return [word for name in names for word in ("--skip", name.partition(": ")[2])]


def files(share: int, of: str) -> list[str]:
    """One in so many of the modules of the crates' tests, which the sources choose, as filters of their programs: each
    is a file. There are always some: without a filter all tests would run."""
    found = [f"{path.stem}::" for path in sorted(ROOT.glob("crates/*/tests/*/*.rs")) if path.stem != "main"]
    return found[number("files", of) % share :: share] if of else found


def main() -> None:
    word, *share = sys.argv[1:]
    if word == "quick":
        print(*skips(OF_CRATES), *(name for part in share for name in files(int(part), sources())))
    else:
        print(*skipped(int(word), sources()))


if __name__ == "__main__":
    main()
