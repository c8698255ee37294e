"""TOML documents as text."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]
"""A TOML document: plain keys, and tables by name; ``job`` holds a table of tables."""


def to_toml(document: Document) -> str:
    """A document as TOML."""
    plain = {key: value for key, value in document.items() if not isinstance(value, dict)}
    lines = [f"{key} = {_value(value)}" for key, value in plain.items()]
    tables = {key: value for key, value in document.items() if isinstance(value, dict)}
    for name, table in tables.items():
        nested = {f"{name}.{part}": keys for part, keys in table.items() if isinstance(keys, dict)}
        for head, keys in (nested or {name: table}).items():
            lines += ["", f"[{head}]", *(f"{key} = {_value(value)}" for key, value in keys.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    return toml_text(value) if isinstance(value, str) else repr(value)


def toml_text(text: str) -> str:
    """A text as TOML."""
    import json

    # JSON's escapes of one-line texts are TOML's.
    return json.dumps(text, ensure_ascii=False)
