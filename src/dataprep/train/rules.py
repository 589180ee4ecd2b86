"""Attention rule of a model: which tokens could see each other in its training; text generation follows it too."""

from __future__ import annotations

from dataclasses import dataclass

from .config import TrainConfig


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Rule of attention in addition to "a token sees those before it"; the default is plain causal attention.

    prefix: whether all tokens of a prompt see each other. begins: token id that begins a document, which sees nothing
    before it; None: a prompt is one document.
    """

    prefix: bool = False
    begins: int | None = None

    @classmethod
    def of(cls, config: TrainConfig, eot: int) -> Rule:
        """Return the attention rule that models trained with `config` follow; eot: the id of the separator.

        Only in the layout `contiguous` with masked documents does the separator begin a document.
        """
        in_stream = config.layout == "contiguous" and config.mask_documents
        return cls(prefix=config.objective != "next", begins=eot if in_stream else None)

    def visible(self, ids: list[int]) -> list[int]:
        """Return the token ids, of `ids`, that the next token may attend to: those of the last document, or all."""
        if self.begins not in ids:
            return ids
        return ids[len(ids) - 1 - ids[::-1].index(self.begins) :]
