"""The documentation: its examples run and say what they print, its tutorial compiles, its site builds."""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import typing
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import ssdlab
import ssdlab.trace
from pages import ROOT, blocks, edit, play, steps
from ssdlab.cli.main import commands

DOCS = ROOT / "docs"
TOLD = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
"""Pages whose commands must be valid."""
ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
TUTORIAL = ROOT / "target" / "tutorial"
"""Where the tutorial's copy of the sources lies: always there, so that cargo compiles again only what has changed."""


def test_the_python_example_of_the_overview_runs_and_its_device_answers_as_written() -> None:
    (block,) = blocks(DOCS / "overview.md", "python")
    scope: dict[str, object] = {}
    exec(block.text.replace("device.advance(1_000_000)", "completions = device.advance(1_000_000)"), scope)
    promised = re.search(r"→ \[(.*)\]", block.text)
    assert promised is not None
    completions = scope["completions"]
    assert isinstance(completions, list)
    assert [str(completion) for completion in completions] == [promised.group(1)]


def first_sentence(text: str | None) -> str:
    """The first sentence of a docstring, as Markdown in a table."""
    paragraph = " ".join((text or "").split("\n\n")[0].split())
    sentence = re.match(r"(.*?[^.]\.)(?: [A-Z`].*)?$", paragraph)
    plain = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", sentence[1] if sentence else paragraph)
    return plain.replace("``", "`").replace("|", "\\|")


def summary(directive: str, name: str) -> list[str]:
    """Rows of the table above a directive of the Python page: what it documents, in a line."""
    if directive == "automodule":
        module = importlib.import_module(name)
        listed = getattr(module, "__all__", None)
        own = [key for key, of in vars(module).items() if getattr(of, "__module__", "") == name]
        names = listed or [key for key in own if key[0] != "_"]
        of_module = f"| `{name}` | {first_sentence(module.__doc__)} |"
        return [of_module, *(row for key in sorted(names) for row in summary("", f"{name}.{key}"))]
    owner, _, key = name.rpartition(".")
    found = getattr(importlib.import_module(owner), key)
    if directive == "autodata":
        return [f"| `{name}` | one of {', '.join(f'`{word}`' for word in typing.get_args(found))} |"]
    shown = name + ("(…)" if inspect.isfunction(found) else "")
    return [f"| `{shown}` | {first_sentence(inspect.getdoc(found))} |"]


def test_the_python_page_tells_in_a_line_what_everything_is(in_page: Callable[[str, str, str], None]) -> None:
    """``--update-golden`` writes its tables again."""
    page = (DOCS / "python.md").read_text()
    told: list[object] = []
    sections = re.findall(r"<!-- ([a-z-]+) -->\n.*?<!-- end -->\n\n```\{eval-rst\}\n(.*?)```", page, re.DOTALL)
    assert len(sections) == page.count("{eval-rst}")
    for name, block in sections:
        directives = re.findall(r"^\.\. (auto\w+):: ([\w.]+)$", block, re.MULTILINE)
        owners = (documented.rpartition(".") for directive, documented in directives if directive != "automodule")
        told += [getattr(importlib.import_module(owner), key) for owner, _, key in owners]
        rows = [row for directive, documented in directives for row in summary(directive, documented)]
        in_page("python.md", name, "\n".join(["| | |", "|---|---|", *rows, ""]))
    told += [importlib.import_module(name) for name in re.findall(r"^\.\. automodule:: ([\w.]+)$", page, re.MULTILINE)]
    assert [name for name in ssdlab.__all__ if name != "__version__" and getattr(ssdlab, name) not in told] == []


