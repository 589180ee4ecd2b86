from __future__ import annotations

import json
import os
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.errors import PlanError, ReadError
from dataprep.store import beside
from dataprep.tokens.shards.export import export
from dataprep.tokens.shards.import_tokens import import_tokens
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.shards.verify import verify_shards
from dataprep.tokens.shards.writer import save
from killed import bytes_of, kills

DOCS = {"train": [[1, 2, 3], [4], []], "val": [[7, 8]]}
MASKS = {"train": [[0, 1, 1, 0], [1, 1], [0]], "val": [[1, 1, 1]]}


@pytest.fixture
def shards(tmp_path):
    """Four documents, in two train shards and one val shard; 9 is the separator."""
    return save(tmp_path / "s", DOCS, vocab_size=10, eot=9, shard_tokens=6, masks=MASKS)


def ints(path, dtype="<u2"):
    return np.fromfile(path, dtype).tolist()


def test_llmc(shards, tmp_path):
    """Golden bytes: 256 int32 of header, then each document behind its separator; two bytes a token."""
    made = export(shards, "llmc", tmp_path / "e")
    assert [os.path.basename(p) for p in made] == ["train_000000.bin", "train_000001.bin", "val_000000.bin"]
    data = (tmp_path / "e" / "train_000000.bin").read_bytes()
    assert data[:1024] == struct.pack("<3i", 20240520, 1, 6) + bytes(1012)
    assert np.frombuffer(data[1024:], "<u2").tolist() == [9, 1, 2, 3, 9, 4]
    assert (tmp_path / "e" / "train_000001.bin").read_bytes()[1024:] == struct.pack("<H", 9)
    assert ints(tmp_path / "e" / "val_000000.bin")[512:] == [9, 7, 8]


def test_llmc_uint32(tmp_path):
    """The variant of llm.c's Llama 3: another magic, version 7, four bytes a token."""
    shards = save(tmp_path / "s", {"train": [[70_000]]}, vocab_size=100_000, eot=99_999, dtype="uint32")
    (path,) = export(shards, "llmc", tmp_path / "e")
    data = np.fromfile(path, "<i4").tolist()
    assert (data[:3], data[256:]) == ([20240801, 7, 2], [99_999, 70_000])


def test_megatron(shards, tmp_path):
    """Golden bytes of the index: magic, version, type code, counts, lengths, byte offsets, document bounds."""
    made = export(shards, "megatron", tmp_path / "e")
    assert [os.path.basename(p) for p in made] == [
        "train_document.bin", "train_document.idx", "val_document.bin", "val_document.idx",
    ]  # fmt: skip
    assert ints(made[0]) == [1, 2, 3, 9, 4, 9, 9]
    expected = b"MMIDIDX\0\0" + struct.pack("<QBQQ3i3q4q", 1, 8, 3, 4, 4, 2, 1, 0, 8, 12, 0, 1, 2, 3)
    assert (tmp_path / "e" / "train_document.idx").read_bytes() == expected


def test_datatrove(shards, tmp_path):
    """The tokens, uint64 ends, a mask of one byte a token, and three lines of metadata."""
    made = export(shards, "datatrove", tmp_path / "e")
    first = str(tmp_path / "e" / "train-00000.ds")
    assert made[:4] == [first, first + ".index", first + ".metadata", first + ".loss"]
    assert ints(first) == [1, 2, 3, 9, 4, 9]
    assert ints(first + ".index", "<u8") == [4, 6]
    assert ints(first + ".loss", np.uint8) == [0, 1, 1, 0, 1, 1]
    assert (tmp_path / "e" / "train-00000.ds.metadata").read_bytes() == b"Unknown Tokenizer|2\n6\n6 T"


def test_nanogpt(shards, tmp_path, caplog):
    """Bare uint16, all shards of a side in one file; that masks are left out is said."""
    made = export(shards, "nanogpt", tmp_path / "e")
    assert [ints(path) for path in made] == [[1, 2, 3, 9, 4, 9, 9], [7, 8, 9]]
    assert "masks" in caplog.text


def test_what_is_written_is_not_written_again(shards, tmp_path):
    """A second export finds its files; one that was cut short is made again; other tokens replace them."""
    (path, *_) = export(shards, "nanogpt", tmp_path / "e")
    os.utime(path, (1, 1))
    assert os.stat(export(shards, "nanogpt", tmp_path / "e")[0]).st_mtime == 1
    with open(path, "r+b") as f:
        f.truncate(3)
    assert ints(export(shards, "nanogpt", tmp_path / "e")[0]) == [1, 2, 3, 9, 4, 9, 9]
    others = save(tmp_path / "o", {"train": [[5] * 6]}, vocab_size=10, eot=9)
    assert ints(export(others, "nanogpt", tmp_path / "e", runner=laws.TWO)[0]) == [5, 5, 5, 5, 5, 5, 9]


