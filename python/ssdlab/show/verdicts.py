"""What came out, in a sentence with its numbers: it stands above the tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ssdlab.common.numbers import decimal_size, number_text, percent_text, three_digits, time_text, value_text
from ssdlab.common.wording import cause_words, listed, phrase

if TYPE_CHECKING:
    import polars

    from ssdlab.chip.lifetime import Endurance
    from ssdlab.devices.fitting import Fit
    from ssdlab.faults.campaign import Found
    from ssdlab.lives.clusters import Clusters, TwinError
    from ssdlab.runs.bounds import DeviceBounds
    from ssdlab.runs.explain import Explanation
    from ssdlab.runs.result import Result, Runs
    from ssdlab.runs.statistics import Requests, Tasks
    from ssdlab.runs.tail import Tail
    from ssdlab.searches.campaign import SearchResult
    from ssdlab.study.claims import Verdict
    from ssdlab.sweeps.campaign import FailedCase
    from ssdlab.trace.fit.properties import Property


def of_run(result: Result) -> str:
    """A run: how much the drive did, and how long requests took."""
    host = result.host
    name = result.manifest.device.name
    if result.array is not None:
        name = f"{result.array.layout} of {result.array.width} drives"
    if not host.all.requests:
        return f"{name} completed no request that was measured."
    parts = [
        _served(of, kind, first=number == 0)
        for number, (kind, of) in enumerate(
            (kind, of) for kind, of in (("read", host.read), ("write", host.write)) if of.requests
        )
    ]
    sentence = f"{name} served {_rate(host.all.iops, host.all.bandwidth_mb_s)}"
    return (f"{sentence}: {'; '.join(parts)}." if parts else f"{sentence}.") + _tasks(result)


def _tasks(result: Result) -> str:
    """How long what the workload waits for as a whole took."""
    host = result.host
    if "task" not in host:
        return ""
    if "kv" not in result.manifest.workload:
        return f" {_served(host.task, 'task', first=True).capitalize()}."
    kv = host.kv
    parts = {"loading": kv.load_ns, "waiting for the engine": kv.wait_ns, "computing": kv.compute_ns}
    manifest = result.manifest
    if manifest["warmup"] or manifest["until_steady"] is not None or host.get("settled_requests"):
        parts = {}  # they are of all prompts, and would not add up to what those take that count
    where = ": " + ", ".join(f"{what} {time_text(mean)}" for what, mean in parts.items()) if parts else ""
    known = 100 * (kv.tokens_from_memory + kv.tokens_from_drive) / max(kv.tokens, 1)
    first = _served(host.task, "first token", first=True).removeprefix("a ")
    return f" A prompt's {first}{where}; {known:.0f} % of the tokens were known."


def _served(of: Requests | Tasks, kind: str, *, first: bool) -> str:
    from ssdlab.show.runs import FEW, count_of, says_little

    latency, count = of.latency_ns, count_of(of)
    text = f"a {kind} took {time_text(latency.mean)}" + (" on average" if first and count > 1 else "")
    if count < FEW:
        text += f" ({number_text(count)} {'was' if count == 1 else 'were'} measured)"
    if count == 1:
        return text
    if says_little(count, 0.99):
        return f"{text}, the longest {time_text(latency.max)}"
    return f"{text}, one in 100 longer than {time_text(latency.p99)}"


def _rate(iops: float, bandwidth: float) -> str:
    return f"{number_text(round(iops) if iops >= 100 else iops)} requests/s ({number_text(round(bandwidth))} MB/s)"


def of_runs(runs: Runs) -> str:
    """Repeats: means with their confidence intervals."""
    found = {name: (mean, ci95) for name, mean, ci95, _, _ in runs.intervals()}
    kind = "read" if found["host.read.requests"][0] else "all"
    names = [f"host.{kind}.latency_ns.{key}" for key in ("mean", "p99")]
    texts = [f"{phrase(name)} {value_text(name, *found[name])}" for name in names if found[name][0] is not None]
    rate = value_text("host.all.iops", *found["host.all.iops"])
    alike = not any(found[name][1] for name in ("host.all.iops", *names))
    told = "the same with every seed" if alike else "± 95 % confidence interval"
    return f"{len(runs)} seeds: {rate} requests/s; {', '.join(texts)} ({told})."


def of_device(found: DeviceBounds) -> str:
    """A device before any run: what it holds, and what it can do at most."""
    parts = []
    for access in found.accesses:
        kind, past, where = access.what.partition(" past ")
        if kind.startswith("random read "):
            amount = f"{number_text(round(access.iops))} random reads/s of {kind.removeprefix('random read ')}"
        else:
            amount = f"{kind}s of {_bandwidth(access.bandwidth_mb_s)}"
        parts.append(f"{amount}{past}{where} ({access.bounds[0].resource})")
    lone = next((access.lone_ns for access in found.accesses if access.lone_ns is not None), None)
    sentence = f"{found.name} holds {decimal_size(found.capacity_bytes)} and does at most {listed(parts, len(parts))}"
    return sentence + (f"; a lone read takes {time_text(lone)}." if lone is not None else ".")


def _bandwidth(mb_s: float) -> str:
    return f"{three_digits(mb_s / 1e3)} GB/s" if mb_s >= 1e3 else f"{three_digits(mb_s)} MB/s"


def of_fit(found: Fit) -> str:
    """A fitted device: how near its figures come to what was measured, and what the figures leave open."""
    fitted = [each for each in found.figures if each.fitted and each.counted]
    name = found.space.device
    if not fitted:
        return f"{name}: no figure was fitted."
    typical = sorted(abs(each.error) for each in fitted)[len(fitted) // 2]
    worst = max(fitted, key=lambda each: abs(each.error))
    sentence = (
        f"The fitted drive, on {name}'s model, comes within {percent_text(typical)} of half of the "
        f"{len(fitted)} figures that it was fitted to; furthest off is {worst.figure.name.replace('_', '.')} of "
        f"{worst.job.name} ({100 * worst.error:+.1f} %)"
    )
    if held := [each for each in found.figures if not each.fitted and each.determined]:
        typical = sorted(abs(each.error) for each in held)[len(held) // 2]
        sentence += f"; within {percent_text(typical)} of half of the {len(held)} that it has not seen"
    open_ = [each.name for each in found.estimates if not each.seen]
    if open_:
        sentence += f". The jobs say nothing of {listed(open_)}"
    return sentence + "."


def of_sweep(table: polars.DataFrame, metric: str) -> str:
    """A sweep: between which values a statistic lies, where, and which axis moves it most."""
    import polars

    from ssdlab.sweeps.comparison import moved_by
    from ssdlab.sweeps.table import axes_of

    axes = [axis for axis in axes_of(table) if table[axis].n_unique() > 1]
    found = table.filter(polars.col(metric).is_not_null()).sort(metric, maintain_order=True)
    if not found.height:
        return f"No case has a {phrase(metric)}: see which failed."
    low, high = found.row(0, named=True), found.row(-1, named=True)
    if low[metric] == high[metric]:
        count = f"All {found.height:,} cases have" if found.height > 1 else "The case has"
        return f"{count} the same {phrase(metric)}, {value_text(metric, low[metric])}."
    ends = [f"{value_text(metric, row[metric])} ({_place(row, axes)})" for row in (low, high)]
    sentence = f"Over {found.height:,} cases, {phrase(metric)} goes from {ends[0]} to {ends[1]}"
    moved = sorted(((moved_by(found, axis, metric), axis) for axis in axes), reverse=True)
    if len(moved) > 1 and moved[0][0] > 1.0:
        if moved[0][0] < math.inf:
            sentence += f"; {moved[0][1]} moves it most, by a factor of {moved[0][0]:.3g}"
        if idle := [(axis, factor) for factor, axis in moved if factor < IDLE and axis != "seed"]:
            sentence += f"; {unmoved(idle)}"
    return sentence + "."


def of_failed(failed: Sequence[FailedCase], cases: int) -> list[str]:
    """Cases of a sweep that failed, by what stopped them: a line each, the first case named."""
    causes: dict[str, list[FailedCase]] = {}
    for case in failed:
        causes.setdefault(case.error, []).append(case)
    lines = []
    for error, of in causes.items():
        labels = ", ".join(f"{axis} {label}" for axis, label in of[0].labels.items())
        first = f"the first: {labels}" if len(of) > 1 else labels
        lines.append(f"failed: {len(of):,} of {cases:,} cases ({first}): {error}")
    return lines


IDLE = 1.005
"""An axis whose labels' means differ by less changes nothing that is worth a word (assumed)."""


