"""Multiple choice: find the answer to each question that a model considers most probable, and measure the accuracy."""

# ruff: noqa: N806 - the shape letters are capitals
from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import torch

from dataprep.errors import PlanError, ReadError
from dataprep.store import files
from dataprep.train.data.rows import IGNORE
from dataprep.train.device import model_memory_named
from dataprep.train.loss import token_nats
from dataprep.train.model.masks import Mask
from dataprep.train.sampling import check_finite

from .chat_model import ChatModel

PROMPTS = ("prompt", "question")


@dataclass(frozen=True)
class Question:
    """A question with several answers.

    Attributes:
        prompt: the text of the question.
        choices: the answers.
        answer: the index of the correct answer in `choices`.
        line: the number of the question's line in its file.
    """

    prompt: str
    choices: tuple[str, ...]
    answer: int
    line: int = 0


@dataclass(frozen=True)
class Answers:
    """The log-likelihoods, in nats, that a model assigns to the choices of questions.

    Attributes:
        log_likelihoods: for each question, one number per choice.
    """

    questions: list[Question]
    log_likelihoods: list[list[float]]

    @property
    def picks(self) -> list[int]:
        """The index of the most probable choice of each question; the first one if several are equally probable."""
        return [int(np.argmax(each)) for each in self.log_likelihoods]

    @property
    def picks_per_byte(self) -> list[int]:
        """For each question, the index of the choice with the highest log-likelihood per byte of its text."""
        each = zip(self.questions, self.log_likelihoods, strict=True)
        return [int(np.argmax([x / len(c.encode()) for c, x in zip(q.choices, xs, strict=True)])) for q, xs in each]

    @property
    def accuracy(self) -> float:
        """The fraction of questions whose correct answer is the most probable choice, 0 to 1."""
        return self._right(self.picks)

    @property
    def accuracy_per_byte(self) -> float:
        """The fraction of questions whose correct answer has the highest log-likelihood per byte, 0 to 1.

        A longer answer has a lower likelihood; dividing by its length corrects for this.
        """
        return self._right(self.picks_per_byte)

    @property
    def chance(self) -> float:
        """The expected accuracy of random guessing, 0 to 1."""
        return sum(1 / len(q.choices) for q in self.questions) / len(self.questions)

    def _right(self, picks: list[int]) -> float:
        return sum(q.answer == pick for q, pick in zip(self.questions, picks, strict=True)) / len(self.questions)

    def to_dict(self) -> dict[str, Any]:
        """Return the accuracies, and the line and log-likelihoods of each question, as plain values for JSON."""
        rows = zip(self.questions, self.log_likelihoods, self.picks, self.picks_per_byte, strict=True)
        return {
            "questions": len(self.questions), "accuracy": self.accuracy, "accuracy_per_byte": self.accuracy_per_byte,
            "chance": self.chance,
            "rows": [
                {"line": q.line, "answer": q.answer, "pick": pick, "pick_per_byte": other, "log_likelihoods": each}
                for q, each, pick, other in rows
            ],
        }  # fmt: skip

    def __str__(self) -> str:
        return (
            f"{len(self.questions):,} questions: {self.accuracy:.1%} correct by likelihood, "
            f"{self.accuracy_per_byte:.1%} by likelihood per byte; {self.chance:.1%} by chance"
        )


def read_questions(path: str | os.PathLike[str]) -> list[Question]:
    """Return the questions of a JSONL file, which may be compressed.

    A line is an object with `prompt` or `question` (text), `choices` (two or more texts that are not empty) and
    `answer` (the index of the correct choice, from 0). Other fields, empty lines and a byte order mark are ignored.
    Raises ReadError if a line is not such an object, with the number of the line, or if there is no question.
    """
    url = os.fspath(path)
    with files.open_read(url) as f:
        lines = (line.removeprefix(BOM_UTF8) if n == 1 else line for n, line in enumerate(f, 1))
        found = [_question(url, n, line) for n, line in enumerate(lines, 1) if line.strip()]
    if not found:
        msg = "has no questions; write one object per line, with prompt, choices and answer"
        raise ReadError(msg, url, reason="empty")
    return found


def _question(url: str, n: int, line: bytes) -> Question:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as e:
        msg = f"line {n:,} must be a JSON object ({e}); write one question per line"
        raise ReadError(msg, url) from e
    prompts = [name for name in PROMPTS if isinstance(row, dict) and name in row]
    if len(prompts) != 1 or not isinstance(row[prompts[0]], str):
        msg = f"line {n:,} must have either a `prompt` or a `question`, as text"
        raise ReadError(msg, url)
    choices, answer = row.get("choices"), row.get("answer")
    if not (isinstance(choices, list) and len(choices) > 1 and all(isinstance(c, str) and c for c in choices)):
        msg = f"line {n:,}: choices={choices!r:.80} must be a list of two or more texts that are not empty"
        raise ReadError(msg, url)
    if not (isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < len(choices)):
        msg = f"line {n:,}: answer={answer!r:.80} must be the index of a choice, from 0 to {len(choices) - 1}"
        raise ReadError(msg, url)
    return Question(row[prompts[0]], tuple(choices), answer, n)


