"""Character vocabularies, one id per character, for small experiments: 65 ids for tinyshakespeare.

`Characters` is a Tokenizer, so encoding, shards and the trainer accept it. A character that is not in the vocabulary
becomes `<|unk|>`, which decodes as U+FFFD: a text with unknown characters changes if it is encoded and decoded.

Slow reference for the tests: tests/twins/characters.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from dataprep.core.model import batch as B
from dataprep.core.run.runner import runner_of
from dataprep.errors import PlanError
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U32, U64, Int, code_point

from .special import UNKNOWN, special_names
from .tokenizer import OPENERS, Tokenizer

if TYPE_CHECKING:
    from dataprep.core.model.dataset import Dataset
    from dataprep.core.model.part import Part
    from dataprep.core.run.runner import Runner

CHARACTER = r"[\s\S]"  # a character, line ends included, in every regex engine
CODE_POINTS = 0x110000
Counts = npt.NDArray[np.int64]


def train_characters(
    docs: Dataset, *, special: str | Iterable[str] = (), min_count: int = 1, runner: Runner | None = None
) -> Characters:
    """Return a vocabulary of all characters of the documents, in order of code points, and then the special tokens.

    Args:
        docs: the corpus; held-out documents are included, so that validation texts have no unknown characters.
        special: special tokens or sets of them ("course", "chatml", "code"), after `<|endoftext|>` and `<|unk|>`.
        min_count: a character that occurs fewer times becomes `<|unk|>`.
        runner: a Runner; the default is `dp.tools.Serial()`.

    Raises:
        PlanError: there is no text.

    >>> tok = dp.tools.train_characters(dp.read("input.txt"))
    """
    counts = np.zeros(CODE_POINTS, np.int64)
    for points, n in runner_of(runner).map(count_characters, docs.parts, "characters"):
        counts[points] += n
    found = np.flatnonzero(counts >= max(1, min_count))
    if not len(found):
        msg = f"no character occurs min_count={max(1, min_count)} times; provide more text or a smaller min_count="
        raise PlanError(msg)
    return Characters.of(map(chr, found.tolist()), special)


def count_characters(part: Part) -> tuple[Counts, Counts]:
    """Return (code points that occur in the texts of a part of the corpus, ascending; how often each occurs)."""
    counts = np.zeros(CODE_POINTS, np.int64)
    for batch in part.batches(["text"]):
        offsets, data = B.buffers(batch)
        text = data[offsets[0] : offsets[-1]].tobytes().decode("utf-8")
        counts += np.bincount(np.frombuffer(text.encode("utf-32-le"), np.uint32), minlength=CODE_POINTS)
    found = np.flatnonzero(counts)
    return found, counts[found]


class Characters(Tokenizer):
    """A vocabulary with one id per character.

    >>> tok = Characters.of("abc ")
    >>> tok.decode(tok.encode("a cab"))
    'a cab'
    """

    def __init__(self, vocab: Mapping[bytes, int], special: Mapping[str, int]) -> None:
        """Check and keep `vocab` (UTF-8 bytes of a character to id) and `special` (text to id)."""
        super().__init__(vocab, [], special, CHARACTER)

    @classmethod
    def of(cls, characters: Iterable[str], special: str | Iterable[str] = ()) -> Characters:
        """Return a vocabulary of the characters by code point, then `<|endoftext|>`, `<|unk|>` and `special`."""
        chars = sorted(set(characters))
        names = dict.fromkeys([special_names()[0], UNKNOWN, *special_names(special)])
        return cls({c.encode(): i for i, c in enumerate(chars)}, {n: len(chars) + i for i, n in enumerate(names)})

    @classmethod
    def from_json(cls, value: dict[str, Any], url: str) -> Characters:
        """Return the vocabulary that `save` wrote as `value`. Raises PlanError if a token is not a character.

        - url: the file's URL, for messages.
        """
        special = {t["content"]: t["id"] for t in value["added_tokens"]}
        words = {t: i for t, i in value["model"]["vocab"].items() if t not in special}
        pattern = (value["pre_tokenizer"] or {}).get("pattern", {}).get("Regex")
        if pattern != CHARACTER or value.get("normalizer") or any(len(t) != 1 for t in words):
            msg = f"{url} has words as tokens; it must be a byte-level BPE, or have one character per token"
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
        """Raise PlanError: `tiktoken` cannot represent this vocabulary, which lacks ids for single bytes."""
        msg = "tiktoken needs an id for every byte, which a character tokenizer lacks; use .engine or save(DIR)"
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

    def encode_column(
        self, texts: pa.LargeStringArray, dtype: npt.DTypeLike = np.uint32, rows: npt.NDArray[np.bool_] | None = None
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint64]]:
        """Return (ids of all texts, each followed by `<|endoftext|>`; index after each text's last id, uint64[n]).

        Args:
            texts: the texts.
            dtype: the type of the ids.
            rows: bool[len(texts)], selects the texts to encode; None: all.
        """
        offsets, data = B.buffers(texts)
        chosen = slice(None) if rows is None else np.flatnonzero(rows)
        starts, stops = offsets[:-1][chosen], offsets[1:][chosen]
        ids, ends = np.empty(int((stops - starts).sum()) + len(starts), np.uint32), np.empty(len(starts), np.uint64)
        return ids[: _spell(starts.copy(), stops.copy(), data, self._ids, self.eot, ids, ends)].astype(dtype), ends

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text that ids represent; `<|unk|>` becomes U+FFFD."""
        return "".join(self._texts[int(i)] for i in ids)

    def _check(self) -> None:
        """Raise PlanError if a special token is also a character, or a required one is missing."""
        missing = {special_names()[0], UNKNOWN} - self.special.keys()
        clash = {name for name in self.special if name.encode() in self.vocab}
        if missing or clash:
            what = f"lacks {min(missing)}" if missing else f"has {min(clash)!r} both as a character and as special"
            msg = f"the character vocabulary {what}; make it with dp.tools.train_characters or Characters.of"
            raise PlanError(msg)


OPENERS["WordLevel"] = Characters.from_json


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