def unmoved(axes: Sequence[tuple[str, float]]) -> str:
    """Axes that change nothing, or little, with the factor by which their labels' means differ at most: "bs changes
    nothing, qd (0.1 %) hardly moves it"."""
    nothing = [axis for axis, factor in axes if factor == 1.0]
    little = [f"{axis} ({percent_text(factor - 1.0)})" for axis, factor in axes if factor != 1.0]
    parts = [f"{listed(nothing)} {'changes' if len(nothing) == 1 else 'change'} nothing"] if nothing else []
    parts += [f"{listed(little)} hardly {'moves' if len(little) == 1 else 'move'} it"] if little else []
    return ", ".join(parts)


def shares_text(axes: Mapping[str, float]) -> str:
    """Axes with their shares of all differences [%], less than :data:`ssdlab.common.effects.LEAST_SHARE`."""
    return ", ".join(
        f"{axis} ({'nothing at all' if share < 1e-6 else f'{share:.1f} %'})" for axis, share in axes.items()
    )


def _place(row: Mapping[str, Any], axes: Sequence[str]) -> str:
    """Labels of a row: seeds are named where nothing else is."""
    return ", ".join(f"{axis} {row[axis]}" for axis in axes if axis != "seed" or len(axes) == 1)


def of_explained(found: Sequence[Explanation]) -> str:
    """Explained requests: how long they took, and what took most of it."""
    if not found:
        return "No request was explained."
    took: dict[str, int] = {}
    for each in found:
        for stage in each.stages:
            name = stage_name(stage.what, stage.step > 0)
            took[name] = took.get(name, 0) + stage.took_ns
    whole = sum(each.latency_ns for each in found)
    name, most = max(took.items(), key=lambda item: item[1], default=("nothing", 0))
    if len(found) == 1:
        first = f"Request {found[0].request:,}, a {found[0].op}, took {time_text(found[0].latency_ns)}"
    else:
        ends = sorted(each.latency_ns for each in found)
        first = f"These {len(found):,} requests took {time_text(ends[0])} to {time_text(ends[-1])}"
    return f"{first}, {percent_text(most / max(1, whole))} of it {name}."


