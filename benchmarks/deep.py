"""What a deep agent costs: one core, one run, every number a ratio against its peer in that run.

python benchmarks/deep.py            # a table for the terminal
python benchmarks/deep.py --markdown # the same, for docs/performance.md
"""

from harness import Round, best, options, table  # isort: skip - before JAX

import sys
import time
from dataclasses import dataclass
from functools import partial

import deep_peers
import jax
import jax.numpy as jnp
import optax

from bennafusi.agents import replay, soft_q
from bennafusi.agents.adam import adam
from bennafusi.agents.policies import choose
from bennafusi.agents.replay import Transition
from bennafusi.envs.cartpole import CartPole
from bennafusi.envs.named import TASKS
from bennafusi.experiments.deep import depths
from bennafusi.synapse.branch import when
from bennafusi.training import deep_loop
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import ONLINE, DeepSettings

STEPS = 10_000


@dataclass(frozen=True)
class Endless(CartPole):
    """Cart-Pole that only ends by time, so that every episode has as many steps as the peer's."""

    def step(self, state, action, chance):
        """One push; what leaves the track or falls is put back."""
        after, reward, fallen, _ = super().step(state, action, chance)
        values = jnp.where(fallen, jnp.zeros_like(after.values), after.values)
        late = after.steps >= self.max_steps
        return after._replace(values=values), reward, jnp.zeros_like(fallen), late


TASKS["endless"] = Endless()
# No tests, for the peers have none.
NEVER = {"test_every": 2**20, "exploration.epsilon": 0.02, "exploration.decay": 1.0}
ONE_TASK = {"tasks": ("cartpole",), "gammas": (0.95,)}
BENNA_FUSI = changed(DeepSettings(), {**ONLINE, **ONE_TASK, **NEVER})
TWO_TASKS = {"tasks": ("endless", "catcher"), "epochs": 1}
UNIT = changed(DeepSettings(), {**TWO_TASKS, **NEVER, "exploration.epsilon": 0.1})
CONTROL = {"chain.n": 1}
QUICK = changed(UNIT, {"episodes": 5000, "depths.games": 10})
ADAM, OPTAX = adam(), optax.with_extra_args_support(optax.adam(1e-3))


def online(settings) -> Round:
    """Microseconds per step: act, move, learn, flow, follow."""
    state, _ = deep_loop.advance(settings, deep_loop.start(settings, 0), STEPS, 2**30)

    def run():
        nonlocal state
        begin, before = time.perf_counter(), int(state.steps)
        state, _ = deep_loop.advance(settings, state, STEPS, 2**30)
        steps = int(state.steps) - before  # waits
        return 1e6 * (time.perf_counter() - begin) / steps

    return run


def unit(settings) -> Round:
    """Microseconds per 500 steps and 64 updates; the replay memory is full before."""
    state, _ = deep_loop.advance(settings, deep_loop.start(settings, 0), 2**30, 4)

    def run():
        nonlocal state
        begin = time.perf_counter()
        state, _ = deep_loop.advance(settings, state, 2**30, 5)
        int(state.steps)  # waits
        return 1e6 * (time.perf_counter() - begin) / 5

    return run


def look(settings) -> Round:
    """Microseconds of a look at all depths that a run at quick scale reaches, in long games."""
    state = deep_loop.start(settings, 0)
    moments = state.agent.optimizer.optimizer._replace(count=jnp.int32(3_400_000))
    optimizer = state.agent.optimizer._replace(optimizer=moments)
    state = state._replace(agent=state.agent._replace(optimizer=optimizer))

    def run():
        begin = time.perf_counter()
        depths.records(settings, state, settings.episodes, keep=True)
        return 1e6 * (time.perf_counter() - begin)

    run()  # compiles
    return run


def looped(body, carry, steps) -> Round:
    """Microseconds per call of ``body``, which maps a carry to the next."""
    program = jax.jit(lambda c: jax.lax.fori_loop(0, steps, lambda _, x: body(x), c))
    state = jax.block_until_ready(program(carry))

    def run():
        nonlocal state
        begin = time.perf_counter()
        state = jax.block_until_ready(program(state))
        return 1e6 * (time.perf_counter() - begin) / steps

    return run


