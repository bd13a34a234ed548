"""Our own claims about the depths, on made-up runs of which they must hold, fail or say nothing."""

import pytest

from bennafusi.experiments.deep import depth_claims as judge
from bennafusi.experiments.deep import depth_which, epoch_length, three_task, two_task
from bennafusi.experiments.deep.depth_choice import chosen, earned, ends, gain, returns
from bennafusi.results import RunData

TASKS = ("cartpole", "catcher")
EPOCH = 1000  # updates


def look(epoch, rewards, timescales=(10.0, 900.0, 40_000.0)):
    return {
        "kind": "depths",
        "epoch": epoch,
        "task": TASKS[(epoch - 1) % 2],
        "updates": epoch * EPOCH,
        "depths": [1, 2, 3],
        "timescales": list(timescales),
        "rewards": rewards,
    }


def switch(epoch):
    task = TASKS[(epoch - 1) % 2] if epoch else None
    return {"kind": "switch", "epoch": epoch, "task": task}


def games(choosing, others):
    return [*[choosing] * 5, *[others] * 5]


def run_of(cartpole, catcher, seed, epochs=4, **other):
    """A run whose depths play alike at every switch: pairs of means, choosing and other games."""
    rewards = {
        task: [games(*pair) for pair in pairs]
        for task, pairs in zip(TASKS, (cartpole, catcher), strict=True)
    }
    records = [switch(0)]
    for epoch in range(1, epochs + 1):
        records += [switch(epoch), look(epoch, rewards, **other)]
    return RunData("benna-fusi", seed, records)


KNOWS = [(100, 100), (480, 470), (50, 50)]
LUCKY = [(100, 200), (480, 190), (50, 50)]  # the best in the games that choose, and not after
NEITHER = [(0, 0), (0.5, 0.5), (0, 0)]


def five(*args, **other):
    return [run_of(*args, seed, **other) for seed in range(10, 15)]


def test_half_of_the_games_chooses_and_the_other_half_judges():
    found = look(2, {"cartpole": [games(*pair) for pair in KNOWS]})
    assert chosen(found, "cartpole") == 2
    assert earned(found, "cartpole", 2) == 480
    assert gain(found, "cartpole", 2) == 370
    assert gain(found, "cartpole", 1) == 0
    close = look(2, {"catcher": [games(*pair) for pair in NEITHER]})
    assert chosen(close, "catcher") == 1, "0.5 is no tenth of 10"
    assert chosen(close, "catcher", margin=0) == 2


def test_only_switches_back_to_a_task_count():
    run = run_of(KNOWS, NEITHER, 10, epochs=4)
    assert [(x.task, x.look["epoch"]) for x in returns(run)] == [
        ("cartpole", 2),
        ("catcher", 3),
        ("cartpole", 4),
    ]
    assert [(x.task, x.look["epoch"]) for x in ends(run)] == [
        ("cartpole", 1),
        ("catcher", 2),
        ("cartpole", 3),
        ("catcher", 4),
    ]
    running = RunData("a", 0, [*run.records[:-2], look(4, run.records[-1]["rewards"])])
    assert [x.look["epoch"] for x in returns(running)] == [2, 3], "epoch 4 has not ended"


@pytest.mark.parametrize(
    ("cartpole", "holds"), [(KNOWS, True), (LUCKY, False), ([(9, 9)] * 3, False)]
)
def test_a_depth_must_do_better_in_games_that_did_not_choose_it(cartpole, holds):
    found = judge.starts_higher(five(cartpole, NEITHER), "benna-fusi", "cartpole")
    assert found.holds is holds
    of_catcher = judge.starts_higher(five(cartpole, NEITHER), "benna-fusi", "catcher")
    assert of_catcher.holds is False
    assert of_catcher.measured == "+0 [+0, +0] more; a depth was chosen at 0 of 5 switches"


def test_the_numbers_of_a_depth_that_knows():
    found = judge.starts_higher(five(KNOWS, NEITHER), "benna-fusi", "cartpole")
    assert found.measured == "+370 [+370, +370] more; a depth was chosen at 10 of 10 switches"


def test_at_the_end_of_an_epoch_the_task_that_was_trained_is_played():
    runs = five([(9, 9)] * 3, [(2, 2), (8, 7), (1, 1)], epochs=2)
    assert judge.ends_higher(runs, "benna-fusi", "catcher").measured.startswith("+5 [+5, +5] more")
    assert judge.ends_higher(runs, "benna-fusi", "catcher").holds is True
    assert judge.ends_higher(runs, "benna-fusi", "cartpole").holds is False
    assert judge.smoothed(runs, "benna-fusi", "catcher").holds is True
    worse = judge.smoothed(runs, "benna-fusi", "catcher", depth=3)
    assert (worse.holds, worse.measured[:12]) == (False, "-1 [-1, -1] ")


