"""Cleaning of messages: what is no speech goes or is written shorter, each rule counted and to be switched off."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.ledger import Ledger, watch
from dataprep.core.stage import Stage, drop_rows
from dataprep.errors import PlanError
from dataprep.pii import kernel as K
from dataprep.unicode.text import classes

from . import clean_prefilter as S
from . import clean_rules as R
from .captions import with_captions
from .emoji import emoji_spans

NUMBER = 1 << 8  # beside the bits of suspects.py
_EMOJI = {"keep": None, "drop": emoji_spans, "collapse": R.repeated_emoji}
_REMOVED = str.maketrans("", "", R.BETWEEN + R.HIDDEN)  # control characters that rules need for themselves


class _Rule(NamedTuple):
    """A rule, what it is called in the books, and the bits of the messages that it may change."""

    name: str
    bits: int
    change: R.Rule


@dataclass(frozen=True, kw_only=True)
class CleanMessages(Stage):
    """Take out of messages what nobody said, and write what is written at length shorter.

    >>> CleanMessages()
    >>> CleanMessages(links="<link>", mentions=None, emoji="collapse", kinds=("text", "sticker"))

    kinds: the messages that stay; the others are dropped, their kind being the reason (image, system, deleted ...;
        notices of encryption are system lines).
    captions: keep a picture or a file that has a caption, as a text: what somebody said, which `Turns` learns from.
    links, emails, phones, mentions: what is written in their place; "" takes them out, None leaves them. Nothing else
        is looked for inside a link that stays. Phones are those of `PII`.
    edit_marks: take off marks such as "<This message was edited>" that a reader did not know, at a message's end.
    invisible: take out direction marks and control characters.
    laughter: hahahaha becomes haha, hhhhhh hhh, mdrrrr mdr; also je, jaja, kkkk, wkwkwk, ههههه, хахаха, ㅋㅋㅋㅋ.
    max_repeat: how often a character may stand in a row, never counting digits, white space and emoji; None: no limit.
    emoji: "keep", "drop", or "collapse": one of a run of the same.

    What is changed is counted by rule: captions, edit_marks, links, emails, mentions, phones, invisible, emoji,
    laughter, repeats; in this order they are applied. A message of which nothing is left is dropped as `empty`. Authors
    are not touched (see `Pseudonyms`), and no message goes because of a word in it.

    Raises PlanError for unknown values.
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

    def __post_init__(self) -> None:
        kinds = (self.kinds,) if isinstance(self.kinds, str) else tuple(self.kinds)
        object.__setattr__(self, "kinds", kinds)
        if not kinds or not all(isinstance(k, str) and k for k in kinds):
            msg = f'CleanMessages(kinds={self.kinds!r}): kinds are names such as ("text", "sticker")'
            raise PlanError(msg)
        for name in ("links", "emails", "phones", "mentions"):
            new = getattr(self, name)
            if new is not None and (not isinstance(new, str) or new.translate(_REMOVED) != new):
                msg = f'CleanMessages({name}={new!r}): it is a text such as "" or "<{name[:-1]}>", or None'
                raise PlanError(msg)
        if self.max_repeat is not None and (type(self.max_repeat) is not int or self.max_repeat < 2):
            msg = f"CleanMessages(max_repeat={self.max_repeat!r}): max_repeat is a number from 2 (as in hello), or None"
            raise PlanError(msg)
        if self.emoji not in _EMOJI:
            msg = f"CleanMessages(emoji={self.emoji!r}): emoji is one of {', '.join(_EMOJI)}"
            raise PlanError(msg)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Drop by kind, rewrite what a rule may change, and drop what is empty."""
        rules = list(self._rules())
        for batch in batches:
            yield self._clean(self._chosen(batch, stats), rules, stats)

    def warm(self) -> None:
        """Compile the kernels."""
        message = B.make([0], ["A text."], "warm", columns={"kind": pa.array([self.kinds[0]])})
        list(watch(self, iter([message]), Ledger(self.name)))

    def _chosen(self, batch: Batch, stats: Ledger) -> Batch:
        """The messages of the kinds wanted, and captions as texts: later stages see no placeholder in them."""
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
        finds = (
            ("edit_marks", S.MARK, R.edit_marks, "" if self.edit_marks else None),
            ("links", S.LINK, R.links, self.links),
            ("emails", S.AT, R.emails, self.emails),
            ("mentions", S.AT, R.mentions, self.mentions),
            ("phones", NUMBER, R.phones, self.phones),
            ("invisible", S.MARK, None, "" if self.invisible else None),
            ("emoji", S.EMOJI, _EMOJI.get(self.emoji), None if self.emoji == "keep" else ""),
        )
        for name, bits, find, new in finds:
            if new is not None:
                yield _Rule(name, bits, R.in_place_of(find, new) if find else R.visible)
        if self.laughter:
            yield _Rule("laughter", S.LAUGH, R.laughter)
        if self.max_repeat:
            yield _Rule("repeats", S.REPEAT, R.repeats(self.max_repeat))

    def _clean(self, batch: Batch, rules: list[_Rule], stats: Ledger) -> Batch:
        bits = self._bits(batch.column("text"))
        rows = np.flatnonzero(bits & self._looked_at(rules))
        old = batch.column("text").take(pa.array(rows)).to_pylist()
        new = self._changed(old, bits[rows], rules, stats)
        changed = np.fromiter((a != b for a, b in zip(old, new, strict=True)), np.bool_, len(rows))
        blank = (bits & S.BLANK) != 0
        if changed.any():
            mask = np.zeros(batch.num_rows, np.bool_)
            mask[rows[changed]] = True
            texts = [new[i] for i in np.flatnonzero(changed).tolist()]
            blank[rows[changed]] = [not text.strip() for text in texts]
            column = batch.column("text")
            batch = B.with_column(
                batch, "text", pc.replace_with_mask(column, pa.array(mask), pa.array(texts, column.type))
            )
        return drop_rows(batch, pc.if_else(pa.array(blank), "empty", pa.scalar(None, pa.string())), stats)

    def _bits(self, texts: pa.LargeStringArray) -> npt.NDArray[np.uint16]:
        offsets, data = B.buffers(texts)
        bits: npt.NDArray[np.uint16] = S.suspects(offsets, data, classes(), self.max_repeat or 0)
        if self.phones is not None:
            bits[K.suspects(offsets, data, K.byte_kinds(), K.NUMBER)[:, 0]] |= NUMBER
        return bits

    def _looked_at(self, rules: list[_Rule]) -> int:
        return functools.reduce(operator.or_, (rule.bits for rule in rules), S.MARK)

    def _changed(self, texts: list[str], bits: Any, rules: list[_Rule], stats: Ledger) -> list[str]:
        """The texts after every rule; bits: what each of them may hold."""
        bits = bits.copy()
        texts = [t.translate(_REMOVED) if b & S.MARK else t for t, b in zip(texts, bits.tolist(), strict=True)]
        hidden: dict[int, list[str]] = {}
        if self.links is None:
            hidden = {i: [t[a:b] for a, b in R.links(t)] for i, t in enumerate(texts) if bits[i] & S.LINK}
            for i in hidden:
                texts[i], _ = _hide(texts[i])
        for rule in rules:
            rows = np.flatnonzero(bits & rule.bits).tolist()
            if not rows:
                continue
            joined, n = rule.change(R.BETWEEN.join([texts[i] for i in rows]))
            stats.count(rule.name, n)
            if n:
                changed = {i: t for i, t in zip(rows, joined.split(R.BETWEEN), strict=True) if t != texts[i]}
                for i, text in changed.items():
                    texts[i] = text
                bits[list(changed)] = self._bits(pa.array(changed.values(), pa.large_string()))
        for i, found in hidden.items():
            parts = texts[i].split(R.HIDDEN)
            texts[i] = "".join(p + link for p, link in zip(parts, [*found, ""], strict=True))
        return texts


_hide = R.in_place_of(R.links, R.HIDDEN)
