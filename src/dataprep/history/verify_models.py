"""Check that folders of tokenizers, and preset folders of `fit-language`, are unchanged since they were written."""

from __future__ import annotations

from dataprep.errors import DataprepError
from dataprep.filters.preset_folder import CLASSIFIER, NGRAM, PIECES, RECORD, open_preset
from dataprep.store import beside, files, receipts
from dataprep.tokens.shards.verify import Problem
from dataprep.tokens.vocabulary.place import RECEIPT, TOKENIZER

RECEIPTS = "receipts"  # of a preset folder
TOKENIZER_KIND, PRESET_KIND = "tokenizer", "preset"
TOKENIZER_AGAIN = "repeat the call that created it, or copy it again"
PRESET_AGAIN = "`dataprep fit-language` with the same samples recreates it"


def kind_of(url: str) -> str | None:
    """Return "tokenizer" or "preset" for such a folder with a receipt of its files; else None."""
    if files.exists(files.join(url, RECORD)) and files.exists(files.join(url, CLASSIFIER)):
        return PRESET_KIND
    both = files.exists(files.join(url, TOKENIZER)) and files.exists(files.join(url, RECEIPT))
    return TOKENIZER_KIND if both else None


def damaged_model(url: str) -> list[Problem]:
    """Return the problems of a folder of which `kind_of` is not None."""
    is_tokenizer = kind_of(url) == TOKENIZER_KIND
    names = [RECEIPT] if is_tokenizer else [files.join(RECEIPTS, n) for n in files.listdir(files.join(url, RECEIPTS))]
    again = TOKENIZER_AGAIN if is_tokenizer else PRESET_AGAIN
    problems = [problem for name in names for problem in _stated(url, name, again)]
    if not is_tokenizer:
        try:
            open_preset("preset", url, *(() if problems else (PIECES, NGRAM, CLASSIFIER)))
        except DataprepError as e:
            problems.append(Problem(RECORD, " ".join(str(e).split()), again))
    return problems


def _stated(url: str, name: str, again: str) -> list[Problem]:
    """Compare the files that the receipt `name` in a folder states with their bytes."""
    try:
        changed = receipts.changed(beside.at(files.join(url, name)))
    except DataprepError as e:
        return [Problem(name, " ".join(str(e).split()), again)]
    what = "is missing, or its content has changed since it was written"
    is_here = {one: beside.at(at) == at for one in changed if (at := files.join(url, files.name_of(one)))}
    return [Problem(files.name_of(one), what, again) for one in changed if is_here[one]]
