"""Split digits in PyTorch: five tasks in turn, and what weight and beakers know of the old ones.

The same as split_digits_optax.py. A chain is one line, and so is a running average of the weights,
which is what helps most here.

python examples/split_digits_torch.py
"""

import argparse

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from bennafusi import Chain
from bennafusi.torch import Consolidated

TASKS, ROUNDS, UPDATES, BATCH = 5, 4, 50, 32  # 50 updates on each task, four times over
TRAIN, TEST = 250, 90  # examples per task
ROUND = TASKS * UPDATES  # updates until a task comes back


def split_digits() -> tuple[torch.Tensor, ...]:
    """Pictures and digits for training and testing, each ``[tasks, examples, ...]``."""
    pictures, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(digits))
    pictures, digits = (pictures[order] / 16).astype(np.float32), digits[order]
    rows = [np.flatnonzero(digits // 2 == task)[: TRAIN + TEST] for task in range(TASKS)]
    x, y = (torch.from_numpy(np.stack([a[r] for r in rows])) for a in (pictures, digits))
    return x[:, :TRAIN], y[:, :TRAIN], x[:, TRAIN:], y[:, TRAIN:]


@torch.no_grad()
def accuracy(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> np.ndarray:
    """Share of right answers, by task."""
    return (model(x).argmax(-1) == y).float().mean(-1).numpy()


def trial(chain: Chain, seed: int) -> dict[str, np.ndarray]:
    """Train without and with a chain; the accuracy on each task at the end."""
    x, y, *test = split_digits()
    found = {}
    for name in ("no chain", "chain"):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(1 - 1 / ROUND))
        if name == "chain":
            optimizer = Consolidated(optimizer, chain)  # <- the one line
        for update in range(ROUNDS * ROUND):
            task = update // UPDATES % TASKS
            rows = torch.randint(0, TRAIN, (BATCH,))
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[task, rows]), y[task, rows]).backward()
            optimizer.step()
            average.update_parameters(model)
        found[name] = accuracy(model, *test)
        if name == "no chain":
            found["no chain, weights averaged"] = accuracy(average, *test)
    for depth in range(2, chain.n + 1):
        with optimizer.readout(depth):  # the model is that depth, until the end of the block
            found[f"chain, beaker {depth}"] = accuracy(model, *test)
    return found


def main() -> None:
    """Print the accuracies."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    # The shortest timescale is one round of tasks, the longest a few times the whole run.
    chain = Chain.covering(shortest=ROUND, longest=4 * ROUNDS * ROUND, gated=False)
    trials = [trial(chain, seed) for seed in range(seeds)]
    print(chain)
    print(f"accuracy after {ROUNDS} rounds of {TASKS} tasks, mean of {seeds} seeds")
    print(f"{'':26}    0/1    2/3    4/5    6/7    8/9 | old tasks")
    for name in trials[0]:
        mean = np.mean([t[name] for t in trials], axis=0)
        row = "".join(f"{value:7.2f}" for value in mean)
        print(f"{name:26}{row} | {mean[:-1].mean():.2f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
