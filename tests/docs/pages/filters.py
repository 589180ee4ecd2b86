"""What the code of docs/filters.md needs."""

import dataprep as dp
from docs.pages import write

GOOD = (
    "Le bateau de l'île est parti du port à midi avec quarante personnes à bord. Elles avaient attendu que le vent "
    "tourne et quelques-unes avaient dormi sur les bancs de la salle. Personne ne se plaignait, car le capitaine avait "
    "promis que la traversée serait calme. Quand la nuit est tombée, on voyait déjà les lumières d'un village, où la "
    "soupe et le pain étaient prêts."
)


def prepare(here):
    """A page of prose, the same with a word of the list, and a list of short lines."""
    (here / "lists").mkdir()
    (here / "lists/ar.txt").write_text("كلب\n", "utf-8")
    texts = [GOOD, f"{GOOD} والكلب.", "Home\nNews\nContact", f"{GOOD}\n3 likes"]
    return {"docs": dp.read(write("a.jsonl", texts))}


def check(here, names):
    """Prose is kept, without a counter; the rest is dropped."""
    clean = dp.open_dataset("work/clean")
    assert [row["text"].strip() for row in clean.take(9)] == [GOOD, GOOD]
    assert clean.drops().column("stage").to_pylist() == ["BadWords", "Gopher"]
