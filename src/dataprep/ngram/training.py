"""Train an n-gram model: number the words, count n-grams, compute probabilities, and write them as ARPA."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np
import numpy.typing as npt

from dataprep.core.model import batch as B
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.documents import check_file_apart
from dataprep.core.output import owned
from dataprep.core.run.runner import parse_bytes
from dataprep.errors import DataprepError, PlanError
from dataprep.store import files
from dataprep.store.atomic import full_disk_said
from dataprep.unicode.text import I64

from . import arpa, partition
from .partition import Exchange, Heap, sort_ngrams
from .smoothing import F64, FALLBACK, Statistics, nodes, smooth, unigrams
from .vocabulary import BOS, EOS, Vocabulary

BLOCK_BYTES = 4 << 20
MAX_ORDER = 6  # KenLM's limit, as built on PyPI


@dataclass(frozen=True)
class NgramModel:
    """A trained n-gram model.

    Attributes:
        path: the path of the ARPA file.
        counts: the number of n-grams of each order (length).
        discounts: the discounts (subtracted from counts) of each order.
        n_sentences: the number of sentences in the text.
        n_words: the number of words in the text.
        binary: the path of the file in KenLM's own format; None if there is none.
    """

    path: str
    counts: tuple[int, ...]
    discounts: tuple[tuple[float, ...], ...]  # of adjusted counts of 1, 2, 3 and more
    n_sentences: int
    n_words: int
    binary: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Settings:
    order: int
    prune: tuple[int, ...]
    fallback: tuple[float, ...] | None
    skip_symbols: bool
    memory: int

    def __post_init__(self) -> None:
        if not 2 <= self.order <= MAX_ORDER:
            msg = f"order={self.order!r} must be from 2 to {MAX_ORDER}, the orders that KenLM loads"
            raise PlanError(msg)
        steps = list(self.prune)
        if len(steps) != self.order or steps[0] != 0 or steps != sorted(steps):
            msg = (
                f"prune={self.prune!r} must be at most {self.order} thresholds, one per order: 0 for single words, "
                "then numbers that do not decrease; the last number is used for all higher orders"
            )
            raise PlanError(msg)
        if self.fallback is not None and (
            len(self.fallback) != 3 or not all(0 <= d <= j for j, d in enumerate(self.fallback, 1))
        ):
            limits = "three numbers, from 0 to 1, 0 to 2 and 0 to 3"
            msg = f"discount_fallback={self.fallback!r} must be {limits}, such as {FALLBACK}"
            raise PlanError(msg)


def train(
    texts: str | Sequence[str] | Dataset,
    *,
    out: str,
    order: int = 5,
    prune: Sequence[int] = (0,),
    discount_fallback: bool | Sequence[float] = False,
    skip_symbols: bool = False,
    memory: int | str = "2GB",
    binary: bool = False,
) -> NgramModel:
    """Train an interpolated modified Kneser-Ney model, equal to that of KenLM's `lmplz`, and write it to `out` as ARPA.

    - texts: plain-text files, folders or globs (.gz, .zst, .xz, .bz2 by suffix), or a Dataset; every line is a sentence
      of words separated by spaces.
    - order: the number of words in the longest n-grams, 2 to 6.
    - prune: one number per order; n-grams with at most this many occurrences are dropped (`lmplz --prune`). The last
      number is also used for all higher orders.
    - discount_fallback: the three discounts to use if the text is too small to compute them; True selects the defaults
      of `lmplz`.
    - skip_symbols: whether to skip the words <s>, </s> and <unk> in the text instead of raising ReadError.
    - memory: the memory for n-grams, in bytes or as text such as "2GB", in addition to the vocabulary (about 40 bytes
      per word).
    - binary: whether to also run KenLM's `build_binary`.

    Raises DataprepError if the discounts cannot be computed, ReadError if a file cannot be read, and PlanError if a
    parameter is invalid. Source: Heafield et al., "Scalable Modified Kneser-Ney Language Model Estimation" (2013).
    """
    prune = tuple(prune) or (0,)
    plan = _Settings(
        order=order,
        prune=prune + prune[-1:] * (order - len(prune)),
        fallback=(FALLBACK if discount_fallback is True else tuple(discount_fallback)) if discount_fallback else None,
        skip_symbols=skip_symbols,
        memory=parse_bytes(memory),
    )
    tool = shutil.which("build_binary") if binary else None
    if binary and tool is None:
        msg = "KenLM's build_binary is not on the PATH; train without binary (KenLM also loads ARPA files)"
        raise PlanError(msg)
    if not files.is_local(out):
        msg = f"{out} must be a local path; copy the model afterwards"
        raise PlanError(msg)
    path = files.path_of(out)
    for made in (path, *([] if tool is None else [_binary_path(path)])):
        if isinstance(texts, Dataset):
            check_file_apart(texts.parts, made)
        elif any(_is_read(pattern, made) for pattern in ([texts] if isinstance(texts, str) else texts)):
            msg = f"{made} is one of the texts, or the next run would read it as one; choose another file as out"
            raise PlanError(msg)
    owned.check_file(path, "an ARPA model", "\\data\\")
    if tool is not None:
        owned.check_file(_binary_path(path), "a KenLM binary", "mmaplmhttp://kheafield.com")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path) or ".", prefix=".ngram-", suffix=".tmp") as folder:
        with full_disk_said(path):
            model = _Training(plan, folder).run(texts, path)
        return model if tool is None else _binary(tool, model, os.path.join(folder, "binary"))


def _is_read(pattern: str, path: str) -> bool:
    """Return whether the texts `pattern` are, or would be, read from the file `path`."""
    return files.would_list(pattern, path) or files.real(path) in map(files.real, files.expand(pattern))


class _Training:
    """One run of training; the vocabulary and one number per word stay in memory."""

    def __init__(self, plan: _Settings, folder: str) -> None:
        self.plan, self.folder, self.words = plan, folder, Vocabulary()
        self.stats = Statistics(plan.order)
        self.n_sentences = self.n_words = 0

    def run(self, texts: str | Sequence[str] | Dataset, path: str) -> NgramModel:
        with tempfile.TemporaryFile(dir=self.folder) as tokens:
            followed = self._number(texts, tokens)
            part_of, self.n_parts = partition.shares(followed, self.plan.order, self.plan.memory)
            self.exchange = Exchange(self.folder, part_of, self.n_parts)
            tokens.seek(0)
            blocks = (np.frombuffer(block, np.int32) for block in iter(lambda: tokens.read(BLOCK_BYTES), b""))
            heaps = partition.scatter(self.folder, blocks, self.plan.order, part_of, self.n_parts)
        adjusted = self._count(heaps)
        discounts = self.stats.discounts(self.plan.fallback)
        counts = (len(self.words), *self.stats.kept[1:])
        probability = unigrams(adjusted, discounts[0])
        with contextlib.ExitStack() as opened, files.atomic(path) as f:
            f.write(b"\\data\\\n" + b"".join(b"ngram %d=%d\n" % (n, count) for n, count in enumerate(counts, 1)))
            sections = [opened.enter_context(tempfile.TemporaryFile(dir=self.folder)) for _ in counts]
            self._smooth(discounts, probability, sections)
            for n, lines in enumerate(sections, 1):
                f.write(b"\n\\%d-grams:\n" % n)
                lines.seek(0)
                shutil.copyfileobj(lines, f, 1 << 20)
                lines.close()
            f.write(b"\n\\end\\\n")
        found = tuple(tuple(row[1:]) for row in discounts.tolist())
        return NgramModel(path, counts, found, self.n_sentences, self.n_words)

    def _number(self, texts: str | Sequence[str] | Dataset, f: IO[bytes]) -> I64:
        """Write the numbers of all words; return how often each word is followed by another word."""
        seen = np.zeros(0, np.int64)
        for where, block in _blocks(texts):
            for tokens in self.words.read(block, self.plan.order, skip_symbols=self.plan.skip_symbols, where=where):
                more = np.bincount(tokens, minlength=len(self.words))
                more[: len(seen)] += seen
                seen = more
                f.write(tokens.data)
        seen = np.pad(seen, (0, len(self.words) - len(seen)))
        self.n_sentences = int(seen[EOS])
        self.n_words = int(seen[EOS + 1 :].sum())
        seen[BOS], seen[EOS] = self.n_sentences, 0
        return seen

    def _count(self, heaps: list[Heap]) -> I64:
        """Sort every part and count; return the adjusted counts of single words."""
        adjusted = np.zeros(len(self.words), np.int64)
        for part, heap in enumerate(heaps):
            ngrams = sort_ngrams(partition.scattered(heap, self.plan.order), len(self.words))
            for level in nodes(ngrams, self.plan.prune):
                if level.order == 2:
                    adjusted += np.bincount(ngrams.columns[0][level.first], minlength=len(adjusted))
                self.stats.add(level.order, level.adjusted, level.kept)
            partition.save(self.folder, part, ngrams)
        self.stats.add(1, adjusted, np.ones(len(adjusted), np.bool_))
        return adjusted

    def _smooth(self, discounts: F64, words: F64, outs: Sequence[IO[bytes]]) -> None:
        """Write the lines of each order into a separate file."""
        backoff = np.ones(len(words))
        for part in range(self.n_parts):
            self._smooth_part(part, discounts, words, backoff, outs)
        every = np.arange(len(words), dtype=np.int32)[None]
        arpa.write_lines(outs[0], every, words, backoff, self.words)
        for n in range(2, self.plan.order):
            for columns, probability, weights in self.exchange.take(n):
                kept = ~np.isnan(probability)
                arpa.write_lines(outs[n - 1], columns[:, kept], probability[kept], weights[kept], self.words)

    def _smooth_part(self, part: int, discounts: F64, words: F64, backoff: F64, outs: Sequence[IO[bytes]]) -> None:
        ngrams = partition.saved(self.folder, part)
        for found in smooth(ngrams, self.plan.prune, discounts, words):
            n, kept = found.nodes.order, found.nodes.kept
            columns = ngrams.columns[:n, found.nodes.first]
            contexts = ngrams.columns[1:n, found.context]
            if n == 2:
                backoff[contexts[0]] = found.gamma
            else:
                self.exchange.give_weights(part, contexts, found.gamma)
            if n == self.plan.order:
                arpa.write_lines(outs[n - 1], columns[:, kept], found.probability[kept], None, self.words)
            else:
                ends = kept & (columns[0] == EOS)
                ones: npt.NDArray[np.float64] = np.ones(int(ends.sum()))
                arpa.write_lines(outs[n - 1], columns[:, ends], found.probability[ends], ones, self.words)
                self.exchange.give_ngrams(part, columns, np.where(kept, found.probability, np.nan))


def _blocks(texts: str | Sequence[str] | Dataset) -> Iterator[tuple[str, bytes]]:
    """Yield the source of a block of text, and the block, which ends with white space; a file ends with a line feed."""
    if hasattr(texts, "batches"):
        for batch in texts.batches(["text"]):
            offsets, data = B.buffers(batch)
            spans = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
            # empty lines inside are sentences without words, as in lmplz
            yield "the Dataset", b"".join(data[a:b].tobytes().rstrip(b"\n") + b"\n" for a, b in spans)
        return
    for pattern in [texts] if isinstance(texts, str) else texts:
        urls = files.expand(pattern)
        if not urls:
            msg = f"there is no file at {pattern}; check the path"
            raise PlanError(msg)
        for url in urls:
            yield from ((url, block) for block in _file_blocks(url))


def _file_blocks(url: str) -> Iterator[bytes]:
    rest = last = b""
    with files.open_read(url) as f:
        while block := f.read(BLOCK_BYTES):
            cut = max(block.rfind(b"\n"), block.rfind(b" ")) + 1
            if cut:
                yield rest + block[:cut]
            rest, last = block[cut:] if cut else rest + block, block[-1:]
    if last != b"\n":
        yield rest + b"\n"


def _binary_path(path: str) -> str:
    return os.path.splitext(path)[0] + ".binary"


def _binary(tool: str, model: NgramModel, attempt: str) -> NgramModel:
    """Write the model in KenLM's own format next to the ARPA file; return it.

    - attempt: the temporary file that becomes this file.
    """
    path = _binary_path(model.path)
    done = subprocess.run([tool, model.path, attempt], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        msg = f"build_binary could not read {model.path} ({done.stderr.strip()[-300:]}); train without binary"
        raise DataprepError(msg)
    os.replace(attempt, path)
    return NgramModel(**(vars(model) | {"binary": path}))
