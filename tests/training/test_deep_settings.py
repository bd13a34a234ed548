import dataclasses
import math
from functools import reduce

import numpy as np
import pytest

from bennafusi.agents.adam import Adam
from bennafusi.agents.networks import Network
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import ONLINE, STREAM, DeepSettings
from bennafusi.training.schedule import Exploration, Schedule

SINGLE = {**ONLINE, "tasks": ("cartpole",), "gammas": (0.95,)}
NAN, INF = math.nan, math.inf

WHOLE = ("epochs", "episodes", "max_steps", "test_every", "schedule.replay", "schedule.batch")
SHARES = ("exploration.epsilon", "exploration.decay", "exploration.floor", "agent.tau")
SHARES += ("optimizer.b1", "optimizer.b2")
POSITIVE = ("optimizer.learning_rate", "largest_value", "optimizer.eps", "chain.dt")
CHOICES = {
    "schedule.kind": ("episodic", "online", "minibatch", "stream"),
    "time_out": ("terminal", "bootstrap"),
    "schedule.target_update": ("update", "episode"),
    "network.gain": ("after", "before", "none"),
    "agent.loss": ("all", "taken"),
    "chain.method": ("multirate", "euler", "exact"),
    "chain.layers": ("all", "body", "head"),
    "schedule.agent_at_switch": ("keep", "reset", "own"),
    "chain.hidden_start": ("linear-variance", "gains-copied", "copy", "zeros"),
}


def with_(changes):
    return changed(DeepSettings(), changes)


def at(settings, path):
    return reduce(getattr, path.split("."), settings)


def refusal(error, changes):
    """What is said; a part speaks of its own field, a reader of settings puts the path before."""
    with pytest.raises(error) as caught:
        with_(changes)
    return str(caught.value)


def own(path):
    return path.rpartition(".")[2]


def test_defaults_are_table_s2_multi_task():
    s = DeepSettings()
    assert (s.tasks, s.gammas) == (("cartpole", "catcher"), (0.95, 0.99))
    assert (s.epochs, s.episodes, s.max_steps, s.test_every) == (40, 20_000, 500, 10)
    assert s.exploration == Exploration(epsilon=1, decay=0.9995, floor=0)
    assert s.network == Network(hidden=(400, 200))
    assert s.optimizer == Adam(learning_rate=1e-3, b1=0.9, b2=0.999)
    assert s.schedule == Schedule("episodic", replay=2000, batch=64)
    assert (s.agent.tau, s.agent.alpha) == (0.01, 0.01)
    assert (s.chain.n, s.chain.g12) == (30, 0.001625)


def test_defaults_the_table_does_not_name():
    s = DeepSettings()
    assert (s.optimizer.eps, s.schedule.target_update, s.chain.every) == (1e-8, "episode", 64)
    assert (s.agent.loss, s.time_out, s.network.gain) == ("all", "terminal", "after")
    assert (s.chain.gated, s.chain.dt, s.chain.hidden_start) == (True, None, "linear-variance")


def test_online_is_table_s2_single_task():
    s = with_(SINGLE)
    assert (s.tasks, s.gammas) == (("cartpole",), (0.95,))
    assert (s.epochs, s.episodes, s.max_steps, s.test_every) == (1, 100_000, 500, 10)
    assert s.exploration == Exploration(epsilon=1, decay=0.9995, floor=0)
    assert s.network == Network(hidden=(100, 50))
    assert s.optimizer == Adam(learning_rate=1e-3, b1=0.9, b2=0.999)
    assert s.schedule == Schedule("online", replay=1, batch=1, target_update="update")
    assert (s.agent.tau, s.agent.alpha) == (0.01, 0.01)
    assert (s.chain.n, s.chain.g12, s.chain.every, s.chain.dt) == (30, 0.01, 1, None)


def test_the_agent_is_made_of_the_settings_parts():
    s = with_({"chain.n": 5, "chain.g12": 0.002, "chain.gated": False, "max_steps": 77})
    agent, chain = s.learner, s.learner.chain
    assert agent.network is s.network
    assert agent.chains is s.chain
    assert agent.adam is s.optimizer
    assert agent.rule is s.agent
    assert (chain.n, chain.g12, chain.growth, chain.leak, chain.gated) == (5, 0.002, 2, True, False)
    assert s.sizes == (4, 2, 2)
    assert [env.max_steps for env in s.envs] == [77, 77]


