"""Values at limits, defaults, and small parts of deduplication: sizes of buffers, types of columns, sums of blocks."""

from __future__ import annotations

import datetime as dt
import decimal
import os

import numpy as np
import pyarrow as pa
import pytest

from dataprep.core.model import batch as B
from dataprep.core.run.runner import Serial
from dataprep.dedup import warm
from dataprep.dedup.bloom import Bloom
from dataprep.dedup.embeddings import decide
from dataprep.dedup.exact import Exact
from dataprep.dedup.keep import Keep
from dataprep.dedup.membership import hyperloglog
from dataprep.dedup.membership.bloom_filter import BloomFilter, FilterSize, ones
from dataprep.dedup.minhash import MinHash
from dataprep.dedup.near import bands, chosen, gather, keys, verify
from dataprep.dedup.near.compare import KEPT
from dataprep.dedup.near.similarity import MatchRule
from dataprep.dedup.near.tokens import Tokens
from dataprep.dedup.semantic import SemDeDup
from dataprep.dedup.substrings.block import scratch_for
from dataprep.dedup.substrings.minimizers import CHUNK, MAX_SLIDE, MAX_WINDOWS, rule_of
from dataprep.dedup.suffix_array import SuffixArray
from dataprep.dedup.url import URLDedup
from dataprep.errors import PlanError

STAGES = (Bloom, Exact, MinHash, SemDeDup, SuffixArray, URLDedup)


@pytest.mark.parametrize("stage", STAGES)
def test_what_every_kind_checks(stage):
    """Nothing is annotated unless asked; wrong values of annotate= and against= are named."""
    assert stage().prefix is None
    assert stage().against is None
    assert not stage().adds
    assert stage(annotate="near_").prefix == "near_"
    assert stage(against="a").against == ("a",)
    for wrong in ({"annotate": 5}, {"annotate": "a b"}, {"against": ""}, {"against": ["a", "a/"]}, {"against": 5}):
        with pytest.raises(PlanError, match=next(iter(wrong))):
            stage(**wrong)


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage is not MinHash])
def test_kernels_are_compiled_on_two_documents(stage, monkeypatch):
    """Which have a URL in each column that is read, and whose verdicts are not kept."""
    seen = []

    def fit(_self, docs, _run, out):
        table = pa.Table.from_batches(list(docs.parts[0].batches(None)))
        seen.append((out, table))

    monkeypatch.setattr(stage, "fit", fit)
    given = {"capacity": 5} if stage is Bloom else {"columns": ["title", "text"]} if stage is Exact else {}
    stage(**given, against="nowhere").warm()
    ((out, table),) = seen
    assert not os.path.exists(out)
    assert table["id"].to_pylist() == [0, 1]
    assert table["text"].to_pylist() == [warm.TEXT] * 2
    wanted = {Exact: {"title"}, URLDedup: {"url"}}.get(stage, set())
    assert set(table.column_names) - {"id", "text", "source", "meta"} == wanted
    assert all(table[name].to_pylist() == ["http://example.org/"] * 2 for name in wanted)


def test_published_settings():
    """Those of the papers, and how many times as long a text is in which containment is found."""
    made = {name: MinHash(preset=name).settings for name in bands.PRESETS}
    found = {name: (s.bands, s.rows, s.word_split, s.shingle, s.ngram, s.threshold) for name, s in made.items()}
    assert found["dclm"] == (93, 15, "regex", "word", 5, 0.8)
    assert found["fineweb"] == (14, 8, "regex", "word", 5, 0.8)
    assert found["lee2022"] == (450, 20, "regex", "word", 5, 0.8)
    assert found["dialect"][3:] == ("char", 4, 0.6)
    assert MinHash().settings.normalize == ("nfc", "case", "punctuation", "space")
    assert bands.least_jaccard(0.8, "containment") == pytest.approx(0.8 / 20.2)
    assert bands.least_jaccard(0.8, "jaccard") == 0.8
    assert MinHash(bands=1, rows=4, threshold=0.85).settings.found("jaccard") > 0.5
    with pytest.raises(PlanError, match="must be at least 50%"):
        MinHash(bands=1, rows=4, threshold=0.8)


