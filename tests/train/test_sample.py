import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import PlanError  # noqa: E402
from dataprep.train import GPT, ModelConfig, Sampling, generate, sample_text, train  # noqa: E402

GREEDY = Sampling(temperature=0)


@pytest.fixture
def model():
    """An untrained model whose scores differ enough to rank."""
    torch.manual_seed(0)
    model = GPT(ModelConfig(n_layers=2, n_heads=2, d_model=32, context=16), 50).eval()
    torch.nn.init.normal_(model.embedding.weight, std=0.5)
    return model


@torch.no_grad()
def test_greedy_is_the_best_id_of_a_full_pass(model):
    """Each id made with the cache is the best one when everything before it is fed again."""
    ids = [3, 1, 4]
    for token in generate(model, [3, 1, 4], GREEDY, max_tokens=13):
        assert token == model(torch.tensor([ids]))[0, -1].argmax()
        ids.append(token)
    assert len(ids) == 16


@torch.no_grad()
def test_past_the_context_the_older_half_is_forgotten(model):
    """Generation goes on beyond the context, from what a window over the newest ids gives."""
    ids = [3, *generate(model, [3], GREEDY, max_tokens=40)]
    assert len(ids) == 41
    assert ids[16] == model(torch.tensor([ids[:16]]))[0, -1].argmax()
    assert ids[17] == model(torch.tensor([ids[9:17]]))[0, -1].argmax()
    long = list(range(40))
    assert next(generate(model, long, GREEDY)) == model(torch.tensor([long[-16:]]))[0, -1].argmax()


def draws(how, logits, n=4000):
    """Shares of the ids drawn from fixed scores."""
    generator = torch.Generator().manual_seed(0)
    counts = Counter(how.pick([torch.tensor(logits)], [generator], [[]])[0] for _ in range(n))
    return {i: c / n for i, c in sorted(counts.items())}


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (Sampling(), {0: 0.1, 1: 0.4, 2: 0.2, 3: 0.3}),
        (Sampling(temperature=0.5), {0: 1 / 30, 1: 16 / 30, 2: 4 / 30, 3: 9 / 30}),
        (Sampling(top_k=2), {1: 4 / 7, 3: 3 / 7}),
        (Sampling(top_k=9), {0: 0.1, 1: 0.4, 2: 0.2, 3: 0.3}),
        (Sampling(top_p=0.65), {1: 4 / 7, 3: 3 / 7}),
        (Sampling(top_p=0.75), {1: 4 / 9, 2: 2 / 9, 3: 3 / 9}),
        (Sampling(top_p=1e-6), {1: 1.0}),
        (Sampling(top_k=3, top_p=0.5), {1: 4 / 7, 3: 3 / 7}),
        (Sampling(temperature=0), {1: 1.0}),
        (Sampling(min_p=0.6), {1: 4 / 7, 3: 3 / 7}),
        (Sampling(min_p=0.45), {1: 4 / 9, 2: 2 / 9, 3: 3 / 9}),
        (Sampling(min_p=1), {1: 1.0}),
        (Sampling(min_p=0.3, top_k=2, temperature=2), {1: 0.536, 3: 0.464}),
    ],
)
def test_ids_are_drawn_at_their_rates(how, expected):
    """Over 4,000 draws the shares are those of the cut and rescaled distribution."""
    found = draws(how, torch.tensor([0.1, 0.4, 0.2, 0.3]).log().tolist())
    assert found.keys() == expected.keys()
    assert all(abs(found[i] - expected[i]) < 0.03 for i in expected)


