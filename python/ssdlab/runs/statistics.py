"""The parts of a result and what they hold: written by ``pytest --update-golden`` (tests/typed.py).

None stands where there was nothing to measure. What only some drives or workloads have raises AttributeError elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ssdlab.runs.sections import Section


class Latency(Section):
    """Latencies [ns]. Percentiles have three significant digits."""

    __slots__ = ()
    mean: float | None
    """Mean latency of the requests [ns]."""
    p50: int | None
    """Latency that 50 % of the requests do not exceed, to three digits [ns]."""
    p99: int | None
    """Latency that 99 % of the requests do not exceed, to three digits [ns]."""
    p99_9: int | None
    """Latency that 99.9 % of the requests do not exceed, to three digits [ns]."""
    p99_99: int | None
    """Latency that 99.99 % of the requests do not exceed, to three digits [ns]."""
    p99_9999: int | None
    """Latency that 99.9999 % of the requests do not exceed, to three digits [ns]."""
    max: int | None
    """Largest latency of the requests [ns]."""


class Requests(Section):
    """The requests of one kind or one queue."""

    __slots__ = ()
    _parts: ClassVar = {"latency_ns": Latency}
    requests: int
    """The requests that completed."""
    bytes: int
    """Bytes of the requests [B]."""
    iops: float
    """The requests completed a second [1/s]."""
    bandwidth_mb_s: float
    """Bytes of the requests a second [MB/s]."""
    latency_ns: Latency


class Queues(Section):
    """The queues that were used, by number: ``queue["0"]``."""

    __slots__ = ()
    _parts: ClassVar = {"*": Requests}
    if TYPE_CHECKING:

        def __getitem__(self, key: str) -> Requests: ...


class HostSteady(Section):
    """What stands under ``host.steady``."""

    __slots__ = ()
    reached: bool
    """Whether a steady state was reached: the result is its last five rounds."""
    rounds: int
    """Rounds played until then, or until the workload's end."""
    round_s: float
    """Mean length of the last five rounds."""
    from_ns: int | None
    """When the last five rounds began: requests that completed later count, from the start of the workload [ns]."""
    to_ns: int | None
    """When the last five rounds ended: requests that completed later do not count, from the start of the workload
    [ns]."""


class HostTrace(Section):
    """What stands under ``host.trace``."""

    __slots__ = ()
    bad_lines: int
    """Malformed lines of the trace that were left out."""
    other_lines: int
    """Lines of the trace that are no requests."""
    reordered: int
    """Requests that stood too late in the trace."""
    missing_requests: int
    """Requests asked for (--requests) that the workload no longer had."""


class HostDataErrors(Section):
    """What stands under ``host.data_errors``."""

    __slots__ = ()
    reported: int
    """Pages of host reads that could not be corrected; a flash page counts once in a request, however many logical
    pages it gives [flash pages]."""
    silent: int
    """Pages of host reads that were wrong without notice, counted as the reported ones [flash pages]."""
    uber: float | None
    """Pages of host reads that were lost or wrong, for each bit read (UBER, JESD218)."""


class HostZoneResetLatencyNs(Section):
    """What stands under ``host.zone_reset.latency_ns``."""

    __slots__ = ()
    mean: float
    """Mean latency of resets of zones [ns]."""
    p50: int
    """Latency that 50 % of resets of zones do not exceed, to three digits [ns]."""
    p99: int
    """Latency that 99 % of resets of zones do not exceed, to three digits [ns]."""
    p99_9: int
    """Latency that 99.9 % of resets of zones do not exceed, to three digits [ns]."""
    p99_99: int
    """Latency that 99.99 % of resets of zones do not exceed, to three digits [ns]."""
    p99_9999: int
    """Latency that 99.9999 % of resets of zones do not exceed, to three digits [ns]."""
    max: int
    """Largest latency of resets of zones [ns]."""


class HostZoneReset(Section):
    """What stands under ``host.zone_reset``."""

    __slots__ = ()
    _parts: ClassVar = {"latency_ns": HostZoneResetLatencyNs}
    requests: int
    """Resets of zones that completed [requests]."""
    bytes: int
    """Bytes of resets of zones [B]."""
    iops: float
    """Resets of zones completed a second [1/s]."""
    bandwidth_mb_s: float
    """Bytes of resets of zones a second [MB/s]."""
    latency_ns: HostZoneResetLatencyNs


class Tasks(Section):
    """What a workload waits for as a whole; of workloads whose requests come in tasks, and of KV caches."""

    __slots__ = ()
    _parts: ClassVar = {"latency_ns": Latency}
    count: int
    """Tasks that ended."""
    rate: float
    """Tasks that ended a second [1/s]."""
    latency_ns: Latency


class HostKv(Section):
    """What stands under ``host.kv``."""

    __slots__ = ()
    prompts: int
    """Prompts that arrived, those of the warm-up included, as in all that follows."""
    tokens: int
    """Tokens of the prompts."""
    tokens_from_memory: int
    """Of these tokens those whose keys and values were in memory."""
    tokens_from_drive: int
    """Of these tokens those whose keys and values were read from the drive."""
    tokens_computed: int
    """Of these tokens those that were computed."""
    tokens_recomputed: int
    """Computed tokens that were on the drive, and would have been read later."""
    written_bytes: int
    """Keys and values that were written [B]."""
    load_ns: float
    """Mean time from a prompt's arrival until what is known of it has been read [ns]."""
    wait_ns: float
    """Mean time that a prompt then waits for an engine [ns]."""
    compute_ns: float
    """Mean time of computing up to the first new token [ns]."""
    engine_load: float
    """Computing that prompts ask for, over what the engines can do from the first arrival to the last: above 1 waits
    grow with the run."""
    backlog: float
    """Computing that is left for each engine at the last arrival, in mean prompts."""


