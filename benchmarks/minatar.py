"""What a game of MinAtar costs: ours against the same DQN in eager PyTorch with the original game.

Both have the same network, with a gain and a bias per unit, the same batches and the same Adam.

python benchmarks/minatar.py            # a table for the terminal
python benchmarks/minatar.py --markdown # the same, for docs/performance.md
"""

from harness import Round, best, options, table  # isort: skip - before JAX

import copy
import sys
import time

import jax
import numpy as np
import torch
from torch import nn

from bennafusi.agents import replay, soft_q
from bennafusi.experiments.deep.deep_job import CHUNK_STEPS
from bennafusi.experiments.deep.games import BREAKOUT, COMMON, CONTROL, at_reach
from bennafusi.training import compiling, deep_loop
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings

here = sys.path.pop(0)  # this file has the name of the package
import minatar  # noqa: E402

sys.path.insert(0, here)
torch.set_num_threads(1)

# All times are processor time: on a busy machine, waiting would be most of what a clock shows.
STEPS, REPLAY, BATCH, EVERY, COPY, RATE = 1_000, 20_000, 32, 4, 250, 3e-4
EPSILON, GAMMA, STICKY = 0.1, 0.99, 0.1
# A run hands its state over once in so many steps, and so does a round of ours.
CHUNK = CHUNK_STEPS["minibatch"]
GAME = changed(
    DeepSettings(),
    {
        **COMMON,
        "tasks": (BREAKOUT,),
        "gammas": (GAMMA,),
        "steps": 2**29,
        "test_every": 2**20,  # no tests, for the peer has none
        "optimizer.learning_rate": RATE,
        "schedule.replay": REPLAY,
        "schedule.warmup": BATCH,
    },
)
CONTROLLED = changed(GAME, CONTROL)
# One update in 65,536 steps, in at most one or two of the rounds: the best of them has none. The
# replay is the same: what is handed to a chunk is copied once, and a large one would be all that is
# seen.
ACTING = changed(CONTROLLED, {"schedule.every": 2**16})


def ours(settings) -> Round:
    """Microseconds per step."""
    state, _ = deep_loop.advance(settings, deep_loop.start(settings, 0), CHUNK, 2**30)

    def run():
        nonlocal state
        before, begin = int(state.steps), time.process_time()
        state, _ = deep_loop.advance(settings, state, CHUNK, 2**30)
        steps = int(state.steps) - before  # waits
        return 1e6 * (time.process_time() - begin) / steps

    return run


class Gain(nn.Module):
    """A gain for each unit or filter, as our network has them; biases are those of the layers."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The units' values, each times its gain."""
        return self.gain * x


class Eager:
    """The same agent as one writes it in PyTorch: filters, a hidden layer, Adam, a target copy."""

    def __init__(self, learns: bool) -> None:
        torch.manual_seed(0)
        self.rng, self.learns = np.random.default_rng(0), learns
        self.env = minatar.Environment("breakout", sticky_action_prob=STICKY)
        self.env.reset()
        self.net = nn.Sequential(
            nn.Conv2d(4, 16, 3), nn.ReLU(), Gain(16, 1, 1), nn.Flatten(),
            nn.Linear(1024, 128), nn.ReLU(), Gain(128), nn.Linear(128, 6), Gain(6),
        )  # fmt: skip
        self.target = copy.deepcopy(self.net)
        self.adam = torch.optim.Adam(self.net.parameters(), lr=RATE)
        self.seen = np.zeros((2, REPLAY, 4, 10, 10), bool)
        self.action = np.zeros(REPLAY, np.int64)
        self.reward, self.discount = np.zeros((2, REPLAY), np.float32)
        self.count = self.updates = 0

    def step(self) -> None:
        """Act, remember, and learn at every fourth step."""
        now = self.env.state().transpose(2, 0, 1)
        if self.rng.random() < EPSILON:
            action = int(self.rng.integers(6))
        else:
            with torch.no_grad():
                action = int(self.net(torch.as_tensor(now[None], dtype=torch.float32)).argmax())
        reward, done = self.env.act(action)
        place = self.count % REPLAY
        self.seen[0, place], self.seen[1, place] = now, self.env.state().transpose(2, 0, 1)
        self.action[place], self.reward[place] = action, reward
        self.discount[place] = 0.0 if done else GAMMA
        self.count += 1
        if done:
            self.env.reset()
        if self.learns and self.count >= BATCH and self.count % EVERY == 0:
            self.learn()

    def learn(self) -> None:
        """One update from a batch."""
        drawn = self.rng.integers(min(self.count, REPLAY), size=BATCH)
        seen, then = (torch.as_tensor(x[drawn], dtype=torch.float32) for x in self.seen)
        reward, discount = (
            torch.as_tensor(self.reward[drawn]),
            torch.as_tensor(self.discount[drawn]),
        )
        with torch.no_grad():
            wanted = reward + discount * self.target(then).amax(1)
        action = torch.as_tensor(self.action[drawn])[:, None]
        loss = ((wanted - self.net(seen).gather(1, action)[:, 0]) ** 2).mean()
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        self.updates += 1
        if self.updates % COPY == 0:
            self.target.load_state_dict(self.net.state_dict())


