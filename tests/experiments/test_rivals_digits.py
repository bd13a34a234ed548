"""The experiment ``rivals-digits``, small: its program, its rule, its ranks and figures."""

import json

import jax
import numpy as np
import optax
import pytest

from bennafusi.experiments import ranking
from bennafusi.experiments.registry import find
from bennafusi.experiments.rivals_digits import digits_claims, digits_figures, digits_learning
from bennafusi.experiments.rivals_digits.digits_job import DigitsSettings, grid, measures
from bennafusi.results import RunData
from bennafusi.rivals.catalogue import METHODS, Given
from tests.promotion import standard_promotion

EXPERIMENT = find("rivals-digits")
SMALL = DigitsSettings(
    methods=("control", "ema"), visits=(5, 10), updates=50, hidden=8, batch=4, look=5
)


@pytest.fixture(scope="module", autouse=True)
def as_users_have_it():
    with standard_promotion():  # optax's Adam is not as strict as this suite
        yield


@pytest.fixture(scope="module")
def job():
    return EXPERIMENT.job_of("methods", 0, SMALL)


@pytest.fixture(scope="module")
def whole(job):
    state, records = job.initial(), []
    while job.progress(state)[0] < job.progress(state)[1]:
        state, more = job.advance(state)
        assert job.check(state) is None
        records += more
    return state, json.loads(json.dumps(records, allow_nan=False))


def test_a_run_stopped_and_resumed_is_the_same_run(job, whole):
    first, records = job.advance(job.initial())
    saved = [np.array(leaf) for leaf in jax.tree.leaves(first)]
    again, more = job.advance(jax.tree.unflatten(jax.tree.structure(first), saved))
    assert json.loads(json.dumps(records + more)) == whole[1]
    np.testing.assert_array_equal(job.final(again)["kept"], job.final(whole[0])["kept"])
    assert [len(record["points"]) for record in whole[1]] == [9] * 8


def test_every_method_has_nine_points():
    for name in METHODS:
        strengths, rates = grid(name)
        assert len(strengths) * len(rates) == 9, name


