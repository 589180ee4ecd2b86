"""The models of a preset folder: SentencePiece and n-grams of the reference, and the classifier of the language."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dataprep.errors import PlanError, need
from dataprep.filters.ccnet_text import ccnet_normal
from dataprep.ngram import train
from dataprep.store import files
from dataprep.unicode.blanks import words

OTHER = "other"  # the label of all other languages
MAX_CHARS = 4000  # of a sentence that SentencePiece learns from


def train_pieces(texts: Iterable[str], out: str, vocab_size: int) -> dict[str, Any]:
    """Train a SentencePiece model (unigram) of the texts' lines, normalised as in CCNet, and write it to `out`.

    - vocab_size: the maximum number of pieces; a small text has fewer.

    Returns {"files": [out], "pieces": their number}. Raises PlanError if there is too little text.
    """
    library = need("sentencepiece", extra="perplexity")
    model = io.BytesIO()
    try:
        library.SentencePieceTrainer.train(
            sentence_iterator=(line[:MAX_CHARS] for line in _lines(texts)), model_writer=model, vocab_size=vocab_size,
            hard_vocab_limit=False, character_coverage=0.9995, model_type="unigram", num_threads=1, minloglevel=2,
            max_sentence_length=4 * MAX_CHARS,
        )  # fmt: skip
    except (RuntimeError, OSError) as e:
        why = " ".join(str(e).split()).rpartition("] ")[2].partition(". In")[0][:200]
        msg = f"SentencePiece could not train on the reference ({why}); provide more text, or a vocab_size= that fits"
        raise PlanError(msg) from e
    files.write_bytes(out, model.getvalue())
    return {"files": [out], "pieces": library.SentencePieceProcessor(model_proto=model.getvalue()).get_piece_size()}


def train_ngrams(texts: Iterable[str], pieces: str, out: str, order: int) -> dict[str, Any]:
    """Train an n-gram model of the pieces of the texts' normalised lines, and write it to `out` (ARPA).

    - pieces: the path of the SentencePiece model.

    Returns {"files": [out], "words": the number of pieces that the training read}.
    """
    library = need("sentencepiece", extra="perplexity")
    model = library.SentencePieceProcessor(model_file=pieces)
    with tempfile.TemporaryDirectory(prefix="dataprep-fit-") as folder:
        at = files.join(folder, "lines.txt")
        with files.atomic(at) as f:
            for line in _lines(texts):
                f.write((" ".join(words(" ".join(model.encode(line, out_type=str)))) + "\n").encode())
        made = train(at, out=out, order=order, discount_fallback=True, skip_symbols=True)
    return {"files": [out], "words": made.n_words}


def train_language(code: str, mine: Sequence[str], others: Sequence[str], out: str) -> dict[str, Any]:
    """Train a fastText classifier with the labels `code` and "other", and write it to `out`.

    - mine, others: texts in the language, and in other languages.

    Returns {"files": [out and its description], "accuracy": share of held-out texts that are labelled correctly,
    "others": number of texts in other languages}.
    """
    from dataprep.filters.classifiers.train import train_classifier

    made = train_classifier({code: mine, OTHER: others}, out)
    return {"files": [out, out + ".json"], "accuracy": round(made.accuracy, 4), "others": len(others)}


def _lines(texts: Iterable[str]) -> Iterator[str]:
    """Return the lines of texts that have words, normalised as `Perplexity` does."""
    for text in texts:
        for line in text.split("\n"):
            normal = ccnet_normal(line)
            if words(normal):
                yield normal
