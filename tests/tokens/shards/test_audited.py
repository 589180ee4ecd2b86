"""What the audit of a folder reads in token shards: the text of tokens, and no text in counts, masks and arrays."""

from __future__ import annotations

import numpy as np
import pytest

import dataprep as dp
import laws
from dataprep.core.output.audit import audit
from dataprep.errors import Leak
from dataprep.messages.names.known import KnownPeople
from dataprep.tokens.shards.audited import SCANS, numbers

NAMED = b"-ab cd, Ilse Varga-"


@pytest.fixture(scope="module")
def shards(tok, tmp_path_factory):
    """Shards of two texts."""
    home = tmp_path_factory.mktemp("shards")
    dp.encode(laws.dataset_of(home, ["walnut cake", "tea"], parts=1), tok, home / "shards", runner=dp.tools.Serial())
    return home / "shards"


def ends(*values):
    """Document ends as bytes."""
    return np.array(values, "<u8").tobytes()


def test_counts_that_look_like_a_name_are_no_leak(tmp_path) -> None:
    """Document ends, masks, arrays and hashes are not read as letters; the same letters in a text are a leak."""
    people = KnownPeople(("A B", "C. D"), prefixes="")
    like = int.from_bytes(b"a b", "little")
    (tmp_path / "train-00000.idx").write_bytes(ends(3, like, like + 1))
    (tmp_path / "train-00000.msk").write_bytes(bytes([0, 1] * 8))
    np.save(tmp_path / "token_bytes.npy", np.frombuffer(b"-a b-", np.uint8))
    (tmp_path / "keys").write_bytes(b"\xff\0a b\0c d")
    assert not audit(str(tmp_path), people, dp.tools.Serial(), scans=SCANS)
    (tmp_path / "notes").write_bytes(b"met a b today")
    with pytest.raises(Leak, match="notes"):
        audit(str(tmp_path), people, dp.tools.Serial(), scans=SCANS)


@pytest.mark.parametrize("name", ["a.idx", "a.msk", "a.npy", "b.idx", "b.npy"])
def test_bytes_that_are_no_numbers_are_searched(tmp_path, name) -> None:
    """A name in a file that only has the name of ends, a mask or an array is a leak."""
    array = ends(2, 9) if name == "b.idx" else b""
    if name == "b.npy":
        np.save(tmp_path / name, np.arange(3))
        array = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(array + NAMED)
    with pytest.raises(Leak, match="ilse varga"):
        audit(str(tmp_path), KnownPeople(("Ilse Varga",)), dp.tools.Serial(), scans=SCANS)


@pytest.mark.parametrize(("name", "data", "is_text"), [
    ("a.idx", b"", False), ("a.idx", ends(5, 5), True), ("a.idx", ends(5, 4), True), ("a.idx", ends(1 << 48), True),
    ("a.idx", ends(1, (1 << 48) - 1), False), ("a.idx", ends(1)[:-1], True),
    ("a.msk", b"", False), ("a.msk", b"\0\1", False), ("a.msk", b"\0\2", True), ("a.npy", b"", True),
], ids=str)  # fmt: skip
def test_what_counts_as_numbers(tmp_path, name, data, is_text) -> None:
    """Ends that rise, masks of 0 and 1, and whole arrays of integers are numbers; anything else is bytes."""
    (tmp_path / name).write_bytes(data)
    assert bool(list(numbers(str(tmp_path / name)))) is is_text


def test_tokens_are_read_as_text(shards) -> None:
    """A name in the text of tokens is found, and nothing in the other files."""
    with pytest.raises(Leak, match=r"train-00000\.bin, tokens from 0, value 1: 'walnut'"):
        audit(str(shards), KnownPeople(("Walnut",)), dp.tools.Serial(), scans=SCANS)
    assert not audit(str(shards), KnownPeople(("Almond",)), dp.tools.Serial(), scans=SCANS)


def test_replaced_shards_are_read_too(tok, tmp_path) -> None:
    """A name in the tokens that a later run set aside is found, also if they have another tokenizer."""
    for n, (text, vocabulary) in enumerate((("walnut cake", tok), ("tea", type(tok).from_merges(tok.merges[:50])))):
        (tmp_path / f"{n}").mkdir()
        docs = laws.dataset_of(tmp_path / f"{n}", [text], parts=1)
        dp.encode(docs, vocabulary, tmp_path / "s", val=0, replace=True)
    with pytest.raises(Leak, match=r"_replaced/train-00000\.bin, tokens from 0, value 1: 'walnut'"):
        audit(str(tmp_path / "s"), KnownPeople(("Walnut",)), dp.tools.Serial(), scans=SCANS)
