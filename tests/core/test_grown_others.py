"""JSON that is no record of a folder may grow, too, and a kill while it is replaced leaves the old or the new file."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dataprep.core.output import owned
from dataprep.errors import StaleOutput
from dataprep.filters.classifiers import models
from dataprep.filters.preset_folder import FORMAT, open_preset, seal_of
from dataprep.store import files, receipts
from killed import kills

LATER = {"a_later_field": {"x": [1]}, "zz_later": None}
BEGINS = ['{"format":1,"steps"', '{"accuracy"', '{"files"', '{"pat_str"']


@pytest.mark.parametrize("begin", BEGINS)
def test_a_file_with_a_field_more_may_be_replaced(tmp_path, begin) -> None:
    """Wherever the field is sorted; without a checksum, or without the fields of its kind, it is somebody else's."""
    record = {"accuracy": 1, "files": [], "format": 1, "pat_str": "", "steps": []}
    url = str(tmp_path / "a.json")
    files.write_state(url, record | LATER)
    owned.check_file(url, "a record", begin)
    refused = [lambda: files.write_json(url, record | LATER), lambda: files.write_state(url, LATER)]
    damage = files.read_state(url)
    refused.append(lambda: (tmp_path / "a.json").write_text(json.dumps({"checksum": "0" * 32, **damage})))
    for write in refused:
        write()
        with pytest.raises(StaleOutput, match=r"a.json exists and is not a record; choose another file$"):
            owned.check_file(url, "a record", begin)


def test_a_state_file_is_no_page(tmp_path) -> None:
    """A beginning without fields allows no JSON."""
    files.write_state(str(tmp_path / "a.html"), LATER)
    with pytest.raises(StaleOutput, match="is not a page"):
        owned.check_file(str(tmp_path / "a.html"), "a page", "<!doctype html>")


def test_the_description_of_a_classifier(tmp_path) -> None:
    """Also while it describes two models."""
    (tmp_path / "m.bin").write_bytes(b"new")
    about = {"accuracy": 0.5, "model": models.file_hash(str(tmp_path / "m.bin")), **LATER}
    for before in ({}, {"before": {"accuracy": 0.1, "model": "0", **LATER}}):
        files.write_state(str(tmp_path / "m.bin.json"), about | before)
        assert models.description(str(tmp_path / "m.bin")) == about
    (tmp_path / "m.bin").write_bytes(b"old")
    assert models.description(str(tmp_path / "m.bin"))["accuracy"] == 0.1


def test_the_record_of_a_preset(tmp_path) -> None:
    """Its seal covers the fields of a later version, too."""
    record = {"format": FORMAT, "files": {}, **LATER}
    files.write_json(str(tmp_path / "preset.json"), record | {"seal": seal_of(record)})
    assert open_preset("C4", tmp_path).items() >= LATER.items()


def test_a_receipt_of_work_that_is_not_a_part(tmp_path, monkeypatch) -> None:
    """As learned.json of a persona: its work is not done again, and a kill leaves the old content or the new."""
    home, out, seen = tmp_path / "old", tmp_path / "out", set()
    receipts.write(str(home / "learned.json"), "old", {"files": [], "words": {"a": 1}, **LATER})
    url = str(out / "learned.json")

    def again():
        return receipts.once(url, "new", lambda: {"files": [], "words": {"b": 2}})

    for _ in kills(monkeypatch, home, out, again):
        seen.add(found := files.read_state(url)["key"])
        assert receipts.once(url, found, lambda: pytest.fail("it is made again"))["words"]
        again()
        assert files.read_state(url) == {"files": [], "key": "new", "words": {"b": 2}}
    assert seen == {"old", "new"}
    files.write_state(url, files.read_state(url) | LATER)
    assert receipts.once(url, "new", lambda: pytest.fail("it is made again"))["words"] == {"b": 2}


def test_a_training_run(tmp_path) -> None:
    """Rows of its metrics, and its checkpoints, have a field more, and it is resumed as if they had not."""
    torch = pytest.importorskip("torch")
    from dataprep.tokens.shards.writer import save
    from dataprep.train import ModelConfig, TrainConfig, load_model, train
    from dataprep.train.start import hash_of

    shards = save(tmp_path / "shards", {"train": [[1, 2, 3] * 9] * 40, "val": [[1, 2]] * 9}, vocab_size=9, eot=8)
    shape = ModelConfig(n_layers=1, n_heads=2, d_model=16, context=8)
    config = TrainConfig(model=shape, layout="contiguous", steps=4, batch=2, warmup=1, device="cpu", save_every=2)
    ends = []
    for out in (tmp_path / "plain", tmp_path / "grown"):
        train(shards, out=out, config=replace(config, log_every=1), stop_at=2, quiet=True)
        if out.name == "grown":
            rows = [json.loads(line) | LATER for line in (out / "metrics.jsonl").read_text().splitlines()]
            (out / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            (at,) = out.glob("step-*.pt")
            torch.save(torch.load(at, weights_only=True) | LATER, at)
        done = train(shards, out=out, config=replace(config, log_every=1), quiet=True)
        lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        ends.append((hash_of(load_model(out)[0]), done.val_loss, [row["step"] for row in lines]))
    assert ends[0] == ends[1]
