"""Settings that contradict each other are refused, with a sentence that names them."""

import pytest

from dataprep.errors import PlanError
from dataprep.train.shape import ModelConfig


def shape(**more):
    """A small shape of two layers."""
    return ModelConfig(**{"n_layers": 2, "n_heads": 4, "d_model": 32, "context": 24, **more})


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"pattern": "window"}, "pattern='window' needs the number of inputs that it reaches; set reach"),
        (
            {"positions": ("learned", "rope")},
            "are added once, before the first layer",
        ),
        ({"pattern": ("all", "some")}, "pattern='some' must be all"),
        ({"reach": (3, 0)}, "reach=0 must be a whole number above 0"),
        ({"rope_base": (1e4, 0)}, "rope_base=0 must be a number from 1"),
        ({"feed_forward": ()}, "must have one value or more"),
        ({"reach": 4}, "reach, stride and sinks belong to a pattern, and all layers reach all inputs"),
        ({"pattern": "dilated", "reach": 4}, "pattern='dilated' needs the distance"),
        ({"rope_scaling": "yarn"}, "rope_scaling='yarn' and rope_factor=1.0 contradict each other"),
        ({"rope_scaling": "ntk", "rope_factor": 2, "positions": "none"}, "this layer has positions='none'"),
        ({"sinks": -1}, "sinks=-1 must be a whole number, 0 or more"),
        ({"attention": "latent"}, "attention='latent' and latent=None contradict each other"),
        ({"latent": 8}, "attention='heads' and latent=8 contradict each other"),
        ({"attention": ("linear", "heads"), "positions": "none", "latent": 8}, "latent=8 contradict each other"),
        ({"attention": ("heads", "latent")}, "attention='latent' and latent=None contradict each other"),
        ({"attention": "latent", "latent": 8, "n_kv_heads": 2}, "leave n_kv_heads and qk_norm out"),
        ({"attention": "linear"}, "attention='linear' has no scores, which positions='rope' change"),
        ({"attention": "linear", "positions": "none", "pattern": "window", "reach": 3}, "sums all keys"),
        ({"experts": 1}, "experts=1 must be at least experts_used=2"),
        ({"parallel": True, "placement": "post"}, "has one sum per block, .* set placement=pre"),
        ({"placement": ("pre", "post")}, "give all layers the same placement"),
        ({"head_width": 7}, "head_width=7 must be an even number"),
        ({"qk_norm": 1}, "qk_norm=1 must be True or False"),
        ({"dropout": 1}, "dropout=1 must be a number from 0 to 0.9"),
        ({"attention_dropout": 1}, "attention_dropout=1 must be a number from 0 to 0.9"),
        (
            {"attention_dropout": 0.1, "attention": "linear", "positions": "none"},
            "has no weights that attention_dropout=0.1 sets to 0",
        ),
        ({"softcap": 0}, "softcap=0 must be a number from 1"),
        ({"d_model": 33, "head_width": 8, "positions": "sinusoidal"}, "d_model=33 is odd"),
        ({"rope_base": (1e4, 1), "rope_scaling": "yarn", "rope_factor": 2.0}, "set rope_base above 1"),
        ({"norm": ("rms", "layer")}, r"norm=\('rms', 'layer'\) must be rms or layer"),
        ({"biases": ("none", "all")}, r"biases=\('none', 'all'\) must be none, "),
        ({"tied": (True, False)}, r"tied=\(True, False\) must be True or False"),
        ({"qk_norm": (True, False)}, r"qk_norm=\(True, False\) must be True or False"),
        ({"embedding_norm": (True,)}, r"embedding_norm=\(True,\) must be True or False"),
        ({"experts": 4, "experts_shared": (1, 2)}, r"experts_shared=\(1, 2\) must be a whole number"),
    ],
)
def test_contradictions_are_refused(more, sentence):
    """When they are written down, with a sentence."""
    with pytest.raises(PlanError, match=sentence):
        shape(**more)
