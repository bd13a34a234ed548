"""The metrics of several tasks in turn, against numbers worked out by hand."""

import numpy as np
import pytest

from bennafusi.experiments.deep import deep_continual as continual
from bennafusi.experiments.deep import deep_tables
from bennafusi.results import RunData
from tests.experiments.test_deep_measures import played, rotation, switch, two_epochs

INF = float("inf")


def in_order(order, scores, tests=None, **first):
    """A run whose epochs train the tasks of an order; scores are those of all at each switch."""
    records = [switch(0, None, **{name: [score] for name, score in first.items()})]
    for number, (task, row) in enumerate(zip(order, scores, strict=True), start=1):
        records += played(number, task, tests[number - 1] if tests else [])
        at_end = {name: [score] for name, score in zip(first, row, strict=True)}
        records.append(switch(number, task, **at_end))
    return RunData("benna-fusi", 0, records)


def measure(run, name):
    """A measure by task; its name has a gap for it."""
    found = continual.by_task(run)
    known = {task: numbers.get(name.format(task)) for task, numbers in found.items()}
    return {task: number for task, number in known.items() if number is not None}


def test_both_forms_of_forgetting_in_a_rotation():
    run = rotation()
    assert measure(run, "forgetting from end {}, reward") == {
        "cartpole-long": 0.0,  # trained last
        "catcher": 12 - -8,
        "cartpole": 500 - 300,
    }
    assert measure(run, "forgetting from end {}, reward, mean over switches") == {
        "cartpole-long": ((450 - 400) + (450 - 250)) / 2,
        "catcher": ((12 - 2) + (12 - -8)) / 2,
        "cartpole": 200.0,
    }
    assert measure(run, "forgetting from peak {}, reward") == {
        "cartpole-long": 0.0,
        "catcher": 20.0,
        "cartpole": 200.0,
    }


def test_the_two_forms_differ_where_a_task_was_better_before():
    order, scores = ("catcher", "cartpole", "catcher"), [(12, 60), (4, 300), (9, 250)]
    run = in_order(order, scores, catcher=-10, cartpole=50)
    assert measure(run, "forgetting from end {}, reward") == {"catcher": 0.0, "cartpole": 50.0}
    assert measure(run, "forgetting from peak {}, reward") == {"catcher": 3.0, "cartpole": 50.0}


def test_a_switch_to_the_same_task_is_none():
    order = ("catcher", "cartpole", "cartpole", "catcher", "cartpole")
    scores = [(10, 60), (4, 300), (0, 450), (10, 250), (8, 500)]
    tests = [[1, 9], [0, 300], [200, 450], [3, 9], [250, 450]]
    run = in_order(order, scores, tests, catcher=-10, cartpole=50)
    lost = measure(run, "forgetting from end {}, reward, mean over switches")
    assert lost == {"catcher": ((10 - 4) + (10 - 0) + (10 - 8)) / 3, "cartpole": 200.0}
    # Two tests on either side: the shortest visit of each has no more.
    assert continual.drops(run) == {
        "catcher": (1 + 9) / 2 - (3 + 9) / 2,
        "cartpole": (200 + 450) / 2 - (250 + 450) / 2,
    }


def test_the_drop_is_over_ten_tests_and_of_the_task_itself():
    visit = [*[0] * 10, *[8] * 20]
    tests = [visit, [400] * 30, visit, [500] * 30]
    order, scores = ("catcher", "cartpole") * 2, [(0, 0)] * 4
    run = in_order(order, scores, tests, catcher=0, cartpole=0)
    assert continual.drops(run) == {"catcher": 8.0, "cartpole": -100.0}
    assert continual.drops(two_epochs([1] * 12, [2] * 12)) == {}, "nothing came back"


