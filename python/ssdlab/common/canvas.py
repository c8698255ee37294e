"""What figures are drawn on: matplotlib, which nothing else needs, is loaded with the first one."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from ssdlab._core import InputError
from ssdlab.common.output import FIGURES, check_ending

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_drawing(option: str = "") -> None:
    """Refuses to draw where that is not possible; before anything is played that an option asks to be drawn.

    Raises:
        InputError: matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        subject = f"{option}: " if option else ""
        raise InputError(f'{subject}drawing needs matplotlib\n  help: pip install "ssdlab[plot]"')


def check_figure(option: str, path: str | None) -> None:
    """Refuses a figure that could not be drawn, if there is to be one, before anything is played.

    Raises:
        InputError: matplotlib is not installed, or the path's ending is none of a figure's.
    """
    if path is not None:
        check_ending(option, path, FIGURES)
        check_drawing(option)


def blank(width: float, height: float) -> Figure:
    """A figure of this size [in], without axes.

    Raises:
        InputError: matplotlib is not installed.
    """
    check_drawing()

    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
