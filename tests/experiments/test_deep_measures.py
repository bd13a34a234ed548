"""Every measure of the deep runs, against numbers worked out by hand."""

import numpy as np
import pytest

from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep.deep_records import trials, trials_of
from bennafusi.results import RunData
from bennafusi.training.deep_state import Tests, Trial

INF = float("inf")


def played(epoch, task, rewards, training=0.0, every=10):
    return [
        Trial(
            epoch, every * place, task, float(reward), 20, float(training), 20.0, 0.5, 1.0, 64, 20
        ).record()
        for place, reward in enumerate(rewards, start=1)
    ]


def switch(epoch, task, distances=None, **scores):
    return {
        "kind": "switch",
        "epoch": epoch,
        "task": task,
        "tests": {name.replace("_", "-"): list(score) for name, score in scores.items()},
        "distances": distances or {},
    }


def two_epochs(first, second=(), training=(0.0, 0.0)):
    """Cart-Pole, then Catcher, the second unfinished if there is nothing of it."""
    records = [switch(0, None, cartpole=[20], catcher=[-5])]
    records += played(1, "cartpole", first, training[0])
    records.append(switch(1, "cartpole", cartpole=[400], catcher=[-7]))
    if second:
        records += played(2, "catcher", second, training[1])
        records.append(switch(2, "catcher", cartpole=[100], catcher=[12]))
    return RunData("benna-fusi", 0, records)


def one_of_another_task():
    records = [switch(0, None, other=[0]), *played(1, "other", [9] * 12)]
    return RunData("control", 0, [*records, switch(1, "other", other=[9])])


def test_relearning_counts_training_episodes_until_ten_tests_are_good_enough():
    # Tests 1 to 5 earn 0, then 500: nine of ten give 450, which is enough, in tests 5 to 14.
    run = two_epochs([0] * 5 + [500] * 20)
    assert measures.relearning(run).tolist() == [14 * 10 - 14]
    # The first ten tests may do: 90 training episodes and 10 tests.
    assert measures.relearning(two_epochs([450] * 10)).tolist() == [90]
    assert measures.relearning(two_epochs([450] * 9 + [449] * 9)).tolist() == [INF]
    assert measures.relearning(two_epochs([500] * 9)).tolist() == [INF]  # ten tests are needed


def test_what_was_not_relearnt_is_censored_where_its_tests_end():
    assert measures.durations(two_epochs([450] * 10, [9] * 12)) == [(90, True), (108, False)]
    (none,) = measures.durations(one_of_another_task())
    assert np.isnan(none.time), "it has no threshold"
    assert np.isnan(measures.relearning(one_of_another_task())).all()


def test_each_task_has_its_threshold_and_no_test_of_another_epoch_counts():
    run = two_epochs([500] * 12, [9] * 10 + [20] + [9] * 10)
    assert measures.relearning(run).tolist() == [90, 11 * 9]
    short = two_epochs([500] * 12, [14] * 9)
    assert measures.relearning(short).tolist() == [90, INF]


def test_an_unfinished_epoch_is_left_out():
    run = two_epochs([500] * 12)
    more = run._replace(records=[*run.records, *played(2, "catcher", [14] * 30)])
    assert measures.relearning(more).tolist() == [90]
    assert measures.epoch_tasks(more) == ["cartpole"]
    assert measures.reward_per_epoch(more).tolist() == [50.0]


def test_reward_per_epoch_is_over_all_episodes():
    # Of ten episodes nine train and one tests.
    run = two_epochs([100, 300], [10, 10], training=(50, 0))
    assert measures.reward_per_epoch(run).tolist() == [(18 * 50 + 400) / 20, 1.0]


def test_moving_average_runs_over_epochs():
    run = two_epochs([1, 2, 3], [7, 9])
    episodes, averages = measures.moving_average(run, 2)
    assert episodes.tolist() == [20, 30, 40, 50]
    assert averages.tolist() == [1.5, 2.5, 5, 8]
    assert measures.final_average(run, 5) == 22 / 5
    assert np.isnan(measures.final_average(run, 6))
    assert measures.moving_average(run, 6)[0].size == 0


