"""MQSim's files: what their keys become, and that they run."""

from __future__ import annotations

import json
import math
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars
import pytest

import ssdlab
from conftest import HANGS_S, SSDLAB, Cli, cpu_s, until
from ssdlab.foreign import mqsim
from ssdlab.foreign.mqsim import keys
from ssdlab.foreign.options import ForeignOption, table
from ssdlab.foreign.part import Part

# The values of MQSim's shipped ssdconfig.xml.
CONFIG: dict[str, dict[str, object]] = {
    keys.HOST: {
        "PCIe_Lane_Bandwidth": "1.00000",
        "PCIe_Lane_Count": 4,
        "SATA_Processing_Delay": 400000,
        "Enable_ResponseTime_Logging": "false",
        "ResponseTime_Logging_Period_Length": 1000000,
    },
    keys.DEVICE: {
        "Seed": 321,
        "Enabled_Preconditioning": "false",
        "Memory_Type": "FLASH",
        "HostInterface_Type": "NVME",
        "IO_Queue_Depth": 65535,
        "Queue_Fetch_Size": 512,
        "Caching_Mechanism": "ADVANCED",
        "Data_Cache_Sharing_Mode": "SHARED",
        "Data_Cache_Capacity": 268435456,
        "Data_Cache_DRAM_Row_Size": 8192,
        "Data_Cache_DRAM_Data_Rate": 100,
        "Data_Cache_DRAM_Data_Busrt_Size": 1,
        "Data_Cache_DRAM_tRCD": 13,
        "Data_Cache_DRAM_tCL": 13,
        "Data_Cache_DRAM_tRP": 13,
        "Address_Mapping": "PAGE_LEVEL",
        "Ideal_Mapping_Table": "false",
        "CMT_Capacity": 2097152,
        "CMT_Sharing_Mode": "SHARED",
        "Plane_Allocation_Scheme": "CWDP",
        "Transaction_Scheduling_Policy": "OUT_OF_ORDER",
        "Overprovisioning_Ratio": 0.07,
        "GC_Exec_Threshold": "0.05000",
        "GC_Block_Selection_Policy": "RGA",
        "Use_Copyback_for_GC": "false",
        "Preemptible_GC_Enabled": "false",
        "GC_Hard_Threshold": "0.005000",
        "Dynamic_Wearleveling_Enabled": "true",
        "Static_Wearleveling_Enabled": "true",
        "Static_Wearleveling_Threshold": 100,
        "Preferred_suspend_erase_time_for_read": 700000,
        "Preferred_suspend_erase_time_for_write": 700000,
        "Preferred_suspend_write_time_for_read": 100000,
        "Flash_Channel_Count": 8,
        "Flash_Channel_Width": 1,
        "Channel_Transfer_Rate": 333,
        "Chip_No_Per_Channel": 4,
        "Flash_Comm_Protocol": "NVDDR2",
    },
    keys.FLASH: {
        "Flash_Technology": "MLC",
        "CMD_Suspension_Support": "ERASE",
        "Page_Read_Latency_LSB": 75000,
        "Page_Read_Latency_CSB": 75000,
        "Page_Read_Latency_MSB": 75000,
        "Page_Program_Latency_LSB": 750000,
        "Page_Program_Latency_CSB": 750000,
        "Page_Program_Latency_MSB": 750000,
        "Block_Erase_Latency": 3800000,
        "Block_PE_Cycles_Limit": 10000,
        "Suspend_Erase_Time": 700000,
        "Suspend_Program_Time": 100000,
        "Die_No_Per_Chip": 2,
        "Plane_No_Per_Die": 2,
        "Block_No_Per_Plane": 2048,
        "Page_No_Per_Block": 256,
        "Page_Capacity": 8192,
        "Page_Metadat_Capacity": 448,
    },
}
FLOW: dict[str, object] = {
    "Priority_Class": "HIGH",
    "Device_Level_Data_Caching_Mode": "WRITE_CACHE",
    "Channel_IDs": "0,1,2,3,4,5,6,7",
    "Chip_IDs": "0,1,2,3",
    "Die_IDs": "0,1",
    "Plane_IDs": "0,1",
    "Initial_Occupancy_Percentage": 75,
}
SYNTHETIC: dict[str, object] = {
    **FLOW,
    "Working_Set_Percentage": 50,
    "Synthetic_Generator_Type": "BANDWIDTH",
    "Read_Percentage": 0,
    "Address_Distribution": "RANDOM_UNIFORM",
    "Percentage_of_Hot_Region": 10,
    "Generated_Aligned_Addresses": "true",
    "Address_Alignment_Unit": 16,
    "Request_Size_Distribution": "FIXED",
    "Average_Request_Size": 16,
    "Variance_Request_Size": 0,
    "Seed": 798,
    "Average_No_of_Reqs_in_Queue": 16,
    "Bandwidth": 81920000,
    "Stop_Time": 0,
    "Total_Requests_To_Generate": 4000,
}
TRACED: dict[str, object] = {
    **FLOW,
    "File_Path": "traces\\small.trace",
    "Percentage_To_Be_Executed": 100,
    "Relay_Count": 1,
    "Time_Unit": "NANOSECOND",
}


def rows(values: dict[str, object]) -> str:
    return "".join(f"\t\t<{key}>{value}</{key}>\n" for key, value in values.items() if value is not None)


def ssdconfig(folder: Path, changes: dict[str, object] | None = None, name: str = "ssdconfig.xml") -> Path:
    """MQSim's default device with some keys changed; a key that is not MQSim's goes to the device."""
    changes = dict(changes or {})
    parts = {
        section: {key: changes.pop(key, value) for key, value in values.items()} for section, values in CONFIG.items()
    }
    for key, value in changes.items():
        section = next((known.section for known in keys.KEYS if key in known.aliases), keys.DEVICE)
        parts[section][key] = value
        parts[section] |= {}
    host, device, flash = (rows(values) for values in parts.values())
    path = folder / name
    path.write_text(
        '<?xml version="1.0" encoding="us-ascii"?>\n<Execution_Parameter_Set>\n'
        f"<{keys.HOST}>\n{host}</{keys.HOST}>\n<{keys.DEVICE}>\n{device}<{keys.FLASH}>\n{flash}</{keys.FLASH}>\n"
        f"</{keys.DEVICE}>\n</Execution_Parameter_Set>\n"
    )
    return path


