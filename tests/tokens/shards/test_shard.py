from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.core.output.state import TokenizerFile
from dataprep.errors import CorruptShard, PlanError
from dataprep.store.checksum import stamped
from dataprep.tokens.shard_format import token_dtype
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.shards.verify import verify_shards
from dataprep.tokens.shards.writer import Writer, arrange, save

DOCS = {"train": [[1, 2, 3], [4], [], [5] * 20], "val": [[7, 8]]}


@pytest.fixture
def folder(tmp_path):
    """Five documents in three train shards and one val shard."""
    save(tmp_path / "s", DOCS, vocab_size=100, eot=99, shard_tokens=6, token_bytes=[2] * 99 + [0])
    return tmp_path / "s"


def test_documents_come_back(folder):
    """Train first, then val; each without its separator, an empty one as nothing."""
    shards = Shards.open(folder)
    assert [shards.document(k).tolist() for k in range(len(shards))] == [*DOCS["train"], *DOCS["val"]]
    assert shards.document(0).dtype == np.uint16
    assert shards.document(-1).tolist() == [7, 8]
    assert (len(shards), shards.n_tokens, shards.n_bytes) == (5, 31, 52)
    val = shards.split("val")
    assert (len(val), val.n_tokens, val.document(0).tolist()) == (1, 3, [7, 8])
    assert len(Shards.open(folder, split="train")) == 4
    assert len(shards.split("test")) == 0
    with pytest.raises(IndexError):
        shards.document(5)


def test_files_are_plain_uint16(folder):
    """The format others read: no header, little-endian, every document followed by the separator."""
    raw = np.memmap(folder / "train-00000.bin", dtype=np.uint16, mode="r")
    assert raw.tolist() == [1, 2, 3, 99, 4, 99]
    assert np.fromfile(folder / "train-00000.idx", np.uint64).tolist() == [4, 6]
    docs = pq.read_table(folder / "train-00000.docs.parquet").to_pylist()
    assert docs[1] == {"id": 1, "source": "memory", "start": 4, "stop": 5}
    assert (folder / "val-00000.bin").read_bytes() == b"\x07\x00\x08\x00\x63\x00"


def test_memmaps_and_ends(folder):
    """What the trainer reads: a memmap and the document ends of each shard, in order."""
    shards = Shards.open(folder)
    maps = shards.memmaps()
    assert all(isinstance(m, np.memmap) for m in maps)
    assert [m.tolist() for m in maps[:2]] == [[1, 2, 3, 99, 4, 99], [99]]
    assert [shards.ends(i).tolist() for i in range(4)] == [[4, 6], [1], [21], [3]]


def test_pickled_shards_open_again(folder):
    """A Shards travels to a loader's worker as a path, not as its tokens."""
    shards = Shards.open(folder)
    shards.memmaps()
    travelling = pickle.dumps(shards.split("train"))
    assert len(travelling) < 4_000
    assert pickle.loads(travelling).document(3).tolist() == [5] * 20


def test_reading_needs_numpy_only(folder):
    """The trainer's machine has torch and numpy: opening and reading shards imports nothing else."""
    code = (
        "import sys; from dataprep.tokens.shards.shard import Shards; s = Shards.open(sys.argv[1]); "
        "s.document(0); s.token_bytes; "
        "print([m for m in ('pyarrow', 'fsspec', 'tokenizers', 'tiktoken', 'numba', 'orjson') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("train-00000.bin", lambda b: b[:-1], "it has 11 bytes, but the manifest states 12"),
        ("train-00002.idx", lambda _: b"", "it has 0 bytes, but the manifest states 8"),
        ("val-00000.bin", lambda _: None, "it is missing"),
        ("manifest.json", lambda b: b[:50], "is damaged"),
    ],
)
def test_open_refuses_what_is_cut_short(folder, name, change, sentence):
    """A file that is missing or of another size is found when the folder is opened."""
    changed = change((folder / name).read_bytes())
    (folder / name).unlink()
    if changed is not None:
        (folder / name).write_bytes(changed)
    with pytest.raises(CorruptShard, match=sentence):
        Shards.open(folder)


@pytest.mark.parametrize(("name", "at"), [("train-00000.idx", 0), ("val-00000.idx", 7)])
def test_ends_that_do_not_rise_are_found(folder, name, at):
    """A flipped byte in the ends would give documents of any length: whoever reads them is told."""
    data = bytearray((folder / name).read_bytes())
    data[at] ^= 0xFF
    (folder / name).write_bytes(data)
    shards = Shards.open(folder).split(name.partition("-")[0])
    with pytest.raises(CorruptShard, match=f"{name}: its document ends do not increase"):
        shards.document(0)


