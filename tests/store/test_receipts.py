"""Receipts: finished work is done once, and only what is really there counts as finished."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dataprep.errors import CorruptShard
from dataprep.store import files, receipts


def work(home, calls, texts=("one", "two")):
    """Write a file per text, and return what a receipt states."""

    def make():
        calls.append(1)
        urls = [files.join(home, "data", f"{n}.txt") for n in range(len(texts))]
        for url, text in zip(urls, texts, strict=True):
            files.write_bytes(url, text.encode())
        return {"files": urls, "count": len(texts)}

    return make


@pytest.fixture
def done(tmp_path):
    """A folder, the URL of a receipt in it, and what the receipt states."""
    home = str(tmp_path / "home")
    receipt = files.join(home, "receipts", "a.json")
    return home, receipt, receipts.once(receipt, "key", work(home, []))


def test_work_is_done_once(done):
    """The second call reads the receipt: key, results, and name, size and hash of each file, relative to it."""
    home, receipt, record = done
    calls = []
    assert receipts.once(receipt, "key", work(home, calls)) == record == files.read_json(receipt)
    assert not calls
    receipts.restate(receipt, files.join(home, "data", "of_another.txt"))
    assert files.read_json(receipt) == record
    assert record["key"] == "key"
    assert record["count"] == 2
    assert [file["name"] for file in record["files"]] == ["../data/0.txt", "../data/1.txt"]
    assert [file["size"] for file in record["files"]] == [3, 3]
    hashes = [files.content_hash(files.join(home, "data", name)) for name in ("0.txt", "1.txt")]
    assert [file["hash"] for file in record["files"]] == hashes
    assert [receipts.valid(receipt, other) for other in ("", "another", "zzz")] == [None] * 3
    assert receipts.once(receipt, "another", work(home, calls))["key"] == "another"
    assert calls == [1]


def test_work_without_files_is_done_once(tmp_path):
    """A receipt may name no file."""
    receipt = str(tmp_path / "a.json")
    assert receipts.once(receipt, "key", lambda: {"n": 3}) == {"n": 3, "key": "key", "files": []}
    assert receipts.once(receipt, "key", lambda: pytest.fail("done again"))["n"] == 3


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("change", ["missing", "shorter", "longer", "other bytes"])
def test_a_changed_file_is_not_finished_work(done, number, change):
    """Whichever file it is; the work is done again, and the receipt is right after it."""
    home, receipt, record = done
    url = files.join(home, "data", f"{number}.txt")
    assert receipts.valid(receipt, "key") == record
    if change == "missing":
        os.unlink(url)
    else:
        files.write_bytes(url, {"shorter": b"on", "longer": b"ones", "other bytes": b"uno"}[change])
    assert receipts.valid(receipt, "key") is None
    calls = []
    assert receipts.once(receipt, "key", work(home, calls)) == record
    assert calls == [1]
    assert receipts.valid(receipt, "key") == record


@pytest.mark.parametrize("size", [0, 1])
def test_large_remote_files_are_measured(monkeypatch, size):
    """A remote file of SMALL bytes is checked by its hash, one of a byte more by its size only."""
    assert receipts.SMALL == 1 << 20
    monkeypatch.setattr(receipts, "SMALL", 1000)
    home, receipt = "memory://receipts-large", "memory://receipts-large/a.json"
    record = receipts.once(receipt, f"key {size}", work(home, [], ["x" * (1000 + size)]))
    files.write_bytes(files.join(home, "data", "0.txt"), b"y" * (1000 + size))
    assert receipts.valid(receipt, f"key {size}") == (record if size else None)
    files.write_bytes(files.join(home, "data", "0.txt"), b"y" * (999 + size))
    assert receipts.valid(receipt, f"key {size}") is None


@pytest.mark.parametrize("damage", ["none", "file", "gone", "receipt", "no receipt"])
def test_all_whole_finds_any_damage(tmp_path, damage):
    """One changed file of many, or one receipt, is enough."""
    home, found = str(tmp_path), [str(tmp_path / f"{n}.json") for n in range(9)]
    for n, receipt in enumerate(found):
        receipts.once(receipt, "key", work(files.join(home, str(n)), []))
    changed = tmp_path / "6" / "data" / "1.txt" if damage in ("file", "gone") else tmp_path / "6.json"
    if damage in ("file", "receipt"):
        changed.write_bytes(bytes([changed.read_bytes()[0] ^ 1]) + changed.read_bytes()[1:])
    elif damage != "none":
        changed.unlink()
    assert receipts.all_whole({url: receipts.found(url) for url in found}) is (damage == "none")
    assert receipts.all_whole({})


def test_packed_receipts_are_those_that_were_written(done):
    """Under the same URLs; a file of its own is newer; a changed or missing byte is noticed, and costs two at most."""
    home, receipt, record = done
    folder, packed = files.join(home, "receipts"), Path(home, "receipts", receipts.PACKED)
    found = {files.join(folder, f"{n}.json"): {**record, "n": n, "text": '\u0641\n"x\u2028'[: n + 1]} for n in range(4)}
    receipts.pack(folder, {files.name_of(url): one for url, one in found.items()})
    os.unlink(receipt)
    assert list(receipts.all_in(folder).items()) == list(found.items())
    assert receipts.all_whole(receipts.all_in(folder))
    files.write_state(files.join(folder, "1.json"), {**record, "n": 7})
    assert [one["n"] for one in receipts.all_in(folder).values()] == [0, 7, 2, 3]
    os.unlink(files.join(folder, "1.json"))
    data = packed.read_bytes()
    ends = [at for at, byte in enumerate(data) if byte == ord("\n")]
    for at in sorted({*range(0, len(data), 23), *ends}):
        for other in (data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], data[:at]):
            packed.write_bytes(other)
            now = receipts.all_in(folder)
            assert now.pop(str(packed), 0) is None
            assert now.items() <= found.items()
            assert len(now) >= 2 or len(other) < len(data)
    _, *lines = data.split(b"\n")
    packed.write_bytes(b"\n".join([b"5", lines[1], *lines]))  # the receipt of one part twice
    assert receipts.all_in(folder) == found | {str(packed): None}
    with pytest.raises(CorruptShard, match="lines of .*packed.ndjson have changed .*; `dataprep verify DIR --repair"):
        receipts.stated(None, str(packed))


HALF = [b"", b"{", b"[]", b"null", b'{"key": "key"}', b'{"key": "key", "files": [1]}', b'{"key": "key", "files": null}',
        b'{"key": "key", "files": [{"name": "../data/0.txt"}]}']  # fmt: skip


NONE = ({"files": 3}, {"files": 3, "shards": []}, {"files": [7]}, {"files": [{"name": "a"}]}, {"files": []})


@pytest.mark.parametrize("record", NONE)
def test_what_is_no_receipt_is_one_sentence(tmp_path, record):
    """State of another form, and a receipt without a list that is asked for."""
    files.write_state(str(tmp_path / "r.json"), record)
    with pytest.raises(CorruptShard, match=r"r.json must be a receipt that dataprep wrote; remove it and run again"):
        receipts.read(str(tmp_path / "r.json"), "shards")


@pytest.mark.parametrize("content", HALF)
def test_half_a_receipt_is_none(done, content):
    """An empty, cut or foreign file in its place is no receipt, and no error."""
    home, receipt, record = done
    files.write_bytes(receipt, content)
    assert receipts.valid(receipt, "key") is None
    assert receipts.once(receipt, "key", work(home, [])) == record


def test_a_receipt_that_is_removed_while_it_is_read_is_none(tmp_path, monkeypatch):
    """Another process may do that between the question whether it exists and the reading."""
    monkeypatch.setattr(files, "exists", lambda url: True)
    assert receipts.found(str(tmp_path / "a.json")) is None


def test_a_moved_folder_keeps_its_receipts(done, tmp_path):
    """Names are relative to the receipt; on other file systems too."""
    home, receipt, record = done
    os.rename(home, tmp_path / "moved")
    assert receipts.valid(receipt, "key") is None
    assert receipts.valid(receipt.replace("/home/", "/moved/"), "key") == record


def test_a_failure_leaves_no_receipt(tmp_path):
    """What raises is not finished; nothing is written."""
    receipt = str(tmp_path / "a.json")
    with pytest.raises(ZeroDivisionError):
        receipts.once(receipt, "key", lambda: 1 // 0)
    assert os.listdir(tmp_path) == []


def test_receipts_on_other_file_systems():
    """The protocol of a URL stays in front."""
    receipt = "memory://receipts-test/r/a.json"
    record = receipts.once(receipt, "key", work("memory://receipts-test", []))
    assert [file["name"] for file in record["files"]] == ["../data/0.txt", "../data/1.txt"]
    assert receipts.valid(receipt, "key") == record
    files.remove("memory://receipts-test/data/1.txt")
    assert receipts.valid(receipt, "key") is None
