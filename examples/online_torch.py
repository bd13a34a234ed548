"""Learning online, without a replay memory, in PyTorch: Cart-Pole with a chain behind every weight.

Every step of Gymnasium's Cart-Pole is learnt from once, when it happens, and thrown away. The
recipe has two parts and one that looked like a third, and each can be left out:

1. the loss is over all actions, those not taken being held at the target network's value
   (``--taken``: the loss of an ordinary DQN);
2. a chain behind every weight (``--no-chain``);
3. Adam's epsilon is 1e-4 (``--eps 1e-8``: Adam's own).

At each look the weights play, and the network that a deep beaker holds: online it is steadier than
they are (``docs/when.md``), and reading it out changes nothing.

Several agents learn side by side, each with a network of its own and on a pole of its own, so a
layer's weights are ``[agents, inputs, outputs]``. ``--agents 1`` is the usual loop.

What is known of the recipe was measured in the compiled loop of ``bennafusi run demo``, which needs
a minute or two; this file takes about ten. Its length, exploration and chain were chosen on seeds 0
and 1 of the compiled loop, and a test compares network and loss with those of the compiled agent.
What came out is in ``docs/when.md``.

python examples/online_torch.py
"""

import argparse
from itertools import pairwise

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

from bennafusi import Chain
from bennafusi.torch import Consolidated

GAMMA, ALPHA, TAU = 0.95, 0.01, 0.01  # ALPHA: temperature of the soft value
SCALE = np.array([0.75, 0.75, 0.07, 0.3], np.float32)  # of what the networks see, as in 2018
CHAIN = Chain.covering(shortest=1000, longest=10_000_000)


class QNetworks(nn.Module):
    """As many small networks as there are agents; none sees the others."""

    def __init__(self, agents: int, sizes: tuple[int, ...] = (4, 100, 50, 2)) -> None:
        super().__init__()
        layers = list(pairwise(sizes))
        self.weights = nn.ParameterList(torch.randn(agents, *io) * io[0] ** -0.5 for io in layers)
        self.gains = nn.ParameterList(torch.ones(agents, 1, io[1]) for io in layers)
        self.biases = nn.ParameterList(torch.zeros(agents, 1, io[1]) for io in layers)

    def forward(self, x: Tensor) -> Tensor:
        """Values of the actions, ``[agents, rows, actions]``, for rows of observations."""
        layers = zip(self.weights, self.gains, self.biases, strict=True)
        for layer, (weight, gain, bias) in enumerate(layers, start=1):
            x = torch.baddbmm(bias, x, weight)
            x = gain * (x if layer == len(self.weights) else x.relu())
        return x


def loss_of(
    values: Tensor,
    target: QNetworks,
    step: tuple[Tensor, Tensor, Tensor, Tensor, Tensor],
    taken_alone: bool = False,
    weight: Tensor | float = 1.0,
) -> Tensor:
    """Of the values of one transition: observation, action, reward, discount, what came next."""
    obs, action, reward, discount, next_obs = step
    with torch.no_grad():
        before, after = target(torch.stack([obs, next_obs], 1)).unbind(1)
        outcome = reward + discount * ALPHA * (after / ALPHA).logsumexp(-1)
        wanted = before.scatter(-1, action[:, None], outcome[:, None])  # others: as the target
    errors = (wanted - values) ** 2
    counted = errors.gather(-1, action[:, None]) if taken_alone else errors
    return (counted.sum(-1) * weight).sum()


@torch.no_grad()
def play(network: QNetworks, seed: int) -> np.ndarray:
    """The return of each agent in one game without exploration."""
    env = cart_poles(len(network.biases[0]))
    obs = env.reset(seed=seed)[0] / SCALE
    total, going = np.zeros(env.num_envs), np.ones(env.num_envs, bool)
    while going.any():
        best = network(torch.from_numpy(obs)[:, None])[:, 0].argmax(-1)
        seen, reward, terminated, truncated, _ = env.step(best.numpy())
        obs = seen / SCALE
        total += reward * going
        going &= ~(terminated | truncated)
    return total


