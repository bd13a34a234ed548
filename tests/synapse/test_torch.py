import copy
import io

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from bennafusi import Chain, beakers, consolidate
from bennafusi.torch import Consolidated, consolidated

OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.05),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.05),
    "Adamax": lambda p: torch.optim.Adamax(p, lr=0.05),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.05),
    "RAdam": lambda p: torch.optim.RAdam(p, lr=0.05),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.02),
    "Rprop": lambda p: torch.optim.Rprop(p, lr=0.02),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.2),
    "Adadelta": lambda p: torch.optim.Adadelta(p, lr=5.0),
    "ASGD": lambda p: torch.optim.ASGD(p, lr=0.1),
    "Adafactor": lambda p: torch.optim.Adafactor(p, lr=0.1),
    "LBFGS": lambda p: torch.optim.LBFGS(p, lr=0.5, max_iter=4),
}


def network(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def data(seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(16, 3, generator=generator), torch.randn(16, 2, generator=generator)


def train(model, optimizer, steps, first=0, **extra):
    """Full-batch regression with a target that changes at every step, so that order matters."""
    inputs, targets = data()
    for step in range(first, first + steps):

        def closure(step=step):
            optimizer.zero_grad()
            loss = ((model(inputs) - targets * np.cos(step / 10)) ** 2).mean()
            loss.backward()
            return loss

        loss = optimizer.step(closure, **extra)
    return float(loss.detach())


def weights(model):
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_one_beaker_without_leak_is_the_optimiser_to_the_bit(name):
    plain, wrapped = network(), network()
    train(plain, OPTIMIZERS[name](plain.parameters()), 20)
    optimizer = Consolidated(
        OPTIMIZERS[name](wrapped.parameters()), Chain(1, 0.1, leak=False), every=3
    )
    train(wrapped, optimizer, 20)
    assert torch.equal(weights(plain), weights(wrapped))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_around_every_optimiser(name):
    model = network()
    inputs, targets = data()
    optimizer = Consolidated(OPTIMIZERS[name](model.parameters()), Chain(6, 0.002))
    first = float(((model(inputs) - targets) ** 2).mean().detach())

    def closure():
        optimizer.zero_grad()
        loss = ((model(inputs) - targets) ** 2).mean()
        loss.backward()
        return loss

    for _ in range(60):
        last = float(optimizer.step(closure).detach())
    assert last < 0.8 * first
    for parameter in model.parameters():
        u = optimizer.beakers(parameter)
        assert u.shape == (6, *parameter.shape)
        assert torch.isfinite(u).all()
        assert torch.equal(u[0], parameter)


@pytest.mark.parametrize("method", ["multirate", "euler", "exact"])
@pytest.mark.parametrize("every", [1, 8])
def test_same_numbers_as_optax(method, every):
    """The same gradients for 1,000 steps through both faces of the library."""
    chain = Chain(12, 0.05)
    rng = np.random.default_rng(0)
    start = [
        rng.standard_normal((5, 4)).astype(np.float32),
        rng.standard_normal(7).astype(np.float32),
    ]
    grads = [rng.standard_normal((1000, *w.shape)).astype(np.float32) for w in start]

    parameters = [torch.nn.Parameter(torch.tensor(w)) for w in start]
    optimizer = Consolidated(
        torch.optim.SGD(parameters, lr=0.1), chain, every=every, method=method, hidden="zeros"
    )
    transform = consolidate(optax.sgd(0.1), chain, every=every, method=method, hidden="zeros")
    params = [jnp.asarray(w) for w in start]
    state = transform.init(params)
    update = jax.jit(transform.update)
    for step in range(1000):
        for parameter, gradient in zip(parameters, grads, strict=True):
            parameter.grad = torch.tensor(gradient[step])
        optimizer.step()
        updates, state = update([jnp.asarray(g[step]) for g in grads], state, params)
        params = optax.apply_updates(params, updates)
    for parameter, param, u in zip(parameters, params, beakers(state), strict=True):
        np.testing.assert_allclose(parameter.detach().numpy(), param, rtol=2e-4, atol=2e-6)
        np.testing.assert_allclose(optimizer.beakers(parameter).numpy(), u, rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("stop", [1, 17, 50])
def test_resumed_training_equals_uninterrupted_training_bit_for_bit(stop):
    def build(seed):
        model = network(seed)
        optimizer = Consolidated(
            torch.optim.Adam(model.parameters(), lr=0.01), Chain(12, 0.05), every=3
        )
        return model, optimizer

    model, optimizer = build(0)
    train(model, optimizer, 100)

    first, first_optimizer = build(0)
    train(first, first_optimizer, stop)
    file = io.BytesIO()
    torch.save({"model": first.state_dict(), "optimizer": first_optimizer.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    second, second_optimizer = build(99)
    second.load_state_dict(saved["model"])
    second_optimizer.load_state_dict(saved["optimizer"])
    train(second, second_optimizer, 100 - stop, first=stop)

    assert torch.equal(weights(model), weights(second))
    for p, q in zip(model.parameters(), second.parameters(), strict=True):
        assert torch.equal(optimizer.beakers(p), second_optimizer.beakers(q))


def test_a_saved_state_does_not_change_while_training_goes_on():
    model = network()
    optimizer = Consolidated(torch.optim.SGD(model.parameters(), lr=0.1), Chain(6, 0.1))
    train(model, optimizer, 10)
    early = copy.deepcopy(optimizer.state_dict())
    train(model, optimizer, 10)
    rows = optimizer.state_dict()["beakers"]["bundles"][0]["rows"]
    before = [row.clone() for row in rows]
    train(model, optimizer, 10)
    assert all(torch.equal(a, b) for a, b in zip(rows, before, strict=True))
    optimizer.load_state_dict(optimizer.state_dict())
    rows = optimizer.state_dict()["beakers"]["bundles"][0]["rows"]
    before = [row.clone() for row in rows]
    optimizer.load_state_dict(early)
    assert all(torch.equal(a, b) for a, b in zip(rows, before, strict=True))


def test_schedulers_share_the_learning_rate():
    model = network()
    inner = torch.optim.SGD(model.parameters(), lr=1.0)
    optimizer = Consolidated(inner, Chain(4, 0.1))
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    train(model, optimizer, 1)
    scheduler.step()
    assert inner.param_groups[0]["lr"] == 0.5
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.param_groups[0]["lr"] = 0.125
    assert inner.param_groups[0]["lr"] == 0.125


def test_groups_added_later_get_chains_that_begin_then():
    first, second = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(3))
    inner = torch.optim.SGD([first], lr=0.1)
    optimizer = Consolidated(inner, Chain(3, 0.1), hidden="zeros")
    first.grad = torch.zeros(2)
    optimizer.step()
    optimizer.add_param_group({"params": [second], "lr": 0.5})
    assert inner.param_groups is optimizer.param_groups
    assert len(inner.param_groups) == 2
    assert torch.equal(optimizer.beakers(second)[1:], torch.zeros(2, 3))
    optimizer.step()
    assert float(optimizer.beakers(second)[1][0]) == pytest.approx(0.05)
    assert float(optimizer.beakers(first)[1][0]) > 0.05


def test_parameters_without_gradient_keep_flowing():
    parameter = torch.nn.Parameter(torch.ones(1))
    optimizer = Consolidated(
        torch.optim.Adam([parameter]), Chain(2, 0.1, gated=False, leak=False), hidden="zeros"
    )
    optimizer.step()
    assert parameter.item() == pytest.approx(0.9)
    assert optimizer.beakers(parameter)[1].item() == pytest.approx(0.05)


def test_frozen_parameters_keep_flowing_unless_they_are_left_out():
    def moved(**settings):
        frozen = torch.nn.Parameter(torch.ones(1), requires_grad=False)
        learnt = torch.nn.Parameter(torch.ones(1))
        inner = torch.optim.SGD([frozen, learnt], lr=0.1)
        Consolidated(inner, Chain(2, 0.1, gated=False), hidden="zeros", **settings).step()
        return [p.item() != 1 for p in (frozen, learnt)]

    assert moved() == [True, True]
    assert moved(mask=lambda p: p.requires_grad) == [False, True]


def test_flow_as_number_and_as_mapping():
    def second(flow):
        a, b = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
        optimizer = Consolidated(torch.optim.SGD([a, b], lr=1.0), Chain(3, 0.1), hidden="zeros")
        optimizer.step(flow={a: torch.tensor([0.0, 2.0])} if flow == "map" else flow)
        return optimizer.beakers(a)[1].tolist() + optimizer.beakers(b)[1].tolist()

    assert second(1.0) == pytest.approx([0.05] * 4)
    assert second(3.0) == pytest.approx([0.15] * 4)
    assert second(torch.tensor(3.0)) == pytest.approx([0.15] * 4)
    assert second(lambda drop: 2.0 * (drop > 0)) == pytest.approx([0.1] * 4)
    assert second("map") == pytest.approx([0.0, 0.1, 0.05, 0.05])


def test_hooks_and_deepcopy():
    model = network()
    optimizer = Consolidated(torch.optim.Adam(model.parameters()), Chain(5, 0.1))
    calls = []
    optimizer.register_step_post_hook(lambda *_: calls.append(1))
    train(model, optimizer, 3)
    assert len(calls) == 3
    twin_model, twin = copy.deepcopy((model, optimizer))
    train(model, optimizer, 5, first=3)
    train(twin_model, twin, 5, first=3)
    assert torch.equal(weights(model), weights(twin_model))


def test_types_and_masks():
    half = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    double = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    left_out = torch.nn.Parameter(torch.ones(2))
    optimizer = Consolidated(
        torch.optim.SGD([half, double, left_out], lr=0.1),
        Chain(3, 0.1, gated=False),
        hidden="zeros",
        mask=lambda p: p is not left_out,
    )
    optimizer.step()
    assert half.dtype == torch.bfloat16
    assert optimizer.beakers(half).dtype == torch.float32
    assert optimizer.beakers(double).dtype == torch.float64
    assert double[0].item() == pytest.approx(0.9, abs=1e-15)
    assert torch.equal(left_out, torch.ones(2))
    with pytest.raises(ValueError, match="has no chain"):
        optimizer.beakers(left_out)


def test_hidden_starts():
    parameter = torch.nn.Parameter(
        torch.randn(400, 100, generator=torch.Generator().manual_seed(0))
    )

    def levels(**settings):
        inner = torch.optim.SGD([parameter], lr=0.1)
        return Consolidated(inner, Chain(5, 0.1), **settings).beakers(parameter)

    assert torch.equal(levels()[3], parameter)
    assert torch.equal(levels(hidden="zeros")[1:], torch.zeros(4, 400, 100))
    spread = levels(hidden="linear-variance", generator=torch.Generator().manual_seed(1))
    np.testing.assert_allclose(
        spread[1:].var((1, 2)).numpy(), 1 - np.arange(2, 6) / 5, rtol=0.03, atol=1e-9
    )
    function = levels(hidden=lambda w, chain, *_: torch.full((chain.n - 1, *w.shape), 7.0))
    assert (function[1:] == 7).all()


def test_beakers_of_other_shapes_are_refused_even_if_the_sizes_add_up():
    one, other = torch.nn.Linear(3, 2), torch.nn.Linear(1, 4)
    saved = Consolidated(torch.optim.SGD(one.parameters(), lr=0.1), Chain(3, 0.1)).state_dict()
    with pytest.raises(ValueError, match="do not fit"):
        Consolidated(torch.optim.SGD(other.parameters(), lr=0.1), Chain(3, 0.1)).load_state_dict(
            saved
        )


def test_class_for_libraries_that_build_the_optimiser():
    cls = consolidated(torch.optim.Adam, Chain(8, 0.01), every=2)
    optimizer = cls(network().parameters(), lr=0.25)
    assert isinstance(optimizer, Consolidated)
    assert optimizer.param_groups[0]["lr"] == 0.25
    assert optimizer.every == 2
    assert cls.__name__ == "ConsolidatedAdam"


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"every": 0}, ValueError, "every=0"),
        ({"dt": 11.0}, ValueError, r"dt \* g12 = 1.1"),
        ({"method": "rk4"}, ValueError, "method='rk4'"),
        ({"hidden": "random"}, ValueError, "hidden='random'"),
        ({"hidden": "linear-variance"}, ValueError, "generator=None"),
        ({"generator": 0}, TypeError, r"generator=0: must be .* such as torch.Generator\(\)"),
        ({"chain": 3}, TypeError, "chain=3"),
        ({"optimizer": 3}, TypeError, "optimizer=3"),
        ({"optimizer": torch.optim.SGD}, TypeError, r"around a class, consolidated"),
        ({"mask": {"w": True}}, TypeError, r"mask=.*must be a function"),
    ],
)
def test_bad_settings(settings, error, message):
    inner = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    with pytest.raises(error, match=message):
        Consolidated(**{"optimizer": inner, "chain": Chain(3, 0.1), **settings})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"optimizer_class": "Adam"}, "optimizer_class='Adam': must be a class"),
        ({"chain": (8, 0.01)}, r"chain=\(8, 0.01\): must be"),
        ({"evry": 64}, "unexpected keyword argument 'evry'"),
        ({"every": 1.5}, "every=1.5"),
    ],
)
def test_a_class_that_could_make_no_optimiser_is_not_made(given, message):
    """A library would make it far from where the mistake is."""
    with pytest.raises(TypeError, match=message):
        consolidated(**{"optimizer_class": torch.optim.SGD, "chain": Chain(3, 0.1), **given})


