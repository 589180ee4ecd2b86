"""The checksum in JSON files of dataprep's state."""

import json

import orjson
import pytest

from dataprep.errors import CorruptShard
from dataprep.store import files
from dataprep.store.checksum import checked, stamped

STATE = {"docs": 12, "name": "a\u00e9", "parts": [1, 2], "rate": 0.25}


def test_every_changed_byte_is_noticed(tmp_path):
    """Any other value of a low or high bit, at any place, is an error; the file itself is read as it was written."""
    url = str(tmp_path / "a.json")
    files.write_state(url, STATE)
    assert files.read_json(url) == STATE
    whole = (tmp_path / "a.json").read_bytes()
    for at in range(len(whole) - 1):  # the last byte is the end of the line
        for bit in (1, 2, 64):
            data = whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :]
            with pytest.raises(ValueError, match="."):
                checked(data, orjson.loads(data))
    (tmp_path / "a.json").write_bytes(whole.replace(b"12", b"13"))
    with pytest.raises(CorruptShard, match=r"a.json must be JSON .* \(its bytes are not .*\); remove it and run again"):
        files.read_json(url)


@pytest.mark.parametrize("value", [3, [], {}, STATE, {"checksum": 4}, {"a": {"checksum": "b"}}, "{"], ids=str)
def test_files_without_it_are_read(tmp_path, value):
    """As earlier versions and other programs wrote them."""
    files.write_json(str(tmp_path / "a.json"), value)
    assert files.read_json(str(tmp_path / "a.json")) == value
    for text in (json.dumps(value), json.dumps(value, indent=1)):
        assert checked(text.encode(), value) == value


def test_other_spaces_around_a_checksum_are_a_change():
    """A file that another program wrote again is not the one that dataprep wrote."""
    data = stamped(json.dumps(STATE, indent=1).encode())
    assert checked(data, json.loads(data)) == STATE
    with pytest.raises(ValueError, match="its bytes are not those"):
        checked(json.dumps(json.loads(data)).encode(), json.loads(data))
