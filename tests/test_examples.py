"""Examples are run as a user runs them."""

import argparse
import io
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from bennafusi import Chain
from bennafusi.agents import soft_q
from bennafusi.agents.chains import NetworkChains
from bennafusi.agents.networks import Network, Params, Sizes
from bennafusi.agents.replay import Transition
from bennafusi.agents.soft_q import SoftQ
from tests.promotion import standard_promotion

EXAMPLES = Path(__file__).parents[1] / "examples"


def alone(name, *arguments, cwd):
    """What an example prints in a process of its own."""
    # Without the strict promotion of our own tests, which users do not have; compiled in haste.
    environ = {k: v for k, v in os.environ.items() if not k.startswith("JAX_NUMPY_")}
    environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def output(name, *arguments, cwd):
    """The same in this process, which has imported JAX and PyTorch already."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, standard_promotion(), redirect_stdout(said):
        patch.chdir(cwd)
        patch.syspath_prepend(EXAMPLES)
        patch.setattr(sys, "argv", [name, *arguments])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return said.getvalue()


def old_tasks(text):
    """The last column of the table of split digits, by the name of its row."""
    rows = re.findall(r"^(no chain.*?|chain.*?)  .*\| (\S+)$", text, re.M)
    return {name: float(value) for name, value in rows}


def test_every_example_is_run_here():
    tested = Path(__file__).read_text()
    for path in EXAMPLES.glob("*.py"):
        assert f'"{path.name}"' in tested, f"{path.name} has no test"


def test_the_notebook():
    """Its cells in their order, as a kernel would run them."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    document = json.loads((EXAMPLES / "first_look.ipynb").read_text())
    assert document["nbformat"] == 4
    assert all(not cell.get("outputs") for cell in document["cells"]), "kept without outputs"
    space: dict = {}
    with jax.numpy_dtype_promotion("standard"):
        for cell in document["cells"]:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), cell["id"], "exec"), space)
                matplotlib.pyplot.close("all")
    assert space["held"] == [-0.67, 0.04, 0.45, 0.16]  # as docs/start.md has it
    assert 2.5 < space["deviations"] < 3.5


def test_online_in_torch(tmp_path, capsys):
    """It runs, and its loss is that of the compiled agent."""
    words = ["--agents", "2", "--steps", "40", "--look", "40", "--games", "1"]
    done = output("online_torch.py", *words, cwd=tmp_path)
    assert re.search(r"^40 steps, \d+ episodes: \d+ \d+$", done, re.M)
    module = runpy.run_path(str(EXAMPLES / "online_torch.py"))
    # Timescales of 1,000, 4,000, 16,000, ... updates.
    assert [module["deepest"](count) for count in (40, 15_999, 16_000, 400_000)] == [1, 1, 2, 4]
    module["train"].__globals__["CHAIN"] = Chain(5, 0.125)  # 8, 32, 128, ... updates
    sizes = {"agents": 1, "games": 1, "steps": 128, "look": 128, "seed": 0}
    parts = {"rate": 1e-3, "eps": 1e-4, "decay": 0.998, "no_chain": False, "taken": False}
    module["train"](argparse.Namespace(**sizes, **parts))
    said = capsys.readouterr().out
    assert re.search(r"^128 steps, \d+ episodes: \d+; beaker 2: \d+$", said, re.M)
    torch.manual_seed(0)
    network, target = module["QNetworks"](1), module["QNetworks"](1)
    for gain in [*network.gains, *target.gains]:
        torch.nn.init.normal_(gain, 1.0, 0.1)
    obs, next_obs = torch.randn(2, 1, 4)
    step = (obs, torch.tensor([1]), torch.ones(1), torch.tensor([0.95]), next_obs)

    agent = SoftQ(Network(hidden=(100, 50)), NetworkChains(n=1))
    params, slow = (
        Params(
            tuple(jnp.asarray(w[0].numpy(force=True)) for w in own.weights),
            tuple(jnp.asarray(g[0].numpy(force=True)) for g in own.gains),
            tuple(jnp.asarray(b[0].numpy(force=True)) for b in own.biases),
        )
        for own in (network, target)
    )
    state = soft_q.start(agent, Sizes(4, 2), jax.random.key(0))._replace(params=params, target=slow)
    seen, then = (jnp.asarray(x[0].numpy()) for x in (obs, next_obs))
    same = Transition(seen, jnp.int32(1), jnp.float32(1), jnp.float32(0.95), then)
    wanted = soft_q.targets(agent, state, jnp.int32(0), same)
    errors = np.asarray(wanted - soft_q.values(agent, state, jnp.int32(0), seen)) ** 2
    values = network(obs[:, None])[:, 0]
    losses = [module["loss_of"](values, target, step, taken).item() for taken in (False, True)]
    assert losses == pytest.approx([errors.sum(), errors[1]], rel=1e-5)
    assert errors[0] > 0  # the action that was not taken is held at the target's value


