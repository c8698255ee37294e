"""ssdlab's compiled core: conversions between Python and the Rust crates. Use :mod:`ssdlab` instead."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

__version__: str
RESULTS_VERSION: int
EPT_RANGES: int
EPT_FIRST: int
ECC_ITERATIONS: int
ECC_BITS: int
POLICIES: Sequence[str]

class Stretch(TypedDict):
    """A stretch of a request's time; ``die`` is what a die that was waited for did [ns]; in an array also the drive and
    what that was asked for."""

    what: str
    step: int
    from_ns: int
    to_ns: int
    die: list[tuple[str, int]]
    drive: str | None
    purpose: str | None

class ExplainedRequest(TypedDict):
    """A request and where its time went; ``parts`` are the stages of a read's pages that came from flash."""

    request: int
    op: str
    bytes: int
    arrival_ns: int
    finish_ns: int
    stages: list[Stretch]
    parts: list[list[Stretch]]
    first_senses: list[dict[str, int]]

class ExplainedRun(TypedDict):
    """What a run has shown: the findings are JSON; a signal may have ended it before its workload."""

    requests: list[ExplainedRequest]
    findings: str
    interrupted: bool

class Progress(TypedDict):
    """How far a run has come: the share of its workload, where it can be known, and requests."""

    share: float | None
    submitted: int
    completed: int

class RoundsTrend(TypedDict):
    """Mean requests/s and write amplification of rounds, their spread and slope."""

    iops: float
    waf: float
    spread: float
    slope: float

class Described(TypedDict):
    """A statistic of a result."""

    name: str
    unit: str
    about: str

class FinishedRun(TypedDict):
    """What is known at the end of a run: the result as JSON, without what is said of the process; its statistics; the
    time series as Parquet bytes, where it was asked for; the request log as (rows, Parquet bytes), the bytes empty
    where it went to a file; and the latency distributions of reads and writes as (latency [ns], share of requests up to
    it)."""

    result: str
    described: list[Described]
    series: bytes | None
    requests: tuple[int, bytes] | None
    distributions: tuple[list[tuple[int, float]], list[tuple[int, float]]]

class InputError(ValueError):
    """Bad input: file, line or key, what was expected, and the remedy."""

class SimulationError(RuntimeError):
    """A run that cannot go on."""

class BoundRow(TypedDict):
    """What a resource allows."""

    resource: str
    per_s: float
    formula: str

class AccessRow(TypedDict):
    """A pattern of access and its bounds, the tightest first."""

    what: str
    bytes: int
    bounds: list[BoundRow]
    lone_ns: int | None
    reached: bool

class Simulation:
    """A replay of a workload on a device, played in steps."""

    def __new__(cls, device: str, workload: str, **options: Any) -> Simulation:
        """The options are those of :mod:`ssdlab.runs.options`."""

    @property
    def manifest(self) -> str: ...
    @property
    def bounds(self) -> list[AccessRow]:
        """What the device can do at most, before the run has begun."""

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
    ) -> ExplainedRun:
        """Plays the whole run, and explains some requests. ``progress`` is called with what :meth:`progress` gives:
        share, submitted, completed."""

    def timeline(self, path: str, windows: list[str]) -> int:
        """Plays the run, as far as the windows (``FROM:TO`` each; all of it if there are none) ask for, and writes a
        Perfetto trace of them; returns its size [B]."""

    def save(self) -> None:
        """Completes the checkpoint of a run that has been finished, where one was asked for; without the GIL."""

    def progress(self) -> Progress:
        """How far the run has come."""

    def rounds(self) -> tuple[int, RoundsTrend | None] | None:
        """How far the search for a steady state has come, where there is one: rounds; and once two have been run, their
        trend."""

    def warms(self) -> tuple[int, float] | None:
        """Pages that have been played through the FTL alone so far, and the write amplification then, while that goes
        on before the run."""

    def finish(self, interrupted: bool = ..., keep_series: bool = ...) -> FinishedRun:
        """Ends the run. ``keep_series``: its time series is wanted."""

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

    @property
    def erases(self) -> int:
        """How often it has been erased in the run; 0 while a load is played before the run."""

    @property
    def stream(self) -> int | None:
        """The stream of host data that it holds; None of relocated data and of what was there before the run."""

