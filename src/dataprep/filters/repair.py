"""RepairText: undo wrong decoding, take out control characters, compose characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.ledger import Ledger
from dataprep.core.stage import Stage
from dataprep.errors import PlanError, need

FORMS = ("NFC", "NFKC")
_ODD = re.compile(r"[^\t\n\x20-\x7e]")  # all that a repair may change


@dataclass(frozen=True, kw_only=True)
class RepairText(Stage):
    r"""Repair text with `ftfy` (the extra `repair`); nothing else that it can do is done.

    >>> RepairText()                                    # "schÃ¶n" becomes "schön"
    >>> RepairText(encoding=False, form="NFKC")

    encoding: UTF-8 that was read as Windows-1252, Latin-1 and their like is read again, where that is sure.
    controls: control characters, terminal colours and byte order marks go; \r\n, \r, U+0085, U+2028 become \n.
    form: compose characters: "NFC", "NFKC" (also makes ligatures and full-width letters plain), or None.

    Quotes, full-width letters and HTML entities stay. Changed documents are counted as `repaired`. The key holds
    ftfy's version.

    Raises PlanError where ftfy is missing, and for an unknown form.
    """

    encoding: bool = True
    controls: bool = True
    form: str | None = "NFC"

    def __post_init__(self) -> None:
        if self.form not in (*FORMS, None):
            msg = f"RepairText(form={self.form!r}): form is {' or '.join(map(repr, FORMS))}, or None"
            raise PlanError(msg)
        need("ftfy", extra="repair")

    def recipe(self) -> Any:
        """Return the parameters, and ftfy's version: its judgement gets better."""
        return self.VERSION, self.encoding, self.controls, self.form, need("ftfy", extra="repair").__version__

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Repair each batch's texts."""
        repair = self.repairer()
        for batch in batches:
            old = batch.column("text").to_pylist()
            new = [_by_line(text, repair) for text in old]
            n = sum(a != b for a, b in zip(old, new, strict=True))
            stats.count("repaired", n)
            yield B.with_column(batch, "text", pa.array(new, pa.large_string())) if n else batch

    def repairer(self) -> Callable[[str], str]:
        """Return the repair of one text."""
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
            normalization=self.form,
            explain=False,
        )
        return lambda text: str(ftfy.fix_text(text, config))


def _by_line(text: str, repair: Callable[[str], str]) -> str:
    """Return the text with its odd lines repaired; ftfy itself goes line by line."""
    if not _ODD.search(text):
        return text
    return "".join(repair(line) if _ODD.search(line) else line for line in re.split(r"(?<=\n)", text))