@pytest.mark.parametrize("data", [None, b"", b"\x93NUMPY\x01\x00 cut", 7, 100])
def test_sizes_of_tokens_that_cannot_be_read(folder, data):
    """`token_bytes.npy` missing, cut short, of another vocabulary or tokenizer: one sentence, not NumPy's."""
    place = folder / "token_bytes.npy"
    if isinstance(data, int):
        np.save(place, np.zeros(data, np.int32))
    elif data is None:
        place.unlink()
    else:
        place.write_bytes(data)
    with pytest.raises(CorruptShard, match=r"token_bytes.npy: it.*; remove manifest.json and make the folder again"):
        _ = Shards.open(folder).token_bytes


def test_masks_lie_beside_their_tokens(tmp_path):
    """One byte a token, where they were given; a shard without says None, and a missing one is found."""
    masks = {side: [[0] * len(d) + [1] for d in docs] for side, docs in DOCS.items()}
    shards = save(tmp_path / "s", DOCS, vocab_size=100, eot=99, shard_tokens=6, masks=masks)
    for tokens, mask in zip(shards.memmaps(), shards.masks(), strict=True):
        assert mask.tolist() == (np.asarray(tokens) == 99).astype(int).tolist()
    assert save(tmp_path / "plain", DOCS, vocab_size=100, eot=99).masks() == [None, None]
    (tmp_path / "s" / "train-00000.msk").unlink()
    with pytest.raises(CorruptShard, match="train-00000.msk: it is missing"):
        Shards.open(tmp_path / "s")


def test_a_mask_for_all_or_none(tmp_path):
    """A shard in which some documents have masks is our own mistake, not a file."""
    with pytest.raises(AssertionError, match="every document"), Writer(tmp_path, "train", 0) as shard:
        shard.add([1, 99], [2], [0], ["memory"], 1, [1, 1])
        shard.add([1, 99], [2], [0], ["memory"], 1)
    with pytest.raises(AssertionError, match="every document"), Writer(tmp_path, "train", 0) as shard:
        shard.add([1, 99], [2], [0], ["memory"], 1)
        shard.add([1, 99], [2], [0], ["memory"], 1, [1, 1])
    assert list(tmp_path.iterdir()) == []


def test_no_folder_of_shards(tmp_path):
    """A wrong path, or another program's manifest, is one sentence."""
    with pytest.raises(PlanError, match=r"has no manifest\.json"):
        Shards.open(tmp_path)
    (tmp_path / "manifest.json").write_bytes(stamped(b'{"kind": "dataset"}'))
    with pytest.raises(PlanError, match="does not describe token shards"):
        Shards.open(tmp_path)


STRANGE = {
    "pipe": os.mkfifo, "folder": os.mkdir, "link": lambda path: os.symlink(path, path),
    "deep": lambda path: path.write_text("[" * 200_000),
}  # fmt: skip


@pytest.mark.parametrize("kind", STRANGE)
def test_a_strange_manifest(folder, kind):
    """A pipe, of which nobody writes the other end, a folder, a circle of links, and 200,000 brackets."""
    (folder / "manifest.json").unlink()
    STRANGE[kind](folder / "manifest.json")
    with pytest.raises(CorruptShard, match=r"manifest.json (cannot be read|is damaged) \(.*\); remove it and encode"):
        Shards.open(folder)


def _changed(manifest, field, value):
    inside = manifest["shards"][0] if field in manifest["shards"][0] and field != "documents" else manifest
    inside[field] = value
    if value is None:
        del inside[field]
    return json.dumps(manifest)


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("shards", None, "it lacks shards"), ("shards", 3, "its shards is not a list"),
        ("shards", [7], "it is not a JSON object"), ("tokens", "x", "its tokens is 'x'"),
        ("bytes", [], r"its bytes is '\[\]'"), ("split", 1, "its split is '1'"), ("eot", "x", "its eot is 'x'"),
        ("name", "../train-00000", "its shards is not what was written"), ("vocab_size", None, "it lacks vocab_size"),
        ("dtype", ["uint16"], "its dtype is"), ("special", None, "it lacks special"),
        ("bytes_per_token", "/a", "its bytes_per_token is not what was written"),
    ],
)  # fmt: skip
def test_fields_of_a_manifest_that_nobody_wrote(folder, field, value, named):
    """The field is named."""
    place = folder / "manifest.json"
    written = {name: one for name, one in json.loads(place.read_text()).items() if name != "checksum"}
    place.write_bytes(stamped(_changed(written, field, value).encode()))
    with pytest.raises(CorruptShard, match=f"manifest.json.*: {named}"):
        Shards.open(folder)