class Blocks:
    """The full blocks of a plane, as they were when the policy was asked.

    The drive lends its own, and copies them only if the policy keeps them beyond its answer.
    """

    @property
    def pages(self) -> int:
        """Pages of a block."""

    @property
    def limit(self) -> int:
        """A block with this many valid pages or more gains nothing."""

    @property
    def least_valid(self) -> int | None:
        """The fewest valid pages that any block has; None where there is no block."""

    def valid(self, number: int) -> int | None:
        """The valid pages of a block; None where it is not one of them."""

    def oldest(self, valid: int) -> Candidate | None:
        """Of the blocks with this many valid pages, the one that has lost none for longest."""

    def contenders(self) -> list[Candidate]:
        """Of each number of valid pages below the limit, from the fewest up, the block that lost none for longest."""

    def all(self) -> list[Candidate]:
        """All of them, by their numbers."""

    def first_filled(self) -> Candidate | None:
        """The block that was filled first; kept with ``gc.victim = "fifo"`` only."""

    def random(self) -> Candidate | None:
        """A block chosen at random, by the drive's seed."""

class Address:
    """Where a page of the flash is."""

    @property
    def plane(self) -> int:
        """The plane."""

    @property
    def block(self) -> int:
        """Its block there."""

    @property
    def page(self) -> int:
        """Its number in the block."""

class DriveLayout:
    """The drive as an FTL of one's own sees it."""

    @property
    def planes(self) -> int:
        """Planes of the drive: relocated data stays in its plane. Those whose blocks make a superblock are one."""

    @property
    def planes_per_die(self) -> int:
        """Planes of a die, which are numbered one after the other."""

    @property
    def blocks(self) -> int:
        """Blocks of a plane."""

    @property
    def pages(self) -> int:
        """Pages of a block, as the map knows pages (``mapping.unit``)."""

    @property
    def logical_pages(self) -> int:
        """Logical pages: they are numbered from 0."""

    @property
    def streams(self) -> int:
        """Streams of host data, numbered from 0: each fills blocks of its own."""

    @property
    def page_size(self) -> int:
        """Bytes of a page."""

    def address(self, ppn: int) -> Address:
        """Where a page of the flash is."""

    def ppn(self, plane: int, block: int, page: int) -> int:
        """The number of a page of the flash (PPN)."""

class FirstSense:
    """A read that is about to sense a page for the first time."""

    def __new__(
        cls,
        last: int | None,
        walks: bool,
        table: int,
        pec: int = 0,
        days: int = 0,
        layer: int = 0,
        kind: int = 0,
    ) -> FirstSense: ...
    @property
    def last(self) -> int | None:
        """The step that last read a similar page (``read.tracking`` says which are); None where none has been read."""

    @property
    def walks(self) -> bool:
        """A failure is followed by a walk along the table."""

    @property
    def table(self) -> int:
        """The last step of the table."""

    @property
    def pec(self) -> int:
        """P/E cycles of the page's block."""

    @property
    def days(self) -> int:
        """For how long the page has held its data, as the controller knows it [days at 30 °C]."""

    @property
    def layer(self) -> int:
        """Its group of layers."""

    @property
    def kind(self) -> int:
        """Which page of its wordline it is: 0 is the LSB page."""

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
        """Below this many the host's open block may be full while all the room is for relocated data."""

    @property
    def start(self) -> int:
        """Collection starts at about this many."""

    @property
    def pages(self) -> int:
        """Pages of a block."""

    @property
    def valid(self) -> int:
        """Valid pages of the block that is collected."""

def checkpoint_check(path: str) -> None:
    """Checks that a checkpoint is whole and of this build; raises FileNotFoundError where there is none."""

class Server:
    """A server of simulated drives for clients of the NBD protocol, or for hosts of NVMe/TCP."""

    def __new__(
        cls,
        *,
        socket: str | None,
        address: str | None,
        nvme: str | None,
        hosts: set[str] | None,
        secrets: dict[str, list[tuple[int, bytes]]],
        clock: str,
        think: str,
        grace: str,
        depth: int,
        lag_bound: str,
    ) -> Server:
        """Clients of NBD come to a socket in the file system or to a TCP address, hosts of NVMe to the TCP address
        ``nvme``: those of the names ``hosts``, or all; where there are ``secrets`` those that prove by them who they
        are (by name: its own and perhaps that of the drives, as the identifier of a hash function and a key). The
        clock is "real" or "virtual"; the bound is of the real one, the others are of the virtual one."""

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

    def rest(self, drive: str | None, span: str, at: str | None) -> None:
        """Lets time pass for a drive that has nothing to do, at a temperature or at that of its rest; what is measured
        begins then. A server of one drive needs no name."""

    def save(self, drive: str | None, path: str) -> None:
        """Writes a checkpoint of a drive that has nothing to do."""

    def cut(self, drive: str | None, stays_off: bool) -> None:
        """Cuts the power of a drive: what is under way is aborted, and what was not durable is gone. It comes back at
        once, or stays off until it is restored."""

    def restore(self, drive: str | None) -> None:
        """The power of a drive comes back."""

    def health(self, drive: str | None) -> str:
        """How a drive is now: what its SMART log has, as JSON."""

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

    def finish(self) -> FinishedRun:
        """The result, as :meth:`Simulation.finish` gives it."""

    def save(self, path: str) -> None:
        """Writes a checkpoint of the drive at rest, once the session has been finished."""

    def replay(self) -> Simulation:
        """A run that replays the session: its requests at their times, if they were recorded."""

