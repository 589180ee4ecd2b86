"""`Conversation`: a dialogue with a model, with as much history in the chat template as the context allows."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace

from dataprep.errors import PlanError
from dataprep.train import Sampling

from .chat_model import ChatModel

Message = dict[str, str]


@dataclass
class Conversation:
    """A conversation: `say` adds a user turn, streams the answer, and adds it as the next turn.

    Attributes:
        model: the model, with its tokenizer and chat template.
        how: the rule by which the next token id is drawn; answer number n is drawn with the seed how.seed + n.
        max_tokens: the maximum number of tokens per answer.
        system: the text of the system's turn, "" for none.
        history: turns of {role, content} without the system's turn, the oldest first.
        n_answers: the number of answers so far.

    >>> talk = Conversation(ChatModel.load("out/tomas/model"))
    >>> "".join(talk.say("are you there?"))
    """

    model: ChatModel
    how: Sampling = field(default_factory=Sampling)
    max_tokens: int = 200
    system: str = ""
    history: list[Message] = field(default_factory=list)
    n_answers: int = 0

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            msg = f"max_tokens={self.max_tokens} must be 1 or more"
            raise PlanError(msg)
        self.system = _encodable(self.system)
        self.history = [{**m, "content": _encodable(m["content"])} for m in self.history]
        self.model.prompt([{"role": "user", "content": ""}])  # raises if the model has no template

    def say(self, text: str) -> Generator[str, None, None]:
        """Add a turn of the user; return an iterator that yields the text of the answer as it is generated.

        If the iterator is closed early, the text so far is the answer. Raises PlanError if the turn cannot be rendered;
        the turn is then not kept.
        """
        if self.history and self.history[-1]["role"] == "user":  # it was not answered
            self.history.pop()
        self.history.append({"role": "user", "content": _encodable(text)})
        return self._answer()

    def again(self) -> Generator[str, None, None]:
        """Replace the last answer; return an iterator that yields the text of another answer to the user's last turn.

        Raises PlanError if there is no user turn yet.
        """
        if not self.history:
            msg = "there is no answer to regenerate; send a message first"
            raise PlanError(msg)
        if self.history[-1]["role"] == "assistant":
            self.history.pop()
        return self._answer()

    def reset(self, system: str | None = None) -> None:
        """Clear all turns; with `system`, set the system prompt."""
        self.history.clear()
        self.system = self.system if system is None else _encodable(system)

    def _answer(self) -> Generator[str, None, None]:
        try:
            ids = self._fitting()
        except PlanError:
            self.history.pop()
            raise
        self.n_answers += 1
        how = replace(self.how, seed=self.how.seed + self.n_answers - 1)
        room = min(self.max_tokens, self.model.context - len(ids) + 1)
        return self._stream(self.model.stream(ids, how, max_tokens=room, turn=True))

    def _stream(self, pieces: Generator[str, None, None]) -> Generator[str, None, None]:
        answer: Message = {"role": "assistant", "content": ""}
        self.history.append(answer)
        try:
            for piece in pieces:
                answer["content"] += piece
                yield piece
        finally:
            answer["content"] = answer["content"].strip()
            if not answer["content"] and self.history[-1:] == [answer]:
                self.history.pop()  # the next turn of the user then replaces the one that got no answer

    def _fitting(self) -> list[int]:
        """Return the ids of the system's turn and of the newest turns that leave half the context for the answer.

        If `max_tokens` is less than half the context, only this number of tokens is reserved for the answer. If a
        user's turn alone does not fit, its beginning is removed. The search begins at the newest turn, so the time
        depends on the turns that fit and not on the whole history; tests/twins/fitting.py is the slow reference.
        """
        system = [{"role": "system", "content": self.system}] if self.system else []
        most = self.model.context - min(self.max_tokens, self.model.context // 2)
        starts = [0]  # of the turns that may remain
        while starts[-1] < len(self.history) - 1:
            starts.append(starts[-1] + (1 if self.history[starts[-1]]["role"] == "assistant" else 2))
        first, last, step = 0, len(starts), 1  # the first start that fits is one of starts[first : last + 1]
        found: list[int] = []
        while first < last:
            middle = max((first + last) // 2, last - step)
            ids = self.model.prompt([*system, *self.history[starts[middle] :]])
            if len(ids) <= most:
                found, last, step = ids, middle, 2 * step
            else:
                first = middle + 1
        return found or self._cut(system, most)

    def _cut(self, system: list[Message], most: int) -> list[int]:
        """Return at most `most` ids: the system's turn, and the end of the last turn."""
        turn, token_bytes = self.history[-1], self.model.tok.token_bytes
        data, tokens = turn["content"].encode(), self.model.tok.encode(turn["content"])
        spare = most - len(self.model.prompt([*system, {**turn, "content": ""}]))
        while spare > 0:
            kept = int(token_bytes[tokens[-spare:]].sum())
            cut = data[-kept:].decode("utf-8", "ignore").lstrip()
            ids = self.model.prompt([*system, {**turn, "content": cut}])
            if len(ids) <= most:
                return ids
            spare -= len(ids) - most
        msg = (
            f"the system prompt is too long for this model, whose context is {self.model.context:,} tokens; shorten it "
            "with /system"
        )
        raise PlanError(msg)


def _encodable(text: str) -> str:
    """Return the text with lone surrogates, which have no UTF-8 encoding, replaced by question marks."""
    return text.encode("utf-8", "replace").decode()
