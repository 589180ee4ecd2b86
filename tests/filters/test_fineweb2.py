"""FineWeb2 against its plain twin, rule by rule; the published files, and languages that do not exist."""

from __future__ import annotations

import random
import re

import pytest

import laws
import twins.fineweb2
from dataprep.errors import PlanError
from dataprep.filters.fineweb2 import RULES, FineWeb2
from dataprep.store.key import key

CONFIG = """\
dup_line_frac: 0.3
dup_n_grams:
- - 5
  - 0.2
- - 6
  - 0.19
- - 7
  - 0.17
- - 8
  - 0.16
- - 9
  - 0.15
- - 10
  - 0.14
language_score: 0.4
line_punct_thr: 0.12
max_avg_word_length: 7
max_non_alpha_words_ratio: 0.7
min_avg_word_length: 3
new_line_ratio: 0.15
stopwords:
- "\\u060C"
- "\\u062F\\u064A\\u0627\\u0644"
- 'l'''
- two words
- "\\u0645\\u0646"
top_n_grams:
- - 2
  - 0.25
- - 3
  - 0.22
- - 4
  - 0.2
"""
OFF = {rule.parameter: None for rule in RULES}


def pages():
    """Made pages of Darija's letters: words, marks, lines and repeats in many shares."""
    words = ["".join(random.Random(k).choices("ابتجحدرسكلمنهوي", k=5)) for k in range(110)]
    made = [
        "من ديال " + "".join(w + (".\n" if k % 10 == 0 else " ") for k, w in enumerate(words[n:], 1))
        for n in range(0, 50, 10)
    ]
    for k in range(44):
        rng = random.Random(k)
        letters = "ابتجحدرسكلمنهوي"[: rng.choice([3, 15])]
        words = [
            "".join(rng.choices(letters, k=rng.randint(1, rng.choice([3, 6, 12, 25]))))
            for _ in range(rng.choice([9, 60, 200]))
        ]
        words += rng.choice([[], ["،"], ["، ", "ديال"], ["من", "ديال"], ["#"] * 9, ["..."] * 9, ["7"] * 30, ["…"] * 5])
        phrase = rng.choices(words, k=rng.randint(2, 12))
        parts, ends = [], rng.choice([(".",), (".", "", ""), ("",), ("...",), ("!", "…")])
        for _ in range(rng.choice([15, 30, 45])):
            more = phrase if rng.random() < rng.choice([0, 0.02, 0.2, 0.4]) else rng.choices(words, k=3)
            parts.append(" ".join(more) + (rng.choice(ends) + "\n" if rng.random() < k % 7 / 6 else " "))
        made.append(rng.choice(["", "- ", "• "]).join(["", *parts]) + "\n".join(parts[:3] * rng.choice([0, 0, 2, 9])))
    return made


def stage_of(folder, **changes):
    """A stage with the thresholds of CONFIG."""
    (folder / "ary_Arab.yml").write_text(CONFIG, encoding="utf-8")
    return FineWeb2(language="ary_Arab", configs=folder, **changes)


def test_each_rule_equals_its_twin(tmp_path):
    """Alone, each rule drops the pages that the twin drops, some of them and not all; together, the first reason."""
    yaml = pytest.importorskip("yaml")
    config, made = yaml.safe_load(CONFIG), pages()
    batch = laws.batch_of(made)
    want = [twins.fineweb2.drops(text, config, max_words=115) for text in made]
    whole = stage_of(tmp_path, max_words=115)
    scores = whole.score(batch)
    assert [rule.reason for rule in RULES] == list(want[0])
    for rule in RULES:
        alone = stage_of(tmp_path, **OFF | {rule.parameter: getattr(whole, rule.parameter)})
        found = [why is not None for why in alone.decide(scores).to_pylist()]
        assert found == [drops[rule.reason] for drops in want], rule.parameter
        assert 0 < sum(found) < len(made), rule.parameter
    first = [next((why for why, drops in row.items() if drops), None) for row in want]
    assert whole.decide(whole.score(batch)).to_pylist() == first
    assert first.count(None) > 3


