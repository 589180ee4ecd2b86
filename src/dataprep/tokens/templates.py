"""Chat templates: the text before, between and after the turns of a dialogue.

A template is rendered with a placeholder for each content and name, so that messages are never parsed as parts of the
template: `<|im_end|>` in a message is text. The result depends only on the sequence of roles, so each sequence is
rendered once.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dataprep.errors import PlanError, ReadError, need
from dataprep.store import files
from dataprep.tokens.vocabulary.special import EOT

Speakers = tuple[tuple[str, bool], ...]  # the role of each turn, and whether it has a name
OPEN, CLOSE = "\ue000", "\ue001"  # around the number of a turn; private use, so that no template writes them
PLACEHOLDER = re.compile(f"{OPEN}(-?\\d+){CLOSE}")

# Special tokens as templates write them: <|im_end|>, <start_of_turn>, DeepSeek's with wide bars.
SURE = re.compile(r"<\|[^|<>]+\|>|<\uff5c[^\uff5c<>]+\uff5c>|</?[a-z]+(?:_[a-z]+)+>")
ANY = re.compile(rf"{SURE.pattern}|</?[a-z]+>|\[/?[A-Z_]{{3,}}\]")  # and <s>, [INST], which some tokenizers spell out


@dataclass(frozen=True)
class Template:
    r"""Format of a dialogue: "course", "chatml", or the text of a Jinja chat template.

    course: `<|startoftext|>NAME<|separator|>...<|endoftext|>` per turn; NAME is the speaker's name, or "User". chatml:
    `<|im_start|>ROLE\n...<|im_end|>\n` per turn. Jinja templates are those of `transformers`, with the variables
    `messages`, `bos_token`, `eos_token` and `add_generation_prompt`.

    Attributes:
        bos: the value of bos_token.
        eos: the value of eos_token.
    """

    source: str
    bos: str = ""
    eos: str = EOT

    def pieces(self, speakers: Speakers) -> tuple[str | int, ...]:
        """Return the template rendered for turns, as a sequence of texts and numbers.

        A number i of at least 0 represents the content of turn i; the number ~i (-1 - i) represents the name of its
        speaker.

        Args:
            speakers: for each turn, (role, whether it has a name).

        Raises PlanError if the template cannot render them.
        """
        return _pieces(self, speakers)


def template_of(given: str | os.PathLike[str] | Template) -> Template:
    """Return the template that `given` names: "course", "chatml", Jinja text, or the path of a file.

    A file is `.jinja`, or a `tokenizer_config.json` with a template. Raises PlanError if `given` is none of these, or
    is not UTF-8 or not JSON; ReadError if the JSON has no template.
    """
    if isinstance(given, Template):
        return given
    text = os.fspath(given)
    if text in BUILT_IN or "{{" in text or "{%" in text:
        return Template(text)
    if not files.exists(text):
        msg = f"template={text!r} must be {', '.join(BUILT_IN)}, Jinja text or a file"
        raise PlanError(msg)
    with files.open_read(text) as f:
        data = f.read()
    try:
        found = data.decode()
        config = json.loads(found) if text.endswith(".json") else None
    except ValueError as e:
        msg = f"template={text!r} must be a file of UTF-8 text with Jinja, or a tokenizer_config.json ({e})"
        raise PlanError(msg) from e
    if not text.endswith(".json"):
        return Template(found)
    if not isinstance(config, dict) or not isinstance(config.get("chat_template"), str):
        msg = "has no chat_template; pass a file that has one"
        raise ReadError(msg, text)
    return Template(config["chat_template"], _named(config.get("bos_token"), ""), _named(config.get("eos_token"), EOT))


def _named(token: Any, default: str) -> str:
    """Return the name of a special token in a config: a string, or a dictionary with `content`."""
    name = token.get("content") if isinstance(token, dict) else token
    return name if isinstance(name, str) else default


@functools.lru_cache(maxsize=4096)
def _pieces(template: Template, speakers: Speakers) -> tuple[str | int, ...]:
    source = template.source
    text = BUILT_IN[source](speakers) if source in BUILT_IN else _jinja(template, speakers)
    parts = PLACEHOLDER.split(text)
    numbers = [int(n) for n in parts[1::2] if not n.startswith("-")]
    if numbers != list(range(len(speakers))):
        msg = (
            f"the chat template does not write each of {len(speakers)} turns once and in order (it wrote "
            f"{numbers}); choose one that keeps the contents as they are"
        )
        raise PlanError(msg)
    return tuple(int(part) if i % 2 else part for i, part in enumerate(parts) if part)


def _course(speakers: Speakers) -> str:
    names = [_placeholder(~i) if named else "User" for i, (_, named) in enumerate(speakers)]
    return "".join(f"<|startoftext|>{name}<|separator|>{_placeholder(i)}{EOT}" for i, name in enumerate(names))


def _chatml(speakers: Speakers) -> str:
    return "".join(f"<|im_start|>{role}\n{_placeholder(i)}<|im_end|>\n" for i, (role, _) in enumerate(speakers))


BUILT_IN = {"course": _course, "chatml": _chatml}


def _jinja(template: Template, speakers: Speakers) -> str:
    jinja2 = need("jinja2", extra="chat")  # a chat template may come from others, so it runs in a sandbox
    need("jinja2.sandbox", extra="chat")
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    raised: list[str] = []

    def raise_exception(message: str) -> None:
        raised.append(message)
        raise jinja2.TemplateError(message)

    environment.globals["raise_exception"] = raise_exception
    environment.filters["tojson"] = lambda value, **_: json.dumps(value, ensure_ascii=False)
    messages = [
        {"role": role, "name": _placeholder(~i) if named else None, "content": _placeholder(i)}
        for i, (role, named) in enumerate(speakers)
    ]
    try:
        text: str = environment.from_string(template.source).render(
            messages=messages, add_generation_prompt=False, bos_token=template.bos, eos_token=template.eos, tools=None
        )
    except jinja2.TemplateError as e:
        roles = ", ".join(role for role, _ in speakers[:6])
        msg = f"the chat template rejects turns of {roles}: {raised[0] if raised else e}; choose another template"
        raise PlanError(msg) from e
    return text


def _placeholder(number: int) -> str:
    return f"{OPEN}{number}{CLOSE}"


def specials_of(template: Template, known: Sequence[str], *, pattern: re.Pattern[str] = SURE) -> list[str]:
    """Return the texts in a template that look like special tokens and are not in `known`, sorted.

    - pattern: regular expression that matches special tokens.
    """
    speakers: Speakers = (("user", False), ("assistant", False))
    text = "".join(piece for piece in template.pieces(speakers) if isinstance(piece, str))
    return sorted({m[0] for m in pattern.finditer(text)} - set(known))
