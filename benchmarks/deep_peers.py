"""What the compiled deep agent is timed against: eager PyTorch with Gymnasium, and SB3's DQN.

Every factory sets up and warms up, then returns a round for `harness.best`: it goes on from where
it stopped, and returns microseconds per environment step (or per unit, see `episodic_unit`).
"""

from harness import Round  # isort: skip - before JAX

import copy
import random
import time
from itertools import pairwise

import gymnasium
import numpy as np
import torch
from stable_baselines3 import DQN
from torch.distributions import Categorical
from torch.nn.functional import linear, mse_loss

torch.set_num_threads(1)

SMALL, LARGE, SCALE = (100, 50), (400, 200), np.array([0.75, 0.75, 0.07, 0.3], np.float32)
ALPHA, GAMMA, TAU, RATE = 0.01, 0.95, 0.01, 1e-3
REPLAY, BATCH, EPISODE = 2000, 64, 500
DECAY = 0.9995  # of epsilon, per episode
ONLINE_EPSILON, EPISODIC_EPSILON = 0.02, 0.1  # means over the paper's 100,000, 20,000 episodes


def network(widths, tasks=1, inputs=4, actions=2):
    """Weight, gain and bias of each layer, for each task (weights are shared); all of them once."""
    weights = [torch.randn(b, a) / a**0.5 for a, b in pairwise((inputs, *widths, actions))]
    own = [[(w, torch.ones(len(w)), torch.zeros(len(w))) for w in weights] for _ in range(tasks)]
    return own, list(dict.fromkeys(array for layers in own for layer in layers for array in layer))


def values(layers, x):
    """Q-values of all actions, for one input or for rows of them."""
    affine = torch.addmv if x.ndim == 1 else lambda bias, weight, x: linear(x, weight, bias)
    for weight, gain, bias in layers[:-1]:
        x = gain * affine(bias, weight, x).relu_()
    weight, gain, bias = layers[-1]
    return gain * affine(bias, weight, x)


class EagerAgent:
    """The paper's soft Q agent on CartPole-v1, an eager loop of PyTorch and Gymnasium."""

    def __init__(self, widths, epsilon, tuned, tasks=1, seed=0):
        torch.manual_seed(seed)
        self.rng, self.dice = np.random.default_rng(seed), random.Random(seed)
        both = network(widths, tasks)
        (self.target, *_), self.slow = copy.deepcopy(both)
        (self.net, *_), own = both  # the layers of the first task, Cart-Pole; all arrays
        self.own = [p.requires_grad_() for p in own]
        # Plain is what one writes first, in PyTorch's own words. Tuned by hand: actions drawn by
        # Gumbel noise that was made in blocks, Adam in one kernel instead of a loop over the
        # parameters, and all goals of a batch in one go.
        self.tuned = tuned
        self.adam = torch.optim.Adam(self.own, lr=RATE, fused=tuned or None)
        self.env = gymnasium.make("CartPole-v1", disable_env_checker=True)
        self.state = self.env.reset(seed=seed)[0] / SCALE
        self.epsilon, self.returns, self.length, self.stored = epsilon, [], 0, 0
        self.before, self.after = np.empty((2, REPLAY, 4), np.float32)
        self.rewards, self.lasting = np.empty((2, REPLAY), np.float32)
        self.taken = np.empty(REPLAY, np.int64)

    def act(self, x, gumbel):
        """Sample from softmax(Q / alpha); or, now and then, any action."""
        if self.dice.random() < self.epsilon:
            return self.dice.randrange(2)
        with torch.inference_mode():
            q = values(self.net, x)
            if not self.tuned:
                return int(Categorical(logits=q / ALPHA).sample())
            return int((q.numpy() / ALPHA + gumbel).argmax())

    def move(self, action):
        """One step: the state reached, the reward and whether it ended (a time-out is an end)."""
        reached, reward, failed, late, _ = self.env.step(action)
        reached = self.state = reached / SCALE
        self.length += 1
        if ended := failed or late:
            self.state = self.env.reset()[0] / SCALE
            self.returns.append(self.length)
            self.length, self.epsilon = 0, self.epsilon * DECAY
        return reached, reward, ended

    def fit(self, x, goals):
        """One Adam step on the loss summed over all actions."""
        self.adam.zero_grad()
        mse_loss(values(self.net, x), goals, reduction="sum").backward()
        self.adam.step()

    @torch.no_grad()
    def follow(self):
        """Move the target network a little."""
        torch._foreach_lerp_(self.slow, self.own, TAU)

    def online(self, steps, flow=lambda: None):
        """Learn from each experience once, as it comes; ``flow`` is called after each update."""
        both = np.empty((2, 4), np.float32)  # a state and the one after it
        x, pair = torch.from_numpy(both[0]), torch.from_numpy(both)
        for gumbel in self.rng.gumbel(size=(steps, 2)):
            both[0] = self.state
            both[1], reward, ended = self.move(action := self.act(x, gumbel))
            self.learn(pair, action, reward, not ended)
            self.follow()
            flow()

    def learn(self, pair, action, reward, lasting):
        """One update from a state and the one after it."""
        with torch.no_grad():
            goals = values(self.target, pair)
        now, then = goals.numpy()  # the same memory; scalars are cheaper in NumPy
        value = ALPHA * np.logaddexp.reduce(then / ALPHA)
        now[action] = reward + lasting * GAMMA * value
        self.fit(pair[0], goals[0])

    def unit(self):
        """500 steps into the replay memory, then 64 sequential updates on samples of it."""
        for gumbel in self.rng.gumbel(size=(EPISODE, 2)):
            i = self.stored % REPLAY
            self.before[i] = self.state
            self.taken[i] = action = self.act(torch.from_numpy(self.before[i]), gumbel)
            self.after[i], self.rewards[i], ended = self.move(action)
            self.lasting[i], self.stored = not ended, self.stored + 1
        chosen = self.rng.choice(min(self.stored, REPLAY), BATCH, replace=False)
        if not self.tuned:
            pairs = torch.from_numpy(np.stack([self.before[chosen], self.after[chosen]], 1))
            for i, pair in zip(chosen, pairs, strict=True):
                self.learn(pair, self.taken[i], self.rewards[i], self.lasting[i])
            self.follow()
            return
        memory = (self.before, self.after, self.taken, self.rewards, self.lasting)
        x, after, taken, rewards, lasting = (torch.from_numpy(a[chosen]) for a in memory)
        with torch.no_grad():  # the target network rests meanwhile: all goals in one go
            value = ALPHA * (values(self.target, after) / ALPHA).logsumexp(1)
            goals = values(self.target, x)
            goals[torch.arange(BATCH), taken] = rewards + GAMMA * lasting * value
        for one, goal in zip(x.unbind(), goals.unbind(), strict=True):
            self.fit(one, goal)
        self.follow()


