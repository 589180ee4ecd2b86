"""Language, Quality, the models they ask, and training them."""

import gzip
import json
import os
import random
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import dataprep as dp
import laws
from dataprep.cli import app
from dataprep.core.model import batch as B
from dataprep.core.model.score import Score
from dataprep.errors import DataprepError, PlanError
from dataprep.filters.classifiers import models, tables
from dataprep.filters.classifiers.language import UNITS, Language, units_of
from dataprep.filters.classifiers.quality import Quality
from dataprep.filters.classifiers.tables import _tree
from dataprep.filters.classifiers.train import LANGUAGE, TRAINER, ZEROS, Settings, train_classifier
from dataprep.store.key import key
from dataprep.unicode.text import classes
from killed import bytes_of, kills
from twins.langid import plain
from twins.language_units import language_units
from twins.likeliest import likeliest

pytest.importorskip("py3langid")

ENGLISH = "The garden behind the library was open to everyone who lived in the street."
FRENCH = "Le jardin derrière la bibliothèque était ouvert à tous les habitants de la rue."
ARABIC = "كانت الحديقة خلف المكتبة مفتوحة لجميع سكان الشارع في كل يوم من أيام الأسبوع."
SHORT = "ok 12:30 😂"
SMALL = Settings(bucket=1000, dim=8, min_count=1, epochs=25)
WORDS = {"en": ENGLISH.lower().split(), "fr": FRENCH.lower().split(), "ar": ARABIC.split()}


def made_up(language, n, seed=0):
    draw = random.Random(f"{language}{seed}")
    return [" ".join(draw.choices(WORDS[language], k=9)) for _ in range(n)]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A model of three languages, trained on a few made-up texts."""
    pytest.importorskip("fasttext")
    out = str(tmp_path_factory.mktemp("models") / "small.bin")
    return train_classifier({code: made_up(code, 60) for code in WORDS}, out, SMALL)


@pytest.fixture(scope="module")
def lid(shared):
    """The real lid.176."""
    pytest.importorskip("fasttext")
    path = shared.parent / "models" / "lid.176.ftz"
    if not path.exists():
        pytest.skip("no lid.176 beside the repository")
    return str(path)


def rows_of(stage, texts):
    rows, drops, _ = laws.apply(stage, [laws.batch_of(texts)])
    return rows, [d["reason"] for d in drops]


texts = st.text(st.sampled_from("ab é\n\n \r\tع好.1"), max_size=60)


@given(made=st.lists(texts, max_size=6), unit=st.sampled_from(list(UNITS)), size=st.integers(4, 30))
@pytest.mark.parametrize("letters", [0, 3])
def test_units_are_those_of_the_twin(made, unit, size, letters):
    """Documents, paragraphs and lines are cut, shortened and weighed as the plain twin does."""
    offsets, data = B.buffers(laws.batch_of(["aé", *made]).slice(1))
    found, n = units_of(offsets, data, UNITS[unit], size, letters, classes())
    got = [(row, data[a:b].tobytes().decode(), n_bytes) for row, a, b, n_bytes in found[:n].tolist()]
    twin = [(row, *u) for row, text in enumerate(made) for u in language_units(text, unit, size, letters)]
    assert got == twin


def test_languages_are_kept_told_and_dropped_with_reasons():
    """The columns are added while filtering; another language goes, an unsure one too, a short text stays."""
    rows, reasons = rows_of(Language("en", "fr"), [ENGLISH, FRENCH, ARABIC, SHORT, ""])
    assert [r["language"] for r in rows] == ["en", "fr", "und", "und"]
    assert [r["language_score"] > 0.9 for r in rows] == [True, True, False, False]
    assert reasons == ["other_language"]
    ((row,), _) = rows_of(Language("en"), [ENGLISH])
    assert rows_of(Language("en", min_score=row["language_score"]), [ENGLISH])[1] == []
    assert rows_of(Language("en", min_score=row["language_score"] + 1e-4), [ENGLISH])[1] == ["language_score"]
    rows, reasons = rows_of(Language(), [ENGLISH, ARABIC])
    assert [r["language"] for r in rows] == ["en", "ar"]
    rows, reasons = rows_of(Language("en", min_letters=0), ["12:30"])
    assert rows == [] or rows[0]["language"] != "und"


def test_builtin_gives_the_labels_and_scores_of_py3langid():
    """What is stored is the library's own answer, to 1e-4."""
    made = [ENGLISH, FRENCH, ARABIC, ENGLISH.upper(), ENGLISH + "\n" + FRENCH]
    rows, _ = rows_of(Language(), made)
    assert [(r["language"], r["language_score"]) for r in rows] == [
        (label, round(score, 4)) for label, score in map(plain().classify, made)
    ]


