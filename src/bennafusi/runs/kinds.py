"""Reading type annotations of settings, and speaking of them in messages."""

from __future__ import annotations

import types
import typing
from enum import Enum
from typing import Any


def wanted(annotation: Any) -> str:
    """What an annotation asks for, in words."""
    plain = {bool: "true or false", int: "a whole number", float: "a finite number", str: "text"}
    choices, origin = options(annotation), typing.get_origin(annotation)
    if len(choices) > 1:
        return " or ".join("none" if o is type(None) else wanted(o) for o in choices)
    if origin is typing.Literal:
        return "one of " + ", ".join(map(repr, typing.get_args(annotation)))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "one of " + ", ".join(repr(member.value) for member in annotation)
    if origin is tuple:
        kinds = typing.get_args(annotation)
        if kinds[-1] is Ellipsis:
            return f"a list, each of its parts {wanted(kinds[0])}"
        return f"a list of {len(kinds)}: " + ", ".join(map(wanted, kinds))
    return plain.get(annotation, "an object, {...}")


def options(annotation: Any) -> tuple[Any, ...]:
    """The members of a union; of anything else, itself."""
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if union else (annotation,)


def parts(annotation: Any, length: int) -> tuple[Any, ...]:
    """The annotations of a tuple's parts, for a tuple of that length."""
    kinds = typing.get_args(annotation)
    return (kinds[0],) * length if kinds[-1] is Ellipsis else kinds


def join(path: str, name: str) -> str:
    """The path of a field within another."""
    return f"{path}.{name}" if path else name