def of_tail(found: Tail) -> str:
    """Slow reads: how long they took beside others, and what made the difference."""
    many = f"{found.reads:,} of {found.of_reads:,} reads took longer than {time_text(found.threshold_ns)}"
    if not found.stages:
        return f"{many}."
    stage = max(found.stages, key=lambda each: each.mean_ns - each.median_mean_ns)
    longer = found.mean_ns - found.median_mean_ns
    if longer <= 0.0:
        return f"{many}, no longer than the others."
    share = percent_text(min(1.0, (stage.mean_ns - stage.median_mean_ns) / longer))
    causes = sorted(stage.die.items(), key=lambda item: -item[1])
    while_ = f" (while its die did: {cause_words(causes[0][0])})" if causes and causes[0][1] > stage.mean_ns / 4 else ""
    return (
        f"{many}, on average {time_text(longer)} longer than a usual one: {share} of that is "
        f"{stage_name(stage.what, stage.retry)}{while_}."
    )


_STAGES = {
    "host queue": "waiting in the host's queue",
    "firmware": "the controller's firmware",
    "map": "looking up the map",
    "die": "waiting for its die",
    "command": "sending the command",
    "sense": "sensing the page",
    "bus": "waiting for the channel",
    "transfer": "moving data over the channel",
    "ecc": "waiting for the ECC engine",
    "decode": "decoding",
    "send": "sending data to the host",
    "buffer": "waiting for the write buffer",
    "receive": "receiving data from the host",
    "store": "storing data in the buffer",
    "program": "programming",
}


