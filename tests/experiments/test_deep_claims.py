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
from bennafusi.results import RunData
from bennafusi.training.deep_state import Trial

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


FASTER, AT_FIRST, FORGET, RELEARNS, SLOWER, CARTPOLE, CATCHER, TIME = range(8)


def test_two_tasks_as_the_paper_says():
    found = two_task.claims(two_tasks())
    # Every sentence, but for the reward in Catcher: the control has its own from the first visit.
    assert [c.holds for c in found] == [True] * 6 + [False, True]
    assert found[RELEARNS].measured == "14 of 14 later visits; with the first 16 of 16"
    assert found[FORGET].measured.startswith("control-1e-3 14 of 14 (100%), control-1e-4 14 of 14")
    # One poor test is made up for by nine good ones: 9 of 10 give 450.
    assert found[FASTER].measured.startswith("cartpole: benna-fusi 90, control-1e-3 never")
    assert "in visits 7 to 8; catcher: benna-fusi 90, control-1e-3 108" in found[FASTER].measured
    assert found[SLOWER].measured.startswith("benna-fusi 207, control-1e-3 108")
    # Of the 175 tests of seven later visits 19 were poor.
    assert found[CARTPOLE].measured.startswith("per episode: benna-fusi 446 (446 and 446), control")
    assert found[CARTPOLE].measured.endswith("; two seeds carry no interval")
    assert found[TIME].measured == "1.50 times (150 s and 100 s)"


def test_two_tasks_the_other_way_round():
    found = verdicts(two_task, two_tasks(mine=SLOW, control=FAST, seconds=(201.0, 100.0)))
    assert found == [False, True, False, False, False, False, True, False]


def test_equal_agents_are_not_faster_and_earn_no_more():
    found = verdicts(two_task, two_tasks(mine=FAST, control=FAST))
    assert found == [False, True, False, True, False, False, False, True]


def test_one_failure_in_one_seed_is_enough():
    runs = two_tasks()
    runs[1] = in_turn("benna-fusi", 1, [*FAST[:6], NEVER, *FAST[7:]])
    found = two_task.claims(runs)[RELEARNS]
    assert found.holds is False
    assert found.measured.startswith("13 of 14 later visits")


def test_one_task_or_one_control_is_enough_to_be_no_faster():
    """A sentence about each task and all controls is one claim."""
    for slow in ([1, 8], [8, 1]):
        assert two_task.claims(two_tasks(mine=slow * 8, control=[3, 3] * 8))[FASTER].holds is False
    runs = [run for run in two_tasks() if run.variant != "control-1e-5"]
    quick = [in_turn("control-1e-5", seed, [1, 1] * 8) for seed in range(2)]
    assert two_task.claims([*runs, *quick])[FASTER].holds is False
    assert two_task.claims([*runs, *quick])[FORGET].holds is False


@pytest.mark.parametrize(("failures", "holds"), [(1, False), (2, True)])
def test_a_quarter_of_failures_is_severe(failures, holds):
    control = [2, 4] * 9
    control[2 : 2 + 2 * failures : 2] = [NEVER] * failures  # of 8 later visits
    assert two_task.claims(two_tasks(control=control))[FORGET].holds is holds


def test_all_controls_must_learn_at_first():
    runs = [run for run in two_tasks() if run.variant != "control-1e-6"]
    unable = [in_turn("control-1e-6", seed, [NEVER, *SLOW[1:]]) for seed in range(2)]
    assert two_task.claims([*runs, *unable])[AT_FIRST].holds is False


def test_what_is_missing_is_said():
    nothing = two_task.claims([])
    assert all(c.holds is None for c in nothing)
    assert nothing[RELEARNS].measured == "not enough data: benna-fusi has 0 of 2 seeds"
    assert all(c.holds is None for c in two_task.claims(two_tasks(seeds=1)))
    begun = two_task.claims(two_tasks(mine=FAST[:4], control=SLOW[:4]))
    lack = "not enough data: benna-fusi has 2 of 3 visits of cartpole"
    assert begun[RELEARNS].measured == lack
    assert begun[AT_FIRST].holds is True  # the first visit is there
    untimed = two_task.claims(two_tasks(seconds=(None, 1.0)))[TIME]
    assert untimed.holds is None
    assert "benna-fusi has 0 of 2 timed runs" in untimed.measured


