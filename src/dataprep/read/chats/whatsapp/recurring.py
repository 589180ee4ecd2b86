"""Recognise WhatsApp's placeholders in unknown languages: texts of a certain form that several authors have sent.

Two forms of message are considered: one text in angle brackets (`<...>`, or U+2039 and U+203A), and a text that begins
with the direction mark U+200E. Such a message is WhatsApp's own if several authors of the chat have sent the same text.
If the text is not in the tables of `placeholders.py`, the kind of the message is `file`.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.ledger import Ledger
from dataprep.unicode.valid import is_utf8

from . import scan as S
from .calendars import Ints
from .kinds import EDGES, EDITED, SPACES, bare, kind_of, tail_of

log = logging.getLogger("dataprep")
_FORM = re.compile(r"<[^<>\n]+>|\u2039[^\u2039\u203a\n]+\u203a|\u200e[^\n]+")
_LETTERS = re.compile(r"[^\W\d_]")
MIN_LETTERS, MAX_CHARS = 3, 120
MIN_AUTHORS, MIN_MESSAGES = 2, 3
MAX_BYTES = 512  # at the end of a message, in which an edit mark is looked for
_WORD = re.compile(r"/?[!-~]+|[!-~]+ [^<>]*=.*", re.DOTALL)  # a word, or a tag of HTML
MAX_TEXTS = 4_096  # that are remembered per chat


@dataclass
class Recurring:
    """Counts, by text and author, the messages of one chat that look like a placeholder such as "<Media omitted>"."""

    authors: dict[str, Counter[str]] = field(default_factory=dict)
    _found: pa.Array | None = None

    def add(
        self, data: npt.NDArray[np.uint8], found: Ints, begin: Ints, names: Sequence[str | None], codes: Ints
    ) -> None:
        """Add the messages at n headers (`found`, as `scan` returns them) that are one line.

        - begin: int64[n], the offsets of their texts. The author of message i is names[codes[i]], or None.
        """
        if len(begin) < 2:
            return
        begin, stop = begin[:-1], found[:-1, S.LINE_STOP]  # the last message may continue
        rows = _marked(data, begin)
        whole = (stop[rows] + 1 == found[rows + 1, S.START]) & (stop[rows] - begin[rows] <= 4 * MAX_CHARS)
        rows = rows[whole]
        offsets, out = S.gather(data, begin[rows], stop[rows])
        if not len(rows) or not is_utf8(out):
            return
        coded = B.strings(offsets, out).dictionary_encode()
        texts, authors = coded.dictionary.to_pylist(), codes[rows]
        pairs, counts = np.unique(np.stack([coded.indices.to_numpy(), authors]), axis=1, return_counts=True)
        for text, author, n in zip(*pairs.tolist(), counts.tolist(), strict=True):
            if names[author] is not None:
                self._count(texts[text], str(names[author]), n)

    def _count(self, text: str, author: str, n: int) -> None:
        if text in self.authors:
            self.authors[text][author] += n
        elif len(self.authors) < MAX_TEXTS and _is_unknown(text):
            self.authors[text] = Counter({author: n})

    def kinds(self, said: pa.LargeStringArray, kinds: pa.StringArray, stats: Ledger) -> pa.StringArray:
        """Return `kinds`, with `file` for messages that are placeholders; call `add` for all messages before."""
        if self._found is None:
            found = [t for t, by in self.authors.items() if len(by) >= MIN_AUTHORS and by.total() >= MIN_MESSAGES]
            self._found = pa.array(found, pa.large_string())
            if found:
                shown = ", ".join(map(repr, found))
                log.info("several authors wrote %s, so messages with these texts count as files", shown)
        if not len(self._found):
            return kinds
        offsets, data = B.buffers(said)
        rows = np.flatnonzero(np.diff(offsets) > MIN_LETTERS)
        rows = rows[_marked(data, offsets[rows])]
        rows = rows[pc.is_in(said.take(rows), self._found).to_numpy(zero_copy_only=False)]
        is_file = np.zeros(len(said), np.bool_)
        is_file[rows] = pc.equal(kinds.take(rows), "text").to_numpy(zero_copy_only=False)
        stats.count("unknown_placeholders", int(is_file.sum()))
        return pc.if_else(pa.array(is_file), "file", kinds) if is_file.any() else kinds


@dataclass
class EditMarks:
    """Counts, by words and author, the messages of one chat that end with words in angle brackets after a text.

    If several authors' messages end with the same words, such as "<Viestiä muokattu>", they are an edit mark. Tags of
    HTML and single words in ASCII are not.
    """

    authors: dict[str, Counter[str]] = field(default_factory=dict)

    def add(
        self, data: npt.NDArray[np.uint8], found: Ints, begin: Ints, names: Sequence[str | None], codes: Ints
    ) -> None:
        """Add the messages at n headers; the arguments are those of `Recurring.add`."""
        stops = found[1:, S.START] - 1  # of the line feed
        stops = stops - (data[stops - 1] == 0x0D)
        last = data[stops - 1]
        rows = np.flatnonzero((last == 0x3E) | ((last == 0xBA) & (data[stops - 3] == 0xE2)))
        for row in rows.tolist():
            author = names[codes[row]]
            end = tail_of(data[begin[row] : stops[row]][-MAX_BYTES:].tobytes().decode("utf-8", "ignore"))
            if author is None or end is None or not end.string[: end.start()].strip(EDGES + SPACES):
                continue
            words = bare(end["said"])
            known = self.authors.get(words)
            if known is not None:
                known[author] += 1
            elif len(self.authors) < MAX_TEXTS and words not in EDITED and not _WORD.fullmatch(words):
                self.authors[words] = Counter({author: 1})

    def found(self) -> frozenset[str]:
        """Return the edit marks, as `bare` returns them."""
        return frozenset(w for w, by in self.authors.items() if len(by) >= MIN_AUTHORS and by.total() >= MIN_MESSAGES)


def _marked(data: npt.NDArray[np.uint8], begin: Ints) -> Ints:
    """Return the indices of the texts, which begin at `begin`, that begin with <, U+2039 or U+200E."""
    first = data[begin]
    rows = np.flatnonzero((first == 0x3C) | (first == 0xE2))
    at = begin[rows]
    second, third = data[at + 1], data[at + 2]
    keep = (first[rows] == 0x3C) | ((second == 0x80) & ((third == 0x8E) | (third == 0xB9)))
    return np.asarray(rows[keep], np.int64)


def _is_unknown(text: str) -> bool:
    """Return whether a text has the form of a placeholder and is in no table."""
    is_one = len(text) <= MAX_CHARS and _FORM.fullmatch(text) and len(_LETTERS.findall(text)) >= MIN_LETTERS
    return bool(is_one) and kind_of(text, speaks=True, marked=True)[0] == "text"