def cart_poles(agents: int) -> gymnasium.vector.VectorEnv:
    """Gymnasium's own Cart-Pole, many at a time."""
    return gymnasium.make_vec("CartPole-v1", agents, vectorization_mode="vector_entry_point")


def train(args: argparse.Namespace) -> np.ndarray:
    """Learn, and print how the agents play every now and then; the last of that."""
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    network, target = QNetworks(args.agents), QNetworks(args.agents)
    target.load_state_dict(network.state_dict())
    optimizer = torch.optim.Adam(network.parameters(), lr=args.rate, eps=args.eps, fused=True)
    if not args.no_chain:
        optimizer = Consolidated(optimizer, CHAIN, every=8)  # <- the one line
    env, returns = cart_poles(args.agents), np.zeros(args.agents)
    episodes, fresh = np.zeros(args.agents), np.zeros(args.agents, bool)
    obs = env.reset(seed=args.seed)[0] / SCALE
    for count in range(1, args.steps + 1):
        values = network(torch.from_numpy(obs)[:, None])[:, 0]  # to act by, and to learn
        drawn = (values.detach() / ALPHA).softmax(-1).multinomial(1)[:, 0].numpy()
        explore = rng.random(args.agents) < args.decay**episodes
        action = np.where(explore, rng.integers(0, 2, args.agents), drawn)
        seen, reward, terminated, truncated, _ = env.step(action)
        next_obs, done = seen / SCALE, terminated | truncated
        # Gymnasium's step after an end only resets: nothing happened that could be learnt.
        real = torch.from_numpy(~fresh).float()
        discount = torch.from_numpy(GAMMA * ~done).float()
        tensors = map(torch.from_numpy, (obs, action, reward.astype(np.float32)))
        step = (*tensors, discount, torch.from_numpy(next_obs))
        optimizer.zero_grad()
        loss_of(values, target, step, args.taken, real).backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(target.parameters()), list(network.parameters()), TAU)
        obs, fresh, episodes = next_obs, done, episodes + done
        if count % args.look == 0:
            returns = look(network, count, args.games)
            text = f"{count:,} steps, {episodes.mean():,.0f} episodes: {words(returns)}"
            if isinstance(optimizer, Consolidated) and (depth := deepest(count)) > 1:
                with optimizer.readout(depth):  # here the network is the one in that beaker
                    text += f"; beaker {depth}: {words(look(network, count, args.games))}"
            print(text, flush=True)
    return returns


def look(network: QNetworks, count: int, games: int) -> np.ndarray:
    """The mean return of each agent; the same games for whoever plays after so many steps."""
    return np.mean([play(network, count + game) for game in range(games)], 0)


def deepest(updates: int) -> int:
    """The deepest beaker that is at most a fourth as slow as training is long; 1 is the weight."""
    return max([1, *(k for k, t in enumerate(CHAIN.timescales, 1) if 4 * t <= updates)])


def words(returns: np.ndarray) -> str:
    """A number for each agent."""
    return " ".join(f"{value:.0f}" for value in returns)


def main() -> None:
    """Read the words and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--agents", type=int, default=3)
    add("--steps", type=int, default=400_000, help="of each agent")
    add("--rate", type=float, default=1e-3)
    add("--eps", type=float, default=1e-4, help="of Adam")
    add("--decay", type=float, default=0.998, help="of exploration, per episode")
    add("--no-chain", action="store_true", help="plain Adam")
    add("--taken", action="store_true", help="the loss over the action that was taken alone")
    add("--seed", type=int, default=0)
    add("--look", type=int, default=20_000, help="steps between two looks")
    add("--games", type=int, default=3, help="of each look")
    train(parser.parse_args())


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
