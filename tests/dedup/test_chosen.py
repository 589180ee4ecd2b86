"""What is compared, if not the whole text: tokens, other columns, and texts without the matches of a pattern."""

from __future__ import annotations

import hashlib
import json
import random
import re
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tokenizers

import dataprep as dp
import twins.exact
import twins.minhash
from dataprep.dedup.exact import Exact
from dataprep.dedup.minhash import MinHash
from dataprep.dedup.near.chosen import ChosenShingles, extra_columns, values
from dataprep.dedup.near.tokens import Tokens
from dataprep.errors import PlanError, ReadError

WORDS = ["the ", "theme ", "été ", "سَطْر ", "हिन ", "อักษร", "猫が好き", "我看书。", "😀"]
MERGES = [(b"t", b"h"), (b"th", b"e"), (b"the", b"m")]
CERTAIN = {"threshold": 0.5, "bands": 120, "rows": 1}


@pytest.fixture(scope="module")
def tokenizer() -> dp.Tokenizer:
    """A few merges, so that tokens are neither bytes nor words."""
    return dp.Tokenizer.from_merges(MERGES)


def family(seed: int) -> list[str]:
    """Texts of several scripts, with edited copies; one is empty."""
    rng, texts = random.Random(seed), [""]
    for _ in range(12):
        words = rng.choices(WORDS, k=12)
        texts += ["".join(words), "".join([*words[:6], rng.choice(WORDS), *words[7:]])]
    return texts


def gone(stage, rows: list[dict], tmp_path: Path) -> dict[int, int]:
    """Who goes for whom, by number; rows have the texts, and other columns."""
    docs = dp.read(pa.Table.from_pylist(rows))
    ids = docs.table(["id"]).column("id").to_pylist()
    table = pq.read_table(stage.fit(docs, dp.tools.Serial(), str(tmp_path)).verdicts).to_pylist()
    return {ids.index(row["id"]): ids.index(row["duplicate_of"]) for row in table}


def test_tokens_are_compared_by_brute_force(tmp_path, tokenizer) -> None:
    """Runs of three tokens; the same for every way to give the tokenizer."""
    path = tokenizer.save(tmp_path / "tokenizer")
    engine = tokenizers.Tokenizer.from_str(Path(path).read_text(encoding="utf-8"))
    engine.enable_truncation(3)
    engine.enable_padding()
    fast = SimpleNamespace(backend_tokenizer=engine)  # as transformers has it
    ways = [tokenizer, tokenizer.tiktoken(), path, tmp_path / "tokenizer", engine, fast]
    for seed in range(3):
        texts = family(seed)
        tokens = [tokenizer.encode(text) for text in texts]
        sets = [{tuple(ids[i : i + 3]) for i in range(max(1, len(ids) - 2))} if ids else set() for ids in tokens]
        kept, wanted = [], {}
        for d, own in enumerate(sets):
            first = next((k for k in kept if own and sets[k] and twins.minhash.jaccard(own, sets[k]) >= 0.5), None)
            wanted |= {} if first is None else {d: first}
            kept += [d] if first is None else []
        rows = [{"text": text} for text in texts]
        for number, way in enumerate(ways if seed == 0 else ways[:1]):
            stage = MinHash(shingle=way, ngram=3, **CERTAIN)
            assert gone(stage, rows, tmp_path / f"{seed}-{number}") == wanted
        assert wanted


def test_the_tokenizer_is_in_the_key(tmp_path, tokenizer) -> None:
    """Its content, not its path; and no stage without one changes its key."""
    tokenizer.save(tmp_path / "a")
    tokenizer.save(tmp_path / "b")
    other = dp.Tokenizer.from_merges([])
    keys = [MinHash(shingle=way).sketch_key for way in (tmp_path / "a", tmp_path / "b", tokenizer, other)]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert MinHash(shingle=tokenizer).at(0.9).sketch.tokens == MinHash(shingle=tokenizer).sketch.tokens
    assert MinHash().sketch_key == MinHash(shingle="word").sketch_key != MinHash(ignore_pattern="a").sketch_key
    assert str(tmp_path) not in repr(MinHash(shingle=tmp_path / "a"))
    assert MinHash(shingle=tokenizer).settings.normalize == ()


