"""What every rival must do, tested the way optax tests its own wrappers."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from bennafusi import rivals
from tests.compiling import on_devices
from tests.promotion import lenient, standard_promotion
from tests.rivals.common import BASES, CASES, KEY, network, parabola, stepper

every_rival = pytest.mark.parametrize("name", CASES)
TARGET = jax.tree.map(lambda p: 0.5 * p + 0.1, network())
towards_target = functools.partial(parabola, target=TARGET)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("ademamix", "obgd")])
def test_an_optimiser_that_is_not_made_is_refused_in_words(name):
    with pytest.raises(TypeError, match="must be an optax optimiser that is made"):
        CASES[name].around(optax.adam)


@functools.cache
def compiled(name, base):
    """A rival around an optimiser, and its step: one program for all tests that take it.

    Parameters and state are donated, and an argument that nobody knows is handed over.
    """
    optimizer = CASES[name].around(BASES[base]())
    step = stepper(CASES[name], optimizer, towards_target)
    return optimizer, jax.jit(functools.partial(step, nobody_knows_me=1), donate_argnums=(0, 1))


def close(one, other, **tolerance):
    jax.tree.map(
        functools.partial(np.testing.assert_allclose, **({"rtol": 1e-5, "atol": 1e-6} | tolerance)),
        one,
        other,
    )


def plain(tree):
    """Random keys as the numbers they are made of."""
    return jax.tree.map(
        lambda x: jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x,
        tree,
    )


@pytest.mark.parametrize("base", BASES)
@every_rival
def test_converges_compiles_once_and_takes_unknown_arguments(name, base):
    optimizer, step = compiled(name, base)
    params, state = step(network(), optimizer.init(network()))
    before = jax.tree.map(lambda x: (x.shape, x.dtype), (params, state))
    params, state = step(params, state)
    assert step._cache_size() == 1
    assert jax.tree.map(lambda x: (x.shape, x.dtype), (params, state)) == before
    for _ in range(1500):
        params, state = step(params, state)
    if name in ("continual_backprop", "redo"):  # which throw weights away as they go
        # A unit that is born again learns again; the loss is far below where it began.
        assert towards_target(params) < 0.5 * towards_target(network())
    else:
        close(params, TARGET, atol=0.03)


@every_rival
def test_the_state_is_a_tree_of_arrays_that_survives(name):
    optimizer, step = compiled(name, "adam")
    params = network()
    state = optimizer.init(params)
    leaves, structure = jax.tree.flatten(state)
    assert all(isinstance(leaf, jax.Array) for leaf in leaves)
    close(plain(jax.tree.unflatten(structure, leaves)), plain(state))
    same = optax.tree.map_params(optimizer, lambda leaf: leaf, state)
    assert jax.tree.structure(same) == structure
    # No buffer stands in two places, so that parameters and state can be donated.
    jax.block_until_ready(step(params, state))
    optimizer.init(network())  # and what the factory keeps was not donated with them


@every_rival
def test_vmap_and_scan_are_the_same_as_one_after_another(name):
    optimizer, alone = compiled(name, "sgd")
    step = stepper(CASES[name], optimizer, towards_target)
    params = [network(key) for key in jax.random.split(KEY, 2)]
    carries = [(p, optimizer.init(p)) for p in params]

    def run(carry):
        return jax.lax.scan(lambda c, _: (step(*c), None), carry, length=6)[0]

    together = jax.jit(jax.vmap(run))(jax.tree.map(lambda *x: jnp.stack(x), *carries))
    for i, carry in enumerate(carries):
        for _ in range(6):
            carry = alone(*carry)
        close(jax.tree.map(lambda x, i=i: x[i], together[0]), carry[0], rtol=1e-4, atol=1e-5)


@every_rival
def test_updates_have_the_type_of_the_parameters(name):
    case, dtype = CASES[name], jnp.bfloat16
    optimizer = case.around(BASES["sgd"]())

    def begin_and_update():
        params = network(dtype=dtype)
        grads = jax.tree.map(jnp.ones_like, params)
        state = optimizer.init(params)
        demands = case.demands(grads, jnp.ones((5, 4), dtype))
        return params, state, *optimizer.update(grads, state, params, **demands)

    params, state, updates, after = jax.eval_shape(begin_and_update)  # types need no numbers
    assert jax.tree.map(lambda u: u.dtype, updates) == jax.tree.map(lambda p: p.dtype, params)
    assert [x.dtype for x in jax.tree.leaves(after)] == [x.dtype for x in jax.tree.leaves(state)]


def on_a_branch(name):
    """A rival for parameters of which only those below ``learnt`` are its own."""
    case = CASES[name]
    if name not in ("continual_backprop", "redo"):
        return case.around(BASES["sgd"]())
    layers = [type(u)(*(f"learnt/{path}" for path in u)) for u in case.fixed["layers"]]
    return case.build(BASES["sgd"](), **case.settings, **(case.fixed | {"layers": layers}))


@every_rival
def test_masked_parameters_are_left_alone(name):
    params = {"learnt": network(), "kept": jnp.arange(3)}
    mask = {"learnt": True, "kept": False}
    optimizer = optax.masked(on_a_branch(name), mask, mask_compatible_extra_args=True)
    grads = jax.tree.map(jnp.ones_like, params)
    demands = CASES[name].demands(grads, jnp.ones((5, 4)))
    updates, _ = jax.jit(
        lambda params: optimizer.update(grads, optimizer.init(params), params, **demands)
    )(params)
    np.testing.assert_array_equal(updates["kept"], grads["kept"])
    assert not np.array_equal(updates["learnt"]["w1"], grads["learnt"]["w1"])


@every_rival
def test_beside_another_optimiser_it_does_what_it_does_alone(name):
    case, own = CASES[name], on_a_branch(name)
    params = {"learnt": network(), "plain": jnp.ones(3)}
    optimizer = optax.multi_transform(
        {"rival": own, "plain": lenient(optax.sgd(0.5))},
        {"learnt": "rival", "plain": "plain"},
        mask_compatible_extra_args=True,
    )

    def twice(optimizer, params):
        grads, state = jax.tree.map(jnp.ones_like, params), optimizer.init(params)
        demands = case.demands(grads, jnp.ones((5, 4)))
        for _ in range(2):
            updates, state = optimizer.update(grads, state, params, **demands)
            params = jax.tree.map(jnp.add, params, updates)
        return params

    found = jax.jit(functools.partial(twice, optimizer))(params)
    expected = jax.jit(functools.partial(twice, own))({"learnt": params["learnt"]})
    close(found["learnt"], expected["learnt"])
    close(found["plain"], np.zeros(3))


def test_output_grads_that_a_mask_has_not_cut_are_refused_with_the_flag():
    params = network()
    mask = {"w1": True, "b1": False, "w2": True, "b2": False}
    grads = jax.tree.map(jnp.ones_like, params)
    optimizer = optax.masked(CASES["mas"].around(BASES["sgd"]()), mask)
    with pytest.raises(ValueError, match=r"output_grads: .*mask_compatible_extra_args=True"):
        optimizer.update(grads, optimizer.init(params), params, output_grads=grads)


@every_rival
def test_accumulated_and_partitioned(name):
    case = CASES[name]
    params, grads = network(), jax.tree.map(jnp.ones_like, network())
    demands = case.demands(grads, jnp.ones((5, 4)))
    steps = optax.MultiSteps(case.around(optax.sgd(0.1)), every_k_schedule=2)
    own = case.around(optax.sgd(0.1))

    @jax.jit
    def thrice(params):
        first, state = steps.update(grads, steps.init(params), params, **demands)
        second, _ = steps.update(grads, state, params, **demands)
        return first, second, own.update(grads, own.init(params), params, **demands)[0]

    with standard_promotion():
        first, second, expected = thrice(params)
    close(first, jax.tree.map(np.zeros_like, grads))
    close(second, expected)


def test_each_group_of_parameters_has_its_own_rival():
    from bennafusi import rivals

    params, grads = network(), jax.tree.map(jnp.ones_like, network())
    optimizer = optax.multi_transform(
        {
            "pulled": rivals.l2_init(lenient(optax.sgd(1.0)), strength=0.5),
            "plain": lenient(optax.sgd(1.0)),
        },
        {"w1": "pulled", "b1": "plain", "w2": "pulled", "b2": "plain"},
    )
    state = optimizer.init(params)
    moved = jax.tree.map(lambda p: p + 1, params)
    updates, _ = optimizer.update(grads, state, moved)
    close(updates["w1"], -2 * grads["w1"])
    close(updates["b1"], -grads["b1"])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.settings])
def test_settings_can_be_injected(name):
    """The same to the last digits, and the number in the state can be changed as training goes."""
    case = CASES[name]
    params, grads = network(), jax.tree.map(jnp.ones_like, network())
    moved = jax.tree.map(lambda p: p + 0.25, params)
    demands = case.demands(grads, jnp.ones((5, 4)))

    made = functools.partial(case.build, optax.sgd(0.1), **case.fixed)
    with standard_promotion():
        injected = optax.inject_hyperparams(case.build, static_args=("optimizer", *case.fixed))(
            optax.sgd(0.1), **case.settings, **case.fixed
        )
        own = made(**case.settings)
        mine, theirs = own.init(params), injected.init(params)
        for weights in (params, moved, moved):
            expected, mine = own.update(grads, mine, weights, **demands)
            found, theirs = injected.update(grads, theirs, weights, **demands)
            close(found, expected, rtol=1e-4, atol=1e-5)
        assert set(theirs.hyperparams) >= set(case.settings)


def test_a_count_that_is_injected_under_jit_is_refused_in_words():
    """optax makes a number of every argument that is not said to be static, defaults included."""
    make = functools.partial(rivals.shrink_and_perturb, decay=0.1, noise=0.0)
    params, settings = network(), {"optimizer": optax.sgd(0.1), "key": jax.random.key(0)}
    with standard_promotion():
        traced = optax.inject_hyperparams(make, static_args=tuple(settings))(**settings)
        with pytest.raises(
            TypeError, match=r"every=.* known before compiling; .* static_args: 'every'"
        ):
            jax.jit(traced.update)(params, traced.init(params), params)
        counted = optax.inject_hyperparams(make, static_args=(*settings, "every"))(**settings)
        jax.jit(counted.update)(params, counted.init(params), params)


@every_rival
def test_params_are_asked_for(name):
    case = CASES[name]
    grads = jax.tree.map(jnp.ones_like, network())
    optimizer = case.around(BASES["sgd"]())
    state = optimizer.init(network())
    demands = case.demands(grads, jnp.ones((5, 4)))
    if name in ("obgd", "annealed"):
        optimizer.update(grads, state, **demands)  # to which the weights do not matter
    elif name == "schedule_free":  # optax's own, which fails in its own words
        with pytest.raises((ValueError, TypeError)):
            optimizer.update(grads, state, **demands)
    else:
        with pytest.raises(ValueError, match=r"(?i)params|parameters"):
            optimizer.update(grads, state, **demands)


DEMANDS = {
    "mas": "output_grads",
    "synaptic_intelligence_with_boundaries": "boundary",
    "continual_backprop": "activations",
    "redo": "activations",
    "obgd": "delta",
}


@pytest.mark.parametrize("name", DEMANDS)
def test_what_is_needed_is_demanded(name):
    """Nobody gets a boundary, or does without one, by accident."""
    params = network()
    optimizer = CASES[name].around(BASES["sgd"]())
    with pytest.raises(TypeError, match=DEMANDS[name]):
        optimizer.update(params, optimizer.init(params), params)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("l2_init", {"strength": -1.0}, r"strength=-1.0: must be at least 0"),
        ("online_ewc", {"mean_decay": 1.0}, r"mean_decay=1.0: must be at least 0 and below 1.0"),
        ("synaptic_intelligence", {"damping": 0.0}, r"damping=0.0: must be above 0"),
        ("schedule_free", {"b1": 0.0}, r"b1=0.0: must be above 0"),
        ("weight_decay", {"decay": 1.5}, r"decay=1.5: must be at least 0 and below 1.0"),
        ("obgd", {"trace_decay": 1.5}, r"trace_decay=1.5: must be at least 0 and at most 1.0"),
        ("ema", {"step_size": float("nan")}, r"step_size=nan: must be finite"),
        ("ema", {"step_size": 10.0}, r"step_size=10.0: must be at least 0 and at most 1.0"),
        ("hare_and_tortoise", {"step_size": 1.5}, r"step_size=1.5: .* at most 1.0"),
        ("lookahead", {"step_size": 1.5}, r"step_size=1.5: .* at most 1.0"),
        ("l2_init", {"strength": jnp.ones(2)}, r"strength: must be one number, not .* \(2,\)"),
        ("continual_backprop", {"replacement_rate": 2.0}, r"replacement_rate=2.0: .* at most 1.0"),
    ],
)
def test_bad_numbers_are_refused(name, settings, message):
    case = CASES[name]
    with pytest.raises(ValueError, match=message):
        case.build(optax.sgd(0.1), **(case.settings | settings), **case.fixed)


@pytest.mark.parametrize("name", ["online_ewc", "mas", "synaptic_intelligence"])
def test_averages_stay_averages_when_their_decay_is_changed_on_the_way(name):
    """Against the same in float64 by hand, with weights that move: 10 updates, then 12 slower."""
    method, rng = getattr(rivals, name), np.random.default_rng(5)
    before, after = (
        method(optax.sgd(0.1), strength=0.5, mean_decay=decay, importance_decay=decay)
        for decay in (0.8, 0.99)
    )
    w = jnp.asarray(rng.normal(size=3), jnp.float32)
    state, exact = before.init(w), _ByHand(np.asarray(w, np.float64), name)
    for optimizer, decay in [(before, 0.8)] * 10 + [(after, 0.99)] * 12:
        grads = rng.normal(size=3)
        g = jnp.asarray(grads, jnp.float32)
        step, state = optimizer.update(g, state, w, output_grads=g)
        w = w + step
        np.testing.assert_allclose(w, exact.update(grads, decay), rtol=2e-5, atol=1e-6)


class _ByHand:
    """SGD of rate 0.1 with the pull of one of the three, whose averages are of all there was."""

    def __init__(self, w, name):
        self.w, self.path, self.size = w, name == "synaptic_intelligence", name == "mas"
        self.sums = dict.fromkeys(("mean", "ones", "first", "second", "steps"), np.zeros(3))

    def average(self, name, new, decay):
        self.sums[name] = decay * self.sums[name] + (1 - decay) * new

    def update(self, g, decay):
        self.average("mean", self.w, decay)
        self.average("ones", np.ones(3), decay)
        if not self.path:
            self.average("first", np.abs(g) if self.size else g * g, decay)
            importance = self.sums["first"] / self.sums["ones"]
        else:
            share = np.where(self.sums["steps"] > 0, self.sums["steps"], 1)
            gain, drift = self.sums["first"] / share, self.sums["second"] / share
            importance = np.maximum(gain, 0) / (drift**2 + 1e-3)
        pull = 0.5 * importance * (self.w - self.sums["mean"] / self.sums["ones"])
        step = -0.1 * (g + pull)
        if self.path:
            for name, new in (("first", -g * step), ("second", step), ("steps", np.ones(3))):
                self.average(name, new, decay)
        self.w = self.w + step
        return self.w


@pytest.mark.parametrize("name", ["online_ewc", "synaptic_intelligence", "upgd"])
def test_a_decay_in_half_precision_is_refused_inside_jit_too(name):
    case, half = CASES[name], jnp.ones(3, jnp.bfloat16)
    inner = optax.inject_hyperparams(case.build, static_args=tuple(case.fixed))
    optimizer = inner(optax.sgd(0.1), **(case.settings | case.fixed))
    with pytest.raises(ValueError, match=r"1 in bfloat16: optax\.inject_hyperparams"):
        jax.jit(optimizer.init)(half)


def test_a_share_in_half_precision_is_taken_inside_jit():
    """Unlike an average's decay it is near 0, where half precision has digits enough."""
    inner = optax.inject_hyperparams(rivals.weight_decay, static_args=("optimizer",))
    optimizer, half = inner(optax.sgd(0.0), decay=0.25), jnp.ones(3, jnp.bfloat16)
    updates, _ = jax.jit(optimizer.update)(half, jax.jit(optimizer.init)(half), half)
    assert updates.tolist() == [-0.25] * 3


