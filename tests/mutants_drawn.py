"""The mutation score of the drive's rooms `ftl`, `flash` and `power`: mistakes that a seed draws, and how many of them
the tests find out. `make mutants-drawn`; `tests/mutants_drawn.py COUNT SEED` draws others.

``mutants.py`` plants mistakes that were chosen, each with the test that has to find it out. Nobody chooses these: a
comparison, a sign or an ``and`` becomes another one, a statement or a negation is left out, or a function returns at
once. They are drawn evenly from all places of the rooms where one of these can be done. As there, one build has all
mutants; those that do not compile are not counted, and others are drawn in their place.

Each mutant is played by `soak` (random devices with every invariant), then by the unit tests around the rooms and by
the crate's other tests but those that `make quick` leaves out, one program after another, until something fails. What
takes :data:`LONGEST` times the processor time that it takes without a mutant is found out too. A mutant that outlives
all of it is played by `soak digest`: where no result differs on any device it may be equivalent.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import resource
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutants import BUILD, ROOT, SOURCES, VARIABLE, copy, slow

ROOMS = ("ftl", "flash", "power")
COUNT, SEED = 60, 1
DEVICES = 40
"""Random devices that a mutant is played on."""
DIGESTS = 400
"""Random devices whose results are compared where nothing else has found a mutant out."""
PROGRAMS = ("lib", "writes", "reads", "random", "drive")
LONGEST = 5
CASES = "8"
"""Random cases of a property test."""
UNITS = ("ftl::", "flash::", "power::", "back_end::", "device::", "zones::", "translation::")
"""Modules whose unit tests a mutant is played by."""
MOST_MEMORY = 6 << 30
"""What a mutant may take, whose collections may have no end [bytes]."""

COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
JOINED = {"&&": "||", "||": "&&"}
SUMMED = {"+": "-", "-": "+"}
MULTIPLIED = {"*": "/", "/": "*", "%": "/"}
SWAPS = COMPARED | JOINED | SUMMED | MULTIPLIED
ADDED = {"+=": "-=", "-=": "+="}
WEAKER = {
    **dict.fromkeys(COMPARED, frozenset(JOINED)),
    **dict.fromkeys(SUMMED, frozenset(JOINED | COMPARED)),
    **dict.fromkeys(MULTIPLIED, frozenset(JOINED | COMPARED | SUMMED)),
    "&&": frozenset({"||"}),
    "||": frozenset[str](),
}
"""Operators at which what another one joins ends."""
BOUNDS = frozenset(
    ["=", "=>", "+=", "-=", "*=", "/=", "|=", "&=", "return", "if", "while", "match", "in", "else", "break"]
)
WHOLE = dict.fromkeys(("u8", "u16", "u32", "u64", "usize"), ("0", "1"))
RETURNED = {**WHOLE, "bool": ("true", "false"), "f64": ("0.0", "1.0"), "()": ("",)}
OPERATOR = re.compile(r"(?<=[ \n])(==|!=|<=|>=|<|>|&&|\|\||[-+*/%])(?=[ \n])")
NEGATION = re.compile(r"(?<=[\s(])!(?=[a-z(])")
NO_CALL = r"(?:let|return|use|pub|const|static|type|fn|break|continue|if|for|match|while|loop)\b"
STATEMENT = re.compile(rf"(?<=[;{{}}]\n) +((?!{NO_CALL})[a-z*][^;{{}}]*;)\n")
FUNCTION = re.compile(r"(?<!const )\bfn (\w+)[^;{}]*?\)(?: -> ([^{};]+?))?(?:\s+where[^{};]+)?\s*\{\n")
OPENING, CLOSING = "([{", ")]}"


@dataclass(frozen=True)
class Place:
    """A mistake that can be made: the text from `start` to `end` of a file becomes `after`, in which `@` is true in the
    mutant alone."""

    file: str
    line: int
    start: int
    end: int
    after: str
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


def masked(text: str) -> str:
    """The text with blanks in place of comments, of what strings hold, of attributes and of the modules of tests."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    text = re.sub(r'//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', blank, text, flags=re.DOTALL)
    text = re.sub(r"#\[cfg\(test\)\]\s*[^\n;]*\{\n.*?\n\}\n", blank, text, flags=re.DOTALL)
    return re.sub(r"#!?\[[^\n]*\]\n", blank, text)


def operands(code: str, at: int, operator: str) -> tuple[int, int]:
    """From where to where an operator and what it joins reach."""
    ends = BOUNDS | WEAKER[operator]
    depth, start = 0, at - 1
    while start > 0 and (depth or code[start] not in "([{},;"):
        sign = code[start]
        depth += (sign in CLOSING) - (sign in OPENING)
        if not depth and sign.isspace():
            word = code[max(0, start - 80) : start].split()[-1:]
            if not word or word[0] in ends or re.search(r"[^:]:$|^\|[^|]*\|$|[(,&\w]\|[^|]*\|$|^\|\|$", word[0]):
                break
        start -= 1
    depth, end = 0, at + len(operator)
    while depth or code[end] not in ")]},;{":
        sign = code[end]
        depth += (sign in OPENING) - (sign in CLOSING)
        if not depth and sign.isspace() and code[end : end + 200].split()[0] in ends:
            break
        end += 1
    kept = code[start + 1 : end]
    start += 1 + len(kept) - len(kept.lstrip())
    return start, start + len(kept.strip())


