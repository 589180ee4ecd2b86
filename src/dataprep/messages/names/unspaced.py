"""Find names in scripts without spaces (Chinese, Japanese, Thai ...) anywhere in a text, and Korean names.

`kernel.py` finds names as whole words. These scripts write no spaces between words, so letters of the same script
follow a name: "王小明来了", "山田太郎さん". This module searches for names of which all letters are of such scripts.
Korean writes particles and titles at the end of a word ("민수는", "민수씨한테"): a Korean name is found at the
beginning of a word if the rest of the word is such an ending.

Slow reference for the tests: tests/messages/names/test_unspaced.py, each name tried at each character
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from dataprep.unicode.assigned import normalized
from dataprep.unicode.text import I64, U8, U32
from dataprep.unicode.words import EXTEND, KIND, unspaced, word_table

from .kernel import SKIPPED
from .matching import folded
from .prefilter import with_pairs

_HAN = re.compile("[\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_HANGUL = "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"  # syllables, and the letters of which they consist
_ALL_HANGUL = re.compile(f"[{_HANGUL}]+")
_ENDINGS = """
은 는 이 가 을 를 의 에 에서 에게 에게서 한테 한테서 께 께서 께서는 로 으로 와 과 랑 이랑 하고 도 만 까지 부터
처럼 보다 마다 밖에 조차 야 아 여 이여 님 씨 군 양 형 누나 언니 오빠 쌤 샘 선생님 이는 이가 이를 이도 이한테
이랑은 이네 네 들 이의 이야 이다 다 이에요 예요 이라고 라고 이요 요 입니다 이었 였어 이지 지 인데 이고 고 랑은
님은 님이 님께 님도 씨는 씨가 씨도 씨를 씨의 씨한테 형은 형이 언니가 오빠가 누나가
"""
_LAST = 0x10FFFF


def is_unspaced(name: str) -> bool:
    """Return whether all letters of a name are of scripts without spaces, and are enough to search for it inside words.

    Two letters are enough if one is a Chinese character; otherwise three are needed. Vowel signs count.
    """
    if name.isascii():
        return False
    points = _points(name)
    letters = unspaced()[points]
    if not letters.any() or not (letters | (word_table()[points] >> KIND & 15 == EXTEND)).all():
        return False
    return len(name) > 2 or (len(name) == 2 and _HAN.search(name) is not None)


def is_hangul(name: str) -> bool:
    """Return whether a name consists of two Korean syllables or more, and no other letters."""
    return _ALL_HANGUL.fullmatch(name) is not None and len(normalized("NFC", name)) > 1


@functools.cache
def _korean() -> tuple[str, str]:
    """Return two patterns: the text that must precede a Korean name, and the text that must follow it."""
    endings = {form for one in _ENDINGS.split() for form in (one, normalized("NFD", one))}
    longest = "|".join(sorted(endings, key=len, reverse=True))
    return f"(?<![{_HANGUL}])", f"(?=(?:{longest})?(?![{_HANGUL}]))"


class Anywhere:
    """Finds terms in the folded text, which has no invisible signs.

    Args:
        search: yields (start, end, number of the term).
    """

    def __init__(self, search: Callable[[str], Iterable[tuple[int, int, int]]]) -> None:
        self.search = search

    def find(self, offsets: I64, data: U8, rows: I64) -> I64:
        """Return the names in some of n texts, int64[m, 5], as `kernel.find_names` does.

        Args:
            offsets: text k is data[offsets[k]:offsets[k + 1]].
            data: the texts, UTF-8 bytes.
            rows: the numbers of the texts to search.
        """
        view, spans = memoryview(data), zip(offsets[rows].tolist(), offsets[rows + 1].tolist(), strict=True)  # type: ignore[arg-type]
        text = b"\n".join([view[a:b] for a, b in spans]).decode()
        points = _points(text)
        kinds = folded()[points]
        letters = np.flatnonzero(kinds != SKIPPED)
        plain = np.minimum(kinds[letters], _LAST).astype("<u4").tobytes().decode("utf-32-le")
        hits = np.array(list(self.search(plain)), np.int64).reshape(-1, 3)
        first, last = letters[hits[:, 0]], letters[hits[:, 1] - 1]
        ends = np.cumsum(1 + (points > 0x7F) + (points > 0x7FF) + (points > 0xFFFF).astype(np.int64))  # in bytes
        begins = np.append(0, np.cumsum(offsets[rows + 1] - offsets[rows] + 1)[:-1])  # of the rows in `text`
        start = np.append(0, ends)[first]
        row = np.searchsorted(begins, start, side="right") - 1
        shift = offsets[rows[row]] - begins[row]
        mentioned = points[np.maximum(first - 1, 0)] == ord("@")
        return np.column_stack([rows[row], start + shift, ends[last] + shift, hits[:, 2], mentioned]).astype(np.int64)


class UnspacedNames:
    """Finds terms of scripts without spaces in texts.

    Args:
        terms: the id of each term, by its folded text.
    """

    def __init__(self, terms: Mapping[str, int]) -> None:
        some = {term: n for term, n in terms.items() if is_unspaced(term) or is_hangul(term)}
        before, after = _korean()
        longest_first = sorted(some, key=len, reverse=True)
        patterns = (f"{before}(?:{term})+{after}" if is_hangul(term) else re.escape(term) for term in longest_first)
        pattern = re.compile("|".join(patterns))
        search = Anywhere(lambda text: ((*m.span(), _once(m[0], some)) for m in pattern.finditer(text)))
        self.anywhere = search if some else None
        self.pairs = np.zeros(1 << 16, np.bool_)
        self.pairs[[pair_slot(*map(ord, term[:2])) for term in some]] = True

    def find(self, offsets: I64, data: U8) -> I64:
        """Return the names in n texts, int64[m, 5], as `kernel.find_names` does; of overlapping names, the longer one.

        Args:
            offsets: text k is data[offsets[k]:offsets[k + 1]].
            data: the texts, UTF-8 bytes.
        """
        if self.anywhere is None:
            return np.zeros((0, 5), np.int64)
        rows = np.flatnonzero(with_pairs(offsets, data, folded(), self.pairs))
        return self.anywhere.find(offsets, data, rows) if len(rows) else np.zeros((0, 5), np.int64)


def pair_slot(one: int, two: int) -> int:
    """Return the slot of a term's first two letters in the table of `with_pairs`."""
    return (one * 0x9E3779B1 ^ two * 0x85EBCB) >> 8 & 0xFFFF


def _once(text: str, terms: Mapping[str, int]) -> int:
    """Return the number of the longest term of which the text consists, possibly repeated."""
    lengths = range(len(text), 0, -1)
    return next(terms[text[:n]] for n in lengths if text[:n] in terms and text == text[:n] * (len(text) // n))


def _points(text: str) -> U32:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)
