"""Policies in Python: functions that stand in for built-in choices, as prototypes of what is then written in Rust.

    from ssdlab import policy

    def greedy(blocks: policy.Blocks) -> policy.Candidate | None:
        valid = blocks.least_valid
        return blocks.oldest(valid) if valid is not None and valid < blocks.limit else None

    ssdlab.run("tlc", policies={"victim": greedy})                 # or {"victim": "my_policies.py:greedy"}

A policy is given what the policies in Rust are given, and must answer the same to the same question: it keeps nothing
between calls. The built-in choice of its axis stays configured and keeps its costs: a policy for ``next`` with
``read.next = "swift"`` senses as often as Swift-Read does, and one for ``victim`` with ``gc.victim = "fifo"`` is asked
about blocks in the order in which they were filled.

========================  =======================================  ==================================================
axis                      is given                                 answers
========================  =======================================  ==================================================
``victim``                :class:`Blocks`                          one of them, or None
``order``                 an :data:`Operation`                     its rank, 0 to 255: lower goes first
``start``                 :class:`FirstSense`                      a step of the retry table
``next``                  :class:`Failed`                          a :data:`Reference`, or None when all was tried
``suspend_program``       :class:`InPhase`                         for how long the array is still busy [ns] and what
                                                                   becomes of the phase (:data:`Resume`); or None
``suspend_erase``         the same                                 the same
``pacing``                :class:`Collection`                      relocated pages, and the pages of host data that
                                                                   they pay for; or None
``ftl``                   :class:`DriveLayout`                     an :class:`Ftl`, which is asked from then on and
                                                                   keeps a state: a class does
========================  =======================================  ==================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypedDict

from ssdlab._core import Address, Blocks, Candidate, Collection, DriveLayout, Failed, FirstSense, InPhase

__all__ = [
    "Address",
    "Blocks",
    "Candidate",
    "Collection",
    "DriveLayout",
    "Failed",
    "FirstSense",
    "Ftl",
    "InPhase",
    "NewFtl",
    "Next",
    "Operation",
    "Order",
    "Pacing",
    "Policies",
    "Reference",
    "Resume",
    "Start",
    "Suspend",
    "Victim",
]

Operation = Literal["user-read", "internal-read", "user-program", "internal-program", "erase"]
"""What a flash operation is for: host requests, or the drive itself."""

Reference = int | Literal["near-optimal", "sentinel"]
"""With which references a page is sensed: those of a step of the retry table, near-optimal ones, or the sentinel's
boundary alone."""

Resume = Literal["next-phase", "repeat-phase", "verify-then-repeat", "rest-of-phase"]
"""What becomes of the phase that an operation is suspended in. ``next-phase``: it ends, after ``left_ns``, and the
operation goes on with the next. The others take ``reset_ns`` at least and ``left_ns`` at most: it is done again, a
verify shows that it must be done again, or its remainder is done later."""

Victim = Callable[[Blocks], Candidate | None]
Order = Callable[[Operation], int]
Start = Callable[[FirstSense], int]
Next = Callable[[Failed], Reference | None]
Suspend = Callable[[InPhase], tuple[int, Resume] | None]
Pacing = Callable[[Collection], tuple[int, int] | None]


class Ftl(Protocol):
    """An FTL of one's own: it says where host data goes and which block is reclaimed next, and keeps a map.

    Logical pages (LPN) and pages of the flash (PPN) are numbers; :meth:`DriveLayout.address` takes a PPN apart. What
    was on the drive before the run it is not told of. What flash demands is the drive's own: pages of a block are
    programmed in their order, relocated data stays in its plane, and free blocks are kept for collection. A class may
    also have ``erased(plane, block)``, which is told of each erase, and ``save() -> bytes`` with ``load(state)`` for
    checkpoints; without these a drive that goes on from a checkpoint has a new one, which is told where each page is,
    as after a power cut.
    """

    def write(self, lpn: int, hint: int, dealt: int) -> int | tuple[int, int]:
        """A page of host data leaves the write buffer: the plane that it goes to, or that and a stream.

        ``hint`` is its placement handle, or 0; ``dealt`` is the plane that static placement deals it to, on which its
        data was before the run. There are as many streams as ``ftl.hints``; without hints two with ``ftl.streams`` = 3
        or 4.
        """

    def placed(self, lpn: int, ppn: int, moved: bool) -> None:
        """The newest data of a page is on a page of the flash; what was there of it before is stale.

        ``moved``: it was relocated, by collection or for another reason.
        """

    def trimmed(self, lpn: int) -> None:
        """A page has no data any more."""

    def locate(self, lpn: int) -> int | None:
        """The page of the flash that has the newest data of a page.

        None where :meth:`placed` has not told of that page. The drive tries the answer at each read of the host's.
        """

    def reclaim(self, plane: int, blocks: Blocks) -> Candidate | int | None:
        """A plane has too few free blocks: which of its full ones is reclaimed next.

        None: none for now; it is asked again when data of the plane has become stale.
        """


NewFtl = Callable[[DriveLayout], Ftl]


class Policies(TypedDict, total=False):
    """The policies of a run by their axes: functions, or ``FILE:FUNCTION``."""

    victim: Victim | str
    order: Order | str
    start: Start | str
    next: Next | str
    suspend_program: Suspend | str
    suspend_erase: Suspend | str
    pacing: Pacing | str
    ftl: NewFtl | str


Given = Mapping[str, object] | Policies | str
"""Policies as a user gives them: a mapping, or ``AXIS=FILE:FUNCTION`` joined by commas."""