class HostLogFs(Section):
    """What stands under ``host.log_fs``."""

    __slots__ = ()
    operations: int
    """Reads, updates and files written again [operations]."""
    written_bytes: int
    """Data that programs wrote [B]."""
    node_bytes: int
    """Nodes and directories that were written for that [B]."""
    cleaned_bytes: int
    """Live blocks that cleaning has moved [B]."""
    table_bytes: int
    """Tables and packs that checkpoints wrote in place [B]."""
    sections_cleaned: int
    """Sections that were cleaned."""
    checkpoints: int
    """Checkpoints, those that free cleaned sections included."""
    amplification: float
    """Bytes that the file system wrote for a byte that programs wrote."""


class HostAppendLatencyNs(Section):
    """What stands under ``host.append.latency_ns``."""

    __slots__ = ()
    mean: float
    """Mean latency of appends [ns]."""
    p50: int
    """Latency that 50 % of appends do not exceed, to three digits [ns]."""
    p99: int
    """Latency that 99 % of appends do not exceed, to three digits [ns]."""
    p99_9: int
    """Latency that 99.9 % of appends do not exceed, to three digits [ns]."""
    p99_99: int
    """Latency that 99.99 % of appends do not exceed, to three digits [ns]."""
    p99_9999: int
    """Latency that 99.9999 % of appends do not exceed, to three digits [ns]."""
    max: int
    """Largest latency of appends [ns]."""


class HostAppend(Section):
    """What stands under ``host.append``."""

    __slots__ = ()
    _parts: ClassVar = {"latency_ns": HostAppendLatencyNs}
    requests: int
    """Appends that completed [requests]."""
    bytes: int
    """Bytes of appends [B]."""
    iops: float
    """Appends completed a second [1/s]."""
    bandwidth_mb_s: float
    """Bytes of appends a second [MB/s]."""
    latency_ns: HostAppendLatencyNs


class HostZoneCloseLatencyNs(Section):
    """What stands under ``host.zone_close.latency_ns``."""

    __slots__ = ()
    mean: float
    """Mean latency of zone closes [ns]."""
    p50: int
    """Latency that 50 % of zone closes do not exceed, to three digits [ns]."""
    p99: int
    """Latency that 99 % of zone closes do not exceed, to three digits [ns]."""
    p99_9: int
    """Latency that 99.9 % of zone closes do not exceed, to three digits [ns]."""
    p99_99: int
    """Latency that 99.99 % of zone closes do not exceed, to three digits [ns]."""
    p99_9999: int
    """Latency that 99.9999 % of zone closes do not exceed, to three digits [ns]."""
    max: int
    """Largest latency of zone closes [ns]."""


class HostZoneClose(Section):
    """What stands under ``host.zone_close``."""

    __slots__ = ()
    _parts: ClassVar = {"latency_ns": HostZoneCloseLatencyNs}
    requests: int
    """Zone closes that completed [requests]."""
    bytes: int
    """Bytes of zone closes [B]."""
    iops: float
    """Zone closes completed a second [1/s]."""
    bandwidth_mb_s: float
    """Bytes of zone closes a second [MB/s]."""
    latency_ns: HostZoneCloseLatencyNs


class HostZoneFinishLatencyNs(Section):
    """What stands under ``host.zone_finish.latency_ns``."""

    __slots__ = ()
    mean: float
    """Mean latency of finishes of zones [ns]."""
    p50: int
    """Latency that 50 % of finishes of zones do not exceed, to three digits [ns]."""
    p99: int
    """Latency that 99 % of finishes of zones do not exceed, to three digits [ns]."""
    p99_9: int
    """Latency that 99.9 % of finishes of zones do not exceed, to three digits [ns]."""
    p99_99: int
    """Latency that 99.99 % of finishes of zones do not exceed, to three digits [ns]."""
    p99_9999: int
    """Latency that 99.9999 % of finishes of zones do not exceed, to three digits [ns]."""
    max: int
    """Largest latency of finishes of zones [ns]."""


class HostZoneFinish(Section):
    """What stands under ``host.zone_finish``."""

    __slots__ = ()
    _parts: ClassVar = {"latency_ns": HostZoneFinishLatencyNs}
    requests: int
    """Finishes of zones that completed [requests]."""
    bytes: int
    """Bytes of finishes of zones [B]."""
    iops: float
    """Finishes of zones completed a second [1/s]."""
    bandwidth_mb_s: float
    """Bytes of finishes of zones a second [MB/s]."""
    latency_ns: HostZoneFinishLatencyNs


