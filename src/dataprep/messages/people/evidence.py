"""Collect evidence in chat exports that names belong to one person: numbers, accounts and equal messages.

Equal messages: a uniform sample of at most 16,384 messages per export is compared by minute and text, without the
author, so memory is bounded.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.part import Part
from dataprep.core.run.runner import Runner
from dataprep.messages.match_exports import (
    PRIMES,
    U64,
    UNCLEAR,
    Export,
    SharedMessages,
    are_one_chat,
    by_export,
    named_alike,
    sharing,
    smallest,
)
from dataprep.messages.names.matching import identity
from dataprep.messages.names.phones import phone
from dataprep.messages.names.pseudonyms import People
from dataprep.messages.names.stage import seen_in
from dataprep.messages.names.terms import AUTHOR, CHAT
from dataprep.messages.times import MINUTE
from dataprep.unicode.hashes import text_hashes

from .stated import Account, Stated, stated_by


class MessageSample(NamedTuple):
    """A sample of the messages of one export.

    Attributes:
        rows: uint64[3, k]; for each message, the hash of its minute and text (ascending), the minute, and the author's
            index in `who`, or UNCLEAR if the export has the message twice in that minute.
        who: the authors.
    """

    rows: U64
    who: tuple[str, ...]

    def joined(self, other: MessageSample) -> MessageSample:
        """Return the sample of an export from the samples of two parts of it."""
        moved = other.rows.copy()
        moved[2, moved[2] != UNCLEAR] += np.uint64(len(self.who))
        return MessageSample(smallest(np.concatenate([self.rows, moved], 1)), self.who + other.who)

    def numbered(self, number: Mapping[str, int]) -> U64:
        """Return the rows, in which each author has the number that `number` gives to the name."""
        rows, codes = self.rows.copy(), np.array([number[name] for name in self.who], np.uint64)
        clear = rows[2] != UNCLEAR
        rows[2, clear] = codes[rows[2, clear].astype(np.int64)]
        return rows


class EqualMessages(NamedTuple):
    """Two authors who have equal messages in two exports of one chat.

    Attributes:
        common: the number of sampled messages that are of `one` in one export and of `other` in the other.
        of_one: the number of sampled messages of the first author that are in both exports.
        of_other: the number of sampled messages of the second author that are in both exports.
        chats: the names of the chat.
    """

    one: str
    other: str
    common: int
    of_one: int
    of_other: int
    chats: frozenset[str] = frozenset()


@dataclass
class Evidence:
    """The evidence in exports about which names belong to one person.

    Attributes:
        wrote: the number of messages by author.
        named: the names that occur only in texts or as names of chats.
        exports: the authors of each export, a pair (chat, number of the file).
        accounts: {(platform, account): {name: numbers of the files that state it}}.
        cards: (name, digits of a phone number) of contacts.
        matches: authors with equal messages.
    """

    wrote: Counter[str] = field(default_factory=Counter)
    named: set[str] = field(default_factory=set)
    exports: dict[Export, set[str]] = field(default_factory=lambda: defaultdict(set))
    accounts: dict[Account, dict[str, set[int]]] = field(default_factory=dict)
    cards: set[tuple[str, str]] = field(default_factory=set)
    matches: list[EqualMessages] = field(default_factory=list)

    def add(self, number: int, stated: Stated) -> None:
        """Add the accounts and contacts that a file states.

        - number: the number of the file.
        """
        for account, name in stated.accounts:
            self.accounts.setdefault(account, {}).setdefault(name, set()).add(number)
        self.cards |= stated.cards


class _Seen(NamedTuple):
    names: set[tuple[str, str, str]]  # kind, chat, name
    wrote: Counter[str]
    exports: dict[Export, set[str]]
    cards: set[tuple[str, str]]
    samples: dict[Export, MessageSample]


def evidence_of(docs: Dataset, runner: Runner, cards: Sequence[str] = ()) -> Evidence:
    """Return the evidence in the exports `docs` about which names belong to one person.

    - cards: the URLs of further files with contacts (vCards).
    """
    found, names = Evidence(), set()
    samples: dict[Export, MessageSample] = {}
    for seen in runner.map(_seen_in, docs.tasks, "people"):
        names |= seen.names
        found.wrote.update(seen.wrote)
        found.cards |= seen.cards
        for export, authors in seen.exports.items():
            found.exports[export] |= authors
        for export, sample in seen.samples.items():
            samples[export] = samples[export].joined(sample) if export in samples else sample
    found.named = {name for kind, _, name in People(names).found() if kind not in (AUTHOR, CHAT)}
    found.matches = list(matches_of(samples))
    pieces = {piece.file: (piece.url, part.reader) for part in docs.parts for piece in part.slices if not piece.unread}
    numbers = [*pieces, *(-1 for _ in cards)]
    stated = runner.map(stated_by, [*pieces.values(), *((url, None) for url in cards)], "accounts")
    for number, one in zip(numbers, stated, strict=True):
        found.add(number, one)
    return found


def _seen_in(part: Part) -> _Seen:
    seen = _Seen(set(), Counter(), defaultdict(set), set(), {})
    for batch in part.batches(["id", "chat", "author", "time", "kind", "text"]):
        seen.names.update(seen_in(batch))
        authors = batch.column("author").cast(pa.string())
        counted = authors.value_counts()
        numbers = zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True)
        seen.wrote.update({name: n for name, n in numbers if name is not None})
        written = batch.filter(pc.fill_null(pc.equal(batch.column("kind"), "contact"), fill_value=False))
        seen.cards.update(filter(None, map(_card, written.column("text").to_pylist())))
        for export, rows, times in by_export(batch):
            who = authors.take(pa.array(rows))
            seen.exports[export].update(who.unique().drop_null().to_pylist())
            sample = _sample(batch, rows, times, who)
            seen.samples[export] = seen.samples[export].joined(sample) if export in seen.samples else sample
    return seen


def _card(text: str) -> tuple[str, str] | None:
    """Return (name, digits) of a contact that a platform writes as "name, number"."""
    name, _, number = text.rpartition(", ")
    digits = phone(number)
    return (name, digits) if digits and name.strip() else None


def _sample(batch: Batch, rows: Any, times: Any, who: pa.Array) -> MessageSample:
    """Return the sample of the messages of people in these rows of a batch."""
    coded = who.dictionary_encode()
    authors = coded.indices.fill_null(-1).to_numpy()
    is_text = pc.fill_null(pc.equal(batch.column("kind").take(pa.array(rows)), "text"), fill_value=False)
    kept = (authors >= 0) & is_text.to_numpy(zero_copy_only=False)
    texts = batch.column("text").take(pa.array(rows[kept]))
    minutes = (times[kept] // MINUTE).astype(np.uint64)
    hashes = text_hashes(*B.buffers(texts))[:, 0] ^ minutes * PRIMES[0]
    rows_of = np.stack([hashes, minutes, authors[kept].astype(np.uint64)])
    return MessageSample(smallest(rows_of), tuple(coded.dictionary.to_pylist()))


def matches_of(samples: Mapping[Export, MessageSample]) -> Iterable[EqualMessages]:
    """Yield the authors of different names who have equal messages in two exports of one chat.

    Which exports are of one chat is decided by the messages that they share (`match_exports.py`).
    """
    exports = sorted(samples, key=lambda export: (export[1], export[0]))
    for a, b in sorted(sharing([samples[export].rows[0] for export in exports])):
        if exports[a][1] == exports[b][1]:
            continue
        total = Counter(_equal(samples, exports[a], exports[b]))
        of_one: Counter[str] = Counter()
        of_other: Counter[str] = Counter()
        for (one, other), n in total.items():
            of_one[one] += n
            of_other[other] += n
        for (one, other), n in sorted(total.items()):
            if identity(one) != identity(other):
                chats = frozenset((exports[a][0], exports[b][0]))
                yield EqualMessages(one, other, n, of_one[one], of_other[other], chats)


def _equal(samples: Mapping[Export, MessageSample], a: Export, b: Export) -> list[tuple[str, str]]:
    """Return the authors (in `a`, in `b`) of each message in both; [] if the exports are not of one chat."""
    one, two = samples[a], samples[b]
    number = {name: i for i, name in enumerate(dict.fromkeys((*one.who, *two.who)))}
    shared = SharedMessages.of(one.numbered(number), two.numbered(number))
    if not are_one_chat(shared, alike=named_alike(a, b)):
        return []
    names, clear = list(number), shared.clear()
    return [(names[x], names[y]) for x, y in zip(clear.one.tolist(), clear.two.tolist(), strict=True)]
