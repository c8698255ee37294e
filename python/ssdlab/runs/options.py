"""The options of a run, declared once.

:data:`OPTIONS` holds every option with its type, default, name and help on the command line, and meaning. It is read
from the annotations of :class:`Inputs` and :class:`RunOptions`, which type checkers read too. The keyword arguments of
:func:`ssdlab.run`, the options of ``ssdlab run``, those of sweep files and the commands of reports come from it.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypedDict

from ssdlab._core import InputError

if TYPE_CHECKING:
    from ssdlab.policy import Given

PathLike = str | os.PathLike[str]
Age = str | Mapping[str, object]
Settings = Mapping[str, Any] | Iterable[str]


class Option(NamedTuple):
    """One option of a run."""

    kind: Literal["text", "path", "workload", "number", "flag", "age", "settings", "precondition", "policies"]
    """How a value is checked and turned into what the core takes."""
    about: str
    """What it means, for the documentation of :func:`ssdlab.run`."""
    help: str = ""
    """What it means, on the command line; empty where the command line has no such option."""
    metavar: str = ""
    default: Any = None
    least: int = 0
    """The smallest number that is accepted."""
    flag: str = ""
    """Its name on the command line where that is not the option's own."""
    shows_default: bool = False
    is_output: bool = False
    """Whether it says what a run writes or keeps: `ssdlab run` alone has it, and sweeps set it themselves."""
    in_core: bool = True
    """Whether the core takes it."""


class Inputs(TypedDict, total=False):
    """The options of a run that may be given by position."""

    device: Annotated[
        PathLike,
        Option(
            "path",
            "a preset's name (see :func:`presets`) or the path of a device file (TOML); ``tlc`` if not given.",
            "Preset, or device file (TOML).",
            "NAME|FILE",
            "tlc",
            shows_default=True,
        ),
    ]
    workload: Annotated[
        PathLike | Sequence[PathLike],
        Option(
            "workload",
            "a preset's name, a workload file (.toml) or a trace, plain, gzip or zstd; a list of traces is merged by "
            "time.",
            "Preset, workload file (.toml), or trace (plain, gzip or zstd); several traces are merged by time.",
            "NAME|FILE|TRACE",
            "default",
            shows_default=True,
        ),
    ]