def test_controls_that_were_not_run_are_named():
    runs = [run for run in two_tasks() if run.variant in ("benna-fusi", "control-1e-3")]
    found = two_task.claims(runs)
    assert [c.holds for c in found] == [True] * 6 + [False, True]
    for one in (FASTER, AT_FIRST, FORGET, SLOWER, CARTPOLE, CATCHER):
        text = found[one].measured
        assert "not judged: control-1e-4, control-1e-5, control-1e-6" in text


def test_that_nobody_learns_is_not_slower():
    never = two_tasks(mine=[2, NEVER] * 8, control=[2, NEVER] * 8)
    assert two_task.claims(never)[SLOWER].holds is None


def test_a_lagging_run_is_compared_as_far_as_it_is():
    runs = two_tasks()
    runs[-1] = in_turn("control-1e-6", 1, SLOW[:8])
    found = two_task.claims(runs)[FASTER]
    assert "in visits 4 to 4;" in found.measured


# Three tasks and epochs of other lengths.


def three_tasks(mine, control):
    runs = [in_turn("benna-fusi", seed, mine, THREE) for seed in range(2)]
    return runs + [in_turn("control-1e-3", seed, control, THREE) for seed in range(2)]


def test_a_run_that_diverged_does_not_relearn_what_it_did_not_come_to():
    """It used to cut its agent's visits, as if it were on its way."""
    lost = {"failed": "diverged in epoch 7, episode 9: ..."}
    runs = two_tasks()
    runs[1] = in_turn("benna-fusi", 1, FAST[:6])
    on_its_way = two_task.claims(runs)
    assert on_its_way[RELEARNS].holds is True
    runs[1] = runs[1]._replace(**lost)
    found = two_task.claims(runs)
    assert found[RELEARNS].holds is False
    assert found[RELEARNS].measured == (
        "9 of 14 later visits; with the first 11 of 16; diverged, and from there on without "
        "relearning: benna-fusi 1"
    )
    # And a control that diverged has forgotten.
    keeps = two_tasks(control=FAST)
    runs = [r if r.variant != CONTROLS[0] else in_turn(r.variant, r.seed, FAST[:2]) for r in keeps]
    assert two_task.claims(keeps)[FORGET].holds is False
    runs = [r._replace(**lost) if r.variant == CONTROLS[0] else r for r in runs]
    assert f"{CONTROLS[0]} 14 of 14 (100%)" in two_task.claims(runs)[FORGET].measured


def test_three_tasks():
    slow_catcher = [4, 9, 4] + [2, 8, 2] * 2 + [1, 2, 1]
    assert verdicts(three_task, three_tasks(slow_catcher, [3] * 12)) == [True, True]
    assert verdicts(three_task, three_tasks([2, 5, 2] * 4, [3] * 12)) == [True, False]
    assert verdicts(three_task, three_tasks([2, 2, 5] * 4, [3] * 12)) == [False, False]
    assert verdicts(three_task, three_tasks([1] * 9, [3] * 9)) == [False, None]


def of_length(name, mine, control):
    return [
        in_turn(f"{agent}-{name}", seed, poor)
        for agent, poor in (("benna-fusi", mine), ("control", control))
        for seed in range(2)
    ]


def test_every_length_counts_once():
    runs = of_length("eighth", [9, 9] + [1, 1] * 5, [2, 2] * 6)
    runs += of_length("full", [2, 2] * 6, [2, 2] * 6)  # equally quick
    runs += of_length("eightfold", [2, 3, 2, 3, 2], [2, 2, NEVER, 2, NEVER])
    (found,) = epoch_length.claims(runs)
    assert found.holds is True
    assert "catcher: not enough data: benna-fusi-eightfold has 2 of 3 visits" in found.measured
    assert "half" not in found.measured
    (found,) = epoch_length.claims(runs + of_length("double", [2, 3] * 6, [2, 2] * 6))
    assert found.holds is False


