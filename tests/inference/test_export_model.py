"""Models as Hugging Face folders: the same scores in `transformers`, and back."""

import json
import shutil
import sys
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

import dataprep as dp  # noqa: E402
from dataprep.errors import CorruptShard, PlanError, ReadError, StaleOutput  # noqa: E402
from dataprep.inference.chat_model import ChatModel  # noqa: E402
from dataprep.inference.export_model import chat_template, export_model  # noqa: E402
from dataprep.inference.model_files import write_tensors  # noqa: E402
from dataprep.inference.open_model import begin_with, open_model, tokenizer_of  # noqa: E402
from dataprep.store.atomic import whole  # noqa: E402
from dataprep.tokens.vocabulary.tokenizer import Tokenizer  # noqa: E402
from dataprep.train import GPT, ModelConfig, TrainConfig, checkpoint, load_model  # noqa: E402
from dataprep.train.start import hash_of  # noqa: E402
from killed import bytes_of, kills  # noqa: E402
from runs import PLAIN  # noqa: E402

TOK = Tokenizer.of_bytes(special="chatml")
CHAT = {"template": "chatml", "template_ends": None, "speakers": {"user": None, "assistant": None}}
SHAPES = {
    "tied": ModelConfig(n_layers=2, n_heads=4, n_kv_heads=2, d_model=32, context=24, rope_base=50_000.0),
    "untied": ModelConfig(n_layers=1, n_heads=2, d_model=32, context=24, d_ff=48, tied=False, norm_eps=1e-6),
}


def save(folder, shape, **more):
    """A run's folder with a random model, whose norms and scores are not those of a new one."""
    torch.manual_seed(0)
    config = TrainConfig(model=shape)
    model = GPT(shape, TOK.vocab_size)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    content = PLAIN | {
        "step": 5, "config": config.to_dict(), "vocab_size": TOK.vocab_size, "eot": TOK.eot, "chat": CHAT,
        "stop": sorted([TOK.eot, TOK.special["<|im_end|>"]]), "tokenizer": TOK.hash, "model": model.state_dict(),
    }  # fmt: skip
    folder.mkdir(parents=True)
    checkpoint.save(checkpoint.path_of(folder, 5), content | more, keep=1)
    TOK.save(folder / "tokenizer.json")
    return folder


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def run(request, tmp_path):
    """A trained model of each shape."""
    return save(tmp_path / "run", request.param)


def ids(length=20):
    """Random ids."""
    made = torch.randint(TOK.vocab_size, (2, length), generator=torch.Generator().manual_seed(1))
    made[0, :2] = torch.tensor([TOK.eot, TOK.special["<|im_start|>"]])
    return made


@torch.no_grad()
def test_transformers_gives_the_same_scores(run, tmp_path):
    """To 1e-4, from the folder alone; generation stops at the same ids."""
    transformers = pytest.importorskip("transformers")
    export_model(run, tmp_path / "hf")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf")
    ours, _ = load_model(run)
    expected = ours(ids())
    assert expected.std() > 0.3
    torch.testing.assert_close(model(ids()).logits, expected, atol=1e-4, rtol=1e-4)
    assert model.generation_config.eos_token_id == [TOK.eot, TOK.special["<|im_end|>"]]
    assert model.generation_config.bos_token_id == TOK.eot
    prompt = torch.tensor([[TOK.eot, 5, 6]])
    mine = dp_greedy(ours, prompt[0].tolist())
    theirs = model.generate(prompt, max_new_tokens=8, do_sample=False)[0, 3:].tolist()
    assert theirs[: len(mine)] == mine


def dp_greedy(model, prompt):
    """Eight ids of the best scores."""
    from dataprep.train import Sampling, generate

    return list(generate(model, prompt, Sampling(temperature=0), max_tokens=8, stop=[TOK.eot, 258]))


