"""Recall of MinHash by script: the share of near-duplicates that its bands are expected to propose.

A pair of similarity s is compared with probability p(s) = 1 - (1 - s^r)^b, so each pair that was found represents 1 /
p(s) pairs (Horvitz and Thompson 1952). The similarities are those of the drop table, and the scripts are those of the
kept documents in a sample of the output. The estimate is a little too low, because a document that is similar to
several kept documents has several chances to be found. Pairs below the threshold are not counted.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.tables import read_tables
from dataprep.core.output.layout import DROPS
from dataprep.dedup.near.bands import p_candidate

SAMPLE_PARTS, SAMPLE_BYTES = 8, 16 << 20  # of the output
HEAD = 400  # characters that decide the script of a text
KANA = 0.05  # of the letters: a text with more is Japanese
MERGED = {"HIRAGANA": "KANA", "KATAKANA": "KANA", "HALFWIDTH": "KANA", "FULLWIDTH": "LATIN", "CJK": "HAN"}


@dataclass(frozen=True)
class ScriptRecall:
    """The estimate for one script.

    Attributes:
        pairs: the number of its pairs in the sample.
        recall: the expected share (0 to 1) of its near-duplicates that were compared.
    """

    stage: str
    script: str
    pairs: int
    recall: float


def expected_recall(similarities: Sequence[float], bands: int, rows: int) -> float:
    """Return the expected recall of pairs that were found, from their similarities.

    >>> round(expected_recall([0.8, 0.8, 1.0], 14, 8), 3)
    0.948
    """
    return len(similarities) / sum(1 / p_candidate(s, bands, rows) for s in similarities)


def recall_by_script(docs: Dataset) -> list[ScriptRecall]:
    """Return the expected recall of each MinHash of a sealed Dataset, by script, the most frequent script first.

    A MinHash with `measure="containment"` is left out, since its bands do not depend on that measure.
    """
    fits = {fit["stage"]: fit for fit in docs.sealed.fits if _has_curve(fit)}
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    heads = _heads(docs) if fits else pa.table({"id": pa.array([], pa.uint64()), "head": []})
    ids = heads.column("id").to_numpy()
    columns = ["stage", "similarity", "duplicate_of", "duplicate_of_dataset"]
    for batch in read_tables(str(docs.url), DROPS, columns) if len(ids) else ():
        here = pc.and_(
            pc.is_in(batch.column("duplicate_of"), pa.array(ids)), batch.column("duplicate_of_dataset").is_null()
        )
        for row in batch.filter(pc.and_(here, batch.column("similarity").is_valid())).to_pylist():
            if row["stage"] in fits:
                head = heads.column("head")[int(np.searchsorted(ids, np.uint64(row["duplicate_of"])))].as_py()
                found[row["stage"], script_of(head)].append(float(row["similarity"]))
    rows = [
        ScriptRecall(stage, script, len(values), expected_recall(values, fits[stage]["bands"], fits[stage]["rows"]))
        for (stage, script), values in found.items()
    ]
    return sorted(rows, key=lambda row: (row.stage, -row.pairs, row.script))


def _has_curve(fit: Mapping[str, Any]) -> bool:
    return bool(fit.get("bands") and fit.get("rows")) and fit.get("measure") == "jaccard"


def _heads(docs: Dataset) -> pa.Table:
    """Return ids, ascending, and beginnings of the texts in a sample of the parts, spread over the Dataset."""
    parts, batches = docs.parts, []
    chosen = sorted({len(parts) * i // SAMPLE_PARTS for i in range(SAMPLE_PARTS)} if parts else ())
    for number in chosen:
        left = SAMPLE_BYTES // len(chosen)
        for batch in parts[number].batches(["id", "text"]):
            text = batch.column("text")
            batches.append(pa.table({"id": pa.array(B.ids(batch)), "head": pc.utf8_slice_codeunits(text, 0, HEAD)}))
            left -= text.nbytes
            if left <= 0:
                break
    if not batches:
        return pa.table({"id": pa.array([], pa.uint64()), "head": pa.array([], pa.large_string())})
    return pa.concat_tables(batches).combine_chunks()


def script_of(text: str) -> str:
    """Return the script of most letters of a text: "Latin", "Arabic", "Han", "Kana" (Japanese) ... or "other".

    >>> script_of("日本語の文です"), script_of("我看书"), script_of("123")
    ('Kana', 'Han', 'other')
    """
    counts: dict[str, int] = defaultdict(int)
    for c in text:
        counts[_script(c)] += 1
    counts.pop("", None)
    if not counts:
        return "other"
    if counts.get("KANA", 0) > KANA * sum(counts.values()):
        return "Kana"
    return max(counts, key=lambda name: (counts[name], name)).capitalize()


@lru_cache(maxsize=1 << 16)
def _script(c: str) -> str:
    """Return the script of a letter by its name in Unicode; "" for other characters."""
    name = unicodedata.name(c, "").split(" ")[0].split("-")[0] if c.isalpha() else ""
    return MERGED.get(name, name)