def test_digits_that_return(tmp_path):
    """What docs/when.md says: both tuned, the chain relearns in fewer updates."""
    done = output("returning_digits.py", "--seeds", "2", cwd=tmp_path)
    plain, chain, _ = map(float, re.findall(r"^Adam.*?\| (\S+)", done, re.M))
    assert chain < 0.7 * plain


def shares(name, cwd):
    """Wrong answers in each test, by the last word of who gives them."""
    found = re.findall(r"(\w+)((?: \d\.\d\d)+)", output(name, cwd=cwd))
    return {who: tuple(map(float, numbers.split())) for who, numbers in found}


@pytest.mark.parametrize("name", ["streaming.py", "streaming_torch.py"])
def test_streaming(name, tmp_path):
    """What the example says: nothing is forgotten, so the weights of a chain are worst."""
    found = {who: share for who, (share,) in shares(name, tmp_path).items()}
    assert found["averaged"] < found["Adam"] < found["chain"]
    assert found["beaker"] < found["chain"]


@pytest.mark.parametrize("name", ["tasks_in_turn.py", "tasks_in_turn_torch.py"])
def test_tasks_in_turn(name, tmp_path):
    """What the example says: averages and the second beaker know the task before, weights not."""
    found = shares(name, tmp_path)
    before = {who: share for who, (_, share) in found.items()}
    assert max(new for new, _ in found.values()) < 0.1
    assert max(before["averaged"], before["beaker"]) < before["Adam"] < before["chain"]


@pytest.mark.parametrize("name", ["drifting.py", "drifting_torch.py"])
def test_drifting(name, tmp_path):
    """What the example says: the weights of a chain follow, its second beaker knows the past."""
    found = shares(name, tmp_path)
    assert found["chain"][0] < found["Adam"][0] < 0.1
    assert found["chain"][1] > 0.2 > max(found["beaker"][1], found["averaged"][1])
    assert min(found["beaker"][0], found["averaged"][0]) > 0.4


