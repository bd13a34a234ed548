"""The paper's grid world: one room, and a reward in one of two opposite corners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from bennafusi.synapse.numbers import check_whole

Corner = Literal["upper right", "lower left"]
ACTIONS = ("up", "right", "down", "left", "pick up")
LARGEST = 1000
TILE = 40
FLOOR, LINE, GOAL, AGENT = (246, 244, 238), (214, 210, 200), (240, 180, 41), (37, 99, 175)


class GridState(NamedTuple):
    """Where things are.

    Attributes:
        cell: the agent's cell, ``row * size + column``, int32.
        goal: the reward's cell.
        steps: steps taken in this episode.
    """

    cell: Array
    goal: Array
    steps: Array


@dataclass(frozen=True)
class Grid:
    """A square room in which a reward lies in one corner and must be picked up.

    | | |
    |---|---|
    | Action space | ``Discrete(5)`` |
    | Observation space | ``Discrete(size * size)``, the agent's cell ``row * size + column`` |
    | Register | ``gymnasium.make("bennafusi.envs:bennafusi/Grid-v0")`` |

    | action | | effect |
    |---|---|---|
    | 0 | up | row - 1 |
    | 1 | right | column + 1 |
    | 2 | down | row + 1 |
    | 3 | left | column - 1 |
    | 4 | pick up | stay; takes the reward if it is here |

    **Dynamics:** moves are deterministic; a move into a wall leaves the agent where it is.
    **Reward:** 1 for picking up in the goal corner, else 0. **Start:** a cell drawn uniformly, the
    goal's own included (the paper does not say). **End:** terminated when the reward was picked up,
    truncated after ``max_steps`` steps without it. The shortest episodes take 10 steps on average,
    nine moves and one pick-up, in the 10 x 10 grid. The observation does not tell where the goal
    is.

    Args:
        size: rows, and columns.
        max_steps: steps after which an episode ends without a reward.
        goal: ``"upper right"`` (the paper's first task) or ``"lower left"``.

    Example:
        >>> grid = Grid(size=3)
        >>> state = grid.place(cell=2, goal=2)
        >>> state, reward, terminated, truncated = grid.step(state, jnp.int32(4))
        >>> float(reward), bool(terminated), bool(truncated)
        (1.0, True, False)

    References:
        Kaplanis, Shanahan and Clopath, *Continual RL with Complex Synapses*, 2018, section 4.1.
    """

    size: int = 10
    max_steps: int = 20_000
    goal: Corner = "upper right"

    def __post_init__(self) -> None:
        check_whole(self, {"size": (2, LARGEST), "max_steps": (1, 2**31 - 1)})
        if self.goal not in get_args(Corner):
            known = " or ".join(map(repr, get_args(Corner)))
            raise ValueError(f"goal={self.goal!r}: unknown corner; choose {known}")

    @property
    def cells(self) -> int:
        """How many cells, and so how many observations, there are."""
        return self.size**2

    @property
    def observations(self) -> int:
        """Observations are whole numbers below this one."""
        return self.cells

    @property
    def actions(self) -> int:
        """Actions are whole numbers below this one."""
        return len(ACTIONS)

    @property
    def noise(self) -> None:
        """A reset takes a key, a step nothing at all."""
        return

    @property
    def goals(self) -> tuple[int, int]:
        """The goal cells of the first and the second task: upper right, lower left."""
        return self.size - 1, self.size * (self.size - 1)

    def draw_start(self, key: Array, shape: tuple[int, ...] = ()) -> Array:
        """Start cells, uniform over the grid."""
        return jax.random.randint(key, shape, 0, self.cells, jnp.int32)

    def place(self, cell: int | Array, goal: int | Array) -> GridState:
        """The state at the start of an episode."""
        return GridState(
            jnp.asarray(cell, jnp.int32), jnp.asarray(goal, jnp.int32), jnp.zeros((), jnp.int32)
        )

    def reset(self, chance: Array) -> GridState:
        """A new episode with the reward in corner ``goal``; chance is a key."""
        return self.place(self.draw_start(chance), self.goals[get_args(Corner).index(self.goal)])

    def step(
        self, state: GridState, action: Array, chance: Array | None = None
    ) -> tuple[GridState, Array, Array, Array]:
        """One action: the next state, the reward (float32), terminated, truncated.

        Nothing here is random: ``chance`` is part of the signature that all our tasks share.
        """
        del chance
        cell, goal, steps = state
        row, column = cell // self.size, cell % self.size
        blocked = (
            ((action == 0) & (row == 0))
            | ((action == 1) & (column == self.size - 1))
            | ((action == 2) & (row == self.size - 1))
            | ((action == 3) & (column == 0))
            | (action == 4)
        )
        vertical = jnp.where(action == 0, -self.size, self.size).astype(jnp.int32)
        horizontal = jnp.where(action == 1, 1, -1).astype(jnp.int32)
        move = jnp.where((action == 0) | (action == 2), vertical, horizontal)
        moved = jnp.where(blocked, cell, cell + move)
        found = (action == 4) & (cell == goal)
        late = ~found & (steps + 1 >= self.max_steps)
        return GridState(moved, goal, steps + 1), found.astype(jnp.float32), found, late

    def observe(self, state: GridState) -> Array:
        """What the agent sees: its cell."""
        return state.cell

    def text(self, state: GridState) -> str:
        """The grid in letters: ``A`` the agent, ``G`` the goal, ``*`` both.

        Example:
            >>> grid = Grid(size=3)
            >>> grid.text(grid.place(cell=3, goal=2)).splitlines()
            ['. . G', 'A . .', '. . .']
        """
        signs = ["."] * self.cells
        agent, goal = int(state.cell), int(state.goal)
        signs[goal], signs[agent] = "G", "*" if agent == goal else "A"
        rows = [signs[i : i + self.size] for i in range(0, self.cells, self.size)]
        return "\n".join(" ".join(row) for row in rows) + "\n"

    def draw(self, state: GridState) -> NDArray[np.uint8]:
        """The grid as an RGB picture: a square reward, a round agent."""
        edge = self.size * TILE + 1
        picture = np.full((edge, edge, 3), FLOOR, np.float64)
        picture[::TILE], picture[:, ::TILE] = LINE, LINE
        y, x = np.mgrid[:edge, :edge] - TILE / 2
        for cell, radius, norm, colour in (
            (int(state.goal), 0.40 * TILE, np.inf, GOAL),
            (int(state.cell), 0.28 * TILE, 2.0, AGENT),
        ):
            offset = np.stack([y - cell // self.size * TILE, x - cell % self.size * TILE])
            distance = np.linalg.norm(offset, norm, axis=0)
            cover = np.clip(radius + 0.5 - distance, 0, 1)[..., None]  # a smooth edge
            picture += cover * (np.array(colour) - picture)
        return picture.astype(np.uint8)
