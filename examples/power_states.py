"""What power states and throttling cost: `python examples/power_states.py [FIGURE]` draws it (docs/model-state.md)."""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np

import ssdlab
from ssdlab.show.plot import COLOURS

STATES = [6.0, 4.0, 3.5, 3.0, 2.5]
DRIVE = ["energy.idle_mw=2000", f"energy.power_states={STATES}"]
JOBS = {
    "128-KiB reads": ["workload.rw=read", "workload.bs=128KiB"],
    "128-KiB writes": ["workload.rw=write", "workload.bs=128KiB"],
    "16-KiB random reads": ["workload.rw=randread"],
}
# A drive at 4.5 W comes to 84 C in still air; a fifth of a second stands for the minute that it takes.
HOT = [
    "thermal.resistance=12",
    "thermal.time_constant=200ms",
    "energy.idle_mw=2000",
    "energy.power_states=[6.0, 3.2, 2.5]",
]


def bandwidth(job: list[str], state: int) -> float:
    """GB/s with 64 requests at once."""
    settings = [*DRIVE, f"energy.power_state={state}", *job]
    result = ssdlab.run("tlc", "default", requests=20_000, warmup=4_000, replay="closed:64", settings=settings)
    return float(result["host"]["all"]["bandwidth_mb_s"]) / 1e3


def main(path: str = "docs/images/power-states.png") -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for (name, job), colour, style in zip(JOBS.items(), COLOURS, ("o-", "s--", "^-."), strict=False):
        found = [bandwidth(job, state) for state in range(len(STATES))]
        print(
            f"{name:20}",
            "  ".join(f"{watts:.1f} W {value:5.2f} GB/s" for watts, value in zip(STATES, found, strict=True)),
        )
        left.plot(STATES, found, style, color=colour, label=name)
    left.set(xlabel="power state: limit [W], of which 2 W are not the flash's", ylim=0)
    left.set_ylabel("bandwidth [GB/s] (higher is better)")
    left.set_title("What a power limit costs", fontsize="medium")
    left.legend(frameon=False)
    settings = [*HOT, *JOBS["128-KiB reads"]]
    result = ssdlab.run("tlc", "default", requests=60_000, replay="closed:64", settings=settings)
    print(
        {key: round(value, 2) for key, value in result["thermal"].items()},
        f"mean {result['energy']['mean_power']:.2f} W",
    )
    series = result.series
    seconds = series["time_ns"] / 1e9
    edges = np.arange(0.0, float(seconds.max()), 0.01)  # type: ignore[arg-type]
    read = np.diff(np.interp(edges, seconds, series["read_bytes"].cum_sum())) / 0.01 / 1e9
    blue, red = COLOURS[:2]
    right.step(edges[:-1], read, where="post", color=blue, lw=1.2)
    right.set(xlabel="simulated time [s]", ylim=0)
    right.set_ylabel("bandwidth [GB/s]", color=blue)
    right.set_title("A drive that is throttled when it is hot", fontsize="medium")
    heat = right.twinx()
    heat.plot(seconds, series["temperature"], color=red, ls="--", lw=1.4)
    heat.set_ylabel("temperature [°C] (dashed)", color=red)
    for ax in (left, right, heat):
        ax.spines["top"].set_visible(False)
    for ax in (left, right):
        ax.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])
