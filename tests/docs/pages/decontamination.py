"""What the code of docs/decontamination.md needs."""

from docs.pages import write


def prepare(here):
    """An evaluation set."""
    question = "A farmer has nine sheep and all but four of them run away at night: how many are left?"
    write("eval/gsm8k.jsonl", [{"question": question, "answer": "4"}])


def check(here, names):
    """The page with the question is dropped, for the set that has it."""
    (found,) = names["stage"].questions(names["clean"]).to_pylist()
    assert (found["set"], found["documents"]) == ("mine", 1)
