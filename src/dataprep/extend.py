"""Everything that you need to write your own reader, stage, estimator or runner; docs/stages.md shows how.

>>> from dataprep import extend
>>> batch = extend.make([extend.doc_id(0, 7)], ["A text"], source="mine")

Only the names in this module, in `dataprep` itself and in `dataprep.chats` are stable; others may change in any
release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import lazy
from .core.model.batch import (
    MAX_BYTES,
    MAX_ROWS,
    POSITION_BITS,
    Batch,
    Ids,
    buffers,
    doc_id,
    ids,
    lengths,
    make,
    parse_id,
    show_id,
    split_id,
    strings,
    with_column,
)
from .core.model.dataset import Dataset
from .core.model.estimator import Estimator
from .core.model.function import Filter, Map
from .core.model.ledger import Ledger
from .core.model.part import Part
from .core.model.reader import Reader, Slice
from .core.model.score import Score, ScoredFilter
from .core.model.stage import Stage, drop_rows
from .core.model.stats import Stats
from .core.model.tables import NOBODY, SPAN, SPANS, VERDICTS, write_spans, write_verdicts
from .core.model.verdict import CutSpans, DropIds, Verdict
from .core.run.passes import Pass, table_once
from .core.run.runner import Local, Runner, Serial
from .errors import DataprepError, PlanError, ReadError
from .pii.kinds import PIIKind
from .read.formats import register
from .resource import Resource
from .store.files import atomic, content_hash, join, open_arrow, open_read

if TYPE_CHECKING:
    from .dedup.bloom import bloom_hashes
    from .unicode.shingles import shingle_hash

__all__ = [
    "MAX_BYTES",
    "MAX_ROWS",
    "NOBODY",
    "POSITION_BITS",
    "SPAN",
    "SPANS",
    "VERDICTS",
    "Batch",
    "CutSpans",
    "DataprepError",
    "Dataset",
    "DropIds",
    "Estimator",
    "Filter",
    "Ids",
    "Ledger",
    "Local",
    "Map",
    "PIIKind",
    "Part",
    "Pass",
    "PlanError",
    "ReadError",
    "Reader",
    "Resource",
    "Runner",
    "Score",
    "ScoredFilter",
    "Serial",
    "Slice",
    "Stage",
    "Stats",
    "Verdict",
    "atomic",
    "bloom_hashes",
    "buffers",
    "content_hash",
    "doc_id",
    "drop_rows",
    "ids",
    "join",
    "lengths",
    "make",
    "open_arrow",
    "open_read",
    "parse_id",
    "register",
    "shingle_hash",
    "show_id",
    "split_id",
    "strings",
    "table_once",
    "with_column",
    "write_spans",
    "write_verdicts",
]
_COMPILED = {"bloom_hashes": "dedup.bloom", "shingle_hash": "unicode.shingles"}  # load Numba, which takes 0.7 s
__getattr__ = lazy.loader(__name__, _COMPILED, __all__)


def __dir__() -> list[str]:
    return __all__
