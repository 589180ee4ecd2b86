"""The books: every document is accounted for exactly once, by source and by reason."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.core.model import batch as B
from dataprep.core.model.ledger import Ledger, watch
from dataprep.core.model.stats import Stats
from dataprep.errors import PlanError
from dataprep.store.ranks import mix
from laws import batch_of, cuts


def dropper(batches, stats):
    """Drops every third document for the one before it, every fifth for another reason; shortens the rest."""
    for batch in batches:
        ids = B.ids(batch)
        third, fifth = ids % 3 == 0, ids % 5 == 0
        reasons = np.where(third, "third", "fifth")[third | fifth]
        gone = ids[third | fifth]
        stats.drop(gone, reasons, duplicate_of=pa.array(gone + 1), similarity=np.full(len(gone), 0.5))
        stats.count("seen", batch.num_rows)
        stats.observe("length", B.lengths(batch))
        left = batch.filter(pa.array(~(third | fifth)))
        yield B.with_column(left, "text", pa.array([t[1:] for t in left.column("text").to_pylist()], pa.large_string()))


@given(st.lists(st.text(min_size=1, max_size=9), max_size=40), st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_books_do_not_depend_on_cuts_and_balance(texts, sizes):
    """Counts, bytes, examples and histograms are those of a plain count, however batches are cut."""
    whole = batch_of(texts)
    one, other = Ledger("d"), Ledger("d")
    rows = [r for b in watch(dropper, iter([whole]), one) for r in b.to_pylist()]
    list(watch(dropper, iter(cuts(whole, sizes)), other))
    assert one.record.to_json() == other.record.to_json()
    assert one.drop_table().equals(other.drop_table())
    assert one.record.docs_in == len(texts) == one.record.docs_out + one.record.docs_dropped
    thirds = [t for i, t in enumerate(texts) if i % 3 == 0]
    assert one.record.reasons.get("third", 0) == len(thirds)
    if thirds:
        assert one.record.dropped["third"]["rows"].bytes == sum(len(t.encode()) for t in thirds)
    assert one.record.cut == sum(len(t[0].encode()) for i, t in enumerate(texts) if i % 3 and i % 5)
    assert one.record.total(one.record.out).bytes == sum(len(r["text"].encode()) for r in rows)
    assert sum(one.record.histograms.get("length", {}).values()) == len(texts) == one.record.counts["seen"]
    dropped = Counter(len(t.encode()).bit_length() for i, t in enumerate(texts) if i % 3 == 0 or i % 5 == 0)
    assert one.record.histograms.get("bytes_dropped", {}) == dropped
    assert one.record.histograms.get("bytes_kept", {}) == Counter(len(r["text"].encode()).bit_length() for r in rows)


def test_examples_are_those_of_the_smallest_hash():
    """Which dropped documents are kept to look at depends on seed and ids alone, also when books are added."""
    texts = [f"text {i}" for i in range(1, 100)]
    whole, halves = Ledger("d"), [Ledger("d"), Ledger("d")]
    list(watch(dropper, iter([batch_of(texts)]), whole))
    list(watch(dropper, iter([batch_of(texts[:50])]), halves[0]))
    list(watch(dropper, iter([batch_of(texts[50:], 50)]), halves[1]))
    best = sorted(range(0, 99, 3), key=lambda i: int(mix(np.array([i], np.uint64), 0)[0]))[:3]
    assert [e.id for e in whole.record.examples["third"]] == best
    assert [e.text for e in whole.record.examples["third"]] == [texts[i] for i in best]
    added = Stats.sum(Stats([m.record]) for m in halves)
    assert added.to_json() == Stats([whole.record]).to_json()
    assert Stats.from_json(added.to_json()).to_json() == added.to_json()


def loses(batches, stats):
    for batch in batches:
        yield batch.slice(1)


def repeats(batches, stats):
    for batch in batches:
        yield batch
        yield batch


def invents(batches, stats):
    for batch in batches:
        yield B.with_column(batch, "id", pa.array(B.ids(batch) + 1000))


def drops_and_keeps(batches, stats):
    for batch in batches:
        stats.drop(B.ids(batch)[:1], "why")
        yield batch


def drops_twice(batches, stats):
    for batch in batches:
        stats.drop(B.ids(batch)[[0, 0]], "why")
        yield batch.slice(1)


def reverses(batches, stats):
    for batch in batches:
        yield batch.take(pa.array([2, 1, 0]))


def holds_back(batches, stats):
    for batch in batches:
        yield batch.slice(1)
        yield batch.slice(0, 1)


def empties(batches, stats):
    for batch in batches:
        yield B.with_column(batch, "text", pa.array(["a", None, "c"], pa.large_string()))


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        (reverses, "stage cheat returned document 0:1 after 0:2; return documents in order of their ids"),
        (holds_back, "returned document 0:0 after 0:2"),
        (empties, "a batch with nulls in the column 'text'"),
        (loses, "neither returned nor dropped 1 document, the first is 0:0"),
        (repeats, "returned document 0:0, which it did not receive or has already returned"),
        (invents, "returned document 0:1000"),
        (drops_and_keeps, "returned a document twice"),
        (drops_twice, "cheat dropped a document twice"),
    ],
)
def test_a_stage_that_cheats_is_named(stage, says):
    """A lost, repeated or made-up document is our error, and the message says which."""
    with pytest.raises((AssertionError, PlanError), match=says):
        list(watch(stage, iter([batch_of(["a", "b", "c"])]), Ledger("cheat")))


def test_a_reader_keeps_the_order():
    """A reader that yields a document twice, or an earlier one, is named."""
    ledger = Ledger("read", source="web")
    ledger.returned(batch_of(["a", "b"]))
    with pytest.raises(AssertionError, match="stage read returned document 0:1 after 0:1"):
        ledger.returned(batch_of(["b"], 1))


def test_a_reader_books_what_never_was_a_row():
    """Bad records count as input and as dropped, with their bytes, under the file's source."""
    ledger = Ledger("read", source="web")
    ledger.returned(batch_of(["fine"]))
    ledger.drop([7, 9], "not_json", n_bytes=np.array([10, 20]))
    assert ledger.record.docs_in == 3
    assert ledger.record.dropped["not_json"]["web"].bytes == 30
    assert [(row["id"], row["source"], row["bytes"]) for row in ledger.drop_table().to_pylist()] == [
        (7, "web", 10), (9, "web", 20)
    ]  # fmt: skip


