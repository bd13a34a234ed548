"""A task of your own: for Gymnasium, and for the compiled loop that trains the paper's agents.

python examples/add_task.py
"""

from dataclasses import dataclass

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.utils.env_checker import check_env

from bennafusi.envs.control import ControlState, ControlTask, canvas, paint_box
from bennafusi.envs.gym import TaskEnv
from bennafusi.envs.named import TASKS
from bennafusi.training import deep_loop
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import ONLINE, DeepSettings
from bennafusi.training.rollout import apart, rollouts
from bennafusi.training.rows import trimmed


# --8<-- [start:task]
@dataclass(frozen=True)  # frozen, so that it can be compiled in
class Pointer(ControlTask):
    """Keep a pointer on a wandering mark: 1 for each step near it, over when it is far off.

    The four values are the pointer's place, the mark's place, and two that are not used.
    """

    max_steps: int = 200

    @property
    def actions(self) -> int:
        """Push left or right; all tasks of one network need the same number."""
        return 2

    @property
    def observations(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest values, for Gymnasium."""
        high = np.array([2, 1, 1, 1], np.float32)
        return -high, high

    @property
    def normal(self) -> tuple[np.ndarray, np.ndarray]:
        """Centre and scale of what the network sees."""
        return np.zeros(4, np.float32), np.array([0.5, 0.5, 1, 1], np.float32)

    def reset(self, chance: jax.Array) -> ControlState:
        """Pointer and mark near the middle; ``chance`` is four uniform numbers."""
        start = jnp.array([1, 1, 0, 0], jnp.float32)
        return ControlState(start * (chance - 0.5), jnp.int32(1), jnp.int32(0))

    def step(self, state, action, chance):
        """One push. Everything is computed from the old values, and nothing is a Python ``if``."""
        place, mark = state.values[0], state.values[1]
        place = jnp.clip(place + jnp.where(action == 1, 0.1, -0.1).astype(jnp.float32), -2, 2)
        mark = jnp.clip(mark + 0.2 * (chance[0] - 0.5), -1, 1)
        distance = jnp.abs(place - mark)
        reward, lost = (distance < 0.2).astype(jnp.float32), distance > 1
        values = jnp.zeros_like(state.values).at[:2].set(jnp.stack([place, mark]))
        after = ControlState(values, state.lives, state.steps + 1)
        return after, reward, lost, self._is_late(after.steps, lost)

    def text(self, state: ControlState) -> str:
        """In letters."""
        return f"pointer {float(state.values[0]):+.2f}, mark {float(state.values[1]):+.2f}\n"

    def draw(self, state: ControlState) -> np.ndarray:
        """As a picture."""
        picture = canvas(60, 300, (246, 244, 238))
        for value, top, colour in ((0, 10, (37, 99, 175)), (1, 35, (240, 180, 41))):
            paint_box(picture, colour, 145 + 45 * float(state.values[value]), top, 10, 15)
        return picture.astype(np.uint8)


# --8<-- [end:task]


def main() -> None:
    """Check the task, then train a small agent on it for a few episodes."""
    # --8<-- [start:gymnasium]
    gymnasium.register("Pointer-v0", entry_point=lambda **settings: TaskEnv(Pointer(), **settings))
    env = gymnasium.make("Pointer-v0", render_mode="ansi")
    check_env(env.unwrapped, skip_render_check=True)
    observation, _ = env.reset(seed=0)
    print("seen through Gymnasium:", observation.round(2), env.render().strip())
    # --8<-- [end:gymnasium]

    # --8<-- [start:train]
    TASKS["pointer"] = Pointer()
    task = {"tasks": ("pointer",), "gammas": (0.9,), "episodes": 400, "max_steps": 200}
    parts = {"network.hidden": (32, 32), "exploration.epsilon": 0.2}
    chain = {"chain.n": 8, "chain.hidden_start": "copy"}
    settings = changed(DeepSettings(), {**ONLINE, **task, **parts, **chain})
    state = deep_loop.start(settings, seed=0)
    returns = []
    while not deep_loop.finished(settings, state):
        state, tests = deep_loop.advance(settings, state, steps=200_000, episodes=100)
        returns += trimmed(tests)["reward"].tolist()
    (episode,) = apart(rollouts(settings, state.agent.params, 0, jax.random.key(0), episodes=1))
    # --8<-- [end:train]
    print(f"{len(returns)} tests, mean return of the first 5: {np.mean(returns[:5]):.0f}")
    print(f"mean return of the last 5: {np.mean(returns[-5:]):.0f} of {settings.max_steps}")
    last = jax.tree.map(lambda x: x[-1], episode.states)
    print(
        f"one more: {episode.total:.0f} in {episode.length} steps, then {Pointer().text(last)}",
        end="",
    )


if __name__ == "__main__":
    main()
