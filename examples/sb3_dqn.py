"""Stable-Baselines3's DQN with a Benna-Fusi chain behind every weight: one line differs.

python examples/sb3_dqn.py --steps 20000
"""

import argparse

import torch
from stable_baselines3 import DQN
from stable_baselines3.common.evaluation import evaluate_policy

from bennafusi import Chain
from bennafusi.torch import Consolidated, consolidated


def main() -> None:
    """Train on CartPole-v1, save, load, and show what the chain holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20_000, help="environment steps")
    parser.add_argument("--save", default="dqn_with_chains.zip", help="where to save the agent")
    options = parser.parse_args()

    chain = Chain.covering(shortest=100, longest=1_000_000)
    agent = DQN(
        "MlpPolicy",
        "CartPole-v1",
        policy_kwargs={"optimizer_class": consolidated(torch.optim.Adam, chain)},
        # SB3's defaults are for Atari; these learn Cart-Pole in so few steps.
        learning_rate=2.3e-3,
        batch_size=64,
        learning_starts=1000,
        train_freq=256,
        gradient_steps=128,
        target_update_interval=10,
        exploration_fraction=0.16,
        exploration_final_eps=0.04,
        seed=0,
        device="cpu",
    )
    agent.learn(options.steps)

    optimizer = agent.policy.optimizer
    assert isinstance(optimizer, Consolidated)
    weight = next(agent.q_net.parameters())
    distance = [float((u - weight).detach().abs().mean()) for u in optimizer.beakers(weight)]
    print(chain)
    print("mean distance from the weight, by beaker:", " ".join(f"{d:.4f}" for d in distance))

    agent.save(options.save)
    again = DQN.load(options.save)
    kept = again.policy.optimizer.beakers(next(again.q_net.parameters()))
    assert torch.equal(kept, optimizer.beakers(weight)), "the beakers are saved with the agent"

    reward, _ = evaluate_policy(agent, agent.get_env(), n_eval_episodes=10)
    print(f"mean return over 10 episodes: {reward:.0f}")


if __name__ == "__main__":
    main()