def test_what_is_done_to_the_wrapped_optimiser_by_itself_is_noticed():
    parameter = torch.nn.Parameter(torch.ones(1))
    one, two = (Consolidated(torch.optim.SGD([parameter]), Chain(3, 0.1)) for _ in range(2))
    one.optimizer.load_state_dict(one.optimizer.state_dict())
    two.optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]})
    for optimizer in (one, two):
        with pytest.raises(RuntimeError, match="wrapped optimiser was loaded, or given param"):
            optimizer.step()


def test_a_chain_around_a_chain_is_refused():
    """Its state_dict would hold the beakers of one of them."""
    inner = Consolidated(torch.optim.SGD([torch.nn.Parameter(torch.ones(1))]), Chain(3, 0.1))
    with pytest.raises(TypeError, match="optimizer: has chains already"):
        Consolidated(inner, Chain(3, 0.1))


def test_bad_calls():
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = Consolidated(torch.optim.SGD([parameter], lr=0.1), Chain(3, 0.1))
    with pytest.raises(ValueError, match=r"flow: a tensor of shape \(2,\)"):
        optimizer.step(flow=torch.ones(2))
    before = parameter.detach().clone()
    parameter.grad = torch.ones(2)
    for key in ("weight", parameter.data):
        with pytest.raises(ValueError, match="flow: its key"):
            optimizer.step(flow={key: 0.0})
    with pytest.raises(ValueError, match=r"a factor of shape \(7,\) for a parameter of shape"):
        optimizer.step(flow={parameter: torch.ones(7)})
    for word in ("0.5", [0.5]):
        with pytest.raises(TypeError, match=r"flow=.*must be a number"):
            optimizer.step(flow=word)
    assert torch.equal(parameter, before)
    with pytest.raises(ValueError, match="has no 'beakers'"):
        optimizer.load_state_dict(torch.optim.SGD([parameter], lr=0.1).state_dict())
    other = Consolidated(torch.optim.SGD([parameter], lr=0.1), Chain(4, 0.1))
    with pytest.raises(ValueError, match=r"was saved with.*'n': 4"):
        optimizer.load_state_dict(other.state_dict())
    wide = torch.nn.Parameter(torch.ones(3))
    larger = Consolidated(torch.optim.SGD([wide], lr=0.1), Chain(3, 0.1))
    with pytest.raises(ValueError, match="do not fit"):
        optimizer.load_state_dict(larger.state_dict())
    with pytest.raises(ValueError, match=r"returned shape \(1,\)"):
        Consolidated(
            torch.optim.SGD([parameter], lr=0.1), Chain(3, 0.1), hidden=lambda *_: torch.ones(1)
        )
    exact = Consolidated(torch.optim.SGD([parameter], lr=0.1), Chain(3, 0.1), method="exact")
    with pytest.raises(ValueError, match="method='exact'"):
        exact.step(flow=2.0)
    with pytest.raises(TypeError, match=r"must be a class, such as torch.optim.SGD"):
        consolidated(torch.optim.SGD([parameter], lr=0.1), Chain(3, 0.1))
