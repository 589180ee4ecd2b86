"""Another limit of a filter with scores, from stored or measured scores: equal to a full run, document by document."""

from __future__ import annotations

import json
import random

import pytest

import dataprep as dp
from dataprep.errors import PlanError, ReadError
from dataprep.history.scored import (
    MEASURED,
    SAMPLED,
    at_values,
    measured_scores,
    scored_of,
    scored_steps,
    stored_scores,
)

LISTS = """
the of and mill river stone grain house winter table market horse bread window letter
الكتاب البيت المدينة الناس يوم قال كان على من الماء القمح الحجر السوق الشتاء الرسالة
天 地 玄 黃 宇 宙 洪 荒 日 月 盈 昃 辰 宿 列
"""
WORDS = dict(zip(("latin", "arabic", "han"), map(str.split, LISTS.strip().splitlines()), strict=True))
SERIAL = dp.tools.Serial()


def corpus(place, script: str, n: int = 60) -> dp.Dataset:
    """Texts of two sources, of 3 to 90 words in lines of different lengths."""
    draw = random.Random(script)
    for part in (0, 1):
        with open(place / f"{script}{part}.jsonl", "w", encoding="utf-8") as f:
            for _ in range(n // 2):
                sizes = [draw.randint(1, 15) for _ in range(draw.randint(2, 7))]
                lines = [" ".join(draw.choices(WORDS[script], k=size)) for size in sizes]
                text = "\n".join(line + draw.choice(("", ".", "!")) for line in lines)
                f.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    return dp.read([str(place / f"{script}{part}.jsonl") for part in (0, 1)])


def arpa(place, words: list[str]) -> str:
    """A model by hand: later words of the list are less likely."""
    grams = {"<unk>": -5, "<s>": -99, "</s>": -1, **{word: -0.2 * n - 0.5 for n, word in enumerate(words)}}
    rows = "\n".join(f"{p:.1f}\t{word}\t0" for word, p in grams.items())
    pairs = f"\\2-grams:\n-1\t{words[0]} {words[1]}\n\n\\end\\\n"
    head = f"\\data\\\nngram 1={len(grams)}\nngram 2=1\n\n\\1-grams:\n{rows}\n\n"
    (place / "m.arpa").write_text(head + pairs, encoding="utf-8")
    return str(place / "m.arpa")


def gopher(_place, **given):
    return dp.Gopher(**{"min_words": 30, "min_stop_words": None, "max_dup_lines": None, **given})


def fineweb(_place, **given):
    return dp.FineWeb(**{"max_short_lines": 0.5, "min_punctuated_lines": 0.3, **given})


def perplexity(place, **given):
    return dp.Perplexity(model=arpa(place, WORDS["han"]), **{"score_range": (40, 60), **given})


CASES = {
    "latin": (gopher, "min_words", "min_words", (0, 10, 25, 45, 80)),
    "arabic": (fineweb, "max_short_lines", "max_short_lines", (0.1, 0.4, 0.6, 0.9, None)),
    "han": (perplexity, "score_range.high", "score_range", (41, 45, 55, 70, 99)),
}


@pytest.mark.parametrize("script", CASES)
def test_equal_to_a_full_run_at_five_values(tmp_path, script) -> None:
    """Documents that come back, that are newly dropped, their number by source, and the values at the border."""
    if script == "han":
        pytest.importorskip("kenlm")
    make, limit, parameter, values = CASES[script]
    docs, rest = corpus(tmp_path, script), (dp.Exact(), dp.Map(shorter))
    run = dp.Pipeline(dp.Map(shorter), make(tmp_path), *rest).run(docs, str(tmp_path / "run"))
    mine = run.drops().to_pylist()
    known = {"shorter": dp.Map(shorter)}
    step = scored_of(run.url, known=known)
    dropped = {row["id"]: row for row in mine if row["stage"] == step.at.label}
    scores = measured_scores(step, SERIAL, known=known)
    assert scores.how == MEASURED
    for value, other in zip(values, at_values(step, scores, limit, values, 99), strict=True):
        given = {parameter: (40, value) if script == "han" else value}
        full = dp.Pipeline(dp.Map(shorter), make(tmp_path, **given)).run(docs, str(tmp_path / f"at{value}"))
        wanted = {row["id"]: row for row in full.drops().to_pylist() if row["stage"] == step.at.label}
        assert other.dropped == len(wanted)
        assert other.back.tolist() == sorted(dropped.keys() - wanted.keys())
        assert other.new.tolist() == sorted(wanted.keys() - dropped.keys())
        for drop in (*other.examples[0], *other.examples[1]):
            row = dropped.get(drop.id) or wanted[drop.id]
            assert (drop.reason, drop.value, drop.source) == (row["reason"], row["value"], row["source"])
        ids = [*other.back.tolist(), *other.new.tolist()]
        assert sum(map(sum, other.by_source.values())) == len(ids)
        own = sum(id_ < 1 << 40 for id_ in ids)
        assert sum(other.by_source.get(f"{script}0", (0, 0))) == own
    found = at_values(step, scores, limit, values)
    assert any(len(one.back) for one in found)
    assert any(len(one.new) for one in found)


def test_stored_scores_say_what_they_do_not_know(tmp_path) -> None:
    """`Language` stores all scores; a filter with one score those of what it dropped; with several, none."""
    pytest.importorskip("py3langid")
    docs = corpus(tmp_path, "latin")
    run = dp.Pipeline(dp.Language("en", "fr", "de", min_score=0.9)).run(docs, str(tmp_path / "run"))
    step = scored_of(run.url, "Language")
    scores = stored_scores(step)
    assert scores is not None
    assert (len(scores.rows), scores.unknown) == (docs.count, 0)
    assert scores.rows.equals(measured_scores(step, SERIAL).rows)
    (other,) = at_values(step, scores, "min_score", [0.99])
    full = dp.Pipeline(dp.Language("en", "fr", "de", min_score=0.99)).run(docs, str(tmp_path / "full"))
    assert other.dropped == len(full.drops())

    stages = (dp.MC4(min_paragraphs=3, min_paragraph_chars=40), dp.Filter(even))
    run = dp.Pipeline(*stages).run(docs, str(tmp_path / "mc4"))
    step, known = scored_of(run.url), stored_scores(scored_of(run.url))
    assert known is not None
    assert (len(known.rows), known.unknown) == (step.at.stats.docs_dropped, step.at.stats.docs_out)
    (least, full) = (at_values(step, one, "min_paragraphs", [2])[0] for one in (known, measured_scores(step, SERIAL)))
    assert least.back.tolist() == full.back.tolist()
    assert len(least.back) > 0
    (least, full) = (at_values(step, one, "min_paragraphs", [4])[0] for one in (known, measured_scores(step, SERIAL)))
    assert (len(least.new), least.unknown) == (0, step.at.stats.docs_out)
    assert len(full.new) > 0

    scored = dp.Pipeline(dp.Score(dp.MC4(min_paragraph_chars=40))).run(docs, str(tmp_path / "scored"))
    run = dp.Pipeline(dp.MC4(min_paragraphs=3, min_paragraph_chars=40)).run(scored, str(tmp_path / "decided"))
    exact = stored_scores(scored_of(run.url))
    assert exact is not None
    assert exact.unknown == 0

    run = dp.Pipeline(gopher(None)).run(docs, str(tmp_path / "gopher"))
    assert stored_scores(scored_of(run.url)) is None


def test_a_sample_has_intervals_that_hold(tmp_path) -> None:
    """Of the samples by 20 seeds, the interval contains the full number at least 17 times."""
    from dataprep.history import stage_input

    docs = corpus(tmp_path, "latin", 400)
    run = dp.Pipeline(gopher(None)).run(docs, str(tmp_path / "run"))
    step = scored_of(run.url)
    (full,) = at_values(step, measured_scores(step, SERIAL), "min_words", [45])
    hits, patch = 0, pytest.MonkeyPatch()
    for seed in range(20):
        with patch.context() as p:
            p.setattr(stage_input, "SEED", seed)
            scores = measured_scores(step, SERIAL, sample=100)
        (one,) = at_values(step, scores, "min_words", [45])
        assert one.how == SAMPLED
        assert set(one.new.tolist()) <= set(full.new.tolist())
        _, low, high = one.intervals[2]
        hits += low <= len(full.new) <= high
    assert hits >= 17


def test_what_cannot_be_tried_is_one_sentence(tmp_path) -> None:
    """Parameters that change scores, wrong values, functions before the filter, a changed input, hidden input."""
    docs = corpus(tmp_path, "latin")
    run = dp.Pipeline(dp.Filter(even), dp.FineWeb()).run(docs, str(tmp_path / "run"))
    step = scored_of(run.url)
    names = [one.name for one in step.limits]
    assert names == ["min_punctuated_lines", "max_short_lines", "max_dup_line_chars"]
    with pytest.raises(PlanError, match="changes the scores"):
        step.changed("short_line_chars", 20)
    with pytest.raises(PlanError, match="at most 1"):
        step.changed("max_short_lines", 20)
    with pytest.raises(PlanError, match="must be a parameter of FineWeb"):
        step.changed("min_words", 20)
    with pytest.raises(PlanError, match="even cannot be run again"):
        measured_scores(step, SERIAL)
    with pytest.raises(PlanError, match="now decides otherwise"):
        measured_scores(step, SERIAL, known={"even": dp.Filter(all_of_them)})
    assert len(measured_scores(step, SERIAL, known={"even": dp.Filter(even)}).rows) == step.at.stats.docs_in
    with pytest.raises(PlanError, match="which has 'FineWeb'"):
        scored_of(run.url, "Gopher")
    assert scored_steps(str(dp.Pipeline(dp.Exact()).run(docs, str(tmp_path / "exact")).url)) == []
    (tmp_path / "latin0.jsonl").write_text('{"text": "another"}\n')
    with pytest.raises(ReadError, match="has changed"):
        measured_scores(step, SERIAL, known={"even": dp.Filter(even)})


def shorter(text: str) -> str:
    """Leave out the first word."""
    return text.partition(" ")[2] or text


def even(text: str) -> bool:
    """Keep texts of an even length."""
    return len(text) % 2 == 0


def all_of_them(text: str) -> bool:
    """Keep every text."""
    return len(text) > 0
