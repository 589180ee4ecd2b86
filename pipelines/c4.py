"""C4: English web pages whose lines read like sentences (Raffel et al. 2020, section 2.2).

    dataprep run pipelines/c4.py --out out/c4                                      the sample pages
    C4_INPUT='crawl/*.warc.wet.gz' C4_BAD_WORDS=lists/en.txt dataprep run pipelines/c4.py --out out/c4

C4_INPUT: WET or WARC files, or anything else that dp.read takes. C4_BAD_WORDS: a list, one entry a line; without one
that rule is off, since no list comes with dataprep. C4_LANGID: another language model, "lid.176" or a path.
Every number is that of the published code, also on the sample: lines of five words, pages of three sentences. Early
versions of the paper have three words and five sentences: dp.C4(preset="paper"). Two things differ. The paper detects
the language with langdetect after the lines were chosen; here whole pages are classified before, so that fewer pages
are cleaned in vain. Sentences are cut by rule, not by NLTK's model (see dp.C4).
"""

from __future__ import annotations

import os
from pathlib import Path

import dataprep as dp

SAMPLES = Path(__file__).parent.parent / "sample_data"
PAGES = [str(SAMPLES / name) for name in ("crawl.warc.wet", "letters.jsonl.gz", "news.jsonl.zst")]
INPUT = os.environ.get("C4_INPUT", PAGES)
BAD_WORDS = os.environ.get("C4_BAD_WORDS")
LANGID = os.environ.get("C4_LANGID", "builtin")


def ingest(out, run):
    """Seal the pages."""
    return dp.Pipeline().run(dp.read(INPUT), out=out, run=run, replace=True)


def language(ingest, out, run):
    """Keep pages that are English with a probability of 0.99; too few letters to tell stay, for C4 to drop."""
    return dp.Pipeline(dp.Language("en", model=LANGID, min_score=0.99)).run(ingest, out=out, run=run, replace=True)


def clean(language, out, run):
    """Keep the lines that end like sentences, and pages with three sentences; no code, no placeholder text."""
    return dp.Pipeline(dp.C4()).run(language, out=out, run=run, replace=True)


def bad_words(clean, out, run):
    """Drop pages with any word of the list."""
    rules = [dp.BadWords(BAD_WORDS, language="en")] if BAD_WORDS else []
    return dp.Pipeline(*rules).run(clean, out=out, run=run, replace=True)


def dedup(bad_words, out, run):
    """Of every three sentences in a row, keep the first occurrence in the whole corpus."""
    return dp.Pipeline(dp.Exact(unit="span3")).run(bad_words, out=out, run=run, replace=True)