def flow(**changes: object) -> str:
    return f"<{keys.SYNTHETIC}>\n{rows({**SYNTHETIC, **changes})}</{keys.SYNTHETIC}>\n"


def traced(**changes: object) -> str:
    return f"<{keys.TRACE}>\n{rows({**TRACED, **changes})}</{keys.TRACE}>\n"


def workload(folder: Path, *scenarios: Iterable[str]) -> Path:
    inner = "".join(f"<IO_Scenario>\n{''.join(flows)}</IO_Scenario>\n" for flows in scenarios)
    path = folder / "workload.xml"
    path.write_text(f"<MQSim_IO_Scenarios>\n{inner}</MQSim_IO_Scenarios>\n")
    return path


def small(folder: Path, lines: str = "1000 0 0 16 1\n3000 0 16 16 0\n9000 0 4096 8 1\n", name: str = "small") -> None:
    (folder / "traces").mkdir(exist_ok=True)
    (folder / "traces" / f"{name}.trace").write_text(lines)


Load = Callable[..., mqsim.Scenarios]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads MQSim's default device and some scenarios, each a list of flows."""

    def call(*scenarios: Iterable[str], **changes: object) -> mqsim.Scenarios:
        small(tmp_path)
        return mqsim.load(ssdconfig(tmp_path, changes), workload(tmp_path, *(scenarios or [[flow()]])))

    return call


def device(part: Part) -> dict[str, Any]:
    assert part.device is not None
    return part.device


def job(part: Part, number: int = 0) -> dict[str, Any]:
    assert part.workload is not None
    found: dict[str, Any] = part.workload["job"][f"flow-{number}"]
    return found


def requests(part: Part, **words: Any) -> polars.DataFrame:
    result = part.run(keep_requests=True, **words)
    assert isinstance(result, ssdlab.Result)
    return result.requests.sort("request")


def test_the_default_device_is_what_its_keys_say(load: Load) -> None:
    found = device(load().parts[0])
    assert found["geometry"] == {
        "channels": 8, "chips": 4, "dies": 2, "planes": 2, "blocks": 2048, "pages": 256, "page_size": "8192B",
        "cell": "MLC",
    }  # fmt: skip
    assert found["chip"] == {"t_read": "75000ns", "t_prog": "750000ns", "t_bers": "3800000ns"}
    # 4,096 pairs of bytes of 6 ns; a command of 290 ns and 30 ns for the data to come out.
    assert found["bus"] == {"bandwidth": "none", "t_dma": "24576ns", "t_command": "320ns"}
    # 4 GB/s, 128 of 156 bytes; messages of 30, 32 and 92 bytes over four lanes, then one of 44.
    assert found["host"] == {
        "queues": 1, "queue_depth": 65535, "commands": 512, "link_bandwidth": "3282051282B/s",
        "t_submit": "39ns", "t_complete": "11ns",
    }  # fmt: skip
    assert found["buffer"] == {
        "size": "268435456B", "dirty_limit": 1.0, "mode": "write-back", "dram_bandwidth": "200MB/s",
    }  # fmt: skip
    assert found["ftl"] == {"over_provisioning": pytest.approx(0.07 / 0.93), "page_order": "CWDP"}
    assert found["gc"] == {
        "victim": "d-choices:11", "start": 102, "stop": 102, "copyback": False, "preemptible": False,
    }  # fmt: skip
    assert found["wear"] == {"free_block": "least-worn", "static_spread": 100}
    # An entry of MQSim has (2 x 26 + 16) / 8 = 8.5 bytes, 9 in whole ones: as many entries of 8.
    assert found["mapping"] == {
        "table": "cached", "cache": f"{2097152 // 9 * 8}B", "entry_group": "8B", "entry": "8B", "sharing": "shared",
    }  # fmt: skip
    assert found["age"] == {"fill": 0.0}


def test_the_capacity_is_mqsims(load: Load) -> None:
    result = load().parts[0].run(requests=10)
    planes, pages = 8 * 4 * 2 * 2, 2048 * 256
    assert result.manifest.device.capacity_bytes == pytest.approx(planes * pages * 8192 * (1 - 0.07), rel=1e-6)


def test_latencies_of_page_types_follow_the_technology(load: Load) -> None:
    latencies = {
        f"Page_{what}_Latency_{bit}": ns
        for what, times in (("Read", (40000, 60000, 80000)), ("Program", (300000, 600000, 900000)))
        for bit, ns in zip(("LSB", "CSB", "MSB"), times, strict=True)
    }
    for technology, read, program in (
        ("SLC", "40000ns", "300000ns"),
        ("MLC", ["40000ns", "80000ns"], "600000ns"),
        ("TLC", ["40000ns", "60000ns", "80000ns"], "600000ns"),
    ):
        imported = load(Flash_Technology=technology, **latencies)
        assert device(imported.parts[0])["chip"]["t_read"] == read
        assert device(imported.parts[0])["chip"]["t_prog"] == program
        assert any("Page_Program_Latency_*" in line for line in imported.notes) == (technology != "SLC")


def test_transfer_rates_are_rounded_as_mqsim_rounds_them(load: Load) -> None:
    for rate, width, dma in ((333, 1, 24576), (800, 1, 8192), (800, 2, 4096), (200, 1, 40960), (1200, 1, 6827)):
        imported = load(Channel_Transfer_Rate=rate, Flash_Channel_Width=width)
        assert device(imported.parts[0])["bus"]["t_dma"] == f"{dma}ns"
        assert any("Channel_Transfer_Rate" in line for line in imported.notes) == (rate in (800, 1200))


