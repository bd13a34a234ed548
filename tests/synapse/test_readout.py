"""Reading a depth out and pouring it back up, by hand and in both faces of the library."""

import contextlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from bennafusi import Chain, beakers, consolidate, readout, recall
from bennafusi.torch import Consolidated

PACKED = pytest.mark.parametrize("packed", [False, True])


def staircase(weight, chain, key, path):
    """Beaker k holds k times the weight."""
    numbers = jnp.arange(2, chain.n + 1, dtype=weight.dtype)
    return numbers.reshape(-1, *[1] * weight.ndim) * weight[None]


def torch_staircase(weight, chain, generator, path):
    return torch.stack([k * weight for k in range(2, chain.n + 1)])


def chained(n=4, **settings):
    settings = {"hidden": staircase, **settings}
    return consolidate(optax.sgd(1.0), Chain(n, 0.1, gated=False), **settings)


def driven(tx, params, steps=300, seed=0):
    """Parameters and state after updates by noise, with liquid on its way between groups."""
    leaves, structure = jax.tree.flatten(params)

    @jax.jit
    def run(params, key):
        def body(carry, key):
            params, state = carry
            keys = jax.random.split(key, len(leaves))
            grads = [jax.random.normal(k, p.shape) for k, p in zip(keys, leaves, strict=True)]
            updates, state = tx.update(jax.tree.unflatten(structure, grads), state, params)
            return (optax.apply_updates(params, updates), state), None

        return jax.lax.scan(body, (params, tx.init(params)), jax.random.split(key, steps))[0]

    return run(params, jax.random.key(seed))


levels_of = jax.jit(beakers)


def liquid(chain, levels):
    return np.tensordot(chain.areas, np.asarray(levels, np.float64), axes=1)


@PACKED
def test_one_depth_and_weights_over_depths_by_hand(packed):
    state = chained(packed=packed).init({"w": jnp.array([1.0, -2.0]), "b": jnp.array(3.0)})
    for depth in (1, 2, 3, 4):
        np.testing.assert_array_equal(readout(state, depth)["w"], depth * np.array([1.0, -2.0]))
        np.testing.assert_array_equal(readout(state, depth)["b"], 3.0 * depth)
    mixed = readout(state, [0.5, 0.0, 0.0, 0.25])  # 0.5 * 1 + 0.25 * 4
    np.testing.assert_allclose(mixed["w"], [1.5, -3.0], rtol=1e-6)
    traced = jax.jit(readout)(state, jnp.array([0.0, 0.0, 1.0, 0.0]))
    np.testing.assert_allclose(traced["b"], 9.0, rtol=1e-6)
    np.testing.assert_array_equal(jax.jit(lambda s: readout(s, 3))(state)["b"], 9.0)


@PACKED
@pytest.mark.parametrize("method", ["multirate", "euler"])
def test_every_depth_is_the_row_that_beakers_shows(method, packed):
    tx = chained(12, method=method, packed=packed)
    _, state = driven(tx, {"w": jnp.ones((3, 2)), "b": jnp.zeros(5)}, steps=301)
    levels = levels_of(state)
    waiting = [u[..., -1, :] for u in jax.tree.leaves(state.flow.chain.levels[:-1])]
    assert method == "euler" or any(np.any(u != 0) for u in waiting)
    depths = jax.jit(lambda state: [readout(state, depth) for depth in range(1, 13)])(state)
    stacked = jax.tree.map(lambda *rows: np.stack(rows), *depths)
    jax.tree.map(np.testing.assert_array_equal, stacked, levels)


def test_a_read_out_of_one_depth_compiles_to_a_copy():
    """No sum, no product, only a slice of what is asked for."""
    state = chained(8).init({"w": jnp.ones((64, 64))})
    text = jax.jit(lambda s: readout(s, 2)).lower(state).as_text()
    assert set(re.findall(r"stablehlo\.\w+", text)) == {"stablehlo.slice", "stablehlo.reshape"}


