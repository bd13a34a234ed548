"""A chain in a few lines: for data that stream, tasks that take turns, and data that drift.

A linear model follows a moving truth with SGD, one example at a time: what is its error late in
training, without a chain, with one, and read at the chain's second beaker?
The same in PyTorch with --torch.

python examples/few_lines.py
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax

from bennafusi import Chain, consolidate, readout

SIZE, UPDATES = 8, 4000


def truths(kind: str, rng: np.random.Generator) -> np.ndarray:
    """The weights that made each example, ``[UPDATES, SIZE]``."""
    one, two = rng.normal(size=(2, SIZE))
    time = np.arange(UPDATES)[:, None]
    if kind == "streaming":  # always the same, under noise
        return np.broadcast_to(one, (UPDATES, SIZE))
    if kind == "tasks in turn":  # one, the other, one again
        return np.where(time // 200 % 2 == 0, one, two)
    return one + (two - one) * time / UPDATES  # drifting


def learn_optax(x, y, optimizer):
    """Weights after every update, and those of the second beaker where there is a chain."""
    w = jnp.zeros(SIZE)

    def update(carry, now):
        (w, state), (x, y) = carry, now
        updates, state = optimizer.update(2 * (x @ w - y) * x, state, w)
        w = optax.apply_updates(w, updates)
        return (w, state), (w, readout(state, 2) if has_chain(state) else w)

    return jax.lax.scan(update, (w, optimizer.init(w)), (x, y))[1]


def has_chain(state) -> bool:
    """Whether there is a second beaker to read."""
    return hasattr(state, "flow")


def learn_torch(x, y):
    """The chain's weights after every update, in PyTorch."""
    import torch

    from bennafusi.torch import Consolidated

    w = torch.zeros(SIZE, requires_grad=True)
    optimizer = Consolidated(torch.optim.SGD([w], lr=0.02), Chain.covering(100, 1e5, gated=False))
    seen = []
    for row, wanted in zip(torch.tensor(x), torch.tensor(y), strict=True):
        optimizer.zero_grad()
        ((row @ w - wanted) ** 2).backward()
        optimizer.step()
        seen.append(w.detach().numpy().copy())
    return np.array(seen)


def main() -> None:
    """Print the error of each in the second half, for each kind of data."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", action="store_true", help="PyTorch as well")
    with_torch = parser.parse_args().torch
    for kind in ("streaming", "tasks in turn", "drifting"):
        rng = np.random.default_rng(0)
        truth = truths(kind, rng)
        x = rng.normal(size=(UPDATES, SIZE)).astype(np.float32)
        y = ((x * truth).sum(1) + rng.normal(size=UPDATES)).astype(np.float32)
        late = truth[UPDATES // 2 :]  # of tasks in turn, the one at hand
        plain = optax.sgd(0.02)
        chained = consolidate(optax.sgd(0.02), Chain.covering(100, 1e5, gated=False))
        alone, _ = jax.jit(lambda x, y, o=plain: learn_optax(x, y, o))(x, y)
        weight, second = jax.jit(lambda x, y, o=chained: learn_optax(x, y, o))(x, y)
        found = {"SGD alone": alone, "with a chain": weight, "its second beaker": second}
        if with_torch:
            found["with a chain, PyTorch"] = learn_torch(x, y)
        errors = {
            name: float(np.square(np.asarray(w)[UPDATES // 2 :] - late).sum(1).mean())
            for name, w in found.items()
        }
        print(f"{kind}: " + ", ".join(f"{name} {error:.2f}" for name, error in errors.items()))


if __name__ == "__main__":
    main()
