"""Cart-Pole, and with a longer pole Cart-PoleLong: balance a pole on a cart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from bennafusi.envs.control import (
    ControlState,
    ControlTask,
    Float32,
    canvas,
    paint_box,
    paint_rod,
)
from bennafusi.synapse.numbers import check_whole, real

GRAVITY, CART_MASS, POLE_MASS, FORCE, SECONDS = 9.8, 1.0, 0.1, 10.0, 0.02
MASS = CART_MASS + POLE_MASS
FARTHEST, STEEPEST = 2.4, math.radians(12)
SCALE = (0.75, 0.75, 0.07, 0.3)

HEIGHT, WIDTH, GROUND = 360, 640, 300.0
METRE, TALLEST = 120.0, 240.0  # pixels per metre, unless the pole would then be taller than this
SKY, TRACK, LIMIT, LEAN = (246, 244, 238), (150, 145, 135), (200, 62, 62), (232, 180, 172)
CART, WHEEL, POLE, AXLE = (37, 99, 175), (60, 64, 72), (240, 180, 41), (246, 244, 238)


@dataclass(frozen=True)
class CartPole(ControlTask):
    """A pole stands on a cart and must be kept upright by pushing the cart left and right.

    | | |
    |---|---|
    | Action space | ``Discrete(2)`` |
    | Observation space | ``Box((4,), float32)`` |
    | Register | ``gymnasium.make("bennafusi.envs:bennafusi/CartPole-v0")``, ``CartPoleLong-v0`` |

    | action | | effect |
    |---|---|---|
    | 0 | left | the cart is pushed with -10 N |
    | 1 | right | the cart is pushed with 10 N |

    | observation | | ends the episode | divided by, for the network |
    |---|---|---|---|
    | 0 | position of the cart, m | beyond 2.4 | 0.75 |
    | 1 | its velocity, m/s | | 0.75 |
    | 2 | angle of the pole, rad, positive to the right | beyond 12 degrees | 0.07 |
    | 3 | its velocity, rad/s | | 0.3 |

    **Dynamics:** those of Gymnasium's ``CartPole-v1``, without friction, in explicit Euler steps
    of 0.02 s from the old velocities. **Reward:** 1 in every step, the failing one included.
    **Start:** all four numbers uniform in [-0.05, 0.05). **End:** terminated when cart or pole
    leave their bounds, truncated after ``max_steps`` steps. The highest return is ``max_steps``.

    Args:
        half_length: half the pole's length, m; 0.5 in Cart-Pole, 1.0 in Cart-PoleLong. The pole's
            mass stays the same.
        max_steps: steps after which an episode is cut short.

    Example:
        >>> task = CartPole()
        >>> state = task.reset(jnp.full(4, 0.5))  # upright, in the middle, at rest
        >>> state, reward, terminated, truncated = task.step(state, jnp.int32(1), jnp.zeros(4))
        >>> [round(float(value), 4) for value in state.values]
        [0.0, 0.1951, 0.0, -0.2927]
        >>> float(reward), bool(terminated), bool(truncated)
        (1.0, False, False)

    References:
        Barto, Sutton and Anderson, *Neuronlike adaptive elements*, 1983; Kaplanis, Shanahan and
        Clopath, *Continual RL with Complex Synapses*, 2018, section 4.2.
    """

    half_length: float = 0.5
    max_steps: int = 500

    def __post_init__(self) -> None:
        object.__setattr__(self, "half_length", real("half_length", self.half_length))
        if not 1e-3 <= self.half_length <= 1e3:  # beyond, float32 loses the pole or the cart
            raise ValueError(f"half_length={self.half_length}: choose 0.001 to 1000 metres")
        check_whole(self, {"max_steps": (1, 2**31 - 1)})

    @property
    def pole_mass_length(self) -> float:
        """Mass times half-length of the pole; follows ``half_length``, so cannot be forgotten."""
        return POLE_MASS * self.half_length

    @property
    def actions(self) -> int:
        """Left or right."""
        return 2

    @property
    def observations(self) -> tuple[Float32, Float32]:
        """Twice the bounds of cart and pole, for the failing step is seen too; any velocity."""
        any_velocity = np.finfo(np.float32).max  # Gymnasium asks for finite bounds
        high = np.array([2 * FARTHEST, any_velocity, 2 * STEEPEST, any_velocity], np.float32)
        return -high, high

    @property
    def normal(self) -> tuple[Float32, Float32]:
        """No centre; the scale of the 2018 experiments."""
        return np.zeros(4, np.float32), np.array(SCALE, np.float32)

    def reset(self, chance: Array) -> ControlState:
        """Nearly upright, nearly in the middle, nearly at rest."""
        return ControlState(0.1 * chance - 0.05, jnp.int32(1), jnp.int32(0))

    def step(
        self, state: ControlState, action: Array, chance: Array
    ) -> tuple[ControlState, Array, Array, Array]:
        """One push. Nothing here is random: all our tasks share the signature."""
        del chance
        _, speed, angle, spin = state.values
        force = jnp.where(action == 1, FORCE, -FORCE).astype(jnp.float32)
        sine, cosine = jnp.sin(angle), jnp.cos(angle)
        pushed = (force + self.pole_mass_length * spin * spin * sine) / MASS
        inertia = self.half_length * (4 / 3 - POLE_MASS / MASS * cosine * cosine)
        spin_up = (GRAVITY * sine - cosine * pushed) / inertia
        speed_up = pushed - self.pole_mass_length / MASS * spin_up * cosine
        rates = jnp.stack([speed, speed_up, spin, spin_up])  # all from the old values
        values = state.values + SECONDS * rates
        fallen = (jnp.abs(values[0]) > FARTHEST) | (jnp.abs(values[2]) > STEEPEST)
        late = self._is_late(state.steps + 1, fallen)
        return ControlState(values, state.lives, state.steps + 1), jnp.float32(1), fallen, late

    def text(self, state: ControlState) -> str:
        r"""Cart, pole and numbers in a line; ``|`` or the way it leans is the pole.

        Example:
            >>> task = CartPole()
            >>> task.text(task.reset(jnp.array([0.5, 0.5, 0.9, 0.5])))
            '|------------------------[/]------------------------| x +0.00 m, angle +2.3 degrees\n'
        """
        x, _, angle, _ = map(float, state.values)
        room = 25
        column = round(min(max(x / FARTHEST, -1), 1) * (room - 1))
        pole = "/" if angle > math.radians(1) else "\\" if angle < -math.radians(1) else "|"
        left, right = "-" * (room - 1 + column), "-" * (room - 1 - column)
        where = f"x {x:+.2f} m, angle {math.degrees(angle):+.1f} degrees"
        return f"|{left}[{pole}]{right}| {where}\n"

    def draw(self, state: ControlState) -> NDArray[np.uint8]:
        """Cart and pole on their track, with the bounds of both in red."""
        x, _, angle, _ = map(float, state.values)
        metre = min(METRE, TALLEST / (2 * self.half_length))
        middle, axle_y = WIDTH / 2 + x * metre, GROUND - 0.30 * metre

        def tip(lean: float) -> tuple[float, float]:
            length = 2 * self.half_length * metre
            return middle + length * math.sin(lean), axle_y - length * math.cos(lean)

        picture = canvas(HEIGHT, WIDTH, SKY)
        track = FARTHEST * metre
        paint_box(picture, TRACK, WIDTH / 2 - track, GROUND - 1, 2 * track, 3)
        for side in (-1, 1):
            paint_box(picture, LIMIT, WIDTH / 2 + side * track - 2, GROUND - 13, 4, 27)
            paint_rod(picture, LEAN, (middle, axle_y), tip(side * STEEPEST), 1.0)
            wheel = (middle + side * 0.15 * metre, GROUND - 0.07 * metre)
            paint_rod(picture, WHEEL, wheel, wheel, 0.07 * metre)
        left, top = middle - 0.25 * metre, GROUND - 0.32 * metre
        paint_box(picture, CART, left, top, 0.5 * metre, 0.22 * metre)
        paint_rod(picture, POLE, (middle, axle_y), tip(angle), max(0.05 * metre, 2))
        paint_rod(picture, AXLE, (middle, axle_y), (middle, axle_y), 0.02 * metre)
        return picture.astype(np.uint8)
