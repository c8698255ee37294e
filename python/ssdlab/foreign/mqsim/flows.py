"""The flows of ``workload.xml`` become the jobs of a generator."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ssdlab.common.toml import Document
from ssdlab.foreign.mqsim.keys import FLOW, SECTOR, SYNTHETIC, TRACE
from ssdlab.foreign.mqsim.markup import Node
from ssdlab.foreign.mqsim.xml import XmlFile, XmlSection

MOST_SIZES = 64
UNTIL_STOPPED = 1 << 40
"""Requests of a flow that its time ends."""
RESOURCES = {"channels": "Channel_IDs", "chips": "Chip_IDs", "dies": "Die_IDs", "planes": "Plane_IDs"}


@dataclass
class Flow:
    file: XmlFile
    section: XmlSection
    number: int
    resources: dict[str, list[int]] = field(default_factory=dict)
    share: float = 0.0
    """Its part of the drive's capacity."""

    @property
    def synthetic(self) -> bool:
        return self.section.node.tag == SYNTHETIC

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


def flows_of(file: XmlFile, scenario: Node) -> list[Flow]:
    found = [node for node in scenario.inner if file.known(node, (SYNTHETIC, TRACE))]
    if not found:
        raise file.fail(scenario, "holds no flow", f"add an {SYNTHETIC} or an {TRACE}")
    return [Flow(file, file.section(node, FLOW, node.tag), number) for number, node in enumerate(found)]


def flow_jobs(flows: list[Flow], capacity: int, stripe: int, keys: dict[str, str]) -> Document:
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
            **flow_pace(flow, flows),
            "offset": f"{offset}B",
            "footprint": f"{footprint}B",
        }
        offset += footprint
    return jobs


def _access(flow: Flow) -> Document:
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


def _sizes(section: XmlSection) -> str:
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


def flow_pace(flow: Flow, flows: list[Flow]) -> Document:
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
