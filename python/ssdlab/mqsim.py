"""MQSim's files as they are: ``ssdconfig.xml`` and ``workload.xml`` become devices and workloads of ssdlab.

What the keys mean is MQSim's own (A. Tavakkol et al., "MQSim", FAST'18; CMU-SAFARI/MQSim, README.md and src/exec). No
code of it is used. docs/mqsim.md has the tables of this module side by side with ours.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ._core import InputError, Simulation
from .foreign import INPUTS, Document, Key, Notes, Part, PathLike, near, read_text

HOST, DEVICE, FLASH = "Host_Parameter_Set", "Device_Parameter_Set", "Flash_Parameter_Set"
SYNTHETIC, TRACE = "IO_Flow_Parameter_Set_Synthetic", "IO_Flow_Parameter_Set_Trace_Based"
FLOW = "IO_Flow_Parameter_Set"
"""What both kinds of flows have."""

SECTOR = 512


def _keys(section: str, *rows: tuple[str, ...]) -> list[Key]:
    # Name (and further spellings), ours, MQSim's default, note.
    keys = []
    for name, ours, default, *note in rows:
        first, *others = name.split("/")
        keys.append(Key(first, ours, note[0] if note else "", default, tuple(others), section))
    return keys


NO_EFFECT = "no effect, in MQSim neither"

KEYS = [
    *_keys(
        HOST,
        (
            "PCIe_Lane_Bandwidth",
            "host.link_bandwidth, host.t_submit, host.t_complete",
            "0.4",
            "GB/s a lane; 128 of 156 bytes on the link are data, and the messages of a command take time",
        ),
        ("PCIe_Lane_Count", "host.link_bandwidth, host.t_submit, host.t_complete", "4"),
        ("SATA_Processing_Delay", "host.t_submit, host.t_complete", "0", "with SATA only, as a latency"),
        ("Enable_ResponseTime_Logging", "", "false", "`--series-out` writes time series"),
        ("ResponseTime_Logging_Period_Length", "", "400000"),
    ),
    *_keys(
        DEVICE,
        ("Seed", "--seed", "123", "of all random streams, the flows' included; `--seed` holds over it"),
        (
            "Enabled_Preconditioning/Enable_Preconditioning",
            "age.precondition, age.fill",
            "true",
            "`closed-form` where flows write at random; otherwise written once, in order",
        ),
        ("Memory_Type", "", "FLASH"),
        ("HostInterface_Type", "host.queues", "NVME", "NVME: a queue a flow; SATA: one queue for all"),
        ("IO_Queue_Depth", "host.queue_depth", "1024"),
        ("Queue_Fetch_Size", "host.commands", "512", "times the flows"),
        (
            "Caching_Mechanism",
            "buffer.dirty_limit",
            "ADVANCED",
            "ADVANCED: 1, flash is written when the cache is full; SIMPLE: 0",
        ),
        ("Data_Cache_Sharing_Mode", "", "SHARED", "the buffer is shared"),
        ("Data_Cache_Capacity", "buffer.size", "536870912"),
        ("Data_Cache_DRAM_Row_Size", "", "8192"),
        (
            "Data_Cache_DRAM_Data_Rate",
            "buffer.dram_bandwidth",
            "800",
            "times the burst size, twice (DDR); only where no flow reads: here reads pass the DRAM, there they do not",
        ),
        ("Data_Cache_DRAM_Data_Busrt_Size/Data_Cache_DRAM_Data_Burst_Size", "buffer.dram_bandwidth", "4"),
        ("Data_Cache_DRAM_tRCD", "", "13", "nanoseconds beside microseconds"),
        ("Data_Cache_DRAM_tCL", "", "13"),
        ("Data_Cache_DRAM_tRP", "", "13"),
        ("Address_Mapping", "", "PAGE_LEVEL", "HYBRID has no counterpart (nor an implementation in MQSim)"),
        ("Ideal_Mapping_Table", "mapping.table", "false", "true: `ideal`; false: `cached`"),
        (
            "CMT_Capacity",
            "mapping.cache, mapping.entry, mapping.entry_group",
            "2097152",
            "so many entries as in MQSim, whose entries are ⌈(2 log₂ pages + sectors a page) / 8⌉ bytes",
        ),
        ("CMT_Sharing_Mode", "mapping.sharing", "SHARED", "EQUAL_PARTITIONING: `partitioned`"),
        ("Plane_Allocation_Scheme", "ftl.page_order", "CWDP"),
        (
            "Transaction_Scheduling_Policy",
            "schedule.order",
            "OUT_OF_ORDER",
            "`read-first`; FLIN and priority classes have no counterpart",
        ),
        (
            "Overprovisioning_Ratio",
            "ftl.over_provisioning",
            "0.07",
            "r / (1 - r): MQSim's is a share of the raw capacity",
        ),
        (
            "GC_Exec_Threshold/GC_Exect_Threshold",
            "gc.start, gc.stop",
            "0.05",
            "times the blocks of a plane, 10 at least",
        ),
        (
            "GC_Block_Selection_Policy",
            "gc.victim, gc.choices",
            "RGA",
            "GREEDY, FIFO: the same; RGA: `d-choices` of log₂ blocks; RANDOM, RANDOM_P, RANDOM_PP: `d-choices` of 1",
        ),
        ("Use_Copyback_for_GC", "gc.copyback", "false"),
        ("Preemptible_GC_Enabled", "gc.preemptible", "true"),
        ("GC_Hard_Threshold", "", "0.005", "preemptible collection gives way to the host always"),
        ("Dynamic_Wearleveling_Enabled", "wear.free_block", "true", "`least-worn` or `oldest`"),
        ("Static_Wearleveling_Enabled", "wear.static_spread", "true"),
        ("Static_Wearleveling_Threshold", "wear.static_spread", "100"),
        (
            "Preferred_suspend_erase_time_for_read/Prefered_suspend_erase_time_for_read",
            "",
            "700000",
            "see CMD_Suspension_Support",
        ),
        ("Preferred_suspend_erase_time_for_write/Prefered_suspend_erase_time_for_write", "", "700000"),
        ("Preferred_suspend_write_time_for_read/Prefered_suspend_write_time_for_read", "", "100000"),
        ("Flash_Channel_Count", "geometry.channels", "8"),
        ("Flash_Channel_Width", "bus.t_dma", "1"),
        (
            "Channel_Transfer_Rate",
            "bus.t_dma, bus.t_command",
            "300",
            "2 B a byte of width take 2 ⌊1000 / rate⌋ ns: MQSim's own rounding (333 MT/s: 6 ns)",
        ),
        ("Chip_No_Per_Channel", "geometry.chips", "4"),
        (
            "Flash_Comm_Protocol",
            "bus.t_command",
            "NVDDR2",
            "320 ns: MQSim's command of a read, 290, and its set-up of data out, 30",
        ),
    ),
    *_keys(
        FLASH,
        ("Flash_Technology", "geometry.cell", "MLC"),
        (
            "CMD_Suspension_Support",
            "schedule.suspend_program, schedule.suspend_erase",
            "ERASE",
            "`none`: MQSim's scheduler returns from the cases that would suspend; `--set` turns suspension on here, "
            "with the chip's phases (see above)",
        ),
        ("Page_Read_Latency_LSB", "chip.t_read", "75000", "a list of those that the technology has"),
        ("Page_Read_Latency_CSB", "chip.t_read", "75000"),
        ("Page_Read_Latency_MSB", "chip.t_read", "75000"),
        ("Page_Program_Latency_LSB", "chip.t_prog", "750000", "the mean of those that the technology has"),
        ("Page_Program_Latency_CSB", "chip.t_prog", "750000"),
        ("Page_Program_Latency_MSB", "chip.t_prog", "750000"),
        ("Block_Erase_Latency", "chip.t_bers", "3800000"),
        ("Block_PE_Cycles_Limit", "", "10000", NO_EFFECT + "; here `wear.endurance`"),
        ("Suspend_Erase_Time", "", "700000", "see CMD_Suspension_Support"),
        ("Suspend_Program_Time/Suspend_Write_Time", "", "100000"),
        ("Die_No_Per_Chip", "geometry.dies", "2"),
        ("Plane_No_Per_Die", "geometry.planes", "2"),
        ("Block_No_Per_Plane", "geometry.blocks", "2048"),
        ("Page_No_Per_Block", "geometry.pages", "256"),
        ("Page_Capacity", "geometry.page_size", "8192"),
        ("Page_Metadat_Capacity/Page_Metadata_Capacity", "", "1872", NO_EFFECT),
    ),
    *_keys(
        FLOW,
        ("Priority_Class", "", "HIGH", "named where the flows' classes differ"),
        (
            "Device_Level_Data_Caching_Mode",
            "buffer.mode",
            "WRITE_CACHE",
            "of the whole drive: `write-back` if any flow has a write cache; there is no read cache",
        ),
        (
            "Channel_IDs",
            "geometry.channels",
            "",
            "flows that share one part of the drive have a drive of that size; parts of their own have no counterpart",
        ),
        ("Chip_IDs", "geometry.chips", ""),
        ("Die_IDs", "geometry.dies", ""),
        ("Plane_IDs", "geometry.planes", ""),
        ("Initial_Occupancy_Percentage", "age.fill", "0", "the flows' mean, from address 0 up"),
    ),
    *_keys(
        SYNTHETIC,
        (
            "Working_Set_Percentage",
            "job.footprint, job.offset",
            "100",
            "of the flow's part of the drive; one flow behind the other",
        ),
        (
            "Synthetic_Generator_Type",
            "job.iodepth, job.rate_iops",
            "QUEUE_DEPTH",
            "QUEUE_DEPTH: a closed loop; BANDWIDTH (ARRIVAL_RATE): Poisson arrivals",
        ),
        ("Read_Percentage", "job.rw, job.read_ratio", "100"),
        (
            "Address_Distribution",
            "job.rw, job.random_distribution",
            "RANDOM_UNIFORM",
            "RANDOM_UNIFORM (UNIFORM_RANDOM): `random`; STREAMING: sequential, from the start; RANDOM_HOTCOLD "
            "(HOTCOLD_RANDOM): `zoned`",
        ),
        (
            "Percentage_of_Hot_Region",
            "job.random_distribution",
            "0",
            "H: 100 - H % of the requests go to the first H %",
        ),
        ("Generated_Aligned_Addresses", "job.align", "true", "false: to sectors"),
        ("Address_Alignment_Unit", "job.align", "16"),
        (
            "Request_Size_Distribution",
            "job.bs",
            "FIXED",
            "NORMAL: sizes with their shares, in sectors rounded up (64 of them at most)",
        ),
        ("Average_Request_Size", "job.bs", "8"),
        ("Variance_Request_Size", "job.bs", "0", "MQSim takes it as the standard deviation, and so it is here"),
        ("Seed", "", "0", "one seed for all streams: the device's"),
        ("Average_No_of_Reqs_in_Queue", "job.iodepth", "2"),
        (
            "Bandwidth/Intensity",
            "job.rate_iops",
            "262144",
            "requests a second and gaps in whole ns, as MQSim rounds them",
        ),
        ("Stop_Time", "--duration", "1000000000", "the latest one where they differ; other Poisson flows end by count"),
        ("Total_Requests_To_Generate", "job.requests", "0", "where Stop_Time is 0"),
    ),
    *_keys(
        TRACE,
        ("File_Path", "--workload", "", "beside workload.xml or in the working folder; `\\` is `/`"),
        ("Percentage_To_Be_Executed", "--requests", "100", "with several replays MQSim plays all"),
        ("Relay_Count/Replay_Count", "--workload", "1", "the trace is repeated"),
        ("Time_Unit", "--format", "NANOSECOND"),
    ),
]
"""Every key of MQSim's files and what becomes of it."""

