"""Language: accuracy on Moroccan text and on pages in forty languages, and speed beside the bare libraries.

    python benchmarks/bench_language.py [--only darija forty speed]

Needs the folder `../shared/data` (or DATAPREP_SHARED) with darija and multilingual text, and lid.176 in
`../shared/models`.

darija: trains a fastText model (`train_classifier`, its defaults) of Darija in Arabic script, Arabizi, standard
Arabic, French and English, and asks it, lid.176 and py3langid about texts held out. Arabizi and its Arabic script come
in variants of one sentence: all variants of a sentence are on one side. lid.176 and py3langid have no code for
Arabizi, so for them the table tells which share of each kind they give a right code, and what they say instead.
speed: MB of text seen per second of user CPU, ours beside the library's plain loop, in turns.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import random
import resource
import sys
import tempfile
import time
import zlib
from collections import Counter, defaultdict
from pathlib import Path

SHARED = Path(os.environ.get("DATAPREP_SHARED", Path(__file__).resolve().parents[2] / "shared"))
TEXT, LID = SHARED / "data" / "text", str(SHARED / "models" / "lid.176.ftz")
ARABIZI = "ary_Latn"
RIGHT = {"ary": {"ary", "ar", "arz"}, ARABIZI: {ARABIZI}, "ar": {"ar"}, "fr": {"fr"}, "en": {"en"}}
SAME = {"pt_BR": "pt", "pt_PT": "pt", "zh_TW": "zh", "nb": "no"}
LEAST_CHARS = 12
LEAST_WORDS = 6  # of a line of a manual: the shorter ones are names and commands


def gz_lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as f:
        yield from f


def pages(name):
    """Language (two letters) and text of a multilingual set."""
    for line in gz_lines(TEXT / "multilingual" / name):
        row = json.loads(line)
        yield row["lang"][:2], row["text"], row


def sentences():
    """(label, group, text): texts of one group are variants or translations of one, and stay together."""
    for path in sorted((TEXT / "darija/SmartlyAI").glob("*.csv.gz")):
        rows = csv.DictReader(io.StringIO("".join(gz_lines(path)).lstrip("\ufeff")))
        for row in rows:
            group = f"{path.name} {row.get('Darija_Arabe') or row['Anglais']}"
            for column, label in (("Darija_Arabe", "ary"), ("Arabizi", ARABIZI), ("Anglais", "en")):
                if row.get(column):
                    yield label, group, row[column]
    with (TEXT / "darija/MAC/MAC corpus.csv").open(encoding="utf-8", errors="replace") as f:
        for row in csv.DictReader(f):
            label = {"dialectal": "ary", "standard": "ar"}.get(row["class"] or "")
            if label:
                yield label, row["tweets"], row["tweets"]
    with (TEXT / "darija/MArSum/MArSum1_test.txt").open(encoding="utf-8") as f:
        for line in f:
            yield "ary", line, line.strip()
    yield from handbooks()


def handbooks():
    """Lines of manuals in French and English; French pages hold much English, so lines that both have are left out."""
    found = {"fr": {}, "en": {}}
    for name in ("debian_handbook_8lang.jsonl.gz", "debian_installguide_3arch_8lang.jsonl.gz"):
        for code, text, row in pages(name):
            if code in found:
                found[code] |= dict.fromkeys((" ".join(line.split()) for line in text.split("\n")), row["section"])
    for code, other in (("fr", "en"), ("en", "fr")):
        for line, section in found[code].items():
            if line not in found[other] and line.count(" ") >= LEAST_WORDS - 1:
                yield code, section, line


def split(per_label, seed=1):
    """The texts of each label to learn from and to be asked about; each different text once, groups kept together."""
    found = defaultdict(dict)
    for label, group, text in sentences():
        line = " ".join(text.split())
        if len(line) >= LEAST_CHARS:
            found[label].setdefault(line, zlib.crc32(group.encode()) % 5 == 0)
    rng = random.Random(seed)
    train, test = {}, {}
    for label, lines in sorted(found.items()):
        sides = [[line for line, asked in lines.items() if asked is side] for side in (False, True)]
        train[label], test[label] = (
            rng.sample(side, min(len(side), n)) for side, n in zip(sides, per_label, strict=True)
        )
    return train, test


def darija(per_label=(8000, 1000)):
    """Train, and ask all three."""
    from dataprep.filters.classifiers import models
    from dataprep.filters.classifiers.train import train_classifier

    train, test = split(per_label)
    print("learnt:", ", ".join(f"{k} {len(v):,}" for k, v in train.items()))
    with tempfile.TemporaryDirectory() as folder:
        start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        made = train_classifier(train, f"{folder}/darija.bin", test=test)
        spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - start
        print(
            f"trained in {spent:.0f} s of user CPU; accuracy {made.accuracy:.2%}; {os.path.getsize(made.path):,} bytes"
        )
        engines = {"trained": models.load(made.path), "lid.176": models.load(LID), "py3langid": models.load("builtin")}
        for label, lines in test.items():
            print(f"\n{label} ({len(lines):,} texts)")
            for name, model in engines.items():
                said = Counter(model.top(line.encode(), 1)[0][1] for line in lines)
                strict = said[label] / len(lines)
                loose = sum(said[code] for code in RIGHT[label]) / len(lines)
                also = f" ({loose:.1%} some Arabic)" if label == "ary" else ""
                most = ", ".join(f"{code} {n / len(lines):.0%}" for code, n in said.most_common(4))
                print(f"  {name:10} {strict:6.1%}{also:24} says {most}")


def forty():
    """Share of the pages in forty languages that each model names right; code in them is English to all."""
    from dataprep.filters.classifiers import models

    found = list(pages("tldr_pages_40lang.jsonl.gz"))[::8]
    rows = [(SAME.get(row["lang"], code), text.encode()) for code, text, row in found]
    print(f"\n{len(rows):,} pages in forty languages")
    for name, path in (("lid.176", LID), ("py3langid", "builtin")):
        model = models.load(path)
        known = [(code, text) for code, text in rows if code in model.labels]
        right = sum(model.top(text, 1)[0][1] == code for code, text in known)
        print(f"  {name:10} {right / len(known):.1%} of the {len(known):,} pages in languages it knows")


def plain_langid():
    """py3langid as it is."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def speed(mb=3.0):
    """Ours beside the plain loop, in turns; the best of each."""
    import numpy as np

    from dataprep.core.model import batch as B
    from dataprep.filters.classifiers import models
    from dataprep.filters.classifiers.language import Language

    texts, size = [], 0
    for _, text, _ in pages("debian_handbook_8lang.jsonl.gz"):
        texts.append(text)
        size += len(text.encode()[:4096])
        if size > mb * 1e6:
            break
    print(f"\n{len(texts):,} documents, {size / 1e6:.1f} MB of text seen")
    batch = B.make(np.arange(len(texts)), texts, "bench")
    shown = [text.encode()[:4096].decode("utf-8", "ignore") for text in texts]
    for name, path in (("lid.176", LID), ("py3langid", "builtin")):
        stage = Language(model=path)
        model = models.load(path).model if path == LID else plain_langid()
        stage.warm()
        runs = {"ours": lambda s=stage: s.score(batch)}
        if path == LID:
            runs["plain"] = lambda m=model: [m.f.predict(t.replace("\n", " ") + "\n", 1, 0.0, "strict") for t in shown]
        else:
            runs["plain"] = lambda m=model: [m.classify(t) for t in shown]
        best = dict.fromkeys(runs, 1e9)
        for _ in range(7):
            for kind, work in runs.items():
                start = time.process_time()
                work()
                best[kind] = min(best[kind], time.process_time() - start)
        print(f"  {name:10}", ", ".join(f"{kind} {size / s / 1e6:.1f} MB/s" for kind, s in best.items()))


TOPICS = {"darija": darija, "forty": forty, "speed": speed}


def main() -> None:
    """Run the topics asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(TOPICS), nargs="*", default=list(TOPICS))
    if not TEXT.is_dir():
        sys.exit(f"there is no {TEXT}")
    for name in parser.parse_args().only:
        TOPICS[name]()


if __name__ == "__main__":
    main()