def test_a_sum_over_depths_is_worked_out_in_full_precision():
    """On this machine it always is; on a GPU or a TPU it must be said."""
    state = chained(4).init({"w": jnp.ones((8, 8))})
    text = jax.jit(readout).lower(state, jnp.full(4, 0.25)).as_text()
    assert re.search(r"dot_general.*precision = \[HIGHEST, HIGHEST\]", text)


@PACKED
def test_recall_by_hand(packed):
    tx = chained(packed=packed)
    params = {"w": jnp.array([1.0, -2.0]), "b": jnp.array(3.0)}
    moved = jax.tree.map(lambda p: p + 0.5, params)  # the weight has gone on since the last step
    found, state, created = recall(tx.init(params), moved, 3, overwrite=True)
    np.testing.assert_array_equal(found["w"], [3.0, -6.0])
    np.testing.assert_array_equal(
        beakers(state)["w"], [[3.0, -6.0], [3.0, -6.0], [3.0, -6.0], [4.0, -8.0]]
    )
    # Areas 1 and 2: 1 * (3 - 1.5) + 2 * (3 - 2) = 3.5, and 1 * (-6 + 1.5) + 2 * (-6 + 4) = -8.5.
    np.testing.assert_allclose(created["w"], [3.5, -8.5], rtol=1e-6)
    np.testing.assert_allclose(created["b"], (9 - 3.5) + 2 * (9 - 6), rtol=1e-6)


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "packed"])
def noisy(request):
    chain = Chain(12, 0.1, gated=False)
    tx = consolidate(optax.sgd(1.0), chain, packed=request.param)
    params, state = driven(tx, {"w": jnp.ones((3, 2)), "b": jnp.zeros(5)}, steps=301)
    return chain, jax.jit(tx.update), params, state


@pytest.mark.parametrize("depth", [2, 3, 4, 5, 8, 12])
def test_recall_conserves_what_it_says(depth, noisy):
    """Whatever is on its way between groups: levels, counters, and the liquid that it reports."""
    chain, update, params, state = noisy
    before = levels_of(state)
    after_params, after, created = jax.jit(
        lambda s, p: recall(s, p, depth, overwrite=True)  # compiled, with the depth fixed
    )(state, params)
    now = levels_of(after)
    for name in params:
        u, v = np.asarray(before[name]), np.asarray(now[name])
        for row in range(depth):
            np.testing.assert_array_equal(v[row], u[depth - 1])
        np.testing.assert_array_equal(v[depth:], u[depth:])
        np.testing.assert_array_equal(after_params[name], u[depth - 1])
        difference = liquid(chain, v) - liquid(chain, u)
        np.testing.assert_allclose(difference, created[name], rtol=1e-4, atol=2e-3)
    assert int(after.flow.chain.steps) == 301
    assert int(after.flow.updates) == int(state.flow.updates)
    assert after.flow.settings == state.flow.settings
    # And training goes on from there.
    update(jax.tree.map(np.zeros_like, params), after, after_params)


def test_recall_leaves_alone_what_has_no_chain_and_finds_chains_anywhere():
    params = {"w": jnp.ones(2), "b": jnp.ones(3, jnp.bfloat16), "free": jnp.full(2, 7.0)}
    tx = optax.multi_transform(
        {"deep": chained(5), "short": chained(3), "none": optax.sgd(0.1)},
        {"w": "deep", "b": "short", "free": "none"},
    )
    found, state, created = recall(tx.init(params), params, 2)
    np.testing.assert_array_equal(found["w"], [2.0, 2.0])
    np.testing.assert_array_equal(found["b"], [2.0, 2.0, 2.0])
    assert found["b"].dtype == jnp.bfloat16
    np.testing.assert_array_equal(found["free"], [7.0, 7.0])
    np.testing.assert_array_equal(created["w"], [1.0, 1.0])
    assert isinstance(created["free"], optax.MaskedNode)
    np.testing.assert_array_equal(beakers(state)["b"][:, 0], [2.0, 2.0, 3.0])