def test_the_control_agent_has_no_beakers_and_no_leak():
    assert not with_({"chain.n": 1}).learner.chain.flows
    still = with_({"chain.n": 1, "chain.dt": 1000.0, "chain.g12": 0.01})
    assert still.chain.n == 1  # nothing flows, nothing overshoots


def test_settings_are_hashable_and_equal():
    assert DeepSettings() == DeepSettings()
    assert hash(with_(SINGLE)) == hash(with_(SINGLE))
    assert DeepSettings() != with_({"agent.tau": 0.02})
    used = DeepSettings()
    assert used.learner.network.size(used.sizes) == 84_408  # looking does not make it another one
    assert used == DeepSettings()
    assert hash(used) == hash(DeepSettings())


@pytest.mark.parametrize(
    "path", [*WHOLE, *SHARES, *POSITIVE, "chain.n", "chain.g12", "chain.every", "gammas", "tasks"]
)
def test_numbers_of_numpy_and_lists_are_cast_so_that_equal_ones_are_equal(path):
    plain = DeepSettings() if path != "chain.dt" else with_({"chain.dt": 64.0})
    value = at(plain, path)
    other = list(value) if isinstance(value, tuple) else np.array(value)[()]
    cast = with_({path: other})
    assert cast == plain
    assert hash(cast) == hash(plain)
    assert type(at(cast, path)) is type(value)


def test_a_frozen_setting_stays():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DeepSettings().epochs = 3


@pytest.mark.parametrize("name", [*WHOLE, "chain.n", "chain.every"])
def test_counts_are_whole_numbers_from_1(name):
    for value in (0, -3):
        message = refusal(ValueError, {name: value})
        assert message.startswith(f"{own(name)}={value}: ")
        assert "choose a whole number from" in message or f"{own(name)} >= 1" in message
    for value in (1.5, True, "3", None):
        message = refusal(TypeError, {name: value})
        kind = type(value).__name__
        assert message == f"{own(name)}={value!r}: must be a whole number, not {kind}"


def test_a_run_of_tests_alone_is_refused():
    assert "test_every=1: choose a whole number from 2" in refusal(ValueError, {"test_every": 1})


@pytest.mark.parametrize("name", SHARES)
def test_shares_lie_between_0_and_1(name):
    for value in (-0.1, 1.1):
        message = refusal(ValueError, {name: value})
        assert message.startswith(f"{own(name)}={value}: choose a number from 0 to ")
    assert at(with_({name: 0}), name) == 0


@pytest.mark.parametrize("name", SHARES[:4])
def test_a_share_may_be_all(name):
    assert at(with_({name: 1}), name) == 1


@pytest.mark.parametrize("name", ["optimizer.b1", "optimizer.b2"])
def test_an_average_that_never_moves_is_refused(name):
    assert refusal(ValueError, {name: 1}).startswith(f"{own(name)}=1: ")


@pytest.mark.parametrize("name", POSITIVE)
def test_positive_numbers(name):
    for value in (0, -1):
        message = refusal(ValueError, {name: value})
        assert message.startswith((f"{own(name)}={value}: ", f"{own(name)}={value}.0: "))
        assert message.endswith(": must be above 0")


@pytest.mark.parametrize("name", [*SHARES, *POSITIVE, "chain.g12"])
def test_numbers_are_finite_numbers(name):
    for value in (NAN, INF, -INF):
        assert refusal(ValueError, {name: value}) == f"{own(name)}={value}: must be finite"
    for value in (True, "3", [0.5]):
        message = refusal(TypeError, {name: value})
        assert message == f"{own(name)}={value!r}: must be a number, not {type(value).__name__}"


