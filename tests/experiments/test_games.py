"""The experiments on MinAtar: their variants, their measures by hand, and their rules."""

import numpy as np
import pytest

from bennafusi.colours import BLUE
from bennafusi.experiments.deep import (
    depth_figure,
    games,
    minatar_sequence,
    minatar_single,
    rivals_minatar,
)
from bennafusi.experiments.deep.deep_job import DeepRun
from bennafusi.experiments.deep.deep_measures import counted_in
from bennafusi.experiments.deep.visit_figure import Seen, visit
from bennafusi.experiments.registry import find
from bennafusi.experiments.statistics import LEAST_SEEDS
from bennafusi.results import RunData
from bennafusi.synapse.reach import reach
from bennafusi.training.changes import changed
from tests.experiments.test_deep_claims import switch

GAME, OTHER = games.BREAKOUT, games.INVADERS


def a_test(epoch, steps, reward, task=GAME):
    means = dict.fromkeys(("training_reward", "training_length", "loss", "largest"), 0.0)
    return {
        "kind": "test", "epoch": epoch, "episode": 1, "task": task, "reward": reward,
        "length": 1, "updates": 0, "steps": steps, **means,
    }  # fmt: skip


def single(variant, seed, late):
    """A run of 100 steps that earns 0 before its last quarter."""
    rewards = [0.0] * 3 + [late]
    tests = [a_test(1, 25 * (k + 1), r) for k, r in enumerate(rewards)]
    return RunData(variant, seed, [switch(0, None, [GAME]), *tests, switch(1, GAME, [GAME])])


def test_the_end_of_a_run_is_its_last_quarter():
    assert games.late_return(single("a", 0, 7.0)) == 7.0
    assert np.isnan(games.late_return(RunData("a", 0, [])))


def in_turn(variant, seed, early):
    """Breakout, Space Invaders, Breakout of 100 steps each; what the third earns at first."""
    epochs = [(GAME, 5.0, 5.0), (OTHER, 1.0, 1.0), (GAME, early, 6.0)]
    records = [switch(0, None, [GAME, OTHER])]
    for number, (task, first, later) in enumerate(epochs, start=1):
        rewards = [first] + [later] * 3
        start = 100 * (number - 1)
        records += [a_test(number, start + 25 * (k + 1), r, task) for k, r in enumerate(rewards)]
        records.append(switch(number, task, [GAME, OTHER]))
    return RunData(variant, seed, records)


def test_the_beginning_of_a_returning_visit():
    assert games.early_returns(in_turn("a", 0, 2.5)).tolist() == [2.5]
    assert games.early_returns(single("a", 0, 1.0)).size == 0
    # One test for each epoch, at its end: none is early.
    records = [a_test(e, 100 * e, 1.0) for e in (1, 2)]
    switches = [switch(e, GAME if e else None, [GAME]) for e in range(3)]
    late = RunData("a", 0, [*records, *switches])
    assert np.isnan(games.early_returns(late)).tolist() == [True]
    assert "return, first quarter of returning visits" not in games.scores(late)


def test_games_in_turn_have_the_metrics_of_each():
    found = games.scores(in_turn("a", 0, 10.0))
    assert next(iter(found)) == "return, last quarter of the steps"
    # Four tests in each visit: 5, 5, 5, 5 before Breakout left, 10, 6, 6, 6 when it was back.
    assert found[f"drop after switch {GAME}, reward"] == 5 - 7
    assert found[f"area under curve {GAME}, reward"] == 6.0
    assert np.isnan(found[f"drop after switch {OTHER}, reward"])
    assert f"relearning gain {GAME}, share of episodes" not in found, "games have no threshold"
    assert not [name for name in games.scores(single("a", 0, 1.0)) if "forgetting" in name]


def looked(run, epoch, breakout, invaders):
    """The run with a look at two depths: four episodes of each game by each."""
    rewards = {GAME: breakout, OTHER: invaders}
    look = {"kind": "depths", "epoch": epoch, "depths": [1, 4], "rewards": rewards,
            "episode": 100 * epoch, "task": GAME, "timescales": [10.0, 640.0]}  # fmt: skip
    return run._replace(records=[*run.records, look])


