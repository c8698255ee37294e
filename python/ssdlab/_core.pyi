"""ssdlab's compiled core: conversions between Python and the Rust crates. Use :mod:`ssdlab` instead."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

__version__: str
RESULTS_VERSION: int
EPT_RANGES: int
EPT_FIRST: int
ECC_ITERATIONS: int
ECC_BITS: int
POLICIES: Sequence[str]

_Stretch = tuple[str, int, int, int, list[tuple[str, int]]]

class InputError(ValueError):
    """Bad input: file, line or key, what was expected, and the remedy."""

class SimulationError(RuntimeError):
    """A run that cannot go on."""

class Simulation:
    """A replay of a workload on a device, played in steps."""

    def __new__(cls, device: str, workload: str, **options: Any) -> Simulation:
        """The options are those of :mod:`ssdlab.runs.options`."""

    @property
    def manifest(self) -> str: ...
    @property
    def ended(self) -> str | None:
        """Why the run ended before its workload, where there is a result all the same; known once it is finished."""

    @property
    def note(self) -> str | None:
        """What the user should know about how the workload was read."""

    def step(self, requests: int) -> bool:
        """Plays some ``requests`` more without the GIL; returns whether the workload has been played to its end."""

    def explain(
        self, slowest: int, wanted: list[int], progress: Callable[[float | None, int, int], None] | None = ...
    ) -> tuple[list[tuple[int, str, int, int, int, list[_Stretch], list[list[_Stretch]]]], str, bool]:
        """Plays the whole run; of some requests number, op, bytes, arrival, finish [ns], stages (what, step, from, to
        [ns], and what the die did [ns]), and those of each part of a read. Also the run's findings as JSON, and whether
        a signal ended it before its workload. ``progress`` is called with what :meth:`progress` gives."""

    def timeline(self, path: str, windows: list[str]) -> int:
        """Plays the run, as far as the windows (``FROM:TO`` each; all of it if there are none) ask for, and writes a
        Perfetto trace of them; returns its size [B]."""

    def save(self) -> None:
        """Completes the checkpoint of a run that has been finished, where one was asked for; without the GIL."""

    def progress(self) -> tuple[float | None, int, int]:
        """Share of the workload played, where it can be known; requests submitted; requests completed."""

    def rounds(self) -> tuple[int, tuple[float, float, float, float] | None] | None:
        """How far the search for a steady state has come, where there is one: rounds; and once two have been run their
        mean requests/s and write amplification, spread and slope."""

    def warms(self) -> tuple[int, float] | None:
        """Pages that have been played through the FTL alone so far, and the write amplification then, while that goes
        on before the run."""

    def finish(
        self,
        interrupted: bool = ...,
    ) -> tuple[
        str,
        list[tuple[str, str, str]],
        bytes,
        tuple[int, bytes] | None,
        tuple[list[tuple[int, float]], list[tuple[int, float]]],
    ]:
        """Ends the run.

        Returns the JSON of the result, without what is said of the process; the statistics' (name, unit, description);
        the time series as Parquet bytes; the request log as (rows, Parquet bytes), the bytes empty where it went to a
        file; and the latency distributions of reads and writes as (latency [ns], share of requests up to it).
        """

class Candidate:
    """A full block."""

    @property
    def number(self) -> int:
        """Its number in its plane."""

    @property
    def valid(self) -> int:
        """Its valid pages."""

    @property
    def age(self) -> int:
        """Pages programmed on the plane since it last lost one."""

class Blocks:
    """The full blocks of a plane, as they were when the policy was asked."""

    @property
    def pages(self) -> int:
        """Pages of a block."""

    @property
    def limit(self) -> int:
        """A block with so many valid pages or more gains nothing."""

    @property
    def least_valid(self) -> int | None:
        """The fewest valid pages that any block has; None where there is no block."""

    def oldest(self, valid: int) -> Candidate | None:
        """Of the blocks with so many valid pages, the one that has lost none for longest."""

    def contenders(self) -> list[Candidate]:
        """Of each number of valid pages below the limit, from the fewest up, the block that lost none for longest."""

    def first_filled(self) -> Candidate | None:
        """The block that was filled first; kept with ``gc.victim = "fifo"`` only."""

    def random(self) -> Candidate | None:
        """A block chosen at random, by the drive's seed."""

