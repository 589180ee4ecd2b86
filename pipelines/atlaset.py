"""Moroccan Darija, with the Arabic beside it: atlasia/AtlaSet, streamed from the hub, to token shards and a model.

    dataprep run pipelines/atlaset.py --to encode --out out/atlaset
    ATLASET=path/to/a/data-set dataprep run pipelines/atlaset.py       a local data set of the same shape
    ATLASET_LANGID=darija.bin dataprep run pipelines/atlaset.py        a model of `dataprep train-langid`

The rows have `text` and `dataset_source`, which of its collections a text is from; that column is kept beside the text.
"""

from __future__ import annotations

import os

import dataprep as dp
from dataprep import train as trainer

HUB = "hf://datasets/atlasia/AtlaSet"
LANGID = os.environ.get("ATLASET_LANGID", "builtin")
KEEP = ("ary", "ary_Latn", "ar")  # the codes of docs/language.md; builtin has no ary_Latn
SURE = 0.9
VOCABULARY = int(os.environ.get("ATLASET_VOCABULARY", "32000"))
VAL = 0.005
CONFIG = trainer.preset("11m")


def ingest(out, run):
    """Stream the rows once into Parquet, and seal them."""
    place = os.environ.get("ATLASET", HUB)
    docs = dp.read(place, format="hf", split="train", columns={"dataset_source": "string"}, out=f"{out}-stream")
    return dp.Pipeline().run(docs, out=out, run=run, replace=True)


def language(ingest, out, run):
    """Tell the language of every text, and drop those that are surely of another.

    builtin knows Darija in Arabic letters, mostly as Arabic, but takes Arabizi for Uzbek, Somali or Maltese, with
    scores under 0.9. Of 9,000 sentences of SmartlyAI each, dropping from there on loses 81 % of the English ones, none
    of Darija in Arabic letters and 3 of Arabizi, but 7 % of an Arabizi set that is mixed with English. From 0.5 on it
    would be 97, 2, 7 and 15 % (of some 1,200). A model of your own tells them apart.
    """
    return dp.Pipeline(dp.Language(model=LANGID), dp.Filter(foreign)).run(ingest, out=out, run=run, replace=True)


def foreign(language, language_score):
    """Surely of another language; too few letters to tell stay."""
    return "other_language" if language not in (*KEEP, "und") and language_score >= SURE else None


def filter(language, out, run):  # noqa: A001 - the step's name
    """Take out what is no running text, with the marks of many scripts, and what repeats itself.

    Darija is written as it is spoken, in Arabic letters or in Latin ones with digits, and mostly without full stops:
    C4's line and sentence rules would drop nearly all of it, so they are off. A message has fewer than Gopher's 50
    words, and not always two stop words: of those sentences one in ten has none, of English ones 98 in a hundred.
    """
    lines = dp.C4(end_marks=None, min_words=3, min_sentences=None, curly_bracket=False)
    prose = dp.Gopher(languages=("ary", "ary-Latn", "ar"), min_words=3, min_stop_words=1)
    return dp.Pipeline(lines, prose).run(language, out=out, run=run, replace=True)


def dedup_exact(filter, out, run):  # noqa: A002
    """Drop what is the same byte for byte: collections share sources."""
    return dp.Pipeline(dp.Exact()).run(filter, out=out, run=run, replace=True)


def dedup_minhash(dedup_exact, out, run):
    """Drop spelling variants too: Darija has no fixed spelling, so four characters are the unit, not five words."""
    return dp.Pipeline(dp.MinHash(preset="dialect")).run(dedup_exact, out=out, run=run, replace=True)


def tokenizer(dedup_minhash, out, run):
    """Learn a byte-level BPE of Darija's own."""
    return dp.train_bpe(dedup_minhash, vocab_size=VOCABULARY, val=VAL, run=run, out=out)


def encode(dedup_minhash, tokenizer, out, run):
    """Write uint16 shards."""
    return dp.encode(dedup_minhash, tokenizer, out=out, val=VAL, run=run, replace=True)


def train(encode, out):
    """Train a GPT of eleven million parameters; a GPU makes it minutes."""
    return trainer.train(encode, out=out, config=CONFIG)
