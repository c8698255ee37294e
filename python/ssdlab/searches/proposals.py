"""What is tried next: the whole product, or what Optuna proposes from what came of the first rung."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ssdlab._core import InputError
from ssdlab.searches.space import Point, Range
from ssdlab.searches.spec import Search
from ssdlab.sweeps.spec import MOST_CASES

if TYPE_CHECKING:
    import optuna

MOST_WHOLE = 256
"""With a budget of hours a product of this many candidates, or fewer, is run as a whole if nothing is specified."""


class Reply(NamedTuple):
    """What came of a proposal at the first rung."""

    objectives: list[float] | None
    """Means; None where it was refused or failed."""
    excesses: list[float]
    """How far each constraint is broken."""


class Proposer(Protocol):
    """Proposes candidates in batches; replies come in the order of the proposals."""

    name: str

    def ask(self) -> list[Point]:
        """The next candidates; an empty list at the end."""

    def tell(self, replies: Sequence[Reply]) -> None:
        """Takes what came of the last batch."""


class Product:
    """All candidates, as one batch."""

    name = "product"

    def __init__(self, search: Search) -> None:
        self._left = [list(search.space.points())]

    def ask(self) -> list[Point]:
        return self._left.pop() if self._left else []

    def tell(self, replies: Sequence[Reply]) -> None:
        pass


class Optuna:
    """Optuna's samplers, asked and told in batches of a fixed size, so that workers do not matter."""

    def __init__(self, search: Search, name: str) -> None:
        try:
            import optuna
        except ImportError:
            raise InputError(
                f"{search.origin}: the space is searched with Optuna, which is not here\n"
                '  help: pip install "ssdlab[search]", or give a budget that plays the whole product'
            ) from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler: optuna.samplers.BaseSampler
        if name == "nsga2":
            sampler = optuna.samplers.NSGAIISampler(seed=search.seed, population_size=search.batch)
        else:
            sampler = optuna.samplers.TPESampler(seed=search.seed, constant_liar=True)
        to = optuna.study.StudyDirection
        directions = [to.MINIMIZE if each.goal == "min" else to.MAXIMIZE for each in search.objectives]
        self.name = name
        self._search = search
        self._study = optuna.create_study(directions=directions, sampler=sampler)
        self._distributions = {axis: _distribution(search, axis) for axis in search.space.axes}
        self._asked: list[optuna.Trial] = []

    def ask(self) -> list[Point]:
        self._asked = [self._study.ask(self._distributions) for _ in range(self._search.batch)]
        return [self._point(trial.params) for trial in self._asked]

    def tell(self, replies: Sequence[Reply]) -> None:
        for trial, reply in zip(self._asked, replies, strict=True):
            # Samplers pass over failed trials and would propose the like again: a refusal is a broken constraint.
            trial.set_constraint("refused or failed", float(reply.objectives is None))
            for constraint, excess in zip(self._search.constraints, reply.excesses, strict=True):
                trial.set_constraint(constraint.name, excess)
            self._study.tell(
                trial, [0.0] * len(self._search.objectives) if reply.objectives is None else reply.objectives
            )

    def _point(self, params: dict[str, Any]) -> Point:
        axes = self._search.space.axes.items()
        return tuple(
            axis.rounded(params[name]) if isinstance(axis, Range) else list(axis)[params[name]] for name, axis in axes
        )


def _distribution(search: Search, name: str) -> optuna.distributions.BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    axis = search.space.axes[name]
    if not isinstance(axis, Range):
        return CategoricalDistribution(tuple(range(len(axis))))
    if axis.whole:
        return IntDistribution(int(axis.low), int(axis.high), log=axis.log, step=int(axis.step or 1))
    return FloatDistribution(axis.low, axis.high, log=axis.log, step=axis.step)


def proposer_of(search: Search) -> Proposer:
    """What proposes the candidates of a search: what it says, or the whole product where its first rung is within the
    budget, or else NSGA-II."""
    count = search.space.size()
    to_the_end = sum(search.cost(rung) for rung in range(1, len(search.rungs)))
    most = MOST_WHOLE if search.hours else int((search.budget - to_the_end) / search.cost(0) + 1e-9)
    if search.proposer in ("nsga2", "tpe") or (search.proposer is None and count > most):
        if search.batch > most:
            raise InputError(
                f"{search.origin}: budget: {search.budget:g} full cases play the first rung of {most} candidates, and "
                f"a batch has {search.batch}\n  help: give {search.batch * search.cost(0) + to_the_end:g} or more"
            )
        return Optuna(search, search.proposer or "nsga2")
    if math.isinf(count):
        raise InputError(
            f"{search.origin}: proposer: the product is endless: a range has no step\n  help: give every range a step, "
            'or write proposer = "nsga2"'
        )
    if count > MOST_CASES or (not search.hours and count > most):
        raise InputError(
            f"{search.origin}: proposer: the product has {count:,.0f} candidates, and the budget plays the first rung "
            f'of {min(most, MOST_CASES):,.0f}\n  help: give a larger budget, or write proposer = "nsga2"'
        )
    return Product(search)
