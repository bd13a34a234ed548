import operator
from dataclasses import dataclass
from functools import partial, reduce
from itertools import cycle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.agents import soft_q
from bennafusi.agents.policies import choose
from bennafusi.agents.replay import Transition
from bennafusi.envs import named
from bennafusi.envs.control import NOISE, ControlState, ControlTask
from bennafusi.synapse.readout import beakers
from bennafusi.training import compiling, deep_loop
from bennafusi.training.changes import changed
from bennafusi.training.deep_loop import BLOCK, advance, finished, start
from bennafusi.training.deep_settings import ONLINE, DeepSettings
from bennafusi.training.deep_state import MOST_TESTS
from bennafusi.training.rows import trimmed

# A program is compiled for each of these once, which is what most of the time here is spent on.
SINGLE = {**ONLINE, "tasks": ("cartpole",), "gammas": (0.95,), "max_steps": 15}
SINGLE |= {"network.hidden": (8, 8)}
SEVERAL = {"epochs": 3, "episodes": 10, "test_every": 5, "max_steps": 30}
SEVERAL |= {"network.hidden": (8, 8), "exploration.decay": 0.5, "schedule.replay": 150}
ROTATION = {"tasks": ("cartpole-long", "catcher", "cartpole"), "gammas": (0.9, 0.99, 0.95)}
CONTROL = {"chain.n": 1}


def with_(*changes):
    return changed(DeepSettings(), reduce(operator.or_, changes))


NEWEST = with_(SINGLE, CONTROL)
ACTING = {"agent.acting": 2, "chain.g12": 0.025}  # the second beaker, once it is 160 updates old
RING = with_(SINGLE, {"schedule.replay": 50, "chain.n": 4}, ACTING)
TWO = with_(SEVERAL, CONTROL)
THREE = with_(SEVERAL, ROTATION, CONTROL)
ALL = {"newest": NEWEST, "ring": RING, "two": TWO, "three": THREE}
MOST = ["newest", "ring", "two"]  # the third task adds nothing to what these show
EVER = 10**6

begin = start


def test_a_start_that_is_compiled_in_haste_has_the_same_bits():
    """As a worker compiles it: tests leave out most optimisations, so both are asked for here."""
    compiled = [
        jax.jit(
            deep_loop._start,
            static_argnums=0,
            compiler_options={**options, "xla_llvm_disable_expensive_passes": False},
        )
        for options in (compiling.IN_HASTE, {"xla_backend_optimization_level": 3})
    ]
    assert_same(*(one(RING, jnp.asarray(5), jnp.float32(1e-3)) for one in compiled))


def assert_same(a, b):
    jax.tree.map(np.testing.assert_array_equal, a, b)


def assert_close(a, b, tolerance=1e-5):
    def close(x, y):
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype
        if x.dtype.kind == "f":
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(x, y)

    jax.tree.map(close, a, b)


def differ(a, b):
    return any(not np.array_equal(x, y) for x, y in zip(*map(jax.tree.leaves, (a, b)), strict=True))


def joined(parts):
    parts = [trimmed(tests) for tests in parts]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def run(settings, state, chunks=((EVER, EVER),), goal=2500, between=lambda state: state):
    """``advance`` in chunks of (steps, episodes) to the end, or to a number of steps."""
    parts = []
    for steps, episodes in cycle(chunks):
        if finished(settings, state) or int(state.steps) >= goal or bool(state.diverged):
            return state, joined(parts)
        state, tests = advance(
            settings, state, min(steps, goal - int(state.steps)), min(episodes, EVER)
        )
        state = between(state)
        parts.append(tests)


def episodes_of(settings, state, count):
    """The states before and after each of the next episodes, and its test if it was one."""
    for _ in range(count):
        after, tests = advance(settings, state, EVER, 1)
        yield state, after, trimmed(tests)
        state = after


def moments(state):
    """Adam's."""
    return state.agent.optimizer.optimizer


def updates(state):
    return int(soft_q.updates_made(state.agent))


