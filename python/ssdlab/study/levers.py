"""Levers: whether a predicted claim rests on what it says it rests on.

A claim that nothing can move proves nothing. Each predicted claim of a study therefore names levers
(:class:`ssdlab.study.Lever`): keys of the drive or constants of the virtual chip by 20 %, or a scheme that is
replaced. A :class:`Bench` measures the claims of one function of a ``study.py`` as ``ssdlab study run`` and
``ssdlab study claims`` do (cases of the sweeps are played, tables computed, claims read from them), with and without
a lever, on the small runs that the study's ``BRIEF`` describes::

    BRIEF = {
        "systems": {"requests": 400, "workload": ["stg_0"], "seed": [1]},   # a sweep: options, and labels of its axes
        "": {"WORDS": 200},                                                 # names in study.py
    }
"""

from __future__ import annotations

import csv
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.runs.manifest import key_of_text
from ssdlab.runs.options import Options, options_of
from ssdlab.runs.runner import play
from ssdlab.runs.simulation import open_simulation

if TYPE_CHECKING:
    from types import ModuleType

    import polars

    from ssdlab._core import Chip
    from ssdlab.study.claims import Claim, Lever, Measured, Measuring
    from ssdlab.study.folder import Study

POPULATION = 4, 12
"""Chips and blocks of each in a brief run, at most."""

LEAST_MOVE = 0.01
"""By how much of its accepted range's width a claim must move, at least."""


class Moved(NamedTuple):
    """What a lever did to a claim, on brief runs."""

    claim: Claim
    lever: Lever
    before: float | None
    after: float | None

    @property
    def enough(self) -> bool:
        """Whether the claim has moved."""
        if self.before is None:
            return False
        if self.after is None:
            return True
        low, high = self.claim.accept
        return abs(self.after - self.before) > max(LEAST_MOVE * (high - low), 1e-9)

    def __str__(self) -> str:
        return f"{self.claim.id}: {self.before} -> {self.after} under {self.lever}"


