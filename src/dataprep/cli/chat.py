"""Commands to generate text with a trained model: chat, sample."""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from dataprep.errors import PlanError
from dataprep.unicode.valid import printable

FEW_TOKENS = 20_000_000  # models of a few million weights need more for sentences (TinyStories, Eldan and Li 2023)
ModelFolder = Annotated[str, typer.Argument(metavar="DIR", help="The folder of a trained model, or a checkpoint.")]
Temperature = Annotated[
    float, typer.Option(help="0: always the most probable token; 1: the model's own probabilities.")
]
TopK = Annotated[int | None, typer.Option(min=0, help="Sample only from the k most probable tokens; 0: from all.")]
TopP = Annotated[float, typer.Option(help="Sample only from the most probable tokens with a total probability of p.")]
MinP = Annotated[float, typer.Option(help="Sample only from tokens at least p times as probable as the best.")]
Penalty = Annotated[float, typer.Option(help="Above 1: tokens that occurred before become less probable.")]
Seed = Annotated[int | None, typer.Option(help="The same seed produces the same text; random by default.")]
MaxTokens = Annotated[int, typer.Option(min=1, help="Maximum number of tokens in an answer.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda ...")]


def chat(
    folder: ModelFolder,
    say: Annotated[
        list[str] | None, typer.Option(help="Print the answer to this message and exit; may be repeated.")
    ] = None,
    system: Annotated[str, typer.Option(help="System prompt.")] = "",
    template: Annotated[str | None, typer.Option(help="course, chatml or a file; default: that of the model.")] = None,
    temperature: Temperature = 0.8,
    top_k: TopK = 50,
    top_p: TopP = 1.0,
    min_p: MinP = 0.0,
    repetition_penalty: Penalty = 1.0,
    seed: Seed = None,
    max_tokens: MaxTokens = 200,
    device: Device = "auto",
    web: Annotated[bool, typer.Option("--web", help="Serve a web page for the conversation.")] = False,
    host: Annotated[
        str | None,
        typer.Option(
            help="With --web: the address to listen on; by default, only this machine has access.",
            show_default="127.0.0.1",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="With --web: the port; 0: any free port.", show_default="8000"),
    ] = None,
) -> None:
    """Chat with a model in the terminal; /help lists the commands. Lines from a pipe are answered too."""
    from dataprep.inference.chat_model import ChatModel
    from dataprep.inference.conversation import Conversation
    from dataprep.inference.terminal import chat as talk_in_terminal
    from dataprep.inference.terminal import replace_errors

    if web and say:
        msg = "--say prints answers and --web serves a page; use one of the two"
        raise PlanError(msg)
    alone = next((name for name, value in (("--host", host), ("--port", port)) if value is not None and not web), None)
    if alone:
        msg = f"{alone} has no effect without --web; add --web, or leave {alone} out"
        raise PlanError(msg)
    how = _sampling(
        temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, repetition_penalty=repetition_penalty, seed=seed
    )
    model = ChatModel.load(folder, template=template, device=device)
    if web:
        from dataprep.inference.web import ChatServer

        host, port = "127.0.0.1" if host is None else host, 8000 if port is None else port
        with ChatServer(model, how, max_tokens, system=system, host=host, port=port) as server:
            print(f"{server.url} - Ctrl-C ends", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                server.serve_forever()
        return
    talk = Conversation(model, how, max_tokens)
    talk.reset(system)
    if say is None:
        talk_in_terminal(talk)
    replace_errors(sys.stdout)
    for words in say or []:
        print("".join(talk.say(words)))


def generate(
    folder: ModelFolder,
    prompt: Annotated[list[str] | None, typer.Option(help="Text to continue; may be repeated.")] = None,
    temperature: Temperature = 0.8,
    top_k: TopK = 50,
    top_p: TopP = 1.0,
    min_p: MinP = 0.0,
    repetition_penalty: Penalty = 1.0,
    seed: Annotated[int, typer.Option(help="The same seed produces the same text.")] = 0,
    max_tokens: MaxTokens = 200,
    device: Device = "auto",
) -> None:
    """Print each prompt with a model's continuation, up to the end of the document or of the turn."""
    from dataprep.inference.chat_model import ChatModel
    from dataprep.inference.terminal import replace_errors

    how = _sampling(
        temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, repetition_penalty=repetition_penalty, seed=seed
    )
    model = ChatModel.load(folder, device=device)
    replace_errors(sys.stdout)
    for number, text in enumerate(prompt or [""]):
        print(("\n" if number else "") + printable(text), end="")
        for piece in model.stream([model.tok.eot, *model.tok.encode(text)], how, max_tokens=max_tokens):
            print(piece, end="", flush=True)
        print()
    sys.stderr.write(_why_fragments(model.saved))


def _why_fragments(saved: Mapping[str, Any]) -> str:
    """Return a hint for a model that cannot write sentences yet, from its checkpoint; "" for other models."""
    n = sum(found["tokens"] for found in saved.get("trained_on", {}).values())
    if not 0 < n < FEW_TOKENS or saved.get("start"):
        return ""
    return (
        f"this model was trained on only {n:,} tokens, so it writes fragments; for whole sentences, train a small "
        "model on some 100 million\n"
    )


def _sampling(**given: Any) -> Any:
    """Return the Sampling for the options; top_k 0 means None, and a seed of None means a random seed."""
    from dataprep.train import Sampling

    seed = secrets.randbelow(1 << 31) if given["seed"] is None else given["seed"]
    return Sampling(**{**given, "top_k": given["top_k"] or None, "seed": seed})
