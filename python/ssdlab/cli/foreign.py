"""`ssdlab run` of other tools' files, and results in their layouts. Loaded where it is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ssdlab.cli.base import echo, echo_error
from ssdlab.runs.options import OPTIONS, options_of

if TYPE_CHECKING:
    from ssdlab.cli.playing import Outputs
    from ssdlab.foreign import fio
    from ssdlab.foreign.part import Part
    from ssdlab.runs.options import Options
    from ssdlab.runs.result import Result, Runs


class ForeignInputs(NamedTuple):
    """The options of `ssdlab run` that name other tools' files and layouts."""

    mqsim: tuple[str, str] | None
    scenarios: tuple[int, ...]
    fio: str | None
    sections: tuple[str, ...]
    write_toml: str | None
    output_format: str


def run(
    context: click.Context,
    asked: ForeignInputs,
    values: dict[str, Any],
    outputs: Outputs,
    repeat: int,
    threads: int | None,
    quiet: bool,
) -> list[Any]:
    """Plays the runs of other tools' files one after another, or writes them as TOML; returns the results."""
    source = click.core.ParameterSource.COMMANDLINE
    given = {name for name in context.params if context.get_parameter_source(name) is source}
    _check(asked, given, repeat, outputs)
    values = {**values, "device": values["device"] or values["checkpoint"] or OPTIONS["device"].default}
    parts, imported = _load(asked, values)
    several = len(parts) > 1
    own = [
        _numbered(outputs, part.number or position) if several and part else outputs
        for position, part in enumerate(parts, 1)
    ]
    _spare_inputs(parts, own, asked.write_toml, values)
    if asked.write_toml is not None:
        # The options that a part does not carry already.
        carried = {"workload", *(("device", "scheme", "age", "settings") if asked.fio else ())}
        _write(parts, asked.write_toml, {name: values[name] for name in given & values.keys() - carried})
        return []
    fio_layout = asked.output_format != "table"
    results: list[Any] = []
    written: list[str] = []
    for part, files in zip(parts, own, strict=True):
        title = f"{chr(10) if results else ''}{part.name}" if part is not None and several else ""
        options = _options(part, values, given, files).replace(keep_requests=fio_layout)
        results.append(_carry_out(part, options, files, repeat, threads, quiet or fio_layout, title, written))
        written += files.files(options.seed, repeat)
    if fio_layout:
        from ssdlab.cli.playing import interrupted
        from ssdlab.foreign import fio

        try:
            if asked.output_format == "fio":
                text = fio.to_text(results, imported)
            else:
                text = fio.to_json(results, imported, bins=asked.output_format == "fio-json+")
            sys.stdout.write(text)
        except KeyboardInterrupt:
            interrupted("not all was shown", written)
    return results


def _options(part: Part | None, values: Mapping[str, Any], given: set[str], outputs: Outputs) -> Options:
    """The run of a part; what is given on the command line takes precedence over its files."""
    own = {**values, **outputs.options()}
    if part is not None:
        extra, written = dict(part.options), part.write_temporarily()
        own["settings"] = tuple(extra.pop("settings", values["settings"]))
        own |= {name: value for name, value in extra.items() if name not in given}
        own["device"] = written.get("device", own["device"])
        own["workload"] = written["workload"]
    return options_of(own)


def _check(asked: ForeignInputs, given: set[str], repeat: int, outputs: Outputs) -> None:
    if asked.mqsim is not None and asked.fio is not None:
        raise click.UsageError("--mqsim and --fio: give one of them")
    for option, there, owner, whose in (
        ("--scenario", asked.scenarios, asked.mqsim, "--mqsim"),
        ("--section", asked.sections, asked.fio, "--fio"),
        ("--write-toml", asked.write_toml is not None, asked.mqsim or asked.fio, "--mqsim or --fio"),
    ):
        if there and not owner:
            raise click.UsageError(f"{option} belongs to {whose}")
    if (asked.mqsim or asked.fio) and "workload" in given:
        raise click.UsageError("--workload: the workload is in the other tool's file")
    if asked.mqsim and "device" in given:
        raise click.UsageError("--device: the device is in ssdconfig.xml; --set changes it")
    if asked.output_format != "table" and repeat > 1:
        raise click.UsageError("--repeat: fio's layouts hold one run")
    if asked.output_format != "table" and outputs.json == "-":
        raise click.UsageError("--json -: standard output gets --output-format already: give --json a file")
    idle = given & {
        "repeat",
        "threads",
        "output_format",
        *(f"{name}_out" for name in ("json", "requests", "series")),
        "timeline",
        "plot",
    }
    if asked.write_toml is not None and idle:
        option = "--" + min(idle).replace("json_out", "json").replace("_", "-")
        raise click.UsageError(f"{option}: --write-toml runs nothing: give it to the command that is printed")


