"""Requests and commands that are submitted at once, as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars


class Columns(NamedTuple):
    """Which columns there are."""

    what: str
    """What a row is one of, in the plural."""
    defaults: dict[str, Any]
    """The columns in the order in which the core takes them, and what one is that is not given; None where it must be
    given."""
    largest: dict[str, int]
    """The largest number of a column, where that is less than 64 bits hold."""

    def of(self, rows: polars.DataFrame | Mapping[str, Any]) -> tuple[list[Any], ...]:
        """The columns of rows, all of one length."""
        names = list(rows.columns) if hasattr(rows, "columns") else list(rows)
        missing = [name for name, default in self.defaults.items() if default is None and name not in names]
        unknown = [name for name in names if name not in self.defaults]
        if missing or unknown:
            problem = f"has no column {missing[0]}" if missing else f"{unknown[0]} is no column"
            raise InputError(f"{self.what}: {problem}\n  help: the columns are {', '.join(self.defaults)}")

        def is_one(value: Any) -> bool:
            return isinstance(value, str | int)

        given = {name: rows[name] if name in names else default for name, default in self.defaults.items()}
        lengths = {name: len(value) for name, value in given.items() if not is_one(value)}
        count = next(iter(lengths.values()), 1)
        for name, length in lengths.items():
            if length != count:
                raise InputError(
                    f"{self.what}: {name} has {length:,} values, and {next(iter(lengths))} has {count:,}\n  help: give"
                    " columns of one length, or one value for all"
                )
        return tuple([value] * count if is_one(value) else list(value) for value in given.values())

    def unread(self, columns: tuple[list[Any], ...]) -> InputError:
        """Which of the values the core cannot hold: nothing has been submitted."""
        for name, values in zip(self.defaults, columns, strict=True):
            largest = self.largest.get(name, (1 << 64) - 1)
            for index, value in enumerate(values):
                if isinstance(value, str) if name == "op" else isinstance(value, int) and 0 <= value <= largest:
                    continue
                expected = "the name of an operation" if name == "op" else f"a whole number from 0 to {largest:,}"
                return InputError(
                    f"{self.what}[{index}]: {name} is {value!r}\n  help: write {expected}; nothing has been submitted"
                )
        raise AssertionError("Invariant: a value was refused")


class Refusing:
    """Turns numbers that the core cannot hold into an InputError."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OverflowError):
            raise InputError("a number is negative or too large\n  help: write whole numbers from 0 up") from None