@pytest.mark.parametrize("form", ["llmc", "datatrove", "megatron", "nanogpt"])
def test_nothing_of_an_earlier_export_stays(tmp_path, form):
    """Fewer shards into the same folder leave the files of a fresh export: trainers read what matches `train*.bin`."""
    many = save(tmp_path / "m", {"train": [[1] * 5] * 4, "val": [[2]]}, vocab_size=10, eot=9, shard_tokens=6)
    few = save(tmp_path / "f", {"train": [[3]]}, vocab_size=10, eot=9)
    export(many, form, tmp_path / "e")
    other = export(many, "nanogpt" if form == "llmc" else "llmc", tmp_path / "e")
    (tmp_path / "e" / "receipts" / form / ".DS_Store").write_bytes(b"\0\1Bud")  # Finder and Explorer write these
    (tmp_path / "e" / "receipts" / form / "Thumbs.db").write_bytes(b"\xd0\xcf")
    export(few, form, tmp_path / "e")
    fresh = export(few, form, tmp_path / "fresh")
    left = {p.name for p in (tmp_path / "e").iterdir() if p.is_file()} - {os.path.basename(p) for p in other}
    left.remove(".dataprep-journal")
    assert left == {os.path.basename(p) for p in fresh}
    assert all(os.path.exists(p) for p in other)


def test_forms_that_are_refused(shards, tmp_path, dataprep):
    """An unknown form, or the shards' own folder as target."""
    with pytest.raises(PlanError, match="to='gguf' must be one of llmc, megatron, datatrove, nanogpt"):
        export(shards, "gguf", tmp_path / "e")
    with pytest.raises(PlanError, match="another folder"):
        export(shards, "nanogpt", shards.path)
    code, _, err = dataprep("export", shards.path, "--to", "gguf", "--out", tmp_path / "e")
    assert (code, "--to 'gguf' must be one of" in err) == (1, True)


@pytest.mark.parametrize("form", ["nanogpt", "llmc"])
def test_round_trip(tok, tmp_path, form):
    """What is exported and imported again has the same documents, empty ones at the end included."""
    texts = {"train": ["the rain", "", "north", ""], "val": ["", "雨"]}
    docs = {side: [tok.encode(t) for t in found] for side, found in texts.items()}
    shards = save(tmp_path / "s", docs, vocab_size=tok.vocab_size, eot=tok.eot, token_bytes=tok.token_bytes)
    export(shards, form, tmp_path / "e")
    back = import_tokens(tmp_path / "e", tok, tmp_path / "b")
    for side, found in texts.items():
        mine = back.split(side)
        assert [tok.decode(mine.document(k)) for k in range(len(mine))] == found
    assert back.n_bytes == shards.n_bytes
    assert verify_shards(tmp_path / "b") == []
    assert back.manifest.imported[0]["form"] == form


def test_import_finds_the_tokenizer_of_the_files(tok, tmp_path, dataprep, caplog):
    """The tokenizer.json next to the ids is the default, another one is rejected; a file without separator warns."""
    shards = save(
        tmp_path / "s", {"train": [tok.encode("rain"), tok.encode("north")]},
        vocab_size=tok.vocab_size, eot=tok.eot, token_bytes=tok.token_bytes,
    )  # fmt: skip
    export(shards, "nanogpt", tmp_path / "e")
    with pytest.raises(PlanError, match=r"no tokenizer.json next to .*train.bin; pass the tokenizer that made its ids"):
        import_tokens(tmp_path / "e", None, tmp_path / "b")
    tok.save(tmp_path / "e")
    other = dp.Tokenizer.from_merges([])
    other.save(tmp_path / "other")
    code, _, err = dataprep("import", tmp_path / "e", "--tokenizer", tmp_path / "other", "--out", tmp_path / "b")
    assert (code, "differs from the tokenizer given" in err) == (1, True)
    assert not (tmp_path / "b").exists()
    code, out, _ = dataprep("import", tmp_path / "e", "--out", tmp_path / "b")
    assert (code, "2 documents" in out) == (0, True)
    assert import_tokens(tmp_path / "e", tok, tmp_path / "c").n_tokens == shards.n_tokens
    assert "separator" not in caplog.text
    np.array([1, 2, 3], "<u2").tofile(tmp_path / "train.bin")
    assert len(import_tokens(tmp_path / "train.bin", other, tmp_path / "d")) == 1
    assert "has no separator" in caplog.text


@settings(max_examples=40)  # each writes files
@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 12), st.booleans())
def test_import_is_its_plain_twin(tmp_path_factory, ids, limit, has_header):
    """Whatever the ids: split at the separator as str.split does it, cut into shards of at most `limit`."""
    home = tmp_path_factory.mktemp("i")
    tok = dp.Tokenizer.from_merges([])
    letters = [tok.eot if i == 9 else i for i in ids]
    header = np.zeros(256, "<i4")
    header[:3] = (20240520, 1, len(letters))
    (home / "train.bin").write_bytes((header.tobytes() if has_header else b"") + np.array(letters, "<u2").tobytes())
    expected = "".join(map(str, ids)).split("9")
    if ids and has_header and ids[0] == 9:
        expected = expected[1:]
    elif not ids or ids[-1] == 9:
        expected = expected[:-1]
    back = import_tokens(home, tok, home / "s", shard_tokens=limit)
    assert ["".join(map(str, back.document(k).tolist())) for k in range(len(back))] == expected
    assert all(s.tokens <= limit or s.documents == 1 for s in back.shards)
    assert verify_shards(home / "s") == []