def test_a_depth_is_chosen_by_half_of_the_episodes_and_counted_by_the_other():
    zeros = [[0] * 4] * 2
    run = looked(in_turn("a", 0, 1.0), 1, [[9] * 4, [0] * 4], zeros)  # Breakout is being trained
    run = looked(run, 2, [[1, 1, 2, 2], [5, 5, 6, 7]], zeros)  # ... is gone
    run = looked(run, 3, zeros, [[1, 1, 3, 3], [9, 9, 2, 2]])  # Space Invaders is gone
    assert games.gains_by_depth(run) == {GAME: 4.5, OTHER: -1.0}
    assert games.gains_by_depth(in_turn("a", 0, 1.0)) == {}


def test_looks_of_epochs_in_steps_are_drawn_over_steps(tmp_path, plotted):
    zeros = [[0] * 4] * 2
    run = looked(looked(in_turn("reach-10", 0, 1.0), 1, zeros, zeros), 2, zeros, zeros)
    assert counted_in(run) == "step"
    depth_figure.depths([run], tmp_path)
    last = plotted["depths"].axes[1]
    assert last.get_xlabel() == "steps"
    assert min(last.get_xticks()) == 0
    assert max(last.get_xticks()) <= 200
    assert counted_in(in_turn("control", 0, 1.0)) == "episode", "nothing to count"


@pytest.mark.parametrize(
    ("gains", "holds"), [((3, 4, 5), True), ((-3, 4, 5), False), ((-3, -4, -5), False)]
)
def test_what_a_depth_has_kept_is_above_the_weights_by_an_interval(gains, holds):
    runs = []
    for seed, gained in enumerate(gains):
        played = [[1, 1, 5, 5], [2, 2, 5 + gained, 5 + gained]]
        runs.append(looked(in_turn("reach-10", seed, 1.0), 2, played, [[0] * 4] * 2))
    verdict = minatar_sequence.claims(runs)[2]
    assert verdict.holds is holds
    assert minatar_sequence.claims(runs[:2])[2].holds is None
    assert "not enough data: seeds with looks at the depths: reach-10 2" in (
        minatar_sequence.claims(runs[:2])[2].measured
    )


@pytest.mark.parametrize(
    ("mine", "holds"), [((10.0, 10.1, 9.9), True), ((8.0, 8.1, 7.9), False), ((5, 10, 15), False)]
)
def test_to_match_is_to_be_within_a_tenth(mine, holds):
    runs = [single("breakout-control", s, x) for s, x in enumerate((10.0, 10.05, 9.95))]
    runs += [single("breakout-reach-1", s, x) for s, x in enumerate(mine)]
    verdicts = minatar_single.claims(runs)
    assert [finding.holds for finding in verdicts[:2]] == [holds, None]
    assert "not enough data" in verdicts[1].measured


def test_what_else_a_chain_may_hang_on():
    steady, half = (10.0, 10.05, 9.95), (5.0, 5.05, 4.95)
    scores = {
        "control": steady, "reach-1-body": half, "reach-1-head": steady, "reach-1-drawn": half,
        "control-norm": half, "reach-1-norm": half,
    }  # fmt: skip
    runs = [
        single(f"{game}-{name}", s, x)
        for game in minatar_single.GAMES
        for name, xs in scores.items()
        for s, x in enumerate(xs)
    ]
    drawn, layers, norm = minatar_single.parts(runs)
    assert [drawn.holds, layers.holds, norm.holds] == [False, True, True]
    assert "space-invaders-reach-1-norm less space-invaders-control-norm" in norm.measured
    one_game = [run for run in runs if run.variant.startswith("breakout")]
    assert [finding.holds for finding in minatar_single.parts(one_game)] == [False, None, None]


def test_returns_are_drawn_over_reach_beside_the_control(tmp_path, plotted):
    returns = {"control": (5.0, 7.0), "reach-10": (4.0, 5.0), "reach-0.3": (2.0, 1.0)}
    runs = [single(f"breakout-{n}", s, x) for n, xs in returns.items() for s, x in enumerate(xs)]
    runs.append(single("space-invaders-control", 0, 9.0))  # without a chain beside it: no panel
    minatar_single.figures(runs, tmp_path)
    (axes,) = plotted["reach"].axes
    control, low, high, means = (line.get_xydata().tolist() for line in axes.lines)
    assert axes.get_title() == "breakout"
    assert [height for _, height in control] == [6.0, 6.0]
    assert low == [[0.3, 2.0], [0.3, 1.0]]
    assert high == [[10.0, 4.0], [10.0, 5.0]]
    assert means == [[0.3, 1.5], [10.0, 4.5]]


