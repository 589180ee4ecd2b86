"""SuffixIndex: what it finds is what str.find finds, whatever the text and wherever the shards end."""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
from unittest import mock

import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
import twins.search
from dataprep.core.run.runner import WORKER_BYTES, Serial
from dataprep.errors import CorruptShard, PlanError, ReadError, StaleOutput
from dataprep.history.repair import remove_damaged
from dataprep.search import index as suffix_index
from dataprep.search.index import SuffixIndex
from dataprep.search.shard import KINDS
from dataprep.store import files, lease, ranges

pytest.importorskip("pydivsufsort")

UNIT = 10  # ids in `dataset` are 0, 10, 20, ...
letters = st.sampled_from(["ab", "aé", "سلام", "😀👍a", "é界", "\U0010ffff\x00a"])
corpora = letters.flatmap(
    lambda a: st.tuples(st.lists(st.text(a, max_size=30), max_size=8), st.text(a, min_size=1, max_size=8))
)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Makes an index in shards of `shard_bytes`."""
    home = tmp_path_factory.mktemp("indexes")

    def build(docs, shard_bytes=suffix_index.SHARD_BYTES, out=None, **how):
        with mock.patch.object(suffix_index, "SHARD_BYTES", shard_bytes):
            return SuffixIndex.build(docs, out or tempfile.mkdtemp(dir=home), **how)

    return build


def found(index, query, **how):
    """(document, byte) of every hit; its context is checked."""
    hits = index.find(query, limit=None, **how)
    return [(hit.id // UNIT, hit.start) for hit in hits]


@settings(max_examples=80)
@given(corpora, st.sampled_from([1, 60, 1 << 20]), st.integers(1, 3))
@example((["aaaa", "", "aa"], "aa"), 1, 2)
@example((["ab", "ba"], "abba"), 1 << 20, 1)
@example(([], "a"), 1, 1)
def test_finds_what_find_finds(dataset, build, made, shard_bytes, parts):
    """Counts, places and context are those of plain search, for overlaps, across shards, and over no borders."""
    texts, query = made
    index = build(dataset(texts, parts=parts, cut=3), shard_bytes)
    places = twins.search.occurrences(texts, query)
    assert index.count(query) == len(places)
    assert found(index, query) == places
    for hit, (d, start) in zip(index.find(query, limit=3, context=2), places, strict=False):
        assert (hit.id, hit.start, hit.match) == (UNIT * d, start, query)
        at = len(texts[d].encode()[:start].decode())
        assert (hit.before, hit.after) == (texts[d][max(0, at - 2) : at], texts[d][at + len(query) :][:2])
    assert len(index.find(query, limit=2)) == min(2, len(places))


@settings(max_examples=80)
@given(corpora, st.sampled_from([1, 60, 1 << 20]), st.data())
def test_longest_is_the_longest(dataset, build, made, shard_bytes, data):
    """The longest shared piece is the one that trying all pieces finds, and its place and count are right."""
    texts, query = made
    text = data.draw(st.sampled_from([query, query + "".join(texts)[:20], query * 3, ""]))
    shared = build(dataset(texts), shard_bytes).longest(text)
    wanted = twins.search.longest_shared(text, texts)
    assert shared.text == wanted
    assert shared.n_bytes == len(wanted.encode())
    if wanted:
        places = twins.search.occurrences(texts, wanted)
        assert shared.start == len(text[: text.find(wanted)].encode())
        assert shared.count == len(places)
        assert (shared.hit.id // UNIT, shared.hit.start) == places[0]
    else:
        assert (shared.start, shared.count, shared.hit) == (0, 0, None)


def test_pieces_end_at_characters(dataset, build):
    """Characters that share their first bytes are not half shared."""
    index = build(dataset(["aس", "x😀"]))
    assert index.longest("aش").text == "a"
    assert index.longest("x😁").text == "x"
    assert index.longest("ش").n_bytes == 0
    assert index.count("س") == 1


def test_sources_and_contamination(dataset, build):
    """Hits name their source; the table has a row a text, with nulls where nothing is shared."""
    rows = [{"text": "how many ships sailed", "source": "quiz"}, {"text": "ships sailed home", "source": "tales"}]
    index = build(dataset(rows), shard_bytes=1)
    assert [hit.source for hit in index.find("ships sailed")] == ["quiz", "tales"]
    table = index.contamination(["?ships sailed home now", "", "ZZZ"]).to_pylist()
    first = table[0]
    assert (first["longest"], first["longest_bytes"], first["start"], first["count"]) == ("ships sailed home", 17, 1, 1)
    assert (first["id"], first["source"], first["found_at"], first["n_bytes"]) == (UNIT, "tales", 0, 22)
    assert [(row["text"], row["longest_bytes"], row["id"]) for row in table[1:]] == [(1, 0, None), (2, 0, None)]


def test_limit_of_a_common_letter(dataset, build):
    """The first hits of a text that stands nearly everywhere are the first in order of documents."""
    rng = random.Random(4)
    texts = ["".join(rng.choices("ab ", k=200)) for _ in range(300)]
    index = build(dataset(texts, parts=3), shard_bytes=20_000)
    assert len(index.shards) > 3
    places = twins.search.occurrences(texts, "a")
    assert index.count("a") == len(places)
    assert [(h.id // UNIT, h.start) for h in index.find("a", limit=7)] == places[:7]
    assert index.find("a", limit=0) == []


def test_no_entry_inside_characters(dataset, build):
    """Arabic text takes an entry a character, not a byte; so an index of it takes 3 bytes a byte."""
    index = build(dataset(["سلام" * 50]))
    assert len(index.shards[0].suffixes) == 200
    assert index.shards[0].suffixes.dtype == np.int32


def test_batches_and_workers_do_not_matter(tmp_path):
    """The same bytes whatever the cuts and the runner."""
    texts = [f"page {i} of the book of the sea" * (i % 5) for i in range(60)]
    for name, runner, rows in (("serial", None, 3), ("local", laws.TWO, 50)):
        (tmp_path / name).mkdir()
        docs = laws.dataset_of(tmp_path, texts, parts=4, rows_per_batch=rows)
        with mock.patch.object(suffix_index, "SHARD_BYTES", 700):
            SuffixIndex.build(docs, str(tmp_path / name / "index"), runner)
    own = {
        f.name: f.read_bytes()
        for f in (tmp_path / "serial/index/shards").glob("part*[.][tds]*")
        if "json" not in f.name
    }
    assert len(own) > 6
    for name, data in own.items():
        assert (tmp_path / "local/index/shards" / name).read_bytes() == data


def test_a_stopped_build_goes_on(dataset, build, tmp_path):
    """Shards that are sorted are not sorted again; an index that is not whole is not opened, and says so."""
    docs = dataset(["one text", "another text", "a third"], parts=3)
    done = []

    def divsufsort(self, url, item):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(url)
        return real(self, url, item)

    real = suffix_index.SortSuffixes.write
    with mock.patch.object(suffix_index.SortSuffixes, "write", divsufsort), pytest.raises(KeyboardInterrupt):
        build(docs, out=str(tmp_path))
    with pytest.raises(CorruptShard, match="an index whose build was interrupted"):
        SuffixIndex.open(str(tmp_path))
    before = [os.stat(url + ".sa").st_mtime_ns for url in done]
    assert build(docs, out=str(tmp_path)).count("text") == 2
    moved = [url.replace("_unfinished/", "") for url in done]
    assert [os.stat(url + ".sa").st_mtime_ns for url in moved] == before


@pytest.mark.parametrize("kind", [".text", ".docs", ".sa"])
def test_missing_and_short_files(dataset, build, tmp_path, kind):
    """A file that is gone or cut is one sentence that names it; building again mends it."""
    docs = dataset(["some text", "more text"])
    build(docs, out=str(tmp_path))
    place = tmp_path / "shards" / f"part-00000-000{kind}"
    whole = place.read_bytes()
    for damage in (place.unlink, lambda: place.write_bytes(whole[:-1])):
        damage()
        with pytest.raises(CorruptShard, match=f"{place.name} (is missing|has)"):
            SuffixIndex.open(str(tmp_path))
        assert build(docs, out=str(tmp_path)).count("text") == 2
        assert place.read_bytes() == whole


def test_a_changed_byte_is_found(tmp_path):
    """By `verify` in each file, also in the index of a Dataset; searches that meet it say so, and `build` mends it."""
    docs = dp.Pipeline().run(laws.dataset_of(tmp_path, ["some text", "more text"]), out=str(tmp_path / "run"))
    out = tmp_path / "run" / "index"
    SuffixIndex.build(docs, str(out))
    assert dp.tools.verify(str(tmp_path / "run"))[str(out)] == dp.tools.verify(str(out))[str(out)] == []
    for kind, byte in ((".text", 2), (".docs", 8), (".docs", 16), (".sa", 3), (".sa", 35)):
        place = out / "shards" / f"part-00000-000{kind}"
        whole = place.read_bytes()
        place.write_bytes(whole[:byte] + b"\x7f" + whole[byte + 1 :])
        assert [p.file for p in dp.tools.verify(str(out))[str(out)]] == [f"shards/{place.name}"]
        if kind != ".text":
            with pytest.raises(CorruptShard, match=f"{place.name} is damaged; build the index again"):
                [SuffixIndex.open(str(out)).find(letter, None) for letter in "emorstx "]
        assert not any(remove_damaged(str(out))[str(out)][1:])
        assert not place.exists()
        assert SuffixIndex.build(docs, str(out)).count("text") == 2
        assert place.read_bytes() == whole


def test_a_document_over_the_memory_is_refused(dataset):
    """A document whose sorting does not fit beside a worker is refused before it is sorted, with its size."""
    docs = dataset(["a" * 50_000])
    with mock.patch.object(suffix_index, "SHARD_BYTES", 10_000), tempfile.TemporaryDirectory() as out:
        run = Serial(memory=WORKER_BYTES + 5 * 50_000)
        with pytest.raises(PlanError, match=r"sorting a document of 50\.0 kB takes 250\.0 kB of memory"):
            SuffixIndex.build(docs, out, run)
        assert SuffixIndex.build(docs, out, Serial(memory=WORKER_BYTES + 5 * 50_001)).count("aa") == 49_999


def test_mistakes_are_sentences(dataset, build, tmp_path):
    """Empty questions, halves of characters, strange folders and other documents' indexes are refused in words."""
    docs = dataset(["some text"])
    index = build(docs, out=str(tmp_path / "a"))
    for wrong in (index.count, index.find):
        with pytest.raises(PlanError, match="is empty"):
            wrong("")
    for ask in (index.count, index.longest):
        with pytest.raises(PlanError, match="surrogate"):
            ask("x\ud800")
    with pytest.raises(ReadError, match="no index"):
        SuffixIndex.open(str(tmp_path / "b"))
    with pytest.raises(StaleOutput, match="a different recipe or from different input"):
        build(dataset(["other"] * 2), out=str(tmp_path / "a"))
    other = SuffixIndex.build(dataset(["other"] * 2), str(tmp_path / "a"), replace=True)
    assert (other.count("other"), other.count("some")) == (2, 0)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "thesis.tex").write_text("mine")
    with pytest.raises(StaleOutput, match=r"thesis\.tex"):
        build(docs, out=str(tmp_path / "c"))
    (tmp_path / "a" / "manifest.json").write_text("[]")
    with pytest.raises(CorruptShard, match="does not describe a suffix-array index"):
        SuffixIndex.open(str(tmp_path / "a"))