class HostZoneOpenLatencyNs(Section):
    """What stands under ``host.zone_open.latency_ns``."""

    __slots__ = ()
    mean: float
    """Mean latency of zone opens."""
    p50: int
    """Latency that 50 % of zone opens do not exceed, to three digits."""
    p99: int
    """Latency that 99 % of zone opens do not exceed, to three digits."""
    p99_9: int
    """Latency that 99.9 % of zone opens do not exceed, to three digits."""
    p99_99: int
    """Latency that 99.99 % of zone opens do not exceed, to three digits."""
    p99_9999: int
    """Latency that 99.9999 % of zone opens do not exceed, to three digits."""
    max: int
    """Largest latency of zone opens."""


class HostZoneOpen(Section):
    """What stands under ``host.zone_open``."""

    __slots__ = ()
    _parts: ClassVar = {"latency_ns": HostZoneOpenLatencyNs}
    requests: int
    """Zone opens that completed [requests]."""
    bytes: int
    """Bytes of zone opens [B]."""
    iops: float
    """Zone opens completed a second [1/s]."""
    bandwidth_mb_s: float
    """Bytes of zone opens a second [MB/s]."""
    latency_ns: HostZoneOpenLatencyNs


class HostZoneFlushLatencyNs(Section):
    """What stands under ``host.zone_flush.latency_ns``."""

    __slots__ = ()
    mean: float
    """Mean latency of zone flushs [ns]."""
    p50: int
    """Latency that 50 % of zone flushs do not exceed, to three digits [ns]."""
    p99: int
    """Latency that 99 % of zone flushs do not exceed, to three digits [ns]."""
    p99_9: int
    """Latency that 99.9 % of zone flushs do not exceed, to three digits [ns]."""
    p99_99: int
    """Latency that 99.99 % of zone flushs do not exceed, to three digits [ns]."""
    p99_9999: int
    """Latency that 99.9999 % of zone flushs do not exceed, to three digits [ns]."""
    max: int
    """Largest latency of zone flushs [ns]."""


class HostZoneFlush(Section):
    """What stands under ``host.zone_flush``."""

    __slots__ = ()
    _parts: ClassVar = {"latency_ns": HostZoneFlushLatencyNs}
    requests: int
    """Zone flushs that completed [requests]."""
    bytes: int
    """Bytes of zone flushs [B]."""
    iops: float
    """Zone flushs completed a second [1/s]."""
    bandwidth_mb_s: float
    """Bytes of zone flushs a second [MB/s]."""
    latency_ns: HostZoneFlushLatencyNs


class HostZoneOpenRandomLatencyNs(Section):
    """What stands under ``host.zone_open_random.latency_ns``."""

    __slots__ = ()
    mean: float
    """Mean latency of zone open randoms [ns]."""
    p50: int
    """Latency that 50 % of zone open randoms do not exceed, to three digits [ns]."""
    p99: int
    """Latency that 99 % of zone open randoms do not exceed, to three digits [ns]."""
    p99_9: int
    """Latency that 99.9 % of zone open randoms do not exceed, to three digits [ns]."""
    p99_99: int
    """Latency that 99.99 % of zone open randoms do not exceed, to three digits [ns]."""
    p99_9999: int
    """Latency that 99.9999 % of zone open randoms do not exceed, to three digits [ns]."""
    max: int
    """Largest latency of zone open randoms [ns]."""


class HostZoneOpenRandom(Section):
    """What stands under ``host.zone_open_random``."""

    __slots__ = ()
    _parts: ClassVar = {"latency_ns": HostZoneOpenRandomLatencyNs}
    requests: int
    """Zone open randoms that completed [requests]."""
    bytes: int
    """Bytes of zone open randoms [B]."""
    iops: float
    """Zone open randoms completed a second [1/s]."""
    bandwidth_mb_s: float
    """Bytes of zone open randoms a second [MB/s]."""
    latency_ns: HostZoneOpenRandomLatencyNs


class HostZoneReportLatencyNs(Section):
    """What stands under ``host.zone_report.latency_ns``."""

    __slots__ = ()
    mean: float
    """Mean latency of zone reports [ns]."""
    p50: int
    """Latency that 50 % of zone reports do not exceed, to three digits [ns]."""
    p99: int
    """Latency that 99 % of zone reports do not exceed, to three digits [ns]."""
    p99_9: int
    """Latency that 99.9 % of zone reports do not exceed, to three digits [ns]."""
    p99_99: int
    """Latency that 99.99 % of zone reports do not exceed, to three digits [ns]."""
    p99_9999: int
    """Latency that 99.9999 % of zone reports do not exceed, to three digits [ns]."""
    max: int
    """Largest latency of zone reports [ns]."""


class HostZoneReport(Section):
    """What stands under ``host.zone_report``."""

    __slots__ = ()
    _parts: ClassVar = {"latency_ns": HostZoneReportLatencyNs}
    requests: int
    """Zone reports that completed [requests]."""
    bytes: int
    """Bytes of zone reports [B]."""
    iops: float
    """Zone reports completed a second [1/s]."""
    bandwidth_mb_s: float
    """Bytes of zone reports a second [MB/s]."""
    latency_ns: HostZoneReportLatencyNs


