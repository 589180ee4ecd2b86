"""Stop words: the most frequent words of a language, counted in a reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.unicode.spaced import spaced
from dataprep.unicode.text import ALPHA, classes

SHARE = 0.008  # of all words
LEAST, MOST = 8, 50  # words of a list


def stop_words(batches: Iterable[Batch]) -> tuple[str, ...]:
    """Return the words each of which makes up at least 0.8 % of all words, the most frequent first.

    Args:
        batches: the documents of the reference.

    Words are those of word_split="unicode" that contain a letter, in lower case. At least 8 and at most 50 words are
    returned; if fewer than 8 are frequent enough, less frequent ones are added.
    """
    counts: Counter[str] = Counter()
    for batch in batches:
        ends, data = spaced(*B.buffers(batch), "unicode")
        for start, end in pairwise(ends.tolist()):
            counts.update(data[start:end].tobytes().decode().lower().split())
    total = sum(counts.values())
    letters = classes()
    words = sorted((-n, word) for word, n in counts.items() if any(letters[ord(c)] & ALPHA for c in word))
    frequent = sum(-n >= SHARE * total for n, _ in words)
    return tuple(word for _, word in words[: min(MOST, max(LEAST, frequent))])