class Bench:
    """A study on brief runs. What has been played is kept: a lever that leaves a case alone costs nothing there."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._rows: dict[str, dict[str, Any]] = {}
        self._folder = tempfile.TemporaryDirectory()

    def measure(self, name: str, lever: Lever | None = None) -> dict[str, Measured]:
        """What the function called so measures, with a lever pulled."""
        module = self.study._module()
        assert module is not None
        with self._pulled(module, lever) as pull:
            function: Measuring = getattr(module, name)
            return function(_Tables(self, module, pull))

    def moves(
        self, wanted: Callable[[str, Lever], bool] = lambda id, lever: True, function: str | None = None
    ) -> Iterator[Moved]:
        """What every lever of the study's predicted claims does, or of those that one function measures; ``wanted``
        chooses claims and levers."""
        from ssdlab.study.claims import Predicted
        from ssdlab.study.folder import measuring

        module = self.study._module()
        assert module is not None
        claims = {claim.id: claim for claim in self.study.claims}
        for measured in measuring(module):
            name = measured.__name__
            levers: dict[Lever, list[str]] = {}
            for id, proof in measured.proofs.items():
                for lever in proof.levers if isinstance(proof, Predicted) else ():
                    if wanted(id, lever):
                        levers.setdefault(lever, []).append(id)
            if not levers or function not in (None, name):
                continue
            before = self.measure(name)
            for lever, ids in levers.items():
                after = self.measure(name, lever)
                for id in ids:
                    yield Moved(claims[id], lever, before[id].value, after[id].value)

    @contextmanager
    def _pulled(self, module: ModuleType, lever: Lever | None) -> Iterator[_Pull]:
        """Makes a ``study.py`` play under a lever: its names ``load`` and ``ssdlab`` give chips and drives."""
        from ssdlab.chip import characterize, lifetime
        from ssdlab.runs.api import run as run_as_is
        from ssdlab.runs.device import Device

        pull = _Pull(lever, Path(self._folder.name), getattr(module, "CHIP", None))
        for name, value in getattr(module, "BRIEF", {}).get("", {}).items():
            setattr(module, name, value)
        if lever is not None and lever.kind == "name":
            if not hasattr(module, lever.name):
                raise InputError(f"{self.study.folder / 'study.py'}: has no {lever.name}\n  help: name what is there")
            setattr(module, lever.name, lever.to)

        def load(chip: str, *, chips: int = 160, blocks: int = 120, seed: int = 1) -> Chip:
            most = POPULATION
            return characterize.load(pull.chip(chip), chips=min(chips, most[0]), blocks=min(blocks, most[1]), seed=seed)

        def run(
            device: str, workload: Any = "default", *, scheme: Any = None, settings: Any = None, **options: Any
        ) -> Any:
            scheme, settings = pull.drive(device, scheme, settings, options.get("age"))
            return run_as_is(device, workload, scheme=scheme, settings=settings, **options)

        def device(name: str = "tlc", *, scheme: Any = None, settings: Any = None, **options: Any) -> Any:
            scheme, settings = pull.drive(name, scheme, settings, options.get("age"))
            return Device(name, scheme=scheme, settings=settings, **options)

        if hasattr(module, "load"):
            module.load = load  # type: ignore[attr-defined]
        if hasattr(module, "ssdlab"):
            module.ssdlab = _Namespace(module.ssdlab, run, device)  # type: ignore[attr-defined]
        # Lives of blocks are not runs: they know the schemes by this table.
        known = dict(lifetime.SCHEMES)
        if lever is not None and lever.kind == "scheme" and {lever.name, lever.to} <= known.keys():
            lifetime.SCHEMES[lever.name] = known[str(lever.to)]
        try:
            yield pull
        finally:
            lifetime.SCHEMES.update(known)

    def table(self, module: ModuleType, name: str, pull: _Pull) -> polars.DataFrame:
        """A table of the study: computed, or of a sweep's brief cases; as it would be read from its file."""
        import io

        import polars

        computed, text = getattr(module, "TABLES", {}), io.StringIO()
        if name in computed:
            computed[name](None).write_csv(text)
        else:
            rows = self._sweep(name, getattr(module, "BRIEF", {}), pull)
            writer = csv.DictWriter(text, list(dict.fromkeys(column for row in rows for column in row)))
            writer.writeheader()
            writer.writerows(rows)
        text.seek(0)
        return polars.read_csv(text, infer_schema_length=None)

    def _sweep(self, name: str, briefs: Mapping[str, Mapping[str, Any]], pull: _Pull) -> list[dict[str, Any]]:
        from ssdlab.sweeps.spec import Sweep

        sweep, brief = Sweep.read(self.study.sweeps[name]), dict(briefs.get(name, {}))
        chosen = {axis: brief.pop(axis) for axis in list(brief) if axis in sweep.axes}
        unknown = [
            f"{axis} {label}" for axis, labels in chosen.items() for label in labels if label not in sweep.axes[axis]
        ]
        if unknown:
            raise InputError(
                f"{self.study.folder / 'study.py'}: BRIEF of {name}: {', '.join(unknown)}: not on the axis"
            )
        changed = {name: brief.pop(name) for name in ("requests", "warmup") if name in brief}
        settings = tuple(f"{key}={value}" for key, value in brief.items())
        rows = []
        for case in sweep._replace(quick=chosen).cases(quick=True):
            options = case.options.replace(**changed, settings=(*case.options.settings, *settings))
            warm = None if case.warm is None else case.warm.replace(settings=(*case.warm.settings, *settings))
            rows.append({**case.labels, **self._play(pull.options(options), warm and pull.options(warm))})
        return rows

    def _play(self, options: Options, warm: Options | None) -> dict[str, Any]:
        if warm is not None:
            from ssdlab.sweeps.cache import Cache
            from ssdlab.sweeps.warm import state_of

            state = state_of(warm, Cache(Path(self._folder.name) / "warm"))
            if state.error:
                raise InputError(state.error)
            options = options.replace(checkpoint=state.path)
        simulation = open_simulation(options)
        key = key_of_text(simulation.manifest)
        if key not in self._rows:
            result = play(options, simulation=simulation)
            self._rows[key] = {name: value for name, value, _, _ in result.scalars() if not name.startswith("run.")}
        return {"case": key[:12], **self._rows[key]}


class _Tables(Mapping[str, "polars.DataFrame"]):
    """A study's tables, each made when it is asked for."""

    def __init__(self, bench: Bench, module: ModuleType, pull: _Pull) -> None:
        self._bench, self._module, self._pull = bench, module, pull
        self._made: dict[str, polars.DataFrame] = {}

    def __getitem__(self, name: str) -> polars.DataFrame:
        if name not in self._made:
            self._made[name] = self._bench.table(self._module, name, self._pull)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._bench.study.sweeps, *getattr(self._module, "TABLES", {})])

    def __len__(self) -> int:
        return len(list(iter(self)))


