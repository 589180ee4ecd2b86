"""N-gram models: MB of text per second of one core, training and scoring, beside what a user would write instead.

    python benchmarks/bench_ngram.py [--mb 20] [--peer-mb 1] [--input TEXTS.jsonl] [--peer-python ENV/bin/python ...]

Training: normalised text, one sentence a line, to an ARPA file; `nltk` is its Kneser-Ney (not modified, no file), which
is all that trains without a compiler. Scoring: documents in memory to a perplexity each, with a model of them; the
loop is what CCNet published, in short: each line normalised character by character, then `kenlm.score`; `bare kenlm`
only scores the lines. Rates are of user CPU and of all CPU, since training writes much. Each row is a process of its
own, warmed up on a little text first.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import tempfile
import unicodedata
from pathlib import Path

from engines import child, interpreters, peak_kb

ENGINES = {
    "train_ours": "train 5-grams: dataprep",
    "train_parts_ours": "train 5-grams: dataprep, memory=100MB",
    "train_pruned_ours": "train 3-grams, --prune 0 0 1: dataprep",
    "train_nltk": "train 3-grams: nltk KneserNeyInterpolated",
    "score_ours": "perplexity: dataprep",
    "score_paragraph_ours": "perplexity of paragraphs: dataprep",
    "score_pieces_ours": "perplexity of SentencePiece's pieces: dataprep",
    "score_loop": "perplexity: the published loop",
    "score_kenlm": "bare kenlm, no normalisation",
}


def train(folder: Path, **how) -> None:
    from dataprep.ngram import train

    train(str(folder / "text.txt"), out=str(folder / "made.arpa"), discount_fallback=True, skip_symbols=True, **how)


def train_ours(folder: Path):
    return lambda: train(folder, order=5)


def train_parts_ours(folder: Path):
    return lambda: train(folder, order=5, memory="100MB")


def train_pruned_ours(folder: Path):
    return lambda: train(folder, order=3, prune=(0, 0, 1))


def train_nltk(folder: Path):
    from nltk.lm import KneserNeyInterpolated
    from nltk.lm.preprocessing import padded_everygram_pipeline

    def run():
        with (folder / "text.txt").open(encoding="utf-8") as f:
            KneserNeyInterpolated(3).fit(*padded_everygram_pipeline(3, [line.split() for line in f]))

    return run


def score(folder: Path, **how):
    import numpy as np

    from dataprep.core.model import batch as B
    from dataprep.filters.perplexity import Perplexity

    texts = json.loads((folder / "texts.json").read_text())
    batches = [B.make(np.arange(len(texts[i : i + 500])), texts[i : i + 500], "x") for i in range(0, len(texts), 500)]
    stage = Perplexity(**({"model": str(folder / "model.arpa")} | how))
    stage.warm()
    return lambda: [stage.score(batch) for batch in batches]


def score_ours(folder: Path):
    return score(folder)


def score_paragraph_ours(folder: Path):
    return score(folder, unit="paragraph")


def score_pieces_ours(folder: Path):
    return score(folder, model=str(folder / "pieces.arpa"), tokenizer=str(folder / "pieces.model"))


def score_kenlm(folder: Path):
    import kenlm

    texts, model = json.loads((folder / "texts.json").read_text()), kenlm.Model(str(folder / "model.arpa"))
    return lambda: [model.score(line) for text in texts for line in text.split("\n")]


def score_loop(folder: Path):
    import kenlm

    texts, model = json.loads((folder / "texts.json").read_text()), kenlm.Model(str(folder / "model.arpa"))
    control, marks = re.compile("[\x00-\x1f\x7f-\x9f]"), {"’": "'", "“": '"', "”": '"', "…": "...", "–": "-"}

    def normal(line: str) -> str:
        line = unicodedata.normalize("NFD", line.strip().lower())
        line = "".join([c for c in line if unicodedata.category(c) != "Mn"])
        line = "".join(marks.get(c, c) for c in re.sub(r"\d", "0", line))
        return control.sub("", line)

    def run():
        for text in texts:
            lines = [normal(line) for line in text.split("\n")]
            10 ** (-sum(map(model.score, lines)) / sum(len(line.split()) + 1 for line in lines))

    return run


def prepare(folder: Path, texts: list[str]) -> None:
    """Write the text, the documents, and the models that score them."""
    import sentencepiece

    from dataprep.filters.ccnet_text import ccnet_lines
    from dataprep.ngram import train as train_model

    folder.mkdir()
    (folder / "texts.json").write_text(json.dumps(texts))
    lines = [line for text in texts for line in ccnet_lines(text).split("\n") if line.strip()]
    (folder / "text.txt").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    how = {"order": 3, "prune": (0, 0, 1), "discount_fallback": True, "skip_symbols": True}
    train_model(str(folder / "text.txt"), out=str(folder / "model.arpa"), **how)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines[:5000]), model_prefix=str(folder / "pieces"), vocab_size=2000, minloglevel=2,
        hard_vocab_limit=False,
    )  # fmt: skip
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "pieces.model"))
    tokenized = (" ".join(words) for words in pieces.encode(lines, out_type=str))
    (folder / "pieces.txt").write_text("".join(line + "\n" for line in tokenized), encoding="utf-8")
    train_model(str(folder / "pieces.txt"), out=str(folder / "pieces.arpa"), **how)


def measure(engine: str, folder: Path, warm: Path) -> dict:
    """Run one engine in this process: seconds of user CPU and of all CPU, and peak kB."""
    globals()[engine](warm)()
    run = globals()[engine](folder)
    before = resource.getrusage(resource.RUSAGE_SELF)
    run()
    after = resource.getrusage(resource.RUSAGE_SELF)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return {"user": user, "cpu": user + system, "peak": peak_kb()}


def documents(n_bytes: int, source: str | None) -> list[str]:
    import corpus

    found, size = [], 0
    lines = Path(source).read_bytes().splitlines() if source else []
    texts = (json.loads(line)["text"] for line in lines) if source else corpus.documents(n_bytes)
    for text in texts:
        found.append(text)
        size += len(text.encode())
        if size >= n_bytes:
            break
    return found


def main() -> None:
    """Write the texts, run the engines, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=20, help="of text for dataprep")
    parser.add_argument("--peer-mb", type=float, default=1, help="of text for the others")
    parser.add_argument("--input", help="JSONL with a field `text` to take the documents from")
    parser.add_argument("--peer-python", nargs="*", default=[])
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--folders", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        print(json.dumps(measure(given.engine, *map(Path, given.folders))))
        return
    pythons = interpreters(given.peer_python)
    with tempfile.TemporaryDirectory() as root:
        places = {name: Path(root, name) for name in ("warm", "peer", "ours")}
        for (name, place), mb in zip(places.items(), (0.2, given.peer_mb, given.mb), strict=True):
            prepare(place, documents(int(mb * 1e6), given.input))
            assert name == place.name
        print(f"{'':52} {'MB':>5} {'MB/s user':>9} {'MB/s CPU':>9} {'peak MB':>8}")
        for engine, name in ENGINES.items():
            place = places["peer" if engine == "train_nltk" else "ours"]
            got = child(__file__, pythons, engine, "--folders", *map(str, (place, places["warm"])))
            if isinstance(got, str):
                print(f"{name:52} skipped: {got}")
                continue
            texts = place / ("texts.json" if engine.startswith("score") else "text.txt")
            text = texts.read_text(encoding="utf-8")
            mb = sum(len(t.encode()) for t in (json.loads(text) if texts.suffix == ".json" else [text])) / 1e6
            print(f"{name:52} {mb:5.1f} {mb / got['user']:9.1f} {mb / got['cpu']:9.1f} {got['peak'] / 1e3:8.0f}",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