def test_the_seed_decides_and_stop_ids_end(model):
    """The same seed gives the same ids; a stop id ends the text and is not part of it."""
    a, b, c = (list(generate(model, [1], Sampling(seed=s), max_tokens=30)) for s in (0, 0, 1))
    assert a == b != c
    assert list(generate(model, [1], Sampling(), max_tokens=30, stop=[a[5]])) == a[: a.index(a[5])]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"temperature": -1}, "temperature=-1 must be a finite number, 0 or more"),
        ({"top_k": 0}, "top_k=0 must be 1 or more"),
        ({"top_p": 0}, "top_p=0 must be above 0"),
        ({"temperature": float("nan")}, "temperature=nan must be a finite number"),
        ({"temperature": "hot"}, "temperature='hot' must be"),
        ({"top_k": 2.5}, "top_k=2.5 must be 1 or more"),
        ({"min_p": 1.5}, "min_p=1.5 must be from 0 to 1"),
        ({"repetition_penalty": 0}, "repetition_penalty=0 must be a finite number from 0.01"),
        ({"temperature": float("inf")}, "temperature=inf must be a finite number"),
        ({"repetition_penalty": float("inf")}, "repetition_penalty=inf must be a finite number"),
        ({"repetition_penalty": 1e300}, r"repetition_penalty=1e\+300 must be a finite number from 0.01 to 100"),
        ({"seed": -1}, "seed=-1 must be a whole number"),
    ],
)
def test_impossible_sampling_is_refused(wrong, sentence):
    """A parameter outside its range is refused when it is given."""
    with pytest.raises(PlanError, match=sentence):
        Sampling(**wrong)


@pytest.mark.parametrize("prompt", [[], [50], [-1]])
def test_impossible_prompts_are_refused(model, prompt):
    """No ids, or ids the model does not know, are refused at the call."""
    with pytest.raises(PlanError, match="the prompt .* must have at least one id, and all ids must be from 0 to 49"):
        generate(model, prompt)


@pytest.mark.parametrize("prompt", [[1.5], [math.nan], "ab", None, 5, [[1, 2]], [None]])
def test_prompts_that_are_no_ids_are_refused(model, prompt):
    """A text, numbers that are not whole; arrays and tensors of ids are fine."""
    with pytest.raises(PlanError, match="the prompt .* must be a list of token ids, which are whole numbers"):
        generate(model, prompt)
    how = Sampling(temperature=0)
    ids = [list(generate(model, p, how, max_tokens=2)) for p in ([3, 4], np.array([3, 4]), torch.tensor([3, 4]))]
    assert ids[0] == ids[1] == ids[2]


def test_text_from_a_run(make_shards, config, tmp_path):
    """A run's folder and a prompt are enough: its tokenizer.json travels with it; or functions are passed."""
    tokenizers = pytest.importorskip("tokenizers")
    words = [f"w{i}" for i in range(96)] + ["<|endoftext|>"]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: i for i, w in enumerate(words)}, "w0"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    shards = make_shards(tmp_path / "shards")
    tokenizer.save(str(shards.path / "tokenizer.json"))
    train(shards, out=tmp_path / "run", config=replace(config, steps=5), quiet=True)
    text = sample_text(tmp_path / "run", "w5 w6", max_tokens=12, temperature=0)
    assert 0 < len(text.split()) <= 12
    assert set(text.split()) <= set(words)
    plain = (lambda text: [int(w[1:]) for w in text.split()], lambda ids: " ".join(f"w{i}" for i in ids))
    assert sample_text(tmp_path / "run", "w5 w6", max_tokens=12, temperature=0, tokenizer=plain) == text
    (tmp_path / "run" / "tokenizer.json").unlink()
    with pytest.raises(PlanError, match=r"tokenizer\.json does not exist"):
        sample_text(tmp_path / "run", "w5")


@pytest.mark.parametrize("temperature", [1e-300, 1e-38, 1e-6, 1e-5])
def test_a_low_temperature_takes_the_best_id(temperature):
    """No score overflows, however large it is."""
    for logits in ([1.0, 3.0, 2.0], [1e30, 3e38, -3e38], [-3e38, -1e30, -2e38]):
        assert draws(Sampling(temperature=temperature), logits, 20) == {1: 1.0}


def test_a_high_temperature_takes_any_id():
    """At the highest number, all ids are equally probable."""
    assert draws(Sampling(temperature=1e300), [1.0, 30.0]) == pytest.approx({0: 0.5, 1: 0.5}, abs=0.03)
