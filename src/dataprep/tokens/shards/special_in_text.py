"""Count special tokens that occur in texts; there, they are encoded as ordinary text."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.model import batch as B
from dataprep.tokens.dialogue import COLUMN, contents
from dataprep.tokens.vocabulary.encoder import count_byte_pairs, find_byte_pairs
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

log = logging.getLogger("dataprep")


def count_special(batches: Iterable[B.Batch], tok: Tokenizer, found: Counter[str]) -> Iterator[B.Batch]:
    """Yield the batches, and count special tokens that their texts contain; these are encoded as text."""
    names = {name: np.frombuffer(name.encode(), np.uint8) for name in tok.special}
    starts = {bytes(name[:2]) for name in names.values()}
    for batch in batches:
        offsets, data = B.buffers(batch if "text" in batch.schema.names else contents(batch.column(COLUMN)))
        text = data[offsets[0] : offsets[-1]]
        places = {start: places_of(text, start) for start in starts}
        counts = {name: n_places(text, places[bytes(token[:2])], token) for name, token in names.items()}
        found.update({name: n for name, n in counts.items() if n})
        yield batch


def places_of(text: npt.NDArray[np.uint8], start: bytes) -> npt.NDArray[np.int64]:
    """Return the offsets of the first two bytes of special tokens (most have the same beginning)."""
    if len(start) == 1:
        return np.flatnonzero(text == start[0])
    n = count_byte_pairs(text, start[0], start[1])  # vectorised, and mostly 0
    return find_byte_pairs(text, start[0], start[1], n) if n else np.zeros(0, np.int64)


def n_places(text: npt.NDArray[np.uint8], places: npt.NDArray[np.int64], token: npt.NDArray[np.uint8]) -> int:
    """Return the number of offsets at which a token begins."""
    places = places[places + len(token) <= len(text)]
    for i, byte in enumerate(token):
        places = places[text[places + i] == byte]
    return len(places)


def spelled_by(receipts: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return how often each special token is in the texts, from the content of receipts; log it."""
    found: Counter[str] = Counter()
    for receipt in receipts:
        found.update(receipt["spelled"])
    if found:
        counts = ", ".join(f"{name} {n:,}" for name, n in sorted(found.items()))
        log.info("documents contain special tokens (%s); they are encoded as text", counts)
    return dict(sorted(found.items()))