class RunOptions(TypedDict, total=False):
    """The options of a run that are given by keyword."""

    scheme: Annotated[
        str | None,
        Option(
            "text",
            "a scheme's name, or ``axis=choice`` pairs joined by commas.",
            "Scheme, or choices on its axes.",
            "NAME|AXIS=CHOICE,…",
        ),
    ]
    age: Annotated[
        Age | None,
        Option(
            "age",
            'the state that the run starts from: ``"pec=2000,retention=6mo"`` or a dict of the same.',
            "State at the start, such as pec=2000,retention=6mo.",
            "KEY=VALUE,…",
        ),
    ]
    replay: Annotated[
        str | None,
        Option(
            "text",
            '``"timed"`` (the default), ``"timed:xN"`` (N times faster) or ``"closed:QD"`` (QD requests at once).',
            "Pace: trace times, N times faster, or QD at once.",
            "timed|timed:xN|closed:QD",
        ),
    ]
    requests: Annotated[
        int | None,
        Option("number", "stop after so many requests.", "Stop after N requests.", "N", least=1),
    ]
    duration: Annotated[
        str | None,
        Option(
            "text",
            'submit nothing after this simulated time, with its unit: ``"10s"``.',
            "Submit nothing after this simulated time, such as 10s.",
            "TIME",
        ),
    ]
    warmup: Annotated[
        int,
        Option(
            "number",
            "requests at the start that are played and left out of the statistics.",
            "Leave the first N out of the statistics.",
            "N",
            0,
        ),
    ]
    precondition: Annotated[
        str | None,
        Option(
            "precondition",
            '``"closed-form"`` starts as after long uniform overwriting, ``"write:N"`` really overwrites the drive N '
            "times first; the same as ``age.precondition``.",
            "Start as after long overwriting: by formula, or by really writing N times the capacity.",
            "closed-form|write:N",
            in_core=False,
        ),
    ]
    until_steady: Annotated[
        str | None,
        Option(
            "text",
            'play until the drive is in a steady state by rounds of this simulated time (``"1s"``), after the PTS of '
            "SNIA; the last five rounds are the result, and ``host.steady.reached`` reports it. A generator goes on "
            "for as long as it takes.",
            "Play until the state is steady by rounds of at least TIME (SNIA); the last five rounds are the result.",
            "TIME|auto",
        ),
    ]
    seed: Annotated[
        int,
        Option(
            "number",
            "of all random streams; same inputs and seed, same result.",
            "Seed of all random streams.",
            "S",
            1,
            shows_default=True,
        ),
    ]
    settings: Annotated[
        Settings | None,
        Option(
            "settings",
            'configuration keys: ``{"chip.t_prog": "400us"}``, ``{"chip": {"t_prog": "400us"}}`` or '
            '``["chip.t_prog=400us"]``; see :func:`schema`.',
            "Any key of `ssdlab schema`; may be repeated.",
            "KEY=VALUE",
            (),
            flag="--set",
        ),
    ]
    policies: Annotated[
        "Given | None",
        Option(
            "policies",
            'functions that stand in for built-in choices: ``{"victim": my_function}``, ``{"victim": '
            '"my_policies.py:oldest"}`` or ``"victim=my_policies.py:oldest"``; see :mod:`ssdlab.policy`.',
            "Functions that stand in for built-in choices, such as victim=my_policies.py:oldest.",
            "AXIS=FILE:FUNCTION,…",
            flag="--policy",
        ),
    ]
    format: Annotated[
        str | None,
        Option(
            "text",
            'of a trace, where it cannot be recognized from its content: ``"disksim:time=ms,offset=B,size=B"``.',
            "Format of the trace, such as disksim:time=ms,offset=B,size=B.",
            "FORMAT",
        ),
    ]
    skip_bad_lines: Annotated[
        int,
        Option(
            "number",
            "malformed lines of a trace that may be left out, counted in ``host.trace.bad_lines``.",
            "Leave out up to N malformed lines.",
            "N",
            0,
        ),
    ]
    sort_window: Annotated[
        int | None,
        Option(
            "number",
            "how many requests too late a line of a trace may stand (1024): it is put in order, and counted.",
            "Reorder lines that stand up to N requests too late  [default: 1024]",
            "N",
        ),
    ]
    volumes: Annotated[
        str | None,
        Option(
            "text",
            'where a trace\'s volumes lie: ``"overlay"`` (all from address 0; the default), ``"namespaces"`` (equal '
            'parts of the drive) or ``"concatenate"`` (one after another).',
            "Layout of a trace's volumes on the drive  [default: overlay]",
            "overlay|namespaces|concatenate",
        ),
    ]
    traces: Annotated[
        PathLike | None,
        Option(
            "path",
            'a folder of real traces: a workload such as ``"asplos21/stg_0"``, which is the generated twin of a real '
            "trace, is replaced by the file of that name (``stg_0.csv.gz``) where the folder has it.",
            "Folder of real traces: they replace the synthetic twins of the same name.",
            "DIR",
        ),
    ]
    beyond: Annotated[
        str | None,
        Option(
            "text",
            '``"wrap"`` (the default) or ``"refuse"`` requests beyond the drive or their namespace.',
            "Wrap addresses beyond the drive around, or refuse them  [default: wrap]",
            "wrap|refuse",
        ),
    ]
    checkpoint: Annotated[
        PathLike | None,
        Option(
            "path",
            "a file that ``save`` or :meth:`Device.save` has written: its drive goes on, and the run's times and "
            "statistics begin there. Without ``device`` it is the drive of the file; one that is given must be the "
            "same, but for policies where nothing was under way.",
            "Go on with the drive of a checkpoint (--save).",
            "FILE",
            flag="--from",
        ),
    ]
    check: Annotated[
        bool,
        Option(
            "flag",
            "verify the drive's invariants after every event; the result is the same. One that does not hold ends the "
            "run with a :class:`SimulationError`, which says where, when and what was expected.",
            "Verify the drive's invariants after every event; the result is the same.",
            default=False,
        ),
    ]
    requests_out: Annotated[
        PathLike | None,
        Option(
            "path",
            "write the request log here (Parquet). With ``repeat``, ``x.parquet`` gives ``x.seedN.parquet``.",
            "Write a row a request (Parquet).",
            "FILE",
            is_output=True,
        ),
    ]
    keep_requests: Annotated[
        bool, Option("flag", "keep the request log in memory, for ``Result.requests``.", default=False, is_output=True)
    ]
    series_out: Annotated[
        PathLike | None,
        Option(
            "path",
            "write the time series here (Parquet).",
            "Write the time series (Parquet).",
            "FILE",
            is_output=True,
            in_core=False,
        ),
    ]
    save: Annotated[
        PathLike | None,
        Option(
            "path",
            "write the state of the drive here: a checkpoint. With ``repeat``, ``x.ckpt`` gives ``x.seedN.ckpt``.",
            "Write the drive's state at the end: a checkpoint, for --from.",
            "FILE",
            is_output=True,
        ),
    ]
    save_at: Annotated[
        str | None,
        Option(
            "text",
            'when it is written: ``"rest"`` (the default: the run is over, everything buffered is on flash, and the '
            'drive has nothing more to do by itself), ``"end"`` (as it stands when the last request has completed) or '
            'a simulated time of the run (``"2s"``, as it stands).',
            "Save at rest, when the last request has completed, or at a simulated time  [default: rest]",
            "rest|end|TIME",
            is_output=True,
        ),
    ]


