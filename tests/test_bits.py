"""The comparison by which a change shows that it moved no number."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "tools" / "bits.py"


@pytest.fixture(scope="module")
def main():
    spec = importlib.util.spec_from_file_location("bits", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def written(root, **contents):
    for run, text in contents.items():
        (root / run).mkdir(parents=True)
        (root / run / "metrics.jsonl").write_text(text)
    return str(root)


def test_the_same_bytes_are_the_same_and_one_digit_is_not(main, tmp_path, capsys):
    one = written(tmp_path / "one", a='{"x":1}\n{"x":2}\n', b="{}\n")
    same = written(tmp_path / "same", a='{"x":1}\n{"x":2}\n', b="{}\n")
    assert main([one, same]) == 0
    assert capsys.readouterr().out.strip() == "2 of 2 files of records are the same"
    other = written(tmp_path / "other", a='{"x":1}\n{"x":2.0}\n', b="{}\n")
    assert main([one, other]) == 1
    said = capsys.readouterr().out
    assert "a/metrics.jsonl: line 2:" in said
    assert '{"x":2.0}' in said


def test_a_kind_of_record_may_be_left_out(main, tmp_path, capsys):
    one = written(tmp_path / "one", a='{"kind":"test","x":1}\n')
    more = written(tmp_path / "more", a='{"kind":"games"}\n{"kind":"test","x":1}\n')
    assert main([one, more]) == 1
    assert main([one, more, "--without", "games"]) == 0
    other = written(tmp_path / "other", a='{"kind":"games"}\n{"kind":"test","x":1.0}\n')
    assert main([one, other, "--without", "games"]) == 1
    assert '"x":1.0' in capsys.readouterr().out


def test_a_run_that_is_missing_or_cut_short_and_nothing_at_all_are_no_agreement(
    main, tmp_path, capsys
):
    one = written(tmp_path / "one", a="{}\n", b="{}\n")
    fewer = written(tmp_path / "fewer", a="{}")
    assert main([one, fewer]) == 1
    said = capsys.readouterr().out
    assert "a/metrics.jsonl: line 2:" in said
    assert f"b/metrics.jsonl: only in {one}" in said
    assert main([str(tmp_path / "no"), str(tmp_path / "where")]) == 1
