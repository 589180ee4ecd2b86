"""`Tokenizer`: a byte-level BPE vocabulary that has the same ids in two engines, `tokenizers` and `tiktoken`.

`engines.py` rejects vocabularies on which the two could differ. The kernels of `encoder.py` encode batches, with the
same ids.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import tiktoken
import tokenizers

from dataprep.core.model import batch as B
from dataprep.errors import PlanError, require
from dataprep.store import files

from . import formats
from .engines import check_agreement, encode_by_tiktoken, engine_of
from .patterns import PATTERNS
from .place import CONFIG, TOKENIZER, check_out, opened, save_file, save_folder
from .special import EOT, special_names

if TYPE_CHECKING:
    from dataprep.core.model.dataset import Dataset

    from .encoder import Encoder
    from .report import TokenizerReport

LONG = 100_000  # characters; `tiktoken`'s regex engine overflows its stack on a million spaces
Merges = Sequence[tuple[bytes, bytes]]


class Tokenizer:
    """A byte-level BPE vocabulary: every text can be encoded, and its ids decode to the same text.

    >>> tok = dp.train_bpe(docs, vocab_size=32_000)
    >>> tok.decode(tok.encode("salam, labas?"))
    'salam, labas?'

    Special tokens in a text are encoded as ordinary text; only `dp.encode` writes `<|endoftext|>`.
    """

    def __init__(
        self, vocab: Mapping[bytes, int], merges: Merges, special: Mapping[str, int], pattern: str = PATTERNS["words"]
    ) -> None:
        """Check and keep `vocab` (bytes to id), `merges` in order, `special` (text to id) and the regex of words."""
        self.vocab, self.merges = dict(vocab), list(merges)
        self.special, self.pattern = dict(special), pattern
        self.trained_on: dict[str, Any] | None = None  # the split it was trained with, if known
        self._check()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.vocab_size:,} ids, {len(self.special)} special, hash {self.hash[:8]}>"

    def __getstate__(self) -> dict[str, Any]:  # without the engines
        return {name: getattr(self, name) for name in ("vocab", "merges", "special", "pattern", "trained_on")}

    @classmethod
    def from_merges(
        cls, merges: Merges, special: str | Iterable[str] = (), pattern: str = PATTERNS["words"]
    ) -> Tokenizer:
        """Return the tokenizer whose ids are 256 bytes, then the merges, `<|endoftext|>` and other special tokens.

        Args:
            merges: pairs (left, right) of tokens, as bytes.
            special: special tokens, or sets of them: "course", "chatml", "code".
            pattern: the regular expression that divides text into words.
        """
        tokens = [bytes([b]) for b in range(256)] + [left + right for left, right in merges]
        specials = {name: len(tokens) + i for i, name in enumerate(special_names(special))}
        return cls({t: i for i, t in enumerate(tokens)}, merges, specials, pattern)

    @classmethod
    def from_files(cls, vocab: str, merges: str, pattern: str = PATTERNS["gpt2"]) -> Tokenizer:
        """Return the tokenizer in two files in GPT-2's format.

        Args:
            vocab: the path of `encoder.json` or `vocab.json`.
            merges: the path of `vocab.bpe` or `merges.txt`.
            pattern: the regular expression that divides text into words.
        """
        return cls(*formats.parts_of_pair(vocab, merges), pattern)

    @classmethod
    def from_tiktoken(
        cls, path: str | os.PathLike[str], special: Mapping[str, int] | None = None, pattern: str | None = None
    ) -> Tokenizer:
        """Return the tokenizer in a `.tiktoken` file.

        Args:
            path: the file.
            special: {special token: id}; None: read from the file PATH.json that `save` wrote.
            pattern: the name of a pattern, or a regular expression; None: read from the file PATH.json.
        """
        return cls(*formats.parts_of_tiktoken(os.fspath(path), special, pattern))

    @classmethod
    def of_bytes(cls, special: str | Iterable[str] = ()) -> Tokenizer:
        """Return a byte tokenizer for small experiments: ids 0 to 255 are the bytes, then come the special tokens."""
        return cls.from_merges([], special)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tokenizer:
        """Return the tokenizer in a file or folder that `save` or another program wrote.

        Args:
            path: `tokenizer.json`, its folder, `.tiktoken`, or `.model` of SentencePiece. Kernels encode with a
                byte-level BPE; for any other vocabulary, its library does.

        Raises ReadError if the file is none of these, and CorruptShard if it was changed since `save` wrote it.
        """
        url = os.fspath(path)
        if url.endswith(".tiktoken"):
            return cls.from_tiktoken(url)
        url = files.join(url, "tokenizer.json") if files.is_dir(url) else url
        return opened(url, FILES[".model" if url.endswith(".model") else ".json"])

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write the vocabulary and return its URL.

        Args:
            path: the path to write; its suffix selects the files, see below.

        A folder gets `tokenizer.json`, which the library `tokenizers` opens, and `tokenizer_config.json`, which
        `transformers` also needs. For NAME.json, only the content of `tokenizer.json` is written. For NAME.tiktoken, a
        list of bytes and ranks for `tiktoken` is written, and NAME.tiktoken.json with the pattern and the special
        tokens.

        Raises StaleOutput if a folder has another tokenizer that dataprep did not write there, or if a file is not a
        vocabulary.
        """
        url = os.fspath(path)
        require(bool(url), "out='' must be the path of a folder, or of NAME.json or NAME.tiktoken")
        if url.endswith(".tiktoken"):
            self.tiktoken()  # raises if there is no such form
            check_out(url)
            formats.write_tiktoken(url, self.vocab, self.special, self.pattern)
            return url
        if url.endswith(".json"):
            return save_file(url, self.file)
        return save_folder(url, self.written, self.hash)

    @property
    def written(self) -> dict[str, bytes]:
        """The files of a folder of this vocabulary, {name: content}; tokenizer.json is the last."""
        return {CONFIG: formats.transformers_config(self.special), TOKENIZER: self.file}

    @cached_property
    def file(self) -> bytes:
        """The content of tokenizer.json."""
        return bytes(self.engine.to_str(pretty=True).encode() + b"\n")

    def renamed(self, names: Mapping[str, str]) -> Tokenizer:
        """Return a tokenizer with the same ids and other names of special tokens.

        Args:
            names: {old name: new name}.

        >>> tok = tok.renamed({"<|reserved_0|>": "<|tool|>"})
        """
        unknown, clash = names.keys() - self.special.keys(), set(names.values()) & self.special.keys()
        if unknown or clash or len(set(names.values())) < len(names):
            msg = f"{dict(names)} must map special tokens ({', '.join(self.special)}) to new names"
            raise PlanError(msg)
        made = copy.copy(self)
        made.special = {names.get(name, name): i for name, i in self.special.items()}
        made._check()  # noqa: SLF001
        return made

    def extended(self, special: str | Iterable[str]) -> Tokenizer:
        """Return a tokenizer with the same ids and more special tokens, whose ids follow the largest one.

        Args:
            special: the names of tokens, or of sets: "course", "chatml", "code"; tokens that exist are left out.
        """
        names = [name for name in special_names(special) if name not in self.special]
        made = copy.copy(self)
        made.special = self.special | {name: self.vocab_size + i for i, name in enumerate(names)}
        made._check()  # noqa: SLF001
        return made

    @property
    def vocab_size(self) -> int:
        """The largest id plus one; special tokens are included."""
        return max(*self.vocab.values(), *self.special.values()) + 1

    @property
    def eot(self) -> int:
        """The id of `<|endoftext|>`, which follows every document in the shards."""
        return self.special[EOT]

    @cached_property
    def hash(self) -> str:
        """The SHA-256 hash, in hex, of everything that ids depend on: vocabulary, merges, special tokens, pattern."""
        digest = hashlib.sha256()
        for token, i in sorted(self.vocab.items(), key=lambda item: item[1]):
            digest.update(b"%d %d %b\n" % (i, len(token), token))
        for left, right in self.merges:
            digest.update(b"%d %d\n" % (self.vocab[left], self.vocab[right]))
        digest.update(json.dumps([sorted(self.special.items()), self.pattern]).encode())
        return digest.hexdigest()

    @cached_property
    def pieces(self) -> dict[int, bytes]:
        """The bytes of text that each id represents, without special tokens."""
        return {i: token for token, i in self.vocab.items()}

    @cached_property
    def token_bytes(self) -> npt.NDArray[np.int32]:
        """The number of bytes of text that each id represents, int32[vocab_size]; 0 for special tokens."""
        sizes = np.zeros(self.vocab_size, np.int32)
        for i, piece in self.pieces.items():
            sizes[i] = len(piece)
        return sizes

    @cached_property
    def engine(self) -> tokenizers.Tokenizer:
        """The vocabulary as a `tokenizers.Tokenizer`."""
        return engine_of(self.vocab, self.merges, self.special, self.pattern)

    @cached_property
    def _tiktoken(self) -> tiktoken.Encoding:
        name = f"dataprep-{self.hash[:8]}"
        return tiktoken.Encoding(name, pat_str=self.pattern, mergeable_ranks=self.vocab, special_tokens=self.special)

    def tiktoken(self) -> tiktoken.Encoding:
        """Return the vocabulary as a `tiktoken.Encoding`."""
        return self._tiktoken

    @cached_property
    def _encoder(self) -> Encoder | None:
        from .apply_merges import rules_of
        from .cutting import machine_of
        from .encoder import Encoder

        machine, rules = machine_of(self.pattern), rules_of(self.vocab, self.merges)
        return None if machine is None or rules is None else Encoder(machine, rules, self.eot)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; special tokens in it are ordinary text."""
        if len(text) > LONG and self._encoder is not None:
            with contextlib.suppress(UnicodeEncodeError):  # half a surrogate pair, which `tiktoken` encodes as U+FFFD
                return cast("list[int]", self.encode_column(pa.array([text], pa.large_string()))[0][:-1].tolist())
        return self._tiktoken.encode_ordinary(text)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text; special tokens in them are ordinary text."""
        try:
            column = pa.array(texts, pa.large_string())
        except UnicodeEncodeError:  # half a surrogate pair, which `tiktoken` encodes as U+FFFD
            return [self.encode(text) for text in texts]
        tokens, ends = self.encode_column(column)
        ids, stops = tokens.tolist(), ends.tolist()
        return [ids[start : stop - 1] for start, stop in zip([0, *stops], stops, strict=False)]

    def encode_column(
        self, texts: pa.LargeStringArray, dtype: npt.DTypeLike = np.uint32, rows: npt.NDArray[np.bool_] | None = None
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint64]]:
        """Return (ids of all texts, each followed by `<|endoftext|>`; index after each text's last id, uint64[n]).

        Args:
            texts: the texts.
            dtype: the type of the ids.
            rows: bool[len(texts)], selects the texts to encode; None: all.

        If the pattern is one of `PATTERNS`, compiled code encodes the texts (ten times as fast as `tiktoken`), else
        `tiktoken` does.
        """
        if self._encoder is None:
            chosen_texts = texts if rows is None else texts.filter(pa.array(rows))
            return encode_by_tiktoken(self._tiktoken, chosen_texts.to_pylist(), self.eot, dtype)
        offsets, data = B.buffers(texts)
        chosen = slice(None) if rows is None else np.flatnonzero(rows)
        return self._encoder.encode(offsets[:-1][chosen], offsets[1:][chosen], data, dtype)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text that ids represent; bytes that are not UTF-8 (half a character) become U+FFFD."""
        return self._tiktoken.decode([int(i) for i in ids])

    def report(
        self, docs: Dataset, *, compare: Tokenizer | str | os.PathLike[str] | None = None, **options: Any
    ) -> TokenizerReport:
        """Measure the vocabulary on documents that it was not trained on: bytes per token, rare and long tokens.

        Args:
            docs: the corpus. The documents that `train_bpe` holds out are encoded, or all if it holds out none.
            compare: another vocabulary, such as GPT-2's: a Tokenizer, its tokenizer.json, or the folder of its
                encoder.json and vocab.bpe. Nothing is downloaded.
            options: further parameters, by name; see below.

        The options are:

        - shares: the sizes of samples, such as (0.01, 0.05, 1), on which vocabularies of the same size are trained.
        - weights: the weights of these samples, as in `train_bpe`.
        - rare: tokens that occur fewer times are listed; default: 10.
        - val, split_seed, split: as in `train_bpe`; by default, those of the vocabulary's training.
        - max_bytes: the approximate number of UTF-8 bytes to encode.
        - runner: a Runner; default: `dp.tools.Serial()`.

        Raises:
            PlanError: there is no text, `compare` is not a vocabulary, or `shares` is given and this is not a BPE.

        >>> print(tok.report(docs, compare="gpt2", shares=(0.01, 0.05, 1)))
        """
        from .measure import measure, named

        return measure(self, docs, compare=None if compare is None else named(compare, Tokenizer), **options)

    def _check(self) -> None:
        """Raise PlanError if the two engines could differ on a text."""
        check_agreement(self.vocab, self.merges, self.special, self.pattern)


# Functions that open another kind of vocabulary, by the model type in its tokenizer.json.
OPENERS: dict[str, Callable[[dict[str, Any], str], Tokenizer]] = {}

# Functions that open the files of other vocabularies, by their suffix. `openers.py` adds them.
FILES: dict[str, Callable[[str], Tokenizer]] = {}
