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
    """``refused``, ``failed``, ``marked`` (its results carry warnings), ``infeasible``, ``dropped``, ``unplayed`` (the
    budget was spent); of those that played the last rung ``behind``, ``near`` (not surely behind), ``front``."""
    rung: int = -1
    """The last one that it has played."""
    why: str = ""
    spent: float = 0.0
    """Full cases that the search had played when the candidate had played this rung."""
    dropped_by: int | None = None
    """The candidate that it was surely behind, where it is ``dropped``."""


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
        self._is_spent = False
        """Whether the budget brings no further candidate to the end."""

    def run(self, proposer: Proposer) -> None:
        """Races what is proposed, until nothing new comes or the budget is spent."""
        stale = 0
        while stale < STALE and not self._is_spent and (points := proposer.ask()):
            new = self._new(points)
            self._race(new)
            proposer.tell([self._reply(self._by_point[point]) for point in points])
            stale = 0 if any(each.state not in ("refused", "failed") for each in new) else stale + 1
        self.judge("the budget was spent")

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
        """Plays the first rung of new candidates, then whatever may go on: those that have come farthest first. A
        candidate goes on only where the budget would play it to the end."""
        for candidate in new:
            why = self._search.space.refused(candidate.point) or self._player.refusal(candidate.point)
            if why is not None:
                candidate.state, candidate.why = "refused", why
        last = len(self._search.rungs) - 1
        while waiting := [each for each in self._waiting() if each.rung < last]:
            rung = max(each.rung for each in waiting) + 1
            going = self._promising(rung - 1) if rung else waiting
            part = going[: self._affordable(range(rung, last + 1) if rung else [0])]
            self._is_spent = bool(going) and not part
            if self._is_spent:
                break
            self._play(part, rung)

    def _waiting(self) -> list[Candidate]:
        return [each for each in self.candidates if each.state == "waiting"]

    def _affordable(self, rungs: Iterable[int]) -> int:
        """How many candidates the budget still lets play these rungs. Where it is in hours, it is looked at again after
        every batch."""
        left = self._search.budget - self.spent
        if self._search.hours:
            hours = self._player.hours
            if not hours:
                return self._search.batch  # nothing is known of how long a case takes
            left = (self._search.budget - hours) / hours * self.spent
        count = max(0, int(left / sum(map(self._search.cost, rungs)) + 1e-9))
        return min(count, self._search.batch) if self._search.hours else count

    def _play(self, part: Sequence[Candidate], rung: int) -> None:
        """Plays a rung, and takes out what fails, is marked, or breaks a constraint: with every seed, and on the last
        rung in the mean. What these have dropped waits again."""
        about = f"rung {rung + 1}, {len(self.candidates)} candidates so far"
        found = self._player.play({each.number: each.point for each in part}, self._search.rungs[rung], about)
        for candidate in part:
            measured = found[candidate.number]
            self.spent += self._search.cost(rung)
            candidate.rung, candidate.spent = rung, self.spent
            self.measured[rung][candidate.number] = measured
            if measured.error:
                candidate.state, candidate.why = "marked" if measured.marked else "failed", measured.error
            elif broken := self._broken(measured) or self._breaks_at_end(measured, rung):
                candidate.state, candidate.why = "infeasible", broken
        for candidate in self.candidates:
            if candidate.dropped_by is not None and self._is_out(candidate.dropped_by):
                candidate.state, candidate.why, candidate.dropped_by = "waiting", "", None

    def _promising(self, rung: int) -> list[Candidate]:
        """Those that wait behind a rung and may go on, the most promising first; drops those that are surely behind the
        rung's front."""
        field = self._field(rung)
        front = field.front(number for number in self._feasible(rung) if not self._is_out(number))
        waiting = {each.number: each for each in self._waiting() if each.rung == rung}
        for number, candidate in list(waiting.items()):
            ahead = next((each for each in front if field.surely_beats(each, number)), None)
            if ahead is not None:
                candidate.state, candidate.why = "dropped", f"surely behind candidate {ahead}"
                candidate.dropped_by = ahead
                del waiting[number]
        return [waiting[number] for number in field.layers(waiting)]

    def _is_out(self, number: int) -> bool:
        """Whether a candidate has been left out, whatever shorter runs had measured: it is ahead of no other."""
        return self.candidates[number - 1].state in ("failed", "marked", "infeasible")

    def _breaks_at_end(self, found: Measured, rung: int) -> str:
        """The constraint that a candidate breaks in the mean of all its seeds, if there is one."""
        return self.excess(found) if rung == len(self._search.rungs) - 1 else ""

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
            return Reply(None, [0.0] * len(self._search.constraints))
        excesses = [
            mean([constraint.excess(value) for value in values])
            for constraint, values in zip(self._search.constraints, found.constraints, strict=True)
        ]
        return Reply([mean(values) for values in found.objectives], excesses)

    def judge(self, end: str) -> None:
        """Says of those that wait where they are, at the ``end`` of the race."""
        last = len(self._search.rungs) - 1
        for candidate in self._waiting():
            if candidate.rung < last:
                candidate.state = "unplayed"
                candidate.why = f"{end} before rung {candidate.rung + 2}"
        waiting = self._waiting()
        field = self._field(last)
        front = field.front(self._feasible(last))
        for candidate in waiting:
            number = candidate.number
            doubt = self.measured[last][number].doubt
            taken = f"taken with its warnings: {doubt}" if doubt else ""
            if number in front:
                candidate.state, candidate.why = "front", taken
            elif ahead := next((each for each in front if field.surely_beats(each, number)), None):
                candidate.state, candidate.why = "behind", f"surely behind candidate {ahead}"
            else:
                why = "not on the front, and not surely behind"
                candidate.state, candidate.why = "near", f"{why}; {taken}" if taken else why


def field_of(search: Search, measured: dict[int, Measured]) -> Field:
    """The candidates that have been measured, to be compared."""
    values = {number: found.objectives for number, found in measured.items() if not found.error}
    return Field(values, [each.goal for each in search.objectives], search.confidence, search.indifference)