def test_transformers_gives_the_same_ids(run, tmp_path):
    """For text, and for a dialogue in the chat template, which begins with a separator."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("jinja2")
    export_model(run, tmp_path / "hf")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    text = "Salam, naïve  café \n 北"
    assert theirs(text)["input_ids"] == TOK.encode(text)
    assert theirs.decode(TOK.encode(text)) == text
    turns = [{"role": "user", "content": "hi"}]
    made = theirs.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
    assert made == "<|endoftext|><|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    for path in (run, tmp_path / "hf"):
        voice = ChatModel.load(path, device="cpu")
        assert theirs.apply_chat_template(turns, add_generation_prompt=True)["input_ids"] == voice.prompt(turns)
    assert theirs.eos_token_id == theirs.bos_token_id == TOK.eot


@torch.no_grad()
def test_an_exported_model_comes_back(run, tmp_path):
    """Weights bit for bit, the same ids that end a text, and the same files when it is exported again."""
    export_model(run, tmp_path / "hf")
    ours, saved = open_model(run)
    back, found = open_model(tmp_path / "hf")
    assert torch.equal(back(ids()), ours(ids()))
    assert (found["eot"], found["stop"], found["tokenizer"]) == (saved["eot"], saved["stop"], TOK.hash)
    export_model(tmp_path / "hf", tmp_path / "again")
    for file in (tmp_path / "hf").iterdir():
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes(), file.name
    export_model(run, tmp_path / "hf")  # in place of the earlier one


def test_training_begins_with_an_exported_model(run, tmp_path, dataprep):
    """`--init-from` takes a Hugging Face folder: the loss at the start is that of the run itself."""
    texts = tmp_path / "texts.jsonl"
    texts.write_text("".join(json.dumps({"text": f"{i} is a number, {i * i} is its square"}) + "\n" for i in range(60)))
    dp.encode(dp.read(texts), TOK, tmp_path / "shards", val=0.2)
    export_model(run, tmp_path / "hf")
    settings = ["--set", "steps=1", "--set", "lr=1e-12", "--set", "device=cpu"]
    for name in ("run", "hf"):
        code, _, said = dataprep(
            "train", tmp_path / "shards", "--init-from", tmp_path / name, "--out", tmp_path / f"by-{name}", *settings
        )
        assert code == 0, said
    first = [
        json.loads((tmp_path / f"by-{n}" / "metrics.jsonl").read_text().splitlines()[0])["val_loss"]
        for n in ("run", "hf")
    ]
    assert first[0] == first[1]


def test_the_command_exports(run, tmp_path, dataprep):
    """It prints the folder; an unknown model is one sentence."""
    code, said, _ = dataprep("export-model", run, "--out", tmp_path / "hf")
    assert (code, said.split()) == (0, [str(tmp_path / "hf")])
    assert {p.name for p in (tmp_path / "hf").iterdir()} - {".dataprep-journal"} == {
        "config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    }  # fmt: skip
    code, _, said = dataprep("export-model", tmp_path, "--out", tmp_path / "other")
    assert code == 1
    assert "must contain a checkpoint" in said


@torch.no_grad()
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_a_model_of_transformers_is_read(tied, tmp_path):
    """Its scores, from several files of bfloat16 or from one, and with more rows than the vocabulary has."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    shape = transformers.LlamaConfig(
        vocab_size=320, hidden_size=32, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-5, tie_word_embeddings=tied, eos_token_id=7,
        initializer_range=0.3, rope_parameters={"rope_type": "default", "rope_theta": 30_000.0},
    )  # fmt: skip
    theirs = transformers.LlamaForCausalLM(shape).eval()
    theirs.save_pretrained(tmp_path / "one")
    theirs.to(torch.bfloat16).save_pretrained(tmp_path / "many", max_shard_size="10KB")
    assert (tmp_path / "many" / "model.safetensors.index.json").exists()
    for name in ("one", "many"):
        loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / name, dtype=torch.float32)
        ours, saved = open_model(tmp_path / name)
        torch.testing.assert_close(ours(ids()), loaded(ids()).logits, atol=1e-4, rtol=1e-4)
        assert (saved["vocab_size"], saved["eot"], saved["tokenizer"]) == (320, 7, "")
    TOK.save(tmp_path / "tok")
    for file in (tmp_path / "tok").iterdir():
        shutil.copy(file, tmp_path / "one")
    ours, saved = open_model(tmp_path / "one")
    assert (saved["vocab_size"], saved["eot"], saved["stop"]) == (TOK.vocab_size, TOK.eot, [7, TOK.eot])
    expected = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "one")(ids()).logits
    torch.testing.assert_close(ours(ids()), expected[..., : TOK.vocab_size], atol=1e-4, rtol=1e-4)


