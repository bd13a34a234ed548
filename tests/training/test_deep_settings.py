import dataclasses
import math

import numpy as np
import pytest

from bennafusi.training.deep_settings import ONLINE, DeepSettings

SINGLE = {**ONLINE, "tasks": ("cartpole",), "gammas": (0.95,)}
NAN, INF = math.nan, math.inf

WHOLE = ("epochs", "episodes", "max_steps", "test_every", "replay", "batch")
SHARES = ("epsilon", "epsilon_decay", "epsilon_floor", "tau", "beta1", "beta2")
POSITIVE = ("learning_rate", "largest_value", "alpha", "adam_epsilon", "dt")
CHOICES = {
    "schedule": ("episodic", "online"),
    "time_out": ("terminal", "bootstrap"),
    "target_update": ("update", "episode"),
    "gain": ("after", "before"),
    "loss": ("all", "taken"),
    "method": ("multirate", "euler", "exact"),
    "hidden_start": ("linear-variance", "gains-copied", "copy", "zeros"),
}


def refusal(error, **settings):
    with pytest.raises(error) as caught:
        DeepSettings(**settings)
    return str(caught.value)


def test_defaults_are_table_s2_multi_task():
    s = DeepSettings()
    assert (s.tasks, s.gammas, s.schedule) == (("cartpole", "catcher"), (0.95, 0.99), "episodic")
    assert (s.epochs, s.episodes, s.max_steps, s.test_every) == (40, 20_000, 500, 10)
    assert (s.epsilon, s.epsilon_decay, s.epsilon_floor) == (1, 0.9995, 0)
    assert (s.hidden, s.learning_rate, s.beta1, s.beta2) == ((400, 200), 1e-3, 0.9, 0.999)
    assert (s.replay, s.batch, s.tau, s.alpha) == (2000, 64, 0.01, 0.01)
    assert (s.n, s.g12) == (30, 0.001625)


def test_defaults_the_table_does_not_name():
    s = DeepSettings()
    assert (s.adam_epsilon, s.target_update, s.every, s.agent.dt) == (1e-8, "episode", 64, 64)
    assert (s.loss, s.time_out, s.gain, s.gated) == ("all", "terminal", "after", True)
    assert s.hidden_start == "linear-variance"


def test_online_is_table_s2_single_task():
    s = DeepSettings(**SINGLE)
    assert (s.tasks, s.gammas, s.schedule) == (("cartpole",), (0.95,), "online")
    assert (s.epochs, s.episodes, s.max_steps, s.test_every) == (1, 100_000, 500, 10)
    assert (s.epsilon, s.epsilon_decay, s.epsilon_floor) == (1, 0.9995, 0)
    assert (s.hidden, s.learning_rate, s.beta1, s.beta2) == ((100, 50), 1e-3, 0.9, 0.999)
    assert (s.replay, s.batch, s.tau, s.alpha) == (1, 1, 0.01, 0.01)
    assert (s.n, s.g12, s.every, s.agent.dt, s.target_update) == (30, 0.01, 1, 1, "update")


def test_the_agent_is_made_of_the_settings():
    s = DeepSettings(
        hidden=(8, 6), gain="before", n=5, g12=0.002, gated=False, every=32, dt=16.0,
        method="euler", hidden_start="copy", loss="taken", alpha=0.1, tau=0.2, beta1=0.8,
        beta2=0.99, adam_epsilon=1e-6, max_steps=77,
    )  # fmt: skip
    network, chain = s.agent.network, s.agent.chain
    assert (network.inputs, network.hidden, network.outputs, network.tasks) == (4, (8, 6), 2, 2)
    assert network.gain == "before"
    assert (chain.n, chain.g12, chain.growth, chain.leak, chain.gated) == (5, 0.002, 2, True, False)
    assert (s.agent.every, s.agent.dt, s.agent.method) == (32, 16, "euler")
    assert (s.agent.hidden, s.agent.loss, s.agent.alpha, s.agent.tau) == ("copy", "taken", 0.1, 0.2)
    assert (s.agent.beta1, s.agent.beta2, s.agent.adam_epsilon) == (0.8, 0.99, 1e-6)
    assert [world.max_steps for world in s.worlds] == [77, 77]


