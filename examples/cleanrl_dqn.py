"""DQN in one file, in the manner of CleanRL, with a Benna-Fusi chain behind every weight.

python examples/cleanrl_dqn.py --total-timesteps 10000
python examples/cleanrl_dqn.py --total-timesteps 10000 --no-chain
"""

import argparse
import time

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as in CleanRL
from torch import nn, optim

from bennafusi import Chain
from bennafusi.torch import Consolidated


def parse_args() -> argparse.Namespace:
    """Every setting is an argument."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--env-id", default="CartPole-v1")
    add("--seed", type=int, default=1)
    add("--total-timesteps", type=int, default=10_000)
    add("--learning-rate", type=float, default=1e-3)
    add("--buffer-size", type=int, default=10_000)
    add("--gamma", type=float, default=0.99)
    add("--tau", type=float, default=0.01, help="how far the target moves at each step")
    add("--batch-size", type=int, default=64)
    add("--start-e", type=float, default=1.0)
    add("--end-e", type=float, default=0.05)
    add("--exploration-fraction", type=float, default=0.3)
    add("--learning-starts", type=int, default=500)
    add("--train-frequency", type=int, default=2)
    add("--no-chain", action="store_true", help="plain Adam, for comparison")
    add("--shortest", type=float, default=1000, help="shortest timescale, in updates")
    add("--longest", type=float, default=1_000_000, help="longest timescale, in updates")
    return parser.parse_args()


def q_network(env: gym.Env) -> nn.Module:
    """Two hidden layers."""
    inputs, actions = int(np.prod(env.observation_space.shape)), int(env.action_space.n)
    return nn.Sequential(
        nn.Linear(inputs, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, actions)
    )


class ReplayBuffer:
    """A ring of transitions, as five arrays."""

    def __init__(self, size: int, inputs: int) -> None:
        self.obs, self.next_obs = (np.zeros((size, inputs), np.float32) for _ in range(2))
        self.actions = np.zeros(size, np.int64)
        self.rewards, self.dones = (np.zeros(size, np.float32) for _ in range(2))
        self.size, self.added = size, 0

    def add(self, *transition) -> None:
        """Remember one step."""
        place = self.added % self.size
        rings = (self.obs, self.actions, self.rewards, self.next_obs, self.dones)
        for ring, value in zip(rings, transition, strict=True):
            ring[place] = value
        self.added += 1

    def sample(self, count: int, rng: np.random.Generator) -> list[torch.Tensor]:
        """A batch."""
        rows = rng.integers(0, min(self.added, self.size), count)
        rings = (self.obs, self.actions, self.rewards, self.next_obs, self.dones)
        return [torch.from_numpy(ring[rows]) for ring in rings]


if __name__ == "__main__":
    args = parse_args()
    rng = np.random.default_rng(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    env = gym.wrappers.RecordEpisodeStatistics(gym.make(args.env_id))
    network, target = q_network(env), q_network(env)
    target.load_state_dict(network.state_dict())

    optimizer = optim.Adam(network.parameters(), lr=args.learning_rate)
    if not args.no_chain:
        optimizer = Consolidated(optimizer, Chain.covering(args.shortest, args.longest))  # <-

    buffer = ReplayBuffer(args.buffer_size, int(np.prod(env.observation_space.shape)))
    returns, began = [], time.perf_counter()
    obs, _ = env.reset(seed=args.seed)
    for global_step in range(args.total_timesteps):
        progress = global_step / (args.exploration_fraction * args.total_timesteps)
        epsilon = max(args.end_e, args.start_e + (args.end_e - args.start_e) * progress)
        if rng.random() < epsilon:
            action = int(rng.integers(env.action_space.n))
        else:
            with torch.no_grad():
                action = int(network(torch.from_numpy(obs)).argmax())
        next_obs, reward, terminated, truncated, info = env.step(action)
        buffer.add(obs, action, reward, next_obs, terminated)
        obs = next_obs
        if terminated or truncated:
            returns.append(float(info["episode"]["r"]))
            obs, _ = env.reset()

        if global_step > args.learning_starts and global_step % args.train_frequency == 0:
            s, a, r, s_next, done = buffer.sample(args.batch_size, rng)
            with torch.no_grad():
                wanted = r + args.gamma * target(s_next).max(1).values * (1 - done)
            loss = F.mse_loss(wanted, network(s).gather(1, a[:, None])[:, 0])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for slow, fast in zip(target.parameters(), network.parameters(), strict=True):
                slow.data.lerp_(fast.data, args.tau)

    steps_per_second = args.total_timesteps / (time.perf_counter() - began)
    print(f"{args.env_id}: {len(returns)} episodes, {steps_per_second:.0f} steps a second")
    print(f"mean return of the last 10 training episodes: {np.mean(returns[-10:]):.0f}")
    if not args.no_chain:
        weight = network[0].weight
        distance = (optimizer.beakers(weight) - weight).detach().abs().mean((1, 2))
        print("mean distance from the weight, by beaker:", *(f"{d:.4f}" for d in distance))
