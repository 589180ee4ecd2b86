"""MessageLanguage: find the language of each message: Darija in Arabic script, Arabizi, Arabic, French or English.

Slow reference for the tests: tests/twins/message_language.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.score import ScoredFilter
from dataprep.core.model.stage import Stage
from dataprep.errors import PlanError
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import classes, lowered

from . import kernel as K
from .words import LABELS

UNKNOWN, OTHER = "und", "other"  # ISO 639-2's undetermined; a script that none of the labels is written in
DIALECT = 1.75  # weight of a word of Darija: it counts more than one of the Arabic that it is mixed with
SURE = 6  # points between the first and the second label: one listed word
SURE_SCORE = 0.8  # the least score of a model's label that is sure
ARABIC = 2  # labels in Arabic script; the others are in Latin script

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class MessageLanguage(Stage):
    """Add the columns `language` and `language_score` to messages; drop nothing.

    >>> MessageLanguage()
    >>> MessageLanguage(model=dp.Language(model="darija.bin", min_letters=0))    # doctest: +SKIP

    Labels are ary (Darija in Arabic script), ary_Latn (Arabizi), ar, fr and en, as in `dataprep train-langid` and
    docs/language.md; "other" if most letters are neither Latin nor Arabic; "und" if the message has no letters, its
    kind is not in `kinds`, or none of its words is known. Words and parts of words have weights (`words.py`); names
    after @ and #, and links, are ignored. German and other languages in Latin script get one of the five labels: use
    `dp.Language` first if a chat has them.

    Args:
        context: whether a message with too little evidence, such as "ok" or "safi", gets the label of an earlier
            message: the last message with enough evidence by the same author in this chat and script or, if there is
            none, by anybody there. The score of such a message is 0. With False, it gets its own most probable label,
            or "und".
        model: a filter that adds `language` and `language_score`, which is used instead of the word lists; None: the
            word lists.
        kinds: the kinds of messages to label; the platform's own lines do not show the language of an author.

    `language_score` is the label's share of the points of all labels, 0 to 1, rounded to 1e-4; with `model`, it is the
    model's score. docs/chats-safety.md states the measured accuracy. Raises PlanError if `model` does not add these
    columns.
    """

    context: bool = True
    model: ScoredFilter | None = None
    kinds: tuple[str, ...] = ("text",)
    adds: Mapping[str, pa.DataType] = field(init=False, repr=False, compare=False, hash=False)
    needs: ClassVar[tuple[str, ...]] = ("chat", "author", "kind")
    compiled: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", tuple(self.kinds))
        object.__setattr__(self, "adds", {"language": pa.string(), "language_score": pa.float64()})
        if self.model is not None and not set(self.adds) <= set(getattr(self.model, "scores", ())):
            msg = f"MessageLanguage(model={self.model!r}): model must add a language, as dp.Language(model=PATH) does"
            raise PlanError(msg)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:  # noqa: ARG002 - drops nothing
        """Yield the messages with the columns `language` and `language_score`.

        Each message is labelled separately; a message with an uncertain label then gets that of an earlier message
        (`context`).
        """
        before = _Before()
        for batch in batches:
            names, codes, scores, is_sure, script = self._judged(batch)
            if self.context:
                guessed = before.guess(batch, names, codes, is_sure, script)
                scores = np.where(guessed == codes, scores, 0.0)
                codes = guessed
            labels = pa.array([*names, UNKNOWN, OTHER], pa.string()).take(pa.array(codes))
            out = B.with_column(batch, "language", labels)
            yield B.with_column(out, "language_score", pa.array(np.round(scores, 4)))

    def _judged(self, batch: Batch) -> tuple[list[str], Codes, Any, Any, Codes]:
        """Return n labels; per message: label (n: und, n + 1: other), score, whether it is sure, script."""
        found, letters = K.score(*B.buffers(batch), lowered(), classes(), *K.build(), len(LABELS))
        counted = np.asarray(pc.is_in(batch["kind"].cast(pa.string()), pa.array(self.kinds, pa.string())))
        script = np.where(letters.sum(axis=1) == 0, -1, letters.argmax(axis=1)).astype(np.int32)
        script[~counted.astype(bool)] = -1
        names, codes, scores, is_sure = _by_words(found, script) if self.model is None else self._by_model(batch)
        codes = np.where(script == -1, len(names), np.where(script == K.OTHER, len(names) + 1, codes))
        scores = np.where(script == -1, 0.0, np.where(script == K.OTHER, 1.0, scores))
        return names, codes.astype(np.int32), scores, is_sure & (script >= 0) & (script < K.OTHER), script

    def _by_model(self, batch: Batch) -> tuple[list[str], Any, Any, Any]:
        assert self.model is not None
        scored = self.model.score(batch)
        coded = scored["language"].dictionary_encode()
        names = sorted(coded.dictionary.to_pylist())
        codes = np.searchsorted(names, coded.dictionary.to_pylist())[coded.indices.to_numpy()]
        scores = scored["language_score"].to_numpy()
        return names, codes, scores, scores >= SURE_SCORE


def _by_words(found: Any, script: Codes) -> tuple[list[str], Any, Any, Any]:
    """Return the labels; per message, the best label of its script, the label's share, and whether it is sure."""
    points = found.astype(np.float64)
    points[:, 0] *= DIALECT
    points[script != K.ARABIC, :ARABIC] = 0
    points[script != K.LATIN, ARABIC:] = 0
    ordered = np.sort(points, axis=1)
    best, total = ordered[:, -1], points.sum(axis=1)
    codes = np.where(best > 0, points.argmax(axis=1), len(LABELS))
    return list(LABELS), codes, best / np.maximum(total, 1), best - ordered[:, -2] >= SURE


