"""MessageStats: count messages by author, time, language and emoji, and measure conversations and replies.

    dp.Pipeline(Pseudonyms(), MessageLanguage(), MessageStats(), CleanMessages()).run(docs, out="safe")

Counts by author and chat use the names that these columns have at this point of the pipeline; therefore, put the stage
after `Pseudonyms`. If a later stage hides names, counts that name people are not saved (`StageStats.hidden`). `dataprep
inspect` and the report draw them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.stage import Stage
from dataprep.errors import PlanError

from . import counts as C
from .emoji import emoji_counts
from .times import DAY, HOUR, I64, duration, seconds_of

THURSDAY = 3  # 1970-01-01, Monday being 0


@dataclass(frozen=True, kw_only=True)
class MessageStats(Stage):
    """Count messages and change nothing; needs the message columns, and reads the column `language` if present.

    Args:
        gap: the length of the pause that ends a conversation, such as "1h". Within a conversation, a message after
            another author's message is a reply. Unlike in `Conversations`, a reply after the gap does not continue a
            conversation, and the size of a conversation has no limit.
        top: the number of authors, chats, emoji and so on that are counted by name in each part of the input, the most
            frequent first; the rest is counted together as "others". Each name takes memory for one number.

    Counts are named `family.value` (FAMILIES). `kind` counts all messages. `author`, `chat`, `clock` (weekday and hour)
    and `month`, in the time zone of the export, count the messages that people wrote; `language` and `emoji` count
    their texts. The histograms (buckets of powers of two) are of characters per text, messages and seconds per
    conversation, and seconds until a reply. Raises PlanError for a gap that is not a duration, and for top=0.

    >>> MessageStats(gap="30m")
    MessageStats(gap='30m', top=1000)
    """

    gap: str = "1h"
    top: int = 1_000
    needs: ClassVar[tuple[str, ...]] = ("chat", "author", "time", "kind")

    def __post_init__(self) -> None:
        duration(self.gap)
        if self.top < 1:
            msg = f"top={self.top} must be at least 1; it is the number of names to count"
            raise PlanError(msg)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the same batches; after the last one, add the counts and histograms to `stats`."""
        seen: dict[str, Counter[str]] = {name: Counter() for name in C.FAMILIES}
        lengths = _ConversationLengths(duration(self.gap))
        for batch in batches:
            _count(batch, seen, stats)
            lengths.observe(batch, stats)
            yield batch
        _observe_lengths(lengths.open.values(), stats)
        for name, counter in seen.items():
            self._write(name, counter, stats)

    def _write(self, family: str, counter: Counter[str], stats: Ledger) -> None:
        ordered = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
        for value, n in ordered[: self.top]:
            stats.count(f"{family}.{value}", n, private=family in C.PEOPLE)
        stats.count(f"{family}.{C.OTHERS}", sum(n for _, n in ordered[self.top :]), private=family in C.PEOPLE)


def _count(batch: Batch, seen: dict[str, Counter[str]], stats: Ledger) -> None:
    kinds = batch["kind"].cast(pa.string())
    seen["kind"].update(_values(kinds))
    by_people = pc.and_(pc.is_valid(batch["author"]), pc.not_equal(kinds, "system"))  # "Bee: Bee added Cy" is not Bee's
    people = batch if pc.all(by_people).as_py() else batch.filter(by_people)
    for name in ("author", "chat"):
        seen[name].update(_values(people[name].cast(pa.string())))
    seconds, known = seconds_of(people["time"])
    _count_times(seconds[known], seen)
    texts = people.filter(pc.equal(people["kind"], "text"))
    stats.observe(C.CHARS, pc.utf8_length(texts["text"]).to_numpy())
    seen["emoji"].update(emoji_counts(texts["text"]))
    if "language" in batch.schema.names:
        seen["language"].update(_values(texts["language"].cast(pa.string())))


