"""Deep soft Q-learning with Benna-Fusi synapses in float64 NumPy, one transition at a time."""

import numpy as np


def layers_of(params, task):
    """Weights, gains and biases that a task sees, layer by layer.

    ``params`` lists all weights ``[in, out]``, then all gains and all biases ``[tasks, out]``.
    """
    depth = len(params) // 3
    for layer in range(depth):
        weights, gains, biases = params[layer], params[depth + layer], params[2 * depth + layer]
        yield weights, gains[task], biases[task], layer == depth - 1


def forward(params, task, observation, gain="after"):
    """Values of all actions, and what each layer needs to remember for the way back."""
    x, memory = np.asarray(observation, np.float64), []
    for W, g, b, last in layers_of(params, task):
        z = b + x @ W
        memory.append((x, z))
        if gain == "none":
            x = z if last else np.maximum(z, 0)
        elif last:
            x = g * z
        elif gain == "after":
            x = g * np.maximum(z, 0)
        else:
            x = np.maximum(g * z, 0)
    return x, memory


def backward(params, task, memory, dq, gain="after"):
    """Gradient of every parameter from the gradient ``dq`` of the values."""
    depth = len(params) // 3
    grads = [np.zeros_like(p) for p in params]
    dy = dq
    for layer, (W, g, _, last) in reversed(list(enumerate(layers_of(params, task)))):
        x, z = memory[layer]
        if gain == "none":  # y = max(z, 0), or z
            dg, dz = 0 * dy, dy if last else dy * (z > 0)
        elif last:  # y = g z
            dg, dz = dy * z, dy * g
        elif gain == "after":  # y = g max(z, 0)
            dg, dz = dy * np.maximum(z, 0), dy * g * (z > 0)
        else:  # y = max(g z, 0)
            on = g * z > 0
            dg, dz = dy * on * z, dy * on * g
        grads[layer] = np.outer(x, dz)
        grads[depth + layer][task] = dg
        grads[2 * depth + layer][task] = dz
        dy = W @ dz
    return grads


def soft_value(q, alpha):
    """The soft maximum, with the largest value taken out."""
    top = q.max()
    return top + alpha * np.log(np.sum(np.exp((q - top) / alpha)))


class Agent:
    """Beakers ``u`` (a list like the parameters, each ``[n, *shape]``), moments and target."""

    def __init__(
        self,
        u,
        target,
        *,
        g12,
        leak,
        gated,
        every,
        dt,
        learning_rate,
        gain="after",
        loss="all",
        alpha=0.01,
        tau=0.01,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
    ):
        self.u = [np.array(x, np.float64) for x in u]
        self.target = [np.array(x, np.float64) for x in target]
        self.m = [np.zeros_like(x) for x in self.target]
        self.v = [np.zeros_like(x) for x in self.target]
        self.t = 0
        n = len(self.u[0])
        self.areas = 2.0 ** np.arange(n)  # C_1 .. C_n
        self.tubes = g12 * 2.0 ** -np.arange(n)  # g_12 .. g_n,n+1
        if not leak:
            self.tubes[-1] = 0.0
        self.opens = 2.0 ** np.arange(1, n + 1) / g12 if gated else np.zeros(n)
        self.every, self.dt, self.rate = every, dt, learning_rate
        self.gain, self.loss, self.alpha, self.tau = gain, loss, alpha, tau
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    @property
    def params(self):
        """The first beakers."""
        return [x[0] for x in self.u]

    def step(self, task, observation, action, reward, discount, following):
        """Learn from one transition, flow if it is time, let the target follow; the loss before."""
        worth = soft_value(forward(self.target, task, following, self.gain)[0], self.alpha)
        wanted = forward(self.target, task, observation, self.gain)[0].copy()
        wanted[action] = reward + discount * worth
        q, memory = forward(self.params, task, observation, self.gain)
        error = wanted - q
        if self.loss == "taken":
            error[np.arange(len(error)) != action] = 0.0
        self.adam(backward(self.params, task, memory, -2 * error, self.gain))
        if self.t % self.every == 0:
            self.flow()
        for old, new in zip(self.target, self.params, strict=True):
            old += self.tau * (new - old)
        return np.sum(error**2)

    def adam(self, grads):
        """Kingma and Ba's algorithm 1."""
        self.t += 1
        for u, m, v, g in zip(self.u, self.m, self.v, grads, strict=True):
            m[:] = self.beta1 * m + (1 - self.beta1) * g
            v[:] = self.beta2 * v + (1 - self.beta2) * g**2
            mean, square = m / (1 - self.beta1**self.t), v / (1 - self.beta2**self.t)
            u[0] -= self.rate * mean / (np.sqrt(square) + self.epsilon)

    def flow(self):
        """One Euler step of all chains, every beaker from its neighbours' old levels."""
        for u in self.u:
            old = u.copy()
            for k in range(len(u)):
                if k > 0:
                    rate = self.dt * self.tubes[k - 1] / self.areas[k]
                    u[k] += rate * (old[k - 1] - old[k])
                if self.t >= self.opens[k]:
                    below = old[k + 1] if k + 1 < len(u) else 0.0
                    u[k] += self.dt * self.tubes[k] / self.areas[k] * (below - old[k])
