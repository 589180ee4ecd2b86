"""Filters by rule beside the published code: on how many real documents both decide the same, and why others differ.

    python benchmarks/conformance.py --peer-python ENV/bin/python ... [--dclm CHECKOUT] \
        [--fineweb2 CONFIGS]

Documents are newswire and handbooks in English, French and Arabic from `../shared/data` (or DATAPREP_SHARED). The
published code runs in the interpreters given, since its pins do not agree with ours: an environment with
`datatrove==0.10.1 spacy`, and one with `dolma==1.2.1`. DCLM is not on PyPI: --dclm is a checkout of
mlfoundations/dclm at commit 361714b, and one of the interpreters needs `fasttext uniseg nltk lxml unidecode retrie
beautifulsoup4 justext`. A peer that cannot be imported anywhere is left out. --fineweb2 is the folder `configs` of a
checkout of huggingface/fineweb-2 at commit d331bee.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
LANGUAGES = {"en": "English", "fr": "French", "ar": "Arabic"}
FINEWEB2 = {"fr": "fra_Latn", "ar": "ary_Arab"}  # of the Arabic documents, most are Darija


def documents(limit: int) -> list[dict]:
    """Real documents: {text, lang}; at most `limit` per source."""
    root = Path(os.environ.get("DATAPREP_SHARED", HERE.parent.parent / "shared")) / "data" / "text"

    def rows(name):
        with gzip.open(root / f"{name}.jsonl.gz") as f:
            return [json.loads(line) for line in f]

    def take(lang, texts, limit=limit):
        return [{"lang": lang, "text": text} for text in texts if text.strip()][:limit]

    handbook, guide = rows("multilingual/debian_handbook_8lang"), rows("multilingual/debian_installguide_3arch_8lang")
    docs = take("en", [row["text"] for row in rows("reuters21578") if row["has_body"]], 4 * limit)
    for lang, code in (("en", "en-US"), ("fr", "fr-FR"), ("ar", "ar-MA")):
        docs += take(lang, [row["text"] for row in handbook if row["lang"] == code])
        docs += take(lang, [row["text"] for row in guide if row["lang"] == lang])
    with (root / "darija/MArSum/MArSum1_test.txt").open(encoding="utf-8", newline="") as f:
        docs += take("ar", [row[0] for row in csv.reader(f, delimiter="\t") if row], 4 * limit)
    return docs


def prepare(docs: list[dict], configs: str | None) -> None:
    """Add to each document what the peers need: our words, stop words, and FineWeb-2's thresholds (from configs)."""
    import numpy as np

    from dataprep.filters.fineweb2 import FineWeb2
    from dataprep.filters.word_lists import STOP_WORDS
    from dataprep.unicode.spaced import spaced

    for doc in docs:
        data = doc["text"].encode()
        ends = np.array([0, len(data)], np.int64)
        doc["words"] = spaced(ends, np.frombuffer(data, np.uint8), "punctuation")[1].tobytes().decode().split()
        doc["stop_words"] = STOP_WORDS[doc["lang"]]
        doc["fineweb2"] = None
        if configs and doc["lang"] in FINEWEB2:
            p = FineWeb2(language=FINEWEB2[doc["lang"]], configs=configs)
            doc["fineweb2"] = {
                "language": p.language,
                "repetition": {
                    "dup_line_frac": p.max_dup_lines,
                    "top_n_grams": [(n, getattr(p, f"max_top_{n}gram")) for n in (2, 3, 4)],
                    "dup_n_grams": [(n, getattr(p, f"max_dup_{n}gram")) for n in range(5, 11)],
                },
                "lines": {"line_punct_thr": p.min_punctuated_lines, "new_line_ratio": p.max_newline_ratio},
                "quality": {
                    "min_avg_word_length": p.min_mean_word_chars, "max_avg_word_length": p.max_mean_word_chars,
                    "max_non_alpha_words_ratio": p.min_alphabetic, "stop_words": p.stop_words,
                },
            }  # fmt: skip


def ours(stage, texts: list[str]) -> list:
    """The answer of a stage for each text: the reason to drop it, [the text] if it changes texts, or None."""
    import dataprep as dp
    from dataprep.core.model import batch as B
    from dataprep.core.model.ledger import Ledger

    ledger = Ledger("conformance")
    batch = ledger.received(B.make(list(range(len(texts))), texts, "one"))
    left = {row["id"]: [row["text"]] for made in stage(iter([batch]), ledger) for row in made.to_pylist()}
    drops = ledger.drop_table()
    why = dict(zip(drops.column("id").to_pylist(), drops.column("reason").to_pylist(), strict=True))
    changes = isinstance(stage, (dp.C4, dp.RefinedWeb))
    return [why.get(i, left[i] if changes and i in left else None) for i in range(len(texts))]


