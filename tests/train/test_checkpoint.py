import math
import re
import shutil
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import CorruptShard, DataprepError, NewerFormat, PlanError, StaleOutput  # noqa: E402
from dataprep.train import checkpoint, load_model, sample_text, train  # noqa: E402
from dataprep.train.begin import begin  # noqa: E402
from dataprep.train.optim import step_once  # noqa: E402


@pytest.fixture
def run(shards, config, tmp_path):
    """A folder with the checkpoints of steps 8 and 16 of a run of 20."""
    train(shards, out=tmp_path, config=config, stop_at=16, quiet=True)
    return tmp_path


def test_newest_are_kept(shards, config, tmp_path):
    """Older checkpoints go when a newer one is there, and no attempt is left behind."""
    train(shards, out=tmp_path, config=replace(config, save_every=3, keep_checkpoints=3), quiet=True)
    assert [p.name for p in checkpoint.found(tmp_path)] == [f"step-{n:08d}.pt" for n in (15, 18, 20)]
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".pt") == [".dataprep-journal", "metrics.jsonl"]
    shutil.copy(tmp_path / "step-00000015.pt", tmp_path / "step-00000012.pt")  # killed before it was deleted
    train(shards, out=tmp_path, config=replace(config, save_every=3, keep_checkpoints=3), quiet=True)
    assert [p.name for p in checkpoint.found(tmp_path)] == [f"step-{n:08d}.pt" for n in (15, 18, 20)]


def test_checkpoints_of_others_are_kept(shards, config, run):
    """A file that somebody put there, before or after the run's own checkpoints, is not deleted with them."""
    others = [run / f"step-{n:08d}.pt" for n in (1, 99_999_999)]
    for other in others:
        other.write_text("mine")
    train(shards, out=run, config=config, quiet=True)
    assert [other.read_text() for other in others] == ["mine", "mine"]
    assert [p.name for p in checkpoint.found(run) if p not in others] == ["step-00000016.pt", "step-00000020.pt"]


@pytest.mark.parametrize("name", ["metrics.jsonl", "tokenizer.json"])
def test_a_new_run_keeps_files_of_others(make_shards, config, tmp_path, name):
    """In a folder without a run, they are named before any work."""
    shards = make_shards(tmp_path / "shards")
    (shards.path / "tokenizer.json").write_text("ours")
    (tmp_path / name).write_text("mine")
    with pytest.raises(PlanError, match=f"{name} was not written by this run, so it is not removed; move it"):
        train(shards, out=tmp_path, config=config, quiet=True)
    assert (tmp_path / name).read_text() == "mine"


def test_starting_over_without_a_journal_keeps_files_of_others(make_shards, config, tmp_path):
    """A file with the name of a checkpoint, which dataprep cannot have written, makes nothing beside it ours."""
    shards, out = make_shards(tmp_path / "shards"), tmp_path / "out"
    out.mkdir()
    for name in ("step-00000007.pt", "metrics.jsonl"):
        (out / name).write_text("mine")
    for resume in (True, False, False):
        with pytest.raises((CorruptShard, PlanError), match="damaged" if resume else "was not written by this run"):
            train(shards, out=out, config=config, resume=resume, quiet=True)
    assert [(out / name).read_text() for name in ("step-00000007.pt", "metrics.jsonl")] == ["mine", "mine"]


