"""Count the words of a person that a model learns from windows of turns, and the words not learned, by reason.

A message in several exports is counted once. A word is a run of letters or of digits; in scripts without spaces each
letter is a word. Links have no words.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.batch import Batch
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.part import Part
from dataprep.core.run.runner import Runner
from dataprep.read.formats import name_of

from .conversations.cap import CAPPED
from .conversations.windows import ANSWERS
from .language.stage import MessageLanguage

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_LINK = r"(?i)\b(?:https?://|www\.)\S+"
_WORD = rf"[{_UNSPACED}]|[^\P{{L}}{_UNSPACED}]+|\p{{N}}+"
LEARNED, HELD_OUT, REMOVED, CUT = "learned", "held out", "removed from texts", "longer than max_length"
OFTEN = "said often"
IN_WORDS = {
    "near_duplicate": "copy of a long message", "opening": "no question before it", "empty": REMOVED, CAPPED: OFTEN,
}  # fmt: skip


@dataclass(frozen=True)
class LearnedWords:
    """Counts of a person's words: those that a model learns, and those that it does not learn, by reason.

    Attributes:
        counts: the number of words by (platform, language, outcome); the outcome is LEARNED, or the reason why not.
    """

    counts: Mapping[tuple[str, str, str], int]

    @property
    def total(self) -> int:
        """The number of all words of the person, learned or not."""
        return sum(self.counts.values())

    @property
    def learned(self) -> int:
        """The number of words that a model learns."""
        return sum(n for (_, _, fate), n in self.counts.items() if fate == LEARNED)

    def rows(self) -> list[list[Any]]:
        """Return a list [platform, language, outcome, number of words] per count, sorted, for `of_rows`."""
        return [[*names, n] for names, n in sorted(self.counts.items())]

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[Any]]) -> LearnedWords:
        """Return the object whose `rows` are these lists [platform, language, outcome, number of words]."""
        return cls({(platform, language, fate): n for platform, language, fate, n in rows})

    def __str__(self) -> str:
        if not self.total:
            return "the person wrote no words"
        lost: Counter[str] = Counter()
        groups: dict[tuple[str, str], Counter[bool]] = {}
        for (platform, language, fate), n in self.counts.items():
            groups.setdefault((platform, language), Counter())[fate == LEARNED] += n
            lost.update({fate: n} if fate != LEARNED else {})
        lines = [f"{_share(self.learned, self.total)} of the person's {self.total:,} words are learned"]
        for names, counts in sorted(groups.items(), key=lambda group: -group[1].total()):
            lines.append(f"  {' '.join(names)}: {_share(counts[True], counts.total())} of {counts.total():,}")
        rest = ", ".join(f"{fate} {_share(n, self.total)}" for fate, n in lost.most_common() if n)
        return "\n".join([*lines, *([f"  not learned: {rest}"] if rest else [])])


def _share(n: int, total: int) -> str:
    return f"{100 * n / max(1, total):.1f} %"


def learned_words(
    docs: Dataset, people: Sequence[str], messages: Dataset, windows: Dataset, runner: Runner
) -> LearnedWords:
    """Count the words of the authors named in `people`, by platform, language and outcome (learned, or why not).

    - docs: the exports.
    - messages: the Dataset of cleaned messages that was made from them, with the column `answers`.
    - windows: the training examples made from `messages`; those with a value other than 0 in the `side` column are held
      out.
    """
    wrote = pa.concat_tables(runner.map(functools.partial(_written, tuple(people)), docs.tasks, "words"))
    ids, raw = wrote["id"].to_numpy(), wrote["words"].to_numpy()
    fates = _reasons(ids, messages.drops())
    clean, sent = _cleaned(ids, messages)
    windows_of, lost = _windows_of(ids, windows)
    fates.update({row: lost[row] for row in lost if sent[row]})
    per_window, often, held_out = _learned_by_window(windows)
    missing = {window: -n - often[window] for window, n in per_window.items()}
    for row in np.flatnonzero(sent).tolist():
        if row not in fates:
            missing[windows_of[row]] = missing.get(windows_of[row], 0) + int(clean[row])
    counts: Counter[tuple[str, str, str]] = Counter()
    platforms, languages = (wrote[name].to_pylist() for name in ("platform", "language"))
    for row, (platform, language) in enumerate(zip(platforms, languages, strict=True)):
        if not sent[row] and row not in fates:
            continue  # dropped before names were hidden: another export has the message
        kept = int(clean[row]) if sent[row] else int(raw[row])
        counts[platform, language, REMOVED] += max(0, int(raw[row]) - kept)
        if row in fates:
            counts[platform, language, IN_WORDS.get(fates[row], fates[row])] += kept
            continue
        window = windows_of[row]
        for reason, left in ((CUT, missing), (OFTEN, often)):
            n = min(kept, max(0, left.get(window, 0)))
            left[window] = left.get(window, 0) - n
            counts[platform, language, reason] += n
            kept -= n
        counts[platform, language, HELD_OUT if window in held_out else LEARNED] += kept
    return LearnedWords({names: n for names, n in counts.items() if n})


def _words(texts: Any) -> Any:
    return pc.count_substring_regex(pc.replace_substring_regex(texts, _LINK, ""), _WORD)


def _written(people: tuple[str, ...], part: Part) -> pa.Table:
    """Return id, number of words, platform and language of each message that `people` wrote in a part."""
    wanted = pa.array(people, pa.string())
    kept = (b.filter(pc.is_in(b.column("author").cast(pa.string()), wanted)) for b in _messages(part))
    labelled = MessageLanguage()((batch for batch in kept if batch.num_rows), Ledger(MessageLanguage.__name__))
    found = []
    for batch in labelled:
        words = pc.if_else(pc.equal(batch.column("kind"), "text"), _words(batch.column("text")), 0)
        table = {"id": batch.column("id"), "words": words.cast(pa.int64()), "language": batch.column("language")}
        found.append(pa.table({**table, "platform": pa.repeat(name_of(part.reader), batch.num_rows)}))
    empty = {"id": pa.uint64(), "words": pa.int64(), "language": pa.string(), "platform": pa.string()}
    return pa.concat_tables([pa.schema(empty).empty_table(), *found])


def _messages(part: Part) -> Iterator[Batch]:
    return part.batches(["id", "source", "chat", "author", "kind", "text"])


def _reasons(ids: Any, drops: pa.Table) -> dict[int, str]:
    """Return the reason of each dropped message, by its index in `ids`."""
    at = pc.index_in(pa.array(ids), drops["id"].combine_chunks())
    reasons = drops["reason"].take(at).to_pylist()
    return {row: reason for row, reason in enumerate(reasons) if reason is not None}


def _cleaned(ids: Any, messages: Dataset) -> tuple[Any, Any]:
    """Return the words of each message after cleaning, int64[n], and whether it is among `messages`, bool[n]."""
    words, sent = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
    order = np.argsort(ids)
    for batch in messages.batches(["id", "text", ANSWERS]):
        own = batch.filter(batch.column(ANSWERS))
        at = np.searchsorted(ids, own.column("id").to_numpy(), sorter=order)
        rows = order[at]
        words[rows], sent[rows] = _words(own.column("text")).to_numpy(), True
    return words, sent


def _windows_of(ids: Any, windows: Dataset) -> tuple[dict[int, int], dict[int, str]]:
    """Return, by index in `ids`, the window of each message, or the reason why it is in none."""
    drops = windows.drops()
    at = pc.index_in(pa.array(ids), drops["id"].combine_chunks())
    found, lost = {}, {}
    gone = set(drops.filter(pc.equal(drops["reason"], CAPPED))["id"].to_pylist())
    named = zip(
        ids.tolist(), drops["reason"].take(at).to_pylist(), drops["duplicate_of"].take(at).to_pylist(), strict=True
    )
    for row, (number, reason, kept) in enumerate(named):
        if reason == "joined" and kept in gone:
            lost[row] = CAPPED
        elif reason in (None, "joined"):
            found[row] = number if reason is None else kept
        else:
            lost[row] = reason
    return found, lost


def _learned_by_window(windows: Dataset) -> tuple[dict[int, int], dict[int, int], set[int]]:
    """Return, by id, the words to be learned of each window, those that `CapRepeats` left out, and held-out windows."""
    learned: dict[int, int] = {}
    often: dict[int, int] = {}
    held_out: set[int] = set()
    capped = [CAPPED] if CAPPED in windows.columns else []
    for batch in windows.batches(["id", "messages", "side", *capped]):
        turns = batch.column("messages").flatten()
        counted = np.asarray(pc.fill_null(pc.struct_field(turns, "weight"), 0).to_numpy())
        words = _words(pc.struct_field(turns, "content")).to_numpy()
        rows = pc.list_parent_indices(batch.column("messages")).to_numpy()
        left_out = np.zeros(len(words), np.int64)
        if capped:
            at = pc.list_parent_indices(batch.column(CAPPED)).to_numpy()
            left_out[np.searchsorted(rows, at) + batch.column(CAPPED).flatten().to_numpy()] = 1
        numbers = batch.column("id").to_pylist()
        for into, which in ((learned, counted), (often, left_out)):
            sums = np.bincount(rows, words * which, batch.num_rows).astype(np.int64)
            into.update(zip(numbers, sums.tolist(), strict=True))
        held_out.update(n for n, side in zip(numbers, batch.column("side").to_pylist(), strict=True) if side)
    return learned, often, held_out
