"""How every benchmark here is run: one core, peers in turns, ratios against goals.

Peers take turns, and the best of many short rounds counts, so that a busy machine disturbs all of
them alike. Import this first: the number of cores must be known before JAX starts.
"""

import os

os.environ["NPROC"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from collections.abc import Callable, Iterable

Round = Callable[[], float]  # runs a while, returns microseconds per step
Row = tuple[str, float, str, float, str]  # what, its time, against what, its time, goal


def options(description: str, repeats: int) -> argparse.Namespace:
    """The options that all benchmarks share."""
    parser = argparse.ArgumentParser(description=description.split("\n\n")[0])
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--repeats", type=int, default=repeats, help="rounds per peer")
    return parser.parse_args()


def best(rounds: dict[str, Round], repeats: int) -> dict[str, float]:
    """The best time of each, taking turns."""
    times = {name: float("inf") for name in rounds}
    for _ in range(repeats):
        for name, run in rounds.items():
            times[name] = min(times[name], run())
    return times


def table(rows: Iterable[Row], markdown: bool) -> int:
    """Print the rows as they come; returns how many goals were missed."""
    if markdown:
        print("| what | time | against | time | ratio | goal |\n|---|---:|---|---:|---:|---:|")
    missed = 0
    for what, ours, peer, theirs, goal in rows:
        sign, bound = goal.split()
        ratio = ours / theirs
        held = ratio >= float(bound) if sign == ">=" else ratio <= float(bound)
        missed += not held
        cells = (what, f"{ours:.1f} us", peer, f"{theirs:.1f} us", f"{ratio:.2f}", goal)
        if markdown:
            print("| " + " | ".join(cells) + " |", flush=True)
        else:
            mark = "ok" if held else "MISSED"
            print("{:<48}{:>11}  {:<16}{:>11}{:>8}  {:<8}".format(*cells) + mark, flush=True)
    return missed
