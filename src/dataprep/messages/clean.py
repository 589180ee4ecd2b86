"""CleanMessages: remove text that people did not write, replace links and numbers, and shorten laughter and repeats."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger, watch
from dataprep.core.model.stage import Stage, drop_rows
from dataprep.errors import PlanError
from dataprep.pii.numbers import phones
from dataprep.pii.rules import emails
from dataprep.read.chats.messages import KINDS
from dataprep.unicode.text import I64, U16

from . import clean_prefilter as S
from . import clean_rules as R
from .captions import with_captions
from .emoji import emoji_spans

_WARM = "see https://x.org and a@b.org @Ilse 0612345678 \u200e hahahaha noooooo"  # every rule has something to do
_EMOJI = ("keep", "drop", "collapse")


class _Rule(NamedTuple):
    """A rule: its name in the statistics, the flags of the messages that it may change, and the change.

    Attributes:
        find: the search for the text to replace; None: the search for laughter.
        new: the text that replaces it.
        alone: whether white space next to removed text is kept.
    """

    name: str
    flags: int
    find: R.Find | None
    new: bytes
    alone: bool


@dataclass(frozen=True, kw_only=True)
class CleanMessages(Stage):
    """Remove text that no person wrote, replace links and numbers, and shorten laughter and repeated characters.

    >>> CleanMessages()
    >>> CleanMessages(links="<link>", mentions=None, emoji="collapse", kinds=("text", "sticker"))

    Args:
        kinds: the kinds of messages to keep. Other messages are dropped with their kind (image, system, deleted ...) as
            the reason; notices of encryption are system lines.
        captions: whether a picture or file that has a caption is kept as a text message with the caption, which `Turns`
            then uses.
        links: the text that replaces a link; "" removes links, and None keeps them. Other rules do not change the
            inside of a link that is kept.
        emails: the text that replaces an e-mail address; "" removes them, and None keeps them.
        phones: the text that replaces a phone number; "" removes them, and None keeps them. Phone numbers are found by
            the rules of `PII`.
        mentions: the text that replaces a mention (@name); "" removes them, and None keeps them.
        edit_marks: whether to remove marks such as "<This message was edited>" from the end of a message, if the chat's
            reader did not remove them.
        invisible: whether to remove direction marks and control characters.
        laughter: whether to shorten laughter: hahahaha to haha, hhhhhh to hhh, mdrrrr to mdr; also jaja, kkkk, wkwkwk,
            ههههه, хахаха and ㅋㅋㅋㅋ.
        max_repeat: the maximum length of a run of one character, except digits, white space and emoji; None: no
            maximum.
        emoji: "keep", "drop", or "collapse", which keeps one emoji of a run of equal emoji.

    Changes are counted by rule, in the order in which rules are applied: captions, edit_marks, links, emails, mentions,
    phones, invisible, emoji, laughter, repeats. A message with nothing left is dropped as `empty`. Authors are not
    changed (see `Pseudonyms`), and no message is dropped because of a word in it.

    Raises PlanError for values that are not valid.
    """

    kinds: tuple[str, ...] = ("text",)
    captions: bool = True
    links: str | None = ""
    emails: str | None = ""
    phones: str | None = ""
    mentions: str | None = ""
    edit_marks: bool = True
    invisible: bool = True
    laughter: bool = True
    max_repeat: int | None = 3
    emoji: str = "keep"

    needs: ClassVar[tuple[str, ...]] = ("kind",)
    loses: ClassVar[Mapping[str, str]] = {"authors": ""}  # those of media alone
    VERSION: ClassVar[int] = 7

    def __post_init__(self) -> None:
        kinds = (self.kinds,) if isinstance(self.kinds, str) else tuple(self.kinds)
        object.__setattr__(self, "kinds", kinds)
        if unknown := [kind for kind in kinds or ("",) if kind not in KINDS]:
            msg = f"CleanMessages(kinds={self.kinds!r}): {unknown[0]!r} must be one of {', '.join(KINDS)}"
            raise PlanError(msg)
        for name in ("links", "emails", "phones", "mentions"):
            new = getattr(self, name)
            if new is not None and (not isinstance(new, str) or set(new.encode()) & set(R.RESERVED)):
                msg = f'CleanMessages({name}={new!r}): {name} must be a string such as "" or "<{name[:-1]}>", or None'
                raise PlanError(msg)
        if self.max_repeat is not None and (type(self.max_repeat) is not int or self.max_repeat < 2):
            msg = f"CleanMessages(max_repeat={self.max_repeat!r}): max_repeat must be 2 or more (as in hello), or None"
            raise PlanError(msg)
        if self.emoji not in _EMOJI:
            msg = f"CleanMessages(emoji={self.emoji!r}): emoji must be one of {', '.join(_EMOJI)}"
            raise PlanError(msg)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the messages with the rules applied; drop messages of other kinds, and those left empty."""
        rules = list(self._rules())
        for batch in batches:
            yield self._clean(self._chosen(batch, stats), rules, stats)

    def warm(self) -> None:
        """Compile the kernels, before workers start."""
        message = B.make([0], [_WARM], "warm", columns={"kind": pa.array([self.kinds[0]])})
        list(watch(self, iter([message]), Ledger(self.name)))

    def _chosen(self, batch: Batch, stats: Ledger) -> Batch:
        """Drop messages of other kinds; return the rest, with captions in place of media placeholders."""
        kind = batch.column("kind").cast(pa.string())
        wanted = pc.is_in(kind, pa.array(self.kinds, pa.string()))
        if self.captions:
            has_caption, texts = with_captions(batch, self.kinds)
            stats.count("captions", has_caption.true_count)
            if has_caption.true_count:
                wanted, batch = pc.or_(wanted, has_caption), B.with_column(batch, "text", texts)
                kinds = pc.if_else(has_caption, "text", kind).cast(batch["kind"].type)
                batch = B.with_column(batch, "kind", kinds)
        unwanted = pc.if_else(wanted, pa.scalar(None, pa.string()), pc.fill_null(kind, "no_kind"))
        return drop_rows(batch, unwanted, stats)

    def _rules(self) -> Iterator[_Rule]:
        """Yield the rules that are on, in the order in which they are applied."""
        emoji = {"drop": emoji_spans, "collapse": R.repeated_emoji}.get(self.emoji)
        finds = (
            ("edit_marks", S.MARK, R.in_messages(R.edit_marks), "" if self.edit_marks else None),
            ("links", S.LINK, R.in_words(S.LINK, R.links), self.links),
            ("emails", S.AT, R.in_words(S.AT, emails), self.emails),
            ("mentions", S.AT, R.mentions, self.mentions),
            ("phones", S.NUMBER, R.in_messages(phones), self.phones),
            ("invisible", S.MARK, R.marks, "" if self.invisible else None),
            ("emoji", S.EMOJI, R.in_messages(emoji or emoji_spans), "" if emoji else None),
            ("laughter", S.LAUGH | S.FIVES, None, "" if self.laughter else None),
            ("repeats", S.REPEAT, R.repeats(self.max_repeat or 0), "" if self.max_repeat else None),
        )
        for name, flags, find, new in finds:
            if new is not None:
                yield _Rule(name, flags, find, new.encode(), alone=name in ("invisible", "repeats"))

    def _clean(self, batch: Batch, rules: list[_Rule], stats: Ledger) -> Batch:
        texts = R.Texts(*B.buffers(batch))
        flags = self._flags(texts, np.arange(batch.num_rows))
        blank = (flags & S.BLANK) != 0
        rows = np.flatnonzero(flags & functools.reduce(operator.or_, (rule.flags for rule in rules), S.MARK))
        chosen = R.Texts(*B.buffers(batch.column("text").take(pa.array(rows))))
        new, changed, flags, cuts = self._changed(chosen, flags[rows], rules, stats)
        blank[rows] = (flags & S.BLANK) != 0
        for name, (times, n_bytes) in cuts.items():
            is_kept = ~blank[rows]
            stats.trim(name, B.ids(batch)[rows][is_kept], times[is_kept], n_bytes[is_kept], private=True)
        if changed.any():
            some = B.strings(*new).take(pa.array(np.flatnonzero(changed)))
            batch = B.with_column(batch, "text", texts.with_rows(rows[changed], some))
        return drop_rows(batch, pc.if_else(pa.array(blank), "empty", pa.scalar(None, pa.string())), stats)

    def _flags(self, texts: R.Texts, rows: I64) -> U16:
        found: U16 = S.rules_needed(*texts, rows, S.characters(), self.max_repeat or 0)
        return found

    def _changed(
        self, texts: R.Texts, flags: U16, rules: list[_Rule], stats: Ledger
    ) -> tuple[R.Texts, npt.NDArray[np.bool_], U16, dict[str, tuple[I64, I64]]]:
        """Return (the texts after all rules, bool[n]: whether a rule changed each, the flags of the results, the cuts).

        The cuts are, for each rule, the number and the total bytes of the cuts in each text, int64[n].

        - flags: the flags of each text.
        """
        changed = np.zeros(len(flags), np.bool_)
        cuts: dict[str, tuple[I64, I64]] = {}

        def become(new: R.Texts, spans: I64) -> None:
            nonlocal texts
            rows, texts = texts.rows_of(spans), new
            changed[rows], flags[rows] = True, self._flags(texts, rows)

        if len(reserved := texts.bytes_in(R.RESERVED)):
            become(texts.replaced(reserved, [b""]), reserved)
        kept: list[bytes] = []
        if self.links is None and len(links := R.in_words(S.LINK, R.links)(texts, np.flatnonzero(flags & S.LINK))):
            kept = [texts.data[a:b].tobytes() for a, b in links.tolist()]
            become(texts.replaced(links, [R.HIDDEN]), links)
        for rule in rules:
            rows = np.flatnonzero(flags & rule.flags)
            if not len(rows):
                continue
            if rule.find is None:
                spans, news = R.laughter(texts, flags)
            else:
                spans, news = rule.find(texts, rows), [rule.new]
            stats.count(rule.name, len(spans))
            if len(spans):
                of, sizes = np.searchsorted(texts.offsets, spans[:, 0], side="right") - 1, spans[:, 1] - spans[:, 0]
                counts = (np.bincount(of, minlength=len(flags)), np.bincount(of, sizes, len(flags)).astype(np.int64))
                cuts[rule.name] = counts
                removed = rule.find is not None and not rule.new and not rule.alone
                become(texts.without(spans) if removed else texts.replaced(spans, news), spans)
        if kept:
            hidden = texts.bytes_in(R.HIDDEN)
            become(texts.replaced(hidden, kept), hidden)
        return texts, changed, flags, cuts
