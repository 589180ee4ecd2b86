"""What the code of docs/chats.md needs."""

import dataprep as dp

LEFT = {"make report": "trains a model for a minute; tests/docs/test_pipelines.py runs the steps"}
WORDS = {"~/exports": "chats"}
HELLO = "the ferry leaves at noon from the northern quay, so do not be late and bring the blue bag"


def prepare(here, root):
    """An export of WhatsApp, with a forward."""
    (here / "pipelines").symlink_to(root / "pipelines")
    (here / "chats").mkdir()
    lines = ["Marek Lund: Hi!!!!!!", f"Greta Moss: {HELLO}", f"Marek Lund: Forwarded {HELLO}", "Marek Lund: ok"]
    times = ("18:20:41", "18:21:07", "18:21:55", "20:21:55")
    text = "".join(f"[03/05/2024, {time}] {line}\n" for time, line in zip(times, lines, strict=True))
    (here / "chats/WhatsApp Chat with Allotment.txt").write_text(text)


def check(here, names):
    """Conversations end after an hour, long forwards are dropped, and names are hidden."""
    texts = [row["text"] for row in names["clean"].take(9)]
    assert texts == [f"Marek Lund: Hi!!!\nGreta Moss: {HELLO}\nMarek Lund: Forwarded {HELLO}", "Marek Lund: ok"]
    assert names["table"].num_rows == 4
    assert "meta" not in names["table"].column_names
    assert [row["text"] for row in dp.open_dataset("work/clean").take(9)] == ["Hi!!!", HELLO, "ok"]
    assert all(row["author"].startswith("Person-") for row in dp.open_dataset("work/safe").take(9))
    assert (here / "work/safe/report.html").exists()