def stage_name(what: str, retry: bool) -> str:
    """A stage of a request in words."""
    return _STAGES.get(what, what) + (" again, in read retries" if retry else "")


_OUTCOMES = {
    "infeasible": "breaking a constraint",
    "marked": "left out for the warnings of their results",
    "unplayed": "not run to their end",
    "dropped": "dropped, surely behind in short runs",
    "failed": "failed",
    "refused": "refused",
}
"""What becomes of the candidates of a search that are not on its front."""


def _no_front(found: SearchResult) -> str:
    """A search without a front: what became of all candidates, and what helps where the budget was spent."""
    counts = found.counts()
    parts = [f"{counts[state]:,} {what}" for state, what in _OUTCOMES.items() if state in counts]
    text = f"None of {found.candidates.height:,} configurations is on the front: {listed(parts)}."
    if "unplayed" not in counts or any(warning.id == "interrupted" for warning in found.warnings):
        return text
    search = found.search
    needed = sum(search.cost(rung) for rung in range(len(search.rungs)))
    limit = f"{search.budget:g} CPU hours" if search.hours else f"{search.budget:g} full cases"
    return (
        f"{text} The budget of {limit} brings no other one to its end: raise budget; one configuration takes "
        f"{needed:g} full cases."
    )


def of_search(found: SearchResult) -> str:
    """A search: how many are best, and the best of each objective."""
    counts = found.counts()
    total = found.candidates.height
    refused = counts.get("refused", 0)
    out = f"; {refused:,} {'was' if refused == 1 else 'were'} refused" if refused else ""
    if not found.front.height:
        return _no_front(found)
    shared, axes = found.axes_of_front()
    best = []
    for each in found.search.objectives:
        rows = found.front.drop_nulls(each.name).sort(each.name, descending=each.goal == "max")
        if rows.height:
            row = rows.row(0, named=True)
            value = value_text(each.statistic, row[each.name], row[f"{each.name}_ci95"])
            what = "highest" if each.goal == "max" else "lowest"
            name = phrase(each.name) if each.name == each.statistic else each.name
            text = f"{what} {name} {value}" + (f" with {_place(row, axes)}" if axes else "")
            if found.given is not None and (known := found.given[each.name]) is not None:
                text += f" (as given: {value_text(each.statistic, known, found.given[f'{each.name}_ci95'])})"
            best.append(text)
    alike = "is" if found.front.height == 1 else "are"
    first = f"{found.front.height:,} of {total:,} configurations {alike} not surely beaten by any other{out}"
    common = f" All have {_place(shared, list(shared))}." if shared else ""
    return f"{first}: {'; '.join(best)}.{common}"


def of_campaign(found: Found) -> str:
    """A campaign of faults: whether anything acknowledged was lost against a promise."""
    counts = found.counts()["", "all"]
    cases = sum(counts.values())
    failed = counts["failed"]
    if failed:
        return f"{failed:,} of {cases:,} cases failed: a promise, or a law of the simulator, was broken."
    kept = counts["kept"] + counts["unharmed"]
    others = {
        "lost": "lost data that the configuration does not protect",
        "reported": "lost data and reported it as read errors",
        "ended": "ended the drive's life",
        "refused": "were refused",
    }
    rest = [f"{counts[name]:,} {text}" for name, text in others.items() if counts[name]]
    more = f"; {listed(rest)}" if rest else ""
    return f"No promise was broken in {cases:,} cases: {kept:,} kept everything that was acknowledged{more}."


