"""DCLM: main content of pages, RefinedWeb's rules, fuzzy deduplication, and the best tenth (Li et al. 2024).

    dataprep run pipelines/dclm.py --out out/dclm                                  the sample pages
    DCLM_INPUT='crawl/*.warc.gz' DCLM_POSITIVE='good/*.jsonl.zst' dataprep run pipelines/dclm.py --out out/dclm

DCLM_INPUT: WARC files (extra `warc`), or anything that dp.read takes. DCLM_POSITIVE: examples of good texts; the paper
took instructions and well-answered questions. DCLM_QUALITY: a fastText model, such as the published one, instead of
training one. DCLM_LANGID: "lid.176" is nearest to the paper; the default "builtin" needs no download. DCLM_TOP: the
share of pages to keep (0.1). DCLM_HOSTS, DCLM_URL_WORDS: lists of banned domains, and of words banned in URLs, such as
those of DCLM's code; without them no page is dropped for its URL. DCLM_TLDS: a list of top-level domains, one per line.

Thresholds, words and denominators are those of the published code (dp.Gopher(preset="dclm"),
dp.RefinedWeb(preset="dclm")); stop words are counted each time they occur, URLs and IP addresses are removed from
texts, and of more than two line feeds in a row two are kept. Two things differ. A banned domain bans its subdomains
too, and of the lists of words only those are taken that ban a URL wherever they occur in it. Without DCLM_TLDS, only
URLs with http, https, ftp or www are removed; with it, also names such as example.org. docs/conformance.md lists
smaller differences.

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
HOSTS, URL_WORDS = os.environ.get("DCLM_HOSTS") or (), os.environ.get("DCLM_URL_WORDS") or ()
TLDS = os.environ.get("DCLM_TLDS")
TOP = float(os.environ.get("DCLM_TOP", "0.1"))
SETTINGS = replace(QUALITY, max_texts=200_000)  # of each side, as in the paper
TINY = replace(QUALITY, epochs=100, lr=0.5, min_count=1)  # for the sample


def url_pattern(tlds):
    """Return a regular expression for the URLs to remove, with up to ten blanks before them; tlds: a file, or None."""
    names = Path(tlds).read_text(encoding="utf-8").split() if tlds else []
    name, rest = r"[-\w@:%.+~#=]{1,256}", r"[-\w()@:%+.~#?&/=]*"
    ends = rf"|(?:(?:https?|ftp)://)?{name}\.(?:{'|'.join(map(re.escape, names))})\b" if names else ""
    address = r"\b(?:(?:https?|ftp)://)?(?:[0-2]?\d{1,2}\.){3}[0-2]?\d{1,2}"
    return rf"(?a:\s{{0,10}}(?:{address}|(?:(?:https?|ftp)://|\bwww\.){name}{ends}){rest})"


URL = url_pattern(TLDS)


def ingest(out, runner):
    """Write the main content of every page as a Dataset, without pages of banned URLs."""
    columns = ["url"] if HOSTS or URL_WORDS else None
    docs = dp.read(INPUT, columns=columns, extract="resiliparse")
    banned = [dp.Hosts(HOSTS, banned_words=URL_WORDS)] if HOSTS or URL_WORDS else []
    return dp.Pipeline(*banned).run(docs, out=out, runner=runner, replace=True)


def heuristics(ingest, out, runner):
    """Keep English pages of prose that do not repeat themselves, by the rules of Gopher and RefinedWeb."""
    english = dp.Language("en", model=LANGID, min_score=0.65)
    rules = (dp.Map(_tidy), english, dp.Gopher(preset="dclm"), dp.RefinedWeb(preset="dclm"))
    return dp.Pipeline(*rules).run(ingest, out=out, runner=runner, replace=True)


def dedup(heuristics, out, runner):
    """Drop lines and pages if 80 % of their 13-grams occurred earlier in the corpus."""
    return dp.Pipeline(dp.Bloom(unit="ngram")).run(heuristics, out=out, runner=runner, replace=True)


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


def quality(dedup, classifier, out, runner):
    """Keep the best tenth of the pages; the manifest states the threshold in `fits`."""
    return dp.Pipeline(dp.Percentiles(dp.Quality(model=classifier), top=TOP)).run(
        dedup, out=out, runner=runner, replace=True
    )


def _tidy(text):
    """Return the text without URLs, and with two line feeds in place of more, as DCLM does before it counts."""
    return re.sub("\n{3,}", "\n\n", re.sub(URL, "", text))
