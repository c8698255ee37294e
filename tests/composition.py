"""The parts of a drive and of its surroundings, and what each two of them do together (docs/composition.md).

Each pair is one small run of a drive of 4 dies, whose every event is checked (``check``). A part says by
which statistic it is seen at work; a pair works where both are.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import ssdlab
from nvme_host import Host, RefusedError
from pages import ROOT
from ssdlab import MediaCompletion
from ssdlab.policy import Operation
from ssdlab.runs.options import options_of
from ssdlab.runs.serving import Pace, Serving, drives_of

sys.path.append(str(ROOT / "examples"))
from own_ftl import PageMapped

BASE: dict[str, Any] = {
    "geometry.channels": 2,
    "geometry.chips": 1,
    "geometry.dies": 2,
    "geometry.planes": 2,
    "geometry.blocks": 64,
    "geometry.pages": 12,
    "ftl.over_provisioning": 2.6,
    "buffer.size": "2MiB",
    "read.start": "default",
    "read.next": "table",
    "age.pec": 1000,
    "age.retention": "3mo",
    "age.invalid": 0.68,
}
"""A drive of 30 MB that has aged and retries, and has few free blocks."""
WORKLOAD: dict[str, Any] = {
    "workload.rw": "randrw",
    "workload.read_ratio": 0.3,
    "workload.bs": "16KiB",
    "workload.align": "16KiB",
    "workload.footprint": "6MiB",
    "workload.rate_iops": 2000.0,
}
FEW, REQUESTS = 700, 1500
"""Requests of a run: most parts are seen at work in a short one, and the others in the longer one."""


class Part(NamedTuple):
    """A part, and how it is switched on."""

    name: str
    page: str
    """Where the documentation describes it."""
    settings: Mapping[str, Any]
    seen: Callable[[dict[str, float]], bool] = lambda _: True
    """Whether the statistics of a run show it at work."""
    options: Mapping[str, Any] = {}
    """Options of the run."""
    host: str = "run"
    """Who runs the drive: ``run``, ``array``, ``serve``, ``checkpoint`` or ``media``."""


def above(*names: str) -> Callable[[dict[str, float]], bool]:
    """Whether one of these statistics is above 0."""
    return lambda found: any(found.get(name, 0) > 0 for name in names)


ASKED: dict[str, int] = {"ftl": 0, "order": 0}
"""How often what is written in Python was asked."""


class Mine(PageMapped):
    """The example's FTL, which counts."""

    def locate(self, lpn: int) -> int | None:
        ASKED["ftl"] += 1
        return super().locate(lpn)


def reads_first(operation: Operation) -> int:
    """The order of operations that the drive has, which counts."""
    ASKED["order"] += 1
    return ["user-read", "internal-read", "user-program", "internal-program", "erase"].index(operation)


def asked_by(name: str) -> Callable[[dict[str, float]], bool]:
    return lambda _: ASKED[name] > 0


KV: dict[str, Any] = {
    "kv.token_bytes": "64B",
    "kv.bs": "16KiB",
    "kv.footprint": "5MiB",
    "kv.rate": 100,
    "kv.number": 200,
    "kv.input": 1000,
    "kv.stored": 0.5,
    "kv.reuse": 0.8,
    "kv.prefill_rate": 1e6,
    "kv.hint": 1,
}


