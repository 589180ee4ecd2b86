import pytest

torch = pytest.importorskip("torch")

from dataprep.train import GPT, ModelConfig, TrainConfig  # noqa: E402
from dataprep.train.optim import optimizer_of  # noqa: E402
from dataprep.train.roles import roles  # noqa: E402

MODEL = ModelConfig(n_layers=2, n_heads=2, d_model=32, context=16)


def test_every_parameter_of_the_model_has_a_role():
    """One embedding, the gains are norms, all else matrices."""
    found = roles(GPT(MODEL, 50))
    assert {n for n, role in found.items() if role == "embedding"} == {"embedding.weight"}
    assert {n for n, role in found.items() if role == "norm"} == {n for n in found if "norm" in n}
    assert set(found.values()) == {"embedding", "norm", "matrix"}
    assert found.keys() == dict(GPT(MODEL, 50).named_parameters()).keys()


class Gate(torch.nn.Module):
    """A gain with two dimensions, and a bias with one that is a matrix by its role."""

    def __init__(self, role):
        super().__init__()
        self.role, self.gain = role, torch.nn.Parameter(torch.ones(3, 4))


def test_decay_follows_the_role_and_not_the_shape():
    """A two-dimensional gain does not decay; the model's own groups are as they were."""
    model = GPT(MODEL, 50)
    model.gate = Gate("scalar")
    decayed, kept = optimizer_of(model, TrainConfig(model=MODEL, weight_decay=0.3)).param_groups
    assert any(p is model.gate.gain for p in kept["params"])
    assert len(decayed["params"]) + len(kept["params"]) == len(list(model.parameters()))
    assert (decayed["weight_decay"], kept["weight_decay"]) == (0.3, 0.0)


def test_a_module_without_a_role_is_refused():
    """Nothing is grouped by guess: a new module states its role."""
    model = GPT(MODEL, 50)
    model.gate = Gate("gate")
    with pytest.raises(TypeError, match=r"Gate.role is 'gate' and must be one of matrix, embedding"):
        roles(model)
