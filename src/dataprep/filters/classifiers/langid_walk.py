"""py3langid with its walk over the bytes of a text compiled: the same scores, bit for bit, several times as fast.

Twin: tests/twins/langid.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.errors import need
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8

I32 = npt.NDArray[np.int32]
SAMPLES = (b"", b"The garden was open to everyone. ", "الحديقة مفتوحة 123 été".encode())


@kernel
def walk(text: U8, moves: Any, rows: I64, features: I32, seen: I32) -> tuple[I64, I32]:
    """Return the features of a text in order of their first visit, and how often each is visited.

    moves, rows, features: the automaton: state = moves[rows[state] + byte], with feature features[state] or -1. seen:
    zeros for every feature, and zeros again afterwards.
    """
    order = np.empty(len(text), np.int64)
    n, state = 0, np.int64(0)
    for i in range(len(text)):
        state = np.int64(moves[rows[state] + np.int64(text[i])])
        feature = features[state]
        if feature >= 0:
            if seen[feature] == 0:
                order[n] = feature
                n += 1
            seen[feature] += np.int32(1)
    counts = np.empty(n, np.int32)
    for i in range(n):
        counts[i] = seen[order[i]]
        seen[order[i]] = 0
    return order[:n], counts


def load() -> Any:
    """Return py3langid's identifier with probabilities; with its own walk if the compiled one scores otherwise."""
    langid = need("py3langid.langid", extra="langid")
    plain = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    try:
        fast = _walker(langid.LanguageIdentifier, plain)
        same = all(np.array_equal(fast._raw_score(s), plain._raw_score(s)) for s in SAMPLES)  # noqa: SLF001
    except (AttributeError, TypeError, ValueError):
        same = False
    return fast if same else plain


def _walker(identifier: Any, plain: Any) -> Any:
    """Return the identifier with one method replaced."""
    moves = np.frombuffer(plain.tk_nextmove, np.dtype(plain.tk_nextmove.typecode))
    rows, features = np.asarray(plain.tk_row, np.int64) << 8, np.asarray(plain.tk_output, np.int32)
    seen = np.zeros(len(plain.nb_ptc), np.int32)

    class Walker(identifier):
        __slots__ = ()

        def _raw_score(self, text: bytes) -> Any:
            order, counts = walk(np.frombuffer(text, np.uint8), moves, rows, features, seen)
            if not len(order):
                return super()._raw_score(b"")
            return np.log1p(counts.astype(np.float32)) @ self.nb_ptc[order] + self.nb_pc

    fast = Walker.__new__(Walker)
    for name in identifier.__slots__:
        setattr(fast, name, getattr(plain, name))
    fast.nb_ptc = plain.nb_ptc.astype(np.float32)  # 57 MB in place of 28: each product converts it otherwise
    return fast
