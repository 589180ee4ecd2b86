"""Forwarded messages: copies of a text with small changes are found by MinHash on characters; short messages stay."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from datetime import datetime, timedelta

import pytest

import dataprep as dp
from dataprep.errors import PlanError
from dataprep.messages.clean import CleanMessages

VOCABULARIES = """
wach nta jay l ldar 3lach ma bghitich tji 9albi hania lyoum kayn chi jdid 7ta ana safi wakha daba nchofo ghda m3a drari
f sba7 bekri hit tomobil khasra o lwalida mrida chwiya walakin ghadi tkon bikhir

demain le marché de la place ouvre plus tôt parce que les maraîchers attendent une livraison de légumes et notre
association cherche des bénévoles pour ranger les caisses avant midi merci beaucoup

غدا إن شاء الله غادي يكون الاجتماع ديال الجمعية فالحديقة مع الثمنية ديال الصباح واللي بغا يعاون يجيب معاه شوية
ديال الما والخبز حيت النهار طويل والشمس سخونة بزاف
"""
WORDS = [vocabulary.split() for vocabulary in VOCABULARIES.split("\n\n")]
SHORT = ("ok", "oui", "hhhhhh", "صافي", "wakha", "merci !", "👍", "lol", "c'est bon pour moi", "sbah lkhir", "fin nta?")
MIN_CHARS = 60


def sentence(rng, words):
    return " ".join(rng.choices(rng.choice(WORDS), k=words))


def changed(rng, text):
    """The text as it is forwarded: a word changed, and a header, emoji, white space or a link."""
    words = text.split(" ")
    words[rng.randrange(len(words))] = rng.choice(["vraiment", "bzaf", "كثير"])
    text = " ".join(words)
    return rng.choice([
        lambda: text,
        lambda: "Forwarded many times\n" + text,
        lambda: text + " 🙏🙏🙏❤️",
        lambda: "⚠️⚠️ " + text.upper(),
        lambda: text.replace(" ", "  ") + "\nhttps://example.org/" + str(rng.randrange(10**9)),
        lambda: "*" + text + "*\n\nمنقول",
    ])()  # fmt: skip


def export(path, messages):
    """The messages as a WhatsApp export, one a minute."""
    clock = (datetime(2024, 5, 13) + timedelta(minutes=i) for i in itertools.count())
    lines = (f"{now:%d/%m/%Y, %H:%M} - Ilse: {text}\n" for now, text in zip(clock, messages, strict=False))
    path.write_text("".join(lines), encoding="utf-8")


def test_forwards_are_found(tmp_path) -> None:
    """Of 1,000 changed copies, 99 % go for one of their kind, nothing else goes, and no short message is touched."""
    rng = random.Random(5)
    forwards = [sentence(rng, rng.randint(20, 60)) for _ in range(250)]
    said = [(None, rng.choice(SHORT)) for _ in range(3000)]
    said += [(None, sentence(rng, rng.randint(3, 40))) for _ in range(3000)]
    said += [(f, changed(rng, text)) for f, text in enumerate(forwards) for _ in range(5)]
    rng.shuffle(said)
    export(tmp_path / "chat.txt", [text for _, text in said])
    docs = dp.read(str(tmp_path / "chat.txt"), format="whatsapp")
    which = dict(zip(docs.table()["id"].to_pylist(), (f for f, _ in said), strict=True))
    forward = dp.MinHash(preset="dialect", min_shingles=MIN_CHARS - 3)
    clean = dp.Pipeline(CleanMessages(), forward).run(docs, out=str(tmp_path / "clean"))
    drops = _drops(tmp_path / "clean")
    gone = Counter(which[d["id"]] == which[d["duplicate_of"]] for d in drops if which[d["id"]] is not None)
    assert not any(which[d["id"]] is None for d in drops), "an ordinary message is no copy"
    assert gone[False] == 0
    assert gone[True] >= 0.99 * 4 * len(forwards)
    assert Counter(clean.table()["text"].to_pylist())["ok"] == sum(text == "ok" for _, text in said)


def _drops(folder):
    import pyarrow.parquet as pq

    return [d for d in pq.read_table(folder / "drops").to_pylist() if d["reason"] == "near_duplicate"]


@pytest.mark.parametrize(("shingle", "ngram", "text"), [("char", 4, "abcdefgh"), ("word", 2, "a b c d e f")])
def test_min_shingles(tmp_path, shingle, ngram, text) -> None:
    """A document with as many shingles is compared, one with fewer resembles nothing, not even itself."""
    n = 5
    texts = [text, text, text[:-2], text[:-2], "", ""]
    (tmp_path / "a.jsonl").write_text("".join(f'{{"text": "{t}"}}\n' for t in texts))
    docs = dp.read(str(tmp_path / "a.jsonl"))
    for least, left in ((n, 5), (n + 1, 6), (1, 4)):
        stage = dp.MinHash(threshold=0.9, shingle=shingle, ngram=ngram, min_shingles=least)
        assert dp.Pipeline(stage).run(docs, out=str(tmp_path / f"out{least}")).count == left
    with pytest.raises(PlanError, match="min_shingles"):
        dp.MinHash(min_shingles=0)
