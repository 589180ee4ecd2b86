"""The card of a dataset on the Hugging Face Hub: the text that `Dataset.push` writes into README.md.

The metadata (features, splits, sizes, and the files of each configuration), which the Hub's viewer reads, is written by
`datasets`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dataprep.errors import counted

from .stats import StageStats

BEGIN, END = "<!-- written by dataprep: begin -->", "<!-- written by dataprep: end -->"
SECTION = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
LICENCE = (
    "The licence is not stated. If you may publish these texts, add `license:` to the metadata at the top of this file "
    "(in Python `push(license=)`)."
)


def section_of(n_documents: int, n_bytes: int, stats: Iterable[StageStats], *, has_license: bool) -> str:
    """Return the section of a card, as Markdown between two comments: size, a row per stage and reason, and licence.

    - stats: the statistics of the run that made the documents; empty if there was none.
    - has_license: whether the metadata states a licence.
    """
    rows = ["| stage | documents | of input | dropped |", "|---|---:|---:|---|"]
    stages = list(stats)
    for stage in stages:
        share = f"{stage.docs_out / stages[0].docs_in:.1%}" if stages[0].docs_in else ""
        reasons = ", ".join(f"`{cell(reason)}` {n:,}" for reason, n in sorted(stage.reasons.items()))
        rows.append(f"| {cell(stage.name)} | {stage.docs_out:,} | {share} | {reasons} |")
    parts = [f"{counted(n_documents, 'document')} with {counted(n_bytes, 'byte')} of text, in UTF-8."]
    if stages:
        about = "Documents after each stage of the [dataprep](https://pypi.org/project/dataprep-lm/) run, with reasons:"
        parts += ["## How it was made", about, "\n".join(rows)]
    if not has_license:
        parts += ["## Licence", LICENCE]
    return "\n\n".join([BEGIN, *parts, END])


def cell(text: str) -> str:
    """Return a name, escaped for use in a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("`", "'").replace("\n", " ")


def with_section(body: str, section: str, title: str) -> str:
    """Return the text of a card, without metadata, with `section` in place of an earlier one.

    If the card has no such section, the section is appended to its text.

    - title: the title that a card without any text gets.
    """
    body = body.strip() or f"# {title}"
    if SECTION.search(body):
        return SECTION.sub(lambda _: section, body, count=1) + "\n"
    return f"{body}\n\n{section}\n"
