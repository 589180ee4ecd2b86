"""Vocabularies of other kinds (Unigram, WordPiece, BPE that is not byte-level), which their own libraries encode."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import tokenizers

from dataprep.errors import PlanError, need

from . import formats
from .place import CONFIG, TOKENIZER
from .special import EOT, special_names
from .tokenizer import Tokenizer

SENTENCEPIECE = "SentencePiece"
MODEL = "tokenizer.model"  # as other programs name the file of a model of SentencePiece
ENDS = (EOT, "<|end_of_text|>", "</s>", "<eos>", "[SEP]")  # separates documents: the first that there is
AT_ONCE = 1_000  # texts; the library makes an object of several kB per text
SPACE = "\u2581"  # stands for a space in pieces of SentencePiece
BYTE = re.compile("<0x([0-9A-F]{2})>")


class LibraryTokenizer(Tokenizer):
    """A vocabulary that the library `tokenizers` or `sentencepiece` encodes.

    Special tokens in a text are ordinary text, as in every Tokenizer. Documents are separated by the special token
    that the vocabulary has for it (`</s>`, `[SEP]` ...), or by `<|endoftext|>` as a new id. A normalizer may change
    texts, so ids need not decode to the same text.
    """

    def __init__(self, stored: str) -> None:
        """Open the vocabulary whose `tokenizer.json` is `stored`."""
        self._stored = stored
        self._pieces: Any = None
        if json.loads(stored)["model"]["type"] == SENTENCEPIECE:
            self._open_sentencepiece()
        else:
            self._open_json()
        ends = [name for name in ENDS if name in self.special]
        self._end = ends[0] if ends else EOT
        if not ends:
            self.special[EOT] = self.vocab_size
        self.merges, self.pattern, self.trained_on = [], "", None

    def __getstate__(self) -> dict[str, Any]:
        return {"_stored": self._stored}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_stored"])  # type: ignore[misc]

    def _open_json(self) -> None:
        engine = tokenizers.Tokenizer.from_str(self._stored)
        engine.no_truncation()
        engine.no_padding()
        added = {t.content: i for i, t in engine.get_added_tokens_decoder().items() if t.special}
        engine.encode_special_tokens = True
        self._engine, self.special = engine, added
        self.vocab = {t.encode(): i for t, i in engine.get_vocab(with_added_tokens=True).items() if t not in added}

    def _open_sentencepiece(self) -> None:
        library = need("sentencepiece", extra="perplexity")
        proto = base64.b64decode(json.loads(self._stored)["model"]["proto"])
        pieces = self._pieces = library.SentencePieceProcessor(model_proto=proto)
        names = {i: pieces.id_to_piece(i) for i in range(pieces.get_piece_size())}
        self.special = {name: i for i, name in names.items() if pieces.is_control(i) or pieces.is_unknown(i)}
        self.special |= json.loads(self._stored).get("special", {})
        self.vocab = {name.encode(): i for i, name in names.items() if name not in self.special}

    @classmethod
    def from_sentencepiece(cls, proto: bytes) -> LibraryTokenizer:
        """Return the vocabulary in the bytes of a `.model` file."""
        model = {"type": SENTENCEPIECE, "proto": base64.b64encode(proto).decode()}
        return cls(json.dumps({"version": "1.0", "model": model}))

    @property
    def eot(self) -> int:
        """The id of the token that follows every document in the shards."""
        return self.special[self._end]

    @cached_property
    def hash(self) -> str:
        """The SHA-256 hash, in hex, of the stored vocabulary."""
        return hashlib.sha256(json.dumps(json.loads(self._stored), sort_keys=True).encode()).hexdigest()

    @cached_property
    def pieces(self) -> dict[int, bytes]:
        """The bytes that each id represents, excluding special tokens.

        For WordPiece, a token that begins a word includes a leading space.
        """
        kind = json.loads(self._stored)["model"]["type"]
        spelled = formats.BYTE_OF.keys() if kind == "BPE" and self._is_byte_level else set[str]()
        return {i: self._piece(token.decode(), kind, spelled) for token, i in self.vocab.items()}

    def _piece(self, token: str, kind: str, spelled: Any) -> bytes:
        if spelled and spelled >= set(token):
            return formats.to_bytes(token)
        if byte := BYTE.fullmatch(token):
            return bytes([int(byte[1], 16)])
        if kind == "WordPiece":
            return (token[2:] if token.startswith("##") else f" {token}").encode()
        return token.replace(SPACE, " ").encode()

    @property
    def _is_byte_level(self) -> bool:
        return "ByteLevel" in json.dumps([json.loads(self._stored).get(part) for part in ("pre_tokenizer", "decoder")])

    @property
    def engine(self) -> tokenizers.Tokenizer:
        """The `tokenizers.Tokenizer`. Raises PlanError for a model of SentencePiece."""
        if self._pieces is not None:
            msg = "a SentencePiece model cannot be converted for `tokenizers`; save(DIR) writes tokenizer.model"
            raise PlanError(msg)
        return self._engine

    @property
    def file(self) -> bytes:
        """The content of tokenizer.json."""
        return self._stored.encode()

    def tiktoken(self) -> NoReturn:
        """Raise PlanError: `tiktoken` cannot represent this vocabulary."""
        msg = "tiktoken needs a byte-level BPE, and this vocabulary is not one; use .engine or save(DIR)"
        raise PlanError(msg)

    @property
    def written(self) -> dict[str, bytes]:
        """The files of a folder of this vocabulary, {name: content}; tokenizer.json is the last."""
        theirs = self.for_transformers()
        if self._pieces is not None:
            del theirs[CONFIG]  # `transformers` opens no folder with this tokenizer.json
        return {**theirs, TOKENIZER: self.file}

    def for_transformers(self) -> dict[str, bytes]:
        """Return the files that `transformers.AutoTokenizer` opens, {name: content}.

        Its ids are those of `encode` if it is called with `add_special_tokens=False`. For a SentencePiece model, the
        files are `tokenizer.model`, and a config with the tokens that the model lacks.
        """
        named: dict[str, Any] = {"eos_token": self._end}
        if self._pieces is None:
            return {CONFIG: formats.transformers_config({}, named), TOKENIZER: self.file}
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        n = self._pieces.get_piece_size()
        added = {str(i): {"content": name, **flags} for name, i in self.special.items() if i >= n}
        named |= dict.fromkeys(("bos_token", "pad_token", "sep_token"), self._end)  # others would become new ids
        named |= {"unk_token": self._pieces.id_to_piece(self._pieces.unk_id()), "added_tokens_decoder": added}
        kind = {"tokenizer_class": "SentencePieceBackend", "special_tokens_pattern": "none"}
        config = formats.transformers_config({}, {**named, **kind})
        return {CONFIG: config, MODEL: self._pieces.serialized_model_proto()}

    def extended(self, special: str | Iterable[str]) -> Tokenizer:
        """Return a tokenizer with the same ids and more special tokens, whose ids follow the largest one."""
        names = [name for name in special_names(special)[1:] if name not in self.special]
        value = json.loads(self._stored)
        at = {name: self.vocab_size + i for i, name in enumerate(names)}
        at |= {EOT: self.special[EOT]} if EOT in self.special else {}
        if self._pieces is not None:
            return LibraryTokenizer(json.dumps(value | {"special": value.get("special", {}) | at}))
        known = {t["id"] for t in value["added_tokens"]}
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        value["added_tokens"] += [{"id": i, "content": n, **flags} for n, i in at.items() if i not in known]
        value["added_tokens"].sort(key=lambda t: t["id"])
        return LibraryTokenizer(json.dumps(value))

    def renamed(self, names: Mapping[str, str]) -> NoReturn:
        """Raise PlanError: the names are part of the vocabulary of another library."""
        msg = f"special tokens {sorted(names)} of this vocabulary cannot be renamed; add others with .extended"
        raise PlanError(msg)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; special tokens in it are ordinary text."""
        return self._encoded([text])[0]

    def _encoded(self, texts: Sequence[str]) -> list[list[int]]:
        if self._pieces is not None:
            found: list[list[int]] = self._pieces.encode(list(texts))
            return found
        return [one.ids for one in self._engine.encode_batch_fast(list(texts), add_special_tokens=False)]

    def encode_column(
        self, texts: pa.LargeStringArray, dtype: npt.DTypeLike = np.uint32, rows: npt.NDArray[np.bool_] | None = None
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint64]]:
        """Return (ids of all texts, each followed by the separator; index after each text's last id, uint64[n]).

        - dtype: the type of the ids.
        - rows: bool[len(texts)], selects the texts to encode; None: all.
        """
        chosen = texts if rows is None else texts.filter(pa.array(rows))
        found, sizes = [np.zeros(0, dtype)], [np.zeros(0, np.uint64)]
        for start in range(0, len(chosen), AT_ONCE):
            ids = [[*one, self.eot] for one in self._encoded(chosen.slice(start, AT_ONCE).to_pylist())]
            found.append(np.fromiter((i for one in ids for i in one), dtype))
            sizes.append(np.array([len(one) for one in ids], np.uint64))
        return np.concatenate(found), np.cumsum(np.concatenate(sizes), dtype=np.uint64)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text that ids represent, as the library decodes them; special tokens are left out."""
        known = [int(i) for i in ids if int(i) not in self.special.values()]
        text: str = self._pieces.decode(known) if self._pieces is not None else self._engine.decode(known)
        return text

    def _check(self) -> None:
        """Do nothing: the library accepted the vocabulary."""
