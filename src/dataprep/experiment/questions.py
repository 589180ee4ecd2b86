"""Questions that are scored by the likelihood of the right answer: multiple choice, and the last word of a passage."""

from __future__ import annotations

import math
import os
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import orjson

from dataprep.errors import PlanError, ReadError
from dataprep.store import files

from .design import NAME

if TYPE_CHECKING:
    from dataprep.inference.choices import Question

CHOICES, LAST_WORD = "choices", "last-word"


@dataclass(frozen=True)
class Questions:
    """The questions of one file.

    Attributes:
        name: the name of the metric, such as "choices-exam".
        prompts: the text before each answer, with the examples.
        answers: the right answers.
        choices: the choices of each question, with the right one; a single one for last words.
    """

    name: str
    prompts: tuple[str, ...]
    answers: tuple[str, ...]
    choices: tuple[tuple[str, ...], ...]

    def recipe(self) -> list[Any]:
        """Return the values that decide the losses."""
        return [self.prompts, self.answers, self.choices]

    @property
    def sizes(self) -> npt.NDArray[np.float64]:
        """The bytes of each right answer, float64[questions]."""
        return np.array([float(len(one.encode())) for one in self.answers])


def read_all(
    choices: Mapping[str, str | os.PathLike[str]] | None, last_words: Mapping[str, str | os.PathLike[str]] | None,
    shots: int,
) -> list[Questions]:  # fmt: skip
    """Return the questions of all files.

    Args:
        choices: {name: JSONL file of prompt, choices and answer}.
        last_words: {name: JSONL file of texts}; the last word of each is the answer.
        shots: the number of questions, the first of each file, that precede the others with their answers.

    Raises ReadError for a bad line, and PlanError if no question is left.
    """
    if isinstance(shots, bool) or not isinstance(shots, int) or shots < 0:
        msg = f"shots={shots!r} must be the number of examples before a question, from 0"
        raise PlanError(msg)
    for name in (*(choices or {}), *(last_words or {})):
        if not isinstance(name, str) or not NAME.fullmatch(name):
            msg = f"the name {name!r} of a file of questions must have letters, digits and . _ + - only; rename it"
            raise PlanError(msg)
    found = [_made(f"{CHOICES}-{name}", _choices(os.fspath(path)), shots) for name, path in (choices or {}).items()]
    for name, path in (last_words or {}).items():
        found.append(_made(f"{LAST_WORD}-{name}", _last_words(os.fspath(path)), shots))
    return found


def _made(name: str, rows: list[tuple[str, str, tuple[str, ...]]], shots: int) -> Questions:
    if len(rows) <= shots + 1:
        msg = f"{name} has {len(rows)} questions, too few for shots={shots} examples and two questions; add questions"
        raise PlanError(msg)
    before = "".join(f"{_joined(prompt, right)}\n\n" for prompt, right, _ in rows[:shots])
    asked = rows[shots:]
    return Questions(
        name, tuple(before + prompt for prompt, _, _ in asked), tuple(right for _, right, _ in asked),
        tuple(choices for _, _, choices in asked),
    )  # fmt: skip


def _joined(prompt: str, answer: str) -> str:
    return prompt + ("" if not prompt or prompt[-1].isspace() or answer[0].isspace() else " ") + answer


def _choices(path: str) -> list[tuple[str, str, tuple[str, ...]]]:
    from dataprep.inference.choices import read_questions

    return [(q.prompt, q.choices[q.answer], q.choices) for q in read_questions(path)]


def _last_words(path: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return (text before the last word, last word, (last word,)) of each line {"text": ...}."""
    found: list[tuple[str, str, tuple[str, ...]]] = []
    with files.open_read(path) as f:
        for n, raw in enumerate(f, 1):
            line = raw.removeprefix(BOM_UTF8) if n == 1 else raw
            if not line.strip():
                continue
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as e:
                msg = f"line {n:,} must be a JSON object ({e}); write one passage per line"
                raise ReadError(msg, path) from e
            text = row.get("text") if isinstance(row, dict) else None
            words = text.rsplit(maxsplit=1) if isinstance(text, str) else []
            if len(words) < 2:
                msg = f"line {n:,} must have a `text` of two words or more, of which the last one is the answer"
                raise ReadError(msg, path)
            found.append((words[0], words[1], (words[1],)))
    return found


def bits_of(model: str, asked: Questions, device: str = "auto") -> npt.NDArray[np.float64]:
    """Return the loss of a model on the right answer of each question, in bits, float64[questions].

    All choices are needed, because scoring starts at the first token in which the choices differ.

    - model: a checkpoint, or the folder of a run.
    """
    from dataprep.inference.choices import Question, answer_choices

    each = zip(asked.prompts, asked.answers, asked.choices, strict=True)
    rows: list[Question] = [Question(p, choices, choices.index(right)) for p, right, choices in each]
    found = answer_choices(model, rows, device=device)
    right = [found.log_likelihoods[i][q.answer] for i, q in enumerate(rows)]
    return -np.array(right) / math.log(2)