UNUSED = ("Block_PE_Cycles_Limit", "Page_Metadat_Capacity")
SUSPENSION = (
    "CMD_Suspension_Support",
    "Preferred_suspend_erase_time_for_read",
    "Preferred_suspend_erase_time_for_write",
    "Preferred_suspend_write_time_for_read",
    "Suspend_Erase_Time",
    "Suspend_Program_Time",
)
BITS = {"SLC": ("LSB",), "MLC": ("LSB", "MSB"), "TLC": ("LSB", "CSB", "MSB")}

COMMAND_NS = 290 + 30
"""A read's command and the set-up of its data out."""
PACKET, OVERHEAD = 128, 28
"""Bytes of data in a packet of the link, and beside them."""
DOORBELL, READ_REQUEST, COMMAND, COMPLETION = 2, 4, 64, 16
"""Payloads of the messages of a command [B]."""
FASTEST_DRAM = "100000GB/s"
MOST_SIZES = 64
LONGEST_NS = 10_000_000_000
"""What an operation may take."""
MOST_LANES = 1024
UNTIL_STOPPED = 1 << 40
"""Requests of a flow that its time ends."""
FORMATS = {"NANOSECOND": "mqsim", "MICROSECOND": "mqsim:time=us", "PICOSECOND": "mqsim"}
"""How traces are read, by their unit of time."""

