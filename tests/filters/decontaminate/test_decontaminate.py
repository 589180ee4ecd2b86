"""Decontaminate against its plain twin, the forms of sets, the counts, and bad input."""

from __future__ import annotations

import gzip
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
import twins.decontaminate
from dataprep.core.model.ledger import Ledger, watch
from dataprep.core.model.score import Score
from dataprep.core.pipeline import Pipeline
from dataprep.errors import PlanError
from dataprep.filters.decontaminate.stage import Decontaminate
from dataprep.store.key import key

SHORT = "How many goats did the old keeper count?"
LONG = "In a small town by the sea there lived a baker who sold nine loaves of bread every morning. How many a week?"
ATOMS = ["a", "b", "A", "É", "é", "E\u0301", "\u0130", "i", "Σ", "ς", "σ", "ΑΣ", "سلام", "日本", "_", "7"]
said = st.lists(st.sampled_from(ATOMS), max_size=12)
texts = st.builds(lambda ws, gap: gap.join(ws), said, st.sampled_from([" ", ", ", "\n", "-"]))


def numbers(stage, *some):
    made = stage.score(laws.batch_of(list(some)))
    return {name.removeprefix("decontaminate_"): values.to_pylist() for name, values in made.items()}


def reasons(stage, *some):
    return stage.decide(stage.score(laws.batch_of(list(some)))).to_pylist()


@settings(max_examples=300, deadline=None)
@given(
    some=st.lists(texts, max_size=5),
    one=st.lists(texts, max_size=5),
    two=st.lists(texts, max_size=3),
    ngram=st.integers(1, 5),
    min_words=st.integers(1, 5),
    key_bits=st.sampled_from([0, 2, 64]),
)
def test_kernel_equals_the_twin(some, one, two, ngram, min_words, key_bits):
    """The places and questions of the plain twin, also where all hashes meet."""
    one, two = [*one, "a b b a i"], [*two, "ΑΣ. b a 7 _"]
    sets = {"one": one, "two": two}
    stage = Decontaminate(sets=sets, ngram=ngram, min_words=min_words, _key_bits=key_bits)
    some = [*some, " ".join([*some, *one])]
    found = numbers(stage, *some)
    for name, questions in sets.items():
        want = [twins.decontaminate.contamination(t, questions, ngram, min_words) for t in some]
        assert list(zip(found[name], found[f"{name}_questions"], strict=True)) == want


def test_one_character_in_two_forms():
    """A question with composed characters is found in a text with decomposed ones, and the reverse; not by `regex`."""
    question = "가게에서 포도를 파는 할머니는 몇 살이냐, dit l'élève à côté du château fort"
    forms = [normalize(form, question) for form in ("NFC", "NFD")]
    for asked in forms:
        assert reasons(Decontaminate(sets={"q": [asked]}), *forms) == ["contaminated_q"] * 2
    assert reasons(Decontaminate(sets={"q": forms[:1]}, word_split="regex"), *forms) == ["contaminated_q", None]


def test_thirteen_words_in_a_row():
    """Thirteen words of a question are found whatever stands between them, twelve are not."""
    stage = Decontaminate(sets={"q": [LONG]})
    words = LONG.upper().split()
    assert numbers(stage, "x " + "  -- ".join(words[3:16]) + " x") == {"q": [1], "q_questions": [[1]]}
    assert numbers(stage, " ".join(words[3:15])) == {"q": [0], "q_questions": [[]]}
    assert numbers(stage, " ".join(words[3:15]) + "x " + words[15]) == {"q": [0], "q_questions": [[]]}
    assert numbers(stage, LONG + LONG)["q"] == [2 * (len(words) - 12)]


@pytest.mark.parametrize("script", ["Thai", "Japanese", "Chinese", "Lao", "Khmer", "Myanmar"])
def test_scripts_without_spaces(script):
    """Thirteen characters of a script without spaces are found, whatever punctuation and spaces stand between."""
    first = {"Thai": 0xE01, "Japanese": 0x3041, "Chinese": 0x4E00, "Lao": 0xE94, "Khmer": 0x1780, "Myanmar": 0x1000}
    question = "".join(chr(first[script] + 7 * k % 23) for k in range(20))
    stage = Decontaminate(sets={"q": [question]})
    others = "".join(chr(first[script] + 5 * k % 23) for k in range(60))
    planted = others + " ".join(question[3:10]) + "、\n" + question[10:16] + others
    assert numbers(stage, planted)["q"] == [1]
    assert numbers(stage, others, others + question[3:15] + others)["q"] == [0, 0]


