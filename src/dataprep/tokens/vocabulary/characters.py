"""Character vocabularies, one id per character, for small experiments: 65 ids for tinyshakespeare.

`Characters` is a Tokenizer, so encoding, shards and the trainer accept it. A character that is not in the vocabulary
becomes `<|unk|>`, which decodes as U+FFFD, so such a text does not decode to itself. Twin: tests/twins/characters.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from dataprep.core import batch as B
from dataprep.core.runner import Serial
from dataprep.errors import PlanError
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U32, U64, Int, code_point

from .special import UNKNOWN, special_names
from .tokenizer import OPENERS, Tokenizer

if TYPE_CHECKING:
    from dataprep.core.dataset import Dataset
    from dataprep.core.part import Part
    from dataprep.core.runner import Runner

CHARACTER = r"[\s\S]"  # a character, line ends included, in every regex engine
CODE_POINTS = 0x110000
Counts = npt.NDArray[np.int64]


def train_characters(
    docs: Dataset, *, special: str | Iterable[str] = (), min_count: int = 1, run: Runner | None = None
) -> Characters:
    """Return a vocabulary of the characters of all documents, by code point, followed by the special tokens.

    Args:
        docs: the corpus; held-out documents are used too, so that a validation text has no unknown character.
        special: special tokens or sets of them ("course", "chatml", "code"), after `<|endoftext|>` and `<|unk|>`.
        min_count: a character that occurs fewer times becomes `<|unk|>`.
        run: a Runner; the default is `dp.Serial()`.

    Raises:
        PlanError: there is no text.

    >>> tok = dp.train_characters(dp.read("input.txt"))
    """
    counts = np.zeros(CODE_POINTS, np.int64)
    for points, n in (run or Serial()).map(CountCharacters(), docs.parts, "characters"):
        counts[points] += n
    found = np.flatnonzero(counts >= max(1, min_count))
    if not len(found):
        msg = f"no character occurs min_count={max(1, min_count)} times; give more text or a smaller min_count="
        raise PlanError(msg)
    return Characters.of(map(chr, found.tolist()), special)


@dataclass(frozen=True)
class CountCharacters:
    """Task that counts the code points of one part."""

    def __call__(self, part: Part) -> tuple[Counts, Counts]:
        """Return the code points that occur, ascending, and their counts."""
        counts = np.zeros(CODE_POINTS, np.int64)
        for batch in part.batches(["text"]):
            offsets, data = B.buffers(batch)
            counts += np.bincount(_points(data[offsets[0] : offsets[-1]]), minlength=CODE_POINTS)
        found = np.flatnonzero(counts)
        return found, counts[found]


class Characters(Tokenizer):
    """One id per character.

    >>> tok = Characters.of("abc ")
    >>> tok.decode(tok.encode("a cab"))
    'a cab'
    """

    def __init__(self, vocab: Mapping[bytes, int], special: Mapping[str, int]) -> None:
        """Check and keep `vocab` (UTF-8 bytes of a character to id) and `special` (text to id)."""
        super().__init__(vocab, [], special, CHARACTER)

    @classmethod
    def of(cls, characters: Iterable[str], special: str | Iterable[str] = ()) -> Characters:
        """Return a vocabulary: the characters by code point, then `<|endoftext|>`, `<|unk|>` and the others."""
        chars = sorted(set(characters))
        names = dict.fromkeys([special_names()[0], UNKNOWN, *special_names(special)])
        return cls({c.encode(): i for i, c in enumerate(chars)}, {n: len(chars) + i for i, n in enumerate(names)})

    @classmethod
    def from_json(cls, value: dict[str, Any], url: str) -> Characters:
        """Open what `save` wrote. Raises PlanError if the tokens are words."""
        special = {t["content"]: t["id"] for t in value["added_tokens"]}
        words = {t: i for t, i in value["model"]["vocab"].items() if t not in special}
        pattern = (value["pre_tokenizer"] or {}).get("pattern", {}).get("Regex")
        if pattern != CHARACTER or value.get("normalizer") or any(len(t) != 1 for t in words):
            msg = f"{url} has words as tokens; only a byte-level BPE or one character per token can be opened"
            raise PlanError(msg)
        return cls({t.encode(): i for t, i in words.items()}, special)

    @cached_property
    def engine(self) -> tokenizers.Tokenizer:
        """The vocabulary as a `tokenizers.Tokenizer`."""
        vocab = {t.decode(): i for t, i in self.vocab.items()} | self.special
        tok = tokenizers.Tokenizer(models.WordLevel(vocab, UNKNOWN))
        tok.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(CHARACTER), "isolated")
        tok.decoder = decoders.Fuse()
        tok.add_special_tokens([name for name, _ in sorted(self.special.items(), key=lambda item: item[1])])
        return tok

    def tiktoken(self) -> NoReturn:
        """Raise PlanError: `tiktoken` has no unknown token."""
        msg = "a character tokenizer has no tiktoken form, which must know every byte; use its .engine or save(DIR)"
        raise PlanError(msg)

    @cached_property
    def _ids(self) -> npt.NDArray[np.uint32]:
        """Id of every code point."""
        table = np.full(CODE_POINTS, self.special[UNKNOWN], np.uint32)
        for token, i in self.vocab.items():
            table[ord(token.decode())] = i
        return table

    @cached_property
    def _texts(self) -> dict[int, str]:
        special = {i: name for name, i in self.special.items()} | {self.special[UNKNOWN]: "\ufffd"}
        return special | {i: token.decode() for token, i in self.vocab.items()}

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; special tokens in it are ordinary text."""
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        found: list[int] = self._ids[points].tolist()
        return found

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text; special tokens in them are ordinary text."""
        return [self.encode(text) for text in texts]

    def encode_column(
        self, texts: pa.LargeStringArray, dtype: npt.DTypeLike = np.uint32, rows: npt.NDArray[np.bool_] | None = None
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint64]]:
        """Return the ids of all texts, each followed by `<|endoftext|>`, and their exclusive ends, uint64[n]."""
        offsets, data = B.buffers(texts)
        chosen = slice(None) if rows is None else np.flatnonzero(rows)
        starts, stops = offsets[:-1][chosen], offsets[1:][chosen]
        ids, ends = np.empty(int((stops - starts).sum()) + len(starts), np.uint32), np.empty(len(starts), np.uint64)
        return ids[: _spell(starts.copy(), stops.copy(), data, self._ids, self.eot, ids, ends)].astype(dtype), ends

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; `<|unk|>` becomes U+FFFD."""
        return "".join(self._texts[int(i)] for i in ids)

    def _check(self) -> None:
        """Raise PlanError if a special token is also a character, or a required one is missing."""
        missing = {special_names()[0], UNKNOWN} - self.special.keys()
        clash = {name for name in self.special if name.encode() in self.vocab}
        if missing or clash:
            what = f"lacks {min(missing)}" if missing else f"has {min(clash)!r} both as a character and as special"
            msg = f"the character vocabulary {what}; make it with dp.train_characters or Characters.of"
            raise PlanError(msg)


OPENERS["WordLevel"] = Characters.from_json


def _points(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """Return the code points of UTF-8 bytes."""
    return np.frombuffer(data.tobytes().decode("utf-8").encode("utf-32-le"), np.uint32)


@kernel
def _spell(starts: I64, stops: I64, data: U8, table: U32, eot: Int, out: U32, ends: U64) -> Int:
    """Write the id of every character of the texts data[start:stop], then `eot`; return the number of ids."""
    o = 0
    for d in range(len(starts)):
        i, stop = starts[d], stops[d]
        while i < stop:
            point, size = code_point(data, i)
            out[o] = table[point]
            i += size
            o += 1
        out[o] = eot
        o += 1
        ends[d] = o
    return o