def test_transfer_is_the_zero_shot_one():
    name = "zero-shot transfer {}, reward"
    assert measure(rotation(), name) == {"catcher": -6 - -10, "cartpole": 30 - 50}
    begun = rotation()._replace(records=rotation().records[:2])
    np.testing.assert_equal(measure(begun, name), {"catcher": np.nan, "cartpole": np.nan})
    assert not [k for k in deep_tables.scores(rotation()) if "forward" in k], "another formula"


def visits(*catcher):
    """Catcher and Cart-Pole in turn; Catcher passes after so many of 20 tests, 0 being never."""
    tests = []
    for tests_needed in catcher:
        bad = tests_needed - 10 if tests_needed else 20
        tests += [[*[-20] * bad, *[10] * (20 - bad)], [0] * 20]
    order = ("catcher", "cartpole") * len(catcher)
    return in_order(order, [(0, 0)] * len(order), tests, catcher=0, cartpole=0)


@pytest.mark.parametrize(
    ("later", "median"),
    [
        ((11, 12), 9 * 11),  # of two, Kaplan and Meier have the first; np.median the mean
        ((11, 0), 9 * 11),  # one of two was reached: half are left
        ((11, 0, 0), INF),
        ((11, 12, 0), 9 * 12),
    ],
)
def test_relearning_is_censored_and_its_gain_is_against_the_first_visit(later, median):
    run = visits(20, *later)
    assert measure(run, "median duration {}, episodes to relearn")["catcher"] == median
    gain = measure(run, "relearning gain {}, share of episodes")
    assert gain["catcher"] == (180 - median) / 180
    assert np.isnan(gain["cartpole"]), "it was never learnt"
    share = measure(run, "relearnt {}, share of later visits")
    assert share == {"catcher": sum(x > 0 for x in later) / len(later), "cartpole": 0.0}


def test_without_a_later_visit_nothing_is_known_of_relearning():
    found = continual.by_task(visits(12))["catcher"]
    for name in (
        "relearnt catcher, share of later visits",
        "median duration catcher, episodes to relearn",
        "relearning gain catcher, share of episodes",
        "reward catcher, later visits",
        "drop after switch catcher, reward",
    ):
        assert np.isnan(found[name])


def test_a_task_without_a_threshold_has_no_relearning_and_no_average():
    run = in_order(("one", "two"), [(5, 1), (3, 7)], [[1] * 12, [2] * 12], one=0, two=2)
    found = deep_tables.in_turn(run)
    np.testing.assert_equal(
        found,
        {
            "reward one, later visits": np.nan,
            "drop after switch one, reward": np.nan,
            "area under curve one, reward": 1.0,
            "forgetting from end one, reward": 2.0,
            "forgetting from end one, reward, mean over switches": 2.0,
            "forgetting from peak one, reward": 2.0,
            "reward two, later visits": np.nan,
            "drop after switch two, reward": np.nan,
            "area under curve two, reward": 2.0,
            "forgetting from end two, reward": 0.0,
            "forgetting from end two, reward, mean over switches": np.nan,
            "forgetting from peak two, reward": 0.0,
            "zero-shot transfer two, reward": -1.0,
        },
    )


def test_average_performance_is_in_shares_of_thresholds():
    # 500, -8 and 300 of 450, 10 and 450
    assert continual.average(rotation()) == pytest.approx((500 / 450 - 8 / 10 + 300 / 450) / 3)


def test_area_under_the_curve():
    run = two_epochs([0, 100], [5, 7, 9])
    assert continual.areas(run) == {"cartpole": 50, "catcher": 7}


@pytest.mark.parametrize("records", [[], [switch(0, None, cartpole=[1], catcher=[2])]])
def test_a_run_that_has_just_begun(records):
    run = RunData("control", 0, records)
    assert continual.by_task(run) == {}
    assert deep_tables.in_turn(run) == {}
    assert continual.areas(run) == continual.drops(run) == {}


def test_a_single_task_has_no_others_to_forget_it_for():
    records = [switch(0, None, cartpole=[20]), switch(1, "cartpole", cartpole=[500])]
    assert deep_tables.in_turn(RunData("benna-fusi", 0, records)) == {}