@pytest.mark.parametrize("name", ["upgd", "continual_backprop", "redo"])
def test_a_seed_is_no_key(name):
    case = CASES[name]
    with pytest.raises(TypeError, match=r"key=0: must be one random key, such as jax\.random\.key"):
        case.build(optax.sgd(0.1), **(case.settings | case.fixed | {"key": 0})).init(network())


# AdEMAMix and the annealed rate are optax's own steps, which take whatever optax takes.
@pytest.mark.parametrize("name", [name for name in CASES if name not in ("ademamix", "annealed")])
@pytest.mark.parametrize("wrong", [jnp.arange(3), jnp.ones(3, bool), jnp.ones(3, jnp.complex64)])
def test_only_floating_point_is_learnt(name, wrong):
    if name == "slow_weights":
        if wrong.dtype == jnp.complex64:
            pytest.skip("a chain is linear, and takes complex numbers")
        match = "only floating point can flow"
    else:
        match = rf"'b' has dtype {wrong.dtype}, and only \(real\) floating point can be learnt"
    with pytest.raises(TypeError, match=match):
        CASES[name].around(BASES["sgd"]()).init(network() | {"b": wrong})


def test_sharded_over_two_devices_is_the_same():
    """In a process of its own, since the number of devices must be known before JAX starts."""
    program = Path(__file__).with_name("sharded.py")
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    environ = {**os.environ, **on_devices(2), "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, program], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["sharded", str(len(CASES))]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: rivals.online_ewc(optax.sgd(0.1), mean_decay=x(1)), "mean_decay=1.0: .* below"),
        (lambda x: rivals.schedule_free(optax.sgd(0.1), b1=x(0)), "b1=0.0: must be above 0"),
        (
            lambda x: rivals.synaptic_intelligence(optax.sgd(0.1), damping=x(0)),
            "damping=0.0: must be above 0",
        ),
        (lambda x: rivals.ema(optax.sgd(0.1), step_size=x(-3)), "step_size=-3.0: must be at least"),
    ],
)
@pytest.mark.parametrize("kind", [float, jnp.float32])
def test_bounds_hold_for_numbers_of_jax_too(make, message, kind):
    with pytest.raises(ValueError, match=message):
        make(kind)


