"""Policies in Python: their twins in Rust give the same bytes, and their mistakes are told with their lines."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ssdlab
import twins
from conftest import Cli
from ssdlab import policy
from ssdlab.runs.manifest import files_of, inputs_of, key_of
from ssdlab.runs.options import options_of
from ssdlab.runs.reproduce import Reproducer

TWINS = Path(twins.__file__)

SMALL: dict[str, Any] = {
    "precondition": "closed-form",
    "replay": "closed:16",
    "requests": 10_000,
    "age": "pec=2000,retention=1y",
    "settings": {
        "geometry.channels": 1,
        "geometry.chips": 1,
        "geometry.dies": 1,
        "geometry.blocks": 32,
        "geometry.pages": 36,
        "ftl.over_provisioning": 0.6,
        "buffer.size": "1MiB",
        "workload.rw": "randrw",
        "workload.rwmixread": 20,
    },
}
"""A drive of one die whose blocks are collected and whose reads are retried from the start."""

PHASES: dict[str, Any] = {
    "chip.t_prog": None,
    "chip.program_loops": 8,
    "chip.t_program_pulse": "60us",
    "chip.t_program_verify": "25us",
    "chip.t_bers": None,
    "chip.erase_loops": 3,
    "chip.t_erase_pulse": "1ms",
    "chip.t_erase_verify": "100us",
    "schedule.order": "read-first",
    "schedule.suspend_program": "inter-phase",
    "schedule.suspend_erase": "pulse-boundary",
}


def small(**changed: Any) -> dict[str, Any]:
    """The small drive with other settings."""
    return SMALL | {"settings": SMALL["settings"] | changed}


def drawn(seed: int) -> dict[str, Any]:
    """A random drive under a random load; each question comes up hundreds of times."""
    draw = random.Random(seed)
    return SMALL | {
        "seed": seed,
        "replay": f"closed:{draw.randint(4, 40)}",
        "age": f"pec={draw.choice([1000, 2000, 3000])},retention={draw.choice(['3mo', '1y'])}",
        "settings": SMALL["settings"]
        | PHASES
        | {
            "geometry.dies": draw.choice([1, 2]),
            "geometry.planes": draw.choice([1, 2, 4]),
            "geometry.blocks": draw.randint(30, 60),
            "geometry.pages": 3 * draw.randint(8, 20),
            "ftl.over_provisioning": draw.choice([0.7, 1.0]),
            "ftl.streams": draw.choice([1, 2]),
            "gc.copyback": draw.choice([False, True]),
            "gc.preemptible": draw.choice([False, True]),
            "read.pipeline": draw.choice(["off", "cache-read"]),
            "chip.program_loops": draw.randint(2, 9),
            "workload.rwmixread": draw.choice([20, 40]),
        },
    }


class Counting:
    """A policy that counts how often it is asked."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self.ask = ask
        self.times = 0

    def __call__(self, question: Any) -> Any:
        self.times += 1
        return self.ask(question)


def statistics(result: Any) -> str:
    """All that a run has found out, as its JSON has it."""
    data = json.loads(result.to_json())
    return json.dumps({part: data[part] for part in data if part not in ("manifest", "process")})


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("axis", "twin", "key", "word", "other"),
    [
        ("victim", twins.greedy, "gc.victim", "greedy", "cost-benefit"),
        ("victim", twins.cost_benefit, "gc.victim", "cost-benefit", "greedy"),
        ("victim", twins.five_choices, "gc.victim", "d-choices:5", "greedy"),
        ("victim", twins.first_filled, "gc.victim", "fifo", "fifo"),
        ("next", twins.table, "read.next", "table", "oracle"),
        ("next", twins.swift, "read.next", "swift", "swift"),
        ("next", twins.sentinel, "read.next", "sentinel", "sentinel"),
        ("order", twins.read_first, "schedule.order", "read-first", "fifo"),
        ("order", twins.user_first, "schedule.order", "user-first", "fifo"),
        ("suspend_program", twins.inter_phase, "schedule.suspend_program", "inter-phase", "intra-phase"),
        ("suspend_program", twins.intra_phase, "schedule.suspend_program", "intra-phase", "inter-phase"),
        ("suspend_erase", twins.safe_points, "schedule.suspend_erase", "safe-points", "reset-and-resume"),
        ("pacing", twins.token, "gc.pacing", "token", "proportional"),
    ],
)
def test_a_policy_gives_the_bytes_of_its_twin_in_rust(
    axis: str, twin: Callable[..., Any], key: str, word: str, other: str, seed: int
) -> None:
    """The policy stands in for another choice where that costs the same."""
    options = drawn(seed)
    built_in = ssdlab.run("tlc-page", **options | {"settings": options["settings"] | {key: word}})
    counting = Counting(twin)
    prototype = ssdlab.run(
        "tlc-page", **options | {"settings": options["settings"] | {key: other}, "policies": {axis: counting}}
    )
    assert statistics(prototype) == statistics(built_in)
    # A run's device is described twice: for its manifest, and when it is built.
    assert counting.times == 10 if axis == "order" else counting.times > 50, counting.times
