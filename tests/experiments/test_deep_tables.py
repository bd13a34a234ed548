"""The numbers that are handed on, against runs made up by hand."""

import math

import numpy as np
import pytest

from bennafusi.experiments import statistics
from bennafusi.experiments.deep import deep_tables as tables
from bennafusi.experiments.grid_switch import grid_measures as grid
from bennafusi.results import RunData
from tests.experiments.test_deep_measures import played, switch

INF = float("inf")


def visits(seed=0, seconds=None, catcher=5, tests=10):
    """Cart-Pole and Catcher in turn for four epochs; Catcher is never relearnt."""
    gaps, own = {"weights": [0.0, 0.5]}, catcher
    records = [switch(0, None, gaps, cartpole=[50], catcher=[0])]
    scores = {1: (450, 2), 2: (250, 8), 3: (450, 4), 4: (350, 9)}
    for epoch, (cartpole, catcher) in scores.items():
        task = ("catcher", "cartpole")[epoch % 2]
        rewards = [500] * tests if task == "cartpole" else [own] * tests
        records += played(epoch, task, rewards, rewards[0])
        records.append(switch(epoch, task, gaps, cartpole=[cartpole], catcher=[catcher]))
    return RunData("benna-fusi", seed, records, seconds)


def test_a_run_of_several_tasks_by_its_numbers():
    found = tables.scores(visits(seconds=7.0))
    assert math.isnan(found.pop("relearning gain catcher, share of episodes")), "never learnt"
    assert found.pop(tables.AVERAGE) == pytest.approx((350 / 450 + 9 / 10) / 2)
    assert found == {
        "relearnt cartpole, share of later visits": 1.0,
        "median duration cartpole, episodes to relearn": 90.0,
        "relearning gain cartpole, share of episodes": 0.0,
        "reward cartpole, later visits": 500.0,
        "drop after switch cartpole, reward": 0.0,
        "area under curve cartpole, reward": 500.0,
        "forgetting from end cartpole, reward": 450.0 - 350,
        "forgetting from end cartpole, reward, mean over switches": (200.0 + 100) / 2,
        "forgetting from peak cartpole, reward": 100.0,
        "relearnt catcher, share of later visits": 0.0,
        "median duration catcher, episodes to relearn": INF,
        "reward catcher, later visits": 5.0,
        "drop after switch catcher, reward": 0.0,
        "area under curve catcher, reward": 5.0,
        "forgetting from end catcher, reward": 0.0,
        "forgetting from end catcher, reward, mean over switches": 8.0 - 4,
        "forgetting from peak catcher, reward": 0.0,
        "zero-shot transfer catcher, reward": 2.0,
        "seconds": 7.0,
    }


def test_a_run_of_one_task_by_its_numbers():
    records = [switch(0, None, cartpole=[9]), *played(1, "cartpole", [0] * 50 + [480] * 150)]
    run = RunData("control", 0, [*records, switch(1, "cartpole", cartpole=[480])])
    found = tables.scores(run)
    assert found.pop("area under curve cartpole, reward") == 360
    assert math.isnan(found.pop("seconds"))
    assert found == {
        "final moving average": 480,
        "lowest moving average of the last quarter": 480,
        "highest moving average": 480,
        # Twenty tests are a tenth of all: number 51 to 70 are the first without a 0.
        "first episode with a moving average of 475": 700,
    }


def test_the_tables_of_two_seeds():
    found = {t.name: t for t in tables.tables([visits(0), visits(1)])}
    assert list(found) == ["summary", "epochs", "switches", "beakers", "curve"]
    assert found["epochs"].rows[0] == ("benna-fusi", 0, 1, "cartpole", 90.0, 500.0)
    assert found["epochs"].rows[1] == ("benna-fusi", 0, 2, "catcher", INF, 5.0)
    assert found["switches"].rows[:2] == [
        ("benna-fusi", 0, 0, "", "cartpole", 50.0),
        ("benna-fusi", 0, 1, "cartpole", "cartpole", 450.0),
    ]
    assert found["beakers"].rows[:2] == [
        ("benna-fusi", 0, 0, "weights", 1, 0.0),
        ("benna-fusi", 0, 0, "weights", 2, 0.5),
    ]
    assert len(found["beakers"].rows) == 2 * 5 * 2
    assert found["curve"].rows[0] == ("benna-fusi", 0, 40, 4, 500.0)
    assert len(found["summary"].rows) == 21


def alone(**given):
    return visits(**given)._replace(variant=tables.ALONE)


def test_forward_transfer_is_against_who_learns_each_task_alone():
    """Catcher's first visit at 5 where the other has 4 has won so much of what was left to win."""
    runs = [visits(0), visits(1), alone(catcher=4)]
    assert tables.transfer(runs).rows == [("benna-fusi", 0, "catcher", pytest.approx(1 / 10.28))]
    assert "transfer" in [table.name for table in tables.tables(runs)]


def test_forward_transfer_is_of_the_first_visit():
    again = played(5, "catcher", [12] * 10)
    twice = visits(0)._replace(records=[*visits(0).records, *again])
    assert tables.transfer([twice, alone(catcher=4)]).rows[0][3] == pytest.approx(1 / 10.28)


@pytest.mark.parametrize("other", [alone(catcher=14.5), alone(tests=9)])
def test_forward_transfer_is_not_known_where_nothing_is_left_or_lengths_differ(other):
    ((*_, number),) = tables.transfer([visits(0), other]).rows
    assert math.isnan(number)


def test_long_curves_are_thinned_and_keep_their_ends():
    run = RunData("control", 3, played(1, "catcher", range(5000)))
    (curve,) = [t for t in tables.tables([run]) if t.name == "curve"]
    assert len(curve.rows) == tables.CURVE_POINTS
    assert curve.rows[0][2] == 5000
    assert curve.rows[-1][2] == 50_000


@pytest.mark.parametrize("records", [[], [switch(0, None, cartpole=[1], catcher=[2])]])
def test_runs_that_have_just_begun(records):
    found = tables.tables([RunData("control", 0, records)])
    assert "epochs" not in [table.name for table in found]
    assert all(math.isnan(row[3]) or row[3] == 0 for row in found[0].rows if row[2] == 0)


def test_a_summary_leaves_out_what_is_not_known_and_has_no_mean_of_never():
    scored = [("a", {"x": number}) for number in (1.0, float("nan"), 3.0, INF)]
    (some,) = statistics.summary(scored[:3]).rows
    assert some[:5] == ("a", "x", 2, 2.0, pytest.approx(np.std([1, 3], ddof=1)))
    (never,) = statistics.summary(scored).rows
    assert (never[2], never[3], never[7]) == (3, INF, 3.0)
    (nothing,) = statistics.summary(scored[1:2]).rows
    assert nothing[2] == 0
    assert all(math.isnan(x) for x in nothing[3:])


def test_the_grid_counts_an_epoch_without_reward_as_its_length():
    def epoch(number, first, relearnt):
        return {
            "kind": "epoch",
            "epoch": number,
            "first_reward": first,
            "relearning_steps": relearnt,
            "steps": 1000,
        }

    records = [epoch(1, 9, 9), epoch(2, 9, 9), epoch(3, 100, None), epoch(4, None, 200)]
    run = RunData("control", 0, records, 2.0)
    assert grid.scores(run) == {
        "steps to the first reward, epochs 3 on": 550.0,
        "steps to a good policy, epochs 3 on": 600.0,
        "seconds": 2.0,
    }
    summary, epochs = grid.tables([run])
    assert len(summary.rows) == 3
    assert epochs.rows[2] == ("control", 0, 3, 100.0, INF, 1000.0)
