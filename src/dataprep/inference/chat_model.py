"""`ChatModel`: a trained model with its tokenizer, chat template, speakers' names, and the ids that end a text."""

from __future__ import annotations

import math
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dataprep.errors import PlanError
from dataprep.tokens.dialogue import check_template, encode_prompt
from dataprep.tokens.templates import Template, template_of
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from dataprep.train import GPT, Sampling, generate
from dataprep.train.generation import CLASSIFIER

from .open_model import open_model, tokenizer_of
from .text_stream import TextStream

SHOWN = 16  # hex digits of a hash in the card


@dataclass(frozen=True)
class ChatModel:
    """A trained model with its tokenizer, its chat template and other content of its folder.

    Attributes:
        model: the model with its weights.
        tok: the tokenizer.
        template: the format of the dialogues that the model was trained on; None if there were none.
        speakers: the speakers' names for the roles "user" and "assistant", for templates that put names in the text.
        stop: the ids that end a text.
        saved: the content of the checkpoint without its weights.
    """

    model: GPT
    tok: Tokenizer
    template: Template | None
    speakers: Mapping[str, str | None]
    stop: frozenset[int]
    saved: Mapping[str, Any]

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, template: str | os.PathLike[str] | None = None, device: str = "auto"
    ) -> ChatModel:
        """Return the model in the folder of a run, in a checkpoint file, or in a Hugging Face folder.

        Args:
            path: the folder or the checkpoint file.
            template: the chat template; None: the template that the model was trained with.
            device: "auto", "cpu", "cuda" ...

        Raises PlanError if there is no model or no tokenizer, or if the model is a classifier; StaleOutput if the
        tokenizer is not the model's.
        """
        model, saved = open_model(path, device)
        if model.n_labels:
            raise PlanError(CLASSIFIER)
        tok = tokenizer_of(path, saved["tokenizer"])
        chat = saved.get("chat") or {}
        learned = Template(chat["template"], *(chat["template_ends"] or ())) if chat else None
        chosen = learned if template is None else template_of(template)
        if chosen is not None:
            check_template(tok, chosen)
        stop = frozenset(saved.get("stop") or [saved["eot"]])
        return cls(model, tok, chosen, chat.get("speakers") or {}, stop, saved)

    @property
    def context(self) -> int:
        """The maximum number of tokens in the model's context."""
        return self.model.config.context

    @property
    def card(self) -> list[str]:
        """Lines about the model: parameters and shape, steps, data with the hash of its shards, and loss."""
        config, saved = self.model.config, self.saved
        shape = f"{config.n_layers} layers, {config.d_model} wide, context {config.context:,} tokens"
        n = self.model.n_params
        count = f"{n / 1e6:.1f}M" if n >= 1e6 else f"{n:,}"
        size = f"{count} parameters: {shape}, vocabulary {self.model.vocab_size:,}"
        data = [
            f"{found['tokens']:,} tokens of {found['documents']:,} documents"
            + (f" ({name})" if name else "")
            + (f", shards {found['shards'][:SHOWN]}" if "shards" in found else "")
            for name, found in saved.get("trained_on", {}).items()
        ]
        root, known = saved.get("root"), [found.get("shards") for found in saved.get("trained_on", {}).values()]
        whole = f"; all its data {root[:SHOWN]}" if root and root not in known else ""
        started = " on top of an earlier model" if saved.get("start") else ""
        steps = f"trained {saved['step']:,} steps{started}" + (f" on {' and '.join(data)}" if data else "") + whole
        losses = {"training loss": saved.get("loss"), "validation loss": saved.get("val_loss")}
        each = [f"{name} {v:.3f}" for name, v in losses.items() if v is not None and math.isfinite(v)]
        return [size, steps, *([", ".join(each)] if each else [])]

    def prompt(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the ids after which the model answers: a separator, the turns, and the beginning of its own turn.

        Args:
            messages: turns of {role, content}.

        Raises PlanError if there is no template, or if the template rejects the turns.
        """
        if self.template is None:
            msg = (
                "this model was trained without a chat template, so it cannot hold a conversation; "
                "use `dataprep generate`, or name the template with --template"
            )
            raise PlanError(msg)
        named = [{**m, "name": m.get("name") or self.speakers.get(m["role"])} for m in messages]
        return [self.tok.eot, *encode_prompt(self.tok, self.template, named, self.speakers.get("assistant"))]

    def stream(
        self, ids: Sequence[int], how: Sampling | None = None, *, max_tokens: int = 200, turn: bool = False
    ) -> Generator[str, None, None]:
        """Yield the text that follows the ids, in pieces of whole characters, without control characters.

        Args:
            ids: the ids of the beginning.
            how: the rule by which the next id is drawn; None: `Sampling()`.
            max_tokens: the maximum number of tokens to generate.
            turn: True ends the text at every special token, since a turn contains none; False ends it only at the ids
                in `stop`.

        Raises DataprepError if memory runs out.
        """
        stop = self.stop | set(self.tok.special.values()) if turn else self.stop
        text = TextStream(self.tok)
        for token in generate(self.model, ids, how, max_tokens=max_tokens, stop=stop):
            if piece := text.add(token):
                yield piece
        if piece := text.end():
            yield piece