def test_chains_of_whole_branches_are_one_tree():
    """One label for a branch leaves one hole in its place, which is no branch of the same shape."""
    params = {"a": {"w": jnp.ones(2), "b": None}, "b": {"w": jnp.ones(3)}, "c": {"w": jnp.ones(4)}}
    tx = optax.multi_transform(
        {"deep": chained(5), "short": chained(3), "none": optax.sgd(0.1)},
        {"a": "deep", "b": "short", "c": "none"},
    )
    state = tx.init(params)
    levels = beakers(state)
    assert levels["a"]["w"].shape == (5, 2)
    assert levels["b"]["w"].shape == (3, 3)
    assert levels["c"] == optax.MaskedNode()
    np.testing.assert_array_equal(readout(state, 3)["b"]["w"], [3.0, 3.0, 3.0])
    found, state, created = recall(state, params, 2)
    np.testing.assert_array_equal(found["a"]["w"], [2.0, 2.0])
    np.testing.assert_array_equal(found["c"]["w"], np.ones(4))
    np.testing.assert_array_equal(created["b"]["w"], [1.0, 1.0, 1.0])


def test_a_batch_of_states_is_recalled_member_by_member():
    tx = chained(4)
    batch = {"w": jnp.arange(6.0).reshape(3, 2)}
    found, state, created = recall(jax.vmap(tx.init)(batch), batch, 2)
    np.testing.assert_array_equal(found["w"], 2 * batch["w"])
    np.testing.assert_array_equal(created["w"], batch["w"])
    assert beakers(state)["w"].shape == (3, 4, 2)
    np.testing.assert_array_equal(readout(state, 3)["w"], 3 * batch["w"])


def test_what_cannot_be_meant_is_refused():
    params = jnp.ones(2)
    state = chained().init(params)
    for depth in (0, 5, -1):
        with pytest.raises(ValueError, match=f"depth={depth}: this chain has beakers 1 .* to 4"):
            readout(state, depth)
    with pytest.raises(TypeError, match=r"depth=2.0: must be a whole number"):
        readout(state, 2.0)
    with pytest.raises(TypeError, match=r"depth=.* static_argnames of jax.jit.* 'depth'"):
        jax.jit(readout)(state, 2)
    with pytest.raises(ValueError, match="state: holds no beakers"):
        readout(3, state)
    with pytest.raises(ValueError, match="choose one from 2 to 4"):
        recall(state, params, 1)
    recall(state, params, 2)  # only the weight is replaced, and that was asked for
    with pytest.raises(ValueError, match=r"overwrites beaker 2, .*overwrite=True"):
        recall(state, params, 3)
    with pytest.raises(ValueError, match=r"overwrites beakers 2 to 3, .*overwrite=True"):
        recall(state, params, 4)


@pytest.fixture
def both():
    """The same 301 updates through both faces; liquid waits between the groups."""
    chain = Chain(12, 0.1, gated=False)
    rng = np.random.default_rng(0)
    start = [rng.standard_normal(shape).astype(np.float32) for shape in ((3, 2), (5,))]
    grads = [rng.standard_normal((301, *w.shape)).astype(np.float32) for w in start]
    tx = consolidate(optax.sgd(0.1), chain)
    params = [jnp.asarray(w) for w in start]
    state, update = tx.init(params), jax.jit(tx.update)
    parameters = [torch.nn.Parameter(torch.tensor(w)) for w in start]
    optimizer = Consolidated(torch.optim.SGD(parameters, lr=0.1), chain)
    for step in range(301):
        updates, state = update([jnp.asarray(g[step]) for g in grads], state, params)
        params = optax.apply_updates(params, updates)
        for parameter, gradient in zip(parameters, grads, strict=True):
            parameter.grad = torch.tensor(gradient[step])
        optimizer.step()
    return params, state, parameters, optimizer


def close(tensor, array):
    np.testing.assert_allclose(tensor.detach().numpy(), array, rtol=2e-4, atol=5e-6)


def test_both_faces_read_and_recall_the_same(both):
    params, state, parameters, optimizer = both
    mixture = np.linspace(0.0, 1.0, 12).tolist()
    for depth in (1, 2, 3, 4, 5, 7, 12, mixture):
        values = optimizer.readout(depth)
        for parameter, level in zip(parameters, readout(state, depth), strict=True):
            close(values[parameter], level)
    for depth in (2, 4, 6):
        params, state, created = recall(state, params, depth, overwrite=True)
        made = optimizer.recall(depth, overwrite=True)
        rows = zip(parameters, params, created, beakers(state), strict=True)
        for parameter, param, liquid_created, levels in rows:
            close(parameter, param)
            close(optimizer.beakers(parameter), levels)
            np.testing.assert_allclose(
                made[parameter].numpy(), liquid_created, rtol=1e-3, atol=1e-4
            )