class _Before:
    """The last sure label of every author in every chat, and of every chat, by script."""

    def __init__(self) -> None:
        self.row_of: dict[Any, int] = {}
        self.last = np.full((64, 2), -1, np.int32)
        self.names: dict[str, int] = {}

    def guess(self, batch: Batch, names: list[str], codes: Codes, is_sure: Any, script: Codes) -> Codes:
        """Return the labels, in which an uncertain label is replaced by the last certain one, if there is one."""
        for name in names:
            self.names.setdefault(name, len(self.names))
        mine = np.array([self.names[name] for name in names], np.int32)
        back = np.full(len(self.names), len(names), np.int32)
        back[mine] = np.arange(len(names), dtype=np.int32)
        chats, authors = (batch[n].cast(pa.string()).dictionary_encode("encode") for n in ("chat", "author"))
        by_chat = self._rows([(c,) for c in chats.dictionary.to_pylist()], chats.indices.to_numpy())
        width = max(1, len(authors.dictionary))
        pairs, which = np.unique(chats.indices.to_numpy() * width + authors.indices.to_numpy(), return_inverse=True)
        keys = [(chats.dictionary[int(p) // width].as_py(), authors.dictionary[int(p) % width].as_py()) for p in pairs]
        by_author = self._rows(keys, which)
        known = np.where(codes < len(names), mine[np.minimum(codes, len(names) - 1)], -1) if len(names) else codes
        guessed = carry(known.astype(np.int32), is_sure, script, by_author, by_chat, self.last)
        return np.where(guessed >= 0, back[guessed], codes).astype(np.int32)

    def _rows(self, keys: list[Any], which: Any) -> Any:
        """Return the row of `last` for each message, int64[n].

        - which: the index of each message's key.
        """
        rows = np.array([self.row_of.setdefault(k, len(self.row_of)) for k in keys], np.int64)
        while len(self.row_of) > len(self.last):
            self.last = np.concatenate([self.last, np.full_like(self.last, -1)])
        return rows[which] if len(rows) else np.zeros(len(which), np.int64)


@kernel
def carry(codes: Codes, is_sure: Any, script: Codes, by_author: Any, by_chat: Any, last: Any) -> Codes:
    """Return the label of each of n messages: its own if sure, else its author's last sure label, else the chat's.

    A label is a language's number.

    Args:
        codes: int32[n], each message's own label; -1: no label.
        is_sure: bool[n].
        script: int32[n], 0 or 1; messages with other values get -1.
        last: int32[rows, 2 scripts], the last sure label of each author and each chat by script, -1: none; it is
            updated, and kept from batch to batch.
        by_author: int64[n], the row of `last` for each message's author.
        by_chat: int64[n], the row of `last` for each message's chat.
    """
    out = codes.copy()
    for i in range(len(codes)):
        s = script[i]
        if s < 0 or s > 1:
            out[i] = -1
        elif is_sure[i] and codes[i] >= 0:
            last[by_author[i], s] = last[by_chat[i], s] = codes[i]
        elif last[by_author[i], s] >= 0:
            out[i] = last[by_author[i], s]
        elif last[by_chat[i], s] >= 0:
            out[i] = last[by_chat[i], s]
    return out