def test_the_readme_is_a_screen_and_its_output_is_real() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 70
    assert max(len(line) for line in lines) <= 110
    (step,) = (step for block in blocks(ROOT / "README.md", "console") for step in steps(block) if step.shown)
    done = subprocess.run(["bash", "-c", step.command], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    shown = step.shown.splitlines()
    assert shown[-1] == "  …"
    assert done.stdout.splitlines()[: len(shown) - 1] == shown[:-1]


def test_links_lead_somewhere() -> None:
    for page in (*TOLD, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
    text = (ROOT / "README.md").read_text()
    for page, anchor in re.findall(r"\]\((docs/\w+\.md)#([^)]*)\)", text):
        headings = re.findall(r"^#+ (.*)$", (ROOT / page).read_text(), re.MULTILINE)
        named = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert anchor in named, f"README.md: {page}#{anchor}"


def test_the_words_of_a_run_are_explained_on_a_page_that_help_and_pages_name() -> None:
    glossary = (DOCS / "glossary.md").read_text()
    shown = str(ssdlab.run(requests=2000))
    heads = re.findall(r"^  (idle  .*)$", shown, re.MULTILINE)
    plain = {"idle", "read", "program", "erase", "least", "most", "command", "read data", "write data"}
    words = {word for line in heads for word in re.split(r"  +", line)} - plain
    assert words == {"data out", "load", "ecc wait", "failed reads"}
    for word in (*words, "WAF", "norr", "closed-form", "twin", "baseline", "pnar2", "P/E cycles", "knee", "front"):
        assert word in glossary, word
    for page in (ROOT / "README.md", DOCS / "guide.md", DOCS / "index.md"):
        assert "glossary.md" in page.read_text(), page
    assert "docs/glossary.md" in (commands.epilog or "")


FIU = "56 1234 nfsd 508455936 8 W 6 0 0a1b\n1055 1234 nfsd 508455944 8 R 6 0 0a1c\n"
"""Lines as that collection describes its own."""


def test_the_formats_of_public_traces_are_known(tmp_path: Path) -> None:
    page = (DOCS / "traces.md").read_text()
    formats = re.findall(r"^\| .* \| `([^`|]+)` \|$", page, re.MULTILINE)
    assert len(formats) >= 10
    known = {preset.name for preset in ssdlab.presets() if preset.kind == "format"}
    (declared,) = set(formats) - known - {"--format"}
    (tmp_path / "fiu").write_text(FIU)
    read = ssdlab.trace.read(tmp_path / "fiu", format=declared)
    assert read.select("time_ns", "op", "offset", "bytes").rows() == [
        (0, 1, 508455936 * 512, 4096),
        (999, 0, 508455944 * 512, 4096),
    ]


def test_commands_have_valid_options() -> None:
    written = [(page, step.command) for page in TOLD for block in blocks(page, "console") for step in steps(block)]
    asked = DOCS / "asked.md"
    written += [(asked, text) for text in re.findall(r"`(ssdlab [^`]+)`", asked.read_text())]
    checked = 0
    for page, text in written:
        words = shlex.split(text.removeprefix(".venv/bin/").replace("\\\n", " "), comments=True)
        if words[0] != "ssdlab":
            continue
        words = list(itertools.takewhile(lambda word: word not in ("|", "&", ">"), words[1:]))
        command: click.Command = commands
        while isinstance(command, click.Group):
            found = command.get_command(click.Context(command), words.pop(0))
            assert found, f"{page.name}: {text}"
            command = found
        command.make_context(text, words, resilient_parsing=False)
        checked += 1
    assert checked >= 55


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("index.md", 1),
        ("guide.md", 25),
        ("prototypes.md", 6),
        ("own-ftl.md", 3),
        ("traces.md", 2),
        ("scope.md", 3),
        ("media.md", 2),
        ("zones.md", 3),
        ("tour.md", 15),
    ],
)
def test_a_page_runs_and_prints_what_it_shows(
    name: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """``--update-golden`` writes the output of commands again."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert play(DOCS / name, tmp_path, update=request.config.getoption("--update-golden")) >= least


@pytest.mark.drawn
@pytest.mark.slow
def test_the_tutorials_policies_compile_and_keep_their_promises() -> None:
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("there is no cargo")
    shutil.rmtree(TUTORIAL, ignore_errors=True)
    for name in ("crates", "presets"):
        shutil.copytree(ROOT / name, TUTORIAL / name, ignore=shutil.ignore_patterns("target"))
    for name in ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "rustfmt.toml"):
        shutil.copy2(ROOT / name, TUTORIAL)
    changed = edit(DOCS / "policies.md", TUTORIAL)
    assert "crates/schemes/src/order/host_reads_first.rs" in changed
    # Warnings, such as of code that nothing uses, are errors.
    manifest = TUTORIAL / "Cargo.toml"
    lints = "[workspace.lints.rust]\n"
    assert lints in manifest.read_text()
    manifest.write_text(manifest.read_text().replace(lints, lints + 'warnings = "deny"\n'))
    # The checkout's target folder and profile: what the crates need from elsewhere has been compiled there already.
    done = subprocess.run(
        [cargo, "test", "--quiet", "--locked", "--package", "ssdlab-schemes", "--lib", "--", "--format=pretty"],
        cwd=TUTORIAL,
        env=os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for test in (
        "order::host_reads_first::tests::only_host_reads_pass_others",
        "each_policy_takes_its_block",
        "next::strided::tests::each_step_comes_once_in_strides_from_the_start_on",
    ):
        assert re.search(rf"{test} \.\.\. ok", done.stdout), done.stdout
    done = subprocess.run(
        ["rustfmt", "--check", "--edition", "2024", *(name for name in changed if name.endswith(".rs"))],
        cwd=TUTORIAL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.seldom
def test_the_site_builds_without_a_warning_and_runs_the_notebook(tmp_path: Path) -> None:
    for extra in ("sphinx", "furo", "myst_nb", "ipykernel"):
        pytest.importorskip(extra, reason="needs the extra `docs`")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-W",
            "--keep-going",
            "-q",
            "-b",
            "html",
            "-d",
            tmp_path / "trees",
            DOCS,
            tmp_path,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Seven cells show something, three of them a picture. Keys and statistics are there; keys in the text lead to them.
    notebook = (tmp_path / "notebook.html").read_text()
    assert notebook.count('class="cell_output') == 7
    assert notebook.count('src="_images/') == 3
    first = (tmp_path / "first-hour.html").read_text()
    assert first.count('class="cell_output') == 9
    assert first.count('src="_images/') == 3
    assert 'id="confval-gc.victim"' in (tmp_path / "keys.html").read_text()
    statistics = (tmp_path / "statistics.html").read_text()
    assert all(name in statistics for name in ("host.trim.requests", "host.steady.reached", "host.queue.N.iops"))
    counters = (ROOT / "crates/ssd/src/observe/stats/counters.rs").read_text()
    counted = re.findall(r'= "([a-z_]+\.[a-z_.]+)", "', counters)
    assert len(counted) > 40
    assert [name for name in (*counted, "smart.available_spare", "power.cuts") if name not in statistics] == []
    assert 'href="keys.html#confval-gc.victim"' in (tmp_path / "model-ftl.html").read_text()


@pytest.mark.parametrize("name", ["notebook", "first-hour"])
def test_notebooks_are_kept_without_outputs(name: str) -> None:
    text = (DOCS / f"{name}.ipynb").read_text()
    assert text.count('"outputs": []') == text.count('"cell_type": "code"') > 5
    assert text.count('"execution_count": null') == text.count('"cell_type": "code"')


def test_what_is_asked_elsewhere_is_answered_by_commands_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run, explanation and curve of the page, with few requests."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    found = re.findall(r"`ssdlab ((?:run|explain|curve) [^`]+)`", (DOCS / "asked.md").read_text())
    assert len(found) > 10
    for command in found:
        done = CliRunner().invoke(commands, [*shlex.split(command), "--requests", "50"])
        assert done.exception is None, f"{command}: {done.exception}\n{done.output}"
