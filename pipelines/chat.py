"""Exports of chats, of any platforms, to safe text, token shards and a small model.

    make encode PIPELINE=pipelines/chat.py                  or  dataprep run pipelines/chat.py --to encode
    CHATS=path/to/exports dataprep run pipelines/chat.py   your own: a file, a folder, a glob; --dry-run looks ahead
    CHATS_KEY=people.key CHATS_REFUSED=refused.txt ...          the same pseudonyms tomorrow; who did not agree
    CHATS_NAMES=names.txt ...                                   nicknames, and names in another script than the author's

`ingest` is the only step that sees who people are: behind it are pseudonyms, and marks in place of telephone numbers
and addresses, and it saves nothing from before (`Stage.hides`). What later steps keep, and the report, hold no more.
Without CHATS the invented chats of sample_data are read, some four hundred messages: enough to see everything happen.
"""

from __future__ import annotations

import os
from pathlib import Path

import dataprep as dp
from dataprep import train as trainer
from dataprep.errors import StaleOutput
from dataprep.messages.clean import CleanMessages
from dataprep.messages.language.stage import MessageLanguage
from dataprep.messages.names.stage import Consent, Pseudonyms
from dataprep.messages.overlaps import Overlaps
from dataprep.messages.statistics import MessageStats
from dataprep.report import write as write_report
from dataprep.store import files

SAMPLES = Path(__file__).parent.parent / "sample_data"
CHATS = [str(SAMPLES / name) for name in ("chats", "whatsapp_android.txt", "whatsapp_ios.txt")]
CHATS = os.environ.get("CHATS", CHATS)
KEY = os.environ.get("CHATS_KEY")  # None: random pseudonyms, and nobody can ever tell who was who
REFUSED = os.environ.get("CHATS_REFUSED")
NAMES = os.environ.get("CHATS_NAMES") or ("نادية", "يونس")  # more names to hide: nicknames, names in another script
GAP = "1h"  # of silence ends a talk
VOCABULARY = int(os.environ.get("CHATS_VOCABULARY", "1024"))  # 32,000 and more for some hundred megabytes
VAL = 0.1  # of the talks; chats are small
CONFIG = trainer.preset("tiny").override("steps=200")  # of so little text more would be learned by heart


def ingest(out, run):
    """Read the exports; what stands in two of them goes once; people, numbers and addresses are hidden.

    One pipeline, so that nothing is saved between reading and hiding: what overlaps is found first, while texts and
    names are as they were, and only its verdicts are kept.
    """
    consent = Consent(refused=REFUSED) if REFUSED else None
    people = Pseudonyms(key=KEY, consent=consent, names=NAMES, common=())  # common: Noor is hidden, too
    return dp.Pipeline(Overlaps(), people, dp.PII()).run(dp.read(CHATS), out=out, run=run, replace=True)


def filter(ingest, out, run):  # noqa: A001 - the step's name
    """Tell the language of each message, count what the report draws, and keep what people wrote, cleaned."""
    stages = (MessageLanguage(), MessageStats(gap=GAP), CleanMessages())
    return dp.Pipeline(*stages).run(ingest, out=out, run=run, replace=True)


def dedup_minhash(filter, out, run):  # noqa: A002
    """Drop forwards: what goes from chat to chat changes a little; short texts are said often, and are no copies."""
    forwards = dp.MinHash(preset="dialect", min_shingles=57)
    return dp.Pipeline(forwards).run(filter, out=out, run=run, replace=True)


def talks(dedup_minhash, out, run):
    """Join messages to talks: a model learns from a talk what an answer is."""
    return dp.Pipeline(dp.Conversations(gap=GAP)).run(dedup_minhash, out=out, run=run, replace=True)


def tokenizer(talks, out, run):
    """Learn a byte-level BPE, pseudonyms and marks included."""
    return dp.train_bpe(talks, vocab_size=VOCABULARY, val=VAL, run=run, out=out)


def encode(talks, tokenizer, out, run):
    """Write uint16 shards, a talk a document."""
    return dp.encode(talks, tokenizer, out=out, val=VAL, run=run, replace=True)


def train(encode, out):
    """Train a small GPT on the CPU."""
    try:
        result = trainer.train(encode, out=out, config=CONFIG)
    except StaleOutput:  # trained on other chats
        result = trainer.train(encode, out=out, config=CONFIG, resume=False)
    return f"validation: {result.bits_per_byte:.3f} bits per byte after {result.steps} steps"


def report(train, out):  # noqa: ARG001 - made when everything else is there
    """One HTML page about all of it, with the chats in pictures."""
    return write_report(out.rpartition("/")[0], files.join(out, "report.html"))
