"""The README's examples run, and say what they print."""

import re
import shlex
from pathlib import Path

from ssdlab import cli

ROOT = Path(__file__).parent.parent


def blocks(language: str) -> list[str]:
    """The README's code blocks in a language."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_python_example_runs_and_its_device_answers_as_written() -> None:
    (source,) = blocks("python")
    scope: dict[str, object] = {}
    exec(source.replace("device.advance(1_000_000)", "completions = device.advance(1_000_000)"), scope)
    promised = re.search(r"→ \[(.*)\]", source)
    assert promised is not None
    completions = scope["completions"]
    assert isinstance(completions, list)
    assert [str(completion) for completion in completions] == [promised.group(1)]


def test_the_commands_of_the_readme_have_valid_options() -> None:
    commands = [line for block in blocks("console") for line in block.splitlines() if ".venv/bin/ssdlab" in line]
    assert len(commands) >= 4
    for line in commands:
        words = shlex.split(line.removeprefix("$ "), comments=True)[1:]
        command = cli.commands.commands.get(words[0])
        assert command is not None, line
        command.make_context(words[0], words[1:], resilient_parsing=False)
