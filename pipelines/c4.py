"""C4: English web pages whose lines read like sentences (Raffel et al. 2020, section 2.2).

    dataprep run pipelines/c4.py --out out/c4                                      the sample pages
    C4_INPUT='crawl/*.warc.wet.gz' C4_BAD_WORDS=lists/en.txt dataprep run pipelines/c4.py --out out/c4

C4_INPUT: WET or WARC files, or anything else that dp.read takes. C4_BAD_WORDS: a list of words, one per line; without
it that rule is off, since no list comes with dataprep. C4_LANGID: another language model, "lid.176" or a path.

Every number is that of the published code: lines of five words, pages of three sentences. Early versions of the paper
have three words and five sentences: dp.C4(preset="paper"). Two things differ from the paper. The paper detects the
language with langdetect after lines were removed; here the language of whole pages is detected first, so that fewer
pages need cleaning. The ends of sentences are found by rules, not by NLTK's model (see dp.C4).
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


def ingest(out, runner):
    """Write the pages as a Dataset."""
    return dp.Pipeline().run(dp.read(INPUT), out=out, runner=runner, replace=True)


def language(ingest, out, runner):
    """Keep pages that are English with a probability of 0.99, and pages with too few letters to detect the language."""
    return dp.Pipeline(dp.Language("en", model=LANGID, min_score=0.99)).run(
        ingest, out=out, runner=runner, replace=True
    )


def clean(language, out, runner):
    """Keep lines that end like sentences, and pages with three sentences; drop pages with code or placeholder text."""
    return dp.Pipeline(dp.C4()).run(language, out=out, runner=runner, replace=True)


def bad_words(clean, out, runner):
    """Drop pages with any word of the list."""
    rules = [dp.BadWords(BAD_WORDS, language="en")] if BAD_WORDS else []
    return dp.Pipeline(*rules).run(clean, out=out, runner=runner, replace=True)


def dedup(bad_words, out, runner):
    """Cut every three sentences in a row that occurred before in the corpus."""
    return dp.Pipeline(dp.Exact(unit="span3")).run(bad_words, out=out, runner=runner, replace=True)
