"""Planted sources: near-duplicates that share a menu alone are an alarm, and real ones are not."""

from __future__ import annotations

import json
import random

import dataprep as dp
from dataprep.history.boilerplate import alike_in_boilerplate, judged
from dataprep.history.run_summary import summarize

MENU = "\n".join(f"الصفحة {i} | Page {i} | 第{i}頁 of the menu that all pages of this site have" for i in range(12))


def _words(draw: random.Random, n: int) -> str:
    return " ".join(f"w{draw.randrange(5_000)}" for _ in range(n))


def test_planted_menus_are_an_alarm_and_copies_are_not(tmp_path) -> None:
    """`menu` has short pages below a long menu, and long pages; `copies` has real near-copies below the same menu."""
    draw = random.Random(3)
    texts = {"menu": [f"{MENU}\n{MENU}\n{_words(draw, 9)}" for _ in range(150)], "copies": []}
    texts["menu"] += [f"{MENU}\n{_words(draw, 400)}" for _ in range(20)]
    for k in range(25):
        body = _words(draw, 400)
        texts["copies"] += [f"{MENU}\n{body}\nversion {n} of {k}" for n in range(6)]
    sources = {}
    for name, some in texts.items():
        sources[name] = str(tmp_path / f"{name}.jsonl")
        rows = (json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in some)
        (tmp_path / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")
    out = str(tmp_path / "out")
    done = dp.Pipeline(dp.MinHash(threshold=0.7)).run(dp.read(sources), out=out)
    dropped = done.drops().column("source").to_pylist()
    assert min(dropped.count(name) for name in texts) >= 100
    (alarm,) = map(str, alike_in_boilerplate(out))
    assert alarm.startswith("40 of 40 sampled near-duplicates of 'menu' resemble the kept documents only in lines")
    assert alarm in summarize(out).alarms


def test_pairs_are_judged_by_their_own_lines() -> None:
    """Too few texts, texts without content of their own, and texts without common lines are not suspicious."""
    kept = [f"{MENU}\nanother page {k}" for k in range(20)]
    own = [(f"{MENU}\nalpha beta gamma delta {k} x", f"{MENU}\nother words that nobody has {k}") for k in range(12)]
    assert judged(own, kept) == (12, 12)
    assert judged(own, kept[:9]) == (0, 0)
    assert judged(own, kept[:2] + [f"no menu {k}" for k in range(30)]) == (0, 12)
    assert judged([(f"{MENU}\nshort {k}", f"{MENU}\nbrief {k}") for k in range(12)], kept) == (0, 12)
    assert judged([(f"a b c d e f {k}", f"g h i j k l {k}") for k in range(12)], kept) == (0, 12)
    body = f"{MENU}\nsame words are in both of them"
    assert judged([(f"{body} {k}", f"{body} {k} and") for k in range(12)], kept) == (0, 12)
