"""The claim about depths of online Cart-Pole, on made-up runs with means worked out by hand."""

import pytest

from bennafusi.experiments.deep import depth_online, online_cartpole, online_catcher
from bennafusi.experiments.deep.depth_online import late_means, plays_on
from bennafusi.experiments.deep.readout_figure import beside_the_weights
from bennafusi.results import RunData


def run_of(seed, weights, second, third, length=100_000, every=1_000):
    """A run whose three depths earn 500 until 80,000 episodes and these numbers after that."""
    records = [{"kind": "switch", "epoch": 0, "task": None}]
    for episode in range(0, length + 1, every):
        late = (weights, second, third) if episode > 80_000 else (500, 500, 500)
        games = [[reward - 10, reward - 5, reward, reward + 5, reward + 10] for reward in late]
        look = {"kind": "depths", "episode": episode, "depths": [1, 2, 3]}
        look |= {"epoch": 1, "task": "cartpole", "timescales": [100, 400, 1600]}
        records.append(look | {"rewards": {"cartpole": games}})
    return RunData("benna-fusi", seed, records)


# Beaker 3 has (470 + 490) / 2 = 480 on the seeds that choose, beaker 2 has 475.
CHOOSE = [run_of(0, 100, 500, 470), run_of(2, 200, 450, 490)]


@pytest.mark.parametrize(
    ("rest", "holds"),
    [
        ([(300, 0, 475), (500, 0, 480), (490, 0, 499)], True),
        ([(300, 500, 474), (500, 500, 480), (490, 500, 499)], False),
        ([(475, 0, 480), (500, 0, 480), (490, 0, 499)], None),
    ],
)
def test_the_chosen_depth_must_keep_it_in_every_seed_and_the_weights_must_fall(rest, holds):
    runs = [*CHOOSE, *(run_of(seed, *late) for seed, late in zip((10, 11, 12), rest, strict=True))]
    found = plays_on(runs, "benna-fusi")
    assert found.holds is holds
    first = rest[0]
    assert f"beaker 3 (the weights): {first[2]} ({first[0]}), 480 (500)" in found.measured
    assert found.measured.startswith("not enough data") is (holds is None)


def test_the_seeds_that_were_judged_choose_the_depth_of_the_second_round():
    runs = [*CHOOSE, *(run_of(seed, 500, 500, 480) for seed in (10, 11, 12))]
    runs += [run_of(seed, 400, 490, 300) for seed in (13, 14, 15)]
    found = plays_on(runs, "benna-fusi", depth_online.SECOND)
    # Beaker 2 has (500 + 450 + 3 * 500) / 5 = 490 on the five, beaker 3 has 480.
    assert found.measured == "beaker 2 (the weights): 490 (400), 490 (400), 490 (400)"
    assert found.holds is True


@pytest.mark.parametrize(("worst", "holds"), [(10, True), (9.9, False)])
def test_a_depth_plays_catcher_where_it_earns_ten_fruits_in_every_seed(worst, holds):
    runs = [run_of(0, 4, 11, 12), run_of(2, 5, 12, 13)]
    runs += [run_of(10, 3, 0, worst), run_of(11, 6, 0, 14), run_of(12, 11, 0, 12)]
    (found,) = online_catcher.ours(runs)
    assert found.measured == f"beaker 3 (the weights): {worst} (3), 14 (6), 12 (11)"
    assert found.holds is holds
    assert online_catcher.EXPERIMENT.claims(runs)[-1] == found


def test_the_weights_and_the_best_depth_are_drawn_of_each_whole_run(plotted, tmp_path):
    runs = [*CHOOSE, run_of(7, 1, 2, 3, length=50_000)]
    assert "beaker 3" in beside_the_weights(runs, tmp_path).caption
    first, second = plotted["read-out"].axes
    assert [axes.get_title() for axes in (first, second)] == ["seed 0", "seed 2"]
    weights, deep = (line.get_ydata() for line in second.lines)
    assert weights[:81].tolist() == deep[:81].tolist() == [500.0] * 81
    assert weights[81:].tolist() == [200.0] * 20
    assert deep[81:].tolist() == [490.0] * 20  # beaker 3, the best of both runs
    assert beside_the_weights(runs[2:], tmp_path) is None


def test_only_the_last_fifth_of_a_whole_run_counts():
    assert late_means(run_of(0, 100, 400, 450)) == {1: 100, 2: 400, 3: 450}
    assert late_means(run_of(0, 100, 400, 450, length=99_000)) == {}, "not over"
    assert late_means(run_of(0, 100, 400, 450, length=10_000, every=100)) == {}, "not full length"
    assert late_means(run_of(0, 100, 400, 450, every=2_000)) == {}, "too few looks"


def test_a_depth_reached_within_the_last_fifth_is_left_out():
    run = run_of(0, 100, 400, 450)
    for look in run.records[1:-5]:
        look["depths"], look["rewards"] = [1, 2], {"cartpole": look["rewards"]["cartpole"][:2]}
    assert late_means(run) == {1: 100, 2: 400}


def test_without_all_five_seeds_nothing_is_judged():
    runs = [*CHOOSE, run_of(10, 1, 1, 500), run_of(12, 1, 1, 500)]
    first, second = online_cartpole.ours(runs)
    assert first.holds is second.holds is None
    assert first.measured.endswith("in seed 11")
    assert second.measured.endswith("in seed 11, 13, 14, 15")
    assert depth_online.plays_on([], "benna-fusi").holds is None
