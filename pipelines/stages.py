"""Each stage alone on the sample data, to see what it does; `make language` and its neighbours run these steps.

    make dedup-url                                          or  dataprep run pipelines/stages.py --to dedup-url
    STAGES_INPUT='crawl/*.jsonl.zst' make dedup-semantic ARGS=--workers=2    your own: anything that dp.read takes

Every stage reads what `ingest` wrote; but `dedup_url` reads crawled pages (STAGES_PAGES), and `chats` reads exports of
chats (STAGES_CHATS). It prints how many documents it kept and dropped, and why. `--to` runs a step and the steps that
it needs: `perplexity` trains an n-gram model first, `quality` a classifier. Forty sample articles teach both too little
to choose by; the settings below make them work on so few texts.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import dataprep as dp
from dataprep import ngram
from dataprep.filters.ccnet_text import ccnet_lines
from dataprep.filters.classifiers.train import QUALITY, train_classifier
from dataprep.messages.clean import CleanMessages
from dataprep.messages.overlaps import Overlaps
from dataprep.store import files, receipts
from dataprep.store.key import key

SAMPLES = Path(__file__).parent.parent / "sample_data"
TEXTS = ("articles.jsonl", "crawl.warc.wet", "darija.jsonl", "guide.parquet", "letters.jsonl.gz", "news.jsonl.zst")
INPUT = os.environ.get("STAGES_INPUT") or [str(SAMPLES / name) for name in TEXTS]
PAGES = os.environ.get("STAGES_PAGES") or [str(SAMPLES / "crawl.warc.wet"), str(SAMPLES / "crawl.warc.gz")]
CHATS = os.environ.get("STAGES_CHATS") or str(SAMPLES / "chats")
FEW_TEXTS = replace(QUALITY, epochs=100, lr=0.5, min_count=1)


def ingest(out, runner):
    """Write the texts as a Dataset."""
    return dp.Pipeline().run(dp.read(INPUT), out=out, runner=runner, replace=True)


def language(ingest, out, runner):
    """Keep documents in English; texts of fewer than ten letters are kept, too."""
    return dp.Pipeline(dp.Language("en")).run(ingest, out=out, runner=runner, replace=True)


def reference(out, runner):
    """Normalise the sample articles as Perplexity normalises documents."""
    docs = dp.read(str(SAMPLES / "articles.jsonl"))
    return dp.Pipeline(dp.Map(ccnet_lines)).run(docs, out=out, runner=runner, replace=True)


def language_model(reference, out):
    """Train an n-gram model of trigrams on the sample articles, once."""
    arpa = files.join(out, "articles.arpa")

    def make():
        ngram.train(reference, out=arpa, order=3, discount_fallback=True)
        return {"files": [arpa]}

    receipts.once(f"{arpa}.receipt.json", reference.key, make)
    return arpa


def perplexity(ingest, language_model, out, runner):
    """Keep the third of the documents that the n-gram model predicts best."""
    best = dp.Percentiles(dp.Perplexity(model=language_model), cut="head")
    return dp.Pipeline(best).run(ingest, out=out, runner=runner, replace=True)


def classifier(ingest, out):
    """Train a classifier that separates the sample articles from all other texts, once."""
    model, good = files.join(out, "quality.bin"), dp.read(str(SAMPLES / "articles.jsonl"))

    def make():
        train_classifier({"high": good, "low": ingest}, model, FEW_TEXTS, positive="high")
        return {"files": [model, f"{model}.json"]}

    receipts.once(f"{model}.receipt.json", key((good.key, ingest.key, FEW_TEXTS)), make)
    return model


def quality(ingest, classifier, out, runner):
    """Keep the half of the documents that the classifier scores highest."""
    best = dp.Percentiles(dp.Quality(model=classifier), top=0.5)
    return dp.Pipeline(best).run(ingest, out=out, runner=runner, replace=True)


def dedup_url(out, runner):
    """Keep the newest capture of each page."""
    pages = dp.read(PAGES, columns=["url", "date"])
    return dp.Pipeline(dp.URLDedup()).run(pages, out=out, runner=runner, replace=True)


def dedup_paragraph(ingest, out, runner):
    """Cut paragraphs that occurred before; case, accents and numbers do not count."""
    return dp.Pipeline(dp.Exact(unit="paragraph")).run(ingest, out=out, runner=runner, replace=True)


def dedup_bloom(ingest, out, runner):
    """Cut lines that a Bloom filter has seen before; it compares hashes only."""
    return dp.Pipeline(dp.Bloom(unit="paragraph")).run(ingest, out=out, runner=runner, replace=True)


def dedup_semantic(ingest, out, runner):
    """Drop documents with nearly the vector of another, by word vectors learned from the texts."""
    return dp.Pipeline(dp.SemDeDup(epsilon=0.05)).run(ingest, out=out, runner=runner, replace=True)


def chats(out, runner):
    """Drop messages that two exports share, clean the others, and join them into conversations."""
    stages = (Overlaps(), CleanMessages(), dp.chats.Conversations(gap="1h"))
    return dp.Pipeline(*stages).run(dp.read(CHATS), out=out, runner=runner, replace=True)