# Of every key a value other than the default one above, and the flow in which it matters.
CHANGES: dict[tuple[str, str], object] = {
    **{(keys.HOST, key): value for key, value in {
        "PCIe_Lane_Bandwidth": 2, "PCIe_Lane_Count": 8, "SATA_Processing_Delay": 5,
        "Enable_ResponseTime_Logging": "true", "ResponseTime_Logging_Period_Length": 5,
    }.items()},
    **{(keys.DEVICE, key): value for key, value in {
        "Seed": 5, "Enabled_Preconditioning": "true", "Memory_Type": "flash", "HostInterface_Type": "SATA",
        "IO_Queue_Depth": 32, "Queue_Fetch_Size": 16, "Caching_Mechanism": "SIMPLE",
        "Data_Cache_Sharing_Mode": "EQUAL_PARTITIONING", "Data_Cache_Capacity": 1048576,
        "Data_Cache_DRAM_Row_Size": 4096, "Data_Cache_DRAM_Data_Rate": 800, "Data_Cache_DRAM_Data_Busrt_Size": 4,
        "Data_Cache_DRAM_tRCD": 5, "Data_Cache_DRAM_tCL": 5, "Data_Cache_DRAM_tRP": 5, "Address_Mapping": "HYBRID",
        "Ideal_Mapping_Table": "true", "CMT_Capacity": 1048576, "CMT_Sharing_Mode": "EQUAL_PARTITIONING",
        "Plane_Allocation_Scheme": "PDWC", "Transaction_Scheduling_Policy": "FLIN", "Overprovisioning_Ratio": 0.2,
        "GC_Exec_Threshold": 0.01, "GC_Block_Selection_Policy": "FIFO", "Use_Copyback_for_GC": "true",
        "Preemptible_GC_Enabled": "true", "GC_Hard_Threshold": 0.001, "Dynamic_Wearleveling_Enabled": "false",
        "Static_Wearleveling_Enabled": "false", "Static_Wearleveling_Threshold": 5,
        "Preferred_suspend_erase_time_for_read": 5, "Preferred_suspend_erase_time_for_write": 5,
        "Preferred_suspend_write_time_for_read": 5, "Flash_Channel_Count": 16, "Flash_Channel_Width": 2,
        "Channel_Transfer_Rate": 200, "Chip_No_Per_Channel": 8, "Flash_Comm_Protocol": "nvddr2",
    }.items()},
    **{(keys.FLASH, key): value for key, value in {
        "Flash_Technology": "TLC", "CMD_Suspension_Support": "PROGRAM", "Page_Read_Latency_LSB": 5,
        "Page_Read_Latency_CSB": 5, "Page_Read_Latency_MSB": 5, "Page_Program_Latency_LSB": 5,
        "Page_Program_Latency_CSB": 5, "Page_Program_Latency_MSB": 5, "Block_Erase_Latency": 5,
        "Block_PE_Cycles_Limit": 5, "Suspend_Erase_Time": 5, "Suspend_Program_Time": 5, "Die_No_Per_Chip": 4,
        "Plane_No_Per_Die": 4, "Block_No_Per_Plane": 4096, "Page_No_Per_Block": 512, "Page_Capacity": 16384,
        "Page_Metadat_Capacity": 5,
    }.items()},
    **{(keys.FLOW, key): value for key, value in {
        "Priority_Class": "LOW", "Device_Level_Data_Caching_Mode": "TURNED_OFF", "Channel_IDs": "0,1", "Chip_IDs": "0",
        "Die_IDs": "1", "Plane_IDs": "1", "Initial_Occupancy_Percentage": 50,
    }.items()},
    **{(keys.SYNTHETIC, key): value for key, value in {
        "Working_Set_Percentage": 20, "Synthetic_Generator_Type": "QUEUE_DEPTH", "Read_Percentage": 30,
        "Address_Distribution": "STREAMING", "Percentage_of_Hot_Region": 5, "Generated_Aligned_Addresses": "false",
        "Address_Alignment_Unit": 8, "Request_Size_Distribution": "NORMAL", "Average_Request_Size": 8,
        "Variance_Request_Size": 3, "Seed": 5, "Average_No_of_Reqs_in_Queue": 3, "Bandwidth": 40960000,
        "Stop_Time": 500000000, "Total_Requests_To_Generate": 50,
    }.items()},
    **{(keys.TRACE, key): value for key, value in {
        "File_Path": "traces/other.trace", "Percentage_To_Be_Executed": 50, "Relay_Count": 2,
        "Time_Unit": "MICROSECOND",
    }.items()},
}  # fmt: skip
BESIDE: dict[str, dict[str, object]] = {
    # What else a key needs to matter.
    "SATA_Processing_Delay": {"HostInterface_Type": "SATA"},
    "Page_Read_Latency_CSB": {"Flash_Technology": "TLC"},
    "Page_Program_Latency_CSB": {"Flash_Technology": "TLC"},
    "Initial_Occupancy_Percentage": {"Enabled_Preconditioning": "true"},
    "Percentage_of_Hot_Region": {"Address_Distribution": "RANDOM_HOTCOLD"},
    "Variance_Request_Size": {"Request_Size_Distribution": "NORMAL"},
    "Request_Size_Distribution": {"Variance_Request_Size": 2},
    "Average_No_of_Reqs_in_Queue": {"Synthetic_Generator_Type": "QUEUE_DEPTH"},
}


def essence(part: Part) -> str:
    """Everything that decides a run."""
    return json.dumps([part.device, part.workload, dict(part.options), part.trace, str(part.content)])


@pytest.mark.parametrize("key", keys.KEYS, ids=lambda key: f"{key.section[:8]}-{key.name}")
def test_a_key_has_an_effect_exactly_if_the_table_says_so(key: ForeignOption, tmp_path: Path) -> None:
    small(tmp_path)
    small(tmp_path, "5 0 0 8 1\n", "other")
    beside = BESIDE.get(key.name, {})
    changed = {key.name: CHANGES[key.section, key.name]}
    found = []
    for change in ({}, changed):
        values = {**beside, **change}
        of_device = {name: value for name, value in values.items() if any(name in part for part in CONFIG.values())}
        of_flow = {name: value for name, value in values.items() if name not in of_device}
        if key.section in (keys.SYNTHETIC, keys.FLOW, keys.TRACE) and key.name == "Seed":
            of_device, of_flow = {}, change
        if key.section == keys.FLASH or key.section == keys.DEVICE:
            of_flow |= dict.fromkeys(("Channel_IDs", "Chip_IDs", "Die_IDs", "Plane_IDs"))
        make = traced if key.section == keys.TRACE else flow
        files = ssdconfig(tmp_path, of_device), workload(tmp_path, [make(**of_flow)])
        found.append(mqsim.load(*files))
    same = essence(found[0].parts[0]) == essence(found[1].parts[0])
    # The only value that the format accepts, and rows that name what is fixed.
    fixed = ("Flash_Comm_Protocol", "CMD_Suspension_Support", "Transaction_Scheduling_Policy")
    assert same == (not key.ours or key.name in fixed)
    for ours in key.ours.split(", "):
        if "." in ours and not ours.startswith("job."):
            section, name = ours.split(".")
            schema = {(known.section, known.key) for known in ssdlab.schema()}
            assert (section, name) in schema


