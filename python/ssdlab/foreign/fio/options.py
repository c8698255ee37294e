"""fio's options: what becomes of each (the tables of docs/fio.md)."""

from __future__ import annotations

from ssdlab.foreign.options import Key


def _keys(*rows: tuple[str, ...]) -> list[Key]:
    keys = []
    for names, ours, default, *note in rows:
        first, *others = names.split("/")
        keys.append(Key(first, ours, note[0] if note else "", default, tuple(others)))
    return keys


TAKEN = _keys(
    ("rw/readwrite", "rw", "read", "`:N` and `rw_sequencer` are named; `trimwrite` is refused"),
    ("rwmixread", "read_ratio", "50", "of both the last one holds"),
    ("rwmixwrite", "read_ratio", "50"),
    ("bs/blocksize", "bs", "4k", "one size for both directions where they differ: the reads'"),
    ("bsrange/blocksize_range", "bs", "", "every multiple of the smallest, alike"),
    ("bssplit", "bs", "", "shares left out get what is left, in equal parts"),
    ("blockalign/ba", "align", "", "the smallest block if not given"),
    ("size", "footprint, requests", "", "% is of the drive; the whole drive if not given"),
    ("filesize", "footprint", "", "where there is no size"),
    ("io_size/io_limit", "requests", "", "over the mean block; % is of the size"),
    ("number_ios", "requests", "", "no more than the size has; behind ramp_time where a rate tells how many precede"),
    ("loops", "requests", "1", "of the size, or of number_ios; on until io_size is reached"),
    ("offset/fileoffset", "offset", "0", "% is of the drive"),
    ("offset_increment", "offset", "0", "times the number of the clone"),
    ("filename", "offset", "", "/dev/… is the drive; other files lie one behind another, each name once"),
    ("directory", "offset", "", "part of a file's name"),
    ("numjobs", "job.NAME-1, job.NAME-2, …", "1", "clones of a job with a filename share its addresses"),
    ("iodepth", "iodepth", "1", "1 with a synchronous ioengine, as in fio"),
    ("ioengine", "iodepth", "psync", "only whether it is synchronous"),
    ("rate_iops", "rate_iops, read_ratio", "", "of each direction: a mixed job's are its mix"),
    ("rate", "rate_iops, read_ratio", "", "over the mean block; not beside rate_iops"),
    ("rate_process", "arrivals", "linear", "`fixed` or `poisson`"),
    ("rate_poisson", "arrivals", "0", "rate_process=poisson, before fio 2.9"),
    ("thinktime", "thinktime", "0", "behind each completion"),
    ("random_distribution", "random_distribution", "random", "zipf and pareto without a centre"),
    ("runtime/timeout", "--duration", "", "the longest where jobs of a group differ"),
    ("time_based", "requests", "0", "without an end but runtime, which it needs"),
    ("ramp_time", "--duration", "0", "fio's layouts leave out what arrives before; the other outputs do not"),
    ("randseed", "--seed", ""),
    (
        "read_iolog",
        "--workload",
        "",
        "in a group of its own; what would shape its requests has no effect, and is named",
    ),
    ("stonewall/wait_for_previous", "", "0", "a run of its own, on a drive in its first state"),
    ("new_group", "", "0", "a reporting group of its own"),
    ("group_reporting", "", "0", "in fio's layouts"),
    ("percentile_list", "", "", "in fio's layouts; above 0 and at most 100"),
    ("description", "", "", "kept among the job options"),
    ("name", "", "", "the job's name"),
    ("kb_base", "", "1024", "of sizes that are given; the default block is 4096 B"),
)
"""The options that have a meaning here."""


IDLE = _keys(
    ("direct", "", "0", "there is no page cache"),
    ("buffered", "", "1"),
    ("norandommap", "", "0", "blocks are drawn with replacement always"),
    ("randrepeat", "", "1", "runs repeat always; `--seed`"),
    ("allrandrepeat", "", "0"),
    ("thread", "", "0", "there are neither threads nor processes"),
    ("invalidate", "", "1"),
    ("overwrite", "", "0"),
    ("create_on_open", "", "0"),
    ("fallocate", "", "native", "files are addresses"),
    ("unlink", "", "0"),
    ("nrfiles/nr_files", "", "1", "one range of addresses"),
    ("openfiles", "", ""),
    ("file_service_type", "", ""),
    ("iodepth_batch/iodepth_batch_submit", "", "1", "requests are submitted one by one"),
    ("iodepth_batch_complete_min/iodepth_batch_complete", "", "1"),
    ("iodepth_batch_complete_max", "", ""),
    ("iodepth_low", "", ""),
    ("io_submit_mode", "", "inline", "arrivals never wait for a submission"),
    ("gtod_reduce", "", "0", "time is simulated"),
    ("disable_lat", "", "0"),
    ("disable_clat", "", "0"),
    ("disable_slat", "", "0"),
    ("disable_bw_measurement/disable_bw", "", "0"),
    ("clat_percentiles", "", "1"),
    ("lat_percentiles", "", "0"),
    ("slat_percentiles", "", "0"),
    ("cpus_allowed", "", ""),
    ("cpus_allowed_policy", "", ""),
    ("numa_cpu_nodes", "", ""),
    ("numa_mem_policy", "", ""),
    ("nice", "", ""),
    ("prio", "", ""),
    ("mem/iomem", "", ""),
    ("mem_align/iomem_align", "", ""),
    ("hugepage-size", "", ""),
    ("lockmem", "", ""),
    ("refill_buffers", "", "0", "data has no content"),
    ("scramble_buffers", "", "1"),
    ("zero_buffers", "", "0"),
    ("buffer_compress_percentage", "", ""),
    ("buffer_compress_chunk", "", ""),
    ("buffer_pattern", "", ""),
    ("dedupe_percentage", "", ""),
    ("exitall_on_error", "", "0"),
    ("continue_on_error", "", ""),
    ("write_bw_log", "", "", "`--series-out`, `--requests-out`"),
    ("write_lat_log", "", ""),
    ("write_iops_log", "", ""),
    ("log_avg_msec", "", ""),
    ("bwavgtime", "", "500"),
    ("iopsavgtime", "", "500"),
    ("unit_base", "", "0"),
    ("fadvise_hint", "", "1"),
    ("fixedbufs", "", "0", "of io_uring"),
    ("hipri", "", "0"),
    ("registerfiles", "", "0"),
    ("sqthread_poll", "", "0"),
    ("userspace_reap", "", "0", "of libaio"),
    ("random_generator", "", "tausworthe", "`--seed`"),
    ("create_serialize", "", "1", "files are addresses"),
    ("lockfile", "", "none"),
    ("significant_figures", "", "4"),
    ("disk_util", "", "1"),
)
"""The options that have no effect here, whatever their value."""


SPELLINGS = {name: key.name for key in (*TAKEN, *IDLE) for name in (key.name, *key.aliases)}