class Completed(TypedDict):
    """A request that has completed."""

    request: int
    finish_ns: int
    uncorrectable: bool
    status: str
    offset: int

class ZoneRow(TypedDict):
    """A zone, as a report of zones has it."""

    state: str
    start: int
    capacity: int
    write_pointer: int
    random_area: bool

class EventRow(TypedDict):
    """What has happened to reclaim units: the code of its type, when [ns], the handle, pages that it concerns."""

    code: int
    time_ns: int
    handle: int
    pages: int

class OfHandleRow(TypedDict):
    """What became of the data of a placement handle [B], and its reclaim units."""

    hint: int
    written: int
    relocated: int
    filled: int
    left: int

class HandlesRow(TypedDict):
    """Reclaim units of placement handles [B]."""

    unit: int
    available: list[int]
    host_written: int
    media_written: int
    media_erased: int
    by_handle: list[OfHandleRow]
    events: list[EventRow]
    groups: int
    identifiers: list[int]

class PageConditions(TypedDict):
    """The conditions of a flash page: its block's P/E cycles, retention age [s], temperature [C], its block's reads."""

    pec: int
    retention_s: float
    temperature_c: float
    reads: int

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
    @staticmethod
    def of_array(
        path: str,
        *,
        device: str | None = None,
        scheme: str | None = None,
        age: str | None = None,
        settings: list[str] = ...,
        policies: Sequence[Any] = ...,
        seed: int = 1,
        checkpoint: str | None = None,
    ) -> Device:
        """The array of a file."""

    def submit(self, time: int, op: str, offset: int, bytes: int, queue: int = 0, hint: int = 0) -> int:
        """Hands a request to the device: time [ns], "read" or "write", offset [B], bytes, queue, hint; its number."""

    def submit_many(
        self,
        time: list[int],
        op: list[str],
        offset: list[int],
        bytes: list[int],
        queue: list[int],
        hint: list[int],
    ) -> int:
        """Hands requests to the device, as columns of one length; the number of the first."""

    def fdp(self) -> HandlesRow | None:
        """The reclaim units of placement handles; None where the drive takes no hints."""

    def zones(self, first: int = 0, count: int | None = None) -> list[ZoneRow]:
        """The zones from one on; all that follow where no count is given."""

    def advance(self, time: int) -> list[Completed]:
        """Plays up to ``time`` [ns]; returns all that completed, in order."""

    def advance_to_completion(self) -> list[Completed]:
        """Plays until something completes, or until nothing is left to do; returns what completed."""

    def rest(self, span: str, at: str | None = None) -> None:
        """Everything buffered is written, and the drive left alone for a span such as "6mo", at a temperature such as
        "40C" or at that of its rest: its data grows old, and is refreshed as configured."""

    def flush(self) -> None:
        """Writes everything buffered to flash and plays until all is idle."""

    def save(self, path: str) -> None:
        """Writes the whole state to a file."""

    def conditions(self, offset: int) -> PageConditions | None:
        """The conditions of the page behind a byte address; None where none was written."""

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

class TierAnswer(TypedDict):
    """What a surface says of a point: values and half widths; of latencies [ns] the mean, p50, p99 and p99.9."""

    bytes_per_s: tuple[float, float | None]
    requests_per_s: tuple[float, float | None]
    read: list[tuple[float, float | None]] | None
    write: list[tuple[float, float | None]] | None
    findings: list[str]

class TierAxes(TypedDict):
    """The values of a surface's axes."""

    age: list[str]
    scheme: list[str]
    reads: list[float]
    bytes: list[int]
    qd: list[int]

class TierPoint(TypedDict):
    """A point of a surface's grid."""

    age: str
    scheme: str
    reads: float
    bytes: int
    qd: int

class TierCheck(TypedDict):
    """How well a quantity of a surface is predicted where a point is left out; ``axis`` is None for all of them."""

    value: str
    axis: str | None
    predictions: int
    median: float
    worst: float
    worst_at: TierPoint

