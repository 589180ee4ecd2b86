"""Statistics: sums over parts in any grouping, hidden ones, alarms at their limits, and back from JSON."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataprep.core.model.stats import EXAMPLES, HIDDEN, REASONS_SHOWN, Amount, Example, RuleCuts, StageStats, Stats

amounts = st.builds(Amount, st.integers(0, 9), st.integers(0, 99))
sources = st.dictionaries(st.sampled_from(["web", "chat"]), amounts, max_size=2)
counters = st.dictionaries(st.sampled_from(["Ada", "seen"]), st.integers(-3, 9), max_size=2).map(Counter)
examples = st.lists(
    st.builds(
        Example, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.just("web"), st.just("a text"),
        st.none() | st.integers(0, 2**64 - 1), st.none() | st.just(0.5),
    ),
    max_size=4,
).map(sorted)  # fmt: skip
cuts = st.builds(RuleCuts, st.integers(0, 9), st.integers(0, 99), examples)
reasons = st.sampled_from(["short", "copy"])
records = st.builds(
    StageStats, st.sampled_from(["A", "B", "C"]), sources, sources, st.dictionaries(reasons, sources, max_size=2),
    st.integers(0, 9), st.integers(0, 9), st.dictionaries(reasons, cuts, max_size=2), counters,
    st.just({"Ada"}) | st.just(set()), st.sets(reasons, max_size=1),
    st.dictionaries(st.just("length"), st.dictionaries(st.integers(0, 9), st.integers(1, 5)).map(Counter), max_size=1),
    st.dictionaries(reasons, examples, max_size=2),
)  # fmt: skip
runs = st.lists(records, max_size=3, unique_by=lambda record: record.name).map(Stats)


def copy(stats):
    """The same statistics, in objects of their own."""
    return Stats.from_json(json.loads(json.dumps(stats.to_json())))


def plain(stats):
    """The sums of a list of statistics, counted one by one: {stage: {what: n}} without what is 0."""
    found = {}
    for stage in (stage for one in stats for stage in one):
        n = found.setdefault(stage.name, Counter())
        for what, amounts in (("in", stage.into), ("out", stage.out), *stage.dropped.items()):
            for source, amount in amounts.items():
                n[what, source, "docs"] += amount.docs
                n[what, source, "bytes"] += amount.bytes
        n["cut"] += stage.cut
        n["added"] += stage.added
        for rule, cut in stage.cuts.items():
            n["cuts", rule, "times"] += cut.times
            n["cuts", rule, "bytes"] += cut.bytes
        for name, count in stage.counts.items():
            n["count", name] += count
        for name, histogram in stage.histograms.items():
            for bucket, count in histogram.items():
                n[name, bucket] += count
    return {name: {what: k for what, k in n.items() if k} for name, n in found.items()}


@settings(max_examples=15)
@given(st.lists(runs, max_size=4), st.integers(0, 4))
def test_sums_do_not_depend_on_the_grouping(parts, cut):
    """Of all parts, or of sums of some of them; nothing that was summed changes, and examples are the smallest."""
    before = [copy(part).to_json() for part in parts]
    whole = Stats.sum(parts)
    halves = Stats.sum([Stats.sum(parts[:cut]), Stats.sum(parts[cut:])])
    assert plain(parts) == plain([whole]) == plain([halves])
    assert {stage.name: stage.to_json() for stage in halves} == {stage.name: stage.to_json() for stage in whole}
    assert [part.to_json() for part in parts] == before
    for stage in whole:
        mine = [one for part in parts for one in part if one.name == stage.name]
        assert stage.private == set().union(*(one.private for one in mine))
        assert stage.moved == set().union(*(one.moved for one in mine))
        for reason, kept in stage.examples.items():
            assert kept == sorted(example for one in mine for example in one.examples.get(reason, []))[:EXAMPLES]


@settings(max_examples=15)
@given(runs)
def test_json_gives_all_of_it_back(stats):
    """Every field, ids above 2^53 too."""
    assert copy(stats) == stats
    stated = [e for stage in stats.to_json() for found in stage["examples"].values() for e in found]
    assert all(type(e[name]) is str for e in stated for name in ("rank", "id", "duplicate_of") if e[name] is not None)
    for one, other in zip(copy(stats), stats, strict=True):
        pairs = [(e, f) for why in other.examples for e, f in zip(one.examples[why], other.examples[why], strict=True)]
        assert all((e.duplicate_of, e.similarity) == (f.duplicate_of, f.similarity) for e, f in pairs)


@settings(max_examples=15)
@given(runs)
def test_hidden_statistics_name_nobody(stats):
    """No source, no private count and no text is left; the totals are the same."""
    hidden = stats.hidden()
    written = json.dumps(hidden.to_json())
    assert not any(word in written for word in ("web", "chat", "a text"))
    for one, other in zip(hidden, stats, strict=True):
        assert one.total(one.into) == other.total(other.into)
        assert one.total(one.out) == other.total(other.out)
        assert one.reasons == other.reasons
        assert not set(one.counts) & other.private
        assert {n: k for n, k in other.counts.items() if n not in other.private} == one.counts
        assert all(e.source == HIDDEN for some in one.examples.values() for e in some)


def stage(came, left, moved=0):
    """A stage that dropped documents of a source."""
    gone = {"short": {"web": Amount(came - left - moved, 0)}, "joined": {"web": Amount(moved, 0)}}
    into, out = ({"web": Amount(n, 0)} for n in (came, left))
    return StageStats("A", into, out, gone, moved={"joined"} if moved else set())


@pytest.mark.parametrize(
    ("came", "left", "moved", "alarm"),
    [(100, 1, 0, False), (101, 1, 0, True), (99, 1, 0, False), (100, 99, 0, False), (300, 2, 0, True),
     (300, 3, 0, False), (300, 2, 1, False), (300, 0, 300, False), (300, 0, 2, True)],
)  # fmt: skip
def test_more_than_99_percent_is_an_alarm(came, left, moved, alarm):
    """Of a source of a hundred documents and more; what became part of others is not lost."""
    found = stage(came, left, moved).alarms()
    assert found == ([f"A removed {came - left - moved} of {came} documents of 'web'"] if alarm else [])


@pytest.mark.parametrize(
    ("docs", "came", "left", "alarm"),
    [(83, 10_000, 999, True), (83, 10_000, 1_000, False), (100, 10_000, 5, True), (2, 10_000, 9_000, False)],
)
def test_lost_text_is_an_alarm_though_documents_are_kept(docs, came, left, alarm):
    """Less than a tenth of the text of a source is left."""
    gone = {"short": {"web": Amount(100 - docs, 0)}}
    found = StageStats("A", {"web": Amount(100, came)}, {"web": Amount(docs, left)}, gone).alarms()
    share = f"{(came - left) / came:.1%}"
    assert found == ([f"A removed {share} of the text of 'web' and {100 - docs}% of its documents"] if alarm else [])


def test_a_stage_that_keeps_nothing_says_why():
    """Whatever the number of documents; the most frequent reasons, then how many others."""
    none = stage(2, 0)
    assert none.alarms() == [none.emptied]
    assert none.emptied.startswith("A kept 0 of 2 documents, 2 for short")
    none.dropped = {f"r{k}": {"web": Amount(k, 0)} for k in range(1, REASONS_SHOWN + 3)}
    assert none.emptied.endswith(", 2 other reasons")
    assert none.emptied.index("for r4") < none.emptied.index("for r3")
    none.dropped = {f"r{REASONS_SHOWN - k}": {"web": Amount(2, 0)} for k in range(REASONS_SHOWN)}
    assert none.emptied.endswith(", 2 for r1, 2 for r2, 2 for r3")
    assert stage(0, 0).emptied == stage(5, 1).emptied == stage(5, 0, 5).emptied == ""
    assert Stats([stage(5, 1), none]).emptied == none.emptied
    assert Stats([stage(101, 1), none]).alarms() == ["A removed 100 of 101 documents of 'web'", none.emptied]
    assert Stats().emptied == ""


def test_stages_keep_their_order():
    """That of the longer list, then what only the other has."""

    def names(*parts):
        return [stage.name for stage in Stats.sum(Stats([StageStats(name) for name in part]) for part in parts)]

    assert names("AC", "ABC") == names("ABC", "AC") == names("", "ABC", "") == ["A", "B", "C"]
    assert names("AB", "CB") == ["A", "B", "C"]


@settings(max_examples=30)
@given(runs)
def test_keys_that_nobody_knows_are_ignored(stats):
    """Of a stage, an amount and an example: a later version may add some."""
    rows = stats.to_json()
    for row in rows:
        row["kept_lines"] = {"short_line": 2}
        for one in row["cuts"].values():
            one["label"] = "fr"
        for amounts in (row["in"], row["out"], *row["dropped"].values()):
            for amount in amounts.values():
                amount["tokens"] = 7
        for some in row["examples"].values():
            for example in some:
                example["label"] = "fr"
    assert Stats.from_json(rows).to_json() == stats.to_json()
