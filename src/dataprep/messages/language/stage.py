"""The language of each message: Darija in Arabic script and in Arabizi, Arabic, French and English in one chat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.ledger import Ledger
from dataprep.core.score import ScoredFilter
from dataprep.core.stage import Stage
from dataprep.errors import PlanError
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import classes, lowered

from . import kernel as K
from .words import LABELS

UNKNOWN, OTHER = "und", "other"  # ISO 639-2's undetermined; a script that none of the labels is written in
DIALECT = 1.75  # one word of Darija says more than one of the Arabic that it is mixed with
SURE = 6  # points between the first and the second label: one listed word
SURE_SCORE = 0.8  # the same of a model
ARABIC = 2  # labels in Arabic script; the others are in Latin script

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class MessageLanguage(Stage):
    """Add the columns `language` and `language_score` to messages; drop nothing.

    >>> MessageLanguage()
    >>> MessageLanguage(model=dp.Language(model="darija.bin", min_letters=0))    # doctest: +SKIP

    Labels are ary (Darija in Arabic script), ary_Latn (Arabizi), ar, fr and en, as `dataprep train-langid` and
    docs/language.md use them; "other" where most letters are neither Latin nor Arabic; "und" for messages without
    letters, of other `kinds`, and of which nothing is known. Words and pieces of words are weighed
    (`language_words.py`); names after @ and #, and links, say nothing. German and whatever else is written in Latin
    script is taken for one of the five: ask `dp.Language` first where a chat has it.

    context: a message that tells too little, as "ok" or "safi", gets the label of its author's last clear message in
        this chat in the same script, else of the chat's; its score is then 0. False: its own best guess, else "und".
    model: another judge, which gives `language` and `language_score`, in place of our words.
    kinds: of message that are judged; what the platform wrote tells nothing of who sent it.

    language_score: the label's share of what was found for all, 0 to 1, rounded to 1e-4; with `model` the model's.
    Share named right, and how that was measured: docs/chats-safety.md.
    """

    context: bool = True
    model: ScoredFilter | None = None
    kinds: tuple[str, ...] = ("text",)
    adds: Mapping[str, pa.DataType] = field(init=False, repr=False, compare=False, hash=False)
    needs: ClassVar[tuple[str, ...]] = ("chat", "author", "kind")

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", tuple(self.kinds))
        object.__setattr__(self, "adds", {"language": pa.string(), "language_score": pa.float64()})
        if self.model is not None and not set(self.adds) <= set(getattr(self.model, "scores", ())):
            msg = f"MessageLanguage(model={self.model!r}): give one that adds a language, as dp.Language(model=PATH)"
            raise PlanError(msg)

    def warm(self) -> None:
        """Compile the kernels."""
        columns = {name: pa.array(["a"]) for name in self.needs}
        list(self(iter([B.make([0], ["a text"], "warm", columns=columns)]), Ledger(self.name)))

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:  # noqa: ARG002 - drops nothing
        """Judge each message by itself, then, in order, those that tell too little by those before them."""
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
        """Labels there are, each message's (n: und, n + 1: other), its score, whether it is sure, and its script."""
        found, letters = K.score(*B.buffers(batch), lowered(), classes(), *_table(), len(LABELS))
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


@cache
def _table() -> K.Table:
    return K.build()


def _by_words(found: Any, script: Codes) -> tuple[list[str], Any, Any, Any]:
    """The label with the most points among those of the message's script; und where none has any."""
    points = found.astype(np.float64)
    points[:, 0] *= DIALECT
    points[script != K.ARABIC, :ARABIC] = 0
    points[script != K.LATIN, ARABIC:] = 0
    ordered = np.sort(points, axis=1)
    best, total = ordered[:, -1], points.sum(axis=1)
    codes = np.where(best > 0, points.argmax(axis=1), len(LABELS))
    return list(LABELS), codes, best / np.maximum(total, 1), best - ordered[:, -2] >= SURE


class _Before:
    """The last clear label of every author in every chat, and of every chat, by script."""

    def __init__(self) -> None:
        self.places: dict[Any, int] = {}
        self.last = np.full((64, 2), -1, np.int32)
        self.names: dict[str, int] = {}

    def guess(self, batch: Batch, names: list[str], codes: Codes, is_sure: Any, script: Codes) -> Codes:
        """The codes, with those that are not sure by what came before where that is known."""
        for name in names:
            self.names.setdefault(name, len(self.names))
        mine = np.array([self.names[name] for name in names], np.int32)
        back = np.full(len(self.names), len(names), np.int32)
        back[mine] = np.arange(len(names), dtype=np.int32)
        chats, authors = (batch[n].cast(pa.string()).dictionary_encode("encode") for n in ("chat", "author"))
        whole = self._rows([(c,) for c in chats.dictionary.to_pylist()], chats.indices.to_numpy())
        width = max(1, len(authors.dictionary))
        pairs, which = np.unique(chats.indices.to_numpy() * width + authors.indices.to_numpy(), return_inverse=True)
        keys = [(chats.dictionary[int(p) // width].as_py(), authors.dictionary[int(p) % width].as_py()) for p in pairs]
        own = self._rows(keys, which)
        known = np.where(codes < len(names), mine[np.minimum(codes, len(names) - 1)], -1) if len(names) else codes
        guessed = carry(known.astype(np.int32), is_sure, script, own, whole, self.last)
        return np.where(guessed >= 0, back[guessed], codes).astype(np.int32)

    def _rows(self, keys: list[Any], which: Any) -> Any:
        """The row of `last` of each message, by its key."""
        rows = np.array([self.places.setdefault(k, len(self.places)) for k in keys], np.int64)
        while len(self.places) > len(self.last):
            self.last = np.concatenate([self.last, np.full_like(self.last, -1)])
        return rows[which] if len(rows) else np.zeros(len(which), np.int64)


@kernel
def carry(codes: Codes, is_sure: Any, script: Codes, own: Any, whole: Any, last: Any) -> Codes:
    """The label of every message: its own if sure, else its author's last in this script, else the chat's, else ours.

    own, whole: rows of `last` int32[rows, 2 scripts], which is kept from batch to batch; -1 is no label.
    """
    out = codes.copy()
    for i in range(len(codes)):
        s = script[i]
        if s < 0 or s > 1:
            out[i] = -1
        elif is_sure[i] and codes[i] >= 0:
            last[own[i], s] = last[whole[i], s] = codes[i]
        elif last[own[i], s] >= 0:
            out[i] = last[own[i], s]
        elif last[whole[i], s] >= 0:
            out[i] = last[whole[i], s]
    return out
