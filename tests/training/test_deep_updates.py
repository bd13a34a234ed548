"""What deep agents are given to learn from."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.agents import replay
from bennafusi.agents.replay import Transition
from bennafusi.training import deep_updates


@pytest.mark.parametrize("dtype", [jnp.uint8, bool, jnp.float32])
def test_observations_come_back_as_they_were_seen(dtype):
    seen = jnp.asarray([200, 0, 7, 255]).astype(dtype)
    step = Transition(seen, jnp.int32(0), jnp.float32(1), jnp.float32(0.9), seen)
    stored = replay.packed(step)
    room = replay.empty(4, stored.observation.shape, stored.observation.dtype).add(stored)
    drawn = replay.sample(room, jax.random.key(0), 1)
    found = deep_updates._as_seen(SimpleNamespace(observation=seen), drawn)
    assert found.observation.dtype == dtype
    np.testing.assert_array_equal(found.observation, seen[None])
    np.testing.assert_array_equal(found.next_observation, seen[None])
