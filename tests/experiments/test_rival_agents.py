"""Deep agents that remember in other ways: what a sweep changes, what is chosen, who is judged."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.agents import soft_q
from bennafusi.agents.chains import NetworkChains
from bennafusi.agents.methods import Rival
from bennafusi.agents.networks import Network, Sizes
from bennafusi.agents.replay import Transition
from bennafusi.agents.soft_q import SoftQ
from bennafusi.experiments.deep import rival_agents, rivals_online, rivals_two_task, table_s2
from bennafusi.experiments.deep.rival_agents import STREAM_Q, Chosen, variants
from bennafusi.experiments.experiment import UNKNOWN
from bennafusi.experiments.registry import find
from bennafusi.results import RunData
from bennafusi.runs.config import from_json, to_json
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings
from tests.experiments.test_deep_figures import run
from tests.promotion import standard_promotion

ONLINE = find("rivals-online")
ALL = rivals_two_task.AGENTS


def weights(method):
    """Of a tiny agent that learns from one transition again and again: first, and after 3 times."""
    agent = SoftQ(Network(hidden=(3,)), NetworkChains(n=1), method=method)
    x = jnp.array([1.0, -0.5])
    step = Transition(x, jnp.int32(0), jnp.float32(1), jnp.float32(0.0), x)

    @jax.jit
    def update(state):
        wanted = soft_q.targets(agent, state, jnp.int32(0), step)
        return soft_q.learn(agent, state, jnp.int32(0), step, wanted)[0]

    states = [jax.jit(lambda: soft_q.start(agent, Sizes(2, 2), jax.random.key(0)))()]
    with standard_promotion():
        for _ in range(3):
            states.append(update(states[-1]))
    assert int(soft_q.updates_made(states[-1])) == 3
    return [np.asarray(state.params.weights[0]) for state in states]


def test_a_pull_to_the_start_begins_with_the_second_update():
    none, pulled = weights(Rival()), weights(Rival("l2-init", strength=1e6))
    np.testing.assert_allclose(pulled[1], none[1], rtol=1e-6)
    assert np.abs(pulled[3] - pulled[0]).sum() < 0.9 * np.abs(none[3] - none[0]).sum()


def test_slow_weights_take_their_share_of_each_step_and_give_it_back():
    """By hand: with g12 = 0.1 a tenth of the first step flows into the slow weight at once."""
    none, pair = weights(Rival()), weights(Rival("slow-weights", strength=100.0))
    np.testing.assert_allclose(pair[1] - pair[0], 0.9 * (none[1] - none[0]), rtol=1e-4)
    base = ONLINE.settings("quick")
    slow, leaking = (ONLINE.settings_of(f"try-{x}", base) for x in ("fast-weights", "two-beakers"))
    assert (slow.chain.n, slow.method.name) == (1, "slow-weights")
    assert (leaking.chain.n, leaking.method.name) == (2, "none")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "ewc"}, "name='ewc': unknown"),
        ({"name": "l2-init", "strength": 0.0}, "strength=0: must be above 0"),
        ({"name": "weight-decay", "strength": 1e5}, "strength=100000 with name='weight-decay'"),
    ],
)
def test_rivals_that_cannot_be_meant(fields, message):
    with pytest.raises(ValueError, match=message):
        Rival(**fields)


def test_a_sweep_reaches_every_agent_and_no_chosen_one():
    base = find("rivals-two-task").settings("quick")
    stronger = changed(base, {"method.strength": 5.0})  # at 10 the chain would overshoot
    found = variants({"slower-target": {"cartpole+catcher": Chosen(10.0, 1e-4)}}, ALL)
    for name in ALL:
        one, other = (changed(b, _given(found[f"try-{name}"], b)) for b in (base, stronger))
        assert (one != other) == (name != "control"), name
        assert from_json(DeepSettings, to_json(one)) == one
    memory = changed(stronger, _given(found["try-cascade-replay"], stronger)).schedule
    assert (memory.replay, memory.replay_kind, memory.keep) == (10_000, "cascade", True)
    one, other = (changed(b, _given(found["slower-target"], b)) for b in (base, stronger))
    assert one == other
    assert (one.agent.tau, one.optimizer.learning_rate, one.chain.n) == (0.01, 1e-4, 1)


def test_stream_q_has_rates_of_its_own_size():
    agents, base = {"stream-q": STREAM_Q}, ONLINE.settings("quick")
    swept = changed(base, {"method.strength": 10.0, "optimizer.learning_rate": 3e-4})
    found = variants({"stream-q": {"cartpole": Chosen(10.0, 3e-4)}}, agents)
    one = changed(swept, _given(found["try-stream-q"], swept))
    assert (one.optimizer.learning_rate, one.stream.kappa, one.method.strength) == (0.3, 20.0, 1.0)
    assert changed(base, _given(found["stream-q"], base)) == one
    other = changed(base, table_s2.task_fields("catcher"))
    with pytest.raises(ValueError, match=r"tasks=catcher: no point of stream-q has been chosen"):
        _given(found["stream-q"], other)


def test_a_chain_around_stream_q_differs_from_it_in_its_chain_alone():
    swept = changed(ONLINE.settings("quick"), {"method.strength": 10.0})
    plain, chained = (ONLINE.settings_of(f"try-stream-q{x}", swept) for x in ("", "-chain"))
    assert (plain.chain.n, chained.chain.n, chained.chain.g12) == (1, 30, 1e-3)
    assert chained.stream == plain.stream  # at ten times its own kappa
    assert changed(chained, {"chain": plain.chain}) == plain


@pytest.mark.parametrize(
    ("task", "more"),
    [
        ("cartpole-long", {}),
        ("catcher", {}),
        ("gymnax/Acrobot-v1", {}),
        ("gymnax/MountainCar-v0", {"max_steps": 200}),
        ("gymnax/Breakout-MinAtar", {"network.filters": 16}),
    ],
)
def test_every_agent_can_be_tried_on_every_task(task, more):
    base = changed(ONLINE.settings("quick"), {**table_s2.task_fields(task), **more})
    names = [name for name in ONLINE.variants if name.startswith(rival_agents.TRIED)]
    assert len(names) == len(rivals_online.AGENTS)
    for name in names:
        tried = ONLINE.settings_of(name, base)
        assert tried.tasks == (task,)
        assert tried.schedule.replay == 1


def test_why_a_chain_fails_on_one_task_is_not_said_of_another():
    statement = "A chain does better than Adam alone"
    cartpole = ONLINE.settings("quick")
    assert ONLINE.reason(statement, cartpole) == rivals_online.SLOW
    acrobot = changed(cartpole, table_s2.task_fields("gymnax/Acrobot-v1"))
    assert ONLINE.reason(statement, acrobot) == rivals_online.LARGE_STEPS
    breakout = changed(cartpole, table_s2.task_fields("gymnax/Breakout-MinAtar"))
    assert ONLINE.reason(statement, breakout) == rivals_online.STILL_SLOW
    another = changed(cartpole, table_s2.task_fields("gymnax/Freeway-MinAtar"))
    assert ONLINE.reason(statement, another) == UNKNOWN


def _given(changes, base):
    return {k: v(base) if callable(v) else v for k, v in changes.items()}


def test_only_seeds_from_ten_on_judge():
    def score(run):
        return {"benna-fusi": 9.0, "control": 5.0}.get(run.variant, 7.0) + run.seed % 2

    names = ("benna-fusi", "control", "try-control")
    runs = [RunData(name, seed, [], 1.0) for name in names for seed in (0, 1, 10, 11, 12)]
    found = rival_agents.judged(runs, score)
    seeds = (10, 11, 12)
    assert found == {
        "benna-fusi": dict(zip(seeds, [9.0, 10.0, 9.0], strict=True)),
        "control": dict(zip(seeds, [5.0, 6.0, 5.0], strict=True)),
    }
    first, second, *_ = rival_agents.claims(runs, score, "score", {})
    assert (first.holds, first.measured) == (True, "+4 [+4, +4], 3 seeds")
    assert second.holds is None
    few = [run for run in runs if run.seed != 12]
    assert rival_agents.claims(few, score, "score", {})[0].holds is None


def test_a_difference_is_between_runs_of_the_same_seed():
    """Two agents that are alike, and of which each has a seed that the other has not."""
    mine = [RunData("benna-fusi", seed, [], 1.0) for seed in (11, 12, 13, 14)]
    theirs = [RunData("control", seed, [], 1.0) for seed in (10, 11, 12, 13)]

    def against_control(runs):
        return rival_agents.claims(runs, lambda run: 100.0 * run.seed, "score", {})[0]

    alike = against_control([*mine, *theirs])
    assert alike.holds is False
    assert alike.measured == "+0 [+0, +0], 3 seeds that both have (11, 12, 13)"
    assert against_control([*mine, *theirs[:3]]).holds is None


def test_who_diverged_before_the_first_test_has_the_worst_score():
    runs = [RunData(name, seed, [], 1.0) for name in ("other", "control") for seed in (10, 11, 12)]
    runs[-1] = RunData("control", 12, [], failed="diverged in epoch 1, episode 7: ...")

    def score(run):
        return float("nan") if run.failed else float(run.seed)

    assert rival_agents.judged(runs, score)["control"] == {10: 10.0, 11: 11.0, 12: 10.0}
    assert rivals_online.score(runs[-1]) != rivals_online.score(runs[-1])  # no test to score


def test_runs_that_are_too_short_to_score_judge_nothing():
    names = ("benna-fusi", "control")
    runs = [RunData(name, seed, [], 1.0) for name in names for seed in (10, 11, 12)]
    two_task = rivals_two_task.EXPERIMENT
    assert rival_agents.judged(runs, rivals_two_task.score) == {}
    assert all(finding.holds is None for finding in two_task.claims(runs))
    assert "ranking" not in [table.name for table in two_task.tables(runs)]


def test_the_one_that_is_told_of_switches_is_not_ranked():
    names = ("benna-fusi", "control", "control-reset")
    runs = [RunData(name, seed, [], 1.0) for name in names for seed in (10, 11, 12)]
    found = rival_agents.judged(runs, lambda run: float(len(run.variant)))
    assert sorted(found) == ["benna-fusi", "control"]


def test_a_point_of_a_grid_is_not_chosen_for_the_seeds_that_it_did_not_lose():
    def scored(run, number):
        return rival_agents.scores(run, lambda run: number, "score, higher is better")["score"]

    lost = RunData("try-control", 1, [], failed="diverged in epoch 2, episode 9: ...")
    short = RunData("try-control", 0, [], 1.0)
    assert scored(lost, math.nan) == -math.inf
    assert math.isnan(scored(short, math.nan))
    assert scored(lost, 3.0) == 3.0


def test_beside_a_ranking_stand_the_seeds_that_judge():
    named = [("control", 0), ("control", 10), ("try-control", 0), ("other", 1)]
    runs = [RunData(name, seed, [], 1.0) for name, seed in named]
    assert [(run.variant, run.seed) for run in rival_agents.shown(runs)] == named[1:]
    kept = rival_agents.judged_runs(runs)
    assert [(run.variant, run.seed) for run in kept] == [("control", 10), ("other", 1)]


def test_tables_and_figures_are_of_the_seeds_that_judge(plotted, tmp_path):
    """The tuning runs of a judged agent stand nowhere beside the ranking."""
    two_task = rivals_two_task.EXPERIMENT
    runs = [
        run(name, seed, epochs=4, n=1)._replace(seconds=1.0)
        for name in ("control", "online-ewc")
        for seed in (0, 10, 11, 12)
    ]
    found = {table.name: table for table in two_task.tables(runs)}
    assert {row[1] for row in found["epochs"].rows} == {10, 11, 12}
    assert {run.seed for run in two_task.shown(runs)} == {10, 11, 12}
    captions = {one.title: one.caption for one in two_task.figures(runs, tmp_path)}
    assert len(plotted["ranking"].axes[0].lines[0].get_xdata()) == 3
    assert "3 seeds per agent" in captions["Relearning two tasks in turn"]


def test_of_two_tasks_a_diverged_run_is_behind_one_that_loses_every_fruit():
    def ended(seed, failed=""):
        epochs = [
            {"kind": "epoch", "epoch": k, "task": k % 2, "name": name, "reward": reward}
            for k, (name, reward) in enumerate([("cartpole", 0.0), ("catcher", -1.0)] * 2)
        ]
        return RunData("control", seed, epochs, None if failed else 1.0, failed=failed)

    runs = [ended(10), ended(11), ended(12, "diverged in epoch 3, episode 9: ...")]
    assert math.isnan(rivals_two_task.score(runs[-1]))
    scores = {10: -0.05, 11: -0.1, 12: math.nan}
    found = rival_agents.judged(runs, lambda run: scores[run.seed])
    assert found == {"control": {10: -0.05, 11: -0.1, 12: -0.1}}


def test_before_the_first_run_there_is_nothing_to_rank():
    assert rivals_two_task.EXPERIMENT.tables([]) == []


def test_a_ranking_is_drawn_best_first_with_intervals_and_every_seed(plotted, tmp_path):
    """Three agents of which the last is certainly behind; marks at means, strokes at seeds."""
    scores = {"benna-fusi": (5.0, 6.0, 7.0), "control": (6.0, 6.0, 9.0), "ema": (1.0, 1.0, 1.0)}
    runs = [RunData(name, 10 + i, [], 1.0) for name in scores for i in range(3)]

    def score(run):
        return scores[run.variant][run.seed - 10]

    rival_agents.ranking_drawn(runs, tmp_path, score, "reward, and so on")
    axes = plotted["ranking"].axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["ema", "benna-fusi", "control"]  # from the lowest line up
    assert axes.get_xlabel() == "reward"
    strokes = [line.get_xdata().tolist() for line in axes.lines if line.get_marker() == "|"]
    assert strokes == [list(scores[name]) for name in names]
    marks = [bars.lines[0].get_xdata().item() for bars in axes.containers]
    assert sorted(marks) == [1.0, 6.0, 7.0]
    spans = {tuple(b.lines[2][0].get_segments()[0][:, 0]) for b in axes.containers}
    assert (1.0, 1.0) in spans
    assert all(
        low <= mark <= high for mark, (low, high) in zip(sorted(marks), sorted(spans), strict=True)
    )
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["1", "3", "6", "1-2, tie", "7", "1-2, tie", "mean", "rank"]


def test_without_judged_seeds_no_ranking_is_drawn(tmp_path):
    runs = [RunData("control", seed, [], 1.0) for seed in (0, 1, 10)]
    assert rival_agents.ranking_drawn(runs, tmp_path, lambda run: 1.0, "score") is None
    alone = [RunData("control", seed, [], 1.0) for seed in (10, 11, 12)]
    assert rival_agents.ranking_drawn(alone, tmp_path, lambda run: 1.0, "score") is None


def test_a_ranking_of_two_has_its_heads_just_above_it(plotted, tmp_path):
    runs = [RunData(name, seed, [], 1.0) for name in ("control", "ema") for seed in (10, 11, 12)]
    rival_agents.ranking_drawn(runs, tmp_path, lambda run: float(run.seed), "score")
    axes = plotted["ranking"].axes[0]
    assert axes.get_ylim() == (-0.5, 1.5)
    assert axes.texts[-1].get_position()[1] == 2
