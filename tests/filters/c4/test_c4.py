"""C4 against its plain twin, against what the published code is known to do, and against bad parameters."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
import twins.c4
from dataprep.core.model import batch as B
from dataprep.core.model.ledger import Ledger, watch
from dataprep.errors import PlanError
from dataprep.filters.c4 import lines as c4_marks
from dataprep.filters.c4.stage import C4, PRESETS
from dataprep.filters.gopher.stage import Gopher
from dataprep.store.key import key
from dataprep.unicode.text import LINE, classes

UNFINISHED = "no_terminal_punctuation"
GOOD = "This line has more than five words. It has two sentences."


def run(stage, texts):
    """The pages left by id, the drops by id, and the counters."""
    rows, drops, book = laws.apply(stage, [laws.batch_of(texts)])
    return {r["id"]: r["text"] for r in rows}, {d["id"]: d["reason"] for d in drops}, book.counts


def twin(stage, texts):
    """What `run` must give, from the plain twin."""
    answers = [twins.c4.c4(t, stage) for t in texts]
    left = {i: text for i, (reason, text, _) in enumerate(answers) if reason is None}
    drops = {i: reason for i, (reason, _, _) in enumerate(answers) if reason is not None}
    return left, drops, Counter({f"lines.{k}": n for k, n in sum((a[2] for a in answers), Counter()).items()})


def twin_cuts(stage, texts):
    """What each rule cuts out of the pages that are kept: {rule: [times, bytes]}, from the plain twin of each line."""
    cuts = {}
    by_line = dataclasses.replace(stage, min_sentences=0)
    for text in (t for t in texts if twins.c4.c4(t, stage)[0] is None):
        for line in text.splitlines(keepends=True):
            (rule,) = twins.c4.c4(line, by_line)[2]
            cited = twins.c4.CITATION.findall(line) if rule == "valid" and stage.citations else []
            for name, piece in [("citations", c) for c in cited] or [(rule, line)]:
                found = cuts.setdefault(name, [0, 0])
                found[0], found[1] = found[0] + 1, found[1] + len(piece.encode())
    cuts.pop("valid", None)
    return cuts


# Pieces that meet every rule at its edges, and every white space and line break there is.
SPACES = [chr(c) for c in np.flatnonzero(classes() & 1).tolist()]
PIECES = [
    *SPACES, "\r\n", "\n", "\n", " ", " ", " ", ".", "?", "!", '"', "...", "..", "…", "؟", "。", "！", "”", ")", "'",
    "a", "b ", "I", "J.", "Word", "word ", "é", "É", "ж", "سلام", "語", "🙂", "\u0301", "_", "7", "٣", "५", "\0",
    "{", "}", "[", "]", "[1]", "[]", "[٣5]", "[edit]", "[citation needed]", "[Edit]", "[1", "edit]", "[[2]",
    "lorem ipsum", "Lorem Ipsum", "lorem", " ipsum", "JavaScript", "java", "script", "javascript", "JAVASCR\u0130PT",
    "terms of use", "Privacy Policy", "cookie policy", "uses coo\u212aies", "use of cookies", "use cookies", "use coo",
    "kies", "\u212a", "\u0130", "x" * 9, "x" * 11, "é" * 10, "語" * 11, "ΠΌΛΙΣ", "ς", "Σ", "Ⱥ",
]  # fmt: skip
pages = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=60).map("".join)
marks = st.sampled_from([(".", "?", "!", '"'), C4.WORLD_TERMINAL_PUNCTUATION, (), None, ("ies", ".)")])
some_rules = st.builds(
    C4,
    preset=st.sampled_from(["tfds", "paper"]),
    word_split=st.sampled_from(["blanks", "blanks", "unicode", "punctuation"]),
    max_word_chars=st.sampled_from([None, 0, 10, 1000]),
    citations=st.booleans(),
    terminal_punctuation=marks,
    not_terminal_punctuation=st.sampled_from([("...",), None, ("…", "..")]),
    min_words=st.sampled_from([None, 0, 1, 2, 5]),
    lorem_ipsum=st.booleans(),
    javascript=st.booleans(),
    curly_bracket=st.booleans(),
    policy=st.sampled_from([None, PRESETS["tfds"]["policy"], ("é", "ς"), ("سلام", "k", "語"), ("ⱥ", "use")]),
    min_sentences=st.sampled_from([None, 1, 2, 3]),
    sentence_terminals=st.sampled_from([(".", "?", "!"), C4.WORLD_SENTENCE_TERMINALS, (), (".", "-", "]", "^")]),
)


@settings(max_examples=200)
@given(some_rules, st.lists(pages, max_size=6))
def test_kernel_equals_the_twin(stage, texts):
    """Pages, reasons and counters are those of the plain Python twin, whatever the rules."""
    assert run(stage, texts) == twin(stage, texts)
    for row in laws.apply(stage, [laws.batch_of(texts)])[1]:
        sentences = row["value"]
        assert (sentences is not None) == (row["reason"] == "too_few_sentences")
        assert sentences is None or 0 <= sentences < stage.min_sentences


@settings(max_examples=100)
@given(some_rules, st.lists(pages, max_size=6))
def test_cuts_by_rule_equal_the_twin(stage, texts):
    """Each rule's cuts of kept pages are counted as by the plain twin, and a replay finds the same spans."""
    expected = twin_cuts(stage, texts)
    _, _, book = laws.apply(stage, [laws.batch_of(texts)])
    found = {rule: [cuts.times, cuts.bytes] for rule, cuts in book.cuts.items() if rule != "other"}
    assert found == expected
    assert sum(cuts.bytes for cuts in book.cuts.values()) == book.cut
    replay = Ledger("C4", is_replay=True)
    list(watch(stage, iter([laws.batch_of(texts)]), replay))
    spans = {}
    for row in replay.cut_table().to_pylist():
        piece = texts[row["id"]].encode()[row["start"] : row["end"]]
        piece.decode()
        found = spans.setdefault(row["reason"], [0, 0])
        found[0], found[1] = found[0] + 1, found[1] + len(piece)
    assert spans == expected


