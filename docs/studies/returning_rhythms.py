"""Who relearns at a rhythm that nobody knew? The returning digits, tuned at one, judged at others.

python docs/studies/returning_rhythms.py [FOLDER]      (a few minutes on one core)

Chains are meant for rhythms that nobody knows. So the methods that relearn the returning digits
fastest (returning_rivals.py), and Adam alone, each at the point that was best with visits of 100
updates, are asked again with visits of 10 to 3,000 updates, and nothing is tuned.

The rule, written after a look at seeds 0 to 2 and before these seeds: on seeds 30 to 39, which
nothing else of the digits has had, one method is before another at a rhythm if the 95% interval of
their difference, by pairs, excludes 0; else they are a tie.

Writes ``returning-rhythms.json`` and ``.png``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from bennafusi.experiments.agent_styles import styles

sys.path.insert(0, str(Path(__file__).parent))
import returning_rivals as rivals

CHOSEN = Path(__file__).parents[2] / "results/quick/returning-rivals/returning-rivals.json"
COMPARED = ("synaptic-intelligence", "online-ewc", "benna-fusi", "slow-weights", "control")
RHYTHMS = (10, 30, 100, 300, 1_000, 3_000)  # updates in a visit
JUDGING = range(30, 40)


def points() -> dict[str, tuple[float, float]]:
    """Strength and rate of each, as they were chosen with visits of 100 updates."""
    chosen = json.loads(CHOSEN.read_text())["methods"]
    return {name: (chosen[name]["strength"], chosen[name]["rate"]) for name in COMPARED}


def compared(run: Any = rivals.updates) -> dict[str, Any]:
    """Of each rhythm the updates of every method, and its differences to the chain and to Adam."""
    found = {}
    for visit in RHYTHMS:
        rows = {
            name: {"updates": [round(float(x), 3) for x in run(name, [at], JUDGING, visit)[0]]}
            for name, at in points().items()
        }
        gaps = {
            f"against {other}": rivals.against(rows, other) for other in ("benna-fusi", "control")
        }
        found[str(visit)] = {"methods": rows, **gaps}
    return found


def draw(found: dict[str, Any]) -> plt.Figure:
    """Updates to relearn over the length of a visit; means, and all seeds as a band."""
    with matplotlib.rc_context({"font.size": 9}):
        figure = plt.figure(figsize=(7, 3.6), layout="constrained")
        axes = figure.subplots()
        for name, style in styles(COMPARED).items():
            rows = np.array([found[str(v)]["methods"][name]["updates"] for v in RHYTHMS])
            axes.fill_between(
                RHYTHMS, rows.min(1), rows.max(1), color=style.colour, alpha=0.15, lw=0
            )
            how = {"color": style.colour, "marker": style.marker, "ls": style.dashes}
            axes.plot(RHYTHMS, rows.mean(1), ms=4, label=name, **how)
        axes.set_xscale("log")
        axes.set_xlabel("updates in a visit")
        axes.set_ylabel("updates to relearn")
        axes.set_ylim(bottom=0)
        axes.grid(True, color="0.92", lw=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        return figure


def main(folder: Path) -> None:
    """Judge, print, draw."""
    folder.mkdir(parents=True, exist_ok=True)
    found = compared()
    for visit, one in found.items():
        means = ", ".join(f"{n} {np.mean(r['updates']):.2f}" for n, r in one["methods"].items())
        print(f"visits of {visit}: {means}")
    (folder / "returning-rhythms.json").write_text(json.dumps(found, indent=1) + "\n")
    draw(found).savefig(folder / "returning-rhythms.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/images"))
