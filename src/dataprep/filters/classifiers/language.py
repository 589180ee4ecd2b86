"""Language: identify the language of documents and keep those in some languages.

The text passed to a model is a document, or its paragraphs or lines.

Slow reference for the tests: tests/twins/language_units.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.score import ScoredFilter
from dataprep.core.model.stage import drop_rows
from dataprep.errors import PlanError, require
from dataprep.filters.preset_folder import CLASSIFIER, file_of, open_preset
from dataprep.lazy import compute as pc
from dataprep.unicode.kernel import kernel
from dataprep.unicode.language_tags import known_as
from dataprep.unicode.text import ALPHA, I64, U8, U16, classes, code_point, whole_points

from . import models

UNITS = {"document": 0, "paragraph": 1, "line": 2}
UNKNOWN = "und"  # ISO 639-2: undetermined
DEFAULT_SCORE = 0.5
TOP = 5  # labels of a document that are used
SHARES = pa.list_(pa.struct([("language", pa.string()), ("share", pa.float64())]))


@dataclass(frozen=True, init=False)
class Language(ScoredFilter):
    """Keep documents in the given languages, and add the columns `language` and `language_score`.

    >>> Language("fr", "ar")                                    # py3langid, in its wheel
    >>> Language("fr", "ar", model="lid.176", min_score=0.65)   # fastText's model, downloaded once
    >>> Language("ary", model="darija.bin", mixed=0.3)          # your own model: `dataprep train-langid`
    >>> Language()                                              # adds the columns, drops nothing

    Args:
        languages: the codes of the languages to keep, as the model names them (`ary-Latn` and `ary_Latn` are equal);
            without codes, all languages are kept.
        model: "builtin", which is py3langid (Barbaresi; 140 languages, including Darija); "lid.176", which is
            fastText's model (Joulin et al. 2016); or the path of any supervised fastText model, or its name in a folder
            of DATAPREP_MODELS.
        unit: the text that is classified at once: the "document", or each "paragraph" (separated by blank lines) or
            "line". With paragraphs and lines, the language of a document is the language with the most bytes.
        min_score: the minimum score of a kept document. None: the value of the preset or, without a preset, 0.5, as in
            CCNet (Wenzek et al. 2020). The score is the model's, rounded to 1e-4. For paragraphs and lines, it is the
            mean score of the units in the document's language, weighted by bytes.
        max_bytes: the number of bytes from the start of a unit that the model reads; None: all bytes.
        mixed: for code-switched text, the minimum share of a kept document that is in any of `languages`. It is a share
            of the document's bytes or, with unit="document", the model's probability (over the five most likely
            languages). `mixed` adds the column `languages`, which lists languages and their shares, largest first.
        min_letters: the minimum number of letters of a unit that is classified. A document that has only shorter units
            gets the language "und" and the score 0, and is **kept**, so that short messages, numbers and links are not
            lost. With 0, every unit is classified.
        preset: a folder written by `dataprep fit-language`; it sets `model` and, unless they are given, `languages` and
            `min_score`.

    The drop reasons are "other_language", "language_score", and with `mixed` "language_share". Existing columns with
    these names are overwritten. Needs the extra `langid`. Raises PlanError if the model is invalid or lacks a code.
    """

    compiled: ClassVar[bool] = True

    languages: tuple[str, ...]
    model: str = models.BUILTIN
    unit: str = "document"
    min_score: float = 0.5
    max_bytes: int | None = 4096
    mixed: float | None = None
    min_letters: int = 10
    preset: str | None = None
    adds: Mapping[str, pa.DataType] = field(init=False, repr=False, compare=False, hash=False)

    def __init__(
        self,
        *languages: str,
        model: str = models.BUILTIN,
        unit: str = "document",
        min_score: float | None = None,
        max_bytes: int | None = 4096,
        mixed: float | None = None,
        min_letters: int = 10,
        preset: str | None = None,
    ) -> None:
        if preset is not None:
            record = open_preset("Language", preset, CLASSIFIER)
            found = record["language"]
            require(model == models.BUILTIN, f"Language: preset={str(preset)!r} sets model; leave model={model!r} out")
            languages, model, preset = languages or (found["code"],), file_of(preset, record, CLASSIFIER), str(preset)
            min_score = found["min_score"] if min_score is None else min_score
        min_score = DEFAULT_SCORE if min_score is None else min_score
        given = {"languages": languages, "model": model, "unit": unit, "min_score": min_score, "max_bytes": max_bytes}
        for name, value in (given | {"mixed": mixed, "min_letters": min_letters, "preset": preset}).items():
            object.__setattr__(self, name, value)
        self._check()
        object.__setattr__(self, "adds", dict(self.scores))

    def _check(self) -> None:
        if self.unit not in UNITS:
            msg = f"Language: unit={self.unit!r} must be one of {', '.join(UNITS)}"
            raise PlanError(msg)
        for name, value, low, high in (
            ("min_score", self.min_score, 0, 1), ("mixed", 1 if self.mixed is None else self.mixed, 1e-4, 1),
            ("max_bytes", 4 if self.max_bytes is None else self.max_bytes, 4, float("inf")),
            ("min_letters", self.min_letters, 0, float("inf")),
        ):  # fmt: skip
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
                msg = f"Language: {name}={value!r} must be a number from {low:g} to {high:g}"
                raise PlanError(msg)
        if not all(isinstance(code, str) for code in self.languages):
            msg = f"Language: languages={self.languages!r} must be codes, such as Language('fr', 'ar')"
            raise PlanError(msg)
        labels = self._classifier().labels
        object.__setattr__(self, "languages", tuple(known_as(code, labels) for code in self.languages))
        models.check_labels(self.languages, self.model, labels)

    def _classifier(self) -> models.Classifier:
        return models.load(models.find(self.model))

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """Names and types of the added columns: language, language_score, and with `mixed` also languages."""
        shares = {} if self.mixed is None else {"languages": SHARES}
        return {"language": pa.string(), "language_score": pa.float64(), **shares}

    @property
    def measure(self) -> Any:
        """The values that determine the scores: the model's content, `unit`, `max_bytes` and `min_letters`."""
        return (models.identity(models.find(self.model)), self.unit, self.max_bytes, self.min_letters)

    def recipe(self) -> Any:
        """Return the values that identify this stage: the model's content (not its path), codes, other settings."""
        return (sorted(set(self.languages)), self.measure, self.min_score, self.mixed)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the documents in the languages to keep, with the language columns; drop the others."""
        for batch in batches:
            scored = self.with_scores(batch)
            scores = {name: scored.column(name) for name in self.scores}
            reasons = self.decide(scores)
            yield drop_rows(scored, reasons, stats, **self.compared(scores, reasons))

    def compared(self, scores: Mapping[str, pa.Array], reasons: pa.StringArray) -> Mapping[str, pa.Array]:  # noqa: ARG002
        """Return the language as the column `label`, and as `value` its score, or with `mixed` the kept share."""
        value = scores["language_score"]
        if self.languages and self.mixed is not None:
            value = pa.array(self._kept_share(scores["languages"]))
        return {"value": value, "label": scores["language"]}

    def recorded(self, drops: pa.Table) -> Mapping[str, pa.Array] | None:
        """Return the scores of dropped documents, from the columns that `compared` returned; None with `mixed`."""
        if self.mixed is not None:
            return None
        value, label = (drops[name].combine_chunks() for name in ("value", "label"))
        return {"language": label.cast(pa.string()), "language_score": value}

    def score(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Return the columns that the filter adds, by name, computed from the model's labels of every unit."""
        n, model = batch.num_rows, self._classifier()
        rows, labels, weights, scores = self._answers(batch, model)
        rows, labels, shares, scores = _shares(rows, labels, weights, scores, len(model.labels))
        shares = scores if self.unit == "document" else shares
        first = np.flatnonzero(np.diff(rows, prepend=-1))
        names = np.array([*model.labels, UNKNOWN], object)
        main, score = np.full(n, len(model.labels)), np.zeros(n)
        main[rows[first]], score[rows[first]] = labels[first], scores[first]
        found = {"language": pa.array(names[main], pa.string()), "language_score": pa.array(models.round_scores(score))}
        if self.mixed is None:
            return found
        offsets = np.searchsorted(rows, np.arange(n + 1)).astype(np.int32)
        columns = [pa.array(names[labels], pa.string()), pa.array(models.round_scores(shares))]
        pairs = pa.StructArray.from_arrays(columns, fields=list(SHARES.value_type))
        return found | {"languages": pa.ListArray.from_arrays(pa.array(offsets), pairs).cast(SHARES)}

    def _answers(self, batch: Batch, model: models.Classifier) -> tuple[I64, I64, Any, Any]:
        """Return row, label, weight and score of every answer; the weight is a unit's bytes, or one of five scores."""
        offsets, data = B.buffers(batch)
        size = 1 << 62 if self.max_bytes is None else self.max_bytes
        units, n = units_of(offsets, data, UNITS[self.unit], size, self.min_letters, classes())
        k = TOP if self.unit == "document" and self.mixed is not None else 1
        if k == 1 and (found := model.likeliest(units[:n], data)) is not None:
            known = found[0] >= 0
            rows, labels, scores = units[:n, 0][known], found[0][known].astype(np.int64), found[1][known]
            sizes = np.maximum(scores, 1e-9) if self.unit == "document" else units[:n, 3][known]
            return rows, labels, sizes.astype(np.float64), scores.astype(np.float64)
        number = {label: i for i, label in enumerate(model.labels)}
        answers = []
        for row, start, stop, n_bytes in units[:n].tolist():
            for score, label in model.top(data[start:stop].tobytes(), k):
                answers.append((row, number[label], max(score, 1e-9) if self.unit == "document" else n_bytes, score))
        table = np.array(answers, np.float64).reshape(-1, 4)
        return table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2], table[:, 3]

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """Return the reason for which each document is dropped; null if it is kept.

        Args:
            scores: the columns of `score`.
        """
        language, score = scores["language"], scores["language_score"]
        if not self.languages:
            return pa.nulls(len(language), pa.string())
        if self.mixed is not None:
            low = pa.array(self._kept_share(scores["languages"]) < self.mixed)
            why = pc.if_else(low, "language_share", None)
        else:
            other = pc.invert(pc.is_in(language, pa.array(self.languages, pa.string())))
            low = pc.if_else(pc.less(score, self.min_score), "language_score", None)
            why = pc.if_else(other, "other_language", low)
        return pc.if_else(pc.equal(language, UNKNOWN), None, why).cast(pa.string())

    def _kept_share(self, column: pa.ListArray) -> Any:
        """Return the share of each document that is in the kept languages."""
        pairs, counts = column.flatten(), column.value_lengths().to_numpy()
        kept = pc.is_in(pairs.field("language"), pa.array(self.languages, pa.string())).to_numpy(zero_copy_only=False)
        rows = np.repeat(np.arange(len(column)), counts)
        shares = np.where(kept, pairs.field("share").to_numpy(), 0.0)
        return models.round_scores(np.bincount(rows, shares, minlength=len(column)))


