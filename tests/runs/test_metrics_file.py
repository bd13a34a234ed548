import os

import numpy as np
import pytest

from bennafusi.files import RunError, StorageError
from bennafusi.runs.metrics_file import BadRecordError, Metrics, Offset, Written, encode, fault


def test_what_lies_beyond_the_checkpoint_is_cut_off(tmp_path):
    path = tmp_path / "metrics.jsonl"
    writer = Metrics(path, Offset())
    writer.append([{"a": 1}, {"a": 2}])
    offset = writer.sync()
    writer.append([{"a": 3}])
    writer.close()
    assert offset.lines == 2
    again = Metrics(path, offset)
    again.append([{"a": 4}])
    assert again.sync().lines == 3
    again.close()
    assert Written(path).records() == [{"a": 1}, {"a": 2}, {"a": 4}]
    assert fault(path, offset) is None


def test_a_torn_last_line_is_left_out_and_any_other_is_an_error(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert Written(path).records() == []
    path.write_bytes(b'{"a":1}\n{"a":2')
    assert Written(path).records() == [{"a": 1}]
    for bad in (b'{"a":\n', b"[1]\n", b'{"a":NaN}\n', b"\xff\n", b"\n"):
        path.write_bytes(b'{"a":1}\n' + bad + b'{"a":3}\n')
        with pytest.raises(RunError, match="line 2"):
            Written(path).records()


def test_lost_or_changed_lines_are_noticed(tmp_path):
    path = tmp_path / "metrics.jsonl"
    writer = Metrics(path, Offset())
    writer.append([{"a": 1}])
    offset = writer.sync()
    writer.close()
    path.write_bytes(b'{"a":2}\n')
    assert "no longer" in fault(path, offset) == Written(path).fault(offset)
    path.write_bytes(b"")
    assert "has 0 bytes, and 8" in fault(path, offset) == Written(path).fault(offset)
    path.unlink()
    assert "cannot be read" in fault(path, offset)
    path.touch()
    os.truncate(path, 2**40)
    assert "more than a run writes" in fault(path, offset._replace(bytes=2**40))
    path.unlink()
    assert fault(path, Offset()) is None


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"loss": float("nan")}, "record.loss is nan"),
        ({"q": {"v": [0.0, float("inf")]}}, r"record.q.v\[1\] is inf"),
        ({"x": np.float32(1)}, "record.x is a float32: make it a plain number"),
        ({"x": {1, 2}}, "record.x is a set"),
    ],
)
def test_records_are_plain_json_or_named(record, message):
    with pytest.raises(BadRecordError, match=message):
        encode(record)


def test_a_bad_record_writes_no_part_of_its_chunk(tmp_path):
    writer = Metrics(tmp_path / "metrics.jsonl", Offset())
    with pytest.raises(BadRecordError):
        writer.append([{"a": 1}, {"a": float("nan")}])
    assert writer.sync() == Offset()
    writer.close()


def test_a_file_replaced_under_the_writer_is_noticed(tmp_path):
    path = tmp_path / "metrics.jsonl"
    writer = Metrics(path, Offset())
    path.unlink()
    with pytest.raises(StorageError, match="is gone"):
        writer.sync()
    path.touch()
    with pytest.raises(StorageError, match="was replaced"):
        writer.sync()
    writer.close()
