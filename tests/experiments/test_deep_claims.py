"""The claims about the deep runs, on made-up runs of which they must hold, fail or say nothing."""

import pytest

from bennafusi.experiments.deep import (
    ablation,
    epoch_length,
    epsilon_floor,
    online_cartpole,
    online_catcher,
    relearning_figure,
    replay_size,
    three_task,
    two_task,
)
from bennafusi.experiments.deep.deep_records import Trial
from bennafusi.results import RunData

NEVER = 99
FULL = {"cartpole": 500.0, "cartpole-long": 500.0, "catcher": 14.0}
TWO, THREE = ("cartpole", "catcher"), ("cartpole-long", "catcher", "cartpole")
CONTROLS = ("control-1e-3", "control-1e-4", "control-1e-5", "control-1e-6")


def switch(epoch, task, tasks):
    tests = {name: [0.0] for name in tasks}
    return {"kind": "switch", "epoch": epoch, "task": task, "tests": tests, "distances": {}}


def test_record(epoch, place, task, reward):
    trial = Trial(epoch, 10 * place, task, reward, 20, reward, 20.0, 0.5, 1.0, 64, 20)
    return trial.record()


test_record.__test__ = False  # a record of a test, and no test


def in_turn(variant, seed, poor, tasks=TWO, seconds=None):
    """A run of which each epoch has 25 tests, so many of them poor and then only good ones."""
    records = [switch(0, None, tasks)]
    for epoch, few in enumerate(poor, start=1):
        task = tasks[(epoch - 1) % len(tasks)]
        good = [0.0] * min(few, 25) + [FULL[task]] * max(25 - few, 0)
        records += [test_record(epoch, place, task, r) for place, r in enumerate(good, start=1)]
        records.append(switch(epoch, task, tasks))
    return RunData(variant, seed, records, seconds)


def alone(variant, seed, rewards, task="cartpole", done=True):
    """A run of one task."""
    records = [switch(0, None, [task])]
    records += [test_record(1, place, task, float(r)) for place, r in enumerate(rewards, start=1)]
    return RunData(variant, seed, records + [switch(1, task, [task])] * done)


def verdicts(module, runs):
    return [finding.holds for finding in module.claims(runs)]


# Two tasks: Cart-Pole and Catcher, eight visits each.

FAST = [5, 15] * 2 + [3, 9] * 4 + [1, 2] * 2
SLOW = [2, 4] + [NEVER, 4] * 7


def two_tasks(mine=FAST, control=SLOW, seconds=(150.0, 100.0), seeds=2):
    runs = [in_turn("benna-fusi", seed, mine, seconds=seconds[0]) for seed in range(seeds)]
    return runs + [
        in_turn(name, seed, control, seconds=seconds[1])
        for name in CONTROLS
        for seed in range(seeds)
    ]


def test_two_tasks_as_the_paper_says():
    found = two_task.claims(two_tasks())
    assert [c.holds for c in found] == [True] * 13
    assert found[0].measured == "14 of 14 later visits; with the first 16 of 16"
    assert found[1].measured == "14 of 14 later visits (100%)"
    # One poor test is made up for by nine good ones: 9 of 10 give 450. The first quarter is two
    # visits, in which the fifth test was the last poor one.
    assert "benna-fusi 90, control-1e-3 never" in found[6].measured
    assert "in visits 7 to 8; at first benna-fusi 126, control-1e-3 never" in found[6].measured
    assert found[12].measured == "1.50 times (150 s and 100 s)"


def test_two_tasks_the_other_way_round():
    found = verdicts(two_task, two_tasks(mine=SLOW, control=FAST, seconds=(201.0, 100.0)))
    assert found == [False, *[False] * 4, True, False, False, *[False] * 4, False]


def test_equal_agents_are_not_faster_and_earn_no_more():
    found = verdicts(two_task, two_tasks(mine=FAST, control=FAST))
    assert found == [True, *[False] * 4, True, False, False, *[False] * 4, True]


def test_one_failure_in_one_seed_is_enough():
    runs = two_tasks()
    runs[1] = in_turn("benna-fusi", 1, [*FAST[:6], NEVER, *FAST[7:]])
    first = two_task.claims(runs)[0]
    assert first.holds is False
    assert first.measured.startswith("13 of 14 later visits")


@pytest.mark.parametrize(("failures", "holds"), [(1, False), (2, True)])
def test_a_quarter_of_failures_is_severe(failures, holds):
    control = [2, 4] * 9
    control[2 : 2 + 2 * failures : 2] = [NEVER] * failures  # of 8 later visits
    assert two_task.claims(two_tasks(control=control))[1].holds is holds


def test_all_controls_must_learn_at_first():
    runs = [run for run in two_tasks() if run.variant != "control-1e-6"]
    unable = [in_turn("control-1e-6", seed, [NEVER, *SLOW[1:]]) for seed in range(2)]
    assert two_task.claims([*runs, *unable])[5].holds is False