def test_the_control_agent_has_no_beakers_and_no_leak():
    assert not DeepSettings(n=1).agent.chain.flows
    assert DeepSettings(n=1, dt=1000.0, g12=0.01).n == 1  # nothing flows, nothing overshoots


def test_settings_are_hashable_and_equal():
    assert DeepSettings() == DeepSettings()
    assert hash(DeepSettings(**SINGLE)) == hash(DeepSettings(**SINGLE))
    assert DeepSettings() != DeepSettings(tau=0.02)
    used = DeepSettings()
    assert used.agent.network.size == 84_408  # looking at it does not make it another one
    assert used == DeepSettings()
    assert hash(used) == hash(DeepSettings())


@pytest.mark.parametrize(
    "name", [*WHOLE, *SHARES, *POSITIVE, "n", "g12", "every", "gammas", "tasks"]
)
def test_numbers_of_numpy_and_lists_are_cast_so_that_equal_ones_are_equal(name):
    plain = DeepSettings()
    value = getattr(plain, name)
    for other in [list(value)] if isinstance(value, tuple) else [np.array(value)[()]]:
        cast = DeepSettings(**{name: other})
        assert cast == plain
        assert hash(cast) == hash(plain)
        assert type(getattr(cast, name)) is type(value)


def test_a_frozen_setting_stays():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DeepSettings().epochs = 3


@pytest.mark.parametrize("name", [*WHOLE, "n", "every"])
def test_counts_are_whole_numbers_from_1(name):
    for value in (0, -3):
        message = refusal(ValueError, **{name: value})
        assert message.startswith(f"{name}={value}: ")
        assert "choose a whole number from" in message or f"{name} >= 1" in message
    for value in (1.5, True, "3", None):
        message = refusal(TypeError, **{name: value})
        kind = type(value).__name__
        assert message == f"{name}={value!r}: must be a whole number, not {kind}"


def test_a_run_of_tests_alone_is_refused():
    assert "test_every=1: choose a whole number from 2" in refusal(ValueError, test_every=1)


@pytest.mark.parametrize("name", SHARES)
def test_shares_lie_between_0_and_1(name):
    for value in (-0.1, 1.1):
        message = refusal(ValueError, **{name: value})
        assert message.startswith(f"{name}={value}: choose a number from 0 to ")
    assert getattr(DeepSettings(**{name: 0}), name) == 0


@pytest.mark.parametrize("name", SHARES[:4])
def test_a_share_may_be_all(name):
    assert getattr(DeepSettings(**{name: 1}), name) == 1


@pytest.mark.parametrize("name", ["beta1", "beta2"])
def test_an_average_that_never_moves_is_refused(name):
    assert refusal(ValueError, **{name: 1}).startswith(f"{name}=1: ")


@pytest.mark.parametrize("name", POSITIVE)
def test_positive_numbers(name):
    for value in (0, -1):
        message = refusal(ValueError, **{name: value})
        assert message.startswith((f"{name}={value}: ", f"{name}={value}.0: "))
        assert message.endswith(": must be above 0")


@pytest.mark.parametrize("name", [*SHARES, *POSITIVE, "g12"])
def test_numbers_are_finite_numbers(name):
    for value in (NAN, INF, -INF):
        assert refusal(ValueError, **{name: value}) == f"{name}={value}: must be finite"
    for value in (True, "3", [0.5]):
        message = refusal(TypeError, **{name: value})
        assert message == f"{name}={value!r}: must be a number, not {type(value).__name__}"


@pytest.mark.parametrize("name", CHOICES)
def test_choices_are_listed_when_there_is_no_such_one(name):
    for value in ("other", None, True, 3):
        message = refusal(ValueError, **{name: value})
        assert message.startswith(f"{name}={value!r}: unknown; choose ")
        assert all(repr(choice) in message for choice in CHOICES[name])


@pytest.mark.parametrize("name", CHOICES)
def test_all_choices_can_be_made(name):
    for choice in CHOICES[name]:
        settings = {"batch": 1, "replay": 1} if choice == "online" else {}
        assert getattr(DeepSettings(**settings, **{name: choice}), name) == choice