class EagerChain:
    """A plain Euler step of Benna-Fusi chains; the parameters become views of the first beakers."""

    def __init__(self, params, n, g12):
        k = torch.arange(n, dtype=torch.float64)[:, None]
        spread = torch.cat([p.data.new_full((p.numel(),), p[0].numel() ** -0.5) for p in params])
        self.u = torch.randn(n, len(spread)) * spread * (1 - (k + 1) / n).sqrt().float()
        self.drop = torch.empty_like(self.u)
        self.inward, self.back = (2 * g12 / 4**k).float()[1:], (g12 / 4**k).float()
        self.g12, self.updates = g12, 0
        for p, first in zip(params, self.u[0].split([p.numel() for p in params]), strict=True):
            p.data = first.copy_(p.data.flatten()).view_as(p)

    @torch.no_grad()
    def flow(self):
        """All beakers from the old values; flow back into beaker k starts at update 2^k / g12."""
        self.updates += 1
        opened = max(int(self.updates * self.g12).bit_length() - 1, 0)
        torch.sub(self.u[:-1], self.u[1:], out=self.drop[:-1])
        self.drop[-1] = self.u[-1]
        self.u[:opened].addcmul_(self.back[:opened], self.drop[:opened], value=-1)
        self.u[1:].addcmul_(self.inward, self.drop[:-1])


def timed(work, count) -> Round:
    """A round of ``count`` things, after one that is not counted."""

    def run():
        begin = time.perf_counter()
        work()
        return (time.perf_counter() - begin) / count * 1e6

    run()
    return run


def online_control(steps, tuned=False) -> Round:
    """One update per environment step on the newest experience, 100-50 network."""
    agent = EagerAgent(SMALL, ONLINE_EPSILON, tuned)
    return timed(lambda: agent.online(steps), steps)


def online_chain(steps, n=30, g12=0.01) -> Round:
    """The same with a chain behind every parameter, for information."""
    agent = EagerAgent(SMALL, ONLINE_EPSILON, tuned=True)
    chain = EagerChain(agent.own, n, g12)
    return timed(lambda: agent.online(steps, chain.flow), steps)


def episodic_unit(tuned=False) -> Round:
    """Per 500 steps and 64 updates, 400-200 network; the replay memory is full before."""
    agent = EagerAgent(LARGE, EPISODIC_EPSILON, tuned, tasks=2)
    for _ in range(REPLAY // EPISODE):
        agent.unit()
    return timed(agent.unit, 1)


def sb3_online(steps) -> Round:
    """Stable-Baselines3's DQN, learning from each experience once, as it comes.

    What differs: hard instead of soft Q-learning, no gains, a Huber loss on the taken action alone,
    gradients clipped, observations not scaled, a time-out is no end. The same: widths of the
    network, Adam (fused) and its rate, discount, soft target, exploration, a memory of one.
    """
    one = ("train_freq", "gradient_steps", "buffer_size", "batch_size", "target_update_interval")
    explore = dict.fromkeys(("exploration_initial_eps", "exploration_final_eps"), ONLINE_EPSILON)
    policy = {"net_arch": list(SMALL), "optimizer_kwargs": {"fused": True}}
    rates = {"learning_rate": RATE, "gamma": GAMMA, "tau": TAU, "learning_starts": 0}
    chosen = {**dict.fromkeys(one, 1), **explore, **rates, "policy_kwargs": policy}
    agent = DQN("MlpPolicy", "CartPole-v1", seed=0, device="cpu", **chosen)
    return timed(lambda: agent.learn(steps, log_interval=None, reset_num_timesteps=False), steps)
