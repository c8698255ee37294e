"""Commands that show what can be chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ssdlab._core import described_device
from ssdlab.cli.base import BAD_INPUT, commands, echo, echo_error, preset_names, run_option

if TYPE_CHECKING:
    from ssdlab.runs.catalogue import Key


@commands.command()
@click.argument("name", required=False)
def presets(name: str | None) -> None:
    """List devices, workloads, schemes and trace formats; with NAME, print what it stands for.

    \b
    ssdlab presets tlc > my.toml        # a device file to be edited
    """
    from ssdlab.common.tables import show
    from ssdlab.runs.catalogue import presets as all_presets
    from ssdlab.show.lists import of_presets

    found = all_presets()
    if name is not None:
        _print_preset(name, [(preset.name, preset.text) for preset in found])
        return
    show(of_presets(found))


def _print_preset(name: str, known: list[tuple[str, str]]) -> None:
    texts = [text for other, text in known if other == name]
    if not texts:
        from difflib import get_close_matches

        near = get_close_matches(name, [other for other, _ in known], 1)
        hint = f"did you mean `{near[0]}`?" if near else "`ssdlab presets` lists them"
        echo_error(f"error: preset `{name}`: there is no such preset\n  help: {hint}")
        raise click.exceptions.Exit(BAD_INPUT)
    print(texts[0].rstrip())


@commands.command()
@click.argument("device", metavar="[NAME|FILE]", required=False, shell_complete=preset_names("device"))
@run_option("scheme")
@run_option("settings")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--write", metavar="FILE", help="Write the device file (.toml) of a description or a preset.")
def device(*, device: str | None, as_json: bool, write: str | None, **given: Any) -> None:
    """Show a device (default: tlc) and its bounds, before any run.

    Bounds are simple formulas in the keys of the configuration: array, bus, ECC, DRAM, link, firmware. With an SLC
    cache also those past it. In a description "4 dies" are those on each channel; the key geometry.dies counts those
    in each of a channel's chips (geometry.chips).

    \b
    ssdlab device asplos21
    ssdlab device my.toml --set geometry.channels=4
    ssdlab device "2TB, 16 ch x 4 dies x 4 planes, TLC, PCIe 5 x4" --write mine.toml
    """
    from ssdlab.runs.bounds import bounds_of
    from ssdlab.runs.options import options_of

    found = bounds_of(options_of({**given, "device": device}))
    text = described_device(device or "")
    if write is not None:
        _write_device(device or "tlc", text, write)
    if as_json:
        import json

        accesses = [
            {**access._asdict(), "iops": access.iops, "bounds": [bound._asdict() for bound in access.bounds]}
            for access in found.accesses
        ]
        click.echo(json.dumps({**found._asdict(), "shape": dict(found.shape), "accesses": accesses}, indent=1))
        return
    from ssdlab.common.tables import show, wrapped
    from ssdlab.show import verdicts
    from ssdlab.show.bounds import of_bounds

    tables, footnotes = of_bounds(found)
    show(tables, footnotes, verdict=verdicts.of_device(found))
    if text is not None:
        for line in wrapped(f"assumed: {', '.join(_assumed(text)) or 'nothing but what the preset has'}"):
            echo(line)
        base = next(line.partition('"')[2].rstrip('"') for line in text.splitlines() if line.startswith("base"))
        echo(f"all else is that of the preset {base}; --write FILE writes the device file, to be changed")
    if write is not None:
        echo(f"wrote {write}")


def _assumed(text: str) -> list[str]:
    """What a described device's file has that its line does not say, each with its note."""
    found = []
    for line in text.splitlines():
        value, mark, note = line.partition(" # assumed")
        if mark and "=" in value:
            found.append(value + (f" ({note[2:]})" if note else ""))
    return found


def _write_device(device: str, text: str | None, path: str) -> None:
    """Writes a device file."""
    from ssdlab._core import InputError
    from ssdlab.common.output import check_ending, check_outputs
    from ssdlab.common.output import write as write_file

    check_ending("--write", path, (".toml",))
    check_outputs({"--write": path}, ())
    if text is None:
        from ssdlab.runs.catalogue import presets

        text = next((of.text for of in presets() if of.kind == "device" and of.name == device), None)
    if text is None:
        raise InputError(f"--write: {device} is a file already\n  help: copy it, or describe a device in a line")
    write_file(path, text.encode())


@commands.command()
@click.argument("section", required=False)
def schema(section: str | None) -> None:
    """List every configuration key (of SECTION): meaning, accepted values, default of a bare device.

    \b
    ssdlab schema gc
    """
    keys = _keys(section)
    shown = None
    for key in keys:
        if key.section != shown:
            print(f"{'' if shown is None else chr(10)}[{key.section}]  {key.section_about}")
            shown = key.section
        print(f"  {key.key} = {key.default}")
        print(f"      {key.about}")
        print(f"      {key.accepts}")


def _keys(section: str | None) -> list[Key]:
    from ssdlab.runs.catalogue import schema as all_keys

    keys = all_keys()
    known = list(dict.fromkeys(key.section for key in keys))
    if section is not None and section not in known:
        echo_error(f"error: section `{section}`: there is no such section\n  help: the sections are {', '.join(known)}")
        raise click.exceptions.Exit(BAD_INPUT)
    return [key for key in keys if section in (None, key.section)]


@commands.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes a shell complete commands, options and presets.

    \b
    eval "$(ssdlab completion bash)"                                       # in ~/.bashrc; zsh: in ~/.zshrc
    ssdlab completion fish > ~/.config/fish/completions/ssdlab.fish
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None, "Invariant: click completes these shells"
    # Not found.source(): of bash it asks for the version first, which need not be the one that will read it.
    complete = found(commands, {}, "ssdlab", "_SSDLAB_COMPLETE")
    click.echo(complete.source_template % complete.source_vars())
