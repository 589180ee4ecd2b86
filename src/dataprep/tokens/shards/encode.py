"""`encode`: write documents as token shards in two passes, with the same bytes for any number of workers.

Each task of the first pass encodes one part of the documents into intermediate files (pieces). Each task of the second
pass joins pieces to one shard, so that sizes and numbers of shards do not depend on the parts. Both passes write
receipts (records of finished work). All files are written to OUT/_unfinished; the shards that they replace are kept
until all are complete.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from dataclasses import replace as replace_
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.inputs.origin import origin_of
from dataprep.core.model import batch as B
from dataprep.core.model.dataset import check_dataset
from dataprep.core.output import forget_list
from dataprep.core.output.layout import FORGET_LIST
from dataprep.core.run.context import context_of, place_of
from dataprep.core.run.passes import Pass
from dataprep.core.run.plan import check_apart, hides_input, shards_of_datasets
from dataprep.core.run.runner import runner_of
from dataprep.store import files
from dataprep.store.key import key
from dataprep.tokens.dialogue import COLUMN, encode_dialogues
from dataprep.tokens.shard_format import DTYPES, SHARD_TOKENS, token_dtype
from dataprep.tokens.split import SEED, SIDES, VAL, Split
from dataprep.tokens.templates import Template
from dataprep.tokens.vocabulary.characters import Characters
from dataprep.tokens.vocabulary.loaded import keep_loaded, load_once
from dataprep.tokens.vocabulary.openers import tokenizer_for
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

from .checks import check_sides, check_split, template_for
from .folder import begin, check_shard_tokens, commit, pieces_of, shard_folder, write_vocabulary
from .fragments import KINDS, Assemble, PieceWriter, shard_plans
from .shard import Shards
from .special_in_text import count_special, spelled_by

if TYPE_CHECKING:
    from dataprep.core.model.batch import Ids
    from dataprep.core.model.dataset import Dataset
    from dataprep.core.model.part import Part
    from dataprep.core.output.commit import Work
    from dataprep.core.run.runner import Runner

log = logging.getLogger("dataprep")

ROLES = ("user", "assistant")
VERSION = 1  # increased if the same input has other bytes


def encode(
    docs: Dataset,
    tokenizer: Any,
    out: str | os.PathLike[str],
    val: float = VAL,
    split_seed: int = SEED,
    runner: Runner | None = None,
    *,
    split: Split | None = None,
    template: str | os.PathLike[str] | Template | None = None,
    dtype: str = "uint16",
    shard_tokens: int = SHARD_TOKENS,
    replace: bool = False,
) -> Shards:
    """Encode all documents, each followed by `<|endoftext|>`, into training, validation and test shards.

    Args:
        docs: the corpus; documents are written in the order of their ids.
        tokenizer: a Tokenizer, the path of one (`Tokenizer.load`), or an object of the libraries `tokenizers`,
            `tiktoken`, `sentencepiece` or `transformers`.
        out: a folder or a URL, such as s3://bucket/shards; interrupted work in it is resumed. It needs twice the space
            of the shards while `encode` runs, in addition to the shards that it replaces.
        val: the share of the documents to hold out, chosen by hash(split_seed, id); at most the share given to
            `train_bpe`.
        split_seed: as in `train_bpe`.
        runner: a Runner; the default is `dp.tools.Serial()`.
        split: a `dp.Split` instead of `val` and `split_seed`, for a test split or to keep groups together.
        template: instead of the text, encode the `messages` column (role, content) of `dp.chats.Turns` or of a chat
            data set, by "course", "chatml" or a Jinja chat template, with a loss mask over the assistant's turns.
        dtype: "uint32" for a vocabulary of more than 65,536 ids.
        shard_tokens: the maximum number of tokens per shard; a longer document gets a shard of its own.
        replace: replace shards in `out` that were made from other documents or with other settings; they are kept until
            the new ones are complete. `replace` is not needed if only the content of the same input files, or of the
            same Dataset, has changed.

    An empty document is stored as a separator only, so that there is exactly one document per row of the Dataset.

    Raises:
        PlanError: the vocabulary does not fit `dtype`.
        StaleOutput: `out` has shards of other documents or settings, and `replace` is False.

    >>> shards = dp.encode(clean, tok, out="work/shards", val=0.005)
    >>> np.memmap("work/shards/train-00000.bin", dtype=np.uint16)
    """
    check_dataset(docs)
    tok = tokenizer_for(tokenizer, docs)
    folder = place_of(shard_folder(out), runner)
    check_apart(docs, folder)
    token_dtype(tok.vocab_size, dtype)
    split = split or Split(val=val, seed=split_seed)
    split.check_columns(docs.columns)
    check_shard_tokens(shard_tokens)
    check_split(tok, split)
    written_by = template_for(docs, tok, template)
    layout = ShardLayout(split=split, template=written_by, dtype=dtype, shard_tokens=shard_tokens)
    inputs = frozenset(shards_of_datasets(docs))
    dropped = forget_list.wanted(inputs, folder)
    with begin(
        folder, key([VERSION, docs.key, tok.hash, layout]), layout.settings(tok), made_by="encode", tokenizer=tok.file,
        replace=replace, dropped=dropped, inputs=inputs, origin=origin_of(docs, [VERSION, tok.hash, layout]),
        private=hides_input(docs), again="encoding all documents again",
    ) as work:  # fmt: skip
        return work.result or _encode(docs, tok, work, layout, runner_of(runner), dropped)


def _encode(
    docs: Dataset, tok: Tokenizer, work: Work[Shards], layout: ShardLayout, runner: Runner, dropped: Ids
) -> Shards:
    """Write the shards without the documents `dropped`, and make them the result of `work`."""
    if len(dropped):
        listed = files.join(work.out, FORGET_LIST)
        docs = docs.of(replace_(part, forgotten=listed) for part in docs.parts)
    context_of(runner).prepare(docs.part_urls, work.out)
    pieces = pieces_of(work)
    url, vocabulary = write_vocabulary(work, tok)
    task = EncodePart(
        out=pieces, key=key([VERSION, tok.hash, layout]), tokenizer=keep_loaded(url, tok), hash=tok.hash, layout=layout
    )
    if runner.workers > 1:
        tok.encode_batch(["compiled once, before workers start"])
    receipts = list(runner.map(task, docs.tasks, "encode"))
    assemble = Assemble(out=work.files.home, pieces=pieces, dtype=layout.dtype, generation=work.recipe.generation)
    entries = list(runner.map(assemble, shard_plans(pieces, receipts, layout.shard_tokens), "join"))
    shards = commit(
        work, entries, dtype=layout.dtype, **vocabulary, split=asdict(layout.split),
        **chat_fields(layout.template, receipts), special_in_text=spelled_by(receipts),
    )  # fmt: skip
    check_sides(shards, layout.split, docs.stats.emptied)
    return shards


# -- first pass: parts to pieces


@dataclass(frozen=True, kw_only=True)
class ShardLayout:
    """The settings that decide the content of each token shard, in addition to the texts and the vocabulary.

    Attributes:
        split: assigns documents to train, validation and test.
        template: the format of dialogues; None: texts are encoded.
        dtype: the type of the ids.
        shard_tokens: the maximum number of tokens per shard.
    """

    split: Split
    template: Template | None
    dtype: str
    shard_tokens: int

    @property
    def columns(self) -> list[str]:
        """The names of the columns that must be read from the documents."""
        return [*dict.fromkeys(["id", "text" if self.template is None else COLUMN, "source", *self.split.columns])]

    def settings(self, tok: Tokenizer) -> dict[str, Any]:
        """Return the values that decide the shards of documents, for the manifest and for messages."""
        template = None if self.template is None else self.template.source
        shown = {"template": template, "dtype": self.dtype, "shard_tokens": self.shard_tokens}
        return {"tokenizer": tok.hash[:8], **asdict(self.split), **shown}


@dataclass(frozen=True, kw_only=True)
class EncodePart(Pass["Part"]):
    """Encodes one part of the documents into intermediate files (pieces) `OUT/parts/part-00012/train-00000.*`.

    A piece has about `layout.shard_tokens` tokens at most.

    Attributes:
        tokenizer: the URL of `tokenizer.json`.
        hash: its hash.
        layout: the settings of the shards.
    """

    folder = "parts"

    tokenizer: str  # its URL: a vocabulary is not sent with every task
    hash: str
    layout: ShardLayout

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write the pieces (encoded documents) of the part `item` into the folder `url`; return its receipt's content.

        In the content, "entries" lists the pieces, train first. "spelled" counts special tokens that occur in texts,
        where they are encoded as ordinary text. "names" counts, by role, the turns of each name ("" for turns without a
        name).
        """
        tok, layout, spelled = load_once(self.tokenizer, self.hash), self.layout, Counter[str]()
        names = {role: Counter[str]() for role in ROLES}
        with ExitStack() as stack:
            most = layout.shard_tokens
            writers = [stack.enter_context(PieceWriter(url, side, layout.dtype, most)) for side in SIDES]
            for batch in count_special(item.batches(layout.columns), tok, spelled):
                sides = layout.split.sides(batch)
                if layout.template is not None:
                    _count_names(batch.column(COLUMN), names)
                for number, writer in enumerate(writers):
                    rows = sides == number
                    if rows.any():
                        tokens, ends, sizes, mask = _encoded(tok, layout, batch, rows)
                        sources = batch.column("source").filter(pa.array(rows))
                        writer.add(tokens, ends, B.ids(batch)[rows], sources, sizes, mask)
        entries = [entry for writer in writers for entry in writer.entries]
        kinds = [*KINDS, *(["msk"] if layout.template else [])]
        written = [files.join(url, f"{e['name']}.{kind}") for e in entries for kind in kinds]
        name = files.join(self.folder, files.name_of(url))
        return {"files": written, "folder": name, "entries": entries, "spelled": dict(spelled), "names": names}


