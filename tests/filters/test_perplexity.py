from __future__ import annotations

import gzip
import json
import pickle
import re
import shutil
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
import twins.perplexity
from dataprep import cli
from dataprep.errors import PlanError
from dataprep.filters.ccnet_text import ccnet_lines, ccnet_normal
from dataprep.filters.percentiles import Percentiles
from dataprep.filters.perplexity import Perplexity
from dataprep.ngram import train
from dataprep.store.key import key
from dataprep.unicode.blanks import words

kenlm = pytest.importorskip("kenlm")
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SENTENCES = [f"the {a} {b} {c}" for a in ("big", "old") for b in ("dog", "cat", "owl") for c in ("sleeps", "sings")]


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A small model of a few sentences."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "t.txt").write_text("".join(s + "\n" for s in SENTENCES * 3))
    return train(str(folder / "t.txt"), order=3, out=str(folder / "m.arpa"), discount_fallback=True).path


def scored(stage, texts, **columns):
    """The first score of each text."""
    rows = [{"text": t, **{name: values[i] for name, values in columns.items()}} for i, t in enumerate(texts)]
    return next(iter(stage.score(laws.batch_of(rows)).values())).to_pylist()


chars = st.sampled_from("abAÉéІ٣१１… —’»%\n\n\t\u00a0\u0301한글 the dog")
texts = st.lists(st.one_of(st.text(chars, max_size=30), st.sampled_from(SENTENCES)), max_size=5).map("\n".join)
cuts = st.sampled_from(["head", "tail", (20, 80)])


@few
@given(rows=st.lists(texts, min_size=1, max_size=6))
def test_perplexity_is_ccnets(rows, model):
    """Line by line, and glued as `cc_net` of 2020 did it: the plain twin's number, null without words."""
    score = kenlm.Model(model).score
    for preset in (None, "ccnet2020"):
        found = scored(Perplexity(model=model, preset=preset), rows)
        for text, value in zip(rows, found, strict=True):
            expected = twins.perplexity.ccnet_perplexity(text, score, glued=bool(preset))
            assert (value is None) == (expected is None)
            assert value is None or abs(value - expected) <= 1e-4 + 1e-9 * expected


SPACES = [c for c in map(chr, range(0x110000)) if c.isspace() or c in "\0\u200b\ufeff"]


@pytest.mark.parametrize("space", SPACES, ids=[f"{ord(c):04x}" for c in SPACES])
def test_training_and_scoring_split_the_same_words(space, tmp_path):
    """Any white space scores as in training: like a blank if it is one of lmplz's, else like a letter of the word."""
    text = f"le{space}chat : {space}نام{space}{space}فوق{space} ក{space}ខ 猫{space}犬"
    plain = text.replace(space, {"\n": "\n"}.get(space, " " if space in "\0\t\r " else "x"))
    found = []
    for name, line in (("m", text), ("plain", plain)):
        (tmp_path / f"{name}.txt").write_bytes(f"{line}\n".encode())
        model = train(str(tmp_path / f"{name}.txt"), order=2, out=str(tmp_path / name), discount_fallback=True)
        found.append((model.n_words, scored(Perplexity(model=model.path, normalize=None), [line])))
    assert found[0] == found[1]
    assert words(text) == twins.perplexity.words(text)
    assert len(words(text)) == found[0][0]


def test_the_published_bug_glues_lines(model):
    """As published, the last word of a line and the first of the next are one unknown word."""
    text = "the big dog sings\nthe old cat sleeps"
    right, glued = (scored(Perplexity(model=model, preset=p), [text])[0] for p in (None, "ccnet2020"))
    assert glued > 1.5 * right
    assert glued == scored(Perplexity(model=model), [text.replace("\n", "")])[0]