class Host(Section):
    """What the host saw."""

    __slots__ = ()
    _parts: ClassVar = {
        "read": Requests,
        "write": Requests,
        "all": Requests,
        "queue": Queues,
        "steady": HostSteady,
        "trace": HostTrace,
        "data_errors": HostDataErrors,
        "zone_reset": HostZoneReset,
        "trim": Requests,
        "flush": Requests,
        "task": Tasks,
        "load": Tasks,
        "kv": HostKv,
        "log_fs": HostLogFs,
        "append": HostAppend,
        "zone_close": HostZoneClose,
        "zone_finish": HostZoneFinish,
        "zone_open": HostZoneOpen,
        "zone_flush": HostZoneFlush,
        "zone_open_random": HostZoneOpenRandom,
        "zone_report": HostZoneReport,
    }
    read: Requests
    write: Requests
    all: Requests
    queue: Queues
    steady: HostSteady
    drive_writes: float
    """Bytes that the host wrote since the start of the device, preconditioning and warm-up included, over its
    capacity."""
    elapsed_s: float
    """Simulated time from the first counted request to the end."""
    wrapped: int
    """Requests whose address lay beyond the device and was wrapped around."""
    settled_requests: int
    """Requests of the load that were run before those that count, until the write buffer held what it holds under
    it."""
    warmed_pages: int
    """Pages of the load that were played through the FTL alone before the run, to bring the drive to the state that
    this load leaves [logical pages]."""
    trace: HostTrace
    uncorrectable: int
    """Requests some of whose data could not be corrected."""
    until_uncorrectable: int
    """Requests completed before the first some of whose data could not be corrected."""
    given_up: int
    """Reads some of whose data was not read to the end, as they allow (read.fail_fast) [requests]."""
    refused: int
    """Writes, trims and flushes that a read-only drive refused (wear.end_of_life) [requests]."""
    buffer_hits: int
    """Page reads answered by the write buffer [logical pages]."""
    merged_writes: int
    """Page writes merged into a page that was still in the buffer [logical pages]."""
    unmapped_reads: int
    """Page reads of addresses that hold nothing [logical pages]."""
    trimmed: int
    """Pages unmapped by trims [logical pages]."""
    data_errors: HostDataErrors
    read_cache_hits: int
    """Page reads answered by the read cache (buffer.read_cache) [logical pages]."""
    past_load: float
    """Share of a plane's time that programs took under the load before the run, with age.precondition = "closed-
    form" (age.load); 1: as fast as the drive took them."""
    past_assumed: bool
    """Whether that load was assumed, since nothing is known of the workload before the run (a trace, a program)."""
    zone_reset: HostZoneReset
    trim: Requests
    flush: Requests
    task: Tasks
    load: Tasks
    kv: HostKv
    log_fs: HostLogFs
    append: HostAppend
    zone_close: HostZoneClose
    zone_finish: HostZoneFinish
    zone_open: HostZoneOpen
    zone_flush: HostZoneFlush
    zone_open_random: HostZoneOpenRandom
    zone_report: HostZoneReport


class FlashRetrySteps(Section):
    """What stands under ``flash.retry.steps``."""

    __slots__ = ()
    mean: float | None
    """Mean retry steps of the pages read."""
    min: int | None
    """Fewest retry steps of a page read."""
    p50: int | None
    """Retry steps of the pages read: 50 percentile."""
    p99: int | None
    """Retry steps of the pages read: 99 percentile."""
    max: int | None
    """Most retry steps of a page read."""


class FlashRetry(Section):
    """What stands under ``flash.retry``."""

    __slots__ = ()
    _parts: ClassVar = {"steps": FlashRetrySteps}
    steps: FlashRetrySteps
    share: float | None
    """Share of the pages read that were retried."""
    unreadable: int
    """Pages read that no sense could correct [flash pages]."""
    given_up: int
    """Pages whose retries ended early, as their host allows (read.fail_fast) [flash pages]."""
    t_pre_fallbacks: int
    """Pages whose retry failed with the RPT's tPRE and was repeated with the default one (AR2) [flash pages]."""
    speculative: float | None
    """Senses begun and not needed, over all that ended (PR2)."""
    speculative_time: float
    """Share of the dies' time spent on such senses [%]."""
    uncorrectable_transfers: int
    """Pages that left a die and could not be corrected, and sentinel cells [flash pages]."""
    set_features: int
    """SET FEATURE commands that changed the timing of senses (AR2)."""
    records_evicted: int
    """Recorded references that left for others (read.start = recorded)."""
    soft_decodings: int
    """Soft decodings of pages sensed finely (ecc.soft) [flash pages]."""
    soft_corrected: int
    """Of these, pages that were corrected [flash pages]."""
    tracked: int
    """Memory for the references that last read similar pages (read.start) [B]."""
    crc_caught: int
    """Senses whose page the decoder took for other data, as the CRC noticed [flash pages]."""


class FlashPrediction(Section):
    """What stands under ``flash.prediction``."""

    __slots__ = ()
    made: int
    """Pages predicted to be correctable or not [flash pages]."""
    failures: int
    """Of these, pages predicted not to be correctable: read again by the die, or not decoded to the end [flash
    pages]."""
    accuracy: float | None
    """Share of the predictions that were right."""


class FlashEraseLatencyNs(Section):
    """What stands under ``flash.erase.latency_ns``."""

    __slots__ = ()
    mean: float | None
    """Mean time of a block's erase without suspensions (erase.pulse)."""


class FlashEraseLoops(Section):
    """What stands under ``flash.erase.loops``."""

    __slots__ = ()
    mean: float | None
    """Mean loops of a block's erase."""