def test_planted_sentences_are_found_in_a_book(shared):
    """Of fifty sentences of a Japanese novel, each is found in a page of it that has it between others."""
    book = (shared / "text" / "books" / "wagahaiwa_nekodearu.txt").read_text("utf-8")
    sentences = sorted({s.strip() for s in book.split("。") if 40 <= len(s.strip()) <= 200})[::20][:50]
    pages = [book[i : i + 2000] for i in range(0, 2000 * 50, 2000)]
    planted = [p[:900] + "\n" + s.replace("、", " , ") + "。" + p[900:] for p, s in zip(pages, sentences, strict=True)]
    found = numbers(Decontaminate(sets={"q": sentences}), *planted)["q_questions"]
    assert len(sentences) == 50
    assert all(n in of_page for n, of_page in enumerate(found, 1))


def test_short_questions():
    """A question of eight to twelve words is one run of all of them; a shorter one is not looked for (see `repr`)."""
    stage = Decontaminate(sets={"q": [SHORT, "How many goats?"]})
    page = "They asked: how many goats did the old keeper count? Nobody knew."
    assert numbers(stage, page, "How many goats?") == {"q": [1, 0], "q_questions": [[1], []]}
    assert "q: 1 of 2 questions" in repr(stage)
    assert reasons(Decontaminate(sets={"q": [SHORT, "How many goats?"]}, min_words=3), "how many goats") == [
        "contaminated_q"
    ]


def test_books_tell_each_set_and_question():
    """Documents, places and questions are counted by set; reporting keeps what dropping drops."""
    sets = {"a": ["", LONG], "b": [SHORT, LONG]}
    batch = laws.batch_of(["clean", LONG, f"{SHORT} {LONG}", SHORT])
    for action, left in (("drop", 1), ("report", 4)):
        ledger = Ledger("Decontaminate")
        out = list(watch(Decontaminate(sets=sets, action=action), iter([batch]), ledger))
        assert out[0].num_rows == left
        n = len(LONG.split()) - 12
        assert ledger.record.counts == {
            "a.documents": 2, "a.ngrams": 2 * n, "a.question.2": 2,
            "b.documents": 3, "b.ngrams": 2 * n + 2, "b.question.1": 2, "b.question.2": 2,
        }  # fmt: skip
        dropped = ledger.drop_table().column("reason").to_pylist()
        assert dropped == (["contaminated_a", "contaminated_a", "contaminated_b"] if action == "drop" else [])
        assert ledger.drop_table().column("value").to_pylist() == ([n, n, 1] if action == "drop" else [])


def test_enough_runs():
    """A document with fewer runs than min_ngrams stays and is not counted; scores serve another threshold."""
    stage = Decontaminate(sets={"q": [LONG]}, min_ngrams=3)
    some = [" ".join(LONG.split()[:n]) for n in (14, 15)]
    assert reasons(stage, *some) == [None, "contaminated_q"]
    scored = next(Score(stage)(iter([laws.batch_of(some)]), Ledger("Score")))
    loose, ledger = Decontaminate(sets={"q": [LONG]}), Ledger("Decontaminate")
    assert loose.measure_key() == stage.measure_key()
    assert [b.num_rows for b in watch(loose, iter([scored]), ledger)] == [0]
    assert ledger.record.counts["q.ngrams"] == 5


def test_a_pipeline_tells_the_questions(tmp_path):
    """Of scores that were sealed as of the documents: the questions found, and in how many documents."""
    docs = laws.dataset_of(tmp_path, ["clean", f"{SHORT} {LONG}", SHORT, "an other", LONG, LONG])
    stage = Decontaminate(sets={"a": ["", SHORT, LONG], "b": [SHORT + " Really"]})
    scored = Pipeline(Score(stage)).run(docs, out=str(tmp_path / "scored"))
    for which in (docs, scored):
        clean = Pipeline(stage).run(which, out=str(tmp_path / f"clean{which is docs}"))
        assert [r["text"] for r in clean.take(9)] == ["clean", "an other"]
        rows = stage.questions(clean).to_pylist()
        assert [(r["set"], r["question"], r["documents"]) for r in rows] == [("a", 3, 3), ("a", 2, 2)]
        assert rows[0]["text"] == LONG
        assert "a.question.3" in str(clean.stats)