def places(file: str, text: str) -> Iterator[Place]:
    """All mistakes that can be made in a file."""
    code = masked(text)

    def place(start: int, end: int, after: str, what: str, at: int | None = None) -> Place:
        return Place(file, text.count("\n", 0, start if at is None else at) + 1, start, end, after, what)

    for found in OPERATOR.finditer(code):
        start, end = operands(code, found.start(), found[1])
        swapped = f"{text[start : found.start()]}{SWAPS[found[1]]}{text[found.end() : end]}"
        after = f"(if @ {{ {swapped} }} else {{ {text[start:end]} }})"
        yield place(start, end, after, f"{SWAPS[found[1]]} for {found[1]}", found.start())
    for found in NEGATION.finditer(code):
        yield place(found.start(), found.end(), "(@) ^ !", "no !")
    for found in STATEMENT.finditer(code):
        start, end = found.span(1)
        yield place(start, end, f"if !(@) {{ {text[start:end]} }}", "a statement left out")
        if sign := re.search(r" ([-+]=) ", code[start:end]):
            other = ADDED[sign[1]]
            swapped = f"{text[start : start + sign.start(1)]}{other}{text[start + sign.end(1) : end]}"
            yield place(
                start, end, f"if @ {{ {swapped} }} else {{ {text[start:end]} }}", f"{ADDED[sign[1]]} for {sign[1]}"
            )
    for found in FUNCTION.finditer(code):
        name, at = found[1], found.end()
        for value in values((found[2] or "()").strip()):
            yield place(at, at, f"if @ {{ return {value}; }}\n", f"{name} returns {value or 'at once'}", found.start())


def values(kind: str) -> tuple[str, ...]:
    """What a function may return at once."""
    if kind.startswith("Option<"):
        return ("None",)
    if kind.startswith("Vec<"):
        return ("Vec::new()",)
    return RETURNED.get(kind, ())


def all_places() -> list[Place]:
    """Those of the rooms, in the order of their files."""
    return [
        place
        for room in ROOMS
        for path in sorted((ROOT / SOURCES / room).rglob("*.rs"))
        if path.name != "tests.rs" and "tests" not in path.parts
        for place in places(path.relative_to(ROOT / SOURCES).as_posix(), path.read_text())
    ]


def apart(drawn: Iterable[Place]) -> list[Place]:
    """Without those that change a text which one before them changes."""
    kept: list[Place] = []
    for place in drawn:
        if all(p.file != place.file or place.end <= p.start or p.end <= place.start for p in kept):
            kept.append(place)
    return kept


def planted(numbered: dict[int, Place]) -> tuple[dict[str, str], dict[str, list[tuple[int, int, int]]]]:
    """The files with these mistakes in; and of each, from which byte to which one it has which mistake."""
    files, spans = {}, {}
    for file in sorted({place.file for place in numbered.values()}):
        text, out, done, own = (ROOT / SOURCES / file).read_text(), "", 0, []
        for number, place in sorted(numbered.items(), key=lambda item: (item[1].start, item[1].end)):
            if place.file == file:
                out += text[done : place.start]
                changed = place.after.replace("@", f"crate::mutant() == {number}")
                own.append((len(out.encode()), len((out + changed).encode()), number))
                out, done = out + changed, place.end
        files[file], spans[file] = out + text[done:], own
    return files, spans