def test_every_spelling_is_understood(tmp_path: Path) -> None:
    plain = mqsim.load(ssdconfig(tmp_path), workload(tmp_path, [flow()]))
    spelt = [(key, alias) for key in keys.KEYS for alias in key.aliases if key.section in (keys.DEVICE, keys.FLASH)]
    assert ("Data_Cache_DRAM_Data_Busrt_Size", "Data_Cache_DRAM_Data_Burst_Size") in [(k.name, a) for k, a in spelt]
    for key, alias in spelt:
        text = ssdconfig(tmp_path).read_text()
        (tmp_path / "other.xml").write_text(text.replace(key.name, alias))
        other = mqsim.load(tmp_path / "other.xml", tmp_path / "workload.xml")
        assert essence(other.parts[0]).replace("other.xml", "ssdconfig.xml") == essence(plain.parts[0]), alias
        assert not any("unknown" in line for line in other.notes), alias
    for old, new in (
        ("BANDWIDTH", "ARRIVAL_RATE"), ("Bandwidth", "Intensity"), ("RANDOM_UNIFORM", "UNIFORM_RANDOM"),
    ):  # fmt: skip
        (tmp_path / "other.xml").write_text((tmp_path / "workload.xml").read_text().replace(old, new))
        other = mqsim.load(tmp_path / "ssdconfig.xml", tmp_path / "other.xml")
        assert essence(other.parts[0]).replace("other.xml", "workload.xml") == essence(plain.parts[0]), new


def test_what_is_missing_has_mqsims_defaults(tmp_path: Path) -> None:
    path = tmp_path / "short.xml"
    path.write_text(f"<Execution_Parameter_Set><{keys.DEVICE}/></Execution_Parameter_Set>")
    found = device(mqsim.load(path, workload(tmp_path, [flow()])).parts[0])
    # MQSim's code, where its file says nothing: 300 MT/s, 512 MiB of cache, 0.4 GB/s a lane.
    assert found["bus"]["t_dma"] == f"{4096 * 6}ns"
    assert found["buffer"]["size"] == f"{512 << 20}B"
    assert found["host"]["link_bandwidth"] == f"{round(1.6e9 * 128 / 156)}B/s"
    assert found["gc"]["preemptible"]


def test_what_has_no_counterpart_is_named(load: Load) -> None:
    text = "\n".join(
        load(
            [flow(), flow(Priority_Class="LOW", Device_Level_Data_Caching_Mode="WRITE_READ_CACHE", Channel_IDs="0")],
            Data_Cache_Sharing_Mode="EQUAL_PARTITIONING",
            Flsh_Channel_Count=4,
            Transaction_Scheduling_Policy="PRIORITY_OUT_OF_ORDER",
        ).notes
    )
    for words in (
        "unknown, ignored: Flsh_Channel_Count (line ", "did you mean `Flash_Channel_Count`?", "Priority_Class",
        "Data_Cache_Sharing_Mode EQUAL_PARTITIONING", "PRIORITY_OUT_OF_ORDER", "READ_CACHE", "Channel_IDs",
        "nor in MQSim: Block_PE_Cycles_Limit", "CMD_Suspension_Support",
    ):  # fmt: skip
        assert words in text, words


@pytest.mark.parametrize(
    ("changes", "flows", "words"),
    [
        ({"Page_Capacity": 8000}, None, ("ssdconfig.xml:", "Page_Capacity", "power of two")),
        ({"PCIe_Lane_Bandwidth": "1e305"}, None, ("ssdconfig.xml:4: PCIe_Lane_Bandwidth", "0.001 to 1000")),
        ({"PCIe_Lane_Bandwidth": "1e-300"}, None, ("ssdconfig.xml:4: PCIe_Lane_Bandwidth", "0.001 to 1000")),
        ({"PCIe_Lane_Count": 1 << 40}, None, ("ssdconfig.xml:5: PCIe_Lane_Count", "1 to 1024")),
        ({"Flash_Channel_Width": 5000}, None, ("Flash_Channel_Width", "half a page of 8192")),
        ({"Page_Read_Latency_LSB": 1 << 50}, None, ("ssdconfig.xml:52: Page_Read_Latency_LSB", "10 s")),
        ({"Data_Cache_DRAM_Data_Rate": 1 << 62}, flow(), ("Data_Cache_DRAM_Data_Rate", "bandwidth")),
        ({"Chip_No_Per_Channel": "many"}, None, ("ssdconfig.xml:", 'Chip_No_Per_Channel: "many"', "whole number")),
        ({"Overprovisioning_Ratio": "0x1p-4"}, None, ("Overprovisioning_Ratio", "a share above 0")),
        ({}, flow(Chip_IDs=","), ("workload.xml:", 'Chip_IDs: ","', "from 0 to 3")),
        ({"GC_Block_Selection_Policy": "BEST"}, None, ("GC_Block_Selection_Policy", "RGA")),
        ({"Plane_Allocation_Scheme": "CWD"}, None, ("Plane_Allocation_Scheme", "ftl.page_order", "CWDP")),
        ({"Overprovisioning_Ratio": 0.0005}, None, ("Overprovisioning_Ratio", "ftl.over_provisioning", "gc.stop")),
        ({}, flow(Channel_IDs="0,8"), ("workload.xml:", 'Channel_IDs: "0,8"', "from 0 to 7")),
        ({}, flow(Read_Percentage=101), ("Read_Percentage", "0 to 100")),
        ({}, flow(Total_Requests_To_Generate=0), ("Total_Requests_To_Generate", "Stop_Time is 0")),
        ({}, flow(Address_Distribution="RANDOM_HOTCOLD", Percentage_of_Hot_Region=0), ("Percentage_of_Hot_Region",)),
        ({}, traced(File_Path="nowhere.trace"), ("workload.xml:", "File_Path", "nowhere.trace", "no such file")),
        (
            {},
            flow(Synthetic_Generator_Type="QUEUE_DEPTH") + traced(),
            ("workload.xml:", "Synthetic_Generator_Type: waits for completions", "BANDWIDTH"),
        ),
        ({}, "<IO_Flow/>", ("workload.xml:", "holds no flow")),
    ],
)
def test_errors_name_the_users_file_line_and_key(
    load: Load, changes: dict[str, object], flows: str | None, words: tuple[str, ...]
) -> None:
    with pytest.raises(ssdlab.InputError) as caught:
        load([flows or flow()], **changes)
    for word in (*words, "help:"):
        assert word in str(caught.value)
    assert "/ssdlab-" not in str(caught.value)