def test_published_files(tmp_path):
    """A file gives the thresholds; an own value wins; 0 and shares below 0 switch a rule off; keys differ."""
    pytest.importorskip("yaml")
    read = stage_of(tmp_path)
    assert (read.max_dup_lines, read.max_top_2gram, read.max_dup_10gram, read.max_newline_ratio) == (
        0.3,
        0.25,
        0.14,
        0.15,
    )
    assert (read.min_mean_word_chars, read.max_mean_word_chars, read.min_alphabetic) == (3, 7, 0.7)
    assert read.stop_words == ("،", "ديال", "l'", "من")
    assert read.language_score == 0.4
    assert stage_of(tmp_path, min_words=9, max_newline_ratio=None).max_newline_ratio is None
    off = damaged(tmp_path, CONFIG.replace("0.12", "-1").replace("length: 3", "length: 0"))
    assert off.min_punctuated_lines is off.min_mean_word_chars is None
    assert key(read) == key(stage_of(tmp_path)) != key(off)
    assert key(read) != key(stage_of(tmp_path, stop_words=("من",)))


def test_laws(tmp_path):
    """Batch cuts do not matter, books balance, and the stage travels with its key."""
    pytest.importorskip("yaml")
    stage, batch = stage_of(tmp_path, min_words=5), laws.batch_of(["", "،", *pages()[:6]])
    laws.cuts_do_not_matter(stage, batch, [1, 3])
    laws.books_balance(stage, batch)
    laws.key_and_pickle_are_stable(stage)


def test_wrong_languages_and_files(tmp_path):
    """A wrong language is one sentence with similar codes, a damaged file one with its name."""
    pytest.importorskip("yaml")
    folder = str(tmp_path)
    for make, says in (
        (
            lambda: FineWeb2(language="ary_Latn", configs=folder),
            f"language='ary_Latn' must be a .yml file's name in configs={folder!r}, a copy of fineweb-2/configs",
        ),
        (
            lambda: stage_of(tmp_path) and FineWeb2(language="ary_Arb", configs=folder),
            "one of 1 codes such as 'ary_Arab'",
        ),
        (lambda: stage_of(tmp_path, min_words=-1), "min_words=-1 must be a number of at least 0"),
        (lambda: stage_of(tmp_path, stop_words="wach"), "must be a tuple of strings"),
        (lambda: damaged(tmp_path, CONFIG.replace("language_score", "score")), "but it lacks 'language_score'; copy"),
        (
            lambda: damaged(tmp_path, CONFIG.replace("0.4", "high")),
            "must be a config file of huggingface/fineweb-2, but parsing it raised TypeError; copy",
        ),
        (lambda: damaged(tmp_path, "a: [\n"), "of huggingface/fineweb-2, but parsing it raised ParserError"),
    ):
        with pytest.raises(PlanError, match=re.escape(says)):
            make()


def damaged(folder, text):
    """A stage of a file with this text."""
    (folder / "bad_Arab.yml").write_text(text, encoding="utf-8")
    return FineWeb2(language="bad_Arab", configs=str(folder))


def test_the_table_that_comes_with_dataprep(tmp_path) -> None:
    """Thresholds of 1,929 languages need no file; stop words are ours or the caller's, in any spelling of the tag."""
    stage = FineWeb2(language="ary_Arab")
    assert (stage.max_dup_lines, stage.max_top_2gram, stage.min_alphabetic, stage.language_score) == (
        0.32, 0.245, 0.743, 0.418,
    )  # fmt: skip
    assert "ديال" in stage.stop_words
    assert (stage.min_mean_word_chars, stage.max_mean_word_chars) == (3, 7)
    assert stage.recipe() == FineWeb2(language="ary").recipe() != FineWeb2(language="arb_Arab").recipe()
    assert FineWeb2(language="fr-FR").max_dup_lines == FineWeb2(language="fra_Latn").max_dup_lines == 0.264
    assert FineWeb2(language="aai_Latn", min_stop_words=None).min_punctuated_lines is None  # published as -1
    assert FineWeb2(language="swh_Latn", stop_words=("na", "ya")).max_top_2gram == 0.396
    with pytest.raises(PlanError, match=r"no stop words for 'swh_Latn'; pass stop_words="):
        FineWeb2(language="swh_Latn")
    for wrong in ("qqq", "ary_Latn", 3):
        with pytest.raises(PlanError, match=re.escape(f"language={wrong!r} must be one of 1929 codes")):
            FineWeb2(language=wrong)