def chances(state, count):
    """The random numbers of the next steps: one block of them at a time, by its number."""
    first = int(state.steps)
    key, blocks = jax.random.wrap_key_data(state.key), range(first // BLOCK, first // BLOCK + 2)
    rows = [jax.random.uniform(jax.random.fold_in(key, b), (BLOCK, 3 + NOISE)) for b in blocks]
    return np.concatenate(rows)[first % BLOCK :][:count]


# How a run is cut does not change it.

CUTS = {
    "steps": [(1, EVER), (7, EVER), (0, EVER), (130, EVER), (1023, EVER), (64, EVER)],
    "episodes": [(EVER, 1), (EVER, 4), (EVER, 0), (EVER, 3), (EVER, 17)],
    "both": [(5, 1), (90, 3), (333, 33), (2, 2)],
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("kind", MOST)
def test_chunks_do_not_change_a_bit(kind, cut):
    settings = ALL[kind]
    whole, rows = run(settings, begin(settings, 0))
    assert len(rows["epoch"]) >= 6
    state, same = run(settings, begin(settings, 0), CUTS[cut])
    assert_same(state, whole)
    assert_same(same, rows)


@pytest.mark.parametrize("kind", MOST)
def test_a_state_that_went_through_numpy_goes_on_to_the_bit(kind):
    settings = ALL[kind]

    def stored(state):
        arrays = jax.tree.map(np.array, state)
        assert all(type(x) is np.ndarray for x in jax.tree.leaves(arrays))
        return arrays

    whole, rows = run(settings, begin(settings, 0))
    state, same = run(settings, begin(settings, 0), [(77, EVER), (EVER, 5)], between=stored)
    assert_same(state, whole)
    assert_same(same, rows)


@pytest.mark.parametrize("kind", ["ring", "two"])
def test_no_compilation_after_the_first_chunk(kind, caplog):
    settings = ALL[kind]
    state, _ = advance(settings, begin(settings, 0), 1, EVER)
    equal = changed(settings, {"chain.n": settings.chain.n})
    assert equal.learner is not settings.learner
    with jax.log_compiles():
        for steps, episodes in [(400, EVER), (EVER, 3), (5, 5), (EVER, 100), (EVER, 100)]:
            state, _ = advance(settings, state, steps, episodes)
        advance(equal, state, 10, 10)
        assert [record.message for record in caplog.records if "ompil" in record.message] == []
        jax.jit(lambda x: x + 1)(jnp.int32(1))
        assert "ompil" in caplog.text  # it would have been seen
    assert int(state.epoch) == (3 if kind == "two" else 0)


def test_memory_stays_flat():
    def live():
        arrays = jax.live_arrays()
        return len(arrays), sum(x.nbytes for x in arrays)

    state = begin(TWO, 3)
    state, tests = advance(TWO, state, 20, EVER)
    before = live()
    while not finished(TWO, state):
        state, tests = advance(TWO, state, 20, EVER)
        assert live() == before
    assert int(tests.ended) <= 1


# Seeds and batches of agents.


def test_seeds():
    one, two = (advance(NEWEST, begin(NEWEST, seed), 200, EVER) for seed in (7, 8))
    assert_same(one, advance(NEWEST, begin(NEWEST, 7), 200, EVER))
    assert differ(one[0].agent.params, two[0].agent.params)
    assert differ(one[0].replay, two[0].replay)


def test_agents_in_a_batch_are_the_agents_alone():
    settings = ALL["two"]
    seeds, rates = jnp.arange(3, dtype=jnp.int32), jnp.array([1e-3, 1e-4, 3e-4])
    batch = jax.vmap(partial(begin, settings))(seeds, rates)
    together = jax.vmap(partial(advance, settings), (0, None, None))(batch, 150, 12)
    assert len(set(np.asarray(together[0].steps).tolist())) > 1
    for member, (seed, rate) in enumerate(zip(seeds, rates, strict=True)):
        alone = advance(settings, begin(settings, seed, rate), 150, 12)
        mine = jax.tree.map(lambda x, i=member: x[i], together)
        assert_close(mine, alone, 1e-2)  # Adam makes much of a last bit; rates move 6e-2 apart
        assert float(alone[0].agent.learning_rate) == float(rate)
        assert updates(alone[0]) > 60


def test_a_seed_is_a_whole_number_from_0_on():
    for seed in (-1, 2**31):
        with pytest.raises(ValueError, match=f"seed={seed}: choose a whole number from 0"):
            start(NEWEST, seed)
    for seed in (0.5, True, "3"):
        with pytest.raises(TypeError, match=f"seed={seed!r}: must be a whole number"):
            start(NEWEST, seed)


@pytest.mark.parametrize("amount", [-1, 2**31])
@pytest.mark.parametrize("name", ["steps", "episodes"])
def test_bad_lengths_of_a_chunk_are_refused(name, amount):
    state = begin(NEWEST, 0)
    with pytest.raises(ValueError, match=f"{name}={amount}: choose"):
        advance(NEWEST, state, **{"steps": 1, "episodes": 1, name: amount})


# The schedule of tasks.


@pytest.mark.parametrize(("kind", "tasks"), [("two", [0, 1, 0]), ("three", [0, 1, 2])])
def test_each_epoch_trains_the_next_task(kind, tasks):
    settings, state, seen = ALL[kind], begin(ALL[kind], 0), []
    while not finished(settings, state):
        before, (state, _) = state, advance(settings, state, EVER, EVER)
        catcher = settings.tasks[int(before.epoch) % len(settings.tasks)] == "catcher"
        assert bool(np.abs(np.asarray(before.env_state.values)).max() > 1) == catcher
        seen.append(
            [
                any(
                    np.abs(after[row]).max() > np.abs(past[row]).max()
                    for after, past in zip(
                        map(np.asarray, moments(state).nu.gains),
                        map(np.asarray, moments(before).nu.gains),
                        strict=True,
                    )
                )
                for row in range(len(settings.tasks))
            ]
        )
    assert [row.index(True) for row in seen] == tasks
    assert all(sum(row) == 1 for row in seen)


def test_a_task_that_was_not_trained_yet_is_untouched():
    state, _ = advance(TWO, begin(TWO, 0), EVER, EVER)
    for tree in (moments(state).mu, moments(state).nu):
        for layer in (*tree.gains, *tree.biases):
            assert not np.asarray(layer[1]).any()
            assert np.asarray(layer[0]).any()
    assert all((np.asarray(layer[1]) == 1).all() for layer in state.agent.params.gains)
    assert all((np.asarray(layer[1]) == 0).all() for layer in state.agent.params.biases)


@pytest.mark.parametrize("kind", ["two"])
def test_what_a_switch_changes(kind):
    settings = ALL[kind]
    before, _ = advance(settings, begin(settings, 0), EVER, 9)  # the tenth is a test
    after, _ = advance(settings, before, EVER, EVER)
    assert (int(before.epoch), int(after.epoch)) == (0, 1)
    assert (int(before.episode), int(after.episode)) == (9, 0)
    assert int(before.replay.added) > 64
    assert int(after.replay.added) == 0
    assert differ(before.agent.target, before.agent.params)
    assert_same(after.agent.target, after.agent.params)
    assert_same(after.agent.params, before.agent.params)
    assert_same(after.agent.optimizer, before.agent.optimizer)
    assert any(np.asarray(x).any() for x in jax.tree.leaves(moments(after).mu))
    assert int(after.env_state.steps) == 0


def test_a_batch_is_never_drawn_from_another_epoch():
    state, _ = advance(TWO, begin(TWO, 0), EVER, EVER)
    marked = state.replay._replace(
        transitions=jax.tree.map(
            lambda x: jnp.full_like(x, jnp.nan if x.dtype == jnp.float32 else 0),
            state.replay.transitions,
        )
    )
    clean, _ = advance(TWO, state, EVER, 8)
    dirty, _ = advance(TWO, state._replace(replay=marked), EVER, 8)
    assert updates(clean) > updates(state)
    assert_same(dirty.agent, clean.agent)


def test_epsilon_starts_anew_with_each_epoch():
    state, uniform = begin(TWO, 1), {}
    for number, (before, after, _) in enumerate(episodes_of(TWO, state, 20)):
        old, new = int(before.replay.added), int(after.replay.added)
        if number % 5 == 4 or new == 0:
            continue
        places = np.arange(old, new) % TWO.schedule.replay
        actions = np.asarray(after.replay.transitions.action)[places]
        # Where an action is uniform, both are drawn equally often.
        uniform[number] = np.mean(actions == (chances(before, new - old)[:, 1] >= 0.5))
    assert uniform[0] == uniform[10] == 1
    assert max(uniform[number] for number in (5, 6, 7, 8, 15, 16, 17, 18)) < 1


def test_advance_stops_at_the_end_of_each_epoch_and_at_the_last():
    state = begin(TWO, 0)
    for epoch in range(3):
        assert not finished(TWO, state)
        assert int(state.epoch) == epoch
        assert int(state.episode) == 0
        state, tests = advance(TWO, state, EVER, EVER)
        assert trimmed(tests)["episode"].tolist() == [4, 9]
        assert trimmed(tests)["epoch"].tolist() == [epoch] * 2
    assert finished(TWO, state)
    after, none = advance(TWO, state, EVER, EVER)
    assert_same(after, state)
    assert int(none.ended) == 0


def test_a_chunk_stops_when_it_has_no_room_for_another_test():
    state, tests = advance(NEWEST, begin(NEWEST, 0), EVER, EVER)
    assert int(tests.ended) == MOST_TESTS
    assert int(state.episode) == 10 * MOST_TESTS
    rows = trimmed(tests)
    np.testing.assert_array_equal(rows["episode"], 9 + 10 * np.arange(MOST_TESTS))
    _, more = advance(NEWEST, state, EVER, 10)
    assert trimmed(more)["episode"].tolist() == [10 * MOST_TESTS + 9]


# Tests and updates.


@pytest.mark.parametrize("kind", MOST)
def test_a_test_leaves_the_agent_as_it_is_and_all_else_does_not(kind):
    settings = ALL[kind]
    tested = []
    for number, (before, after, rows) in enumerate(
        episodes_of(settings, begin(settings, 4), settings.test_every * 2 - 1)
    ):
        if number % settings.test_every == settings.test_every - 1:
            tested.append(number)
            assert rows["episode"].tolist() == [number]
            assert_same(after.agent, before.agent)
            assert_same(after.replay, before.replay)
        else:
            assert len(rows["episode"]) == 0
            gained = int(after.replay.added) - int(before.replay.added)
            assert gained == int(after.steps) - int(before.steps)
            learnt = (
                settings.schedule.kind == "online"
                or int(after.replay.added) >= settings.schedule.batch
            )
            assert differ(after.agent, before.agent) == learnt
    assert tested == [settings.test_every - 1]


@pytest.mark.parametrize("kind", ["newest", "ring"])
def test_online_each_training_step_is_an_update(kind):
    settings = ALL[kind]
    state, rows = run(settings, begin(settings, 0))
    assert updates(state) == int(state.steps) - rows["length"].sum()
    # The run may have stopped within a test.
    state, _ = advance(settings, state, EVER, 10 - int(state.episode) % 10)
    before = updates(state)
    state, _ = advance(settings, state, 3, EVER)
    assert updates(state) == before + 3


@pytest.mark.parametrize("kind", ["two"])
def test_episodic_each_training_episode_is_a_batch_of_updates(kind):
    settings, enough = ALL[kind], []
    for before, after, _ in episodes_of(settings, begin(settings, 0), 29):
        if int(before.episode) % 5 == 4:
            assert updates(after) == updates(before)
            continue
        enough.append(int(after.replay.added) >= 64)
        assert updates(after) - updates(before) == 64 * enough[-1]
        assert enough[-1] or differ(after.agent.params, after.agent.target) == differ(
            before.agent.params, before.agent.target
        )
    assert 0 < sum(enough) < len(enough)


def test_within_an_episode_nothing_is_learnt_in_the_episodic_schedule():
    state, _ = advance(TWO, begin(TWO, 0), EVER, 7)
    after, _ = advance(TWO, state, 5, EVER)
    assert int(after.episode) == 7
    assert_same(after.agent, state.agent)
    assert int(after.replay.added) == int(state.replay.added) + 5


# Records.


def test_means_of_training_are_means_of_its_episodes():
    state, rows, means = begin(TWO, 0), [], []
    rewards, lengths = [], []
    for before, after, test in episodes_of(TWO, state, 30):
        if len(test["reward"]):
            rows.append(test)
            means.append((np.mean(rewards), np.mean(lengths)))
            rewards, lengths = [], []
            continue
        old, new = int(before.replay.added), int(after.replay.added)
        earned = np.asarray(after.replay.transitions.reward)[
            np.arange(old, new) % TWO.schedule.replay
        ]
        rewards.append(earned.sum(dtype=np.float64))
        lengths.append(int(after.steps) - int(before.steps))
    table = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
    np.testing.assert_allclose(table["training_reward"], [m[0] for m in means], rtol=1e-6)
    np.testing.assert_allclose(table["training_length"], [m[1] for m in means], rtol=1e-6)
    assert table["epoch"].tolist() == [0, 0, 1, 1, 2, 2]
    cartpole = table["epoch"] != 1
    np.testing.assert_array_equal(table["reward"][cartpole], table["length"][cartpole])
    assert (table["reward"][~cartpole] < table["length"][~cartpole]).all()


@pytest.mark.parametrize("kind", MOST)
def test_columns_are_plain_and_steps_and_updates_increase(kind):
    settings = ALL[kind]
    state, rows = run(settings, begin(settings, 0))
    kinds = {name: column.dtype.kind for name, column in rows.items()}
    assert kinds == {
        "epoch": "i",
        "episode": "i",
        "reward": "f",
        "length": "i",
        "training_reward": "f",
        "training_length": "f",
        "loss": "f",
        "largest": "f",
        "updates": "i",
        "steps": "i",
    }
    assert (np.diff(rows["steps"]) > 0).all()
    made = np.diff(rows["updates"], prepend=0)
    assert (made >= (settings.schedule.kind == "online")).all()
    assert rows["steps"][-1] <= int(state.steps)
    assert rows["updates"][-1] <= updates(state)
    np.testing.assert_array_equal(rows["loss"] > 0, made > 0)
    assert (rows["length"] <= settings.max_steps).all()
    if len(settings.tasks) == 1:
        np.testing.assert_array_equal(rows["reward"], rows["length"])


# The same run once more, step by step.


@pytest.mark.parametrize("kind", ["newest", "ring"])
def test_a_slow_run_step_by_step_is_the_same(kind):
    settings, seed, episodes = ALL[kind], 6, 24
    agent, (world,) = settings.learner, settings.envs
    task = jnp.int32(0)
    move, look, values, judge, learn, track, act = map(
        jax.jit,
        (
            world.step,
            world.features,
            agent.network.values,
            partial(soft_q.targets, agent),
            partial(soft_q.learn, agent),
            partial(soft_q.update_target, agent),
            lambda q, *chance: choose(q, settings.agent.alpha, *chance),
        ),
    )
    second = operator.itemgetter(1)  # of the rows of a parameter's beakers
    born, first, key = jax.random.split(jax.random.key(seed), 3)
    mind = jax.jit(partial(soft_q.start, agent, settings.sizes))(born)
    place = world.reset(jax.random.uniform(first, (NOISE,)))
    memory, steps, rows = [], 0, []
    totals = {"rewards": [], "lengths": [], "losses": [], "largest": []}
    for episode in range(episodes):
        testing = episode % 10 == 9
        epsilon = 0.0 if testing else max(0.9995**episode, 0.0)
        over, total, length = False, 0.0, 0
        while not over:
            if steps % BLOCK == 0:
                block = jax.random.fold_in(key, steps // BLOCK)
                noise = jax.random.uniform(block, (BLOCK, 3 + NOISE))
            chance = noise[steps % BLOCK]
            seen = look(place)
            old_enough = kind == "ring" and updates_of(mind) >= 160
            network = jax.tree.map(second, beakers(mind.optimizer)) if old_enough else mind.params
            q = values(network, task, seen)
            action = act(q, jnp.float32(epsilon), chance[0], chance[1])
            place, reward, terminated, truncated = move(place, action, chance[3:])
            over = bool(terminated | truncated)
            total, length, steps = total + float(reward), length + 1, steps + 1
            totals["largest"].append(float(jnp.max(jnp.abs(q))))
            if testing:
                continue
            discount = jnp.float32(0.0 if over else 0.95)
            memory = [*memory, Transition(seen, action, reward, discount, look(place))]
            memory = memory[-settings.schedule.replay :]
            if settings.schedule.replay == 1:
                chosen = memory[0]
            else:  # the ring: training step number i is kept in place i modulo its size
                trained = steps - sum(row["length"] for row in rows)
                oldest = trained - len(memory)
                place_of = {
                    (oldest + i) % settings.schedule.replay: x for i, x in enumerate(memory)
                }
                chosen = place_of[int(float(chance[2]) * len(memory))]
            mind, loss = learn(mind, task, chosen, judge(mind, task, chosen))
            mind = track(mind)
            totals["losses"].append(float(loss))
        if testing:
            rows.append(
                {
                    "epoch": 0,
                    "episode": episode,
                    "reward": total,
                    "length": length,
                    "training_reward": np.mean(totals["rewards"]),
                    "training_length": np.mean(totals["lengths"]),
                    "loss": np.mean(totals["losses"]),
                    "largest": np.max(totals["largest"]),
                    "updates": updates_of(mind),
                    "steps": steps,
                }
            )
            totals = {name: [] for name in totals}
        else:
            totals["rewards"].append(total)
            totals["lengths"].append(length)
        anew = jax.random.fold_in(jax.random.fold_in(key, 2**31), steps)
        place = world.reset(jax.random.uniform(anew, (NOISE,)))
    state, tests = advance(settings, begin(settings, seed), EVER, episodes)
    table = trimmed(tests)
    assert int(state.steps) == steps
    for name, column in table.items():
        np.testing.assert_allclose(column, [row[name] for row in rows], rtol=1e-4, err_msg=name)
    assert_close(state.agent, mind, 1e-4)
    assert int(state.replay.stored()) == len(memory)


def updates_of(agent):
    return int(soft_q.updates_made(agent))


# Divergence.


def assert_stopped(settings, state):
    assert bool(state.diverged)
    after, none = advance(settings, state, EVER, EVER)
    assert_same(after, state)
    assert int(none.ended) == 0


@pytest.mark.parametrize("kind", ["newest", "ring"])
def test_a_run_that_diverges_stops_where_it_did(kind):
    settings = ALL[kind]
    state, tests = advance(settings, begin(settings, 0, 1e6), EVER, EVER)
    assert (int(state.epoch), int(state.episode), int(tests.ended)) == (0, 0, 0)
    assert 1 <= int(state.steps) < 15
    assert float(state.tally.largest) > settings.largest_value
    assert_stopped(settings, state)


def diverging_batch():
    """The state before the episode whose batch, the first, goes wrong, and the state after it."""
    state = begin(TWO, 0, 1e6)
    while not bool(state.diverged):
        before, (state, _) = state, advance(TWO, state, EVER, 1)
    return before, state


def test_an_episodic_run_that_diverges_stops():
    before, state = diverging_batch()
    assert updates(before) == 0
    assert int(state.epoch) == 0
    assert not np.isfinite(float(state.tally.loss))
    assert_stopped(TWO, state)


def test_an_episodic_run_that_diverges_stays_in_its_episode():
    before, state = diverging_batch()
    assert int(state.episode) == int(before.episode)


def test_a_small_bound_is_a_bound():
    bound = with_(SINGLE, CONTROL, {"network.hidden": (4,), "largest_value": 1e-3})
    state, _ = advance(bound, begin(bound, 0), EVER, EVER)
    assert (int(state.steps), int(state.episode)) == (1, 0)
    assert_stopped(bound, state)


# Other choices.


def test_other_choices_make_another_run():
    # All in one program; what each of them does is held by the oracle and by the probes.
    choices = {"schedule.target_update": "update", "agent.loss": "taken", "time_out": "bootstrap"}
    other = with_(SEVERAL, choices, CONTROL)
    usual, _ = advance(TWO, begin(TWO, 0), EVER, 9)
    state, _ = advance(other, begin(other, 0), EVER, 9)
    assert not bool(state.diverged)
    assert updates(state) == updates(usual) > 0
    assert differ(state.agent.params, usual.agent.params)


@dataclass(frozen=True)
class Wide(ControlTask):
    """Observations of 2 x 3 numbers and four actions, of which the one that was shown is right."""

    max_steps: int = 500

    actions = 4
    observations = normal = (np.zeros((2, 3), np.float32), np.ones((2, 3), np.float32))

    def _shown(self, chance, steps):
        place = jnp.floor(4 * chance[0]).astype(jnp.int32)
        shown = (jnp.arange(6, dtype=jnp.int32) == place).astype(jnp.float32)
        return ControlState(shown.reshape(2, 3), jnp.ones((), jnp.int32), steps)

    def reset(self, chance):
        return self._shown(chance, jnp.zeros((), jnp.int32))

    def step(self, state, action, chance):
        right = (jnp.argmax(state.values.ravel()) == action).astype(jnp.float32)
        after = self._shown(chance, state.steps + 1)
        return after, right, jnp.zeros((), bool), after.steps >= self.max_steps

    def draw(self, state):
        raise NotImplementedError

    def text(self, state):
        raise NotImplementedError


def test_a_task_of_another_shape_is_learnt(monkeypatch):
    monkeypatch.setitem(named.TASKS, "wide", Wide())
    task = {"tasks": ("wide",), "gammas": (0.0,), "episodes": 60, "max_steps": 50}
    rate = {"optimizer.learning_rate": 3e-3, "exploration.decay": 0.95}
    settings = with_(SINGLE, CONTROL, task, rate)
    assert settings.sizes == (6, 4, 1)
    state, tests = advance(settings, begin(settings, 0), EVER, EVER)
    assert finished(settings, state)
    assert state.env_state.values.shape == (2, 3)
    rewards = trimmed(tests)["reward"]
    assert rewards[-1] > 45, rewards  # of 50; chance earns 12.5
