"""Export a trained model as a Hugging Face folder, which `transformers` opens."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dataprep.core.output import kinds
from dataprep.core.output.layout import folder_url
from dataprep.errors import PlanError
from dataprep.store import files, lease
from dataprep.tokens.vocabulary.formats import CHATML
from dataprep.tokens.vocabulary.library import LibraryTokenizer
from dataprep.tokens.vocabulary.special import EOT
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from dataprep.train.start import Loaded

from .adapter import add_adapter
from .architectures import PUBLISHED, Architecture, architecture_of
from .gguf import GGUF, check_gguf, write_gguf
from .model_files import new_folder, read_json, write_json, write_tensors
from .open_model import CONFIG, WEIGHTS, begin_with, open_model, tokenizer_file, tokenizer_of

log = logging.getLogger("dataprep")
COURSE = (
    "{% for m in messages %}<|startoftext|>{{ m['name'] or 'User' }}<|separator|>{{ m['content'] }}<|endoftext|>"
    "{% endfor %}{% if add_generation_prompt %}<|startoftext|>{{ NAME }}<|separator|>{% endif %}"
)


@lease.writes
def export_model(
    model: str | os.PathLike[str], out: str | os.PathLike[str], *, adapter: str | os.PathLike[str] | None = None,
    gguf: bool = False,
) -> str:  # fmt: skip
    """Write a trained model to the folder `out` in Hugging Face's format, and return the folder.

    The folder has model.safetensors (float32), config.json of the type that has the model's parts (llama, qwen2, qwen3,
    mistral or gpt2; see `architectures`), generation_config.json, the tokenizer's files
    and, for a model of dialogues, its chat template.

    - model: the folder of a run, a checkpoint or a Hugging Face folder; the low-rank updates of a LoRA run are added to
      its weights.
    - adapter: the folder of a LoRA adapter to add.
    - gguf: whether to also write model.gguf, for llama.cpp, in float32.

    Raises PlanError if no such type has the model's parts, if the adapter was trained on another base, if llama.cpp
    does not support the tokenizer's rule for cutting words, or if `out` has other files. An earlier export in `out` is
    replaced when all files are complete.

    >>> export_model("out/tomas/model", "out/tomas/hf")
    """
    loaded = open_model(model)
    if loaded[0].n_labels:
        msg = f"{model} is a classifier, whose head Llama does not have; export the model that it was made from"
        raise PlanError(msg)
    if loaded[0].rule.prefix:
        msg = f"{model} was trained with an objective other than 'next': it attends to the whole prompt. "
        msg += "Llama does not; pass a model that was trained with objective='next'"
        raise PlanError(msg)
    architecture = architecture_of(loaded[0].config, model)
    if adapter is not None:
        add_adapter(loaded[0], adapter)
    tok = _tokenizer(loaded)
    if gguf:
        check_gguf(tok, model)
        if architecture is not PUBLISHED[0] or loaded[0].config.rope_factor != 1:
            msg = f"{model} has settings that Llama does not have, so it cannot be written as GGUF; leave gguf out"
            raise PlanError(msg)
    with new_folder(out, kinds.MODEL, CONFIG) as folder:
        _write(loaded, tok, folder, architecture, gguf=gguf)
    return folder_url(out)


def _write(loaded: Loaded, tok: Tokenizer | None, folder: Path, architecture: Architecture, *, gguf: bool) -> None:
    model, saved = loaded
    eot, stop = saved["eot"], sorted(saved.get("stop") or [saved["eot"]])
    if tok is not None:
        template = _write_tokenizer(loaded, tok, folder)
        if gguf:
            write_gguf(folder / GGUF, model, tok, stop, template)
    ends = {"bos_token_id": eot, "eos_token_id": stop}  # a pad_token_id in config.json would freeze its embedding
    sampled = {"pad_token_id": eot, "do_sample": True, "temperature": 0.8, "top_k": 50}
    write_json(folder / "generation_config.json", ends | sampled)
    write_tensors(folder / WEIGHTS, architecture.weights(model))
    write_json(folder / CONFIG, architecture.config(model) | ends)


def _tokenizer(loaded: Loaded) -> Tokenizer | None:
    """Return the tokenizer of a model; None, with a warning, if it has none."""
    path = Path(loaded[1]["path"])
    if not tokenizer_file(path).exists():
        log.warning("%s has no tokenizer.json, so the exported folder has no tokenizer", path)
        return None
    return tokenizer_of(path, loaded[1]["tokenizer"])


def _write_tokenizer(loaded: Loaded, tok: Tokenizer, folder: Path) -> str | None:
    """Write the tokenizer's files, and return the chat template."""
    model, saved = loaded
    written = tok.for_transformers() if isinstance(tok, LibraryTokenizer) else tok.written
    for name, content in written.items():
        files.write_bytes(str(folder / name), content)
    end = next(name for name, i in tok.special.items() if i == tok.eot)
    config = read_json(folder / "tokenizer_config.json") | {"model_max_length": model.config.context}
    config |= dict.fromkeys(("bos_token", "eos_token", "pad_token"), end)
    template = chat_template(saved.get("chat"), end)
    write_json(folder / "tokenizer_config.json", config | {"chat_template": template})
    return template


def chat_template(chat: Mapping[str, Any] | None, end: str = EOT) -> str | None:
    """Return the Jinja chat template of a model, or None if the model was not trained on dialogues.

    The rendered text begins with a separator, as the training rows do.

    Args:
        chat: the checkpoint's facts about dialogues: `template`, `template_ends` (its bos and eos), and the names of
            the `speakers` by role; None: no dialogues.
        end: the separator.
    """
    if not chat:
        return None
    values: dict[str, str] = dict(zip(("bos_token", "eos_token"), chat.get("template_ends") or (), strict=False))
    values["NAME"] = (chat.get("speakers") or {}).get("assistant") or "User"
    text: str = {"chatml": CHATML, "course": COURSE}.get(chat["template"], chat["template"])
    for name, value in values.items():
        if name in text and f"set {name} =" not in text:
            text = f"{{% set {name} = {json.dumps(value, ensure_ascii=False)} %}}{text}"
    return begin_with(end) + text
