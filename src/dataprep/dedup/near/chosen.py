"""The part of a document that is compared, if it is not the whole text: columns, pattern matches removed, tokens.

Slow reference for the tests: tests/twins/minhash.py, tests/twins/exact.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.errors import PlanError, require
from dataprep.lazy import compute as pc
from dataprep.unicode.hashes import mix64, normal_form
from dataprep.unicode.kernel import kernel
from dataprep.unicode.shingle_sets import shingle_sets
from dataprep.unicode.shingles import simplified
from dataprep.unicode.text import I64, U8, U64

from .sketch import Shingles, WholeText, or_raw
from .tokens import Tokens


def columns_of(given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the names in `columns=` as a tuple, or None if it is None. Raises PlanError if a value is not a name."""
    named = (given,) if isinstance(given, str) else given
    texts = isinstance(named, (list, tuple)) and all(isinstance(n, str) and n for n in named)
    wanted = "must be the name of a column, or a list of them: ['title', 'text']"
    require(named is None or (texts and named), f"columns={given!r} {wanted}")
    names = None if named is None else tuple(named)
    require(names is None or len(set(names)) == len(names), f"columns={given!r} must name every column once")
    require("id" not in (names or ()), f"columns={given!r} must not name 'id', which no two documents share")
    return names


def extra_columns(columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return those of `columns` that a stage must list in `needs`: all except id, text, source and meta."""
    return tuple(name for name in columns or () if name not in B.FIXED)


def check_pattern(pattern: Any) -> None:
    """Raise PlanError if `ignore_pattern=` is neither None nor a valid regular expression of RE2."""
    require(pattern is None or (isinstance(pattern, str) and pattern), f"ignore_pattern={pattern!r} must be a string")
    try:
        without(pa.array(["a"], pa.large_string()), pattern)
    except ValueError as e:  # also half a surrogate pair
        msg = f"ignore_pattern={pattern!r} must be a valid regular expression for RE2: {e}"
        raise PlanError(msg) from e


def without(texts: pa.LargeStringArray, pattern: str | None) -> pa.LargeStringArray:
    """Return the texts without the matches of a regular expression; unchanged if the expression is None."""
    return texts if pattern is None else pc.replace_substring_regex(texts, pattern, "")


def values(batch: Batch, name: str) -> pa.LargeStringArray:
    """Return a column as texts. A missing value is "", numbers are written in decimal, bytes in hexadecimal digits.

    Raises PlanError for other types.
    """
    column = batch.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        column = pa.array([None if v is None else v.hex() for v in column.to_pylist()], pa.large_string())
    known = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_null, pa.types.is_boolean)
    require(
        any(is_kind(column.type) for is_kind in known),
        f"columns={name!r} has the type {kind}; it must hold strings, bytes or integers",
    )
    return pc.fill_null(column.cast(pa.large_string()), "")


def joined(columns: Sequence[pa.LargeStringArray], separator: str) -> pa.LargeStringArray:
    """Return the values of each row as one text, with a separator between them."""
    return pc.binary_join_element_wise(*columns, pa.scalar(separator, pa.large_string()))


@dataclass(frozen=True, kw_only=True)
class ChosenShingles(Shingles):
    """The rule for MinHash over chosen columns, with the matches of a pattern removed, or in tokens.

    Attributes:
        chosen: the columns whose values are joined by line breaks.
        ignore: the regular expression.
        tokens: the tokenizer that divides the text into units; None if the units are words or characters, as `unit`
            states.
    """

    chosen: tuple[str, ...] = ("text",)
    ignore: str | None = None
    tokens: Tokens | None = None

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that are read."""
        return self.chosen

    @property
    def thread_safe(self) -> bool:  # type: ignore[override]
        """True, unless a tokenizer is called."""
        return self.tokens is None

    def texts(self, batch: Batch) -> pa.LargeStringArray:
        """Return the compared part of each document, as text."""
        return without(joined([values(batch, name) for name in self.chosen], "\n"), self.ignore)

    def units(self, texts: pa.LargeStringArray, least: int = 1) -> tuple[I64, U64]:
        """Return the distinct shingles of each text, as `Shingles.units` does."""
        if self.tokens is None:
            return super().units(texts, least)
        names = self.normalize or ()
        offsets, data = simplified(*B.buffers(texts), self.unit, names)
        if "space" in names:
            offsets, data = normal_form(offsets, data, "lower" if "case" in names else "space")
        ends, ids = self.tokens.ids(as_array(offsets, data))
        return shingle_sets(ends, hashed(ids), self.ngram, least)


def as_array(offsets: I64, data: U8) -> pa.LargeStringArray:
    """Return texts given as offsets and UTF-8 bytes as an Arrow array, without a copy."""
    return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))


@kernel
def hashed(ids: U64) -> U64:
    """Return a hash of each token id, uint64[n]."""
    out = np.empty(len(ids), np.uint64)
    for i in range(len(ids)):
        out[i] = mix64(ids[i] + np.uint64(1))
    return out


@dataclass(frozen=True, kw_only=True)
class ChosenTexts(WholeText):
    """The rule for `Exact` over chosen columns, or with the matches of a pattern removed.

    Attributes:
        chosen: the columns whose values must all be equal.
        ignore: the regular expression.
    """

    chosen: tuple[str, ...] = ("text",)
    ignore: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that are read."""
        return self.chosen

    def keys(self, batch: Batch) -> tuple[I64, U64]:
        """Return the size of each document's contents in 64-bit words, int64[n], and its key, as for whole texts.

        A document without values in the chosen columns has the size 0, and is never compared. If the text is the chosen
        column, a document with an empty text is compared.
        """
        words, keys = super().keys(batch)
        if self.chosen == ("text",):
            return words, keys
        lengths = sum(pc.binary_length(values(batch, name)).to_numpy() for name in self.chosen)
        return np.where(lengths > 0, words, 0), keys

    def texts(self, batch: Batch) -> tuple[I64, U8]:
        """Return the normal forms of a document's columns as one text, in which each form is preceded by its length."""
        forms = [as_array(*self.one(values(batch, name))) for name in self.chosen]
        if len(forms) == 1:
            return B.buffers(forms[0])
        lengths = [pc.binary_length(form).cast(pa.large_string()) for form in forms]
        both = [one for pair in zip(lengths, forms, strict=True) for one in pair]
        return B.buffers(joined(both, ":"))

    def one(self, raw: pa.LargeStringArray) -> tuple[I64, U8]:
        """Return the normal form of each value, or the value itself if the normal form is empty."""
        left = B.buffers(without(raw, self.ignore))
        return or_raw(*(left if self.form is None else normal_form(*left, self.form)), *B.buffers(raw))
