"""Records of windows with their text, and the work arrays used to compare them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.unicode.text import I64, U8, U64

from .minimizers import CHUNK, MAX_SLIDE, MAX_WINDOWS, WindowRule
from .word_spans import WordSpans, empty_words


class RecordBlock(NamedTuple):
    """Records (runs of neighbouring windows of text) in order of position.

    Attributes:
        data: UTF-8 bytes; the text of record i is data[at[i]:stop[i]] (neighbours may overlap). The other arrays have
            an entry per record.
        id: the record's document.
        offset: the offset of the record's first byte in this document.
        info: the record's packed description, without the offset (see `minimizers.py`).
    """

    data: U8
    at: I64  # start of its bytes in `data`
    stop: I64  # and their end
    id: U64
    offset: I64  # of its first byte in its document
    info: U64  # the low 25 bits of a record's info



class Scratch(NamedTuple):
    """Work arrays for the windows of one record, and for the words of two records that are compared.

    Four arrays have an entry per window.

    Attributes:
        start: the offset of each window's first byte.
        end: the offset after each window's last byte.
        tag: the hash of each window.
        owner: the number of an earlier record that also contains the window.
        words: the words of the first record.
        other: the words of the second record.
    """

    start: I64
    end: I64
    tag: U64
    owner: I64
    words: WordSpans
    other: WordSpans



def scratch_for(rule: WindowRule) -> Scratch:
    """Return work arrays that are large enough for any record of windows that `rule` defines."""
    n, n_words = MAX_WINDOWS + 1, MAX_WINDOWS + rule.width if rule.words else 1
    words, other = empty_words(n_words), empty_words(n_words)
    owner = np.empty(max(n, CHUNK, MAX_SLIDE), np.int64)
    return Scratch(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.uint64), owner, words, other)
