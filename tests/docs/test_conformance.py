"""Each class of difference in docs/conformance.md, by one text; the decision of the published code is a constant."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import dataprep as dp
import laws

ROOT = Path(__file__).parents[2]
WORDS = [f"word{chr(97 + k // 26)}{chr(97 + k % 26)}" for k in range(100)]
REPEATED = "\n".join([*WORDS[:50], WORDS[0]])
LINE = "A line of ten words that nobody would want removed.\n"


def kept(stage, text):
    """The text that a stage keeps, None if it drops it."""
    rows, _, _ = laws.apply(stage, [laws.batch_of([text])])
    return rows[0]["text"] if rows else None


def only(stage, **rules):
    """The stage with these rules and no other."""
    off = {name: None for name in vars(stage()) if name.startswith(("min_", "max_"))}
    return lambda **given: stage(**off | rules | given)


@pytest.mark.parametrize(
    ("make", "text", "paper", "code"),
    [
        (only(dp.Gopher, min_alphabetic=0.8), "a, b, c, d, e", {}, {"preset": "datatrove"}),
        (only(dp.Gopher, min_stop_words=2), "The be, x", {}, {"preset": "datatrove"}),
        (only(dp.Gopher, min_words=50), "a , " * 25, {"word_split": "punctuation"}, {"preset": "datatrove"}),
        (only(dp.FineWeb, min_punctuated_lines=0.12), 'He said "yes."\n' * 9, {}, {"preset": "code"}),
        (only(dp.FineWeb, min_punctuated_lines=0.12), "Yes. \n" * 9, {}, {"preset": "code"}),
        (only(dp.FineWeb), REPEATED, {"max_dup_line_chars": 0.1}, {"max_dup_line_chars": 0.01}),
    ],
    ids=["commas", "stop-words", "marks-are-no-words", "quotation-marks", "stripped-lines", "repeated-lines"],
)  # fmt: skip
def test_the_papers_rule_keeps_what_the_code_drops(make, text, paper, code):
    """The first stage, by the paper, keeps the text; the second, as published code, drops it."""
    assert kept(make(**paper), text) == text
    assert kept(make(**code), text) is None


def test_repeated_ngrams_that_overlap():
    """Characters of overlapping repeats: the paper counts each once, datatrove skips to the end of each n-gram."""
    text = " ".join([*WORDS[:6], *WORDS[20:30], *WORDS[:6]])
    paper, code = (
        stage.score(laws.batch_of([text]))["gopher_dup_5gram"].to_pylist()[0] for stage in
        (dp.Gopher(), dp.Gopher(preset="datatrove"))
    )  # fmt: skip
    assert paper == 6 / 22
    assert code == 5 * 6 / len(text)


def test_lines_that_end_with_an_apostrophe():
    """C4 has no end mark `'`; datatrove has."""
    text = "This is a line of the analysts'\n" + "One two three four. " * 5
    assert kept(dp.C4(preset="paper"), text) == ("One two three four. " * 5).strip()


def test_white_space_of_texts_stays():
    """RefinedWeb leaves white space at both ends of a text and lines of it; with DCLM's preset it removes them."""
    text = f"\n{LINE} \t \n{LINE}\n"
    assert kept(dp.RefinedWeb(), text) == text
    assert kept(dp.RefinedWeb(preset="dclm"), text) == f"{LINE}{LINE.strip()}"


def test_all_words_count_as_removed():
    """RefinedWeb counts every word of a removed line; DCLM's preset only those that begin with a letter or digit."""
    text = LINE * 8 + "— — — ★ ★ 3 4 5 6 7\nREAD ★ ★ ★ ★ ★ ALL ALL ALL ALL ALL\n"
    assert kept(dp.RefinedWeb(max_removed_words=0.1), text) is None
    assert kept(dp.RefinedWeb(preset="dclm", max_removed_words=0.1), text) is not None


def test_recipe_of_dclm_removes_urls(tmp_path):
    """URLs and addresses are removed with blanks before them; bare names only with a list of top-level domains."""
    spec = importlib.util.spec_from_file_location("dclm_recipe", ROOT / "pipelines" / "dclm.py")
    recipe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recipe)
    (tmp_path / "tlds.txt").write_text("org\ncom\n")
    named = recipe.url_pattern(str(tmp_path / "tlds.txt"))
    for text, left, with_names in (
        ("See http://example.xyz/x?y=1#z now", "See now", "See now"),
        ("see www.example.org. Next", "see Next", "see Next"),
        ("visit 10.0.0.1/x now, 1.2.3", "visit now, 1.2.3", "visit now, 1.2.3"),
        ("mail me@example.org or Example.comet", "mail me@example.org or Example.comet", "mail or Example.comet"),
        ("a\n\n\n\n\nb\n\nc", "a\n\nb\n\nc", "a\n\n\n\n\nb\n\nc"),
    ):
        assert recipe._tidy(text) == left
        assert re.sub(named, "", text) == with_names


def test_every_class_is_on_the_page():
    """The page states the date, the documents and the versions that were compared."""
    page = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    for fact in ("22 November 2026", "780 documents", "datatrove 0.10.1", "dolma 1.2.1", "361714b"):
        assert fact in page