def test_what_is_missing_is_said():
    nothing = two_task.claims([])
    assert all(c.holds is None for c in nothing)
    assert nothing[0].measured == "not enough data: benna-fusi has 0 of 2 seeds"
    assert all(c.holds is None for c in two_task.claims(two_tasks(seeds=1)))
    begun = two_task.claims(two_tasks(mine=FAST[:4], control=SLOW[:4]))
    assert begun[0].measured == "not enough data: benna-fusi has 2 of 3 visits of cartpole"
    assert begun[5].holds is True  # the first visit is there
    untimed = two_task.claims(two_tasks(seconds=(None, 1.0)))[-1]
    assert untimed.holds is None
    assert "benna-fusi has 0 of 2 timed runs" in untimed.measured


def test_one_missing_control_hides_only_what_is_said_of_it():
    runs = [run for run in two_tasks() if run.variant != "control-1e-6"]
    found = verdicts(two_task, runs)
    assert found == [True, *[True] * 3, None, None, None, None, *[True] * 3, None, True]


def test_a_lagging_run_is_compared_as_far_as_it_is():
    runs = two_tasks()
    runs[-1] = in_turn("control-1e-6", 1, SLOW[:8])
    found = two_task.claims(runs)[6]
    assert "in visits 4 to 4;" in found.measured
    assert found.holds is True


# Three tasks and epochs of other lengths.


def three_tasks(mine, control):
    runs = [in_turn("benna-fusi", seed, mine, THREE) for seed in range(2)]
    return runs + [in_turn("control-1e-3", seed, control, THREE) for seed in range(2)]


def test_three_tasks():
    slow_catcher = [4, 9, 4] + [2, 8, 2] * 2 + [1, 2, 1]
    assert verdicts(three_task, three_tasks(slow_catcher, [3] * 12)) == [True] * 3
    assert verdicts(three_task, three_tasks([2, 5, 2] * 4, [3] * 12)) == [True, False, True]
    assert verdicts(three_task, three_tasks([1] * 9, [3] * 9)) == [None] * 3


def of_length(name, mine, control):
    return [
        in_turn(f"{agent}-{name}", seed, poor)
        for agent, poor in (("benna-fusi", mine), ("control", control))
        for seed in range(2)
    ]


def test_lengths_are_judged_one_by_one():
    runs = of_length("eighth", [9, 9] + [1, 1] * 5, [2, 2] * 6)
    runs += of_length("full", [2, 2] * 6, [2, 2] * 6)  # equally quick
    runs += of_length("double", [2, 3] * 6, [2, 2] * 6)
    runs += of_length("eightfold", [2, 3, 2, 3, 2], [2, 2, NEVER, 2, NEVER])
    found = dict(zip(epoch_length.FACTORS, epoch_length.claims(runs), strict=True))
    assert [c.holds for c in found.values()] == [True, None, None, True, False, None, True]
    assert "benna-fusi-eightfold has 2 of 3 visits of catcher" in found["eightfold"].measured


def test_that_neither_relearns_is_not_equally_quick():
    runs = of_length("full", [NEVER, 2] * 6, [NEVER, 3] * 6)
    full = epoch_length.claims(runs)[3]
    assert "neither relearns" in full.measured
    assert full.holds is True  # by Catcher alone
    assert epoch_length.claims(of_length("full", [NEVER] * 12, [NEVER] * 12))[3].holds is None


# One task.

GOOD, POOR, LATE_FALL = [500] * 100, [100] * 100, [500] * 90 + [100] * 10


def seeds(variant, *curves, **more):
    return [alone(variant, seed, curve, **more) for seed, curve in enumerate(curves)]


def online_runs(mine, control):
    return seeds("benna-fusi", *mine) + [r for c in CONTROLS for r in seeds(c, *control)]


def test_online_cartpole():
    runs = online_runs([GOOD, GOOD, POOR], [LATE_FALL, POOR, GOOD])
    found = online_cartpole.claims(runs)
    assert [c.holds for c in found] == [True, True]
    assert found[1].measured == "benna-fusi 2 of 3 (500, 500, 100)"
    assert verdicts(online_cartpole, online_runs([GOOD, POOR], [GOOD, POOR])) == [False, False]
    assert verdicts(online_cartpole, online_runs([GOOD], [POOR])) == [None, None]
    # One control that succeeds is one too many.
    runs = [run for run in runs if run.variant != "control-1e-5"]
    assert verdicts(online_cartpole, runs)[0] is None
    assert verdicts(online_cartpole, runs + seeds("control-1e-5", GOOD, GOOD))[0] is False


def test_an_unfinished_run_has_no_end():
    runs = [*seeds("benna-fusi", GOOD, GOOD), alone("benna-fusi", 2, POOR, done=False)]
    found = online_cartpole.claims(runs)[1]
    assert found.holds is True
    assert found.measured == "benna-fusi 2 of 2 (500, 500, 1 unfinished left out)"


