"""One die with its bus and its ECC engine, simulated from the papers' text: an independent check of the drive.

Nothing in this file is taken from the drive's code. It follows the papers (asplos21 sections 2.4 and 6, fast12
section 4, hpca24 sections III, IV and VI, electronics25 sections 3.2 and 5). Where these leave something open it
follows the pages of the model (docs/model.md, docs/model-reads.md, docs/lifecycle.md, decisions 2 and 6). Times are
whole nanoseconds.

What the cells of a page are like is not its subject: the number of failing senses of a read and the grains that a block
needs are given.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

SENTINEL_KIND = 0
"""The page of a wordline whose boundaries include the middle one, where sentinel cells are read (assumed: the LSB)."""

Phase = tuple[Literal["pulse", "verify", "check"], int]
"""What a phase is, and how long. A check is the verify that shows whether a cancelled program phase is repeated."""


@dataclass(frozen=True)
class Die:
    """The constants, and the choices of a scheme. Times in nanoseconds."""

    t_read: tuple[int, ...]
    """tR of each page of a wordline."""
    t_reduced: tuple[int, ...]
    """tR of each page of a wordline with AR2's tPRE."""
    t_sense: int
    """One sense, as of sentinel cells: tPRE + tEVAL + tDISCH."""
    t_dma: int
    t_ecc: int
    decoders: int
    ecc_buffer: int
    program: tuple[Phase, ...]
    erases: tuple[tuple[Phase, ...], ...]
    """The pulses of each erase, in the order in which blocks are opened; the last one is that of all further blocks."""
    pages: int
    """Pages of a block."""
    t_voltage_reset: int
    t_buffer: int
    t_set: int
    t_rst: int
    t_pred: int
    dram: int
    link: int
    t_command: int = 0
    shadow_buffer: bool = True
    cache_read: bool = False
    order: str = "read-first"
    suspend_program: str = "none"
    suspend_erase: str = "none"
    safe_points: int = 7
    next: str = "table"
    pipeline: str = "off"
    sensing: str = "default"
    predictor: str = "none"

    @property
    def decodes_ahead(self) -> bool:
        """PR2 (asplos21 section 6.1): the next step is sensed while the last one is transferred and decoded."""
        return self.pipeline == "cache-read"


@dataclass
class Request:
    """A page that is read, or written."""

    at: int
    is_read: bool
    page: int
    """Of reads: its number in its block."""
    failing: int = 0
    """Of reads: the senses that cannot be corrected."""


@dataclass(eq=False)
class Read:
    number: int
    age: int
    page: int
    failing: int
    ended: bool = False
    steps: list[Sense] = field(default_factory=list)


@dataclass(eq=False)
class Sense:
    """A sense of a page, on its way to the decoder. A void one belongs to a read that has ended."""

    read: Read
    step: int
    decodes: bool = True
    senses: int = 1

    @property
    def void(self) -> bool:
        return self.read.ended


@dataclass(eq=False)
class Program:
    number: int
    age: int
    erase: list[Phase]
    program: list[Phase]
    pulse: int = 0
    """The length of the pulse that is applied, and from where on of it the next safe point comes."""
    least: int = 0
    setting: int = 0
    """How long the phase at its beginning sets voltages again."""
    opened: bool = False
    """Its block has been erased."""

    @property
    def erasing(self) -> bool:
        return bool(self.erase)

    @property
    def phases(self) -> list[Phase]:
        return self.erase or self.program