def test_split_tasks_have_two_digits_and_permuted_ones_all(job):
    _, digits = digits_learning.pictures()
    split, permuted = (digits_learning.stream(p, 10, 50, seed=3) for p in ("split", "permuted"))
    for task in range(5):
        assert set(digits[split.train[task]]) == {2 * task, 2 * task + 1}
        assert set(digits[permuted.test[task]]) == set(range(10))
        assert sorted(permuted.pixels[task]) == list(range(64))
        for one in (split, permuted):
            assert not set(one.train[task]) & set(one.test[task]), "tests are not learnt from"
    assert split.task.tolist() == [k // 10 % 5 for k in range(50)]


def test_measures_by_hand():
    scores = np.array([[0.0, 0.0], [0.8, 0.2], [0.4, 0.6], [1.0, 0.2], [0.5, 0.5]])
    found = digits_learning.Learnt(scores, np.array([[0.0, 1.0]]), np.inf, 2.0)
    numbers = measures(found, trained=[0, 1, 0, 1], looks=1)
    assert numbers["curve"] == [0.0, 0.5, 0.5, 0.6, 0.5]
    assert numbers["kept"] == 0.55  # of 0.6 and 0.5
    assert numbers["learnt"] == pytest.approx((0.8 + 0.6 + 1.0 + 0.5) / 4)
    assert numbers["lost"] == pytest.approx((1.0 - 0.5 + 0.0) / 2)
    assert (numbers["dormant"], numbers["norm"], numbers["moved"]) == (0.5, 1e30, 2.0)


def run(seed, **kept):
    """A run with two points of each method, whose scores are given."""
    records = [
        {
            "kind": "cell",
            "method": name.replace("_", "-"),
            "problem": "split",
            "visit": 20,
            "look": 20,
            "points": [
                {**dict.fromkeys(digits_claims.MEASURES, 0.0), "strength": 1.0, "rate": rate}
                | {"kept": score, "curve": [0.0, score]}
                for rate, score in zip((0.1, 0.2), both, strict=True)
            ],
        }
        for name, both in kept.items()
    ]
    return RunData("methods", seed, records, 1.0)


@pytest.fixture
def compared():
    """The chain's second point is best in tuning and, later, worse than the control."""
    tuning = [run(seed, benna_fusi=(0.1, 0.9), control=(0.5, 0.2)) for seed in (0, 1)]
    judged = [run(seed, benna_fusi=(0.8, 0.3), control=(0.5, 0.9)) for seed in (10, 11, 12)]
    return [*tuning, *judged]


def test_judged_seeds_have_no_say_in_the_tuning(compared):
    cell = digits_claims.tuned(compared)["split", 20]
    assert (cell["benna-fusi"].rate, cell["control"].rate) == (0.2, 0.1)
    kept = {"benna-fusi": 0.3, "control": 0.5}
    expected = {name: dict.fromkeys((10, 11, 12), value) for name, value in kept.items()}
    assert digits_claims.kept(cell) == expected
    assert cell["control"].edge
    table = EXPERIMENT.tables(compared)[1]
    assert [row[2:5] for row in table.rows] == [("1", "control", 0.5), ("2", "benna-fusi", 0.3)]
    metrics = ("forgetting from end", "dormant share", "effective rank", "weight norm")
    assert table.columns[8:13] == (*metrics, "distance moved")
    assert EXPERIMENT.tables(compared)[2].columns[6:9] == ("kept", "learnt", "forgetting from end")
    profiles = EXPERIMENT.tables(compared)[3]
    assert profiles.name == "methods"
    assert [row[:4] for row in profiles.rows] == [
        (name, "kept, split 20", 3, value) for name, value in kept.items()
    ]
    first = EXPERIMENT.claims(compared)[0]
    assert first.holds is False
    assert first.measured == "split 20: -0.200 [-0.200, -0.200]"


def test_a_seed_under_way_is_compared_where_both_have_it(compared):
    under_way = [*compared, run(13, control=(0.5, 0.1)), run(14, control=(0.5, 0.1))]
    assert EXPERIMENT.claims(under_way)[0] == EXPERIMENT.claims(compared)[0]


def test_nothing_is_judged_by_tuning_seeds_alone(compared, tmp_path):
    tuning = compared[:2]
    assert all(finding.holds is None for finding in EXPERIMENT.claims(tuning))
    assert EXPERIMENT.figures(tuning, tmp_path) == []
    assert [table.name for table in EXPERIMENT.tables(tuning)] == ["summary", "points"]


def test_figures_plot_the_ranking(plotted, compared, tmp_path):
    assert len(EXPERIMENT.figures(compared, tmp_path)) == 2
    axes = plotted["ranking"].axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["benna-fusi", "control"]
    assert [line.get_xdata()[0] for line in axes.lines] == [0.3, 0.5]


def test_courses_are_means_over_judged_seeds_at_the_chosen_point(plotted, tmp_path):
    """The chain and Adam alone, whatever they keep, then the three best of the others."""
    others = {"upgd": 0.9, "online_ewc": 0.8, "redo": 0.7, "l2_init": 0.6}
    tuning = [
        run(seed, benna_fusi=(0.1, 0.9), control=(0.5, 0.2), **dict.fromkeys(others, (1.0, 0.0)))
        for seed in (0, 1)
    ]
    judged = [
        run(
            seed,
            benna_fusi=(1.0, 0.3 + more),
            control=(0.2 + more, 1.0),
            **{name: (score, 0.0) for name, score in others.items()},
        )
        for seed, more in ((10, -0.1), (11, 0.0), (12, 0.1))
    ]
    EXPERIMENT.figures([*tuning, *judged], tmp_path)
    (axes,) = plotted["courses"].axes
    drawn = {line.get_label(): line.get_xydata() for line in axes.lines}
    expected = {"benna-fusi": 0.3, "control": 0.2, "upgd": 0.9, "online-ewc": 0.8, "redo": 0.7}
    assert list(drawn) == list(expected)
    for name, end in expected.items():
        np.testing.assert_allclose(drawn[name], [[0, 0], [1, end]])
    assert axes.get_title() == "split, 20 updates a visit"
    colours = [line.get_color() for line in axes.lines]
    assert colours == [digits_figures.STYLES[name].colour for name in expected]


def test_ranks_that_overlap_are_ties():
    samples = {"a": [1, 3], "b": [2, 4], "c": [9, 9], "d": [0, 0]}
    found = ranking.places({name: dict(enumerate(scores)) for name, scores in samples.items()})
    assert [(place.name, place.first, place.last) for place in found] == [
        ("c", 1, 1),
        ("b", 2, 3),
        ("a", 2, 3),
        ("d", 4, 4),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": ("ewc",)}, "methods: unknown 'ewc'"),
        ({"methods": ()}, "methods=()"),
        ({"visits": (30,)}, r"visits=\(30,\)"),
        ({"batch": 0}, "batch=0"),
    ],
)
def test_settings_that_cannot_be_meant(change, message):
    with pytest.raises(ValueError, match=message):
        DigitsSettings(**change)


@pytest.mark.parametrize("name", ["lookahead", "hare-and-tortoise"])
def test_no_period_is_endless(name):
    with pytest.raises(ValueError, match=r"strength=0.0: must be above 0, it is 1/period"):
        METHODS[name].around(Given(optax.sgd(0.1), jax.random.key(0)), 0.0)