def test_every_game_of_a_sequence_has_its_own_panel_and_its_visits(tmp_path, plotted):
    runs = [in_turn("control", s, early) for s, early in enumerate((1.0, 3.0, 5.0))]
    runs.append(in_turn("reach-10", 0, 4.0))
    caption = minatar_sequence.figures(runs, tmp_path)[0].caption
    breakout, invaders = plotted["curves"].axes
    titles = [axes.get_title() for axes in (breakout, invaders)]
    assert titles == ["Breakout-MinAtar", "SpaceInvaders-MinAtar"]
    mean = [line.get_xydata().tolist() for line in breakout.lines if line.get_color() == BLUE]
    assert mean == [
        [[25, 5], [50, 5], [75, 5], [100, 5]],
        [[225, 3], [250, 6], [275, 6], [300, 6]],  # 3 is the mean of what came first
    ]
    assert all((line.get_ydata() == 1).all() for line in invaders.lines)
    assert "1 to 3 seeds per agent" in caption


def test_a_visit_is_drawn_of_those_who_finished_it():
    whole, other = in_turn("a", 0, 1.0), in_turn("a", 1, 3.0)
    begun = Seen.of(whole._replace(records=whole.records[:-3]))  # two tests into the third epoch
    assert [y.tolist() for _, y in visit([begun, Seen.of(other)], 3)] == [[3, 6, 6, 6]]
    assert [y.tolist() for _, y in visit([begun], 3)] == [[1, 6]], "nobody did: the furthest"
    assert visit([Seen.of(whole)], 4) == []
    many = [a_test(1, k, float(k)) for k in range(1, 25)]
    ((steps, returns),) = visit([Seen.of(RunData("a", 0, many))], 1)
    assert steps.tolist() == returns.tolist() == [1.5 + 2 * k for k in range(12)]


def test_two_seeds_do_not_show_a_match():
    runs = [single(f"breakout-{n}", s, 10.0) for n in ("control", "reach-1") for s in range(2)]
    assert LEAST_SEEDS == 3
    assert minatar_single.claims(runs)[0].holds is None


@pytest.mark.parametrize(("mine", "holds"), [(4.0, True), (1.0, False)])
def test_relearning_faster(mine, holds):
    runs = [in_turn("control", s, 1.0 + 0.01 * s) for s in range(3)]
    runs += [in_turn("reach-10", s, mine - 0.01 * s) for s in range(3)]
    assert [finding.holds for finding in minatar_sequence.claims(runs)[:2]] == [holds, None]
    assert minatar_sequence.claims(runs[:1])[0].holds is None
    # Of a visit that was not tested so early nothing is known, and nothing is said.
    late = [r for r in runs[0].records if r.get("steps") != 225]
    found = minatar_sequence.claims([runs[0]._replace(records=late), *runs[1:]])[0]
    assert found.holds is None
    assert found.measured == "not enough data: a visit without a test in its first quarter"


def test_games_are_compared_over_the_visits_that_both_have():
    """Alike but for how far they are: a control that has come to one returning visit of two."""
    longer = [in_turn("reach-10", s, 1.0 + 0.01 * s) for s in range(3)]
    more = [a_test(4, 300 + 25 * k, 90.0, OTHER) for k in range(1, 5)]
    more.append(switch(4, OTHER, [GAME, OTHER]))
    longer = [run._replace(records=[*run.records, *more]) for run in longer]
    assert games.early_returns(longer[0]).tolist() == [1.0, 90.0]
    runs = [*longer, *(in_turn("control", s, 1.0 + 0.01 * s) for s in range(3))]
    assert minatar_sequence.claims(runs)[0].holds is False


def test_a_run_that_diverged_plays_no_game_well():
    lost = {"failed": "diverged in epoch 1, episode 9: ...", "seconds": None}
    runs = [single("breakout-control", s, x) for s, x in enumerate((10.0, 10.05, 9.95))]
    mine = [single("breakout-reach-1", s, 10.0) for s in range(6)]
    assert minatar_single.claims([*runs, *mine])[0].holds is True
    gone = [run._replace(**lost) for run in mine[3:]]
    assert minatar_single.claims([*runs, *mine[:3], *gone])[0].holds is False