PARTS = [
    Part(
        "faster retries (PnAR²)",
        "model-reads.md",
        {"read.pipeline": "cache-read", "read.sensing": "adaptive"},
        above("flash.retry.set_features"),
    ),
    Part("prediction on the die (RiF)", "model-reads.md", {"read.predictor": "on-die"}, above("flash.prediction.made")),
    Part(
        "soft decoding",
        "model-reads.md",
        {"ecc.code": "qc-ldpc", "ecc.soft": "2-bit", "ecc.soft_after": 3},
        above("flash.retry.soft_decodings"),
    ),
    Part(
        "read disturb and read reclaim",
        "model-reads.md",
        {"chip.read_disturb": True, "age.reads": 1980, "refresh.reads": 2000},
        above("ftl.relocated_by.read_reclaim.blocks"),
    ),
    Part(
        "suspension",
        "model.md#suspension",
        {"schedule.suspend_program": "intra-phase", "schedule.suspend_erase": "reset-and-resume"},
        above("flash.suspend.programs"),
    ),
    Part(
        "erases pulse by pulse (REO)",
        "chips.md",
        {"chip.model": "tlc48-reo", "erase.pulse": "felp", "erase.margin": "ecc"},
        above("flash.erase.loops.mean"),
    ),
    Part(
        "QLC in two passes",
        "model.md",
        {"geometry.cell": "QLC", "chip.program_passes": 2, "chip.t_prog": ["800us", "1400us"]},
        above("flash.programs"),
    ),
    Part("copyback", "model-ftl.md", {"gc.copyback": True, "mapping.unit": "page"}, above("ftl.copied_back")),
    Part(
        "SLC cache",
        "media.md",
        {"ftl.slc_cache": "dynamic", "slc.blocks": 4, "slc.fold_start": 2},
        above("ftl.slc.writes", "ftl.slc.direct"),
    ),
    Part(
        "parity over dies",
        "model-failures.md",
        {"ftl.raid": "parity:4", "age.invalid": 0.5, "ftl.over_provisioning": 2.8},
        above("ftl.raid.programs"),
    ),
    Part(
        "zones",
        "zones.md",
        {
            "ftl.mapping": "zoned",
            "zones.dies": 1,
            "ftl.erase_when": "reclaimed",
            "power.plp": True,
            "age.fill": 0.25,
            "age.invalid": 0.0,
            "workload.zone_size": "384KiB",
            "kv.zone_size": "384KiB",
        },
        above("zones.resets"),
    ),
    Part(
        "blocks and a log (FAST)",
        "model-ftl.md",
        {
            "ftl.mapping": "fast",
            "ftl.placement": "static",
            "ftl.log_blocks": 4,
            "mapping.unit": "page",
            "age.invalid": 0.0,
        },
        above("ftl.merges.full"),
    ),
    Part("placement handles", "zones.md#placement-handles", {"ftl.hints": 2, "workload.hint": 1}, above("fdp.filled")),
    Part(
        "persistently isolated handles",
        "zones.md#placement-handles",
        {"ftl.hints": 2, "workload.hint": 1, "ftl.isolation": "persistent"},
        above("fdp.filled"),
    ),
    Part(
        "cached mapping table",
        "model-ftl.md",
        {"mapping.table": "cached", "mapping.cache": "4KiB"},
        above("ftl.map.reads"),
    ),
    Part("learned mapping table", "model-ftl.md", {"mapping.table": "learned"}, above("ftl.map.learned.segments")),
    Part(
        "journal and checkpoints of the map",
        "model-state.md",
        {"mapping.journal": True, "mapping.checkpoint": "256KiB"},
        above("ftl.map.checkpoints", "ftl.waf_by.journal"),
    ),
    Part("FTL in Python", "own-ftl.md", {}, asked_by("ftl"), {"ftl": Mine}),
    Part("policy in Python", "prototypes.md", {}, asked_by("order"), {"policies": {"order": reads_first}}),
    Part("closed-form start", "guide.md#age-it", {"age.precondition": "closed-form", "age.invalid": 0.0}),
    Part("read cache", "model.md", {"buffer.read_cache": "1MiB"}, above("host.buffer_hits")),
    Part(
        "background collection",
        "model-ftl.md",
        {"gc.idle": "20us", "gc.idle_stop": 12},
        above("ftl.gc_background_runs"),
    ),
    Part(
        "static wear levelling",
        "model-ftl.md",
        {"wear.static_spread": 0},
        above("ftl.relocated_by.wear_levelling.blocks"),
    ),
    Part("power cuts", "faults.md", {"power.cut_at": ["op:40"]}, above("power.cuts")),
    Part(
        "parts that break",
        "faults.md",
        {"faults.at": ["40ms blocks 1:2", "500ms blocks 3:2"]},
        above("ftl.faults.blocks"),
    ),
    Part("blocks that fail", "model-failures.md", {"wear.program_fail": 0.02}, above("flash.failed_programs")),
    Part(
        "power states and heat",
        "model-state.md",
        {"energy.power_states": [0.25, 0.1], "thermal.resistance": 5.0},
        above("thermal.temperature"),
    ),
    Part("array of drives (RAID-5)", "arrays.md", {}, host="array"),
    Part("served by NVMe/TCP", "serve.md", {}, host="serve"),
    Part("checkpoint", "formats.md", {}, host="checkpoint"),
    Part("flash without a drive", "tier.md#flash-without-a-drive", {}, host="media"),
    Part("KV cache of an engine", "tier.md", KV, above("host.kv.prompts"), {"workload": "kv-cache"}),
]


