"""Compare a base model with the model tuned from it on held-out dialogues: loss, style and memorisation."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from dataprep.core.model.dataset import Dataset
from dataprep.messages.emoji import emoji_spans
from dataprep.shown.notebook import block
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from dataprep.train import Sampling, generate_batch
from dataprep.train.data.layouts import layout_of
from dataprep.train.evaluate import LossSum, evaluate_groups
from dataprep.train.sampling import check_finite

from .chat_model import ChatModel
from .difference import columns, interval, verdict
from .labels import labels_of
from .text_stream import TextStream

PROMPTS = 64  # held-out answers that are generated
MAX_TOKENS = 96  # of each
SPAN = 8  # words in succession that are counted as memorised
SHOWN = 5  # spans
WRITERS = ("person", "base", "tuned")
MEASURES = {"loss": "loss", "bits_per_byte": "bits per byte"}
HOW = Sampling(temperature=0.8, top_k=50)


@dataclass(frozen=True)
class PersonaReport:
    """A comparison of a base model with the fine-tuned model on the same held-out answers.

    Attributes:
        split: the split of the held-out dialogues; "" if there are none; in that case, all other fields are empty.
        n_answers: the number of held-out answers; each model wrote its own version of each.
        loss: {"base" or "tuned": the loss of the model on the tokens of the held-out answers}.
        bits_per_byte: {"base" or "tuned": the loss in bits per byte of the answers' text, without the special tokens
            that end turns}.
        n_scored: the number of answers whose losses were measured.
        n_conversations: the number of conversations that contain these answers.
        differences: {"loss" or "bits_per_byte": [tuned - base, low, high]}, where low and high bound a 95 % interval,
            and are None if there are too few conversations for one.
        style: {"person", "base" or "tuned": {name of a figure: value}}, for the figures in `STYLE`.
        copied: {"base" or "tuned": the number of generated answers that share `SPAN` or more consecutive words with a
            training text}.
        spans: the longest such word sequences in the fine-tuned model's answers, each as [text, number of training
            texts that contain it].
    """

    split: str
    n_answers: int
    loss: dict[str, float]
    bits_per_byte: dict[str, float]
    style: dict[str, dict[str, float]]
    copied: dict[str, int]
    spans: list[list[Any]]
    n_scored: int = 0
    n_conversations: int = 0
    differences: dict[str, list[float | None]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PersonaReport:
        """Return the comparison from the values of `to_dict`; other values are ignored."""
        return cls(**{f.name: values[f.name] for f in fields(cls)})

    _repr_html_ = block

    def __str__(self) -> str:
        if not self.split:
            return "no conversation is held out, so the models cannot be compared; raise --val"
        rows = [["", *WRITERS], ["loss on held-out answers", "", *_numbers(self.loss, 3)]]
        rows.append(["bits per byte", "", *_numbers(self.bits_per_byte, 3)])
        rows += [[name, *(f"{self.style[writer][name]:.2f}" for writer in WRITERS)] for name in STYLE]
        rows.append([f"answers with {SPAN} copied words", "", *_numbers(self.copied, 0)])
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
                 for row in rows]  # fmt: skip
        measures = ((name, found) for name in MEASURES if (found := self.differences.get(name)))
        lines += [verdict(MEASURES[name], found, self.n_conversations) for name, found in measures]
        lines.append(
            f"on {self.n_scored:,} answers in {self.n_conversations:,} conversations; the loss is that of words and "
            "ends of turns, bits per byte that of words alone"
        )
        lines.append(f"style of {self.n_answers} answers to {self.split} questions; the person's are the real ones")
        lines += [f"word for word in {n:,} training texts: {span}" for span, n in self.spans]
        return "\n".join(line.rstrip() for line in lines)


def _numbers(values: Mapping[str, float], digits: int) -> list[str]:
    return [f"{values[name]:.{digits}f}" if name in values else "-" for name in WRITERS[1:]]


def compare(
    base: str | os.PathLike[str], tuned: str | os.PathLike[str], answers: Shards, docs: Dataset | None = None
) -> PersonaReport:
    """Compare two models on the held-out dialogues of `answers`, shards with a loss mask over answers.

    Args:
        base: the folder of the base model.
        tuned: the folder of the fine-tuned model.
        answers: the token shards. The validation split is used, or the test split if there is none.
        docs: the Dataset of the shards, whose `conversation` column groups windows by conversation; None: each window
            is a conversation.
    """
    side = next((s for s in ("val", "test") if answers.split(s).n_tokens > 1), "")
    if not side:
        return PersonaReport("", 0, {}, {}, {}, {}, [])
    held = answers.split(side)
    groups = np.arange(len(held)) if docs is None else labels_of(held, "conversation", docs)[0]
    models = {name: ChatModel.load(path) for name, path in (("base", base), ("tuned", tuned))}
    sums: dict[str, list[LossSum]] = {}
    for name, model in models.items():
        layout = layout_of(held, "padded", context=min(model.context, held.n_tokens - 1))
        sums[name] = evaluate_groups(model.model, layout, groups, batch=8, token_bytes=answers.token_bytes)
        check_finite(group.nats for group in sums[name])
    scores = {name: sum(found, LossSum(0, 0.0, 0.0, 0)) for name, found in sums.items()}
    loss = {name: score.loss for name, score in scores.items()}
    bits = {name: s.bits_per_byte for name, s in scores.items() if s.bits_per_byte is not None}
    tokens, nats, text, n_bytes = columns(sums["base"])
    _, tuned_nats, tuned_text, _ = columns(sums["tuned"])
    differences: dict[str, list[float | None]] = {"loss": list(interval(nats, tuned_nats, tokens))}
    if bits:
        differences["bits_per_byte"] = list(interval(text / math.log(2), tuned_text / math.log(2), n_bytes))
    n_scored = sum(int((np.diff(m != 0, prepend=False) & (m != 0)).sum()) for m in held.masks() if m is not None)
    tok = models["tuned"].tok
    asked, real = last_answers(held, tok, models["tuned"].context - MAX_TOKENS)
    texts = {"person": real} | {name: _generated(model, asked) for name, model in models.items()}
    style = {name: {what: measure(written) for what, measure in STYLE.items()} for name, written in texts.items()}
    found = {name: copied_spans(texts[name], training_texts(answers, tok)) for name in models}
    copied = {name: sum(1 for spans in each if spans) for name, each in found.items()}
    counts = {span: n for spans in found["tuned"] for span, n in spans.items()}
    longest = sorted(counts, key=lambda span: (-len(span.split()), span))[:SHOWN]
    return PersonaReport(
        side, len(real), loss, bits, style, copied, [[span, counts[span]] for span in longest], n_scored,
        int((tokens > 0).sum()), differences,
    )  # fmt: skip


def last_answers(held: Shards, tok: Tokenizer, most: int) -> tuple[list[list[int]], list[str]]:
    """Return two lists for up to `PROMPTS` documents of the split `held`: ids before the last answer, and its text.

    Args:
        held: the split; the documents are spread evenly over it.
        tok: the tokenizer.
        most: the maximum number of ids to return per document; these are directly before the answer.
    """
    asked, real = [], []
    masks, before = held.masks(), np.cumsum([0, *(s.documents for s in held.shards)])
    for k in np.unique(np.linspace(0, len(held) - 1, PROMPTS).astype(int)).tolist():
        i = int(np.searchsorted(before, k, side="right")) - 1
        mask = masks[i]
        ids, ends = held.document(k), held.ends(i)
        start = int(ends[k - before[i] - 1]) if k > before[i] else 0
        learned = np.ones(len(ids), bool) if mask is None else np.asarray(mask[start : start + len(ids)]) != 0
        runs = np.flatnonzero(np.diff(learned.astype(np.int8), prepend=0) == 1)
        if len(runs):
            asked.append([held.eot, *ids[: runs[-1]].tolist()][-max(1, most) :])
            real.append(_text(tok, ids[runs[-1] :][learned[runs[-1] :]].tolist()))
    return asked, real


def _generated(model: ChatModel, asked: Sequence[Sequence[int]]) -> list[str]:
    stop = model.stop | set(model.tok.special.values())
    made = generate_batch(model.model, asked, HOW, max_tokens=MAX_TOKENS, stop=stop) if asked else []
    return [_text(model.tok, ids) for ids in made]


def _text(tok: Tokenizer, ids: Sequence[int]) -> str:
    stream = TextStream(tok)
    return ("".join(map(stream.add, ids)) + stream.end()).strip()


def training_texts(answers: Shards, tok: Tokenizer) -> Iterator[str]:
    """Yield the text of each training document, without special tokens."""
    side = answers.split("train")
    return (_text(tok, side.document(k).tolist()) for k in range(len(side)))


def copied_spans(written: Sequence[str], known: Iterator[str]) -> list[dict[str, int]]:
    """Return, for each text in `written`, its sequences of `SPAN` or more words that a text in `known` has too.

    The result has a dict per text: {sequence: number of known texts that have its first `SPAN` words}.

    >>> copied_spans(["so a b c d e f g h i"], iter(["a b c d e f g h z"]))
    [{'a b c d e f g h': 1}]
    """
    words = [text.split() for text in written]
    wanted = {" ".join(w[i : i + SPAN]): 0 for w in words for i in range(len(w) - SPAN + 1)}
    for text in known:
        w = text.split()
        for piece in {" ".join(w[i : i + SPAN]) for i in range(len(w) - SPAN + 1)} & wanted.keys():
            wanted[piece] += 1
    return [_runs(w, wanted) for w in words]


def _runs(words: list[str], counts: dict[str, int]) -> dict[str, int]:
    """Return the longest runs of words of which every sequence of `SPAN` words has a count, with the first count."""
    spans: dict[str, int] = {}
    start, n = 0, len(words) - SPAN + 1
    while start < n:
        stop = start
        while stop < n and counts[" ".join(words[stop : stop + SPAN])]:
            stop += 1
        if stop > start:
            spans[" ".join(words[start : stop + SPAN - 1])] = counts[" ".join(words[start : start + SPAN])]
        start = stop + 1
    return spans


def _share(test: Callable[[str], object]) -> Callable[[Sequence[str]], float]:
    return lambda texts: sum(bool(test(text)) for text in texts) / max(1, len(texts))


def _mean(count: Callable[[str], int]) -> Callable[[Sequence[str]], float]:
    return lambda texts: sum(count(text) for text in texts) / max(1, len(texts))


STYLE: dict[str, Callable[[Sequence[str]], float]] = {
    "words per answer": _mean(lambda text: len(text.split())),
    "characters per word": lambda texts: _ratio("".join(texts), " ".join(texts).split()),
    "lines per answer": _mean(lambda text: text.count("\n") + 1),
    "share with emoji": _share(emoji_spans),
    "share with a question": _share(re.compile(r"[?؟]").search),
    "share that begins with a capital": _share(lambda text: text[:1].isupper()),
    "share that ends with . ! ? …": _share(re.compile(r"[.!?…؟]\s*$").search),
}
"""Figures of style, by name: functions of the answers of one writer."""


def _ratio(text: str, words: Sequence[str]) -> float:
    return sum(not c.isspace() for c in text) / max(1, len(words))
