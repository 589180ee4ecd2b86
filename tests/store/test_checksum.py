"""The checksum in JSON files of dataprep's state."""

import json

import orjson
import pytest

from dataprep.errors import CorruptShard
from dataprep.store import atomic, files
from dataprep.store.checksum import checked, stamped

STATE = {"docs": 12, "name": "a\u00e9", "parts": [1, 2], "rate": 0.25}


def test_every_changed_byte_is_noticed(tmp_path):
    """Any other value of a low or high bit, at any place, is an error; the file itself is read as it was written."""
    url = str(tmp_path / "a.json")
    files.write_state(url, STATE)
    assert files.read_state(url) == files.read_json(url) == STATE
    whole = (tmp_path / "a.json").read_bytes()
    for at in range(len(whole) - 1):  # the last byte is the end of the line
        for bit in (1, 2, 64):
            data = whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :]
            with pytest.raises(ValueError, match="."):
                checked(data, orjson.loads(data), required=True)
    (tmp_path / "a.json").write_bytes(whole.replace(b"12", b"13"))
    says = r"a.json must be JSON .* \(its content has changed .*\); remove it and run again"
    with pytest.raises(CorruptShard, match=says):
        files.read_json(url)


@pytest.mark.parametrize("value", [3, [], {}, STATE, {"checksum": 4}, {"a": {"checksum": "b"}}, "{"], ids=str)
def test_files_of_other_programs_have_no_checksum(tmp_path, value):
    """They are read as JSON, but not as state that dataprep wrote."""
    url = str(tmp_path / "a.json")
    files.write_json(url, value)
    assert files.read_json(url) == value
    with pytest.raises(CorruptShard, match=r"a.json must be JSON that dataprep wrote"):
        files.read_state(url)
    for text in (json.dumps(value), json.dumps(value, indent=1)):
        assert checked(text.encode(), value) == value


def test_other_spaces_around_a_checksum_are_a_change():
    """A file that another program wrote again is not the one that dataprep wrote."""
    data = stamped(json.dumps(STATE, indent=1).encode())
    assert checked(data, json.loads(data)) == STATE
    with pytest.raises(ValueError, match="its content has changed"):
        checked(json.dumps(json.loads(data)).encode(), json.loads(data))


def test_every_changed_byte_of_a_journal_is_noticed(tmp_path):
    """Any other value of any bit: the line is not used, and no other; a new line after it is whole."""
    names = ["data/part-00000-000.parquet", 'a \u00e9\n"b" 0123abcd', "c"]
    for name in names:
        files.write_bytes(str(tmp_path / name), b"x")
    atomic.begin_journal(str(tmp_path), names[:2])
    atomic.note(str(tmp_path / "later"))
    journal = tmp_path / atomic.JOURNAL
    whole, listed = journal.read_bytes(), atomic.journaled(str(journal))
    assert listed == {str(tmp_path / name) for name in (*names[:2], "later")}
    assert atomic.n_damaged(str(journal)) == 0
    for at, byte in enumerate(whole):
        for bit in (1, 2, 64):
            journal.write_bytes(whole[:at] + bytes([byte ^ bit]) + whole[at + 1 :])
            found = atomic.journaled(str(journal))
            assert found < listed or (found == listed and byte == 10), whole[at:]
            assert atomic.n_damaged(str(journal)) or found == listed
    journal.write_bytes(whole[:20])
    atomic.note(str(tmp_path / "later"))
    assert atomic.journaled(str(journal)) == {str(tmp_path / "later")}


def test_lines_of_a_journal_without_a_checksum_are_damaged(tmp_path):
    """They are not used; those around them are."""
    (tmp_path / atomic.JOURNAL).write_text('"a"\n\n"b 01234567"\n')
    atomic.note(str(tmp_path / "c"))
    assert atomic.journaled(str(tmp_path / atomic.JOURNAL)) == {str(tmp_path / "c")}
    assert atomic.n_damaged(str(tmp_path / atomic.JOURNAL)) == 2