class Tier:
    """The surfaces of a drive."""

    @staticmethod
    def load(path: str) -> Tier:
        """Reads a surface's file."""

    @staticmethod
    def parse(text: str, origin: str) -> Tier:
        """Reads the text of one."""

    @property
    def json(self) -> str:
        """The text of its file."""

    @property
    def assumed(self) -> str:
        """What was assumed, as JSON."""

    @property
    def axes(self) -> TierAxes:
        """The values of the axes."""

    def ask(self, bytes: int, qd: float, reads: float, age: str | None, scheme: str | None) -> TierAnswer:
        """All values at a point."""

    def value(
        self, quantity: str, bytes: int, qd: float, reads: float, age: str | None, scheme: str | None
    ) -> tuple[float, float | None]:
        """One value at a point, with its half width."""

    def cross_validation(self) -> list[TierCheck]:
        """The errors of the interpolation."""

class MediaEnded(TypedDict):
    """A command to flash that has ended."""

    command: int
    finish_ns: int
    status: str
    retries: int
    problem: str | None
    miscorrected: bool

class MediaShape(TypedDict):
    """What flash is made of."""

    channels: int
    dies: int
    planes: int
    blocks: int
    pages: int
    page_size: int
    program_pages: int

class Media:
    """Flash that its host manages."""

    def __new__(
        cls,
        device: str = "tlc",
        *,
        scheme: str | None = None,
        age: str | None = None,
        settings: list[str] = ...,
        policies: Sequence[Any] = ...,
        seed: int = 1,
    ) -> Media: ...
    def submit_many(
        self,
        time: list[int],
        op: list[str],
        die: list[int],
        plane: list[int],
        block: list[int],
        page: list[int],
        bytes: list[int],
    ) -> int:
        """Hands commands to the flash, as columns of one length; the number of the first."""

    def advance(self, time: int) -> list[MediaEnded]:
        """Plays up to ``time`` [ns]; returns all that ended, in order."""

    def advance_to_completion(self) -> list[MediaEnded]:
        """Plays until something ends, or until nothing is left to do; returns what ended."""

    def rest(self, span: str, at: str | None = None) -> None:
        """What is under way is played; then all data grows older by a span such as "6mo"."""

    def save(self, path: str) -> None:
        """Writes the whole state to a file."""

    def next_page(self, die: int, plane: int, block: int) -> int | None:
        """The page of a block that is programmed next; None where it is full, not erased or bad."""

    def is_bad(self, die: int, plane: int, block: int) -> bool:
        """Whether the factory found a block bad."""

    @property
    def shape(self) -> MediaShape:
        """What it is made of."""

    @property
    def now(self) -> int:
        """The present simulated time [ns]."""

    @property
    def next_event(self) -> int | None:
        """When something happens next [ns], if nothing is submitted before."""

    @property
    def outstanding(self) -> int:
        """Commands that were submitted and have not ended."""

class DeviceRow(TypedDict):
    """A device preset: ``source`` is where its values come from, ``capacity`` in bytes, ``text`` TOML."""

    name: str
    about: str
    source: str
    capacity: int
    text: str

class WorkloadRow(TypedDict):
    """A workload preset: ``text`` is TOML."""

    name: str
    about: str
    text: str

class SchemeRow(TypedDict):
    """A named scheme: its choices as (axis, choice)."""

    name: str
    about: str
    choices: list[tuple[str, str]]

class FormatRow(TypedDict):
    """A trace format: ``layout`` is what its lines hold."""

    name: str
    title: str
    layout: str

class KeyRow(TypedDict):
    """A configuration key; its default is TOML."""

    section: str
    section_about: str
    key: str
    about: str
    accepts: str
    default: str

class OptionRow(TypedDict):
    """An option of a run: ``flag`` is its name on the command line where that is another, ``metavar`` what stands for
    its value there, ``help`` its meaning there where that is another; ``is_output`` whether it says what a run
    writes."""

    name: str
    kind: str
    least: int
    flag: str | None
    metavar: str
    about: str
    help: str | None
    default: int | str | None
    is_output: bool

class ColumnRow(TypedDict):
    """A column of a table."""

    name: str
    unit: str
    about: str

class WarningRow(TypedDict):
    """A kind of finding: ``when`` is its threshold, ``why`` the threshold's reason; ``excludes`` whether comparisons
    leave such results out."""

    id: str
    meaning: str
    when: str
    why: str
    excludes: bool

