"""A call that fails over a finished result leaves it as it was, and the next right call replaces it.

A persona is a chain of such results, each of which is the whole old one or the whole new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import pytest

import dataprep as dp
from dataprep.core.output.state import MANIFESTS
from dataprep.errors import DataprepError
from dataprep.fit.language import fit_language
from fixtures.faults import Disk, contents

NAMES = (
    "dataset", "tokens", "suffix_index", "imported", "mixture", "tokenizer", "saved", "export", "preset", "trained",
    "model", "adapter",
)  # fmt: skip
CASES = [
    ("dataset", "function"),
    *((name, "damaged") for name in NAMES if name not in ("imported", "saved")),  # which read an export, or nothing
    *((name, error) for name in NAMES for error in ("full", "option")),
    *(("persona", error) for error in ("full", "option")),
]
JSONL = "*.jsonl"  # files that are replaced together


@dataclass(frozen=True)
class Writer:
    """One kind of result: functions that write into a folder, and a file that the second of them reads.

    old, new: write two results. wrong: as `new`, with an option that is refused. raises: as `new`, with a function that
    raises an error; None: it takes no function. reads: the file; "": it reads none.
    """

    old: Callable[[str], object]
    new: Callable[[str], object]
    wrong: Callable[[str], object]
    reads: str = ""
    raises: Callable[[str], object] | None = None


def fails(text: str) -> bool:
    """Fail at a late document."""
    return 1 / (0 if "Document 57" in text else 1) > 0


def upper(text: str) -> str:
    """Change each text."""
    return text.upper()


@pytest.fixture(scope="module")
def writers(tmp_path_factory) -> dict[str, Writer]:
    """All writers, and what they read."""
    place = tmp_path_factory.mktemp("made")
    at = place / "in.jsonl"
    lines = [json.dumps({"text": f"Document {i} walks by the river and finds {i * 7} stones."}) for i in range(60)]
    at.write_text("\n".join(lines))
    docs = dp.read(str(at))
    clean = dp.Pipeline().run(docs, str(place / "clean"))
    tok, other = dp.train_bpe(clean, 270, min_bytes=1), dp.train_bpe(clean, 280, min_bytes=1)
    shards = dp.encode(clean, other, str(place / "shards"), val=0.05)
    sealed, binary = str(next((place / "clean" / "data").glob("*.parquet"))), str(place / "shards" / "train-00000.bin")
    dp.tools.export(shards, "llmc", str(place / "exported"))

    def index(out, which):
        return dp.tools.SuffixIndex.build(which, out, replace=True)

    def mix(out, temperature):
        return dp.Mix(temperature=temperature).write({"web": str(shards.path)}, out, replace=True)

    def preset(out, order=3, size=200):
        pytest.importorskip("kenlm")
        return fit_language("mine", clean, clean, out=out, vocab_size=size, order=order, replace=True)

    half = dp.Pipeline(dp.Filter(lambda text: len(text) % 2 == 0, version="1")).run(docs, str(place / "half"))
    return models_in(place, shards, binary) | {
        "persona": persona_in(place),
        "dataset": Writer(
            lambda out: dp.Pipeline().run(clean, out, replace=True),
            lambda out: dp.Pipeline(dp.Map(upper), dp.Exact()).run(clean, out, replace=True),
            lambda out: dp.Pipeline(dp.Map(upper), dp.Exact(unit="n")).run(clean, out, replace=True),
            sealed,
            lambda out: dp.Pipeline(dp.Filter(fails)).run(clean, out, replace=True),
        ),
        "tokens": Writer(
            lambda out: dp.encode(clean, tok, out, val=0.05, replace=True),
            lambda out: dp.encode(clean, other, out, val=0.05, replace=True),
            lambda out: dp.encode(clean, other, out, val=2, replace=True),
            sealed,
        ),
        "suffix_index": Writer(
            lambda out: index(out, half),
            lambda out: index(out, clean),
            lambda out: index(f"nowhere://{out}", clean),
            sealed,
        ),
        "imported": Writer(
            lambda out: dp.encode(clean, tok, out, val=0.05, replace=True),
            lambda out: dp.tools.import_tokens(str(place / "exported"), str(place / "shards"), out, replace=True),
            lambda out: dp.tools.import_tokens(str(place / "none"), str(place / "shards"), out, replace=True),
        ),
        "mixture": Writer(lambda out: mix(out, 1), lambda out: mix(out, 2), lambda out: mix(out, -1), binary),
        "tokenizer": Writer(
            lambda out: dp.train_bpe(clean, 270, out=out, min_bytes=1),
            lambda out: dp.train_bpe(clean, 275, out=out, min_bytes=1),
            lambda out: dp.train_bpe(clean, -1, out=out, min_bytes=1),
            sealed,
        ),
        "saved": Writer(tok.save, other.save, lambda out: dp.train_bpe(clean, 3, out=out)),
        "export": Writer(
            lambda out: dp.tools.export(str(shards.path), "llmc", out),
            lambda out: dp.tools.export(str(shards.path), "nanogpt", out),
            lambda out: dp.tools.export(str(shards.path), "none", out),
            binary,
        ),
        "preset": Writer(preset, lambda out: preset(out, size=220), lambda out: preset(out, order=-1), sealed),
    }


def persona_in(place):
    """The writer of a persona."""
    chat, key_file = place / "chat.txt", place / "people.key"
    key_file.write_text("ab" * 32)
    said = [f"the ferry leaves at {n % 12} and the bridge of {n * 7} stones is old" for n in range(160)]
    chat.write_text("".join(
        f"{1 + n // 40:02}/03/2024, {8 + n // 4 % 10:02}:{n % 4:02} - {('Ilse Varga', 'Noor Telle')[n % 2]}: {text}\n"
        for n, text in enumerate(said)
    ))  # fmt: skip

    def persona(out, vocab_size=300, context=2, val=0.2):
        given = {"vocab_size": vocab_size, "context": context, "val": val, "max_length": 256, "key_file": str(key_file)}
        return dp.chats.persona(str(chat), "Ilse Varga", out, **given)

    return Writer(
        persona,
        lambda out: persona(out, vocab_size=320, context=1),
        lambda out: persona(out, vocab_size=320, val=2),
    )


def models_in(place, shards, binary):
    """The writers of models."""
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    from dataprep.inference.adapter import export_adapter
    from dataprep.inference.export_model import export_model
    from dataprep.train import ModelConfig, TrainConfig, train

    shape = ModelConfig(n_layers=1, n_heads=2, d_model=16, context=16)
    config = TrainConfig(model=shape, layout="contiguous", steps=1, batch=2, warmup=1, device="cpu")

    def trained(out, **options):
        train(shards, out=out, config=replace(config, **options), quiet=True, resume=False)

    for name, steps in (("one", 1), ("two", 2)):
        trained(place / name, steps=steps)
        tuned = replace(config, lora=2, steps=steps)
        train(shards, out=place / f"tuned-{name}", config=tuned, init_from=place / name, quiet=True)

    def checkpoint(name):
        return str(next((place / name).glob("step-*.pt")))

    return {
        "trained": Writer(trained, lambda out: trained(out, steps=2), lambda out: trained(out, batch=-1), binary),
        "model": Writer(
            lambda out: export_model(place / "one", out),
            lambda out: export_model(place / "two", out),
            lambda out: export_model(place / "none", out),
            checkpoint("two"),
        ),
        "adapter": Writer(
            lambda out: export_adapter(place / "tuned-one", out),
            lambda out: export_adapter(place / "tuned-two", out),
            lambda out: export_adapter(place / "none", out),
            checkpoint("tuned-two"),
        ),
    }


@contextlib.contextmanager
def damaged(path):
    """Take the second half of a file away inside the `with` block."""
    with open(path, "rb") as f:
        data = f.read()
    os.truncate(path, len(data) // 2)
    try:
        yield
    finally:
        with open(path, "wb") as f:
            f.write(data)


def fail(error, writer, out, spare) -> None:
    """Call the second writer so that it fails; spare: a folder to count its calls."""
    if error == "full":
        shutil.copytree(out, spare)
        whole = Disk(str(spare))
        with whole.mounted():
            writer.new(str(spare))
        disk = Disk(str(out), error, whole.calls // 2)
        with disk.mounted(), pytest.raises(DataprepError, match="disk is full"):
            writer.new(str(out))
        return
    calls = {"function": writer.raises, "option": writer.wrong, "damaged": writer.new}
    with damaged(writer.reads) if error == "damaged" else contextlib.nullcontext(), pytest.raises(DataprepError):
        calls[error](str(out))


def result_of(out):
    """The files of a result, without the unfinished work."""
    return visible(contents(out))


def visible(files):
    """Those of the files that are not unfinished work."""
    return {name: data for name, data in files.items() if not re.search(r"(^|/)[_.]", name)}


def parts_of(files):
    """The files of each result of a persona: those that its manifest names, if it has one."""
    found = {}
    for file, data in files.items():
        part = JSONL if re.fullmatch(r"\w+\.jsonl|receipt\.json", file) else file.partition("/")[0]
        found.setdefault(part, {})[file] = data
    for part, own in found.items():
        if data := own.get(f"{part}/manifest.json"):
            stated = json.loads(data)
            names = {"manifest.json", *MANIFESTS[stated["kind"]].of(stated, part).names()}
            found[part] = {file: data for file, data in own.items() if file.partition("/")[2] in names}
    return found


@pytest.fixture(scope="module")
def replaced(writers, tmp_path_factory):
    """Return the files of a second result of a name, written over the first; the files of each name are made once."""

    @cache
    def files(name):
        out = tmp_path_factory.mktemp(name) / "out"
        writers[name].old(str(out))
        writers[name].new(str(out))
        return contents(out)

    return files


@pytest.mark.parametrize(("name", "error"), CASES)
def test_the_result_stays_and_the_next_call_replaces_it(writers, replaced, tmp_path, name, error) -> None:
    """Byte for byte; after the next right call the folder is the one of a call without a failed one before."""
    writer, out, wanted = writers[name], tmp_path / "out", replaced(name)
    writer.old(str(out))
    before = result_of(out)
    fail(error, writer, out, tmp_path / "spare")
    after = result_of(out)
    if (name, error) == ("persona", "full"):
        old, now, new = map(parts_of, (before, after, visible(wanted)))
        assert {part for part in old if now.get(part) not in (old[part], new[part])} == set()
    else:
        assert sorted(one for one in before if before[one] != after.get(one)) == []
    writer.new(str(out))
    found = contents(out)
    assert sorted(one for one in found.keys() | wanted.keys() if found.get(one) != wanted.get(one)) == []