def test_digit_streams():
    """Each picture once; a task, then the other; half way from one order of pixels to the next."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["digit_streams.py"])
        module = runpy.run_path(str(EXAMPLES / "digit_streams.py"))
    x, learn, test = module["X"], module["LEARN"], module["TEST"]
    stream, (unseen, _) = module["once"]()
    np.testing.assert_array_equal([picture for picture, _ in stream], x[learn])
    np.testing.assert_array_equal(unseen, x[test])
    stream, new, old = module["in_turn"](visits=2, length=3)
    assert [set(y // 5) for _, y in stream] == [{0}] * 3 + [{1}] * 3
    assert [set(y // 5) for _, y in (new, old)] == [{1}, {0}]
    module["drifting"].__globals__["LEARN"] = np.array([7])  # so that batches are known
    stream, new, old = module["drifting"](fades=1, length=2)
    rng = np.random.default_rng(module["SEED"])
    first, second = rng.permutation(64), rng.permutation(64)
    np.testing.assert_array_equal(old[0], x[test][:, first])
    np.testing.assert_array_equal(new[0], x[test][:, second])
    (begun, _), (half, _) = stream
    np.testing.assert_array_equal(begun[0], x[7][first])
    np.testing.assert_allclose(half[0], (x[7][first] + x[7][second]) / 2)


def test_stable_baselines3(tmp_path):
    done = alone("sb3_dqn.py", "--steps", "1500", cwd=tmp_path)
    assert "mean return over 10 episodes" in done
    distances = [float(x) for x in done.split("by beaker: ")[1].split("\n")[0].split()]
    assert len(distances) == 8
    assert distances[0] == 0
    assert distances[1] > 0
    assert (tmp_path / "dqn_with_chains.zip").exists()


def test_cleanrl(tmp_path):
    done = output("cleanrl_dqn.py", "--total-timesteps", "1200", cwd=tmp_path)
    distances = [float(x) for x in done.split("by beaker: ")[1].split()]
    assert distances[0] == 0
    assert distances[1] > 0


def test_split_digits(tmp_path):
    """What docs/examples.md says of them: the weight forgets, the second beaker does not."""
    for name in ("split_digits_optax.py", "split_digits_torch.py"):
        found = old_tasks(output(name, "--seeds", "1", cwd=tmp_path))
        assert found["chain"] < 0.2
        assert found["no chain"] < 0.4
        assert found["chain, beaker 2"] > 0.5
        assert found["no chain, weights averaged"] > 0.5


def test_rivals(tmp_path):
    names = ("nothing", "... told boundaries", "hare and tortoise", "ReDo")
    done = output(
        "rivals_digits.py", "--seeds", "2", "--rounds", "1", "--only", *names, cwd=tmp_path
    )
    rows = re.findall(r"^(\S.*?)  +(\S+) \[\S+, \S+\] +\| (\S+) \[", done, re.M)
    found = {name: (float(known), float(lost)) for name, known, lost in rows}
    assert tuple(found) == names
    # One round teaches the last task and overwrites the others, unless weights hardly move.
    assert 0.15 < found["nothing"][0] < 0.4
    assert found["nothing"][1] > 0.5 > found["hare and tortoise"][1]


def test_sweep(tmp_path):
    done = output("sweep.py", "--n", "1", "4", "--g12", "0.1", cwd=tmp_path)
    rows = [line.split()[-4:] for line in done.splitlines()[2:]]
    assert len(rows) == 3
    plain, leaky, chain = ([float(x) for x in row] for row in rows)
    assert plain[0] == plain[2]  # nothing comes back without a chain
    assert leaky[3] < 0.1 < chain[3] < plain[3]


def test_a_gymnasium_task(tmp_path):
    done = output("gymnasium_task.py", cwd=tmp_path)
    assert len(re.findall(r"^(?:no )?chain: steps", done, re.M)) == 2
    assert "V3 along the corridor" in done


def test_a_task_of_ones_own(tmp_path):
    done = alone("add_task.py", cwd=tmp_path)
    assert float(done.split("of the last 5: ")[1].split()[0]) > 100
    assert re.search(r"^one more: \d+ in 200 steps, then pointer [+-]\d\.\d\d, mark", done, re.M)


def test_an_agent_of_ones_own(tmp_path):
    done = output("add_agent.py", cwd=tmp_path)
    for before, after in re.findall(r"first 20: (\S+), of the last 200: (\S+)", done):
        assert float(after) < 9 < float(before)


def test_an_experiment_of_ones_own(tmp_path):
    """What docs/extending.md says: a file, an entry point, and the command knows it."""
    page = (EXAMPLES.parent / "docs" / "extending.md").read_text(encoding="utf-8")
    toml = re.search(r"^``` \{ .toml .*?\n(.*?)^```", page, re.M | re.S)[1]
    ((group, points),) = tomllib.loads(toml)["project"]["entry-points"].items()
    installed = tmp_path / "site" / "mine-1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    lines = "".join(f"{name} = {place}\n" for name, place in points.items())
    (installed / "entry_points.txt").write_text(f"[{group}]\n{lines}")
    shutil.copy(EXAMPLES / "add_experiment.py", tmp_path / "site")
    environ = {k: v for k, v in os.environ.items() if not k.startswith("JAX_NUMPY_")}
    places = [str(tmp_path / "site"), *filter(None, [environ.get("PYTHONPATH")])]
    environ["PYTHONPATH"] = os.pathsep.join(places)

    command = re.search(r"^bennafusi run two-targets.*$", page, re.M)[0].split()[1:]
    done = subprocess.run(
        [sys.executable, "-m", "bennafusi", *command, "--workers", "2"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = re.search(r"^printed\n\n```\n(.*?)```", page, re.M | re.S)[1]
    assert [line for line in done.stdout.splitlines() if line] == said.splitlines()
    assert (tmp_path / "runs/two-targets/report.html").exists()
    code = (EXAMPLES / "add_experiment.py").read_text()
    shown = re.findall(r"^# --8<-- \[start:(\w+)\]\n(.*?)^# --8<-- \[end:\1\]", code, re.M | re.S)
    assert [name for name, _ in shown] == re.findall(r'"examples/add_experiment.py:(\w+)"', page)
    lines = [line for _, part in shown for line in part.splitlines() if line]
    assert "EXPERIMENT = Experiment(" in lines
    assert len(lines) <= 40, "all of it must stay small"