def model_and_optimizer(**settings):
    model = torch.nn.Linear(3, 2)
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    return model, Consolidated(inner, Chain(4, 0.1), hidden=torch_staircase, **settings)


def test_a_read_out_is_put_in_place_and_back():
    model, optimizer = model_and_optimizer()
    own, x = {name: p.detach().clone() for name, p in model.named_parameters()}, torch.ones(3)
    plain = model(x)
    with optimizer.readout(3) as values:
        torch.testing.assert_close(model(x), 3 * plain)
        assert torch.equal(values[model.weight], model.weight)
        with pytest.raises(RuntimeError, match="read-out is in the parameters' place"):
            optimizer.step()
        with pytest.raises(RuntimeError, match="read-out is in the parameters' place"):
            optimizer.recall(2)
        with pytest.raises(RuntimeError, match="read-out is in the parameters' place"):
            optimizer.load_state_dict(optimizer.state_dict())  # own weights would come back over it
        with pytest.raises(RuntimeError, match="read-out"), optimizer.readout(2):
            pass
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, own[name])
    with contextlib.suppress(ZeroDivisionError), optimizer.readout([0.0, 0.0, 0.0, 1.0]):
        torch.testing.assert_close(model(x), 4 * plain)
        _ = 1 / 0
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, own[name])
    optimizer.step()


def test_what_is_read_out_is_a_copy():
    model, optimizer = model_and_optimizer()
    before = optimizer.beakers(model.weight)
    for depth in (1, 2, 4):
        optimizer.readout(depth)[model.weight].zero_()
    assert torch.equal(optimizer.beakers(model.weight), before)


def test_torch_recall_by_hand_and_types():
    half = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    free = torch.nn.Parameter(torch.ones(2))
    optimizer = Consolidated(
        torch.optim.SGD([half, free], lr=0.1),
        Chain(4, 0.1),
        hidden=torch_staircase,
        mask=lambda p: p is half,
    )
    assert set(optimizer.readout(2)) == {half}
    assert optimizer.readout(2)[half].dtype == torch.bfloat16
    created = optimizer.recall(3, overwrite=True)
    assert half.tolist() == [3.0, 3.0]
    assert free.tolist() == [1.0, 1.0]
    assert created[half].tolist() == [4.0, 4.0]  # 1 * (3 - 1) + 2 * (3 - 2)
    assert optimizer.beakers(half)[:, 0].tolist() == [3.0, 3.0, 3.0, 4.0]


def test_torch_takes_what_jax_takes():
    model, optimizer = model_and_optimizer()
    one, two = optimizer.readout(2), optimizer.readout([0, 1, 0, 0])
    for number in (np.int64(2), torch.tensor(2)):
        assert torch.equal(optimizer.readout(number)[model.weight], one[model.weight])
    for weights in (np.eye(4)[1], torch.eye(4)[1]):
        assert torch.equal(optimizer.readout(weights)[model.weight], two[model.weight])


def test_torch_refuses_what_jax_refuses():
    _, optimizer = model_and_optimizer()
    with pytest.raises(ValueError, match=r"depth=5: this chain has beakers 1 .* to 4"):
        optimizer.readout(5)
    with pytest.raises(TypeError, match="depth=True"):
        optimizer.readout(True)
    with pytest.raises(ValueError, match="depth has 2 entries: this chain has 4 beakers"):
        optimizer.readout([0.5, 0.5])
    with pytest.raises(TypeError, match="depth='2': must be a whole number"):
        optimizer.readout("2")
    with pytest.raises(TypeError, match=r"depth=array\(\[1\]\): must be a whole number, not"):
        optimizer.recall(np.array([1]))
    with pytest.raises(ValueError, match=r"overwrites beakers 2 to 3, .*overwrite=True"):
        optimizer.recall(4)
