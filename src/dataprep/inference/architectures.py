"""The published architectures that an exported model can have, with their settings and their files.

Most are Llama with one more setting, and use Llama's weight names (`llama`); GPT-2 has its own names (`gpt2`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from torch import Tensor

from dataprep.errors import PlanError
from dataprep.train import GPT, ModelConfig

from . import deepseek, gemma, gpt2, llama, mixtral

SIZES = frozenset({
    "n_layers", "n_heads", "d_model", "context", "d_ff", "tied", "norm_eps", "dropout", "attention_dropout",
    "experts_used", "experts_shared", "balance", "router_z",
})  # fmt: skip
"""Settings of sizes, which are free in every architecture; dropouts are of training alone, and the last four have no
effect in a model without experts."""
ANY: Collection[Any] = frozenset({"any"})
"""All values of a setting by layer."""
OF_LLAMA = SIZES | {"n_kv_heads", "rope_base", "head_width", "rope_scaling", "rope_factor", "rope_context"}


class Architecture(NamedTuple):
    """A published architecture.

    Attributes:
        model_type: its name in config.json.
        wants: {setting: value} for the settings that differ from Llama's.
        free: settings that may have any value.
        by_layer: {setting that may differ between layers: the values that it may have; ANY for all}.
        fits: function that returns whether allowed settings fit each other.
        config: function that returns the content of config.json, without the ids that begin and end a text.
        weights: function that returns {name of a weight in the file: tensor}.
    """

    model_type: str
    wants: Mapping[str, Any]
    free: frozenset[str]
    config: Callable[[GPT], dict[str, Any]]
    weights: Callable[[GPT], dict[str, Tensor]]
    by_layer: Mapping[str, Collection[Any]] = {}
    fits: Callable[[ModelConfig], bool] = lambda _: True

    def unlike(self, config: ModelConfig) -> list[str]:
        """Return the settings of a model that this architecture does not support."""
        plain = asdict(ModelConfig()) | {**self.wants}
        every = asdict(config).items()
        return [f"{name}={value!r}" for name, value in every if not self._has(name, value, plain[name])]

    def _has(self, name: str, value: Any, plain: Any) -> bool:
        """Return whether a setting has an allowed value; `plain` is the one that it has if it is not free."""
        values = value if isinstance(value, tuple) else (value,)
        allowed = self.by_layer.get(name, ())
        if allowed is ANY or all(one in allowed for one in values):
            return True
        return not isinstance(value, tuple) and (value == plain or name in self.free)


def _like_llama(model_type: str, name: str, more: Callable[[ModelConfig], dict[str, Any]]) -> Callable[[GPT], Any]:
    """Return the function that makes config.json of an architecture with Llama's settings and further ones."""

    def config(model: GPT) -> dict[str, Any]:
        return llama.config_of(model) | {"architectures": [name], "model_type": model_type} | more(model.config)

    return config


def _windows(shape: ModelConfig) -> dict[str, Any]:
    """Return the settings of windows of Qwen 3."""
    layers = [shape.layer(i).sees for i in range(shape.n_layers)]
    reaches = [sees.reach for sees in layers if sees.reach]
    kinds = ["sliding_attention" if sees.reach else "full_attention" for sees in layers]
    return {
        "layer_types": kinds, "use_sliding_window": bool(reaches), "sliding_window": max(reaches, default=None),
        "max_window_layers": 0,
    }  # fmt: skip


PUBLISHED = (
    Architecture("llama", {}, OF_LLAMA, _like_llama("llama", "LlamaForCausalLM", lambda _: {}), llama.weights),
    Architecture(
        "llama", {"biases": "all"}, OF_LLAMA,
        _like_llama("llama", "LlamaForCausalLM", lambda _: {"attention_bias": True, "mlp_bias": True}), llama.weights,
    ),
    Architecture(
        "qwen2", {"biases": "qkv"}, OF_LLAMA - {"head_width"},
        _like_llama("qwen2", "Qwen2ForCausalLM", lambda _: {}), llama.weights,
    ),
    Architecture(
        "mistral", {"pattern": "window"}, OF_LLAMA | {"reach"},
        _like_llama("mistral", "MistralForCausalLM", lambda shape: {"sliding_window": shape.reach}), llama.weights,
    ),
    Architecture(
        "qwen3", {"qk_norm": True}, OF_LLAMA | {"reach"}, _like_llama("qwen3", "Qwen3ForCausalLM", _windows),
        llama.weights, {"pattern": ("all", "window")},
    ),
    Architecture(
        "gpt2", {"positions": "learned", "norm": "layer", "feed_forward": "gelu"}, SIZES | {"biases", "rope_base"},
        gpt2.config_of, gpt2.weights,
    ),
    Architecture(
        "gemma3_text", {"placement": "both", "qk_norm": True, "feed_forward": "geglu"},
        SIZES | {"n_kv_heads", "head_width", "reach", "softcap"}, gemma.config_of, gemma.weights,
        {"pattern": ("all", "window"), "rope_base": ANY}, gemma.fits,
    ),
    Architecture(
        "mixtral", {}, OF_LLAMA | {"experts"}, mixtral.config_of, mixtral.weights, fits=mixtral.fits,
    ),
    Architecture(
        "deepseek_v2", {"attention": "latent", "norm_eps": deepseek.EPS},
        SIZES - {"norm_eps"} | {"latent", "rotated_width", "head_width", "rope_base", "experts"},
        deepseek.config_of, deepseek.weights, fits=deepseek.fits,
    ),
)  # fmt: skip


def architecture_of(config: ModelConfig, where: object) -> Architecture:
    """Return the published architecture that has all parts of a model of this shape.

    - where: names the model in messages.

    Raises PlanError if there is none, with the settings that the most similar one does not have.
    """
    if any(layer.sees.reach == 1 for layer, _ in config.kinds()):
        msg = f"{where} has reach=1, with which transformers generates other text than it scores; export a larger one"
        raise PlanError(msg)
    fitting = [one for one in PUBLISHED if one.fits(config)]
    nearest = min(fitting, key=lambda one: len(one.unlike(config)))  # Llama, if several are as near
    if unlike := nearest.unlike(config):
        names = ", ".join(dict.fromkeys(one.model_type for one in PUBLISHED))
        msg = (
            f"{where} has {', '.join(unlike)}, which {nearest.model_type} does not have; export a model without these "
        )
        raise PlanError(msg + f"settings, or with those of another type ({names})")
    return nearest
