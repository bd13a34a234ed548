"""Settings as frozen dataclasses, and strict JSON both ways.

Nothing is guessed: an unknown key, a missing one, a wrong type or a value out of range is an error
that names the field by its path, the value, and what would be right.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from bennafusi.files import RunError
from bennafusi.runs.kinds import join, options, parts, wanted
from bennafusi.runs.migrations import new_names
from bennafusi.text import suggestion

T = TypeVar("T")
Document = dict[str, Any]


class ConfigError(RunError):
    """A setting that cannot be meant, by its path."""


class NewerError(ConfigError):
    """A document of a newer version, which is not to be touched."""


def to_json(settings: Any) -> Any:
    """Settings as plain JSON: dataclasses to objects, tuples to lists, enums to their values."""
    if dataclasses.is_dataclass(settings) and not isinstance(settings, type):
        fields = dataclasses.fields(settings)
        return {f.name: to_json(getattr(settings, f.name)) for f in fields if f.init}
    if isinstance(settings, Enum):
        return settings.value
    if isinstance(settings, tuple):
        return [to_json(part) for part in settings]
    if settings is None or isinstance(settings, bool | int | float | str):
        return settings
    raise TypeError(f"settings cannot hold a {type(settings).__name__}: {settings!r}")


def from_json(kind: type[T], data: Any, path: str = "") -> T:
    """The dataclass ``kind`` out of what :func:`to_json` made of one.

    Every field must be there, also those with a default: a default may change, a run may not.
    Ranges are those that ``__post_init__`` checks, or ``field(metadata={"min": 1, "max": 9})``.

    Raises:
        ConfigError: with the field's path.
    """
    if not isinstance(data, dict):
        raise ConfigError(f"{path or 'settings'}={data!r}: must be an object, {{...}}")
    hints, values = _hints(typing.cast(Any, kind)), {}
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}  # type: ignore[arg-type]
    for name in data:
        if name not in fields:
            raise ConfigError(f"{join(path, name)}: unknown; {suggestion(name, fields)}")
    for name, field in fields.items():
        here = join(path, name)
        if name not in data:
            raise ConfigError(f"{here}: missing; add it, {wanted(hints[name])}")
        values[name] = _value(hints[name], data[name], here)
        _range(here, values[name], field.metadata)
    try:
        return kind(**values)
    except (ValueError, TypeError) as error:  # such a message begins with the field's name
        raise ConfigError(join(path, str(error))) from error


def with_changes(settings: T, changes: Mapping[str, str]) -> T:
    """Settings with some fields replaced, as ``--set chain.n=5`` asks for.

    All changes are made at once, so that fields which must agree can be changed together.

    Args:
        settings: a dataclass.
        changes: texts by the path of a field. Tuples are written ``1,2,3``, no value ``none``.

    Raises:
        ConfigError: for a name that is not there, or a text that does not fit.
    """
    data = to_json(settings)
    for path, text in changes.items():
        kind: Any = type(settings)
        place, annotation, names = data, None, path.split(".")
        for depth, name in enumerate(names, 1):
            if not isinstance(place, dict) or name not in place:
                raise ConfigError(f"{path}: unknown; {_meant(path, list(flat(to_json(settings))))}")
            annotation = _hints(kind)[name]
            if depth < len(names):
                place = place[name]
                kind = next(filter(dataclasses.is_dataclass, options(annotation)), None)
        place[names[-1]] = _parse(annotation, text, path)
    return from_json(type(settings), data)


def flat(data: Mapping[str, Any], path: str = "") -> Document:
    """The values of nested settings by their paths.

    Example:
        >>> flat({"epochs": 3, "chain": {"n": 5}})
        {'epochs': 3, 'chain.n': 5}
    """
    found: Document = {}
    for name, value in data.items():
        here = join(path, name)
        found |= flat(value, here) if isinstance(value, dict) else {here: value}
    return found


def differences(settings: Mapping[str, Any], usual: Mapping[str, Any]) -> Document:
    """The values by path that are not the usual ones; what ``--set`` would have to say."""
    there = flat(usual)
    return {k: v for k, v in flat(settings).items() if k not in there or v != there[k]}


def migrate(
    document: Any, newest: int, steps: Mapping[int, Callable[[Document], Document]], what: str
) -> Document:
    """A document in the newest schema, or an error; never one that is misread.

    Args:
        document: with its number at ``"schema"``.
        newest: the schema this version reads.
        steps: by the number of a schema, how to turn a document of it into the next one.
        what: name of the document, for messages.
    """
    schema = document.get("schema") if isinstance(document, dict) else None
    if isinstance(schema, bool) or not isinstance(schema, int) or schema < 1:
        raise ConfigError(f"{what}: schema={schema!r}: must be a whole number from 1 to {newest}")
    if schema > newest:
        raise NewerError(
            f"{what}: schema={schema}: made by a newer bennafusi, this one reads up to {newest}; "
            "install a newer one"
        )
    for number in range(schema, newest):
        if number not in steps:
            raise ConfigError(
                f"{what}: schema={schema}: too old, nothing turns {number} into {number + 1}; "
                "continue it with the version that made it, or start anew"
            )
        document = {**steps[number](document), "schema": number + 1}
    return typing.cast(Document, document)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Python compiles each annotation anew when asked, which is most of the time of reading one."""
    return typing.get_type_hints(kind)