OPTIONS: dict[str, Option] = {
    name: annotation.__metadata__[0]
    for name, annotation in {**Inputs.__annotations__, **RunOptions.__annotations__}.items()
}
"""Every option of a run by its name, in the order of the command line's help."""

_DEFAULTS: dict[str, Any] = {
    name: option.default for name, option in OPTIONS.items() if option.kind != "precondition"
} | {"merge": ()}


class Options:
    """The options of one run as the core takes them: an attribute each, and ``merge`` for the traces after the first.

    It cannot be changed, and two with the same values are equal.
    """

    __slots__ = ("_values",)
    _values: dict[str, Any]

    def __init__(self, device: str, workload: str, **values: Any) -> None:
        unknown = next((name for name in values if name not in _DEFAULTS), None)
        if unknown is not None:
            raise TypeError(f"a run has no option {unknown!r}")
        object.__setattr__(self, "_values", {**_DEFAULTS, "device": device, "workload": workload, **values})

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"a run has no option {name!r}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("the options of a run are read-only")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Options) and self._values == other._values

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        given = (f"{name}={value!r}" for name, value in self._values.items() if value != _DEFAULTS[name])
        return f"Options({', '.join(given)})"

    def __reduce__(self) -> "tuple[Any, tuple[dict[str, Any]]]":
        return _with_values, (self._values,)

    def replace(self, **changed: Any) -> "Options":
        """The same run with other values of some options."""
        return Options(**{**self._values, **changed})

    def without_outputs(self) -> "Options":
        """The same run, which writes and keeps nothing."""
        return self.replace(**{name: option.default for name, option in OPTIONS.items() if option.is_output})

    def for_core(self) -> dict[str, Any]:
        """The options that the core takes, lists in place of tuples."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self._values.items()
            if name not in OPTIONS or OPTIONS[name].in_core
        }

    def command(self) -> list[str]:
        """The options of ``ssdlab run`` that ask for this run, settings and outputs left out."""
        found = ["--device", self.device]
        for path in (self.workload, *self.merge):
            found += ["--workload", path]
        named = [name for name in RunOptions.__annotations__ if name in _DEFAULTS and name not in ("seed", "settings")]
        for name in (*named, "seed"):
            value = self._values[name]
            if OPTIONS[name].is_output or (value == OPTIONS[name].default and name != "seed"):
                continue
            found.append(flag_of(name))
            if OPTIONS[name].kind != "flag":
                found.append(_policies_text(value) if name == "policies" else str(value))
        return found


def _policies_text(policies: Any) -> str:
    from ssdlab.policy.source import text

    return text(policies)


def _with_values(values: dict[str, Any]) -> Options:
    return Options(**values)


def options_of(given: Mapping[str, Any]) -> Options:
    """The run that a user's options ask for; those that are not given have their defaults.

    Raises:
        InputError: a value is not accepted.
        TypeError: there is no such option.
    """
    given = {name: value for name, value in given.items() if name != "device" or value is not None}
    values: dict[str, Any] = {name: _accepted(name, OPTIONS[name], value) for name, value in given.items()}
    preconditions = values.pop("precondition", ())
    first, *merge = values.pop("workload", None) or (_DEFAULTS["workload"],)
    values["settings"] = (*preconditions, *values.get("settings", ()))
    if values.get("save_at") is not None and values.get("save") is None:
        raise InputError("save_at is given without save\n  help: give the file to write too (--save FILE)")
    device = values.pop("device", values.get("checkpoint") or _DEFAULTS["device"])
    return Options(device, first, merge=tuple(merge), **values)


def _accepted(name: str, option: Option, value: Any) -> Any:
    """A user's value as :class:`Options` holds it."""
    if option.kind == "workload":
        paths = [os.fspath(path) for path in ([value] if isinstance(value, str | os.PathLike) else value)]
        if not paths:
            raise InputError(f"{name} is an empty list\n  help: give a workload, or one or more traces")
        return paths
    if option.kind == "settings":
        return tuple(setting_texts(value))
    if option.kind == "precondition":
        return () if value is None else (f"age.precondition={value}",)
    if value is None and option.default is None:
        return None
    if option.kind == "policies":
        from ssdlab.policy.source import pairs

        return pairs(value)
    if option.kind == "path":
        return os.fspath(value)
    if option.kind == "flag" and not isinstance(value, bool):
        raise InputError(f"{name} is {value!r}\n  help: write True or False")
    if option.kind == "number":
        return whole_number(name, value, option.least)
    return age_text(value) if option.kind == "age" else value


def flag_of(name: str) -> str:
    """An option's name on the command line."""
    return OPTIONS[name].flag or "--" + name.replace("_", "-")


def age_text(age: Age | None) -> str | None:
    """An age as the core reads it: ``pec=2000,retention=6mo``."""
    if age is None or isinstance(age, str):
        return age
    return ",".join(f"{key}={value_text(value)}" for key, value in age.items())


def setting_texts(settings: Settings | None) -> list[str]:
    """Settings as the core reads them: ``section.key=value`` each."""
    if settings is None:
        return []
    if isinstance(settings, str):
        return [settings]
    if not isinstance(settings, Mapping):
        return [str(setting) for setting in settings]
    texts = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            texts += [f"{key}.{name}={value_text(inner)}" for name, inner in value.items()]
        else:
            texts.append(f"{key}={value_text(value)}")
    return texts


def value_text(value: object) -> str:
    """The value of a configuration key as the core reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(value_text(item) for item in value) + "]"
    return "none" if value is None else str(value)


def whole_number(name: str, value: int, least: int) -> int:
    """A whole number from ``least`` up, that the core can hold.

    Raises:
        InputError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 63:
        raise InputError(f"{name} is {value!r}\n  help: write a whole number, {least} or more")
    return value
