"""Attention rule of a model: which tokens attend to each other, in training and in text generation."""

from __future__ import annotations

from dataclasses import dataclass

from dataprep.train.config import TrainConfig


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Changes to causal attention, in which a token attends to itself and the tokens before it; by default no change.

    Attributes:
        prefix: whether all tokens of a prompt attend to each other.
        begins: token id that begins a document, whose tokens attend to nothing before it; None: a prompt is one
            document.
        fills: whether the model predicts masked tokens from both sides, so that it cannot generate text.
    """

    fills: bool = False
    prefix: bool = False
    begins: int | None = None

    @classmethod
    def of(cls, config: TrainConfig, eot: int) -> Rule:
        """Return the attention rule that models trained with `config` follow.

        The separator begins a document only in the layout `contiguous` with `mask_documents`.

        - eot: the id of the separator.
        """
        in_stream = config.layout == "contiguous" and config.mask_documents
        objective = config.objective
        return cls(fills=objective == "mlm", prefix=config.has_prefixes, begins=eot if in_stream else None)

    def visible(self, ids: list[int]) -> list[int]:
        """Return those of the token ids `ids` that the next token may attend to: the last document, or all."""
        if self.begins not in ids:
            return ids
        return ids[len(ids) - 1 - ids[::-1].index(self.begins) :]