def test_a_stage_that_keeps_nothing_names_itself():
    """However few the documents, the alarm states their number and the most frequent reasons."""

    def none(batches, stats):
        for batch in batches:
            ids = B.ids(batch)
            stats.drop(ids, [("few_stop_words", "few_stop_words", "short", "list", "symbols")[i % 5] for i in ids])
            yield batch.slice(0, 0)

    ledger = Ledger("filter")
    list(watch(none, iter([batch_of(["x"] * 12)]), ledger))
    says = "filter kept 0 of 12 documents, 6 for few_stop_words, 2 for list, 2 for short, 1 other reasons"
    assert Stats([ledger.record]).alarms() == [says]
    assert Stats([Ledger("other").record, ledger.record]).emptied == says
    assert Stats([Ledger("other").record]).emptied == ""


def test_a_source_nearly_wiped_out_raises_an_alarm():
    """A stage that removes 99 % of a source says so."""

    def all_but_one(batches, stats):
        for batch in batches:
            stats.drop(B.ids(batch)[1:], "gone")
            yield batch.slice(0, 1)

    ledger = Ledger("strict")
    list(watch(all_but_one, iter([batch_of(["x"] * 200)]), ledger))
    assert Stats([ledger.record]).alarms() == ["strict removed 199 of 200 documents of 'rows'"]
    assert "alarm" in str(Stats([ledger.record]))


def test_counts_are_private_only_if_said():
    """A counter that names a person is hidden, others are not; none and quiet ones are not there."""
    ledger, quiet = Ledger("d"), Ledger("d", quiet=True)
    for book in (ledger, quiet):
        book.count("seen", 2)
        book.count("seen")
        book.count("Ada", 4, private=True)
        book.count("none", 0)
        book.observe("length", [0, 1, 3, 4])
    assert (ledger.record.counts, ledger.record.private) == (Counter(seen=3, Ada=4), {"Ada"})
    assert ledger.record.hidden().counts == Counter(seen=3)
    assert ledger.record.histograms == {"length": Counter({0: 1, 1: 1, 2: 1, 3: 1})}
    assert (quiet.record.counts, quiet.record.private, quiet.record.histograms) == (Counter(), set(), {})


def test_bytes_of_bad_records_may_be_unknown():
    """They count as none."""
    ledger = Ledger("read", source="web")
    ledger.drop([7, 9], "not_json")
    for sources in (ledger.record.dropped["not_json"], ledger.record.into):
        assert (sources["web"].docs, sources["web"].bytes) == (2, 0)
    assert ledger.drop_table()["bytes"].to_pylist() == [None, None]
    assert ledger.drop_table()["source"].to_pylist() == ["web", "web"]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.text(max_size=4), st.sampled_from([None, "x", "y"])), max_size=30),
    st.lists(st.integers(1, 6), min_size=1, max_size=5),
)
def test_rows_state_the_source_and_bytes_of_each_document(rows, sizes):
    """Of drops and cuts, in one call over several batches of several sources, whatever the order of ids."""
    whole = batch_of([text for _, text, _ in rows])
    whole = B.with_column(whole, "source", pa.array([s for s, _, _ in rows], pa.string()).cast(B.SOURCE))
    ledger = Ledger("S")
    for part in cuts(whole, sizes):
        ledger.received(part)
    gone = [i for i, (_, _, why) in enumerate(rows) if why][::-1]
    ledger.cut([*gone, 999], [0] * (len(gone) + 1), [1] * (len(gone) + 1), reason="rule")
    ledger.drop(gone, [rows[i][2] for i in gone], value=np.array(gone, float))
    found = [(r["id"], r["source"], r["bytes"], r["reason"], r["value"]) for r in ledger.drop_table().to_pylist()]
    assert found == [(i, rows[i][0], len(rows[i][1].encode()), rows[i][2], i) for i in sorted(gone)]
    spans = [(r["id"], r["source"], r["reason"]) for r in ledger.cut_table().to_pylist()]
    assert spans == [*((i, rows[i][0], "rule") for i in sorted(gone)), (999, None, "rule")]
    assert ledger.record.reasons == Counter(rows[i][2] for i in gone)


