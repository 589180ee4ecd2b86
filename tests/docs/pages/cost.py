"""What the code of docs/cost.md needs: two inputs of different sizes."""

from docs.pages import write

LEFT = {"dataprep plan": "the file of steps is that of another page"}


def prepare(here):
    """A small and a large input of texts that pass C4."""
    lines = (f"This is sentence {n} of a text, which has enough words. " for n in range(9))
    text = "".join(lines)
    for name, n_docs in (("small", 20), ("large", 400)):
        write(f"{name}.jsonl", [f"{text} Number {name} {n} is the last one." for n in range(n_docs)])


def check(here, names):
    """The larger input takes longer, so the cost of 1 TB is a positive number."""
    assert names["difference"] > 0
    assert names["large"] > 0
    assert isinstance(names["core_hours_per_TB"], float)
