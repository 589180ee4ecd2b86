"""Preference tuning from JSON Lines: the pairs, the lines that are left out, and the command."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import dataprep as dp
from dataprep.errors import PlanError
from dataprep.inference.preferences import PreferenceLines, encode_preferences
from dataprep.tokens.templates import template_of
from dataprep.train import checkpoint
from dataprep.train.metrics import read

SMALL = ("--set", "steps=3", "--set", "device=cpu", "--set", "batch=4", "--set", "lr=1e-3", "--set", "eval_every=3")


def said(role, content):
    return {"role": role, "content": content}


def line(**row):
    return json.dumps(row, ensure_ascii=False)


def written(place, *lines):
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(place)


FORMS = [  # of one pair
    {"prompt": "and?", "chosen": "yes", "rejected": "no"},
    {"prompt": [said("user", "and?")], "chosen": [said("assistant", "yes")], "rejected": [said("assistant", "no")]},
    {"chosen": [said("user", "and?"), said("assistant", "yes")],
     "rejected": [said("user", "and?"), said("assistant", "no")]},
]  # fmt: skip


@pytest.fixture
def pairs(tmp_path):
    lines = (line(prompt=f"{i}?", chosen=f"نعم {i}", rejected=f"no {i}") for i in range(40))
    return written(tmp_path / "pairs.jsonl", *lines)


def test_every_form_of_a_pair_is_read():
    """Texts, messages after a prompt, and whole conversations are the same pair; earlier answers are not learned."""
    stages = [PreferenceLines(template=template_of("chatml"), side=side) for side in ("chosen", "rejected")]
    found = [[stage._read(line(**form)) for stage in stages] for form in FORMS]
    assert found[0] == found[1] == found[2]
    chosen, rejected = found[0]
    assert [(m["content"], m["weight"]) for m in chosen] == [("and?", 0), ("yes", None)]
    assert [(m["content"], m["weight"]) for m in rejected] == [("and?", 0), ("no", None)]
    talk = [said("user", "a"), said("assistant", "b"), said("user", "c")]
    longer = {"chosen": [*talk, said("assistant", "d")], "rejected": [*talk, said("assistant", "e")]}
    chosen = stages[0]._read(line(**longer))
    assert [m["weight"] for m in chosen] == [0, 0, 0, None]


def test_the_shards_are_pairs(trained, pairs, tmp_path):
    """Documents of one number have the same prompt in both sets, in the same split; only the answers are learned."""
    tok = dp.Tokenizer.load(trained["chatml"])
    sets = encode_preferences(pairs, trained["chatml"], tmp_path / "data", val=0.2)
    for split in ("train", "val"):
        sides = [sets[name].split(split) for name in ("chosen", "rejected")]
        assert len(sides[0]) == len(sides[1]) > 0
        for i in range(len(sides[0])):
            texts = [tok.decode(np.asarray(side.document(i))) for side in sides]
            number = texts[0].split("?")[0].split("\n")[-1]
            assert f"نعم {number}" in texts[0]
            assert f"no {number}" in texts[1]
    learned = np.concatenate(sets["chosen"].split("train").memmaps())[
        np.concatenate(sets["chosen"].split("train").masks()) == 1
    ]
    assert "?" not in tok.decode(learned)


BAD = {
    "not_json": ["{", "abc"],
    "no_pair": [
        "[]", line(prompt="a", chosen="b"), line(chosen="a", rejected="b"), line(prompt=3, chosen="a", rejected="b"),
        line(prompt="a", chosen=[said("user", "b")], rejected=[said("assistant", "c")]),
        line(prompt="a", chosen=[], rejected=[said("assistant", "c")]),
        line(chosen=[said("user", "a"), said("assistant", "b")], rejected=[said("user", "x"), said("assistant", "c")]),
    ],
    "no_answer": [line(prompt="a", chosen=" ", rejected="b")],
    "no_difference": [line(prompt="a", chosen="b", rejected="b")],
}  # fmt: skip


def test_lines_that_are_left_out(trained, tmp_path, caplog):
    """Each is counted once with its reason, and both sets have the same documents; a file of none is a sentence."""
    lines = [one for some in BAD.values() for one in some]
    file = written(tmp_path / "bad.jsonl", *lines, *(line(**form) for form in FORMS[:1]))
    with caplog.at_level(logging.WARNING, "dataprep"):
        sets = encode_preferences(file, trained["chatml"], tmp_path / "data", val=0.0)
    assert [len(s) for s in sets.values()] == [1, 1]
    assert caplog.text.count(f"{len(lines)} of {len(lines) + 1} lines are left out (no_pair 7, not_json 2") == 1
    for reason, some in BAD.items():
        stage = PreferenceLines(template=template_of("chatml"), side="rejected")
        assert {stage._read(one) for one in some} == {reason}
    with pytest.raises(PlanError, match=r'a line must be \{"prompt": "...", "chosen": "...", "rejected": "..."\}'):
        encode_preferences(written(tmp_path / "none.jsonl", *lines), trained["chatml"], tmp_path / "no")


def test_the_command_tunes_and_resumes(trained, pairs, tmp_path, dataprep):
    """`dataprep train pairs.jsonl --dpo 0.1`: from the file to a model, and the same command again changes nothing."""
    out = tmp_path / "dpo"
    command = ("train", pairs, "--init-from", trained["chatml"], "--out", out, "--dpo", "0.1", "--lora", "2", *SMALL)
    assert dataprep(*command)[0] == 0
    newest = checkpoint.found(out)[-1]
    content = checkpoint.load(newest)
    assert (content["config"]["dpo"], content["config"]["layout"], content["step"]) == (0.1, "cut", 3)
    assert [r["step"] for r in read(out / "metrics.jsonl") if "val_accuracy" in r] == [0, 3]
    before = newest.read_bytes()
    assert dataprep(*command)[0] == 0
    assert newest.read_bytes() == before
    shards = [f"{side}={out}/data/{side}/shards" for side in ("chosen", "rejected")]
    again = dataprep(
        "train", *shards, "--init-from", trained["chatml"], "--out", tmp_path / "again", "--dpo", "0.1", *SMALL
    )
    assert again[0] == 0, again[2]
    folder = str(Path(shards[0].split("=")[1]))
    wrong = dataprep("train", pairs, folder, "--init-from", trained["chatml"], "--out", tmp_path / "x", "--dpo", "0.1")
    assert wrong[0] == 1
    assert "must be a file of preferences like the others" in wrong[2]