def test_case_does_not_count_for_tokens(tmp_path, tokenizer) -> None:
    """With normalize=, tokens are those of the changed text."""
    rows = [{"text": "the theme  is the theme of 12 days"}, {"text": "The THEME is the theme of 34 days"}]
    assert not gone(MinHash(shingle=tokenizer, ngram=2), rows, tmp_path / "a")
    every = ("case", "digits", "space")
    assert gone(MinHash(shingle=tokenizer, ngram=2, normalize=every), rows, tmp_path / "b") == {1: 0}


def test_what_a_pattern_matches_does_not_count(tmp_path) -> None:
    """As a run over texts from which it was removed; a text that consists of matches is compared as it is."""
    pattern = r"\d{4}-\d\d|#\p{L}+"
    texts = ["a b 2020-01 c", "a b 2021-12 c", "#\u00e9t\u00e9", "#mer", "#mer", "a b c", "", "2020-01", "a b 2020 c"]
    rows = [{"text": text} for text in texts]
    for form in (None, "lower"):
        bare = [re.sub(r"\d{4}-\d\d|#[^\W\d]+", "", text) or text for text in texts]
        wanted = twins.exact.same_texts(bare, list(range(len(texts))), form)
        assert gone(Exact(ignore_pattern=pattern, normalize=form), rows, tmp_path / f"e{form}") == wanted
        assert wanted[1] == 0
        assert wanted[4] == 3
    near = gone(MinHash(ignore_pattern=pattern, ngram=1, **CERTAIN), rows, tmp_path / "near")
    assert near == {1: 0, 5: 0, 8: 0}  # of "2020-01" and the like nothing is left, and they are kept


def test_hashes_computed_before_are_compared(tmp_path) -> None:
    """Text, bytes, numbers and dictionaries; documents without a value are kept, however equal their texts are."""
    texts = ["a", "b", "a", "c", "b", "same", "same"]
    digests = [hashlib.sha1(text.encode()).digest() if text != "same" else None for text in texts]  # noqa: S324
    columns = {
        "hex": pa.array([d and d.hex() for d in digests]),
        "raw": pa.array(digests, pa.binary()),
        "number": pa.array([d and int.from_bytes(d[:8], "big") for d in digests], pa.uint64()),
        "code": pa.array([d and d.hex() for d in digests]).dictionary_encode(),
    }
    kinds = {"hex": "string", "raw": "binary", "number": "uint64", "code": "string"}
    docs = dp.read(pa.table({"text": pa.array([f"text {i // 5}" for i in range(7)]), **columns}), columns=kinds)
    for name in columns:
        found = Exact(columns=name).fit(docs, dp.tools.Serial(), str(tmp_path / name))
        assert len(pq.read_table(found.verdicts)) == 2, name
    real = pa.table({"text": ["a"], "score": [1.5]})
    with pytest.raises(PlanError, match="columns='score' has the type double; it must hold strings, bytes or integers"):
        Exact(columns="score").fit(dp.read(real, columns=["score"]), dp.tools.Serial(), str(tmp_path / "no"))


