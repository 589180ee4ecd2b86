"""A vocabulary that grows: new special tokens in a trained model, and tokenizers that do not extend another."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import PlanError  # noqa: E402
from dataprep.tokens.shards.writer import save  # noqa: E402
from dataprep.tokens.vocabulary.tokenizer import Tokenizer  # noqa: E402
from dataprep.train import ModelConfig, checkpoint, load_model, train  # noqa: E402
from dataprep.train.growth import difference  # noqa: E402

MERGES = [(b"a", b"b"), (b"ab", b"c")]
OLD = Tokenizer.from_merges(MERGES, special="<|reserved_0|>")
NEW = OLD.extended("chatml")


def shards_of(folder, tok, special=()):
    """Shards of random ids, in which the special tokens occur."""
    rng = np.random.default_rng(0)
    docs = [np.append(rng.integers(0, 256, 30), special) for _ in range(20)]
    made = save(
        folder, {"train": docs, "val": docs[:3]}, vocab_size=tok.vocab_size, eot=tok.eot,
        tokenizer={"hash": tok.hash}, token_bytes=tok.token_bytes,
    )  # fmt: skip
    tok.save(folder / "tokenizer.json")
    return made


@pytest.fixture(params=[True, False], ids=["tied", "untied"])
def base(request, config, tmp_path):
    """A trained model with the old vocabulary, and its config."""
    shape = ModelConfig(n_layers=1, n_heads=2, d_model=32, context=16, tied=request.param)
    config = replace(config, model=shape, steps=3)
    train(shards_of(tmp_path / "old", OLD), out=tmp_path / "base", config=config, quiet=True)
    return config


def test_new_tokens_begin_at_the_mean(base, tmp_path):
    """Old ids keep their embeddings and scores, new ones have the mean of them, and are then learned."""
    new = shards_of(tmp_path / "new", NEW, list(NEW.special.values()))
    still = replace(base, lr=1e-12, steps=1)
    train(new, out=tmp_path / "grown", config=still, init_from=tmp_path / "base", quiet=True)
    before, after = (load_model(tmp_path / name)[0] for name in ("base", "grown"))
    assert (before.vocab_size, after.vocab_size) == (OLD.vocab_size, OLD.vocab_size + 2)
    x = torch.randint(OLD.vocab_size, (2, 16), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(after(x)[..., : OLD.vocab_size], before(x))
    for name in ("embedding.weight", *([] if base.model.tied else ["head.weight"])):
        old, grown = (m.state_dict()[name] for m in (before, after))
        torch.testing.assert_close(grown[OLD.vocab_size : NEW.vocab_size], old[: OLD.vocab_size].mean(0).expand(2, -1))
    train(new, out=tmp_path / "learned", config=base, init_from=tmp_path / "base", quiet=True)
    learned = load_model(tmp_path / "learned")[0].embedding.weight
    assert not torch.equal(learned[OLD.vocab_size], learned[OLD.vocab_size + 1])


def test_lora_learns_new_tokens_only_with_the_embedding(base, tmp_path):
    """Without it the run is refused; with it, it resumes bit for bit, and projections stay frozen."""
    new = shards_of(tmp_path / "new", NEW, list(NEW.special.values()))
    lora = replace(base, lora=2, steps=4)
    with pytest.raises(
        PlanError, match=r"grows by 2, and lora would not learn .* set lora_targets=q_proj,.*,embedding"
    ):
        train(new, out=tmp_path / "a", config=lora, init_from=tmp_path / "base", quiet=True)
    both = lora.override("lora_targets=q_proj,embedding")
    train(new, out=tmp_path / "whole", config=both, init_from=tmp_path / "base", quiet=True)
    train(new, out=tmp_path / "parts", config=both, init_from=tmp_path / "base", stop_at=2, quiet=True)
    train(new, out=tmp_path / "parts", config=both, quiet=True)
    whole, parts = (checkpoint.load(checkpoint.found(tmp_path / n)[-1])["model"] for n in ("whole", "parts"))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    before, after = (load_model(tmp_path / name)[0].state_dict() for name in ("base", "whole"))
    assert not torch.equal(before["embedding.weight"][:9], after["embedding.weight"][:9])
    assert torch.equal(before["blocks.0.feed_forward.up.weight"], after["blocks.0.feed_forward.up.weight"])


@pytest.mark.parametrize(
    ("made", "clause"),
    [
        (lambda: OLD, ""),
        (lambda: NEW, ""),
        (lambda: NEW.renamed({"<|reserved_0|>": "<|tool|>"}), ""),
        (lambda: OLD.renamed({"<|reserved_0|>": "<|tool|>"}), ""),
        (
            lambda: Tokenizer(
                NEW.vocab, MERGES, {**NEW.special, "<|endoftext|>": 261, "<|x|>": 258, "<|im_end|>": 262}
            ),
            r"<|x|> at the id 258 of <|endof",
        ),
        (lambda: Tokenizer.from_merges(MERGES), r"no special token at the id 259 of <|reserved_0|>"),
        (lambda: Tokenizer.from_merges([*MERGES, (b"d", b"e")], special="<|reserved_0|>"), "other words"),
        (lambda: Tokenizer.from_merges([(b"a", b"b"), (b"ab", b"d")], special="<|reserved_0|>"), "other words"),
        (lambda: Tokenizer.from_merges(MERGES, special="<|reserved_0|>", pattern=r"\S+|\s+"), "other rules"),
    ],
    ids=["same", "more", "more and renamed", "renamed", "another end", "fewer", "more words", "words", "pattern"],
)
def test_what_extends_a_tokenizer(made, clause, tmp_path):
    """The same ids, and more special tokens after them; anything else is named."""
    OLD.save(tmp_path / "old.json")
    made().save(tmp_path / "new.json")
    found = difference(tmp_path / "new.json", tmp_path / "old.json", OLD.vocab_size)
    assert clause in found
    assert bool(clause) == bool(found)


def test_a_new_token_below_the_old_ids_is_refused(tmp_path):
    """A model may have more ids than its tokenizer; these are not free."""
    OLD.save(tmp_path / "old.json")
    NEW.save(tmp_path / "new.json")
    clause = difference(tmp_path / "new.json", tmp_path / "old.json", NEW.vocab_size)
    assert clause == f"its tokenizer has the new <|im_start|> at the id {OLD.vocab_size}, below {NEW.vocab_size}"
    (tmp_path / "old.json").write_text("{}")
    with pytest.raises(PlanError, match="old.json must be the tokenizer.json of a vocabulary"):
        difference(tmp_path / "new.json", tmp_path / "old.json", 5)


def test_shards_of_another_tokenizer_are_refused(base, tmp_path):
    """With the difference, and the command that extends a tokenizer; a smaller vocabulary too."""
    other = Tokenizer.from_merges([*MERGES, (b"d", b"e")], special="<|reserved_0|>")
    smaller = Tokenizer.from_merges(MERGES)
    for name, tok, clause in (
        ("o", other, "its tokenizer has other words"),
        ("s", smaller, "has 259 ids and must have 260"),
    ):
        with pytest.raises(PlanError, match=rf"{clause}.*extend-tokenizer"):
            train(
                shards_of(tmp_path / name, tok),
                out=tmp_path / "x",
                config=base,
                init_from=tmp_path / "base",
                quiet=True,
            )


def test_the_command_extends_a_tokenizer(tmp_path, dataprep):
    """All ids stay; new tokens follow, and those that exist are left out."""
    OLD.save(tmp_path / "old")
    code, said, _ = dataprep(
        "extend-tokenizer",
        tmp_path / "old",
        "--special",
        "chatml",
        "--special",
        "<|endoftext|>",
        "--out",
        tmp_path / "new",
    )
    assert code == 0, said
    found = Tokenizer.load(tmp_path / "new")
    assert found.special == {**OLD.special, "<|im_start|>": OLD.vocab_size, "<|im_end|>": OLD.vocab_size + 1}
    assert found.encode("abc") == OLD.encode("abc")