def test_copied_checkpoints_without_a_journal_are_kept(shards, config, run):
    """The run goes on; what was there before the journal began is not deleted."""
    (run / ".dataprep-journal").unlink()
    (run / "step-00000001.pt").write_text("mine")
    before = {p.name for p in checkpoint.found(run)}
    train(shards, out=run, config=config, quiet=True)
    assert {p.name for p in checkpoint.found(run)} == {*before, "step-00000020.pt"}


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(shards, config, run, damage, caplog):
    """One sentence names the file and the one used instead; with none left, it ends the run. Loading does the same."""
    path = checkpoint.found(run)[-1]
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 255
    path.write_bytes({"cut": data[: len(data) // 2], "flip": data, "empty": b"", "text": b"hello"}[damage])
    assert load_model(run)[1]["step"] == 8
    assert train(shards, out=run, config=config, quiet=True).steps == 20
    assert [re.search(r"step-00000016\.pt: damaged .*using .*step-00000008.pt instead$", m) is not None
            for m in caplog.messages] == [True, True]  # fmt: skip
    assert [p.name for p in checkpoint.found(run)] == ["step-00000016.pt", "step-00000020.pt"]
    for path in checkpoint.found(run):
        path.write_bytes(b"")
    with pytest.raises(CorruptShard, match=r"step-00000020\.pt: damaged .*train again") as e:
        train(shards, out=run, config=config, quiet=True)
    assert "\n" not in str(e.value)


def test_a_file_that_runs_code_is_refused(tmp_path):
    """A pickle that calls a function is not a checkpoint, whatever its name."""
    path = tmp_path / "step-00000001.pt"
    torch.save({"format": 1, "model": print}, path)
    with pytest.raises(CorruptShard, match="UnpicklingError"):
        checkpoint.load(path)


BAD = (None, "x", -1, 10**30, [])


def places(value, at=()):
    """The path of each entry of nested dicts; of a list, that of its first one."""
    if at:
        yield at
    for name in value if isinstance(value, dict) else range(min(1, len(value))) if isinstance(value, list) else ():
        yield from places(value[name], (*at, name))


def changed(content, at, how):
    """The content with `how` in a place, or without the place if `how` is ...; nothing else is copied."""
    name, *rest = at
    new = content.copy()
    if rest:
        new[name] = changed(new[name], rest, how)
    elif how is ...:
        del new[name]
    else:
        new[name] = how
    return new


def test_content_of_another_form_is_refused_or_resumed(shards, config, run, monkeypatch):
    """Without each field, and with wrong values in it, down to the moments: one sentence, or a run that trains on."""
    path = checkpoint.found(run)[-1]
    good = torch.load(path, weights_only=True)
    first = begin(shards, run.with_name("new"), config)
    monkeypatch.setattr(checkpoint, "load", lambda path: checkpoint.checked(path, dict(stated)))
    refused = set()
    for at in places(good):
        if at[0] == "config" or at[:2] == ("optimizer", "param_groups"):
            continue  # the config's fields are tested with it; groups are not read
        if (at[0] == "model" and at[1:] not in {(), ("embedding.weight",)}) or (at[1:2] == ("state",) and any(at[2:3])):
            continue  # one weight and one parameter's moments stand for all
        for how in (..., *BAD):
            stated = changed(good, at, how)
            try:
                first.restore(path)
                load_model(path)
            except (CorruptShard, NewerFormat, StaleOutput):
                refused.add(at)
            else:
                step_once(first.model, first.optimizer, first.loader.rows(first.step), 1e-3, config)
    assert refused >= {("step",), ("guard", "ahead"), ("spikes", "recent"), ("optimizer", "state", 0, "exp_avg")}


def test_weights_that_are_not_finite_are_damage(shards, config, run, caplog):
    """The checkpoint before is used; with none left, one sentence names the weights."""
    older, newest = checkpoint.found(run)
    good = older.read_bytes()
    for path in (older, newest):
        content = torch.load(path, weights_only=True)
        content["model"]["embedding.weight"][3, 5] = math.nan
        torch.save(content, path)
    with pytest.raises(CorruptShard, match=r"the weights embedding\.weight are not all finite numbers"):
        load_model(run)
    older.write_bytes(good)
    assert train(shards, out=run, config=config, quiet=True).steps == 20
    assert "weights embedding.weight are not all finite numbers; using" in caplog.text


def test_a_full_disk_leaves_the_last_checkpoint(shards, config, run):
    """When the system takes no more bytes in the middle, one sentence says so and nothing half-written is left."""
    resource = pytest.importorskip("resource")
    before = {p.name: p.read_bytes() for p in checkpoint.found(run)}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))  # a checkpoint is eight times as large
    try:
        with pytest.raises(DataprepError, match=r"step-00000020\.pt: .*(full|large|space)") as e:
            train(shards, out=run, config=config, quiet=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "\n" not in str(e.value)
    assert {p.name: p.read_bytes() for p in run.glob("*.pt*")} == before
    assert sorted(p.name for p in run.glob(".*")) == [".dataprep-failure", ".dataprep-journal"]


def test_the_model_comes_back_alone(shards, config, run):
    """A folder gives the newest model, a file its own, each with the scores it had."""
    newest, saved = load_model(run)
    older, _ = load_model(checkpoint.found(run)[0])
    assert saved["step"] == 16
    assert not newest.training
    x = torch.arange(20)[None]
    assert torch.equal(newest(x), load_model(run)[0](x))
    assert not torch.equal(newest(x), older(x))


def test_no_checkpoint_says_so(tmp_path):
    """An empty folder and a missing file are told apart."""
    with pytest.raises(PlanError, match="must contain a checkpoint"):
        load_model(tmp_path)
    with pytest.raises(PlanError, match="does not exist"):
        load_model(tmp_path / "gone.pt")


def test_another_file_is_not_a_checkpoint(tmp_path):
    """It is not called damaged; a file with the name of a checkpoint is."""
    for name, error, sentence in (
        ("tokenizer.json", PlanError, "tokenizer.json is not a checkpoint; name the folder"),
        ("step-00000003.pt", CorruptShard, "damaged at BadZipFile"),
    ):
        (tmp_path / name).write_text("{}")
        with pytest.raises(error, match=sentence):
            load_model(tmp_path / name)


@pytest.mark.parametrize("wrong", ["nothing", "config", "vocabulary", "width", "layers", "end", "weights"])
def test_a_checkpoint_whose_numbers_are_wrong_is_one_sentence(run, tmp_path, wrong):
    """No model of a stated size is made before the stored weights are of that size."""
    content = checkpoint.load(checkpoint.found(run)[0])
    shape = content["config"]["model"]
    changed = {
        "config": {"config": {}}, "vocabulary": {"vocab_size": 10**12}, "end": {"eot": None}, "weights": {"model": {}},
        "width": {"config": content["config"] | {"model": shape | {"d_model": 2**30}}},
        "layers": {"config": content["config"] | {"model": shape | {"n_layers": 10**9}}},
    }  # fmt: skip
    given = {"format": 1} if wrong == "nothing" else content | changed[wrong]
    torch.save(given, tmp_path / "step-00000001.pt")
    with pytest.raises(CorruptShard, match=r"step-00000001.pt: not a checkpoint of this version"):
        load_model(tmp_path / "step-00000001.pt")


@pytest.mark.parametrize(
    ("newer", "sentence"),
    [
        ("format", r"has format 2, and this version of dataprep reads 1; install a newer dataprep"),
        ("config", r"has the setting twist, which this version of dataprep does not know; install a newer one"),
        ("model", r"has the setting model\.twist, which this version of dataprep does not know; install a newer one"),
    ],
)
def test_a_checkpoint_of_a_newer_dataprep_is_said(shards, config, run, newer, sentence):
    """It is neither called damaged, nor is an older one used in its place, which would lose its steps."""
    path = checkpoint.found(run)[-1]
    content = checkpoint.load(path)
    place = {"format": content, "config": content["config"], "model": content["config"]["model"]}[newer]
    place |= {"format": 2} if newer == "format" else {"twist": 1}
    torch.save(content, path)
    before = path.read_bytes()
    for call in (lambda: load_model(run), lambda: train(shards, out=run, config=config, quiet=True)):
        with pytest.raises(NewerFormat, match=sentence):
            call()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("context", 2**38, r"step-00000001.pt states context=[0-9,]+, which takes [\d,]+ GB of memory, and"),
        ("d_ff", 2**38, r"step-00000001.pt states [\d,]+ weights or more, but has [\d,]+; copy it again"),
        ("d_ff", 8, r"step-00000001.pt: its weights do not match its config \(size mismatch"),
        ("positions", "learned", r"step-00000001.pt: its weights do not match its config \(Missing key"),
    ],
)
def test_no_memory_is_asked_for_what_a_checkpoint_states(run, tmp_path, name, value, sentence):
    """The table of positions, and matrices whose sizes only the config states, are compared with what there is."""
    content = checkpoint.load(checkpoint.found(run)[0])
    content["config"]["model"][name] = value
    torch.save(content, tmp_path / "step-00000001.pt")
    with pytest.raises(CorruptShard, match="its config is not the one that was written with its weights"):
        load_model(tmp_path / "step-00000001.pt")
    checkpoint.save(tmp_path / "step-00000001.pt", content, keep=1)  # with the hash of that config
    with pytest.raises((PlanError, CorruptShard), match=sentence) as e:
        load_model(tmp_path / "step-00000001.pt")
    assert "\n" not in str(e.value)


def test_a_config_with_other_heads_is_not_that_of_the_weights(run, tmp_path):
    """All sizes are equal with twice as many heads, so that the weights alone do not tell."""
    content = checkpoint.load(checkpoint.found(run)[0])
    content["config"]["model"] |= {"n_heads": 8, "n_kv_heads": 4}
    torch.save(content, tmp_path / "step-00000001.pt")
    with pytest.raises(CorruptShard, match="its config is not the one that was written with its weights"):
        load_model(tmp_path / "step-00000001.pt")


@pytest.mark.parametrize("path", [None, 3, b"run"])
def test_paths_and_prompts_of_other_types_are_refused(shards, config, path):
    """One sentence each, before any work."""
    for name, call in (
        ("out", lambda: train(shards, out=path, config=config)),
        ("path", lambda: load_model(path)),
        ("prompt", lambda: sample_text("run", path)),
    ):
        with pytest.raises(PlanError, match=rf"^{name}={re.escape(repr(path))} must be a (path|text)"):
            call()
    if path is not None:
        with pytest.raises(PlanError, match="must be a path, as a text or a pathlib.Path"):
            train(shards, out="out/run", init_from=path)
