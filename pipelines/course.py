"""Exports of chats become a model that answers like one person, and that one talks to: the whole course.

    make finetune                           the two steps on the invented chats of sample_data, in a few minutes
    make chat                               the same, and then a conversation with the model
    CHATS=path/to/exports CHATS_PERSON="Ada Lovelace" make chat        your own
    CHATS_KEY=people.key CHATS_REFUSED=refused.txt CHATS_NAMES=names.txt ...     as in pipelines/chat.py

`dataprep persona EXPORTS --person NAME --out DIR --train` does the same in one command.
"""

from __future__ import annotations

import os
from pathlib import Path

import dataprep as dp
from dataprep.inference.tune import Tuning, tune

CHATS = os.environ.get("CHATS", str(Path(__file__).parent.parent / "sample_data" / "chats"))
PERSON = os.environ.get("CHATS_PERSON", "Tomas Orr")
VOCABULARY = int(os.environ.get("CHATS_VOCABULARY", "8000"))
NAMES = os.environ.get("CHATS_NAMES") or ("نادية", "يونس")  # more names to hide: nicknames, names in another script
MAX_LENGTH = 256  # tokens of the longest window
VAL = 0.1  # of the conversations; chats are small
HOW = Tuning(preset=os.environ.get("CHATS_PRESET"))  # None: tiny


def persona(out, runner):
    """Hide people, join messages into windows that end with an answer of the person, and write shards with a mask."""
    return dp.chats.persona(
        CHATS, PERSON, out, max_length=MAX_LENGTH, vocab_size=VOCABULARY, val=VAL, transcripts=True,
        key_file=os.environ.get("CHATS_KEY"), refused=os.environ.get("CHATS_REFUSED"),
        names=NAMES, runner=runner,
    )  # fmt: skip


def finetune(persona, out):
    """Train a base on all conversations, then a model on the person's answers, and compare the two."""
    return tune(persona.shards, persona.transcripts, out, HOW, windows=persona.windows)
