"""The options of a run, as the core declares them (``crates/ssd/src/run/options.rs``).

:data:`OPTIONS` holds every option with its kind, default, name and help on the command line, and meaning. The keyword
arguments of :func:`ssdlab.run`, the options of ``ssdlab run``, those of sweep files and the commands of reports come
from it; type checkers read :class:`RunOptions`, which is written from it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError, run_options
from ssdlab.common.numbers import plain
from ssdlab.runs.documents import Given, word_of
from ssdlab.runs.option_types import Age, PathLike, RunOptions, Settings

if TYPE_CHECKING:
    from ssdlab.policy import Given as Functions
    from ssdlab.policy.source import GivenPolicy

__all__ = ["OPTIONS", "Age", "Given", "Option", "Options", "PathLike", "RunOptions", "Settings"]


class Option(NamedTuple):
    """One option of a run."""

    kind: str
    """How a value is checked and turned into what the core takes."""
    about: str
    """What it means, for the documentation of :func:`ssdlab.run`."""
    help: str
    """What it means, on the command line; empty where the command line has no such option."""
    metavar: str
    default: Any
    least: int
    """The smallest number that is accepted."""
    flag: str
    """Its name on the command line."""
    is_output: bool
    """Whether it says what a run writes or keeps: `ssdlab run` alone has it, and sweeps set it themselves."""

    @property
    def shows_default(self) -> bool:
        """Whether the command line's help says the default."""
        return bool(self.default)


def _declared() -> dict[str, Option]:
    defaults: dict[str, Any] = {"flag": False, "settings": ()}
    options = {}
    for of in run_options():
        options[of["name"]] = Option(
            kind=of["kind"],
            about=of["about"].replace("`", "``"),
            help=of["about"] if of["help"] is None else of["help"],
            metavar=of["metavar"],
            default=defaults.get(of["kind"]) if of["default"] is None else of["default"],
            least=of["least"],
            flag=of["flag"] or "--" + of["name"].replace("_", "-"),
            is_output=of["is_output"],
        )
    return options


OPTIONS: dict[str, Option] = _declared()
"""Every option of a run by its name, in the order of the command line's help."""

SHORT = ("precondition", "qd", "ftl")
"""Short forms of others: of a key of the configuration, and of a pace."""
NOT_IN_CORE = ("series_out",)
"""What the core does not take: a file that is written from what a result holds."""

_DEFAULTS: dict[str, Any] = {name: option.default for name, option in OPTIONS.items() if name not in SHORT} | {
    "merge": ()
}


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

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return _with_values, (self._values,)

    def replace(self, **changed: Any) -> Options:
        """This run with other values of some options."""
        return Options(**{**self._values, **changed})

    def given(self) -> dict[str, Any]:
        """The options that are not at their defaults."""
        return {name: value for name, value in self._values.items() if value != _DEFAULTS[name]}

    def without_outputs(self) -> Options:
        """This run, which writes and keeps nothing."""
        return self.replace(**{name: option.default for name, option in OPTIONS.items() if option.is_output})

    def for_core(self) -> dict[str, Any]:
        """The options that the core takes, lists in place of tuples."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self._values.items()
            if name not in NOT_IN_CORE
        }

    def command(self) -> list[str]:
        """The options of ``ssdlab run`` that ask for this run, settings and outputs left out."""
        # An array, or a checkpoint, stands for the device where none is given beside it.
        found = [] if self.device in (self.array, self.checkpoint) else ["--device", self.device]
        for path in (self.workload, *self.merge):
            found += ["--workload", path]
        named = [name for name in _DEFAULTS if name not in ("device", "workload", "merge", "seed", "settings")]
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
    own = values.pop("ftl", None)
    if own is not None:
        values["policies"] = _with_ftl(values.get("policies"), own)
    depth = values.pop("qd", None)
    if depth is not None:
        if values.get("replay") is not None:
            raise InputError(
                f"qd is {depth}, and replay is {values['replay']!r}\n"
                "  help: give one of them: --qd N is --replay closed:N"
            )
        values["replay"] = f"closed:{depth}"
    if values.get("save_at") is not None and values.get("save") is None:
        raise InputError("save_at is given without save\n  help: give the file to write too (--save FILE)")
    device = values.pop("device", values.get("array") or values.get("checkpoint") or _DEFAULTS["device"])
    return Options(device, first, merge=tuple(merge), **values)


def _with_ftl(policies: Any, own: Any) -> Any:
    """Policies with an FTL of one's own, which is the policy ``ftl``."""
    from ssdlab.policy.source import pairs

    given = dict(policies or ())
    if "ftl" in given:
        raise InputError("ftl is given, and policies.ftl is\n  help: give one of them")
    return pairs({**given, "ftl": own})


def _accepted(name: str, option: Option, value: Any) -> Any:
    """A user's value as :class:`Options` holds it."""
    if option.kind == "workload":
        alone = isinstance(value, str | os.PathLike | Mapping)
        paths = [word_of("workload", path) for path in ([value] if alone else value)]
        if not paths:
            raise InputError(f"{name} is an empty list\n  help: give a workload, or one or more traces")
        return paths
    if name == "device":
        return word_of("device", value)
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
    return OPTIONS[name].flag


def functions_of(policies: Functions | None) -> list[GivenPolicy]:
    """Functions of Python as the core takes them."""
    from ssdlab.policy.source import load, pairs

    return load(pairs(policies) or ())


def age_text(age: Age | None) -> str | None:
    """An age as the core reads it: ``pec=2000,retention=6mo``.

    Raises:
        InputError: a key is given twice, or what is given is no age.
    """
    if age is None:
        return age
    if not isinstance(age, str | Mapping):
        raise InputError(f"age is {age!r}\n  help: write 'pec=2000,retention=6mo', or a dict of keys and values")
    if isinstance(age, str):
        keys = [pair.partition("=")[0].strip() for pair in age.split(",") if pair.strip()]
        if twice := next((key for key in keys if keys.count(key) > 1), None):
            raise InputError(f"age {age}: {twice} is given twice\n  help: give {twice} once")
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
    number = plain(value)
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number < 1 << 63:
        raise InputError(f"{name} is {value!r}\n  help: write a whole number, {least} or more")
    return number
