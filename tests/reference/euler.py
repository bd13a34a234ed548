"""The paper's Euler integration in float64 NumPy, all beakers from old values."""

import numpy as np


def euler(n, g12, dw, u0=None, dt=1.0, leak=True, gated=False, flow=1.0, input_first=False):
    """Levels after driving a chain with ``dw[T, W]``.

    ``input_first=False`` reads the chain right after an input (flow, input, flow, input, ...);
    ``True`` right after a flow, as an optimiser leaves it (input, flow, input, flow, ...).
    """
    areas = 2.0 ** np.arange(n)
    tubes = g12 * 2.0 ** -np.arange(n)
    if not leak:
        tubes[-1] = 0.0
    opens = 2.0 ** np.arange(1, n + 1) / g12
    u = np.zeros((n, *dw.shape[1:])) if u0 is None else np.array(u0, np.float64)
    flow = np.broadcast_to(flow, dw.shape[1:])
    column = (n,) + (1,) * (u.ndim - 1)
    for step, x in enumerate(np.asarray(dw, np.float64), start=1):
        if input_first:
            u[0] += x
        gate = np.ones(n) if not gated else (step * dt >= opens * (1 - 1e-12)).astype(float)
        padded = np.concatenate([u, np.zeros_like(u[:1])])
        drop = padded[:-1] - padded[1:]
        du = -(dt * gate * tubes / areas).reshape(column) * drop
        du[1:] += (dt * tubes[:-1] / areas[1:]).reshape((n - 1, *column[1:])) * flow * drop[:-1]
        u = u + du
        if not input_first:
            u[0] += x
    return u
