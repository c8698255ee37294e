"""`ssdlab tier`: latency and throughput surfaces for tools that take only numbers."""

from __future__ import annotations

from typing import Any

import click

from ssdlab.cli.base import (
    Whole,
    case_progress,
    commands,
    echo,
    exit_if_marked,
    report_failures,
    run_option,
    suggest,
    takes_strict,
)
from ssdlab.sweeps.tier import DEPTHS, PATTERNS, REQUESTS, SHARES, SIZES


@commands.command()
@click.argument("device", required=False, metavar="[DEVICE]")
@click.option("--array", metavar="FILE", help="An array of drives in place of a DEVICE.")
@click.option("--qd", default=DEPTHS, show_default=True, metavar="1..256|1,4,16", help="Queue depths.")
@click.option("--bs", default=SIZES, show_default=True, metavar="4KiB..1MiB|4KiB,64KiB", help="Sizes of requests.")
@click.option("--reads", default=SHARES, show_default=True, metavar="1,0.5,0", help="Shares of requests that read.")
@click.option("--age", "ages", multiple=True, metavar="KEY=VALUE,…", help="A surface at this age; may be repeated.")
@click.option("--scheme", "schemes", multiple=True, metavar="NAME", help="Under this scheme; may be repeated.")
@click.option("--pattern", type=click.Choice(list(PATTERNS)), default="random", show_default=True, help="Addresses.")
@click.option(
    "--precondition",
    metavar="closed-form|none|write:N",
    help="Start of all points: as after long overwriting, after one filling, or really overwritten N times  [default: "
    "closed-form of those that write, none of those that read alone]",
)
@run_option("settings")
@click.option(
    "--requests", type=Whole(1), default=REQUESTS, show_default=True, metavar="N", help="Requests of a point."
)
@click.option("--warmup", type=Whole(0), metavar="N", help="Requests before them  [default: a tenth]")
@click.option("--seeds", type=Whole(1), default=3, show_default=True, metavar="N", help="Seeds of each point.")
@click.option("--cache", default="results/cache", show_default=True, metavar="DIR", help="Keep results in this folder.")
@click.option("--threads", type=Whole(1), metavar="N", help="Cases at once  [default: cores]")
@click.option(
    "--out",
    "outs",
    multiple=True,
    metavar="FILE",
    help="Write the surface (.json), or a row a point (.parquet or .csv); may be repeated.",
)
@takes_strict
def tier(device: str | None, outs: tuple[str, ...], strict: bool, **given: Any) -> None:
    """Measure latency and throughput of DEVICE (tlc) over request size, queue depth, read share and age, as a surface.

    Other tools read the file, and ask it between its points: Python by ssdlab.Tier, Rust by the crate tier. Ranges are
    powers of two. What was run before comes from the cache.

    \b
    ssdlab tier qlc --age pec=0 --age pec=1000,retention=3mo --out tier.json --out tier.parquet
    ssdlab tier tlc --qd 1..64 --bs 16KiB,128KiB,1MiB --reads 1 --out tier.json
    """
    from ssdlab.common.output import TABLES, check_ending, check_outputs
    from ssdlab.common.tables import show
    from ssdlab.show.tiers import of_tier
    from ssdlab.sweeps.tier import tier as measured

    for out in outs:
        check_ending("--out", out, TABLES)
        others = {f"--out {other}": other for other in outs if other != out}
        check_outputs({"--out": out, **others}, filter(None, (device, given["array"])))
    with case_progress("tier") as progress:
        found = measured(device, progress=progress, **given)
    for line in found.warnings:
        echo(line)
    show(*of_tier(found), verdict=found.verdict())
    for out in outs:
        found.save(out)
        echo(f"wrote {out}")
    if not outs:
        suggest("--out tier.json keeps it for other tools", "ssdlab curve with the same device: one line of it, drawn")
    report_failures(found.failed, "mend what they name, and run the same command again")
    exit_if_marked(strict, bool(found.warnings))
