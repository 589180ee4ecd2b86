"""CleanMessages: remove text that people did not write, replace links and numbers, and shorten laughter and repeats."""

from __future__ import annotations

import functools
import json
import operator
import re
from collections.abc import Iterator, Mapping
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
from dataprep.read.chats.messages import KINDS
from dataprep.unicode.text import classes

from . import clean_prefilter as S
from . import clean_rules as R
from .emoji import emoji_spans

NUMBER = 1 << 8  # a flag in addition to those of clean_prefilter.py
_EMOJI = {"keep": None, "drop": emoji_spans, "collapse": R.repeated_emoji}
_REMOVED = str.maketrans("", "", R.BETWEEN + R.HIDDEN)  # control characters that rules need for themselves


class _CountedChange(NamedTuple):
    """A rule: its name in the statistics, the flags of the messages that it may change, and the change."""

    name: str
    flags: int
    change: R.Change


@dataclass(frozen=True, kw_only=True)
class CleanMessages(Stage):
    """Remove text that people did not write, replace links and numbers, and shorten laughter and repeated characters.

    >>> CleanMessages()
    >>> CleanMessages(links="<link>", mentions=None, emoji="collapse", kinds=("text", "sticker"))

    kinds: the kinds of messages to keep; others are dropped with their kind as the reason (image, system, deleted ...;
        notices of encryption are system lines).
    captions: keep a picture or a file that has a caption, as a text; `Turns` learns from it.
    links, emails, phones, mentions: the replacement; "" removes them, None keeps them. Other rules do not change the
        inside of a link that is kept. Phone numbers are found as by `PII`.
    edit_marks: remove marks such as "<This message was edited>" from a message's end, if the chat's reader left them
    there.
    invisible: remove direction marks and control characters.
    laughter: shorten hahahaha to haha, hhhhhh to hhh, mdrrrr to mdr; jaja, kkkk, wkwkwk, ههههه, хахаха, ㅋㅋㅋㅋ.
    max_repeat: longest run of one character, except digits, white space and emoji; None: no limit.
    emoji: "keep", "drop", or "collapse", which keeps one of a run of equal ones.

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
    VERSION: ClassVar[int] = 4

    def __post_init__(self) -> None:
        kinds = (self.kinds,) if isinstance(self.kinds, str) else tuple(self.kinds)
        object.__setattr__(self, "kinds", kinds)
        if unknown := [kind for kind in kinds or ("",) if kind not in KINDS]:
            msg = f"CleanMessages(kinds={self.kinds!r}): {unknown[0]!r} must be one of {', '.join(KINDS)}"
            raise PlanError(msg)
        for name in ("links", "emails", "phones", "mentions"):
            new = getattr(self, name)
            if new is not None and (not isinstance(new, str) or new.translate(_REMOVED) != new):
                msg = f'CleanMessages({name}={new!r}): {name} must be a text such as "" or "<{name[:-1]}>", or None'
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
        message = B.make([0], ["A text."], "warm", columns={"kind": pa.array([self.kinds[0]])})
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

    def _rules(self) -> Iterator[_CountedChange]:
        finds = (
            ("edit_marks", S.MARK, R.edit_marks, "" if self.edit_marks else None),
            ("links", S.LINK, R.links, self.links),
            ("emails", S.AT, R.emails, self.emails),
            ("mentions", S.AT, R.mentions, self.mentions),
            ("phones", NUMBER, R.phones, self.phones),
            ("invisible", S.MARK, None, "" if self.invisible else None),
            ("emoji", S.EMOJI, _EMOJI.get(self.emoji), None if self.emoji == "keep" else ""),
        )
        for name, flags, find, new in finds:
            if new is not None:
                yield _CountedChange(name, flags, R.replace(find, new) if find else R.visible)
        if self.laughter:
            yield _CountedChange("laughter", S.LAUGH, R.laughter)
        if self.max_repeat:
            yield _CountedChange("repeats", S.REPEAT, R.repeats(self.max_repeat))

    def _clean(self, batch: Batch, rules: list[_CountedChange], stats: Ledger) -> Batch:
        flags = self._flags(batch.column("text"))
        rows = np.flatnonzero(flags & functools.reduce(operator.or_, (rule.flags for rule in rules), S.MARK))
        old = batch.column("text").take(pa.array(rows)).to_pylist()
        new = self._changed(old, flags[rows], rules, stats)
        changed = np.fromiter((a != b for a, b in zip(old, new, strict=True)), np.bool_, len(rows))
        blank = (flags & S.BLANK) != 0
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

    def _flags(self, texts: pa.LargeStringArray) -> npt.NDArray[np.uint16]:
        offsets, data = B.buffers(texts)
        flags: npt.NDArray[np.uint16] = S.rules_needed(offsets, data, classes(), self.max_repeat or 0)
        if self.phones is not None:
            flags[K.suspects(offsets, data, K.byte_kinds(), K.NUMBER)[:, 0]] |= NUMBER
        return flags

    def _changed(self, texts: list[str], flags: Any, rules: list[_CountedChange], stats: Ledger) -> list[str]:
        """Return the texts after all rules; flags: those of each text."""
        flags = flags.copy()
        texts = [t.translate(_REMOVED) if f & S.MARK else t for t, f in zip(texts, flags.tolist(), strict=True)]
        hidden: dict[int, list[str]] = {}
        if self.links is None:
            hidden = {i: [t[a:b] for a, b in R.links(t)] for i, t in enumerate(texts) if flags[i] & S.LINK}
            for i in hidden:
                texts[i], _ = _hide(texts[i])
        for rule in rules:
            rows = np.flatnonzero(flags & rule.flags).tolist()
            if not rows:
                continue
            joined, n = rule.change(R.BETWEEN.join([texts[i] for i in rows]))
            stats.count(rule.name, n)
            if n:
                changed = {i: t for i, t in zip(rows, joined.split(R.BETWEEN), strict=True) if t != texts[i]}
                for i, text in changed.items():
                    texts[i] = text
                flags[list(changed)] = self._flags(pa.array(changed.values(), pa.large_string()))
        for i, found in hidden.items():
            parts = texts[i].split(R.HIDDEN)
            texts[i] = "".join(p + link for p, link in zip(parts, [*found, ""], strict=True))
        return texts


_hide = R.replace(R.links, R.HIDDEN)


MEDIA = ("image", "video", "audio", "gif", "sticker", "file")
_MARK = "\u200e"  # iOS: precedes what the phone wrote itself
_FILE_NAME = re.compile(r"[^\n]*\S\.[a-z0-9]{2,5}(?: \u2022)?", re.IGNORECASE)  # "beans.pdf \u2022 2 pages"
_PLACEHOLDER = re.compile(
    r"[^\n]*\S\.[a-z0-9]{2,5} [(\uff08][^()]+[)\uff09]|.*<[^<>]+>", re.IGNORECASE
)  # of a hidden name
_LINKS = re.compile(r"!?\[[^\]\n]*\]\((?:\./)?media/[^)\n]*\)")  # signal-export's, into its folder of files


def caption(text: str, meta: str) -> str:
    r"""Return the caption of a media message, "" if it has none; meta: the message's metadata as JSON.

    The text of such a message may begin with a placeholder such as "IMG-1.jpg (file attached)". If `meta` names files
    (null: left out of the export, or hidden) and the text does not, the whole text is the caption (Telegram, Discord,
    Messenger). Otherwise the placeholder is the first line (WhatsApp), or its part after a direction mark, and the rest
    is the caption.

    >>> caption("IMG-1.jpg (file attached)\nthe beans", '{"file": "IMG-1.jpg"}')
    'the beans'
    >>> caption("the beans", '{"file": "photos/1.jpg"}')
    'the beans'
    >>> caption("the beans  ![1.jpg](./media/1.jpg)", '{"file": null}')
    'the beans'
    """
    without_links = _LINKS.sub("", text)
    if without_links != text:
        return without_links.strip()
    record = json.loads(meta) if '"file' in meta else {}
    names = record["files"] if "files" in record else [record["file"]] if "file" in record else []
    first, _, rest = text.partition("\n")
    if names and not any(str(name) in text if name else _PLACEHOLDER.fullmatch(first) for name in names):
        return text
    before = first.partition(_MARK)[0].strip() if _MARK in first else ""
    return "\n".join(filter(None, (before, rest)))


def with_captions(batch: Batch, kinds: tuple[str, ...]) -> tuple[pa.BooleanArray, pa.LargeStringArray]:
    """Find media messages with a caption; return (bool[n], which rows they are; texts with the captions in these rows).

    kinds: kinds of messages that are kept in any case; their texts are not replaced.
    """
    kind, texts = batch.column("kind").cast(pa.string()), batch.column("text")
    media = pc.is_in(kind, pa.array([k for k in MEDIA if k not in kinds], pa.string()))
    mask = np.zeros(batch.num_rows, np.bool_)
    found: list[str] = []
    rows = np.flatnonzero(np.asarray(media))
    chosen = pa.array(rows)
    columns = (column.take(chosen).to_pylist() for column in (kind, texts, batch.column("meta")))
    for row, media_kind, text, meta in zip(rows.tolist(), *columns, strict=True):
        one = caption(text, meta)
        if one.strip() and not (media_kind == "file" and _FILE_NAME.fullmatch(one)):
            mask[row] = True
            found.append(one)
    return pa.array(mask), pc.replace_with_mask(texts, pa.array(mask), pa.array(found, texts.type))
