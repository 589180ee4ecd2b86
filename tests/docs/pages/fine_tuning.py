"""What the code of docs/fine-tuning.md needs."""

import importlib.util
import json

from docs.pages import write
from fixtures.small_model import PAIRS, train_small

EXPORTS = importlib.util.find_spec("safetensors") is not None
LEFT = {} if EXPORTS else {"dataprep export-model": "safetensors, of the extra hf, is not installed"}
QUIET = dict.fromkeys(("dataprep train", "dp.train"), "the losses of a model differ between machines")


def prepare(here):
    """A base model, and a file of conversations."""
    train_small("out/base", "course")
    said = [[{"role": "user", "content": q}, {"role": "assistant", "content": a}] for q, a in PAIRS.items()]
    write("pairs.jsonl", [{"prompt": q, "chosen": a, "rejected": "No idea."} for q, a in PAIRS.items()] * 8)
    write("chats.jsonl", [{"messages": turns} for turns in said] * 8)


def check(here, names):
    """The folders have what the page says."""
    files = [json.loads((here / f"out/{name}/tokenizer.json").read_text()) for name in ("base", "tokenizer")]
    before, after = ([token["content"] for token in file["added_tokens"]] for file in files)
    assert set(after) - set(before) == {"<|im_start|>", "<|im_end|>"}
    if not EXPORTS:
        return
    config = json.loads((here / "out/hf/config.json").read_text())
    assert config["model_type"] == "llama"
    assert (here / "out/hf/model.safetensors").exists()
    assert {path.name for path in (here / "out/adapter").iterdir()} >= {
        "adapter_config.json",
        "adapter_model.safetensors",
    }
