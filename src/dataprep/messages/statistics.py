"""What a chat is like in numbers: who writes, when, in which languages, how long talks last, which emoji they like.

    dp.Pipeline(Pseudonyms(), MessageLanguage(), MessageStats(), CleanMessages()).run(docs, out="safe")

Nothing is gathered unless this stage is there, and it names people as they are called where it stands: put it behind
`Pseudonyms`. In the book of a stage that comes before one that hides, names are left out (`StageStats.hidden`).
`dataprep inspect` and the report draw what it counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.batch import Batch
from dataprep.core.ledger import Ledger
from dataprep.core.stage import Stage
from dataprep.errors import PlanError
from dataprep.messages.conversations.grouping import seconds_of

from .counts import CHARS, FAMILIES, OTHERS, REPLY_SECONDS, TALK_MESSAGES, TALK_SECONDS, month_name
from .emoji import emoji_counts

DAY, HOUR = 86_400, 3_600
THURSDAY = 3  # 1970-01-01, Monday being 0

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class MessageStats(Stage):
    """Count messages, change nothing; needs the message columns, and takes the column `language` if there is one.

    gap: the silence that ends a talk; within one, a message after another author's is a reply.
    top: how many authors, chats, emoji ... of a part of the input are told by name, the most frequent ones; the rest is
        told together as "others". In memory is a number for each of them all.

    Counts, each under `family.value` (FAMILIES): `kind` of all messages; of those that people wrote `author`, `chat`,
    `clock` (weekday and hour) and `month`, as the exporting clock showed them; of their texts `language` and `emoji`.
    Histograms (buckets of powers of two): characters of a text, messages and seconds of a talk, seconds to a reply.

    >>> MessageStats(gap="30m")
    MessageStats(gap='30m', top=1000)
    """

    gap: str = "1h"
    top: int = 1_000
    needs: ClassVar[tuple[str, ...]] = ("chat", "author", "time", "kind")

    def __post_init__(self) -> None:
        seconds_of(self.gap)
        if self.top < 1:
            msg = f"top={self.top} is how many names are told, 1 or more"
            raise PlanError(msg)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """The same batches; the book is written once all have passed."""
        seen: dict[str, Counter[str]] = {name: Counter() for name in FAMILIES}
        talks = _Talks(seconds_of(self.gap))
        for batch in batches:
            _count(batch, seen, stats)
            talks.see(batch, stats)
            yield batch
        talks.close(stats)
        for name, counter in seen.items():
            self._write(name, counter, stats)

    def _write(self, family: str, counter: Counter[str], stats: Ledger) -> None:
        ordered = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
        for value, n in ordered[: self.top]:
            stats.count(f"{family}.{value}", n)
        stats.count(f"{family}.{OTHERS}", sum(n for _, n in ordered[self.top :]))


def _count(batch: Batch, seen: dict[str, Counter[str]], stats: Ledger) -> None:
    """Add what a batch has to the counters."""
    kinds = batch["kind"].cast(pa.string())
    seen["kind"].update(_values(kinds))
    by_people = pc.and_(pc.is_valid(batch["author"]), pc.not_equal(kinds, "system"))  # "Bee: Bee added Cy" is not Bee's
    people = batch if pc.all(by_people).as_py() else batch.filter(by_people)
    for name in ("author", "chat"):
        seen[name].update(_values(people[name].cast(pa.string())))
    seconds = people["time"].cast(pa.timestamp("s")).drop_null().cast(pa.int64()).to_numpy()
    _count_times(seconds, seen)
    texts = people.filter(pc.equal(people["kind"], "text"))
    stats.observe(CHARS, pc.utf8_length(texts["text"]).to_numpy())
    seen["emoji"].update(emoji_counts(texts["text"]))
    if "language" in batch.schema.names:
        seen["language"].update(_values(texts["language"].cast(pa.string())))


def _values(column: pa.Array) -> dict[str, int]:
    """How often each value is there; null is not."""
    found = pc.value_counts(column.drop_null())
    return dict(zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True))


def _count_times(seconds: I64, seen: dict[str, Counter[str]]) -> None:
    cells = (seconds // DAY + THURSDAY) % 7 * 24 + seconds % DAY // HOUR
    slots, counts = np.unique(cells, return_counts=True)
    for slot, n in zip(slots.tolist(), counts.tolist(), strict=True):
        seen["clock"][f"{slot // 24 + 1}.{slot % 24:02}"] += n
    since_1970 = seconds.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
    months, counts = np.unique(since_1970, return_counts=True)
    seen["month"].update(dict(zip(map(month_name, (months + 1970 * 12).tolist()), counts.tolist(), strict=True)))


@dataclass
class _Talk:
    """The talk of a chat that may go on."""

    first: int
    last: int
    messages: int
    author: str


@dataclass
class _Talks:
    """How long talks are, and how fast people answer; by chat, whatever the order in which chats come."""

    gap: int
    open: dict[str, _Talk] = field(default_factory=dict)

    def see(self, batch: Batch, stats: Ledger) -> None:
        """The messages of a batch that people wrote and that have a time."""
        said = pc.not_equal(batch["kind"].cast(pa.string()), "system")
        rows = pa.table({n: batch[n] for n in ("chat", "author", "time")}).filter(said).drop_null()
        times = rows["time"].cast(pa.timestamp("s")).cast(pa.int64()).to_numpy()
        chats, authors = (rows[n].cast(pa.string()).combine_chunks().dictionary_encode() for n in ("chat", "author"))
        names, codes = authors.dictionary, authors.indices.to_numpy()
        for chat, own in _groups(chats):
            self._go_on(chat, times[own], codes[own], names, stats)

    def _go_on(self, chat: str, times: I64, authors: Any, names: pa.Array, stats: Ledger) -> None:
        talk = self.open.get(chat)
        before = times[0] - self.gap if talk is None else talk.last
        same = talk is not None and names[int(authors[0])].as_py() == talk.author
        waited = np.abs(np.diff(times, prepend=before))
        begins = waited >= self.gap
        other = np.append(not same, authors[1:] != authors[:-1])
        stats.observe(REPLY_SECONDS, waited[other & ~begins])
        starts = np.flatnonzero(begins)
        if len(starts) == 0:
            assert talk is not None, "without a talk, one begins"
            talk.messages += len(times)
        else:
            if talk is not None:
                talk.messages += int(starts[0])
                talk.last = int(times[starts[0] - 1]) if starts[0] else talk.last
                _told([talk], stats)
            stats.observe(TALK_MESSAGES, np.diff(starts))
            stats.observe(TALK_SECONDS, np.abs(times[starts[1:] - 1] - times[starts[:-1]]))
            talk = self.open[chat] = _Talk(int(times[starts[-1]]), 0, len(times) - int(starts[-1]), "")
        talk.last, talk.author = int(times[-1]), names[int(authors[-1])].as_py()

    def close(self, stats: Ledger) -> None:
        """No more messages."""
        _told(self.open.values(), stats)


def _told(talks: Iterable[_Talk], stats: Ledger) -> None:
    found = [(talk.messages, abs(talk.last - talk.first)) for talk in talks]
    stats.observe(TALK_MESSAGES, [messages for messages, _ in found])
    stats.observe(TALK_SECONDS, [seconds for _, seconds in found])


def _groups(coded: pa.DictionaryArray) -> Iterator[tuple[str, Any]]:
    """Each value, and where it is, in order."""
    codes = coded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    edges = np.flatnonzero(np.diff(codes[order])) + 1
    for rows in np.split(order, edges) if len(order) else ():
        yield coded.dictionary[int(codes[rows[0]])].as_py(), rows
