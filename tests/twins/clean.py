"""Twin of `CleanMessages` (`messages/clean.py`): one message at a time, every rule on each."""

from __future__ import annotations

import itertools
import re
from collections import Counter

from dataprep.messages import clean_rules
from dataprep.messages.emoji import PARTS


def clean_message(text: str, stage) -> tuple[str, Counter]:
    """A message of kind text after every rule, and how often each changed it."""
    counts = Counter()
    text = text.replace("\x1d", "").replace("\x1e", "")
    spans = list(clean_rules.links(text)) if stage.links is None else []
    kept = [text[a:b] for a, b in spans]
    for a, b in reversed(spans):
        text = text[:a] + "\x1d" + text[b:]
    for rule in stage._rules():
        if rule.name == "repeats":
            runs = ["".join(run) for _, run in itertools.groupby(text)]
            long = [len(r) > stage.max_repeat and not _IS_FREE.match(r) for r in runs]
            text, n = "".join(r[: stage.max_repeat] if b else r for r, b in zip(runs, long, strict=True)), sum(long)
        else:
            text, n = rule.change(text)
        counts[rule.name] += n
    for link in kept:
        text = text.replace("\x1d", link, 1)
    return text, +counts


_IS_FREE = re.compile(rf"[\d\s{PARTS}]")