CHANGES = {
    "architecture": ({"model_type": "gpt2"}, "of type 'gpt2'; pass a model of type 'llama'"),
    "bias": ({"attention_bias": True, "hidden_act": "gelu"}, "hidden_act='gelu' instead of 'silu', attention_bias"),
    "rope": ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4}}, "rope_type='llama3' instead of 'def"),
    "head": ({"head_dim": 16}, r"has model.layers.0.self_attn.q_proj.weight of shape \(32, 32\), but config"),
    "missing": ({"hidden_size": None}, "config.json lacks a value or has a wrong one"),
    "shape": ({"intermediate_size": 64}, r"has model.layers.0.mlp.gate_proj.weight of shape \(128, 32\), but config"),
    "layers": ({"num_hidden_layers": 3}, "lacks model.layers.2.input_layernorm.weight and 8 more"),
    "fewer": ({"num_hidden_layers": 1}, "has besides Llama's model.layers.1.input_layernorm.weight and 8 more"),
    "huge": ({"num_hidden_layers": 10**9}, "hf states [0-9,]+ weights or more, but has [0-9,]+; copy it again"),
    "vocabulary": ({"vocab_size": 200}, "has 259 ids, but the model has 200 rows"),
}


@pytest.mark.parametrize(("change", "sentence"), CHANGES.values(), ids=CHANGES.keys())
def test_other_folders_are_refused(change, sentence, tmp_path):
    """An architecture that differs, or files that do not belong together, are one sentence each."""
    folder = tmp_path / "hf"
    export_model(save(tmp_path / "run", SHAPES["tied"]), folder)
    config = json.loads((folder / "config.json").read_text())
    with whole(folder / "config.json") as f:
        f.write(json.dumps(config | change).encode())
    with pytest.raises((PlanError, ReadError, CorruptShard), match=sentence):
        open_model(folder)


def test_damaged_folders_are_refused(tmp_path):
    """A truncated or missing file, and one that is not JSON."""
    whole_one = tmp_path / "hf"
    export_model(save(tmp_path / "run", SHAPES["tied"]), whole_one)
    for name, content, sentence in (
        ("model.safetensors", None, "must be safetensors"),
        ("model.safetensors", (whole_one / "model.safetensors").read_bytes()[:-7], "is not a complete safetensors"),
        ("config.json", b"{", "is missing or is not JSON"),
        ("config.json", b"[]", "is not a JSON object"),
        ("model.safetensors.index.json", b"{}", "has no weight_map"),
    ):
        shutil.copytree(whole_one, tmp_path / "bad")
        (tmp_path / "bad" / name).unlink(missing_ok=True)
        if content is not None:
            (tmp_path / "bad" / name).write_bytes(content)
        with pytest.raises(ReadError, match=sentence):
            open_model(tmp_path / "bad")
        shutil.rmtree(tmp_path / "bad")


def test_what_cannot_be_exported_is_refused(tmp_path):
    """A model that sees its whole prompt, a folder with other files, and another tokenizer."""
    prefix = TrainConfig(model=SHAPES["tied"], objective="prefix").to_dict()
    with pytest.raises(PlanError, match="attends to the whole prompt"):
        export_model(save(tmp_path / "prefix", SHAPES["tied"], config=prefix), tmp_path / "hf")
    run = save(tmp_path / "run", SHAPES["tied"])
    with pytest.raises(StaleOutput, match="run holds a trained model; choose another folder as out"):
        export_model(run, run)
    with pytest.raises(PlanError, match="out='' must be the path of a folder"):
        export_model(run, "")
    Tokenizer.of_bytes().save(run / "tokenizer.json")
    with pytest.raises(StaleOutput, match="is not the tokenizer of"):
        export_model(run, tmp_path / "hf")


def test_an_export_that_was_stopped_is_done_again(tmp_path, monkeypatch):
    """Without safetensors nothing is written; files of a stopped export are replaced, those of others are not."""
    run = save(tmp_path / "run", SHAPES["tied"])
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "safetensors", None)
        with pytest.raises(PlanError, match="this needs the package 'safetensors'"):
            export_model(run, tmp_path / "hf")
    assert not (tmp_path / "hf").exists()
    export_model(run, tmp_path / "hf")
    whole_one = (tmp_path / "hf" / "model.safetensors").read_bytes()
    (tmp_path / "hf" / "config.json").unlink()
    (tmp_path / "hf" / "model.safetensors").write_bytes(whole_one[:9])
    export_model(run, tmp_path / "hf")
    assert (tmp_path / "hf" / "model.safetensors").read_bytes() == whole_one
    (tmp_path / "hf" / ".dataprep-journal").unlink()
    with pytest.raises(PlanError, match="must be a new or empty folder"):
        export_model(run, tmp_path / "hf")  # as if the model had been downloaded
    assert (tmp_path / "hf" / "model.safetensors").read_bytes() == whole_one
    (tmp_path / "hf" / "config.json").unlink()
    (tmp_path / "hf" / "notes.txt").write_text("mine")
    with pytest.raises(PlanError, match="must be a new or empty folder"):
        export_model(run, tmp_path / "hf")