VICTIMS: dict[str, tuple[str, int | None]] = {
    "GREEDY": ("greedy", None),
    "FIFO": ("fifo", None),
    "RANDOM": ("d-choices", 1),
    "RANDOM_P": ("d-choices", 1),
    "RANDOM_PP": ("d-choices", 1),
}
"""Victim and choices of each policy but RGA."""
RESOURCES = {"channels": "Channel_IDs", "chips": "Chip_IDs", "dies": "Die_IDs", "planes": "Plane_IDs"}


class Scenarios(NamedTuple):
    """MQSim's files, read."""

    parts: tuple[Part, ...]
    """The I/O scenarios, in their order."""
    notes: tuple[str, ...]
    """What has no counterpart, cannot take effect or was taken otherwise: a line a file and group."""


def load(ssdconfig: PathLike, workload: PathLike, scenarios: Sequence[int] = ()) -> Scenarios:
    """Reads ``ssdconfig.xml`` and ``workload.xml``.

    Each I/O scenario is a :class:`ssdlab.foreign.Part`: ``part.run()`` plays it, ``part.place(folder)`` writes
    device.toml and workload.toml. ``scenarios`` are the numbers of those that are wanted, from 1; all if none is given.
    Raises :class:`ssdlab.InputError` with file, line, key and remedy.
    """
    config = _File(ssdconfig, "Execution_Parameter_Set", "ssdconfig.xml")
    flows = _File(workload, "MQSim_IO_Scenarios", "workload.xml")
    nodes = [node for node in flows.root.children if flows.known(node, ("IO_Scenario",))]
    if not nodes:
        raise flows.fail(flows.root, "holds no IO_Scenario", "add one with its flows")
    for number in scenarios:
        if not 1 <= number <= len(nodes):
            raise flows.fail(flows.root, f"holds no scenario {number}", f"choose from 1 to {len(nodes)}")
    drive = _Drive(config)
    wanted = [(number, node) for number, node in enumerate(nodes, 1) if not scenarios or number in scenarios]
    parts = tuple(_part(drive, flows, _flows(flows, node), number) for number, node in wanted)
    lines = [f"{file.name}: {line}" for file in (config, flows) for line in file.notes.lines()]
    return Scenarios(parts, tuple(lines))


# Reading


@dataclass
class _Node:
    name: str
    line: int
    text: str = ""
    children: list[_Node] = field(default_factory=list)


class _File:
    """An XML file of MQSim's: names with texts, in sections."""

    def __init__(self, path: PathLike, root: str, usual: str) -> None:
        self.name = os.fspath(path)
        self.notes = Notes()
        self.root = self._parse(read_text(path))
        if self.root.name != root:
            other = {"Execution_Parameter_Set": "an ssdconfig.xml", "MQSim_IO_Scenarios": "a workload.xml"}
            what = other.get(self.root.name)
            remedy = f"this is {what}: give ssdconfig.xml first, then workload.xml" if what else f"give MQSim's {usual}"
            raise self.fail(self.root, f"is not `{root}`", remedy)

    def _parse(self, text: str) -> _Node:
        from xml.parsers import expat

        parser = expat.ParserCreate()
        top = _Node("", 0)
        open_nodes = [top]

        def start(name: str, attributes: dict[str, str]) -> None:
            node = _Node(name, parser.CurrentLineNumber)
            open_nodes[-1].children.append(node)
            open_nodes.append(node)

        def data(text: str) -> None:
            open_nodes[-1].text += text

        def doctype(*_: object) -> None:
            raise InputError(
                f"{self.name}:{parser.CurrentLineNumber}: has a document type, which MQSim's files have not\n"
                "  help: take <!DOCTYPE …> out"
            )

        parser.StartElementHandler = start
        parser.EndElementHandler = lambda name: open_nodes.pop()
        parser.CharacterDataHandler = data
        parser.StartDoctypeDeclHandler = doctype
        try:
            parser.Parse(text.encode("utf-8", "surrogateescape"), True)
        except expat.ExpatError as error:
            raise InputError(
                f"{self.name}:{error.lineno}: is not XML: {expat.ErrorString(error.code)}\n"
                "  help: give MQSim's ssdconfig.xml and workload.xml, in this order"
            ) from None
        except InputError:
            raise
        except (LookupError, ValueError) as error:
            raise InputError(
                f"{self.name}:1: has an encoding that cannot be read: {error}\n"
                '  help: save it in UTF-8, and say encoding="UTF-8"'
            ) from None
        return top.children[0]

    def fail(self, node: _Node, problem: str, remedy: str) -> InputError:
        return InputError(f"{self.name}:{node.line}: {node.name} {problem}\n  help: {remedy}")

    def known(self, node: _Node, names: Sequence[str]) -> bool:
        """Whether a section is one of these; others are noted."""
        if node.name not in names:
            self.notes.add("unknown, left out", f"{node.name} (line {node.line})")
        return node.name in names

    def once(self, found: dict[str, _Node], name: str, node: _Node) -> None:
        """Keeps a node by its name. Of two keys the last holds and two sections are one, as in MQSim: noted."""
        if name in found:
            self.notes.add("given twice, the last holds", f"{node.name} (lines {found[name].line} and {node.line})")
            node.children = [*found[name].children, *node.children]
        found[name] = node

    def section(self, node: _Node, *sections: str) -> _Section:
        return _Section(self, node, [key for key in KEYS if key.section in sections])