def _encoded(
    tok: Tokenizer, layout: ShardLayout, batch: B.Batch, rows: npt.NDArray[np.bool_]
) -> tuple[Any, Any, Any, Any]:
    """Return the ids of rows, the ends of their documents, the bytes of their texts, and their mask or None."""
    dtype, mask = DTYPES[layout.dtype], None
    if layout.template is None:
        tokens, ends = tok.encode_column(batch.column("text"), dtype, rows)
        if not isinstance(tok, Characters):  # bytes in, bytes out; unknown characters represent none
            return tokens, ends, np.diff(B.buffers(batch)[0])[rows], None
    else:
        tokens, ends, mask = encode_dialogues(tok, layout.template, batch.column(COLUMN).filter(pa.array(rows)), dtype)
    starts = np.append(np.zeros(1, np.int64), ends[:-1].astype(np.int64))
    return tokens, ends, np.add.reduceat(tok.token_bytes[tokens], starts, dtype=np.int64), mask


def _count_names(dialogues: pa.Array, found: Mapping[str, Counter[str]]) -> None:
    """Count the turns of each name in `found`, by role; turns without a name have the name ""."""
    if not pa.types.is_list(dialogues.type) and not pa.types.is_large_list(dialogues.type):
        return  # JSON
    turns = dialogues.flatten()
    if turns.type.get_field_index("name") < 0:
        return
    for role, counts in found.items():
        chosen = pc.fill_null(pc.equal(pc.struct_field(turns, "role"), role), False)
        names = pc.fill_null(pc.struct_field(turns, "name").filter(chosen), "").value_counts()
        counts.update(dict(zip(*(names.field(i).to_pylist() for i in (0, 1)), strict=True)))


def chat_fields(template: Template | None, receipts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the manifest fields that a program needs to talk to a model trained on these dialogues.

    The fields are "template" (its text), "template_ends" (its bos and eos) and "speakers" (the most frequent name per
    role, None if most turns have none).

    Args:
        template: None for texts without dialogues.
        receipts: the content of each encoding task's receipt, which has counts of names.
    """
    if template is None:
        return {"template": None}
    total = {role: Counter[str]() for role in ROLES}
    for receipt in receipts:
        for role, counts in receipt.get("names", {}).items():
            total[role].update(counts)
    best = {role: max(sorted(counts), key=counts.__getitem__, default="") or None for role, counts in total.items()}
    return {"template": template.source, "template_ends": [template.bos, template.eos], "speakers": best}