@given(made=st.text(max_size=80) | st.lists(st.sampled_from([ENGLISH, FRENCH, ARABIC, "\n"])).map("".join))
def test_the_compiled_walk_is_py3langids(made):
    """Every probability of every language equals the library's own, bit for bit."""
    ours = models.load("builtin").model
    assert type(ours) is not type(plain())
    assert ours.rank(made) == plain().rank(made)
    assert models.load("builtin").top(made.encode(), 1) == models.load("builtin").top(made.encode(), 3)[:1]


ODD = ["", "</s>", "x </s> y z", "__label__fr bonjour", "__label__zz", "\0\x0b a\x0cb", "\u200b", "é" * 9000, "ⴰⵣ 😀"]


def test_lid_176_gives_fasttexts_labels_and_scores(lid, shared):
    """On pages in forty languages, their lines and odd texts, label and score are those of the plain call."""
    with gzip.open(shared / "text/multilingual/tldr_pages_40lang.jsonl.gz") as f:
        pages = [json.loads(line)["text"] for line in list(f)[::60]]
    assert len(pages) > 300
    assert models.load(lid).tables is not None
    assert_fasttexts(lid, [*ODD, *pages, *(line for page in pages[::9] for line in page.split("\n"))])
    assert sorted(Language(model=lid)._classifier().labels) == sorted(models.LID_176.split())


def assert_fasttexts(path, made):
    """Labels and scores of the compiled code are the library's own."""
    stage = Language(model=path, min_letters=0, max_bytes=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models.FastText, "top", lambda *_: pytest.fail("the library was asked"))
        rows, _ = rows_of(stage, made)
    twin = [("und", 0.0) if not text else answer for text, answer in zip(made, likeliest(path, made), strict=True)]
    assert [(r["language"], r["language_score"]) for r in rows] == [(label, round(p, 4)) for label, p in twin]


@pytest.fixture(scope="module")
def quantized(tmp_path_factory):
    """A small model of the kind of lid.176, with vectors of nineteen numbers, and not all words known."""
    fasttext = pytest.importorskip("fasttext")
    folder = tmp_path_factory.mktemp("quantized")
    lines = [f"__label__{code} {text} {i:03}" for code in WORDS for i, text in enumerate(made_up(code, 150))]
    (folder / "lines").write_text("\n".join(lines))
    given = {"dim": 19, "minn": 1, "maxn": 3, "loss": "hs", "bucket": 3000, "input": str(folder / "lines")}
    trained = [sys.executable, "-c", TRAINER]
    told = json.dumps(given | {"path": str(folder / "model.bin")})
    subprocess.run(trained, input=told, text=True, check=True, env=os.environ | ZEROS)
    model = fasttext.FastText._FastText(model_path=str(folder / "model.bin"))
    model.quantize(str(folder / "lines"), cutoff=600, dsub=3, qnorm=False)
    model.save_model(str(folder / "model.ftz"))
    return str(folder / "model.ftz")


