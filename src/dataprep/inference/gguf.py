"""Write a model as a GGUF file, which llama.cpp and the programs built on it open (extra `gguf`).

The file has the weights in float32, the tokenizer and the chat template. llama.cpp divides texts into words by rules
that it knows by name, so a tokenizer with another rule, such as the default `words`, cannot be written. In llama.cpp,
rotary positions rotate neighbouring channels of a head instead of its halves, so the rows of queries and keys are
reordered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from dataprep.errors import PlanError, need
from dataprep.tokens.vocabulary.formats import to_chars
from dataprep.tokens.vocabulary.library import LibraryTokenizer
from dataprep.tokens.vocabulary.patterns import machine_name
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from dataprep.train import GPT, ModelConfig

from . import llama

# Names of llama.cpp's rules that cut exactly as a pattern of ours, by the name of its machine and its way with digits.
# Its rule "gpt-4o" is left out, since it does not tell capitals with accents from small letters.
RULES = {("gpt2", "spaced runs"): "gpt-2", ("gpt4", "groups"): "dbrx", ("gpt4", "single"): "qwen2"}
NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip
LAYER = re.compile(r"model\.layers\.(\d+)\.(.+)\.weight")
GGUF = "model.gguf"
F32 = npt.NDArray[np.float32]


def check_gguf(tok: Tokenizer | None, where: object) -> None:
    """Raise PlanError unless llama.cpp can cut words like the tokenizer `tok`, and the extra is installed.

    - where: the model, for messages.
    """
    need("gguf", extra="gguf")
    if tok is None:
        msg = f"{where} has no tokenizer, which a GGUF file must have; copy the tokenizer.json of its shards there"
        raise PlanError(msg)
    if isinstance(tok, LibraryTokenizer):
        msg = f"{where} has a tokenizer from another library; export it without GGUF, and convert the folder with "
        raise PlanError(msg + "llama.cpp's convert_hf_to_gguf.py")
    if machine_name(tok.pattern) not in RULES:
        msg = f"{where} has a tokenizer whose pattern llama.cpp does not know ({tok.pattern!r}); train one with "
        raise PlanError(msg + 'pattern="gpt2", "gpt4" or "llama3", or export the model without GGUF')


def write_gguf(path: Path, model: GPT, tok: Tokenizer, stop: list[int], template: str | None) -> None:
    """Write the GGUF file `path`.

    `check_gguf` must have accepted the tokenizer.

    - stop: further ids that end an answer.
    - template: the chat template.
    """
    rule = RULES[machine_name(tok.pattern) or ("", "")]
    gguf = need("gguf", extra="gguf")
    shape = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.d_model)
    writer.add_block_count(shape.n_layers)
    writer.add_feed_forward_length(shape.ff_width)
    writer.add_head_count(shape.n_heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_rope_dimension_count(shape.d_head)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.norm_eps)
    writer.add_vocab_size(model.vocab_size)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    _add_tokenizer(gguf, writer, rule, tok, model.vocab_size)
    writer.add_bos_token_id(tok.eot)
    writer.add_eos_token_id(tok.eot)
    writer.add_add_bos_token(True)  # every text of the training begins with the separator
    for one in [i for i in stop if i != tok.eot][:1]:
        writer.add_eot_token_id(one)
    if template:
        writer.add_chat_template(template)
    for name, tensor in tensors(llama.weights(model), shape):
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(gguf: Any, writer: Any, rule: str, tok: Tokenizer, n_ids: int) -> None:
    """Add the tokens, each byte as one character, and the merges in their order."""
    names = {i: to_chars(token) for token, i in tok.vocab.items()}
    names |= {i: name for name, i in tok.special.items()}
    special, kinds = set(tok.special.values()), gguf.TokenType
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(rule)
    writer.add_token_list([names.get(i, f"<unused {i}>") for i in range(n_ids)])
    writer.add_token_types([
        kinds.CONTROL if i in special else kinds.NORMAL if i in names else kinds.UNUSED for i in range(n_ids)
    ])  # fmt: skip
    writer.add_token_merges([f"{to_chars(left)} {to_chars(right)}" for left, right in tok.merges])


def tensors(weights: Mapping[str, Tensor], shape: ModelConfig) -> Iterator[tuple[str, F32]]:
    """Yield (name in GGUF, tensor) of weights that have the names of Llama's files."""
    heads = {"attn_q": shape.n_heads, "attn_k": shape.kv_heads}
    for name, weight in weights.items():
        found = LAYER.fullmatch(name)
        part = NAMES[found[2] if found else name.removesuffix(".weight")]
        values: F32 = weight.detach().cpu().float().contiguous().numpy()
        if part in heads:
            halves = values.reshape(heads[part], 2, -1, values.shape[1])
            values = halves.swapaxes(1, 2).reshape(values.shape)
        yield f"blk.{found[1]}.{part}.weight" if found else f"{part}.weight", np.ascontiguousarray(values)