@pytest.mark.parametrize("name", ["minatar-single", "minatar-sequence"])
@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_every_variant_at_every_scale(name, scale):
    pytest.importorskip("gymnax")
    experiment = find(name)
    base = experiment.settings(scale)
    assert set(experiment.defaults(scale)) <= set(experiment.variants)
    for variant in experiment.variants:
        job = experiment.job_of(variant, 0, base)
        assert isinstance(job, DeepRun)
        settings, chain = job.settings, job.settings.chain
        assert settings.separate
        assert settings.sizes.actions == 6
        if "reach-" in variant:
            inputs = max(rows for rows, _ in settings.network.layers(settings.sizes))
            far = reach(chain.chain, settings.optimizer.learning_rate, every=chain.every)
            wanted = float(variant.partition("reach-")[2].partition("-")[0])
            assert far * inputs**0.5 == pytest.approx(wanted)
            assert chain.every * chain.g12 <= 1
            assert chain.every == 8 or 2 * chain.every * chain.g12 > 1


def test_rivals_of_the_sequence_have_its_settings_but_what_is_said():
    pytest.importorskip("gymnax")
    experiment, plain = rivals_minatar.EXPERIMENT, minatar_sequence.EXPERIMENT
    for scale in ("smoke", "quick", "paper"):
        short = rivals_minatar.QUICK if scale == "quick" else {}
        expected = changed(plain.settings(scale), {**short, "depths.games": 0})
        assert experiment.settings(scale) == expected
    base = experiment.settings("quick")
    assert "+".join(base.tasks) == rivals_minatar.TASKS
    control = experiment.settings_of("try-control", base)
    assert control == plain.settings_of("control", base)
    for name in ("online-ewc", "shrink-and-perturb"):
        settings = experiment.settings_of(f"try-{name}", base)
        assert (settings.method.name, settings.chain.n) == (name, 1)
        assert changed(settings, {"method": control.method}) == control
    little = changed(base, {"schedule.replay": 210, "schedule.warmup": 20})
    with pytest.raises(ValueError, match="replay=210 with replay_kind='cascade': 20 rings share"):
        experiment.settings_of("try-cascade-replay", little)


@pytest.mark.parametrize(
    ("strength", "name"), [(0.1, None), (1.0, "reach-100"), (10.0, "reach-10")]
)
def test_a_stronger_chain_reaches_less_far(strength, name):
    pytest.importorskip("gymnax")
    base = changed(rivals_minatar.settings("quick"), {"method.strength": strength})
    found = rivals_minatar.EXPERIMENT.settings_of("try-benna-fusi", base)
    inputs = max(rows for rows, _ in found.network.layers(found.sizes))
    far = reach(found.chain.chain, found.optimizer.learning_rate, every=found.chain.every)
    assert far * inputs**0.5 == pytest.approx(100 / strength)
    if name:
        plain = minatar_sequence.EXPERIMENT.settings_of(name, rivals_minatar.settings("quick"))
        assert found == plain


def test_rivals_are_scored_by_what_returning_visits_earn_in_parts_of_a_level():
    # Breakout, level 10, is back once: 10, 6, 6, 6.
    assert rivals_minatar.score(in_turn("a", 10, 10.0)) == 0.7
    assert np.isnan(rivals_minatar.score(single("a", 10, 7.0))), "nothing has come back"
    lost = in_turn("a", 10, 10.0)._replace(failed="diverged in epoch 3, episode 9: ...")
    assert np.isnan(rivals_minatar.score(lost)), "behind all others"


def test_the_published_sequence():
    pytest.importorskip("gymnax")
    s = minatar_sequence.EXPERIMENT.settings("paper")
    rows = np.random.default_rng(0)
    while True:
        row = rows.integers(3, size=7)
        if np.diff(row).all() and min(np.bincount(row, minlength=3)) > 1:
            break
    assert s.tasks == tuple((games.BREAKOUT, games.INVADERS, games.FREEWAY)[n] for n in row)
    assert (s.epochs, s.steps, s.sticky, s.discounts) == (7, 500_000, 0.1, (0.99,) * 3)
    assert len(s.envs) == 3
    assert s.sizes == ((10, 10, 7), 6, 1)
    schedule = s.schedule
    assert (schedule.replay, schedule.batch, schedule.every) == (100_000, 64, 1)
    assert schedule.keep
    assert (schedule.target_every, s.agent.tau, s.exploration.epsilon) == (1_000, 1.0, 0.1)
