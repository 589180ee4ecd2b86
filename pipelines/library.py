"""A corpus on one subject, from the PDF and HTML files of a folder, to token shards.

    dataprep run pipelines/library.py --out out/library                                     the sample shelf, about bees
    LIBRARY=path/to/folder LIBRARY_WORDS='court,judge,appeal' dataprep run pipelines/library.py --out out/library

In: PDF with a text layer (extra `pdf`), HTML (extra `warc`), and the other files that dp.read takes from a folder. Out:
the pages on the subject as Parquet, a tokenizer, and uint16 shards.

LIBRARY: a folder, a glob, or anything else that dp.read takes. LIBRARY_WORDS: words of the subject; a page is kept if
at least one word in a hundred is one of them. LIBRARY_VOCABULARY: the size of the vocabulary.

A page of a PDF is a document. Scans have no text layer: `ocrmypdf` adds one.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import dataprep as dp

SHELF = Path(__file__).parent.parent / "sample_data" / "gallery" / "library"
INPUT = os.environ.get("LIBRARY", str(SHELF))
BEES = "bee,bees,hive,honey,swarm,swarms,brood,queen,comb,colony"
WORDS = frozenset(os.environ.get("LIBRARY_WORDS", BEES).split(","))
SHARE = 0.01  # of the words of a page
VOCABULARY = int(os.environ.get("LIBRARY_VOCABULARY", "512"))  # 32,000 and more for some hundred megabytes
VAL = 0.1  # of the pages


def ingest(out, runner):
    """Read the files, and repair garbled characters; files that cannot be read are listed, and do not end the run."""
    files = dp.read(INPUT, on_bad_file="skip")
    return dp.Pipeline(dp.RepairText()).run(files, out=out, runner=runner, replace=True)


def prose(ingest, out, runner):
    """Join the lines of paragraphs and keep prose by Gopher's rules."""
    return dp.Pipeline(dp.Map(unwrapped), dp.Gopher(min_words=30)).run(ingest, out=out, runner=runner, replace=True)


def subject(prose, out, runner):
    """Keep pages that use the words of the subject."""
    return dp.Pipeline(dp.Filter(off_subject)).run(prose, out=out, runner=runner, replace=True)


def dedup(subject, out, runner):
    """Drop near-duplicates, such as the pages of another edition."""
    return dp.Pipeline(dp.MinHash(threshold=0.8)).run(subject, out=out, runner=runner, replace=True)


def tokenizer(dedup, out, runner):
    """Train a byte-level BPE on the pages."""
    return dp.train_bpe(dedup, vocab_size=VOCABULARY, val=VAL, runner=runner, out=out)


def encode(dedup, tokenizer, out, runner):
    """Write uint16 shards, one page per document."""
    return dp.encode(dedup, tokenizer, out=out, val=VAL, runner=runner, replace=True)


def unwrapped(text):
    """Return the text without page numbers, with words that were hyphenated at the end of a line, and lines, joined."""
    text = re.sub(r"\n\s*\d+\s*$", "", text)
    text = re.sub(r"(?<=[a-z])-\n(?=[a-z])", "", text)
    return re.sub(r"(?<=[^.!?:\n])\n(?=\S)", " ", text)


def off_subject(text):
    """Return a reason to drop a page that seldom uses the words of the subject."""
    found = re.findall(r"\w+", text.lower())
    return "off_subject" if sum(word in WORDS for word in found) < SHARE * len(found) else None
