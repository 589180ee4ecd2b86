"""PII: replace personal data (addresses, phone, card and account numbers), or drop documents that contain it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.stage import Stage, drop_rows
from dataprep.errors import PlanError
from dataprep.unicode.text import I64, U8

from . import kernel as K
from .broken import across
from .broken_accounts import accounts_across
from .kinds import INCLUDED, KINDS, PIIKind
from .lines import every_line, find_joined
from .only import only_phones
from .phone_lists import listed
from .rules import FINDERS, Match, find, with_kind

_CAN = {"email": K.EMAIL, "ip": K.IP, "iban": K.IBAN, "card": K.NUMBER, "phone": K.NUMBER}
ACCOUNTS = ("iban", "card")  # may also be divided by a line break, as phone numbers may
_NUMBER = re.compile(r"\d(?:[^\w<>]{0,3}\d){4,}")  # at least five digits, with signs between


class _Span(NamedTuple):
    """A match, as a range of bytes in a batch's text buffer."""

    start: int
    end: int
    row: int
    kind: str


@dataclass(frozen=True, kw_only=True)
class PII(Stage):
    r"""Replace personal data in texts, or drop documents that contain it.

    >>> PII()                                           # "mail me at <email>"
    >>> PII(kinds=("email", "phone"), replace="")
    >>> PII(action="drop", max_found=3)
    >>> PII(kinds=("email", "phone", "mac", PIIKind("badge", r"EMP-[0-9]{6}")))

    Args:
        kinds: the kinds of data to find, as listed below, and `PIIKind` objects for user-defined kinds. Default: email,
            ip, phone, card and iban.
        replace: the text that replaces a match; the name of the kind replaces `{kind}` in it. None: texts are not
            changed, and matches are only counted.
        action: "replace"; or "drop", which drops documents with matches (`pii`) and does not change other documents.
        max_found: the maximum number of matches in a kept document. None: action="replace" drops no document, and
            action="drop" drops every document with a match.

    The kinds are:

    - email: e-mail addresses
    - ip: public IPv4 and IPv6 addresses
    - phone: phone numbers, in decimal digits of any script: international numbers with + or 00, or after @, wa.me/ or
      phone= as in WhatsApp; national numbers with a leading 0; North American numbers with separators
    - card: card numbers, by issued prefixes and lengths and the Luhn check digit
    - iban: bank accounts, by the country's length and MOD 97
    - rib: French and Moroccan bank accounts, by their key
    - cin: Moroccan identity cards, after a label
    - ssn: social security numbers of the United States
    - mac: MAC addresses
    - api_key: keys of AWS, GitHub, GitLab, Google, Hugging Face, Slack, and sk-...

    Matches are counted in the statistics as pii.email, pii.phone and so on, including those in dropped documents. No
    match crosses a line break (\n), except a phone number, a card number or an IBAN that a line break divides. A number
    is always replaced completely, even if letters, digits or other numbers are next to it: groups of digits that are
    separated by single signs are replaced together or not at all. Version numbers, dates, prices, ISBNs, numbers in
    table rows, and company, order or invoice numbers after a label are not treated as phone numbers. A national number
    without its leading 0 is found only if one of the following indicates a phone number: its grouping, a word near it
    ("tel.", "call"), or its position as the only number of a sentence or of a text. docs/pii.md lists the rules. Names
    and postal addresses are not detected.

    Raises PlanError for an unknown kind or action, or a negative max_found.
    """

    compiled: ClassVar[bool] = True

    kinds: tuple[str | PIIKind, ...] = KINDS
    replace: str | None = "<{kind}>"
    action: str = "replace"
    max_found: int | None = None

    VERSION: ClassVar[int] = 18

    def __post_init__(self) -> None:
        kinds = (self.kinds,) if isinstance(self.kinds, (str, PIIKind)) else tuple(self.kinds)
        unknown = [k for k in kinds if not isinstance(k, PIIKind) and k not in (*KINDS, *INCLUDED)]
        if unknown or not kinds:
            found = repr(unknown[0]) if unknown else "nothing"
            msg = f"PII: kinds must be from {', '.join((*KINDS, *INCLUDED))}, or PIIKind objects, not {found}"
            raise PlanError(msg)
        more = [k for k in dict.fromkeys(kinds) if k not in KINDS]
        object.__setattr__(self, "kinds", (*(k for k in KINDS if k in kinds), *more))
        names = [_name(k) for k in self.kinds]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            msg = f"PII: two kinds are named {twice!r}; give one of them another name"
            raise PlanError(msg)
        if self.action not in ("replace", "drop"):
            msg = f'PII: action={self.action!r} must be "replace" or "drop"'
            raise PlanError(msg)
        if self.replace is not None and not isinstance(self.replace, str):
            msg = f'PII: replace={self.replace!r} must be a string such as "<{{kind}}>", or None'
            raise PlanError(msg)
        unknown = re.findall(r"\{(?!kind\})(\w*)\}", self.replace or "")
        if unknown:
            msg = f"PII: replace={self.replace!r} names {unknown[0]!r}; its only field must be {{kind}}"
            raise PlanError(msg)
        if self.max_found is not None and (type(self.max_found) is not int or self.max_found < 0):
            msg = f"PII: max_found={self.max_found!r} must be a whole number of at least 0, or None"
            raise PlanError(msg)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the batches with personal data replaced; count matches, and drop documents with too many."""
        for batch in batches:
            spans = list(self._spans(batch))
            for kind, n in Counter(s.kind for s in spans).items():
                stats.count(f"pii.{kind}", n)
            out, is_kept = batch, np.ones(batch.num_rows, np.bool_)
            if spans and self.max_dropped is not None:
                is_kept = np.bincount([s.row for s in spans], minlength=batch.num_rows) <= self.max_dropped
            if spans and self.is_replacing:
                out = B.with_column(batch, "text", _replaced(batch, spans, str(self.replace)))
                _record_cuts(batch, [s for s in spans if is_kept[s.row]], stats)
            yield drop_rows(out, pa.array([None if kept else "pii" for kept in is_kept.tolist()], pa.string()), stats)

    @property
    def is_replacing(self) -> bool:
        """Whether matches are replaced."""
        return self.action == "replace" and self.replace is not None

    @property
    def max_dropped(self) -> int | None:
        """The maximum number of matches in a kept document; None if there is no limit."""
        return 0 if self.max_found is None and self.action == "drop" else self.max_found

    def masked(self, texts: Sequence[str]) -> list[str]:
        """Return the texts with matches replaced; "" for a text with more matches than a kept document may have.

        A quoted fragment may lack the words by which PII finds a number in the document, such as "tel." in the line
        above, or a part of the number. Therefore all other numbers of five digits or more are replaced by `(number)`.
        """
        if not texts or not (self.is_replacing or self.max_dropped is not None):
            return list(texts)
        numbered = B.make(range(len(texts)), texts, "")
        shown = dict.fromkeys(range(len(texts)), "")
        for batch in self(iter([numbered]), Ledger(self.name, quiet=True)):
            shown |= zip(B.ids(batch).tolist(), batch.column("text").to_pylist(), strict=True)
        if self.kinds == ("email",):
            return list(shown.values())
        return [_NUMBER.sub("(number)", text) for text in shown.values()]

    def _spans(self, batch: Batch) -> Iterator[_Span]:
        """Yield the matches of the patterns in the lines that the kernel selected, in order."""
        offsets, data = B.buffers(batch)
        common = [k for k in KINDS if k in self.kinds]
        more = [k if isinstance(k, PIIKind) else INCLUDED[k] for k in self.kinds if k not in KINDS]
        wanted = sum({_CAN[k] for k in common})
        kinds = [[k for k in common if _CAN[k] & can] for can in range(2 * K.IBAN)]  # by the kinds that a line may have
        if not more:
            yield from _joined_spans(offsets, data, common, wanted)
            return
        of_lines = [
            Match(*line.in_bytes(a, b), kind)
            for line in every_line(offsets, data, wanted)
            for a, b, kind in find(line.text, kinds[line.can], more)
        ]
        others = [m for m in of_lines if m.kind != "phone"]
        breaks = K.suspects(offsets, data, K.byte_kinds(), wanted | K.BREAK)
        for kind in [k for k in common if k in ACCOUNTS]:
            others = with_kind(others, accounts_across(breaks, offsets, data, kind, FINDERS[kind]), kind)
        found = with_kind(others, only_phones(offsets, data) if "phone" in common else [], "phone")
        found = with_kind(found, across(breaks, offsets, data) if "phone" in common else [], "phone")
        found = with_kind(found, listed(breaks, offsets, data) if "phone" in common else [], "phone")
        found = with_kind(found, [m[:2] for m in of_lines if m.kind == "phone"], "phone")
        yield from _in_texts(found, offsets)


def _joined_spans(offsets: I64, data: U8, kinds: list[str], wanted: int) -> Iterator[_Span]:
    """Yield the matches of some of KINDS, in order; each kind is searched for at once in all lines that may have it."""
    wanted |= K.BREAK if "phone" in kinds or "card" in kinds else 0
    rows, found = K.suspects(offsets, data, K.byte_kinds(), wanted), list[Match]()
    for kind in kinds:
        if kind == "phone":
            found = with_kind(found, only_phones(offsets, data), kind)
            found = with_kind(found, across(rows, offsets, data), kind)
            found = with_kind(found, listed(rows, offsets, data), kind)
        some = rows[rows[:, 3] & _CAN[kind] != 0]
        if len(some):
            spans = find_joined(data, some[:, 1], some[:, 2], FINDERS[kind])
            found = with_kind(found, map(tuple, spans.tolist()), kind)
        if kind in ACCOUNTS:
            found = with_kind(found, accounts_across(rows, offsets, data, kind, FINDERS[kind]), kind)
    yield from _in_texts(found, offsets)


def _in_texts(found: list[Match], offsets: I64) -> Iterator[_Span]:
    """Yield matches, given in bytes of the buffer, with the index of their text."""
    texts = (np.searchsorted(offsets, [m.start for m in found], side="right") - 1).tolist()
    yield from (_Span(m.start, m.end, row, m.kind) for m, row in zip(found, texts, strict=True))


def _record_cuts(batch: Batch, spans: Sequence[_Span], stats: Ledger) -> None:
    """Record the replaced matches by kind, without quoting them."""
    ids, offsets = B.ids(batch), B.buffers(batch)[0]
    for kind in dict.fromkeys(s.kind for s in spans):
        mine = [s for s in spans if s.kind == kind]
        rows = np.array([s.row for s in mine])
        start, end = (np.array([getattr(s, name) for s in mine]) for name in ("start", "end"))
        if stats.is_replay:
            stats.cut(ids[rows], start - offsets[rows], end - offsets[rows], reason=kind)
        sizes = np.bincount(rows, end - start, batch.num_rows).astype(np.int64)
        stats.trim(kind, ids, np.bincount(rows, minlength=batch.num_rows), sizes, private=True)


def _name(kind: str | PIIKind) -> str:
    """Return the name of a kind."""
    return kind.name if isinstance(kind, PIIKind) else kind


def _replaced(batch: Batch, spans: list[_Span], replace: str) -> pa.LargeStringArray:
    """Return the text column with every match replaced."""
    offsets, data = B.buffers(batch)
    words = {s.kind: replace.replace("{kind}", s.kind).encode() for s in spans}
    pieces: list[Any] = []
    at = int(offsets[0])
    for s in spans:
        pieces += [data[at : s.start].data, words[s.kind]]
        at = s.end
    grown = np.cumsum([0, *(len(words[s.kind]) - (s.end - s.start) for s in spans)], dtype=np.int64)
    before = np.searchsorted([s.start for s in spans], offsets)  # number of matches before each text
    new: npt.NDArray[np.int64] = offsets - offsets[0] + grown[before]
    return B.strings(new, np.frombuffer(b"".join([*pieces, data[at : offsets[-1]].data]), np.uint8))
