"""The part of a conversation that fits into a model's context, by leaving out one exchange after another."""

from __future__ import annotations


def fitting(talk, most):
    """The ids of the system's turn and of the newest turns, at most `most`; None if the last turn alone has more."""
    system = [{"role": "system", "content": talk.system}] if talk.system else []
    turns = list(talk.history)
    while True:
        ids = talk.model.prompt([*system, *turns])
        if len(ids) <= most:
            return ids
        if len(turns) == 1:
            return None
        del turns[: 1 if turns[0]["role"] == "assistant" else 2]