@settings(max_examples=50)
@given(st.lists(pages, min_size=1, max_size=8), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_laws(texts, sizes):
    """Batch cuts do not matter, books balance, and the stage travels with its key."""
    stage = C4(min_words=1, min_sentences=1)
    laws.cuts_do_not_matter(stage, laws.batch_of(texts), sizes)
    laws.books_balance(stage, laws.batch_of(texts))
    laws.key_and_pickle_are_stable(stage)


@pytest.mark.parametrize("shift", range(-20, 8, 3))
def test_block_edges_hide_nothing(shift):
    """Line breaks, phrases and brackets are found wherever they lie across the edge of a block."""
    for piece in ("\r\n", "\u2028", "use of cookies", "use of coo\u212aies", "lorem ipsum", "{", "[12]", "\u0130"):
        head = "word " * ((c4_marks.BLOCK + shift) // 5)
        text = head + "x" * (c4_marks.BLOCK + shift - len(head)) + piece + " and then some more words. " + GOOD
        assert run(C4(min_sentences=1), [text]) == twin(C4(min_sentences=1), [text])


@pytest.mark.parametrize(
    ("rules", "page", "left"),
    [
        ({}, "We show the terms [1]of use here.", ""),
        ({}, "We show the java[edit]script here.", ""),
        ({"citations": False}, "We show the terms [1]of use here.", "We show the terms [1]of use here."),
        ({"policy": ("cooki",)}, "We said COOK\u0130 to all of you.", ""),
        ({"policy": ("i\u0307s",)}, "We said \u0130S to all of you.", ""),
        ({"policy": ("is a",)}, "We said \u0130S A to all of you.", "We said \u0130S A to all of you."),
        ({"policy": ("πόλισ",)}, "We said ΠΌΛΙΣ to all of you.", ""),
        (
            {"terminal_punctuation": None},
            "[1] First line of all.\n[2] The last one [3]",
            "First line of all.\n The last one",
        ),
        ({"terminal_punctuation": None}, "The only line of the page. [1]\n", "The only line of the page."),
        ({"terminal_punctuation": None, "min_words": 0}, "\n [1]\n\nWord\n\n[1] \n", "Word"),
    ],
)
def test_rules_that_meet(rules, page, left):
    """Citations come out before phrases are looked for; lower case is Python's; a page is stripped."""
    stage = C4(**{"min_sentences": 1, "min_words": 2} | rules)
    assert run(stage, [page]) == twin(stage, [page])
    assert run(stage, [page])[0].get(0, "") == left


def test_marks_know_every_line_break():
    """The constants of the vectorised loop are the line breaks of the Unicode table, and of str.splitlines."""
    breaks = {int(c) for c in np.flatnonzero(classes() & LINE)}
    assert breaks == {c for c in range(0x110000) if len(f"a{chr(c)}b".splitlines()) == 2}
    stage = C4(terminal_punctuation=None, min_words=1, min_sentences=0, curly_bracket=False)
    texts = [f"a{chr(c)}b" for c in range(0x3100) if not 0xD800 <= c < 0xE000]
    assert [t.count("\n") for t in run(stage, texts)[0].values()] == [int(ord(t[1]) in breaks) for t in texts]


def test_lower_case_needs_at_most_half_as_much_again():
    """The buffer for a lower-cased line is one and a half times the line, which is the worst case of Unicode."""
    sizes = {(len(c.encode()), len(c.lower().encode())) for c in map(chr, [*range(0xD800), *range(0xE000, 0x110000)])}
    assert max(low / size for size, low in sizes) == 1.5


@pytest.mark.parametrize(
    ("page", "reason", "text", "lines"),
    [
        (f"{GOOD}\nAnd here is a third one.", None, f"{GOOD}\nAnd here is a third one.", {"valid": 2}),
        (f"{GOOD}\nTwo only", "too_few_sentences", None, {"valid": 1, UNFINISHED: 1}),
        (f"{GOOD}\n\n{GOOD}", None, f"{GOOD}\n{GOOD}", {"valid": 2, UNFINISHED: 1}),
        (f"Four words are few.\n{GOOD}\n{GOOD}", None, f"{GOOD}\n{GOOD}", {"valid": 2, "too_few_words": 1}),
        (f"This line trails off like this...\n{GOOD}", "too_few_sentences", None, {"valid": 1, UNFINISHED: 1}),
        (f"{GOOD}\nTurn on JavaScript to go on.\n{GOOD}", None, f"{GOOD}\n{GOOD}", {"valid": 2, "javascript": 1}),
        (f"{GOOD}\nBy reading you accept our Terms of Use.", "too_few_sentences", None, {"valid": 1, "policy": 1}),
        (f"{GOOD}\n{GOOD}\nif (x) {{ this line has five words. }} indeed.", "curly_bracket", None, {"valid": 2}),
        (f"{GOOD}\n{GOOD}\nif (x) {{\n{GOOD}", None, f"{GOOD}\n{GOOD}\n{GOOD}", {"valid": 3, UNFINISHED: 1}),
        (f"{GOOD}\nLorem Ipsum dolor sit amet, they wrote.\n{GOOD}", "lorem_ipsum", None, {"valid": 1}),
        (f"{GOOD}\nA claim that needs a source.[1][citation needed]\n{GOOD}", None,
         f"{GOOD}\nA claim that needs a source.\n{GOOD}", {"valid": 3}),
        (f"{GOOD}\nA claim that needs a source. [1]\n{GOOD}", None, f"{GOOD}\n{GOOD}", {"valid": 2, UNFINISHED: 1}),
        (f"{'x' * 1001} is a very long word indeed.\n{GOOD}\n{GOOD}", None, f"{GOOD}\n{GOOD}",
         {"valid": 2, "word_too_long": 1}),
        ("", "too_few_sentences", None, {}),
    ],
)  # fmt: skip
def test_published_rules(page, reason, text, lines):
    """Each rule of the published code, one page each."""
    left, drops, counts = run(C4(), [page])
    assert (left, drops) == (({0: text}, {}) if reason is None else ({}, {0: reason}))
    assert counts == {f"lines.{k}": n for k, n in lines.items()}


@pytest.mark.parametrize(
    ("line", "n"),
    [
        ("One here. Two here! Three?", 3),
        ("Version 3.14 of example.com is out.", 1),
        ('He said "no." Then he left.', 2),
        ("J. Doe joined the U.S. Navy in approx. five days.", 1),
        ("So it goes ... and on. It ends...", 2),
        ("Wait... What?!", 2),
        ("This is plan B.. Then it ended.", 2),
        ("This is plan B. Then it ended.", 1),
        ("كيف الحال؟ بخير.", 1),
        ("Il y va avec E\u0301. Zola.", 1),
        ("ಅವನು ಬಂದನು ಮೊ. ಊಟ.", 1),
        ("ஏனௌவ வௌம். பசொ வந்தான்.", 2),
        ("यह घर कौन. वह नहीं.", 2),
    ],
)
def test_sentences(line, n):
    """The documented rule for sentences, by example: dropped for n + 1, kept for n."""
    for need, kept in ((n, True), (n + 1, False)):
        left, _, _ = run(C4(terminal_punctuation=None, min_words=None, min_sentences=need), [line])
        assert bool(left) == kept


def test_world_marks():
    """With the marks of other scripts, Arabic and Chinese sentences count, with or without white space."""
    stage = C4(
        terminal_punctuation=C4.WORLD_TERMINAL_PUNCTUATION, sentence_terminals=C4.WORLD_SENTENCE_TERMINALS, min_words=1
    )
    texts = ["كيف الحال؟ بخير. شكرا؟", "你好。再见。谢谢！", "សួស្តី។ អរគុណ។ លា៕", "မင်္ဂလာပါ။ ကျေးဇူး။ ပြီ။"]
    assert run(stage, texts)[0] == dict(enumerate(texts))
    assert run(C4(min_words=1), texts)[0] == {}


def test_presets_and_overrides():
    """The preset gives what is not given; None switches off; equal rules have equal keys."""
    tfds, paper = C4(), C4(preset="paper")
    assert (tfds.min_words, tfds.min_sentences, paper.min_words, paper.min_sentences) == (5, 3, 3, 5)
    assert C4(preset="paper", min_words=None).min_words is None
    assert C4(preset="paper", policy=[".x"]).policy == (".x",)
    assert key(C4(min_words=3, min_sentences=5)) == key(paper) != key(tfds)
    assert key(dataclasses.replace(tfds, citations=False)) != key(tfds)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"preset": "c4"}, "preset='c4' must be 'tfds' or 'paper'"),
        ({"min_words": -1}, "a number of at least 0, or None"),
        ({"min_sentences": True}, "a number of at least 0"),
        ({"javascript": "yes"}, "True or False"),
        ({"terminal_punctuation": "."}, "a tuple of words"),
        ({"policy": ("cookies ",)}, "must not begin or end with white space"),
        ({"policy": ("use\ncookies",)}, "must not contain line breaks"),
        ({"policy": ("x" * 1001,)}, "at most 1000 bytes"),
        ({"sentence_terminals": ("...",)}, "single characters"),
    ],
)
def test_bad_rules_are_refused(bad, says):
    """A rule that makes no sense is one clear sentence before any work."""
    with pytest.raises(PlanError, match=re.escape(says)):
        C4(**bad)


