"""Policies that answer as built-in choices do, as `test_policies.py` and its workers load them."""

from __future__ import annotations

from ssdlab.policy import Blocks, Candidate, Collection, Failed, FirstSense, InPhase, Operation, Reference, Resume

Point = tuple[int, Resume] | None


def greedy(blocks: Blocks) -> Candidate | None:
    valid = blocks.least_valid
    return blocks.oldest(valid) if valid is not None and valid < blocks.limit else None


def cost_benefit(blocks: Blocks) -> Candidate | None:
    if blocks.least_valid == 0:
        return blocks.oldest(0)
    best: tuple[Candidate, int] | None = None
    for block in blocks.contenders():
        gain = (blocks.pages - block.valid) * block.age
        # Compared as fractions.
        if best is None or gain * best[0].valid > best[1] * block.valid:
            best = (block, gain)
    return None if best is None else best[0]


def five_choices(blocks: Blocks) -> Candidate | None:
    drawn = [block for block in (blocks.random() for _ in range(5)) if block is not None]
    best = min(drawn, key=lambda block: block.valid, default=None)
    return best if best is not None and best.valid < blocks.limit else greedy(blocks)


def first_filled(blocks: Blocks) -> Candidate | None:
    return blocks.first_filled()


def tracked(sense: FirstSense) -> int:
    last = sense.last or 0
    return last if not sense.walks else max(0, last - max(-(-last * 30 // 100), 3))


def table(failed: Failed) -> Reference | None:
    step = failed.reference if isinstance(failed.reference, int) else failed.start
    following = 0 if step >= failed.last else step + 1
    return following if following != failed.start else None


def swift(failed: Failed) -> Reference | None:
    return "near-optimal" if failed.reference == failed.start else table(failed)


def sentinel(failed: Failed) -> Reference | None:
    first = failed.reference == failed.start
    if failed.reference == "sentinel" or (first and failed.sentinel):
        return "near-optimal"
    return "sentinel" if first else table(failed)


def read_first(operation: Operation) -> int:
    return 0 if operation.endswith("-read") else 1


def user_first(operation: Operation) -> int:
    return {"user-read": 0, "user-program": 1}.get(operation, 2)


def inter_phase(at: InPhase) -> Point:
    return at.left_ns, "next-phase"


def intra_phase(at: InPhase) -> Point:
    if at.left_ns <= at.reset_ns:
        return at.left_ns, "next-phase"
    return at.reset_ns, "verify-then-repeat" if at.pulse else "repeat-phase"


def reset_and_resume(at: InPhase) -> Point:
    if at.left_ns <= at.reset_ns:
        return at.left_ns, "next-phase"
    return at.reset_ns, "rest-of-phase" if at.pulse else "repeat-phase"


def safe_points(at: InPhase) -> Point:
    if not at.pulse or not at.safe_ns:
        return at.left_ns, "next-phase"
    to = at.safe_ns - at.done_ns % at.safe_ns
    return (at.left_ns, "next-phase") if to + at.reset_ns >= at.left_ns else (to + at.reset_ns, "rest-of-phase")


def token(of: Collection) -> tuple[int, int] | None:
    missing = of.least - of.room
    if missing < 0:
        return None
    return of.valid * min(of.pages + missing, 3 * of.pages), max(1, of.pages - of.valid) * of.pages
