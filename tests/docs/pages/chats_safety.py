"""What the code of docs/chats-safety.md needs."""

LINES = """\
[03/05/2024, 18:20:41] Marek Lund: Greta, my number is +212 612 345 678
[03/05/2024, 18:21:07] Greta Moss: I will ring you, Marek
[03/05/2024, 18:21:55] Ilse Varga: leave me out of it
"""


def prepare(here, root, monkeypatch):
    """An export of WhatsApp, a key, and a person who refused."""
    (here / "pipelines").symlink_to(root / "pipelines")
    monkeypatch.setenv("CHATS", "chats")  # in place of the samples, which take longer
    (here / "chats").mkdir()
    (here / "private").mkdir()
    (here / "chats/WhatsApp Chat with Allotment.txt").write_text(LINES)
    (here / "people.key").write_text("0123456789abcdef0123456789abcdef\n")
    (here / "refused.txt").write_text("Ilse Varga\n")


def check(here, names):
    """Names and the number are replaced, and who refused is left out."""
    rows = names["safe"].take(9)
    marek, greta = (row["author"] for row in rows)
    assert (marek[:7], greta[:7]) == ("Person-", "Person-")
    assert [row["text"] for row in rows] == [f"{greta}, my number is <phone>", f"I will ring you, {marek}"]
    assert {"language", "language_score"} <= rows[0].keys()
    assert names["safe"].drops().column("reason").to_pylist() == ["no_consent"]
    assert (here / "private/people.parquet").exists()