@given(text=st.text(max_size=40))
def test_normal_text_has_no_capitals_accents_digits(text):
    """What CCNet's normalisation is for, on any text; marks are decomposed and left out."""
    normal = ccnet_normal(text)
    assert not any(c.isdecimal() and c != "0" for c in normal)
    assert "\n" not in normal
    assert ccnet_lines(text).split("\n") == [ccnet_normal(line) for line in text.split("\n")]
    assert ccnet_normal("É １٣ «x»…") == 'e 00 "x"...'


@few
@given(rows=st.lists(texts, max_size=8), sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3))
@pytest.mark.parametrize("unit", ["document", "paragraph"])
def test_it_keeps_the_laws(rows, sizes, unit, model):
    """Cuts do not matter, the books balance, and the stage travels."""
    stage = Perplexity(model=model, unit=unit, score_range=(2, 40))
    batch = laws.batch_of(rows)
    laws.cuts_do_not_matter(stage, batch, sizes)
    laws.books_balance(stage, batch)
    laws.key_and_pickle_are_stable(stage)


def test_both_tails_go(model):
    """Low <= perplexity < high stays; what nobody can measure has a reason of its own."""
    rows = [SENTENCES[0], "xq zz kk", " \n ", "the big the"]
    low, _, _, middle = scored(Perplexity(model=model), rows)
    left, drops, _ = laws.apply(Perplexity(model=model, score_range=(low + 0.1, middle + 0.1)), [laws.batch_of(rows)])
    assert [r["text"] for r in left] == ["the big the"]
    assert [d["reason"] for d in drops] == ["perplexity_low", "perplexity_high", "perplexity_no_words"]
    left, _, _ = laws.apply(Perplexity(model=model, score_range=(low, middle)), [laws.batch_of(rows)])
    assert [r["text"] for r in left] == [SENTENCES[0]]


def test_paragraphs_are_cut(model):
    """Only lines out of range go; lines without words stay; of a document of noise nothing is left."""
    good, noise = SENTENCES[0], "xq zz kk"
    rows = [f"{good}\n{noise}\n\n{good}", f"{noise}\n\n{noise}", "", f"{noise}\n{good}"]
    left, drops, book = laws.apply(
        Perplexity(model=model, unit="paragraph", score_range=(None, 20)), [laws.batch_of(rows)]
    )
    assert [r["text"] for r in left] == [f"{good}\n\n{good}", good]
    assert [d["reason"] for d in drops] == ["perplexity_high", "perplexity_no_words"]
    assert book.counts["lines.perplexity_high"] == 2


def test_scores_are_used_again(model, tmp_path, monkeypatch):
    """A sealed score decides without measuring; what another measure left does not."""
    docs = laws.dataset_of(tmp_path, [*SENTENCES, "xq zz kk"])
    sealed = dp.Pipeline(dp.Score(Perplexity(model=model))).run(docs, out=str(tmp_path / "scored"))
    assert sealed.columns[-1] == "perplexity"
    stage = Perplexity(model=model, score_range=(None, 20))
    assert key(stage) != key(Perplexity(model=model, score_range=(None, 21)))
    assert key(dp.Score(stage)) == key(dp.Score(Perplexity(model=model)))
    monkeypatch.setattr(Perplexity, "_measured", lambda *_: pytest.fail("measured again"))
    assert len(dp.Pipeline(stage).run(sealed, out=str(tmp_path / "clean"))) == len(SENTENCES)
    with pytest.raises(pytest.fail.Exception):
        dp.Pipeline(Perplexity(model=model, preset="ccnet2020")).run(sealed, out=str(tmp_path / "other"))


def test_the_key_is_of_what_the_model_holds(model, tmp_path):
    """A copy of a model elsewhere is the same model, another file under its name is not."""
    copy = tmp_path / "copy.arpa"
    with open(model, "rb") as f:
        data = f.read()
    copy.write_bytes(data)
    assert key(Perplexity(model=str(copy))) == key(Perplexity(model=model))
    before = scored(Perplexity(model=str(copy)), ["the big dog sneezes"])
    copy.write_bytes(data.replace(b"sleeps", b"sneezes"))
    assert key(Perplexity(model=str(copy))) != key(Perplexity(model=model))
    assert scored(Perplexity(model=str(copy)), ["the big dog sneezes"]) < before