def cargo(source: Path, *words: str) -> tuple[bool, list[dict[str, Any]]]:
    """Whether cargo succeeds on the copy, and its messages."""
    command = ["cargo", words[0], "--quiet", "--offline", "--message-format", "json", "--package", "ssdlab-drive"]
    command += ["--target-dir", str(BUILD / "target"), *words[1:]]
    done = subprocess.run(command, cwd=source, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode == 0, [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def mistaken(
    error: dict[str, Any], files: dict[str, str], spans: dict[str, list[tuple[int, int, int]]]
) -> Iterator[int]:
    """The mistakes on the lines that an error of the compiler is about."""
    for span in error["spans"]:
        file = span["file_name"].partition(SOURCES)[2]
        if span["is_primary"] and file in files:
            content = files[file].encode()
            start = content.rfind(b"\n", 0, span["byte_start"])
            end = content.find(b"\n", span["byte_end"])
            yield from (number for first, last, number in spans[file] if first < end and start < last)


def drawn(count: int, seed: int, every: list[Place]) -> tuple[dict[int, Place], Path]:
    """The first `count` mistakes of a seed that compile, by how many were drawn up to each; and the copy with them."""
    order = random.Random(seed).sample(every, min(len(every), 3 * count))
    numbered = dict(enumerate(apart(order), 1))
    while True:
        files, spans = planted(numbered)
        fits, messages = cargo(copy(files), "check")
        errors = [row["message"] for row in messages if (row.get("message") or {}).get("level") == "error"]
        if fits:
            break
        wrong = {number for error in errors for number in mistaken(error, files, spans)}
        if not wrong:
            sys.exit("error: the copy does not compile\n" + "\n".join(error["rendered"] for error in errors))
        numbered = {number: place for number, place in numbered.items() if number not in wrong}
    numbered = dict(list(numbered.items())[:count])
    return numbered, copy(planted(numbered)[0])


def built(source: Path) -> dict[str, str]:
    """The programs of tests, and `soak`, by their names."""
    tests = [word for name in PROGRAMS for word in (["--lib"] if name == "lib" else ["--test", name])]
    programs = {}
    for words in (["test", "--no-run", *tests], ["build", "--example", "soak"]):
        fits, messages = cargo(source, *words)
        if not fits:
            sys.exit("error: the copy does not compile")
        for row in messages:
            if row.get("executable"):
                programs["lib" if "lib" in row["target"]["kind"] else row["target"]["name"]] = row["executable"]
    return programs


def play(command: list[str], number: int, source: Path, seconds: int) -> tuple[str, str, float]:
    """Why a command fails in a mutant (not at all: nothing), what it prints, and its processor time [s]."""

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, VARIABLE: str(number), "PROPTEST_CASES": CASES, "RUST_BACKTRACE": "0"}
    with subprocess.Popen(
        command,
        cwd=source / "crates" / "ssd",
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=bounded,
    ) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if failed := re.match(r"test (\S+) \.\.\. FAILED|failed: (.*)", line):
                process.kill()
                return failed[1] or failed[2], "", 0.0
        status = process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = {-24: "no end", -9: "no end", -6: "abort"}.get(status, f"status {status}") if status else ""
    return ended, "".join(lines), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(programs: dict[str, str]) -> dict[str, list[list[str]]]:
    """What a mutant is played by, in this order."""
    devices = [[programs["soak"], "seed", str(seed)] for seed in range(1, DEVICES + 1)]
    tests = {name: [[programs[name], "--test-threads=1", *slow()]] for name in PROGRAMS}
    tests["lib"][0] += UNITS
    return {"soak": devices, **tests}


def interval(found: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z, share = 1.96, found / of
    middle, half = share + z * z / (2 * of), z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return tuple(100 * (middle + side * half) / (1 + z * z / of) for side in (-1, 1))  # type: ignore[return-value]


def main() -> None:
    """Draws mutants, plays each, and prints what found it out; then the score."""
    count, seed = (int(word) for word in (sys.argv[1:] + [str(COUNT), str(SEED)][len(sys.argv) - 1 :])[:2])
    every = all_places()
    mutants, source = drawn(count, seed, every)
    programs = built(source)
    steps, limits = commands(programs), {}
    for name, each in steps.items():
        used = 0.0
        for command in each:
            failure, said, seconds = play(command, 0, source, 3600)
            used += seconds
            if failure:
                sys.exit(f"error: {name} fails without any mutant: {failure}\n{said}")
        limits[name] = 10 + int(LONGEST * used / len(each))
        print(f"{name}: {used:.0f} s without a mutant", flush=True)
    digest = [programs["soak"], "digest", str(DIGESTS)]
    _, expected, used = play(digest, 0, source, 3600)

    def outcome(number: int) -> str:
        for name, each in steps.items():
            for command in each:
                if failure := play(command, number, source, limits[name])[0]:
                    return f"{name}: {failure}"
        failure, said, _ = play(digest, number, source, 10 + int(LONGEST * used))
        differ = sum(ours != theirs for ours, theirs in zip(said.splitlines(), expected.splitlines(), strict=False))
        return f"SURVIVES; {failure or f'other results on {differ} of {DIGESTS} devices'}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = []
        for number, said in zip(mutants, pool.map(outcome, mutants), strict=True):
            outcomes.append(said)
            print(f"{number:4} {mutants[number]}: {said}", flush=True)
    found = sum("SURVIVES" not in said for said in outcomes)
    low, high = interval(found, len(outcomes))
    share, refused = 100 * found / len(outcomes), max(mutants) - len(mutants)
    print(f"{found} of {len(outcomes)} mutants are found out: {share:.0f} % (95 % interval {low:.0f} to {high:.0f} %)")
    print(
        f"seed {seed}, drawn from {len(every)} places; of those drawn {refused} did not compile, and were not counted"
    )


if __name__ == "__main__":
    main()
