"""Read training rows: open sets of token shards, check that they can be mixed, and read batches.

The order of training rows follows from seed, step, rank, number of ranks and shards alone, so a checkpoint stores only
the step. Sample s of a run is a row of one of its sets (`mixture`); each set's rows are in the order of a keyed
permutation, which is computed on demand. The layout defines the rows (`layouts`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dataprep.errors import PlanError
from dataprep.tokens.shards.shard import Shards
from dataprep.train.checkpoint import tokenizer_key
from dataprep.train.config import TrainConfig
from dataprep.train.model.masks import Mask

from .layouts import Layout, layout_of
from .mixture import Mixture
from .objectives import for_decoder
from .pairs import pairs_of
from .rows import IGNORE, Objective, Rows, permute

_AHEAD = 1 << 20  # tokens read at once: small enough for the cache, many enough that Python's share is small
Sets = Mapping[str, Shards | str | Path]

NONE = "there are no shards; pass a folder that dp.encode wrote, or several by name"
"""The message if there are no shards."""


def named(folders: Sequence[str]) -> str | dict[str, str]:
    """Return the folders of command-line arguments FOLDER or NAME=FOLDER, as {name: folder}.

    A single FOLDER without a name is returned as text. Raises PlanError if there is no folder, one of several has no
    name, or a name is given twice.

    >>> named(["web=work/web", "chat=work/chat"])
    {'web': 'work/web', 'chat': 'work/chat'}
    """
    by_name = {name: folder for name, equals, folder in (f.partition("=") for f in folders) if equals}
    if len(folders) > 1 and len(by_name) < len(folders):
        msg = f"several sets of shards ({' '.join(folders)}) must have different names; write NAME=FOLDER"
        raise PlanError(msg)
    if not folders:
        raise PlanError(NONE)
    return by_name or folders[0]


def open_sets(shards: Shards | str | Path | Sets) -> dict[str, Shards]:
    """Open one or several folders of token shards; return {name: Shards}; the name is "" for a single folder.

    Raises PlanError if they cannot be mixed, because vocabulary, separator, token type or tokenizer differ.
    """
    given = shards if isinstance(shards, Mapping) else {"": shards}
    for entry in given.values():
        if not isinstance(entry, (Shards, str, Path)):
            msg = f"shards={entry!r} must be a folder that dp.encode wrote, or several by name"
            raise PlanError(msg)
    sets = {name: s if isinstance(s, Shards) else Shards.open(s) for name, s in given.items()}
    if not sets:
        raise PlanError(NONE)
    first_name, first = next(iter(sets.items()))
    for name, other in sets.items():
        for what, mine, its in (
            ("a vocabulary", first.vocab_size, other.vocab_size),
            ("a separator", first.eot, other.eot),
            ("a token type", str(first.dtype), str(other.dtype)),
            ("a tokenizer", tokenizer_key({"": first}), tokenizer_key({"": other})),
        ):
            if mine != its:
                msg = (
                    f"{first_name!r} and {name!r} cannot be mixed: {first.path} has {what} of {mine} and "
                    f"{other.path} of {its}; encode both with one tokenizer"
                )
                raise PlanError(msg)
    return sets


def stop_ids(sets: Mapping[str, Shards]) -> list[int]:
    """Return the token ids at which text generation ends, ascending: the separator, and special tokens that end a turn.

    A special token ends a turn if the loss mask changes to 0 after it. In each set, only the first 4M tokens of the
    first shard with a mask are searched for such tokens.
    """
    found = {s.eot for s in sets.values()}
    for s in sets.values():
        train, special = s.split("train"), list(s.manifest.special.values())
        for tokens, mask in zip(train.memmaps(), train.masks(), strict=True):
            if mask is not None:
                some = np.asarray(mask[: 1 << 22]) != 0
                last = np.unique(np.asarray(tokens[: 1 << 22])[:-1][some[:-1] & ~some[1:]])
                found.update(np.intersect1d(last, special).tolist())
                break
    return sorted(found)


def facts(sets: Mapping[str, Shards]) -> dict[str, Any]:
    """Return the fields of a checkpoint about its data: the ids that end a text, the sets, and the chat template.

    "trained_on" has, for each set, its documents and tokens, and one hash of all its shards (`Shards.root`).

    "chat" is None, or a dict with template, template_ends (its bos and eos) and speakers of the first set with a
    template.
    """
    chats = (s.manifest for s in sets.values() if s.manifest.template)
    chat = next(({n: getattr(m, n) for n in ("template", "template_ends", "speakers")} for m in chats), None)
    train = {name: s.split("train") for name, s in sets.items()}
    amounts = {
        name: {"documents": len(s), "tokens": s.n_tokens, "shards": sets[name].root} for name, s in train.items()
    }
    return {"stop": stop_ids(sets), "trained_on": amounts, "chat": chat}


@dataclass(frozen=True)
class Loader:
    """Reads training rows in the order in which they are trained on.

    Step i has the samples i * batch to (i + 1) * batch - 1, divided equally among the ranks, which are the processes
    that train together.

    Attributes:
        rows_of: the sets of rows, mixed.
        batch: samples per step, of all ranks together.
        objective: function that changes the rows read; None: no change.
    """

    rows_of: Mixture
    batch: int
    objective: Objective | None = None

    def samples(self, step: int, rank: int = 0, ranks: int = 1) -> NDArray[np.int64]:
        """Return the numbers of the samples that process `rank` of `ranks` reads in a step, int64[batch / ranks].

        All processes together read the same samples for any number of `ranks`. Raises PlanError if `ranks` does not
        divide `batch`.
        """
        if self.batch % ranks:
            msg = f"batch={self.batch} must be a multiple of the number of ranks, {ranks}; change one of them"
            raise PlanError(msg)
        share = self.batch // ranks
        return step * self.batch + rank * share + np.arange(share, dtype=np.int64)

    def read(self, samples: NDArray[np.int64]) -> Rows:
        """Return the rows of the samples with the numbers `samples`, int64[n], changed by `objective` if it is set."""
        rows = self.rows_of.rows(*self.rows_of.find(samples))
        return rows if self.objective is None else self.objective(rows, samples)

    def rows(self, step: int, rank: int = 0, ranks: int = 1) -> Rows:
        """Return the rows that process `rank` (from 0) of `ranks` reads in one step: `batch` / `ranks` of them."""
        return self.read(self.samples(step, rank, ranks))

    def steps(self, first: int, stop: int, rank: int = 0, ranks: int = 1) -> Generator[Rows, None, None]:
        """Yield the rows of process `rank` (from 0) of `ranks` for each step from `first` to `stop` - 1.

        While one step is in use, a thread reads the next ones.
        """
        share = self.batch // ranks
        at_once = max(1, _AHEAD // (share * self.rows_of.context))
        starts = range(first, stop, at_once)

        def read(start: int) -> Rows:
            numbers = [self.samples(step, rank, ranks) for step in range(start, min(start + at_once, stop))]
            return self.read(np.concatenate(numbers))

        with ThreadPoolExecutor(1, thread_name_prefix="loader") as pool:
            ahead = pool.submit(read, first)
            for start in starts:
                rows = ahead.result()
                if start + at_once < stop:
                    ahead = pool.submit(read, start + at_once)
                for i in range(0, len(rows.tokens), share):
                    yield rows.part(i, i + share)


def training_rows(sets: Mapping[str, Shards], config: TrainConfig) -> Loader:
    """Return the Loader that reads the training rows of `sets` in the order in which `train` uses them.

    Raises PlanError if the sets have loss masks and the objective is "span".
    """
    context, objective = _objective(sets, config)
    if config.dpo:
        pairs = pairs_of(sets, "train", context, seed=config.seed)
        if pairs is None:
            msg = "there are no pairs to train on; encode lines with a chosen and a rejected answer"
            raise PlanError(msg)
        return Loader(pairs, config.batch)
    train = {name: layout_of(s.split("train"), context=context, name=name, **_how(config)) for name, s in sets.items()}
    if config.objective == "span" and any(layout.masks is not None for layout in train.values()):
        msg = "objective='span' must not be used with shards that have masks; use another objective"
        raise PlanError(msg)
    return Loader(Mixture(train, config.weights, seed=config.seed), config.batch, objective)


def validation_rows(sets: Mapping[str, Shards], config: TrainConfig, split: str = "val") -> dict[str, Layout]:
    """Return the rows of the validation splits as {name of the set: rows}; sets without validation text are left out.

    If a split has fewer tokens than one row, its rows are shorter.

    - split: the name of the split to validate on.
    """
    context, _ = _objective(sets, config)
    fixed = context if config.objective == "span" else 1  # its blocks have one size
    sides = {name: val for name, s in sets.items() if (val := s.split(split)).n_tokens > fixed}
    spare = 0 if config.labels else 1  # a label is no next token
    widths = {name: min(context, val.n_tokens - spare) for name, val in sides.items()}
    return {name: layout_of(val, context=widths[name], name=name, **_how(config)) for name, val in sides.items()}


def _how(config: TrainConfig) -> dict[str, Any]:
    """Return arguments of `layout_of`."""
    labels = config.objective == "classify"
    return {"how": config.layout, "mask_documents": config.mask_documents, "masks": config.masks, "labels": labels}


def _objective(sets: Mapping[str, Shards], config: TrainConfig) -> tuple[int, Objective | None]:
    first = next(iter(sets.values()))
    unlabelled = next((s.path for s in sets.values() if s.labels is None), None)
    if config.objective == "classify" and unlabelled is not None:
        msg = f"objective='classify' needs the labels of the documents in {unlabelled}: name a column of labels "
        msg += "(--labels COLUMN, or labels= in dp.train)"
        raise PlanError(msg)
    return for_decoder(config, first.manifest.special, first.eot, first.vocab_size)


def to_device(rows: Rows, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, Mask | None]:
    """Return (inputs, targets, attention mask) of B rows, on the device; inputs and targets are int64 (B, T).

    Targets that are not learned are IGNORE (-100). The mask is None if the rows have neither documents nor prefixes.
    """
    tokens, wide = rows.tokens, rows.tokens.dtype != np.uint16
    ids = _move(tokens.astype(np.int64) if wide else tokens.view(np.int16), device)
    ids = ids.long() if wide else ids.long() & 0xFFFF  # torch.uint16 has few operations: int16, then unsigned
    x = ids[:, :-1].contiguous()
    y = ids[:, 1:].clone() if rows.targets is None else _move(rows.targets.copy(), device)  # a clone: it is changed
    if rows.learn is not None:
        y.masked_fill_(~_move(rows.learn, device), IGNORE)
    if rows.begins is None and rows.prefix is None:
        return x, y, None
    begins, prefix = (None if a is None else _move(a, device) for a in (rows.begins, rows.prefix))
    return x, y, Mask.of(begins, prefix)


def _move(array: NDArray[Any], device: torch.device) -> torch.Tensor:
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


def val_rows(
    layout: Layout, limit: int, batch: int, objective: Objective | None = None
) -> Iterator[tuple[NDArray[np.int64], Rows]]:  # fmt: skip
    """Yield at most `limit` validation rows with their numbers in `layout`, `batch` at a time.

    They are the same rows in every call, spread over the split.

    The last batch is filled up with rows whose targets are ignored, because torch.compile would compile again for a
    smaller batch.

    - objective: function that changes the rows read; None: no change.
    """
    count = min(limit, len(layout))
    numbers = permute(np.arange(count), len(layout), "validation")
    for i in range(0, count, batch):
        wanted = np.resize(numbers[i : i + batch], batch)
        rows = layout.rows(wanted)
        rows = rows if objective is None else objective(rows, wanted)
        if count - i < batch:
            learn = np.ones_like(rows.tokens[:, 1:], np.bool_) if rows.learn is None else rows.learn
            learn[count - i :] = False
            rows = rows._replace(learn=learn)
        yield wanted, rows