def test_values_of_a_drop_may_be_one_or_many():
    """A word or a number for all rows, a list, an array; none are null; coded and chunked reasons are plain."""
    reasons = ("r", ["r", "r"], pa.array(["r", "r"]), pa.chunked_array([["r"], ["r"]]),
               pa.array(["r", "r"]).dictionary_encode(), pa.array(["r", "r"], pa.large_string()))  # fmt: skip
    for reason in reasons:
        ledger = Ledger("S")
        ledger.received(batch_of(["a", "bc", "d"]))
        ledger.drop([2, 0], reason, duplicate_of=5, similarity=0.5, duplicate_of_dataset="there")
        rows = ledger.drop_table().to_pylist()
        more = {"stage": "S", "reason": "r", "duplicate_of_dataset": "there", "duplicate_of": 5, "similarity": 0.5}
        more |= {"source": "rows", "bytes": 1, "value": None, "label": None}
        assert rows == [{"id": 0, **more}, {"id": 2, **more}]
        assert ledger.record.docs_dropped == 2
    ledger.drop([1], "s", duplicate_of=[7], similarity=None, value=[0.25], label="fr")
    assert ledger.drop_table().to_pylist()[1] == {
        "id": 1, "stage": "S", "reason": "s", "duplicate_of_dataset": None, "duplicate_of": 7, "similarity": None,
        "source": "rows", "bytes": 2, "value": 0.25, "label": "fr",
    }  # fmt: skip
    ledger.close()


def test_cuts_are_rows_and_spans():
    """Sorted by document and place; spans that touch are one; a quiet ledger has nothing."""
    for quiet in (False, True):
        ledger = Ledger("S", quiet=quiet)
        ledger.cut(
            [3, 1, 3],
            [4, 0, 2],
            [6, 2, 4],
            duplicate_of=[1, 9, 1],
            duplicate_of_start=0,
            duplicate_of_end=[2, 2, 2],
            duplicate_of_dataset="there",
        )
        rows = [
            (
                r["id"],
                r["start"],
                r["end"],
                r["duplicate_of"],
                r["duplicate_of_start"],
                r["duplicate_of_end"],
                r["duplicate_of_dataset"],
                r["stage"],
            )
            for r in ledger.cut_table().to_pylist()
        ]
        assert rows == ([] if quiet else [
            (1, 0, 2, 9, 0, 2, "there", "S"), (3, 2, 4, 1, 0, 2, "there", "S"), (3, 4, 6, 1, 0, 2, "there", "S"),
        ])  # fmt: skip
        assert ledger.record.counts["spans_cut"] == (0 if quiet else 2)
        ledger.observe("n", [1])
        ledger.count("n", 3)
        assert (ledger.record.histograms, ledger.record.counts["n"]) == (({}, 0) if quiet else ({"n": {1: 1}}, 3))


@given(st.lists(st.integers(0, 2**40)))
def test_a_histogram_counts_binary_digits(values):
    """Of every value, 0 included."""
    ledger = Ledger("S")
    ledger.observe("n", values)
    assert ledger.record.histograms.get("n", {}) == Counter(v.bit_length() for v in values)


def test_ranks_are_those_of_splitmix64():
    """Of the id and the seed, in plain Python."""

    def plain(i, seed):
        x = (i + (seed + 1) * 0x9E3779B97F4A7C15) % 2**64
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
        return x ^ x >> 31

    ids = [0, 1, 2**40, 2**63, 2**64 - 1]
    for seed in (0, 1, 7):
        assert mix(np.array(ids, np.uint64), seed).tolist() == [plain(i, seed) for i in ids]


@pytest.mark.parametrize("source", [None, "a reader"])
def test_an_empty_batch_does_not_hide_the_order(source):
    """Ids ascend from the batch before it to the one behind it."""
    ledger = Ledger("S")
    ledger.source = source
    first, second = batch_of(["a"], 5), batch_of(["b"], 3)
    if source is None:
        ledger.received(first)
        ledger.received(second)
    ledger.returned(first)
    assert ledger.returned(first.slice(0, 0)).num_rows == 0
    with pytest.raises(AssertionError, match="returned document 0:3 after 0:5"):
        ledger.returned(second)
