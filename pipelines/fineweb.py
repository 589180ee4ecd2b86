"""FineWeb: English pages of prose from crawls, each once, without addresses (Penedo et al. 2024).

    dataprep run pipelines/fineweb.py --out out/fineweb                                     the sample crawl
    FINEWEB_INPUT='crawl/*.warc.gz' FINEWEB_HOSTS=lists/adult dataprep run pipelines/fineweb.py --out out/fineweb

In: WARC files (extra `warc`). Out: Parquet with the columns text, url, date and language_score.

FINEWEB_INPUT: WARC files, or anything with URLs that dp.read takes. FINEWEB_HOSTS: a list of hosts to leave out.
FINEWEB_EXTRACT: "trafilatura" (extra `trafilatura`), as in FineWeb; the default "article" is faster.
FINEWEB_LANGID: "lid.176", as in FineWeb; the default "builtin" needs no download. FINEWEB_LANGUAGE: another language.

The rules, their order and their thresholds are those of the published code; its lists of URLs are not included.
FineWeb deduplicates each dump of Common Crawl alone: run this file once per dump.
"""

from __future__ import annotations

import os
from pathlib import Path

import dataprep as dp

SAMPLE = Path(__file__).parent.parent / "sample_data" / "gallery" / "crawl.warc.gz"
INPUT = os.environ.get("FINEWEB_INPUT", str(SAMPLE))
HOSTS = os.environ.get("FINEWEB_HOSTS") or ()
EXTRACT = os.environ.get("FINEWEB_EXTRACT", "article")
LANGID = os.environ.get("FINEWEB_LANGID", "builtin")
LANGUAGE = os.environ.get("FINEWEB_LANGUAGE", "en")


def ingest(out, runner):
    """Extract the main content of every page, but for pages of banned hosts and pages with banned words in the URL."""
    pages = dp.read(INPUT, columns=["url", "date"], extract=EXTRACT)
    banned = dp.Hosts(HOSTS, banned_words=("casino", "porn"))
    return dp.Pipeline(banned).run(pages, out=out, runner=runner, replace=True)


def language(ingest, out, runner):
    """Keep pages in the language with a score of at least 0.65."""
    rule = dp.Language(LANGUAGE, model=LANGID, min_score=0.65)
    return dp.Pipeline(rule).run(ingest, out=out, runner=runner, replace=True)


def quality(language, out, runner):
    """Keep prose: Gopher's rules, those of C4 but for the ends of lines, and FineWeb's own."""
    c4 = dp.C4(preset="paper", terminal_punctuation=None)
    rules = (dp.Gopher(preset="datatrove"), c4, dp.FineWeb(preset="code"))
    return dp.Pipeline(*rules).run(language, out=out, runner=runner, replace=True)


def dedup(quality, out, runner):
    """Drop near-duplicates: 14 bands of 8 hashes of runs of five words, similar by 75 % or more."""
    return dp.Pipeline(dp.MinHash(preset="fineweb")).run(quality, out=out, runner=runner, replace=True)


def private(dedup, out, runner):
    """Replace e-mail addresses and public IP addresses."""
    return dp.Pipeline(dp.PII(kinds=("email", "ip"))).run(dedup, out=out, runner=runner, replace=True)
