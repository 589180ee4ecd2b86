"""Train a text classifier with fastText, and measure it on held-out texts; equal training texts produce equal models.

The model is an ordinary fastText model; a file next to it, NAME.json, states its labels, settings, data and accuracy.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson
import xxhash

from dataprep.core.model.dataset import Dataset
from dataprep.core.model.documents import check_file_apart
from dataprep.core.output import owned
from dataprep.errors import CorruptShard, DataprepError, PlanError, need
from dataprep.store import files

from . import models

LEAST = 2  # texts per label: one to train on, one to test on
ZEROS = {
    "MALLOC_MMAP_THRESHOLD_": "4096", "MALLOC_MMAP_MAX_": "1000000", "MALLOC_PERTURB_": "255",
    "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0",
}  # fmt: skip
TRAINER = """
import json, sys
import fasttext
settings = json.load(sys.stdin)
path = settings.pop("path")
fasttext.train_supervised(thread=1, verbose=0, **settings).save_model(path)
"""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of training; names and meanings are fastText's.

    Attributes:
        dim: the length of the vectors.
        min_n: the number of characters of the shortest subwords; 0 with max_n=0: no subwords are used.
        max_n: the number of characters of the longest subwords.
        word_ngrams: the number of words in the longest n-grams.
        bucket: the number of rows for subwords and word n-grams; the model file has 4 * dim bytes per row.
        min_count: the minimum number of occurrences of a word in the vocabulary.
        lr: the learning rate.
        epochs: the number of passes over the texts.
        max_bytes: the number of bytes from the start of each text that are used.
        held_out: the share of the texts that are held out for testing, selected by hash, so that all copies of a text
            are in one split.
        max_texts: the maximum number of texts per label, selected by hash.
        seed: the seed of the order of texts and of fastText's random numbers.
    """

    dim: int = 16
    min_n: int = 1
    max_n: int = 4
    word_ngrams: int = 1
    bucket: int = 1 << 19
    min_count: int = 2
    lr: float = 1.0
    epochs: int = 10
    max_bytes: int = 4096
    held_out: float = 0.1
    max_texts: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        counts = (self.dim, self.word_ngrams, self.bucket, self.min_count, self.epochs, self.max_bytes, self.max_texts)
        good = all(n is None or (isinstance(n, int) and n > 0) for n in counts)
        if not good or not 0 <= self.min_n <= self.max_n or not 0 < self.held_out < 1 or self.lr <= 0:
            msg = f"{self!r}: numbers must be positive, min_n <= max_n, and 0 < held_out < 1"
            raise PlanError(msg)


# Single characters and a high rate: trained on 135 pages of each of 8 languages, subwords of 2 to 5 characters and
# lr=0.5 labelled 0 of 15 Chinese pages right, these all; on Darija and its neighbours the two differ by 0.2 points.
LANGUAGE = Settings()
QUALITY = Settings(dim=32, min_n=0, max_n=0, word_ngrams=2, min_count=3, lr=0.1, epochs=5, max_bytes=1 << 16)


@dataclass(frozen=True)
class Trained:
    """A trained classifier, and its results on the held-out texts.

    Attributes:
        path: the model file.
        labels: the model's labels.
        n_train: the number of training texts per label.
        confusion: confusion[true label][predicted label], the number of held-out texts.
    """

    path: str
    labels: tuple[str, ...]
    n_train: dict[str, int]
    confusion: dict[str, dict[str, int]]

    @property
    def accuracy(self) -> float:
        """The share (0 to 1) of held-out texts with a correct label."""
        asked = sum(n for row in self.confusion.values() for n in row.values())
        return sum(row.get(label, 0) for label, row in self.confusion.items()) / max(1, asked)


def train_classifier(
    texts: Mapping[str, Dataset | Iterable[str]],
    out: str,
    settings: Settings = LANGUAGE,
    *,
    test: Mapping[str, Dataset | Iterable[str]] | None = None,
    positive: str | None = None,
) -> Trained:
    """Train a fastText classifier of the labels in `texts`, and write it to `out`, a local .bin file.

    - texts: the texts of each label, or a Dataset of them; of each distinct text, the first `max_bytes` bytes are held
      in memory.
    - settings: the settings of training.
    - test: texts to test on, instead of a share of `texts`; pass such texts if some of `texts` are variants of each
      other.
    - positive: the label that `Quality` uses. Labels, settings, data and accuracy are written to `out` with .json
      appended.

    Returns the classifier's path, labels and test results.

    fastText trains in one thread, in a new process whose memory is zeroed. With one thread, version 0.9.3 initialises
    only a tenth of its matrix, so with reused memory, each run would produce a different model.

    Raises PlanError if there are fewer than two labels, if a label contains white space or has fewer than two texts, or
    if `out` is an input file. Raises StaleOutput if `out` is a different model or another file.
    """
    need("fasttext", extra="langid")
    _check_place(out, [*texts.values(), *(test or {}).values()])
    lines = {label: _lines(found, settings) for label, found in sorted(texts.items())}
    _check(lines, out)
    if test is None:
        share = settings.held_out  # of the lines: those with the smallest hashes
        asked = {label: found[: max(1, round(len(found) * share))] for label, found in lines.items()}
    else:
        asked = {label: _lines(found, settings) for label, found in test.items()}
    out_of_it = {line for found in asked.values() for line in found}
    learnt = [(label, line) for label, found in lines.items() for line in found if line not in out_of_it]
    _check({label: [line for other, line in learnt if other == label] for label in lines}, out, least=1)
    random.Random(settings.seed).shuffle(learnt)  # noqa: S311 - an order, not a secret
    with tempfile.TemporaryDirectory() as folder:
        trained = _train(learnt, folder, settings)
        model = models.opened(trained)
        answers = {label: ([*model.top(line, 1), (0.0, "")][0][1] for line in found) for label, found in asked.items()}
        confusion = {label: dict(sorted(Counter(found).items())) for label, found in answers.items()}
        made = Trained(out, tuple(sorted(lines)), dict(Counter(label for label, _ in learnt)), confusion)
        digest = xxhash.xxh3_128()
        for label, line in learnt:
            digest.update(label.encode() + b"\0" + line + b"\n")
        about = {
            "accuracy": round(made.accuracy, 4), "labels": made.labels, "settings": asdict(settings),
            "n_train": made.n_train, "confusion": confusion, "data": digest.hexdigest(), "positive": positive,
        }  # fmt: skip
        _put(trained, out, about | {"model": models.identity(trained)})
    return made


