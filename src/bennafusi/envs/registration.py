"""Our tasks by their names in Gymnasium. No JAX here: a task is imported when it is made."""

from __future__ import annotations

import gymnasium

ENTRY_POINTS = {
    "bennafusi/Grid-v0": "bennafusi.envs.gym:make_grid",
    "bennafusi/CartPole-v0": "bennafusi.envs.gym:make_cartpole",
    "bennafusi/CartPoleLong-v0": "bennafusi.envs.gym:make_cartpole_long",
    "bennafusi/Catcher-v0": "bennafusi.envs.gym:make_catcher",
}


def register() -> None:
    """Make our tasks known to Gymnasium, once."""
    # The tasks end their own episodes, so that no TimeLimit wrapper is needed.
    for name, entry_point in ENTRY_POINTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point=entry_point)
