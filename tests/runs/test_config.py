import dataclasses
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bennafusi.files import dump, parse
from bennafusi.runs.config import ConfigError, from_json, migrate, to_json, with_changes


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Chain:
    n: int = 3
    g12: float = 1e-5

    def __post_init__(self):
        if self.n < 1:
            raise ValueError(f"n={self.n}: a chain needs at least one beaker, n >= 1")


@dataclass(frozen=True)
class Settings:
    chain: Chain = Chain()
    epochs: int = field(default=24, metadata={"min": 1, "max": 1000})
    goals: tuple[int, ...] = (1, 2)
    corner: tuple[int, float] = (0, 0.5)
    scheme: Literal["euler", "exact"] = "euler"
    colour: Colour = Colour.RED
    decay: float | None = None
    fast: bool = False
    title: str = "x"
    spare: Chain | None = None


@given(
    chain=st.builds(Chain, st.integers(1, 9), st.floats(0, 1)),
    epochs=st.integers(1, 1000),
    goals=st.lists(st.integers(), max_size=4).map(tuple),
    scheme=st.sampled_from(["euler", "exact"]),
    colour=st.sampled_from(Colour),
    decay=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    title=st.text(),
    spare=st.none() | st.builds(Chain, st.integers(1, 9)),
)
def test_json_and_back_is_the_same(**values):
    settings = Settings(**values)
    assert from_json(Settings, parse(dump(to_json(settings)))) == settings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chian": 1}, "chian: unknown; did you mean 'chain'?"),
        ({"chain": {"n": 3, "g12": 1.0, "q": 2}}, "chain.q: unknown; there is: n, g12"),
        ({"chain": {"n": 3}}, "chain.g12: missing; add it, a finite number"),
        ({"chain": {"n": 0, "g12": 1.0}}, "chain.n=0: a chain needs at least one beaker, n >= 1"),
        ({"chain": 3}, "chain=3: must be an object, {...}"),
        ({"chain": {"n": 3.0, "g12": 1.0}}, "chain.n=3.0: must be a whole number"),
        ({"epochs": True}, "epochs=True: must be a whole number"),
        ({"epochs": 0}, "epochs=0: must be at least 1"),
        ({"epochs": 1001}, "epochs=1001: must be at most 1000"),
        ({"goals": [1, "2"]}, "goals[1]='2': must be a whole number"),
        ({"corner": [1]}, "corner=[1]: must be a list of 2: a whole number, a finite number"),
        ({"scheme": "eular"}, "scheme='eular': must be one of 'euler', 'exact'"),
        ({"colour": "green"}, "colour='green': must be one of 'red', 'blue'"),
        ({"decay": "none"}, "decay='none': must be a finite number"),
        ({"decay": float("inf")}, "decay=inf: must be a finite number"),
        ({"fast": 1}, "fast=1: must be true or false"),
        ({"title": None}, "title=None: must be text"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_path(change, message):
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        from_json(Settings, {**to_json(Settings()), **change})


def test_a_missing_field_is_not_filled_in_from_its_default():
    data = to_json(Settings())
    del data["epochs"]
    with pytest.raises(ConfigError, match="epochs: missing"):
        from_json(Settings, data)


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("epochs", "7", 7),
        ("goals", "3, 4,5", (3, 4, 5)),
        ("goals", "", ()),
        ("corner", "3,4", (3, 4.0)),
        ("scheme", "exact", "exact"),
        ("colour", "blue", Colour.BLUE),
        ("decay", "1e-3", 1e-3),
        ("decay", "none", None),
        ("fast", "True", True),
        ("title", "none", "none"),
    ],
)
def test_set_reads_a_text_by_the_field(path, text, value):
    assert with_changes(Settings(), {path: text}) == dataclasses.replace(
        Settings(), **{path: value}
    )


def test_set_reaches_into_nested_settings():
    assert with_changes(Settings(), {"chain.n": "5", "chain.g12": "1"}).chain == Chain(5, 1.0)


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("chain.m", "5", "chain.m: unknown; did you mean 'chain.n'?"),
        ("epoch", "5", "epoch: unknown; did you mean 'epochs'?"),
        ("epochs.n", "5", "epochs.n: unknown; did you mean 'epochs'?"),
        ("chain", "5", "chain='5': name a field in it: chain.n, chain.g12"),
        ("chain.n", "5.5", "chain.n='5.5': must be a whole number"),
        ("chain.n", "0", "chain.n=0: a chain needs at least one beaker, n >= 1"),
        ("fast", "1", "fast='1': must be true or false"),
        ("scheme", "rk4", "scheme='rk4': must be one of 'euler', 'exact'"),
        ("decay", "nan", "decay=nan: must be a finite number"),
        ("corner", "1", "corner='1': must be a list of 2"),
        ("", "1", ": unknown"),
    ],
)
def test_set_refuses_what_does_not_fit(path, text, message):
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        with_changes(Settings(), {path: text})


def test_an_older_document_is_migrated_step_by_step():
    steps = {1: lambda d: {**d, "b": d["a"]}, 2: lambda d: {**d, "c": d["b"] + 1}}
    assert migrate({"schema": 1, "a": 1}, 3, steps, "x") == {"schema": 3, "a": 1, "b": 1, "c": 2}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"schema": 4}, "x: schema=4: made by a newer bennafusi, this one reads up to 3"),
        ({"schema": 1}, "x: schema=1: too old, nothing turns 1 into 2"),
        ({"schema": "3"}, "x: schema='3': must be a whole number from 1 to 3"),
        ({"schema": True}, "x: schema=True: must be"),
        ({}, "x: schema=None: must be"),
        ([], "x: schema=None: must be"),
    ],
)
def test_any_other_document_is_refused(document, message):
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        migrate(document, 3, {2: dict}, "x")


@pytest.mark.parametrize("text", [b'{"a": NaN}', b'{"a": 1, "a": 2}', b"{", b"\xff", b"[" * 99999])
def test_what_is_not_quite_json_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        parse(text)
