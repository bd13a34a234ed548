"""Open choices of the online agents: the plan, what is made of it, and when a set is good."""

import numpy as np
import pytest

from bennafusi.experiments.deep import online_choices as choices
from tests.experiments.test_deep_claims import alone

EXPERIMENT = choices.EXPERIMENT


def pair(chosen, seed, cartpole, catcher):
    return [
        alone(f"cartpole-{chosen}", seed, (cartpole,) * 40),
        alone(f"catcher-{chosen}", seed, (catcher,) * 40, task="catcher"),
    ]


def planned(end):
    """All sets of the plan; both tasks end at what ``end`` gives for a set."""
    runs = []
    for chosen in choices.SETS:
        runs += pair(chosen, 0, *end(chosen))
    return runs


def test_every_choice_is_made_in_half_of_the_sets_and_none_with_another():
    signs = np.array([[1 if x in c and c != "default" else -1 for x in choices.CHOICES]
                      for c in choices.SETS])  # fmt: skip
    np.testing.assert_array_equal(signs.T @ signs, 16 * np.eye(9))
    np.testing.assert_array_equal(signs.sum(0), np.zeros(9))
    assert "default" in choices.SETS
    assert len(set(choices.SETS)) == 16


def test_a_set_is_its_letters():
    base = EXPERIMENT.settings("paper")
    usual = EXPERIMENT.settings_of("catcher-default", base)
    assert (usual.tasks, usual.gammas) == (("catcher",), (0.99,))
    mine = EXPERIMENT.settings_of("catcher-eupwn", base)
    assert (mine.optimizer.eps, mine.chain.gated, mine.network.gain) == (1e-4, False, "none")
    assert (mine.network.first_bias, mine.chain.g12, mine.chain.n) == (0.1, 0.001, 8)
    assert (mine.time_out, mine.agent, mine.schedule) == (
        usual.time_out,
        usual.agent,
        usual.schedule,
    )
    assert EXPERIMENT.settings("quick").episodes == 30_000


def test_effects_by_hand():
    """Copied weights bring Catcher from 2 to 6, a taken loss Cart-Pole from 475 to 95."""
    runs = planned(lambda c: (95.0 if "t" in c and c != "default" else 475.0,
                              6.0 if "h" in c else 2.0))  # fmt: skip
    found = choices.effects(runs)
    assert list(found) == list(choices.CHOICES)
    for letter, effect in found.items():
        assert effect["catcher"] == pytest.approx(0.4 if letter == "h" else 0.0)
        assert effect["cartpole"] == pytest.approx(-0.8 if letter == "t" else 0.0)


def test_effects_are_over_the_seeds_of_a_whole_plan():
    runs = planned(lambda c: (475.0, 6.0 if "h" in c else 2.0))
    more = [*runs, *pair("default", 1, 10.0, 10.0)]
    assert choices.effects(more) == choices.effects(runs)
    assert choices.effects(runs[:-1]) == {}


def test_best_is_the_smaller_score_and_then_the_sum():
    runs = [*pair("default", 0, 500, 3.0), *pair("eh", 0, 190, 8.0), *pair("u", 0, 475, 4.0)]
    assert choices.best_first(choices.scores(runs)) == ["u", "eh", "default"]
    # A seed that one task alone has does not count.
    late = [*runs, *pair("u", 1, 475, 0.0)[1:]]
    assert choices.scores(late)["u"] == {"cartpole": 1.0, "catcher": 0.4}


def test_a_set_is_good_by_both_rules_and_on_seeds_that_chose_nothing():
    def verdict(runs):
        return choices.claims(runs)[0].holds

    good = [run for seed in (10, 11, 12) for run in pair("eh", seed, 490, 11.0)]
    assert verdict(good) is True
    assert verdict([run._replace(seed=run.seed - 10) for run in good]) is None
    assert verdict([run for run in good if "catcher" in run.variant]) is None
    poor = [run for seed in (10, 11, 12) for run in pair("u", seed, 500, 9.0)]
    assert verdict(poor) is False
    assert verdict(poor + good) is True
    # Each rule by another set is not both by one.
    other = [run for seed in (10, 11, 12) for run in pair("b", seed, 300, 12.0)]
    assert verdict(poor + other) is False


def test_tables_and_the_figure(tmp_path):
    runs = planned(lambda c: (475.0, 6.0 if "h" in c else 2.0))
    sets, each = EXPERIMENT.tables(runs)[-2:]
    assert [row[0] for row in sets.rows][:2] == [c for c in choices.SETS if "h" in c][:2]
    assert sets.rows[0][2:] == pytest.approx((475.0, 6.0, 0.6, 1))
    assert dict(zip((row[1] for row in each.rows), (row[3] for row in each.rows), strict=True))[
        "hidden weights copied"
    ] == pytest.approx(0.4)
    (picture,) = EXPERIMENT.figures(runs, tmp_path)
    assert (tmp_path / "choices.svg").exists()
    assert "as a part of what is asked" in picture.caption
    few = EXPERIMENT.figures(runs[:4], tmp_path)
    assert [one.title for one in few] == [
        "Cart-Pole by set of choices",
        "Catcher by set of choices",
    ]
    assert EXPERIMENT.figures([], tmp_path) == []
    assert EXPERIMENT.tables([])[-1].rows == []
