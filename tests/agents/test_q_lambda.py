import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi import Chain
from bennafusi.agents import q_lambda
from bennafusi.agents.q_lambda import Noise, QLambda, QLambdaRule
from bennafusi.synapse import integrate


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def agent(n=1, g12=0.1, **settings):
    chain = Chain(n, g12, leak=n > 1, gated=False)
    return QLambda(states=3, actions=2, chain=chain, rule=QLambdaRule(**settings))


def learn(agent, table, s, a, r, s_next, *, first=False, terminal=False):
    discount = 0.0 if terminal else agent.rule.gamma
    return q_lambda.learn(
        agent,
        table,
        jnp.int32(s),
        jnp.int32(a),
        jnp.float64(r),
        jnp.float64(discount),
        jnp.int32(s_next),
        jnp.bool(first),
    )


def test_two_episodes_of_control_by_hand():
    # gamma = lam = 0.9, so traces fade by 0.81; learning rate 0.1; pairs are 2 s + a.
    control = agent()
    table = learn(control, q_lambda.start(control), 0, 1, 0.0, 1, first=True)
    np.testing.assert_allclose(table.traces, [0, 1, 0, 0, 0, 0])
    np.testing.assert_allclose(table.levels[0], 0.0)
    table = learn(control, table, 1, 0, 1.0, 2, terminal=True)  # delta = 1
    np.testing.assert_allclose(table.traces, [0, 0.81, 1, 0, 0, 0])
    np.testing.assert_allclose(table.levels[0], [0, 0.081, 0.1, 0, 0, 0])
    # A new episode: old traces are gone; delta = 0 + 0.9 * 0.1 - 0.081 = 0.009.
    table = learn(control, table, 0, 1, 0.0, 1, first=True)
    np.testing.assert_allclose(table.traces, [0, 1, 0, 0, 0, 0])
    np.testing.assert_allclose(table.levels[0], [0, 0.0819, 0.1, 0, 0, 0])


def test_traces_are_replaced_and_survive_exploration():
    control = agent()
    table = learn(control, q_lambda.start(control), 0, 1, 1.0, 0, first=True)
    table = learn(control, table, 0, 0, 0.0, 0)  # not the greedy action
    np.testing.assert_allclose(table.traces[:2], [1, 0.81])
    table = learn(control, table, 0, 1, 0.0, 0)
    np.testing.assert_allclose(table.traces[:2], [0.81, 1])


def test_one_step_of_the_chain_by_hand():
    # Two beakers, areas 1 and 2, tubes 0.1 and 0.05. The update makes the visible value 0.1 first:
    # beaker 1 then loses 0.1 * 0.1, beaker 2 gains 0.05 * 0.1 (all from the updated values).
    table = learn(agent(2), q_lambda.start(agent(2)), 0, 0, 1.0, 1, terminal=True)
    np.testing.assert_allclose([u[0] for u in table.levels], [0.09, 0.005])
    # Next, in state 2 with nothing to learn: 0.09 - 0.1 * 0.085; 0.005 + 0.05 * 0.085 - 0.025 *
    # 0.005. Values of states that are not visited flow, too.
    table = learn(agent(2), table, 2, 0, 0.0, 2)
    np.testing.assert_allclose([u[0] for u in table.levels], [0.0815, 0.009125])


@pytest.mark.parametrize(
    ("modulation", "gain", "loss"),
    # With trace 0.5 and scale 10 the inflow of beaker 2 is five times as large; a falling level
    # (drop below 0) is scaled by "trace" but not by "directional". The leak never is.
    [("none", 0.05, -0.05), ("trace", 0.25, -0.25), ("directional", 0.25, -0.05)],
)
def test_modulation_scales_only_the_inflow_of_the_deeper_beaker(modulation, gain, loss):
    modified = agent(2, modulation=modulation, gamma=1.0, lam=0.5)
    before = q_lambda.start(modified)
    visible, hidden = jnp.zeros(6).at[0].set(1.0), jnp.zeros(6).at[1].set(1.0)
    table = before._replace(levels=(visible, hidden), traces=jnp.ones(6))
    table = learn(modified, table, 2, 0, 0.0, 2)
    np.testing.assert_allclose(table.traces[:2], 0.5)
    np.testing.assert_allclose(table.levels[0][:2], [0.9, 0.1])  # not scaled
    np.testing.assert_allclose(table.levels[1][:2], [gain, 1.0 + loss - 0.025])