def test_a_quantized_model_gives_fasttexts_labels_and_scores(quantized):
    """Vectors of any size, models without norms, and words that it knows or not."""
    assert models.load(quantized).tables is not None
    draw = random.Random(1)
    some = [*WORDS["en"], *WORDS["ar"], "\n", "é", *ODD[:-2]]
    assert_fasttexts(quantized, [*ODD, *(" ".join(draw.choices(some, k=draw.randrange(12))) for _ in range(300))])


def test_a_model_that_compiled_code_would_misread_is_asked_itself(quantized, small, monkeypatch):
    """Another tree gives other answers to the samples, and other kinds of models have no tables."""
    assert models.load(small.path).tables is None
    model = models.load(quantized).model
    monkeypatch.setattr(tables, "_tree", lambda counts: _tree(counts)[::-1])
    assert tables.tables_of(quantized, model) is None


def test_the_first_bytes_are_enough_and_split_no_character(small):
    """Of a long document only max_bytes are looked at; a cut inside a code point takes none of it."""
    long = FRENCH + ARABIC * 50
    rows, _ = rows_of(Language(model=small.path, max_bytes=len(FRENCH.encode()) + 1), [long])
    assert rows[0]["language"] == "fr"
    rows, _ = rows_of(Language(model=small.path, max_bytes=None), [long])
    assert rows[0]["language"] == "ar"


MIXED = f"{ENGLISH}\n{ENGLISH}\n\n{FRENCH}"


def test_units_weigh_by_bytes():
    """The language of a document of lines or paragraphs is the one with the most bytes; shares are of bytes."""
    line = Language("fr", unit="line", mixed=0.3)
    (row,), _ = rows_of(line, [MIXED])
    sizes = [len(t.encode()) for t in (ENGLISH, FRENCH)]
    share = round(sizes[1] / (2 * sizes[0] + sizes[1]), 4)
    assert row["language"] == "en"
    assert [(s["language"], s["share"]) for s in row["languages"]] == [("en", round(1 - share, 4)), ("fr", share)]
    assert rows_of(replace_mixed(line, share), [MIXED])[1] == []
    assert rows_of(replace_mixed(line, share + 1e-4), [MIXED])[1] == ["language_share"]
    (row,), _ = rows_of(Language("fr", unit="paragraph", mixed=0.3), [MIXED])
    assert [s["language"] for s in row["languages"]] == ["en", "fr"]
    assert rows_of(Language("fr", unit="line"), [MIXED])[1] == ["other_language"]


def replace_mixed(stage, mixed):
    return Language(*stage.languages, unit=stage.unit, mixed=mixed)


def test_mixed_documents_by_the_models_probability(small):
    """With unit="document" the share is the model's probability, summed over the kept languages."""
    everything = Language("en", "fr", "ar", model=small.path, mixed=0.98)
    rows, reasons = rows_of(everything, [ENGLISH, MIXED, SHORT])
    assert reasons == []
    assert [len(r["languages"]) for r in rows] == [3, 3, 0]
    assert rows_of(Language("ar", model=small.path, mixed=0.5), [ENGLISH])[1] == ["language_share"]


def test_drops_name_the_language(small):
    """With the score that the model gave or, where shares are compared, the share of the kept languages."""
    for mixed, value in ((None, "language_score"), (0.9, None)):
        stage = Language("fr", model=small.path, mixed=mixed)
        batch, ledger = laws.batch_of([ENGLISH, FRENCH, ARABIC]), laws.Ledger("Language")
        list(laws.watch(stage, iter([batch]), ledger))
        told = stage.score(batch)
        rows = ledger.drop_table().to_pylist()
        assert [(row["id"], row["label"]) for row in rows] == [(0, "en"), (2, "ar")]
        if value:
            assert [row["value"] for row in rows] == [told[value][0].as_py(), told[value][2].as_py()]
        assert all(row["value"] < 0.9 for row in rows if not value)