@pytest.mark.parametrize("name", CHOICES)
def test_choices_are_listed_when_there_is_no_such_one(name):
    for value in ("other", None, True, 3):
        message = refusal(ValueError, {name: value})
        assert message.startswith(f"{own(name)}={value!r}: unknown; choose ")
        assert all(repr(choice) in message for choice in CHOICES[name])


@pytest.mark.parametrize("name", CHOICES)
def test_all_choices_can_be_made(name):
    for choice in CHOICES[name]:
        newest = {"schedule.batch": 1, "schedule.replay": 1}
        alone = {"online": newest, "stream": {**STREAM, **newest}}.get(choice, {})
        assert at(with_({**alone, name: choice}), name) == choice


@pytest.mark.parametrize(
    ("settings", "error", "parts"),
    [
        (
            {"tasks": ("pong",), "gammas": (0.9,)},
            ValueError,
            ("tasks", "'pong'", "choose from 'cartpole', 'cartpole-long', 'catcher'"),
        ),
        ({"tasks": (), "gammas": ()}, ValueError, ("tasks=()", "name a task")),
        ({"tasks": ("catcher", 3)}, TypeError, ("tasks: 3 is no name of a task",)),
        (
            {"tasks": ("catcher", "cartpole", "catcher"), "gammas": (0.9, 0.9, 0.8)},
            ValueError,
            ("gammas=(0.9, 0.9, 0.8)", "'catcher' comes with several", "one discount"),
        ),
        (
            {"schedule.agent_at_switch": "reset", "recall.kind": "hold", "depths.games": 2},
            ValueError,
            ("agent_at_switch='reset' with recall.kind='hold'", "recall.kind='none'"),
        ),
        (
            {"agent.acting": 2, "chain.layers": "head"},
            ValueError,
            ("agent.acting=2 with chain.layers='head'", "agent.acting=1"),
        ),
        (
            {"schedule.agent_at_switch": "own", "depths.games": 2},
            ValueError,
            ("agent_at_switch='own' with depths.games=2", "choose depths.games=0"),
        ),
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
        ({"network.hidden": ()}, ValueError, ("hidden=()", "list the units of each")),
        ({"network.hidden": 400}, ValueError, ("hidden=400", "list the units of each")),
        ({"network.hidden": (400, 0)}, ValueError, ("hidden=0", "choose a whole number from 1")),
        ({"network.hidden": (400, -2)}, ValueError, ("hidden=-2", "choose a whole number from 1")),
        ({"network.hidden": (True,)}, TypeError, ("hidden=True", "must be a whole number")),
        ({"network.hidden": ("3",)}, TypeError, ("hidden='3'", "must be a whole number")),
        (
            {"schedule.replay": 63},
            ValueError,
            ("replay=63 with batch=64", "choose replay >= 64, or a smaller batch"),
        ),
        ({"schedule.every": 4}, ValueError, ("every=4", "is for minibatches")),
        ({"schedule.warmup": 9}, ValueError, ("warmup=9", "kind='minibatch'")),
        ({"schedule.target_every": 9}, ValueError, ("target_every=9", "target_update='update'")),
        ({"schedule.keep": 1}, TypeError, ("keep=1", "true or false")),
        ({"steps": 0}, ValueError, ("steps=0", "from 1")),
        ({"steps": 2**29}, ValueError, (f"steps={2**29}", "choose fewer")),
        ({"sticky": 0.1}, ValueError, ("sticky=0.1 with task 'cartpole'", "only gymnax's")),
        ({"network.filters": 16}, ValueError, ("network.filters=16", "(4,)", "filters=0")),
        ({"network.units": "gelu"}, ValueError, ("units='gelu'", "'relu' or 'crelu'")),
        ({"agent.alpha": -1}, ValueError, ("alpha=-1", "0, for a hard maximum")),
        ({"agent.acting": 0}, ValueError, ("agent.acting=0 with chain.n=30", "from 1, the weight")),
        ({"agent.acting": 2, "chain.n": 1}, ValueError, ("agent.acting=2 with chain.n=1", "to 1")),
        ({"agent.acting": 1.5}, TypeError, ("acting=1.5", "whole number")),
        (
            {"schedule.kind": "online", "schedule.batch": 2},
            ValueError,
            ("batch=2 with kind='online'", "choose batch=1", "kind='episodic'"),
        ),
        ({"depths.games": -1}, ValueError, ("games=-1", "choose a whole number from 0")),
        ({"depths.every": 2}, ValueError, ("every=2 with games=0", "choose games >= 1")),
        ({"chain.g12": 0}, ValueError, ("g12=0", "g12 > 0")),
        ({"chain.g12": -0.1}, ValueError, ("g12=-0.1", "g12 > 0")),
        (
            {"chain.g12": 0.01, "chain.dt": 101},
            ValueError,
            ("dt=101 with g12=0.01", "dt <= 100", "'exact'"),
        ),
        (
            {"chain.g12": 0.01, "chain.dt": 101, "chain.method": "euler"},
            ValueError,
            ("dt=101 with g12=0.01", "dt <= 100"),
        ),
        ({"chain.n": 10_000}, ValueError, ("n=10000", "use fewer beakers")),
        ({"chain.gated": 1}, TypeError, ("gated=1", "must be True or False")),
        ({"chain.gated": "yes"}, TypeError, ("gated='yes'", "must be True or False")),
        ({"epochs": 2**20 + 1}, ValueError, ("epochs=1048577", "to 1,048,576")),
        ({"episodes": 2**30 + 1}, ValueError, ("episodes=1073741825", "to 1,073,741,824")),
        ({"schedule.replay": 2**24 + 1}, ValueError, ("replay=16777217", "to 16,777,216")),
        (
            {"schedule.batch": 2**16 + 1, "schedule.replay": 2**20},
            ValueError,
            ("batch=65537", "to 65,536"),
        ),
    ],
)
def test_a_refusal_names_the_setting_its_value_and_what_to_do(settings, error, parts):
    message = refusal(error, settings)
    assert all(part in message for part in parts), message


