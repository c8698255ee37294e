"""MQSim's keys: what becomes of each (the tables of docs/mqsim.md)."""

from __future__ import annotations

from ssdlab.foreign.options import ForeignOption

HOST, DEVICE, FLASH = "Host_Parameter_Set", "Device_Parameter_Set", "Flash_Parameter_Set"
SYNTHETIC, TRACE = "IO_Flow_Parameter_Set_Synthetic", "IO_Flow_Parameter_Set_Trace_Based"
FLOW = "IO_Flow_Parameter_Set"
"""What both kinds of flows have."""
SECTOR = 512


def _keys(section: str, *rows: tuple[str, ...]) -> list[ForeignOption]:
    # Name (and further spellings), ours, MQSim's default, note.
    keys = []
    for name, ours, default, *note in rows:
        first, *others = name.split("/")
        keys.append(ForeignOption(first, ours, note[0] if note else "", default, tuple(others), section))
    return keys


NO_EFFECT = "no effect, nor in MQSim"
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
        ("Address_Mapping", "", "PAGE_LEVEL", "HYBRID is unsupported (and not implemented in MQSim)"),
        ("Ideal_Mapping_Table", "mapping.table", "false", "true: `ideal`; false: `cached`"),
        (
            "CMT_Capacity",
            "mapping.cache, mapping.entry, mapping.entry_group",
            "2097152",
            "as many entries as in MQSim, whose entries are ⌈(2 log₂ pages + sectors a page) / 8⌉ bytes",
        ),
        ("CMT_Sharing_Mode", "mapping.sharing", "SHARED", "EQUAL_PARTITIONING: `partitioned`"),
        ("Plane_Allocation_Scheme", "ftl.page_order", "CWDP"),
        (
            "Transaction_Scheduling_Policy",
            "schedule.order",
            "OUT_OF_ORDER",
            "`read-first`; FLIN and priority classes are unsupported",
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
            "gc.victim",
            "RGA",
            "GREEDY, FIFO: the same; RGA: `d-choices:N`, N log₂ blocks; RANDOM, RANDOM_P, RANDOM_PP: `d-choices:1`",
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
            "see CMD_Suspension_Support; here `schedule.suspend_erase_left`",
        ),
        (
            "Preferred_suspend_erase_time_for_write/Prefered_suspend_erase_time_for_write",
            "",
            "700000",
            "here `schedule.suspend_erase_for` and `schedule.suspend_erase_left`",
        ),
        (
            "Preferred_suspend_write_time_for_read/Prefered_suspend_write_time_for_read",
            "",
            "100000",
            "here `schedule.suspend_program_left`",
        ),
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
            "of the whole drive: `write-back` if any flow has a write cache; read caches are not taken over",
        ),
        (
            "Channel_IDs",
            "geometry.channels",
            "",
            "flows that share one part of the drive have a drive of that size; parts of their own are unsupported",
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
FORMATS = {"NANOSECOND": "mqsim", "MICROSECOND": "mqsim:time=us", "PICOSECOND": "mqsim"}
"""How traces are read, by their unit of time."""