def test_another_threshold_keeps_the_shingles():
    """Their unit, length, words and normal form."""
    some = ["case", "punctuation", "space"]
    given = (
        {"shingle": "char", "ngram": 7},
        {"word_split": "regex", "ngram": 3, "normalize": some},
        {"preset": "dialect"},
    )
    for made in (MinHash(**one) for one in given):
        other = made.at(0.9)
        assert other.settings.threshold == 0.9
        assert other.sketch_key == made.sketch_key
        assert (other.sketch.unit, other.sketch.ngram) == (made.sketch.unit, made.sketch.ngram)
    assert MinHash(normalize=some) == MinHash(normalize=tuple(some))
    assert hash(MinHash(normalize=some)) is not None


def test_records_of_the_most_windows_fit():
    """The work arrays have an entry for each window, word and chunk of a record, at any width."""
    for width, words in ((3, "unicode"), (700, "unicode"), (4, ""), (5000, "")):
        scratch = scratch_for(rule_of(width, word_split=words))
        assert min(map(len, (scratch.start, scratch.end, scratch.tag))) > MAX_WINDOWS
        assert len(scratch.owner) > max(MAX_WINDOWS, CHUNK, MAX_SLIDE - 1)
        assert min(map(len, (*scratch.words, *scratch.other))) >= (MAX_WINDOWS + width if words else 1)