def test_hashes_of_a_parquet_file(tmp_path) -> None:
    """Bytes of fixed size and UUIDs are read without a type; other bytes that are not text need one, which is named."""
    half = [hashlib.md5(bytes([i % 2])).digest() for i in range(3)]  # noqa: S324
    columns = {
        "fixed": pa.array(half, pa.binary(16)),
        "coded": pa.array(half, pa.binary(16)).dictionary_encode(),
        "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array(half, pa.binary(16))),
        "number": pa.array([int.from_bytes(d[:8], "big") >> 1 for d in half], pa.int64()),
    }
    path = str(tmp_path / "in.parquet")
    pq.write_table(pa.table({"text": ["x", "y", "z"], "raw": half, **columns}), path)
    for name in columns:
        done = dp.Pipeline(Exact(columns=name)).run(dp.read(path, columns=[name]), str(tmp_path / name))
        assert [row["text"] for row in done.take(9)] == ["x", "y"], name
    assert done.columns[-1] == "number"
    again = dp.Pipeline(Exact(columns="uuid", against=str(tmp_path / "uuid")))
    assert len(again.run(dp.read(path, columns=["uuid"]), str(tmp_path / "again"))) == 0
    with pytest.raises(ReadError, match=re.escape("change its type: columns={'raw': 'binary'}")):
        dp.read(path, columns=["raw"]).take(1)
    docs = dp.read(path, columns={"raw": "binary"})
    assert len(dp.Pipeline(Exact(columns="raw")).run(docs, str(tmp_path / "raw"))) == 2