def test_each_language_has_its_model(model, tmp_path):
    """{language} in the path chooses; without a model a document stays unmeasured."""
    shutil.copy(model, tmp_path / "en.arpa")
    stage = Perplexity(model=str(tmp_path / "{language}.arpa"), score_range=(None, 20))
    assert stage.needs == ("language",)
    rows = [{"text": t, "language": x} for t in (SENTENCES[0], "xq zz kk") for x in ("en", "ary", None)]
    left, drops, _ = laws.apply(stage, [laws.batch_of(rows)])
    assert [(r["text"], r["language"]) for r in left] == [
        (SENTENCES[0], "en"), (SENTENCES[0], "ary"), (SENTENCES[0], None), ("xq zz kk", "ary"), ("xq zz kk", None),
    ]  # fmt: skip
    assert [d["reason"] for d in drops] == ["perplexity_high"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello\n",
        b"\\data\\\nngram 1=x\n",
        b"\\data\\\nngram 1=5\nngram 2=9\n\n\\1-grams:\n-1\ta\t0\n",
        b"PK\x03\x04",
    ],
)
def test_what_is_no_model_is_one_sentence(content, tmp_path):
    """Empty, other text, a header without numbers, one that promises more than there is, a zip."""
    path = tmp_path / "bad.arpa"
    path.write_bytes(content)
    with pytest.raises(PlanError, match=r"bad\.arpa (is not a language model|must be an ARPA)") as e:
        Perplexity(model=str(path)).warm()
    assert len(str(e.value)) < 400
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"score_range": (5, 5)},
        {"score_range": 5},
        {"score_range": ("a", 1)},
        {"unit": "word"},
        {"normalize": "nfc"},
        {"preset": "ccnet"},
        {"preset": "ccnet2020", "unit": "paragraph"},
        {"model": "absent.arpa"},
        {"tokenizer": "absent.model"},
        {"cut": "heart"},
        {"cut": (5, 5)},
        {"cut": "head", "score_range": (1, 2)},
    ],
)
def test_wrong_parameters_are_refused(wrong, model):
    """Each before any work."""
    with pytest.raises(PlanError):
        Perplexity(**({"model": model} | wrong))


def test_a_missing_model_is_told_from_a_missing_tokenizer(model):
    """Each error states what makes the missing file: train-ngram makes no SentencePiece model."""
    with pytest.raises(PlanError, match=r"there is no model at absent\.arpa; .*`dataprep train-ngram`"):
        Perplexity(model="absent.arpa", tokenizer="absent.model")
    with pytest.raises(PlanError, match=r"no SentencePiece model at .*'absent\.model'.*`dataprep fit-language`"):
        Perplexity(model=model, tokenizer="absent.model")


def ranked(n):
    """Texts of rising perplexity: ever more words that nobody knows."""
    return [" ".join(["the big dog sings"] * (n - i) + ["xq"] * i) for i in range(n)]


@pytest.mark.parametrize(("cut", "expected"), [("head", range(6)), ("middle", range(6, 12)), ("tail", range(12, 20))])
def test_cuts_are_percentiles_of_each_language(cut, expected, model, tmp_path):
    """30, 30 and 40 % of every language, whatever its scale, in the order of their perplexity; disjoint, and all."""
    rows = [{"text": t + extra, "language": x} for x, extra in (("en", ""), ("ary", " zz" * 30)) for t in ranked(20)]
    docs = laws.dataset_of(tmp_path, rows, strings=("language",))
    stage = Percentiles(Perplexity(model=model), cut=cut)
    left = dp.Pipeline(stage).run(docs, out=str(tmp_path / "cut"))
    kept = [(r["text"], r["language"]) for r in left.table().to_pylist()]
    assert kept == [(rows[20 * k + i]["text"], rows[20 * k + i]["language"]) for k in (0, 1) for i in expected]
    assert left.manifest.fits[0]["cuts"]["ary"]["scores"] == 20
    laws.key_and_pickle_are_stable(stage)


