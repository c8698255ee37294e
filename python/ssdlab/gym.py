"""Garbage collection as an environment of Gymnasium: an agent chooses which block is reclaimed.

It needs ``pip install 'ssdlab[gym]'``.

    from ssdlab.gym import VictimEnv

    env = VictimEnv("tlc", {"rw": "randwrite"}, precondition="closed-form", requests=20_000)
    seen, info = env.reset(seed=1)
    seen, reward, ended, _, info = env.step(0)     # the block with the fewest valid pages

A run is played in a thread of its own, which waits at each choice of a victim until the agent has made it.
"""

from __future__ import annotations

import queue
import threading
from typing import Any

import gymnasium
import numpy as np

from ssdlab import run
from ssdlab._core import InputError, SimulationError
from ssdlab.policy import Blocks, Candidate

LEVELS = 32
"""Levels of valid pages that an agent tells apart (assumed)."""
OLD = 1_000_000
"""An age that counts as 1, on a logarithmic scale [pages programmed on the plane since a block lost a valid page]
(assumed)."""


class _StoppedError(Exception):
    """The episode was given up."""


class VictimEnv(gymnasium.Env[Any, Any]):
    """Which block is reclaimed next, on one drive under one load: an episode is a run.

    Observation: an array of 32 rows, a level of valid pages each, from none up to as many as gain anything. Of the
    block that has the fewest valid pages of its level and has lost none for longest: its valid pages as a share of a
    block, and its age on a logarithmic scale, 0 to 1; 1 and 0 where the level has no block.

    Action: a level, 0 to 31; of one without a block the nearest one that has a block.

    Reward: the valid pages that are relocated, negative, in blocks. Their sum is what collection has cost.

    With ``precondition="closed-form"`` the agent also chooses in the life before the run that leads to the drive's
    state.

    The last step's ``info["result"]`` is the run's :class:`ssdlab.Result`.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 -- as Gymnasium declares it

    def __init__(self, device: Any = "tlc", workload: Any = "default", **options: Any) -> None:
        """``device``, ``workload`` and ``options`` are those of :func:`ssdlab.run`; ``seed`` is that of ``reset``.

        Raises:
            InputError: ``seed`` or ``policies`` is among the options.
        """
        for name in ("seed", "policies"):
            if name in options:
                remedy = "give it to reset()" if name == "seed" else "leave it out: the agent chooses the victims"
                raise InputError(f"{name} is given\n  help: {remedy}")
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (LEVELS, 2), np.float32)
        self.action_space = gymnasium.spaces.Discrete(LEVELS)
        self._options = {"device": device, "workload": workload, **options}
        self._episode: _Episode | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins a run with that seed, or with one that is drawn.

        Raises:
            InputError: the run's options are not accepted.
            SimulationError: it ends before a block is to be reclaimed: nothing can be chosen.
        """
        super().reset(seed=seed)
        self.close()
        self._episode = _Episode({**self._options, "seed": int(self.np_random.integers(1, 2**31))})
        seen = self._episode.next()
        if seen is None:
            raise SimulationError(
                "the run has ended before a block was reclaimed\n"
                "  help: begin with a drive that is full (precondition='closed-form'), or play more writes"
            )
        return seen, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Reclaims a block of that level; see the class."""
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() first")
        reward = self._episode.choose(int(action))
        seen = self._episode.next()
        if seen is not None:
            return seen, reward, False, False, {}
        result, self._episode = self._episode.result, None
        return _observation({}, 1), reward, True, False, {"result": result}

    def close(self) -> None:
        """Gives the run up."""
        if self._episode is not None:
            self._episode.stop()
            self._episode = None


class _Episode:
    """A run in its thread, and the choice that it waits for."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.result: Any = None
        self._error: BaseException | None = None
        self._asked: queue.Queue[Blocks | None] = queue.Queue()
        self._chosen: queue.Queue[Candidate | None] = queue.Queue()
        self._levels: dict[int, Candidate] = {}
        self._pages = 1
        self._stopped = False
        self._thread = threading.Thread(target=self._play, args=(options,), daemon=True)
        self._thread.start()

    def _play(self, options: dict[str, Any]) -> None:
        try:
            self.result = run(**options, policies={"victim": self._ask})
        except BaseException as error:  # It is raised where the agent waits.
            self._error = error
        self._asked.put(None)

    def _ask(self, blocks: Blocks) -> Candidate | None:
        if self._stopped:
            # The life before the run may go on asking for a while.
            raise _StoppedError
        levels = _levels(blocks)
        if not levels:
            return None
        self._levels, self._pages = levels, blocks.pages
        self._asked.put(blocks)
        chosen = self._chosen.get()
        if chosen is None:
            self._stopped = True
            raise _StoppedError
        return chosen

    def next(self) -> Any:
        """What the agent sees at the next choice; None at the end of the run."""
        if self._asked.get() is None:
            self._thread.join()
            if self._error is not None:
                raise self._error
            return None
        return _observation(self._levels, self._pages)

    def choose(self, level: int) -> float:
        """Reclaims the block of the nearest level that has one; the reward."""
        nearest = min(self._levels, key=lambda other: (abs(other - level), other))
        block = self._levels[nearest]
        self._chosen.put(block)
        return -block.valid / self._pages

    def stop(self) -> None:
        """Ends the run, which waits for a choice."""
        self._chosen.put(None)
        self._thread.join()


def _levels(blocks: Blocks) -> dict[int, Candidate]:
    """The best block of each level."""
    found: dict[int, Candidate] = {}
    for block in blocks.contenders():
        found.setdefault(block.valid * LEVELS // max(blocks.limit, 1), block)
    return found


def _observation(levels: dict[int, Candidate], pages: int) -> Any:
    seen = np.tile(np.array([1.0, 0.0], np.float32), (LEVELS, 1))
    for level, block in levels.items():
        seen[level] = block.valid / pages, min(np.log1p(block.age) / np.log1p(OLD), 1.0)
    return seen