def test_input_of_other_content(tmp_path, caplog):
    """The same file with other content is indexed again, with a warning, also after kills; another file is not."""
    texts, out = tmp_path / "a.txt", tmp_path / "index"

    def build(text):
        texts.write_text(text)
        return SuffixIndex.build(dp.read(str(texts)), str(out))

    build("some text")
    again = build("other text")
    assert (again.count("some"), again.count("other")) == (0, 1)
    assert caplog.messages == ["1 of 1 input file changed since the last run: a.txt; indexing all documents again"]
    for at in range(1, 20):
        left = iter([False] * at + [True])
        unlink = os.unlink

        def dying(path, left=left, unlink=unlink):
            if not str(path).endswith("lease") and next(left, False):
                raise KeyboardInterrupt
            unlink(path)

        with mock.patch("os.unlink", dying):
            try:
                found = build(f"text number {at}")
            except KeyboardInterrupt:
                found = build(f"text number {at}")
        assert found.count(f"number {at}") == found.count("text") == 1
    os.rename(texts, tmp_path / "b.txt")
    with pytest.raises(StaleOutput, match=r"the input file .*b\.txt is new"):
        SuffixIndex.build(dp.read(str(tmp_path / "b.txt")), str(out))


def test_index_at_a_url(dataset, build, tmp_path):
    """An index at a URL has the files of a local one, and finds the same, from few bytes; `longest` is refused."""
    texts = [f"{n} ماء {n % 7} 水 x{n % 3}" for n in range(200)]
    url, docs = "memory://index-at-a-url/i", dataset(texts, parts=3)
    local = build(docs, 2000, str(tmp_path / "i"))
    there = build(docs, 2000, url)
    assert len(there.shards) > 2
    for shard, other in zip(there.shards, local.shards, strict=True):
        for kind in KINDS:
            assert ranges.read(shard.url + kind) == ranges.read(other.url + kind)
    there = SuffixIndex.open(url)
    for text in ("ماء", "水 x1", "7", "199 ماء", "absent", "ء 3"):
        assert there.count(text) == local.count(text)
        assert there.find(text, limit=None) == local.find(text, limit=None)
        assert [a.tolist() for a in there.documents(text)] == [a.tolist() for a in local.documents(text)]
    with pytest.raises(PlanError, match="copy it to a local disk"):
        there.longest("x1")
    files.remove(there.shards[1].url + ".sa")
    with pytest.raises(CorruptShard, match="is missing; build the index again"):
        SuffixIndex.open(url)
    assert build(docs, 2000, url).count("ماء") == local.count("ماء")


