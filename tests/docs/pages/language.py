"""What the code of docs/language.md needs."""

import pytest

import dataprep as dp
from docs.pages import documents, reasons, texts, write

SAID = {
    "ary": "واش بغيتي تمشي معايا للسوق غدا ولا لا",
    "ary_Latn": "wach bghiti tmchi m3aya l souk ghedda wla la",
    "ar": "هل تريد أن تذهب معي إلى السوق غدا أم لا",
    "fr": "Veux-tu venir avec moi au marché demain matin, ou non ?",
    "en": "Do you want to come to the market with me tomorrow, or not?",
}
HEAD = {"dataprep train-langid ary": 9}
QUIET = {"dataprep train-langid labelled": "the same as above"}
FILES = {"ary": "darija.txt", "ary_Latn": "arabizi.txt", "ar": "msa.txt", "fr": "fr.txt", "en": "en.txt"}


def prepare(here):
    """A text in each of five languages, and forty variants of each to learn from."""
    pytest.importorskip("fasttext")
    pytest.importorskip("py3langid")
    for code, name in FILES.items():
        (here / name).write_text("".join(f"{SAID[code]} {k}\n" for k in range(40)))
    write("labelled.jsonl", [{"text": f"{text} {k}", "lang": code} for code, text in SAID.items() for k in range(40)])
    write("good.jsonl", [f"{SAID['en']} {k}" for k in range(40)])
    write("crawl.jsonl", [f"buy cheap hats {k} now now now" for k in range(40)])


def check(here, names):
    """Texts in Arabic script are kept; the model knows its five languages."""
    assert reasons("work/arabic")["other_language"]
    docs = documents("docs.jsonl", SAID.values())
    dp.Pipeline(dp.Language("ary_Latn", model="darija.bin")).run(docs, out="work/own")
    assert texts("work/own") == [SAID["ary_Latn"]]
    assert (here / "darija.bin.json").is_file()
    two = documents("two.jsonl", [SAID["en"], "buy cheap hats now now now"])
    scored = dp.Pipeline(dp.Score(dp.Quality(model="quality.bin"))).run(two, out="work/two")
    good, bad = scored.table(["quality_score"])["quality_score"].to_pylist()
    assert good > bad