class _Namespace:
    """The package, but for runs and devices."""

    def __init__(self, package: ModuleType, run: Any, device: Any) -> None:
        self._package = package
        self.run, self.Device = run, device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._package, name)


class _Pull:
    """What a lever makes of chips and drives."""

    def __init__(self, lever: Lever | None, folder: Path, chip: str | None) -> None:
        self._lever = lever
        self._folder = folder
        self._chip = chip

    def chip(self, name: str) -> str:
        """The preset, or a file with the levered constant."""
        lever = self._lever
        if lever is None or lever.kind != "chip":
            return name
        path = self._folder / f"{name}-{lever.name}-{lever.to}.toml"
        if not path.exists():
            path.write_text(levered_chip(name, lever))
        return str(path)

    def drive(self, device: str, scheme: Any, settings: Any, age: Any) -> tuple[str | None, tuple[str, ...]]:
        """The scheme and the settings of a run."""
        given = {"scheme": scheme, "age": age, "settings": settings, "requests": 1}
        options = options_of({"device": device, "workload": "random-read-8k", **given})
        pulled = self.options(options)
        return pulled.scheme, pulled.settings

    def options(self, options: Options) -> Options:
        """A run under the lever."""
        lever = self._lever
        if lever is None or lever.kind == "name":
            return options
        if lever.kind == "scheme":
            return options.replace(scheme=str(lever.to)) if options.scheme == lever.name else options
        manifest = json.loads(open_simulation(options.replace(requests=1, warmup=0)).manifest)
        config = manifest["device"]["config"]
        if lever.kind == "chip":
            model = config["chip"]["model"]
            if model != self._chip or self._chip is None:
                return options
            return options.replace(settings=(*options.settings, f"chip.model={self.chip(self._chip)}"))
        value: Any = lever.to
        if isinstance(lever.to, float):
            section, _, name = lever.name.partition(".")
            if section not in config or name not in config[section]:
                raise InputError(f"lever {lever}: the drive has no such key to be multiplied\n  help: give a value")
            before = config[section][name]
            if before == "none":
                return options
            value = scaled(before, lever.to)
        return options.replace(settings=(*options.settings, f"{lever.name}={value}"))


def scaled(value: Any, factor: float) -> str | int | float:
    """A value of the configuration times a factor: a number, or one with its unit."""
    if isinstance(value, bool):
        raise InputError(f"{value}: cannot be multiplied\n  help: give what takes its place")
    if isinstance(value, int | float):
        times = value * factor
        return round(times) if isinstance(value, int) else times
    match = re.fullmatch(r"([0-9.]+)\s*([A-Za-z/]+|%)?", str(value))
    if match is None:
        raise InputError(f"{value!r}: cannot be multiplied\n  help: give what takes its place")
    number, unit = match.groups()
    times = float(number) * factor
    return f"{times:.12g}{unit or ''}"


def levered_chip(name: str, lever: Lever) -> str:
    """The file of a chip with one constant multiplied."""
    from ssdlab.chip.characterize import load

    constants = load(name, chips=1, blocks=1).constants
    if lever.name not in {f"{of['section']}.{of['key']}" for of in constants}:
        raise InputError(
            f"lever {lever}: {name} has no such constant\n  help: `ssdlab characterize {name} --constants` lists them"
        )
    sections: dict[str, list[str]] = {}
    for of in constants:
        part, key = of["section"], of["key"]
        levered = f"{part}.{key}" == lever.name
        text = _times(of["value"], float(lever.to)) if levered else of["value"]
        sections.setdefault(part, []).append(f"{key} = {text}")
        why = f"assumed ({lever})" if levered else of["source"]
        # A string of JSON is one of TOML.
        sections.setdefault(f"source.{part}", []).append(f"{key} = {json.dumps(why)}")
    parts = [f"[{section}]\n" + "\n".join(lines) for section, lines in sections.items()]
    return f'about = "{name}, levered"\n\n' + "\n\n".join(parts) + "\n"


def _times(value: str, factor: float) -> str:
    """A constant, as a chip file has it, multiplied."""
    if value.startswith("["):
        return "[" + ", ".join(_times(item.strip(), factor) for item in value[1:-1].split(",")) + "]"
    if value.startswith('"'):
        return f'"{scaled(value[1:-1], factor)}"'
    # What is whole is written without a point.
    return f"{float(value) * factor:.9g}" if "." in value else f"{round(int(value) * factor)}"
