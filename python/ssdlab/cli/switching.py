"""`ssdlab run` of other tools' files, and results in their layouts. Loaded where it is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ssdlab.cli.base import options_of, say

if TYPE_CHECKING:
    from ssdlab import fio
    from ssdlab._runner import Options
    from ssdlab.cli.runs import Outputs
    from ssdlab.foreign import Part
    from ssdlab.result import Result, Runs


class Words(NamedTuple):
    """The options of `ssdlab run` that this module answers."""

    mqsim: tuple[str, str] | None
    scenarios: tuple[int, ...]
    fio: str | None
    sections: tuple[str, ...]
    write_toml: str | None
    output_format: str


def run(
    context: click.Context,
    words: Words,
    given: dict[str, Any],
    outputs: Outputs,
    repeat: int,
    threads: int | None,
    quiet: bool,
) -> None:
    """Plays the runs of other tools' files one after another, or writes them as TOML."""
    source = click.core.ParameterSource.COMMANDLINE
    said = {name for name in context.params if context.get_parameter_source(name) is source}
    _check(words, said, repeat)
    parts, imported = _load(words, given)
    if words.write_toml is not None:
        # The options that a part does not carry already.
        carried = {"workloads", *(("device", "scheme", "age", "settings") if words.fio else ())}
        _write(parts, words.write_toml, {name: given[name] for name in said & given.keys() - carried})
        return
    fio_layout = words.output_format != "table"
    results: list[Any] = []
    for number, part in enumerate(parts, 1):
        several = len(parts) > 1
        mine = _numbered(outputs, number) if several else outputs
        if part is not None and several and not quiet and not fio_layout and mine.json != "-":
            click.echo(f"\n{part.name}" if number > 1 else part.name)
        options = _options(part, given, said, mine)._replace(keep_requests=fio_layout)
        results.append(_carry_out(part, options, mine, repeat, threads, quiet or fio_layout))
    if fio_layout:
        from ssdlab import fio_output

        layout = fio_output.to_json if words.output_format == "fio-json" else fio_output.to_text
        sys.stdout.write(layout(results, imported))


def _options(part: Part | None, given: Mapping[str, Any], said: set[str], outputs: Outputs) -> Options:
    """The run of a part; what was said on the command line holds over what its files say."""
    mine = {**given, "requests_out": outputs.requests, "series_out": outputs.series}
    if part is not None:
        extra, placed = dict(part.options), part.placed()
        mine["settings"] = tuple(extra.pop("settings", given["settings"]))
        mine |= {name: value for name, value in extra.items() if name not in said}
        mine["device"] = placed.get("device", mine["device"])
        mine["workloads"] = (placed["workload"],)
    return options_of(**mine)


def _check(words: Words, said: set[str], repeat: int) -> None:
    if words.mqsim and words.fio:
        raise click.UsageError("--mqsim and --fio: give one of them")
    for option, there, owner, whose in (
        ("--scenario", words.scenarios, words.mqsim, "--mqsim"),
        ("--section", words.sections, words.fio, "--fio"),
        ("--write-toml", words.write_toml, words.mqsim or words.fio, "--mqsim or --fio"),
    ):
        if there and not owner:
            raise click.UsageError(f"{option} belongs to {whose}")
    if (words.mqsim or words.fio) and "workloads" in said:
        raise click.UsageError("--workload: the workload is in the other tool's file")
    if words.mqsim and "device" in said:
        raise click.UsageError("--device: the device is in ssdconfig.xml; --set changes it")
    if words.output_format != "table" and repeat > 1:
        raise click.UsageError("--repeat: fio's layouts hold one run")


def _load(words: Words, given: Mapping[str, Any]) -> tuple[Sequence[Part | None], fio.JobFile | None]:
    """The runs of the files, or the one that the other options ask for; notes are said."""
    if words.mqsim:
        from ssdlab import mqsim

        found = mqsim.load(*words.mqsim, scenarios=words.scenarios)
        for line in found.notes:
            say(line)
        return found.parts, None
    if words.fio is not None:
        from ssdlab import fio

        wishes = {name: given[name] for name in ("device", "scheme", "age", "settings")}
        imported = fio.load(words.fio, words.sections, **wishes)
        for line in imported.notes:
            say(line)
        return imported.parts, imported
    return (None,), None


def _write(parts: Sequence[Part | None], folder: str, said: dict[str, Any]) -> None:
    """Writes the TOML of each run, and tells the commands that play it."""
    from ssdlab.cli.base import make_folder

    for number, part in enumerate(parts, 1):
        assert part is not None, "Invariant: --write-toml needs a file"
        place = folder if len(parts) == 1 else os.path.join(folder, str(number))
        make_folder(place)
        click.echo(part.command({**part.place(place), **{name: word for name, word in said.items() if word}}))


def _carry_out(
    part: Part | None, options: Options, outputs: Outputs, repeat: int, threads: int | None, quiet: bool
) -> Result | Runs:
    """Plays a run; errors speak of the user's files."""
    from ssdlab._core import InputError
    from ssdlab.cli.runs import carry_out

    try:
        return carry_out(options, outputs, repeat, threads, quiet)
    except InputError as error:
        if part is None:
            raise
        translated = part.translated(error)
        for note in getattr(error, "__notes__", []):
            translated.add_note(note)
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
    )