class Failed:
    """A read whose last sense could not be corrected."""

    def __new__(
        cls,
        start: int,
        reference: int | str,
        last: int,
        sentinel: bool = False,
        weighed: Sequence[tuple[int, int]] = (),
        table: Sequence[int] = (),
    ) -> Failed: ...
    @property
    def start(self) -> int:
        """The step at which the read began."""

    @property
    def reference(self) -> int | Literal["near-optimal", "sentinel"]:
        """The references that have just failed."""

    @property
    def last(self) -> int:
        """The last step of the table."""

    @property
    def sentinel(self) -> bool:
        """The page's boundaries include the sentinel's."""

    @property
    def weighed(self) -> list[tuple[int, int]]:
        """The steps sensed so far and their syndromes' weights, with ``read.next = "syndrome"``."""

    @property
    def table(self) -> list[int]:
        """The steps of the table made for the chip, with ``read.next = "tailored"``."""

class InPhase:
    """Where an operation is that a user read waits for."""

    def __new__(cls, pulse: bool, done_ns: int, left_ns: int, reset_ns: int, safe_ns: int | None = None) -> InPhase: ...
    @property
    def pulse(self) -> bool:
        """In a pulse rather than in a verify."""

    @property
    def done_ns(self) -> int:
        """How far the phase has come [ns]."""

    @property
    def left_ns(self) -> int:
        """What is left of it, the voltage reset at its end included [ns]."""

    @property
    def reset_ns(self) -> int:
        """What resetting the voltages takes [ns]."""

    @property
    def safe_ns(self) -> int | None:
        """How far apart the safe points of a pulse are, where it has any [ns]."""

class Collection:
    """A plane whose blocks are collected."""

    def __new__(cls, room: int, least: int, start: int, pages: int, valid: int) -> Collection: ...
    @property
    def room(self) -> int:
        """Pages that host data and relocated data may still fill."""

    @property
    def least(self) -> int:
        """Below so many the host's open block may be full while all the room is for relocated data."""

    @property
    def start(self) -> int:
        """Collection starts at about so many."""

    @property
    def pages(self) -> int:
        """Pages of a block."""

    @property
    def valid(self) -> int:
        """Valid pages of the block that is collected."""

def checkpoint_check(path: str) -> None:
    """Checks that a checkpoint is whole and of this build; raises FileNotFoundError where there is none."""

class Server:
    """A server of simulated drives for clients of the NBD protocol."""

    def __new__(
        cls,
        *,
        socket: str | None,
        address: str | None,
        clock: str,
        think: str,
        grace: str,
        depth: int,
        lag_bound: str,
    ) -> Server:
        """Clients come to a socket in the file system or to a TCP address. The clock is "real" or "virtual"; the bound
        is of the real one, the others are of the virtual one."""

    def export(
        self,
        name: str,
        device: str,
        *,
        memory: str,
        data: str | None = None,
        records: bool = False,
        after_load: str | None = None,
        **options: Any,
    ) -> str | None:
        """Opens a drive, to be served under a name; ``options`` are those of a run that concern the drive. With
        ``records`` its requests can be played again; it rests for ``after_load`` when its first clients have left.
        Returns what the user should know of how the input was
        understood."""

    def start(self) -> list[str]:
        """Begins to serve; returns the URI of each drive."""

    def notes(self) -> list[str]:
        """What users should be told of what goes on, since this was asked last."""

    def attend(self) -> bool:
        """Looks after clients for a moment; whether some have asked for something and all have left."""

    def stop(self) -> list[Session]:
        """Ends: what clients have asked for is done. Gives each drive's session."""

