"""Generation follows the rule of attention that the model was trained with, alone and in batches."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402

from dataprep.errors import DataprepError, PlanError  # noqa: E402
from dataprep.tokens.shards.shard import Shards  # noqa: E402
from dataprep.tokens.shards.writer import save  # noqa: E402
from dataprep.train import (  # noqa: E402
    GPT,
    ModelConfig,
    Sampling,
    TrainConfig,
    generate,
    generate_batch,
    generation,
    load_model,
    sample_text,
    train,
)
from dataprep.train.data.sets import stop_ids  # noqa: E402
from dataprep.train.generation import next_logits  # noqa: E402
from dataprep.train.model.masks import Mask  # noqa: E402
from dataprep.train.model.rules import Rule  # noqa: E402

EOT, GREEDY = 49, Sampling(temperature=0)
RULES = {
    "causal": Rule(), "prefix": Rule(prefix=True), "documents": Rule(begins=EOT),
    "prefixes of documents": Rule(prefix=True, begins=EOT),
}  # fmt: skip


@pytest.fixture(params=["rope", "learned"])
def positions(request):
    """The kinds of positions."""
    return request.param


@pytest.fixture(params=RULES.values(), ids=RULES.keys())
def model(request, positions):
    """An untrained model of each rule and kind of positions, with scores that differ enough to see a leak."""
    torch.manual_seed(0)
    shape = ModelConfig(n_layers=2, n_heads=4, n_kv_heads=2, d_model=32, context=16, positions=positions)
    made = GPT(shape, 50).eval()
    torch.nn.init.normal_(made.embedding.weight, std=0.5)
    made.rule = request.param
    return made


@torch.no_grad()
def full_scores(model, ids, n_prompt):
    """Scores of the next id from one pass over all ids under the mask of training, written out by the rule."""
    begins = torch.tensor([[i == 0 or (model.rule.begins is not None and t == EOT) for i, t in enumerate(ids)]])
    place = max(i for i, new in enumerate(begins[0].tolist()) if new)
    prefix = torch.tensor([[model.rule.prefix and place <= i < n_prompt for i in range(len(ids))]])
    return model(torch.tensor([ids]), mask=Mask.of(begins, prefix))[0, -1]


@torch.no_grad()
@pytest.mark.parametrize("prompt", [[3, 1, 4], [7], [5, EOT, 2, 9, 2], [EOT, 8, EOT], [6] * 15])
def test_cached_is_full_for_every_rule(model, prompt):
    """Each id drawn with the cache is the best one of a full pass under the mask of training."""
    ids = list(prompt)
    for token in generate(model, prompt, GREEDY, max_tokens=16 - len(prompt)):
        assert token == full_scores(model, ids, len(prompt)).argmax()
        ids.append(token)
    assert len(ids) == 16


@torch.no_grad()
def test_cached_scores_are_the_full_ones(model):
    """Not only the best id: all scores agree, for a prompt and for each id after it."""
    ids, cache = [4, EOT, 9, 3, 8], model.cache(1)
    seen = model.rule.visible(ids)
    new = {0: seen}
    for token in (7, 1, 6, 2):
        torch.testing.assert_close(next_logits(model, new, cache)[0], full_scores(model, ids, 5), atol=1e-5, rtol=1e-5)
        ids.append(token)
        new = {0: [token]}


@torch.no_grad()
def test_a_prefix_model_sees_its_whole_prompt():
    """The same weights answer otherwise if the prompt is read causally, as was done before."""
    torch.manual_seed(0)
    model = GPT(ModelConfig(n_layers=2, n_heads=4, d_model=32, context=16), 50).eval()
    torch.nn.init.normal_(model.embedding.weight, std=0.5)
    causal = next_logits(model, {0: [1, 2, 3, 4]}, model.cache(1))[0]
    model.rule = Rule(prefix=True)
    assert (next_logits(model, {0: [1, 2, 3, 4]}, model.cache(1))[0] - causal).abs().max() > 0.1


def test_a_batch_is_its_prompts_alone(model):
    """Prompts of unequal length, beyond the context, with stops at different times: the ids of each by itself."""
    prompts = [[3], [1, 4, EOT, 5, 9, 2, 6], list(range(40)), [8, 8], [EOT]]
    for how in (GREEDY, Sampling(seed=5, top_k=20, repetition_penalty=1.3)):
        stop = list(generate(model, prompts[0], how, max_tokens=6))[-1:]
        alone = [
            list(generate(model, p, replace(how, seed=how.seed + i), max_tokens=40, stop=stop))
            for i, p in enumerate(prompts)
        ]
        assert generate_batch(model, prompts, how, max_tokens=40, stop=stop) == alone
        assert len(alone[0]) < 6 < max(map(len, alone))
    assert generate_batch(model, []) == []


def test_rules_come_from_the_config():
    """Prefixes from the objective; separators begin documents only where rows are cut from a stream."""
    assert Rule.of(TrainConfig(), EOT) == Rule()
    assert Rule.of(TrainConfig(objective="prefix"), EOT).prefix
    assert Rule.of(TrainConfig(objective="span"), EOT).prefix
    assert Rule.of(TrainConfig(mask_documents=True), EOT).begins == EOT
    assert Rule.of(TrainConfig(layout="bestfit", mask_documents=True), EOT).begins is None


def test_the_rule_is_kept_with_the_model(shards, config, tmp_path):
    """A checkpoint of a prefix run decodes as one."""
    train(shards, out=tmp_path, config=config.override("objective=prefix"), stop_at=1, quiet=True)
    assert load_model(tmp_path)[0].rule == Rule(prefix=True)


def test_repeated_ids_lose_score():
    """Scores above 0 are divided and those below multiplied, of the ids in the text only."""
    logits = torch.tensor([2.0, 1.5, -1.0, -1.4])
    generator = torch.Generator()
    greedy = Sampling(temperature=0, repetition_penalty=2.0)
    assert greedy.pick([logits, logits, -logits], [generator] * 3, [[], [0, 0, 3], [3]]) == [0, 1, 2]
    assert greedy.pick([torch.tensor([-1.0, -1.5])], [generator], [[0]]) == [1]
    assert logits.tolist() == torch.tensor([2.0, 1.5, -1.0, -1.4]).tolist()


def test_ids_are_read_from_the_device_once_per_step(model, monkeypatch):
    """Three prompts of four ids cost four transfers for drawing, not one for each id."""
    calls, real = [], torch.Tensor.tolist
    monkeypatch.setattr(torch.Tensor, "item", lambda _: pytest.fail("an id was read alone"))
    monkeypatch.setattr(torch.Tensor, "__int__", lambda t: calls.append("int") or t.tolist())
    monkeypatch.setattr(torch.Tensor, "__bool__", lambda t: calls.append("bool") or t.tolist())
    monkeypatch.setattr(Sampling, "_draw", lambda *_: torch.tensor(1))
    monkeypatch.setattr(torch.Tensor, "tolist", lambda t: calls.append("list") or real(t))
    assert Sampling().pick([torch.zeros(4)] * 3, [torch.Generator()] * 3, [[]] * 3) == [1, 1, 1]
    assert calls == ["list"]
    monkeypatch.undo()
    generator = torch.Generator()
    hows = (Sampling(), Sampling(temperature=0), Sampling(top_k=2, top_p=0.9, min_p=0.1, repetition_penalty=1.2))
    monkeypatch.setattr(torch.Tensor, "__bool__", lambda _: pytest.fail("a draw waited for the device"))
    found = [how._draw(torch.arange(4.0), generator, [1]) for how in hows]
    assert all(isinstance(t, torch.Tensor) and t.ndim == 0 for t in found)


@pytest.mark.parametrize("how", [Sampling(temperature=0), Sampling(seed=3, top_k=20)], ids=["greedy", "drawn"])
def test_ids_that_are_drawn_ahead_are_those_drawn_one_by_one(model, monkeypatch, how):
    """As on a GPU: in groups of five, with stops inside a group, beyond the context; a transfer per group."""
    prompts = [[3], [1, 4, EOT, 5, 9, 2, 6], list(range(40)), [8, 8]]
    stop = generate_batch(model, prompts, how, max_tokens=7)[0][-1:]
    expected = generate_batch(model, prompts, how, max_tokens=43, stop=stop)
    assert len(expected[0]) < 7
    monkeypatch.setattr(generation, "n_ahead", lambda *_: 5)
    assert generate_batch(model, prompts, how, max_tokens=43, stop=stop) == expected
    calls, real = [], Sampling.read
    monkeypatch.setattr(Sampling, "read", staticmethod(lambda drawn: calls.append(len(drawn)) or real(drawn)))
    assert len(list(generate(model, [3], how, max_tokens=12))) == 12
    assert calls == [5, 5, 2]


def test_ids_are_drawn_ahead_where_nothing_depends_on_them(model):
    """Not on the CPU, nor with a repetition penalty or separators that begin documents."""
    plain = SimpleNamespace(device=torch.device("cuda"), rule=Rule())
    assert generation.n_ahead(plain, Sampling()) == generation.AHEAD > 1
    assert generation.n_ahead(plain, Sampling(repetition_penalty=1.1)) == 1
    assert generation.n_ahead(SimpleNamespace(device=plain.device, rule=Rule(begins=EOT)), Sampling()) == 1
    assert generation.n_ahead(model, Sampling()) == 1


def test_draws_are_those_of_torch(model):
    """The same ids from the same random numbers as by torch.multinomial, which waits for the device."""
    how, logits = Sampling(top_k=30), torch.randn(97, generator=torch.Generator().manual_seed(1))
    scores, ids = logits.sort(descending=True, stable=True)
    ours, theirs = (torch.Generator().manual_seed(5) for _ in range(2))
    for _ in range(200):
        expected = ids[torch.multinomial(scores[:30].softmax(-1), 1, generator=theirs)[0]]
        assert how.pick([logits], [ours], [[]]) == [int(expected)]


@pytest.mark.parametrize("n", [0, -3, 1.5, True])
def test_no_tokens_are_a_mistake(model, n):
    """A text without a token is not generated in silence."""
    for call in (lambda: generate(model, [1], max_tokens=n), lambda: generate_batch(model, [[1]], max_tokens=n)):
        with pytest.raises(PlanError, match=r"max_tokens=.* must be a whole number, 1 or more"):
            call()


def test_scores_that_are_no_numbers_are_refused(model):
    """A model with damaged weights is a sentence, not a draw."""
    with torch.no_grad():
        model.embedding.weight[3, 0] = float("nan")
    with pytest.raises(DataprepError, match="scores are not finite"):
        next(generate(model, [1]))


def dialogues(out, **more):
    """Shards of question (0-9), answer (10-19), end of turn (97), line feed (96), separator (98)."""
    rng = np.random.default_rng(0)
    docs, masks = [], []
    for _ in range(60):
        turns = int(rng.integers(1, 4))
        doc, learn = [], []
        for _ in range(turns):
            doc += [*rng.integers(0, 10, 3), 97, 96, *rng.integers(10, 20, 4), 97, 96]
            learn += [False] * 5 + [True] * 5 + [False]
        docs.append(doc)
        masks.append(np.array([*learn, True]))
    special = {"<|im_start|>": 95, "<|im_end|>": 97, "<|endoftext|>": 98}
    return save(
        out, {"train": docs, "val": docs[:5]}, vocab_size=99, eot=98, special=special,
        masks={"train": masks, "val": masks[:5]}, **more,
    )  # fmt: skip


def test_turns_end_where_the_loss_masks_say(make_shards, tmp_path):
    """Special tokens that are learned last end a text; without masks, or with others, the separator alone does."""
    assert stop_ids({"": dialogues(tmp_path / "a")}) == [97, 98]
    assert stop_ids({"x": make_shards(tmp_path / "b"), "y": make_shards(tmp_path / "c", masked=True)}) == [96]


def test_a_chat_model_stops_at_its_turn(config, tmp_path):
    """A model of dialogues ends its text after one answer, and checkpoints of before this still work."""
    shards = dialogues(tmp_path / "s")
    config = replace(config, steps=60, layout="bestfit", eval_every=100, save_every=100)
    train(Shards.open(shards.path), out=tmp_path / "run", config=config.override("model.context=48"), quiet=True)
    plain = (lambda text: [int(w) for w in text.split()], lambda ids: " ".join(map(str, ids)))
    text = sample_text(tmp_path / "run", "1 2 3 97 96", temperature=0, tokenizer=plain)
    assert 1 <= len(text.split()) <= 6
    assert all(10 <= int(word) < 20 for word in text.split())
    path = next((tmp_path / "run").glob("*.pt"))
    content = torch.load(path, weights_only=True)
    assert content["stop"] == [97, 98]
    torch.save({**content, "stop": []}, path)
    assert len(sample_text(tmp_path / "run", "1 2 3 97 96", temperature=0, tokenizer=plain).split()) > 6
