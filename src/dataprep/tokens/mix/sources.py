"""The sources of a mixture: which documents each has, and which of them, repeats included, are in the mixture."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from dataprep.errors import PlanError
from dataprep.store.ranks import mix
from dataprep.tokens.shards.shard import Shards

_PARTIAL = 0x4D495845  # second seed of the hashes that choose the documents of a partial epoch
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class MixSource:
    """One source of a mixture, called `name`: the documents in the folder of token shards `path`.

    Attributes:
        only: the source name of the documents to take; None: all documents of the folder.
    """

    name: str
    path: str
    only: str | None = None

    @cached_property
    def shards(self) -> Shards:
        """All token shards of the folder."""
        return Shards.open(self.path)

    @cached_property
    def train(self) -> Shards:
        """The token shards of the folder's training split."""
        return self.shards.split("train")

    @cached_property
    def docs(self) -> Numbers:
        """The indexes of the source's documents among all documents of the training split, int64[n]."""
        if self.only is None:
            return np.arange(len(self.train))
        return np.flatnonzero(pc.equal(self.train.column("source"), self.only).to_numpy())

    @cached_property
    def lengths(self) -> Numbers:
        """The number of tokens of each of the source's training documents, separators included, int64[n]."""
        return lengths_of(self.train)[self.docs]

    @cached_property
    def tokens(self) -> int:
        """The number of training tokens of the source."""
        return int(self.lengths.sum())

    def placed(self, wanted: int, seed: int) -> tuple[Numbers, npt.NDArray[np.float64]]:
        """Choose documents with about `wanted` tokens in total, repeats included, spread evenly over the mixture.

        Returns (the documents' numbers, int64[m]; their positions in the mixture, from 0 to 1, float64[m]). If the last
        epoch is partial, it has the documents with the smallest hash(seed, id).
        """
        epochs, rest = divmod(wanted, self.tokens)
        chosen = np.zeros(len(self.docs), bool)
        if rest:
            ids = self.train.column("id").to_numpy()[self.docs]
            order = np.argsort(mix(mix(ids, seed), _PARTIAL), kind="stable")
            among = self.lengths[order]
            chosen[order[np.cumsum(among) - among / 2 <= rest]] = True  # by their middles: `rest` tokens on average
        rows = np.concatenate([np.tile(np.arange(len(self.docs)), epochs), np.flatnonzero(chosen)])
        ends, lengths = np.cumsum(self.lengths[rows]), self.lengths[rows]
        return self.docs[rows], (ends - lengths / 2) / max(1, wanted)


def sources_of(sources: Any) -> list[MixSource]:
    """Return a MixSource for each source to mix.

    Args:
        sources: {name: folder of token shards}, or one folder of token shards, whose documents name their sources.

    Raises PlanError if there are no sources, or if they were encoded with different tokenizers or types of ids.
    """
    if isinstance(sources, Mapping):
        streams = [MixSource(str(name), _path(folder)) for name, folder in sources.items()]
    else:
        path = _path(sources)
        names = Shards.open(path).split("train").column("source").unique().to_pylist()
        streams = [MixSource(name, path, name) for name in sorted(names)]
    if not streams:
        msg = "there are no sources to mix; pass {name: folder of token shards}"
        raise PlanError(msg)
    first = streams[0]
    for other in streams[1:]:
        if other.shards.dtype != first.shards.dtype:
            msg = (
                f"{first.name} has ids of {first.shards.dtype} and {other.name} of {other.shards.dtype}; "
                f"encode one of them again with the other's dtype="
            )
            raise PlanError(msg)
        ours, theirs = ((s.shards.vocab_size, s.shards.eot, s.shards.tokenizer_hash) for s in (first, other))
        if ours != theirs:
            msg = (
                f"{first.name} and {other.name} were encoded with different tokenizers, so one id means different "
                f"tokens; encode {other.name} again with {first.path}/tokenizer.json"
            )
            raise PlanError(msg)
    return streams


def lengths_of(side: Shards) -> Numbers:
    """Return the number of tokens of each document, separators included."""
    ends = [np.asarray(side.ends(i)).astype(np.int64) for i in range(len(side.shards))]
    return np.concatenate([np.zeros(0, np.int64), *(np.diff(e, prepend=0) for e in ends)])


def _path(source: Any) -> str:
    return os.fspath(source.path if isinstance(source, Shards) else source)