def test_errors_of_the_run_name_the_users_key(load: Load) -> None:
    part = load([flow(Average_Request_Size=1 << 22)]).parts[0]
    with pytest.raises(ssdlab.InputError, match=r"workload.xml:\d+: Average_Request_Size: job.flow-0.bs") as caught:
        part.run()
    assert "/ssdlab-" not in str(caught.value)


def test_what_is_given_twice_is_noted_and_the_last_holds(load: Load, tmp_path: Path) -> None:
    path = ssdconfig(tmp_path)
    text = path.read_text()
    first = f"<{keys.FLASH}>\n<Page_Capacity>4096</Page_Capacity><Block_No_Per_Plane>512</Block_No_Per_Plane>\n"
    text = text.replace(f"<{keys.FLASH}>\n", f"{first}</{keys.FLASH}>\n<{keys.FLASH}>\n")
    text = text.replace("\t\t<Block_No_Per_Plane>2048</Block_No_Per_Plane>\n", "")
    path.write_text(text.replace("<Seed>321", "<Seed>5</Seed>\n<Seed>321"))
    found = mqsim.load(path, workload(tmp_path, [flow()]))
    geometry = device(found.parts[0])["geometry"]
    assert (geometry["page_size"], geometry["blocks"]) == ("8192B", 512)
    assert found.parts[0].options["seed"] == 321
    (line,) = [line for line in found.notes if "given twice" in line]
    assert line.startswith(
        f"{path}: given twice, the last one counts: Seed (lines 11 and 12), Flash_Parameter_Set (lines "
    )
    assert "Page_Capacity (lines 51 and " in line