@pytest.mark.parametrize(
    ("settings", "error", "parts"),
    [
        (
            {"tasks": ("pong",), "gammas": (0.9,)},
            ValueError,
            ("tasks", "'pong'", "choose from 'cartpole', 'cartpole-long', 'catcher'"),
        ),
        ({"tasks": (), "gammas": ()}, ValueError, ("tasks=()", "name a task")),
        ({"tasks": ("catcher", 3)}, ValueError, ("tasks", "3", "choose from 'cartpole'")),
        ({"gammas": (0.9,)}, ValueError, ("gammas=(0.9,)", "tasks=(", "a discount for each")),
        ({"gammas": (0.9,) * 3}, ValueError, ("gammas=(0.9, 0.9, 0.9)", "a discount for each")),
        ({"gammas": (0.9, 1.5)}, ValueError, ("gammas=(0.9, 1.5)", "from 0 to 1")),
        ({"gammas": (-0.5, 0.5)}, ValueError, ("gammas=(-0.5, 0.5)", "from 0 to 1")),
        ({"gammas": (0.9, NAN)}, ValueError, ("gammas=nan", "must be finite")),
        ({"gammas": (True, 0.9)}, TypeError, ("gammas=True", "must be a number")),
        ({"gammas": ("3", 0.9)}, TypeError, ("gammas='3'", "must be a number")),
        ({"gammas": 0.9}, TypeError, ("gammas=0.9", "must be a list")),
        ({"tasks": 3}, TypeError, ("tasks=3", "must be a list")),
        ({"episodes": 2**20, "max_steps": 2**10}, ValueError, ("that may be", "choose fewer")),
        ({"hidden": ()}, ValueError, ("hidden=()", "list the units of each")),
        ({"hidden": 400}, ValueError, ("hidden=400", "list the units of each")),
        ({"hidden": (400, 0)}, ValueError, ("hidden=0", "choose a whole number from 1")),
        ({"hidden": (400, -2)}, ValueError, ("hidden=-2", "choose a whole number from 1")),
        ({"hidden": (True,)}, TypeError, ("hidden=True", "must be a whole number")),
        ({"hidden": ("3",)}, TypeError, ("hidden='3'", "must be a whole number")),
        (
            {"replay": 63},
            ValueError,
            ("replay=63 with batch=64", "choose replay >= 64, or a smaller batch"),
        ),
        (
            {"schedule": "online", "batch": 2},
            ValueError,
            ("batch=2 with schedule='online'", "choose batch=1", "schedule='episodic'"),
        ),
        ({"g12": 0}, ValueError, ("g12=0", "g12 > 0")),
        ({"g12": -0.1}, ValueError, ("g12=-0.1", "g12 > 0")),
        ({"g12": 0.01, "dt": 101}, ValueError, ("dt=101 with g12=0.01", "dt <= 100", "'exact'")),
        (
            {"g12": 0.01, "dt": 101, "method": "euler"},
            ValueError,
            ("dt=101 with g12=0.01", "dt <= 100"),
        ),
        ({"n": 10_000}, ValueError, ("n=10000", "use fewer beakers")),
        ({"gated": 1}, TypeError, ("gated=1", "must be True or False")),
        ({"gated": "yes"}, TypeError, ("gated='yes'", "must be True or False")),
        ({"epochs": 2**20 + 1}, ValueError, ("epochs=1048577", "to 1,048,576")),
        ({"episodes": 2**30 + 1}, ValueError, ("episodes=1073741825", "to 1,073,741,824")),
        ({"replay": 2**24 + 1}, ValueError, ("replay=16777217", "to 16,777,216")),
        ({"batch": 2**16 + 1, "replay": 2**20}, ValueError, ("batch=65537", "to 65,536")),
    ],
)
def test_a_refusal_names_the_setting_its_value_and_what_to_do(settings, error, parts):
    message = refusal(error, **settings)
    assert all(part in message for part in parts), message


def test_the_largest_step_of_a_chain_is_allowed():
    assert DeepSettings(g12=0.01, dt=100).dt == 100
    assert DeepSettings(every=32, batch=32).agent.dt == 32  # unless said otherwise
    assert DeepSettings(g12=0.01, dt=1000, method="exact").dt == 1000