def catcher(*curves):
    names = ("benna-fusi", "control-1e-3", "control-1e-4")
    return [
        run
        for name, curve in zip(names, curves, strict=True)
        for run in seeds(name, curve, curve, task="catcher")
    ]


def test_online_catcher():
    slow, fast, faster = ([0] * n + [13] * (100 - n) for n in (50, 20, 10))
    best = [0] * 30 + [14] * 70
    found = online_catcher.claims(catcher(slow, faster, best))
    assert [c.holds for c in found] == [True, True]
    assert found[1].measured.endswith("the best control is control-1e-4")
    # The first window of ten that means 10 or more has eight of 13.
    assert "control-1e-3 180, " in found[1].measured
    assert verdicts(online_catcher, catcher(faster, fast, slow)) == [True, False]
    assert verdicts(online_catcher, catcher(slow, fast, [0] * 100)) == [False, True]
    assert verdicts(online_catcher, catcher(slow, fast, slow)[:4]) == [None, None]


def test_replay_size():
    small = [f"control-{size}" for size in (1, 100, 1000)]
    runs = seeds("benna-fusi", GOOD, GOOD, LATE_FALL) + seeds("control-100000", GOOD, GOOD)
    falls = [run for name in small for run in seeds(name, LATE_FALL, POOR)]
    assert verdicts(replay_size, runs + falls) == [True, True, True]
    assert verdicts(replay_size, falls) == [True, None, None]
    assert verdicts(replay_size, falls[:-2] + seeds("control-1000", GOOD, GOOD)) == [
        False,
        None,
        None,
    ]
    worse = seeds("benna-fusi", LATE_FALL, GOOD) + seeds("control-100000", POOR, POOR)
    assert verdicts(replay_size, worse + falls) == [True, False, False]


def test_a_fall_before_the_last_quarter_is_forgiven():
    early = [100] * 60 + [500] * 40
    assert verdicts(replay_size, seeds("benna-fusi", early, early))[2] is True


def test_epsilon_floor():
    falls = [
        run for name in epsilon_floor.EXPERIMENT.variants for run in seeds(name, LATE_FALL, POOR)
    ]
    assert verdicts(epsilon_floor, falls) == [True]
    assert verdicts(epsilon_floor, [*falls, alone("floor-0.1", 2, GOOD)]) == [False]
    assert verdicts(epsilon_floor, falls[2:]) == [None]


def test_a_run_that_diverged_counts_as_one_that_did_not_keep_its_performance():
    lost = [
        alone(name, seed, GOOD, done=False)._replace(failed="diverged in epoch 1, episode 9")
        for name in epsilon_floor.EXPERIMENT.variants
        for seed in range(2)
    ]
    finding = epsilon_floor.EXPERIMENT.claims(lost)[0]
    assert finding.holds
    assert "floor-0 2 of 2 (diverged, diverged)" in finding.measured
    killed = [run._replace(failed="killed by a signal") for run in lost]
    assert epsilon_floor.EXPERIMENT.claims(killed)[0].holds is None


def test_ablation_says_under_which_choices_the_paper_holds():
    runs = [in_turn("default", seed, FAST) for seed in range(2)]
    runs += [in_turn("loss-taken", seed, SLOW) for seed in range(2)]
    runs += seeds("online-default", GOOD, GOOD) + seeds("online-loss-taken", POOR, POOR)
    found = ablation.claims(runs)
    names = list(ablation.EXPERIMENT.variants)
    verdict = {name: c.holds for name, c in zip(names, found, strict=True) if c.holds is not None}
    assert verdict == {
        "default": True,
        "loss-taken": False,
        "online-default": True,
        "online-loss-taken": False,
    }
    # Poor tests in these visits: 3, 3, 1, 1 and 9, 9, 2, 2; Catcher makes up for two in ten.
    assert found[0].measured.endswith("median of the last half of visits: cartpole 99, catcher 122")


# Figures that need more than handing the runs on.


def test_lengths_are_drawn_by_their_number_of_episodes(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(relearning_figure, "epoch_length", lambda runs, _: drawn.extend(runs))
    runs = [*of_length("full", [2, 2] * 3, [2, 2] * 3)[::2], RunData("control-half", 0, [])]
    assert epoch_length.figures(runs, tmp_path) == []
    assert [run.variant for run in drawn] == ["benna-fusi-250", "control-250", "control-0"]


def test_both_families_of_the_ablation_are_drawn(tmp_path):
    one, two = seeds("online-default", GOOD), [in_turn("default", 0, FAST)]
    assert len(ablation.figures([*one, *two], tmp_path)) == 2
    assert len(ablation.figures(one, tmp_path)) == 1
    assert ablation.figures([], tmp_path) == []