def test_the_largest_step_of_a_chain_is_allowed():
    assert with_({"chain.g12": 0.01, "chain.dt": 100}).chain.dt == 100
    assert with_({"chain.every": 32}).chain.dt is None  # then it is 32
    exact = {"chain.g12": 0.01, "chain.dt": 1000, "chain.method": "exact"}
    assert with_(exact).chain.dt == 1000


def test_a_path_that_is_not_there_is_refused():
    assert refusal(TypeError, {"chain.m": 3}) == "m: NetworkChains has no field 'm'"
    assert refusal(TypeError, {"epochs.n": 3}).startswith("n: int has no field")


def test_tasks_of_different_shape_are_made_alike(monkeypatch):
    from bennafusi.envs import named
    from bennafusi.envs.catcher import Catcher

    monkeypatch.setitem(named.TASKS, "three actions", Catcher(no_op=True))
    assert with_({"tasks": ("three actions",), "gammas": (0.9,)}).sizes == (4, 3, 1)
    both = with_({"tasks": ("cartpole", "three actions")})
    assert both.separate, "each has a program of its own"
    assert both.sizes == ((4,), 3, 2)
    assert not with_({}).separate
    assert with_({"network.per_task": False}).sizes == (4, 2, 1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"network.normalise": True}, r"network.normalise=True with schedule.kind='online'"),
        ({**STREAM, "agent.alpha": 0.1}, r"agent.alpha=0.1 with schedule.kind='stream'"),
        ({**STREAM, "method.name": "l2-init"}, r"method.name=l2-init with schedule.kind='stream'"),
        ({**STREAM, "schedule.replay": 5}, r"replay=5 with kind='stream': stream-Q learns from"),
        ({**STREAM, "network.sparse": 1.0}, r"sparse=1: choose a number from 0 to below 1"),
        ({**STREAM, "stream.kappa": 0.0}, r"kappa=0: must be above 0"),
    ],
)
def test_what_does_not_fit_stream_q_is_refused(fields, message):
    alone = {"tasks": ("cartpole",), "gammas": (0.95,)}
    changed(DeepSettings(), {**ONLINE, **alone, **STREAM})
    with pytest.raises(ValueError, match=message):
        changed(DeepSettings(), {**ONLINE, **alone, **fields})
