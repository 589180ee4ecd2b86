"""What the code of docs/decontamination.md needs."""

import dataprep as dp
from docs.pages import write

QUESTION = "A farmer has nine sheep and all but four of them run away at night: how many are left?"


def prepare(here):
    """A page that quotes a question, one that quotes another in part, and one of its own."""
    write("eval/gsm8k.jsonl", [{"question": QUESTION, "answer": "4"}])
    (here / "eval/darija_qa.txt").write_text("wach kayn chi tobis ghadi l casa daba wla khasni ntsenna ghedda?\n")
    texts = [f"Riddles. {QUESTION.upper()} Think!", "A farmer has nine sheep and a dog.", "The rain in the north."]
    mine = ["Which of the three villages beyond the old bridge has a market on the second Friday of May?"]
    return {"docs": dp.read(write("a.jsonl", texts)), "my_questions": mine}


def check(here, names):
    """The page with the question is dropped, for the set that has it."""
    assert [row["text"] for row in names["clean"].take(9)] == [
        "A farmer has nine sheep and a dog.",
        "The rain in the north.",
    ]
    (found,) = names["stage"].questions(names["clean"]).to_pylist()
    assert (found["set"], found["documents"], found["text"]) == ("gsm8k", 1, QUESTION)
    assert set(found) == {"set", "question", "documents", "text"}
