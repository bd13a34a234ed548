import numpy as np
import pytest

from bennafusi import Chain


def test_the_paper_s_two_task_chain():
    chain = Chain(n=30, g12=0.001625)
    np.testing.assert_array_equal(chain.areas, 2.0 ** np.arange(30))
    np.testing.assert_allclose(chain.tubes, 0.001625 * 2.0 ** -np.arange(30))
    np.testing.assert_allclose(chain.timescales, 4.0 ** np.arange(30) / 0.001625)
    np.testing.assert_allclose(chain.gate_opens, 2.0 ** np.arange(1, 31) / 0.001625)
    for values in (chain.areas, chain.tubes, chain.timescales, chain.gate_opens):
        assert values.dtype == np.float64
        assert values.shape == (30,)
        assert not values.flags.writeable


def test_only_sixteen_gates_open_in_the_two_task_runs():
    updates = 40 * 20_000 * 64
    assert (Chain(30, 0.1 / 64).gate_opens <= updates).sum() == 16


def test_options():
    assert Chain(4, 0.1, leak=False).tubes[-1] == 0
    np.testing.assert_array_equal(Chain(4, 0.1, gated=False).gate_opens, np.zeros(4))
    np.testing.assert_allclose(Chain(3, 0.1, growth=3.0).tubes, [0.1, 0.1 / 3, 0.1 / 9])
    assert not Chain(1, 0.1, leak=False).flows
    assert Chain(1, 0.1).flows


def test_repr_shows_the_range_of_timescales():
    assert repr(Chain(30, 0.001625)) == (
        "Chain(n=30, g12=0.001625, growth=2.0, leak=True, gated=True)"
        "  # timescales 615 to 1.77e+20 updates"
    )


def test_a_chain_is_a_value():
    assert Chain(3, 0.1) == Chain(3, 0.1)
    assert hash(Chain(3, 0.1)) == hash(Chain(3, 0.1))
    assert Chain(3, 0.1) != Chain(3, 0.1, leak=False)
    with pytest.raises(AttributeError):
        Chain(3, 0.1).n = 4


@pytest.mark.parametrize(
    ("shortest", "longest", "n"), [(10, 10, 1), (10, 40, 2), (10, 41, 3), (1, 4**9, 10)]
)
def test_covering_picks_the_smallest_chain(shortest, longest, n):
    chain = Chain.covering(shortest, longest, learning_rate=1.0)
    assert chain.n == n
    assert chain.timescales[0] == pytest.approx(shortest)
    assert chain.timescales[-1] >= longest * (1 - 1e-9)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n": 0, "g12": 0.1}, ValueError, "n=0.*n >= 1"),
        ({"n": 2.0, "g12": 0.1}, TypeError, "n=2.0.*whole number"),
        ({"n": True, "g12": 0.1}, TypeError, "n=True.*whole number"),
        ({"n": 2, "g12": 0.0}, ValueError, "g12=0.0.*g12 > 0"),
        ({"n": 2, "g12": -1}, ValueError, "g12=-1.0.*g12 > 0"),
        ({"n": 2, "g12": float("nan")}, ValueError, "g12=nan.*finite"),
        ({"n": 2, "g12": float("inf")}, ValueError, "g12=inf.*finite"),
        ({"n": 2, "g12": "0.1"}, TypeError, "g12='0.1'.*number"),
        ({"n": 2, "g12": np.array([0.1])}, TypeError, "g12=array.*number"),
        ({"n": 2, "g12": True}, TypeError, "g12=True.*number"),
        ({"n": 2, "g12": 0.1, "growth": 0.5}, ValueError, "growth=0.5.*growth >= 1"),
        ({"n": 2, "g12": 0.1, "leak": 1}, TypeError, "leak=1.*True or False"),
        ({"n": 900, "g12": 0.1}, ValueError, "n=900.*beyond float64"),
    ],
)
def test_bad_input_names_the_argument_the_value_and_the_remedy(arguments, error, message):
    with pytest.raises(error, match=message):
        Chain(**arguments)


def test_covering_warns_of_a_chain_that_holds_a_network_at_its_start():
    with pytest.warns(UserWarning, match=r"no farther than 0\.01 .*shortest >= 50, or say") as said:
        held = Chain.covering(10, 1e6)
    assert held == Chain(10, 0.1)  # nothing but a warning, at the caller's line
    assert said[0].filename == __file__
    with pytest.warns(UserWarning, match=r"learning_rate=0\.0001.*shortest >= 500"):
        Chain.covering(300, 1e6, learning_rate=1e-4)
    # The tests turn warnings into errors: these have none. The paper's online chain is the second.
    Chain.covering(50, 1e6)
    Chain.covering(100, 1e6)
    Chain.covering(10, 1e6, learning_rate=1e-2)
    with pytest.raises(ValueError, match=r"learning_rate=0: must be above 0"):
        Chain.covering(100, 1e6, learning_rate=0)


@pytest.mark.parametrize(("shortest", "longest"), [(0, 1), (-1, 1), (2, 1), (1, float("inf"))])
def test_covering_refuses_impossible_ranges(shortest, longest):
    with pytest.raises(ValueError, match=r"shortest=|longest="):
        Chain.covering(shortest, longest, learning_rate=1.0)


def test_depths_are_reached_when_their_timescale_is_over():
    chain = Chain(n=4, g12=0.1)  # timescales 10, 40, 160, 640
    assert [len(chain.reached(updates)) for updates in (0, 39, 40, 159, 160, 10**9)] == [
        *(1, 1, 2, 2, 3, 4)
    ]
    with pytest.raises(TypeError, match=r"updates=1.5: must be a whole number"):
        chain.reached(1.5)
