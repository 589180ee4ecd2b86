"""Collect evidence from exports of chats about which names are one person: numbers, accounts, and equal messages.

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

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.dataset import Dataset
from dataprep.core.part import Part
from dataprep.core.runner import Runner
from dataprep.messages.match_exports import MIN_COMMON, PRIMES, SKETCH, U64, Export, by_export
from dataprep.messages.names.matching import identity
from dataprep.messages.names.phones import phone
from dataprep.messages.names.pseudonyms import AUTHOR, CHAT, People
from dataprep.messages.names.stage import seen_in
from dataprep.messages.times import MINUTE
from dataprep.unicode.hashes import text_hashes

from .stated import Account, Stated, stated_by


class MessageSample(NamedTuple):
    """A sample of the messages of one export.

    rows: uint64[3, k]; for each message, the hash of its minute and text (ascending), the minute, and the author's
    index in `who`, or UNCLEAR if the export has the message twice in that minute. who: the authors.
    """

    rows: U64
    who: tuple[str, ...]

    def joined(self, other: MessageSample) -> MessageSample:
        """Return the sample of an export from the samples of two parts of it."""
        moved = other.rows.copy()
        moved[2, moved[2] != UNCLEAR] += np.uint64(len(self.who))
        return MessageSample(_sampled(np.concatenate([self.rows, moved], 1)), self.who + other.who)


UNCLEAR = np.uint64(2**64 - 1)


class EqualMessages(NamedTuple):
    """Two authors who have equal messages in two exports of one chat.

    common: number of sampled messages that are of `one` in one export and of `other` in the other. of_one, of_other:
    number of sampled messages of each that are in both exports. chats: the names of the chat.
    """

    one: str
    other: str
    common: int
    of_one: int
    of_other: int
    chats: frozenset[str] = frozenset()


@dataclass
class Evidence:
    """The evidence in exports about which names are one person.

    wrote: number of messages by author. named: names that occur only in texts or as names of chats. exports: the
    authors of each export, a pair (chat, number of the file). accounts: {(platform, account): {name: numbers of the
    files that state it}}. cards: (name, digits of a phone number) of contacts. matches: authors with equal messages.
    """

    wrote: Counter[str] = field(default_factory=Counter)
    named: set[str] = field(default_factory=set)
    exports: dict[Export, set[str]] = field(default_factory=lambda: defaultdict(set))
    accounts: dict[Account, dict[str, set[int]]] = field(default_factory=dict)
    cards: set[tuple[str, str]] = field(default_factory=set)
    matches: list[EqualMessages] = field(default_factory=list)

    def add(self, number: int, stated: Stated) -> None:
        """Add the accounts and contacts that a file states; number: the number of the file."""
        for account, name in stated.accounts:
            self.accounts.setdefault(account, {}).setdefault(name, set()).add(number)
        self.cards |= stated.cards


class _Seen(NamedTuple):
    names: set[tuple[str, str, str]]  # kind, chat, name
    wrote: Counter[str]
    exports: dict[Export, set[str]]
    cards: set[tuple[str, str]]
    samples: dict[Export, MessageSample]


def evidence_of(docs: Dataset, run: Runner, cards: Sequence[str] = ()) -> Evidence:
    """Return the evidence in the exports `docs` about which names are one person.

    cards: URLs of further files with contacts (vCards).
    """
    found, names = Evidence(), set()
    samples: dict[Export, MessageSample] = {}
    for seen in run.map(_seen_in, docs.tasks, "people"):
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
    stated = run.map(stated_by, [*pieces.values(), *((url, None) for url in cards)], "accounts")
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
    return MessageSample(_sampled(rows_of), tuple(coded.dictionary.to_pylist()))


def _sampled(rows: U64) -> U64:
    """Return the rows with the smallest hashes, ascending; the author of a hash that occurs twice is UNCLEAR."""
    hashes, first, count = np.unique(rows[0], return_index=True, return_counts=True)
    found = rows[:, first]
    found[2, count > 1] = UNCLEAR
    return np.asarray(found[:, :SKETCH] if len(hashes) > SKETCH else found, np.uint64)


def matches_of(samples: Mapping[Export, MessageSample]) -> Iterable[EqualMessages]:
    """Yield the authors of different names who have equal messages in two exports of one chat.

    Two exports are of one chat if at least two and at least half of the sampled messages of the smaller one, in the
    minutes that both cover, are in the other, whoever wrote them.
    """
    exports = sorted(samples, key=lambda export: (export[1], export[0]))
    for a, b in sorted(_pairs([samples[export].rows[0] for export in exports])):
        if exports[a][1] == exports[b][1]:
            continue
        total = Counter(_equal(samples[exports[a]], samples[exports[b]]))
        of_one: Counter[str] = Counter()
        of_other: Counter[str] = Counter()
        for (one, other), n in total.items():
            of_one[one] += n
            of_other[other] += n
        for (one, other), n in sorted(total.items()):
            if identity(one) != identity(other):
                chats = frozenset((exports[a][0], exports[b][0]))
                yield EqualMessages(one, other, n, of_one[one], of_other[other], chats)


def _pairs(hashes: list[U64]) -> set[tuple[int, int]]:
    """Return pairs of exports that share a hash; if more than two share one, only pairs of neighbours."""
    every = np.concatenate([*hashes, np.zeros(0, np.uint64)])
    owner = np.repeat(np.arange(len(hashes)), [len(one) for one in hashes])
    order = np.argsort(every, kind="stable")
    same = np.flatnonzero(every[order][1:] == every[order][:-1])
    return set(zip(owner[order][same].tolist(), owner[order][same + 1].tolist(), strict=True))


def _equal(one: MessageSample, two: MessageSample) -> list[tuple[str, str]]:
    """Return the authors (in `one`, in `two`) of each message in both; [] if the exports are not of one chat."""
    full = [s.rows[0, -1] for s in (one, two) if s.rows.shape[1] == SKETCH]
    end = min(full) if full else UNCLEAR  # up to here both samples are complete
    first, last = max(one.rows[1].min(), two.rows[1].min()), min(one.rows[1].max(), two.rows[1].max())
    a, b = (s.rows[:, (s.rows[0] <= end) & (s.rows[1] >= first) & (s.rows[1] <= last)] for s in (one, two))
    _, i, j = np.intersect1d(a[0], b[0], assume_unique=True, return_indices=True)
    if len(i) < MIN_COMMON or 2 * len(i) < min(a.shape[1], b.shape[1]):
        return []
    clear = (a[2, i] != UNCLEAR) & (b[2, j] != UNCLEAR)
    pairs = zip(a[2, i[clear]].tolist(), b[2, j[clear]].tolist(), strict=True)
    return [(one.who[x], two.who[y]) for x, y in pairs]
