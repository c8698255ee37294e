"""The bandwidth of the cases of `slc-cache.toml` over time, as a figure: `python examples/slc_cache.py cliff.png`."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import ssdlab
from ssdlab.show.plot import COLOURS

BINS_S = 0.1
DRAWN = (*COLOURS[:3], COLOURS[5])
DASHES = ("-", "--", "-.", ":")
"""Lines differ in grey print too."""


def bandwidth(options: dict[str, Any]) -> tuple[Any, Any]:
    """Times [s] and MB/s of a run's writes."""
    settings = {key: options.pop(key) for key in list(options) if "." in key}
    series = ssdlab.run(**options, settings=settings).series
    ends, written = series["time_ns"].to_numpy() / 1e9, series["write_bytes"].to_numpy() / 1e6
    edges = np.arange(0, ends[-1], BINS_S)
    return edges[:-1], np.histogram(ends, edges, weights=written)[0] / BINS_S


def main(path: str) -> None:
    sweep = tomllib.loads((Path(__file__).parent / "slc-cache.toml").read_text())
    figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for (name, changed), colour, dashes in zip(sweep["axes"]["cache"].items(), DRAWN, DASHES, strict=False):
        drawn = bandwidth({**sweep["run"], **changed})
        ax.step(*drawn, where="post", label=name, color=colour, ls=dashes, lw=1.6)
    ax.set_title("Sequential writes by SLC cache: fast until it is full", fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.3)
    ax.set_xlabel("simulated time [s]")
    ax.set_ylabel("bandwidth of writes [MB/s]\n(higher is better)")
    ax.set_ylim(bottom=0)
    ax.legend(title="ftl.slc_cache", frameon=False, handlelength=3)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(sys.argv[1])