class FlashErase(Section):
    """What stands under ``flash.erase``."""

    __slots__ = ()
    _parts: ClassVar = {"latency_ns": FlashEraseLatencyNs, "loops": FlashEraseLoops}
    latency_ns: FlashEraseLatencyNs
    loops: FlashEraseLoops
    incomplete: int
    """Blocks whose erase left fail bits to the ECC."""
    mispredicted: int
    """Blocks whose last pulse was predicted too short and was followed by another."""
    exhausted: int
    """Blocks that all loops did not erase."""


class FlashSuspend(Section):
    """What stands under ``flash.suspend``."""

    __slots__ = ()
    programs: int
    """Times that programs were suspended."""
    erases: int
    """Times that erases were suspended."""
    within_pulses: int
    """Of these, within a pulse, whose rest was done later."""
    share: float | None
    """Share of the programs and erases that were suspended [%]."""
    overhead: float | None
    """Time added to those, reads served included [%]."""


class FlashFirst(Section):
    """What stands under ``flash.first``."""

    __slots__ = ()
    hastened: int
    """First senses with the RPT's tPRE (read.sensing = adaptive-first) [flash pages]."""
    repeated: int
    """Of these, senses that failed and were repeated with the default tPRE [flash pages]."""


class FlashLearned(Section):
    """What stands under ``flash.learned``."""

    __slots__ = ()
    asked: int
    """Questions of first senses that decision trees have answered (read.trees)."""
    comparisons: int
    """Comparisons of a feature with a limit that this took."""
    memory: int
    """Memory for the decision trees, 5 B a node [B]."""


class Flash(Section):
    """What the flash did."""

    __slots__ = ()
    _parts: ClassVar = {
        "retry": FlashRetry,
        "prediction": FlashPrediction,
        "erase": FlashErase,
        "suspend": FlashSuspend,
        "first": FlashFirst,
        "learned": FlashLearned,
    }
    reads: int
    """Pages read from flash [flash pages]."""
    programs: int
    """Flash pages programmed, padding included."""
    erases: int
    """Blocks erased."""
    rmw_reads: int
    """Pages read to complete partly written ones [flash pages]."""
    padding: int
    """Pages programmed empty to fill a flash page or a wordline [logical pages]."""
    cold_reads: int
    """Pages read whose data is from before the run [flash pages]."""
    read_retention_days: float | None
    """Mean retention age of the pages read, as if kept at 30 C."""
    read_pec: float | None
    """Mean P/E cycles of the pages read."""
    failed_programs: int
    """Pages whose program failed, programmed again elsewhere [logical pages]."""
    retry: FlashRetry
    prediction: FlashPrediction
    erase: FlashErase
    suspend: FlashSuspend
    first: FlashFirst
    learned: FlashLearned


class FtlWafBy(Section):
    """What stands under ``ftl.waf_by``."""

    __slots__ = ()
    host: float | None
    """The part of the write amplification due to host data."""
    padding: float | None
    """The part of the write amplification due to padding of flash pages and wordlines."""
    map: float | None
    """The part of the write amplification due to translation pages."""
    failed: float | None
    """The part of the write amplification due to programs that failed."""
    gc: float | None
    """The part of the write amplification due to garbage collection."""
    wear_levelling: float | None
    """The part of the write amplification due to static wear levelling."""
    refresh: float | None
    """The part of the write amplification due to refresh of old data."""
    read_reclaim: float | None
    """The part of the write amplification due to read reclaim."""
    bad_block: float | None
    """The part of the write amplification due to saving the data of blocks that failed."""
    fold: float | None
    """The part of the write amplification due to folding blocks of the SLC cache into the chip's own cells."""
    convert: float | None
    """The part of the write amplification due to relocating data into the SLC cache that is read often or with
    retries."""
    slc: float | None
    """The part of the write amplification due to host data in the SLC cache, which is a part of that of host data."""
    direct: float | None
    """The part of the write amplification due to host data past the SLC cache, which is the rest of that of host
    data."""
    parity: float | None
    """The part of the write amplification due to parity."""
    rescued: float | None
    """The part of the write amplification due to data programmed elsewhere because its plane had broken or it could
    not be read."""
    reset: float | None
    """The part of the write amplification due to erasing blocks of zones that were reset."""
    checkpoint: float | None
    """The part of the write amplification due to translation pages of checkpoints (mapping.checkpoint)."""
    journal: float | None
    """The part of the write amplification due to the map's journal (mapping.journal), with the lists of checkpoints."""
    cut: float | None
    """The part of the write amplification due to programs that power cuts interrupted."""


class Relocated(Section):
    """What was relocated for one reason."""

    __slots__ = ()
    blocks: int
    """Blocks whose data was relocated: garbage collection."""
    pages: int
    """Logical pages relocated: garbage collection."""


class FtlRelocatedBy(Section):
    """What stands under ``ftl.relocated_by``."""

    __slots__ = ()
    _parts: ClassVar = {
        "gc": Relocated,
        "wear_levelling": Relocated,
        "refresh": Relocated,
        "read_reclaim": Relocated,
        "bad_block": Relocated,
        "fold": Relocated,
        "convert": Relocated,
        "reset": Relocated,
    }
    gc: Relocated
    wear_levelling: Relocated
    refresh: Relocated
    read_reclaim: Relocated
    bad_block: Relocated
    fold: Relocated
    convert: Relocated
    reset: Relocated