def _load(asked: ForeignInputs, values: Mapping[str, Any]) -> tuple[Sequence[Part | None], fio.JobFile | None]:
    """The runs of the files, or the one that the other options ask for; notes are printed."""
    if asked.mqsim is not None:
        from ssdlab.foreign import mqsim

        found = mqsim.load(*asked.mqsim, scenarios=asked.scenarios)
        for line in found.notes:
            echo_error(line)
        return found.parts, None
    if asked.fio is not None:
        from ssdlab.foreign import fio

        drive = {name: values[name] for name in ("device", "scheme", "age", "settings")}
        imported = fio.load(asked.fio, asked.sections, **drive)
        for line in imported.notes:
            echo_error(line)
        return imported.parts, imported
    return (None,), None


def _write(parts: Sequence[Part | None], folder: str, given: dict[str, Any]) -> None:
    """Writes the TOML of each run, and prints the commands that play it."""
    from ssdlab.cli.base import make_folder

    for number, part in enumerate(parts, 1):
        assert part is not None, "Invariant: --write-toml needs a file"
        target = _folder_of(parts, number, folder)
        make_folder(target, "--write-toml")
        echo(part.command({**part.write(target), **{name: value for name, value in given.items() if value}}))


def _folder_of(parts: Sequence[Part | None], position: int, folder: str) -> str:
    """The folder of one of several runs."""
    part = parts[position - 1]
    number = part.number if part is not None and part.number else position
    return folder if len(parts) == 1 else os.path.join(folder, str(number))


def _spare_inputs(
    parts: Sequence[Part | None], outputs: Sequence[Outputs], folder: str | None, values: Mapping[str, Any]
) -> None:
    """Refuses outputs that would take the place of the user's files, those of the last run too, before the first."""
    from ssdlab.common.output import check_outputs
    from ssdlab.foreign.files import INPUTS

    inputs = (*INPUTS, values["device"], *(part.trace for part in parts if part is not None and part.trace))
    for files in outputs:
        check_outputs(files.paths(), inputs)
    for position, part in enumerate(parts, 1):
        if folder is not None and part is not None:
            for path in part.targets(_folder_of(parts, position, folder)):
                if os.path.exists(path):
                    check_outputs({"--write-toml": path}, inputs)


def _carry_out(
    part: Part | None,
    options: Options,
    outputs: Outputs,
    repeat: int,
    threads: int | None,
    quiet: bool,
    title: str,
    before: Sequence[str],
) -> Result | Runs:
    """Plays a run; errors speak of the user's files, and of what runs before it have written."""
    from ssdlab._core import InputError, SimulationError
    from ssdlab.cli.playing import carry_out

    try:
        return carry_out(options, outputs, repeat, threads, quiet, title, before)
    except (InputError, SimulationError) as error:
        translated = part.translated(error) if part is not None and isinstance(error, InputError) else error
        notes = [*getattr(error, "__notes__", []), *([f"written before: {', '.join(before)}"] if before else [])]
        if notes:
            translated.__notes__ = notes
        raise translated from None


def _numbered(outputs: Outputs, number: int) -> Outputs:
    """The files of one of several runs: ``out.json`` becomes ``out.2.json``."""

    def numbered(path: str | None) -> str | None:
        if path is None or path == "-":
            return path
        stem, suffix = os.path.splitext(path)
        return f"{stem}.{number}{suffix}"

    return outputs._replace(
        json=numbered(outputs.json),
        requests=numbered(outputs.requests),
        series=numbered(outputs.series),
        timeline=numbered(outputs.timeline),
        plot=numbered(outputs.plot),
    )
