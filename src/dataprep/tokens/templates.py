"""Chat templates: the text that stands before, between and after the turns of a dialogue.

A template is rendered with a mark in place of each content and name, so that what people wrote is never read as
template: a `<|im_end|>` in a message stays text. Which roles follow each other decides the rest: each order is
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
MARK = re.compile(f"{OPEN}(-?\\d+){CLOSE}")

# Special tokens as templates write them: <|im_end|>, <start_of_turn>, DeepSeek's with wide bars.
SURE = re.compile(r"<\|[^|<>]+\|>|<\uff5c[^\uff5c<>]+\uff5c>|</?[a-z]+(?:_[a-z]+)+>")
ANY = re.compile(rf"{SURE.pattern}|</?[a-z]+>|\[/?[A-Z_]{{3,}}\]")  # and <s>, [INST], which some tokenizers spell out


@dataclass(frozen=True)
class Template:
    r"""How a dialogue is written: "course", "chatml", or the text of a Jinja chat template.

    course: `<|startoftext|>NAME<|separator|>...<|endoftext|>` a turn; NAME is the speaker's, "User" where unknown.
    chatml: `<|im_start|>ROLE\n...<|im_end|>\n` a turn. Jinja templates are those of `transformers`: they see
    `messages`, `bos_token`, `eos_token` and `add_generation_prompt`; bos and eos are those of the tokenizer's config.
    """

    source: str
    bos: str = ""
    eos: str = EOT

    def pieces(self, speakers: Speakers) -> tuple[str | int, ...]:
        """The text around the contents; turn i's content as the number i, its name as ~i."""
        return _pieces(self, speakers)


def template_of(given: str | os.PathLike[str] | Template) -> Template:
    """A template by name, by its Jinja text, or by a file: `.jinja`, or a `tokenizer_config.json` that holds one."""
    if isinstance(given, Template):
        return given
    text = os.fspath(given)
    if text in BUILT_IN or "{{" in text or "{%" in text:
        return Template(text)
    if not files.exists(text):
        msg = f"template={text!r} is none of {', '.join(BUILT_IN)}, no Jinja text and no file"
        raise PlanError(msg)
    with files.open_read(text) as f:
        found = f.read().decode()
    if not text.endswith(".json"):
        return Template(found)
    config = json.loads(found)
    if not isinstance(config.get("chat_template"), str):
        msg = "holds no chat_template"
        raise ReadError(msg, text)
    return Template(config["chat_template"], _named(config.get("bos_token"), ""), _named(config.get("eos_token"), EOT))


def _named(token: Any, default: str) -> str:
    """A special token as configs write it: its name, a dictionary that holds it, or nothing."""
    name = token.get("content") if isinstance(token, dict) else token
    return name if isinstance(name, str) else default


@functools.lru_cache(maxsize=4096)
def _pieces(template: Template, speakers: Speakers) -> tuple[str | int, ...]:
    source = template.source
    text = BUILT_IN[source](speakers) if source in BUILT_IN else _jinja(template, speakers)
    parts = MARK.split(text)
    numbers = [int(n) for n in parts[1::2] if not n.startswith("-")]
    if numbers != list(range(len(speakers))):
        msg = (
            f"the chat template does not write each of {len(speakers)} turns once and in order (it wrote "
            f"{numbers}); give one that keeps the contents as they are"
        )
        raise PlanError(msg)
    return tuple(int(part) if i % 2 else part for i, part in enumerate(parts) if part)


def _course(speakers: Speakers) -> str:
    names = [_mark(~i) if named else "User" for i, (_, named) in enumerate(speakers)]
    return "".join(f"<|startoftext|>{name}<|separator|>{_mark(i)}{EOT}" for i, name in enumerate(names))


def _chatml(speakers: Speakers) -> str:
    return "".join(f"<|im_start|>{role}\n{_mark(i)}<|im_end|>\n" for i, (role, _) in enumerate(speakers))


BUILT_IN = {"course": _course, "chatml": _chatml}


def _jinja(template: Template, speakers: Speakers) -> str:
    jinja2 = need("jinja2", extra="chat")  # a chat template comes with a model: it is run in a sandbox
    need("jinja2.sandbox", extra="chat")
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    refused: list[str] = []

    def raise_exception(message: str) -> None:
        refused.append(message)
        raise jinja2.TemplateError(message)

    environment.globals["raise_exception"] = raise_exception
    environment.filters["tojson"] = lambda value, **_: json.dumps(value, ensure_ascii=False)
    messages = [
        {"role": role, "name": _mark(~i) if named else None, "content": _mark(i)}
        for i, (role, named) in enumerate(speakers)
    ]
    try:
        text: str = environment.from_string(template.source).render(
            messages=messages, add_generation_prompt=False, bos_token=template.bos, eos_token=template.eos, tools=None
        )
    except jinja2.TemplateError as e:
        roles = ", ".join(role for role, _ in speakers[:6])
        msg = f"the chat template refuses turns of {roles}: {refused[0] if refused else e}"
        raise PlanError(msg) from e
    return text


def _mark(number: int) -> str:
    return f"{OPEN}{number}{CLOSE}"


def specials_of(template: Template, known: Sequence[str], *, marks: re.Pattern[str] = SURE) -> list[str]:
    """What looks like a special token in a template, and is none of the tokenizer's."""
    speakers: Speakers = (("user", False), ("assistant", False))
    text = "".join(piece for piece in template.pieces(speakers) if isinstance(piece, str))
    return sorted({m[0] for m in marks.finditer(text)} - set(known))
