"""A folder may come from a stranger: nothing outside it is touched, and nothing is waited for."""

import math
import os
import threading
import time

import pytest

from bennafusi import files


def test_a_link_is_replaced_and_what_it_leads_to_is_not(tmp_path):
    outside, path = tmp_path / "outside", tmp_path / "inside" / "file.json"
    outside.write_text("mine")
    path.parent.mkdir()
    path.symlink_to(outside)
    path.with_name("file.json.part").symlink_to(outside)
    path.with_name(".file.json.part").symlink_to(outside)
    files.replace(path, b"ours")
    assert outside.read_text() == "mine"
    assert not path.is_symlink()
    assert path.read_bytes() == b"ours"


def test_two_writers_share_no_file_and_nothing_is_left(tmp_path):
    path = tmp_path / "file.json"
    contents = [bytes([n]) * 20_000 for n in range(8)]

    def often(content):
        for _ in range(20):
            files.replace(path, content)

    threads = [threading.Thread(target=often, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert os.listdir(tmp_path) == ["file.json"]


def test_what_fails_halfway_leaves_the_old_file(tmp_path):
    path = tmp_path / "figure.png"
    files.replace(path, b"old")

    def fail():
        with files.making(path) as partial:
            assert partial.suffix == ".png"
            partial.write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["figure.png"]


def test_what_a_killed_writer_left_is_cleaned_and_nothing_else(tmp_path):
    path = tmp_path / "status.json"
    for name in ("notes.part.txt", "status.json", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / ".status.json.0a1b2c3d.part.json").touch()
    files.own_folder(tmp_path)
    assert len(os.listdir(tmp_path)) == 4, "somebody may still write to it"
    os.utime(tmp_path / ".status.json.0a1b2c3d.part.json", (time.time() - 7200,) * 2)
    files.own_folder(tmp_path)
    assert len(os.listdir(tmp_path)) == 3
    (tmp_path / ".status.json.0a1b2c3d.part.json").touch()
    files.clean(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".hidden", "notes.part.txt", "status.json"]
    files.replace(path, b"{}")


@pytest.mark.parametrize("kind", ["fifo", "folder", "link", "device"])
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_APPEND | os.O_CREAT])
def test_only_plain_files_are_opened(tmp_path, kind, flags):
    path = tmp_path / "file"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "device" else tmp_path / "other")
    with pytest.raises(OSError, match=r"not a file|symbolic link|No such device|Is a directory"):
        files.descriptor(path, flags)
    assert not (tmp_path / "other").exists()


def test_a_device_is_no_file():
    with pytest.raises(OSError, match="is a device, not a file"):
        files.read(files.Path("/dev/zero"), 10)


def test_a_linked_folder_is_refused(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "numbers").symlink_to(tmp_path / "outside")
    with pytest.raises(files.StorageError, match="symbolic link"):
        files.own_folder(tmp_path / "numbers")


def test_a_document_has_an_end(tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(b"1" * 100)
    with pytest.raises(OSError, match="has 100 bytes, and at most 10 can be read"):
        files.read(path, 10)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f'{{"seconds": 1{"0" * 400}}}', "seconds"),
        ('{"a": {"b": [0, {"c": 1e400}]}}', r"a\.b\[1\]\.c"),
        ('{"a": -1e+999}', "a"),
        (f'{{"a": {2**63}}}', "a"),
        (f'{{"a": {-(2**63) - 1}}}', "a"),
        (f'{{"a": {"9" * 5000}}}', "a"),
        (f"1{'0' * 400}.5", "the document"),
    ],
)
def test_numbers_that_64_bits_cannot_hold_are_errors_by_their_field(text, name):
    with pytest.raises(ValueError, match=f"^{name}: a number beyond"):
        files.parse(text.encode())


@pytest.mark.parametrize(
    "number", [2**63 - 1, -(2**63), 0.1, 1.2345678901234567e-05, 1.7976931348623157e308, 5e-324]
)
def test_all_others_come_back_as_they_were(number):
    back = files.parse(files.dump({"x": [number, "1e999", "9" * 30]}))["x"]
    assert back[0] == number
    assert type(back[0]) is type(number)
    assert math.copysign(1, back[0]) == math.copysign(1, number)
