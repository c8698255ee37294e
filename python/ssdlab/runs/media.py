"""Flash without a drive: its host names the pages that are read and programmed and the blocks that are erased."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ssdlab import _core
from ssdlab.common.output import replacing
from ssdlab.runs.batches import Columns, Refusing
from ssdlab.runs.documents import Given as Word
from ssdlab.runs.documents import word_of
from ssdlab.runs.options import Age, PathLike, Settings, age_text, functions_of, setting_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars

    from ssdlab.policy import Given

MediaOperation = Literal["read", "program", "erase"]
"""What a command asks for."""


class MediaShape(NamedTuple):
    """What flash is made of."""

    channels: int
    """Channels."""
    dies: int
    """Dies, over all channels."""
    planes: int
    """Planes of a die."""
    blocks: int
    """Blocks of a plane."""
    pages: int
    """Pages of a block."""
    page_size: int
    """Data bytes of a page."""
    program_pages: int
    """Pages that one program writes: 1, or those of a wordline."""


class MediaCompletion(NamedTuple):
    """A command that has ended."""

    command: int
    """The number that :meth:`Media.submit` gave."""
    finish_ns: int
    """When it ended [ns]."""
    status: str
    """``"success"``, ``"uncorrectable"``, ``"program-failed"``, ``"erase-failed"``; or the rule of the chip that it
    would have broken, and was not begun: ``"erase-first"``, ``"out-of-order"``, ``"unwritten"``, ``"factory-bad"``."""
    retries: int = 0
    """Of a read, how often its page was sensed again for the controller."""
    problem: str | None = None
    """What went wrong: which page, which rule, and the remedy."""
    miscorrected: bool = False
    """Its data is other data than was programmed, and nothing has noticed (``ecc.miscorrection``)."""


class Media:
    """Flash that its host manages: no host link, no buffer, no FTL. Simulated time is whole nanoseconds from 0.

    >>> media = Media("hbf", age={"pec": 1000, "retention": "6mo"})
    >>> number = media.submit(0, "read", die=3, plane=0, block=7, page=5)
    >>> [done] = media.advance_to_completion()
    >>> done.status
    'success'

    Of each plane the first blocks hold data at the start, by ``age.fill``; the rest are erased. Commands of one block
    take effect in the order in which they are submitted; what breaks a rule of the chip says so in its completion.
    """

    __slots__ = ("_core",)

    def __init__(
        self,
        device: Word = "tlc",
        *,
        scheme: str | None = None,
        age: Age | None = None,
        settings: Settings | None = None,
        policies: Given | None = None,
        seed: int = 1,
    ) -> None:
        """The options are those of :class:`ssdlab.Device`; settings are of the sections that flash alone has, and
        policies of what it decides: ``order``, ``start``, ``next``, ``suspend_program``, ``suspend_erase``.

        Raises:
            InputError: what cannot be built.
        """
        with Refusing():
            self._core = _core.Media(
                word_of("device", device),
                scheme=scheme,
                age=age_text(age),
                settings=setting_texts(settings),
                policies=functions_of(policies),
                seed=seed,
            )

    def __repr__(self) -> str:
        shape = self.shape
        under_way = f", {self.outstanding:,} commands under way" if self.outstanding else ""
        return f"<ssdlab.Media: {shape.dies} dies x {shape.planes} planes, at {self.now / 1e9:,.6f} s{under_way}>"

    @classmethod
    def load(cls, path: PathLike, *, scheme: str | None = None, settings: Settings | None = None) -> Media:
        """The flash that :meth:`save` has written: it goes on as if it had never stopped. ``scheme`` and ``settings``
        may change policies where nothing was under way.

        Raises:
            InputError: the file is damaged, of another build of ssdlab, or other flash's.
        """
        return cls(path, scheme=scheme, settings=settings)

    def save(self, path: PathLike) -> None:
        """Writes the whole state to a file, whatever is under way, for :meth:`load`.

        Raises:
            SimulationError: the file cannot be written.
        """
        with replacing(path) as temporary:
            self._core.save(temporary)

    def submit(
        self, time_ns: int, op: MediaOperation, die: int, plane: int, block: int, page: int = 0, bytes: int = 0
    ) -> int:
        """Hands a command to the flash; returns its number.

        Args:
            time_ns: when the controller has it [ns]: not before :attr:`now` nor before an earlier command's.
            op: ``"read"``; ``"program"``, of :attr:`MediaShape.program_pages` pages from ``page`` on; or ``"erase"``.
            die: counted over the whole device, channel by channel.
            plane: in its die.
            block: in its plane.
            page: in its block; 0 of an erase.
            bytes: of a read those that are wanted, from the page's first on; 0 is all.

        Raises:
            InputError: there is no such page, or the time goes backwards.
        """
        row = {"time_ns": [time_ns], "op": op, "die": die, "plane": plane, "block": block, "page": page, "bytes": bytes}
        return self.submit_many(row)[0]

    def submit_many(self, commands: polars.DataFrame | Mapping[str, Any]) -> range:
        """Hands commands to the flash, as :meth:`submit` does one by one; returns their numbers. A million in a call
        are fine. Commands of the same time reach their dies together, so that planes can go together.

        Args:
            commands: the columns ``time_ns``, ``op``, ``die``, ``plane``, ``block``, and where they are wanted ``page``
                and ``bytes``: a polars frame, or a mapping of sequences. A single value in place of a sequence holds
                for all of them.

        Raises:
            InputError: a command is refused: the message begins with its index, ``commands[7]: …``. Those before it
                have been submitted, it and those after it have not.

        >>> media = Media("hbf")
        >>> media.submit_many({"time_ns": 0, "op": "read", "die": [0, 1, 2], "plane": 0, "block": 7})
        range(0, 3)
        """
        columns = _COLUMNS.of(commands)
        count = len(columns[0])
        try:
            first = self._core.submit_many(*columns)
        except (OverflowError, TypeError):
            raise _COLUMNS.unread(columns) from None
        return range(first, first + count)

    def advance(self, time_ns: int) -> list[MediaCompletion]:
        """Plays up to ``time_ns`` [ns]; returns what ended, in the order of the ends."""
        with Refusing():
            return [MediaCompletion(**done) for done in self._core.advance(time_ns)]

    def advance_to_completion(self) -> list[MediaCompletion]:
        """Plays until something ends; returns what did, nothing where nothing was left to do."""
        return [MediaCompletion(**done) for done in self._core.advance_to_completion()]

    def rest(self, span: str, at: str | None = None) -> None:
        """What is under way is played; then all data grows older by a span.

        Args:
            span: how long, such as ``"6mo"``.
            at: the temperature [C], such as ``"40C"``; that of the flash at rest where it is left out.

        Raises:
            InputError: a span or a temperature that is none.
        """
        self._core.rest(span, at)

    def next_page(self, die: int, plane: int, block: int) -> int | None:
        """The page of a block that is programmed next; None where the block is full, not erased or bad."""
        with Refusing():
            return self._core.next_page(die, plane, block)

    def is_bad(self, die: int, plane: int, block: int) -> bool:
        """Whether the factory found a block bad (``wear.factory_bad``)."""
        with Refusing():
            return self._core.is_bad(die, plane, block)

    @property
    def shape(self) -> MediaShape:
        """What it is made of."""
        return MediaShape(**self._core.shape)

    @property
    def now(self) -> int:
        """The present simulated time [ns]."""
        return self._core.now

    @property
    def next_event(self) -> int | None:
        """When something happens next [ns], if nothing is submitted before; nothing ends earlier."""
        return self._core.next_event

    @property
    def outstanding(self) -> int:
        """Commands that were submitted and have not ended."""
        return self._core.outstanding


_LARGEST = (1 << 32) - 1
_COLUMNS = Columns(
    "commands",
    {"time_ns": None, "op": None, "die": None, "plane": None, "block": None, "page": 0, "bytes": 0},
    dict.fromkeys(("die", "plane", "block", "page", "bytes"), _LARGEST),
)
"""What :meth:`Media.submit_many` takes."""
