"""The fits of this study: each drive to all of its figures, and to all but one job (drives/). From the root of the
repository: `python studies/products/refit.py [DRIVE …]`; some minutes a drive. Shape, bus and the data-center drives'
link are given (facts/), and the buffer, which no job tells."""

from __future__ import annotations

import csv
import os
import sys
import tomllib
from pathlib import Path

from ssdlab import devices
from ssdlab.devices.fitting import Fit

HERE = Path("studies/products")
GIVEN = (
    "geometry.channels",
    "geometry.chips",
    "geometry.planes",
    "bus.bandwidth",
    "chip.t_prog",
    "host.link_bandwidth",
)
ABOUT = {
    "xg6": "Kioxia XG6, a 1-TB client drive (PCIe 3.0 x4), fitted to public figures",
    "micron-9200": "Micron 9200 MAX, 6.4 TB (PCIe 3.0 x4), fitted to its data sheet",
    "micron-7500": "Micron 7500 MAX, 6.4 TB (PCIe 4.0 x4), fitted to what is announced",
    "micron-7600": "Micron 7600 MAX, 6.4 TB (PCIe 5.0 x4), fitted to what is announced",
}
SPARE = "ftl.over_provisioning=0.2..0.37"
"""Of 6.4 TB in 8 TiB: 0.37 where nothing else takes room, 0.2 where parity and spare blocks take an eighth."""


def fit(drive: str, jobs: tuple[devices.MeasuredJob, ...], held: tuple[str, ...]) -> Fit:
    """One fit of a drive, without the jobs that are held out."""
    facts = HERE / "facts" / f"{drive}.toml"
    document = tomllib.loads(facts.read_text())
    client = drive == "xg6"
    # The client drive writes into its SLC cache, and its sheet tells the link; of the others tPROG is looked for.
    keys = [key for key in GIVEN if key != ("host.link_bandwidth" if client else "chip.t_prog")]
    values = {key: document.get(key.split(".")[0], {}).get(key.split(".")[1], "1200us") for key in keys}
    return devices.fit(
        jobs,
        facts,
        settings=[*(f"{key}={value}" for key, value in values.items()), "buffer.size=64MiB"],
        capacity="1024GB" if client else "6.4TB",
        more=["slc.t_prog=50us..1ms", "slc.t_bers=1ms..20ms"] if client else [SPARE],
        hold_out=held,
        budget=600,
        requests=10_000 if client else 4000,
        seeds=1,
        profiles=False,
        threads=int(os.environ.get("THREADS", "2")),
    )


def refit(drive: str) -> None:
    """The fits of a drive: its device files, its preset, and what each leaves open of the job that it has not seen."""
    claimed = [job.name for job in devices.read(HERE / "measured" / f"{drive}.csv")]
    files = [HERE / "measured" / f"{drive}{more}.csv" for more in ("", "-sheet")]
    jobs = devices.read([path for path in files if path.exists()])
    rows = []
    for job in ("", *claimed):
        found = fit(drive, jobs, (job,) if job else ())
        name = f"{drive}-without-{job}" if job else f"{drive}-all"
        text = devices.device_toml(found)
        (HERE / "drives" / f"{name}.toml").write_text(text)
        print(f"{name}: chi-squared {found.chi2:.1f}, {found.runs} runs", flush=True)
        if not job:
            about = f'about = "{ABOUT[drive]}: studies/products"'
            Path(f"presets/devices/{drive}.toml").write_text("\n".join([about, *text.splitlines()[1:]]) + "\n")
        # Percentiles that no fit counts have no interval.
        rows += [
            (job, each.figure.metric, f"{each.spread:.4g}")
            for each in found.figures
            if not each.fitted and each.spread is not None
        ]
    with (HERE / "drives" / f"{drive}.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("job", "metric", "left_open"), *rows])


if __name__ == "__main__":
    for each in sys.argv[1:] or ABOUT:
        refit(each)
