"""`Consolidated` in the hands of PyTorch's own tools, and what it refuses to load."""

import copy
import io
import pickle
import subprocess
import sys

import pytest
import torch

from bennafusi import Chain
from bennafusi.torch import Consolidated, consolidated
from tests.synapse.test_tools import FOREIGN


def built(**settings):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    inner = torch.optim.Adam(model.parameters(), lr=0.01)
    return model, Consolidated(inner, **{"chain": Chain(9, 0.05), "every": 2, **settings})


def train(model, step, steps=12):
    for _ in range(steps):
        model.zero_grad()
        model(torch.ones(4)).square().sum().backward()
        step()


@pytest.mark.filterwarnings("ignore")  # of the compiler
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_step_is_the_step(backend):
    (one, plain), (two, compiled) = built(), built()
    train(one, plain.step)
    train(two, torch.compile(compiled.step, backend=backend))
    torch.testing.assert_close(one.weight, two.weight, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        plain.beakers(one.weight), compiled.beakers(two.weight), rtol=1e-4, atol=1e-5
    )
    assert compiled.state_dict()["beakers"]["bundles"][0]["steps"] == 6


def test_repr_shows_the_chain():
    _, optimizer = built()
    text = repr(optimizer)
    assert "Adam (" in text
    assert "every=2, dt=2, method='multirate'" in text
    assert repr(Chain(9, 0.05)) in text
    assert repr(consolidated(torch.optim.SGD, Chain(3, 0.1))([torch.ones(1)])).startswith(
        "ConsolidatedSGD("
    )


def test_without_torch_the_extra_is_named():
    program = """
import sys
sys.modules["torch"] = None
try:
    import bennafusi.torch
except ModuleNotFoundError as error:
    sys.exit("pip install 'bennafusi[torch]'" not in str(error))
sys.exit(2)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_hidden_gets_what_it_gets_in_optax():
    seen = []

    def hidden(weight, chain, generator, path):
        seen.append((tuple(weight.shape), chain.n, generator, path))
        return weight.expand(chain.n - 1, *weight.shape)

    model, generator = torch.nn.Linear(4, 2), torch.Generator()
    for parameters in (model.named_parameters(), model.parameters()):
        Consolidated(
            torch.optim.SGD(parameters, lr=0.1),
            Chain(3, 0.1),
            hidden=hidden,
            generator=generator,
        )
    expected = [((2, 4), 3, generator, "weight"), ((2,), 3, generator, "bias")]
    assert seen[:2] == expected
    assert [path for *_, path in seen[2:]] == ["0/0", "0/1"]


def test_an_optimiser_of_a_made_class_is_pickled_whole():
    made = consolidated(torch.optim.Adam, Chain(9, 0.05), every=2)
    assert made is consolidated(torch.optim.Adam, Chain(9, 0.05), every=2)
    assert pickle.loads(pickle.dumps(made)) is made
    model = torch.nn.Linear(4, 2)
    optimizer = made(model.parameters(), lr=0.01)
    train(model, optimizer.step, 7)
    twin_model, twin = pickle.loads(pickle.dumps((model, optimizer)))
    assert type(twin) is made
    train(model, optimizer.step, 5)
    train(twin_model, twin.step, 5)
    assert torch.equal(model.weight, twin_model.weight)
    assert torch.equal(optimizer.beakers(model.weight), twin.beakers(twin_model.weight))


def test_a_made_class_is_the_same_in_another_process(tmp_path):
    file = tmp_path / "optimizer.pkl"
    model = torch.nn.Linear(4, 2)
    file.write_bytes(
        pickle.dumps(consolidated(torch.optim.Adam, Chain(3, 0.1))(model.parameters()))
    )
    program = """
