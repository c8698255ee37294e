"""The race itself: candidates go from rung to rung as long as they may be on the front and the budget lasts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ssdlab.searches.player import Measured, Player
from ssdlab.searches.proposals import Proposer, Reply
from ssdlab.searches.race import Field, mean
from ssdlab.searches.space import Point
from ssdlab.searches.spec import Search

STALE = 20
"""Batches in a row that bring nothing new to be measured, after which a search ends."""


@dataclass
class Candidate:
    """A point that was proposed, and what became of it."""

    number: int
    point: Point
    state: str = "waiting"
    """``refused``, ``failed``, ``infeasible``, ``dropped``, ``unplayed`` (the budget was spent); of those that played
    the last rung ``behind``, ``near`` (not surely behind), ``front``."""
    rung: int = -1
    """The last one that it has played."""
    why: str = ""
    spent: float = 0.0
    """Full cases that the search had played when the candidate had played this rung."""


class Race:
    """A search in progress."""

    def __init__(self, search: Search, player: Player) -> None:
        self._search = search
        self._player = player
        self._by_point: dict[Point, Candidate] = {}
        self.candidates: list[Candidate] = []
        self.measured: list[dict[int, Measured]] = [{} for _ in search.rungs]
        """By rung, by candidate."""
        self.spent = 0.0
        """Full cases."""

    def run(self, proposer: Proposer) -> None:
        """Races what is proposed, until nothing new comes or the budget is spent."""
        stale = 0
        while stale < STALE and self._affordable(0) and (points := proposer.ask()):
            new = self._new(points)
            self._race(new)
            proposer.tell([self._reply(self._by_point[point]) for point in points])
            stale = 0 if any(each.state not in ("refused", "failed") for each in new) else stale + 1
        self._judge()

    def _new(self, points: Iterable[Point]) -> list[Candidate]:
        """Those of the proposed that were not proposed before."""
        new = []
        for point in points:
            if point not in self._by_point:
                candidate = Candidate(len(self.candidates) + 1, point)
                self._by_point[point] = candidate
                self.candidates.append(candidate)
                new.append(candidate)
        return new

    def _race(self, new: Sequence[Candidate]) -> None:
        going = []
        for candidate in new:
            why = self._search.space.refused(candidate.point) or self._player.refusal(candidate.point)
            if why is None:
                going.append(candidate)
            else:
                candidate.state, candidate.why = "refused", why
        for rung in range(len(self._search.rungs)):
            going = self._on(self._play(going, rung), rung)

    def _affordable(self, rung: int) -> int:
        """How many candidates the budget still lets play a rung."""
        left = self._search.budget - self.spent
        if self._search.hours:
            hours = self._player.hours
            if not hours:
                return self._search.batch  # nothing is known of how long a case takes
            left = (self._search.budget - hours) / hours * self.spent
        return max(0, int(left / self._search.cost(rung) + 1e-9))

    def _play(self, going: list[Candidate], rung: int) -> list[Candidate]:
        """Plays a rung, the most promising candidates first. Where the budget is in hours it is looked at again after
        every batch."""
        order = going
        if rung > 0:
            ordered = self._field(rung - 1).layers(each.number for each in going)
            order = [self.candidates[number - 1] for number in ordered]
        played: list[Candidate] = []
        size = self._search.batch if self._search.hours else max(1, len(order))
        for start in range(0, len(order), size):
            part = order[start : start + size][: self._affordable(rung)]
            about = f"rung {rung + 1}, {len(self.candidates)} candidates so far"
            points = {each.number: each.point for each in part}
            found = self._player.play(points, self._search.rungs[rung], about)
            for candidate in part:
                self.spent += self._search.cost(rung)
                candidate.rung, candidate.spent = rung, self.spent
                self.measured[rung][candidate.number] = found[candidate.number]
            played += part
        for candidate in order:
            if candidate not in played:
                candidate.state, candidate.why = "unplayed", f"the budget was spent before rung {rung + 1}"
        return played

    def _on(self, played: Sequence[Candidate], rung: int) -> list[Candidate]:
        """Those that go on: not failed, no constraint broken with every seed, not surely behind the rung's front."""
        going = []
        for candidate in played:
            found = self.measured[rung][candidate.number]
            if found.error:
                candidate.state, candidate.why = "failed", found.error
            elif broken := self._broken(found):
                candidate.state, candidate.why = "infeasible", broken
            else:
                going.append(candidate)
        if not going or rung == len(self._search.rungs) - 1:
            return going
        field = self._field(rung)
        front = field.front(self._feasible(rung))
        on = []
        for candidate in going:
            ahead = next((number for number in front if field.surely_beats(number, candidate.number)), None)
            if ahead is None:
                on.append(candidate)
            else:
                candidate.state, candidate.why = "dropped", f"surely behind candidate {ahead}"
        return on

    def _broken(self, found: Measured) -> str:
        """The constraint that a candidate breaks with every seed, if there is one."""
        for constraint, values in zip(self._search.constraints, found.constraints, strict=True):
            if all(constraint.excess(value) > 0.0 for value in values):
                return constraint.text(mean(values))
        return ""

    def _feasible(self, rung: int) -> list[int]:
        """The candidates of a rung that keep every constraint in the mean of the seeds."""
        return [number for number, found in self.measured[rung].items() if not found.error and not self.excess(found)]

    def excess(self, found: Measured) -> str:
        """The constraint that a candidate breaks in the mean of the seeds, if there is one."""
        for constraint, values in zip(self._search.constraints, found.constraints, strict=True):
            if constraint.excess(mean(values)) > 0.0:
                return constraint.text(mean(values))
        return ""

    def _field(self, rung: int) -> Field:
        return field_of(self._search, self.measured[rung])

    def _reply(self, candidate: Candidate) -> Reply:
        found = self.measured[0].get(candidate.number)
        if found is None or found.error:
            return Reply(None, [])
        excesses = [
            mean([constraint.excess(value) for value in values])
            for constraint, values in zip(self._search.constraints, found.constraints, strict=True)
        ]
        return Reply([mean(values) for values in found.objectives], excesses)

    def _judge(self) -> None:
        """Says of those that played the last rung where they are."""
        last = len(self._search.rungs) - 1
        waiting = [each for each in self.candidates if each.state == "waiting"]
        if not waiting:
            return
        field = self._field(last)
        front = field.front(self._feasible(last))
        for candidate in waiting:
            number = candidate.number
            if number in front:
                candidate.state = "front"
            elif broken := self.excess(self.measured[last][number]):
                candidate.state, candidate.why = "infeasible", broken
            elif ahead := next((each for each in front if field.surely_beats(each, number)), None):
                candidate.state, candidate.why = "behind", f"surely behind candidate {ahead}"
            else:
                candidate.state, candidate.why = "near", "not on the front, and not surely behind"


def field_of(search: Search, measured: dict[int, Measured]) -> Field:
    """The candidates that have been measured, to be compared."""
    values = {number: found.objectives for number, found in measured.items() if not found.error}
    return Field(values, [each.goal for each in search.objectives], search.confidence, search.indifference)
