"""Agents look the same wherever they are drawn, and no two of a figure look alike."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bennafusi.colours import BLACK, BLUE, GREEN, PURPLE, VERMILION
from bennafusi.experiments import agent_styles, exhibits
from bennafusi.experiments.agent_styles import KNOWN, known, styles
from bennafusi.experiments.deep import (
    minatar_sequence,
    rivals_minatar,
    rivals_online,
    rivals_two_task,
)
from bennafusi.experiments.deep.rival_agents import TRIED
from bennafusi.rivals.catalogue import METHODS

NAMES = st.sampled_from(["a", "b", "mine", *KNOWN, *(TRIED + name for name in KNOWN)])
PARTS = st.lists(NAMES, min_size=1, max_size=2).map("-".join)


@settings(max_examples=100)
@given(names=st.lists(PARTS, max_size=150))
def test_no_two_names_of_a_figure_are_drawn_alike(names):
    found = styles(names)
    assert list(found) == list(dict.fromkeys(names)), "all of them, in their order"
    assert len(set(found.values())) == len(found)


@given(names=st.lists(st.one_of(NAMES, st.text()), max_size=30))
def test_a_name_of_the_table_looks_the_same_whoever_is_beside_it(names):
    found = styles(name for name in names if name != "default")
    assert {name: style for name, style in found.items() if name in KNOWN} == {
        name: KNOWN[name] for name in found if name in KNOWN
    }


def test_hundreds_of_one_colour_are_never_alike():
    found = styles(f"benna-fusi-{i}" for i in range(300))
    assert {style.colour for style in found.values()} == {VERMILION}
    assert len(set(found.values())) == 300


def test_every_cell_of_the_table_is_one_name():
    other_names = {"default", "fast-weights"}  # of what has a cell already
    cells = [(s.colour, s.marker) for name, s in KNOWN.items() if name not in other_names]
    assert len(set(cells)) == len(cells) == len(KNOWN) - len(other_names)
    dashes = [tuple(lengths) for lengths in agent_styles.DASHES.values()]
    assert len(set(dashes)) == len(dashes), "a marker has a line of its own"


@pytest.mark.parametrize(
    ("name", "colour", "marker"),
    [
        ("benna-fusi", VERMILION, "s"),
        ("default", VERMILION, "s"),
        ("reach-10", VERMILION, "p"),
        ("control", BLUE, "o"),
        ("control-1e-3", BLUE, "o"),
        ("control-1e-4", GREEN, "^"),
        ("online-ewc", PURPLE, "v"),
        ("try-online-ewc", PURPLE, "v"),
        ("stream-q", BLACK, "X"),
        ("space-invaders-control", BLUE, "o"),
        ("control-1e-4-eps-1e-8", GREEN, "^"),
    ],
)
def test_style_follows_from_the_name(name, colour, marker):
    assert styles(["mine", name])[name][:2] == (colour, marker)


def test_every_method_that_is_compared_is_in_the_table():
    agents = [*rivals_online.AGENTS, *rivals_two_task.AGENTS, *METHODS]
    agents += rivals_minatar.AGENTS
    agents += minatar_sequence.EXPERIMENT.variants
    assert [name for name in agents if name not in KNOWN] == []


def test_who_is_judged_together_is_told_apart_without_colour():
    for one in (
        rivals_online.CHOSEN,
        rivals_two_task.CHOSEN,
        (*rivals_minatar.AGAINST, "benna-fusi", "control-reset"),
        ("benna-fusi", *(f"control-1e-{rate}" for rate in (3, 4, 5, 6))),
        ("benna-fusi", *(f"control-{10**size}" for size in (0, 2, 3, 4, 5))),
        ("control", "reach-1", "reach-10", "reach-100", "control-reset", "control-per-task"),
        ("a", "b", "c", "d", "e", "f", "g", "benna-fusi"),
    ):
        _, markers, dashes = zip(*styles(one).values(), strict=True)
        assert len(set(markers)) == len(set(dashes)) == len(one)


def test_beside_whom_it_looks_like_a_name_keeps_its_colour():
    found = styles(["try-control", "try-stream-q", "control"])
    assert found["control"] == KNOWN["control"]
    assert found["try-stream-q"] == KNOWN["stream-q"]
    assert found["try-control"].colour == BLUE
    assert found["try-control"].marker not in ("o", "X")


def test_strangers_get_colours_that_nobody_has():
    found = styles(["one", "control", "two", "online-ewc", "three"])
    assert len({style.colour for style in found.values()}) == 5
    assert VERMILION not in {style.colour for style in found.values()}, "the chain's"


def test_the_page_draws_what_the_figures_draw():
    names = ["benna-fusi", "control", "try-control"]
    (exhibit,) = exhibits.profiles([(name, {"reward": float(i)}) for i, name in enumerate(names)])
    drawn, expected = exhibit.data["styles"], styles(names)
    assert {name: one["colour"] for name, one in drawn.items()} == {
        name: style.colour for name, style in expected.items()
    }
    assert [one["dashes"] for one in drawn.values()] == [[], [5, 1.5], [3, 1, 1, 1]]
    assert known("try-control") == known("control")
    up = drawn["try-control"]["corners"]
    assert up == "0,-0.5 -0.5,0.5 0.5,0.5 0,-0.5", "a triangle that stands"
