"""A run in a line, from its manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ssdlab.common.numbers import binary_size, number_text, size_of

if TYPE_CHECKING:
    from ssdlab.runs.result import Result
    from ssdlab.runs.sections import Settings


def title(result: Result) -> str:
    """Device or array, scheme, workload, pace and simulated time of a run."""
    manifest = result.manifest
    work = manifest.workload
    array = result.array
    drive, capacity = manifest.device.name, manifest.device.capacity_bytes
    if array is not None:
        drive, capacity = f"{array.layout} of {array.width} drives", array.capacity_bytes
    if "trace" in work:
        what = work.trace
    elif "phases" in work:
        what = f"{sum(name.startswith('phase.') for name in work.phases)} phases"
    elif "traces" in work:
        what = " + ".join(of.trace for of in work.traces)
    elif "generator" in work:
        what = _access(work.generator, capacity)
    elif "kv" in work:
        what = f"KV cache, {work.get('prompts', f'{work.kv.number:,} generated prompts')}"
    elif "log_fs" in work:
        what = f"log-structured file system, {work.log_fs.active_logs} logs, {work.log_fs.cleaning} cleaning"
    elif "driver" in work:
        what = f"requests from {work.driver}"
    else:
        jobs = work.jobs.items()
        what = " + ".join(f"{name}: {_access(job, capacity)}" for name, job in jobs)
    scheme = f", {manifest.scheme}" if manifest.scheme else ""
    policies = manifest.get("policies", {})
    scheme += "".join(f", {axis} by {of['function']}" for axis, of in policies.items())
    seconds = f"{result.host.elapsed_s:,.3f} s simulated"
    return f"{drive}{scheme}: {what}, {_pace(manifest)}, {seconds}"


def _pace(manifest: Settings) -> str:
    """When requests come: at the times of a trace, at a generator's rate, or as others complete."""
    pace: str = manifest.replay
    job = manifest.workload.get("generator", {})
    if job.get("rate_iops", "none") == "none" or not pace.startswith("timed"):
        return pace
    rate = job["rate_iops"] * job["numjobs"]  # each copy has the rate
    return f"at {number_text(rate)}/s" if pace == "timed" else f"{pace} of {number_text(rate)}/s"


def _access(job: Settings, capacity: int) -> str:
    """What a job does, and of random accesses how they are distributed: "randread 8KiB, uniform over 480 GiB"."""
    what = f"{job.rw} {job.bs}"
    if not job.rw.startswith("rand"):
        return what
    law = {"random": "uniform", "random-once": "each block once"}.get(job.random_distribution, job.random_distribution)
    copies = job.numjobs if job.numjobs > 1 else 1
    over = (capacity - size_of(job.offset)) // copies if job.footprint == "none" else size_of(job.footprint)
    return f"{what}, {law} over {binary_size(over)}"
