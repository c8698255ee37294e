"""``ssdconfig.xml`` becomes a device."""

from __future__ import annotations

import math
import os

from ssdlab.common.toml import Document
from ssdlab.foreign.mqsim.flows import Flow
from ssdlab.foreign.mqsim.keys import DEVICE, FLASH, HOST, NO_EFFECT, SECTOR, SUSPENSION, UNUSED
from ssdlab.foreign.mqsim.markup import AS_MQSIM, Node
from ssdlab.foreign.mqsim.xml import XmlFile, XmlSection

BITS = {"SLC": ("LSB",), "MLC": ("LSB", "MSB"), "TLC": ("LSB", "CSB", "MSB")}
COMMAND_NS = 290 + 30
"""A read's command and the set-up of its data out."""
PACKET, OVERHEAD = 128, 28
"""Bytes of data in a packet of the link, and beside them."""
DOORBELL, READ_REQUEST, COMMAND, COMPLETION = 2, 4, 64, 16
"""Payloads of the messages of a command [B]."""
FASTEST_DRAM = "100000GB/s"
LONGEST_NS = 10_000_000_000
"""What an operation may take."""
MOST_LANES = 1024
VICTIMS = {
    "GREEDY": "greedy",
    "FIFO": "fifo",
    "RANDOM": "d-choices:1",
    "RANDOM_P": "d-choices:1",
    "RANDOM_PP": "d-choices:1",
}
"""The victim policy of each of MQSim's but RGA."""


class DriveConfig:
    """ssdconfig.xml: what its keys say, and the device that it is for a scenario."""

    def __init__(self, file: XmlFile) -> None:
        self.file = file
        top: dict[str, Node] = {}
        for node in file.root.inner:
            if file.known(node, (HOST, DEVICE)):
                file.once(top, node.tag, node)
        if DEVICE not in top:
            file.notes.add(AS_MQSIM, f"no {DEVICE}: MQSim's default device")
        self.host = file.section(top.get(HOST, Node(HOST, 0)), HOST)
        self.device = file.section(top.get(DEVICE, Node(DEVICE, 0)), DEVICE)
        for name, node in self.device.inner.items():
            if name != FLASH:
                file.known(node, (FLASH,))
        self.flash = file.section(self.device.inner.get(FLASH, Node(FLASH, 0)), FLASH)
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

    def _count(self, section: XmlSection, name: str, ours: str) -> int:
        self.keys[ours] = section.where(name)
        return section.whole(name, 1)

    def _ns(self, section: XmlSection, name: str, ours: str) -> int:
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
            self.file.notes.add("approximated", f"Page_Program_Latency_*: one tPROG, their mean of {mean:g} us")
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
            self.file.notes.add("approximated", f"Data_Cache_Capacity {size}: a page, the least that there can be")
        return max(size, page)

    def _transfer(self, page: int) -> int:
        """tDMA of a page [ns], with MQSim's rounding: two bytes take twice the whole ns of a transfer."""
        width, rate = self.device.whole("Flash_Channel_Width", 1), self.device.whole("Channel_Transfer_Rate", 1)
        self.keys["bus.t_dma"] = self.device.where("Channel_Transfer_Rate")
        two = 1000 // rate * 2
        if two == 0:
            self.file.notes.add(
                "approximated", f"Channel_Transfer_Rate {rate}: MQSim's transfers take 0 ns, here 1 / rate"
            )
            return max(1, round(page / width * 1000 / rate))
        if abs(two * rate / 2000 - 1) > 0.01:
            self.file.notes.add(
                "approximated", f"Channel_Transfer_Rate {rate}: {2000 / two:.4g} MT/s, as MQSim rounds it"
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
            self.file.notes.add("approximated", "GC_Block_Selection_Policy RANDOM_PP: any full block at random")
        return {"victim": VICTIMS.get(policy, f"d-choices:{max(1, int(math.log2(blocks)))}")}

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
        absent = "unsupported"
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
            notes.add("approximated", "HostInterface_Type SATA: one queue, and SATA_Processing_Delay as a latency")
        unused = [*UNUSED, *(SUSPENSION if suspension != "NONE" else SUSPENSION[1:])]
        if not device.flag("Preemptible_GC_Enabled"):
            unused.append("GC_Hard_Threshold")
        if not self.sata:
            unused.append("SATA_Processing_Delay")
        for name in unused:
            if any(section.given(name) for section in (host, device, flash) if name in section._keys):
                notes.add(NO_EFFECT, name)

    def used(self, flows: list[Flow]) -> dict[str, int]:
        """Channels, chips, dies and planes that the flows use; all of them where each has its own."""
        mine = [flow.resources for flow in flows]
        if all(part == mine[0] for part in mine):
            found = {name: len(ids) for name, ids in mine[0].items()}
            fewer = [
                f"{count} of {self.counts[name]} {name}" for name, count in found.items() if count < self.counts[name]
            ]
            if fewer:
                flows[0].file.notes.add("approximated", f"the flows use {', '.join(fewer)}: the drive has no more")
            return found
        flows[0].file.notes.add(
            "unsupported",
            "Channel_IDs, Chip_IDs, Die_IDs, Plane_IDs that differ between flows (all share the drive)",
        )
        return {name: self.counts[name] for name in mine[0]}