def columned(path: Path, rows: list[dict]) -> dp.Dataset:
    """Rows with a title."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return dp.read(str(path), columns=["title"])


def test_several_columns_are_compared(tmp_path) -> None:
    """Values are not run together; older Datasets are compared by the same columns."""
    pairs = [("a", "bc"), ("ab", "c"), ("a", "bc"), (None, "abc"), ("", "abc"), (None, ""), ("", "")]
    rows = [{"title": title, "text": text} for title, text in pairs]
    docs = columned(tmp_path / "a.jsonl", rows)
    ids = docs.table(["id"]).column("id").to_pylist()
    stage = Exact(columns=["title", "text"])
    table = pq.read_table(stage.fit(docs, dp.tools.Serial(), str(tmp_path / "fit")).verdicts).to_pylist()
    assert {ids.index(r["id"]): ids.index(r["duplicate_of"]) for r in table} == {2: 0, 4: 3}
    old = dp.Pipeline(Exact(columns=["title", "text"])).run(docs, str(tmp_path / "old"))
    new = columned(tmp_path / "b.jsonl", [{"title": "a", "text": "bc"}, {"title": "z", "text": "bc"}])
    left = dp.Pipeline(Exact(columns=("title", "text"), against=old.url)).run(new, str(tmp_path / "new"))
    assert [row["title"] for row in left.take(9)] == ["z"]
    (index,) = Path(left.url).glob("steps/*/index.json")
    assert json.loads(index.read_text())["keys"]["borrowed"] == 1
    near = MinHash(columns=["title", "text"], ngram=1, **CERTAIN)
    words = [("one two three", "x"), ("y", "x"), ("one two three", "y")]
    docs = columned(tmp_path / "c.jsonl", [{"title": title, "text": text} for title, text in words])
    assert len(pq.read_table(near.fit(docs, dp.tools.Serial(), str(tmp_path / "near")).verdicts)) == 1
    with pytest.raises(PlanError, match="needs the column title"):
        dp.Pipeline(near).run(dp.read(str(tmp_path / "c.jsonl")), str(tmp_path / "no"))
    with pytest.raises(PlanError, match="must be left out"):
        near.datasketch(docs, 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MinHash(shingle="words"), "shingle='words' must be 'word', 'char', the path of a tokenizer.json"),
        (lambda: MinHash(shingle=5), "shingle=5 must be"),
        (lambda: MinHash(shingle="no/tokenizer.json"), "must be the path of a tokenizer.json"),
        (lambda: MinHash(ignore_pattern="("), "must be a valid regular expression for RE2"),
        (lambda: Exact(ignore_pattern=""), "ignore_pattern='' must be a string"),
        (lambda: Exact(ignore_pattern=r"(?<=a)b"), "must be a valid regular expression for RE2"),
        (lambda: Exact(ignore_pattern="\ud800"), "must be a valid regular expression for RE2"),
        (lambda: MinHash(columns=["id", "text"]), "must not name 'id'"),
        (lambda: Exact(columns=[]), "must be the name of a column"),
        (lambda: Exact(columns=["a", "a"]), "must name every column once"),
        (lambda: Exact(columns=["a", 1]), "must be the name of a column"),
        (lambda: Exact(unit="line", columns="a"), "must be left out for unit='line'"),
        (lambda: Exact(unit="span3", ignore_pattern="a"), "must be left out for unit='span3'"),
        (lambda: MinHash(shingle=dp.Tokenizer.of_bytes(), normalize="case"), "must have .'space'."),
    ],
    ids=range(14),
)
def test_wrong_values_are_one_sentence(make, message) -> None:
    """Before any document is read."""
    with pytest.raises(PlanError, match=message) as e:
        make()
    assert "\n" not in str(e.value)


def test_damaged_tokenizers_are_one_sentence(tmp_path) -> None:
    """A file that is not a tokenizer, and a name that tiktoken would have to download and cannot."""
    (tmp_path / "tokenizer.json").write_text('{"model": 1}')
    with pytest.raises(PlanError, match="that the library tokenizers reads"):
        Tokens.of(tmp_path)


@pytest.mark.parametrize(
    ("column", "texts"),
    [(pa.array(["a", None]), ["a", ""]), (pa.array([1, None]), ["1", ""]), (pa.array([True, None]), ["true", ""]),
     (pa.array([b"\x0f", None]), ["0f", ""]), (pa.array([b"\x0f"], pa.binary(1)), ["0f"]),
     (pa.array([b"\x0f"], pa.large_binary()), ["0f"]), (pa.array([None]), [""]),
     (pa.array(["a"], pa.large_string()), ["a"]), (pa.array(["a", None, "a"]).dictionary_encode(), ["a", "", "a"])],
    ids=lambda v: str(v.type) if isinstance(v, pa.Array) else "",
)  # fmt: skip
def test_values_of_any_kind_are_texts(column, texts) -> None:
    """A missing one is empty."""
    found = values(pa.record_batch({"x": column}), "x")
    assert (found.to_pylist(), found.type) == (texts, pa.large_string())
    with pytest.raises(PlanError, match="columns='x' has the type list"):
        values(pa.record_batch({"x": pa.array([[1]])}), "x")


def test_chosen_columns_are_lines_of_one_text() -> None:
    """One alone is its values; matches of the pattern go."""
    batch = pa.record_batch({"a": ["x1", None], "b": pa.array([7, 8])})
    rule = {"unit": "char", "ngram": 3, "bands": 2, "rows": 2, "seed": 42, "threshold": 0.5}
    for chosen, ignore, texts in (
        (("a",), None, ["x1", ""]), (("a", "b"), None, ["x1\n7", "\n8"]), (("b", "a"), "[17]", ["\nx", "8\n"]),
    ):  # fmt: skip
        assert ChosenShingles(**rule, chosen=chosen, ignore=ignore).texts(batch).to_pylist() == texts
    factors, shifts = ChosenShingles(**rule).permutations  # those of datasketch: stored keys stay keys
    assert (factors.tolist(), shifts.tolist()) == (
        [3217275085, 2547284839, 3871606457, 1575692829],
        [3143890026, 3348747335, 2571218620, 2563451924],
    )


def test_a_tokenizer_is_its_pattern_and_its_tokens() -> None:
    """Each of them, and where each ends, changes what stored keys are called."""

    def digest(pattern, *values):
        return Tokens._tiktoken(SimpleNamespace(_pat_str=pattern, name="n", token_byte_values=lambda: values)).digest

    made = [digest("a", b"b", b"c"), digest("x", b"b", b"c"), digest("a", b"b"), digest("a", b"b", b"d"),
            digest("a", b"bc"), digest("a", b"c", b"b")]  # fmt: skip
    assert len(set(made)) == len(made)
    assert digest("a", b"b", b"c") == made[0]


def test_needs_are_the_columns_that_not_all_have() -> None:
    """Those beyond id, text, source and meta."""
    assert extra_columns(["text", "title", "source", "url"]) == ("title", "url")
    assert extra_columns(None) == extra_columns(["text", "meta"]) == ()
