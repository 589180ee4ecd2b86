"""Small models that learned six exchanges by heart, in two templates, and one of plain text."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

torch = pytest.importorskip("torch")

import dataprep as dp  # noqa: E402
from dataprep.train import ModelConfig, TrainConfig, train  # noqa: E402

EXCHANGES = {
    "are you there?": "always", "is it cold?": "put on the other coat 🧥", "who is at the door?": "the cat, نعم",
    "what is for dinner?": "soup & <b>bread</b>", "shall we walk?": "after the rain", "good night": "sleep well",
}  # fmt: skip
SMALL = TrainConfig(
    model=ModelConfig(n_layers=1, n_heads=2, d_model=48, context=64), layout="bestfit", steps=150, batch=8, lr=1e-2,
    warmup=5, device="cpu", eval_every=150,
)  # fmt: skip


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Small models are faster on one thread, and tests run beside others."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def _turn(role, content, name, weight):
    return {"role": role, "name": name, "content": content, "weight": weight}


@pytest.fixture(scope="session")
def dialogues(tmp_path_factory):
    """A Dataset of 60 dialogues of two exchanges each: every exchange after every other."""
    place = tmp_path_factory.mktemp("dialogues")
    pairs = list(EXCHANGES.items())
    rows = []
    for first in pairs:
        for second in [*pairs, *pairs[:4]]:
            both = [(_turn("user", q, "Ilse", 0), _turn("assistant", a, "Tomas", 1)) for q, a in (first, second)]
            said = [turn for exchange in both for turn in exchange]
            rows.append({"text": " ".join(t["content"] for t in said), "messages": said})
    (place / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    kind = pa.list_(
        pa.struct([("role", pa.string()), ("name", pa.string()), ("content", pa.string()), ("weight", pa.int8())])
    )
    lift = dp.Map(lambda meta: {"messages": json.loads(meta)["messages"]}, adds={"messages": kind})
    return dp.Pipeline(lift).run(dp.read(str(place / "rows.jsonl")), out=str(place / "docs"))


@pytest.fixture(scope="session")
def trained(dialogues, tmp_path_factory):
    """Folders of models, by the template that they learned; None learned the text alone, in four steps."""
    out = tmp_path_factory.mktemp("models")
    tok = dp.train_bpe(dialogues, vocab_size=400, val=0.1, special=["course", "chatml"])
    made = {}
    for template in ("chatml", "course", None):
        shards = dp.encode(dialogues, tok, out / f"{template}-shards", val=0.1, template=template)
        config = SMALL if template else SMALL.override("steps=4")
        train(shards, out=out / str(template), config=config, quiet=True)
        made[template] = out / str(template)
    return made
