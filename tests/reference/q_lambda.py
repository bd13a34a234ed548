"""The paper's tabular agent on the grid in float64 NumPy, replaying actions that were taken."""

import numpy as np

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1), (0, 0))  # up, right, down, left, pick up


class Replay:
    """Levels ``u[n, cells, actions]`` and traces ``e[cells, actions]``, step by step."""

    def __init__(self, *, size, gamma, lam, learning_rate, n, g12, modulation, scale):
        self.size, self.gamma, self.lam, self.eta = size, gamma, lam, learning_rate
        self.areas = 2.0 ** np.arange(n)[:, None, None]
        self.tubes = g12 / self.areas
        if n == 1:
            self.tubes[:] = 0.0  # the control agent: an ordinary table
        self.modulation, self.scale = modulation, scale
        self.u = np.zeros((n, size**2, 5))
        self.e = np.zeros((size**2, 5))

    def step(self, cell, goal, action, first):
        """Act, move, learn, flow; returns the cell reached and the reward."""
        row, column = (
            min(max(at + by, 0), self.size - 1)
            for at, by in zip(divmod(cell, self.size), MOVES[action], strict=True)
        )
        reached = row * self.size + column
        reward = float(action == 4 and cell == goal)
        bootstrap = 0.0 if reward else self.gamma * self.u[0, reached].max()
        delta = reward + bootstrap - self.u[0, cell, action]
        self.e *= 0.0 if first else self.gamma * self.lam
        self.e[cell, action] = 1.0
        self.u[0] += self.eta * delta * self.e
        drop = self.u.copy()
        drop[:-1] -= self.u[1:]
        into = self.tubes[:-1] * drop[:-1]
        self.u -= self.tubes / self.areas * drop
        self.u[1:] += into * self.flow(drop[:-1]) / self.areas[1:]
        return reached, reward

    def flow(self, drop):
        """Factor on the flow into each deeper beaker."""
        if self.modulation == "none":
            return 1.0
        scaled = np.broadcast_to(self.scale * self.e, drop.shape)
        return scaled if self.modulation == "trace" else np.where(drop > 0, scaled, 1.0)
