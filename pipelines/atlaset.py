"""Moroccan Darija and Arabic, in Arabic and in Latin letters, to token shards and a model.

    dataprep run pipelines/atlaset.py --out out/darija                                         the sample texts
    ATLASET=hf://datasets/atlasia/AtlaSet dataprep run pipelines/atlaset.py --to encode --out out/atlaset

In: rows with `text` and `dataset_source`, the name of the collection that a text is from. Both columns are kept, and
the collections are the sources of the documents, so that statistics and the report are by collection. Out: Parquet, a
tokenizer, uint16 shards and a GPT.

ATLASET: a data set of the Hugging Face hub, or a folder of `save_to_disk` (extra `hf`). ATLASET_LANGID: a model of
`dataprep train-langid`. ATLASET_VOCABULARY: the size of the vocabulary. With the sample, whose texts are invented, the
vocabulary and the model are small.
"""

from __future__ import annotations

import os
from pathlib import Path

import dataprep as dp

SAMPLE = Path(__file__).parent.parent / "sample_data" / "gallery" / "darija.jsonl"
DATA_SET = os.environ.get("ATLASET")
LANGID = os.environ.get("ATLASET_LANGID", "builtin")
KEEP = ("ary", "ary_Latn", "ar")  # the codes of docs/language.md; builtin has no ary_Latn
SURE = 0.9
VOCABULARY = int(os.environ.get("ATLASET_VOCABULARY", "32000" if DATA_SET else "800"))
VAL = 0.005 if DATA_SET else 0.1
PRESET, SETTINGS = ("11m", []) if DATA_SET else ("tiny", ["steps=50"])


def ingest(out, runner):
    """Write the rows as a Dataset; those of the hub are downloaded once, into a Parquet file."""
    options = {"columns": {"dataset_source": "string"}, "source": "field:dataset_source"}
    if DATA_SET:
        options |= {"format": "hf", "split": "train", "out": f"{out}-stream"}
    docs = dp.read(DATA_SET or str(SAMPLE), **options)
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
    """Train a GPT: of eleven million parameters, which takes minutes with a GPU, or a tiny one for the sample."""
    return dp.train(encode, out=out, config=PRESET, settings=SETTINGS)