def statistics(result: ssdlab.Result) -> dict[str, float]:
    rows = result.statistics().select("name", "value").rows()
    return {name: value for name, value in rows if isinstance(value, (int, float))}


def together(one: Part, other: Part, folder: Path) -> str | None:
    """What keeps two parts from working together: None if both are seen at work; otherwise what is refused, or which
    of them has nothing to do."""
    both = [key for key in one.settings if key in other.settings and not key.startswith("age.")]
    for key in both:
        if one.settings[key] != other.settings[key]:
            return f"two values of `{key}`"
    if "media" in (one.host, other.host) and {"array", "serve"} & {one.host, other.host}:
        return "no command takes both"
    return alone((one, other), folder)


def alone(parts: tuple[Part, ...], folder: Path) -> str | None:
    """:func:`together` of any number of parts that do not contradict each other."""
    settings = BASE | {key: value for part in parts for key, value in part.settings.items()}
    options = {name: value for part in parts for name, value in part.options.items()}
    hosts = {part.host for part in parts}
    ASKED.update(dict.fromkeys(ASKED, 0))
    try:
        if "media" in hosts:
            ended = flash_alone(settings, parts, folder)
            plain = [part for part in parts if part.host == "media"]
            idle = len(parts) > 1 and "checkpoint" not in hosts and not any(ASKED.values())
            idle = idle and ended == flash_alone(BASE, (*plain,), folder)
            return f"{' and '.join(part.name for part in parts if part not in plain)}: nothing to do" if idle else None
        if "serve" in hosts:
            found = served(settings, options, hosts, folder)
        else:
            found = played(FEW, settings, options, hosts, folder)
            if not all(part.seen(found) for part in parts):
                found = played(REQUESTS, settings, options, hosts, folder)
    except TypeError as error:
        return str(error)
    except ssdlab.InputError as error:
        problem = str(error).split("\n  help: ")[0]
        return problem.removeprefix("device: ").removeprefix(f"{folder}/")
    unseen = [part.name for part in parts if not part.seen(found)]
    return f"{' and '.join(unseen)}: nothing to do" if unseen else None


def of_array(folder: Path) -> Path:
    path = folder / "array.toml"
    path.write_text('[array]\nlayout = "raid5"\nchunk = "16KiB"\n[drive.of]\ncount = 3\n')
    return path


def played(
    requests: int, settings: dict[str, Any], options: dict[str, Any], hosts: set[str], folder: Path
) -> dict[str, float]:
    drive: dict[str, Any] = {"device": "tlc"} | ({"array": of_array(folder)} if "array" in hosts else {})
    how: dict[str, Any] = {"requests": requests, "check": "array" not in hosts} | options
    load = WORKLOAD | {key: value for key, value in settings.items() if key.startswith("workload.")}
    if "workload" in options:
        load = {key: value for key, value in settings.items() if key.startswith("kv.")}
    settings = {key: value for key, value in settings.items() if not key.startswith(("workload.", "kv."))}
    saved = folder / "half.ckpt"
    if "checkpoint" in hosts:
        assert isinstance(
            ssdlab.run(**drive, settings=settings | load, save=saved, **how | {"requests": 50}), ssdlab.Result
        )
        # A drive comes whole from its checkpoint; the drives of an array are described again.
        drive, settings = (drive, settings) if "array" in drive else ({}, {})
        drive = drive | {"checkpoint": saved}
    result = ssdlab.run(**drive, settings=settings | load, **how)
    assert isinstance(result, ssdlab.Result)
    return statistics(result)


