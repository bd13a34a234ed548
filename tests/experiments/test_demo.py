"""The demo: two agents that differ in their chains alone, at the length that two minutes allow."""

from bennafusi.experiments.deep import demo, table_s2
from bennafusi.experiments.registry import find, names
from bennafusi.runs.config import flat, to_json


def test_the_agents_differ_in_their_chains_alone():
    assert names()[0] == "demo"  # the first that a stranger reads of
    one, two = (
        flat(to_json(find("demo").settings_of(name, demo.settings("quick"))))
        for name in ("benna-fusi", "control-1e-3")
    )
    differ = {field: (one[field], two[field]) for field in one if one[field] != two[field]}
    assert differ == {"chain.n": (30, 1)}
    assert one["optimizer.eps"] == 1e-4
    assert one["agent.loss"] == "all"
    assert demo.EXPERIMENT.seeds == 1


def test_but_for_epsilon_it_is_the_papers_table():
    ours, paper = (flat(to_json(s("paper"))) for s in (demo.settings, table_s2.online))
    assert {name for name in ours if ours[name] != paper[name]} == {"optimizer.eps"}


def test_a_look_has_pictures_and_no_claims(call, tmp_path):
    words = ["--scale", "smoke", "--variants", "control-1e-3", "--out", "there"]
    result = call("run", "demo", *words)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-2:] == [
        "demo: no claims (smoke, 1 seed)",
        "report: there/report.html",
    ]
    assert (tmp_path / "there/demo/figures/demo.png").exists()
    assert call("claims", "there").stdout == "demo: no claims\n"
