"""Where policies come from: functions as they are given, or functions in files, with the fingerprint of their text."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError

if TYPE_CHECKING:
    from ssdlab.policy import Given

Pairs = tuple[tuple[str, "str | Callable[..., Any]"], ...]
"""Policies by their axes: ``FILE:FUNCTION``, or functions. Where there are none, a run has None."""


class GivenPolicy(NamedTuple):
    """A policy as the core takes it."""

    axis: str
    ask: Callable[..., Any]
    file: str | None
    """The name of its file, where it was given as ``FILE:FUNCTION``."""
    function: str
    sha256: str
    """Of the file, or of the function's own text."""
    place: tuple[str, int | None]
    """File and line, for what is said of its mistakes."""


def pairs(given: Given | None) -> Pairs | None:
    """Policies as a run's options hold them.

    Raises:
        InputError: they are neither functions nor ``FILE:FUNCTION``.
    """
    if not given or given == "none":
        return None
    if isinstance(given, str):
        given = dict(_split(word) for word in given.split(","))
    for axis, policy in given.items():
        if not callable(policy) and not _is_path(policy):
            raise InputError(
                f"policies.{axis}: {policy!r} is not accepted\n  help: give a function, or FILE:FUNCTION such as "
                "my_policies.py:oldest"
            )
    return tuple(given.items())  # type: ignore[arg-type]


def _split(word: str) -> tuple[str, str]:
    axis, equals, path = word.partition("=")
    if not equals:
        raise InputError(
            f"policies: {word!r} is not accepted\n  help: write AXIS=FILE:FUNCTION, such as "
            "victim=my_policies.py:oldest, with commas between several"
        )
    return axis.strip(), path.strip()


def _is_path(policy: object) -> bool:
    file, _, function = policy.rpartition(":") if isinstance(policy, str) else ("", "", "")
    return file != "" and function.isidentifier()


def text(policies: Pairs) -> str:
    """Policies as ``--policy`` takes them."""
    shown = (policy if isinstance(policy, str) else f"<{_name(policy)}>" for _, policy in policies)
    return ",".join(f"{axis}={policy}" for (axis, _), policy in zip(policies, shown, strict=True))


def files(policies: Pairs) -> Mapping[str, str]:
    """The files of the policies that are in files, by axis."""
    return {axis: policy.rpartition(":")[0] for axis, policy in policies if isinstance(policy, str)}


def moved(policies: Pairs, paths: Mapping[str, str]) -> Pairs:
    """These policies, with their files elsewhere."""
    there = files(policies).keys() & paths.keys()
    return tuple(
        (axis, f"{paths[axis]}:{policy.rpartition(':')[2]}" if isinstance(policy, str) and axis in there else policy)
        for axis, policy in policies
    )


def load(policies: Pairs) -> list[GivenPolicy]:
    """Reads policies. A file is run again each time, so that runs share nothing.

    Raises:
        InputError: there is no such file or function, it cannot be run, or a function has no text.
    """
    return [
        _of_file(axis, policy) if isinstance(policy, str) else _of_function(axis, policy) for axis, policy in policies
    ]


def _of_file(axis: str, policy: str) -> GivenPolicy:
    import hashlib
    import sys
    from types import ModuleType

    path, _, function = policy.rpartition(":")
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror}\n  help: give the path of the file with policies.{axis}"
        ) from None
    digest = hashlib.sha256(content).hexdigest()
    module = ModuleType(f"ssdlab_policies_{digest[:12]}")
    module.__file__ = path
    sys.modules[module.__name__] = module
    try:
        exec(compile(content, path, "exec"), module.__dict__)
    except Exception as error:
        raise InputError(
            f"{path}{_line_of(error, path)}: policies.{axis}: {type(error).__name__}: {error}\n  help: the file must "
            "be Python that runs by itself; files beside it are not imported"
        ) from error
    found = getattr(module, function, None)
    if not callable(found):
        raise InputError(
            f"{path}: policies.{axis}: has no function {function}\n  help: it must be at the file's top level"
        )
    return GivenPolicy(axis, found, os.path.basename(path), function, digest, (path, _place(found)[1]))


def _line_of(error: Exception, path: str) -> str:
    """The innermost line of a file at which an error came up, as it stands behind the file's name."""
    import traceback

    if isinstance(error, SyntaxError) and error.filename == path:
        return f":{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f":{lines[-1]}" if lines else ""


def _of_function(axis: str, policy: Callable[..., Any]) -> GivenPolicy:
    import hashlib
    import inspect

    try:
        source = inspect.getsource(_text_of(policy))
    except (OSError, TypeError):
        raise InputError(
            f"policies.{axis}: {_name(policy)}: has no text, by which a result could tell which policy it was played "
            "with\n  help: write the function into a file or a notebook's cell"
        ) from None
    return GivenPolicy(axis, policy, None, _name(policy), hashlib.sha256(source.encode()).hexdigest(), _place(policy))


def _text_of(policy: Callable[..., Any]) -> Any:
    """What the text of a policy is of: of an object that can be called, its class."""
    own = isinstance(policy, type) or hasattr(policy, "__code__") or hasattr(policy, "__func__")
    return policy if own else type(policy)


def _name(policy: Callable[..., Any]) -> str:
    return str(getattr(policy, "__qualname__", type(policy).__qualname__))


def _place(policy: Callable[..., Any]) -> tuple[str, int | None]:
    """File and line of a function."""
    function: Any = getattr(policy, "__func__", policy)
    code = getattr(function, "__code__", None) or getattr(type(policy).__call__, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else (_name(policy), None)
