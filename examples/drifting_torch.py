"""Drifting in PyTorch: one order of the pixels fades into another, over 500 updates each.

As drifting.py. Wrong now and 500 updates ago, mean of seeds 10 to 14: Adam 0.07, 0.35; averaged
0.66, 0.16; a chain 0.05, 0.37; its second beaker 0.65, 0.16.
"""

import torch
from digit_streams import SEED, drifting
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from bennafusi import Chain
from bennafusi.torch import Consolidated


def learn(rate, wrap=lambda adam: adam):
    """The network, its optimiser, its average and tests, after the whole stream."""
    torch.manual_seed(SEED)
    stream, *tests = drifting()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(1 - 1 / 300))
    optimizer = wrap(torch.optim.Adam(model.parameters(), lr=rate))
    for x, y in stream:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(torch.as_tensor(x)), torch.as_tensor(y)).backward()
        optimizer.step()
        average.update_parameters(model)
    return model, optimizer, average, tests


@torch.no_grad()
def wrong(model, tests):
    """Share of wrong answers in each test, to print."""
    return [f"{(model(torch.as_tensor(x)).argmax(-1).numpy() != y).mean():.2f}" for x, y in tests]


torch.set_num_threads(1)
model, _, average, tests = learn(1e-2)
print("wrong now and 500 updates ago")
print("Adam", *wrong(model, tests), "averaged", *wrong(average, tests))
chain = Chain.covering(300, 1e5, gated=False)
model, optimizer, _, _ = learn(1e-2, lambda adam: Consolidated(adam, chain))  # <- the one line
print("a chain", *wrong(model, tests))
with optimizer.readout(2):
    print("its second beaker", *wrong(model, tests))