class FtlWearErases(Section):
    """What stands under ``ftl.wear.erases``."""

    __slots__ = ()
    mean: float
    """Mean erases of a block, from the start of the run [cycles]."""
    deviation: float
    """Standard deviation of the blocks' erases, from the start of the run [cycles]."""
    min: int
    """Fewest erases of any block, from the start of the run [cycles]."""
    p50: int
    """Erases that half of the blocks do not exceed, from the start of the run [cycles]."""
    p99: int
    """Erases that 99 % of the blocks do not exceed, from the start of the run [cycles]."""
    max: int
    """Most erases of any block, from the start of the run [cycles]."""


class FtlWearEffectivePec(Section):
    """What stands under ``ftl.wear.effective_pec``."""

    __slots__ = ()
    mean: float | None
    """Mean wear of a block at the end, as P/E cycles of conventional erases that leave as much stress (erase.pulse)."""
    max: float | None
    """Largest wear of a block at the end, as P/E cycles of conventional erases that leave as much stress
    (erase.pulse)."""


class FtlWear(Section):
    """What stands under ``ftl.wear``."""

    __slots__ = ()
    _parts: ClassVar = {"erases": FtlWearErases, "effective_pec": FtlWearEffectivePec}
    pec: float
    """Mean P/E cycles of a block at the end, those before the run included."""
    erases: FtlWearErases
    effective_pec: FtlWearEffectivePec
    ended_s: float | None
    """When too few good blocks were left, from the start of the device; null where enough are (wear.end_of_life)."""
    retired: int
    """Blocks that went out of service."""


class FtlMapLearned(Section):
    """What stands under ``ftl.map.learned``."""

    __slots__ = ()
    bytes: int
    """Memory of the learned mapping table at the end; of what stands as at the start extrapolated from 1024 groups
    of 256 logical pages [B]."""
    entry_bytes: int
    """What a table with an entry (mapping.entry) for each unit takes [B]."""
    segments: int
    """Segments at the end; of what stands as at the start extrapolated from 1024 groups of 256 logical pages."""
    approximate: int
    """Approximate ones among the segments at the end; of what stands as at the start extrapolated from 1024 groups
    of 256 logical pages."""
    levels: int
    """Levels of the group of segments that has most, at the end."""


class FtlMap(Section):
    """What stands under ``ftl.map``."""

    __slots__ = ()
    _parts: ClassVar = {"learned": FtlMapLearned}
    lookups: int
    """Look-ups of host requests in the cached mapping table, or in the learned one [entries]."""
    hit_ratio: float | None
    """Share of the look-ups that found their entry in the cache, or were led to the right page by a learned table."""
    reads: int
    """Translation pages read [flash pages]."""
    programs: int
    """Translation pages programmed [logical pages]."""
    mispredictions: int
    """Look-ups that led to another page of the flash, which was read first [entries]."""
    learned: FtlMapLearned
    checkpoints: int
    """Checkpoints of the map (mapping.checkpoint)."""


class FtlSlcReadUs(Section):
    """What stands under ``ftl.slc.read_us``."""

    __slots__ = ()
    slc: float | None
    """Mean time from a host read to the data of a page from the SLC cache [us]."""
    native: float | None
    """Mean time from a host read to the data of a page from the chip's own cells [us]."""


class FtlSlc(Section):
    """What stands under ``ftl.slc``."""

    __slots__ = ()
    _parts: ClassVar = {"read_us": FtlSlcReadUs}
    writes: int
    """Pages of host data programmed into the SLC cache (ftl.slc_cache) [logical pages]."""
    direct: int
    """Pages of host data programmed past it, into the chip's own cells [logical pages]."""
    erases: int
    """Of the blocks erased, those that held data of the SLC cache or were to."""
    taken: float | None
    """Share of the pages of host data that the SLC cache took."""
    blocks: int
    """Blocks that hold data of the SLC cache or are open for it, at the end."""
    read_hits: float | None
    """Share of the pages of host reads from flash that were in the SLC cache."""
    read_us: FtlSlcReadUs
    native_cycles: float
    """Mean erases of a block as cycles of the chip's own cells (slc.wear)."""


class FtlRaid(Section):
    """What stands under ``ftl.raid``."""

    __slots__ = ()
    programs: int
    """Pages of parity programmed (ftl.raid) [logical pages]."""
    reads: int
    """Pages read to work out others, or to join another stripe before theirs is erased [flash pages]."""
    rebuilt: int
    """Pages that could not be read and were worked out of the rest of their stripes [flash pages]."""


class FtlFaults(Section):
    """What stands under ``ftl.faults``."""

    __slots__ = ()
    planes: int
    """Planes that broke (faults)."""
    blocks: int
    """Blocks that broke by themselves, with their data."""
    rescued: int
    """Pages programmed elsewhere because their plane had broken or they could not be read [logical pages]."""
    lost: int
    """Pages relocated or merged whose data could not be read: lost until they are written again [logical pages]."""


class FtlMerges(Section):
    """What stands under ``ftl.merges``."""

    __slots__ = ()
    switch: int
    """Logical blocks that were written in order to their end: the log block is the data block (ftl.mapping = fast)."""
    partial: int
    """Logical blocks whose rest was copied behind what had been written in order (ftl.mapping = fast)."""
    full: int
    """Logical blocks of which all pages were copied to an erased block (ftl.mapping = fast)."""