def parts(settings, steps) -> dict[str, tuple[Round, float]]:
    """The parts of an update or a step, each alone, and the bytes that it cannot avoid to move."""
    agent, world, task = settings.learner, settings.envs[0], jnp.int32(0)
    state = soft_q.start(agent, settings.sizes, jax.random.key(0))
    half, whole = jnp.float32(0.5), jnp.full(4, 0.5)
    seen = Transition(whole, jnp.int32(0), half, half, whole)
    size = 4 * agent.network.size(settings.sizes)  # bytes of one copy of the parameters

    def act(x):
        q = soft_q.values(agent, state, task, x)
        return x + 1e-9 * choose(q, agent.rule.alpha, half, half, q[0]).astype(jnp.float32)

    def move(now):
        now, _, over, late = world.step(now, jnp.int32(now.values[2] < 0), whole)
        return now._replace(values=jnp.where(over | late, 0.01 * whole, now.values))

    def gradient(x):
        loss, slopes = agent.network.slopes(lambda q: jnp.sum(q * q), state.params, task, x)
        return x + 1e-9 * (loss + slopes.biases[0][:4])

    def judge(x):
        wanted = soft_q.targets(agent, state, task, seen._replace(observation=x))
        return x + 1e-9 * wanted[0]

    def learn(due):
        return lambda now: soft_q.learn(agent, now, task, seen, jnp.ones(2), due)[0]

    def stepping(optimizer):
        """One optimiser's steps with the same gradient: how to make one, and where to begin."""

        def step(carry):
            _, slopes = agent.network.slopes(lambda q: jnp.sum(q * q), carry[0], task, whole)

            def descend(carry):
                params, moments = carry
                grads = agent.network.gradient(params, slopes, task)
                updates, moments = optimizer.update(
                    grads, moments, params, learning_rate=jnp.float32(1e-3)
                )
                return optax.apply_updates(params, updates), moments

            return when(jnp.isfinite(slopes.biases[0][0]), descend, carry)

        return step, (state.params, optimizer.init(state.params))

    ring = replay.empty(settings.schedule.replay, (4,))
    full, key = ring._replace(added=jnp.int32(2**20)), jax.random.key_data(jax.random.key(0))

    def draw(key):
        some = replay.sample(full, jax.random.wrap_key_data(key), 64)
        return key + some.action[:2].astype(key.dtype)

    found = {
        "act": (looped(act, whole, steps), size),
        "task": (looped(move, world.reset(whole), 10 * steps), 0),
        "what the target says": (looped(judge, whole, steps), size),
        "gradient, in factors": (looped(gradient, whole, steps), 2 * size),
        # Forward, backward, and parameters and moments read and written; the gradient is two
        # vectors.
        "gradient and Adam": (looped(learn(False), state, steps), 8 * size),
        "gradient, Adam and chain": (looped(learn(True), state, steps), 0),
        "that step with our Adam alone": (looped(*stepping(ADAM), steps), 8 * size),
        "that step with optax's Adam": (looped(*stepping(OPTAX), steps), 8 * size),
        "target follows": (looped(partial(soft_q.update_target, agent), state, steps), 3 * size),
        "remember": (looped(lambda r: r.add(seen), ring, 10 * steps), 44),
    }
    if settings.schedule.batch > 1:
        found["draw 64 of 2,000"] = (looped(draw, key, steps), 0)
    return found


def bandwidth() -> float:
    """Gigabytes a second that one core adds up, for arrays of the 400-200 network's size."""
    x = jnp.ones(84_408)
    run = looped(lambda a: (a[0] + a[1], a[1]), (x, x), 2000)
    return 3 * x.nbytes / min(run() for _ in range(20)) / 1e3


def main():
    """Print the tables; exit code 1 if a goal was missed."""
    chosen = options(__doc__, repeats=15)
    times = best(
        {
            "online control": online(changed(BENNA_FUSI, CONTROL)),
            "online Benna-Fusi": online(BENNA_FUSI),
            "unit control": unit(changed(UNIT, CONTROL)),
            "unit Benna-Fusi": unit(UNIT),
            "unit at quick scale": unit(QUICK),
            "look": look(QUICK),
            "eager": deep_peers.online_control(200),
            "eager, tuned": deep_peers.online_control(200, tuned=True),
            "eager chain": deep_peers.online_chain(200),
            "eager unit": deep_peers.episodic_unit(),
            "eager unit, tuned": deep_peers.episodic_unit(tuned=True),
            "SB3": deep_peers.sb3_online(200),
        },
        chosen.repeats,
    )
    mine, chain = times["online control"], times["online Benna-Fusi"]
    unit_control, unit_chain = times["unit control"], times["unit Benna-Fusi"]
    epoch = QUICK.episodes * times["unit at quick scale"]
    rows = [
        ("eager PyTorch, online step", times["eager"], "control", mine, ">= 50"),
        ("eager PyTorch, online step", times["eager"], "Benna-Fusi", chain, ">= 30"),
        ("the same, tuned by hand", times["eager, tuned"], "control", mine, ">= 40"),
        ("the same, tuned by hand", times["eager, tuned"], "Benna-Fusi", chain, ">= 20"),
        ("tuned by hand, with a chain", times["eager chain"], "Benna-Fusi", chain, ">= 20"),
        ("SB3's DQN, online step", times["SB3"], "control", mine, ">= 50"),
        ("eager PyTorch, episodic unit", times["eager unit"], "control", unit_control, ">= 15"),
        ("the same, tuned by hand", times["eager unit, tuned"], "control", unit_control, ">= 8"),
        ("Benna-Fusi, episodic unit", unit_chain, "control", unit_control, "<= 1.1"),
        ("Benna-Fusi, online step", chain, "control", mine, "<= 2"),
        ("a look at seven depths", times["look"], "epoch, quick", epoch, "<= 0.03"),
    ]
    missed = table(rows, chosen.markdown)
    print_parts(bandwidth(), chosen)
    return 1 if missed else 0


def print_parts(speed, chosen):
    """Where the time goes, and how far that is from what the memory allows."""
    print(f"\none core adds arrays of the 400-200 network's size at {speed:.0f} GB/s\n")
    line = "| {} | {} | {} | {} |" if chosen.markdown else "{:<12}{:<30}{:>12}{:>16}"
    print(line.format("network", "part, alone", "time", "memory allows"))
    if chosen.markdown:
        print("|---|---|---:|---:|")
    for name, settings, steps in (("100-50", BENNA_FUSI, 2000), ("400-200", UNIT, 400)):
        found = parts(settings, steps)
        times = best({part: run for part, (run, _) in found.items()}, chosen.repeats)
        for part, (_, size) in found.items():
            bound = f"{size / speed / 1e3:.1f} us" if size > 1000 else "-"
            print(line.format(name, part, f"{times[part]:.2f} us", bound), flush=True)


if __name__ == "__main__":
    sys.exit(main())