def test_scores_decide_later(tmp_path, small, monkeypatch):
    """A Pipeline seals the columns, another filters on them without asking the model; a third model asks again."""
    docs = laws.dataset_of(tmp_path, [ENGLISH, FRENCH, ARABIC, SHORT])
    scored = dp.Pipeline(Score(Language(model=small.path, mixed=0.5))).run(docs, str(tmp_path / "scored"))
    assert scored.table().column("language").to_pylist() == ["en", "fr", "ar", "und"]
    monkeypatch.setattr(models.FastText, "top", lambda *_: pytest.fail("the model was asked again"))
    clean = dp.Pipeline(Language("fr", model=small.path)).run(scored, str(tmp_path / "clean"))
    assert clean.table().column("text").to_pylist() == [FRENCH, SHORT]
    clean = dp.Pipeline(Language("fr")).run(scored, str(tmp_path / "builtin"))
    assert clean.table().column("text").to_pylist() == [FRENCH, SHORT]


def test_laws(small, tmp_path):
    """Cuts do not matter, books balance, a stage travels, and its key is the model's content, not its place."""
    made = [ENGLISH, FRENCH, SHORT, ARABIC, MIXED, "", "a\n\n" + FRENCH] * 2
    stages = [Language("en"), Language("fr", model=small.path, unit="line", mixed=0.2), Language(model=small.path)]
    for stage in [
        *stages,
        Score(Language("en", unit="paragraph")),
        Quality(model=small.path, label="fr", score_range=0.5),
    ]:
        laws.cuts_do_not_matter(stage, laws.batch_of(made), [1, 3, 2])
        laws.books_balance(stage, laws.batch_of(made))
        laws.key_and_pickle_are_stable(stage)
    copy = tmp_path / "copy.bin"
    with open(small.path, "rb") as f:
        copy.write_bytes(f.read())
    assert key(Language("en", "fr", model=str(copy))) == key(Language("fr", "en", model=small.path))
    assert len({key(s) for s in (*stages, Language("en", min_score=0.6), Language("en", max_bytes=None))}) == 5
    assert key(Score(Language("en"))) == key(Score(Language("fr", min_score=0.9))) != key(Score(Language(unit="line")))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Language("ary", model="MODEL"), "lacks the code 'ary' .3 codes.; use model='builtin'"),
        (lambda: Language("bar", model="MODEL"), "use model='lid.176'"),
        (lambda: Language("eno"), "lacks the code 'eno' .140 codes.; similar codes are no, eo, en"),
        (lambda: Language("☃"), "use codes such as ace, af"),
        (lambda: Language("en", model="no/such.bin"), "there is no model at 'no/such.bin'"),
        (lambda: Language("en", model="glotlid"), "there is no model 'glotlid' in"),
        (lambda: Language("en", unit="word"), "unit='word' must be one of document, paragraph, line"),
        (lambda: Language("en", min_score=2), "from 0 to 1"),
        (lambda: Language("en", mixed=True), "mixed=True must be a number"),
        (lambda: Language(["en"]), "must be codes"),
        (lambda: Quality(model="MODEL", score_range=0.5), "label=None must be a label of 'MODEL'"),
        (lambda: Quality(model="MODEL", label="fr", score_range=(2, 1)), "must be a score"),
        (lambda: dp.Percentiles(Quality(model="MODEL", label="fr"), top=10.0), "share of the corpus"),
        (lambda: dp.Percentiles(Quality(model="MODEL", label="fr", score_range=0.1), top=0.1), "leave score_range out"),
        (
            lambda: Quality(model="MODEL", label="fr", top=0.1),
            r"Percentiles\(Quality\(model='MODEL', label='fr'\), top=0.1\)",
        ),
        (lambda: Quality(model="builtin", score_range=0.5), "identifies languages only"),
    ],
)
def test_what_is_wrong_is_said_at_once(wrong, said, small, monkeypatch):
    """Unknown codes name the models that have them; numbers and places that make no sense are refused."""
    found = models.find
    monkeypatch.setattr(models, "find", lambda name: small.path if name == "MODEL" else found(name))
    with pytest.raises(PlanError, match=said):
        wrong()