def test_import_says_where_a_document_was(tok, tmp_path):
    """Its id is the file's number and the token it begins at; another separator becomes <|endoftext|>."""
    np.array([1, 2, 0, 3, 0, 4], "<u2").tofile(tmp_path / "train.bin")
    np.array([5, 0], "<u2").tofile(tmp_path / "my_val_1.bin")
    shards = import_tokens(tmp_path, tok, tmp_path / "s", eot=0)
    found = [shards.provenance(k) for k in range(len(shards))]
    assert [(d.id >> 40, d.id & 0xFFFF, d.source, d.split) for d in found] == [
        (0, 0, "train", "train"), (0, 3, "train", "train"), (0, 5, "train", "train"), (1, 0, "my_val_1", "val"),
    ]  # fmt: skip
    assert [shards.document(k).tolist() for k in range(4)] == [[1, 2], [3], [4], [5]]
    assert shards.memmaps()[0].tolist() == [1, 2, tok.eot, 3, tok.eot, 4, tok.eot]


def test_import_of_what_cannot_be(tok, tmp_path, dataprep):
    """Another tokenizer's ids, a file cut short, a header that lies, no file: one sentence each."""
    bin_ = tmp_path / "train.bin"
    np.array([1, 60_000], "<u2").tofile(bin_)
    with pytest.raises(ReadError, match="token 1 is 60,000, but the tokenizer has only 586 ids; pass the tokenizer"):
        import_tokens(tmp_path, tok, tmp_path / "s")
    bin_.write_bytes(b"\1\0\2")
    with pytest.raises(ReadError, match="has 3 bytes, not a whole number of uint16 ids"):
        import_tokens(bin_, tok, tmp_path / "s")
    bin_.write_bytes(struct.pack("<3i", 20240520, 1, 50) + bytes(1012) + bytes(40))
    with pytest.raises(ReadError, match="its header states 50 tokens"):
        import_tokens(bin_, tok, tmp_path / "s")
    (tmp_path / "none").mkdir()
    tok.save(tmp_path / "t")
    code, _, err = dataprep("import", tmp_path / "none", "--tokenizer", tmp_path / "t", "--out", tmp_path / "s")
    assert (code, "has no .bin file" in err) == (1, True)
    with pytest.raises(PlanError, match="'dev' must be one of train, val, test"):
        import_tokens({"dev": str(bin_)}, tok, tmp_path / "s")


def test_gpt2_counts_of_tinyshakespeare(shared, tmp_path):
    """Its 90/10 split through dp.encode and the nanoGPT form: 301,966 and 36,059 tokens, nanoGPT's own numbers."""
    folder = shared / "tokens" / "gpt2-bpe"
    gpt2 = dp.Tokenizer.from_files(str(folder / "encoder.json"), str(folder / "vocab.bpe"))
    text = (shared / "text" / "tinyshakespeare" / "input.txt").read_text(encoding="utf-8")
    cut = int(len(text) * 0.9)
    for name, part in (("train", text[:cut]), ("val", text[cut:])):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"text": part}))
        dp.encode(dp.read(str(tmp_path / f"{name}.jsonl")), gpt2, out=tmp_path / name, val=0)
        (path, _) = export(tmp_path / name, "nanogpt", tmp_path / f"{name}-bin")
        ids = np.fromfile(path, "<u2")
        assert (len(ids) - 1, ids[-1]) == ({"train": 301_966, "val": 36_059}[name], gpt2.eot)
        assert np.array_equal(ids[:-1], gpt2.encode(part))
    back = import_tokens({"train": path}, gpt2, tmp_path / "back")
    assert (len(back), back.n_tokens, back.n_bytes) == (1, 36_060, len(text[cut:].encode()))
    assert Shards.open(tmp_path / "back").n_tokens == 36_060


@pytest.mark.parametrize("form", ["llmc", "datatrove", "megatron", "nanogpt"])
def test_a_killed_export_leaves_the_old_files_until_all_new_ones_are_complete(shards, tmp_path, monkeypatch, form):
    """Killed at each rename and deletion: until the list of new files is written, no old file has changed."""
    out, seen = tmp_path / "out", set()
    others = save(tmp_path / "o", {"train": [[5] * 5, [6] * 5], "val": [[3]]}, vocab_size=10, eot=9, shard_tokens=6)
    export(shards, form, tmp_path / "old")
    export(others, form, tmp_path / "new")
    old, new = (bytes_of(tmp_path / name) for name in ("old", "new"))
    for _ in kills(monkeypatch, tmp_path / "old", out, lambda: export(others, form, out), step=2):
        is_ready = (out / "_unfinished" / "ready.json").exists()
        beside.recover(out)
        found = {name: data for name, data in bytes_of(out).items() if not name.startswith("_unfinished")}
        assert found in (old, new)
        assert not is_ready or found == new
        seen.add(found == new)
        export(others, form, out)
        assert bytes_of(out) == new
    assert seen == {False, True}