@pytest.mark.parametrize("kind", ["bomb", "pipe"])
def test_sizes_of_tokens_cost_no_more_than_their_file(folder, kind):
    """A file of 128 bytes that states 745 GiB, and a pipe: found by those who read it, and by those who check it."""
    place = folder / "token_bytes.npy"
    place.unlink()
    head = b"{'descr': '<i4', 'fortran_order': False, 'shape': (200000000000,), }".ljust(117) + b"\n"
    os.mkfifo(place) if kind == "pipe" else place.write_bytes(b"\x93NUMPY\x01\x00v\x00" + head)
    with pytest.raises(CorruptShard, match=r"token_bytes.npy: it is not the array that was written"):
        _ = Shards.open(folder).token_bytes
    assert [problem.file for problem in verify_shards(folder)] == ["token_bytes.npy"]


def test_vocabulary_must_fit():
    """65,536 ids fit, 65,537 are refused unless uint32 is chosen by name."""
    assert token_dtype(65_536) == np.uint16
    assert token_dtype(65_537, "uint32") == np.uint32
    with pytest.raises(PlanError, match="a vocabulary of 65,537 does not fit into uint16 shards"):
        token_dtype(65_537)
    with pytest.raises(PlanError, match="dtype='int64' must be one of uint16, uint32"):
        token_dtype(10, "int64")


def test_uint32_by_name(tmp_path):
    """A large vocabulary in uint32 reads back like any other."""
    shards = save(tmp_path, {"train": [[70_000]]}, vocab_size=100_000, eot=99_999, dtype="uint32")
    assert shards.document(0).tolist() == [70_000]
    assert np.fromfile(tmp_path / "train-00000.bin", np.uint32).tolist() == [70_000, 99_999]


def test_failed_writing_leaves_nothing(tmp_path):
    """A shard is there whole or not at all."""
    with pytest.raises(RuntimeError, match="power"), Writer(tmp_path, "train", 0) as shard:
        shard.add([1, 99], [2], [0], ["memory"], 1)
        msg = "power"
        raise RuntimeError(msg)
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.lists(st.integers(1, 9), max_size=6), max_size=5), st.integers(1, 20))
def test_shards_are_filled_in_order(pieces, limit):
    """However documents lie in pieces, shards take them in order, as many as fit, at least one each."""
    ends = [np.cumsum(sizes, dtype=np.uint64) for sizes in pieces]
    flat = [size for sizes in pieces for size in sizes]
    expected: list[list[int]] = []
    for size in flat:
        if not expected or sum(expected[-1]) + size > limit:
            expected.append([])
        expected[-1].append(size)
    made = [[s for piece, a, b in runs for s in pieces[piece][a:b]] for runs in arrange(ends, limit)]
    assert made == expected


def test_one_hash_names_all_shards(tmp_path):
    """The root hash depends on every token, end, mask, split and tokenizer, and on nothing of this machine."""
    docs = {"train": [[1, 2, 3], [4, 5]], "val": [[6]]}
    first = save(tmp_path / "a", docs, vocab_size=100, eot=99)
    assert first.root == save(tmp_path / "b" / "c", docs, vocab_size=100, eot=99).root == first.split("val").root
    others = [
        save(tmp_path / "d", docs | {"val": [[7]]}, vocab_size=100, eot=99),
        save(tmp_path / "e", docs | {"train": [[1, 2], [3, 4, 5]]}, vocab_size=100, eot=99),
        save(tmp_path / "f", {"train": [[1, 2, 3], [4, 5], [6]]}, vocab_size=100, eot=99),
        save(tmp_path / "g", docs, vocab_size=101, eot=99),
        save(tmp_path / "h", docs, vocab_size=100, eot=99, tokenizer=TokenizerFile(hash="another")),
        Shards(first.path, replace(first.manifest, shards=tuple(replace(s, mask_hash="x") for s in first.shards))),
    ]
    assert len({first.root, *(other.root for other in others)}) == 1 + len(others)