def test_the_pages_commands_run(cli: Cli, tmp_path: Path) -> None:
    ssdconfig(tmp_path)
    mixed = flow(Read_Percentage=70, Bandwidth=1 << 30, Device_Level_Data_Caching_Mode="TURNED_OFF")
    workload(tmp_path, [mixed])
    page = (Path(__file__).parent.parent / "docs/mqsim.md").read_text().replace("\\\n", " ")
    (suspending,) = [
        line.strip()[1:] for line in page.splitlines() if "schedule.suspend_erase=" in line and "$" in line
    ]
    (added,) = re.findall(r"can add what MQSim lacks[^`]*`([^`]*)`", page)
    done = cli(*shlex.split(suspending)[1:], "-q", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["flash"]["suspend"]["programs"] > 0
    plain = cli("run", "--mqsim", "ssdconfig.xml", "workload.xml", *shlex.split(added), "-q", "--json", "-")
    assert plain.returncode == 0, plain.stderr


def test_documents_that_are_not_mqsims_are_refused(cli: Cli, tmp_path: Path) -> None:
    config, work = ssdconfig(tmp_path), workload(tmp_path, [flow()])
    (tmp_path / "broken.xml").write_text("<Execution_Parameter_Set>\n<a>\n")
    (tmp_path / "prose.xml").write_text("\nMQSim\n")
    for files, words in (
        ((work, config), ("workload.xml:1", "give ssdconfig.xml first")),
        (("broken.xml", work), ("broken.xml:3", "is not XML: ends within a, which begins in line 2")),
        (("prose.xml", work), ("prose.xml:2", "text stands outside")),
        (("nowhere.xml", work), ("nowhere.xml", "cannot be read")),
    ):
        done = cli("run", "--mqsim", *files)
        assert done.returncode == 2
        assert done.stdout == ""
        for word in (*words, "help:"):
            assert word in done.stderr


# Of ssdconfig.xml and workload.xml, what MQSim's reader takes though it is no XML, or no number: and what is noted.
LENIENT = (
    ("<Seed>321</Seed>", "<Seed>321</<Seed>", "</<Seed> (line 11) closes Seed"),
    ("</Memory_Type>", "</Memroy>", "</Memroy> (line 13) closes Memory_Type"),
    ("<?xml", "\n<?xml", "blanks before <?xml"),
    ("<Seed>321", "<!-- µs -->\n<Seed>321", "characters beyond ASCII, and us-ascii as the encoding: taken as UTF-8"),
    ("<Seed>321", '<!DOCTYPE x [<!ENTITY a "b>">]>\n<Seed>321', "a document type (line 11) is skipped"),
    ("<Seed>321", '<Seed unit="none" at=\'1\' >321 of them', 'Seed "321 of them" (line 11) is 321'),
    ("<Seed>321", "<Seed>&#x33;21<b/>9 &copy; &", None),
    ("us-ascii", "klingon", None),
    ("<Chip_IDs>0,1,2,3", "<Chip_IDs> 0,1,2,,3,", 'Chip_IDs "0,1,2,,3," (line 7) is 0,1,2,3'),
    ("<Working_Set_Percentage>50", "<Working_Set_Percentage>+50.9 %", 'Percentage "+50.9 %" (line 11) is +50'),
    (">0.07<", ">7e-2f<", 'Overprovisioning_Ratio "7e-2f" (line 32) is 7e-2'),
    (">true</Generated", ">1</Generated", 'Addresses "1" (line 16) is true, as all that is not false'),
)  # fmt: skip


@pytest.mark.parametrize(("plain", "lenient", "note"), LENIENT)
def test_what_mqsim_reads_is_read_and_noted(tmp_path: Path, plain: str, lenient: str, note: str | None) -> None:
    files = ssdconfig(tmp_path), workload(tmp_path, [flow()])
    before = mqsim.load(*files)
    texts = [path.read_text() for path in files]
    assert sum(text.count(plain) for text in texts) == 1
    for path, text in zip(files, texts, strict=True):
        path.write_text(text.replace(plain, lenient), encoding="utf-8")
    after = mqsim.load(*files)
    assert essence(after.parts[0]) == essence(before.parts[0])
    (added, *more) = [line for line in after.notes if line not in before.notes] or [""]
    assert not more
    assert ("read as MQSim reads it: " in added and added.endswith(note)) if note else not added


def test_a_number_means_what_mqsim_takes_it_for(load: Load) -> None:
    imported = load([flow(Total_Requests_To_Generate="1e6")])
    assert job(imported.parts[0])["requests"] == 1
    assert any('Total_Requests_To_Generate "1e6" (line 25) is 1' in line for line in imported.notes)


# What MQSim's default device takes for a page of 8 KiB when nothing waits [ns]: messages to the device, the command and
# the data's set-up, tR, the data, the link with its packets, the completion.
UNLOADED = 39 + 320 + 75_000 + 24_576 + 2_496 + 11
LOW_LOAD = {
    "Device_Level_Data_Caching_Mode": "TURNED_OFF",
    "Read_Percentage": 100,
    "Working_Set_Percentage": 100,
    "Total_Requests_To_Generate": 200_000,
}


def test_at_low_load_a_read_takes_as_long_as_in_mqsim(load: Load) -> None:
    # 81,920,000 B/s of 8 KiB: exponential gaps of 100 us.
    part = load([flow(**LOW_LOAD)], Ideal_Mapping_Table="true").parts[0]
    assert job(part)["rate_iops"] == 10_000
    result = part.run()
    assert result.host.read.requests == 200_000
    assert result.host.read.latency_ns.mean == pytest.approx(104_000, rel=0.01)
    idle = part.run(replay="closed:1", requests=1000)
    assert UNLOADED == 102_442
    assert idle.host.read.latency_ns.mean == pytest.approx(UNLOADED, abs=3)


def test_a_write_through_takes_its_components(load: Load) -> None:
    part = load([flow(Device_Level_Data_Caching_Mode="TURNED_OFF")], Ideal_Mapping_Table="true").parts[0]
    idle = part.run(replay="closed:1", requests=100)
    assert idle.host.write.latency_ns.mean == pytest.approx(UNLOADED - 75_000 + 750_000, abs=3)


def test_the_presets_difference_is_its_assumed_components() -> None:
    settings = {"workload.rate_iops": "none"}
    result = ssdlab.run("mqsim-ideal", "random-read-8k", replay="closed:1", requests=1000, settings=settings)
    # 2 us of commands in place of 50 ns, DRAM, a link without packets, and neither rounding nor set-up on the bus.
    assumed = 2000 + 290 + 75_000 + 8192 / 0.333 + 8192 / 6.4 + 8192 / 4
    assert result.host.read.latency_ns.mean == pytest.approx(assumed, abs=3)
    assert assumed / UNLOADED == pytest.approx(1.027, abs=5e-4)


def test_written_toml_runs_alike(cli: Cli, tmp_path: Path) -> None:
    small(tmp_path)
    files = (
        ssdconfig(tmp_path, {"Enabled_Preconditioning": "true"}),
        workload(tmp_path, [flow(), flow(Synthetic_Generator_Type="QUEUE_DEPTH", Read_Percentage=30)], [traced()]),
    )
    written = cli("run", "--mqsim", *files, "--write-toml", "out")
    assert written.returncode == 0
    assert cli("run", "--mqsim", *files, "-q", "--json", "there.json").returncode == 0
    commands = written.stdout.splitlines()
    assert len(commands) == 2
    for number, command in enumerate(commands, 1):
        done = cli(*shlex.split(command)[1:], "-q", "--json", "-")
        here, there = json.loads(done.stdout), json.loads((tmp_path / f"there.{number}.json").read_text())
        for result in (here, there):
            del result["process"]
        assert here == there
    assert (tmp_path / "out/1/workload.toml").read_text().startswith("about = ")


def test_each_scenario_is_a_run_of_its_own(cli: Cli, tmp_path: Path) -> None:
    files = ssdconfig(tmp_path), workload(tmp_path, [flow()], [flow(), flow(Total_Requests_To_Generate=77)])
    done = cli("run", "--mqsim", *files)
    assert [word in done.stdout for word in ("scenario 1", "scenario 2", "queue 1")] == [True] * 3
    assert done.stdout.index("queue 1") > done.stdout.index("scenario 2")
    only = cli("run", "--mqsim", *files, "--scenario", 2, "-q", "--json", "-")
    queues = json.loads(only.stdout)["host"]["queue"]
    assert {number: of["requests"] for number, of in queues.items()} == {"0": 4000, "1": 77}
    assert "holds no scenario 3" in cli("run", "--mqsim", *files, "--scenario", 3).stderr
    for words in (("--device", "tlc"), ("--workload", "default"), ("--fio", "x"), ("--section", "x")):
        assert cli("run", "--mqsim", *files, *words).returncode == 2
    set_by_hand = cli("run", "--mqsim", *files, "--scenario", 1, "--set", "chip.t_prog=1ms", "--json", "-", "-q")
    assert json.loads(set_by_hand.stdout)["manifest"]["device"]["config"]["chip"]["t_prog"] == "1ms"


def test_several_runs_are_numbered_as_their_scenarios(cli: Cli, tmp_path: Path) -> None:
    files = ssdconfig(tmp_path), workload(tmp_path, [flow()], [flow(Total_Requests_To_Generate=5)], [flow()])
    chosen = ("--mqsim", *files, "--scenario", 2, "--scenario", 3)
    assert cli("run", *chosen, "-q", "--requests", 10, "--json", "three.json").returncode == 0
    assert sorted(path.name for path in tmp_path.glob("three*")) == ["three.2.json", "three.3.json"]
    assert "mine/3/device.toml" in cli("run", *chosen, "--write-toml", "mine").stdout
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == ["2", "3"]
    for words in (("--json", "a.json"), ("--repeat", 2), ("--timeline", "x"), ("--output-format", "fio")):
        done = cli("run", *chosen, "--write-toml", "other", *words)
        assert done.returncode == 2
        assert f"{words[0]}: --write-toml runs nothing" in done.stderr
    assert "--write-toml /proc/x/2: cannot be made" in cli("run", *chosen, "--write-toml", "/proc/x").stderr


def test_no_output_takes_the_place_of_an_input(cli: Cli, tmp_path: Path) -> None:
    small(tmp_path)
    config, work = ssdconfig(tmp_path), workload(tmp_path, [traced(Relay_Count=2)])
    (tmp_path / "all.fio").write_text("include jobs.inc\n")
    (tmp_path / "jobs.inc").write_text("[a]\nrw=randread\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/workload.trace").write_text("1000 0 0 16 1\n3000 0 16 16 0\n")
    other = work.read_text().replace("traces\\small", "out\\workload")
    (tmp_path / "other.xml").write_text(other)
    of_mqsim, of_fio = ("--mqsim", config, work), ("--fio", "all.fio", "--requests", 5)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for words in (
        (*of_mqsim, "--json", "workload.xml"), (*of_mqsim, "--requests-out", "ssdconfig.xml"),
        (*of_mqsim, "--timeline", "traces/small.trace"), (*of_fio, "--json", "all.fio"),
        (*of_fio, "--series-out", "./jobs.inc"), ("--mqsim", config, "other.xml", "--write-toml", "out"),
    ):  # fmt: skip
        done = cli("run", "-q", *words)
        assert done.returncode == 2
        assert "is an input of this run" in done.stderr
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_errors_of_a_later_run_say_what_is_written(cli: Cli, tmp_path: Path) -> None:
    big = flow(Average_Request_Size=1 << 22)
    files = ssdconfig(tmp_path), workload(tmp_path, [flow()], [big])
    done = cli("run", "--mqsim", *files, "-q", "--json", "a.json")
    assert done.returncode == 2
    assert "Average_Request_Size" in done.stderr
    assert "note: written before: a.1.json" in done.stderr
    # An error that needs no other words, with what was kept beside it.
    small(tmp_path, "1000 0 0 16 1\n3000 0 400000000 8 1\n")
    work = workload(tmp_path, [traced()])
    words = [f"--set={word}" for word in ("geometry.blocks=512", "gc.start=4", "gc.stop=4")]
    beyond = cli("run", "--mqsim", files[0], work, *words, "--beyond", "refuse", "--requests-out", "a.parquet")
    assert beyond.returncode == 2
    assert beyond.stderr.count("no results were written") == 1


def test_ctrl_c_in_a_later_run_says_what_is_kept(cli: Cli, tmp_path: Path) -> None:
    endless = flow(Total_Requests_To_Generate=1 << 40, Working_Set_Percentage=1)
    files = ssdconfig(tmp_path), workload(tmp_path, [flow()], [endless])
    running = subprocess.Popen(
        [SSDLAB, "run", "--mqsim", *files, "-q", "--json", "a.json", "--requests-out", "a.parquet"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    # The second run's log is there from its beginning; then it computes for a while.
    until(lambda: list(tmp_path.glob(".a.2.parquet.*.tmp")), running)
    begun = cpu_s(running.pid)
    until(lambda: cpu_s(running.pid) > begun + 1.0, running)
    running.send_signal(signal.SIGINT)
    _, stderr = running.communicate(timeout=HANGS_S)
    assert running.returncode == 130
    assert re.search(r"interrupted: .* of this run; kept: a\.1\.json, a\.1\.parquet, a\.2\.json\n$", stderr), stderr


def test_a_longer_duration_holds_over_the_stop_time(load: Load) -> None:
    part = load([flow(Stop_Time=10_000_000)]).parts[0]
    log = requests(part, duration="300ms")
    assert log["arrival_ns"].max() > 290_000_000  # type: ignore[operator]


def test_flows_have_parts_of_their_own(load: Load) -> None:
    two = load([flow(Working_Set_Percentage=20), flow(Working_Set_Percentage=100, Read_Percentage=100)])
    log = requests(two.parts[0])
    ranges = {}
    for number in (0, 1):
        offset, room = (int(job(two.parts[0], number)[key].removesuffix("B")) for key in ("offset", "footprint"))
        ranges[number] = offset, offset + room
        mine = log.filter(polars.col("queue") == number)
        assert mine.height == 4000
        assert mine["offset"].min() >= offset  # type: ignore[operator]
        assert (mine["offset"] + mine["bytes"]).max() <= offset + room  # type: ignore[operator]
    assert ranges[0][1] == ranges[1][0]
    assert ranges[0][1] / (ranges[1][1] - ranges[1][0]) == pytest.approx(0.2, rel=1e-3)


def test_distributions_of_addresses(load: Load) -> None:
    streaming = requests(load([flow(Address_Distribution="STREAMING", Average_Request_Size=24)]).parts[0])
    assert streaming["offset"].diff().drop_nulls().unique().to_list() == [16384]
    hot = load([flow(Address_Distribution="RANDOM_HOTCOLD", Percentage_of_Hot_Region=10)]).parts[0]
    log = requests(hot)
    room = int(job(hot)["footprint"].removesuffix("B"))
    assert (log["offset"] < room * 0.1).mean() == pytest.approx(0.9, abs=0.02)
    uniform = requests(load([flow(Generated_Aligned_Addresses="false")]).parts[0])
    assert uniform["offset"].mean() == pytest.approx(room / 2, rel=0.03)
    assert set((uniform["offset"] % 512).unique()) == {0}
    assert (uniform["offset"] % 8192).n_unique() == 16


def test_normal_sizes_have_mqsims_mean_and_deviation(load: Load) -> None:
    sizes = {"Request_Size_Distribution": "NORMAL", "Average_Request_Size": 16, "Variance_Request_Size": 4}
    sectors = requests(load([flow(**sizes)]).parts[0])["bytes"] / 512
    # Rounded up: half a sector more on average.
    assert sectors.mean() == pytest.approx(16.5, abs=0.2)
    assert sectors.std() == pytest.approx(4, rel=0.05)
    assert sectors.min() >= 1  # type: ignore[operator]
    wide = requests(load([flow(**{**sizes, "Variance_Request_Size": 100})]).parts[0])["bytes"] / 512
    # What falls below a sector is one.
    expected = sum(
        max(1, n) * 0.5 * (math.erf((n - 16) / 100 / math.sqrt(2)) - math.erf((n - 17) / 100 / math.sqrt(2)))
        for n in range(-600, 700)
    )
    assert wide.mean() == pytest.approx(expected, rel=0.06)


def test_arrivals_and_ends(load: Load) -> None:
    poisson = requests(load([flow(Stop_Time=200_000_000)]).parts[0])
    gaps = poisson["arrival_ns"].diff().drop_nulls()
    assert gaps.mean() == pytest.approx(100_000, rel=0.06)
    assert gaps.std() == pytest.approx(100_000, rel=0.08)
    assert 190_000_000 < poisson["arrival_ns"].max() <= 200_000_000  # type: ignore[operator]
    closed = {"Synthetic_Generator_Type": "QUEUE_DEPTH", "Average_No_of_Reqs_in_Queue": 3, "Stop_Time": 50_000_000}
    log = requests(load([flow(**closed, Read_Percentage=100)]).parts[0])
    assert log["arrival_ns"].max() == pytest.approx(50_000_000, rel=0.02)
    done = log["finish_ns"].sort().search_sorted(log["arrival_ns"], side="right")
    assert int((polars.int_range(1, log.height + 1, eager=True) - done.cast(polars.Int64)).max()) == 3  # type: ignore[arg-type]


def test_the_start_is_what_preconditioning_makes(load: Load) -> None:
    for changes, kind, age in (
        ({"Enabled_Preconditioning": "true"}, {}, {"fill": 0.75, "precondition": "closed-form"}),
        ({"Enabled_Preconditioning": "true"}, {"Address_Distribution": "STREAMING"}, {"fill": 0.75}),
        ({}, {"Read_Percentage": 100}, {"fill": 0.5}),
        ({}, {}, {"fill": 0.0}),
    ):
        found = device(load([flow(**kind)], **changes).parts[0])["age"]
        assert found == {key: pytest.approx(value, abs=1e-4) if key == "fill" else value for key, value in age.items()}
    # Reads of what MQSim serves from flash are served from flash.
    assert load([flow(Read_Percentage=100)]).parts[0].run().host.unmapped_reads == 0


def test_what_does_not_fit_is_made_to(load: Load) -> None:
    # 128 blocks a plane, of which 119.04 are data: no ten are left for collection.
    small_planes = load(Block_No_Per_Plane=128, Data_Cache_Capacity=0)
    found = device(small_planes.parts[0])
    assert found["gc"]["start"] == found["gc"]["stop"] == 4
    assert found["buffer"]["size"] == "8192B"
    text = " ".join(small_planes.notes)
    assert "GC_Exec_Threshold: a plane keeps 4 blocks free, not 10" in text
    assert "Data_Cache_Capacity 0: a page" in text
    assert small_planes.parts[0].run(requests=100).host.write.requests == 100
    with pytest.raises(ssdlab.InputError, match=r"Overprovisioning_Ratio: ftl.over_provisioning"):
        load(Block_No_Per_Plane=16)


def test_a_part_of_the_drive_is_a_smaller_drive(load: Load) -> None:
    half = load([flow(Channel_IDs="4,5,6,7", Plane_IDs="1"), flow(Channel_IDs="4,5,6,7", Plane_IDs="1")])
    geometry = device(half.parts[0])["geometry"]
    assert (geometry["channels"], geometry["chips"], geometry["dies"], geometry["planes"]) == (4, 4, 2, 1)
    assert any("use 4 of 8 channels, 1 of 2 planes: the drive has no more" in line for line in half.notes)
    apart = load([flow(Channel_IDs="0,1,2,3"), flow(Channel_IDs="4,5,6,7")])
    assert device(apart.parts[0])["geometry"]["channels"] == 8
    assert any("unsupported: Channel_IDs" in line for line in apart.notes)
    # A quarter of the drive each, of which half is the working set.
    part = load([flow(Channel_IDs="0,1"), flow(Channel_IDs="2,3")]).parts[0]
    room = int(job(part)["footprint"].removesuffix("B"))
    assert room == pytest.approx((512 << 30) * 0.93 / 8, rel=1e-3)


def test_a_trace_is_played_as_it_stands(load: Load, tmp_path: Path) -> None:
    part = load([traced()]).parts[0]
    assert part.trace == str(tmp_path / "traces/small.trace")
    log = requests(part)
    assert log.select("op", "offset", "bytes", "arrival_ns").rows() == [
        (0, 0, 8192, 0), (1, 8192, 8192, 2000), (0, 2 << 20, 4096, 8000),
    ]  # fmt: skip
    slower = requests(load([traced(Time_Unit="MICROSECOND")]).parts[0])
    assert slower["arrival_ns"].to_list() == [0, 2_000_000, 8_000_000]
    assert requests(load([traced(Percentage_To_Be_Executed=67)]).parts[0]).height == 2


def test_traces_are_repeated_merged_and_kept_apart(load: Load, tmp_path: Path) -> None:
    small(tmp_path, "2000000 0 8 8 0\n12000000 0 8 8 0\n", "other")
    part = load([traced(Relay_Count=2), traced(File_Path="traces/other.trace", Time_Unit="PICOSECOND")]).parts[0]
    log = requests(part)
    room = int(log.filter(polars.col("queue") == 1)["offset"][0]) - 4096
    assert room > 1 << 30
    # The first counts from 0, and its second round from its last request; the other one is in ps.
    assert log.select("arrival_ns", "queue", "op", "offset").rows() == [
        (0, 0, 0, 0), (1000, 1, 1, room + 4096), (2000, 0, 1, 8192), (8000, 0, 0, 2 << 20), (9000, 0, 0, 0),
        (11000, 0, 1, 8192), (11000, 1, 1, room + 4096), (17000, 0, 0, 2 << 20),
    ]  # fmt: skip


@pytest.mark.parametrize("changes", [{}, {"Time_Unit": "MICROSECOND"}])
def test_a_packed_trace_begins_when_it_says(load: Load, tmp_path: Path, changes: dict[str, object]) -> None:
    import gzip

    part = load([traced(**changes), traced()]).parts[0]
    with gzip.open(tmp_path / "traces/packed.trace.gz", "wt") as file:
        file.write((tmp_path / "traces/small.trace").read_text())
    packed = load([traced(File_Path="traces/packed.trace.gz", **changes), traced()]).parts[0]
    assert packed.content == part.content
    assert part.content is not None
    unit = 1000 if changes else 1
    assert f"{9000 * unit} 0 4096 8 1" in part.content


def test_a_synthetic_flow_plays_beside_a_trace(load: Load) -> None:
    part = load([traced(), flow(Stop_Time=20_000_000, Total_Requests_To_Generate=0)]).parts[0]
    log = requests(part)
    assert log.filter(polars.col("queue") == 0).height == 3
    drawn = log.filter(polars.col("queue") == 1)
    assert drawn.height == pytest.approx(200, abs=60)
    assert drawn["arrival_ns"].max() <= 20_000_000  # type: ignore[operator]
    half = device(part)["geometry"]["blocks"] * 256 * 128 * 8192 * 0.93 / 2
    assert drawn["offset"].min() >= 0.999 * half
    assert (drawn["op"] == 1).all()


def test_the_page_has_the_importers_tables(
    in_page: Callable[[str, str, str], None], named_statistics: Callable[[str], set[str]]
) -> None:
    assert named_statistics("mqsim.md") == set()
    heads = ("MQSim", "ssdlab", "")
    for section in dict.fromkeys(key.section for key in keys.KEYS):
        in_page("mqsim.md", section, table([key for key in keys.KEYS if key.section == section], heads))
