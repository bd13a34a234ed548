import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bennafusi.agents.policies import choose, double_value, soft_policy, soft_value

DRAWS = 40_000


@pytest.fixture(scope="module")
def noise():
    return jax.random.uniform(jax.random.key(0), (2, DRAWS))


def frequencies(q, alpha, epsilon, noise):
    many = jax.vmap(choose, (None, None, None, 0, 0))
    actions = many(jnp.asarray(q, jnp.float32), alpha, jnp.float32(epsilon), *noise)
    assert actions.dtype == jnp.int32
    return np.bincount(actions, minlength=len(q))


def test_soft_value_and_policy_by_hand():
    # alpha = 2: e^(Q / 2) = 1, 2, 5, so V = 2 log 8 and the policy 1/8, 2/8, 5/8.
    q = 2 * jnp.log(jnp.array([1.0, 2.0, 5.0]))
    np.testing.assert_allclose(soft_value(q, 2.0), 2 * np.log(8), rtol=1e-6)
    np.testing.assert_allclose(soft_policy(q, 2.0), [0.125, 0.25, 0.625], rtol=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_values_2000_times_the_temperature_stay_finite(sign):
    q = jnp.array([sign * 20.0, sign * 20.0, sign * 20.0 - 0.02])
    # the third action is e^-2 times as likely as the others
    expected = sign * 20 + 0.01 * np.log(2 + np.exp(-2))
    np.testing.assert_allclose(soft_value(q, 0.01), expected, rtol=1e-6)
    share = 1 / (2 + np.exp(-2))
    np.testing.assert_allclose(soft_policy(q, 0.01), [share, share, 1 - 2 * share], rtol=1e-3)
    slope = jax.grad(soft_value)(q, 0.01)
    np.testing.assert_allclose(slope, soft_policy(q, 0.01), rtol=1e-3)


def test_without_temperature_it_is_the_maximum():
    q = jnp.array([0.3, -4.0, 0.2])
    gaps = [float(soft_value(q, alpha)) - 0.3 for alpha in (1.0, 0.1, 0.01, 1e-4)]
    assert gaps[0] > gaps[1] > gaps[2] >= gaps[3]
    assert abs(gaps[3]) < 1e-6
    np.testing.assert_allclose(soft_policy(q, 1e-4), [1, 0, 0])


def test_rows_are_worth_what_they_are_alone():
    q = jnp.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(soft_value(q, 0.5), [soft_value(row, 0.5) for row in q], rtol=1e-6)
    np.testing.assert_allclose(jnp.sum(soft_policy(q, 0.5), -1), np.ones(3), rtol=1e-6)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("q", [[0.0, 0.5], [0.2, -0.3, 0.5, 0.0]])
def test_actions_come_as_often_as_they_should(q, epsilon, noise):
    counts = frequencies(q, 0.5, epsilon, noise)
    soft = np.exp(np.array(q) / 0.5)
    chances = (1 - epsilon) * soft / soft.sum() + epsilon / len(q)
    assert stats.chisquare(counts, DRAWS * chances).pvalue > 0.01


def test_epsilon_is_how_often_a_certain_choice_is_dropped(noise):
    counts = frequencies([0.0, 100.0, 0.0, 0.0], 0.01, 0.2, noise)
    assert stats.binomtest(int(DRAWS - counts[1]), DRAWS, 0.2 * 3 / 4).pvalue > 0.01
    assert frequencies([0.0, 100.0, 0.0, 0.0], 0.01, 0.0, noise).tolist() == [0, DRAWS, 0, 0]


@pytest.mark.parametrize("actions", [1, 2, 3, 7])
@pytest.mark.parametrize("explore", [0.0, 0.999])
def test_every_rank_is_an_action_however_sums_are_rounded(actions, explore):
    """Seven times 1/7 is below 1 in float32: a rank between them must not be an eighth action."""
    below_one = np.nextafter(np.float32(1), np.float32(0))
    for q in (jnp.zeros(actions), jnp.linspace(0.0, 20.0, actions)):
        chosen = choose(q, 0.01, jnp.float32(0.5), jnp.float32(explore), jnp.float32(below_one))
        assert int(chosen) == actions - 1
    first = choose(jnp.zeros(actions), 0.01, jnp.float32(0.5), jnp.float32(explore), jnp.float32(0))
    assert int(first) == 0


def test_an_action_that_is_never_chosen_is_not_chosen_at_rank_0():
    q = jnp.array([0.0, 20.0])
    assert int(choose(q, 0.01, jnp.float32(0), jnp.float32(0), jnp.float32(0))) == 1


def test_without_a_temperature_the_best_action_counts():
    q = jnp.array([1.0, 3.0, 3.0, 2.0])
    assert float(soft_value(q, 0)) == 3.0
    half = [int(choose(q, 0, jnp.float32(0), jnp.float32(0.5), jnp.float32(x))) for x in (0.2, 0.7)]
    assert half == [1, 2], "of equals either, as often"
    any_of = int(choose(q, 0, jnp.float32(1), jnp.float32(0.5), jnp.float32(0.9)))
    assert any_of == 3, "exploration ignores the values"


def test_one_network_as_both_of_a_double_value_is_the_soft_value():
    q = jnp.array([0.3, -0.2, 0.1])
    for alpha in (0.0, 0.01, 1.0):
        assert float(double_value(q, q, alpha)) == pytest.approx(float(soft_value(q, alpha)))
    # The network prefers the second action, which the judge values at 1.
    assert float(double_value(jnp.array([0.0, 2.0]), jnp.array([9.0, 1.0]), 0.0)) == 1.0