def test_cuts_without_languages_and_with_scores(model, tmp_path):
    """No column `language`: one range for all; sealed scores are not measured again; no words is no percentile."""
    docs = laws.dataset_of(tmp_path, [*ranked(20), ""])
    sealed = dp.Pipeline(dp.Score(Perplexity(model=model))).run(docs, out=str(tmp_path / "scored"))
    left = dp.Pipeline(Percentiles(Perplexity(model=model), cut=(10, 90))).run(sealed, out=str(tmp_path / "cut"))
    assert left.table()["text"].to_pylist() == ranked(20)[2:18]
    assert left.manifest.fits[0]["cuts"]["all"]["scores"] == 20
    reasons = Counter(left.drops()["reason"].to_pylist())
    assert reasons == {"perplexity_low": 2, "perplexity_high": 2, "perplexity_no_words": 1}
    scores = dict(zip(sealed.table()["id"].to_pylist(), sealed.table()["perplexity"].to_pylist(), strict=True))
    assert all(row["value"] == scores[row["id"]] for row in left.drops().to_pylist())


@few
@given(
    rows=st.lists(texts, min_size=1, max_size=8),
    cut=st.sampled_from(["head", "tail", (20, 80)]),
    least=st.integers(1, 3),
)
def test_paragraphs_are_cut_at_percentiles_too(rows, cut, least, model, tmp_path_factory):
    """What the plain filter cuts with the same range; documents left without a word, which it drops, are kept here."""
    folder = tmp_path_factory.mktemp("cut")
    docs = laws.dataset_of(folder, rows)
    left = dp.Pipeline(Percentiles(Perplexity(model=model, unit="paragraph"), cut=cut, min_scores=least)).run(
        docs, out=str(folder / "cut")
    )
    found = left.manifest.fits[0]["cuts"].get("all", {"low": None, "high": None})
    plain = Perplexity(model=model, unit="paragraph", score_range=(found["low"], found["high"]))
    expected = {r["id"]: r["text"] for r in laws.apply(plain, list(docs.batches()))[0]}
    here = {r["id"]: r["text"] for r in left.table().to_pylist()}
    assert {i: t for i, t in here.items() if i in expected} == expected
    more = [t for i, t in here.items() if i not in expected]
    assert scored(Perplexity(model=model), more) == [None] * len(more)


def test_the_old_spelling_says_the_new_one(model):
    """Before, Perplexity(cut=) was another class; the error shows the same arguments where they belong now."""
    new = f"Percentiles(Perplexity(model='{model}', unit='paragraph'), cut='head')"
    with pytest.raises(PlanError, match=re.escape(f"must be written {new}")):
        Perplexity(model=model, unit="paragraph", cut="head")


def test_few_and_equal_scores_are_not_cut_away(model, tmp_path):
    """A language of fewer documents than min_scores stays whole; so does what all documents score."""
    rows = [*({"text": SENTENCES[0], "language": "en"} for _ in range(12)), {"text": "xq", "language": "ary"}]
    docs = laws.dataset_of(tmp_path, rows, strings=("language",))
    left = dp.Pipeline(Percentiles(Perplexity(model=model), cut=(10, 90))).run(docs, out=str(tmp_path / "cut"))
    assert len(left) == 13
    assert left.manifest.fits[0]["cuts"]["ary"] == {"low": None, "high": None, "scores": 1}