def test_a_file_that_is_no_model_is_one_sentence(small, tmp_path):
    """Text, an empty file, word vectors, a model cut off anywhere: refused before fastText sees them."""
    with open(small.path, "rb") as f:
        whole = f.read()
    vectors = bytearray(whole)
    vectors[8 + 4 * 7] = 1  # the kind: cbow
    broken = [b"", b"just text", whole[:50], whole[:92], whole[: len(whole) // 2], whole[:-1], whole + b"\0", vectors]
    for number, data in enumerate(broken):
        path = tmp_path / f"{number}.bin"
        path.write_bytes(bytes(data))
        with pytest.raises(PlanError, match="is not a fastText model|truncated or damaged|word vectors"):
            Language("en", model=str(path))


def test_models_are_found_by_name(small, tmp_path, monkeypatch):
    """A name is looked for in the folders of DATAPREP_MODELS; the file that is replaced is loaded anew."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DATAPREP_MODELS", f"{tmp_path / 'none'}:{tmp_path / 'mine'}")
    (tmp_path / "mine").mkdir()
    other = train_classifier({"x": made_up("en", 9), "y": made_up("fr", 9)}, str(tmp_path / "mine/ours.bin"), SMALL)
    assert models.find("ours") == other.path
    assert models.load(models.find("ours")).labels == ("x", "y") or set(other.labels) == {"x", "y"}
    before = key(Language(model="ours"))
    train_classifier({"x": made_up("en", 9), "z": made_up("ar", 9)}, other.path, SMALL)
    assert set(models.load(models.find("ours")).labels) == {"x", "z"}
    assert key(Language(model="ours")) != before


def test_a_model_is_downloaded_once_with_its_checksum(small, tmp_path, monkeypatch):
    """A wrong checksum or an unreachable place is a sentence and leaves nothing; a right one is kept and reused."""
    import hashlib
    import os

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("DATAPREP_MODELS", raising=False)
    with open(small.path, "rb") as f:
        data = f.read()
    at, right = f"file://{small.path}", hashlib.sha256(data).hexdigest()
    for url, checksum, said in ((at, "0" * 64, "must have the sha256 0000"), (at + "x", right, "could not be downl")):
        monkeypatch.setitem(models.DOWNLOADS, "lid.176", models.Download(url, checksum, len(data)))
        with pytest.raises(PlanError, match=said):
            models.find("lid.176")
        assert os.listdir(models.cache_folder()) == []
    monkeypatch.setitem(models.DOWNLOADS, "lid.176", models.Download(at, right, len(data)))
    path = models.find("lid.176")
    assert path == str(tmp_path / "dataprep/models/small.bin")
    with open(path, "rb") as f:
        assert f.read() == data


def test_training_is_deterministic_and_told(small, tmp_path):
    """The same texts in another order give the same bytes; the accuracy beside the model is the one measured anew."""
    texts = {code: made_up(code, 60)[::-1] for code in reversed(WORDS)}
    again = train_classifier(texts, str(tmp_path / "again.bin"), SMALL)
    with open(small.path, "rb") as one, open(again.path, "rb") as two:
        assert one.read() == two.read()
    with open(again.path + ".json") as f:
        told = json.load(f)
    assert told["labels"] == sorted(WORDS)
    assert told["n_train"] == {"ar": 54, "en": 54, "fr": 54}
    assert sum(n for row in told["confusion"].values() for n in row.values()) == 18
    assert told["accuracy"] == again.accuracy > 0.9
    other = train_classifier(texts, str(tmp_path / "seed.bin"), replace(SMALL, seed=1))
    assert models.identity(other.path) != models.identity(small.path)


def test_scripts_without_blanks_are_learnt_from_few_texts(tmp_path):
    """Languages that share characters and leave no blanks are told apart by a hundred texts of each."""
    pytest.importorskip("fasttext")
    draw, signs = random.Random(1), [chr(c) for c in range(0x4E00, 0x4E40)]
    own = {"one": [chr(c) for c in range(0x3041, 0x3060)], "two": signs[:8]}
    texts = {k: ["".join(draw.choices(signs + v * 2, k=60)) for _ in range(100)] for k, v in own.items()}
    assert train_classifier(texts, str(tmp_path / "m.bin"), replace(LANGUAGE, bucket=20_000)).accuracy > 0.9


def test_texts_held_out_are_not_learnt(tmp_path):
    """A text that is held out is nowhere in the training text, however often it occurs."""
    pytest.importorskip("fasttext")
    texts = {"a": [f"apple{i} pear" for i in range(20)] * 3, "b": [f"{i}stone rock" for i in range(20)] * 3}
    out = train_classifier(texts, str(tmp_path / "m.bin"), SMALL)
    assert out.n_train == {"a": 18, "b": 18}
    test = {"a": texts["a"][:5], "b": ["pear", "rock"]}
    out = train_classifier(texts, str(tmp_path / "m.bin"), SMALL, test=test)
    assert out.n_train == {"a": 15, "b": 20}
    assert out.confusion["b"] == {"a": 1, "b": 1}
    assert out.accuracy == (out.confusion["a"].get("a", 0) + 1) / 7


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"a": ["x"] * 9, "b": ["y", "z"]}, "'a' has 1 different texts"),
        ({"a": ["x", "y"]}, "at least two labels"),
        ({"a b": ["x", "y"], "c": ["x", "y"]}, "the label 'a b' must be a word"),
    ],
)
def test_training_refuses_what_it_cannot_learn(texts, said, tmp_path):
    """Too few texts or labels, and labels with blanks, are one sentence."""
    pytest.importorskip("fasttext")
    with pytest.raises(PlanError, match=said):
        train_classifier(texts, str(tmp_path / "m.bin"), SMALL)
    with pytest.raises(PlanError, match="positive"):
        Settings(bucket=0)


def test_training_that_fails_says_so(tmp_path):
    """What fastText says when it cannot train is one sentence, and there is no model."""
    pytest.importorskip("fasttext")
    with pytest.raises(DataprepError, match="fastText could not train"):
        train_classifier({c: made_up(c, 20) for c in WORDS}, str(tmp_path / "m.bin"), replace(SMALL, lr=1e30))
    assert not (tmp_path / "m.bin").exists()


def test_quality_keeps_by_score_or_the_top_share(small, tmp_path):
    """The score is the label's probability; keep is a threshold on it, top finds the threshold on the corpus."""
    made = [ENGLISH, FRENCH, *made_up("fr", 4), *made_up("en", 4, seed=1), ARABIC, *made_up("ar", 9, seed=1)]
    scored, _ = rows_of(Score(Quality(model=small.path, label="fr")), made)
    values = np.array([r["quality_score"] for r in scored])
    plain = models.load(small.path)
    assert values.tolist() == [round({n: p for p, n in plain.top(t.encode(), 3)}["fr"], 4) for t in made]
    kept, reasons = rows_of(Quality(model=small.path, label="fr", score_range=0.5), made)
    assert [r["text"] for r in kept] == [t for t, v in zip(made, values, strict=True) if v >= 0.5]
    assert set(reasons) == {"quality_low"}
    kept, reasons = rows_of(Quality(model=small.path, label="fr", score_range=(None, 0.5)), made)
    assert set(reasons) == {"quality_high"}
    docs = laws.dataset_of(tmp_path, made)
    best = dp.Pipeline(dp.Percentiles(Quality(model=small.path, label="fr"), top=0.25)).run(
        docs, str(tmp_path / "best")
    )
    assert best.count == 5
    assert set(best.table().column("text").to_pylist()) == {made[i] for i in np.argsort(-values)[:5]}


def test_commands_train_models_that_the_filters_use(tmp_path):
    """train-langid from files of lines or a labelled field, train-quality from two sets; both print how they did."""
    pytest.importorskip("fasttext")
    places = {}
    for code in ("en", "fr"):
        places[code] = tmp_path / f"{code}.txt"
        places[code].write_text("\n".join(made_up(code, 40)))
    rows = [{"text": t, "lang": code} for code in ("en", "fr") for t in made_up(code, 40)]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, [*rows, {"text": "of no language"}])))
    few = ["--epochs", "4", "--dim", "8"]
    pairs = [f"{code}={path}" for code, path in places.items()]
    said = invoke("train-langid", *pairs, "--format", "lines", "--out", str(tmp_path / "one.bin"), *few)
    assert "trained on 72 texts with 2 labels" in said
    assert "100.00% of 8 held-out texts" in said
    invoke("train-langid", str(tmp_path / "all.jsonl"), "--label", "lang", "--out", str(tmp_path / "two.bin"), *few)
    with open(tmp_path / "one.bin", "rb") as one, open(tmp_path / "two.bin", "rb") as two:
        assert one.read() == two.read()
    assert rows_of(Language("fr", model=str(tmp_path / "one.bin")), [FRENCH])[0][0]["language"] == "fr"
    asked = ["--positive", str(places["fr"]), "--negative", str(places["en"]), "--format", "lines"]
    invoke("train-quality", *asked, "--out", str(tmp_path / "good.bin"), *few, "--epochs", "30")
    kept, _ = rows_of(Quality(model=str(tmp_path / "good.bin"), score_range=0.5), [ENGLISH, FRENCH])
    assert [r["text"] for r in kept] == [FRENCH]
    with pytest.raises(PlanError, match="write CODE=PATH"):
        invoke("train-langid", str(places["en"]), "--out", str(tmp_path / "no.bin"))