VALUES = [
    (pa.array(["a", None]), ["a", ""]), (pa.array(["a", None]).dictionary_encode(), ["a", ""]),
    (pa.array([b"\x00\xff", None]), ["00ff", ""]), (pa.array([b"\x01", None], pa.large_binary()), ["01", ""]),
    (pa.array([b"ab", None], pa.binary(2)), ["6162", ""]), (pa.array([1, None], pa.int8()), ["1", ""]),
    (pa.array([True, None]), ["true", ""]), (pa.nulls(2), ["", ""]),
    (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
]  # fmt: skip
OTHER = [1.5, dt.datetime(2024, 1, 1), decimal.Decimal(1), ["a"]]


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_columns_that_are_compared(number):
    """Texts, bytes, integers and truth values; a missing one is empty."""
    array, texts = VALUES[number]
    assert chosen.values(B.make([0, 1], ["", ""], "s", columns={"c": array}), "c").to_pylist() == texts


@pytest.mark.parametrize("value", OTHER, ids=lambda value: type(value).__name__)
def test_columns_that_are_not_compared(value):
    """Others are refused by name and type."""
    with pytest.raises(PlanError, match="columns='c' has the type .* must hold strings, bytes or integers"):
        chosen.values(B.make([0, 1], ["", ""], "s", columns={"c": pa.array([value, None])}), "c")


def test_blocks_of_documents_are_added_up(monkeypatch):
    """In order of their Datasets, then of rank and id; the pairs and entries of all blocks, and of further rounds."""
    header = [("id", "<u8"), ("rank", "<u8"), ("words", "<i8")]
    rows = [(5, 1, 4), (4, 1, 4), (3, 0, 4), (2, 9, 8), (1, 9, 4)]
    seen = []

    class Rows:
        headers = np.array(rows, header)
        size = 8 * headers["words"]

        def load(self, some):
            sizes = self.size[some]
            return np.cumsum(sizes) - sizes, np.zeros(sizes.sum(), np.uint8)

    def decided(block, bands_, rule, index, outcome):
        seen.append((block.rows.tolist(), block.old.tolist(), block.starts.tolist(), block.sizes.tolist()))
        done = block.rows[:1] if len(seen) < 3 else block.rows
        outcome.state[done] = KEPT
        return 2, 3

    monkeypatch.setattr(verify, "decide_block", decided)
    origin = np.array([1, 1, 1, 0, 1], np.uint16)
    outcome, compared, skipped = verify.decide(Rows(), origin, 2, MatchRule(0.5, contained=False), 96, 1)
    assert (compared, skipped) == (2 * len(seen), 3 * len(seen))
    assert seen[0] == ([3], [1], [0], [8])
    assert seen[1] == ([2, 1], [0, 0], [0, 4], [4, 4]) or seen[1][0] == [2, 1, 0]
    assert set(outcome.state.tolist()) == {KEPT}
    assert outcome.kept_by.tolist() == [-1] * 5


@pytest.mark.parametrize("seed", range(3))
def test_bits_of_slices_are_counted(seed):
    """Slices that begin and end inside of a byte, and the share of them that is set."""
    rng = np.random.default_rng(seed)
    for n_slices, slice_bits in ((1, 1), (3, 7), (4, 8), (5, 21), (2, 64), (7, 131)):
        size = -(-n_slices * slice_bits // 8)
        bits = rng.integers(0, 256, size, np.uint8)
        flat = np.unpackbits(bits, bitorder="little")[: n_slices * slice_bits].reshape(n_slices, slice_bits)
        assert ones(bits, n_slices, slice_bits).tolist() == flat.sum(axis=1).tolist()
    made = BloomFilter(FilterSize(50, 0.1))
    made.bits[:] = rng.integers(0, 256, len(made.bits), np.uint8)
    shares = ones(made.bits, made.size.n_slices, made.size.slice_bits) / made.size.slice_bits
    assert made.measured_rate() == pytest.approx(np.prod(shares))


@pytest.mark.parametrize("least", [0, 48])
def test_registers_that_are_full(least):
    """The estimate counts registers of every length, up to those whose keys had no bit set."""
    q, m = 64 - hyperloglog.PRECISION, 1 << hyperloglog.PRECISION
    registers = (least + np.arange(m) % (q + 2 - least)).astype(np.uint8)
    counts = np.bincount(registers, minlength=q + 2)
    sum_ = m * hyperloglog._tau(1 - counts[q + 1] / m) * 2.0**-q + m * hyperloglog._sigma(counts[0] / m)
    sum_ += sum(counts[k] * 2.0**-k for k in range(1, q + 1))
    assert hyperloglog.estimate(registers) == pytest.approx(m * m / (2 * np.log(2) * sum_), rel=1e-12)
    assert len(hyperloglog.empty()) == m


@pytest.mark.parametrize(
    ("out", "home"), [("a/b", "a"), ("a/b/", "a"), ("b", "."), ("/b", "."), ("s3://a/b", "s3://a")]
)
def test_the_folder_above(out, home):
    """Of a step; the current one if there is none."""
    assert keys.parent(out) == home


def test_sizes_of_searches_that_find_nothing(dataset, tmp_path):
    """Every unit of every kind is counted, and none is a repeat."""
    texts = ["one two three. Four five six. Seven eight.", "nine\nten", ""]
    for number, stage in enumerate((Exact(unit="line"), Exact(unit="span3"), SuffixArray(min_words=3, cut="word"))):
        facts = stage.fit(dataset(texts), Serial(), str(tmp_path / str(number))).facts
        assert (facts["documents"], facts["spans"]) == (3, 0)
        if number < 2:
            n_units = (3, 1)[number]
            counted = [facts[name] for name in ("units", "distinct", "duplicates", "bytes", "top")]
            assert counted == [n_units, n_units, 0, 0, []]


def test_ranks_of_whole_columns():
    """Numbers without a missing value, with one, and as times."""
    for values in ([1.0, 3.0, 2.0], [1, 3, 2], [dt.datetime(2024, 1, d) for d in (1, 3, 2)]):
        keep = Keep.parse("newest:c" if isinstance(values[0], dt.datetime) else "best:c")
        for some in (values, [*values, None]):
            batch = B.make(list(range(len(some))), [""] * len(some), "s", columns={"c": pa.array(some)})
            assert np.argsort(keep.rank(batch, [])).tolist() == [1, 2, 0, 3][: len(some)]


def test_sections_are_those_of_each_partition():
    """Headers and payloads of the documents of a partition, in their order; of empty ones nothing."""
    rng = np.random.default_rng(4)
    held, plain = [], []
    for size in (7, 5):
        partition, header = rng.choice([0, 1, 3], size).astype(np.uint16), np.zeros(size, gather.HEADER)
        header["id"], header["words"] = rng.integers(0, 99, size), rng.integers(1, 5, size)
        words = [rng.integers(0, 1 << 60, n, np.uint64) for n in header["words"]]
        header["section"] = partition
        held.append((header, np.concatenate(words)))
        plain += zip(partition.tolist(), header.tolist(), words, strict=True)
    found = gather.GatherCandidates("", "", None, None, 5, 5, 0)._sections(held)
    assert len(found) == 10
    for number, (headers, payload) in enumerate(zip(found[::2], found[1::2], strict=True)):
        own = [row for row in plain if row[0] == number]
        assert headers.tolist() == [header for _, header, _ in own]
        assert payload.tolist() == [int(word) for _, _, words in own for word in words]
    header, vectors = np.zeros(9, decide.HEADER), np.arange(18, dtype=np.int16).reshape(9, 2)
    header["id"], header["cluster"] = range(9), [5, 0, 2, 7, 1, 1, 4, 0, 9]
    task = decide.AssignClusters("", "", 2, 4, "first")
    found = list(task._sections(header, vectors))
    rows = [[k for k in range(9) if header["cluster"][k] % 4 == number] for number in range(4)]
    assert [one["id"].tolist() for one in found[::2]] == rows
    assert [one.tolist() for one in found[1::2]] == [vectors[some].tolist() for some in rows]


def test_chosen_columns_are_those_of_the_sketch():
    """Of both kinds that compare columns; wrong patterns, measures and parameters of URLs are named."""
    assert MinHash(columns="title").sketch.columns == Exact(columns="title").sketch.columns == ("title",)
    assert MinHash(ignore_pattern="a").sketch.columns == Exact(ignore_pattern="a").sketch.columns == ("text",)
    assert MinHash(columns=["a", "text"]).recipe() != MinHash(columns=["b", "text"]).recipe() != MinHash().recipe()
    for wrong in ({"ignore_pattern": 5}, {"ignore_pattern": ""}, {"measure": "x"}, {"ignore_pattern": "(?!a)"}):
        with pytest.raises(PlanError, match=f"{next(iter(wrong))}="):
            MinHash(**wrong)
    for wrong in ({"tracking": ["a"]}, {"tracking": ("*",)}, {"tracking": (5,)}, {"ignore": ["www"]}, {"column": 5}):
        with pytest.raises(PlanError, match=f"{next(iter(wrong))}="):
            URLDedup(**wrong)


def test_special_tokens_are_not_added(monkeypatch):
    """Those that a tokenizer puts around each text; an encoding that cannot be loaded is one sentence."""
    tokenizers = pytest.importorskip("tokenizers")
    engine = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "[S]": 1, "a": 2, "b": 3}, "[UNK]"))
    engine.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    engine.post_processor = tokenizers.processors.TemplateProcessing(single="[S] $A", special_tokens=[("[S]", 1)])
    offsets, ids = Tokens.of(engine).ids(pa.array(["a b", "", "b x"], pa.large_string()))
    assert (offsets.tolist(), ids.tolist()) == ([0, 2, 2, 4], [2, 3, 3, 0])
    tiktoken = pytest.importorskip("tiktoken")

    def failing(name):
        raise OSError(name)

    monkeypatch.setattr(tiktoken, "get_encoding", failing)
    with pytest.raises(PlanError, match="'o200k_base' cannot be loaded by tiktoken .o200k_base."):
        Tokens.of("o200k_base")
