"""Moroccan Darija and Arabic: atlasia/AtlaSet, streamed from the Hugging Face hub, to token shards and a model.

    dataprep run pipelines/atlaset.py --to encode --out out/atlaset
    ATLASET=path/to/a/data-set dataprep run pipelines/atlaset.py       a local data set of the same shape
    ATLASET_LANGID=darija.bin dataprep run pipelines/atlaset.py        a model of `dataprep train-langid`

The rows have `text` and `dataset_source`, the name of the collection that a text is from. Both columns are kept, and
the collections are the sources of the documents, so that statistics and the report are by collection.
"""

from __future__ import annotations

import os

import dataprep as dp

HUB = "hf://datasets/atlasia/AtlaSet"
LANGID = os.environ.get("ATLASET_LANGID", "builtin")
KEEP = ("ary", "ary_Latn", "ar")  # the codes of docs/language.md; builtin has no ary_Latn
SURE = 0.9
VOCABULARY = int(os.environ.get("ATLASET_VOCABULARY", "32000"))
VAL = 0.005
PRESET = "11m"


def ingest(out, runner):
    """Download the rows once into a Parquet file, and write them as a Dataset."""
    place = os.environ.get("ATLASET", HUB)
    collection = {"columns": {"dataset_source": "string"}, "source": "field:dataset_source"}
    docs = dp.read(place, format="hf", split="train", out=f"{out}-stream", **collection)
    return dp.Pipeline().run(docs, out=out, runner=runner, replace=True)


def language(ingest, out, runner):
    """Detect the language of every text, and drop texts that are another language with a score of at least 0.9.

    The model "builtin" classifies Darija in Arabic letters mostly as Arabic, and Darija in Latin letters (Arabizi) as
    Uzbek, Somali or Maltese with scores under 0.9. With the limit 0.9, the step drops 81 % of English sentences, 0 % of
    Darija in Arabic letters and 3 % of Arabizi (9,000 sentences of SmartlyAI each), and 7 % of another set of Arabizi,
    mixed with English; with 0.5 it would drop 97, 2, 7 and 15 %. A model that you train yourself separates them better.
    """
    return dp.Pipeline(dp.Language(model=LANGID), dp.Filter(foreign)).run(ingest, out=out, runner=runner, replace=True)


def foreign(language, language_score):
    """Return a reason to drop a text of another language; texts with too few letters to detect theirs are kept."""
    return "other_language" if language not in (*KEEP, "und") and language_score >= SURE else None


def filter(language, out, runner):  # noqa: A001 - the step's name
    """Drop texts that are not prose or that repeat themselves, by the rules of C4 and Gopher.

    Darija is written as it is spoken, in Arabic letters or in Latin ones with digits, and mostly without full stops.
    C4's rules for ends of lines and sentences would drop nearly all of it, so they are off. Messages are shorter than
    Gopher's 50 words and may lack its two stop words, so 3 words and 1 stop word (of Darija or Arabic) are enough: 90 %
    of Darija sentences have one, 2 % of English sentences.
    """
    lines = dp.C4(terminal_punctuation=None, min_words=3, min_sentences=None, curly_bracket=False)
    prose = dp.Gopher(languages=("ary", "ary-Latn", "ar"), min_words=3, min_stop_words=1)
    return dp.Pipeline(lines, prose).run(language, out=out, runner=runner, replace=True)


def dedup_exact(filter, out, runner):  # noqa: A002
    """Drop exact copies: some texts are in several collections."""
    return dp.Pipeline(dp.Exact()).run(filter, out=out, runner=runner, replace=True)


def dedup_minhash(dedup_exact, out, runner):
    """Drop near-duplicates, found by runs of four characters instead of words, since Darija has no fixed spelling."""
    return dp.Pipeline(dp.MinHash(preset="dialect")).run(dedup_exact, out=out, runner=runner, replace=True)


def tokenizer(dedup_minhash, out, runner):
    """Train a byte-level BPE on the texts."""
    return dp.train_bpe(dedup_minhash, vocab_size=VOCABULARY, val=VAL, runner=runner, out=out)


def encode(dedup_minhash, tokenizer, out, runner):
    """Write uint16 shards."""
    return dp.encode(dedup_minhash, tokenizer, out=out, val=VAL, runner=runner, replace=True)


def train(encode, out):
    """Train a GPT of eleven million parameters; with a GPU, it takes minutes."""
    return dp.train(encode, out=out, config=PRESET)