def _value(annotation: Any, data: Any, path: str) -> Any:
    """A JSON value as the annotation wants it."""
    choices, origin = options(annotation), typing.get_origin(annotation)
    if len(choices) > 1:
        if data is None and type(None) in choices:
            return None
        others = [option for option in choices if option is not type(None)]
        if len(others) > 1:
            raise TypeError(f"{path}: annotation {annotation} is not supported")
        return _value(others[0], data, path)
    if dataclasses.is_dataclass(annotation):
        return from_json(typing.cast(type, annotation), data, path)
    if origin is tuple and isinstance(data, list | tuple):
        inner = parts(annotation, len(data))
        if len(inner) == len(data):
            pairs = enumerate(zip(inner, data, strict=True))
            return tuple(_value(part, item, f"{path}[{i}]") for i, (part, item) in pairs)
    elif origin is typing.Literal:
        for choice in typing.get_args(annotation):
            if type(choice) is type(data) and choice == data:
                return choice
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        for member in annotation:
            if type(member.value) is type(data) and member.value == data:
                return member
    elif annotation is float and type(data) in (int, float):
        if math.isfinite(data):
            return float(data)
    elif annotation in (bool, int, str) and type(data) is annotation:
        return data
    raise ConfigError(f"{path}={data!r}: must be {wanted(annotation)}")


def _parse(annotation: Any, text: str, path: str) -> Any:
    """A text from the command line as the JSON value that the annotation wants."""
    if type(None) in options(annotation) and text.lower() == "none":
        return None
    kind = next(option for option in options(annotation) if option is not type(None))
    if dataclasses.is_dataclass(kind):
        names = ", ".join(f"{path}.{f.name}" for f in dataclasses.fields(kind))
        raise ConfigError(f"{path}={text!r}: name a field in it: {names}")
    if typing.get_origin(kind) is tuple:
        words = [word.strip() for word in text.split(",")] if text.strip() else []
        inner = parts(kind, len(words))
        if len(inner) != len(words):
            raise ConfigError(f"{path}={text!r}: must be {wanted(kind)}, with commas between")
        return [_parse(p, word, path) for p, word in zip(inner, words, strict=True)]
    if kind is bool and text.lower() in ("true", "false"):
        return text.lower() == "true"
    choices = typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else ()
    if isinstance(kind, type) and issubclass(kind, Enum):
        choices = tuple(member.value for member in kind)
    if choices:
        return next((choice for choice in choices if str(choice) == text), text)
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            raise ConfigError(f"{path}={text!r}: must be {wanted(kind)}") from None
    return text


def _range(path: str, value: Any, limits: Mapping[str, Any]) -> None:
    for name, wrong, word in (("min", -1, "at least"), ("max", 1, "at most")):
        if name in limits and isinstance(value, int | float) and (value - limits[name]) * wrong > 0:
            raise ConfigError(f"{path}={value!r}: must be {word} {limits[name]}")


def _meant(path: str, known: list[str]) -> str:
    """What was probably meant: a field that has moved, one within a part, or one spelt alike."""
    moved = [new for new in new_names(path) if new in known]
    inside = [name for name in known if name.rpartition(".")[2] == path]
    return suggestion(path, known, likely=moved or inside)