def _values(column: pa.Array) -> dict[str, int]:
    """Return the number of rows with each value, null excepted."""
    found = pc.value_counts(column.drop_null())
    return dict(zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True))


def _count_times(seconds: I64, seen: dict[str, Counter[str]]) -> None:
    cells = (seconds // DAY + THURSDAY) % 7 * 24 + seconds % DAY // HOUR
    slots, counts = np.unique(cells, return_counts=True)
    for slot, n in zip(slots.tolist(), counts.tolist(), strict=True):
        seen["clock"][f"{slot // 24 + 1}.{slot % 24:02}"] += n
    since_1970 = seconds.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
    months, counts = np.unique(since_1970, return_counts=True)
    seen["month"].update(dict(zip(map(C.month_name, (months + 1970 * 12).tolist()), counts.tolist(), strict=True)))


@dataclass
class _OpenConversation:
    """A conversation that later messages of its chat may join; times in seconds."""

    first: int
    last: int
    messages: int
    author: str  # of the last message


@dataclass
class _ConversationLengths:
    """Measures conversations and waits for replies by chat, for any order of chats.

    Only a pause ends a conversation here. `conversations.grouping` also considers replies and a limit of bytes, so its
    numbers would differ.
    """

    gap: int
    open: dict[str, _OpenConversation] = field(default_factory=dict)

    def observe(self, batch: Batch, stats: Ledger) -> None:
        """Add the messages of a batch that people wrote and that have a time."""
        said = pc.not_equal(batch["kind"].cast(pa.string()), "system")
        rows = pa.table({n: batch[n] for n in ("chat", "author", "time")}).filter(said).drop_null()
        times, _ = seconds_of(rows["time"])
        chats, authors = (rows[n].cast(pa.string()).combine_chunks().dictionary_encode() for n in ("chat", "author"))
        names, codes = authors.dictionary, authors.indices.to_numpy()
        for chat, own in _groups(chats):
            self._add(chat, times[own], codes[own], names, stats)

    def _add(self, chat: str, times: I64, authors: Any, names: pa.Array, stats: Ledger) -> None:
        one = self.open.get(chat)
        before = times[0] - self.gap if one is None else one.last
        same = one is not None and names[int(authors[0])].as_py() == one.author
        waited = np.abs(np.diff(times, prepend=before))
        begins = waited >= self.gap
        other = np.append(not same, authors[1:] != authors[:-1])
        stats.observe(C.REPLY_SECONDS, waited[other & ~begins])
        starts = np.flatnonzero(begins)
        if len(starts) == 0:
            assert one is not None, "the first message of a chat begins a conversation"
            one.messages += len(times)
        else:
            if one is not None:
                one.messages += int(starts[0])
                one.last = int(times[starts[0] - 1]) if starts[0] else one.last
                _observe_lengths([one], stats)
            stats.observe(C.CONVERSATION_MESSAGES, np.diff(starts))
            stats.observe(C.CONVERSATION_SECONDS, np.abs(times[starts[1:] - 1] - times[starts[:-1]]))
            one = self.open[chat] = _OpenConversation(int(times[starts[-1]]), 0, len(times) - int(starts[-1]), "")
        one.last, one.author = int(times[-1]), names[int(authors[-1])].as_py()


def _observe_lengths(conversations: Iterable[_OpenConversation], stats: Ledger) -> None:
    found = [(one.messages, abs(one.last - one.first)) for one in conversations]
    stats.observe(C.CONVERSATION_MESSAGES, [messages for messages, _ in found])
    stats.observe(C.CONVERSATION_SECONDS, [seconds for _, seconds in found])


def _groups(coded: pa.DictionaryArray) -> Iterator[tuple[str, Any]]:
    """Yield each value with its rows, in order."""
    codes = coded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    edges = np.flatnonzero(np.diff(codes[order])) + 1
    for rows in np.split(order, edges) if len(order) else ():
        yield coded.dictionary[int(codes[rows[0]])].as_py(), rows