def test_a_killed_export_leaves_the_old_model_or_the_new_one(tmp_path, monkeypatch):
    """Killed at each rename and deletion: the folder opens with files that agree, and the rerun ends as a fresh one."""
    runs = [save(tmp_path / name, shape) for name, shape in SHAPES.items()]
    for name in SHAPES:
        export_model(tmp_path / name, tmp_path / f"{name}-hf")
    known, out, seen = [hash_of(open_model(run)[0]) for run in runs], tmp_path / "out", set()
    for _ in kills(monkeypatch, tmp_path / "tied-hf", out, lambda: export_model(runs[1], out)):
        model, saved = open_model(out)
        assert tokenizer_of(out, saved["tokenizer"]).hash == TOK.hash
        seen.add(known.index(hash_of(model)))
        export_model(runs[1], out)
        assert bytes_of(out) == bytes_of(tmp_path / "untied-hf")
    assert seen == {0, 1}


def test_an_export_that_fails_leaves_the_old_model(tmp_path, monkeypatch):
    """The last of the files cannot be written."""
    export_model(save(tmp_path / "run", SHAPES["tied"]), tmp_path / "hf")
    before = bytes_of(tmp_path / "hf")
    monkeypatch.setattr("dataprep.inference.llama.config_of", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export_model(save(tmp_path / "other", SHAPES["untied"]), tmp_path / "hf")
    assert bytes_of(tmp_path / "hf") == before


def test_chat_templates_of_other_formats():
    """`course` writes the person's name; a template of one's own keeps its text and its special tokens."""
    jinja2 = pytest.importorskip("jinja2")
    messages = [{"role": "user", "name": "Ilse", "content": "hi"}, {"role": "assistant", "content": "yes"}]

    def rendered(chat, prompt):
        text = chat_template(chat)
        return jinja2.Environment().from_string(text).render(messages=messages, add_generation_prompt=prompt)

    course = {"template": "course", "template_ends": ["", "<|endoftext|>"], "speakers": {"assistant": 'T"om'}}
    said = "<|endoftext|><|startoftext|>Ilse<|separator|>hi<|endoftext|>"
    said += "<|startoftext|>User<|separator|>yes<|endoftext|>"
    assert rendered(course, prompt=False) == said
    assert rendered(course, prompt=True) == said + '<|startoftext|>T"om<|separator|>'
    own = {"template": "{% for m in messages %}{{ bos_token }}{{ m['content'] }}{{ eos_token }}{% endfor %}"}
    own["template_ends"] = ["<s>", "</s>"]
    assert rendered(own, prompt=False) == "<|endoftext|><s>hi</s><s>yes</s>"
    assert chat_template(own).count("set bos_token") == 1
    bare = chat_template(own).removeprefix(begin_with("<|endoftext|>"))
    assert chat_template({"template": bare, "template_ends": ["<|x|>", "<|x|>"]}) == chat_template(own)
    assert chat_template(None) is None


@torch.no_grad()
def test_extra_tensors_of_old_files_are_left_out(tmp_path):
    """Tables of positions, and the head of a tied model."""
    export_model(save(tmp_path / "run", SHAPES["tied"]), tmp_path / "hf")
    from dataprep.inference.model_files import read_tensors

    tensors, _ = read_tensors(tmp_path / "hf" / "model.safetensors")
    before = open_model(tmp_path / "hf")[0](ids())
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(4)
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].clone()
    write_tensors(tmp_path / "hf" / "model.safetensors", tensors)
    assert torch.equal(open_model(tmp_path / "hf")[0](ids()), before)


def test_what_llama_has_not_is_refused(tmp_path):
    """Positions and a soft cap, with their names; nothing is written."""
    shape = replace(SHAPES["tied"], positions="alibi", softcap=20.0)
    run = save(tmp_path / "run", shape)
    said = "run has positions='alibi', softcap=20.0, which llama does not have; export a model without"
    with pytest.raises(PlanError, match=said):
        export_model(run, tmp_path / "hf")
    assert not (tmp_path / "hf").exists()
