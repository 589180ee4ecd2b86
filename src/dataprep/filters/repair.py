"""RepairText: undo wrong decoding, remove control characters, compose characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.stage import Stage
from dataprep.errors import PlanError, need

FORMS = ("NFC", "NFKC")
_ODD = re.compile(r"[^\t\n\x20-\x7e]")  # characters that a repair can change


@dataclass(frozen=True, kw_only=True)
class RepairText(Stage):
    r"""Repair mojibake, control characters and Unicode normalisation with `ftfy` (the extra `repair`).

    >>> RepairText()                                    # "schÃ¶n" becomes "schön"
    >>> RepairText(encoding=False, normalization="NFKC")

    Args:
        encoding: whether to undo mojibake (UTF-8 that was decoded as Windows-1252, Latin-1 or similar) if ftfy is
            certain of it.
        controls: whether to remove control characters, ANSI escape sequences and byte order marks, and to replace \r\n,
            \r, U+0085 and U+2028 by \n.
        normalization: "NFC", which composes characters; "NFKC", which also replaces ligatures and full-width letters;
            or None.

    Other repairs of ftfy, such as those of quotes and HTML entities, are switched off. Changed documents are counted as
    `repaired`. The key of the stage depends on the version of ftfy. Raises PlanError if ftfy is not installed or the
    normalization is unknown.
    """

    encoding: bool = True
    controls: bool = True
    normalization: str | None = "NFC"

    def __post_init__(self) -> None:
        if self.normalization not in (*FORMS, None):
            msg = f"RepairText: normalization={self.normalization!r} must be {' or '.join(map(repr, FORMS))}, or None"
            raise PlanError(msg)
        need("ftfy", extra="repair")

    def recipe(self) -> Any:
        """Return the values that identify this stage: the parameters, and ftfy's version."""
        return self.encoding, self.controls, self.normalization, need("ftfy", extra="repair").__version__

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the batches with repaired texts; count the documents that changed."""
        repair = self.repairer()
        for batch in batches:
            old = batch.column("text").to_pylist()
            new = [_by_line(text, repair) for text in old]
            n = sum(a != b for a, b in zip(old, new, strict=True))
            stats.count("repaired", n)
            yield B.with_column(batch, "text", pa.array(new, pa.large_string())) if n else batch

    def repairer(self) -> Callable[[str], str]:
        """Return a function that repairs a text according to this stage's settings."""
        ftfy = need("ftfy", extra="repair")
        config = ftfy.TextFixerConfig(
            unescape_html=False,
            remove_terminal_escapes=self.controls,
            fix_encoding=self.encoding,
            fix_c1_controls=self.encoding,
            fix_latin_ligatures=False,
            fix_character_width=False,
            uncurl_quotes=False,
            fix_line_breaks=self.controls,
            remove_control_chars=self.controls,
            normalization=self.normalization,
            explain=False,
        )
        return lambda text: str(ftfy.fix_text(text, config))


def _by_line(text: str, repair: Callable[[str], str]) -> str:
    """Return the text with its non-ASCII lines repaired; ftfy also works line by line."""
    if not _ODD.search(text):
        return text
    return "".join(repair(line) if _ODD.search(line) else line for line in re.split(r"(?<=\n)", text))
