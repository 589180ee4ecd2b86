"""Make safe text, token shards and a small model from exports of chats, of any platforms.

    make encode PIPELINE=pipelines/chat.py                  or  dataprep run pipelines/chat.py --to encode
    CHATS=path/to/exports dataprep run pipelines/chat.py   your own: a file, a folder, a glob; try --dry-run first
    CHATS_KEY=people.key CHATS_REFUSED=refused.txt ...          the same pseudonyms in every run; people who refused
    CHATS_NAMES=names.txt ...                                   nicknames, and names in another script than the author's
    CHATS_PEOPLE=people.toml ...                                who has several names; made by `dataprep people`

`ingest` is the only step that reads names. It writes pseudonyms, and placeholders for telephone numbers and addresses,
and saves no text from before that (`Stage.hides`); later steps and the report have no names.
Without CHATS the invented chats of sample_data are read, about four hundred messages: enough to run every step.
"""

from __future__ import annotations

import os
from pathlib import Path

import dataprep as dp
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
KEY = os.environ.get("CHATS_KEY")  # None: random pseudonyms that nobody can reverse
REFUSED = os.environ.get("CHATS_REFUSED")
NAMES = os.environ.get("CHATS_NAMES") or ("نادية", "يونس")  # more names to hide: nicknames, names in another script
PEOPLE = os.environ.get("CHATS_PEOPLE")
GAP = "1h"  # of silence ends a conversation
VOCABULARY = int(os.environ.get("CHATS_VOCABULARY", "1024"))  # 32,000 and more for some hundred megabytes
VAL = 0.1  # of the conversations; chats are small
SETTINGS = ["steps=200"]  # more would memorise so little text


def ingest(out, runner):
    """Read the exports, drop messages that two of them have, and hide people, numbers and addresses.

    One pipeline, so that nothing is saved between reading and hiding: overlaps are found first, in the raw texts, and
    only the verdicts are saved.
    """
    consent = Consent(refused=REFUSED) if REFUSED else None
    # common_words: Noor is hidden, too
    people = Pseudonyms(key=KEY, consent=consent, names=NAMES, people=PEOPLE, common_words=())
    return dp.Pipeline(Overlaps(people=PEOPLE), people, dp.PII()).run(
        dp.read(CHATS), out=out, runner=runner, replace=True
    )


def filter(ingest, out, runner):  # noqa: A001 - the step's name
    """Add the language of each message, count messages for the report, and keep and clean what people wrote."""
    stages = (MessageLanguage(), MessageStats(gap=GAP), CleanMessages())
    return dp.Pipeline(*stages).run(ingest, out=out, runner=runner, replace=True)


def dedup_minhash(filter, out, runner):  # noqa: A002
    """Drop forwarded messages, even if changed a little; short texts are frequent, and do not count as copies."""
    forwards = dp.MinHash(preset="dialect", min_shingles=57)
    return dp.Pipeline(forwards).run(filter, out=out, runner=runner, replace=True)


def conversations(dedup_minhash, out, runner):
    """Join messages into conversations, from which a model learns how people answer."""
    return dp.Pipeline(dp.chats.Conversations(gap=GAP)).run(dedup_minhash, out=out, runner=runner, replace=True)


def tokenizer(conversations, out, runner):
    """Train a byte-level BPE, on text with pseudonyms and placeholders."""
    return dp.train_bpe(conversations, vocab_size=VOCABULARY, val=VAL, runner=runner, out=out)


def encode(conversations, tokenizer, out, runner):
    """Write uint16 shards, one conversation per document."""
    return dp.encode(conversations, tokenizer, out=out, val=VAL, runner=runner, replace=True)


def train(encode, out):
    """Train a small GPT on the CPU."""
    try:
        result = dp.train(encode, out=out, settings=SETTINGS)
    except StaleOutput:  # it was trained on other chats
        result = dp.train(encode, out=out, settings=SETTINGS, resume=False)
    return f"validation: {result.bits_per_byte:.3f} bits per byte after {result.steps} steps"


def report(train, out):  # noqa: ARG001 - runs after all other steps
    """Write one HTML page about all steps, with charts of the chats."""
    return write_report(out.rpartition("/")[0], files.join(out, "report.html"))
