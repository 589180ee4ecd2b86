"""RefinedWeb against its plain twin, each rule at its threshold, and against bad parameters."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
import twins.refinedweb
from dataprep.core.model.ledger import Ledger, watch
from dataprep.errors import PlanError
from dataprep.filters.refinedweb.stage import RefinedWeb
from dataprep.unicode.text import LINE, classes

GOOD = "A line of ten words that nobody would want removed.\n"
SPACES = [chr(c) for c in np.flatnonzero(classes() & 1).tolist()]
PIECES = [
    *SPACES, "\r\n", "\n", "\n", "\n", " ", " ", " ", GOOD, "a b c", "word ", "AB", "É", "\u0130", "ß", "7", "٣", "½",
    "3 likes", "* ", "1.2K views\n", "12k ", "J’AIME", "(3) comments!", "3 b", "likes", "Sign-in", "SIGN-\u0130N ",
    "sign", "-in", "Read more...", "read more", "...", "5 items in cart", "Items in Carts", "items", "in cart", "ΣΑΣ",
    "σας", "語", "_", "²", "\0", "ſ", "\u0131",
]  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=50).map("".join)
some_rules = st.builds(
    RefinedWeb,
    preset=st.sampled_from(["paper", "dclm"]),
    word_split=st.sampled_from(["blanks", "blanks", "unicode", "punctuation"]),
    max_upper=st.sampled_from([None, 0.5, 0, 0.3]),
    max_numeric=st.sampled_from([None, 0.999999, 0.5]),
    counters=st.sampled_from([RefinedWeb().counters, (), ("σας", "like views")]),
    min_line_words=st.sampled_from([None, 2, 3]),
    max_edit_words=st.sampled_from([None, 10, 3]),
    prefixes=st.sampled_from([("sign-in",), (), ("sign", "Sign-in", "3")]),
    suffixes=st.sampled_from([("read more...",), (), ("...", "more...", "ΣΑΣ", "語")]),
    anywhere=st.sampled_from([("items in cart",), (), ("items", "items in", "a b", "σασ"), (".b", "a.")]),
    max_removed_words=st.sampled_from([None, 0.05, 0.5, 1]),
)


def run(stage, some):
    rows, drops, book = laws.apply(stage, [laws.batch_of(some)])
    return {r["id"]: r["text"] for r in rows}, {d["id"]: d["reason"] for d in drops}, book.counts


@settings(max_examples=100)
@given(some_rules, st.lists(texts, max_size=5))
def test_kernel_equals_the_twin(stage, some):
    """Texts, reasons and counters are those of the plain Python twin, whatever the rules."""
    answers = [twins.refinedweb.refinedweb(t, stage) for t in some]
    left = {i: page.text for i, page in enumerate(answers) if page.reason is None}
    drops = {i: page.reason for i, page in enumerate(answers) if page.reason is not None}
    counts = Counter({f"lines.{k}": n for k, n in sum((page.lines for page in answers), Counter()).items()})
    assert run(stage, some) == (left, drops, counts)


@settings(max_examples=100)
@given(some_rules, st.lists(texts, max_size=5))
def test_cuts_by_rule_equal_the_twin(stage, some):
    """Each rule's cuts of kept pages are those of the twin, a replay finds their spans, drops state the share.

    DCLM strips a page after each rule: white space at its ends may be counted with an edit, or as stripped.
    """
    pages = [twins.refinedweb.refinedweb(t, stage) for t in some]
    expected: dict[str, list[int]] = {}
    for page in (page for page in pages if page.reason is None):
        for rule, (times, n_bytes) in page.cuts.items():
            found = expected.setdefault(rule, [0, 0])
            found[0], found[1] = found[0] + times, found[1] + n_bytes
    _, drops, book = laws.apply(stage, [laws.batch_of(some)])
    found = {rule: [cuts.times, cuts.bytes] for rule, cuts in book.cuts.items() if rule not in ("other", "stripped")}
    if stage.preset == "dclm" and "edited" in expected:
        assert found["edited"][0] == expected["edited"][0]
        found["edited"] = expected["edited"]
    assert found == expected
    assert stage.preset == "dclm" or not {"other", "stripped"} & book.cuts.keys()
    assert sum(cuts.bytes for cuts in book.cuts.values()) == book.cut
    lost = {row["id"]: row["value"] for row in drops if row["reason"] == "removed_words"}
    assert lost == {i: page.lost for i, page in enumerate(pages) if page.reason == "removed_words"}
    assert all(row["value"] is None for row in drops if row["reason"] == "empty")
    replay = Ledger("RefinedWeb", is_replay=True)
    list(watch(stage, iter([laws.batch_of(some)]), replay))
    times: Counter[str] = Counter()
    for row in (row for row in replay.cut_table().to_pylist() if row["reason"] != "stripped"):
        some[row["id"]].encode()[row["start"] : row["end"]].decode()
        times[row["reason"]] += 1
    assert times == {rule: n for rule, (n, _) in expected.items()}


@settings(max_examples=30)
@given(some_rules, st.lists(texts, min_size=1, max_size=6))
def test_laws(stage, some):
    """Batch cuts do not matter, books balance, and the stage travels with its key."""
    laws.cuts_do_not_matter(stage, laws.batch_of(some), [1, 3])
    laws.books_balance(stage, laws.batch_of(some))
    laws.key_and_pickle_are_stable(stage)


@pytest.mark.parametrize(
    ("line", "left", "what"),
    [
        ("AB cd", "AB cd", "valid"),
        ("ABC d é", None, "upper_case"),
        ("1 2 ٣", None, "numbers"),
        ("1.2 3", "1.2 3", "valid"),
        ("3 likes", None, "counter"),
        ("(1.2K views)", None, "counter"),
        (" * • 3 likes!", None, "counter"),
        ("12 تعليقات", None, "counter"),
        ("3 of us", "3 of us", "valid"),
        ("kitchen", None, "few_words"),
        ("Sign-in to read the news", "to read the news", "edited"),
        ("You may sign-in here", "You may sign-in here", "valid"),
        ("The minister went away. Read More...", "The minister went away.", "edited"),
        ("Read more... of it", "Read more... of it", "valid"),
        ("You have 3 Items in Cart, friend", "You have 3 , friend", "edited"),
        ("a b c d e f g h read more...", "a b c d e f g h", "edited"),
        ("a b c d e f g h i read more...", "a b c d e f g h i read more...", "valid"),
        ("Read more...", None, "edited"),
    ],
)
def test_each_rule(line, left, what):
    """Each kind of line of the paper, at its edges."""
    text, _, counts = run(RefinedWeb(max_removed_words=None), [f"{GOOD}{line}\n{GOOD}"])
    assert text[0] == GOOD + ("" if left is None else left + "\n") + GOOD
    assert counts == Counter([*["lines.valid"] * 2, f"lines.{what}"])


@pytest.mark.parametrize("space", SPACES)
def test_dclm_divides_by_the_whole_line(space):
    """White space of a line, blanks at its ends too, counts as characters with DCLM's preset alone."""
    if classes()[ord(space)] & LINE:
        return
    lines = {f"ABC{space}de": "upper_case", f"{space}12 345": "numbers", f"ΑΒΓ{space}δε": "upper_case"}
    for line, reason in lines.items():
        for preset, kept in (("paper", False), ("dclm", True)):
            stage = RefinedWeb(preset=preset, max_removed_words=None)
            text, _, counts = run(stage, [GOOD + line])
            assert text[0] == GOOD + line * kept
            assert counts[f"lines.{reason}"] == (not kept)
    assert run(RefinedWeb(preset="dclm"), ["ABCD efg"])[1] == {}
    assert run(RefinedWeb(preset="dclm"), ["ABCDE fg"])[1] == {0: "removed_words"}


