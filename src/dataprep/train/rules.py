"""Visibility rule of a model: the tokens that its training let each other see, which decoding follows too."""

from __future__ import annotations

from dataclasses import dataclass

from .config import TrainConfig


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Rule of attention in addition to "a token sees those before it"; the default is plain causal attention.

    `prefix`: all tokens of a prompt see each other. `begins`: an input of this id begins a document, which sees
    nothing before it; None if prompts are one document each.
    """

    prefix: bool = False
    begins: int | None = None

    @classmethod
    def of(cls, config: TrainConfig, eot: int) -> Rule:
        """Return the rule that a run with this config trains; eot: the id of the separator.

        Only in the layout `contiguous` with masked documents does the separator begin a document.
        """
        in_stream = config.layout == "contiguous" and config.mask_documents
        return cls(prefix=config.objective != "next", begins=eot if in_stream else None)

    def visible(self, ids: list[int]) -> list[int]:
        """Return the part of `ids` that the next token may attend to: the last document, or all of `ids`."""
        if self.begins not in ids:
            return ids
        return ids[len(ids) - 1 - ids[::-1].index(self.begins) :]