def served(settings: dict[str, Any], options: dict[str, Any], hosts: set[str], folder: Path) -> dict[str, float]:
    settings = {key: value for key, value in settings.items() if not key.startswith(("workload.", "kv."))}
    lines = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in settings.items()]
    functions = {name: value for name, value in options.items() if name in ("ftl", "policies")}
    lines += [f'{name} = "{name}"' for name in options if name not in functions]
    if "array" in hosts:
        lines.append(f'array = "{of_array(folder)}"')
    if "checkpoint" in hosts:
        ssdlab.run("tlc", settings=settings, requests=10, save=folder / "half.ckpt")
        lines = [f'checkpoint = "{folder}/half.ckpt"']
    (folder / "drives.toml").write_text("\n".join(["[drive]", *lines]) + "\n")
    drives = drives_of(str(folder / "drives.toml"))
    if functions:
        given = {"device": "tlc", "settings": settings, **functions}
        drives = [drive._replace(options=options_of(given)) for drive in drives]
    with Serving(drives, Pace("virtual", grace="none"), nvme="127.0.0.1:0") as serving:
        (uri,) = serving.start()
        host, _, port = uri.partition("nvme+tcp://")[2].split("/")[0].rpartition(":")
        with ThreadPoolExecutor(1) as pool:
            client = pool.submit(asks, (host, int(port)), settings)
            while not client.done():
                serving.attend()
            client.result()
        (of,) = serving.stop()
    return statistics(of.result)


def asks(place: tuple[str, int], settings: dict[str, Any]) -> None:
    """Reads and writes, as the generator's; zones are reset and written in order."""
    host = Host(place)
    queue, draws, written = host.queues[0], random.Random(1), 0
    zoned = settings.get("ftl.mapping") == "zoned"
    # With placement handles a write names one: directive type 2 in dword 12, its handle in dword 13.
    type_, handle = (2 << 20, 1 << 16) if "ftl.hints" in settings else (0, 0)
    for _ in range(REQUESTS // 3 * 2):
        block = 32 * draws.randrange(384)
        try:
            if draws.random() < 0.3:
                queue.read(block, 32)
                continue
            if zoned:
                block = 32 * (written % 24)
                if block == 0:
                    queue.ask(0x79, 0, 0, 0, 4, namespace=1)
            queue.ask(1, block, 0, 31 | type_, handle, namespace=1, data=bytes(32 * 512))
        except RefusedError as error:
            # Aborted by a power cut, or lost with what broke.
            if error.status not in (0x005, 0x281):
                raise
        written += 1
    host.close()


def flash_alone(settings: dict[str, Any], parts: tuple[Part, ...], folder: Path) -> list[MediaCompletion]:
    """Erases blocks, programs them, reads them and aged data; and again half a second later, when parts have broken."""
    own = {key for part in parts for key in part.settings}
    sections = ("geometry.", "chip.", "read.", "age.pec", "age.retention")
    settings = {key: value for key, value in settings.items() if key in own or key.startswith(sections)}
    options = {name: value for part in parts for name, value in part.options.items()}
    media = ssdlab.Media("tlc", settings=settings, **options)
    if any(part.host == "checkpoint" for part in parts):
        media.save(folder / "half.media")
        media = ssdlab.Media.load(folder / "half.media")
    pages, at_once = media.shape.pages, media.shape.program_pages
    for begins in (0, 600_000_000):
        media.advance(begins)
        for block in range(20, 40):
            media.submit(begins, "erase", die=0, plane=0, block=block)
            for page in range(0, pages, at_once):
                media.submit(begins, "program", die=0, plane=0, block=block, page=page)
        for later in range(0, 64_000_000, 1_000_000):
            where = {"die": [0, 0, 1, 1], "plane": [0, 1, 0, 1], "block": later // 1_000_000}
            media.submit_many({"time_ns": begins + later, "op": "read", **where, "page": 3})
        media.submit_many(
            {"time_ns": begins + later, "op": "read", "die": 0, "plane": 0, "block": 20, "page": range(3)}
        )
    ended: list[MediaCompletion] = []
    while of := media.advance_to_completion():
        ended += of
    return ended
