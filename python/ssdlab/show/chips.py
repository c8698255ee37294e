"""Tables of the error-correcting code and of lifetimes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ssdlab.common.tables import Table

if TYPE_CHECKING:
    import polars

    from ssdlab.chip.lifetime import Endurance


def of_ecc(found: polars.DataFrame) -> Table:
    """The table of a simulation of the ECC."""
    rows: list[tuple[str, ...]] = [
        (
            f"{row['rber']:g}",
            f"{row['words']:,}",
            _share(row["fer"]),
            f"{_share(row['fer_low'])} … {_share(row['fer_high'])}",
            f"{row['iterations']:.2f}",
            f"{100 * row['accuracy']:.2f} %",
        )
        for row in found.iter_rows(named=True)
    ]
    first = found.row(0, named=True)
    title = f"QC-LDPC, {first['schedule']}, {first['errors']} errors, threshold {first['threshold']}"
    return Table(title, ("RBER", "words", "FER", "95 %", "iterations", "accuracy"), rows)


def _share(share: float) -> str:
    return f"{share:.3f}" if share >= 0.1 else f"{share:.2g}"


def of_lives(
    lives: polars.DataFrame,
    requirement: float,
    drives: Mapping[str, Endurance | None] | None = None,
    *,
    chip: str,
) -> Table:
    """Lifetimes of a chip under erase schemes, what erases are like at some ages, and what a drive makes of it."""
    from ssdlab.chip.lifetime import lifetimes

    cycles = lifetimes(lives, requirement)
    first = next(iter(cycles.values()), None)
    rows: list[tuple[str, ...]] = []
    for name, life in cycles.items():
        of = {row["pec"]: row for row in lives.filter(scheme=name).iter_rows(named=True)}
        at = min(of, key=lambda pec: abs(pec - 2500))
        rows.append(
            (
                name,
                "beyond" if life is None else f"{life:,.0f}",
                "" if life is None or not first else f"{100 * (life / first - 1):+.1f}",
                f"{of[0]['m_rber']:.1f}",
                f"{of[at]['m_rber']:.1f}",
                f"{of[0]['erase_ms']:.2f}",
                f"{of[at]['erase_ms']:.2f}",
            )
        )
        if drives is not None:
            drive = drives[name]
            rows[-1] += ("", "") if drive is None else (f"{drive.terabytes:,.0f}", f"{drive.years:.1f}")
    heads = ["", "P/E cycles", "%", "errors, fresh", f"at {at:,}", "ms an erase, fresh", f"at {at:,}"]
    if drives is not None:
        heads += ["TB written", "years"]
    return Table(f"{chip}: cycles to {requirement:g} errors per KiB, mean over blocks", tuple(heads), rows)