def _shares(rows: I64, labels: I64, weights: Any, scores: Any, n_labels: int) -> tuple[I64, I64, Any, Any]:
    """Return, for every language of every row: row, label, share of the row's weights, and mean score.

    Rows ascend, shares descend.
    """
    pairs, which = np.unique(rows * n_labels + labels, return_inverse=True)
    weight, total = np.bincount(which, weights), np.bincount(which, weights * scores)
    row, label = pairs // n_labels, pairs % n_labels
    order = np.lexsort((label, -weight, row))
    share, mean = weight / np.bincount(row, weight)[row], total / weight
    return row[order], label[order], share[order], mean[order]


@kernel
def units_of(offsets: I64, data: U8, unit: int, max_bytes: int, min_letters: int, table: U16) -> tuple[I64, int]:
    """Find the units (documents, paragraphs or lines) with at least `min_letters` letters.

    - offsets: text k is data[offsets[k]:offsets[k + 1]].
    - data: the texts, UTF-8 bytes.
    - unit: 0 document, 1 paragraph (ends at a blank line), 2 line.
    - table: Unicode classes by code point.

    Returns an array int64[capacity, 4] and the number m of units. The first m rows are (text, start, stop, bytes), in
    order: the index of the text; the offsets of the first `max_bytes` bytes of the unit, shortened to whole code
    points; and the size of the whole unit. Letters are counted from `start` to `stop`.
    """
    n = len(offsets) - 1
    room = n
    if unit != 0:
        for i in range(offsets[0], offsets[n]):
            room += data[i] == 0x0A
    out = np.empty((room, 4), np.int64)
    found = 0
    for row in range(n):
        a, end = offsets[row], offsets[row + 1]
        while a < end:
            b = end if unit == 0 else a
            after = end
            while b < end:
                if data[b] == 0x0A:
                    after = b + 1
                    if unit == 2:
                        break
                    while after < end and (data[after] == 0x20 or data[after] == 0x09 or data[after] == 0x0D):
                        after += 1
                    if after == end or data[after] == 0x0A:
                        break
                b += 1
            if b == end:
                after = end
            stop = b
            if b - a > max_bytes:
                stop = whole_points(data, a, a + max_bytes)
            letters, i = 0, a
            while i < stop and letters < min_letters:
                point, size = code_point(data, i)
                letters += (table[point] & ALPHA) != 0
                i += size
            if letters >= min_letters and stop > a:
                out[found, 0], out[found, 1], out[found, 2], out[found, 3] = row, a, stop, b - a
                found += 1
            a = after
    return out, found