@pytest.mark.parametrize("modulation", ["none", "trace", "directional"])
def test_chains_step_as_the_library_steps_them(modulation):
    modified = agent(4, modulation=modulation)
    levels = jax.random.normal(jax.random.key(0), (4, 6))
    table = q_lambda.start(modified)._replace(levels=tuple(levels))
    frozen = QLambda(3, 2, Chain(1, 0.1, leak=False, gated=False))  # learns, but does not flow
    learnt = learn(frozen, table._replace(levels=(levels[0],)), 1, 0, 1.0, 2)
    table = learn(modified, table, 1, 0, 1.0, 2)
    flow = {
        "none": 1.0,
        "trace": 10 * table.traces,
        "directional": lambda drop: jnp.where(drop > 0, 10 * table.traces, 1.0),
    }[modulation]
    chain = integrate.start(modified.scheme, levels)
    chain = integrate.step(modified.scheme, chain, learnt.levels[0], flow)
    np.testing.assert_allclose(jnp.stack(table.levels), integrate.read(chain), rtol=1e-14)


def test_where_the_trace_is_gone_nothing_is_consolidated():
    modified = agent(2, modulation="trace")
    table = q_lambda.start(modified)._replace(levels=(jnp.ones(6), jnp.zeros(6)))
    table = learn(modified, table, 2, 0, 0.0, 2, first=True)
    np.testing.assert_allclose(table.levels[1][:4], 0.0)


def test_actions_are_greedy_up_to_epsilon_and_ties_are_broken_evenly():
    chooser = agent(epsilon=0.2)
    noise = q_lambda.draw_noise(chooser, jax.random.key(0), (40_000,))
    assert abs(float(noise.explore.mean()) - 0.2) < 0.01

    def share(q):  # of action 1
        actions = jax.vmap(q_lambda.act, in_axes=(None, 0))(jnp.asarray(q), noise)
        return float(actions.mean())

    assert abs(share([0.0, 1.0]) - 0.9) < 0.01
    assert abs(share([1.0, 0.0]) - 0.1) < 0.01
    assert abs(share([0.3, 0.3]) - 0.5) < 0.01


def test_without_exploration_the_best_action_is_always_taken():
    noise = q_lambda.draw_noise(agent(epsilon=0.0), jax.random.key(0), (1000,))
    assert not noise.explore.any()
    zero = Noise(jnp.bool(False), jnp.zeros(2, jnp.uint32))  # the lowest ranks there are
    assert int(q_lambda.act(jnp.array([0.0, 1.0]), zero)) == 1


def test_hidden_values_are_maxima_over_actions():
    table = q_lambda.start(agent(2))._replace(levels=(jnp.arange(6.0), -jnp.arange(6.0)))
    values = q_lambda.hidden_values(agent(2), table)
    np.testing.assert_array_equal(values, [[1, 3, 5], [0, -2, -4]])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"gamma": 1.5}, ValueError, "gamma=1.5: must lie between 0 and 1"),
        ({"epsilon": float("nan")}, ValueError, "epsilon=nan: must be finite"),
        ({"learning_rate": "fast"}, TypeError, "learning_rate='fast': must be a number"),
        ({"modulation": "both"}, ValueError, "modulation='both': unknown; choose one of 'none'"),
        (
            {"modulation": "trace", "trace_scale": -1},
            ValueError,
            r"trace_scale=-1: .* choose 0 to 10",
        ),
        ({"states": 0}, ValueError, "states=0: a table needs at least 1"),
        ({"chain": Chain(3, 0.1)}, ValueError, "chain: gated=True is not for tables"),
        ({"chain": Chain(3, 1.5, gated=False)}, ValueError, "dt=1 with g12=1.5"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    good = {"states": 3, "actions": 2, "chain": Chain(3, 0.1, gated=False)}
    parts = {name: settings[name] for name in good if name in settings}
    rule = {name: value for name, value in settings.items() if name not in parts}
    with pytest.raises(error, match=message):
        QLambda(**(good | parts), rule=QLambdaRule(**rule))


@pytest.mark.parametrize("modulation", ["none", "trace", "directional"])
def test_without_reward_a_scaled_table_does_the_same_and_stays_scaled(modulation):
    """Why a stall can last: values that all fade by one factor change nothing in what is done."""
    agent = QLambda(
        states=6, actions=3, chain=Chain(3, 0.01, gated=False), rule=QLambdaRule(modulation)
    )
    scale = 2.0**-20  # exact in floating point, so that all must agree to the bit

    def episode(factor):
        keys = jax.random.split(jax.random.key(3), 3)
        levels = tuple(factor * jax.random.uniform(key, (18,), jnp.float64) for key in keys)
        table, cell, done = q_lambda.TableState(levels, jnp.zeros(18)), jnp.int32(0), []
        for number in range(40):
            noise = q_lambda.draw_noise(agent, jax.random.key(number))
            action = q_lambda.act(q_lambda.values(agent, table, cell), noise)
            after = (cell + action + 1) % 6
            table = q_lambda.learn(
                agent, table, cell, action, jnp.float64(0), jnp.float64(0.9), after, number == 0
            )
            done.append(int(action))
            cell = after
        return table, done

    with jax.enable_x64(True):
        whole, scaled = episode(1.0), episode(scale)
    assert whole[1] == scaled[1]
    for level, small in zip(whole[0].levels, scaled[0].levels, strict=True):
        np.testing.assert_array_equal(scale * level, small)