def test_four_seeds_or_no_return_are_not_enough():
    for runs in ([], five(KNOWS, NEITHER)[:4], five(KNOWS, NEITHER, epochs=1)):
        found = judge.starts_higher(runs, "benna-fusi", "cartpole")
        assert found.holds is None
        assert found.measured.startswith("not enough data")
    for finding in (*two_task.ours([]), *three_task.ours([]), *epoch_length.ours([])):
        assert finding.holds is None
        assert finding.measured.startswith("not enough data")


@pytest.mark.parametrize(
    ("timescale", "holds"), [(900.0, True), (3_900.0, True), (4_100.0, False), (240.0, False)]
)
def test_the_best_depth_is_as_slow_as_an_epoch_is_long(timescale, holds):
    runs = five(KNOWS, NEITHER, timescales=(10.0, timescale, 4e6))
    assert depth_which.near_the_epoch(runs, ["benna-fusi"]).holds is holds
    lucky = depth_which.near_the_epoch(five(LUCKY, NEITHER), ["benna-fusi"])
    assert lucky.holds is None
    assert lucky.measured == "not enough data: a depth was clearly better at 0 of 15 switches"


def relearning(variant, seed, counts):
    """A run that relearns after so many training episodes in each epoch of 200."""
    records = [switch(0)]
    for epoch, count in enumerate(counts, 1):
        task = TASKS[(epoch - 1) % 2]
        good = {"cartpole": 500, "catcher": 14}[task]
        for test in range(1, 101):
            trained = test  # every second episode is a test
            record = dict.fromkeys(("length", "training_reward", "training_length"), 0)
            record |= dict.fromkeys(("loss", "largest", "updates", "steps"), 0)
            reward = good if trained > count else 0
            record |= {"kind": "test", "epoch": epoch, "episode": 2 * test, "task": task}
            records.append(record | {"reward": reward})
        records.append(switch(epoch))
    return RunData(variant, seed, records)


def test_recall_must_save_episodes_and_never_counts_as_the_epoch():
    slow = [relearning("benna-fusi", seed, [40] * 4 + [999] * 2) for seed in range(10, 15)]
    fast = [relearning("recall", seed, [40, 40, 0, 40, 0, 999]) for seed in range(10, 15)]
    found = judge.sooner([*slow, *fast], "recall", "benna-fusi", "cartpole", "With recall")
    assert found.holds is True
    # Ten good tests end after 9 or 10 training episodes more; then the mean of 49 and 100.
    assert found.measured == "recall 10, benna-fusi 74 episodes; -64.5 [-64.5, -64.5]"
    same = judge.sooner([*slow, *fast], "recall", "benna-fusi", "catcher", "With recall")
    assert same.holds is False
    few = judge.sooner([*slow[:4], *fast], "recall", "benna-fusi", "catcher", "With recall")
    assert few.holds is None


def test_a_hold_that_never_came_is_plain_recall():
    def recalled(variant, held):
        runs = [relearning(variant, seed, [40, 40, 0, 40, 0, 40]) for seed in range(10, 15)]
        return [
            run._replace(
                records=[*run.records, {"kind": "recall", "held": held and run.seed == 11}]
            )
            for run in runs
        ]

    slow = [relearning("benna-fusi", seed, [40] * 6) for seed in range(10, 15)]
    both = judge.with_recall([*slow, *recalled(judge.HOLD, held=False)], "benna-fusi", ["cartpole"])
    assert [finding.holds for finding in both] == [True, True]
    lent = (
        " (seeds 10, 11, 12, 13, 14 are those of benna-fusi-recall-hold, which held nothing back)"
    )
    assert both[0].measured == both[1].measured.replace("-hold", "") + lent
    held = judge.with_recall([*slow, *recalled(judge.HOLD, held=True)], "benna-fusi", ["cartpole"])
    assert [finding.holds for finding in held] == [None, True], "seed 11 is another run then"
    own = [*slow, *recalled(judge.RECALL, held=False), *recalled(judge.HOLD, held=False)]
    assert "held nothing" not in judge.with_recall(own, "benna-fusi", ["cartpole"])[0].measured


def test_a_way_to_choose_is_judged_over_all_tasks():
    best = depth_which.Judge("the games", lambda x: chosen(x.look, x.task))
    runs = five(KNOWS, NEITHER)
    found = depth_which.chooses_well(runs, ["benna-fusi"], best)
    assert found.holds is True
    assert found.measured.startswith("+0.548 "), "370 / 450 at two of three switches"
    worst = depth_which.Judge("the deepest", lambda x: 3)
    assert depth_which.chooses_well(runs, ["benna-fusi"], worst).holds is False
    silent = depth_which.Judge("nobody", lambda x: None)
    assert depth_which.chooses_well(runs, ["benna-fusi"], silent).holds is None