def test_other_columns_and_buffers_past_two_gigabytes():
    """Extra columns stay with their rows; offsets are 64-bit, so a slice far into a huge buffer is read where it is."""
    rows = B.make([5, 6, 7], ["no", GOOD, "no"], "s", columns={"n": [1, 2, 3]})
    far = 3 << 30
    reach = pa.py_buffer(np.array([far, far + 2, far + 2 + len(GOOD)], np.int64))
    huge = np.zeros(far + 100, np.uint8)  # zero pages are not touched, so this costs no memory
    huge[far : far + 2 + len(GOOD)] = np.frombuffer(b"no" + GOOD.encode(), np.uint8)
    text = pa.LargeStringArray.from_buffers(2, reach, pa.py_buffer(huge))
    stage = C4(min_sentences=2)
    for batch, ids, n in ((rows, [6], [2]), (rows.slice(1), [6], [2])):
        (out,) = stage(iter([batch]), Ledger("C4", quiet=True))
        assert (out["id"].to_pylist(), out["n"].to_pylist(), out["text"].to_pylist()) == (ids, n, [GOOD])
    (out,) = stage(iter([B.make([1, 2], text, "s")]), Ledger("C4", quiet=True))
    assert out["text"].to_pylist() == [GOOD]


def test_scores_of_the_old_text_are_not_used():
    """A score column made before C4 changed the text loses the key of its measure, so the filter measures again."""
    gopher = Gopher()
    scored = gopher.with_scores(laws.batch_of([f"no end mark here\n{GOOD}\n{GOOD}\n{GOOD}"]))
    stats = Ledger("C4")
    (clean,) = C4()(iter([stats.received(scored)]), stats)
    assert clean.column("gopher_words") != gopher.scores_of(clean)["gopher_words"]
    assert clean.schema.names == scored.schema.names


def test_words_of_scripts_without_spaces():
    """A Japanese sentence is one run without white space, and twenty words; marks count where they are words."""
    page = "吾輩は猫である。名前はまだ無い。\n" * 3
    world = {"terminal_punctuation": C4.WORLD_TERMINAL_PUNCTUATION, "sentence_terminals": C4.WORLD_SENTENCE_TERMINALS}
    assert run(C4(**world), [page])[1] == {0: "too_few_sentences"}
    assert run(C4(word_split="unicode", **world), [page])[0] == {0: page.strip()}
    lines = ["Yes, no, yes.", "Yes no yes no."]  # words: 3, 6 and 3; 4, 5 and 4
    kept = {words: run(C4(word_split=words, min_words=5, min_sentences=1), lines)[0] for words in ("blanks", "unicode")}
    assert kept == {"blanks": {}, "unicode": {}}
    assert run(C4(word_split="punctuation", min_words=5, min_sentences=1), lines)[0] == dict(enumerate(lines))
    with pytest.raises(PlanError, match="C4: word_split='spacy' must be 'blanks' or 'punctuation' or 'unicode'"):
        C4(word_split="spacy")
    assert key(C4(word_split="unicode")) != key(C4())