def invoke(*arguments):
    done = CliRunner().invoke(app, arguments)
    if done.exception:
        raise done.exception
    return done.output


def test_columns_of_a_table_are_what_the_plan_says():
    """`adds` names exactly the columns that come."""
    for stage in (Language("en"), Language("en", unit="line", mixed=0.1)):
        batch = laws.batch_of([ENGLISH, SHORT])
        (out,) = stage(iter([batch]), laws.Ledger("Language"))
        kinds = {name: out.schema.field(name).type for name in out.schema.names if name not in B.FIXED}
        assert kinds == dict(stage.adds)
        assert isinstance(out, pa.RecordBatch)


def test_a_killed_training_leaves_a_model_with_its_own_description(tmp_path, monkeypatch):
    """Killed at each rename and deletion: `Quality` uses the label of the model that is there."""
    pytest.importorskip("fasttext")
    made = {}
    for name, label in (("old", "fr"), ("new", "ar")):
        (tmp_path / name).mkdir()
        texts = {code: made_up(code, 9) for code in ("en", label)}
        train_classifier(texts, str(tmp_path / name / "m.bin"), SMALL, positive=label)
        made[label] = (tmp_path / name / "m.bin").read_bytes()
    trained, out, seen = str(tmp_path / "new" / "m.bin"), tmp_path / "out", set()
    monkeypatch.setattr("dataprep.filters.classifiers.train._train", lambda *_: trained)

    def again():
        texts = {code: made_up(code, 9) for code in ("en", "ar")}
        return train_classifier(texts, str(out / "m.bin"), SMALL, positive="ar")

    for _ in kills(monkeypatch, tmp_path / "old", out, again):
        label = Quality(score_range=0.5, model=str(out / "m.bin"))._label
        assert (out / "m.bin").read_bytes() == made[label]
        seen.add(label)
        again()
        assert bytes_of(out) == bytes_of(tmp_path / "new")
    assert seen == {"fr", "ar"}