def test_when_an_average_is_reached_and_how_low_it_falls_afterwards():
    run = two_epochs([0, 0, 0, 8, 8, 8, 2, 8])
    assert measures.first_reaching(run, 2, 8) == 50
    assert measures.first_reaching(run, 2, 9) == INF
    assert measures.lowest_in_last(run, 2, 0.25) == 5  # at the last two tests: 5 and 5
    assert measures.lowest_in_last(run, 1, 0.25) == 2
    assert measures.lowest_in_last(run, 1, 0.125) == 8
    assert np.isnan(measures.lowest_in_last(run, 9, 0.25))


@pytest.mark.parametrize(("count", "expected"), [(10_000, 1000), (1000, 100), (25, 2), (3, 1)])
def test_windows_are_the_paper_s_or_a_tenth_of_the_tests(count, expected):
    assert measures.window_of(two_epochs([0] * count), 1000) == expected
    assert measures.window_of(two_epochs([0] * count), 100) == min(100, expected)


def test_tests_are_one_thing_from_the_loop_to_the_measures():
    found = trials_of(two_epochs([1, 2], [3]))
    assert found.reward.tolist() == [1, 2, 3]
    assert found.task.tolist() == ["cartpole", "cartpole", "catcher"]
    assert trials_of(RunData("control", 0, [])).reward.size == 0

    counts, numbers = np.array([0, 1, 7]), np.array([0.5, 1 / 3, 9.0])
    fields = dict.fromkeys(Trial._fields, counts)
    fields |= {**dict.fromkeys(("reward", "loss", "largest"), numbers), "task": None}
    ended = Tests(np.array(2), Trial(**fields))  # the third place is void
    first, second = trials(ended, ("cartpole", "catcher"))
    assert (first.epoch, first.episode, first.task, first.reward) == (1, 1, "cartpole", 0.5)
    assert (second.epoch, second.task, second.updates) == (2, "catcher", 1)
    assert (second.reward, second.loss) == (1 / 3, 0.333333), "means are short, rewards are not"
    assert list(second.record())[:4] == ["kind", "epoch", "episode", "task"]


def rotation():
    """Three tasks, four epochs, the first of them twice."""
    return RunData(
        "benna-fusi",
        0,
        [
            switch(0, None, cartpole_long=[0, 100], catcher=[-10], cartpole=[50]),
            switch(1, "cartpole-long", cartpole_long=[450], catcher=[-6], cartpole=[250]),
            switch(2, "catcher", cartpole_long=[400], catcher=[12], cartpole=[30]),
            switch(3, "cartpole", cartpole_long=[250], catcher=[2], cartpole=[500]),
            switch(4, "cartpole-long", cartpole_long=[500], catcher=[-8], cartpole=[300]),
        ],
    )


def test_scores_at_switches():
    scores = measures.switch_scores(rotation())
    assert list(scores) == ["cartpole-long", "catcher", "cartpole"]
    assert scores["cartpole-long"].tolist() == [50, 450, 400, 250, 500]
    assert measures.switch_epochs(rotation()).tolist() == [0, 1, 2, 3, 4]


def test_distances():
    gaps = [{"weights": [0.0, 1.0], "gains": [0.0, 2.0]}, {"weights": [0, 3], "gains": [0, 4]}]
    records = [switch(epoch, "cartpole", gap, cartpole=[1]) for epoch, gap in enumerate(gaps)]
    found = measures.distances(RunData("benna-fusi", 0, records))
    assert {name: table.tolist() for name, table in found.items()} == {
        "weights": [[0, 1], [0, 3]],
        "gains": [[0, 2], [0, 4]],
    }
    assert measures.distances(two_epochs([1])) == {}


def test_a_run_that_has_not_begun():
    run = RunData("control", 0, [])
    for measure in (measures.relearning, measures.reward_per_epoch, measures.switch_epochs):
        assert measure(run).size == 0
    assert measures.moving_average(run, 1)[1].size == 0
    for measure in (
        measures.switch_scores,
        measures.distances,
    ):
        assert measure(run) == {}
