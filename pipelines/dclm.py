"""DCLM: main content of pages, RefinedWeb's rules, fuzzy deduplication, and the best tenth (Li et al. 2024).

    dataprep run pipelines/dclm.py --out out/dclm                                  the sample pages
    DCLM_INPUT='crawl/*.warc.gz' DCLM_POSITIVE='good/*.jsonl.zst' dataprep run pipelines/dclm.py --out out/dclm

DCLM_INPUT: WARC files (extra `warc`), or anything that dp.read takes. DCLM_POSITIVE: examples of good texts; the paper
took instructions and well-answered questions. DCLM_QUALITY: a fastText model, such as the published one, instead of
training one. DCLM_LANGID: "lid.176" is nearest to the paper; the default "builtin" needs no download. DCLM_TOP: the
share of pages to keep (0.1).

Thresholds, words and denominators are those of the published code (dp.Gopher(preset="dclm"),
dp.RefinedWeb(preset="dclm")), and of more than two line feeds in a row two are kept. The published code differs in two
points: it drops pages by lists of banned URLs (dp.Hosts takes your own lists), and it removes URLs from texts.
docs/filters.md lists smaller differences of dp.RefinedWeb(preset="dclm").

The sample data has a crawl of three pages, so its other files are read too. From 40 articles and 85 pages a classifier
learns nothing in the usual five epochs: every score is 0.5. So on the sample data it is trained with more epochs, a
higher learning rate, and words that occur once. The result shows that the step works, not which pages are good.
"""

from __future__ import annotations

import os
import re
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
    """Write the main content of every page as a Dataset."""
    return dp.Pipeline().run(dp.read(INPUT), out=out, run=run, replace=True)


def heuristics(ingest, out, run):
    """Keep English pages of prose that do not repeat themselves, by the rules of Gopher and RefinedWeb."""
    english = dp.Language("en", model=LANGID, min_score=0.65)
    rules = (dp.Map(_two_line_feeds), english, dp.Gopher(preset="dclm"), dp.RefinedWeb(preset="dclm"))
    return dp.Pipeline(*rules).run(ingest, out=out, run=run, replace=True)


def dedup(heuristics, out, run):
    """Drop lines and pages if 80 % of their 13-grams occurred earlier in the corpus."""
    return dp.Pipeline(dp.Bloom(unit="ngram")).run(heuristics, out=out, run=run, replace=True)


def classifier(dedup, out):
    """Train a classifier that separates the good texts from the remaining pages of the crawl, once."""
    if MODEL:
        return MODEL
    model, wanted = files.join(out, "quality.bin"), dp.read(POSITIVE or str(SAMPLES / "articles.jsonl"))
    settings = SETTINGS if POSITIVE else TINY

    def make():
        train_classifier({"high": wanted, "low": dedup}, model, settings, positive="high")
        return {"files": [model, f"{model}.json"]}

    receipts.once(f"{model}.receipt.json", key((wanted.key, dedup.key, settings)), make)
    return model


def quality(dedup, classifier, out, run):
    """Keep the best tenth of the pages; the manifest states the threshold in `fits`."""
    return dp.Pipeline(dp.Percentiles(dp.Quality(model=classifier), top=TOP)).run(dedup, out=out, run=run, replace=True)


def _two_line_feeds(text):
    """Return the text with two line feeds in place of more, as the published code does before it counts anything."""
    return re.sub("\n{3,}", "\n\n", text)
