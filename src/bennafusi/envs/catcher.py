"""Catcher: a paddle must catch falling fruit."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from bennafusi.envs.control import ControlState, ControlTask, Float32, canvas, paint_box
from bennafusi.synapse.numbers import check_whole

SCREEN = 64
PADDLE_WIDTH, PADDLE_HEIGHT, PADDLE_TOP = 13, 3, 57
FRUIT_SIZE = 4
RIGHTMOST = SCREEN - PADDLE_WIDTH
PUSH, DRAG, FALL = 0.021 * SCREEN, 0.9, 0.00095 * SCREEN * 1000 / 30
COLUMNS, ROWS = 12, 7  # where a new fruit may appear, in steps of its size
CENTRE = (29.887, 0.1593, 22.539, 24.738)
SCALE = (13.895, 2.0409, 17.417, 23.385)
GAME_OVER = -5.0

ZOOM, MARGIN, ABOVE = 6, 8, 32  # the margins are in the game's own pixels
OUTSIDE, INSIDE, FRUIT, PADDLE = (214, 210, 200), (246, 244, 238), (200, 62, 62), (37, 99, 175)
LETTER_HEIGHT, LETTER_WIDTH = 4, 2  # pixels per letter


@dataclass(frozen=True)
class Catcher(ControlTask):
    """Fruit falls, one after the other, and a paddle with inertia must be under it.

    | | |
    |---|---|
    | Action space | ``Discrete(2)``, ``Discrete(3)`` with ``no_op`` |
    | Observation space | ``Box((4,), float32)`` |
    | Register | ``gymnasium.make("bennafusi.envs:bennafusi/Catcher-v0")`` |

    | action | | effect |
    |---|---|---|
    | 0 | left | the paddle is pushed to the left |
    | 1 | right | the paddle is pushed to the right |
    | 2 | none | the paddle slides on; only with ``no_op`` |

    | observation | | values | mean and deviation, for the network |
    |---|---|---|---|
    | 0 | column of the fruit | 8, 12, ... 52 | 29.887, 13.895 |
    | 1 | velocity of the paddle | -12.1 to 12.1 | 0.1593, 2.0409 |
    | 2 | column of the paddle | 0, 1, ... 51 | 22.539, 17.417 |
    | 3 | row of the fruit, downwards | -28, ... 65 | 24.738, 23.385 |

    **Dynamics:** those of Catcher in the PyGame Learning Environment (PLE), 64 x 64 pixels, 30
    frames per second. In each frame, in this order: (1) a fruit at row 64 or below is missed, (2) a
    fruit whose rectangle overlaps the paddle's is caught, and both are replaced by a new one; (3)
    the paddle's velocity becomes ``0.9 * (velocity +- 1.344)`` and moves it, and is lost at a wall;
    (4) the fruit falls by 2.027. Positions are cut to whole numbers in each frame. The paddle
    covers columns x - 6 to x + 6 and rows 57 to 59, the fruit x - 2 to x + 1 and y - 2 to y + 1.
    **Reward:** 1 for a catch, -1 for a miss. **Start:** the paddle rests in column ``start``; a
    fruit begins in column 8, 12, ... or 52 and row -4, -8, ... or -28, each as likely. **End:**
    terminated when the last life is lost, in the frame in which the game notices the miss;
    truncated after ``max_steps`` frames. Perfect play earns 14.27 on average, random play -0.58.

    Args:
        lives: misses that end an episode; 1 in the experiments, 3 in PLE.
        no_op: whether there is a third action, which presses no key.
        rounding: whether positions are rounded, as pygame 2.3 and later do, instead of cut.
        clip: whether the last miss earns -1, like any other, instead of PLE's -6.
        max_steps: frames after which an episode is cut short.
        start: the paddle's first column; 26 in the experiments (Python 2), 25 under Python 3.

    Example:
        >>> task = Catcher()
        >>> state = task.reset(jnp.zeros(4))
        >>> state.values
        Array([ 8.,  0., 26., -4.], dtype=float32)
        >>> state, reward, terminated, truncated = task.step(state, jnp.int32(0), jnp.zeros(4))
        >>> state.values
        Array([ 8.    , -1.2096, 24.    , -1.    ], dtype=float32)
        >>> float(reward), bool(terminated), bool(truncated)
        (0.0, False, False)

    References:
        Tasfi, *PyGame Learning Environment*, 2016; Kaplanis, Shanahan and Clopath, *Continual RL
        with Complex Synapses*, 2018, section 4.2.
    """

    lives: int = 1
    no_op: bool = False
    rounding: bool = False
    clip: bool = True
    max_steps: int = 500
    start: int = 26

    def __post_init__(self) -> None:
        counts = dict.fromkeys(("lives", "max_steps"), (1, 2**31 - 1))
        check_whole(self, {**counts, "start": (0, RIGHTMOST)})
        for name in ("no_op", "rounding", "clip"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name}={getattr(self, name)!r}: must be True or False")

    @property
    def actions(self) -> int:
        """Left, right and perhaps no key."""
        return 3 if self.no_op else 2

    @property
    def observations(self) -> tuple[Float32, Float32]:
        """Where fruit and paddle can be; the velocity under an endless push is 12.096."""
        fastest = 1.001 * PUSH * DRAG / (1 - DRAG)  # with room for rounding
        low = np.array([8, -fastest, 0, -FRUIT_SIZE * ROWS], np.float32)
        return low, np.array([52, fastest, RIGHTMOST, SCREEN + 1], np.float32)

    @property
    def normal(self) -> tuple[Float32, Float32]:
        """Means and standard deviations of the 2018 experiments."""
        return np.array(CENTRE, np.float32), np.array(SCALE, np.float32)

    def reset(self, chance: Array) -> ControlState:
        """A resting paddle and a fruit above the screen."""
        fruit_x, fruit_y = self._new_fruit(chance)
        values = jnp.stack([fruit_x, jnp.float32(0), jnp.float32(self.start), fruit_y])
        return ControlState(values, jnp.int32(self.lives), jnp.int32(0))

    def step(
        self, state: ControlState, action: Array, chance: Array
    ) -> tuple[ControlState, Array, Array, Array]:
        """One frame."""
        fruit_x, velocity, x, fruit_y = state.values
        missed = fruit_y >= SCREEN
        # Strict overlap of the rectangles in the data sheet. A missed fruit is below the paddle and
        # a new one above it, so that no fruit is both missed and caught.
        caught = (abs(x - fruit_x + 0.5) < 8.5) & (abs(fruit_y - 58.5) < 3.5)
        new_x, new_y = self._new_fruit(chance)
        fruit_x = jnp.where(missed | caught, new_x, fruit_x)
        fruit_y = self._whole_pixels(jnp.where(missed | caught, new_y, fruit_y) + FALL)

        velocity = (velocity + self._push(action)) * DRAG
        x = x + velocity
        velocity = jnp.where((x <= 0) | (x >= RIGHTMOST), 0, velocity)
        x = self._whole_pixels(jnp.clip(x, 0, RIGHTMOST))

        lives = state.lives - missed.astype(jnp.int32)
        terminated = lives <= 0
        reward = caught.astype(jnp.float32) - missed.astype(jnp.float32)
        if not self.clip:
            reward += GAME_OVER * (missed & terminated).astype(jnp.float32)
        after = ControlState(jnp.stack([fruit_x, velocity, x, fruit_y]), lives, state.steps + 1)
        return after, reward, terminated, self._is_late(after.steps, terminated)

    def _new_fruit(self, noise: Array) -> tuple[Array, Array]:
        column, row = jnp.floor(COLUMNS * noise[0]), jnp.floor(ROWS * noise[1])
        return FRUIT_SIZE * (2 + column), -FRUIT_SIZE * (1 + row)

    def _push(self, action: Array) -> Array:
        sideways = jnp.where(action == 1, PUSH, -PUSH).astype(jnp.float32)
        return jnp.where(action == 2, 0, sideways) if self.no_op else sideways

    def _whole_pixels(self, position: Array) -> Array:
        return jnp.round(position) if self.rounding else jnp.trunc(position)

    def text(self, state: ControlState) -> str:
        """The screen in letters: ``o`` fruit, ``^`` fruit above the screen, ``=`` the paddle.

        Example:
            >>> task = Catcher(start=20)
            >>> for row in task.text(task.reset(jnp.zeros(4))).splitlines()[::7]:
            ...     print(row)
            |   ^^                           |
            |                                |
            |       =======                  |
        """
        fruit_x, _, x, fruit_y = map(int, state.values)
        rows = [[" "] * (SCREEN // LETTER_WIDTH) for _ in range(SCREEN // LETTER_HEIGHT)]

        def put(sign: str, row: int, left: int, right: int) -> None:
            first, last = max(left, 0) // LETTER_WIDTH, (right - 1) // LETTER_WIDTH
            rows[row][first : last + 1] = sign * (last + 1 - first)

        put("=", PADDLE_TOP // LETTER_HEIGHT, x - 6, x + 7)
        row = min(max(fruit_y // LETTER_HEIGHT, 0), len(rows) - 1)
        put("o" if fruit_y >= 0 else "^", row, fruit_x - 2, fruit_x + 2)
        return "".join(f"|{''.join(row)}|\n" for row in rows)

    def draw(self, state: ControlState) -> NDArray[np.uint8]:
        """The screen, and around it, darker, what the game knows and does not show.

        Fruit waits above the screen, and the paddle's rectangle leaves it at the left wall.
        """
        fruit_x, _, x, fruit_y = map(int, state.values)
        picture = canvas(ZOOM * (ABOVE + SCREEN + MARGIN), ZOOM * (SCREEN + 2 * MARGIN), OUTSIDE)
        for colour, left, top, width, height in (
            (INSIDE, 0, 0, SCREEN, SCREEN),
            (PADDLE, x - 6, PADDLE_TOP, PADDLE_WIDTH, PADDLE_HEIGHT),
            (FRUIT, fruit_x - 2, fruit_y - 2, FRUIT_SIZE, FRUIT_SIZE),
        ):
            box = (left + MARGIN, top + ABOVE, width, height)
            paint_box(picture, colour, *(ZOOM * edge for edge in box))
        return picture.astype(np.uint8)
