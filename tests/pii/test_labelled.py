"""PII on the labelled set: precision and recall per form and per script, printed with `pytest -s`."""

from __future__ import annotations

from collections import Counter, defaultdict

from dataprep.pii.kinds import KINDS
from dataprep.pii.rules import find
from fixtures.personal import lines

LEAST = 0.97


def test_precision_and_recall():
    """Every form and every script reaches .97: exact spans of the right kind; hard negatives without any match."""
    counts: dict[str, Counter] = defaultdict(Counter)
    some = lines()
    for line in some:
        wanted, found = {(a, b, line.kind) for a, b in line.spans}, set(find(line.text, KINDS))
        for group in (line.form, line.script, "all"):
            counts[group] += Counter(
                right=len(wanted & found), wrong=len(found - wanted), missed=len(wanted - found),
                clean=not line.kind and not found, negative=not line.kind,
            )  # fmt: skip
    rates = {group: _rates(count) for group, count in counts.items()}
    table = [f"{'form or script':32} precision  recall  negatives clean"]
    table += [f"{group:32}{a:10.3f}{b:8.3f}{c:17.3f}" for group, (a, b, c) in rates.items()]
    print("\n".join(["", *table]))  # noqa: T201 - the figures are the purpose
    assert len(some) >= 1_000
    assert 0.45 <= sum(not line.kind for line in some) / len(some) <= 0.55
    assert {group: three for group, three in rates.items() if min(three) < LEAST} == {}


def _rates(count: Counter) -> tuple[float, float, float]:
    precision = count["right"] / (count["right"] + count["wrong"] or 1)
    recall = count["right"] / (count["right"] + count["missed"] or 1)
    clean = count["clean"] / (count["negative"] or 1)
    kinds = count["right"] + count["missed"] > 0
    return (precision, recall, clean if count["negative"] else 1.0) if kinds else (1.0, 1.0, clean)