def checks(configs: str | None) -> dict[str, tuple]:
    """The comparisons: title, the answers of the peer, the stage for a language, the languages."""
    import dataprep as dp

    def gopher(**given):
        return lambda lang: dp.Gopher(languages=(lang,), **given)

    def fineweb2(lang):
        return dp.FineWeb2(language=FINEWEB2[lang], configs=configs)

    every = ("en", "fr", "ar")
    some = tuple(FINEWEB2) if configs else ()
    return {
        "Gopher(preset='datatrove')": ("gopher words", gopher(preset="datatrove"), every),
        "Gopher(preset='datatrove'), library's words": ("gopher", gopher(preset="datatrove"), every),
        **{
            f"Gopher(word_split={w!r})": ("gopher", gopher(word_split=w), every)
            for w in ("blanks", "punctuation", "unicode")
        },
        "FineWeb(preset='code')": ("fineweb words", lambda _: dp.FineWeb(preset="code"), every),
        "FineWeb(preset='code'), library's words": ("fineweb", lambda _: dp.FineWeb(preset="code"), every),
        "FineWeb()": ("fineweb", lambda _: dp.FineWeb(), every),
        "FineWeb2()": ("fineweb2 words", fineweb2, some),
        "FineWeb2(), library's words": ("fineweb2", fineweb2, some),
        "C4(preset='paper')": ("c4", lambda _: dp.C4(preset="paper"), every),
        "MC4()": ("mc4", lambda _: dp.MC4(), every),
        "Gopher(preset='dclm')": ("dclm gopher", lambda _: dp.Gopher(preset="dclm"), every),
        "RefinedWeb(preset='dclm')": ("dclm refinedweb", lambda _: dp.RefinedWeb(preset="dclm"), every),
    }


def kind(answer) -> str:
    """An answer in one word."""
    return "kept" if answer is None or isinstance(answer, list) else answer


def compare(docs: list[dict], answers: dict[str, list], configs: str | None) -> list[str]:
    """Return the lines of the tables: agreement per language, and classes of difference."""
    head = "| " + " | ".join(["rules", *LANGUAGES.values()]) + " |"
    table, classes = [head, "|---|---|---|---|"], ["| rules | here | published code | documents |", "|---|---|---|---|"]
    for title, (key, make, languages) in checks(configs).items():
        if key not in answers or not languages:
            continue
        cells, differ = [], Counter()
        asked = [i for i, doc in enumerate(docs) if not key.startswith("fineweb2") or doc["fineweb2"]]
        theirs = dict(zip(asked, answers[key], strict=True))
        for lang in LANGUAGES:
            mine = [i for i, doc in enumerate(docs) if doc["lang"] == lang]
            if lang not in languages:
                cells.append("")
                continue
            found = ours(make(lang), [docs[i]["text"] for i in mine])
            same = 0
            for i, a in zip(mine, found, strict=True):
                b = theirs[i]
                texts = isinstance(a, list) and isinstance(b, list)
                equal = (kind(a) == "kept") == (kind(b) == "kept") and not (texts and a != b)
                same += equal
                if not equal:
                    differ["text differs" if texts else kind(a), "text differs" if texts else kind(b)] += 1
            cells.append(f"{same} of {len(mine)}")
        table.append("| " + " | ".join([f"`{title}`", *cells]) + " |")
        classes += [f"| `{title}` | {a} | {b} | {n} |" for (a, b), n in differ.most_common()]
    return [*table, "", *classes, "", *compare_dolma(docs, answers)]


def compare_dolma(docs: list[dict], answers: dict[str, list]) -> list[str]:
    """Return lines with the scores that differ from Dolma's."""
    from dataprep.core.model import batch as B
    from dataprep.filters.gopher.stage import Gopher

    if "dolma" not in answers:
        return []
    made = Gopher(preset="dolma").score(B.make(list(range(len(docs))), [d["text"] for d in docs], "one"))
    values = {name: column.to_pylist() for name, column in made.items()}
    wrong = Counter(
        name for i, row in enumerate(answers["dolma"]) for name, v in row.items() if abs(values[name][i] - v) > 1e-9
    )
    size = f"{len(answers['dolma'][0])} scores of {len(docs)} documents"
    return [f"Gopher(preset='dolma'): {size}; different: {dict(wrong)}"]


def main() -> None:
    """Run the peers and print the tables."""
    parse = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parse.add_argument("--peer-python", nargs="*", default=[sys.executable], help="interpreters that have the peers")
    parse.add_argument("--dclm", help="a checkout of mlfoundations/dclm")
    parse.add_argument("--fineweb2", help="the folder configs of a checkout of huggingface/fineweb-2")
    parse.add_argument("--limit", type=int, default=60, help="pages per source; four times as many news items")
    given = parse.parse_args()
    docs = documents(given.limit)
    prepare(docs, given.fineweb2)
    answers: dict[str, list] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "docs.json"
        file.write_text(json.dumps(docs), encoding="utf-8")
        for peer in ("datatrove", "dolma", *(["dclm"] if given.dclm else [])):
            for python in given.peer_python:
                command = [python, str(HERE / "peer_rules.py"), str(file), peer]
                env = os.environ | {"DCLM": given.dclm or ""}
                done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
                lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS ")]
                if lines:
                    answers |= json.loads(lines[0][8:])
                    break
                print(f"{python}: {done.stderr[-300:]}", file=sys.stderr)
    print(f"{dt.datetime.now(dt.timezone.utc):%Y-%m-%d}, {len(docs)} documents\n")
    print("\n".join(compare(docs, answers, given.fineweb2)))


if __name__ == "__main__":
    main()
