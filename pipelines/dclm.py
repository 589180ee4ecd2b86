"""DCLM: main content of pages, RefinedWeb's rules, fuzzy removal of what was seen, and the best tenth (Li et al. 2024).

    dataprep run pipelines/dclm.py --out out/dclm                                  the sample pages
    DCLM_INPUT='crawl/*.warc.gz' DCLM_POSITIVE='good/*.jsonl.zst' dataprep run pipelines/dclm.py --out out/dclm

DCLM_INPUT: WARC files (extra `warc`), or anything that dp.read takes. DCLM_POSITIVE: texts such as are wanted; the
paper took instructions and well-answered questions. DCLM_QUALITY: a fastText model instead, such as the published
one; nothing is trained then. DCLM_LANGID: "lid.176" is nearest to the paper; the default "builtin" needs no download.
DCLM_TOP: the share that stays (0.1).

The rules' numbers are the published ones, also on the sample. The published code differs in this: it drops pages by
lists of banned URLs (dp.Hosts takes lists of yours); it removes URLs from texts, and line feeds after two in a row; it
counts each occurrence of a stop word (dp.Gopher: different ones), and splits words as Unicode does, without punctuation
(here: at white space). For smaller differences of dp.RefinedWeb(preset="dclm") see docs/filters.md.

The sample's crawl of three pages is filled up with its other files. Of 40 articles and 85 pages a classifier learns
nothing in five epochs: every score is 0.5. So on the sample alone it learns longer and faster, and words that occur
once too; what it then keeps shows that the step works, not what is good.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import dataprep as dp
from dataprep.filters.classifiers.train import QUALITY, train_classifier
from dataprep.store import files, receipts
from dataprep.store.key import key

SAMPLES = Path(__file__).parent.parent / "sample_data"
PAGES = [str(SAMPLES / name) for name in ("crawl.warc.gz", "crawl.warc.wet", "letters.jsonl.gz", "news.jsonl.zst")]
INPUT = os.environ.get("DCLM_INPUT", PAGES)
POSITIVE = os.environ.get("DCLM_POSITIVE")
MODEL = os.environ.get("DCLM_QUALITY")
LANGID = os.environ.get("DCLM_LANGID", "builtin")
TOP = float(os.environ.get("DCLM_TOP", "0.1"))
SETTINGS = replace(QUALITY, max_texts=200_000)  # of each side, as in the paper
TINY = replace(QUALITY, epochs=100, lr=0.5, min_count=1)  # for the sample


def ingest(out, run):
    """Read the main content of every page, and seal it."""
    return dp.Pipeline().run(dp.read(INPUT), out=out, run=run, replace=True)


def heuristics(ingest, out, run):
    """English pages without furniture that read like prose and do not repeat themselves."""
    rules = (dp.Language("en", model=LANGID, min_score=0.65), dp.Gopher(), dp.RefinedWeb(preset="dclm"))
    return dp.Pipeline(*rules).run(ingest, out=out, run=run, replace=True)


def dedup(heuristics, out, run):
    """Drop lines and pages of which 80 % of the 13-grams were in earlier ones."""
    return dp.Pipeline(dp.Bloom(unit="ngram")).run(heuristics, out=out, run=run, replace=True)


def classifier(dedup, out):
    """Train a classifier that tells the wanted texts from what is left of the crawl, once."""
    if MODEL:
        return MODEL
    model, wanted = files.join(out, "quality.bin"), dp.read(POSITIVE or str(SAMPLES / "articles.jsonl"))
    settings = SETTINGS if POSITIVE else TINY

    def make():
        train_classifier({"high": _texts(wanted), "low": _texts(dedup)}, model, settings, positive="high")
        return {"files": [model, f"{model}.json"]}

    receipts.once(f"{model}.receipt.json", key((wanted.key, dedup.key, settings)), make)
    return model


def quality(dedup, classifier, out, run):
    """Keep the best tenth; the threshold found is in the manifest's fits."""
    return dp.Pipeline(dp.Percentiles(dp.Quality(model=classifier), top=TOP)).run(dedup, out=out, run=run, replace=True)


def _texts(docs):
    return (text for batch in docs.batches(["text"]) for text in batch.column("text").to_pylist())