class _Section:
    """The values of a section; MQSim's defaults hold where the file says nothing."""

    def __init__(self, file: _File, node: _Node, keys: list[Key]) -> None:
        self.file, self.node = file, node
        self.inner: dict[str, _Node] = {}
        self._keys = {key.name: key for key in keys}
        self._values: dict[str, _Node] = {}
        spellings = {name: key.name for key in keys for name in (key.name, *key.aliases)}
        for child in node.children:
            if child.children:
                file.once(self.inner, child.name, child)
            elif child.name in spellings:
                file.once(self._values, spellings[child.name], child)
            else:
                hint = near(child.name, spellings)
                word = f"{child.name} (line {child.line}{', ' + hint if hint else ''})"
                file.notes.add("unknown, left out", word)

    def given(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str) -> str:
        node = self._values.get(name)
        return self._keys[name].default if node is None else node.text.strip()

    def where(self, name: str) -> str:
        """File, line and key, for errors."""
        node = self._values.get(name)
        return f"{self.file.name}:{node.line}: {node.name}" if node else f"{self.file.name}: {name}"

    def bad(self, name: str, expected: str) -> InputError:
        return InputError(f'{self.where(name)}: "{self.text(name)}" is not accepted\n  help: expected {expected}')

    def whole(self, name: str, least: int = 0) -> int:
        try:
            value = int(self.text(name))
        except ValueError:
            value = -1
        if not least <= value < 1 << 63:
            raise self.bad(name, f"a whole number, {least} or more")
        return value

    def real(self, name: str, accepted: Callable[[float], bool], expected: str) -> float:
        try:
            value = float(self.text(name))
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and accepted(value)):
            raise self.bad(name, expected)
        return value

    def flag(self, name: str) -> bool:
        word = self.text(name).lower()
        if word not in ("true", "false"):
            raise self.bad(name, "true or false")
        return word == "true"

    def choice(self, name: str, *words: str) -> str:
        """One of the words, each with its other spellings behind a slash: the first spelling."""
        for word in words:
            first, *others = word.split("/")
            if self.text(name).upper() in (first, *others):
                return first
        raise self.bad(name, "one of " + ", ".join(word.replace("/", " or ") for word in words))

    def numbers(self, name: str, count: int) -> list[int] | None:
        """Which of ``count`` resources; None where the file does not say."""
        if not self.given(name):
            return None
        try:
            found = sorted({int(word) for word in self.text(name).split(",")})
        except ValueError:
            found = []
        if not found or found[0] < 0 or found[-1] >= count:
            raise self.bad(name, f"numbers from 0 to {count - 1}, separated by commas")
        return found


# The device


