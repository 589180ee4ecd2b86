"""CCNet, the cleaning of Common Crawl for LLaMA-1 (Wenzek et al. 2020; Touvron et al. 2023, section 2.1).

    dataprep run pipelines/ccnet.py --out out/ccnet                                the sample pages
    CCNET_INPUT='crawl/*.warc.wet.gz' CCNET_REFERENCE='wiki/*.jsonl.zst' dataprep run pipelines/ccnet.py --out out/fr

CCNET_INPUT: WET files, or anything that dp.read takes. CCNET_REFERENCE: good text on which the n-gram model is trained
(in the paper: Wikipedia). CCNET_LANGUAGE: the code of the language to keep (en). CCNET_LANGID: the model that detects
languages; the paper's is "lid.176"; the default "builtin" needs no download. CCNET_CUT: the third of the pages to keep:
head (the default), middle or tail.

Without CCNET_REFERENCE, the n-gram model is trained on 40 sample articles, with fixed discounts, since discounts cannot
be computed from so little text. Four things differ from the paper. Words are split at white space; the paper splits
them with SentencePiece (tokenizer= of dp.Perplexity). Each line is normalised and scored alone; `cc_net` joins the
lines of a page first (preset="ccnet2020"). Repeated paragraphs are found in the whole input; the paper compares groups
of shards. LLaMA's classifier of pages that Wikipedia cites is not included: see `quality` in dclm.py.
"""

from __future__ import annotations

import os
from pathlib import Path

import dataprep as dp
from dataprep import ngram
from dataprep.filters.ccnet_text import ccnet_lines
from dataprep.store import files, receipts
from dataprep.store.key import key

SAMPLES = Path(__file__).parent.parent / "sample_data"
PAGES = [str(SAMPLES / name) for name in ("crawl.warc.wet", "guide.parquet", "letters.jsonl.gz", "news.jsonl.zst")]
INPUT = os.environ.get("CCNET_INPUT", PAGES)
REFERENCE = os.environ.get("CCNET_REFERENCE")
LANGUAGE = os.environ.get("CCNET_LANGUAGE", "en")
LANGID = os.environ.get("CCNET_LANGID", "builtin")
CUT = os.environ.get("CCNET_CUT", "head")
ORDER = 5


def ingest(out, runner):
    """Write the pages as a Dataset."""
    return dp.Pipeline().run(dp.read(INPUT), out=out, runner=runner, replace=True)


def dedup(ingest, out, runner):
    """Cut paragraphs that occurred before (menus, notices, copied articles); numbers and accents are ignored."""
    return dp.Pipeline(dp.Exact(unit="paragraph")).run(ingest, out=out, runner=runner, replace=True)


def language(dedup, out, runner):
    """Keep pages in the chosen language with a score of at least 0.5, as in the paper."""
    rule = dp.Language(LANGUAGE, model=LANGID, min_score=0.5)
    return dp.Pipeline(rule).run(dedup, out=out, runner=runner, replace=True)


def reference(out, runner):
    """Keep the reference texts in the chosen language, normalised as Perplexity normalises pages: lower case ..."""
    docs = dp.read(REFERENCE or str(SAMPLES / "articles.jsonl"))
    stages = (dp.Language(LANGUAGE, model=LANGID), dp.Map(ccnet_lines))
    return dp.Pipeline(*stages).run(docs, out=out, runner=runner, replace=True)


def model(reference, out):
    """Train a Kneser-Ney model of 5-grams on the reference texts, once."""
    arpa, fallback = files.join(out, f"{LANGUAGE}.arpa"), REFERENCE is None

    def make():
        ngram.train(reference, out=arpa, order=ORDER, discount_fallback=fallback)
        return {"files": [arpa]}

    receipts.once(f"{arpa}.json", key((reference.key, ORDER, fallback)), make)
    return arpa


def perplexity(language, model, out, runner):
    """Keep the third of the pages that the model predicts best; the manifest states the bounds in `fits`."""
    cut = dp.Percentiles(dp.Perplexity(model=model), cut=CUT)
    return dp.Pipeline(cut).run(language, out=out, runner=runner, replace=True)