def test_a_set_may_be_a_file_a_dataset_or_texts(tmp_path):
    """The same questions have one key, wherever they lie and whatever the form; others have another."""
    (tmp_path / "q.txt").write_text(f"{SHORT}\n{LONG}\n")
    (tmp_path / "q.jsonl").write_text(f'{{"id": 1, "question": "{SHORT}"}}\n{{"question": "{LONG}"}}\n')
    (tmp_path / "q.txt.gz").write_bytes(gzip.compress(f"{SHORT}\n{LONG}".encode()))
    forms = [str(tmp_path / n) for n in ("q.txt", "q.jsonl", "q.txt.gz")]
    forms += [[SHORT, LONG], laws.dataset_of(tmp_path, [SHORT, LONG])]
    stages = [Decontaminate(sets={"q": form}) for form in forms]
    assert len({key(s) for s in stages}) == 1
    assert len({key(s) for s in (stages[0], Decontaminate(sets={"q": [LONG]}), Decontaminate(sets={"r": [LONG]}))}) == 3
    assert Decontaminate(sets=stages[0].sets) == stages[0]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"sets": {}}, "sets must have questions by name"),
        ({"sets": "q.txt"}, "sets must have questions by name"),
        ({"sets": {"q": []}}, "none of the .* has 8 words"),
        ({"sets": {"q": ["too short"]}}, "longest has 2"),
        ({"sets": {"q": 5}}, "URL of a file"),
        ({"sets": {"A.b": [LONG]}}, "must contain only a-z, 0-9 and _"),
        ({"sets": {"q": "nowhere/q.jsonl"}}, "cannot read the list nowhere/q.jsonl"),
        ({"sets": {"q": [LONG]}, "ngram": 0}, "integer of at least 1"),
        ({"sets": {"q": [LONG]}, "action": "cut"}, "'drop' or 'report'"),
    ],
)
def test_bad_input(given, sentence):
    """One sentence says what is wrong."""
    with pytest.raises(PlanError, match=sentence):
        Decontaminate(**given)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("q.jsonl", b'{"question": "a"}\n{"q', "line 2, is not valid JSON"),
        ("q.jsonl", b'{"ask": "a"}', "it has ask; name"),
        ("q.jsonl", b"[1]", "it is a list; name"),
        ("q.txt", b"\xff\xfe", "must be UTF-8"),
        ("q.txt", b"", "none of the"),
    ],
)
def test_bad_files(tmp_path, name, content, sentence):
    """A file that is not what its name says is told with its line."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PlanError, match=sentence):
        Decontaminate(sets={"q": str(tmp_path / name)})


def test_long_books_print_their_largest_counts(tmp_path):
    """Of a hundred questions found the books print what matters and say how many counts they leave out."""
    some = [LONG.replace("town", f"town{n} of") for n in range(100)]
    stage = Decontaminate(sets={"q": some}, action="report")
    seen = Pipeline(stage).run(laws.dataset_of(tmp_path, some), out=str(tmp_path / "seen"))
    assert "q.documents" in str(seen.stats)
    assert "and 62 smaller counts" in str(seen.stats)
    assert len(stage.questions(seen)) == 100
    assert numbers(stage) == {"q": [], "q_questions": []}


def test_letters_in_disguise():
    """Capitals of Turkish, Arabic presentation forms, full-width letters, joiners and soft hyphens hide no question."""
    turkish = "kırmızı ışık yandı ve balıkçı ıslak bir ağacın altında istanbul için iğne aldı"
    arabic = "قال الرجل إن الطريق طويل جدا ولا يمكن أن نصل إلى المدينة قبل غروب الشمس"
    capitals = turkish.replace("i", "İ").replace("ı", "I").upper()
    forms = arabic.replace("لا", "ﻻ").replace("ق", "ﻗ").replace("ر", "ﺮ")
    wide = "".join(chr(ord(c) + 0xFEE0) if "a" <= c <= "z" else c for c in turkish)
    stage = Decontaminate(sets={"q": [turkish, arabic]})
    hidden = turkish.replace("a", "a\u200c"), arabic.replace("ل", "ل\xad")
    some = [capitals, wide, hidden[0], forms, hidden[1], turkish.replace("k", "q")]
    assert stage.score(laws.batch_of(some))["decontaminate_q_questions"].to_pylist() == [[1]] * 3 + [[2]] * 2 + [[]]
    found = Decontaminate(sets={"q": [forms]}).score(laws.batch_of([arabic]))
    assert found["decontaminate_q_questions"].to_pylist() == [[1]]
