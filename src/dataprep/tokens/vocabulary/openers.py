"""Open vocabularies: files of other programs, and objects of other libraries.

A byte-level BPE becomes a Tokenizer; if it comes from another library, its kernels are first tested on texts. For every
other vocabulary, `LibraryTokenizer` calls the library.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tiktoken
import tokenizers

from dataprep.errors import DataprepError, PlanError, ReadError
from dataprep.store import files

from . import formats
from .library import SENTENCEPIECE, LibraryTokenizer
from .special import EOT
from .tokenizer import FILES, OPENERS, Tokenizer

if TYPE_CHECKING:
    from dataprep.core.model.dataset import Dataset

log = logging.getLogger("dataprep")

TRIED = (
    "Hello, world! It's 3.14 o'clock; I'LL go.\n\n  tabs\tand \r\n ends  ",
    "\u0633\u0644\u0627\u0645 \u0661\u0662\u0663",
    "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c",
    "\u0928\u092e\u0938\u094d\u0924\u0947 e\u0301 \u00e9 \ufb01 \U0001f469\u200d\U0001f680",
    "def f(x):\n    return x_1 + 0x1F  # <tag>",
    " " * 40 + "\u00a0\u3000.",
    "",
)
SAMPLE_BYTES, SAMPLE_TEXTS = 64 << 10, 100  # of documents, on which another library is compared with the kernels


def tokenizer_of(given: Any, texts: Sequence[str] = ()) -> Tokenizer:
    """Return a Tokenizer of a path, a Tokenizer, or an object of `tokenizers`, `tiktoken`, `sentencepiece`.

    For an object of `transformers`, its `backend_tokenizer` is used.

    - texts: a sample of the documents; for an object of another library, the kernels are used only if they encode these
      texts, and some texts in several scripts, like the object.

    Raises PlanError for anything else.
    """
    if isinstance(given, Tokenizer):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Tokenizer.load(given)
    given = getattr(given, "backend_tokenizer", given)
    tried = [*TRIED, *texts]
    if isinstance(given, tokenizers.Tokenizer):
        stored = given.to_str()
        theirs = LibraryTokenizer(stored)
        ours = open_json(stored, "tokenizer", library=theirs)
        return ours if ours is theirs or _agree(ours, theirs, tried) else theirs
    if isinstance(given, tiktoken.Encoding):
        ranks = given._mergeable_ranks  # noqa: SLF001 - the only way to them
        special = {EOT: given.n_vocab} | given._special_tokens  # noqa: SLF001
        tok = Tokenizer(ranks, formats.merges_of(ranks, given.name), special, given._pat_str)  # noqa: SLF001
        if [tok.encode(text) for text in tried] != [given.encode_ordinary(text) for text in tried]:
            msg = f"the ids of {given!r} differ from those of its vocabulary; pass its file to Tokenizer.from_tiktoken"
            raise PlanError(msg)
        return tok
    if hasattr(given, "serialized_model_proto"):
        return LibraryTokenizer.from_sentencepiece(given.serialized_model_proto())
    msg = (
        f"tokenizer={given!r:.80} must be a Tokenizer, a path, or an object of the libraries tokenizers, tiktoken or "
        "sentencepiece"
    )
    raise PlanError(msg)


def tokenizer_for(given: Any, docs: Dataset) -> Tokenizer:
    """Return a Tokenizer, as `tokenizer_of` does; the sample is the beginning of the documents."""
    if isinstance(given, (Tokenizer, str, os.PathLike)):
        return tokenizer_of(given)
    sample = docs.sample(SAMPLE_BYTES).batches(["text"])
    return tokenizer_of(given, [text for batch in sample for text in batch["text"].to_pylist()[:SAMPLE_TEXTS]])


def open_json(stored: str, url: str, library: LibraryTokenizer | None = None) -> Tokenizer:
    """Return the vocabulary in a `tokenizer.json`: a Tokenizer for a byte-level BPE, else a LibraryTokenizer."""
    value = json.loads(stored)
    opener = OPENERS.get(value["model"]["type"])
    try:
        return opener(value, url) if opener else Tokenizer(*formats.parts_of_json(value, url))
    except PlanError as e:
        log.info("%s; the library `tokenizers` encodes it", e)
    return library or LibraryTokenizer(stored)


def _agree(ours: Tokenizer, theirs: LibraryTokenizer, texts: Sequence[str]) -> bool:
    same = ours.encode_batch(texts) == [theirs.encode(text) for text in texts]
    if not same:
        log.warning("the library `tokenizers` encodes some texts differently from the kernels, so it is used")
    return same


def open_file(url: str) -> Tokenizer:
    """Return the vocabulary in the file `tokenizer.json` at a URL. Raises ReadError if it is not one."""
    with files.open_read(url) as f:
        stored = f.read()
    try:
        return open_json(stored.decode(), url)
    except DataprepError:
        raise
    except Exception as e:  # of the library `tokenizers`, which raises nothing more specific
        msg = f"is not a tokenizer.json ({e!r:.80}); train one with dp.train_bpe"
        raise ReadError(msg, url) from e


def open_model(url: str) -> LibraryTokenizer:
    """Return the vocabulary in a `.model` file of SentencePiece. Raises ReadError if it is not one."""
    with files.open_read(url) as f:
        proto = f.read()
    try:
        return LibraryTokenizer.from_sentencepiece(proto)
    except RuntimeError as e:
        msg = f"is not a SentencePiece model ({str(e)[:80]}); check the path"
        raise ReadError(msg, url) from e


FILES.update({".json": open_file, ".model": open_model})
OPENERS[SENTENCEPIECE] = lambda value, _: LibraryTokenizer(json.dumps(value))