import pickle, sys
from bennafusi import Chain
optimizer = pickle.loads(open(sys.argv[1], "rb").read())
import torch
from bennafusi.torch import consolidated
assert type(optimizer) is consolidated(torch.optim.Adam, Chain(3, 0.1))
optimizer.step()
"""
    subprocess.run([sys.executable, "-c", program, str(file)], check=True)


@pytest.fixture
def moving_in_place():
    """`model.to("meta")` keeps the parameters, as `model.to("cuda")` does."""
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(before)


@pytest.mark.parametrize("method", ["multirate", "euler", "exact"])
@pytest.mark.parametrize("first", ["step", "beakers", "readout", "recall", "load"])
def test_beakers_follow_a_model_that_moves_to_another_device(moving_in_place, method, first):
    """Where meta stands for a GPU; whichever is the first to use the beakers there."""
    model, optimizer = built(every=1, method=method)
    state = optimizer.state_dict()
    model.to("meta")
    actions = {
        "step": optimizer.step,
        "beakers": lambda: optimizer.beakers(model.weight),
        "readout": lambda: optimizer.readout([1 / 9] * 9),
        "recall": lambda: optimizer.recall(5, overwrite=True),
        "load": lambda: optimizer.load_state_dict(state),
    }
    model(torch.ones(4, device="meta")).sum().backward()
    actions[first]()
    optimizer.step()
    assert optimizer.beakers(model.weight).device.type == "meta"
    assert {row.device.type for row in optimizer.state_dict()["beakers"]["bundles"][0]["rows"]} == {
        "meta"
    }


def test_beakers_follow_a_model_to_another_precision():
    model, optimizer = built(every=1)
    train(model, optimizer.step, 3)
    before = optimizer.beakers(model.weight)
    model.double()
    torch.testing.assert_close(optimizer.beakers(model.weight), before.double())
    assert {row.dtype for row in optimizer.state_dict()["beakers"]["bundles"][0]["rows"]} == {
        torch.float64
    }


def test_autocast_leaves_the_beakers_in_full_precision():
    """It runs products in half precision, also those of a step that somebody puts into it."""

    def run(autocast):
        model, optimizer = built(every=1, method="exact")
        for step in range(50):
            model.zero_grad()
            model(torch.full((4,), 1.0 + step / 50)).square().sum().backward()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
                optimizer.step()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            mixed = optimizer.readout([0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.03, 0.02])
        return optimizer.beakers(model.weight), mixed[model.weight]

    for inside, outside in zip(run(True), run(False), strict=True):
        assert torch.equal(inside, outside)


def saved():
    model, optimizer = built()
    train(model, optimizer.step, 7)
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("field", FOREIGN)
def test_a_state_of_other_settings_is_refused(field):
    _, optimizer = built()
    before = [row.clone() for row in optimizer.state_dict()["beakers"]["bundles"][0]["rows"]]
    _, other = built(**FOREIGN[field])
    with pytest.raises(ValueError, match=rf"was saved with .*'{field}'.* but this optimiser has"):
        optimizer.load_state_dict(other.state_dict())
    rows = optimizer.state_dict()["beakers"]["bundles"][0]["rows"]
    assert all(torch.equal(a, b) for a, b in zip(rows, before, strict=True))


def spoil_rows(bundle):
    bundle["rows"][3] = bundle["rows"][3][:-1]


def drop_row(bundle):
    bundle["rows"].pop()


def not_finite(bundle):
    bundle["rows"][2][1] = float("nan")


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (spoil_rows, ValueError, r"row 3 has shape \(9,\), and needs \(10,\)"),
        (drop_row, ValueError, r"'rows' has 9 tensors, and this chain needs 10"),
        (not_finite, ValueError, "row 2 holds values that are not finite"),
        (lambda b: b.update(steps=-1), ValueError, "steps=-1: must be at least 0"),
        (lambda b: b.update(steps=1.5), TypeError, "steps=1.5: must be a whole number"),
        (lambda b: b.update(updates=2), ValueError, "updates=2: must be at least 0 and below 2"),
    ],
)
def test_a_damaged_state_is_refused_before_anything_changes(spoil, error, message):
    state = saved()
    spoil(state["beakers"]["bundles"][0])
    model, optimizer = built()
    train(model, optimizer.step, 3)
    before = copy.deepcopy(optimizer.state_dict())
    with pytest.raises(error, match=message):
        optimizer.load_state_dict(state)
    after = optimizer.state_dict()
    assert before["state"][0]["step"] == after["state"][0]["step"]
    one, two = (s["beakers"]["bundles"][0] for s in (before, after))
    assert (one["steps"], one["updates"]) == (two["steps"], two["updates"])
    assert all(torch.equal(a, b) for a, b in zip(one["rows"], two["rows"], strict=True))


@pytest.mark.filterwarnings("ignore")  # of torch.distributed, about having one process
def test_what_torch_distributed_saves_is_refused_with_the_way_out():
    """Its helper keeps two entries and drops the beakers; docs/pytorch.md says so."""
    from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict

    model, optimizer = built(every=1)
    state = get_optimizer_state_dict(model, optimizer)
    assert set(state) == {"state", "param_groups"}
    assert optimizer.state_dict()["beakers"]["bundles"][0]["steps"] == 1  # and it has stepped
    match = r"has no 'beakers'.*torch\.distributed\.checkpoint.*optimizer\.state_dict\(\)"
    with pytest.raises(ValueError, match=match):
        optimizer.load_state_dict(state)


def test_a_counter_past_every_steps_at_once():
    model, optimizer = built()
    optimizer._bundles[0].updates = 40
    train(model, optimizer.step, 1)
    assert (optimizer._bundles[0].steps, optimizer._bundles[0].updates) == (1, 0)


def test_a_state_for_more_groups_is_refused():
    optimizer = built()[1]
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(3))]})
    with pytest.raises(ValueError, match="do not fit: for 2 groups of parameters"):
        built()[1].load_state_dict(optimizer.state_dict())


def test_hooks_of_saving_and_loading_are_heard():
    """What they change is what is saved, loaded and gone on with, as in any optimiser."""
    _, optimizer = built()
    optimizer.register_state_dict_post_hook(lambda _, state: {**state, "note": "mine"})
    state = optimizer.state_dict()
    assert state["note"] == "mine"
    assert "beakers" in state

    def faster(_, state):
        return {**state, "param_groups": [{**state["param_groups"][0], "lr": 0.7}]}

    _, other = built()
    other.register_load_state_dict_pre_hook(faster)
    other.load_state_dict(state)
    assert other.optimizer.param_groups[0]["lr"] == 0.7
    seen = []
    other.register_load_state_dict_post_hook(lambda o: seen.append(o.param_groups[0]["lr"]))
    other.register_load_state_dict_post_hook(lambda o: o.param_groups[0].update(lr=0.3))
    other.load_state_dict(state)
    assert seen == [0.7]
    assert other.optimizer.param_groups[0]["lr"] == 0.3


class Counting(torch.optim.SGD):
    """An optimiser that has more to save than its base class knows."""

    made = 0

    def step(self, closure=None):
        self.made += 1
        return super().step(closure)

    def state_dict(self):
        return {**super().state_dict(), "made": self.made}

    def load_state_dict(self, state_dict):
        self.made = state_dict["made"]
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "made"})


def test_all_that_the_wrapped_optimiser_saves_is_saved():
    def fresh():
        return Consolidated(Counting([torch.nn.Parameter(torch.ones(2))], lr=0.1), Chain(3, 0.1))

    one, other = fresh(), fresh()
    one.step()
    assert one.state_dict()["made"] == 1
    other.load_state_dict(one.state_dict())
    assert other.optimizer.made == 1
