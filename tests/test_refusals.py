"""Combinations of settings that are refused: each is tried, and the page lists the answers."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import ssdlab
from pages import ROOT
from ssdlab.runs.options import value_text

PARITY = {"ftl.raid": "parity:4", "age.fill": 0}
CACHE = {"ftl.slc_cache": "dynamic"}
WEIGHED = {"ecc.soft": "weighed", "ecc.code": "qc-ldpc", "read.next": "swift"}
TRIALS: list[tuple[str, dict[str, object]]] = [
    ("tlc-page", {"geometry.pages": 1000, "chip.program_unit": "wordline"}),
    ("tlc", {"buffer.size": "64KiB"}),
    ("tlc", {"refresh.period": "60s"}),
    ("tlc", {"chip.plane_programs": "single"}),
    ("tlc-page", {"gc.copyback": True, "mapping.unit": "4KiB"}),
    ("tlc-page", {"gc.copyback": True, "chip.program_passes": 2, "chip.program_unit": "wordline"}),
    ("tlc-page", {"ftl.raid": "parity:64", "age.fill": 0}),
    ("tlc-page", {**PARITY, "gc.copyback": True}),
    ("tlc", {**PARITY, **CACHE, "ftl.allocation": "plane", "mapping.unit": "page", "slc.fold": "copyback"}),
    ("tlc", {**CACHE, "ftl.hints": 5}),
    ("tlc", {**CACHE, "ftl.hints": 4, "slc.blocks": 3}),
    ("tlc", {"ftl.hints": 9}),
    ("tlc", {"ftl.hints": 2, "ftl.isolation": "persistent", "ftl.streams": 1}),
    ("tlc", {**CACHE, "slc.fold": "copyback"}),
    ("tlc", {**CACHE, "slc.cell": "TLC"}),
    ("qlc", {"chip.pass_order": "interleaved", "chip.program_passes": 3, "chip.t_prog": "800us"}),
    ("qlc", {"chip.pass_order": "interleaved", "ftl.allocation": "plane"}),
    ("tlc", {"energy.power_states": [8.0, 4.0], "thermal.resistance": 10, "thermal.ambient": "80C"}),
    ("mqsim", {"mapping.cache": "1KiB", "mapping.entry_group": "4KiB"}),
    ("tlc", {"refresh.reads": 10_000, "age.reads": 10_000}),
    ("asplos21", {"chip.t_pre": "300ms"}),
    ("tlc", {"ecc.t_decode": "1s"}),
    ("tlc", {"ecc.t_failed": "1s"}),
    ("tlc", {"ecc.t_retried": "1s"}),
    ("tlc", {"read.t_pred": "1s"}),
    ("electronics25", {"age.pec": 200_000}),
    ("tlc", {"read.sensing": "adaptive-weighed"}),
    ("tlc", {**WEIGHED, "read.predictor": "on-die"}),
    ("tlc", {**WEIGHED, "read.predictor": "on-die-again", "read.next": "table"}),
    ("tlc", {"bus.transfer": "uncorrected"}),
    ("tlc", {"erase.margin": "tracked", "erase.pulse": "felp", "chip.model": "none"}),
    ("tlc", {"ftl.mapping": "fast"}),
    ("tlc", {"ftl.mapping": "fast", "ftl.placement": "static", "gc.copyback": True, "mapping.unit": "page"}),
    ("tlc", {"ftl.mapping": "fast", "ftl.placement": "static", "ftl.hints": 2}),
    ("asplos21", {"policies.start": "examples/strided.py:stride"}),
    ("zns", {"policies.ftl": "examples/own_ftl.py:PageMapped"}),
    ("tlc", {"policies.ftl": "examples/own_ftl.py:PageMapped", "policies.victim": "examples/strided.py:stride"}),
]
"""A device, and the settings that it refuses together with its own."""


def refusal(device: str, settings: dict[str, object]) -> tuple[str, str, str]:
    """Key, problem and remedy of a refused device."""
    policies = {key.removeprefix("policies."): f"{ROOT}/{of}" for key, of in settings.items() if "policies." in key}
    settings = {key: value for key, value in settings.items() if "policies." not in key}
    with pytest.raises(ssdlab.InputError) as error:
        ssdlab.Device(device, settings=settings, policies=policies)
    problem, remedy = str(error.value).split("\n  help: ")
    _, key, why = problem.split(": ", 2)
    return key, why, remedy


def test_every_refused_combination_is_listed(in_page: Callable[[str, str, str], None]) -> None:
    rows, keys = [], set()
    for device, settings in TRIALS:
        key, why, remedy = refusal(device, settings)
        keys.add(key)
        given = ", ".join(f"`{name}={value_text(value)}`" for name, value in settings.items())
        rows.append(f"| `{device}`: {given} | `{key}`: {why} | {remedy} |")
    in_page(
        "refused.md", "refused", "\n".join(["| device and settings | refused | help |", "|---|---|---|", *rows, ""])
    )
    source = (ROOT / "crates/ssd/src/config/combinations.rs").read_text()
    refused = set(re.findall(r'refuse\(\s*"([a-z]+\.\w+)"', source)) | set(re.findall(r'\(\s*"([a-z]+\.\w+)",', source))
    assert len(refused) > 10
    assert refused <= keys