class Session:
    """What has come of a drive that was served."""

    @property
    def name(self) -> str:
        """The export's name."""

    @property
    def ended(self) -> str | None:
        """Why the drive could not go on, if it could not."""

    def finish(
        self,
    ) -> tuple[
        str,
        list[tuple[str, str, str]],
        bytes,
        tuple[int, bytes] | None,
        tuple[list[tuple[int, float]], list[tuple[int, float]]],
    ]:
        """The result, as :meth:`Simulation.finish` gives it."""

    def save(self, path: str) -> None:
        """Writes a checkpoint of the drive at rest, once the session has been finished."""

    def replay(self) -> Simulation:
        """The same requests at the same times as a run, where they were recorded."""

class Device:
    """A simulated SSD that is driven request by request."""

    def __new__(
        cls,
        device: str = "tlc",
        *,
        scheme: str | None = None,
        age: str | None = None,
        settings: list[str] = ...,
        policies: Sequence[Any] = ...,
        seed: int = 1,
    ) -> Device: ...
    def submit(self, time: int, op: str, offset: int, bytes: int, queue: int = 0, hint: int = 0) -> int:
        """Hands a request to the device: time [ns], "read" or "write", offset [B], bytes, queue, hint; its number."""

    def advance(self, time: int) -> list[tuple[int, int, bool]]:
        """Plays up to ``time`` [ns]; returns (request, finish [ns]) of all that completed, in order."""

    def advance_to_completion(self) -> list[tuple[int, int, bool]]:
        """Plays until something completes, or until nothing is left to do; returns what completed."""

    def rest(self, span: str, at: str | None = None) -> None:
        """Everything buffered is written, and the drive left alone for a span such as "6mo", at a temperature such as
        "40C" or at that of its rest: its data grows old, and is refreshed as configured."""

    def flush(self) -> None:
        """Writes everything buffered to flash and plays until all is idle."""

    def save(self, path: str) -> None:
        """Writes the whole state to a file."""

    def conditions(self, offset: int) -> tuple[int, float, float, int] | None:
        """P/E cycles, retention age [s], temperature [C] and reads of a page; None where none was written."""

    @property
    def now(self) -> int:
        """The present simulated time [ns]."""

    @property
    def capacity(self) -> int:
        """Logical capacity [B]."""
    @property
    def raw_capacity(self) -> int:
        """Capacity of the flash, spare blocks included [B]."""

    @property
    def outstanding(self) -> int:
        """Requests that were submitted and have not completed."""

def devices() -> list[tuple[str, str, str, int, str]]:
    """The device presets: name, about, source, capacity [B], TOML text."""

def workloads() -> list[tuple[str, str, str]]:
    """The workload presets: name, about, TOML text."""

def schemes() -> list[tuple[str, str, list[tuple[str, str]]]]:
    """The named schemes: name, about, choices as (axis, choice)."""

def formats() -> list[tuple[str, str, str]]:
    """The trace formats: name, title, layout of a line."""

def schema() -> list[tuple[str, str, str, str, str, str]]:
    """Every configuration key: section, section's meaning, key, meaning, what it accepts, default."""

def run_options() -> list[tuple[str, str, int, str | None, str, str, str | None, int | str | None, bool]]:
    """Every option of a run: name, kind, least number, name on the command line where that is another, what stands for
    its value there, meaning, the same for the command line (None: the same), default, whether it says what a run
    writes."""

def columns() -> tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]]:
    """The columns of the request log, and those of the time series: name, unit, meaning."""

def warnings() -> list[tuple[str, str, str, str, bool]]:
    """The kinds of findings, the gravest first: id, meaning, threshold, its reason, whether comparisons leave such
    results out."""

