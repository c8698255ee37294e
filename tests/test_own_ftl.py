"""FTLs in Python, and collection as an environment of Gymnasium."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from ssdlab.policy import Blocks, Candidate, DriveLayout

EXAMPLE = Path(__file__).parent.parent / "examples" / "own_ftl.py"
SMALL = {
    "geometry.channels": 2,
    "geometry.chips": 1,
    "geometry.dies": 1,
    "geometry.planes": 2,
    "geometry.blocks": 40,
    "geometry.pages": 48,
    "ftl.over_provisioning": 0.8,
    "ftl.placement": "static",
    "gc.victim": "greedy",
    "buffer.size": "2MiB",
}
WRITES = {"rw": "randrw", "bs": "16KiB", "read_ratio": 0.3, "random_distribution": "zipf:0.9"}


def play(**options: Any) -> ssdlab.Result:
    given: dict[str, Any] = {"requests": 4000, "replay": "closed:16", "settings": SMALL, "precondition": "closed-form"}
    result: ssdlab.Result = ssdlab.run("tlc", WRITES, **{**given, **options})
    return result


def sections(result: ssdlab.Result) -> dict[str, Any]:
    """What was simulated, without how it was asked for and what it cost."""
    return {name: part for name, part in result.to_dict().items() if name in ("run", "host", "ftl", "flash", "map")}


def test_a_page_map_in_python_equals_the_drives_own_to_the_last_digit() -> None:
    own, built_in = play(ftl=f"{EXAMPLE}:PageMapped"), play()
    assert sections(own) == sections(built_in)
    assert (own.ftl.waf or 0.0) > 1.2


def test_the_command_takes_one_and_a_result_says_which(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    settings = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "ssdlab", "run", "-q", "--ftl", f"{EXAMPLE}:PageMapped", "--json", str(out)]
    subprocess.run([*command, "--requests", "500", *settings], check=True)
    assert json.loads(out.read_text())["manifest"]["policies"]["ftl"]["function"] == "PageMapped"


def test_streams_of_ones_own_part_hot_from_cold() -> None:
    settings = {**SMALL, "ftl.streams": 4}
    waf = [play(ftl=f"{EXAMPLE}:{name}", settings=settings).ftl.waf or 0.0 for name in ("PageMapped", "HotCold")]
    assert 1.0 < waf[1] < waf[0]


class Forgets:
    """Answers wrongly where a page has been written twice."""

    def __init__(self, drive: DriveLayout) -> None:
        self.places: dict[int, int] = {}
        # Blocks of two planes make superblocks, and a flash page holds four of the map's.
        assert (drive.planes, drive.blocks, drive.pages, drive.streams) == (2, 40, 48 * 2 * 4, 1)
        address = drive.address(drive.ppn(1, 7, 5))
        assert (address.plane, address.block, address.page) == (1, 7, 5)

    def write(self, lpn: int, hint: int, dealt: int) -> int:
        return dealt

    def placed(self, lpn: int, ppn: int, moved: bool) -> None:
        self.places.setdefault(lpn, ppn)

    def trimmed(self, lpn: int) -> None:
        self.places.pop(lpn, None)

    def locate(self, lpn: int) -> int | None:
        return self.places.get(lpn)

    def reclaim(self, plane: int, blocks: Blocks) -> Candidate | int | None:
        # By numbers alone.
        valid = {block: blocks.valid(block) for block in range(40)}
        full = {block: count for block, count in valid.items() if count is not None and count < blocks.limit}
        return min(full, key=full.__getitem__, default=None)


def test_dealt_planes_are_good_under_dynamic_placement_too() -> None:
    settings = {**SMALL, "ftl.placement": "dynamic", "ftl.over_provisioning": 0.6, "geometry.blocks": 64}
    result = play(ftl=f"{EXAMPLE}:PageMapped", settings=settings, requests=6000)
    assert result.host.all.requests == 6000


class Raises(Forgets):
    def locate(self, lpn: int) -> int | None:
        raise LookupError("lost")


class Answers(Forgets):
    def write(self, lpn: int, hint: int, dealt: int) -> Any:
        return "everywhere"


def test_mistakes_end_the_run_and_name_the_request() -> None:
    with pytest.raises(ssdlab.InputError, match=r"(?s)policies\.ftl: locate\(\d+\) answered \d+ \(plane .*request"):
        play(ftl=Forgets)
    # Nobody reads: the end of the run tells.
    with pytest.raises(ssdlab.InputError, match=r"(?s)answered .*at the end of the run, and its newest data"):
        ssdlab.run("tlc", {**WRITES, "rw": "randwrite"}, ftl=Forgets, requests=2000, settings=SMALL, qd=16)
    with pytest.raises(ssdlab.InputError, match="lost") as raised:
        play(ftl=Raises)
    assert isinstance(raised.value.__cause__, LookupError)
    with pytest.raises(ssdlab.InputError, match="write answered 'everywhere'"):
        play(ftl=Answers)
    with pytest.raises(ssdlab.InputError, match="give one of them"):
        play(ftl=Forgets, policies={"ftl": Forgets})
    with pytest.raises(ssdlab.InputError, match="the host of zones"):
        ssdlab.run("zns", ftl=Forgets, requests=10)


class Saves(Forgets):
    """Keeps its state in checkpoints."""

    def placed(self, lpn: int, ppn: int, moved: bool) -> None:
        self.places[lpn] = ppn

    def save(self) -> bytes:
        return json.dumps(list(self.places.items())).encode()

    def load(self, state: bytes) -> None:
        self.places = dict(json.loads(state))


class DoesNotSave(Forgets):
    def placed(self, lpn: int, ppn: int, moved: bool) -> None:
        self.places[lpn] = ppn


@pytest.mark.parametrize("ftl", [Saves, DoesNotSave])
def test_a_drive_goes_on_from_a_checkpoint_with_its_ftl(ftl: type, tmp_path: Path) -> None:
    saved = tmp_path / "drive.ckpt"
    play(ftl=ftl, save=str(saved), save_at="end")
    result = ssdlab.run(None, WRITES, checkpoint=str(saved), ftl=ftl, requests=2000, replay="closed:16", seed=2)
    assert result.host.all.requests == 2000


def test_after_power_cuts_a_new_one_is_told_where_the_pages_are() -> None:
    settings = {**SMALL, "power.cut_at": "[30ms, 60ms]"}
    result = play(ftl=DoesNotSave, settings=settings, precondition=None, seed=3)
    assert result.power is not None
    assert result.power.cuts == 2


def test_an_environment_is_one_of_gymnasiums_and_greedy_actions_are_greedy_collection() -> None:
    pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    from ssdlab.gym import VictimEnv

    options = {"requests": 3000, "replay": "closed:16", "settings": SMALL, "precondition": "closed-form"}
    env = VictimEnv("tlc", WRITES, **options)
    check_env(env, skip_render_check=True)
    env.reset(seed=5)
    cost, ended, steps = 0.0, False, 0
    while not ended:
        _, reward, ended, _, info = env.step(0)
        cost, steps = cost + reward, steps + 1
    result = info["result"]
    assert steps > 10
    assert cost < 0
    built_in = play(requests=3000, seed=result.manifest["seed"])
    assert sections(result) == sections(built_in)
    env.reset(seed=5)
    env.close()