def test_the_preview_shows_what_would_go(model, tmp_path):
    """The documents nearest to the cut first, with what was measured and how the text begins."""
    docs = laws.dataset_of(tmp_path, ranked(20))
    shown = Percentiles(Perplexity(model=model), cut="head").preview(docs, 3).to_pylist()
    assert [row["text"] for row in shown] == [t[:300] for t in ranked(20)[6:9]]
    assert {row["reason"] for row in shown} == {"perplexity_high"}
    assert list(shown[0]) == ["id", "language", "score", "reason", "text"]
    lines = Percentiles(Perplexity(model=model, unit="paragraph"), cut=(0, 50)).preview(docs, 2).to_pylist()
    assert [row["text"] for row in lines] == [t[:300] for t in ranked(20)[10:12]]
    assert [row["score"] for row in shown] == scored(Perplexity(model=model), ranked(20)[6:9])


def test_pieces_of_sentencepiece(tmp_path):
    """With a tokenizer, words are its pieces; what is no tokenizer is one sentence."""
    sentencepiece = pytest.importorskip("sentencepiece")
    text = tmp_path / "t.txt"
    text.write_text("".join(s + "\n" for s in SENTENCES * 20))
    made = str(tmp_path / "sp")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=made, vocab_size=40, minloglevel=2, hard_vocab_limit=False
    )
    pieces = sentencepiece.SentencePieceProcessor(model_file=made + ".model")
    tokenized = tmp_path / "pieces.txt"
    tokenized.write_text("".join(" ".join(pieces.encode(s, out_type=str)) + "\n" for s in SENTENCES))
    lm = train(str(tokenized), order=3, out=str(tmp_path / "m.arpa"), discount_fallback=True).path
    stage = Perplexity(model=lm, tokenizer=made + ".model")
    words = pieces.encode("the old owl sings", out_type=str)
    expected = 10 ** (-kenlm.Model(lm).score(" ".join(words)) / (len(words) + 1))
    assert np.isclose(scored(stage, ["The  old owl sings"])[0], expected, atol=1e-4)
    assert pickle.loads(pickle.dumps(stage)) == stage
    with pytest.raises(PlanError, match="must be a SentencePiece model"):
        Perplexity(model=lm, tokenizer=lm).warm()


def test_shakespeare_is_told_from_its_reverse(shared, tmp_path):
    """Lmplz's own model finds its text likely, and the same words backwards not."""
    arpa = tmp_path / "m.arpa"
    arpa.write_bytes(gzip.decompress((shared / "ngram" / "shakespeare.3.arpa.gz").read_bytes()))
    lines = gzip.decompress((shared / "ngram" / "shakespeare.txt.gz").read_bytes()).decode().split("\n")[:500]
    backwards = [" ".join(line.split()[::-1]) for line in lines]
    there, back = (scored(Perplexity(model=str(arpa)), ["\n".join(x)])[0] for x in (lines, backwards))
    assert 5 * there < back


def test_score_of_a_null_column(model):
    """Batches without rows have scores too."""
    for unit in ("document", "paragraph"):
        stage = Perplexity(model=model, unit=unit)
        found = next(iter(stage.score(laws.batch_of([])).values()))
        assert len(found) == 0
        assert found.type == next(iter(stage.scores.values()))
        assert pa.types.is_string(stage.decide({next(iter(stage.scores)): found}).type)


def test_the_command_shows_what_a_cut_loses(model, tmp_path, capsys, monkeypatch):
    """The range, how many go, and the nearest of them, each on a line; a wrong cut is one sentence."""
    docs = tmp_path / "docs.jsonl"
    docs.write_text("".join(json.dumps({"text": t}) + "\n" for t in [*ranked(20), ""]))

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["dataprep", "perplexity", str(docs), "--model", model, *args])
        try:
            cli.main()
        except SystemExit as e:
            return e.code, capsys.readouterr()
        return 0, capsys.readouterr()

    code, said = run("--cut", "0,50", "-n", "3")
    assert code == 0
    assert "20 scores" in said.out
    assert "11 are dropped" in said.out
    assert said.out.count("perplexity_high") == 3
    assert run("--cut", "1,x")[0] == run("--cut", "heart")[0] == 1