class _Drive:
    """ssdconfig.xml: what its keys say, and the device that it is for a scenario."""

    def __init__(self, file: _File) -> None:
        self.file = file
        top: dict[str, _Node] = {}
        for node in file.root.children:
            if file.known(node, (HOST, DEVICE)):
                file.once(top, node.name, node)
        if DEVICE not in top:
            raise file.fail(file.root, f"holds no {DEVICE}", "give MQSim's ssdconfig.xml")
        self.host = file.section(top.get(HOST, _Node(HOST, file.root.line)), HOST)
        self.device = file.section(top[DEVICE], DEVICE)
        for name, node in self.device.inner.items():
            if name != FLASH:
                file.known(node, (FLASH,))
        self.flash = file.section(self.device.inner.get(FLASH, _Node(FLASH, top[DEVICE].line)), FLASH)
        self.keys: dict[str, str] = {}
        self.counts = {
            name: self._count(section, key, f"geometry.{name}")
            for name, section, key in (
                ("channels", self.device, "Flash_Channel_Count"),
                ("chips", self.device, "Chip_No_Per_Channel"),
                ("dies", self.flash, "Die_No_Per_Chip"),
                ("planes", self.flash, "Plane_No_Per_Die"),
                ("blocks", self.flash, "Block_No_Per_Plane"),
                ("pages", self.flash, "Page_No_Per_Block"),
                ("page_size", self.flash, "Page_Capacity"),
            )
        }
        self.seed = self.device.whole("Seed")
        self.preconditioned = self.device.flag("Enabled_Preconditioning")
        self.sata = self.device.choice("HostInterface_Type", "NVME", "SATA") == "SATA"
        self.base = self._base()
        self._note()

    def _count(self, section: _Section, name: str, ours: str) -> int:
        self.keys[ours] = section.where(name)
        return section.whole(name, 1)

    def _ns(self, section: _Section, name: str, ours: str) -> int:
        self.keys[ours] = section.where(name)
        value = section.whole(name)
        if value > LONGEST_NS:
            raise section.bad(name, "a whole number of ns, 10 s of them at most")
        return value

    def _base(self) -> Document:
        """What holds for all scenarios."""
        device, flash, keys = self.device, self.flash, self.keys
        technology = flash.choice("Flash_Technology", *BITS)
        keys["geometry.cell"] = flash.where("Flash_Technology")
        reads = [self._ns(flash, f"Page_Read_Latency_{bit}", "chip.t_read") for bit in BITS[technology]]
        programs = [self._ns(flash, f"Page_Program_Latency_{bit}", "chip.t_prog") for bit in BITS[technology]]
        if len(set(programs)) > 1:
            mean = sum(programs) / len(programs) / 1000
            self.file.notes.add("taken otherwise", f"Page_Program_Latency_*: one tPROG, their mean of {mean:g} us")
        over = device.real("Overprovisioning_Ratio", lambda r: 0 < r < 1, "a share above 0 and below 1")
        keys["ftl.over_provisioning"] = device.where("Overprovisioning_Ratio")
        blocks, page = self.counts["blocks"], self.counts["page_size"]
        threshold = device.real("GC_Exec_Threshold", lambda share: 0 <= share < 1, "a share from 0 to below 1")
        keys["gc.start"] = keys["gc.stop"] = device.where("GC_Exec_Threshold")
        start = max(10, int(threshold * blocks))
        static = device.whole("Static_Wearleveling_Threshold") if device.flag("Static_Wearleveling_Enabled") else "none"
        keys["wear.static_spread"] = device.where("Static_Wearleveling_Threshold")
        order = device.text("Plane_Allocation_Scheme").upper()
        keys["ftl.page_order"] = device.where("Plane_Allocation_Scheme")
        simple = device.choice("Caching_Mechanism", "SIMPLE", "ADVANCED") == "SIMPLE"
        keys["buffer.size"] = device.where("Data_Cache_Capacity")
        return {
            "about": f"MQSim's {os.path.basename(self.file.name)}",
            "source": "written by `ssdlab run --mqsim`; docs/mqsim.md says what each key comes from",
            "base": "mqsim",
            "geometry": {**self.counts, "page_size": f"{page}B", "cell": technology},
            "chip": {
                "t_read": [f"{ns}ns" for ns in reads] if len(set(reads)) > 1 else f"{reads[0]}ns",
                "t_prog": f"{round(sum(programs) / len(programs))}ns",
                "t_bers": f"{self._ns(flash, 'Block_Erase_Latency', 'chip.t_bers')}ns",
            },
            "bus": {"bandwidth": "none", "t_dma": f"{self._transfer(page)}ns", "t_command": f"{COMMAND_NS}ns"},
            "host": self._interface(),
            "buffer": {"size": f"{self._cache(page)}B", "dirty_limit": 0.0 if simple else 1.0},
            "ftl": {"over_provisioning": over / (1 - over), "page_order": order},
            "gc": {
                **self._victim(blocks),
                "start": start,
                "stop": start,
                "copyback": device.flag("Use_Copyback_for_GC"),
                "preemptible": device.flag("Preemptible_GC_Enabled"),
            },
            "wear": {
                "free_block": "least-worn" if device.flag("Dynamic_Wearleveling_Enabled") else "oldest",
                "static_spread": static,
            },
            "mapping": self._mapping(),
            "schedule": {"order": "read-first"},
        }

    def _cache(self, page: int) -> int:
        size = self.device.whole("Data_Cache_Capacity")
        if size < page:
            self.file.notes.add("taken otherwise", f"Data_Cache_Capacity {size}: a page, the least that there can be")
        return max(size, page)

    def _transfer(self, page: int) -> int:
        """tDMA of a page [ns], with MQSim's rounding: two bytes take twice the whole ns of a transfer."""
        width, rate = self.device.whole("Flash_Channel_Width", 1), self.device.whole("Channel_Transfer_Rate", 1)
        self.keys["bus.t_dma"] = self.device.where("Channel_Transfer_Rate")
        two = 1000 // rate * 2
        if two == 0:
            self.file.notes.add(
                "taken otherwise", f"Channel_Transfer_Rate {rate}: MQSim's transfers take 0 ns, here 1 / rate"
            )
            return max(1, round(page / width * 1000 / rate))
        if abs(two * rate / 2000 - 1) > 0.01:
            self.file.notes.add(
                "taken otherwise", f"Channel_Transfer_Rate {rate}: {2000 / two:.4g} MT/s, as MQSim rounds it"
            )
        if width > page // 2:
            raise self.device.bad("Flash_Channel_Width", f"bytes, half a page of {page} at most")
        return page // width // 2 * two

    def _interface(self) -> Document:
        lane = self.host.real("PCIe_Lane_Bandwidth", lambda rate: 1e-3 <= rate <= 1e3, "GB/s, from 0.001 to 1000")
        lanes = self.host.whole("PCIe_Lane_Count", 1)
        if lanes > MOST_LANES:
            raise self.host.bad("PCIe_Lane_Count", f"a whole number from 1 to {MOST_LANES}")

        def message(payload: int) -> float:
            packets = -(-payload // PACKET)
            return -(-(payload + OVERHEAD * packets) // lanes) / lane

        delay = self.host.whole("SATA_Processing_Delay") if self.sata else 0
        self.keys["host.t_submit"] = self.host.where("SATA_Processing_Delay" if self.sata else "PCIe_Lane_Bandwidth")
        self.keys["host.link_bandwidth"] = self.host.where("PCIe_Lane_Bandwidth")
        self.keys["host.queue_depth"] = self.device.where("IO_Queue_Depth")
        self.keys["host.commands"] = self.device.where("Queue_Fetch_Size")
        return {
            "queue_depth": self.device.whole("IO_Queue_Depth", 1),
            "link_bandwidth": f"{round(lane * lanes * 1e9 * PACKET / (PACKET + OVERHEAD))}B/s",
            "t_submit": f"{round(sum(map(message, (DOORBELL, READ_REQUEST, COMMAND)))) + delay}ns",
            "t_complete": f"{round(message(COMPLETION)) + delay}ns",
        }

    def _victim(self, blocks: int) -> Document:
        policy = self.device.choice("GC_Block_Selection_Policy", "RGA", *VICTIMS)
        if policy == "RANDOM_PP":
            self.file.notes.add("taken otherwise", "GC_Block_Selection_Policy RANDOM_PP: any full block at random")
        victim, choices = VICTIMS.get(policy, ("d-choices", max(1, int(math.log2(blocks)))))
        return {"victim": victim, **({"choices": choices} if choices else {})}

    def _mapping(self) -> Document:
        if self.device.flag("Ideal_Mapping_Table"):
            return {"table": "ideal"}
        pages = math.prod(self.counts[name] for name in ("channels", "chips", "dies", "planes", "blocks", "pages"))
        entry = math.ceil((2 * math.log2(pages) + self.counts["page_size"] // SECTOR) / 8)
        self.keys["mapping.cache"] = self.device.where("CMT_Capacity")
        shared = self.device.choice("CMT_Sharing_Mode", "SHARED", "EQUAL_PARTITIONING/EQUAL_SIZE_PARTITIONING")
        return {
            "table": "cached",
            "cache": f"{self.device.whole('CMT_Capacity') // entry * 8}B",
            "entry_group": "8B",
            "entry": "8B",
            "sharing": "shared" if shared == "SHARED" else "partitioned",
        }

    def _note(self) -> None:
        """Names what the file asks for and nothing here can give."""
        device, host, flash, notes = self.device, self.host, self.flash, self.file.notes
        absent = "no counterpart"
        device.choice("Memory_Type", "FLASH")
        device.choice("Flash_Comm_Protocol", "NVDDR2")
        suspension = flash.choice("CMD_Suspension_Support", "NONE", "ERASE", "PROGRAM", "PROGRAM_ERASE")
        if host.flag("Enable_ResponseTime_Logging"):
            notes.add(absent, "Enable_ResponseTime_Logging, ResponseTime_Logging_Period_Length (see --series-out)")
        if device.choice("Data_Cache_Sharing_Mode", "SHARED", "EQUAL_PARTITIONING") != "SHARED":
            notes.add(absent, "Data_Cache_Sharing_Mode EQUAL_PARTITIONING (the buffer is shared)")
        if device.choice("Address_Mapping", "PAGE_LEVEL", "HYBRID") != "PAGE_LEVEL":
            notes.add(absent, "Address_Mapping HYBRID (pages are mapped)")
        policy = device.choice("Transaction_Scheduling_Policy", "OUT_OF_ORDER", "PRIORITY_OUT_OF_ORDER", "FLIN")
        if policy != "OUT_OF_ORDER":
            notes.add(absent, f"Transaction_Scheduling_Policy {policy} (as OUT_OF_ORDER)")
        for name in ("Row_Size", "tRCD", "tCL", "tRP"):
            if device.given(f"Data_Cache_DRAM_{name}"):
                notes.add(absent, f"Data_Cache_DRAM_{name}")
        if device.flag("Preemptible_GC_Enabled") and device.given("GC_Hard_Threshold"):
            notes.add(absent, "GC_Hard_Threshold")
        if self.sata:
            notes.add("taken otherwise", "HostInterface_Type SATA: one queue, and SATA_Processing_Delay as a latency")
        unused = [*UNUSED, *(SUSPENSION if suspension != "NONE" else SUSPENSION[1:])]
        if not device.flag("Preemptible_GC_Enabled"):
            unused.append("GC_Hard_Threshold")
        if not self.sata:
            unused.append("SATA_Processing_Delay")
        for name in unused:
            if any(section.given(name) for section in (host, device, flash) if name in section._keys):
                notes.add(NO_EFFECT, name)

    def used(self, flows: list[_Flow]) -> dict[str, int]:
        """Channels, chips, dies and planes that the flows use; all of them where each has its own."""
        mine = [flow.resources for flow in flows]
        if all(part == mine[0] for part in mine):
            found = {name: len(ids) for name, ids in mine[0].items()}
            fewer = [
                f"{count} of {self.counts[name]} {name}" for name, count in found.items() if count < self.counts[name]
            ]
            if fewer:
                flows[0].file.notes.add("taken otherwise", f"the flows use {', '.join(fewer)}: the drive has no more")
            return found
        flows[0].file.notes.add(
            "no counterpart",
            "Channel_IDs, Chip_IDs, Die_IDs, Plane_IDs that differ between flows (all share the drive)",
        )
        return {name: self.counts[name] for name in mine[0]}


# The workload


@dataclass
class _Flow:
    file: _File
    section: _Section
    number: int
    resources: dict[str, list[int]] = field(default_factory=dict)
    share: float = 0.0
    """Its part of the drive's capacity."""

    @property
    def synthetic(self) -> bool:
        return self.section.node.name == SYNTHETIC

    @property
    def reads(self) -> bool:
        return not self.synthetic or self.percent("Read_Percentage", 0) > 0

    @property
    def name(self) -> str:
        return f"flow-{self.number}"

    def percent(self, name: str, least: int) -> int:
        value = self.section.whole(name)
        if not least <= value <= 100:
            raise self.section.bad(name, f"a whole number of % from {least} to 100")
        return value


def _flows(file: _File, scenario: _Node) -> list[_Flow]:
    found = [node for node in scenario.children if file.known(node, (SYNTHETIC, TRACE))]
    if not found:
        raise file.fail(scenario, "holds no flow", f"add an {SYNTHETIC} or an {TRACE}")
    return [_Flow(file, file.section(node, FLOW, node.name), number) for number, node in enumerate(found)]


def _part(drive: _Drive, file: _File, flows: list[_Flow], number: int) -> Part:
    _share_out(drive, flows)
    traces = [flow for flow in flows if not flow.synthetic]
    device = {key: dict(value) if isinstance(value, dict) else value for key, value in drive.base.items()}
    device["geometry"] |= drive.used(flows)
    device["host"] |= {
        "queues": 1 if drive.sata else len(flows),
        "commands": drive.device.whole("IO_Queue_Depth" if drive.sata else "Queue_Fetch_Size", 1)
        * (1 if drive.sata else len(flows)),
    }
    device["buffer"] |= _buffer(drive, file, flows)
    capacity = _capacity(device, drive)
    keys = dict(drive.keys)
    options: dict[str, Any] = {"seed": drive.seed}
    if len({flow.section.text("Priority_Class").upper() for flow in flows}) > 1:
        file.notes.add("no counterpart", "Priority_Class (all flows are alike)")
    if any(flow.section.given("Seed") for flow in flows if flow.synthetic):
        file.notes.add("taken otherwise", "Seed: one seed for all streams, the device's")
    if traces:
        touched, words = _traces(drive, device, flows, capacity, keys)
        _fill(device, drive, flows, touched, writes=True)
        trace, content = words.pop("trace"), words.pop("content")
        return Part(f"scenario {number}", device, None, {**options, **words}, trace, content, keys, number)
    jobs = _jobs(flows, capacity, math.prod(drive.used(flows).values()) * drive.counts["page_size"], keys)
    end = max(_bytes(job["offset"]) + _bytes(job["footprint"]) for job in jobs.values()) / capacity
    _fill(device, drive, flows, end, writes=any(job["rw"] in ("randwrite", "randrw") for job in jobs.values()))
    stops = [flow.section.whole("Stop_Time") for flow in flows]
    if max(stops) > 0:
        options["duration"] = f"{max(stops)}ns"
        if len(set(stops)) > 1 and any("iodepth" in job for job in jobs.values()):
            file.notes.add(
                "taken otherwise", "Stop_Time: flows of QUEUE_DEPTH without Total_Requests end at the latest one"
            )
    workload: Document = {"about": f"MQSim's {os.path.basename(file.name)}, scenario {number}", "job": jobs}
    return Part(f"scenario {number}", device, workload, options, keys=keys, number=number)


def _share_out(drive: _Drive, flows: list[_Flow]) -> None:
    """Which part of the drive is whose: planes are shared equally by the flows that use them."""
    users: dict[tuple[int, ...], int] = {}
    mine = []
    for flow in flows:
        for name, key in RESOURCES.items():
            found = flow.section.numbers(key, drive.counts[name])
            flow.resources[name] = list(range(drive.counts[name])) if found is None or drive.sata else found
        planes: list[tuple[int, ...]] = [()]
        for ids in flow.resources.values():
            planes = [(*plane, id) for plane in planes for id in ids]
        mine.append(planes)
        for plane in planes:
            users[plane] = users.get(plane, 0) + 1
    whole = math.prod(drive.used(flows).values())
    for flow, planes in zip(flows, mine, strict=True):
        flow.share = sum(1 / users[plane] for plane in planes) / whole


def _buffer(drive: _Drive, file: _File, flows: list[_Flow]) -> Document:
    modes = [
        flow.section.choice(
            "Device_Level_Data_Caching_Mode", "TURNED_OFF", "WRITE_CACHE", "READ_CACHE", "WRITE_READ_CACHE"
        )
        for flow in flows
    ]
    cached = [mode in ("WRITE_CACHE", "WRITE_READ_CACHE") for mode in modes]
    if any("READ" in mode for mode in modes):
        file.notes.add("no counterpart", "Device_Level_Data_Caching_Mode READ_CACHE (reads are not cached)")
    if len(set(cached)) > 1:
        file.notes.add(
            "taken otherwise", "Device_Level_Data_Caching_Mode: all flows have the write cache that some have"
        )
    rate = (
        2
        * drive.device.whole("Data_Cache_DRAM_Data_Rate", 1)
        * drive.device.whole("Data_Cache_DRAM_Data_Busrt_Size", 1)
    )
    drive.keys["buffer.dram_bandwidth"] = drive.device.where("Data_Cache_DRAM_Data_Rate")
    dram = FASTEST_DRAM
    if any(cached) and not any(flow.reads for flow in flows):
        dram = f"{rate}MB/s"
    elif any(cached):
        drive.file.notes.add(
            "taken otherwise",
            f"Data_Cache_DRAM_*: no time where flows read (--set buffer.dram_bandwidth={rate}MB/s: for all data)",
        )
    return {"mode": "write-back" if any(cached) else "write-through", "dram_bandwidth": dram}


def _capacity(device: Document, drive: _Drive) -> int:
    """The logical capacity [B], as the core lays it out; also the check of the device. Where the over-provisioning does
    not leave the free blocks that collection is to keep, it keeps as many as there are."""
    asked = device["gc"]["start"]
    try:
        return _laid_out(device, drive)
    except InputError as error:
        if "gc.stop" not in str(error):
            raise
        refused = error
    kept, beyond = 0, asked
    while beyond - kept > 1:
        middle = (kept + beyond) // 2
        device["gc"] |= {"start": middle, "stop": middle}
        try:
            _laid_out(device, drive)
            kept = middle
        except InputError:
            beyond = middle
    if kept == 0:
        raise refused
    device["gc"] |= {"start": kept, "stop": kept}
    drive.file.notes.add(
        "taken otherwise", f"GC_Exec_Threshold: a plane keeps {kept} blocks free, not {asked}: Overprovisioning_Ratio"
    )
    return _laid_out(device, drive)


def _laid_out(device: Document, drive: _Drive) -> int:
    import json
    from tempfile import TemporaryDirectory

    part = Part("", device, None, keys=drive.keys)
    with TemporaryDirectory(prefix="ssdlab-") as folder:
        try:
            manifest = json.loads(Simulation(part.place(folder)["device"], "default").manifest)
        except InputError as error:
            raise part.translated(error) from None
    return int(manifest["device"]["capacity_bytes"])


def _fill(device: Document, drive: _Drive, flows: list[_Flow], end: float, *, writes: bool) -> None:
    """The state at the start. ``end``: the highest address that is accessed, as a share of the capacity."""
    reads = any(flow.reads for flow in flows)
    fill = 0.0
    if drive.preconditioned:
        total = sum(flow.share for flow in flows)
        fill = sum(flow.percent("Initial_Occupancy_Percentage", 0) * flow.share for flow in flows) / total / 100
    # What was never written is read from flash in MQSim, and here from nowhere.
    if reads and end > fill:
        if drive.preconditioned:
            what = "the drive is filled as far as flows read"
            flows[0].file.notes.add("taken otherwise", f"Initial_Occupancy_Percentage: {what}")
        fill = end
    device["age"] = {"fill": min(1.0, round(fill + 0.5e-6, 6)) if fill else 0.0}
    if drive.preconditioned and fill and writes:
        device["age"]["precondition"] = "closed-form"


def _jobs(flows: list[_Flow], capacity: int, stripe: int, keys: dict[str, str]) -> Document:
    """A job a flow: their working sets one behind the other."""
    jobs: Document = {}
    offset = 0
    for flow in flows:
        section = flow.section
        working = section.whole("Working_Set_Percentage")
        working = working if 1 <= working <= 100 else 100
        whole = int(capacity * flow.share) // stripe * stripe
        footprint = max(stripe, -(-whole * working // 100 // stripe) * stripe)
        keys[f"job.{flow.name}.footprint"] = section.where("Working_Set_Percentage")
        keys[f"job.{flow.name}.bs"] = section.where("Average_Request_Size")
        keys[f"job.{flow.name}.align"] = section.where("Address_Alignment_Unit")
        keys[f"job.{flow.name}.rate_iops"] = section.where("Bandwidth")
        keys[f"job.{flow.name}.iodepth"] = section.where("Average_No_of_Reqs_in_Queue")
        jobs[flow.name] = {
            **_access(flow),
            **_pace(flow, flows),
            "offset": f"{offset}B",
            "footprint": f"{footprint}B",
        }
        offset += footprint
    return jobs


def _access(flow: _Flow) -> Document:
    section = flow.section
    pattern = section.choice(
        "Address_Distribution", "STREAMING", "RANDOM_UNIFORM/UNIFORM_RANDOM", "RANDOM_HOTCOLD/HOTCOLD_RANDOM"
    )
    reads = flow.percent("Read_Percentage", 0)
    kind = "read" if reads == 100 else "write" if reads == 0 else "rw"
    aligned = section.flag("Generated_Aligned_Addresses")
    job: Document = {
        "rw": kind if pattern == "STREAMING" else f"rand{kind}",
        "bs": _sizes(section),
        "align": f"{section.whole('Address_Alignment_Unit', 1) * SECTOR if aligned else SECTOR}B",
    }
    if kind == "rw":
        job["read_ratio"] = reads / 100
    if pattern == "RANDOM_HOTCOLD":
        hot = section.whole("Percentage_of_Hot_Region")
        if not 0 < hot < 100:
            raise section.bad(
                "Percentage_of_Hot_Region", "from 1 to 99 with RANDOM_HOTCOLD: else all requests go to one sector"
            )
        job["random_distribution"] = f"zoned:{100 - hot}/{hot}:{hot}/{100 - hot}"
    elif pattern == "RANDOM_UNIFORM":
        job["random_distribution"] = "random"
    return job


def _sizes(section: _Section) -> str:
    mean, deviation = section.whole("Average_Request_Size", 1), section.whole("Variance_Request_Size")
    if section.choice("Request_Size_Distribution", "FIXED", "NORMAL") == "FIXED" or deviation == 0:
        return f"{mean * SECTOR}B"
    least, most = max(1, mean - 4 * deviation), mean + 4 * deviation
    step = -(-(most - least + 1) // MOST_SIZES)

    def below(sectors: float) -> float:
        return 0.5 * (1 + math.erf((sectors - mean) / deviation / math.sqrt(2)))

    shares = []
    for first in range(least, most + 1, step):
        last = min(first + step - 1, most)
        low = 0.0 if first == least else below(first - 1)
        high = 1.0 if last == most else below(last)
        shares.append(((first + last) // 2, 100 * (high - low)))
    return ":".join(f"{sectors * SECTOR}B/{share:.6g}" for sectors, share in shares if share >= 5e-7)


def _pace(flow: _Flow, flows: list[_Flow]) -> Document:
    section = flow.section
    stop, total = section.whole("Stop_Time"), section.whole("Total_Requests_To_Generate")
    if stop == 0 and total == 0:
        raise section.bad("Total_Requests_To_Generate", "a number of requests, as Stop_Time is 0")
    kind = section.choice("Synthetic_Generator_Type", "QUEUE_DEPTH", "BANDWIDTH/ARRIVAL_RATE")
    if kind == "QUEUE_DEPTH":
        depth = section.whole("Average_No_of_Reqs_in_Queue", 1)
        return {"requests": UNTIL_STOPPED if stop else total, "rate_iops": "none", "iodepth": depth}
    size, bandwidth = section.whole("Average_Request_Size", 1), section.whole("Bandwidth", 1)
    a_second = bandwidth // SECTOR // size
    gap = 1_000_000_000 // a_second if a_second else round(1e9 * SECTOR * size / bandwidth)
    if gap == 0:
        raise section.bad("Bandwidth", "no more than a request a nanosecond")
    if stop:
        longest = max(other.section.whole("Stop_Time") for other in flows)
        # The duration ends those that stop last; the others end by their mean count.
        total = round(stop / gap) if stop < longest else UNTIL_STOPPED
    return {"requests": max(1, total), "rate_iops": 1e9 / gap, "arrivals": "poisson"}


def _traces(
    drive: _Drive, device: Document, flows: list[_Flow], capacity: int, keys: dict[str, str]
) -> tuple[float, dict[str, Any]]:
    """What plays flows of which some are traces, and how far into the drive they reach."""
    import polars

    words: dict[str, Any] = {"trace": None, "content": None}
    stripe = math.prod(drive.used(flows).values()) * drive.counts["page_size"]
    base, touched, rows = 0, 0, []
    for flow in flows:
        room = int(capacity * flow.share) // stripe * stripe
        if flow.synthetic:
            placed = _drawn(drive, device, flow, flows, capacity, base, keys)
        else:
            frame, path, unit = _read(flow)
            percent, replays = flow.percent("Percentage_To_Be_Executed", 1), flow.section.whole("Relay_Count", 1)
            reaches = int((frame["offset"] + frame["bytes"]).max())
            if len(flows) == 1 and replays == 1 and unit != "PICOSECOND" and reaches <= room:
                words |= {"trace": path, "format": FORMATS[unit]}
                if percent < 100:
                    words["requests"] = max(1, frame.height * percent // 100)
                return reaches / capacity, words
            # Frames count from their first request, MQSim from 0.
            frame = frame.with_columns(polars.col("time_ns") + _first(path, unit))
            placed = _replayed(frame, unit, percent, replays, room, base, flow.number)
        touched = max(touched, int((placed["offset"] + placed["bytes"]).max()))
        rows.append(placed)
        base += room
    merged = polars.concat(rows).sort("time_ns", maintain_order=True)
    sectors = [(polars.col(name) // SECTOR).alias(name) for name in ("offset", "bytes")]
    read_code = (polars.col("op") == 0).cast(polars.UInt8).alias("code")
    text = merged.select("time_ns", "device", *sectors, read_code).write_csv(include_header=False, separator=" ")
    words |= {"content": text, "format": FORMATS["NANOSECOND"]}
    return min(1.0, touched / capacity), words


def _read(flow: _Flow) -> tuple[Any, str, str]:
    """A flow's trace as a frame, its path, and its unit of time; picoseconds are left as they are."""
    from .trace import read

    unit = flow.section.choice("Time_Unit", *FORMATS)
    path = _path(flow)
    INPUTS.add(path)
    try:
        return read(path, format=FORMATS[unit]), path, unit
    except InputError as error:
        error.add_note(f"it is the File_Path of {flow.section.where('File_Path')}")
        raise


def _replayed(frame: Any, unit: str, percent: int, replays: int, room: int, base: int, number: int) -> Any:
    """A flow's requests as MQSim plays them: repeated or cut, within the flow's part of the drive."""
    import polars

    if unit == "PICOSECOND":
        frame = frame.with_columns(polars.col("time_ns") // 1000)
    if replays == 1:
        frame = frame.head(max(1, frame.height * percent // 100))
    last = int(frame["time_ns"].max())
    rounds = [frame.with_columns(polars.col("time_ns") + turn * last) for turn in range(replays)]
    start = polars.col("offset") % (room - SECTOR)
    end = polars.min_horizontal(start + polars.col("bytes"), room)
    return _columns(polars.concat(rounds), "time_ns", start + base, end - start, number)


def _drawn(
    drive: _Drive, device: Document, flow: _Flow, flows: list[_Flow], capacity: int, base: int, keys: dict[str, str]
) -> Any:
    """The requests of a synthetic flow beside traces: they arrive whatever the drive does, so a run before the run
    tells them."""
    import polars

    synthetic = [other for other in flows if other.synthetic]
    stripe = drive.counts["page_size"]
    (job,) = _jobs([flow], capacity, stripe, keys).values()
    if "iodepth" in job:
        problem = "waits for completions, and traces do not: a scenario cannot have both"
        raise InputError(
            f"{flow.section.where('Synthetic_Generator_Type')}: {problem}\n"
            "  help: set BANDWIDTH, or give the flow a scenario of its own"
        )
    job |= _pace(flow, synthetic) | {"offset": f"{base}B"}
    part = Part("", device, {"job": {flow.name: job}}, {"seed": drive.seed + flow.number}, keys=keys)
    stop = flow.section.whole("Stop_Time")
    log = part.run(keep_requests=True, **({"duration": f"{stop}ns"} if stop else {})).requests.sort("request")
    return _columns(log, "arrival_ns", polars.col("offset"), polars.col("bytes"), flow.number)


def _columns(frame: Any, time: str, offset: Any, size: Any, number: int) -> Any:
    """Requests as those of one flow, to be merged with others."""
    import polars

    whole = [polars.col(time).alias("time_ns"), polars.col("op"), offset.alias("offset"), size.alias("bytes")]
    columns = [column.cast(polars.Int64) for column in whole]
    return frame.select(*columns, polars.lit(number, polars.Int64).alias("device"))


def _first(path: str, unit: str) -> int:
    """When a trace's first request arrives, as its unit counts; microseconds in ns."""
    from tempfile import NamedTemporaryFile

    from .trace import read

    # Frames count from their first request: beside one at 0, that of the trace has its own time.
    with NamedTemporaryFile("w", prefix="ssdlab-", suffix=".trace") as origin:
        origin.write("0 0 0 1 1\n")
        origin.flush()
        return int(read([origin.name, path], format=FORMATS[unit])["time_ns"][1])


def _path(flow: _Flow) -> str:
    word = flow.section.text("File_Path").replace("\\", "/")
    beside = os.path.join(os.path.dirname(flow.file.name), word)
    for path in (word, beside):
        if word and os.path.isfile(path):
            return path
    raise InputError(
        f'{flow.section.where("File_Path")}: "{word}": there is no such file, in the working folder or beside the '
        "workload file\n  help: give the path of an ASCII trace"
    )


def _bytes(word: str) -> int:
    return int(word.removesuffix("B"))