def _put(trained: str, out: str, about: dict[str, Any]) -> None:
    """Replace the model `out` and its description together.

    Until the new model is written, the description also states the old one.
    """
    before = {}
    with contextlib.suppress(CorruptShard):
        before = models.description(files.path_of(out)) if files.exists(out) else {}
    files.write_state(out + ".json", about | ({"before": before} if before else {}))
    with files.open_raw(trained) as f, files.atomic(files.path_of(out)) as to:
        while block := f.read(models.BLOCK):
            to.write(block)
    if before:
        files.write_state(out + ".json", about)


def _check_place(out: str, texts: Iterable[Dataset | Iterable[str]]) -> None:
    """Raise PlanError if `out` is an input file or would be read as one; StaleOutput if another program wrote it."""
    about = out + ".json"
    for docs in (docs for docs in texts if isinstance(docs, Dataset)):
        for url in (out, about):
            check_file_apart(docs.parts, url)
    owned.check_file(about, "the description of a model that dataprep trained", '{"accuracy"')
    if not files.exists(about):
        owned.check_file(out, "a model that dataprep trained, as it has no .json")


def _lines(texts: Dataset | Iterable[str], settings: Settings) -> list[bytes]:
    """Return each distinct text as one line, in order of its hash, with label prefixes in the text neutralised."""
    if isinstance(texts, Dataset):
        texts = (text for batch in texts.batches(["text"]) for text in batch.column("text").to_pylist())
    found: dict[bytes, int] = {}
    for text in texts:
        start = text[: settings.max_bytes].encode()[: settings.max_bytes].decode("utf-8", "ignore")
        line = " ".join(start.split()).replace(models.PREFIX, "__label ").encode()
        if line:
            found[line] = xxhash.xxh3_64_intdigest(line, settings.seed)
    return sorted(found, key=lambda line: (found[line], line))[: settings.max_texts]


def _check(lines: Mapping[str, Sequence[bytes]], out: str, least: int = LEAST) -> None:
    bad = [label for label in lines if not re.fullmatch(r"\S+", label)]
    few = [label for label, found in lines.items() if len(found) < least]
    if len(lines) < 2:
        msg = f"a classifier needs at least two labels, but has {list(lines) or 'none'}; provide more"
    elif bad:
        msg = f"the label {bad[0]!r} must be a word without white space; rename it"
    elif few:
        msg = f"the label {few[0]!r} has {len(lines[few[0]])} different texts to train on; provide at least {LEAST}"
    elif not files.is_local(out):
        msg = f"{out} must be a local path; copy the model afterwards"
    else:
        return
    raise PlanError(msg)


def _train(learnt: Sequence[tuple[str, bytes]], folder: str, settings: Settings) -> str:
    """Train in a new process whose memory is always zeroed; return the path of the model, in `folder`.

    Blocks larger than a page come from the system (MALLOC_MMAP) as zeros. glibc sets the others to the complement of
    MALLOC_PERTURB_, if its cache of small blocks, which ignores this setting, is off.
    """
    lines, model = files.join(folder, "lines"), files.join(folder, "model.bin")
    with files.atomic(lines) as f:
        f.writelines(models.PREFIX.encode() + label.encode() + b" " + line + b"\n" for label, line in learnt)
    given = {
        "path": model, "input": lines, "dim": settings.dim, "minn": settings.min_n, "maxn": settings.max_n,
        "wordNgrams": settings.word_ngrams, "bucket": settings.bucket, "minCount": settings.min_count,
        "lr": settings.lr, "epoch": settings.epochs, "loss": "softmax", "seed": settings.seed,
    }  # fmt: skip
    done = subprocess.run(  # noqa: S603 - our own interpreter and program
        [sys.executable, "-c", TRAINER], input=orjson.dumps(given), capture_output=True, check=False,
        env=os.environ | ZEROS,
    )  # fmt: skip
    if done.returncode:
        error = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        msg = f"fastText could not train ({error[-1]}); provide more texts, or a smaller bucket= and dim="
        raise DataprepError(msg)
    return model