def eager(learns: bool) -> Round:
    """Microseconds per step."""
    agent = Eager(learns)

    def run():
        begin = time.process_time()
        for _ in range(STEPS):
            agent.step()
        return 1e6 * (time.process_time() - begin) / STEPS

    run()  # warms up
    return run


def parts() -> dict[str, Round]:
    """What a step is made of: the network that acts, the game, an update and its batch."""
    agent, game = CONTROLLED.learner, CONTROLLED.envs[0]
    state, _ = deep_loop.advance(CONTROLLED, deep_loop.start(CONTROLLED, 0), STEPS, 2**30)
    memory, shape = state.replay, state.observation.shape

    def draw(key):
        drawn = replay.sample_with_return(memory, key, BATCH)
        return replay.unpacked(drawn, shape)

    def learn(carry, key):
        steps = draw(key)
        return soft_q.learn(agent, carry, 0, steps, soft_q.targets(agent, carry, 0, steps))

    def act(seen, _):
        q = soft_q.values(agent, state.agent, 0, seen)
        return seen ^ (q[0] > q[1]), None  # what is seen next hangs on it

    def play(now, key):
        return game.step(now, jax.numpy.int32(1), key)[0], None

    def timed(body, carry) -> Round:
        keys = jax.random.split(jax.random.key(0), STEPS)
        options = compiling.known({**compiling.WIDE, **compiling.WITHOUT_YNNPACK})  # as a run's
        program = jax.jit(lambda c: jax.lax.scan(body, c, keys), compiler_options=options)
        jax.block_until_ready(program(carry))

        def run():
            begin = time.process_time()
            jax.block_until_ready(program(carry))
            return 1e6 * (time.process_time() - begin) / len(keys)

        return run

    def drawing(carry, key):
        return carry, draw(key)

    return {
        "the network that acts": timed(act, state.observation),
        "a step of the game": timed(play, game.reset(jax.random.key(0))),
        "one update, all of it": timed(learn, state.agent),
        "drawing its batch": timed(drawing, 0.0),
    }


def main():
    """Print the tables; exit code 1 if a goal was missed."""
    chosen = options(__doc__, repeats=20)
    chain = changed(GAME, {k: v(GAME) if callable(v) else v for k, v in at_reach(1).items()})
    shares = parts()
    rounds = {
        "control": ours(CONTROLLED),
        "chain": ours(chain),
        "often": ours(changed(chain, {"chain.every": 1})),
        "acting": ours(ACTING),
        "eager": eager(True),
        "eager acting": eager(False),
        **shares,
    }
    times = best(rounds, chosen.repeats)
    rows = [
        ("eager PyTorch, step of training", times["eager"], "control", times["control"], ">= 5"),
        ("eager PyTorch, acting", times["eager acting"], "acting", times["acting"], ">= 10"),
        ("ten beakers, step of training", times["chain"], "control", times["control"], "<= 1.1"),
        ("the same, moved at each update", times["often"], "control", times["control"], "<= 1.1"),
    ]
    missed = table(rows, chosen.markdown)
    for part in shares:
        print(f"{part}: {times[part]:.0f} us")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