class Ftl(Section):
    """What the translation layer did."""

    __slots__ = ()
    _parts: ClassVar = {
        "waf_by": FtlWafBy,
        "relocated_by": FtlRelocatedBy,
        "wear": FtlWear,
        "map": FtlMap,
        "slc": FtlSlc,
        "raid": FtlRaid,
        "faults": FtlFaults,
        "merges": FtlMerges,
    }
    waf: float | None
    """Write amplification: bytes programmed over the bytes of the host writes that they hold; below 1 where data was
    written again in the buffer."""
    waf_by: FtlWafBy
    waf_before: float | None
    """Write amplification, in the long run, of the load that the drive has been through before: as its planes
    (age.precondition = closed-form) or its FTL were played, without padding; null without."""
    gc_runs: int
    """Blocks that garbage collection reclaimed."""
    pages_relocated: int
    """Logical pages relocated, for whatever reason."""
    relocated_by: FtlRelocatedBy
    gc_background_runs: int
    """Of the blocks collected, those that an idle die began."""
    copied_back: int
    """Pages relocated without crossing a bus [logical pages]."""
    victim_valid: float | None
    """Mean share of valid pages in the blocks collected."""
    victim_valid_histogram: tuple[int, ...]
    """Blocks collected by their share of valid pages, in twentieths."""
    free_blocks: int
    """Free blocks at the end."""
    free_blocks_min: int
    """Free blocks of the plane that has the fewest, at the end."""
    wear: FtlWear
    map: FtlMap
    copied_back_errors: float | None
    """Mean errors per KiB that data took along when it was copied back [errors/KiB]."""
    slc: FtlSlc
    raid: FtlRaid
    faults: FtlFaults
    merges: FtlMerges


class UsageChannel(Section):
    """What stands under ``usage.channel``."""

    __slots__ = ()
    idle: float
    """Share of a channel's time: nothing to move [%]."""
    command: float
    """Share of a channel's time: read and erase commands [%]."""
    read_data: float
    """Share of a channel's time: pages out of dies that are corrected [%]."""
    write_data: float
    """Share of a channel's time: pages into dies, the program command included [%]."""
    ecc_wait: float
    """Share of a channel's time: pages wait to leave, and the ECC engine has no room for them [%]."""
    failed_reads: float
    """Share of a channel's time: pages out of dies that cannot be corrected, and sentinel cells: they are read
    again, or lost [%]."""


class UsageDie(Section):
    """What stands under ``usage.die``."""

    __slots__ = ()
    idle: float
    """Share of a die's time: nothing to do [%]."""
    read: float
    """Share of a die's time: sensing, the read command included [%]."""
    hold: float
    """Share of a die's time: holding sensed pages that wait for the bus or leave over it [%]."""
    load: float
    """Share of a die's time: receiving the data of a program [%]."""
    program: float
    """Share of a die's time: programming [%]."""
    erase: float
    """Share of a die's time: erasing, the command included [%]."""


class Usage(Section):
    """Shares of time by cause [%]: means over channels and dies, and each of them."""

    __slots__ = ()
    _parts: ClassVar = {"channel": UsageChannel, "channels": UsageChannel, "die": UsageDie, "dies": UsageDie}
    channel: UsageChannel
    channels: tuple[UsageChannel, ...]
    """The same for each channel [%]."""
    die: UsageDie
    dies: tuple[UsageDie, ...]
    """The same for each die [%]."""
    ecc: float
    """Share of the ECC decoders' time spent decoding [%]."""
    host: float
    """Share of the time with a request in the drive [%]."""
    firmware: float
    """Share of the cores' time spent processing commands (host.t_firmware) [%]."""
    link_in: float
    """Share of the time that the link from the host was busy [%]."""
    link_out: float
    """Share of the time that the link to the host was busy [%]."""
    dram: float
    """Share of the time that the DRAM was busy [%]."""


class Energy(Section):
    """Energy by what it went into [mJ]."""

    __slots__ = ()
    sense: float
    """Energy of sensing [mJ]."""
    transfer: float
    """Energy of moving data over the channels [mJ]."""
    program: float
    """Energy of programming [mJ]."""
    erase: float
    """Energy of erasing [mJ]."""
    decode: float
    """Energy of decoding [mJ]."""
    predict: float
    """Energy of predicting whether pages can be corrected [mJ]."""
    total: float
    """Energy of all of these [mJ]."""
    speculative: float
    """The part of the sensing that was not needed (PR2) [mJ]."""
    per_read: float | None
    """Energy of sensing, prediction, transfer and decoding for each page read [uJ]."""
    per_gb: float | None
    """Energy for each GB that the host read or wrote [J/GB]."""
    mean_power: float
    """Mean power of all of these [W]."""
    held: float
    """Share of the time in which nothing could begin, since too much had been used (energy.power_states) [%]."""
    idle: float
    """Energy of the rest of the drive (energy.idle_mw) [mJ]."""


class Run(Section):
    """What was simulated."""

    __slots__ = ()
    events: int
    """Events of the simulation."""


class Process(Section):
    """What the run cost: the last section of a result, and the only one that differs between two runs."""

    __slots__ = ()
    wall_s: float
    """Wall time [s]."""
    peak_rss_bytes: int
    """Peak resident set of the process [B]."""