def devices() -> list[DeviceRow]:
    """The device presets."""

def workloads() -> list[WorkloadRow]:
    """The workload presets."""

def schemes() -> list[SchemeRow]:
    """The named schemes."""

def formats() -> list[FormatRow]:
    """The trace formats."""

def schema() -> list[KeyRow]:
    """Every configuration key."""

def described_device(word: str) -> str | None:
    """The text of the device file that a description in a line stands for; None where it is a name or a path."""

def device_files(word: str) -> list[Path]:
    """The device files that are read for a device, each before the one that it builds on, or its checkpoint."""

def drive_files(array: str, settings: list[str]) -> list[tuple[str, list[Path]]]:
    """The device files that are read for each kind of drive in an array, by its name, as :func:`device_files`."""

def text_in(text: str, section: str, key: str) -> str | None:
    """The text under a key of a TOML text, in a section or ("") above all, as the core reads it; None where it is not
    there."""

def run_options() -> list[OptionRow]:
    """Every option of a run."""

def columns() -> tuple[list[ColumnRow], list[ColumnRow]]:
    """The columns of the request log, and those of the time series."""

def warnings() -> list[WarningRow]:
    """The kinds of findings, the gravest first."""

class Conversion(TypedDict):
    """What came of a conversion: ``data`` is what was written where it went to no file, ``notes`` how the traces were
    read."""

    data: bytes
    counts: list[tuple[str, int]]
    notes: list[str]

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
) -> Conversion:
    """Writes traces as text, or as Parquet where ``to`` is None: to ``out``, or as bytes."""

def split(
    paths: list[str],
    folder: str,
    most: int,
    *,
    format: str | None = None,
    skip_bad_lines: int = 0,
    sort_window: int | None = None,
) -> tuple[list[tuple[int, int]], list[tuple[str, int]], list[str]]:
    """Writes the requests of each device, at most ``most``, into a file of its own in a folder: devices with their
    requests, counts of what was left out or changed, and how the traces were read."""

class DecodedWords(TypedDict):
    """What was counted of decoded words: ``miscorrected`` are failures decoded to another codeword; ``pruned`` and
    ``all`` are words by the weight of pruned and of all syndromes, each as [decoded, failed]."""

    words: int
    failures: int
    miscorrected: int
    by_iterations: list[int]
    pruned: list[list[int]]
    all: list[list[int]]

def ecc_simulate(
    rber: float, first: int, last: int, errors: str, schedule: str, seed: int, threads: int, soft: str = "none"
) -> DecodedWords:
    """Decodes the words numbered ``first`` to ``last`` - 1."""

def ecc_expected_weight(rber: float, pruned: bool) -> float:
    """The expected syndrome weight at an RBER."""

def ecc_rearranged_differs(words: int, seed: int) -> int:
    """Of this many random codewords with random errors, those that the on-die datapath weighs otherwise than the
    matrix."""

class Constant(TypedDict):
    """A constant of a chip."""

    section: str
    key: str
    value: str
    about: str
    source: str

class BlockLife(TypedDict):
    """A block under the conventional erase scheme: grains that its erase needs, wear, M_RBER."""

    needed: float
    wear: float
    rber: float

class BlockWear(TypedDict):
    """Blocks under an erase scheme: P/E cycles, mean and largest M_RBER, mean loops, the share that two loops erase,
    mean time [ns], the share that could not be erased."""

    pec: int
    mean: float
    most: float
    loops: float
    within_two: float
    time_ns: float
    failed: float

class EptRow(TypedDict):
    """An entry of the erase-timing parameter table: grains of the pulse, without and with the margin."""

    loops: int
    range: int
    safe: int
    spared: int

class RptRow(TypedDict):
    """An entry of the read-timing parameter table: P/E cycles, months at 30 °C, the share of tPRE that is cut."""

    pec: int
    months: float
    cut: float

class ErasedBlock(TypedDict):
    """How a block erases, relative to the typical one: grains that it needs when fresh, growth, wear."""

    fresh: float
    growth: float
    wear: float

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
    def constants(self) -> list[Constant]: ...
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
    def erase_lives(self, pec: list[int], step: int = 50) -> list[list[BlockLife]]: ...
    def lifetime(
        self,
        pulses: str,
        margin: str,
        voltage: str,
        mispredictions: float,
        requirement: float,
        step: int,
        last: int,
    ) -> list[BlockWear]: ...
    def ept(self, requirement: float) -> list[EptRow]: ...
    def rpt(self) -> list[RptRow]: ...
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
    def erase_blocks(self) -> list[ErasedBlock]: ...