def answer_choices(
    model: ChatModel | str | os.PathLike[str],
    questions: Sequence[Question] | str | os.PathLike[str],
    *,
    join: str = " ",
    chat: bool = False,
    batch: int = 16,
    device: str = "auto",
) -> Answers:
    """Return the log-likelihood of each choice after its prompt.

    The model reads prompt and choice as one text, which begins a document. The log-likelihood is the sum over all
    tokens from the first token at which the text with a choice differs from the prompt alone; this token is the same
    for all choices of a question. If a prompt is too long for the context, its beginning is removed.

    Args:
        model: a `ChatModel`, or the folder of a model.
        questions: the result of `read_questions`, or the path of the file.
        join: the text between prompt and choice, which is omitted if the prompt ends or the choice begins with white
            space.
        chat: whether to write the prompt as a user's turn in the model's chat template, and the choice as the model's
            turn.
        batch: the number of texts per forward pass.
        device: "auto", "cpu", "cuda" ...

    Raises ReadError for a bad line of the file, DataprepError if a log-likelihood is not a finite number, and PlanError
    if a choice is longer than the context, or with `chat` if the model has no template.

    >>> answer_choices("work/model", "exam.jsonl").accuracy_per_byte
    """
    loaded = model if isinstance(model, ChatModel) else ChatModel.load(model, device=device)
    if chat and loaded.template is None:
        msg = (
            "this model was trained without a chat template, so it cannot be asked in chat format; leave out --chat "
            "(chat=True)"
        )
        raise PlanError(msg)
    asked = list(questions) if isinstance(questions, Sequence) and not isinstance(questions, str) else (
        read_questions(questions))  # fmt: skip
    rows = [row for q in asked for row in _rows(loaded, q, None if chat else join)]
    with model_memory_named(loaded.model.device, f"lower batch (now {batch})"):
        nats = _nats(loaded, rows, batch)
    check_finite(nats)
    each = iter((-nats).tolist())
    return Answers(asked, [[next(each) for _ in q.choices] for q in asked])


def _rows(loaded: ChatModel, q: Question, join: str | None) -> Iterator[tuple[list[int], int]]:
    """Yield (ids, offset of the first id to score) for each choice of a question.

    - join: None for turns of a chat.
    """
    if join is None:
        prompt = loaded.prompt([{"role": "user", "content": q.prompt}])
        ids = [[*prompt, *loaded.tok.encode(choice)] for choice in q.choices]
    else:
        prompt = [loaded.tok.eot, *loaded.tok.encode(q.prompt)]
        texts = [q.prompt + _between(q.prompt, choice, join) + choice for choice in q.choices]
        ids = [[loaded.tok.eot, *loaded.tok.encode(text)] for text in texts]
    # A token may contain the end of the prompt and the beginning of a choice.
    start = min(_common(prompt, one) for one in ids)
    spare = max(map(len, ids)) - (loaded.context + 1)
    if spare >= start:
        where = f"line {q.line:,}: " if q.line else ""
        longest = max(map(len, ids)) - start
        msg = (
            f"{where}a choice has {longest:,} tokens, more than the model's context of {loaded.context:,}; shorten it, "
            "or leave the question out"
        )
        raise PlanError(msg)
    cut = max(0, spare)
    return ((one[cut:], start - cut) for one in ids)


def _between(prompt: str, choice: str, join: str) -> str:
    return "" if not prompt or prompt[-1].isspace() or choice[0].isspace() else join


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    """Return the length of the longest common prefix of two lists."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@torch.no_grad()
def _nats(
    loaded: ChatModel, rows: Sequence[tuple[list[int], int]], batch: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the negative log-probability of each row's ids from its offset on, float64[rows]."""
    model, found = loaded.model, np.zeros(len(rows))
    order = sorted(range(len(rows)), key=lambda i: len(rows[i][0]))  # little padding
    for i in range(0, len(order), batch):
        some = [rows[k] for k in order[i : i + batch]]
        width = max(len(ids) for ids, _ in some)
        ids_BT = np.full((len(some), width), loaded.tok.eot)
        learn_BT, prefix_BT = np.zeros(ids_BT.shape, bool), np.zeros(ids_BT.shape, bool)
        for row, (ids, start) in enumerate(some):
            ids_BT[row, : len(ids)] = ids
            learn_BT[row, start : len(ids)] = True
            prefix_BT[row, :start] = True
        x_BT, y_BT = ids_BT[:, :-1], np.where(learn_BT[:, 1:], ids_BT[:, 1:], IGNORE)
        x, y, prefix = (torch.from_numpy(a.copy()).to(model.device) for a in (x_BT, y_BT, prefix_BT[:, :-1]))
        nats_BT = token_nats(model, x, y, Mask.of(None, prefix) if model.rule.prefix else None)
        found[order[i : i + batch]] = nats_BT.double().sum(1).cpu().numpy()
    return found