def test_a_decay_that_half_precision_rounds_to_one_is_refused_in_words():
    made = optax.inject_hyperparams(rivals.online_ewc, static_args=("optimizer",))
    with pytest.raises(ValueError, match=r"rounded to bfloat16: .*hyperparam_dtype=jnp.float32"):
        made(optax.sgd(0.1)).init(jnp.ones(2, jnp.bfloat16))
    wider = optax.inject_hyperparams(
        rivals.online_ewc, static_args=("optimizer",), hyperparam_dtype=jnp.float32
    )
    optimizer, w = wider(lenient(optax.sgd(0.1))), jnp.ones(2, jnp.bfloat16)
    with standard_promotion():
        updates, _ = optimizer.update(w, optimizer.init(w), w)
    assert np.isfinite(np.asarray(updates, np.float32)).all()


NOISY = {
    "shrink_and_perturb": lambda key: rivals.shrink_and_perturb(
        optax.sgd(0.1), decay=0.1, noise=0.1, key=key
    ),
    "upgd": lambda key: rivals.upgd(optax.sgd(0.1), noise=0.1, key=key),
}


@pytest.mark.parametrize("name", NOISY)
def test_keys_of_both_kinds_are_taken_and_nothing_else(name):
    w = jnp.ones(3)
    optimizer = NOISY[name](jax.random.PRNGKey(0))
    with standard_promotion():
        updates, _ = optimizer.update(w, optimizer.init(w), w)
    assert np.isfinite(updates).all()
    several = jax.random.split(jax.random.key(0), 3)
    for wrong in (0, jnp.int32(3), jnp.float32(3), several, jnp.zeros(5, jnp.uint32)):
        with pytest.raises(TypeError, match="must be one random key"):
            NOISY[name](wrong).init(w)


@pytest.mark.parametrize("name", [name for name in CASES if name != "slow_weights"])  # a chain
def test_whole_numbers_and_plain_ones_are_refused_in_words(name):
    optimizer = CASES[name].around(optax.sgd(0.1))
    params = network()
    path = min(params)
    for wrong in (jnp.ones(params[path].shape, jnp.int32), 1.5):
        with pytest.raises(TypeError, match=path):
            optimizer.init({**params, path: wrong})


def test_accumulated_a_boundary_must_be_said_at_the_last_batch_of_an_update():
    """``optax.MultiSteps`` hands on what the last one was told alone, as the docstring says."""
    around = rivals.synaptic_intelligence_with_boundaries(lenient(optax.sgd(0.1)), strength=1.0)
    steps = optax.MultiSteps(around, every_k_schedule=4)

    def importance(told):
        w, state = jnp.ones(2), steps.init(jnp.ones(2))
        with standard_promotion():
            for i in range(12):
                u, state = steps.update(0.5 * jnp.ones(2), state, w, boundary=jnp.bool_(i in told))
                w = optax.apply_updates(w, u)
        return float(optax.tree.get(state, "importance")[0])

    assert importance([8]) == 0
    assert importance([8, 9, 10, 11]) > 0