def test_documents_that_lose_too_much_go():
    """1 word of 20 may go, 1 of 19 may not; and nothing else about a kept document changes."""
    twenty, nineteen = ("\r\n \n\tone\n" + " ".join(["word"] * n) + "  \u2028" for n in (19, 18))
    left, drops, _ = run(RefinedWeb(), [twenty, nineteen])
    assert left == {0: twenty.replace("\tone\n", "")}
    assert drops == {1: "removed_words"}
    assert run(RefinedWeb(max_removed_words=None), ["one\n\ntwo"])[1] == {0: "empty"}


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"preset": "falcon"}, "RefinedWeb: preset='falcon' must be 'paper' or 'dclm'"),
        ({"max_upper": -1}, "RefinedWeb: max_upper=-1 must be a number of at least 0"),
        ({"suffixes": "read more"}, "a tuple of phrases"),
        ({"anywhere": (" cart",)}, "no white space at its ends"),
        ({"prefixes": ("a\nb",)}, "no line break"),
    ],
)
def test_bad_rules_are_refused(bad, says):
    """A rule that makes no sense is one clear sentence before any work."""
    with pytest.raises(PlanError, match=re.escape(says)):
        RefinedWeb(**bad)


def test_words_of_scripts_without_spaces():
    """A Japanese line is one run without white space, and several words; a line of marks alone has none."""
    line = "吾輩は猫である。\n"
    assert run(RefinedWeb(), [line])[1] == {0: "removed_words"}
    assert run(RefinedWeb(word_split="unicode"), [line + "* * *\n" + line])[0] == {0: line * 2}
    kept = run(RefinedWeb(word_split="unicode", anywhere=("猫",)), [line + "猫 —\n" + line])
    assert kept[1] == {0: "removed_words"}
    off = {"anywhere": ("猫",), "max_removed_words": None, "min_line_words": None}
    kept = run(RefinedWeb(word_split="unicode", **off), [line + "猫 —\n" + line])
    assert kept[0] == {0: "吾輩はである。\n" * 2}
    with pytest.raises(PlanError, match="RefinedWeb: word_split=3 must be 'blanks'"):
        RefinedWeb(word_split=3)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"12 items in cart!\r\n{GOOD}", f"12!\r\n{GOOD.strip()}"),
        (f"{GOOD}Read more...\r\n{GOOD}", f"{GOOD}Read more...\r\n{GOOD.strip()}"),
        (f"{GOOD}Read more... of it.\r", f"{GOOD}Read more... of it."),
        (f"{GOOD}It goes on. Read more...\r\n", f"{GOOD}It goes on."),
        (f"{GOOD}It goes on. Read more!?…\n{GOOD}", f"{GOOD}It goes on.\n{GOOD.strip()}"),
        (f"{GOOD}It goes on. Read more... \nHOME\n", f"{GOOD}It goes on."),
        (f"{GOOD}It goes on. Read more... \nhome of it\n", f"{GOOD}It goes on. Read more... \nhome of it"),
        (f"HOME\n Sıgn-in  to read\n{GOOD}", f"to read\n{GOOD.strip()}"),
        (f"²³\n 12 \n½ ½\n{GOOD}", f"½ ½\n{GOOD.strip()}"),
        (f"{GOOD}12 \n{GOOD}", f"{GOOD}{GOOD.strip()}"),
        (f"{GOOD}x 3 lİkes\n3,4 likes", f"{GOOD}x 3 lİkes"),
    ],
    ids=["blank", "crlf", "last-cr", "last", "dots", "last-but-upper", "not-last", "first", "digits", "few", "counter"],
)
def test_dclm_strips_the_page_after_each_rule(text, left):
    """Texts of DCLM's code, commit 361714b: a blank goes with a phrase, dots are any character, ends are stripped."""
    assert run(RefinedWeb(preset="dclm", max_removed_words=None), [text])[0] == {0: left}


def test_dclm_drops_pages_whose_words_all_begin_after_other_white_space():
    """A no-break space does not end a word there, so that such a page has none."""
    assert run(RefinedWeb(preset="dclm"), ["\u00a0one\u00a0two."])[1] == {0: "empty"}
    assert run(RefinedWeb(), ["\u00a0one\u00a0two."])[1] == {}