class Simulator:
    """Requests of a die, played. ``finished`` has the time at which the host sees each."""

    def __init__(self, die: Die, requests: list[Request]) -> None:
        self.die = die
        self.requests = requests
        self.finished: dict[int, int] = {}
        self.now = 0
        self.agenda: list[tuple[int, int, int, Callable[[], None]]] = []
        self.events = self.ages = 0
        # The die.
        self.waiting: list[Sense] = []
        self.programs: list[Program] = []
        self.array: Sense | Program | str | None = None
        self.page_register: Sense | Program | None = None
        self.cache_register: Sense | None = None
        self.suspended: Program | None = None
        self.reserved: Read | None = None
        self.reduced = False
        self.opened = 0
        self.filled = 0
        self.run = 0
        """Counts what the array does: an end that belongs to something cancelled is recognised by it."""
        self.array_end = 0
        self.suspend_pending = False
        self.buffering = False
        """Whether a program that goes on gets its data back from the shadow buffer."""
        # The bus and the ECC engine.
        self.bus: Sense | Program | None = None
        self.commands: list[Callable[[], None]] = []
        self.in_engine = 0
        self.to_decode: list[Sense] = []
        self.decoding = 0
        # The host's side: free from then on.
        self.link_in = self.link_out = self.dram_free = 0

    def play(self) -> dict[int, int]:
        for number, request in enumerate(self.requests):
            self.at(request.at, ARRIVAL, partial(self.arrive, number))
        while self.agenda:
            self.now, _, _, event = heapq.heappop(self.agenda)
            event()
            while self.settle():
                pass
        return self.finished

    def at(self, time: int, rank: int, event: Callable[[], None]) -> None:
        heapq.heappush(self.agenda, (time, rank, self.events, event))
        self.events += 1

    def next_age(self) -> int:
        self.ages += 1
        return self.ages

    # The host: its link and the DRAM serve one transfer after the other.

    def arrive(self, number: int) -> None:
        request = self.requests[number]
        if request.is_read:
            self.queue(Sense(Read(number, self.next_age(), request.page, request.failing), 0))
            return
        self.link_in = max(self.link_in, self.now) + self.die.link
        self.at(self.link_in, DATA, lambda: self.received(number))

    def received(self, number: int) -> None:
        """The data is in the write buffer, and goes to flash at once."""
        self.dram_free = max(self.dram_free, self.now) + self.die.dram
        self.programs.append(Program(number, self.next_age(), [], list(self.die.program)))

    def send(self, number: int) -> None:
        self.dram_free = max(self.dram_free, self.now) + self.die.dram
        self.at(self.dram_free, DATA, lambda: self.cross(number))

    def cross(self, number: int) -> None:
        self.link_out = max(self.link_out, self.now) + self.die.link
        self.finished[number] = self.link_out

    # The die: what it takes up next.

    def queue(self, sense: Sense) -> None:
        sense.read.steps.append(sense)
        self.waiting.append(sense)

    def rank(self, is_read: bool) -> int:
        if self.die.order == "fifo":
            return 0
        return 0 if is_read else 1

    def settle(self) -> bool:
        return self.die_goes_on() or self.bus_goes_on()

    def die_goes_on(self) -> bool:
        if isinstance(self.array, Program):
            self.consider_suspension(self.array)
            return False
        if self.array is not None:
            return False
        erases = bool(self.programs) and self.erases(self.programs[0])
        if self.suspended is not None or erases or any(self.reserved in (None, each.read) for each in self.waiting):
            self.into_cache()
        if self.page_register is not None or self.keeps_cache():
            return False
        senses = [each for each in self.waiting if self.reserved in (None, each.read)]
        sense = min(senses, key=lambda each: (each.read.age, each.step), default=None)
        if self.suspended is not None:
            if sense is not None:
                return self.sense(sense)
            if self.waiting or self.reserved is not None:
                return False
            return self.resume()
        program = self.programs[0] if self.programs and self.reserved is None else None
        if sense is not None and program is not None:
            read, write = (self.rank(True), sense.read.age), (self.rank(False), program.age)
            return self.sense(sense) if read < write else self.load(program)
        if sense is not None:
            return self.sense(sense)
        return program is not None and self.load(program)

    # Reads.

    def keeps_cache(self) -> bool:
        """Without CACHE READ for all reads, a retry leaves the cache register before all else begins."""
        return (
            not self.die.cache_read
            and self.cache_register is not None
            and self.reserved is not self.cache_register.read
        )

    def sense(self, sense: Sense) -> bool:
        die = self.die
        if self.bus is not None:
            # Its command takes the bus too.
            return False
        self.waiting.remove(sense)
        self.array = sense
        kind = sense.read.page % len(die.t_read)
        reduced = die.sensing == "adaptive" and sense.step > 0
        time = (die.t_reduced if reduced else die.t_read)[kind] * sense.senses if sense.decodes else die.t_sense
        if reduced != self.reduced:
            time += die.t_set
            self.reduced = reduced
        if sense.step > 0:
            self.reserved = sense.read
        if die.predictor == "on-die" and sense.step == 0:
            # RiF: after the sense the die predicts, and senses a page that would fail again by itself.
            time += die.t_pred
            if sense.read.failing > 0:
                sense.read.failing -= 1
                time += die.t_read[kind]
        self.ends(time, lambda: self.sensed(sense))
        return True

    def ends(self, time: int, event: Callable[[], None]) -> None:
        """What the array does now ends then, unless it is cancelled."""
        self.run += 1
        run, self.array_end = self.run, self.now + time

        def guarded() -> None:
            if run == self.run:
                event()

        self.at(self.now + time, DIE, guarded)

    def sensed(self, sense: Sense) -> None:
        self.array = None
        self.page_register = sense
        if self.die.decodes_ahead and sense.step > 0:
            self.queue(Sense(sense.read, sense.step + 1))

    def into_cache(self) -> None:
        """CACHE READ moves the page on when the next one is to be sensed, unless it is on the bus already."""
        sense = self.page_register
        if not isinstance(sense, Sense) or self.cache_register is not None or self.bus is sense:
            return
        if self.die.cache_read or (self.die.decodes_ahead and sense.step > 0):
            self.cache_register, self.page_register = sense, None

    # The bus and the decoders.

    def bus_goes_on(self) -> bool:
        if self.bus is not None:
            return False
        page = self.cache_register or (self.page_register if isinstance(self.page_register, Sense) else None)
        if self.in_engine >= self.die.ecc_buffer:
            page = None
        loading = self.page_register if isinstance(self.page_register, Program) else None
        if page is not None and loading is not None:
            if (self.rank(True), page.read.age) < (self.rank(False), loading.age):
                loading = None
            else:
                page = None
        if page is not None:
            self.bus = page
            self.in_engine += 1
            self.at(self.now + self.die.t_dma, BUS, lambda: self.transferred(page))
            return True
        if loading is not None:
            self.bus = loading
            self.at(self.now + self.die.t_dma, BUS, lambda: self.loaded(loading))
            return True
        return False

    def transferred(self, sense: Sense) -> None:
        self.bus = None
        if self.cache_register is sense:
            self.cache_register = None
        else:
            self.page_register = None
        if sense.void or not sense.decodes:
            self.in_engine -= 1
            if not sense.void:
                self.failed(sense)
            return
        self.to_decode.append(sense)
        self.decoders_go_on()

    def decoders_go_on(self) -> None:
        while self.to_decode and self.decoding < self.die.decoders:
            sense = self.to_decode.pop(0)
            self.decoding += 1
            time = self.die.t_ecc
            if self.die.predictor == "controller" and sense.step < sense.read.failing:
                time = min(time, self.die.t_pred)
            self.at(self.now + time, ECC, partial(self.decoded, sense))

    def decoded(self, sense: Sense) -> None:
        self.decoding -= 1
        self.in_engine -= 1
        if not sense.void:
            if sense.step < sense.read.failing:
                self.failed(sense)
            else:
                self.succeeded(sense.read)
        self.decoders_go_on()

    def failed(self, sense: Sense) -> None:
        """The next step, unless it has been queued before it was known."""
        read, die = sense.read, self.die
        if die.decodes_ahead and sense.step > 0:
            return
        following = Sense(read, sense.step + 1)
        if die.next == "swift" and sense.step == 0:
            following.senses = 2
        if die.next == "sentinel" and sense.step == 0 and read.page % len(die.t_read) != SENTINEL_KIND:
            following.decodes = False
            read.failing += 1
        self.queue(following)

    def succeeded(self, read: Read) -> None:
        read.ended = True
        self.waiting = [sense for sense in self.waiting if not sense.void]
        self.to_decode, void = (
            [sense for sense in self.to_decode if not sense.void],
            sum(sense.void for sense in self.to_decode),
        )
        self.in_engine -= void
        if isinstance(self.page_register, Sense) and self.page_register.void and self.bus is not self.page_register:
            self.page_register = None
        if self.cache_register is not None and self.cache_register.void and self.bus is not self.cache_register:
            self.cache_register = None
        if self.reserved is read:
            self.reserved = None
        if isinstance(self.array, Sense) and self.array.void:
            # A sense that ends sooner than its reset would is left to end.
            self.array = "RESET"
            self.ends(min(self.die.t_rst, self.array_end - self.now), self.set_back)
        elif self.array is None:
            self.set_back()
        self.send(read.number)

    def set_back(self) -> None:
        """AR2 sets its timing back after each read (asplos21 section 6.2)."""
        self.array = None
        if self.reduced and self.reserved is None:
            self.reduced = False
            self.array = "SET FEATURE"
            self.ends(self.die.t_set, self.idle)

    def idle(self) -> None:
        self.array = None

    # Programs and erases.

    def erases(self, program: Program) -> bool:
        """Whether the program is the first of a block that has not been erased yet."""
        return self.filled == 0 and not program.opened

    def load(self, program: Program) -> bool:
        if self.bus is not None:
            return False
        if self.erases(program):
            program.erase = list(self.die.erases[min(self.opened, len(self.die.erases) - 1)])
            self.opened += 1
        else:
            self.filled = (self.filled + 1) % self.die.pages
        self.programs.remove(program)
        self.array = program
        if program.erasing:
            self.phase()
        else:
            self.page_register = program
        return True

    def loaded(self, program: Program) -> None:
        self.bus = None
        self.page_register = None
        self.phase()

    def phase(self) -> None:
        program = self.array
        assert isinstance(program, Program)
        time = program.phases[0][1]
        program.pulse = program.pulse or time
        self.suspend_pending = self.buffering = False
        self.ends(time, self.array_ended)

    def array_ended(self) -> None:
        program = self.array
        assert isinstance(program, Program)
        was_erase = program.erasing
        program.phases.pop(0)
        program.pulse = program.least = program.setting = 0
        if was_erase and not program.erase:
            # Erased: the die chooses again, and what ranks better goes before the program's data.
            self.array = None
            self.programs.insert(0, program)
            program.opened = True
            return
        if not program.phases:
            self.array = None
            self.finished[program.number] = self.now
            return
        if self.suspend_pending:
            self.leave(program)
            return
        self.phase()

    def consider_suspension(self, program: Program) -> None:
        if self.suspend_pending or not self.waiting:
            return
        if self.page_register is program:
            return
        if self.rank(True) >= self.rank(False):
            return
        policy = self.die.suspend_erase if program.erasing else self.die.suspend_program
        if policy == "none":
            return
        self.suspend_pending = True
        reset = self.die.t_voltage_reset
        if self.buffering:
            # No phase has begun; what follows is as after any other voltage reset (assumed).
            self.ends(reset, lambda: self.leave(program))
            return
        if policy in ("inter-phase", "pulse-boundary") or self.now >= self.array_end - reset:
            return
        what, _ = program.phases[0]
        left = self.array_end - self.now
        if policy == "safe-points":
            self.wait_for_safe_point(program)
            return
        if policy == "intra-phase" and what == "pulse":
            # The cells may be charged already: a verify shows that they are not.
            verify = next(time for what, time in self.die.program if what == "verify")
            program.phases.insert(0, ("check", verify))
        elif policy == "reset-and-resume" and what == "pulse" and program.phases[0][1] - left >= program.setting:
            program.phases[0] = (what, left + reset)
            program.setting = reset
        self.ends(reset, lambda: self.leave(program))

    def wait_for_safe_point(self, program: Program) -> None:
        """Of a pulse, the points that divide it evenly; a verify is completed (SSR: its abstract)."""
        what, _ = program.phases[0]
        if what != "pulse":
            return
        full = program.pulse
        done = full - (self.array_end - self.now)
        points = [full // self.die.safe_points * point for point in range(1, self.die.safe_points)]
        following = [point for point in points if point >= max(done, program.least)]
        if not following:
            return
        program.phases[0] = (what, full - following[0] + self.die.t_voltage_reset)
        program.least = following[0] + 1
        self.ends(following[0] - done + self.die.t_voltage_reset, lambda: self.leave(program))

    def leave(self, program: Program) -> None:
        self.array = None
        self.suspended = program
        self.suspend_pending = self.buffering = False

    def resume(self) -> bool:
        program = self.suspended
        assert program is not None
        self.suspended = None
        self.array = program
        if program.erasing:
            self.phase()
        elif self.die.shadow_buffer:
            self.buffering = True
            self.ends(self.die.t_buffer, self.phase)
        else:
            self.page_register = program
        return True


ECC, BUS, DIE, DATA, ARRIVAL = range(5)


GRAIN, VERIFY = 500_000, 100_000
"""A grain of an erase pulse, and its verify (electronics25 sections 3.2 and 5.1)."""
DEFAULT, SHORT = 7, 2
"""Grains of a default pulse, and of FELP's first one."""
LOOPS = 5
DELTA, GAMMA = 5000, 0.3
"""Fail bits by which a grain more differs, and those of the last grain as a share of it (electronics25 Fig. 15)."""
Table = dict[tuple[int, int], int]
"""EPT (electronics25 Table 1): grains of the last pulse by loop and range of fail bits."""


def fail_bits(left: float) -> float:
    """Fail bits with this many grains to go (electronics25 Fig. 15)."""
    return DELTA * (GAMMA + left - 1) if left > 1 else DELTA * GAMMA * left


def ispe(grains: float) -> list[int]:
    """Default pulses until the block is erased (electronics25 Eq. 2)."""
    return [DEFAULT] * max(1, -int(-grains // DEFAULT))


def i_ispe(grains: float, skip_loss: float) -> list[int]:
    """Straight to the loop that ended the last erase. It makes up for skipped loops, less a share (section 3.4)."""
    first = len(ispe(grains))
    made = (first - 1) * DEFAULT * (1 - skip_loss) + DEFAULT
    return [DEFAULT] * (1 + (max(0, -int(-(grains - made) // DEFAULT)) if made < grains else 0))


def felp(grains: float, table: Table) -> list[int]:
    """A short pulse first; the fail bits that it leaves choose the rest (section 5.2). Loops whose fail bits are beyond
    the table are whole; the pulse that the table gives is the last one."""
    pulses, left, loop = [SHORT], grains - SHORT, 1
    while left > 0:
        ranges = [GAMMA * DELTA] + [times * DELTA for times in range(1, DEFAULT + 1)]
        at = next((index for index, most in enumerate(ranges) if fail_bits(left) <= most), None)
        room = DEFAULT - SHORT if loop == 1 else DEFAULT
        pulse = room if at is None else min(table[loop, at], room)
        if pulse > 0:
            pulses.append(pulse)
        left -= pulse
        if at is not None and pulse < room:
            break
        loop += 1
    return pulses


def phases(pulses: list[int]) -> tuple[Phase, ...]:
    """Each pulse is followed by a verify."""
    return tuple(phase for grains in pulses for phase in (("pulse", grains * GRAIN), ("verify", VERIFY)))