@pytest.mark.parametrize(("before", "lost"), [(True, False), (False, True)])
def test_a_killed_build_at_a_url_goes_on(dataset, build, monkeypatch, before, lost):
    """Killed at each write, copy and deletion, or after it; the next call leaves the files of an uninterrupted one."""
    home = f"memory://killed-index-{before}-{lost}"
    fs, old, docs = MemoryFileSystem(), dataset(["an older text"]), dataset([f"{n} ماء 水 x{n % 3}" for n in range(30)])
    left = [0]

    def dying(act):
        def acting(*given, **named):
            left[0] -= lease.NAME not in str(given[1])
            dies = left[0] == 0 and lease.NAME not in str(given[1])
            if dies and not lost:
                raise KeyboardInterrupt
            found = act(*given, **named)
            if dies:
                raise KeyboardInterrupt
            return found

        return acting

    def begin(url):
        if before:
            build(old, 400, url)

    def contents(url):
        found = {path: fs.cat_file(path) for path in fs.find(url)}
        return {path[path.index("/i/") :]: data for path, data in found.items() if not path.endswith("origin.json")}

    begin(f"{home}/whole/i")
    whole = build(docs, 400, f"{home}/whole/i", replace=before)
    assert len(whole.shards) > 1
    for name in ("pipe_file", "cp_file", "rm"):
        monkeypatch.setattr(MemoryFileSystem, name, dying(getattr(MemoryFileSystem, name)))
    for at in range(1, 100):
        url = f"{home}/{at}/i"
        begin(url)
        left[0] = at
        with contextlib.suppress(KeyboardInterrupt):
            build(docs, 400, url, replace=before)
            break
        left[0] = 0
        assert build(docs, 400, url, replace=before).count("ماء") == 30
        assert contents(url) == contents(f"{home}/whole/i"), at
    assert at > 12