def inspect(path: str, *, format: str | None = ..., skip_bad_lines: int = ...) -> tuple[str, list[str]]: ...
def extent(path: str, *, format: str | None = None) -> tuple[int, int]:
    """How many requests a trace has, and where the farthest of them ends [bytes]."""

def convert(
    paths: list[str],
    out: str | None,
    to: str | None,
    *,
    format: str | None = None,
    skip_bad_lines: int = 0,
    sort_window: int | None = None,
    from_: str | None = None,
    until: str | None = None,
    requests: int | None = None,
    device: int | None = None,
    range: tuple[str, str] | None = None,
) -> tuple[bytes, list[tuple[str, int]], list[str]]:
    """Writes traces as text, or as Parquet where ``to`` is None: to ``out``, or as bytes. Also counts and notes."""

def ecc_simulate(
    rber: float, first: int, last: int, errors: str, schedule: str, seed: int, threads: int, soft: str = "none"
) -> tuple[int, int, int, list[int], list[list[int]], list[list[int]]]:
    """Decodes the words numbered ``first`` to ``last`` - 1: words, failures, miscorrected, words by iterations, and by
    pruned and by all syndromes' weight, each as [decoded, failed]."""

def ecc_expected_weight(rber: float, pruned: bool) -> float:
    """The expected syndrome weight at an RBER."""

def ecc_rearranged_differs(words: int, seed: int) -> int:
    """Of so many random codewords with random errors, those that the on-die datapath weighs otherwise than the
    matrix."""

_At = tuple[float, float, float]

class Chip:
    """A virtual chip in a population; conditions are (thousand P/E cycles, months at 30 °C, °C of the read)."""

    def __init__(
        self, name: str, text: str | None = None, *, chips: int = 160, blocks: int = 120, seed: int = 1
    ) -> None: ...
    @staticmethod
    def names() -> list[str]: ...
    @property
    def about(self) -> str: ...
    @property
    def constants(self) -> list[tuple[str, str, str, str, str]]: ...
    def retry_steps(
        self, conditions: list[_At], threads: int, progress: Callable[[float], None] | None = None
    ) -> list[list[int]]: ...
    def m_err(self, at: _At, cuts: tuple[float, float, float] = ...) -> int: ...
    def m_err_between(self, at: _At, cuts: tuple[float, float, float] = ...) -> float: ...
    def safe_pre_cut(self, at: _At, margin: int) -> float: ...
    def failing(self, at: _At, cuts: tuple[float, float, float]) -> float: ...
    def first_day(self, x: float, errors: float) -> float | None: ...
    def chunk_spread(self, kib: int, pages: int) -> float: ...
    def sentinel(self, at: _At) -> tuple[int, int]: ...
    def errors(self, page: int, at: _At, log_factor: float, offset: float | None) -> float: ...
    def erase_lives(self, pec: list[int], step: int = 50) -> list[list[tuple[float, float, float]]]: ...
    def lifetime(
        self,
        pulses: str,
        margin: str,
        voltage: str,
        mispredictions: float,
        requirement: float,
        step: int,
        last: int,
    ) -> list[tuple[int, float, float, float, float, float, float]]: ...
    def ept(self, requirement: float) -> list[tuple[int, int, int, int]]: ...
    def rpt(self) -> list[tuple[int, float, float]]: ...
    def vpt(self) -> list[float]: ...
    def fail_range(self, fail_bits: float) -> int | None: ...
    @property
    def erase_shape(self) -> tuple[int, int]:
        """Grains of the default erase pulse, and the most loops of an erase."""

    @property
    def grain_ms(self) -> float: ...
    def least_grains(self, needed: float) -> int: ...
    def loops_for(self, grains: int) -> int: ...
    def fail_bits(self, left: float) -> float: ...
    def incomplete(self, left: float) -> float: ...
    def m_rber(self, added: float) -> float: ...
    def erase_shift(self, wordline: int, volts: float) -> float: ...
    def erase_blocks(self) -> list[tuple[float, float, float]]: ...