def of_lives(
    cycles: Mapping[str, float | None], requirement: float, drives: Mapping[str, Endurance | None] | None
) -> str:
    """Lifetimes: which erase scheme's blocks live longest, and by how much."""
    known = {name: life for name, life in cycles.items() if life is not None}
    if not known:
        return (
            f"No scheme's blocks reach {number_text(requirement)} errors per KiB within the cycles that were looked at."
        )
    if beyond := [name for name in cycles if name not in known]:
        return f"Blocks live longest under {listed(beyond)}: beyond the cycles that were looked at."
    first = next(iter(known))
    best = max(known, key=lambda name: known[name])
    if not known[best]:
        return f"Fresh blocks have {number_text(requirement)} errors per KiB or more under every scheme."
    alike = [name for name in known if known[name] == known[best]]
    text = f"Blocks live longest under {listed(alike)}: {number_text(round(known[best]))} P/E cycles"
    if best != first and known[first]:
        text += f", {percent_text(known[best] / known[first] - 1)} more than under {first}"
    if drives is not None and (drive := drives.get(best)) is not None:
        text += f"; the drive takes {number_text(round(drive.terabytes))} TB of writes, {drive.years:.1f} years"
    return text + "."


def of_trace(info: Mapping[str, Any]) -> str:
    """A trace: how much it asks for, of what, and over how much (see :func:`ssdlab.trace.info`)."""
    read = info["read_ratio"]
    iops = info["iops"]
    rate = "" if iops is None else f", {number_text(round(iops) if iops >= 100 else round(iops, 1))} a second"
    touched = info["footprint_bytes"]
    parts = [f"{percent_text(read)} of them reads"] if read is not None else []
    parts.append(f"they touch {decimal_size(touched) if touched >= 1e6 else f'{touched / 1e3:.3g} kB'}")
    if info["sequential_ratio"]:
        parts.append(f"{percent_text(info['sequential_ratio'])} follow the one before")
    duration = time_text(1e9 * info["duration_s"])
    return f"{info['requests']:,} requests in {duration}{rate}: {', '.join(parts)}."


NEAR = 0.1
"""A generator that differs from its trace by less has the property (as `trace fit --check` takes latencies)."""


def of_imitation(rows: Sequence[Property]) -> str:
    """A generator fitted to a trace: how many of the trace's properties it has, and which one is furthest off."""
    near = [row for row in rows if abs(row.ratio - 1.0) <= NEAR]
    sentence = f"The generator has {len(near)} of {len(rows)} properties of the trace within {percent_text(NEAR)}"
    worst = max(rows, key=lambda row: abs(math.log(row.ratio)) if row.ratio > 0.0 else math.inf)
    if len(near) < len(rows):
        sentence += f"; furthest off is {worst.name}, {worst.ratio:.2f} times the trace's"
    return sentence + "."


def of_volumes(found: Clusters, errors: Sequence[TwinError]) -> str:
    """Volumes in clusters: how many, how well they separate, and how far their twins are from them."""
    count = sum(len(of.volumes) for of in found.clusters)
    clusters = len(found.clusters)
    sentence = f"{count:,} volumes are in {clusters} {'cluster' if clusters == 1 else 'clusters'}"
    if found.silhouette is not None:
        sentence += f" (mean silhouette {found.silhouette:.2f}: 1 is well apart, 0 is no cluster)"
    near = [of for of in errors if of.own_median <= (NEAR / 2 if of.points else NEAR)]
    return (
        f"{sentence}. In {len(near)} of {len(errors)} properties half of the volumes' own twins are within "
        f"{percent_text(NEAR)} (shares: {100 * NEAR / 2:g} points)."
    )


def of_claims(id: str, verdicts: Sequence[Verdict]) -> str:
    """Claims of a study: how many of those that were measured are within their accepted range, and which are not."""
    measured = [each for each in verdicts if each.passed is not None]
    failing = [each.claim.id for each in measured if not each.passed]
    text = f"{id}: {len(measured) - len(failing):,} of {len(measured):,} measured claims are within the accepted range"
    if failing:
        text += f"; not {listed(failing)}"
    absent = len(verdicts) - len(measured)
    return text + (f"; {absent:,} were not measured." if absent else ".")