class Thermal(Section):
    """The drive's temperature; of drives with ``thermal.resistance``."""

    __slots__ = ()
    temperature: float
    """Temperature of the drive at the end [C]."""
    highest: float
    """Its highest temperature since the start of the device [C]."""
    light: float
    """Share of the time under light throttling [%]."""
    heavy: float
    """Share of the time under heavy throttling [%]."""


class Smart(Section):
    """The drive's health; of drives whose blocks wear out or fail."""

    __slots__ = ()
    critical_warning: int
    """Bits of NVMe's critical warning at the end: 1 little spare is left, 4 the drive is used up, 8 it is read-only."""
    available_spare: float
    """Spare blocks left at the end, of those beyond what data and collection need that the new drive had [%]."""
    available_spare_threshold: float
    """Available spare below which the drive warns (wear.spare_threshold) [%]."""
    percentage_used: float | None
    """Mean P/E cycles of a block at the end over wear.endurance; null where that is "none" [%]."""
    media_errors: int
    """Pages read, for the host or by the drive itself, that could not be corrected, since the start of the device
    [flash pages]."""


class FdpHandle(Section):
    """A placement handle: what became of the data whose writes name it."""

    __slots__ = ()
    hint: int
    written: int
    relocated: int
    waf: float | None
    filled: int
    left: int


class Fdp(Section):
    """What stands under ``fdp``."""

    __slots__ = ()
    _parts: ClassVar = {"handles": FdpHandle}
    filled: int
    """Reclaim units of handles that were written to their end."""
    left: int
    """Reclaim units that the host has left before their end."""
    invalid_handles: int
    """Writes whose hint names no handle: they went to the hint modulo ftl.hints [requests]."""
    other_group: int
    """Pages that were written to dies of another reclaim group, since their own had no room [logical pages]."""
    handles: tuple[FdpHandle, ...]
    """Of each placement handle, by the hint that names it: bytes programmed of what the host wrote, bytes of that
    data relocated, the write amplification of both, reclaim units that were written to their end, and that the
    host has left before."""


class ZonesOpened(Section):
    """What stands under ``zones.opened``."""

    __slots__ = ()
    by_writes: int
    """Zones that writes opened."""
    by_host: int
    """Zones that the host opened."""


class ZonesClosed(Section):
    """What stands under ``zones.closed``."""

    __slots__ = ()
    by_host: int
    """Zones that the host closed."""
    by_drive: int
    """Zones that the drive closed, so that another one could be opened."""


class ZonesStates(Section):
    """What stands under ``zones.states``."""

    __slots__ = ()
    conventional: int
    """Conventional zones at the end."""
    empty: int
    """Empty zones at the end."""
    implicitly_open: int
    """Implicitly open zones at the end."""
    explicitly_open: int
    """Explicitly open zones at the end."""
    closed: int
    """Closed zones at the end."""
    read_only: int
    """Read only zones at the end."""
    full: int
    """Full zones at the end."""
    offline: int
    """Offline zones at the end."""


class Zones(Section):
    """What stands under ``zones``."""

    __slots__ = ()
    _parts: ClassVar = {"opened": ZonesOpened, "closed": ZonesClosed, "states": ZonesStates}
    refused: int
    """Requests that zones, or their absence, refused: the completion has the NVMe status."""
    appends: int
    """Appends [requests]."""
    resets: int
    """Zones that held data or were open, and were reset."""
    finishes: int
    """Zones that were finished before they were written to their end."""
    opened: ZonesOpened
    closed: ZonesClosed
    padding: int
    """Pages programmed empty behind the data of zones: a part of flash.padding [logical pages]."""
    states: ZonesStates


class PowerReadyNs(Section):
    """What stands under ``power.ready_ns``."""

    __slots__ = ()
    mean: float
    """Mean time from a cut until the drive took requests again [ns]."""
    max: int
    """Longest time from a cut until the drive took requests again [ns]."""


class PowerReads(Section):
    """What stands under ``power.reads``."""

    __slots__ = ()
    headers: int
    """Pages read for recovery: first pages of blocks, which say when these were opened [flash pages]."""
    journal: int
    """Pages read for recovery: pages of the map's journal [flash pages]."""
    blocks: int
    """Pages read for recovery: pages of blocks that may have been written since [flash pages]."""
    map: int
    """Pages read for recovery: translation pages [flash pages]."""


class Power(Section):
    """Power cuts and recoveries; of runs with ``power.cut_at``."""

    __slots__ = ()
    _parts: ClassVar = {"ready_ns": PowerReadyNs, "reads": PowerReads}
    cuts: int
    """Times that the power was cut (power.cut_at)."""
    aborted: int
    """Requests that were under way then: they did not complete, and are counted nowhere else."""
    ready_ns: PowerReadyNs
    reads: PowerReads
    buffer_lost: int
    """Pages of the write buffer that were lost [logical pages]."""
    interrupted: int
    """Pages given to programs that had not ended [logical pages]."""
    torn: int
    """Pages programmed before in the wordlines of these [logical pages]."""
    half_erased: int
    """Blocks whose erase was interrupted."""
    checked: int
    """Pages that the host checked after cuts, each after each [logical pages]."""
    lost: int
    """Of these, pages whose newest acknowledged state was lost, as it may be [logical pages]."""
    reported: int
    """Of these, pages that the drive reports as lost when they are read [logical pages]."""
