"""Runs that verify the drive's invariants after every event: same results, and what a violation says."""

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from ssdlab import InputError, SimulationError
from ssdlab.cli.main import main
from ssdlab.runs import runner
from ssdlab.runs.options import options_of

SMALL = {
    "geometry": {"channels": 2, "chips": 1, "dies": 1, "planes": 2, "blocks": 40, "pages": 24},
    "ftl.over_provisioning": 0.8,
    "workload.rw": "randrw",
}

POLICY = """
def greedy(blocks):
    valid = blocks.least_valid
    return blocks.oldest(valid) if valid is not None and valid < blocks.limit else None
"""


@pytest.mark.parametrize("more", [{}, {"mapping.table": "cached"}, {"wear.program_fail": 0.002}])
def test_a_run_that_is_checked_has_the_same_result_to_the_byte(tmp_path: Path, more: dict[str, object]) -> None:
    def files(check: bool) -> list[bytes]:
        names = ("log.parquet", "series.parquet", "drive.ckpt")
        paths = [tmp_path / f"{check}-{name}" for name in names]
        log, series, save = paths
        result = ssdlab.run(
            "tlc-page",
            settings=SMALL | more,
            precondition="write:1",
            replay="closed:8",
            requests=2000,
            requests_out=log,
            series_out=series,
            save=save,
            check=check,
        )
        data = {name: part for name, part in result.to_dict().items() if name != "process"}
        return [repr(data).encode(), *(path.read_bytes() for path in paths)]

    assert files(True) == files(False)
    # A drive goes on from a checkpoint that another one has written.
    runs = [
        ssdlab.run(
            checkpoint=tmp_path / f"{check}-drive.ckpt",
            requests=500,
            settings={"workload.rw": "randwrite"},
            check=check,
        )
        for check in (True, False)
    ]
    assert runs[0].host == runs[1].host


def test_drives_with_policies_of_users_are_checked(tmp_path: Path) -> None:
    policy = tmp_path / "mine.py"
    policy.write_text(POLICY)
    words: Any = {
        "replay": "closed:8",
        "requests": 3000,
        "precondition": "write:1",
        "policies": f"victim={policy}:greedy",
    }
    checked, unchecked = (ssdlab.run("tlc-page", settings=SMALL, check=check, **words) for check in (True, False))
    assert checked.host == unchecked.host


def test_sweeps_take_it(tmp_path: Path) -> None:
    table = ssdlab.sweep({"run": {"requests": 20, "check": True}, "axes": {"seed": [1, 2]}}, cache=tmp_path).table
    assert len(table) == 2


def test_what_is_no_flag_is_refused() -> None:
    with pytest.raises(InputError, match="check is 1\n  help: write True or False"):
        ssdlab.run(requests=1, check=1)  # type: ignore[call-overload]


def test_a_violation_comes_with_the_command_that_replays_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = "Invariant (mapping) does not hold, page 3: mapped to page 1\n  expected: page 2\n  when: at 7 ns"

    class Violated:
        manifest, note, ended = "{}", None, None

        def step(self, _: int) -> bool:
            raise SimulationError(found)

        def progress(self) -> dict[str, int | None]:
            return {"share": None, "submitted": 0, "completed": 0}

        def finish(self, **_: object) -> None:
            raise SimulationError(found)

    monkeypatch.setattr(runner, "open_simulation", lambda _: Violated())
    words = ["--check", "--device", "asplos21", "--set", "chip.t_prog=1us", "--seed", "3", "--requests", "9"]
    monkeypatch.setattr(sys, "argv", ["ssdlab", "run", "-q", *words])
    with pytest.raises(SystemExit, match="1"):
        main()
    error = capsys.readouterr().err
    assert error.startswith(f"error: {found}\n  replay: ssdlab run ")
    command = error.split("replay: ")[1].splitlines()[0]
    given = shlex.split(command)[2:]
    assert sorted(given) == sorted([*words, "--workload", "default"])
    asked = options_of({"device": "asplos21", "settings": ["chip.t_prog=1us"], "seed": 3, "requests": 9})
    with pytest.raises(SimulationError, match="--check"):
        runner.play(asked)