def test_that_neither_relearns_is_not_equally_quick():
    (found,) = epoch_length.claims(of_length("full", [NEVER, 2] * 6, [NEVER, 3] * 6))
    assert "neither relearns" in found.measured
    assert found.holds is True  # by Catcher alone
    for runs in ([], of_length("full", [NEVER] * 12, [NEVER] * 12)):
        assert epoch_length.claims(runs)[0].holds is None


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


def test_the_best_control_of_catcher_may_have_any_rate():
    slow, fast, best = ([0] * n + [r] * (100 - n) for n, r in ((50, 13), (20, 13), (60, 14)))
    runs = [*catcher(slow, fast, fast), *seeds("control-1e-5", best, best, task="catcher")]
    all_learn, sooner = online_catcher.claims(runs)
    assert all_learn.holds is True
    assert sooner.holds is False
    assert sooner.measured.endswith("the best control is control-1e-5")
    assert all_learn.measured.endswith("; not judged: control-1e-5")
    one = [*catcher(slow, fast, fast), *seeds("control-1e-5", best, task="catcher")]
    assert online_catcher.claims(one)[1].measured.endswith("the best control is control-1e-3")


def test_of_controls_of_catcher_that_end_alike_the_first_is_the_best():
    slow, fast = ([0] * n + [13] * (100 - n) for n in (50, 20))
    runs = [*catcher(slow, slow, fast), *seeds("control-1e-6", fast, fast, task="catcher")]
    for order in (runs, runs[::-1]):
        sooner = online_catcher.claims(order)[1]
        assert sooner.measured.endswith("the best control is control-1e-3")


def test_a_control_of_catcher_that_diverged_is_not_the_best_one():
    lost = {"failed": "diverged in epoch 1, episode 9"}
    slow, fast = ([0] * n + [13] * (100 - n) for n in (50, 20))
    runs = catcher(slow, fast, slow)
    runs = [r._replace(**lost) if r.variant == "control-1e-3" else r for r in runs]
    all_learn, sooner = online_catcher.claims(runs)
    assert all_learn.holds is False
    assert sooner.measured.endswith("the best control is control-1e-4")


def test_replay_size():
    small = [f"control-{size}" for size in (1, 100, 1000)]
    runs = seeds("benna-fusi", GOOD, GOOD, LATE_FALL) + seeds("control-100000", GOOD, GOOD)
    falls = [run for name in small for run in seeds(name, LATE_FALL, POOR)]
    assert verdicts(replay_size, runs + falls) == [True, True]
    assert verdicts(replay_size, falls) == [None, None]
    better = falls[:-2] + seeds("control-1000", GOOD, GOOD)
    assert verdicts(replay_size, runs + better) == [False, True]
    worse = seeds("benna-fusi", LATE_FALL, GOOD) + seeds("control-100000", POOR, POOR)
    assert verdicts(replay_size, worse + falls) == [False, False]


def test_a_fall_before_the_last_quarter_is_forgiven():
    early = [100] * 60 + [500] * 40
    assert verdicts(replay_size, seeds("control-100000", early, early))[1] is True


def test_epsilon_floor():
    falls = [
        run for name in epsilon_floor.EXPERIMENT.variants for run in seeds(name, LATE_FALL, POOR)
    ]
    assert verdicts(epsilon_floor, falls) == [True, False]
    assert verdicts(epsilon_floor, [*falls, alone("floor-0.1", 2, GOOD)]) == [False, False]
    assert verdicts(epsilon_floor, falls[2:]) == [None, None]
    worse = [r for r in falls if r.variant != "floor-0.2"] + seeds("floor-0.2", [50] * 100, POOR)
    found = epsilon_floor.claims(worse)[1]
    assert found.holds is True
    assert found.measured.startswith("floor-0 100, ")
    assert found.measured.endswith("floor-0.2 75")


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
    stable = seeds("floor-0", LATE_FALL, POOR)
    less = epsilon_floor.claims([*stable, *(r for r in lost if r.variant != "floor-0")])[1]
    assert less.holds is True
    assert "floor-0.01 diverged" in less.measured


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
